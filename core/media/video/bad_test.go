//go:build !noffmpeg

package video

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/tests/damage"
	"github.com/spdl/spdl/tests/leak"
)

func small() Config {
	return Config{Image: media.Config{Resize: media.Square(16)}, Select: Selection{Kind: Uniform, Count: 4}, Hardware: os.Getenv("SPDL_TEST_HARDWARE")}
}

func causeOf(err error) string {
	var caused interface{ Cause() string }
	if errors.As(err, &caused) {
		return caused.Cause()
	}
	return ""
}

// What is not a video we decode is refused with a cause and words of our own form.
func TestBadInputHasANamedCause(t *testing.T) {
	whole := file(t, "bframes.mp4").Bytes
	cut := whole[:len(whole)*2/3]
	gone := filepath.Join(t.TempDir(), "gone.mp4")
	for _, test := range []struct {
		name, want string
		src        Source
	}{
		{"nothing", av.CauseEmpty, Source{}},
		{"text", av.CauseNotMedia, Source{Bytes: []byte(strings.Repeat("not a video ", 500))}},
		{"zeros", av.CauseNotMedia, Source{Bytes: make([]byte, 100000)}},
		{"sound alone", av.CauseNoStream, file(t, "sound.m4a")},
		{"no frames", av.CauseCorrupt, file(t, "no_frames.mp4")},
		{"a cut file", av.CauseTruncated, Source{Bytes: cut}},
		{"a cut matroska", av.CauseTruncated, Source{Bytes: file(t, "irregular.mkv").Bytes[:2500]}},
		{"a missing file", av.CauseRead, Source{Path: gone}},
		{"a directory", av.CauseRead, Source{Path: t.TempDir()}},
		{"a playlist", av.CauseUnsupported, Source{Bytes: []byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n#EXT-X-ENDLIST\n")}},
		{"a list of files", av.CauseUnsupported, Source{Bytes: []byte("ffconcat version 1.0\nfile '/etc/passwd'\n")}},
	} {
		_, err := decode(t, small(), test.src, Draw{})
		if causeOf(err) != test.want {
			t.Errorf("%s: got cause %q (%v), want %q", test.name, causeOf(err), err, test.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "media: video: ") {
			t.Errorf("%s: got %q, want it to begin with where it was", test.name, err)
		}
	}
}

// A playlist's and a concatenation's files are not opened, nor a movie's references.
func TestAContainerOpensNoOtherFile(t *testing.T) {
	other, err := filepath.Abs("testdata/bframes.mp4")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n" + other + "\n#EXT-X-ENDLIST\n",
		"ffconcat version 1.0\nfile '" + other + "'\n",
		"<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><Period><AdaptationSet><Representation><BaseURL>" + other + "</BaseURL></Representation></AdaptationSet></Period></MPD>",
	} {
		if r, err := decode(t, small(), Source{Bytes: []byte(text)}, Draw{}); err == nil {
			t.Errorf("%.20q gave %d frames, want a refusal", text, r.info.Frames)
		}
	}
}

// Files cut anywhere, or with bits flipped, are rows or named causes. They are as many of each container as damage.Count says.
func TestDamagedFilesFailByName(t *testing.T) {
	files := golden(t)
	w := workerOf(t, small())
	defer w.Close()
	of := map[string]int{}
	for _, name := range names(files) {
		of[filepath.Ext(name)]++
	}
	refused := 0
	for _, name := range names(files) {
		try := func(what string, bad []byte) {
			_, err := decodeWith(w, Source{Bytes: bad}, Draw{})
			if err != nil && causeOf(err) == "" {
				t.Errorf("%s %s: %v has no cause", name, what, err)
			}
			if err != nil {
				refused++
			}
		}
		whole, n := file(t, name).Bytes, 1+damage.Count(200)/of[filepath.Ext(name)]
		damage.Cuts(whole, n, try)
		damage.Flips(whole, n, try)
	}
	if refused < damage.Count(200) {
		t.Errorf("hardly anything was refused: %d files", refused)
	}
}

// A frame that is damaged is not delivered as if it were whole.
func TestADamagedFrameIsAnError(t *testing.T) {
	b := file(t, "bframes.mp4").Bytes
	at := strings.Index(string(b), "mdat") + 8
	length := binary.BigEndian.Uint32(b[at-12:])
	for i := at + int(length)/2; i < at+int(length)/2+200; i++ {
		b[i] = 0xff
	}
	_, err := decode(t, asStored(golden(t)["bframes.mp4"], 40, Selection{}), Source{Bytes: b}, Draw{})
	if causeOf(err) != av.CauseCorrupt {
		t.Fatalf("got %v, want cause %q", err, av.CauseCorrupt)
	}
}

// The limits of pixels, packets, time and room are named with what to raise.
func TestLimitsAreNamed(t *testing.T) {
	src := file(t, "bframes.mp4")
	for _, test := range []struct {
		want  string
		words string
		set   func(*Config)
	}{
		{av.CauseTooManyPixels, "raise video.max_pixels", func(c *Config) { c.Image.MaxPixels = 1000 }},
		{av.CauseTooMuch, "packets", func(c *Config) { c.MaxPackets = 10 }},
		{av.CauseTooSlow, "budget", func(c *Config) { c.Budget = time.Nanosecond }},
		{CauseTooLarge, "raise video.frames", func(c *Config) { c.Frames, c.Select = 10, Selection{} }},
		{CauseSelect, "got index 40", func(c *Config) { c.Frames, c.Select = 0, Selection{Kind: AtIndices, Indices: []int{40}} }},
		{CauseSelect, "in the window from 7s to 8s; the video shows", func(c *Config) { c.Select.Window = &[2]float64{7, 8} }},
		{CauseSelect, "in the window from 7s on; the video shows", func(c *Config) { c.Select.Window = &[2]float64{7, math.Inf(1)} }},
		{av.CauseNoStream, "got stream 5, want a stream of video; there are 0 (video)", func(c *Config) { c.Stream = 6 }},
	} {
		cfg := small()
		test.set(&cfg)
		_, err := decode(t, cfg, src, Draw{})
		if causeOf(err) != test.want || !strings.Contains(err.Error(), test.words) {
			t.Errorf("got %v, want cause %q and words %q", err, test.want, test.words)
		}
	}
}

// lateReader uses up the budget of a sample with one of its reads.
type lateReader struct {
	io.ReaderAt
	budget      time.Duration
	late, reads int
}

func (r *lateReader) ReadAt(p []byte, at int64) (int, error) {
	if r.reads++; r.reads == r.late {
		time.Sleep(2 * r.budget)
	}
	return r.ReaderAt.ReadAt(p, at)
}

// Of a container nothing more is read once the time is up, before FFmpeg opens it or while it does.
func TestAContainerThatTakesTooLongToOpenIsReadNoMore(t *testing.T) {
	data := append(box("free", make([]byte, 8)), box("ftyp", []byte("isom"), words(512), []byte("isom"))...)
	for range 40 { // each passed over, in a read of its own
		data = append(data, box("free", make([]byte, 200<<10))...)
	}
	for _, late := range []int{2, 60} {
		r := &lateReader{ReaderAt: bytes.NewReader(data), budget: 200 * time.Millisecond, late: late}
		cfg := small()
		cfg.Budget = r.budget
		_, err := decode(t, cfg, Source{File: &av.File{From: r, FD: -1, Size: int64(len(data))}}, Draw{})
		if causeOf(err) != av.CauseTooSlow || r.reads > late {
			t.Errorf("late at read %d: got %v after %d reads, want cause %q and none behind", late, err, r.reads, av.CauseTooSlow)
		}
	}
}

// A frame larger than the limit is refused with its size, of every codec and container: FFmpeg forgets the size of what is too large as it probes.
func TestTooLargeFramesAreNamedWithTheirSize(t *testing.T) {
	files := golden(t)
	for _, name := range names(files) {
		_, err := Load(Config{Image: media.Config{MaxPixels: 100}}, file(t, name), Draw{})
		if name == "cut_mpeg2.ts" { // probed until its first key frame, which is too late
			continue
		}
		if causeOf(err) != av.CauseTooManyPixels || strings.Contains(err.Error(), "got 0x0") {
			t.Errorf("%s: got %v, want the size that is too large", name, err)
		}
	}
}

// An AVI that claims gigabytes of texts about it is refused before FFmpeg makes room for them, within what list they may stand.
func TestTextsThatClaimGigabytesAreRefused(t *testing.T) {
	const avi = "RIFF\x00\x01\x00\x00AVI LIST\xc8\x00\x00\x00hdrlodd \x03\x00\x00\x00abc\x00LIST\x00\x00\x00\x70INFOISFT\x04\x00\x00\x00Lavf"
	_, err := decode(t, small(), Source{Bytes: []byte(avi)}, Draw{})
	if causeOf(err) != av.CauseTooMuch || !strings.Contains(err.Error(), "it has texts of 1879048192 bytes about it in a source of 60") {
		t.Errorf("got %v, want cause %q", err, av.CauseTooMuch)
	}
}

// Twelve thousand samples, good and bad, leave no memory and no descriptors behind.
func TestManyOpensLeakNothing(t *testing.T) {
	w := workerOf(t, small())
	defer w.Close()
	broken := file(t, "bframes.mp4")
	broken.Bytes = broken.Bytes[:len(broken.Bytes)/2]
	sources := []Source{{Path: "testdata/bframes.mp4"}, file(t, "late.ts"), broken, file(t, "sound.m4a"), file(t, "opengroup.mkv")}
	if err := leak.After(2000, 1<<20, func(i int) { _, _ = decodeWith(w, sources[i%len(sources)], Draw{}) }); err != nil {
		t.Error(err)
	}
}

// FuzzDecode: no bytes crash the decoder, and what fails has a cause.
func FuzzDecode(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.m*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(seeds, "testdata/late.ts", "testdata/lying.avi", "testdata/no_times.h264", "testdata/odd.webm") {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 8000 && filepath.Ext(name) != ".py" {
			f.Add(b)
		}
	}
	cfg := small()
	cfg.Image.MaxPixels, cfg.MaxPackets, cfg.Budget = 1<<20, 1000, 5*time.Second
	op, err := Compile(cfg)
	if err != nil {
		f.Fatal(err)
	}
	w, err := op.NewWorker()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decodeWith(w, Source{Bytes: b}, Draw{}); err != nil && causeOf(err) == "" {
			t.Errorf("%v has no cause", err)
		}
	})
}
