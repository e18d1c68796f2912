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

const (
	inTiles   = "{tiles: {size: 8, max: 4, shape: %s}}"
	inPatches = "{layout: NCHW, patches: {size: 4, merge: 2, temporal: 2, shape: %s}, transform: [{resize: {min_pixels: 256, max_pixels: 900, multiple_of: 8}}]}"
)

// A picture's tiles, and its patches, lie one behind the other in each of the three ways, with how many they are, of which grid, and how large the picture
// was; ragged ones of all rows are one block. The batch's hash is that of the rows. A bad picture has none.
func TestPiecesOfAPictureArrive(t *testing.T) {
	dir := sizedFolder(t, 8, 5)
	for _, c := range []struct {
		image  string
		piece  []int64 // shape of one
		bytes  int     // and its size
		frames []int   // in front of a grid's rows and columns
	}{
		{inTiles, []int64{8, 8, 3}, 8 * 8 * 3, nil},
		{inPatches, []int64{2 * 4 * 4 * 3}, 2 * 4 * 4 * 3, []int{1}},
	} {
		hashes := map[string][]uint64{}
		for _, how := range []string{"fixed", "padded", "ragged", "ragged, kept"} {
			shape, more := how, ""
			if how == "ragged, kept" {
				shape, more = "ragged", fmt.Sprintf("cache: {rows_bytes: 4MiB, rows_dir: %q}\n", t.TempDir())
			}
			s := describeImage(t, dir, fmt.Sprintf(c.image, shape), "batch: 4\norder: {shuffle: false}\nbad_sample: {policy: mask}\nring: {hash: xxh3}\n"+more)
			op, err := media.Compile(load.PictureConfig(s.Image))
			must(err)
			w, err := media.NewWorker(nil)
			must(err)
			r := startAgain(t, s, nil)
			reader, room, axes := r.attach(shm.AttachOptions{}), op.RowBytes()/c.bytes, len(c.frames)+2
			for k := range 2 {
				l, err := reader.Acquire(testContext(t))
				must(err)
				pixels, counts, grids, sizes := l.Tensor(sampleTensor), batch.Int64s(l.Tensor(firstSide)), batch.Int64s(l.Tensor(firstSide+1)), batch.Int64s(l.Tensor(firstSide+2))
				if got := l.Shape(sampleTensor); shape != "ragged" && (got[1] != map[string]int64{"fixed": int64(room), "padded": slices.Max(counts[:4])}[how] || !slices.Equal(got[2:], c.piece)) {
					t.Errorf("%s, %s: got shape %v", c.image, how, got)
				}
				end := 0
				for row := range l.Rows {
					i, want, info, grid := 4*k+row, make([]byte, op.RowBytes()), media.Info{}, make([]int, axes)
					if i != 5 {
						data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
						must(err)
						info, err = w.Row(want, data, op, media.Draw{})
						must(err)
						grid = append(slices.Clone(c.frames), info.Grid.Rows, info.Grid.Columns)
					}
					seen := info.Seen()
					if got := fmt.Sprint(counts[row], grids[axes*row:axes*(row+1)], sizes[2*row:2*row+2]); got != fmt.Sprint(info.Tiles, grid, []int{seen.H, seen.W}) {
						t.Errorf("%s, %s: row %d: got %s, want those of %+v", c.image, how, i, got, info)
					}
					at, n := row*room*c.bytes, room*c.bytes
					if shape == "ragged" {
						at, n = int(l.Offsets(sampleTensor)[row]), info.Tiles*c.bytes
						if at != end || int(l.Offsets(sampleTensor)[row+1]) != at+n {
							t.Errorf("%s, %s: row %d of %d: got offsets %v", c.image, how, i, info.Tiles, l.Offsets(sampleTensor))
						}
						end = at + n
					}
					if !slices.Equal(pixels[at:at+n], want[:n]) {
						t.Errorf("%s, %s: row %d: got other pixels", c.image, how, i)
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
				t.Errorf("%s, %s: got hashes %v and %v fixed, want one for the same rows however they lie", c.image, how, all, hashes["fixed"])
			}
		}
	}
}

// Tiles and patches, too, take no allocation a sample.
func TestSteadyStateAllocatesNothingForPieces(t *testing.T) {
	for name, image := range map[string]string{"tiles": inTiles, "patches": inPatches} {
		t.Run(name, func(t *testing.T) {
			allocationsPerBatch(t, describeImage(t, sizedFolder(t, 100), fmt.Sprintf(image, "ragged"), "batch: 50\n"))
		})
	}
}
