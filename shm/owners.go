package shm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// What an engine knows of its members dies with it, but for the owner records in the header: members cannot write there,
// so the next engine may believe them. A process is known by its pid and its start time: as long as it lives nobody else
// has its pid.

// writeOwner records m, its number last.
func (r *Ring) writeOwner(m *member) {
	for i := range r.owners {
		rec := &r.owners[i]
		if rec.Owner.Load() != 0 {
			continue
		}
		m.place = i
		rec.PID, rec.Started = m.pid, startTime(m.pid)
		rec.GroupIndex, rec.GroupID, rec.Member = uint32(m.group.index), m.group.rec.ID, uint32(m.index)
		rec.Lane, rec.MaxLeases = uint32(m.lane), uint32(m.leases)
		rec.Client = [32]byte{}
		copy(rec.Client[:len(rec.Client)-1], m.client)
		rec.Owner.Store(m.owner)
		return
	}
}

// startTime is when a process began, in the kernel's ticks since boot; 0 when nobody tells.
func startTime(pid int32) uint64 {
	if pid <= 0 {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ") // the name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return 0
	}
	n, _ := strconv.ParseUint(fields[19], 10, 64) // field 22 of the whole
	return n
}

// findProcess is a pidfd of the process that had this pid and began then; nil when it is dead. A process whose start
// nobody tells is taken for the one: a lease that stays is better than a batch in two hands.
func findProcess(pid int32, started uint64) (*os.File, error) {
	fd, err := unix.PidfdOpen(int(pid), 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, because(err, ErrSystem, "shm: adopt: pidfd_open of pid %d: %v", pid, err)
	}
	if now := startTime(pid); started != 0 && now != 0 && now != started {
		_ = unix.Close(fd)
		return nil, nil
	}
	if isDead(uintptr(fd)) {
		_ = unix.Close(fd)
		return nil, nil
	}
	return pidfdFile(fd)
}

// adoptMember makes the member that an owner record tells of, its process alive or dead. A member that never learned of
// its own welcome is struck out; nil then.
func (r *Ring) adoptMember(place int) (*member, error) {
	rec := &r.owners[place]
	g := r.groupOf(rec.GroupIndex, rec.GroupID)
	if g == nil || int(rec.Member) >= len(g.members) || int(rec.Lane) >= g.lanes || g.members[rec.Member] != nil {
		return nil, nil // killed while the group was being forgotten
	}
	heard := make(chan struct{})
	close(heard)
	m := &member{
		group: g, index: int(rec.Member), place: place, owner: rec.Owner.Load(), lane: int(rec.Lane), leases: int(rec.MaxLeases), pid: rec.PID,
		client: text(rec.Client[:]), silent: true, gone: make(chan struct{}), heard: heard,
	}
	shared := &g.records[m.index]
	if shared.Presence.CompareAndSwap(presenceWelcomed, presenceGone) {
		return nil, nil
	}
	var err error
	if m.pid > 0 {
		if m.pidfd, err = findProcess(m.pid, rec.Started); err != nil {
			return nil, err
		}
	} else if g.holds(m.owner) {
		return nil, refuse(ErrState, "shm: adopt %q: consumer %d of group %q holds batches and is in a pid namespace that cannot be seen into; end it and start with --fresh",
			r.cfg.label(), m.owner, g.cfg.Name)
	}
	if g.cfg.Kind == KindUploader && m.pidfd != nil {
		if shared.Presence.Load() != presenceGone {
			err = m.endUploader(rec.Started)
		}
		_ = m.pidfd.Close()
		if m.pidfd = nil; err != nil {
			return nil, err
		}
	}
	g.members[m.index] = m
	shared.Owner.Store(m.owner)
	return m, nil
}

func (r *Ring) groupOf(index, id uint32) *group {
	for _, g := range r.groups {
		if uint32(g.index) == index && g.rec.ID == id {
			return g
		}
	}
	return nil
}

func (g *group) holds(owner uint32) bool {
	for i := range g.words {
		if ownerOf(g.words[i].Word.Load()) == owner {
			return true
		}
	}
	return false
}

// rejoin takes a member of the dead engine back: the same process, by the kernel's word, and the same incarnation. It gets
// this engine's descriptors; its leases it never lost.
func (r *Ring) rejoin(req joinRequest) (*member, Welcome, []int, error) {
	event, err := newEvent()
	if err != nil {
		return nil, Welcome{}, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.returning(&req)
	if err == nil {
		old := m.event
		m.event = event
		var fds []int
		if fds, err = r.descriptors(m.group, m); err == nil {
			old.quit()
			m.conn, m.silent, m.heard = req.conn, false, req.heard
			r.report(Event{What: "rejoin", Group: m.group.cfg.Name, Owner: m.owner, PID: m.pid, Text: m.client})
			m.group.wakeMembers()
			return m, m.welcome(m.group.records[m.index].Epoch.Load()), fds, nil
		}
		m.event = old
	}
	event.quit()
	return nil, Welcome{}, nil, err
}

// returning finds the member that says it was welcomed by the engine before us.
func (r *Ring) returning(req *joinRequest) (*member, error) {
	h := &req.hello
	if r.closed {
		return nil, ErrEngineStopped
	}
	if h.RingUID != r.head.RingUID {
		return nil, refuse(ErrEngineLost, "shm: attach %q: the engine that consumer %d knew is dead, and this one has made a new ring; attach again", r.cfg.label(), h.Owner)
	}
	for _, g := range r.groups {
		m := g.memberOf(h.Owner)
		if m == nil || g.rec.ID != h.GroupID {
			continue
		}
		if m.pidfd == nil || req.pid != m.pid {
			return nil, refuse(ErrDenied, "shm: attach %q: consumer %d is process %d, and process %d asks for its place; attach again", r.cfg.label(), h.Owner, m.pid, req.pid)
		}
		return m, nil // its pidfd is open, so it was alive when we last looked; a dead one's successor cannot have its pid before it is reaped
	}
	return nil, refuse(ErrEngineLost, "shm: attach %q: consumer %d is not known any more; attach again", r.cfg.label(), h.Owner)
}

// silence says that a connection of a member's is gone. It may have joined again over another meanwhile.
func (r *Ring) silence(m *member, conn *net.UnixConn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.conn == conn {
		m.conn, m.silent = nil, true
	}
	if !r.closed && m.group.members[m.index] == m {
		r.report(Event{What: "hang-up", Group: m.group.cfg.Name, Owner: m.owner, PID: m.pid})
	}
}

// leaving says that some member is dead, or has said something that nobody has heard yet: a DETACH that was sent before this
// question was asked, if it was sent at all. It reaps those who left while there was no engine to hear them.
func (r *Ring) leaving() bool {
	r.mu.Lock()
	left := r.departed()
	some := len(left) > 0
	for _, g := range r.groups {
		for _, m := range g.members {
			some = some || m != nil && m.stirs()
		}
	}
	r.mu.Unlock()
	r.reapAll(left)
	return some
}

// stirs says that the member is dead, or that its connection has something to be heard.
func (m *member) stirs() bool {
	pending := false
	sources := []syscall.Conn{m.pidfd}
	if m.conn != nil {
		sources = append(sources, m.conn)
	}
	for _, c := range sources {
		if raw, err := c.SyscallConn(); err == nil { // none: a member that was found dead
			_ = raw.Control(func(fd uintptr) {
				p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
				n, err := unix.Poll(p, 0)
				pending = pending || err == nil && n > 0
			})
		}
	}
	return pending
}

func (r *Ring) reapAll(left []*member) {
	for _, m := range left {
		r.reap(m, "detach")
	}
}

// departed are the members without a connection that say they have left: their DETACH went to an engine that was dead.
// The caller holds mu.
func (r *Ring) departed() (left []*member) {
	for _, g := range r.groups {
		for i, m := range g.members {
			if m != nil && m.conn == nil && g.records[i].Presence.Load() == presenceGone {
				left = append(left, m)
			}
		}
	}
	return left
}
