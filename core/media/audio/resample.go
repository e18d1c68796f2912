package audio

import (
	"fmt"
	"math"
	"sync"
)

// Method is a way to change the sampling rate.
type Method uint8

const (
	SincHann   Method = iota // torchaudio's sinc_interp_hann
	SincKaiser               // torchaudio's sinc_interp_kaiser
	SWResample               // FFmpeg's libswresample with its defaults
	SoxrHQ                   // libsoxr's high quality, which librosa resamples by: python-soxr's HQ
)

// Resample has the parameters of torchaudio.functional.resample; zero values are its defaults.
type Resample struct {
	Method  Method
	Width   int     // zero crossings on each side; 0: 6
	Rolloff float64 // of the Nyquist frequency; 0: 0.99
	Beta    float64 // of the Kaiser window; 0: 14.769656459379492
	Doubles bool    // whether filters are computed in doubles, as torchaudio.transforms.Resample does, and functional.resample not
}

// Limits of a filter bank: its phases times its taps, as floats.
const (
	maxWidth    = 1024
	maxBankTaps = 1 << 22
	maxBanks    = 16 // kept by an Op for each speed: the rates that its samples come in
)

// ofWhole says whether a library resamples a window, which has to be there as a whole.
func (m Method) ofWhole() bool { return m == SWResample || m == SoxrHQ }

func (r Resample) withDefaults() Resample {
	if r.Method.ofWhole() {
		return r
	}
	if r.Width == 0 {
		r.Width = 6
	}
	if r.Rolloff == 0 {
		r.Rolloff = 0.99
	}
	if r.Beta == 0 {
		r.Beta = 14.769656459379492
	}
	return r
}

func (r Resample) check() error {
	if r.Method > SoxrHQ {
		return wrong("resample.method", "%d is not one of the named values", r.Method)
	}
	if r.Width < 0 || r.Width > maxWidth {
		return wrong("resample.width", "got %d, want 1 to %d", r.Width, maxWidth)
	}
	if !(r.Rolloff >= 0 && r.Rolloff <= 1) {
		return wrong("resample.rolloff", "got %v, want above 0, at most 1", r.Rolloff)
	}
	if !(r.Beta >= 0 && r.Beta <= 100) {
		return wrong("resample.beta", "got %v, want above 0, at most 100", r.Beta)
	}
	if r.Method.ofWhole() && r != (Resample{Method: r.Method}) {
		return wrong("resample", "width, rolloff and beta belong to the sinc methods, got %+v", r)
	}
	return nil
}

// bank is torchaudio's filter for one pair of rates, phase by phase: phase p makes outputs p, p + phases, ... of the
// padded signal. torchaudio's kernels run over width + step + width inputs; only the 2 * width + 1 of a phase that its
// window reaches are kept here, starting at input start[p].
type bank struct {
	step, phases int // both rates over their greatest common divisor
	width        int // zeros before the signal
	taps         int // per phase, a multiple of 8
	k            []float32
	start        []int32
}

// out is the length of n frames resampled: n * phases / step, rounded up.
func (b *bank) out(n int64) int64 { return (n*int64(b.phases) + int64(b.step) - 1) / int64(b.step) }

// newBank is for from != to. Taps are those of torchaudio.functional.resample, or, doubles, those that torchaudio.transforms makes. Where
// the phases are thousands the two are 5e-4 apart.
func newBank(from, to int, r Resample, doubles bool) (*bank, error) {
	g := gcd(from, to)
	b := &bank{step: from / g, phases: to / g}
	base := float64(min(b.step, b.phases)) * r.Rolloff
	reach := float64(r.Width) * float64(b.step) / base
	b.width = int(math.Ceil(reach))
	b.taps = (2*b.width + 1 + 7) / 8 * 8
	if b.phases*b.taps > maxBankTaps {
		return nil, fmt.Errorf("%d to %d Hz needs %d filters of %d taps, want at most %d taps in all; take a rate with a common divisor, or swresample",
			from, to, b.phases, b.taps, maxBankTaps)
	}
	b.k = make([]float32, b.phases*b.taps)
	b.start = make([]int32, b.phases)
	for p := range b.phases {
		centre := float64(p) * float64(b.step) / float64(b.phases)
		first := max(int(math.Ceil(centre-reach)), -b.width)
		b.start[p] = int32(first + b.width)
		for i := 0; i < 2*b.width+1 && first+i < b.width+b.step; i++ {
			if doubles {
				b.k[p*b.taps+i] = r.doubleTap(b, p, first+i, base)
			} else {
				b.k[p*b.taps+i] = r.tap(b, p, first+i, base)
			}
		}
	}
	return b, nil
}

// tap is the value of torchaudio's kernel of phase p at input i, in its order of float32 operations.
func (r Resample) tap(b *bank, p, i int, base float64) float32 {
	width := float32(r.Width)
	t := float32(float32(-p)/float32(b.phases)) + float32(float32(i)/float32(b.step))
	t = float32(t * float32(base))
	t = max(-width, min(width, t))
	window := r.window(t, width)
	t = float32(t * float32(math.Pi))
	k := float32(1)
	if t != 0 {
		k = float32(math.Sin(float64(t))) / t
	}
	return float32(k * float32(window*float32(base/float64(b.step))))
}

func (r Resample) window(t, width float32) float32 {
	if r.Method == SincHann {
		c := float32(math.Cos(float64(float32(float32(float32(t*float32(math.Pi))/width) / 2))))
		return float32(c * c)
	}
	x := float32(t / width)
	beta := float32(r.Beta)
	root := float32(math.Sqrt(float64(float32(1 - float32(x*x)))))
	return float32(bessel0(float64(float32(beta*root)))) / float32(bessel0(float64(beta)))
}

// doubleTap is tap as torchaudio.transforms computes it: in doubles but for the phase's share.
func (r Resample) doubleTap(b *bank, p, i int, base float64) float32 {
	width := float64(r.Width)
	t := (float64(float32(-p)/float32(b.phases)) + float64(i)/float64(b.step)) * base
	t = max(-width, min(width, t))
	window := math.Cos(t * math.Pi / width / 2)
	window *= window
	if r.Method == SincKaiser {
		window = bessel0(r.Beta*math.Sqrt(1-t/width*(t/width))) / bessel0(r.Beta)
	}
	k := 1.0
	if t != 0 {
		k = math.Sin(t*math.Pi) / (t * math.Pi)
	}
	return float32(k * window * base / float64(b.step))
}

// bessel0 is the modified Bessel function of the first kind and order 0, by its power series.
func bessel0(x float64) float64 {
	sum, term, q := 1.0, 1.0, x*x/4
	for k := 1.0; term > sum*1e-17; k++ {
		term *= q / (k * k)
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// banks keeps the filters of the rates that samples came in, at whatever speed. Workers share it.
type banks struct {
	most int // that are kept

	mu   sync.Mutex
	kept map[bankOf]*bank
	taps int // of all that are kept
}

// bankOf is what an Op's banks differ in.
type bankOf struct {
	from    int // the rate resampled from
	doubles bool
}

// get makes the bank at most once for rates that come often: above most, and above maxBanks of the largest, those that are kept make room.
func (s *banks) get(of bankOf, to int, r Resample) (*bank, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.kept[of]; b != nil {
		return b, nil
	}
	b, err := newBank(of.from, to, r, of.doubles)
	if err != nil {
		return nil, err
	}
	if s.kept == nil {
		s.kept = map[bankOf]*bank{}
	}
	for other, old := range s.kept {
		if len(s.kept) < s.most && s.taps+len(b.k) <= maxBanks*maxBankTaps {
			break
		}
		delete(s.kept, other)
		s.taps -= len(old.k)
	}
	s.kept[of] = b
	s.taps += len(b.k)
	return b, nil
}
