module github.com/spdl/spdl

go 1.23.0

require golang.org/x/sys v0.30.0 // indirect
