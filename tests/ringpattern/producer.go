package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/shm"
)

// producer publishes the pattern and answers the control requests.
type producer struct {
	o    *options
	ring *shm.Ring
	stop func()

	moved chan struct{} // one deep: a load moved the position

	mu   sync.Mutex      // held over one batch, so that a load or restart comes between two
	next uint64          // ticket to publish
	skip map[uint64]bool // tickets that a loaded state names as completed
}

// position is the state: every ticket below NextTicket is completed, and those in Above.
type position struct {
	NextTicket uint64   `json:"next_ticket"`
	Above      []uint64 `json:"above"`
}

func newProducer(o *options, ring *shm.Ring, stop func()) (*producer, error) {
	p := &producer{o: o, ring: ring, stop: stop, moved: make(chan struct{}, 1), next: o.first}
	if info := ring.Info(); info.Adopted {
		p.next = info.NextTicket
		return p, nil
	}
	if o.state == "" {
		return p, nil
	}
	return p, p.move([]byte(o.state))
}

// move parses a state and makes it the position.
func (p *producer) move(state []byte) error {
	var saved position
	if err := json.Unmarshal(state, &saved); err != nil {
		return &shm.Error{Status: shm.ErrState, Text: "state: " + err.Error()}
	}
	p.next, p.skip = saved.NextTicket, map[uint64]bool{}
	for _, ticket := range saved.Above {
		p.skip[ticket] = true
	}
	return nil
}

// produce publishes every epoch in ticket order.
func (p *producer) produce(ctx context.Context) error {
	pace, err := newPace(p.o.rate)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = pace.Close() })()
	defer func() { _ = pace.Close() }()
	for {
		slot, err := p.ring.Claim(ctx)
		if err != nil {
			return err
		}
		if err := pace.wait(ctx); err != nil {
			return err
		}
		more, err := p.publish(ctx, slot)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		p.ring.Abandon(slot)
		if p.o.fail != "" {
			p.ring.Fail(shm.ErrEngineFailed, p.o.fail)
		} else {
			p.ring.End()
		}
		if !p.linger(ctx) {
			return nil
		}
	}
}

// A pace is a timer of the kernel's: Go's own are up to a millisecond late where nothing else runs, which no consumer could tell from an
// irregular producer.
type pace struct{ *os.File }

// newPace ticks rate times a second; 0: there is no waiting.
func newPace(rate float64) (pace, error) {
	if rate == 0 {
		return pace{}, nil
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return pace{}, os.NewSyscallError("timerfd_create", err)
	}
	each := unix.NsecToTimespec(int64(float64(time.Second) / rate))
	t := pace{os.NewFile(uintptr(fd), "pace")}
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: each, Value: each}, nil); err != nil {
		return pace{}, errors.Join(os.NewSyscallError("timerfd_settime", err), t.Close())
	}
	return t, nil
}

// wait is for the next tick, or for none if one has passed since the last.
func (t pace) wait(ctx context.Context) error {
	if t.File == nil {
		return nil
	}
	if _, err := t.Read(make([]byte, 8)); err != nil {
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// publish fills and publishes the next ticket; false when there is none.
func (p *producer) publish(ctx context.Context, s *shm.Slot) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.skip[p.next] {
		if b := p.batch(p.next); b.LastOfEpoch {
			p.ring.EndEpoch(int(p.next%uint64(p.o.lanes)), b.Epoch)
		}
		p.next++
	}
	b := p.batch(p.next)
	if p.o.epochs != 0 && b.Epoch >= p.o.epochs {
		return false, nil
	}
	p.fill(s, &b)
	if err := p.ring.Publish(ctx, s, b); err != nil {
		return false, err
	}
	p.next++
	return true, nil
}

// batch is what ticket holds.
func (p *producer) batch(ticket uint64) shm.Batch {
	step := ticket / uint64(p.o.lanes)
	return shm.Batch{
		Ticket: ticket, Epoch: step / p.o.batches, Step: step, EpochStep: step % p.o.batches, Rows: p.o.rows,
		LastOfEpoch: step%p.o.batches == p.o.batches-1,
	}
}

// fill writes the pattern.
func (p *producer) fill(s *shm.Slot, b *shm.Batch) {
	fillPattern(s.Tensor(0), b.Ticket)
	lane := b.Ticket % uint64(p.o.lanes)
	offsets, keys := s.Offsets(2), s.Tensor(2)[:0]
	for row := range p.o.rows {
		place := (b.EpochStep*uint64(p.o.lanes)+lane)*uint64(p.o.rows) + uint64(row)
		binary.LittleEndian.PutUint64(s.Tensor(1)[8*row:], place)
		offsets[row] = int64(len(keys))
		keys = strconv.AppendUint(append(keys, 't'), b.Ticket, 10)
		keys = strconv.AppendInt(append(keys, 'r'), int64(row), 10)
	}
	offsets[p.o.rows] = int64(len(keys))
	clear(s.Tensor(3))
}

func fillPattern(b []byte, ticket uint64) {
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, ticket)
	}
}

// linger waits until all that was published is completed and every consumer has left, or ctx ends; true when a load
// has given us more to do.
func (p *producer) linger(ctx context.Context) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for p.o.keep || p.o.child || !p.idle() {
		select {
		case <-p.moved:
			return true
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return false
}

func (p *producer) idle() bool {
	for _, g := range p.ring.Groups() {
		if len(g.Members) > 0 || g.Completed+g.Dropped < g.Published {
			return false
		}
	}
	return true
}

// ---- shm.Control ---------------------------------------------------------------------------------

func (p *producer) State(group int, owner uint32, countHeld bool, extra []uint64) ([]byte, error) {
	held := uint32(0)
	if countHeld {
		held = owner
	}
	progress, err := p.ring.Progress(group, held, extra)
	if err != nil {
		return nil, err
	}
	return json.Marshal(position{NextTicket: progress.Low(), Above: progress.Above()})
}

func (p *producer) Load(_ int, _ uint32, state []byte) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, skip := p.next, p.skip
	if err := p.move(state); err != nil {
		return 0, err
	}
	epoch := p.batch(p.next).Epoch
	if err := p.ring.Rewind(p.next, epoch); err != nil {
		p.next, p.skip = next, skip
		return 0, err
	}
	select {
	case p.moved <- struct{}{}:
	default:
	}
	return epoch, nil
}

func (p *producer) Restart(group int, owner uint32) (uint64, error) {
	epoch, err := p.ring.MemberEpoch(owner)
	if err != nil {
		return 0, err
	}
	return epoch + 1, p.ring.Skip(group, epoch+1)
}

func (p *producer) Stats() ([]byte, error) {
	return json.Marshal(map[string]any{"ring": p.ring.Info(), "groups": p.ring.Groups()})
}

func (p *producer) Stop() { p.stop() }
