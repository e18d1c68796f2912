package source

import (
	"path/filepath"
	"strings"
	"testing"
)

// Data sets in formats that are not read here are refused with what they are and what to do, wherever they are named.
func TestForeignFormatsSayWhatToDo(t *testing.T) {
	for name, want := range map[string]string{
		"a.mds": "MosaicML's MDS is read by its index.json; name the directory that has it", "s3://b/x.RECORDIO": "", "x.rec?sig=1": "", "x.beton?sig=1": "FFCV's format is not read here",
		"A.LMDB": "LMDB is read by its directory, or its file, in source.shards", "a.sqlite": "SQLite is not read here; have a program of yours bring its samples (source= in Python; docs/sources.md), or write them into tar shards once",
		"x.h5": "HDF5's arrays are read by source.arrays, with file and dataset, and encoded media in them where image, video or audio names the array with from", "x.mat": "MATLAB's format is not read here; write its arrays with numpy.save", "x.arrow": "",
		"shard.00000.mds.zstd": "MosaicML's MDS is read by its index.json", "s3://b/shard.00000.mds.zstd?sig=a/b.tar": "MosaicML's MDS is read by its index.json", "mds.zstd": "", "x.zstd": "",
		"x.array_record-00000-of-00016": "", "x.arrayrecord": "", "a/chunk-0-12.bin": "litData's chunks are read by their index.json",
		"chunk-0-12.zstd.bin": "litData's chunks are read by their index.json", "chunk.bin": "", "train.bin": "",
		"x.tfrecord-00000-of-01024": "", "x.tar": "", "x": "", "h5": "", "x.jpg": "",
	} {
		if got := Foreign(name); want == "" != (got == "") || !strings.HasPrefix(got, want) && !strings.Contains(got, "; "+want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"a.beton", "b/c.mdb", "mds/index.json", "mds/shard.00000.mds.zstd", "lit/index.json", "lit/chunk-0-0.bin"} {
		write(t, filepath.Join(dir, name), "\x00\x01")
	}
	_, shards := OpenShards(background, ShardsConfig{Shards: []string{filepath.Join(dir, "a.beton")}})
	_, list := OpenList(ListConfig{File: filepath.Join(dir, "a.beton")})
	_, folder := OpenFolder(FolderConfig{Dir: filepath.Join(dir, "b")})
	for err, want := range map[error]string{shards: `a.beton": FFCV's format is not read here; name the files`, list: `a.beton": FFCV's format is not read here`, folder: "found 1 other file (1 .mdb); want files ending in "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if folder != nil && !strings.HasSuffix(folder.Error(), "; LMDB is read by its directory, or its file, in source.shards") {
		t.Errorf("got %v", folder)
	}
	for name, want := range map[string]string{"mds": "MosaicML's MDS is read by its index.json; name the directory that has it, or it, in source.shards", "lit": "litData's chunks are read by their index.json; name the directory that has it, or it, in source.shards"} { // of which no ending tells
		if _, err := OpenFolder(FolderConfig{Dir: filepath.Join(dir, name)}); err == nil || !strings.HasSuffix(err.Error(), "; "+want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A compressed list or table is refused as that: its first line would be a path of no bytes that are text.
func TestCompressedListsAreRefused(t *testing.T) {
	for _, name := range []string{"a.jsonl.zst", "a.txt.ZST", "https://h/a.csv.xz?sig=1", "a.parquet.gz"} {
		if _, err := OpenList(ListConfig{File: name}); err == nil || !strings.Contains(err.Error(), "a compressed list is not read; unpack it") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
