package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/core/tensor"
)

// A file of MXNet's RecordIO (.rec) is records, one behind the other, each at a multiple of 4: a magic number, a word of 3 bits that say which part of a
// record it is and 29 of its length, and its bytes. Where a record's bytes have the magic number at a multiple of 4 themselves, that is left out and the record
// goes on in another part, so that the number begins parts alone. A record of a picture is a header (flag u32, label f32, id u64, id2 u64), as many labels, f32,
// as the flag says (where it says any, the header's own is void), and the picture's file. Record, label and picture of a record in one part lie where they lie;
// of one in several the index has all of it, for rejoined to put together.
const (
	recEnding = ".rec"
	recMark   = "rec/" // before the name of an encoding of RecordIO's
	recFile   = recMark + "bytes"
	recLabels = recMark + "floats"

	recMagic   = 0xced7230a
	recHead    = 4 + 4
	recKindBit = 29 // where the 3 bits are
	recImage   = 4 + 4 + 8 + 8
	recLabelAt = 4

	recWhole, recBegins, recGoesOn, recEnds = 0, 1, 2, 3
)

// recCoding is an encoding of RecordIO's by its name.
func recCoding(of string) coding {
	if recMark+of == recLabels {
		return coding{name: recLabels, kind: encodedNumber, dtype: tensor.F32, head: &litDataHead{}}
	}
	return coding{name: of, kind: encodedBytes}
}

// recScan is the work of indexing a file of RecordIO.
type recScan struct {
	w       *window
	b       *indexBuilder
	labels  uint16
	files   uint16
	headers bool // records of a header alone are no samples
}

// recRecord is a record as the scan found it.
type recRecord struct {
	at, end int64
	size    int64  // of its bytes, the parts put together
	head    []byte // the first of them: a picture's header, and a label behind it
	split   bool
}

// buildRecIndex finds the labels and the picture of every record, until ctx ends.
func buildRecIndex(ctx context.Context, w *window) (*indexBuilder, error) {
	if w.size > maxArchive {
		return nil, fmt.Errorf("got %d bytes, want at most %d; split the file", w.size, int64(maxArchive))
	}
	s := recScan{w: w, b: newIndexBuilder()}
	var err error
	if s.files, err = s.b.part([]byte("image" + encodedMark + recFile)); err != nil {
		return nil, err
	}
	if s.labels, err = s.b.part([]byte("label" + encodedMark + recLabels)); err != nil {
		return nil, err
	}
	r := recRecord{head: make([]byte, 0, recImage+recLabelAt)}
	for n := int64(0); r.end < w.size; n++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r = recRecord{at: r.end, end: r.end, head: r.head[:0]}
		err := s.find(&r)
		if err == nil {
			err = s.take(n, &r)
		}
		if errors.Is(err, errEnd) {
			return nil, fmt.Errorf("truncated: record %d at %d reaches beyond the %d bytes; write or copy it again", n, r.at, w.size)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d at %d: %w", n, r.at, err)
		}
	}
	return s.b, nil
}

// find follows a record's parts to its end.
func (s *recScan) find(r *recRecord) error {
	for kind := uint32(recWhole); ; {
		words, err := s.w.bytes(r.end, recHead)
		if err != nil {
			return err
		}
		first := r.end == r.at
		if magic := binary.LittleEndian.Uint32(words); magic != recMagic {
			return fmt.Errorf("it begins with %08x, want %08x; the file is damaged, or not MXNet's RecordIO; write or copy it again", magic, uint32(recMagic))
		}
		var size int64
		if kind, size = recWord(words); first != (kind == recWhole || kind == recBegins) || kind > recEnds {
			return fmt.Errorf("damaged: got a part of kind %d at %d, want %s; write or copy it again", kind, r.end, map[bool]string{true: "0 or 1, with which records begin", false: "2 or 3, with which they go on"}[first])
		}
		if !first {
			r.size += 4
			r.fill(binary.LittleEndian.AppendUint32(nil, recMagic))
		}
		few, err := s.w.bytes(r.end+recHead, int(min(size, int64(cap(r.head)-len(r.head)))))
		if err != nil {
			return err
		}
		r.fill(few)
		r.size += size
		switch r.end += recHead + (size+3)/4*4; {
		case r.end > s.w.size:
			return errEnd
		case r.end-r.at > maxMemberSize:
			return fmt.Errorf("got more than %d bytes", int64(maxMemberSize))
		case kind == recWhole || kind == recEnds:
			return nil
		case size%4 != 0:
			return fmt.Errorf("damaged: a part that another follows has %d bytes, want a multiple of 4; write or copy it again", size)
		}
		r.split = true
	}
}

// recWord is what the second word of a part says.
func recWord(head []byte) (kind uint32, size int64) {
	word := binary.LittleEndian.Uint32(head[4:])
	return word >> recKindBit, int64(word & (1<<recKindBit - 1))
}

// fill appends to the head what it has room for.
func (r *recRecord) fill(data []byte) {
	r.head = append(r.head, data[:min(len(data), cap(r.head)-len(r.head))]...)
}

// take adds record n as a sample. InsightFace's files begin with a header of two labels and nothing behind: numbers of records, those from 1 to the first have
// pictures, those from there to the second are a header each with the records of one face. As floats of 32 bits do not count beyond 2^24, what a record
// has is what tells: with such a beginning, those of a header alone are no samples.
func (s *recScan) take(n int64, r *recRecord) error {
	if len(r.head) < recImage {
		return fmt.Errorf("got %d bytes, want an image record, which has a header of %d; %s", r.size, recImage, byProgram)
	}
	labels := int64(binary.LittleEndian.Uint32(r.head))
	behind := r.size - recImage - 4*labels
	if behind < 0 {
		return fmt.Errorf("its header tells of %d labels, and %d bytes are behind it; the file is damaged, or its records are no pictures; write it again by mxnet.recordio.pack, or %s",
			labels, r.size-recImage, byProgram)
	}
	if n == 0 {
		s.headers = labels == 2 && behind == 0
	}
	if s.headers && behind == 0 && labels > 0 {
		return nil
	}
	if err := s.b.numbered(n); err != nil {
		return err
	}
	data := r.at + recHead
	label := indexMember{part: s.labels, off: data + recLabelAt, size: recLabelAt, split: r.split, several: labels > 1}
	file := indexMember{part: s.files, off: data + recImage + 4*labels, size: uint32(behind), split: r.split && behind > 0}
	first := r.head[recLabelAt:]
	if labels > 0 {
		label.off, label.size, first = data+recImage, uint32(4*labels), r.head[recImage:]
	}
	label.value, label.number = wholeFloat(math.Float32frombits(binary.LittleEndian.Uint32(first)))
	for _, m := range []*indexMember{&label, &file} {
		if m.split {
			m.off, m.size = r.at, uint32(r.end-r.at)
		}
		if m.wide() {
			s.b.wide++
		}
		s.b.members = append(s.b.members, *m)
	}
	return nil
}

// wholeFloat is a float that is a whole number.
func wholeFloat(v float32) (whole int64, ok bool) {
	if v < -1<<63 || v >= 1<<63 || v != v || float32(int64(v)) != v {
		return 0, false
	}
	return int64(v), true
}

// rejoined puts a record that is in several parts back together, in the memory that it is in, and gives its labels, or the file behind these.
func rejoined(record []byte, of *coding) ([]byte, error) {
	all, left := record[:0], record
	for len(left) >= recHead {
		kind, size := recWord(left)
		if binary.LittleEndian.Uint32(left) != recMagic || size > int64(len(left)-recHead) {
			break
		}
		part := left[recHead : recHead+size]
		if kind == recGoesOn || kind == recEnds {
			all = binary.LittleEndian.AppendUint32(all, recMagic)
		}
		left = left[recHead+min((size+3)/4*4, int64(len(left)-recHead)):]
		all = append(all, part...)
	}
	if len(left) == 0 && len(all) >= recImage {
		labels := int64(binary.LittleEndian.Uint32(all))
		behind := recImage + 4*labels
		switch {
		case behind > int64(len(all)):
		case of.name != recLabels:
			return all[behind:], nil
		case labels > 0:
			return all[recImage:behind], nil
		default:
			return all[recLabelAt : 2*recLabelAt], nil
		}
	}
	return nil, &Error{Cause: Value, Detail: "damaged: the parts of its record do not make one; write or copy the file again"}
}
