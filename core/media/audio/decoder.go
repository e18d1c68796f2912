//go:build !noffmpeg

package audio

/*
#include <stdlib.h>
#include "ffmpeg.h"
*/
import "C"

import (
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// mostFrames is how many frames a chunk of a Decoder's has, about, at most.
const mostFrames = 1 << 20

// Decoder makes samples of one stream's packets as these come, piece after piece: of a stream that is never there as a whole. Pieces from
// the stream's first packet on give the samples that the file gives, without the codec's delay. It belongs to one goroutine at a time.
type Decoder struct {
	d       decoder
	kernels *C.audio_kernels
	feed    *av.Feed
	text    *C.char // of the filters; nil: none
	made    []float32
	pending error // of a packet behind samples that came out
}

// OpenDecoder opens a decoder for packets of stream's stream, which itself is not kept. What comes out of it goes through FFmpeg's filters,
// unless that is "".
func OpenDecoder(filter string, stream *av.Packets) (*Decoder, error) {
	if err := av.LoadContainers(); err != nil {
		return nil, &Error{cause: CauseUnsupported, Detail: "FFmpeg " + err.Error()}
	}
	d := &Decoder{kernels: C.audio_best(), feed: av.NewFeed(stream.Codec())}
	if filter != "" {
		if err := av.CheckFilter(filter, false); err != nil {
			return nil, err
		}
		d.text = C.CString(filter)
	}
	if d.d.ff = C.audio_ff_new(); d.d.ff == nil {
		d.Close()
		return nil, &Error{cause: CauseNoMemory}
	}
	if status := C.audio_ff_open_fed(d.d.ff, (*C.media_packets)(stream.Pointer()), d.text); status != C.MEDIA_AV_OK {
		err := d.d.fail(status, &Info{})
		d.Close()
		return nil, err
	}
	return d, nil
}

// Give lets the decoder have packets of its stream. They may be closed.
func (d *Decoder) Give(p *av.Packets) error { return d.feed.Give(p) }

// Flush says that there are no more packets.
func (d *Decoder) Flush() { d.feed.Flush() }

// Next is what comes next, in the decoder's memory until the next call: of no frames where more packets are wanted, or after Flush nothing more
// will come. What an error was about is passed over by the next call.
func (d *Decoder) Next() (Wave, error) {
	if err := d.pending; err != nil {
		d.pending = nil
		return Wave{}, err
	}
	var n C.int64_t
	status := d.feed.Step(func(piece unsafe.Pointer, next *int64) int {
		status := C.audio_ff_feed(d.d.ff, d.kernels, (*C.media_packets)(piece), (*C.int64_t)(next), mostFrames, &n)
		if status == C.MEDIA_AV_AGAIN && n > 0 {
			return C.MEDIA_AV_OK // the next call finds the piece used up
		}
		return int(status)
	})
	if status < 0 {
		err := d.d.fail(C.int(status), &Info{})
		if n == 0 {
			return Wave{}, err
		}
		d.pending = err
	}
	channels, frames := int(d.d.ff.made_channels), int(n)
	d.made = d.made[:0]
	for c := range channels {
		if frames > 0 {
			d.made = append(d.made, unsafe.Slice((*float32)(C.audio_ff_channel(d.d.ff, C.int(c), 0)), frames)...)
		}
	}
	return Wave{Data: d.made, Channels: channels, Frames: frames, Rate: int(d.d.ff.made_rate)}, nil
}

// Close ends the decoder.
func (d *Decoder) Close() {
	d.feed.Close()
	d.d.close()
	C.free(unsafe.Pointer(d.text))
	d.text = nil
}
