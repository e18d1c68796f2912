package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// npy is an array of 16-bit numbers first, first+1 ... as NumPy writes it.
func npy(fortran bool, first int, shape ...int) string {
	dims, order := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]"), "False"
	if fortran {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': '<i2', 'fortran_order': %s, 'shape': (%s,), }", order, dims)
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head)))
	b = append(b, head...)
	n := 1
	for _, d := range shape {
		n *= d
	}
	for k := range n {
		b = binary.LittleEndian.AppendUint16(b, uint16(first+k))
	}
	return string(b)
}

// npz is a zip archive of arrays.
func npz(t testing.TB, members map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range members {
		m, err := w.Create(name + ".npy")
		must(t, err)
		_, err = m.Write([]byte(content))
		must(t, err)
	}
	must(t, w.Close())
	return out.String()
}

// shorts are the numbers of a value.
func shorts(value []byte) (all []int) {
	for at := 0; at < len(value); at += 2 {
		all = append(all, int(binary.LittleEndian.Uint16(value[at:])))
	}
	return all
}

// Arrays are columns of one type and shape, in the order of their indexes, out of archives, folders and tables alike.
func TestArraysAreColumnsWhereverTheyLie(t *testing.T) {
	dir := t.TempDir()
	columns := []Column{{Name: "a", From: "npy", Type: Array}, {Name: "b", From: "npz[two]", Type: Array}, {Name: "n", From: "txt", Type: Int64}}
	var parts []part
	table := "path,npy,npz,txt\n"
	for i := range 3 {
		for ending, content := range map[string]string{
			"jpg": fmt.Sprint("picture ", i), "npy": npy(i == 1, 10*i, 2, 2), "txt": fmt.Sprint(i * 7),
			"npz": npz(t, map[string]string{"one": npy(false, 0, 1), "two": npy(false, i, 3)}),
		} {
			write(t, fmt.Sprintf("%s/tree/c/%d.%s", dir, i, ending), content)
			parts = append(parts, part{fmt.Sprintf("%d.%s", i, ending), content})
		}
		table += fmt.Sprintf("c/%d.jpg,c/%d.npy,c/%d.npz,%d\n", i, i, i, i*7)
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, parts...)))
	write(t, dir+"/t.csv", table)
	tree, err := OpenFolder(FolderConfig{Dir: dir + "/tree", Columns: columns})
	must(t, err)
	defer tree.Close()
	for name, s := range map[string]Source{
		"shards": openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Columns: columns}), "folder": tree,
		"table": openL(t, ListConfig{File: dir + "/t.csv", Root: dir + "/tree", Columns: columns}),
	} {
		got := s.(Columnar).Columns()
		if !slices.Equal(got[0].Shape, tensor.Shape{2, 2}) || got[0].DType != tensor.I16 || got[0].Width() != 8 || got[1].Width() != 6 {
			t.Fatalf("%s: columns %+v", name, got)
		}
		for i := range s.Len() {
			b, text := read(t, s, i)
			k := int(i)
			want := []int{10 * k, 10*k + 1, 10*k + 2, 10*k + 3}
			if k == 1 { // written column by column
				want = []int{10, 12, 11, 13}
			}
			if text != fmt.Sprint("picture ", i) || !slices.Equal(shorts(b.Value(0)), want) || !slices.Equal(shorts(b.Value(1)), []int{k, k + 1, k + 2}) {
				t.Errorf("%s: sample %d: %q %v %v", name, i, text, shorts(b.Value(0)), shorts(b.Value(1)))
			}
			if got := binary.NativeEndian.Uint64(b.Value(2)); got != uint64(7*i) {
				t.Errorf("%s: sample %d: n is %d", name, i, got)
			}
		}
	}
}

// An array of another shape or type than the first sample's, or than was given, is a bad sample that says both; so is one that is
// damaged or not there.
func TestArraysThatDifferAreBadSamples(t *testing.T) {
	dir := t.TempDir()
	for k, content := range []string{npy(false, 0, 2), npy(false, 0, 3), "no array", npy(false, 0, 2)[:60], ""} {
		write(t, fmt.Sprintf("%s/%d.jpg", dir, k), "p")
		if content != "" {
			write(t, fmt.Sprintf("%s/%d.npy", dir, k), content)
		}
	}
	open := func(c Column) (Source, error) {
		c.Name, c.From, c.Type = "a", "npy", Array
		return OpenFolder(FolderConfig{Dir: dir, Columns: []Column{c}})
	}
	s, err := open(Column{})
	must(t, err)
	defer s.Close()
	var b Buffer
	for i, want := range []string{"", `value: column "a": got 3 of i16, want 2 of i16`, "no .npy file", "truncated", `part: column "a": its file is not there`} {
		err := s.Read(background, int64(i), &b)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("sample %d: got %v, want %q", i, err, want)
		}
		var bad *Error
		if err != nil && (!errors.As(err, &bad) || bad.Key != fmt.Sprintf("%d.jpg", i) || len(b.Bytes()) != 0) {
			t.Errorf("sample %d: %#v", i, err)
		}
	}
	given, err := open(Column{DType: tensor.I16, Shape: tensor.Shape{3}})
	must(t, err)
	defer given.Close()
	must(t, given.Read(background, 1, &b))
	if err := given.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), "want 3 of i16") {
		t.Errorf("got %v", err)
	}
}

// Where no sample tells the shape, opening says what to give and what was wrong with the last.
func TestArraysThatNoSampleTellsAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/0.jpg", "p")
	write(t, dir+"/other.npy", "of no sample")
	_, err := OpenFolder(FolderConfig{Dir: dir, Columns: []Column{{Name: "a", From: "npy", Type: Array}}})
	if err == nil || !strings.Contains(err.Error(), `source.columns[0] ("a"): none of the first 1 samples tells`) || !strings.Contains(err.Error(), "its file is not there") {
		t.Errorf("got %v", err)
	}
	write(t, dir+"/0.npy", npy(false, 0, 0))
	_, err = OpenFolder(FolderConfig{Dir: dir, Columns: []Column{{Name: "a", From: "npy", Type: Array}}})
	if err == nil || !strings.Contains(err.Error(), "at least one element") {
		t.Errorf("got %v", err)
	}
	parquet := filepath.Join(dir, "x.parquet")
	writeParquet(t, parquet, []struct{ Image []byte }{{[]byte("p")}}, 1)
	if _, err = OpenParquet(background, ShardsConfig{Shards: []string{parquet}, Columns: []Column{{Name: "a", Type: Array}}}); err == nil ||
		!strings.Contains(err.Error(), "arrays go with archives, lists and folders") {
		t.Errorf("got %v", err)
	}
}

// A sample whose array unpacks to much more than its column has is a bad sample, and costs no memory.
func TestArrayThatUnpacksToMoreIsABadSample(t *testing.T) {
	const size = 32 << 20
	var b Buffer
	c := Column{Name: "x", Type: Array, Member: "x", DType: tensor.I16, Shape: tensor.Shape{4}}
	file := []byte(npz(t, map[string]string{"x": npy(false, 0, size/2)}))
	var err error
	peak := damage.PeakBytes(t, func() { err = b.setArray(&c, file, true) })
	var bad *Error
	if !errors.As(err, &bad) || bad.Cause != Value || !strings.Contains(err.Error(), "want at most") || peak > size/2 {
		t.Errorf("got %v with %d MiB of memory", err, peak>>20)
	}
	if err := b.setArray(&c, []byte(npz(t, map[string]string{"x": npy(false, 0, 4)})), false); err != nil {
		t.Errorf("one that fits: %v", err)
	}
}

// Arrays of a length of their own keep the type and the shape of the rest, and may be empty; where a sample has no file it has the default.
func TestRaggedArraysHaveALengthOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	files := []string{npy(false, 1, 2, 2), npy(false, 0, 0, 2), npy(true, 0, 3, 2), "", npy(false, 0, 4, 2), npy(false, 0, 2, 3), npy(false, 0, 2)}
	table := "path,npy\n"
	var parts []part
	for k, content := range files {
		write(t, fmt.Sprintf("%s/tree/%d.jpg", dir, k), "p")
		parts = append(parts, part{fmt.Sprintf("%d.jpg", k), "p"})
		if content != "" {
			write(t, fmt.Sprintf("%s/tree/%d.npy", dir, k), content)
			parts = append(parts, part{fmt.Sprintf("%d.npy", k), content})
		}
		table += fmt.Sprintf("%d.jpg,%d.npy\n", k, k)
	}
	write(t, dir+"/t.csv", table)
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, parts...)))
	columns := []Column{{Name: "a", From: "npy", Type: Array, MaxLength: 3}}
	sources := func() map[string]Source {
		return map[string]Source{
			"shards": openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Columns: columns}), "folder": openF(t, FolderConfig{Dir: dir + "/tree", Columns: columns}),
			"table": openL(t, ListConfig{File: dir + "/t.csv", Root: dir + "/tree", Columns: columns}),
		}
	}
	values := [][]int{{1, 2, 3, 4}, {}, {0, 3, 1, 4, 2, 5}} // the third lies column by column
	bad := []string{3: "", 4: "got 4x2, want a length of at most 3; raise max_length of the column", 5: "got 2x3 of i16, want -1x2 of i16", 6: "got 2 of i16, want -1x2 of i16"}
	for name, s := range sources() {
		c := s.(Columnar).Columns()[0]
		if c.Width() != 0 || c.Most() != 12 || !slices.Equal(c.Shape, tensor.Shape{2}) || c.DType != tensor.I16 {
			t.Fatalf("%s: %+v", name, c)
		}
		for i := range s.Len() {
			var b Buffer
			err := s.Read(background, i, &b)
			if int(i) < len(values) {
				must(t, err)
				if got := shorts(b.Value(0)); !slices.Equal(got, values[i]) {
					t.Errorf("%s: sample %d: got %v, want %v", name, i, got, values[i])
				}
			} else if err == nil || !strings.Contains(err.Error(), bad[i]) {
				t.Errorf("%s: sample %d: got %v, want %q", name, i, err, bad[i])
			}
		}
	}
	columns[0].Default = []byte{}
	for name, s := range sources() {
		var b Buffer
		if err := s.Read(background, 3, &b); name != "table" && (err != nil || len(b.Value(0)) != 0) {
			t.Errorf("%s: without a file: %v, %v", name, b.Value(0), err)
		}
	}
	columns[0].From = "none"
	write(t, dir+"/tree/other.none", "of no sample")
	none, err := OpenFolder(FolderConfig{Dir: dir + "/tree", Columns: columns})
	if err == nil {
		must(t, none.Close())
	}
	if err == nil || !strings.HasSuffix(err.Error(), "tells its type and shape; say dtype and shape, the last: it has none, but the default") {
		t.Errorf("nothing but defaults: got %v", err)
	}
}

// An array of another type is named with its type, which is what the description has to say; also where another column's probe meets it.
func TestArraysOfAnotherTypeSayWhichToWrite(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/tree/1.npy", npy(false, 0, 3))
	write(t, dir+"/tree/1.open.npy", npy(false, 0, 3))
	write(t, dir+"/tree/1.jpg", "a picture")
	ids := Column{Name: "ids", From: "npy", Type: Array, DType: tensor.I32, Shape: tensor.Shape{}, MaxLength: 9}
	_, err := OpenFolder(FolderConfig{Dir: dir + "/tree", Columns: []Column{ids, {Name: "open", From: "open.npy", Type: Array}}})
	if want := `("open"): none of the first 1 samples tells its type and shape; say dtype and shape, or mend what is wrong with them, the last: `; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if want := `column "ids": got 3 of i16, want -1 of i32; arrays are not converted: say dtype: i16 where all are of it`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
