package engine

import (
	"bytes"
	"io"
	"time"
)

// lineWait is how long one waits for who takes a log: a pipe is full whose reader is stopped, as a terminal after Ctrl-S.
const lineWait = time.Second

// Unhurried writes lines to what may block, and never blocks for longer than lineWait. One goroutine at a time may use it.
type Unhurried struct {
	To      io.Writer
	pending chan struct{} // closed when the line is written that was not waited for; nil: there is none
}

// Write writes a line, which may go on when it has returned. It is false for one that was left out, as one before is not written yet.
func (u *Unhurried) Write(line []byte) bool {
	if u.pending != nil {
		select {
		case <-u.pending:
			u.pending = nil
		default:
			return false
		}
	}
	own, done := bytes.Clone(line), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = u.To.Write(own) // a log nobody can write to has nowhere to say so
	}()
	late := time.NewTimer(lineWait)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		u.pending = done
	}
	return true
}
