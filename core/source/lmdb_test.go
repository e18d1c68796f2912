package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// lmdbPair is a key and its value, in base64, or its sum, of testdata/lmdb, as the program that made it wrote them down.
type lmdbPair struct{ Key, Value, SHA256 string }

func lmdbWanted(t testing.TB) (databases map[string][]lmdbPair) {
	t.Helper()
	text, err := os.ReadFile("testdata/lmdb/want.json")
	must(t, err)
	must(t, json.Unmarshal(text, &databases))
	return databases
}

func readLMDB(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/lmdb/" + name)
	must(t, err)
	return data
}

// What LMDB has written is read, by its directory, its file, and a pattern of directories, with the index that is made and the one that was kept: pages of more than 4 KiB, trees of
// several levels, large values, and the last transaction alone. Nothing is written beside, and no lock is taken.
func TestLMDBHasWhatWasWritten(t *testing.T) {
	index := t.TempDir()
	wanted := lmdbWanted(t)
	for name, want := range map[string][]lmdbPair{"super.lmdb": wanted["super"], "super.lmdb/data.mdb": wanted["super"], "sup*.lmdb": wanted["super"], "scenes_lmdb": wanted["scenes"], "deep.lmdb": wanted["deep"], "wide.lmdb": wanted["wide"]} {
		for k := range 2 {
			s := openS(t, ShardsConfig{Shards: []string{"testdata/lmdb/" + name}, IndexDir: index})
			if s.Len() != int64(len(want)) {
				t.Fatalf("%s: got %d samples, want %d", name, s.Len(), len(want))
			}
			for i := range s.Len() {
				_, value := read(t, s, i)
				if w := want[i]; string(s.Key(i, nil)) != w.Key || fmt.Sprintf("%x", sha256.Sum256([]byte(value))) != w.SHA256 {
					t.Errorf("%s: sample %d: key %q, want %q, or the value is another", name, i, s.Key(i, nil), w.Key)
				}
			}
			if notes := s.(interface{ Notes() []string }).Notes(); k == 1 && len(notes) > 0 {
				t.Errorf("%s: the index was not kept: %q", name, notes)
			}
		}
	}
	if files, err := filepath.Glob("testdata/lmdb/*/*"); err != nil || len(files) != 3 {
		t.Errorf("beside the databases are %q", files)
	}
	several := openS(t, ShardsConfig{Shards: []string{"testdata/lmdb/{scenes_lmdb,super.lmdb,deep.lmdb}"}, IndexDir: index})
	if several.Len() != 12+9+90 {
		t.Errorf("got %d samples of three databases", several.Len())
	}
}

// Keys of text recognition are two parts of a sample, without a word and with templates; other templates are another index of the same file.
func TestKeysOfLMDBSayWhichPartsASampleHas(t *testing.T) {
	index, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, lmdbName), string(readLMDB(t, "text/data.mdb")))
	values := map[string]string{}
	for _, p := range lmdbWanted(t)["text"] {
		values[p.Key] = unbased(t, p.Value)
	}
	word := Column{Name: "text", From: "label-{n:09d}"}
	for what, c := range map[string]ShardsConfig{
		"without a word":  {},
		"a column":        {Columns: []Column{word}},
		"both":            {Columns: []Column{word}, Media: []Medium{{Name: "image", From: []string{"image-{n:09d}"}}}},
		"beside":          {Columns: []Column{word}, IndexBeside: true},
		"as a list":       {Media: []Medium{{Name: "image", From: []string{"jpg-{i:d}", "image-{n:09d}"}}}},
		"a text":          {Media: []Medium{{Name: "image", From: []string{"image-{name}"}}}},
		"another":         {Media: []Medium{{Name: "image", From: []string{"label-{n:09d}"}}}},
		"a label":         {Label: "label-{n:09d}"},
		"numbers of text": {Columns: []Column{{Name: "x", From: "label-{n:09d}", Type: Int64}}},
	} {
		c.Shards, c.IndexDir = []string{dir}, index // the same file with all of them
		if what == "a text" {                       // image-000000001 of that template and label-000000001 of the other are samples of two names
			if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), "num-samples is 7, and there are keys of 14 samples") {
				t.Errorf("%s: got %v", what, err)
			}
			continue
		}
		s := openS(t, c)
		if s.Len() != 7 {
			t.Fatalf("%s: %d samples", what, s.Len())
		}
		for i := range s.Len() {
			key, text := fmt.Sprintf("image-%09d", i+1), fmt.Sprintf("label-%09d", i+1)
			var b Buffer
			switch err := s.Read(background, i, &b); {
			case (what == "a label" || what == "numbers of text") && i != 4:
				if err == nil || !strings.Contains(err.Error(), "whole number") {
					t.Errorf("%s: sample %d: got %v", what, i, err)
				}
				continue
			case err != nil:
				t.Fatalf("%s: sample %d: %v", what, i, err)
			case what == "another" && string(b.Bytes()) != values[text], what != "another" && string(b.Bytes()) != values[key]:
				t.Errorf("%s: sample %d is another", what, i)
			case string(s.Key(i, nil)) != fmt.Sprint(i+1):
				t.Errorf("%s: sample %d has the key %q", what, i, s.Key(i, nil))
			case len(c.Columns) > 0 && c.Columns[0].Type == Text && string(b.Value(0)) != values[text]:
				t.Errorf("%s: sample %d has the text %q", what, i, b.Value(0))
			}
		}
		if what == "a label" && (s.Label(4) != 17 || s.Label(0) != -1) {
			t.Errorf("labels %d, %d", s.Label(4), s.Label(0))
		}
	}
	parts, err := PartsOf(background, ShardsConfig{Shards: []string{"testdata/lmdb/text"}, IndexDir: index})
	if err != nil || !slices.Equal(parts, []string{"image-{n:09d}", "label-{n:09d}"}) {
		t.Errorf("parts %q, %v", parts, err)
	}
	for template, want := range map[string]string{
		"image-{n:09x}": `source.image: "image-{n:09x}": got format "09x" in {n:09x}, want a whole number's`,
		"{a}/{b}":       `source.image: "{a}/{b}": got 2 names in braces, want one, the sample's`,
		"lq-{n:09d}":    `no sample has a part lq-{n:09d}; the parts are image-{n:09d}, label-{n:09d}`,
		"image":         `no sample has a part image; the parts are image-{n:09d}, label-{n:09d}`,
	} {
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/lmdb/text"}, Media: []Medium{{Name: "image", From: []string{template}}}, IndexDir: index}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", template, err, want)
		}
	}
}

// A key goes by the template that says most of it, numbers as Python writes them, and what no template makes is passed over.
func TestTemplatesOfKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.lmdb")
	write(t, file, string(lmdbOf(4096, "a.png", "p1", "a.txt", "t1", "b.png", "p2", "b.txt", "t2", "info", "?", "n7", "7", "n07", "x", "n-7", "8")))
	s := openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{{Name: "image", From: []string{"{key}.png"}}}, Columns: []Column{{Name: "text", From: "{key}.txt"}}})
	if got := keys(s); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("got %q", got)
	}
	b, picture := read(t, s, 1)
	if picture != "p2" || string(b.Value(0)) != "t2" {
		t.Errorf("got %q, %q", picture, b.Value(0))
	}
	s = openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{{Name: "image", From: []string{"{key}"}}}, Columns: []Column{{Name: "text", From: "{key}.txt", Default: []byte("none")}}})
	if got := keys(s); !slices.Equal(got, []string{"a.png", "a", "b.png", "b", "info", "n-7", "n07", "n7"}) {
		t.Errorf("got %q", got)
	}
	s = openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{}, Columns: []Column{{Name: "x", From: "n{i:d}", Type: Int64}}, Label: "n{i:d}"})
	if got := keys(s); !slices.Equal(got, []string{"-7", "7"}) || s.Label(0) != 8 || s.Label(1) != 7 {
		t.Errorf("got %q", got)
	}
	if known := s.(Knowing).Known("x"); known == nil || known(0) != int64(8) {
		t.Error("numbers are not known without reading")
	}
}

// lmdbOf is a database of keys and values, in pages of a size: a leaf, or where it is told to, leaves below a branch.
func lmdbOf(size int, pairs ...string) []byte {
	le := binary.LittleEndian
	var pages [][]byte
	page := func(kind uint16, nodes [][]byte) uint64 {
		p := make([]byte, size)
		le.PutUint64(p, uint64(len(pages)+2))
		le.PutUint16(p[10:], kind)
		end := size
		for k, n := range nodes {
			end -= (len(n) + 1) &^ 1
			copy(p[end:], n)
			le.PutUint16(p[lmdbHead+2*k:], uint16(end))
		}
		le.PutUint16(p[12:], uint16(lmdbHead+2*len(nodes)))
		le.PutUint16(p[14:], uint16(end))
		pages = append(pages, p)
		return uint64(len(pages) + 1)
	}
	var order []string
	values := map[string]string{}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		order, values[pairs[0]] = append(order, pairs[0]), pairs[1]
	}
	slices.Sort(order)
	var nodes, above [][]byte
	for k, key := range order {
		value, flags := values[key], uint16(0)
		length := len(value)
		if length > size/4 {
			first := len(pages) + 2
			big := make([]byte, (lmdbHead+length+size-1)/size*size)
			le.PutUint64(big, uint64(first))
			le.PutUint16(big[10:], 4)
			le.PutUint32(big[12:], uint32(len(big)/size))
			copy(big[lmdbHead:], value)
			for ; len(big) > 0; big = big[size:] {
				pages = append(pages, big[:size])
			}
			value, flags = string(le.AppendUint64(nil, uint64(first))), lmdbBig
		}
		head := le.AppendUint16(le.AppendUint16(le.AppendUint32(nil, uint32(length)), flags), uint16(len(key)))
		nodes = append(nodes, []byte(string(head)+key+value))
		if (k+1)%4 == 0 || k == len(order)-1 {
			leaf := page(lmdbLeaf, nodes)
			nodes = nil
			first := order[k/4*4]
			if len(above) == 0 {
				first = ""
			}
			above = append(above, append(le.AppendUint16(le.AppendUint16(le.AppendUint32(nil, uint32(leaf)), 0), uint16(len(first))), first...))
		}
	}
	depth, root := 1, uint64(len(pages)+1)
	if len(above) > 1 {
		depth, root = 2, page(lmdbBranch, above)
	}
	if len(above) == 0 {
		depth, root = 0, lmdbNone
	}
	meta := func(number, txn uint64) []byte {
		m := make([]byte, size)
		le.PutUint64(m, number)
		le.PutUint16(m[10:], 8)
		le.PutUint32(m[16:], lmdbMagic)
		le.PutUint32(m[20:], lmdbVersion)
		le.PutUint32(m[40:], uint32(size))
		le.PutUint64(m[80:], lmdbNone)
		le.PutUint16(m[94:], uint16(depth))
		le.PutUint64(m[120:], uint64(len(order)))
		le.PutUint64(m[128:], root)
		le.PutUint64(m[136:], uint64(len(pages)+1))
		le.PutUint64(m[144:], txn)
		return m
	}
	return slices.Concat(append([][]byte{meta(0, 4), meta(1, 3)}, pages...)...)
}

// forgedLMDB is a database of five values, one of them large, of pages of 512 bytes, with bytes written over: 2 to 3 the large one, 4 and 5 leaves, 6 the branch over them.
func forgedLMDB(forge func(p func(page, at int) []byte)) []byte {
	data := lmdbOf(512, "a", strings.Repeat("x", 700), "b", "2", "c", "3", "d", "4", "e", "5")
	forge(func(page, at int) []byte { return data[512*page+at:] })
	return data
}

// A file whose pages lead elsewhere, around in a ring or to the same page twice, whose numbers are not true, or that is cut off, is refused by name, and so are kinds of databases that are not read.
func TestForgedLMDBIsRefusedByName(t *testing.T) {
	le := binary.LittleEndian
	node := func(page []byte, k int) []byte { return page[le.Uint16(page[lmdbHead+2*k:]):] }
	for what, c := range map[string]struct {
		forge func(p func(page, at int) []byte)
		want  string
	}{
		"no magic":           {func(p func(int, int) []byte) { copy(p(0, 16), "ZZZZ"); copy(p(1, 16), "ZZZZ") }, "no LMDB, or damaged: got 5a5a5a5a at 16, want beefc0de; write or copy it again"},
		"another byte order": {func(p func(int, int) []byte) { le.PutUint32(p(0, 16), 0xdec0efbe); clear(p(1, 16)[:4]) }, "it is LMDB's of another byte order or of 32 bits; write it anew with mdb_dump there and mdb_load here"},
		"of 32 bits":         {func(p func(int, int) []byte) { le.PutUint64(p(0, 12), 1<<32|lmdbMagic); clear(p(1, 16)[:4]) }, "of another byte order or of 32 bits"},
		"another version":    {func(p func(int, int) []byte) { le.PutUint32(p(0, 20), 2); le.PutUint32(p(1, 20), 2) }, "got LMDB's format 2, want 1, as 0.9 has it"},
		"a page's size":      {func(p func(int, int) []byte) { le.PutUint32(p(0, 40), 500); clear(p(1, 16)[:4]) }, "damaged: got pages of 500 bytes, want a power of 2 from 256 to 65536"},
		"a size of 0":        {func(p func(int, int) []byte) { le.PutUint32(p(0, 40), 0); clear(p(1, 16)[:4]) }, "damaged: got pages of 0 bytes"},
		"a deep tree":        {func(p func(int, int) []byte) { le.PutUint16(p(0, 94), 33); clear(p(1, 16)[:4]) }, "damaged: got a tree 33 pages deep"},
		"no depth":           {func(p func(int, int) []byte) { le.PutUint16(p(0, 94), 0); clear(p(1, 16)[:4]) }, "damaged: got a tree 0 pages deep with its root at page 6"},
		"several values":     {func(p func(int, int) []byte) { le.PutUint16(p(0, 92), 4) }, "its keys have several values each (DUPSORT), which is not read here; have a program of yours"},
		"a root far away":    {func(p func(int, int) []byte) { le.PutUint64(p(0, 128), 1<<40) }, "damaged: page 1099511627776, want one from 2 to 6"},
		"a root at a meta":   {func(p func(int, int) []byte) { le.PutUint64(p(0, 128), 1) }, "damaged: page 1, want one from 2 to 6"},
		"beyond the file": {func(p func(int, int) []byte) {
			le.PutUint64(p(0, 128), 1<<54|6)
			le.PutUint64(p(0, 136), math.MaxUint64)
		}, "truncated: page 18014398509481990 lies beyond the 3584 bytes"},
		"too few keys":         {func(p func(int, int) []byte) { le.PutUint64(p(0, 120), 6) }, "damaged: got 5 keys, want 6"},
		"a ring":               {func(p func(int, int) []byte) { le.PutUint16(p(0, 94), 3); le.PutUint32(node(p(6, 0), 1), 6) }, "want kind 1"},
		"a longer ring":        {func(p func(int, int) []byte) { le.PutUint16(p(0, 94), 32); le.PutUint32(node(p(6, 0), 0), 6) }, "damaged: page 6 says that it is number 6 of kind 1, want kind 2"},
		"a leaf twice":         {func(p func(int, int) []byte) { le.PutUint32(node(p(6, 0), 1), 4) }, "damaged: two ways lead to page 4"},
		"a leaf's number":      {func(p func(int, int) []byte) { p(4, 0)[0] = 5 }, "damaged: page 4 says that it is number 5 of kind 2, want kind 2"},
		"a leaf that is none":  {func(p func(int, int) []byte) { p(4, 10)[0] = 1 }, "damaged: page 4 says that it is number 4 of kind 1, want kind 2"},
		"a large value's page": {func(p func(int, int) []byte) { le.PutUint32(node(p(6, 0), 1), 2) }, "damaged: page 2 says that it is number 2 of kind 4"},
		"free room":            {func(p func(int, int) []byte) { le.PutUint16(p(4, 12), 600) }, "damaged: page 4 has its free room from 600 to"},
		"odd free room":        {func(p func(int, int) []byte) { le.PutUint16(p(4, 12), 17) }, "damaged: page 4 has its free room from 17"},
		"a node in the head":   {func(p func(int, int) []byte) { le.PutUint16(p(4, 16), 2) }, "damaged: node 0 of page 4 is at 2 and leads out of the page"},
		"a node at the end":    {func(p func(int, int) []byte) { le.PutUint16(p(4, 16), 508) }, "damaged: node 0 of page 4 is at 508 and leads out of the page"},
		"a long key":           {func(p func(int, int) []byte) { le.PutUint16(node(p(4, 0), 0)[6:], 511) }, "damaged: node 0 of page 4"},
		"a long value":         {func(p func(int, int) []byte) { le.PutUint32(node(p(4, 0), 1), 500) }, `damaged: the value of "b" leads out of page 4`},
		"a large value in it":  {func(p func(int, int) []byte) { node(p(5, 0), 0)[4] = 1 }, `damaged: the value of "e" leads out of page 5`},
		"a large value far":    {func(p func(int, int) []byte) { le.PutUint64(node(p(4, 0), 0)[9:], 1<<50) }, `damaged: the value of "a" is in 2 pages from 1125899906842624 on, want pages from 2 to 6`},
		"a large value's meta": {func(p func(int, int) []byte) { le.PutUint64(node(p(4, 0), 0)[9:], 1) }, `damaged: the value of "a" is in 2 pages from 1 on`},
		"a larger value":       {func(p func(int, int) []byte) { le.PutUint32(node(p(4, 0), 0), math.MaxUint32) }, `damaged: the value of "a" is in 8388609 pages from 2 on`},
		"over other pages":     {func(p func(int, int) []byte) { le.PutUint64(node(p(4, 0), 0)[9:], 4) }, "damaged: two ways lead to page 4"},
		"flags":                {func(p func(int, int) []byte) { node(p(4, 0), 1)[4] = 8 }, `damaged: key "b" in page 4 has the flags 8`},
		"duplicates":           {func(p func(int, int) []byte) { node(p(4, 0), 1)[4] = 4 }, `key "b" has several values (DUPSORT), which is not read here; have a program of yours`},
		"a database in it":     {func(p func(int, int) []byte) { node(p(4, 0), 1)[4] = 2 }, `it holds databases in the database, such as "b", which are not read here; have a program of yours`},
	} {
		file := filepath.Join(t.TempDir(), "x.mdb")
		write(t, file, string(forgedLMDB(c.forge)))
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
}

// A walk ends where it comes back to a page, whatever the depth that is told.
func TestAWalkOverARingEnds(t *testing.T) {
	data := forgedLMDB(func(p func(int, int) []byte) {
		binary.LittleEndian.PutUint16(p(0, 94), lmdbDeepest)
		binary.LittleEndian.PutUint32(p(6, int(binary.LittleEndian.Uint16(p(6, lmdbHead)))), 6)
	})
	d, err := openLMDB(&window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 512})
	must(t, err)
	if err := d.walk(background, func([]byte, lmdbValue) error { return nil }); err == nil || !strings.Contains(err.Error(), "damaged: two ways lead to page 6") {
		t.Errorf("got %v", err)
	}
}

// Of two roots the later one counts, and where one is torn the other.
func TestTheLaterRootThatIsOneCounts(t *testing.T) {
	le := binary.LittleEndian
	for what, forge := range map[string]func(p func(page, at int) []byte){
		"as it is":             func(func(int, int) []byte) {},
		"the second is later":  func(p func(int, int) []byte) { le.PutUint64(p(1, 144), 9); le.PutUint64(p(0, 128), 77) },
		"the first is torn":    func(p func(int, int) []byte) { clear(p(0, 0)[:512]) },
		"the second is torn":   func(p func(int, int) []byte) { le.PutUint64(p(1, 144), 9); clear(p(1, 16)[:4]) },
		"the second is deeper": func(p func(int, int) []byte) { le.PutUint64(p(1, 144), 9); le.PutUint16(p(1, 94), 99) },
	} {
		for _, size := range []int{0, 20} { // the room of a map that is larger
			file := filepath.Join(t.TempDir(), "x.mdb")
			write(t, file, string(forgedLMDB(forge))+strings.Repeat("\x00", 512*size))
			if got := keys(openS(t, ShardsConfig{Shards: []string{file}})); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
				t.Errorf("%s: got %q", what, got)
			}
		}
	}
}

// What is packed by a program of its own, lies in a store, or is not a database, is refused with what to do.
func TestLMDBThatIsNotReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"x.lmdb": "not a database", "nothing.mdb": "", "locks": string(readLMDB(t, "deep.lmdb")), "count.mdb": string(lmdbOf(4096, "image-000000001", "p", "num-samples", "2")),
		"word.mdb": string(lmdbOf(4096, "num-samples", "two"))} {
		write(t, filepath.Join(dir, name), data)
	}
	for name, want := range map[string]string{
		"testdata/lmdb/pickle.lmdb":            `key "00000000": its value is a pickle, which may run any program; have a program of yours bring its samples (source= in Python; docs/sources.md), or write them into tar shards once, by the loop in docs/migrate.md`,
		"testdata/lmdb/tensorpack.lmdb":        "it has the key __keys__, so its values are pickles, or what a program of its own serialised, as tensorpack's and ImageFolder's are; have a program of yours",
		"testdata/lmdb/datum.lmdb":             `key "00000000": its value is Caffe's Datum, which is not read here; have a program of yours`,
		"testdata/lmdb/named.lmdb":             `it holds databases in the database, such as "train", which are not read here`,
		"testdata/lmdb/empty.lmdb":             "no samples",
		"s3://bucket/x.lmdb":                   "LMDB is read from a disk alone, as each page of its tree would be a request; copy it here, or pack it into tar shards once (spdl pack) and read those from the store",
		"https://h/train/data.mdb?signature=a": "LMDB is read from a disk alone",
		dir + "/x.lmdb":                        "truncated: it ends after 14 bytes",
		dir + "/nothing.mdb":                   "truncated: it ends after 0 bytes",
		dir + "/locks":                         "it is LMDB by what it begins with; give it a name that ends in .mdb or .lmdb",
		dir + "/count.mdb":                     "num-samples is 2, and there are keys of 1 samples, image-{n:09d} and the like; the database was not written to its end, or joined; write it again",
		dir + "/word.mdb":                      `num-samples is "two", want a whole number`,
	} {
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{name}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// lmdbIndexed refuses a file or indexes it so that the index holds, whatever the templates.
func lmdbIndexed(t *testing.T, data []byte, templates ...string) error {
	t.Helper()
	b, err := buildLMDBIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 512}, templates)
	if err == nil {
		indexHolds(t, b, int64(len(data)), func(_ string, m indexMember) { _ = data[m.off:][:m.size] })
	}
	return err
}

// A file cut anywhere, or with bits flipped, is refused or indexed, and the index holds. It takes no more memory than its size is worth.
func TestDamagedLMDBIsRefusedOrIndexed(t *testing.T) {
	files := map[string][]byte{"forged": forgedLMDB(func(func(int, int) []byte) {}), "text": readLMDB(t, "text/data.mdb"), "deep": readLMDB(t, "deep.lmdb")}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		whole, refused := files[name], 0
		try := func(_ string, bad []byte) {
			if lmdbIndexed(t, bad) != nil {
				refused++
			}
			_ = lmdbIndexed(t, bad, "{key}", "label-{n:09d}", "{n:04d}k")
		}
		n := damage.Count(300)
		damage.Cuts(whole, n, try)
		if cuts := min(n, len(whole)); refused < cuts/2 { // a flipped bit may be in a value, or in what no page uses
			t.Errorf("%s: %d of %d cut ones were refused", name, refused, cuts)
		}
		damage.Flips(whole, n, try)
	}
}

// FuzzLMDB: whatever the bytes, a database is refused or indexed, and the index holds.
func FuzzLMDB(f *testing.F) {
	f.Add(forgedLMDB(func(func(int, int) []byte) {}))
	f.Add(lmdbOf(256, "num-samples", "1", "image-000000001", "p", "label-000000001", strings.Repeat("t", 99)))
	f.Add(lmdbOf(256))
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = lmdbIndexed(t, data)
		_ = lmdbIndexed(t, data, "{key}.x", "{key}", "n{i:3d}")
	})
}
