//go:build !noffmpeg

package av

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: libavformat libavcodec libavutil libavfilter libswscale libswresample
#include <stdlib.h>
#include "filter.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Load makes FFmpeg's decoders of single pictures ready for their first call, once a process.
var Load = sync.OnceValue(func() error {
	return loaded(func() *C.char { return C.media_av_load() })
})

// LoadContainers is Load for everything of av.h.
var LoadContainers = sync.OnceValue(func() error {
	return loaded(func() *C.char { return C.media_av_load_containers() })
})

// LoadFilters is LoadContainers and everything of filter.h.
var LoadFilters = sync.OnceValue(func() error {
	return loaded(func() *C.char { return C.media_av_load_filters() })
})

func loaded(load func() *C.char) error {
	runtime.LockOSThread() // the reason is kept per thread
	defer runtime.UnlockOSThread()
	if why := load(); why != nil {
		return fmt.Errorf("does not load: %s; install the libraries that spdl was built with, or use the build without FFmpeg", C.GoString(why))
	}
	return nil
}

// MaxFilter bounds a description of filters, in bytes.
const MaxFilter = 4096

// CheckFilter tries a description of filters on pictures, or on sound, that are made
// up, and gives a *FilterError where none could pass. Sizes and formats of real ones
// may still not fit.
func CheckFilter(text string, pictures bool) error {
	kind, name := C.int(C.AVMEDIA_TYPE_AUDIO), "audio"
	if pictures {
		kind, name = C.AVMEDIA_TYPE_VIDEO, "video"
	}
	if text == "" || len(text) > MaxFilter || strings.ContainsRune(text, 0) {
		return &FilterError{name, text, fmt.Sprintf("got %d bytes, want 1 to %d without zeros", len(text), MaxFilter)}
	}
	if err := LoadFilters(); err != nil {
		return fmt.Errorf("filter: FFmpeg %w", err)
	}
	f := C.media_av_filter_new()
	if f == nil {
		return fmt.Errorf("filter: out of memory")
	}
	defer C.media_av_filter_free(f)
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	if C.media_av_filter_try(f, s, kind) != C.MEDIA_AV_OK {
		return &FilterError{name, text, C.GoString(C.media_av_filter_detail(f))}
	}
	return nil
}
