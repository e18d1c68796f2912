package sampler

import (
	"fmt"
	"math"
	"slices"
)

// packWindow is how many documents are looked at together: enough that hardly any room is left over, and few enough to be held at once.
const packWindow = 1 << 16

// MaxPackLength is the most that a row of documents may have.
const MaxPackLength = 1 << 24

// PackConfig says how documents are put into rows of one length.
type PackConfig struct {
	Documents int64
	Length    int64                      // of a row, 1 to MaxPackLength
	At        func(place int64) int64    // the document at a place of the order in which they are taken
	Lengths   func(document int64) int64 // 0 or more
	Truncate  bool                       // what a document has beyond the row's length is left out; else it goes on as a piece of its own
	Wrapped   bool                       // documents stand one behind the other, and rows are cut off that; else they are whole where they fit
}

// Packing says which documents are in which row. It is a pure function of its config: the same on every machine, at every world size and in every epoch.
// It holds 4 bytes a document and a row, and 4 more a document where some are cut.
type Packing struct {
	PackConfig
	documents []uint32 // of each piece, row by row
	from      []uint32 // where each begins in its document; nil: all at the beginning
	ends      []uint32 // of each row, in pieces
}

// Pack plans rows. Documents are taken in their order, some at a time, and of these the longest goes first into the fullest row that has room for it
// (best-fit decreasing). Within a row, and among rows by their first, they keep their order. A document of length 0 is in no row.
func Pack(c PackConfig) (*Packing, error) {
	if c.Length < 1 || c.Length > MaxPackLength {
		return nil, fmt.Errorf("got rows of %d, want 1 to %d", c.Length, MaxPackLength)
	}
	pieces, cut := c.pieces()
	if most := int64(math.MaxUint32); pieces > most || c.Documents > most {
		return nil, fmt.Errorf("got %d pieces of %d documents, want at most %d; pack parts of the data set by themselves, in rings or runs of their own", pieces, c.Documents, most)
	}
	p := &Packing{PackConfig: c, documents: make([]uint32, 0, pieces)}
	if cut {
		p.from = make([]uint32, 0, pieces)
	}
	if c.Wrapped {
		p.wrap()
	} else {
		p.fit()
	}
	return p, nil
}

// pieces is how many there are at most, and whether some do not begin where their documents do.
func (c *PackConfig) pieces() (n int64, cut bool) {
	total := int64(0)
	for document := range c.Documents {
		length := c.Lengths(document)
		total += length
		switch {
		case length == 0:
		case c.Wrapped || c.Truncate:
			n++
		default:
			n += (length-1)/c.Length + 1
			cut = cut || length > c.Length
		}
	}
	if c.Wrapped {
		return n + total/c.Length, true
	}
	return n, cut
}

// Rows is how many there are.
func (p *Packing) Rows() int64 { return int64(len(p.ends)) }

// Pieces are those of a row, as places for Piece: [first, end).
func (p *Packing) Pieces(row int64) (first, end int64) {
	if row > 0 {
		first = int64(p.ends[row-1])
	}
	return first, int64(p.ends[row])
}

// Piece is the document of a piece, and where it begins there. It ends with the document or with its row, whichever comes first.
func (p *Packing) Piece(k int64) (document, from int64) {
	if p.from != nil {
		from = int64(p.from[k])
	}
	return int64(p.documents[k]), from
}

// put appends a piece to the row in hand.
func (p *Packing) put(document, from int64) {
	p.documents = append(p.documents, uint32(document))
	if p.from != nil {
		p.from = append(p.from, uint32(from))
	}
}

// endRow ends the row in hand.
func (p *Packing) endRow() { p.ends = append(p.ends, uint32(len(p.documents))) }

// wrap cuts rows off the documents as they stand one behind the other.
func (p *Packing) wrap() {
	room := p.Length
	for place := range p.Documents {
		document := p.At(place)
		for from, length := int64(0), p.Lengths(document); from < length; {
			n := min(length-from, room)
			p.put(document, from)
			from += n
			if room -= n; room == 0 {
				p.endRow()
				room = p.Length
			}
		}
	}
	if room < p.Length {
		p.endRow()
	}
}

// packPiece is a piece that has no row yet.
type packPiece struct{ document, from, length int64 }

// fit packs the documents, a window of them at a time.
func (p *Packing) fit() {
	w := &packing{Packing: p, rooms: newRooms(p.Length)}
	for place := range p.Documents {
		document := p.At(place)
		left, from := p.Lengths(document), int64(0)
		if p.Truncate {
			left = min(left, p.Length)
		}
		for ; left > 0; left, from = left-p.Length, from+p.Length {
			w.pieces = append(w.pieces, packPiece{document, from, min(left, p.Length)})
		}
		if len(w.pieces) >= packWindow {
			w.flush()
		}
	}
	w.flush()
}

// packing is a window of pieces on their way into rows.
type packing struct {
	*Packing
	pieces []packPiece
	rooms  *rooms
	keys   []uint64 // of the pieces: longest first, then by place
	rows   []int32  // of each piece
	places []int32  // of the rows, among those of the window: by their first piece
	starts []int32  // of each of those, among the window's pieces
}

// flush gives every piece of the window its row, and writes the rows.
func (w *packing) flush() {
	n := len(w.pieces)
	w.keys, w.rows = w.keys[:0], slices.Grow(w.rows[:0], n)[:n]
	for k := range w.pieces {
		w.keys = append(w.keys, uint64(w.Length-w.pieces[k].length)<<32|uint64(k))
	}
	slices.Sort(w.keys)
	for _, key := range w.keys {
		k := int(uint32(key))
		w.rows[k] = w.rooms.take(w.pieces[k].length)
	}
	w.write(w.rooms.reset())
	w.pieces = w.pieces[:0]
}

// write appends the window's rows, ordered by their first pieces, each with its pieces in their order.
func (w *packing) write(rows int) {
	w.places, w.starts = slices.Grow(w.places[:0], rows)[:rows], append(w.starts[:0], 0)
	for row := range w.places {
		w.places[row] = -1
	}
	sizes := w.starts
	for _, row := range w.rows {
		if w.places[row] < 0 {
			w.places[row] = int32(len(sizes) - 1)
			sizes = append(sizes, 0)
		}
		sizes[w.places[row]+1]++
	}
	w.starts = sizes
	order := w.keys[:len(w.rows)]
	next := int32(0)
	for place := range rows { // from sizes to where each row begins
		size := w.starts[place+1]
		w.starts[place], next = next, next+size
	}
	for k, row := range w.rows {
		at := &w.starts[w.places[row]]
		order[*at] = uint64(w.places[row])<<32 | uint64(k)
		*at++
	}
	for i, key := range order {
		if i > 0 && key>>32 != order[i-1]>>32 {
			w.endRow()
		}
		piece := &w.pieces[uint32(key)]
		w.put(piece.document, piece.from)
	}
	if len(order) > 0 {
		w.endRow()
	}
}
