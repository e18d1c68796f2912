//go:build !noffmpeg

package video

import (
	"slices"
	"strings"
	"testing"
)

// A device that FFmpeg does not know, or that is not here, is refused by name with what to do.
func TestAbsentDevicesAreRefused(t *testing.T) {
	cfg := small()
	cfg.Hardware = "quantum"
	if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), "hardware: got quantum, which is not here") || !strings.Contains(err.Error(), "auto or none") {
		t.Errorf("got %v", err)
	}
}

// Auto decodes on a device or, where that is not to be had, gives the processor's bytes; each sample is counted.
func TestAutoDecodesEverywhere(t *testing.T) {
	files := golden(t)
	cfg := small()
	cfg.Hardware = Auto
	w := workerOf(t, cfg)
	op := w.op
	defer w.Close()
	for _, name := range names(files) {
		before := op.Counters()
		got, err := decodeWith(w, file(t, name), Draw{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := op.Counters()
		onDevice, onProcessor := c.OnDevice-before.OnDevice, c.OnProcessor-before.OnProcessor
		if onDevice+onProcessor != 1 {
			t.Errorf("%s: counted %d on the device and %d on the processor, want one", name, onDevice, onProcessor)
		}
		if want := mustDecode(t, small(), file(t, name), Draw{}); onProcessor == 1 && !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: the processor's bytes differ", name)
		} else if n := worst(got.Data, want.Data); onDevice == 1 && n > 40 { // codecs whose standard leaves the rounding open; the stand-in's are equal (device_test.go)
			t.Errorf("%s: the device's bytes are %d off", name, n)
		}
	}
	if (op.Note() == "") != (op.device != nil) {
		t.Errorf("a device is here: %v, and the note is %q", op.device != nil, op.Note())
	}
}

func worst(a, b []byte) (n int) {
	for i := range a {
		n = max(n, int(a[i])-int(b[i]), int(b[i])-int(a[i]))
	}
	return n
}
