package grid

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packer is a filter and what packs for it.
type packer struct {
	filter
	pack func(b []byte) []byte
}

// Whatever filters a chunk leaves out, as HDF5 does with one that would make it larger, the others unpack it.
func TestAChunkUnpacksWithoutTheFiltersItLeavesOut(t *testing.T) {
	const size = 8
	shuffle := packer{filter{name: "shuffle", most: 1, undo: unshuffle(size)}, func(b []byte) []byte {
		planes, whole := make([]byte, 0, len(b)), len(b)-len(b)%size
		for k := range size {
			for at := k; at < whole; at += size {
				planes = append(planes, b[at])
			}
		}
		return append(planes, b[whole:]...)
	}}
	deflate := packer{filter{name: "deflate", most: 1040, undo: inflate}, func(b []byte) []byte {
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		_, err := z.Write(b)
		must(t, err)
		must(t, z.Close())
		return out.Bytes()
	}}
	sum := packer{filter{name: "fletcher32", most: 1, undo: fletcher}, func(b []byte) []byte {
		return binary.LittleEndian.AppendUint32(bytes.Clone(b), fletcher32(b))
	}}
	want := make([]byte, 17*size)
	for i := range want {
		want[i] = byte(i*i + i)
	}
	for _, all := range [][]packer{{shuffle, deflate, sum}, {sum, shuffle, deflate, shuffle}, {shuffle, shuffle, shuffle}, {deflate, sum, deflate, shuffle, sum}} {
		a := &Array{chunkBytes: int64(len(want))}
		for _, p := range all {
			a.filters = append(a.filters, p.filter)
		}
		for skip := range uint32(1) << len(all) {
			packed := want
			for i, p := range all {
				if skip>>i&1 == 0 {
					packed = p.pack(packed)
				}
			}
			got := make([]byte, len(want))
			a.chunks = &h5Chunks{r: bytes.NewReader(packed)}
			if err := a.unpack(got, place{size: uint32(len(packed)), skip: skip}); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s without %b: got %v of %v, want %v", names(all), skip, err, got[:16], want[:16])
			}
		}
	}
}

// A chunk that does not compress is longer packed than it is, by more than a checksum, and has one around that all the same.
func TestAChunkMayBeLongerPacked(t *testing.T) {
	want := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, err := z.Write(want)
	must(t, err)
	must(t, z.Close())
	packed := binary.LittleEndian.AppendUint32(out.Bytes(), fletcher32(out.Bytes()))
	if len(packed) <= len(want)+slack {
		t.Fatalf("got %d bytes packed, want more than %d", len(packed), len(want)+slack)
	}
	a := &Array{chunkBytes: int64(len(want)), filters: []filter{{name: "deflate", most: 1040, undo: inflate}, {name: "fletcher32", most: 1, undo: fletcher}}, chunks: &h5Chunks{r: bytes.NewReader(packed)}}
	got := make([]byte, len(want))
	if err := a.unpack(got, place{size: uint32(len(packed))}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %v", err)
	}
}

// Blocks of few elements are much longer packed where they do not compress: with a size ahead of each, and a frame around it.
func TestSmallBlocksThatDoNotCompressAreUnpacked(t *testing.T) {
	want := make([]byte, 1<<16)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	z, err := zstd.NewWriter(nil)
	must(t, err)
	defer func() { must(t, z.Close()) }()
	for compressor, pack := range map[uint64]func(b []byte) []byte{
		2: func(b []byte) []byte { return append([]byte{byte(len(b)) << 4}, b...) }, // a block of LZ4 of literals alone
		3: func(b []byte) []byte { return z.EncodeAll(b, nil) },
	} {
		f, err := bitShuffleOf([]uint64{0, 4, 1, 8, compressor}, 1)
		must(t, err)
		packed := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, uint64(len(want))), 8)
		for at := 0; at < len(want); at += 8 {
			block := pack(bitPlanes(want[at : at+8]))
			packed = append(binary.BigEndian.AppendUint32(packed, uint32(len(block))), block...)
		}
		a := &Array{chunkBytes: int64(len(want)), filters: []filter{f}, chunks: &h5Chunks{r: bytes.NewReader(packed)}}
		got := make([]byte, len(want))
		if err := a.unpack(got, place{size: uint32(len(packed))}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("compressor %d: got %v", compressor, err)
		}
		if err := a.unpack(got, place{size: uint32(a.mostPacked()) + 1}); !errors.Is(err, ErrDamaged) {
			t.Errorf("compressor %d, more than blocks can be: got %v", compressor, err)
		}
	}
}

// bitPlanes are the lowest bits of eight bytes, then the next ones, and so on.
func bitPlanes(b []byte) []byte {
	planes := make([]byte, 8)
	for bit := range planes {
		for i, v := range b {
			planes[bit] |= v >> bit & 1 << i
		}
	}
	return planes
}

func names(all []packer) (names []string) {
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}
