module github.com/spdl/spdl

go 1.23.0

require (
	github.com/asticode/go-astiav v0.16.0
	github.com/edsrzf/mmap-go v1.2.0
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/sys v0.30.0
)

require github.com/asticode/go-astikit v0.42.0 // indirect
