package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// An ArrayRecord is a file of Riegeli's whose last block is a chunk of its own, the postscript, which says where the footer begins: a chunk of messages of Protocol
// Buffers, the first with the numbers of chunks and records, and one for each chunk: where it begins and how many records it has. From these alone the index is made.
// A sample is a record, its member in the index the chunk that it lies in, with its place there as the number. What its parts are is known when it is read: the
// features of an Example, as of TFRecords, or else, where the first records are none, all of it. The index has the names of parts that the first records have.
//
// Labels have to be known before samples are read. Where there are some, and they are wanted, another index is made, which has them, by a pass over all records.
const (
	arrayMagic   = 0x71930e704fdae05e
	arrayVersion = 1

	arrayPart = "\x00c" // a mark alone, as recordPart is: the chunk that has the record
	rawRecord = "record/bytes"
	rawPart   = "record" + encodedMark + rawRecord

	arrayEnd   = 4 * riegeliBlock // what is read of the end, where most files have their footers, and of the beginning
	arrayFirst = 64               // records that are looked at for the names of parts
)

// arrayEndings are those of ArrayRecords.
var arrayEndings = []string{".array_record", ".arrayrecord"}

// isArrayRecord says that an ending is ArrayRecord's: that of x.array_record, or of x.array_record-00000-of-00004.
func isArrayRecord(ending string) bool {
	return strings.HasPrefix(ending, arrayEndings[0]) || strings.HasPrefix(ending, arrayEndings[1])
}

// arrayIndex is the work of indexing an ArrayRecord.
type arrayIndex struct {
	w      *window
	b      *indexBuilder
	chunk  uint16
	label  string      // the part that labels are looked for in; "": they are not
	of     recordChunk // the chunk read last
	stored []byte      // its memory
}

// arrayChunk is a chunk as the footer has it.
type arrayChunk struct{ at, end, records int64 }

// buildArrayIndex makes the index of an ArrayRecord, with the labels in a part, or without: "".
func buildArrayIndex(ctx context.Context, w *window, label string) (*indexBuilder, error) {
	a := arrayIndex{w: w, b: newIndexBuilder(), label: label}
	var err error
	if a.chunk, err = a.b.part([]byte(arrayPart)); err != nil {
		return nil, err
	}
	footer, err := a.readFooter()
	if err != nil {
		return nil, err
	}
	if err := a.nameParts(ctx, footer); err != nil {
		return nil, err
	}
	n := int64(0)
	err = footer.each(func(c arrayChunk) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.take(n, c); err != nil {
			return fmt.Errorf("chunk at %d, of records %d to %d: %w", c.at, n, n+c.records-1, err)
		}
		n += c.records
		return nil
	})
	return a.b, err
}

// arrayFooter are the messages of a footer.
type arrayFooter struct {
	of      recordChunk
	begins  int64
	records int64
}

var errNoArrayRecord = errors.New("its last 64 KiB are no postscript of ArrayRecord's; it is truncated, was not closed by its writer, or is a file of Riegeli's without a footer: write or copy it again (ArrayRecordWriter, and its close)")

// readFooter reads a file's end.
func (a *arrayIndex) readFooter() (*arrayFooter, error) {
	size := a.w.size
	if size > maxArchive {
		return nil, fmt.Errorf("got %d bytes, want at most %d; split the file", size, int64(maxArchive))
	}
	if size < 2*riegeliBlock || size%riegeliBlock != 0 {
		return nil, fmt.Errorf("got %d bytes, want a multiple of %d, as ArrayRecords have: %w", size, riegeliBlock, errNoArrayRecord)
	}
	last := size - riegeliBlock
	if _, err := a.w.bytes(max(size-arrayEnd, 0), int(min(size, arrayEnd))); err != nil {
		return nil, err
	}
	if err := a.read(last, size); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoArrayRecord, err)
	}
	f := &arrayFooter{begins: -1}
	if magic := uint64(0); a.of.n() > 0 {
		err := eachVarint(a.of.record(0), func(number, v uint64) {
			switch number {
			case 1:
				f.begins = int64(v)
			case 2:
				magic = v
			}
		})
		if err != nil || magic != arrayMagic {
			return nil, errNoArrayRecord
		}
	}
	if f.begins < riegeliBlockHead+riegeliHead || f.begins >= last {
		return nil, fmt.Errorf("damaged: its footer begins at %d of %d bytes; write or copy it again", f.begins, last)
	}
	if err := a.read(f.begins, last); err != nil {
		return nil, fmt.Errorf("footer at %d: %w", f.begins, err)
	}
	f.of, a.of, a.stored = a.of, recordChunk{}, nil
	return f, f.check()
}

// read reads and unpacks the chunk that begins a range of the file.
func (a *arrayIndex) read(from, to int64) error {
	if to-from > maxChunk {
		return errLargeChunk("has", to-from, maxChunk)
	}
	data, err := a.w.bytes(from, int(to-from))
	if err != nil {
		return &unreadError{cutShort(err, a.w.size)}
	}
	a.stored = append(a.stored[:0], data...)
	return a.of.take(a.stored, from)
}

// unreadError is why a range of a file could not be read, where other errors are of what was.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// eachVarint calls take with every number of a message that is a varint.
func eachVarint(data []byte, take func(number, v uint64)) error {
	for len(data) > 0 {
		tag, _, rest, err := nextField(data)
		if err != nil {
			return err
		}
		if tag&7 == wireVarint {
			_, n := binary.Uvarint(data)
			v, _ := binary.Uvarint(data[n:])
			take(tag>>3, v)
		}
		data = rest
	}
	return nil
}

var errFooter = errors.New("damaged: its footer is no list of chunks; write or copy it again")

// check looks at the footer's first message.
func (f *arrayFooter) check() error {
	if f.of.n() == 0 {
		return errFooter
	}
	version, chunks, records, found := uint64(0), uint64(0), uint64(0), false
	err := eachSized(f.of.record(0), 1, func(field []byte) error {
		found = true
		return eachVarint(field, func(number, v uint64) {
			switch number {
			case 1:
				version = v
			case 2:
				chunks = v
			case 3:
				records = v
			}
		})
	})
	switch {
	case err != nil || !found:
		return errFooter
	case version != arrayVersion:
		return fmt.Errorf("got ArrayRecord of version %d, want %d; write it with an array_record that does", version, arrayVersion)
	case chunks != uint64(f.of.n()-1):
		return fmt.Errorf("damaged: its footer says that it has %d chunks, and lists %d; write or copy it again", chunks, f.of.n()-1)
	case records > uint64(f.begins):
		return fmt.Errorf("damaged: its footer says that it has %d records, in %d bytes; write or copy it again", records, f.begins)
	}
	f.records = int64(records)
	return nil
}

// each calls take with every chunk.
func (f *arrayFooter) each(take func(arrayChunk) error) error {
	total := int64(0)
	next, err := f.chunk(1)
	for k := 1; k < f.of.n() && err == nil; k++ {
		c := next
		c.end = f.begins
		if k+1 < f.of.n() {
			if next, err = f.chunk(k + 1); err != nil {
				break
			}
			c.end = next.at
		}
		if c.at < riegeliBlockHead+riegeliHead || c.end <= c.at || c.end > f.begins || c.records < 1 || c.records > c.end-c.at {
			return fmt.Errorf("damaged: by its footer chunk %d has %d records and lies from %d to %d of %d; write or copy it again", k-1, c.records, c.at, c.end, f.begins)
		}
		total += c.records
		err = take(c)
	}
	if err == nil && total != f.records {
		err = fmt.Errorf("damaged: its footer says that it has %d records, and its chunks have %d; write or copy it again", f.records, total)
	}
	return err
}

// chunk is the one of a message, without its end.
func (f *arrayFooter) chunk(k int) (c arrayChunk, err error) {
	if k >= f.of.n() {
		return c, nil
	}
	c.at = -1
	err = eachVarint(f.of.record(k), func(number, v uint64) {
		switch v = min(v, math.MaxInt64); number {
		case 1:
			c.at = int64(v)
		case 3:
			c.records = int64(v)
		}
	})
	if err != nil {
		err = errFooter
	}
	return c, err
}

var errEnough = errors.New("enough")

// nameParts looks at the first records: they are Examples, all of them, or have one part. A chunk that is damaged is passed over where another is not.
func (a *arrayIndex) nameParts(ctx context.Context, f *arrayFooter) error {
	from, n, at := int64(-1), 0, int64(0)
	first := newIndexBuilder()
	var bad error
	seen := false
	err := f.each(func(c arrayChunk) error {
		if from < 0 {
			from = c.at
			if _, err := a.w.bytes(from, int(min(arrayEnd, f.begins-from))); err != nil { // all that is looked at in one read
				return err
			}
		}
		if (seen || bad != nil) && c.end > from+arrayEnd || n >= arrayFirst || ctx.Err() != nil {
			return errEnough
		}
		at += c.records
		if err := a.readChunk(c); err != nil {
			err = fmt.Errorf("chunk at %d, of records %d to %d: %w", c.at, at-c.records, at-1, err)
			if bad = cmp.Or(bad, err); errors.Is(err, errTransposed) || isUnread(err) {
				return err
			}
			return nil
		}
		seen = true
		for k := range min(a.of.n(), arrayFirst) {
			if first.example(messageIn(a.of.record(k))) != nil {
				first.parts = nil
				return errEnough
			}
		}
		n += a.of.n()
		return nil
	})
	switch {
	case err != nil && err != errEnough:
		return err
	case !seen && bad != nil:
		return bad
	}
	if first.parts == nil {
		first.parts = []string{rawPart}
	}
	for _, name := range first.parts {
		if _, err := a.b.part([]byte(name)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func isUnread(err error) bool {
	var unread *unreadError
	return errors.As(err, &unread)
}

// readChunk reads a chunk, which has to have as many records as the footer says.
func (a *arrayIndex) readChunk(c arrayChunk) error {
	err := a.read(c.at, c.end)
	if err == nil && int64(a.of.n()) != c.records {
		err = fmt.Errorf("damaged: got %d records, want %d, as the footer says; write or copy the file again", a.of.n(), c.records)
	}
	return err
}

// take adds a chunk's records, from sample n on.
func (a *arrayIndex) take(n int64, c arrayChunk) error {
	if c.end-c.at > maxChunk {
		return errLargeChunk("has", c.end-c.at, maxChunk)
	}
	labels := a.label != ""
	if labels {
		if err := a.readChunk(c); isUnread(err) {
			return err
		} else if err != nil {
			labels = false // who reads its records is told
		}
	}
	parser := exampleParser{}
	for k := range c.records {
		if err := a.b.numbered(n + k); err != nil {
			return err
		}
		m := indexMember{off: c.at, size: uint32(c.end - c.at), part: a.chunk, value: k, several: c.records > 1}
		if m.wide() {
			a.b.wide++
		}
		a.b.members = append(a.b.members, m)
		if !labels {
			continue
		}
		members, err := parser.parse(a.of.record(int(k)), a.b.partID)
		if err != nil {
			continue // who reads it is told
		}
		for _, m := range members {
			if a.b.parts[m.part] != a.label {
				continue
			}
			if m.off, m.size = 0, 0; m.wide() {
				a.b.wide++
			}
			a.b.members = append(a.b.members, m)
		}
	}
	return nil
}

// messageIn is a message that lies in memory.
func messageIn(data []byte) message {
	return message{&window{size: int64(len(data)), buf: data}, 0, int64(len(data))}
}

// exampleParser finds the features of records, whose parts are known. Its memory is used again.
type exampleParser struct{ b indexBuilder }

// parse finds those of a record, by the places of their parts. They are valid until the next call.
func (p *exampleParser) parse(record []byte, parts map[string]int) ([]indexMember, error) {
	p.b.members, p.b.partID, p.b.fixed = p.b.members[:0], parts, true
	err := p.b.example(messageIn(record))
	return p.b.members, err
}
