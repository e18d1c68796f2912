package batch

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// KeyBytes is the longest key a batch carries; longer ones are cut.
const KeyBytes = 128

// MaxFields is how many tensors a sample is decoded to at most: 16 media (core/spec) of 4.
const MaxFields = 64

// Values of the status column.
const (
	OK          = 0
	Masked      = 1
	Substituted = 2
	Padded      = 3
)

// Policy says what becomes of the row of a bad sample.
type Policy int

const (
	// Skip moves later rows up, in order; the batch gets shorter, down to no row at all.
	Skip Policy = iota
	// Mask zeroes the row and says so in its status; shapes stay.
	Mask
	// Substitute copies the nearest good row before it, cyclically; index, key and label name the sample that is
	// really there. A padded row stays one. A batch without any good row is masked.
	Substitute
)

// Memory is the part of a slot that a batch writes; all slices have cap == len.
type Memory struct {
	Fields     []Field // what samples are decoded to
	Index      []int64 // [N] place in the data set
	Label      []int64 // [N]
	Status     []byte  // [N]
	Keys       []byte  // [N * KeyBytes], the names one after the other
	KeyOffsets []int64 // [N + 1]
	Columns    []Field // what is known of samples as they are read
}

// Field is one tensor of what samples are. Rows are written at one size.
type Field struct {
	Data     []byte // [N, RowBytes]
	RowBytes int

	Lengths []int64 // [N] how many steps of each row are used; of what is decoded the memory of another field. nil: all rows are as long
	Longest int64   // of Lengths, of the rows that Finish left

	// A ragged field, which has Lengths: Finish moves what is used of each row, its length times StepBytes from its beginning, to its place behind
	// the row before it, and Offsets, [N + 1], say where rows begin, in elements of ItemBytes. nil: rows stay.
	Offsets              []int64
	StepBytes, ItemBytes int

	// Pictures of their own size have Extents, [N, 2], the height and the width of each, which is the memory of another field. Ragged their Lengths
	// are theirs alone: Finish counts the pixels. Else Longest and Widest are the largest height and width, whole multiples of MultipleOf.
	Extents            []int64
	MultipleOf, Widest int64
}

// put writes a row of a column. What a padded row has behind it is zero.
func (f *Field) put(i int, value []byte) {
	row := f.Row(i)
	n := copy(row, value)
	if f.Offsets == nil {
		clear(row[n:])
	}
	if f.Lengths != nil {
		f.Lengths[i] = int64(n / f.StepBytes)
	}
}

// used is what of a row of a column counts.
func (f *Field) used(i int) []byte {
	if f.Lengths == nil {
		return f.Row(i)
	}
	return f.Row(i)[:int(f.Lengths[i])*f.StepBytes]
}

// pixels is how many a row's picture has.
func (f *Field) pixels(i int) int64 { return f.Extents[2*i] * f.Extents[2*i+1] }

// written is what of a row was decoded: all, but of pictures that are ragged.
func (f *Field) written(i int) []byte {
	if f.Extents == nil || f.Offsets == nil {
		return f.Row(i)
	}
	return f.Row(i)[:f.pixels(i)*int64(f.StepBytes)]
}

// Row is the memory of one row.
func (f *Field) Row(i int) []byte {
	at := i * f.RowBytes
	return f.Data[at : at+f.RowBytes : at+f.RowBytes]
}

// rowName is what a row says of itself.
type rowName struct {
	told  bool
	label int64
	key   []byte
}

// Names tells what a sample is called.
type Names interface {
	// Key appends the sample's name to dst.
	Key(sample int64, dst []byte) []byte
	// Label is the sample's class, or -1.
	Label(sample int64) int64
}

// Bad is a sample that did not become a row, and why.
type Bad struct {
	Row    int
	Sample int64
	Cause  string  // one word, for counters
	Err    error   // for people
	Timed  bool    // the same sample might do well another time: the storage's fault, or the machine's
	Lacks  []int64 // documents that the row is made without: it stands. nil: there is no row
}

// Batch is one batch on its way from plan to publish. It is used again for another once it is through.
type Batch struct {
	Memory
	Ticket, Epoch, Step, EpochStep uint64

	Samples []int64  // of each row
	NPadded int      // rows at the end that repeat samples
	Hashes  []uint64 // of each row that was decoded (HashRow), where somebody wants the batch's; else nil
	Made    []int    // columns that are made with the fields, and hashed as these are
	Bad     []Bad

	Pending   int // rows not decoded yet
	FetchedNS int64
	DecodedNS int64

	Named bool // each row says itself what it is called: see Call

	fell   []Bad       // of Bad: those without a row
	hasher xxh3.Hasher // of hash
	names  []rowName   // of each row, where they are named
	name   []byte
}

// Begin starts a batch of the given samples, the last padded of which fill up. It keeps samples, whose memory the caller
// may take back for the next Begin by handing b.Samples[:0] to the sampler.
func (b *Batch) Begin(m Memory, samples []int64, padded int) {
	b.Memory, b.Samples, b.NPadded = m, samples, padded
	b.Bad, b.Pending = b.Bad[:0], len(samples)
	b.FetchedNS, b.DecodedNS = 0, 0
	if b.Named {
		b.names = slices.Grow(b.names[:0], len(samples))[:len(samples)]
		for i := range b.names {
			b.names[i].told = false
		}
	}
}

// Keep writes a row's value in column c. Different goroutines may do so for different rows.
func (b *Batch) Keep(row, c int, value []byte) { b.Columns[c].put(row, value) }

// Room is the memory of a row's value in column c, empty, for a value that is made there and then kept.
func (b *Batch) Room(row, c int) []byte { return b.Columns[c].Row(row)[:0] }

// Kept is a row's value in column c.
func (b *Batch) Kept(row, c int) []byte { return b.Columns[c].used(row) }

// Call says what a row of a named batch is called. Different goroutines may do so for different rows.
func (b *Batch) Call(row int, label int64, key []byte) {
	n := &b.names[row]
	n.told, n.label, n.key = true, label, append(n.key[:0], key...)
}

// Row appends the memory of one row to dst, a slice for each field.
func (b *Batch) Row(i int, dst [][]byte) [][]byte {
	for f := range b.Fields {
		dst = append(dst, b.Fields[f].Row(i))
	}
	return dst
}

// HashRow takes the hash of a row that is written, where somebody wants the batch's: its XXH3 or, of several fields and columns made with them, the
// XXH3 of theirs, 8 bytes each, little-endian; of a column up to its length. Of a batch without fields its columns are hashed so.
func (b *Batch) HashRow(i int) {
	if b.Hashes == nil {
		return
	}
	if len(b.Fields) == 1 && len(b.Made) == 0 {
		b.Hashes[i] = xxh3.Hash(b.Fields[0].written(i))
		return
	}
	var words [8 * 2 * MaxFields]byte
	all := words[:0]
	for f := range b.Fields {
		all = binary.LittleEndian.AppendUint64(all, xxh3.Hash(b.Fields[f].written(i)))
	}
	for c := range b.Columns {
		if len(b.Fields) == 0 || slices.Contains(b.Made, c) {
			all = binary.LittleEndian.AppendUint64(all, xxh3.Hash(b.Columns[c].used(i)))
		}
	}
	b.Hashes[i] = xxh3.Hash(all)
}

// Int64s sees 8-byte aligned memory as numbers; the length is rounded down.
func Int64s(b []byte) []int64 {
	if len(b) < 8 {
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// Float32s is Int64s for floating point of 4 bytes.
func Float32s(b []byte) []float32 {
	if len(b) < 4 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Float64s is Int64s for floating point.
func Float64s(b []byte) []float64 {
	if len(b) < 8 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
