package grid

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// packer is a filter and what packs for it.
type packer struct {
	filter
	pack func(b []byte) []byte
}

// Whatever filters a chunk leaves out, as HDF5 does with one that would make it larger, the others unpack it.
func TestAChunkUnpacksWithoutTheFiltersItLeavesOut(t *testing.T) {
	const size = 8
	shuffle := packer{filter{"shuffle", 1, unshuffle(size)}, func(b []byte) []byte {
		planes, whole := make([]byte, 0, len(b)), len(b)-len(b)%size
		for k := range size {
			for at := k; at < whole; at += size {
				planes = append(planes, b[at])
			}
		}
		return append(planes, b[whole:]...)
	}}
	deflate := packer{filter{"deflate", 1040, inflate}, func(b []byte) []byte {
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		_, err := z.Write(b)
		must(t, err)
		must(t, z.Close())
		return out.Bytes()
	}}
	sum := packer{filter{"fletcher32", 1, fletcher}, func(b []byte) []byte {
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
	a := &Array{chunkBytes: int64(len(want)), filters: []filter{{"deflate", 1040, inflate}, {"fletcher32", 1, fletcher}}, chunks: &h5Chunks{r: bytes.NewReader(packed)}}
	got := make([]byte, len(want))
	if err := a.unpack(got, place{size: uint32(len(packed))}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %v", err)
	}
}

func names(all []packer) (names []string) {
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}
