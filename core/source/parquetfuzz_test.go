package source

import (
	"bytes"
	"os"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"github.com/spdl/spdl/core/tensor"
)

// readAsOfAStore reads samples, and once more as files of a store are read, several pages at a time: they are the same.
func readAsOfAStore(t *testing.T, s *parquetShards, file string) {
	other, err := OpenParquet(background, ShardsConfig{Shards: []string{file}})
	must(t, err)
	defer func() { must(t, other.Close()) }()
	f := other.(*parquetShards).files[0]
	local := f.file
	f.file = nil
	defer func() { f.file = local }()
	var a, b Buffer
	for _, i := range []int64{1, 0, 2, 3} {
		if i >= s.Len() {
			continue
		}
		err1, err2 := s.Read(background, i, &a), other.Read(background, i, &b)
		if (err1 == nil) != (err2 == nil) || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("sample %d: %v, of a store %v", i, err1, err2)
		}
	}
}

// FuzzParquet: no Parquet file ends the process or takes more memory than its pages have room for, whichever way it is read.
func FuzzParquet(f *testing.F) {
	file := f.TempDir() + "/a.parquet"
	for version := 1; version <= 2; version++ {
		writeParquet(f, file, pictureRows(0, 4), 2, parquet.PageBufferSize(200), parquet.DataPageVersion(version), parquet.Compression(&parquet.Snappy))
		data, err := os.ReadFile(file)
		must(f, err)
		f.Add(data)
	}
	for _, pages := range [][][]byte{
		{wordsPage(f, 1, plain([]byte("x"))), dataPage(f, format.RLEDictionary, 1, []byte{1, 2, 0}, 0)},
		{dataPage(f, format.RLEDictionary, 1, []byte{1, 2, 0}, 0)},
		{dataPage(f, format.Plain, 1, plain([]byte("x")), 0)},
		{dataPage(f, format.DeltaLengthByteArray, 1, uvarints(128, 4, 1, 0), 0)},
	} {
		f.Add((&forged{rows: 1, pages: pages}).bytes(f))
	}
	for _, name := range []string{"v1", "v2", "dictionary"} {
		data, err := os.ReadFile("testdata/arrow_lists_" + name + ".parquet")
		must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file := t.TempDir() + "/a.parquet"
		write(t, file, string(data))
		if s, err := OpenParquet(background, ShardsConfig{Shards: []string{file}}); err == nil {
			readAsOfAStore(t, s.(*parquetShards), file)
			must(t, s.Close())
		}
		columns := []Column{listOf("ids", tensor.I64, 4), listOf("boxes", tensor.F64, 2, 4), listOf("yes", tensor.U8, 3), listOf("half", tensor.F32, 1)}
		if s, err := OpenList(ListConfig{File: file, Alone: true, Columns: columns}); err == nil {
			must(t, s.Close())
		}
	})
}
