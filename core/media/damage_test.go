//go:build !noffmpeg

package media

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// wholePictures is every small picture there is to be damaged, by name.
func wholePictures(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, pattern := range []string{"testdata/damaged/*", "testdata/*.jpg", "heif/testdata/*"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = b
		}
	}
	for _, name := range []string{"tiles", "packed tiles of 16 bits", "BigTIFF in tiles", "CMYK in planes and in tiles", "12 bits, big-endian"} {
		found["tiff, "+name] = tiffCases()[name].file(t, nil)
	}
	found["packed.exr"] = exrFile(t, "Y", exrByZIP, exrSide, exrRamp)
	found["deep.pgm"] = append([]byte("P5\n# deep\n9 7\n1000\n"), make([]byte, 2*9*7)...)
	return found
}

// damageOps are operations that go every way through the kernel.
func damageOps(t *testing.T) []*Op {
	t.Helper()
	var ops []*Op
	for i, cfg := range allConfigs() {
		if i%7 == 0 {
			cfg.Orient, cfg.MaxPixels = i%2 == 0, 1<<20
			ops = append(ops, compiled(t, cfg))
		}
	}
	return ops
}

// fresh is a worker that the caller closes.
func fresh(t *testing.T, portable bool) *Worker {
	t.Helper()
	w, err := NewWorker(&Options{Portable: portable})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// wantNamed fails for an error without a cause.
func wantNamed(t *testing.T, what string, err error) (refused bool) {
	t.Helper()
	var named interface{ Cause() string }
	if err != nil && (!errors.As(err, &named) || named.Cause() == "") {
		t.Fatalf("%s: an error without a cause: %v", what, err)
	}
	return err != nil
}

// A picture with bits flipped, its checksums wrong or right, is a row or a named cause, and one that is cut is refused by name or the very
// row that it would have been; of a worker that has seen other damage and of a new one, and the first gives the whole picture after all.
func TestDamagedPicturesAreRowsOrNamed(t *testing.T) {
	ops := damageOps(t)
	for name, whole := range wholePictures(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			kept, tried, cutsTaken := worker(t, nil), 0, 0
			try := func(what string, bad []byte) ([]byte, *Op, Draw) {
				w, op, draw := kept, ops[tried%len(ops)], Draw{Index: uint64(tried)}
				if tried++; tried%2 == 0 {
					w = fresh(t, tried%4 == 0)
					defer w.Close()
				}
				row := make([]byte, op.RowBytes())
				if _, err := w.Row(row, bad, op, draw); wantNamed(t, what, err) {
					return nil, op, draw
				}
				return row, op, draw
			}
			n := damage.Count(60)
			damage.Cuts(whole, n, func(what string, bad []byte) {
				if row, op, draw := try(what, bad); row != nil {
					cutsTaken++
					wantRow(t, what, row, whole, op, draw)
				}
			})
			damage.Flips(whole, n, func(what string, bad []byte) { try(what, bad) })
			if cutsTaken > min(n, len(whole))/4 {
				t.Errorf("%d of %d cut files were taken", cutsTaken, min(n, len(whole)))
			}
			row := make([]byte, ops[0].RowBytes())
			if _, err := kept.Row(row, whole, ops[0], Draw{}); err != nil {
				t.Fatal(err)
			}
			wantRow(t, "after all that damage", row, whole, ops[0], Draw{})
		})
	}
}

// wantRow fails unless the row is that of a new worker.
func wantRow(t *testing.T, what string, row, whole []byte, op *Op, draw Draw) {
	t.Helper()
	w, want := fresh(t, false), make([]byte, op.RowBytes())
	defer w.Close()
	if _, err := w.Row(want, whole, op, draw); err != nil || !bytes.Equal(row, want) {
		t.Errorf("%s: the row is not that of the whole picture (%v)", what, err)
	}
}
