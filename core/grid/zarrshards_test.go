package grid

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const shardsJSON = `{"zarr_format":3,"node_type":"array","shape":[6],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":7,` +
	`"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes"},{"name":"crc32c"}]}}]}`

// shard is a file of two chunks, by where they lie and how long they are, with whatever lies ahead of its index.
func shard(data []byte, entries ...uint64) []byte {
	var index []byte
	for _, e := range entries {
		index = binary.LittleEndian.AppendUint64(index, e)
	}
	return binary.LittleEndian.AppendUint32(append(data, index...), crc32.Checksum(index, castagnoli))
}

// A chunk of a shard that its index does not have, or whose shard is not there, is the fill value; an index is believed no further than its file.
func TestShardsAreReadByTheirIndexes(t *testing.T) {
	const none = 1<<64 - 1
	for _, c := range []struct {
		name string
		file []byte // nil: it is not there
		want string
	}{
		{"whole", shard([]byte{1, 0, 2, 0, 3, 0, 4, 0}, 0, 4, 4, 4), "1 2 3 4"},
		{"the other way round", shard([]byte{1, 0, 2, 0, 3, 0, 4, 0}, 4, 4, 0, 4), "3 4 1 2"},
		{"one missing", shard([]byte{3, 0, 4, 0}, none, none, 0, 4), "7 7 3 4"},
		{"no file", nil, "7 7 7 7"},
		{"beyond the file", shard([]byte{1, 0, 2, 0}, 0, 4, 41, 4), "its index: chunk 1: got 4 bytes at 41, of a file of 40"},
		{"longer than the file", shard([]byte{1, 0, 2, 0}, 0, 4, 0, 41), "its index: chunk 1: got 41 bytes at 0, of a file of 40"},
		{"of a length that turns over", shard([]byte{1, 0, 2, 0}, 0, 4, 4, none-2), "its index: chunk 1: got 18446744073709551613 bytes at 4"},
		{"of another length", shard([]byte{1, 0, 2, 0}, 0, 3, 0, 4), "chunk 0: got 3 bytes, want 4"},
		{"cut", shard([]byte{1, 0}, 0, 4, 0, 4)[8:], "got 30 bytes, want 36 for the index of its 2 chunks at least"},
		{"damaged", append(shard([]byte{1, 0, 2, 0}, 0, 4, 0, 4), 0), "its index: the checksum is another"},
	} {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "c"), 0o700))
		if c.file != nil {
			must(t, os.WriteFile(filepath.Join(dir, "c", "0"), c.file, 0o600))
		}
		a, err := zarrOf([]byte(shardsJSON), zarrDir(dir))
		must(t, err)
		got := make([]byte, 8)
		err = a.ReadRows(got, 0, nil)
		switch {
		case err != nil && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		case err == nil:
			var text []string
			for i := 0; i < 8; i += 2 {
				text = append(text, string('0'+got[i]))
			}
			if strings.Join(text, " ") != c.want {
				t.Errorf("%s: got %s, want %s", c.name, text, c.want)
			}
		}
		if err == nil && strings.Contains(c.want, "got") {
			t.Errorf("%s: it is read", c.name)
		}
	}
}

func TestShardsThatCannotBeAreRefused(t *testing.T) {
	for old, is := range map[string][2]string{
		`"chunk_shape":[2]`:                {`"chunk_shape":[3]`, "got shards of 4 in chunks of 3, want whole chunks, and at most"},
		`"chunk_shape":[2],"codecs"`:       {`"chunk_shape":[0],"codecs"`, "got shards of 4 in chunks of 0, want whole chunks"},
		`"chunk_shape":[4]`:                {`"chunk_shape":[8589934592]`, "want whole chunks, and at most 4194304 a shard"},
		`{"chunk_shape":[4]}`:              {`{"chunk_shape":[4,4]}`, "got shards of 4x4 in chunks of 2, want 1 dimensions"},
		`,{"name":"crc32c"}]`:              {`,{"name":"zstd"}]`, "index_codecs: want bytes, or bytes and crc32c"},
		`"index_codecs"`:                   {`"index_location":"middle","index_codecs"`, `index_location: got "middle", want "start" or "end"`},
		`[{"name":"bytes","configuration"`: {`[{"name":"transpose","configuration":{"order":[1]}},{"name":"bytes","configuration"`, "got transpose by [1], want each of the 1 axes once"},
	} {
		text := strings.Replace(shardsJSON, old, is[0], 1)
		if _, err := zarrOf([]byte(text), zarrDir("x")); err == nil || !strings.Contains(err.Error(), is[1]) {
			t.Errorf("%s: got %v, want %q", is[0], err, is[1])
		}
	}
}

// FuzzShards: no file of several chunks ends the process, nor makes more memory than it has.
func FuzzShards(f *testing.F) {
	f.Add(shard([]byte{1, 0, 2, 0, 3, 0, 4, 0}, 0, 4, 4, 4))
	f.Add(shard(nil, 1<<64-1, 1<<64-1, 0, 4))
	dir := f.TempDir()
	must(f, os.Mkdir(filepath.Join(dir, "c"), 0o700))
	text := strings.Replace(shardsJSON, `,{"name":"crc32c"}]`, "]", 1)
	f.Fuzz(func(t *testing.T, data []byte) {
		must(t, os.WriteFile(filepath.Join(dir, "c", "0"), data, 0o600))
		a, err := zarrOf([]byte(text), zarrDir(dir))
		must(t, err)
		if err := a.ReadRows(make([]byte, 8), 0, NewCache(100)); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
