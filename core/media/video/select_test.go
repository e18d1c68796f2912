package video

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
)

// steady is an index of n frames, ten a second from a start, a key frame every fifth.
func steady(n int, start int64) *Index {
	packets := make([]packet, n)
	for i := range packets {
		packets[i] = packet{pts: start + int64(i)*100, dts: start + int64(i)*100, duration: 100, size: 1}
		if i%5 == 0 {
			packets[i].flags = flagKey
		}
	}
	ix := &Index{}
	ix.arrange(packets, 1, 1000)
	return ix
}

func at(v float64) *float64 { return &v }

func pick(t *testing.T, s Selection, ix *Index) []int32 {
	t.Helper()
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	got, err := s.Pick(nil, ix, media.Draw{Seed: 3, Index: 9})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Each selection gives the frames of its definition; the clips' are what torchcodec
// 0.17 gives of a video of ten frames.
func TestSelectionsGiveTheFramesOfTheirDefinition(t *testing.T) {
	ten := steady(10, 0)
	late := steady(10, 5000)
	for _, test := range []struct {
		name string
		ix   *Index
		s    Selection
		want []int32
	}{
		{"all", ten, Selection{}, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"all of a window", ten, Selection{Window: &[2]float64{0.25, 0.5}}, []int32{2, 3, 4}},
		{"a window of a late start", late, Selection{Window: &[2]float64{0, 5.25}}, []int32{0, 1, 2}},
		{"uniform", ten, Selection{Kind: Uniform, Count: 4}, []int32{0, 3, 6, 9}},
		{"uniform, one", ten, Selection{Kind: Uniform, Count: 1}, []int32{0}},
		{"uniform, more than there are", steady(3, 0), Selection{Kind: Uniform, Count: 5}, []int32{0, 0, 1, 1, 2}},
		{"segments", ten, Selection{Kind: Segments, Count: 2}, []int32{2, 7}},
		{"every", ten, Selection{Kind: Every, Step: 4}, []int32{0, 4, 8}},
		{"indices", ten, Selection{Kind: AtIndices, Indices: []int{-1, 0, 3, 3}}, []int32{9, 0, 3, 3}},
		{"times", ten, Selection{Kind: AtTimes, Times: []float64{0.95, 0, 0.31, 0.3}}, []int32{9, 0, 3, 3}},
		{"times, nearest", ten, Selection{Kind: AtTimes, Times: []float64{0.36, 7, -1}, Nearest: true}, []int32{4, 9, 0}},
		{"fps", ten, Selection{Kind: FPS, Rate: 4}, []int32{0, 2, 5, 7}},
		{"fps, nearest", ten, Selection{Kind: FPS, Rate: 3, Nearest: true}, []int32{0, 3, 7}},
		{"fps above the video's", steady(2, 0), Selection{Kind: FPS, Rate: 20}, []int32{0, 0, 1, 1}},
		{"key frames", ten, Selection{Kind: KeyFrames}, []int32{0, 5}},
		{"regular clips", ten, Selection{Kind: ClipsRegularIndices, Clips: 3, ClipFrames: 2}, []int32{0, 1, 4, 5, 8, 9}},
		{"regular clips, repeated", ten, Selection{Kind: ClipsRegularIndices, ClipFrames: 3, Between: 2, RangeStart: at(-3), RangeEnd: at(10)}, []int32{7, 9, 9}},
		{"regular clips, wrapped", ten, Selection{Kind: ClipsRegularIndices, ClipFrames: 5, RangeStart: at(7), RangeEnd: at(8), Policy: Wrap}, []int32{7, 8, 9, 7, 8}},
		{"regular clips by time", ten, Selection{Kind: ClipsRegularTimes, BetweenClips: 0.4, ClipFrames: 2}, []int32{0, 1, 4, 5, 8, 9}},
	} {
		if got := pick(t, test.s, test.ix); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// Random clips lie where a clip may start, are the same for equal draws, and reach
// every start.
func TestRandomClipsCoverTheirRange(t *testing.T) {
	ten := steady(10, 0)
	for _, s := range []Selection{
		{Kind: ClipsRandomIndices, Clips: 400, ClipFrames: 3, Between: 2},
		{Kind: ClipsRandomTimes, Clips: 400, ClipFrames: 3, BetweenSecs: 0.2},
	} {
		got := pick(t, s, ten)
		if again := pick(t, s, ten); !slices.Equal(got, again) {
			t.Errorf("kind %d: equal draws give different clips", s.Kind)
		}
		starts := map[int32]int{}
		for c := range 400 {
			clip := got[c*3 : c*3+3]
			if clip[1]-clip[0] != 2 || clip[2]-clip[1] != 2 {
				t.Fatalf("kind %d: got clip %v, want steps of 2", s.Kind, clip)
			}
			starts[clip[0]]++
		}
		if len(starts) != 6 {
			t.Errorf("kind %d: clips start at %v, want each of 0 to 5", s.Kind, starts)
		}
	}
}

// A rate that the video's own is a multiple of, or a part, gives each frame as often as it should, wherever the video starts and however long it
// is: no rounding of a time gives the frame before.
func TestARateOfWholeFramesMissesNone(t *testing.T) {
	for _, of := range []struct{ num, den, ticks int64 }{{1, 15360, 512}, {1, 90000, 3003}, {1001, 30000, 1}, {1, 24, 1}, {1, 1 << 30, 33333333}} {
		for _, start := range []int64{0, 1, 6006, 123456789, 1 << 38} {
			packets := make([]packet, 1000)
			for i := range packets {
				packets[i] = packet{pts: start + int64(i)*of.ticks, duration: of.ticks, size: 1, flags: flagKey}
			}
			ix := &Index{}
			ix.arrange(packets, of.num, of.den)
			rate := float64(of.den) / float64(of.num) / float64(of.ticks)
			for _, times := range []float64{1, 3, 0.5, 0.25} {
				for _, nearest := range []bool{false, true} {
					got := pick(t, Selection{Kind: FPS, Rate: rate * times, Nearest: nearest}, ix)
					if want := int(1000 * times); len(got) != want {
						t.Fatalf("%v from %d, %v times the rate: got %d frames, want %d", of, start, times, len(got), want)
					}
					for i, f := range got {
						want := int(math.Floor(float64(i)/times + 1e-9))
						if nearest {
							want = min(int(math.Ceil(float64(i)/times-0.5-1e-9)), 999)
						}
						if int(f) != want {
							t.Fatalf("%v from %d, %v times the rate, nearest %v: moment %d shows frame %d, want %d", of, start, times, nearest, i, f, want)
						}
					}
				}
			}
		}
	}
}

func TestRandomSegmentsStayInTheirPart(t *testing.T) {
	for i := range uint64(200) {
		got, err := (&Selection{Kind: Segments, Count: 3, Random: true}).Pick(nil, steady(30, 0), media.Draw{Index: i})
		if err != nil {
			t.Fatal(err)
		}
		for part, f := range got {
			if int(f)/10 != part {
				t.Fatalf("draw %d: got %v, want one of each ten", i, got)
			}
		}
	}
}

// What no video has, and what this one has not, are refused in words.
func TestSelectionsThatCannotBeAreRefused(t *testing.T) {
	for words, s := range map[string]Selection{
		"count of 0":       {Kind: Uniform},
		"every step 0":     {Kind: Every},
		"rate of 0":        {Kind: FPS},
		"indices []":       {Kind: AtIndices},
		"times []":         {Kind: AtTimes},
		"no negative":      {Kind: ClipsRandomIndices, Clips: -1},
		"between clips 0":  {Kind: ClipsRegularTimes},
		"before its end":   {Window: &[2]float64{2, 1}},
		"finite":           {Kind: AtTimes, Times: []float64{math.NaN()}},
		"one of the named": {Kind: 99},
	} {
		if err := s.check(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want words %q", err, words)
		}
	}
	for words, s := range map[string]Selection{
		"got index -11":     {Kind: AtIndices, Indices: []int{-11}},
		"got time 1s":       {Kind: AtTimes, Times: []float64{1}},
		"window":            {Window: &[2]float64{1, 2}},
		"reaches past":      {Kind: ClipsRegularIndices, ClipFrames: 3, RangeStart: at(8), RangeEnd: at(9), Policy: Refuse},
		"start at frame 10": {Kind: ClipsRegularIndices, RangeStart: at(10)},
		"nowhere":           {Kind: ClipsRegularIndices, ClipFrames: 5, RangeStart: at(8)},
		"at 2s or later":    {Kind: ClipsRandomTimes, RangeStart: at(2)},
		"more than":         {Kind: ClipsRegularTimes, BetweenClips: 1e-9},
	} {
		_, err := s.Pick(nil, steady(10, 0), media.Draw{})
		var wrong *SelectError
		if !errors.As(err, &wrong) || wrong.Cause() != CauseSelect || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want a SelectError with words %q", err, words)
		}
	}
	forever := steady(2, 0)
	forever.packets[1].pts = 1 << 60
	if _, err := (&Selection{Kind: FPS, Rate: 30}).Pick(nil, forever, media.Draw{}); err == nil {
		t.Error("a video that claims to last for ever gave its frames")
	}
}

// swscale resizes frames before anything else is done to them.
func TestStepsAheadOfSwscaleAreRefused(t *testing.T) {
	cfg := Config{Image: media.Config{Resize: media.Square(8), Ahead: media.Steps(media.Chance{Of: media.Flip, P: 1})}}
	if err := cfg.check(1); err != nil {
		t.Errorf("by Pillow's rule: %v", err)
	}
	cfg.Scaler = SWArea
	if err := cfg.check(1); err == nil || !strings.Contains(err.Error(), "scaler: swscale resizes frames as they are decoded; want no steps ahead of that") {
		t.Errorf("by swscale: got %v", err)
	}
	cfg.Image.Ahead, cfg.Image.Resized = nil, cfg.Image.Ahead
	if err := cfg.check(1); err != nil {
		t.Errorf("by swscale, behind its resize: %v", err)
	}
}
