package pipeline

// waits are those who wait for one thing of a queue, and how long they and those before them did. The queue's mu guards
// all but times.
type waits struct {
	n        int   // who wait now
	sinceNs  int64 // the sum of when they began
	lapsedNs int64 // waits that were given up since one ended
	times    histogram
}

// begin notes one who begins to wait; end or giveUp gets what it returns.
func (w *waits) begin() (startNs int64) {
	startNs = stamp()
	w.n++
	w.sinceNs += startNs
	return startNs
}

// end notes a wait that brought what it was for. What was given up before was a part of it: who waits in slices waits once.
func (w *waits) end(startNs int64) {
	w.giveUp(startNs)
	w.none()
}

// giveUp notes a wait that ended with nothing.
func (w *waits) giveUp(startNs int64) {
	w.lapsedNs += stamp() - startNs
	w.n--
	w.sinceNs -= startNs
}

// none notes who need not wait, or not any longer.
func (w *waits) none() {
	w.times.record(w.lapsedNs)
	w.lapsedNs = 0
}

// sumNs is all the time waited, that of those who still wait included. It never falls.
func (w *waits) sumNs() int64 {
	return w.times.sumNs.Load() + w.lapsedNs + int64(w.n)*stamp() - w.sinceNs
}
