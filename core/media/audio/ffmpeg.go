//go:build !noffmpeg

package audio

/*
#cgo pkg-config: libavformat libavcodec libavutil libavfilter libswresample
#include <stdlib.h>
#include "ffmpeg.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// haveFFmpeg reports whether formats are read whose samples do not lie there as they are.
const haveFFmpeg = true

// decoder is FFmpeg for everything but samples that lie in a file as they are.
type decoder struct {
	ff     *C.audio_ff
	text   *C.char // the description of the filters; nil: not needed yet
	made   bool    // the planes are all channels of what the filters made
	planes []int32 // the channels that decode took
	from   C.media_av_source
	pinned runtime.Pinner // the sample's bytes, which FFmpeg reads from open to release
}

func (d *decoder) open(w *Worker, in *input, info *Info) error {
	if err := av.LoadContainers(); err != nil {
		return &Error{cause: CauseUnsupported, Detail: "FFmpeg " + err.Error()}
	}
	if d.ff == nil {
		if d.ff = C.audio_ff_new(); d.ff == nil {
			return &Error{cause: CauseNoMemory}
		}
	}
	d.read(in)
	status := C.audio_ff_open(d.ff, &d.from, C.int(in.placed), C.int64_t(in.least), C.int64_t(w.op.cfg.Budget))
	if status != C.MEDIA_AV_OK {
		return d.fail(status, info)
	}
	info.Format, _, _ = strings.Cut(C.GoString(d.ff.format), ",")
	info.Rate, info.Channels, info.Frames = int(d.ff.rate), int(d.ff.channels), -1
	in.origin = float64(d.ff.origin)
	if d.ff.timed = 0; in.timed {
		d.ff.timed = 1
	}
	if info.Rate > MaxRate {
		return &Error{Format: info.Format, cause: CauseUnsupported, Detail: fmt.Sprintf("%d Hz, want at most %d", info.Rate, MaxRate)}
	}
	return nil
}

// read says where the sample's bytes, or packets, are.
func (d *decoder) read(in *input) {
	d.from = C.media_av_source{fd: -1, size: C.int64_t(in.size)}
	switch {
	case in.packets != nil:
		d.from.packets = (*C.media_packets)(in.packets.Pointer())
	case in.file != nil:
		d.from.far = in.farAway()
		d.from.fd, d.from.offset = C.int(in.file.FD), C.int64_t(in.file.Offset)
	case len(in.data) > 0:
		d.pinned.Pin(unsafe.SliceData(in.data))
		d.from.data = (*C.uint8_t)(unsafe.SliceData(in.data))
	}
}

func (d *decoder) fail(status C.int, info *Info) error {
	detail := C.GoString(C.audio_ff_detail(d.ff))
	if status == C.MEDIA_AV_END {
		return &Error{Format: info.Format, cause: CauseNoFrames, Detail: detail}
	}
	return av.NewError("audio", int(status), detail)
}

// checkFilter tries the filters.
func (cfg *Config) checkFilter() error { return av.CheckFilter(cfg.Filter, false) }

// filter keeps what the filters make of frames [begin, end), which is the sample from then on. It returns how many frames
// the stream has, at most end.
func (d *decoder) filter(w *Worker, j *job, begin, end int64) (int64, error) {
	if d.text == nil {
		d.text = C.CString(w.op.cfg.Filter)
	}
	var read C.int64_t
	limit := w.op.cfg.MaxFrames
	status := C.audio_ff_filter(d.ff, w.kernels, d.text, C.int64_t(begin), C.int64_t(end), C.int64_t(limit), &read)
	if status == C.AUDIO_FF_TOO_LARGE {
		return 0, w.bad(j, CauseTooLarge, "more than %d come out of audio.filter; raise audio.max_frames or set audio.window", limit)
	}
	if status != C.MEDIA_AV_OK {
		return 0, d.fail(status, &j.info)
	}
	d.made = true
	j.info.Rate, j.info.Channels, j.info.Frames = int(d.ff.rate), int(d.ff.channels), int64(d.ff.frames)
	return int64(read), nil
}

// decode keeps frames [begin, end) and returns how many the stream has, at most end.
func (d *decoder) decode(w *Worker, j *job, begin, end int64) (int64, error) {
	if d.made {
		return int64(d.ff.frames), nil
	}
	d.planes = d.planes[:0]
	for _, c := range j.take {
		d.planes = append(d.planes, int32(c))
	}
	status := C.audio_ff_decode(d.ff, w.kernels, (*C.int32_t)(unsafe.SliceData(d.planes)), C.int(len(d.planes)), C.int64_t(begin),
		C.int64_t(end), C.int64_t(w.limit(j)))
	if status == C.AUDIO_FF_TOO_LARGE {
		return 0, w.tooManyFrames(j)
	}
	if status != C.MEDIA_AV_OK {
		return 0, d.fail(status, &j.info)
	}
	total := int64(d.ff.frames)
	if d.ff.ended != 0 {
		j.info.Frames = total
	}
	if end >= 0 && end < total {
		return end, nil
	}
	return total, nil
}

// facts completes what open found.
func (d *decoder) facts(s *Stream) {
	s.Codec, s.Seconds = C.GoString(d.ff.codec), float64(d.ff.seconds)
}

func (d *decoder) fetch(take []int, first int64, to planes) {
	if to.n == 0 {
		return
	}
	for i, plane := range take {
		if !d.made {
			plane = i
		}
		copy(to.channel(i), unsafe.Slice((*float32)(C.audio_ff_channel(d.ff, C.int(plane), C.int64_t(first))), to.n))
	}
}

func (d *decoder) release() {
	d.made = false
	if d.ff != nil {
		C.audio_ff_close(d.ff)
	}
	d.from = C.media_av_source{}
	d.pinned.Unpin()
}

func (d *decoder) close() {
	C.free(unsafe.Pointer(d.text))
	d.text = nil
	if d.ff != nil {
		C.audio_ff_free(d.ff)
		d.ff = nil
	}
}

// swresample resamples the whole window and keeps the crop of it.
func (w *Worker) swresample(j *job, from planes, channels int, to planes) error {
	if err := av.LoadContainers(); err != nil {
		return &Error{cause: CauseUnsupported, Detail: "FFmpeg " + err.Error()}
	}
	all := w.spectra.planes(channels, j.first+j.n)
	if rc := C.audio_ff_swresample(floats(from.data), C.size_t(from.stride), C.int64_t(from.n), C.int(j.from), floats(all.data),
		C.size_t(all.stride), C.int64_t(all.n), C.int(j.rate), C.int(channels)); rc != 0 {
		return errors.New("audio: swresample: FFmpeg's error " + fmt.Sprint(int(rc)))
	}
	for c := range channels {
		copy(to.channel(c), all.channel(c)[j.first:])
	}
	return nil
}
