package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

// ArrayFiles is an array in local files, whose samples are its rows, or windows of them. Each is also a column of the source, but for those that media are made of.
type ArrayFiles struct {
	Name    string
	Files   []string     // resolved; with braces and globs
	Dataset []string     // of HDF5 files: paths in them, with braces and globs; nil: other files
	DType   tensor.DType // of files without a header; 0: .npy and HDF5 files
	Shape   tensor.Shape // of a row there; empty: a number
	Window  int64        // rows of a sample; 0: one, without an axis of its own
	Step    int64        // rows from one sample to the next; 0: Window
	Within  int64        // rows that must be there from a sample's first on; 0: Window

	PadBefore, PadAfter int64 // rows that a sample may have ahead of its episode's first one, and behind its last
	IsPad               bool  // whether a field NAME_is_pad says which rows these are
	MaxBytes            int64 // of HDF5's texts, room of one; 0: 1 KiB
	MaxLength           int   // of its lists of any length, room of one
	Padded              bool  // as of a Column

	written []string // names as the document has them, for the hash
}

// Episodes says where those lie that each array has, one behind the other.
type Episodes struct {
	Numbers         // the row behind each one's last
	Lengths bool    // they are how many rows each has instead
	Dataset string  // of HDF5 files
	Only    Numbers // those that samples are of; none: all
}

// Numbers are whole numbers, or the file of an array that has them; neither: none.
type Numbers struct {
	Given []int64
	File  string // resolved

	written string
}

// IsPadOf is the field that says which rows of an array's samples are repeated.
func IsPadOf(name string) string { return name + "_is_pad" }

// arrays reads whole arrays, and makes columns of them.
func (d *decoder) arrays(s *section, src *Source, dir string) {
	if s.has("columns") {
		s.fail("columns", "given beside arrays, which are the columns; leave one of them out")
		return
	}
	src.Arrays, src.Columns = nil, nil
	for i, n := range s.items("arrays", "a list of arrays, each a mapping with name and file, such as [{name: x, file: x.npy}]", maxColumns) {
		entry := fmt.Sprintf("arrays[%d]", i)
		sec := d.section(n, "source.arrays[]", join(s.shown, entry), join(s.place, entry))
		if d.err != nil {
			return
		}
		a := d.arrayFiles(&sec, dir)
		src.Arrays = append(src.Arrays, a)
		d.pos[join(s.place, fmt.Sprintf("columns[%d]", i))] = placeOf(n, join(s.shown, entry))
	}
	columns := len(src.Arrays)
	for i, a := range src.Arrays { // behind all arrays, as core/source has them
		if a.IsPad {
			d.pos[join(s.place, fmt.Sprintf("columns[%d]", columns))] = d.pos[join(s.place, fmt.Sprintf("arrays[%d].is_pad", i))]
			columns++
		}
	}
	if columns > maxColumns {
		s.fail("arrays", "got %d arrays and fields that say which rows are repeated (is_pad), want at most %d", columns, maxColumns)
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
		name, err := Located(text)
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
	s.size("max_bytes", &a.MaxBytes)
	if s.has("max_bytes") && (a.MaxBytes < 1 || a.MaxBytes > 1<<30) {
		s.fail("max_bytes", "got %d, want 1 to 1GiB", a.MaxBytes)
	}
	whole(s, "max_length", &a.MaxLength, 1, math.MaxInt32)
	if s.flag("padded", &a.Padded); a.Padded && a.MaxLength == 0 {
		s.fail("padded", "given without max_length: it is lists of any length that are padded")
	}
	if s.has("within") && a.Within < a.Window {
		s.fail("within", "got %d, want at least window, %d: it is how many rows there must be, of which a sample has the first", a.Within, a.Window)
	}
	a.padding(s)
	if _, err := append(tensor.Shape{max(a.Window, 1)}, a.Shape...).Bytes(max(a.DType, tensor.U8)); err != nil {
		s.fail("shape", "got samples of %d rows of %v, want less than 2^63 bytes", max(a.Window, 1), a.Shape)
	}
	return a
}

// padding reads how far samples reach beyond their episode.
func (a *ArrayFiles) padding(s *section) {
	whole(s, "pad_before", &a.PadBefore, 0, maxRows)
	whole(s, "pad_after", &a.PadAfter, 0, maxRows)
	s.flag("is_pad", &a.IsPad)
	span := max(a.Window, a.Within, 1)
	within := func(key string, n int64) {
		if n >= span {
			s.fail(key, "got %d, want less than the %d rows of window or within: one of them at least is in the episode", n, span)
		}
	}
	within("pad_before", a.PadBefore)
	within("pad_after", a.PadAfter)
	if a.IsPad && a.PadBefore+a.PadAfter == 0 {
		s.fail("is_pad", "given without pad_before or pad_after, so that no row is repeated; leave it out, or say how far windows reach beyond their episode")
	}
}

// episodes reads where the episodes of arrays lie.
func (d *decoder) episodes(s *section, src *Source, dir string) {
	sec := d.below(s, "episodes")
	e := &Episodes{}
	ends, lengths := sec.has("ends"), sec.has("lengths")
	switch {
	case ends && lengths:
		sec.fail("lengths", "given beside ends; want one of them")
	case !ends && !lengths:
		s.fail("episodes", "ends is missing, want where episodes end, such as ends: replay_buffer.zarr/meta/episode_ends, or lengths, each a path or a list of whole numbers")
	case lengths:
		e.Lengths = true
		e.Numbers = sec.numbers("lengths", dir)
	default:
		e.Numbers = sec.numbers("ends", dir)
	}
	if sec.text("dataset", &e.Dataset); e.Dataset != "" && e.File == "" {
		sec.fail("dataset", "given beside a list of numbers; it goes with an HDF5 file that has them")
	}
	if sec.has("only") {
		e.Only = sec.numbers("only", dir)
	}
	src.Episodes = e
}

// maxEpisodes is how many may be written out in a description.
const maxEpisodes = 1 << 16

// numbers reads a path, or a list of whole numbers.
func (s *section) numbers(key, dir string) (all Numbers) {
	if target(s.values[key]).Kind != yaml.SequenceNode {
		text := ""
		s.text(key, &text)
		name, err := Located(text)
		if err == nil && isURL(name) {
			err = errors.New("got a URL, want a local file; copy it to a disk")
		}
		if err != nil {
			s.fail(key, "%v", err)
		}
		all.written, all.File = resolve(name, dir)
		return all
	}
	for i, n := range s.items(key, "a path, or a list of whole numbers", maxEpisodes) {
		v, _ := s.d.whole(n, fmt.Sprintf("%s[%d]", join(s.shown, key), i), 0, math.MaxInt64)
		all.Given = append(all.Given, v)
	}
	if len(all.Given) == 0 {
		s.fail(key, "got none, want one at least")
	}
	return all
}

// canonicalEpisodes is where a source's episodes lie in the canonical form.
type canonicalEpisodes struct {
	Numbers canonicalNumbers `json:"numbers"`
	Lengths bool             `json:"lengths,omitempty"`
	Dataset string           `json:"dataset,omitempty"`
	Only    canonicalNumbers `json:"only"`
}

type canonicalNumbers struct {
	Given []int64 `json:"given,omitempty"`
	File  string  `json:"file,omitempty"`
}

func (e *Episodes) canonical() *canonicalEpisodes {
	if e == nil {
		return nil
	}
	return &canonicalEpisodes{e.Numbers.canonical(), e.Lengths, e.Dataset, e.Only.canonical()}
}

func (n *Numbers) canonical() canonicalNumbers {
	return canonicalNumbers{n.Given, cmp.Or(n.written, n.File)}
}

// elements reads what a file without a header does not say.
func (a *ArrayFiles) elements(s *section) {
	name := ""
	choice(s, "dtype", &name, "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64")
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

// arrayColumns are columns of all arrays, in their order, and behind them those that say which rows are repeated. What is in one its file says.
func (s *Source) arrayColumns() (all []Column) {
	for _, a := range s.Arrays {
		all = append(all, Column{Name: a.Name, From: a.Name + ".npy", Type: TypeNPY, MaxBytes: cmp.Or(a.MaxBytes, 1<<10), MaxLength: a.MaxLength, Padded: a.Padded})
	}
	for _, a := range s.Arrays {
		if a.IsPad {
			name := IsPadOf(a.Name)
			all = append(all, Column{Name: name, From: name + ".npy", Type: TypeNPY, MaxBytes: 1 << 10})
		}
	}
	return all
}

// arrayOf is the array that a medium is made of, and which row of its windows; "": the only one.
func (m *Medium) arrayOf() (name, row string) {
	name = m.Name
	if from := m.From(); len(from) > 0 {
		name = from[0]
	}
	if at := strings.IndexByte(name, '['); at > 0 && strings.HasSuffix(name, "]") {
		return name[:at], name[at+1 : len(name)-1]
	}
	return name, ""
}

// checkArrayMedia holds what media are made of against the arrays that there are, and returns the names of those arrays, which are no columns.
func (d *decoder) checkArrayMedia(s *Spec) (names []string) {
	arrays := s.Source.Arrays
	media := s.parted()
	for i := range media {
		m := &media[i]
		name, row := m.arrayOf()
		k := slices.IndexFunc(arrays, func(a ArrayFiles) bool { return a.Name == name })
		key, window := m.Path()+".from", int64(1)
		if k >= 0 {
			window = max(arrays[k].Window, 1)
		}
		switch number, err := strconv.ParseInt(row, 10, 64); {
		case len(m.From()) > 1:
			d.failAt(key, "got %d, want one: the name of an array", len(m.From()))
		case k < 0 && m.From() == nil:
			d.failAt(m.Path(), "from is missing, want the name of the array whose rows are encoded media, such as from: %s; pixels as they are need no such section", arrays[0].Name)
		case k < 0:
			d.failAt(key, "got %q, want the name of one of the arrays", m.From()[0])
		case row == "" && window > 1:
			d.failAt(key, "got %q, whose windows have %d rows; want one of them, %s[0] to %s[%d]", name, window, name, name, window-1)
		case row != "" && (err != nil || number < 0 || number >= window):
			d.failAt(key, "got row %.20q of %q, want a whole number from 0 to %d", row, name, window-1)
		case name == s.Source.Label:
			d.failAt("source.label", "got %q, of which %s is made; want an array of whole numbers", name, m.Path())
		}
		names = append(names, name)
	}
	return names
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
	Before  int64        `json:"pad_before,omitempty"`
	After   int64        `json:"pad_after,omitempty"`
	IsPad   bool         `json:"is_pad,omitempty"`
}

func (a *ArrayFiles) canonical() canonicalArray {
	c := canonicalArray{Name: a.Name, Files: a.written, Dataset: a.Dataset, Shape: a.Shape, Window: a.Window, Step: a.Step, Within: a.Within, Before: a.PadBefore, After: a.PadAfter, IsPad: a.IsPad}
	if c.Files == nil {
		c.Files = a.Files
	}
	if a.DType != 0 {
		c.DType = a.DType.String()
	}
	return c
}
