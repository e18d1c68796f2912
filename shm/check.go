package shm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Snapshot is a ring's header and group segments as they were, copied. The data segment is not looked at.
type Snapshot struct {
	Header []byte
	Groups map[int][]byte // by index of the group's record
}

// Problem is something in a ring that no correct run can have made.
type Problem struct {
	Where string `json:"where"` // "header", "group 2 (train)", "group 2 (train) slot 5"
	What  string `json:"what"`
}

func (p Problem) String() string { return p.Where + ": " + p.What }

// Observe copies a running engine's ring, NAME or NAME/RING, over its socket, without becoming a consumer.
func Observe(ctx context.Context, name string) (*Snapshot, error) {
	conn, ring, err := dialNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := &caller{conn: conn}
	m, err := c.call(ctx, msgObserve, []byte(ring), nil, maxObserved)
	if err != nil {
		return nil, err
	}
	defer m.closeFDs()
	var o observation
	if err := json.Unmarshal(m.payload, &o); err != nil || len(m.fds) != len(o.Groups)+1 {
		return nil, refuse(ErrFormat, "shm: observe %q: answer with %d descriptors and text %q", name, len(m.fds), m.payload)
	}
	s := &Snapshot{Groups: map[int][]byte{}}
	if s.Header, err = copyOf(m.fds[0]); err != nil {
		return nil, err
	}
	for i, index := range o.Groups {
		if s.Groups[index], err = copyOf(m.fds[i+1]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// copyOf reads a whole segment of at most 1 GiB.
func copyOf(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, because(err, ErrSystem, "shm: observe: fstat: %v", err)
	}
	if st.Size > 1<<30 {
		return nil, refuse(ErrFormat, "shm: observe: segment of %d bytes, want at most 1 GiB", st.Size)
	}
	b := make([]byte, st.Size)
	n, err := unix.Pread(fd, b, 0)
	if err != nil || n != len(b) {
		return nil, because(err, ErrSystem, "shm: observe: read %d of %d bytes: %v", n, len(b), err)
	}
	return b, nil
}

// CheckLive looks at a running ring several times and returns what was wrong every time: a ring at work is never
// still, and one look may fall between two steps.
func CheckLive(ctx context.Context, name string) ([]Problem, error) {
	var kept []Problem
	for round := range 4 {
		s, err := Observe(ctx, name)
		if err != nil {
			return nil, err
		}
		found := Check(s)
		if round == 0 {
			kept = found
		}
		kept = intersect(kept, found)
		if len(kept) == 0 {
			return nil, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return kept, nil
}

func intersect(a, b []Problem) (both []Problem) {
	in := map[Problem]bool{}
	for _, p := range b {
		in[p] = true
	}
	for _, p := range a {
		if in[p] {
			both = append(both, p)
		}
	}
	return both
}

// checker collects problems.
type checker struct {
	h        *Header
	hdr      []byte
	where    string
	problems []Problem
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, Problem{c.where, fmt.Sprintf(format, args...)})
}

// Check proves a ring consistent, or says what is not: geometry, records, queues, words, owners, descriptors.
func Check(s *Snapshot) []Problem {
	c := &checker{hdr: s.Header, where: "header"}
	var err error
	if c.h, err = checkHeader(s.Header); err != nil {
		c.bad("%v", err)
		return c.problems
	}
	state := at[State](c.hdr, c.h.StateOff).State.Load()
	if state > StateStopped {
		c.bad("engine state %d, want 0 to %d", state, StateStopped)
	}
	serves := state == StateRunning || state == StateEnded // one that ends removes its segments
	for i := range uint64(c.h.NTensors) {
		if err := checkTensor(at[TensorRecord](c.hdr, c.h.TensorOff+i*c.h.TensorStride), c.h); err != nil {
			c.bad("%v", err)
		}
	}
	for i := range int(c.h.MaxGroups) {
		rec := at[GroupRecord](c.hdr, c.h.GroupOff+uint64(i)*c.h.GroupStride)
		c.where = fmt.Sprintf("group %d (%s)", i, text(rec.Name[:]))
		switch b, ok := s.Groups[i]; {
		case rec.State.Load() != GroupActive:
		case ok:
			c.group(i, rec, b)
		case serves && len(s.Groups) < maxObserved-1: // as many as one answer carries
			c.bad("its segment is not there")
		}
	}
	return c.problems
}

func (c *checker) group(index int, rec *GroupRecord, b []byte) {
	g, err := checkGroup(b, c.h)
	if err != nil {
		c.bad("%v", err)
		return
	}
	switch {
	case int(g.GroupIndex) != index || g.GroupID != rec.ID:
		c.bad("segment of group %d id %d, record has id %d", g.GroupIndex, g.GroupID, rec.ID)
		return
	case uint64(rec.FirstQueue)+uint64(g.NLanes) > uint64(c.h.MaxQueues):
		c.bad("queues %d to %d of %d", rec.FirstQueue, uint64(rec.FirstQueue)+uint64(g.NLanes), c.h.MaxQueues)
		return
	case rec.Completed.Load() > rec.Published.Load():
		c.bad("%d batches completed of %d published", rec.Completed.Load(), rec.Published.Load())
	}
	for lane := range g.NLanes {
		c.lane(rec, g, b, lane)
	}
	c.words(rec, g, b)
}

func (c *checker) lane(rec *GroupRecord, g *GroupHead, b []byte, lane uint32) {
	q := at[Queue](c.hdr, c.h.QueueOff+c.h.QueueStride*uint64(rec.FirstQueue+lane))
	l := at[Lane](b, g.LaneOff+g.LaneStride*uint64(lane))
	if q.Group != g.GroupIndex || q.Lane != lane {
		c.bad("lane %d: its queue says group %d, lane %d", lane, q.Group, q.Lane)
	}
	if l.Head.Load() > q.Tail.Load() || l.RedoHead.Load() > q.RedoTail.Load() {
		c.bad("lane %d: heads %d and %d beyond tails %d and %d", lane, l.Head.Load(), l.RedoHead.Load(), q.Tail.Load(), q.RedoTail.Load())
	}
}

// words checks every slot's word in a group, its entry, its owner and its descriptor.
func (c *checker) words(rec *GroupRecord, g *GroupHead, b []byte) {
	members := map[uint32]*MemberRecord{}
	for i := range uint64(g.MaxMembers) {
		if m := at[MemberRecord](b, g.MemberOff+i*g.MemberStride); m.Owner.Load() != 0 {
			members[m.Owner.Load()] = m
		}
	}
	held, tickets := map[uint32]uint32{}, map[uint64]uint64{}
	group := c.where
	for slot := range uint64(g.NSlots) {
		c.where = fmt.Sprintf("%s slot %d", group, slot)
		w := at[Word](b, g.WordOff+slot*g.WordStride)
		word := w.Word.Load()
		state, owner := stateOf(word), ownerOf(word)
		switch {
		case state > wordDone:
			c.bad("word %016x: no such state", word)
			continue
		case state == wordFree && owner != 0, state == wordReady && owner != 0:
			c.bad("word %016x: an owner where none can be", word)
		case state == wordFree:
			continue
		case state == wordReady && seqOf(word) < seqAwayRedo && !c.queued(rec, g, b, slot, seqOf(word)):
			c.bad("word %016x: ready, and in no queue", word)
		case state == wordHeld || state == wordDone:
			if members[owner] == nil {
				c.bad("word %016x: held by %d, who is no member", word, owner)
			}
			held[owner]++
		}
		if w.Attempts.Load() == 0 {
			c.bad("published with no attempt counted")
		}
		ticket := c.desc(slot)
		if other, twice := tickets[ticket]; twice {
			c.bad("ticket %d is in slot %d too", ticket, other)
		}
		tickets[ticket] = slot
	}
	c.where = group
	for owner, n := range held {
		if m := members[owner]; m != nil && n > m.MaxLeases {
			c.bad("member %d holds %d slots of %d", owner, n, m.MaxLeases)
		}
	}
}

// queued says whether the entry that belongs to sequence seq names slot and has been published.
func (c *checker) queued(rec *GroupRecord, g *GroupHead, b []byte, slot, seq uint64) bool {
	ringOff, position := g.ReadyOff, seq
	if seq&seqRedo != 0 {
		ringOff, position = g.RedoOff, seq&^seqRedo
	}
	lane := position % uint64(g.NLanes)
	position /= uint64(g.NLanes)
	q := at[Queue](c.hdr, c.h.QueueOff+c.h.QueueStride*(uint64(rec.FirstQueue)+lane))
	tail := q.Tail.Load()
	if seq&seqRedo != 0 {
		tail = q.RedoTail.Load()
	}
	entry := at[paddedWord](b, g.LaneOff+g.LaneStride*lane+ringOff+8*(position&uint64(g.NEntries-1))).Load()
	return position < tail && entry == packEntry(seq, int(slot))
}

// desc checks the descriptor of a published slot and returns its ticket.
func (c *checker) desc(slot uint64) uint64 {
	d := at[Desc](c.hdr, c.h.DescOff+slot*c.h.DescStride)
	if d.Rows > c.h.BatchRows || d.Lane.Load() >= c.h.NLanes || d.Ticket%uint64(c.h.NLanes) != uint64(d.Lane.Load()) {
		c.bad("ticket %d: %d rows of %d, lane %d of %d", d.Ticket, d.Rows, c.h.BatchRows, d.Lane.Load(), c.h.NLanes)
	}
	for i := range uint64(c.h.NTensors) {
		t := at[TensorRecord](c.hdr, c.h.TensorOff+i*c.h.TensorStride)
		used := at[DescTensor](c.hdr, c.h.DescOff+slot*c.h.DescStride+c.h.DescTensorOff+i*c.h.DescTensorStride).Bytes
		if used > t.Bytes {
			c.bad("ticket %d: tensor %q uses %d bytes of %d", d.Ticket, text(t.Name[:]), used, t.Bytes)
		}
	}
	return d.Ticket
}

// ---- what a dead engine left ---------------------------------------------------------------------

// Leftover is a ring with names in /dev/shm.
type Leftover struct {
	Name      string   `json:"name"`  // as its header says, NAME or NAME/RING; the file's if it cannot be read
	Files     []string `json:"files"` // the header last
	Bytes     int64    `json:"bytes"`
	EnginePID uint32   `json:"engine_pid"`
	Stale     bool     `json:"stale"` // its engine is proved dead: nobody holds the header's lock
	base      string
}

var headerName = regexp.MustCompile(`^(spdl\..+)\.h$`)

// Leftovers lists the rings with names in /dev/shm that this user may open, stale and living.
func Leftovers() ([]Leftover, error) {
	entries, err := os.ReadDir(shmDir)
	if err != nil {
		return nil, because(err, ErrSystem, "shm: list %q: %v", shmDir, err)
	}
	var all []Leftover
	for _, e := range entries {
		if m := headerName.FindStringSubmatch(e.Name()); m != nil {
			if l, err := leftover(m[1]); err == nil {
				all = append(all, l)
			}
		}
	}
	return all, nil
}

func leftover(base string) (Leftover, error) {
	l := Leftover{base: base, Name: strings.TrimPrefix(base, "spdl.")}
	f, err := os.OpenFile(filepath.Join(shmDir, base+".h"), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return l, err
	}
	defer f.Close()
	l.Stale = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
	var h Header
	if n, _ := f.ReadAt(bytesOf(&h), 0); n == headerSize && h.Magic.Load() == MagicRing {
		l.Name, l.EnginePID = text(h.Name[:]), h.EnginePID
	}
	if l.Files, err = leftoverNames(base); err != nil {
		return l, err
	}
	for _, name := range l.Files {
		if st, err := os.Lstat(filepath.Join(shmDir, name)); err == nil {
			l.Bytes += st.Size()
		}
	}
	return l, nil
}

// Snapshot copies what is left.
func (l *Leftover) Snapshot() (*Snapshot, error) {
	s := &Snapshot{Groups: map[int][]byte{}}
	names := append([]string(nil), l.Files...)
	sort.Strings(names)
	for _, name := range names {
		if strings.HasSuffix(name, ".d") {
			continue
		}
		f, err := os.OpenFile(filepath.Join(shmDir, name), os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, because(err, ErrDenied, "shm: inspect %q: %v", name, err)
		}
		b, err := copyOf(int(f.Fd()))
		_ = f.Close()
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, ".h") {
			s.Header = b
		} else if len(b) >= 256 {
			s.Groups[int(at[GroupHead](b, 0).GroupIndex)] = b
		}
	}
	return s, nil
}

// Remove removes a stale leftover's names. It refuses when an engine has taken it over.
func (l *Leftover) Remove() error { return removeStale(l.base) }

// StaleSockets lists the sockets in the runtime directories whose engines are proved dead.
func StaleSockets() (stale []string, err error) {
	for _, dir := range socketDirs() {
		if checkSocketDir(dir, true) != nil {
			continue
		}
		err := withDirLock(dir, func() error {
			found, err := filepath.Glob(filepath.Join(dir, "*.sock"))
			for _, path := range found {
				if dead, err := deadSocket(path); err == nil && dead {
					stale = append(stale, path)
				}
			}
			return err
		})
		if err != nil {
			return stale, err
		}
	}
	return stale, nil
}

// RemoveStaleSocket removes a socket whose engine is proved dead; it refuses when that engine lives.
func RemoveStaleSocket(path string) error {
	return withDirLock(filepath.Dir(path), func() error { return removeStaleSocket(path) })
}

// RunningSockets are the sockets in the runtime directories at which an engine answers; or, where there is none, the refusal of a
// directory that is there and is not looked into.
func RunningSockets() (paths []string, err error) {
	for _, dir := range socketDirs() {
		if refused := checkSocketDir(dir, true); refused != nil {
			if !errors.Is(refused, ErrNotFound) {
				err = refused
			}
			continue
		}
		found, _ := filepath.Glob(filepath.Join(dir, "*.sock"))
		for _, path := range found {
			if dead, err := deadSocket(path); err == nil && !dead {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) > 0 {
		err = nil
	}
	return paths, err
}
