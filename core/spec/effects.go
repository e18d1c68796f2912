package spec

import "fmt"

const (
	minSpeed    = 0.1
	maxSpeed    = 10
	maxSpeeds   = 16
	maxDecibels = 100
	defaultKept = 256 << 20
)

// The values of Noise.Color.
const (
	White = "white"
	Pink  = "pink"
	Brown = "brown"
)

// Gain is a number of decibels that is drawn.
type Gain struct {
	DB [2]float64 `json:"db"`
	P  float64    `json:"p"`
}

// Noise is added at a ratio that is drawn.
type Noise struct {
	SNR   [2]float64 `json:"snr_db"`
	P     float64    `json:"p"`
	Color string     `json:"color"` // "": that of From
	SoundFiles
}

// Reverb is one of many rooms, by their impulse responses.
type Reverb struct {
	P float64 `json:"p"`
	SoundFiles
}

// SoundFiles are a second data set.
type SoundFiles struct {
	From      string `json:"from,omitempty"` // a folder of sounds or a list of them, as it was written; "": none
	Path      string `json:"-"`              // where that is
	KeptBytes int64  `json:"-"`              // of decoded sounds, in memory
}

// effects reads what changes a waveform.
func (d *decoder) effects(s *section, a *Audio) {
	if s.has("speed") {
		sec := d.below(s, "speed")
		a.Speed = d.speeds(&sec)
		if d.err == nil && a.Speed == nil {
			s.fail("speed", "factors is missing, want the speeds of which each sample draws one, such as factors: [0.9, 1.0, 1.1]")
		}
	}
	if s.has("reverb") {
		a.Reverb = &Reverb{P: 1}
		sec := d.below(s, "reverb")
		if d.err == nil && !sec.has("from") {
			s.fail("reverb", "from is missing, want a folder of impulse responses, or a list of them")
		}
		sec.number("p", &a.Reverb.P, 0, 1)
		d.sounds(&sec, &a.Reverb.SoundFiles)
	}
	if s.has("noise") {
		a.Noise = &Noise{P: 1, Color: White}
		sec := d.below(s, "noise")
		if sec.has("from") {
			if sec.has("color") {
				sec.fail("color", "given beside from, whose sounds are as they are; leave one of them out")
			}
			a.Noise.Color = ""
			d.sounds(&sec, &a.Noise.SoundFiles)
		} else if sec.has("memory_bytes") {
			sec.fail("memory_bytes", "given without from, whose sounds it keeps; leave it out")
		}
		d.decibels(&sec, "snr_db", "snr_db: [10, 30]", &a.Noise.SNR)
		sec.number("p", &a.Noise.P, 0, 1)
		choice(&sec, "color", &a.Noise.Color, White, Pink, Brown)
	}
	if s.has("gain") {
		a.Gain = &Gain{P: 1}
		sec := d.below(s, "gain")
		d.decibels(&sec, "db", "db: [-6, 6]", &a.Gain.DB)
		sec.number("p", &a.Gain.P, 0, 1)
	}
	s.number("polarity_inversion", &a.Inversion, 0, 1)
	s.number("pre_emphasis", &a.PreEmphasis, 0, 1)
}

// sounds reads where a second data set is.
func (d *decoder) sounds(s *section, to *SoundFiles) {
	to.KeptBytes = defaultKept
	text := ""
	s.text("from", &text)
	name, err := Located(text)
	if d.err == nil && (err != nil || isURL(name)) {
		s.fail("from", "got %.80q, want a folder or a list of sounds on this machine; copy them there", text)
	}
	to.From, to.Path = resolve(name, d.dir)
	s.size("memory_bytes", &to.KeptBytes)
}

func (d *decoder) speeds(s *section) (all []float64) {
	items := s.items("factors", "a list of speeds such as [0.9, 1.0, 1.1]", maxSpeeds)
	for i, n := range items {
		f, _ := d.number(n, fmt.Sprintf("%s[%d]", join(s.shown, "factors"), i), minSpeed, maxSpeed)
		all = append(all, f)
	}
	return all
}

// decibels reads [low, high] of a key that has to be there.
func (d *decoder) decibels(s *section, key, such string, to *[2]float64) {
	if d.err == nil && !s.has(key) {
		d.failAt(s.place, "%s is missing, want what is drawn from, in decibels, such as %s", key, such)
	}
	d.interval(s, key, to, -maxDecibels, maxDecibels)
}

// random reports whether rows are drawn by chance.
func (a *Audio) random() bool {
	return a.Crop == Random || len(a.Speed) > 1 || a.Reverb != nil && a.Reverb.P > 0 || a.Noise != nil && a.Noise.P > 0 || a.Gain != nil && a.Gain.random() || chance(a.Inversion) ||
		a.Features != nil && (a.Features.FrequencyMask != nil || a.Features.TimeMask != nil)
}

func (g *Gain) random() bool { return chance(g.P) || g.P > 0 && g.DB[0] != g.DB[1] }

// chance reports whether what has this probability may happen or not.
func chance(p float64) bool { return p > 0 && p < 1 }
