//go:build !noffmpeg

package video

import (
	"testing"
)

// Probe tells what headers say, Scan what is there.
func TestScanCountsWhatHeadersOnlyClaim(t *testing.T) {
	src := file(t, "lying.avi")
	s, err := Probe(src)
	if err != nil {
		t.Fatal(err)
	}
	if s.Frames != 7 || s.Codec != "mpeg4" || s.Width != 63 || s.Height != 47 || s.Rate != 30 {
		t.Errorf("got %+v, want mpeg4 of 63x47 at 30 and the header's 7 frames", s)
	}
	index, _, err := Scan(src)
	if err != nil {
		t.Fatal(err)
	}
	if index.Len() != 20 {
		t.Errorf("got %d frames, want the 20 that are there", index.Len())
	}
}

// A header that does not count its frames is told from one that has none, as of a sound.
func TestProbeSaysWhereNobodyCounted(t *testing.T) {
	s, err := Probe(file(t, "grain.mkv"))
	if err != nil || s.Frames != -1 || s.Rate != 30 {
		t.Errorf("got %+v (%v), want -1 frames at 30", s, err)
	}
}

// A rate that the header does not name follows from its frames and its length.
func TestProbeTellsTheRate(t *testing.T) {
	for name, want := range map[string][2]float64{"bframes.mp4": {29.9, 30.1}, "irregular.mp4": {31, 33}, "late.ts": {29.9, 30.1}} {
		s, err := Probe(file(t, name))
		if err != nil || s.Rate < want[0] || s.Rate > want[1] {
			t.Errorf("%s: got %v frames a second (%v), want %v", name, s.Rate, err, want)
		}
	}
}

func TestProbeTellsTheTurn(t *testing.T) {
	for name, want := range map[string]int{"bframes.mp4": 1, "turned90.mp4": 6, "turned180.mp4": 3, "turned270.mp4": 8, "mirrored.mp4": 2} {
		s, err := Probe(file(t, name))
		if err != nil || s.Orientation != want {
			t.Errorf("%s: got orientation %d (%v), want %d", name, s.Orientation, err, want)
		}
	}
}

// Count says of a stream how many frames it has, and whether decoding can start at every key frame.
func TestCountTellsClosedGroupsFromOpenOnes(t *testing.T) {
	for name, want := range map[string]bool{"bframes.mp4": true, "edit.mp4": true, "odd.webm": true, "opengroup.mkv": false, "opengroup_hevc.mp4": false, "refresh.mkv": false, "cut.mkv": false} {
		c, err := Count(file(t, name))
		ix, _, scanned := Scan(file(t, name))
		if err != nil || scanned != nil || c.Closed != want || c.Frames != int64(ix.Len()) {
			t.Errorf("%s: got %d frames, closed %t (%v, %v), want %d, %t", name, c.Frames, c.Closed, err, scanned, ix.Len(), want)
		}
	}
}

func TestCountTellsColours(t *testing.T) {
	for name, want := range map[string]Counted{"bframes.mp4": {Matrix: "unknown"}, "bt709.mp4": {Matrix: "bt709"}, "full.mp4": {Matrix: "bt709", Full: true}} {
		if c, err := Count(file(t, name)); err != nil || c.Matrix != want.Matrix || c.Full != want.Full {
			t.Errorf("%s: got %q, full %t (%v), want %q, %t", name, c.Matrix, c.Full, err, want.Matrix, want.Full)
		}
	}
}

func TestCountTellsFieldsFromFrames(t *testing.T) {
	for name, want := range map[string]bool{"bframes.mp4": true, "odd.webm": true, "opengroup_hevc.mp4": true, "interlaced.mp4": false, "field_pairs.mkv": false} {
		if c, err := Count(file(t, name)); err != nil || c.Progressive != want {
			t.Errorf("%s: got progressive %t (%v), want %t", name, c.Progressive, err, want)
		}
	}
}

func TestCountTellsTheLayoutOfFrames(t *testing.T) {
	for name, want := range map[string]string{"bframes.mp4": "yuv420p", "full.mp4": "yuvj420p", "ten_bits.mp4": "yuv420p10le", "rgb.mp4": "gbrp"} {
		c, err := Count(file(t, name))
		if err != nil || c.Pixels != want || c.Width != 64 || c.Height != 48 {
			t.Errorf("%s: got %dx%d of %q (%v), want 64x48 of %q", name, c.Width, c.Height, c.Pixels, err, want)
		}
	}
}
