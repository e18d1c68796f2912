package array

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

const (
	npyMagic  = "\x93NUMPY"
	maxHeader = 1 << 20
	maxDims   = 32 // NumPy's own limit until version 2
)

// Array is a dense array as a file holds it.
type Array struct {
	DType   tensor.DType // of an element; U8 for booleans
	Bool    bool         // elements are booleans: 0 or 1
	Shape   tensor.Shape // row-major names of the dimensions: Shape[0] is the outermost, whatever the order in memory
	Fortran bool         // the first index runs fastest in Data
	Swapped bool         // the elements are big-endian
	Data    []byte       // the elements, in memory of the file; len == cap
}

// ParseNPY reads the bytes of a .npy file.
func ParseNPY(b []byte) (Array, error) {
	var a Array
	err := a.Parse(b)
	return a, err
}

// MaxHeaderBytes is how much of a .npy file ParseHeader may have to see.
const MaxHeaderBytes = len(npyMagic) + 6 + maxHeader

// ParseHeader reads the beginning of a .npy file, at most MaxHeaderBytes of it: an array without Data, and where in the file its elements begin.
func ParseHeader(b []byte) (a Array, at int64, err error) {
	h := header{}
	n, err := h.read(b)
	if err == nil {
		err = h.typed(&a)
	}
	if err != nil {
		return Array{}, 0, fmt.Errorf("array: npy: %w", err)
	}
	a.Shape, a.Fortran = h.shape, h.fortran
	return a, int64(n), nil
}

// Parse is ParseNPY into an array whose Shape's memory is used again. After an error a is empty.
func (a *Array) Parse(b []byte) error {
	shape := a.Shape[:0]
	*a = Array{}
	h := header{shape: shape}
	at, err := h.read(b)
	if err == nil {
		err = h.typed(a)
	}
	var size int64
	if err == nil {
		a.Shape, a.Fortran = h.shape, h.fortran
		size, err = a.Shape.Bytes(a.DType)
	}
	if err == nil && int64(len(b)-at) < size {
		err = fmt.Errorf("truncated: got %d bytes of elements, want %d for %v of %v", len(b)-at, size, a.Shape, a.DType)
	}
	if err != nil {
		*a = Array{Shape: shape}
		return fmt.Errorf("array: npy: %w", err)
	}
	end := at + int(size)
	a.Data = b[at:end:end]
	return nil
}

// header is what an .npy file says before its elements.
type header struct {
	descr   []byte
	fortran bool
	shape   tensor.Shape
	has     [3]bool // descr, fortran_order, shape
}

// read parses the header and returns where the elements begin.
func (h *header) read(b []byte) (at int, err error) {
	if len(b) < len(npyMagic)+4 || string(b[:len(npyMagic)]) != npyMagic {
		return 0, fmt.Errorf("got %q first, want %q: no .npy file", b[:min(len(b), len(npyMagic))], npyMagic)
	}
	var n int
	switch major := b[6]; {
	case major == 1:
		n, at = int(binary.LittleEndian.Uint16(b[8:])), 10
	case (major == 2 || major == 3) && len(b) >= 12:
		n, at = int(binary.LittleEndian.Uint32(b[8:])), 12
	case major == 2 || major == 3:
		return 0, errors.New("truncated in its header")
	default:
		return 0, fmt.Errorf("got format version %d.%d, want 1.0, 2.0 or 3.0", b[6], b[7])
	}
	if n > maxHeader {
		return 0, fmt.Errorf("got a header of %d bytes, want at most %d", n, maxHeader)
	}
	if n > len(b)-at {
		return 0, fmt.Errorf("truncated: got %d bytes of the header, want %d", len(b)-at, n)
	}
	p := literal{text: b[at : at+n]}
	if err := h.dictionary(&p); err != nil {
		return 0, fmt.Errorf("header %.200q: %w", bytes.TrimSpace(p.text), err)
	}
	return at + n, nil
}

// dictionary reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } in any order of the keys.
func (h *header) dictionary(p *literal) error {
	if !p.take('{') {
		return errors.New("want a dictionary")
	}
	for !p.take('}') {
		key, ok := p.quoted()
		if !ok || !p.take(':') {
			return errors.New("want 'descr', 'fortran_order' and 'shape'")
		}
		if err := h.entry(p, key); err != nil {
			return err
		}
		if !p.take(',') && !p.next('}') {
			return errors.New("want ',' or '}' after a value")
		}
	}
	if p.skip(); p.at != len(p.text) {
		return errors.New("got more after the dictionary")
	}
	if h.has != [3]bool{true, true, true} {
		return errors.New("want 'descr', 'fortran_order' and 'shape'")
	}
	return nil
}

func (h *header) entry(p *literal, key []byte) (err error) {
	k := -1
	switch string(key) {
	case "descr":
		k = 0
		var ok bool
		if h.descr, ok = p.quoted(); !ok {
			err = errors.New("descr: got a structure, want one type such as '<f4'")
		}
	case "fortran_order":
		k = 1
		h.fortran = p.word("True")
		if !h.fortran && !p.word("False") {
			err = errors.New("fortran_order: want True or False")
		}
	case "shape":
		k = 2
		err = h.dimensions(p)
	default:
		return fmt.Errorf("got the key %.40q, want descr, fortran_order and shape", key)
	}
	if err == nil && h.has[k] {
		err = fmt.Errorf("%s is there twice", key)
	}
	h.has[k] = true
	return err
}

// dimensions reads a tuple of whole numbers: (), (3,), (2, 3).
func (h *header) dimensions(p *literal) error {
	if !p.take('(') {
		return errors.New("shape: want a tuple of whole numbers")
	}
	for !p.take(')') {
		n, ok := p.number()
		if !ok {
			return errors.New("shape: want a tuple of whole numbers")
		}
		if h.shape = append(h.shape, n); len(h.shape) > maxDims {
			return fmt.Errorf("shape: got more than %d dimensions", maxDims)
		}
		if !p.take(',') && !p.next(')') {
			return errors.New("shape: want ',' or ')' after a number")
		}
	}
	return nil
}

// typed says the header's type in our words.
func (h *header) typed(a *Array) error {
	d := h.descr
	if len(d) < 2 || !strings.ContainsRune("<>|=", rune(d[0])) {
		return fmt.Errorf("descr: got %.40q, want a type such as '<f4'", d)
	}
	code, known := codeOf(d[1])
	size, err := strconv.Atoi(string(d[2:]))
	a.Bool = string(d[1:]) == "b1"
	switch {
	case a.Bool:
		a.DType = tensor.U8
	case !known:
		return fmt.Errorf("descr: got %.40q (%s), want booleans, whole numbers or floats of 8 to 64 bits", d, kindOf(d[1]))
	case err == nil && size >= 1 && size <= 8:
		a.DType = tensor.DType(uint32(code) | uint32(size)<<11 | 1<<16)
	}
	if !a.DType.Valid() {
		return fmt.Errorf("descr: got %.40q, want booleans, whole numbers or floats of 8 to 64 bits", d)
	}
	a.Swapped = d[0] == '>' && a.DType.Bytes() > 1
	return nil
}

// codeOf is DLPack's code of NumPy's letter for a kind of number.
func codeOf(c byte) (code uint8, known bool) {
	switch c {
	case 'i':
		return tensor.CodeInt, true
	case 'u':
		return tensor.CodeUint, true
	case 'f':
		return tensor.CodeFloat, true
	}
	return 0, false
}

func kindOf(c byte) string {
	if kind, ok := map[byte]string{'O': "objects, which only Python can read", 'U': "text", 'S': "text", 'a': "text", 'c': "complex numbers",
		'V': "structures or bytes", 'M': "dates", 'm': "times", 'b': "bits"}[c]; ok {
		return kind
	}
	return "which is not known"
}

// literal reads the few kinds of Python literal that a header has.
type literal struct {
	text []byte
	at   int
}

func (p *literal) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\f", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next tells whether a byte comes next.
func (p *literal) next(c byte) bool {
	p.skip()
	return p.at < len(p.text) && p.text[p.at] == c
}

// take is next that steps over the byte.
func (p *literal) take(c byte) bool {
	if !p.next(c) {
		return false
	}
	p.at++
	return true
}

func (p *literal) word(w string) bool {
	p.skip()
	if !bytes.HasPrefix(p.text[p.at:], []byte(w)) {
		return false
	}
	p.at += len(w)
	return true
}

// quoted is a text without escapes, in the literal's memory.
func (p *literal) quoted() ([]byte, bool) {
	p.skip()
	if p.at == len(p.text) || p.text[p.at] != '\'' && p.text[p.at] != '"' {
		return nil, false
	}
	text, _, closed := bytes.Cut(p.text[p.at+1:], p.text[p.at:p.at+1])
	if !closed || bytes.IndexByte(text, '\\') >= 0 {
		return nil, false
	}
	p.at += len(text) + 2
	return text, true
}

// number is a whole number from 0, with the L that Python 2 wrote behind it.
func (p *literal) number() (int64, bool) {
	p.skip()
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	n, err := strconv.ParseInt(string(p.text[from:p.at]), 10, 64)
	if p.at < len(p.text) && p.text[p.at] == 'L' {
		p.at++
	}
	return n, err == nil
}
