package source

import (
	"context"
	"sync"
	"sync/atomic"
)

// inOrder calls do for 0 to n-1, several at a time, and take for each that went well, in order and one at a time. An error ends it: that of the lowest
// number that has one, whichever came first. Then stop, which ends ctx, is called. When it returns no call is running.
func inOrder(ctx context.Context, stop func(), workers, n int, do, take func(k int) error) (err error) {
	var next atomic.Int64
	done := make([]chan error, n)
	for k := range done {
		done[k] = make(chan error, 1)
	}
	var all sync.WaitGroup
	defer func() {
		if err != nil {
			stop()
		}
		all.Wait()
	}()
	for range min(workers, n) {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				err := ctx.Err()
				if err == nil {
					err = do(k)
				}
				if err != nil {
					next.Store(int64(n)) // those before k go on: one of them may have an error, too
				}
				done[k] <- err
			}
		}()
	}
	for k := range n {
		err := <-done[k]
		if err == nil {
			err = take(k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
