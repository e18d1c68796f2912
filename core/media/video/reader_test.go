//go:build !noffmpeg

package video

import (
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
)

// Load makes room for what there is, as large as it is shown.
func TestLoadTakesTheVideosOwnSize(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f := files[name]
		if len(f.Size) > 1 {
			continue
		}
		c, err := Load(Config{AsSent: true}, file(t, name), Draw{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := mustDecode(t, asStored(f, len(f.PTS), Selection{}), file(t, name), Draw{})
		if !slices.Equal(c.Data, want.Data) || !slices.Equal(c.PTS, want.PTS) || !slices.Equal(c.Duration, want.Duration) {
			t.Errorf("%s: a loaded clip of shape %v differs from the row of %v", name, c.Shape, want.op.Shape())
		}
	}
	c, err := Load(Config{}, file(t, "turned90.mp4"), Draw{})
	if err != nil || !slices.Equal(c.Shape, []int64{12, 64, 48, 3}) {
		t.Errorf("turned90.mp4: got %v (%v), want 64 rows of 48 pixels", c.Shape, err)
	}
	if _, err := Load(Config{Select: Selection{Kind: AtIndices, Indices: []int{99}}}, file(t, "bframes.mp4"), Draw{}); err == nil {
		t.Error("a frame that is not there was loaded")
	}
}

// Chunks of any size, put together, are the frames of one row, each decoded once.
func TestChunksAreTheWholeInParts(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f := files[name]
		for _, s := range []Selection{{}, {Kind: Every, Step: 3}, {Kind: FPS, Rate: 70}} {
			whole := mustDecode(t, asStored(f, 400, s), file(t, name), Draw{})
			n := whole.info.Frames
			for chunk, src := range map[int]Source{1: file(t, name), 7: {Path: filepath.Join("testdata", name)}, 1000: file(t, name)} {
				data, pts, decoded := chunks(t, asStored(f, chunk, s), src)
				if !slices.Equal(data, whole.Data[:len(data)]) || len(data) != n*whole.op.image.RowBytes() || !slices.Equal(pts, whole.PTS[:n]) {
					t.Errorf("%s, kind %d: chunks of %d differ from the whole", name, s.Kind, chunk)
				}
				if decoded > whole.info.Decoded {
					t.Errorf("%s, kind %d: chunks of %d decode %d frames, the whole %d", name, s.Kind, chunk, decoded, whole.info.Decoded)
				}
			}
		}
	}
}

// Pictures of an open group that are shown before its key frame come before it in chunks, too, whatever is chosen with them.
func TestChunksGiveLeadingPicturesInTheirPlace(t *testing.T) {
	files := golden(t)
	for _, name := range []string{"opengroup.mkv", "opengroup.ts", "opengroup_hevc.mp4", "mpeg2.mpg", "odd_mpeg4.avi"} {
		f := files[name]
		all := mustDecode(t, asStored(f, len(f.PTS), Selection{}), file(t, name), Draw{})
		frame := all.op.image.RowBytes()
		for i := range len(f.PTS) - 2 {
			want := append(slices.Clone(all.Data[i*frame:(i+1)*frame]), all.Data[(i+2)*frame:(i+3)*frame]...)
			for _, src := range []Source{file(t, name), {Path: filepath.Join("testdata", name)}} {
				got, _, decoded := chunks(t, asStored(f, 1, Selection{Kind: AtIndices, Indices: []int{i, i + 2}}), src)
				if !slices.Equal(got, want) {
					t.Errorf("%s: frames %d and %d in chunks are others than in one row", name, i, i+2)
				}
				if decoded > 22 { // of the group before and its own
					t.Errorf("%s: frames %d and %d in chunks: %d were decoded, want two groups at most", name, i, i+2, decoded)
				}
			}
		}
	}
}

func chunks(t *testing.T, cfg Config, src Source) (data []byte, pts []float64, decoded int) {
	t.Helper()
	r, err := Open(cfg, src, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return chunksOf(t, r)
}

func chunksOf(t *testing.T, r *Reader) (data []byte, pts []float64, decoded int) {
	t.Helper()
	row := Row{Data: make([]byte, r.Op().RowBytes()), PTS: make([]float64, r.Op().Frames())}
	for {
		info, err := r.Next(row)
		if err == io.EOF {
			return data, pts, decoded
		}
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, row.Data[:info.Frames*r.Op().image.RowBytes()]...)
		pts = append(pts, row.PTS[:info.Frames]...)
		decoded = info.Decoded
	}
}

// A long video may take as long as it wants in all: the budget is a chunk's, and what passes between chunks does not count.
func TestEachChunkHasTheBudgetOfASample(t *testing.T) {
	cfg := Config{Image: media.Config{Out: media.Square(8)}, Frames: 5, Budget: time.Hour}
	r, err := Open(cfg, file(t, "bframes.mp4"), Draw{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	row := Row{Data: make([]byte, r.Op().RowBytes())}
	for range 3 {
		if _, err := r.Next(row); err != nil {
			t.Fatal(err)
		}
		r.w.allow(time.Nanosecond) // the hour is over
	}
	r.w.op.cfg.Budget = time.Nanosecond
	if _, err := r.Next(row); causeOf(err) != av.CauseTooSlow {
		t.Fatalf("got %v, want cause %q of a chunk that takes too long", err, av.CauseTooSlow)
	}
}

// Frames that fall back in time have no place in chunks.
func TestChunksRefuseFallingFrames(t *testing.T) {
	cfg := Config{Image: media.Config{Out: media.Square(8)}, Frames: 1, Select: Selection{Kind: AtIndices, Indices: []int{5, 2}}}
	if _, err := Open(cfg, file(t, "bframes.mp4"), Draw{}); causeOf(err) != CauseSelect {
		t.Errorf("got %v, want cause %q", err, CauseSelect)
	}
	cfg.Frames = 2
	r, err := Open(cfg, file(t, "bframes.mp4"), Draw{})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}
