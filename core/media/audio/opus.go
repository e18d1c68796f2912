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
	opusMany  = 6 // frames in a packet, which has 120 ms at most
	// opusPacket is how many bytes a packet has that is no waste.
	opusPacket = opusMany*opusMost + 255
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
	final, over := g.flags&oggLast != 0, samples-g.end
	switch {
	case !final && last == 0: // no packet ends here
	case over != 0 && !final, over < 0, over > 0 && over >= last, final && len(s.begun) > 0:
		return 0, oddOpus(CauseUnsupported, "%d samples where %d are said to be, before byte %d", samples, g.end, g.at)
	case over > 0 && samples-last < s.skip:
		return 0, oddOpus(CauseUnsupported, "what its encoder put before the sound ends in the last packet, of which %d samples are left out", over)
	}
	s.total = g.end - s.skip
	return samples, nil
}

// readPacket finds the frames of a packet, which begins at byte `at` of the stream.
func (s *opusStream) readPacket(b []byte, at int64) error {
	p := opusPacked(b)
	if p.n == 0 || len(s.at)+p.n > opusFrames {
		return oddOpus(CauseUnsupported, "a packet of %d bytes", len(b))
	}
	kind, channels := b[0]>>3, int(b[0]>>2&1)+1
	if kind < 16 {
		return oddOpus(CauseUnsupported, "a packet of speech (configuration %d), want one that is coded by transform alone", kind)
	}
	if kind%4 != 3 || channels != s.channels {
		return oddOpus(CauseUnsupported, "a packet of configuration %d and %d channels, want frames of 20 ms (configuration 19, 23, 27 or 31) and %d", kind, channels, s.channels)
	}
	at += int64(p.first)
	for _, size := range p.sizes[:p.n] {
		s.at, s.bytes, s.bands = append(s.at, at), append(s.bytes, int16(size)), append(s.bands, opusBands[kind/4-4])
		at += int64(size)
	}
	return nil
}

// opusPacking is where the n frames of a packet lie, one behind the other.
type opusPacking struct {
	n, first int
	sizes    [opusMany]int
}

// opusPacked is how a packet holds its frames (RFC 6716, section 3.2); of none where it is not so, or a frame has nothing.
func opusPacked(b []byte) (p opusPacking) {
	if len(b) < 2 {
		return p
	}
	n, rest, end, told := 1, b[1:], len(b), false
	switch b[0] & 3 {
	case 1:
		n = 2
	case 2:
		n, told = 2, true
	case 3:
		n, rest, told = int(b[1]&63), b[2:], b[1]&128 != 0
		for more := b[1]&64 != 0; more; { // filled up, at the end
			if len(rest) == 0 {
				return p
			}
			more = rest[0] == 255
			fill := min(int(rest[0]), 254)
			if rest = rest[1:]; fill > len(rest) {
				return p
			}
			rest, end = rest[:len(rest)-fill], end-fill
		}
	}
	if n < 1 || n > opusMany || !told && len(rest)%n != 0 {
		return p
	}
	for i := range n {
		p.sizes[i] = len(rest) / n
	}
	if told {
		used := 0
		for i := range n - 1 {
			if len(rest) < 2 {
				return p
			}
			p.sizes[i], rest = int(rest[0]), rest[1:]
			if p.sizes[i] >= 252 {
				p.sizes[i], rest = p.sizes[i]+4*int(rest[0]), rest[1:]
			}
			used += p.sizes[i]
		}
		p.sizes[n-1] = len(rest) - used
	}
	for _, size := range p.sizes[:n] {
		if size < opusLeast || size > opusMost {
			return p
		}
	}
	p.n, p.first = n, end-len(rest)
	return p
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
		d.odd = isOdd(err)
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
