package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/tests/damage"
)

// fewMDS is a shard of three samples.
func fewMDS(t testing.TB) string {
	t.Helper()
	return mdsOf(t, mdsColumn{"image", "jpeg", 0, []string{"p0", "picture 1", "p2"}}, mdsColumn{"label", "int16", 2, []string{"\x00\x00", "\x01\x00", "\x02\x00"}})
}

// entryOf is what a catalogue says of a shard of so many bytes and three samples.
func entryOf(name string, size int) string {
	return fmt.Sprintf(`{"format": "mds", "version": 2, "samples": 3, "compression": null, "zip_data": null, "raw_data": {"basename": %q, "bytes": %d, "hashes": {}}}`, name, size)
}

func catalogueText(entries ...string) string {
	return `{"version": 2, "shards": [` + strings.Join(entries, ",") + `]}`
}

// A catalogue's shards are those of its directory, or below; a glob finds several catalogues.
func TestACatalogueIsItsShards(t *testing.T) {
	dir, shard := t.TempDir(), fewMDS(t)
	for _, name := range []string{"a/0.mds", "a/sub/1.mds", "b/0.mds"} {
		write(t, filepath.Join(dir, name), shard)
	}
	write(t, filepath.Join(dir, "a", CatalogueName), catalogueText(entryOf("0.mds", len(shard)), entryOf("sub/1.mds", len(shard))))
	write(t, filepath.Join(dir, "b", CatalogueName), catalogueText(entryOf("0.mds", len(shard))))
	for pattern, n := range map[string]int64{"a": 6, "*": 9, "{a,b}/index.json": 9, "b/index.json": 3} {
		if s := openS(t, ShardsConfig{Shards: []string{filepath.Join(dir, pattern)}}); s.Len() != n || s.Label(n-1) != 2 {
			t.Errorf("%s: got %d samples", pattern, s.Len())
		}
	}
	for path, want := range map[string]string{"a": "MDS", "a/index.json": "MDS", "a/0.mds": "", ".": "", "none": ""} {
		if got := CatalogueFormat(filepath.Join(dir, path)); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]string{"https://h/index.json?x=1": CatalogueName, "s3://b/a/index.json": CatalogueName, "s3://b/index.json?x=1": "", "s3://b/index": "", "s3://b/": ""} {
		if got := CatalogueFormat(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// What a catalogue says that is not so, or that it may not say, is refused with where and what.
func TestCataloguesThatAreNotSoAreRefused(t *testing.T) {
	shard := fewMDS(t)
	good := entryOf("0.mds", len(shard))
	for text, want := range map[string]string{
		catalogueText(entryOf("0.mds", len(shard)+1)):                                           fmt.Sprintf(`0.mds": got %d bytes, want %d, as index.json says; write or copy it again`, len(shard), len(shard)+1),
		catalogueText(strings.Replace(good, `"samples": 3`, `"samples": 4`, 1)):                 `0.mds": got 3 samples, want 4, as index.json says; write or copy it again`,
		catalogueText(strings.Replace(good, `"samples": 3`, `"samples": -1`, 1)):                `index.json": shards[0]: got -1 samples in`,
		catalogueText(good, entryOf("../0.mds", 3)):                                             `index.json": shards[1]: member "../0.mds": the name leaves the archive`,
		catalogueText(entryOf("/etc/passwd", 3)):                                                `shards[0]: member "/etc/passwd": the name leaves the archive`,
		catalogueText(entryOf("", 3)):                                                           `shards[0]: member "": got an empty name`,
		catalogueText(good, good):                                                               `0.mds": named twice`,
		catalogueText(entryOf("1.mds", 3)):                                                      `1.mds": no such file`,
		catalogueText(strings.Replace(good, `"mds"`, `"jsonl"`, 1)):                             `shards[0]: got the format "jsonl", want mds; have a program of yours`,
		catalogueText(strings.Replace(good, `"samples": 3`, `"samples": "3"`, 1)):               `shards[0]: no index.json of MDS or litData, or damaged: json: cannot unmarshal string`,
		catalogueText(strings.Replace(good, `"bytes": `, `"bytes": 9999999999999999999999`, 1)): `shards[0]: no index.json of MDS or litData, or damaged: json: cannot unmarshal number`,
		catalogueText():                 "no samples",
		catalogueText(good)[:90]:        `shards[0]: no index.json of MDS or litData, or damaged: it is cut off`,
		catalogueText(good)[:len(good)]: `no index.json of MDS or litData, or damaged: it is cut off`,
		`{"version": 2}`:                `index.json": it lists neither shards, as an index.json of MDS does, nor chunks, as litData's`,
		`[1]`:                           `no index.json of MDS or litData, or damaged: got [, want {`,
		`{"shards": {}}`:                `no index.json of MDS or litData, or damaged: got {, want [`,
		`{"shards": [{}]}`:              `shards[0]: got the format "", want mds`,
		"\x00":                          `no index.json of MDS or litData, or damaged: invalid character`,
		"":                              `index.json": it is empty; write or copy it again`,
		catalogueText(packedEntry("0.mds.zip", "zip", 3, 3)): `shards[0]: got the compression "zip", want zstd, gz, bz2, br or snappy; unpack its files`,
		catalogueText(packedEntry("../0.gz", "gz", 3, 3)):    `shards[0]: member "../0.gz": the name leaves the archive`,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "0.mds"), shard)
		write(t, filepath.Join(dir, CatalogueName), text)
		_, err := OpenShards(background, ShardsConfig{Shards: []string{dir}, IndexDir: t.TempDir()})
		if want == "no samples" && errors.Is(err, ErrNoSamples) {
			continue
		}
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "no such file or directory", "no such file"), want) {
			t.Errorf("%.120s: got %v, want %q", text, err, want)
		}
	}
	_, err := OpenShards(background, ShardsConfig{Shards: []string{filepath.Join(t.TempDir(), CatalogueName)}})
	if err == nil || !strings.HasSuffix(err.Error(), "index.json\": no such file") {
		t.Errorf("got %v", err)
	}
}

// packedEntry is that of a shard of which there is a compressed file alone.
func packedEntry(name, by string, size, packed int) string {
	return fmt.Sprintf(`{"format": "mds", "samples": 3, "compression": %q, "raw_data": {"basename": "away.mds", "bytes": %d}, "zip_data": {"basename": %q, "bytes": %d}}`, by, size, name, packed)
}

// Shards that are damaged are refused with what is wrong, and nothing is reserved for what they only claim to hold.
func TestDamagedMDSIsRefused(t *testing.T) {
	put := binary.LittleEndian.PutUint32
	whole := []byte(fewMDS(t))
	text := 4 * (3 + 2)
	sample := int(binary.LittleEndian.Uint32(whole[4:]))
	change := func(f func(b []byte)) string {
		b := bytes.Clone(whole)
		f(b)
		return string(b)
	}
	about := func(text string) string {
		return mdsRaw(text, mdsColumn{"image", "jpeg", 0, []string{"p"}})
	}
	for _, c := range []struct{ file, want string }{
		{string(whole[:3]), "truncated: it ends after 3 bytes; write or copy it again"},
		{string(whole[:10]), "truncated: got 10 bytes, want 20 for the offsets of its 3 samples alone"},
		{string(whole[:len(whole)-1]), fmt.Sprintf("sample 2 at %d: truncated: it reaches to %d, the file has %d bytes", sample+23, len(whole), len(whole)-1)},
		{string(whole) + "x", fmt.Sprintf("damaged: its samples end at %d, the file at %d", len(whole), len(whole)+1)},
		{change(func(b []byte) { put(b, 0xffffffff) }), "truncated: got"},
		{change(func(b []byte) { put(b[4:], 3) }), "damaged: its samples begin at 3, want a place behind its 20 bytes of offsets"},
		{change(func(b []byte) { put(b[4:], 0xfffffff0) }), "damaged: its samples begin at 4294967280"},
		{change(func(b []byte) { put(b[8:], uint32(sample)-1) }), fmt.Sprintf("sample 0 at %d: damaged: got -1 bytes, want 6 or more", sample)},
		{change(func(b []byte) { put(b[8:], 0xffffffff) }), fmt.Sprintf("sample 0 at %d: truncated: it reaches to 4294967295", sample)},
		{change(func(b []byte) { put(b[sample:], 0xffffffff) }), `damaged: column "image" takes 4294967295 bytes, and 4 are left`},
		{change(func(b []byte) { put(b[sample:], 1) }), "damaged: its columns take 7 bytes of its 8"},
		{change(func(b []byte) { b[text] = 'x' }), "damaged: what it says of its columns is no JSON"},
		{about(`{"version": 3, "format": "mds"}`), `got "mds" of version 3, want mds of version 2`},
		{about(`{"version": 2, "format": "xsv"}`), `got "xsv" of version 2, want mds of version 2`},
		{about(`{"version": 2, "format": "mds"}`), "damaged: got 0 names, 0 encodings and 0 sizes of columns, want equally many, and one or more"},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["int"], "column_sizes": [7]}`), `column "a": damaged: got 7 bytes a sample, want 8 for int`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["str"], "column_sizes": [0]}`), `column "a": damaged: got 0 bytes a sample`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["new"], "column_sizes": [-1]}`), `column "a": damaged: got -1 bytes a sample`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a", "a"], "column_encodings": ["str", "int"], "column_sizes": [null, 8]}`), `column "a": it is there twice`},
		{about(`{"version": 2, "format": "mds", "column_names": [""], "column_encodings": ["str"], "column_sizes": [null]}`), `column "": want a name of one byte or more`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a\u0000b"], "column_encodings": ["str"], "column_sizes": [null]}`), `want a name of one byte or more, without zero bytes`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["ndarray:float32:0"], "column_sizes": [null]}`), `column "a": got the shape "0"`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["ndarray:float32:9999999,9999999"], "column_sizes": [null]}`), `want less than 4 GiB`},
		{about(`{"version": 2, "format": "mds", "column_names": ["a"], "column_encodings": ["ndarray:object"], "column_sizes": [null]}`), `got arrays of "object", want one of MDS's types`},
		{about(`{"version": 2, "format": "mds", "column_names": ["` + strings.Repeat("a", 130) + `"], "column_encodings": ["str"], "column_sizes": [null]}`), "got a name of"},
	} {
		file := filepath.Join(t.TempDir(), "a.mds")
		write(t, file, c.file)
		var err error
		peak := damage.PeakBytes(t, func() { _, err = OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}) })
		if err == nil || !strings.Contains(err.Error(), `a.mds": `+c.want) && !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "a.mds") {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if peak > 4<<20 {
			t.Errorf("%s: took %d bytes", c.want, peak)
		}
	}
}

// Each compression of MDS is unpacked once, from a disk or a store, and what was written is there; a raw shard beside needs nothing.
func TestCompressedMDSIsUnpackedOnce(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", cache)
	want := wanted(t, "mds")
	objects := map[string]string{}
	origin := serveObjects(t, objects)
	client := storeClient(t, store.Options{})
	for _, by := range []string{"zstd", "gz", "bz2", "br", "snappy"} {
		dir := "testdata/mds/" + by
		files, err := os.ReadDir(dir)
		must(t, err)
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			must(t, err)
			origin.change(func() { objects["/"+by+"/"+f.Name()] = string(text) })
		}
		for _, name := range []string{dir, origin.URL + "/" + by + "/"} {
			for _, made := range []bool{true, false} {
				s, err := OpenShards(background, ShardsConfig{Shards: []string{name}, Columns: []Column{{Name: "text"}}, Store: client})
				must(t, err)
				checkMDS(t, s, want)
				if got := strings.Contains(strings.Join(s.(interface{ Notes() []string }).Notes(), "\n"), "unpacked 2 of 2 shards to a disk"); got != made {
					t.Errorf("%s: unpacked %v, want %v", name, got, made)
				}
				must(t, s.Close())
			}
		}
	}
	unpacked, err := os.ReadDir(filepath.Join(cache, unpackedDir))
	must(t, err)
	if len(unpacked) != 20 {
		t.Errorf("got %d files, want 20", len(unpacked))
	}
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS("testdata/mds/zstd")))
	for k := range 2 {
		for _, f := range unpacked {
			text, err := os.ReadFile(filepath.Join(cache, unpackedDir, f.Name()))
			must(t, err)
			if len(text) == []int{2244, 1571}[k] {
				write(t, filepath.Join(dir, fmt.Sprintf("shard.%05d.mds", k)), string(text))
			}
		}
	}
	must(t, os.Remove(filepath.Join(dir, "shard.00000.mds.zstd"))) // as Streaming leaves it
	checkMDS(t, openS(t, ShardsConfig{Shards: []string{dir}, Columns: []Column{{Name: "text"}}}), want)
}

// A compressed shard that is damaged, or for which there is no room, is refused by name, and leaves no file; what a source reads is not removed.
func TestShardsThatCannotBeUnpackedAreRefused(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("SPDL_CACHE_DIR", cache)
	packed, err := os.ReadFile("testdata/mds/gz/shard.00000.mds.gz")
	must(t, err)
	snappy, err := os.ReadFile("testdata/mds/snappy/shard.00000.mds.snappy")
	must(t, err)
	for _, c := range []struct {
		file, entry, bound, want string
	}{
		{string(packed), packedEntry("0.gz", "gz", 2240, len(packed)+1), "", fmt.Sprintf(`0.gz": got %d bytes, want %d, as index.json says`, len(packed), len(packed)+1)},
		{string(packed[:300]), packedEntry("0.gz", "gz:6", 2244, 300), "", `0.gz": it cannot be unpacked (gz): unexpected EOF; write or copy it again`},
		{string(packed), packedEntry("0.gz", "gz", 2239, len(packed)), "", `0.gz": damaged: it unpacks to more than the 2239 bytes that index.json says`},
		{string(packed), packedEntry("0.gz", "gz", 2241, len(packed)), "", `0.gz": damaged: it unpacks to 2240 bytes, want 2241`},
		{string(packed), packedEntry("0.gz", "zstd", 2244, len(packed)), "", `0.gz": it cannot be unpacked (zstd): `},
		{string(packed), packedEntry("0.gz", "br", 2244, len(packed)), "", `0.gz": it cannot be unpacked (br): `},
		{string(packed), packedEntry("0.gz", "bz2", 2244, len(packed)), "", `0.gz": it cannot be unpacked (bz2): `},
		{string(snappy), packedEntry("0.gz", "snappy", 9999, len(snappy)), "", `0.gz": it cannot be unpacked (snappy): damaged: it says that it unpacks to 2244 bytes`},
		{string(snappy), packedEntry("0.gz", "snappy", 1<<30, len(snappy)), "", `got a shard of 1073741824 bytes by snappy, which is unpacked in memory, want at most 536870912`},
		{string(packed), packedEntry("0.gz", "gz", 1<<60, len(packed)), "2000000TiB", `it takes 1152921504606846976 bytes unpacked, and there is no file for them: "`},
		{string(packed), packedEntry("0.gz", "gz", 1<<62, len(packed)) + "," + strings.Replace(packedEntry("0.gz", "gz", 1<<62, len(packed)), "away", "far", 1), "2KiB", `its compressed shards take 2199023255552 bytes unpacked, more than`},
		{string(packed), packedEntry("0.gz", "gz", 2240, len(packed)), "2KiB", `its compressed shards take 2240 bytes unpacked, more than the 2048 that are kept in "`},
		{string(packed), packedEntry("1.gz", "gz", 2240, len(packed)), "", `1.gz": no such file or directory`},
	} {
		t.Setenv("SPDL_CACHE_BYTES", c.bound)
		dir := t.TempDir()
		write(t, filepath.Join(dir, "0.gz"), c.file)
		write(t, filepath.Join(dir, CatalogueName), catalogueText(c.entry))
		if _, err := OpenShards(background, ShardsConfig{Shards: []string{dir}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.entry, err, c.want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(cache, unpackedDir)); err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	t.Setenv("SPDL_CACHE_BYTES", "1MiB")
	s, err := OpenShards(background, ShardsConfig{Shards: []string{"testdata/mds/gz"}})
	must(t, err)
	t.Setenv("SPDL_CACHE_BYTES", "0KiB")
	tidy(filepath.Join(cache, "index"))
	read(t, s, 4)
	must(t, s.Close())
	tidy(filepath.Join(cache, "index"))
	if left, err := os.ReadDir(filepath.Join(cache, unpackedDir)); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	ctx, stop := context.WithCancel(background)
	stop()
	t.Setenv("SPDL_CACHE_BYTES", "")
	if _, err := OpenShards(ctx, ShardsConfig{Shards: []string{"testdata/mds/gz"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzMDS: whatever the bytes, a shard is refused or indexed, the index holds, and every value of every type is one or an error.
func FuzzMDS(f *testing.F) {
	for _, name := range []string{"all/shard.00000.mds", "all/shard.00001.mds"} {
		text, err := os.ReadFile("testdata/mds/" + name)
		must(f, err)
		f.Add(text)
	}
	f.Add([]byte(fewMDS(f)))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := buildMDSIndex(background, &window{r: bytes.NewReader(data), size: int64(len(data)), chunk: 1024})
		if err != nil {
			return
		}
		indexHolds(t, b, int64(len(data)), func(part string, m indexMember) { encodedHolds(t, part, data[m.off:][:m.size]) })
	})
}

// encodedHolds makes columns of every type of a value.
func encodedHolds(t *testing.T, part string, value []byte) {
	e := encodingMarked(part)
	if e == nil {
		t.Fatalf("part %q has no encoding", part)
	}
	for _, c := range mdsTestColumns {
		if e.refuses(&c) != nil {
			continue
		}
		var b Buffer
		c.MaxBytes = 1 << 20
		if err := b.setEncoded(&c, value, e, true); err == nil && len(b.Value(0)) > 8*len(value)+8 {
			t.Fatalf("%s: %d bytes of %d", part, len(b.Value(0)), len(value))
		}
	}
}

// FuzzCatalogue: whatever the bytes, a catalogue's shards lie below its directory.
func FuzzCatalogue(f *testing.F) {
	for _, name := range []string{"all", "zstd"} {
		text, err := os.ReadFile("testdata/mds/" + name + "/index.json")
		must(f, err)
		f.Add(text)
	}
	f.Add([]byte(catalogueText(entryOf("../a.mds", 3), entryOf("a/./b.mds", 3))))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := ShardsConfig{said: map[string]listedShard{}}
		names, err := c.appendListed(nil, text, "/data/mds", "")
		for _, name := range names {
			for _, path := range []string{name, c.said[name].packed.name} {
				if err == nil && path != "" && !strings.HasPrefix(path, "/data/mds/") {
					t.Fatalf("%q leads to %q", text, path)
				}
			}
		}
	})
}
