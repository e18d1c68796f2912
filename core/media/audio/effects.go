package audio

/*
#include "kernels.h"
#include "effects.h"

static void normals_of(const audio_kernels *k, const uint32_t *key, uint32_t channel, size_t n, float *dst) {
    k->normals(key, channel, 0, n, dst);
}
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/spdl/spdl/core/tensor"
)

// Gain makes a row louder or quieter by a number of decibels that is drawn: torchaudio.functional.gain, or its Vol without clipping.
type Gain struct {
	Low, High float64 // dB
	P         float64 // probability that it happens; 0: never
}

// Noise is normal noise over the row's own frames, of which each channel has its own, or that of other sounds. The ratio of the energies, in
// decibels, is drawn: torchaudio.functional.add_noise. A channel of silence stays silent.
type Noise struct {
	Low, High float64 // dB of the signal over the noise
	P         float64 // probability that it happens; 0: never
	Colour    Colour

	// Of files each row draws one, and where in it the noise begins; a shorter one is repeated. Their channels are the row's, or their mean is
	// in each. None: normal noise.
	Files
}

// Colour is how the power of noise falls with its frequency.
type Colour uint8

const (
	White Colour = iota // not at all
	Pink                // as 1 / f: 3 dB an octave, within 0.3 dB from 1 / 1000 to 2 / 5 of the rate
	Brown               // as 1 / f^2: 6 dB an octave, from brownCorner up
)

// MaxDecibels bounds gains and ratios on either side of 0.
const MaxDecibels = 100

// varianceFloor is added to the variance of a row that is standardised.
const varianceFloor = 1e-7

func (cfg *Config) checkEffects() error {
	if g := cfg.Gain; g != nil {
		if err := checkDrawn("gain", "db", g.Low, g.High, g.P); err != nil {
			return err
		}
	}
	if n := cfg.Noise; n != nil {
		if err := checkDrawn("noise", "snr_db", n.Low, n.High, n.P); err != nil {
			return err
		}
		if n.Colour > Brown {
			return wrong("noise.color", "%d is not one of the named values", n.Colour)
		}
		if n.From != nil && n.Colour != White {
			return wrong("noise.color", "given beside from, whose sounds are as they are; leave one of them out")
		}
		if err := cfg.checkFiles("noise", &n.Files); err != nil {
			return err
		}
	}
	if err := cfg.checkReverb(); err != nil {
		return err
	}
	if p := cfg.Invert; !(p >= 0 && p <= 1) {
		return wrong("polarity_inversion", "got %v, want a probability from 0 to 1", p)
	}
	if c := cfg.PreEmphasis; !(c >= 0 && c <= 1) {
		return wrong("pre_emphasis", "got %v, want 0 to 1", c)
	}
	if cfg.Normalize.To == ToStandard && (cfg.DType == tensor.I16 || cfg.Normalize.Level != 0) {
		return wrong("normalize.to", "got level %v and dtype %v with zero_mean_unit_var, want no level and f32: most values are beyond 1", cfg.Normalize.Level, cfg.DType)
	}
	return nil
}

func checkDrawn(key, db string, low, high, p float64) error {
	if !(low >= -MaxDecibels && low <= high && high <= MaxDecibels) {
		return wrong(key+"."+db, "got %v to %v dB, want low before high, from -%d to %d", low, high, MaxDecibels, MaxDecibels)
	}
	if !(p >= 0 && p <= 1) {
		return wrong(key+".p", "got %v, want a probability from 0 to 1", p)
	}
	return nil
}

// drawn is a number from low to high, where a chance of p has it.
func (d Draw) drawn(op uint32, low, high, p float64) (value float64, is bool) {
	chance, u := d.uniforms(op, 0)
	return low + u*(high-low), chance < p
}

// change makes of a waveform at the row's rate what the description asks for: a room, noise, the level, the gain, pre-emphasis.
func (w *Worker) change(j *job, wave planes, draw Draw) error {
	cfg := &w.op.cfg
	if cfg.Reverb != nil {
		if err := w.reverberate(j, wave, draw); err != nil {
			return err
		}
	}
	if n := cfg.Noise; n != nil {
		if snr, is := draw.drawn(drawNoise, n.Low, n.High, n.P); is {
			if err := w.addNoise(j, wave, draw, snr); err != nil {
				return err
			}
		}
	}
	if err := w.normalize(j, wave); err != nil {
		return err
	}
	w.amplify(j, wave, draw)
	if c := cfg.PreEmphasis; c > 0 {
		for i := range j.channels {
			C.audio_pre_emphasize(floats(wave.channel(i)), C.size_t(wave.n), C.float(c))
		}
	}
	return nil
}

// addNoise adds noise of which each channel has snr decibels less than of its signal.
func (w *Worker) addNoise(j *job, wave planes, draw Draw, snr float64) error {
	w.noise.key = draw.words(drawNoise, 1)
	var of excerpt
	if s := w.op.noises; s != nil {
		var err error
		which, from := draw.uniforms(drawNoise, 2)
		if of, err = s.draw(which, from, wave.n); err != nil {
			return err
		}
	}
	noise := w.mixed.get(wave.n)
	n := C.size_t(wave.n)
	for c := range j.channels {
		x := floats(wave.channel(c))
		w.hear(&of, c, j.rate, noise)
		signal, power := float64(C.audio_deviation(x, n, 0)), float64(C.audio_deviation(floats(noise), n, 0))
		by := math.Sqrt(signal/power) * math.Pow(10, -snr/20)
		if by > 0 && !math.IsInf(by, 1) {
			C.audio_add(x, floats(noise), n, C.float(by))
		}
	}
	return nil
}

// hear makes the noise of channel c: that of the excerpt, or normal noise of its colour.
func (w *Worker) hear(of *excerpt, c, rate int, to []float32) {
	if w.op.noises != nil {
		of.channel(c, to)
		return
	}
	C.normals_of(w.kernels, (*C.uint32_t)(unsafe.Pointer(&w.noise.key)), C.uint32_t(c), C.size_t(len(to)), floats(to))
	w.colour(to, rate)
}

const brownCorner = 20.0 // Hz, below which brown noise is white: a walk that nothing holds would leave

// noiseRoom is what C reads of the noise of the sample at hand.
type noiseRoom struct {
	key  [4]uint32 // two words of it
	b, a [C.AUDIO_COLOUR_ORDER + 1]C.double
}

// colour makes white noise at a rate noise of the colour asked for. The filter of pink noise is three poles and zeros that lie evenly over
// the logarithm of the frequency; that of brown noise forgets what it summed up.
func (w *Worker) colour(x []float32, rate int) {
	r := &w.noise
	switch w.op.cfg.Noise.Colour {
	case White:
		return
	case Pink:
		r.b = [...]C.double{0.049922035, -0.095993537, 0.050612699, -0.004408786}
		r.a = [...]C.double{1, -2.494956002, 2.017265875, -0.522189400}
	case Brown:
		r.b = [...]C.double{1, 0, 0, 0}
		r.a = [...]C.double{1, C.double(-math.Exp(-2 * math.Pi * brownCorner / float64(rate))), 0, 0}
	}
	C.audio_colour(floats(x), C.size_t(len(x)), &r.b[0], &r.a[0])
}

// amplify applies the gain and the sign that are drawn.
func (w *Worker) amplify(j *job, wave planes, draw Draw) {
	cfg := &w.op.cfg
	by := 1.0
	if g := cfg.Gain; g != nil {
		if db, is := draw.drawn(drawGain, g.Low, g.High, g.P); is {
			by = math.Pow(10, db/20)
		}
	}
	if cfg.Invert > 0 && draw.uniform(drawInvert) < cfg.Invert {
		by = -by
	}
	if by != 1 {
		w.scale(j, wave, by)
	}
}

// standardize brings the row to a mean of 0 and a variance of 1, all channels together.
func (w *Worker) standardize(j *job, wave planes) {
	total := float64(wave.n) * float64(j.channels)
	if total == 0 {
		return
	}
	n, sum, square := C.size_t(wave.n), 0.0, 0.0
	for c := range j.channels {
		sum += float64(C.audio_sum(floats(wave.channel(c)), n))
	}
	mean := sum / total
	for c := range j.channels {
		square += float64(C.audio_deviation(floats(wave.channel(c)), n, C.double(mean)))
	}
	for c := range j.channels {
		C.audio_standardize(floats(wave.channel(c)), n, C.double(mean), C.double(1/math.Sqrt(square/total+varianceFloor)))
	}
}
