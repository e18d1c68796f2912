package audio

/*
#include "kernels.h"

static void mean_of(const audio_kernels *k, const float *src, size_t stride, int channels, size_t n, float *dst) {
    k->mean(src, stride, channels, n, dst);
}
static void resampled(const audio_kernels *k, const float *x, const float *taps, const int32_t *start, int32_t n_taps,
                      int32_t phases, int32_t step, int64_t first, int64_t n, float *y) {
    k->polyphase(x, taps, start, n_taps, phases, step, first, n, y);
}
static void scaled(const audio_kernels *k, float *x, size_t n, float by) { k->scale(x, n, by); }
static float peak_of(const audio_kernels *k, const float *x, size_t n) { return k->peak(x, n); }
*/
import "C"

import (
	"math"
	"unsafe"
)

// render makes the job's frames in wave: fetched, mixed, resampled, changed.
func (w *Worker) render(j *job, wave planes, draw Draw) error {
	lo, hi := j.lo, j.hi
	from := wave
	if j.mean || j.bank != nil || j.whole {
		from = w.fetched.planes(len(j.take), hi-lo)
	}
	if err := w.fetch(j, lo, hi, from); err != nil {
		return err
	}
	made := min(len(j.take), j.channels)
	if j.mean {
		to := wave
		if j.bank != nil || j.whole {
			to = w.mixed.planes(1, hi-lo)
		}
		C.mean_of(w.kernels, floats(from.data), C.size_t(from.stride), C.int(len(j.take)), C.size_t(from.n), floats(to.data))
		from, made = to, 1
	}
	switch {
	case j.bank != nil:
		for c := range made {
			w.polyphase(j, from.channel(c), wave.channel(c))
		}
	case j.whole:
		if err := w.resampleWhole(j, from, made, wave); err != nil {
			return err
		}
	}
	for c := made; c < j.channels; c++ {
		copy(wave.channel(c), wave.channel(0))
	}
	return w.change(j, wave, draw)
}

// resampleWhole leaves it to a library.
func (w *Worker) resampleWhole(j *job, from planes, channels int, to planes) error {
	if w.op.cfg.Resample.Method == SoxrHQ {
		return w.soxr(j, from, channels, to)
	}
	return w.swresample(j, from, channels, to)
}

// reads is the range of the signal that outputs [first, first + n) are made of; what lies outside the signal is zero.
func (b *bank) reads(first, n int64) (lo, hi int64) {
	last := first + n - 1
	lo = first/int64(b.phases)*int64(b.step) - int64(b.width)
	hi = last/int64(b.phases)*int64(b.step) - int64(b.width) + int64(b.start[last%int64(b.phases)]) + int64(b.taps)
	return lo, hi
}

func (w *Worker) polyphase(j *job, x, y []float32) {
	b := j.bank
	C.resampled(w.kernels, floats(x), floats(b.k), (*C.int32_t)(unsafe.SliceData(b.start)), C.int32_t(b.taps), C.int32_t(b.phases),
		C.int32_t(b.step), C.int64_t(j.first%int64(b.phases)), C.int64_t(len(y)), floats(y))
}

// fetch is frames [lo, hi) of the window, zeros where it, or the sound, has none.
func (w *Worker) fetch(j *job, lo, hi int64, to planes) error {
	from, until := max(lo, j.heard[0]), min(hi, j.heard[1])
	for c := range j.take {
		x := to.channel(c)
		clear(x[:min(from-lo, to.n)])
		clear(x[max(until-lo, 0):])
	}
	if from >= until {
		return nil
	}
	inner := planes{to.data[from-lo:], to.stride, until - from}
	return w.in.fetch(w, &j.info, j.take, j.begin+from, inner)
}

// normalize scales wave as the description asks.
func (w *Worker) normalize(j *job, wave planes) error {
	level := w.op.cfg.Normalize.Level
	gain := 1.0
	switch w.op.cfg.Normalize.To {
	case AsStored:
		return nil
	case ToStandard:
		w.standardize(j, wave)
		return nil
	case ToPeak:
		if level == 0 {
			level = 1
		}
		peak := 0.0
		for c := range j.channels {
			peak = max(peak, float64(C.peak_of(w.kernels, floats(wave.channel(c)), C.size_t(wave.n))))
		}
		if peak > 0 && !math.IsInf(peak, 1) {
			gain = level / peak
		}
	case ToIntegrated:
		if level == 0 {
			level = -23
		}
		measured, err := w.loudness(wave, j.channels, j.rate)
		if err != nil {
			return w.bad(j, CauseUnsupported, "%v", err)
		}
		if !math.IsInf(measured, 0) && !math.IsNaN(measured) {
			gain = math.Pow(10, (level-measured)/20)
		}
	}
	w.scale(j, wave, gain)
	return nil
}

// scale multiplies wave. What makes denormal numbers audible is more than a float32 holds: 2^64 times are exact then.
func (w *Worker) scale(j *job, wave planes, by float64) {
	for by > math.MaxFloat32 {
		w.scale(j, wave, 1<<64)
		by /= 1 << 64
	}
	for c := range j.channels {
		C.scaled(w.kernels, floats(wave.channel(c)), C.size_t(wave.n), C.float(by))
	}
}
