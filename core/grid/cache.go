package grid

import (
	"container/list"
	"sync"
)

// Cache holds unpacked chunks, those that were used last, up to so many bytes, and at least one. A chunk that several goroutines want at
// once is unpacked by one of them, and by none while the others' lock is held.
type Cache struct {
	most int64

	mu     sync.Mutex // guards the rest
	used   int64
	chunks map[chunkKey]*list.Element
	latest *list.List // of *cached, what was used last first
}

type chunkKey struct {
	of    *Array
	index int64
}

// cached is a chunk that is there or is being unpacked.
type cached struct {
	key   chunkKey
	ready chan struct{} // closed when data and err are written
	data  []byte
	err   error

	counted bool // in used; guarded by mu
}

// NewCache is an empty cache of so many bytes.
func NewCache(most int64) *Cache {
	return &Cache{most: most, chunks: map[chunkKey]*list.Element{}, latest: list.New()}
}

// chunk is a chunk's elements, which nobody may write to. One that cannot be unpacked is not kept.
func (c *Cache) chunk(key chunkKey, unpack func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	if at, ok := c.chunks[key]; ok {
		c.latest.MoveToFront(at)
		c.mu.Unlock()
		one := at.Value.(*cached)
		<-one.ready
		return one.data, one.err
	}
	one := &cached{key: key, ready: make(chan struct{})}
	at := c.latest.PushFront(one)
	c.chunks[key] = at
	c.mu.Unlock()
	one.data, one.err = unpack()
	close(one.ready)
	c.keep(at, one)
	return one.data, one.err
}

// keep counts a chunk that has been unpacked, and drops those that there is no room for beside it.
func (c *Cache) keep(at *list.Element, one *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.chunks[one.key] != at {
		return // dropped meanwhile
	}
	if one.err != nil {
		c.drop(at)
		return
	}
	one.counted = true
	c.used += int64(len(one.data))
	for last := c.latest.Back(); c.used > c.most && last != nil; {
		before := last.Prev()
		if old := last.Value.(*cached); old.counted && last != at {
			c.used -= int64(len(old.data))
			c.drop(last)
		}
		last = before
	}
}

func (c *Cache) drop(at *list.Element) {
	delete(c.chunks, at.Value.(*cached).key)
	c.latest.Remove(at)
}
