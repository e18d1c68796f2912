package audio

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/among"
)

// Every encoding becomes floats at its stated scale, and extremes are exact.
func TestEveryEncodingBecomesFloatsAtItsScale(t *testing.T) {
	for _, c := range []struct {
		name      string
		tag, bits int
		data      []byte
		want      []float32
	}{
		{"u8", 1, 8, []byte{0, 128, 255, 129}, []float32{-1, 0, 127.0 / 128, 1.0 / 128}},
		{"s16", 1, 16, bytesAs([]int16{-32768, 0, 32767, 1}), []float32{-1, 0, 32767.0 / 32768, 1.0 / 32768}},
		{"s24", 1, 24, []byte{0, 0, 0x80, 0, 0, 0, 0xff, 0xff, 0x7f, 1, 0, 0, 0xff, 0xff, 0xff},
			[]float32{-1, 0, 8388607.0 / 8388608, 1.0 / 8388608, -1.0 / 8388608}},
		{"s32", 1, 32, bytesAs([]int32{math.MinInt32, 0, 1 << 30, 256}), []float32{-1, 0, 0.5, 256.0 / (1 << 31)}},
		{"f32", 3, 32, bytesAs([]float32{-1, 0, 1.5, 1e-30}), []float32{-1, 0, 1.5, 1e-30}},
		{"f64", 3, 64, bytesAs([]float64{-1, 0, 1.5, 0.1}), []float32{-1, 0, 1.5, 0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, info := decoded(t, Config{Channels: 1, Length: len(c.want)}, Source{Bytes: wavBytes(c.tag, 1, 8000, c.bits, c.data)}, Draw{})
			compare(t, got, c.want, 0)
			if info.Samples != len(c.want) || info.Frames != int64(len(c.want)) || info.Rate != 8000 || info.Channels != 1 || info.Format != "wav" {
				t.Errorf("info %+v", info)
			}
		})
	}
}

// A vector's worth of samples and its remainder are converted alike, mono and as one channel of two.
func TestLongAndShortRunsConvertAlike(t *testing.T) {
	ints := make([]int16, 2*37)
	for i := range ints {
		ints[i] = int16(i*1771 - 32000)
	}
	for n := 1; n <= 37; n++ {
		want := make([]float32, n)
		for i := range want {
			want[i] = float32(ints[i]) / 32768
		}
		got, _ := decoded(t, Config{Channels: 1, Length: n}, Source{Bytes: wavBytes(1, 1, 8000, 16, bytesAs(ints[:n]))}, Draw{})
		compare(t, got, want, 0)
		stereo := wavBytes(1, 2, 8000, 16, bytesAs(ints[:2*n]))
		got, _ = decoded(t, Config{Channels: 2, Length: n}, Source{Bytes: stereo}, Draw{})
		for i := range n {
			if got[i] != float32(ints[2*i])/32768 || got[n+i] != float32(ints[2*i+1])/32768 {
				t.Fatalf("%d frames: frame %d is %v %v", n, i, got[i], got[n+i])
			}
		}
	}
}

// One channel of many is their mean, many of one are copies, a selection is taken by number, and anything else is refused.
func TestChannelsAreMixedByTheStatedRule(t *testing.T) {
	three := wavBytes(3, 3, 8000, 32, bytesAs([]float32{0.1, 0.2, 0.6, -0.5, 0.25, 1}))
	stereo := wavBytes(3, 2, 8000, 32, bytesAs([]float32{0.5, -0.25, 1, 0}))
	mono := wavBytes(3, 1, 8000, 32, bytesAs([]float32{0.5, -0.25}))
	third := func(a, b, c float32) float32 { return (a + b + c) / 3 }
	for _, c := range []struct {
		name   string
		cfg    Config
		data   []byte
		want   []float32
		refuse bool
	}{
		{"mean of three", Config{Channels: 1}, three, []float32{third(0.1, 0.2, 0.6), third(-0.5, 0.25, 1)}, false},
		{"as they are", Config{Channels: 2}, stereo, []float32{0.5, 1, -0.25, 0}, false},
		{"time first", Config{Channels: 2, Layout: TimeFirst}, stereo, []float32{0.5, -0.25, 1, 0}, false},
		{"copies", Config{Channels: 2}, mono, []float32{0.5, -0.25, 0.5, -0.25}, false},
		{"one selected", Config{Select: []int{1}}, stereo, []float32{-0.25, 0}, false},
		{"two selected, swapped", Config{Select: []int{2, 0}}, three, []float32{0.6, 1, 0.1, -0.5}, false},
		{"mean of the selected", Config{Select: []int{0, 1}, Channels: 1}, three, []float32{float32(0.1+float32(0.2)) / 2, (-0.5 + 0.25) / 2}, false},
		{"one selected, copied", Config{Select: []int{1}, Channels: 2}, stereo, []float32{-0.25, 0, -0.25, 0}, false},
		{"three to two", Config{Channels: 2}, three, nil, true},
		{"a channel that is not there", Config{Select: []int{3}}, three, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Length = 2
			if c.refuse {
				refused(t, c.cfg, Source{Bytes: c.data}, CauseUnsupported)
				return
			}
			got, _ := decoded(t, c.cfg, Source{Bytes: c.data}, Draw{})
			compare(t, got, c.want, 1e-7)
		})
	}
}

// refused is the error of a sample that gives no row, of that cause.
func refused(t *testing.T, cfg Config, src Source, cause string) error {
	t.Helper()
	op, err := Compile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := op.NewWorker()
	defer w.Close()
	_, err = w.Decode(Row{Data: make([]byte, op.RowBytes())}, src, Draw{})
	var named interface{ Cause() string }
	if !errors.As(err, &named) || named.Cause() != cause {
		t.Fatalf("got %v, want cause %s", err, cause)
	}
	return err
}

// Samples of i16 rows are round(x * 2^15), half to even, held to the type's range; s16 comes out as it was.
func TestI16RowsRoundAndSaturate(t *testing.T) {
	x := []float32{0, 1, -1, 1.5, -2, float32(math.NaN()), 0.5 / 32768, 1.5 / 32768, -0.5 / 32768, 32766.5 / 32768, 0.1}
	want := []float32{0, 32767, -32768, 32767, -32768, 0, 0, 2, 0, 32766, 3277}
	for _, layout := range []Layout{ChannelsFirst, TimeFirst} {
		got, _ := decoded(t, Config{Channels: 1, Length: len(x), DType: tensor.I16, Layout: layout}, Source{Bytes: floatWAV(8000, x)}, Draw{})
		compare(t, got, want, 0)
	}
	ints := make([]int16, 0, 1<<16)
	for i := -32768; i < 32768; i++ {
		ints = append(ints, int16(i))
	}
	got, _ := decoded(t, Config{Channels: 1, Length: len(ints), DType: tensor.I16}, Source{Bytes: wavBytes(1, 1, 8000, 16, bytesAs(ints))}, Draw{})
	for i, v := range got {
		if v != float32(ints[i]) {
			t.Fatalf("%d came out as %v", ints[i], v)
		}
	}
}

// A window is cut by time, a short sample padded with zeros, a long one cropped as asked or refused by name.
func TestWindowCropAndPad(t *testing.T) {
	x := make([]float32, 100)
	for i := range x {
		x[i] = float32(i+1) / 128
	}
	data := floatWAV(10, x)
	for _, c := range []struct {
		name         string
		cfg          Config
		window       Window
		first, valid int
	}{
		{"start", Config{Length: 7, Crop: CropStart}, Window{}, 0, 7},
		{"centre", Config{Length: 7, Crop: CropCentre}, Window{}, 46, 7},
		{"window", Config{Length: 20, Window: Window{Start: 2.04, Duration: 1}}, Window{}, 20, 10},
		{"window of the sample", Config{Length: 20, Window: Window{Start: 1}}, Window{Start: 9.5, Duration: 3}, 95, 5},
		{"window and centre", Config{Length: 4, Crop: CropCentre, Window: Window{Start: 1, Duration: 1}}, Window{}, 13, 4},
		{"all", Config{Length: 120}, Window{}, 0, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Channels = 1
			got, info := decoded(t, c.cfg, Source{Bytes: data, Window: c.window}, Draw{})
			want := make([]float32, c.cfg.Length)
			copy(want, x[c.first:c.first+c.valid])
			compare(t, got, want, 0)
			if info.Samples != c.valid {
				t.Errorf("%d valid, want %d", info.Samples, c.valid)
			}
		})
	}
	refused(t, Config{Channels: 1, Length: 99}, Source{Bytes: data}, CauseTooLarge)
	refused(t, Config{Channels: 1, Length: 99, Window: Window{Start: 10}}, Source{Bytes: data}, CauseOutside)
	refused(t, Config{Channels: 1, Length: 99, Window: Window{Start: 1, Duration: 0.01}}, Source{Bytes: data}, CauseNoFrames)
	refused(t, Config{Channels: 1, Length: 200, MaxFrames: 99}, Source{Bytes: data}, CauseTooLarge)
}

// A random crop depends on seed, epoch and index alone, reaches both ends and is cut from the same signal.
func TestRandomCropIsAFunctionOfItsDraw(t *testing.T) {
	x := make([]float32, 20)
	for i := range x {
		x[i] = float32(i+1) / 32
	}
	src := Source{Bytes: floatWAV(100, x)}
	cfg := Config{Channels: 1, Length: 16, Crop: CropRandom}
	seen := map[int64]bool{}
	for index := range uint64(200) {
		draw := Draw{Seed: 7, Epoch: 3, Index: index}
		got, info := decoded(t, cfg, src, draw)
		again, _ := decoded(t, cfg, src, draw)
		compare(t, got, again, 0)
		compare(t, got, x[info.Start:info.Start+16], 0)
		seen[info.Start] = true
	}
	if len(seen) != 5 {
		t.Fatalf("crops began at %v, want all of 0 to 4", seen)
	}
}

// Philox4x32-10 gives Random123's known answers, as core/media/philox.c does.
func TestPhiloxGivesItsKnownAnswers(t *testing.T) {
	if got := philox([4]uint32{}, [2]uint32{}); got != [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
		t.Errorf("zeros: %x", got)
	}
	ones := uint32(0xffffffff)
	if got := philox([4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}); got != [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd} {
		t.Errorf("ones: %x", got)
	}
}

// A file gives the row that its bytes give, and a row that is not aligned gets the same bytes.
func TestFilesAndUnalignedRowsGiveTheSameBytes(t *testing.T) {
	data := wavBytes(1, 2, 44100, 16, bytesAs(make([]int16, 2000)))
	copy(data[44:], bytes.Repeat([]byte{1, 7, 200, 40, 99}, 800))
	path := t.TempDir() + "/a.wav"
	writeFile(t, path, data)
	for _, cfg := range []Config{
		{Channels: 2, Length: 900, Crop: CropCentre},
		{Channels: 1, Length: 300, Rate: 16000},
		{Channels: 2, Length: 900, Crop: CropCentre, DType: tensor.I16},
		{Channels: 2, Length: 900, Crop: CropCentre, Layout: TimeFirst},
		{Channels: 2, Length: 900, Crop: CropCentre, Layout: TimeFirst, DType: tensor.I16},
		{Channels: 1, Length: 900, Crop: CropCentre, Rate: 44100, Features: &Features{Kind: Mel}},
	} {
		cfg.Length = max(cfg.Length, 363)
		op, err := Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := decodedBy(t, op, nil, Source{Bytes: data}, Draw{})
		for _, src := range []Source{{Path: path}, {File: placed(t, data)}, {File: distant(t, data)}} {
			if got, _ := decodedBy(t, op, nil, src, Draw{}); !bytes.Equal(got, want) {
				t.Errorf("%+v: %+v gives another row", cfg, src)
			}
		}
		w, _ := op.NewWorker()
		odd := make([]byte, op.RowBytes()+1)[1:]
		if _, err := w.Decode(Row{Data: odd}, Source{Bytes: data}, Draw{}); err != nil || !bytes.Equal(odd, want) {
			t.Errorf("%+v: the unaligned row differs (%v)", cfg, err)
		}
		w.Close()
	}
}

// Raw samples need no header, and bytes that are no whole frames are refused.
func TestRawPCMNeedsNoHeader(t *testing.T) {
	raw := &Raw{Encoding: S16, Rate: 8000, Channels: 2}
	data := bytesAs([]int16{1 << 14, -1 << 14, 1 << 13, 0})
	got, info := decoded(t, Config{Raw: raw, Length: 2}, Source{Bytes: data}, Draw{})
	compare(t, got, []float32{0.5, 0.25, -0.5, 0}, 0)
	if info.Format != "pcm" || info.Channels != 2 {
		t.Errorf("info %+v", info)
	}
	refused(t, Config{Raw: raw, Length: 2}, Source{Bytes: data[:7]}, CauseTruncated)
	refused(t, Config{Raw: raw, Length: 2}, Source{}, CauseEmpty)
}

// A file with a header is no raw samples: it would begin with a click, unless a window passes over it.
func TestRawPCMIsNoOtherFile(t *testing.T) {
	for kind, data := range map[string][]byte{
		"wav": wavBytes(1, 2, 8000, 16, bytesAs([]int16{1, 2, 3, 4})), "flac": append([]byte("fLaC"), make([]byte, 40)...), "ogg": append([]byte("OggS"), make([]byte, 40)...), "mov": append([]byte("\x00\x00\x00\x14ftypisom"), make([]byte, 40)...),
	} {
		if kind == "ogg" {
			copy(data[28:], "OpusHead")
		}
		err := refused(t, Config{Raw: &Raw{Encoding: S16, Rate: 8000, Channels: 2}, Length: 100}, Source{Bytes: data}, CauseUnsupported)
		if !strings.Contains(err.Error(), "got what begins as a file of "+kind+", want samples without a header; leave raw out, or have the window begin behind the header") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	behind := Config{Raw: &Raw{Encoding: S16, Rate: 8000, Channels: 2}, Length: 2, Window: Window{Start: 11. / 8000}}
	if got, _ := decoded(t, behind, Source{Bytes: wavBytes(1, 2, 8000, 16, bytesAs([]int16{1, 2, 3, 4}))}, Draw{}); len(got) != 4 || got[0] != 1./32768 {
		t.Errorf("behind the header: got %v, want what lies there", got)
	}
}

// The peak becomes the level asked for, over all channels together; silence stays silence.
func TestPeakNormalise(t *testing.T) {
	data := wavBytes(3, 2, 8000, 32, bytesAs([]float32{0.1, -0.4, 0.2, 0.05}))
	got, _ := decoded(t, Config{Channels: 2, Length: 3, Normalize: Normalize{To: ToPeak, Level: 0.5}}, Source{Bytes: data}, Draw{})
	compare(t, got, []float32{0.125, 0.25, 0, -0.5, 0.0625, 0}, 1e-7)
	silence := floatWAV(8000, make([]float32, 100))
	faint := []float32{1e-45, 1e-41, -4e-41, 0} // the end of a sound that fades: 1 / 4e-41 is no float32
	got, _ = decoded(t, Config{Channels: 1, Length: 4, Normalize: Normalize{To: ToPeak}}, Source{Bytes: floatWAV(8000, faint)}, Draw{})
	compare(t, got, []float32{3.5e-5, 0.25, -1, 0}, 1e-4)
	for _, to := range []Loudness{ToPeak, ToIntegrated} {
		got, _ = decoded(t, Config{Channels: 1, Length: 100, Normalize: Normalize{To: to}}, Source{Bytes: silence}, Draw{})
		compare(t, got, make([]float32, 100), 0)
	}
}

// A full-scale sine of 997 Hz in one channel measures -3.01 LUFS within 0.05, the check of BS.1770, and its level follows.
func TestLoudnessOfBS1770sSine(t *testing.T) {
	x := make([]float32, 10*48000)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 997 * float64(i) / 48000))
	}
	op, _ := Compile(Config{Channels: 1, Length: len(x), Normalize: Normalize{To: ToIntegrated, Level: -20}})
	w, _ := op.NewWorker()
	defer w.Close()
	got, err := w.loudness(planes{x, int64(len(x)), int64(len(x))}, 1, 48000)
	if err != nil || math.Abs(got+3.01) > 0.05 {
		t.Fatalf("%v LUFS, %v", got, err)
	}
	y, _ := decoded(t, Config{Channels: 1, Length: len(x), Normalize: Normalize{To: ToIntegrated, Level: -20}}, Source{Bytes: floatWAV(48000, x)}, Draw{})
	again, _ := w.loudness(planes{y, int64(len(y)), int64(len(y))}, 1, 48000)
	if math.Abs(again+20) > 1e-4 {
		t.Fatalf("brought to %v LUFS, want -20", again)
	}
	six := wavBytes(3, 6, 48000, 32, bytesAs(make([]float32, 60)))
	refused(t, Config{Channels: 6, Length: 10, Normalize: Normalize{To: ToIntegrated}}, Source{Bytes: six}, CauseUnsupported)
}

// Descriptions that make no sense are refused with the field's name.
func TestCompileNamesTheFieldItRefuses(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		word string
	}{
		{Config{Rate: -1}, "rate"}, {Config{Rate: MaxRate + 1}, "rate"}, {Config{Channels: 65}, "channels"},
		{Config{Select: []int{-1}}, "select"}, {Config{Select: []int{0, 1}, Channels: 3}, "select"}, {Config{Length: -1}, "length"},
		{Config{Crop: 9}, "crop"}, {Config{DType: tensor.U8}, "dtype"}, {Config{MaxFrames: -1}, "max_frames"}, {Config{Window: Window{Start: -1}}, "window"},
		{Config{Window: Window{Duration: math.NaN()}}, "window"}, {Config{Normalize: Normalize{To: ToPeak, Level: -1}}, "normalize.level"},
		{Config{Features: &Features{}}, "features"}, {Config{Features: &Features{}, Rate: 8000, DType: tensor.I16}, "features"},
		{Config{Features: &Features{FFT: 1}, Rate: 8000}, "points"}, {Config{Features: &Features{FFT: 67 * 2}, Rate: 8000}, "67"},
		{Config{Features: &Features{Win: 500}, Rate: 8000}, "features.win_length: got 500"}, {Config{Features: &Features{Kind: Mel, Mels: -1}, Rate: 8000}, "mels"},
		{Config{Features: &Features{Kind: MFCC, Mels: 10, Coefficients: 11}, Rate: 8000}, "features.n_mfcc"},
		{Config{Features: &Features{Log: Decibel, TopDB: -1}, Rate: 8000}, "top_db"}, {Config{Features: &Features{Kind: 9}, Rate: 8000}, "kind"},
		{Config{Features: &Features{FFT: 400}, Rate: 8000, Length: 200}, "shorter"},
		{Config{Resample: Resample{Width: -1}}, "width"}, {Config{Resample: Resample{Rolloff: 2}}, "rolloff"}, {Config{Resample: Resample{Beta: -1}}, "beta"},
		{Config{Resample: Resample{Method: 9}}, "method"}, {Config{Raw: &Raw{Encoding: 99, Rate: 1, Channels: 1}}, "raw"},
	} {
		if _, err := Compile(c.cfg); err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.word)) {
			t.Errorf("%+v: got %v, want an error that names %s", c.cfg, err, c.word)
		}
	}
}

// Once its buffers have grown, a worker makes a row of WAV without a Go allocation.
func TestRowsOfWAVAllocateNothing(t *testing.T) {
	other := filesOf(t, floatWAV(8000, noise(99, 1)))
	for name, cfg := range map[string]Config{
		"plain":     {Channels: 1, Length: 4000},
		"resampled": {Channels: 1, Length: 2000, Rate: 4000},
		"sped":      {Channels: 1, Length: 4000, Crop: CropRandom, Speed: []float64{0.9, 1.1}},
		"changed":   {Channels: 1, Length: 4000, Normalize: Normalize{To: ToStandard}, Noise: &Noise{High: 9, P: 1, Colour: Pink}, Gain: &Gain{High: 6, P: 1}, Invert: 0.5, PreEmphasis: 0.97},
		"mfcc":      {Channels: 1, Length: 4000, Rate: 8000, Features: &Features{Kind: MFCC}},
		"fbank":     {Channels: 1, Length: 4000, Rate: 8000, Features: &Features{Kind: Fbank}},
		"whisper":   {Channels: 1, Length: 16000, Rate: 16000, Features: &Features{Kind: Whisper}},
		"masked":    {Channels: 1, Length: 4000, Rate: 8000, Features: &Features{Kind: Mel, TimeMask: &Mask{9, 3, 1, true}, FrequencyMask: &Mask{9, 3, 1, true}, MaskMean: true}},
		"cmvn":      {Channels: 1, Length: 4000, Rate: 8000, Features: &Features{Kind: Mel, CMVN: MeanVariance}},
		"loudness":  {Channels: 1, Length: 4000, Normalize: Normalize{To: ToIntegrated}},
		"sounds":    {Channels: 1, Length: 4000, Rate: 8000, Noise: &Noise{P: 1, Files: other}, Reverb: &Reverb{P: 1, Files: other}},
	} {
		op, err := Compile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w, _ := op.NewWorker()
		row, src := Row{Data: make([]byte, op.RowBytes())}, Source{Bytes: wavBytes(1, 2, 8000, 16, bytesAs(make([]int16, 8000)))}
		if n := testing.AllocsPerRun(20, func() { w.Decode(row, src, Draw{}) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		w.Close()
	}
}

// Workers of one Op, each on a goroutine of its own and with sounds of many rates, make the rows that one makes alone.
func TestWorkersShareAnOp(t *testing.T) {
	op, err := Compile(Config{Rate: 16000, Channels: 1, Length: 2000, Crop: CropRandom, Features: &Features{Kind: MFCC}})
	if err != nil {
		t.Fatal(err)
	}
	source := func(i int) Source { return Source{Bytes: floatWAV(8000+i%40*1000, noise(12000, uint64(i)))} }
	want := make([][]byte, 80)
	for i := range want {
		want[i], _ = decodedBy(t, op, nil, source(i), Draw{Index: uint64(i)})
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			w, _ := op.NewWorker()
			defer w.Close()
			row := Row{Data: make([]byte, op.RowBytes())}
			for n := range want {
				i := (n*7 + g*20) % len(want)
				if _, err := w.Decode(row, source(i), Draw{Index: uint64(i)}); err != nil || !bytes.Equal(row.Data, want[i]) {
					t.Errorf("sample %d: another row (%v)", i, err)
					return
				}
			}
		}()
	}
	all.Wait()
}

// placed is a sample that lies between other bytes of an open file.
func placed(t testing.TB, data []byte) *av.File {
	t.Helper()
	f, offset := among.Others(t, data)
	return &av.File{FD: int(f.Fd()), Offset: offset, Size: int64(len(data))}
}

// distant is one that lies between other bytes of what only Go can read.
func distant(t testing.TB, data []byte) *av.File {
	t.Helper()
	f, offset := among.Others(t, data)
	return &av.File{From: f, FD: -1, Offset: offset, Size: int64(len(data))}
}
