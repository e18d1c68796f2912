package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

var errUnpacksToMore = errors.New("damaged: it unpacks to more than it says")

// unpack unpacks a page of at most size bytes. The library's own codecs take what the packed bytes make of it, whatever the page says.
func unpack(codec format.CompressionCodec, packed []byte, size int) ([]byte, error) {
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
		return snappy.Decode(make([]byte, n), packed)
	case format.Zstd:
		return unpackZstd(packed, size)
	case format.Lz4Raw:
		to := make([]byte, size)
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
		return readAtMost(r, size)
	case format.Brotli:
		return readAtMost(brotli.NewReader(bytes.NewReader(packed)), size)
	}
	return nil, fmt.Errorf("compression %v is not read here; write the file with snappy, zstd, gzip, brotli or lz4_raw", codec)
}

// zstdReader has no state but its tables, and may be used by several at once.
var zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
})

func unpackZstd(packed []byte, size int) ([]byte, error) {
	r, err := zstdReader()
	if err != nil {
		return nil, err
	}
	to, err := r.DecodeAll(packed, make([]byte, 0, size))
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return nil, errUnpacksToMore
	}
	return to, err
}

// readAtMost reads all of r, which is to have no more than size bytes.
func readAtMost(r io.Reader, size int) ([]byte, error) {
	to := make([]byte, size)
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
