package source

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
)

// clip is a row of a table such as Kinetics'.
type clip struct {
	Label string   `parquet:"label"`
	ID    string   `parquet:"youtube_id"`
	Start *float64 `parquet:"time_start,optional"`
	End   int32    `parquet:"time_end"`
}

const clipPath = "{label}/{youtube_id}_{time_start:06d}_{time_end:06d}.mp4"

// clipTables writes the same rows in each form; what pandas has made a float is one.
func clipTables(t *testing.T, dir string) (files []string) {
	var rows []clip
	csv, tsv, lines := "label,youtube_id,time_start,time_end\n", "label\tyoutube_id\ttime_start\ttime_end\n", ""
	for i, label := range []string{"abseiling", "tap dancing"} {
		start := float64(i * 12)
		r := clip{label, fmt.Sprintf("-0x%d", i), &start, int32(10 * i)}
		rows = append(rows, r)
		csv += fmt.Sprintf("%s,%s,%.1f,%d\n", r.Label, r.ID, *r.Start, r.End)
		tsv += fmt.Sprintf("%s\t%s\t%.1f\t%d\n", r.Label, r.ID, *r.Start, r.End)
		lines += fmt.Sprintf("{\"label\": %q, \"youtube_id\": %q, \"time_start\": %.1f, \"time_end\": %d}\n", r.Label, r.ID, *r.Start, r.End)
	}
	for name, text := range map[string]string{"t.csv": csv, "t.tsv": tsv, "t.jsonl": lines} {
		write(t, filepath.Join(dir, name), text)
	}
	writeParquet(t, filepath.Join(dir, "t.parquet"), rows, 1)
	return []string{"t.csv", "t.tsv", "t.jsonl", "t.parquet"}
}

var clips = []string{"abseiling/-0x0_000000_000000.mp4", "tap dancing/-0x1_000012_000010.mp4"}

// Paths are made of columns in every form of table, below a directory and below a URL, and are the samples' keys.
func TestPathsAreMadeOfColumns(t *testing.T) {
	dir := tree(t, clips[0], clips[1])
	o := serveObjects(t, map[string]string{"/d/" + clips[0]: clips[0], "/d/" + clips[1]: clips[1]})
	client := storeClient(t, store.Options{})
	for _, file := range clipTables(t, dir) {
		for _, root := range []string{"", dir, o.URL + "/d"} {
			s := openL(t, ListConfig{File: filepath.Join(dir, file), Heading: file == "t.tsv", Root: root, Store: client, Path: clipPath, LabelNames: true,
				Columns: []Column{{Name: "id", From: "youtube_id"}, {Name: "end", From: "time_end", Type: Int64}}})
			for i, want := range clips {
				b, text := read(t, s, int64(i))
				if text != want || string(s.Key(int64(i), nil)) != want || string(b.Value(0)) != fmt.Sprintf("-0x%d", i) || b.Value(1)[0] != byte(10*i) || s.Label(int64(i)) != int64(i) {
					t.Errorf("%s in %q: got %q, %q, %v, label %d, want %q", file, root, text, b.Value(0), b.Value(1), s.Label(int64(i)), want)
				}
			}
		}
	}
}

// So are the paths of other media and of arrays, whole URLs, and what has braces.
func TestAllPathsOfARowMayBeMade(t *testing.T) {
	o := serveObjects(t, map[string]string{"/a7.jpg": "over http"})
	dir := tree(t, "in/7.jpg", "masks/{7}.png")
	write(t, dir+"/depth/07.npy", npy(false, 5, 2))
	write(t, dir+"/t.csv", "id,path\n7,in/7.jpg\n")
	write(t, dir+"/t.jsonl", `{"id": 7, "path": "in/7.jpg", "more": {"id": "a7"}}`+"\n")
	type row struct {
		ID   int64  `parquet:"id"`
		Path string `parquet:"path"`
	}
	writeParquet(t, dir+"/t.parquet", []row{{7, "in/7.jpg"}}, 1)
	depth := []Column{{Name: "id", Type: Int64}, {Name: "depth", From: "depth/{id:02d}.npy", Type: Array}}
	for _, file := range []string{"t.csv", "t.jsonl", "t.parquet"} {
		for _, path := range []string{"", "in/{id}.jpg"} {
			s := openL(t, ListConfig{File: dir + "/" + file, Path: path, Others: []Medium{{Name: "mask", From: []string{"masks/{{{id}}}.png"}}}, Columns: depth})
			b, _ := read(t, s, 0)
			if string(b.Part(0)) != "in/7.jpg" || string(b.Part(1)) != "masks/{7}.png" || b.Value(0)[0] != 7 || !bytes.Equal(b.Value(1), []byte{5, 0, 6, 0}) {
				t.Errorf("%s, %q: got %q, %q, %v, %v", file, path, b.Part(0), b.Part(1), b.Value(0), b.Value(1))
			}
		}
		alone := openL(t, ListConfig{File: dir + "/" + file, Alone: true, Columns: depth[1:]})
		if b, _ := read(t, alone, 0); !bytes.Equal(b.Value(0), []byte{5, 0, 6, 0}) || string(alone.Key(0, nil)) != file+":0" {
			t.Errorf("%s: got %v, key %s", file, b.Value(0), alone.Key(0, nil))
		}
	}
	type value struct {
		Day   int32   `parquet:"day,date"`
		Share float32 `parquet:"share"`
	}
	writeParquet(t, dir+"/values.parquet", []value{{18292, 0.1}}, 1) // as texts, not as numbers: 0.10000000149011612
	texts := openL(t, ListConfig{File: dir + "/values.parquet", Path: "{day}/{share}.jpg", Columns: []Column{{Name: "share", Type: Float64}}})
	if got := string(texts.Key(0, nil)); got != "2020-01-31/0.1.jpg" {
		t.Errorf("got %q", got)
	}
	s := openL(t, ListConfig{File: dir + "/t.jsonl", Path: o.URL + "/{more.id}.jpg", Store: storeClient(t, store.Options{})})
	if _, text := read(t, s, 0); text != "over http" {
		t.Errorf("got %q", text)
	}
}

// What a path cannot be made of is refused with the line or row.
func TestPathsThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	for text, c := range map[string]struct {
		path, want string
	}{
		"csv:image_id,label\na,1\n":                 {"{imageid}.jpg", `line 1: no column "imageid"; the columns are image_id, label; path "{imageid}.jpg" is made of it; did you mean {image_id}?`},
		"csv:x,label\na,1\n":                        {"{x}/{imageid}.jpg", `line 1: no column "imageid"; the columns are x, label; path "{x}/{imageid}.jpg" is made of it`},
		"jsonl:{\"image_id\":1}\n":                  {"{imageid}.jpg", `line 1: no column "imageid"; the columns are image_id; path "{imageid}.jpg" is made of it; did you mean {image_id}?`},
		"csv:id\na\n\"\"\n":                         {"{id}.jpg", `line 3: path "{id}.jpg": column "id" is empty, want a value`},
		"jsonl:{\"id\":1}\n{\"id\":null}":           {"{id}.jpg", `line 2: path "{id}.jpg": column "id" is empty, want a value`},
		"jsonl:{\"id\":1}\n{}":                      {"{id:d}.jpg", `line 2: path "{id:d}.jpg": column "id" is empty, want a value`},
		"csv:id\n7\n1.5\n":                          {"{id:06d}.jpg", `line 3: path "{id:06d}.jpg": column "id": got "1.5", want a whole number`},
		"csv:id\nx\n":                               {"{id:d}.jpg", `line 2: path "{id:d}.jpg": column "id": got "x", want a whole number`},
		"csv:id\n../../etc/passwd\n":                {"{id}", `line 2: path "../../etc/passwd": got ".."`},
		"csv:id\n../x\n":                            {"train/{id}", `line 2: path "train/../x": got ".."`},
		"csv:id\n/etc/passwd\n":                     {"{id}", `line 2: path "/etc/passwd": got an absolute path, want one relative to root`},
		"csv:id\nfile:///etc/passwd\n":              {"{id}", "got a file's URL"},
		"csv:id\nftp://h/x\n":                       {"{id}", `got a URL of scheme "ftp"`},
		"csv:id\n\"a\nb\"\n":                        {"{id}.jpg", `line 2: column "{id}.jpg": got a tab or line end in path "a\nb.jpg"`},
		"csv:id,id\na,b\n":                          {"{id}", `column "id" is there twice`},
		"csv:id \na\n":                              {"{id}", `column "id" has blanks around its name`},
		"csv:path\na\n":                             {"{path", `path "{path": got a { without its }`},
		"csv:":                                      {"{id}.jpg", `want a heading line with the column "id"`},
		"jsonl:":                                    {"{id}.jpg", `want a JSON object a line, with a value in "id"`},
		"csv:file\na\n":                             {"", `source.path says which column holds the paths, or what they are made of, such as "train/{image_id}.jpg"`},
		"csv:id\n" + strings.Repeat("x", maxPath):   {"{id}", fmt.Sprintf(`line 2: path "{id}": column "id": got %d bytes, want at most %d in a whole path`, maxPath, maxPath-1)},
		"csv:id\n" + strings.Repeat("x", maxPath-1): {"{id}/", fmt.Sprintf("line 2: got a path of %d bytes, want at most %d", maxPath, maxPath-1)},
	} {
		kind, text, _ := strings.Cut(text, ":")
		file := filepath.Join(dir, "t."+kind)
		write(t, file, text)
		if _, err := OpenList(ListConfig{File: file, Root: dir, Path: c.path}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q of %q: got %.400v, want %q", c.path, text, err, c.want)
		}
	}
	type row struct {
		ID *int32 `parquet:"image_id,optional"`
	}
	seven := int32(7)
	writeParquet(t, dir+"/t.parquet", []row{{&seven}, {nil}}, 1)
	for path, want := range map[string]string{
		"{imageid}.jpg":      `no column "imageid"; the columns are image_id; path "{imageid}.jpg" is made of it; did you mean {image_id}?`,
		"{image_id:06d}.jpg": `row 1: path "{image_id:06d}.jpg": column "image_id" is empty, want a value`,
	} {
		if _, err := OpenList(ListConfig{File: dir + "/t.parquet", Path: path}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	if _, err := OpenList(ListConfig{File: dir + "/t.parquet", Alone: true, Columns: []Column{{Name: "a", From: "../{image_id}.npy", Type: Array}}}); err == nil || !strings.Contains(err.Error(), `row 0: column "../{image_id}.npy": path "../7.npy": got ".."`) {
		t.Errorf("got %v", err)
	}
}

// A text column's from is a name, whatever is in it.
func TestBracesInTheNameOfATextColumn(t *testing.T) {
	dir := tree(t, "a.jpg")
	write(t, dir+"/t.csv", "path,{path}\na.jpg,said\n")
	if b, _ := read(t, openL(t, ListConfig{File: dir + "/t.csv", Columns: []Column{{Name: "x", From: "{path}"}}}), 0); string(b.Value(0)) != "said" {
		t.Errorf("got %q", b.Value(0))
	}
}
