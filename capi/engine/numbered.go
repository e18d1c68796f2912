package main

// #include <stdint.h>
import "C"

import "sync"

// numbered are objects that C knows by number, from 1 on and never used again.
type numbered[T any] struct {
	mu       sync.Mutex
	byNumber map[C.int64_t]T
	last     C.int64_t
}

func (n *numbered[T]) add(v T) C.int64_t {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byNumber == nil {
		n.byNumber = map[C.int64_t]T{}
	}
	n.last++
	n.byNumber[n.last] = v
	return n.last
}

// get is the object of a number; libspdl gives only those it was given.
func (n *numbered[T]) get(number C.int64_t) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byNumber[number]
}

// remove is get, and nobody's any more.
func (n *numbered[T]) remove(number C.int64_t) (T, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v, ok := n.byNumber[number]
	delete(n.byNumber, number)
	return v, ok
}
