//go:build !noffmpeg

package video

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
)

// counted counts the bytes that are read.
type counted struct {
	io.ReaderAt
	bytes int64
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

func counting(data []byte) (Source, *counted) {
	c := &counted{ReaderAt: bytes.NewReader(data)}
	return Source{File: &av.File{From: c, FD: -1, Size: int64(len(data))}}, c
}

// noisy is a film of 48 frames that no encoder makes small, with a sound between its pictures, in the container that the ending names.
func noisy(t *testing.T, ending, codec string, container map[string]string, options map[string]string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a."+ending)
	m, err := mux.Create(path, mux.Config{Options: container})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Abort()
	const w, h, frames = 256, 192, 48
	pictures, err := m.AddVideo(mux.Video{Codec: codec, Width: w, Height: h, Rate: mux.Rational{Num: 24, Den: 1}, Quality: 1, PixelFormat: "yuv420p", Options: options})
	if err != nil {
		t.Skip(err) // of an FFmpeg without the encoder
	}
	sound, err := m.AddAudio(mux.Audio{Codec: "aac", Rate: 16000, Channels: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range frames {
		frame := make([]byte, w*h*3)
		for i := range frame {
			frame[i] = byte(r.Uint32())
		}
		samples := make([]float32, 16000/24)
		for i := range samples {
			samples[i] = r.Float32() - 0.5
		}
		if err := pictures.Write(frame); err != nil {
			t.Fatal(err)
		}
		if err := sound.Write(samples); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// made is the index that a worker makes of a source, but for what it says of key frames, and their numbers.
func made(t *testing.T, src Source) (packets []packet, order []int32, keys []int, err error) {
	t.Helper()
	w := workerOf(t, small())
	defer w.Close()
	defer w.end()
	if err = w.open(src); err == nil {
		err = w.makeIndex(src)
	}
	packets = slices.Clone(w.index.packets)
	for i := range packets {
		if packets[i].flags&flagKey != 0 {
			keys = append(keys, i)
		}
		packets[i].flags &^= flagKey
	}
	return packets, slices.Clone(w.index.order), keys, err
}

// The index of a file is the one of its bytes, whether it comes of tables or of a scan, also where the file is cut.
func TestIndexOfTablesIsTheScannedOne(t *testing.T) {
	names, err := filepath.Glob("testdata/*.*")
	if err != nil || len(names) < 50 {
		t.Fatal(names, err)
	}
	good := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{len(data), len(data) * 3 / 4} {
			want, wantOrder, wantKeys, wantErr := made(t, Source{Bytes: data[:n]})
			src, _ := counting(data[:n])
			got, gotOrder, gotKeys, gotErr := made(t, src)
			if causeOf(gotErr) != causeOf(wantErr) {
				t.Errorf("%s, %d bytes: got %v, want %v", name, n, gotErr, wantErr)
			}
			if gotErr != nil || wantErr != nil {
				continue
			}
			if good++; !slices.Equal(got, want) || !slices.Equal(gotOrder, wantOrder) {
				t.Errorf("%s, %d bytes: got another index", name, n)
			}
			for _, k := range gotKeys {
				if !slices.Contains(wantKeys, k) {
					t.Errorf("%s, %d bytes: got the key frame %d, want of %v", name, n, k, wantKeys)
				}
			}
		}
	}
	if good < 80 {
		t.Errorf("%d indices were compared", good)
	}
}

// Of an MP4 whose tables say it all, in fragments or not, the frames are not read for its index, and few for few frames of it; where packets have to be seen, they
// are.
func TestFilmsAreNotReadForTheirIndex(t *testing.T) {
	fragments := func(flags string) map[string]string { return map[string]string{"movflags": "empty_moov+" + flags} }
	short := map[string]string{"g": "8", "bf": "2", "sc_threshold": "0"}
	for _, test := range []struct {
		name, codec        string
		container, options map[string]string
		tables             bool
	}{
		{"h264", "libx264", nil, short, true},
		{"h264, tables first", "libx264", map[string]string{"movflags": "faststart"}, short, true},
		{"h264, lossless", "libx264", nil, map[string]string{"g": "8", "qp": "0", "sc_threshold": "0"}, true},
		{"h264, scaling lists", "libx264", nil, map[string]string{"g": "8", "x264-params": "cqm=jvt"}, true},
		{"h264, open groups", "libx264", nil, map[string]string{"g": "8", "bf": "3", "x264-params": "open-gop=1"}, true},
		{"h264, other cuts", "libx264", nil, map[string]string{"g": "48", "sc_threshold": "40"}, true},
		{"h264, fields", "libx264", nil, map[string]string{"g": "8", "flags": "+ildct+ilme"}, false},
		{"h264, fragments", "libx264", fragments("frag_keyframe"), short, true},
		{"h264, fragments with an index before them", "libx264", fragments("frag_keyframe+default_base_moof+global_sidx"), short, true},
		{"h264, fragments with an index each", "libx264", fragments("frag_keyframe+dash"), short, true},
		{"hevc", "libx265", nil, map[string]string{"preset": "ultrafast", "x265-params": "keyint=8:log-level=none"}, true},
		{"vp9", "libvpx-vp9", nil, map[string]string{"g": "8", "deadline": "realtime", "cpu-used": "8"}, true},
		{"mpeg4", "mpeg4", nil, short, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := noisy(t, "mp4", test.codec, test.container, test.options)
			want, _, _, err := made(t, Source{Bytes: data})
			if err != nil {
				t.Fatal(err)
			}
			src, read := counting(data)
			got, _, _, err := made(t, src)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("got another index (%v)", err)
			}
			if little := read.bytes < int64(len(data))/3; little != test.tables {
				t.Errorf("%d bytes of %d were read", read.bytes, len(data))
			}
			for _, at := range []int{0, 1, 13, 47} {
				cfg := Config{Frames: 1, Image: small().Image, Select: Selection{Kind: AtIndices, Indices: []int{at}}, Hardware: small().Hardware}
				src, read := counting(data)
				if a, b := mustDecode(t, cfg, src, Draw{}), mustDecode(t, cfg, Source{Bytes: data}, Draw{}); !bytes.Equal(a.Data, b.Data) {
					t.Errorf("frame %d is another", at)
				}
				if test.tables && test.options["g"] != "48" && read.bytes > int64(len(data))*3/5 {
					t.Errorf("frame %d: %d bytes of %d were read", at, read.bytes, len(data))
				}
			}
			cfg := small()
			cfg.Select = Selection{Kind: KeyFrames}
			cfg.Frames = 48
			src, _ = counting(data)
			if a, b := mustDecode(t, cfg, src, Draw{}), mustDecode(t, cfg, Source{Bytes: data}, Draw{}); a.info.Frames != b.info.Frames || !bytes.Equal(a.Data, b.Data) {
				t.Errorf("got %d key frames, want %d", a.info.Frames, b.info.Frames)
			}
		})
	}
}

// The index of a film in fragments is the scanned one, whatever they are made of, also where the file is cut, and so are its frames.
func TestIndexOfFragmentsIsTheScannedOne(t *testing.T) {
	fragments := func(flags string) map[string]string { return map[string]string{"movflags": "empty_moov+" + flags} }
	short := map[string]string{"g": "8", "bf": "2", "sc_threshold": "0"}
	for _, test := range []struct {
		name, codec        string
		container, options map[string]string
	}{
		{"h264, fragments of a frame", "libx264", fragments("frag_every_frame"), short},
		{"h264, fragments of one stream", "libx264", fragments("frag_keyframe+separate_moof"), short},
		{"h264, fragments of negative times", "libx264", fragments("frag_keyframe+negative_cts_offsets"), short},
		{"h264, fragments of open groups", "libx264", fragments("frag_keyframe"), map[string]string{"g": "8", "bf": "3", "x264-params": "open-gop=1"}},
		{"h264, fragments of fields", "libx264", fragments("frag_keyframe"), map[string]string{"g": "8", "flags": "+ildct+ilme"}},
		{"hevc, fragments", "libx265", fragments("frag_keyframe"), map[string]string{"preset": "ultrafast", "x265-params": "keyint=8:log-level=none"}},
		{"vp9, fragments", "libvpx-vp9", fragments("frag_keyframe"), map[string]string{"g": "8", "deadline": "realtime", "cpu-used": "8"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := noisy(t, "mp4", test.codec, test.container, test.options)
			for _, n := range []int{len(data), len(data) / 2, len(data) - 1, len(data) - 3000} {
				want, _, _, wantErr := made(t, Source{Bytes: data[:n]})
				src, _ := counting(data[:n])
				if got, _, _, err := made(t, src); causeOf(err) != causeOf(wantErr) || !slices.Equal(got, want) || n == len(data) && err != nil {
					t.Errorf("of %d bytes got another index (%v, want %v)", n, err, wantErr)
				}
			}
			for _, at := range []int{1, 13, 46} {
				cfg := Config{Frames: 1, Image: small().Image, Select: Selection{Kind: AtIndices, Indices: []int{at}}, Hardware: small().Hardware}
				src, _ := counting(data)
				if a, b := mustDecode(t, cfg, src, Draw{}), mustDecode(t, cfg, Source{Bytes: data}, Draw{}); !bytes.Equal(a.Data, b.Data) {
					t.Errorf("frame %d is another", at)
				}
			}
		})
	}
}

// Of a film in fragments whose index is kept, its tables are, too: nobody looks for them again.
func TestTablesOfFragmentsAreKept(t *testing.T) {
	data := noisy(t, "mp4", "libx264", map[string]string{"movflags": "empty_moov+frag_keyframe"}, map[string]string{"g": "4", "sc_threshold": "0"})
	cfg := Config{Frames: 1, Image: small().Image, Select: Selection{Kind: AtIndices, Indices: []int{46}}, FileIndexCache: t.TempDir()}
	want := mustDecode(t, cfg, Source{Bytes: data}, Draw{})
	var read [3]int64
	for i := range read {
		src, counted := counting(data)
		src.File.Name, src.File.Version = "http://host/film.mp4", int64(1+i/2)
		if got := mustDecode(t, cfg, src, Draw{}); !bytes.Equal(got.Data, want.Data) {
			t.Errorf("time %d: the frame is another", i)
		}
		read[i] = counted.bytes
	}
	if read[1] > read[0]/2 || read[2] != read[0] { // the third is of another version
		t.Errorf("%v bytes were read", read)
	}
}

// foretold is told what will be read, and notes what is read from then on.
type foretold struct {
	io.ReaderAt
	parts, reads [][2]int64
}

func (f *foretold) Expect(parts [][2]int64) { f.parts = slices.Clone(parts) }

func (f *foretold) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.ReaderAt.ReadAt(p, at)
	if f.parts != nil {
		f.reads = append(f.reads, [2]int64{at, at + int64(n)})
	}
	return n, err
}

// Who reads a film in a store is told where the groups of the chosen frames lie; from then on nothing else is read, of no group before them either.
func TestTheGroupsOfChosenFramesAreForetoldAndReadAlone(t *testing.T) {
	short := map[string]string{"g": "8", "bf": "2", "sc_threshold": "0"}
	for _, test := range []struct {
		name, ending, codec string
		container, options  map[string]string
	}{
		{"mp4", "mp4", "libx264", nil, short},
		{"mov", "mov", "libx264", nil, short},
		{"matroska", "mkv", "libx264", map[string]string{"cluster_time_limit": "100"}, short},
		{"open groups", "mp4", "libx264", nil, map[string]string{"g": "8", "bf": "3", "x264-params": "open-gop=1"}},
		{"hevc", "mp4", "libx265", nil, map[string]string{"preset": "ultrafast", "x265-params": "keyint=8:bframes=2:log-level=none"}},
		{"each a key frame", "mp4", "libx264", nil, map[string]string{"g": "1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := noisy(t, test.ending, test.codec, test.container, test.options)
			for _, chosen := range [][]int{{20}, {41, 18, 43}} {
				const offset = 1000
				f := &foretold{ReaderAt: bytes.NewReader(append(make([]byte, offset), data...))}
				cfg := Config{Image: small().Image, Select: Selection{Kind: AtIndices, Indices: chosen}, Frames: len(chosen)}
				got := mustDecode(t, cfg, Source{File: &av.File{From: f, FD: -1, Offset: offset, Size: int64(len(data))}}, Draw{})
				if want := mustDecode(t, cfg, Source{Bytes: data}, Draw{}); !bytes.Equal(got.Data, want.Data) {
					t.Fatalf("frames %v are others", chosen)
				}
				if len(f.parts) == 0 || len(f.parts) > len(chosen) || f.parts[0][1]-f.parts[0][0] > int64(len(data))/2 {
					t.Errorf("frames %v: of %d bytes %v were foretold", chosen, len(data), f.parts)
				}
				for _, r := range f.reads {
					if !slices.ContainsFunc(f.parts, func(p [2]int64) bool { return p[0] <= r[0] && r[1] <= p[1] }) {
						t.Errorf("frames %v: %v was read, foretold were %v", chosen, r, f.parts)
					}
				}
			}
		})
	}
}
