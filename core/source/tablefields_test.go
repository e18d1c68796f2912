package source

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// Lists without a line of names, and with other things than tabs and commas between their fields, are tables by what the description says of them.
func TestTablesOfOtherFields(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "v/a.jpg"), "A")
	write(t, filepath.Join(dir, "v/b.jpg"), "B")
	text := []Column{{Name: "text"}}
	for name, c := range map[string]struct {
		file, text string
		ListConfig
		texts  [2]string
		labels [2]int64
	}{
		"Kinetics' lists":      {"l.csv", "v/a.jpg 3\nv/b.jpg  0 \n\n", ListConfig{Names: []string{"path", "label"}, Separator: ' '}, [2]string{}, [2]int64{3, 0}},
		"a csv without names":  {"l.csv", "\ufeffv/a.jpg,\"x, \"\"y\"\"\",3\nv/b.jpg,,0\n", ListConfig{Names: []string{"path", "text", "label"}, Columns: text}, [2]string{`x, "y"`}, [2]int64{3, 0}},
		"a csv of Excel's":     {"l.csv", "label;text;path\n3;\"a;b\";v/a.jpg\n0;c,d;v/b.jpg\n", ListConfig{Separator: ';', Columns: text}, [2]string{"a;b", "c,d"}, [2]int64{3, 0}},
		"LJSpeech":             {"metadata.csv", "a|in the \"only, sense|x\r\nb||y", ListConfig{Names: []string{"id", "text", "normalized"}, Separator: '|', Path: "v/{id}.jpg", Columns: text}, [2]string{`in the "only, sense`}, [2]int64{-1, -1}},
		"Kaldi's text":         {"text", "a  TWO WORDS\tHERE \n\t\nb ONE\n", ListConfig{Names: []string{"id", "text"}, Separator: ' ', Path: "v/{id}.jpg", Columns: text}, [2]string{"TWO WORDS\tHERE", "ONE"}, [2]int64{-1, -1}},
		"blanks and a heading": {"l.txt", "path label text\nv/a.jpg 3 x y\nv/b.jpg 0 z\n", ListConfig{Heading: true, Separator: ' ', Columns: text}, [2]string{"x y", "z"}, [2]int64{3, 0}},
		"tabs without names":   {"l.txt", "v/a.jpg\tx y\t3\nv/b.jpg\t\t0\n", ListConfig{Names: []string{"path", "text", "label"}, Columns: text}, [2]string{"x y"}, [2]int64{3, 0}},
	} {
		c.File = filepath.Join(dir, c.file)
		write(t, c.File, c.text)
		s := openL(t, c.ListConfig)
		if s.Len() != 2 || s.Label(0) != c.labels[0] || s.Label(1) != c.labels[1] {
			t.Errorf("%s: %d samples, labels %d and %d", name, s.Len(), s.Label(0), s.Label(1))
		}
		for i, want := range []string{"A", "B"} {
			var b Buffer
			if err := s.Read(background, int64(i), &b); err != nil || string(b.Bytes()) != want {
				t.Fatalf("%s: sample %d: %q, %v", name, i, b.Bytes(), err)
			}
			if c.Columns != nil && string(b.Value(0)) != c.texts[i] {
				t.Errorf("%s: sample %d: got %q, want %q", name, i, b.Value(0), c.texts[i])
			}
		}
	}
}

func TestTablesOfOtherFieldsAreRefusedByLine(t *testing.T) {
	named := ListConfig{Names: []string{"path", "label"}, Separator: ' '}
	for _, c := range []struct {
		text string
		ListConfig
		want string
	}{
		{"a.jpg 1\nb.jpg\n", named, "line 2: got 1 fields, want 2 as source.heading names; none is left out, and the last one alone holds blanks"},
		{"my cat.jpg 1\n", named, `line 1: label: got "cat.jpg 1", want`},
		{"a.jpg|1|x\n", ListConfig{Names: named.Names, Separator: '|'}, `got 3 fields, want 2 as source.heading names; a field holds no line end and none of the "|", and none is left out`},
		{"a.jpg;1;x\n", ListConfig{Names: named.Names, Separator: ';'}, `got 3 fields, want 2 as source.heading names; quote fields that have ";", and leave none out`},
		{"a.jpg 1\n", ListConfig{Names: []string{"file", "label"}, Separator: ' '}, `no column "path"; the columns are file, label; source.heading names the columns, and source.path says`},
		{"a.jpg 1\n", ListConfig{Heading: true}, `this one looks like a row: source.heading names the columns where the file does not, and source.separator what is between them: heading: [path, label], separator: " "`},
		{"", named, "the file is empty; want a row a line"},
	} {
		c.File = filepath.Join(t.TempDir(), "l.txt")
		write(t, c.File, c.text)
		s, err := OpenList(c.ListConfig)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// A table of JSON may be one list of objects, as LLaVA's annotations are, or lines in a file called .json, as NeMo's manifests are. A name leads into lists, too.
func TestTablesThatAreOneListOfJSON(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jpg"), "A")
	write(t, filepath.Join(dir, "b.jpg"), "B")
	rows := []string{
		`{"turns": [{"value": "x ], \" y"}, {"value": ["p", ["q"]]}], "image": "a.jpg", "n": NaN, "label": 4}`,
		`{"image": "b.jpg", "turns": [{}, {"value": [[], ["r", 7]]}], "n": 1}`,
	}
	columns := []Column{{Name: "first", From: "turns[0].value"}, {Name: "deep", From: "turns[1].value[1][0]"}, {Name: "n", Type: Float64}}
	for name, text := range map[string]string{
		"lines": strings.Join(rows, "\n"), "a list": "[" + strings.Join(rows, ",") + "]", "indented": "\ufeff \n[\n  " + strings.ReplaceAll(rows[0], "}], ", "}],\n  ") + "\n  ,\n" + rows[1] + "\n]\n",
	} {
		file := filepath.Join(dir, "t.json")
		write(t, file, text)
		s := openL(t, ListConfig{File: file, Path: "image", Columns: columns})
		for i, want := range []struct{ picture, first, deep string }{{"A", `x ], " y`, "q"}, {"B", "", "r"}} {
			var b Buffer
			if err := s.Read(background, int64(i), &b); err != nil || s.Len() != 2 {
				t.Fatal(name, s.Len(), err)
			}
			if got := string(b.Bytes()); got != want.picture || string(b.Value(0)) != want.first || string(b.Value(1)) != want.deep {
				t.Errorf("%s: sample %d: got %q, %q, %q", name, i, got, b.Value(0), b.Value(1))
			}
		}
		if s.Label(0) != 4 || s.Label(1) != -1 {
			t.Errorf("%s: labels %d, %d", name, s.Label(0), s.Label(1))
		}
	}
}

func TestListsOfJSONAreRefusedByLine(t *testing.T) {
	for text, want := range map[string]string{
		"[\n{\"path\": \"a\"},\n{\"path\": 1, }\n]":     "line 3, object 2 of the list: want a JSON object: invalid character",
		`[{"path": "a"}, {"path": "b"`:                  "line 1, object 1 of the list: the list has no end, want ] behind its last object",
		"[{\"path\": \"a\"}\n]\n[{\"path\": \"b\"}]":    `line 3, object 1 of the list: got "[{\"path\": \"b\"}]" behind the list's end, want nothing`,
		`[{"path": "a"},]`:                              "line 1, object 2 of the list: want a JSON object: unexpected end of JSON input",
		`[{"path": "a"} {"path": "b"}]`:                 "object 1 of the list: want a JSON object: invalid character '{' after top-level value",
		`["a", "b"]`:                                    "line 1, object 1 of the list: got a string, want a JSON object",
		`[]`:                                            "no samples: the table has no rows",
		`[[{"path": "a"}]]`:                             "got a list, want a JSON object",
		`{"images": [{"file": "a"}], "categories": []}`: `line 1: no column "path"; the columns are categories, images; source.path says which`,
		"{\n \"path\": \"a\"\n}":                        "line 1: want a JSON object: unexpected end of JSON input",
	} {
		file := filepath.Join(t.TempDir(), "t.json")
		write(t, file, text)
		s, err := OpenList(ListConfig{File: file})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Lists of text are unpacked as they are read; one that is damaged says where.
func TestListsInGzip(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jpg"), "A")
	pack := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(text))
		must(t, err)
		must(t, w.Close())
		return b.String()
	}
	cut := "{\"recording\": {\"sources\": [{\"source\": \"a.jpg\"}]}}\n"
	for name, c := range map[string]struct {
		text string
		ListConfig
	}{
		"cuts.jsonl.gz": {pack(cut[:20]) + pack(cut[20:]), ListConfig{Path: "recording.sources[0].source"}}, // gzip's members are one file
		"l.txt.gz":      {pack("a.jpg\t1\n"), ListConfig{}},
		"l.CSV.gz":      {pack("path\na.jpg\n"), ListConfig{}},
	} {
		c.File = filepath.Join(dir, name)
		write(t, c.File, c.text)
		s := openL(t, c.ListConfig)
		var b Buffer
		if err := s.Read(background, 0, &b); err != nil || string(b.Bytes()) != "A" || s.Len() != 1 {
			t.Errorf("%s: %d samples, %q, %v", name, s.Len(), b.Bytes(), err)
		}
	}
	whole := pack(strings.Repeat("a.jpg\n", 100))
	for text, want := range map[string]string{
		"a.jpg\n":              "its name ends in .gz, and its bytes are no gzip",
		whole[:len(whole)-3]:   "it does not unpack behind byte 600: unexpected EOF; copy or write it again",
		pack(""):               "the file is empty",
		whole + "more than it": "it does not unpack behind byte",
	} {
		file := filepath.Join(dir, "bad.txt.gz")
		write(t, file, text)
		if _, err := OpenList(ListConfig{File: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A line whose fields were taken for a path says how fields are read.
func TestLinesTakenForPathsSayHowFieldsAreRead(t *testing.T) {
	for line, want := range map[string]string{
		"v/a.mp4 7":               `heading: [path, label], separator: " "`,
		"v/a.mp4,7":               `heading: [path, label], separator: ","`,
		"w/a.wav|0|Some words":    `heading: [path, label], separator: "|"`,
		"v/a.mp4 playing guitar":  "",
		"v/a.mp4 guitar":          `separator: " "`,
		"my picture of a cat.jpg": "",
	} {
		file := filepath.Join(t.TempDir(), "l.txt")
		write(t, file, line+"\n")
		var b Buffer
		err := openL(t, ListConfig{File: file}).Read(background, 0, &b)
		if err == nil || !strings.Contains(err.Error(), want) || (want == "") == strings.Contains(err.Error(), "separator") {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}

// A row without a file is refused with its place, and what to do.
func TestRowsWithoutAFileAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.json")
	write(t, file, "[{\"image\": \"a.jpg\"},\n{\"text\": \"x\"}]")
	if _, err := OpenList(ListConfig{File: file, Path: "image"}); err == nil ||
		!strings.HasSuffix(err.Error(), `line 2, object 2 of the list: column "image" is empty, want a path; every row is a sample of a file: leave out rows that have none`) {
		t.Errorf("got %v", err)
	}
}
