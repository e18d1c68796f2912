package audio

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// A view is a part of the file's own memory, cut by time, and cannot reach past its samples.
func TestViewOfWAVIsThatMemory(t *testing.T) {
	data := bytesAs([]int16{1, 2, 3, 4, 5, 6, 7, 8})
	file := append(wavBytes(1, 2, 2, 16, data), "LIST"...)
	a, rate, err := ViewWAV(file, Window{})
	if err != nil || rate != 2 || a.DType != tensor.I16 || !slices.Equal(a.Shape, tensor.Shape{4, 2}) || !bytes.Equal(a.Data, data) {
		t.Fatalf("%+v at %d Hz, %v", a, rate, err)
	}
	if &a.Data[0] != &file[44] || cap(a.Data) != len(a.Data) {
		t.Fatal("not the file's memory, or open at its end")
	}
	a, _, err = ViewWAV(file, Window{Start: 0.5, Duration: 1})
	if err != nil || !bytes.Equal(a.Data, data[4:12]) || a.Shape[0] != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
}

// What has no element type, no sound in the window or no header is refused by cause.
func TestViewsThatAreRefused(t *testing.T) {
	file := wavBytes(1, 1, 2, 16, []byte{1, 2, 3, 4})
	for cause, see := range map[string]func() error{
		CauseEmpty:       func() error { _, _, err := ViewWAV(nil, Window{}); return err },
		CauseOutside:     func() error { _, _, err := ViewWAV(file, Window{Start: 1}); return err },
		CauseTruncated:   func() error { _, _, err := ViewWAV(file[:45], Window{}); return err },
		CauseUnsupported: func() error { _, _, err := ViewWAV(wavBytes(1, 1, 2, 24, []byte{1, 2, 3}), Window{}); return err },
	} {
		var e *Error
		if err := see(); !errors.As(err, &e) || e.Cause() != cause {
			t.Errorf("got %v, want cause %s", err, cause)
		}
	}
	if _, _, err := ViewWAV(file, Window{Start: -1}); err == nil {
		t.Error("a window before the beginning was taken")
	}
}
