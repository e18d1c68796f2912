package engine

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// sides are those of the pictures of sizedFolder, which fit the size 20 with a max_size of 36: upright, lying and square ones.
var sides = []media.Size{{H: 30, W: 40}, {H: 40, W: 30}, {H: 20, W: 20}, {H: 24, W: 60}, {H: 61, W: 25}, {H: 33, W: 47}, {H: 10, W: 11}}

// sizedFolder is a folder of n pictures, each of another size than its neighbours.
func sizedFolder(t testing.TB, n int, spoil ...int) string {
	dir := t.TempDir()
	for i := range n {
		s := sides[i%len(sides)]
		m := image.NewNRGBA(image.Rect(0, 0, s.W, s.H))
		for y := range s.H {
			for x := range s.W {
				m.SetNRGBA(x, y, color.NRGBA{R: uint8(40 + 3*x), G: uint8(40 + 3*y), B: uint8(i + 1), A: 255})
			}
		}
		var b bytes.Buffer
		must(png.Encode(&b, m))
		data := b.Bytes()
		if slices.Contains(spoil, i) {
			data = data[:len(data)/2]
		}
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.png", i)), data, 0o600))
	}
	return dir
}

// alone is what a sample of a sizedFolder becomes in a row of its own size: its bytes in C order, and that size. An empty one for -1, a masked row.
func alone(t testing.TB, s *spec.Spec, dir string, i int64, epoch uint64) ([]byte, media.Size) {
	if i < 0 {
		return nil, media.Size{}
	}
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%03d.png", i)))
	must(err)
	w, err := media.NewWorker(nil)
	must(err)
	defer w.Close()
	c := load.PictureConfig(s.Image)
	c.Open = &media.Open{Room: media.Square(200), Dense: true}
	op, err := media.Compile(c)
	must(err)
	row := make([]byte, op.RowBytes())
	info, err := w.Row(row, data, op, media.Draw{Seed: s.Order.Seed, Epoch: epoch, Index: uint64(i)})
	must(err)
	return row[:info.Row.H*info.Row.W*op.Channels()*op.DType().ItemBytes()], info.Row
}

// around is a picture at the top left of zeros, as large as a batch's are.
func around(dense []byte, of media.Size, high, wide, planes, pixel int) []byte {
	row := make([]byte, planes*high*wide*pixel)
	for p := range planes {
		for y := range of.H {
			copy(row[(p*high+y)*wide*pixel:], dense[(p*of.H+y)*of.W*pixel:][:of.W*pixel])
		}
	}
	return row
}

// shown is row i of a padded tensor as far as the batch uses it, in C order.
func shown(l *shm.Lease, capacity []int64, i, planes, pixel int, high, wide int64) (all []byte) {
	h, w := capacity[0], capacity[1]
	row := l.Tensor(sampleTensor)[i*planes*int(h*w)*pixel:]
	for p := range planes {
		for y := range high {
			at := (int64(p)*h + y) * w * int64(pixel)
			all = append(all, row[at:at+wide*int64(pixel)]...)
		}
	}
	return all
}

// Padded pictures lie at the top left of rows as large as the batch's largest, with zeros elsewhere, whatever was in the slot before, and the batch says
// how large each is; of bad samples as the policy has it.
func TestPaddedPicturesLieInRowsOfTheBatchsLargest(t *testing.T) {
	dir := sizedFolder(t, 23, 4, 9, 10)
	for _, c := range []struct {
		policy, image string
		multiple      int64
	}{
		{"skip", "transform: [resize: {size: 20, max_size: 36}]", 1},
		{"mask", "multiple_of: 16, transform: [resize: {size: 20, max_size: 36}]", 16},
		{"substitute", "layout: NCHW, transform: [resize: {size: 20, max_size: 36}, normalize: imagenet, horizontal_flip: 0.5]", 1},
		{"skip", "room: [70, 60], transform: [random_resize: {min_size: 9, max_size: 25}]", 1},
	} {
		if strings.Contains(c.image, "normalize") { // which comes last
			c.image = strings.Replace(c.image, "normalize: imagenet, horizontal_flip: 0.5", "horizontal_flip: 0.5, normalize: imagenet", 1)
		}
		t.Run(c.policy+" "+c.image, func(t *testing.T) {
			s := describeImage(t, dir, "{shape: padded, "+c.image+"}", "batch: 5\norder: {epochs: 3, seed: 3}\nring: {slots: 3}\nbad_sample: {policy: "+c.policy+"}\n")
			reader := start(t, s, nil).attach(shm.AttachOptions{})
			room := []int64{int64(s.Image.Room.Height), int64(s.Image.Room.Width)}
			planes, pixel, first := 1, 3*s.Image.DType.Bytes(), 1
			if s.Image.Layout == spec.NCHW {
				planes, pixel, first = 3, s.Image.DType.Bytes(), 2
			}
			batches, sizes := 0, map[string]bool{}
			for n := range 15 {
				l, err := reader.Acquire(testContext(t))
				if err == shm.EndEpoch {
					l, err = reader.Acquire(testContext(t))
				}
				must(err)
				shape, extents := l.Shape(sampleTensor), batch.Int64s(l.Tensor(firstSide))
				var high, wide int64
				for row := range l.Rows {
					high, wide = max(high, extents[2*row]), max(wide, extents[2*row+1])
				}
				up := func(n int64) int64 { return (n + c.multiple - 1) / c.multiple * c.multiple }
				if high, wide = up(high), up(wide); shape[first] != high || shape[first+1] != wide {
					t.Fatalf("batch %d is of shape %v, want %d x %d", n, shape, high, wide)
				}
				for row, i := range batch.Int64s(l.Tensor(indexTensor))[:l.Rows] {
					if l.Tensor(statusTensor)[row] == batch.Masked {
						i = -1
					}
					dense, of := alone(t, s, dir, i, uint64(n/5))
					if int64(of.H) != extents[2*row] || int64(of.W) != extents[2*row+1] {
						t.Fatalf("batch %d, row %d: extent %v, want %v", n, row, extents[2*row:2*row+2], of)
					}
					if !bytes.Equal(shown(l, room, row, planes, pixel, high, wide), around(dense, of, int(high), int(wide), planes, pixel)) {
						t.Fatalf("batch %d, row %d, sample %d: other bytes than alone, or no zeros around them", n, row, i)
					}
				}
				sizes[fmt.Sprint(shape[first:])] = true
				batches++
				must(l.Release())
			}
			if batches != 15 || len(sizes) < 2 {
				t.Errorf("%d batches of sizes %v, want 15 of several", batches, sizes)
			}
		})
	}
}

// Ragged pictures lie one behind the other, as many elements as they have pixels, and the batch says how large each is; from a cache of rows, too, and of
// bad samples as the policy has it.
func TestRaggedPicturesLieOneBehindTheOther(t *testing.T) {
	dir := sizedFolder(t, 23, 4, 9, 10)
	for _, c := range []struct{ policy, image, more string }{
		{"skip", "transform: [resize: {size: 20, max_size: 36}]", ""},
		{"mask", "layout: NCHW, transform: [resize: {size: 20, max_size: 36}, normalize: imagenet]", ""},
		{"substitute", "transform: [resize: {min_pixels: 300, max_pixels: 900, multiple_of: 7, interpolation: bicubic}]", "cache: {rows_bytes: 4MiB}\n"},
		{"skip", "mode: gray, transform: [resize: {min_pixels: 300, max_pixels: 900, multiple_of: 7, interpolation: bicubic}]", fmt.Sprintf("cache: {rows_bytes: 4MiB, rows_dir: %q}\n", t.TempDir())},
		{"skip", "room: [61, 47], transform: []", ""},
	} {
		t.Run(c.policy+" "+c.image, func(t *testing.T) {
			s := describeImage(t, dir, "{shape: ragged, "+c.image+"}", "batch: 5\norder: {epochs: 3, seed: 3}\nring: {slots: 3, hash: xxh3}\nbad_sample: {policy: "+c.policy+"}\n"+c.more)
			r := start(t, s, nil)
			reader := r.attach(shm.AttachOptions{})
			for n := range 15 {
				l, err := reader.Acquire(testContext(t))
				if err == shm.EndEpoch {
					l, err = reader.Acquire(testContext(t))
				}
				must(err)
				offsets, extents, values := l.Offsets(sampleTensor), batch.Int64s(l.Tensor(firstSide)), l.Tensor(sampleTensor)
				for row, i := range batch.Int64s(l.Tensor(indexTensor))[:l.Rows] {
					if l.Tensor(statusTensor)[row] == batch.Masked {
						i = -1
					}
					dense, of := alone(t, s, dir, i, uint64(n/5))
					item := int64(s.Image.DType.Bytes())
					if got := values[offsets[row]*item : offsets[row+1]*item]; !bytes.Equal(got, dense) || extents[2*row] != int64(of.H) || extents[2*row+1] != int64(of.W) {
						t.Fatalf("batch %d, row %d, sample %d: %d bytes of %v, want the %d of %v", n, row, i, len(got), extents[2*row:2*row+2], len(dense), of)
					}
				}
				must(l.Release())
			}
			if rows := r.Stats().Rings[0].Source.Rows; c.more != "" && rows.Hits == 0 {
				t.Errorf("no row came from the cache: %+v", rows)
			}
		})
	}
}

// A picture that a row has no room for is a bad sample, whose cause is counted and whose error names the key.
func TestAPictureThatDoesNotFitIsBad(t *testing.T) {
	dir := sizedFolder(t, 7)
	s := describeImage(t, dir, "{shape: padded, room: [40, 47], transform: []}", "batch: 7\norder: {shuffle: false, epochs: 1}\n")
	r := start(t, s, nil)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	if got := batch.Int64s(l.Tensor(indexTensor))[:l.Rows]; !slices.Equal(got, []int64{0, 1, 2, 5, 6}) {
		t.Errorf("rows of samples %v", got)
	}
	must(l.Release())
	if n := r.Stats().Rings[0].Bad; n.Causes["too_large"] != 2 {
		t.Errorf("%+v", n)
	}
}

// Equal batches have equal hashes, whatever was in their slots before; a batch of other pictures has another.
func TestTheHashOfOpenPicturesIsThatOfTheirPixels(t *testing.T) {
	dir := sizedFolder(t, 21)
	for _, shape := range []string{"padded", "ragged"} {
		var first []uint64
		for _, slots := range []int{3, 5} {
			t.Run(fmt.Sprint(shape, slots), func(t *testing.T) {
				s := describeImage(t, dir, "{shape: "+shape+", transform: [resize: {size: 20, max_size: 36}]}", fmt.Sprintf("batch: 3\norder: {seed: 3}\nring: {slots: %d, hash: xxh3}\n", slots))
				reader := start(t, s, nil).attach(shm.AttachOptions{})
				var all []uint64
				for len(all) < 14 {
					l, err := reader.Acquire(testContext(t))
					if err == shm.EndEpoch {
						continue
					}
					must(err)
					all = append(all, l.Hash)
					must(l.Release())
				}
				if slots == 3 {
					first = all
				} else if !slices.Equal(first, all) || all[0] == all[1] {
					t.Errorf("%s: hashes %x, then %x", shape, first, all)
				}
			})
		}
	}
}

// Pictures of their own size cost no Go allocation either, padded and ragged.
func TestOpenPicturesAllocateNothingPerSample(t *testing.T) {
	for _, shape := range []string{"padded", "ragged"} {
		t.Run(shape, func(t *testing.T) {
			allocationsPerBatch(t, describeImage(t, sizedFolder(t, 100), "{shape: "+shape+", transform: [resize: {size: 20, max_size: 36}]}", "batch: 50\n"))
		})
	}
}
