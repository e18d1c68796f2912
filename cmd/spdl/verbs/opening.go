package verbs

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/engine"
)

// How often somebody is told of the shards that are open, on a terminal and in a log. What takes less is not worth a word.
const (
	openingLine = 500 * time.Millisecond
	openingLog  = 10 * time.Second
)

// opening tells people how far the making of indexes has come: the first opening of a large data set may take minutes.
type opening struct {
	a     *app
	log   *engine.Log // nil: only a terminal is told
	began time.Time
	last  atomic.Int64 // nanoseconds since began
	shown atomic.Bool
}

func (a *app) newOpening(log *engine.Log) *opening {
	return &opening{a: a, log: log, began: time.Now()}
}

// tell is engine.Options.Opened.
func (o *opening) tell(ring string, opened, of, built int) {
	if built > 0 {
		o.say(ring, func() string { return fmt.Sprintf("indexing %s of %s", thousands(opened), counted(of, "shard")) })
	}
}

// measured is engine.Options.Measured.
func (o *opening) measured(ring string, done, of int64) {
	o.say(ring, func() string {
		return fmt.Sprintf("looking at the size of %s of %s", thousands(done), counted(of, "picture"))
	})
}

// say tells of one of several things, now and then.
func (o *opening) say(ring string, what func() string) {
	every, live := openingLog, isTerminal(o.a.err)
	if live {
		every = openingLine
	}
	now, last := int64(time.Since(o.began)), o.last.Load()
	if now-last < int64(every) || !o.last.CompareAndSwap(last, now) {
		return
	}
	text := what()
	if live {
		o.shown.Store(true)
		o.a.status("%s: %s", ring, text)
		return
	}
	o.log.Infof(ring, "%s", text)
}

// end takes the line off the terminal again.
func (o *opening) end() {
	if o.shown.Load() {
		o.a.clearStatus()
	}
}
