package engine

import (
	"context"
	"slices"

	"github.com/spdl/spdl/core/pipeline"
)

// arrange brings batches into the order in which they are published: that of their tickets, or, with delivery: ready, that
// in which they are finished as far as the description allows.
func (r *ring) arrange(full *pipeline.Port[*work]) *pipeline.Port[*work] {
	if r.readyAhead == 0 {
		return pipeline.Resequence(full, pipeline.ResequenceOptions{Name: "order", Window: r.slots}, func(w *work) uint64 { return w.seq })
	}
	gate := &readyGate{ahead: uint64(r.readyAhead), gone: map[uint64]bool{}}
	return pipeline.Generate(full, pipeline.Options[*work, *work]{Name: "order"}, func(_ context.Context, w *work, yield func(*work) bool) error {
		gate.add(w, yield)
		return nil
	})
}

// A readyGate passes a batch on unless it is too far ahead of one that is not finished, or in a later epoch. What it
// holds has a slot of its own, so the ring bounds it, and the earliest batch always has a slot. It counts the batches of one run
// of the pipeline: those that passed an unfinished one before a load or restart are not counted again.
type readyGate struct {
	ahead uint64
	low   uint64          // number of the first batch that has not gone
	gone  map[uint64]bool // later ones that have
	held  []*work         // in the order in which they were finished
}

func (g *readyGate) add(w *work, yield func(*work) bool) {
	g.held = append(g.held, w)
	for {
		i := slices.IndexFunc(g.held, func(w *work) bool { return w.seq <= g.low+g.ahead && w.epochSeq <= g.low })
		if i < 0 {
			return
		}
		next := g.held[i]
		g.held = slices.Delete(g.held, i, i+1)
		g.gone[next.seq] = true
		for ; g.gone[g.low]; g.low++ {
			delete(g.gone, g.low)
		}
		if !yield(next) {
			return
		}
	}
}

// judgeOnce says whether a ticket is to be judged now, and that it was. In a ring that publishes in order that is the ticket
// below which all are; in any other also those that came before an open one.
func (r *ring) judgeOnce(ticket uint64, open []uint64) bool {
	if ticket < r.judgedBelow || r.judged[ticket] {
		return false
	}
	if r.readyAhead == 0 {
		r.judgedBelow = ticket + 1
		return true
	}
	r.judged[ticket] = true
	low := ticket + 1
	for t := range r.judged {
		low = max(low, t+1)
	}
	for _, t := range open {
		low = min(low, t)
	}
	r.judgedBelow = max(r.judgedBelow, low)
	for t := range r.judged {
		if t < r.judgedBelow {
			delete(r.judged, t)
		}
	}
	return true
}
