package engine

import "github.com/spdl/spdl/core/spec"

// clip says that a part is a sound: what is heard while the row's frames of another part are on show, of several clips of each.
type clip struct {
	of     int     // that part
	begins float64 // seconds behind the begin of the earliest frame
	lasts  float64 // seconds; 0: up to the end of the latest frame
}

// clipOf is what a medium's description says of that; nil: its own window says what it is. of: the video, as spec.ClipOf has it.
func clipOf(m *spec.Medium, of int) *clip {
	if of < 0 {
		return nil
	}
	w := m.Window()
	return &clip{of, w.Start.Seconds(), w.Duration.Seconds()}
}

// appendHeard appends from which second up to which the sound of each clip is wanted, of its frames' time on show.
func (c *clip) appendHeard(to, shown [][2]float64) [][2]float64 {
	for _, s := range shown {
		from, end := s[0]+c.begins, s[1]
		if c.lasts > 0 {
			end = from + c.lasts
		}
		to = append(to, [2]float64{from, end})
	}
	return to
}

// turns are the parts in the order in which they are decoded: those that go with another behind it.
func (s *samples) turns() []int {
	var first, behind []int
	for k := range s.parts {
		if s.parts[k].clip == nil {
			first = append(first, k)
		} else {
			behind = append(behind, k)
		}
	}
	return append(first, behind...)
}
