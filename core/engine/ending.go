package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// beginEnd waits for what ends Run. The rings let nobody in from here on, however long their pipelines have to wait for a storage that hangs.
func (e *Engine) beginEnd(ctx context.Context, cancel context.CancelFunc) {
	defer close(e.ending)
	select {
	case <-e.stop:
	case <-ctx.Done():
	}
	cancel() // first: an uploader that hears of the end is one that nobody starts again
	for _, r := range e.rings {
		r.shm.Shut()
	}
}

// Ending is closed when the end of Run has begun, by Stop or its context, or when its rings have all failed.
func (e *Engine) Ending() <-chan struct{} { return e.ending }

// hangsAfter is how long an end takes before it is said what it waits for.
var hangsAfter = 3 * time.Second

// tellHanging says which rings have not ended hangsAfter their end began, unless all are over by then: nothing ends a read that a storage does not
// answer, and who has closed such an engine has left it behind.
func (e *Engine) tellHanging(over <-chan struct{}) {
	late := time.NewTimer(hangsAfter)
	defer late.Stop()
	select {
	case <-over:
		return
	case <-late.C:
	}
	for _, r := range e.rings {
		select {
		case <-r.over:
		default:
			e.log.Warnf(r.name, "the engine's end waits for %s, for %v so far; if it is a storage that never answers, only the end of process %d helps", r.inHand(), hangsAfter, os.Getpid())
		}
	}
}

// inHand says what the ring's pipeline is at.
func (r *ring) inHand() string {
	var all []string
	if run := r.running.Load(); run != nil {
		for _, stage := range run.Stats().Stages {
			if stage.Running > 0 {
				all = append(all, fmt.Sprintf("%d in stage %s", stage.Running, stage.Name))
			}
		}
	}
	if all == nil {
		return "what it has in hand"
	}
	return strings.Join(all, " and ")
}

// farewell is how long an engine that gave up stays for consumers to hear of it. Those that are attached read the reason from
// memory that outlives the engine; those that come later have to ask.
const farewell = 5 * time.Second

// seeOff waits until the consumers have left, at most for farewell.
func (e *Engine) seeOff(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for met := false; ; {
		attached := 0
		for _, r := range e.rings {
			for _, g := range r.shm.Groups() {
				attached += len(g.Members)
			}
		}
		if met = met || attached > 0; met && attached == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// lastBatches is how long an orderly end waits for what consumers hold, so that the journal has it.
var lastBatches = 5 * time.Second

// leaveToNext has the rings hand out nothing more, and waits until the consumers have completed what they hold, or have left: what they
// completed after the journal's last word would come again. A child's end is its parent's, who completes nothing any more.
func (e *Engine) leaveToNext() {
	for _, r := range e.rings {
		r.shm.Withdraw()
	}
	end := time.NewTimer(lastBatches)
	defer end.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for over, told := e.child, false; ; told = true {
		held := 0
		for _, r := range e.rings {
			n := r.shm.Held()
			held += n
			switch {
			case n > 0 && over:
				e.log.Warnf(r.name, "consumers still hold %d batches, which the journal does not have: they come again", n)
			case n > 0 && !told:
				e.log.Infof(r.name, "waits up to %v for %d batches that consumers hold", lastBatches, n)
			}
		}
		if over || held == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			over = true
		}
	}
}

// Stop begins the orderly end of Run; it returns at once.
func (e *Engine) Stop() { e.stopOnce.Do(func() { close(e.stop) }) }
