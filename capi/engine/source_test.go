package main

import (
	"testing"
	"time"
)

// An engine that does not end is waited for once, whoever asks at the end of a program, however long each would wait; one that ends, until it has.
func TestEndIsWaitedForOnce(t *testing.T) {
	hangs := &serving{ended: make(chan struct{})}
	if hangs.endIn(time.Millisecond) {
		t.Error("it has not ended, and was said to have")
	}
	hangs.endBegins = hangs.endBegins.Add(-time.Hour)
	for range 2 {
		if hangs.endOnce(time.Hour) { // an hour has gone by
			t.Error("it has not ended, and was said to have")
		}
	}
	ends := &serving{ended: make(chan struct{})}
	time.AfterFunc(time.Millisecond, func() { close(ends.ended) })
	if !ends.endOnce(time.Hour) || !ends.endIn(time.Hour) {
		t.Error("it has ended, and was not waited for")
	}
}
