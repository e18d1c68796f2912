package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// wavBytes is a WAV file: the format's tag, the container's bits, the samples as they lie.
func wavBytes(tag, channels, rate, bits int, data []byte) []byte {
	var b bytes.Buffer
	put := func(v any) { binary.Write(&b, binary.LittleEndian, v) }
	block := channels * bits / 8
	b.WriteString("RIFF")
	put(uint32(36 + len(data)))
	b.WriteString("WAVEfmt ")
	put(uint32(16))
	put([]uint16{uint16(tag), uint16(channels)})
	put([]uint32{uint32(rate), uint32(rate * block)})
	put([]uint16{uint16(block), uint16(bits)})
	b.WriteString("data")
	put(uint32(len(data)))
	b.Write(data)
	return b.Bytes()
}

func bytesAs(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// noise is n reproducible samples in (-0.9, 0.9): a few tones and white noise.
func noise(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		t := float64(i)
		x[i] = float32(0.3*math.Sin(t*0.05+1) + 0.2*math.Sin(t*0.31) + 0.4*(2*r.Float64()-1))
	}
	return x
}

func floatWAV(rate int, x []float32) []byte { return wavBytes(tagFloat, 1, rate, 32, bytesAs(x)) }

// decoded is the row of one sample as floats, made on every instruction set, which must agree bit for bit.
func decoded(t *testing.T, cfg Config, src Source, draw Draw) ([]float32, Info) {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	row, info := decodedBy(t, op, nil, src, draw)
	portable, _ := decodedBy(t, op, &Options{Portable: true}, src, draw)
	if !bytes.Equal(row, portable) {
		t.Fatalf("the portable kernels give another row")
	}
	if op.DType() == tensor.I16 {
		x := make([]float32, len(row)/2)
		for i := range x {
			x[i] = float32(int16(binary.LittleEndian.Uint16(row[2*i:])))
		}
		return x, info
	}
	x := make([]float32, len(row)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
	}
	return x, info
}

// workerOf is a worker of a new op, which the caller closes.
func workerOf(t testing.TB, cfg Config) *Worker {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, err := op.NewWorker()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// wantNamed fails for an error without a cause.
func wantNamed(t testing.TB, what string, err error) {
	t.Helper()
	var named interface{ Cause() string }
	if err != nil && (!errors.As(err, &named) || named.Cause() == "") {
		t.Fatalf("%s: an error without a cause: %v", what, err)
	}
}

// windowsAreTheWholes says that windows of a sound, drawn by r, are bit for bit what the whole, which w has just made, has there.
func windowsAreTheWholes(t *testing.T, w *Worker, r *rand.Rand, data []byte, whole Wave) {
	t.Helper()
	want, hertz := slices.Clone(whole.Data), float64(whole.Rate)
	for range 20 {
		from, n := r.IntN(whole.Frames-1), 1+r.IntN(3000)
		got, _, err := w.Wave(Source{Bytes: data, Window: Window{Start: float64(from) / hertz, Duration: float64(n) / hertz}}, Draw{})
		if n = min(n, whole.Frames-from); err != nil || got.Frames != n {
			t.Fatalf("%d Hz: %d frames from %d, want %d: %v", whole.Rate, got.Frames, from, n, err)
		}
		for c := range got.Channels {
			compare(t, got.Data[c*n:][:n], want[c*whole.Frames+from:][:n], 0)
		}
	}
}

// channelsAreTheirOwn says that a channel of two alone is what it is beside the other, in whatever order, and that their mean is the mean of both.
func channelsAreTheirOwn(t *testing.T, data []byte) Info {
	t.Helper()
	both, info := wave(t, Config{}, data)
	n := len(both) / 2
	mean := make([]float32, n)
	for i := range mean {
		mean[i] = (both[i] + both[n+i]) / 2
	}
	got, _ := wave(t, Config{Channels: 1}, data)
	compare(t, got, mean, 2e-6*float64(max(1, peakOf(both))))
	for c := range 2 {
		got, _ := wave(t, Config{Select: []int{c}}, data)
		compare(t, got, both[c*n:][:n], 0)
	}
	turned, _ := wave(t, Config{Select: []int{1, 0, 1}}, data)
	compare(t, turned, slices.Concat(both[n:], both[:n], both[n:]), 0)
	twice, _ := wave(t, Config{Select: []int{1, 1}, Channels: 1}, data)
	compare(t, twice, both[n:], 0)
	return info
}

// damagedIsNamed cuts a file and flips its bits: whatever comes of it is a sound, or an error with a cause.
func damagedIsNamed(t *testing.T, data []byte, cfgs ...Config) {
	t.Helper()
	for _, cfg := range cfgs {
		w := workerOf(t, cfg)
		try := func(what string, bad []byte) {
			_, _, err := w.Wave(Source{Bytes: bad}, Draw{})
			wantNamed(t, what, err)
		}
		n := damage.Count(300)
		damage.Cuts(data, n, try)
		damage.Flips(data, n, try)
		w.Close()
	}
}

// fuzzSounds: no bytes crash a decoder, what fails has a cause, and every instruction set gives the same samples. The file that is
// decoded is what made, where it is given, makes of the bytes.
func fuzzSounds(f *testing.F, made ...func([]byte) []byte) {
	var workers [][2]*Worker
	for _, cfg := range []Config{{MaxFrames: 1 << 20}, {MaxFrames: 1 << 20, Channels: 1, Rate: 16000, Length: 500, Crop: CropCentre}} {
		op, err := Compile(cfg)
		if err != nil {
			f.Fatal(err)
		}
		portable, err := op.NewWorkerWith(&Options{Portable: true})
		if err != nil {
			f.Fatal(err)
		}
		workers = append(workers, [2]*Worker{workerOf(f, cfg), portable})
	}
	same := func(a, b float32) bool { return a == b || a != a && b != b }
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range made {
			b = m(b)
		}
		for _, pair := range workers {
			got, _, err := pair[0].Wave(Source{Bytes: b}, Draw{})
			wantNamed(t, "fuzzed", err)
			want, _, other := pair[1].Wave(Source{Bytes: b}, Draw{})
			if (err == nil) != (other == nil) || !slices.EqualFunc(got.Data, want.Data, same) {
				t.Fatalf("the portable kernels give something else: %v, %v", err, other)
			}
		}
	})
}

func decodedBy(t *testing.T, op *Op, o *Options, src Source, draw Draw) ([]byte, Info) {
	t.Helper()
	w, err := op.NewWorkerWith(o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	row := bytes.Repeat([]byte{0xa5}, op.RowBytes())
	info, err := w.Decode(Row{Data: row}, src, draw)
	if err != nil {
		t.Fatal(err)
	}
	return row, info
}

func compare(t *testing.T, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d values, want %d", len(got), len(want))
	}
	worst, at := 0.0, 0
	for i := range got {
		d := math.Abs(float64(got[i]) - float64(want[i]))
		if math.IsNaN(d) || d > worst {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Fatalf("value %d: got %v, want %v: %.3g apart, at most %.3g is right", at, got[at], want[at], worst, tolerance)
	}
}

// resampleReference is torchaudio's resample as written there, every kernel whole, in float64 but for the kernel's t.
func resampleReference(x []float32, from, to int, r Resample) []float32 {
	r = r.withDefaults()
	g := gcd(from, to)
	from, to = from/g, to/g
	base := float64(min(from, to)) * r.Rolloff
	width := int(math.Ceil(float64(r.Width) * float64(from) / base))
	n := (len(x)*to + from - 1) / from
	y := make([]float32, n)
	for j := range y {
		phase, block := j%to, j/to
		sum := 0.0
		for i := -width; i < width+from; i++ {
			at := block*from + i
			if at < 0 || at >= len(x) {
				continue
			}
			t := float64((float32(-phase)/float32(to) + float32(i)/float32(from)) * float32(base))
			t = max(-float64(r.Width), min(float64(r.Width), t))
			window := math.Pow(math.Cos(t*math.Pi/float64(r.Width)/2), 2)
			if r.Method == SincKaiser {
				window = bessel0(r.Beta*math.Sqrt(1-t*t/float64(r.Width*r.Width))) / bessel0(r.Beta)
			}
			k := 1.0
			if t != 0 {
				k = math.Sin(math.Pi*t) / (math.Pi * t)
			}
			sum += float64(x[at]) * k * window * base / float64(from)
		}
		y[j] = float32(sum)
	}
	return y
}
