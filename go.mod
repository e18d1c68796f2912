module github.com/spdl/spdl

go 1.23.0
