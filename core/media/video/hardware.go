//go:build !noffmpeg

package video

/*
#include <stdlib.h>
#include "../av/av.h"
#include "video.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
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
		return &HardwareError{fmt.Sprintf("got %s, which is not here (%s); want a device of this machine, auto or none", kind, missing[0])}
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

// deviceFailed reports whether err is a device's, and not the sample's.
func deviceFailed(err error) bool {
	if err == nil {
		return false
	}
	var e *av.Error // on the heap
	return errors.As(err, &e) && e.Cause() == av.CauseDevice
}

// countDevice counts who decoded a sample, where a device was asked for; failures of it are counted where they happen.
func (w *Worker) countDevice(err error) {
	switch {
	case w.op.cfg.Hardware == "" || w.op.cfg.Hardware == "none" || C.video_decoded(w.v) == 0 || deviceFailed(err):
	case C.video_on_device(w.v) != 0:
		w.op.counts.onDevice.Add(1)
	default:
		w.op.counts.onProcessor.Add(1)
	}
}
