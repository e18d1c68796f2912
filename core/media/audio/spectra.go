package audio

/*
#include "kernels.h"

static void spectra(const audio_kernels *k, const audio_spectrum *s, const float *x, int64_t frames, float *scratch,
                    float *out, size_t row_step, size_t time_step) {
    k->spectra(s, x, frames, scratch, out, row_step, time_step);
}
static float log_of(const audio_kernels *k, float *x, size_t n, float floor, float offset, float scale) {
    return k->log(x, n, floor, offset, scale);
}
static void at_least(const audio_kernels *k, float *x, size_t n, float floor) { k->at_least(x, n, floor); }
static void matrix(const audio_kernels *k, const float *m, int32_t rows, int32_t cols, const float *x, size_t x_row,
                   size_t n, float *y, size_t y_row) {
    k->matrix(m, rows, cols, x, x_row, n, y, y_row);
}
*/
import "C"

import (
	"encoding/binary"
	"math"
	"runtime"
)

// store makes the features of wave and brings them into the row.
func (w *Worker) store(j *job, wave planes, row []byte, draw Draw) error {
	f := w.op.features
	sounding := wave.n
	if f.cfg.Silence {
		wave = withSilence(wave, j.channels)
	}
	steps := f.cfg.steps(wave.n)
	if steps < 1 {
		return w.bad(j, CauseTooShort, "got %d at %d Hz, one spectrum needs %d or more", wave.n, j.rate, f.cfg.least())
	}
	j.info.Samples = int(steps)
	switch hop := int64(f.cfg.Hop); {
	case f.cfg.Silence && f.cfg.Mirrored: // those whose middle hop is the sound's, as without silence
		j.info.Samples = int(f.cfg.steps(sounding))
	case f.cfg.Silence: // those that begin in the sound
		j.info.Samples = int(min(steps, (sounding+hop-1)/hop))
	}
	data := w.features(f, wave, j.channels, steps)
	f.normalize(data, j.channels, int(steps))
	f.mask(data, j.channels, int(steps), j.info.Samples, draw)
	w.layOut(data, j.channels, int64(f.cfg.bins()), steps, row)
	runtime.KeepAlive(w.op)
	return nil
}

// withSilence is the waveform with zeros behind it, up to the row's length. target has left room for them.
func withSilence(wave planes, channels int) planes {
	full := planes{wave.data, wave.stride, wave.stride}
	for c := range channels {
		clear(full.channel(c)[wave.n:])
	}
	return full
}

// least is how many frames one spectrum needs.
func (f *Features) least() int {
	switch {
	case f.Mirrored:
		return f.Hop - f.Hop/2
	case f.Kind == Fbank:
		return f.Win
	case f.Inside:
		return f.FFT
	case f.Zeros:
		return 1
	}
	return f.FFT/2 + 1
}

// features is [channels, bins, steps].
func (w *Worker) features(f *features, wave planes, channels int, steps int64) []float32 {
	rows := int64(f.cfg.FFT/2 + 1)
	if f.cfg.Kind != Spectrogram {
		rows = int64(f.cfg.Mels)
	}
	out := w.spectra.get(int64(channels) * rows * steps)
	scratch := w.scratch.get(int64(C.audio_spectrum_scratch(f.c)))
	for c := range channels {
		x, to := wave.channel(c), out[int64(c)*rows*steps:]
		if f.cfg.Kind == Fbank {
			w.framed(f, x, steps, scratch, to)
			continue
		}
		C.spectra(w.kernels, f.c, floats(w.extended(f, x)), C.int64_t(steps), floats(scratch), floats(to), C.size_t(steps), 1)
	}
	w.compress(f, out)
	if f.cfg.Kind != MFCC {
		return out
	}
	bins := int64(f.cfg.bins())
	to := w.turned.get(int64(channels) * bins * steps)
	for c := range int64(channels) {
		C.matrix(w.kernels, floats(f.dct), C.int32_t(bins), C.int32_t(rows), floats(out[c*rows*steps:]), C.size_t(steps), C.size_t(steps),
			floats(to[c*bins*steps:]), C.size_t(steps))
	}
	return to
}

// framed is [bands, steps] of frames that are prepared before they are windowed, some at a time.
func (w *Worker) framed(f *features, x []float32, steps int64, scratch, to []float32) {
	frames := w.mixed.get(fbankBlock * int64(f.cfg.FFT))
	for first := int64(0); first < steps; first += fbankBlock {
		n := min(fbankBlock, steps-first)
		f.cfg.frames(frames, x, first, int(n))
		C.spectra(w.kernels, f.c, floats(frames), C.int64_t(n), floats(scratch), floats(to[first:]), C.size_t(steps), 1)
	}
}

// extended is x with half of the FFT's points mirrored at each end, or zeros there, unless the spectra lie inside.
func (w *Worker) extended(f *features, x []float32) []float32 {
	if f.cfg.Inside {
		return x
	}
	n, pad := len(x), f.cfg.FFT/2
	y := w.mixed.get(int64(n + 2*pad))
	copy(y[pad:], x)
	if f.cfg.Zeros {
		clear(y[:pad])
		clear(y[pad+n:])
		return y
	}
	for i := 1; i <= pad; i++ {
		y[pad-i], y[pad+n-1+i] = x[i], x[n-1-i]
	}
	return y
}

// compress takes the logarithm that is asked for, of all channels at once.
func (w *Worker) compress(f *features, x []float32) {
	l, n := f.log, C.size_t(len(x))
	if l.scale == 0 {
		return
	}
	most := C.log_of(w.kernels, floats(x), n, C.float(l.floor), C.float(l.offset), C.float(l.scale))
	if l.within > 0 {
		C.at_least(w.kernels, floats(x), n, most-C.float(l.within))
	}
	if l.shift > 0 {
		standardize(x, -l.shift, 1/l.shift)
	}
	if l.ofLargest {
		standardize(x, float64(most), 1)
	} else if l.less != 0 {
		standardize(x, l.less, 1)
	}
}

// layOut copies [channels, bins, steps] into the row at capacity and fills up what lies beyond.
func (w *Worker) layOut(data []float32, channels int, bins, steps int64, row []byte) {
	f := &w.op.features.cfg
	capacity, padding := f.steps(int64(w.op.cfg.Length)), float32(f.Padding)
	lines := int64(channels) * bins
	if w.op.cfg.Layout == ChannelsFirst {
		for l := range lines {
			to := row[4*l*capacity : 4*(l+1)*capacity]
			pad(to[copy(to, bytesOf(data[l*steps:(l+1)*steps])):], padding)
		}
		return
	}
	for l := range lines { // [steps, channels * bins]
		storeF32(data[l*steps:(l+1)*steps], row[4*l:], int(lines))
	}
	pad(row[4*steps*lines:], padding)
}

// pad makes every float of to v.
func pad(to []byte, v float32) {
	if v == 0 || len(to) == 0 {
		clear(to)
		return
	}
	binary.LittleEndian.PutUint32(to, math.Float32bits(v))
	for n := 4; n < len(to); n *= 2 {
		copy(to[n:], to[:n])
	}
}
