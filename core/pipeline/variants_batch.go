package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Lists say how batches of a type are taken apart and put together.
type Lists[B, C any] struct {
	// Len is the number of elements of a batch.
	Len func(B) int
	// Pick makes a batch of some elements of b, which is not used otherwise.
	Pick func(b B, places []int) B
	// Join makes the result of a batch that had n elements. A part that its path
	// has dropped is missing.
	Join func(n int, parts []Part[C]) (C, error)
}

// A Part is what one path has made of a batch's elements at these places.
type Part[C any] struct {
	Places []int
	Result C
}

// Slices are the Lists of slices: each result goes to the place of its element,
// and places without one are closed up. A path must return one result for each
// element of its part, or drop the part.
func Slices[T, U any]() Lists[[]T, []U] {
	return Lists[[]T, []U]{
		Len: func(b []T) int { return len(b) },
		Pick: func(b []T, places []int) []T {
			part := make([]T, len(places))
			for i, at := range places {
				part[i] = b[at]
			}
			return part
		},
		Join: joinSlices[U],
	}
}

func joinSlices[U any](n int, parts []Part[[]U]) ([]U, error) {
	out, has, total := make([]U, n), make([]bool, n), 0
	for _, part := range parts {
		if len(part.Result) != len(part.Places) {
			return nil, fmt.Errorf("a path returned %d results for %d elements, want as many; "+
				"return them all, or an error", len(part.Result), len(part.Places))
		}
		for i, at := range part.Places {
			out[at], has[at] = part.Result[i], true
		}
		total += len(part.Places)
	}
	if total == n {
		return out, nil
	}
	dense := make([]U, 0, total)
	for i, v := range out {
		if has[i] {
			dense = append(dense, v)
		}
	}
	return dense, nil
}

// VariantsBatched is Variants of batches: route names a path for each element
// of a batch, each path gets its elements as one smaller batch, and the results
// come out as one batch again, with every result in the place of its element.
// The batches keep their order (Output is not used). Where a path drops its
// part, the other elements come out without it; if all do, the batch is empty.
func VariantsBatched[B, C any](in *Port[B], o VariantsOptions[C], lists Lists[B, C],
	route func(ctx context.Context, batch B) ([]int, error), paths ...func(*Port[B]) *Port[C]) *Port[C] {
	o.Output = Input
	b := &batches[B, C]{router: newRouter[B, B](in, &o, route == nil, paths), lists: lists}
	if lists.Len == nil || lists.Pick == nil || lists.Join == nil {
		b.p.note(b.errorf("lists lack Len, Pick or Join"))
	}
	b.entries = make([]entry[C], b.window)
	var chosen [][]int
	b.router.route = func(ctx context.Context, v B) error {
		numbers, err := route(ctx, v)
		if err == nil {
			chosen, err = b.choose(numbers, lists.Len(v))
		}
		return err
	}
	b.send = func(pl place, v B) bool { return b.sendParts(pl, v, chosen) }
	b.spread = func(v B) {
		for path, places := range chosen {
			if len(places) > 0 {
				b.heads[path].kept = append(b.heads[path].kept, lists.Pick(v, places))
			}
		}
	}
	out := b.join(&o, b.movePart)
	b.joining = out.stage
	b.verdicts = b.joining.newJudge(o.Failures)
	return out
}

// batches is a router of batches, and what its join knows of those on their way.
type batches[B, C any] struct {
	*router[B, B, C]
	lists    Lists[B, C]
	joining  *stage
	verdicts *Judge

	mu      sync.Mutex // guards the rest
	entries []entry[C] // by tag
	moving  int        // paths that have ended
}

// An entry is a batch whose parts are on their way.
type entry[C any] struct {
	n       int
	places  [][]int // of each path
	parts   []Part[C]
	from    []int // the paths of parts
	missing int
}

// choose sorts the elements' places by path.
func (b *batches[B, C]) choose(numbers []int, n int) ([][]int, error) {
	if len(numbers) != n {
		return nil, Fatal(fmt.Errorf("route chose %d paths for %d elements, want one each", len(numbers), n))
	}
	chosen := make([][]int, len(b.heads))
	for at, path := range numbers {
		if err := b.checkPath(path); err != nil {
			return nil, err
		}
		chosen[path] = append(chosen[path], at)
	}
	return chosen, nil
}

// sendParts sends every path its part; an empty batch goes round the paths.
func (b *batches[B, C]) sendParts(pl place, v B, chosen [][]int) bool {
	e := entry[C]{n: b.lists.Len(v), places: chosen}
	for _, places := range chosen {
		if len(places) > 0 {
			e.missing++
		}
	}
	b.mu.Lock()
	b.entries[pl.tag%uint64(b.window)] = e
	b.mu.Unlock()
	if e.missing == 0 {
		return b.put(pl.tag, &e)
	}
	goOn := true
	for path, places := range chosen { // all of them: give discards what it cannot pass on
		if len(places) > 0 {
			goOn = b.heads[path].give(pl, b.lists.Pick(v, places), false) && goOn
		}
	}
	return goOn
}

// movePart collects what path i brings.
func (b *batches[B, C]) movePart(i int) {
	defer b.clearUp()
	for goOn := true; goOn; {
		it, ok := b.ends[i].queue.take()
		if !ok {
			return
		}
		if it.kind != mark {
			goOn = b.arrive(it, i)
		}
	}
}

// arrive notes a part, or that it will not come, and passes the batch on when
// it was the last.
func (b *batches[B, C]) arrive(it item[C], path int) bool {
	b.mu.Lock()
	e := &b.entries[it.tag%uint64(b.window)]
	if it.kind == full {
		e.parts = append(e.parts, Part[C]{Places: e.places[path], Result: it.v})
		e.from = append(e.from, path)
	}
	e.missing--
	if e.missing > 0 {
		b.mu.Unlock()
		return true
	}
	done := *e
	*e = entry[C]{}
	b.mu.Unlock()
	return b.put(it.tag, &done)
}

// put passes a batch on whose parts have all come or failed.
func (b *batches[B, C]) put(tag uint64, e *entry[C]) bool {
	pl := b.outside(tag)
	v, err := b.joined(e)
	if err == nil {
		return b.out.give(pl, v, true)
	}
	if b.joining.cancelled() {
		return false
	}
	if err = b.p.verdict(b.verdicts, err); err != nil {
		b.joining.fatal(err)
		return false
	}
	return b.out.skip(pl, nil)
}

// joined puts the parts together; if that fails they are discarded.
func (b *batches[B, C]) joined(e *entry[C]) (v C, err error) {
	done := false
	defer func() {
		if !done {
			b.dropParts(e)
		}
	}()
	v, err = b.lists.Join(e.n, e.parts)
	done = err == nil
	return v, err
}

func (b *batches[B, C]) dropParts(e *entry[C]) {
	for i, part := range e.parts {
		b.ends[e.from[i]].drop(part.Result)
	}
}

// clearUp discards, when the last path has ended, parts whose others never came.
func (b *batches[B, C]) clearUp() {
	b.mu.Lock()
	b.moving++
	var left []entry[C]
	if b.moving == len(b.ends) {
		left = slices.Clone(b.entries) // the router may add to them, but no more parts come
		clear(b.entries)
	}
	b.mu.Unlock()
	for i := range left {
		b.dropParts(&left[i])
	}
}
