package source

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
)

// none are the media of samples that are columns alone.
var none = []Medium{}

// aloneColumns are an array, a number and a text.
var aloneColumns = []Column{{Name: "a", From: "npy", Type: Array}, {Name: "n", From: "num", Type: Int64}, {Name: "t", From: "txt"}}

// aloneSample is what a sample of them consists of.
func aloneSample(i int) map[string]string {
	return map[string]string{"npy": npy(i%2 == 1, 10*i, 2, 3), "num": fmt.Sprint(i), "txt": fmt.Sprint("text ", i), "jpg": "not read"}
}

// wantAlone fails unless a source has n such samples, in order, read into a buffer again and again.
func wantAlone(t *testing.T, s Source, n int) {
	t.Helper()
	var b Buffer
	for range 2 {
		for i := range s.Len() {
			if err := s.Read(background, i, &b); err != nil {
				t.Fatal(err)
			}
			want := make([]int, 6)
			for k := range want {
				if want[k] = 10*int(i) + k; i%2 == 1 { // Fortran's order in the file
					want[k] = 10*int(i) + k/3 + 2*(k%3)
				}
			}
			if got := shorts(b.Value(0)); !slices.Equal(got, want) {
				t.Fatalf("sample %d: got %v, want %v", i, got, want)
			}
			if got := fmt.Sprint(shorts(b.Value(1))[0], " ", string(b.Value(2))); got != fmt.Sprintf("%d text %d", i, i) {
				t.Fatalf("sample %d: got %s", i, got)
			}
			if b.Bytes() != nil || b.Size() != 12+8+len(b.Value(2)) {
				t.Fatalf("sample %d: got %d bytes, of which %d are of a medium", i, b.Size(), len(b.Bytes()))
			}
		}
	}
	if s.Len() != int64(n) {
		t.Errorf("got %d samples, want %d", s.Len(), n)
	}
}

// Samples without media are columns and nothing else, wherever they lie: what else lies there is not looked at.
func TestSamplesAreColumnsAloneWhereverTheyLie(t *testing.T) {
	const n = 9
	dir, tree := t.TempDir(), map[string]string{}
	var parts []part
	table, lines := "num,txt,npy,path\n", ""
	for i := range n {
		for ending, content := range aloneSample(i) {
			parts = append(parts, part{fmt.Sprintf("%d.%s", i, ending), content})
			write(t, fmt.Sprintf("%s/tree/c%d/%d.%s", dir, i/5, i, ending), content)
			tree[fmt.Sprintf("tree/c%d/%d.%s", i/5, i, ending)] = content
		}
		table += fmt.Sprintf("%d,text %d,tree/c%d/%d.npy,\n", i, i, i/5, i)
		lines += fmt.Sprintf("{\"num\": %d, \"npy\": \"tree/c%d/%d.npy\", \"txt\": \"text %d\"}\n", i, i/5, i, i)
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	archive := string(tarOf(t, tar.FormatPAX, parts...))
	write(t, dir+"/s.tar", archive)
	write(t, dir+"/t.csv", table)
	write(t, dir+"/t.jsonl", lines)
	o := serveObjects(t, map[string]string{"/s.tar": archive})
	client := storeClient(t, store.Options{Retries: -1})
	for name, s := range map[string]Source{
		"tar":    openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none, Columns: aloneColumns}),
		"zip":    openS(t, ShardsConfig{Shards: []string{zipNames(t, parts)}, Media: none, Columns: aloneColumns}),
		"http":   openS(t, ShardsConfig{Shards: []string{o.URL + "/s.tar"}, Media: none, Columns: aloneColumns, Store: client}),
		"folder": openF(t, FolderConfig{Dir: dir + "/tree", Media: none, Columns: aloneColumns, Labels: true}),
		"named":  openF(t, FolderConfig{Dir: dir + "/tree", Media: none, Columns: aloneColumns, Extensions: []string{"txt"}}),
		"s3":     openF(t, FolderConfig{Dir: "s3://bucket/tree", Media: none, Columns: aloneColumns, Labels: true, Store: serveBucket(t, tree).client(t)}),
		"csv":    openL(t, ListConfig{File: dir + "/t.csv", Alone: true, Columns: aloneColumns}),
		"jsonl":  openL(t, ListConfig{File: dir + "/t.jsonl", Alone: true, Columns: aloneColumns}),
	} {
		t.Run(name, func(t *testing.T) {
			wantAlone(t, s, n)
			kept, k := keptSource(t, s)
			wantAlone(t, kept, n)
			if got := k.Stats(); got.Hits != n || got.Stored != n || got.Corrupt != 0 {
				t.Errorf("cache: %+v", got)
			}
			first := string(s.Key(0, nil))
			if want := map[string]string{"csv": "t.csv:0", "jsonl": "t.jsonl:0", "folder": "c0/0.npy", "s3": "c0/0.npy", "named": "c0/0.txt"}[name]; want != "" && first != want {
				t.Errorf("key %q, want %q", first, want)
			}
			if (name == "folder" || name == "s3") && (s.Label(8) != 1 || len(s.Classes()) != 2) {
				t.Errorf("label %d of classes %q", s.Label(8), s.Classes())
			}
		})
	}
}

// Rows of Parquet files need no medium, neither as a table nor as shards, and have their labels as ever.
func TestRowsOfParquetAreAllThereIs(t *testing.T) {
	dir := t.TempDir()
	rows := pictureRows(0, 30)
	for i := range rows {
		rows[i].Image.Bytes = nil // which would be a bad sample
	}
	writeParquet(t, dir+"/a.parquet", rows, 8)
	columns := []Column{{Name: "text", From: "caption"}, {Name: "l", From: "label", Type: Float64}}
	shards, err := OpenParquet(background, ShardsConfig{Shards: []string{dir + "/a.parquet"}, Media: none, Columns: columns})
	must(t, err)
	defer shards.Close()
	for name, s := range map[string]Source{"shards": shards, "table": openL(t, ListConfig{File: dir + "/a.parquet", Alone: true, Columns: columns})} {
		var b Buffer
		for i := range s.Len() {
			must(t, s.Read(background, i, &b))
			if got := fmt.Sprint(string(b.Value(0)), s.Label(i), string(s.Key(i, nil))); got != fmt.Sprintf("caption %d%da.parquet:%d", i, i%4, i) {
				t.Fatalf("%s, row %d: got %s", name, i, got)
			}
		}
		kept, k := keptSource(t, s)
		for range 2 {
			for i := range kept.Len() {
				must(t, kept.Read(background, i, &b))
			}
		}
		if got := k.Stats(); got.Hits < 30 || got.Corrupt > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Of a folder the first column that has no default says which files are samples; an ending may have dots, may be in any case, and several
// columns of one file read it once.
func TestFirstColumnSaysWhichFilesAreSamples(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"1.latents.npy": npy(false, 1, 2), "1.json": `{"x": 5, "t": "five"}`, "1.npy": npy(false, 9, 2),
		"2.LATENTS.NPY": npy(false, 2, 2), "2.json": `{"x": 6}`, "3.json": `{"x": 7}`, "4.latents.npy": npy(false, 4, 2),
	} {
		write(t, filepath.Join(dir, path), content)
	}
	s := openF(t, FolderConfig{Dir: dir, Media: none, Columns: []Column{
		{Name: "t", From: "json[t]", Default: []byte("none")}, {Name: "a", From: "latents.npy", Type: Array}, {Name: "x", From: "json[x]", Type: Int64, Default: []byte("-1")},
	}})
	var got []string
	var b Buffer
	for i := range s.Len() {
		must(t, s.Read(background, i, &b))
		got = append(got, fmt.Sprint(string(s.Key(i, nil)), " ", string(b.Value(0)), " ", shorts(b.Value(1))[0], " ", int16(shorts(b.Value(2))[0])))
	}
	if want := []string{"1.latents.npy five 1 5", "2.LATENTS.NPY none 2 6", "4.latents.npy none 4 -1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A sample that lacks a part, or whose part is damaged, is a bad one by its cause; the others are not.
func TestSampleOfColumnsIsBadByItsCause(t *testing.T) {
	dir := t.TempDir()
	whole := npy(false, 0, 2, 3)
	parts := []part{
		{"0.npy", whole}, {"0.num", "1"}, {"1.npy", whole[:len(whole)-1]}, {"1.num", "1"}, {"2.num", "1"}, {"3.npy", whole}, {"3.num", "x"},
		{"4.npy", npy(false, 0, 3, 2)}, {"4.num", "1"}, {"5.npy", ""}, {"5.num", "1"}, {"6.npy", whole}, {"6.num", "1"}, {"7.npy", "no array"}, {"7.num", "1"},
	}
	for _, p := range parts {
		write(t, filepath.Join(dir, "tree", p.name), p.content)
	}
	write(t, dir+"/s.tar", string(tarOf(t, tar.FormatPAX, parts...)))
	columns := []Column{{Name: "n", From: "num", Type: Int64}, {Name: "a", From: "npy", Type: Array}}
	for name, s := range map[string]Source{
		"tar":    openS(t, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none, Columns: columns}),
		"folder": openF(t, FolderConfig{Dir: dir + "/tree", Media: none, Columns: columns}),
	} {
		var b Buffer
		for i, want := range []Cause{"", Value, Part, Value, Value, Value, "", Value} {
			if name == "folder" && i == 5 {
				want = Empty
			}
			err := s.Read(background, int64(i), &b)
			if e, _ := err.(*Error); (err != nil) != (want != "") || e != nil && (e.Cause != want || !strings.Contains(err.Error(), fmt.Sprintf("sample %d %q", i, s.Key(int64(i), nil)))) {
				t.Errorf("%s: sample %d: got %v, want %q", name, i, err, want)
			}
		}
	}
}

// Two tables of rows alone are the same data where they have the same name, text and number of rows.
func TestFingerprintOfRowsAlone(t *testing.T) {
	dir := t.TempDir()
	open := func(place, text string) Source {
		write(t, filepath.Join(dir, place, "t.csv"), text)
		return openL(t, ListConfig{File: filepath.Join(dir, place, "t.csv"), Alone: true, Columns: []Column{{Name: "x"}}})
	}
	compare(t, "elsewhere", open("a", "x\n1\n2\n"), open("b", "x\n1\n2\n"), true, true)
	compare(t, "other rows", open("c", "x\n1\n2\n"), open("d", "x\n1\n3\n"), false, true)
}

// A config that asks for nothing is refused, and so are columns that nothing has.
func TestSamplesOfNothingAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/t.csv", "x\n1\n")
	write(t, dir+"/0.txt", "x")
	write(t, dir+"/empty.csv", "")
	must(t, os.WriteFile(dir+"/s.tar", tarOf(t, tar.FormatPAX, part{"0.txt", "x"}), 0o600))
	x := []Column{{Name: "x", From: "npy"}}
	for want, open := range map[string]func() (Source, error){
		"shards: got neither media nor columns": func() (Source, error) {
			return OpenShards(background, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none})
		},
		"t.csv\": got neither media nor columns": func() (Source, error) { return OpenList(ListConfig{File: dir + "/t.csv", Alone: true}) },
		"got neither media nor columns":          func() (Source, error) { return OpenFolder(FolderConfig{Dir: dir, Media: none}) },
		"no sample has a part \"npy\"; the parts are txt": func() (Source, error) {
			return OpenShards(background, ShardsConfig{Shards: []string{dir + "/s.tar"}, Media: none, Columns: x, IndexDir: t.TempDir()})
		},
		"no column \"npy\"; the columns are x":        func() (Source, error) { return OpenList(ListConfig{File: dir + "/t.csv", Alone: true, Columns: x}) },
		"want a heading line with the column \"npy\"": func() (Source, error) { return OpenList(ListConfig{File: dir + "/empty.csv", Alone: true, Columns: x}) },
		"want files ending in npy":                    func() (Source, error) { return OpenFolder(FolderConfig{Dir: dir, Media: none, Columns: x}) },
	} {
		if _, err := open(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
