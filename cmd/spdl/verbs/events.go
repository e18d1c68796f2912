package verbs

import (
	"fmt"
	"sync/atomic"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/shm"
)

// waitingEvents is how many events may wait for a log that is not read.
const waitingEvents = 256

// follow logs what happens to the consumers of a ring, until stop, which waits. The ring tells under its lock, so nothing
// waits for the log: what does not fit is counted. stop comes after the ring's Close.
func follow(r *shm.Ring, log *engine.Log) (stop func()) {
	events, done := make(chan shm.Event, waitingEvents), make(chan struct{})
	var lost atomic.Int64
	r.Watch(func(e shm.Event) {
		select {
		case events <- e:
		default:
			lost.Add(1)
		}
	})
	go func() {
		defer close(done)
		for e := range events {
			if n := lost.Swap(0); n > 0 {
				log.Warnf(r.Name(), "%d events of consumers were not logged", n)
			}
			logEvent(r.Name(), log, e)
		}
	}()
	return func() {
		close(events)
		<-done
	}
}

func logEvent(ring string, log *engine.Log, e shm.Event) {
	who := fmt.Sprintf("consumer %d (pid %d) of group %s", e.Owner, e.PID, e.Group)
	switch e.What {
	case "attach":
		log.Infof(ring, "%s attached: %s", who, e.Text)
	case "detach":
		log.Infof(ring, "%s detached", who)
	case "hang-up":
		log.Infof(ring, "%s hung up without a word; what it holds stays its own until it has ended", who)
	case "death":
		log.Warnf(ring, "%s died; what it held is delivered again, or dropped by the group's policy", who)
	case "evict":
		log.Warnf(ring, "%s is evicted", who)
	case "closed":
		log.Infof(ring, "group %s is closed: %s", e.Group, e.Text)
	default: // broken
		log.Warnf(ring, "group %s is %s: %s", e.Group, e.What, e.Text)
	}
}
