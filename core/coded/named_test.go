//go:build !noffmpeg

package coded

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
)

// damaged is a file whose pictures do not decode, though its container is whole.
func damaged(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.avi")
	file(t, path, `"codec": "mjpeg"`, "", 0)
	data := must[[]byte](t)(os.ReadFile(path))
	p := demuxed(t, path, `{"video": {}}`)
	for i := range p.Len() {
		one := p.At(i).Bytes
		copy(data[bytes.Index(data, one):], make([]byte, len(one)))
	}
	ok(t, os.WriteFile(path, data, 0o600))
	return path
}

// Whatever goes wrong with a file's packets, from opening it to decoding a part of them, the error names the file, once.
func TestErrorsOfPacketsNameTheirFile(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.mp4")
	ok(t, os.WriteFile(text, []byte("neither this nor that, and not at all anything else"), 0o600))
	bad := damaged(t)
	p := demuxed(t, bad, `{"video": {}}`)
	part := must[*av.Packets](t)(p.Slice(3, 9))
	defer part.Close()
	filtered := must[*av.Packets](t)(mux.Filter(p, "dump_extra"))
	defer filtered.Close()
	source := mux.Source{Path: bad}
	for what, c := range map[string]struct {
		path string
		err  error
	}{
		"no container": {text, second(OpenDemuxing([]byte(`{"video": {}}`), mux.Source{Path: text}))},
		"no file":      {text + "x", second(OpenDemuxing([]byte(`{"video": {}}`), mux.Source{Path: text + "x"}))},
		"no sound":     {bad, second(OpenDemuxing([]byte(`{"audio": {}}`), source))},
		"decoding":     {bad, second(load.Load([]byte(`{"video": {}}`), load.Source{Packets: p}, nil))},
		"a part":       {bad, second(load.Load([]byte(`{"video": {}}`), load.Source{Packets: part}, nil))},
		"filtered":     {bad, second(load.Load([]byte(`{"video": {}}`), load.Source{Packets: filtered}, nil))},
		"chunks":       {bad, chunk(load.Source{Packets: p})},
		"a file's":     {bad, chunk(load.Source{Path: bad})},
		"a decoder":    {bad, decoding(t, p)},
	} {
		if c.err == nil || strings.Count(c.err.Error(), fmt.Sprintf("%q", c.path))+strings.Count(c.err.Error(), c.path+":") != 1 {
			t.Errorf("%s: %v, want %q named once", what, c.err, c.path)
		}
	}
	d := must[*Demuxing](t)(OpenDemuxing([]byte(`{"video": {"filters": "h264_mp4toannexb"}}`), source))
	defer d.Close()
	if _, err := d.Next(); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("a filter of another codec: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// chunk is the error of the first chunk, or of what comes before it.
func chunk(src load.Source) error {
	s, err := load.Open([]byte(`{"video": {"frames": 2}}`), src)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Next(nil)
	return err
}

func decoding(t *testing.T, p *av.Packets) error {
	d := must[*load.Decoder](t)(load.OpenDecoder([]byte(`{"video": {"frames": 2}}`), p))
	defer d.Close()
	ok(t, d.Give(p))
	d.Flush()
	_, err := d.Next(nil)
	if err == io.EOF {
		return nil
	}
	return err
}
