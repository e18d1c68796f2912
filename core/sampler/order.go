package sampler

import (
	"errors"
	"fmt"
)

// Last says what becomes of the last global batch of an epoch when the data set does not fill it.
type Last string

const (
	// Cover delivers it short: its rows are split as evenly as possible, so a rank may get fewer rows, or none, but as
	// many batches as every other. Every sample comes exactly once.
	Cover Last = "cover"
	// Drop leaves it out, of steps whose samples stay apart each that is not full.
	Drop Last = "drop"
	// Pad fills it from the start of the epoch's order, again and again if the data set is that small.
	Pad Last = "pad"
)

// ErrNoBatch is returned by New when the rule Drop leaves an epoch without any batch.
var ErrNoBatch = errors.New("no full batch")

const (
	maxSamples = 1 << 62
	maxGlobal  = 1 << 31
)

// Config describes an order. N, Batch and World must be positive; Lanes 0 means 1, and Last "" means Cover.
type Config struct {
	N         int64    // samples in the data set
	Batch     int      // rows per rank and step
	World     int      // ranks in all
	FirstRank int      // rank of this engine's lane 0
	Lanes     int      // ranks this engine serves
	Sequence  Sequence // what comes where in an epoch; nil: all samples once, by Shuffle
	Cut       Cut      // which of it each step holds; nil: Batch x World rows, one step behind the other
	Shuffle   bool     // without a Sequence: a new permutation each epoch; false: 0, 1, 2, ...
	Seed      uint64   // of the shuffle
	Epochs    int64    // 0: endless
	Last      Last
	// Hashes of what the samples are and of how they are ordered, hexadecimal; they go into State and are compared on
	// resume. They may be empty.
	SourceHash, OrderHash string
	// Data says which samples there are; it goes into State, too. "": not known.
	Data Data
	// Budget is what Cut was made with, where it is one by lengths: a state that does not fit says what of it differs.
	Budget Budget
}

// Order is the plan of a training run. It is immutable.
type Order struct {
	c      Config
	global int64 // G
	steps  int64 // per epoch
}

// New checks a config and returns its order.
func New(c Config) (*Order, error) {
	if c.Lanes == 0 {
		c.Lanes = 1
	}
	if c.Last == "" {
		c.Last = Cover
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Sequence == nil && c.Shuffle {
		c.Sequence = shuffled{n: c.N, seed: c.Seed}
	} else if c.Sequence == nil {
		c.Sequence = sequential{n: c.N}
	}
	global := int64(c.Batch) * int64(c.World)
	if c.Cut == nil {
		c.Cut = even{rows: c.Sequence.Len(), global: global}
	}
	if m := c.Cut.Multiple(); m%int64(c.World) != 0 {
		return nil, fmt.Errorf("sampler: world size: got %d, want one that divides %d, of which the rows of each step are a multiple", c.World, m)
	}
	o := &Order{c: c, global: global, steps: c.Cut.Steps()}
	last := c.Cut.Step(0, o.steps-1)
	for c.Last == Drop && o.steps > 0 && !c.Cut.Step(0, o.steps-1).Full() {
		o.steps--
	}
	if o.steps == 0 {
		which := ""
		if c.Sequence.Len() >= last.Rows {
			which = " in batches of one kind each, of none of which there are enough"
		}
		return nil, fmt.Errorf("sampler: %w: last: drop leaves nothing: an epoch has %d rows%s, a global batch takes %d "+
			"(batch %d x world %d); use a smaller batch, or last: cover or pad", ErrNoBatch, c.Sequence.Len(), which, last.Rows, last.Rows/int64(c.World), c.World)
	}
	return o, nil
}

func (c *Config) check() error {
	switch {
	case c.N < 1 || c.N > maxSamples:
		return fmt.Errorf("sampler: data set size: got %d, want 1 to 2^62 samples", c.N)
	case c.Batch < 1:
		return fmt.Errorf("sampler: batch: got %d, want 1 or more rows", c.Batch)
	case c.World < 1:
		return fmt.Errorf("sampler: world size: got %d, want 1 or more ranks", c.World)
	case int64(c.Batch) > maxGlobal/int64(c.World):
		return fmt.Errorf("sampler: global batch: got batch %d x world %d, want a product of at most 2^31", c.Batch, c.World)
	case c.FirstRank < 0 || c.Lanes < 0 || c.FirstRank > c.World-c.Lanes:
		return fmt.Errorf("sampler: ranks: got rank %d with %d lanes in a world of %d; want rank + lanes <= world size",
			c.FirstRank, c.Lanes, c.World)
	case c.Epochs < 0:
		return fmt.Errorf("sampler: epochs: got %d, want 0 (endless) or more", c.Epochs)
	case c.Last != Cover && c.Last != Drop && c.Last != Pad:
		return fmt.Errorf("sampler: last: got %q, want cover, drop or pad", c.Last)
	}
	return nil
}

// Config returns the config with its defaults filled in.
func (o *Order) Config() Config { return o.c }

// GlobalBatch is G, the rows of all ranks in one step.
func (o *Order) GlobalBatch() int64 { return o.global }

// StepsPerEpoch is the number of batches every rank gets in an epoch; at least 1.
func (o *Order) StepsPerEpoch() int64 { return o.steps }

// Rows appends to dst the samples of one rank's batch, in row order, and tells how many of them, at the end, are padding.
// The batch has Batch rows except under Cover at the end of an epoch, where it may be short or empty. epoch is 0 or
// more, step in [0, StepsPerEpoch), rank in [0, World): rank is global, lane l of this engine is rank FirstRank+l.
// It allocates only what dst lacks.
func (o *Order) Rows(epoch, step int64, rank int, dst []int64) (rows []int64, padded int) {
	if epoch < 0 || step < 0 || step >= o.steps || rank < 0 || rank >= o.c.World {
		panic(fmt.Sprintf("sampler: rows of epoch %d step %d rank %d: out of range", epoch, step, rank))
	}
	from, to, all := o.slice(epoch, step, int64(rank))
	padded = int(max(to-max(from, all.To), 0))
	for from < to {
		start := from
		if from >= all.To { // Pad
			start = all.Again + (from-all.To)%(all.To-all.Again)
		}
		end := min(start+to-from, all.To)
		dst = o.c.Sequence.Append(dst, epoch, start, end)
		from += end - start
	}
	return dst, padded
}

// Bucket is that of a step's samples, where those of each step are all of one bucket (NewApart); else 0.
func (o *Order) Bucket(epoch, step int64) int {
	if apart, is := o.c.Cut.(*Bounded); is && apart.apart {
		return apart.Bucket(epoch, step)
	}
	return 0
}

// Position is the place in the epoch's order of the first row of a rank's batch; the others follow it. It names a row
// where a sample may come more than once.
func (o *Order) Position(epoch, step int64, rank int) int64 {
	from, _, _ := o.slice(epoch, step, int64(rank))
	return from
}

// Once reports whether no sample comes twice in an epoch, padding apart.
func (o *Order) Once() bool { return o.c.Sequence.Once() }

// slice is the range of the epoch's positions that one rank takes in one step, all the step. What lies behind the step's
// positions is padding.
func (o *Order) slice(epoch, step, rank int64) (from, to int64, all Span) {
	all = o.c.Cut.Step(epoch, step)
	rows, world := all.Rows, int64(o.c.World)
	if o.c.Last == Cover {
		rows = all.To - all.From
	}
	return all.From + rank*rows/world, all.From + (rank+1)*rows/world, all
}
