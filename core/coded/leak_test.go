//go:build !noffmpeg

package coded

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/tests/leak"
)

// Containers that are opened, read into pieces, cut, filtered, decoded in part, copied and given up leave neither memory nor descriptors.
func TestTenThousandOpensLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.mp4")
	m := must[*Muxing](t)(Create([]byte(`{}`), path))
	track := must[int](t)(m.Add([]byte(`{"video": {"width": 16, "height": 16, "rate": 25, "codec": "mpeg4"}}`)))
	ok(t, m.Write(track, make([]byte, 5*16*16*3), nil))
	must[[]byte](t)(m.Close(nil))
	one := func(i int) {
		d := must[*Demuxing](t)(OpenDemuxing([]byte(`{"video": {"packets": 3}}`), mux.Source{Path: path}))
		defer d.Close()
		p := must[*av.Packets](t)(d.Next())
		defer p.Close()
		part := must[*av.Packets](t)(p.Slice(0, 2))
		defer part.Close()
		switch i % 50 {
		case 0: // chunks that are given up midway
			s := must[*load.Stream](t)(load.Open([]byte(`{"video": {"frames": 1}}`), load.Source{Packets: part}))
			must[*load.Media](t)(s.Next(nil))
			s.Close()
		case 1:
			filtered := must[*av.Packets](t)(mux.Filter(part, "dump_extra"))
			filtered.Close()
			if _, err := mux.Filter(part, "h264_mp4toannexb"); err == nil {
				t.Fatal("mpeg4 was taken for h264")
			}
		case 2:
			copied := must[*Muxing](t)(Create([]byte(`{"format": "nut"}`), ""))
			to := must[int](t)(copied.AddPackets(part, ""))
			ok(t, copied.WritePackets(to, part))
			copied.Abort()
		case 3: // a decoder with pieces that it has not come to, and a filter that is not flushed
			d := must[*load.Decoder](t)(load.OpenDecoder([]byte(`{"video": {"frames": 2, "filter": "hflip"}}`), part))
			ok(t, d.Give(part))
			ok(t, d.Give(part))
			must[*load.Media](t)(d.Next(nil))
			ok(t, d.Give(p))
			d.Close()
			f := must[*mux.BitstreamFilter](t)(mux.OpenFilter(part, "dump_extra"))
			must[*av.Packets](t)(f.Filter(part)).Close()
			f.Close()
		case 4:
			b := must[[]byte](t)(p.Bytes(inGo))
			must[*av.Packets](t)(av.PacketsOf(b)).Close()
			if _, err := av.PacketsOf(b[:len(b)-1]); err == nil {
				t.Fatal("packets that were cut were taken")
			}
		case 5:
			must[*av.Packets](t)(d.Next()).Close()
			if _, err := d.Next(); err != io.EOF {
				t.Fatal(err)
			}
		}
	}
	ok(t, leak.After(2000, 1<<20, one))
}
