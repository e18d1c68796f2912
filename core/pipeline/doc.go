// Package pipeline runs typed stages over bounded queues: the task engine under
// every ring, and a library of its own that knows nothing of media.
//
// A [Pipeline] is built once from functions, each adding a stage that reads the
// [Port] of the one before, and then runs once:
//
//	p := pipeline.New("train")
//	jobs := pipeline.Source(p, pipeline.SourceOptions[job]{Name: "plan"}, next)
//	files := pipeline.Map(jobs, pipeline.Options[job, file]{Name: "fetch", Concurrency: 16}, read)
//	rows := pipeline.MapWorkers(files, pipeline.Options[file, row]{Name: "decode"}, decoders, decode)
//	pipeline.Sink(rows, pipeline.SinkOptions{Name: "publish"}, publish)
//	err := p.Run(ctx)
//
// The package example is a program of this shape that compiles. [Aggregate]
// makes one result of many items, [Resequence] restores an order by number.
// [Bytes] bounds memory, [Limiter] shares CPUs, both over any number of
// pipelines; [Failures] says what may go wrong; [Stats] shows what is slow.
//
// # Ownership
//
// Every item a source returns has exactly one end: a sink's op returns nil for
// it (delivered), it becomes part of an op's result (and the result has one
// end), or it is handed to the Discard of the stage it came from. Discard is
// where pooled memory and slots return. It is called on any goroutine of the
// pipeline, several at a time, at the latest before Wait returns, and must not
// wait for the pipeline. An op that fails or panics leaves its item to Discard.
//
// # The four ends of a run
//
// End: the source returns io.EOF. Each stage finishes its items, the last of
// its workers closes its queue, and so on to the sink. Aggregators are flushed
// on the way. Wait returns nil.
//
// Drain: the source's context ends. What it returns with a nil error even now is
// still delivered; its next error, if it is the context's, counts as io.EOF.
// From there on as above; Wait returns nil.
//
// Cancel, by [Pipeline.Stop] or by the context given to Start: the context of
// every op ends, every wait for a queue, for bytes or for admission ends at
// once, and no item is passed on any more. An op that is running is waited for;
// what it returns is discarded, except that a sink's nil still means delivered.
// Its error is not counted as a failure. Wait returns an error that wraps
// ErrStopped, or the context's cause.
//
// Failure: an error of a source, of Open, Flush or number, an op's error beyond
// its Failures, one marked by [Fatal], or a panic in any function given to this
// package. It cancels the run. Wait returns a [*StageError] that names the
// stage and wraps the cause, a [*PanicError] with its stack for a panic. The
// first failure or cancel decides; only a panic in a Discard is joined to it.
//
// Whichever it was: when Wait returns, every goroutine of the pipeline is gone,
// every worker's state and every aggregator closed, every item ended. A
// function that never returns keeps Wait waiting; Stats shows its stage with
// Running above 0.
//
// # Order
//
// In [Completion] order a stage passes results on as they are ready. In [Input]
// order it passes them on in the order in which it took its items, which is
// the source's order only if every stage before keeps it too. Behind stages
// that do not, items that carry a number get their order back by Resequence.
// One worker keeps order either way.
//
// # Bounds
//
// At most this many items are in flight, per stage: Concurrency in ops or
// waiting to be passed on, and Buffer in the queue behind; in Input order
// Concurrency more in that queue. An aggregate bounds itself, a Resequence holds
// Window. A byte budget is never exceeded, except by one item that alone is
// larger. Budgets and limiters serve in order of arrival.
//
// # Concurrency and cost
//
// A pipeline is built by one goroutine; its methods, Bytes, Limiter, Queue and
// Judge are safe for several. There is one goroutine per worker, and one more
// per run; no timer, no poll, and no allocation per item.
//
// # Not covered
//
// One-to-many stages, routing, merging, retries, deadlines per item and
// measuring stages alone are not here yet. A pipeline does not run twice.
// docs/architecture.md shows where it stands in the engine.
package pipeline
