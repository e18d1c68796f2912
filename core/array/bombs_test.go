package array

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

const bombBytes = 64 << 20

// bombOf is a zip of one deflated member: a header of bytes and zeros behind it.
func bombOf(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestSpeed) })
	m, err := w.Create("x.npy")
	if err != nil {
		t.Fatal(err)
	}
	head := "{'descr': '|u1', 'fortran_order': False, 'shape': (67108864,), }"
	if _, err := m.Write([]byte("\x93NUMPY\x01\x00" + string([]byte{byte(len(head)), 0}) + head)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(m, damage.Zeros{}, bombBytes); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// claimOf is a zip whose member of many bytes ends at once, and claims to become a thousand times as many.
func claimOf(t *testing.T, size int) []byte {
	t.Helper()
	var b, packed bytes.Buffer
	f, _ := flate.NewWriter(&packed, flate.BestSpeed)
	io.WriteString(f, "short")
	f.Close()
	packed.Write(make([]byte, size))
	w := zip.NewWriter(&b)
	m, err := w.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE([]byte("short")),
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(packed.Len()) * 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An array that is larger than its reader has room for is not unpacked, and what only claims to be large takes no memory.
func TestArraysThatUnpackToMoreTakeNoMemory(t *testing.T) {
	const allowed = 32 << 20
	bomb := bombOf(t)
	for name, test := range map[string]struct {
		file []byte
		most int64
		want string
	}{
		"a bomb":           {bomb, 1000, "want at most"},
		"a claim":          {claimOf(t, 4<<20), 1 << 40, "unexpected EOF"},
		"a claim, refused": {claimOf(t, 4<<20), 1 << 20, "want at most"},
	} {
		z, err := OpenNPZ(test.file)
		if err != nil {
			t.Fatal(err)
		}
		peak := damage.PeakBytes(t, func() { _, err = z.ArrayWithin("x", test.most) })
		t.Logf("%s of %d KiB: %.1f MiB, %v", name, len(test.file)>>10, float64(peak)/(1<<20), err)
		if err == nil || !strings.Contains(err.Error(), test.want) || peak > allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want %q and at most %d", name, err, peak>>20, test.want, allowed>>20)
		}
	}
	z, err := OpenNPZ(bomb)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := z.ArrayWithin("x", bombBytes); err != nil || len(a.Data) != bombBytes {
		t.Errorf("one that has room: %d bytes, %v", len(a.Data), err)
	}
}
