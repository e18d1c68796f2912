//go:build !noffmpeg

package video

/*
#include "video.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
)

// approximate decodes without an index: the header's rate and length made one up, and
// each chosen moment becomes the frame that is on show then.
func (w *Worker) approximate(dst Row, draw Draw) error {
	w.byMoment()
	for i, s := range w.slots {
		if i > 0 && s.packet == w.slots[i-1].packet {
			w.again(dst, int(s.place), int(w.slots[i-1].place))
			continue
		}
		if err := w.moment(dst, s, draw.media()); err != nil {
			return err
		}
	}
	w.clearAfter(dst, len(w.picked))
	return nil
}

// byMoment sorts the chosen frames by the moment at which they are shown.
func (w *Worker) byMoment() {
	w.slots = w.slots[:0]
	for place, i := range w.picked {
		w.slots = append(w.slots, slot{i, int32(place)})
	}
	slices.SortStableFunc(w.slots, func(a, b slot) int { return int(a.packet) - int(b.packet) })
}

// guessIndex lists frames at equal distances. A tick less than half of that distance
// is added where frames are sought, so that rounding does not choose the one before.
func (w *Worker) guessIndex(Source) error {
	s := &w.stream
	if s.rate_num <= 0 || s.rate_den <= 0 {
		return av.NewError("video", av.StatusUnsupported, "the header names no frame rate; approximate needs one")
	}
	num, den := int64(s.time_base_num), int64(s.time_base_den)
	step := float64(s.rate_den) / float64(s.rate_num) * float64(den) / float64(num) // ticks
	n := float64(s.n_frames)
	if n <= 0 && s.duration > 0 {
		n = math.Round(float64(s.duration) / step)
	}
	if !(n >= 1 && n <= 1<<30) {
		return av.NewError("video", av.StatusUnsupported, "the header names no length; approximate needs one")
	}
	start := float64(max(int64(s.start), 0))
	packets := slices.Grow(w.index.packets[:0], int(n))[:int(n)]
	for i := range packets {
		at := int64(math.Round(start + float64(i)*step))
		packets[i] = packet{pts: at, dts: at, size: 1, duration: int64(math.Round(step))}
	}
	w.index.arrange(packets, num, den)
	return nil
}

func (w *Worker) again(dst Row, t, from int) {
	w.repeat(dst, t, from)
	if dst.PTS != nil {
		dst.PTS[t] = dst.PTS[from]
	}
	if dst.Duration != nil {
		dst.Duration[t] = dst.Duration[from]
	}
}

// showAt decodes the frame that is on show at a slot's moment: w.c.frame, its time and how long it is shown.
func (w *Worker) showAt(s slot) error {
	half := w.index.packets[s.packet].duration / 2
	status := C.video_at(w.v, C.int64_t(w.index.packets[s.packet].pts+half), &w.c.frame, &w.c.pts, &w.c.duration)
	if status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	return nil
}

func (w *Worker) moment(dst Row, s slot, draw media.Draw) error {
	if err := w.showAt(s); err != nil {
		return err
	}
	t := int(s.place)
	if dst.PTS != nil {
		dst.PTS[t] = w.index.seconds(int64(w.c.pts))
	}
	if dst.Duration != nil {
		dst.Duration[t] = w.index.seconds(int64(w.c.duration))
	}
	if err := w.put(dst, t, w.c.frame, draw); err != nil {
		return fmt.Errorf("frame at %gs: %w", w.index.seconds(int64(w.c.pts)), err)
	}
	return nil
}
