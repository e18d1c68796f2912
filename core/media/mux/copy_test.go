//go:build !noffmpeg

package mux

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
)

// both makes a file of pictures with B-frames and sound.
func both(t *testing.T, path string) {
	t.Helper()
	m := must[*Muxer](t)(Create(path, Config{}))
	defer m.Abort()
	v := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "libx264", Width: 64, Height: 48, Rate: Rational{25, 1}, Options: map[string]string{"g": "10"}}))
	a := must[*AudioTrack](t)(m.AddAudio(Audio{Codec: "aac", Rate: 16000, Channels: 1}))
	for range 3 {
		ok(t, v.Write(pictures(25, 64, 48, 3)))
		ok(t, a.Write(tone(16000, 1)))
	}
	ok(t, m.Close())
}

type packet struct {
	Packet
	bytes []byte
}

func packets(t *testing.T, src Source, kind Kind) []packet {
	t.Helper()
	in := must[*Input](t)(OpenInput(src, kind))
	defer in.Close()
	var all []packet
	for {
		p, err := in.Next()
		if err == io.EOF {
			return all
		}
		ok(t, err)
		all = append(all, packet{p, bytes.Clone(p.Bytes)})
	}
}

func copyFile(t *testing.T, from, to string, filters string) {
	t.Helper()
	m := must[*Muxer](t)(Create(to, Config{}))
	defer m.Abort()
	var tracks []*CopyTrack
	for _, kind := range []Kind{KindVideo, KindAudio} {
		in := must[*Input](t)(OpenInput(Source{Path: from}, kind))
		defer in.Close()
		c := Copy{}
		if kind == KindVideo {
			c.Filters = filters
		}
		tracks = append(tracks, must[*CopyTrack](t)(m.AddCopy(in, c)))
	}
	ok(t, CopyAll(tracks...))
	ok(t, m.Close())
}

// A copied stream has the same packets, byte for byte, at the same times as far as the container counts them.
func TestCopiedPacketsAreTheSame(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	for _, file := range []string{"b.mp4", "b.mkv", "b.mov", "b.nut"} {
		copyFile(t, dir+"/a.mp4", filepath.Join(dir, file), "")
		for _, kind := range []Kind{KindVideo, KindAudio} {
			want, got := packets(t, Source{Path: dir + "/a.mp4"}, kind), packets(t, Source{Path: filepath.Join(dir, file)}, kind)
			if len(got) != len(want) || len(want) < 40 {
				t.Fatalf("%s: %d packets of %v, want %d", file, len(got), kind, len(want))
			}
			shift := got[0].PTS - want[0].PTS // a container without negative times moves them all
			for i := range want {
				g, w := got[i], want[i]
				if !bytes.Equal(g.bytes, w.bytes) || g.Key != w.Key || math.Abs(g.PTS-w.PTS-shift) > 0.0011 {
					t.Fatalf("%s: %v packet %d: %d bytes at %g s, want %d at %g", file, kind, i, len(g.bytes), g.PTS-shift, len(w.bytes), w.PTS)
				}
			}
		}
	}
}

// A chosen part of a stream is copied: from the second key frame on.
func TestPartOfAStreamIsCopied(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	in := must[*Input](t)(OpenInput(Source{Bytes: must[[]byte](t)(os.ReadFile(dir + "/a.mp4"))}, KindVideo))
	defer in.Close()
	m := must[*Muxer](t)(Create(dir+"/b.mkv", Config{}))
	track := must[*CopyTrack](t)(m.AddCopy(in, Copy{}))
	keys, n := 0, 0
	for {
		p, err := in.Next()
		if err == io.EOF {
			break
		}
		ok(t, err)
		if p.Key {
			keys++
		}
		if keys >= 2 {
			ok(t, track.Write(p))
			n++
		}
	}
	ok(t, m.Close())
	if got := packets(t, Source{Path: dir + "/b.mkv"}, KindVideo); len(got) != n || n != 65 || !got[0].Key {
		t.Errorf("%d packets came back, want %d", len(got), n)
	}
}

// copyStream copies a file's stream of a kind, packet by packet, or as the packets that through makes of those taken, which are its to close.
func copyStream(t *testing.T, kind Kind, from, to string, through func(*av.Packets) *av.Packets) error {
	t.Helper()
	in := must[*Input](t)(OpenInput(Source{Path: from}, kind))
	defer in.Close()
	m := must[*Muxer](t)(Create(to, Config{}))
	defer m.Abort()
	if through == nil {
		track, err := m.AddCopy(in, Copy{})
		if err == nil {
			err = CopyAll(track)
		}
		return errors.Join(err, m.Close())
	}
	p := through(must[*av.Packets](t)(in.Take(0, 0)))
	defer p.Close()
	track, err := m.AddPackets(p, Copy{})
	if err == nil {
		err = track.Write(p)
	}
	return errors.Join(err, m.Close())
}

// copyVideo copies a file's pictures, packet by packet or as packets that have been bytes.
func copyVideo(t *testing.T, from, to string, travelled bool) error {
	t.Helper()
	if !travelled {
		return copyStream(t, KindVideo, from, to, nil)
	}
	return copyStream(t, KindVideo, from, to, func(p *av.Packets) *av.Packets {
		defer p.Close()
		block := must[[]byte](t)(p.Bytes(func(n int) ([]byte, error) { return make([]byte, n), nil }))
		return must[*av.Packets](t)(av.PacketsOf(block))
	})
}

// What a container says of the whole stream is copied with it: how pictures are turned, and the light of HDR.
func TestCopiedStreamsKeepTheirTurn(t *testing.T) {
	const testdata = "../video/testdata/"
	for _, name := range []string{"turned90.mp4", "turned180.mp4", "turned270.mp4", "mirrored.mp4"} {
		want, err := video.Probe(video.Source{Path: testdata + name})
		ok(t, err)
		for _, file := range []string{"b.mp4", "b.mov"} {
			for _, travelled := range []bool{false, true} {
				to := filepath.Join(t.TempDir(), file)
				ok(t, copyVideo(t, testdata+name, to, travelled))
				got, err := video.Probe(video.Source{Path: to})
				if err != nil || got.Orientation != want.Orientation || got.Orientation == 1 {
					t.Errorf("%s in %s, travelled %t: orientation %d (%v), want %d", name, file, travelled, got.Orientation, err, want.Orientation)
				}
			}
		}
	}
}

// An AVI says when pictures are decoded, not when they are shown: of B-frames that is refused, where it would shuffle them.
func TestPicturesOfUnknownTimesAreNotShuffled(t *testing.T) {
	dir := t.TempDir()
	writeVideo(t, dir+"/a.avi", Config{}, Video{Codec: "mpeg4", Width: 64, Height: 48, Rate: Rational{25, 1}, Options: map[string]string{"bf": "2"}}, pictures(25, 64, 48, 3))
	want, _ := readVideo(t, dir+"/a.avi", video.Torchcodec)
	for _, file := range []string{"b.mp4", "b.mov", "b.mkv", "b.nut", "b.ts"} {
		refuses(t, copyVideo(t, dir+"/a.avi", filepath.Join(dir, file), false), CauseInvalid, "the source does not say when a picture is shown", "copy to avi, or decode and encode")
	}
	ok(t, copyVideo(t, dir+"/a.avi", dir+"/b.avi", true))
	if got, _ := readVideo(t, dir+"/b.avi", video.Torchcodec); !bytes.Equal(got, want) {
		t.Error("the copy in an AVI has other frames")
	}
	writeVideo(t, dir+"/c.avi", Config{}, Video{Codec: "mpeg4", Width: 64, Height: 48, Rate: Rational{25, 1}}, pictures(25, 64, 48, 3))
	want, _ = readVideo(t, dir+"/c.avi", video.Torchcodec)
	ok(t, copyVideo(t, dir+"/c.avi", dir+"/c.mp4", false)) // shown as they are decoded
	if got, _ := readVideo(t, dir+"/c.mp4", video.Torchcodec); !bytes.Equal(got, want) {
		t.Error("the copy without B-frames has other frames")
	}
}

// Containers that keep a codec's header in the packets alone are given it there, whether the source has it beside them in lengths or start codes,
// also of a part that begins at a later key frame.
func TestCopiedPacketsHaveTheirHeader(t *testing.T) {
	for _, c := range []struct {
		codec string
		to    []string
	}{
		{"mpeg4", []string{"mpegts", "mpeg", "m4v", "avi"}}, {"libx264", []string{"mpegts", "mpeg", "h264", "avi"}}, {"libx265", []string{"mpegts", "mpeg", "hevc"}},
	} {
		for _, from := range []string{"mp4", "nut"} {
			path := filepath.Join(t.TempDir(), "a."+from)
			options := map[string]string{"g": "12", "bf": "2"}
			if c.codec == "libx265" {
				options = map[string]string{"x265-params": "keyint=12:min-keyint=12:bframes=2:open-gop=0"}
			}
			writeVideo(t, path, Config{}, Video{Codec: c.codec, Width: 64, Height: 48, Rate: Rational{25, 1}, Options: options}, pictures(30, 64, 48, 3))
			want, _ := readVideo(t, path, video.Torchcodec)
			for _, to := range c.to {
				for _, filters := range []string{"", "null"} {
					for _, first := range []int{0, 1} { // key frames that are left out
						file := filepath.Join(t.TempDir(), "b")
						ok(t, copyFrom(t, path, file, to, filters, first))
						got, _ := readVideo(t, file, video.Torchcodec)
						if w := want[first*12*64*48*3:]; !bytes.Equal(got, w) {
							t.Errorf("%s from %s to %s by %q: %d bytes of frames without %d groups, want the source's %d", c.codec, from, to, filters, len(got), first, len(w))
						}
					}
				}
			}
		}
	}
}

// copyFrom copies a file's pictures from a key frame on.
func copyFrom(t *testing.T, from, to, format, filters string, keys int) error {
	t.Helper()
	in := must[*Input](t)(OpenInput(Source{Path: from}, KindVideo))
	defer in.Close()
	m := must[*Muxer](t)(Create(to, Config{Format: format}))
	defer m.Abort()
	track := must[*CopyTrack](t)(m.AddCopy(in, Copy{Filters: filters}))
	for keys++; ; {
		p, err := in.Next()
		if err == io.EOF {
			return m.Close()
		}
		ok(t, err)
		if p.Key {
			keys--
		}
		if keys <= 0 {
			ok(t, track.Write(p))
		}
	}
}

// Pixels that a container has no name for are not read back as others.
func TestPixelsThatAContainerCannotNameAreNotCopied(t *testing.T) {
	dir := t.TempDir()
	writeVideo(t, dir+"/a.nut", Config{}, Video{Codec: "rawvideo", Width: 8, Height: 8, Rate: Rational{25, 1}, PixelFormat: "rgb24"}, pictures(2, 8, 8, 3))
	refuses(t, copyVideo(t, dir+"/a.nut", dir+"/b.avi", false), CauseUnsupported, "avi does not hold rawvideo of rgb24; choose another container")
	ok(t, copyVideo(t, dir+"/a.nut", dir+"/b.mov", false))
}

// h264_mp4toannexb makes of mp4's lengths start codes.
func TestBitstreamFiltersAreApplied(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	in := must[*Input](t)(OpenInput(Source{Path: dir + "/a.mp4"}, KindVideo))
	defer in.Close()
	var out bytes.Buffer
	m := must[*Muxer](t)(New(&out, Config{Format: "data"}))
	m.Abort()
	m = must[*Muxer](t)(New(&out, Config{Format: "h264"}))
	track := must[*CopyTrack](t)(m.AddCopy(in, Copy{Filters: "h264_mp4toannexb,h264_metadata=delete_filler=1"}))
	ok(t, CopyAll(track))
	ok(t, m.Close())
	if !bytes.HasPrefix(out.Bytes(), []byte{0, 0, 0, 1}) {
		t.Errorf("the stream begins with % x", out.Bytes()[:8])
	}
	if got := packets(t, Source{Bytes: out.Bytes()}, KindVideo); len(got) != 75 {
		t.Errorf("%d pictures, want 75", len(got))
	}
}

func TestCopiesThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	open := func() *Input {
		in := must[*Input](t)(OpenInput(Source{Path: dir + "/a.mp4"}, KindVideo))
		t.Cleanup(in.Close)
		return in
	}
	in := open()
	for _, c := range []struct{ file, filters, cause, words string }{
		{"b.webm", "", CauseUnsupported, "webm does not hold h264"},
		{"b.mp4", "h264_mp5", CauseUnsupported, `bitstream filters of "h264_mp5"`},
		{"b.mp4", "vp9_superframe", CauseUnsupported, "vp9_superframe"},
		{"b.mp4", "h264_metadata=nonsense=1", CauseInvalid, "nonsense"},
	} {
		m := must[*Muxer](t)(Create(filepath.Join(dir, c.file), Config{}))
		_, err := m.AddCopy(in, Copy{Filters: c.filters})
		refuses(t, err, c.cause, c.words)
		m.Abort()
	}
	m := must[*Muxer](t)(Create(dir+"/b.mp4", Config{}))
	defer m.Abort()
	track := must[*CopyTrack](t)(m.AddCopy(in, Copy{}))
	first := must[Packet](t)(in.Next())
	must[Packet](t)(in.Next())
	other := must[Packet](t)(open().Next())
	for _, p := range []Packet{{}, first, other} {
		refuses(t, track.Write(p), CauseInvalid, "a packet that its input does not lend")
	}
	in.Close()
	_, err := in.Next()
	refuses(t, err, CauseClosed, "it is closed")
	_, err = m.AddCopy(in, Copy{})
	refuses(t, err, CauseClosed, "it is closed")
}

// copySound copies a file's sound, packet by packet or as packets that were taken.
func copySound(t *testing.T, from, to string, taken bool) error {
	t.Helper()
	if !taken {
		return copyStream(t, KindAudio, from, to, nil)
	}
	return copyStream(t, KindAudio, from, to, func(p *av.Packets) *av.Packets { return p })
}

// A copied sound is read back, or refused where what FFmpeg writes would not be.
func TestCopiedSoundsAreReadBackOrRefused(t *testing.T) {
	for _, c := range []struct {
		codec, from, to string
		words           string // of the refusal; empty: the samples come back
	}{
		{"libopus", "a.opus", "b.caf", "caf does not hold opus; choose another container"},
		{"libopus", "a.opus", "b.ogg", ""},
		{"tta", "a.tta", "b.mkv", ""},
		{"tta", "a.mkv", "b.mkv", "the source's clock of 1/1000 s does not say how many samples its TTA has; decode and encode"},
		{"tta", "a.mkv", "b.tta", "the source's clock of 1/1000 s"},
		{"libmp3lame", "a.mp3", "b.w64", "w64 does not hold mp3"},
		{"libmp3lame", "a.mp3", "b.mp3", ""},
		{"adpcm_ms", "a.wav", "b.nut", "nut does not hold adpcm_ms"},
		{"adpcm_ms", "a.wav", "b.w64", ""},
		{"adpcm_ima_wav", "a.wav", "b.nut", "nut does not hold adpcm_ima_wav"},
		{"adpcm_ima_wav", "a.wav", "b.w64", ""},
		{"ac3", "a.ac3", "b.caf", ""},
	} {
		for _, taken := range []bool{false, true} {
			dir := t.TempDir()
			from, to := filepath.Join(dir, c.from), filepath.Join(dir, c.to)
			writeSound(t, from, Audio{Codec: c.codec, Rate: 48000, Channels: 1}, tone(3*48000, 1))
			err := copySound(t, from, to, taken)
			if c.words != "" {
				refuses(t, err, CauseUnsupported, c.words)
				continue
			}
			ok(t, err)
			want, _ := readAudio(t, audio.Source{Path: from})
			got, _ := readAudio(t, audio.Source{Path: to})
			if !slices.Equal(got.Data, want.Data) {
				t.Errorf("%s from %s to %s, taken %t: %d samples that are not the source's %d", c.codec, c.from, c.to, taken, len(got.Data), len(want.Data))
			}
		}
	}
}

// An MP3's head says how much ahead of it is no sound. Where the source says nothing of that, a decoder's 529 samples are left out, and no more.
func TestMP3OfAnotherContainerKeepsItsBeginning(t *testing.T) {
	dir := t.TempDir()
	writeSound(t, dir+"/a.mkv", Audio{Codec: "libmp3lame", Rate: 48000, Channels: 1}, tone(3*48000, 1))
	ok(t, copySound(t, dir+"/a.mkv", dir+"/b.mp3", false))
	whole, _ := readAudio(t, audio.Source{Path: dir + "/a.mkv"})
	got, _ := readAudio(t, audio.Source{Path: dir + "/b.mp3"})
	if len(got.Data) != len(whole.Data)-529 {
		t.Fatalf("%d samples, want the source's %d without 529", len(got.Data), len(whole.Data))
	}
	for i, v := range got.Data {
		if math.Abs(float64(v-whole.Data[529+i])) > 1e-4 {
			t.Fatalf("sample %d is %g, want %g", i, v, whole.Data[529+i])
		}
	}
}

func TestInputsThatCannotBeReadAreNamed(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	whole := must[[]byte](t)(os.ReadFile(dir + "/a.mp4"))
	writeVideo(t, dir+"/silent.mkv", Config{}, Video{Codec: "ffv1", Width: 8, Height: 8, Rate: Rational{25, 1}}, pictures(1, 8, 8, 3))
	for _, c := range []struct {
		src   Source
		cause string
	}{
		{Source{Bytes: whole[:len(whole)/2]}, av.CauseTruncated},
		{Source{}, av.CauseEmpty},
		{Source{Bytes: []byte(strings.Repeat("nothing ", 100))}, av.CauseNotMedia},
		{Source{Path: dir + "/silent.mkv"}, av.CauseNoStream},
	} {
		_, err := OpenInput(c.src, KindAudio)
		var e *av.Error
		if !errors.As(err, &e) || e.Cause() != c.cause {
			t.Errorf("error %v, want the cause %s", err, c.cause)
		}
	}
	if _, err := OpenInput(Source{Path: dir + "/missing"}, KindVideo); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	_, err := OpenInput(Source{}, 7)
	refuses(t, err, CauseInvalid, "kind 7")
}

// FuzzCopy: no bytes crash a copy of their streams, and what fails says why.
func FuzzCopy(f *testing.F) {
	for _, name := range []string{"bframes.mp4", "late.ts", "irregular.mkv", "no_times_packed.avi", "sound.m4a"} {
		b, err := os.ReadFile("../video/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []Kind{KindVideo, KindAudio} {
			if err := copied(b, kind); err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
	})
}

// copied writes a stream into a Matroska file in memory.
func copied(b []byte, kind Kind) error {
	in, err := OpenInput(Source{Bytes: b}, kind)
	if err != nil {
		return err
	}
	defer in.Close()
	m, err := New(io.Discard, Config{Format: "matroska"})
	if err != nil {
		return err
	}
	defer m.Abort()
	track, err := m.AddCopy(in, Copy{})
	if err != nil {
		return err
	}
	if err := CopyAll(track); err != nil {
		return err
	}
	return m.Close()
}
