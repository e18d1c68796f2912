package spec

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	whisperRate = 16000
	maxSpectrum = 1 << 16
	maxMels     = 4096
	maxMasks    = 64
	floorDB     = 1e-10 // below which decibels do not go, unless said otherwise
)

// The words in Features.
const (
	Spectrogram = "spectrogram"
	Mel         = "mel"
	MFCC        = "mfcc"
	Whisper     = "whisper"
	Fbank       = "fbank"

	Povey   = "povey"
	Hanning = "hanning"
	Hamming = "hamming"

	HTK    = "htk"
	Slaney = "slaney"

	None       = "none"
	Decibel    = "db"
	NaturalLog = "ln"
	Log10      = "log10"

	CMVNMean         = "mean"
	CMVNMeanVariance = "mean_variance"
)

// Features are torchaudio's transforms, with its names and defaults.
type Features struct {
	Kind       string  `json:"kind"`
	FFT        int     `json:"n_fft"`
	Win        int     `json:"win_length"` // 0: FFT
	Hop        int     `json:"hop_length"` // 0: half of Win
	Power      int     `json:"power"`      // 1 or 2
	Centered   bool    `json:"center"`
	Normalized bool    `json:"normalized"`
	Mels       int     `json:"n_mels"`
	Low        float64 `json:"f_min"`
	High       float64 `json:"f_max"` // 0: half the rate
	Scale      string  `json:"mel_scale"`
	Norm       string  `json:"norm"`
	Log        string  `json:"log"`
	TopDB      float64 `json:"top_db"` // 0: no limit, or 80 for mfcc
	Count      int     `json:"n_mfcc"`

	// Features without these have the hash that they had before there were any.
	CMVN string    `json:"cmvn,omitempty"`
	Mean []float64 `json:"mean,omitempty"` // one for all bins or one for each, as Std; nil: not normalised
	Std  []float64 `json:"std,omitempty"`

	FrequencyMask *AxisMask `json:"frequency_mask,omitempty"` // nil: none
	TimeMask      *AxisMask `json:"time_mask,omitempty"`
	MaskValue     float64   `json:"mask_value,omitempty"`
	MaskMean      bool      `json:"mask_mean,omitempty"` // the row's mean, in place of MaskValue

	Window string `json:"window_type,omitempty"` // of fbank
	Int16  bool   `json:"int16,omitempty"`       // of fbank

	Padding float64 `json:"padding,omitempty"` // value of the steps behind a sound
	Silence bool    `json:"silence,omitempty"` // they are silence's, in place of Padding

	Mirrored bool `json:"mirrored,omitempty"` // of fbank: snip_edges: false

	Zeros     bool    `json:"zeros,omitempty"`   // pad_mode: constant
	Doubles   bool    `json:"doubles,omitempty"` // filters: f64
	Reference float64 `json:"ref,omitempty"`     // of decibels; 0: 1
	OfLargest bool    `json:"ref_max,omitempty"` // the row's largest, in place of Reference
	Floor     float64 `json:"amin,omitempty"`    // of decibels; 0: 1e-10
}

// AxisMask is SpecAugment's, along one axis.
type AxisMask struct {
	Param int     `json:"param"`
	Count int     `json:"count"`
	P     float64 `json:"p"` // of the time axis; 1 of frequencies
	IID   bool    `json:"iid_masks"`
}

func (d *decoder) features(s *section) *Features {
	f := &Features{FFT: 400, Power: 2, Centered: true, Mels: 128, Scale: HTK, Norm: None, Log: None, Count: 40}
	sec := d.below(s, "features")
	choice(&sec, "kind", &f.Kind, Spectrogram, Mel, MFCC, Whisper, Fbank)
	whole(&sec, "n_fft", &f.FFT, 2, maxSpectrum)
	whole(&sec, "win_length", &f.Win, 1, maxSpectrum)
	whole(&sec, "hop_length", &f.Hop, 1, 1<<20)
	whole(&sec, "power", &f.Power, 1, 2)
	sec.flag("center", &f.Centered)
	sec.flag("normalized", &f.Normalized)
	whole(&sec, "n_mels", &f.Mels, 1, maxMels)
	sec.number("f_min", &f.Low, 0, maxRate)
	sec.number("f_max", &f.High, 1, maxRate)
	choice(&sec, "mel_scale", &f.Scale, HTK, Slaney)
	choice(&sec, "norm", &f.Norm, None, Slaney)
	choice(&sec, "log", &f.Log, None, Decibel, NaturalLog, Log10)
	d.librosas(&sec, f)
	sec.number("top_db", &f.TopDB, 1e-3, 1e6)
	whole(&sec, "n_mfcc", &f.Count, 1, maxMels)
	choice(&sec, "window_type", &f.Window, Povey, Hanning, Hamming)
	sec.flag("int16", &f.Int16)
	snip := true
	sec.flag("snip_edges", &snip)
	f.Mirrored = !snip
	choice(&sec, "cmvn", &f.CMVN, CMVNMean, CMVNMeanVariance)
	if sec.has("normalize") {
		f.Mean, f.Std = d.global(&sec)
	}
	d.masks(&sec, f)
	numberOr(&sec, "padding", &f.Padding, "silence", &f.Silence)
	switch {
	case d.err != nil:
	case f.Kind == "":
		s.fail("features", "kind is missing, want spectrogram, mel, mfcc, whisper or fbank")
	case f.Kind != Fbank && (sec.has("window_type") || sec.has("int16") || sec.has("snip_edges")):
		s.fail("features", "window_type, int16 and snip_edges go with kind: fbank, got kind: %s", f.Kind)
	case f.Kind == Whisper:
		d.whisper(&sec, f)
	case f.Kind == Fbank:
		d.fbank(&sec, f)
	case f.Kind != MFCC && sec.has("n_mfcc"):
		sec.fail("n_mfcc", "goes with kind: mfcc")
	case f.Kind == Spectrogram && (sec.has("n_mels") || sec.has("f_min") || sec.has("f_max") || sec.has("mel_scale") || sec.has("norm")):
		s.fail("features", "n_mels, f_min, f_max, mel_scale and norm go with kind: mel or mfcc, got kind: spectrogram")
	}
	return f
}

// librosas reads what librosa's spectra have, and torchaudio's have not.
func (d *decoder) librosas(sec *section, f *Features) {
	pads, filters := Reflect, FiltersF32
	choice(sec, "pad_mode", &pads, Reflect, constant)
	choice(sec, "filters", &filters, FiltersF32, FiltersF64)
	f.Zeros, f.Doubles = pads == constant, filters == FiltersF64
	sec.number("amin", &f.Floor, 1e-30, 1e6)
	if numberOr(sec, "ref", &f.Reference, "max", &f.OfLargest); d.err == nil && sec.has("ref") && !f.OfLargest && f.Reference <= 0 {
		sec.fail("ref", "got %g, want a number above 0, or max", f.Reference)
	}
	f.Reference, f.Floor = unless(f.Reference, 1), unless(f.Floor, floorDB)
	decibels := f.Log == Decibel || f.Kind == MFCC && f.Log == None
	switch {
	case d.err != nil || f.Kind == Whisper || f.Kind == Fbank:
	case f.Zeros && !f.Centered:
		sec.fail("pad_mode", "given with center: false, whose spectra lie inside; leave one of them out")
	case sec.has("filters") && f.Kind == Spectrogram:
		sec.fail("filters", "goes with kind: mel or mfcc, got kind: spectrogram, which has no bands")
	case !decibels && (sec.has("ref") || sec.has("amin")):
		d.failAt(sec.place, "ref and amin go with log: db, got log: %s", f.Log)
	}
}

// unless is 0 of what is the default, whose features have the hash that they had before there was anything else.
func unless(v, usual float64) float64 {
	if v == usual {
		return 0
	}
	return v
}

// whisper fills in what Whisper's features are, of which the number of bands alone may be said.
func (d *decoder) whisper(sec *section, f *Features) {
	for _, key := range []string{"n_fft", "win_length", "hop_length", "power", "center", "normalized", "f_min", "f_max", "mel_scale", "norm", "log", "top_db", "n_mfcc", "cmvn", "normalize", "padding", "pad_mode", "filters", "ref", "amin"} {
		if sec.has(key) {
			sec.fail(key, "given with kind: whisper, which says all but n_mels; leave it out, or use kind: mel")
		}
	}
	if !sec.has("n_mels") {
		f.Mels = 80
	}
	f.Hop, f.High, f.Scale, f.Norm = 160, whisperRate/2, Slaney, Slaney
}

// fbank fills in what Kaldi's filter bank leaves to be said, and refuses what is not its own.
func (d *decoder) fbank(sec *section, f *Features) {
	for _, key := range []string{"n_fft", "power", "center", "normalized", "mel_scale", "norm", "log", "top_db", "n_mfcc", "pad_mode", "filters", "ref", "amin"} {
		if sec.has(key) {
			sec.fail(key, "given with kind: fbank, which says all but n_mels, win_length, hop_length, f_min, f_max, window_type, int16 and snip_edges; leave it out, or use kind: mel")
		}
	}
	if !sec.has("n_mels") {
		f.Mels = 80
	}
	if !sec.has("f_min") {
		f.Low = 20
	}
	if f.Window == "" {
		f.Window = Povey
	}
}

// global reads the mean and the standard deviation of a data set.
func (d *decoder) global(s *section) (mean, std []float64) {
	sec := d.below(s, "normalize")
	if d.err == nil && (!sec.has("mean") || !sec.has("std")) {
		s.fail("normalize", "mean or std is missing, want both: a number, or a list of one for each bin")
	}
	return d.perBin(&sec, "mean", -maxMean, maxMean), d.perBin(&sec, "std", minStd, maxStd)
}

// masks reads what hides parts of features.
func (d *decoder) masks(s *section, f *Features) {
	if s.has("frequency_mask") {
		sec := d.below(s, "frequency_mask")
		f.FrequencyMask = d.mask(&sec, "freq_mask_param", "freq_mask_param: 27")
	}
	if s.has("time_mask") {
		sec := d.below(s, "time_mask")
		f.TimeMask = d.mask(&sec, "time_mask_param", "time_mask_param: 100")
		sec.number("p", &f.TimeMask.P, 0, 1)
	}
	if s.has("mask_value") && f.FrequencyMask == nil && f.TimeMask == nil {
		s.fail("mask_value", "given without frequency_mask and time_mask, whose value it is")
	}
	numberOr(s, "mask_value", &f.MaskValue, "mean", &f.MaskMean)
}

// numberOr reads a number, or a word in its place.
func numberOr(s *section, key string, v *float64, word string, said *bool) {
	if !s.has(key) {
		return
	}
	n := target(s.values[key])
	switch *said = n.Kind == yaml.ScalarNode && n.Value == word; {
	case *said:
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		s.fail(key, "got %s, want a number or %s", describe(n), word)
	default:
		s.number(key, v, -maxMean, maxMean)
	}
}

func (d *decoder) mask(s *section, param, such string) *AxisMask {
	m := &AxisMask{Count: 1, P: 1}
	if d.err == nil && !s.has(param) {
		d.failAt(s.place, "%s is missing, want how long a mask may be, such as %s", param, such)
	}
	whole(s, param, &m.Param, 1, maxSpectrum)
	whole(s, "count", &m.Count, 1, maxMasks)
	s.flag("iid_masks", &m.IID)
	return m
}

// perBin reads a number, or one for each bin.
func (d *decoder) perBin(s *section, key string, low, high float64) (all []float64) {
	if !s.has(key) {
		return nil
	}
	if target(s.values[key]).Kind != yaml.SequenceNode {
		one := 0.0
		s.number(key, &one, low, high)
		return []float64{one}
	}
	for i, n := range s.items(key, "a number, or a list of one for each bin", maxSpectrum) {
		v, _ := d.number(n, fmt.Sprintf("%s[%d]", join(s.shown, key), i), low, high)
		all = append(all, v)
	}
	if d.err == nil && all == nil {
		s.fail(key, "got an empty list, want a number, or a list of one for each bin")
	}
	return all
}

// top is the highest frequency of features.
func (a *Audio) top() float64 {
	if a.Features.High > 0 {
		return a.Features.High
	}
	return float64(a.Rate) / 2
}
