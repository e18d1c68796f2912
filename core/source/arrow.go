package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// A file of Arrow's IPC format is messages, one behind the other: four bytes that say so, the size of its metadata, these, and a body. The first is the schema; then
// come dictionaries and batches of rows, whose bodies are buffers, a few for each column: which values are null, where the values of different lengths begin, the values. So a
// value is a range of the file. Columns are the parts; in the index a part's name has a mark behind it that tells what they are, as of MDS. The file format (Feather V2) has a
// magic before the messages, and behind them a footer, which has the schema and where the dictionaries and batches lie, in whatever order they do.
const (
	arrowMagic   = "ARROW1"
	arrowMark    = "arrow/" // before the name of a type of Arrow's
	arrowGoesOn  = 0xffffffff
	arrowPackage = encodedMark + arrowMark + "packed" // of an index of no samples: its buffers are compressed
	arrowBlank   = encodedMark + arrowMark + "none"   // of a sample that has nothing else

	maxArrowMeta   = 64 << 20 // bytes of a message's metadata
	maxArrowValues = 1 << 28  // of a file
	arrowRows      = 4 << 10  // that are looked at at a time
)

// arrowEndings are those of names of such files.
var arrowEndings = []string{".arrow", ".arrows", ".feather", ".ipc"}

// arrowMessage is one of a file's.
type arrowMessage struct {
	version int16
	kind    uint8 // messageSchema and so on
	header  flatTable
	body    arrowBuffer
}

const (
	messageEnd = iota // of all
	messageSchema
	messageWords
	messageBatch
)

// arrowScan goes through the messages of a file.
type arrowScan struct {
	w       *window
	at, end int64 // of the messages
	schema  *arrowSchema
	v4      bool

	foot   []byte       // of the file format; nil: it is the streaming format
	blocks []arrowBlock // of that: the messages to come
	read   int64        // bytes of those that came
}

// arrowBlock is where a message lies, and where the footer says so.
type arrowBlock struct {
	at    int64
	place int
}

const (
	arrowBlockBytes = 24 // the message's place, the size of its metadata and padding, that of its body
	arrowHeadBytes  = 8  // of a file: the magic and padding
	arrowTailBytes  = 4 + len(arrowMagic)
)

// begin finds out what kind of file it is, and reads its schema.
func (s *arrowScan) begin() error {
	head, err := s.w.bytes(0, 8)
	if err != nil {
		return cutShort(err, s.w.size)
	}
	s.end = s.w.size
	switch {
	case string(head[:4]) == "FEA1":
		return errors.New("it is Feather V1, which is not read here; write it again: pyarrow.feather.write_feather(pyarrow.feather.read_table(OLD), NEW)")
	case string(head[:6]) == arrowMagic:
		return s.footer()
	}
	m, err := s.next()
	if err == nil && m.kind != messageSchema {
		err = errors.New("it does not begin with a schema; it is damaged, or no Arrow file")
	}
	if err == nil {
		s.schema, err = parseArrowSchema(m.header)
	}
	return err
}

// footer reads the file format's footer: the schema, and where dictionaries and batches lie.
func (s *arrowScan) footer() error {
	tail, err := s.w.bytes(s.w.size-int64(arrowTailBytes), arrowTailBytes)
	if err != nil || string(tail[4:]) != arrowMagic {
		return fmt.Errorf("truncated: it begins with %s and does not end so; write or copy it again", arrowMagic)
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if s.end = s.w.size - int64(arrowTailBytes) - size; s.end < arrowHeadBytes || size > maxArrowMeta {
		return fmt.Errorf("damaged: its footer has %d bytes, want less than the file, and at most %d; write or copy it again", size, maxArrowMeta)
	}
	foot, err := s.w.bytes(s.end, int(size))
	if err != nil {
		return err
	}
	s.foot = bytes.Clone(foot)
	t := newFlat(s.foot).root()
	for _, of := range []int{2, 3} { // dictionaries, batches
		for at, n := t.vector(of, arrowBlockBytes); n > 0; n-- {
			s.blocks = append(s.blocks, arrowBlock{t.longAt(at), at})
			at += arrowBlockBytes
		}
	}
	if t.err != nil {
		return t.err
	}
	s.schema, err = parseArrowSchema(t.table(1))
	return err
}

// next reads the next message; what it returns of the window is valid until more is read.
func (s *arrowScan) next() (m arrowMessage, err error) {
	if s.foot != nil {
		if len(s.blocks) == 0 {
			return m, nil
		}
		if s.at, s.blocks = s.blocks[0].at, s.blocks[1:]; s.at < arrowHeadBytes || s.at > s.end {
			return m, fmt.Errorf("damaged: its footer says that a message lies at %d, want from %d to %d", s.at, arrowHeadBytes, s.end)
		}
	}
	begins := s.at
	size, err := s.size()
	if err != nil || size == 0 {
		return m, err
	}
	if size > maxArrowMeta {
		return m, fmt.Errorf("damaged: got metadata of %d bytes, want at most %d; it is no Arrow file, or write it again", size, maxArrowMeta)
	}
	meta, err := s.w.bytes(s.at, int(size))
	if err != nil || s.at+size > s.end {
		return m, s.short(err)
	}
	t := newFlat(meta).root()
	m = arrowMessage{version: t.short(0, 0), kind: t.byte(1), header: t.table(2), body: arrowBuffer{s.at + size, t.long(3)}}
	switch {
	case t.err != nil:
		return m, t.err
	case m.version != arrowV4 && m.version != arrowV5:
		return m, fmt.Errorf("got version %d of Arrow's metadata, want V4 or V5; write it with a present library", m.version+1)
	case m.kind < messageSchema || m.kind > messageBatch || !m.header.there():
		return m, fmt.Errorf("got a message of kind %d, want a schema, a dictionary or a batch of rows; it is damaged, or no table", m.kind)
	case m.body.size < 0:
		return m, fmt.Errorf("damaged: its body has %d bytes", m.body.size)
	case m.body.size > s.end-m.body.at:
		return m, s.short(nil)
	}
	s.at, s.v4 = m.body.at+m.body.size, m.version == arrowV4
	if s.read += s.at - begins; s.read > s.w.size {
		return m, errors.New("damaged: its footer names messages that lie in each other")
	}
	return m, nil
}

// size reads that of the next message's metadata, and steps over it; 0: there are no more. Of old there was no mark before it.
func (s *arrowScan) size() (int64, error) {
	head, err := s.w.bytes(s.at, 4)
	if err != nil {
		return 0, s.short(err)
	}
	size := binary.LittleEndian.Uint32(head)
	if s.at += 4; size == arrowGoesOn {
		if head, err = s.w.bytes(s.at, 4); err != nil {
			return 0, s.short(err)
		}
		s.at += 4
		size = binary.LittleEndian.Uint32(head)
	}
	if size == 0 && s.foot != nil {
		return 0, errors.New("damaged: its footer names a message that is none")
	}
	if size == 0 && s.at != s.end {
		return 0, fmt.Errorf("got %d bytes behind its end at %d; if files were joined by cat, name them one by one", s.end-s.at, s.at)
	}
	return int64(size), nil
}

// short says that a file ends too early: within a message, or without the mark behind the last one.
func (s *arrowScan) short(err error) error {
	if err != nil && !errors.Is(err, errEnd) {
		return err
	}
	return fmt.Errorf("truncated: it ends after %d bytes, without the mark that all messages are there; write or copy it again", s.w.size)
}

// arrowBuilder makes an index of the messages.
type arrowBuilder struct {
	arrowScan
	b      *indexBuilder
	files  bool // those of lists are parts, too
	parts  []*arrowPart
	blank  uint16
	rows   int64
	values int64         // so many are left
	cells  [][]arrowCell // by part, of the rows that are looked at;
	nulls  []bool        // which of them are null,
	ranges [][2]int64    // and where the lists of a part lie
}

// buildArrowIndex finds the columns of every row of an Arrow file, until ctx ends, and, where it is asked to, the files in lists.
func buildArrowIndex(ctx context.Context, w *window, files bool) (*indexBuilder, error) {
	if w.size > maxArchive {
		return nil, fmt.Errorf("got %d bytes, want at most %d; split the file", w.size, int64(maxArchive))
	}
	a := &arrowBuilder{arrowScan: arrowScan{w: w}, b: newIndexBuilder(), files: files, values: maxArrowValues}
	if err := a.begin(); err != nil {
		return nil, err
	}
	if err := a.name(); err != nil {
		return nil, err
	}
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		begins := a.at
		m, err := a.next()
		if err == nil && m.kind == messageEnd {
			break
		}
		if err == nil {
			err = a.take(ctx, &m)
		}
		if errors.Is(err, errArrowPacked) {
			b := newIndexBuilder()
			_, err := b.part([]byte(arrowPackage))
			return b, err
		}
		if err != nil {
			return nil, fmt.Errorf("message at %d, after %d rows: %w", begins, a.rows, err)
		}
	}
	return a.b, a.settle()
}

// name makes the columns parts.
func (a *arrowBuilder) name() (err error) {
	a.parts = a.schema.parts()
	a.cells = make([][]arrowCell, len(a.parts))
	seen := map[string]bool{}
	for _, p := range a.parts {
		if seen[p.name] {
			return fmt.Errorf("column %.60q: it is there twice", p.name)
		}
		seen[p.name] = true
		// What the mark is shows only at the end: see settle.
		if p.id, err = a.b.part([]byte(p.name + encodedMark)); err != nil {
			return fmt.Errorf("column %.60q: %w", p.name, err)
		}
	}
	a.blank, err = a.b.part([]byte(arrowBlank))
	return err
}

// settle says of each part what it is.
func (a *arrowBuilder) settle() error {
	for _, p := range a.parts {
		mark := p.name + encodedMark + arrowMark + p.coding()
		if len(mark) > maxPartName && p.why == "" {
			return fmt.Errorf("column %.60q: got %d bytes of its name and type, want at most %d; rename it", p.name, len(mark), maxPartName)
		}
		a.b.parts[p.id] = mark[:min(len(mark), maxPartName)]
	}
	a.classes()
	return nil
}

// take takes a dictionary or a batch.
func (a *arrowBuilder) take(ctx context.Context, m *arrowMessage) error {
	if m.kind == messageSchema {
		return errors.New("got a second schema; if files were joined by cat, name them one by one")
	}
	if m.kind == messageWords {
		return a.takeWords(m)
	}
	r := newArrowRecord(m, m.header, a.v4)
	if err := r.bindAll(a.schema.columns); err != nil {
		return err
	}
	if r.rows > 8*m.body.size {
		return fmt.Errorf("damaged: got %d rows in %d bytes", r.rows, m.body.size)
	}
	for _, p := range a.parts {
		if err := p.check(); err != nil {
			return fmt.Errorf("column %.60q: %w", p.name, err)
		}
	}
	for from := int64(0); from < r.rows; from += arrowRows {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.block(from, int(min(arrowRows, r.rows-from))); err != nil {
			return err
		}
	}
	return nil
}

// block takes n rows of the batch in hand.
func (a *arrowBuilder) block(from int64, n int) error {
	for k, p := range a.parts {
		var err error
		if a.cells[k], err = a.read(p, from, n, a.cells[k][:0]); err != nil {
			return fmt.Errorf("column %.60q: rows from %d on: %w", p.name, a.rows, err)
		}
		if a.files && p.ofFiles() {
			if err := a.readFiles(p, from, n); err != nil {
				return fmt.Errorf("column %.60q: rows from %d on: %w", p.name, a.rows, err)
			}
			a.values -= int64(len(p.found))
		}
	}
	b := a.b
	if a.values -= int64(n) * int64(len(a.parts)+1); a.values < 0 {
		return fmt.Errorf("got more than %d values; split the file", maxArrowValues)
	}
	left := float64(a.w.size) / float64(max(a.at, 1)) // of the file, as what it has so far
	b.samples, b.members, b.keys = reserve(b.samples, 2*n, left), reserve(b.members, n*max(len(a.parts), 1), left), reserve(b.keys, 10*n, left)
	for i := range n {
		if err := b.numbered(a.rows); err != nil {
			return err
		}
		a.rows++
		first := len(b.members)
		for k, p := range a.parts {
			if p.ends != nil {
				b.members = p.files(i, b.members)
			}
			if p.why != "" || !a.cells[k][i].there {
				continue
			}
			m := a.cells[k][i].indexMember
			if m.part = p.id; m.wide() {
				b.wide++
			}
			b.members = append(b.members, m)
		}
		if len(b.members) == first {
			b.members = append(b.members, indexMember{part: a.blank})
		}
	}
	return nil
}

// reserve makes room for n elements more, and for those of the whole file, which is so many times as long as what was read of it; but not for much more than there are, as a file
// may be longer than it has rows.
func reserve[T any](s []T, n int, times float64) []T {
	const most, spare = 4, 1.02
	need := len(s) + n
	if need <= cap(s) {
		return s
	}
	return slices.Grow(s, min(int(float64(need)*max(times*spare, 1)), most*need)-len(s))
}

// takeWords takes the values of a dictionary, which come behind those that it has, or in their place.
func (a *arrowBuilder) takeWords(m *arrowMessage) error {
	words := a.schema.words[m.header.long(0)]
	if words == nil {
		return fmt.Errorf("damaged: got a dictionary %d, which no column has", m.header.long(0))
	}
	if m.header.byte(2) == 0 {
		words.cells = nil
	}
	r := newArrowRecord(m, m.header.table(1), a.v4)
	if err := r.bindAll([]*arrowField{words.value}); err != nil {
		return err
	}
	p := &arrowPart{leaf: words.value, whole: words.value.wholes()}
	if words.value.is == "" || words.value.words != nil {
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	if a.values -= r.rows; a.values < 0 || r.rows > 8*m.body.size {
		return fmt.Errorf("damaged: got %d values in %d bytes, or more than %d in all; split the file", r.rows, m.body.size, maxArrowValues)
	}
	for from := int64(0); from < r.rows; from += arrowRows {
		var err error
		if words.cells, err = a.read(p, from, int(min(arrowRows, r.rows-from)), words.cells); err != nil {
			return err
		}
	}
	return nil
}
