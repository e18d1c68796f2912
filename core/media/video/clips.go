package video

import (
	"math"

	"github.com/spdl/spdl/core/media"
)

// Purposes of random numbers, see media.Draw.Uniforms.
const (
	drawClips    = 16
	drawSegments = 17
)

// clipsAtIndices follows torchcodec's samplers, the random starts but for their generator.
func (s *Selection) clipsAtIndices(to []int32, v span, draw media.Draw) ([]int32, error) {
	clips, frames, between := max(s.Clips, 1), max(s.ClipFrames, 1), max(s.Between, 1)
	start, end, err := s.indexRange(v.len(), between*(frames-1)+1)
	if err != nil {
		return to, err
	}
	for c := range clips {
		at := linspace(start, end-1, clips, c)
		if s.Kind == ClipsRandomIndices {
			at = start + min(int(draw.Uniforms(drawClips, uint32(c))[0]*float64(end-start)), end-start-1)
		}
		had := len(to)
		for f := 0; f < frames && at+f*between < v.len(); f++ {
			to = append(to, int32(v.from+at+f*between))
		}
		if to, err = s.fill(to, had, frames); err != nil {
			return to, err
		}
	}
	return to, nil
}

// indexRange is where a clip that spans so many frames may start: [start, end).
func (s *Selection) indexRange(n, clip int) (start, end int, err error) {
	if s.RangeStart != nil {
		start = int(*s.RangeStart)
	}
	if start < 0 {
		start += n
	}
	if start < 0 || start >= n {
		return 0, 0, cannot("clips start at frame %d or later, but there are %d frames", start, n)
	}
	end = max(n-clip+1, 1)
	if s.RangeEnd != nil {
		end = int(*s.RangeEnd)
		if end < 0 {
			end += n
		}
		end = min(end, n)
	}
	if start >= end {
		return 0, 0, cannot("clips of %d frames start at frame %d or later and before %d: nowhere", clip, start, end)
	}
	return start, end, nil
}

// clipsAtTimes is the same by time; a moment becomes the frame on show.
func (s *Selection) clipsAtTimes(to []int32, v span, draw media.Draw) ([]int32, error) {
	frames, between := max(s.ClipFrames, 1), s.BetweenSecs
	if between == 0 {
		between = (v.end() - v.start()) / float64(v.len())
	}
	start, end, err := s.timeRange(v, float64(frames-1)*between)
	if err != nil {
		return to, err
	}
	if s.Kind == ClipsRegularTimes && (end-start)/s.BetweenClips*float64(frames) > maxPicked {
		return to, cannot("%gs with a clip every %gs are more than %d frames", end-start, s.BetweenClips, maxPicked)
	}
	clips := max(s.Clips, 1)
	if s.Kind == ClipsRegularTimes {
		clips = int(math.Ceil((end - start) / s.BetweenClips)) // as torch.arange counts
	}
	for c := range clips {
		at := math.FMA(float64(c), s.BetweenClips, start) // rounded once, as torch.arange is
		if s.Kind == ClipsRandomTimes {
			at = start + draw.Uniforms(drawClips, uint32(c))[0]*(end-start)
		} else if at >= end {
			break
		}
		had := len(to)
		for f := 0; f < frames; f++ {
			t := at + float64(f)*between
			if t >= v.end() {
				break
			}
			to = append(to, int32(min(max(v.ix.PlayedAt(t), v.from), v.to-1)))
		}
		if to, err = s.fill(to, had, frames); err != nil {
			return to, err
		}
	}
	return to, nil
}

func (s *Selection) timeRange(v span, reach float64) (start, end float64, err error) {
	start, end = v.start(), v.end()-reach
	if s.RangeStart != nil {
		start = *s.RangeStart
	}
	if start < v.start() || start >= v.end() {
		return 0, 0, cannot("clips start at %gs or later, but frames are on show from %gs to %gs", start, v.start(), v.end())
	}
	if s.RangeEnd != nil {
		end = min(*s.RangeEnd, v.end())
	}
	if start >= end {
		return 0, 0, cannot("clips that last %gs start at %gs or later and before %gs: nowhere", reach, start, end)
	}
	return start, end, nil
}

// fill brings the clip that begins at had up to its frames.
func (s *Selection) fill(to []int32, had, frames int) ([]int32, error) {
	got := len(to) - had
	if got == frames {
		return to, nil
	}
	if s.Policy == Refuse || got == 0 {
		return to, cannot("a clip of %d frames reaches past the last one; start clips earlier or choose another policy", frames)
	}
	for i := got; i < frames; i++ {
		if s.Policy == Wrap {
			to = append(to, to[had+i%got])
		} else {
			to = append(to, to[had+got-1])
		}
	}
	return to, nil
}
