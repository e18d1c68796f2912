//go:build !noffmpeg

package video

/*
#include "video.h"
*/
import "C"

import (
	"fmt"

	"github.com/spdl/spdl/core/media/av"
)

// Probe reads what the container of src says of its best video stream; nothing is
// scanned or decoded, and what headers say may be wrong.
func Probe(src Source) (s Stream, err error) {
	err = look(src, func(w *Worker) error {
		s = w.describe()
		return nil
	})
	return s, err
}

// Scan is Probe, and the index besides: how many frames there are and when each is
// shown. It reads all of src.
func Scan(src Source) (ix *Index, s Stream, err error) {
	err = look(src, func(w *Worker) error {
		s = w.describe()
		if err := w.scan(0, false); err != nil {
			return err
		}
		w.index.own()
		ix = &w.index
		return nil
	})
	return ix, s, err
}

// Count reads all of src, as Scan does, and says what that tells of its frames, of which it decodes the first.
func Count(src Source) (c Counted, err error) {
	err = look(src, func(w *Worker) error {
		c.Stream = w.describe()
		if err := w.scan(0, false); err != nil {
			return err
		}
		c.Frames, c.Closed = int64(w.index.Len()), C.video_points(w.v) == 0 && w.index.closed()
		if c.Frames == 0 {
			return nil
		}
		w.picked = append(w.picked[:0], 0)
		if err := w.plan(0); err != nil {
			return err
		}
		if s, err := w.next(); err != nil || s == nil {
			return err
		}
		c.Pixels, c.Width, c.Height = C.GoString(C.video_pixels(w.c.frame)), int(w.c.frame.width), int(w.c.frame.height)
		c.Matrix, c.Full = C.GoString(C.video_matrix(w.c.frame)), C.video_is_full(w.c.frame) != 0
		c.Progressive = C.video_progressive(w.v, w.c.frame) != 0
		return nil
	})
	return c, err
}

// look opens src for what is asked of it.
func look(src Source, ask func(*Worker) error) error {
	if err := av.LoadContainers(); err != nil {
		return fmt.Errorf("video: FFmpeg %w", err)
	}
	w := &Worker{op: &Op{}, v: C.video_new()}
	if w.v == nil {
		return av.NewError("video", av.StatusNoMemory, "")
	}
	defer C.video_free(w.v)
	defer w.end()
	if err := w.open(src); err != nil {
		return err
	}
	return ask(w)
}

func (w *Worker) describe() Stream {
	c := &w.stream
	s := Stream{
		Container: C.GoString(&c.container[0]), Codec: C.GoString(&c.codec[0]), Number: int(c.number),
		Width: int(c.width), Height: int(c.height), Orientation: int(c.orientation), Frames: int64(c.n_frames),
	}
	if s.Frames <= 0 {
		s.Frames = -1
	}
	tick := float64(c.time_base_num) / float64(c.time_base_den)
	if c.rate_den > 0 {
		s.Rate = float64(c.rate_num) / float64(c.rate_den)
	}
	if c.start != noTime {
		s.Start = float64(c.start) * tick
	}
	if c.duration != noTime {
		s.Seconds = float64(c.duration) * tick
	}
	if s.Rate == 0 && s.Frames > 0 && s.Seconds > 0 {
		s.Rate = float64(s.Frames) / s.Seconds
	}
	return s
}
