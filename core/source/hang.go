package source

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Progress is what an opening tells of its steps to whoever waits for it, so that one that takes long is told from one that hangs. Nil is
// nobody. Any number of goroutines may use it.
type Progress struct {
	steps   atomic.Int64
	working atomic.Bool
}

// Step says that the file system has answered, and is asked something else.
func (p *Progress) Step() {
	if p != nil {
		p.working.Store(false)
		p.steps.Add(1)
	}
}

// Work says that what comes before the next step asks the file system nothing, and may take its time.
func (p *Progress) Work() {
	if p != nil {
		p.working.Store(true)
	}
}

// Within opens a source of files, and gives up when the file system has not answered for a timeout: nothing ends a call that the kernel
// waits in. Between two answers there may be up to twice as much. The goroutine that hangs is left behind, also when ctx ends; if it ever
// returns, it closes what it opened.
func Within(ctx context.Context, timeout time.Duration, open func(p *Progress) (Source, error)) (Source, error) {
	look := time.NewTicker(timeout)
	defer look.Stop()
	return within(ctx, look.C, timeout, open)
}

// within is Within with the looks of somebody else.
func within(ctx context.Context, looks <-chan time.Time, timeout time.Duration, open func(p *Progress) (Source, error)) (Source, error) {
	type result struct {
		s   Source
		err error
	}
	p, done, left := &Progress{}, make(chan result), make(chan struct{})
	defer close(left)
	go func() {
		s, err := open(p)
		select {
		case done <- result{s, err}:
		case <-left:
			if err == nil {
				_ = s.Close() // nobody is left to be told
			}
		}
	}()
	for last := int64(-1); ; {
		select {
		case r := <-done:
			return r.s, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-looks:
			now := p.steps.Load()
			if now == last && !p.working.Load() {
				return nil, fmt.Errorf("source: the file system hangs: it has not answered for %v while the samples were looked for; see to its server, or raise source.local_timeout", timeout)
			}
			last = now
		}
	}
}

// stepping is an archive or file whose every read is a step.
type stepping struct {
	io.ReaderAt
	p *Progress
}

func (s stepping) ReadAt(b []byte, off int64) (int, error) {
	s.p.Step()
	return s.ReaderAt.ReadAt(b, off)
}
