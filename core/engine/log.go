package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spelling"
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

// oftenLines is how many lines of a kind a ring writes one by one; after that every oftenEvery-th, with the count. Level debug writes all.
const (
	oftenLines = 20
	oftenEvery = 1000
)

// Log writes lines of time, level, ring and text. Nil says nothing. Safe for several goroutines. It holds nobody up: lines that are not taken
// are left out, and counted once others are.
type Log struct {
	level Level
	json  bool

	mu   sync.Mutex
	out  Unhurried
	lost int               // lines left out since one was taken
	seen map[[2]string]int // by ring and kind
}

// NewLog returns a log that writes to out what is at most as fine as level.
func NewLog(out io.Writer, level Level) *Log {
	return &Log{level: level, out: Unhurried{To: out}, seen: map[[2]string]int{}}
}

// NewJSONLog is NewLog with each line an object of time, level, ring and text; the engine itself has no ring.
func NewJSONLog(out io.Writer, level Level) *Log {
	l := NewLog(out, level)
	l.json = true
	return l
}

// Errorf writes a line at level error about a ring; "" is the engine.
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

// jsonEscapes are the runes that JSON writes as escapes.
var jsonEscapes = func() string {
	all := make([]rune, ' ')
	for r := range all {
		all[r] = rune(r)
	}
	return string(all)
}()

// write is where every line is written.
func (l *Log) write(level Level, ring, text string) {
	if l.lost > 0 && l.out.Write(l.line(Warn, "", fmt.Sprintf("%d lines were left out here, as nobody took them: whatever reads this log was stopped, or is too slow", l.lost))) {
		l.lost = 0
	}
	if !l.out.Write(l.line(level, ring, text)) {
		l.lost++
	}
}

func (l *Log) line(level Level, ring, text string) []byte {
	if l.json {
		var b bytes.Buffer
		_ = json.NewEncoder(&b).Encode(struct { // texts alone, which always encode
			Time  string `json:"time"`
			Level string `json:"level"`
			Ring  string `json:"ring,omitempty"`
			Text  string `json:"text"`
		}{time.Now().Format(time.RFC3339Nano), levelNames[level], ring, spelling.InLine(text, jsonEscapes)})
		return b.Bytes()
	}
	if ring == "" {
		ring = "engine"
	}
	return fmt.Appendf(nil, "%s %-5s %s: %s\n", time.Now().Format("15:04:05.000"), levelNames[level], ring, spelling.InLine(text, ""))
}

// oftenf writes at level warn what may come again and again, as one of many of its kind: "bad samples".
func (l *Log) oftenf(ring, many, format string, args ...any) {
	if l == nil || l.level < Warn {
		return
	}
	text := fmt.Sprintf(format, args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := [2]string{ring, many}
	l.seen[kind]++
	switch n := l.seen[kind]; {
	case n <= oftenLines || l.level >= Debug:
		l.write(Warn, ring, text)
		if n == oftenLines && l.level < Debug {
			l.write(Warn, ring, fmt.Sprintf("%d %s; from here on every %dth is named", n, many, oftenEvery))
		}
	case n%oftenEvery == 0:
		l.write(Warn, ring, fmt.Sprintf("%d %s so far; this one: %s", n, many, text))
	}
}

// bad says which sample was bad, up to a limit.
func (l *Log) bad(ring string, b *batch.Bad) {
	l.oftenf(ring, "bad samples", "bad sample, %s: %v", b.Cause, b.Err)
}
