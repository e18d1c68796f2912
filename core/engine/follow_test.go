package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// boxed is a sample of a table: a picture of 40 x 30 beside what is in it.
type boxed struct {
	Path    string         `json:"path"`
	Boxes   [][4]float64   `json:"boxes"`
	Classes []int          `json:"classes"`
	Joints  [][][3]float64 `json:"joints"` // three of each box
}

// boxedTable writes a table of n samples, of i % 4 boxes each: one that a crop of the middle 20 x 20 cuts away, one that it leaves whole, and one
// around all.
func boxedTable(t testing.TB, dir string, n int, change func(i int, s *boxed)) string {
	var lines []byte
	for i := range n {
		s := boxed{Path: fmt.Sprintf("%03d.png", i), Boxes: [][4]float64{}, Classes: []int{}, Joints: [][][3]float64{}}
		for k, box := range [][4]float64{{0, 0, 10, 5}, {12, 7, 20, 15}, {0, 0, 40, 30}}[:i%4] {
			s.Boxes, s.Classes = append(s.Boxes, box), append(s.Classes, 10*i+k)
			s.Joints = append(s.Joints, [][3]float64{{box[0], box[1], 2}, {float64(12 + k), 8, 1}, {15, 15, 0}})
		}
		must(os.WriteFile(filepath.Join(dir, s.Path), noisy(t, i), 0o600))
		if change != nil {
			change(i, &s)
		}
		line, err := json.Marshal(&s)
		must(err)
		lines = append(append(lines, line...), '\n')
	}
	path := filepath.Join(dir, "train.jsonl")
	must(os.WriteFile(path, lines, 0o600))
	return path
}

const boxedColumns = "[{name: boxes, type: list, dtype: f64, shape: [-1, 4], max_length: 5}, {name: classes, type: list, dtype: i64, max_length: 5}, " +
	"{name: joints, type: list, dtype: f32, shape: [-1, 3, 3], max_length: 5}, {name: kind, from: path}]"

func describeBoxed(t testing.TB, table, columns, image, more string) *spec.Spec {
	t.Helper()
	return parsed(t, fmt.Sprintf("name: %s\nsource: {list: %q, columns: %s}\nimage: %s\n%s", testName(), table, columns, image, more))
}

// boxedIn are the boxes, classes and joints of each row of a batch, as text.
func boxedIn(l *shm.Lease) (all []string) {
	boxes, classes, joints := l.Offsets(firstSide), l.Offsets(firstSide+1), l.Offsets(firstSide+2)
	for i := range l.Rows {
		all = append(all, fmt.Sprint(batch.Float32s(l.Tensor(firstSide))[boxes[i]:boxes[i+1]], batch.Int64s(l.Tensor(firstSide + 1))[classes[i]:classes[i+1]],
			batch.Float32s(l.Tensor(firstSide + 2))[joints[i]:joints[i+1]]))
	}
	return all
}

// middleOf is what boxedIn says of sample i cropped to its middle.
func middleOf(i int64) string {
	boxes, classes, joints := []float32{}, []int64{}, []float32{}
	for k := int64(1); k < i%4; k++ { // the first is cut away
		boxes = append(boxes, [][]float32{{2, 2, 10, 10}, {0, 0, 20, 20}}[k-1]...)
		classes = append(classes, 10*i+k)
		if k == 1 {
			joints = append(joints, 2, 2, 2)
		} else {
			joints = append(joints, 0, 0, 0) // its corner is
		}
		joints = append(joints, float32(2+k), 3, 1, 0, 0, 0)
	}
	return fmt.Sprint(boxes, classes, joints)
}

const middle = "{transform: [center_crop: 20], boxes: {column: boxes, with: [classes, joints]}, points: joints}"

// Boxes and what goes with them follow their picture and are dropped together, whatever becomes of bad samples, wherever rows are kept, and
// in every epoch.
func TestBoxesFollowTheirPicturesIntoABatch(t *testing.T) {
	dir := t.TempDir()
	table := boxedTable(t, dir, 8, nil)
	bad := filepath.Join(dir, "006.png")
	must(os.WriteFile(bad, noisy(t, 6)[:50], 0o600))
	for policy, want := range map[string][]int64{"skip": {0, 1, 2, 3, 4, 5, 7}, "mask": {0, 1, 2, 3, 4, 5, 4, 7}, "substitute": {0, 1, 2, 3, 4, 5, 5, 7}} {
		for _, cache := range []string{"{}", "{rows_bytes: 1MiB}", "{rows_bytes: 1MiB, rows_dir: %s}"} {
			t.Run(policy, func(t *testing.T) {
				if strings.Contains(cache, "%s") {
					cache = fmt.Sprintf(cache, t.TempDir())
				}
				reader := start(t, describeBoxed(t, table, boxedColumns, middle, "batch: 8\norder: {shuffle: false}\nbad_sample: {policy: "+policy+"}\ncache: "+cache+"\n"), nil).attach(shm.AttachOptions{})
				for range 3 {
					l := acquired(t, reader)
					for row, got := range boxedIn(l) {
						if got != middleOf(want[row]) { // of sample 4, as of one that is masked, there is nothing
							t.Errorf("cache %s, row %d: got %s, want %s", cache, row, got, middleOf(want[row]))
						}
					}
					if l.Rows != len(want) {
						t.Errorf("%d rows, want %d", l.Rows, len(want))
					}
					must(l.Release())
				}
			})
		}
	}
}

// acquired is the next batch, across the ends of epochs.
func acquired(t testing.TB, r *shm.Reader) *shm.Lease {
	t.Helper()
	for {
		l, err := r.Acquire(testContext(t))
		if err == shm.EndEpoch {
			continue
		}
		must(err)
		return l
	}
}

// Columns that are padded follow as ragged ones do, and say how many are left.
func TestPaddedBoxesSayHowManyAreLeft(t *testing.T) {
	table := boxedTable(t, t.TempDir(), 4, nil)
	columns := strings.ReplaceAll(boxedColumns, "max_length: 5", "max_length: 5, padded: true")
	l := acquired(t, start(t, describeBoxed(t, table, columns, middle, "batch: 4\norder: {shuffle: false}\n"), nil).attach(shm.AttachOptions{}))
	if got := fmt.Sprint(l.Shape(firstSide), l.Shape(firstSide+2)); got != "[4 2 4] [4 2]" {
		t.Errorf("shapes %s", got)
	}
	lengths := batch.Int64s(l.Tensor(firstSide + 1))
	if want := []int64{0, 0, 1, 2}; !slices.Equal(lengths[:4], want) || !slices.Equal(batch.Int64s(l.Tensor(firstSide + 3))[:4], want) {
		t.Errorf("lengths %v, want %v", lengths[:4], want)
	}
	must(l.Release())
}

// The hash of a batch is also of its boxes, so that a replay finds those that differ, and that of a ring without them as it was.
func TestTheHashOfABatchIsOfItsBoxes(t *testing.T) {
	hash := func(image string, change func(int, *boxed)) (hash uint64) {
		t.Run("ring", func(t *testing.T) {
			table := boxedTable(t, t.TempDir(), 4, change)
			l := acquired(t, start(t, describeBoxed(t, table, boxedColumns, image, "batch: 4\norder: {shuffle: false}\nring: {hash: xxh3}\n"), nil).attach(shm.AttachOptions{}))
			hash = l.Hash
			must(l.Release())
		})
		return hash
	}
	moved := func(i int, s *boxed) {
		if i == 3 {
			s.Boxes[1][0]++
		}
	}
	const without = "{transform: [center_crop: 20]}"
	switch a, b := hash(middle, nil), hash(middle, moved); {
	case a == 0 || a == b || a != hash(middle, nil):
		t.Errorf("hashes %x, %x", a, b)
	case hash(without, nil) != hash(without, moved):
		t.Error("columns that do not follow are in the hash")
	}
}

// What chance does to a picture it does to its boxes: the picture's own pixels say where they are.
func TestBoxesLieWhereTheirPixelsAre(t *testing.T) {
	for _, transform := range []string{
		"random_resized_crop: {size: 64, scale: [0.3, 1], interpolation: nearest}, horizontal_flip: 0.5, vertical_flip: 0.5",
		"random_zoom_out: {side_range: [1, 2]}, random_iou_crop: {}, horizontal_flip: 0.5, resize: {size: [64, 64], interpolation: nearest}",
	} {
		t.Run("ring", func(t *testing.T) { boxesLieWhereTheirPixelsAre(t, transform) })
	}
}

func boxesLieWhereTheirPixelsAre(t *testing.T, transform string) {
	dir := t.TempDir()
	table := boxedTable(t, dir, 8, func(i int, s *boxed) {
		box := [4]float64{float64(2 + i), float64(1 + i), float64(20 + i), float64(15 + i)}
		s.Boxes, s.Classes = [][4]float64{box}, []int{i}
		must(os.WriteFile(filepath.Join(dir, s.Path), painted(t, box), 0o600))
	})
	image := "{transform: [" + transform + "], boxes: {column: boxes, min_size: 3, with: classes}}"
	reader := start(t, describeBoxed(t, table, boxedColumns, image, "batch: 8\norder: {shuffle: false, seed: 3}\n"), nil).attach(shm.AttachOptions{})
	there := 0
	for range 6 {
		l := acquired(t, reader)
		at := l.Offsets(firstSide)
		for row := range l.Rows {
			got := batch.Float32s(l.Tensor(firstSide))[at[row]:at[row+1]]
			want, any := whiteIn(l.Tensor(sampleTensor)[row*64*64*3:][:64*64*3], 64)
			if len(got) == 0 {
				if any && min(want[2]-want[0], want[3]-want[1]) > 4 {
					t.Errorf("row %d: no box, and white pixels at %v", row, want)
				}
				continue
			}
			there++
			for k := range want {
				if math.Abs(float64(got[k])-want[k]) > 1.5 {
					t.Errorf("row %d: got %v, white pixels at %v", row, got, want)
					break
				}
			}
		}
		must(l.Release())
	}
	if there < 30 {
		t.Errorf("only %d boxes were looked at", there)
	}
}

// painted is a PNG of 40 x 30, black but for a box.
func painted(t testing.TB, box [4]float64) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	draw.Draw(m, m.Bounds(), image.NewUniform(color.Black), image.Point{}, draw.Src)
	draw.Draw(m, image.Rect(int(box[0]), int(box[1]), int(box[2]), int(box[3])), image.NewUniform(color.White), image.Point{}, draw.Src)
	var b bytes.Buffer
	must(png.Encode(&b, m))
	return b.Bytes()
}

// whiteIn is the box around the white pixels of a row.
func whiteIn(row []byte, side int) (box [4]float64, any bool) {
	box = [4]float64{math.Inf(1), math.Inf(1)}
	for i := 0; i < len(row); i += 3 {
		if row[i] != 255 {
			continue
		}
		x, y := float64(i/3%side), float64(i/3/side)
		box, any = [4]float64{min(box[0], x), min(box[1], y), max(box[2], x+1), max(box[3], y+1)}, true
	}
	return box, any
}

// A sample whose columns have not as many lines as it has boxes, or a number that is none, is a bad one, and says which.
func TestColumnsThatDoNotGoWithTheirBoxesMakeABadSample(t *testing.T) {
	table := boxedTable(t, t.TempDir(), 4, func(i int, s *boxed) {
		if i == 3 {
			s.Classes = s.Classes[:1]
		}
	})
	r := start(t, describeBoxed(t, table, boxedColumns, middle, "batch: 4\norder: {shuffle: false, epochs: 1}\n"), nil)
	l := acquired(t, r.attach(shm.AttachOptions{}))
	if l.Rows != 3 {
		t.Errorf("%d rows, want 3", l.Rows)
	}
	must(l.Release())
	bad := r.Stats().Rings[0].Bad
	const want = `sample 3 "003.png": column "classes": got 1 lines, want 3, one for each of "boxes"`
	if bad.Causes["value"] != 1 || !strings.Contains(fmt.Sprint(bad), want) {
		t.Errorf("got %+v, want cause value, and %s", bad, want)
	}
}

// values is a sample whose columns a test says.
type values [][]byte

func (v values) Part(int) []byte          { return nil }
func (v values) InPlace(int) *source.File { return nil }
func (v values) Value(c int) []byte       { return v[c] }

func numbers32(all ...float64) (b []byte) {
	for _, x := range all {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(float32(x)))
	}
	return b
}

// Boxes come back in the format they came in, in shares of the row where they were shares of the picture; too small ones, and those whose
// corners have changed places, are dropped. Points that are not there are zeros, or dropped.
func TestFormatsOfBoxesAndPoints(t *testing.T) {
	crop := []media.Move{{Map: [9]float64{1, 0, -10, 0, 1, -5, 0, 0, 1}, Size: media.Size{H: 20, W: 20}}} // of 40 x 30
	box := func(b spec.Boxes) follower {
		return follower{name: "b", dtype: tensor.F32, width: 4, line: 4, boxes: &b}
	}
	point := func(p spec.Points, width, line int) follower {
		return follower{name: "p", dtype: tensor.F32, width: width, line: line, points: &p}
	}
	xyxy := spec.Boxes{Format: spec.XYXY, MinSize: 1, MinArea: 1}
	for name, c := range map[string]struct {
		f        follower
		from, to []float64
	}{
		"xyxy":         {box(xyxy), []float64{12, 7, 40, 15, 0, 0, 10, 5}, []float64{2, 2, 20, 10}},
		"xywh":         {box(spec.Boxes{Format: spec.XYWH}), []float64{12, 7, 28, 8}, []float64{2, 2, 18, 8}},
		"cxcywh":       {box(spec.Boxes{Format: spec.CXCYWH}), []float64{14, 10, 8, 6}, []float64{4, 5, 8, 6}},
		"yolo":         {box(spec.Boxes{Format: spec.CXCYWH, Normalized: true}), []float64{0.35, 1. / 3, 0.2, 0.2}, []float64{0.2, 0.25, 0.4, 0.3}},
		"all stay":     {box(spec.Boxes{Format: spec.XYXY}), []float64{0, 0, 10, 5}, []float64{0, 0, 0, 0}},
		"none":         {box(xyxy), nil, nil},
		"turned round": {box(spec.Boxes{Format: spec.XYXY}), []float64{20, 7, 12, 15}, nil},
		"too thin":     {box(xyxy), []float64{12, 7, 12.5, 25, 12, 7, 13, 25}, []float64{2, 2, 3, 20}},
		"too small":    {box(spec.Boxes{Format: spec.XYXY, MinArea: 20}), []float64{12, 7, 16, 12, 12, 7, 16, 11}, []float64{2, 2, 6, 7}},
		"mostly away":  {box(spec.Boxes{Format: spec.XYXY, MinVisibility: 0.5}), []float64{0, 5, 19, 15, 0, 5, 21, 15}, []float64{0, 0, 11, 10}},
		"points":       {point(spec.Points{}, 2, 2), []float64{12, 7, 0, 0}, []float64{2, 2, -10, -5}},
		"their shares": {point(spec.Points{Normalized: true}, 2, 2), []float64{0.5, 0.5}, []float64{0.5, 0.5}},
		"visible":      {point(spec.Points{}, 3, 6), []float64{12, 7, 2, 0, 0, 1, 12, 7, 0, 13, 7, 1}, []float64{2, 2, 2, 0, 0, 0, 0, 0, 0, 3, 2, 1}},
		"visible ones": {point(spec.Points{RemoveInvisible: true}, 3, 3), []float64{12, 7, 2, 0, 0, 1, 12, 7, 0, 13, 7, 1}, []float64{2, 2, 2, 3, 2, 1}},
		"within":       {point(spec.Points{RemoveInvisible: true}, 2, 2), []float64{10, 5, 9.9, 5, 30, 5, 29.9, 24.9}, []float64{0, 0, 19.9, 19.9}},
	} {
		to := following{columns: make([][]byte, 1), moves: crop}
		if err := c.f.move(&to, media.Size{H: 30, W: 40}, values{numbers32(c.from...)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := batch.Float32s(to.columns[0])
		if len(got) != len(c.to) {
			t.Errorf("%s: got %v, want %v", name, got, c.to)
			continue
		}
		for i := range got {
			if math.Abs(float64(got[i])-c.to[i]) > 1e-5 {
				t.Errorf("%s: got %v, want %v", name, got, c.to)
				break
			}
		}
	}
	f := box(xyxy)
	err := f.move(&following{columns: make([][]byte, 1), moves: crop}, media.Size{H: 30, W: 40}, values{numbers32(0, 0, 1, 1, 0, math.NaN(), 1, 1)})
	if err == nil || err.Error() != `column "b": got NaN in line 1, want a number` || err.(*followError).Cause() != "value" {
		t.Errorf("got %v", err)
	}
}

// Two views of a picture that are drawn on their own have the boxes each as they lie in it.
func TestEachViewHasBoxesOfItsOwn(t *testing.T) {
	table := boxedTable(t, t.TempDir(), 4, nil)
	text := fmt.Sprintf(`name: %s
source: {list: %q, columns: [{name: a, from: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 5}, {name: b, from: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 5}]}
fields: {whole: {image: {transform: [resize: [60, 80]], boxes: a}}, part: {draw: own, image: {transform: [center_crop: 20], boxes: b}}}
batch: 4
order: {shuffle: false}
`, testName(), table)
	l := acquired(t, start(t, parsed(t, text), nil).attach(shm.AttachOptions{}))
	a, b := firstSide+1, firstSide+2 // behind the second picture
	if got := batch.Float32s(l.Tensor(a))[l.Offsets(a)[3]:l.Offsets(a)[4]]; !slices.Equal(got, []float32{0, 0, 20, 10, 24, 14, 40, 30, 0, 0, 80, 60}) {
		t.Errorf("whole: %v", got)
	}
	if got := batch.Float32s(l.Tensor(b))[l.Offsets(b)[3]:l.Offsets(b)[4]]; !slices.Equal(got, []float32{2, 2, 10, 10, 0, 0, 20, 20}) {
		t.Errorf("part: %v", got)
	}
	must(l.Release())
}

// Points whose last dimension is none of points are refused at start, where the description leaves their shape to the first sample.
func TestAFirstSampleWithoutPointsIsRefused(t *testing.T) {
	var files []file
	for i := range 2 {
		files = append(files, file{fmt.Sprintf("%d.npy", i), npyOf(t, []int64{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)}, file{fmt.Sprintf("%d.png", i), noisy(t, i)})
	}
	source, _, _ := strings.Cut(places["folder"](t, t.TempDir(), files), ", columns")
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	s := parsed(t, fmt.Sprintf("name: %s\nsource: %s, extensions: [png], columns: [{name: p, from: npy, type: npy}]}\nimage: {transform: [center_crop: 20], points: p}\n", testName(), strings.Replace(source, ", extensions: [npy]", "", 1)))
	_, err := New(s, nil)
	if want := `image.points.column: the first sample's "p" is of shape 2x4, want 2 (x, y) or 3 (x, y, visibility) as the last dimension`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Boxes cost no allocation a sample.
func TestBoxesAllocateNothingPerSample(t *testing.T) {
	table := boxedTable(t, t.TempDir(), 100, nil)
	image := strings.Replace(middle, "center_crop: 20", "random_iou_crop: {}, random_resized_crop: 20", 1)
	allocationsPerBatch(t, describeBoxed(t, table, boxedColumns, image, "batch: 50\n"))
}
