package hosted

import (
	"context"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/pipeline"
)

// Items is what travels through a queue: one item of the host's, or a list of them.
type Items struct {
	List  bool
	epoch uint64 // of the work they were given for
	one   uint64
	many  []uint64 // of a list
}

func single(item, epoch uint64) Items { return Items{one: item, epoch: epoch} }

// listOf takes the slice over.
func listOf(items []uint64, epoch uint64) Items { return Items{List: true, many: items, epoch: epoch} }

// Len is the number of items.
func (i *Items) Len() int {
	if i.List {
		return len(i.many)
	}
	return 1
}

// CopyTo copies the items to the front of into, which must have room for them.
func (i *Items) CopyTo(into []uint64) {
	if i.List {
		copy(into, i.many)
		return
	}
	into[0] = i.one
}

// dropped keeps the items that nobody will get any more, for the host to free.
type dropped struct {
	mu    sync.Mutex
	items []uint64
}

func (d *dropped) add(items ...uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items = append(d.items, items...)
}

// drop is the Discard of every stage.
func (d *dropped) drop(i Items) {
	if i.List {
		d.add(i.many...)
		return
	}
	d.add(i.one)
}

func (d *dropped) take(into []uint64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := copy(into, d.items)
	d.items = slices.Delete(d.items, 0, n)
	return n
}

func (d *dropped) len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.items)
}

// lister is the aggregate stage: lists of n items.
type lister struct {
	n        int
	dropLast bool
	dropped  *dropped
	list     []uint64
	epoch    uint64
}

func (l *lister) Add(_ context.Context, i Items) (Items, bool, error) {
	if i.List {
		return Items{}, false, pipeline.Fatal(errNotSingle)
	}
	if l.list == nil {
		l.list = make([]uint64, 0, l.n)
	}
	l.list, l.epoch = append(l.list, i.one), i.epoch
	if len(l.list) < l.n {
		return Items{}, false, nil
	}
	return l.out(), true, nil
}

func (l *lister) out() Items {
	list := l.list
	l.list = nil
	return listOf(list, l.epoch)
}

func (l *lister) Flush(context.Context) (Items, bool, error) {
	if l.dropLast {
		l.Close()
	}
	if len(l.list) == 0 {
		return Items{}, false, nil
	}
	return l.out(), true, nil
}

func (l *lister) Close() {
	l.dropped.add(l.list...)
	l.list = nil
}

// unlist is the disaggregate stage.
func (d *dropped) unlist(_ context.Context, i Items, yield func(Items) bool) error {
	if !i.List {
		return pipeline.Fatal(errNotList)
	}
	for n, item := range i.many {
		if !yield(single(item, i.epoch)) {
			d.add(i.many[n+1:]...) // yield has dropped this one
			break
		}
	}
	return nil
}
