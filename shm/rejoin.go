package shm

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lookEvery    = 20 * time.Millisecond  // between two looks for the next engine
	answerTime   = 500 * time.Millisecond // for its welcome: one that is stopped must not stop us
	dyingTimeout = time.Second            // at most, between the end of a process's sockets and that of its pidfd
)

// errNotYet says that no engine has gone on with the ring so far.
var errNotYet = errors.New("shm: no engine has gone on with the ring yet")

// search is a reader's look for the engine that goes on with its dead one's ring. Mappings, leases and the place in the group lie in
// memory that the next engine goes on with; what dies with an engine are its pidfd, two event descriptors and the socket.
type search struct {
	address string    // what Attach was given; "": nowhere to look
	since   time.Time // the loss was seen
	asked   time.Time // the last look began
	last    time.Time // and ended
	over    error     // the next engine has another ring
}

// rejoin looks for the next engine, at most once every lookEvery. It returns nil when there is an engine again, errNotYet, or
// ErrEngineLost when there will be none.
func (r *Reader) rejoin(ctx context.Context) error {
	r.calling.Lock()
	defer r.calling.Unlock()
	s, now := &r.search, time.Now()
	switch {
	case r.isClosed():
		return ErrDetached
	case !r.engineDead():
		return nil // another goroutine found it
	case s.since.IsZero():
		s.since = now
	case s.over != nil:
		return s.over
	case s.asked.Sub(s.since) >= r.reconnects: // looked when the time was over: who stood still until then looks once more
		return refuse(ErrEngineLost, "shm: acquire: the engine died and none went on with its ring within %v; restart it and attach again", r.reconnects)
	case now.Sub(s.last) < lookEvery:
		return errNotYet
	}
	s.asked = now
	err := r.lookOnce(ctx)
	s.last = time.Now()
	if err == nil {
		s.since = time.Time{}
	}
	return err
}

// mayRejoin says that a dead engine may have a successor that we can find.
func (r *Reader) mayRejoin() bool { return r.reconnects > 0 && r.search.address != "" }

func (r *Reader) engineDead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed && isDead(uintptr(r.engine.fd))
}

// lookOnce asks whoever answers at the address to take us back.
func (r *Reader) lookOnce(ctx context.Context) error {
	conn, _, err := dialEngine(ctx, r.search.address)
	if err != nil {
		return errNotYet
	}
	h := Hello{
		LayoutMajor: LayoutMajor, LayoutMinor: LayoutMinor, PID: uint32(os.Getpid()), Flags: helloPIDFD | helloRejoin,
		RingUID: r.uid, Owner: r.welcome.Owner, GroupID: r.welcome.GroupID,
	}
	copy(h.Ring[:nameBytes-1], r.ringName())
	c := &caller{conn: conn, patience: answerTime}
	m, err := c.hello(ctx, &h)
	var said *Error
	switch {
	case errors.As(err, &said) && said.Status == ErrEngineLost && !errors.Is(err, errHungUp):
		r.search.over = err
	case err != nil:
		err = errNotYet // it is starting, stopping or overwhelmed
	case !r.knows(m):
		m.closeFDs()
		err = errNotYet
	}
	if err != nil {
		_ = conn.Close()
		return err
	}
	r.changeOver(c, m)
	return nil
}

// knows says that the welcome comes from an engine that has our very segments, and a place for us as we were.
func (r *Reader) knows(m *message) bool {
	w, err := payloadAs[Welcome](m.payload)
	if err != nil || w.Owner != r.welcome.Owner || w.GroupID != r.welcome.GroupID || w.Lane != r.welcome.Lane {
		return false
	}
	for i := range m.fds[:3] {
		if !sameFile(int(r.files[i].Fd()), m.fds[i]) {
			return false
		}
	}
	return !isDead(uintptr(m.fds[3]))
}

func sameFile(a, b int) bool {
	var x, y syscall.Stat_t
	return syscall.Fstat(a, &x) == nil && syscall.Fstat(b, &y) == nil && x.Dev == y.Dev && x.Ino == y.Ino
}

// changeOver puts the next engine's descriptors in the place of the dead one's. The caller holds calling.
func (r *Reader) changeOver(c *caller, m *message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		m.closeFDs()
		_ = c.conn.Close()
		return
	}
	closeAll(m.fds[:3]) // the segments we have
	for i, fd := range m.fds[3:] {
		_ = unix.SetNonblock(fd, true)
		_ = r.files[3+i].Close()
		r.files[3+i] = os.NewFile(uintptr(fd), "control")
	}
	r.engine, r.space = eventFD{r.files[3], m.fds[3]}, eventFD{r.files[4], m.fds[4]}
	m.fds = nil
	_ = r.caller.conn.Close()
	c.patience = 0
	r.caller = c
	r.joins++
}

// await looks until there is an engine again, or will be none.
func (r *Reader) await(ctx context.Context) error {
	for {
		err := r.rejoin(ctx)
		if !errors.Is(err, errNotYet) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}

// call asks the engine. A request that a dying engine may or may not have heard is asked of the next one again: each has the same
// effect twice.
func (r *Reader) call(ctx context.Context, kind uint16, payload []byte, fds ...int) (*message, error) {
	for {
		m, joins, err := r.ask(ctx, kind, payload, fds)
		switch {
		case !errors.Is(err, errHungUp):
			return m, err
		case r.groupBroken():
			return nil, ErrGroupClosed
		case !r.mayRejoin():
			return nil, err
		case joins != r.joinCount():
			continue // it was asked of a dead engine
		case !r.engineEnds():
			return nil, err // it lives, and hung up on us
		}
		if err := r.await(ctx); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) ask(ctx context.Context, kind uint16, payload []byte, fds []int) (*message, uint32, error) {
	r.calling.Lock()
	defer r.calling.Unlock()
	joins := r.joinCount()
	m, err := r.caller.call(ctx, kind, payload, fds, 0)
	return m, joins, err
}

func (r *Reader) groupBroken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.closed && r.record.State.Load() == GroupBroken
}

func (r *Reader) joinCount() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.joins
}

// engineEnds says whether the socket ended because the engine ends: its descriptors go a moment before the kernel says that it is
// dead.
func (r *Reader) engineEnds() bool {
	for end := time.Now().Add(dyingTimeout); !r.engineDead(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return r.engineDead() // we may have stood still since the last look
		}
	}
	return true
}
