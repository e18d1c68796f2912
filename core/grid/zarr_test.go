package grid

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// zarrs are the directories that testdata/make_zarr.py wrote.
func zarrs(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	z, err := zip.OpenReader("testdata/zarr.zip")
	must(t, err)
	defer z.Close()
	for _, f := range z.File {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if f.FileInfo().IsDir() {
			must(t, os.MkdirAll(name, 0o700))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		in, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(in)
		must(t, errors.Join(err, in.Close(), os.WriteFile(name, data, 0o600)))
	}
	return dir
}

func zarrAt(t testing.TB, dir string) (*Array, error) {
	t.Helper()
	name, err := ZarrFile(dir)
	if err != nil {
		return nil, err
	}
	return OpenZarr(name)
}

// Every array of every kind has the elements that were written, those that were not are its fill value.
func TestZarrsAreReadAsTheyWereWritten(t *testing.T) {
	dir, seen := zarrs(t), 0
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "zarr.json" && e.Name() != ".zarray" {
			return err
		}
		at := filepath.Dir(path)
		name := strings.TrimPrefix(at, dir)
		if strings.HasPrefix(name, "/refused") || strings.HasPrefix(name, "/group") || name == "" {
			return nil
		}
		a, err := zarrAt(t, at)
		if err != nil {
			if !errors.Is(err, ErrNoZarr) {
				t.Errorf("%s: %v", name, err)
			}
			return nil
		}
		seen++
		n, err := a.Shape.Elements()
		must(t, err)
		row := n / a.Shape[0]
		wholeOf(t, name, a, nil, func(k int64) []byte {
			if !strings.HasPrefix(name, "/fill") {
				return valueOfElement(k, a.DType, strings.HasSuffix(name, "bool"))
			}
			v := map[bool]uint64{true: 9, false: 7}[k >= n-row]
			switch a.DType {
			case tensor.F64:
				v = math.Float64bits(float64(v))
			case tensor.F32:
				v = uint64(math.Float32bits(float32(v)))
			case tensor.F16:
				v = halfBits(float64(v))
			}
			return binary.LittleEndian.AppendUint64(nil, v)[:a.DType.Bytes()]
		})
		return nil
	}))
	if t.Logf("%d arrays", seen); seen != 81 {
		t.Errorf("got %d arrays", seen)
	}
}

// Half-precision numbers of a description are those that are nearest.
func TestHalfPrecisionFillValues(t *testing.T) {
	for h := range uint64(1 << 16) {
		if v := tensor.Half(uint16(h)); v == v && halfBits(v) != h {
			t.Fatalf("%g: got %04x, want %04x", v, halfBits(v), h)
		}
	}
	for text, want := range map[string]uint64{"NaN": 0x7e00, "Infinity": 0x7c00, "-Infinity": 0xfc00, "65519": 0x7bff, "65520": 0x7c00, "0x3c01": 0x3c01, "1e-9": 0} {
		if got, err := zarrBits(text, tensor.F16); err != nil || got != want {
			t.Errorf("%s: got %04x, %v; want %04x", text, got, err, want)
		}
	}
}

// What is not read is refused by its name, with the file that says it.
func TestZarrsThatAreNotReadAreRefused(t *testing.T) {
	dir := zarrs(t)
	for name, want := range map[string]string{
		"refused/text": ".zarray: dtype: got \"<U1\", want booleans", "refused/complex": "zarr.json: data_type: got \"complex64\", want bool", "refused/shards_packed": "codecs: got sharding_indexed beside other codecs, or within itself", "refused/shards_twice": "codecs: got sharding_indexed beside other codecs, or within itself", "refused/lzma": "compressor: got \"lzma\", want none, zlib, gzip, zstd, lz4, bz2 or blosc",
		"refused/delta": "filters: got delta of \"<f4\" as \"<f4\", want whole numbers of the array's own type, little-endian", "refused/scalar": "got a scalar", "refused/group": "but a group; name an array in it, such as " + dir + "/refused/group/NAME", "group2": "but a group; name an array in it, such as " + dir + "/group2/x", "none": "no array of Zarr",
	} {
		if _, err := zarrAt(t, filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	const v2 = `{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i2","order":"C","compressor":null,"filters":null,"fill_value":0`
	const v3 = `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":0`
	for text, want := range map[string]string{
		"{": "unexpected end", `{"zarr_format":1,"shape":[4]}`: "got zarr_format 1, want 2 or 3", `{"zarr_format":2,"shape":[4,4],"chunks":[2,2],"dtype":"<i2","order":"A"}`: `order: got "A", want "C" or "F"`, strings.Replace(v2, "[4]", "[-4]", 1) + "}": "each 0 or more", strings.Replace(v2, `"chunks":[2]`, `"chunks":[0]`, 1) + "}": "at least one element",
		strings.Replace(v2, `"chunks":[2]`, `"chunks":[1073741824]`, 1) + "}": "at most 1 GiB", strings.Replace(v2, `"chunks":[2]`, `"chunks":[2,2]`, 1) + "}": "got chunks of 2 dimensions, want 1", v2 + `,"dimension_separator":"../"}`: "want \".\" or \"/\"",
		strings.Replace(v2, `"fill_value":0`, `"fill_value":40000`, 1) + "}": "fill_value: got 40000, want a number of i16", v3 + "}": "codecs: got none", v3 + `,"codecs":[{"name":"zstd"}]}`: "got \"zstd\" first", v3 + `,"codecs":[{"name":"bytes"},{"name":"pcodec"}]}`: "got \"pcodec\"",
		strings.Replace(v3, "regular", "rectangular", 1) + "}": "chunk_grid: got \"rectangular\"", strings.Replace(v3, `"name":"default"`, `"name":"own"`, 1) + "}": "chunk_key_encoding: got \"own\"", v3 + `,"storage_transformers":[{}]}`: "storage_transformers",
	} {
		if _, err := zarrOf([]byte(text), zarrDir("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Blosc's own format was refused once, and is where those arrays are.
func TestZarrsOfBloscsOwnFormatAreRead(t *testing.T) {
	a, err := zarrAt(t, filepath.Join(zarrs(t), "refused/blosclz"))
	must(t, err)
	wholeOf(t, "blosclz", a, nil, func(k int64) []byte { return valueOfElement(k, a.DType, false) })
}

// A directory is told from others, and of a group one of its arrays is named.
func TestDirectoriesOfZarrAreTold(t *testing.T) {
	dir := zarrs(t)
	for at, want := range map[string]string{"group2": "group2/x", "refused/group": "refused/group/NAME", "types3/int8": "types3/int8", "refused/lzma": "refused/lzma", "types3/int8/c": ""} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := ZarrIn(filepath.Join(dir, at)); got != want {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
}

// FuzzCodecs: no packed chunk ends the process, nor unpacks beyond its room.
func FuzzCodecs(f *testing.F) {
	dir := zarrs(f)
	names := []string{"zlib", "gzip", "zstd", "lz4", "blosc_lz4", "blosc_zstd", "blosc_zlib", "blosc_bits", "blosc_stored", "blosc_blocks", "bz2", "delta_int16"}
	for k, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, "codecs2", name, "0.0"))
		must(f, err)
		f.Add(byte(k), data)
	}
	turned := (&Array{DType: tensor.I16, chunk: []int64{5, 3, 100}, chunkBytes: 3000}).transposed([]int{2, 0, 1})
	f.Fuzz(func(t *testing.T, k byte, data []byte) {
		all := []func(dst, src []byte) (int, error){inflate, gunzip, unzstd, unlz4, unblosc, unbz2, crc32c, fletcher, unlzf, unshuffle(int(k%9) + 1), undelta(1 << (k % 4)), turned.undo,
			unblosclz, unlz4Blocks}
		for _, packed := range []uint64{0, 2, 3} {
			bits, err := bitShuffleOf([]uint64{0, 4, uint64(k%9) + 1, uint64(k%5) * 8, packed}, 1)
			must(t, err)
			all = append(all, bits.undo)
		}
		room := bytes.Repeat([]byte{0xa5}, 4096)
		for _, undo := range all {
			n, err := undo(room[:3000:3000], data)
			if err == nil && n > 3000 || !bytes.Equal(room[3000:], bytes.Repeat([]byte{0xa5}, 1096)) {
				t.Fatal("it wrote beyond its room")
			}
		}
	})
}

// oneChunk are files of Zarr's of which each has the same bytes.
type oneChunk []byte

func (c oneChunk) size(string) (int64, bool, error) { return int64(len(c)), true, nil }
func (c oneChunk) example() string                  { return "NAME" }
func (c oneChunk) read(_ string, off int64, dst []byte) error {
	if off < 0 || off+int64(len(dst)) > int64(len(c)) {
		return io.ErrUnexpectedEOF
	}
	copy(dst, c[off:])
	return nil
}

// FuzzZarr: whatever a .zarray or zarr.json says, and whatever its chunks have, it is refused or its rows are read or damaged.
func FuzzZarr(f *testing.F) {
	dir := zarrs(f)
	must(f, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "zarr.json" && e.Name() != ".zarray" {
			return err
		}
		text, err := os.ReadFile(path)
		must(f, err)
		for _, chunk := range []string{"0", "0.0", "c/0", "c/0/0"} {
			if data, err := os.ReadFile(filepath.Join(filepath.Dir(path), chunk)); err == nil {
				f.Add(text, data)
				return nil
			}
		}
		f.Add(text, []byte{})
		return nil
	}))
	f.Add([]byte(shardsJSON), shard([]byte{1, 0, 2, 0, 3, 0, 4, 0}, 0, 4, 4, 4))
	f.Fuzz(func(t *testing.T, text, data []byte) {
		a, err := zarrOf(text, oneChunk(data))
		if err != nil || a.rowBytes == 0 {
			return
		}
		const most = 1 << 18
		work := a.chunkBytes // unpacked for a row
		for _, n := range a.grid[1:] {
			work = min(work, most+1) * min(n, most+1)
		}
		if work > most {
			return
		}
		for _, row := range []int64{0, a.Shape[0] / 2, a.Shape[0] - 1} {
			if a.Shape[0] == 0 {
				continue
			}
			_ = a.ReadRows(make([]byte, a.rowBytes), row, NewCache(1<<16)) // whatever they are
		}
	})
}
