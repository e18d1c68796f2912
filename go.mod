module github.com/spdl/spdl

go 1.23.0

require (
	github.com/andybalholm/brotli v1.1.0
	github.com/asticode/go-astiav v0.16.0
	github.com/edsrzf/mmap-go v1.2.0
	github.com/expr-lang/expr v1.16.9
	github.com/klauspost/compress v1.18.0
	github.com/minio/highwayhash v1.0.3
	github.com/minio/minio-go/v7 v7.0.95
	github.com/parquet-go/parquet-go v0.25.0
	github.com/pierrec/lz4/v4 v4.1.21
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.1
	github.com/spf13/pflag v1.0.7
	github.com/zeebo/xxh3 v1.0.2
	go.yaml.in/yaml/v3 v3.0.4
	golang.org/x/image v0.25.0
	golang.org/x/oauth2 v0.30.0
	golang.org/x/sys v0.33.0
)

require (
	cloud.google.com/go/compute/metadata v0.3.0 // indirect
	github.com/go-ini/ini v1.67.0 // indirect
	github.com/goccy/go-json v0.10.5 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.11 // indirect
	github.com/mattn/go-runewidth v0.0.15 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/olekukonko/tablewriter v0.0.5 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/text v0.26.0 // indirect
)

require (
	github.com/asticode/go-astikit v0.42.0 // indirect
	github.com/spf13/cobra v1.9.1
)
