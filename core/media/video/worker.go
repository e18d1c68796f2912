//go:build !noffmpeg

package video

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: libavformat libavcodec libavutil libswscale
#include "video.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/far"
)

// keepBytes of packets are kept from the scan of a sample, so that it is read once.
const keepBytes = 256 << 20

// Compile checks cfg and prepares its tables. Errors name the field.
func Compile(cfg Config) (*Op, error) {
	op, err := compile(cfg)
	if err != nil {
		return nil, err
	}
	if err := av.LoadContainers(); err != nil {
		return nil, fmt.Errorf("video: FFmpeg %w", err)
	}
	if cfg.Filter != "" {
		if err := av.CheckFilter(cfg.Filter, true); err != nil {
			return nil, fmt.Errorf("video: %w", err)
		}
	}
	return op, op.openDevice()
}

// Worker decodes on one thread at a time and keeps its buffers between rows.
type Worker struct {
	op        *Op
	v         *C.video_ctx
	scaler    *C.video_scaler
	image     *media.Worker
	pixels    []byte // a frame between decoder and image, PictureSlack included
	planes    []byte // a frame before its planes are spread, for CTHW
	index     Index
	picked    []int32   // frames of the index, in the row's order
	selection Selection // the Config's, of a source that has a window of its own
	slots     []slot
	runs      []run
	pins      runtime.Pinner
	far       far.Reading // of the sample's bytes, where only Go can read them
	away      *av.File    // which is where they lie
	loaded    bool        // the index was kept
	stream    C.video_stream
	filter    filtering
	file      *os.File      // of the sample, if it is one
	keep      int64         // bytes of packets to keep from a scan
	offDevice bool          // the processor decodes a sample at which the device failed
	spent     time.Duration // of the sample's time, by then
	kept      *os.File      // that sample's, to be read again
	c         scratch
	rest      media.StandBack
}

// scratch is what C writes to or reads in calls: on the stack it would move to the heap.
type scratch struct {
	source        C.media_av_source
	options       C.media_av_options
	frame, made   *C.AVFrame
	base, rate    C.AVRational
	number, n     C.int32_t
	want          *C.uint8_t
	runs          *C.video_run
	pts, duration C.int64_t
}

// slot is one place of the row: the packet whose frame goes there.
type slot struct{ packet, place int32 }

// run is video_run: packets [key, last] are decoded in one go.
type run struct{ key, last int32 }

// NewWorker makes a worker. Close it.
func (op *Op) NewWorker() (*Worker, error) {
	image, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	v := C.video_new()
	if v == nil {
		image.Close()
		return nil, errors.New("media: video: worker: out of memory")
	}
	w := &Worker{op: op, v: v, image: image, keep: keepBytes}
	if err := w.filter.open(op.cfg.Filter); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close frees the worker's memory. It must not be used again.
func (w *Worker) Close() {
	w.filter.close()
	C.video_free(w.v)
	C.video_scaler_free(&w.scaler)
	w.image.Close()
	*w = Worker{}
}

// Decode puts the frames that the op chooses of src into dst; nothing of src is kept.
// It blocks for as long as decoding takes.
func (w *Worker) Decode(dst Row, src Source, draw Draw) (Info, error) {
	if err := w.op.checkRow(&dst); err != nil {
		return Info{}, err
	}
	if w.op.cfg.Hardware != Auto {
		return w.attempt(dst, src, draw)
	}
	began := time.Now()
	info, err := w.attempt(dst, src, draw)
	if deviceFailed(err) {
		w.offDevice, w.spent = true, time.Since(began)
		info, err = w.attempt(dst, src, draw)
		w.offDevice, w.spent = false, 0
	}
	return info, err
}

func (w *Worker) attempt(dst Row, src Source, draw Draw) (_ Info, err error) {
	defer w.end()
	defer func() { w.countDevice(err) }()
	if err = w.begin(src, draw); err != nil {
		return w.info(), err
	}
	if w.filter.is() {
		err = w.takeFiltered(dst, draw)
		return w.info(), err
	}
	if err = w.fit(); err != nil {
		return w.info(), err
	}
	err = w.take(dst, draw)
	return w.info(), err
}

// begin opens src and chooses its frames. It is followed by end, whatever it returns.
func (w *Worker) begin(src Source, draw Draw) error {
	w.picked, w.index.order = w.picked[:0], w.index.order[:0]
	w.index.heads, w.loaded = nil, false
	w.stream = C.video_stream{}
	if err := w.open(src); err != nil {
		return err
	}
	prepare := w.makeIndex
	if w.op.cfg.Approximate {
		prepare = w.guessIndex
	}
	if err := prepare(src); err != nil {
		return err
	}
	chosen := &w.op.cfg.Select
	if src.Window != nil || chosen.Given {
		w.selection = *chosen
		chosen = &w.selection
	}
	if src.Window != nil {
		chosen.Window = src.Window
	}
	if chosen.Given {
		chosen.Times, chosen.Indices = src.Times, src.Indices
	}
	var err error
	w.picked, err = chosen.Pick(w.picked[:0], &w.index, draw.media())
	return err
}

// fit sees to it that there is room for what was chosen.
func (w *Worker) fit() error {
	if len(w.picked) <= w.op.t {
		return nil
	}
	if w.op.cfg.Over == TooLarge {
		return &TooLargeError{Got: len(w.picked), Room: w.op.t}
	}
	w.picked = w.picked[:w.op.t]
	return nil
}

// take decodes all chosen frames into one row.
func (w *Worker) take(dst Row, draw Draw) error {
	if w.op.cfg.Approximate {
		return w.approximate(dst, draw)
	}
	err := w.decode(dst, draw)
	if err != nil {
		found, why := w.findHoles(err)
		if !found {
			return why
		}
		if err = w.arrange(); err == nil {
			err = w.decode(dst, draw)
		}
	}
	if err != nil {
		return err
	}
	w.times(dst, 0, len(w.picked))
	w.clearAfter(dst, len(w.picked))
	return nil
}

// findHoles reports whether a sample failed (err) because packets give no frames though nothing is damaged; which are known then. What goes wrong
// with the machine meanwhile is the error.
func (w *Worker) findHoles(err error) (bool, error) {
	switch status := C.video_find_holes(w.v); status {
	case C.MEDIA_AV_OK:
		return true, nil
	case C.MEDIA_AV_DEVICE, C.MEDIA_AV_TOO_SLOW, C.MEDIA_AV_NO_MEMORY:
		return false, w.fail(status)
	}
	return false, err
}

func (w *Worker) decode(dst Row, draw Draw) error {
	if err := w.plan(0); err != nil {
		return err
	}
	for {
		s, err := w.next()
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		if err := w.put(dst, int(s[0].place), w.c.frame, draw.media()); err != nil {
			return err
		}
		for _, other := range s[1:] {
			w.repeat(dst, int(other.place), int(s[0].place))
		}
	}
}

// allow lets the sample take so long from now on; 0: any time.
func (w *Worker) allow(budget time.Duration) { C.video_allow(w.v, C.int64_t(budget)) }

// end closes the sample: nothing reads its bytes after this.
func (w *Worker) end() {
	w.filter.forget()
	C.video_close(w.v)
	w.pins.Unpin()
	w.far.Close()
	w.away = nil
	if w.file != nil {
		_ = w.file.Close() // it was only read
		w.file = nil
	}
}

func (w *Worker) info() Info {
	frames := len(w.picked)
	if w.filter.is() {
		frames = w.filter.made
	}
	return Info{
		Frames: frames, Of: w.index.Len(), Width: int(w.stream.width), Height: int(w.stream.height),
		Decoded: int(C.video_decoded(w.v)),
	}
}

// AppendShown appends when the latest sample's chosen frames are on show in the video, in front of a filter: from the begin of the earliest to the
// end of the latest, in seconds, for each of so many clips of equal length that they are. With Approximate it is not known, and 0.
func (w *Worker) AppendShown(to [][2]float64, clips int) [][2]float64 {
	size := len(w.picked) / clips
	for k := range clips {
		picked := w.picked[k*size : (k+1)*size]
		if size == 0 || w.op.cfg.Approximate || w.index.Len() == 0 {
			to = append(to, [2]float64{})
			continue
		}
		first, last := int(slices.Min(picked)), int(slices.Max(picked))
		to = append(to, [2]float64{w.index.PTS(first), w.index.seconds(w.index.Ticks(last) + w.ticks(last))})
	}
	return to
}

// plan groups the chosen frames from that one on into runs for C, each from one key frame: what an open group shows before its key frame needs the
// group before, and so all from there on is one run.
func (w *Worker) plan(from int) error {
	ix := &w.index
	w.slots = w.slots[:0]
	for place, i := range w.picked[from:] {
		w.slots = append(w.slots, slot{ix.source(int(i)), int32(from + place)})
	}
	slices.SortFunc(w.slots, func(a, b slot) int {
		if a.packet != b.packet {
			return int(a.packet) - int(b.packet)
		}
		return int(a.place) - int(b.place)
	})
	w.runs = w.runs[:0]
	for i := len(w.slots) - 1; i >= 0; i-- {
		packet := w.slots[i].packet
		if n := len(w.runs); n > 0 && packet >= w.runs[n-1].key {
			w.runs[n-1].key = min(w.runs[n-1].key, ix.entry[packet])
			continue
		}
		w.runs = append(w.runs, run{ix.entry[packet], ix.last(packet)})
	}
	slices.Reverse(w.runs)
	n := len(w.runs)
	if status := C.video_plan(w.v, C.int32_t(n), C.int32_t(ix.reorder), &w.c.want, &w.c.runs); status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	wanted, to := unsafe.Slice(w.c.want, len(ix.packets)), unsafe.Slice(w.c.runs, n)
	for _, s := range w.slots {
		wanted[s.packet] = 1
	}
	for i, r := range w.runs {
		to[i] = C.video_run{key: C.int32_t(r.key), last: C.int32_t(r.last)}
	}
	if w.away != nil {
		w.away.Expect(w.parts())
	}
	return nil
}

// A demuxer reads from the header on that a packet may have in front of it, and behind a packet what its buffer holds, twice where another stream has some in between.
const (
	before = 4 << 10
	beyond = 128 << 10
)

// parts are where the packets of the runs lie in the file, with those behind that a decoder may have to see until it gives the last frame.
func (w *Worker) parts() (all [][2]int64) {
	for _, r := range w.runs {
		part := [2]int64{math.MaxInt64, 0}
		for _, p := range w.index.packets[r.key:min(int(r.last+w.index.reorder)+2, len(w.index.packets))] {
			if p.pos >= 0 {
				part[0], part[1] = min(part[0], p.pos-before), max(part[1], p.pos+int64(p.size)+beyond)
			}
		}
		if part[1] > 0 {
			all = append(all, part)
		}
	}
	return all
}

// next is the places of the frame that comes next out of the decoder, which is then
// w.c.frame; none after the last one.
func (w *Worker) next() ([]slot, error) {
	status := C.int(C.MEDIA_AV_AGAIN)
	for status == C.MEDIA_AV_AGAIN {
		w.rest.Now()
		status = C.video_next(w.v, &w.c.frame, &w.c.number)
	}
	if status == C.MEDIA_AV_END {
		return nil, nil
	}
	if status != C.MEDIA_AV_OK {
		return nil, w.fail(status)
	}
	number := int32(w.c.number)
	first, _ := slices.BinarySearchFunc(w.slots, number, func(s slot, n int32) int { return int(s.packet) - int(n) })
	last := first + 1
	for last < len(w.slots) && w.slots[last].packet == number {
		last++
	}
	return w.slots[first:last], nil
}

// times writes when the chosen frames from first on are shown, as many as n.
func (w *Worker) times(dst Row, first, n int) {
	for t, i := range w.picked[first : first+n] {
		if dst.PTS != nil {
			dst.PTS[t] = w.index.PTS(int(i))
		}
		if dst.Duration != nil {
			dst.Duration[t] = w.index.Duration(int(i))
		}
	}
}
