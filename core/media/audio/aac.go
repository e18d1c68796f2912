package audio

/*
#include <stdlib.h>
#include "kernels.h"

// wanted is AUDIO_LEFT and its like; each of them goes to its plane, which is NULL where it is not taken.
static int aac_decode(audio_aac *a, int wanted, int64_t first, int64_t n, float *left, float *right) {
    float *const to[2] = {left, right};
    return audio_aac_decode(a, wanted, first, n, to);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

const (
	aacFrame = C.AUDIO_AAC_LINES // samples
	aacMost  = C.AUDIO_AAC_PACKET
	aacLeast = 4 // bytes of a packet that holds a channel
	// aacPackets is how many there may be; of 27 hours at 44.1 kHz.
	aacPackets = 1 << 22
)

var aacRates = [...]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000}

// aacStream is what a container says of a stream of AAC.
type aacStream struct {
	at       []int64 // of each packet: its first byte
	bytes    []int32
	rate     int // a number of aacRates
	channels int
	skip     int64   // samples before the sound
	total    int64   // samples of the sound
	start    float64 // the second at which the packets' first sample would be heard
}

// origin is the second at which the sound's first sample is heard.
func (s *aacStream) origin() float64 {
	if s.rate >= len(aacRates) {
		return 0
	}
	return s.start + float64(s.skip)/float64(aacRates[s.rate])
}

// oddAAC is of what is not as encoders write it.
func oddAAC(cause, format string, args ...any) error {
	return &Error{Format: "aac", cause: cause, Detail: fmt.Sprintf(format, args...)}
}

// aacReader decodes the packets.
type aacReader struct {
	c      *C.audio_aac
	stream aacStream
	pieces pieces
	pinned runtime.Pinner // the sample's bytes and the places of its packets, which C reads from open to release
	odd    bool           // the file is not as encoders write it: FFmpeg says what it is
}

var prepareAAC = sync.OnceFunc(func() { C.audio_aac_prepare() })

// open finds the packets: of an MP4, or of ADTS that begins at byte first.
func (d *aacReader) open(w *Worker, in *input, first int64, info *Info) error {
	prepareAAC()
	if d.c == nil {
		if d.c = C.audio_aac_new(); d.c == nil {
			return &Error{Format: info.Format, cause: CauseNoMemory}
		}
	}
	s, p := &d.stream, &d.pieces
	*s = aacStream{at: s.at[:0], bytes: s.bytes[:0]}
	p.begin(in, w.op.cfg.Budget)
	var err error
	if info.Format == "aac" {
		err = s.readADTS(p, first)
	} else {
		err = s.readMP4(p)
	}
	if err == nil && (s.rate >= len(aacRates) || s.channels < 1 || s.channels > 2) {
		err = oddAAC(CauseUnsupported, "%d channels of rate number %d", s.channels, s.rate)
	}
	if err != nil {
		d.odd = isOdd(err)
		return err
	}
	from := in.source(&d.pinned)
	d.pinned.Pin(unsafe.SliceData(s.at))
	d.pinned.Pin(unsafe.SliceData(s.bytes))
	packets := C.audio_aac_packets{at: (*C.int64_t)(unsafe.SliceData(s.at)), bytes: (*C.int32_t)(unsafe.SliceData(s.bytes)), n: C.int64_t(len(s.at)),
		rate: C.int32_t(s.rate), channels: C.int32_t(s.channels), skip: C.int64_t(s.skip)}
	var skip C.int64_t
	if err := d.fail(C.audio_aac_open(d.c, w.kernels, &from, &packets, C.int64_t(p.left()), &skip), info); err != nil {
		return err
	}
	s.total -= int64(skip) - s.skip
	s.skip = int64(skip)
	if s.total <= 0 {
		return &Error{Format: info.Format, cause: CauseNoFrames, Detail: "its packets hold no more than what the encoder put before the sound"}
	}
	info.Rate, info.Channels, info.Frames = aacRates[s.rate], s.channels, s.total
	return nil
}

func (d *aacReader) fail(status C.int, info *Info) error {
	d.odd = status == C.AUDIO_AAC_ODD || status == C.AUDIO_TRUNCATED
	return ownError(status, info, C.audio_aac_detail(d.c))
}

func (d *aacReader) fetch(info *Info, take []int, first int64, to planes) error {
	wanted, left, right := twoChannels(take, to)
	if err := d.fail(C.aac_decode(d.c, wanted, C.int64_t(first), C.int64_t(to.n), left, right), info); err != nil {
		return err
	}
	repeatChannels(take, to)
	return nil
}

func (d *aacReader) release() {
	if d.c != nil {
		C.audio_aac_close(d.c)
	}
	d.pinned.Unpin()
	d.pieces.end()
	if cap(d.stream.at) > 1<<16 {
		d.stream = aacStream{}
	}
	d.odd = false
}

func (d *aacReader) close() {
	C.audio_aac_free(d.c)
	d.c = nil
}
