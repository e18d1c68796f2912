package source

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// A shard of MDS, the format of MosaicML's Streaming, is a table of samples: their number and, of each, where it begins, as u32, with the end of the last; what the columns
// are, as JSON; and the samples. A sample is the sizes, as u32, of those of its columns that have none of their own, and the bytes of its columns. Columns are the
// parts. In the index a part's name has a mark behind it that tells how the column is encoded, for setEncoded to read.
const (
	mdsEnding  = ".mds"
	mdsVersion = 2
	maxMDSText = 1 << 20 // of the JSON

	offsetBytes = 4
	offsetsRead = 16 << 10 // how many are read at a time, so that they and the samples are not read in turns
)

// mdsColumns is what an MDS shard says of its columns.
type mdsColumns struct {
	Version   int      `json:"version"`
	Format    string   `json:"format"`
	Names     []string `json:"column_names"`
	Encodings []string `json:"column_encodings"`
	Sizes     []*int64 `json:"column_sizes"` // nil: each sample has its own
}

// sampleColumn is a column of a table of samples.
type sampleColumn struct {
	part uint16
	size int64 // 0: each sample has its own
	e    coding
}

// sampleTable is a table of samples whose columns are known.
type sampleTable struct {
	w       *window
	b       *indexBuilder
	columns []sampleColumn
	sized   int   // columns whose sizes each sample has
	fixed   int64 // bytes of the others
	n       int64 // samples
}

// buildMDSIndex finds the columns of every sample of an MDS shard, until ctx ends.
func buildMDSIndex(ctx context.Context, w *window) (*indexBuilder, error) {
	if w.size > math.MaxUint32 {
		return nil, errWideChunk(w.size)
	}
	c := sampleTable{w: w, b: newIndexBuilder()}
	first, err := c.head()
	if err != nil {
		return nil, err
	}
	if first-c.table() > maxMDSText {
		return nil, fmt.Errorf("damaged: what it says of its columns takes %d bytes, want at most %d; write or copy it again", first-c.table(), maxMDSText)
	}
	text, err := w.bytes(c.table(), int(first-c.table()))
	if err != nil {
		return nil, err
	}
	if err := c.describe(text); err != nil {
		return nil, err
	}
	if err := c.samples(ctx); err != nil {
		return nil, err
	}
	return c.b, nil
}

func errWideChunk(size int64) error {
	return fmt.Errorf("got %d bytes, want at most %d, as its offsets have 32 bits; write or copy it again", size, uint32(math.MaxUint32))
}

// table is the size of the number of samples and their offsets.
func (c *sampleTable) table() int64 { return offsetBytes * (c.n + 2) }

// head reads the number of samples, and where the first begins.
func (c *sampleTable) head() (first int64, err error) {
	head, err := c.w.bytes(0, 2*offsetBytes)
	if err != nil {
		return 0, cutShort(err, c.w.size)
	}
	c.n, first = int64(binary.LittleEndian.Uint32(head)), int64(binary.LittleEndian.Uint32(head[offsetBytes:]))
	switch {
	case c.table() > c.w.size:
		return 0, fmt.Errorf("truncated: got %d bytes, want %d for the offsets of its %d samples alone; write or copy it again", c.w.size, c.table(), c.n)
	case first < c.table() || first > c.w.size:
		return 0, fmt.Errorf("damaged: its samples begin at %d, want a place behind its %d bytes of offsets and within its %d bytes; write or copy it again", first, c.table(), c.w.size)
	}
	return first, nil
}

// cutShort says of a file that ends too early how long it is.
func cutShort(err error, size int64) error {
	if errors.Is(err, errEnd) {
		return fmt.Errorf("truncated: it ends after %d bytes; write or copy it again", size)
	}
	return err
}

// describe takes what an MDS shard says of its columns.
func (c *sampleTable) describe(text []byte) error {
	var of mdsColumns
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("damaged: what it says of its columns is no JSON: %w", err)
	}
	if of.Format != "mds" || of.Version != mdsVersion {
		return fmt.Errorf("got %.20q of version %d, want mds of version %d; write it with a present MDSWriter", of.Format, of.Version, mdsVersion)
	}
	if len(of.Names) == 0 || len(of.Names) != len(of.Encodings) || len(of.Names) != len(of.Sizes) {
		return fmt.Errorf("damaged: got %d names, %d encodings and %d sizes of columns, want equally many, and one or more", len(of.Names), len(of.Encodings), len(of.Sizes))
	}
	for k, name := range of.Names {
		size := int64(0)
		if of.Sizes[k] != nil {
			if size = *of.Sizes[k]; size < 1 || size > math.MaxUint32 {
				return fmt.Errorf("column %.60q: damaged: got %d bytes a sample", name, size)
			}
		}
		if err := c.column(name, of.Encodings[k], size); err != nil {
			return fmt.Errorf("column %.60q: %w", name, err)
		}
	}
	return nil
}

// column takes the next one; size is 0 where each sample has its own.
func (c *sampleTable) column(name, encoded string, size int64) error {
	if name == "" || strings.Contains(name, "\x00") {
		return errors.New("want a name of one byte or more, without zero bytes")
	}
	for _, other := range c.columns {
		if partShown(c.b.parts[other.part]) == name {
			return errors.New("it is there twice")
		}
	}
	e, err := encodingOf(encoded)
	if err != nil {
		return err
	}
	if own := e.size(); own != size && e.kind != encodedUnknown && !strings.HasPrefix(encoded, litDataMark) {
		return fmt.Errorf("damaged: got %d bytes a sample, want %d for %s (0: each sample has its own)", size, own, encoded)
	}
	part, err := c.b.part([]byte(name + encodedMark + encoded))
	if err != nil {
		return err
	}
	c.columns = append(c.columns, sampleColumn{part, size, e})
	if c.fixed += size; size == 0 {
		c.sized++
	}
	return nil
}

// samples takes all samples, which fill the file from the first to its end.
func (c *sampleTable) samples(ctx context.Context) error {
	var begin int64
	for k := int64(0); k <= c.n; k += offsetsRead {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		some, err := c.w.bytes(offsetBytes*(k+1), int(offsetBytes*min(offsetsRead, c.n+1-k)))
		if err != nil {
			return err
		}
		for i, at := k, append([]byte(nil), some...); len(at) > 0; i, at = i+1, at[offsetBytes:] {
			end := int64(binary.LittleEndian.Uint32(at))
			if i > 0 {
				if err := c.sample(i-1, begin, end); err != nil {
					return fmt.Errorf("sample %d at %d: %w", i-1, begin, err)
				}
			}
			begin = end
		}
	}
	if begin != c.w.size {
		return fmt.Errorf("damaged: its samples end at %d, the file at %d; write or copy it again", begin, c.w.size)
	}
	return nil
}

// sample takes sample k.
func (c *sampleTable) sample(k, begin, end int64) error {
	switch {
	case end > c.w.size:
		return fmt.Errorf("truncated: it reaches to %d, the file has %d bytes; write or copy it again", end, c.w.size)
	case end-begin < int64(c.sized*offsetBytes)+c.fixed:
		return fmt.Errorf("damaged: got %d bytes, want %d or more; write or copy it again", end-begin, int64(c.sized*offsetBytes)+c.fixed)
	}
	b := c.b
	if err := b.numbered(k); err != nil {
		return err
	}
	first := len(b.members)
	sizes, err := c.w.bytes(begin, c.sized*offsetBytes)
	if err != nil {
		return err
	}
	at := begin + int64(len(sizes))
	for _, column := range c.columns {
		size := column.size
		if size == 0 {
			size = int64(binary.LittleEndian.Uint32(sizes))
			sizes = sizes[offsetBytes:]
		}
		if size > end-at {
			return fmt.Errorf("damaged: column %q takes %d bytes, and %d are left; write or copy it again", partShown(b.parts[column.part]), size, end-at)
		}
		b.members = append(b.members, indexMember{off: at, size: uint32(size), part: column.part})
		at += size
	}
	if at != end {
		return fmt.Errorf("damaged: its columns take %d bytes of its %d; write or copy it again", at-begin, end-begin)
	}
	return c.numbers(b.members[first:])
}

// numbers reads what the index knows of a sample: its whole numbers.
func (c *sampleTable) numbers(members []indexMember) error {
	for k := range members {
		m := &members[k]
		if e := &c.columns[k].e; !e.whole() || m.size > maxNumberText {
			continue
		} else if text, err := c.w.bytes(m.off, int(m.size)); err != nil {
			return err
		} else if m.value, m.number = e.number(text); m.wide() {
			c.b.wide++
		}
	}
	return nil
}
