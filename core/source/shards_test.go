package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/tests/damage"
	"github.com/zeebo/xxh3"
)

// part is a member of an archive under test.
type part struct{ name, content string }

// tarOf is an archive of parts in one of tar's formats.
func tarOf(t testing.TB, format tar.Format, parts ...part) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, p := range parts {
		must(t, w.WriteHeader(&tar.Header{Name: p.name, Size: int64(len(p.content)), Mode: 0o644, Format: format, Typeflag: tar.TypeReg}))
		_, err := w.Write([]byte(p.content))
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

// pairs are samples "00000", "00001" ... of a picture and its label.
func pairs(from, to int) (parts []part) {
	for i := from; i < to; i++ {
		parts = append(parts, part{fmt.Sprintf("%05d.jpg", i), fmt.Sprintf("picture %d", i)}, part{fmt.Sprintf("%05d.cls", i), fmt.Sprintf("%d\n", i%7)})
	}
	return parts
}

// openS opens shards with an index directory of their own, and closes them with the test.
func openS(t testing.TB, c ShardsConfig) Source {
	t.Helper()
	if c.IndexDir == "" {
		c.IndexDir = t.TempDir()
	}
	s, err := OpenShards(background, c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func read(t testing.TB, s Source, i int64) (*Buffer, string) {
	t.Helper()
	var b Buffer
	must(t, s.Read(background, i, &b))
	return &b, string(b.Bytes())
}

// Samples of several shards are numbered through, whatever tar's format; each reads as its picture, with its label.
func TestShardsNumberSamplesThrough(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "s-00.tar"), string(tarOf(t, format, pairs(0, 10)...)))
		write(t, filepath.Join(dir, "s-01.tar"), string(tarOf(t, format)))
		write(t, filepath.Join(dir, "s-02.tar"), string(tarOf(t, format, pairs(10, 25)...)))
		s := openS(t, ShardsConfig{Shards: []string{dir + "/s-{00..02}.tar"}})
		if s.Len() != 25 || !slices.Equal(s.(Sharded).Shards(), []int64{0, 10}) {
			t.Fatalf("%v: %d samples, shards at %v", format, s.Len(), s.(Sharded).Shards())
		}
		for i := range s.Len() {
			b, text := read(t, s, i)
			if text != fmt.Sprintf("picture %d", i) || s.Label(i) != i%7 || string(s.Key(i, nil)) != fmt.Sprintf("%05d", i) {
				t.Fatalf("%v: sample %d: %q %d %q", format, i, text, s.Label(i), s.Key(i, nil))
			}
			if after := b.afterPart(0); !bytes.Equal(after, make([]byte, Padding)) {
				t.Fatalf("padding %q", after)
			}
		}
	}
}

// Names beyond 100 bytes are whole, in every way that tar has for them.
func TestLongNamesAreWhole(t *testing.T) {
	long := strings.Repeat("directory/", 12) + "a picture with ümlauts.jpg"
	ustar := strings.Repeat("d", 90) + "/" + strings.Repeat("e", 60) + "/x.jpg"
	for format, name := range map[tar.Format]string{tar.FormatGNU: long, tar.FormatPAX: long, tar.FormatUSTAR: ustar} {
		file := filepath.Join(t.TempDir(), "x.tar")
		write(t, file, string(tarOf(t, format, part{name, "p"}, part{"z.jpg", "q"})))
		s := openS(t, ShardsConfig{Shards: []string{file}})
		if got := keys(s); !slices.Equal(got, []string{strings.TrimSuffix(name, ".jpg"), "z"}) {
			t.Fatalf("%v: %q", format, got)
		}
	}
}

// A part's name is all that follows the first dot; hidden members and facts about the archive are no samples.
func TestPartsOfASample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU,
		part{"./.DS_Store", "x"}, part{"__info__.json", "x"},
		part{"./a.b/1.seg.png", "mask"}, part{"a.b/1.JPG", "picture"}, part{"a.b/1.json", `{"a":1}`}, part{"a.b/1.width", " 640 "}, part{"a.b/1.score", "0.5"},
		part{"a.b/2.seg.png", "mask 2"}, part{"a.b/2.JPG", "picture 2"}, part{"a.b/2.json", ""}, part{"a.b/2.width", "-3"}, part{"a.b/2.score", "1e3"})))
	s := openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{
		{Name: "meta", From: "json"}, {Name: "mask", From: "seg.png"}, {Name: "width", Type: Int64}, {Name: "score", Type: Float64}}})
	if got := keys(s); !slices.Equal(got, []string{"a.b/1", "a.b/2"}) {
		t.Fatalf("%q", got)
	}
	b, text := read(t, s, 0)
	if text != "picture" || string(b.Value(0)) != `{"a":1}` || string(b.Value(1)) != "mask" {
		t.Fatalf("%q %q %q", text, b.Value(0), b.Value(1))
	}
	var want Buffer
	want.setInt(640)
	want.setFloat(0.5)
	if !bytes.Equal(b.Value(2), want.Value(0)) || !bytes.Equal(b.Value(3), want.Value(1)) {
		t.Fatalf("%v %v", b.Value(2), b.Value(3))
	}
	if b, text = read(t, s, 1); text != "picture 2" || len(b.Value(0)) != 0 || s.Label(1) != -1 {
		t.Fatalf("%q %q", text, b.Value(0))
	}
	known := s.(Knowing)
	if f := known.Known("width"); f == nil || f(0) != int64(640) || f(1) != int64(-3) || known.Known("score") != nil || known.Known("meta") != nil {
		t.Fatal("whole numbers are known without reading, other columns are not")
	}
	s = openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{{From: []string{"seg.png"}}}, Label: "width"})
	if _, text := read(t, s, 1); text != "mask 2" || s.Label(0) != 640 || s.Label(1) != -3 {
		t.Fatalf("%q %d", text, s.Label(0))
	}
}

// A sample that lacks what was asked for is a bad sample that says so.
func TestMissingPartIsABadSample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU,
		part{"a.jpg", "p"}, part{"a.cls", "1"}, part{"a.txt", "t"}, part{"b.cls", "2"}, part{"c.jpg", ""}, part{"d.jpg", "p"}, part{"d.png", "p"},
		part{"e.jpg", "p"}, part{"e.cls", "one"}, part{"f.jpg", "p"}, part{"g.jpg", "ppp"}, part{"g.txt", "too long"})))
	s := openS(t, ShardsConfig{Shards: []string{file}, MaxFileBytes: 2})
	wantIn := func(s Source, key string, cause Cause, text string) {
		t.Helper()
		var b Buffer
		err := s.Read(background, find(t, s, key), &b)
		var e *Error
		if !errors.As(err, &e) || e.Cause != cause || e.In != file || !strings.Contains(err.Error(), text) || len(b.Bytes()) != 0 {
			t.Fatalf("%s: got %v, want %s: %s", key, err, cause, text)
		}
	}
	wantIn(s, "b", Part, `no part is a picture; the parts are cls`)
	wantIn(s, "c", Empty, "0 bytes")
	wantIn(s, "d", Part, `two pictures, "jpg" and "png"; say which in source.image`)
	wantIn(s, "e", Value, `part "cls" is no whole number`)
	wantIn(s, "g", TooLarge, "got 3 bytes, want at most 2")
	s = openS(t, ShardsConfig{Shards: []string{file}, Label: "cls", Columns: []Column{{Name: "txt", MaxBytes: 4}}})
	wantIn(s, "f", Part, "no label; the parts are jpg")
	wantIn(s, "d", Part, "two pictures")
	if _, text := read(t, s, 0); text != "p" {
		t.Fatal(text)
	}
	s = openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{{Name: "txt", MaxBytes: 4}}})
	wantIn(s, "f", Part, `column "txt": no part "txt"`)
	wantIn(s, "g", Value, "got 8 bytes, want at most 4; raise max_bytes")
	s = openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{{Name: "n", From: "txt", Type: Int64}}})
	wantIn(s, "a", Value, `column "n": got "t", want a whole number`)
}

// What the tar of this system writes in each of its formats is read, with the command that docs/sources.md names.
func TestSystemTarIsRead(t *testing.T) {
	program, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar on this system")
	}
	long := strings.Repeat("long/", 30)
	dir := tree(t, "b/2.jpg", "b/2.json", "b/2-x.jpg", "b/20.jpg", "a/1.jpg", long+"ü.jpg", ".hidden.jpg")
	for _, format := range []string{"pax", "gnu"} {
		file := filepath.Join(t.TempDir(), "x.tar")
		out, err := exec.Command(program, "--sort=name", "--format="+format, "--dereference", "--hard-dereference", "-cf", file, "-C", dir, ".").CombinedOutput()
		if err != nil {
			t.Skipf("this tar has other options: %s", out)
		}
		s := openS(t, ShardsConfig{Shards: []string{file}})
		if got := keys(s); !slices.Equal(got, []string{"a/1", "b/2-x", "b/2", "b/20", long + "ü"}) {
			t.Fatalf("%s: %q", format, got)
		}
		for i := range s.Len() {
			if _, text := read(t, s, i); text != string(s.Key(i, nil))+".jpg" {
				t.Fatalf("%s: %q", format, text)
			}
		}
	}
}

// An archive that is not whole, or holds what it should not, is refused by its name and the member's.
func TestBadArchivesAreRefusedByName(t *testing.T) {
	good := tarOf(t, tar.FormatGNU, pairs(0, 3)...)
	raw := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		h.Mode = 0o644
		must(t, w.WriteHeader(&h))
		must(t, w.Close())
		return b.Bytes()
	}
	spoilt := bytes.Clone(good)
	spoilt[1024+20] ^= 1
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut in a member":     {good[:700], "truncated: it ends at 700 bytes"},
		"cut in a header":     {good[:1024+100], "truncated"},
		"cut before the mark": {good[:6*1024], "truncated: it ends at 6144 bytes, before the end-of-archive mark"},
		"empty":               {nil, "truncated"},
		"gzip":                {append([]byte("\x1f\x8b\x08\x00"), make([]byte, 2000)...), "the archive is compressed"},
		"not a tar":           {bytes.Repeat([]byte("hello "), 500), "not a tar header"},
		"flipped bit":         {spoilt, "header at 1024: not a tar header: check sum"},
		"joined by cat":       {append(bytes.Clone(good), good...), "tar --concatenate, not cat"},
		"climbs":              {tarOf(t, tar.FormatGNU, part{"a/../../x.jpg", "p"}), `member "a/../../x.jpg": the name leaves the archive`},
		"absolute":            {tarOf(t, tar.FormatGNU, part{"/etc/x.jpg", "p"}), `member "/etc/x.jpg": the name leaves the archive`},
		"same part twice":     {tarOf(t, tar.FormatGNU, part{"a.jpg", "p"}, part{"a.JPG", "p"}), `sample "a": part "jpg" is there twice`},
		"same key again":      {tarOf(t, tar.FormatGNU, part{"a.jpg", "p"}, part{"b.jpg", "p"}, part{"a.cls", "1"}), `sample "a": its key is there again`},
		"symlink":             {raw(tar.Header{Name: "a.jpg", Linkname: "b.jpg", Typeflag: tar.TypeSymlink}), `member "a.jpg": a link`},
		"hard link":           {raw(tar.Header{Name: "a.jpg", Linkname: "b.jpg", Typeflag: tar.TypeLink}), "--hard-dereference"},
		"fifo":                {raw(tar.Header{Name: "a.jpg", Typeflag: tar.TypeFifo}), "a device or fifo"},
		"no pictures":         {tarOf(t, tar.FormatGNU, part{"a.cls", "1"}, part{"a.wav", "x"}), "the parts are cls, wav; say which is in source.image"},
	} {
		file := filepath.Join(t.TempDir(), "x.tar")
		write(t, file, string(c.data))
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		} else if what != "no pictures" && !strings.HasPrefix(err.Error(), fmt.Sprintf("source: shards: shard %q: ", file)) {
			t.Errorf("%s: got %v, want the shard's name", what, err)
		}
	}
}

// What cannot be a shard is refused with the reason.
func TestShardsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.tar"), string(tarOf(t, tar.FormatGNU, pairs(0, 1)...)))
	write(t, filepath.Join(dir, "a.tar.gz"), "x")
	write(t, filepath.Join(dir, "a.bin"), "x")
	must(t, os.Mkdir(filepath.Join(dir, "d.tar"), 0o755))
	for pattern, want := range map[string]string{
		"/none.tar":           `none.tar": no such file or directory`,
		"/none-*.tar":         "no file is named so",
		"/a.tar.gz":           "a compressed archive cannot be read in any order",
		"/a.bin":              "want a name that ends in .tar or .zip, or a TFRecord",
		"/d.tar":              "got a directory, want a regular file; name the files in it, such as ",
		"/{a,a}.tar":          "named twice",
		"/{a.tar":             "got '{' without its own '}'",
		"/{9..1}.tar":         "the smaller one first",
		"/a}.tar":             "got '}' without '{'",
		"/{a}.tar":            "want {FIRST..LAST} or {A,B}",
		"/{0..99999999}.tar":  "want two whole numbers",
		"/{a,{b,c}}.tar":      "braces do not nest",
		"/x[.tar":             "syntax error in pattern",
		"/{0..999999}{0..9}x": "more than 1048576 names",
	} {
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{dir + pattern}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pattern, err, want)
		}
	}
	for c, want := range map[string]ShardsConfig{
		"no sample has a part webp; the parts are jpg, cls":                                                                                 {Media: []Medium{{From: []string{"webp"}}}},
		`source.label: no sample has a part "tag"; the parts are jpg, cls`:                                                                  {Label: "tag"},
		`no sample has a part "json[y]"; the parts are jpg, cls; a number within a part is a column: {name: y, from: "json[y]", type: i64}`: {Label: "json[y]"},
		"no sample has a part jpg;png; the parts are jpg, cls; several are a list: [jpg, png]":                                              {Media: []Medium{{From: []string{"jpg;png"}}}},
		`source.columns: no sample has a part "json"`:                                                                                       {Columns: []Column{{Name: "json"}}},
	} {
		want.Shards, want.IndexDir = []string{dir + "/a.tar"}, t.TempDir()
		if _, err := OpenShards(background, want); err == nil || !strings.Contains(err.Error(), c) {
			t.Errorf("got %v, want %q", err, c)
		}
	}
}

// A column that is called as a value in the samples' JSON is named with the way there; what is a way already, or an array's, is not.
func TestAValueInJSONThatIsTakenForAPartIsTold(t *testing.T) {
	file := t.TempDir() + "/s.tar"
	write(t, file, string(tarOf(t, tar.FormatPAX, part{"1.jpg", "p"}, part{"1.json", `{"width": 1}`})))
	for want, c := range map[string]Column{
		"the parts are jpg, json; a value in the part json is from: json[width]": {From: "width", Type: Float64},
		`"json[]"; the parts are jpg, json`:                                      {From: "json[]"},
		`"npz"; the parts are jpg, json`:                                         {From: "npz[width]", Type: Array},
	} {
		c.Name = "c"
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, Columns: []Column{c}})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.From, err, want)
		}
	}
}

// Braces write out as in a shell.
func TestBraces(t *testing.T) {
	for pattern, want := range map[string]string{
		"a": "a", "{0..2}": "0 1 2", "x{08..11}.tar": "x08.tar x09.tar x10.tar x11.tar", "{a,b}{1,2}": "a1 a2 b1 b2", "{,x}y": "y xy", "{9..10}": "9 10",
	} {
		got, err := Braces(pattern)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q %v", pattern, got, err)
		}
	}
}

// A file of a pattern's very name is meant itself; only where there is none is it a pattern.
func TestAFileNamedLikeAPatternIsMeant(t *testing.T) {
	dir := t.TempDir()
	for k, name := range []string{"a[b].tar", "ab.tar", "x{1,2}.tar", "x1.tar", "y{b}.tar", "z}.tar", "s*.tar", "s1.tar", "n-1[c].tar", "n-1c.tar", "n-2[c].tar"} {
		write(t, filepath.Join(dir, name), string(tarOf(t, tar.FormatGNU, part{fmt.Sprintf("%02d.jpg", k), "x"})))
	}
	for pattern, want := range map[string]string{
		"a[b].tar": "00", "[a]b.tar": "01", "x{1,2}.tar": "02", "x{1,1}.tar": "", "y{b}.tar": "04", "z}.tar": "05", "s*.tar": "06", "s?.tar": "06 07", "n-{1,2}[c].tar": "08 10",
		"{s*,ab}.tar": "01 06",
	} {
		s, err := OpenShards(background, ShardsConfig{Shards: []string{filepath.Join(dir, pattern)}, IndexDir: t.TempDir()})
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "named twice") {
				t.Errorf("%s: %v", pattern, err)
			}
			continue
		}
		got := keys(s)
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s: samples of %q, want %q", pattern, got, want)
		}
		must(t, s.Close())
	}
}

// A relative path that begins with "http" is a path, with its globs.
func TestRelativePatternsLikeURLsAreGlobbed(t *testing.T) {
	dir := t.TempDir()
	before, err := os.Getwd()
	must(t, err)
	must(t, os.Chdir(dir))
	t.Cleanup(func() { must(t, os.Chdir(before)) })
	for _, name := range []string{"httpx/1.tar", "httpx/2.tar", "https-3.tar"} {
		write(t, filepath.Join(dir, name), string(tarOf(t, tar.FormatGNU, pairs(0, 2)...)))
	}
	for pattern, n := range map[string]int64{"httpx/*.tar": 4, "http*/*.tar": 4, "http?-[3].tar": 2} {
		if s := openS(t, ShardsConfig{Shards: []string{pattern}}); s.Len() != n {
			t.Errorf("%s: %d samples, want %d", pattern, s.Len(), n)
		}
	}
}

// Labels are whole numbers of 64 bits, in archives as in lists. Those beyond 32 bits stand behind the keys of an index, which is as sound.
func TestLabelsOfShardsHave64Bits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	texts := map[string]int64{
		"2147483647": math.MaxInt32, "2147483648": math.MaxInt32 + 1, "-2147483648": math.MinInt32, "-2147483649": math.MinInt32 - 1, "0000000000007": 7,
		"9223372036854775807": math.MaxInt64, "-9223372036854775807\r\n": -math.MaxInt64, "-9223372036854775808": math.MinInt64, "   42   \n": 42, "20240101123000": 20240101123000, "-1": -1,
	}
	var parts []part
	var labels []int64
	for text, label := range texts {
		key := fmt.Sprintf("%02d", len(labels))
		parts, labels = append(parts, part{key + ".jpg", "x"}, part{key + ".cls", text}), append(labels, label)
	}
	write(t, file, string(tarOf(t, tar.FormatPAX, parts...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true, Label: "cls", Columns: []Column{{Name: "cls", Type: Int64}}}
	check := func(what string) {
		s := openS(t, c)
		known := s.(Knowing).Known("cls")
		for i, want := range labels {
			if b, text := read(t, s, int64(i)); text != "x" || s.Label(int64(i)) != want || known(int64(i)) != want || int64(binary.NativeEndian.Uint64(b.Value(0))) != want {
				t.Fatalf("%s: sample %d: label %d, known %v, column %v, want %d", what, i, s.Label(int64(i)), known(int64(i)), b.Value(0), want)
			}
			if key := string(s.Key(int64(i), nil)); key != fmt.Sprintf("%02d", i) {
				t.Fatalf("%s: key %q", what, key)
			}
		}
	}
	check("new")
	check("kept")
	good, err := os.ReadFile(file + indexEnding)
	must(t, err)
	for at := len(good) - 8*5; at < len(good); at++ {
		must(t, os.Remove(file+indexEnding))
		write(t, file+indexEnding, string(flip(good, at)))
		check(fmt.Sprint("damaged at ", at))
	}
	for text, got := range map[string]string{"9223372036854775808": `"9223372036854775808"`, "-9223372036854775809": `"-9223372036854775809"`, "00000000000000000007": `"00000000000000000007"`, "7.0": `"7.0"`, "+3": `"+3"`, "a\n": `"a\n"`,
		"": "0 bytes", strings.Repeat(" ", 32) + "7": "33 bytes"} {
		write(t, file, string(tarOf(t, tar.FormatPAX, part{"a.jpg", "x"}, part{"a.cls", text})))
		s := openS(t, ShardsConfig{Shards: []string{file}})
		var b Buffer
		want := fmt.Sprintf(`label: part "cls" is no whole number: got %s, want one of 64 bits in decimal, such as 17, in at most 32 bytes`, got)
		if err := s.Read(background, 0, &b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// An index is made once; a later opening takes it as it is, and makes it anew for an archive that changed.
func TestIndexIsKeptAndFollowsTheArchive(t *testing.T) {
	for _, beside := range []bool{false, true} {
		dir, kept := t.TempDir(), t.TempDir()
		file := filepath.Join(dir, "x.tar")
		write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
		c := ShardsConfig{Shards: []string{file}, IndexDir: kept, IndexBeside: beside}
		notes := func(want int) {
			t.Helper()
			if got := openS(t, c).(*shards).notes; len(got) != want {
				t.Fatalf("beside %v: notes %q, want %d", beside, got, want)
			}
		}
		notes(1)
		notes(0)
		index := filepath.Join(dir, "x.tar"+indexEnding)
		if !beside {
			found, err := os.ReadDir(kept)
			must(t, err)
			if len(found) != 1 {
				t.Fatalf("%v", found)
			}
			index = filepath.Join(kept, found[0].Name())
		}
		write(t, file, string(tarOf(t, tar.FormatGNU, pairs(5, 9)...)))
		notes(1)
		if s := openS(t, c); s.Len() != 4 || string(s.Key(0, nil)) != "00005" {
			t.Fatalf("%q", keys(s))
		}
		// Damage of the header or the length is found at once, and mended.
		good, err := os.ReadFile(index)
		must(t, err)
		for _, bad := range [][]byte{nil, good[:40], good[:len(good)-1], append(bytes.Clone(good), 0), flip(good, 9), flip(good, 20), flip(good, 80), flip(good, 7)} {
			must(t, os.Remove(index))
			write(t, index, string(bad))
			notes(1)
			notes(0)
		}
	}
}

// What was damaged behind the header is found when it is first looked at, and made again in place: nobody notices but the disk.
func TestDamagedIndexIsMadeAgainWhenItIsUsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true, Label: "cls"}
	want := openS(t, c)
	good, err := os.ReadFile(file + indexEnding)
	must(t, err)
	body := len(want.(*shards).all[0].index.header)
	for at := body; at < len(good); at++ {
		must(t, os.Remove(file+indexEnding))
		write(t, file+indexEnding, string(flip(good, at)))
		s := openS(t, c)
		if notes := s.(*shards).notes; len(notes) > 0 {
			t.Fatalf("byte %d: notes %q", at, notes)
		}
		for i := range s.Len() {
			if got, want := string(s.Key(i, nil)), string(want.Key(i, nil)); got != want || s.Label(i) != i {
				t.Fatalf("byte %d: sample %d is %q with label %d, want %q", at, i, got, s.Label(i), want)
			}
			if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
				t.Fatalf("byte %d: sample %d: %q", at, i, text)
			}
		}
		if mended, err := os.ReadFile(file + indexEnding); err != nil || !bytes.Equal(mended, good) {
			t.Fatalf("byte %d: the file is not as it was: %v", at, err)
		}
	}
}

// An index that is cut off or overwritten while it is in use is made again too, also what says what it is of.
func TestIndexDamagedWhileInUseIsMadeAgain(t *testing.T) {
	for name, damage := range map[string]func(file string, size int64) error{
		"cut off":            func(file string, _ int64) error { return os.Truncate(file, 0) },
		"cut off in a page":  func(file string, size int64) error { return os.Truncate(file, size/2) },
		"overwritten":        func(file string, size int64) error { return overwrite(file, make([]byte, size)) },
		"its head":           func(file string, _ int64) error { return overwrite(file, make([]byte, 40)) },
		"removed":            func(file string, _ int64) error { return os.Remove(file) },
		"another's in place": func(file string, size int64) error { return overwrite(file, bytes.Repeat([]byte{1}, int(size))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "x.tar")
			write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 500)...)))
			c := ShardsConfig{Shards: []string{file}, IndexBeside: true, Label: "cls"}
			s := openS(t, c)
			st, err := os.Stat(file + indexEnding)
			must(t, err)
			must(t, damage(file+indexEnding, st.Size()))
			for i := range s.Len() {
				if key := string(s.Key(i, nil)); key == "" || s.Label(i) != i%7 {
					t.Fatalf("sample %d is %q with label %d", i, key, s.Label(i))
				}
				if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) {
					t.Fatalf("sample %d: %q", i, text)
				}
			}
		})
	}
}

// overwrite writes the beginning of a file in place.
func overwrite(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// Many that meet the damage at once all get the right samples, and the archive is looked through once.
func TestDamagedIndexIsMadeAgainOnceForAll(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 8)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true}
	good := openS(t, c).(*shards).all[0].index
	data, err := os.ReadFile(file + indexEnding)
	must(t, err)
	write(t, file+indexEnding, string(flip(data, len(good.header)+3)))
	s := openS(t, c)
	for i, err := range readTogether(t, background, s, sequenceOf(0, s.Len())) {
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
	}
	if maps := len(s.(*shards).all[0].index.maps); maps != 2 {
		t.Fatalf("%d mappings, want the damaged one and one more", maps)
	}
}

// Where the archive is another one by now, its damaged index stays damaged, and each of its samples says so.
func TestDamagedIndexOfAChangedArchiveGivesBadSamples(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	c := ShardsConfig{Shards: []string{file}, IndexBeside: true}
	header := len(openS(t, c).(*shards).all[0].index.header)
	data, err := os.ReadFile(file + indexEnding)
	must(t, err)
	write(t, file+indexEnding, string(flip(data, header)))
	s := openS(t, c)
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(3, 9)...)))
	for i := range s.Len() {
		var buf Buffer
		var e *Error
		if err := s.Read(background, i, &buf); !errors.As(err, &e) || e.Cause != IO || !strings.Contains(err.Error(), "index was damaged") ||
			!strings.Contains(err.Error(), "another") {
			t.Fatalf("sample %d: %v", i, err)
		}
		if key, label := s.Key(i, nil), s.Label(i); len(key) > 0 || label != -1 {
			t.Fatalf("sample %d: key %q, label %d", i, key, label)
		}
	}
}

// More shards than the kernel lets a process map are refused with the remedy, before any is opened.
func TestMoreShardsThanCanBeMappedAreRefused(t *testing.T) {
	for limit, most := range map[string]int{"65530\n": 57338, "262144\n": 253952, "100\n": 0} {
		if err := checkMaps(most, limit); err != nil && most > 0 {
			t.Errorf("%d shards of a limit of %q: %v", most, limit, err)
		}
		if err := checkMaps(most+1, limit); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("want at most %d,", most)) {
			t.Errorf("%d shards of a limit of %q: %v", most+1, limit, err)
		}
	}
	if err := checkMaps(1<<40, ""); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	limit, err := os.ReadFile(mapLimit)
	if err != nil || checkMaps(100_000, string(limit)) == nil {
		t.Skip("this kernel lets a process map 100,000 indexes")
	}
	_, err = OpenShards(background, ShardsConfig{Shards: []string{t.TempDir() + "/{00000..99999}.tar"}})
	if err == nil || !strings.Contains(err.Error(), "sysctl vm.max_map_count=") {
		t.Errorf("100,000 shards: %v", err)
	}
}

// To open an index touches its header alone, however much it holds.
func TestOpeningAnIndexChecksItsHeaderAlone(t *testing.T) {
	b := newIndexBuilder()
	for i := range 20000 {
		must(t, b.add(fmt.Appendf(nil, "%06d.jpg", i), int64(i)*512, 100, nil))
	}
	v := version{size: 20000 * 512, tag: 7}
	data := b.encode(v)
	x, err := parseIndex(data, v)
	must(t, err)
	if n := checkedBlocks(x); n != 0 {
		t.Fatalf("%d blocks were checked at open", n)
	}
	if _, _, key, err := x.sample(12345); err != nil || string(key) != "012345" {
		t.Fatalf("%q %v", key, err)
	}
	if n := checkedBlocks(x); n != 2 {
		t.Fatalf("%d blocks were checked for a key, want that of the sample and that of the key", n)
	}
	if len(x.header) > 72+100+len(data)/1000 {
		t.Fatalf("a header of %d bytes for an index of %d", len(x.header), len(data))
	}
}

func checkedBlocks(x *index) (n int) {
	c := x.content.Load()
	for i := range c.checked {
		n += bits.OnesCount32(c.checked[i].Load())
	}
	return n
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

// Where indexes cannot be kept, shards are read all the same, and a note says so.
func TestIndexThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.tar"), string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	write(t, filepath.Join(dir, "file"), "")
	s := openS(t, ShardsConfig{Shards: []string{dir + "/x.tar"}, IndexDir: dir + "/file/index"})
	if notes := s.(*shards).notes; len(notes) != 2 || !strings.Contains(notes[1], "could not be kept") {
		t.Fatalf("%q", notes)
	}
	if _, text := read(t, s, 2); text != "picture 2" {
		t.Fatal(text)
	}
}

// A shard that changes or goes away while it is in use gives bad samples, never wrong bytes.
func TestChangedShardIsABadSample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	data := string(tarOf(t, tar.FormatGNU, pairs(0, 3)...))
	write(t, file, data)
	s := openS(t, ShardsConfig{Shards: []string{file}})
	later := time.Now().Add(time.Second)
	must(t, os.Chtimes(file, later, later))
	wantShard := func(cause Cause) {
		t.Helper()
		var b Buffer
		var e *Error
		if err := s.Read(background, 1, &b); !errors.As(err, &e) || e.Cause != cause || e.In != file || e.Key != "00001" {
			t.Fatalf("got %v, want %s", err, cause)
		}
	}
	wantShard(Changed)
	must(t, os.Truncate(file, 600))
	wantShard(Changed)
	must(t, os.Remove(file))
	wantShard(Missing)
}

// Reading samples of a shard with columns allocates nothing once buffers have grown.
func TestShardsReadAllocatesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(tarOf(t, tar.FormatPAX, pairs(0, 30)...)))
	s := openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{{Name: "cls", Type: Int64}, {Name: "text", From: "cls"}}})
	var b Buffer
	i, key := int64(0), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		must(t, s.Read(background, i, &b))
		key = s.Key(i, key[:0])
		i = (i + 1 + s.Label(i)) % s.Len()
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// A zip archive of stored members is a shard like any other; compressed members and names that climb are refused.
func TestZipShards(t *testing.T) {
	zipOf := func(method uint16, parts ...part) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, p := range parts {
			f, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: method})
			must(t, err)
			_, err = f.Write([]byte(p.content))
			must(t, err)
		}
		must(t, w.Close())
		return b.String()
	}
	file := filepath.Join(t.TempDir(), "x.zip")
	write(t, file, zipOf(zip.Store, pairs(0, 5)...))
	s := openS(t, ShardsConfig{Shards: []string{file}})
	for i := range s.Len() {
		if _, text := read(t, s, i); text != fmt.Sprintf("picture %d", i) || s.Label(i) != i%7 {
			t.Fatalf("%d: %q", i, text)
		}
	}
	rawZip := func(h zip.FileHeader, content string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h.UncompressedSize64, h.CompressedSize64 = uint64(len(content)), uint64(len(content))
		f, err := w.CreateRaw(&h)
		must(t, err)
		_, err = f.Write([]byte(content))
		must(t, err)
		must(t, w.Close())
		return b.String()
	}
	beyond := func(archive string) string { // its directory has the member where there is none
		at := strings.Index(archive, "PK\x01\x02") + 42
		return archive[:at] + "\xff\xff\xff\x00" + archive[at+4:]
	}
	link, fifo := zip.FileHeader{Name: "a.txt", CRC32: crc32.ChecksumIEEE([]byte("b.txt"))}, zip.FileHeader{Name: "a.txt", CRC32: crc32.ChecksumIEEE([]byte("b.txt"))}
	link.SetMode(fs.ModeSymlink | 0o777)
	fifo.SetMode(fs.ModeNamedPipe | 0o644)
	for data, want := range map[string]string{
		zipOf(zip.Deflate, pairs(0, 1)...):                                  `member "00000.jpg": it is compressed; store members as they are (zip -0)`,
		zipOf(zip.Store, part{"../x.jpg", "p"}):                             "the name leaves the archive",
		zipOf(zip.Store, pairs(0, 5)...)[:300]:                              "zip: ",
		beyond(zipOf(zip.Store, part{"a.jpg", "p"})):                        `member "a.jpg": it lies beyond the archive's end`,
		zipOf(zip.Store, pairs(0, 3)...) + zipOf(zip.Store, pairs(3, 5)...): "archives were joined",
		zipOf(zip.Store, pairs(0, 3)...) + zipOf(zip.Store):                 "archives were joined",
		"#!/bin/sh\n" + zipOf(zip.Store, pairs(0, 3)...):                    "a program is in front",
		rawZip(link, "b.txt"):                                               `member "a.txt": a link; archive the file itself`,
		rawZip(fifo, "b.txt"):                                               `member "a.txt": of mode p`,
		rawZip(zip.FileHeader{Name: "a.jpg", Flags: 1}, "secret"):           `member "a.jpg": it is encrypted`,
		rawZip(zip.FileHeader{Name: "a.cls", CRC32: 7}, "3"):                `member "a.cls": damaged: CRC-32 got 6dd28e9b, want 00000007`,
	} {
		write(t, file, data)
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// An archive without members is none to speak of, beside others; alone there is nothing to read. Zip archives are as tar archives.
func TestEmptyArchives(t *testing.T) {
	empty := func(comment string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		must(t, w.SetComment(comment))
		must(t, w.Close())
		return b.String()
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "full.tar"), string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	for name, data := range map[string]string{"a.tar": string(tarOf(t, tar.FormatGNU)), "a.zip": empty(""), "b.zip": empty("nothing in here"), "c.zip": empty(strings.Repeat("x", 5000))} {
		file := filepath.Join(dir, name)
		write(t, file, data)
		s := openS(t, ShardsConfig{Shards: []string{file, filepath.Join(dir, "full.tar")}})
		if notes := strings.Join(s.(*shards).notes, "; "); s.Len() != 3 || !strings.Contains(notes, fmt.Sprintf("shard %q holds no samples", file)) {
			t.Errorf("%s: %d samples, notes %s", name, s.Len(), notes)
		}
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()})
		if !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), "got 1 archives without a member") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Opening and closing shards leaves no descriptor and no mapping behind.
func TestShardsLeaveNothingOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	write(t, file, string(tarOf(t, tar.FormatGNU, pairs(0, 3)...)))
	count := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		must(t, err)
		return bytes.Count(maps, []byte(indexEnding))
	}
	before := runtime.NumGoroutine()
	c := ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}
	for range 3 {
		s, err := OpenShards(background, c)
		must(t, err)
		if count() != 1 {
			maps, _ := os.ReadFile("/proc/self/maps")
			t.Fatalf("%d mappings of one index\n%s", count(), maps)
		}
		must(t, s.Close())
	}
	c.Label = "none"
	if _, err := OpenShards(background, c); err == nil {
		t.Fatal("opened")
	}
	if n := count(); n != 0 {
		t.Fatalf("%d mappings are left", n)
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before }) // one that said it is done may not be gone yet
}

// FuzzTar: no archive makes the scanner crash, hang or place a member outside of the archive.
func FuzzTar(f *testing.F) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		f.Add(tarOf(f, format, pairs(0, 2)...))
		f.Add(tarOf(f, format, part{strings.Repeat("d/", 45) + "x.jpg", "p"}))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = indexed(t, mendSums(data)) })
}

// indexed fails where the index made of an archive cannot be read; an archive that is refused is the error.
func indexed(t *testing.T, data []byte) error {
	t.Helper()
	b, err := buildTarIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 1024})
	if err == nil {
		indexHolds(t, b, int64(len(data)), func(string, indexMember) {})
	}
	return err
}

// indexHolds fails where an index that was made of so many bytes cannot be read, and shows each member with the name of its part.
func indexHolds(t *testing.T, b *indexBuilder, size int64, show func(part string, m indexMember)) {
	t.Helper()
	v := version{size: size, tag: 7}
	x, err := parseIndex(b.encode(v), v)
	if err != nil {
		t.Fatalf("an index of ours does not parse: %v", err)
	}
	for i := range x.n {
		members, err := x.appendMembers(i, nil)
		if err != nil || len(members) == 0 {
			t.Fatalf("sample %d of an index of ours: %v %v", i, members, err)
		}
		for _, m := range members {
			show(x.parts[m.part], m)
		}
	}
}

// An archive cut anywhere, or with bits flipped and its sums made right again, is refused or indexed, and the index holds.
func TestDamagedArchivesAreRefusedOrIndexed(t *testing.T) {
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		whole, refused := tarOf(t, format, append(pairs(0, 3), part{strings.Repeat("d/", 45) + "x.jpg", "p"})...), 0
		try := func(_ string, bad []byte) {
			if indexed(t, bad) != nil {
				refused++
			}
		}
		n := damage.Count(300)
		damage.Cuts(whole, n, try)
		damage.Flips(whole, n, try)
		if refused < n/4 {
			t.Errorf("format %v: %d of %d were refused", format, refused, 2*n)
		}
	}
}

// mendSums repairs the check sum of every block that has one, so that the fuzzer gets beyond it.
func mendSums(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 0; at+tarBlock <= len(data); at += tarBlock {
		h := data[at : at+tarBlock]
		if string(h[257:262]) != "ustar" {
			continue
		}
		sum := 0
		for i, c := range h {
			if i >= 148 && i < 156 {
				c = ' '
			}
			sum += int(c)
		}
		copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
	}
	return data
}

// FuzzIndex: no index file, even one with a right check sum, leads outside of itself or of the archive.
func FuzzIndex(f *testing.F) {
	archive := tarOf(f, tar.FormatGNU, pairs(0, 3)...)
	b, err := buildTarIndex(background, &window{r: bytes.NewReader(archive), size: int64(len(archive)), chunk: 1024})
	must(f, err)
	v := version{size: 1 << 20, tag: 7}
	f.Add(b.encode(v))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = mendIndex(data)
		x, err := parseIndex(data, v)
		if err != nil {
			return
		}
		for i := range x.n {
			members, err := x.appendMembers(i, nil)
			if err != nil {
				continue
			}
			for _, k := range members {
				if k.off+int64(k.size) > v.size || int(k.part) >= len(x.parts) {
					t.Fatalf("member %+v", k)
				}
			}
		}
	})
}

// mendIndex makes the sums of an index right, so that the fuzzer gets beyond them.
func mendIndex(data []byte) []byte {
	data = bytes.Clone(data)
	le := binary.LittleEndian
	if len(data) < indexHeader {
		return data
	}
	copy(data, indexMagic)
	word := func(at int) int { return int(le.Uint16(data[at:])) }
	start, blocks := indexLayout(word(32), word(40), word(48), word(56), word(64))
	if start > len(data) {
		return data
	}
	for k := range min(blocks, (len(data)-start+indexBlock-1)/indexBlock) {
		le.PutUint64(data[start-8*blocks+8*k:], xxh3.Hash(blockOf(data[start:], k)))
	}
	le.PutUint64(data[8:], xxh3.Hash(data[16:start]))
	return data
}
