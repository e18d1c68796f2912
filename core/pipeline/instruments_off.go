//go:build uninstrumented

package pipeline

const instrumented = false
