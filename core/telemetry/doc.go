// Package telemetry says what is slow.
//
// A [Snapshot] is an engine at one moment, counted since its start. Two of them make an [Interval]: rates, shares of
// time and quantiles of what lies between. [Judge] puts an interval of a ring into one sentence, the [Verdict], with what
// would change if something else did.
//
//	before := take()
//	time.Sleep(time.Second)
//	now := telemetry.Between(before, take())
//	fmt.Println(now.Rings[0].Verdict.Text)
//
// [WriteMetrics] writes a snapshot in the text format of Prometheus, [WriteTrace] a recording in that of Chrome and
// Perfetto. Package web, below, serves all of it over HTTP.
//
// Everything but [ReadProcess] is a pure function: nothing here runs unless somebody asks, and nothing is on the way of
// a sample. Counters are read one after the other, so those of different stages may differ by what moved in between.
// docs/performance.md tells how to read the numbers.
package telemetry
