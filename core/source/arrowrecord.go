package source

import (
	"errors"
	"fmt"
	"slices"
)

// arrowRecord is a batch of rows, or a dictionary's: how long each field is, and where its buffers lie, in the order of the schema.
type arrowRecord struct {
	meta                flatTable
	body                arrowBuffer
	v4                  bool
	rows                int64
	node, nodes         int // place of the next one, and how many are left
	buffer, buffers     int
	variadic, variadics int
	compressed          bool
}

var errArrowPacked = errors.New("its buffers are compressed")

func newArrowRecord(m *arrowMessage, meta flatTable, v4 bool) *arrowRecord {
	r := &arrowRecord{meta: meta, body: m.body, v4: v4, rows: meta.long(0)}
	r.node, r.nodes = meta.vector(1, 16)
	r.buffer, r.buffers = meta.vector(2, 16)
	r.variadic, r.variadics = meta.vector(4, 8)
	r.compressed = meta.table(3).there()
	return r
}

// bindAll tells the columns of a schema where their values lie.
func (r *arrowRecord) bindAll(columns []*arrowField) error {
	if r.compressed && r.meta.err == nil {
		return errArrowPacked
	}
	for _, f := range columns {
		if err := r.bind(f); err != nil {
			return fmt.Errorf("column %.60q: %w", f.name, err)
		}
		if f.n != r.rows {
			return fmt.Errorf("damaged: column %.60q has %d values, want %d", f.name, f.n, r.rows)
		}
	}
	if r.meta.err != nil {
		return r.meta.err
	}
	if r.nodes != 0 || r.buffers != 0 {
		return fmt.Errorf("damaged: it has %d fields and %d buffers more than its schema", r.nodes, r.buffers)
	}
	return nil
}

var errArrowShort = errors.New("damaged: the batch has fewer fields or buffers than its schema")

func (r *arrowRecord) bind(f *arrowField) error {
	if r.nodes--; r.nodes < 0 {
		return errArrowShort
	}
	f.n, f.nulls = r.meta.longAt(r.node), r.meta.longAt(r.node+8)
	r.node += 16
	if f.n < 0 || f.n > maxArchive || f.nulls < 0 || f.nulls > f.n {
		return fmt.Errorf("damaged: got %d values, of which %d are null", f.n, f.nulls)
	}
	f.buffers, f.views = [3]arrowBuffer{}, f.views[:0]
	for k := range f.kinds(r.v4) {
		if err := r.next(&f.buffers[k]); err != nil {
			return err
		}
	}
	if f.words != nil {
		return nil
	}
	if f.kind == arrowBinaryView || f.kind == arrowUTF8View {
		return r.bindViews(f)
	}
	for _, child := range f.children {
		if err := r.bind(child); err != nil {
			return err
		}
	}
	return nil
}

// kinds is how many buffers a field has.
func (f *arrowField) kinds(v4 bool) int {
	n := 2
	switch f.kind {
	case arrowNull, arrowRunEnds:
		return 0
	case arrowStruct, arrowFixedList:
		n = 1
	case arrowUnion:
		if n = 1; f.dense {
			n = 2
		}
		if v4 {
			n++
		}
	case arrowBinary, arrowUTF8, arrowLargeBinary, arrowLargeUTF8, arrowListView, arrowLargeListView:
		n = 3
	}
	return n
}

func (r *arrowRecord) bindViews(f *arrowField) error {
	if r.variadics--; r.variadics < 0 {
		return errArrowShort
	}
	n := r.meta.longAt(r.variadic)
	if r.variadic += 8; n < 0 || n > int64(r.buffers) {
		return errArrowShort
	}
	for range n {
		var b arrowBuffer
		if err := r.next(&b); err != nil {
			return err
		}
		f.views = append(f.views, b)
	}
	return nil
}

// next takes the next buffer.
func (r *arrowRecord) next(b *arrowBuffer) error {
	if r.buffers--; r.buffers < 0 {
		return errArrowShort
	}
	at, size := r.meta.longAt(r.buffer), r.meta.longAt(r.buffer+8)
	if r.buffer += 16; at < 0 || size < 0 || at > r.body.size || size > r.body.size-at {
		return fmt.Errorf("damaged: got a buffer of %d bytes at %d of a body of %d", size, at, r.body.size)
	}
	*b = arrowBuffer{r.body.at + at, size}
	return nil
}

// check compares the sizes of a part's buffers with the numbers of its values.
func (p *arrowPart) check() error {
	if p.why != "" {
		return nil
	}
	n := int64(-1)
	for _, f := range slices.Concat(p.above, p.path, []*arrowField{p.leaf}) {
		if err := f.check(); err != nil {
			return err
		}
		if f.n < n {
			return fmt.Errorf("damaged: got %d values in %d structs", f.n, n)
		}
		if n = -1; f.kind == arrowStruct {
			n = f.n
		}
		if f.kind == arrowFixedList && f.step > 0 && f.children[0].n/f.step < f.n {
			return fmt.Errorf("damaged: got %d values in %d lists of %d", f.children[0].n, f.n, f.step)
		}
	}
	return nil
}

// check compares the sizes of a field's buffers with the number of its values.
func (f *arrowField) check() error {
	if f.nulls > 0 && f.buffers[0].size < (f.n+7)/8 {
		return fmt.Errorf("damaged: got %d bytes that say which of %d values are null", f.buffers[0].size, f.n)
	}
	each, n := f.width, f.n
	switch w := f.offsets(); {
	case f.words == nil && w > 0:
		each, n = w, f.n+1
	case f.words == nil && (f.kind == arrowBinaryView || f.kind == arrowUTF8View):
		each = arrowView
	case f.words == nil && f.kind == arrowBool:
		each, n = 1, (f.n+7)/8
	}
	if each > 0 && f.n > 0 && f.buffers[1].size/each < n {
		return fmt.Errorf("damaged: got %d bytes, want %d of %d each", f.buffers[1].size, n, each)
	}
	return nil
}

// offsets is the width of a field's offsets; 0: it has none.
func (f *arrowField) offsets() int64 {
	switch f.kind {
	case arrowBinary, arrowUTF8, arrowList:
		return 4
	case arrowLargeBinary, arrowLargeUTF8, arrowLargeList:
		return 8
	}
	return 0
}
