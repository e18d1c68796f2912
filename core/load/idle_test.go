package load

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/media"
)

// noise is a picture of that size.
func noise(seed uint64, w, h int) *image.NRGBA {
	m, r := image.NewNRGBA(image.Rect(0, 0, w, h)), rand.New(rand.NewPCG(seed, 0))
	for i := range m.Pix {
		if m.Pix[i] = 255; i%4 < 3 {
			m.Pix[i] = uint8(r.Uint32())
		}
	}
	return m
}

// dropIdle has the next pictures begin without a worker.
func dropIdle() {
	for len(idle) > 0 {
		w := <-idle
		w.Close()
	}
}

// What a picture becomes does not depend on what its worker did before, nor on who does so beside it: one of other sizes, formats and transforms, or a broken one.
func TestAPictureIsTheSameWhateverItsWorkerDidBefore(t *testing.T) {
	var jpegs, pngs [3]bytes.Buffer
	for i, side := range []int{16, 90, 900} {
		if err := jpeg.Encode(&jpegs[i], noise(uint64(i), side, side-3), nil); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(&pngs[i], noise(uint64(i), side-5, side)); err != nil {
			t.Fatal(err)
		}
	}
	type one struct {
		description string
		data        []byte
	}
	var all []one
	for i := range 3 {
		for _, data := range [][]byte{jpegs[i].Bytes(), pngs[i].Bytes(), jpegs[i].Bytes()[:jpegs[i].Len()/2]} {
			for _, section := range []string{"{}", `{"transform": [{"resize": [40, 30]}]}`, `{"mode": "gray", "dtype": "f32", "transform": [{"resize": {"size": [33, 33], "interpolation": "bicubic"}}, {"normalize": {"mean": [0.5], "std": [0.5]}}]}`,
				`{"transform": [{"random_rotation": 30}, {"resize": [20, 20]}, {"gaussian_blur": 5}]}`} {
				all = append(all, one{`{"image": ` + section + `}`, data})
			}
		}
	}
	told := func(o one) string {
		m, err := Load([]byte(o.description), Source{Bytes: o.data}, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %x", shapes(m), m.Tensors[0].Data)
	}
	want := make([]string, len(all))
	for i := range all {
		dropIdle()
		want[i] = told(all[i])
	}
	var group sync.WaitGroup
	for k := range 3 {
		group.Add(1)
		go func() {
			defer group.Done()
			r := rand.New(rand.NewPCG(uint64(k), 1))
			for range 150 {
				if i := r.IntN(len(all)); told(all[i]) != want[i] {
					t.Errorf("%s of %d bytes: another than by a worker of its own", all[i].description, len(all[i].data))
				}
			}
		}()
	}
	group.Wait()
}

// Workers wait for the next picture, but for those whose buffers are large.
func TestAWorkerWithLargeBuffersIsNotKept(t *testing.T) {
	dropIdle()
	if _, err := Load([]byte(`{"image": {}}`), Source{Bytes: picture()}, nil); err != nil || len(idle) != 1 {
		t.Fatalf("%d workers wait behind a small picture, %v, want 1", len(idle), err)
	}
	if _, err := Load([]byte(`{"image": {"transform": [{"resize": [1500, 1500]}, {"gaussian_blur": 5}]}}`), Source{Bytes: picture()}, nil); err != nil || len(idle) != 0 {
		t.Fatalf("%d workers wait behind a large one, %v, want none", len(idle), err)
	}
	var kept []*media.Worker
	for range cap(idle) + 3 {
		w, err := worker()
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, w)
	}
	for _, w := range kept {
		rest(w)
	}
	if len(idle) != cap(idle) {
		t.Errorf("%d workers wait, want %d", len(idle), cap(idle))
	}
	dropIdle()
}
