package batch

import (
	"encoding/binary"
	"slices"
)

// Result is what Finish made of a batch.
type Result struct {
	Rows     int    // rows the consumer sees
	KeyBytes uint64 // used bytes of Keys
	Padded   bool   // some of the rows repeat samples
	KeyCut   bool   // a key was longer than KeyBytes
	Hash     uint64 // of the rows' hashes; 0: nobody wanted it
}

// Finish applies the policy to the bad rows and writes the columns. Every row has been decoded or is in b.Bad, which
// is sorted by row on return.
func (b *Batch) Finish(policy Policy, names Names) Result {
	for i := range b.Samples {
		b.Status[i] = OK
		if i >= len(b.Samples)-b.NPadded {
			b.Status[i] = Padded
		}
	}
	if len(b.Bad) > 0 {
		slices.SortFunc(b.Bad, func(x, y Bad) int { return x.Row - y.Row })
		b.apply(policy, b.fallen())
	}
	r := b.call(names)
	r.Hash = b.hash()
	b.measure()
	return r
}

// measure finds the longest row of each field whose rows differ, and lays those of ragged fields one behind the other. They are no
// longer where Row says.
func (b *Batch) measure() {
	for f := range b.Fields {
		b.Fields[f].measure(len(b.Samples))
	}
	for c := range b.Columns {
		b.Columns[c].measure(len(b.Samples))
	}
}

func (f *Field) measure(rows int) {
	if f.Extents != nil {
		f.measureExtents(rows)
	}
	if f.Lengths == nil {
		return
	}
	lengths := f.Lengths[:rows]
	f.Longest = 0
	for _, n := range lengths {
		f.Longest = max(f.Longest, n)
	}
	if f.Offsets != nil {
		f.closeUp(lengths)
	}
}

// measureExtents counts the pixels of each ragged picture, or finds the largest sides.
func (f *Field) measureExtents(rows int) {
	f.Longest, f.Widest = 0, 0
	for i := range rows {
		if f.Offsets != nil {
			f.Lengths[i] = f.pixels(i)
		}
		f.Longest, f.Widest = max(f.Longest, f.Extents[2*i]), max(f.Widest, f.Extents[2*i+1])
	}
	if n := f.MultipleOf; n > 1 {
		f.Longest, f.Widest = (f.Longest+n-1)/n*n, (f.Widest+n-1)/n*n
	}
}

func (f *Field) closeUp(lengths []int64) {
	used := 0
	f.Offsets[0] = 0
	for i, n := range lengths {
		used += copy(f.Data[used:], f.Row(i)[:int(n)*f.StepBytes])
		f.Offsets[i+1] = int64(used / f.ItemBytes)
	}
}

// hash is the XXH3 of the rows' XXH3, 8 bytes each, little-endian; 1 instead of 0.
func (b *Batch) hash() uint64 {
	if b.Hashes == nil {
		return 0
	}
	h := &b.hasher
	h.Reset()
	for _, row := range b.Hashes[:len(b.Samples)] {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], row)
		_, _ = h.Write(word[:])
	}
	return max(h.Sum64(), 1)
}

// fallen are the bad samples without a row; the rows of others stand.
func (b *Batch) fallen() []Bad {
	b.fell = b.fell[:0]
	for _, bad := range b.Bad {
		if bad.Lacks == nil {
			b.fell = append(b.fell, bad)
		}
	}
	return b.fell
}

func (b *Batch) apply(policy Policy, fallen []Bad) {
	switch {
	case policy == Skip:
		b.closeHoles(fallen)
	case policy == Substitute && len(fallen) < len(b.Samples):
		b.substitute(fallen)
	default:
		for _, bad := range fallen {
			for f := range b.Fields {
				clear(b.Fields[f].Row(bad.Row))
			}
			for c := range b.Columns {
				b.Keep(bad.Row, c, nil)
			}
			b.Status[bad.Row] = Masked
			b.HashRow(bad.Row)
		}
	}
}

func (b *Batch) copyRow(to, from int) {
	for f := range b.Fields {
		copy(b.Fields[f].Row(to), b.Fields[f].written(from))
	}
	for c := range b.Columns {
		b.Columns[c].put(to, b.Columns[c].used(from))
	}
}

// closeHoles moves good rows up over bad ones and shortens the batch.
func (b *Batch) closeHoles(fallen []Bad) {
	to, next := 0, 0 // row to fill; next of fallen
	for from := range b.Samples {
		if next < len(fallen) && fallen[next].Row == from {
			next++
			continue
		}
		if to != from {
			b.copyRow(to, from)
			b.Samples[to], b.Status[to] = b.Samples[from], b.Status[from]
			if b.Hashes != nil {
				b.Hashes[to] = b.Hashes[from]
			}
			if b.Named {
				b.names[to], b.names[from] = b.names[from], b.names[to]
			}
		}
		to++
	}
	b.Samples = b.Samples[:to]
}

// substitute fills each bad row from the nearest good one before it; the last row comes before the first.
func (b *Batch) substitute(fallen []Bad) {
	n := len(b.Samples)
	isBad := func(row int) bool {
		_, found := slices.BinarySearchFunc(fallen, row, func(x Bad, row int) int { return x.Row - row })
		return found
	}
	for _, bad := range fallen {
		from := bad.Row
		for isBad(from) {
			from = (from + n - 1) % n
		}
		b.copyRow(bad.Row, from)
		b.Samples[bad.Row] = b.Samples[from]
		if b.Status[bad.Row] != Padded { // that repeats a sample, whichever it is
			b.Status[bad.Row] = Substituted
		}
		if b.Hashes != nil {
			b.Hashes[bad.Row] = b.Hashes[from]
		}
		if b.Named {
			of := &b.names[from]
			b.Call(bad.Row, of.label, of.key)
		}
	}
}

// call writes what the rows are called.
func (b *Batch) call(names Names) Result {
	r := Result{Rows: len(b.Samples)}
	used := 0
	b.KeyOffsets[0] = 0
	for i, sample := range b.Samples {
		b.Index[i] = sample
		b.Label[i], b.name = b.nameOf(i, names, b.name[:0])
		if len(b.name) > KeyBytes {
			r.KeyCut = true
			b.name = b.name[:KeyBytes]
		}
		used += copy(b.Keys[used:], b.name)
		b.KeyOffsets[i+1] = int64(used)
		r.Padded = r.Padded || b.Status[i] == Padded
	}
	r.KeyBytes = uint64(used)
	return r
}

// Name is the key of a row that is not finished. Different goroutines may ask for different rows.
func (b *Batch) Name(row int, names Names) []byte {
	_, key := b.nameOf(row, names, nil)
	return key
}

// nameOf is the label of a row, and its key behind dst. One that was not read has those of its sample.
func (b *Batch) nameOf(row int, names Names, dst []byte) (label int64, key []byte) {
	if b.Named && b.names[row].told {
		return b.names[row].label, append(dst, b.names[row].key...)
	}
	sample := b.Samples[row]
	return names.Label(sample), names.Key(sample, dst)
}
