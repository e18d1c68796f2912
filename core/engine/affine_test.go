package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// With affine a batch says of each row which map led to it, and how large its picture is: of rows that moved up into a bad sample's place, too.
func TestABatchSaysWhereItsPicturesPointsLie(t *testing.T) {
	dir := t.TempDir()
	var files [][]byte
	for i := range 6 {
		data := noisy(t, i)
		if i == 2 {
			data = data[:50]
		}
		files = append(files, data)
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), data, 0o600))
	}
	for policy, want := range map[string][]int64{"skip": {0, 1, 3, 4, 5}, "mask": {0, 1, 2, 3, 4, 5}, "substitute": {0, 1, 1, 3, 4, 5}} {
		t.Run(policy, func(t *testing.T) {
			const image = "{affine: true, transform: [random_resized_crop: 16, horizontal_flip: 0.5, vertical_flip: 0.5]}"
			s := describeImage(t, dir, image, "batch: 6\norder: {shuffle: false, seed: 7}\nbad_sample: {policy: "+policy+"}\n")
			l, err := start(t, s, nil).attach(shm.AttachOptions{}).Acquire(testContext(t))
			must(err)
			if got := batch.Int64s(l.Tensor(indexTensor)); !slices.Equal(got[:l.Rows], want) {
				t.Fatalf("rows of samples %v, want %v", got[:l.Rows], want)
			}
			if got := fmt.Sprint(l.Shape(firstSide), l.Shape(firstSide+1)); got != fmt.Sprintf("[%d 2 3] [%d 2]", l.Rows, l.Rows) {
				t.Fatalf("shapes %s", got)
			}
			affine, size := batch.Float32s(l.Tensor(firstSide)), batch.Int64s(l.Tensor(firstSide+1))
			for row, i := range want {
				wantMap, wantSize := mapOf(t, s, files[i], i)
				if got := affine[6*row : 6*row+6]; !slices.Equal(got, wantMap) || !slices.Equal(size[2*row:2*row+2], wantSize) {
					t.Errorf("row %d, sample %d: got %v of %v, want %v of %v", row, i, got, size[2*row:2*row+2], wantMap, wantSize)
				}
			}
			must(l.Release())
		})
	}
}

// mapOf is what a worker says of sample i; of a bad one zeros.
func mapOf(t *testing.T, s *spec.Spec, data []byte, i int64) ([]float32, []int64) {
	w, err := media.NewWorker(nil)
	must(err)
	defer w.Close()
	op, err := media.Compile(load.PictureConfig(s.Image))
	must(err)
	info, err := w.Row(make([]byte, op.RowBytes()), data, op, media.Draw{Seed: s.Order.Seed, Index: uint64(i)})
	if err != nil {
		return make([]float32, 6), make([]int64, 2)
	}
	var all []float32
	for _, line := range info.Affine {
		for _, a := range line {
			all = append(all, float32(a))
		}
	}
	return all, []int64{int64(info.Height), int64(info.Width)}
}
