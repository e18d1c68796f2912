package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/source/store"
)

// openWindow is how many Parquet files are open before their rows are read: it bounds the descriptors of files that need none afterwards.
const openWindow = 256

// parquetOpening opens the files of a source, several at a time, and then reads what is held of their rows, several row groups at a time. What comes
// of it is the same as of one file after the other.
type parquetOpening struct {
	s        *parquetShards
	c        *ShardsConfig
	workers  int
	files    int   // of the source
	fresh    bool  // something was kept that was not there
	unkept   error // why something was not
	opened   int   // those of which all is read
	rows     int64
	labelled bool     // those rows have labels,
	lists    []bool   // and by column lists of numbers
	said     []string // names of their classes, as all files have them;
	differ   bool     // they have not
}

// parquetPart is what is read of a file at a time: its lists, or the rows of a group.
type parquetPart struct {
	file   *parquetFile
	reader *tableReader
	places []int
	first  int64 // row of the file

	plan  listPlan
	lists unpackedLists

	group int // -1: the lists
	rows  rows
	last  bool // of the file
}

// run opens all files. Those that are open when it fails are the source's. Files of a store are read under ctx, also when all are open.
func (o *parquetOpening) run(ctx context.Context, names []string) error {
	o.workers = o.c.openers(names)
	if slices.ContainsFunc(names, store.IsURL) {
		o.c.indexDir(&o.s.notes)
	}
	for o.files = len(names); len(names) > 0; {
		some := names[:min(len(names), openWindow)]
		parts, err := o.open(ctx, some)
		if err == nil {
			err = o.read(ctx, parts)
		}
		if err != nil {
			return err
		}
		names = names[len(some):]
	}
	if o.fresh || o.s.made > 0 {
		o.s.notes = append(o.s.notes, tidy(o.c.indexDir(&o.s.notes))...)
	}
	if o.unkept != nil {
		o.s.notes = append(o.s.notes, fmt.Sprintf("what was read of a file could not be kept and will be read again next time: %v", o.unkept))
	}
	return nil
}

// open opens some files, and says what is to be read of them. They are the source's from then on.
func (o *parquetOpening) open(ctx context.Context, names []string) (parts []parquetPart, err error) {
	files := make([]*parquetFile, len(names))
	err = inOrder(ctx, o.s.stop, o.workers, len(names), func(k int) (err error) {
		files[k], err = openParquet(ctx, names[k], o.c)
		return inShard(names[k], err)
	}, func(k int) error {
		more, err := o.admit(files[k])
		parts = append(parts, more...)
		return inShard(names[k], err)
	})
	for _, f := range files {
		if f != nil {
			o.s.files = append(o.s.files, f)
		}
	}
	return parts, err
}

// inShard says which shard an error is about.
func inShard(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("shard %q: %w", store.Shown(name), unlisted(name, err))
}

// admit checks that a file has what is wanted of each, and gives its rows their places behind those of the files before it.
func (o *parquetOpening) admit(f *parquetFile) (parts []parquetPart, err error) {
	s := o.s
	var media [][]int
	for k := range s.media {
		columns, err := f.mediumColumns(&s.media[k])
		if err != nil {
			return nil, err
		}
		media = append(media, columns)
	}
	c := o.c
	r := &tableReader{c: &ListConfig{Alone: true, Label: c.Label, NoLabels: c.Labels == LabelsOff, LabelNames: c.Labels == LabelsOfNames, Progress: c.Progress}, rows: &s.rows, label: cmp.Or(c.Label, "label")}
	places, err := r.placesIn(f)
	if err != nil {
		return nil, err
	}
	if err := o.alike(f, r); err != nil {
		return nil, err
	}
	parts = append(parts, parquetPart{file: f, reader: r, group: -1, plan: r.planLists(f)})
	inFile := int64(0)
	for group, g := range f.meta.RowGroups {
		if g.NumRows == 0 {
			continue
		}
		s.groups = append(s.groups, rowGroup{group: group, file: f, tables: map[int]*pageTable{}, columns: media, first: o.rows, inFile: inFile})
		parts = append(parts, parquetPart{file: f, reader: r, places: places, group: group, first: inFile, rows: rowsOf(r.c, c.Columns)})
		inFile, o.rows = inFile+g.NumRows, o.rows+g.NumRows
	}
	parts[len(parts)-1].last = true
	return parts, nil
}

// alike refuses a file with rows that has other columns than those before it.
func (o *parquetOpening) alike(f *parquetFile, r *tableReader) error {
	if f.rows() == 0 {
		return nil
	}
	lists := make([]bool, len(r.lists))
	for c, at := range r.lists {
		lists[c] = at >= 0
		if column := &o.s.columns[c]; o.lists != nil && column.Type == List && lists[c] != o.lists[c] {
			return fmt.Errorf("column %q: this file has lists of numbers and others have texts, or the other way round", column.From)
		}
	}
	if o.lists != nil && r.hasLabel != o.labelled {
		return fmt.Errorf("column %q: this file has it and others have not, or the other way round", r.label)
	}
	var said []string
	if r.hasLabel && !r.c.LabelNames {
		said = f.classNames(r.label)
	}
	if o.lists == nil {
		o.said = said
	}
	o.differ = o.differ || !slices.Equal(said, o.said)
	o.lists, o.labelled = lists, r.hasLabel
	return nil
}

// read reads the parts, and joins them.
func (o *parquetOpening) read(ctx context.Context, parts []parquetPart) error {
	joined := 0
	err := inOrder(ctx, o.s.stop, o.workers, len(parts), func(k int) error {
		p := &parts[k]
		return inShard(p.file.name, p.read(ctx, o.c.Label != ""))
	}, func(k int) error {
		joined = k + 1
		return inShard(parts[k].file.name, o.join(&parts[k]))
	})
	for _, p := range parts[joined:] {
		if p.lists.file != nil {
			err = errors.Join(err, p.lists.file.Close())
		}
	}
	return err
}

func (p *parquetPart) read(ctx context.Context, strict bool) (err error) {
	if p.group < 0 {
		p.lists, err = p.reader.readLists(ctx, p.file, p.plan)
		return err
	}
	return p.file.group(p.group, p.reader, p.places, func(row int64, c *cells) error {
		c.lists = p.reader.lists
		if err := p.rows.add(c, p.reader.hasLabel, strict); err != nil {
			return fmt.Errorf("row %d: %w", p.first+row, err)
		}
		return nil
	})
}

// join puts a part behind those that were joined before.
func (o *parquetOpening) join(p *parquetPart) error {
	s := o.s
	if p.group < 0 {
		s.takeLists(p.plan, p.lists)
	} else if err := s.join(&p.rows); err != nil {
		return err
	}
	p.rows = rows{} // it is there twice no longer than this
	if !p.last {
		return nil
	}
	if o.opened++; o.c.Opened != nil {
		o.c.Opened(o.opened, o.files, s.made)
	}
	if k := p.file.kept; k != nil {
		fresh, err := k.save()
		if o.fresh = o.fresh || fresh; err != nil && o.unkept == nil {
			o.unkept = err
		}
	}
	if err := p.file.unchanged(); err != nil || len(s.media) > 0 {
		return err
	}
	return p.file.close() // of which all is read
}

// join appends other rows of the same columns, but for their lists of Parquet.
func (t *rows) join(more *rows) error {
	if more.names != nil {
		if err := t.names.join(more.names, more.labels); err != nil {
			return fmt.Errorf("label: %w", err)
		}
	}
	t.labels = append(t.labels, more.labels...)
	for c := range t.columns {
		t.texts[c].join(&more.texts[c])
		t.numbers[c] = append(t.numbers[c], more.numbers[c]...)
	}
	t.n += more.n
	return nil
}

// join appends other texts.
func (t *texts) join(more *texts) {
	before := int64(len(t.bytes))
	t.bytes = append(t.bytes, more.bytes...)
	for _, end := range more.ends {
		t.ends = append(t.ends, before+end)
	}
}
