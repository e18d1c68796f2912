package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/spdl/spdl/core/source/store"
)

// ImageExtensions are the file name endings that a folder of images is searched for when a config names none.
var ImageExtensions = []string{
	"apng", "avif", "bmp", "dds", "exr", "gif", "heic", "heif", "hif", "j2k", "jfif", "jp2", "jpe", "jpeg", "jpg", "pam", "pbm", "pcx", "pgm",
	"png", "pnm", "ppm", "psd", "qoi", "sgi", "tif", "tiff", "webp",
}

const (
	chunkBytes  = 1 << 20
	maxFileName = 255 // bytes, as its length is one; so it is with nearly all file systems
)

// FolderConfig says what OpenFolder reads.
type FolderConfig struct {
	Dir          string   // a directory, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hf://datasets/USER/NAME/PATH
	Extensions   []string // endings without the dot, in any case; nil is ImageExtensions, or without media the ending of the first column
	Labels       bool     // label by first-level directory; false: every label is -1
	Media        []Medium // the first is the files themselves, the others are of files beside them. nil: the files alone, empty: see Columns
	Columns      []Column // of files beside each sample's, with its name and the ending From. Without media the sample's file may be one
	MaxFileBytes int64    // largest sample that is read; 0 is DefaultMaxFileBytes
	InPlace      int64    // media of at least so many bytes are not read but stay where they are (Buffer.InPlace); 0: none do
	Store        *store.Client
	Progress     *Progress // of the listing; nil: nobody waits for it
}

// folder is a directory tree. A file costs its name, a length byte and four bytes of offset; what files of one directory
// have in common is kept once for each run of them.
type folder struct {
	root    root
	chunks  [][]byte // file names, each behind its length; none lies across two chunks
	offsets []uint32 // of each file's name: chunk * chunkBytes + place
	runs    []run    // ascending by first
	classes []string
	media   []Medium // beside the files
	columns []Column

	alone []string // without media: the endings of the samples' files, a dot before each, the longest first
}

// run is a range of neighbouring samples in one directory.
type run struct {
	first int64  // index of its first sample
	dir   string // path below the root with a slash at its end, or "" for the root itself
	class int32  // label, or -1
}

// OpenFolder walks a directory tree and takes its files as samples. The walk holds one directory's names at a time.
func OpenFolder(c FolderConfig) (Source, error) {
	f, err := openFolder(c)
	if err != nil {
		return nil, fmt.Errorf("source: folder %q: %w", c.Dir, err)
	}
	return f, nil
}

func openFolder(c FolderConfig) (Source, error) {
	alone := c.Media != nil && len(c.Media) == 0
	extensions := c.Extensions
	switch {
	case alone && len(c.Columns) == 0:
		return nil, errNothing
	case extensions == nil && alone:
		extensions = []string{firstEnding(c.Columns)}
	case extensions == nil:
		extensions = ImageExtensions
	}
	f := folder{columns: partColumns(c.Columns)}
	if len(c.Media) > 1 {
		f.media = c.Media[1:]
	}
	if alone {
		f.alone = dotted(extensions)
	}
	if store.IsURL(c.Dir) {
		return openPrefix(c, f, extensions)
	}
	var err error
	if f.root, err = openRoot(c.Dir, c.MaxFileBytes); err != nil {
		return nil, fmt.Errorf("%w%s", err, noFolder(c.Dir))
	}
	f.root.inPlace = c.InPlace
	w := newWalker(&f, extensions)
	w.progress = c.Progress
	w.lieBeside(besides(c, extensions))
	err = w.directory(f.root.fd, 0)
	switch {
	case err != nil:
	case len(f.offsets) == 0:
		err = fmt.Errorf("%w: found %s; want files ending in %s%s", ErrNoSamples, w.found(), strings.Join(extensions, ", "), w.archives())
	default:
		err = w.misspelt()
	}
	if err != nil {
		return nil, errors.Join(err, f.root.close())
	}
	c.Progress.Work()
	w.f.label(c.Labels)
	c.Progress.Step()
	if err := settleArrays(context.Background(), w.f, w.f.columns); err != nil {
		return nil, errors.Join(err, f.root.close())
	}
	return w.f, nil
}

// noFolder is what helps where a folder cannot be opened: what reads the file that it is, or that it is no pattern.
func noFolder(dir string) string {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		return readBy(dir, "folder")
	}
	if strings.ContainsAny(dir, "*?[{") {
		return "; a folder is no pattern: name the directory, which is read with all that is below it, and in source.extensions the endings of what is meant"
	}
	return ""
}

// firstEnding is that of the first column that every sample must have, or of the first one. Without media its files are the samples.
func firstEnding(columns []Column) string {
	all := partColumns(columns)
	return all[max(slices.IndexFunc(all, func(c Column) bool { return c.Default == nil }), 0)].From
}

// dotted are endings with a dot before each, the longest first.
func dotted(endings []string) (all []string) {
	for _, e := range endings {
		all = append(all, "."+strings.TrimPrefix(e, "."))
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// besides are the endings of the files that other media and columns are read from, a dot before each. Without media the samples' own are those of
// the first column that is among the extensions.
func besides(c FolderConfig, extensions []string) (endings []string) {
	for k := 1; k < len(c.Media); k++ {
		endings = append(endings, "."+c.Media[k].From[0])
	}
	own := c.Media == nil || len(c.Media) > 0
	first := ""
	for _, column := range partColumns(c.Columns) {
		is := func(e string) bool { return strings.EqualFold(strings.TrimPrefix(e, "."), column.From) }
		if !own && slices.ContainsFunc(extensions, is) {
			own, first = true, column.From
		}
		if column.From != first {
			endings = append(endings, "."+column.From)
		}
	}
	return endings
}

// add appends a file in the directory dir (a path with its slash).
func (f *folder) add(dir string, file []byte) error {
	if len(file) > maxFileName {
		return fmt.Errorf("%.200q: got a name of %d bytes, want at most %d", dir+string(file), len(file), maxFileName)
	}
	last := len(f.chunks) - 1
	if last < 0 || len(f.chunks[last])+1+len(file) > chunkBytes {
		if len(f.chunks) == 1<<32/chunkBytes {
			return fmt.Errorf("more than 4 GiB of file names (%d files); split the data set", len(f.offsets))
		}
		f.chunks = append(f.chunks, make([]byte, 0, chunkBytes))
		last++
	}
	if n := len(f.runs); n == 0 || f.runs[n-1].dir != dir {
		f.runs = append(f.runs, run{first: int64(len(f.offsets)), dir: dir})
	}
	f.offsets = append(f.offsets, uint32(last*chunkBytes+len(f.chunks[last])))
	f.chunks[last] = append(append(f.chunks[last], byte(len(file))), file...)
	return nil
}

// label numbers the first-level directories that hold samples, sorted by name.
func (f *folder) label(wanted bool) {
	for i := range f.runs {
		f.runs[i].class = -1
	}
	if !wanted {
		return
	}
	// A tree is walked by path, where "a-b/" comes before "a/"; classes are sorted by name, where it is the other way.
	for _, r := range f.runs {
		class, _, below := strings.Cut(r.dir, "/")
		if n := len(f.classes); below && (n == 0 || f.classes[n-1] != class) {
			f.classes = append(f.classes, class)
		}
	}
	slices.Sort(f.classes)
	for i := range f.runs {
		if class, _, below := strings.Cut(f.runs[i].dir, "/"); below {
			place, _ := slices.BinarySearch(f.classes, class)
			f.runs[i].class = int32(place)
		}
	}
}

// find returns the run of sample i and its file name.
func (f *folder) find(i int64) (*run, []byte) {
	at := f.offsets[i]
	name := f.chunks[at/chunkBytes][at%chunkBytes:]
	next := sort.Search(len(f.runs), func(r int) bool { return f.runs[r].first > i })
	return &f.runs[next-1], name[1 : 1+int(name[0])]
}

func (f *folder) Len() int64        { return int64(len(f.offsets)) }
func (f *folder) Classes() []string { return f.classes }
func (f *folder) Columns() []Column { return f.columns }
func (f *folder) Unlabelled() bool  { return len(f.classes) == 0 }
func (f *folder) Close() error      { return f.root.close() }

func (f *folder) Key(i int64, dst []byte) []byte {
	r, file := f.find(i)
	return append(append(dst, r.dir...), file...)
}

func (f *folder) Label(i int64) int64 {
	r, _ := f.find(i)
	return int64(r.class)
}

func (f *folder) Read(ctx context.Context, i int64, b *Buffer) error {
	r, file := f.find(i)
	n := copy(b.path[:], r.dir)
	n += copy(b.path[n:maxPath-1], file)
	b.drop()
	var err error
	if f.alone == nil {
		err = f.root.read(ctx, b, n)
	}
	for c := 0; c < len(f.columns) && err == nil; c++ {
		err = f.beside(ctx, c, b, i)
	}
	if len(f.media) > 0 && err == nil {
		err = f.others(ctx, i, b)
	}
	if err != nil {
		b.drop()
		return name(err, f, i)
	}
	return nil
}

// beside reads column c from the file that has the sample's name up to its ending, and the column's. Several columns of one file read it once.
func (f *folder) beside(ctx context.Context, c int, b *Buffer, i int64) error {
	column := &f.columns[c]
	first := slices.IndexFunc(f.columns, func(other Column) bool { return other.From == column.From })
	if from := b.side(first); first < c && len(from.parts) > 0 {
		return b.setPart(column, from.Bytes(), true)
	}
	b.names = f.Key(i, b.names[:0])
	path := b.names
	b.names = f.appendColumn(path, path, column.From)
	file := b.names[len(path):]
	return b.setFile(column, func(side *Buffer) error {
		if side.drop(); len(file) >= maxPath {
			return &Error{Cause: Missing}
		}
		return f.root.read(ctx, side, copy(side.path[:], file))
	})
}

// appendColumn is the path of the file that a column is read from, behind dst.
func (f *folder) appendColumn(dst, path []byte, ending string) []byte {
	for _, own := range f.alone {
		at := len(path) - len(own)
		if at <= bytes.LastIndexByte(path, '/')+1 || !strings.EqualFold(string(path[at:]), own) {
			continue
		}
		if strings.EqualFold(own[1:], ending) { // the sample's own file, whatever the case of its ending
			return append(dst, path...)
		}
		return append(append(append(dst, path[:at]...), '.'), ending...)
	}
	return appendBeside(dst, path, ending)
}

// others reads the sample's other parts from the files beside its own.
func (f *folder) others(ctx context.Context, i int64, b *Buffer) error {
	b.names = f.Key(i, b.names[:0])
	path := b.names
	for k := range f.media {
		b.names = appendBeside(path, path, f.media[k].From[0])
		file := b.names[len(path):]
		if bytes.Equal(file, path) {
			b.again(0)
			continue
		}
		if len(file) >= maxPath {
			return f.media[k].wrong(file, &Error{Cause: Missing})
		}
		if err := f.root.readNext(ctx, b, copy(b.path[:], file)); err != nil {
			return f.media[k].wrong(file, err)
		}
	}
	return nil
}

// appendBeside is the path with another ending in place of its last, behind dst.
func appendBeside(dst, path []byte, ending string) []byte {
	stem := path
	if dot := bytes.LastIndexByte(path, '.'); dot > bytes.LastIndexByte(path, '/') {
		stem = path[:dot]
	}
	return append(append(append(dst, stem...), '.'), ending...)
}
