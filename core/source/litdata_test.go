package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/tests/damage"
)

var litDataColumns = []Column{
	{Name: "text"}, {Name: "raw"}, {Name: "score", Type: Float64}, {Name: "yes", Type: Int64}, {Name: "label_list", From: "label", Type: List, DType: tensor.I16, Shape: tensor.Shape{1}}, {Name: "icon"},
	{Name: "tensor", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 20}, {Name: "tokens", Type: Array, DType: tensor.I64, Shape: tensor.Shape{}, MaxLength: 9}, {Name: "half", Type: Array},
	{Name: "bools", Type: Array}, {Name: "bytes", Type: Array}, {Name: "numpy", Type: Array}, {Name: "line", Type: List, DType: tensor.U16, Shape: tensor.Shape{}, MaxLength: 9}, {Name: "flags", Type: Array},
	{Name: "pixels", Type: Array}, {Name: "n", From: "nested.deep.n", Type: Int64},
	{Name: "ids", From: "nested.ids", Type: List, DType: tensor.I16, Shape: tensor.Shape{}, MaxLength: 9}, {Name: "yeses", From: "nested.yes", Type: Array},
}

// Every serializer of litData's that is a value of a column gives what was written, from a disk and over http.
func TestLitDataHasWhatWasWritten(t *testing.T) {
	want := wanted(t, "litdata")
	origin := serveObjects(t, objectsIn(t, "testdata/litdata/all", "/b/"))
	client := storeClient(t, store.Options{})
	index := t.TempDir()
	for _, name := range []string{"testdata/litdata/all", "testdata/litdata/all/index.json", origin.URL + "/b/"} {
		for range 2 { // the second time with the index that was kept
			s := openS(t, ShardsConfig{Shards: []string{name}, Media: []Medium{{Name: "image", From: []string{"photo"}}}, Columns: litDataColumns, IndexDir: index, Store: client})
			checkMDS(t, s, want)
			if known := s.(Knowing).Known("n"); known == nil || known(3) != int64(3) || string(s.Key(4, nil)) != "1" {
				t.Errorf("%s: numbers are not known without reading, or the key %q is not the sample's number", name, s.Key(4, nil))
			}
			for c, shape := range map[string]string{"pixels": "4x6x3 u8", "half": "1x1 f16", "numpy": "2x3 i16", "bools": "1x2 u8"} {
				columns := s.(Columnar).Columns()
				k := slices.IndexFunc(columns, func(x Column) bool { return x.Name == c })
				if got := fmt.Sprintf("%v %v", columns[k].Shape, columns[k].DType); got != shape {
					t.Errorf("%s: got %q, want %q", c, got, shape)
				}
			}
		}
	}
	if got := CatalogueFormat("testdata/litdata/all"); got != "litData" {
		t.Errorf("got %q", got)
	}
}

// The leaves of a tuple are called by their places; a chunk that is compressed as a whole is unpacked, or read where it was unpacked beside.
func TestLitDataOfTuplesAndCompressed(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	want := wanted(t, "litdata")
	s := openS(t, ShardsConfig{Shards: []string{"testdata/litdata/tuple"}, Label: "1"})
	for i := range s.Len() {
		if _, picture := read(t, s, i); picture != unbased(t, want[i]["photo"]) || s.Label(i) != i {
			t.Errorf("sample %d: label %d, or another picture", i, s.Label(i))
		}
	}
	columns := []Column{{Name: "text"}}
	for range 2 { // the second time what was unpacked
		checkMDS(t, openS(t, ShardsConfig{Shards: []string{"testdata/litdata/batch"}, Columns: columns}), want)
	}
	must(t, os.RemoveAll(os.Getenv("SPDL_CACHE_DIR")))
	checkMDS(t, openS(t, ShardsConfig{Shards: []string{"testdata/litdata/zstd"}, Columns: columns}), want)
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/litdata/zstd")))
	unpacked, err := filepath.Glob(filepath.Join(os.Getenv("SPDL_CACHE_DIR"), unpackedDir, "*"))
	must(t, err)
	for _, file := range unpacked {
		text, err := os.ReadFile(file)
		must(t, err)
		k := map[int]int{2039: 0, 1362: 1}[len(text)]
		write(t, filepath.Join(dir, fmt.Sprintf("chunk-0-%d.bin", k)), string(text))
		must(t, os.Remove(filepath.Join(dir, fmt.Sprintf("chunk-0-%d.zstd.bin", k))))
	}
	checkMDS(t, openS(t, ShardsConfig{Shards: []string{dir}, Columns: columns}), want)
}

// litDataText is a catalogue of one chunk of n samples and so many bytes, with changes to its config.
func litDataText(n, size int, formats, tree string, more ...string) string {
	config := append([]string{`"data_format": ` + formats, `"data_spec": ` + tree, `"item_loader": "PyTreeLoader"`}, more...)
	return fmt.Sprintf(`{"chunks": [{"chunk_bytes": %d, "chunk_size": %d, "dim": null, "filename": "chunk-0-0.bin"}], "config": {%s}}`, size, n, strings.Join(config, ","))
}

const leafPair = `"[1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"image\\\", \\\"label\\\"]\", \"children_spec\": [{\"type\": null}, {\"type\": null}]}]"`

// What is not read of litData, and what is damaged, is refused by name, and reserves nothing.
func TestLitDataThatIsNotReadIsRefused(t *testing.T) {
	le := binary.LittleEndian
	sample := []byte("\x02\x00\x00\x00\x08\x00\x00\x00pp\x05\x00\x00\x00\x00\x00\x00\x00")
	good := append(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 1), 12), uint32(12+len(sample))), sample...)
	formats := `["jpeg", "int"]`
	changed := func(at int, v uint32) string {
		b := bytes.Clone(good)
		le.PutUint32(b[at:], v)
		return string(b)
	}
	deep := strings.Repeat(`{\"type\": \"builtins.list\", \"children_spec\": [`, 100) + `{\"type\": null}` + strings.Repeat(`]}`, 100)
	size := len(good)
	for _, c := range []struct{ chunk, text, want string }{
		{string(good), litDataText(1, size, formats, leafPair, `"encryption": {"algorithm": "fernet"}`), `index.json": it is encrypted, and no key is known here; have a program`},
		{string(good), strings.Replace(litDataText(1, size, formats, leafPair), "PyTreeLoader", "TokensLoader", 1), `its samples are "TokensLoader"'s, want PyTreeLoader's`},
		{string(good), strings.Replace(litDataText(1, size, formats, leafPair), `"dim": null`, `"dim": 7`, 1), `chunks[0]: its samples are cut out of tokens (dim 7), want whole ones`},
		{string(good), strings.Replace(litDataText(1, size, formats, leafPair), `chunk-0-0.bin`, `../chunk-0-0.bin`, 1), `chunks[0]: member "../chunk-0-0.bin": the name leaves the archive`},
		{string(good), litDataText(1, size, formats, leafPair, `"compression": "zstd", "compression_level": "sample"`), `it is compressed by compression_level="sample", each sample by itself; write it again with another or without`},
		{litDataFrames + string(good), litDataText(1, size+8, formats, leafPair), `truncated: got 38 bytes, want`},
		{string(good), strings.Replace(litDataText(1, size, formats, leafPair, `"compression": "lz9"`), "0.bin", "0.lz9.bin", 1), `chunks[0]: got the compression "lz9", want zstd`},
		{string(good), litDataText(1, size, formats, `"x"`), `index.json": damaged: its data_spec is not litData's`},
		{string(good), litDataText(1, size, formats, `"[1, {\"type\": null}]"`), `damaged: its data_spec has 1 leaves and its data_format 2, want equally many`},
		{string(good), litDataText(1, size, `[]`, `"[1, {\"type\": \"builtins.list\", \"children_spec\": []}]"`), `damaged: its data_spec has 0 leaves and its data_format 0`},
		{string(good), litDataText(1, size, formats, `"[1, `+deep+`]"`), `damaged: its data_spec has more than 1024 leaves, or is deeper than 64`},
		{string(good), litDataText(1, size, formats, strings.ReplaceAll(leafPair, "label", "image")), `column "image": it is there twice`},
		{string(good), litDataText(2, size, formats, leafPair), `got 1 samples, want 2, as index.json says`},
		{string(good), litDataText(1, size+1, formats, leafPair), fmt.Sprintf(`got %d bytes, want %d, as index.json says`, size, size+1)},
		{string(good), litDataText(-1, size, formats, leafPair), `chunks[0]: got -1 samples in`},
		{string(good[:size-1]), litDataText(1, size, formats, leafPair), `chunk-0-0.bin": sample 0 at 12: truncated: it reaches to 30, the file has 29 bytes`},
		{string(good) + litDataFooter, litDataText(1, size+8, formats, leafPair), `its rows are in Arrow's format, which is not read here; write them as Parquet`},
		{changed(0, 1<<30), litDataText(1, size, formats, leafPair), `truncated: got 30 bytes, want 4294967304 for the offsets of its 1073741824 samples alone`},
		{changed(4, 13), litDataText(1, size, formats, leafPair), `damaged: its samples begin at 13, want 12, behind its offsets`},
		{changed(12, 1<<31), litDataText(1, size, formats, leafPair), `damaged: column "image" takes 2147483648 bytes, and 10 are left`},
		{string(good), litDataText(1, size, `["`+strings.Repeat(`","`, 1<<19)+`"]`, leafPair), `index.json": no index.json of MDS or litData, or damaged: its config has`},
		{"x", litDataText(1, size, formats, leafPair), `truncated: it ends after 1 bytes`},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "chunk-0-0.bin"), c.chunk)
		write(t, filepath.Join(dir, CatalogueName), c.text)
		var err error
		peak := damage.PeakBytes(t, func() { _, err = OpenShards(background, ShardsConfig{Shards: []string{dir}, IndexDir: t.TempDir()}) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if peak > int64(4<<20+4*len(c.text)) {
			t.Errorf("%s: took %d bytes", c.want, peak)
		}
	}
	if _, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/litdata/sample"}}); err == nil || !strings.Contains(err.Error(), `compression_level="sample"`) {
		t.Errorf("got %v", err)
	}
	all := ShardsConfig{Shards: []string{"testdata/litdata/all"}, IndexDir: t.TempDir(), Media: []Medium{}}
	for name, want := range map[string]string{
		"pickled": "it is pickle, a pickle, which may run any program", "many": "it is jpeg_array, several pictures in one value", "nested.list": "it is json, want type npy, list", "numpy": "it is numpy, want type npy, list",
	} {
		all.Columns = []Column{{Name: name}}
		if _, err := OpenShards(background, all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// Frames that are damaged are refused, and reserve nothing that is not there.
func TestDamagedFramesAreRefused(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	whole, err := os.ReadFile("testdata/litdata/batch/chunk-0-0.bin")
	must(t, err)
	change := func(at int, v uint32) string {
		b := bytes.Clone(whole)
		binary.LittleEndian.PutUint32(b[at:], v)
		return string(b)
	}
	const offsets = framesHead + 4*(3+1)
	for _, c := range []struct{ chunk, want string }{
		{string(whole[:20]), "chunk-0-0.bin\": it cannot be unpacked (frames): unexpected EOF"},
		{string(whole[:30]), "it cannot be unpacked (frames): unexpected EOF"},
		{string(whole[:len(whole)-1]), "it cannot be unpacked (frames): "},
		{change(0, 7), "want frames of version 1"},
		{change(8, 2), "want frames of version 1"},
		{change(12, 1<<31), "it cannot be unpacked (frames): unexpected EOF"},
		{change(20, 1<<31), "it cannot be unpacked (frames): unexpected EOF"},
		{change(offsets+8, 3), fmt.Sprintf("a frame begins at 3, want %d, behind the one before it", offsets+2*framesPlace)},
		{change(offsets-4, 0xffffffff), "a sample lies at 4294967315 unpacked, want less than 4 GiB"},
		{change(offsets-4, 2000), "sample 2 at"},
		{change(offsets-4, 3000), "truncated: it reaches to"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "chunk-0-0.bin"), c.chunk)
		write(t, filepath.Join(dir, CatalogueName), litDataText(3, len(c.chunk), `["int", "str", "jpeg"]`, `"[1, {\"type\": \"builtins.tuple\", \"children_spec\": [{}, {}, {}]}]"`, `"compression": "zstd", "compression_level": "batch"`))
		var err error
		peak := damage.PeakBytes(t, func() { _, err = OpenShards(background, ShardsConfig{Shards: []string{dir}, IndexDir: t.TempDir()}) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if peak > 16<<20 {
			t.Errorf("%s: took %d bytes", c.want, peak)
		}
	}
}

// FuzzFrames: whatever the bytes, frames are refused or unpack to what their offsets allow, and a byte more.
func FuzzFrames(f *testing.F) {
	for _, name := range []string{"chunk-0-0.bin", "chunk-0-1.bin"} {
		data, err := os.ReadFile("testdata/litdata/batch/" + name)
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := unpackFrames(bytes.NewReader(data), anyBytes)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, io.LimitReader(r, 1<<20))
		head := int64(binary.LittleEndian.Uint32(data[12:]))
		if most := offsetBytes*(head+2) + int64(binary.LittleEndian.Uint32(data[framesHead+offsetBytes*head:])) + 1; err == nil && n > most {
			t.Fatalf("%d bytes, want at most %d", n, most)
		}
	})
}

// Arrays of litData that are damaged make bad samples; so does a number of another size, which no label and no column takes.
func TestLitDataValuesThatDoNotFit(t *testing.T) {
	be := func(words ...uint32) (all []byte) {
		for _, w := range words {
			all = binary.BigEndian.AppendUint32(all, w)
		}
		return all
	}
	for _, c := range []struct {
		format string
		value  []byte
		want   string
	}{
		{"tensor", be(0), "damaged: got 4 bytes, want an array's type and dimensions"},
		{"tensor", be(4, 0), "got an array of litData's type 4, want whole numbers"},
		{"tensor", be(0, 1<<31), "damaged: got 0 bytes, want 2147483648 dimensions"},
		{"tensor", append(be(0, 65), make([]byte, 65*4)...), "damaged: got 260 bytes, want 65 dimensions, of at most 64"},
		{"tensor", be(0, 3, 1<<31, 1<<31, 1<<31), "overflow"},
		{"tensor", be(0, 1, 3, 0), "damaged: got 4 bytes, want 12 for 3 of f32"},
		{"numpy", []byte("\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00a"), "damaged: got 1 bytes, want 2 for 2 of i8"},
		{"no_header_tensor:18", []byte("1234567"), "damaged: got 7 bytes, want a multiple of 8"},
		{"json", []byte("\x02\x02\x00\x00\x0012345678"), "damaged: got 8 bytes, want 16 for 2 of i64"},
		{"json", []byte("\x00\x02\x00\x00\x00[]"), "got json that is no list of whole numbers"},
		{"json", []byte("\x01\x01\x00\x00\x00\x00\x00\x00\x00"), "got json that is no list of whole numbers"},
		{"json", []byte("[]"), "got 2 bytes of json, want a list of numbers"},
		{"int", []byte("1234567"), "damaged: got 7 bytes, want 8 for scalar of i64"},
		{"int", bytes.Repeat([]byte("1"), 30), "damaged: got 30 bytes, want 8 for scalar of i64"},
	} {
		e := encodingMarked("a" + encodedMark + litDataMark + c.format)
		if v, ok := e.number(c.value); e.whole() && (ok || v != 0) {
			t.Errorf("%s: the number %d", c.format, v)
		}
		var b Buffer
		if err := b.setEncoded(&Column{Name: "a", Type: List, DType: tensor.F64, MaxLength: 9}, c.value, e, true); err == nil || !strings.Contains(err.Error(), c.want) && c.want != "overflow" {
			t.Errorf("%s: got %v, want %q", c.format, err, c.want)
		}
	}
	if e := encodingMarked("a" + encodedMark + litDataMark + "no_header_tensor:4"); e.refuses(&Column{Type: Array}) == nil {
		t.Error("complex numbers are no array")
	}
}

// FuzzLitData: whatever the bytes and the catalogue, a chunk is refused or indexed, the index holds, and every value of every type is one or an error.
func FuzzLitData(f *testing.F) {
	text, err := os.ReadFile("testdata/litdata/all/index.json")
	must(f, err)
	for _, name := range []string{"chunk-0-0.bin", "chunk-0-1.bin"} {
		data, err := os.ReadFile("testdata/litdata/all/" + name)
		must(f, err)
		f.Add(text, data)
	}
	f.Add([]byte(litDataText(1, 30, `["jpeg", "int"]`, leafPair)), []byte("\x01\x00\x00\x00\x0c\x00\x00\x00\x1e\x00\x00\x00\x02\x00\x00\x00\x08\x00\x00\x00pp\x05\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text, data []byte) {
		all, err := parseCatalogue(text)
		if err != nil || all.chunks == nil {
			return
		}
		columns, err := all.config.columns()
		if err != nil {
			return
		}
		b, err := buildChunkIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 1024}, columns)
		if err != nil {
			return
		}
		indexHolds(t, b, int64(len(data)), func(part string, m indexMember) { encodedHolds(t, part, data[m.off:][:m.size]) })
	})
}

// Pixels without a file are no picture, which is said where nothing else is one; an empty list of json is one of any type.
func TestPixelsAreNoPictureAndEmptyListsAreOfAnyType(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.mds")
	write(t, file, mdsOf(t, mdsColumn{"image", "pil", 0, []string{"p"}}))
	_, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), `source.image: column "image" of "`) || !strings.HasSuffix(err.Error(), errPixels.Error()) {
		t.Errorf("got %v", err)
	}
	var b Buffer
	must(t, b.setEncoded(&Column{Name: "a", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 9}, make([]byte, 5)[:0:0], encodingMarked("a"+encodedMark+litDataMark+"no_header_numpy:9"), true))
	must(t, b.setEncoded(&Column{Name: "a", Type: List, DType: tensor.F32, Shape: tensor.Shape{}, MaxLength: 9}, []byte("\x01\x00\x00\x00\x00"), encodingMarked("a"+encodedMark+litDataMark+"json"), true))
	if len(b.Value(0))+len(b.Value(1)) > 0 {
		t.Errorf("got %q, %q", b.Value(0), b.Value(1))
	}
}
