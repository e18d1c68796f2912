package sampler

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// packed is a config of documents of given lengths, in an order by seed; seed 0: in their own.
func packConfig(lengths []int64, length int64, seed uint64) PackConfig {
	c := PackConfig{Documents: int64(len(lengths)), Length: length, Lengths: func(d int64) int64 { return lengths[d] }, At: func(place int64) int64 { return place }}
	if seed > 0 {
		perm := NewPerm(c.Documents, seed, 0)
		c.At = perm.At
	}
	return c
}

func pack(t testing.TB, c PackConfig) *Packing {
	t.Helper()
	p, err := Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantWhole checks that every element of every document is in exactly one place, but for what is cut off, that no row has more than its length, and that
// documents are cut only where they may be.
func wantWhole(t testing.TB, p *Packing) {
	t.Helper()
	next := make([]int64, p.Documents) // element of each document
	pieces := make([]map[int64]int64, p.Documents)
	for row := range p.Rows() {
		first, end := p.Pieces(row)
		if first == end {
			t.Fatalf("row %d is empty", row)
		}
		at := int64(0)
		for k := first; k < end; k++ {
			document, from := p.Piece(k)
			n := min(p.Lengths(document)-from, p.Length-at)
			if n <= 0 {
				t.Fatalf("row %d: document %d from %d on has %d elements at %d", row, document, from, n, at)
			}
			if !p.Wrapped && at+n < p.Length && from+n < p.Lengths(document) {
				t.Fatalf("row %d: document %d is cut at %d of %d with room left", row, document, from+n, p.Lengths(document))
			}
			if !p.Wrapped && from%p.Length != 0 {
				t.Fatalf("row %d: document %d begins at %d", row, document, from)
			}
			if pieces[document] == nil {
				pieces[document] = map[int64]int64{}
			}
			if _, twice := pieces[document][from]; twice {
				t.Fatalf("document %d is there twice from %d on", document, from)
			}
			pieces[document][from] = n
			at += n
		}
	}
	for document := range next {
		want := p.Lengths(int64(document))
		if p.Truncate {
			want = min(want, p.Length)
		}
		got := int64(0)
		for n, more := pieces[document][0]; more; n, more = pieces[document][got] {
			got += n
		}
		if got != want {
			t.Fatalf("document %d: %d elements in rows, want %d of %d", document, got, want, p.Lengths(int64(document)))
		}
	}
}

// greedy is the rows that documents need which are put into the row in hand, or begin a new one.
func greedy(c *PackConfig) (rows int64) {
	room := int64(0)
	for place := range c.Documents {
		n := c.Lengths(c.At(place))
		if n > room {
			rows, room = rows+1, c.Length
		}
		room -= n
	}
	return rows
}

// naive is best-fit decreasing as it reads in a book: the rows' pieces, of one window.
func naive(c *PackConfig) (rows int64) {
	var all, rooms []int64
	for d := range c.Documents {
		all = append(all, c.Lengths(d))
	}
	slices.Sort(all)
	slices.Reverse(all)
	for _, n := range all {
		best := -1
		for k, room := range rooms {
			if n > 0 && room >= n && (best < 0 || room < rooms[best]) {
				best = k
			}
		}
		switch {
		case n == 0:
		case best < 0:
			rooms = append(rooms, c.Length-n)
		default:
			rooms[best] -= n
		}
	}
	return int64(len(rooms))
}

// Whatever the lengths are, each document is in the rows exactly once, whole where it fits; and the rows are those of a book's best-fit decreasing.
func TestEveryDocumentIsPackedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		length := 1 + r.Int64N(300)
		lengths := make([]int64, 1+r.IntN(200))
		for k := range lengths {
			lengths[k] = r.Int64N(length + 1)
		}
		c := packConfig(lengths, length, r.Uint64N(3))
		p := pack(t, c)
		wantWhole(t, p)
		if want := naive(&c); p.Rows() != want {
			t.Fatalf("%v in rows of %d: %d rows, want %d", lengths, length, p.Rows(), want)
		}
		for k := range lengths {
			lengths[k] *= r.Int64N(5)
		}
		c.Truncate = true
		wantWhole(t, pack(t, c))
		c.Truncate = false
		wantWhole(t, pack(t, c))
		c.Wrapped = true
		p = pack(t, c)
		wantWhole(t, p)
		total := int64(0)
		for _, n := range lengths {
			total += n
		}
		if want := (total + length - 1) / length; p.Rows() != want {
			t.Fatalf("%v in rows of %d: %d wrapped rows, want %d", lengths, length, p.Rows(), want)
		}
	}
}

// FuzzPack is TestEveryDocumentIsPackedOnce of any lengths.
func FuzzPack(f *testing.F) {
	f.Add(uint16(10), []byte{3, 7, 10, 0, 11, 255})
	f.Add(uint16(0), []byte{1})
	f.Add(uint16(4096), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, length uint16, bytes []byte) {
		lengths := make([]int64, len(bytes))
		for k, b := range bytes {
			lengths[k] = int64(b)
		}
		c := packConfig(lengths, int64(length)+1, uint64(len(bytes)))
		wantWhole(t, pack(t, c))
		c.Truncate = true
		wantWhole(t, pack(t, c))
		c.Truncate, c.Wrapped = false, true
		wantWhole(t, pack(t, c))
	})
}

// Of several windows of documents rows are as full as one would have them, and far fuller than those of the row in hand.
func TestWindowsOfDocumentsLeaveLittleRoom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	lengths := make([]int64, 3*packWindow+17)
	total := int64(0)
	for k := range lengths {
		lengths[k] = min(2048, int64(1+r.ExpFloat64()*400))
		total += lengths[k]
	}
	c := packConfig(lengths, 2048, 7)
	p := pack(t, c)
	wantWhole(t, p)
	least, most := (total+2047)/2048, greedy(&c)
	if rows := p.Rows(); rows > least+least/1000+4 || rows >= most {
		t.Errorf("%d rows, want at most a thousandth more than %d, and less than %d", rows, least, most)
	}
}

// Without a shuffle rows come by their first documents, and a row's documents as the source has them.
func TestPackedDocumentsKeepTheirOrder(t *testing.T) {
	p := pack(t, packConfig([]int64{5, 9, 4, 1, 10, 3}, 10, 0))
	var got [][]int64
	for row := range p.Rows() {
		var documents []int64
		first, end := p.Pieces(row)
		for k := first; k < end; k++ {
			document, _ := p.Piece(k)
			documents = append(documents, document)
		}
		got = append(got, documents)
	}
	want := [][]int64{{0, 2, 3}, {1}, {4}, {5}}
	if !slices.EqualFunc(got, want, slices.Equal[[]int64]) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A plan is the same each time, and another by another seed.
func TestPackingIsByItsSeed(t *testing.T) {
	lengths := make([]int64, 5000)
	for k := range lengths {
		lengths[k] = int64(1 + k*k%97)
	}
	one, again, other := pack(t, packConfig(lengths, 128, 1)), pack(t, packConfig(lengths, 128, 1)), pack(t, packConfig(lengths, 128, 2))
	if !slices.Equal(one.documents, again.documents) || !slices.Equal(one.ends, again.ends) {
		t.Error("two plans of one seed differ")
	}
	if slices.Equal(one.documents, other.documents) {
		t.Error("plans of two seeds are the same")
	}
}

// Rows of no length, or of more than is held, are refused.
func TestPackRefusesLengths(t *testing.T) {
	for _, length := range []int64{-1, 0, MaxPackLength + 1} {
		if _, err := Pack(packConfig([]int64{1}, length, 0)); err == nil {
			t.Errorf("rows of %d are taken", length)
		}
	}
	if p := pack(t, packConfig([]int64{1, 1}, MaxPackLength, 0)); p.Rows() != 1 {
		t.Errorf("%d rows of the longest, want 1", p.Rows())
	}
}

// BenchmarkPack plans 10 million documents.
func BenchmarkPack(b *testing.B) {
	const n = 10_000_000
	r := rand.New(rand.NewPCG(5, 6))
	lengths := make([]uint32, n)
	for k := range lengths {
		lengths[k] = uint32(min(2048, 1+r.ExpFloat64()*500))
	}
	perm := NewPerm(n, 1, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		p, err := Pack(PackConfig{Documents: n, Length: 2048, Lengths: func(d int64) int64 { return int64(lengths[d]) }, At: perm.At})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(p.Rows()), "rows")
	}
}
