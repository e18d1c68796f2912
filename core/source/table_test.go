package source

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/tensor"
)

// The same rows as CSV, as JSON lines and as Parquet.
type tableRow struct {
	Path    string   `parquet:"path"`
	Label   int32    `parquet:"label"`
	Caption *string  `parquet:"caption,optional"`
	Width   int64    `parquet:"width"`
	Score   float64  `parquet:"score"`
	Tags    []string `parquet:"tags,list"`
}

func tablesOf(t testing.TB, dir string, rows []tableRow) (files []string) {
	t.Helper()
	var csv, lines strings.Builder
	csv.WriteString("\ufeffwidth,path,label,caption,score\r\n")
	for _, r := range rows {
		caption, null := "", "null"
		if r.Caption != nil {
			caption, null = *r.Caption, fmt.Sprintf("%q", *r.Caption)
		}
		fmt.Fprintf(&csv, "%d,%s,%d,\"%s\",%v\r\n", r.Width, r.Path, r.Label, strings.ReplaceAll(caption, `"`, `""`), r.Score)
		fmt.Fprintf(&lines, "{\"score\": %v, \"path\": %q, \"label\": \"%d\", \"more\": [1, {}], \"caption\": %s, \"width\": %d}\n\n", r.Score, r.Path, r.Label, null, r.Width)
	}
	write(t, filepath.Join(dir, "t.csv"), csv.String())
	write(t, filepath.Join(dir, "t.jsonl"), lines.String())
	writeParquet(t, filepath.Join(dir, "t.parquet"), rows, 3)
	return []string{dir + "/t.csv", dir + "/t.jsonl", dir + "/t.parquet"}
}

// writeParquet writes rows in groups of some.
func writeParquet[T any](t testing.TB, file string, rows []T, group int, options ...parquet.WriterOption) {
	t.Helper()
	f, err := os.Create(file)
	must(t, err)
	w := parquet.NewGenericWriter[T](f, options...)
	for len(rows) > 0 {
		n := min(group, len(rows))
		_, err := w.Write(rows[:n])
		must(t, err)
		must(t, w.Flush())
		rows = rows[n:]
	}
	must(t, w.Close())
	must(t, f.Close())
}

// A table gives paths, labels and columns, the same from CSV, JSON lines and Parquet.
func TestTablesGivePathsLabelsAndColumns(t *testing.T) {
	dir := t.TempDir()
	caption := `a "cat", said ü`
	var rows []tableRow
	for i := range 10 {
		r := tableRow{Path: fmt.Sprintf("p%d.jpg", i), Label: int32(i - 1), Width: int64(i) << 33, Score: float64(i) / 3, Tags: []string{"x"}}
		if i%2 == 0 {
			r.Caption = &caption
		}
		rows = append(rows, r)
		write(t, filepath.Join(dir, r.Path), fmt.Sprint("picture ", i))
	}
	for _, file := range tablesOf(t, dir, rows) {
		s := openL(t, ListConfig{File: file, Columns: []Column{{Name: "caption"}, {Name: "w", From: "width", Type: Int64}, {Name: "score", Type: Float64}}})
		if s.Len() != 10 {
			t.Fatalf("%s: %d rows", file, s.Len())
		}
		var want Buffer
		for i := range s.Len() {
			b, text := read(t, s, i)
			want.drop()
			want.setInt(rows[i].Width)
			want.setFloat(rows[i].Score)
			if text != fmt.Sprint("picture ", i) || s.Label(i) != i-1 || string(s.Key(i, nil)) != rows[i].Path {
				t.Fatalf("%s %d: %q %d", file, i, text, s.Label(i))
			}
			if c := string(b.Value(0)); c != map[bool]string{true: caption, false: ""}[i%2 == 0] || !bytes.Equal(b.Value(1), want.Value(0)) || !bytes.Equal(b.Value(2), want.Value(1)) {
				t.Fatalf("%s %d: %q %v %v", file, i, c, b.Value(1), math.Float64frombits(0))
			}
		}
		if s := openL(t, ListConfig{File: file, Label: "width"}); s.Label(9) != 9<<33 {
			t.Fatalf("%s: %d", file, s.Label(9))
		}
	}
}

// Rows of a table are read without an allocation.
func TestTablesReadAllocatesNothing(t *testing.T) {
	dir := tree(t, "a.jpg")
	write(t, filepath.Join(dir, "t.csv"), "path,label,n\na.jpg,3,4\na.jpg,5,6\n")
	s := openL(t, ListConfig{File: dir + "/t.csv", Columns: []Column{{Name: "n", Type: Int64}, {Name: "text", From: "n"}}})
	var b Buffer
	key := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		must(t, s.Read(background, s.Label(0)-2, &b))
		key = s.Key(1, key[:0])
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// A wrong table is refused with its line.
func TestTablesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"csv:":                             `no samples: the file is empty; want a heading line with the column "path"`,
		"csv:\ufeff":                       `no samples: the file is empty; want a heading line with the column "path"`,
		"csv:path,label\n":                 "the table has no rows",
		"csv:file,label\na,1\n":            `line 1: no column "path"; the columns are file, label; the first line is the heading, and source.path says which`,
		"csv:a.jpg,1\nb.jpg,2\n":           `no column "path"; the columns are a.jpg, 1; the first line is the heading, and this one looks like a row: source.heading names the columns where the file does not, and source.separator what is between them: heading: [path, label]`,
		"csv:a b/v.mp4 1\n":                `this one looks like a row: source.heading names the columns where the file does not, and source.separator what is between them: heading: [path, label], separator: " "`,
		"csv:path;label\na;1\n":            `no column "path"; the columns are path;label; fields are separated by commas, unless source.separator says otherwise`,
		"csv:path, label\na, 1\n":          `line 1: column "label" has blanks around its name, which count; leave them out, behind the commas of the heading`,
		"csv:path,path\na,b\n":             `column "path" is there twice`,
		"csv:path,label\na,b\n":            `line 2: label: got "b", want a whole number`,
		"csv:path,label\na,1\n,2\n":        `line 3: column "path" is empty`,
		"csv:path,label\n../a,1\n":         `line 2: path "../a": got ".."`,
		"csv:path,label\n\"a\nb\",1\n":     "got a tab or line end",
		"csv:path,label\na,1,2\n":          "line 2: got 3 fields, want 2 as in the heading line; quote fields that have commas, and leave none out",
		"csv:path,label\n\n\"a\n\",1\nb\n": "line 3: column \"path\": got a tab or line end",
		"csv:path,label\na,1\n\nb\n":       "line 4: got 1 fields, want 2",
		"csv:path,label\n\"a,1\n":          `line 2: byte 6 of line 2: extraneous or missing " in quoted-field; want fields with quotes, commas or line ends within quotes, and quotes in them twice`,
		"csv:path,\"l\"abel\na,1\n":        `line 1: byte 8 of line 1: extraneous or missing " in quoted-field`,
		"jsonl:":                           `no samples: the file is empty; want a JSON object a line, with the path in "path"`,
		"jsonl:\n{\"path\": \"" + strings.Repeat("x", maxLineBytes-11) + "\"}\n": "line 2: got 16777217 bytes, want at most 16777216; leave out what nobody reads, and put large values into files",
		"jsonl:{\"path\": \"\\ud83d.jpg\"}\n":                                    `line 1: column "path": got \ud83d, half of a character; write bytes that are no UTF-8 as they are, without an escape`,
		"jsonl:{\"path\": \"\\ude00\\ud83d\"}\n":                                 `line 1: column "path": got \ude00, half of a character`,
		"jsonl:{\"path\": \"\\ud83d\\n\"}\n":                                     `line 1: column "path": got \ud83d, half of a character`,
		"jsonl:{\"path\": \"a\"}\n[1]\n":                                         "line 2: got a list, want a JSON object",
		"jsonl:{\"path\": \"a\"}\n1\n":                                           "line 2: got a number, want a JSON object",
		"jsonl:{\"path\": \"a\"}\n{\"path\": Nan}\n":                             "line 2: want a JSON object: invalid character 'N' looking for beginning of value",
		"jsonl:{\"path\": \"a\", \"label\": NaN}\n":                              `label: got "NaN", want a whole number`,
		"jsonl:{\"label\": 1}\n":                                                 `line 1: no column "path"; the columns are label; source.path says which column holds the paths`,
		"jsonl:{\"path\": \"a\", \"label\":1.5}":                                 `label: got "1.5", want a whole number`,
		"jsonl:{\"path\": ":                                                      "line 1: want a JSON object",
		"parquet:hello, this is not parquet":                                     "parquet: ",
		"parquet:PAR1":                                                           "parquet: ",
	} {
		kind, text, _ := strings.Cut(text, ":")
		file := filepath.Join(t.TempDir(), "t."+kind)
		write(t, file, text)
		if _, err := OpenList(ListConfig{File: file}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("source: list %q: ", file)) {
			t.Errorf("%.60q: got %.300v, want %q", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	write(t, file, "path,label,n\na,1,x\nb,,1\n/c,1,2\n")
	for want, c := range map[string]ListConfig{
		`line 2: column "n": got "x", want a whole number`:      {Columns: []Column{{Name: "n", Type: Int64}}},
		`line 2: column "n": got "x", want a number`:            {Columns: []Column{{Name: "m", From: "n", Type: Float64}}},
		`line 1: no column "z"; the columns are path, label, n`: {Columns: []Column{{Name: "z"}}},
		`line 3: label: got "", want a whole number`:            {Label: "label"},
		`line 4: path "/c": got an absolute path`:               {Root: t.TempDir()},
	} {
		c.File = file
		if _, err := OpenList(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A number without a fraction is whole in every table, however it is written; what a double may have lost is not guessed.
func TestWholeNumbersOfTables(t *testing.T) {
	dir := tree(t, "a.jpg")
	lost := "; from 9007199254740992 on store integers: a number with a point or an exponent may have lost digits"
	for text, whole := range map[string]int64{"7": 7, "-0": 0, "+5": 5, "7.0": 7, "7.": 7, "-7.000": -7, "1e3": 1000, "1.25E+2": 125, "1500e-2": 15, "0.0e5": 0, "0e-9": 0,
		"1000000.0": 1000000, "1e+06": 1000000, "9007199254740991.0": 1<<53 - 1, "-9007199254740991.0": 1 - 1<<53, "9007199254740992": 1 << 53, "9007199254740993": 1<<53 + 1,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64} {
		checkWhole(t, dir, text, whole, "")
	}
	for text, want := range map[string]string{"7.5": "", "1e-1": "", "1.00000000000000000000001": "", "15e-1": "", "1e-400": "", "x": "", "0x10": "", "0x1p3": "", "Inf": "", "nan": "", "1_0": "", "1e": "", "e1": "", ".": "", "-": "", "1e400": "",
		"0e99999999999999999999": "", "1 0": "", "9007199254740992.0": lost, "9007199254740993.0": lost, "-9007199254740993.0": lost, "9007199254740994.0": lost, "1e18": lost, "9223372036854775808": " from -9223372036854775808 to 9223372036854775807"} {
		checkWhole(t, dir, text, 0, fmt.Sprintf("got %q, want a whole number%s", text, want))
	}
}

// f64 takes decimal numbers, and refuses what only a program's reader takes for one.
func TestFractionalNumbersOfTables(t *testing.T) {
	file := tree(t, "a.jpg") + "/t.csv"
	for text, want := range map[string]float64{"1.5": 1.5, "-2e-3": -2e-3, "7": 7, "inf": math.Inf(1), "-Infinity": math.Inf(-1), ".5": .5} {
		write(t, file, "path,x\na.jpg,"+text+"\n")
		s, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "x", Type: Float64}}})
		must(t, err)
		b, _ := read(t, s, 0)
		if got := math.Float64frombits(binary.NativeEndian.Uint64(b.Value(0))); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
		must(t, s.Close())
	}
	write(t, file, "path,x\na.jpg,\n")
	want := `line 2: column "x": got nothing, want a number, such as nan where there is none`
	if _, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "x", Type: Float64}}}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("an empty cell: got %v, want %q", err, want)
	}
	for _, text := range []string{"1_000", "1_0.5", "0x1p3", "0X1P3", "1d5", "1e400", "x"} {
		write(t, file, "path,x\na.jpg,"+text+"\n")
		want := fmt.Sprintf("line 2: column \"x\": got %q, want a number", text)
		if _, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "x", Type: Float64}}}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// What Python's json writes of floats that are not finite are numbers, though no JSON; in strings they are text.
func TestNumbersOfPythonsJSON(t *testing.T) {
	dir := tree(t, "a.jpg")
	object := `{"path": "a.jpg", "a": NaN, "b": {"c": -Infinity}, "d": "NaN \" Infinity", "e":[1, NaN,Infinity],"f":Infinity}`
	write(t, dir+"/t.jsonl", object+"\n")
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, part{"1.jpg", "p"}, part{"1.json", object})))
	for _, within := range []string{"%s", "json[%s]"} {
		var columns []Column
		for _, name := range []string{"a", "b.c", "f", "d", "e"} {
			columns = append(columns, Column{Name: name[:1], From: fmt.Sprintf(within, name), Type: Float64})
		}
		columns[3].Type, columns[3].MaxBytes = Text, 100
		columns[4].Type, columns[4].DType, columns[4].Shape = List, tensor.F64, tensor.Shape{3}
		s, err := OpenList(ListConfig{File: dir + "/t.jsonl", Columns: columns})
		if within != "%s" {
			s, err = OpenShards(background, ShardsConfig{Shards: []string{dir + "/s.tar"}, IndexDir: t.TempDir(), Columns: columns})
		}
		must(t, err)
		b, _ := read(t, s, 0)
		got := func(c int) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(b.Value(c))) }
		if !math.IsNaN(got(0)) || got(1) != math.Inf(-1) || got(2) != math.Inf(1) || string(b.Value(3)) != `NaN " Infinity` {
			t.Errorf("%s: got %v, %v, %v and %q", within, got(0), got(1), got(2), b.Value(3))
		}
		if got := fmt.Sprint(elementsOf(tensor.F64, b.Value(4))); got != "[1 NaN +Inf]" {
			t.Errorf("%s: got the list %s", within, got)
		}
		must(t, s.Close())
	}
}

// A column that no line of JSON has is refused, as one that a CSV has not; one that some lines have is empty in the others. a.b is the key
// called so, else b in the object a.
func TestColumnsThatNoLineHas(t *testing.T) {
	dir := tree(t, "a.jpg", "b.jpg")
	file := dir + "/t.jsonl"
	write(t, file, `{"path": "a.jpg", "caption": "a cat", "a": {"b": "in", "c": {"d": "deep"}}, "x.y": "as it is", "x": {"y": "hidden"}}`+"\n"+`{"path": "b.jpg", "late": null}`+"\n")
	for from, want := range map[string][]string{
		"caption": {"a cat", ""}, "late": {"", ""}, "a.b": {"in", ""}, "a.c.d": {"deep", ""}, "x.y": {"as it is", ""}, "a.c": {`{"d": "deep"}`, ""},
	} {
		s, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n", From: from}}})
		if err != nil {
			t.Errorf("%s: %v", from, err)
			continue
		}
		for i := range want {
			if b, _ := read(t, s, int64(i)); string(b.Value(0)) != want[i] {
				t.Errorf("%s: sample %d: got %q, want %q", from, i, b.Value(0), want[i])
			}
		}
		must(t, s.Close())
	}
	for _, from := range []string{"captoin", "a.x", "caption.b", "a.b.c", "z."} {
		want := fmt.Sprintf("no column %q in any line; the columns of the first are a, caption, path, x, x.y", from)
		if _, err := OpenList(ListConfig{File: file, Columns: []Column{{Name: "n", From: from}}}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	s, err := OpenList(ListConfig{File: file})
	must(t, err)
	if s.Label(0) != -1 || !unlabelled(s) {
		t.Errorf("label %d of lines without any", s.Label(0))
	}
	must(t, s.Close())
}

// Without labels what lies in their place is not looked at, and can be a column of text.
func TestTextInThePlaceOfLabels(t *testing.T) {
	dir := tree(t, "a.jpg", "b.jpg")
	write(t, dir+"/t.csv", "path,label\na.jpg,cat\nb.jpg,7\n")
	write(t, dir+"/t.jsonl", `{"path": "a.jpg", "label": "cat"}`+"\n"+`{"path": "b.jpg", "label": 7}`+"\n")
	write(t, dir+"/t.tsv", "a.jpg\tcat\nb.jpg\t7\n")
	type row struct {
		Path  string `parquet:"path"`
		Label string `parquet:"label"`
	}
	writeParquet(t, dir+"/t.parquet", []row{{"a.jpg", "cat"}, {"b.jpg", "7"}}, 1)
	for _, file := range []string{"t.csv", "t.jsonl", "t.tsv", "t.parquet"} {
		if _, err := OpenList(ListConfig{File: dir + "/" + file}); err == nil || !strings.Contains(err.Error(), `label: got "cat", want `) || !strings.Contains(err.Error(), "source.labels: none") {
			t.Errorf("%s: got %v", file, err)
		}
		c := ListConfig{File: dir + "/" + file, NoLabels: true, Columns: []Column{{Name: "class", From: "label"}}}
		if file == "t.tsv" {
			c.Columns = nil
		}
		s, err := OpenList(c)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for i, want := range []string{"cat", "7"} {
			if b, _ := read(t, s, int64(i)); s.Label(int64(i)) != -1 || !unlabelled(s) || c.Columns != nil && string(b.Value(0)) != want {
				t.Errorf("%s: sample %d: label %d", file, i, s.Label(int64(i)))
			}
		}
		must(t, s.Close())
	}
	half := dir + "/half.jsonl"
	write(t, half, `{"path": "a.jpg", "label": "\udce9"}`+"\n") // half of a character
	openL(t, ListConfig{File: half, NoLabels: true})
	media := []Medium{{Name: "image", From: []string{"path"}}}
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/t.parquet"}, Media: media, Labels: LabelsOff, Columns: []Column{{Name: "class", From: "label"}}})
	must(t, err)
	if b, _ := read(t, s, 0); s.Label(0) != -1 || string(b.Value(0)) != "cat" {
		t.Errorf("Parquet as shards: label %d, %q", s.Label(0), b.Value(0))
	}
	must(t, s.Close())
}

// checkWhole reads a text as label and as column, from a CSV and, where JSON has such numbers or as a string, from JSON lines.
func checkWhole(t *testing.T, dir, text string, whole int64, message string) {
	t.Helper()
	write(t, dir+"/t.csv", "path,n\na.jpg,"+text+"\n")
	write(t, dir+"/t.jsonl", fmt.Sprintf("{\"path\": \"a.jpg\", \"n\": %q}\n", text))
	write(t, dir+"/bare.jsonl", fmt.Sprintf("{\"path\": \"a.jpg\", \"n\": %s}\n", text))
	files := []string{"/t.csv", "/t.jsonl"}
	if json.Valid([]byte(text)) {
		files = append(files, "/bare.jsonl")
	}
	for _, file := range files {
		s, err := OpenList(ListConfig{File: dir + file, Label: "n", Columns: []Column{{Name: "n", Type: Int64}}})
		if message != "" {
			if err == nil || !strings.HasSuffix(strings.TrimSuffix(err.Error(), "; source.labels: names takes them as names of classes"), message) {
				t.Errorf("%s: got %v, want %q", file, err, message)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %q: %v", file, text, err)
			continue
		}
		b, _ := read(t, s, 0)
		if got := int64(binary.NativeEndian.Uint64(b.Value(0))); got != whole || s.Label(0) != whole {
			t.Errorf("%s: %q: got %d, label %d, want %d", file, text, got, s.Label(0), whole)
		}
		must(t, s.Close())
	}
}

// Quoted text of a CSV is bytes as they are, its line ends, too.
func TestQuotedTextOfCSVIsAsItIs(t *testing.T) {
	dir := tree(t, "a.jpg")
	texts := []string{"a\r\nb", "a\nb", "a\rb", "\r\n", "\r\r\n\n\r", "\"\r\n\"", "\"\"\r\n", "x,\r\n,", "", "\xff\x00"}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		text := make([]byte, r.IntN(12))
		for k := range text {
			text[k] = "\r\n\",a"[r.IntN(5)]
		}
		texts = append(texts, string(text))
	}
	for _, end := range []string{"\n", "\r\n"} {
		table := "path,c,label" + end
		for i, text := range texts {
			table += fmt.Sprintf("a.jpg,\"%s\",%d%s", strings.ReplaceAll(text, `"`, `""`), i, end)
		}
		write(t, dir+"/t.csv", table)
		s := openL(t, ListConfig{File: dir + "/t.csv", Columns: []Column{{Name: "c"}}})
		for i, text := range texts {
			if b, _ := read(t, s, int64(i)); string(b.Value(0)) != text || s.Label(int64(i)) != int64(i) {
				t.Fatalf("row %d: got %q, label %d, want %q", i, b.Value(0), s.Label(int64(i)), text)
			}
		}
	}
	var out []byte // as many bytes at a time as somebody asks for
	in := csvText{left: []byte("a,\"b\r\n\"\r\n")}
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		if out = append(out, one[:n]...); err != nil {
			break
		}
	}
	if string(out) != "a,\"b\r\r\n\"\r\n" {
		t.Fatalf("got %q", out)
	}
}

// Bytes that are no UTF-8 are read as they are in JSON lines, in paths and texts, and escapes beside them as what they stand for.
func TestJSONLinesKeepBytes(t *testing.T) {
	dir := tree(t, "\xe9.jpg", "é\xff.jpg")
	write(t, dir+"/t.jsonl", "{\"path\": \"\xe9.jpg\", \"c\": \"\xff\\n\\ud83d\\ude00\xe2\x82\\\\ud800 \\u00e9\xfe\"}\n"+
		"{\"path\": \"\\u00e9\xff.jpg\", \"c\": \"\ufffd\\ufffd\"}\r\n{\"path\": \"\xe9.jpg\", \"c\": {\"a\": \"\xff\"}}")
	s := openL(t, ListConfig{File: dir + "/t.jsonl", Columns: []Column{{Name: "c"}}})
	for i, want := range []struct{ path, text string }{{"\xe9.jpg", "\xff\n😀\xe2\x82\\ud800 é\xfe"}, {"é\xff.jpg", "\ufffd\ufffd"}, {"\xe9.jpg", "{\"a\": \"\xff\"}"}} {
		b, data := read(t, s, int64(i))
		if string(s.Key(int64(i), nil)) != want.path || data != want.path || string(b.Value(0)) != want.text {
			t.Errorf("line %d: got %q %q %q, want %q", i+1, s.Key(int64(i), nil), data, b.Value(0), want)
		}
	}
}

// A text longer than its room is a bad sample, counted like others.
func TestLongTextOfATableIsABadSample(t *testing.T) {
	dir := tree(t, "a.jpg")
	write(t, filepath.Join(dir, "t.csv"), "path,c\na.jpg,1234567\n")
	s := openL(t, ListConfig{File: dir + "/t.csv", Columns: []Column{{Name: "c", MaxBytes: 6}}})
	wantCause(t, s, "a.jpg", Value)
}

// pictureRow is a row as published image data sets have it.
type pictureRow struct {
	Image struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	} `parquet:"image"`
	Label   int64  `parquet:"label"`
	Caption string `parquet:"caption"`
}

func pictureRows(from, to int) (rows []pictureRow) {
	for i := from; i < to; i++ {
		var r pictureRow
		r.Image.Bytes, r.Label, r.Caption = bytes.Repeat([]byte{byte(i)}, 1000+i), int64(i%4), fmt.Sprint("caption ", i)
		rows = append(rows, r)
	}
	return rows
}

// Pictures in a column of Parquet files are samples, read in any order, with or without an index of pages.
func TestParquetShards(t *testing.T) {
	dir := t.TempDir()
	writeParquet(t, dir+"/a-0.parquet", pictureRows(0, 50), 20, parquet.PageBufferSize(4000), parquet.Compression(&parquet.Snappy))
	writeParquet(t, dir+"/a-1.parquet", pictureRows(50, 70), 100, parquet.Compression(&parquet.Zstd))
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/a-{0..1}.parquet"}, Columns: []Column{{Name: "caption"}, {Name: "l", From: "label", Type: Int64}}})
	must(t, err)
	defer s.Close()
	if s.Len() != 70 || !slices.Equal(s.(Sharded).Shards(), []int64{0, 20, 40, 50}) {
		t.Fatalf("%d %v", s.Len(), s.(Sharded).Shards())
	}
	for k := range s.Len() {
		i := k * 37 % 70
		b, text := read(t, s, i)
		if len(text) != int(1000+i) || strings.Trim(text, string([]byte{byte(i)})) != "" || s.Label(i) != i%4 || string(b.Value(0)) != fmt.Sprint("caption ", i) {
			t.Fatalf("%d: %d bytes, %d, %q", i, len(text), s.Label(i), b.Value(0))
		}
	}
	if key := string(s.Key(55, nil)); key != "a-1.parquet:5" {
		t.Fatal(key)
	}
}

// A file without rows is nothing among the others, wherever it stands; one with rows and other columns is refused.
func TestParquetShardsWithoutRows(t *testing.T) {
	type bare struct {
		Image []byte `parquet:"image"`
	}
	dir := t.TempDir()
	writeParquet(t, dir+"/a.parquet", pictureRows(0, 3), 5)
	writeParquet(t, dir+"/b.parquet", pictureRows(3, 5), 5)
	writeParquet(t, dir+"/none.parquet", []pictureRow{}, 5)
	writeParquet(t, dir+"/bare-none.parquet", []bare{}, 5)
	writeParquet(t, dir+"/bare.parquet", []bare{{Image: []byte("x")}}, 5)
	for _, names := range []string{"none a b", "a none b", "a b none", "bare-none none a b", "a b bare-none"} {
		var files []string
		for _, name := range strings.Fields(names) {
			files = append(files, dir+"/"+name+".parquet")
		}
		s, err := OpenParquet(background, ShardsConfig{Shards: files})
		if err != nil {
			t.Errorf("%s: %v", names, err)
			continue
		}
		for i := range s.Len() {
			if _, text := read(t, s, i); len(text) != int(1000+i) || s.Label(i) != i%4 || s.Len() != 5 {
				t.Errorf("%s: sample %d of %d: %d bytes, label %d", names, i, s.Len(), len(text), s.Label(i))
			}
		}
		must(t, s.Close())
	}
	for _, files := range [][]string{{"/a.parquet", "/bare.parquet"}, {"/none.parquet", "/bare.parquet", "/a.parquet"}} {
		for k := range files {
			files[k] = dir + files[k]
		}
		if _, err := OpenParquet(background, ShardsConfig{Shards: files}); err == nil || !strings.Contains(err.Error(), `column "label": this file has it and others have not`) {
			t.Errorf("%s: got %v", files, err)
		}
	}
}

// Row groups are read whether or not they say which they are, as those of Arrow do not, and however many pages the index of each has.
func TestRowGroupsThatDoNotSayWhichTheyAre(t *testing.T) {
	file := t.TempDir() + "/a.parquet"
	writeParquet(t, file, pictureRows(0, 50), 20, parquet.PageBufferSize(4000))
	data, err := os.ReadFile(file)
	must(t, err)
	end := len(data) - 8
	begin := end - int(binary.LittleEndian.Uint32(data[end:]))
	var protocol thrift.CompactProtocol
	var m format.FileMetaData
	must(t, thrift.Unmarshal(&protocol, data[begin:end], &m))
	if m.RowGroups[2].Ordinal != 2 || m.RowGroups[2].Columns[0].OffsetIndexOffset == 0 {
		t.Fatalf("the last row group: %+v", m.RowGroups[2])
	}
	for i := range m.RowGroups {
		m.RowGroups[i].Ordinal = 0
	}
	footer, err := thrift.Marshal(&protocol, &m)
	must(t, err)
	data = append(data[:begin], footer...)
	write(t, file, string(binary.LittleEndian.AppendUint32(data, uint32(len(footer))))+"PAR1")
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	must(t, err)
	defer s.Close()
	for i := range s.Len() {
		if _, text := read(t, s, i); len(text) != int(1000+i) || strings.Trim(text, string([]byte{byte(i)})) != "" {
			t.Fatalf("sample %d: got %d bytes %.9q", i, len(text), text)
		}
	}
}

// A row whose bytes are null is told where they may be instead: Hugging Face's data sets of files have a path there.
func TestARowOfParquetWithoutBytesIsToldOfThePathBesideIt(t *testing.T) {
	type picture struct {
		Bytes []byte `parquet:"bytes,optional"`
		Path  string `parquet:"path"`
	}
	file := t.TempDir() + "/a.parquet"
	writeParquet(t, file, []struct {
		Image picture `parquet:"image"`
	}{{picture{Path: "/a.jpg"}}}, 1)
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	must(t, err)
	defer s.Close()
	var b Buffer
	if err := s.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), "got no bytes; where a column beside it names a file instead, as in Hugging Face's {bytes, path}, list: FILE with path: image.path reads that") {
		t.Errorf("got %v", err)
	}
}

// Parquet files without the columns that were asked for are refused with those that they have; damaged ones by name.
func TestParquetShardsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/a.parquet"
	writeParquet(t, file, pictureRows(0, 5), 5)
	writeParquet(t, dir+"/none.parquet", []pictureRow{}, 5)
	data, err := os.ReadFile(file)
	must(t, err)
	write(t, dir+"/cut.parquet", string(data[:len(data)/2]))
	for want, c := range map[string]ShardsConfig{
		"no column jpg; the columns are image.bytes, image.path, label, caption; say which holds": {Shards: []string{file}, Media: []Medium{{From: []string{"jpg"}}}},
		`column "label" holds no bytes`:  {Shards: []string{file}, Media: []Medium{{From: []string{"label"}}}},
		`no column "tag"`:                {Shards: []string{file}, Label: "tag"},
		`no column "x"`:                  {Shards: []string{file}, Columns: []Column{{Name: "x"}}},
		`row 0: label: got "caption 0"`:  {Shards: []string{file}, Label: "caption"},
		"the files have no rows":         {Shards: []string{dir + "/none.parquet"}},
		`cut.parquet": parquet: `:        {Shards: []string{dir + "/cut.parquet"}},
		`no-file.parquet": no such file`: {Shards: []string{dir + "/no-file.parquet"}},
	} {
		if s, err := OpenParquet(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v %v, want %q", s, err, want)
		}
	}
}

// A Parquet file that changes under the reader gives bad samples, and one that is damaged inside does not end the process.
func TestChangedOrDamagedParquetIsABadSample(t *testing.T) {
	file := t.TempDir() + "/a.parquet"
	writeParquet(t, file, pictureRows(0, 40), 40, parquet.PageBufferSize(2000))
	data, err := os.ReadFile(file)
	must(t, err)
	s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	must(t, err)
	var b Buffer
	var e *Error
	must(t, os.Chtimes(file, timeOf(1), timeOf(1)))
	if err := s.Read(background, 3, &b); !errors.As(err, &e) || e.Cause != Changed || e.In != file {
		t.Fatalf("got %v", err)
	}
	must(t, s.Close())
	bad := 0
	for at := 4; at < len(data)/2; at += 301 {
		spoilt := bytes.Clone(data)
		for k := range 8 {
			spoilt[at+k] ^= 0xff
		}
		write(t, file, string(spoilt))
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
		if err != nil {
			bad++
			continue
		}
		for i := range s.Len() {
			if s.Read(background, i, &b) != nil {
				bad++
			}
		}
		must(t, s.Close())
	}
	t.Logf("%d reads of damaged files were refused", bad)
	if bad == 0 {
		t.Fatal("no damage was noticed")
	}
}
