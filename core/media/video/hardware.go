//go:build !noffmpeg

package video

/*
#include <stdlib.h>
#include "../av/av.h"
#include "video.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"
)

// autoKinds are the devices that Auto looks for.
var autoKinds = []string{"cuda", "vaapi"}

// openDevice opens the device that cfg names.
func (op *Op) openDevice() error {
	kind := op.cfg.Hardware
	if kind == "" || kind == "none" {
		return nil
	}
	kinds := []string{kind}
	if kind == Auto {
		kinds = autoKinds
	}
	var missing []string
	for _, k := range kinds {
		device, why := deviceOf(k)
		if device != nil {
			op.device = unsafe.Pointer(device)
			return nil
		}
		missing = append(missing, k+": "+why)
	}
	if kind != Auto {
		return fmt.Errorf("video: hardware: got %s, which is not here (%s); want a device of this machine, auto or none", kind, missing[0])
	}
	op.note = "video.hardware: auto: no device is here (" + strings.Join(missing, "; ") + "), so the processor decodes"
	return nil
}

// deviceOf is a device of a kind, or why there is none.
func deviceOf(kind string) (*C.AVBufferRef, string) {
	name := C.CString(kind)
	defer C.free(unsafe.Pointer(name))
	var why [200]C.char
	device := C.media_av_hardware(name, &why[0], C.size_t(len(why)))
	return device, C.GoString(&why[0])
}

// countDevice counts who decoded a sample, where a device was asked for.
func (w *Worker) countDevice() {
	switch {
	case w.op.cfg.Hardware == "" || w.op.cfg.Hardware == "none" || C.video_decoded(w.v) == 0:
	case C.video_on_device(w.v) != 0:
		w.op.counts.onDevice.Add(1)
	default:
		w.op.counts.onProcessor.Add(1)
	}
}
