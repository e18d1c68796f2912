package shm

import "slices"

// End says that every epoch asked for has been published. Leases and what is published stay.
func (r *Ring) End() { r.finish(StateEnded, 0, "") }

// Fail says that the engine gave up, and why. What was published may still be taken.
func (r *Ring) Fail(status Status, text string) { r.finish(StateFailed, status, text) }

// Stop says that the engine stops in good order; Close says it too.
func (r *Ring) Stop() { r.finish(StateStopped, ErrEngineStopped, "") }

// Shut lets nobody join any more. Members are not told: until Stop this is a ring that the next engine can adopt, should this one be killed.
func (r *Ring) Shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
}

// Withdraw stops the ring, as Stop does, and leaves to the next engine what nobody has claimed: no consumer gets a batch from here on,
// also none that a dead one held, and nobody joins. What consumers hold they may complete, and Progress counts that; all else counts as
// not completed. The caller publishes nothing any more.
func (r *Ring) Withdraw() {
	r.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.withdrawn = true
	for _, i := range slices.Backward(r.ticketOrder()) { // the latest first: whoever claims one meanwhile has missed none before it
		for _, g := range r.groups {
			if g.phase == phaseActive && g.look(i) && stateOf(g.shadow[i].word) == wordReady {
				g.putAway(i, seqAway)
			}
		}
	}
}

// Held is how many batches consumers hold and have not completed.
func (r *Ring) Held() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.consumers() {
		for i := range g.shadow {
			if g.phase == phaseActive && g.look(i) && stateOf(g.shadow[i].word) == wordHeld {
				n++
			}
		}
	}
	return n
}

// finish stores the engine's last word, the text before the state, and wakes everybody.
func (r *Ring) finish(state uint32, status Status, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if now := r.state.State.Load(); now == StateFailed || now == StateStopped {
		return
	}
	if text != "" {
		n := copy(r.state.Error[:len(r.state.Error)-1], text)
		r.state.ErrorBytes = uint32(n)
	}
	r.state.Status.Store(int32(status))
	r.state.State.Store(state)
	for _, g := range r.groups {
		g.wakeMembers()
	}
}

// Close stops the ring: state STOPPED unless it failed, every waiter woken, goroutines ended, names removed, memory
// unmapped. Nobody may write to a claimed slot any more. Members keep their own mappings. Safe to call twice.
func (r *Ring) Close() error {
	r.Stop()
	_ = Fault("shutdown.drain")
	return r.end()
}

// Leave gives the ring up without ending it: its names, its words and its members stay as they are, for the next engine to
// adopt. What has no names is gone.
func (r *Ring) Leave() error {
	r.mu.Lock()
	if !r.closed {
		r.keepNames()
	}
	r.mu.Unlock()
	return r.end()
}

// keepNames has tearDown leave the files. The caller holds mu, or is alone.
func (r *Ring) keepNames() {
	for _, s := range []*segment{r.header, r.data} {
		if s != nil {
			s.path = ""
		}
	}
	for _, g := range r.groups {
		g.seg.path = ""
	}
}

// end stops the goroutines and tears down, once.
func (r *Ring) end() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		r.work.Wait()
		return nil
	}
	r.closed = true
	for _, g := range r.groups {
		g.hush()
	}
	r.mu.Unlock()
	close(r.closing)
	r.work.Wait()
	r.tearDown()
	return nil
}

// tearDown gives everything back; no goroutine of the ring runs any more.
func (r *Ring) tearDown() {
	for _, g := range r.groups {
		g.dispose()
	}
	r.groups = nil
	_ = Fault("unlink")
	r.data.close()
	r.header.close() // last: while its lock is held the name is ours
	if r.pidfd != nil {
		_ = r.pidfd.Close()
	}
}
