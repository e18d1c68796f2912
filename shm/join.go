package shm

import (
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const defaultLeases = 4

// joinRequest is an attach after its message has been parsed and its sender identified.
type joinRequest struct {
	hello Hello
	pid   int32
	pidfd *os.File // the member's from here on when join succeeds
	conn  *net.UnixConn
	heard chan struct{} // closed when conn has been read to the end
}

// join makes the peer a member: its record is written, its reservation counted, its death watched. It returns what
// the welcome says and copies of the descriptors that go with it, which the caller closes.
func (r *Ring) join(req joinRequest) (*member, Welcome, []int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.shut || r.withdrawn {
		return nil, Welcome{}, nil, refuse(ErrEngineStopped, "shm: attach %q: the engine is stopping; attach to the next one", r.cfg.label())
	}
	h := &req.hello
	leases, err := r.reserve(h)
	if err != nil {
		return nil, Welcome{}, nil, err
	}
	event, err := newEvent()
	if err != nil {
		return nil, Welcome{}, nil, err
	}
	g, lane, err := r.place(h)
	if err != nil {
		event.quit()
		return nil, Welcome{}, nil, err
	}
	m := &member{
		group: g, index: g.freeMember(), lane: lane, leases: leases, pid: req.pid, client: text(h.Client[:]),
		pidfd: req.pidfd, event: event, conn: req.conn, gone: make(chan struct{}), heard: req.heard, joined: monotonicNS(),
	}
	r.lastOwner++
	r.state.LastOwner.Store(r.lastOwner)
	m.owner = r.lastOwner
	epoch := g.register(m)
	r.writeOwner(m)
	if h.LayoutMinor == 0 { // it does not know the word by which it would say that it is here
		g.records[m.index].Presence.Store(presenceHere)
	}
	fds, err := r.descriptors(g, m)
	if err != nil {
		g.strike(m)
		event.quit()
		r.settle()
		return nil, Welcome{}, nil, err
	}
	r.work.Add(1)
	go r.watchMember(m)
	r.handOn() // what is through the stages may have waited for a consumer
	r.report(Event{What: "attach", Group: g.cfg.Name, Owner: m.owner, PID: m.pid, Text: m.client})
	return m, m.welcome(epoch), fds, nil
}

// welcome is what a member is told about itself.
func (m *member) welcome(epoch uint64) Welcome {
	g := m.group
	return Welcome{
		Owner: m.owner, GroupIndex: uint32(g.index), GroupID: g.rec.ID, Lane: uint32(m.lane), Member: uint32(m.index),
		MaxLeases: uint32(m.leases), Epoch: epoch, HeaderBytes: g.r.geo.headerBytes, GroupBytes: uint64(len(g.seg.mem)), DataBytes: g.r.geo.dataBytes,
	}
}

// reserve checks that one more consumer and its leases fit.
func (r *Ring) reserve(h *Hello) (int, error) {
	label := r.cfg.label()
	members, consumers, reserved, who := 0, 0, 0, ""
	for _, g := range r.groups {
		for _, m := range g.members {
			if m != nil && g.cfg.Kind != KindUploader { // the engine's own: it lets go of every batch without waiting for anybody
				members++
				if g.cfg.Kind == KindConsumer {
					consumers++
				}
				reserved += m.leases
				who += fmt.Sprintf(", pid %d holds %d", m.pid, m.leases)
			}
		}
	}
	leases := int(h.MaxLeases)
	if h.MaxLeases > MaxSlots {
		leases = MaxSlots
	}
	places, uploads := r.cfg.MaxConsumers, r.device != nil && text(h.Group[:]) == DeviceGroup
	if r.device != nil {
		places-- // one is the uploader's, whether there is one now or not
	}
	most := r.cfg.Slots - 2
	if leases == 0 { // no number asked for: what fits
		leases = max(1, min(defaultLeases, most-reserved))
	}
	switch {
	case r.cfg.Access == Private && consumers > 0 && !r.isStage(text(h.Group[:])):
		return 0, refuse(ErrBusy, "shm: attach %q: a private ring has one consumer%s; end it, or give the ring access shared", label, who)
	case members >= places && !uploads:
		return 0, refuse(ErrBusy, "shm: attach %q: all %d consumers are attached; detach one or raise max_consumers", label, places)
	case reserved+leases > most && !uploads:
		return 0, refuse(ErrBusy, "shm: attach %q: %d leases asked for, %d of %d free (%d slots, 2 kept for the engine%s); ask for fewer or raise slots",
			label, max(leases, int(h.MaxLeases)), most-reserved, most, r.cfg.Slots, who)
	case r.lastOwner == maxOwner:
		return 0, refuse(ErrBusy, "shm: attach %q: all %d incarnation numbers are used up; restart the engine", label, maxOwner)
	}
	return leases, nil
}

// place finds or makes the group that hello asks for, and a lane in it.
func (r *Ring) place(h *Hello) (*group, int, error) {
	label, name := r.cfg.label(), text(h.Group[:])
	if name == "" {
		var names []string
		for _, g := range r.cfg.Groups {
			if g.Kind == KindConsumer {
				names = append(names, g.Name)
			}
		}
		switch len(names) {
		case 0:
			name = fmt.Sprintf("consumer-%d", r.lastOwner+1)
		case 1:
			name = names[0]
		default:
			return nil, 0, refuse(ErrNotFound, "shm: attach %q: %d groups are declared (%s); name one of them, or a new one", label, len(names), strings.Join(names, ", "))
		}
	}
	if !validName.MatchString(name) {
		return nil, 0, refuse(ErrArgument, "shm: attach %q: group name %q, want %s", label, name, nameRule)
	}
	for _, g := range r.groups {
		if g.cfg.Name == name && g.phase != phaseClosing {
			lane, err := g.admit(h)
			return g, lane, err
		}
	}
	if meant := r.misspelt(name); meant != "" {
		return nil, 0, refuse(ErrNotFound, "shm: attach %q: no group %q; %q is declared, and a new group's name must differ by more than a slip", label, name, meant)
	}
	g, err := r.joinNewGroup(h, name)
	if err != nil {
		return nil, 0, err
	}
	lane, err := g.admit(h)
	if err != nil {
		r.settle() // the new group has no member: it goes again
	}
	return g, lane, err
}

// misspelt is the declared group that name was probably meant to be; "" if it is a name of its own. Who misspells a group
// would otherwise get one that nobody else is in, and every batch of it. Numbers are no slips: eval2 is not eval1.
func (r *Ring) misspelt(name string) string {
	best, fewest := "", min(2, len(name)/3)+1
	for _, d := range r.cfg.Groups {
		if d.Name == name {
			return ""
		}
		n := edits(strings.ToLower(name), strings.ToLower(d.Name))
		if n < fewest && (n == 0 || withoutDigits(name) != withoutDigits(d.Name)) {
			best, fewest = d.Name, n
		}
	}
	return best
}

func withoutDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, s)
}

// edits counts the insertions, deletions, replacements and swaps of neighbours between two names.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// joinNewGroup makes an undeclared group, which begins at the next unpublished ticket. A declared group that was
// closed for being slow comes back this way, with its own rules.
func (r *Ring) joinNewGroup(h *Hello, name string) (*group, error) {
	cfg := GroupConfig{Name: name, Kind: KindConsumer, Mode: Mode(h.Mode), Slow: SlowBlock}
	for _, d := range r.cfg.Groups {
		if d.Name == name {
			cfg = d
		}
	}
	if cfg.Mode == 0 {
		cfg.Mode = ModeShared
	}
	if cfg.Mode != ModeShared && cfg.Mode != ModeLanes {
		return nil, refuse(ErrArgument, "shm: attach %q: group %q: mode %d, want shared (1) or lanes (2)", r.cfg.label(), name, h.Mode)
	}
	if cfg.Mode == ModeLanes && h.NLanes != 0 && int(h.NLanes) != r.cfg.Lanes {
		return nil, refuse(ErrArgument, "shm: attach %q: group %q: %d lanes, want the ring's %d", r.cfg.label(), name, h.NLanes, r.cfg.Lanes)
	}
	return r.addGroup(cfg, false)
}

// admit checks that hello fits the group, and chooses its lane.
func (g *group) admit(h *Hello) (int, error) {
	label, name := g.r.cfg.label(), g.cfg.Name
	switch {
	case g.phase == phaseBroken:
		return 0, refuse(ErrBusy, "shm: attach %q: group %q was damaged by a member (%s); it comes back when all its members have ended", label, name, g.why)
	case g.cfg.Kind == KindUploader && h.LayoutMinor < 3:
		return 0, refuse(ErrVersion, "shm: attach %q: group %q is an uploader's, which layout %d.%d does not know; use engine and uploader of one release", label, name, h.LayoutMajor, h.LayoutMinor)
	case g.cfg.Kind == KindUploader && g.nMembers() > 0:
		return 0, refuse(ErrBusy, "shm: attach %q: group %q has its uploader; there is one for each ring", label, name)
	case g.cfg.Kind == KindStage && h.LayoutMinor < 1:
		return 0, refuse(ErrVersion, "shm: attach %q: group %q is a stage, which layout %d.%d does not know; use client and engine of one release", label, name, h.LayoutMajor, h.LayoutMinor)
	case h.Mode != 0 && Mode(h.Mode) != g.cfg.Mode:
		return 0, refuse(ErrArgument, "shm: attach %q: group %q has mode %d, asked for %d; leave the mode out", label, name, g.cfg.Mode, h.Mode)
	case g.freeMember() < 0:
		return 0, refuse(ErrBusy, "shm: attach %q: group %q: all %d members are attached; detach one or raise max_consumers", label, name, len(g.members))
	case g.cfg.Mode == ModeShared && h.Lane > 0:
		return 0, refuse(ErrArgument, "shm: attach %q: group %q is shared and has no lane %d; leave the lane out", label, name, h.Lane)
	case g.cfg.Mode == ModeShared:
		return 0, nil
	case int(h.Lane) >= g.lanes || h.Lane < -1:
		return 0, refuse(ErrNotFound, "shm: attach %q: group %q: lane %d, want 0 to %d", label, name, h.Lane, g.lanes-1)
	}
	taken := make([]*member, g.lanes)
	for _, m := range g.members {
		if m != nil {
			taken[m.lane] = m
		}
	}
	if h.Lane >= 0 {
		if m := taken[h.Lane]; m != nil {
			return 0, refuse(ErrBusy, "shm: attach %q: group %q: lane %d is taken by pid %d; take another or end that one", label, name, h.Lane, m.pid)
		}
		return int(h.Lane), nil
	}
	for lane, m := range taken {
		if m == nil {
			return lane, nil
		}
	}
	return 0, refuse(ErrBusy, "shm: attach %q: group %q: all %d lanes are taken", label, name, g.lanes)
}

func (g *group) freeMember() int {
	for i, m := range g.members {
		if m == nil {
			return i
		}
	}
	return -1
}

// register writes the member's record, the owner last, and returns the epoch it begins in: that of the least
// undone batch it may get, else that of the next one.
func (g *group) register(m *member) uint64 {
	g.sweep()
	epoch := g.queue[m.lane].NextEpoch.Load()
	for i := range g.shadow {
		s, d := stateOf(g.shadow[i].word), g.r.slots[i].desc
		if (s == wordReady || s == wordHeld) && g.queueOf(d.Lane.Load()) == m.lane {
			epoch = min(epoch, d.Epoch.Load())
		}
	}
	rec := &g.records[m.index]
	*rec = MemberRecord{PID: uint32(m.pid), Lane: uint32(m.lane), MaxLeases: uint32(m.leases), AttachedNS: monotonicNS()}
	rec.Epoch.Store(epoch)
	rec.Owner.Store(m.owner)
	g.members[m.index] = m
	g.rec.Members.Add(1)
	return epoch
}

// descriptors are copies of what the member gets, in the order of the welcome: header, group, data, the engine's
// pidfd, space, event.
func (r *Ring) descriptors(g *group, m *member) ([]int, error) {
	data := r.data.peer
	if g.cfg.Kind.stage() {
		data = r.data.file
	}
	from := []int{int(r.header.peer.Fd()), int(g.seg.file.Fd()), int(data.Fd()), int(r.pidfd.Fd()), g.space.fd, m.event.fd}
	fds := make([]int, 0, len(from))
	for _, fd := range from {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll(fds)
			return nil, because(err, ErrSystem, "shm: attach %q: copy descriptor: %v; raise the limit of open files (ulimit -n)", r.cfg.label(), err)
		}
		fds = append(fds, dup)
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
