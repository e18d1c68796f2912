//go:build spdlfault

package shm

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// fault is what SPDL_FAULT asked for.
type fault struct {
	point  string
	count  int64 // the visit at which it strikes, from 1
	action string
	delay  time.Duration
	visits atomic.Int64
}

var readFaults = sync.OnceValue(func() []*fault {
	var all []*fault
	for _, one := range strings.Split(os.Getenv("SPDL_FAULT"), ",") {
		part := strings.Split(one, ":")
		if len(part) < 3 {
			continue
		}
		f := &fault{point: part[0], action: part[2], delay: 100 * time.Millisecond}
		f.count, _ = strconv.ParseInt(part[1], 10, 64)
		if ms, ok := strings.CutPrefix(f.action, "delay"); ok {
			f.action = "delay"
			if len(part) > 3 {
				ms = part[3]
			}
			if n, err := strconv.Atoi(ms); err == nil {
				f.delay = time.Duration(n) * time.Millisecond
			}
		}
		all = append(all, f)
	}
	return all
})

// Fault strikes when SPDL_FAULT names this point and its count has come: it kills or stops this process, waits, panics,
// or returns the error that the caller shall report.
func Fault(point string) error {
	for _, f := range readFaults() {
		if f.point != point || f.visits.Add(1) != f.count {
			continue
		}
		switch f.action {
		case "kill":
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		case "stop":
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
		case "delay":
			time.Sleep(f.delay)
		case "panic":
			panic("shm: fault " + point)
		case "err":
			return fmt.Errorf("shm: fault %s", point)
		}
	}
	return nil
}
