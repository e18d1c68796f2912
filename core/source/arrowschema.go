package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

// arrowKind is a type of Arrow's, by its number in a schema.
type arrowKind uint8

const (
	arrowNull arrowKind = iota + 1
	arrowInt
	arrowFloat
	arrowBinary
	arrowUTF8
	arrowBool
	arrowDecimal
	arrowDate
	arrowTime
	arrowTimestamp
	arrowInterval
	arrowList
	arrowStruct
	arrowUnion
	arrowFixedBinary
	arrowFixedList
	arrowMap
	arrowDuration
	arrowLargeBinary
	arrowLargeUTF8
	arrowLargeList
	arrowRunEnds
	arrowBinaryView
	arrowUTF8View
	arrowListView
	arrowLargeListView
)

const (
	maxArrowDeep   = 64
	maxArrowFields = 1 << 14
	arrowV4        = 3 // as a message says it
	arrowV5        = 4
)

// arrowField is a column of a schema, or what is in one, and, while a batch is read, where its values lie there.
type arrowField struct {
	name     string
	kind     arrowKind
	is       string // as its coding has it; "": none that is read
	shown    string // for messages
	width    int64  // bytes of a value of one width; of a bool 0
	step     int64  // of a list of one length: that
	dense    bool   // of a union
	words    *arrowWords
	children []*arrowField

	n, nulls int64
	buffers  [3]arrowBuffer // its validity, then offsets or values, then bytes
	views    []arrowBuffer  // the bytes of views
}

// arrowBuffer is a range of the file.
type arrowBuffer struct{ at, size int64 }

// arrowWords is a dictionary: fields of its id hold places in it.
type arrowWords struct {
	value *arrowField // as which it lies in its own batches
	cells []arrowCell
}

// arrowSchema is what a file says of its columns.
type arrowSchema struct {
	columns  []*arrowField
	words    map[int64]*arrowWords
	features []byte // what Hugging Face's datasets says of them
	fields   int
}

// parseArrowSchema reads a schema.
func parseArrowSchema(t flatTable) (*arrowSchema, error) {
	s := &arrowSchema{words: map[int64]*arrowWords{}}
	if t.short(0, 0) != 0 {
		return nil, errors.New("its numbers are big-endian, want little-endian ones; write it on another machine, or as Parquet")
	}
	var err error
	t.tables(1, func(f flatTable) {
		if err == nil {
			var field *arrowField
			field, err = s.field(f, 0)
			s.columns = append(s.columns, field)
		}
	})
	t.tables(2, func(pair flatTable) {
		if string(pair.text(0)) == "huggingface" {
			s.features = append([]byte(nil), pair.text(1)...)
		}
	})
	if err == nil {
		err = t.err
	}
	return s, err
}

// field reads one, and those in it.
func (s *arrowSchema) field(t flatTable, deep int) (*arrowField, error) {
	if s.fields++; deep > maxArrowDeep || s.fields > maxArrowFields {
		return nil, fmt.Errorf("damaged: got more than %d columns, or columns deeper than %d", maxArrowFields, maxArrowDeep)
	}
	f := &arrowField{name: string(t.text(0)), kind: arrowKind(t.byte(2))}
	var err error
	t.tables(5, func(child flatTable) {
		if err == nil {
			var field *arrowField
			field, err = s.field(child, deep+1)
			f.children = append(f.children, field)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := f.typed(t.table(3)); err != nil {
		return nil, fmt.Errorf("column %.60q: %w", f.name, err)
	}
	if encoding := t.table(4); encoding.there() {
		return s.encoded(f, encoding)
	}
	return f, nil
}

// encoded is a field that holds places in a dictionary, of the field that it would be.
func (s *arrowSchema) encoded(value *arrowField, t flatTable) (*arrowField, error) {
	id := t.long(0)
	words := s.words[id]
	if words == nil {
		words = &arrowWords{value: value}
		s.words[id] = words
	}
	if words.value.is != value.is || words.value.kind != value.kind {
		return nil, fmt.Errorf("column %.60q: damaged: its dictionary is of %s, want %s", value.name, words.value.shown, value.shown)
	}
	index := &arrowField{name: value.name, kind: arrowInt, shown: "dictionary<" + value.shown + ">", is: value.is, words: words}
	bits := int32(32)
	if t := t.table(1); t.there() {
		bits = t.int(0, 0)
	}
	if bits != 8 && bits != 16 && bits != 32 && bits != 64 {
		return nil, fmt.Errorf("column %.60q: damaged: got places of %d bits in a dictionary", value.name, bits)
	}
	if index.width = int64(bits / 8); len(value.children) > 0 || value.words != nil {
		index.is = ""
	}
	return index, nil
}

var arrowUnits = [...]string{"s", "ms", "us", "ns"}

// typed reads what a field's type says beyond its kind.
func (f *arrowField) typed(t flatTable) error {
	unit := func(k int, byDefault int16) string {
		if u := t.short(k, byDefault); u >= 0 && int(u) < len(arrowUnits) {
			return "[" + arrowUnits[u] + "]"
		}
		t.fail()
		return ""
	}
	width := func(bits int32, of ...int32) {
		f.width = int64(bits) / 8
		for _, b := range of {
			if b == bits {
				return
			}
		}
		t.fail()
	}
	switch f.kind {
	case arrowNull:
		f.shown = "null"
	case arrowInt:
		bits := t.int(0, 0)
		width(bits, 8, 16, 32, 64)
		f.is = fmt.Sprintf("int%d", bits)
		if t.byte(1) == 0 {
			f.is = "u" + f.is
		}
	case arrowFloat:
		bits := int32(16) << max(t.short(0, 0), 0)
		width(bits, 16, 32, 64)
		f.is = fmt.Sprintf("float%d", bits)
	case arrowBinary, arrowLargeBinary, arrowBinaryView:
		f.is = "binary"
	case arrowUTF8, arrowLargeUTF8, arrowUTF8View:
		f.is = "string"
	case arrowBool:
		f.is = "bool"
	case arrowDecimal:
		bits := t.int(2, 128)
		width(bits, 32, 64, 128, 256)
		f.is = fmt.Sprintf("decimal%d:%d", bits, t.int(1, 0))
	case arrowDate:
		if f.is, f.width = "date64", 8; t.short(0, 1) == 0 {
			f.is, f.width = "date32", 4
		}
	case arrowTime:
		bits := t.int(1, 32)
		width(bits, 32, 64)
		f.is = fmt.Sprintf("time%d", bits) + unit(0, 1)
	case arrowTimestamp:
		f.is, f.width = "timestamp"+unit(0, 0), 8
		if len(t.text(1)) > 0 {
			f.is += "Z"
		}
	case arrowDuration:
		f.is, f.width = "duration"+unit(0, 1), 8
	case arrowInterval:
		f.shown = "interval"
	case arrowFixedBinary:
		if f.is, f.width = "binary", int64(t.int(0, 0)); f.width < 0 {
			t.fail()
		} else if f.width == 0 {
			f.is, f.shown = "", "bytes of no length"
		}
	case arrowUnion:
		f.shown, f.dense = "union", t.short(0, 0) == 1
	case arrowRunEnds:
		f.shown = "run-end encoded"
	case arrowStruct:
		f.shown = "struct"
	case arrowList, arrowLargeList, arrowFixedList, arrowMap, arrowListView, arrowLargeListView:
		return f.list(int64(t.int(0, 0)))
	default:
		return fmt.Errorf("got type %d, which Arrow's format did not have when this was written; cast it", f.kind)
	}
	if f.shown == "" {
		f.shown = f.is
	}
	return t.err
}

// list takes what a list is of.
func (f *arrowField) list(step int64) error {
	if len(f.children) != 1 {
		return errors.New("damaged: got a list of no type, or of several")
	}
	of := f.children[0]
	f.shown = "list<" + of.shown + ">"
	switch {
	case f.kind == arrowMap:
		f.shown = "map"
	case f.kind == arrowFixedList && step < 0:
		return errFlat
	case f.kind == arrowFixedList:
		f.step = step
	}
	return nil
}

// arrowPart is a part that samples get of a column: of the column itself, or of what is in its structs.
type arrowPart struct {
	id    uint16
	name  string
	above []*arrowField // the structs around it, outside of lists
	path  []*arrowField // the list that a row has, and the lists and structs in it; none: a row has one value
	dims  []int64       // of lists in that list, by their places in the path, how long they are; -1: not known yet
	leaf  *arrowField
	whole bool // whole numbers, which the index knows:
	least int64
	most  int64
	why   string // it is read after all no more

	each  []uint16      // of lists of files: the parts that the first, the second and so on of a list are,
	found []indexMember // those of the rows that are looked at,
	ends  []int         // and where each row's end; nil: it is none, or they are not asked for
}

// parts are those that a schema's columns have. What has no name cannot be asked for.
func (s *arrowSchema) parts() (all []*arrowPart) {
	for _, c := range s.columns {
		if c.named() {
			all = c.parts(all, arrowPart{name: c.name})
		}
	}
	return all
}

func (f *arrowField) named() bool { return f.name != "" && !strings.Contains(f.name, "\x00") }

func (f *arrowField) isList() bool {
	return f.words == nil && (f.kind == arrowList || f.kind == arrowLargeList || f.kind == arrowFixedList)
}

// parts appends those of a field, which is in what p has so far.
func (f *arrowField) parts(all []*arrowPart, p arrowPart) []*arrowPart {
	if f.isList() {
		length := int64(-1)
		if f.kind == arrowFixedList {
			length = f.step
		}
		p.path, p.dims = append(slices.Clip(p.path), f), append(slices.Clip(p.dims), length)
		return f.children[0].parts(all, p)
	}
	if f.kind == arrowStruct && f.words == nil {
		if len(p.path) == 0 {
			p.above = append(slices.Clip(p.above), f)
		} else {
			p.path, p.dims = append(slices.Clip(p.path), f), append(slices.Clip(p.dims), 0)
		}
		name := p.name
		for _, child := range f.children {
			if p.name = name + "." + child.name; child.named() {
				all = child.parts(all, p)
			}
		}
		return all
	}
	p.leaf, p.whole = f, f.wholes() && len(p.path) == 0
	switch {
	case len(p.path) > 0 && (encodedType(f.is) == 0 && f.kind != arrowBool || f.words != nil):
		p.why = p.path[0].shown
	case f.is == "":
		p.why = f.shown
	}
	return append(all, &p)
}

// wholes says that values are whole numbers, or stored as such.
func (f *arrowField) wholes() bool {
	t := numberOfArrow(f.is)
	return t != 0 && !t.Float()
}

// numberOfArrow is the type that values of an encoding are stored as; 0 of those that are no numbers.
func numberOfArrow(is string) tensor.DType {
	switch kind, _, _ := strings.Cut(is, "["); kind {
	case "bool":
		return tensor.U8
	case "date32", "time32":
		return tensor.I32
	case "date64", "time64", "timestamp", "duration":
		return tensor.I64
	}
	return encodedType(is)
}

// coding is the mark of a part, as arrowCoding reads it.
func (p *arrowPart) coding() string {
	switch {
	case p.why != "":
		return "?" + p.why
	case len(p.path) == 0:
		return p.leaf.is
	}
	var dims strings.Builder
	for k := 1; k < len(p.path); k++ {
		if p.path[k].isList() {
			fmt.Fprintf(&dims, "x%d", p.dims[k])
		}
	}
	return "list:" + p.leaf.is + dims.String()
}
