package source

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
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
		"/a.bin":              "want a name that ends in .tar, .zip, .parquet, .arrow, .mds, .rec, .array_record, .mdb or .lmdb, or a TFRecord",
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
		"the parts are jpg, json; a value in the part json is from: json[width]":                              {From: "width", Type: Float64},
		`"json[]"; the parts are jpg, json`:                                                                   {From: "json[]"},
		`"npz"; the parts are jpg, json`:                                                                      {From: "npz[width]", Type: Array},
		`a part "json.width"; the parts are jpg, json; a value in the part json is from: json[width]`:         {From: "json.width"},
		`a part ".jpg"; the parts are jpg, json; did you mean "jpg"? The dot ahead is none of its name`:       {From: ".jpg"},
		`a part "jsn"; the parts are jpg, json; did you mean "json", or json[jsn], a value in the part json?`: {From: "jsn"},
		`a part "JPG"; the parts are jpg, json; did you mean "jpg"?`:                                          {From: "JPG", Type: Array},
	} {
		c.Name = "c"
		_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, Columns: []Column{c}})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.From, err, want)
		}
	}
}

// Where names have no endings there are no parts, and a picture's or label's that is misspelt is told, too.
func TestPartsThatWereMeant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/bare.tar", string(tarOf(t, tar.FormatPAX, part{"1", "p"})))
	write(t, dir+"/a.tar", string(tarOf(t, tar.FormatPAX, part{"1.jpeg", "p"}, part{"1.cls", "1"})))
	write(t, dir+"/cut.zip", "PK\x03\x04 and no more")
	for want, c := range map[string]ShardsConfig{
		`no sample has a part "txt"; there are none, as no member's name has a dot and an ending behind it`:                          {Shards: []string{dir + "/bare.tar"}, Media: []Medium{}, Columns: []Column{{Name: "txt"}}},
		`no sample has a part jpg; the parts are jpeg, cls; did you mean "jpeg"?`:                                                    {Shards: []string{dir + "/a.tar"}, Media: []Medium{{From: []string{"jpg"}}}},
		`source.label: no sample has a part ".cls"; the parts are jpeg, cls; did you mean "cls"?`:                                    {Shards: []string{dir + "/a.tar"}, Label: ".cls"},
		`cut.zip": zip: no directory is where it should be at its end: truncated, damaged or no zip archive; write or copy it again`: {Shards: []string{dir + "/cut.zip"}},
	} {
		c.IndexDir = t.TempDir()
		if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
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

// A few bytes may stand for more names, or for longer ones, than any machine has room for: such a pattern is refused before they are written out.
func TestBracesThatAreTooMuchAreNotWrittenOut(t *testing.T) {
	many := "{0..1048575}"
	for want, pattern := range map[string]string{
		"got more than 1048576 names":                         strings.Repeat(many, 1<<16),
		"got 1048576 names of up to 1031 bytes, want at most": strings.Repeat("a", 1024) + many,
	} {
		allocated := testing.AllocsPerRun(1, func() {
			if _, err := Braces(pattern); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1024 {
				t.Errorf("%.40s...: got %.300v, want %q", pattern, err, want)
			}
		})
		if allocated > 1<<10 {
			t.Errorf("%.40s...: %v allocations for a refusal", pattern, allocated)
		}
	}
	if _, err := writtenOut("exclude", slices.Repeat([]string{strings.Repeat("a", 1<<20)}, 1025)); err == nil || !strings.Contains(err.Error(), "exclude: pattern") || !strings.Contains(err.Error(), "want at most 1024 MiB of all names") {
		t.Errorf("got %.300v", err)
	}
}

// Whatever a pattern is, it is refused or has as many names as its braces have choices for, each of which once where the choices differ.
func FuzzBraces(f *testing.F) {
	for _, pattern := range []string{"", "a", "x{000..010}.tar", "{a,b}{1,2}", "{,}", "{9..10}", "}", "{1..0}", "{{a,b}}", "{0..1048575}{0..1048575}", "{007..1}"} {
		f.Add(pattern)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		names, err := Braces(pattern)
		if err != nil {
			if len(names) > 0 || len(err.Error()) > 1200 {
				t.Fatalf("%d names beside %.100v", len(names), err)
			}
			return
		}
		want := 1
		for _, braces := range regexp.MustCompile(`\{[^}]*\}`).FindAllString(pattern, -1) {
			var from, to int
			if n, _ := fmt.Sscanf(braces, "{%d..%d}", &from, &to); n == 2 {
				want *= to - from + 1
			} else {
				want *= 1 + strings.Count(braces, ",")
			}
		}
		if len(names) != want || strings.ContainsAny(strings.Join(names, ""), "{}") {
			t.Fatalf("%d names, want %d", len(names), want)
		}
	})
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
