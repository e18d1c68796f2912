package audio

import "math"

// filterbank holds the bins of each band that have a weight.
type filterbank struct {
	first, count []int32
	weight       []float32
}

// bands is torchaudio's melscale_fbanks in its float32 arithmetic: a band of one bin at a triangle's foot has a weight
// in which its roundings show.
func (f *Features) bands(rate int) filterbank {
	switch f.Kind {
	case Fbank:
		return f.fbankBands(rate)
	case Whisper:
		return f.doubleBands(rate)
	}
	if f.Doubles {
		return f.doubleBands(rate)
	}
	bins := linspace(0, float64(rate/2), f.FFT/2+1)
	points := linspace(f.Scale.mel(f.Low), f.Scale.mel(f.High), f.Mels+2)
	for i, m := range points {
		points[i] = f.Scale.hz(m)
	}
	var b filterbank
	weights := make([]float32, len(bins))
	for m := range f.Mels {
		low, mid, high := points[m], points[m+1], points[m+2]
		norm := float32(1)
		if f.SlaneyNorm {
			norm = 2 / float32(high-low)
		}
		for k, hz := range bins {
			up, down := float32(hz-low)/float32(mid-low), float32(high-hz)/float32(high-mid)
			weights[k] = float32(min(up, down) * norm)
		}
		b.add(weights)
	}
	return b
}

// doubleBands is librosa's filters.mel, which Whisper's repository stores, too: in doubles, rounded once. Float32's roundings show in the weight of a
// bin at a triangle's foot (bands).
func (f *Features) doubleBands(rate int) (b filterbank) {
	low, high := f.Scale.mel(f.Low), f.Scale.mel(f.High)
	hz := func(point int) float64 {
		return f.Scale.doubleHz(low + (high-low)*float64(point)/float64(f.Mels+1))
	}
	weights := make([]float32, f.FFT/2+1)
	for m := range f.Mels {
		low, mid, high, norm := hz(m), hz(m+1), hz(m+2), 1.0
		if f.SlaneyNorm {
			norm = 2 / (high - low)
		}
		for k := range weights {
			at := float64(k) * float64(rate) / float64(f.FFT)
			weights[k] = float32(min((at-low)/(mid-low), (high-at)/(high-mid)) * norm)
		}
		b.add(weights)
	}
	return b
}

// add appends a band that has these weights, where they are above 0.
func (b *filterbank) add(weights []float32) {
	first, count := len(weights), 0
	for k, v := range weights {
		if v > 0 {
			first, count = min(first, k), count+1
			b.weight = append(b.weight, v)
		}
	}
	b.first, b.count = append(b.first, int32(min(first, len(weights)-1))), append(b.count, int32(count))
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

func (s Scale) doubleHz(mel float64) float64 {
	if s == HTK {
		return 700 * (math.Pow(10, mel/2595) - 1)
	}
	if knee := slaneyKnee / slaneyStep; mel >= knee {
		return slaneyKnee * math.Exp((mel-knee)*math.Log(6.4)/slaneyTurns)
	}
	return mel * slaneyStep
}

// dct is the orthonormal DCT-II, a coefficient a row: torchaudio's create_dct, whose angles are float32, or in doubles, as SciPy's.
func dct(coefficients, mels int, doubles bool) []float32 {
	d := make([]float32, coefficients*mels)
	if doubles {
		for k := range coefficients {
			scale := math.Sqrt(2 / float64(mels))
			if k == 0 {
				scale = math.Sqrt(1 / float64(mels))
			}
			for n := range mels {
				d[k*mels+n] = float32(scale * math.Cos(math.Pi*float64(k)*(float64(n)+0.5)/float64(mels)))
			}
		}
		return d
	}
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
