package media

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// chunkOf is a PNG's chunk.
func chunkOf(kind string, data ...[]byte) []byte {
	body := append([]byte(kind), bytes.Join(data, nil)...)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)-4))
	return binary.BigEndian.AppendUint32(append(b, body...), crc32.ChecksumIEEE(body))
}

// What unpacks to much more than the picture takes no more memory than the picture may, however small the file is.
func TestBombsTakeNoMoreMemoryThanThePicture(t *testing.T) {
	const side, bomb, allowed = 100, 200 << 20, 32 << 20
	packed := damage.PackedZeros(t, bomb)
	head := chunkOf("IHDR", []byte{0, 0, 0, side, 0, 0, 0, side, 8, 2, 0, 0, 0})
	rows := chunkOf("IDAT", damage.PackedZeros(t, 1<<20))
	whole := func(chunks ...[]byte) []byte { return append([]byte("\x89PNG\r\n\x1a\n"), bytes.Join(chunks, nil)...) }
	end := chunkOf("IEND")
	op := compiled(t, Config{Resize: Square(50)})
	for name, data := range map[string][]byte{
		"pixels":            whole(head, chunkOf("IDAT", packed), end),
		"a text":            whole(head, chunkOf("zTXt", []byte("Comment\x00\x00"), packed), rows, end),
		"a text at the end": whole(head, rows, chunkOf("zTXt", []byte("Comment\x00\x00"), packed), end),
		"a unicode text":    whole(head, chunkOf("iTXt", []byte("Comment\x00\x01\x00\x00\x00"), packed), rows, end),
		"a colour profile":  whole(head, chunkOf("iCCP", []byte("icc\x00\x00"), packed), rows, end),
	} {
		w := worker(t, nil)
		var err error
		peak := damage.PeakBytes(t, func() { _, err = w.Row(make([]byte, op.RowBytes()), data, op, Draw{}) })
		t.Logf("%s of %d MiB in %d KiB: %.1f MiB, %v", name, bomb>>20, len(data)>>10, float64(peak)/(1<<20), err)
		if peak > allowed {
			t.Errorf("%s of %d MiB took %d MiB of memory, want at most %d", name, bomb>>20, peak>>20, allowed>>20)
		}
	}
}
