package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// mp3Kind is what all frames of a stream share.
type mp3Kind struct {
	version   int // 0: MPEG-1, 1: 2, 2: 2.5
	rate      int // 0 to 2, of the version
	mono      bool
	bitRate   int // index
	protected bool
}

var mp3Bits = [2][16]int{{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}, {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}}

func (k mp3Kind) hertz() int { return []int{44100, 48000, 32000}[k.rate] >> k.version }

func (k mp3Kind) channels() int {
	if k.mono {
		return 1
	}
	return 2
}

func (k mp3Kind) samples() int { return []int{1152, 576, 576}[k.version] }

func (k mp3Kind) side() int {
	switch {
	case k.version == 0 && !k.mono:
		return 32
	case k.version > 0 && k.mono:
		return 9
	}
	return 17
}

func (k mp3Kind) String() string {
	return fmt.Sprintf("%d Hz, %d channels, %d kbit/s, protected %v", k.hertz(), k.channels(), mp3Bits[min(k.version, 1)][k.bitRate], k.protected)
}

// frame is one frame of n bytes: joint is the mode extension of joint stereo, -1 for two channels by themselves; side and body are what is behind
// the header.
func (k mp3Kind) frame(joint, padding int, side []byte) (frame []byte, body []byte) {
	n := k.samples() / 8 * 1000 * mp3Bits[min(k.version, 1)][k.bitRate] / k.hertz()
	version, mode := []byte{3, 2, 0}[k.version], byte(0)
	switch {
	case k.mono:
		mode = 3 << 6
	case joint >= 0:
		mode = 1<<6 | byte(joint)<<4
	}
	unprotected := byte(1)
	frame = make([]byte, n+padding)
	behind := frame[4:]
	if k.protected {
		unprotected, behind = 0, behind[2:]
	}
	copy(frame, []byte{0xff, 0xe0 | version<<3 | 1<<1 | unprotected, byte(k.bitRate)<<4 | byte(k.rate)<<2 | byte(padding)<<1, mode})
	copy(behind, side)
	return frame, behind[k.side():]
}

// drawGranule writes the side information of a granule of so many bits. Every code of its tables fits into its bits, so that there is no damage in
// it, whatever the bits are.
func (k mp3Kind) drawGranule(o *bitsOut, r *rand.Rand, bits, gain, window int) {
	groups := []struct {
		tables []int
		most   int // bits of a pair
	}{{[]int{0, 1, 2, 3, 5, 6}, 10}, {[]int{7, 8, 9, 10, 11, 12}, 13}, {[]int{13, 15}, 21}, {[]int{16, 17, 20, 23, 24, 26, 28, 31}, 45}}
	g := groups[r.IntN(len(groups))]
	pairs := r.IntN(1 + min(288, max(0, bits-200)/g.most))
	compress := uint64(r.IntN(16))
	if k.version > 0 {
		compress = uint64(r.IntN(512))
		if r.IntN(2) == 0 {
			compress = uint64(2*(4*36+5*6+5) - r.IntN(2)) // the longest scale factors of intensity, 5 bits
		}
	}
	tables := func(n int) {
		for range n {
			o.put(uint64(g.tables[r.IntN(len(g.tables))]), 5)
		}
	}
	o.put(uint64(bits), 12)
	o.put(uint64(pairs), 9)
	o.put(uint64(gain), 8)
	o.put(compress, []int{4, 9, 9}[k.version])
	if window >= 0 {
		o.put(1, 1)
		o.put(uint64(window), 2)
		o.put(0, 1)
		tables(2)
		for range 3 {
			o.put(uint64(r.IntN(8)), 3)
		}
	} else { // long blocks
		o.put(0, 1)
		tables(3)
		o.put(uint64(r.IntN(16)), 4)
		o.put(uint64(r.IntN(8)), 3)
	}
	o.put(uint64(r.IntN(8)), []int{3, 2, 2}[k.version]) // emphasis of MPEG-1, coarse steps, the table of quads
}

// mp3With is what may come in drawn frames.
type mp3With struct {
	windows, middle, intensity, reservoir bool
}

// next is a window that may follow last: of a long block, or 1 where short ones begin, 2, and 3 where they end. Elsewhere
// FFmpeg loses a part of what overlaps.
func (with mp3With) next(r *rand.Rand, last int) int {
	switch {
	case !with.windows:
		return -1
	case last == -1 || last == 3:
		return []int{-1, 1}[r.IntN(2)]
	}
	return 2 + r.IntN(2)
}

// drawnMP3 is n frames of drawn side information and random bits.
func drawnMP3(r *rand.Rand, k mp3Kind, n int, with mp3With) []byte {
	return slices.Concat(drawnFrames(r, k, n, with)...)
}

func drawnFrames(r *rand.Rand, k mp3Kind, n int, with mp3With) (frames [][]byte) {
	granules := 2
	if k.version > 0 {
		granules = 1
	}
	last := [2]int{-1, -1} // each channel's window
	kept := 0              // bytes of earlier frames that nobody has used
	for range n {
		joint := -1
		if with.middle || with.intensity {
			joint = r.IntN(4)
			if !with.middle {
				joint &= 1
			}
			if !with.intensity {
				joint &= 2
			}
		}
		padding := r.IntN(2)
		_, body := k.frame(joint, padding, nil)
		back := 0
		if with.reservoir {
			back = min(kept, []int{511, 255, 255}[k.version])
		}
		each := min(4095, 8*(back+len(body))/(granules*k.channels()))
		var side bitsOut
		side.put(uint64(back), []int{9, 8, 8}[k.version])
		side.put(0, map[bool]int{true: []int{5, 1, 1}[k.version], false: []int{3, 2, 2}[k.version]}[k.mono])
		for range k.channels() {
			if k.version == 0 {
				side.put(uint64(r.IntN(16)), 4)
			}
		}
		used := 0
		for range granules {
			same, before := with.middle || with.intensity || r.IntN(4) > 0, 0
			for c := range k.channels() {
				if was := last[c]; c == 1 && same && was == before {
					last[1] = last[0]
				} else {
					before, last[c] = was, with.next(r, was)
				}
				bits := each - r.IntN(1+each/4)
				k.drawGranule(&side, r, bits, 110+r.IntN(40), last[c])
				used += bits
			}
		}
		kept = back + len(body) - (used+7)/8
		if len(side.b) != k.side() {
			panic(fmt.Sprintf("%d bytes of side information, want %d", len(side.b), k.side()))
		}
		frame, body := k.frame(joint, padding, side.b)
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		if k.protected {
			binary.BigEndian.PutUint16(frame[4:], uint16(r.Uint32()))
		}
		frames = append(frames, frame)
	}
	return frames
}

// counted puts a frame before a sound that counts its frames, as LAME does, with so many samples before and after the sound.
func (k mp3Kind) counted(tag, encoder string, frames, delay, padding int, sound []byte) []byte {
	side := make([]byte, k.side())
	head, body := k.frame(-1, 0, side)
	copy(body, join(tag, []byte{0, 0, 0, 15}, uint32(frames), uint32(len(sound)), make([]byte, 100), uint32(50), encoder, make([]byte, 21-len(encoder)),
		[]byte{byte(delay >> 4), byte(delay<<4 | padding>>8), byte(padding)}))
	return append(head, sound...)
}

func mp3Kinds() []mp3Kind {
	var kinds []mp3Kind
	for version := range 3 {
		for rate := range 3 {
			for _, mono := range []bool{false, true} {
				bitRate := 14
				if version == 2 && rate == 2 {
					bitRate = 8 // 64 kbit/s is what 8 kHz has at most, in most encoders
				}
				kinds = append(kinds, mp3Kind{version, rate, mono, bitRate, rate == 1})
			}
		}
	}
	return kinds
}

// Windows of a sound are the same samples as the whole has there, bit for bit, wherever they begin.
func TestWindowsOfMP3AreExact(t *testing.T) {
	for _, k := range mp3Kinds() {
		r := rand.New(rand.NewPCG(3, uint64(k.version*10+k.rate)))
		data := drawnMP3(r, k, 40, mp3With{true, true, true, true})
		w := workerOf(t, Config{})
		whole, info, err := w.Wave(Source{Bytes: data}, Draw{})
		if err != nil || info.Frames != int64(40*k.samples()) || whole.Frames != int(info.Frames) {
			t.Fatalf("%v: %+v, %v", k, info, err)
		}
		windowsAreTheWholes(t, w, r, data, whole)
		w.Close()
	}
}

// The mean of two channels is their mean, as they are decoded one by one; and a channel alone is what it is beside the other.
func TestChannelsOfMP3(t *testing.T) {
	for _, k := range mp3Kinds() {
		if k.mono {
			continue
		}
		r := rand.New(rand.NewPCG(4, uint64(k.version*10+k.rate)))
		for _, with := range []mp3With{{}, {windows: true}, {middle: true}, {windows: true, middle: true, reservoir: true}, {true, true, true, true}} {
			channelsAreTheirOwn(t, drawnMP3(r, k, 20, with))
		}
	}
}

func peakOf(x []float32) float32 {
	most := float32(0)
	for _, v := range x {
		most = max(most, v, -v)
	}
	return most
}

// wave is the sample as it is, the same on every instruction set.
func wave(t *testing.T, cfg Config, data []byte) ([]float32, Info) {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var all [2][]float32
	var info Info
	for i, o := range []*Options{nil, {Portable: true}} {
		w, err := op.NewWorkerWith(o)
		if err != nil {
			t.Fatal(err)
		}
		var got Wave
		if got, info, err = w.Wave(Source{Bytes: data}, Draw{}); err != nil {
			t.Fatal(err)
		}
		all[i] = slices.Clone(got.Data)
		w.Close()
	}
	if !bytes.Equal(bytesOf(all[0]), bytesOf(all[1])) {
		t.Fatal("the portable kernels give other samples")
	}
	return all[0], info
}

// mp3Stereo is 44.1 kHz in stereo, at 320 kbit/s.
var mp3Stereo = mp3Kind{0, 0, false, 14, false}

// What encoders put before and after the sound is left out, in every build; and the file may have tags before and after.
func TestMP3OfAnEncoder(t *testing.T) {
	data := testdata(t, "lame.mp3")
	id3 := append([]byte("TAG"), make([]byte, 125)...)
	ape := append([]byte("APETAGEX"), make([]byte, 24)...)
	for what, file := range map[string][]byte{
		"as it is": data, "many zeros": slices.Concat(data, make([]byte, len(data))), "much text": slices.Concat(data, bytes.Repeat([]byte("junk "), 3000)), "a tag behind": slices.Concat(data, []byte("ID3\x03\x00\x00\x00\x00\x00\x0512345")), "two tags before": slices.Concat([]byte("ID3\x03\x00\x00\x00\x00\x00\x0512345"), data), "ID3v1": slices.Concat(data, id3),
		"APE": slices.Concat(data, ape), "both": slices.Concat(data, ape, id3), "zeros": slices.Concat(data, make([]byte, 150)),
		"text": slices.Concat(data, bytes.Repeat([]byte("junk "), 30)),
	} {
		got, info := wave(t, Config{}, file)
		if len(got) != 22127 || info.Frames != 22127 || info.Rate != 44100 || info.Channels != 1 || info.Format != "mp3" {
			t.Fatalf("%s: %+v", what, info)
		}
		if level := rms(got); math.Abs(level-0.23315409) > 1e-6 {
			t.Errorf("%s: the root of the mean square is %v", what, level)
		}
	}
}

// Probe believes a header that counts, and looks at all frames where none does.
func TestProbeOfMP3(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	sound := drawnMP3(r, mp3Stereo, 20, mp3With{})
	counted := mp3Stereo.counted("Info", "LAME", 20, 576, 1000, sound)
	for what, c := range map[string]struct {
		file   []byte
		frames int64
	}{"counted": {counted, 20*1152 - 576 - 1000}, "counted, cut": {counted[:3000], 20*1152 - 576 - 1000}, "not counted": {sound, 20 * 1152}} {
		s, err := Probe(Source{Bytes: c.file})
		if err != nil || s.Frames != c.frames || s.Codec != "mp3" || s.Seconds != float64(c.frames)/44100 || s.Channels != 2 {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
}

// At 24 kHz the bands are the standard's, as LAME has them; in FFmpeg 5.1 one is two lines too narrow, which makes noise of what LAME wrote. The
// samples are those of `lame --decode`, in 16 bits.
func TestMP3Of24kHz(t *testing.T) {
	got, info := wave(t, Config{}, testdata(t, "lame_24k.mp3"))
	raw := testdata(t, "lame_24k.s16")
	want := make([]float32, len(raw)/2)
	for i := range want {
		want[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
	}
	if info.Rate != 24000 {
		t.Errorf("%+v", info)
	}
	compare(t, got, want, 1.01/32768)
}

// A file that ends before its header says, or within a frame, is named; so is what layer III has no words for.
func TestMP3IsRefusedByName(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	sound := drawnMP3(r, mp3Stereo, 20, mp3With{})
	one := len(sound) / 20
	short := mp3Stereo.counted("Info", "LAME", 30, 576, 1000, sound)
	for what, c := range map[string]struct {
		file  []byte
		cause string
	}{
		"cut": {sound[:len(sound)-one/2], CauseTruncated}, "counted": {short, CauseTruncated}, "counts alone": {short[:1044], CauseTruncated},
		"delay alone":   {mp3Stereo.counted("Info", "LAME", 1, 4000, 0, sound[:one]), CauseNoFrames},
		"free bit rate": {bytes.Replace(sound, []byte{0xff, 0xfb, 0xe0}, []byte{0xff, 0xfb, 0x00}, -1), CauseUnsupported},
		"noise behind":  {slices.Concat(sound, bytes.Repeat([]byte{1, 2, 3}, 500)), CauseCorrupt},
	} {
		w := workerOf(t, Config{})
		_, _, err := w.Wave(Source{Bytes: c.file}, Draw{})
		var e *Error
		if (!haveFFmpeg || c.cause == CauseNoFrames) && (!errors.As(err, &e) || e.Cause() != c.cause) {
			t.Errorf("%s: got %v, want %s", what, err, c.cause)
		}
		w.Close()
	}
}

// causeOf is what is said of a sound, "" of a good one.
func causeOf(t *testing.T, cfg Config, data []byte) string {
	t.Helper()
	w := workerOf(t, cfg)
	defer w.Close()
	_, _, err := w.Wave(Source{Bytes: data}, Draw{})
	var named interface{ Cause() string }
	if err != nil && !errors.As(err, &named) {
		t.Fatal(err)
	}
	if err != nil {
		return named.Cause()
	}
	return ""
}

// Where LAME's or FFmpeg's delays say where the sound ends, a file that ends before is truncated, wherever it was cut; without them a header may
// count its own frame, which counts for nothing in a short file.
func TestMP3ThatWasCutIsTruncated(t *testing.T) {
	for _, k := range []mp3Kind{mp3Stereo, {1, 2, true, 8, false}} {
		for n := 4; n <= 30; n += 13 {
			r := rand.New(rand.NewPCG(12, 12))
			frames := drawnFrames(r, k, n, mp3With{})
			sound := slices.Concat(frames...)
			for what, c := range map[string]struct {
				padding int
				encoder string
				spare   int // frames that may be missing
			}{
				"LAME": {529 + 100, "LAME", 0}, "FFmpeg": {529, "Lavc", 0}, "much padding": {529 + k.samples() + 10, "LAME", 1},
				"another": {0, "Gogo", n / 20},
			} {
				whole := k.counted("Info", c.encoder, n, 576, c.padding, sound)
				at := len(whole)
				for missing := 1; missing <= n; missing++ {
					at -= len(frames[n-missing])
					want := CauseTruncated
					if missing <= c.spare {
						want = ""
					}
					if got := causeOf(t, Config{}, whole[:at]); got != want {
						t.Errorf("%v, %s: %d of %d frames missing: %q, want %q", k, what, missing, n, got, want)
					}
				}
				if got := causeOf(t, Config{}, whole); got != "" {
					t.Errorf("%v, %s: whole: %q", k, what, got)
				}
				if got := causeOf(t, Config{}, whole[:len(whole)-9]); c.spare == 0 && got != CauseTruncated {
					t.Errorf("%v, %s: without its last bytes: %q", k, what, got)
				}
			}
		}
	}
}

// Of files that were joined, with a tag or other bytes between, the first one is not taken for the whole.
func TestMP3ThatWasJoinedIsRefusedByName(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	sound := drawnMP3(r, mp3Stereo, 20, mp3With{})
	counted := mp3Stereo.counted("Info", "LAME", 20, 576, 1000, sound)
	other := drawnMP3(r, mp3Kind{1, 0, true, 8, false}, 20, mp3With{})
	cfgs := []Config{{}}
	if haveFFmpeg {
		cfgs = append(cfgs, Config{Filter: "anull"})
	}
	for what, behind := range map[string][]byte{
		"a tag":     slices.Concat([]byte("ID3\x03\x00\x00\x00\x00\x00\x0512345"), counted),
		"zeros":     slices.Concat(make([]byte, 9001), sound),
		"ID3v1":     slices.Concat([]byte("TAG"), make([]byte, 125), counted),
		"the other": slices.Concat([]byte("ID3\x03\x00\x00\x00\x00\x00\x0512345"), other),
	} {
		for _, cfg := range cfgs {
			w := workerOf(t, cfg)
			_, _, err := w.Wave(Source{Bytes: slices.Concat(counted, behind)}, Draw{})
			if !hasCause(err, CauseUnsupported) || !strings.Contains(err.Error(), "another MP3 begins at byte") {
				t.Errorf("%s, %+v: %v", what, cfg, err)
			}
			w.Close()
		}
	}
	if haveFFmpeg && causeOf(t, Config{Filter: "anull"}, slices.Concat(counted, make([]byte, len(counted)))) != "" {
		t.Error("zeros behind are refused for a filter")
	}
}

// More frames than the limit are refused before memory is taken for them, whatever a header counts; a row that holds fewer takes those.
func TestMaxFramesBoundsMP3(t *testing.T) {
	k := mp3Kind{2, 2, true, 1, false} // 8 kbit/s
	head, _ := k.frame(-1, 0, make([]byte, k.side()))
	silence := bytes.Repeat(head, 1<<17) // 9 MiB, of 288 MiB of floats
	for _, c := range []struct {
		cfg   Config
		cause string
	}{
		{Config{MaxFrames: 1 << 20}, CauseTooLarge}, {Config{Length: 1 << 25, MaxFrames: 1 << 20, Crop: CropStart}, CauseTooLarge},
		{Config{Length: 1000}, CauseTooLarge}, {Config{Length: 1000, Crop: CropStart}, ""}, {Config{Length: 1000, Crop: CropRandom}, ""},
	} {
		w := workerOf(t, c.cfg)
		var err error
		peak := damage.PeakBytes(t, func() { _, _, err = w.Wave(Source{Bytes: silence}, Draw{}) })
		var e *Error
		if c.cause == "" && err != nil || c.cause != "" && (!errors.As(err, &e) || e.Cause() != c.cause) || peak > 16<<20 {
			t.Errorf("%+v: %d MiB of memory, %v", c.cfg, peak>>20, err)
		}
		w.Close()
	}
}

// Whatever is flipped, cut or drawn, it is a sound or named, and every build and instruction set is as good.
func TestDamagedMP3IsASoundOrNamed(t *testing.T) {
	for _, k := range []mp3Kind{mp3Stereo, {1, 1, true, 8, true}, {2, 2, false, 8, false}} {
		r := rand.New(rand.NewPCG(6, uint64(k.version)))
		data := k.counted("Xing", "Lavf", 12, 576, 600, drawnMP3(r, k, 12, mp3With{true, true, true, true}))
		damagedIsNamed(t, data, Config{}, Config{Channels: k.channels(), Rate: 16000, Length: 1000, Crop: CropCentre}, Config{Channels: 1, Crop: CropCentre, Length: 999})
	}
}

// FuzzMP3: see fuzzSounds. Without FFmpeg (-tags noffmpeg) nothing else is run.
func FuzzMP3(f *testing.F) {
	for _, k := range mp3Kinds() {
		r := rand.New(rand.NewPCG(7, uint64(k.version)))
		f.Add(drawnMP3(r, k, 3, mp3With{true, true, true, true}))
		f.Add(k.counted("Info", "LAME", 3, 576, 600, drawnMP3(r, k, 3, mp3With{})))
	}
	fuzzSounds(f)
}
