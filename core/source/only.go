package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
)

// maxOnly is how many samples a file may name, 8 bytes each.
const maxOnly = 1 << 32

// Only says which samples of a source are wanted, in what order: those of some numbers, which may come several times, or those from one number up to another.
type Only struct {
	Numbers  Numbers
	From, To int64 // where no numbers are: [From, To); a To below 0 is the source's end
}

// Choose is a source of some samples of another, in the order in which they are named. Index, shards and orders count the chosen ones; keys, labels and columns are theirs. It closes s
// when it is closed. After an error s is still the caller's.
func Choose(s Source, c Only) (Source, error) {
	p := &picked{outer: outer{s}, from: c.From, n: s.Len()}
	var err error
	if c.Numbers.File != "" || c.Numbers.Given != nil {
		err = p.take(&c.Numbers)
	} else {
		err = p.cut(c.To)
	}
	if err != nil {
		return nil, fmt.Errorf("only: %w", err)
	}
	if p.numbers == nil && p.n == s.Len() {
		return s, nil
	}
	if v, ok := s.(Versioned); ok {
		return &pickedVersions{p, v}, nil
	}
	return p, nil
}

// picked is a source of some samples of another.
type picked struct {
	outer
	numbers []int64 // of the other's samples; nil: those from from on
	from, n int64

	planning sync.Mutex // guards ahead
	ahead    []int64
}

// pickedVersions is picked of a source whose samples have versions.
type pickedVersions struct {
	*picked
	versions Versioned
}

// take reads the numbers, which have to be those of samples.
func (p *picked) take(c *Numbers) error {
	all, err := c.read(maxOnly, nil)
	if err != nil {
		return err
	}
	have := p.n
	if at := slices.IndexFunc(all, func(i int64) bool { return i < 0 || i >= have }); at >= 0 {
		return fmt.Errorf("got %d at %d of %d numbers, want numbers from 0 to %d: the source has %d samples", all[at], at, len(all), have-1, have)
	}
	if len(all) == 0 {
		return fmt.Errorf("%w: got no numbers, want one at least", ErrNoSamples)
	}
	p.numbers, p.n = all, int64(len(all))
	return nil
}

// cut takes the samples up to one.
func (p *picked) cut(to int64) error {
	have := p.n
	if to < 0 {
		to = have
	}
	switch {
	case to > have:
		return fmt.Errorf("got samples up to %d, want at most %d, as many as the source has", to, have)
	case p.from >= to:
		return fmt.Errorf("%w: got those from %d up to %d, of %d", ErrNoSamples, p.from, to, have)
	}
	p.n = to - p.from
	return nil
}

// at is the other's number of sample i.
func (p *picked) at(i int64) int64 {
	if p.numbers != nil {
		return p.numbers[i]
	}
	if i < 0 || i >= p.n {
		panic(fmt.Sprintf("source: sample %d of %d", i, p.n))
	}
	return p.from + i
}

func (p *picked) Len() int64                     { return p.n }
func (p *picked) Key(i int64, dst []byte) []byte { return p.Source.Key(p.at(i), dst) }
func (p *picked) Label(i int64) int64            { return p.Source.Label(p.at(i)) }

func (p *picked) Read(ctx context.Context, i int64, b *Buffer) error {
	err := p.Source.Read(ctx, p.at(i), b)
	if err == nil {
		return nil
	}
	var bad *Error
	if errors.As(err, &bad) {
		bad.Index = i
	}
	return err
}

func (p *pickedVersions) Identity(i int64, dst []byte) []byte {
	return p.versions.Identity(p.at(i), dst)
}

func (p *picked) Known(column string) func(i int64) any {
	known := p.outer.Known(column)
	if known == nil {
		return nil
	}
	return func(i int64) any { return known(p.at(i)) }
}

func (p *picked) Lengths(column string) func(i int64) int64 {
	lengths := p.outer.Lengths(column)
	if lengths == nil {
		return nil
	}
	return func(i int64) int64 { return lengths(p.at(i)) }
}

// Notes are those of the other, and that this is a part of it.
func (p *picked) Notes() []string {
	again := ""
	if p.n > p.Source.Len() {
		again = ", some several times"
	}
	return slices.Concat(p.outer.Notes(), []string{fmt.Sprintf("source.only takes %d of the source's %d samples%s", p.n, p.Source.Len(), again)})
}

// Shards are the stretches that lie in one shard of the other's.
func (p *picked) Shards() (firsts []int64) {
	starts := p.outer.Shards()
	if len(starts) == 0 {
		return nil
	}
	for i, last := int64(0), -1; i < p.n; i++ {
		number := p.at(i)
		k := sort.Search(len(starts), func(k int) bool { return starts[k] > number }) - 1
		if k != last {
			firsts, last = append(firsts, i), k
		}
		if p.numbers == nil { // the rest of the shard is this stretch
			next := p.from + p.n
			if k+1 < len(starts) {
				next = min(next, starts[k+1])
			}
			i = next - p.from - 1
		}
	}
	return firsts
}

// Ahead tells the other source of its own numbers.
func (p *picked) Ahead(samples []int64) {
	p.planning.Lock()
	defer p.planning.Unlock()
	p.ahead = p.ahead[:0]
	for _, i := range samples {
		p.ahead = append(p.ahead, p.at(i))
	}
	p.outer.Ahead(p.ahead)
}

// Fingerprint is of the other's, and of which of its samples there are.
func (p *picked) Fingerprint() (Fingerprint, bool) {
	f, ok := p.outer.Fingerprint()
	names := &printer{}
	names.number(int64(f.Names))
	names.number(p.n)
	for i := range p.n {
		names.number(p.at(i))
	}
	return Fingerprint{names.sum(), f.Labels}, ok
}
