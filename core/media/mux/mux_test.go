//go:build !noffmpeg

package mux

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/video"
)

// pictures are smooth, with something that moves: n of [h, w, c].
func pictures(n, w, h, c int) []byte {
	out := make([]byte, 0, n*w*h*c)
	for t := range n {
		for y := range h {
			for x := range w {
				for k := range c {
					v := 128 + 60*math.Sin(float64(x+3*t)/9+float64(k)) + 50*math.Cos(float64(y-2*t)/11)
					out = append(out, byte(v))
				}
			}
		}
	}
	return out
}

// tone is n frames of 16-bit values, as floats.
func tone(n, channels int) []float32 {
	out := make([]float32, 0, n*channels)
	for i := range n {
		for c := range channels {
			out = append(out, float32(math.Round(9000*math.Sin(float64(i)*0.05*float64(c+1))))/32768)
		}
	}
	return out
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeVideo makes a file of one track.
func writeVideo(t *testing.T, path string, cfg Config, v Video, frames []byte) {
	t.Helper()
	m := must[*Muxer](t)(Create(path, cfg))
	defer m.Abort()
	track := must[*VideoTrack](t)(m.AddVideo(v))
	ok(t, track.Write(frames))
	ok(t, m.Close())
}

// readVideo is all frames of a file and their times.
func readVideo(t *testing.T, path string, c video.Colour) ([]byte, []float64) {
	t.Helper()
	src := video.Source{Path: path}
	index, s, err := video.Scan(src)
	ok(t, err)
	op := must[*video.Op](t)(video.Compile(video.Config{
		Image: media.Config{Out: media.Size{H: s.Height, W: s.Width}}, Frames: index.Len(), Select: video.Selection{Kind: video.All}, Colour: c,
	}))
	w := must[*video.Worker](t)(op.NewWorker())
	defer w.Close()
	row := video.Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames()), Duration: make([]float64, op.Frames())}
	must[video.Info](t)(w.Decode(row, src, video.Draw{}))
	return row.Data, row.PTS
}

func psnr(t *testing.T, a, b []byte) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d bytes came back, want %d", len(b), len(a))
	}
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(a))/max(sum, 1e-9))
}

// What a lossless codec stores comes back bit for bit, whatever the container; sizes may be odd.
func TestLosslessVideoComesBackBitForBit(t *testing.T) {
	for _, c := range []struct {
		file string
		v    Video
	}{
		{"a.mkv", Video{Codec: "ffv1"}},
		{"a.nut", Video{Codec: "rawvideo", PixelFormat: "rgb24"}},
		{"a.avi", Video{Codec: "png"}},
		{"a.mov", Video{Codec: "qtrle"}},
		{"a.mp4", Video{Codec: "libx264rgb", Options: map[string]string{"qp": "0"}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			c.v.Width, c.v.Height, c.v.Rate = 63, 47, Rational{30000, 1001}
			frames := pictures(7, 63, 47, 3)
			path := filepath.Join(t.TempDir(), c.file)
			writeVideo(t, path, Config{}, c.v, frames)
			got, times := readVideo(t, path, video.Torchcodec)
			if !bytes.Equal(got, frames) {
				t.Fatalf("frames differ: PSNR %.1f", psnr(t, frames, got))
			}
			for i, s := range times {
				if math.Abs(s-float64(i)*1001/30000) > 0.001 { // Matroska counts milliseconds
					t.Errorf("frame %d at %g s", i, s)
				}
			}
		})
	}
}

// A lossy codec's pictures are near; each bound is some dB under what was measured.
func TestLossyVideoComesBackNear(t *testing.T) {
	for _, c := range []struct {
		file  string
		v     Video
		bound float64
	}{
		{"a.mp4", Video{Codec: "libx264", Options: map[string]string{"crf": "12"}}, 42},
		{"b.mp4", Video{Codec: "libx264", PixelFormat: "yuv444p", Options: map[string]string{"crf": "12"}}, 42},
		{"a.avi", Video{Codec: "mpeg4", Quality: 2}, 42},
		{"a.mkv", Video{Codec: "mjpeg"}, 42},
		{"a.webm", Video{Codec: "vp8", BitRate: 2e6}, 42},
		{"c.mp4", Video{Codec: "h264", BitRate: 2e6, Threads: 2}, 42},
	} {
		t.Run(c.file, func(t *testing.T) {
			c.v.Width, c.v.Height, c.v.Rate = 128, 96, Rational{25, 1}
			frames := pictures(12, 128, 96, 3)
			path := filepath.Join(t.TempDir(), c.file)
			writeVideo(t, path, Config{}, c.v, frames)
			got, _ := readVideo(t, path, video.Accurate)
			if p := psnr(t, frames, got); p < c.bound {
				t.Errorf("PSNR %.1f dB, want at least %g", p, c.bound)
			} else {
				t.Logf("PSNR %.1f dB", p)
			}
		})
	}
}

// Frames keep the times they were given, however uneven those are.
func TestUnevenTimesComeBack(t *testing.T) {
	want := []float64{0, 0.04, 0.05, 0.5, 0.75, 2, 2.001, 7.25}
	for _, file := range []string{"a.mp4", "a.mkv", "a.mov"} {
		path := filepath.Join(t.TempDir(), file)
		m := must[*Muxer](t)(Create(path, Config{}))
		track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "libx264", Width: 64, Height: 48}))
		frames := pictures(len(want), 64, 48, 3)
		ok(t, track.WriteAt(frames[:3*64*48*3], want[:3]))
		ok(t, track.WriteAt(frames[3*64*48*3:], want[3:]))
		ok(t, m.Close())
		_, got := readVideo(t, path, video.Torchcodec)
		if len(got) != len(want) {
			t.Fatalf("%s: %d frames, want %d", file, len(got), len(want))
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.0006 {
				t.Errorf("%s: frame %d at %g s, want %g", file, i, got[i], want[i])
			}
		}
	}
}

// Grey pictures, and planes of YUV in the stored format, go in as they are.
func TestOtherInputsAreStored(t *testing.T) {
	dir := t.TempDir()
	grey := pictures(3, 33, 21, 1)
	writeVideo(t, dir+"/grey.mkv", Config{}, Video{Codec: "ffv1", Width: 33, Height: 21, Rate: Rational{10, 1}, Input: "gray"}, grey)
	got, _ := readVideo(t, dir+"/grey.mkv", video.Torchcodec)
	for i, v := range grey {
		if got[3*i] != v || got[3*i+1] != v || got[3*i+2] != v {
			t.Fatalf("pixel %d is %v, want %d", i, got[3*i:3*i+3], v)
		}
	}
	planes := pictures(1, 32, 24+12, 1) // Y, then U and V
	m := must[*Muxer](t)(New(io.Discard, Config{Format: "rawvideo"}))
	m.Abort()
	var out bytes.Buffer
	m = must[*Muxer](t)(New(&out, Config{Format: "rawvideo"}))
	track := must[*VideoTrack](t)(m.AddVideo(Video{Width: 32, Height: 24, Rate: Rational{10, 1}, Input: "yuv420p", PixelFormat: "yuv420p"}))
	ok(t, track.Write(planes))
	ok(t, m.Close())
	if !bytes.Equal(out.Bytes(), planes) {
		t.Errorf("%d bytes of raw video, other than the %d written", out.Len(), len(planes))
	}
}

func readAudio(t *testing.T, src audio.Source) (audio.Wave, audio.Info) {
	t.Helper()
	w := must[*audio.Worker](t)(must[*audio.Op](t)(audio.Compile(audio.Config{})).NewWorker())
	t.Cleanup(w.Close)
	wave, info, err := w.Wave(src, audio.Draw{})
	ok(t, err)
	return wave, info
}

// 16-bit samples come back bit for bit from lossless codecs, of any number of channels, written interleaved or in planes.
func TestLosslessAudioComesBackBitForBit(t *testing.T) {
	for _, c := range []struct {
		file string
		a    Audio
	}{
		{"a.wav", Audio{}},
		{"b.wav", Audio{Codec: "pcm_f32le"}},
		{"a.flac", Audio{SampleFormat: "s16"}},
		{"a.mkv", Audio{Codec: "flac"}},
		{"a.aiff", Audio{}},
		{"a.m4a", Audio{Codec: "alac", SampleFormat: "s16"}},
		{"a.tta", Audio{SampleFormat: "s16"}},
	} {
		for channels := 1; channels <= 2; channels++ {
			t.Run(fmt.Sprint(c.file, channels), func(t *testing.T) {
				c.a.Rate, c.a.Channels = 22050, channels
				samples := tone(40001, channels)
				path := filepath.Join(t.TempDir(), c.file)
				m := must[*Muxer](t)(Create(path, Config{}))
				track := must[*AudioTrack](t)(m.AddAudio(c.a))
				ok(t, track.Write(samples[:1001*channels]))
				planes := make([][]float32, channels)
				for i, v := range samples[1001*channels:] {
					planes[i%channels] = append(planes[i%channels], v)
				}
				ok(t, track.WritePlanar(planes))
				ok(t, m.Close())
				wave, _ := readAudio(t, audio.Source{Path: path})
				if wave.Frames != 40001 || wave.Channels != channels || wave.Rate != 22050 {
					t.Fatalf("%d frames of %d channels at %d Hz", wave.Frames, wave.Channels, wave.Rate)
				}
				for i, v := range samples {
					if got := wave.Data[i%channels*wave.Frames+i/channels]; got != v {
						t.Fatalf("sample %d is %g, want %g", i, got, v)
					}
				}
			})
		}
	}
}

// An encoder's delay is trimmed where the container tells of it, and the tone is there.
func TestLossyAudioComesBackInItsPlace(t *testing.T) {
	for _, c := range []struct {
		file string
		a    Audio
	}{{"a.m4a", Audio{BitRate: 192000}}, {"a.mp3", Audio{BitRate: 192000}}, {"a.opus", Audio{BitRate: 192000}}} {
		c.a.Rate, c.a.Channels = 48000, 1
		samples := tone(48000, 1)
		path := filepath.Join(t.TempDir(), c.file)
		m := must[*Muxer](t)(Create(path, Config{}))
		ok(t, must[*AudioTrack](t)(m.AddAudio(c.a)).Write(samples))
		ok(t, m.Close())
		wave, _ := readAudio(t, audio.Source{Path: path})
		if wave.Frames < 48000 || wave.Frames > 48000+2048 {
			t.Fatalf("%s: %d frames, want 48000 and less than a packet more", c.file, wave.Frames)
		}
		var noise, signal float64
		for i := 2000; i < 46000; i++ {
			d := float64(wave.Data[i] - samples[i])
			noise, signal = noise+d*d, signal+float64(samples[i]*samples[i])
		}
		if snr := 10 * math.Log10(signal/noise); snr < 20 {
			t.Errorf("%s: %.1f dB over the noise, want 20", c.file, snr)
		}
	}
}

// The same calls make the same file.
func TestSameInputIsTheSameFile(t *testing.T) {
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "a.mkv")
		writeVideo(t, path, Config{}, Video{Codec: "libx264", Width: 64, Height: 48, Rate: Rational{25, 1}}, pictures(5, 64, 48, 3))
		files[i] = must[[]byte](t)(os.ReadFile(path))
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of the same frames differ")
	}
}

// Buffer, Create and a writer get the same bytes where the format needs no seeking.
func TestMemoryFileAndWriterGetTheSameBytes(t *testing.T) {
	cfg := Config{Format: "mpegts"}
	fill := func(m *Muxer, err error) {
		t.Helper()
		ok(t, err)
		track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "mpeg2video", Width: 64, Height: 48, Rate: Rational{25, 1}}))
		ok(t, track.Write(pictures(5, 64, 48, 3)))
		ok(t, m.Close())
	}
	path := filepath.Join(t.TempDir(), "a.ts")
	var inMemory []byte
	var written bytes.Buffer
	fill(Create(path, cfg))
	fill(New(&written, cfg))
	fill(Buffer(cfg, func(b []byte) error { inMemory = slices.Clone(b); return nil }))
	file := must[[]byte](t)(os.ReadFile(path))
	if len(file) == 0 || !bytes.Equal(file, inMemory) || !bytes.Equal(file, written.Bytes()) {
		t.Errorf("%d bytes in the file, %d in memory, %d written", len(file), len(inMemory), written.Len())
	}
}

// mp4 in memory, with its index moved to the front, reads as any file does.
func TestIndexMovesToTheFront(t *testing.T) {
	for _, cfg := range []Config{{Format: "mp4"}, {Format: "mp4", Options: map[string]string{"movflags": "+faststart"}}} {
		var file []byte
		m := must[*Muxer](t)(Buffer(cfg, func(b []byte) error { file = slices.Clone(b); return nil }))
		track := must[*VideoTrack](t)(m.AddVideo(Video{Width: 64, Height: 48, Rate: Rational{25, 1}}))
		ok(t, track.Write(pictures(25, 64, 48, 3)))
		ok(t, m.Close())
		s := must[video.Stream](t)(video.Probe(video.Source{Bytes: file}))
		front := bytes.Index(file, []byte("moov")) < bytes.Index(file, []byte("mdat"))
		if s.Frames != 25 || front != (cfg.Options != nil) {
			t.Errorf("%v: %d frames, index in front: %v", cfg.Options, s.Frames, front)
		}
	}
}

// refuses holds an error to its cause and words.
func refuses(t *testing.T, err error, cause string, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Cause() != cause {
		t.Fatalf("error %v, want the cause %s", err, cause)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

// What cannot be written is refused by name when it is asked for, and the directory stays empty.
func TestRefusalsAreNamed(t *testing.T) {
	good := Video{Codec: "libx264", Width: 64, Height: 48, Rate: Rational{25, 1}}
	with := func(change func(*Video)) Video { v := good; change(&v); return v }
	for _, c := range []struct {
		file  string
		v     Video
		cause string
		words []string
	}{
		{"a.mp4", with(func(v *Video) { v.Codec = "quantum" }), CauseUnsupported, []string{"knows no encoder quantum"}},
		{"a.mp4", with(func(v *Video) { v.Codec = "h263i" }), CauseUnsupported, []string{"no encoder for h263i"}},
		{"a.mp4", with(func(v *Video) { v.Codec = "aac" }), CauseInvalid, []string{"aac is no video codec"}},
		{"a.webm", good, CauseUnsupported, []string{"webm does not hold h264"}},
		{"a.wav", with(func(v *Video) { v.Codec = "" }), CauseUnsupported, []string{"wav does not hold tracks of this kind"}},
		{"a.mp4", with(func(v *Video) { v.Width = 63 }), CauseUnsupported, []string{"63x48", "even sizes"}},
		{"a.mp4", with(func(v *Video) { v.Width = 0 }), CauseInvalid, []string{"0x48"}},
		{"a.mp4", with(func(v *Video) { v.Height = -2 }), CauseInvalid, []string{"64x-2"}},
		{"a.mp4", with(func(v *Video) { v.Width = 1 << 24 }), CauseInvalid, []string{"16777216x48"}},
		{"a.mp4", with(func(v *Video) { v.Rate = Rational{25, 0} }), CauseInvalid, []string{"25/0"}},
		{"a.mp4", with(func(v *Video) { v.TimeBase = Rational{0, 3} }), CauseInvalid, []string{"time base of 0/3"}},
		{"a.mp4", with(func(v *Video) { v.Input = "rgb25" }), CauseInvalid, []string{"rgb25"}},
		{"a.mp4", with(func(v *Video) { v.PixelFormat = "yuv999" }), CauseInvalid, []string{"yuv999"}},
		{"a.mp4", with(func(v *Video) { v.PixelFormat = "rgb24" }), CauseUnsupported, []string{"libx264 does not store rgb24", "yuv420p"}},
		{"a.mp4", with(func(v *Video) { v.Options = map[string]string{"crff": "3"} }), CauseInvalid, []string{`no option "crff"`}},
		{"a.mp4", with(func(v *Video) { v.Options = map[string]string{"crf": "many"} }), CauseUnsupported, []string{"many"}},
	} {
		dir := t.TempDir()
		m := must[*Muxer](t)(Create(filepath.Join(dir, c.file), Config{}))
		_, err := m.AddVideo(c.v)
		refuses(t, err, c.cause, append(c.words, c.file)...)
		m.Abort()
		isEmpty(t, dir)
	}
}

func isEmpty(t *testing.T, dir string) {
	t.Helper()
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		t.Errorf("%s is left behind", e.Name())
	}
}

func TestSoundThatCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		file  string
		a     Audio
		cause string
		words string
	}{
		{"a.wav", Audio{Rate: 0, Channels: 1}, CauseInvalid, "1 channels at 0 Hz"},
		{"a.wav", Audio{Rate: 8000, Channels: 0}, CauseInvalid, "0 channels"},
		{"a.wav", Audio{Rate: 8000, Channels: 65}, CauseInvalid, "65 channels"},
		{"a.mp3", Audio{Rate: 12345, Channels: 1}, CauseUnsupported, "12345"},
		{"a.flac", Audio{Rate: 8000, Channels: 1, SampleFormat: "flt"}, CauseUnsupported, "flac does not store flt; one that it does is s16"},
		{"a.flac", Audio{Rate: 8000, Channels: 1, SampleFormat: "s17"}, CauseInvalid, "s17"},
		{"a.wav", Audio{Rate: 8000, Channels: 1, Codec: "ffv1"}, CauseInvalid, "ffv1 is no audio codec"},
	} {
		dir := t.TempDir()
		m := must[*Muxer](t)(Create(filepath.Join(dir, c.file), Config{}))
		_, err := m.AddAudio(c.a)
		refuses(t, err, c.cause, c.words)
		m.Abort()
		isEmpty(t, dir)
	}
}

func TestContainersThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		file, format, words string
	}{
		{"a.nothing", "", "no container of this FFmpeg's has such a name"},
		{"a", "", "no container"},
		{"a.mp4", "vhs", `writes no container "vhs"`},
		{"a%d.png", "", "files of its own"},
		{"a.m3u8", "", "files of its own"},
	} {
		_, err := Create(filepath.Join(dir, c.file), Config{Format: c.format})
		refuses(t, err, CauseUnsupported, c.words)
	}
	_, err := New(io.Discard, Config{})
	refuses(t, err, CauseUnsupported, "give a format")
	_, err = Create(filepath.Join(dir, "missing", "a.mp4"), Config{})
	refuses(t, err, CauseWrite, "no such file")
	isEmpty(t, dir)
}

// Writes that make no sense are refused, and the container goes on.
func TestWritesThatMakeNoSenseAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mkv")
	m := must[*Muxer](t)(Create(path, Config{}))
	defer m.Abort()
	track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "ffv1", Width: 8, Height: 8}))
	sound := must[*AudioTrack](t)(m.AddAudio(Audio{Codec: "flac", Rate: 8000, Channels: 2}))
	one := pictures(1, 8, 8, 3)
	refuses(t, track.Write(one), CauseInvalid, "without a rate")
	refuses(t, track.WriteAt(one[:100], []float64{0}), CauseInvalid, "100 bytes", "192 for each, 8x8 of rgb24")
	refuses(t, track.WriteAt(one, nil), CauseInvalid, "0 times for 1 frames")
	refuses(t, track.WriteAt(one, []float64{math.NaN()}), CauseInvalid, "time 0 is NaN")
	refuses(t, sound.Write(make([]float32, 3)), CauseInvalid, "3 samples")
	refuses(t, sound.WritePlanar(make([][]float32, 1)), CauseInvalid, "1 channels, want 2")
	refuses(t, sound.WritePlanar([][]float32{{0}, {}}), CauseInvalid, "channel 1 of 0 samples")
	ok(t, track.WriteAt(one, []float64{1}))
	_, err := m.AddVideo(Video{Codec: "ffv1", Width: 8, Height: 8})
	refuses(t, err, CauseInvalid, "before the first write")
	ok(t, m.Close())
	if _, times := readVideo(t, path, video.Torchcodec); len(times) != 1 {
		t.Errorf("%d frames", len(times))
	}
}

// A write that fails midway ends the container, and leaves nothing.
func TestTimesThatDoNotGrowEndTheContainer(t *testing.T) {
	dir := t.TempDir()
	m := must[*Muxer](t)(Create(filepath.Join(dir, "a.mkv"), Config{}))
	track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "ffv1", Width: 8, Height: 8}))
	err := track.WriteAt(pictures(2, 8, 8, 3), []float64{0.5, 0.5})
	refuses(t, err, CauseInvalid, "0.5 s after one at 0.5 s", "times that grow")
	if again := track.WriteAt(pictures(1, 8, 8, 3), []float64{2}); again != err {
		t.Errorf("the next write returns %v", again)
	}
	if closed := m.Close(); closed != err {
		t.Errorf("Close returns %v", closed)
	}
	isEmpty(t, dir)
}

func TestNothingIsWrittenAfterClose(t *testing.T) {
	for _, end := range []func(*Muxer){(*Muxer).Abort, func(m *Muxer) { m.Close() }} {
		m := must[*Muxer](t)(Create(filepath.Join(t.TempDir(), "a.mkv"), Config{}))
		track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "ffv1", Width: 8, Height: 8, Rate: Rational{25, 1}}))
		sound := must[*AudioTrack](t)(m.AddAudio(Audio{Codec: "flac", Rate: 8000, Channels: 1}))
		end(m)
		_, err := m.AddVideo(Video{})
		for _, err := range []error{err, track.Write(nil), sound.Write(nil)} {
			refuses(t, err, CauseClosed, "it is closed")
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%v is not ErrClosed", err)
			}
		}
		ok(t, m.Close())
		m.Abort()
	}
}

func TestEmptyAndUnknownOptionsAreRefusedAtTheFirstWrite(t *testing.T) {
	dir := t.TempDir()
	m := must[*Muxer](t)(Create(dir+"/a.mkv", Config{}))
	refuses(t, m.Close(), CauseInvalid, "it has no tracks")
	m = must[*Muxer](t)(Create(dir+"/a.mp4", Config{Options: map[string]string{"movflag": "x"}}))
	must[*VideoTrack](t)(m.AddVideo(Video{Width: 8, Height: 8, Rate: Rational{25, 1}}))
	refuses(t, m.Close(), CauseInvalid, `mp4 has no option "movflag"`)
	isEmpty(t, dir)
}

// A full disk is a named error of the system's, in a file as in a device, early or at the end.
func TestFullDiskIsNamed(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full: ", err)
	}
	device := func(Config) (*Muxer, error) { return Create("/dev/full", Config{Format: "mpegts"}) }
	file := func(cfg Config) (*Muxer, error) {
		f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		return newMuxer("full.ts", Config{Format: "mpegts"}, &full{regular{file: f}})
	}
	for name, create := range map[string]func(Config) (*Muxer, error){"device": device, "file": file} {
		for _, n := range []int{1, 100} {
			m := must[*Muxer](t)(create(Config{}))
			track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "mpeg2video", Width: 64, Height: 48, Rate: Rational{25, 1}}))
			err := track.Write(pictures(n, 64, 48, 3))
			if closed := m.Close(); err == nil {
				err = closed
			}
			refuses(t, err, CauseWrite, "no space left on device")
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v is not ENOSPC", name, err)
			}
		}
	}
}

// full is a file whose disk is full; its name is not ours to remove.
type full struct{ regular }

func (f *full) abandon()      { f.file.Close() }
func (f *full) finish() error { return f.file.Close() }

type broken struct{}

var errBroken = errors.New("the cable is cut")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWritersErrorIsTheCause(t *testing.T) {
	m := must[*Muxer](t)(New(broken{}, Config{Format: "mpegts"}))
	track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "mpeg2video", Width: 64, Height: 48, Rate: Rational{25, 1}}))
	track.Write(pictures(3, 64, 48, 3))
	err := m.Close()
	refuses(t, err, CauseWrite, "the cable is cut")
	if !errors.Is(err, errBroken) {
		t.Errorf("%v is not the writer's", err)
	}
	m = must[*Muxer](t)(New(io.Discard, Config{Format: "mp4"}))
	must[*VideoTrack](t)(m.AddVideo(Video{Width: 64, Height: 48, Rate: Rational{25, 1}}))
	refuses(t, m.Close(), CauseUnsupported, "muxer does not support non seekable output")
}

// A file is there when it is whole; what was there stays until then, and has the mode that a new file has.
func TestFileAppearsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.nut")
	ok(t, os.WriteFile(path, []byte("before"), 0o600))
	m := must[*Muxer](t)(Create(path, Config{}))
	track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "rawvideo", Width: 64, Height: 48, Rate: Rational{25, 1}}))
	ok(t, track.Write(pictures(50, 64, 48, 3)))
	if b := must[[]byte](t)(os.ReadFile(path)); string(b) != "before" {
		t.Errorf("before Close the file has %d bytes", len(b))
	}
	ok(t, m.Close())
	isAlone(t, path)
	if s := must[video.Stream](t)(video.Probe(video.Source{Path: path})); s.Width != 64 {
		t.Errorf("%+v", s)
	}
}

func isAlone(t *testing.T, path string) {
	t.Helper()
	for _, e := range must[[]os.DirEntry](t)(os.ReadDir(filepath.Dir(path))) {
		if e.Name() != filepath.Base(path) {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// Pictures of lossless formats come back bit for bit through another decoder.
func TestPicturesComeBack(t *testing.T) {
	dir := t.TempDir()
	pixels := pictures(1, 31, 17, 3)
	ok(t, Save(dir+"/a.png", pixels, Picture{Width: 31, Height: 17}))
	ok(t, Save(dir+"/a.jpg", pixels, Picture{Width: 31, Height: 17, PixelFormat: "yuvj444p", Quality: 1}))
	for file, bound := range map[string]float64{"a.png": 100, "a.jpg": 38} {
		f := must[*os.File](t)(os.Open(filepath.Join(dir, file)))
		img, _, err := image.Decode(f)
		f.Close()
		ok(t, err)
		var got []byte
		for y := range 17 {
			for x := range 31 {
				r, g, b, _ := img.At(x, y).RGBA()
				got = append(got, byte(r>>8), byte(g>>8), byte(b>>8))
			}
		}
		if p := psnr(t, pixels, got); p < bound {
			t.Errorf("%s: PSNR %.1f, want %g", file, p, bound)
		}
	}
	for codec, magic := range map[string]string{"bmp": "BM", "tiff": "II*\x00", "webp": "RIFF", "png": "\x89PNG", "mjpeg": "\xff\xd8"} {
		b := must[[]byte](t)(Encode(pixels, Picture{Codec: codec, Width: 31, Height: 17}))
		if !strings.HasPrefix(string(b), magic) {
			t.Errorf("%s begins with % x", codec, b[:8])
		}
	}
}

func TestSequenceIsNumberedFiles(t *testing.T) {
	dir := t.TempDir()
	frames := pictures(3, 16, 8, 3)
	s := must[*Images](t)(CreateImages(dir+"/%06d.png", 7, Picture{Width: 16, Height: 8}))
	ok(t, s.Write(frames[:2*16*8*3]))
	ok(t, s.Write(frames[2*16*8*3:]))
	for i := range 3 {
		want := must[[]byte](t)(Encode(frames[i*16*8*3:][:16*8*3], Picture{Codec: "png", Width: 16, Height: 8}))
		if got := must[[]byte](t)(os.ReadFile(fmt.Sprintf("%s/%06d.png", dir, 7+i))); !bytes.Equal(got, want) {
			t.Errorf("picture %d differs", i)
		}
	}
	if s.Next() != 10 {
		t.Errorf("next is %d", s.Next())
	}
}

func TestPicturesThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	p := Picture{Width: 16, Height: 8}
	for _, pattern := range []string{"a.png", "a%s.png", "%d-%d.png"} {
		_, err := CreateImages(dir+"/"+pattern, 0, p)
		refuses(t, err, CauseInvalid, "one number in the name")
	}
	_, err := CreateImages(dir+"/%d.doc", 0, p)
	refuses(t, err, CauseUnsupported, "no codec of pictures")
	s := must[*Images](t)(CreateImages(dir+"/%d.png", 0, p))
	refuses(t, s.Write(make([]byte, 7)), CauseInvalid, "7 bytes, want 384")
	refuses(t, Save(dir+"/a.png", make([]byte, 2*384), p), CauseInvalid, "768 bytes, want 384")
	refuses(t, Save(dir+"/no/a.png", make([]byte, 384), p), CauseWrite, "no such file")
	p.Codec = "libx264"
	_, err = Encode(make([]byte, 384), p)
	refuses(t, err, CauseUnsupported, "no pictures that stand alone")
	p.Options = map[string]string{"levle": "1"}
	_, err = Encode(make([]byte, 384), p)
	refuses(t, err, CauseInvalid, `no option "levle"`)
	isEmpty(t, dir)
}
