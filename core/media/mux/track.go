//go:build !noffmpeg

package mux

/*
#include "mux.h"
*/
import "C"

import (
	"math"
	"runtime"
	"unsafe"
)

// VideoTrack takes pictures.
type VideoTrack struct {
	m      *Muxer
	number C.int
	v      Video
	bytes  int // of one picture
	ticks  []C.int64_t
}

// AddVideo adds a track of pictures. All tracks are added before the first write; one
// that is refused leaves the container as it was.
func (m *Muxer) AddVideo(v Video) (*VideoTrack, error) {
	if err := m.ready(v.Options); err != nil {
		return nil, err
	}
	if err := v.check(m.name); err != nil {
		return nil, err
	}
	c := v.config()
	defer free(c.codec, c.stored, c.from)
	number := C.media_mux_encode(m.m, C.AVMEDIA_TYPE_VIDEO, &c)
	if err := m.check(number); err != nil {
		return nil, err
	}
	return &VideoTrack{m: m, number: number, v: v, bytes: int(C.media_enc_picture_bytes(m.m.track[number].encoder))}, nil
}

// ready makes the options those of the next call.
func (m *Muxer) ready(options map[string]string) error {
	if m.closed {
		return closed(m.name)
	}
	return m.options(options)
}

func (v *Video) check(name string) error {
	for _, n := range []struct {
		what           string
		got, low, high int64
	}{
		{"width", int64(v.Width), 1, maxSide}, {"height", int64(v.Height), 1, maxSide}, {"quality", int64(v.Quality), 0, maxQuality},
		{"bit rate", v.BitRate, 0, maxBitRate}, {"threads", int64(v.Threads), 0, maxThreads},
		{"rate", int64(v.Rate.Num), 0, math.MaxInt32}, {"rate's denominator", int64(v.Rate.Den), 0, math.MaxInt32},
		{"time base", int64(v.TimeBase.Num), 0, math.MaxInt32}, {"time base's denominator", int64(v.TimeBase.Den), 0, math.MaxInt32},
	} {
		if n.got < n.low || n.got > n.high {
			return invalid(name, "%s: got %d, want %d to %d", n.what, n.got, n.low, n.high)
		}
	}
	if v.Rate.Num < 0 || v.Rate.Den < 0 || (v.Rate.Num == 0) != (v.Rate.Den == 0) {
		return invalid(name, "a rate of %d/%d, want frames a second or 0/0", v.Rate.Num, v.Rate.Den)
	}
	t := &v.TimeBase
	switch {
	case *t != Rational{} && (t.Num <= 0 || t.Den <= 0):
		return invalid(name, "a time base of %d/%d, want seconds of one tick", t.Num, t.Den)
	case *t == Rational{} && v.Rate.Num > 0:
		*t = Rational{v.Rate.Den, v.Rate.Num}
	case *t == Rational{}:
		*t = Rational{1, 90000}
	}
	return nil
}

func (v *Video) config() C.media_enc_config {
	c := C.media_enc_config{
		codec: cstring(v.Codec), stored: cstring(v.PixelFormat), from: cstring(v.Input),
		width: C.int(v.Width), height: C.int(v.Height),
		time_base:  C.AVRational{C.int(v.TimeBase.Num), C.int(v.TimeBase.Den)},
		frame_rate: C.AVRational{C.int(v.Rate.Num), C.int(max(v.Rate.Den, 1))},
		bit_rate:   C.int64_t(v.BitRate), quality: C.int(v.Quality), threads: C.int(v.Threads),
	}
	if v.Input == "" {
		c.from = C.CString("rgb24")
	}
	return c
}

// Write writes frames [T, H, W, C] of the track's size, each shown one frame after the one before. It needs a Rate.
func (t *VideoTrack) Write(frames []byte) error {
	if t.v.Rate.Num == 0 {
		return invalid(t.m.name, "frames without times on a track without a rate; give each frame a time (encode(frames, seconds), WriteAt), or the track a frame rate")
	}
	n, err := t.frames(frames)
	if err != nil || n == 0 {
		return err
	}
	return t.m.written(t.m.check(C.media_mux_pictures(t.m.m, t.number, start(frames), C.int(n), nil)))
}

// WriteAt writes frames [T, H, W, C] with the second at which each is shown; times grow, by one tick of the time base at least.
func (t *VideoTrack) WriteAt(frames []byte, seconds []float64) error {
	n, err := t.frames(frames)
	if err != nil {
		return err
	}
	if n != len(seconds) {
		return invalid(t.m.name, "%d times for %d frames", len(seconds), n)
	}
	t.ticks = t.ticks[:0]
	for i, s := range seconds {
		at := math.Round(s * float64(t.v.TimeBase.Den) / float64(t.v.TimeBase.Num))
		if !(math.Abs(at) < 1<<53) {
			return invalid(t.m.name, "time %d is %g s", i, s)
		}
		t.ticks = append(t.ticks, C.int64_t(at))
	}
	if n == 0 {
		return nil
	}
	return t.m.written(t.m.check(C.media_mux_pictures(t.m.m, t.number, start(frames), C.int(n), unsafe.SliceData(t.ticks))))
}

// frames begins a write and counts its frames.
func (t *VideoTrack) frames(frames []byte) (int, error) {
	if err := t.m.begin(); err != nil {
		return 0, err
	}
	if len(frames)%t.bytes != 0 {
		return 0, wrongSize(t.m.name, len(frames), t.bytes, t.v.Width, t.v.Height, t.v.Input)
	}
	return len(frames) / t.bytes, nil
}

func wrongSize(name string, got, want, width, height int, input string) error {
	if input == "" {
		input = "rgb24"
	}
	return invalid(name, "frames of %d bytes, want %d for each, %dx%d of %s", got, want, width, height, input)
}

func start[T any](data []T) *C.uint8_t {
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(data)))
}

// AudioTrack takes samples.
type AudioTrack struct {
	m        *Muxer
	number   C.int
	channels int
	chunk    []float32
}

// AddAudio adds a track of samples, as AddVideo does.
func (m *Muxer) AddAudio(a Audio) (*AudioTrack, error) {
	if err := m.ready(a.Options); err != nil {
		return nil, err
	}
	if a.BitRate < 0 || a.BitRate > maxBitRate {
		return nil, invalid(m.name, "bit rate: got %d, want 0 to %d", a.BitRate, int64(maxBitRate))
	}
	if a.Rate < 1 || a.Rate > math.MaxInt32 || a.Channels < 1 || a.Channels > maxChannels {
		return nil, invalid(m.name, "%d channels at %d Hz, want 1 to %d at 1 or more", a.Channels, a.Rate, maxChannels)
	}
	c := C.media_enc_config{
		codec: cstring(a.Codec), stored: cstring(a.SampleFormat), from: C.CString("flt"),
		rate: C.int(a.Rate), channels: C.int(a.Channels), bit_rate: C.int64_t(a.BitRate),
	}
	defer free(c.codec, c.stored, c.from)
	number := C.media_mux_encode(m.m, C.AVMEDIA_TYPE_AUDIO, &c)
	if err := m.check(number); err != nil {
		return nil, err
	}
	return &AudioTrack{m: m, number: number, channels: a.Channels}, nil
}

const (
	maxSide     = 65535
	maxQuality  = 1000
	maxBitRate  = 1e12
	maxThreads  = 1024
	maxChannels = 64
	chunkFrames = 1 << 14 // written at once

	// maxSample is the largest sample that is taken. LAME ends the process (assert) at noise of some ten thousand, as 16-bit
	// integers are that were not divided, and at what is no number; other encoders make something of both.
	maxSample = 1024
)

// Write writes samples [T, C], -1 to 1. What lies outside is cut where integers are
// stored; k/32768 is stored as the 16-bit integer k, exactly. NaN, infinities and what is beyond
// 1024 are refused, before any of the samples is written, but by codecs that keep floats as they are.
func (t *AudioTrack) Write(samples []float32) error {
	if err := t.m.begin(); err != nil {
		return err
	}
	if len(samples)%t.channels != 0 {
		return invalid(t.m.name, "%d samples, want a multiple of the %d channels", len(samples), t.channels)
	}
	if i := t.unstorable(samples); i >= 0 {
		return t.refused(i/t.channels, i%t.channels, samples[i])
	}
	return t.write(samples)
}

// unstorable is the first sample that the encoder is not to be given; -1: there is none.
func (t *AudioTrack) unstorable(samples []float32) int {
	return int(C.media_enc_unstorable(t.m.m.track[t.number].encoder, start(samples), C.int64_t(len(samples)), maxSample))
}

func (t *AudioTrack) refused(frame, channel int, v float32) error {
	if x := math.Abs(float64(v)); x > maxSample && !math.IsInf(x, 0) {
		return invalid(t.m.name, "sample %d of channel %d is %g, want -1 to 1, and no more than %d; integers of 16 bits are to be divided by 32768",
			frame, channel, v, maxSample)
	}
	return invalid(t.m.name, "sample %d of channel %d is %g, want a number from -1 to 1; codecs that keep floats as they are (pcm_f32le, wavpack) take it",
		frame, channel, v)
}

// write writes samples [T, C] that were looked at.
func (t *AudioTrack) write(samples []float32) error {
	for len(samples) > 0 {
		n := min(len(samples), chunkFrames*t.channels)
		status := C.media_mux_samples(t.m.m, t.number, start(samples[:n]), C.int(n/t.channels))
		if err := t.m.written(t.m.check(status)); err != nil {
			return err
		}
		samples = samples[n:]
	}
	return nil
}

// WritePlanar writes samples [C][T], as Write does.
func (t *AudioTrack) WritePlanar(channels [][]float32) error {
	if err := t.m.begin(); err != nil {
		return err
	}
	if len(channels) != t.channels {
		return invalid(t.m.name, "%d channels, want %d", len(channels), t.channels)
	}
	frames := len(channels[0])
	for i, c := range channels {
		if len(c) != frames {
			return invalid(t.m.name, "channel %d of %d samples, channel 0 has %d", i, len(c), frames)
		}
	}
	for c, samples := range channels {
		if i := t.unstorable(samples); i >= 0 {
			return t.refused(i, c, samples[i])
		}
	}
	for first := 0; first < frames; first += chunkFrames {
		n := min(frames-first, chunkFrames)
		t.chunk = t.chunk[:0]
		for i := range n {
			for _, c := range channels {
				t.chunk = append(t.chunk, c[first+i])
			}
		}
		if err := t.write(t.chunk); err != nil {
			return err
		}
	}
	return nil
}

// CopyTrack takes an Input's packets.
type CopyTrack struct {
	m      *Muxer
	number C.int
	in     *Input
}

// AddCopy adds a track for the packets of in, as AddVideo does. in stays open until Close.
func (m *Muxer) AddCopy(in *Input, c Copy) (*CopyTrack, error) {
	if err := m.ready(nil); err != nil {
		return nil, err
	}
	if in.a == nil {
		return nil, closed(in.name)
	}
	filters := cstring(c.Filters)
	defer free(filters)
	number := C.media_mux_copy(m.m, in.a.stream, filters)
	if err := m.check(number); err != nil {
		return nil, err
	}
	return &CopyTrack{m: m, number: number, in: in}, nil
}

// Write writes the packet that the track's Input gave last.
func (t *CopyTrack) Write(p Packet) error {
	if err := t.m.begin(); err != nil {
		return err
	}
	if p.in != t.in || p.number != t.in.read || t.in.packet == nil {
		return invalid(t.m.name, "a packet that its input does not lend; write each before the next is read, on the track of its input")
	}
	defer runtime.KeepAlive(t.in)
	return t.m.written(t.m.check(C.media_mux_packet(t.m.m, t.number, t.in.packet)))
}
