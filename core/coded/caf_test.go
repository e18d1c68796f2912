//go:build !noffmpeg

package coded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
)

// cafOf writes packets of FLAC as a CAF (Apple's Core Audio Format Specification 1.0) that says samples of each of them: 0, a table does.
func cafOf(t *testing.T, p *av.Packets, samples int32, rate int) string {
	t.Helper()
	var data, table []byte
	number := func(n int) { // 7 bits a byte, the highest first
		for shift := 28; shift > 0; shift -= 7 {
			if n>>shift > 0 {
				table = append(table, byte(n>>shift)|0x80)
			}
		}
		table = append(table, byte(n)&0x7f)
	}
	for i := range p.Len() {
		packet := p.At(i)
		data = append(data, packet.Bytes...)
		number(len(packet.Bytes))
		if samples == 0 {
			number(int(math.Round(packet.Duration * float64(rate))))
		}
	}
	be := binary.BigEndian
	out := []byte("caff\x00\x01\x00\x00")
	chunk := func(kind string, body []byte) {
		out = append(be.AppendUint64(append(out, kind...), uint64(len(body))), body...)
	}
	desc := append(be.AppendUint64(nil, math.Float64bits(float64(rate))), "flac\x00\x00\x00\x00\x00\x00\x00\x00"...)
	chunk("desc", be.AppendUint32(be.AppendUint32(be.AppendUint32(desc, uint32(samples)), 2), 0))
	head := be.AppendUint64(be.AppendUint64(nil, uint64(p.Len())), uint64(4*rate))
	chunk("pakt", append(append(head, make([]byte, 8)...), table...))
	chunk("data", append(make([]byte, 4), data...))
	path := filepath.Join(t.TempDir(), "a.caf")
	ok(t, os.WriteFile(path, out, 0o600))
	return path
}

// Windows of FLAC in a CAF are where its frames are, whatever number of samples the CAF says of each: FFmpeg 5.1 writes a mean, or one that is none.
func TestFLACInACAFIsWhereItsFramesAre(t *testing.T) {
	const rate = 22050
	flac := filepath.Join(t.TempDir(), "a.flac")
	file(t, flac, "", `"codec": "flac"`, rate)
	whole := demuxed(t, flac, `{"audio": {}}`)
	frame := int32(math.Round(whole.At(0).Duration * rate))
	for _, samples := range []int32{0, frame, frame + 17, 1, math.MaxInt32} {
		path := cafOf(t, whole, samples, rate)
		same(t, "all", demuxed(t, path, `{"audio": {}}`), flac, `{"audio": {}}`, `{"audio": {}}`, 0)
		for _, window := range []string{`{"start": "1s", "duration": "250ms"}`, `{"start": "3.3s"}`, `{"start": "0s", "duration": "100ms"}`} {
			section := fmt.Sprintf(`{"audio": {"window": %s}}`, window)
			p := demuxed(t, path, section)
			same(t, fmt.Sprint(samples, window), p, flac, `{"audio": {}}`, section, 0)
			if p.Len() >= whole.Len() {
				t.Errorf("%d, %s: %d packets of %d", samples, window, p.Len(), whole.Len())
			}
			got := must[*load.Media](t)(load.Load([]byte(section), load.Source{Path: path}, nil))
			want := must[*load.Media](t)(load.Load([]byte(section), load.Source{Path: flac}, nil))
			if !bytes.Equal(got.Tensors[0].Data, want.Tensors[0].Data) {
				t.Errorf("%d, %s: the file's window differs", samples, window)
			}
		}
	}
	_, err := load.Load([]byte(`{"audio": {}}`), load.Source{Path: cafOf(t, whole, -2, rate)}, nil)
	var cause interface{ Cause() string }
	if !errors.As(err, &cause) || cause.Cause() != av.CauseCorrupt || !strings.Contains(err.Error(), "a CAF whose desc chunk has a number below zero") {
		t.Errorf("a number of samples below zero: %v", err)
	}
}
