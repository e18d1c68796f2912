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
	"os"
	"runtime"
	"slices"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
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
	return op, nil
}

// Worker decodes on one thread at a time and keeps its buffers between rows.
type Worker struct {
	op     *Op
	v      *C.video_ctx
	scaler *C.video_scaler
	image  *media.Worker
	pixels []byte // a frame between decoder and image, PictureSlack included
	planes []byte // a frame before its planes are spread, for CTHW
	index  Index
	picked []int32 // frames of the index, in the row's order
	slots  []slot
	pins   runtime.Pinner
	stream C.video_stream
	c      scratch
}

// scratch is what C writes to or reads in calls: on the stack it would move to the heap.
type scratch struct {
	source        C.media_av_source
	options       C.media_av_options
	frame         *C.AVFrame
	number, n     C.int32_t
	want          *C.uint8_t
	runs          *C.video_run
	pts, duration C.int64_t
}

// slot is one place of the row: the packet whose frame goes there.
type slot struct{ packet, place int32 }

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
	return &Worker{op: op, v: v, image: image}, nil
}

// Close frees the worker's memory. It must not be used again.
func (w *Worker) Close() {
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
	file, err := w.open(src)
	if err != nil {
		return Info{}, err
	}
	defer w.close(file)
	info := Info{Width: int(w.stream.width), Height: int(w.stream.height)}
	if w.op.cfg.Approximate {
		err := w.approximate(dst, draw, &info)
		return info, err
	}
	if err := w.makeIndex(src, file); err != nil {
		return info, err
	}
	info.Of = w.index.Len()
	if err := w.choose(draw); err != nil {
		return info, err
	}
	info.Frames = len(w.picked)
	if err := w.plan(); err != nil {
		return info, err
	}
	if err := w.frames(dst, media.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index}); err != nil {
		return info, err
	}
	w.finish(dst)
	info.Decoded = int(C.video_decoded(w.v))
	return info, nil
}

// open gives the container to C, which reads src until close.
func (w *Worker) open(src Source) (*os.File, error) {
	var file *os.File
	source := &w.c.source
	*source = C.media_av_source{fd: -1}
	if src.Bytes == nil && src.Path != "" {
		f, err := os.Open(src.Path)
		if err != nil {
			return nil, av.NewError("video", av.StatusRead, err.Error())
		}
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", src.Path)
		}
		if err != nil {
			return nil, errors.Join(av.NewError("video", av.StatusRead, err.Error()), f.Close())
		}
		file, source.fd, source.size = f, C.int(f.Fd()), C.int64_t(info.Size())
	} else if len(src.Bytes) > 0 {
		w.pins.Pin(&src.Bytes[0])
		source.data, source.size = (*C.uint8_t)(&src.Bytes[0]), C.int64_t(len(src.Bytes))
	}
	w.c.options = w.op.options()
	if status := C.video_open(w.v, &w.c.source, &w.c.options, &w.stream); status != C.MEDIA_AV_OK {
		err := w.fail(status)
		w.close(file)
		return nil, err
	}
	return file, nil
}

func (op *Op) options() C.media_av_options {
	cfg := &op.cfg
	o := C.media_av_options{
		_type: C.AVMEDIA_TYPE_VIDEO, stream: C.int(cfg.Stream), threads: C.int(max(cfg.Threads, 1)),
		max_packets: C.uint64_t(cfg.MaxPackets), max_pixels: C.uint64_t(cfg.Image.MaxPixels), budget_ns: C.int64_t(cfg.Budget),
	}
	if cfg.Image.MaxPixels == 0 {
		o.max_pixels = media.DefaultMaxPixels
	}
	if !cfg.Approximate {
		o.lean = 1 // the index tells how many frames a decoder holds back
	}
	return o
}

// close is the end of a sample: nothing reads its bytes after this.
func (w *Worker) close(file *os.File) {
	C.video_close(w.v)
	w.pins.Unpin()
	if file != nil {
		_ = file.Close() // it was only read
	}
}

func (w *Worker) fail(status C.int) error {
	if status == C.MEDIA_AV_TOO_MANY_PIXELS {
		var width, height C.int32_t
		C.video_refused(w.v, &width, &height)
		limit := w.op.options().max_pixels
		return av.NewError("video", int(status), fmt.Sprintf("got %dx%d, want at most %d pixels; raise image.max_pixels to take it", width, height, limit))
	}
	return av.NewError("video", int(status), C.GoString(C.video_detail(w.v)))
}

// makeIndex makes the index of the open container: from disk where one is kept,
// otherwise by a scan.
func (w *Worker) makeIndex(src Source, file *os.File) error {
	dir := w.op.cfg.IndexCache
	if file == nil || dir == "" {
		return w.scan(keepBytes)
	}
	stat, err := file.Stat()
	if err != nil {
		return av.NewError("video", av.StatusRead, err.Error())
	}
	path, err := cachePath(dir, src.Path, int32(w.op.cfg.Stream)-1)
	if err != nil {
		return av.NewError("video", av.StatusRead, err.Error())
	}
	id := identify(stat, uint32(C.avformat_version()), int32(w.op.cfg.Stream)-1)
	if w.index.load(path, id) && len(w.index.packets) > 0 {
		p := (*C.video_packet)(unsafe.Pointer(&w.index.packets[0]))
		if status := C.video_set_packets(w.v, p, C.int32_t(len(w.index.packets))); status != C.MEDIA_AV_OK {
			return w.fail(status)
		}
		return nil
	}
	if err := w.scan(keepBytes); err != nil {
		return err
	}
	if err := w.index.store(path, id); err != nil {
		return fmt.Errorf("media: video: keeping the index: %w", err)
	}
	return nil
}

func (w *Worker) scan(keep int64) error {
	if status := C.video_scan(w.v, C.int64_t(keep)); status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	p := C.video_packets(w.v, &w.c.n)
	w.index.arrange(unsafe.Slice((*packet)(unsafe.Pointer(p)), int(w.c.n)), int64(w.stream.time_base_num), int64(w.stream.time_base_den))
	if w.index.Len() == 0 {
		return av.NewError("video", av.StatusCorrupt, "the stream has no frames")
	}
	return nil
}

func (w *Worker) choose(draw Draw) error {
	var err error
	w.picked, err = w.op.cfg.Select.Pick(w.picked[:0], &w.index, media.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	if err != nil {
		return err
	}
	if len(w.picked) > w.op.t {
		if w.op.cfg.Over == TooLarge {
			return &TooLargeError{Got: len(w.picked), Room: w.op.t}
		}
		w.picked = w.picked[:w.op.t]
	}
	return nil
}

// plan groups the chosen frames into runs for C, each from one key frame.
func (w *Worker) plan() error {
	ix := &w.index
	w.slots = w.slots[:0]
	for place, i := range w.picked {
		w.slots = append(w.slots, slot{ix.order[i], int32(place)})
	}
	slices.SortFunc(w.slots, func(a, b slot) int {
		if a.packet != b.packet {
			return int(a.packet) - int(b.packet)
		}
		return int(a.place) - int(b.place)
	})
	n := 0
	for i, s := range w.slots {
		if i == 0 || ix.entry[s.packet] > w.slots[i-1].packet {
			n++
		}
	}
	if status := C.video_plan(w.v, C.int32_t(n), C.int32_t(ix.reorder), &w.c.want, &w.c.runs); status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	wanted, to := unsafe.Slice(w.c.want, len(ix.packets)), unsafe.Slice(w.c.runs, n)
	run := -1
	for i, s := range w.slots {
		wanted[s.packet] = 1
		if i == 0 || ix.entry[s.packet] > w.slots[i-1].packet {
			run++
			to[run].key = C.int32_t(ix.entry[s.packet])
		}
		to[run].last = C.int32_t(s.packet)
	}
	return nil
}

// frames takes the chosen frames as they come out of the decoder.
func (w *Worker) frames(dst Row, draw media.Draw) error {
	for {
		status := C.video_next(w.v, &w.c.frame, &w.c.number)
		if status == C.MEDIA_AV_END {
			return nil
		}
		if status != C.MEDIA_AV_OK {
			return w.fail(status)
		}
		number := int32(w.c.number)
		first, _ := slices.BinarySearchFunc(w.slots, number, func(s slot, n int32) int { return int(s.packet) - int(n) })
		if err := w.put(dst, int(w.slots[first].place), w.c.frame, draw); err != nil {
			return err
		}
		for i := first + 1; i < len(w.slots) && w.slots[i].packet == number; i++ {
			w.repeat(dst, int(w.slots[i].place), int(w.slots[first].place))
		}
	}
}

// finish writes the times of the chosen frames, and zeros past the last one.
func (w *Worker) finish(dst Row) {
	for place, i := range w.picked {
		if dst.PTS != nil {
			dst.PTS[place] = w.index.PTS(int(i))
		}
		if dst.Duration != nil {
			dst.Duration[place] = w.index.Duration(int(i))
		}
	}
	w.clearAfter(dst, len(w.picked))
}
