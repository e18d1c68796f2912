//go:build noffmpeg

package audio

import (
	"strings"
	"testing"
)

// A filter is refused by name where there is no FFmpeg.
func TestFiltersAreRefusedWithoutFFmpeg(t *testing.T) {
	if _, err := Compile(Config{Filter: "anull"}); err == nil || !strings.Contains(err.Error(), "filter: built without FFmpeg") {
		t.Errorf("got %v", err)
	}
}
