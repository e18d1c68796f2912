package audio

/*
#include "kernels.h"
*/
import "C"

import (
	"cmp"
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
	Whisper                 // the log-mel spectrogram of Whisper's model card: see whisper.go
	Fbank                   // Kaldi's filter bank: see fbank.go
)

// Log is how the power of a spectrum is compressed.
type Log uint8

const (
	Linear     Log = iota // not at all; for MFCC Decibel
	Decibel               // torchaudio's AmplitudeToDB: 10 log10(max(x, Floor)) of a power, 20 log10 of a magnitude, above that of the reference, nothing lower than TopDB below the row's largest
	NaturalLog            // ln(x + 1e-6), torchaudio's log_mels
	Log10                 // log10(max(x, 1e-10))
)

// Scale is a scale of mels.
type Scale uint8

const (
	HTK    Scale = iota
	Slaney       // linear below 1 kHz
)

// Features has the parameters of torchaudio's transforms; zero values are their defaults. With Zeros, Doubles and a reference they are librosa's.
type Features struct {
	Kind      Kind
	FFT       int  // points; 0: 400
	Win       int  // of the Hann window, in the middle of the points; 0: FFT
	Hop       int  // 0: Win / 2
	Magnitude bool // |X| where the default is |X|^2
	Inside    bool // only spectra that lie wholly inside; the default reflects FFT / 2 frames at both ends (center)
	Zeros     bool // zeros at both ends in place of what is reflected
	Unit      bool // spectra over the root of the window's energy (normalized)

	Mels       int     // 0: 128
	Low, High  float64 // Hz; High 0: half the rate
	Scale      Scale
	SlaneyNorm bool // bands of equal area
	Doubles    bool // bands, and the cosines of MFCC, in floats of 64 bits, as librosa computes them, and torchaudio not

	Log   Log
	TopDB float64 // 0: 80 for MFCC, no limit otherwise

	// Of decibels: the power, or magnitude, that is 0 dB (0: 1), or with OfLargest the row's largest, and what counts as no less (0: 1e-10).
	Reference, Floor float64
	OfLargest        bool

	Coefficients int // of MFCC; 0: 40

	Window WindowType // of Fbank
	// Of Fbank: a frame for every Hop (snip_edges=False), the first Win / 2 - Hop / 2 before the sound, which is mirrored at both ends. The default has those that lie wholly inside.
	Mirrored bool
	Int16    bool // of Fbank: samples count from -32768 to 32767, as Kaldi's own tools take them

	// What lies behind a sound that is shorter than its row: this value, or with Silence the spectra of silence, which fills up the waveform first.
	Padding float64
	Silence bool

	CMVN      CMVN
	Mean, Std []float64 // (x - Mean) / Std, one for all bins or one for each; nil: not

	FrequencyMask, TimeMask *Mask   // nil: none
	MaskValue               float64 // of what is masked
	MaskMean                bool    // the row's mean before it is masked, in place of MaskValue
}

// CMVN normalises each bin of a row, in each channel, by what its own steps are (cepstral mean and variance normalisation).
type CMVN uint8

const (
	NoCMVN       CMVN = iota
	Mean              // x - mean
	MeanVariance      // (x - mean) / sqrt(max(variance, 1e-10)), the variance being the mean square
)

// Bounds of Features.
const (
	MaxFFT  = 1 << 16
	MaxMels = 4096
)

const (
	floorDB  = 1e-10 // below which decibels do not go
	offsetLn = 1e-6
)

// logarithm is y = scale ln(max(x, floor) + offset). Where scale is 0 there is none.
type logarithm struct {
	floor, offset, scale float64
	within               float64 // y is no lower than this below the row's largest; 0: no bound
	shift                float64 // then (y + shift) / shift; 0: y
	less                 float64 // taken off y last
	ofLargest            bool    // so is the row's largest y
}

func (f *Features) logarithm() logarithm {
	switch {
	case f.Kind == Whisper:
		return logarithm{floor: floorDB, scale: 1 / math.Ln10, within: whisperRange, shift: whisperShift}
	case f.Kind == Fbank:
		return logarithm{floor: fbankFloor, scale: 1}
	case f.Log == NaturalLog:
		return logarithm{offset: offsetLn, scale: 1}
	case f.Log == Log10:
		return logarithm{floor: floorDB, scale: 1 / math.Ln10}
	case f.Log == Decibel:
		return f.decibels()
	}
	return logarithm{}
}

func (f *Features) decibels() logarithm {
	l := logarithm{floor: cmp.Or(f.Floor, floorDB), scale: 10 / math.Ln10, within: f.TopDB, ofLargest: f.OfLargest}
	if f.Magnitude {
		l.scale = 20 / math.Ln10
	}
	l.less = l.scale * math.Log(max(l.floor, cmp.Or(f.Reference, 1)))
	return l
}

// features is what an Op has for its Features. The C side is freed by the Op's finalizer.
type features struct {
	cfg Features
	log logarithm
	c   *C.audio_spectrum
	dct []float32 // Coefficients x Mels
}

func (f Features) withDefaults(rate int) Features {
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	switch f.Kind {
	case Whisper:
		f.whisper()
	case Fbank:
		f.fbank(rate)
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
	if f.Kind > Fbank || f.Log > Log10 || f.Scale > Slaney || f.CMVN > MeanVariance || f.Window > Hamming {
		return wrong("features", "kind %d, log %d, scale %d, cmvn %d or window %d is not one of the named values", f.Kind, f.Log, f.Scale, f.CMVN, f.Window)
	}
	if f.Kind != Fbank && (f.Window != Povey || f.Int16 || f.Mirrored) {
		return wrong("features", "window type, int16 and mirrored frames are a filter bank's; want kind fbank")
	}
	if f.Kind == Fbank && f.Win < 2 {
		return wrong("features.win_length", "got %d, want at least 2", f.Win)
	}
	if v := f.Padding; math.IsNaN(v) || math.IsInf(v, 0) || f.Silence && v != 0 {
		return wrong("features.padding", "got %v, want a finite number, or silence alone", v)
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
	if f.Zeros && (f.Inside || f.Kind == Whisper || f.Kind == Fbank) {
		return wrong("features.pad_mode", "got zeros of spectra that lie inside, or of a kind that says it; want them of centred spectra, mel bands or MFCC")
	}
	if err := f.checkDecibels(); err != nil {
		return err
	}
	if !(f.TopDB >= 0) {
		return wrong("features.top_db", "got %v, want at least 0", f.TopDB)
	}
	if f.Kind != Spectrogram {
		if err := f.checkMels(); err != nil {
			return err
		}
	}
	if err := f.checkNormalization(); err != nil {
		return err
	}
	return f.checkMasks()
}

func (f *Features) checkDecibels() error {
	if f.Log != Decibel && (f.Reference != 0 || f.Floor != 0 || f.OfLargest) {
		return wrong("features.ref", "a reference and amin are of decibels; want log: db")
	}
	if !(f.Reference >= 0) || math.IsInf(f.Reference, 1) || f.OfLargest && f.Reference != 0 {
		return wrong("features.ref", "got %v, want a number above 0, or max alone", f.Reference)
	}
	if !(f.Floor >= 0) || math.IsInf(f.Floor, 1) {
		return wrong("features.amin", "got %v, want a number above 0", f.Floor)
	}
	return nil
}

func (f *Features) checkMels() error {
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

func (f *Features) checkNormalization() error {
	if len(f.Mean) == 0 && len(f.Std) == 0 {
		return nil
	}
	if f.CMVN != NoCMVN {
		return wrong("features.normalize", "given beside cmvn, which does the same by the row's own values; leave one of them out")
	}
	if err := f.checkValues("mean", f.Mean, math.Inf(-1)); err != nil {
		return err
	}
	return f.checkValues("std", f.Std, 0)
}

func (f *Features) checkValues(key string, values []float64, above float64) error {
	if n := len(values); n != 1 && n != f.bins() {
		return wrong("features.normalize."+key, "got %d values, want 1, or one for each of the %d bins", n, f.bins())
	}
	for _, v := range values {
		if !(v > above) || math.IsInf(v, 1) {
			return wrong("features.normalize."+key, "got %v, want a finite number above %v", v, above)
		}
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

func newFeatures(cfg Features, rate, channels int) (*features, error) {
	cfg = cfg.withDefaults(rate)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Kind == Whisper {
		if err := checkWhisper(rate, channels); err != nil {
			return nil, err
		}
	}
	f := &features{cfg: cfg, log: cfg.logarithm()}
	window := cfg.window()
	var bands filterbank
	mels := 0
	if cfg.Kind != Spectrogram {
		bands, mels = cfg.bands(rate), cfg.Mels
	}
	magnitude, hop := 0, cfg.Hop
	if cfg.Magnitude {
		magnitude = 1
	}
	if cfg.Kind == Fbank {
		hop = cfg.FFT // frames are prepared one behind the other
	}
	f.c = C.audio_spectrum_new(C.int32_t(cfg.FFT), C.int32_t(hop), C.int32_t(magnitude), floats(window), C.int32_t(mels),
		(*C.int32_t)(unsafe.SliceData(bands.first)), (*C.int32_t)(unsafe.SliceData(bands.count)), floats(bands.weight))
	if f.c == nil {
		return nil, errors.New("out of memory")
	}
	if cfg.Kind == MFCC {
		f.dct = dct(cfg.Coefficients, cfg.Mels, cfg.Doubles)
	}
	return f, nil
}

func floats(s []float32) *C.float { return (*C.float)(unsafe.SliceData(s)) }

// bins is the number of values of one spectrum.
func (f *Features) bins() int {
	switch f.Kind {
	case Mel, Whisper, Fbank:
		return f.Mels
	case MFCC:
		return f.Coefficients
	}
	return f.FFT/2 + 1
}

// steps is the number of spectra of n frames; 0 where n is too short for one.
func (f *Features) steps(n int64) int64 {
	fft, hop := int64(f.FFT), int64(f.Hop)
	switch {
	case f.Kind == Whisper && n > fft/2:
		return n / hop
	case f.Mirrored:
		return (n + hop/2) / hop
	case f.Kind == Fbank && n >= int64(f.Win):
		return (n-int64(f.Win))/hop + 1
	case f.Kind == Fbank:
		return 0
	case f.Inside && n >= fft:
		return (n-fft)/hop + 1
	case f.Zeros && n > 0, !f.Inside && n > fft/2: // what is reflected is there
		return (n+fft/2*2-fft)/hop + 1
	}
	return 0
}

// window is the periodic Hann window in the middle of FFT points.
func (f *Features) window() []float32 {
	if f.Kind == Fbank {
		return f.fbankWindow()
	}
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
