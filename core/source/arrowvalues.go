package source

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// arrowView is the size of a view: the length of its bytes, and these, if they are at most so many, or else which buffer has them, and where.
const (
	arrowView   = 16
	arrowInView = 12
)

// arrowCell is a value of a row.
type arrowCell struct {
	indexMember
	there bool
}

// read appends the values of n rows of a part, from one on.
func (a *arrowBuilder) read(p *arrowPart, from int64, n int, cells []arrowCell) ([]arrowCell, error) {
	if p.why != "" {
		return cells, nil
	}
	nulls := append(a.nulls[:0], make([]bool, n)...)
	a.nulls = nulls
	row := p.leaf
	if len(p.path) > 0 {
		row = p.path[0]
	}
	var without []int // rows that have not even the struct around the value
	for k, f := range append(slices.Clip(p.above), row) {
		err := a.validity(f, from, n, func(i int) {
			if nulls[i] = true; a.files && (k < len(p.above) || len(p.above) == 0) {
				without = append(without, i)
			}
		})
		if err != nil {
			return cells, err
		}
	}
	first := len(cells)
	var err error
	switch f := p.leaf; {
	case len(p.path) > 0:
		cells, err = a.readLists(p, from, nulls, cells)
	case f.words != nil:
		cells, err = a.readWords(f, from, nulls, cells)
	case f.kind == arrowBool:
		cells, err = a.readBits(f, from, n, cells)
	case f.kind == arrowBinaryView || f.kind == arrowUTF8View:
		cells, err = a.readViews(f, from, n, cells)
	case f.offsets() > 0:
		cells, err = a.readTexts(f, from, n, cells)
	default:
		cells, err = a.readNumbers(p, from, n, cells)
	}
	if err != nil {
		return cells, err
	}
	text := p.leaf.is == "binary" || p.leaf.is == "string"
	for i := range nulls {
		switch c := &cells[first+i]; {
		case nulls[i] && text && len(p.path) == 0: // null is an empty text
			*c = arrowCell{indexMember{off: p.leaf.buffers[1].at}, true}
		case nulls[i]:
			*c = arrowCell{}
		case p.whole && c.number:
			p.least, p.most = min(p.least, c.value), max(p.most, c.value)
		}
	}
	if p.leaf.is == "binary" && len(p.path) == 0 {
		for _, i := range without {
			cells[first+i].several = true
		}
	}
	return cells, nil
}

// validity calls null with each of n values that is null, from one on.
func (a *arrowBuilder) validity(f *arrowField, from int64, n int, null func(i int)) error {
	if f.nulls == 0 || n == 0 {
		return nil
	}
	bits, err := a.bits(f.buffers[0], from, n)
	for i := 0; i < n && err == nil; i++ {
		if at := int(from%8) + i; bits[at/8]>>(at%8)&1 == 0 {
			null(i)
		}
	}
	return err
}

// bits are the bytes with n bits from one on.
func (a *arrowBuilder) bits(b arrowBuffer, from int64, n int) ([]byte, error) {
	return a.part(b, from/8, (from+int64(n)+7)/8-from/8)
}

// part is a range of a buffer.
func (a *arrowBuilder) part(b arrowBuffer, from, n int64) ([]byte, error) {
	if from < 0 || n < 0 || from > b.size || n > b.size-from {
		return nil, fmt.Errorf("damaged: want %d bytes at %d of a buffer of %d", n, from, b.size)
	}
	return a.w.bytes(b.at+from, int(n))
}

// readNumbers reads values of one width.
func (a *arrowBuilder) readNumbers(p *arrowPart, from int64, n int, cells []arrowCell) ([]arrowCell, error) {
	f := p.leaf
	at := f.buffers[1].at + from*f.width
	var data []byte
	if p.whole {
		var err error
		if data, err = a.part(f.buffers[1], from*f.width, int64(n)*f.width); err != nil {
			return cells, err
		}
	}
	if f.width > math.MaxUint32 {
		return cells, errWideValue(f.width)
	}
	dtype := numberOfArrow(f.is)
	for range n {
		c := arrowCell{indexMember{off: at, size: uint32(f.width)}, true}
		if p.whole {
			if c.value, c.number = wholeOf(data[:f.width], dtype); !c.number {
				c.value = 0
			}
			data = data[f.width:]
		}
		cells, at = append(cells, c), at+f.width
	}
	return cells, nil
}

// readBits reads values of a bit. Such a one lies in a byte with others; the index has it.
func (a *arrowBuilder) readBits(f *arrowField, from int64, n int, cells []arrowCell) ([]arrowCell, error) {
	bits, err := a.bits(f.buffers[1], from, n)
	for i := 0; i < n && err == nil; i++ {
		at := from%8 + int64(i)
		cells = append(cells, arrowCell{indexMember{off: f.buffers[1].at + (from+int64(i))/8, size: 1, number: true, value: int64(bits[at/8] >> (at % 8) & 1)}, true})
	}
	return cells, err
}

// offsetsOf reads n+1 offsets of a field, from one on, and checks that they ascend and lead no further than most.
func (a *arrowBuilder) offsetsOf(f *arrowField, from int64, n int, most int64, take func(i int, from, to int64) error) error {
	w := f.offsets()
	data, err := a.part(f.buffers[1], from*w, int64(n+1)*w)
	if err != nil {
		return err
	}
	read := func(i int) int64 {
		if w == 4 {
			return int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	begin := read(0)
	for i := range n {
		end := read(i + 1)
		if begin < 0 || end < begin || end > most {
			return fmt.Errorf("damaged: value %d lies from %d to %d, want a range within %d; write or copy it again", from+int64(i), begin, end, most)
		}
		if err := take(i, begin, end); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// readTexts reads values of different lengths.
func (a *arrowBuilder) readTexts(f *arrowField, from int64, n int, cells []arrowCell) ([]arrowCell, error) {
	bytes := f.buffers[2]
	err := a.offsetsOf(f, from, n, bytes.size, func(_ int, begin, end int64) error {
		if end-begin > math.MaxUint32 {
			return errWideValue(end - begin)
		}
		cells = append(cells, arrowCell{indexMember{off: bytes.at + begin, size: uint32(end - begin)}, true})
		return nil
	})
	return cells, err
}

func errWideValue(size int64) error {
	return fmt.Errorf("got a value of %d bytes, want at most %d", size, int64(math.MaxUint32))
}

// readViews reads values that lie in their views, or in buffers of which these tell.
func (a *arrowBuilder) readViews(f *arrowField, from int64, n int, cells []arrowCell) ([]arrowCell, error) {
	views, err := a.part(f.buffers[1], from*arrowView, int64(n)*arrowView)
	le := binary.LittleEndian
	for i := 0; i < n && err == nil; i++ {
		view := views[i*arrowView:][:arrowView]
		size, off := int64(int32(le.Uint32(view))), f.buffers[1].at+(from+int64(i))*arrowView+4
		if size > arrowInView {
			which, at := int64(int32(le.Uint32(view[8:]))), int64(int32(le.Uint32(view[12:])))
			if which < 0 || which >= int64(len(f.views)) || at < 0 || size > f.views[which].size-at {
				size = -1
			} else {
				off = f.views[which].at + at
			}
		}
		if size < 0 {
			if f.nulls > 0 { // whatever stands there: if it is not null the sample lacks it
				cells = append(cells, arrowCell{})
				continue
			}
			return cells, fmt.Errorf("damaged: the view of value %d leads outside of its buffers", from+int64(i))
		}
		cells = append(cells, arrowCell{indexMember{off: off, size: uint32(size)}, true})
	}
	return cells, err
}

// readWords reads places in a dictionary.
func (a *arrowBuilder) readWords(f *arrowField, from int64, nulls []bool, cells []arrowCell) ([]arrowCell, error) {
	places, err := a.part(f.buffers[1], from*f.width, int64(len(nulls))*f.width)
	for i := 0; i < len(nulls) && err == nil; i++ {
		var wide [8]byte
		copy(wide[:], places[:f.width])
		places = places[f.width:]
		place := binary.LittleEndian.Uint64(wide[:])
		if nulls[i] {
			cells = append(cells, arrowCell{})
			continue
		}
		if place >= uint64(len(f.words.cells)) {
			return cells, fmt.Errorf("damaged: value %d is number %d of a dictionary of %d", from+int64(i), place, len(f.words.cells))
		}
		cells = append(cells, f.words.cells[place])
	}
	return cells, err
}

// readLists reads lists of numbers, whose elements lie one behind the other, also of lists in lists.
func (a *arrowBuilder) readLists(p *arrowPart, from int64, nulls []bool, cells []arrowCell) ([]arrowCell, error) {
	first := len(cells)
	ranges, err := a.listRanges(p.path[0], from, len(nulls))
	if err != nil {
		return cells, err
	}
	leaf := p.leaf
	for i, r := range ranges {
		cells = append(cells, arrowCell{})
		if nulls[i] {
			continue
		}
		begin, end, there, err := a.within(p, 1, r[0], r[1])
		if err != nil {
			return cells, fmt.Errorf("row %d: %w", a.rows+int64(i), err)
		}
		size, at, m := (end-begin)*leaf.width, begin*leaf.width, indexMember{}
		if leaf.kind == arrowBool {
			size, at = (end+7)/8-begin/8, begin/8
			m.number, m.value = true, bitRange(begin%8, end-begin)
		}
		if size > math.MaxUint32 {
			return cells, errWideValue(size)
		}
		m.off, m.size = leaf.buffers[1].at+at, uint32(size)
		cells[first+i] = arrowCell{m, there}
	}
	return cells, nil
}

// listRanges is where the elements of n lists lie, from one on.
func (a *arrowBuilder) listRanges(f *arrowField, from int64, n int) ([][2]int64, error) {
	ranges := a.ranges[:0]
	take := func(_ int, begin, end int64) error {
		ranges = append(ranges, [2]int64{begin, end})
		return nil
	}
	var err error
	if f.kind == arrowFixedList {
		for i := range int64(n) {
			_ = take(0, (from+i)*f.step, (from+i+1)*f.step)
		}
	} else {
		err = a.offsetsOf(f, from, n, f.children[0].n, take)
	}
	a.ranges = ranges
	return ranges, err
}

// within is where the numbers lie that are in some fields of a path, from one to another: there is false where one of these is null.
func (a *arrowBuilder) within(p *arrowPart, deep int, from, to int64) (begin, end int64, there bool, err error) {
	f := p.leaf
	if deep < len(p.path) {
		f = p.path[deep]
	}
	if there, err = a.noNulls(f, from, to); err != nil || !there || f == p.leaf || p.why != "" {
		return from, to, there, err
	}
	switch begin, end = from, to; f.kind {
	case arrowStruct:
	case arrowFixedList:
		begin, end = from*f.step, to*f.step
	default:
		if begin, end, err = a.even(p, deep, from, to); err != nil {
			return 0, 0, false, err
		}
	}
	return a.within(p, deep+1, begin, end)
}

// even goes through lists that have to be equally long, as a row is an array. Where they are not the column is none of those that are read.
func (a *arrowBuilder) even(p *arrowPart, deep int, from, to int64) (begin, end int64, err error) {
	f, length := p.path[deep], &p.dims[deep]
	begun := false
	for at := from; at < to; at += arrowRows {
		err := a.offsetsOf(f, at, int(min(arrowRows, to-at)), f.children[0].n, func(_ int, b, e int64) error {
			if !begun {
				begin, begun = b, true
			}
			if end = e; *length < 0 {
				*length = e - b
			}
			if e-b != *length {
				p.why = p.path[0].shown + " of several lengths in a list"
			}
			return nil
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return begin, end, nil
}

// noNulls says that no value of a range is null.
func (a *arrowBuilder) noNulls(f *arrowField, from, to int64) (all bool, err error) {
	if all = true; f.nulls == 0 {
		return all, nil
	}
	for at := from; at < to && all && err == nil; at += arrowRows {
		err = a.validity(f, at, int(min(arrowRows, to-at)), func(int) { all = false })
	}
	return all, err
}
