package source

import (
	"encoding/binary"
	"errors"
)

// flat reads FlatBuffers, the encoding of Arrow's metadata: tables, whose fields are found through a table of offsets that several may share, vectors and texts.
// Whatever its bytes say, nothing is read outside of them; the first place that would be is an error that stays, and what is read then is zero.
type flat struct {
	data []byte
	left int // tables and texts that may still be followed, as they may lead to each other
	err  error
}

// maxFlatTables bounds the work that metadata may make: some tables for each field of a schema.
const maxFlatTables = 1 << 17

var errFlat = errors.New("damaged: its metadata lead outside of themselves; write or copy it again")

func newFlat(data []byte) *flat { return &flat{data: data, left: maxFlatTables} }

// at are n bytes from a place on; zeros where there are none.
func (f *flat) at(place, n int) []byte {
	if place < 0 || place > len(f.data)-n || f.err != nil {
		f.fail()
		return make([]byte, n)
	}
	return f.data[place : place+n]
}

func (f *flat) fail() {
	if f.err == nil {
		f.err = errFlat
	}
}

func (f *flat) u16(place int) int { return int(binary.LittleEndian.Uint16(f.at(place, 2))) }
func (f *flat) u32(place int) int { return int(binary.LittleEndian.Uint32(f.at(place, 4))) }

// follow is the place that an offset leads to; only forward.
func (f *flat) follow(place int) int {
	to := place + f.u32(place)
	if f.left--; f.left < 0 || to <= place || to > len(f.data)-4 {
		f.fail()
		return 0
	}
	return to
}

// root is the table that all begins with.
func (f *flat) root() flatTable { return flatTable{f, f.follow(0)} }

// flatTable is a table; at place 0 one that is not there, whose fields have their defaults.
type flatTable struct {
	*flat
	place int
}

func (t flatTable) there() bool { return t.place > 0 }

// field is the place of field k; 0: it is not there.
func (t flatTable) field(k int) int {
	if !t.there() {
		return 0
	}
	offsets := t.place - int(int32(t.u32(t.place)))
	if slot := 4 + 2*k; slot+2 <= t.u16(offsets) {
		if at := t.u16(offsets + slot); at > 0 {
			return t.place + at
		}
	}
	return 0
}

func (t flatTable) byte(k int) uint8 {
	if at := t.field(k); at > 0 {
		return t.at(at, 1)[0]
	}
	return 0
}

func (t flatTable) short(k int, byDefault int16) int16 {
	if at := t.field(k); at > 0 {
		return int16(t.u16(at))
	}
	return byDefault
}

func (t flatTable) int(k int, byDefault int32) int32 {
	if at := t.field(k); at > 0 {
		return int32(t.u32(at))
	}
	return byDefault
}

func (t flatTable) long(k int) int64 {
	if at := t.field(k); at > 0 {
		return t.longAt(at)
	}
	return 0
}

func (f *flat) longAt(place int) int64 { return int64(binary.LittleEndian.Uint64(f.at(place, 8))) }

func (t flatTable) table(k int) flatTable {
	if at := t.field(k); at > 0 {
		return flatTable{t.flat, t.follow(at)}
	}
	return flatTable{flat: t.flat}
}

// vector is where the elements of a vector begin, each of so many bytes, and how many there are.
func (t flatTable) vector(k, size int) (at, n int) {
	if at = t.field(k); at == 0 {
		return 0, 0
	}
	at = t.follow(at)
	if n = t.u32(at); n > (len(t.data)-at-4)/size {
		t.fail()
		return 0, 0
	}
	return at + 4, n
}

// tables calls take with each table of a vector.
func (t flatTable) tables(k int, take func(flatTable)) {
	at, n := t.vector(k, 4)
	for ; n > 0 && t.err == nil; n-- {
		take(flatTable{t.flat, t.follow(at)})
		at += 4
	}
}

// text is that of a field, as bytes of the metadata.
func (t flatTable) text(k int) []byte {
	at, n := t.vector(k, 1)
	return t.at(at, n)
}
