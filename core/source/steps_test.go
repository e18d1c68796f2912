package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
	"golang.org/x/sys/unix"
)

// counting are elements 0, 1, 2 ... of a type of 1, 2, 4 or 8 bytes.
func counting(n int, d tensor.DType) (b []byte) {
	for i := range n {
		b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(i))[:d.Bytes()]...)
	}
	return b
}

func npyFile(t *testing.T, path string, d tensor.DType, shape ...int64) string {
	t.Helper()
	n, err := tensor.Shape(shape).Elements()
	if err != nil {
		t.Fatal(err)
	}
	data, err := array.AppendNPY(nil, &array.Named{DType: d, Shape: shape, Data: counting(int(n), d)})
	if err != nil {
		t.Fatal(err)
	}
	return writtenTo(t, path, data)
}

func writtenTo(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func arraysOf(t *testing.T, c ArraysConfig) Source {
	t.Helper()
	s, err := OpenArrays(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// elements are the values of column c of a sample.
func elements(t *testing.T, s Source, i int64, c int) (all []uint64) {
	t.Helper()
	var b Buffer
	if err := s.Read(background, i, &b); err != nil {
		t.Fatal(err)
	}
	size := s.(Columnar).Columns()[c].DType.Bytes()
	for v := b.Value(c); len(v) > 0; v = v[size:] {
		all = append(all, binary.LittleEndian.Uint64(append(slices.Clone(v[:size]), make([]byte, 8)...)))
	}
	return all
}

// The rows of arrays are samples: as many as the first axis counts, each with the shape of the others, and labels where an array says them.
func TestRowsOfArraysAreSamples(t *testing.T) {
	dir := t.TempDir()
	x, y := npyFile(t, filepath.Join(dir, "x.npy"), tensor.F32, 5, 2, 3), npyFile(t, filepath.Join(dir, "y.npy"), tensor.I16, 5)
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{x}}, {Name: "y", Files: []string{y}}}, Label: "y"})
	columns := s.(Columnar).Columns()
	if got := fmt.Sprint(s.Len(), columns[0].Shape, columns[0].DType, columns[1].Shape, columns[1].DType, s.Label(4), " ", string(s.Key(3, nil))); got != "5 2x3 f32 scalar i16 4 x.npy:3" {
		t.Errorf("got %s", got)
	}
	for i := range int64(5) {
		want := []uint64{}
		for k := range uint64(6) {
			want = append(want, uint64(i)*6+k)
		}
		if got := elements(t, s, i, 0); !slices.Equal(got, want) || elements(t, s, i, 1)[0] != uint64(i) || s.Label(i) != i {
			t.Errorf("sample %d: %v, label %d; want %v", i, got, s.Label(i), want)
		}
	}
}

// A sample may be a window of steps; windows may overlap, and none lies across the end of a file.
func TestWindowsOfArraysAreSamples(t *testing.T) {
	dir := t.TempDir()
	first, second := writtenTo(t, filepath.Join(dir, "t0.bin"), counting(11, tensor.U16)), writtenTo(t, filepath.Join(dir, "t1.bin"), counting(2, tensor.U16))
	third := writtenTo(t, filepath.Join(dir, "t2.bin"), counting(7, tensor.U16))
	for _, c := range []struct {
		window, step int64
		want         string
	}{
		{4, 0, "[0 1 2 3] [4 5 6 7] [0 1 2 3]"},
		{4, 3, "[0 1 2 3] [3 4 5 6] [6 7 8 9] [0 1 2 3] [3 4 5 6]"},
		{1, 5, "[0] [5] [10] [0] [0] [5]"},
		{11, 0, "[0 1 2 3 4 5 6 7 8 9 10]"},
	} {
		pattern := []string{filepath.Join(dir, "t{0..2}.bin")}
		s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "tokens", Files: pattern, DType: tensor.U16, Window: c.window, Step: c.step}}})
		var got []string
		for i := range s.Len() {
			got = append(got, fmt.Sprint(elements(t, s, i, 0)))
		}
		if text := strings.Join(got, " "); text != c.want || s.(Columnar).Columns()[0].Shape.String() != fmt.Sprint(c.window) {
			t.Errorf("windows of %d every %d: got %s of %v, want %s", c.window, c.step, text, s.(Columnar).Columns()[0].Shape, c.want)
		}
	}
	within := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "t", Files: []string{first, third}, DType: tensor.U16, Window: 4, Step: 1}, {Name: "o", Files: []string{first, third}, DType: tensor.U16, Within: 4}}})
	if got := fmt.Sprint(within.Len(), elements(t, within, 8, 0), elements(t, within, 8, 1)); got != "12 [0 1 2 3] [0]" {
		t.Errorf("of as many samples as the longest window: %s", got)
	}
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "t", Files: []string{first, second, third}, DType: tensor.U16, Window: 4}}})
	if got := string(s.Key(2, nil)); got != "t2.bin:0" {
		t.Errorf("key %s", got)
	}
	wide := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "w", Files: []string{writtenTo(t, filepath.Join(dir, "w.bin"), counting(12, tensor.U8))}, DType: tensor.U8, Shape: tensor.Shape{3}, Window: 2, Step: 1}}})
	if got := fmt.Sprint(wide.Len(), wide.(Columnar).Columns()[0].Shape, elements(t, wide, 2, 0)); got != "3 2x3 [6 7 8 9 10 11]" {
		t.Errorf("of several numbers a step: %s", got)
	}
}

// Big-endian elements come little-endian, in rows and in labels.
func TestSwappedArraysAreTurned(t *testing.T) {
	head := "{'descr': '>i4', 'fortran_order': False, 'shape': (3, ), }"
	data := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	data = append(data, head...)
	for _, v := range []int32{-7, 1 << 20, 3} {
		data = binary.BigEndian.AppendUint32(data, uint32(v))
	}
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "y", Files: []string{writtenTo(t, filepath.Join(t.TempDir(), "y.npy"), data)}}}, Label: "y"})
	if got := fmt.Sprint(s.Label(0), s.Label(1), s.Label(2), elements(t, s, 1, 0)); got != "-7 1048576 3 [1048576]" {
		t.Errorf("got %s", got)
	}
}

// Labels are read in stretches, also where they are more than one holds.
func TestManyLabelsOfAnArray(t *testing.T) {
	const n = 3*labelBytes/8 + 5
	path := npyFile(t, filepath.Join(t.TempDir(), "y.npy"), tensor.I64, n)
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "y", Files: []string{path}}}, Label: "y"})
	for i := range int64(n) {
		if s.Label(i) != i {
			t.Fatalf("sample %d has label %d", i, s.Label(i))
		}
	}
}

// A file that was cut or written again while it was read makes bad samples, never half of one and half of the other.
func TestChangedArraysMakeBadSamples(t *testing.T) {
	path := npyFile(t, filepath.Join(t.TempDir(), "x.npy"), tensor.F32, 40, 64)
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}}}})
	for what, spoil := range map[string]func() error{
		"cut": func() error { return os.Truncate(path, 4000) },
		"written again": func() error {
			npyFile(t, path, tensor.F32, 40, 64)
			return nil
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		var b Buffer
		var e *Error
		if err := s.Read(background, 30, &b); !errors.As(err, &e) || e.Cause != Changed || e.In != path || e.Key != "x.npy:30" {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// Equal arrays have equal fingerprints wherever they lie; others, or other windows of them, have others.
func TestFingerprintsOfArrays(t *testing.T) {
	print := func(dir string, n int64, window int64) Fingerprint {
		path := npyFile(t, filepath.Join(dir, "x.npy"), tensor.U8, n)
		f, ok := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}, Window: window}}}).(Fingerprinted).Fingerprint()
		if !ok {
			t.Fatal("no fingerprint")
		}
		return f
	}
	base := print(t.TempDir(), 60, 4)
	if print(t.TempDir(), 60, 4) != base || print(t.TempDir(), 61, 4) == base || print(t.TempDir(), 60, 5) == base {
		t.Error("fingerprints do not tell arrays")
	}
}

// An array that a program hands over as a descriptor is known by the name that the program gave it, whatever number the descriptor has.
func TestArraysInMemoryAreCalledWhatTheirProgramCallsThem(t *testing.T) {
	named := npyFile(t, filepath.Join(t.TempDir(), "x.npy"), tensor.U8, 60)
	data, err := os.ReadFile(named)
	must(t, err)
	handed := func(name string) Source {
		return arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{handedOver(t, name, data, 0)}}}})
	}
	print := func(s Source) Fingerprint {
		f, _ := s.(Fingerprinted).Fingerprint()
		return f
	}
	x, y, file := handed("x.npy"), handed("y.npy"), arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{named}}}})
	if print(x) != print(handed("x.npy")) || print(x) != print(file) || print(x) == print(y) {
		t.Error("a fingerprint depends on a descriptor's number")
	}
	if key := string(x.Key(7, nil)); key != "x.npy:7" {
		t.Errorf("got key %q", key)
	}
}

// handedOver is the path of bytes in memory that a program hands over, with seals.
func handedOver(t *testing.T, name string, data []byte, seals int) string {
	t.Helper()
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	must(t, err)
	file := os.NewFile(uintptr(fd), name)
	t.Cleanup(func() { _ = file.Close() })
	_, err = file.Write(data)
	must(t, err)
	_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	must(t, err)
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
}

// What nobody can change any more is mapped, and its samples lie there; they are those of a file that is read, also at the edges of episodes and where
// bytes are turned.
func TestSealedArraysAreMapped(t *testing.T) {
	const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK
	dir := t.TempDir()
	plain, err := os.ReadFile(npyFile(t, filepath.Join(dir, "x.npy"), tensor.I32, 20, 3))
	must(t, err)
	swapped := []byte(strings.Replace(string(plain), "<i4", ">i4", 1))
	for name, c := range map[string]struct {
		data         []byte
		with         ArrayFiles
		seals        int
		mapped, lies bool
	}{
		"rows":           {plain, ArrayFiles{}, sealed, true, true},
		"windows":        {plain, ArrayFiles{Window: 4, Step: 3}, sealed, true, true},
		"edges":          {plain, ArrayFiles{Window: 30, Step: 1, PadBefore: 4, PadAfter: 28}, sealed, true, false},
		"turned":         {swapped, ArrayFiles{}, sealed, true, false},
		"no header":      {plain[len(plain)-240:], ArrayFiles{DType: tensor.I32, Shape: tensor.Shape{3}}, sealed, true, true},
		"may be written": {plain, ArrayFiles{}, unix.F_SEAL_SHRINK, false, false},
		"may be cut":     {plain, ArrayFiles{}, unix.F_SEAL_WRITE, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			of := func(path string) *arrays {
				c.with.Name, c.with.Files = "x", []string{path}
				return arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{c.with}}).(*arrays)
			}
			read, held := of(writtenTo(t, filepath.Join(dir, "file.npy"), c.data)), of(handedOver(t, "file.npy", c.data, c.seals))
			if held.all[0].files[0].mem != nil != c.mapped || read.all[0].files[0].mem != nil {
				t.Fatal("got the wrong file mapped")
			}
			var b Buffer
			for i := range read.Len() {
				want := elements(t, read, i, 0)
				if got := elements(t, held, i, 0); held.Len() != read.Len() || !slices.Equal(got, want) {
					t.Fatalf("sample %d: got %v, want %v", i, got, want)
				}
				must(t, held.Read(background, i, &b))
				if got := b.columns[0].lies != nil; got != c.lies {
					t.Fatalf("sample %d lies where it was: got %v", i, got)
				}
			}
		})
	}
}

// A bf16 file, which .npy has no word for, is elements alone.
func TestArraysOfBF16(t *testing.T) {
	path := writtenTo(t, filepath.Join(t.TempDir(), "x.bin"), counting(12, tensor.BF16))
	s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{path}, DType: tensor.BF16, Shape: tensor.Shape{4}}}})
	if c := s.(Columnar).Columns()[0]; s.Len() != 3 || c.DType != tensor.BF16 || !slices.Equal(c.Shape, tensor.Shape{4}) {
		t.Errorf("got %d samples of %v of %v", s.Len(), c.Shape, c.DType)
	}
	if got := elements(t, s, 2, 0); !slices.Equal(got, []uint64{8, 9, 10, 11}) {
		t.Errorf("got %d", got)
	}
}

func TestArraysThatAreNoSamplesAreRefused(t *testing.T) {
	dir := t.TempDir()
	x := npyFile(t, filepath.Join(dir, "x.npy"), tensor.F32, 5, 2)
	y := npyFile(t, filepath.Join(dir, "y.npy"), tensor.I64, 4)
	z := npyFile(t, filepath.Join(dir, "z.npy"), tensor.F32, 5, 3)
	scalar, flat := npyFile(t, filepath.Join(dir, "s.npy"), tensor.F32), writtenTo(t, filepath.Join(dir, "t.bin"), counting(5, tensor.U16))
	whole, err := os.ReadFile(x)
	if err != nil {
		t.Fatal(err)
	}
	cut := writtenTo(t, filepath.Join(dir, "cut.npy"), whole[:len(whole)-4])
	fortran := writtenTo(t, filepath.Join(dir, "f.npy"), []byte(strings.Replace(string(whole), "False", "True ", 1)))
	vast, empty := writtenTo(t, filepath.Join(dir, "vast.npy"), fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2), }")), npyFile(t, filepath.Join(dir, "empty.npy"), tensor.F32, 0, 2)
	fifo, npz := filepath.Join(dir, "fifo.npy"), filepath.Join(dir, "several.npz")
	write(t, npz, "PK\x03\x04 and more")
	must(t, unix.Mkfifo(fifo, 0o600))
	one := func(a ArrayFiles) ArraysConfig { return ArraysConfig{Arrays: []ArrayFiles{a}} }
	for want, c := range map[string]ArraysConfig{
		`source: array "x": "` + filepath.Join(dir, "none.npy") + `": no such file or directory`:                          one(ArrayFiles{Name: "x", Files: []string{filepath.Join(dir, "none.npy")}}),
		`source: array "x": "http://h/x.npy": want a local file: whole arrays are read in place`:                          one(ArrayFiles{Name: "x", Files: []string{"http://h/x.npy"}}),
		`source: array "x": "` + dir + `": got a directory, want a regular file`:                                          one(ArrayFiles{Name: "x", Files: []string{dir}}),
		`source: array "x": "` + fifo + `": got a fifo, want a regular file`:                                              one(ArrayFiles{Name: "x", Files: []string{fifo}}),
		`source: array "x": file "` + x + `": named twice`:                                                                one(ArrayFiles{Name: "x", Files: []string{x, x}}),
		`no .npy file; an .npz has several arrays: numpy.save each, or, where they have a row a sample, say list: ` + npz: one(ArrayFiles{Name: "x", Files: []string{npz}}),
		`"` + filepath.Join(dir, "X.npy") + `": no such file or directory; did you mean "` + x + `"?`:                     one(ArrayFiles{Name: "x", Files: []string{filepath.Join(dir, "X.npy")}}),
		`no .npy file; of elements without a header say dtype`:                                                            one(ArrayFiles{Name: "x", Files: []string{flat}}),
		`got a scalar, want an array whose first axis counts samples`:                                                     one(ArrayFiles{Name: "x", Files: []string{scalar}}),
		`got 10 bytes, want a multiple of the 4 of a step, scalar of f32`:                                                 one(ArrayFiles{Name: "x", Files: []string{flat}, DType: tensor.F32}),
		`got an .npy file, of 5x2 of f32, beside a dtype, which`:                                                          one(ArrayFiles{Name: "x", Files: []string{x}, DType: tensor.F32, Shape: tensor.Shape{2}}),
		`truncated: got 36 bytes of elements, want 40 for 5x2 of f32`:                                                     one(ArrayFiles{Name: "x", Files: []string{cut}}),
		`in Fortran's order, whose samples lie all over the file; want C's`:                                               one(ArrayFiles{Name: "x", Files: []string{fortran}}),
		`got samples of 3 of f32, want 2 of f32, as "` + x + `" has`:                                                      one(ArrayFiles{Name: "x", Files: []string{x, z}}),
		`shape 4611686018427387904x2: more than 2^63-1 elements`:                                                          one(ArrayFiles{Name: "x", Files: []string{vast}}),
		`no samples: want 1 rows or more in one file; of 1 files, such as "` + empty + `", none has them`:                 one(ArrayFiles{Name: "x", Files: []string{empty}}),
		`no samples: want 6 rows or more in one file; of 1 files`:                                                         one(ArrayFiles{Name: "x", Files: []string{flat}, DType: tensor.U16, Window: 6}),
		`source: array "y": got 4 samples, want 5, as array "x" has`:                                                      {Arrays: []ArrayFiles{{Name: "x", Files: []string{x}}, {Name: "y", Files: []string{y}}}},
		`source: label "n": there is no such array`:                                                                       {Arrays: []ArrayFiles{{Name: "y", Files: []string{y}}}, Label: "n"},
		`source: label "x": got 2 of f32 a sample, want one whole number`:                                                 {Arrays: []ArrayFiles{{Name: "x", Files: []string{x}}}, Label: "x"},
		`got neither media nor columns`:                                                                                   {},
	} {
		s, err := OpenArrays(c)
		if err == nil {
			t.Errorf("opened, want %q", want)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A sample's identity is that of its place and of the versions of its files; where one of them was written again in place there is none.
func TestIdentitiesOfArraysAreOfTheirFiles(t *testing.T) {
	dir := t.TempDir()
	x, y := npyFile(t, dir+"/x.npy", tensor.I16, 6, 2), writtenTo(t, dir+"/y.bin", counting(6, tensor.U8))
	open := func(window int64) Versioned {
		return arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{{Name: "x", Files: []string{x}, Window: window, Step: 1}, {Name: "y", Files: []string{y}, DType: tensor.U8, Window: window, Step: 1}}}).(Versioned)
	}
	seen := map[string]string{}
	for name, s := range map[string]Versioned{"rows": open(0), "windows": open(2)} {
		for i := range int64(5) {
			of := fmt.Sprint(name, i)
			id := string(s.Identity(i, nil))
			if id == "" || seen[id] != "" || id != string(s.Identity(i, []byte{})) {
				t.Errorf("%s: %q, which is that of %q", of, id, seen[id])
			}
			seen[id] = of
		}
	}
	s := open(0)
	again := string(open(0).Identity(1, nil))
	if got := string(s.Identity(1, nil)); got != again {
		t.Errorf("opened again it is %q, not %q", got, again)
	}
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(y, later, later))
	if got := s.Identity(1, nil); got != nil {
		t.Errorf("of a file that was written since it was opened: %q", got)
	}
	if got := string(open(0).Identity(1, nil)); got == "" || got == again {
		t.Errorf("opened after it was written: %q", got)
	}
}
