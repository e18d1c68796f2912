package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

const valuesAtOnce = 256

// parquetFile is an open file, local or remote. The library reads its columns and decodes its pages, and is handed both: see pages.
type parquetFile struct {
	*parquet.File
	meta     *format.FileMetaData
	columns  []*parquet.Column      // those with values, as row groups have them
	elements []format.SchemaElement // what the schema says of each
	nestings []nesting              // and where each lies
	places   map[string]int         // among them, of those that hold one value a row
	at       stepping
	size     int64
	texts    *atomic.Int64 // bytes that its texts may still take
	name     string
	file     *os.File    // nil: remote
	kept     *keptReader // nil: local
	tables   *pageTables
	version  version
	identity string // its path or URL, wherever the process stands
}

// openParquet reads a file's footer; pages are read when they are asked for. What it reads of a store is kept in the config's IndexDir; "": nowhere.
func openParquet(ctx context.Context, name string, c *ShardsConfig) (f *parquetFile, err error) {
	defer func() { // the library panics on some damaged files; a file of the user's must not end the process
		if r := recover(); r != nil {
			f, err = nil, errors.Join(fmt.Errorf("parquet: damaged: %v", r), f.close())
		}
	}()
	f = &parquetFile{name: name, texts: new(atomic.Int64), tables: new(pageTables)}
	var r io.ReaderAt
	var size int64
	if store.IsURL(name) {
		o, err := c.stat(ctx, name)
		if err != nil {
			return nil, err
		}
		f.kept = newKeptReader(objectReader{ctx, c.Store, o}, keptAt(c.IndexDir, name, keptEnding))
		r, size = f.kept, o.Size
		f.version, f.identity = versionOfObject(o), name
		f.tables.path = keptAt(c.IndexDir, name, tablesEnding)
	} else {
		if f.file, err = os.OpenFile(name, openFlags, 0); err != nil {
			return nil, unwrapPath(err)
		}
		var st unix.Stat_t
		if err = unix.Fstat(int(f.file.Fd()), &st); err == nil && !isRegular(&st) {
			err = errors.New(notRegular(&st).(*Error).Detail)
		}
		if err != nil {
			return nil, errors.Join(err, f.file.Close())
		}
		r, size, f.version, f.identity = f.file, st.Size, versionOf(&st), absoluteDir(name)
	}
	f.at, f.size = stepping{r, c.Progress}, size
	f.texts.Store(room(size))
	if f.meta, err = readFooter(f.at, size); err == nil {
		f.File, err = schemaFile(f.meta)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %w", err), f.close())
	}
	f.columns, f.elements, f.nestings = leavesOf(f.Root()), leafElements(f.meta), nestingsOf(f.meta.Schema)
	if len(f.columns) != len(f.elements) {
		return nil, errors.Join(errors.New("parquet: damaged: its columns are no tree"), f.close())
	}
	f.places = placesOf(f.columns)
	return f, nil
}

// passing is the file as it is read past what is kept of it, which is for what is unpacked to a disk anyway.
func (f *parquetFile) passing() *parquetFile {
	if f.kept == nil {
		return f
	}
	past := *f
	past.at.ReaderAt = f.kept.object
	return &past
}

func leavesOf(c *parquet.Column) (leaves []*parquet.Column) {
	if c.Leaf() {
		return []*parquet.Column{c}
	}
	for _, child := range c.Columns() {
		leaves = append(leaves, leavesOf(child)...)
	}
	return leaves
}

// chunk is a column of a row group.
func (f *parquetFile) chunk(group, column int) *chunk {
	g := &f.meta.RowGroups[group]
	return &chunk{file: f, place: chunkPlace{group, column}, column: f.columns[column], meta: &g.Columns[column], rows: g.NumRows}
}

func (f *parquetFile) close() error {
	if f.file == nil {
		return nil
	}
	defer func() { f.file = nil }()
	return f.file.Close()
}

// unchanged tells whether a local file is what it was at open. A remote one is read by its version.
func (f *parquetFile) unchanged() error {
	if f.file == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.file.Fd()), &st); err != nil {
		return readError(err)
	}
	if versionOf(&st) != f.version {
		return changed(f.version.size, st.Size)
	}
	return nil
}

// refusal is why a name that is no column of one value a row is none, where the file has something else of that name; wants is what was asked for.
func (f *parquetFile) refusal(name string) error {
	if at := f.list(name); at >= 0 && numbersOf(&f.elements[at]) != noNumbers {
		return fmt.Errorf("column %q holds a list a row, want one value; a column of numbers takes it with type: list, its dtype, and max_length or shape", name)
	} else if at >= 0 {
		return fmt.Errorf("column %q holds a list of %s a row, want one value; write them as columns, or as one text a row", name, describeKind(&f.elements[at]))
	}
	var below []string
	for _, n := range f.nestings {
		if strings.HasPrefix(n.name, name+".") {
			below = append(below, n.name)
		}
	}
	if len(below) == 0 {
		return nil
	}
	return fmt.Errorf("column %q is a group, want one value a row; name one of the columns in it: %s", name, describeParts(below))
}

// nameOf is a column's name: that of its groups, if it is in some, and its own, with dots between them. A name may have dots itself.
func nameOf(c *parquet.Column) string { return strings.Join(c.Path(), ".") }

// placesOf are those of the columns that hold one value a row, by their names. A column called "image.bytes" hides one called "bytes" in a
// group "image".
func placesOf(columns []*parquet.Column) map[string]int {
	places := map[string]int{}
	for k, c := range columns {
		if at, twice := places[nameOf(c)]; c.MaxRepetitionLevel() == 0 && (!twice || len(c.Path()) < len(columns[at].Path())) {
			places[nameOf(c)] = k
		}
	}
	return places
}

// leaves are the names of the columns that hold one value a row: "label", "image.bytes". Two that are called the same, in the same groups,
// are both there.
func (f *parquetFile) leaves() (names []string) {
	for _, c := range f.columns {
		name := nameOf(c)
		if c.MaxRepetitionLevel() == 0 && len(c.Path()) == len(f.columns[f.places[name]].Path()) {
			names = append(names, name)
		}
	}
	return names
}

// column is the place of a column among the file's, or -1.
func (f *parquetFile) column(name string) int {
	if k, ok := f.places[name]; ok {
		return k
	}
	return -1
}

// each calls take with the text of every row of one column of a row group, nil for null.
func (f *parquetFile) each(group, column int, cell cellOf, take func(text []byte) error) error {
	row, rows := int64(0), f.meta.RowGroups[group].NumRows
	err := f.eachPage(group, column, func(page parquet.Page) (all bool, err error) {
		if row += page.NumValues(); row > rows {
			return false, fmt.Errorf("parquet: got %d values of %d rows", row, rows)
		}
		return row == rows, eachOf(page, cell, take)
	})
	if err == nil && row < rows {
		err = fmt.Errorf("parquet: got %d values of %d rows", row, rows)
	}
	return err
}

// eachPage calls take with every page of a column of a row group, until it says that it has all.
func (f *parquetFile) eachPage(group, column int, take func(parquet.Page) (all bool, err error)) (err error) {
	defer func() { // the library's
		if r := recover(); r != nil {
			err = fmt.Errorf("parquet: damaged: %v", r)
		}
	}()
	chunk := f.chunk(group, column)
	from, _, err := chunk.span()
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	in, err := chunk.pages(from)
	if err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	if f.file == nil { // all of them will be read
		in.stretch = maxSpan
	}
	pages := in.open()
	defer func() { err = errors.Join(err, pages.Close()) }()
	for all := false; !all; {
		page, err := pages.ReadPage()
		if err == io.EOF && in.err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("parquet: %w", in.failed(err))
		}
		if all, err = take(page); err != nil {
			return err
		}
		parquet.Release(page)
	}
	return nil
}

func eachOf(page parquet.Page, cell cellOf, take func(text []byte) error) error {
	var values [valuesAtOnce]parquet.Value
	left := page.NumValues()
	for in := page.Values(); ; {
		n, err := in.ReadValues(values[:])
		for _, v := range values[:n] {
			var text []byte
			var err error
			if !v.IsNull() {
				text, err = cell(v)
			}
			if err == nil {
				err = take(text)
			}
			if err != nil {
				return err
			}
		}
		if left -= int64(n); err == io.EOF && left == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("parquet: %w; %d values are missing", err, left)
		}
	}
}

// parquet reads the list's columns, and no others, row group by row group.
func (r *tableReader) parquet() error {
	f, err := openParquet(context.Background(), r.c.File, &ShardsConfig{Store: r.c.Store, Progress: r.c.Progress})
	if err != nil {
		return err
	}
	defer f.close()
	places, err := r.placesIn(f)
	if err != nil {
		return err
	}
	done := int64(0)
	r.version, r.content = uint64(f.version.size)<<1^f.version.tag, uint64(f.version.size)
	plan := r.planLists(f)
	lists, err := r.readLists(context.Background(), f, plan)
	if err != nil {
		return err
	}
	if r.rows.takeLists(plan, lists); lists.made {
		dir, _ := DefaultIndexDir() // there is one: the lists lie beside it
		r.rows.notes = tidy(dir)
	}
	for group := range f.meta.RowGroups {
		if err := f.group(group, r, places, func(row int64, c *cells) error {
			c.lists = r.lists
			if err := r.add(c); err != nil {
				return fmt.Errorf("row %d: %w", done+row, err)
			}
			return nil
		}); err != nil {
			return err
		}
		done += f.meta.RowGroups[group].NumRows
	}
	return f.unchanged()
}

// placesIn finds the wanted columns in a Parquet file. Those that are lists there have no place: they are read by themselves.
func (r *tableReader) placesIn(f *parquetFile) ([]int, error) {
	has := f.leaves()
	_, lists := f.lists()
	first := r.firstColumn()
	r.lists = make([]int, len(r.rows.columns))
	for k, name := range r.wanted() {
		column := k >= first && k < first+len(r.lists)
		if column {
			r.lists[k-first] = -1
		}
		if !r.wants(k) || f.column(name) >= 0 {
			continue
		}
		if at := f.list(name); at >= 0 && column && r.rows.columns[k-first].Type == List {
			if err := f.checkList(at, &r.rows.columns[k-first]); err != nil {
				return nil, err
			}
			r.lists[k-first] = at
			for _, n := range lists { // of which there may be two
				if n == name {
					has = append(has, name)
				}
			}
		} else if at >= 0 && r.several(k) != nil {
			r.lined[k] = true
			has = append(has, name)
		} else if err := f.refusal(name); err != nil && r.needs(k) {
			return nil, err
		}
	}
	places, err := r.places(has)
	for c, at := range r.lists {
		if err == nil && at >= 0 {
			places[first+c] = -1
		}
	}
	return places, err
}

// group reads the wanted columns of a row group, from their places, -1 for none, and hands its rows on.
func (f *parquetFile) group(group int, r *tableReader, places []int, take func(row int64, c *cells) error) error {
	all, names, numbers := make([]texts, len(places)), r.wanted(), r.numbers()
	for k, at := range places {
		if at < 0 {
			continue
		}
		column := f.column(names[k])
		if column < 0 { // a list of paths
			var err error
			if all[k], err = f.pathsOf(group, f.list(names[k])); err != nil {
				return fmt.Errorf("column %q: %w", names[k], err)
			}
			continue
		}
		cell := cellsOf(&f.elements[column], numbers[k])
		err := f.each(group, column, func(v parquet.Value) ([]byte, error) {
			text, err := cell(v)
			if err != nil {
				err = fmt.Errorf("row %d of row group %d: %w", len(all[k].ends), group, err)
			}
			return text, err
		}, func(text []byte) error {
			if left := f.texts.Add(-int64(len(text)) - rowBytes); left < 0 {
				return &unpacks{"the texts of the rows", room(f.size) - left, room(f.size)}
			}
			all[k].add(text)
			return nil
		})
		if err != nil {
			return fmt.Errorf("column %q: %w", names[k], err)
		}
	}
	row := r.cells()
	cells := row.wanted()
	for i := range f.meta.RowGroups[group].NumRows {
		for k, at := range places {
			if at >= 0 {
				*cells[k] = all[k].at(i)
			}
		}
		if err := take(i, &row); err != nil {
			return err
		}
	}
	return nil
}

// mediumColumns are those of a medium, by their places.
func (f *parquetFile) mediumColumns(m *Medium) ([]int, error) {
	if m.Many > 0 {
		return f.severalColumns(m)
	}
	name, err := f.medium(m.From)
	return []int{f.column(name)}, err
}

// medium is the column of a medium.
func (f *parquetFile) medium(wanted []string) (string, error) {
	if wanted == nil {
		wanted = []string{"image", "image.bytes", "jpg", "bytes"}
	}
	for _, w := range wanted {
		for _, name := range []string{w, w + ".bytes"} {
			if f.column(name) >= 0 {
				if !f.isBytes(name) {
					return "", fmt.Errorf("column %q holds no bytes", name)
				}
				return name, nil
			}
		}
	}
	for _, name := range wanted {
		if err := f.refusal(name); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: no column %s; the columns are %s; say which holds them in source.image, or from; where rows are all there is, leave image out and name them in source.columns",
		ErrNoSamples, strings.Join(wanted, " or "), f.describe())
}

// describe names the file's columns, those of lists for themselves: they are no media.
func (f *parquetFile) describe() string {
	text := describeParts(f.leaves())
	if _, lists := f.lists(); len(lists) > 0 {
		text = cmp.Or(text, "none of one value a row") + ", and lists of values a row are " + describeParts(lists)
	}
	return text
}

func (f *parquetFile) isBytes(name string) bool {
	kind := f.columns[f.column(name)].Type().Kind()
	return kind == parquet.ByteArray || kind == parquet.FixedLenByteArray
}
