package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errUnpacksToMore = errors.New("damaged: it unpacks to more than it says")

// unpack unpacks at most size bytes, a page or a chunk of records, into the memory of to where there is enough. The library's own codecs take what the packed bytes
// make of it, whatever the page says.
func unpack(to []byte, codec format.CompressionCodec, packed []byte, size int) ([]byte, error) {
	room := func(n int) []byte { return slices.Grow(to[:0], n)[:n:n] }
	switch codec {
	case format.Uncompressed:
		return packed, nil
	case format.Snappy:
		n, err := snappy.DecodedLen(packed)
		if err != nil {
			return nil, err
		}
		if n > size {
			return nil, errUnpacksToMore
		}
		return snappy.Decode(room(n), packed)
	case format.Zstd:
		return unpackZstd(room(size), packed)
	case format.Lz4Raw:
		to := room(size)
		n, err := lz4.UncompressBlock(packed, to)
		if err != nil {
			return nil, err
		}
		return to[:n], nil
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		return readAtMost(r, room(size))
	case format.Brotli:
		return readAtMost(brotli.NewReader(bytes.NewReader(packed)), room(size))
	}
	return nil, fmt.Errorf("compression %v is not read here; write the file with snappy, zstd, gzip, brotli or lz4_raw", codec)
}

// zstdReader has no state but its tables, and may be used by several at once.
var zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

// unpackZstd unpacks as much as there is room for in to.
func unpackZstd(to, packed []byte) ([]byte, error) {
	r, err := zstdReader()
	if err != nil {
		return nil, err
	}
	to, err = r.DecodeAll(packed, to[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, errUnpacksToMore
	}
	return to, err
}

// readAtMost reads all of r, for which there is to be room in to.
func readAtMost(r io.Reader, to []byte) ([]byte, error) {
	n, err := io.ReadFull(r, to)
	switch err {
	case io.EOF, io.ErrUnexpectedEOF:
		return to[:n], nil
	case nil:
		var one [1]byte
		if k, _ := io.ReadFull(r, one[:]); k > 0 {
			return nil, errUnpacksToMore
		}
	}
	return to, err
}
