//go:build !noffmpeg

package audio

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/tests/damage"
	"github.com/spdl/spdl/tests/leak"
)

// coded is what tests/exact/make_audio.py noted of its encoded files: what PyAV decodes.
type coded struct {
	Encoded, Frames int64
	Channels, Rate  int
	RMS             float64
}

func codedFiles(t *testing.T) map[string]coded {
	t.Helper()
	b, err := os.ReadFile("testdata/lengths.json")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]coded{}
	if err := json.Unmarshal(b, &files); err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// What encoders put before and after the sound is left out: the lengths are those of an independent FFmpeg.
func TestLengthsAreExact(t *testing.T) {
	op, _ := Compile(Config{})
	w, _ := op.NewWorker()
	defer w.Close()
	for name, want := range codedFiles(t) {
		data := testdata(t, name)
		for _, src := range []Source{{Bytes: data}, {Path: "testdata/" + name}, {File: placed(t, data)}, {File: distant(t, data)}} {
			wave, info, err := w.Wave(src, Draw{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if int64(wave.Frames) != want.Frames || info.Frames != want.Frames || wave.Channels != want.Channels || wave.Rate != want.Rate {
				t.Errorf("%s: %+v, want %+v", name, info, want)
			}
			if got := rms(wave.Data); math.Abs(got-want.RMS) > 1e-4 {
				t.Errorf("%s: rms %v, want %v", name, got, want.RMS)
			}
		}
	}
}

// The lossless codecs give the samples that went in, 24-bit ones too.
func TestFLACIsLossless(t *testing.T) {
	mono, _ := decoded(t, Config{Channels: 1, Length: 8077}, Source{Path: "testdata/mono.flac"}, Draw{})
	deep, _ := decoded(t, Config{Channels: 1, Length: 8077}, Source{Path: "testdata/deep.flac"}, Draw{})
	compare(t, deep, mono, 0)
}

// A window or a crop of an encoded file is that part of the whole decode, bit for bit, and decoding stops behind it.
func TestWindowsOfEncodedFilesAreExact(t *testing.T) {
	for name, file := range codedFiles(t) {
		src := Source{Path: "testdata/" + name}
		for _, rate := range []int{file.Rate, 12000} {
			all := Config{Channels: 1, Rate: rate, Length: int(file.Frames)}
			whole, info := decoded(t, all, src, Draw{})
			valid := info.Samples
			cfg := Config{Channels: 1, Rate: rate, Length: 1000, Crop: CropRandom}
			got, info := decoded(t, cfg, src, Draw{Seed: 3})
			compare(t, got, whole[info.Start:info.Start+1000], 0)
			cfg.Crop = CropCentre
			got, _ = decoded(t, cfg, src, Draw{})
			at := (valid - 1000) / 2
			compare(t, got, whole[at:at+1000], 0)
			cfg.Crop = CropStart
			got, info = decoded(t, cfg, src, Draw{})
			compare(t, got, whole[:1000], 0)
			if info.Frames != -1 && !strings.HasSuffix(name, ".flac") && name != "mono.m4a" && name != "music.ogg" { // which count them
				t.Errorf("%s: decoded to its end for its first 1000 frames", name)
			}
		}
		whole, _ := decoded(t, Config{Channels: 1, Length: int(file.Frames)}, src, Draw{})
		begin := int(math.Round(0.1 * float64(file.Rate)))
		n := int(math.Round(0.3*float64(file.Rate))) - begin
		got, info := decoded(t, Config{Channels: 1, Length: n + 5, Window: Window{Start: 0.1, Duration: 0.2}}, src, Draw{})
		compare(t, got, append(append([]float32{}, whole[begin:begin+n]...), make([]float32, 5)...), 0)
		if info.Samples != n {
			t.Errorf("%s: %d frames of the window, want %d", name, info.Samples, n)
		}
		refused(t, Config{Channels: 1, Length: 9, Window: Window{Start: 100}}, src, CauseOutside)
	}
}

// What is read here of every container is what FFmpeg decodes, which a filter makes it do, sample by sample.
func TestContainersGiveFFmpegsSamples(t *testing.T) {
	same := func(name string, file []byte, channels, frames int) {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Channels: channels, Length: frames}
			got, info := decoded(t, cfg, Source{Bytes: file}, Draw{})
			cfg.Filter = "anull"
			want, theirs := decoded(t, cfg, Source{Bytes: file}, Draw{})
			compare(t, got, want, 0)
			if info != theirs {
				t.Errorf("%+v, FFmpeg has %+v", info, theirs)
			}
		})
	}
	for _, k := range everyKind() {
		for _, channels := range []int{1, 2, 6} {
			for _, frames := range []int{1, 37} {
				same(k.name(channels, frames), k.file(channels, 44100, samplesOf(k.encoding, channels*frames)), channels, frames)
			}
		}
	}
	for name, c := range oddContainers() {
		if !c.ours {
			same(name, c.file, 1, int(c.frames))
		}
	}
}

// Every kind of FLAC gives what FFmpeg decodes, sample by sample; 32 bits are not its to decode everywhere.
func TestFLACGivesFFmpegsSamples(t *testing.T) {
	files := flacFiles(4, 8, 12, 16, 20, 24)
	for _, counted := range []bool{true, false} {
		files[fmt.Sprint("long, counted ", counted)], _ = longFLAC(20, true, counted)
	}
	for _, name := range []string{"mono.flac", "deep.flac"} {
		b := testdata(t, name)
		files[name] = written{b, flacSound{channels: 1, total: 8077}, nil}
	}
	for name, f := range files {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Channels: f.channels, Length: int(f.total)}
			got, info := decoded(t, cfg, Source{Bytes: f.file}, Draw{})
			cfg.Filter = "anull"
			want, theirs := decoded(t, cfg, Source{Bytes: f.file}, Draw{})
			compare(t, got, want, 0)
			if info != theirs {
				t.Errorf("%+v, FFmpeg has %+v", info, theirs)
			}
		})
	}
}

// A FLAC whose frames are not of the rate that its header says is left to FFmpeg, in the same worker as those that are not.
func TestFLACThatIsNotReadHereIsFFmpegs(t *testing.T) {
	const frames = 20
	s, x := flacSound{rate: 8000, channels: 1, bits: 16}, tone(1, 1000*frames, 16, 0)
	head, body := s.head(), []byte(nil)
	s.rate = 44100
	for i := range frames {
		body = append(body, s.coded(int64(i), 0, verbatim, x[1000*i:][:1000])...)
	}
	w := workerOf(t, Config{Channels: 1})
	defer w.Close()
	for range 2 {
		for _, head := range [][]byte{s.head(), head} {
			wave, _, err := w.Wave(Source{Bytes: slices.Concat(head, body)}, Draw{})
			if err != nil || wave.Rate != 44100 {
				t.Fatalf("%d Hz, %v", wave.Rate, err)
			}
			compare(t, wave.Data, floatsOfInts(16, x), 0)
		}
	}
}

// A file cut anywhere, or with bits flipped, its checksums wrong or right, is a row or a named cause: never a crash, never endless.
func TestDamagedFilesAreRowsOrNamed(t *testing.T) {
	op, _ := Compile(Config{Channels: 1, Length: 30000, Rate: 16000, Budget: time.Minute})
	w, _ := op.NewWorker()
	defer w.Close()
	row := Row{Data: make([]byte, op.RowBytes())}
	causes := map[string]int{}
	try := func(name string, data []byte) {
		_, err := w.Decode(row, Source{Bytes: data}, Draw{})
		wantNamed(t, name, err)
		var named interface{ Cause() string }
		if errors.As(err, &named) {
			causes[named.Cause()]++
		}
	}
	names := []string{"signal.wav"}
	for name := range codedFiles(t) {
		names = append(names, name)
	}
	for _, name := range names {
		data := testdata(t, name)
		n := damage.Count(150)
		damage.Cuts(data, n, func(what string, bad []byte) { try(name+" "+what, bad) })
		damage.Flips(data, n, func(what string, bad []byte) { try(name+" "+what, bad) })
	}
	if causes[CauseTruncated]+causes["corrupt"] < 50 {
		t.Errorf("hardly anything was refused: %v", causes)
	}
}

// A FLAC, an MP3 or an MP4 that was cut says so instead of giving a shorter row.
func TestCutFilesAreTruncated(t *testing.T) {
	for _, name := range []string{"mono.flac", "lame.mp3", "mono.m4a", "opus.ogg"} {
		data := testdata(t, name)
		op, _ := Compile(Config{Channels: 1, Length: 30000})
		w, _ := op.NewWorker()
		_, err := w.Decode(Row{Data: make([]byte, op.RowBytes())}, Source{Bytes: data[:len(data)*7/10]}, Draw{})
		var named interface{ Cause() string }
		if !errors.As(err, &named) || named.Cause() != CauseTruncated && named.Cause() != CauseCorrupt {
			t.Errorf("%s: %v", name, err)
		}
		w.Close()
	}
}

// Probe says what a sample is without decoding it.
func TestProbeSaysWhatAStreamIs(t *testing.T) {
	for name, want := range map[string]Stream{
		"signal.wav": {"wav", "pcm_s16le", 8000, 2, 3999, 3999.0 / 8000, 0}, "adpcm.wav": {"wav", "adpcm_ms", 16000, 1, -1, 8077.0 / 16000, 0},
		"lame.mp3": {"mp3", "mp3", 44100, 1, 22127, 22127.0 / 44100, 0}, "mono.m4a": {"mov", "aac", 44100, 1, 22528, 22528.0 / 44100, 0}, "opus.ogg": {"ogg", "opus", 48000, 2, -1, 0.5, 0},
		"mono.flac": {"flac", "flac", 16000, 1, 8077, 8077.0 / 16000, 0},
	} {
		got, err := Probe(Source{Path: "testdata/" + name})
		seconds := got.Seconds - want.Seconds
		got.Seconds, want.Seconds = 0, 0
		if err != nil || got != want || math.Abs(seconds) > 0.06 {
			t.Errorf("%s: %+v, %v seconds off, %v", name, got, seconds, err)
		}
	}
	if _, err := Probe(Source{}); err == nil {
		t.Error("nothing was probed")
	}
}

// What lies behind the last frame that a header counts (padding, tags, another file) is no sound and no damage.
func TestJunkBehindTheEndIsPassedOver(t *testing.T) {
	files := codedFiles(t)
	op, _ := Compile(Config{})
	w, _ := op.NewWorker()
	defer w.Close()
	for _, name := range []string{"lame.mp3", "mono.flac", "opus.ogg", "mono.m4a"} {
		data := testdata(t, name)
		for what, junk := range map[string][]byte{"zeros": make([]byte, 150), "a tag": append([]byte("TAG"), make([]byte, 125)...), "text": bytes.Repeat([]byte("junk "), 30)} {
			wave, _, err := w.Wave(Source{Bytes: append(bytes.Clone(data), junk...)}, Draw{})
			if err != nil || int64(wave.Frames) != files[name].Frames {
				t.Errorf("%s and %s: %d frames, want %d: %v", name, what, wave.Frames, files[name].Frames, err)
			}
		}
	}
}

// FFmpeg makes as much room for a text about a WAV or an AVI as its list claims to hold, wherever it stands: more than there can be
// is refused before.
func TestTextsThatClaimGigabytesAreRefused(t *testing.T) {
	const much = "more than the limits: it has texts of 1879048192 bytes about it in a source of "
	w := workerOf(t, Config{Filter: "anull"}) // by FFmpeg, whatever it is
	defer w.Close()
	data := testdata(t, "adpcm.wav")
	chunk := func(name string, size uint32, body string) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte(name), size), body...)
	}
	info := func(size uint32) []byte { return chunk("LIST", size, "INFOISFT\x04\x00\x00\x00Lavf") }
	first := func(magic string) []byte {
		return slices.Concat([]byte(magic), data[4:12], chunk("ds64", 28, string(make([]byte, 28))))
	}
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"in front":               {slices.Concat(data[:12], info(7<<28), data[12:]), much},
		"behind":                 {slices.Concat(data, info(7<<28)), much},
		"behind another list":    {slices.Concat(data[:12], chunk("LIST", 6, "adtl\x00\x00"), info(7<<28), data[12:]), much},
		"of RF64":                {slices.Concat(first("RF64"), info(7<<28), data[12:]), much},
		"that are there":         {slices.Concat(data[:12], info(16), data[12:]), ""},
		"that are there, behind": {slices.Concat(data, info(16)), ""},
		"cut":                    {slices.Concat(data, info(100<<10)), ""},
	} {
		_, _, err := w.Wave(Source{Bytes: c.data}, Draw{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
}

// Bytes of no audio, pictures, and nothing at all are refused by name.
func TestWhatIsNotAudioIsRefused(t *testing.T) {
	cfg := Config{Channels: 1, Length: 10}
	refused(t, cfg, Source{}, CauseEmpty)
	refused(t, cfg, Source{Bytes: bytes.Repeat([]byte("no sound in here. "), 100)}, "not_media")
	page := refused(t, cfg, Source{Bytes: []byte("<!DOCTYPE html>\n<html>\"404\"</html>")}, "not_media")
	if want := `it begins with "<!DOCTYPE ht"`; !strings.HasSuffix(page.Error(), want) {
		t.Errorf("got %q, want it to end with %s", page, want)
	}
	refused(t, cfg, Source{Path: "testdata/none.wav"}, CauseRead)
	refused(t, cfg, Source{Path: "testdata"}, CauseRead)
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	picture := refused(t, cfg, Source{Bytes: encoded.Bytes()}, "unsupported")
	if want := "it is a picture (PNG), which the section image reads, in Python spdl.io.load_image"; !strings.HasSuffix(picture.Error(), want) {
		t.Errorf("got %q, want it to end with %s", picture, want)
	}
}

// More frames than the limit are refused before memory is taken for them.
func TestMaxFramesBoundsWhatIsDecoded(t *testing.T) {
	err := refused(t, Config{Channels: 1, Length: 100000, MaxFrames: 5000}, Source{Path: "testdata/mono.flac"}, CauseTooLarge)
	if !strings.Contains(err.Error(), "5000") || !strings.Contains(err.Error(), "max_frames") {
		t.Error(err)
	}
}

// Swresample gives the same length as the sinc methods and, in the middle of a low tone, nearly the same signal.
func TestSwresampleIsTheNamedAlternative(t *testing.T) {
	x := make([]float32, 44100)
	for i := range x {
		x[i] = float32(0.5 * math.Sin(2*math.Pi*440*float64(i)/44100))
	}
	src := Source{Bytes: floatWAV(44100, x)}
	cfg := Config{Rate: 16000, Channels: 2, Length: 16000}
	sinc, a := decoded(t, cfg, src, Draw{})
	cfg.Resample.Method = SWResample
	swr, b := decoded(t, cfg, src, Draw{})
	if a.Samples != b.Samples {
		t.Fatalf("%d frames, %d with swresample", a.Samples, b.Samples)
	}
	compare(t, swr[500:15500], sinc[500:15500], 2e-3)
	compare(t, swr[16000:], swr[:16000], 0)
	cfg.Length, cfg.Crop = 1000, CropCentre
	crop, _ := decoded(t, cfg, src, Draw{})
	compare(t, crop[:1000], swr[7500:8500], 0)
}

// Twelve thousand samples, good and bad, leave no memory and no descriptors behind.
func TestNothingIsLeftBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	op, _ := Compile(Config{Channels: 1, Length: 8077, Crop: CropStart})
	w, _ := op.NewWorker()
	defer w.Close()
	row := Row{Data: make([]byte, op.RowBytes())}
	data := testdata(t, "lame.mp3")
	err := leak.After(2000, 512<<10, func(i int) {
		src := Source{Bytes: data}
		switch i % 4 {
		case 1:
			src = Source{Path: "testdata/adpcm.wav"}
		case 2:
			src.Bytes = data[:200+i%1000]
		case 3:
			src = Source{Path: "testdata/signal.wav"}
		}
		w.Decode(row, src, Draw{})
	})
	if err != nil {
		t.Error(err)
	}
}

// FuzzDecode: no bytes crash FFmpeg's side, with a filter or without, and what fails has a cause.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"adpcm.wav", "delay.mka", "lame.mp3", "mono.m4a", "opus.ogg"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	var workers []*Worker
	for _, filter := range []string{"", "aresample=8000,volume=0.5"} {
		workers = append(workers, workerOf(f, Config{Channels: 1, Length: 8000, Rate: 16000, Crop: CropStart, MaxFrames: 1 << 20, Budget: 5 * time.Second, Filter: filter}))
	}
	row := Row{Data: make([]byte, workers[0].op.RowBytes())}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, w := range workers {
			_, err := w.Decode(row, Source{Bytes: b}, Draw{})
			wantNamed(t, "fuzzed", err)
			if w.op.cfg.Filter == "" {
				_, err = w.Decode(row, Source{Bytes: b, Shown: &[2]float64{-0.1, 0.6}}, Draw{})
				wantNamed(t, "fuzzed, by its clock", err)
			}
		}
	})
}
