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

// A picture's patches lie one behind the other in each of the three ways, with how many they are, of which grid, and how large the picture was; ragged ones of all
// rows are one block. The batch's hash is that of the rows. A bad picture has none.
func TestPatchesOfAPictureArrive(t *testing.T) {
	dir := sizedFolder(t, 8, 5)
	const one = 2 * 4 * 4 * 3
	hashes := map[string][]uint64{}
	for _, how := range []string{"fixed", "padded", "ragged", "ragged, kept"} {
		shape, more := how[:min(len(how), 6)], ""
		if how == "fixed" {
			shape = how
		}
		if how == "ragged, kept" {
			more = fmt.Sprintf("cache: {rows_bytes: 4MiB, rows_dir: %q}\n", t.TempDir())
		}
		s := describeImage(t, dir, "{layout: NCHW, patches: {size: 4, merge: 2, temporal: 2, shape: "+shape+"}, transform: [{resize: {min_pixels: 256, max_pixels: 900, multiple_of: 8}}]}",
			"batch: 4\norder: {shuffle: false}\nbad_sample: {policy: mask}\nring: {hash: xxh3}\n"+more)
		op, err := media.Compile(load.PictureConfig(s.Image))
		must(err)
		w, err := media.NewWorker(nil)
		must(err)
		r := startAgain(t, s, nil)
		reader, room := r.attach(shm.AttachOptions{}), op.RowBytes()/one
		for k := range 2 {
			l, err := reader.Acquire(testContext(t))
			must(err)
			pixels, counts, grids, sizes := l.Tensor(sampleTensor), batch.Int64s(l.Tensor(firstSide)), batch.Int64s(l.Tensor(firstSide+1)), batch.Int64s(l.Tensor(firstSide+2))
			if shape := l.Shape(sampleTensor); more == "" && how != "ragged" && (shape[1] != map[string]int64{"fixed": int64(room), "padded": slices.Max(counts[:4])}[how] || !slices.Equal(shape[2:], []int64{one})) {
				t.Errorf("%s: got shape %v", how, shape)
			}
			end := 0
			for row := range l.Rows {
				i, want, info, grid := 4*k+row, make([]byte, op.RowBytes()), media.Info{}, []int{0, 0, 0}
				if i != 5 {
					data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
					must(err)
					info, err = w.Row(want, data, op, media.Draw{})
					must(err)
					grid = []int{1, info.Grid.Rows, info.Grid.Columns}
				}
				seen := info.Seen()
				if got := fmt.Sprint(counts[row], grids[3*row:3*row+3], sizes[2*row:2*row+2]); got != fmt.Sprint(info.Tiles, grid, []int{seen.H, seen.W}) {
					t.Errorf("%s: row %d: got %s, want those of %+v", how, i, got, info)
				}
				at, n := row*room*one, room*one
				if shape == "ragged" {
					at, n = int(l.Offsets(sampleTensor)[row]), info.Tiles*one
					if at != end || int(l.Offsets(sampleTensor)[row+1]) != at+n {
						t.Errorf("row %d of %d patches: got offsets %v", i, info.Tiles, l.Offsets(sampleTensor))
					}
					end = at + n
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
	for how, all := range hashes {
		if !slices.Equal(hashes["fixed"], all) || all[0] == all[1] {
			t.Errorf("%s: got hashes %v and %v fixed, want one for the same rows however they lie", how, all, hashes["fixed"])
		}
	}
}

// Patches, too, take no allocation a sample.
func TestSteadyStateAllocatesNothingForPatches(t *testing.T) {
	allocationsPerBatch(t, describeImage(t, sizedFolder(t, 100), "{patches: 4, transform: [{resize: {min_pixels: 256, max_pixels: 900, multiple_of: 8}}]}", "batch: 50\n"))
}
