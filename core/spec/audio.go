package spec

import (
	"fmt"
	"math"
	"time"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

const (
	maxRate    = 768000
	maxTracks  = 64
	maxLength  = 1 << 28 // of a file, samples of each channel
	maxRow     = 1 << 27 // of a row
	maxWindow9 = 1e9 * time.Second
)

// Cut says how rows that are shorter than their room lie in a batch.
type Cut string

const (
	Fixed  Cut = "fixed"  // zeros behind
	Padded Cut = "padded" // the batch is as long as its longest row; zeros behind the others
	Ragged Cut = "ragged" // one row behind the other, with offsets
)

// The values of Audio.Layout, Audio.Crop, Resample.Method and Normalized.To.
const (
	NCL = "NCL"
	NLC = "NLC"

	Refuse = "refuse"
	Start  = "start"
	Center = "center"
	Random = "random"

	SincHann   = "sinc_interp_hann"
	SincKaiser = "sinc_interp_kaiser"
	SWResample = "swresample"
	SoxrHQ     = "soxr_hq"

	FiltersF32 = "f32"
	FiltersF64 = "f64"

	Peak     = "peak"
	Loudness = "loudness"
	Standard = "zero_mean_unit_var"
)

// Audio says what a sound becomes; the steps come in the order of core/media/audio's Config.
type Audio struct {
	From        []string // the part or column that it is, best first; nil: by the source's rule
	Rate        int      // Hz
	Channels    int
	Select      []int  // channels to take first; nil: all
	Channel     string // the column that says which one to take, in place of these; "": none does
	Length      int    // samples of each channel that a row has room for
	Shape       Cut
	Crop        string // of a longer sample
	Window      Window
	Filter      string    // FFmpeg's description of filters; "": none
	Speed       []float64 // factors of which each sample draws one; nil: as it is
	Resample    Resample
	Reverb      *Reverb // nil: none
	Noise       *Noise  // nil: none
	Normalize   Normalized
	Gain        *Gain        // nil: none
	Inversion   float64      // probability that the signal's sign is turned
	PreEmphasis float64      // 0: none
	Features    *Features    // nil: the waveform
	Raw         *Raw         // nil: files have a header
	DType       tensor.DType // F32 or I16
	Layout      string       // NCL or NLC
	MaxFrames   int64        // of a file
	Timeout     time.Duration
}

// Window is a part of a file in time; Duration 0 is to the end. Columns that are named say it for each sample, in seconds.
type Window struct {
	Start, Duration                        time.Duration
	StartColumn, DurationColumn, EndColumn string // not both of the last two
	Of                                     string // of a sound: the video whose clip it goes with, from Start behind the clip's begin on; 0 is to the clip's end
}

// Resample is torchaudio's, FFmpeg's or soxr's.
type Resample struct {
	Method  string  `json:"method"`
	Width   int     `json:"width"`
	Rolloff float64 `json:"rolloff"`
	Beta    float64 `json:"beta"`
	Filters string  `json:"filters"` // FiltersF32 or FiltersF64: how they are computed
}

// Normalized scales a row; To "": as it is.
type Normalized struct {
	To    string  `json:"to"`
	Level float64 `json:"level"` // a peak, or LUFS; 0: 1 or -23
}

// Raw describes files without a header.
type Raw struct {
	Encoding string `json:"encoding"`
	Rate     int    `json:"rate"`
	Channels int    `json:"channels"`
}

func defaultAudio() *Audio {
	return &Audio{
		Channels: 1, Shape: Fixed, Crop: Refuse, Resample: Resample{Method: SincHann, Width: 6, Rolloff: 0.99, Beta: 14.769656459379492, Filters: FiltersF32},
		DType: tensor.F32, Layout: NCL, MaxFrames: maxLength, Timeout: time.Minute,
	}
}

// audio reads the section over what above already says; nil: nothing.
func (d *decoder) audio(s *section, above *Audio) *Audio {
	a := defaultAudio()
	if above != nil {
		*a = *above
	}
	s.from(&a.From)
	whole(s, "rate", &a.Rate, 1, maxRate)
	whole(s, "channels", &a.Channels, 1, maxTracks)
	d.channels(s, a)
	d.length(s, a)
	choice(s, "shape", &a.Shape, Fixed, Padded, Ragged)
	choice(s, "crop", &a.Crop, Refuse, Start, Center, Random)
	if s.has("window") {
		a.Window = d.soundWindow(s)
	}
	d.filter(s, &a.Filter)
	d.effects(s, a)
	if s.has("resample") {
		d.resample(s, &a.Resample)
	}
	if s.has("normalize") {
		n := d.below(s, "normalize")
		choice(&n, "to", &a.Normalize.To, Peak, Loudness, Standard)
		n.number("level", &a.Normalize.Level, -100, 100)
		switch {
		case d.err != nil:
		case a.Normalize.To == "":
			s.fail("normalize", "to is missing, want peak, loudness or zero_mean_unit_var")
		case a.Normalize.To == Standard && n.has("level"):
			n.fail("level", "given with to: zero_mean_unit_var, which has none; leave it out")
		}
	}
	if s.has("features") {
		a.Features = d.features(s)
	}
	if s.has("raw") {
		a.Raw = d.raw(s)
	}
	name := ""
	choice(s, "dtype", &name, "f32", "i16")
	if name != "" {
		a.DType, _ = tensor.ParseDType(name)
	}
	choice(s, "layout", &a.Layout, NCL, NLC)
	whole(s, "max_frames", &a.MaxFrames, 1, maxLength)
	s.duration("timeout", "a duration such as 500ms, 30s or 5m, above 0", &a.Timeout, 1, math.MaxInt64)
	return a
}

func (d *decoder) resample(s *section, to *Resample) {
	r := d.below(s, "resample")
	choice(&r, "method", &to.Method, SincHann, SincKaiser, SWResample, SoxrHQ)
	whole(&r, "width", &to.Width, 1, 1024)
	r.number("rolloff", &to.Rolloff, 0.01, 1)
	r.number("beta", &to.Beta, 0, 100)
	choice(&r, "filters", &to.Filters, FiltersF32, FiltersF64)
	if to.Method != SWResample && to.Method != SoxrHQ {
		return
	}
	for _, key := range []string{"width", "rolloff", "beta", "filters"} {
		if r.has(key) {
			r.fail(key, "given with method: %s, whose filters are its own; leave it out, or take sinc_interp_hann or sinc_interp_kaiser", to.Method)
		}
	}
}

// channels reads which channels of a file are taken.
func (d *decoder) channels(s *section, a *Audio) {
	if !s.has("select") {
		return
	}
	a.Select, a.Channel = nil, ""
	if target(s.values["select"]).Kind == yaml.MappingNode {
		by := d.below(s, "select")
		if by.text("column", &a.Channel); a.Channel == "" && d.err == nil {
			s.fail("select", "column is missing, want the name of one of source.columns of type i64, or a list of channels")
		}
		if !s.has("channels") {
			a.Channels = 1
		}
		return
	}
	for i, n := range s.items("select", "a list of channels, from 0, or {column: NAME}", maxTracks) {
		c, _ := d.whole(n, fmt.Sprintf("%s[%d]", join(s.shown, "select"), i), 0, maxTracks-1)
		a.Select = append(a.Select, int(c))
	}
	if a.Select != nil && !s.has("channels") {
		a.Channels = len(a.Select)
	}
}

// below is the section of a key.
func (d *decoder) below(s *section, key string) section {
	return d.section(s.values[key], join(s.table, key), join(s.shown, key), join(s.place, key))
}

// length reads a number of samples, or a time at the row's rate.
func (d *decoder) length(s *section, a *Audio) {
	const want = "a whole number of samples, or a time such as 10s"
	if !s.has("length") {
		return
	}
	n := target(s.values["length"])
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		whole(s, "length", &a.Length, 1, maxRow)
		return
	}
	if a.Rate == 0 {
		s.fail("length", "got %s without a rate; say rate, too, or give a number of samples", describe(n))
		return
	}
	t, err := time.ParseDuration(n.Value)
	frames := math.Round(t.Seconds() * float64(a.Rate))
	if err != nil || frames < 1 || frames > maxRow {
		s.fail("length", "got %.60s at %d Hz, want %s, of 1 to %d samples", describe(n), a.Rate, want, maxRow)
		return
	}
	a.Length = int(frames)
}

func (d *decoder) raw(s *section) *Raw {
	r := &Raw{}
	sec := d.below(s, "raw")
	choice(&sec, "encoding", &r.Encoding, "u8", "s16", "s24", "s32", "f32", "f64")
	whole(&sec, "rate", &r.Rate, 1, maxRate)
	whole(&sec, "channels", &r.Channels, 1, maxTracks)
	if d.err == nil && (r.Encoding == "" || r.Rate == 0 || r.Channels == 0) {
		s.fail("raw", "encoding, rate or channels is missing, want all three: the files do not say them")
	}
	return r
}

// check holds the section against itself. What the parts of features say together is core/media/audio's to check.
func (a *Audio) check(fail func(path, format string, args ...any)) {
	switch {
	case a.Rate == 0:
		fail("audio", "rate is missing, want the samples per second of a row, such as rate: 16000")
	case a.Length == 0:
		fail("audio", "length is missing, want the room of a row in samples, or as a time such as length: 10s")
	case a.Filter != "" && a.Raw != nil:
		fail("audio.filter", "given beside raw: samples without a header do not go through FFmpeg; leave one of them out")
	case a.Normalize.To == Standard && a.DType != tensor.F32:
		fail("audio.dtype", "got %v with normalize to zero_mean_unit_var, want f32: most values are beyond 1", a.DType)
	case a.Features != nil && a.DType != tensor.F32:
		fail("audio.dtype", "got %v with features, want f32", a.DType)
	case a.Features != nil && a.Features.Kind == Whisper && a.Rate != whisperRate:
		fail("audio.rate", "got %d with features of kind whisper, want %d", a.Rate, whisperRate)
	case a.Features != nil && a.Features.Kind == Whisper && a.Channels > 1:
		fail("audio.channels", "got %d with features of kind whisper, want 1", a.Channels)
	case a.Features != nil && a.Features.Kind == Whisper && a.Shape != Fixed:
		fail("audio.shape", "got %s with features of kind whisper, want fixed: silence fills up every row before its features are made", a.Shape)
	case a.Features != nil && (a.Features.Silence || a.Features.Padding != 0) && a.Shape != Fixed:
		fail("audio.features.padding", "given with shape: %s, want shape: fixed, whose rows have one length", a.Shape)
	case a.Shape == Ragged && a.Layout != NLC && (a.Channels > 1 || a.Features != nil):
		fail("audio.shape", "got ragged with layout %s, want layout: NLC: rows that follow one another need time as their first dimension", a.Layout)
	case a.Features != nil && a.Features.Low >= a.top():
		fail("audio.features.f_min", "got %g, want less than f_max, which is %g", a.Features.Low, a.top())
	case a.clipsBytes(1) > math.MaxInt32:
		fail("audio.length", "got %d samples of %d channels, want less than 2 GiB a row", a.Length, a.Channels)
	}
}

type canonicalAudio struct {
	From        []string    `json:"from,omitempty"`
	Rate        int         `json:"rate"`
	Channels    int         `json:"channels"`
	Select      []int       `json:"select,omitempty"`
	Channel     string      `json:"select_column,omitempty"`
	Length      int         `json:"length"`
	Shape       Cut         `json:"shape"`
	Crop        string      `json:"crop"`
	StartNs     int64       `json:"start_ns,omitempty"`
	LastsNs     int64       `json:"lasts_ns,omitempty"`
	StartColumn string      `json:"start_column,omitempty"`
	LastsColumn string      `json:"lasts_column,omitempty"`
	EndColumn   string      `json:"end_column,omitempty"`
	Of          string      `json:"of,omitempty"`
	Filter      string      `json:"filter,omitempty"`
	Speed       []float64   `json:"speed,omitempty"`
	Resample    Resample    `json:"resample"`
	Noise       *Noise      `json:"noise,omitempty"`
	Reverb      *Reverb     `json:"reverb,omitempty"`
	Normalize   *Normalized `json:"normalize,omitempty"`
	Gain        *Gain       `json:"gain,omitempty"`
	Inversion   float64     `json:"polarity_inversion,omitempty"`
	PreEmphasis float64     `json:"pre_emphasis,omitempty"`
	Features    *Features   `json:"features,omitempty"`
	Raw         *Raw        `json:"raw,omitempty"`
	DType       string      `json:"dtype"`
	Layout      string      `json:"layout"`
	MaxFrames   int64       `json:"max_frames"`
}

func (a *Audio) canonical() *canonicalAudio {
	if a == nil {
		return nil
	}
	c := &canonicalAudio{
		From: a.From, Rate: a.Rate, Channels: a.Channels, Select: a.Select, Channel: a.Channel, Length: a.Length, Shape: a.Shape, Crop: a.Crop,
		StartNs: int64(a.Window.Start), LastsNs: int64(a.Window.Duration), StartColumn: a.Window.StartColumn, LastsColumn: a.Window.DurationColumn, EndColumn: a.Window.EndColumn, Of: a.Window.Of, Filter: a.Filter, Speed: a.Speed, Resample: a.Resample,
		Noise: a.Noise, Reverb: a.Reverb, Gain: a.Gain, Inversion: a.Inversion, PreEmphasis: a.PreEmphasis, Features: a.Features, Raw: a.Raw,
		DType: a.DType.String(), Layout: a.Layout, MaxFrames: a.MaxFrames,
	}
	if a.Normalize.To != "" {
		c.Normalize = &a.Normalize
	}
	return c
}
