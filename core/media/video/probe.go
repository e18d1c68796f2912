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
func Probe(src Source) (Stream, error) {
	_, s, err := look(src, false)
	return s, err
}

// Scan is Probe, and the index besides: how many frames there are and when each is
// shown. It reads all of src.
func Scan(src Source) (*Index, Stream, error) { return look(src, true) }

func look(src Source, scan bool) (*Index, Stream, error) {
	if err := av.LoadContainers(); err != nil {
		return nil, Stream{}, fmt.Errorf("video: FFmpeg %w", err)
	}
	w := &Worker{op: &Op{}, v: C.video_new()}
	if w.v == nil {
		return nil, Stream{}, av.NewError("video", av.StatusNoMemory, "")
	}
	defer C.video_free(w.v)
	defer w.end()
	if err := w.open(src); err != nil {
		return nil, Stream{}, err
	}
	s := w.describe()
	if !scan {
		return nil, s, nil
	}
	if err := w.scan(0, false); err != nil {
		return nil, s, err
	}
	w.index.own()
	return &w.index, s, nil
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
