package shm

import (
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// eventFD is an eventfd, with its number for passing on.
type eventFD struct {
	*os.File
	fd int
}

// newEvent makes an eventfd off the netpoller: there a close would wait for whoever writes it, and a member may have made that block.
func newEvent() (eventFD, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC) // blocks until it is wrapped: that keeps it off the netpoller
	if err != nil {
		return eventFD{}, because(err, ErrSystem, "shm: eventfd: %v", err)
	}
	e := eventFD{os.NewFile(uintptr(fd), "eventfd"), fd}
	_ = unix.SetNonblock(fd, true)
	return e, nil
}

// quit closes the eventfd, and lets a read or a write of ours end that a member has made block. Nobody waits for that: as long as a member
// has it, it may make these block, too.
func (e eventFD) quit() {
	if e.File == nil {
		return // of a member that this engine has not heard
	}
	go func() {
		_ = unix.SetNonblock(e.fd, true)
		_, _ = e.Write(one[:])
		_, _ = e.Read(make([]byte, len(one)))
		_ = e.Close()
	}()
}

// member is one consumer: its incarnation number, its pidfd and what was reserved for it. Guarded by Ring.mu.
type member struct {
	group  *group
	index  int // of its record
	place  int // of its OwnerRecord
	owner  uint32
	lane   int
	leases int    // at most, reserved for it
	joined uint64 // CLOCK_MONOTONIC; 0: of an engine before this one
	holds  int    // scratch of sweep
	pid    int32
	client string
	pidfd  *os.File
	event  eventFD
	conn   *net.UnixConn // nil after it hung up
	silent bool          // hung up without detaching: leases stay until it is dead
	gone   chan struct{} // closed when it has left or was reaped
	heard  chan struct{} // closed when its connection has been read to the end; another when it joins again
	left   atomic.Bool   // it said DETACH; written by its sessions, before heard is closed
}

// hangUp tells the member that the engine will not speak to it again; it may still say that it detaches.
func (m *member) hangUp() {
	if m.conn != nil {
		_ = m.conn.CloseWrite()
	}
}

// release closes the member's descriptors; its watcher ends.
func (m *member) release() {
	_ = m.pidfd.Close()
	m.event.quit()
}

// watchMember waits for the kernel's word that the member is dead, and reaps it. The member is registered
// before: one that died meanwhile is found at once.
func (r *Ring) watchMember(m *member) {
	defer r.work.Done()
	if awaitDeath(m.pidfd) {
		r.reap(m, m.lastWords())
	}
}

// diedNow asks without waiting whether the process is dead.
func diedNow(pidfd *os.File) (dead bool) {
	raw, err := pidfd.SyscallConn()
	return err != nil || raw.Control(func(fd uintptr) { dead = isDead(fd) }) != nil || dead
}

// lastWords says how a dead member ended: by "detach" if its connection, which its end has closed, still held that message, else
// by "death". A forked child may keep the connection open; nobody waits for it.
func (m *member) lastWords() string {
	m.group.r.mu.Lock()
	heard := m.heard
	m.group.r.mu.Unlock()
	select {
	case <-heard:
		if m.left.Load() {
			return "detach"
		}
	case <-time.After(lastWordsTime):
	}
	return "death"
}

// awaitDeath blocks on the netpoller, holding no thread, until the process is dead; false when pidfd was closed.
func awaitDeath(pidfd *os.File) bool {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Read(isDead) == nil
}

// isDead asks a pidfd without waiting. Zombies are dead.
func isDead(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLIN != 0
}

// reap ends a membership: what it held undone is delivered again, what it had done is free, its record and its
// reservation are given back. The caller knows that the member holds no lease in a living process: it is dead
// (pidfd), or said itself that it let everything go. Reaping twice is harmless.
func (r *Ring) reap(m *member, what string) {
	_ = Fault("reclaim.mid")
	r.mu.Lock()
	defer r.mu.Unlock()
	g := m.group
	if r.closed || g.members[m.index] != m {
		return
	}
	switch {
	case g.cfg.Kind == KindUploader:
		r.loseDevice(true)
	case g.phase != phaseBroken:
		g.reclaim(m)
	}
	g.strike(m)
	m.release()
	close(m.gone)
	// Whoever the dead one was about to wake, or had swallowed a wake-up from, is woken now.
	g.wakeMembers()
	r.report(Event{What: what, Group: g.cfg.Name, Owner: m.owner, PID: m.pid})
	r.settle()
	r.handOn() // it may have been through with a batch, and not said so
	r.groupsChanged()
}

// strike takes m out of the group's books.
func (g *group) strike(m *member) {
	g.members[m.index] = nil
	g.records[m.index].Owner.Store(0)
	g.rec.Members.Add(^uint32(0))
	g.r.owners[m.place].Owner.Store(0)
}

// reclaim takes back every slot of m. A broken group is left as it is: all of it waits for the last death.
func (g *group) reclaim(m *member) {
	for i := range g.shadow {
		if !g.look(i) {
			return
		}
		w := g.shadow[i].word
		if ownerOf(w) != m.owner {
			continue
		}
		switch {
		case stateOf(w) == wordHeld && g.cfg.Kind == KindStage:
			g.r.slots[i].noteWay(waySpoiled) // before the word says FREE, as if the stage were through
			_ = Fault("reclaim.stage")
			g.takeBack(i)
			if g.phase != phaseBroken {
				g.r.spoil(i, "")
			}
		case stateOf(w) == wordHeld && g.left(i):
			g.count(&g.discarded, &g.rec.Discarded, 1)
			g.takeBack(i)
		case stateOf(w) == wordHeld && g.phase == phaseActive && !g.cfg.NoRedeliver:
			switch {
			case g.r.withdrawn:
				g.putAway(i, seqAwayRedo)
			case !g.recallStale(i, seqAwayRedo):
				g.redeliver(i)
			}
		case stateOf(w) == wordHeld:
			g.count(&g.dropped, &g.rec.Dropped, 1)
			g.takeBack(i)
		case stateOf(w) == wordDone:
			g.takeBack(i)
		}
		if g.phase == phaseBroken {
			return
		}
	}
}

// left says that the group has left the epoch of slot i's batch by a restart. Handed out again, such a batch would come behind those of later
// epochs, where nobody who is still in its own finds it.
func (g *group) left(i int) bool {
	return g.cfg.Kind == KindConsumer && g.r.slots[i].desc.Epoch.Load() < g.minEpoch
}

// takeBack frees a slot whose holder is dead.
func (g *group) takeBack(i int) {
	sh := &g.shadow[i]
	free := packWord(wordFree, 0, seqOf(sh.word))
	if !g.words[i].Word.CompareAndSwap(sh.word, free) {
		g.accuse(i, g.words[i].Word.Load(), "written after its holder died")
		return
	}
	sh.word = free
}

// Evict kills a member through its pidfd, by incarnation number or else by pid, and returns when it has been
// reaped: nobody reads its slots any more. It returns ErrNotFound, ErrDenied, and ErrBusy if the kernel has not
// ended it within ten seconds.
func (r *Ring) Evict(owner uint32, pid int32) error {
	m := r.findMember(owner, pid)
	if m == nil || m.pidfd == nil {
		return refuse(ErrNotFound, "shm: evict: ring %q: no member %d, pid %d; see spdl inspect", r.cfg.label(), owner, pid)
	}
	if err := kill(m.pidfd); err != nil {
		return because(err, ErrDenied, "shm: evict: ring %q: kill member %d, pid %d: %v; run as its user or as root", r.cfg.label(), m.owner, m.pid, err)
	}
	select {
	case <-m.gone:
		return nil
	case <-r.closing:
		return ErrClosed
	case <-time.After(killTime):
		return refuse(ErrBusy, "shm: evict: ring %q: member %d, pid %d was killed but has not ended; it may hang in the kernel", r.cfg.label(), m.owner, m.pid)
	}
}

// killTime is how long the kernel has to end a process that was killed.
const killTime = 10 * time.Second

// kill kills a process; one that is dead, or whose pidfd is closed, needs no killing.
func kill(pidfd *os.File) error {
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return nil
	}
	var sent error
	if raw.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }) != nil || sent == unix.ESRCH {
		return nil
	}
	return sent
}

func (r *Ring) findMember(owner uint32, pid int32) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		for _, m := range g.members {
			if m != nil && (m.owner == owner || owner == 0 && m.pid == pid) {
				return m
			}
		}
	}
	return nil
}

func (g *group) nMembers() (n int) {
	for _, m := range g.members {
		if m != nil {
			n++
		}
	}
	return n
}

func (g *group) memberOf(owner uint32) *member {
	for _, m := range g.members {
		if m != nil && m.owner == owner {
			return m
		}
	}
	return nil
}
