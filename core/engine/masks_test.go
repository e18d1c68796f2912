package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/shm"
)

// outlinedTable is a boxedTable with outlines, which are the boxes themselves, as polygons and as runs by turns.
func outlinedTable(t testing.TB, dir string, n int, change func(i int, outlines *[]any)) string {
	table := boxedTable(t, dir, n, nil)
	text, err := os.ReadFile(table)
	must(err)
	var lines []byte
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var s map[string]any
		must(json.Unmarshal(line, &s))
		outlines := []any{}
		for k, box := range s["boxes"].([]any) {
			b := box.([]any)
			x0, y0, x1, y1 := b[0].(float64), b[1].(float64), b[2].(float64), b[3].(float64)
			if (i+k)%2 == 0 {
				outlines = append(outlines, [][]float64{{x0, y0, x1, y0, x1, y1, x0, y1}})
			} else {
				outlines = append(outlines, map[string]any{"size": []int{30, 40}, "counts": runsOf(int(x0), int(y0), int(x1), int(y1))})
			}
		}
		if change != nil {
			change(i, &outlines)
		}
		s["outlines"] = outlines
		line, err := json.Marshal(s)
		must(err)
		lines = append(append(lines, line...), '\n')
	}
	path := filepath.Join(dir, "outlined.jsonl")
	must(os.WriteFile(path, lines, 0o600))
	return path
}

// runsOf are the runs of a box in a picture of 30 x 40.
func runsOf(x0, y0, x1, y1 int) (runs []int) {
	at, within := 0, false
	for i := range 30 * 40 {
		x, y := i/30, i%30
		if now := x0 <= x && x < x1 && y0 <= y && y < y1; now != within {
			runs, at, within = append(runs, i-at), i, now
		}
	}
	return append(runs, 30*40-at)
}

const outlinedColumns = "[{name: boxes, type: list, dtype: f64, shape: [-1, 4], max_length: 5}, {name: classes, type: list, dtype: i64, max_length: 5}, " +
	"{name: masks, from: outlines, type: text, max_bytes: 4KiB}]"

// asNumbers is a table like another, whose outlines are numbers, in a column of that name.
func asNumbers(t testing.TB, table string) string {
	text, err := os.ReadFile(table)
	must(err)
	var lines []byte
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var s map[string]any
		must(json.Unmarshal(line, &s))
		numbers := []any{}
		for _, one := range s["outlines"].([]any) {
			if runs, is := one.(map[string]any); is {
				counts := runs["counts"].([]any)
				numbers = append(append(append(append(numbers, 0), runs["size"].([]any)...), len(counts)), counts...)
				continue
			}
			numbers = append(numbers, len(one.([]any)))
			for _, polygon := range one.([]any) {
				numbers = append(append(numbers, len(polygon.([]any))), polygon.([]any)...)
			}
		}
		s["outlines"] = numbers
		line, err := json.Marshal(s)
		must(err)
		lines = append(append(lines, line...), '\n')
	}
	path := filepath.Join(filepath.Dir(table), "numbers.jsonl")
	must(os.WriteFile(path, lines, 0o600))
	return path
}

const numberColumns = "[{name: boxes, type: list, dtype: f64, shape: [-1, 4], max_length: 5}, {name: classes, type: list, dtype: i64, max_length: 5}, " +
	"{name: masks, from: outlines, type: list, dtype: f64, max_length: 1000}]"

// Outlines as numbers make the masks that the same make in JSON, and cost no allocation either; a wrong one is a bad sample.
func TestMasksOfOutlinesAsNumbers(t *testing.T) {
	leavesNothing(t)
	table := outlinedTable(t, t.TempDir(), 8, nil)
	const image, more = "{transform: [random_resized_crop: 20, horizontal_flip: 0.5], boxes: {column: boxes, with: classes, masks: masks}}", "batch: 4\norder: {seed: 3}\nring: {hash: xxh3}\n"
	masks := func(table, columns string) (all [][]byte) {
		r := startAgain(t, describeBoxed(t, table, columns, image, more), nil)
		reader := r.attach(shm.AttachOptions{})
		for range 4 {
			l := acquired(t, reader)
			all = append(all, bytes.Clone(l.Tensor(masksAt)), binary.LittleEndian.AppendUint64(nil, l.Hash))
			must(l.Release())
		}
		must(reader.Close())
		must(r.end())
		return all
	}
	want, got := masks(table, outlinedColumns), masks(asNumbers(t, table), numberColumns)
	if !slices.EqualFunc(got, want, bytes.Equal) || bytes.IndexByte(want[0], 1) < 0 {
		t.Error("masks and hashes of batches differ from those of JSON, or are empty")
	}
	wrong := outlinedTable(t, t.TempDir(), 4, func(i int, outlines *[]any) {
		if i == 3 {
			(*outlines)[1] = [][]float64{{1, 2, 3, 4, 5}}
		}
	})
	r := start(t, describeBoxed(t, asNumbers(t, wrong), numberColumns, onMiddle, "batch: 4\norder: {shuffle: false, epochs: 1}\n"), nil)
	l := acquired(t, r.attach(shm.AttachOptions{}))
	must(l.Release())
	if bad := r.Stats().Rings[0].Bad; bad.Causes["value"] != 1 || !strings.Contains(fmt.Sprint(bad), `sample 3 "003.png": column "masks": outline 1: polygon 0: got 5 numbers, want x and y`) {
		t.Errorf("got %+v", bad)
	}
}

func TestMasksOfOutlinesAsNumbersAllocateNothingPerSample(t *testing.T) {
	table := asNumbers(t, outlinedTable(t, t.TempDir(), 100, nil))
	allocationsPerBatch(t, describeBoxed(t, table, numberColumns, "{transform: [random_iou_crop: {}, random_resized_crop: 20], boxes: {column: boxes, with: classes, masks: masks}}", "batch: 50\n"))
}

// boxMasks says which pixels of a row of h by w lie in each box, of which corners are given.
func boxMasks(boxes []float32, h, w int) (all []byte) {
	for ; len(boxes) >= 4; boxes = boxes[4:] {
		for y := range h {
			for x := range w {
				in := byte(0)
				if float32(x) >= boxes[0] && float32(x) < boxes[2] && float32(y) >= boxes[1] && float32(y) < boxes[3] {
					in = 1
				}
				all = append(all, in)
			}
		}
	}
	return all
}

const onMiddle = "{transform: [center_crop: 20], boxes: {column: boxes, masks: masks}}"

const (
	boxesAt = firstSide + iota // of a batch of outlinedColumns, of pictures of one size
	classesAt
	masksAt
)

// rowOf is what a ragged tensor of bytes has of a row, or one of floats.
func rowOf(l *shm.Lease, tensor, row int) []byte {
	offsets := l.Offsets(tensor)
	return l.Tensor(tensor)[offsets[row]:offsets[row+1]]
}

func floatsOf(l *shm.Lease, tensor, row int) []float32 {
	offsets := l.Offsets(tensor)
	return batch.Float32s(l.Tensor(tensor))[offsets[row]:offsets[row+1]]
}

// Masks go where their boxes go, and with them where these are dropped, whatever becomes of bad samples, wherever rows are kept, and in every epoch.
func TestMasksFollowTheirBoxesIntoABatch(t *testing.T) {
	dir := t.TempDir()
	table := outlinedTable(t, dir, 8, nil)
	must(os.WriteFile(filepath.Join(dir, "006.png"), noisy(t, 6)[:50], 0o600))
	const image = "{transform: [center_crop: 20, horizontal_flip: 1], boxes: {column: boxes, with: classes, masks: masks}}"
	for policy, want := range map[string][]int{"skip": {0, 0, 1, 2, 0, 0, 2}, "mask": {0, 0, 1, 2, 0, 0, 0, 2}, "substitute": {0, 0, 1, 2, 0, 0, 0, 2}} {
		for _, cache := range []string{"{}", "{rows_bytes: 1MiB}", "{rows_bytes: 1MiB, rows_dir: %s}"} {
			t.Run(policy, func(t *testing.T) {
				if strings.Contains(cache, "%s") {
					cache = fmt.Sprintf(cache, t.TempDir())
				}
				reader := start(t, describeBoxed(t, table, outlinedColumns, image, "batch: 8\norder: {shuffle: false}\nring: {slots: 3}\nbad_sample: {policy: "+policy+"}\ncache: "+cache+"\n"), nil).attach(shm.AttachOptions{})
				for range 5 {
					l := acquired(t, reader)
					if l.Rows != len(want) {
						t.Fatalf("%d rows, want %d", l.Rows, len(want))
					}
					for row, n := range want {
						got, boxes := rowOf(l, masksAt, row), floatsOf(l, boxesAt, row)
						if len(boxes) != 4*n || !bytes.Equal(got, boxMasks(boxes, 20, 20)) {
							t.Errorf("cache %s, row %d: %d bytes of masks beside boxes %v, want %d, where these are", cache, row, len(got), boxes, n)
						}
					}
					must(l.Release())
				}
			})
		}
	}
}

// Masks of pictures that keep their size have each its picture's, and a ring says so.
func TestMasksOfPicturesOfTheirOwnSize(t *testing.T) {
	table := outlinedTable(t, t.TempDir(), 8, nil)
	for _, shape := range []string{"ragged", "padded"} {
		t.Run(shape, func(t *testing.T) { ownSizes(t, table, shape) })
	}
}

// ownSizes looks at the masks of pictures in rows of this shape.
func ownSizes(t *testing.T, table, shape string) {
	s := describeBoxed(t, table, outlinedColumns, "{shape: "+shape+", room: [60, 80], transform: [random_resize: {min_size: 15, max_size: 46}], boxes: {column: boxes, masks: masks}}",
		"batch: 4\norder: {shuffle: false}\nring: {slots: 3}\n")
	r := start(t, s, nil)
	reader := r.attach(shm.AttachOptions{})
	sizes := map[int64]bool{}
	for range 8 {
		l := acquired(t, reader)
		extents := batch.Int64s(l.Tensor(firstSide))
		for row := range l.Rows {
			h, w := int(extents[2*row]), int(extents[2*row+1])
			got, boxes := rowOf(l, masksAt+1, row), floatsOf(l, boxesAt+1, row)
			if len(got) != len(boxes)/4*h*w {
				t.Fatalf("%s, row %d: %d bytes of masks, want %d of %d x %d", shape, row, len(got), len(boxes)/4, h, w)
			}
			for k := 0; len(boxes) >= 4; k, boxes = k+1, boxes[4:] {
				for i, v := range got[k*h*w:][:h*w] { // torch takes the pixel at floor(i * scale), so by up to one beside
					x, y := float32(i%w), float32(i/w)
					if inside := x > boxes[0]+1 && x+2 < boxes[2] && y > boxes[1]+1 && y+2 < boxes[3]; inside && v == 0 {
						t.Fatalf("%s, row %d, mask %d: nothing at (%v, %v) of %v", shape, row, k, x, y, boxes[:4])
					}
					if outside := x+2 < boxes[0] || x > boxes[2]+1 || y+2 < boxes[1] || y > boxes[3]+1; outside && v != 0 {
						t.Fatalf("%s, row %d, mask %d: something at (%v, %v) of %v", shape, row, k, x, y, boxes[:4])
					}
				}
			}
			sizes[extents[2*row]] = true
		}
		must(l.Release())
	}
	if len(sizes) < 4 {
		t.Errorf("%s: sizes %v, want several", shape, sizes)
	}
	var told struct {
		Ragged  map[string][]int  `json:"ragged"`
		Extents map[string]string `json:"extents"`
	}
	must(json.Unmarshal(reader.Text(), &told))
	if tensor := reader.Schema()[masksAt+1]; told.Extents["masks"] != "extent" || told.Ragged["masks"] != nil || tensor.Axes != shm.AxesNCHW || tensor.Kind != shm.Ragged {
		t.Errorf("%s: told %+v of %+v, want the extents of planes", shape, told, tensor)
	}
}

// Two views of a picture have masks of their own, each where its boxes are.
func TestEachViewHasMasksOfItsOwn(t *testing.T) {
	table := outlinedTable(t, t.TempDir(), 4, nil)
	text := fmt.Sprintf(`name: %s
source: {list: %q, columns: [{name: a, from: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 5}, {name: b, from: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 5},
  {name: am, from: outlines, max_bytes: 4KiB}, {name: bm, from: outlines, max_bytes: 4KiB}]}
fields: {whole: {image: {transform: [resize: [60, 80]], boxes: {column: a, masks: am}}}, part: {draw: own, image: {transform: [center_crop: 20], boxes: {column: b, masks: bm}}}}
batch: 4
order: {shuffle: false}
`, testName(), table)
	l := acquired(t, start(t, parsed(t, text), nil).attach(shm.AttachOptions{}))
	const a = firstSide + 1 // behind the second picture
	for row := range 4 {
		if got := rowOf(l, a+2, row); !bytes.Equal(got, boxMasks(floatsOf(l, a, row), 60, 80)) {
			t.Errorf("whole, row %d: masks are elsewhere than %v", row, floatsOf(l, a, row))
		}
		if got := rowOf(l, a+3, row); !bytes.Equal(got, boxMasks(floatsOf(l, a+1, row), 20, 20)) {
			t.Errorf("part, row %d: masks are elsewhere than %v", row, floatsOf(l, a+1, row))
		}
	}
	must(l.Release())
}

// A sample whose outlines are none, are not as many as its boxes or are of another picture is a bad one, and says which column and which object.
func TestOutlinesThatDoNotGoWithTheirPictureMakeABadSample(t *testing.T) {
	for want, change := range map[string]func(outlines *[]any){
		`column "masks": got 2 outlines, want 3, one for each of "boxes"`:                      func(o *[]any) { *o = (*o)[:2] },
		`column "masks": outline 1: polygon 0: got 5 numbers, want x and y`:                    func(o *[]any) { (*o)[1] = [][]float64{{1, 2, 3, 4, 5}} },
		`column "masks": outline 2: got counts that come to 7, want 30 x 40 = 1200`:            func(o *[]any) { (*o)[2] = map[string]any{"size": []int{30, 40}, "counts": []int{7}} },
		`column "masks": outline 0: got size [3, 4], want the picture's, [30, 40]`:             func(o *[]any) { (*o)[0] = map[string]any{"size": []int{3, 4}, "counts": []int{12}} },
		`column "masks": outline 0: got no polygon, want at least one; leave out an object`:    func(o *[]any) { (*o)[0] = []any{} },
		`column "masks": outline 2: polygon 0: got 1e+09, want a pixel, from -1000000 to 1000`: func(o *[]any) { (*o)[2] = [][]float64{{1, 2, 3, 4, 5, 1e9}} },
	} {
		t.Run(want, func(t *testing.T) {
			table := outlinedTable(t, t.TempDir(), 4, func(i int, outlines *[]any) {
				if i == 3 {
					change(outlines)
				}
			})
			r := start(t, describeBoxed(t, table, outlinedColumns, onMiddle, "batch: 4\norder: {shuffle: false, epochs: 1}\n"), nil)
			l := acquired(t, r.attach(shm.AttachOptions{}))
			if l.Rows != 3 {
				t.Errorf("%d rows, want 3", l.Rows)
			}
			must(l.Release())
			if bad := r.Stats().Rings[0].Bad; bad.Causes["value"] != 1 || !strings.Contains(fmt.Sprint(bad), `sample 3 "003.png": `+want) {
				t.Errorf("got %+v, want cause value, and %s", bad, want)
			}
		})
	}
}

// A batch's hash is of its masks, too.
func TestTheHashOfABatchIsOfItsMasks(t *testing.T) {
	hashes := []uint64{}
	for _, grown := range []float64{0, 0, 3} {
		t.Run("ring", func(t *testing.T) {
			table := outlinedTable(t, t.TempDir(), 4, func(i int, outlines *[]any) {
				if i == 3 {
					(*outlines)[2] = [][]float64{{12, 7, 20 + grown, 7, 20, 15}}
				}
			})
			l := acquired(t, start(t, describeBoxed(t, table, outlinedColumns, onMiddle, "batch: 4\norder: {shuffle: false}\nring: {hash: xxh3}\n"), nil).attach(shm.AttachOptions{}))
			hashes = append(hashes, l.Hash)
			must(l.Release())
		})
	}
	if hashes[0] != hashes[1] || hashes[0] == hashes[2] {
		t.Errorf("got %x, want the first two alike and the third another", hashes)
	}
}

// Masks cost no allocation a sample.
func TestMasksAllocateNothingPerSample(t *testing.T) {
	table := outlinedTable(t, t.TempDir(), 100, nil)
	allocationsPerBatch(t, describeBoxed(t, table, outlinedColumns, "{transform: [random_iou_crop: {}, random_resized_crop: 20], boxes: {column: boxes, with: classes, masks: masks}}", "batch: 50\n"))
}

// The masks of a sample that is decoded by itself lie in memory of its worker.
func TestMasksWithoutARowAreTheWorkersOwn(t *testing.T) {
	table := outlinedTable(t, t.TempDir(), 4, nil)
	s := describeBoxed(t, table, outlinedColumns, onMiddle, "")
	r := start(t, s, nil)
	on, err := openWorker(r.Engine.rings[0].samples)
	must(err)
	defer on.Close()
	row := [][]byte{make([]byte, 20*20*3)}
	outlines := `[[[12,7,20,7,20,15,12,15]]]`
	box := []byte{}
	for _, v := range []float64{12, 7, 20, 15} {
		box = binary.NativeEndian.AppendUint64(box, math.Float64bits(v))
	}
	sample := pictured{values{box, nil, []byte(outlines)}, noisy(t, 3)}
	must(on.decode(row, sample, media.Draw{}))
	if got := on.columns[2]; !slices.Equal(got, boxMasks([]float32{2, 2, 10, 10}, 20, 20)) {
		t.Errorf("got %v", got)
	}
}

// pictured is values of a sample with a picture.
type pictured struct {
	values
	picture []byte
}

func (p pictured) Part(int) []byte { return p.picture }
