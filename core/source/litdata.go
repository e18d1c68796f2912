package source

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// A chunk of litData is a table of samples as a shard of MDS is one, but that what the columns are stands in the catalogue, and that every column has its
// size in every sample. A sample is a tree, of which the columns are the leaves: image, or of a dict in a dict size.width, or of a list its place.
const (
	litDataMark    = "litdata/" // before the name of an encoding of litData's
	litDataFooter  = "LDARW01\x00"
	litDataFrames  = "LDFZ01\x00\x00"
	litDataBatches = "batch" // the level of compression that makes frames
	maxTreeDeep    = 64
	maxDims        = 64 // of an array, in NumPy and torch, too
)

// litDataConfig is what a catalogue of litData says of all chunks.
type litDataConfig struct {
	Compression string          `json:"compression"`
	Level       string          `json:"compression_level"`
	Formats     []string        `json:"data_format"`
	Tree        string          `json:"data_spec"`
	Encryption  json.RawMessage `json:"encryption"`
	Loader      string          `json:"item_loader"`
}

// litDataChunk is a chunk as the catalogue has it. Its bytes are those of the file that is not compressed.
type litDataChunk struct {
	Name    string          `json:"filename"`
	Bytes   int64           `json:"chunk_bytes"`
	Samples int64           `json:"chunk_size"`
	Dim     json.RawMessage `json:"dim"`
}

// litDataNode is a part of the tree that a sample is.
type litDataNode struct {
	Type     *string         `json:"type"` // nil: a leaf
	Context  json.RawMessage `json:"context"`
	Children []litDataNode   `json:"children_spec"`
}

// sampleColumns are the columns of all chunks of a catalogue.
type sampleColumns struct {
	names, encodings []string
}

func isNull(m json.RawMessage) bool { return len(m) == 0 || string(m) == "null" }

// columns are those of the chunks, by the tree's leaves.
func (c *litDataConfig) columns() (*sampleColumns, error) {
	switch {
	case !isNull(c.Encryption):
		return nil, errors.New("it is encrypted, and no key is known here; " + byProgram)
	case c.Loader != "" && c.Loader != "PyTreeLoader":
		return nil, fmt.Errorf("its samples are %.40q's, want PyTreeLoader's; %s", c.Loader, byProgram)
	case c.Level != "" && c.Level != "chunk" && c.Level != litDataBatches:
		return nil, fmt.Errorf("it is compressed by compression_level=%.20q, each sample by itself; write it again with another or without compression, or %s", c.Level, byProgram)
	}
	var tree [2]json.RawMessage
	var root litDataNode
	err := json.Unmarshal([]byte(c.Tree), &tree)
	if err == nil {
		err = json.Unmarshal(tree[1], &root)
	}
	if err != nil {
		return nil, fmt.Errorf("damaged: its data_spec is not litData's: %w", err)
	}
	all := &sampleColumns{encodings: c.Formats}
	if root.Type == nil {
		all.names = []string{"0"}
	} else if err := all.leaves("", &root, 0); err != nil {
		return nil, err
	}
	if len(all.names) != len(c.Formats) || len(all.names) > maxParts || len(all.names) == 0 {
		return nil, fmt.Errorf("damaged: its data_spec has %d leaves and its data_format %d, want equally many, from 1 to %d", len(all.names), len(c.Formats), maxParts)
	}
	return all, nil
}

// leaves takes the leaves below a node, first to last.
func (s *sampleColumns) leaves(before string, n *litDataNode, deep int) error {
	if deep > maxTreeDeep || len(s.names) > maxParts {
		return fmt.Errorf("damaged: its data_spec has more than %d leaves, or is deeper than %d", maxParts, maxTreeDeep)
	}
	keys := n.keys()
	for k := range n.Children {
		name := before + strconv.Itoa(k)
		if len(keys) == len(n.Children) {
			name = before + keys[k]
		}
		if child := &n.Children[k]; child.Type != nil {
			if err := s.leaves(name+".", child, deep+1); err != nil {
				return err
			}
		} else {
			s.names = append(s.names, name)
		}
	}
	return nil
}

// keys are those of a dict; nil of a list or a tuple.
func (n *litDataNode) keys() (keys []string) {
	if !slices.Contains([]string{"builtins.dict", "collections.OrderedDict"}, *n.Type) {
		return nil
	}
	text := []byte(n.Context)
	var within string
	if json.Unmarshal(text, &within) == nil { // JSON in JSON
		text = []byte(within)
	}
	if json.Unmarshal(text, &keys) != nil {
		return nil // keys that are no texts: their places count
	}
	return keys
}

// buildChunkIndex finds the columns of every sample of a chunk, until ctx ends.
func buildChunkIndex(ctx context.Context, w *window, columns *sampleColumns) (*indexBuilder, error) {
	if w.size > math.MaxUint32 {
		return nil, errWideChunk(w.size)
	}
	if end, err := w.bytes(w.size-int64(len(litDataFooter)), len(litDataFooter)); err == nil && string(end) == litDataFooter {
		return nil, errors.New("its rows are in Arrow's format, which is not read here; write them as Parquet, or " + byProgram)
	}
	c := sampleTable{w: w, b: newIndexBuilder()}
	first, err := c.head()
	if err != nil {
		return nil, err
	}
	if first != c.table() {
		return nil, fmt.Errorf("damaged: its samples begin at %d, want %d, behind its offsets; write or copy it again", first, c.table())
	}
	for k, name := range columns.names {
		if err := c.column(name, litDataMark+columns.encodings[k], 0); err != nil {
			return nil, fmt.Errorf("column %.60q: %w", name, err)
		}
	}
	return c.b, c.samples(ctx)
}

// litDataCoding is an encoding of litData's by its name, with what stands behind a colon in some.
func litDataCoding(name string) (e coding) {
	kind, rest, _ := strings.Cut(name, ":")
	e.name = name
	switch kind {
	case "str", "text":
		e.kind = encodedText
	case "bytes", "file", "video", "audio", "pdf", "nifti", "mesh":
		if e.kind = encodedBytes; slices.Contains(ImageExtensions, strings.ToLower(rest)) {
			e.kind = encodedPicture
		}
	case "jpeg", "image", "tifffile", "tiff":
		e.kind = encodedPicture
	case "int":
		e.kind, e.dtype, e.shape = encodedNumber, tensor.I64, tensor.Shape{}
	case "float":
		e.kind, e.dtype, e.shape = encodedNumber, tensor.F64, tensor.Shape{}
	case "bool":
		e.kind, e.dtype, e.shape = encodedNumber, tensor.U8, tensor.Shape{}
	case "pil":
		e.kind = encodedPixels
	case "json":
		e.kind, e.head = encodedArray, &litDataHead{lists: true}
	case "tensor":
		e.kind, e.head = encodedArray, &litDataHead{order: binary.BigEndian, types: torchTypes}
	case "numpy":
		e.kind, e.head = encodedArray, &litDataHead{order: binary.LittleEndian, types: numpyTypes}
	case "no_header_tensor", "no_header_numpy":
		types := map[string]map[uint32]tensor.DType{"no_header_tensor": torchTypes, "no_header_numpy": numpyTypes}[kind]
		if n, err := strconv.ParseUint(rest, 10, 32); err == nil {
			e.dtype = types[uint32(n)]
		}
		if e.dtype != 0 {
			e.kind, e.head = encodedArray, &litDataHead{}
		}
	}
	return e
}

// torchTypes and numpyTypes are the types of elements by litData's numbers.
var (
	torchTypes = map[uint32]tensor.DType{
		0: tensor.F32, 1: tensor.F32, 2: tensor.F64, 3: tensor.F64, 8: tensor.F16, 9: tensor.F16, 11: tensor.U8, 12: tensor.I8, 13: tensor.I16, 14: tensor.I16, 15: tensor.I32, 16: tensor.I32,
		17: tensor.I64, 18: tensor.I64, 19: tensor.U8, 20: tensor.U16,
	}
	numpyTypes = map[uint32]tensor.DType{
		0: tensor.I8, 1: tensor.I16, 2: tensor.I32, 3: tensor.I64, 4: tensor.U8, 5: tensor.U16, 6: tensor.U32, 7: tensor.U64, 8: tensor.F16, 9: tensor.F32, 10: tensor.F64, 13: tensor.U8,
	}
)

// litDataHead is what arrays of litData begin with: the number of their type, how many dimensions they have, and these, as u32 of an order; nil: nothing,
// they are lines of a type.
type litDataHead struct {
	order binary.ByteOrder
	types map[uint32]tensor.DType
	lists bool // they are lists of json: see readNumbers
}

// listTypes are the types of elements of lists in litData's json that are of one, by the list's first byte. An empty list is one of texts.
var listTypes = map[byte]tensor.DType{1: 0, 2: tensor.I64, 3: tensor.F64, 4: tensor.U8}

// readNumbers reads a list of numbers: a byte that tells their type, how many they are, and these.
func readNumbers(a *array.Array) error {
	const head = 1 + 4
	if len(a.Data) < head {
		return fmt.Errorf("got %d bytes of json, want a list of numbers", len(a.Data))
	}
	n := int64(binary.LittleEndian.Uint32(a.Data[1:]))
	t, is := listTypes[a.Data[0]]
	if !is || t == 0 && n > 0 {
		return errors.New("got json that is no list of whole numbers, of floats or of booleans, which alone are read")
	}
	if a.DType = t; t == 0 {
		a.DType = tensor.I64
	}
	a.Shape, a.Data = append(a.Shape, n), a.Data[head:]
	return nil
}

// read reads the head of an array, whose data are all of the value so far.
func (h *litDataHead) read(a *array.Array) error {
	if h.lists {
		return readNumbers(a)
	}
	if h.order == nil {
		if width := a.DType.Bytes(); len(a.Data)%width != 0 {
			return fmt.Errorf("damaged: got %d bytes, want a multiple of %d", len(a.Data), width)
		}
		a.Shape = append(a.Shape, int64(len(a.Data)/a.DType.Bytes()))
		return nil
	}
	const word = 4
	if len(a.Data) < 2*word {
		return fmt.Errorf("damaged: got %d bytes, want an array's type and dimensions", len(a.Data))
	}
	code, dims := h.order.Uint32(a.Data), h.order.Uint32(a.Data[word:])
	if a.DType = h.types[code]; a.DType == 0 {
		return fmt.Errorf("got an array of litData's type %d, want whole numbers, booleans, or floats of 16 to 64 bits", code)
	}
	a.Data = a.Data[2*word:]
	if int64(dims) > min(maxDims, int64(len(a.Data)/word)) {
		return fmt.Errorf("damaged: got %d bytes, want %d dimensions, of at most %d", len(a.Data), dims, maxDims)
	}
	for ; dims > 0; dims-- {
		a.Shape = append(a.Shape, int64(h.order.Uint32(a.Data)))
		a.Data = a.Data[word:]
	}
	return nil
}
