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
	"github.com/spdl/spdl/shm"
)

// A picture's tiles lie one behind the other in each of the three ways, with how many they are, of which grid, and how large the picture was; the batch's hash
// is that of the rows. A bad picture has none.
func TestTilesOfAPictureArrive(t *testing.T) {
	dir := sizedFolder(t, 8, 5)
	const side, one = 8, 8 * 8 * 3
	hashes := map[string][]uint64{}
	for _, how := range []string{"fixed", "padded", "ragged"} {
		s := describeImage(t, dir, "{tiles: {size: 8, max: 4, shape: "+how+"}}", "batch: 4\norder: {shuffle: false}\nbad_sample: {policy: mask}\nring: {hash: xxh3}\n")
		op, err := media.Compile(load.PictureConfig(s.Image))
		must(err)
		w, err := media.NewWorker(nil)
		must(err)
		r := startAgain(t, s, nil)
		reader := r.attach(shm.AttachOptions{})
		for k := range 2 {
			l, err := reader.Acquire(testContext(t))
			must(err)
			pixels, counts, grids, sizes := l.Tensor(sampleTensor), batch.Int64s(l.Tensor(firstSide)), batch.Int64s(l.Tensor(firstSide+1)), batch.Int64s(l.Tensor(firstSide+2))
			if shape := l.Shape(sampleTensor); how != "ragged" && (shape[1] != map[string]int64{"fixed": 5, "padded": slices.Max(counts[:4])}[how] || !slices.Equal(shape[2:], []int64{side, side, 3})) {
				t.Errorf("%s: got shape %v", how, shape)
			}
			for row := range l.Rows {
				i, want, info := 4*k+row, make([]byte, op.RowBytes()), media.Info{}
				if i != 5 {
					data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
					must(err)
					info, err = w.Row(want, data, op, media.Draw{})
					must(err)
				}
				seen := info.Seen()
				if got := fmt.Sprint(counts[row], grids[2*row:2*row+2], sizes[2*row:2*row+2]); got != fmt.Sprint(info.Tiles, []int{info.Grid.Rows, info.Grid.Columns}, []int{seen.H, seen.W}) {
					t.Errorf("%s: row %d: got %s, want those of %+v", how, i, got, info)
				}
				at, n := row*5*one, 5*one
				if how == "ragged" {
					at, n = int(l.Offsets(sampleTensor)[row]), info.Tiles*one
					if int(l.Offsets(sampleTensor)[row+1]) != at+n {
						t.Errorf("row %d of %d tiles: got offsets %v", i, info.Tiles, l.Offsets(sampleTensor))
					}
				}
				if !slices.Equal(pixels[at:at+n], want[:n]) {
					t.Errorf("%s: row %d: got other pixels", how, i)
				}
			}
			hashes[how] = append(hashes[how], l.Hash)
			must(l.Release())
		}
		_ = r.end()
		w.Close()
	}
	if !slices.Equal(hashes["fixed"], hashes["padded"]) || !slices.Equal(hashes["fixed"], hashes["ragged"]) || hashes["fixed"][0] == hashes["fixed"][1] {
		t.Errorf("got hashes %v, want one for the same rows however they lie", hashes)
	}
}

// Tiles, too, take no allocation a sample.
func TestSteadyStateAllocatesNothingForTiles(t *testing.T) {
	allocationsPerBatch(t, describeImage(t, sizedFolder(t, 100), "{tiles: {size: 8, max: 4, shape: ragged}}", "batch: 50\n"))
}
