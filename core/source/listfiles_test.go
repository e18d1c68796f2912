package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/leak"
)

// holding sets how many bytes of lists are held in memory, and gives the test a directory of its own for the others.
func holding(t *testing.T, bytes int64) (lists string) {
	dir, before := t.TempDir(), listMemory
	t.Setenv("SPDL_CACHE_DIR", dir)
	listMemory = bytes
	t.Cleanup(func() { listMemory = before })
	return filepath.Join(dir, "lists")
}

// inMemoryAndOnDisk runs a test with all lists held in memory, with files that are made for them, and with those files.
func inMemoryAndOnDisk(t *testing.T, test func(*testing.T)) {
	t.Run("in memory", test)
	holding(t, 0)
	t.Run("on a disk", test)
	t.Run("on a disk again", test)
}

// tokens are rows of ids and of what belongs to them.
type tokens struct {
	Ids  []int64   `parquet:"ids,list"`
	Mask []int32   `parquet:"mask,list"`
	Loss []float32 `parquet:"loss,list"`
	Text string    `parquet:"text"`
}

var tokenColumns = []Column{listOf("ids", tensor.I32, 4000), listOf("mask", tensor.U8, 4000), {Name: "text"}, listOf("loss", tensor.F32, 0, 2)}

// tokensOf are some rows from a number on, of other lengths each, up to one that does not go into a page.
func tokensOf(first, n int) (all []tokens) {
	for i := range n {
		row := tokens{Ids: []int64{}, Mask: []int32{}, Loss: []float32{float32(i), float32(first)}, Text: fmt.Sprint(first + i)}
		for k := range (first + i) * 37 % 300 {
			row.Ids, row.Mask = append(row.Ids, int64(first+i+k)), append(row.Mask, int32(k%2))
		}
		if i == n/2 {
			for k := range 3000 {
				row.Ids = append(row.Ids, int64(k))
			}
		}
		all = append(all, row)
	}
	return all
}

func (r *tokens) String() string { return fmt.Sprint(r.Ids, r.Mask, r.Text, r.Loss) }

func openTokens(t *testing.T, files ...string) *parquetShards {
	t.Helper()
	s, err := OpenParquet(background, ShardsConfig{Shards: files, Media: none, Columns: tokenColumns})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s.(*parquetShards)
}

func tokensAt(t *testing.T, s Source, i int64) string {
	t.Helper()
	b, _ := read(t, s, i)
	ids := elementsOf(tensor.I16, nil)
	for v := b.Value(0); len(v) > 0; v = v[4:] {
		ids = append(ids, float64(int32(uint32(v[0])|uint32(v[1])<<8|uint32(v[2])<<16|uint32(v[3])<<24)))
	}
	return fmt.Sprint(ids, elementsOf(tensor.U8, b.Value(1)), string(b.Value(2)), elementsOf(tensor.F32, b.Value(3)))
}

// threeFiles are some with rows of several groups and pages, and one with none.
func threeFiles(t *testing.T) (files []string, want []tokens) {
	dir := t.TempDir()
	for k, n := range []int{70, 0, 110, 50} {
		rows := tokensOf(len(want), n)
		file := filepath.Join(dir, fmt.Sprintf("%d.parquet", k))
		writeParquet(t, file, rows, 40)
		files, want = append(files, file), append(want, rows...)
	}
	return files, want
}

// Lists beyond what is held in memory lie on a disk, and are the same in whatever order they are read, by whatever number of files is still held; the next
// opening finds them there and reads no list.
func TestListsBeyondMemoryLieOnADisk(t *testing.T) {
	files, want := threeFiles(t)
	all := openTokens(t, files...)
	for held, onDisk := range map[int64]int{0: 3, all.files[0].listBytesOf(all.columns) + all.files[1].listBytesOf(all.columns): 2, 1 << 30: 0} {
		dir := holding(t, held)
		for again := range 2 {
			s := openTokens(t, files...)
			if len(s.listFiles) != onDisk || s.made != onDisk*(1-again) {
				t.Errorf("%d bytes held: lists of %d files are on a disk and %d were made, want %d", held, len(s.listFiles), s.made, onDisk)
			}
			if notes := s.Notes(); again == 0 && onDisk > 0 && (len(notes) != 1 || notes[0] != fmt.Sprintf("unpacked the lists of %d of %d files to a disk", onDisk, onDisk)) {
				t.Errorf("notes %q", notes)
			}
			for _, i := range rand.Perm(len(want)) {
				if got := tokensAt(t, s, int64(i)); got != want[i].String() {
					t.Fatalf("%d bytes held: row %d: got %s, want %s", held, i, got, want[i].String())
				}
			}
		}
		if onDisk > 0 && len(leak.Names(t, dir)) != onDisk {
			t.Errorf("%q in %s, want %d files", leak.Names(t, dir), dir, onDisk)
		}
	}
}

func (f *parquetFile) listBytesOf(columns []Column) (n int64) {
	for c := range columns {
		if columns[c].Type == List {
			n += f.listBytes(f.list(columns[c].From), &columns[c])
		}
	}
	return n
}

// What was kept of another version, for other columns, or is damaged in its head or end, is made again; a damaged row is a bad sample that says what
// to remove.
func TestKeptListsAreOfTheirFile(t *testing.T) {
	dir := holding(t, 0)
	file := filepath.Join(t.TempDir(), "t.parquet")
	rows := tokensOf(0, 60)
	writeParquet(t, file, rows, 30)
	identity := string(openTokens(t, file).Identity(7, nil))
	kept := filepath.Join(dir, leak.Names(t, dir)[0])
	whole, err := os.ReadFile(kept)
	must(t, err)
	for _, at := range []int{0, 9, listHead - 1, len(whole) - 1} {
		bad := append([]byte{}, whole...)
		bad[at] ^= 1
		must(t, os.WriteFile(kept, bad, 0o600))
		if s := openTokens(t, file); s.made != 1 || tokensAt(t, s, 7) != rows[7].String() {
			t.Errorf("byte %d: made %d", at, s.made)
		}
	}
	must(t, os.WriteFile(kept, whole[:len(whole)-8], 0o600))
	if s := openTokens(t, file); s.made != 1 {
		t.Error("a short file was taken")
	}
	bad := append([]byte{}, whole...)
	bad[listHead+listCheck] ^= 1 // of row 1; row 0 has no ids
	must(t, os.WriteFile(kept, bad, 0o600))
	var b Buffer
	err = openTokens(t, file).Read(background, 1, &b)
	var e *Error
	if want := `column "ids": its row in "` + kept + `" is damaged; remove that file, and it is made again`; !errors.As(err, &e) || e.Cause != IO || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	must(t, os.Remove(kept))
	rows = tokensOf(5, 60)
	writeParquet(t, file, rows, 30)
	s := openTokens(t, file)
	if s.made != 1 || tokensAt(t, s, 7) != rows[7].String() || string(s.Identity(7, nil)) == identity {
		t.Error("the lists are those of the file before")
	}
	other, err := OpenParquet(background, ShardsConfig{Shards: []string{file}, Media: none, Columns: []Column{listOf("ids", tensor.I64, 4000)}})
	must(t, err)
	must(t, other.Close())
	if names := leak.Names(t, dir); len(names) != 2 {
		t.Errorf("%q, want a file for each choice of columns", names)
	}
	table := openL(t, ListConfig{File: file, Alone: true, Columns: tokenColumns}).(Versioned)
	if a, b := table.Identity(3, nil), table.Identity(4, nil); len(a) == 0 || string(a) == string(b) {
		t.Errorf("identities %q and %q", a, b)
	}
}

// Where there is no room for the lists, the refusal says how many bytes they take, and what to do; a Parquet file that is refused, or an opening that is
// given up, leaves nothing.
func TestListsWithoutRoomAreRefused(t *testing.T) {
	dir := holding(t, 0)
	file := filepath.Join(t.TempDir(), "t.parquet")
	writeParquet(t, file, tokensOf(0, 60), 30)
	try := func(ctx context.Context, want string, columns ...Column) {
		t.Helper()
		if _, err := OpenParquet(ctx, ShardsConfig{Shards: []string{file}, Media: none, Columns: columns}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if names, _ := os.ReadDir(dir); len(names) > 0 {
			t.Errorf("left %v", names)
		}
	}
	try(background, `column "ids": row 3: got a list of more than 100, want at most that`, listOf("ids", tensor.I64, 100))
	stopped, stop := context.WithCancel(background)
	stop()
	try(stopped, context.Canceled.Error(), tokenColumns...)
	t.Setenv("SPDL_CACHE_DIR", file)
	try(background, "its lists take ", tokenColumns...)
	try(background, "bytes unpacked, more than the 0 of lists that are held in memory, and there is no file for them: mkdir "+file, tokenColumns...)
	try(background, "have SPDL_CACHE_DIR name a directory with room for them", tokenColumns...)
	w := listWriter{path: filepath.Join(dir, "x")}
	if err := w.begin(filepath.Dir(file), 1<<62); err == nil || !strings.Contains(err.Error(), "bytes free") {
		t.Errorf("got %v", err)
	}
}

// Lists are Parquet's in all files, or JSON in all.
func TestListsAndTextsOfListsDoNotMix(t *testing.T) {
	holding(t, 1<<30)
	type text struct {
		Ids string `parquet:"ids"`
	}
	dir := t.TempDir()
	writeParquet(t, dir+"/a.parquet", tokensOf(0, 2), 2)
	writeParquet(t, dir+"/b.parquet", []text{{"[1, 2]"}, {"[3]"}}, 2)
	open := func(files ...string) (Source, error) {
		return OpenParquet(background, ShardsConfig{Shards: files, Media: none, Columns: []Column{listOf("ids", tensor.I64, 9999)}})
	}
	for _, files := range [][]string{{dir + "/a.parquet", dir + "/b.parquet"}, {dir + "/b.parquet", dir + "/a.parquet"}} {
		if _, err := open(files...); err == nil || !strings.Contains(err.Error(), `column "ids": this file has lists of numbers and others have texts, or the other way round`) {
			t.Errorf("got %v", err)
		}
	}
	s, err := open(dir + "/b.parquet")
	must(t, err)
	if b, _ := read(t, s, 0); fmt.Sprint(elementsOf(tensor.I64, b.Value(0))) != "[1 2]" {
		t.Errorf("got %v", b.Value(0))
	}
	must(t, s.Close())
}

// Opening and closing leaves no descriptor, also where the last file is refused.
func TestListFilesAreClosed(t *testing.T) {
	holding(t, 0)
	files, _ := threeFiles(t)
	bad := filepath.Join(t.TempDir(), "bad.parquet")
	writeParquet(t, bad, []tokens{{Ids: make([]int64, 5000)}}, 1)
	must(t, leak.After(3, 1<<20, func(int) {
		s, err := OpenParquet(background, ShardsConfig{Shards: files, Media: none, Columns: tokenColumns})
		must(t, err)
		must(t, s.Close())
		if _, err := OpenParquet(background, ShardsConfig{Shards: append([]string{files[0]}, bad), Media: none, Columns: tokenColumns}); err == nil {
			t.Error("a list that is too long was taken")
		}
	}))
}
