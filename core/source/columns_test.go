package source

import (
	"archive/tar"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// A value inside a part that is JSON is a column of archives and folders alike: by the name written, else down its objects.
func TestValuesInJSONAreColumns(t *testing.T) {
	dir := t.TempDir()
	object := "\ufeff" + `{"caption": "a \u00fc", "a": {"b": 7, "c": {"d": [1, "x"]}}, "e.f": 0.5, "n": 640.0, "empty": ""}`
	write(t, dir+"/tree/1.jpg", "picture")
	write(t, dir+"/tree/1.json", object)
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, part{"1.jpg", "picture"}, part{"1.json", object})))
	columns := []Column{
		{Name: "text", From: "json[caption]"}, {Name: "below", From: "json[a.b]", Type: Int64}, {Name: "list", From: "json[a.c.d]"},
		{Name: "dotted", From: "json[e.f]", Type: Float64}, {Name: "whole", From: "json[n]", Type: Int64}, {Name: "empty", From: "json[empty]"},
		{Name: "json", MaxBytes: 200},
	}
	whole := func(v int64) string { return string(binary.NativeEndian.AppendUint64(nil, uint64(v))) }
	want := []string{"a ü", whole(7), `[1, "x"]`, whole(int64(math.Float64bits(0.5))), whole(640), "", object}
	tree := openF(t, FolderConfig{Dir: dir + "/tree", Columns: columns})
	for name, s := range map[string]Source{"folder": tree, "shards": openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Columns: columns})} {
		b, text := read(t, s, 0)
		if text != "picture" {
			t.Errorf("%s: picture %q", name, text)
		}
		for c := range want {
			if got := string(b.Value(c)); got != want[c] {
				t.Errorf("%s: column %q: got %q, want %q", name, columns[c].Name, got, want[c])
			}
		}
	}
}

// A sample without a part, or without a value in its JSON, has the column's default, and is a bad one where there is none. What is
// damaged is bad whatever the default.
func TestDefaultsStandInForWhatIsNotThere(t *testing.T) {
	for k, c := range []struct {
		json  string // "-": no such part
		from  string
		kind  ColumnType
		want  string // of the one without a default; "": it is good
		other string // of the one with a default; "": it has the default
	}{
		{"-", "json", Text, `no part "json"; the parts are`, ""},
		{"-", "json[a]", Text, `no part "json"; the parts are`, ""},
		{"{}", "json[a]", Text, `column "c": no "a" in json, or null`, ""},
		{`{"a": null}`, "json[a]", Int64, `column "c": no "a" in json, or null`, ""},
		{`{"a": 1}`, "json[a.b]", Int64, `column "c": no "a.b" in json, or null`, ""},
		{`{"a": 2.5}`, "json[a]", Int64, `json: got "2.5", want a whole number`, `want a whole number`},
		{`{"a": "x"}`, "json[a]", Float64, `got "x", want a number`, `want a number`},
		{`null`, "json[a]", Text, `column "c": json: got null, want a JSON object`, "got null"},
		{`[1]`, "json[a]", Text, `column "c": json: got a list, want a JSON object`, "got a list"},
		{`{"a": 1`, "json[a]", Text, `column "c": json: want a JSON object: unexpected end`, "want a JSON object"},
		{``, "json[a]", Text, `column "c": json: want a JSON object: unexpected end`, "want a JSON object"},
		{`{"a": "12345"}`, "json[a]", Text, `got 5 bytes, want at most 4; raise max_bytes`, "raise max_bytes"},
		{`{"a": "\ud800"}`, "json[a]", Text, `json: "a": got \ud800, half of a character`, "half of a character"},
	} {
		dir := t.TempDir()
		write(t, dir+"/tree/2.jpg", "p")
		parts := []part{{"1.jpg", "p"}, {"1.json", `{"a": 1}`}, {"2.jpg", "p"}}
		if c.json != "-" {
			write(t, dir+"/tree/2.json", c.json)
			parts = append(parts, part{"2.json", c.json})
		}
		write(t, dir+"/tree/1.jpg", "p")
		write(t, dir+"/tree/1.json", `{"a": 1}`)
		write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, parts...)))
		for _, def := range [][]byte{nil, []byte("5")} {
			columns := []Column{{Name: "c", From: c.from, Type: c.kind, MaxBytes: 4, Default: def}}
			if c.from == "json" {
				columns[0].MaxBytes = 100
			}
			for name, s := range map[string]Source{
				"folder": openF(t, FolderConfig{Dir: dir + "/tree", Columns: columns}), "shards": openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Columns: columns}),
			} {
				want, what := c.want, fmt.Sprintf("%d: %s, default %q", k, name, def)
				if def != nil {
					want = c.other
				}
				if name == "folder" {
					want = strings.Replace(want, `no part "json"; the parts are`, "its file is not there", 1)
				}
				var b Buffer
				err := s.Read(background, 1, &b)
				var bad *Error
				switch {
				case want != "" && (!errors.As(err, &bad) || !strings.Contains(err.Error(), want)):
					t.Errorf("%s: got %v, want %q", what, err, want)
				case want == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case want == "" && c.kind == Text && string(b.Value(0)) != "5", want == "" && c.kind == Int64 && binary.NativeEndian.Uint64(b.Value(0)) != 5:
					t.Errorf("%s: got %q", what, b.Value(0))
				}
			}
		}
	}
}

// Nothing between brackets is no name of a value: the part is taken at its word, and is not there.
func TestEmptyBracketsAreNoKey(t *testing.T) {
	file := t.TempDir() + "/s.tar"
	write(t, file, string(tarOf(t, tar.FormatPAX, part{"1.jpg", "p"}, part{"1.json", "{}"})))
	_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, Columns: []Column{{Name: "c", From: "json[]"}}})
	if err == nil || !strings.Contains(err.Error(), `no sample has a part "json[]"`) {
		t.Errorf("got %v", err)
	}
}
