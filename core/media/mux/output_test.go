//go:build !noffmpeg

package mux

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/media/whole"
)

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
		return newMuxer("full.ts", Config{Format: "mpegts"}, &regular{&whole.File{File: f}}) // whose name is not ours to remove
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
