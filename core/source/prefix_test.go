package source

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

// onDiskAndInABucket is the same tree as two folders.
func onDiskAndInABucket(t *testing.T, files map[string]string) (dir string, b *bucket) {
	dir = filepath.Join(t.TempDir(), "tree")
	data := map[string]string{}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
		data["tree/"+name] = text
	}
	return dir, serveBucket(t, data)
}

// told is all that a source says of itself and its samples.
func told(t *testing.T, c FolderConfig) (all []string) {
	t.Helper()
	s, err := OpenFolder(c)
	if err != nil {
		_, text, _ := strings.Cut(err.Error(), c.Dir)
		return []string{strings.ReplaceAll(text, "want objects", "want files")}
	}
	defer s.Close()
	f, _ := s.(Fingerprinted).Fingerprint()
	all = append(all, fmt.Sprintf("classes %q, %+v", s.Classes(), f))
	for _, column := range s.(Columnar).Columns() {
		all = append(all, fmt.Sprintf("%+v", column))
	}
	b := &Buffer{}
	for range 2 {
		for i := range s.Len() {
			text := fmt.Sprintf("%s %d:", s.Key(i, nil), s.Label(i))
			if err := s.Read(background, i, b); err != nil {
				all = append(all, text+" "+err.Error())
				continue
			}
			for k := range b.parts {
				text += fmt.Sprintf(" part %q%x", b.Part(k), b.afterPart(k))
			}
			for c := range b.columns {
				text += fmt.Sprintf(" value %q", b.Value(c))
			}
			all = append(all, text)
		}
	}
	return all
}

// differ is the first place where two are not alike.
func differ(got, want []string) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("\n got %s\nwant %s", strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
	return ""
}

// A folder in an object store is the one that the same tree is on a disk: samples, labels, what lies beside them, defaults and errors.
func TestFolderInABucketIsTheOneOnDisk(t *testing.T) {
	array := npy(false, 3, 2, 2)
	files := map[string]string{
		"a/0.jpg": "p0", "a/0.txt": "t0", "a/0.npy": array, "a/0.json": `{"n": 7, "s": {"t": "x"}}`, "a/0.seg.png": "m0", "a/0.wav": strings.Repeat("w", 300),
		"a/0-1.jpg": "p01", "a/0-1.txt": "", "a/0-1.seg.png": "m01", "a/0-1.npy": array[:len(array)-2], "a/0-1.json": "{}",
		"a/0.d/1.jpg": "p0d", "a/0.d/1.txt": "nested", "a/0.d/0.seg.png": "a mask of no picture",
		"a/1.JPG": "P1", "a/1.TXT": "in vain", "a/1.npy": "", "a/1.json": "no json", "a/1.seg.png": "",
		"a/2.v1.jpg": "p2", "a/2.v1.txt": "t2", "a/2.txt": "of nobody", "a/2.v1.json": `{"n": null}`, "a/2.v1.npy": array,
		"b.c/3.png": "p3", "b.c/3.seg.png": "m3", "b.c/3.txt": strings.Repeat("long", 9), "b.c/.4.png": "hidden", "b.c/5.png": "", "b.c/6.png": strings.Repeat("z", 2000),
		"b.c/7.png": "p7", "b.c/7.npy": npy(false, 0, 0, 2), "b.c/7.wav": strings.Repeat("w", 2000), "b.c/7.txt": "seven", "b.c/7.json": `{"n": 1.5}`,
		"ü x/8 9+%20.webp": "p8", "ü x/8 9+%20.txt": "eight", "9.jpg": "root", "9.txt": "nine", "notes.txt": "n", "list.csv": "x",
	}
	text := Column{Name: "t", From: "txt", MaxBytes: 20}
	withDefault := func(c Column, text string) Column { c.Default = []byte(text); return c }
	number := Column{Name: "n", From: "json[n]", Type: Int64, MaxBytes: 9}
	boxes := Column{Name: "b", From: "npy", Type: Array, DType: tensor.I16, Shape: tensor.Shape{2}, MaxLength: 3}
	two := []Medium{{Name: "image"}, {Name: "mask", From: []string{"seg.png"}}}
	for _, c := range []FolderConfig{
		{}, {Labels: true}, {Columns: []Column{text}}, {Columns: []Column{withDefault(text, "none"), withDefault(number, "-1"), {Name: "again", From: "json[s.t]", Default: []byte("")}}},
		{Columns: []Column{{Name: "a", From: "npy", Type: Array}}}, {Columns: []Column{withDefault(boxes, ""), number}}, {Media: two}, {Media: append(two, Medium{Name: "audio", From: []string{"wav"}})},
		{Media: two, Columns: []Column{withDefault(text, ""), {Name: "m", From: "seg.png"}, {Name: "own", From: "jpg", Default: []byte("x")}}, Labels: true},
		{Media: []Medium{{Name: "image"}, {Name: "other", From: []string{"png"}}}}, {Media: none, Columns: []Column{boxes, withDefault(text, "d"), withDefault(number, "0")}, Labels: true},
		{Media: none, Columns: []Column{text}}, {Media: none, Columns: []Column{withDefault(text, "d"), number}, Extensions: []string{"json", "txt"}},
		{Media: none, Columns: []Column{{Name: "m", From: "seg.png"}, withDefault(text, "")}}, {Media: none, Columns: []Column{{Name: "p", From: "JPG"}}},
		{Media: two, Extensions: []string{"jpg", "seg.png"}}, {Extensions: []string{"tif"}}, {Columns: []Column{{Name: "caption", From: "captoin", Default: []byte("")}}},
		{Columns: []Column{withDefault(Column{Name: "n", Type: Int64}, "0")}}, {Media: []Medium{{Name: "image"}, {Name: "fields.mask", From: []string{"mask.png"}}}},
	} {
		dir, b := onDiskAndInABucket(t, files)
		c.MaxFileBytes = 1000
		onDisk, inBucket := c, c
		onDisk.Dir, inBucket.Dir, inBucket.Store = dir, "s3://bucket/tree/", b.client(t)
		want := told(t, onDisk)
		for _, b.backward = range []bool{false, true} {
			if got := told(t, inBucket); !slices.Equal(got, want) {
				t.Errorf("%+v, backward %v: %s", c, b.backward, differ(got, want))
			}
		}
	}
}

// So it is of trees that nobody thought of.
func TestRandomTreesInABucketAreThoseOnDisk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 30 {
		files := map[string]string{}
		for range 60 {
			name := pick("", "a/", "a.b/", "a-b/", "a/0.d/") + pick("0", "0.1", "1", "1-", "0.jpg") + pick(".jpg", ".png", ".seg.png", ".txt", ".PNG", ".txt.png")
			files[name] = "of " + name
		}
		files["0.jpg"], files["0.txt"], files["0.seg.png"], files["0.png"] = "p", "t", "s", "q"
		dir, b := onDiskAndInABucket(t, files)
		for _, c := range []FolderConfig{
			{Columns: []Column{{Name: "t", From: "txt", Default: []byte("none")}}}, {Media: []Medium{{Name: "a"}, {Name: "b", From: []string{"seg.png"}}}},
			{Media: []Medium{{Name: "a"}, {Name: "b", From: []string{"png"}}}, Columns: []Column{{Name: "s", From: "seg.png", Default: []byte{}}}},
			{Media: none, Columns: []Column{{Name: "s", From: "seg.png"}, {Name: "p", From: "png", Default: []byte("-")}}},
			{Media: none, Columns: []Column{{Name: "p", From: "png"}, {Name: "t", From: "txt", Default: []byte("-")}}, Extensions: []string{"png", "seg.png"}},
		} {
			onDisk, inBucket := c, c
			onDisk.Dir, inBucket.Dir, inBucket.Store = dir, "s3://bucket/tree", b.client(t)
			if got, want := told(t, inBucket), told(t, onDisk); !slices.Equal(got, want) {
				t.Fatalf("%+v: %s", c, differ(got, want))
			}
		}
	}
}

// A sample is a request for each of its objects, at the same time; what is not there costs none.
func TestObjectsOfASampleAreAskedForOnceAndTogether(t *testing.T) {
	b := serveBucket(t, map[string]string{"t/0.jpg": "p", "t/0.txt": "x", "t/0.json": `{"a": 1, "b": 2}`, "t/0.seg.png": "m", "t/1.jpg": "p"})
	s := openF(t, FolderConfig{Dir: "s3://bucket/t", Store: b.client(t), Media: []Medium{{Name: "image"}, {Name: "mask", From: []string{"seg.png"}}}, Columns: []Column{
		{Name: "t", From: "txt"}, {Name: "a", From: "json[a]", Type: Int64}, {Name: "b", From: "json[b]", Type: Int64}, {Name: "m", From: "seg.png"}, {Name: "p", From: "jpg"},
	}})
	if b.requests != b.lists {
		t.Errorf("%d requests to open it, of which %d are listings", b.requests, b.lists)
	}
	before, list := b.requests, b.fault
	waiting, all := make(chan bool, 4), make(chan bool)
	b.change(func() {
		b.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if waiting <- true; len(waiting) == cap(waiting) {
				close(all)
			}
			<-all
			return list(w, r)
		}
	})
	if _, text := read(t, s, 0); text != "p" || b.requests-before != 4 {
		t.Errorf("%q by %d requests, want 4: picture, mask, text and JSON", text, b.requests-before)
	}
	b.change(func() { b.fault = list })
	before = b.requests
	var e *Error
	if err := s.Read(background, 1, &Buffer{}); !errors.As(err, &e) || e.Cause != Part || b.requests-before != 1 {
		t.Errorf("%v by %d requests, want 1", err, b.requests-before)
	}
}

// What lies beside a sample is of the version that was listed: another one, and one that is gone, make a bad sample and never a default; a cache
// keeps each version apart, and knows what was not there.
func TestWhatLiesBesideAnObjectHasAVersion(t *testing.T) {
	b := serveBucket(t, map[string]string{"t/0.jpg": "p", "t/0.txt": "x", "t/1.jpg": "q", "t/2.jpg": "r", "t/2.txt": "z"})
	k := openK(t, CacheConfig{Dir: t.TempDir()})
	open := func() Source {
		s, err := k.Wrap(openF(t, FolderConfig{Dir: "s3://bucket/t", Store: b.client(t), Columns: []Column{{Name: "t", From: "txt", Default: []byte("none")}}}))
		must(t, err)
		return s
	}
	values := func(s Source) (text string) {
		for i := range s.Len() {
			b, picture := read(t, s, i)
			text += fmt.Sprintf("%s=%s ", picture, b.Value(0))
		}
		return text
	}
	for range 2 {
		if got := values(open()); got != "p=x q=none r=z " {
			t.Fatal(got)
		}
	}
	if n := k.Stats(); n.Hits != 3 || n.Stored != 3 {
		t.Errorf("%+v", n)
	}
	uncached := openF(t, FolderConfig{Dir: "s3://bucket/t", Store: b.client(t), Columns: []Column{{Name: "t", From: "txt", Default: []byte("none")}}})
	b.put("t/0.txt", "X")
	b.put("t/1.txt", "new")
	b.change(func() { delete(b.data, "/bucket/t/2.txt") })
	remoteCause(t, uncached, 0, Changed)
	if b, _ := read(t, uncached, 1); string(b.Value(0)) != "none" {
		t.Errorf("got %q, which was not there when the folder was listed", b.Value(0))
	}
	remoteCause(t, uncached, 2, Changed)
	var buffer Buffer
	if err := uncached.Read(background, 2, &buffer); !strings.Contains(err.Error(), `column "t": it was there when the folder was listed: "s3://bucket/t/2.txt": got status 404`) {
		t.Errorf("got %v", err)
	}
	if got := values(open()); got != "p=X q=new r=none " {
		t.Errorf("opened again: %s", got)
	}
	if n := k.Stats(); n.Hits != 3 || n.Stored != 6 {
		t.Errorf("%+v", n)
	}
}

// A million objects cost what they are known by, and nothing of the pages that listed them.
func TestListingIsBoundedInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("lists 200,000 objects")
	}
	const samples = 100_000
	c := FolderConfig{Media: []Medium{{Name: "image"}}, Columns: []Column{{Name: "t", From: "txt", Default: []byte{}}}}
	p := &prefix{folder: folder{columns: partColumns(c.Columns)}, base: "s3://b/", endings: []string{"txt"}}
	w := newWalker(&p.folder, ImageExtensions)
	w.lieBeside(besides(c, ImageExtensions))
	began := time.Now()
	peak := damage.PeakBytes(t, func() {
		for i := range samples {
			for _, ending := range []string{"jpg", "json", "txt"} {
				must(t, p.enter(w, store.Object{URL: fmt.Sprintf("s3://b/c%03d/%07d.%s", i/1000, i, ending), Size: 9, ETag: fmt.Sprintf("%q", fmt.Sprintf("%032d", i))}))
			}
		}
		must(t, p.pair(w))
	})
	const most = 800 // 480, and what a collector leaves that gets no processor
	if each := int(peak) / samples; each > most || p.Len() != samples || len(p.beside) != samples || p.beside[77].size != 9 {
		t.Errorf("%d bytes for each of %d samples with one object beside it, in %v", each, p.Len(), time.Since(began))
	}
}

// An object's version is its ETag; where a store tells none, no cache can tell it from another.
func TestObjectsWithoutETagHaveNoIdentity(t *testing.T) {
	p := &prefix{base: "s3://b/t/"}
	must(t, p.add("", []byte("0.jpg")))
	p.objects = []facts{{size: 3, etag: `"1"`}}
	if got := p.Identity(0, nil); !bytes.HasPrefix(got, []byte("s3://b/t/0.jpg\x003")) {
		t.Errorf("got %q", got)
	}
	if p.objects[0].etag = ""; p.Identity(0, nil) != nil {
		t.Errorf("got %q", p.Identity(0, nil))
	}
}
