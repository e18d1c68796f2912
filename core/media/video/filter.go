//go:build !noffmpeg

package video

/*
#include <stdlib.h>
#include "../av/filter.h"
#include "video.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
)

// filtering is a sample's way through the description's filters: the chosen frames
// go in in the row's order, each as often as it was chosen, and what comes out is
// the row.
type filtering struct {
	graph *C.media_av_filter // nil: there is no description
	text  *C.char

	times []showing    // of the chosen frames, by place
	ahead []*C.AVFrame // by place: decoded before their turn
	fed   int          // places that went in
	at    int          // of the slots, without an index: the moment to decode next

	kept   []madeFrame // all that came out, where they had to be counted first
	whole  bool        // they are all
	coming madeFrame   // came out, and is not in a row yet; its frame is nil after the last one
	looked bool        // coming is what comes next
	made   int         // frames that went to rows
	lasts  float64     // seconds of one frame at the filter's rate; 0: it has none
}

// showing is when a frame is on show: ticks of its stream from first up to end, and
// the same in seconds.
type showing struct {
	first, end    int64
	pts, duration float64
}

// madeFrame is a frame that came out, and its second.
type madeFrame struct {
	frame *C.AVFrame
	pts   float64
}

func (f *filtering) open(text string) error {
	if text == "" {
		return nil
	}
	if f.graph = C.media_av_filter_new(); f.graph == nil {
		return errors.New("media: video: worker: out of memory")
	}
	f.text = C.CString(text)
	return nil
}

func (f *filtering) is() bool { return f.graph != nil }

// forget gives back every frame of the sample.
func (f *filtering) forget() {
	if !f.is() {
		return
	}
	for i := range f.ahead {
		C.av_frame_free(&f.ahead[i])
	}
	for i := range f.kept {
		C.av_frame_free(&f.kept[i].frame)
	}
	C.media_av_filter_close(f.graph)
	*f = filtering{graph: f.graph, text: f.text, times: f.times[:0], ahead: f.ahead[:0], kept: f.kept[:0], made: f.made}
}

func (f *filtering) close() {
	f.forget()
	C.media_av_filter_free(f.graph)
	C.free(unsafe.Pointer(f.text))
	*f = filtering{}
}

// beginFilter prepares the way of the chosen frames.
func (w *Worker) beginFilter() error {
	f := &w.filter
	f.forget()
	f.made = 0
	w.startFilter()
	for _, i := range w.picked {
		i := int(i)
		f.times = append(f.times, showing{w.index.Ticks(i), w.index.Ticks(i) + w.ticks(i), w.index.PTS(i), w.index.Duration(i)})
		f.ahead = append(f.ahead, nil)
	}
	if w.op.cfg.Approximate {
		w.byMoment()
		return nil
	}
	return w.plan(0)
}

// startFilter makes the next frame that goes in the first.
func (w *Worker) startFilter() {
	s := &w.stream
	o := C.media_av_filter_options{
		text: w.filter.text, _type: C.AVMEDIA_TYPE_VIDEO, time_base: C.AVRational{s.time_base_num, s.time_base_den},
		rate: C.AVRational{s.rate_num, s.rate_den}, orientation: C.int(s.orientation), threads: C.int(max(w.op.cfg.Threads, 1)),
		max_pixels: w.op.options().max_pixels,
	}
	if w.op.cfg.AsSent {
		o.orientation = 1
	}
	C.media_av_filter_begin(w.filter.graph, &o)
}

// ticks are for how long frame i is shown; of a last one of which its packet does not
// say that, a frame at the average rate.
func (w *Worker) ticks(i int) int64 {
	n, s := w.index.lasts(i), &w.stream
	if n <= 0 && s.rate_num > 0 && s.time_base_num > 0 {
		n = int64(s.rate_den) * int64(s.time_base_den) / (int64(s.rate_num) * int64(s.time_base_num))
	}
	return n
}

// takeFiltered fills a row with what the filter makes of the chosen frames.
func (w *Worker) takeFiltered(dst Row, draw Draw) error {
	refuse := w.op.cfg.Over == TooLarge
	n, err := 0, error(nil)
	err = w.besideHoles(func() error {
		n, err = w.through(dst, w.op.t, refuse, draw.media())
		return err
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return errNothing
	case w.filter.coming.frame != nil && refuse:
		return &TooLargeError{Room: w.op.t}
	}
	w.clearAfter(dst, n)
	return nil
}

var errNothing = cannot("none comes out of video.filter")

// besideHoles does something with a filter that has begun, and once more where it
// failed because packets give no frames though nothing is damaged.
func (w *Worker) besideHoles(do func() error) error {
	err := w.beginFilter()
	if err == nil {
		err = do()
	}
	if err == nil || w.op.cfg.Approximate {
		return err
	}
	if found, err := w.findHoles(err); !found {
		return err
	}
	if err = w.arrange(); err != nil {
		return err
	}
	if err = w.beginFilter(); err != nil {
		return err
	}
	return do()
}

// through puts the next frames that come out into the row, as many as n, and says
// how many there were. It looks for one more behind the last only if it is told to.
func (w *Worker) through(dst Row, n int, beyond bool, draw media.Draw) (int, error) {
	f := &w.filter
	for t := range n {
		if err := w.look(); err != nil || f.coming.frame == nil {
			return t, err
		}
		one, k := f.coming, f.made
		if err := w.put(dst, t, one.frame, draw); err != nil {
			return t, err
		}
		f.made, f.looked, f.coming = k+1, false, madeFrame{}
		if t+1 < n || beyond {
			if err := w.look(); err != nil {
				return t, err
			}
		}
		if dst.PTS != nil {
			dst.PTS[t] = one.pts
		}
		if dst.Duration != nil {
			dst.Duration[t] = f.duration(k, one.pts)
		}
	}
	return n, nil
}

// duration is for how long the k-th frame is shown: as long as the k-th chosen frame,
// if it and the one that comes have the times of the chosen ones; else up to the one
// that comes, or one frame at the filter's rate.
func (f *filtering) duration(k int, pts float64) float64 {
	own := func(k int, pts float64) bool { return k < len(f.times) && f.times[k].pts == pts }
	next := f.coming
	switch {
	case own(k, pts) && (next.frame == nil || own(k+1, next.pts)):
		return f.times[k].duration
	case next.frame != nil:
		return next.pts - pts
	}
	return f.lasts
}

// look makes coming what comes next.
func (w *Worker) look() (err error) {
	if f := &w.filter; !f.looked {
		f.coming, err = w.comesOut()
		f.looked = err == nil
	}
	return err
}

// comesOut is the next frame that comes out, lent until the next call; of no frame
// after the last one.
func (w *Worker) comesOut() (madeFrame, error) {
	f := &w.filter
	if f.whole {
		if f.made < len(f.kept) {
			return f.kept[f.made], nil
		}
		return madeFrame{}, nil
	}
	for {
		if status := C.video_check(w.v); status != C.MEDIA_AV_OK {
			return madeFrame{}, w.fail(status)
		}
		switch status := C.media_av_filter_receive(f.graph, &w.c.made); status {
		case C.MEDIA_AV_OK:
			return w.timed(w.c.made), nil
		case C.MEDIA_AV_END:
			return madeFrame{}, nil
		case C.MEDIA_AV_AGAIN:
		default:
			return madeFrame{}, w.failFilter(status)
		}
		if err := w.feed(); err != nil {
			return madeFrame{}, err
		}
	}
}

func (w *Worker) timed(frame *C.AVFrame) madeFrame {
	f, c := &w.filter, &w.c
	C.media_av_filter_times(f.graph, &c.base, &c.rate)
	f.lasts = 0
	if c.rate.num > 0 && c.rate.den > 0 {
		f.lasts = float64(c.rate.den) / float64(c.rate.num)
	}
	if frame.pts == noTime {
		return madeFrame{frame, 0}
	}
	return madeFrame{frame, float64(frame.pts) * float64(c.base.num) / float64(c.base.den)}
}

// feed lets the next chosen frame in, or says that there is none.
func (w *Worker) feed() error {
	f := &w.filter
	var frame *C.AVFrame
	ticks := int64(0)
	if f.fed < len(w.picked) {
		if err := w.decodeUpTo(f.fed); err != nil {
			return err
		}
		frame, ticks = f.ahead[f.fed], f.times[f.fed].first
	} else if f.fed > 0 {
		ticks = f.times[f.fed-1].end
	}
	if status := C.media_av_filter_send(f.graph, frame, C.int64_t(ticks)); status != C.MEDIA_AV_OK {
		return w.failFilter(status)
	}
	if frame != nil {
		C.av_frame_free(&f.ahead[f.fed])
		f.fed++
	}
	return nil
}

// decodeUpTo decodes until the frame of a place is ahead.
func (w *Worker) decodeUpTo(place int) error {
	f := &w.filter
	for f.ahead[place] == nil {
		next := w.next
		if w.op.cfg.Approximate {
			next = w.nextMoment
		}
		slots, err := next()
		if err != nil {
			return err
		}
		if len(slots) == 0 {
			return av.NewError("video", av.StatusCorrupt, "a chosen frame does not come out of the decoder")
		}
		for _, s := range slots {
			if f.ahead[s.place] = C.av_frame_clone(w.c.frame); f.ahead[s.place] == nil {
				return av.NewError("video", av.StatusNoMemory, "")
			}
		}
	}
	return nil
}

// nextMoment is next without an index: the places of the frame at the next moment.
func (w *Worker) nextMoment() ([]slot, error) {
	f := &w.filter
	first, last := f.at, f.at
	for last < len(w.slots) && w.slots[last].packet == w.slots[first].packet {
		last++
	}
	if f.at = last; first == last {
		return nil, nil
	}
	if err := w.showAt(w.slots[first]); err != nil {
		return nil, err
	}
	pts, duration := int64(w.c.pts), int64(w.c.duration)
	for _, s := range w.slots[first:last] {
		f.times[s.place] = showing{pts, pts + duration, w.index.seconds(pts), w.index.seconds(duration)}
	}
	return w.slots[first:last], nil
}

// keepAll lets every frame through and keeps what comes out, so that it is counted.
func (w *Worker) keepAll() error {
	f := &w.filter
	return w.besideHoles(func() error {
		for len(f.kept) <= MaxFrames {
			one, err := w.comesOut()
			if err != nil {
				return err
			}
			if one.frame == nil {
				f.whole = true
				return nil
			}
			if one.frame = C.av_frame_clone(one.frame); one.frame == nil {
				return av.NewError("video", av.StatusNoMemory, "")
			}
			f.kept = append(f.kept, one)
		}
		return &TooLargeError{Room: MaxFrames}
	})
}

func (w *Worker) failFilter(status C.int) error {
	detail := C.GoString(C.media_av_filter_detail(w.filter.graph))
	return av.NewError("video", int(status), fmt.Sprintf("video.filter: %s", detail))
}
