// Package engine runs rings: it wires a description to a source, an order, a task pipeline and a ring in shared memory,
// and has no ideas of its own.
//
//	e, err := engine.New(spec, nil)
//	defer e.Close()
//	err = e.Run(ctx) // until ctx ends
//
// Per ring, one [pipeline.Pipeline]: "plan" claims a slot for the next batch and hands out its rows, a few at a time;
// "fetch" reads their samples' bytes; "decode" writes each row, every medium of it by its own rule, in its final place and passes the batch on with the last; "collect" sums up its faults;
// "order" restores the order of batches, or, with delivery: ready, lets a bounded number pass an unfinished one; "publish"
// applies the bad-sample policy, writes the columns and makes the batch visible. The rings of one engine share one limiter
// of CPU workers and one budget of bytes read ahead.
//
// Where the description declares stages, workers in other processes transform a batch in its slot before consumers see it. A
// goroutine beside the pipeline decodes again what a worker died with.
//
// A ticket is (epoch * steps per epoch + step) * lanes + lane: a pure function of the position, so a resumed run goes on
// with the numbers of the first. Restart and load end the pipeline's run, move the ring's next ticket and begin another
// run there: where a run begins is always read from the ring.
//
// What a consumer asks for (see [Engine.Services]) is answered on connection goroutines; everything else about a ring
// happens in its run. New, Run and Close are called by one goroutine; Stop and Stats by any.
//
// Membership, waiting and death are package shm's; docs/failures.md tells what a user sees of them.
package engine
