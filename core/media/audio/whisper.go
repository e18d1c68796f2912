package audio

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

func checkWhisper(rate, channels int) error {
	if rate != whisperRate {
		return wrong("rate", "got %d Hz with features of kind whisper, want %d", rate, whisperRate)
	}
	if channels > 1 {
		return wrong("channels", "got %d with features of kind whisper, want 1", channels)
	}
	return nil
}
