package engine

import (
	"fmt"
	"time"

	"github.com/spdl/spdl/shm"
)

// maxEvents is how many events may wait for the log. The ring reports under its lock, so it never waits: what does not
// fit is not logged.
const maxEvents = 64

// logEvents writes what happens to the ring's members, and standstills, to the log, until the function it returns is called.
func (r *ring) logEvents() (stop func()) {
	if r.engine.log == nil {
		return func() {}
	}
	events, ended := make(chan shm.Event, maxEvents), make(chan struct{})
	r.shm.Watch(func(e shm.Event) {
		select {
		case events <- e:
		default:
		}
	})
	go func() {
		defer close(ended)
		tick, still := time.NewTicker(standstillEvery), standstill{}
		defer tick.Stop()
		for {
			select {
			case e, more := <-events:
				if !more {
					return
				}
				r.logEvent(&e)
			case now := <-tick.C:
				if text := still.look(now, r.shm.Info(), r.lanes, r.shm.Groups()); text != "" {
					r.engine.log.Warnf(r.name, "%s", text)
				}
			}
		}
	}()
	return func() {
		r.shm.Watch(nil) // returns when no report is under way
		close(events)
		<-ended
	}
}

func (r *ring) logEvent(e *shm.Event) {
	text := fmt.Sprintf("group %q: %s", e.Group, e.What)
	if e.PID != 0 {
		text = fmt.Sprintf("group %q: %s of consumer %d, pid %d", e.Group, e.What, e.Owner, e.PID)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	switch e.What {
	case "death":
		log := r.engine.log.Warnf
		if r.engine.parent != 0 && e.PID == r.engine.parent { // 0 are also those of another pid namespace
			log = r.engine.log.Infof // the engine ends with it
		}
		log(r.name, "%s", text)
	case "broken", "evict", "again":
		r.engine.log.Warnf(r.name, "%s", text)
	default:
		r.engine.log.Infof(r.name, "%s", text)
	}
}
