package telemetry

import (
	"fmt"
	"math"
	"slices"
)

// A seat is a group, or a lane of one: where every batch that comes there is taken once. Its consumers race for batches, so that together
// they are as fast as the sum of them; different seats do not help each other, and the slowest holds up the ring.
type seat struct {
	group     string
	lane      int
	consumers []*ConsumerLoad
}

// seats are those of the consumers that hold up the ring. A group that batches are dropped for does not, unless there is no other.
func (r *RingLoad) seats() (all []seat) {
	spare := slices.ContainsFunc(r.Consumers, func(c ConsumerLoad) bool { return !c.dropped })
	for i := range r.Consumers {
		c := &r.Consumers[i]
		if spare && c.dropped {
			continue
		}
		k := slices.IndexFunc(all, func(s seat) bool { return s.group == c.Group && s.lane == c.Lane })
		if k < 0 {
			k, all = len(all), append(all, seat{group: c.Group, lane: c.Lane})
		}
		all[k].consumers = append(all[k].consumers, c)
	}
	return all
}

// slowest is the seat that waits least; without consumers it is empty.
func (r *RingLoad) slowest() (least seat) {
	for i, s := range r.seats() {
		if i == 0 || s.wait() < least.wait() {
			least = s
		}
	}
	return least
}

// wait is the share of their time that the seat's consumers wait, all together.
func (s *seat) wait() (share float64) {
	for _, c := range s.consumers {
		share += c.Wait / float64(len(s.consumers))
	}
	return share
}

// someWait says that consumers of some seat wait for most of their time.
func (r *RingLoad) someWait() bool {
	return slices.ContainsFunc(r.seats(), func(s seat) bool { return s.wait() >= 0.5 })
}

// othersRoom is how many times the present throughput the other seats would take.
func (r *RingLoad) othersRoom(than *seat) float64 {
	most := math.Inf(1)
	for _, s := range r.seats() {
		if s.group != than.group || s.lane != than.lane {
			most = min(most, room(s.wait()))
		}
	}
	return most
}

// A party is the slowest seat's consumers as a sentence names them. The group is said only where there are several consumers.
type party struct {
	name, group        string
	is, it, its, takes string
	seat               seat
}

func (r *RingLoad) party() party {
	p := party{name: "the consumer", is: "is", it: "it", its: "its", takes: "takes", seat: r.slowest()}
	if len(r.Consumers) < 2 || len(p.seat.consumers) == 0 {
		return p
	}
	s := &p.seat
	p.group = s.group
	if n := len(s.consumers); n > 1 {
		p.name, p.is, p.it, p.its, p.takes = fmt.Sprintf("the %d consumers", n), "are", "they", "their", "take"
	} else {
		p.name = s.consumers[0].name()
	}
	if slices.ContainsFunc(r.Consumers, func(c ConsumerLoad) bool { return c.Group == s.group && c.Lane != s.lane }) {
		p.name += fmt.Sprintf(" of lane %d", s.lane)
	}
	p.name += " of group " + s.group
	return p
}

func (c *ConsumerLoad) name() string {
	if c.Client == "" {
		return fmt.Sprintf("the consumer with pid %d", c.PID)
	}
	return fmt.Sprintf("%s (pid %d)", c.Client, c.PID)
}

// consumerWaited says who of the consumers is slowest and how long that one waited.
func (r *RingLoad) consumerWaited() string {
	p := r.party()
	return p.name + " " + p.waited(r)
}

// waited says how long they waited, for each batch and as a share.
func (p *party) waited(r *RingLoad) string {
	ns, n := p.sum(func(c *ConsumerLoad) int64 { return c.WaitNs })
	switch {
	case ns == 0 && r.Wait == 0:
		return "did not wait"
	case n == 0:
		return fmt.Sprintf("waited %s of %s time", percent(r.Wait), p.its)
	}
	return fmt.Sprintf("waited %s for each %s (%s of %s time)", duration(int64(ns/n)), r.piece(), percent(r.Wait), p.its)
}

// heldNs is how long one of them kept a batch, on average.
func (p *party) heldNs() int64 {
	ns, n := p.sum(func(c *ConsumerLoad) int64 { return c.HoldNs })
	return int64(ns / max(n, 1))
}

// sum adds up a time of each batch, and the batches.
func (p *party) sum(each func(*ConsumerLoad) int64) (ns, n float64) {
	for _, c := range p.seat.consumers {
		ns, n = ns+float64(each(c))*float64(c.Batches), n+float64(c.Batches)
	}
	return ns, n
}
