package main

// extern char **environ;
// static char **spdl_environ(void) { return environ; }
import "C"

import (
	"os"
	"strings"
	"sync"
	"unsafe"
)

var following sync.Mutex

// followEnvironment makes Go's environment that of the process. Of a library Go knows what the process began with, and not what the program
// has set since, as by os.environ in Python. Like any getenv it must not meet a change by another thread.
func followEnvironment() {
	following.Lock()
	defer following.Unlock()
	there := map[string]bool{}
	for at := C.spdl_environ(); at != nil && *at != nil; at = (**C.char)(unsafe.Add(unsafe.Pointer(at), unsafe.Sizeof(*at))) {
		name, value, ok := strings.Cut(C.GoString(*at), "=")
		if !ok || name == "" || there[name] {
			continue // getenv does not find these either
		}
		there[name] = true
		if known, ok := os.LookupEnv(name); !ok || known != value {
			_ = os.Setenv(name, value) // of a name and a value that are there
		}
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); !there[name] {
			_ = os.Unsetenv(name)
		}
	}
}
