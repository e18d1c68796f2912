package engine

import (
	"archive/tar"
	"bytes"
	"fmt"
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

// manyTar is an archive whose sample i has counts[i] pictures, noisy(10 i + j) each. spoil replaces some of them, by this number.
func manyTar(t testing.TB, counts []int, spoil map[int][]byte) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(name string, data []byte) {
		must(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644}))
		_, err := w.Write(data)
		must(err)
	}
	for i, n := range counts {
		put(fmt.Sprintf("%02d.cls", i), []byte(fmt.Sprint(i)))
		for j := range n {
			data := noisy(t, 10*i+j)
			if bad, is := spoil[10*i+j]; is {
				data = bad
			}
			put(fmt.Sprintf("%02d.%d.png", i, j), data)
		}
	}
	must(w.Close())
	file := filepath.Join(t.TempDir(), "s.tar")
	must(os.WriteFile(file, b.Bytes(), 0o644))
	return file
}

// describeMany is a description of it, in order, whose pictures are cropped by chance to 16 x 16.
func describeMany(t testing.TB, file, many, more string) *spec.Spec {
	t.Helper()
	text := fmt.Sprintf("name: %s\nsource: {shards: %q}\nimage: {many: %s, affine: true, transform: [random_resized_crop: 16, horizontal_flip: 0.5]}\norder: {shuffle: false, seed: 7}\n%s", testName(), file, many, more)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// rowOfMany is what a worker makes of picture j of sample i: pixels, where they lie and the size.
func rowOfMany(t testing.TB, w *media.Worker, op *media.Op, seed uint64, i, j int) string {
	t.Helper()
	row := make([]byte, op.RowBytes())
	info, err := w.Row(row, noisy(t, 10*i+j), op, drawOf(media.Draw{Seed: seed, Index: uint64(i)}, j))
	must(err)
	affine := make([]float32, 6)
	for k := range affine {
		affine[k] = float32(info.Affine[k/3][k%3])
	}
	return fmt.Sprint(row, affine, info.Height, info.Width)
}

// picturesOf is what a batch says of its rows, whatever way they lie: of each its pictures.
func picturesOf(t testing.TB, l *shm.Lease, how cut, most int) (rows [][]string) {
	t.Helper()
	const one = 16 * 16 * 3
	pixels, counts := l.Tensor(sampleTensor), batch.Int64s(l.Tensor(firstSide))
	affine, size := batch.Float32s(l.Tensor(firstSide+1)), batch.Int64s(l.Tensor(firstSide+2))
	for i := range l.Rows {
		first := i * most
		if how == ragged {
			o := l.Offsets(sampleTensor)
			if first = int(o[i] / one); o[i+1]-o[i] != counts[i]*one || l.Offsets(firstSide + 1)[i] != o[i]/one*6 || l.Offsets(firstSide + 2)[i] != o[i]/one*2 {
				t.Fatalf("row %d of %d pictures: offsets %v", i, counts[i], o)
			}
		}
		var row []string
		for k := first; k < first+int(counts[i]); k++ {
			row = append(row, fmt.Sprint(pixels[k*one:(k+1)*one], affine[6*k:6*k+6], size[2*k], size[2*k+1]))
		}
		if behind := pixels[(first+int(counts[i]))*one:]; how != ragged {
			if to := (most - int(counts[i])) * one; slices.ContainsFunc(behind[:to], func(b byte) bool { return b != 0 }) {
				t.Errorf("row %d: what is behind its %d pictures is not zero", i, counts[i])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// A sample's pictures lie one behind the other in each of the three ways, each with a draw of its own, the first with the one that a single picture would have;
// a sample without any is a row of none. Two engines deliver the same.
func TestSeveralPicturesOfASampleArrive(t *testing.T) {
	counts := []int{2, 0, 3, 1, 1, 0, 0, 2}
	file := manyTar(t, counts, nil)
	w, err := media.NewWorker(nil)
	must(err)
	defer w.Close()
	for how, want := range map[cut]string{uncut: "[4 3 16 16 3] [4] [4 3 2 3] [4 3 2]", padded: "[4 3 16 16 3] [4] [4 3 2 3] [4 3 2]", ragged: "[4608] [4] [36] [12]"} {
		shape := map[cut]string{uncut: "fixed", padded: "padded", ragged: "ragged"}[how]
		for range 2 {
			s := describeMany(t, file, "{most: 3, shape: "+shape+"}", "batch: 4\n")
			op, err := media.Compile(load.PictureConfig(s.Image))
			must(err)
			r := startAgain(t, s, nil)
			reader := r.attach(shm.AttachOptions{})
			for k := range 2 {
				l, err := reader.Acquire(testContext(t))
				must(err)
				if got := fmt.Sprint(l.Shape(sampleTensor), l.Shape(firstSide), l.Shape(firstSide+1), l.Shape(firstSide+2)); k == 0 && got != want {
					t.Errorf("%s: got shapes %s, want %s", shape, got, want)
				}
				if got := l.Shape(sampleTensor); k == 1 && how == padded && got[1] != 2 {
					t.Errorf("padded: got shape %v, want as many pictures as the longest row has, 2", got)
				}
				for row, got := range picturesOf(t, l, how, 3) {
					i := 4*k + row
					var want []string
					for j := range counts[i] {
						want = append(want, rowOfMany(t, w, op, 7, i, j))
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s: sample %d: got %d pictures, want the %d of the decoder", shape, i, len(got), len(want))
					}
				}
				must(l.Release())
			}
			if err := r.end(); err != nil {
				t.Error(err)
			}
		}
	}
	if one := (media.Draw{Seed: 7, Index: 3}); drawOf(one, 0) != one || drawOf(one, 1) == one || drawOf(one, 1) == drawOf(one, 2) {
		t.Error("the first picture draws as a single one, and each other one on its own")
	}
}

// One bad picture makes its sample a bad one, told with the picture's number, and every policy does with it as with others; too many are too large, unless they are cut.
func TestOneBadPictureMakesItsSampleBad(t *testing.T) {
	file := manyTar(t, []int{1, 3, 2, 4}, map[int][]byte{12: []byte("no picture"), 31: nil})
	for policy, want := range map[string]string{"skip": "[0 2] [1 2]", "mask": "[0 1 2 3] [1 0 2 0]", "substitute": "[0 0 2 2] [1 1 2 2]"} {
		for _, shape := range []string{"fixed", "padded", "ragged"} {
			s := describeMany(t, file, "{most: 3, shape: "+shape+"}", "batch: 4\nbad_sample: {policy: "+policy+"}\n")
			r := startAgain(t, s, nil)
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			must(err)
			if got := fmt.Sprint(batch.Int64s(l.Tensor(indexTensor))[:l.Rows], batch.Int64s(l.Tensor(firstSide))[:l.Rows]); got != want {
				t.Errorf("%s, %s: got samples and counts %s, want %s", policy, shape, got, want)
			}
			how := map[string]cut{"fixed": uncut, "padded": padded, "ragged": ragged}[shape]
			op, err := media.Compile(load.PictureConfig(s.Image))
			must(err)
			w, err := media.NewWorker(nil)
			must(err)
			for row, got := range picturesOf(t, l, how, 3) {
				for j := range got {
					if i := int(batch.Int64s(l.Tensor(indexTensor))[row]); got[j] != rowOfMany(t, w, op, 7, i, j) {
						t.Errorf("%s, %s: row %d: picture %d is not that of sample %d", policy, shape, row, j, i)
					}
				}
			}
			w.Close()
			must(l.Release())
			bad := r.Stats().Rings[0].Bad
			text := strings.Join(bad.Last, "\n")
			if bad.Causes["not_an_image"] == 0 || bad.Causes["too_large"] == 0 || len(bad.Causes) != 2 ||
				!strings.Contains(text, `sample 1 "01": picture 3 of 3: `) || !strings.Contains(text, `sample 3 "03" of "`+file+`": too_large: image: got 4 pictures, want at most 3`) {
				t.Errorf("%s: got causes %v and %s", policy, bad.Causes, text)
			}
			_ = r.end()
		}
	}
	s := describeMany(t, file, "{most: 1, shape: ragged, over: cut}", "batch: 4\n")
	l, err := start(t, s, nil).attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	if got := fmt.Sprint(batch.Int64s(l.Tensor(firstSide))[:l.Rows]); got != "[1 1 1 1]" {
		t.Errorf("got counts %s, want the first picture of each", got)
	}
	must(l.Release())
}

// Rows of several pictures are kept as others are, and the kept ones have the bytes and the hash of those that were decoded.
func TestRowsOfSeveralPicturesAreKept(t *testing.T) {
	file := manyTar(t, []int{2, 0, 3, 1}, nil)
	for _, shape := range []string{"fixed", "padded", "ragged"} {
		text := fmt.Sprintf("name: %s\nsource: {shards: %q}\nimage: {many: {most: 3, shape: %s}, transform: [center_crop: 16]}\nbatch: 2\norder: {shuffle: false}\ncache: {rows_bytes: 1MiB}\nring: {hash: xxh3}\n", testName(), file, shape)
		s, err := spec.Parse([]byte(text), "")
		must(err)
		r := startAgain(t, s, nil)
		reader := r.attach(shm.AttachOptions{})
		var first []string
		for k := range 6 {
			l, err := reader.Acquire(testContext(t))
			if err != nil { // the end of an epoch
				l, err = reader.Acquire(testContext(t))
			}
			must(err)
			got := fmt.Sprint(l.Hash, l.Tensor(sampleTensor), l.Offsets(sampleTensor), l.Tensor(firstSide))
			if k < 2 {
				first = append(first, got)
			} else if got != first[k%2] {
				t.Errorf("%s: batch %d is another one than in the first epoch", shape, k)
			}
			must(l.Release())
		}
		if n := r.Stats().Rings[0].Source.Rows; n.Hits == 0 || n.Misses < 4 { // more where an epoch is asked for before a row of the one before is there
			t.Errorf("%s: got %d hits and %d misses, want hits, and 4 misses at least", shape, n.Hits, n.Misses)
		}
		_ = r.end()
	}
}

// Several pictures a sample, too, take no allocation a sample.
func TestSteadyStateAllocatesNothingForSeveralPictures(t *testing.T) {
	counts := make([]int, 100)
	for i := range counts {
		counts[i] = i % 3
	}
	file := manyTar(t, counts, nil)
	allocationsPerBatch(t, describeMany(t, file, "{most: 2, shape: ragged}", "batch: 50\n"))
}
