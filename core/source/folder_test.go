package source

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var old = timeOf(1_600_000_000)

// Samples are sorted by the bytes of their whole path, and labels number the first-level directories sorted by name.
func TestFolderIsSortedByPathAndLabelledByDirectory(t *testing.T) {
	want := []string{"B/z.jpg", "a-b/x.jpg", "a.jpg", "a/b/c/d.jpeg", "a/b/c.png", "a/b/e.PNG", "a/c.jpg", "é/1.jpg"}
	slices.Sort(want)
	dir := tree(t, append([]string{"empty/readme.txt", "a/.hidden.jpg", ".git/x.jpg", "x.jpg.txt", "jpg"}, want...)...)
	s := openF(t, FolderConfig{Dir: dir, Labels: true})
	if got := keys(s); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	classes := []string{"B", "a", "a-b", "é"}
	if got := s.Classes(); !slices.Equal(got, classes) {
		t.Fatalf("classes %q", got)
	}
	for i, l := range labels(s) {
		class, _, below := strings.Cut(want[i], "/")
		if below && (l < 0 || classes[l] != class) || !below && l != -1 {
			t.Errorf("%s: label %d", want[i], l)
		}
	}
	plain := openF(t, FolderConfig{Dir: dir})
	if plain.Classes() != nil || slices.Max(labels(plain)) != -1 {
		t.Fatalf("without labels: %q %v", plain.Classes(), labels(plain))
	}
}

// Random trees come back whole, in order, each file readable under its own key.
func TestFolderFindsEveryFileOfRandomTrees(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 10 {
		var paths []string
		for range 1 + r.IntN(200) {
			p := ""
			for range r.IntN(4) {
				p += string("ab-.A"[r.IntN(5)])[:1] + string("xy+"[r.IntN(3)]) + "/"
			}
			p = strings.ReplaceAll("/"+p, "/.", "/_")[1:]
			paths = append(paths, fmt.Sprintf("%sf%d.jpg", p, r.IntN(1000)))
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
		s := openF(t, FolderConfig{Dir: tree(t, paths...), Labels: true})
		if got := keys(s); !slices.Equal(got, paths) {
			t.Fatalf("got %q, want %q", got, paths)
		}
		var b Buffer
		for i, p := range paths {
			must(t, s.Read(background, int64(i), &b))
			if string(b.Bytes()) != p {
				t.Fatalf("%s reads %q", p, b.Bytes())
			}
		}
	}
}

// Names fill more than one chunk without one lying across the border.
func TestFolderNamesCrossChunks(t *testing.T) {
	f := &folder{}
	const n = 3 * chunkBytes / 200
	for i := range n {
		must(t, f.add("d/", []byte(fmt.Sprintf("%0199d", i))))
	}
	if len(f.chunks) < 3 {
		t.Fatalf("%d chunks", len(f.chunks))
	}
	for i := range int64(n) {
		if got := string(f.Key(i, nil)); got != fmt.Sprintf("d/%0199d", i) {
			t.Fatalf("%d: %q", i, got)
		}
	}
}

// A name may be as long as file systems have them, 255 bytes; a longer one is refused, and never cut.
func TestFolderOfTheLongestNames(t *testing.T) {
	want := []string{strings.Repeat("a", maxFileName-len(".jpg")) + ".jpg", strings.Repeat("d", maxFileName) + "/" + strings.Repeat("é", 125) + "b.jpg"}
	s := openF(t, FolderConfig{Dir: tree(t, want...)})
	if got := keys(s); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	var b Buffer
	for i, p := range want {
		must(t, s.Read(background, int64(i), &b))
		if string(b.Bytes()) != p {
			t.Fatalf("%s reads %q", p, b.Bytes())
		}
	}
	if err := new(folder).add("d/", make([]byte, maxFileName+1)); err == nil || !strings.Contains(err.Error(), "got a name of 256 bytes, want at most 255") {
		t.Fatalf("got %v", err)
	}
}

// The configured extensions decide, in any case and with or without their dot.
func TestFolderExtensionsCanBeChosen(t *testing.T) {
	dir := tree(t, "a.jpg", "b.DAT", "c.dat", "d.data")
	s := openF(t, FolderConfig{Dir: dir, Extensions: []string{".Dat"}})
	if got := keys(s); !slices.Equal(got, []string{"b.DAT", "c.dat"}) {
		t.Fatalf("%q", got)
	}
	for _, e := range ImageExtensions {
		if e != strings.ToLower(e) || len(e) > maxExtension || strings.Contains(e, ".") {
			t.Errorf("extension %q", e)
		}
	}
}

// What no build decodes is no picture.
func TestFolderOfWhatNobodyDecodes(t *testing.T) {
	_, err := OpenFolder(FolderConfig{Dir: tree(t, "a.tga", "b.jxl", "c.dib")})
	if !errors.Is(err, ErrNoSamples) || !strings.Contains(err.Error(), "3 other files (1 .dib, 1 .jxl, 1 .tga)") {
		t.Fatal(err)
	}
}

// A folder that cannot be a data set is refused at open, with what was found there.
func TestFolderRefusals(t *testing.T) {
	many := []string{"x/readme", "x/.hidden.jpg"}
	for i := range 100 {
		many = append(many, fmt.Sprintf("%d.e%02d", i, i), fmt.Sprintf("%d.txt", i))
	}
	linked := tree(t, "a/x.jpg", "b/y.jpg")
	must(t, os.Symlink("../b", filepath.Join(linked, "a", "more")))
	deep := t.TempDir()
	for at, i := deep, 0; i <= maxDepth; i++ {
		at = filepath.Join(at, "d")
		must(t, os.Mkdir(at, 0o755))
	}
	file := filepath.Join(tree(t, "a.jpg"), "a.jpg")
	for _, c := range []struct {
		dir    string
		none   bool
		wanted []string
	}{
		{"/nonexistent/x", false, []string{`source: folder "/nonexistent/x": no such directory`}},
		{"~/x", false, []string{`source: folder "~/x": no such directory; it is taken as it is written: ~ and $NAME are a shell's`}},
		{file, false, []string{"is not a directory"}},
		{t.TempDir(), true, []string{"no samples: found no files; want files ending in", "jpg"}},
		{tree(t, "a.txt", "b.txt", "c.csv"), true, []string{"found 3 other files (2 .txt, 1 .csv)", "; a table of paths is read by list in place of folder, such as list: DIR/NAME.csv"}},
		{tree(t, "a.txt"), true, []string{"found 1 other file (1 .txt);", "; name the directory that has them, or in source.extensions the endings of yours"}},
		{tree(t, "a.tar", "b.tar", "c.txt"), true, []string{"found 3 other files (2 .tar, 1 .txt);", "; archives are read by shards in place of folder, such as shards: DIR/*.tar"}},
		{tree(t, many...), true, []string{"found 201 other files (100 .txt, 38 without a short ending", "1 name that begins with a dot"}},
		{linked, false, []string{`directory "a": "more": a link to a directory`, "bind mount"}},
		{deep, false, []string{"more than 128 directories below each other"}},
	} {
		s, err := OpenFolder(FolderConfig{Dir: c.dir})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", c.dir)
			continue
		}
		for _, w := range c.wanted {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: got %v, want %q", c.dir, err, w)
			}
		}
		if errors.Is(err, ErrNoSamples) != c.none {
			t.Errorf("%s: ErrNoSamples is %v", c.dir, !c.none)
		}
	}
}

// A directory that may not be listed is refused: passing over it would lose its samples in silence.
func TestUnreadableDirectoryIsRefused(t *testing.T) {
	dir := tree(t, "a/x.jpg", "b/y.jpg")
	for _, p := range []string{filepath.Dir(dir), dir} {
		must(t, os.Chmod(p, 0o755))
	}
	must(t, os.Chmod(filepath.Join(dir, "b"), 0))
	asNobody(t, func() {
		if _, err := OpenFolder(FolderConfig{Dir: dir}); err == nil || !strings.Contains(err.Error(), `directory "b": permission denied`) {
			t.Errorf("got %v", err)
		}
	})
	must(t, os.Chmod(filepath.Join(dir, "b"), 0o755))
}

// A path that the system cannot open by name is refused at open.
func TestTooLongPathIsRefused(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	name := strings.Repeat("d", 250)
	for range 17 {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		must(t, unix.Close(fd))
		fd = next
	}
	must(t, unix.Close(fd))
	if _, err := OpenFolder(FolderConfig{Dir: dir}); err == nil || !strings.Contains(err.Error(), "longer than 4095 bytes") {
		t.Fatalf("got %.300v", err)
	}
}

// A file system that does not tell kinds in directories is asked for each name.
func TestUnknownKindsAreAskedFor(t *testing.T) {
	dir := tree(t, "a.jpg", "d/b.jpg")
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	w := newWalker(&folder{}, ImageExtensions)
	for name, want := range map[string]bool{"a.jpg": false, "d": true} {
		if got, err := w.isDirectory(fd, []byte(name), unix.DT_UNKNOWN); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := w.isDirectory(fd, []byte("none"), unix.DT_UNKNOWN); !errors.Is(err, unix.ENOENT) {
		t.Errorf("none: %v", err)
	}
}

func BenchmarkOpenFolder2000(b *testing.B) {
	dir := b.TempDir()
	for i := range 2000 {
		write(b, filepath.Join(dir, fmt.Sprintf("c%02d", i%20), fmt.Sprintf("img_%06d.jpg", i)), "x")
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s, err := OpenFolder(FolderConfig{Dir: dir, Labels: true})
		must(b, err)
		must(b, s.Close())
	}
}
