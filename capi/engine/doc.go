// Command engine is libspdl_engine: the engine as a shared library with the Go runtime in it, for programs that want no
// second process or lend their threads to a pipeline. libspdl loads it when a call needs it; nothing links it.
//
// It exports one C function, which returns a table of functions (table.h). Behind them an exported Go function finds the
// handle, converts, calls [github.com/spdl/spdl/capi/engine/hosted] or serves as the command does, and answers with a
// status. No Go pointer crosses. A panic in a call becomes a status with the stack as its text; in a forked child,
// where Go would hang, engine.c answers before Go is reached.
//
// Loading it is for good: Go starts threads, adds handlers for the signals it needs (chained to those of the host), and
// is never unloaded.
package main
