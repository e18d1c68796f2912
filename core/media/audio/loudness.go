package audio

/*
#include "kernels.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// The gates of ITU-R BS.1770-4.
const (
	gateSeconds  = 0.4
	gateOverlap  = 0.75
	gateAbsolute = -70.0 // LUFS
	gateRelative = -10.0 // LU below what passes the absolute gate
	loudnessBias = -0.691
	minLoudRate  = 100 // Hz: a gate has frames and steps
)

// channelWeights are BS.1770's: left, right, centre, left and right surround.
var channelWeights = [...]float64{1, 1, 1, 1.41, 1.41}

// kWeighting is torchaudio.functional.loudness's: a shelf of 4 dB above 1500 Hz, Q 1/sqrt 2, and a high pass at 38 Hz, Q 1/2.
func kWeighting(rate int) (biquads [10]C.double) {
	norm := func(at int, b0, b1, b2, a0, a1, a2 float64) {
		for i, v := range []float64{b0 / a0, b1 / a0, b2 / a0, a1 / a0, a2 / a0} {
			biquads[at+i] = C.double(v)
		}
	}
	w0 := 2 * math.Pi * 1500 / float64(rate)
	cos, alpha, a := math.Cos(w0), math.Sin(w0)/2*math.Sqrt2, math.Pow(10, 4.0/40)
	t1, t2, t3 := 2*math.Sqrt(a)*alpha, (a-1)*cos, (a+1)*cos
	norm(0, a*((a+1)+t2+t1), -2*a*((a-1)+t3), a*((a+1)+t2-t1), (a+1)-t2+t1, 2*((a-1)-t3), (a+1)-t2-t1)
	w0 = 2 * math.Pi * 38 / float64(rate)
	cos, alpha = math.Cos(w0), math.Sin(w0)
	norm(5, (1+cos)/2, -1-cos, (1+cos)/2, 1+alpha, -2*cos, 1-alpha)
	return biquads
}

// loudness is the integrated loudness in LUFS, as torchaudio.functional.loudness measures it, without its clipping of the
// filtered signal to [-1, 1]. It is -Inf for silence and for less than one gate of 0.4 seconds.
func (w *Worker) loudness(wave planes, channels, rate int) (float64, error) {
	if channels > len(channelWeights) {
		return 0, fmt.Errorf("loudness of %d channels, want at most %d", channels, len(channelWeights))
	}
	if rate < minLoudRate {
		return 0, fmt.Errorf("loudness at %d Hz, want at least %d", rate, minLoudRate)
	}
	size := int64(math.RoundToEven(gateSeconds * float64(rate)))
	step := int64(math.RoundToEven(float64(size) * (1 - gateOverlap)))
	if wave.n < size {
		return math.Inf(-1), nil
	}
	blocks := int((wave.n-size)/step + 1)
	if cap(w.energy) < blocks {
		w.energy = make([]float64, blocks)
	}
	energy := w.energy[:blocks]
	clear(energy)
	w.biquads = kWeighting(rate)
	for c := range channels {
		C.audio_gated_energy(floats(wave.channel(c)), C.size_t(wave.n), &w.biquads[0], C.size_t(size), C.size_t(step),
			C.double(channelWeights[c]), (*C.double)(unsafe.SliceData(energy)))
	}
	gate := meanAbove(energy, gateAbsolute)
	return lufs(meanAboveBoth(energy, gateAbsolute, lufs(gate)+gateRelative)), nil
}

func lufs(energy float64) float64 { return loudnessBias + 10*math.Log10(energy) }

func meanAbove(energy []float64, gate float64) float64 { return meanAboveBoth(energy, gate, gate) }

// meanAboveBoth is the mean of the blocks louder than both gates; 0 if there are none.
func meanAboveBoth(energy []float64, a, b float64) float64 {
	sum, n := 0.0, 0
	for _, e := range energy {
		if l := lufs(e); l > a && l > b {
			sum += e
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}
