package audio

import "math"

// The log-mel spectrogram of Whisper (Radford et al., 2022): what whisper.log_mel_spectrogram and Hugging Face's WhisperFeatureExtractor make
// of a sound at 16 kHz. The row is first filled up with silence to its length, 30 seconds for Whisper; spectra of 400 points a hop of 160
// apart, centred, without the last; 80 or 128 bands of the Slaney scale with Slaney's norm; log10(max(x, 1e-10)), held to 8 below the
// row's largest, and (x + 4) / 4 of that.
const (
	whisperRate  = 16000
	whisperFFT   = 400
	whisperHop   = 160
	whisperMels  = 80
	whisperRange = 8
	whisperShift = 4.0
)

// whisper fixes all that a Whisper's features have but their number of bands.
func (f *Features) whisper() {
	if f.Mels == 0 {
		f.Mels = whisperMels
	}
	f.FFT, f.Win, f.Hop, f.Magnitude, f.Inside, f.Unit = whisperFFT, whisperFFT, whisperHop, false, false, false
	f.Low, f.High, f.Scale, f.SlaneyNorm = 0, whisperRate/2, Slaney, true
	f.Silence, f.Padding = true, 0
}

// whisperBands is librosa's filters.mel, which Whisper's repository stores: in doubles, rounded once. Float32's roundings show in the weight of a
// bin at a triangle's foot (bands).
func (f *Features) whisperBands() (b filterbank) {
	hz := func(point int) float64 {
		mel := f.Scale.mel(whisperRate/2) * float64(point) / float64(f.Mels+1)
		if knee := slaneyKnee / slaneyStep; mel >= knee {
			return slaneyKnee * math.Exp((mel-knee)*math.Log(6.4)/slaneyTurns)
		}
		return mel * slaneyStep
	}
	weights := make([]float32, f.FFT/2+1)
	for m := range f.Mels {
		low, mid, high := hz(m), hz(m+1), hz(m+2)
		for k := range weights {
			at := float64(k) * whisperRate / whisperFFT
			weights[k] = float32(min((at-low)/(mid-low), (high-at)/(high-mid)) * 2 / (high - low))
		}
		b.add(weights)
	}
	return b
}

func checkWhisper(rate, channels int) error {
	if rate != whisperRate {
		return wrong("rate", "got %d Hz with features of kind whisper, want %d", rate, whisperRate)
	}
	if channels > 1 {
		return wrong("channels", "got %d with features of kind whisper, want 1", channels)
	}
	return nil
}
