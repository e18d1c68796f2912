package audio

// Bounds of a Config's Speed.
const (
	MinSpeed  = 0.1
	MaxSpeed  = 10
	MaxSpeeds = 16
)

func checkSpeed(factors []float64) error {
	if n := len(factors); n > MaxSpeeds {
		return wrong("speed.factors", "got %d, want at most %d", n, MaxSpeeds)
	}
	for i, f := range factors {
		if !(f >= MinSpeed && f <= MaxSpeed) {
			return wrong("speed.factors", "got %v at %d, want %v to %v", f, i, MinSpeed, MaxSpeed)
		}
	}
	return nil
}

// spedRate is the rate that a sound is read as to play at factor times its speed: torchaudio's int(factor * orig_freq), rounded
// down.
func spedRate(rate int, factor float64) int { return int(factor * float64(rate)) }
