package spec

import "fmt"

const (
	minSpeed  = 0.1
	maxSpeed  = 10
	maxSpeeds = 16
)

// effects reads what changes a waveform.
func (d *decoder) effects(s *section, a *Audio) {
	if s.has("speed") {
		sec := d.below(s, "speed")
		a.Speed = d.speeds(&sec)
		if d.err == nil && a.Speed == nil {
			s.fail("speed", "factors is missing, want the speeds of which each sample draws one, such as factors: [0.9, 1.0, 1.1]")
		}
	}
}

func (d *decoder) speeds(s *section) (all []float64) {
	items := s.items("factors", "a list of speeds such as [0.9, 1.0, 1.1]", maxSpeeds)
	for i, n := range items {
		f, _ := d.number(n, fmt.Sprintf("%s[%d]", join(s.shown, "factors"), i), minSpeed, maxSpeed)
		all = append(all, f)
	}
	return all
}

// random reports whether rows are drawn by chance.
func (a *Audio) random() bool { return a.Crop == Random || len(a.Speed) > 1 }
