package audio

import "math"

// maxShown is how far from 0 a moment of a file's clock may be, in seconds.
const maxShown = 1e9

// planShown makes the window what is heard while something else of the file is on show: from one second of the file's clock up to another. What
// the sound does not have of it, before it begins or behind its end, is silence that belongs to the row.
func (w *Worker) planShown(j *job, shown [2]float64) error {
	if !(math.Abs(shown[0]) <= maxShown && math.Abs(shown[1]) <= maxShown) {
		return w.bad(j, CauseOutside, "it is to be what is heard from %gs to %gs, want seconds from -1e9 to 1e9", shown[0], shown[1])
	}
	rate := float64(j.info.Rate)
	n := int64(math.Round((shown[1] - shown[0]) * rate))
	if n < 1 {
		return w.bad(j, CauseNoFrames, "none is heard from %gs to %gs at %d Hz", shown[0], shown[1], j.info.Rate)
	}
	begin := math.Round((shown[0] - w.in.origin) * rate)
	if !(math.Abs(begin) <= 2*maxShown*rate) {
		return w.bad(j, CauseOutside, "the sound begins at %gs", w.in.origin)
	}
	j.begin = int64(begin)
	j.end = j.begin + n
	j.heard = [2]int64{n, n}
	if j.end <= 0 {
		return nil
	}
	total, err := w.in.upTo(w, j, w.lastNeeded(j, j.end))
	if err != nil {
		return err
	}
	from := max(-j.begin, 0)
	j.heard = [2]int64{from, max(from, min(j.end, total)-j.begin)}
	return nil
}
