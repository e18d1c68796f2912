// Package sampler says which sample comes next: shuffle, ranks, epochs, and what is left after a restart.
//
// [Perm] is a keyed permutation of [0, n) that can be asked for any position. [Order] turns it into the rows of one
// rank's batch. [Cursor] walks the steps of training, remembers which are completed, and writes that down as a [State].
//
//	order, err := sampler.New(sampler.Config{N: 1281167, Batch: 64, World: 8, Lanes: 8, Shuffle: true, Seed: 1})
//	rows, padded := order.Rows(epoch, step, rank, rows[:0])
//
// What comes where in an epoch is a [Sequence]: every sample once, in order or shuffled, unless a config has another one:
// [Window] for shards, [Weighted], [Mix] for classes, strata and several data sets, [Bucketed] and [Bounded] for lengths,
// [Repeat], and [Subset] under any of them. Each says what it keeps per sample. Which positions of it a step holds is said by
// a [Cut]: as many in each step, one step behind the other, unless a config has another one, as Bounded is.
//
// Order is a pure function of (config, epoch, step, rank): alone it keeps nothing per sample, so ten billion samples cost
// what ten do, and any number of goroutines may ask. The unit of order is the global batch G = batch x world: step s of an epoch
// holds the global rows [sG, (s+1)G), and rank r of W takes [rG/W, (r+1)G/W) of them. The same G therefore gives the same
// global sequence at any world size. Where a [Budget] bounds the steps, G is that of the step's bucket, and the same Budget gives the
// same sequence at any world size that divides its Multiple.
//
// # The permutation
//
// A generalised Feistel network over pairs (l, r) in [0, a) x [0, a), a = ceil(sqrt n): eight rounds of
// (l, r) -> (r, l + F(r) mod a), F a multiply-xorshift mix of r and the round's key, reduced to [0, a) by multiplication.
// Results of n and above are walked again until one falls below n; as a^2 < n + 2 sqrt n + 1 that is rarely more than
// once. The eight round keys are SHA-512 of (a fixed name, seed, epoch, n). It is a good shuffle, not a cipher: whoever
// sees the order may learn the key.
//
// Not covered: the facts about samples (weights, classes, lengths, shards), which whoever makes a sequence brings. Cursor is
// safe for concurrent use.
package sampler
