//go:build noffmpeg

package video

import (
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
)

// Without FFmpeg a right description is refused for want of it, a wrong one for what
// is wrong.
func TestCompileRefusesWithoutFFmpeg(t *testing.T) {
	cfg := Config{Image: media.Config{Out: media.Square(8)}, Frames: 1}
	if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), "no FFmpeg") {
		t.Errorf("got %v, want a refusal that names FFmpeg", err)
	}
	cfg.Frames = 0
	if _, err := Compile(cfg); err == nil || !strings.Contains(err.Error(), "frames") {
		t.Errorf("got %v, want one that names frames", err)
	}
}
