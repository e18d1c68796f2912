package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

const (
	maxColumns = 24
	maxDims    = 7 // and the batch's own
)

// columns reads the list of columns, each a name or a mapping. packed: they are documents, which are packed.
func (d *decoder) columns(s *section, packed bool) (all []Column) {
	const want = "a list of columns, each a name or a mapping with a name"
	if s.has("columns") {
		if as := asList(target(s.values["columns"])); as != "" {
			s.fail("columns", "got %s, want %s; write %s", describe(s.values["columns"]), want, as)
			return nil
		}
	}
	for i, n := range s.items("columns", want, maxColumns) {
		entry := fmt.Sprintf("columns[%d]", i)
		c := Column{Type: TypeText, MaxBytes: 1 << 10}
		d.pos[join(s.place, entry)] = placeOf(n, join(s.shown, entry))
		if target(n).Kind == yaml.MappingNode {
			sec := d.section(n, "source.columns[]", join(s.shown, entry), join(s.place, entry))
			sec.text("name", &c.Name)
			sec.text("from", &c.From)
			sec.columnType(&c.Type)
			if c.Type != TypeNPY && strings.HasPrefix(c.From, "npz[") {
				sec.fail("from", "got %q of type %s, but what lies in an .npz file is an array: say type: npy", c.From, c.Type)
			}
			sec.size("max_bytes", &c.MaxBytes)
			sec.array(&c, packed)
			sec.pad(&c, packed)
			sec.standIn(&c)
		} else if v, ok := d.scalar(n, join(s.shown, entry), "a name or a mapping with a name", "!!str"); ok {
			c.Name = v
		}
		all = append(all, c)
	}
	return all
}

// asList says how columns that are given as a name alone, or as names with their types, are written; "" of a list.
func asList(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return fmt.Sprintf("[%.60s]", n.Value)
	case n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Value == "name":
		return "[{name: ...}]"
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		return fmt.Sprintf("[{name: %.60s}, ...]", n.Content[0].Value)
	}
	return ""
}

// columnType reads a column's type. What others call one, by the kind of its values, is told apart from a slip.
func (s *section) columnType(to *string) {
	words := []string{TypeText, TypeI64, TypeF64, TypeNPY, TypeList}
	if !s.has("type") {
		return
	}
	n := target(s.values["type"])
	if meant := columnTypes[strings.ToLower(n.Value)]; n.Kind == yaml.ScalarNode && meant != "" {
		s.fail("type", "got %s, want one of %s; did you mean %s?", describe(n), strings.Join(words, ", "), meant)
		return
	}
	choice(s, "type", to, words...)
}

// columnTypes are types of values as others call them, in lower case.
var columnTypes = map[string]string{
	"str": TypeText, "string": TypeText, "utf8": TypeText, "bytes": TypeText, "binary": TypeText, "json": TypeText, "object": TypeText,
	"int": TypeI64, "integer": TypeI64, "long": TypeI64, "bool": TypeI64, "boolean": TypeI64,
	"int8": TypeI64, "int16": TypeI64, "int32": TypeI64, "uint8": TypeI64, "uint16": TypeI64, "uint32": TypeI64, "i8": TypeI64, "i16": TypeI64, "i32": TypeI64, "u8": TypeI64, "u16": TypeI64, "u32": TypeI64,
	"float": TypeF64, "double": TypeF64, "number": TypeF64, "numeric": TypeF64, "float16": TypeF64, "float32": TypeF64, "f16": TypeF64, "f32": TypeF64,
	"array": TypeNPY, "ndarray": TypeNPY, "tensor": TypeNPY, "numpy": TypeNPY, "sequence": TypeList, "ints": TypeList, "floats": TypeList,
}

// standIn reads what a sample gets that has no value of the column.
func (s *section) standIn(c *Column) {
	if !s.has("default") {
		return
	}
	n, shown := s.values["default"], join(s.shown, "default")
	switch c.Type {
	case TypeNPY, TypeList:
		if v := target(n); c.MaxLength == 0 || v.Kind != yaml.SequenceNode || len(v.Content) > 0 {
			s.fail("default", "got %s for type %s, want [], and only of a shape that begins with -1; leave it out, and samples without it are bad ones", describe(n), c.Type)
		}
		c.Default = []byte{}
	case TypeI64:
		if v, ok := s.d.whole(n, shown, math.MinInt64, math.MaxInt64); ok {
			c.Default = strconv.AppendInt(nil, v, 10)
		}
	case TypeF64:
		if v := target(n); v.Kind == yaml.ScalarNode && strings.EqualFold(strings.TrimPrefix(v.Value, "."), "nan") {
			c.Default = []byte("nan")
		} else if v, ok := s.d.number(n, shown, -math.MaxFloat64, math.MaxFloat64); ok {
			c.Default = strconv.AppendFloat(nil, v, 'g', -1, 64)
		}
	default:
		v, ok := s.scalar("default", "text", "!!str")
		if ok && int64(len(v)) > c.MaxBytes {
			s.fail("default", "got %d bytes, want at most max_bytes, %d", len(v), c.MaxBytes)
		} else if ok {
			c.Default = append([]byte{}, v...)
		}
	}
}

// array reads what only a column of arrays has. packed: they are documents.
func (s *section) array(c *Column, packed bool) {
	arrays := c.Type == TypeNPY || c.Type == TypeList
	for _, key := range []string{"dtype", "shape", "max_length", "padded"} {
		if s.has(key) && !arrays {
			s.fail(key, "given for type %s; it goes with type: npy and type: list", c.Type)
		}
	}
	if s.has("max_bytes") && arrays {
		s.fail("max_bytes", "given for type %s; its shape says how many bytes it has", c.Type)
	}
	s.elements(c)
	whole(s, "max_length", &c.MaxLength, 1, math.MaxInt32)
	s.flag("padded", &c.Padded)
	if packed {
		s.openEnded(c)
	}
	switch given := s.has("shape"); {
	case given:
		s.shape(c, packed)
	case packed && arrays:
		c.Shape = tensor.Shape{}
	case c.Type == TypeList && c.MaxLength == 0:
		s.d.failAt(s.place, "max_length is missing, want the most numbers that a sample's list has, or shape: [N] where each has N")
	case c.Type == TypeList:
		c.Shape = tensor.Shape{}
	case c.Padded:
		s.fail("padded", "given without a shape that begins with -1: it is that dimension which is padded")
	case s.has("max_length"):
		s.fail("max_length", "given without a shape that begins with -1: it is the most that dimension has")
	}
}

// elements reads the type of an array's elements. JSON's numbers have none, so of a list it is to be given.
func (s *section) elements(c *Column) {
	want, name := []string{"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32", "f64"}, ""
	if c.Type == TypeList {
		want = slices.DeleteFunc(want, func(t string) bool { return t == "f16" })
		if !s.has("dtype") {
			s.d.failAt(s.place, "dtype is missing, want the type of the list's numbers, such as dtype: i64 for token ids")
		}
	}
	if choice(s, "dtype", &name, want...); name != "" {
		c.DType, _ = tensor.ParseDType(name)
	}
}

// shape reads that of an array, of which the first dimension may be open.
func (s *section) shape(c *Column, packed bool) {
	c.Shape = tensor.Shape{}
	ragged := false
	for i, n := range s.items("shape", "a list of whole numbers, of which the first may be -1", maxDims) {
		if ragged = ragged || i == 0 && target(n).Value == "-1"; ragged && i == 0 {
			continue
		}
		v, _ := s.d.whole(n, join(s.shown, "shape"), 1, maxRows)
		c.Shape = append(c.Shape, v)
	}
	switch n, err := c.Shape.Bytes(tensor.U64); {
	case packed && !ragged:
		s.fail("shape", "got a length that all documents have, beside source.packing; want one that begins with -1, or leave it out")
	case c.Type == TypeList && !ragged && len(c.Shape) == 0:
		s.fail("shape", "got [] for type list, want at least one dimension; a number alone is type i64 or f64")
	case err != nil || n > maxRingBytes/int64(max(c.MaxLength, 1)):
		s.fail("shape", "got %v, want less than 64 TiB", c.Shape)
	case ragged && c.MaxLength == 0:
		s.fail("shape", "begins with -1, which needs max_length: the most that dimension has in a sample")
	case !ragged && c.Padded:
		s.fail("padded", "given beside a shape that does not begin with -1; leave one of them out")
	case !ragged && c.MaxLength > 0:
		s.fail("max_length", "given beside a shape that does not begin with -1; leave one of them out")
	}
}

// severalFiles says that columns are not all made of one file.
func severalFiles(columns []Column) bool {
	file := func(c *Column) string {
		from, _, _ := strings.Cut(cmp.Or(c.From, c.Name), "[")
		return from
	}
	return slices.ContainsFunc(columns, func(c Column) bool { return file(&c) != file(&columns[0]) })
}

// checkColumns holds the names of columns against each other and the reserved ones. arrays: they are whole arrays, which nothing is read from. Those of media
// are in no batch.
func (d *decoder) checkColumns(columns []Column, reserved []string, arrays bool, media []string) {
	seen := map[string]bool{}
	for _, c := range columns {
		if c.Padded {
			reserved = append(reserved, LengthOf(c.Name))
		}
	}
	for i, c := range columns {
		at := fmt.Sprintf("source.columns[%d]", i)
		switch {
		case c.Name == "":
			d.failAt(at, "name is missing, want name: %s", nameRule)
		case !validName(c.Name) && arrays:
			d.failAt(at, "got name %.70q, want %s", c.Name, nameRule)
		case !validName(c.Name):
			d.failAt(at, "got name %.70q, want %s; the part or column goes into from", c.Name, nameRule)
		case slices.Contains(media, c.Name) && !seen[c.Name]:
		case slices.Contains(reserved, c.Name) && arrays:
			d.failAt(at, "got name %q, which every batch has; choose another", c.Name)
		case slices.Contains(reserved, c.Name):
			leave := ""
			if c.Name == "label" {
				leave = "leave it out where it is the label, a whole number; else "
			}
			d.failAt(at, "got name %q, which every batch has; %schoose another, and say from: %s", c.Name, leave, c.Name)
		case seen[c.Name]:
			d.failAt(at, "got name %q twice", c.Name)
		case c.MaxBytes < 1 || c.MaxBytes > 1<<30:
			d.failAt(at, "got max_bytes %d, want 1 to 1GiB", c.MaxBytes)
		}
		seen[c.Name] = true
	}
}
