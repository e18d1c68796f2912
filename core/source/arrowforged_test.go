package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

// flatFields is a table of FlatBuffers by the numbers of its fields: numbers of int8 to int64, texts, tables, and vectors of tables and of pairs of numbers.
type flatFields map[int]any

// flatOf is the encoding of a table.
func flatOf(root flatFields) []byte {
	out := make([]byte, 4)
	binary.LittleEndian.PutUint32(out, uint32(appendFlat(&out, root)))
	for len(out)%8 != 0 {
		out = append(out, 0)
	}
	return out
}

func appendFlat(out *[]byte, t flatFields) (place int) {
	le := binary.LittleEndian
	fields := 0
	for k := range t {
		fields = max(fields, k+1)
	}
	offsets := len(*out)
	*out = append(*out, make([]byte, 4+2*fields+4+8*fields)...)
	place = offsets + 4 + 2*fields
	le.PutUint16((*out)[offsets:], uint16(4+2*fields))
	le.PutUint32((*out)[place:], uint32(place-offsets))
	for k := range fields {
		at := place + 4 + 8*k
		refer := func() { le.PutUint32((*out)[at:], uint32(len(*out)-at)) }
		vector := func(n int) {
			refer()
			*out = le.AppendUint32(*out, uint32(n))
		}
		switch v := t[k].(type) {
		case nil:
			continue
		case int8:
			(*out)[at] = byte(v)
		case int16:
			le.PutUint16((*out)[at:], uint16(v))
		case int32:
			le.PutUint32((*out)[at:], uint32(v))
		case int64:
			le.PutUint64((*out)[at:], uint64(v))
		case string:
			vector(len(v))
			*out = append(*out, v...)
		case flatFields:
			to := appendFlat(out, v)
			le.PutUint32((*out)[at:], uint32(to-at))
		case []flatFields:
			vector(len(v))
			first := len(*out)
			*out = append(*out, make([]byte, 4*len(v))...)
			for i, one := range v {
				to := appendFlat(out, one)
				le.PutUint32((*out)[first+4*i:], uint32(to-first-4*i))
			}
		case [][2]int64:
			vector(len(v))
			for _, pair := range v {
				*out = le.AppendUint64(le.AppendUint64(*out, uint64(pair[0])), uint64(pair[1]))
			}
		case flatBlocks:
			vector(len(v) / arrowBlockBytes)
			*out = append(*out, v...)
		case []int64:
			vector(len(v))
			for _, n := range v {
				*out = le.AppendUint64(*out, uint64(n))
			}
		}
		le.PutUint16((*out)[offsets+4+2*k:], uint16(at-place))
	}
	return place
}

// messageOf is a message with a body.
func arrowMessageOf(kind int8, header flatFields, body string) string {
	meta := flatOf(flatFields{0: int16(arrowV5), 1: kind, 2: header, 3: int64(len(body))})
	return string(binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(meta)))) + string(meta) + body
}

const arrowEnd = "\xff\xff\xff\xff\x00\x00\x00\x00"

// fieldOf is a column of a type, and what of it is in it.
func arrowFieldOf(name string, kind arrowKind, is flatFields, children ...flatFields) flatFields {
	return flatFields{0: name, 2: int8(kind), 3: is, 5: children}
}

func arrowSchemaOf(fields ...flatFields) string {
	return arrowMessageOf(messageSchema, flatFields{1: fields}, "")
}

// batchOf is a batch of rows, of fields with their lengths and numbers of nulls, and of buffers by where they begin and their sizes.
func arrowBatchOf(rows int64, nodes, buffers [][2]int64, body string) string {
	return arrowMessageOf(messageBatch, flatFields{0: rows, 1: nodes, 2: buffers}, body)
}

// footedOf is a file with a footer that says where its batches lie.
func footedOf(messages string, at ...int64) string {
	blocks := ""
	for _, a := range at {
		blocks += string(binary.LittleEndian.AppendUint64(nil, uint64(a))) + strings.Repeat("\x00", arrowBlockBytes-8)
	}
	foot := string(flatOf(flatFields{0: int16(arrowV5), 1: flatFields{1: []flatFields{wholeField}}, 3: flatBlocks(blocks)}))
	return "ARROW1\x00\x00" + messages + foot + string(binary.LittleEndian.AppendUint32(nil, uint32(len(foot)))) + "ARROW1"
}

// flatBlocks is a vector of blocks.
type flatBlocks string

var (
	wholeField = arrowFieldOf("a", arrowInt, flatFields{0: int32(32), 1: int8(1)})
	textField  = arrowFieldOf("a", arrowUTF8, flatFields{})
	listField  = arrowFieldOf("a", arrowList, flatFields{}, arrowFieldOf("item", arrowInt, flatFields{0: int32(32), 1: int8(1)}))
)

// offsetsText are 32-bit offsets.
func offsetsText(all ...int32) (text string) {
	for _, v := range all {
		text += string(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	return text
}

// A file that says what cannot be is refused when it is opened: with where, what it says, and what it has to be.
func TestArrowRefusesWhatCannotBe(t *testing.T) {
	var deep flatFields
	for range maxArrowDeep + 2 {
		deep = arrowFieldOf("a", arrowStruct, flatFields{}, append([]flatFields{}, wholeField, deep)[:2]...)
		if deep[5].([]flatFields)[1] == nil {
			deep[5] = []flatFields{wholeField}
		}
	}
	wide := make([]flatFields, maxParts+1)
	for k := range wide {
		wide[k] = arrowFieldOf(fmt.Sprint(k), arrowInt, flatFields{0: int32(32), 1: int8(1)})
	}
	words := flatFields{0: "a", 2: int8(arrowUTF8), 3: flatFields{}, 4: flatFields{0: int64(7), 1: flatFields{0: int32(8), 1: int8(1)}}}
	good := arrowBatchOf(2, [][2]int64{{2, 0}}, [][2]int64{{0, 0}, {0, 8}}, "\x01\x00\x00\x00\x02\x00\x00\x00")
	for want, file := range map[string]string{
		"truncated: it ends after 3 bytes":                               "abc",
		"damaged: got metadata of 1952805488 bytes, want at most":        "pretty text",
		"it is Feather V1, which is not read here; write it again:":      "FEA1aaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"truncated: it begins with ARROW1 and does not end so":           "ARROW1\x00\x00" + arrowSchemaOf(wholeField),
		"damaged: its footer has 4294967295 bytes":                       "ARROW1\x00\x00" + arrowSchemaOf(wholeField) + "\xff\xff\xff\xffARROW1",
		"damaged: its footer says that a message lies at 3, want from 8": footedOf(good, 3),
		"damaged: its footer names messages that lie in each other":      footedOf(good, 8, 8, 8),
		"damaged: its footer names a message that is none":               footedOf(arrowEnd, 8),
		"it does not begin with a schema":                                good + arrowEnd,
		"its numbers are big-endian, want little-endian ones":            arrowMessageOf(messageSchema, flatFields{0: int16(1), 1: []flatFields{wholeField}}, "") + arrowEnd,
		"got version 1 of Arrow's metadata, want V4 or V5":               strings.Replace(arrowSchemaOf(wholeField), string(flatOf(flatFields{0: int16(arrowV5)}))[14:16], "\x00\x00", 1) + arrowEnd,
		"got a message of kind 4, want a schema":                         arrowMessageOf(4, flatFields{}, "") + arrowEnd,
		"after 0 rows: got a second schema":                              arrowSchemaOf(wholeField) + arrowSchemaOf(wholeField) + arrowEnd,
		"bytes behind its end at":                                        arrowSchemaOf(wholeField) + good + arrowEnd + arrowSchemaOf(wholeField),
		"without the mark that all messages are there":                   arrowSchemaOf(wholeField) + good,
		"damaged: got more than 16384 columns, or columns deeper":        arrowSchemaOf(deep) + arrowEnd,
		"got more than 1024 different parts":                             arrowSchemaOf(wide...) + arrowEnd,
		`column "a": it is there twice`:                                  arrowSchemaOf(wholeField, wholeField) + arrowEnd,
		`column "a": damaged: its metadata lead outside`:                 arrowSchemaOf(arrowFieldOf("a", arrowInt, flatFields{0: int32(7)})) + arrowEnd,
		`column "a": got type 99, which Arrow's format did not have`:     arrowSchemaOf(arrowFieldOf("a", 99, flatFields{})) + arrowEnd,
		`column "a": damaged: got a list of no type, or of several`:      arrowSchemaOf(arrowFieldOf("a", arrowList, flatFields{})) + arrowEnd,
		"damaged: got 9223372036854775807 values, of which 0 are null":   arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1<<63 - 1, 0}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		"damaged: got 1 values, of which 2 are null":                     arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 2}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		`damaged: column "a" has 1 values, want 2`:                       arrowSchemaOf(wholeField) + arrowBatchOf(2, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		"damaged: the batch has fewer fields or buffers":                 arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}}, "12345678") + arrowEnd,
		"damaged: it has 1 fields and 0 buffers more":                    arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 0}, {1, 0}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		"damaged: got a buffer of 9 bytes at 0 of a body of 8":           arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 9}}, "12345678") + arrowEnd,
		"damaged: got a buffer of -1 bytes at 0":                         arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, -1}}, "12345678") + arrowEnd,
		"damaged: got 8 bytes, want 3 of 4 each":                         arrowSchemaOf(wholeField) + arrowBatchOf(3, [][2]int64{{3, 0}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		"damaged: got 0 bytes that say which of 2 values are null":       arrowSchemaOf(wholeField) + arrowBatchOf(2, [][2]int64{{2, 1}}, [][2]int64{{0, 0}, {0, 8}}, "12345678") + arrowEnd,
		"damaged: got 4611686018427387904 rows in 8 bytes":               arrowSchemaOf() + arrowBatchOf(1<<62, nil, nil, "12345678") + arrowEnd,
		"damaged: value 1 lies from 4 to 3, want a range within 4":       arrowSchemaOf(textField) + arrowBatchOf(2, [][2]int64{{2, 0}}, [][2]int64{{0, 0}, {0, 12}, {12, 4}}, offsetsText(0, 4, 3)+"abcd") + arrowEnd,
		"damaged: value 0 lies from 0 to 5, want a range within 4":       arrowSchemaOf(textField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 8}, {8, 4}}, offsetsText(0, 5)+"abcd") + arrowEnd,
		"damaged: value 0 lies from -1 to 2":                             arrowSchemaOf(textField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 8}, {8, 4}}, offsetsText(-1, 2)+"abcd") + arrowEnd,
		"damaged: got 4 bytes, want 2 of 4 each":                         arrowSchemaOf(textField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 4}, {8, 4}}, offsetsText(0, 2)+"abcd") + arrowEnd,
		"damaged: value 0 lies from 0 to 3, want a range within 2":       arrowSchemaOf(listField) + arrowBatchOf(1, [][2]int64{{1, 0}, {2, 0}}, [][2]int64{{0, 0}, {0, 8}, {0, 0}, {8, 8}}, offsetsText(0, 3)+"abcdefgh") + arrowEnd,
		"damaged: got a dictionary 3, which no column has":               arrowSchemaOf(words) + arrowMessageOf(messageWords, flatFields{0: int64(3), 1: flatFields{}}, "") + arrowEnd,
		"damaged: value 0 is number 0 of a dictionary of 0":              arrowSchemaOf(words) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 1}}, "\x00") + arrowEnd,
		"damaged: got 1 values in 2 lists of 2":                          arrowSchemaOf(arrowFieldOf("a", arrowFixedList, flatFields{0: int32(2)}, wholeField)) + arrowBatchOf(2, [][2]int64{{2, 0}, {1, 0}}, [][2]int64{{0, 0}, {0, 0}, {0, 4}}, "1234") + arrowEnd,
		"damaged: the view of value 0 leads outside of its buffers":      arrowSchemaOf(arrowFieldOf("a", arrowUTF8View, flatFields{})) + arrowMessageOf(messageBatch, flatFields{0: int64(1), 1: [][2]int64{{1, 0}}, 2: [][2]int64{{0, 0}, {0, 16}}, 4: []int64{0}}, "\x20\x00\x00\x00aaaa\x00\x00\x00\x00\x00\x00\x00\x00") + arrowEnd,
		"damaged: got 2 values in 3 structs":                             arrowSchemaOf(arrowFieldOf("s", arrowStruct, flatFields{}, wholeField)) + arrowBatchOf(3, [][2]int64{{3, 0}, {2, 0}}, [][2]int64{{0, 0}, {0, 0}, {0, 8}}, "12345678") + arrowEnd,
	} {
		name := filepath.Join(t.TempDir(), "a.arrow")
		write(t, name, file)
		_, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "a"}}, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A file that ends anywhere but at its end is refused, and never takes the process with it.
func TestArrowRefusesATruncatedFile(t *testing.T) {
	for _, name := range []string{"types.arrow", "types_file.arrow", "saved/data-00000-of-00002.arrow", "deltas.arrow"} {
		data, err := os.ReadFile("testdata/arrow/" + name)
		must(t, err)
		for n := range len(data) {
			if _, err := buildArrowIndex(background, &window{r: strings.NewReader(string(data[:n])), size: int64(n), chunk: localChunk}, false); err == nil {
				t.Fatalf("%s: %d of %d bytes were taken for all", name, n, len(data))
			}
		}
	}
}

// A file of Arrow that ends well and has no rows says so by its name.
func TestArrowWithoutRowsIsRefused(t *testing.T) {
	for what, text := range map[string]string{
		"no batch":          arrowSchemaOf(wholeField) + arrowEnd,
		"a batch of no row": arrowSchemaOf(wholeField) + arrowBatchOf(0, [][2]int64{{0, 0}}, [][2]int64{{0, 0}, {0, 0}}, "") + arrowEnd,
	} {
		name := filepath.Join(t.TempDir(), "a.arrow")
		write(t, name, text)
		_, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "a", Type: Int64}}, IndexDir: t.TempDir()})
		if want := fmt.Sprintf("files without a row or record; the first is %q", name); !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
}

// A file that was written again after it was opened is a bad sample, and another one when it is opened again.
func TestArrowThatChangesIsABadSample(t *testing.T) {
	name, index := filepath.Join(t.TempDir(), "a.arrow"), t.TempDir()
	batch := func(v string) string {
		return arrowSchemaOf(wholeField) + arrowBatchOf(1, [][2]int64{{1, 0}}, [][2]int64{{0, 0}, {0, 4}}, v) + arrowEnd
	}
	c := ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "a", Type: Int64}}, IndexDir: index}
	write(t, name, batch("\x01\x00\x00\x00"))
	s := openS(t, c)
	write(t, name, batch("\x02\x00\x00\x00"))
	must(t, os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)))
	var b Buffer
	if err := s.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), string(Changed)) {
		t.Errorf("got %v", err)
	}
	if b, _ := read(t, openS(t, c), 0); b.Value(0)[0] != 2 {
		t.Errorf("got %v", b.Value(0))
	}
}

// Compressed buffers that say what cannot be are refused, and leave nothing.
func TestArrowRefusesDamagedCompression(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", cache)
	batch := func(codec int8, buffer string) string {
		return arrowSchemaOf(wholeField) + arrowMessageOf(messageBatch, flatFields{0: int64(1), 1: [][2]int64{{1, 0}}, 2: [][2]int64{{0, 0}, {0, int64(len(buffer))}}, 3: flatFields{0: codec}}, buffer) + arrowEnd
	}
	size := func(n int64) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	for want, file := range map[string]string{
		"a buffer is no frame of lz4 of the size that it says; write":         batch(0, size(0)+"\x04\x22\x4d\x18\x60\x40\x00\x05\x00\x00\x00\x40abcd\x00\x00\x00\x00"),
		"damaged: got a compressed buffer of 3 bytes":                         batch(0, "abc"),
		"got a batch that has a buffer of 1099511627776 bytes unpacked":       batch(1, size(1<<40)+"abc"),
		"got a batch that has a buffer of -2 bytes unpacked":                  batch(1, size(-2)+"abc"),
		"got compression 9, want lz4 or zstd":                                 batch(9, size(4)+"abcd"),
		"it cannot be unpacked (arrow): damaged: a buffer is no frame of lz4": batch(0, size(4)+"abcd"),
		"damaged: a buffer unpacks to another size than it says":              batch(1, size(4)),
	} {
		name := filepath.Join(t.TempDir(), "a.arrow")
		write(t, name, file)
		_, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "a"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	name := filepath.Join(t.TempDir(), "a.arrow")
	write(t, name, batch(1, size(-1)+"\x07\x00\x00\x00")) // not compressed after all
	s, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "a", Type: Int64}}})
	must(t, err)
	if b, _ := read(t, s, 0); b.Value(0)[0] != 7 {
		t.Errorf("got %v", b.Value(0))
	}
	must(t, s.Close())
	if left, _ := filepath.Glob(filepath.Join(cache, "unpacked", "*")); len(left) != 1 {
		t.Errorf("left %q", left)
	}
}

// Buffers that are larger than what is looked at at a time, and lists in lists over several of these, are read whole; rows of nulls alone have nothing.
func TestArrowOfManyRows(t *testing.T) {
	const n = 3*arrowRows + 5
	var numbers, offsets, nulls []byte
	for i := range int32(n) {
		numbers = binary.LittleEndian.AppendUint32(numbers, uint32(i))
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(i/2*2))
	}
	offsets = binary.LittleEndian.AppendUint32(offsets, n/2*2)
	nulls = slices.Repeat([]byte{0x55}, n/8+1)
	body := string(nulls) + string(numbers) + string(offsets)
	at := int64(len(nulls))
	file := arrowSchemaOf(wholeField, arrowFieldOf("list", arrowList, flatFields{}, wholeField)) +
		arrowBatchOf(n, [][2]int64{{n, n / 2}, {n, n / 2}, {n, 0}}, [][2]int64{{0, at}, {at, 4 * n}, {0, at}, {at + 4*n, 4 * (n + 1)}, {0, 0}, {at, 4 * n}}, body) + arrowEnd
	name := filepath.Join(t.TempDir(), "a.arrow")
	write(t, name, file)
	s := openS(t, ShardsConfig{Shards: []string{name}, Media: []Medium{}, IndexDir: t.TempDir(), Columns: []Column{
		{Name: "a", Type: Int64, Default: []byte("-1")}, {Name: "list", Type: List, DType: tensor.I32, Shape: tensor.Shape{}, MaxLength: 2, Default: []byte{}}}})
	for i := range int64(n) {
		b, _ := read(t, s, i)
		want := fmt.Sprintf("%d []", i)
		if i%2 == 1 {
			want = "-1 []"
		}
		columns := s.(Columnar).Columns()
		if got := shownValue(&columns[0], b.Value(0)) + " " + shownValue(&columns[1], b.Value(1)); got != want {
			t.Fatalf("sample %d: got %s, want %s", i, got, want)
		}
	}
}

// FuzzArrow: no file ends the process, whatever it says, nor leads outside of itself.
func FuzzArrow(f *testing.F) {
	for _, name := range []string{"types.arrow", "types_file.arrow", "saved/data-00000-of-00002.arrow", "deltas.arrow", "lz4.feather", "zstd_stream.arrows", "polars.arrow", "polars_zstd.arrow", "polars_lz4.arrow", "../arrow_pictures.arrow"} {
		data, err := os.ReadFile("testdata/arrow/" + name)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		index := func(data []byte, files bool) error {
			b, err := buildArrowIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: localChunk}, files)
			if err != nil {
				return err
			}
			x, err := parseIndex(b.encode(version{size: int64(len(data))}), version{size: int64(len(data))})
			must(t, err)
			for i := range min(x.n, 64) {
				members, err := x.appendMembers(i, nil)
				must(t, err) // none lies outside of the file
				for _, m := range members {
					var b Buffer
					for _, c := range []Column{{Name: "a", MaxBytes: 100}, {Name: "a", Type: Int64}, {Name: "a", Type: List, DType: tensor.F64, Shape: tensor.Shape{}, MaxLength: 9}} {
						e, value := encodingMarked(x.parts[m.part]), data[m.off:m.off+int64(m.size)]
						if e.refuses(&c) != nil {
							continue
						}
						if e.bit {
							value, err = e.bitsOf(m, value)
							must(t, err)
						}
						_ = b.setEncoded(&c, value, e, false) // it may be a bad sample
					}
				}
			}
			return nil
		}
		_ = index(data, true)
		if index(data, false) != nil {
			return
		}
		if in, err := unpackArrow(bytes.NewReader(data), anyBytes); err == nil {
			unpacked, err := io.ReadAll(io.LimitReader(in, 16<<20))
			in.(*arrowUnpacker).close()
			if err == nil {
				_ = index(unpacked, true) // which may be damaged itself
			}
		}
	})
}
