package audio

/*
#include "kernels.h"
*/
import "C"

import (
	"errors"
	"math"
	"unsafe"
)

// Kind is what features are made of the waveform.
type Kind uint8

const (
	Spectrogram Kind = iota // torchaudio.transforms.Spectrogram
	Mel                     // torchaudio.transforms.MelSpectrogram
	MFCC                    // torchaudio.transforms.MFCC
)

// Log is how the power of a spectrum is compressed.
type Log uint8

const (
	Linear     Log = iota // not at all; for MFCC Decibel
	Decibel               // torchaudio's AmplitudeToDB: 10 log10(max(x, 1e-10)) of a power, 20 log10 of a magnitude, nothing lower than TopDB below the row's largest
	NaturalLog            // ln(x + 1e-6), torchaudio's log_mels
)

// Scale is a scale of mels.
type Scale uint8

const (
	HTK    Scale = iota
	Slaney       // linear below 1 kHz
)

// Features has the parameters of torchaudio's transforms; zero values are their defaults.
type Features struct {
	Kind      Kind
	FFT       int  // points; 0: 400
	Win       int  // of the Hann window, in the middle of the points; 0: FFT
	Hop       int  // 0: Win / 2
	Magnitude bool // |X| where the default is |X|^2
	Inside    bool // only spectra that lie wholly inside; the default reflects FFT / 2 frames at both ends (center)
	Unit      bool // spectra over the root of the window's energy (normalized)

	Mels       int     // 0: 128
	Low, High  float64 // Hz; High 0: half the rate
	Scale      Scale
	SlaneyNorm bool // bands of equal area

	Log   Log
	TopDB float64 // 0: 80 for MFCC, no limit otherwise

	Coefficients int // of MFCC; 0: 40
}

// Bounds of Features.
const (
	MaxFFT  = 1 << 16
	MaxMels = 4096
)

const (
	floorDB  = 1e-10 // below which decibels do not go
	offsetLn = 1e-6
)

// features is what an Op has for its Features. The C side is freed by the Op's finalizer.
type features struct {
	cfg Features
	c   *C.audio_spectrum
	dct []float32 // Coefficients x Mels
}

func (f Features) withDefaults(rate int) Features {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	set(&f.FFT, 400)
	set(&f.Win, f.FFT)
	set(&f.Hop, f.Win/2)
	set(&f.Mels, 128)
	set(&f.Coefficients, 40)
	if f.High == 0 {
		f.High = float64(rate / 2) // torchaudio's, which rounds down
	}
	if f.Kind == MFCC {
		if f.Log == Linear {
			f.Log = Decibel
		}
		if f.TopDB == 0 {
			f.TopDB = 80
		}
	}
	return f
}

// CheckFeatures says what is wrong with features of sounds whose rate is not known yet: a *ConfigError.
func (cfg *Config) CheckFeatures() error {
	if err := cfg.checkFeaturesType(); err != nil {
		return err
	}
	f := cfg.Features.withDefaults(MaxRate)
	return f.check()
}

func (f *Features) check() error {
	if f.Kind > MFCC || f.Log > NaturalLog || f.Scale > Slaney {
		return wrong("features", "kind %d, log %d or scale %d is not one of the named values", f.Kind, f.Log, f.Scale)
	}
	if f.FFT < 2 || f.FFT > MaxFFT {
		return wrong("features.n_fft", "got %d points, want 2 to %d", f.FFT, MaxFFT)
	}
	if p := largestPrime(f.FFT); p > C.AUDIO_MAX_RADIX {
		return wrong("features.n_fft", "got %d points, of which %d is a prime factor, want none above %d; take a power of two", f.FFT, p, C.AUDIO_MAX_RADIX)
	}
	if f.Win < 1 || f.Win > f.FFT {
		return wrong("features.win_length", "got %d, want 1 to n_fft, %d", f.Win, f.FFT)
	}
	if f.Hop < 1 || f.Hop > 1<<20 {
		return wrong("features.hop_length", "got %d, want 1 to %d", f.Hop, 1<<20)
	}
	if !(f.TopDB >= 0) {
		return wrong("features.top_db", "got %v, want at least 0", f.TopDB)
	}
	if f.Kind == Spectrogram {
		return nil
	}
	if f.Mels < 1 || f.Mels > MaxMels {
		return wrong("features.n_mels", "got %d, want 1 to %d", f.Mels, MaxMels)
	}
	if !(f.Low >= 0 && f.Low < f.High) {
		return wrong("features.f_min", "got %v Hz, want 0 to less than f_max, %v Hz", f.Low, f.High)
	}
	if f.Kind == MFCC && (f.Coefficients < 1 || f.Coefficients > f.Mels) {
		return wrong("features.n_mfcc", "got %d, want 1 to n_mels, %d", f.Coefficients, f.Mels)
	}
	return nil
}

func largestPrime(n int) int {
	largest := 1
	for p := 2; p*p <= n; p++ {
		for ; n%p == 0; n /= p {
			largest = p
		}
	}
	return max(largest, n)
}

func newFeatures(cfg Features, rate int) (*features, error) {
	cfg = cfg.withDefaults(rate)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	f := &features{cfg: cfg}
	window := cfg.window()
	var bands filterbank
	mels := 0
	if cfg.Kind != Spectrogram {
		bands, mels = cfg.bands(rate), cfg.Mels
	}
	magnitude := 0
	if cfg.Magnitude {
		magnitude = 1
	}
	f.c = C.audio_spectrum_new(C.int32_t(cfg.FFT), C.int32_t(cfg.Hop), C.int32_t(magnitude), floats(window), C.int32_t(mels),
		(*C.int32_t)(unsafe.SliceData(bands.first)), (*C.int32_t)(unsafe.SliceData(bands.count)), floats(bands.weight))
	if f.c == nil {
		return nil, errors.New("out of memory")
	}
	if cfg.Kind == MFCC {
		f.dct = dct(cfg.Coefficients, cfg.Mels)
	}
	return f, nil
}

func floats(s []float32) *C.float { return (*C.float)(unsafe.SliceData(s)) }

// bins is the number of values of one spectrum.
func (f *features) bins() int {
	switch f.cfg.Kind {
	case Mel:
		return f.cfg.Mels
	case MFCC:
		return f.cfg.Coefficients
	}
	return f.cfg.FFT/2 + 1
}

// steps is the number of spectra of n frames; 0 where n is too short for one.
func (f *features) steps(n int64) int64 {
	fft, hop := int64(f.cfg.FFT), int64(f.cfg.Hop)
	switch {
	case f.cfg.Inside && n >= fft:
		return (n-fft)/hop + 1
	case !f.cfg.Inside && n > fft/2: // what is reflected is there
		return (n+fft/2*2-fft)/hop + 1
	}
	return 0
}

// window is the periodic Hann window in the middle of FFT points.
func (f *Features) window() []float32 {
	w := make([]float32, f.FFT)
	energy := 0.0
	at := (f.FFT - f.Win) / 2
	for i := range f.Win {
		v := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(f.Win))
		w[at+i] = float32(v)
		energy += v * v
	}
	if f.Unit {
		for i := range w {
			w[i] = float32(float64(w[i]) / math.Sqrt(energy))
		}
	}
	return w
}

// filterbank holds the bins of each band that have a weight.
type filterbank struct {
	first, count []int32
	weight       []float32
}

// bands is torchaudio's melscale_fbanks in its float32 arithmetic: a band of one bin at a triangle's foot has a weight
// in which its roundings show.
func (f *Features) bands(rate int) filterbank {
	bins := linspace(0, float64(rate/2), f.FFT/2+1)
	points := linspace(f.Scale.mel(f.Low), f.Scale.mel(f.High), f.Mels+2)
	for i, m := range points {
		points[i] = f.Scale.hz(m)
	}
	var b filterbank
	for m := range f.Mels {
		low, mid, high := points[m], points[m+1], points[m+2]
		norm := float32(1)
		if f.SlaneyNorm {
			norm = 2 / float32(high-low)
		}
		first, count := len(bins), 0
		for k, hz := range bins {
			up, down := float32(hz-low)/float32(mid-low), float32(high-hz)/float32(high-mid)
			v := min(up, down)
			if !(v > 0) {
				continue
			}
			first, count = min(first, k), count+1
			b.weight = append(b.weight, float32(v*norm))
		}
		b.first, b.count = append(b.first, int32(min(first, len(bins)-1))), append(b.count, int32(count))
	}
	return b
}

// linspace is torch's: a float32 step from both ends towards the middle, each value rounded once.
func linspace(from, to float64, n int) []float32 {
	v := make([]float32, n)
	a, b := float32(from), float32(to)
	step := float64(float32(b-a) / float32(n-1))
	for i := range v {
		if i < n/2 {
			v[i] = float32(float64(a) + step*float64(i))
		} else {
			v[i] = float32(float64(b) - step*float64(n-1-i))
		}
	}
	return v
}

// The Slaney scale: 3 mels per 200 Hz up to 1 kHz, then 27 mels per factor 6.4.
const (
	slaneyStep  = 200.0 / 3
	slaneyKnee  = 1000.0
	slaneyTurns = 27.0
)

func (s Scale) mel(hz float64) float64 {
	if s == HTK {
		return 2595 * math.Log10(1+hz/700)
	}
	if hz >= slaneyKnee {
		return slaneyKnee/slaneyStep + math.Log(hz/slaneyKnee)/(math.Log(6.4)/slaneyTurns)
	}
	return hz / slaneyStep
}

func (s Scale) hz(mel float32) float32 {
	if s == HTK {
		power := float32(math.Pow(10, float64(mel/2595)))
		return float32(700 * float32(power-1))
	}
	knee := slaneyKnee / slaneyStep
	if mel >= float32(knee) {
		exponent := float32(float32(math.Log(6.4)/slaneyTurns) * float32(mel-float32(knee)))
		return float32(slaneyKnee * float32(math.Exp(float64(exponent))))
	}
	return float32(float32(slaneyStep) * mel)
}

// dct is the orthonormal DCT-II, a coefficient a row: torchaudio's create_dct, whose angles are float32.
func dct(coefficients, mels int) []float32 {
	d := make([]float32, coefficients*mels)
	for k := range coefficients {
		for n := range mels {
			angle := float32(float32(float32(math.Pi/float64(mels))*(float32(n)+0.5)) * float32(k))
			v := float32(math.Cos(float64(angle)))
			if k == 0 {
				v = float32(v * float32(1/math.Sqrt2))
			}
			d[k*mels+n] = float32(v * float32(math.Sqrt(2/float64(mels))))
		}
	}
	return d
}
