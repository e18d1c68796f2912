package verbs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spdl/spdl/core/telemetry"
	"golang.org/x/sys/unix"
)

// thousands writes 1234567 as 1,234,567.
func thousands[T int | uint32 | int64 | uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rate is so many a second.
func rate(perS float64) string {
	if perS < 10 {
		return telemetry.PerSecond(perS)
	}
	return thousands(int64(perS + 0.5))
}

// counted is so many of a thing: "1 batch", "2,000 samples".
func counted[T int | uint32 | int64 | uint64](n T, thing string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(thing, "s"), strings.HasSuffix(thing, "tch"):
		thing += "es"
	default:
		thing += "s"
	}
	return thousands(n) + " " + thing
}

// printable is a name of a file or a program as a terminal may show it: what is no letter, mark or blank is written as
// in Go's strings.
func printable(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// areIs is the verb that goes with so many.
func areIs(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// bytesText writes a size the way people read it.
func bytesText[T int64 | uint64](n T) string {
	f := float64(n)
	switch {
	case f >= 1<<30:
		return fmt.Sprintf("%.1f GiB", f/(1<<30))
	case f >= 1<<20:
		return fmt.Sprintf("%.1f MiB", f/(1<<20))
	case f >= 1<<10:
		return fmt.Sprintf("%.1f KiB", f/(1<<10))
	}
	return fmt.Sprintf("%d B", int64(n))
}

// bootTime is the time since the machine was started.
func bootTime() (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
