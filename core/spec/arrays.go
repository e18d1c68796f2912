package spec

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/tensor"
)

// ArrayFiles is an array in local files, whose samples are its rows, or windows of them. Each is also a column of the source.
type ArrayFiles struct {
	Name    string
	Files   []string     // resolved; with braces and globs
	Dataset []string     // of HDF5 files: paths in them, with braces and globs; nil: other files
	DType   tensor.DType // of files without a header; 0: .npy and HDF5 files
	Shape   tensor.Shape // of a row there; empty: a number
	Window  int64        // rows of a sample; 0: one, without an axis of its own
	Step    int64        // rows from one sample to the next; 0: Window
	Within  int64        // rows that must be there from a sample's first on; 0: Window

	written []string // names as the document has them, for the hash
}

// arrays reads whole arrays, and makes columns of them.
func (d *decoder) arrays(s *section, src *Source, dir string) {
	if s.has("columns") {
		s.fail("columns", "given beside arrays, which are the columns; leave one of them out")
		return
	}
	src.Arrays, src.Columns = nil, nil
	for i, n := range s.items("arrays", "a list of arrays, each a mapping with name and file", maxColumns) {
		entry := fmt.Sprintf("arrays[%d]", i)
		sec := d.section(n, "source.arrays[]", join(s.shown, entry), join(s.place, entry))
		if d.err != nil {
			return
		}
		a := d.arrayFiles(&sec, dir)
		src.Arrays = append(src.Arrays, a)
		src.Columns = append(src.Columns, Column{Name: a.Name, From: a.Name + ".npy", Type: TypeNPY, MaxBytes: 1 << 10})
		d.pos[join(s.place, fmt.Sprintf("columns[%d]", i))] = placeOf(n, join(s.shown, entry))
	}
	if d.err == nil && src.Arrays == nil {
		s.fail("arrays", "got none, want at least one, such as [{name: tokens, file: tokens.npy}]")
	}
}

func (d *decoder) arrayFiles(s *section, dir string) (a ArrayFiles) {
	s.text("name", &a.Name)
	if !s.has("file") {
		d.failAt(s.place, "file is missing, want the array's path, or a list of them")
		return a
	}
	for _, text := range s.texts("file", "a path or a list of them", maxPatterns) {
		name, err := located(text)
		if err != nil {
			s.fail("file", "%v", err)
		}
		w, r := resolve(name, dir)
		a.written, a.Files = append(a.written, w), append(a.Files, r)
	}
	if at := slices.IndexFunc(a.Files, isURL); at >= 0 {
		s.fail("file", "got a URL, want a local file: whole arrays are read in place; copy it, or put its samples into shards (spdl pack)")
	}
	if s.has("dataset") {
		a.Dataset = s.texts("dataset", "the path of a dataset in an HDF5 file, or a list of them", maxPatterns)
	}
	a.elements(s)
	whole(s, "window", &a.Window, 1, maxRows)
	whole(s, "step", &a.Step, 1, maxRows)
	whole(s, "within", &a.Within, 1, maxRows)
	if s.has("within") && a.Within < a.Window {
		s.fail("within", "got %d, want at least window, %d: it is how many rows there must be, of which a sample has the first", a.Within, a.Window)
	}
	if _, err := append(tensor.Shape{max(a.Window, 1)}, a.Shape...).Bytes(max(a.DType, tensor.U8)); err != nil {
		s.fail("shape", "got samples of %d rows of %v, want less than 2^63 bytes", max(a.Window, 1), a.Shape)
	}
	return a
}

// elements reads what a file without a header does not say.
func (a *ArrayFiles) elements(s *section) {
	name := ""
	choice(s, "dtype", &name, "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64")
	if name != "" {
		a.DType, _ = tensor.ParseDType(name)
	}
	if a.DType != 0 && a.Dataset != nil {
		s.fail("dtype", "given beside dataset: HDF5 says it itself; leave it out")
	}
	if !s.has("shape") {
		return
	}
	if a.DType == 0 {
		s.fail("shape", "given without dtype: .npy and HDF5 files say it themselves; leave it out, or say dtype for files that are elements alone")
	}
	for _, n := range s.items("shape", "a list of whole numbers, that of a row", maxDims) {
		v, _ := s.d.whole(n, join(s.shown, "shape"), 1, maxRows)
		a.Shape = append(a.Shape, v)
	}
}

// Files are the archives, Parquet files or arrays that the source is made of, as paths, URLs and patterns.
func (s *Source) Files() []string {
	all := s.Shards
	for i := range s.Arrays {
		all = append(all[:len(all):len(all)], s.Arrays[i].Files...)
	}
	return all
}

// canonicalArray is one of a source's arrays in the canonical form.
type canonicalArray struct {
	Name    string       `json:"name"`
	Files   []string     `json:"files"`
	Dataset []string     `json:"dataset,omitempty"`
	DType   string       `json:"dtype,omitempty"`
	Shape   tensor.Shape `json:"shape,omitempty"`
	Window  int64        `json:"window,omitempty"`
	Step    int64        `json:"step,omitempty"`
	Within  int64        `json:"within,omitempty"`
}

func (a *ArrayFiles) canonical() canonicalArray {
	c := canonicalArray{Name: a.Name, Files: a.written, Dataset: a.Dataset, Shape: a.Shape, Window: a.Window, Step: a.Step, Within: a.Within}
	if c.Files == nil {
		c.Files = a.Files
	}
	if a.DType != 0 {
		c.DType = a.DType.String()
	}
	return c
}
