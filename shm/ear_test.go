package shm

import (
	"testing"

	"golang.org/x/sys/unix"
)

func newTestEar(t *testing.T) (*ear, chan bool) {
	t.Helper()
	e, err := newEar()
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan bool)
	go func() {
		for more := true; more; {
			more = e.hear()
			heard <- more
		}
	}()
	return &e, heard
}

func TestEarHearsEveryRingAndEndsWhenClosed(t *testing.T) {
	e, heard := newTestEar(t)
	for i := range 1000 {
		if _, err := e.Write(one[:]); err != nil {
			t.Fatal(err)
		}
		if !<-heard {
			t.Fatalf("ring %d ended the ear", i)
		}
	}
	e.end()
	for <-heard { // one for the write at the end, if it was in time
	}
}

// Who rings while nobody hears is heard once, later; a member that reads the eventfd itself, or has made it blocking, stops nobody.
func TestEarHearsWhatCameMeanwhile(t *testing.T) {
	e, err := newEar()
	if err != nil {
		t.Fatal(err)
	}
	var buf [8]byte
	for range 100 {
		for range 10 {
			if _, err := e.Write(one[:]); err != nil {
				t.Fatal(err)
			}
		}
		if !e.hear() {
			t.Fatal("the ear ended")
		}
		if n, err := unix.Read(e.fd, buf[:]); err != unix.EAGAIN {
			t.Fatalf("read %d, %v after hear, want nothing left", n, err)
		}
	}
	if err := unix.SetNonblock(e.fd, false); err != nil {
		t.Fatal(err)
	}
	over := make(chan bool)
	go func() { over <- e.hear() }()
	e.end()
	<-over
}

// A member that has filled the eventfd and made it blocking does not keep its end from anybody.
func TestEarEndsWhileItIsFull(t *testing.T) {
	leavesNothing(t)
	e, err := newEar()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(e.fd, fullEvent[:]); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(e.fd, false); err != nil {
		t.Fatal(err)
	}
	e.end()
}

// fullEvent is the most that an eventfd holds: a write of 1 waits.
var fullEvent = [8]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
