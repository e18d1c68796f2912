// Package shm is the ring: batches decoded by one engine, read by any number of processes through shared
// memory, without a copy and without a lock between them.
//
// Three types matter. A [Ring] is the producer's side: [Ring.Claim] takes a free slot, [Ring.Publish] makes
// it visible. A [Server] is the control socket over which consumers become members of a group and get their
// descriptors. A [Reader] is a consumer in Go, the same algorithm as capi/client in C; it serves the tools and
// the tests.
//
//	ring, err := shm.Create(shm.Config{Name: "train", Slots: 8, BatchRows: 32, Tensors: tensors})
//	if err != nil {
//		return err
//	}
//	defer ring.Close()
//	server, err := shm.Listen(shm.ServerConfig{Name: "train"}, shm.Service{Ring: ring})
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	for ticket := uint64(0); ; ticket++ {
//		slot, err := ring.Claim(ctx)
//		if err != nil {
//			return err
//		}
//		fill(slot.Tensor(0))
//		if err := ring.Publish(ctx, slot, shm.Batch{Ticket: ticket, Rows: 32}); err != nil {
//			return err
//		}
//	}
//
// A group of kind [KindStage] has each batch alone before any consumer sees it, and may write its slot. What a stage's
// worker spoiled by dying with it, or says that it cannot transform, comes out of [Ring.NextSpoiled] and goes back with
// [Ring.Restore].
//
// Not covered: what the bytes mean (core/tensor), which batch comes next (core/sampler), device memory.
//
// Concurrency. One goroutine claims, one publishes, one restores; everything else may be called from anywhere. Publish,
// join, leave, reap, drop and restart are one writer: they hold the ring's lock for a bounded time and never
// wait for a peer while they do. What peers can write is checked against a private shadow before it is
// believed, and a group that lies is cut off without touching the others.
//
// docs/layout.md is the normative description of the memory and of the protocol; docs/failures.md says what
// each side sees when another dies.
package shm
