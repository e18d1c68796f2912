//go:build !noffmpeg

package video

/*
#include "../av/filter.h"
#include "video.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
)

// mostReady is how many frames a chunk has at most where Config.Frames is 0.
const mostReady = 64

// Decoder makes frames of one stream's packets as these come, piece after piece: of a stream that is never there as a
// whole. Every packet's frame comes out, in the order in which frames are shown, at its packet's time. It belongs to one
// goroutine at a time.
type Decoder struct {
	w     *Worker
	feed  *av.Feed
	cfg   Config
	sized func(shown media.Size) (media.Config, error)
	known bool // the frames' size, and with it cfg.Image
	ready []readyFrame
	end   int64 // of the frame decoded last, in ticks
	over  bool  // nothing more will come out
}

// readyFrame waits for its chunk.
type readyFrame struct {
	frame         *C.AVFrame
	pts, duration float64
}

// OpenDecoder opens a decoder for packets of stream's stream, which itself is not kept. Frames come in chunks of
// cfg.Frames, or where that is 0 as they are ready. sized is told the size in which the first frame is shown, and says
// cfg.Image. What chooses frames (Select, Approximate, Stream) and Budget have no effect.
func OpenDecoder(cfg Config, stream *av.Packets, sized func(shown media.Size) (media.Config, error)) (*Decoder, error) {
	first := cfg
	first.Budget = 0
	w, err := unsized(first)
	if err != nil {
		return nil, err
	}
	d := &Decoder{w: w, feed: av.NewFeed(stream.Codec()), cfg: cfg, sized: sized}
	w.c.source = C.media_av_source{fd: -1, packets: (*C.media_packets)(stream.Pointer())}
	w.c.options = w.op.options()
	w.c.options.fed = 1
	if status := C.video_open(w.v, &w.c.source, &w.c.options, &w.stream); status != C.MEDIA_AV_OK {
		err := w.fail(status)
		d.Close()
		return nil, err
	}
	if w.filter.is() {
		w.startFilter()
	}
	return d, nil
}

// Give lets the decoder have packets of its stream. They may be closed.
func (d *Decoder) Give(p *av.Packets) error { return d.feed.Give(p) }

// Flush says that there are no more packets: the decoder's last frames come out, and the last chunk may be short.
func (d *Decoder) Flush() { d.feed.Flush() }

// Stream is what the container says of the stream.
func (d *Decoder) Stream() Stream { return d.w.describe() }

// Ready decodes until there is a chunk, and says how many frames it has; 0: more packets are wanted, or after Flush
// there is nothing more. What an error was about is passed over by the next call.
func (d *Decoder) Ready() (int, error) {
	most := d.cfg.Frames
	if most == 0 {
		most = mostReady
	}
	for len(d.ready) < most && !d.over {
		one, status, err := d.next()
		if err != nil {
			return 0, err
		}
		if status == C.MEDIA_AV_AGAIN {
			if d.cfg.Frames > 0 {
				return 0, nil
			}
			break
		}
		if d.over = status == C.MEDIA_AV_END; d.over {
			break
		}
		if one.frame = C.av_frame_clone(one.frame); one.frame == nil {
			return 0, av.NewError("video", av.StatusNoMemory, "")
		}
		d.ready = append(d.ready, one)
	}
	n := min(len(d.ready), most)
	if n == 0 {
		return 0, nil
	}
	return n, d.compile(n)
}

// next is the next frame, lent until the next call, or else MEDIA_AV_AGAIN or MEDIA_AV_END.
func (d *Decoder) next() (readyFrame, C.int, error) {
	w := d.w
	if !w.filter.is() {
		status, err := d.decode()
		return readyFrame{w.c.frame, w.seconds(w.c.pts), w.seconds(w.c.duration)}, status, err
	}
	for {
		status := C.media_av_filter_receive(w.filter.graph, &w.c.made)
		if status == C.MEDIA_AV_OK {
			made := w.timed(w.c.made)
			return readyFrame{made.frame, made.pts, w.filter.lasts}, status, nil
		}
		if status == C.MEDIA_AV_END {
			return readyFrame{}, status, nil
		}
		if status != C.MEDIA_AV_AGAIN {
			return readyFrame{}, 0, w.failFilter(status)
		}
		status, err := d.decode()
		if err != nil || status == C.MEDIA_AV_AGAIN {
			return readyFrame{}, status, err
		}
		frame, at := w.c.frame, d.end-int64(w.c.duration)
		if status == C.MEDIA_AV_END {
			frame, at = nil, d.end
		}
		if status := C.media_av_filter_send(w.filter.graph, frame, C.int64_t(at)); status != C.MEDIA_AV_OK {
			return readyFrame{}, 0, w.failFilter(status)
		}
	}
}

// seconds is a time of the stream as an index has it; NaN for none.
func (w *Worker) seconds(ticks C.int64_t) float64 {
	if ticks == noTime {
		return math.NaN()
	}
	return float64(ticks) * float64(w.stream.time_base_num) / float64(w.stream.time_base_den)
}

// decode makes w.c.frame the next one of the decoder's.
func (d *Decoder) decode() (C.int, error) {
	w := d.w
	status := C.int(d.feed.Step(func(piece unsafe.Pointer, next *int64) int {
		return int(C.video_fed(w.v, (*C.media_packets)(piece), (*C.int64_t)(next), &w.c.frame, &w.c.pts, &w.c.duration))
	}))
	if status < 0 {
		return status, w.fail(status)
	}
	if status == C.MEDIA_AV_OK {
		if int64(w.c.pts) != noTime {
			d.end = int64(w.c.pts)
		}
		d.end += int64(w.c.duration)
	}
	return status, nil
}

// compile makes the row one of n frames.
func (d *Decoder) compile(n int) error {
	w := d.w
	if !d.known {
		frame := d.ready[0].frame
		shown := media.Size{H: int(frame.height), W: int(frame.width)}
		if !w.filter.is() && !d.cfg.AsSent && w.stream.orientation >= 5 {
			shown.H, shown.W = shown.W, shown.H
		}
		image, err := d.sized(shown)
		if err != nil {
			return err
		}
		d.cfg.Image, d.known = image, true
	} else if w.op.t == n {
		return nil
	}
	cfg := d.cfg
	cfg.Frames = n
	op, err := compile(cfg)
	if err == nil {
		op.device, w.op = w.op.device, op
	}
	return err
}

// Op describes the rows of the chunk that is ready.
func (d *Decoder) Op() *Op { return d.w.op }

// Take fills dst with the chunk that Ready has found.
func (d *Decoder) Take(dst Row) (Info, error) {
	w := d.w
	if err := w.op.checkRow(&dst); err != nil {
		return Info{}, err
	}
	n := w.op.t
	if n > len(d.ready) {
		return Info{}, fmt.Errorf("video: decoder: a chunk of %d frames is taken, and %d are ready; ask Ready before", n, len(d.ready))
	}
	for t := range n {
		one := &d.ready[t]
		if err := w.put(dst, t, one.frame, media.Draw{}); err != nil {
			return Info{}, err
		}
		if dst.PTS != nil {
			dst.PTS[t] = one.pts
		}
		if dst.Duration != nil {
			dst.Duration[t] = one.duration
		}
	}
	for i := range d.ready[:n] {
		C.av_frame_free(&d.ready[i].frame)
	}
	d.ready = append(d.ready[:0], d.ready[n:]...)
	return Info{
		Frames: n, Width: int(w.stream.width), Height: int(w.stream.height), Decoded: int(C.video_decoded(w.v)),
	}, nil
}

// Close ends the decoder. What it has given stays.
func (d *Decoder) Close() {
	for i := range d.ready {
		C.av_frame_free(&d.ready[i].frame)
	}
	d.ready = nil
	d.feed.Close()
	d.w.end()
	d.w.Close()
}
