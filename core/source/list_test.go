package source

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func timeOf(seconds int64) time.Time { return time.Unix(seconds, 0) }

// Each line that names a file is a sample, in order, with its label or -1.
func TestListLinesBecomeSamples(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.tsv")
	write(t, file, "\ufeffa.jpg\t3\n# comment\t9\n\n   \nb c.jpg\r\n\r\n./d/e.jpg\t-7\r\nf..jpg\t0\ng.jpg\t9223372036854775807")
	s := openL(t, ListConfig{File: file})
	if got := keys(s); !slices.Equal(got, []string{"a.jpg", "b c.jpg", "./d/e.jpg", "f..jpg", "g.jpg"}) {
		t.Fatalf("%q", got)
	}
	if got := labels(s); !slices.Equal(got, []int64{3, -1, -7, 0, math.MaxInt64}) {
		t.Fatalf("%v", got)
	}
	if s.Classes() != nil {
		t.Fatalf("classes %q", s.Classes())
	}
}

// The index skips lines; every sample between two of its offsets is found all the same, among comments and blanks.
func TestListFindsEverySampleBetweenIndexedLines(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "dir/%d.jpg\t%d\n%s", i, i*3, strings.Repeat("# no\n\n", i%5))
	}
	file := filepath.Join(t.TempDir(), "l")
	write(t, file, text.String())
	s := openL(t, ListConfig{File: file})
	if s.Len() != 1000 {
		t.Fatalf("%d samples", s.Len())
	}
	for _, i := range []int64{999, 0, 7, 8, 9, 500, 998, 1} {
		if got := string(s.Key(i, []byte("k="))); got != fmt.Sprintf("k=dir/%d.jpg", i) || s.Label(i) != i*3 {
			t.Fatalf("%d: %q %d", i, got, s.Label(i))
		}
	}
	for _, i := range []int64{-1, 1000} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("sample %d: no panic", i)
				}
			}()
			s.Key(i, nil)
		}()
	}
}

// Two slashes behind a colon make no URL of what does not begin as one.
func TestOtherSchemes(t *testing.T) {
	for path, want := range map[string]string{
		"gs://b/x": "gs", "file:///x": "file", "A+b-1.c://x": "A+b-1.c", "a/b://x": "", "://x": "", "a:/x": "", "1a://x": "", "-://x": "", "x y://z": "", "é://x": "", "a.jpg": "",
	} {
		if got := otherScheme([]byte(path)); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// file:///PATH is the path, in lists and in every column of a table that holds paths.
func TestFileURLsOfLists(t *testing.T) {
	dir := tree(t, "a b.jpg", "c.jpg")
	urls := []string{"file://" + dir + "/a%20b.jpg", "FILE://localhost" + dir + "/c.jpg"}
	write(t, dir+"/t.tsv", strings.Join(urls, "\t1\n")+"\n")
	write(t, dir+"/t.csv", "path,other\n"+urls[0]+","+urls[1]+"\n"+urls[1]+","+urls[0]+"\n")
	for file, media := range map[string][]Medium{"t.tsv": nil, "t.csv": {{Name: "other", From: []string{"other"}}}} {
		s, err := OpenList(ListConfig{File: dir + "/" + file, Others: media})
		must(t, err)
		for i, want := range []string{"a b.jpg", "c.jpg"} {
			b, _ := read(t, s, int64(i))
			if got := string(b.Part(0)); got != want {
				t.Errorf("%s: sample %d: got %q, want %q", file, i, got, want)
			}
			if id := s.(Versioned).Identity(int64(i), nil); !strings.HasPrefix(string(id), dir+"/"+want+"\x00") {
				t.Errorf("%s: sample %d: identity %q", file, i, id)
			}
		}
		must(t, s.Close())
	}
	remote := rulesOf(&ListConfig{File: "https://host/t.tsv"})
	if err := remote.check([]byte(urls[0])); err == nil || !strings.Contains(err.Error(), "got a file's URL, want a path relative to root, or to the list that is a URL itself") {
		t.Errorf("a list from elsewhere: %v", err)
	}
}

// A line in Caffe's manner, a path and a label with a blank between them, or a comma, is a path that is not there; the bad sample says what a line is.
func TestBlankBeforeALabelIsTold(t *testing.T) {
	dir := tree(t, "a.jpg", "b 7")
	write(t, dir+"/l.txt", "a.jpg 3\nb 7\nc.jpg\nd 3\t1\na.jpg,4\n")
	s := openL(t, ListConfig{File: dir + "/l.txt"})
	var b Buffer
	err := s.Read(background, 0, &b)
	wantBad(t, err, Missing, `"a.jpg 3"`, "a line of a list is PATH<TAB>LABEL, with a tab before the label")
	wantBad(t, s.Read(background, 4, &b), Missing, `"a.jpg,4"`, "heading: [path, label], separator: \",\"")
	must(t, s.Read(background, 1, &b))
	for _, i := range []int64{2, 3} {
		if err := s.Read(background, i, &b); err == nil || strings.Contains(err.Error(), "<TAB>") {
			t.Errorf("sample %d: %v", i, err)
		}
	}
}

// A table of JSON lines may be called .ndjson.
func TestNDJSONIsJSONLines(t *testing.T) {
	dir := tree(t, "a.jpg")
	write(t, dir+"/t.ndjson", `{"path": "a.jpg", "label": 3}`+"\n")
	s := openL(t, ListConfig{File: dir + "/t.ndjson"})
	if s.Len() != 1 || s.Label(0) != 3 || string(s.Key(0, nil)) != "a.jpg" {
		t.Fatalf("%d samples, label %d, key %q", s.Len(), s.Label(0), s.Key(0, nil))
	}
}

// A list that cannot be read as one is refused at open, naming the line.
func TestListRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "l")
	for _, c := range []struct {
		text, root, want string
	}{
		{"", "", "no samples: the file is empty"},
		{"\n# x\n\n", "", "no samples: got 6 bytes without a line that names a file"},
		{"path\tlabel\na\t1\n", "", `line 1: label: got "label", want one whole number, such as 17, after the tab; a first line that is a heading needs source.heading: true`},
		{"a\nb\tdog\n", "", `line 2: label: got "dog", want one whole number, such as 17, after the tab; a first line that is a heading needs source.heading: true; source.labels: none leaves labels out, and text is a column's`},
		{"a\t1\t2\n", "", `line 1: label: got "1\t2"`},
		{"a\t\n", "", `label: got ""`},
		{"a\t-\n", "", `label: got "-"`},
		{"a\t9223372036854775808\n", "", `label: got "9223372036854775808"`},
		{"a\t1.5\n", "", `label: got "1.5"`},
		{"a\t 1\n", "", `label: got " 1"`},
		{"#\n\n\t1\n", "", "line 3: got a tab first"},
		{"a\nb\x00c\n", "", "line 2: got a zero byte"},
		{"\xff\xfea\x00\n\x00", "", "its text is UTF-16, want UTF-8; write it as that (in Excel: CSV UTF-8), or convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
		{"\xfe\xff\x4e\x00\x00\n", "", "its text is UTF-16, want UTF-8"},
		{"\xff\xfe\x00\x00a\x00\x00\x00", "", "its text is UTF-32, want UTF-8"},
		{"a\x00b\x00\n\x00", "", "its text is UTF-16LE, want UTF-8"},
		{"\x00a\x00b\x00\n", "", "iconv -f UTF-16BE -t UTF-8"},
		{"ok..jpg\na/../b\n", "", `line 2: path "a/../b": got ".."`},
		{"..\n", "", `got ".."`},
		{"../x\n", dir, `got ".."`},
		{"/etc/passwd\n", dir, `path "/etc/passwd": got an absolute path, want one relative to root`},
		{"a\naz://b/x.jpg\n", "", `line 2: path: got a URL of scheme "az", want a path, or a URL of http, https, s3, gs, hf or file; a store that speaks S3`},
		{"file:///x.jpg\n", dir, `line 1: path "file:///x.jpg": got a file's URL, want a path relative to root`},
		{"a\nfile://host/x.jpg\n", "", `line 2: path "file://host/x.jpg": got a file's URL without its path, want file:///PATH`},
		{"file:x\nfile://\n", "", `line 2: path "file://": got a file's URL without its path`},
		{"file:///a%zz\n", "", `got a file's URL without its path`},
		{"file:///a%00b\n", "", "got a zero byte"},
		{"file:///a/%2e%2e/b\n", "", `path "/a/../b": got ".."`},
		{strings.Repeat("p", 4096) + "\n", "", "got a path of 4096 bytes, want at most 4095"},
		{"a\n", dir + "/none", "no such directory"},
		{"a\n", file, "is not a directory"},
	} {
		write(t, file, c.text)
		s, err := OpenList(ListConfig{File: file, Root: c.root})
		if err == nil {
			s.Close()
			t.Errorf("%.40q: opened", c.text)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "source: list \""+file+"\": ") || !strings.Contains(text, c.want) {
			t.Errorf("%.40q: got %v, want %q", c.text, err, c.want)
		}
		if strings.HasPrefix(c.want, "no samples") != errors.Is(err, ErrNoSamples) {
			t.Errorf("%.40q: ErrNoSamples: %v", c.text, err)
		}
	}
}

// A list that is no regular file, may not be read or is too large is refused, and a fifo does not block.
func TestListThatIsNoReadableFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo, large, secret := filepath.Join(dir, "fifo"), filepath.Join(dir, "large"), filepath.Join(dir, "secret")
	must(t, unix.Mkfifo(fifo, 0o644))
	write(t, large, "a")
	must(t, os.Truncate(large, maxListBytes+1))
	write(t, secret, "a.jpg")
	must(t, os.Chmod(secret, 0))
	for _, p := range []string{filepath.Dir(dir), dir} {
		must(t, os.Chmod(p, 0o755))
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "got a directory, want a regular file",
		fifo:                       "got a fifo, want a regular file",
		"/dev/null":                "got a device, want a regular file",
		large:                      "split it",
		secret:                     "permission denied",
	} {
		asNobody(t, func() {
			if _, err := OpenList(ListConfig{File: file}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", file, err, want)
			}
		})
	}
}

// The file may be truncated or removed after open: the list is in memory.
func TestListOutlivesItsFile(t *testing.T) {
	dir := tree(t, "a.jpg")
	file := filepath.Join(t.TempDir(), "l")
	write(t, file, strings.Repeat("a.jpg\t1\n", 10_000))
	s := openL(t, ListConfig{File: file, Root: dir})
	must(t, os.Truncate(file, 0))
	if got := string(s.Key(9999, nil)); got != "a.jpg" || s.Label(9999) != 1 {
		t.Fatalf("%q", got)
	}
}

// Whatever a list holds, opening it ends in an error or in samples that can all be asked for.
func FuzzList(f *testing.F) {
	f.Add("a.jpg\t1\nb.jpg\r\n#c\n\n ../d\t-5\n")
	f.Add("\ufeff/x\t9223372036854775808")
	f.Add("..\x00\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, absolute := range []bool{true, false} {
			l := &list{text: []byte(text)}
			if err := l.scan(rules{absolute: absolute, urls: absolute}); err != nil {
				continue
			}
			for i := range l.n {
				key := string(l.Key(i, nil))
				if key == "" || len(key) >= maxPath || !absolute && key[0] == '/' || hasDotDot([]byte(key)) || strings.ContainsAny(key, "\x00\t\n") {
					t.Fatalf("sample %d: key %q", i, key)
				}
				l.Label(i)
			}
		}
	})
}

func BenchmarkOpenListMillion(b *testing.B) {
	file := filepath.Join(b.TempDir(), "l")
	w, err := os.Create(file)
	must(b, err)
	for i := range 1_000_000 {
		fmt.Fprintf(w, "n%08d/n%08d_%06d.jpeg\t%d\n", i/1300, i/1300, i, i/1300)
	}
	size, err := w.Seek(0, io.SeekCurrent)
	must(b, err)
	must(b, w.Close())
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s, err := OpenList(ListConfig{File: file})
		must(b, err)
		if s.Len() != 1_000_000 {
			b.Fatal(s.Len())
		}
		must(b, s.Close())
	}
}
