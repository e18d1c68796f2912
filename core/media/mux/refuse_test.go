//go:build !noffmpeg

package mux

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/video"
)

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
		{"a.ts", with(func(v *Video) { v.Codec = "libvpx-vp9" }), CauseUnsupported, []string{"mpegts does not hold vp9; choose another container or codec"}},
		{"a.ts", with(func(v *Video) { v.Codec = "mjpeg" }), CauseUnsupported, []string{"mpegts does not hold mjpeg"}},
		{"a.mpg", with(func(v *Video) { v.Codec = "ffv1" }), CauseUnsupported, []string{"mpeg does not hold ffv1"}},
		{"a.vob", with(func(v *Video) { v.Codec = "libvpx" }), CauseUnsupported, []string{"does not hold vp8"}},
		{"a.h264", with(func(v *Video) { v.Codec = "mpeg4" }), CauseUnsupported, []string{"h264 does not hold mpeg4"}},
		{"a.avi", with(func(v *Video) { v.Codec, v.PixelFormat = "rawvideo", "rgb24" }), CauseUnsupported, []string{"rawvideo does not store rgb24 in this container; its nearest is bgr24"}},
		{"a.mp4", with(func(v *Video) { v.Width = 63 }), CauseUnsupported, []string{"63x48", "even sizes"}},
		{"a.mp4", with(func(v *Video) { v.Width = 0 }), CauseInvalid, []string{"width: got 0, want 1 to"}},
		{"a.mp4", with(func(v *Video) { v.Height = -2 }), CauseInvalid, []string{"height: got -2, want 1 to"}},
		{"a.mp4", with(func(v *Video) { v.Width = 1 << 24 }), CauseInvalid, []string{"width: got 16777216, want 1 to"}},
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

// The options of a track that was refused are nobody's: neither the next track's nor the container's.
func TestOptionsOfARefusedTrackAreForgotten(t *testing.T) {
	own := map[string]string{"crf": "12"}
	refusals := map[string]func(m *Muxer) error{
		"a rate of nothing": func(m *Muxer) error {
			_, err := m.AddVideo(Video{Width: 64, Height: 48, Rate: Rational{25, 0}, Options: own})
			return err
		},
		"a sound of no channels": func(m *Muxer) error {
			_, err := m.AddAudio(Audio{Rate: 8000, Options: own})
			return err
		},
	}
	for what, refused := range refusals {
		t.Run(what, func(t *testing.T) {
			m := must[*Muxer](t)(Create(filepath.Join(t.TempDir(), "a.mp4"), Config{}))
			defer m.Abort()
			refuses(t, refused(m), CauseInvalid)
			track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "mpeg4", Width: 64, Height: 48, Rate: Rational{25, 1}}))
			refuses(t, refused(m), CauseInvalid)
			ok(t, track.Write(pictures(2, 64, 48, 3)))
			ok(t, m.Close())
		})
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
		{"a.mp3", Audio{Rate: 12345, Channels: 1}, CauseUnsupported, "does not store sound of 12345 Hz; resample it to one of 44100, 48000"},
		{"a.opus", Audio{Rate: 22050, Channels: 1}, CauseUnsupported, "libopus does not store sound of 22050 Hz; resample it to one of 48000, 24000"},
		{"a.ts", Audio{Rate: 44100, Channels: 1, Codec: "flac"}, CauseUnsupported, "mpegts does not hold flac"},
		{"a.mpg", Audio{Rate: 44100, Channels: 1, Codec: "libvorbis"}, CauseUnsupported, "mpeg does not hold vorbis"},
		{"a.nut", Audio{Rate: 44100, Channels: 1, Codec: "flac"}, CauseUnsupported, "nut does not hold flac"},
		{"a.wav", Audio{Rate: 44100, Channels: 1, Codec: "libvorbis"}, CauseUnsupported, "wav does not hold vorbis"},
		{"a.flac", Audio{Rate: 8000, Channels: 1, SampleFormat: "flt"}, CauseUnsupported, "flac does not store flt; one that it does is s32"},
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
	if want := fmt.Sprintf("mux: %q: no such file or directory; there is no directory %q", dir+"/missing/a.mp4", dir+"/missing"); err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
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

// LAME ends the process at NaN, other encoders make noise of it: refused by where it is, and what is written after it is all that the file has.
func TestSamplesThatAreNoNumbersAreRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, a := range []Audio{{Codec: "pcm_s16le"}, {Codec: "flac"}, {Codec: "libmp3lame"}, {Codec: "aac"}, {Codec: "libvorbis"}, {Codec: "wavpack", SampleFormat: "s32p"}} {
		for _, bad := range []float32{float32(math.NaN()), inf, -inf, 1025, -32768} {
			a.Rate, a.Channels = 44100, 2
			path := filepath.Join(t.TempDir(), "a.mkv")
			m := must[*Muxer](t)(Create(path, Config{}))
			track := must[*AudioTrack](t)(m.AddAudio(a))
			samples := tone(20000, 2)
			samples[2*17001+1] = bad
			words := fmt.Sprintf("sample 17001 of channel 1 is %g, want ", bad)
			refuses(t, track.Write(samples), CauseInvalid, words)
			refuses(t, track.WritePlanar([][]float32{tone(20000, 1), append(tone(17001, 1), bad)[:17002]}), CauseInvalid, "channel 1 of 17002 samples")
			refuses(t, track.WritePlanar([][]float32{tone(17002, 1), append(tone(17001, 1), bad)}), CauseInvalid, words)
			samples[2*17001+1] = 1024
			ok(t, track.Write(samples))
			ok(t, m.Close())
			if wave, _ := readAudio(t, audio.Source{Path: path}); wave.Frames < 20000 || wave.Frames >= 2*17001 {
				t.Errorf("%s: %d frames, want 20000 and the codec's own", a.Codec, wave.Frames)
			}
		}
	}
}

// Codecs that keep floats as they are keep all of them, bit for bit.
func TestFloatsAreStoredAsTheyAre(t *testing.T) {
	samples := tone(9000, 1)
	copy(samples[5000:], []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 32767, -1e30})
	for _, a := range []Audio{{Codec: "pcm_f32le"}, {Codec: "wavpack"}, {Codec: "pcm_f64le"}} {
		a.Rate, a.Channels = 44100, 1
		path := filepath.Join(t.TempDir(), "a.mkv")
		m := must[*Muxer](t)(Create(path, Config{}))
		ok(t, must[*AudioTrack](t)(m.AddAudio(a)).Write(samples))
		ok(t, m.Close())
		wave, _ := readAudio(t, audio.Source{Path: path})
		for i, v := range samples {
			if math.Float32bits(wave.Data[i]) != math.Float32bits(v) {
				t.Fatalf("%s: sample %d is %g, want %g", a.Codec, i, wave.Data[i], v)
			}
		}
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

// An encoder that is given up, at any moment, ends: that of SVT-AV1 waits for ever where it is not told.
func TestEncodersThatAreGivenUpEnd(t *testing.T) {
	for _, codec := range []string{"libsvtav1", "libaom-av1", "libvpx-vp9", "libx264"} {
		for _, c := range []struct {
			file   string
			frames int
			end    func(*Muxer)
		}{
			{"a.mkv", 0, (*Muxer).Abort}, {"a.mkv", 3, (*Muxer).Abort}, {"a.mkv", 0, func(m *Muxer) { m.Close() }}, {"a.mkv", 40, func(m *Muxer) { m.Close() }},
			{"a.mpg", 0, (*Muxer).Abort}, // which holds none but H.264
		} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				m, err := Create(filepath.Join(t.TempDir(), c.file), Config{})
				if err != nil {
					return
				}
				track, err := m.AddVideo(Video{Codec: codec, Width: 64, Height: 64, Rate: Rational{25, 1}})
				if err == nil {
					track.Write(pictures(c.frames, 64, 64, 3))
				}
				c.end(m)
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatalf("%s in %s, %d frames: it does not end", codec, c.file, c.frames)
			}
		}
	}
}

// A track of pictures without one is a file that nobody reads.
func TestATrackWithoutFramesIsRefused(t *testing.T) {
	for _, file := range []string{"a.mp4", "a.mkv", "a.avi"} {
		dir := t.TempDir()
		m := must[*Muxer](t)(Create(filepath.Join(dir, file), Config{}))
		track := must[*VideoTrack](t)(m.AddVideo(Video{Width: 8, Height: 8, Rate: Rational{25, 1}}))
		ok(t, track.Write(nil))
		refuses(t, m.Close(), CauseInvalid, "track 0 was given no frames; write one at least")
		isEmpty(t, dir)
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
