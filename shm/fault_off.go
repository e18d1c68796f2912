//go:build !spdlfault

package shm

// Fault is a named point at which a test build (-tags spdlfault) may kill, stop, delay or fail this process, as
// SPDL_FAULT=point:count:kill|stop|err|delay[ms] says. In every other build it does nothing.
func Fault(string) error { return nil }
