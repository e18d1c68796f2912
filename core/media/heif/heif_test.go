package heif

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// tests/exact/test_heif.py made the files, and compares decoded pictures with libheif and libavif.
func TestParse(t *testing.T) {
	turned, err := Parse(read(t, "turned.avif"))
	if err != nil {
		t.Fatal(err)
	}
	if turned.Codec != "av1" || len(turned.Tiles) != 1 || turned.Width != 16 || turned.Height != 8 || turned.Orientation != 6 || turned.Colour == nil {
		t.Errorf("turned.avif: %+v", *turned)
	}
	grid, err := Parse(read(t, "grid.heic"))
	if err != nil {
		t.Fatal(err)
	}
	if grid.Codec != "hevc" || len(grid.Tiles) != 2 || grid.Columns != 2 || grid.Rows != 1 || grid.TileW != 64 || grid.TileH != 64 {
		t.Errorf("grid.heic: %+v", *grid)
	}
	if grid.Crop != (Box{W: 120, H: 60}) || grid.Orientation != 6 || *grid.Colour != (Colour{Primaries: grid.Colour.Primaries, Matrix: 0, FullRange: true}) {
		t.Errorf("grid.heic: crop %v, orientation %d, colour %v", grid.Crop, grid.Orientation, grid.Colour)
	}
}

// A turn to the left and a mirroring are EXIF's eight orientations: each name is reached, and only by what looks like it.
func TestOrientationsAreTurnsThenMirrors(t *testing.T) {
	// Where the corners of [[0 1] [2 3]] go, row by row.
	exif := map[int][4]int{1: {0, 1, 2, 3}, 2: {1, 0, 3, 2}, 3: {3, 2, 1, 0}, 4: {2, 3, 0, 1}, 5: {0, 2, 1, 3}, 6: {2, 0, 3, 1}, 7: {3, 1, 2, 0}, 8: {1, 3, 0, 2}}
	for quarters := range 4 {
		for _, mirror := range []int{-1, 0, 1} {
			c := [4]int{0, 1, 2, 3}
			for range quarters {
				c = [4]int{c[1], c[3], c[0], c[2]}
			}
			switch mirror {
			case 0:
				c = [4]int{c[2], c[3], c[0], c[1]}
			case 1:
				c = [4]int{c[1], c[0], c[3], c[2]}
			}
			if got := orientation(quarters, mirror); exif[got] != c {
				t.Errorf("%d quarters, mirror %d: orientation %d puts the corners at %v, want %v", quarters, mirror, got, exif[got], c)
			}
		}
	}
}

// A file without boxes of a still picture says so; one that ends within them is truncated.
func TestRefusals(t *testing.T) {
	grid := read(t, "grid.heic")
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":     {nil, ErrUnsupported},
		"brand alone": {grid[:24], ErrUnsupported},
		"half a meta": {grid[:100], ErrTruncated},
		"no coded":    {grid[:len(grid)-5], ErrTruncated},
		"garbage":     {[]byte("\x00\x00\x00\x0cmeta\x00\x00\x00\x00"), ErrUnsupported},
		"tiny box":    {[]byte("\x00\x00\x00\x04meta\x00\x00\x00\x00"), ErrTruncated},
	} {
		if _, err := Parse(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// Whatever the bytes: no panic, and what is said of the picture holds together.
func FuzzParse(f *testing.F) {
	f.Add(read(f, "turned.avif"))
	f.Add(read(f, "grid.heic"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		c := s.Crop
		if len(s.Tiles) != s.Columns*s.Rows || c.X < 0 || c.Y < 0 || c.W < 1 || c.H < 1 || c.X+c.W > s.Columns*s.TileW || c.Y+c.H > s.Rows*s.TileH {
			t.Errorf("%d tiles of %d x %d; crop %+v", len(s.Tiles), s.Columns, s.Rows, c)
		}
		for _, tile := range s.Tiles {
			if len(tile) == 0 {
				t.Error("a tile without bytes")
			}
		}
	})
}
