package grid

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// gunzippers are readers of gzip's format.
var gunzippers sync.Pool

func gunzip(dst, src []byte) (n int, err error) {
	z, _ := gunzippers.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	defer gunzippers.Put(z)
	if err := z.Reset(bytes.NewReader(src)); err != nil {
		return 0, err
	}
	if n, err = filled(dst, z); err == gzip.ErrChecksum {
		err = ErrChecksum
	}
	return n, err
}

// zstds unpacks no further than there is room for, on any number of goroutines.
var zstds = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxChunkBytes+slack))
})

func unzstd(dst, src []byte) (int, error) {
	z, err := zstds()
	if err != nil {
		return 0, err
	}
	out, err := z.DecodeAll(src, dst[:0:len(dst)])
	if errors.Is(err, zstd.ErrCRCMismatch) {
		err = ErrChecksum
	}
	return len(out), err
}

// unlz4 is numcodecs' format: how long it is, and a block of LZ4.
func unlz4(dst, src []byte) (int, error) {
	if len(src) < 4 {
		return 0, errors.New("truncated")
	}
	want := int64(binary.LittleEndian.Uint32(src))
	if want > int64(len(dst)) {
		return 0, fmt.Errorf("unpacks to %d bytes, want at most %d", want, len(dst))
	}
	return lz4.UncompressBlock(src[4:], dst[:want])
}

// unbz2 is bzip2's format, of which the standard library has the checksums compared.
func unbz2(dst, src []byte) (int, error) { return filled(dst, bzip2.NewReader(bytes.NewReader(src))) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crc32c checks the last four bytes.
func crc32c(dst, src []byte) (int, error) {
	n := len(src) - 4
	if n < 0 || n > len(dst) {
		return 0, fmt.Errorf("got %d bytes, want 4 to %d", len(src), len(dst)+4)
	}
	if got, want := crc32.Checksum(src[:n], castagnoli), binary.LittleEndian.Uint32(src[n:]); got != want {
		return 0, fmt.Errorf("%w: got %08x, want %08x", ErrChecksum, got, want)
	}
	return copy(dst, src[:n]), nil
}
