package heif

import "encoding/binary"

// reader takes big-endian numbers off a slice. After a read past the end it is short, and all that follows is zero.
type reader struct {
	d     []byte
	short bool
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.d)) {
		r.short, r.d = true, nil
		return nil
	}
	b := r.d[:n]
	r.d = r.d[n:]
	return b
}

// number reads an unsigned number of size bytes; a size of 0 reads 0.
func (r *reader) number(size int) uint64 {
	var v uint64
	for _, b := range r.bytes(uint64(size)) {
		v = v<<8 | uint64(b)
	}
	return v
}

func (r *reader) u8() uint64  { return r.number(1) }
func (r *reader) u16() uint64 { return r.number(2) }
func (r *reader) u32() uint64 { return r.number(4) }

// either reads 4 bytes if wide, else 2.
func (r *reader) either(wide bool) uint64 {
	if wide {
		return r.u32()
	}
	return r.u16()
}

// full reads the version and flags that begin a full box.
func (r *reader) full() (version, flags uint64) {
	v := r.u32()
	return v >> 24, v & 0xffffff
}

// box is one box: its type and payload. whole is false where the file ends before the box does.
type box struct {
	kind  string
	data  []byte
	whole bool
}

// next takes a box off the reader; ok is false at the end, and where there is no box to see.
func (r *reader) next() (b box, ok bool) {
	d := r.d
	if len(d) < 8 {
		return box{}, false
	}
	size, head := uint64(binary.BigEndian.Uint32(d)), uint64(8)
	switch {
	case size == 0:
		size = uint64(len(d))
	case size == 1 && len(d) >= 16:
		size, head = binary.BigEndian.Uint64(d[8:]), 16
	}
	if size < head {
		return box{}, false
	}
	end := min(size, uint64(len(d)))
	r.d = d[end:]
	return box{kind: string(d[4:8]), data: d[head:end], whole: end == size}, true
}

// find is the first box of that kind among those that d holds.
func find(d []byte, kind string) (box, bool) {
	r := reader{d: d}
	for {
		b, ok := r.next()
		if !ok || b.kind == kind {
			return b, ok
		}
	}
}
