//go:build !noffmpeg

package load

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
)

// The two colours of a video differ where chroma does, and the one that is not named is torchcodec's.
func TestColoursOfAVideo(t *testing.T) {
	data := must(os.ReadFile("../media/video/testdata/bt709.mp4"))
	pixels := func(description string) []byte {
		m := must(Load([]byte(description), Source{Bytes: data}, nil))
		return bytes.Clone(m.Tensors[0].Data)
	}
	plain, torchcodec, accurate := pixels(`{"video": {}}`), pixels(`{"video": {"colour": "torchcodec"}}`), pixels(`{"video": {"colour": "accurate"}}`)
	if !bytes.Equal(plain, torchcodec) {
		t.Error("torchcodec's colours are not the default")
	}
	if len(accurate) != len(plain) || bytes.Equal(plain, accurate) {
		t.Error("accurate colours are torchcodec's")
	}
	most, sum := 0, 0
	for i := range plain {
		d := max(int(plain[i]), int(accurate[i])) - min(int(plain[i]), int(accurate[i]))
		most, sum = max(most, d), sum+d
	}
	if mean := float64(sum) / float64(len(plain)); mean > 8 {
		t.Errorf("the colours are %.2f apart on average, %d at most", mean, most)
	}
}

// A device that is not here is the description's fault, of a file and of its chunks.
func TestAnAbsentDeviceIsTheDescriptionsFault(t *testing.T) {
	refused := 0 // no machine has all of them
	for _, kind := range []string{"cuda", "vaapi", "vdpau", "qsv", "drm"} {
		description, src := []byte(`{"video": {"frames": 4, "over": "cut", "hardware": "`+kind+`"}}`), Source{Path: "../media/video/testdata/bt709.mp4"}
		_, whole := Load(description, src, nil)
		chunks, chunked := Open(description, src)
		if chunked == nil {
			chunks.Close()
		}
		for _, err := range []error{whole, chunked} {
			var described *spec.Error
			if err != nil {
				refused++
			}
			if err != nil && (!errors.As(err, &described) || !strings.Contains(err.Error(), "video.hardware: got "+kind+", which is not here")) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if refused == 0 {
		t.Error("no device was missed")
	}
}

// An address stands for the bytes that lie there, of every kind of sample; what cannot be read is named, without what its query says.
func TestAddressesAreRead(t *testing.T) {
	files := map[string][]byte{"/film.y4m": film(5), "/picture.png": picture()}
	for _, name := range []string{"mono.flac", "music.ogg"} {
		files["/"+name] = must(os.ReadFile("../media/audio/testdata/" + name))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}))
	defer server.Close()
	for name, description := range map[string]string{
		"/film.y4m": `{"video": {}}`, "/picture.png": `{"image": {}}`, "/mono.flac": `{"audio": {"rate": 8000}}`, "/music.ogg": `{"probe": "audio"}`,
	} {
		want := must(Load([]byte(description), Source{Bytes: files[name]}, nil))
		got, err := Load([]byte(description), Source{Path: server.URL + name}, nil)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, or another sample", name, err)
		}
	}
	var row bytes.Buffer
	row.WriteString("\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }            \n")
	files["/row.npy"] = append(row.Bytes(), 0, 0, 128, 63, 0, 0, 0, 64)
	var room []byte
	m := must(Load([]byte(`{"npy": {}}`), Source{Path: server.URL + "/row.npy"}, func(n int) ([]byte, error) {
		room = make([]byte, n)
		return room, nil
	}))
	if got := m.Tensors[0].Data; len(room) == 0 || &got[0] != &room[0] || !bytes.Equal(got, files["/row.npy"][len(files["/row.npy"])-8:]) {
		t.Errorf("%v does not lie in memory of the caller's, which alone stays", got)
	}
	both := must(LoadBatch([]byte(`{"image": {}}`), []Source{{Path: server.URL + "/picture.png"}, {Bytes: files["/picture.png"]}}, nil)).Tensors[0].Data
	if half := len(both) / 2; !bytes.Equal(both[:half], both[half:]) {
		t.Error("a picture of an address differs from that of its bytes")
	}
	s := must(Open([]byte(`{"video": {"frames": 3}}`), Source{Path: server.URL + "/film.y4m"}))
	defer s.Close()
	if m := must(s.Next(nil)); m.Tensors[0].Shape[0] != 3 {
		t.Errorf("a chunk of %v", m.Tensors[0].Shape)
	}
	for _, kind := range []string{`{"video": {}}`, `{"image": {}}`, `{"npy": {}}`, `{"tar": {}}`} {
		_, err := Load([]byte(kind), Source{Path: server.URL + "/none?key=secret"}, nil)
		var named *Error
		if !errors.As(err, &named) || !strings.Contains(err.Error(), "/none?...") || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	_, err := LoadBatch([]byte(`{"image": {}}`), []Source{{Path: server.URL + "/none?key=secret"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "/none?...") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := Open([]byte(`{"video": {"frames": 3}}`), Source{Path: server.URL + "/none"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}

// A kept index is made once, beside the file or in a directory, for files, memory, addresses and chunks, and changes no frame.
func TestAnIndexIsKept(t *testing.T) {
	data := must(os.ReadFile("../media/video/testdata/bframes.mp4"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "v.mp4")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	video := `"video": {"select": {"kind": "indices", "indices": [3, 30]}`
	want := must(Load([]byte(`{`+video+`}}`), Source{Path: path}, nil))
	chunk := must(Load([]byte(`{`+video+`, "frames": 2}}`), Source{Path: path}, nil))
	for _, test := range []struct {
		name, dir, kept string // kept: the directory
		src             Source
	}{
		{"a file", "", "", Source{Path: path}}, {"memory", "", "", Source{Bytes: data}}, {"an address", "", "", Source{Path: server.URL + "/v.mp4"}},
		{"beside", "beside", filepath.Dir(path), Source{Path: path}},
	} {
		if test.kept = cmp.Or(test.kept, filepath.Join(t.TempDir(), "new", "indices")); test.dir == "" {
			test.dir = test.kept
		}
		var first os.FileInfo
		for round := range 4 {
			cache := fmt.Sprintf(`, "cache": {"video_index_dir": %q}}`, test.dir)
			if round < 2 {
				if got := must(Load([]byte(`{`+video+`}`+cache), test.src, nil)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, round %d: another sample", test.name, round)
				}
			} else {
				s := must(Open([]byte(`{`+video+`, "frames": 2}`+cache), test.src))
				if got := must(s.Next(nil)); !reflect.DeepEqual(got.Tensors, chunk.Tensors) {
					t.Errorf("%s, round %d: another chunk", test.name, round)
				}
				s.Close()
			}
			kept := must(filepath.Glob(filepath.Join(test.kept, "*.spdlvidx")))
			if len(kept) != 1 {
				t.Fatalf("%s, round %d: got %d indices, want one", test.name, round, len(kept))
			}
			info := must(os.Stat(kept[0]))
			if first = cmp.Or(first, info); !os.SameFile(first, info) {
				t.Errorf("%s, round %d: the index was made again", test.name, round)
			}
		}
	}
	taken := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text, want string
		src        Source
	}{
		{`{"video": {}, "cache": {"video_index_dir": "beside"}}`, "cache.video_index_dir: got beside, and the video is in memory", Source{Bytes: data}},
		{`{"video": {}, "cache": {"video_index_dir": "beside"}}`, "cache.video_index_dir: got beside, and the video is in memory", Source{Path: "http://127.0.0.1:1/v"}},
		{`{"video": {}, "cache": {"video_index_dir": "` + taken + `/in"}}`, "cache.video_index_dir: mkdir", Source{Bytes: data}},
		{`{"video": {}, "cache": {"dir": "x"}}`, "cache.dir: is not of one sample; want video_index_dir", Source{Bytes: data}},
		{`{"audio": {}, "cache": {"video_index_dir": "x"}}`, "cache.video_index_dir: goes with video and seek: exact", Source{Bytes: data}},
		{`{"video": {"seek": "approximate"}, "cache": {"video_index_dir": "x"}}`, "cache.video_index_dir: goes with video and seek: exact", Source{Bytes: data}},
		{`{"video": {}, "cache": {"video_index_dir": "x"}}`, "cache.video_index_dir: packets were read already", Source{Packets: &av.Packets{}}},
		{`{"cache": {"video_index_dir": "x"}}`, "says nothing; want one of image, video, audio", Source{Bytes: data}},
	} {
		_, err := Load([]byte(test.text), test.src, nil)
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.text, err, test.want)
		}
	}
	if _, err := OpenDecoder([]byte(`{"video": {}, "cache": {"video_index_dir": "x"}}`), &av.Packets{}); err == nil || !strings.Contains(err.Error(), "packets were read already") {
		t.Errorf("got %v", err)
	}
}

// What is no file with a length is refused in the same words whatever is made of it, and nobody waits for who writes into a FIFO.
func TestFIFOsAndDirectoriesAreRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "got a fifo, socket or device, want a regular file, or its bytes", dir: "got a directory, want a regular file"} {
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q: %s", path, want)) {
				t.Errorf("%s: got %v, want %s", what, err, want)
			}
		}
		for _, description := range []string{
			`{"image": {}}`, `{"video": {}}`, `{"probe": "video"}`, `{"audio": {}}`, `{"audio": {"raw": {"encoding": "s16", "channels": 1, "rate": 8000}}}`, `{"npy": {}}`, `{"tar": {}}`, `{"wav": {}}`, `{"probe": "audio"}`, `{"probe": "wav"}`,
		} {
			_, err := Load([]byte(description), Source{Path: path}, nil)
			refused(description, err)
		}
		_, err := Open([]byte(`{"video": {"frames": 2}}`), Source{Path: path})
		refused("in chunks", err)
	}
}

// wide is a video of a frame of 4 x 8000.
func wide() []byte {
	return append([]byte("YUV4MPEG2 W8000 H4 F10:1 Ip A1:1 C420jpeg\nFRAME\n"), make([]byte, 8000*4*3/2)...)
}

func TestAVideoOfAnImpossibleSizeIsABadSample(t *testing.T) {
	description := []byte(`{"video": {"frames": 1, "transform": [{"resize": 240}]}}`)
	want := "load: a picture of 4 x 8000: it becomes one of 240 x 480000, want sides of at most 16384"
	var bad *Error
	if _, err := Load(description, Source{Bytes: wide()}, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %T, %v, want %q", err, err, want)
	}
	if _, err := Open(description, Source{Bytes: wide()}); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
		t.Errorf("in chunks: got %T, %v, want %q", err, err, want)
	}
}
