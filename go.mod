module github.com/spdl/spdl

go 1.23.0

require (
	github.com/asticode/go-astiav v0.16.0
	github.com/edsrzf/mmap-go v1.2.0
	github.com/spf13/pflag v1.0.7
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/image v0.25.0
	golang.org/x/sys v0.30.0
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)

require (
	github.com/asticode/go-astikit v0.42.0 // indirect
	github.com/spf13/cobra v1.9.1
)
