package source

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// A file of Arrow whose buffers are compressed is unpacked into one whose are not, in the same format, when it is opened: as compressed shards of MDS are. A message is in
// memory at a time.
const (
	packedArrow   = "arrow"
	maxArrowBatch = 1 << 30 // bytes of a body, compressed and not
)

// arrowUnpacker has the bytes of the unpacked file.
type arrowUnpacker struct {
	in    io.Reader
	out   []byte // of a message, unpacked, what is left of it
	ended bool
	zstd  *zstd.Decoder

	from    io.ReaderAt // of the file format:
	scan    arrowScan   // its footer,
	written int64       // and where the next message will lie
}

func unpackArrow(packed io.Reader, _ int64) (io.Reader, error) {
	from := packed.(interface { // a section of a file or an object
		io.ReaderAt
		Size() int64
	})
	u := &arrowUnpacker{in: bufio.NewReaderSize(packed, packedChunk), from: from}
	u.scan = arrowScan{w: &window{r: from, size: from.Size(), chunk: localChunk}}
	if err := u.scan.begin(); err != nil {
		return nil, err
	}
	if u.scan.foot != nil {
		u.out = []byte(arrowMagic + "\x00\x00")
		u.written = int64(len(u.out))
	}
	return u, nil
}

func (u *arrowUnpacker) Read(p []byte) (n int, err error) {
	for len(u.out) == 0 && !u.ended {
		if u.scan.foot != nil {
			err = u.block()
		} else {
			_, err = u.message()
		}
		if err != nil {
			return 0, err
		}
	}
	if n = copy(p, u.out); n == 0 {
		return 0, io.EOF
	}
	u.out = u.out[n:]
	return n, nil
}

// block unpacks the next message that the footer names, and has that say where it lies; after the last one comes the footer.
func (u *arrowUnpacker) block() error {
	s, le := &u.scan, binary.LittleEndian
	if len(s.blocks) == 0 {
		u.ended, u.out = true, append(le.AppendUint32(s.foot, uint32(len(s.foot))), arrowMagic...)
		return nil
	}
	b := s.blocks[0]
	if s.blocks = s.blocks[1:]; b.at < arrowHeadBytes || b.at > s.end {
		return fmt.Errorf("damaged: its footer says that a message lies at %d", b.at)
	}
	u.in = io.NewSectionReader(u.from, b.at, s.end-b.at)
	body, err := u.message()
	if err == nil && u.ended {
		err = errors.New("damaged: its footer names a message that is none")
	}
	if err != nil {
		return err
	}
	le.PutUint64(s.foot[b.place:], uint64(u.written))
	le.PutUint32(s.foot[b.place+8:], uint32(int64(len(u.out))-body))
	le.PutUint64(s.foot[b.place+16:], uint64(body))
	u.written += int64(len(u.out))
	return nil
}

func (u *arrowUnpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// message unpacks the next one, and returns the bytes of its body.
func (u *arrowUnpacker) message() (length int64, err error) {
	le := binary.LittleEndian
	head := make([]byte, 4)
	if _, err := io.ReadFull(u.in, head); err != nil {
		return 0, err
	}
	if le.Uint32(head) == arrowGoesOn {
		if _, err := io.ReadFull(u.in, head); err != nil {
			return 0, err
		}
	}
	size := le.Uint32(head)
	if size == 0 {
		u.ended, u.out = true, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
		return 0, nil
	}
	if size > maxArrowMeta {
		return 0, fmt.Errorf("damaged: got metadata of %d bytes", size)
	}
	meta, err := exactly(u.in, int64(size))
	if err != nil {
		return 0, err
	}
	t := newFlat(meta).root()
	length = t.long(3)
	if t.err != nil || length < 0 {
		return 0, errFlat
	}
	if length > maxArrowBatch {
		return 0, fmt.Errorf("got a batch of %d bytes, which is unpacked in memory, want at most %d; write smaller batches, or without compression", length, maxArrowBatch)
	}
	body, err := exactly(u.in, length)
	if err != nil {
		return 0, err
	}
	record := t.table(2)
	if t.byte(1) == messageWords {
		record = record.table(1)
	}
	if t.byte(1) == messageWords || t.byte(1) == messageBatch {
		if body, err = u.unpack(t, record, body); err != nil {
			return 0, err
		}
	}
	u.out = slices.Concat(le.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, size), meta, body)
	return int64(len(body)), nil
}

// unpack unpacks the buffers of a record, and has its metadata say so.
func (u *arrowUnpacker) unpack(message, record flatTable, body []byte) ([]byte, error) {
	c := record.table(3)
	if !c.there() {
		return body, record.err
	}
	codec, le := c.byte(0), binary.LittleEndian
	at, n := record.vector(2, 16)
	var out []byte
	for ; n > 0 && record.err == nil; n-- {
		from, size := record.longAt(at), record.longAt(at+8)
		if from < 0 || size < 0 || from > int64(len(body)) || size > int64(len(body))-from {
			return nil, fmt.Errorf("damaged: got a buffer of %d bytes at %d of a body of %d", size, from, len(body))
		}
		begin := len(out)
		var err error
		if out, err = u.buffer(codec, body[from:from+size], out); err != nil {
			return nil, err
		}
		le.PutUint64(record.at(at, 8), uint64(begin))
		le.PutUint64(record.at(at+8, 8), uint64(len(out)-begin))
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
		at += 16
	}
	length := message.field(3)
	offsets := record.place - int(int32(record.u32(record.place)))
	if record.err != nil || length == 0 {
		return nil, errFlat
	}
	le.PutUint64(message.at(length, 8), uint64(len(out)))
	le.PutUint16(record.at(offsets+4+2*3, 2), 0) // it has no compression any more
	return out, record.err
}

// buffer appends the bytes of a compressed buffer: it begins with how many they are, -1 where it is not compressed after all.
func (u *arrowUnpacker) buffer(codec uint8, packed, out []byte) ([]byte, error) {
	if len(packed) == 0 {
		return out, nil
	}
	if len(packed) < 8 {
		return nil, fmt.Errorf("damaged: got a compressed buffer of %d bytes", len(packed))
	}
	size := int64(binary.LittleEndian.Uint64(packed))
	if packed = packed[8:]; size == -1 {
		size, codec = int64(len(packed)), 255
	}
	if size < 0 || size > maxArrowBatch-int64(len(out)) {
		return nil, fmt.Errorf("got a batch that has a buffer of %d bytes unpacked, which is in memory then, want at most %d in all; write smaller batches, or without compression", size, maxArrowBatch)
	}
	var in io.Reader = bytes.NewReader(packed)
	switch codec {
	case 0:
		return appendLZ4(out, packed, int(size))
	case 1:
		if u.zstd == nil {
			var err error
			if u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true)); err != nil {
				return nil, err
			}
		}
		if err := u.zstd.Reset(in); err != nil {
			return nil, err
		}
		in = u.zstd
	case 255:
	default:
		return nil, fmt.Errorf("got compression %d, want lz4 or zstd; write it without", codec)
	}
	to := bytes.NewBuffer(out)
	n, err := io.Copy(to, io.LimitReader(in, size+1))
	if err == nil && n != size {
		err = errors.New("damaged: a buffer unpacks to another size than it says")
	}
	return to.Bytes(), err
}

// appendLZ4 appends what a frame of LZ4 has, which is so many bytes. The library's own reader of frames takes check sums of blocks for those of what is in them.
func appendLZ4(out, packed []byte, size int) ([]byte, error) {
	const (
		magic, head                                    = "\x04\x22\x4d\x18", 7
		alone, blockSums, contentSize, dictionary byte = 32, 16, 8, 1
		mostTimes, window                              = 256, 64 << 10
	)
	bad := errors.New("damaged: a buffer is no frame of lz4 of the size that it says")
	if len(packed) < head || string(packed[:4]) != magic || packed[4]>>6 != 1 || packed[4]&dictionary != 0 || size > mostTimes*len(packed) {
		return nil, bad
	}
	flags, at, begin := packed[4], head, len(out)
	if flags&contentSize != 0 {
		at += 8
	}
	out = slices.Grow(out, size)[:begin+size]
	for to := begin; ; {
		if at+4 > len(packed) {
			return nil, bad
		}
		n := binary.LittleEndian.Uint32(packed[at:])
		if at += 4; n == 0 {
			if to != len(out) {
				return nil, bad
			}
			return out, nil
		}
		stored := n>>31 == 1
		n &= math.MaxInt32
		if int(n) > len(packed)-at {
			return nil, bad
		}
		block, done := packed[at:at+int(n)], 0
		if at += int(n); flags&blockSums != 0 {
			at += 4
		}
		var before []byte
		if flags&alone == 0 {
			before = out[max(begin, to-window):to]
		}
		if stored {
			done = copy(out[to:], block)
		} else if to == len(out) { // for which the library would write, into no memory
			return nil, bad
		} else {
			var err error
			if done, err = lz4.UncompressBlockWithDict(block, out[to:], before); err != nil {
				return nil, fmt.Errorf("damaged: %w", err)
			}
		}
		if to += done; stored && done < len(block) {
			return nil, bad
		}
	}
}
