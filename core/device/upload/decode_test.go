package upload

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/spdl/spdl/core/device"
)

// The kernels trust a place that fits, and a slot may be another's to write.
func TestPlacesThatMakeNoSenseDoNotFit(t *testing.T) {
	good := place{
		device.PlaceKind: device.JPEG, device.PlaceWidth: 500, device.PlaceHeight: 375, device.PlaceBoxX: 100, device.PlaceBoxY: 75, device.PlaceBoxW: 400, device.PlaceBoxH: 300,
		device.PlaceResW: 224, device.PlaceResH: 224, device.PlaceX: -5, device.PlaceY: 7, device.PlaceFlip: 1,
	}
	if !fits(&good) {
		t.Fatalf("%v does not fit", good)
	}
	for what, change := range map[string]func(*place){
		"no width":                           func(p *place) { p[device.PlaceWidth] = 0 },
		"a height below 0":                   func(p *place) { p[device.PlaceHeight] = -375 },
		"more pixels than there is room for": func(p *place) { p[device.PlaceWidth], p[device.PlaceHeight] = 60000, 60000 },
		"sides whose product wraps":          func(p *place) { p[device.PlaceWidth], p[device.PlaceHeight] = math.MaxInt32, math.MaxInt32 },
		"a box that begins outside":          func(p *place) { p[device.PlaceBoxX] = -1 },
		"a box that ends outside":            func(p *place) { p[device.PlaceBoxH] = 301 },
		"a box whose end wraps":              func(p *place) { p[device.PlaceBoxW] = math.MaxInt32 },
		"an empty box":                       func(p *place) { p[device.PlaceBoxW] = 0 },
		"nothing that it becomes":            func(p *place) { p[device.PlaceResH] = 0 },
	} {
		p := good
		change(&p)
		if fits(&p) {
			t.Errorf("%s: %v fits", what, p)
		}
	}
}

func TestPlacesAreReadRowByRow(t *testing.T) {
	b := make([]byte, 3*placeBytes)
	for i := range 3 * device.PlaceInts {
		binary.NativeEndian.PutUint32(b[4*i:], uint32(i-7))
	}
	if p := placeOf(b, 2); p[device.PlaceKind] != 2*device.PlaceInts-7 || p[device.PlaceFlip] != 3*device.PlaceInts-8 {
		t.Errorf("got %v", p)
	}
	if p := placeOf(b, 0); p[0] != -7 {
		t.Errorf("got %v, want it to begin with -7", p)
	}
}
