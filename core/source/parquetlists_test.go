package source

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

func listOf(name string, t tensor.DType, most int, shape ...int64) Column {
	return Column{Name: strings.ReplaceAll(name, ".", "_"), From: name, Type: List, DType: t, MaxLength: most, Shape: append(tensor.Shape{}, shape...)}
}

// elementsOf are the numbers of a value.
func elementsOf(t tensor.DType, value []byte) (all []float64) {
	for ; len(value) > 0; value = value[t.Bytes():] {
		switch t {
		case tensor.U8:
			all = append(all, float64(value[0]))
		case tensor.I16:
			all = append(all, float64(int16(binary.LittleEndian.Uint16(value))))
		case tensor.F32:
			all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(value))))
		case tensor.F64:
			all = append(all, math.Float64frombits(binary.LittleEndian.Uint64(value)))
		default:
			all = append(all, float64(int64(binary.LittleEndian.Uint64(value))))
		}
	}
	return all
}

// Lists that Arrow writes are read as Arrow reads them (testdata/make.py), beside media and without, as shards and as a table.
func TestListsOfArrow(t *testing.T) { inMemoryAndOnDisk(t, testListsOfArrow) }

func testListsOfArrow(t *testing.T) {
	columns := []Column{listOf("ids", tensor.I64, 4), listOf("emb", tensor.F32, 0, 3), listOf("boxes", tensor.F64, 2, 4), listOf("yes", tensor.U8, 3),
		listOf("objects.area", tensor.I16, 1), listOf("parts.x", tensor.U64, 2), listOf("half", tensor.F32, 0, 1), listOf("cents", tensor.F64, 0, 2), {Name: "path", From: "image.path"}}
	want := func(i int) string {
		var ids, boxes, yes, area, parts []float64
		for j := range i % 5 {
			ids = append(ids, float64(i*j))
		}
		for j := range i % 3 {
			boxes, parts = append(boxes, float64(i), float64(j), float64(i+j), 0.25), append(parts, float64(j))
		}
		for j := range i % 4 {
			yes = append(yes, []float64{1, 0, 0}[j])
		}
		if i%2 == 1 {
			area = append(area, float64(i))
		}
		emb := []float64{float64(i) + 0.5, float64(-i), float64(float32(1e30))}
		if i == 7 {
			emb[2] = math.NaN()
		}
		return fmt.Sprint(ids, emb, boxes, yes, area, parts, []float64{float64(i) / 2}, []float64{float64(i), float64(i) + 0.25}, fmt.Sprintf("%d.jpg", i))
	}
	for _, name := range []string{"v1", "v2", "dictionary"} {
		file := "testdata/arrow_lists_" + name + ".parquet"
		pictures, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Columns: columns}) // in image.bytes
		must(t, err)
		alone, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: columns})
		must(t, err)
		for k, s := range []Source{pictures, alone, openL(t, ListConfig{File: file, Alone: true, Columns: columns}), openL(t, ListConfig{File: file, Path: "image.path", Root: t.TempDir(), Columns: columns})} {
			if s.Len() != 50 {
				t.Fatal(name, k, s.Len())
			}
			if k == 3 {
				continue // whose files are not there: that it opens is enough
			}
			for i := range int(s.Len()) {
				b, picture := read(t, s, int64(i))
				var got []any
				for c := range columns[:8] {
					got = append(got, elementsOf(columns[c].DType, b.Value(c)))
				}
				if got := fmt.Sprint(append(got, string(b.Value(8)))...); got != want(i) {
					t.Errorf("%s %d: sample %d: got %s, want %s", name, k, i, got, want(i))
				}
				if k == 0 && picture != fmt.Sprint(i) {
					t.Errorf("%s: sample %d: got the picture %q", name, i, picture)
				}
			}
		}
		must(t, pictures.Close())
		must(t, alone.Close())
	}
}

// What is no list of numbers, and lists that do not hold what their column says, are refused with where and what to do.
func TestListsThatAreNotWanted(t *testing.T) { inMemoryAndOnDisk(t, testListsThatAreNotWanted) }

func testListsThatAreNotWanted(t *testing.T) {
	const file = "testdata/arrow_lists_v1.parquet"
	text := func(name string) Column { return Column{Name: "x", From: name} }
	for want, c := range map[string]Column{
		`column "ids" holds a list a row, want one value; a column of numbers takes it with type: list, its dtype, and max_length or shape`: text("ids"),
		`column "objects.area" holds a list a row, want one value`:                                                                          text("objects.area"),
		`column "tags" holds a list of texts a row, want one value; write them as columns, or as one text a row`:                            text("tags"),
		`column "image" is a group, want one value a row; name one of the columns in it: image.bytes, image.path`:                           text("image"),
		`column "objects" is a group, want one value a row; name one of the columns in it: objects.area, objects.name`:                      listOf("objects", tensor.I64, 9),
		`column "pairs" is a group`: listOf("pairs", tensor.I64, 9),
		`column "tags" holds lists of texts, want lists of numbers; write what is to be read as numbers, or as one text a row`: listOf("tags", tensor.I64, 9),
		`column "boxes" holds lists of 2 dimensions, want numbers of shape -1; say a shape of 2, such as [-1, 4]`:              listOf("boxes", tensor.F32, 9),
		`column "ids" holds lists of 1 dimension, want numbers of shape 2x2; say a shape of 1, such as [-1]`:                   listOf("ids", tensor.I64, 0, 2, 2),
		`column "maybe": row 1: got null, want a list of numbers, or an empty one`:                                             listOf("maybe", tensor.I64, 9),
		`column "ids": row 4: got a list of more than 3, want at most that; raise max_length of the column`:                    listOf("ids", tensor.I64, 3),
		`column "ids": row 0: got a list of 0, want shape 4`:                                                                   listOf("ids", tensor.I64, 0, 4),
		`column "emb": row 0: got a list of more than 2, want shape 2`:                                                         listOf("emb", tensor.F32, 0, 2),
		`column "emb": row 0: got a list of 3, want shape 4`:                                                                   listOf("emb", tensor.F32, 0, 4),
		`column "boxes": row 1: got a list of more than 3, want shape -1x3`:                                                    listOf("boxes", tensor.F32, 9, 3),
		`column "boxes": row 1: got a list of 4, want shape -1x5`:                                                              listOf("boxes", tensor.F32, 9, 5),
		`column "emb": row 0: got 0.5, want a whole number that i64 holds`:                                                     listOf("emb", tensor.I64, 9),
		`column "ids": row 44: got 132, want a whole number that i8 holds`:                                                     listOf("ids", tensor.I8, 9),
		`column "half": row 1: got "0.5", want a whole number that u8 holds`:                                                   listOf("half", tensor.U8, 9),
		`no column "id"; the columns are `:                                                                                     listOf("id", tensor.I64, 9),
		`column "image.path": got "0.jpg", want a list of numbers of shape -1`:                                                 listOf("image.path", tensor.I64, 9),
	} {
		_, err := OpenList(ListConfig{File: file, Alone: true, Columns: []Column{c}})
		_, beside := OpenParquet(background, ShardsConfig{Shards: []string{file}, Columns: []Column{c}})
		for _, err := range []error{err, beside} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", c.From, err, want)
			}
		}
	}
	_, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"ids"}}}})
	if err == nil || !strings.Contains(err.Error(), `column "ids" holds a list a row`) {
		t.Errorf("got %v", err)
	}
	_, err = OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"photo"}}}})
	if err == nil || !strings.Contains(err.Error(), "no column photo; the columns are ") || !strings.Contains(err.Error(), ", and lists of values a row are ") || !strings.Contains(err.Error(), "objects.area") {
		t.Errorf("got %v", err)
	}
}

// forgedList is a column of lists whose pages say what they like.
type forgedList struct {
	schema []format.SchemaElement // of x
	rows   int64
	values int64 // 0: those of all pages
	pages  [][]byte
}

func (f *forgedList) write(t testing.TB, file string) {
	t.Helper()
	data := []byte("PAR1")
	for _, p := range f.pages {
		data = append(data, p...)
	}
	c := format.ColumnChunk{MetaData: format.ColumnMetaData{NumValues: f.values, DataPageOffset: 4, TotalCompressedSize: int64(len(data)) - 4}}
	write(t, file, string(withFooter(data, thriftOf(t, &format.FileMetaData{Version: 1, NumRows: f.rows, Schema: append([]format.SchemaElement{{Name: "root", NumChildren: 1}}, f.schema...),
		RowGroups: []format.RowGroup{{NumRows: f.rows, Columns: []format.ColumnChunk{c}}}}))))
}

// pageOfLists is one of plain i32, of a repetition and a definition level each.
func pageOfLists(t testing.TB, repeats, levels string, present byte, values *int32) []byte {
	var r, d, all []byte
	for k := range levels {
		r, d = append(r, uvarints(1<<1, uint64(repeats[k]-'0'))...), append(d, uvarints(1<<1, uint64(levels[k]-'0'))...)
		if levels[k] == present {
			*values++
			all = append(all, le32(uint32(*values))...)
		}
	}
	body := plain(r)
	if present > '0' {
		body = append(body, plain(d)...)
	}
	return dataPage(t, format.Plain, int32(len(levels)), append(body, all...), 0)
}

func schemaOf(elements ...string) (all []format.SchemaElement) {
	for _, e := range elements {
		fields := strings.Fields(e) // name, repetition, then a number of children, and LIST
		s := format.SchemaElement{Name: fields[0]}
		r := map[string]format.FieldRepetitionType{"required": format.Required, "optional": format.Optional, "repeated": format.Repeated}[fields[1]]
		s.RepetitionType = &r
		if len(fields) == 2 {
			kind := format.Int32
			s.Type = &kind
		} else {
			s.NumChildren = 1
		}
		if len(fields) == 4 {
			list := deprecated.List
			s.ConvertedType = &list
		}
		all = append(all, s)
	}
	return all
}

// Lists of every shape of their groups, old and new, are read, wherever pages end.
func TestListsAcrossPages(t *testing.T) { inMemoryAndOnDisk(t, testListsAcrossPages) }

func testListsAcrossPages(t *testing.T) {
	three := schemaOf("x optional 1 LIST", "list repeated 1", "element optional")
	inner := schemaOf("x optional 1 LIST", "list repeated 1", "element optional 1 LIST", "list repeated 1", "element required")
	flat, deep := listOf("x", tensor.U8, 9), listOf("x", tensor.U8, 9, 2)
	for name, test := range map[string]struct {
		schema          []format.SchemaElement
		column          Column
		repeats, levels string
		present         byte
		want            string // of the rows, or what the error says
	}{
		"three levels":             {three, flat, "010001", "331133", '3', "[1 2][][][3 4]"},
		"a null list":              {three, flat, "00", "30", '3', `column "x": row 1: got null, want a list of numbers, or an empty one`},
		"a null number":            {three, flat, "001", "332", '3', `column "x": row 1: got null in a list, want a number`},
		"nothing null":             {schemaOf("x required 1 LIST", "list repeated 1", "item required"), flat, "0010", "1110", '1', "[1][2 3][]"},
		"two levels":               {schemaOf("x optional 1 LIST", "array repeated"), flat, "0010", "2221", '2', "[1][2 3][]"},
		"two levels, lists":        {schemaOf("x optional 1 LIST", "array repeated 1 LIST", "array repeated"), deep, "021200", "333313", '3', "a list of 1, want shape -1x2"},
		"two levels, whole lists":  {schemaOf("x optional 1 LIST", "array repeated 1 LIST", "array repeated"), deep, "0212002", "3333133", '3', "[1 2 3 4][][5 6]"},
		"repeated alone":           {schemaOf("x repeated"), flat, "0010", "1110", '1', "[1][2 3][]"},
		"another wrapper":          {schemaOf("x optional 1 LIST", "bag repeated 1", "array_element optional"), flat, "001", "333", '3', "[1][2 3]"},
		"lists in lists":           {inner, deep, "0212020", "4444441", '4', "[1 2 3 4][5 6][]"},
		"an empty list in a list":  {inner, deep, "0", "3", '4', "row 0: got a list of 0, want shape -1x2"},
		"a null list in a list":    {inner, deep, "021", "442", '4', "row 0: got null in a list, want a list of numbers"},
		"a short list in a list":   {inner, deep, "0210", "4444", '4', "row 0: got a list of 1, want shape -1x2"},
		"a long list in a list":    {inner, deep, "022", "444", '4', "row 0: got a list of more than 2, want shape -1x2"},
		"no beginning":             {three, flat, "1", "3", '3', "its levels are of no list"},
		"going on with none":       {three, flat, "01", "13", '3', "its levels are of no list"},
		"going on without a value": {three, flat, "01", "31", '3', "its levels are of no list"},
		"going on two lists in":    {inner, deep, "02", "14", '4', "its levels are of no list"},
	} {
		rows := max(strings.Count(test.repeats, "0"), 1)
		for size := 1; size <= len(test.levels); size++ {
			f := forgedList{schema: test.schema, rows: int64(rows), values: int64(len(test.levels))}
			n := int32(0)
			for at := 0; at < len(test.levels); at += size {
				to := min(at+size, len(test.levels))
				f.pages = append(f.pages, pageOfLists(t, test.repeats[at:to], test.levels[at:to], test.present, &n))
			}
			file := t.TempDir() + "/t.parquet"
			f.write(t, file)
			s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: []Column{test.column}})
			if !strings.HasPrefix(test.want, "[") {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s, pages of %d: got %v, want %q", name, size, err, test.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, pages of %d: %v", name, size, err)
				continue
			}
			got := ""
			for i := range s.Len() {
				b, _ := read(t, s, i)
				got += fmt.Sprint(b.Value(0))
			}
			if got != test.want {
				t.Errorf("%s, pages of %d: got %s, want %s", name, size, got, test.want)
			}
			must(t, s.Close())
		}
	}
}

// Whole numbers and others become elements as far as the type holds them; NaN and infinities are numbers of floats.
func TestNumbersOfListsBecomeElements(t *testing.T) {
	for _, test := range []struct {
		to   tensor.DType
		put  func(r *listRows) error
		want string
	}{
		{tensor.U8, func(r *listRows) error { return r.whole(255) }, "[255]"},
		{tensor.U8, func(r *listRows) error { return r.whole(256) }, "got 256, want a whole number that u8 holds"},
		{tensor.U64, func(r *listRows) error { return r.whole(-1) }, "got -1, want a whole number that u64 holds"},
		{tensor.U64, func(r *listRows) error { return r.unsigned(math.MaxUint64) }, "[255 255 255 255 255 255 255 255]"},
		{tensor.I64, func(r *listRows) error { return r.unsigned(1 << 63) }, "got 9223372036854775808, want a whole number that i64 holds"},
		{tensor.I16, func(r *listRows) error { return r.whole(-32768) }, "[0 128]"},
		{tensor.I16, func(r *listRows) error { return r.whole(32768) }, "got 32768, want a whole number that i16 holds"},
		{tensor.I8, func(r *listRows) error { return r.float(-2) }, "[254]"},
		{tensor.I64, func(r *listRows) error { return r.float(math.NaN()) }, "got NaN, want a whole number that i64 holds"},
		{tensor.I64, func(r *listRows) error { return r.float(math.Inf(1)) }, "got +Inf, want a whole number that i64 holds"},
		{tensor.I64, func(r *listRows) error { return r.float(1 << 53) }, "want a whole number that i64 holds"},
		{tensor.F32, func(r *listRows) error { return r.float(math.Inf(-1)) }, "[0 0 128 255]"},
		{tensor.F32, func(r *listRows) error { return r.float(1e39) }, "got 1e+39, want a number that f32 holds"},
		{tensor.F32, func(r *listRows) error { return r.unsigned(1 << 63) }, "[0 0 0 95]"},
		{tensor.F64, func(r *listRows) error { return r.whole(1) }, "[0 0 0 0 0 0 240 63]"},
	} {
		r := listRows{c: &Column{DType: test.to}, to: &texts{}}
		err := test.put(&r)
		if got := fmt.Sprint(r.to.bytes); err == nil && got != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %s, %v; want %s", test.to, got, err, test.want)
		}
	}
}

// What the levels and dictionaries of lists claim takes no memory beyond what the file has room for, and is refused by name.
func TestListsThatUnpackToMoreAreRefused(t *testing.T) {
	const allowed = 320 << 20
	schema := schemaOf("x required 1 LIST", "list repeated 1", "element required")
	run := func(n uint64, v byte) []byte { return append(uvarints(n<<1), v) }
	lists := func(n int32, repeats, levels []byte) []byte {
		body := append(append(plain(repeats), plain(levels)...), append([]byte{1}, run(uint64(n), 0)...)...)
		return dataPage(t, format.RLEDictionary, n, body, 0)
	}
	words := wordsPage(t, 1, le32(7))
	const many = 8 << 20
	long := lists(many, append(run(1, 0), run(many-1, 1)...), run(many, 1)) // one row, of a page
	more := lists(many, run(many, 1), run(many, 1))                         // the same, going on
	for name, test := range map[string]struct {
		f    forgedList
		want string
	}{
		"a long row":           {forgedList{rows: 1, values: many, pages: [][]byte{words, long}}, ""},
		"too long a row":       {forgedList{rows: 1, values: 20 * many, pages: append([][]byte{words, long}, [][]byte{more, more, more, more, more, more, more, more}...)}, "the lists of the rows: got"},
		"runs of repetitions":  {forgedList{rows: 1, values: 1, pages: [][]byte{words, lists(1, run(1<<31, 0), run(1, 1))}}, "more values than the page"},
		"runs of definitions":  {forgedList{rows: 1, values: 1, pages: [][]byte{words, lists(1, run(1, 0), run(1<<31, 1))}}, "more values than the page"},
		"a number of values":   {forgedList{rows: 1, values: math.MaxInt64, pages: [][]byte{words, lists(math.MaxInt32, nil, nil)}}, "bytes unpacked, want at most"},
		"more than its column": {forgedList{rows: 1, values: 1, pages: [][]byte{words, lists(2, run(2, 0), run(2, 0))}}, "damaged: a page of 2 values"},
		"fewer than it says":   {forgedList{rows: 1, values: 2, pages: [][]byte{words, lists(1, run(1, 0), run(1, 1))}}, "got 1 values of 2"},
		"fewer rows":           {forgedList{rows: 2, values: 1, pages: [][]byte{words, lists(1, run(1, 0), run(1, 1))}}, "got 1 lists of 2 rows"},
		"more rows":            {forgedList{rows: 1, values: 2, pages: [][]byte{words, lists(2, run(2, 0), run(2, 1))}}, "got more lists than 1 rows"},
		"levels of nothing":    {forgedList{rows: 1, values: 1, pages: [][]byte{words, lists(1, run(1, 1), run(1, 1))}}, "its levels are of no list"},
		"a word that is not":   {forgedList{rows: 1, values: 1, pages: [][]byte{words, dataPage(t, format.RLEDictionary, 1, append(append(plain(run(1, 0)), plain(run(1, 1))...), append([]byte{8}, run(1, 9)...)...), 0)}}, "not whole"},
		"too few numbers":      {forgedList{rows: 1, values: 1, pages: [][]byte{dataPage(t, format.Plain, 1, append(plain(run(1, 0)), plain(run(1, 1))...), 0)}}, "not whole"},
		"no levels":            {forgedList{rows: 1, values: 1, pages: [][]byte{dataPage(t, format.Plain, 1, []byte{9, 0, 0, 0}, 0)}}, "not whole"},
	} {
		test.f.schema = schema
		file := t.TempDir() + "/t.parquet"
		test.f.write(t, file)
		var err error
		peak := damage.PeakBytes(t, func() {
			var s Source
			if s, err = OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: []Column{listOf("x", tensor.I64, math.MaxInt32)}}); err == nil {
				must(t, s.Close())
			}
		})
		t.Logf("%s: %.1f MiB, %v", name, float64(peak)/(1<<20), err)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) || peak > allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want %q and at most %d", name, err, peak>>20, test.want, allowed>>20)
		}
	}
}

// A damaged file of lists is an error or other lists, and never ends the process.
func TestDamagedLists(t *testing.T) {
	file := t.TempDir() + "/t.parquet"
	columns := []Column{listOf("ids", tensor.I64, 4), listOf("boxes", tensor.F64, 2, 4), listOf("yes", tensor.U8, 3), listOf("half", tensor.F32, 1)}
	for _, name := range []string{"v1", "v2", "dictionary"} {
		whole, err := os.ReadFile("testdata/arrow_lists_" + name + ".parquet")
		must(t, err)
		try := func(bad []byte) {
			write(t, file, string(bad))
			if s, err := OpenList(ListConfig{File: file, Alone: true, Columns: columns}); err == nil {
				must(t, s.Close())
			}
		}
		damage.Flips(whole, damage.Count(1000), func(_ string, bad []byte) { try(bad) })
	}
}
