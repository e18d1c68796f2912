package media

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// Outlines are the outlines of the objects in a picture, as COCO's annotations have them in JSON: a list with one of each object, which is a list of
// polygons, [x, y, x, y, ...], of which a mask has all, or runs, {"size": [height, width], "counts": ...}, down the picture's columns, of 0 and of 1 by turns, as a list of
// numbers or packed into a text. Its memory is kept for the next picture's.
type Outlines struct {
	text    []byte    // what is left to be read
	numbers []float64 // of polygons
	runs    []uint32
	shapes  []outline // polygons and runs, of all objects
	ends    []int     // in shapes, of each object
}

// outline is a polygon, or runs.
type outline struct {
	first, end int  // of numbers, or of runs
	size       Size // of the picture that has the runs; zero: a polygon
}

// minPolygon is how many numbers a polygon has at least.
const minPolygon = 6

// Len is how many objects there are.
func (o *Outlines) Len() int { return len(o.ends) }

// Read reads the outlines of another picture. What is wrong is said with the object's number.
func (o *Outlines) Read(text []byte) error {
	*o = Outlines{text: text, numbers: o.numbers[:0], runs: o.runs[:0], shapes: o.shapes[:0], ends: o.ends[:0]}
	err := o.each(func() error {
		if err := o.object(); err != nil {
			return fmt.Errorf("outline %d: %w", len(o.ends), err)
		}
		o.ends = append(o.ends, len(o.shapes))
		return nil
	}, "a list with the outlines of each object")
	if o.blanks(); err == nil && len(o.text) > 0 {
		err = fmt.Errorf("got %.20q behind the list", o.text)
	}
	return err
}

// fit refuses runs of a picture of another size.
func (o *Outlines) fit(seen Size) error {
	from := 0
	for i, end := range o.ends {
		for _, s := range o.shapes[from:end] {
			if s.size != (Size{}) && s.size != seen {
				return fmt.Errorf("outline %d: got size [%d, %d], want the picture's, [%d, %d]", i, s.size.H, s.size.W, seen.H, seen.W)
			}
		}
		from = end
	}
	return nil
}

const outlineWant = "a list of polygons [[x, y, x, y, x, y]], or runs {\"size\": [height, width], \"counts\": ...}"

var errNoPolygon = errors.New("got no polygon, want at least one; leave out an object that has none, with its box")

// object reads what one object has.
func (o *Outlines) object() error {
	switch o.next() {
	case '{':
		return o.packed()
	case '[':
	default:
		return fmt.Errorf("got %.20q, want %s", o.text, outlineWant)
	}
	first := len(o.shapes)
	err := o.each(func() error {
		if err := o.polygon(); err != nil {
			return fmt.Errorf("polygon %d: %w", len(o.shapes)-first, err)
		}
		return nil
	}, outlineWant)
	if err == nil && len(o.shapes) == first {
		err = errNoPolygon
	}
	return err
}

func (o *Outlines) polygon() error {
	first := len(o.numbers)
	err := o.each(func() error {
		v, err := o.number()
		if err == nil {
			err = o.point(v)
		}
		return err
	}, "a list of x, y, x, y, ...")
	if err == nil {
		err = o.closes(first)
	}
	return err
}

// point takes the next number of a polygon.
func (o *Outlines) point(v float64) error {
	o.numbers = append(o.numbers, v)
	if !(math.Abs(v) <= MaxOutline) {
		return fmt.Errorf("got %g, want a pixel, from %d to %d", v, -MaxOutline, MaxOutline)
	}
	return nil
}

// closes makes a polygon of the numbers from first on.
func (o *Outlines) closes(first int) error {
	if n := len(o.numbers) - first; n < minPolygon || n%2 != 0 {
		return fmt.Errorf("got %d numbers, want x and y of each point, and %d points at least", n, minPolygon/2)
	}
	o.shapes = append(o.shapes, outline{first: first, end: len(o.numbers)})
	return nil
}

// packed reads runs.
func (o *Outlines) packed() error {
	s := outline{first: len(o.runs)}
	sized, counted := false, false
	o.take('{')
	for n := 0; !o.take('}'); n++ {
		if n > 0 && !o.take(',') {
			return fmt.Errorf("got %.20q in runs, want a comma or their end", o.text)
		}
		key, err := o.key()
		switch {
		case err != nil:
		case key == "size" && !sized:
			sized = true
			s.size, err = o.size()
		case key == "counts" && !counted && o.next() == '[':
			counted = true
			err = o.counts()
		case key == "counts" && !counted:
			counted = true
			err = o.packedCounts(s.first)
		default:
			err = fmt.Errorf("got key %.20q, want size and counts, each once", key)
		}
		if err != nil {
			return err
		}
	}
	if !sized || !counted {
		return errors.New("got runs without size or without counts, want both")
	}
	return o.comesTo(s)
}

// comesTo takes the runs from s.first on, which have to be all of their picture.
func (o *Outlines) comesTo(s outline) error {
	s.end = len(o.runs)
	o.shapes = append(o.shapes, s)
	sum, want := uint64(0), uint64(s.size.H)*uint64(s.size.W)
	for _, n := range o.runs[s.first:s.end] {
		sum += uint64(n)
	}
	if sum != want {
		return fmt.Errorf("got counts that come to %d, want %d x %d = %d", sum, s.size.H, s.size.W, want)
	}
	return nil
}

// key reads one of an object's keys, and its colon.
func (o *Outlines) key() (string, error) {
	if o.take('"') {
		if key, rest, closed := bytes.Cut(o.text, []byte{'"'}); closed {
			if o.text = rest; o.take(':') {
				return string(known(key)), nil
			}
		}
	}
	return "", fmt.Errorf("got %.20q, want \"size\" or \"counts\"", o.text)
}

// known is a key without memory of its own where it is one of those that there are.
func known(key []byte) string {
	switch string(key) {
	case "size":
		return "size"
	case "counts":
		return "counts"
	}
	return string(key)
}

func (o *Outlines) size() (s Size, err error) {
	n, sides := 0, [2]int{}
	err = o.each(func() error {
		v, err := o.whole()
		if err == nil && (v < 1 || n == len(sides)) {
			err = fmt.Errorf("got %d as number %d of size, want [height, width]", v, n)
		}
		if err == nil {
			sides[n] = int(v)
			n++
		}
		return err
	}, "size: [height, width]")
	if err == nil && n < len(sides) {
		err = fmt.Errorf("got size of %d numbers, want [height, width]", n)
	}
	return Size{H: sides[0], W: sides[1]}, err
}

func (o *Outlines) counts() error {
	return o.each(func() error {
		v, err := o.whole()
		o.runs = append(o.runs, v)
		return err
	}, "a list of counts")
}

// packedCounts reads pycocotools' text of counts.
func (o *Outlines) packedCounts(first int) error {
	if !o.take('"') {
		return fmt.Errorf("got %.20q, want counts as a list of numbers or as a text", o.text)
	}
	var p packedCount
	for {
		c, end, err := o.character()
		if err == nil && end {
			return p.end()
		}
		if err == nil {
			err = o.unpack(&p, first, c)
		}
		if err != nil {
			return err
		}
	}
}

// packedCount is what has come of a number of pycocotools' text of counts: it has 5 bits a character, from '0' on, the lowest first, the sixth bit saying that more follow, the last
// one's fifth that it is negative. From the fourth count on it is the difference to the last but one.
type packedCount struct {
	value int64
	bits  int
}

// unpack takes the next character of a text whose runs begin at first.
func (o *Outlines) unpack(p *packedCount, first int, c byte) error {
	if c < '0' || c > '0'+63 || p.bits > 30 {
		return fmt.Errorf("counts: got character %q, want pycocotools' from \"0\" to \"o\", 7 a number at most", c)
	}
	c -= '0'
	p.value |= int64(c&31) << p.bits
	if p.bits += 5; c&32 != 0 {
		return nil
	}
	if c&16 != 0 {
		p.value -= 1 << p.bits
	}
	if n := len(o.runs); n-first > 2 {
		p.value += int64(o.runs[n-2])
	}
	if p.value < 0 || p.value > math.MaxUint32 {
		return fmt.Errorf("counts: got %d as number %d, want the length of a run", p.value, len(o.runs)-first)
	}
	o.runs = append(o.runs, uint32(p.value))
	*p = packedCount{}
	return nil
}

// end refuses a text that ends within a number.
func (p *packedCount) end() error {
	if p.bits > 0 {
		return errors.New("counts: the text ends within a number")
	}
	return nil
}

// character is the next one of a text; end: it was its end.
func (o *Outlines) character() (c byte, end bool, err error) {
	switch {
	case len(o.text) == 0:
		return 0, false, errors.New("counts: the text has no end")
	case o.text[0] == '"':
		o.text = o.text[1:]
		return 0, true, nil
	case o.text[0] != '\\':
		c, o.text = o.text[0], o.text[1:]
		return c, false, nil
	case len(o.text) > 1 && o.text[1] == '\\':
		o.text = o.text[2:]
		return '\\', false, nil
	case len(o.text) > 5 && o.text[1] == 'u':
		v, err := strconv.ParseUint(unsafe.String(&o.text[2], 4), 16, 8)
		if err == nil {
			o.text = o.text[6:]
			return byte(v), false, nil
		}
	}
	return 0, false, fmt.Errorf("counts: got %.6q, want characters from \"0\" to \"o\"", o.text)
}

// each reads a list, of whose entries read takes each.
func (o *Outlines) each(read func() error, want string) error {
	if !o.take('[') {
		return fmt.Errorf("got %.20q, want %s", o.text, want)
	}
	for n := 0; !o.take(']'); n++ {
		if n > 0 && !o.take(',') {
			return fmt.Errorf("got %.20q in a list, want a comma or its end", o.text)
		}
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// digits is the text of the number that comes next.
func (o *Outlines) digits() (string, error) {
	o.blanks()
	n := 0
	for n < len(o.text) && strings.IndexByte("+-.0123456789eE", o.text[n]) >= 0 {
		n++
	}
	if n == 0 {
		return "", fmt.Errorf("got %.20q, want a number", o.text)
	}
	text := unsafe.String(&o.text[0], n)
	o.text = o.text[n:]
	return text, nil
}

func (o *Outlines) number() (float64, error) {
	text, err := o.digits()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("got %.40q, want a number", text)
	}
	return v, nil
}

// whole reads the length of a run or of a side.
func (o *Outlines) whole() (uint32, error) {
	text, err := o.digits()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("got %.40q, want a whole number from 0 on", text)
	}
	return uint32(v), nil
}

func (o *Outlines) blanks() { o.text = bytes.TrimLeft(o.text, " \t\r\n") }

// next is the byte that comes next; 0: there is none.
func (o *Outlines) next() byte {
	if o.blanks(); len(o.text) == 0 {
		return 0
	}
	return o.text[0]
}

// take steps over a byte, if it comes next.
func (o *Outlines) take(c byte) bool {
	if o.next() != c {
		return false
	}
	o.text = o.text[1:]
	return true
}
