package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// bitsOut writes numbers of any number of bits.
type bitsOut struct {
	b []byte
	n int // bits of the last byte in use; 0: all of it
}

func (o *bitsOut) put(v uint64, k int) {
	for k--; k >= 0; k-- {
		if o.n == 0 {
			o.b = append(o.b, 0)
		}
		o.b[len(o.b)-1] |= byte(v>>k&1) << (7 - o.n)
		o.n = (o.n + 1) % 8
	}
}

func (o *bitsOut) zeros(n uint64) {
	for range n {
		o.put(0, 1)
	}
}

func (o *bitsOut) rice(v int64, k int) {
	u := uint64(v<<1) ^ uint64(v>>63)
	o.zeros(u >> k)
	o.put(1, 1)
	o.put(u, k)
}

// coder is how residuals are written: partitions, and of each a Rice parameter, or escaped.
type coder struct {
	partitions int // 2 to the power of it
	width      int // of a parameter: 4 or 5 bits
	k          int
	escaped    int // bits of every second partition; -1: none is
}

func (c coder) write(o *bitsOut, residual []int64, n, order int) {
	for n>>c.partitions < order {
		c.partitions--
	}
	o.put(uint64(c.width-4), 2)
	o.put(uint64(c.partitions), 4)
	each := n >> c.partitions
	for p := range 1 << c.partitions {
		part := residual[max(p*each-order, 0) : (p+1)*each-order]
		if c.escaped >= 0 && p%2 == 0 {
			o.put(1<<c.width-1, c.width)
			o.put(uint64(c.escaped), 5)
			for _, v := range part {
				o.put(uint64(v), c.escaped)
			}
			continue
		}
		o.put(uint64(c.k), c.width)
		for _, v := range part {
			o.rice(v, c.k)
		}
	}
}

// subframe writes a channel's samples, which have so many bits.
type subframe func(o *bitsOut, x []int64, bits int)

func verbatim(o *bitsOut, x []int64, bits int) {
	o.put(1<<1, 8)
	for _, v := range x {
		o.put(uint64(v), bits)
	}
}

func constant(o *bitsOut, x []int64, bits int) {
	o.put(0, 8)
	o.put(uint64(x[0]), bits)
}

func residualOf(x []int64, coef []int64, shift int) []int64 {
	var r []int64
	for i := len(coef); i < len(x); i++ {
		sum := int64(0)
		for j, c := range coef {
			sum += c * x[i-1-j]
		}
		r = append(r, x[i]-sum>>shift)
	}
	return r
}

func fixed(order int, c coder) subframe {
	return func(o *bitsOut, x []int64, bits int) {
		o.put(uint64(8+order)<<1, 8)
		for _, v := range x[:order] {
			o.put(uint64(v), bits)
		}
		coef := [][]int64{{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}}[order]
		c.write(o, residualOf(x, coef, 0), len(x), order)
	}
}

func predicted(coef []int64, precision, shift int, c coder) subframe {
	return func(o *bitsOut, x []int64, bits int) {
		o.put(uint64(31+len(coef))<<1, 8)
		for _, v := range x[:len(coef)] {
			o.put(uint64(v), bits)
		}
		o.put(uint64(precision-1), 4)
		o.put(uint64(shift), 5)
		for _, v := range coef {
			o.put(uint64(v), precision)
		}
		c.write(o, residualOf(x, coef, shift), len(x), len(coef))
	}
}

// wasting leaves out the k lowest bits of every sample.
func wasting(k int, inner subframe) subframe {
	return func(o *bitsOut, x []int64, bits int) {
		var short []int64
		for _, v := range x {
			short = append(short, v>>k)
		}
		var body bitsOut
		inner(&body, short, bits-k)
		o.put(uint64(body.b[0]|1), 8)
		o.zeros(uint64(k - 1))
		o.put(1, 1)
		for i := 8; i < 8*len(body.b); i++ {
			if i < 8*len(body.b)-(8-body.n)%8 {
				o.put(uint64(body.b[i/8]>>(7-i%8)&1), 1)
			}
		}
	}
}

// flacSound is what a FLAC says of itself.
type flacSound struct {
	rate, channels, bits int
	total                int64
	variable             bool
}

func (s flacSound) head(blocks ...[]byte) []byte {
	info := join(uint16(16), uint16(65535), make([]byte, 6), uint64(s.rate)<<44|uint64(s.channels-1)<<41|uint64(s.bits-1)<<36|uint64(s.total), make([]byte, 16))
	b := join("fLaC", uint32(34), info)
	for _, block := range blocks {
		b = append(b, block...)
	}
	return append(b, "\x81\x00\x00\x03abc"...)
}

// flacNumber is a number of at most 36 bits in as few bytes as it takes, the first of which has a one for each.
func flacNumber(n int64) []byte {
	if n < 0x80 {
		return []byte{byte(n)}
	}
	var behind []byte
	for bits := 6; ; bits-- {
		behind = append([]byte{0x80 | byte(n&0x3f)}, behind...)
		if n >>= 6; n < 1<<(bits-1) {
			return append([]byte{byte(0xff<<(bits)) | byte(n)}, behind...)
		}
	}
}

// coded is a frame of the channels x, as they are, or as a mode above 7 has them. number is that of the frame, or of its first sample.
func (s flacSound) coded(number int64, mode int, write subframe, x ...[]int64) []byte {
	n := len(x[0])
	rate, bits := 0, map[int]int{8: 1, 12: 2, 16: 4, 20: 5, 24: 6, 32: 7}[s.bits]
	if s.rate == 44100 {
		rate = 9
	}
	b := []byte{0xff, 0xf8, byte(7<<4 | rate), byte(mode<<4 | bits<<1)}
	if s.variable {
		b[1]++
	}
	b = append(append(b, flacNumber(number)...), byte((n-1)>>8), byte(n-1))
	b = append(b, byte(damage.CRC(b, 8, 0x07)))
	var o bitsOut
	for c, v := range x {
		wide := 0
		if mode == 9 && c == 0 || (mode == 8 || mode == 10) && c == 1 {
			wide = 1
		}
		write(&o, v, s.bits+wide)
	}
	b = append(b, o.b...)
	return append(b, big(uint16(damage.CRC(b, 16, 0x8005)))...)
}

// mixed is two channels as a mode has them.
func mixed(mode int, left, right []int64) (a, b []int64) {
	for i, l := range left {
		r := right[i]
		switch mode {
		case 8:
			a, b = append(a, l), append(b, l-r)
		case 9:
			a, b = append(a, l-r), append(b, r)
		case 10:
			a, b = append(a, (l+r)>>1), append(b, l-r)
		}
	}
	return a, b
}

// tone is n samples of so many bits, which reach their ends, with noise; all are multiples of 2^wasted.
func tone(seed uint64, n, bits, wasted int) []int64 {
	r, x, v := rand.New(rand.NewPCG(seed, 7)), make([]int64, n), int64(0)
	most := int64(1)<<(bits-1) - 1
	for i := range x {
		v += r.Int64N(most/8+2) - (most/8+1)/2
		v = max(-most-1, min(most, v))
		x[i] = v >> wasted << wasted
	}
	if n > 9 {
		x[n-1], x[n/2] = most>>wasted<<wasted, -most-1
	}
	return x
}

func floatsOfInts(bits int, x ...[]int64) []float32 {
	var y []float32
	for _, c := range x {
		for _, v := range c {
			y = append(y, float32(v)/float32(int64(1)<<(bits-1)))
		}
	}
	return y
}

// written is a file and what is in it.
type written struct {
	file []byte
	flacSound
	want []float32
}

// flacKinds is every kind of subframe, by every way of writing residuals, of samples that these can hold.
func flacKinds() map[string]func(bits int) (write subframe, wasted int) {
	coef := make([]int64, 32)
	for i := range coef {
		coef[i] = int64((i%3-1)*(20-i) + 3)
	}
	coef[0] = 900
	plain := func(bits int) coder { return coder{3, 5, max(bits-6, 0), -1} }
	kinds := map[string]func(bits int) (subframe, int){
		"verbatim":        func(int) (subframe, int) { return verbatim, 0 },
		"wasted verbatim": func(int) (subframe, int) { return wasting(2, verbatim), 2 },
		"wasted fixed":    func(bits int) (subframe, int) { return wasting(1, fixed(2, plain(bits))), 1 },
		"4-bit parameters": func(bits int) (subframe, int) {
			return fixed(1, coder{0, 4, min(max(bits-6, 0), 14), -1}), 0
		},
		"no parameter": func(bits int) (subframe, int) {
			return wasting(max(bits-4, 1), fixed(0, coder{2, 4, 0, -1})), max(bits-4, 1)
		},
		"escapes": func(bits int) (subframe, int) { return fixed(1, coder{4, 5, max(bits-6, 0), min(bits+1, 31)}), 0 },
		"short escapes": func(bits int) (subframe, int) {
			return predicted([]int64{1}, 2, 0, coder{1, 4, min(max(bits-6, 0), 14), min(bits+1, 31)}), 0
		},
		"one bit's coefficients": func(bits int) (subframe, int) { return predicted([]int64{-1}, 1, 3, plain(bits)), 0 },
	}
	for order := range 5 {
		kinds[fmt.Sprint("fixed ", order)] = func(bits int) (subframe, int) { return fixed(order, plain(bits)), 0 }
	}
	for order := 1; order <= 32; order++ {
		kinds[fmt.Sprint("predicted ", order)] = func(bits int) (subframe, int) { return predicted(coef[:order], 12, 10, plain(bits)), 0 }
		kinds[fmt.Sprint("predicted wide ", order)] = func(bits int) (subframe, int) {
			wide := slices.Clone(coef[:order])
			for i := range wide {
				wide[i] *= 13
			}
			return predicted(wide, 15, 14, plain(bits)), 0
		}
	}
	return kinds
}

// flacFiles is one file of three frames for every kind of subframe, depth and way of keeping channels. Residuals are held to 32 bits.
func flacFiles(depths ...int) map[string]written {
	files := map[string]written{}
	for kind, of := range flacKinds() {
		for _, bits := range depths {
			for _, mode := range []int{0, 1, 5, 7, 8, 9, 10} {
				s := flacSound{rate: 44100, channels: mode + 1, bits: bits, variable: mode%2 == 0}
				if mode > 7 {
					s.channels = 2
				}
				write, wasted := of(bits)
				if mode != 0 && mode != 10 && strings.HasPrefix(kind, "predicted ") || bits == 32 && strings.Contains(kind, "escapes") {
					continue
				}
				frames, all := []byte(nil), make([][]int64, s.channels)
				for f := range 3 {
					n := 4 * 16 * (1 + f%2)
					if !s.variable {
						n = 64
					}
					x := make([][]int64, s.channels)
					for c := range x {
						x[c] = tone(uint64(c+10*f), n, bits, wasted)
						if bits == 32 { // whose residuals would be more
							for i := range x[c] {
								x[c][i] = x[c][i] / 64 >> wasted << wasted
							}
						}
						all[c] = append(all[c], x[c]...)
					}
					number := int64(f)
					if s.variable {
						number = s.total
					}
					if mode > 7 {
						x[0], x[1] = mixed(mode, x[0], x[1])
						for c := range x {
							if wasted > 0 && slices.ContainsFunc(x[c], func(v int64) bool { return v&(1<<wasted-1) != 0 }) {
								write, _ = flacKinds()["fixed 1"](bits)
							}
						}
					}
					frames = append(frames, s.coded(number, mode, write, x...)...)
					s.total += int64(n)
				}
				files[fmt.Sprintf("%s, %d bits, mode %d", kind, bits, mode)] = written{append(s.head(), frames...), s, floatsOfInts(bits, all...)}
			}
		}
	}
	// Samples of the whole range, in the widest of sides.
	s := flacSound{rate: 8000, channels: 2, bits: 32, total: 256}
	for mode := 8; mode <= 10 && slices.Contains(depths, 32); mode++ {
		l, r := tone(1, 256, 32, 0), tone(2, 256, 32, 0)
		l[3], r[3], l[4], r[4] = 1<<31-1, -1<<31, -1<<31, 1<<31-1
		a, b := mixed(mode, l, r)
		files[fmt.Sprint("the widest side, mode ", mode)] = written{append(s.head(), s.coded(0, mode, verbatim, a, b)...), s, floatsOfInts(32, l, r)}
	}
	still := flacSound{rate: 768000, channels: 1, bits: 13, total: 64}
	x := slices.Repeat([]int64{-4096}, 64)
	files["constant"] = written{append(still.head(), still.coded(0, 0, constant, x)...), still, floatsOfInts(13, x)}
	files["wasted constant"] = written{append(still.head(), still.coded(0, 0, wasting(12, constant), x)...), still, floatsOfInts(13, x)}
	return files
}

// Every kind of subframe gives the samples that went in, of 4 to 32 bits, of channels by themselves and in every stereo mode.
func TestEveryFLACSubframeGivesItsSamples(t *testing.T) {
	for name, f := range flacFiles(4, 8, 13, 16, 20, 24, 32) {
		t.Run(name, func(t *testing.T) {
			got, info := decoded(t, Config{Channels: f.channels, Length: int(f.total)}, Source{Bytes: f.file}, Draw{})
			compare(t, got, f.want, 0)
			if want := (Info{Format: "flac", Rate: f.rate, Channels: f.channels, Frames: f.total, Samples: int(f.total)}); info != want {
				t.Errorf("got %+v, want %+v", info, want)
			}
		})
	}
}

// i16 rows of 16-bit FLAC are its samples.
func TestFLACsOf16BitsAreI16RowsAsTheyAre(t *testing.T) {
	x := tone(3, 100, 16, 0)
	s := flacSound{rate: 8000, channels: 1, bits: 16, total: 100}
	got, _ := decoded(t, Config{Channels: 1, Length: 100, DType: tensor.I16}, Source{Bytes: append(s.head(), s.coded(0, 0, verbatim, x)...)}, Draw{})
	for i, v := range x {
		if got[i] != float32(v) {
			t.Fatalf("sample %d is %v, want %d", i, got[i], v)
		}
	}
}

// longFLAC is n frames of 1000 samples, 3.5 KB each; where each begins.
func longFLAC(n int, variable, counted bool) (s written, starts []int) {
	s.flacSound = flacSound{rate: 1000, channels: 2, bits: 16, total: int64(n) * 1000, variable: variable}
	l, r := tone(5, n*1000, 16, 0), tone(6, n*1000, 16, 0)
	s.want = floatsOfInts(16, l, r)
	head := s.flacSound
	if !counted {
		head.total = 0
	}
	s.file = head.head(bigBlock(4, make([]byte, 100)))
	for i := range n {
		number := int64(i)
		if variable {
			number *= 1000
		}
		starts = append(starts, len(s.file))
		s.file = append(s.file, s.coded(number, 1, fixed(1, coder{0, 5, 11, -1}), l[i*1000:][:1000], r[i*1000:][:1000])...)
	}
	return s, starts
}

// bigBlock is one of FLAC's metadata.
func bigBlock(kind byte, body []byte) []byte {
	return append(big(uint32(kind)<<24|uint32(len(body))), body...)
}

// part is both channels of samples [from, to).
func (s *written) part(from, to int64) []float32 {
	return append(slices.Clone(s.want[from:to]), s.want[s.total+from:s.total+to]...)
}

// Every window is that part of the whole, whether frames are numbered by themselves or by samples, and the header counts them or not;
// one worker finds windows in any order.
func TestWindowsOfFLACAreParts(t *testing.T) {
	const seconds = 60
	for _, variable := range []bool{false, true} {
		for _, counted := range []bool{true, false} {
			s, _ := longFLAC(seconds, variable, counted)
			path := t.TempDir() + "/a.flac"
			writeFile(t, path, s.file)
			w := workerOf(t, Config{Channels: 2})
			defer w.Close()
			r := rand.New(rand.NewPCG(1, 1))
			for i := range 40 {
				from, n := r.Int64N(seconds*1000-3), 1+r.Int64N(3000)
				if i == 0 {
					from = seconds*1000 - 1
				}
				n = min(n, seconds*1000-from)
				for _, src := range []Source{{Bytes: s.file}, {Path: path}, {File: placed(t, s.file)}, {File: distant(t, s.file)}} {
					src.Window = Window{Start: float64(from) / 1000, Duration: float64(n) / 1000}
					wave, _, err := w.Wave(src, Draw{})
					if err != nil {
						t.Fatalf("variable %v, counted %v, %d from %d: %v", variable, counted, n, from, err)
					}
					compare(t, wave.Data, s.part(from, from+n), 0)
				}
			}
			refused(t, Config{Channels: 2, Length: 1, Window: Window{Start: seconds}}, Source{Bytes: s.file}, CauseOutside)
		}
	}
}

// What lies before a window is not decoded: it may be damaged. What lies in it may not; nor may anything of the whole.
func TestWindowsOfFLACPassOverWhatLiesBefore(t *testing.T) {
	s, starts := longFLAC(60, false, true)
	for i := 2; i < 10; i++ {
		s.file[starts[i]+700] ^= 1
	}
	path := t.TempDir() + "/a.flac"
	writeFile(t, path, s.file)
	for _, src := range []Source{{Bytes: s.file}, {Path: path}, {File: placed(t, s.file)}, {File: distant(t, s.file)}} {
		got, _ := decoded(t, Config{Channels: 2, Length: 1500, Window: Window{Start: 58, Duration: 1.5}}, src, Draw{})
		compare(t, got, s.part(58000, 59500), 0)
		refused(t, Config{Channels: 2, Length: 1500, Window: Window{Start: 2.5, Duration: 1}}, src, CauseCorrupt)
		refused(t, Config{Channels: 2, Length: 60000}, src, CauseCorrupt)
	}
}

// A stream that was cut out of another begins with a number of its own.
func TestFLACMayBeginWithAnyNumber(t *testing.T) {
	s, starts := longFLAC(60, true, true)
	cut := append(bytes.Clone(s.file[:starts[0]]), s.file[starts[20]:]...)
	binary.BigEndian.PutUint64(cut[18:], binary.BigEndian.Uint64(cut[18:])-20000)
	for _, start := range []int64{0, 7, 39} {
		got, _ := decoded(t, Config{Channels: 2, Length: 1000, Window: Window{Start: float64(start), Duration: 1}}, Source{Bytes: cut}, Draw{})
		compare(t, got, s.part(20000+1000*start, 21000+1000*start), 0)
	}
}

// Another sound, or anything, behind the samples that the header counts is passed over, also when a window is looked for.
func TestWhatLiesBehindAFLACIsPassedOver(t *testing.T) {
	s, starts := longFLAC(60, true, true)
	other, _ := longFLAC(90, true, true)
	for name, more := range map[string][]byte{"a tag": append([]byte("TAG"), make([]byte, 125)...), "another": other.file, "its frames again": s.file[starts[0]:]} {
		file := append(bytes.Clone(s.file), more...)
		for _, start := range []int64{0, 20, 59} {
			got, _ := decoded(t, Config{Channels: 2, Length: 1000, Window: Window{Start: float64(start), Duration: 1}}, Source{Bytes: file}, Draw{})
			compare(t, got, s.part(1000*start, 1000*start+1000), 0)
		}
		_, info := decoded(t, Config{Channels: 2, Length: 60000}, Source{Bytes: file}, Draw{})
		if info.Frames != 60000 {
			t.Errorf("%s: %d frames", name, info.Frames)
		}
	}
}

// ID3v2 tags before a FLAC are passed over.
func TestTagsBeforeAFLACArePassedOver(t *testing.T) {
	s, _ := longFLAC(3, false, true)
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x01\x05"), make([]byte, 128+5)...)
	footed := append([]byte("ID3\x04\x00\x10\x00\x00\x00\x03"), make([]byte, 3+10)...)
	file := slices.Concat(tag, footed, s.file)
	got, _ := decoded(t, Config{Channels: 2, Length: 3000}, Source{Bytes: file}, Draw{})
	compare(t, got, s.want, 0)
}

// A FLAC that is cut at any byte is truncated, as a whole and wherever a random crop may lie, counted or not: never a shorter sound.
func TestCutFLACsAreTruncated(t *testing.T) {
	s, starts := longFLAC(4, false, true)
	for n := len("fLaC"); n < len(s.file); n++ {
		refused(t, Config{Channels: 2, Length: 4000}, Source{Bytes: s.file[:n]}, CauseTruncated)
		refused(t, Config{Channels: 2, Length: 100, Crop: CropRandom}, Source{Bytes: s.file[:n]}, CauseTruncated)
		if n > starts[1] { // what comes first is whole
			decoded(t, Config{Channels: 2, Length: 1000, Crop: CropStart}, Source{Bytes: s.file[:n]}, Draw{})
		}
	}
	s, starts = longFLAC(2, false, false)
	for n := len("fLaC"); n < len(s.file); n++ {
		switch {
		case n == starts[0]:
			refused(t, Config{Channels: 2, Length: 4000}, Source{Bytes: s.file[:n]}, CauseNoFrames)
		case n != starts[1]: // there is no telling
			refused(t, Config{Channels: 2, Length: 4000}, Source{Bytes: s.file[:n]}, CauseTruncated)
		}
	}
}

// A refusal of a FLAC that is too long says how long it is, though decoding stops where the row is full; how long at least, where the file does not say.
func TestFLACsThatAreTooLongSayHowLong(t *testing.T) {
	counted, _ := longFLAC(4, false, true)
	uncounted, _ := longFLAC(4, false, false)
	for _, c := range []struct {
		file []byte
		cfg  Config
		want string
	}{
		{counted.file, Config{Channels: 2, Length: 999}, "got 4000 at 1000 Hz, the row holds 999"},
		{counted.file, Config{Channels: 2, Length: 999, Rate: 2000}, "got 8000 at 2000 Hz, the row holds 999"},
		{counted.file, Config{Channels: 2, Length: 999, Window: Window{Start: 0.5, Duration: 3}}, "got 3000 at 1000 Hz, the row holds 999"},
		{counted.file, Config{Channels: 2, Length: 999, Window: Window{Start: 0.5, Duration: 30}}, "got 3500 at 1000 Hz, the row holds 999"},
		{uncounted.file, Config{Channels: 2, Length: 999}, "got 1000 or more at 1000 Hz, the row holds 999"},
	} {
		if err := refused(t, c.cfg, Source{Bytes: c.file}, CauseTooLarge); !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// What contradicts itself, or is damaged, is refused by cause.
func TestFLACsThatAreRefused(t *testing.T) {
	s, starts := longFLAC(6, false, true)
	x, y := tone(5, 1000, 16, 0), tone(6, 1000, 16, 0)
	with := func(at int, values ...byte) []byte {
		b := bytes.Clone(s.file)
		copy(b[at:], values)
		return b
	}
	second := func(frame []byte) []byte { return slices.Concat(s.file[:starts[1]], frame, s.file[starts[2]:]) }
	as := func(s flacSound, write subframe) []byte { return second(s.coded(1, 1, write, x, y)) }
	raw := func(values ...uint64) []byte { // pairs of a number and its bits
		return as(s.flacSound, func(o *bitsOut, _ []int64, _ int) {
			for i := 0; i < len(values); i += 2 {
				o.put(values[i], int(values[i+1]))
			}
			o.b = append(o.b, make([]byte, 4000)...)
		})
	}
	fast := s.flacSound
	fast.rate = 44100
	mono := second(s.coded(1, 0, verbatim, x))
	deep := s.flacSound
	deep.bits = 24
	for name, c := range map[string]struct {
		file  []byte
		cause string
	}{
		"a sample's bit":          {with(starts[3]+900, s.file[starts[3]+900]^4), CauseCorrupt},
		"a frame's checksum":      {with(starts[3]-1, s.file[starts[3]-1]^1), CauseCorrupt},
		"a header's checksum":     {with(starts[3]+7, s.file[starts[3]+7]^1), CauseCorrupt},
		"the first mark":          {with(starts[0], 0), CauseCorrupt},
		"a mark":                  {with(starts[2], 0), CauseCorrupt},
		"a frame is missing":      {slices.Concat(s.file[:starts[2]], s.file[starts[3]:]), CauseCorrupt},
		"a frame comes twice":     {slices.Concat(s.file[:starts[2]], s.file[starts[1]:]), CauseCorrupt},
		"another rate":            {as(fast, verbatim), CauseUnsupported},
		"another depth":           {as(deep, verbatim), CauseUnsupported},
		"another channel":         {mono, CauseUnsupported},
		"another numbering":       {second(flacSound{rate: 1000, channels: 2, bits: 16, variable: true}.coded(1000, 1, verbatim, x, y)), CauseCorrupt},
		"a subframe of no type":   {raw(2<<1, 8), CauseCorrupt},
		"fixed, of order 5":       {raw(13<<1, 8), CauseCorrupt},
		"a bit before a type":     {raw(0x82, 8), CauseCorrupt},
		"all bits wasted":         {raw(1, 8, 0, 15, 1, 1), CauseCorrupt},
		"precision 16":            {raw(32<<1, 8, 0, 16, 15, 4, 0, 5), CauseCorrupt},
		"a shift to the left":     {raw(32<<1, 8, 0, 16, 0, 4, 31, 5), CauseCorrupt},
		"residuals of no kind":    {raw(8<<1, 8, 2, 2, 0, 4), CauseCorrupt},
		"16 partitions of 1000":   {raw(8<<1, 8, 0, 2, 4, 4), CauseCorrupt},
		"a partition of 0":        {raw(12<<1, 8, 0, 64, 0, 2, 15, 4), CauseCorrupt},
		"STREAMINFO twice":        {append(bytes.Clone(s.file[:42]), s.file[4:]...), CauseCorrupt},
		"no STREAMINFO":           {with(4, 4), CauseCorrupt},
		"a short STREAMINFO":      {with(7, 33), CauseCorrupt},
		"metadata past the end":   {with(42+1, 255, 255, 255), CauseTruncated},
		"metadata without an end": {append(bytes.Clone(s.file[:42]), bytes.Repeat(bigBlock(1, nil), maxChunks+1)...), CauseCorrupt},
		"2^36 samples":            {with(21, 0xff, 0xff, 0xff, 0xff, 0xff), CauseTruncated},
		"one sample more":         {with(25, s.file[25]+1), CauseTruncated},
	} {
		t.Run(name, func(t *testing.T) { refused(t, Config{Channels: 2, Length: 6000}, Source{Bytes: c.file}, c.cause) })
	}
}

// A header may count anything: no memory is taken before what it counts is there.
func TestFLACsThatCountTooMuchTakeNoMemory(t *testing.T) {
	s, starts := longFLAC(8, true, true)
	for _, total := range []uint64{1 << 20, 1 << 27, 1<<36 - 1} {
		file := bytes.Clone(s.file)
		binary.BigEndian.PutUint64(file[18:], binary.BigEndian.Uint64(file[18:])&^(1<<36-1)|total)
		for _, size := range []int{starts[1], len(file)} {
			w := workerOf(t, Config{})
			var err error
			peak := damage.PeakBytes(t, func() { _, _, err = w.Wave(Source{Bytes: file[:size]}, Draw{}) })
			w.Close()
			var e *Error
			if !errors.As(err, &e) || e.Cause() != CauseTruncated || peak > 8<<20 {
				t.Errorf("%d samples in %d bytes: %v, with %d MiB of memory", total, size, err, peak>>20)
			}
		}
	}
}

// A decode that takes longer than its budget ends.
func TestFLACEndsWithItsBudget(t *testing.T) {
	s, _ := longFLAC(3, true, true)
	refused(t, Config{Channels: 2, Length: 3000, Budget: time.Nanosecond}, Source{Bytes: s.file}, CauseTooSlow)
}

// Probe tells a FLAC's facts, and no length where its header has none.
func TestProbeOfFLAC(t *testing.T) {
	for counted, want := range map[bool]Stream{true: {"flac", "flac", 1000, 2, 3000, 3, 0}, false: {"flac", "flac", 1000, 2, -1, -1, 0}} {
		s, _ := longFLAC(3, true, counted)
		if got, err := Probe(Source{Bytes: s.file}); err != nil || got != want {
			t.Errorf("got %+v, want %+v: %v", got, want, err)
		}
	}
}

// FuzzFLAC: no bytes crash the reader, all instruction sets find the same in them, and a window is a part of the whole.
func FuzzFLAC(f *testing.F) {
	for name, file := range flacFiles(8, 16, 32) {
		if !strings.Contains(name, "wide 2") {
			f.Add(file.file)
		}
	}
	long, _ := longFLAC(12, false, true)
	f.Add(long.file)
	f.Fuzz(func(t *testing.T, b []byte) {
		if !isFLAC(b) {
			return
		}
		var whole [2]Wave
		var errs [2]error
		for i := range whole {
			op, _ := Compile(Config{MaxFrames: 1 << 21, Budget: time.Minute})
			w, _ := op.NewWorkerWith(&Options{Portable: i == 1})
			defer w.Close()
			if whole[i], _, errs[i] = w.Wave(Source{Bytes: b}, Draw{}); errs[i] != nil {
				var named interface{ Cause() string }
				if !errors.As(errs[i], &named) || named.Cause() == "" || named.Cause() == CauseRead {
					t.Fatalf("an error without a cause: %v", errs[i])
				}
				continue
			}
			part := workerOf(t, Config{Window: Window{Start: float64(whole[i].Frames/2) / float64(whole[i].Rate)}})
			defer part.Close()
			got, _, err := part.Wave(Source{Bytes: b}, Draw{})
			if err != nil || got.Frames != whole[i].Frames-whole[i].Frames/2 || !slices.Equal(got.Data[:got.Frames], whole[i].Data[whole[i].Frames/2:whole[i].Frames]) {
				t.Fatalf("the second half of %d frames: %d, %v", whole[i].Frames, got.Frames, err)
			}
		}
		if (errs[0] == nil) != (errs[1] == nil) || !slices.Equal(whole[0].Data, whole[1].Data) {
			t.Fatalf("the portable kernels give something else: %v, %v", errs[0], errs[1])
		}
	})
}

// Each tag is a read of the file: what has no end of them is not looked through.
func TestTagsWithoutAnEndArePassedUpToALimit(t *testing.T) {
	tag := []byte("ID3\x04\x00\x00\x00\x00\x00\x00")
	b := bytes.Repeat(tag, maxChunks+2)
	h := header{r: bytes.NewReader(b), size: int64(len(b))}
	if at, _ := h.behindTags(); at != int64(maxChunks*len(tag)) {
		t.Errorf("got %d, want %d tags of %d bytes passed", at, maxChunks, len(tag))
	}
}
