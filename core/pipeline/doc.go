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
// The package example is a program of this shape that compiles. The stages are
// [Source], [Map], [Generate] (many results of an item), [Aggregate] (one of
// many), [Disaggregate], [Resequence] (an order by number), [Variants] and
// [VariantsBatched] (paths), [Merge], [Nested] (another pipeline), [Sink] and
// [Pull] (results to be fetched). [External] stages lend no goroutine: threads of
// any runtime take their works and give results. [Bytes] bounds memory,
// [Limiter] shares CPUs, both over any number of pipelines; [Failures] says
// what may go wrong; [Auto] finds a concurrency; [Pipeline.Profile] measures
// stages alone; [Stats] shows what is slow; [Hooks] and [Pipeline.Background]
// run beside.
//
// # Ownership
//
// Every item a source returns has exactly one end: a sink's op returns nil for
// it or Results.Next returns it (delivered), it becomes part of an op's result
// (and the result has one end), or it is handed to the Discard of the stage it
// came from. Discard is where pooled memory and slots return. It is called on
// any goroutine of the pipeline, several at a time, at the latest before Wait
// returns, and must not wait for the pipeline. An op that fails or panics leaves
// its item to Discard; results that it has yielded before stay.
//
// # The four ends of a run
//
// End: the source returns io.EOF. Each stage finishes its items, the last of
// its workers closes its queue, and so on to the sink. Aggregators are flushed
// on the way. Wait returns nil.
//
// Drain: the source's context ends. What it returns with a nil error even now is
// still delivered; its next error, if it is the context's, counts as io.EOF.
// From there on as above; Wait returns nil. A Merge that ends before its inputs
// drains them alone.
//
// Cancel, by [Pipeline.Stop] or by the context given to Start: the context of
// every op ends, every wait for a queue, for bytes, for admission or for another
// try ends at once, and no item is passed on any more. An op that is running is
// waited for, and so is a work that an External has out; what it returns is
// discarded, except that a sink's nil still means delivered. Its error is not
// counted as a failure. Wait returns an error that wraps ErrStopped, or the
// context's cause.
//
// Failure: an error of a source, of Open, Flush, number or a Stage hook, an op's
// error beyond its Failures, one marked by [Fatal], or a panic in any function
// given to this package. It cancels the run. Wait returns a [*StageError] that
// names the stage and wraps the cause, a [*PanicError] with its stack for a
// panic. The first failure or cancel decides; only a panic in a Discard is
// joined to it.
//
// Whichever it was: when Wait returns, every goroutine of the pipeline is gone,
// every worker's state and every aggregator closed, every item ended. A
// function that never returns keeps Wait waiting; Stats shows its stage with
// Running above 0, and an External's works one by one with their age.
//
// # Failing items
//
// An op that fails is tried again as Retry says; [Fatal] and [Final] errors and
// panics are not. The item's Deadline covers all its tries. The last error is
// then judged once: by the stage's Failures (in the order of the items where
// Output is Input), and by the pipeline's, set by [Pipeline.Forgive], which
// count all stages together. What is forgiven is dropped and counted; it leaves
// no gap in an order.
//
// # Order
//
// In [Completion] order a stage passes results on as they are ready. In [Input]
// order it passes them on in the order in which it took its items, which is
// the source's order only if every stage before keeps it too; the results of one
// item stay together. Behind stages that do not, items that carry a number get
// their order back by Resequence, which with Ahead lets some leave early. One
// worker keeps order either way. Variants in Input order bring the results of
// all paths into the order of their items, whatever the paths' stages do.
//
// # Epochs
//
// A source ends an epoch with [ErrEndOfEpoch]. The end then travels through
// every stage in its place: behind all results of its epoch and before all of
// the next, in both orders and at any concurrency. It is no barrier: workers go
// on with items of the next epoch while the last of this one are in work; their
// results wait, at most Buffer of them. Aggregators are flushed at it; variants
// send it down all paths and merges wait for it on all inputs, reading the
// others no further; it comes out of each once. In a queue it takes one place.
// Sink.EndEpoch and Results.Next report it.
//
// # Bounds
//
// At most this many items are in flight, per stage: Concurrency in ops or
// waiting to be passed on, and Buffer in the queue behind; in Input order
// Concurrency more in that queue, and in Completion order, while two epochs
// overlap, Buffer more. A generator's results are bounded by the queue, not by
// their item. An aggregate bounds itself, a Resequence and Variants in Input
// order hold Window. A byte budget is never exceeded, except by one item that
// alone is larger. Budgets and limiters serve in order of arrival.
//
// # Concurrency and cost
//
// A pipeline is built by one goroutine; its methods, External, Results, Bytes,
// Limiter, Queue and Judge are safe for several. There is one goroutine per
// worker (none for External and Results), and one more per run; no poll, and no
// allocation per item. A timer runs only while a try is waited for, for a
// Deadline (which also costs allocations), and, if there are stages with Auto,
// for the one goroutine that tunes them.
//
// # Not covered
//
// A pipeline does not run twice. Stages live in one process. docs/pipeline.md
// is the guide; docs/architecture.md shows where this stands in the engine.
package pipeline
