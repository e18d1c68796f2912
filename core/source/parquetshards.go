package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/spdl/spdl/core/source/store"
)

// keptPageBytes bounds the decoded pages that are kept, for all files of a source.
const keptPageBytes = 128 << 20

// keptWordBytes is when a page that repeats the values of a dictionary is kept in parts.
const keptWordBytes = 16 << 20

// parquetShards are Parquet files with pictures, or other media, in columns, or with no media at all. Labels and other columns are read at open and held in memory;
// pictures are read page by page, and the pages read last are kept.
type parquetShards struct {
	rows
	files    []*parquetFile
	groups   []rowGroup // of all files
	said     []string   // names of the labels, in the files' order; they are not what tells this data set from others
	media    []Medium
	shape    string // what is read of each row, for Identity
	stop     func() // ends what is read of a store
	maxBytes int64

	mu    sync.Mutex // guards pages and bytes
	pages []*page    // the one used last is the last
	bytes int64
}

// rowGroup is a range of samples that lie together in a file.
type rowGroup struct {
	file    *parquetFile
	group   int
	columns [][]int // of each medium
	first   int64   // sample
	inFile  int64   // row

	mu     sync.Mutex         // held by who reads a page of it
	tables map[int]*pageTable // by column, of those that were read
}

// page is some neighbouring values of a column of a row group.
type page struct {
	group    *rowGroup
	column   int
	first, n int64 // rows of the group
	values   texts
	several  bool    // a row has several values, or none: of each row
	ends     []int64 // how many there are up to its end
}

// OpenParquet opens Parquet files with media in columns: the first of From that is there, or image, image.bytes, jpg or bytes. Without media
// their rows' columns are all there is.
func OpenParquet(ctx context.Context, c ShardsConfig) (Source, error) {
	s := &parquetShards{rows: rowsOf(&ListConfig{LabelNames: c.Labels == LabelsOfNames}, c.Columns), media: c.Media, maxBytes: c.MaxFileBytes}
	if s.media == nil {
		s.media = onePicture
	}
	if len(s.media)+len(s.columns) == 0 {
		return nil, fmt.Errorf("source: shards: %w", errNothing)
	}
	if s.maxBytes == 0 {
		s.maxBytes = DefaultMaxFileBytes
	}
	names, err := c.shardNames(ctx)
	if k := slices.IndexFunc(s.columns, func(c Column) bool { return c.Type == Array }); err == nil && k >= 0 {
		err = fmt.Errorf("source.columns[%d] (%q): arrays go with archives, lists and folders; put .npy files into shards", k, s.columns[k].Name)
	}
	if err != nil {
		return nil, fmt.Errorf("source: shards: %w", err)
	}
	ctx, s.stop = context.WithCancel(ctx)
	opening := parquetOpening{s: s, c: &c}
	if err := opening.run(ctx, names); err != nil {
		return nil, errors.Join(fmt.Errorf("source: shards: %w", err), s.Close())
	}
	s.settleNames()
	s.settleClasses(opening.said, opening.differ)
	s.shape = shapeOf("parquet", s.media, c.Label, s.columns, s.maxBytes)
	if s.n == 0 {
		return nil, errors.Join(fmt.Errorf("source: shards: %w: the files have no rows", ErrNoSamples), s.Close())
	}
	return s, nil
}

// find is the row group of sample i.
func (s *parquetShards) find(i int64) *rowGroup {
	if i < 0 || i >= s.n {
		panic(fmt.Sprintf("source: sample %d of %d", i, s.n))
	}
	return &s.groups[sort.Search(len(s.groups), func(k int) bool { return s.groups[k].first > i })-1]
}

func (s *parquetShards) Len() int64          { return s.n }
func (s *parquetShards) Columns() []Column   { return s.columns }
func (s *parquetShards) Label(i int64) int64 { return s.label(i) }

func (s *parquetShards) Classes() []string {
	if s.said != nil {
		return s.said
	}
	return s.classes
}

// Shards are the row groups: what is read best together.
func (s *parquetShards) Shards() (firsts []int64) {
	for k := range s.groups {
		firsts = append(firsts, s.groups[k].first)
	}
	return firsts
}

// Key is FILE:ROW.
func (s *parquetShards) Key(i int64, dst []byte) []byte {
	g := s.find(i)
	base, _, _ := strings.Cut(g.file.name, "?")
	dst = append(append(dst, filepath.Base(base)...), ':')
	return strconv.AppendInt(dst, g.inFile+i-g.first, 10)
}

func (s *parquetShards) Read(ctx context.Context, i int64, b *Buffer) error {
	g := s.find(i)
	if err := s.read(ctx, g, i, b); err != nil {
		b.drop()
		if e, ok := err.(*Error); ok {
			e.In = g.file.name
		}
		return name(err, s, i)
	}
	return nil
}

func (s *parquetShards) read(ctx context.Context, g *rowGroup, i int64, b *Buffer) error {
	b.drop()
	if err := ctx.Err(); err != nil {
		return err
	}
	for k := range s.media {
		if err := s.readMedium(g, k, i, b); err != nil {
			return err
		}
	}
	return s.values(i, b, nil) // there are no arrays: OpenParquet has refused them
}

// readMedium makes a row's value in a medium's column the sample's next part.
func (s *parquetShards) readMedium(g *rowGroup, k int, i int64, b *Buffer) error {
	if s.media[k].Many > 0 {
		return s.readSeveral(g, k, i, b)
	}
	p, err := s.page(g, g.columns[k][0], i-g.first, false)
	if err != nil {
		return err
	}
	data := p.values.at(i - g.first - p.first)
	switch {
	case len(data) == 0:
		return &Error{Cause: Empty, Detail: about(s.media, k) + "got no bytes; where a column beside it names a file instead, as in Hugging Face's {bytes, path}, " +
			"list: FILE with path: image.path reads that"}
	case int64(len(data)) > s.maxBytes:
		return &Error{Cause: TooLarge, Detail: fmt.Sprintf("%sgot %d bytes, want at most %d", about(s.media, k), len(data), s.maxBytes)}
	}
	copy(b.behind(len(data)), data)
	b.holdNext(len(data))
	return nil
}

// page is the kept page that holds a row of a group's column, or one that is read now. Of those who want the same group's pages one
// reads at a time; the others find what it read.
func (s *parquetShards) page(g *rowGroup, column int, row int64, several bool) (wanted *page, err error) {
	if p := s.kept(g, column, row, several); p != nil {
		return p, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := s.kept(g, column, row, several); p != nil {
		return p, nil
	}
	if err := g.file.unchanged(); err != nil {
		return nil, err
	}
	wanted, more, err := g.read(column, row, several)
	if err != nil {
		return nil, parquetError(err)
	}
	if err := g.file.unchanged(); err != nil {
		return nil, err
	}
	for _, p := range more {
		if s.kept(g, column, p.first, several) == nil {
			s.keep(p)
		}
	}
	s.keep(wanted)
	return wanted, nil
}

func (s *parquetShards) kept(g *rowGroup, column int, row int64, several bool) *page {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := len(s.pages) - 1; k >= 0; k-- {
		if p := s.pages[k]; p.group == g && p.column == column && p.several == several && row >= p.first && row < p.first+p.n {
			s.pages = append(slices.Delete(s.pages, k, k+1), p)
			return p
		}
	}
	return nil
}

// size is the memory that a page takes.
func (p *page) size() int64 { return int64(len(p.values.bytes) + 8*len(p.values.ends) + 8*len(p.ends)) }

func (s *parquetShards) keep(p *page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, p)
	s.bytes += p.size()
	for s.bytes > keptPageBytes && len(s.pages) > 1 {
		s.bytes -= s.pages[0].size()
		s.pages = slices.Delete(s.pages, 0, 1)
	}
}

// read reads the page that holds a row: or the part of it with that row. Of a store more may have come with it.
func (g *rowGroup) read(column int, row int64, several bool) (wanted *page, more []*page, err error) {
	defer damaged(&err)
	c := g.file.chunk(g.group, column)
	t := g.tables[column]
	if t == nil {
		if t, err = c.tableOf(); err != nil {
			return nil, nil, err
		}
		g.tables[column] = t
	}
	in, err := c.fetch(t, row)
	if err != nil {
		return nil, nil, err
	}
	g.file.tables.learned(c, t)
	k := pageOf(t.pages, row)
	decode := g.decode
	if several {
		decode = g.decodeSeveral
	}
	if wanted, err = decode(column, in, t, k, row); err != nil {
		return nil, nil, err
	}
	// Pages that came with it are decoded as long as they take little. What is wrong with one is told to who wants it.
	if !t.late(k) {
		t.last = k
	}
	left := int64(stretchDecoded)
	for _, at := range in.others(t, k) {
		p, err := decode(column, in, t, at, t.pages[at].FirstRowIndex)
		if err != nil || p.size() > left {
			break
		}
		left -= p.size()
		if more = append(more, p); at > t.last {
			t.last = at
		}
	}
	return wanted, more, nil
}

// damaged makes an error of a panic, of which the library has some for damaged files.
func damaged(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("damaged: %v", r)
	}
}

// decode makes values of page k, or of the part of it with a row, whose bytes a part of the chunk has, or else the file.
func (g *rowGroup) decode(column int, from *chunkPart, t *pageTable, k int, row int64) (p *page, err error) {
	defer damaged(&err)
	at := t.pages[k]
	in, err := from.pages(t, k)
	if err != nil {
		return nil, err
	}
	pages := in.open()
	defer func() { err = errors.Join(err, pages.Close()) }()
	data, err := pages.ReadPage()
	if err != nil {
		return nil, in.failed(err)
	}
	defer parquet.Release(data)
	n := data.NumValues() - (row - at.FirstRowIndex)
	if n <= 0 || row+n > in.rows {
		return nil, errors.New("the row group has not the rows that it says")
	}
	p = &page{group: g, column: column, first: at.FirstRowIndex}
	if data.Dictionary() != nil {
		from := partOf(data, row-p.first)
		p.first, data = p.first+from, data.Slice(from, data.NumValues())
	}
	return p, p.fill(data, row)
}

// partOf is where the part of a page begins that has one of its rows and is to be kept, if the page repeats the values of a dictionary so
// often that it is not to be kept as a whole.
func partOf(data parquet.Page, row int64) (from int64) {
	values := make([]parquet.Value, valuesAtOnce)
	size, at := 0, int64(0)
	for in := data.Values(); at <= row; {
		n, err := in.ReadValues(values)
		for _, v := range values[:n] {
			if size > keptWordBytes && at <= row {
				from, size = at, 0
			}
			size += len(bytesOf(v))
			at++
		}
		if err != nil {
			break
		}
	}
	return from
}

// fill takes the values of a page up to its end, or of one that repeats the values of a dictionary as many as are to be kept.
func (p *page) fill(data parquet.Page, row int64) error {
	most := max(int(data.Size()), keptWordBytes)
	p.values.bytes = make([]byte, 0, data.Size())
	values := make([]parquet.Value, valuesAtOnce)
	for in := data.Values(); ; {
		n, err := in.ReadValues(values)
		for _, v := range values[:n] {
			if p.first+p.n > row && len(p.values.bytes) > most {
				return nil
			}
			p.values.add(bytesOf(v))
			p.n++
		}
		switch {
		case err == io.EOF && p.first+p.n > row:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
}

// parquetError is a bad sample's: a store's own error where that was the reason, else a damaged file.
func parquetError(err error) error {
	var e *store.Error
	var own *Error
	var large *unpacks
	switch {
	case errors.As(err, &large):
		return &Error{Cause: TooLarge, Detail: "parquet", Err: err}
	case errors.As(err, &e):
		return storeError(e)
	case errors.As(err, &own):
		return own
	}
	return &Error{Cause: IO, Detail: "parquet", Err: err}
}

func (s *parquetShards) Close() error {
	s.stop()
	errs := []error{s.closeLists()}
	for _, f := range s.files {
		f.tables.save(f) // it costs the next start some requests where that fails
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}
