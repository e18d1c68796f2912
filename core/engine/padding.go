package engine

import (
	"fmt"

	"github.com/spdl/spdl/core/sampler"
)

// LengthReport tells what order.buckets make of a ring's batches.
type LengthReport struct {
	Buckets  []sampler.Bucket // their rows are of a step over all ranks; nil: no bound
	Ordered  Padding          // of the batches of the first epoch
	Shuffled Padding          // of the same samples in batches without buckets, of the most rows
	Rows     int64            // how many of the epoch were looked at
	Whole    bool             // all of them
}

// Padding is what batches have whose rows are all as long as the longest.
type Padding struct {
	Share   float64 // of rows x longest that is no sample, over all batches
	Largest float64 // rows x longest of one batch

	used, room float64
}

// maxLooked is how many rows tell of the others.
const maxLooked = 1 << 18

// Lengths measures the batches of ring i by the column of order.buckets; nil where there is none. Of a large epoch it looks at steps that lie
// equally far apart. It may be called between New and Close.
func (e *Engine) Lengths(i int) (*LengthReport, error) {
	r, by := e.rings[i], e.spec.All()[i].Order.Buckets.By
	if by == "" {
		return nil, nil
	}
	p := orderPlan{source: r.source}
	column, err := p.column("buckets.by", by)
	if err != nil {
		return nil, fmt.Errorf("engine: ring %q: order: %w", r.name, err)
	}
	report, c := &LengthReport{}, r.order.Config()
	if bounded, is := c.Cut.(*sampler.Bounded); is {
		report.Buckets = bounded.Buckets()
	}
	steps := r.order.StepsPerEpoch()
	looked := min(steps, max(1, maxLooked/r.order.GlobalBatch()))
	report.Whole = looked == steps
	var all []float64
	var rows []int64
	for k := range looked {
		for rank := range c.World {
			var padded int
			rows, padded = r.order.Rows(0, k*(steps/looked), rank, rows[:0])
			first := len(all)
			for _, sample := range rows[:len(rows)-padded] {
				length, _ := numberOf(column(sample)) // as the order has found
				all = append(all, length)
			}
			report.Ordered.add(all[first:])
		}
	}
	report.Rows = int64(len(all))
	report.Shuffled.addShuffled(all, c.Batch)
	return report, nil
}

// addShuffled counts the batches of so many rows that a shuffle makes.
func (p *Padding) addShuffled(lengths []float64, rows int) {
	perm := sampler.NewPerm(int64(len(lengths)), 0, 0)
	batch := make([]float64, 0, rows)
	for i := range lengths {
		batch = append(batch, lengths[perm.At(int64(i))])
		if len(batch) == rows || i == len(lengths)-1 {
			p.add(batch)
			batch = batch[:0]
		}
	}
}

// add counts a batch.
func (p *Padding) add(lengths []float64) {
	longest := 0.0
	for _, length := range lengths {
		longest = max(longest, length)
		p.used += length
	}
	room := longest * float64(len(lengths))
	p.room += room
	p.Largest = max(p.Largest, room)
	if p.room > 0 {
		p.Share = max(0, 1-p.used/p.room)
	}
}
