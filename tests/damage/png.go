package damage

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"io"
)

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// chunks calls see with every chunk that lies in the file: kind and data, and its checksum.
func chunks(b []byte, see func(kindAndData, sum []byte)) {
	for at := len(pngMagic); at+12 <= len(b); {
		n := int(binary.BigEndian.Uint32(b[at:]))
		if n > len(b)-at-12 {
			return
		}
		see(b[at+4:at+8+n], b[at+8+n:at+12+n])
		at += 12 + n
	}
}

func repairPNG(bad []byte) {
	chunks(bad, func(data, sum []byte) { binary.BigEndian.PutUint32(sum, crc32.ChecksumIEEE(data)) })
}

// opened is a PNG with its filtered rows unpacked.
type opened struct{ before, pixels, after []byte }

// unpackPNG gives nil for what is no PNG.
func unpackPNG(whole []byte) *opened {
	if !bytes.HasPrefix(whole, pngMagic) {
		return nil
	}
	o := &opened{before: exactly(pngMagic)}
	var packed []byte
	chunks(whole, func(data, sum []byte) {
		switch {
		case string(data[:4]) == "IDAT":
			packed = append(packed, data[4:]...)
		case packed == nil:
			o.before = appendChunk(o.before, data)
		default:
			o.after = appendChunk(o.after, data)
		}
	})
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	if o.pixels, err = io.ReadAll(r); err != nil {
		return nil
	}
	return o
}

func (o *opened) pack() []byte {
	var packed bytes.Buffer
	packed.WriteString("IDAT")
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(o.pixels) // a buffer takes everything
	_ = w.Close()
	return exactly(append(appendChunk(exactly(o.before), packed.Bytes()), o.after...))
}

func appendChunk(dst, kindAndData []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(kindAndData)-4))
	return binary.BigEndian.AppendUint32(append(dst, kindAndData...), crc32.ChecksumIEEE(kindAndData))
}
