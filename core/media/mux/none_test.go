//go:build noffmpeg

package mux

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// Built without FFmpeg, everything that opens refuses and says which build does not.
func TestBuildWithoutFFmpegRefusesByName(t *testing.T) {
	_, create := Create("a.mp4", Config{})
	_, write := New(io.Discard, Config{Format: "mpegts"})
	_, buffer := Buffer(Config{Format: "mp4"}, nil)
	_, input := OpenInput(Source{Path: "a.mp4"}, KindVideo)
	_, encode := Encode(nil, Picture{})
	_, images := CreateImages("%d.png", 0, Picture{})
	_, filter := Filter(nil, "null")
	for _, err := range []error{filter, create, write, buffer, input, encode, images, Save("a.png", nil, Picture{})} {
		var e *Error
		if !errors.As(err, &e) || e.Cause() != CauseUnsupported || !strings.Contains(err.Error(), "this build has no FFmpeg; use the build with it") {
			t.Errorf("error %v", err)
		}
	}
}
