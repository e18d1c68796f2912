package audio

/*
#include <stdlib.h>
#include "kernels.h"

// wanted is AUDIO_LEFT and its like; each of them goes to its plane, which is NULL where it is not taken.
static int opus_decode(audio_opus *o, int wanted, int64_t first, int64_t n, float *left, float *right) {
    float *const to[2] = {left, right};
    return audio_opus_decode(o, wanted, first, n, to);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

const (
	opusRate  = 48000
	opusFrame = C.AUDIO_OPUS_LINES // samples
	opusLeast = 2                  // bytes of a frame that holds something
	opusMost  = C.AUDIO_OPUS_FRAME
	// opusPacket is how many bytes a packet has that is no waste: of 120 ms.
	opusPacket = 6*opusMost + 255
	// opusFrames is how many there may be, and pages that hold them; of 23 hours.
	opusFrames = 1 << 22
)

// opusBands are how many bands frames have, of narrow, wide, super wide and full bandwidth.
var opusBands = [4]uint8{13, 17, 19, 21}

// isOpus reports whether an Ogg of one stream, which is Opus, may begin like this.
func isOpus(head []byte) bool { return begins(head, "OggS", 28, "OpusHead") }

// opusStream is what a container says of a stream of Opus.
type opusStream struct {
	piece    []int64 // where each page's bytes begin: in the stream
	pieceAt  []int64 // and in the file
	at       []int64 // of each frame: its first byte, in the stream
	bytes    []int16
	bands    []uint8
	channels int
	skip     int64  // samples before the sound
	total    int64  // samples of the sound
	size     int64  // bytes of the stream, so far
	begun    []byte // a packet that goes on with the next page
}

// oddOpus is of what is not as encoders write it, or not what is decoded here.
func oddOpus(cause, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	if !haveFFmpeg && cause == CauseUnsupported {
		detail += "; built without FFmpeg, use the full build of spdl"
	}
	return &Error{Format: "ogg", cause: cause, Detail: detail}
}

// readOgg finds the frames of a file: a page with the head, pages with tags, and pages of sound.
func (s *opusStream) readOgg(p *pieces) error {
	o := oggStream{pieces: p}
	g, err := o.next()
	if err == nil {
		err = s.readHead(&g)
	}
	for tagged := false; err == nil && !tagged; tagged = g.ends() {
		g, err = o.next()
	}
	for samples := int64(0); err == nil && !o.ended; {
		if g, err = o.next(); err == nil {
			samples, err = s.readPage(&g, samples)
		}
	}
	if err == nil && o.at != p.size {
		err = oddOpus(CauseUnsupported, "more follows the last page, at byte %d", o.at)
	}
	return err
}

// readHead is of RFC 7845, section 5.1.
func (s *opusStream) readHead(g *oggPage) error {
	b := g.body
	if !g.ends() || len(b) < 19 || b[8] > 15 {
		return oddOpus(CauseUnsupported, "a head of %d bytes", len(b))
	}
	s.channels, s.skip = int(b[9]), int64(binary.LittleEndian.Uint16(b[10:]))
	gain, family := binary.LittleEndian.Uint16(b[16:]), b[18]
	if s.channels < 1 || s.channels > 2 || gain != 0 || family != 0 {
		return oddOpus(CauseUnsupported, "%d channels of family %d, a gain of %d", s.channels, family, int16(gain))
	}
	return nil
}

// readPage finds the frames of a page that so many samples come before, and returns how many there are then. Only of the last page some may not belong
// to the sound.
func (s *opusStream) readPage(g *oggPage, samples int64) (int64, error) {
	if g.flags&oggJoined != 0 != (len(s.begun) > 0) {
		return 0, oddOpus(CauseUnsupported, "half a packet, before byte %d", g.at)
	}
	if len(g.body) > 0 {
		s.piece, s.pieceAt = append(s.piece, s.size), append(s.pieceAt, g.at)
	}
	if len(s.piece) > opusFrames {
		return 0, oddOpus(CauseUnsupported, "more than %d pages", opusFrames)
	}
	last := int64(0)
	for b, whole := g.packet(); b != nil; b, whole = g.packet() {
		from := s.size - int64(len(s.begun))
		s.size += int64(len(b))
		if !whole || len(s.begun) > 0 {
			s.begun = append(s.begun, b...)
			b = s.begun
		}
		if len(b) > opusPacket {
			return 0, oddOpus(CauseUnsupported, "a packet of more than %d bytes, before byte %d", opusPacket, g.at)
		}
		if !whole {
			break
		}
		frames := len(s.at)
		if err := s.readPacket(b, from); err != nil {
			return 0, err
		}
		s.begun = s.begun[:0]
		last = int64(len(s.at)-frames) * opusFrame
		samples += last
	}
	end := g.flags&oggLast != 0
	over := samples - g.end
	if over != 0 && (last > 0 || end) && (!end || over < 0 || over >= last) || end && len(s.begun) > 0 {
		return 0, oddOpus(CauseUnsupported, "%d samples where %d are said to be, before byte %d", samples, g.end, g.at)
	}
	if end && over > 0 && samples-last < s.skip {
		return 0, oddOpus(CauseUnsupported, "what its encoder put before the sound ends in the last packet, of which %d samples are left out", over)
	}
	s.total = g.end - s.skip
	return samples, nil
}

// readPacket finds the frames of a packet, which begins at byte `at` of the stream (RFC 6716, section 3.2).
func (s *opusStream) readPacket(b []byte, at int64) error {
	odd := func() error { return oddOpus(CauseUnsupported, "a packet of %d bytes", len(b)) }
	if len(b) < 1 {
		return odd()
	}
	kind := b[0] >> 3
	if kind < 16 || kind%4 != 3 || int(b[0]>>2&1)+1 != s.channels {
		return oddOpus(CauseUnsupported, "a packet of kind %d, want frames of 20 ms and %d channels that are coded by transform alone", b[0]>>2, s.channels)
	}
	n, end, next, sized := 1, len(b), 1, false
	size := func() int {
		if next < end && b[next] < 252 {
			next++
			return int(b[next-1])
		}
		if next += 2; next > end {
			return end
		}
		return int(b[next-2]) + 4*int(b[next-1])
	}
	switch b[0] & 3 {
	case 1:
		n = 2
	case 2:
		n, sized = 2, true
	case 3:
		if end < 2 {
			return odd()
		}
		n, sized, next = int(b[1]&63), b[1]&128 != 0, 2
		for more := b[1]&64 != 0; more; next++ {
			if next >= end {
				return odd()
			}
			more = b[next] == 255
			end -= int(b[next])
			if more {
				end++
			}
		}
	}
	if n < 1 || n > 6 || len(s.at)+n > opusFrames {
		return odd()
	}
	var sizes [6]int
	rest := 0
	for i := 0; i < n-1 && sized; i++ {
		sizes[i] = size()
		rest += sizes[i]
	}
	rest = end - next - rest
	for i := range n {
		switch {
		case !sized:
			sizes[i] = rest / n
		case i == n-1:
			sizes[i] = rest
		}
		if sizes[i] < opusLeast || sizes[i] > opusMost || !sized && rest%n != 0 {
			return odd()
		}
		s.at = append(s.at, at+int64(next))
		s.bytes = append(s.bytes, int16(sizes[i]))
		s.bands = append(s.bands, opusBands[kind/4-4])
		next += sizes[i]
	}
	return nil
}

// opusReader decodes the frames.
type opusReader struct {
	c      *C.audio_opus
	stream opusStream
	pieces pieces
	pinned runtime.Pinner // the sample's bytes and the places of its frames, which C reads from open to release
	odd    bool           // the file is not as encoders write it, or not what is decoded here: FFmpeg says what it is
}

var prepareOpus = sync.OnceFunc(func() { C.audio_opus_prepare() })

// open finds the frames.
func (d *opusReader) open(w *Worker, in *input, info *Info) error {
	prepareOpus()
	if d.c == nil {
		if d.c = C.audio_opus_new(); d.c == nil {
			return &Error{Format: info.Format, cause: CauseNoMemory}
		}
	}
	s := &d.stream
	*s = opusStream{piece: s.piece[:0], pieceAt: s.pieceAt[:0], at: s.at[:0], bytes: s.bytes[:0], bands: s.bands[:0], begun: s.begun[:0]}
	d.pieces.begin(in, w.op.cfg.Budget)
	if err := s.readOgg(&d.pieces); err != nil {
		d.odd = !hasCause(err, CauseRead) && !hasCause(err, CauseTooSlow)
		return err
	}
	if s.total <= 0 {
		return &Error{Format: info.Format, cause: CauseNoFrames, Detail: "its packets hold no more than what the encoder put before the sound"}
	}
	from := in.source(&d.pinned)
	for _, p := range [][]int64{s.piece, s.pieceAt, s.at} {
		d.pinned.Pin(unsafe.SliceData(p))
	}
	d.pinned.Pin(unsafe.SliceData(s.bytes))
	d.pinned.Pin(unsafe.SliceData(s.bands))
	frames := C.audio_opus_frames{piece: (*C.int64_t)(unsafe.SliceData(s.piece)), piece_at: (*C.int64_t)(unsafe.SliceData(s.pieceAt)),
		pieces: C.int64_t(len(s.piece)), at: (*C.int64_t)(unsafe.SliceData(s.at)), bytes: (*C.int16_t)(unsafe.SliceData(s.bytes)),
		bands: (*C.uint8_t)(unsafe.SliceData(s.bands)), n: C.int64_t(len(s.at)), channels: C.int32_t(s.channels), skip: C.int64_t(s.skip)}
	if err := d.fail(C.audio_opus_open(d.c, w.kernels, &from, &frames, C.int64_t(d.pieces.left())), info); err != nil {
		return err
	}
	info.Rate, info.Channels, info.Frames = opusRate, s.channels, s.total
	return nil
}

func (d *opusReader) fail(status C.int, info *Info) error {
	d.odd = status == C.AUDIO_OPUS_ODD || status == C.AUDIO_TRUNCATED
	return ownError(status, info, C.audio_opus_detail(d.c))
}

func (d *opusReader) fetch(info *Info, take []int, first int64, to planes) error {
	wanted, left, right := twoChannels(take, to)
	if err := d.fail(C.opus_decode(d.c, wanted, C.int64_t(first), C.int64_t(to.n), left, right), info); err != nil {
		return err
	}
	repeatChannels(take, to)
	return nil
}

func (d *opusReader) release() {
	if d.c != nil {
		C.audio_opus_close(d.c)
	}
	d.pinned.Unpin()
	d.pieces.end()
	if cap(d.stream.at) > 1<<16 || cap(d.stream.piece) > 1<<16 {
		d.stream = opusStream{}
	}
	d.odd = false
}

func (d *opusReader) close() {
	C.audio_opus_free(d.c)
	d.c = nil
}
