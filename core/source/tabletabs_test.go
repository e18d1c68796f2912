package source

import (
	"path/filepath"
	"strings"
	"testing"
)

// A table with tabs has its columns by its heading; quotes, commas and blanks are text like any other.
func TestTablesWithTabs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jpg"), "A")
	write(t, filepath.Join(dir, "b.jpg"), "B")
	file := filepath.Join(dir, "t.tsv")
	write(t, file, "\ufeffclient_id\tpath\tsentence\tn\tlabel\r\nx\ta.jpg\the said \"no, \t7\t1\r\n\r\ny\tb.jpg\t\t-2\t0\n")
	s := openL(t, ListConfig{File: file, Heading: true, Columns: []Column{{Name: "sentence"}, {Name: "n", Type: Int64}}})
	var b Buffer
	if err := s.Read(background, 0, &b); err != nil || s.Len() != 2 {
		t.Fatal(s.Len(), err)
	}
	if string(b.Bytes()) != "A" || string(b.Value(0)) != `he said "no, ` || b.Value(1)[0] != 7 || s.Label(0) != 1 || s.Label(1) != 0 {
		t.Errorf("got %q, %q, %v, label %d", b.Bytes(), b.Value(0), b.Value(1), s.Label(0))
	}
	if err := s.Read(background, 1, &b); err != nil || string(b.Bytes()) != "B" || len(b.Value(0)) != 0 {
		t.Errorf("got %q, %q, %v", b.Bytes(), b.Value(0), err)
	}
	alone := openL(t, ListConfig{File: file, Heading: true, Alone: true, Columns: []Column{{Name: "sentence"}}})
	if got := string(alone.Key(1, nil)); got != "t.tsv:1" {
		t.Errorf("key %s", got)
	}
}

func TestTablesWithTabsAreRefusedByLine(t *testing.T) {
	for text, want := range map[string]string{
		"path\tlabel\na.jpg\n":     "line 2: got 1 fields, want 2 as in the heading line; a field holds no line end and none of the tabs, and none is left out",
		"path,label\na.jpg,1\n":    "; fields are separated by tabs, unless source.separator says otherwise",
		"file\tlabel\na.jpg\t1\n":  "the first line is the heading, and source.path says which column holds the paths",
		"path\tlabel\na.jpg\tx\n":  "line 2: ",
		"":                         "the file is empty; want a heading line",
		"path \tlabel\na.jpg\t1\n": `column "path" has blanks around its name, which count; leave them out, around the tabs of the heading and of every line`,
		"path\n":                   "no samples: the table has no rows",
	} {
		file := filepath.Join(t.TempDir(), "t.tsv")
		write(t, file, text)
		s, err := OpenList(ListConfig{File: file, Heading: true})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
