// Package engine runs rings: it wires a description to a source, an order, a task pipeline and a ring in shared memory,
// and has no ideas of its own.
//
//	e, err := engine.New(spec, nil)
//	defer e.Close()
//	err = e.Run(ctx) // until ctx ends
//
// Per ring, one [pipeline.Pipeline]: "plan" claims a slot for the next batch and hands out its samples; "fetch" reads
// their bytes; "decode" writes each row in its final place; "collect" waits for a batch's last row; "publish" applies the
// bad-sample policy, writes the columns and makes the batch visible, in ticket order. The rings of one engine share
// one limiter of CPU workers.
//
// A ticket is (epoch * steps per epoch + step) * lanes + lane: a pure function of the position, so a resumed run goes on
// with the numbers of the first.
//
// Membership, waiting and death are package shm's; docs/failures.md tells what a user sees of them.
package engine
