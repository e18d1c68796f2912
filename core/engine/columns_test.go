package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// npyOf is numbers of 16 bits as NumPy writes them.
func npyOf(t testing.TB, shape []int64, numbers ...int) []byte {
	t.Helper()
	var data []byte
	for _, n := range numbers {
		data = append(data, byte(n), byte(n>>8))
	}
	var archive bytes.Buffer
	must(array.WriteNPZ(&archive, []array.Named{{Name: "a", DType: tensor.I16, Shape: shape, Data: data}}))
	for m, err := range array.Zip(archive.Bytes()) {
		must(err)
		return m.Data
	}
	return nil
}

// latents are n samples of columns: an array of 2 x 3, ids of i % 4 numbers, a text, and a picture that nobody asks for.
func latents(t testing.TB, n int) (all []file) {
	for i := range n {
		name := fmt.Sprintf("%03d", i)
		var ids []int
		for k := range i % 4 {
			ids = append(ids, 100*i+k)
		}
		all = append(all,
			file{name + ".ids.npy", npyOf(t, []int64{int64(i % 4)}, ids...)}, file{name + ".jpg", []byte("not looked at")},
			file{name + ".npy", npyOf(t, []int64{2, 3}, i, i+1, i+2, i+3, i+4, i+5)}, file{name + ".txt", []byte("text of " + name)})
	}
	return all
}

const latentColumns = "[{name: latents, from: npy, type: npy}, {name: ids, from: ids.npy, type: npy, shape: [-1], max_length: 4}, {name: caption, from: txt}]"

// describeLatents describes files in a place as columns alone. The index is the test's, and the files are where they were if dir has them.
func describeLatents(t testing.TB, place string, files []file, more string) *spec.Spec {
	t.Helper()
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	source, _, _ := strings.Cut(places[place](t, t.TempDir(), files), ", columns")
	return parsed(t, fmt.Sprintf("name: %s\nsource: %s, columns: %s}\n%s", testName(), source, latentColumns, more))
}

func parsed(t testing.TB, text string) *spec.Spec {
	t.Helper()
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// latentsIn are the rows of a batch of describeLatents, as text: latents, index, key, status, label, ids, caption.
func latentsIn(l *shm.Lease) (all []string) {
	ids, at := l.Tensor(firstSide), l.Offsets(firstSide)
	text, offsets := l.Tensor(firstSide+1), l.Offsets(firstSide+1)
	for i := range l.Rows {
		all = append(all, fmt.Sprint(l.Tensor(sampleTensor)[12*i:12*i+12], ids[2*at[i]:2*at[i+1]], string(text[offsets[i]:offsets[i+1]])))
	}
	return all
}

// latent is what latentsIn says of sample i.
func latent(i int64) string {
	var numbers, ids []byte
	for k := range 6 {
		numbers = append(numbers, byte(int(i)+k), 0)
	}
	for k := range i % 4 {
		n := 100*i + k
		ids = append(ids, byte(n), byte(n>>8))
	}
	return fmt.Sprint(numbers, ids, fmt.Sprintf("text of %03d", i))
}

// wantLatents takes batches to the end of the data, and fails unless every good row is its sample's. It returns the samples in their order.
func wantLatents(t testing.TB, reader *shm.Reader) (all []int64, hashes []uint64) {
	t.Helper()
	for {
		l, err := reader.Acquire(testContext(t))
		if errors.Is(err, shm.EndData) {
			return all, hashes
		}
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		index := batch.Int64s(l.Tensor(indexTensor))
		for row, got := range latentsIn(l) {
			want := latent(index[row])
			if l.Tensor(statusTensor)[row] == batch.Masked {
				want = fmt.Sprint(make([]byte, 12), []byte{}, "")
			}
			if got != want {
				t.Fatalf("row %d, sample %d: got %s, want %s", row, index[row], got, want)
			}
		}
		all, hashes = append(all, index[:l.Rows]...), append(hashes, l.Hash)
		must(l.Release())
	}
}

// Samples without media come as others do: every one of an epoch, with the same values in each epoch and from every cache; the batches'
// hashes are of the columns, the same for any place that the samples lie in.
func TestSamplesWithoutMediaComeAsOthersDo(t *testing.T) {
	var first []uint64
	for _, place := range []string{"tar", "zip", "folder"} {
		for _, cache := range []string{"{}", "{dir: %s}", "{rows_bytes: 1MiB}", "{rows_bytes: 1MiB, rows_dir: %s}"} {
			t.Run(place, func(t *testing.T) {
				if strings.Contains(cache, "%s") {
					cache = fmt.Sprintf(cache, t.TempDir())
				}
				r := start(t, describeLatents(t, place, latents(t, 10), "batch: 4\norder: {epochs: 3, seed: 1}\nring: {hash: xxh3}\ncache: "+cache+"\n"), nil)
				all, hashes := wantLatents(t, r.attach(shm.AttachOptions{}))
				if first == nil {
					first = hashes
				}
				if !slices.Equal(hashes, first) || slices.Contains(hashes, 0) || hashes[0] == hashes[1] {
					t.Errorf("cache %s: hashes %x, want %x", cache, hashes, first)
				}
				for epoch := range 3 {
					one := slices.Sorted(slices.Values(all[10*epoch : 10*epoch+10]))
					if !slices.Equal(one, sequence(10)) {
						t.Errorf("epoch %d: %v", epoch, one)
					}
				}
				if got := r.Stats().Rings[0].Bad.Total; got != 0 {
					t.Errorf("%d bad samples", got)
				}
			})
		}
	}
}

// The first column is the batch's first tensor, and the others follow what every batch has.
func TestFirstColumnIsTheFirstTensor(t *testing.T) {
	r := start(t, describeLatents(t, "tar", latents(t, 4), "batch: 4\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	var names []string
	for _, record := range reader.Schema() {
		name, _, _ := bytes.Cut(record.Name[:], []byte{0})
		names = append(names, string(name))
	}
	if want := []string{"latents", "index", "key", "status", "label", "ids", "caption"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	l, err := reader.Acquire(testContext(t))
	must(err)
	if got := fmt.Sprint(l.Shape(sampleTensor)); got != "[4 2 3]" {
		t.Errorf("shape %s", got)
	}
	must(l.Release())
}

// A sample without a part, or with a damaged one, becomes what the policy says, in every column.
func TestPoliciesForSamplesWithoutMedia(t *testing.T) {
	for policy, want := range map[string]string{"skip": "[0 2 5]", "mask": "[0 1 2 3 4 5]", "substitute": "[0 0 2 2 2 5]", "fail": ""} {
		for _, place := range []string{"tar", "folder"} {
			t.Run(policy+" "+place, func(t *testing.T) {
				files := latents(t, 6)
				files[4*1+2].data = files[4*1+2].data[:100] // cut off
				files[4*3+2].data = npyOf(t, []int64{3, 2}, 1, 2, 3, 4, 5, 6)
				files = slices.Delete(files, 4*4+3, 4*4+4) // no text
				r := start(t, describeLatents(t, place, files, "batch: 6\norder: {epochs: 1, shuffle: false}\nbad_sample: {policy: "+policy+"}\n"), nil)
				reader := r.attach(shm.AttachOptions{})
				if policy == "fail" {
					_, err := reader.Acquire(testContext(t))
					wantError(t, err, shm.ErrEngineFailed, "sample 1 \"001", "column \"latents\"", "truncated")
					return
				}
				all, _ := wantLatents(t, reader)
				bad := r.Stats().Rings[0].Bad
				if got := fmt.Sprint(all); got != want || bad.Total != 3 || bad.Causes["value"] != 2 || bad.Causes["part"] != 1 {
					t.Errorf("got samples %s, want %s; %+v", got, want, bad)
				}
			})
		}
	}
}

// A run that goes on from a state has the rest of the samples, and a step alone the batch that it had.
func TestSamplesWithoutMediaResume(t *testing.T) {
	leavesNothing(t)
	files, more := latents(t, 12), "batch: 4\norder: {epochs: 2, seed: 5}\nring: {hash: xxh3}\n"
	one := describeLatents(t, "tar", files, more)
	again := func() *spec.Spec { s := *one; s.Name = testName(); return &s }
	whole := startAgain(t, again(), nil)
	all, hashes := wantLatents(t, whole.attach(shm.AttachOptions{}))
	must(whole.end())
	cut := startAgain(t, again(), nil)
	reader := cut.attach(shm.AttachOptions{})
	for range 2 {
		take(t, reader)
	}
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(cut.end())
	rest := startAgain(t, again(), &Options{State: state})
	left, _ := wantLatents(t, rest.attach(shm.AttachOptions{}))
	must(rest.end())
	if !slices.Equal(left, all[8:]) {
		t.Errorf("got %v, want %v", left, all[8:])
	}
	step := startAgain(t, again(), &Options{Step: 4})
	l, err := step.attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	if l.Hash != hashes[4] {
		t.Errorf("step 4: hash %x, want %x", l.Hash, hashes[4])
	}
	must(l.Release())
}

// Rows of a table are samples without any file, and orders and filters go by their columns.
func TestRowsOfATableAreSamples(t *testing.T) {
	dir := t.TempDir()
	must(os.WriteFile(filepath.Join(dir, "t.csv"), []byte("n,x,label\n5,0.5,1\n6,1.5,0\n7,2.5,1\n8,3.5,0\n"), 0o600))
	s := parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s/t.csv, columns: [{name: x, type: f64}, {name: n, type: i64}]}\nbatch: 4\norder: {epochs: 1, shuffle: false, filter: n > 5 && label == 0}\n", testName(), dir))
	r := start(t, s, nil)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	must(err)
	got := fmt.Sprint(batch.Float64s(l.Tensor(sampleTensor))[:l.Rows], batch.Int64s(l.Tensor(firstSide))[:l.Rows], look(l).Keys)
	if got != "[1.5 3.5] [6 8] [t.csv:1 t.csv:3]" {
		t.Error(got)
	}
	must(l.Release())
}

// Without media, too, the engine makes no Go allocation per sample.
func TestColumnsOfATableAllocateNothingPerSample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.csv")
	text := "n,t\n"
	for i := range 100 {
		text += fmt.Sprintf("%d,text %d\n", i, i)
	}
	must(os.WriteFile(file, []byte(text), 0o600))
	allocationsPerBatch(t, parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s, columns: [{name: n, type: i64}, {name: t}]}\nbatch: 50\n", testName(), file)))
}

// Nor does it where arrays are read out of an archive or a folder.
func TestArraysAllocateNothingPerSample(t *testing.T) {
	for _, place := range []string{"tar", "folder"} {
		t.Run(place, func(t *testing.T) { allocationsPerBatch(t, describeLatents(t, place, latents(t, 100), "batch: 50\n")) })
	}
}

// tokens writes n rows with i % 5 ids each, i, i + 1 ..., as JSON lines, and pairs of them in a second list.
func tokens(t testing.TB, n int) string {
	t.Helper()
	var text strings.Builder
	for i := range n {
		var ids, pairs []string
		for k := range i % 5 {
			ids, pairs = append(ids, fmt.Sprint(i+k)), append(pairs, fmt.Sprintf("[%d, %d.5]", i, k))
		}
		fmt.Fprintf(&text, "{\"ids\": [%s], \"pairs\": [%s], \"text\": \"%d\"}\n", strings.Join(ids, ", "), strings.Join(pairs, ", "), i)
	}
	file := filepath.Join(t.TempDir(), "t.jsonl")
	must(os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

// A padded column is as long as the longest of its batch, with zeros behind, and its length is told beside it; also where it stands first,
// from every cache, and where a row is masked or comes of another.
func TestPaddedColumnsAreAsLongAsTheLongest(t *testing.T) {
	file := tokens(t, 12)
	for _, order := range []string{"ids first", "text first"} {
		columns := "{name: ids, type: list, dtype: i32, max_length: 8, padded: true}, {name: pairs, type: list, dtype: f32, shape: [-1, 2], max_length: 8, padded: true}"
		at := [4]int{sampleTensor, firstSide, firstSide + 1, firstSide + 2} // of ids, their lengths, pairs, and theirs
		if order == "text first" {
			columns, at = "text, "+columns, [4]int{firstSide, firstSide + 1, firstSide + 2, firstSide + 3}
		}
		for _, cache := range []string{"{}", "{rows_bytes: 1MiB}"} {
			t.Run(order, func(t *testing.T) {
				s := parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s, columns: [%s]}\nbatch: 4\norder: {epochs: 2, shuffle: false}\ncache: %s\n", testName(), file, columns, cache))
				r := start(t, s, nil)
				reader := r.attach(shm.AttachOptions{})
				var shapes []string
				for came := 0; came < 24; {
					l, err := reader.Acquire(testContext(t))
					if errors.Is(err, shm.EndEpoch) {
						continue
					}
					must(err)
					lengths, pairLengths := batch.Int64s(l.Tensor(at[1])), batch.Int64s(l.Tensor(at[3]))
					for row, i := range batch.Int64s(l.Tensor(indexTensor))[:l.Rows] {
						ids, pairs := ints32(l.Tensor(at[0])[row*8*4:][:8*4]), floats32(l.Tensor(at[2])[row*8*2*4:][:8*2*4])
						if lengths[row] != i%5 || pairLengths[row] != i%5 {
							t.Errorf("sample %d: lengths %d and %d", i, lengths[row], pairLengths[row])
						}
						for k := range int64(8) {
							id, pair := int32(i+k), []float32{float32(i), float32(k) + 0.5}
							if k >= i%5 {
								id, pair = 0, []float32{0, 0}
							}
							if ids[k] != id || !slices.Equal(pairs[2*k:2*k+2], pair) {
								t.Errorf("sample %d: got %v and %v", i, ids, pairs)
							}
						}
					}
					shapes = append(shapes, fmt.Sprint(l.Shape(at[0]), l.Shape(at[2])))
					came += l.Rows
					must(l.Release())
				}
				want := []string{"[4 3] [4 3 2]", "[4 4] [4 4 2]", "[4 4] [4 4 2]"}
				if !slices.Equal(shapes, append(want, want...)) {
					t.Errorf("shapes %v, want %v twice", shapes, want)
				}
			})
		}
	}
}

func ints32(b []byte) (all []int32) {
	for ; len(b) >= 4; b = b[4:] {
		all = append(all, int32(binary.LittleEndian.Uint32(b)))
	}
	return all
}

func floats32(b []byte) (all []float32) {
	for _, n := range ints32(b) {
		all = append(all, math.Float32frombits(uint32(n)))
	}
	return all
}

// What the policies make of a bad sample is right in a padded column, too: nothing, zeros, or all of another row.
func TestPoliciesForPaddedColumns(t *testing.T) {
	files := []file{
		{"0.npy", npyOf(t, []int64{3}, 10, 11, 12)}, {"1.npy", []byte("no array")}, {"2.npy", npyOf(t, []int64{1}, 20)}, {"3.npy", npyOf(t, []int64{2}, 30, 31)},
	}
	for policy, want := range map[string]string{
		"skip": "[3 1 2] [10 11 12 20 0 0 30 31 0]", "mask": "[3 0 1 2] [10 11 12 0 0 0 20 0 0 30 31 0]", "substitute": "[3 3 1 2] [10 11 12 10 11 12 20 0 0 30 31 0]",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Setenv("SPDL_CACHE_DIR", t.TempDir())
			source, _, _ := strings.Cut(places["tar"](t, t.TempDir(), files), ", columns")
			r := start(t, parsed(t, fmt.Sprintf("name: %s\nsource: %s, columns: [{name: ids, from: npy, type: npy, shape: [-1], max_length: 4, padded: true}]}\n"+
				"batch: 4\norder: {shuffle: false}\nbad_sample: {policy: %s}\n", testName(), source, policy)), nil)
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			must(err)
			var ids []int
			for row := range l.Rows {
				for k := range int(l.Shape(sampleTensor)[1]) {
					ids = append(ids, int(binary.LittleEndian.Uint16(l.Tensor(sampleTensor)[2*(4*row+k):])))
				}
			}
			if got := fmt.Sprint(batch.Int64s(l.Tensor(firstSide))[:l.Rows], ids); got != want {
				t.Errorf("%s: got %s, want %s", policy, got, want)
			}
			must(l.Release())
		})
	}
}

// Columns of one place a row are uploaded, padded ones as long as the batch's longest; ragged ones stay in host memory.
func TestColumnsLieOnTheDeviceAsInHostMemory(t *testing.T) {
	withDevice(t)
	columns := "{name: ids, type: list, dtype: i32, max_length: 8, padded: true}, {name: pairs, type: list, dtype: f32, shape: [-1, 2], max_length: 8}"
	s := parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s, columns: [%s]}\nbatch: 4\norder: {epochs: 1}\ndevice: {}\n", testName(), tokens(t, 12), columns))
	r := start(t, s, nil)
	consumer := r.attach(shm.AttachOptions{})
	checked := 0
	inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
		for _, name := range []string{"ids", "ids.length", "label"} {
			got, want := onDeviceBytes(t, consumer, l, name+"@cuda"), hostBytes(t, consumer, l, name)
			if name == "ids" { // of either the rows lie a capacity apart
				want = want[:len(got)]
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("ticket %d: %s on the device differs from host memory", l.Ticket, name)
			}
		}
		checked++
	}), 3)
	if checked != 3 {
		t.Fatalf("%d batches were on the device, want 3", checked)
	}
	for _, tensor := range consumer.Schema() {
		if tensor.TensorName() == "pairs@cuda" {
			t.Error("a ragged column is on the device")
		}
	}
}

// What a dead worker of a stage left of a batch of columns is read again, to the same bytes.
func TestBatchesOfColumnsAreMadeAgain(t *testing.T) {
	s := describeLatents(t, "tar", latents(t, 8), "batch: 4\norder: {epochs: 1}\nring: {groups: [{name: augment, kind: stage}, {name: train}]}\n")
	r := start(t, s, nil)
	spoiler := r.attach(shm.AttachOptions{Group: "augment"})
	l, err := spoiler.Acquire(testContext(t))
	must(err)
	for _, at := range []int{sampleTensor, firstSide, firstSide + 1} {
		clear(l.Tensor(at))
	}
	must(spoiler.Close())
	worker, train := r.attach(shm.AttachOptions{Group: "augment"}), r.attach(shm.AttachOptions{Group: "train"})
	for passed := 0; passed < 2; {
		if take(t, worker) != nil {
			passed++
		}
	}
	if all, _ := wantLatents(t, train); !slices.Equal(slices.Sorted(slices.Values(all)), sequence(8)) {
		t.Errorf("samples %v", all)
	}
}
