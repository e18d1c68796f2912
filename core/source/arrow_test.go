package source

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
)

// wantedArrow are the rows of a data set in testdata/arrow, as the program that made it wrote them down.
func wantedArrow(t testing.TB, of string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/arrow/want.json")
	must(t, err)
	var all map[string][]map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	must(t, d.Decode(&all))
	return all[of]
}

// arrowBytes are columns whose values are bytes, in base64 where they are wanted.
var arrowBytes = []string{"photo", "image.bytes", "binary", "large_binary", "fixed_binary"}

// checkArrow compares columns and labels of every sample with what is wanted.
func checkArrow(t *testing.T, s Source, want []map[string]any) {
	t.Helper()
	if s.Len() != int64(len(want)) {
		t.Fatalf("got %d samples, want %d", s.Len(), len(want))
	}
	for i, sample := range want {
		b, _ := read(t, s, int64(i))
		if got := fmt.Sprint(s.Label(int64(i))); got != fmt.Sprint(sample["label"]) {
			t.Errorf("sample %d: label %s, want %v", i, got, sample["label"])
		}
		for c, column := range s.(Columnar).Columns() {
			value, there := sample[column.From]
			if !there {
				t.Fatalf("nothing is wanted for %q", column.From)
			}
			text, is := value.(string)
			want := text
			if !is || slices.Contains(arrowBytes, column.From) {
				want = wantedValue(t, &column, sample)
			}
			if got := shownValue(&column, b.Value(c)); got != want {
				t.Errorf("sample %d: column %s: got %.200q, want %.200q", i, column.Name, got, want)
			}
		}
	}
}

// savedColumns are columns of testdata/arrow/saved.
var savedColumns = []Column{
	{Name: "caption"}, {Name: "y", From: "label", Type: Int64}, {Name: "score", Type: Float64}, {Name: "flag", Type: Int64}, {Name: "flag_text", From: "flag"},
	{Name: "ids", Type: List, DType: tensor.I64, Shape: tensor.Shape{}, MaxLength: 8}, {Name: "ids_array", From: "ids", Type: Array, DType: tensor.I32, Shape: tensor.Shape{}, MaxLength: 8},
	{Name: "fixed", Type: List, DType: tensor.F32, Shape: tensor.Shape{3}}, {Name: "matrix", Type: Array}, {Name: "matrix_list", From: "matrix", Type: List, DType: tensor.F64, Shape: tensor.Shape{2, 3}},
	{Name: "boxes", Type: List, DType: tensor.F32, Shape: tensor.Shape{4}, MaxLength: 8},
}

// What save_to_disk has written is as it was given, by its directory, by what lists its files and by their names, from a disk and a store; also pictures, labels, their names,
// and what is known without reading.
func TestArrowHasWhatDatasetsSaved(t *testing.T) {
	want := wantedArrow(t, "saved")
	origin := serveObjects(t, objectsIn(t, "testdata/arrow/saved", "/b/saved/"))
	client := storeClient(t, store.Options{Endpoint: origin.URL, Region: "r", PathStyle: true, Anonymous: true})
	index := t.TempDir()
	for _, name := range []string{
		"testdata/arrow/saved", "testdata/arrow/saved/state.json", "testdata/arrow/saved/data-*.arrow", origin.URL + "/b/saved/state.json?token=1", "s3://b/saved/state.json", "s3://b/saved/data-{00000,00001}-of-00002.arrow",
	} {
		for k := range 2 {
			s := openS(t, ShardsConfig{Shards: []string{name}, Columns: savedColumns, IndexDir: index, Store: client})
			checkArrow(t, s, want)
			if _, picture := read(t, s, 3); picture != unbased(t, want[3]["photo"]) {
				t.Errorf("%s: the picture is another", name)
			}
			if notes := s.(interface{ Notes() []string }).Notes(); k == 1 && len(notes) > 0 {
				t.Errorf("%s: the index was not kept: %q", name, notes)
			}
			if got := s.Classes(); !slices.Equal(got, []string{"cat", "dog", "owl"}) {
				t.Errorf("%s: classes %q", name, got)
			}
			known, lengths := s.(Knowing), s.(Measured)
			if known.Known("score")(2) != 0.5 || known.Known("y")(4) != int64(2) || known.Known("caption")(1) != "caption 1 \u00e9" || known.Known("flag")(3) != int64(1) || known.Known("flag_text")(3) != "1" {
				t.Errorf("%s: a column is not known as it is", name)
			}
			if lengths.Lengths("ids")(4) != 4 || lengths.Lengths("boxes")(3) != 3 || lengths.Lengths("ids_array")(0) != 0 || lengths.Lengths("fixed") != nil || lengths.Lengths("caption") != nil {
				t.Errorf("%s: the length of a list is not known as it is", name)
			}
		}
	}
	s := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/saved"}, Media: []Medium{{Name: "image", From: []string{"image"}}}, Columns: []Column{{Name: "path", From: "image.path"}}, IndexDir: index})
	if b, picture := read(t, s, 0); string(b.Value(0)) != "0.png" || picture != unbased(t, want[0]["photo"]) || string(s.Key(4, nil)) != "1" {
		t.Errorf("the picture's path is %q, the key %q", b.Value(0), s.Key(4, nil))
	}
	parts, err := PartsOf(background, ShardsConfig{Shards: []string{"testdata/arrow/saved"}, IndexDir: index})
	if err != nil || !slices.Equal(parts, []string{"image.bytes"}) {
		t.Errorf("parts %q, %v", parts, err)
	}
}

// typeColumns are columns of testdata/arrow/types.arrow: each type in every form that it is read in.
func typeColumns() (all []Column) {
	for _, name := range []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool", "places", "ends"} {
		all = append(all, Column{Name: name, Type: Int64}, Column{Name: name + "_text", From: name}, Column{Name: name + "_float", From: name, Type: Float64})
	}
	all = append(all, Column{Name: "uint64"}, Column{Name: "uint64_list", From: "uint64", Type: List, DType: tensor.F64, Shape: tensor.Shape{1}})
	for _, name := range []string{"halffloat", "float", "double", "decimal", "decimal256"} {
		if !strings.HasPrefix(name, "decimal") {
			all = append(all, Column{Name: name, Type: Float64}, Column{Name: name + "_list", From: name, Type: List, DType: tensor.F64, Shape: tensor.Shape{1}})
		} else {
			all = append(all, Column{Name: name})
		}
	}
	for _, name := range []string{"string", "large_string", "view", "binary", "large_binary", "fixed_binary", "date32", "date64", "time32", "time64", "timestamp_s", "timestamp_ms", "timestamp_us", "timestamp_ns",
		"duration", "words"} {
		all = append(all, Column{Name: name})
	}
	return append(all, Column{Name: "large_list", Type: List, DType: tensor.I64, Shape: tensor.Shape{2}}, Column{Name: "flags", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 20}, Column{Name: "objects.area", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 9},
		Column{Name: "objects.box", Type: List, DType: tensor.F32, Shape: tensor.Shape{2}, MaxLength: 9}, Column{Name: "cube", Type: List, DType: tensor.F32, Shape: tensor.Shape{2, 2}, MaxLength: 9})
}

// Every type that is read gives what pyarrow was given, of a stream of several batches and of a file with a footer.
func TestArrowTypesAreWhatTheyMean(t *testing.T) {
	want := wantedArrow(t, "types")
	for _, sample := range want { // words were null, and are an empty text
		sample["uint64"] = json.Number(fmt.Sprint(sample["uint64"]))
	}
	for _, name := range []string{"types.arrow", "types_file.arrow"} {
		s := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/" + name}, Media: []Medium{}, Columns: typeColumns(), IndexDir: t.TempDir()})
		checkArrow(t, s, want)
		if lengths := s.(Measured).Lengths("flags"); lengths(3) != 15 || lengths(0) != 0 {
			t.Errorf("%s: lengths of bits %d, %d", name, lengths(3), lengths(0))
		}
		stored := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/" + name}, Media: []Medium{}, IndexDir: t.TempDir(), Columns: []Column{
			{Name: "date32", Type: Int64}, {Name: "date64", Type: Int64}, {Name: "time32", Type: Int64}, {Name: "timestamp_us", Type: Int64}, {Name: "decimal", Type: Float64}, {Name: "b", From: "nested.a.b", Type: Int64, Default: []byte("-7")},
			{Name: "number", Type: Int64, Default: []byte("-9")}, {Name: "list", Type: List, DType: tensor.I16, Shape: tensor.Shape{}, MaxLength: 8, Default: []byte{}}, {Name: "c", From: "nested.c"}}})
		for i, want := range map[int64]string{0: `[18292 1580428800000 49500 1580478300250000 [-1] 0 0 [] "x"]`, 1: `[18292 1580428800000 49500 1580478300250000 [-0.75] -7 1 [1] ""]`,
			2: `[18292 1580428800000 49500 1580478300250000 [-0.5] 2 2 [] "x"]`, 3: `[18292 1580428800000 49500 1580478300250000 [-0.25] 3 -9 [1 1 1] "x"]`} {
			b, _ := read(t, stored, i)
			var got []string
			for c, column := range stored.(Columnar).Columns() {
				got = append(got, shownValue(&column, b.Value(c)))
			}
			got[8] = fmt.Sprintf("%q", got[8])
			if fmt.Sprint(got) != want {
				t.Errorf("%s: sample %d: got %v, want %s", name, i, got, want)
			}
		}
	}
}

// A column of names gives labels by names, of a dictionary, too; null has none.
func TestArrowLabelsOfNames(t *testing.T) {
	s := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/types.arrow"}, Media: []Medium{}, Columns: []Column{{Name: "ends", Type: Int64}}, Labels: LabelsOfNames, IndexDir: t.TempDir(), Label: "large_string"})
	if got := s.Classes(); len(got) != 5 || s.Label(3) != 3 || unlabelled(s) {
		t.Errorf("classes %q, label %d", got, s.Label(3))
	}
	for name, want := range map[string]string{"words": "label: got nothing, want the name of a class", "nobody": `no column "nobody"; the columns are label,`, "list": "it is list<int16>, want type npy, list"} {
		_, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/arrow/types.arrow"}, Media: []Medium{}, Columns: []Column{{Name: "ends"}}, Labels: LabelsOfNames, Label: name, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	_, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/mds/all"}, Labels: LabelsOfNames, IndexDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "labels: got names, which goes with Parquet and Arrow") {
		t.Errorf("got %v", err)
	}
	dictionaries := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/deltas.arrow"}, Media: []Medium{}, Columns: []Column{{Name: "words"}}, IndexDir: t.TempDir()})
	for i, want := range []string{"a", "b", "a", "b", "c", "z"} {
		if b, _ := read(t, dictionaries, int64(i)); string(b.Value(0)) != want {
			t.Errorf("sample %d: got %q, want %q", i, b.Value(0), want)
		}
	}
}

// What a column cannot be is refused when the source is opened, with what it is and what to do.
func TestArrowRefusesWhatATypeIsNot(t *testing.T) {
	list := func(name string, shape ...int64) Column {
		return Column{Name: name, Type: List, DType: tensor.F64, Shape: shape}
	}
	for want, c := range map[string]ShardsConfig{
		`column "uneven" of "testdata/arrow/types.arrow": it is list<list<int64>> of several lengths in a list, which is not read here; pad the inner lists, or`: {Columns: []Column{list("uneven", 3, 2)}},
		`it is map, which is not read here; leave it out, or cast it`:                                                                                            {Columns: []Column{{Name: "map"}}},
		`it is union, which is not read here; leave it out, or cast it`:                                                                                          {Columns: []Column{{Name: "union"}}},
		`it is list<struct>, which is not read here; leave it out, or write it as one text a row`:                                                                {Columns: []Column{{Name: "objects.name"}}},
		`it is null, which is not read here; leave it out, or cast it`:                                                                                           {Columns: []Column{{Name: "null"}}},
		`it is int8, want type text, i64, f64, npy, list`:                                                                                                        {Columns: []Column{{Name: "a", From: "int8[a]", Type: 9}}},
		`it is int8, in which nothing is called "a"`:                                                                                                             {Columns: []Column{{Name: "a", From: "int8[a]"}}},
		`it is list<int64>, of 1 dimension, want numbers of shape 2x2; say a shape of 1, such as [-1]`:                                                           {Columns: []Column{list("large_list", 2, 2)}},
		`it is list<list<list<float32>>>, of 3 dimensions, want numbers of shape 2; say a shape of 3`:                                                            {Columns: []Column{list("cube", 2)}},
		`it is list<list<list<float32>>>, each of length 2, want shape 2x2x3`:                                                                                    {Columns: []Column{list("cube", 2, 2, 3)}},
		`it is list<int64>, want type npy, list`:                                                                                                                 {Columns: []Column{{Name: "large_list"}}},
		`it is decimal128:2, want type text, i64, f64`:                                                                                                           {Columns: []Column{list("decimal", 1)}},
		`source.columns: no sample has a part "nested.a.c"; the parts are label, int8,`:                                                                          {Columns: []Column{{Name: "nested.a.c"}}},
		`source.label: column "double" of "testdata/arrow/types.arrow": it is float64, want whole numb`:                                                          {Columns: []Column{{Name: "int8"}}, Label: "double"},
		`it is string, want whole numbers; labels: names takes them as names of classes`:                                                                         {Columns: []Column{{Name: "int8"}}, Label: "string"},
		`it is string, want the bytes of a file`:                                                                                                                 {Media: []Medium{{Name: "image", From: []string{"string"}}}},
		`say which is in source.image; where rows are all there is, leave image out and name their columns`:                                                      {Media: onePicture},
		`source.labels: no member lies in a directory, so there are no classes`:                                                                                  {Columns: []Column{{Name: "int8"}}, Labels: LabelsOfDirectory},
	} {
		if c.Media == nil {
			c.Media = []Medium{}
		}
		c.Shards, c.IndexDir = []string{"testdata/arrow/types.arrow"}, t.TempDir()
		if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Null where a number or a list is wanted, and null in a list, make a bad sample unless the column has a default.
func TestArrowNullsAreBadSamples(t *testing.T) {
	for want, c := range map[string]struct {
		column Column
		i      int64
	}{
		`column "number": it is null; give the column a default, or write a value`:                             {Column{Name: "number", Type: Int64}, 3},
		`column "list": it is null, or a list with a null in it; give the column a default, or write a value`:  {Column{Name: "list", Type: List, DType: tensor.I16, Shape: tensor.Shape{}, MaxLength: 9}, 2},
		`column "holes": it is null, or a list with a null in it; give the column a default, or write a value`: {Column{Name: "holes", Type: List, DType: tensor.I32, Shape: tensor.Shape{}, MaxLength: 9}, 1},
		`column "list": got a list of more than 3, want at most that`:                                          {Column{Name: "list", Type: List, DType: tensor.I16, Shape: tensor.Shape{}, MaxLength: 3}, 4},
		`column "large_list": got 2 numbers, want shape 3`:                                                     {Column{Name: "large_list", Type: List, DType: tensor.I64, Shape: tensor.Shape{3}}, 0},
		`column "large_list": got 1099511627776, want a whole number tha`:                                      {Column{Name: "large_list", Type: List, DType: tensor.I32, Shape: tensor.Shape{2}}, 0},
	} {
		s := openS(t, ShardsConfig{Shards: []string{"testdata/arrow/types.arrow"}, Media: []Medium{}, Columns: []Column{c.column}, IndexDir: t.TempDir()})
		var b Buffer
		if err := s.Read(background, c.i, &b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Files whose buffers are compressed are unpacked once, from a disk and a store, and kept.
func TestArrowCompressedIsUnpacked(t *testing.T) {
	packed, err := os.ReadFile("testdata/arrow/lz4.feather")
	must(t, err)
	origin := serveObjects(t, map[string]string{"/b/lz4.feather": string(packed)})
	client := storeClient(t, store.Options{Endpoint: origin.URL, Region: "r", PathStyle: true, Anonymous: true})
	cache := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", cache)
	for _, name := range []string{"testdata/arrow/lz4.feather", "testdata/arrow/zstd_stream.arrows", "s3://b/lz4.feather"} {
		for k := range 2 {
			s, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Store: client, Columns: []Column{
				{Name: "text"}, {Name: "ids", Type: List, DType: tensor.U8, Shape: tensor.Shape{}, MaxLength: 50}}})
			must(t, err)
			for _, i := range []int64{0, 49, 21} {
				b, _ := read(t, s, i)
				if string(b.Value(0)) != strings.Repeat("word ", 20)+fmt.Sprint(i) || int64(len(b.Value(1))) != i || s.Label(i) != i || s.Len() != 50 {
					t.Errorf("%s: sample %d: got %.20q, %d ids, label %d, of %d samples", name, i, b.Value(0), len(b.Value(1)), s.Label(i), s.Len())
				}
			}
			notes := fmt.Sprint(s.(interface{ Notes() []string }).Notes())
			if unpacked := strings.Contains(notes, "unpacked 1 of 1 shards to a disk"); unpacked != (k == 0) {
				t.Errorf("%s, opening %d: notes %s", name, k, notes)
			}
			must(t, s.Close())
		}
	}
	left, err := filepath.Glob(filepath.Join(cache, "unpacked", "*"))
	must(t, err)
	if len(left) != 3 {
		t.Errorf("in the cache are %q", left)
	}
}

// What is wrong with a saved data set, or names it in another place, is refused with what to do.
func TestArrowSavedDataSetsAreRefusedByName(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"indices/state.json": `{"_data_files": [{"filename": "a.arrow"}], "_indices_files": [{"filename": "indices.arrow"}]}`,
		"old/state.json":     `{"_data_files": [{"filename": "a.arrow"}], "_indices_data_files": [{"filename": "indices.arrow"}]}`,
		"none/state.json":    `{"_data_files": [], "_indices_files": null}`, "text/state.json": "text", "climbs/state.json": `{"_data_files": [{"filename": "../a.arrow"}]}`,
		"gone/state.json": `{"_data_files": [{"filename": "a.arrow"}], "_indices_files": []}`, "splits/dataset_dict.json": "{}", "cache/x-train.arrow": "",
		"records/x.tfrecord-00000-of-00002": "", "faces/train.idx": "", "faces/train.rec": "", "empty/notes.txt": "",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	for name, want := range map[string]string{
		"indices": "its rows are chosen by a mapping of indices, which is not read; save it again: load_from_disk(...).flatten_indices().save_to_disk(...)", "old": "by a mapping of indices",
		"none": `no samples: its "_data_files" lists no file`, "text": "no state.json of save_to_disk, or damaged", "climbs": "_data_files[0]: member \"../a.arrow\": the name leaves the archive",
		"gone": "gone/a.arrow\": no such file or directory", "splits": "it lists no splits", "cache": "got a directory, want a regular file; name the files in it, such as " + filepath.Join(dir, "cache", "*.arrow"),
		"gone/state.json": "no such file", "records": "name the files in it, such as " + filepath.Join(dir, "records", "*.tfrecord-*"), "faces": "such as " + filepath.Join(dir, "faces", "*.rec"), "empty": "such as " + filepath.Join(dir, "empty", "*.tar"),
	} {
		_, err := OpenShards(background, ShardsConfig{Shards: []string{filepath.Join(dir, name)}, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	splits := "testdata/arrow/splits"
	_, err := OpenShards(background, ShardsConfig{Shards: []string{splits}})
	_, list := OpenList(ListConfig{File: splits + "/train/data-00000-of-00001.arrow"})
	_, folder := OpenFolder(FolderConfig{Dir: splits})
	for err, want := range map[error]string{err: "it is a data set of 2 splits; want source.split: one of train, test, or the directory of one", list: "files of Arrow are read by shards in place of list",
		folder: "; archives are read by shards in place of folder, such as shards: DIR/*.arrow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for name, want := range map[string]string{"testdata/arrow/saved": "Arrow", "testdata/arrow/saved/state.json": "Arrow", splits: "", "s3://b/saved/state.json": "state.json"} {
		if got := CatalogueFormat(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// wideArrow is a file of 20 rows, whose columns a and b lie a MiB apart.
func wideArrow() string {
	const n, between = 20, 1 << 20
	var offsets []int32
	body := ""
	for i := range int32(n + 1) {
		offsets = append(offsets, 4*i)
	}
	at := int64(4 * (n + 1))
	texts := offsetsText(offsets...)
	for _, letter := range []string{"a", "b"} {
		for i := range n {
			body += fmt.Sprintf("%s%03d", letter, i)
		}
	}
	half := int64(len(body) / 2)
	gap := strings.Repeat(" ", between)
	none := [2]int64{0, 0}
	return arrowSchemaOf(arrowFieldOf("a", arrowUTF8, flatFields{}), arrowFieldOf("b", arrowUTF8, flatFields{})) +
		arrowBatchOf(n, [][2]int64{{n, 0}, {n, 0}}, [][2]int64{none, {0, at}, {at, half}, none, {0, at}, {at + half + between, half}}, texts+body[:half]+gap+body[half:]) + arrowEnd
}

// Neighbours are read together column by column, and the kernel is told of what is read, not of what lies between.
func TestArrowIsReadAheadByColumns(t *testing.T) {
	o := serveObjects(t, map[string]string{"/s.arrow": wideArrow()})
	columns := []Column{{Name: "a"}, {Name: "b"}}
	remote := openS(t, ShardsConfig{Shards: []string{o.URL + "/s.arrow"}, Media: []Medium{}, Columns: columns, Store: storeClient(t, store.Options{Retries: -1})}).(*shards)
	o.change(func() { o.requests = 0 })
	remote.Ahead(sequenceOf(0, 20))
	for i := range int64(20) {
		if b, _ := read(t, remote, i); string(b.Value(0)) != fmt.Sprintf("a%03d", i) || string(b.Value(1)) != fmt.Sprintf("b%03d", i) {
			t.Errorf("sample %d: got %q, %q", i, b.Value(0), b.Value(1))
		}
	}
	if o.requests != 2 || len(remote.spans.all) != 0 {
		t.Errorf("%d requests for two columns, and %d spans are left", o.requests, len(remote.spans.all))
	}
	name := filepath.Join(t.TempDir(), "a.arrow")
	write(t, name, wideArrow())
	local := openS(t, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: columns, ReadAhead: 1 << 30, IndexDir: t.TempDir()}).(*shards)
	local.Ahead(sequenceOf(0, 20))
	if got := local.spans.local; len(got) != 40 || got[0].size != 4 || got[39].size != 4 {
		t.Errorf("the kernel is told of %d ranges, such as %d bytes", len(got), got[0].size)
	}
}

// A file whose footer alone tells where its messages lie, dictionaries behind the batches, is read as any; compressed, too.
func TestArrowIsReadByItsFooter(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	for _, name := range []string{"testdata/arrow/polars.arrow", "testdata/arrow/polars_zstd.arrow", "testdata/arrow/polars_lz4.arrow"} {
		s, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{
			{Name: "text"}, {Name: "words"}, {Name: "ids", Type: List, DType: tensor.U8, Shape: tensor.Shape{}, MaxLength: 9}}})
		must(t, err)
		for i, word := range []string{"red", "green", "red", "blue", "green"} {
			b, _ := read(t, s, int64(i))
			if string(b.Value(0)) != strings.Repeat("text ", 4*i) || string(b.Value(1)) != word || len(b.Value(2)) != i || s.Label(int64(i)) != int64(i) || s.Len() != 5 {
				t.Errorf("%s: sample %d: got %q, %q, %d ids, label %d", name, i, b.Value(0), b.Value(1), len(b.Value(2)), s.Label(int64(i)))
			}
		}
		must(t, s.Close())
	}
}
