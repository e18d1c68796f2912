package audio

/*
#cgo CFLAGS: -std=c11 -O2 -Wno-psabi
#cgo LDFLAGS: -lm
#include "kernels.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

// Crop is what happens to a sample of more frames than the row holds.
type Crop uint8

const (
	CropRefuse Crop = iota // CauseTooLarge
	CropStart              // the first frames are kept
	CropCentre             // (surplus / 2) frames are left out before, rounded down
	CropRandom             // begins at floor(u * (surplus + 1)), u drawn for the sample
)

// Layout is the order of a row's axes.
type Layout uint8

const (
	ChannelsFirst Layout = iota // [C, L]; features [bins, T], or [C, bins, T] for more than one channel
	TimeFirst                   // [L, C]; features [T, bins], or [T, C, bins]
)

// Window is a part of a sample: the frames [round(Start * rate), round((Start + Duration) * rate)) as stored.
type Window struct {
	Start    float64 // seconds
	Duration float64 // seconds; 0: to the end
}

// Loudness says how a row is scaled. What is measured is the row's own frames, before padding; silence stays silence.
type Loudness uint8

const (
	AsStored     Loudness = iota
	ToPeak                // the largest |x| becomes Level (1.0 if that is 0)
	ToIntegrated          // the integrated loudness of ITU-R BS.1770 becomes Level LUFS (-23 if that is 0)
	ToStandard            // the mean becomes 0 and the variance 1, over all channels: (x - mean) / sqrt(variance + 1e-7)
)

// Normalize scales a row. Nothing is clipped in f32 rows; i16 rows are held to their range.
type Normalize struct {
	To    Loudness
	Level float64
}

// Raw describes samples without a header.
type Raw struct {
	Encoding Encoding
	Rate     int
	Channels int
}

// Config describes a row. Steps happen in this order: window, filter, channels, speed, resample, crop, reverb,
// noise, normalise, gain and polarity, pre-emphasis, pad or features.
type Config struct {
	Rate        int   // of the row; 0: as stored
	Channels    int   // of the row; 0: as stored. 1 of many is their mean, many of 1 are copies, all else is refused
	Select      []int // takes these channels, from 0, before the rule of Channels
	Window      Window
	Filter      string    // a description of FFmpeg's filters with one input and one output; what comes out is the sample
	Speed       []float64 // factors of which each sample draws one; nil: as it is
	Length      int       // frames of the row at its rate; shorter samples are padded with zeros at their end
	Crop        Crop
	Resample    Resample
	Reverb      *Reverb // nil: none
	Noise       *Noise  // nil: none
	Normalize   Normalize
	Gain        *Gain        // nil: none
	Invert      float64      // probability that the signal's sign is turned
	PreEmphasis float64      // c of y[i] = x[i] - c * x[i-1], y[0] being x[0]; 0: none
	Features    *Features    // nil: the waveform itself
	DType       tensor.DType // tensor.F32 (or 0) or tensor.I16; features are f32
	Layout      Layout
	Raw         *Raw // nil: the bytes have a header

	MaxFrames int64         // as stored, in memory at once, of one channel or two; half as many of four, and so on; 0: DefaultMaxFrames
	Budget    time.Duration // wall clock for FFmpeg, FLAC, MP3, AAC or Opus to decode one sample; 0: none
}

// Limits.
const (
	DefaultMaxFrames = 1 << 27 // 46 minutes of 48 kHz, 1 GiB in stereo
	MaxLength        = 1 << 27
)

// Op is a compiled Config. It may be shared by any number of goroutines.
type Op struct {
	cfg      Config
	channels int // of the row; 0: as stored
	shape    []int64
	rowBytes int
	features *features
	banks    banks
	noises   *sounds // nil: none
	rooms    *sounds // impulse responses; nil: none
}

// Compile checks cfg and prepares its tables. Errors name the field. Without Length or Channels the Op has no row: it is
// for [Worker.Wave] alone.
func Compile(cfg Config) (*Op, error) {
	op := &Op{cfg: cfg, banks: banks{most: maxBanks * max(1, len(cfg.Speed))}}
	op.cfg.Resample = cfg.Resample.withDefaults()
	if cfg.MaxFrames == 0 {
		op.cfg.MaxFrames = DefaultMaxFrames
	}
	if cfg.DType == 0 {
		op.cfg.DType = tensor.F32
	}
	op.channels = cfg.Channels
	if op.channels == 0 {
		op.channels = len(cfg.Select)
	}
	if cfg.Raw != nil && op.channels == 0 {
		op.channels = cfg.Raw.Channels
	}
	if err := op.cfg.check(); err != nil {
		return nil, unlessTold(err)
	}
	if err := op.openSounds(); err != nil {
		return nil, err
	}
	if cfg.Features != nil {
		var err error
		if op.features, err = newFeatures(*cfg.Features, cfg.Rate, op.channels); err != nil {
			return nil, unlessTold(err)
		}
		if n := int64(cfg.Length); n > 0 && op.features.cfg.steps(n) < 1 {
			return nil, fmt.Errorf("audio: features: a row of %d frames is shorter than one spectrum, which needs %d", n, op.features.cfg.least())
		}
		if err := op.features.cfg.checkTimeMask(int64(cfg.Length)); err != nil {
			return nil, err
		}
		runtime.SetFinalizer(op, func(op *Op) { C.audio_spectrum_free(op.features.c) })
	}
	if !op.Fixed() {
		return op, nil
	}
	op.shape = op.rowShape()
	op.rowBytes = op.cfg.DType.Bytes()
	for _, d := range op.shape {
		op.rowBytes *= int(d)
	}
	return op, nil
}

func (op *Op) openSounds() (err error) {
	if n := op.cfg.Noise; n != nil {
		if op.noises, err = op.newSounds(&n.Files, Wave.mean, anySound); err != nil {
			return err
		}
	}
	if r := op.cfg.Reverb; r != nil {
		op.rooms, err = op.newSounds(&r.Files, Wave.first, checkResponse)
	}
	return err
}

// ConfigError is what is wrong with a Config, whatever the sound.
type ConfigError struct {
	Key  string // the section's, as core/spec has it: features.n_fft
	Text string
}

func (e *ConfigError) Error() string { return "audio: " + e.Key + ": " + e.Text }

func wrong(key, format string, args ...any) error {
	return &ConfigError{key, fmt.Sprintf(format, args...)}
}

// unlessTold says that an error is of a sound's section.
func unlessTold(err error) error {
	var told *ConfigError
	if errors.As(err, &told) {
		return err
	}
	return fmt.Errorf("audio: %w", err)
}

func (cfg *Config) check() error {
	if cfg.Rate < 0 || cfg.Rate > MaxRate {
		return wrong("rate", "got %d Hz, want 1 to %d", cfg.Rate, MaxRate)
	}
	if cfg.Channels < 0 || cfg.Channels > MaxChannels {
		return wrong("channels", "got %d, want 1 to %d", cfg.Channels, MaxChannels)
	}
	for _, c := range cfg.Select {
		if c < 0 || c >= MaxChannels {
			return wrong("select", "got channel %d, want 0 to %d", c, MaxChannels-1)
		}
	}
	if n := len(cfg.Select); n > MaxChannels || n > 1 && cfg.Channels > 1 && cfg.Channels != n {
		return wrong("select", "%d channels do not become %d; want 1 or as many", n, cfg.Channels)
	}
	if cfg.Length < 0 || cfg.Length > MaxLength {
		return wrong("length", "got %d frames, want 1 to %d", cfg.Length, MaxLength)
	}
	if err := checkSpeed(cfg.Speed); err != nil {
		return err
	}
	if cfg.Crop > CropRandom || cfg.Layout > TimeFirst || cfg.Normalize.To > ToStandard {
		return wrong("config", "crop %d, layout %d or normalise %d is not one of the named values", cfg.Crop, cfg.Layout, cfg.Normalize.To)
	}
	if cfg.DType != tensor.F32 && cfg.DType != tensor.I16 {
		return wrong("dtype", "got %v, want f32 or i16", cfg.DType)
	}
	if cfg.MaxFrames < 1 || cfg.MaxFrames > 1<<40 || cfg.Budget < 0 {
		return wrong("max_frames", "got %d frames in %v, want 1 to 2^40 in no negative time", cfg.MaxFrames, cfg.Budget)
	}
	return cfg.checkParts()
}

func (cfg *Config) checkParts() error {
	if err := cfg.Window.check(); err != nil {
		return err
	}
	if l := cfg.Normalize.Level; math.IsNaN(l) || math.Abs(l) > 1000 || cfg.Normalize.To == ToPeak && l < 0 {
		return wrong("normalize.level", "got level %v, want a peak above 0 or LUFS", l)
	}
	if err := cfg.checkEffects(); err != nil {
		return err
	}
	if err := cfg.checkFeaturesType(); err != nil {
		return err
	}
	if cfg.Features != nil && cfg.Rate == 0 {
		return wrong("rate", "is missing, and features need one")
	}
	if cfg.Resample.Method == SWResample && !haveFFmpeg {
		return wrong("resample.method", "built without FFmpeg; use a sinc method or the full build of spdl")
	}
	if cfg.Resample.Method == SoxrHQ {
		if err := checkSoxr(); err != nil {
			return err
		}
	}
	if r := cfg.Raw; r != nil && (!r.Encoding.Valid() || r.Rate < 1 || r.Rate > MaxRate || r.Channels < 1 || r.Channels > MaxChannels) {
		return wrong("raw", "got %d channels of %v at %d Hz, want 1 to %d of a named encoding at 1 to %d Hz",
			r.Channels, r.Encoding, r.Rate, MaxChannels, MaxRate)
	}
	if cfg.Filter != "" {
		if cfg.Raw != nil {
			return wrong("filter", "samples without a header do not go through FFmpeg; leave raw or filter out")
		}
		if err := cfg.checkFilter(); err != nil {
			return err
		}
	}
	return cfg.Resample.check()
}

func (cfg *Config) checkFeaturesType() error {
	if cfg.Features != nil && cfg.DType != tensor.F32 {
		return wrong("dtype", "got %v with features, want f32", cfg.DType)
	}
	return nil
}

func (w Window) check() error {
	if !(w.Start >= 0 && w.Start <= 1e9 && w.Duration >= 0 && w.Duration <= 1e9) {
		return wrong("window", "got start %v and duration %v, want 0 to 1e9 seconds", w.Start, w.Duration)
	}
	return nil
}

// frames is the window in frames of a signal at that rate; end is -1 for the end of the signal.
func (w Window) frames(rate int) (begin, end int64) {
	begin, end = int64(math.Round(w.Start*float64(rate))), -1
	if w.Duration > 0 {
		end = int64(math.Round((w.Start + w.Duration) * float64(rate)))
	}
	return begin, end
}

// Fixed reports whether every row has the same shape, so that Decode can be called.
func (op *Op) Fixed() bool { return op.channels > 0 && op.cfg.Length > 0 }

// Shape is one row at capacity; nil if the Op is not Fixed. It is not to be changed.
func (op *Op) Shape() []int64 { return op.shape }

func (op *Op) rowShape() []int64 {
	c, n := int64(op.channels), int64(op.cfg.Length)
	if op.features == nil {
		if op.cfg.Layout == TimeFirst {
			return []int64{n, c}
		}
		return []int64{c, n}
	}
	bins, steps := int64(op.features.cfg.bins()), op.features.cfg.steps(n)
	switch {
	case op.cfg.Layout == ChannelsFirst && c == 1:
		return []int64{bins, steps}
	case op.cfg.Layout == ChannelsFirst:
		return []int64{c, bins, steps}
	case c == 1:
		return []int64{steps, bins}
	}
	return []int64{steps, c, bins}
}

// TimeAxis is the axis of Shape that samples may fill in part.
func (op *Op) TimeAxis() int {
	if op.cfg.Layout == TimeFirst {
		return 0
	}
	return max(0, len(op.shape)-1)
}

// DType is the type of a row's values.
func (op *Op) DType() tensor.DType { return op.cfg.DType }

// RowBytes is the size of one row; 0 if the Op is not Fixed.
func (op *Op) RowBytes() int { return op.rowBytes }
