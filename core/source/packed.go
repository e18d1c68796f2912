package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/spdl/spdl/core/tensor"
)

// Measured is a source that knows how long its samples' lists are without reading them.
type Measured interface {
	// Lengths finds a column of lists by its name in the batch. The function it returns gives the length of a sample's list; it is nil when the source
	// has no such column, or has to read a sample to tell.
	Lengths(column string) func(i int64) int64
}

// Lengths are those of the lists of a table, which are all read when it is opened.
func (t *rows) Lengths(column string) func(i int64) int64 {
	c := slices.IndexFunc(t.columns, func(c Column) bool { return c.Name == column && c.Type == List && c.MaxLength > 0 })
	if c < 0 {
		return nil
	}
	step := int64(t.columns[c].stepBytes())
	if t.parts[c] == nil {
		return func(i int64) int64 { return int64(len(t.texts[c].at(i))) / step }
	}
	return func(i int64) int64 {
		p, from, to := t.listPart(c, i)
		if p.file != nil {
			to -= listCheck
		}
		return (to - from) / step
	}
}

// stepBytes is what one step of a ragged array has.
func (c *Column) stepBytes() int { return c.Most() / c.MaxLength }

// maxRowBytes is the most that the lists of a row have.
const maxRowBytes = 1 << 30

// PackPlan says which documents, the samples of a source, are in which row.
type PackPlan interface {
	Rows() int64
	// Pieces are those of a row, as places for Piece: [first, end).
	Pieces(row int64) (first, end int64)
	// Piece is the document of a piece, and where it begins there. It ends with the document or with its row, whichever comes first.
	Piece(k int64) (document, from int64)
}

// PackConfig describes rows of one length that are made of documents.
type PackConfig struct {
	Plan    PackPlan
	Length  int64                      // of a row
	Lengths func(document int64) int64 // as planned; a document of another length is a bad one
	By      string                     // the column that they are read from; "": that of a list
	Pads    map[string][]byte          // by column, as texts of numbers: what is where no document is; 0 of others
	// The columns, i32, that say of each element of a row which of its documents it is of, counted from 1, and how far behind its beginning: 0 where
	// there is none.
	Segments, Positions string

	Stay bool // the place of a bad document is left as it is; else those behind it move up
}

// documentRows is a source of rows that are made of the samples of another: its documents. Its columns are those of the documents' that are arrays, each of
// Length, and two that are made here. A document that cannot be read is missing in its row, which says so (Buffer.Lost); a row without any is a bad one.
type documentRows struct {
	PackConfig
	documents Source
	lists     []packedList
	columns   []Column
	blank     []byte // a row without a document: its columns, one behind the other

	planning sync.Mutex // guards ahead
	ahead    []int64
}

// packedList is a column of documents.
type packedList struct {
	name  string
	place int // among the documents' columns
	at    int // where it begins in a row's bytes
	step  int // bytes of an element
}

// Pack makes rows of the samples of s, which it closes when it is closed. After an error s is still the caller's.
func Pack(s Source, c PackConfig) (Source, error) {
	p := &documentRows{PackConfig: c, documents: s}
	var all []Column
	if has, is := s.(Columnar); is {
		all = has.Columns()
	}
	for k := range all {
		if all[k].Name == c.By {
			continue
		}
		if err := p.addList(&all[k], k); err != nil {
			return nil, fmt.Errorf("source.columns[%d] (%q): %w", k, all[k].Name, err)
		}
	}
	for _, name := range []string{c.Segments, c.Positions} {
		p.columns = append(p.columns, Column{Name: name, From: name, Type: List, DType: tensor.I32, Shape: tensor.Shape{c.Length}})
	}
	p.blank = append(p.blank, make([]byte, 2*4*c.Length)...)
	return p, nil
}

// addList takes a column of the documents into the rows.
func (p *documentRows) addList(c *Column, place int) error {
	if !c.Shaped() || c.MaxLength == 0 {
		return errors.New("holds one value a document, or arrays of one shape; want lists or arrays of any length, as shape: [-1] with max_length has them")
	}
	pad := make([]byte, c.DType.Bytes())
	if text := p.Pads[c.Name]; text != nil {
		var err error
		if pad, err = appendElement(nil, c.DType, text); c.DType == tensor.F16 {
			err = errors.New("got it with f16, which is padded with 0; leave it out, or write the column as f32")
		}
		if err != nil {
			return fmt.Errorf("pad: %w", err)
		}
	}
	l := packedList{c.Name, place, len(p.blank), c.stepBytes()}
	if int64(l.step) > (maxRowBytes-int64(len(p.blank)))/p.Length {
		return fmt.Errorf("got rows of more than %d bytes; say a smaller length, dtype or shape", maxRowBytes)
	}
	p.lists = append(p.lists, l)
	for range p.Length * int64(l.step/len(pad)) {
		p.blank = append(p.blank, pad...)
	}
	p.columns = append(p.columns, Column{Name: c.Name, From: c.From, Type: List, DType: c.DType, Shape: append(tensor.Shape{p.Length}, c.Shape...)})
	return nil
}

func (p *documentRows) Len() int64        { return p.Plan.Rows() }
func (p *documentRows) Label(int64) int64 { return -1 }
func (p *documentRows) Unlabelled() bool  { return true }
func (p *documentRows) Classes() []string { return nil }
func (p *documentRows) Columns() []Column { return p.columns }
func (p *documentRows) Close() error      { return p.documents.Close() }
func (p *documentRows) Notes() []string   { return outer{p.documents}.Notes() }

// Key is that of the first document, and how many others there are: FILE:ROW+3.
func (p *documentRows) Key(i int64, dst []byte) []byte {
	first, end := p.Plan.Pieces(i)
	document, _ := p.Plan.Piece(first)
	dst = p.documents.Key(document, dst)
	if others := end - first - 1; others > 0 {
		dst = strconv.AppendInt(append(dst, '+'), others, 10)
	}
	return dst
}

// Ahead tells the documents' source of those of some rows.
func (p *documentRows) Ahead(rows []int64) {
	planned, is := p.documents.(Planned)
	if !is {
		return
	}
	p.planning.Lock()
	defer p.planning.Unlock()
	p.ahead = p.ahead[:0]
	for _, i := range rows {
		first, end := p.Plan.Pieces(i)
		for k := first; k < end; k++ {
			document, _ := p.Plan.Piece(k)
			p.ahead = append(p.ahead, document)
		}
	}
	slices.Sort(p.ahead)
	planned.Ahead(slices.Compact(p.ahead)) // pieces of one document are one read ahead
}

// Fingerprint is of the documents', of their lengths and of which are in which row.
func (p *documentRows) Fingerprint() (Fingerprint, bool) {
	f, ok := outer{p.documents}.Fingerprint()
	names := &printer{}
	names.number(int64(f.Names))
	names.number(p.Length)
	for document := range p.documents.Len() {
		names.number(p.Lengths(document))
	}
	for i := range p.Len() {
		first, end := p.Plan.Pieces(i)
		names.number(end)
		for k := first; k < end; k++ {
			document, from := p.Plan.Piece(k)
			names.number(document)
			names.number(from)
		}
	}
	return Fingerprint{names.sum(), f.Labels}, ok
}

// lostKey is the key of a context's lost documents.
type lostKey struct{}

type lostDocuments struct {
	cause     Cause
	documents []int64
}

// of is why a document is bad, nil of one that is not among them.
func (l *lostDocuments) of(document int64) error {
	if !slices.Contains(l.documents, document) {
		return nil
	}
	return &Error{Index: document, Key: strconv.FormatInt(document, 10), Cause: l.cause, Detail: "so when its batch was delivered, as the journal says"}
}

// WithLost says of a read of a row of documents that some of them were bad when it was read before, and why, so that they are so again.
func WithLost(ctx context.Context, cause Cause, documents []int64) context.Context {
	return context.WithValue(ctx, lostKey{}, lostDocuments{cause, documents})
}

// Lost is why some documents of a row that was read are not in it.
func (b *Buffer) Lost() []*Error { return b.lost }

// Read makes a row of its documents.
func (p *documentRows) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	row := packedRow{documentRows: p, b: b, at: len(b.values)}
	b.values = append(b.values, p.blank...)
	lost, _ := ctx.Value(lostKey{}).(lostDocuments)
	first, end := p.Plan.Pieces(i)
	for k := first; k < end; k++ {
		document, from := p.Plan.Piece(k)
		err := lost.of(document)
		if err == nil {
			err = p.read(ctx, document, b.side(0))
		}
		if err = row.take(err, from, p.Lengths(document)); err != nil {
			b.drop()
			return err
		}
	}
	if len(b.lost) == int(end-first) {
		why := TimedFirst(b.lost)
		b.drop()
		return name(&Error{Cause: why.Cause, Detail: fmt.Sprintf("none of its %d documents can be read, the first", end-first), Err: why}, p, i)
	}
	row.end()
	return nil
}

// TimedFirst is the first error whose cause depends on time, or the first.
func TimedFirst(all []*Error) *Error {
	if k := slices.IndexFunc(all, (*Error).TimeDependent); k >= 0 {
		return all[k]
	}
	return all[0]
}

// read reads a document, all lists of which must be as long as planned.
func (p *documentRows) read(ctx context.Context, document int64, b *Buffer) error {
	if err := p.documents.Read(ctx, document, b); err != nil {
		return err
	}
	want := p.Lengths(document)
	for k := range p.lists {
		l := &p.lists[k]
		if got := int64(len(b.Value(l.place)) / l.step); got != want {
			return name(&Error{Cause: Value, Detail: fmt.Sprintf("column %q: got a length of %d, want %d, that of column %q", l.name, got, want, p.measuredBy())}, p.documents, document)
		}
	}
	return nil
}

// measuredBy is the column that says how long documents are.
func (p *documentRows) measuredBy() string {
	if p.By != "" {
		return p.By
	}
	return p.lists[0].name
}

// packedRow is a row on its way. Its bytes are those of the buffer's values from a place on.
type packedRow struct {
	*documentRows
	b       *Buffer
	at      int
	planned int64 // elements of the pieces so far, as they were planned,
	used    int64 // and those of the row that are behind them
	segment int32
}

// take puts the document that is in the side buffer, or its error, at its place: a piece from so far on, of a document of so many elements. An error that is
// not of one document alone is returned.
func (r *packedRow) take(err error, from, length int64) error {
	n := min(length-from, r.Length-r.planned)
	r.planned += n
	if err == nil {
		r.put(from, n)
	} else if err := r.lose(err); err != nil {
		return err
	}
	if err == nil || r.Stay {
		r.used += n
	}
	return nil
}

// lose takes note of why a document is not there.
func (r *packedRow) lose(err error) error {
	var bad *Error
	if !errors.As(err, &bad) {
		return err
	}
	r.b.lost = append(r.b.lost, bad)
	return nil
}

// put writes n elements of the document.
func (r *packedRow) put(from, n int64) {
	row, side := r.b.values[r.at:], r.b.side(0)
	for k := range r.lists {
		l := &r.lists[k]
		step := int64(l.step)
		copy(row[int64(l.at)+r.used*step:], side.Value(l.place)[from*step:(from+n)*step])
	}
	r.segment++
	positions := len(r.blank) - 4*int(r.Length)
	segments := positions - 4*int(r.Length)
	for k := range int(n) {
		at := 4 * (int(r.used) + k)
		binary.LittleEndian.PutUint32(row[segments+at:], uint32(r.segment))
		binary.LittleEndian.PutUint32(row[positions+at:], uint32(k))
	}
}

// end makes the row's bytes the values of its columns.
func (r *packedRow) end() {
	at := r.at
	for c := range r.columns {
		n := r.columns[c].Most()
		r.b.columns = append(r.b.columns, value{stretch: stretch{at, n}})
		at += n
	}
}
