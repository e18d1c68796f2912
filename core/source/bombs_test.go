package source

import (
	"archive/tar"
	"bytes"
	"fmt"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// empties is a tar of n pictures without a byte, made as it is read.
type empties struct {
	n    int64
	head [tarBlock]byte
}

func newEmpties(t *testing.T, n int64) *empties {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	must(t, w.WriteHeader(&tar.Header{Name: "0000000.jpg", Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}))
	e := &empties{n: n}
	copy(e.head[:], b.Bytes())
	return e
}

func (e *empties) block(i int64) []byte {
	if i >= e.n {
		return make([]byte, tarBlock)
	}
	copy(e.head[:], fmt.Sprintf("%07d", i))
	copy(e.head[:], mendSums(e.head[:]))
	return e.head[:]
}

func (e *empties) ReadAt(to []byte, at int64) (int, error) {
	n := 0
	for n < len(to) {
		n += copy(to[n:], e.block((at + int64(n)) / tarBlock)[(at+int64(n))%tarBlock:])
	}
	return n, nil
}

// An archive of nothing but headers takes less memory than it has bytes, by far: its index has a few bytes a sample.
func TestArchiveOfEmptyMembersTakesTheMemoryOfItsIndex(t *testing.T) {
	const members, allowed = 200_000, 400 // bytes a member, of 512 in the archive
	e := newEmpties(t, members)
	var b *indexBuilder
	var err error
	peak := damage.PeakBytes(t, func() {
		b, err = buildTarIndex(background, &window{r: e, size: (members + 2) * tarBlock, chunk: 1 << 20})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d members: %.1f MiB", members, float64(peak)/(1<<20))
	if peak > members*allowed+16<<20 {
		t.Errorf("%d members took %d MiB of memory, want at most %d bytes each", members, peak>>20, allowed)
	}
	v := version{size: (members + 2) * tarBlock, tag: 7}
	if x, err := parseIndex(b.encode(v), v); err != nil || x.n != members {
		t.Errorf("its index: %v, %v", x, err)
	}
}
