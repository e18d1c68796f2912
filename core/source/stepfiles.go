package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/grid"
	"github.com/spdl/spdl/core/spelling"
	"golang.org/x/sys/unix"
)

// arrayFile is a local file that arrays are in, opened once however many of them are read.
type arrayFile struct {
	name string
	base string // in keys and fingerprints
	path string // absolute, for identities
	file *os.File
	stat unix.Stat_t // when it was opened
	mem  []byte      // the file, if it is sealed; nil: it is read
	hdf5 *grid.HDF5  // nil: it is none, or the source is open
	zarr string      // file that says what the directory's array is; "": it is no directory

	zip    *grid.ZarrZip // nil: it is no archive of Zarr, or the source is open
	member string        // array in it, which another arrayFile is, too; "": it is none
}

// file opens one, or finds that it is open.
func (s *arrays) file(name string) (*arrayFile, error) {
	if f := s.files[name]; f != nil {
		return f, nil
	}
	if archive, member := grid.InZip(name); archive != "" {
		return s.zipped(name, archive, member)
	}
	f, err := s.openAs(name, name)
	if err != nil {
		return nil, err
	}
	if f.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return f, f.openZarr()
	}
	if !isRegular(&f.stat) {
		return nil, errors.New(notRegular(&f.stat).(*Error).Detail) // of no sample
	}
	if grid.IsHDF5(f.file, f.stat.Size) {
		f.hdf5, err = grid.OpenHDF5(f.file, f.stat.Size)
	}
	return f, err
}

// openAs opens a file that is known by another name.
func (s *arrays) openAs(known, name string) (*arrayFile, error) {
	file, err := os.OpenFile(name, openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w%s", unwrapPath(err), spelling.NotThere(name))
	}
	if err != nil {
		return nil, unwrapPath(err)
	}
	f := &arrayFile{name: name, base: baseOf(file), path: absoluteDir(name), file: file}
	s.files[known] = f
	if err := unix.Fstat(int(file.Fd()), &f.stat); err != nil {
		return f, err
	}
	return f, f.mapSealed()
}

// mapSealed maps a file that nobody can write or shorten any more, such as one that a program hands over from its memory, so that it needs no look
// at whether it is what it was, and no copy. Another file is read: a mapped one that is cut short ends who looks at it.
func (f *arrayFile) mapSealed() (err error) {
	const fixed = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK
	seals, none := unix.FcntlInt(f.file.Fd(), unix.F_GET_SEALS, 0)
	if none == nil && seals&fixed == fixed && f.stat.Size > 0 {
		f.mem, err = unix.Mmap(int(f.file.Fd()), 0, int(f.stat.Size), unix.PROT_READ, unix.MAP_SHARED)
	}
	return err
}

// baseOf is a file's name without where it lies. One that a program hands over open and without a name (memfd_create) is called what the program calls it.
func baseOf(file *os.File) string {
	if handed, _ := filepath.Match("/proc/*/fd/*", file.Name()); handed {
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd())); err == nil {
			name = strings.TrimSuffix(filepath.Base(name), " (deleted)")
			return strings.TrimPrefix(name, "memfd:")
		}
	}
	return filepath.Base(file.Name())
}

// zipped is an array in an archive, which is opened once however many of its arrays are read. The archive's version is theirs.
func (s *arrays) zipped(name, archive, member string) (*arrayFile, error) {
	known := archive + "/" // which no array is named
	z := s.files[known]
	if z == nil {
		var err error
		if z, err = s.openAs(known, archive); err == nil {
			z.zip, err = grid.OpenZarrZip(z.file, z.stat.Size)
		}
		if err != nil {
			return nil, err
		}
	}
	f := *z
	f.name, f.base, f.path, f.member = name, filepath.Base(name), absoluteDir(name), member
	s.files[name] = &f
	return &f, nil
}

// openZarr finds what a directory says of its array, whose version is that of the file that says it.
func (f *arrayFile) openZarr() (err error) {
	if f.zarr, err = grid.ZarrFile(f.name); err != nil {
		return fmt.Errorf("got a directory, want a regular file, or an array of Zarr: %w", err)
	}
	return unix.Stat(f.zarr, &f.stat)
}

// addZarr takes the array of a directory, or in an archive.
func (s *arrays) addZarr(a *stepped, c *ArrayFiles, f *arrayFile, first int64) (samples int64, err error) {
	if c.DType != 0 {
		return 0, errors.New("got an array of Zarr, which says its type itself; leave dtype out")
	}
	var data *grid.Array
	if f.zip != nil {
		data, err = f.zip.Array(f.member)
	} else {
		data, err = grid.OpenZarr(f.zarr)
	}
	if err != nil {
		return 0, err
	}
	return s.addChunks(a, c, f, data, "", first)
}

// unchanged says that a file is as it was when it was opened. Of Zarr it is the description that tells.
func (f *arrayFile) unchanged(now *unix.Stat_t) error {
	if f.mem != nil {
		return nil
	}
	if f.zarr == "" {
		return unchanged(int(f.file.Fd()), &f.stat, now)
	}
	if err := unix.Stat(f.zarr, now); err != nil {
		return readError(err)
	}
	if now.Size != f.stat.Size || now.Mtim != f.stat.Mtim || now.Ino != f.stat.Ino {
		return &Error{Cause: Changed, Detail: fmt.Sprintf("%q was written again since it was opened", f.zarr)}
	}
	return nil
}

// opened drops what only opening needs.
func (s *arrays) opened() {
	for _, f := range s.files {
		f.hdf5, f.zip = nil, nil
	}
}

// addAll takes what an array has in a file, and returns how many samples there are by then.
func (s *arrays) addAll(a *stepped, c *ArrayFiles, f *arrayFile, n int64, p *Progress) (int64, error) {
	datasets, err := f.datasets(c)
	if err != nil {
		return n, err
	}
	for _, name := range datasets {
		samples := int64(0)
		switch {
		case f.zarr != "" || f.member != "":
			samples, err = s.addZarr(a, c, f, n)
		case name == "":
			samples, err = a.add(c, f, n)
		default:
			samples, err = s.addDataset(a, c, f, name, n)
		}
		if err != nil {
			return n, err
		}
		n += samples
		p.Step()
	}
	return n, nil
}

// datasets are the paths of an array's datasets in a file; one empty path: the file is the array.
func (f *arrayFile) datasets(c *ArrayFiles) ([]string, error) {
	switch {
	case (f.zarr != "" || f.member != "") && c.Dataset != nil:
		return nil, errors.New("got an array of Zarr, which file names itself; leave dataset out")
	case f.hdf5 == nil && c.Dataset == nil:
		return []string{""}, nil
	case f.hdf5 == nil:
		return nil, errors.New("got no HDF5 file by its first bytes, which dataset goes with; leave dataset out")
	case c.Dataset == nil:
		names := append(f.hdf5.Names(1), "/data")
		return nil, fmt.Errorf("got an HDF5 file; say which of its arrays with dataset, such as dataset: %q, a pattern of several, or a list", names[0])
	}
	var names []string
	for _, p := range c.Dataset {
		expanded := []string{p}
		if strings.ContainsAny(p, "{}") && !f.hdf5.Has(p) {
			var err error
			if expanded, err = Braces(p); err != nil {
				return nil, err
			}
		}
		for _, name := range expanded {
			found, err := f.hdf5.Match(name)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%w: dataset %q: none is named so", ErrNoSamples, name)
			}
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
	}
	return names, onceEach("dataset", names)
}

// addDataset takes a dataset of an HDF5 file.
func (s *arrays) addDataset(a *stepped, c *ArrayFiles, f *arrayFile, name string, first int64) (samples int64, err error) {
	data, err := f.hdf5.Dataset(name)
	if err != nil {
		return 0, fmt.Errorf("dataset %q: %w", name, err)
	}
	if samples, err = s.addChunks(a, c, f, data, name, first); err != nil {
		err = fmt.Errorf("dataset %q: %w", name, err)
	}
	return samples, err
}

// addChunks takes an array that may lie in chunks.
func (s *arrays) addChunks(a *stepped, c *ArrayFiles, f *arrayFile, data *grid.Array, name string, first int64) (samples int64, err error) {
	a.files = append(a.files, stepFile{arrayFile: f, dataset: name, at: data.At, first: first})
	last := &a.files[len(a.files)-1]
	if data.At < 0 {
		last.at, last.chunks = 0, data
	}
	whole := array.Array{DType: data.DType, Shape: data.Shape, Swapped: data.Swapped}
	if err := a.settle(c, &whole, last, data); err != nil {
		return 0, err
	}
	if samples, err = a.take(c, &whole, last); err != nil {
		return 0, err
	}
	if last.chunks != nil && (a.step < a.window || a.step%data.ChunkRows() != 0 || a.before > 0 || a.episodes != nil) {
		last.cache = s.cache
	}
	return samples, nil
}

// Shards are the chunks of those of the arrays whose chunks are the largest, or its datasets where they have none of several samples; nil
// where no chunk is unpacked for several.
func (s *arrays) Shards() (starts []int64) {
	largest, most := (*stepped)(nil), int64(0)
	for i := range s.all {
		for k := range s.all[i].files {
			if f := &s.all[i].files[k]; f.cache != nil && f.chunks.ChunkBytes() > most {
				largest, most = &s.all[i], f.chunks.ChunkBytes()
			}
		}
	}
	for i := 0; largest != nil && i < len(largest.files); i++ {
		end := s.n
		if i+1 < len(largest.files) {
			end = largest.files[i+1].first
		}
		starts = largest.appendShards(starts, &largest.files[i], end)
	}
	return starts
}

// appendShards appends the first samples of a file's chunks, whose samples end at one.
func (a *stepped) appendShards(starts []int64, f *stepFile, end int64) []int64 {
	rows := f.rows
	if f.cache != nil {
		rows = max(f.chunks.ChunkRows(), a.step)
	}
	for k := int64(0); k*rows < f.rows; k++ {
		first := a.starting(f, k*rows)
		if first >= end {
			break
		}
		if len(starts) == 0 || first > starts[len(starts)-1] { // no chunk is without a sample
			starts = append(starts, first)
		}
	}
	return starts
}

// shown is the file's name, with that of the dataset.
func (f *stepFile) shown() string { return f.name + f.dataset }

// fill reads as many rows as data has room for, from one on.
func (f *stepFile) fill(data []byte, row, rowBytes int64) error {
	if f.chunks != nil {
		return chunkError(f.chunks.ReadRows(data, row, f.cache))
	}
	if mem := f.inMemory(row, rowBytes); mem != nil {
		copy(data, mem)
		return nil
	}
	if n, err := f.file.ReadAt(data, f.at+row*rowBytes); n < len(data) {
		return readError(unwrapPath(err))
	}
	return nil
}

// inMemory are a file's elements from a row on; nil: they have to be read.
func (f *stepFile) inMemory(row, rowBytes int64) []byte {
	if f.mem == nil || f.chunks != nil {
		return nil
	}
	return f.mem[f.at+row*rowBytes:]
}

// chunkError is why a chunk could not be read or unpacked.
func chunkError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, grid.ErrChecksum):
		return &Error{Cause: Checksum, Err: err}
	case errors.Is(err, grid.ErrDamaged):
		return &Error{Cause: Value, Err: err}
	}
	return readError(unwrapPath(err))
}

// Dataset is an array of an HDF5 file, as it is shown to who has named none.
type Dataset struct {
	Path string
	What string // what its rows are, such as "480x640x3 of u8", or why it is not read
	Kind DatasetKind
}

// DatasetKind is what may be made of a dataset.
type DatasetKind int

const (
	UnreadDataset DatasetKind = iota
	NumberDataset
	TextDataset
	ListDataset  // lists of numbers
	BytesDataset // lists of bytes, or bytes of one length, such as encoded pictures are kept in
)

// DatasetsOf are arrays of an HDF5 file, up to so many; none where it is no such file.
func DatasetsOf(name string, most int) (all []Dataset) {
	s := &arrays{files: map[string]*arrayFile{}}
	f, err := s.file(name)
	if err == nil && f.hdf5 != nil {
		for _, path := range f.hdf5.Names(most) {
			d := Dataset{Path: path}
			data, err := f.hdf5.Dataset(path)
			if d.What, d.Kind = datasetKind(data); err != nil {
				d.What = err.Error()
			}
			all = append(all, d)
		}
	}
	_ = s.Close() // it was only read
	return all
}

func datasetKind(data *grid.Array) (what string, kind DatasetKind) {
	switch {
	case data == nil:
		return "", UnreadDataset
	case data.Text != nil && data.Text.Opaque:
		return "opaque bytes", BytesDataset
	case data.Text != nil || data.Lists != nil && data.Lists.Text:
		return "texts", TextDataset
	case data.Lists == nil && len(data.Shape) == 1:
		return data.DType.String(), NumberDataset
	case data.Lists == nil:
		return fmt.Sprintf("%v of %v", data.Shape[1:], data.DType), NumberDataset
	case len(data.Lists.Shape) == 0 && data.Lists.DType.Bytes() == 1:
		return "lists of bytes", BytesDataset
	}
	return fmt.Sprintf("lists of %v", data.Lists.DType), ListDataset
}

// ZarrIn is a directory or zip archive itself where it is an array of Zarr's, and an array in it where it is a group; "" where it is neither.
func ZarrIn(path string) string { return grid.ZarrIn(path) }

// InChunks says that some of an array's files have chunks, or may have them, which have to be unpacked: those of HDF5 and of Zarr.
func InChunks(c *ArrayFiles) bool {
	names, err := arrayNames(c.Files)
	return c.Dataset != nil || err == nil && slices.ContainsFunc(names, func(name string) bool {
		if archive, _ := grid.InZip(name); archive != "" {
			return true
		}
		st, err := os.Stat(name)
		return err == nil && st.IsDir()
	})
}
