package video

import (
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
)

// What a sample names itself counts from the first frame, and is refused beyond the video unless the ends stand in for it.
func TestGivenFramesAreThoseOfTheSample(t *testing.T) {
	ten, late := steady(10, 0), steady(10, 5000)
	part := &[2]float64{0.3, 0.6}
	for _, c := range []struct {
		name string
		ix   *Index
		s    Selection
		want []int32
		text string // of the refusal
	}{
		{"indices", ten, Selection{Kind: AtIndices, Indices: []int{9, 0, 3}}, []int32{9, 0, 3}, ""},
		{"before the first", ten, Selection{Kind: AtIndices, Indices: []int{-1}}, nil, "got index -1, want 0 to 9"},
		{"behind the last", ten, Selection{Kind: AtIndices, Indices: []int{3, 10}}, nil, "got index 10, want 0 to 9"},
		{"held to the ends", ten, Selection{Kind: AtIndices, Indices: []int{-4, 2, 12}, Clamp: true}, []int32{0, 2, 9}, ""},
		{"held to a window", ten, Selection{Kind: AtIndices, Indices: []int{-4, 1, 12}, Clamp: true, Window: part}, []int32{3, 4, 5}, ""},
		{"times", late, Selection{Kind: AtTimes, Times: []float64{5.25, 5}}, []int32{2, 0}, ""},
		{"too early", late, Selection{Kind: AtTimes, Times: []float64{4.9}}, nil, "got time 4.9s, want 5s or later and before 6s"},
		{"too late", late, Selection{Kind: AtTimes, Times: []float64{6}}, nil, "got time 6s"},
		{"times held to the ends", late, Selection{Kind: AtTimes, Times: []float64{-1, 5.5, 1e9}, Clamp: true}, []int32{0, 5, 9}, ""},
		{"times held to a window", ten, Selection{Kind: AtTimes, Times: []float64{0, 0.4, 0.9}, Clamp: true, Window: part}, []int32{3, 4, 5}, ""},
		{"nearest", late, Selection{Kind: AtTimes, Times: []float64{4.951, 5.149, 6.049}, Nearest: true}, []int32{0, 1, 9}, ""},
		{"nearest, too early", late, Selection{Kind: AtTimes, Times: []float64{4.949}, Nearest: true}, nil, "got time 4.949s"},
		{"nearest, too late", late, Selection{Kind: AtTimes, Times: []float64{6.051}, Nearest: true}, nil, "got time 6.051s"},
	} {
		c.s.Given = true
		if err := c.s.check(); err != nil || c.s.Most() != 0 {
			t.Fatalf("%s: %v, at most %d", c.name, err, c.s.Most())
		}
		got, err := c.s.Pick(nil, c.ix, media.Draw{})
		if c.text != "" {
			if err == nil || !strings.Contains(err.Error(), c.text) || err.(*SelectError).Cause() != CauseSelect {
				t.Errorf("%s: got %v, %v, want %q", c.name, got, err, c.text)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v, %v", c.name, got, c.want, err)
		}
	}
}

// Lists that the description has are held to the ends where it says so, and count from the end as ever.
func TestListsMayBeHeldToTheEnds(t *testing.T) {
	ten := steady(10, 0)
	for want, s := range map[int32]Selection{
		9: {Kind: AtTimes, Times: []float64{1.5}, Clamp: true}, 8: {Kind: AtIndices, Indices: []int{-2}, Clamp: true}, 0: {Kind: AtIndices, Indices: []int{-20}, Clamp: true},
	} {
		if got := pick(t, s, ten); len(got) != 1 || got[0] != want {
			t.Errorf("%+v: got %v, want %d", s, got, want)
		}
	}
}

// Times that were rounded to float32, as LeRobot keeps them, name their frame where the nearest is asked for; on show is then often the one before.
func TestNearestIsTheFrameOfARoundedTime(t *testing.T) {
	for _, base := range [][2]int64{{1, 15360}, {1, 90000}, {1, 1000}} {
		for _, fps := range []int64{10, 15, 30, 50, 60} {
			packets := make([]packet, 3000)
			for i := range packets {
				pts := (int64(i)*base[1]*2 + fps) / (2 * fps)
				packets[i] = packet{pts: pts, dts: pts, duration: base[1] / fps, size: 1, flags: flagKey}
			}
			ix := &Index{}
			ix.arrange(packets, base[0], base[1])
			before := 0
			for i := range packets {
				at := []float64{float64(float32(float64(i) / float64(fps)))}
				s := Selection{Kind: AtTimes, Times: at, Nearest: true, Given: true}
				if got := pick(t, s, ix); got[0] != int32(i) {
					t.Fatalf("%d frames a second in ticks of 1/%d: frame %d is %d", fps, base[1], i, got[0])
				}
				s.Nearest, s.Clamp = false, true
				if pick(t, s, ix)[0] != int32(i) {
					before++
				}
			}
			if fps == 30 && base[1] == 90000 && before == 0 {
				t.Error("what is on show was the frame each time: this test shows nothing")
			}
		}
	}
}
