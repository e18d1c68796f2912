package hosted

import (
	"context"
	"slices"
	"sync"

	"github.com/spdl/spdl/core/pipeline"
)

// Items is what travels through a queue: one item of the host's, or a list of them.
type Items struct {
	path int32 // that a router has chosen
	list *list // nil: one item
	item uint64
	// epoch of the work they were given for.
	epoch uint64
}

type list struct {
	items []uint64
	paths []int // that a router of lists has chosen, one per item
}

func listOf(items []uint64, epoch uint64) Items {
	return Items{list: &list{items: items}, epoch: epoch}
}

var nothing = list{}

// IsList says that the items are a list, which may be empty; else it is one item.
func (i *Items) IsList() bool { return i.list != nil }

// Len is the number of items.
func (i *Items) Len() int {
	if i.IsList() {
		return len(i.list.items)
	}
	return 1
}

// CopyTo copies the items to the front of into, which must have room for them.
func (i *Items) CopyTo(into []uint64) {
	if i.IsList() {
		copy(into, i.list.items)
		return
	}
	into[0] = i.item
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
	if i.IsList() {
		d.add(i.list.items...)
		return
	}
	d.add(i.item)
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
	if i.IsList() {
		return Items{}, false, pipeline.Fatal(errNotSingle)
	}
	if l.list == nil {
		l.list = make([]uint64, 0, l.n)
	}
	l.list, l.epoch = append(l.list, i.item), i.epoch
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
	if !i.IsList() {
		return pipeline.Fatal(errNotList)
	}
	for n, item := range i.list.items {
		if !yield(Items{item: item, epoch: i.epoch}) {
			d.add(i.list.items[n+1:]...) // yield has dropped this one
			break
		}
	}
	return nil
}

// batches says how lists are taken apart for the paths of variants, and put together again.
var batches = pipeline.Lists[Items, Items]{
	Len: func(i Items) int { return i.Len() },
	Pick: func(i Items, places []int) Items {
		return listOf(elements.Pick(i.list.items, places), i.epoch)
	},
	Join: func(n int, parts []pipeline.Part[Items]) (Items, error) {
		var epoch uint64
		plain := make([]pipeline.Part[[]uint64], len(parts))
		for k, part := range parts {
			if !part.Result.IsList() {
				return Items{}, errNotPart
			}
			plain[k] = pipeline.Part[[]uint64]{Places: part.Places, Result: part.Result.list.items}
			epoch = part.Result.epoch
		}
		items, err := elements.Join(n, plain)
		return listOf(items, epoch), err
	},
}

var elements = pipeline.Slices[uint64, uint64]()
