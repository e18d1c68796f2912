package shm

// MaxNote is how many bytes a note may have.
const MaxNote = 64 << 10

// SetNote keeps a few bytes of the producer's own for the engine that adopts the ring. There are two places, and one word says
// which counts: an engine killed in here leaves the old note or the new one. Rings without names keep none.
func (r *Ring) SetNote(b []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.geo.noteBytes == 0:
		return nil
	case uint64(len(b)) > r.geo.noteBytes:
		return refuse(ErrArgument, "shm: ring %q: note of %d bytes, want at most %d", r.cfg.label(), len(b), r.geo.noteBytes)
	}
	which := 1 - r.state.Note.Load()&1
	copy(r.header.mem[r.geo.noteOff+which*r.geo.noteBytes:], b)
	r.state.Note.Store(uint64(len(b))<<1 | which)
	return nil
}

// Note is what SetNote kept last, by this engine or by the one before.
func (r *Ring) Note() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.geo.noteBytes == 0 {
		return nil
	}
	note := r.state.Note.Load()
	from := r.geo.noteOff + note&1*r.geo.noteBytes
	return append([]byte(nil), r.header.mem[from:from+min(note>>1, r.geo.noteBytes)]...)
}
