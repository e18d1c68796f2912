package audio

import "math"

// Kaldi's filter bank, as torchaudio.compliance.kaldi.fbank makes it of a sound without dither: frames of 25 ms every 10 ms, those that lie
// wholly inside (snip_edges), unless they are Mirrored; of each frame the mean is taken off, it is pre-emphasised by 0.97 and windowed, and zeros fill it up to a power
// of two; triangles of the HTK scale, in which they are also straight, from Low to High; ln(max(x, 2^-23)).
const (
	fbankMels        = 80
	fbankLow         = 20
	fbankEmphasis    = 0.97
	fbankFloor       = 1.0 / (1 << 23)
	fbankBlock       = 64      // frames that are prepared at a time
	fbankInt16       = 1 << 15 // what a sample of 1 is to Kaldi
	fbankMillisecond = 0.001
)

// WindowType is the window of a filter bank's frames.
type WindowType uint8

const (
	Povey WindowType = iota // Hann's to the power of 0.85
	Hanning
	Hamming
)

// fbank fills in what a filter bank's features leave open at a rate, and all that is not theirs to say.
func (f *Features) fbank(rate int) {
	if f.Win == 0 {
		f.Win = int(float64(rate) * 25 * fbankMillisecond)
	}
	if f.Hop == 0 {
		f.Hop = int(float64(rate) * 10 * fbankMillisecond)
	}
	for f.FFT = 2; f.FFT < f.Win; f.FFT *= 2 {
	}
	if f.Mels == 0 {
		f.Mels = fbankMels
	}
	if f.Low == 0 {
		f.Low = fbankLow
	}
	if f.High == 0 {
		f.High = float64(rate) / 2
	}
	f.Magnitude, f.Inside, f.Unit, f.Scale, f.SlaneyNorm = false, true, false, HTK, false
}

// fbankWindow is the window, which is symmetric, at the beginning of FFT points.
func (f *Features) fbankWindow() []float32 {
	w := make([]float32, f.FFT)
	for i := range f.Win {
		turn := math.Cos(2 * math.Pi * float64(i) / float64(f.Win-1))
		v := 0.5 - 0.5*turn
		switch f.Window {
		case Povey:
			v = math.Pow(v, 0.85)
		case Hamming:
			v = 0.54 - 0.46*turn
		}
		w[i] = float32(v)
		if f.Int16 {
			w[i] *= fbankInt16
		}
	}
	return w
}

// fbankBands are torchaudio's get_mel_banks, in its float32 arithmetic. The bin of half the rate has no weight.
func (f *Features) fbankBands(rate int) (b filterbank) {
	mel := func(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
	low := float32(mel(f.Low))
	delta := float32((mel(f.High) - mel(f.Low)) / float64(f.Mels+1))
	mels := make([]float32, f.FFT/2)
	for k := range mels {
		hz := float32(float64(rate)/float64(f.FFT)) * float32(k)
		mels[k] = float32(1127 * float32(math.Log(float64(1+hz/700))))
	}
	weights := make([]float32, f.FFT/2+1)
	for m := range f.Mels {
		point := func(i int) float32 { return low + float32(float32(i)*delta) }
		left, middle, right := point(m), point(m+1), point(m+2)
		for k, at := range mels {
			weights[k] = min((at-left)/(middle-left), (right-at)/(right-middle))
		}
		b.add(weights)
	}
	return b
}

// frames prepares n frames of x from that number on, each at the beginning of FFT points of to: without their mean, and pre-emphasised.
func (f *Features) frames(to, x []float32, first int64, n int) {
	for i := range n {
		frame := to[i*f.FFT:][:f.FFT]
		from := f.frame(x, (first+int64(i))*int64(f.Hop), frame)
		sum := 0.0
		for _, v := range from {
			sum += float64(v)
		}
		mean := float32(sum / float64(f.Win))
		before := from[0] - mean
		for k, v := range from {
			v -= mean
			frame[k] = v - float32(fbankEmphasis*before)
			before = v
		}
		clear(frame[f.Win:])
	}
}

// frame is Win samples of x from `at` on, or from where that is of mirrored frames: where x has them, or in room.
func (f *Features) frame(x []float32, at int64, room []float32) []float32 {
	n, win := int64(len(x)), int64(f.Win)
	if f.Mirrored {
		at -= win/2 - int64(f.Hop)/2
	}
	if at >= 0 && at+win <= n {
		return x[at:][:win]
	}
	for k := range win {
		room[k] = x[mirrored(at+k, n)]
	}
	return room[:win]
}

// mirrored is the sample of n that stands at a place beyond them: they go on in turns backwards and forwards, the outermost ones twice.
func mirrored(at, n int64) int64 {
	at %= 2 * n
	if at < 0 {
		at += 2 * n
	}
	return min(at, 2*n-1-at)
}
