//go:build !noffmpeg

package mux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// What is packed in tags before a sound is not unpacked, and its packets are what they are without them.
func TestPackedTagsTakeNoMemory(t *testing.T) {
	sound := must[[]byte](t)(os.ReadFile("../audio/testdata/lame.mp3"))
	want := packets(t, Source{Bytes: sound}, KindAudio)
	tagged := append(damage.PackedTag(t, 64<<20), sound...)
	path := filepath.Join(t.TempDir(), "tagged.mp3")
	ok(t, os.WriteFile(path, tagged, 0o600))
	for _, src := range []Source{{Bytes: tagged}, {Path: path}} {
		n := 0
		peak := damage.PeakBytes(t, func() { n = len(packets(t, src, KindAudio)) })
		if n != len(want) || peak > 16<<20 {
			t.Errorf("got %d packets, want %d, with %d MiB of memory", n, len(want), peak>>20)
		}
	}
}
