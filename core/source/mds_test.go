package source

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
)

// wanted are the samples of the data sets in testdata/mds or testdata/litdata, as the program that made these wrote them down: numbers, texts, lists of numbers, and bytes.
func wanted(t testing.TB, of string) (samples []map[string]any) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + of + "/want.json")
	must(t, err)
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	must(t, d.Decode(&samples))
	return samples
}

// objectsIn are the files of a directory, by their names behind a prefix.
func objectsIn(t testing.TB, dir, prefix string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	must(t, err)
	objects := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(t, err)
		objects[prefix+f.Name()] = string(text)
	}
	return objects
}

func unbased(t testing.TB, text any) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text.(string))
	must(t, err)
	return string(data)
}

// checkMDS compares columns of every sample with what the maker of the data set knew.
func checkMDS(t *testing.T, s Source, want []map[string]any) {
	t.Helper()
	if s.Len() != int64(len(want)) {
		t.Fatalf("got %d samples, want %d", s.Len(), len(want))
	}
	for i, sample := range want {
		b, picture := read(t, s, int64(i))
		if picture != unbased(t, sample["photo"]) {
			t.Errorf("sample %d: the picture is another", i)
		}
		if got := fmt.Sprint(s.Label(int64(i))); got != sample["label"].(json.Number).String() {
			t.Errorf("sample %d: label %s, want %v", i, got, sample["label"])
		}
		for c, column := range s.(Columnar).Columns() {
			if got, want := shownValue(&column, b.Value(c)), wantedValue(t, &column, sample); got != want {
				t.Errorf("sample %d: column %s: got %.200s, want %.200s", i, column.Name, got, want)
			}
		}
	}
}

// shownValue is a column's value as text.
func shownValue(c *Column, value []byte) string {
	switch {
	case c.Type == Text:
		return string(value)
	case c.Type == Int64:
		return fmt.Sprint(int64(binary.NativeEndian.Uint64(value)))
	case c.Type == Float64:
		return fmt.Sprint([]float64{math.Float64frombits(binary.NativeEndian.Uint64(value))})
	}
	var all []float64
	for ; len(value) > 0; value = value[c.DType.Bytes():] {
		var one [8]byte
		copy(one[:], value[:c.DType.Bytes()])
		u := binary.LittleEndian.Uint64(one[:])
		v := elementsOf(tensor.I64, one[:])[0]
		switch c.DType {
		case tensor.F16:
			v = tensor.Half(uint16(u))
		case tensor.U64:
			v = float64(u)
		case tensor.F32, tensor.F64, tensor.I16:
			v = elementsOf(c.DType, value[:c.DType.Bytes()])[0]
		}
		all = append(all, v)
	}
	return fmt.Sprint(all)
}

// wantedValue is what shownValue has to be.
func wantedValue(t *testing.T, c *Column, sample map[string]any) string {
	t.Helper()
	switch v := sample[c.From].(type) {
	case json.Number:
		if c.Type == Text || c.Type == Int64 {
			return v.String()
		}
		f, err := v.Float64()
		must(t, err)
		return fmt.Sprint([]float64{f})
	case string:
		if c.From == "text" {
			return v
		}
		bytes := unbased(t, v)
		if c.Type == Text {
			return bytes
		}
		var all []float64
		for _, x := range []byte(bytes) {
			all = append(all, float64(x))
		}
		return fmt.Sprint(all)
	case map[string]any: // meta
		if c.Member == "list" {
			return wantedValue(t, &Column{From: "list", Type: List}, v)
		}
		return v["a"].(map[string]any)["b"].(json.Number).String()
	case []any:
		var all []float64
		for _, x := range v {
			f, err := x.(json.Number).Float64()
			must(t, err)
			all = append(all, f)
		}
		return fmt.Sprint(all)
	}
	t.Fatalf("no value for %q", c.From)
	return ""
}

// mdsColumns are columns of every encoding that is read, in each of the types that it has values for.
var mdsTestColumns = []Column{
	{Name: "x"}, {Name: "none"}, {Name: "text"}, {Name: "digits", Type: Int64}, {Name: "digits_text", From: "digits"}, {Name: "digits_float", From: "digits", Type: Float64}, {Name: "decimal", Type: Float64},
	{Name: "float", Type: Float64}, {Name: "b", From: "meta[a.b]", Type: Int64}, {Name: "list", From: "meta[list]", Type: List, DType: tensor.I16, Shape: tensor.Shape{2}}, {Name: "mask"},
	{Name: "int8", Type: Int64}, {Name: "int16", Type: Int64}, {Name: "int32", Type: Int64}, {Name: "int64", Type: Int64}, {Name: "uint8", Type: Int64}, {Name: "uint16", Type: Int64}, {Name: "uint32", Type: Int64},
	{Name: "int64_float", From: "int64", Type: Float64}, {Name: "uint64", Type: Float64}, {Name: "float16", Type: Float64}, {Name: "float32", Type: Float64}, {Name: "float64", Type: Float64},
	{Name: "uint64_list", From: "uint64", Type: List, DType: tensor.U64, Shape: tensor.Shape{1}}, {Name: "uint64_array", From: "uint64", Type: Array}, {Name: "float16_array", From: "float16", Type: Array},
	{Name: "array", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 5}, {Name: "array_long", Type: Array}, {Name: "array_typed", Type: Array, Shape: tensor.Shape{}, DType: tensor.I16, MaxLength: 9},
	{Name: "array_typed_list", From: "array_typed", Type: List, DType: tensor.F64, Shape: tensor.Shape{}, MaxLength: 9}, {Name: "array_shaped", Type: Array}, {Name: "array_wide", Type: Array},
	{Name: "pixels", Type: Array}, {Name: "grey", Type: Array}, {Name: "whole_float", From: "int16", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 1},
}

// Every encoding that MDSWriter has and that is no program gives what was written, from a disk and over http, by a directory, a catalogue and the shards' names.
func TestMDSHasWhatWasWritten(t *testing.T) {
	want := wanted(t, "mds")
	origin := serveObjects(t, objectsIn(t, "testdata/mds/all", "/b/mds/"))
	client := storeClient(t, store.Options{Endpoint: origin.URL, Region: "r", PathStyle: true, Anonymous: true})
	index := t.TempDir()
	picture := []Medium{{Name: "image", From: []string{"photo"}}}
	for _, name := range []string{
		"testdata/mds/all", "testdata/mds/all/index.json", "testdata/mds/al*", "testdata/mds/all/*.mds", origin.URL + "/b/mds/", origin.URL + "/b/mds/index.json?token=1",
		origin.URL + "/b/mds/shard.{00000,00001}.mds", "s3://b/mds/", "s3://b/mds/index.json",
	} {
		for k := range 2 {
			s := openS(t, ShardsConfig{Shards: []string{name}, Media: picture, Columns: mdsTestColumns, IndexDir: index, Store: client})
			checkMDS(t, s, want)
			if notes := s.(interface{ Notes() []string }).Notes(); k == 1 && len(notes) > 0 {
				t.Errorf("%s: the index was not kept: %q", name, notes)
			}
			known := s.(Knowing).Known("digits")
			if known == nil || known(3) != int64(-3e12) || string(s.Key(3, nil)) != "0" {
				t.Errorf("%s: numbers are not known without reading, or the key %q is not the sample's number", name, s.Key(3, nil))
			}
		}
	}
	columns := s0Columns(t, index)
	for c, shape := range map[string]string{"pixels": "4x6x3 u8", "grey": "4x6 u8", "array_shaped": "2x3 f16", "float16_array": "scalar f16", "array_wide": "2 u64"} {
		k := slices.IndexFunc(columns, func(x Column) bool { return x.Name == c })
		if got := fmt.Sprintf("%v %v", columns[k].Shape, columns[k].DType); got != shape {
			t.Errorf("%s: got %q, want %q", c, got, shape)
		}
	}
}

func s0Columns(t *testing.T, index string) []Column {
	s := openS(t, ShardsConfig{Shards: []string{"testdata/mds/all"}, Media: []Medium{}, Columns: mdsTestColumns, IndexDir: index})
	checkNoMedia(t, s)
	return s.(Columnar).Columns()
}

// checkNoMedia reads all samples of a source that has columns alone, whose arrays stay where they lie.
func checkNoMedia(t *testing.T, s Source) {
	t.Helper()
	for i := range s.Len() {
		b, _ := read(t, s, i)
		c := slices.IndexFunc(mdsTestColumns, func(c Column) bool { return c.Name == "array_wide" })
		if got := elementsOf(tensor.I64, b.Value(c)); got[0] != float64(i) {
			t.Errorf("sample %d: got %v", i, got)
		}
	}
}

// mdsColumn is one of a shard that a test makes: its encoding, its size where that is fixed, and the values of the samples.
type mdsColumn struct {
	name, encoding string
	size           int
	values         []string
}

// mdsOf is a shard, and mdsRaw one whose description is as it is given.
func mdsOf(t testing.TB, columns ...mdsColumn) string {
	t.Helper()
	about := mdsColumns{Version: mdsVersion, Format: "mds"}
	for _, c := range columns {
		about.Names, about.Encodings = append(about.Names, c.name), append(about.Encodings, c.encoding)
		size := int64(c.size)
		if about.Sizes = append(about.Sizes, &size); size == 0 {
			about.Sizes[len(about.Sizes)-1] = nil
		}
	}
	text, err := json.Marshal(about)
	must(t, err)
	return mdsRaw(string(text), columns...)
}

func mdsRaw(about string, columns ...mdsColumn) string {
	n := len(columns[0].values)
	offsets := binary.LittleEndian.AppendUint32(nil, uint32(n))
	at := offsetBytes*(n+2) + len(about)
	var all string
	for i := range n {
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(at+len(all)))
		var sizes []byte
		values := ""
		for _, c := range columns {
			if values += c.values[i]; c.size == 0 {
				sizes = binary.LittleEndian.AppendUint32(sizes, uint32(len(c.values[i])))
			}
		}
		all += string(sizes) + values
	}
	offsets = binary.LittleEndian.AppendUint32(offsets, uint32(at+len(all)))
	return string(offsets) + about + all
}

// A picture is found by its encoding, or by its name where it is bytes; a label is label or cls, of any type of whole numbers.
func TestMDSNeedsNoNames(t *testing.T) {
	dir := t.TempDir()
	for k, c := range []struct {
		picture, label mdsColumn
		named          string
		want           int64
	}{
		{mdsColumn{"x", "jpeg", 0, []string{"p"}}, mdsColumn{"y", "int", 8, []string{"\x07\x00\x00\x00\x00\x00\x00\x00"}}, "y", 7},
		{mdsColumn{"x", "png", 0, []string{"p"}}, mdsColumn{"label", "int8", 1, []string{"\xff"}}, "", -1},
		{mdsColumn{"image", "bytes", 0, []string{"p"}}, mdsColumn{"cls", "uint16", 2, []string{"\x01\x02"}}, "", 513},
		{mdsColumn{"jpg", "bytes", 0, []string{"p"}}, mdsColumn{"label", "str_int", 0, []string{"-12"}}, "", -12},
		{mdsColumn{"img", "bytes", 0, []string{"p"}}, mdsColumn{"label", "float32", 4, []string{"\x00\x00\x00\x00"}}, "", -1},
		{mdsColumn{"image", "bytes", 0, []string{"p"}}, mdsColumn{"label", "uint64", 8, []string{"\xff\xff\xff\xff\xff\xff\xff\x7f"}}, "label", math.MaxInt64},
	} {
		file := filepath.Join(dir, fmt.Sprintf("%d.mds", k))
		write(t, file, mdsOf(t, c.picture, c.label, mdsColumn{"caption", "str", 0, []string{"q"}}))
		s := openS(t, ShardsConfig{Shards: []string{file}, Label: c.named})
		if _, picture := read(t, s, 0); picture != "p" || s.Label(0) != c.want {
			t.Errorf("%s, %s: got %q, %d", c.picture.name, c.label.encoding, picture, s.Label(0))
		}
	}
	parts, err := PartsOf(background, ShardsConfig{Shards: []string{filepath.Join(dir, "0.mds")}})
	if err != nil || !slices.Equal(parts, []string{"x", "y", "caption"}) {
		t.Errorf("parts %q, %v", parts, err)
	}
}

// What a column's encoding cannot be is refused when the source is opened, with the column and what it is.
func TestMDSRefusesWhatAnEncodingIsNot(t *testing.T) {
	dir := "testdata/mds/all"
	photo := []Medium{{Name: "image", From: []string{"photo"}}}
	for want, c := range map[string]ShardsConfig{
		`source.columns: column "pickle" of "testdata/mds/all/shard.00000.mds": it is pkl, a pickle, which may run any program; leave it out, or have a program`: {Media: photo, Columns: []Column{{Name: "pickle"}}},
		`column "many" of "testdata/mds/all/shard.00000.mds": it is jpeg_array, several pictures in one value; leave it out`:                                     {Media: photo, Columns: []Column{{Name: "many"}}},
		`it is list[jpeg], several pictures in one value`:                               {Media: []Medium{{From: []string{"list"}}}},
		`it is float32, want type i64, f64, npy, list`:                                  {Media: photo, Columns: []Column{{Name: "float32"}}},
		`it is ndarray, want type npy, list`:                                            {Media: photo, Columns: []Column{{Name: "array", Type: Float64}}},
		`it is pil, want type npy`:                                                      {Media: photo, Columns: []Column{{Name: "grey", Type: List, DType: tensor.U8, MaxLength: 9}}},
		`it is json, want type text, i64, f64, list`:                                    {Media: photo, Columns: []Column{{Name: "meta", Type: Array}}},
		`it is jpeg, want type text`:                                                    {Media: photo, Columns: []Column{{Name: "photo", Type: Int64}}},
		`it is jpeg, in which nothing is called "a"`:                                    {Media: photo, Columns: []Column{{Name: "a", From: "photo[a]"}}},
		`source.label: column "float32" of "`:                                           {Media: photo, Label: "float32"},
		`it is float32, want whole numbers`:                                             {Media: photo, Label: "float32"},
		`source.image: column "grey" of "`:                                              {Media: []Medium{{Name: "image", From: []string{"grey"}}}},
		`it is pil, pixels without a file around them; a column of type npy has them`:   {Media: []Medium{{From: []string{"grey"}}}},
		`it is str, want the bytes of a file`:                                           {Media: []Medium{{From: []string{"text"}}}},
		`source.label: no sample has a part "nobody"; the parts are array, array_long,`: {Media: photo, Label: "nobody"},
		`source.columns: no sample has a part "nobody"`:                                 {Media: photo, Columns: []Column{{Name: "nobody"}}},
	} {
		c.Shards, c.IndexDir = []string{dir}, t.TempDir()
		if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s := openS(t, ShardsConfig{Shards: []string{dir}})
	var b Buffer
	if err := s.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), `got two pictures, "mask" and "photo"; say which in source.image`) {
		t.Errorf("got %v", err)
	}
}

// Numbers and arrays that are damaged, or that a column does not hold, make bad samples.
func TestMDSValuesThatDoNotFitAreBadSamples(t *testing.T) {
	shape := func(value string) mdsColumn { return mdsColumn{"a", "ndarray", 0, []string{value}} }
	list := listOf("a", tensor.U8, 0, 2)
	for _, c := range []struct {
		column mdsColumn
		as     Column
		label  string
		want   string
	}{
		{mdsColumn{"a", "uint64", 8, []string{"\xff\xff\xff\xff\xff\xff\xff\xff"}}, Column{Name: "a", Type: Int64}, "", `column "a": got 18446744073709551615, want a whole number that i64 holds`},
		{mdsColumn{"a", "uint64", 8, []string{"\xff\xff\xff\xff\xff\xff\xff\xff"}}, Column{Name: "a", Type: Float64}, "a", `label: column "a" is no whole number that i64 holds`},
		{mdsColumn{"a", "str_int", 0, []string{"x"}}, Column{Name: "a"}, "a", `label: column "a" is no whole number that i64 holds`},
		{mdsColumn{"a", "float32", 4, []string{"\x00\x00\x00\x3f"}}, Column{Name: "a", Type: Int64}, "", `column "a": got 0.5, want a whole number that i64 holds`},
		{mdsColumn{"a", "str", 0, []string{"long"}}, Column{Name: "a", MaxBytes: 3}, "", `part "a": got 4 bytes, want at most 3; raise max_bytes of the column`},
		{shape("\x08\x04\x02\x01"), list, "", `column "a": damaged: got 1 bytes, want 2 for 2 of u8`},
		{shape("\x08\x04\x03\x01\x02\x03"), list, "", `column "a": got 3 numbers, want shape 2`},
		{shape("\x08"), list, "", `damaged: got an array without a shape`},
		{shape(""), list, "", `damaged: got no bytes, want an array`},
		{shape("\x07\x04\x02\x01\x02"), list, "", `damaged: got an array of type 7, which MDS does not have`},
		{shape("\x08\x0f\xff\xff\xff\xff\xff\xff\xff\x7f"), list, "", `damaged: got 8 bytes, want 24 for 3 dimensions`},
		{shape("\x08\x07\xff\xff\xff\xff\xff\xff\xff\x7f"), list, "", `damaged: got a dimension of 9223372036854775807`},
		{shape("\x09\x04\x02\xff\x00"), list, "", `column "a": got -1, want a whole number that u8 holds`},
		{mdsColumn{"a", "pil", 0, []string{"\x01\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00RGBab"}}, Column{Name: "a", Type: Array}, "", `damaged: got 2 bytes, want 3 for 1x1x3 of u8`},
		{mdsColumn{"a", "pil", 0, []string{"\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x001\x80"}}, Column{Name: "a", Type: Array}, "", `got a picture of PIL's mode "1", want one whose pixels are numbers`},
		{mdsColumn{"a", "pil", 0, []string{"\x01\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xffL"}}, Column{Name: "a", Type: Array}, "", `damaged: got a mode of 4294967295 bytes`},
		{mdsColumn{"a", "pil", 0, []string{"\x01"}}, Column{Name: "a", Type: Array}, "", `damaged: got 1 bytes, want a width, a height and a mode`},
	} {
		file := filepath.Join(t.TempDir(), "a.mds")
		write(t, file, mdsOf(t, c.column))
		s, err := OpenShards(background, ShardsConfig{Shards: []string{file}, Media: []Medium{}, Columns: []Column{c.as}, Label: c.label, IndexDir: t.TempDir()})
		if err == nil {
			var b Buffer
			err = s.Read(background, 0, &b)
			must(t, s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: got %v, want %q", c.column.encoding, c.column.values[0], err, c.want)
		}
	}
}
