package video

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/core/media"
)

// Kind is a way to choose frames.
type Kind uint8

const (
	All                 Kind = iota // every frame
	Uniform                         // Count frames evenly from the first to the last: numpy's linspace(0, n-1, Count) cut to integers
	Segments                        // one frame of each of Count equal parts: its middle, or with Random any
	Every                           // every Step-th frame, from the first
	AtIndices                       // Indices; negative ones count from the end
	AtTimes                         // the frames on show at Times, in seconds; with Nearest those that appear closest to them
	FPS                             // the frames on show at Rate moments a second, from the first, as many as the span has, rounded: torchcodec's get_all_frames(fps); with Nearest as AtTimes
	KeyFrames                       // key frames alone
	ClipsRandomIndices              // torchcodec's clips_at_random_indices
	ClipsRegularIndices             // clips_at_regular_indices
	ClipsRandomTimes                // clips_at_random_timestamps
	ClipsRegularTimes               // clips_at_regular_timestamps
)

// Policy says what a clip does that reaches past the last frame; the names are torchcodec's.
type Policy uint8

const (
	RepeatLast Policy = iota // the clip's last frame again
	Wrap                     // the clip from its first frame again
	Refuse                   // an error
)

// Selection says which frames become a row, in which order; a frame may come more
// than once. The zero value is all of them.
type Selection struct {
	Kind    Kind
	Window  *[2]float64 // only frames on show in [from, to), in seconds, to the end where to is infinite; nil: all
	Count   int         // Uniform, Segments: frames
	Step    int         // Every
	Rate    float64     // FPS
	Indices []int       // AtIndices
	Times   []float64   // AtTimes
	Nearest bool        // AtTimes, FPS
	Clamp   bool        // AtIndices, AtTimes: what lies before the first frame or behind the last is that one, and no error

	// Given says that each Source names the Times or the Indices, which then count from the first frame alone. With Nearest times have to be
	// within half a frame of those on show.
	Given  bool // AtIndices, AtTimes
	Random bool // Segments

	// Clips. A clip may start in [RangeStart, RangeEnd), in frames or seconds; nil
	// means from the first on, and as far as a clip fits.
	Clips        int     // ClipsRandom*, ClipsRegularIndices; 0: 1
	ClipFrames   int     // 0: 1
	Between      int     // indices from one frame of a clip to the next; 0: 1
	BetweenSecs  float64 // the same in seconds; 0: one frame at the average rate
	BetweenClips float64 // ClipsRegularTimes: seconds from one start to the next
	RangeStart   *float64
	RangeEnd     *float64
	Policy       Policy
}

// SelectError says that a video has not the frames that were asked for.
type SelectError struct{ Detail string }

// Cause is CauseSelect.
func (e *SelectError) Cause() string { return CauseSelect }

func (e *SelectError) Error() string { return "media: video: choosing frames: " + e.Detail }

// CauseSelect is the cause of a *SelectError.
const CauseSelect = "no_such_frames"

func cannot(format string, args ...any) error {
	return &SelectError{Detail: fmt.Sprintf(format, args...)}
}

// check finds what no video could satisfy.
func (s *Selection) check() error {
	bad := func(name string, got, want any) error {
		return fmt.Errorf("select: got %s %v, want %v", name, got, want)
	}
	if s.Kind > ClipsRegularTimes || s.Policy > Refuse {
		return fmt.Errorf("select: kind %d or policy %d is not one of the named values", s.Kind, s.Policy)
	}
	if w := s.Window; w != nil && !(w[0] < w[1]) {
		return bad("a window", *w, "its start before its end")
	}
	switch {
	case (s.Kind == Uniform || s.Kind == Segments) && s.Count < 1:
		return bad("a count of", s.Count, "at least 1")
	case s.Kind == Every && s.Step < 1:
		return bad("every step", s.Step, "at least 1")
	case s.Kind == FPS && !(s.Rate > 0 && s.Rate <= 1e6):
		return bad("a rate of", s.Rate, "more than 0, at most 1000000")
	case s.Kind == AtIndices && len(s.Indices) == 0 && !s.Given:
		return bad("indices", s.Indices, "at least one")
	case s.Kind == AtTimes && len(s.Times) == 0 && !s.Given:
		return bad("times", s.Times, "at least one")
	case s.Clips < 0 || s.ClipFrames < 0 || s.Between < 0 || s.BetweenSecs < 0:
		return bad("clips", []any{s.Clips, s.ClipFrames, s.Between, s.BetweenSecs}, "no negative numbers")
	case s.Kind == ClipsRegularTimes && !(s.BetweenClips > 0):
		return bad("seconds between clips", s.BetweenClips, "more than 0")
	}
	return s.checkNumbers()
}

func (s *Selection) checkNumbers() error {
	for _, v := range append([]float64{s.Rate, s.BetweenSecs, s.BetweenClips}, s.Times...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("select: got %v, want finite numbers", v)
		}
	}
	return nil
}

// Most is the largest number of frames that the selection gives of any video; 0
// where that hangs on the video.
func (s *Selection) Most() int {
	if s.Given {
		return 0
	}
	switch s.Kind {
	case Uniform, Segments:
		return s.Count
	case AtIndices:
		return len(s.Indices)
	case AtTimes:
		return len(s.Times)
	case ClipsRandomIndices, ClipsRegularIndices, ClipsRandomTimes:
		return max(s.Clips, 1) * max(s.ClipFrames, 1)
	}
	return 0
}

// Pick appends the chosen frames' numbers, in presentation order of ix, to to. What
// is random comes from draw alone.
func (s *Selection) Pick(to []int32, ix *Index, draw media.Draw) ([]int32, error) {
	view := span{ix: ix, from: 0, to: ix.Len()}
	if s.Window != nil {
		view.from, view.to = ix.Between(s.Window[0], s.Window[1])
	}
	if view.from >= view.to {
		if w := s.Window; w != nil {
			end := " on"
			if !math.IsInf(w[1], 1) {
				end = fmt.Sprintf(" to %gs", w[1])
			}
			return to, cannot("no frame is on show in the window from %gs%s; the video shows frames from %gs to %gs", w[0], end, ix.Start(), ix.End())
		}
		return to, cannot("the video has no frames")
	}
	switch s.Kind {
	case Uniform, Segments, Every, KeyFrames, All:
		if picked := s.spread(to, view, draw); len(picked) > len(to) {
			return picked, nil
		}
		return to, cannot("no key frame is among frames %d to %d, from %gs to %gs; choose by another kind, or a longer window", view.from, view.to-1, ix.PTS(view.from), ix.PTS(view.to-1))
	case AtIndices:
		return s.indices(to, view)
	case AtTimes:
		return s.times(to, view, s.Times)
	case FPS:
		return s.rate(to, view)
	case ClipsRandomIndices, ClipsRegularIndices:
		return s.clipsAtIndices(to, view, draw)
	default:
		return s.clipsAtTimes(to, view, draw)
	}
}

// span is the part of an index that a window leaves: frames [from, to).
type span struct {
	ix       *Index
	from, to int
}

func (v span) len() int { return v.to - v.from }

func (v span) start() float64 { return v.ix.PTS(v.from) }

func (v span) end() float64 { return v.ix.PTS(v.to-1) + v.ix.Duration(v.to-1) }

func (s *Selection) spread(to []int32, v span, draw media.Draw) []int32 {
	n := v.len()
	switch s.Kind {
	case Uniform:
		for i := range s.Count {
			to = append(to, int32(v.from+linspace(0, n-1, s.Count, i)))
		}
	case Segments:
		for i := range s.Count {
			at := 0.5
			if s.Random {
				at = draw.Uniforms(drawSegments, uint32(i))[0]
			}
			to = append(to, int32(v.from+min(int((float64(i)+at)*float64(n)/float64(s.Count)), n-1)))
		}
	default:
		step := max(s.Step, 1)
		if s.Kind != Every {
			step = 1
		}
		for i := v.from; i < v.to; i += step {
			if s.Kind != KeyFrames || v.ix.Key(i) {
				to = append(to, int32(i))
			}
		}
	}
	return to
}

// linspace is element i of n integers evenly from a to b, as torch and numpy cut them.
func linspace(a, b, n, i int) int {
	if n == 1 {
		return a
	}
	step := float64(b-a) / float64(n-1)
	if i < n/2 {
		return int(float64(a) + step*float64(i))
	}
	return int(float64(b) - step*float64(n-1-i))
}

func (s *Selection) indices(to []int32, v span) ([]int32, error) {
	for _, i := range s.Indices {
		at, least := i, -v.len()
		switch {
		case s.Given:
			least = 0
		case at < 0:
			at += v.len()
		}
		if s.Clamp {
			at = min(max(at, 0), v.len()-1)
		}
		if at < 0 || at >= v.len() {
			return to, cannot("got index %d, want %d to %d", i, least, v.len()-1)
		}
		to = append(to, int32(v.from+at))
	}
	return to, nil
}

// times is refused where nothing is on show, as torchcodec refuses it.
func (s *Selection) times(to []int32, v span, times []float64) ([]int32, error) {
	for _, t := range times {
		i := s.shown(v.ix, v.ix.ticks(t))
		if !s.reaches(v, t) {
			return to, cannot("got time %gs, want %gs or later and before %gs", t, v.start(), v.end())
		}
		to = append(to, int32(min(max(i, v.from), v.to-1)))
	}
	return to, nil
}

// reaches says that something is on show at a time, or near enough.
func (s *Selection) reaches(v span, t float64) bool {
	switch {
	case s.Clamp || s.Nearest && !s.Given:
		return true
	case s.Nearest:
		return t >= v.start()-v.ix.Duration(v.from)/2 && t < v.end()+v.ix.Duration(v.to-1)/2
	}
	return t >= v.start() && t < v.end()
}

// shown is the frame of a tick: the one on show, or the nearest.
func (s *Selection) shown(ix *Index, tick float64) int {
	if s.Nearest {
		return ix.nearest(tick)
	}
	return ix.playedAt(tick)
}

// maxPicked bounds what a rate may choose of a video that says it lasts for ever.
const maxPicked = 1 << 24

func (s *Selection) rate(to []int32, v span) ([]int32, error) {
	start, end := v.start(), v.end()
	if s.Window != nil {
		start, end = max(start, s.Window[0]), min(end, s.Window[1])
	}
	if (end-start)*s.Rate > maxPicked {
		return to, cannot("%gs at a rate of %g are more than %d frames", end-start, s.Rate, maxPicked)
	}
	first, step := v.ix.ticks(start), v.ix.ticks(1/s.Rate)
	for i := range max(int(math.Round((end-start)*s.Rate)), 1) {
		to = append(to, int32(min(max(s.shown(v.ix, first+float64(i)*step), v.from), v.to-1)))
	}
	return to, nil
}
