package batch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"unsafe"
)

type names struct{ long int64 }

func (n names) Key(i int64, dst []byte) []byte {
	if n.long != 0 && i == n.long {
		return append(dst, strings.Repeat("x", 200)...)
	}
	return fmt.Appendf(dst, "k%d", i)
}
func (names) Label(i int64) int64 { return i * 10 }

// begin makes a batch of n rows whose samples are 100, 101, ... and whose rows are filled with their number.
func begin(n, padded int, bad ...int) *Batch {
	b := &Batch{}
	samples := make([]int64, n)
	for i := range samples {
		samples[i] = int64(100 + i)
	}
	b.Begin(Memory{
		Fields: []Field{{Data: make([]byte, n*4), RowBytes: 4}, {Data: make([]byte, n*2), RowBytes: 2}}, Index: make([]int64, n), Label: make([]int64, n),
		Status: make([]byte, n), Keys: make([]byte, n*KeyBytes), KeyOffsets: make([]int64, n+1),
	}, samples, padded)
	for i := range n {
		for f := range b.Fields {
			row := b.Fields[f].Row(i)
			for k := range row {
				row[k] = byte(i + 1)
			}
		}
	}
	for _, row := range bad {
		b.Bad = append(b.Bad, Bad{Row: row, Sample: int64(100 + row), Cause: "corrupt"})
	}
	return b
}

// rows is what each row is filled with; 255 where its fields do not agree.
func (b *Batch) rows(n int) (all []byte) {
	for i := range n {
		first, second := b.Fields[0].Row(i)[0], b.Fields[1].Row(i)[1]
		if first != second {
			first = 255
		}
		all = append(all, first)
	}
	return all
}

// A row's hash is that of its bytes, or, of several fields, that of their hashes: it tells rows apart in any field.
func TestRowHashCoversEveryField(t *testing.T) {
	hash := func(change func(b *Batch)) uint64 {
		b := begin(2, 0)
		b.Hashes = make([]uint64, 2)
		change(b)
		b.HashRow(1)
		return b.Hashes[1]
	}
	same := hash(func(*Batch) {})
	for f := range 2 {
		if got := hash(func(b *Batch) { b.Fields[f].Row(1)[1] ^= 1 }); got == same {
			t.Fatalf("field %d is not part of the hash", f)
		}
	}
	one := hash(func(b *Batch) { b.Fields = b.Fields[:1] })
	if want := xxh3.Hash([]byte{2, 2, 2, 2}); one != want {
		t.Fatalf("one field: got %x, want its XXH3 %x", one, want)
	}
	if hash(func(b *Batch) { b.Fields[0].Row(0)[0] = 9 }) != same {
		t.Fatal("another row changed the hash")
	}
}

// Skip closes holes in order, and the columns follow the rows.
func TestSkipMovesLaterRowsUp(t *testing.T) {
	b := begin(6, 0, 4, 0)
	r := b.Finish(Skip, names{})
	if r.Rows != 4 || !bytes.Equal(b.rows(4), []byte{2, 3, 4, 6}) || !slices.Equal(b.Index[:4], []int64{101, 102, 103, 105}) {
		t.Fatalf("%+v rows %v index %v", r, b.rows(4), b.Index)
	}
	if got := string(b.Keys[b.KeyOffsets[3]:b.KeyOffsets[4]]); got != "k105" || r.KeyBytes != 16 || b.Label[3] != 1050 {
		t.Fatalf("key %q, %d bytes, label %d", got, r.KeyBytes, b.Label[3])
	}
}

// A batch of bad samples alone is delivered without rows.
func TestSkipOfAllRowsLeavesNone(t *testing.T) {
	r := begin(2, 0, 1, 0).Finish(Skip, names{})
	if r.Rows != 0 || r.KeyBytes != 0 {
		t.Fatalf("%+v", r)
	}
}

// Mask keeps the shape: the row is zero, its status says so, its name stays.
func TestMaskZeroesTheRow(t *testing.T) {
	b := begin(3, 0, 1)
	r := b.Finish(Mask, names{})
	if r.Rows != 3 || !bytes.Equal(b.rows(3), []byte{1, 0, 3}) || !bytes.Equal(b.Status, []byte{OK, Masked, OK}) || b.Index[1] != 101 {
		t.Fatalf("%+v rows %v status %v index %v", r, b.rows(3), b.Status, b.Index)
	}
}

// Substitute takes the nearest good row before, the last being before the first, and names the sample that is there.
func TestSubstituteTakesTheNearestGoodRowBefore(t *testing.T) {
	b := begin(5, 0, 3, 0, 4)
	b.Finish(Substitute, names{})
	if !bytes.Equal(b.rows(5), []byte{3, 2, 3, 3, 3}) || !slices.Equal(b.Index, []int64{102, 101, 102, 102, 102}) {
		t.Fatalf("rows %v index %v", b.rows(5), b.Index)
	}
	if !bytes.Equal(b.Status, []byte{Substituted, OK, OK, Substituted, Substituted}) {
		t.Fatalf("status %v", b.Status)
	}
}

// With no good row to take, Substitute masks.
func TestSubstituteWithoutAGoodRowMasks(t *testing.T) {
	b := begin(2, 0, 0, 1)
	r := b.Finish(Substitute, names{})
	if r.Rows != 2 || !bytes.Equal(b.Status, []byte{Masked, Masked}) || !bytes.Equal(b.rows(2), []byte{0, 0}) {
		t.Fatalf("%+v status %v", r, b.Status)
	}
}

// Rows that fill up are marked, also when a skipped one made them move.
func TestPaddedRowsAreMarked(t *testing.T) {
	b := begin(4, 2, 0)
	r := b.Finish(Skip, names{})
	if !r.Padded || !bytes.Equal(b.Status[:3], []byte{OK, Padded, Padded}) {
		t.Fatalf("%+v status %v", r, b.Status[:3])
	}
}

// A row that fills up is no sample of the epoch, though another takes its place: who leaves out padded rows has as many as there are samples. One
// that is zero is masked.
func TestASubstitutedRowThatFillsUpIsPadded(t *testing.T) {
	b := begin(4, 2, 1, 3)
	r := b.Finish(Substitute, names{})
	if !r.Padded || !bytes.Equal(b.Status, []byte{OK, Substituted, Padded, Padded}) || !slices.Equal(b.Index, []int64{100, 100, 102, 102}) {
		t.Fatalf("%+v status %v index %v", r, b.Status, b.Index)
	}
	b = begin(4, 2, 1, 3)
	if b.Finish(Mask, names{}); !bytes.Equal(b.Status, []byte{OK, Masked, Padded, Masked}) {
		t.Fatalf("status %v", b.Status)
	}
}

// A key beyond the limit is cut and reported.
func TestLongKeyIsCut(t *testing.T) {
	b := begin(3, 0)
	r := b.Finish(Skip, names{long: 101})
	if !r.KeyCut || b.KeyOffsets[2]-b.KeyOffsets[1] != KeyBytes || string(b.Keys[b.KeyOffsets[2]:b.KeyOffsets[3]]) != "k102" {
		t.Fatalf("%+v offsets %v", r, b.KeyOffsets)
	}
}

// The columns follow their rows under every policy: numbers and bytes of any length.
func TestColumnsFollowTheirRows(t *testing.T) {
	for policy, want := range map[Policy]string{Skip: "[1 3] b,ddd", Mask: "[0 1 0 3] ,b,,ddd", Substitute: "[3 1 1 3] ddd,b,b,ddd"} {
		b := begin(4, 0, 0, 2)
		m := b.Memory
		m.Columns = []Field{
			{RowBytes: 8, Data: make([]byte, 32)},
			{RowBytes: 16, StepBytes: 1, ItemBytes: 1, Data: make([]byte, 64), Lengths: make([]int64, 4), Offsets: make([]int64, 5)},
		}
		for range 2 { // used twice, as batches are
			b.Begin(m, []int64{100, 101, 102, 103}, 0)
			b.Bad = []Bad{{Row: 2, Sample: 102}, {Row: 0, Sample: 100}}
			for _, row := range []int{3, 1, 0} { // row 0 turned bad after it was read
				number := []int64{int64(row)}
				b.Keep(row, 0, unsafe.Slice((*byte)(unsafe.Pointer(&number[0])), 8))
				b.Keep(row, 1, bytes.Repeat([]byte{byte('a' + row)}, row))
			}
			r := b.Finish(policy, names{})
			var texts []string
			for i := range r.Rows {
				texts = append(texts, string(m.Columns[1].Data[m.Columns[1].Offsets[i]:m.Columns[1].Offsets[i+1]]))
			}
			if got := fmt.Sprint(Int64s(m.Columns[0].Data)[:r.Rows], " ", strings.Join(texts, ",")); got != want {
				t.Fatalf("policy %v: got %q, want %q", policy, got, want)
			}
		}
	}
}

// A batch without bad samples costs no allocation.
func TestFinishAllocatesNothing(t *testing.T) {
	b := begin(32, 0)
	b.Finish(Skip, plain{})
	if n := testing.AllocsPerRun(100, func() { b.Finish(Skip, plain{}) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

type plain struct{}

func (plain) Key(_ int64, dst []byte) []byte { return append(dst, "name"...) }
func (plain) Label(int64) int64              { return 0 }

// Rows that say themselves what they are called keep their names whatever becomes of the rows; one that was not read has
// its sample's.
func TestNamedRowsKeepTheirNames(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		keys   []string
		labels []int64
	}{
		{Skip, []string{"own0", "own2", "own3"}, []int64{7, 9, 10}},
		{Mask, []string{"own0", "k101", "own2", "own3", "own4"}, []int64{7, 1010, 9, 10, 11}},
		{Substitute, []string{"own0", "own0", "own2", "own3", "own3"}, []int64{7, 7, 9, 10, 10}},
	} {
		b := begin(5, 0, 1, 4)
		b.Named = true
		b.Begin(b.Memory, b.Samples, 0)
		b.Bad = []Bad{{Row: 1, Sample: 101}, {Row: 4, Sample: 104}} // the one was not read, the other not decoded
		for _, row := range []int{0, 2, 3, 4} {
			b.Call(row, int64(row+7), fmt.Appendf(nil, "own%d", row))
		}
		if got := string(b.Name(4, names{})) + " " + string(b.Name(1, names{})); got != "own4 k101" {
			t.Error(got)
		}
		r := b.Finish(c.policy, names{})
		var keys []string
		for i := range r.Rows {
			keys = append(keys, string(b.Keys[b.KeyOffsets[i]:b.KeyOffsets[i+1]]))
		}
		if !slices.Equal(keys, c.keys) || !slices.Equal(b.Label[:r.Rows], c.labels) {
			t.Errorf("policy %v: keys %q, labels %v", c.policy, keys, b.Label[:r.Rows])
		}
	}
}
