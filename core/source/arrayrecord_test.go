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
	"github.com/klauspost/compress/zstd"
	"github.com/minio/highwayhash"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
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

// exampleOf is an Example of one text.
func exampleOf(text string) string {
	return string(field(1, string(field(1, string(field(1, "text"))+string(field(2, string(field(1, string(field(1, text))))))))))
}

func field(number uint64, data string) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|wireBytes), uint64(len(data))), data...)
}

// arrayForge writes ArrayRecords that the library would not.
type arrayForge struct {
	data   []byte
	footer []string
	n      uint64
}

func newForge() *arrayForge {
	f := &arrayForge{}
	f.chunk('s', 0, 0, "")
	return f
}

// chunk appends one, with whatever a header says, and tells where it begins.
func (f *arrayForge) chunk(kind byte, n, size uint64, data string) (at int) {
	le := binary.LittleEndian
	head := le.AppendUint64(nil, uint64(len(data)))
	head = le.AppendUint64(head, highwayhash.Sum64([]byte(data), riegeliKey))
	head = le.AppendUint64(le.AppendUint64(head, n<<8|uint64(kind)), size)
	return f.raw(string(le.AppendUint64(nil, highwayhash.Sum64(head, riegeliKey))) + string(head) + data)
}

// raw appends bytes, and blocks' headers between them.
func (f *arrayForge) raw(data string) (at int) {
	at = len(f.data)
	for len(data) > 0 {
		if len(f.data)%riegeliBlock == 0 {
			f.data = append(f.data, bytes.Repeat([]byte{0xee}, riegeliBlockHead)...)
		}
		n := min(riegeliBlock-len(f.data)%riegeliBlock, len(data))
		f.data, data = append(f.data, data[:n]...), data[n:]
	}
	return at
}

// simple is the data of a chunk.
func simple(as byte, sizes, values string) string {
	return string(as) + string(binary.AppendUvarint(nil, uint64(len(sizes)))) + sizes + values
}

func sizesOf(records ...string) string {
	var sizes []byte
	for _, r := range records {
		sizes = binary.AppendUvarint(sizes, uint64(len(r)))
	}
	return string(sizes)
}

// records appends a chunk of some, and has the footer list it.
func (f *arrayForge) records(as byte, all ...string) {
	f.list(f.chunk(riegeliSimple, uint64(len(all)), uint64(len(strings.Join(all, ""))), simple(as, sizesOf(all...), strings.Join(all, ""))), uint64(len(all)))
}

func (f *arrayForge) list(at int, n uint64) {
	f.footer = append(f.footer, varints(1, uint64(at), 3, n))
	f.n += n
}

// varints is a message of numbers: field, value and so on.
func varints(all ...uint64) string {
	var m []byte
	for ; len(all) > 0; all = all[2:] {
		m = binary.AppendUvarint(binary.AppendUvarint(m, all[0]<<3), all[1])
	}
	return string(m)
}

func (f *arrayForge) close() []byte {
	return f.closeWith(varints(1, arrayVersion, 2, uint64(len(f.footer)), 3, f.n))
}

// closeWith ends the file with a footer whose first message says what it is told.
func (f *arrayForge) closeWith(metadata string) []byte {
	all := append([]string{string(field(1, metadata))}, f.footer...)
	return f.closeAt(f.chunk(riegeliSimple, uint64(len(all)), uint64(len(strings.Join(all, ""))), simple(0, sizesOf(all...), strings.Join(all, ""))))
}

// closeAt ends the file with a postscript that has the footer somewhere.
func (f *arrayForge) closeAt(footer int) []byte {
	f.data = append(f.data, make([]byte, (riegeliBlock-len(f.data)%riegeliBlock)%riegeliBlock)...)
	says := varints(1, uint64(footer), 2, arrayMagic)
	f.chunk(riegeliSimple, 3, uint64(3*len(says)), simple(0, sizesOf(says, says, says), strings.Repeat(says, 3)))
	return append(f.data, make([]byte, riegeliBlock-len(f.data)%riegeliBlock)...)
}

// A file that is not whole, or whose footer leads elsewhere, is refused, with what it says and what to do.
func TestForgedArrayRecordsAreRefusedByName(t *testing.T) {
	whole := func() *arrayForge {
		f := newForge()
		f.records(0, "one", "two")
		return f
	}
	closed := whole().close()
	forged := func(change func(f *arrayForge)) []byte {
		f := whole()
		change(f)
		return f.close()
	}
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":             {nil, "got 0 bytes, want a multiple of 65536, as ArrayRecords have: its last 64 KiB are no postscript of ArrayRecord's; it is truncated"},
		"cut":                 {closed[:len(closed)-100], "bytes, want a multiple of 65536"},
		"cut by a block":      {slices.Concat(closed[:riegeliBlock], closed[:riegeliBlock], closed[riegeliBlock:])[:2*riegeliBlock], "its last 64 KiB are no postscript of ArrayRecord's; it is truncated, was not closed by its writer, or is a file of Riegeli's without a footer: write or copy it again"},
		"no postscript":       {slices.Concat(closed[:riegeliBlock], make([]byte, riegeliBlock)), "no postscript of ArrayRecord's"},
		"a footer beyond":     {whole().closeAt(1 << 40), "damaged: its footer begins at 1099511627776 of 65536 bytes; write or copy it again"},
		"a footer before":     {whole().closeAt(0), "damaged: its footer begins at 0 of 65536 bytes"},
		"a footer that is no": {whole().closeAt(64 + 1), "footer at 65: its header has the hash"},
		"records as a footer": {whole().closeAt(64), "damaged: its footer is no list of chunks; write or copy it again"},
		"another version":     {whole().closeWith(varints(1, 2, 2, 1, 3, 2)), "got ArrayRecord of version 2, want 1; write it with an array_record that does"},
		"more chunks":         {whole().closeWith(varints(1, 1, 2, 1<<60, 3, 2)), "its footer says that it has 1152921504606846976 chunks, and lists 1"},
		"more records":        {whole().closeWith(varints(1, 1, 2, 1, 3, 1<<60)), "its footer says that it has 1152921504606846976 records, in"},
		"one record more":     {whole().closeWith(varints(1, 1, 2, 1, 3, 3)), "its footer says that it has 3 records, and its chunks have 2"},
		"a chunk of billions": {forged(func(f *arrayForge) { f.list(f.raw("x"), 1<<40) }), "records, in"},
		"a chunk of too many": {forged(func(f *arrayForge) { f.list(f.raw("x"), 60) }), "damaged: by its footer chunk 1 has 60 records and lies from"},
		"a chunk of none":     {forged(func(f *arrayForge) { f.list(f.raw("x"), 0) }), "damaged: by its footer chunk 1 has 0 records"},
		"a chunk of fewer":    {forged(func(f *arrayForge) { f.footer, f.n = nil, 0; f.list(64, 1) }), "chunk at 64, of records 0 to 0: damaged: got 2 records, want 1, as the footer says"},
		"a chunk beyond":      {forged(func(f *arrayForge) { f.list(1<<40, 1) }), "damaged: by its footer chunk 0 has 2 records and lies from 64 to 1099511627776"},
		"a chunk twice":       {forged(func(f *arrayForge) { f.list(64, 2) }), "damaged: by its footer chunk 0 has 2 records and lies from 64 to 64"},
		"before the first":    {forged(func(f *arrayForge) { f.footer = slices.Insert(f.footer, 0, varints(1, 0, 3, 1)); f.n++ }), "damaged: by its footer chunk 0 has 1 records and lies from 0 to 64"},
		"no place":            {forged(func(f *arrayForge) { f.footer[0] = varints(3, 2) }), "damaged: by its footer chunk 0 has 2 records and lies from -1"},
		"text for a chunk":    {forged(func(f *arrayForge) { f.footer[0] = "text" }), "damaged: its footer is no list of chunks"},
		"transposed":          {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('t', 2, 6, "") }), "its records are transposed, which is not read; write the file without transpose, as ArrayRecordWriter(path, \"group_size:1\") does"},
		"of another type":     {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('x', 2, 6, "") }), "chunk at 64, of records 0 to 1: damaged: it is a chunk of type 'x', want one of records"},
		"another compression": {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple('q', "\x00", "\x00")) }), "its compression is 'q', want none, brotli, zstd or snappy; write the file with one of them"},
		"no data":             {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, "") }), "damaged: it is longer than its place"},
		"sizes beyond":        {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, "\x00\x7f\x03\x03onetwo") }), "damaged: it is longer than its place"},
		"sizes of too few":    {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple(0, "\x06", "onetwo")) }), "damaged: the sizes of its 2 records are not theirs"},
		"sizes of too many":   {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple(0, "\x03\x03\x00", "onetwo")) }), "damaged: its 2 records have 6 bytes by their sizes, and 1 bytes of sizes are left, want 6 and none"},
		"a size too large":    {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple(0, "\x03\x7f", "onetwo")) }), "damaged: the sizes of its 2 records are not theirs"},
		"more bytes":          {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 7, simple(0, "\x03\x03", "onetwo")) }), "damaged: it has 6 bytes of records, and says 7"},
		"fewer values":        {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple(0, "\x03\x03", "one")) }), "damaged: it has 3 bytes of records, and says 6"},
		"zstd that is none":   {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 6, simple('z', "\x02no", "\x06no")) }), "it cannot be unpacked (ZSTD): "},
		"a bomb of sizes": {forged(func(f *arrayForge) {
			f.data = f.data[:64]
			f.chunk('r', 2, 6, simple('z', "\xff\xff\xff\x7fno", "\x06no"))
		}), "damaged: a part of it says that it unpacks to 268435455 bytes, want 0 to 20"},
		"a bomb of values":    {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 2, 1<<50, "") }), "it unpacks to 1125899906842624 bytes, want at most"},
		"absurd records":      {forged(func(f *arrayForge) { f.data = f.data[:64]; f.chunk('r', 1<<50, 6, "") }), "damaged: it says that it has 1125899906842624 records, in"},
		"a bit":               {flipped(closed, 64+riegeliHead+5), "chunk at 64, of records 0 to 1: its data has the hash"},
		"a bit of a header":   {flipped(closed, 64+30), "chunk at 64, of records 0 to 1: its header has the hash"},
		"a bit of the footer": {flipped(closed, 64+2*riegeliHead+20), "footer at 114: its data has the hash"},
		"a bit of the end":    {flipped(closed, riegeliBlock+riegeliBlockHead+riegeliHead+9), "no postscript of ArrayRecord's; it is truncated, was not closed by its writer, or is a file of Riegeli's without a footer: write or copy it again (ArrayRecordWriter, and its close): its data has the hash"},
	} {
		file := filepath.Join(t.TempDir(), "x.array_record-00000-of-00001")
		write(t, file, string(c.data))
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", what, err, c.want)
		}
	}
	dir, _ := arrayFiles(t)
	if _, err := OpenShards(background, ShardsConfig{Shards: []string{dir + "/transposed.array_record"}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "its records are transposed") {
		t.Errorf("got %v", err)
	}
}

func flipped(data []byte, at int) []byte {
	bad := bytes.Clone(data)
	bad[at] ^= 4
	return bad
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

// What a small file says takes no memory: a chunk has room for the largest sample that is read, and no more.
func TestForgedClaimsOfArrayRecordsTakeNoMemory(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	must(t, err)
	packed := func(claim uint64, data []byte) string {
		return string(z.EncodeAll(data, binary.AppendUvarint(nil, claim)))
	}
	const claimed = DefaultMaxFileBytes + 1<<20
	for want, data := range map[string]string{
		"it unpacks to 269484032 bytes, want at most 268":                               simple('z', packed(5, binary.AppendUvarint(nil, claimed)), packed(claimed, make([]byte, 1<<10))),
		"a part of it says that it unpacks to 1073741824 bytes, want 0 to 10":           simple('z', packed(1<<30, make([]byte, 1<<20)), "x"),
		"a part of it says that it unpacks to 269484032 bytes, want 1024 to 1024":       simple('z', packed(2, binary.AppendUvarint(nil, 1<<10)), packed(claimed, make([]byte, 1<<20))),
		"it cannot be unpacked (ZSTD): damaged: it unpacks to more than it says; write": simple('z', packed(2, binary.AppendUvarint(nil, 1<<10)), packed(1<<10, make([]byte, 1<<20))),
	} {
		f := newForge()
		size := uint64(1 << 10)
		if strings.HasPrefix(want, "it unpacks") {
			size = claimed
		}
		f.list(f.chunk(riegeliSimple, 1, size, data), 1)
		file := f.close()
		peak := damage.PeakBytes(t, func() {
			if _, err := buildArrayIndex(background, &window{r: bytes.NewReader(file), size: int64(len(file)), chunk: 64}, ""); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
		if peak > 32<<20 {
			t.Errorf("%s: it took %d MiB", want, peak>>20)
		}
	}
}

// arrayTried opens a file and reads all its samples: none may be another than one of want, which errors tell.
func arrayTried(t *testing.T, dir string, data []byte, want []string) (refused bool) {
	t.Helper()
	file := filepath.Join(dir, "x.array_record")
	write(t, file, string(data))
	defer os.Remove(file)
	opened, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: filepath.Join(dir, "index"), Media: wholeRecord})
	if err != nil {
		return true
	}
	defer func() { must(t, opened.Close()) }()
	var b Buffer
	for i := range opened.Len() {
		if err := opened.Read(background, i, &b); err != nil {
			refused = true
		} else if want != nil && (i >= int64(len(want)) || hashOf(b.Bytes()) != want[i]) {
			t.Errorf("record %d is another", i)
		}
	}
	return refused || want != nil && opened.Len() != int64(len(want))
}

// A file cut anywhere is refused. One with bits flipped is refused, or has bad samples, or is read as it was: padding and blocks' headers are looked at by nobody.
func TestDamagedArrayRecordsAreRefusedOrRead(t *testing.T) {
	f := newForge()
	var want []string
	for i := range 30 {
		records := []string{fmt.Sprint("one ", i), strings.Repeat("two", i+1)}
		f.records(0, records...)
		want = append(want, hashOf([]byte(records[0])), hashOf([]byte(records[1])))
	}
	end := len(f.data)
	whole := f.close()
	dir := t.TempDir()
	n := damage.Count(200)
	damage.Cuts(whole, n, func(what string, bad []byte) {
		if !arrayTried(t, dir, bad, want) {
			t.Errorf("%s: it was read", what)
		}
	})
	refused := 0
	damage.Flips(whole[:end], n, func(_ string, bad []byte) {
		if arrayTried(t, dir, slices.Concat(bad, whole[end:]), want) {
			refused++
		}
	})
	if refused < n/2 {
		t.Errorf("%d of %d were refused", refused, n)
	}
}

// FuzzArrayRecord: no file, even one whose hashes are right, leads out of itself or ends the process.
func FuzzArrayRecord(f *testing.F) {
	forge := newForge()
	forge.records(0, "one", "", exampleOf("three"))
	forge.records(0, exampleOf("four"))
	f.Add(bytes.TrimRight(forge.data, "\x00"), forge.footer[0]+"", uint64(2), uint64(4))
	f.Add([]byte(simple('z', "\x02no", "\x06no")), varints(1, 64, 3, 1), uint64(1), uint64(1))
	f.Add([]byte(exampleOf("x")), "", uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, footer string, chunks, records uint64) {
		forged := newForge()
		at := forged.chunk(riegeliSimple, records%64, chunks%4096, string(data))
		forged.list(at, records%64)
		forged.footer = append(forged.footer, footer)
		dir := t.TempDir()
		arrayTried(t, dir, forged.closeWith(varints(1, arrayVersion, 2, chunks, 3, records)), nil)
		forged = newForge()
		forged.raw(string(data))
		forged.list(64, records%64)
		arrayTried(t, dir, forged.close(), nil)
		if forged = newForge(); len(data) < 1<<16 {
			forged.records(0, string(data), string(data[:len(data)/2]))
			arrayTried(t, dir, forged.close(), []string{hashOf(data), hashOf(data[:len(data)/2])})
			_, _ = buildArrayIndex(background, &window{r: bytes.NewReader(forged.data), size: int64(len(forged.data)), chunk: 64}, "label"+wholesMark)
		}
	})
}
