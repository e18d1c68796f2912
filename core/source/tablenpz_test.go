package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// arrayOf is an array of numbers; one of one dimension where no shape is said.
func arrayOf[T any](name string, dtype tensor.DType, values []T, shape ...int64) array.Named {
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	if shape == nil {
		shape = []int64{int64(len(values))}
	}
	return array.Named{Name: name, DType: dtype, Shape: shape, Data: data.Bytes()}
}

// textsOf are texts, and where each begins.
func textsOf(name string, values ...string) []array.Named {
	ends := []int64{0}
	for _, v := range values {
		ends = append(ends, ends[len(ends)-1]+int64(len(v)))
	}
	return []array.Named{arrayOf(name, tensor.U8, []byte(strings.Join(values, ""))), arrayOf(name+".offsets", tensor.I64, ends)}
}

func writeNPZ(t testing.TB, path string, arrays ...[]array.Named) string {
	t.Helper()
	var b bytes.Buffer
	must(t, array.WriteNPZ(&b, slices.Concat(arrays...)))
	must(t, os.WriteFile(path, b.Bytes(), 0o644))
	return path
}

// someColumns are columns of every kind, of numpysTable and of the same in JSON.
func someColumns() []Column {
	return []Column{
		{Name: "caption"}, {Name: "width", Type: Int64}, {Name: "score", Type: Float64}, {Name: "count", From: "half", Type: Float64},
		{Name: "ids", Type: List, DType: tensor.I32, MaxLength: 3, Shape: tensor.Shape{}}, {Name: "boxes", Type: List, DType: tensor.F32, MaxLength: 2, Shape: tensor.Shape{2}},
		{Name: "pair", Type: List, DType: tensor.F64, Shape: tensor.Shape{2}}, {Name: "open", From: "pair", Type: List, DType: tensor.F64, MaxLength: 2, Shape: tensor.Shape{}},
		{Name: "digits", From: "width", Type: Text}, {Name: "f16", Type: Float64}, {Name: "f16 as text", From: "f16"},
	}
}

func numpysTable(t testing.TB, dir string) string {
	return writeNPZ(t, filepath.Join(dir, "t.npz"), textsOf("path", "a.jpg", "b/c.jpg", "d.jpg"), textsOf("caption", "one", "", "drei\n"), []array.Named{
		arrayOf("label", tensor.I16, []int16{3, -1, 7}), arrayOf("width", tensor.U64, []uint64{1, 2, 1 << 60}), arrayOf("score", tensor.F64, []float64{0.1, -2, 1e300}),
		arrayOf("half", tensor.F32, []float32{0.5, 1, 0.1}), arrayOf("f16", tensor.F16, []uint16{0x3c00, 0xc480, 0x0001}),
		arrayOf("ids", tensor.I32, []int32{1, -2, 3, 4}), arrayOf("ids.offsets", tensor.I32, []int32{0, 3, 3, 4}),
		arrayOf("boxes", tensor.F32, []float32{1, 2, 3, 4, 5, 6}, 3, 2), arrayOf("boxes.offsets", tensor.U8, []uint8{0, 1, 3, 3}),
		arrayOf("pair", tensor.F64, []float64{1, 2, 3, 4, 5, 6}, 3, 2),
		arrayOf("alone.offsets", tensor.I64, []int64{5}), // which is a column, of a number, that nobody asks for
	})
}

// A table of NumPy's has the samples of the same table in JSON, value for value.
func TestATableOfNumPysIsItsJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "t.jsonl"), `{"path": "a.jpg", "label": 3, "caption": "one", "width": 1, "score": 0.1, "half": 0.5, "f16": 1, "ids": [1, -2, 3], "boxes": [[1, 2]], "pair": [1, 2]}
{"path": "b/c.jpg", "label": -1, "caption": "", "width": 2, "score": -2, "half": 1, "f16": -4.5, "ids": [], "boxes": [[3, 4], [5, 6]], "pair": [3, 4]}
{"path": "d.jpg", "label": 7, "caption": "drei\n", "width": 1152921504606846976, "score": 1e300, "half": 0.10000000149011612, "f16": 5.960464477539063e-08, "ids": [4], "boxes": [], "pair": [5, 6]}
`)
	for _, name := range []string{"a.jpg", "b/c.jpg", "d.jpg"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		write(t, filepath.Join(dir, name), "bytes of "+name)
	}
	open := func(file string) Source {
		s, err := OpenList(ListConfig{File: file, Columns: someColumns()})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	got, want := open(numpysTable(t, dir)), open(filepath.Join(dir, "t.jsonl"))
	if got.Len() != 3 || want.Len() != 3 {
		t.Fatalf("got %d and %d samples, want 3", got.Len(), want.Len())
	}
	for i := range int64(3) {
		if a, b := string(got.Key(i, nil)), string(want.Key(i, nil)); a != b || got.Label(i) != want.Label(i) {
			t.Errorf("sample %d: got %q of label %d, want %q of %d", i, a, got.Label(i), b, want.Label(i))
		}
		var x, y Buffer
		must(t, got.Read(context.Background(), i, &x))
		must(t, want.Read(context.Background(), i, &y))
		for c, column := range someColumns() {
			if a, b := x.Value(c), y.Value(c); !bytes.Equal(a, b) {
				t.Errorf("sample %d, column %q: got %v, want %v", i, column.Name, a, b)
			}
		}
		if !bytes.Equal(x.Bytes(), y.Bytes()) {
			t.Errorf("sample %d: got %q, want %q", i, x.Bytes(), y.Bytes())
		}
	}
	if a, b := got.(Knowing).Known("score")(2), want.(Knowing).Known("score")(2); a != b || got.(Knowing).Known("ids") != nil {
		t.Errorf("known without reading: got %v, want %v, and no lists", a, b)
	}
}

// Names of classes, rows without files, deflated members and arrays in Fortran's order are read as well.
func TestTablesOfNumPysInOtherForms(t *testing.T) {
	dir := t.TempDir()
	named := writeNPZ(t, filepath.Join(dir, "n.npz"), textsOf("path", "a", "b", "c"), textsOf("label", "dog", "cat", "dog"))
	s, err := OpenList(ListConfig{File: named, LabelNames: true})
	must(t, err)
	if got := s.Classes(); !slices.Equal(got, []string{"cat", "dog"}) || s.Label(0) != 1 || s.Label(1) != 0 {
		t.Errorf("got classes %v, labels %d and %d", got, s.Label(0), s.Label(1))
	}
	must(t, s.Close())
	alone := writeNPZ(t, filepath.Join(dir, "ALONE.NPZ"), []array.Named{arrayOf("x", tensor.F32, []float32{1, 2, 3, 4}, 2, 2)})
	s, err = OpenList(ListConfig{File: alone, Alone: true, Columns: []Column{{Name: "x", Type: List, DType: tensor.F32, Shape: tensor.Shape{2}}}})
	must(t, err)
	var b Buffer
	must(t, s.Read(context.Background(), 1, &b))
	if got := b.Value(0); s.Len() != 2 || math.Float32frombits(binary.LittleEndian.Uint32(got[4:])) != 4 || string(s.Key(1, nil)) != "ALONE.NPZ:1" {
		t.Errorf("got %v of %d samples, key %q", got, s.Len(), s.Key(1, nil))
	}
	must(t, s.Close())
}

// What no row can be made of is refused, with the column and the row, and what to do.
func TestTablesOfNumPysThatAreWrongAreRefused(t *testing.T) {
	dir := t.TempDir()
	paths, ids := textsOf("path", "a", "b"), Column{Name: "x", Type: List, DType: tensor.I64, MaxLength: 2, Shape: tensor.Shape{}}
	i64 := func(values ...int64) []array.Named { return []array.Named{arrayOf("x", tensor.I64, values)} }
	offsets := func(values ...int64) []array.Named {
		return append(i64(1, 2, 3), arrayOf("x.offsets", tensor.I64, values))
	}
	for name, c := range map[string]struct {
		arrays  [][]array.Named
		columns []Column
		want    string
	}{
		"no path":             {[][]array.Named{i64(1, 2)}, nil, `no column "path"; the columns are x; source.path says`},
		"no column":           {[][]array.Named{paths}, []Column{{Name: "y"}}, `no column "y"; the columns are path`},
		"no rows":             {[][]array.Named{textsOf("path")}, nil, "the table has no rows"},
		"other rows":          {[][]array.Named{paths, i64(1, 2, 3)}, []Column{{Name: "x", Type: Int64}}, `column "x": got 3 rows, want 2, as columns before it have`},
		"a scalar":            {[][]array.Named{paths, {{Name: "x", DType: tensor.I64, Shape: []int64{}, Data: make([]byte, 8)}}}, []Column{{Name: "x"}}, `column "x": got a scalar, want an array whose first dimension is the rows`},
		"a text for a number": {[][]array.Named{paths, textsOf("x", "1", "2")}, []Column{{Name: "x", Type: Int64}}, `column "x": got a text a row, want a number`},
		"a list for a text":   {[][]array.Named{paths, offsets(0, 1, 3)}, []Column{{Name: "x"}}, `column "x": got -1 of i64 a row, want a text, which is bytes (u8) with .offsets beside them, or a number`},
		"an array for a path": {[][]array.Named{{arrayOf("path", tensor.F16, []uint16{1, 2}, 1, 2)}}, nil, `column "path": got 2 of f16 a row, want a text`},
		"a fraction":          {[][]array.Named{paths, {arrayOf("x", tensor.F32, []float32{1, 0.5})}}, []Column{{Name: "x", Type: Int64}}, `row 1: column "x": got "0.5", want a whole number`},
		"a path that climbs":  {[][]array.Named{textsOf("path", "a", "../b")}, nil, `row 1: path "../b": got ".."`},
		"an empty path":       {[][]array.Named{textsOf("path", "a", "")}, nil, `row 1: column "path" is empty, want a path`},
		"too long":            {[][]array.Named{paths, offsets(0, 0, 3)}, []Column{ids}, `column "x": row 1: got a list of more than 2, want at most that; raise max_length of the column`},
		"another type":        {[][]array.Named{paths, {arrayOf("x", tensor.I32, []int32{1, 2, 3}), arrayOf("x.offsets", tensor.I64, []int64{0, 1, 3})}}, []Column{ids}, `column "x": got -1 of i32 a row, want -1 of i64; arrays are not converted`},
		"another shape":       {[][]array.Named{paths, {arrayOf("x", tensor.I64, []int64{1, 2, 3, 4}, 2, 1, 2)}}, []Column{ids}, `column "x": got 1x2 of i64 a row, want -1 of i64`},
		"a number for a list": {[][]array.Named{paths, i64(1, 2)}, []Column{ids}, `column "x": got a number of i64 a row, want -1 of i64`},
		"shorter":             {[][]array.Named{paths, offsets(0, 1, 3)}, []Column{{Name: "x", Type: List, DType: tensor.I64, Shape: tensor.Shape{2}}}, `column "x": row 0: got a list of 1, want shape 2`},
		"offsets from 1":      {[][]array.Named{paths, offsets(1, 2, 3)}, []Column{ids}, `column "x": x.offsets: got 1 at 0, want them from 0 on, none less than the one before`},
		"offsets that fall":   {[][]array.Named{paths, offsets(0, 2, 1, 3)}, []Column{ids}, `column "x": x.offsets: got 1 at 2, want them from 0 on`},
		"offsets that end":    {[][]array.Named{paths, offsets(0, 1, 2)}, []Column{ids}, `column "x": x.offsets: got 2 at the end, want 3, how many its rows have together`},
		"no offsets":          {[][]array.Named{paths, offsets()}, []Column{ids}, `column "x": x.offsets: got 0 of i64, want whole numbers, a number more than there are rows`},
		"offsets of floats":   {[][]array.Named{paths, i64(1, 2), {arrayOf("x.offsets", tensor.F64, []float64{0, 1, 2})}}, []Column{ids}, `x.offsets: got 3 of f64, want whole numbers`},
	} {
		_, err := OpenList(ListConfig{File: writeNPZ(t, filepath.Join(dir, "t.npz"), c.arrays...), Columns: c.columns})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	write(t, filepath.Join(dir, "t.npz"), "")
	if _, err := OpenList(ListConfig{File: filepath.Join(dir, "t.npz")}); !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), "want an array for each column, as numpy.savez writes them") {
		t.Errorf("empty: got %v", err)
	}
	write(t, filepath.Join(dir, "t.npz"), "PK and so on")
	if _, err := OpenList(ListConfig{File: filepath.Join(dir, "t.npz")}); err == nil || !strings.Contains(err.Error(), "no directory of an archive at the end of 12 bytes") {
		t.Errorf("no archive: got %v", err)
	}
	if _, err := OpenList(ListConfig{File: filepath.Join(dir, "t.npz.gz")}); err == nil || !strings.Contains(err.Error(), "a compressed list is not read; unpack it") {
		t.Errorf("packed: got %v", err)
	}
}

// Whatever a file says, it is refused or each of its samples has its values.
func FuzzTableOfNumPys(f *testing.F) {
	dir := f.TempDir()
	seed, err := os.ReadFile(numpysTable(f, dir))
	must(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(t.TempDir(), "t.npz")
		must(t, os.WriteFile(path, file, 0o600))
		s, err := OpenList(ListConfig{File: path, Alone: true, Columns: someColumns()})
		if err != nil {
			return
		}
		var b Buffer
		for i := range min(s.Len(), 100) {
			must(t, s.Read(context.Background(), i, &b))
		}
		must(t, s.Close())
	})
}
