package shm

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0
	futexWake = 1
)

// wakeAll wakes every sleeper of a shared futex word.
func wakeAll(word unsafe.Pointer) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(word), futexWake, 1<<30, 0, 0, 0)
}

// one is what is written to an event descriptor.
var one = [8]byte{1}
