//go:build !noffmpeg

package coded

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
)

// film is a film of noise, of several blocks of a store, with a sound, made with options of the container's, and its path.
func film(t *testing.T, ending, options string, frames int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a."+ending)
	m := must[*Muxing](t)(Create([]byte(`{"options": {`+options+`}}`), path))
	const w, h = 512, 384
	pictures := must[int](t)(m.Add(fmt.Appendf(nil, `{"video": {"width": %d, "height": %d, "rate": 24, "codec": "mpeg4", "quality": 1, "options": {"g": "8"}}}`, w, h)))
	sound := must[int](t)(m.Add([]byte(`{"audio": {"rate": 16000, "channels": 1, "codec": "aac"}}`)))
	r := rand.New(rand.NewPCG(1, 2))
	picture := make([]byte, w*h*3)
	for range frames {
		for i := range picture {
			picture[i] = byte(r.Uint32())
		}
		ok(t, m.Write(pictures, picture, nil))
		ok(t, m.Write(sound, make([]byte, 4*(16000/24)), nil))
	}
	must[[]byte](t)(m.Close(nil))
	return path
}

// counting serves a file in parts, and counts the bytes and the requests.
type counting struct {
	data            []byte
	etag            func() string
	bytes, requests atomic.Int64
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	w.Header().Set("ETag", c.etag())
	http.ServeContent(counted{w, c}, r, "", time.Time{}, bytes.NewReader(c.data))
}

type counted struct {
	http.ResponseWriter
	of *counting
}

func (w counted) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.of.bytes.Add(int64(n))
	return n, err
}

// serve has what is large read in parts from now on.
func serve(t *testing.T, path string) (string, *counting) {
	t.Helper()
	was := largeBytes
	largeBytes = 1 << 20
	t.Cleanup(func() { largeBytes = was })
	c := &counting{data: must[[]byte](t)(os.ReadFile(path)), etag: func() string { return `"a"` }}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server.URL + "/" + filepath.Base(path) + "?key=secret", c
}

func pieces(t *testing.T, path, description string) (all []*av.Packets) {
	t.Helper()
	d := must[*Demuxing](t)(OpenDemuxing([]byte(description), mux.Source{Path: path}))
	defer d.Close()
	for {
		p, err := d.Next()
		if err == io.EOF {
			return all
		}
		ok(t, err)
		t.Cleanup(p.Close)
		all = append(all, p)
	}
}

// Packets of a large file at an address are those of the file, whole, in pieces and of a window, and of a window no more of it is read than lies near it.
func TestPacketsOfALargeAddressAreReadInParts(t *testing.T) {
	for _, of := range []struct {
		ending, options string
		most            int64 // of the file that is read for a window, in percent: what is asked for ahead of time depends on who is faster
	}{
		{"mp4", "", 66},
		{"mp4", `"movflags": "frag_keyframe+empty_moov+default_base_moof"`, 90},     // a fragment of two blocks, the head of each is read
		{"mp4", `"movflags": "frag_every_frame+empty_moov+default_base_moof"`, 150}, // whose heads lie so near each other that what is between them is read
		{"mkv", "", 66},
	} {
		ending := of.ending
		path := film(t, ending, of.options, 96)
		address, server := serve(t, path)
		if len(server.data) < 20<<20 {
			t.Fatalf("a film of %d bytes", len(server.data))
		}
		for _, test := range []struct {
			description string
			window      bool
		}{
			{`{"video": {}}`, false},
			{`{"audio": {}}`, false},
			{`{"video": {"packets": 7}}`, false},
			{`{"video": {"window": {"start": "0s", "duration": "0.1s"}}}`, true},
			{`{"video": {"window": {"start": "3.7s"}}}`, true},
		} {
			server.bytes.Store(0)
			want, got := pieces(t, path, test.description), pieces(t, address, test.description)
			if len(got) != len(want) || len(want) == 0 {
				t.Fatalf("%s of %s: %d pieces, want %d", test.description, ending, len(got), len(want))
			}
			for i, w := range want {
				if got[i].Len() != w.Len() {
					t.Fatalf("%s of %s: %d packets, want %d", test.description, ending, got[i].Len(), w.Len())
				}
				for k := range w.Len() {
					if a, b := got[i].At(k), w.At(k); a.PTS != b.PTS || a.Key != b.Key || !bytes.Equal(a.Bytes, b.Bytes) {
						t.Fatalf("%s of %s: packet %d of piece %d is another", test.description, ending, k, i)
					}
				}
			}
			if read := server.bytes.Load() * 100 / int64(len(server.data)); test.window && read > of.most {
				t.Errorf("%s of %s {%s}: %d %% of the file were read, want at most %d", test.description, ending, of.options, read, of.most)
			}
		}
		address += "&more=secret"
		p := demuxed(t, address, `{"video": {"window": {"start": "1s", "duration": "0.5s"}}}`)
		same(t, ending, p, path, `{"video": {}}`, `{"video": {"window": {"start": "1s", "duration": "0.5s"}}}`, 0)
		if strings.Contains(p.Source, "secret") || !strings.HasPrefix(p.Source, "http://") {
			t.Errorf("they are of %q", p.Source)
		}
	}
}

// Of a large file at an address that is written meanwhile, or cannot be reached any more, the store says so, whether that is seen as it is opened or later.
func TestALargeAddressThatFails(t *testing.T) {
	address, server := serve(t, film(t, "mkv", "", 24))
	var versions atomic.Int64
	server.etag = func() string { return fmt.Sprintf(`"%d"`, min(versions.Add(1), 2)) }
	d, err := OpenDemuxing([]byte(`{"video": {"packets": 3}}`), mux.Source{Path: address})
	for err == nil {
		var p *av.Packets
		if p, err = d.Next(); err == nil {
			p.Close()
		}
	}
	if d != nil {
		d.Close()
	}
	if err == io.EOF || !strings.Contains(err.Error(), "changed") || strings.Count(err.Error(), "/a.mkv?...") != 1 || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if _, err := OpenDemuxing([]byte(`{"audio": {"stream": 9}}`), mux.Source{Path: address}); err == nil || !strings.Contains(err.Error(), "want a stream of audio") {
		t.Errorf("got %v", err)
	}
}
