package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// window finds each sample's part by its columns.
type window struct {
	fixed             within    // what the columns do not say
	start, lasts, end *numbered // nil: no column says it. Not both of the last two
}

// numbered is a column of numbers.
type numbered struct {
	name    string
	column  int
	integer bool
}

// windowOf is the window that a section finds in the columns; nil: it is the same part of every file.
func windowOf(m *spec.Medium, columns []spec.Column) *window {
	w := m.Window()
	if !w.InColumns() {
		return nil
	}
	return &window{within{w.Start.Seconds(), w.Duration.Seconds()}, numberedBy(w.StartColumn, columns), numberedBy(w.DurationColumn, columns), numberedBy(w.EndColumn, columns)}
}

// numberedBy finds a column, which package spec has checked to be there and a number.
func numberedBy(name string, columns []spec.Column) *numbered {
	if name == "" {
		return nil
	}
	c := slices.IndexFunc(columns, func(c spec.Column) bool { return c.Name == name })
	return &numbered{name, c, columns[c].Type == spec.TypeI64}
}

// of is a sample's part. What is no time makes the sample a bad one.
func (w *window) of(sample encoded) (of within, err error) {
	of = w.fixed
	if w.start != nil {
		if of.start = w.start.of(sample); !(of.start >= 0 && of.start <= maxSeconds) {
			return of, w.start.refuse(of.start, "seconds from 0")
		}
	}
	if w.lasts != nil {
		if of.lasts = w.lasts.of(sample); !(of.lasts > 0 && of.lasts <= maxSeconds) {
			return of, w.lasts.refuse(of.lasts, "seconds above 0")
		}
	}
	if w.end != nil {
		end := w.end.of(sample)
		if !(end > of.start && end <= maxSeconds) {
			return of, w.end.refuse(end, fmt.Sprintf("seconds above the start, %g", of.start))
		}
		of.lasts = end - of.start
	}
	return of, nil
}

// channelOf is the column by which a sound is one channel of its file; nil: none says it.
func channelOf(m *spec.Medium, columns []spec.Column) *numbered {
	if m.Audio == nil {
		return nil
	}
	return numberedBy(m.Audio.Channel, columns)
}

// channel is that of a sample. What is none makes the sample a bad one.
func (n *numbered) channel(sample encoded, to *[1]int) error {
	c := n.of(sample)
	if !(c >= 0 && c < audio.MaxChannels) {
		return &windowError{fmt.Sprintf("select: column %q: got %g, want a channel, 0 to %d", n.name, c, audio.MaxChannels-1)}
	}
	to[0] = int(c)
	return nil
}

const maxSeconds = 1e9

func (s *numbered) of(sample encoded) float64 {
	v := binary.NativeEndian.Uint64(sample.Value(s.column))
	if s.integer {
		return float64(int64(v))
	}
	return math.Float64frombits(v)
}

func (s *numbered) refuse(got float64, want string) error {
	return &windowError{fmt.Sprintf("window: column %q: got %g, want %s, up to %g", s.name, got, want, float64(maxSeconds))}
}

// windowError is a time that is none.
type windowError struct{ text string }

func (e *windowError) Error() string { return e.text }

// Cause is that of a value that is wrong.
func (e *windowError) Cause() string { return string(source.Value) }
