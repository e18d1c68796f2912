package grid

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/tensor"
)

// maxZarrJSON is the largest description of an array that is read.
const maxZarrJSON = 1 << 20

// ErrNoZarr is returned for a directory that is no array of Zarr's.
var ErrNoZarr = errors.New("no array of Zarr")

// ZarrFile is the file in which a directory says what its array is: zarr.json, or .zarray as version 2 has it.
func ZarrFile(dir string) (string, error) {
	for _, name := range []string{"zarr.json", ".zarray"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() {
			return filepath.Join(dir, name), nil
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".zgroup")); err == nil {
		return "", fmt.Errorf("%w, but a group; name an array in it, such as %s", ErrNoZarr, zarrDir(dir).example())
	}
	return "", ErrNoZarr
}

// ZarrIn is a directory or an archive itself where it is an array of Zarr's, and an array in it where it is a group; "" where it is neither.
func ZarrIn(dir string) string {
	if archive, _ := InZip(dir); archive == dir {
		return zarrInZip(archive)
	}
	name, err := ZarrFile(dir)
	if err == nil {
		_, err = OpenZarr(name)
	}
	switch {
	case name == "" && err == ErrNoZarr:
		return ""
	case errors.Is(err, ErrNoZarr):
		return zarrDir(dir).example()
	}
	return dir
}

// zarrJSON is what both versions say of an array, and of version 3 what it is of a group, too.
type zarrJSON struct {
	Format     int               `json:"zarr_format"`
	NodeType   string            `json:"node_type"`
	Shape      []int64           `json:"shape"`
	Fill       json.RawMessage   `json:"fill_value"`
	Chunks     []int64           `json:"chunks"` // from here on of version 2
	DType      json.RawMessage   `json:"dtype"`
	Compressor *zarrCodec        `json:"compressor"`
	Filters    []zarrCodec       `json:"filters"`
	Order      string            `json:"order"`
	Separator  string            `json:"dimension_separator"`
	DataType   json.RawMessage   `json:"data_type"` // from here on of version 3
	Grid       zarrNamed         `json:"chunk_grid"`
	Keys       zarrNamed         `json:"chunk_key_encoding"`
	Codecs     []zarrNamed       `json:"codecs"`
	Transform  []json.RawMessage `json:"storage_transformers"`
}

// zarrCodec is one of version 2.
type zarrCodec struct {
	ID          string `json:"id"`
	ElementSize int    `json:"elementsize"`
	DType       string `json:"dtype"`
	AsType      string `json:"astype"`
}

// zarrNamed is anything of version 3 that has a name and what goes with it.
type zarrNamed struct {
	Name          string `json:"name"`
	Configuration struct {
		ChunkShape []int64         `json:"chunk_shape"`
		Separator  string          `json:"separator"`
		Endian     string          `json:"endian"`
		Order      json.RawMessage `json:"order"`
		Codecs     []zarrNamed     `json:"codecs"` // from here on of shards
		Index      []zarrNamed     `json:"index_codecs"`
		Location   string          `json:"index_location"`
	} `json:"configuration"`
}

// OpenZarr reads what a directory says of its array, from the file that ZarrFile named. Nothing stays open.
func OpenZarr(name string) (*Array, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxZarrJSON+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(text) > maxZarrJSON {
		return nil, fmt.Errorf("%s: got more than %d bytes", filepath.Base(name), maxZarrJSON)
	}
	a, err := zarrOf(text, zarrDir(filepath.Dir(name)))
	if err != nil && !errors.Is(err, ErrNoZarr) {
		err = fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return a, err
}

func zarrOf(text []byte, files zarrFiles) (*Array, error) {
	var z zarrJSON
	if err := json.Unmarshal(text, &z); err != nil {
		return nil, err
	}
	if z.NodeType == "group" {
		return nil, fmt.Errorf("%w, but a group; name an array in it, such as %s", ErrNoZarr, files.example())
	}
	a := &Array{Shape: z.Shape, At: -1}
	if len(z.Shape) == 0 {
		return nil, errors.New("got a scalar, want an array whose first axis counts samples")
	}
	if len(z.Shape) > maxRank || slices.ContainsFunc(z.Shape, func(n int64) bool { return n < 0 }) {
		return nil, fmt.Errorf("got shape %v, want at most %d dimensions, each 0 or more", tensor.Shape(z.Shape), maxRank)
	}
	keys := &zarrChunks{files: files, a: a}
	a.chunks = keys
	var err error
	switch z.Format {
	case 2:
		err = z.version2(a, keys)
	case 3:
		err = z.version3(a, keys)
	default:
		err = fmt.Errorf("got zarr_format %d, want 2 or 3", z.Format)
	}
	if err == nil {
		_, err = a.Shape.Bytes(a.DType)
	}
	if err == nil {
		a.fill, err = zarrFill(z.Fill, a)
	}
	return a, err
}

func (z *zarrJSON) version2(a *Array, keys *zarrChunks) (err error) {
	var name string
	if json.Unmarshal(z.DType, &name) != nil {
		return fmt.Errorf("dtype: got %.80s, want one type, such as \"<f4\"", z.DType)
	}
	if err := zarrType2(name, a); err != nil {
		return err
	}
	if z.Order != "C" && z.Order != "F" && len(z.Shape) > 1 {
		return fmt.Errorf("order: got %q, want \"C\" or \"F\"", z.Order)
	}
	keys.separator = z.Separator
	if keys.separator == "" {
		keys.separator = "."
	}
	if err := a.cut(z.Chunks); err != nil {
		return fmt.Errorf("chunks: %w", err)
	}
	if z.Order == "F" && len(z.Shape) > 1 {
		var backwards []int
		for i := range z.Shape {
			backwards = append(backwards, len(z.Shape)-1-i)
		}
		a.filters = append(a.filters, a.transposed(backwards))
	}
	for _, c := range z.Filters {
		switch {
		case c.ID == "shuffle" && c.ElementSize > 0:
			a.filters = append(a.filters, filter{name: "shuffle", most: 1, undo: unshuffle(c.ElementSize)})
		case c.ID == "delta" && c.DType == name && (c.AsType == "" || c.AsType == name) && !a.DType.Float() && !a.Swapped:
			a.filters = append(a.filters, filter{name: "delta", most: 1, undo: undelta(int(a.DType.Bytes()))})
		case c.ID == "delta":
			return fmt.Errorf("filters: got delta of %q as %q, want whole numbers of the array's own type, little-endian; write it again without", c.DType, c.AsType)
		default:
			return fmt.Errorf("filters: got %q, want none, shuffle or delta; write it again without", c.ID)
		}
	}
	if z.Compressor != nil {
		err = a.packedBy("compressor", z.Compressor.ID)
	}
	return errors.Join(err, keys.known())
}

func (z *zarrJSON) version3(a *Array, keys *zarrChunks) error {
	var name string
	if json.Unmarshal(z.DataType, &name) != nil || zarrTypes[name] == 0 {
		return fmt.Errorf("data_type: got %.80s, want bool, whole numbers or floats of 8 to 64 bits", z.DataType)
	}
	a.DType = zarrTypes[name]
	switch {
	case len(z.Transform) > 0:
		return errors.New("storage_transformers: got some, want none")
	case z.Grid.Name != "regular":
		return fmt.Errorf("chunk_grid: got %q, want \"regular\"", z.Grid.Name)
	}
	keys.separator = z.Keys.Configuration.Separator
	switch z.Keys.Name {
	case "default":
		if keys.before = "c"; keys.separator == "" {
			keys.separator = "/"
		}
	case "v2":
		if keys.separator == "" {
			keys.separator = "."
		}
	default:
		return fmt.Errorf("chunk_key_encoding: got %q, want \"default\" or \"v2\"", z.Keys.Name)
	}
	if err := keys.known(); err != nil {
		return err
	}
	if len(z.Codecs) == 1 && z.Codecs[0].Name == sharding {
		return z.shards(a, keys)
	}
	if err := a.cut(z.Grid.Configuration.ChunkShape); err != nil {
		return fmt.Errorf("chunk_grid: %w", err)
	}
	return a.codecs(z.Codecs)
}

// codecs reads what version 3 packs chunks with: bytes, what comes behind, and the order of the axes ahead of it.
func (a *Array) codecs(all []zarrNamed) error {
	ordered := false
	for _, c := range all {
		switch {
		case c.Name == "bytes" && !ordered:
			ordered = true
			a.Swapped = c.Configuration.Endian == "big" && a.DType.Bytes() > 1
		case c.Name == sharding:
			return errors.New("codecs: got sharding_indexed beside other codecs, or within itself, so that no chunk lies in one piece; write it again with shards alone, or without")
		case c.Name == "transpose" && !ordered && len(a.filters) == 0:
			var order []int
			if json.Unmarshal(c.Configuration.Order, &order) != nil || !permutes(order, len(a.Shape)) {
				return fmt.Errorf("codecs: got transpose by %.80s, want each of the %d axes once", c.Configuration.Order, len(a.Shape))
			}
			a.filters = append(a.filters, a.transposed(order))
		case !ordered:
			return fmt.Errorf("codecs: got %q first, want \"bytes\"", c.Name)
		default:
			if err := a.packedBy("codecs", c.Name); err != nil {
				return err
			}
		}
	}
	if !ordered {
		return errors.New("codecs: got none, want \"bytes\" at least")
	}
	return nil
}

// packedBy adds a filter by the name that Zarr has for it.
func (a *Array) packedBy(key, name string) error {
	f, ok := map[string]filter{"zlib": {name: "zlib", most: 1040, undo: inflate}, "gzip": {name: "gzip", most: 1040, undo: gunzip}, "zstd": {name: "zstd", most: 1 << 29, undo: unzstd}, "lz4": {name: "lz4", most: 256, undo: unlz4},
		"blosc": {name: "blosc", most: 1 << 29, undo: unblosc}, "bz2": {name: "bz2", most: 1 << 29, undo: unbz2}, "crc32c": {name: "crc32c", most: 1, undo: crc32c}}[name]
	if !ok {
		return fmt.Errorf("%s: got %q, want none, zlib, gzip, zstd, lz4, bz2 or blosc; write it again with one of them", key, name)
	}
	a.filters = append(a.filters, f)
	return nil
}

var zarrTypes = map[string]tensor.DType{"bool": tensor.U8, "int8": tensor.I8, "int16": tensor.I16, "int32": tensor.I32, "int64": tensor.I64, "uint8": tensor.U8, "uint16": tensor.U16,
	"uint32": tensor.U32, "uint64": tensor.U64, "float16": tensor.F16, "float32": tensor.F32, "float64": tensor.F64}

// zarrType2 reads a type as NumPy writes it.
func zarrType2(name string, a *Array) error {
	codes := map[byte]uint32{'i': tensor.CodeInt, 'u': tensor.CodeUint, 'f': tensor.CodeFloat, 'b': tensor.CodeUint}
	if len(name) == 3 && strings.IndexByte("<>|", name[0]) >= 0 && name[2] >= '1' && name[2] <= '8' {
		if code, ok := codes[name[1]]; ok && (name[1] != 'b' || name[2] == '1') {
			a.DType = tensor.DType(code | uint32(name[2]-'0')<<11 | 1<<16)
		}
	}
	if !a.DType.Valid() {
		return fmt.Errorf("dtype: got %.40q, want booleans, whole numbers or floats of 8 to 64 bits", name)
	}
	a.Swapped = name[0] == '>' && a.DType.Bytes() > 1
	return nil
}

// zarrFill is an element that was never written, as the chunks have elements; nil: zero.
func zarrFill(text json.RawMessage, a *Array) ([]byte, error) {
	bits, err := zarrBits(strings.Trim(string(text), `"`), a.DType)
	if err != nil {
		return nil, fmt.Errorf("fill_value: got %.40s, want a number of %v: %w", text, a.DType, err)
	}
	if bits == 0 {
		return nil, nil
	}
	b := binary.LittleEndian.AppendUint64(nil, bits)[:a.DType.Bytes()]
	if a.Swapped {
		slices.Reverse(b)
	}
	return b, nil
}

func zarrBits(text string, d tensor.DType) (uint64, error) {
	switch {
	case text == "" || text == "null" || text == "false":
		return 0, nil
	case text == "true":
		return 1, nil
	case strings.HasPrefix(text, "0x") && d.Float():
		return strconv.ParseUint(text[2:], 16, int(d.Bits()))
	case d.Code() == tensor.CodeUint:
		return strconv.ParseUint(text, 10, int(d.Bits()))
	case d.Code() == tensor.CodeInt:
		v, err := strconv.ParseInt(text, 10, int(d.Bits()))
		return uint64(v), err
	}
	v, err := strconv.ParseFloat(text, 64)
	switch d {
	case tensor.F64:
		return math.Float64bits(v), err
	case tensor.F32:
		return uint64(math.Float32bits(float32(v))), err
	}
	return halfBits(v), err
}

// halfBits is the half-precision number that is nearest to one; of two, the one that is even.
func halfBits(v float64) uint64 {
	sign := uint64(0)
	if math.Signbit(v) {
		sign, v = 1<<15, -v
	}
	switch {
	case v != v:
		return 0x7e00
	case v >= 65520:
		return sign | 0x7c00
	case v < 0x1p-14:
		return sign | uint64(math.RoundToEven(v*0x1p24))
	}
	fraction, exponent := math.Frexp(v) // v is fraction x 2^exponent, and fraction at least 1/2
	return sign | (uint64(exponent+13)<<10 + uint64(math.RoundToEven(fraction*2048)))
}
