package audio

/*
#include <stdlib.h>
#include "kernels.h"

// take is AUDIO_LEFT and its like; each of them goes to its plane, which is NULL where it is not taken.
static int mp3_decode(audio_mp3 *m, int take, int64_t first, int64_t n, float *left, float *right) {
    float *const to[2] = {left, right};
    return audio_mp3_decode(m, take, first, n, to);
}
*/
import "C"

import (
	"runtime"
	"slices"
	"sync"
)

// isMP3 reports whether a frame of MPEG layer III may begin like this. In another container it is FFmpeg's.
func isMP3(head []byte) bool { return len(head) >= 4 && head[0] == 0xff && head[1]&0xe6 == 0xe2 }

// meanOfChannels, taken for a channel, is the mean of both: of middle and side it is one of them, and the other is not decoded.
const meanOfChannels = -1

// mp3Reader decodes the frames.
type mp3Reader struct {
	c      *C.audio_mp3
	pinned runtime.Pinner // the sample's bytes, which C reads from open to release
	odd    bool           // the file is not as encoders write it: FFmpeg says what it is
}

var prepareMP3 = sync.OnceFunc(func() { C.audio_mp3_prepare() })

// open reads the file's first frame, which begins at byte first.
func (d *mp3Reader) open(w *Worker, in *input, first int64, info *Info) error {
	prepareMP3()
	if d.c == nil {
		if d.c = C.audio_mp3_new(); d.c == nil {
			return &Error{Format: info.Format, cause: CauseNoMemory}
		}
	}
	var rate, channels C.int32_t
	from := in.source(&d.pinned)
	if status := C.audio_mp3_open(d.c, w.kernels, &from, C.int64_t(first), C.int64_t(w.op.cfg.Budget), &rate, &channels); status != C.AUDIO_OK {
		return d.fail(status, info)
	}
	info.Rate, info.Channels, info.Frames = int(rate), int(channels), -1
	return nil
}

func (d *mp3Reader) fail(status C.int, info *Info) error {
	d.odd = status == C.AUDIO_MP3_ODD || status == C.AUDIO_TRUNCATED && C.audio_mp3_least(d.c) < 0
	return ownError(status, info, C.audio_mp3_detail(d.c))
}

// counted is how many frames a header says there are; -1: none does.
func (d *mp3Reader) counted() int64 { return int64(C.audio_mp3_counted(d.c)) }

// least opens the file to say how many frames a header promises at the least; -1: none does. One that ends before, or goes on with another MP3, is refused.
func (d *mp3Reader) least(w *Worker, in *input, first int64) (int64, error) {
	info := Info{Format: "mp3"}
	defer d.release()
	err := d.open(w, in, first, &info)
	if err == nil {
		_, err = d.upTo(&info, -1)
	}
	if err != nil && !d.odd {
		return -1, err
	}
	return int64(C.audio_mp3_least(d.c)), nil
}

// upTo is how many frames there are, at most end (-1: no limit).
func (d *mp3Reader) upTo(info *Info, end int64) (int64, error) {
	var total C.int64_t
	if err := d.fail(C.audio_mp3_count(d.c, C.int64_t(end), &total), info); err != nil {
		return 0, err
	}
	if end >= 0 && end < int64(total) {
		return end, nil
	}
	if total <= 0 {
		return 0, &Error{Format: info.Format, cause: CauseNoFrames, Detail: "its frames hold no more than what the encoder put before the sound"}
	}
	info.Frames = int64(total)
	return info.Frames, nil
}

func (d *mp3Reader) fetch(info *Info, take []int, first int64, to planes) error {
	wanted, left, right := twoChannels(take, to)
	if err := d.fail(C.mp3_decode(d.c, wanted, C.int64_t(first), C.int64_t(to.n), left, right), info); err != nil {
		return err
	}
	repeatChannels(take, to)
	return nil
}

// twoChannels is what C decodes of one channel or two, and where each goes: nowhere where it is not taken.
func twoChannels(take []int, to planes) (wanted C.int, left, right *C.float) {
	at := [2]*C.float{}
	for i, c := range take {
		if c == meanOfChannels {
			return C.AUDIO_MEAN, floats(to.channel(i)), nil
		}
		wanted |= C.AUDIO_LEFT << c
		if at[c] == nil {
			at[c] = floats(to.channel(i))
		}
	}
	return wanted, at[0], at[1]
}

// repeatChannels copies channels that are taken twice from where they were decoded to.
func repeatChannels(take []int, to planes) {
	for i, c := range take {
		if first := slices.Index(take, c); first < i {
			copy(to.channel(i), to.channel(first))
		}
	}
}

func (d *mp3Reader) release() {
	if d.c != nil {
		C.audio_mp3_close(d.c)
	}
	d.pinned.Unpin()
	d.odd = false
}

func (d *mp3Reader) close() {
	C.audio_mp3_free(d.c)
	d.c = nil
}
