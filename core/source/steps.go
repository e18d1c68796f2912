package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/grid"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"golang.org/x/sys/unix"
)

// ArraysConfig says what OpenArrays reads.
type ArraysConfig struct {
	Arrays       []ArrayFiles // at least one; all have equally many samples
	Media        []Medium     // From is the name of an array, which is no column then, or NAME[K] of row K of its windows; nil: there are none
	Label        string       // name of an array of whole numbers, one a sample, that are labels, too; "": none has a label
	Episodes     *Episodes    // of which each array has all, one behind the other; nil: each file, or dataset, is one
	MaxFileBytes int64        // of one medium; 0: DefaultMaxFileBytes
	Progress     *Progress
}

// ArrayFiles is an array whose first axis counts samples, or steps of which a sample is a few: in one file, or in several that are
// each an array of their own and lie one behind the other.
type ArrayFiles struct {
	Name  string   // of the column
	Files []string // paths, with braces and globs; of Zarr those of directories, and of arrays in zip archives, behind the archives' own

	// Of files that are elements alone, little-endian; zero: .npy, HDF5 and Zarr, which say it themselves.
	DType tensor.DType
	Shape tensor.Shape // of a step; empty: a number

	Dataset []string // of HDF5 files: paths in each of them, with braces and globs, which are arrays one behind the other; nil: other files

	Window int64 // steps of a sample; 0: one, and the sample has no axis of steps
	Step   int64 // from the first step of a sample to that of the next; 0: Window, or 1
	Within int64 // steps that must be there from a sample's first on; 0: Window

	// So many of these may lie before an episode's first step, and behind its last, which are repeated there.
	PadBefore, PadAfter int64

	IsPad bool // a column NAME_is_pad says of each step of a sample whether it is repeated
	// Of HDF5's texts and lists of any length, which are columns of texts and ragged ones.
	MaxBytes  int  // longest text; 0: DefaultColumnBytes
	MaxLength int  // longest list
	Padded    bool // see Column
}

// IsPadOf is the name of the column that tells which steps of an array's samples are repeated.
func IsPadOf(name string) string { return name + "_is_pad" }

// arrays is a source whose samples are stretches of whole arrays. Files are open as long as it is.
type arrays struct {
	columns  []Column
	all      []stepped
	media    []arrayMedium
	maxBytes int64 // of a medium
	n        int64
	labels   []int64               // nil: there are none
	files    map[string]*arrayFile // that are open, by their names
	cache    *grid.Cache

	masks    []int     // the arrays whose steps a column says whether they are repeated; those columns stand behind all arrays
	episodes *episodes // nil: each file, or dataset, is one
}

// chunkCacheBytes is how much of unpacked chunks a source holds. A variable for tests.
var chunkCacheBytes int64 = 256 << 20

// stepped is one of the arrays.
type stepped struct {
	name     string
	kind     stepKind
	files    []stepFile
	step     int64 // rows from one sample to the next
	window   int64 // rows of a sample
	span     int64 // rows that must be there for it, or be repeated:
	before   int64 // so many of them ahead of an episode
	after    int64 // and behind it
	rowBytes int64 // from here on of numbers
	bytes    int64 // of a sample
	elements array.Array
	column   Column    // but of media
	episodes *episodes // those of the source
}

// stepFile is one file of an array, or one dataset of a file.
type stepFile struct {
	*arrayFile
	dataset string      // "": the file is the array
	chunks  *grid.Array // nil: the elements lie one behind the other
	cache   *grid.Cache // nil: no chunk is of two samples
	at      int64       // where the elements begin, if they lie one behind the other
	rows    int64
	first   int64 // its first sample

	rowBytes int64
	text     *grid.TextType // nil: its rows are none
	lists    *grid.Lists    // nil: its rows are no references
}

// OpenArrays opens arrays that lie whole in local files, such as a tokens.bin, or an x.npy and a y.npy. Nothing of them is held in memory but labels, 8
// bytes a sample; a sample is one read of each array, and of its texts and lists in HDF5 one or two more.
func OpenArrays(c ArraysConfig) (Source, error) {
	s := newArrays()
	s.maxBytes = cmp.Or(c.MaxFileBytes, DefaultMaxFileBytes)
	if err := s.addMedia(&c); err != nil {
		return nil, err
	}
	if c.Episodes != nil {
		var err error
		if s.episodes, err = openEpisodes(c.Episodes, c.Progress); err != nil {
			return nil, fmt.Errorf("source: episodes: %w", err)
		}
	}
	for i := range c.Arrays {
		if err := s.open(&c.Arrays[i], c.Progress); err != nil {
			return nil, errors.Join(fmt.Errorf("source: array %q: %w", c.Arrays[i].Name, err), s.Close())
		}
	}
	if len(s.all) == 0 {
		return nil, errNothing
	}
	if err := s.settleMedia(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.addMasks(c.Arrays)
	if c.Label != "" {
		if err := s.readLabels(c.Label, c.Progress); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.opened()
	return s, nil
}

func newArrays() *arrays {
	return &arrays{files: map[string]*arrayFile{}, cache: grid.NewCache(chunkCacheBytes)}
}

func (s *arrays) open(c *ArrayFiles, p *Progress) error {
	names, err := arrayNames(c.Files)
	if err != nil {
		return err
	}
	s.all = append(s.all, stepped{name: c.Name, episodes: s.episodes})
	a := &s.all[len(s.all)-1]
	if slices.ContainsFunc(s.media, func(m arrayMedium) bool { return m.array == c.Name }) {
		a.kind = mediaSteps
	}
	var n int64
	for _, name := range names {
		f, err := s.file(name)
		if err == nil {
			n, err = s.addAll(a, c, f, n, p)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	switch {
	case n == 0 && s.episodes != nil:
		return fmt.Errorf("%w: want %d rows or more in one episode; of %d none has them", ErrNoSamples, a.least(), len(s.episodes.all))
	case n == 0:
		return fmt.Errorf("%w: want %d rows or more in one file; of %d files, such as %q, none has them", ErrNoSamples, a.least(), len(names), names[0])
	case len(s.all) > 1 && n != s.n:
		return fmt.Errorf("got %d samples, want %d, as array %q has", n, s.n, s.all[0].name)
	}
	if err := a.alike(&s.all[0]); err != nil {
		return err
	}
	s.n = n
	if a.kind != mediaSteps {
		s.columns = append(s.columns, a.column)
	}
	return nil
}

// arrayNames writes patterns out.
func arrayNames(patterns []string) ([]string, error) {
	if at := slices.IndexFunc(patterns, store.IsURL); at >= 0 {
		return nil, fmt.Errorf("%q: want a local file: whole arrays are read in place; copy it, or put its samples into shards", store.Shown(patterns[at]))
	}
	return filesNamed(context.Background(), "file", patterns, nil, nil)
}

// add takes the array of a file, whose first sample is number first, and returns how many it has.
func (a *stepped) add(c *ArrayFiles, f *arrayFile, first int64) (samples int64, err error) {
	a.files = append(a.files, stepFile{arrayFile: f, first: first})
	last := &a.files[len(a.files)-1]
	whole := array.Array{DType: c.DType}
	if c.DType == 0 {
		whole, last.at, err = headOf(f.file)
	} else if err = headless(f.file); err == nil {
		whole.Shape, err = stepsIn(f.stat.Size, c)
	}
	if err != nil {
		return 0, err
	}
	if err := a.settle(c, &whole, last, nil); err != nil {
		return 0, err
	}
	return a.take(c, &whole, last)
}

// headOf is what an .npy file says of its array, and where its elements begin.
func headOf(f *os.File) (whole array.Array, at int64, err error) {
	for size := 4 << 10; ; size = array.MaxHeaderBytes {
		head := make([]byte, size)
		n, read := f.ReadAt(head, 0)
		whole, at, err = array.ParseHeader(head[:n])
		if err == nil || read != nil || size == array.MaxHeaderBytes {
			break
		}
	}
	switch {
	case err != nil && strings.EqualFold(filepath.Ext(f.Name()), ".npz"):
		return whole, 0, fmt.Errorf("%w; an .npz has several arrays: numpy.save each, or, where they have a row a sample, say list: %s", err, f.Name())
	case err != nil && !strings.HasSuffix(f.Name(), ".npy"):
		return whole, 0, fmt.Errorf("%w; of elements without a header say dtype", err)
	case err != nil:
		return whole, 0, err
	case len(whole.Shape) == 0:
		return whole, 0, errors.New("got a scalar, want an array whose first axis counts samples")
	case whole.Fortran && !lineLike(whole.Shape):
		return whole, 0, fmt.Errorf("got %v in Fortran's order, whose samples lie all over the file; want C's, as numpy.save(path, numpy.ascontiguousarray(array)) writes it", whole.Shape)
	}
	return whole, at, nil
}

// headless refuses an .npy file in place of elements alone, whose header would be taken for some.
func headless(f *os.File) error {
	head := make([]byte, 4<<10)
	n, _ := f.ReadAt(head, 0) // what cannot be read is told of when a sample is
	if whole, _, err := array.ParseHeader(head[:n]); err == nil {
		return fmt.Errorf("got an .npy file, of %v of %v, beside a dtype, which says that files are elements without a header; leave dtype out, and shape", whole.Shape, whole.DType)
	}
	return nil
}

// lineLike says that both orders of the indexes are the same.
func lineLike(s tensor.Shape) bool {
	long := 0
	for _, d := range s {
		if d != 1 {
			long++
		}
	}
	return long < 2
}

// stepsIn is the shape of a file of elements alone.
func stepsIn(size int64, c *ArrayFiles) (tensor.Shape, error) {
	step, err := c.Shape.Bytes(c.DType)
	if err != nil {
		return nil, err
	}
	if step == 0 || size%step != 0 {
		return nil, fmt.Errorf("got %d bytes, want a multiple of the %d of a step, %v of %v", size, step, c.Shape, c.DType)
	}
	return append(tensor.Shape{size / step}, c.Shape...), nil
}

// take makes samples of a file's array.
func (a *stepped) take(c *ArrayFiles, whole *array.Array, f *stepFile) (samples int64, err error) {
	a.window, a.step, a.before, a.after = max(c.Window, 1), c.Step, c.PadBefore, c.PadAfter
	a.span = max(a.window, c.Within)
	if a.step == 0 {
		a.step = a.window
	}
	f.rows = whole.Shape[0]
	row := append(tensor.Shape{}, whole.Shape[1:]...)
	if f.rowBytes, err = row.Bytes(whole.DType); err != nil {
		return 0, err
	}
	all, err := whole.Shape.Bytes(whole.DType)
	switch {
	case err != nil:
		return 0, err
	case f.rows > math.MaxInt64-c.PadBefore-c.PadAfter:
		return 0, fmt.Errorf("got %d rows, want less than 2^63 with those that are repeated", f.rows)
	case f.rowBytes == 0 && f.rows > 0:
		return 0, fmt.Errorf("got samples of %v, want at least one element", row)
	case f.chunks == nil && f.stat.Size-f.at < all:
		return 0, fmt.Errorf("truncated: got %d bytes of elements, want %d for %v of %v", f.stat.Size-f.at, all, whole.Shape, whole.DType)
	}
	if a.kind == numberSteps {
		if err := a.takeNumbers(c, whole, row, f.rowBytes); err != nil {
			return 0, err
		}
	}
	if a.episodes != nil {
		return a.episodes.take(a, f.rows)
	}
	return a.count(f.rows), nil
}

// takeNumbers makes a column of rows of a shape, which those of other files must have, too.
func (a *stepped) takeNumbers(c *ArrayFiles, whole *array.Array, shape tensor.Shape, rowBytes int64) error {
	if c.Window > 0 {
		shape = append(tensor.Shape{c.Window}, shape...)
	}
	size, err := shape.Bytes(whole.DType)
	switch {
	case err != nil:
		return err
	case len(shape) > maxArrayDims:
		return fmt.Errorf("got samples of %v, want at most %d dimensions", shape, maxArrayDims)
	case len(a.files) > 1 && (whole.DType != a.elements.DType || !slices.Equal(shape, a.elements.Shape) || whole.Swapped != a.elements.Swapped):
		return fmt.Errorf("got samples of %v of %v, want %v of %v, as %q has, in the same order of bytes", shape, whole.DType, a.elements.Shape, a.elements.DType, a.files[0].shown())
	}
	a.elements = array.Array{DType: whole.DType, Shape: shape, Swapped: whole.Swapped}
	a.rowBytes, a.bytes = rowBytes, size
	a.column.DType, a.column.Shape = whole.DType, shape
	return nil
}

// fileOf is the file that has sample i.
func (a *stepped) fileOf(i int64) *stepFile {
	if len(a.files) == 1 {
		return &a.files[0]
	}
	k, found := slices.BinarySearchFunc(a.files, i, func(f stepFile, i int64) int {
		switch {
		case f.first < i:
			return -1
		case f.first > i:
			return 1
		}
		return 0
	})
	if !found {
		k--
	}
	for k+1 < len(a.files) && a.files[k+1].first == i { // files without a sample
		k++
	}
	return &a.files[k]
}

func (s *arrays) Len() int64 { return s.n }

func (s *arrays) Columns() []Column { return s.columns }

// Key is FILE:NUMBER, the first array's file, with its dataset where there are several in it, and the sample's number in that.
func (s *arrays) Key(i int64, dst []byte) []byte {
	f := s.all[0].fileOf(i)
	dst = append(append(append(dst, f.base...), f.dataset...), ':')
	return strconv.AppendInt(dst, i-f.first, 10)
}

func (s *arrays) Label(i int64) int64 {
	if s.labels == nil {
		return -1
	}
	return s.labels[i]
}

// Unlabelled says whether samples have no labels.
func (s *arrays) Unlabelled() bool { return s.labels == nil }

func (s *arrays) Classes() []string { return nil }

func (s *arrays) Close() (err error) {
	for _, f := range s.files {
		if f.member == "" { // an archive's file is the archive's
			if f.mem != nil {
				err = errors.Join(err, unix.Munmap(f.mem))
			}
			err = errors.Join(err, f.file.Close())
		}
	}
	return err
}

// Fingerprint is of the files' base names and sizes, of what samples are made of them, and of the labels.
func (s *arrays) Fingerprint() (Fingerprint, bool) {
	names, labels := &printer{}, classNames(nil)
	for i := range s.all {
		a := &s.all[i]
		for _, n := range []int64{int64(len(a.files)), a.step * a.rowBytes, a.bytes, int64(a.elements.DType)} {
			names.number(n)
		}
		if a.kind != numberSteps {
			names.number(int64(a.kind))
			names.number(a.step)
		}
		if a.span > a.window {
			names.number(a.span)
		}
		if a.before+a.after > 0 {
			names.text("padded")
			names.number(a.before)
			names.number(a.after)
		}
		for k := range a.files {
			f := &a.files[k]
			names.text(f.base)
			names.number(f.stat.Size)
			if f.dataset != "" || f.chunks != nil {
				names.text(f.dataset)
				names.number(f.rows)
			}
		}
	}
	if s.episodes != nil {
		names.text("episodes")
		for _, e := range s.episodes.all {
			names.number(e.from)
			names.number(e.to)
		}
	}
	for _, k := range s.masks {
		names.text(s.all[k].name)
	}
	for _, m := range s.media {
		names.number(int64(m.of))
		names.number(m.row)
	}
	labels.numbers(s.labels)
	return Fingerprint{names.sum(), labels.sum()}, true
}

// Identity is where the sample lies in each of the arrays, and the version of that file: path, size, time of its last change and inode as they
// were when it was opened. It appends nothing where the file is another by now, which Read will say.
func (s *arrays) Identity(i int64, dst []byte) []byte {
	var now unix.Stat_t
	for _, m := range s.media {
		dst = binary.LittleEndian.AppendUint64(append(append(dst, m.array...), 0), uint64(m.row))
	}
	for k := range s.all {
		a := &s.all[k]
		at := a.at(i)
		f := at.stepFile
		if f.unchanged(&now) != nil {
			return nil
		}
		dst = append(appendColumn(dst, &a.column), 0)
		dst = append(append(dst, f.path...), 0)
		if f.dataset != "" {
			dst = append(append(dst, f.dataset...), 0)
		}
		for _, v := range []int64{f.stat.Size, f.stat.Mtim.Nano(), int64(f.stat.Ino), f.at + at.row*f.rowBytes} {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
		if a.before+a.after > 0 {
			dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, uint64(at.begin)), uint64(at.end))
		}
	}
	return dst
}

func (s *arrays) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	if err := ctx.Err(); err != nil {
		return err
	}
	for m := range s.media {
		if err := s.readMedium(m, i, b); err != nil {
			b.drop()
			return s.failed(i, s.media[m].of, err)
		}
	}
	for k := range s.all {
		var err error
		switch a := &s.all[k]; a.kind {
		case numberSteps:
			err = a.readNumbers(i, b)
		case textSteps, listSteps:
			err = a.readValue(i, b)
		}
		if err != nil {
			b.drop()
			return s.failed(i, k, err)
		}
	}
	for _, k := range s.masks {
		s.all[k].mask(i, b)
	}
	return nil
}

// readNumbers appends sample i as the buffer's next value.
func (a *stepped) readNumbers(i int64, b *Buffer) error {
	at, from := a.at(i), len(b.values)
	if mem := at.inMemory(at.row, a.rowBytes); mem != nil && at.end-at.begin == a.window && !a.elements.Swapped {
		b.columns = append(b.columns, value{lies: mem[:a.bytes]})
		return nil
	}
	b.values = slices.Grow(b.values, int(a.bytes))[:from+int(a.bytes)]
	data := b.values[from:]
	head, n := min(at.begin, a.window-1)*a.rowBytes, max(at.end-at.begin, 1)*a.rowBytes
	err := at.fill(data[head:head+n], at.row, a.rowBytes)
	if err := at.unchanged(&b.stat[1]); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	for k := int64(0); k < head; k += a.rowBytes {
		copy(data[k:], data[head:head+a.rowBytes])
	}
	for k := head + n; k < a.bytes; k += a.rowBytes {
		copy(data[k:], data[k-a.rowBytes:k])
	}
	if a.elements.Swapped {
		swapped := a.elements
		swapped.Data = data
		swapped.CopyTo(data)
	}
	b.took(from)
	return nil
}

func (s *arrays) failed(i int64, k int, err error) error {
	e := &Error{Index: i, Key: string(s.Key(i, nil)), In: s.all[k].fileOf(i).shown(), Cause: IO, Err: err}
	var known *Error
	if errors.As(err, &known) {
		e.Cause, e.Detail, e.Err = known.Cause, known.Detail, known.Err
	}
	return e
}

// readLabels reads the whole of one array into memory.
func (s *arrays) readLabels(name string, p *Progress) error {
	k := slices.IndexFunc(s.all, func(a stepped) bool { return a.name == name })
	if k < 0 {
		return fmt.Errorf("source: label %q: there is no such array", name)
	}
	c := &s.all[k].column
	whole := c.DType.Code() == tensor.CodeInt || c.DType.Code() == tensor.CodeUint
	if kind := s.all[k].kind; kind != numberSteps {
		return fmt.Errorf("source: label %q: got %v, want one whole number a sample", name, kind)
	}
	if len(c.Shape) > 0 || !whole {
		return fmt.Errorf("source: label %q: got %v of %v a sample, want one whole number", name, c.Shape, c.DType)
	}
	var err error
	if s.labels, err = s.wholes(k, p); err != nil {
		return fmt.Errorf("source: label %q: %w", name, err)
	}
	return nil
}

const labelBytes = 1 << 20

// wholes are the samples of one array, a whole number each. They are read up to the end of an episode, or as many as lie in so many bytes.
func (s *arrays) wholes(k int, p *Progress) ([]int64, error) {
	a, all, word := &s.all[k], make([]int64, 0, s.n), [8]byte{}
	for int64(len(all)) < s.n {
		i := int64(len(all))
		e := a.episodeOf(i)
		n := min(e.samples-e.number, labelBytes/(a.step*a.rowBytes)+1)
		first, last := a.at(i).row, a.at(i+n-1).row
		data := make([]byte, (last-first+1)*a.rowBytes)
		if err := e.fill(data, first, a.rowBytes); err != nil {
			return nil, fmt.Errorf("%q: %w", e.shown(), err)
		}
		for ; n > 0; n-- {
			at := (a.at(int64(len(all))).row - first) * a.rowBytes
			one := word[:copy(word[:], data[at:at+a.bytes])]
			if a.elements.Swapped {
				slices.Reverse(one)
			}
			v, ok := wholeOf(one, a.elements.DType)
			if !ok {
				return nil, fmt.Errorf("sample %d: got a number of 2^63 or more, which no label has", len(all))
			}
			all = append(all, v)
		}
		p.Step()
	}
	return all, nil
}

// wholeOf is a whole number of any size as it lies in memory; false where an int64 does not hold it.
func wholeOf(b []byte, d tensor.DType) (v int64, ok bool) {
	var u uint64
	for k := len(b) - 1; k >= 0; k-- {
		u = u<<8 | uint64(b[k])
	}
	if d.Code() == tensor.CodeUint {
		return int64(u), u < 1<<63
	}
	unused := 64 - 8*len(b)
	return int64(u<<unused) >> unused, true
}
