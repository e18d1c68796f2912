package web

import (
	"time"

	"github.com/spdl/spdl/core/telemetry"
	"golang.org/x/sys/unix"
)

// age is how long ago a snapshot was taken, on the clock that snapshots carry.
func age(s *telemetry.Snapshot) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return time.Hour
	}
	return time.Duration(t.Nano() - s.AtNs)
}
