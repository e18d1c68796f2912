package audio

/*
#include "kernels.h"

static void pcm_to_floats(const audio_kernels *k, const uint8_t *src, int encoding, size_t stride, size_t n, float *dst) {
    k->from_pcm(src, encoding, stride, n, dst);
}
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/far"
)

// reading is who makes frames of a sample's bytes.
type reading uint8

const (
	byFFmpeg reading = iota
	asPCM
	asFLAC
	asMP3
	asAAC
	asOpus
)

// input is the sample that a worker reads: PCM where it lies, FLAC, MP3, AAC, Opus, or what FFmpeg decodes.
type input struct {
	data    []byte // nil: the file
	memory  bytes.Reader
	file    *av.File    // nil: the bytes
	far     far.Reading // of file, where only Go can read it
	named   *os.File    // of a path: file lies in it
	packets *av.Packets // in place of bytes
	placed  int         // 1: of packets, whose frames count from the stream's start
	timed   bool        // sound is where the file's clock says, also behind a gap
	size    int64
	pcm     PCM
	reading reading
	flac    flacReader
	mp3     mp3Reader
	aac     aacReader
	opus    opusReader
	notOwn  bool  // what was begun as ours is FFmpeg's
	least   int64 // frames that an MP3's header promises; -1: it is not known
	other   decoder
	raw     []byte  // of the file: a piece of the frames
	take    []int   // kept for planChannels
	origin  float64 // the second of the file's clock at which frame 0 is heard
	header  header
}

// pieceBytes is what is read of a file at once: it stays in the processor's cache until it is converted.
const pieceBytes = 1 << 19

func (in *input) reader() io.ReaderAt {
	if in.file != nil {
		return in.file
	}
	return &in.memory
}

// farAway is how C reads the file where only Go can, and nothing where it can itself.
func (in *input) farAway() C.media_far {
	return C.media_far{read: C.media_far_read(in.far.Function()), of: C.uintptr_t(in.far.Of())}
}

// source is where C finds the sample's bytes, which stay where they are until pinned lets go of them.
func (in *input) source(pinned *runtime.Pinner) C.audio_source {
	from := C.audio_source{fd: -1, size: C.int64_t(in.size)}
	if in.file != nil {
		from.far = in.farAway()
		from.fd, from.offset = C.int(in.file.FD), C.int64_t(in.file.Offset)
		return from
	}
	pinned.Pin(unsafe.SliceData(in.data))
	from.data = (*C.uint8_t)(unsafe.SliceData(in.data))
	return from
}

var ownCauses = map[C.int]string{
	C.AUDIO_TRUNCATED: CauseTruncated, C.AUDIO_CORRUPT: CauseCorrupt, C.AUDIO_READ: CauseRead,
	C.AUDIO_UNSUPPORTED: CauseUnsupported, C.AUDIO_NO_MEMORY: CauseNoMemory, C.AUDIO_TOO_SLOW: CauseTooSlow,
}

// ownError is what the status of one of our decoders in C says; nil: nothing failed.
func ownError(status C.int, info *Info, detail *C.char) error {
	if status == C.AUDIO_OK {
		return nil
	}
	return &Error{Format: info.Format, cause: ownCauses[status], Detail: C.GoString(detail)}
}

// open reads the header.
func (in *input) open(w *Worker, src Source, info *Info) error {
	in.data, in.size, in.reading, in.least, in.origin = src.Bytes, int64(len(src.Bytes)), byFFmpeg, -1, 0
	in.timed = src.Shown != nil
	in.memory.Reset(src.Bytes)
	if src.Packets != nil {
		return in.openPackets(w, src, info)
	}
	if src.Path != "" {
		if err := in.openFile(src.Path); err != nil {
			return err
		}
	} else if src.File != nil {
		in.file, in.size, in.far = src.File, src.File.Size, far.Open(src.File.From)
	}
	if in.size == 0 {
		return &Error{cause: CauseEmpty}
	}
	if raw := w.op.cfg.Raw; raw != nil {
		info.Format = "pcm"
		in.header = header{r: in.reader(), size: in.size}
		if kind := in.header.kind(); kind != "" && w.op.cfg.Window.Start == 0 && src.Window.Start == 0 {
			return &Error{Format: "pcm", cause: CauseUnsupported, Detail: fmt.Sprintf("got what begins as a file of %s, want samples without a header; leave raw out, or have the window begin behind the header", kind)}
		}
		in.pcm = PCM{Encoding: raw.Encoding, Channels: raw.Channels, Rate: raw.Rate}
		frame := int64(in.pcm.FrameBytes())
		if in.size%frame != 0 {
			return &Error{Format: "pcm", cause: CauseTruncated, Detail: fmt.Sprintf("got %d bytes, want a multiple of %d", in.size, frame)}
		}
		in.pcm.Frames = in.size / frame
		return in.opened(info)
	}
	return in.openFormat(w, info)
}

// openPackets is open for what was demuxed before. A window is one of the whole stream.
func (in *input) openPackets(w *Worker, src Source, info *Info) error {
	if w.op.cfg.Raw != nil {
		return &Error{Format: "pcm", cause: CauseUnsupported, Detail: "packets say themselves what they hold; leave raw out"}
	}
	in.packets, in.placed = src.Packets, 0
	if src.Window != (Window{}) {
		in.placed = 1
	}
	return in.other.open(w, in, info)
}

// openFormat tries what is read here. What that finds unsupported may still be sound to FFmpeg; and filters are FFmpeg's.
func (in *input) openFormat(w *Worker, info *Info) error {
	if w.op.cfg.Filter == "" && !in.notOwn {
		found, err := in.openOwn(w, info)
		if found && (err == nil || !haveFFmpeg || !hasCause(err, CauseUnsupported)) {
			return err
		}
	}
	if err := in.look(w); err != nil {
		return err
	}
	return in.other.open(w, in, info)
}

// look finds what FFmpeg does not say of a file: where an MP3 has to end, Opus behind Opus, and the end of a file within a page of it.
func (in *input) look(w *Worker) (err error) {
	in.header = header{r: in.reader(), size: in.size}
	switch at, head := in.header.behindTags(); {
	case isMP3(head):
		in.least, err = in.mp3.least(w, in, at)
	case at == 0 && isOpus(head):
		in.opus.pieces.begin(in, w.op.cfg.Budget)
		err = in.opus.pieces.checkPages()
		in.opus.release()
	}
	return err
}

func hasCause(err error, cause string) bool {
	var e *Error
	return errors.As(err, &e) && e.cause == cause
}

// isOdd reports whether what one of our readers of containers says is about the file.
func isOdd(err error) bool { return !hasCause(err, CauseRead) && !hasCause(err, CauseTooSlow) }

func (in *input) openOwn(w *Worker, info *Info) (found bool, err error) {
	h := &in.header
	*h = header{r: in.reader(), size: in.size}
	at, head := h.behindTags()
	if isFLAC(head) {
		info.Format, h.format = "flac", "flac"
		if err := h.parseFLAC(at); err != nil {
			return true, err
		}
		err := in.flac.open(w, in, info)
		if err == nil {
			in.reading = asFLAC
		}
		return true, err
	}
	if isMP3(head) {
		info.Format = "mp3"
		err := in.mp3.open(w, in, at, info)
		return in.openOdd(asMP3, err, in.mp3.odd)
	}
	if isADTS(head) || at == 0 && isMP4(head) {
		info.Format = "mov"
		if isADTS(head) {
			info.Format = "aac"
		}
		err := in.aac.open(w, in, at, info)
		in.origin = in.aac.stream.origin()
		return in.openOdd(asAAC, err, in.aac.odd)
	}
	if at == 0 && isOpus(head) {
		info.Format = "ogg"
		err := in.opus.open(w, in, info)
		return in.openOdd(asOpus, err, in.opus.odd && haveFFmpeg)
	}
	c := containerOf(head)
	if c == nil || at > 0 {
		return false, nil
	}
	info.Format, h.format = c.name, c.name
	if err := c.parse(h); err != nil {
		return true, err
	}
	in.pcm = h.pcm
	return true, in.opened(info)
}

// openOdd is what openOwn says of a decoder whose odd files FFmpeg reads, where there is one.
func (in *input) openOdd(as reading, err error, odd bool) (bool, error) {
	if err == nil {
		in.reading = as
	} else if odd && (haveFFmpeg || !hasCause(err, CauseTruncated)) {
		in.mp3.release()
		in.aac.release()
		in.opus.release()
		return false, nil
	}
	return true, err
}

func (in *input) opened(info *Info) error {
	in.reading = asPCM
	info.Rate, info.Channels, info.Frames = in.pcm.Rate, in.pcm.Channels, in.pcm.Frames
	return nil
}

func (in *input) openFile(path string) error {
	f, size, err := av.Open(path)
	if err != nil {
		return readError(err)
	}
	in.named, in.size = f, size
	in.file = &av.File{FD: int(f.Fd()), Size: size}
	return nil
}

func readError(err error) error { return &Error{cause: CauseRead, Detail: err.Error(), err: err} }

// isFFmpegs reports whether the sample, which was begun here, is one that FFmpeg has to read as a whole, and sees to that.
func (in *input) isFFmpegs() bool {
	if !(in.mp3.odd || in.aac.odd || in.opus.odd) || !haveFFmpeg || in.notOwn {
		return false
	}
	in.release()
	in.notOwn = true
	return true
}

// release forgets the sample.
func (in *input) release() {
	in.flac.release()
	in.mp3.release()
	in.aac.release()
	in.opus.release()
	in.other.release()
	if in.named != nil {
		in.named.Close()
	}
	in.far.Close()
	in.named, in.file = nil, nil
	in.data, in.packets = nil, nil
	in.memory.Reset(nil)
	in.header.r = nil
}

func (in *input) close() {
	in.release()
	in.flac.close()
	in.mp3.close()
	in.aac.close()
	in.opus.close()
	in.other.close()
}

// upTo makes the frames from the window's begin to end (-1: all) ready and returns how many the sample has; FFmpeg's
// formats are decoded for that, and not past end.
func (in *input) upTo(w *Worker, j *job, end int64) (int64, error) {
	switch in.reading {
	case asPCM:
		return in.pcm.Frames, nil
	case asFLAC:
		return in.flac.upTo(&j.info, end)
	case asMP3:
		return in.mp3.upTo(&j.info, end)
	case asAAC:
		return in.aac.stream.total, nil
	case asOpus:
		return in.opus.stream.total, nil
	}
	return in.other.decode(w, j, max(j.begin, 0), end)
}

// fetch writes to.n frames from frame first on of the channels taken. A file is read in pieces: its frames may have more channels
// than are taken, and be longer than the row.
func (in *input) fetch(w *Worker, info *Info, take []int, first int64, to planes) error {
	switch in.reading {
	case byFFmpeg:
		in.other.fetch(take, first, to)
		return nil
	case asFLAC:
		return in.flac.fetch(info, take, first, to)
	case asMP3:
		return in.mp3.fetch(info, take, first, to)
	case asAAC:
		return in.aac.fetch(info, take, first, to)
	case asOpus:
		return in.opus.fetch(info, take, first, to)
	}
	frame, sample := int64(in.pcm.FrameBytes()), in.pcm.Encoding.Bytes()
	most := to.n
	if in.file != nil {
		most = pieceBytes / frame
	}
	for done := int64(0); done < to.n; {
		n := min(most, to.n-done)
		data, err := in.bytes(in.pcm.Offset+(first+done)*frame, n*frame, info)
		if err != nil {
			return err
		}
		for c, stored := range take {
			C.pcm_to_floats(w.kernels, (*C.uint8_t)(unsafe.Pointer(&data[stored*sample])), C.int(in.pcm.Encoding), C.size_t(frame),
				C.size_t(n), floats(to.channel(c)[done:]))
		}
		done += n
	}
	return nil
}

func (in *input) bytes(at, n int64, info *Info) ([]byte, error) {
	if in.file == nil {
		return in.data[at : at+n], nil
	}
	if int64(len(in.raw)) < n {
		in.raw = make([]byte, n)
	}
	raw := in.raw[:n]
	got, err := in.file.ReadAt(raw, at)
	if int64(got) == n {
		return raw, nil
	}
	if errors.Is(err, io.EOF) {
		return nil, &Error{Format: info.Format, cause: CauseTruncated, Detail: fmt.Sprintf("the file ended at %d while it was read", at+int64(got))}
	}
	return nil, &Error{Format: info.Format, cause: CauseRead, Detail: err.Error(), err: err}
}
