//go:build !noffmpeg

package video

/*
#include "video.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/far"
)

// open gives the container to C, which reads src until end.
func (w *Worker) open(src Source) error {
	source, began := &w.c.source, time.Now()
	*source = C.media_av_source{fd: -1}
	switch {
	case src.Packets != nil:
		source.packets = (*C.media_packets)(src.Packets.Pointer())
	case src.File != nil:
		file, err := w.near(src, began)
		if err != nil {
			return err
		}
		w.far = far.Open(file.From)
		source.far = C.media_far{read: C.media_far_read(w.far.Function()), of: C.uintptr_t(w.far.Of())}
		source.fd, source.offset, source.size = C.int(src.File.FD), C.int64_t(src.File.Offset), C.int64_t(src.File.Size)
	case src.Bytes == nil && src.Path != "":
		size, err := w.openFile(src.Path)
		if err != nil {
			return err
		}
		source.fd, source.size = C.int(w.file.Fd()), C.int64_t(size)
	case len(src.Bytes) > 0:
		w.pins.Pin(&src.Bytes[0])
		source.data, source.size = (*C.uint8_t)(&src.Bytes[0]), C.int64_t(len(src.Bytes))
	}
	w.c.options = w.op.options()
	if w.offDevice {
		w.c.options.device = nil
	}
	if w.op.cfg.Budget > 0 {
		w.c.options.budget_ns = C.int64_t(max(w.left(began), 1))
	}
	if status := C.video_open(w.v, &w.c.source, &w.c.options, &w.stream); status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	return nil
}

// left is what is left of the sample's time, of a Config with a Budget, where it began then, or where a device that failed had it before.
func (w *Worker) left(began time.Time) time.Duration {
	left := w.op.cfg.Budget - time.Since(began)
	if w.offDevice {
		left -= w.spent
	}
	return left
}

// near is the sample's file with what there is of it: its index, where one is kept, and where it lies in a store and is in fragments their tables, which would
// take a read for each.
func (w *Worker) near(src Source, began time.Time) (*av.File, error) {
	f := src.File
	if f.From == nil {
		return f, nil
	}
	w.away = f
	if !w.op.cfg.Approximate {
		path, id, err := w.keptAt(src)
		if err != nil {
			return nil, av.NewError("video", av.StatusRead, err.Error())
		}
		w.loaded = path != "" && w.index.load(path, id)
	}
	if !w.loaded {
		until := time.Time{}
		if w.op.cfg.Budget > 0 {
			until = time.Now().Add(w.left(began))
		}
		var err error
		if w.index.heads, err = av.FindHeads(f, "video", until); err != nil {
			return nil, err
		}
	}
	return w.index.heads.Over(f), nil
}

// openFile opens the file at a path, or takes the one that was kept, and says how large it is.
func (w *Worker) openFile(path string) (int64, error) {
	if f := w.kept; f != nil {
		w.kept, w.file = nil, f
		info, err := f.Stat()
		if err != nil {
			return 0, av.NewError("video", av.StatusRead, err.Error())
		}
		return info.Size(), nil
	}
	f, size, err := av.Open(path)
	if err != nil {
		return 0, av.NewError("video", av.StatusRead, err.Error())
	}
	w.file = f
	return size, nil
}

func (op *Op) options() C.media_av_options {
	cfg := &op.cfg
	o := C.media_av_options{
		_type: C.AVMEDIA_TYPE_VIDEO, stream: C.int(cfg.Stream), threads: C.int(max(cfg.Threads, 1)),
		unpack: 1, max_packets: C.uint64_t(cfg.MaxPackets), max_pixels: C.uint64_t(cfg.Image.MaxPixels), budget_ns: C.int64_t(cfg.Budget),
	}
	if cfg.Image.MaxPixels == 0 {
		o.max_pixels = media.DefaultMaxPixels
	}
	o.device = (*C.AVBufferRef)(op.device)
	if cfg.Hardware != Auto {
		o.device_alone = 1
	}
	if !cfg.Approximate {
		o.lean = 1 // the index tells how many frames a decoder holds back
	}
	return o
}

func (w *Worker) fail(status C.int) error {
	if status == C.MEDIA_AV_DEVICE {
		w.op.counts.deviceFailed.Add(1)
	}
	if status == C.MEDIA_AV_TOO_MANY_PIXELS {
		var width, height C.int32_t
		C.video_refused(w.v, &width, &height)
		limit := w.op.options().max_pixels
		return av.NewError("video", int(status), fmt.Sprintf("got %dx%d, want at most %d pixels; raise video.max_pixels to take it", width, height, limit))
	}
	return av.NewError("video", int(status), C.GoString(C.video_detail(w.v)))
}

// makeIndex makes the index of the open container: from disk where one is kept,
// otherwise by a scan.
func (w *Worker) makeIndex(src Source) error {
	path, id, err := w.keptAt(src)
	if err != nil {
		return av.NewError("video", av.StatusRead, err.Error())
	}
	keep := w.keep
	if src.File != nil {
		keep = 0 // the point is not to hold the file
	}
	tables := w.byTables(src)
	if path == "" {
		return w.scan(keep, tables)
	}
	if !w.loaded && w.away == nil {
		w.loaded = w.index.load(path, id)
	}
	if w.loaded && len(w.index.packets) > 0 {
		w.countIndex(&w.op.counts.read)
		p := (*C.video_packet)(unsafe.Pointer(&w.index.packets[0]))
		if status := C.video_set_packets(w.v, p, C.int32_t(len(w.index.packets))); status != C.MEDIA_AV_OK {
			return w.fail(status)
		}
		return nil
	}
	if err := w.scan(keep, tables); err != nil {
		return err
	}
	w.countIndex(&w.op.counts.made)
	if src.File != nil {
		_ = os.MkdirAll(filepath.Dir(path), 0o700) // storing says what is wrong
	}
	if err := w.index.store(path, id); err != nil {
		w.countIndex(&w.op.counts.unkept)
		if w.file != nil {
			return fmt.Errorf("media: video: keeping the index: %w", err)
		}
	}
	return nil
}

// countIndex counts what became of a sample's index, once.
func (w *Worker) countIndex(n *atomic.Uint64) {
	if !w.offDevice {
		n.Add(1)
	}
}

// keptAt is where the index of src is kept, and what it must have been made of; "": nowhere.
func (w *Worker) keptAt(src Source) (string, identity, error) {
	dir, stream, demuxer := w.op.cfg.IndexCache, int32(w.op.cfg.Stream)-1, uint32(C.avformat_version())
	if f := src.File; f != nil {
		if dir = w.op.cfg.FileIndexCache; dir == "" || f.Version == 0 {
			return "", identity{}, nil
		}
		path, err := cachePath(dir, fmt.Sprintf("%s@%d", f.Name, f.Offset), stream, w.byTables(src))
		return path, identity{demuxer, f.Size, f.Version, stream}, err
	}
	if dir == "" || src.Packets != nil || w.file == nil && dir == Beside {
		return "", identity{}, nil // packets are scanned without reading
	}
	if w.file == nil {
		id := identifyBytes(src.Bytes, demuxer, stream)
		return id.path(dir), id, nil
	}
	stat, err := w.file.Stat()
	if err != nil {
		return "", identity{}, err
	}
	path, err := cachePath(dir, src.Path, stream, w.byTables(src))
	return path, identify(stat, demuxer, stream), err
}

// byTables says that an index may be made of a container's tables, so that of a file no more is read than the chosen frames need. What is in memory is
// there to be looked at, and who chooses key frames wants all of them.
func (w *Worker) byTables(src Source) bool {
	return (src.File != nil || w.file != nil) && w.op.cfg.Select.Kind != KeyFrames
}

func (w *Worker) scan(keep int64, tables bool) error {
	use := C.int(0)
	if tables {
		use = 1
	}
	if status := C.video_scan(w.v, C.int64_t(keep), use); status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	return w.arrange()
}

// arrange makes the index of the packets that C has.
func (w *Worker) arrange() error {
	p := C.video_packets(w.v, &w.c.n)
	w.index.arrange(unsafe.Slice((*packet)(unsafe.Pointer(p)), int(w.c.n)), int64(w.stream.time_base_num), int64(w.stream.time_base_den))
	if w.index.Len() == 0 {
		return av.NewError("video", av.StatusCorrupt, "the stream has no frames")
	}
	return nil
}
