package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/parquet-go/parquet-go"
)

// severalOf are the pictures of a sample's part as texts, and whether the memory behind each is padded with zeros.
func severalOf(t *testing.T, b *Buffer, part int) (all []string) {
	t.Helper()
	pictures, err := Bundled(b.Part(part))
	must(t, err)
	for k := range pictures.Len() {
		picture := pictures.At(k)
		if end := int(uintptr(unsafe.Pointer(unsafe.SliceData(picture)))-uintptr(unsafe.Pointer(unsafe.SliceData(b.mem)))) + len(picture); len(picture) > 0 && !bytes.Equal(b.mem[end:end+Padding], noBytes[:]) {
			t.Errorf("picture %d: %d bytes behind it are not zero", k, Padding)
		}
		all = append(all, string(picture))
	}
	return all
}

// one is a picture as testdata/make_pictures.py writes it.
func one(i, j int) string { return fmt.Sprintf("%d.%d:", i, j) + strings.Repeat("x", 40*j) }

func many(most int, from ...string) Medium { return Medium{Name: "images", From: from, Many: most} }

// Pictures that Arrow writes into lists and columns are read as it wrote them, in any order of the rows.
func TestSeveralPicturesOfParquet(t *testing.T) {
	for _, name := range []string{"v1", "v2", "dictionary", "index"} {
		each := many(3, "image_1", "image_2", "image_10")
		each.Each = true
		s, err := OpenParquet(background, ShardsConfig{Shards: []string{"testdata/arrow_pictures_" + name + ".parquet"},
			Media: []Medium{many(3), many(2, "blobs"), many(3, "image_*"), each, {Name: "one", From: []string{"image_1"}}}})
		must(t, err)
		if s.Len() != 50 {
			t.Fatal(name, s.Len())
		}
		for k := range int64(100) {
			i := int(k * 37 % 50)
			var images, blobs []string
			for j := range []int{0, 0, 1, 3}[i%4] {
				images = append(images, one(i, j))
			}
			for j := range i % 3 {
				blobs = append(blobs, one(i, j))
			}
			columns := []string{one(i, 1)}
			if i%2 == 0 {
				columns = append(columns, one(i, 2))
			}
			if i%5 == 0 {
				columns = append(columns, fmt.Sprintf("%d.10:", i))
			}
			b, _ := read(t, s, int64(i))
			got := fmt.Sprint(severalOf(t, b, 0), severalOf(t, b, 1), severalOf(t, b, 2), severalOf(t, b, 3), string(b.Part(4)))
			if want := fmt.Sprint(images, blobs, columns, columns, one(i, 1)); got != want {
				t.Fatalf("%s: row %d: got %s, want %s", name, i, got, want)
			}
			if got := s.Label(int64(i)); got != int64(i) {
				t.Fatal(name, i, got)
			}
		}
		must(t, s.Close())
	}
}

// badSample is why sample i cannot be read.
func badSample(t *testing.T, s Source, i int64) *Error {
	t.Helper()
	var b Buffer
	err := s.Read(background, i, &b)
	var bad *Error
	if !errors.As(err, &bad) {
		t.Fatalf("sample %d: got %v, want a bad sample", i, err)
	}
	return bad
}

// One picture that is null or without bytes makes its sample bad, and is told by its number; more than there is room for are too many, unless they are cut.
func TestBadPicturesOfParquetAreToldByTheirNumbers(t *testing.T) {
	file := []string{"testdata/arrow_pictures_v1.parquet"}
	s, err := OpenParquet(background, ShardsConfig{Shards: file, Media: []Medium{many(3, "holed")}})
	must(t, err)
	defer s.Close()
	for _, i := range []int64{2, 3} {
		if bad := badSample(t, s, i); bad.Cause != Empty || !strings.Contains(bad.Error(), "images: picture 2 of 2: column \"holed.bytes\": got no bytes") {
			t.Error(bad)
		}
	}
	b, _ := read(t, s, 4)
	if got := fmt.Sprint(severalOf(t, b, 0)); got != fmt.Sprint([]string{one(4, 0), one(4, 1)}) {
		t.Error(got)
	}

	nullOrNoBytes(t, func(m Medium) Source {
		s, err := OpenParquet(background, ShardsConfig{Shards: file, Media: []Medium{m}})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}, `column "half.bytes"`)

	few, err := OpenParquet(background, ShardsConfig{Shards: file, Media: []Medium{many(2)}})
	must(t, err)
	defer few.Close()
	if bad := badSample(t, few, 3); bad.Cause != TooLarge || !strings.Contains(bad.Error(), "images: got 3 pictures, want at most 2; raise many") {
		t.Error(bad)
	}
	cut := many(2)
	cut.Cut = true
	first, err := OpenParquet(background, ShardsConfig{Shards: file, Media: []Medium{cut}})
	must(t, err)
	defer first.Close()
	b, _ = read(t, first, 3)
	if got := severalOf(t, b, 0); fmt.Sprint(got) != fmt.Sprint([]string{one(3, 0), one(3, 1)}) {
		t.Error(got)
	}
	small, err := OpenParquet(background, ShardsConfig{Shards: file, Media: []Medium{many(3)}, MaxFileBytes: 50})
	must(t, err)
	defer small.Close()
	if bad := badSample(t, small, 3); bad.Cause != TooLarge || !strings.Contains(bad.Error(), "picture 3 of 3: column \"images.bytes\": got 84 bytes, want at most 50") {
		t.Error(bad)
	}
}

// nullOrNoBytes: a struct that is null is no picture, and one whose bytes are null is a bad one.
func nullOrNoBytes(t *testing.T, open func(m Medium) Source, what string) {
	t.Helper()
	half := many(2, "half", "image_1")
	half.Each = true
	s := open(half)
	for i, want := range []string{"[0.1]", "", "[2.1 2.1]", "[3.1]"} {
		if i == 1 {
			if bad := badSample(t, s, 1); bad.Cause != Empty || !strings.Contains(bad.Error(), "images: picture 1 of 2: "+what+": got") {
				t.Error(bad)
			}
			continue
		}
		b, _ := read(t, s, int64(i))
		if got := strings.ReplaceAll(fmt.Sprint(severalOf(t, b, 0)), ":"+strings.Repeat("x", 40), ""); got != want {
			t.Errorf("row %d: got %s, want %s", i, got, want)
		}
	}
}

func TestParquetWithoutListsOfPicturesIsRefused(t *testing.T) {
	for from, want := range map[string]string{
		"nothing": "no column nothing; the columns are",
		"paths":   `column "paths" holds no list of bytes a row; paths are read with list: FILE`,
		"label":   `column "label" holds no bytes`,
		"other_*": "no column other_*; the columns are",
	} {
		_, err := OpenParquet(background, ShardsConfig{Shards: []string{"testdata/arrow_pictures_v1.parquet"}, Media: []Medium{many(3, from)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", from, err, want)
		}
	}
	_, err := OpenParquet(background, ShardsConfig{Shards: []string{"testdata/arrow_lists_v1.parquet"}, Media: []Medium{many(3, "ids")}})
	if err == nil || !strings.Contains(err.Error(), `column "ids" holds no list of bytes a row`) {
		t.Error(err)
	}
}

// pictureFiles are some files in a directory, of whose names they hold.
func pictureFiles(t *testing.T, names ...string) string {
	dir := t.TempDir()
	for _, name := range names {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("<"+name+">"), 0o644))
	}
	return dir
}

// A table's lists of paths are samples of several pictures, whichever way they are written; a text is one, and null is none.
func TestSeveralPicturesOfTables(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg", "c/d.jpg", "[x].jpg")
	tables := map[string]string{
		"t.jsonl": `{"id": 1, "label": 4}
{"image": ["a.jpg", "c/d.jpg"], "label": 5}
{"image": "b.jpg", "label": 6}
{"image": [], "label": 7}
{"image": null, "label": 8}
{"image": ["\u005bx].jpg", "a.jpg", "a.jpg"], "label": 9}
`,
		"t.json": `[{"label": 4}, {"image": ["a.jpg", "c/d.jpg"], "label": 5}, {"image": "b.jpg", "label": 6}, {"image": [], "label": 7}, {"label": 8}, {"image": ["[x].jpg", "a.jpg", "a.jpg"], "label": 9}]`,
		"t.csv": `image,label
,4
"[""a.jpg"", ""c/d.jpg""]",5
b.jpg,6
[],7
,8
"[""[x].jpg"", ""a.jpg"", ""a.jpg""]",9
`,
	}
	want := []string{"", "<a.jpg> <c/d.jpg>", "<b.jpg>", "", "", "<[x].jpg> <a.jpg> <a.jpg>"}
	for name, text := range tables {
		file := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(file, []byte(text), 0o644))
		s := openL(t, ListConfig{File: file, Root: root, Path: "image", First: many(3, "image")})
		for i, pictures := range want {
			b, _ := read(t, s, int64(i))
			if got := strings.Join(severalOf(t, b, 0), " "); got != pictures {
				t.Errorf("%s: sample %d: got %q, want %q", name, i, got, pictures)
			}
			if key := string(s.Key(int64(i), nil)); key != fmt.Sprintf("%s:%d", name, i) || s.Label(int64(i)) != int64(4+i) {
				t.Error(name, i, key, s.Label(int64(i)))
			}
		}
	}
}

// Columns with a path each are a sample's pictures in their order, and so are lists of paths in Parquet; each medium has its own.
func TestSeveralPicturesOfColumnsOfPaths(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg", "c.jpg")
	file := filepath.Join(t.TempDir(), "t.jsonl")
	must(t, os.WriteFile(file, []byte(`{"left": "a.jpg", "path": "c.jpg"}
{"left": "a.jpg", "right": "b.jpg", "path": "c.jpg"}
`), 0o644))
	each := many(2, "right", "left")
	each.Each = true
	s := openL(t, ListConfig{File: file, Root: root, Others: []Medium{each, many(1, "path")}})
	for i, want := range []string{"[<a.jpg>]", "[<b.jpg> <a.jpg>]"} {
		b, _ := read(t, s, int64(i))
		if got := fmt.Sprint(severalOf(t, b, 1)); got != want || string(b.Part(0)) != "<c.jpg>" || fmt.Sprint(severalOf(t, b, 2)) != "[<c.jpg>]" {
			t.Errorf("sample %d: got %s, want %s", i, got, want)
		}
	}
	each.From[0] = "nowhere"
	if _, err := OpenList(ListConfig{File: file, Root: root, Others: []Medium{each}}); err == nil || !strings.Contains(err.Error(), `no column "nowhere" in any line`) {
		t.Error(err)
	}

	names := []string{}
	for i := range 50 {
		for j := range i % 3 {
			names = append(names, fmt.Sprintf("%d/%d.jpg", i, j))
		}
	}
	root = pictureFiles(t, names...)
	for _, version := range []string{"v1", "v2", "dictionary", "index"} {
		s := openL(t, ListConfig{File: "testdata/arrow_pictures_" + version + ".parquet", Root: root, Path: "paths", First: many(2, "paths")})
		for i := range 50 {
			var want []string
			for j := range i % 3 {
				want = append(want, fmt.Sprintf("<%d/%d.jpg>", i, j))
			}
			b, _ := read(t, s, int64(i))
			if got := severalOf(t, b, 0); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatal(version, i, got, want)
			}
		}
	}
}

// What is wrong with a list of paths is told where the table is opened; a file that is not there, by its number, where its sample is read.
func TestBadListsOfPathsAreRefused(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg")
	for text, want := range map[string]string{
		`{"image": ["a.jpg", 7]}`:             `line 1: column "image": picture 2: got 7, want a path`,
		`{"image": ["a.jpg", "../b.jpg"]}`:    `line 1: picture 2: path "../b.jpg": got ".."`,
		`{"image": ["a.jpg", ""]}`:            `line 1: column "image": picture 2: got an empty text, want a path`,
		`{"image": ["a.jpg\nb.jpg"]}`:         `line 1: column "image": picture 1: got a line end in path`,
		`{"image": ["a.jpg", "/etc/passwd"]}`: `line 1: picture 2: path "/etc/passwd": got an absolute path`,
		`{"image": "[a.jpg"}`:                 `line 1: column "image": got "[a.jpg", want a list of paths in JSON`,
		`{"pictures": []}`:                    `no column "image" in any line`,
	} {
		file := filepath.Join(t.TempDir(), "t.jsonl")
		must(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
		if _, err := OpenList(ListConfig{File: file, Root: root, Path: "image", First: many(3, "image")}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "t.jsonl")
	must(t, os.WriteFile(file, []byte("{\"image\": [\"a.jpg\", \"gone.jpg\"]}\n{\"image\": [\"a.jpg\", \"b.jpg\", \"a.jpg\", \"b.jpg\"]}\n{\"image\": [\"a.jpg\", null]}\n"), 0o644))
	s := openL(t, ListConfig{File: file, Root: root, Path: "image", First: many(3, "image")})
	if bad := badSample(t, s, 0); bad.Cause != Missing || !strings.Contains(bad.Error(), `sample 0 "t.jsonl:0": missing: images: picture 2 of 2: file "gone.jpg"`) {
		t.Error(bad)
	}
	if bad := badSample(t, s, 1); bad.Cause != TooLarge || !strings.Contains(bad.Error(), "got 4 pictures, want at most 3") {
		t.Error(bad)
	}
	if bad := badSample(t, s, 2); bad.Cause != Empty || !strings.Contains(bad.Error(), `sample 2 "t.jsonl:2": empty: images: picture 2 of 2: got null, want a path; leave it out of the list`) {
		t.Error(bad)
	}
}

// A list of paths in Parquet has the same: null is a bad picture of its sample, an empty text is refused with its row.
func TestNullAmongPathsOfParquetIsABadPicture(t *testing.T) {
	root, file := pictureFiles(t, "a.jpg"), filepath.Join(t.TempDir(), "t.parquet")
	write := func(rows ...parquet.Row) {
		f, err := os.Create(file)
		must(t, err)
		w := parquet.NewWriter(f, parquet.NewSchema("row", parquet.Group{"image": parquet.Optional(parquet.List(parquet.Optional(parquet.String())))}))
		_, err = w.WriteRows(rows)
		must(t, errors.Join(err, w.Close(), f.Close()))
	}
	path := func(text string, behind int) parquet.Value { return parquet.ValueOf(text).Level(behind, 3, 0) }
	null := parquet.NullValue().Level(0, 2, 0)
	write(parquet.Row{path("a.jpg", 0)}, parquet.Row{null, path("a.jpg", 1)}, parquet.Row{parquet.NullValue().Level(0, 0, 0)})
	s := openL(t, ListConfig{File: file, Root: root, Path: "image", First: many(3, "image")})
	for i, want := range map[int64]string{0: "[<a.jpg>]", 2: "[]"} {
		b, _ := read(t, s, i)
		if got := fmt.Sprint(severalOf(t, b, 0)); got != want {
			t.Errorf("sample %d: got %s, want %s", i, got, want)
		}
	}
	if bad := badSample(t, s, 1); bad.Cause != Empty || !strings.Contains(bad.Error(), `sample 1 "t.parquet:1": empty: images: picture 1 of 2: got null, want a path`) {
		t.Error(bad)
	}
	if s.(Versioned).Identity(1, nil) != nil {
		t.Error("a sample without one of its files has an identity")
	}
	write(parquet.Row{path("a.jpg", 0), path("", 1)})
	if _, err := OpenList(ListConfig{File: file, Root: root, Path: "image", First: many(3, "image")}); err == nil || !strings.Contains(err.Error(), "row 0 of row group 0: picture 2: got an empty text, want a path") {
		t.Error(err)
	}
}

// The identity of a sample of several files is that of all of them.
func TestIdentityIsOfAllPictures(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg")
	file := filepath.Join(t.TempDir(), "t.jsonl")
	must(t, os.WriteFile(file, []byte("{\"image\": [\"a.jpg\", \"b.jpg\"]}\n{\"image\": [\"b.jpg\", \"a.jpg\"]}\n{\"image\": [\"a.jpg\", \"gone.jpg\"]}\n{\"image\": []}\n"), 0o644))
	identities := func(most int) (all [4]string) {
		s := openL(t, ListConfig{File: file, Root: root, Path: "image", First: many(most, "image")})
		for i := range all {
			all[i] = string(s.(Versioned).Identity(int64(i), nil))
		}
		return all
	}
	before := identities(3)
	if before[0] == before[1] || before[2] != "" || before[3] == "" || before == identities(2) {
		t.Errorf("%q", before)
	}
	must(t, os.WriteFile(filepath.Join(root, "b.jpg"), []byte("another"), 0o644))
	if after := identities(3); after[0] == before[0] || after[3] != before[3] {
		t.Errorf("%q, before %q", after, before)
	}
}

// A bundle that was damaged is none, and never read outside of itself.
func TestDamagedBundleIsRefused(t *testing.T) {
	b := &Buffer{}
	for _, text := range []string{"one", "", "three"} {
		copy(b.behind(len(text)), text)
		b.holdNext(len(text))
	}
	b.bundle(0, 3)
	part := b.Part(0)
	if got := severalOf(t, b, 0); fmt.Sprintf("%q", got) != `["one" "" "three"]` {
		t.Fatal(got)
	}
	for at := len(part) - 56; at < len(part); at++ {
		damaged := append([]byte{}, part...)
		damaged[at] ^= 0x80
		if pictures, err := Bundled(damaged); err == nil {
			for k := range pictures.Len() {
				_ = pictures.At(k)
			}
		}
	}
	for n := range len(part) {
		if _, err := Bundled(part[:n]); err == nil && n < 8 {
			t.Error(n)
		}
	}
	if _, err := Bundled(nil); err == nil {
		t.Error("nothing is taken for a bundle")
	}
}

// The parts of an archive's sample whose names have a number are its pictures, in the order of the numbers, or those that are named, in this order.
func TestSeveralPicturesOfArchives(t *testing.T) {
	parts := []part{
		{"a.0.jpg", "a0"}, {"a.10.jpg", "a10"}, {"a.2.png", "a2"}, {"a.json", `{"text": "A"}`}, {"a.left.jpg", "l"}, {"a.cls", "1"},
		{"b.json", `{"text": "B"}`}, {"b.cls", "2"},
		{"c.jpg", "c"}, {"c.1.jpg", "c1"}, {"c.json", `{"text": "C"}`}, {"c.cls", "3"}, {"c.right.jpg", "r"}, {"c.left.jpg", "L"},
	}
	each := many(2, "right.jpg", "left.jpg")
	each.Each = true
	cut := many(1)
	cut.Cut = true
	media := []Medium{many(3), each, many(2, "*.jpg"), cut}
	want := []string{"[a0 a2 a10] [l] [a0 a10] [a0] A", "[] [] [] [] B", "[c c1] [r L] [c1] [c] C"}
	for name, text := range map[string]string{"s.tar": string(tarOf(t, tar.FormatUSTAR, parts...)), "s.zip": zipOf(t, parts)} {
		file := filepath.Join(t.TempDir(), name)
		must(t, os.WriteFile(file, []byte(text), 0o644))
		s := openS(t, ShardsConfig{Shards: []string{file}, Media: media, Columns: []Column{{Name: "text", From: "json[text]"}}})
		for i, want := range want {
			b, _ := read(t, s, int64(i))
			got := string(b.Value(0))
			for k := len(media) - 1; k >= 0; k-- {
				got = fmt.Sprint(severalOf(t, b, k)) + " " + got
			}
			if got != want || s.Label(int64(i)) != int64(i+1) {
				t.Errorf("%s: sample %d: got %s, label %d, want %s", name, i, got, s.Label(int64(i)), want)
			}
		}
	}
}

// A sample of an archive with two pictures of one number, with an empty one or with too many is a bad one; an archive without any is refused.
func TestBadPicturesOfArchivesAreToldByTheirNumbers(t *testing.T) {
	parts := []part{{"a.0.jpg", "a0"}, {"a.00.jpg", "a00"}, {"b.0.jpg", "b0"}, {"b.1.jpg", ""}, {"c.0.jpg", "c0"}, {"c.1.jpg", "c1"}, {"c.2.jpg", "c2"}, {"d.0.jpg", "d0"}, {"d.1.jpg", "larger than there is room for"}}
	file := filepath.Join(t.TempDir(), "s.tar")
	must(t, os.WriteFile(file, tarOf(t, tar.FormatUSTAR, parts...), 0o644))
	s := openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{many(2, "*.jpg")}, MaxFileBytes: 9})
	for i, want := range []string{
		`part: images: got two pictures of one number, "0.jpg" and "00.jpg"`, `empty: images: picture 2 of 2: part "1.jpg": got 0 bytes`,
		`too_large: images: got 3 pictures, want at most 2; raise many`, `too_large: images: picture 2 of 2: part "1.jpg": got 29 bytes, want at most 9`,
	} {
		if bad := badSample(t, s, int64(i)); !strings.Contains(bad.Error(), want) {
			t.Errorf("got %v, want %s", bad, want)
		}
	}
	_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir(), Media: []Medium{many(2, "*.png")}})
	if err == nil || !strings.Contains(err.Error(), "no sample has a part *.png; the parts are 0.jpg, 00.jpg") {
		t.Error(err)
	}
}

// What a cache keeps of several pictures is what was read.
func TestCacheKeepsSeveralPictures(t *testing.T) {
	cache, err := OpenCache(CacheConfig{Dir: t.TempDir(), MaxBytes: 1 << 20})
	must(t, err)
	file := filepath.Join(t.TempDir(), "s.tar")
	must(t, os.WriteFile(file, tarOf(t, tar.FormatUSTAR, part{"a.0.jpg", "a0"}, part{"a.1.jpg", "a1"}, part{"b.txt", ""}), 0o644))
	s, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir(), Media: []Medium{many(2, "*.jpg"), many(1, "0.jpg")}})
	must(t, err)
	kept, err := cache.Wrap(s)
	must(t, err)
	for range 2 {
		for i, want := range []string{"[a0 a1] [a0]", "[] []"} {
			b, _ := read(t, kept, int64(i))
			if got := fmt.Sprint(severalOf(t, b, 0), " ", severalOf(t, b, 1)); got != want {
				t.Errorf("sample %d: got %s, want %s", i, got, want)
			}
		}
	}
	if n := cache.Stats(); n.Hits != 2 || n.Stored != 2 {
		t.Errorf("%+v", n)
	}
	must(t, kept.Close())
	must(t, cache.Close())
}

// Several pictures are read whole, however large they are.
func TestSeveralPicturesStayNowhere(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg")
	table, file := filepath.Join(root, "t.jsonl"), filepath.Join(root, "s.tar")
	must(t, os.WriteFile(table, []byte("{\"image\": [\"a.jpg\", \"b.jpg\"]}\n"), 0o644))
	must(t, os.WriteFile(file, tarOf(t, tar.FormatUSTAR, part{"a.0.jpg", "<a.jpg>"}, part{"a.1.jpg", "<b.jpg>"}), 0o644))
	for _, s := range []Source{openL(t, ListConfig{File: table, Path: "image", First: many(3, "image"), InPlace: 1}), openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{many(3)}, InPlace: 1})} {
		b, _ := read(t, s, 0)
		if got := fmt.Sprint(severalOf(t, b, 0)); got != "[<a.jpg> <b.jpg>]" || b.InPlace(0) != nil {
			t.Error(got)
		}
	}
}

// Reading several pictures of local files and archives allocates nothing once buffers have grown.
func TestSeveralPicturesAllocateNothing(t *testing.T) {
	root := pictureFiles(t, "a.jpg", "b.jpg", "c.jpg")
	table, file := filepath.Join(root, "t.jsonl"), filepath.Join(root, "s.tar")
	must(t, os.WriteFile(table, []byte("{\"image\": [\"a.jpg\", \"b.jpg\", \"c.jpg\"]}\n"), 0o644))
	must(t, os.WriteFile(file, tarOf(t, tar.FormatUSTAR, part{"a.0.jpg", "a0"}, part{"a.1.jpg", "a1"}), 0o644))
	for name, s := range map[string]Source{"table": openL(t, ListConfig{File: table, Path: "image", First: many(3, "image")}), "archive": openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{many(3)}})} {
		var b Buffer
		if n := testing.AllocsPerRun(100, func() { must(t, s.Read(background, 0, &b)) }); n > 0 {
			t.Errorf("%s: got %v allocations a sample, want none", name, n)
		}
	}
}

// Pictures that pyarrow writes into lists and columns of Arrow are read as it wrote them; the index of other media stays what it is without them.
func TestSeveralPicturesOfArrow(t *testing.T) {
	for _, name := range []string{"arrow_pictures.arrow", "arrow_pictures_file.arrow"} {
		c := ShardsConfig{Shards: []string{"testdata/" + name}, IndexDir: t.TempDir()}
		plain := c
		plain.Media, plain.Columns = none, []Column{{Name: "label", From: "label", Type: Int64}}
		before := openS(t, plain)
		each := many(3, "image_1", "image_2", "image_10")
		each.Each = true
		c.Media = []Medium{many(3, "images"), many(2, "blobs"), many(2, "large"), many(3, "image_*"), each}
		for range 2 { // the second finds the index of the first
			s := openS(t, c)
			for i := range 50 {
				var images, blobs []string
				for j := range []int{0, 0, 1, 3}[i%4] {
					images = append(images, one(i, j))
				}
				for j := range i % 3 {
					blobs = append(blobs, one(i, j))
				}
				columns := []string{one(i, 1)}
				if i%2 == 0 {
					columns = append(columns, one(i, 2))
				}
				if i%5 == 0 {
					columns = append(columns, fmt.Sprintf("%d.10:", i))
				}
				b, _ := read(t, s, int64(i))
				got := fmt.Sprint(severalOf(t, b, 0), severalOf(t, b, 1), severalOf(t, b, 2), severalOf(t, b, 3), severalOf(t, b, 4))
				if want := fmt.Sprint(images, blobs, blobs, columns, columns); got != want || s.Label(int64(i)) != int64(i) {
					t.Fatalf("%s: row %d: got %s, want %s", name, i, got, want)
				}
			}
		}
		after := openS(t, plain)
		if x, _ := before.(Fingerprinted).Fingerprint(); true {
			if y, _ := after.(Fingerprinted).Fingerprint(); x != y {
				t.Error("the index of lists of files has changed the other one")
			}
		}
		c.Media = []Medium{many(2, "holed")}
		holed := openS(t, c)
		for _, i := range []int64{2, 3} {
			if bad := badSample(t, holed, i); bad.Cause != Empty || !strings.Contains(bad.Error(), `images: picture 2 of 2: part "holed.bytes[1]": got 0 bytes`) {
				t.Error(bad)
			}
		}
		b, _ := read(t, holed, 4)
		if got := fmt.Sprint(severalOf(t, b, 0)); got != fmt.Sprint([]string{one(4, 0), one(4, 1)}) {
			t.Error(got)
		}
		nullOrNoBytes(t, func(m Medium) Source {
			c.Media = []Medium{m}
			return openS(t, c)
		}, `part "half.bytes"`)
		for from, want := range map[string]string{"nothing": "no sample has a part nothing", "label": `column "label"`} {
			c.Media = []Medium{many(2, from)}
			if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
