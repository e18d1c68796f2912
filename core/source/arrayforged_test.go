package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/minio/highwayhash"
	"github.com/spdl/spdl/tests/damage"
)

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
