package spec

const (
	maxSpectrum = 1 << 16
	maxMels     = 4096
)

// The words in Features.
const (
	Spectrogram = "spectrogram"
	Mel         = "mel"
	MFCC        = "mfcc"

	HTK    = "htk"
	Slaney = "slaney"

	None       = "none"
	Decibel    = "db"
	NaturalLog = "ln"
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
}

func (d *decoder) features(s *section) *Features {
	f := &Features{FFT: 400, Power: 2, Centered: true, Mels: 128, Scale: HTK, Norm: None, Log: None, Count: 40}
	sec := d.below(s, "features")
	choice(&sec, "kind", &f.Kind, Spectrogram, Mel, MFCC)
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
	choice(&sec, "log", &f.Log, None, Decibel, NaturalLog)
	sec.number("top_db", &f.TopDB, 1e-3, 1e6)
	whole(&sec, "n_mfcc", &f.Count, 1, maxMels)
	switch {
	case d.err != nil:
	case f.Kind == "":
		s.fail("features", "kind is missing, want spectrogram, mel or mfcc")
	case f.Kind != MFCC && sec.has("n_mfcc"):
		sec.fail("n_mfcc", "goes with kind: mfcc")
	case f.Kind == Spectrogram && (sec.has("n_mels") || sec.has("f_min") || sec.has("f_max") || sec.has("mel_scale") || sec.has("norm")):
		s.fail("features", "n_mels, f_min, f_max, mel_scale and norm go with kind: mel or mfcc, got kind: spectrogram")
	}
	return f
}

// top is the highest frequency of features.
func (a *Audio) top() float64 {
	if a.Features.High > 0 {
		return a.Features.High
	}
	return float64(a.Rate) / 2
}
