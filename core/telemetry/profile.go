package telemetry

import (
	"fmt"
	"strconv"
)

// StageSpeed is a stage that ran alone, with so many workers and whatever it needs ready in memory.
type StageSpeed struct {
	Stage     string  `json:"stage"`
	Workers   int     `json:"workers"`
	Samples   int64   `json:"samples"`
	Failures  int64   `json:"failures"`
	Seconds   float64 `json:"seconds"`
	PerS      float64 `json:"samples_per_s"`
	BytesPerS float64 `json:"bytes_per_s"` // encoded
	CPUs      float64 `json:"cpus"`        // that it used
	// Efficiency is the rate over Workers times that of one worker: 1 where each worker adds what the first one brings; 0:
	// the stage was not run with one.
	Efficiency float64 `json:"efficiency"`
	// Whole says that the stage did not run alone: the rate is what its one worker did in the whole ring, per second inside
	// its ops.
	Whole bool `json:"whole,omitempty"`
}

// Rate fills in the efficiencies.
func Rate(all []StageSpeed) {
	one := map[string]float64{}
	for _, s := range all {
		if s.Workers == 1 {
			one[s.Stage] = s.PerS
		}
	}
	for i := range all {
		if s := &all[i]; one[s.Stage] > 0 {
			s.Efficiency = s.PerS / (float64(s.Workers) * one[s.Stage])
		}
	}
}

// InTheWhole is how fast those stages of a ring with one worker are that cannot run alone, for they need the rest of it: those
// behind decode.
func InTheWhole(r *Ring) (all []StageSpeed) {
	behind := false
	for i := range r.Stages {
		s := &r.Stages[i]
		if behind && s.Op.SumNs > 0 {
			seconds := float64(s.Op.SumNs) / 1e9
			all = append(all, StageSpeed{Stage: s.Name, Workers: 1, Samples: int64(r.Rows), Seconds: seconds, PerS: float64(r.Rows) / seconds, Whole: true})
		}
		behind = behind || s.Name == "decode"
	}
	return all
}

// enough is the share of the best rate that a smaller number of workers must reach to be preferred.
const enough = 0.95

// Best is, for each stage in the order they come, the fewest workers that reach about its best rate.
func Best(all []StageSpeed) (best []StageSpeed) {
	most := map[string]float64{}
	var order []string
	for _, s := range all {
		if _, seen := most[s.Stage]; !seen {
			order = append(order, s.Stage)
		}
		most[s.Stage] = max(most[s.Stage], s.PerS)
	}
	for _, stage := range order {
		var least *StageSpeed
		for i := range all {
			if s := &all[i]; s.Stage == stage && s.PerS >= enough*most[stage] && (least == nil || s.Workers < least.Workers) {
				least = s
			}
		}
		best = append(best, *least)
	}
	return best
}

// ProfileVerdict says which stage is the slowest at its best, and what the others could do.
func ProfileVerdict(all []StageSpeed) string {
	best := Best(all)
	if len(best) == 0 {
		return "nothing was measured"
	}
	slow := best[0]
	for _, s := range best {
		if s.PerS < slow.PerS {
			slow = s
		}
	}
	plural := "s"
	if slow.Workers == 1 {
		plural = ""
	}
	text := fmt.Sprintf("%s is the limit: %s samples/s with %d worker%s", slow.Stage, PerSecond(slow.PerS), slow.Workers, plural)
	for _, s := range best {
		if s.Stage != slow.Stage && !s.Whole {
			text += fmt.Sprintf("; %s alone does %s with %d", s.Stage, PerSecond(s.PerS), s.Workers)
		}
	}
	return text
}

// PerSecond is so many a second: of few, such as of long films, two digits, as nothing that goes on is 0.
func PerSecond(perS float64) string {
	if perS < 10 {
		return strconv.FormatFloat(perS, 'g', 2, 64)
	}
	return strconv.FormatFloat(perS, 'f', 0, 64)
}
