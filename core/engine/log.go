package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spdl/spdl/core/batch"
)

// Level is how much a Log says.
type Level int

// The levels, as SPDL_LOG names them.
const (
	Off Level = iota
	Error
	Warn
	Info
	Debug
)

var levelNames = []string{"off", "error", "warn", "info", "debug"}

// ParseLevel reads off, error, warn, info or debug.
func ParseLevel(name string) (Level, error) {
	for i, n := range levelNames {
		if n == name {
			return Level(i), nil
		}
	}
	return Info, fmt.Errorf("log level %q: want off, error, warn, info or debug", name)
}

// badLines is how many bad samples of a ring are logged one by one; after that every badEvery-th with the count.
const (
	badLines = 20
	badEvery = 1000
)

// Log writes lines of time, level, ring and text. Nil says nothing. Safe for several goroutines.
type Log struct {
	level Level
	json  bool

	mu      sync.Mutex
	out     io.Writer
	badSeen map[string]int // by ring
}

// NewLog returns a log that writes to out what is at most as fine as level.
func NewLog(out io.Writer, level Level) *Log {
	return &Log{level: level, out: out, badSeen: map[string]int{}}
}

// NewJSONLog is NewLog with each line an object of time, level, ring and text; the engine itself has no ring.
func NewJSONLog(out io.Writer, level Level) *Log {
	l := NewLog(out, level)
	l.json = true
	return l
}

// Errorf, Warnf, Infof and Debugf write a line about a ring; "" is the engine.
func (l *Log) Errorf(ring, format string, args ...any) { l.printf(Error, ring, format, args...) }

// Warnf writes at level warn.
func (l *Log) Warnf(ring, format string, args ...any) { l.printf(Warn, ring, format, args...) }

// Infof writes at level info.
func (l *Log) Infof(ring, format string, args ...any) { l.printf(Info, ring, format, args...) }

// Debugf writes at level debug.
func (l *Log) Debugf(ring, format string, args ...any) { l.printf(Debug, ring, format, args...) }

func (l *Log) printf(level Level, ring, format string, args ...any) {
	if l == nil || level > l.level {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(level, ring, fmt.Sprintf(format, args...))
}

func (l *Log) write(level Level, ring, text string) {
	if l.json {
		_ = json.NewEncoder(l.out).Encode(struct { // a log nobody can write to has nowhere to say so
			Time  string `json:"time"`
			Level string `json:"level"`
			Ring  string `json:"ring,omitempty"`
			Text  string `json:"text"`
		}{time.Now().Format(time.RFC3339Nano), levelNames[level], ring, text})
		return
	}
	if ring == "" {
		ring = "engine"
	}
	fmt.Fprintf(l.out, "%s %-5s %s: %s\n", time.Now().Format("15:04:05.000"), levelNames[level], ring, text)
}

// bad says which sample was bad, up to a limit.
func (l *Log) bad(ring string, b *batch.Bad) {
	if l == nil || l.level < Warn {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.badSeen[ring]++
	switch n := l.badSeen[ring]; {
	case n <= badLines:
		l.write(Warn, ring, fmt.Sprintf("bad sample, %s: %v", b.Cause, b.Err))
		if n == badLines {
			l.write(Warn, ring, fmt.Sprintf("%d bad samples; from here on every %dth is named", n, badEvery))
		}
	case n%badEvery == 0:
		l.write(Warn, ring, fmt.Sprintf("%d bad samples so far; this one, %s: %v", n, b.Cause, b.Err))
	}
}
