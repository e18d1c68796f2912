package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
)

// arrayFiles unpacks testdata/arrayrecord, which the library has written, and has the hashes of the records in each file.
func arrayFiles(t testing.TB) (dir string, want map[string][]string) {
	t.Helper()
	packed, err := filepath.Glob("testdata/arrayrecord/*.gz")
	must(t, err)
	dir = t.TempDir()
	for _, name := range packed {
		write(t, filepath.Join(dir, strings.TrimSuffix(filepath.Base(name), ".gz")), string(gunzipped(t, name)))
	}
	text, err := os.ReadFile("testdata/arrayrecord/want.json")
	must(t, err)
	must(t, json.Unmarshal(text, &want))
	return dir, want
}

func gunzipped(t testing.TB, packed string) []byte {
	t.Helper()
	f, err := os.Open(packed)
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	data, err := io.ReadAll(z)
	must(t, err)
	return data
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

var wholeRecord = []Medium{{Name: "image", From: []string{"record"}}}

// recordsRead are the hashes of all records of a source, each read by its chunk.
func recordsRead(t *testing.T, opened Source) (all []string) {
	t.Helper()
	s := opened.(*shards)
	var b Buffer
	for i := range s.Len() {
		sh, k := s.find(i)
		members, err := s.members(background, sh, k, nil)
		must(t, err)
		b.members = members
		record, err := s.record(background, sh, &b)
		must(t, err)
		all = append(all, hashOf(record))
	}
	return all
}

// What the library has written is read record by record, with any compression and in groups of any size, on a disk, over http and from a store, with the index that is
// made and the one that was kept.
func TestArrayRecordsHaveWhatTheLibraryWrote(t *testing.T) {
	dir, wanted := arrayFiles(t)
	origin := serveObjects(t, objectsIn(t, dir, "/b/a/"))
	client := storeClient(t, store.Options{Endpoint: origin.URL, Region: "r", PathStyle: true, Anonymous: true})
	index := t.TempDir()
	for file, want := range wanted {
		for _, at := range []string{dir + "/", origin.URL + "/b/a/", "s3://b/a/"} {
			for k := range 2 {
				c := ShardsConfig{Shards: []string{at + file + ".array_record"}, Columns: []Column{{Name: "label", Type: Int64, Default: []byte("0")}}, Media: []Medium{}, IndexDir: index, Store: client}
				if slices.Contains([]string{"single", "raw", "rawbrotli", "rawsnappy"}, file) {
					c.Media, c.Columns = wholeRecord, nil
				}
				if file == "empty" {
					if _, err := OpenShards(background, c); !errors.Is(err, ErrNoSamples) {
						t.Errorf("%s: got %v, want no samples", at, err)
					}
					continue
				}
				s := openS(t, c)
				if got := recordsRead(t, s); !slices.Equal(got, want) {
					t.Errorf("%s%s: got %d records, want %d, or others", at, file, len(got), len(want))
				}
				if key := string(s.Key(s.Len()-1, nil)); key != fmt.Sprint(len(want)-1) {
					t.Errorf("%s%s: got the key %q for the last sample", at, file, key)
				}
				if notes := s.(interface{ Notes() []string }).Notes(); k == 1 && len(notes) > 0 {
					t.Errorf("%s%s: the index was not kept: %q", at, file, notes)
				}
			}
		}
	}
}

// Features of Examples are parts as those of TFRecords: the picture, the label, columns of texts and of lists.
func TestExamplesOfArrayRecords(t *testing.T) {
	dir, _ := arrayFiles(t)
	columns := []Column{{Name: "text", Default: []byte("none"), MaxBytes: 200_000}, listOf("ids", tensor.I64, 9), {Name: "y", From: "label", Type: Float64}}
	for _, file := range []string{"default", "one", "zstd", "brotli", "snappy", "plain"} {
		s := openS(t, ShardsConfig{Shards: []string{filepath.Join(dir, file+".array_record")}, Columns: columns})
		for i := range min(s.Len(), 20) {
			label := i * i % 10
			if i == 3 {
				label--
			}
			b, picture := read(t, s, i)
			text := strings.Repeat("a text, and a text ", int(i%4))
			if s.Label(i) != label || !strings.HasPrefix(picture, "\xff\xd8") || !strings.HasSuffix(picture, "\xff\xd9") || string(b.Value(0)) != text || len(elementsOf(tensor.I64, b.Value(1))) != int(i%5) {
				t.Errorf("%s: sample %d: label %d, want %d; %d bytes of a picture; text %q; ids %v", file, i, s.Label(i), label, len(picture), b.Value(0), elementsOf(tensor.I64, b.Value(1)))
			}
			if got := elementsOf(tensor.F64, b.Value(2)); got[0] != float64(label) {
				t.Errorf("%s: sample %d: got %v", file, i, got)
			}
		}
	}
	many := []string{dir + "/many.array_record", dir + "/padded.array_record"}
	s := openS(t, ShardsConfig{Shards: many, Media: []Medium{}, Columns: []Column{{Name: "n", Type: Int64, Default: []byte("7")}}})
	for _, i := range []int64{599, 0, 300, 600} {
		b, _ := read(t, s, i)
		label, n := i, -i
		if i == 600 {
			label, n = 0, 7
		}
		if got := int64(binary.NativeEndian.Uint64(b.Value(0))); got != n || s.Label(i) != label {
			t.Errorf("sample %d: got %d and the label %d", i, got, s.Label(i))
		}
	}
	for want, c := range map[string]ShardsConfig{
		"source.columns: none of the first records has a part \"gone\"; the parts are label, n": {Shards: many[:1], Media: []Medium{}, Columns: []Column{{Name: "gone"}}},
		"source.label: none of the first records has a part \"y\"":                              {Shards: many[:1], Media: []Medium{}, Columns: []Column{{Name: "n", Type: Int64}}, Label: "y"},
		"no part is a picture by its ending":                                                    {Shards: many[:1]},
	} {
		c.IndexDir = t.TempDir()
		if _, err := OpenShards(background, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Records that are no Examples are one part, record: a picture where nothing is said, a column, or a member of it.
func TestRecordsThatAreNoExamples(t *testing.T) {
	dir, want := arrayFiles(t)
	for _, file := range []string{"single", "raw", "rawbrotli", "rawsnappy"} {
		for _, media := range [][]Medium{nil, wholeRecord} {
			s := openS(t, ShardsConfig{Shards: []string{filepath.Join(dir, file+".array_record")}, Media: media, Columns: []Column{{Name: "file", From: "record", MaxBytes: 200_000}}})
			for i := range s.Len() {
				var b Buffer
				if err := s.Read(background, i, &b); i == 0 {
					if err == nil || !strings.Contains(err.Error(), "got 0 bytes") {
						t.Errorf("%s: a record without bytes: %v", file, err)
					}
					continue
				} else if err != nil || hashOf(b.Bytes()) != want[file][i] || !bytes.Equal(b.Value(0), b.Bytes()) || s.Label(i) != -1 {
					t.Errorf("%s: record %d: %v, %d bytes", file, i, err, len(b.Bytes()))
				}
			}
		}
	}
	s := openS(t, ShardsConfig{Shards: []string{dir + "/raw.array_record"}, Media: []Medium{}, Columns: []Column{{Name: "n", From: "record[n]", Type: Int64}}})
	if b, _ := read(t, s, 5); binary.NativeEndian.Uint64(b.Value(0)) != 7 {
		t.Errorf("got %v", b.Value(0))
	}
	if parts, err := PartsOf(background, ShardsConfig{Shards: []string{dir + "/raw.array_record"}, IndexDir: t.TempDir()}); err != nil || !slices.Equal(parts, []string{"record"}) {
		t.Errorf("got the parts %q, %v", parts, err)
	}
}

// rangesOf counts what is asked of a server: the bytes of each request.
func rangesOf(o *objects) (asked func() (ranges int, total int64)) {
	var mu sync.Mutex
	n, all := 0, int64(0)
	o.change(func() {
		o.fault = func(_ http.ResponseWriter, r *http.Request) bool {
			var from, to int64
			if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err == nil {
				mu.Lock()
				defer mu.Unlock()
				n, all = n+1, all+to-from+1
			}
			return false
		}
	})
	return func() (int, int64) {
		mu.Lock()
		defer mu.Unlock()
		defer func() { n, all = 0, 0 }()
		return n, all
	}
}

// Without a label nothing but the file's end and its beginning is read to open it, and of a sample its chunk alone; a chunk of several records is read once, whoever wants them.
func TestArrayRecordsInAStoreAreReadByRanges(t *testing.T) {
	f := newForge()
	for i := range 100 {
		f.records(0, exampleOf(fmt.Sprint(i)+strings.Repeat("x", 100_000)))
	}
	f.records(0, exampleOf("a"), exampleOf("b"), exampleOf("c"))
	origin := serveObjects(t, map[string]string{"/x.array_record": string(f.close())})
	asked := rangesOf(origin)
	client := storeClient(t, store.Options{})
	index := t.TempDir()
	open := func() Source {
		return openS(t, ShardsConfig{Shards: []string{origin.URL + "/x.array_record"}, Media: []Medium{}, Columns: []Column{{Name: "text", MaxBytes: 200_000}}, IndexDir: index, Store: client})
	}
	s := open()
	if n, all := asked(); s.Len() != 103 || n > 3 || all > 2*arrayEnd {
		t.Errorf("%d samples; %d ranges of %d bytes were read to open it", s.Len(), n, all)
	}
	if s = open(); true {
		if n, _ := asked(); n != 0 {
			t.Errorf("%d ranges were read to open it again", n)
		}
	}
	b, _ := read(t, s, 42)
	if n, all := asked(); !strings.HasPrefix(string(b.Value(0)), "42xxx") || n != 1 || all > 110_000 {
		t.Errorf("%d ranges of %d bytes were read for a sample", n, all)
	}
	s.(Planned).Ahead([]int64{100, 101, 102})
	var all sync.WaitGroup
	for i := range 12 {
		all.Add(1)
		go func() {
			defer all.Done()
			var b Buffer
			if err := s.Read(background, int64(100+i%3), &b); err != nil || string(b.Value(0)) != string(rune('a'+i%3)) {
				t.Errorf("sample %d: %v, %q", 100+i%3, err, b.values)
			}
		}()
	}
	all.Wait()
	if n, _ := asked(); n != 1 {
		t.Errorf("%d ranges were read for the records of a chunk", n)
	}
}

// Samples that are planned together are one read, where they are neighbours.
func TestChunksThatAreNeighboursAreOneRead(t *testing.T) {
	f := newForge()
	for i := range 40 {
		f.records(0, exampleOf(fmt.Sprint(i)))
	}
	origin := serveObjects(t, map[string]string{"/x.array_record": string(f.close())})
	s := openS(t, ShardsConfig{Shards: []string{origin.URL + "/x.array_record"}, Media: []Medium{}, Columns: []Column{{Name: "text"}}, Store: storeClient(t, store.Options{})})
	asked := rangesOf(origin)
	some := []int64{7, 3, 21, 9}
	s.(Planned).Ahead(some)
	for _, i := range some {
		if b, _ := read(t, s, i); string(b.Value(0)) != fmt.Sprint(i) {
			t.Errorf("sample %d: got %q", i, b.Value(0))
		}
	}
	if n, _ := asked(); n != 1 {
		t.Errorf("got %d reads, want one", n)
	}
}

// A file of another name is known by what it begins with.
func TestArrayRecordsAreKnownByTheirBeginning(t *testing.T) {
	dir, want := arrayFiles(t)
	file := filepath.Join(t.TempDir(), "train-00000-of-00001")
	must(t, os.Rename(dir+"/single.array_record", file))
	if got := recordsRead(t, openS(t, ShardsConfig{Shards: []string{file}, Media: wholeRecord})); !slices.Equal(got, want["single"]) {
		t.Errorf("got %d records", len(got))
	}
}

// A chunk that is damaged behind the first makes its own records bad samples, with where it is and why; others are read.
func TestADamagedChunkIsOfItsOwnRecords(t *testing.T) {
	f := newForge()
	f.records(0, strings.Repeat("a", 300_000))
	bad := len(f.data)
	f.records(0, "bb", "cc")
	f.records(0, "d")
	short := f.chunk(riegeliSimple, 1, 1, simple(0, "\x01", "e"))
	f.list(short, 2)
	data := f.close()
	data[bad+riegeliHead+4] ^= 1
	file := filepath.Join(t.TempDir(), "x.array_record")
	write(t, file, string(data))
	s := openS(t, ShardsConfig{Shards: []string{file}, Media: wholeRecord})
	for i, want := range []string{"", "checksum", "checksum", "", "", "value"} {
		var b Buffer
		var e *Error
		switch err := s.Read(background, int64(i), &b); {
		case want == "" && err != nil:
			t.Errorf("sample %d: %v", i, err)
		case want != "" && (!errors.As(err, &e) || string(e.Cause) != want || !strings.Contains(e.Detail, fmt.Sprintf("its chunk at %d: ", map[bool]int{true: bad, false: short}[i < 5]))):
			t.Errorf("sample %d: got %v, want %s", i, err, want)
		}
	}
}

// So it is where labels are looked for, and where the first chunk is it. A label that was not seen then, and is there now, is not left out in silence.
func TestADamagedChunkHasNoLabels(t *testing.T) {
	f := newForge()
	var at []int
	for i := range uint64(4) {
		at = append(at, len(f.data))
		list := string(field(1, string(binary.AppendUvarint(nil, i))))
		f.records(0, string(field(1, string(field(1, string(field(1, "label"))+string(field(2, string(field(3, list)))))))))
	}
	whole := f.close()
	for _, bad := range at {
		name := filepath.Join(t.TempDir(), "x.array_record")
		data := bytes.Clone(whole)
		data[bad+riegeliHead+4] ^= 1
		write(t, name, string(data))
		info, err := os.Stat(name)
		must(t, err)
		c := ShardsConfig{Shards: []string{name}, Media: []Medium{}, Columns: []Column{{Name: "y", From: "label", Type: Int64}}}
		s := openS(t, c)
		tried := func(want string) {
			t.Helper()
			for i := range s.Len() {
				var b Buffer
				err := s.Read(background, i, &b)
				if at[i] != bad && (err != nil || s.Label(i) != i) {
					t.Errorf("sample %d of %d bad: %v, label %d", i, bad, err, s.Label(i))
				} else if at[i] == bad && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("sample %d: got %v, want %s", i, err, want)
				}
			}
		}
		tried("its data has the hash")
		same, err := os.OpenFile(name, os.O_WRONLY, 0)
		must(t, err)
		_, err = same.WriteAt(whole[bad:bad+100], int64(bad))
		must(t, errors.Join(err, same.Close(), os.Chtimes(name, info.ModTime(), info.ModTime())))
		tried("its chunk was damaged when the labels of the shard were read, and is not now")
	}
}

// Records of Examples that are none, and labels that are no one number, are bad samples.
func TestBadRecordsAmongExamples(t *testing.T) {
	label := func(list string) string {
		return string(field(1, string(field(1, string(field(1, "label"))+string(field(2, string(field(3, list))))))))
	}
	f := newForge()
	for range arrayFirst {
		f.records(0, label("\x08\x05"))
	}
	f.records(0, "no Example", label("\x08\x01\x08\x02"), exampleOf("without"))
	file := filepath.Join(t.TempDir(), "x.array_record")
	write(t, file, string(f.close()))
	for _, named := range []string{"", "label"} {
		s := openS(t, ShardsConfig{Shards: []string{file}, Media: []Medium{}, Label: named, Columns: []Column{{Name: "n", From: "label", Type: Int64, Default: []byte("3")}}})
		for i, want := range map[int64]string{0: "", arrayFirst: "it is no tf.train.Example", arrayFirst + 1: `feature "label" has not one whole number but none, or several`, arrayFirst + 2: map[bool]string{true: "no label; the parts are"}[named != ""]} {
			var b Buffer
			err := s.Read(background, i, &b)
			if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("label %q: sample %d: got %v, want %q", named, i, err, want)
			}
			if got := s.Label(i); got != map[bool]int64{true: 5, false: -1}[i == 0] {
				t.Errorf("sample %d: got the label %d", i, got)
			}
		}
	}
}

// A column of whole numbers is known without a sample being read, for orders, where every record has one.
func TestColumnsOfArrayRecordsAreKnown(t *testing.T) {
	dir, _ := arrayFiles(t)
	columns := []Column{{Name: "n", Type: Int64, Default: []byte("0")}, {Name: "y", From: "label", Type: Int64}, {Name: "x", From: "n", Type: Float64, Default: []byte("0")}}
	open := func(labels ShardLabels, shards ...string) Knowing {
		return openS(t, ShardsConfig{Shards: shards, Media: []Medium{}, Labels: labels, Columns: columns}).(Knowing)
	}
	many := dir + "/many.array_record"
	for _, labels := range []ShardLabels{LabelsOfPart, LabelsOff} {
		s := open(labels, many)
		n, y := s.Known("n"), s.Known("y")
		for _, i := range []int64{0, 7, 599} {
			if n(i) != -i || y(i) != i {
				t.Errorf("sample %d: got %v and %v", i, n(i), y(i))
			}
		}
		if s.Known("x") != nil {
			t.Error("floats are known")
		}
	}
	both := open(LabelsOff, many, dir+"/zstd.array_record")
	if both.Known("n") != nil {
		t.Error("a column that not every record has is known")
	}
	if y := both.Known("y"); y(5) != int64(5) || y(600+4) != int64(6) {
		t.Errorf("got %v and %v", y(5), y(604))
	}
}

// An order by shards goes by stretches of chunks where these have several records, as all of a chunk is unpacked for one.
func TestGroupsOfRecordsAreReadTogether(t *testing.T) {
	alone, groups := newForge(), newForge()
	large := strings.Repeat("x", 3<<20)
	for i := range 5 {
		alone.records(0, large)
		groups.records(0, fmt.Sprint(i), large)
	}
	dir := t.TempDir()
	write(t, dir+"/a.array_record", string(alone.close()))
	write(t, dir+"/b.array_record", string(groups.close()))
	dirs, _ := arrayFiles(t)
	s := openS(t, ShardsConfig{Shards: []string{dir + "/a.array_record", dir + "/b.array_record", dirs + "/raw.array_record"}, Media: wholeRecord})
	if got, want := s.(Sharded).Shards(), []int64{0, 5, 9, 13, 15}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What only some shards have in their first records is known of all of them. A label that comes later than these is missed by name.
func TestPartsThatComeLate(t *testing.T) {
	texts, labels := newForge(), newForge()
	for range arrayFirst {
		texts.records(0, exampleOf("t"))
	}
	both := func(label uint64) string {
		list := string(field(1, string(binary.AppendUvarint(nil, label))))
		return exampleOf("both") + string(field(1, string(field(1, string(field(1, "label"))+string(field(2, string(field(3, list))))))))
	}
	texts.records(0, both(3))
	labels.records(0, both(4))
	dir := t.TempDir()
	write(t, dir+"/a.array_record", string(texts.close()))
	write(t, dir+"/b.array_record", string(labels.close()))
	open := func(shards string, labels ShardLabels, column string) Source {
		return openS(t, ShardsConfig{Shards: []string{dir + shards}, Media: []Medium{}, Labels: labels, Columns: []Column{{Name: "y", From: column, Type: Text, Default: []byte("-")}}})
	}
	var b Buffer
	for _, shards := range []string{"/a.array_record", "/*.array_record"} {
		s := open(shards, LabelsOfPart, "text")
		if err := s.Read(background, arrayFirst, &b); err == nil || !strings.Contains(err.Error(), "it has a label, and the first records of the shard have none") {
			t.Errorf("%s: got %v", shards, err)
		}
		must(t, s.Read(background, 0, &b))
		if s.Label(0) != -1 || s.Len() > arrayFirst+1 && s.Label(arrayFirst+1) != 4 {
			t.Errorf("%s: got the label %d", shards, s.Label(0))
		}
		s = open(shards, LabelsOff, "text")
		must(t, s.Read(background, arrayFirst, &b))
	}
	s := openS(t, ShardsConfig{Shards: []string{dir + "/*.array_record"}, Media: []Medium{}, Labels: LabelsOff, Columns: []Column{{Name: "y", From: "label", Type: Int64, Default: []byte("9")}}})
	for i, want := range map[int64]uint64{0: 9, arrayFirst: 3, arrayFirst + 1: 4} {
		if b, _ := read(t, s, i); binary.NativeEndian.Uint64(b.Value(0)) != want {
			t.Errorf("sample %d: got %v, want %d", i, b.Value(0), want)
		}
	}
}

// The indexes of a shard with labels and without are two; either is made again where it is damaged.
func TestIndexesOfArrayRecordsAreMadeAgain(t *testing.T) {
	dir, _ := arrayFiles(t)
	for _, beside := range []bool{false, true} {
		index := t.TempDir()
		for _, labels := range []ShardLabels{LabelsOfPart, LabelsOff} {
			c := ShardsConfig{Shards: []string{dir + "/zstd.array_record"}, IndexDir: index, IndexBeside: beside, Labels: labels}
			s := openS(t, c)
			if got := s.Label(2); got != map[bool]int64{true: 4, false: -1}[labels == LabelsOfPart] {
				t.Errorf("got the label %d", got)
			}
			if notes := fmt.Sprint(s.(interface{ Notes() []string }).Notes()); labels == LabelsOfPart != strings.Contains(notes, "made the index of 1 of 1 shards") {
				t.Errorf("beside %v, labels %v: got the notes %s", beside, labels, notes)
			}
		}
		kept := index
		if beside {
			kept = dir
		}
		files, err := filepath.Glob(filepath.Join(kept, "*"+indexEnding))
		must(t, err)
		if len(files) != 2 {
			t.Errorf("beside %v: got %d indexes, want one with labels and one without", beside, len(files))
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			must(t, err)
			data[len(data)-1] ^= 1 // of the body
			write(t, file, string(data))
		}
		s := openS(t, ShardsConfig{Shards: []string{dir + "/zstd.array_record"}, IndexDir: index, IndexBeside: beside})
		if _, picture := read(t, s, 19); len(picture) != 300+37*19+4 || s.Label(19) != 1 {
			t.Errorf("got %d bytes, and the label %d", len(picture), s.Label(19))
		}
		for _, file := range files {
			must(t, os.Remove(file))
		}
	}
}

// Chunks that were used longest ago are let go, and are read again.
func TestKeptChunksAreBounded(t *testing.T) {
	var kept keptChunks
	sh := &shard{}
	for at := range int64(5) {
		k, first := kept.take(sh, at)
		if !first {
			t.Fatalf("chunk %d is there already", at)
		}
		k.values = make([]byte, keptChunkBytes/2-1<<10)
		kept.settle(k)
		if again, first := kept.take(sh, at); first || again != k {
			t.Errorf("chunk %d was not kept", at)
		}
	}
	if kept.all.Len() != 2 || len(kept.of) != 2 || kept.bytes > keptChunkBytes {
		t.Errorf("%d chunks of %d bytes are kept", kept.all.Len(), kept.bytes)
	}
	k, _ := kept.take(sh, 9)
	k.err = errors.New("failed")
	kept.settle(k)
	if _, first := kept.take(sh, 9); !first {
		t.Error("a chunk that failed is not read again")
	}
}
