package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/tensor"
)

// listBytes is the memory that a value of a list takes while its page is read, and more than that: its place in a dictionary, itself, its two levels.
const listBytes = 16

// nesting is how a column with values lies in its groups.
type nesting struct {
	name string // its groups' and its own, with dots between them, but for those that only make a list of it
	// levels are the definition levels from which on a value is in the lists around it, the outermost first: one below, that list is empty;
	// below that, it is null. None: the column holds one value a row.
	levels []int
}

// nestingsOf are those of the columns with values, as row groups have them. The schema is a tree: see checkSchema.
func nestingsOf(schema []format.SchemaElement) []nesting {
	w := nestings{schema: schema, at: 1}
	for range schema[0].NumChildren {
		w.element(nesting{}, 0, ofNone)
	}
	return w.all
}

// nestings walks a schema, a group before what is in it.
type nestings struct {
	schema []format.SchemaElement
	at     int
	all    []nesting
}

// role is what an element of a schema is to a list.
type role int

const (
	ofNone  role = iota // it makes none: its name counts
	ofItems             // it is what the list repeats: its values, or the group that each is in
	ofValue             // it is the values, in that group
)

// element takes the next element, and all below it. Lists are made of two groups around the values, the inner of which is repeated; of old, of one.
func (w *nestings) element(in nesting, level int, is role) {
	e := &w.schema[w.at]
	w.at++
	if e.RepetitionType != nil && *e.RepetitionType != format.Required {
		level++
	}
	if isRepeated(e) {
		in.levels = append(slices.Clip(in.levels), level)
	}
	if is == ofNone {
		in.name = strings.TrimPrefix(in.name+"."+e.Name, ".")
	}
	if e.NumChildren == 0 {
		w.all = append(w.all, in)
		return
	}
	below := ofNone
	switch first := &w.schema[w.at]; {
	case isList(e) && e.NumChildren == 1 && isRepeated(first):
		below = ofItems
	case is == ofItems && e.NumChildren == 1 && e.Name != "array" && !strings.HasSuffix(e.Name, "_tuple"):
		below = ofValue
	}
	for range e.NumChildren {
		w.element(in, level, below)
	}
}

func isRepeated(e *format.SchemaElement) bool {
	return e.RepetitionType != nil && *e.RepetitionType == format.Repeated
}

func isList(e *format.SchemaElement) bool {
	return e.LogicalType != nil && e.LogicalType.List != nil || e.ConvertedType != nil && *e.ConvertedType == deprecated.List
}

// lists are the columns that hold a list a row, by their places, and their names.
func (f *parquetFile) lists() (columns []int, names []string) {
	for k, n := range f.nestings {
		if len(n.levels) > 0 {
			columns, names = append(columns, k), append(names, n.name)
		}
	}
	return columns, names
}

// list is the place of a column of lists by its name, or -1. A column of that name that holds one value a row goes before it.
func (f *parquetFile) list(name string) int {
	if columns, names := f.lists(); f.column(name) < 0 {
		if k := slices.Index(names, name); k >= 0 {
			return columns[k]
		}
	}
	return -1
}

// checkList refuses a column that cannot be a column of the batch: of other lists than its shape has, or of no numbers.
func (f *parquetFile) checkList(column int, c *Column) error {
	deep, want := len(f.nestings[column].levels), c.dims()
	switch e := &f.elements[column]; {
	case numbersOf(e) == noNumbers:
		return fmt.Errorf("column %q holds lists of %s, want lists of numbers; write what is to be read as numbers, or as one text a row", c.From, describeKind(e))
	case deep != want:
		return fmt.Errorf("column %q holds lists of %s, want numbers of shape %s; say a shape of %d, such as [-1%s]", c.From, dimensions(deep), c.shown(), deep,
			strings.Repeat(", 4", deep-1))
	}
	return nil
}

func dimensions(n int) string {
	if n == 1 {
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", n)
}

// storedAs is how the numbers of a list are stored.
type storedAs int

const (
	noNumbers storedAs = iota
	asThemselves
	asUnsigned
	asCells // which are made of their bytes one by one
)

func numbersOf(e *format.SchemaElement) storedAs {
	if e.Type == nil {
		return noNumbers
	}
	is := meaning(e)
	switch whole := *e.Type == format.Int32 || *e.Type == format.Int64; {
	case whole && is.Decimal != nil, *e.Type == format.FixedLenByteArray && (is.Decimal != nil || is.Float16 != nil):
		return asCells
	case whole && is.Integer != nil && !is.Integer.IsSigned:
		return asUnsigned
	case whole, *e.Type == format.Boolean, *e.Type == format.Float, *e.Type == format.Double:
		return asThemselves
	}
	return noNumbers
}

func describeKind(e *format.SchemaElement) string {
	switch {
	case e.Type != nil && *e.Type == format.ByteArray && meaning(e).UTF8 != nil:
		return "texts"
	case e.Type != nil && *e.Type == format.Int96:
		return "timestamps"
	}
	return "bytes"
}

// listsOf reads a column of lists of a row group: the elements of each row go behind those that to has. page is called behind each page, and may take
// rows away from to that are whole.
func (f *parquetFile) listsOf(group, column int, c *Column, to *texts, page func() error) error {
	r := listRows{file: f, c: c, to: to, first: f.firstRow(group), levels: f.nestings[column].levels, most: byte(f.columns[column].MaxDefinitionLevel()), element: &f.elements[column]}
	chunk := f.chunk(group, column)
	err := f.eachPage(group, column, func(p parquet.Page) (bool, error) {
		err := r.page(p, chunk.rows)
		if err == nil {
			err = page()
		}
		if len(to.ends) == 0 { // they were taken
			r.begun = 0
		}
		return false, err
	})
	if err != nil {
		return err
	}
	if r.values != chunk.meta.MetaData.NumValues {
		return fmt.Errorf("parquet: damaged: got %d values of %d", r.values, chunk.meta.MetaData.NumValues)
	}
	if err := r.end(); err != nil {
		return err
	}
	if r.n != chunk.rows {
		return fmt.Errorf("parquet: damaged: got %d lists of %d rows", r.n, chunk.rows)
	}
	return page()
}

// firstRow is that of a row group in the file.
func (f *parquetFile) firstRow(group int) (row int64) {
	for _, g := range f.meta.RowGroups[:group] {
		row += g.NumRows
	}
	return row
}

// listRows makes elements of the values of a column, and lists of its levels: of each value the repetition level is the innermost list that goes
// on with it, 0 where a row begins, and the definition level tells what there is.
type listRows struct {
	file    *parquetFile
	c       *Column
	to      *texts
	levels  []int // as nesting has them
	most    byte  // the definition level of a value that is there
	element *format.SchemaElement

	first  int64                // row of the file
	n      int64                // rows that have begun
	values int64                // of all pages
	open   int                  // lists that the last value is in
	counts [maxSchemaDeep]int64 // what is in each of them so far
	begun  int64                // bytes of elements before the row
}

// wrong says in which row something is.
func (r *listRows) wrong(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("row %d: %w", r.first+r.n-1, err)
}

var errLevels = errors.New("parquet: damaged: its levels are of no list")

// page takes the lists of a page: the first of them may go on with a row of the page before it.
func (r *listRows) page(page parquet.Page, rows int64) error {
	repeats, levels := page.RepetitionLevels(), page.DefinitionLevels()
	if len(repeats) != len(levels) {
		return errLevels
	}
	put, n := r.putter(page)
	most := int64(n) * int64(r.c.DType.Bytes())
	if err := r.room(int64(len(r.to.bytes)) - r.begun + most); err != nil { // also of a row that goes on and on
		return err
	}
	r.to.bytes = slices.Grow(r.to.bytes, int(most))
	next := 0
	inner := len(r.levels)
	longest, _ := r.c.most(inner - 1)
	for k, level := range levels {
		if repeat := int(repeats[k]); repeat == inner && level == r.most && r.open == inner {
			if r.counts[inner-1]++; r.counts[inner-1] > longest {
				return r.wrong(r.c.longer(inner-1, r.counts[inner-1]))
			}
		} else if err := r.structure(repeat, level, rows); err != nil {
			return err
		}
		if level != r.most {
			continue
		}
		if next == n {
			return errRuns
		}
		if err := put(next); err != nil {
			return r.wrong(err)
		}
		next++
	}
	if next != n {
		return errRuns
	}
	r.values += int64(len(levels))
	return nil
}

// room refuses so many bytes more than the file's rows may take.
func (r *listRows) room(n int64) error {
	f := r.file
	if left := f.texts.Load(); n > left {
		return fmt.Errorf("the lists of the rows: got %d bytes unpacked, want at most %d; say a smaller dtype, or write the file without compression and dictionaries",
			room(f.size)-left+n, room(f.size))
	}
	return nil
}

// structure ends the lists that do not go on with a value, and begins those that it begins.
func (r *listRows) structure(repeat int, level byte, rows int64) error {
	switch {
	case repeat == 0:
		if err := r.end(); err != nil {
			return err
		}
		if r.n++; r.n > rows {
			return fmt.Errorf("parquet: damaged: got more lists than %d rows", rows)
		}
	case repeat > r.open || level > r.most || int(level) < r.levels[repeat-1]: // of a list that is not open, or not there
		return errLevels
	default:
		if err := r.shut(repeat); err != nil {
			return r.wrong(err)
		}
		r.counts[repeat-1]++
		if err := r.c.longer(repeat-1, r.counts[repeat-1]); err != nil {
			return r.wrong(err)
		}
	}
	for r.open < len(r.levels) {
		switch missing := r.levels[r.open] - int(level); {
		case missing > 1 && r.open == 0:
			return r.wrong(errors.New("got null, want a list of numbers, or an empty one"))
		case missing > 1:
			return r.wrong(errors.New("got null in a list, want a list of numbers"))
		case missing == 1: // an empty one
			r.counts[r.open] = 0
			r.open++
			return r.wrong(r.shut(r.open - 1))
		}
		r.counts[r.open] = 1 // a shape has no 0
		r.open++
	}
	if level < r.most {
		return r.wrong(errors.New("got null in a list, want a number"))
	}
	if level > r.most {
		return errLevels
	}
	return nil
}

// shut ends the lists that are open within so many others.
func (r *listRows) shut(within int) error {
	for ; r.open > within; r.open-- {
		if err := r.c.shorter(r.open-1, r.counts[r.open-1]); err != nil {
			return err
		}
	}
	return nil
}

// end ends the row.
func (r *listRows) end() error {
	if r.n == 0 {
		r.begun = int64(len(r.to.bytes))
		return nil
	}
	if err := r.shut(0); err != nil {
		return r.wrong(err)
	}
	all := int64(len(r.to.bytes))
	if err := r.room(all - r.begun + rowBytes); err != nil {
		return err
	}
	r.file.texts.Add(r.begun - all - rowBytes)
	r.to.ends, r.begun = append(r.to.ends, all), all
	return nil
}

// putter appends the elements of a page's values by their places in it, of which there are n.
func (r *listRows) putter(page parquet.Page) (put func(i int) error, n int) {
	values := page.Data()
	words := page.Dictionary()
	if words == nil {
		return r.plain(values, int(page.NumValues()-page.NumNulls()))
	}
	places, meant := values.Int32(), words.Page()
	word, most := r.plain(meant.Data(), int(meant.NumValues()))
	return func(i int) error {
		if at := int(places[i]); at >= 0 && at < most {
			return word(at)
		}
		return errRuns
	}, len(places)
}

// plain is putter for n values that are not in a dictionary.
func (r *listRows) plain(values encoding.Values, n int) (put func(i int) error, _ int) {
	stored := numbersOf(r.element)
	switch kind := *r.element.Type; {
	case kind == format.FixedLenByteArray:
		all, width := values.FixedLenByteArray()
		put := r.cells()
		return func(i int) error { return put(parquet.FixedLenByteArrayValue(all[i*width:][:width])) }, len(all) / max(width, 1)
	case kind == format.Boolean:
		all := values.Boolean()
		return func(i int) error { return r.whole(int64(all[i/8] >> (i % 8) & 1)) }, min(n, 8*len(all))
	case kind == format.Float:
		return each(values.Float(), func(v float32) error { return r.float(float64(v)) })
	case kind == format.Double:
		return each(values.Double(), r.float)
	case kind == format.Int32 && stored == asCells:
		put := r.cells()
		return each(values.Int32(), func(v int32) error { return put(parquet.Int32Value(v)) })
	case kind == format.Int64 && stored == asCells:
		put := r.cells()
		return each(values.Int64(), func(v int64) error { return put(parquet.Int64Value(v)) })
	case kind == format.Int32 && stored == asUnsigned:
		return each(values.Uint32(), func(v uint32) error { return r.whole(int64(v)) })
	case kind == format.Int32:
		return each(values.Int32(), func(v int32) error { return r.whole(int64(v)) })
	case stored == asUnsigned:
		return each(values.Uint64(), r.unsigned)
	}
	return each(values.Int64(), r.whole)
}

func each[T any](all []T, put func(v T) error) (func(i int) error, int) {
	return func(i int) error { return put(all[i]) }, len(all)
}

// cells appends values by what tables make of them.
func (r *listRows) cells() func(v parquet.Value) error {
	cell := cellsOf(r.element, true)
	return func(v parquet.Value) error {
		text, err := cell(v)
		if err == nil {
			r.to.bytes, err = appendElement(r.to.bytes, r.c.DType, text)
		}
		return err
	}
}

// whole appends a whole number as an element.
func (r *listRows) whole(v int64) error {
	t := r.c.DType
	switch t.Code() {
	case tensor.CodeFloat:
		return r.float(float64(v))
	case tensor.CodeUint:
		if v < 0 || t.Bits() < 64 && v>>t.Bits() != 0 {
			return fmt.Errorf("got %d, want a whole number that %v holds", v, t)
		}
	default:
		if v<<(64-t.Bits())>>(64-t.Bits()) != v {
			return fmt.Errorf("got %d, want a whole number that %v holds", v, t)
		}
	}
	r.bits(uint64(v))
	return nil
}

// unsigned appends a whole number that an i64 may not hold.
func (r *listRows) unsigned(v uint64) error {
	t := r.c.DType
	switch {
	case v <= math.MaxInt64:
		return r.whole(int64(v))
	case t.Code() == tensor.CodeFloat:
		return r.float(float64(v))
	case t != tensor.U64:
		return fmt.Errorf("got %d, want a whole number that %v holds", v, t)
	}
	r.bits(v)
	return nil
}

// float appends a number, which may be NaN or infinite, unlike JSON's.
func (r *listRows) float(v float64) error {
	switch t := r.c.DType; {
	case t == tensor.F64:
		r.bits(math.Float64bits(v))
	case t == tensor.F32:
		if short := float32(v); math.IsInf(float64(short), 0) && !math.IsInf(v, 0) {
			return fmt.Errorf("got %v, want a number that f32 holds", v)
		}
		r.bits(uint64(math.Float32bits(float32(v))))
	case v != math.Trunc(v) || math.Abs(v) >= maxWhole: // NaN is unequal to itself
		return fmt.Errorf("got %v, want a whole number that %v holds", v, t)
	default:
		return r.whole(int64(v))
	}
	return nil
}

// bits appends an element.
func (r *listRows) bits(v uint64) {
	switch to := &r.to.bytes; r.c.DType.Bytes() {
	case 1:
		*to = append(*to, byte(v))
	case 2:
		*to = binary.LittleEndian.AppendUint16(*to, uint16(v))
	case 4:
		*to = binary.LittleEndian.AppendUint32(*to, uint32(v))
	default:
		*to = binary.LittleEndian.AppendUint64(*to, v)
	}
}
