//go:build !noffmpeg

package av

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: libavformat libavcodec libavutil libswscale libswresample
#include "av.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

// Load makes FFmpeg's decoders of single pictures ready for their first call, once a process.
var Load = sync.OnceValue(func() error {
	return loaded(func() *C.char { return C.media_av_load() })
})

// LoadContainers is Load for everything of av.h.
var LoadContainers = sync.OnceValue(func() error {
	return loaded(func() *C.char { return C.media_av_load_containers() })
})

func loaded(load func() *C.char) error {
	runtime.LockOSThread() // the reason is kept per thread
	defer runtime.UnlockOSThread()
	if why := load(); why != nil {
		return fmt.Errorf("does not load: %s; install the libraries that spdl was built with, or use the build without FFmpeg", C.GoString(why))
	}
	return nil
}
