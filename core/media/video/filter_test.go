//go:build !noffmpeg

package video

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/tests/leak"
)

// filtered is a row of what a filter makes of frames of the file's own size.
func filtered(text string, room int, s Selection) Config {
	f := &found{Size: [][2]int{{64, 48}}}
	cfg := asStored(f, room, s)
	cfg.Filter = text
	return cfg
}

// The filter that does nothing changes nothing: pixels, times and durations of every
// trap file, chosen in any order, turned by the display matrix, of two sizes.
func TestNullFilterIsNoFilter(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		f := files[name]
		n := len(f.PTS)
		for i, s := range []Selection{{}, {Kind: AtIndices, Indices: []int{n - 1, 0, n / 2, n / 2, -1, 1}}, {Kind: Every, Step: 3}} {
			for _, asSent := range []bool{true, false} {
				cfg := asStored(f, n+6, s)
				cfg.AsSent = asSent
				want := mustDecode(t, cfg, file(t, name), Draw{})
				cfg.Filter = "null"
				got := mustDecode(t, cfg, file(t, name), Draw{})
				got.info.Decoded = want.info.Decoded // it stops at the last chosen frame
				if !slices.Equal(got.Data, want.Data) || !slices.Equal(got.PTS, want.PTS) || !slices.Equal(got.Duration, want.Duration) || got.info != want.info {
					t.Errorf("%s, selection %d, as sent %v: %+v with the filter, %+v without; times %v and %v", name, i, asSent, got.info, want.info, got.PTS, want.PTS)
				}
			}
		}
	}
}

// What cuts, mirrors and turns gives those pixels.
func TestGeometryOfFiltersIsExact(t *testing.T) {
	plain := mustDecode(t, filtered("", 40, Selection{}), file(t, "bframes.mp4"), Draw{})
	at := func(frame, y, x int) []byte { return plain.Data[((frame*48+y)*64+x)*3:][:3] }
	for _, test := range []struct {
		text string
		size media.Size
		from func(y, x int) (int, int)
	}{
		{"crop=32:24:16:12", media.Size{H: 24, W: 32}, func(y, x int) (int, int) { return y + 12, x + 16 }},
		{"hflip", media.Size{H: 48, W: 64}, func(y, x int) (int, int) { return y, 63 - x }},
		{"vflip,hflip", media.Size{H: 48, W: 64}, func(y, x int) (int, int) { return 47 - y, 63 - x }},
		{"transpose=clock", media.Size{H: 64, W: 48}, func(y, x int) (int, int) { return 47 - x, y }},
		{"split[a][b];[a]crop=64:24:0:0[top];[b]crop=64:24:0:24[low];[low][top]vstack", media.Size{H: 48, W: 64}, func(y, x int) (int, int) { return (y + 24) % 48, x }},
	} {
		cfg := filtered(test.text, 40, Selection{})
		cfg.Image.Out = test.size
		r := mustDecode(t, cfg, file(t, "bframes.mp4"), Draw{})
		if r.info.Frames != 40 {
			t.Errorf("%s: %d frames, want 40", test.text, r.info.Frames)
		}
	pixels:
		for frame := range 40 {
			for y := range test.size.H {
				for x := range test.size.W {
					fromY, fromX := test.from(y, x)
					if got := r.Data[((frame*test.size.H+y)*test.size.W+x)*3:][:3]; !slices.Equal(got, at(frame, fromY, fromX)) {
						t.Errorf("%s: frame %d, pixel %d, %d is %v, want %v", test.text, frame, y, x, got, at(frame, fromY, fromX))
						break pixels
					}
				}
			}
		}
	}
}

// Frames are those that come out, at their times; durations reach up to the next
// where the filter changed times, and the last for one frame of its rate.
func TestFiltersChangeCountsAndTimes(t *testing.T) {
	upTo := func(n, step int) (all []int) {
		for i := 0; i < n; i += step {
			all = append(all, i)
		}
		return all
	}
	reversed := upTo(40, 1)
	slices.Reverse(reversed)
	var twice []int
	for i := range 80 {
		twice = append(twice, i/2)
	}
	for _, test := range []struct {
		text    string
		select_ Selection
		numbers []int
		first   float64 // seconds of the first frame
		step    float64 // seconds from one to the next
		last    float64 // duration of the last
	}{
		{"null", Selection{}, upTo(40, 1), 0, 1. / 30, 1. / 30},
		{`select=not(mod(n\,4))`, Selection{}, upTo(40, 4), 0, 4. / 30, 1. / 30},
		{"framestep=5", Selection{}, upTo(40, 5), 0, 5. / 30, 5. / 30},
		{"fps=60", Selection{}, twice, 0, 1. / 60, 1. / 60},
		{"setpts=PTS/2", Selection{}, upTo(40, 1), 0, 1. / 60, 1. / 30},
		{"setpts=PTS+1/TB", Selection{}, upTo(40, 1), 1, 1. / 30, 1. / 30},
		{"trim=start_frame=10:end_frame=15", Selection{}, []int{10, 11, 12, 13, 14}, 10. / 30, 1. / 30, 1. / 30},
		{"reverse", Selection{}, reversed, 0, 1. / 30, 1. / 30},
		{"select=gte(n\\,1)", Selection{Kind: AtIndices, Indices: []int{20, 21, 22}}, []int{21, 22}, 21. / 30, 1. / 30, 1. / 30},
	} {
		r := mustDecode(t, filtered(test.text, 85, test.select_), file(t, "bframes.mp4"), Draw{})
		if got := r.numbers(); !slices.Equal(got, test.numbers) {
			t.Errorf("%s: frames %v, want %v", test.text, got, test.numbers)
			continue
		}
		near := func(got, want float64) bool { return got-want < 1e-9 && want-got < 1e-9 }
		n := len(test.numbers)
		for i := range n {
			if !near(r.PTS[i], test.first+float64(i)*test.step) {
				t.Errorf("%s: frame %d at %v, want %v", test.text, i, r.PTS[i], test.first+float64(i)*test.step)
			}
			if i+1 < n && !near(r.Duration[i], test.step) {
				t.Errorf("%s: frame %d lasts %v, want %v", test.text, i, r.Duration[i], test.step)
			}
		}
		if !near(r.Duration[n-1], test.last) {
			t.Errorf("%s: the last frame lasts %v, want %v", test.text, r.Duration[n-1], test.last)
		}
	}
}

// Sparse frames keep their own durations through a filter that leaves times alone.
func TestChosenFramesKeepTheirDurations(t *testing.T) {
	s := Selection{Kind: AtIndices, Indices: []int{3, 20, 39}}
	want := mustDecode(t, filtered("", 3, s), file(t, "bframes.mp4"), Draw{})
	got := mustDecode(t, filtered("hue=s=0", 3, s), file(t, "bframes.mp4"), Draw{})
	if !slices.Equal(got.Duration, want.Duration) || !slices.Equal(got.PTS, want.PTS) {
		t.Errorf("times %v and durations %v, want %v and %v", got.PTS, got.Duration, want.PTS, want.Duration)
	}
}

// Decoding ends where the filter wants no more, and only the groups of chosen frames are decoded.
func TestFilteredRowsDecodeNoMoreThanTheyNeed(t *testing.T) {
	for _, test := range []struct {
		text    string
		select_ Selection
		most    int
	}{
		{"trim=end_frame=3", Selection{}, 12},
		{"null", Selection{Kind: AtIndices, Indices: []int{25}}, 8},
	} {
		r := mustDecode(t, filtered(test.text, 40, test.select_), file(t, "bframes.mp4"), Draw{})
		if r.info.Decoded > test.most {
			t.Errorf("%s: the decoder gave %d frames, want at most %d", test.text, r.info.Decoded, test.most)
		}
	}
}

// More frames than the row has room for are refused or cut, however many would come.
func TestRoomBoundsWhatAFilterGives(t *testing.T) {
	for _, text := range []string{"loop=loop=1000:size=1", "fps=100000", "null"} {
		cfg := filtered(text, 7, Selection{})
		if _, err := decode(t, cfg, file(t, "bframes.mp4"), Draw{}); causeOf(err) != CauseTooLarge || !strings.Contains(err.Error(), "raise video.frames") {
			t.Errorf("%s: got %v, want cause %q", text, err, CauseTooLarge)
		}
		cfg.Over = Cut
		r := mustDecode(t, cfg, file(t, "bframes.mp4"), Draw{})
		if r.info.Frames != 7 || r.info.Decoded > 14 {
			t.Errorf("%s: %+v, want 7 frames of few", text, r.info)
		}
	}
}

// What no frame could pass is refused when the op is made, with what FFmpeg says of it.
func TestFiltersThatCannotBeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"quantum":                            `this FFmpeg has no filter "quantum"`,
		"movie=/etc/passwd":                  `got filter "movie"`,
		"movie@a=/etc/passwd":                `got filter "movie"`,
		"null;movie=/etc/passwd[b]":          `got filter "movie"`,
		"[a]null[b];  movie = /etc/passwd":   `got filter "movie"`,
		"'mov'ie=/etc/passwd":                `got filter "movie"`,
		`m\ovie=/etc/passwd`:                 `got filter "movie"`,
		"sws_flags=bilinear;movie=x":         `got filter "movie"`,
		"color=red,null":                     `got filter "color"`,
		"nullsink":                           `got filter "nullsink"`,
		"testsrc":                            `got filter "testsrc"`,
		"sendcmd=f=/etc/passwd":              `got filter "sendcmd"`,
		"drawtext=textfile=/etc/passwd":      `got filter "drawtext"`,
		"subtitles=/etc/passwd":              `got filter "subtitles"`,
		"lut3d=/etc/passwd":                  `got filter "lut3d"`,
		"curves=psfile=/etc/passwd":          `got filter "curves"`,
		"metadata=print:file=/tmp/x":         `got filter "metadata"`,
		"frei0r=x":                           `got filter "frei0r"`,
		"zmq":                                `got filter "zmq"`,
		"realtime":                           `got filter "realtime"`,
		"random":                             `got filter "random"`,
		"hwupload":                           `got filter "hwupload"`,
		"split":                              "got more than one open output, want one",
		"overlay":                            "got more than one open input, want one",
		"anull":                              "its input is of another kind, want pictures",
		"crop=x":                             "",
		"hue=q=1":                            "ption",
		"loop=loop=-1:size=1":                "loop never ends",
		"tpad=stop=-1":                       "tpad never ends",
		"null,":                              "",
		"null]":                              `no filter "null]"`,
		"[null":                              "a bracket is not closed",
		"null[":                              "a bracket is not closed",
		strings.Repeat("null,", 64) + "null": "got more than 64 filters",
		strings.Repeat("x", av.MaxFilter+1):  "want 1 to 4096",
		"null\x00movie":                      "without zeros",
		"format=pix_fmts=quantum":            "",
	} {
		_, err := Compile(Config{Image: media.Config{Out: media.Square(8)}, Frames: 1, Filter: text})
		if err == nil || !strings.HasPrefix(err.Error(), "video: filter: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want words %q", text, err, want)
		}
	}
	for _, text := range []string{"null", " null , hflip ", "[in]null[out]", "null@a,null@b", "crop=4000:4000", "scale=iw*2:-2", "format=gray", "sws_flags=bilinear;scale=8:8"} {
		if _, err := Compile(Config{Image: media.Config{Out: media.Square(8)}, Frames: 1, Filter: text}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A filter that does not take a sample's frames makes that sample bad, by name.
func TestASampleThatDoesNotFitTheFilterIsBad(t *testing.T) {
	for text, want := range map[string]string{"crop=100:100": av.CauseFilter, "scale=15000:15000": av.CauseFilter, "select=0": CauseSelect, "trim=start=100": CauseSelect} {
		_, err := decode(t, filtered(text, 4, Selection{Kind: Uniform, Count: 4}), file(t, "bframes.mp4"), Draw{})
		if causeOf(err) != want || !strings.Contains(err.Error(), "video.filter") {
			t.Errorf("%s: got %v, want cause %q", text, err, want)
		}
	}
}

// Frames of another size half-way get a filter of their own, and none is lost between.
func TestFiltersFollowTheSizeOfFrames(t *testing.T) {
	f := golden(t)["two_sizes.ts"]
	for _, text := range []string{"null", "tmix=frames=1", "hflip,hflip"} {
		cfg := asStored(f, 20, Selection{})
		cfg.Filter = text
		r := mustDecode(t, cfg, file(t, "two_sizes.ts"), Draw{})
		if got := r.numbers(); !slices.Equal(got, f.Number) {
			t.Errorf("%s: frames %v, want %v", text, got, f.Number)
		}
	}
}

// Loaded clips are as large and as long as what comes out, and chunks are their parts.
func TestLoadTakesTheFiltersSizeAndCount(t *testing.T) {
	src := Source{Path: filepath.Join("testdata", "turned90.mp4")}
	cfg := Config{Filter: "fps=15,scale=20:10"}
	whole, err := Load(cfg, src, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(whole.Shape) != "[6 10 20 3]" {
		t.Errorf("shape %v, want 6 frames of 10 rows of 20", whole.Shape)
	}
	for _, chunk := range []int{1, 4, 6, 7} {
		cfg.Frames = chunk
		data, pts, _ := chunks(t, cfg, src)
		if !slices.Equal(data, whole.Data) || !slices.Equal(pts, whole.PTS) {
			t.Errorf("chunks of %d: %d bytes at %v, want %d at %v", chunk, len(data), pts, len(whole.Data), whole.PTS)
		}
	}
	if _, err := Load(Config{Filter: "select=0"}, src, Draw{}); causeOf(err) != CauseSelect {
		t.Errorf("nothing came out, and the error is %v", err)
	}
}

// Without an index the filter gets the frames that are on show.
func TestFiltersTakeFramesFoundByTime(t *testing.T) {
	for _, s := range []Selection{{}, {Kind: AtIndices, Indices: []int{30, 2, 2, 39}}} {
		cfg := filtered("", 40, s)
		cfg.Approximate = true
		want := mustDecode(t, cfg, file(t, "bframes.mp4"), Draw{})
		cfg.Filter = "null"
		got := mustDecode(t, cfg, file(t, "bframes.mp4"), Draw{})
		if !slices.Equal(got.Data, want.Data) || !slices.Equal(got.PTS, want.PTS) || !slices.Equal(got.Duration, want.Duration) {
			t.Errorf("selection %d: the filter changes frames", s.Kind)
		}
	}
}

// A worker remembers neither the frames of the sample before nor those of a failed one, and loses nothing.
func TestFiltersForgetTheSampleBefore(t *testing.T) {
	w := workerOf(t, filtered("tmix=frames=3,select=lt(n\\,30)", 30, Selection{}))
	defer w.Close()
	want, err := decodeWith(w, file(t, "bframes.mp4"), Draw{})
	if err != nil {
		t.Fatal(err)
	}
	broken := file(t, "bframes.mp4")
	broken.Bytes = broken.Bytes[:len(broken.Bytes)*2/3]
	once := func(int) {
		for _, src := range []Source{broken, file(t, "two_sizes.ts"), file(t, "sound.m4a")} {
			_, _ = decodeWith(w, src, Draw{}) // whether it fails is another test's business
		}
		if got, err := decodeWith(w, file(t, "bframes.mp4"), Draw{}); err != nil || !slices.Equal(got.Data, want.Data) {
			t.Fatalf("a used worker gives other bytes (%v)", err)
		}
	}
	if err := leak.After(20, 1<<20, once); err != nil { // 80 samples that lost 13 KB each would not pass it; a graph is more
		t.Error(err)
	}
}
