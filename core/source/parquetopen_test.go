package source

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/leak"
)

// parquetObjects serves Parquet files of so many rows each, "/0.parquet" and so on, and says how they are opened.
func parquetObjects(t testing.TB, rows ...int) (*objects, ShardsConfig) {
	t.Helper()
	dir, data, first := t.TempDir(), map[string]string{}, 0
	for k, n := range rows {
		file := filepath.Join(dir, "x.parquet")
		writeParquet(t, file, pictureRows(first, first+n), 3)
		text, err := os.ReadFile(file)
		must(t, err)
		data[fmt.Sprintf("/%d.parquet", k)] = string(text)
		first += n
	}
	o := serveObjects(t, data)
	return o, ShardsConfig{
		Shards: []string{fmt.Sprintf("%s/{0..%d}.parquet", o.URL, len(rows)-1)}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{Retries: 1}),
		Columns: []Column{{Name: "caption"}, {Name: "l", From: "label", Type: Int64}},
	}
}

func openP(t testing.TB, c ShardsConfig) *parquetShards {
	t.Helper()
	s, err := OpenParquet(background, c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s.(*parquetShards)
}

// checkPictures compares all samples with those of pictureRows.
func checkPictures(t *testing.T, s Source, n int64) {
	t.Helper()
	if s.Len() != n {
		t.Fatalf("%d samples, want %d", s.Len(), n)
	}
	for i := range n {
		b, text := read(t, s, i)
		if len(text) != int(1000+i) || text[0] != byte(i) || s.Label(i) != i%4 || string(b.Value(0)) != fmt.Sprint("caption ", i) || s.(*parquetShards).numbers[1][i] != i%4 {
			t.Fatalf("%d: %d bytes, %d, %q", i, len(text), s.Label(i), b.Value(0))
		}
	}
}

// Parquet files of a store are opened as many at a time as is said, and no more; samples, labels and columns are in the order of the files, whichever
// came first.
func TestParquetFilesAreOpenedSeveralAtATime(t *testing.T) {
	const atATime = 4
	rows := []int{5, 0, 7, 3, 4, 1, 9, 2}
	o, c := parquetObjects(t, rows...)
	c.Fetch = atATime
	var asked, waiting, most atomic.Int64
	together := make(chan struct{})
	o.fault = func(w http.ResponseWriter, r *http.Request) bool {
		n := waiting.Add(1)
		defer waiting.Add(-1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		if asked.Add(1) == atATime {
			close(together)
		}
		<-together                                                        // one after the other, the first would wait for ever
		time.Sleep(time.Duration(asked.Load()*7919%5) * time.Millisecond) // answers come in any order
		return false
	}
	var told []int
	c.Opened = func(opened, of, _ int) {
		if told = append(told, opened); of != len(rows) {
			t.Errorf("opened %d of %d", opened, of)
		}
	}
	s := openP(t, c)
	o.change(func() { o.fault = nil })
	if n := most.Load(); n != atATime {
		t.Errorf("%d requests at a time, want %d", n, atATime)
	}
	if fmt.Sprint(told) != "[1 2 3 4 5 6 7 8]" {
		t.Errorf("told %d", told)
	}
	checkPictures(t, s, 31)
	c.Fetch = 1
	if a, _ := s.Fingerprint(); a != fingerprint(t, openP(t, c)) {
		t.Error("another data set than one file after the other")
	}
}

func fingerprint(t *testing.T, s Fingerprinted) Fingerprint {
	t.Helper()
	f, ok := s.Fingerprint()
	if !ok {
		t.Fatal("no fingerprint")
	}
	return f
}

// Of several files that cannot be opened the first is named, whichever is found out first, and nothing is left behind.
func TestFirstParquetFileThatIsRefusedIsNamed(t *testing.T) {
	o, c := parquetObjects(t, 3, 3, 3, 3, 3, 3)
	sixth, found := make(chan struct{}), sync.Once{}
	o.fault = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/2.parquet":
			<-sixth
		case "/5.parquet":
			found.Do(func() { close(sixth) })
		default:
			return false
		}
		http.Error(w, "no", http.StatusForbidden)
		return true
	}
	_, err := OpenParquet(background, c)
	if err == nil || !strings.Contains(err.Error(), `2.parquet": permission: got status 403`) {
		t.Errorf("got %v", err)
	}
	// The rows of one, the columns of another.
	file := filepath.Join(t.TempDir(), "x.parquet")
	writeParquet(t, file, []struct {
		Image []byte `parquet:"image"`
	}{{[]byte("x")}}, 1)
	other, err := os.ReadFile(file)
	must(t, err)
	o.change(func() { o.fault, o.data["/4.parquet"], o.data["/5.parquet"] = nil, string(other), o.data["/3.parquet"] })
	if _, err := OpenParquet(background, c); err == nil || !strings.Contains(err.Error(), `4.parquet": no column "caption"`) {
		t.Errorf("got %v", err)
	}
}

// An opening that is cancelled while the store says nothing ends at once, and so does one of whose files another is refused.
func TestOpeningOfParquetEndsAtOnce(t *testing.T) {
	o, c := parquetObjects(t, 3, 3, 3, 3)
	ctx, stop := context.WithCancel(background)
	var asked atomic.Int64
	hang := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && asked.Add(1) == 4 {
			stop()
		}
		if r.Method == http.MethodGet {
			<-r.Context().Done()
		}
		return r.Method == http.MethodGet
	}
	o.change(func() { o.fault = hang })
	if _, err := OpenParquet(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	o.change(func() {
		o.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/0.parquet" {
				http.NotFound(w, r)
				return true
			}
			return hang(w, r)
		}
	})
	if _, err := OpenParquet(background, c); err == nil || !strings.Contains(err.Error(), `0.parquet": missing`) {
		t.Errorf("got %v", err)
	}
}

// Files with lists are the same whether they are read several at a time or one after the other, also in which of them are held in memory.
func TestListsOfManyParquetFiles(t *testing.T) {
	files, want := threeFiles(t)
	one := openTokens(t, files...)
	holding(t, one.files[0].listBytesOf(one.columns)+1)
	o := serveFiles(t, files)
	c := ShardsConfig{Shards: []string{o.URL + "/{0..3}.parquet"}, IndexDir: t.TempDir(), Media: none, Columns: tokenColumns, Store: storeClient(t, store.Options{Retries: 1}), Fetch: 8}
	s := openP(t, c)
	if len(s.listFiles) != 2 || s.made != 2 {
		t.Errorf("lists of %d files are on a disk and %d were made, want 2", len(s.listFiles), s.made)
	}
	identities := ""
	for i := range s.Len() {
		if got := tokensAt(t, s, i); got != want[i].String() {
			t.Fatalf("row %d: got %s, want %s", i, got, want[i].String())
		}
		identities += string(s.Identity(i, nil))
	}
	c.Fetch = 1
	s = openP(t, c)
	for i := range s.Len() {
		identities = strings.TrimPrefix(identities, string(s.Identity(i, nil)))
	}
	if identities != "" {
		t.Error("other identities than of one file after the other")
	}
	must(t, leak.After(3, 1<<20, func(int) { // of local files: connections come and go
		bad := c
		bad.Shards, bad.Columns = files, append([]Column{listOf("ids", tensor.I32, 5)}, tokenColumns[1:]...)
		if _, err := OpenParquet(background, bad); err == nil || !strings.Contains(err.Error(), `0.parquet": column "ids": row `) {
			t.Errorf("got %v", err)
		}
	}))
}

// serveFiles serves local files by their names.
func serveFiles(t testing.TB, files []string) *objects {
	t.Helper()
	data := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		data["/"+filepath.Base(file)] = string(text)
	}
	return serveObjects(t, data)
}

// What opening reads of a store is kept by the version: the second opening asks for each file's version and for nothing else, whatever the order of its
// columns; a file that was written again is read again, alone, and so is one whose kept copy is damaged.
func TestParquetFilesThatHaveNotChangedAreNotReadAgain(t *testing.T) {
	o, c := parquetObjects(t, 5, 7, 3)
	opening := func(what string, requests int) {
		t.Helper()
		before := o.requests
		s := openP(t, c)
		if got := o.requests - before; got != requests {
			t.Errorf("%s: %d requests, want %d", what, got, requests)
		}
		checkPictures(t, s, 15)
	}
	opening("the first", 6) // the versions, and the ends, in which all of such a small file lies
	opening("the second", 3)
	o.change(func() { o.etag["/1.parquet"] = "+" })
	opening("another version", 4)
	opening("which is kept then", 3)
	kept := leak.Names(t, c.IndexDir)
	if len(kept) != 3 {
		t.Fatalf("kept %q", kept)
	}
	for _, name := range kept {
		name = filepath.Join(c.IndexDir, name)
		data, err := os.ReadFile(name)
		must(t, err)
		for _, bad := range []string{"", string(data[:len(data)-1]), string(data[:keptHead+3]), strings.Replace(string(data), "SPDLPQT\x01", "SPDLPQT\x00", 1), string(data[:len(data)-9]) + "x" + string(data[len(data)-8:])} {
			write(t, name, bad)
			opening("a damaged copy", 4)
		}
	}
	o.change(func() { delete(o.data, "/2.parquet") })
	if _, err := OpenParquet(background, c); err == nil || !strings.Contains(err.Error(), `2.parquet": missing: got status 404`) {
		t.Errorf("got %v", err)
	}
}

// Columns that an opening before has not read are read and kept beside those that it has; pages of media are not kept.
func TestKeptPartsOfParquetFilesGrow(t *testing.T) {
	rows := pictureRows(0, 200)
	for k := range rows {
		rows[k].Caption = strings.Repeat(fmt.Sprint(k, " "), 500)
	}
	file := filepath.Join(t.TempDir(), "0.parquet")
	writeParquet(t, file, rows, 50)
	o := serveFiles(t, []string{file})
	c := ShardsConfig{Shards: []string{o.URL + "/0.parquet"}, IndexDir: t.TempDir(), Store: storeClient(t, store.Options{Retries: 1})}
	opening := func() (requests int) {
		t.Helper()
		before := o.requests
		s := openP(t, c)
		requests = o.requests - before
		for i := range s.Len() {
			b, text := read(t, s, i)
			if text != string(rows[i].Image.Bytes) || len(c.Columns) > 0 && string(b.Value(0)) != rows[i].Caption {
				t.Fatal(i)
			}
		}
		return requests
	}
	size := func() int64 {
		st, err := os.Stat(filepath.Join(c.IndexDir, leak.Names(t, c.IndexDir)[0]))
		must(t, err)
		return st.Size()
	}
	if n := opening(); n < 3 || opening() != 1 {
		t.Errorf("%d requests, then more than one", n)
	}
	labels := size()
	c.Columns = []Column{{Name: "caption", MaxBytes: 1 << 20}}
	if n := opening(); n < 5 || opening() != 1 {
		t.Errorf("%d requests with captions, then more than one", n)
	}
	if all := size(); all < labels+4*2000 || all > int64(len(o.data["/0.parquet"])) {
		t.Errorf("%d bytes kept, with captions %d", labels, all)
	}
	c.Columns = nil
	if opening() != 1 {
		t.Error("without captions it is read again")
	}
	c.IndexDir = file // no directory
	s := openP(t, c)
	if notes := s.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "what was read of a file could not be kept and will be read again next time: ") {
		t.Errorf("notes %q", notes)
	}
}

// Shards that a pattern finds in a bucket are known from the listing: their second opening is that one request. By name they are of the same versions, and
// one that is written again after the listing is not taken for what it was.
func TestListedShardsAreNotAskedForAgain(t *testing.T) {
	dir := t.TempDir()
	objects := map[string]string{}
	for k := range 3 {
		writeParquet(t, dir+"/x.parquet", pictureRows(5*k, 5*k+5), 3)
		text, err := os.ReadFile(dir + "/x.parquet")
		must(t, err)
		objects[fmt.Sprintf("p-%d.parquet", k)] = string(text)
		objects[fmt.Sprintf("s-%d.tar", k)] = string(tarOf(t, tar.FormatGNU, pairs(5*k, 5*k+5)...))
	}
	b := serveBucket(t, objects)
	for pattern, open := range map[string]func(context.Context, ShardsConfig) (Source, error){"p-%s.parquet": OpenParquet, "s-%s.tar": OpenShards} {
		c := ShardsConfig{Store: b.client(t), IndexDir: t.TempDir()}
		opening := func(which string) (requests int) {
			t.Helper()
			before := b.requests
			c.Shards = []string{"s3://bucket/" + fmt.Sprintf(pattern, which)}
			s, err := open(background, c)
			must(t, err)
			defer func() { must(t, s.Close()) }()
			if s.Len() != 15 {
				t.Fatal(s.Len())
			}
			return b.requests - before
		}
		first, second, named := opening("*"), opening("*"), opening("{0..2}")
		if first <= 3 || second != 1 || named != 3 {
			t.Errorf("%s: %d requests, then %d, by name %d; want more than 3, 1, 3", pattern, first, second, named)
		}
		c.Shards = []string{"s3://bucket/" + fmt.Sprintf(pattern, "*")}
		s, err := open(background, c)
		must(t, err)
		b.put(fmt.Sprintf(pattern, "1"), objects[fmt.Sprintf(pattern, "1")])
		remoteCause(t, s, 6, Changed)
		must(t, s.Close())
		if n := opening("*"); n <= 1 || opening("*") != 1 {
			t.Errorf("%s: another version: %d requests, then more than one", pattern, n)
		}
	}
}
