// Package batch closes a batch: its rows have been decoded in place, and what remains is the bad-sample policy and
// the columns that say which sample lies in which row.
//
//	b.Begin(memory, samples, padded)         // the sampler fixed which sample goes to which row
//	...                                      // decoders write rows; failures become b.Bad
//	result := b.Finish(batch.Skip, names)    // columns written, holes closed
//
// A good row is written once, by its decoder, and never moved. Only a bad sample under Skip or Substitute costs copies
// of rows. Nothing is allocated for a batch without bad samples.
//
// Not covered: where memory comes from (the ring), who may fail how often (core/engine judges in ticket order). One
// goroutine at a time uses a Batch.
package batch
