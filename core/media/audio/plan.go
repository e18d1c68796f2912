package audio

/*
#include "kernels.h"
*/
import "C"

import (
	"errors"
	"fmt"
)

// job is what one sample asks for, once its header is known.
type job struct {
	info     Info
	take     []int // the stored channels that are fetched
	mean     bool  // of them
	channels int   // of the row
	from     int   // the rate that the sound is read as: the stored one, or what its speed makes of it
	rate     int   // of the row
	bank     *bank // nil: no sinc resampling
	whole    bool  // resampled by a library, as a whole
	begin    int64 // of the window, as stored
	end      int64
	told     int64    // where the file says that the window ends, though decoding stopped before; 0: it does not
	heard    [2]int64 // frames of the window that the sound has; what is beside them is silence
	first, n int64    // frames of the row, at its rate, after the window's begin
	lo, hi   int64    // as stored, after the window's begin: what these are made of; what the window does not have is zero
}

// plan opens the source and decides what of it becomes the row.
func (w *Worker) plan(src Source, draw Draw) (job, error) {
	j := job{}
	if err := w.in.open(w, src, &j.info); err != nil {
		return j, err
	}
	window := w.op.cfg.Window
	if src.Window != (Window{}) {
		if err := src.Window.check(); err != nil {
			return j, fmt.Errorf("audio: %w", err)
		}
		window = src.Window
	}
	if src.Shown != nil && w.op.cfg.Filter != "" {
		return j, errors.New("audio: shown: what comes out of filters is on no clock; leave the filter out")
	}
	if w.op.cfg.Filter != "" {
		if err := w.filter(&j, window); err != nil {
			return j, err
		}
		window = Window{} // nothing else went through the filter
	}
	if err := w.planChannels(&j, src.Select); err != nil {
		return j, err
	}
	if err := w.planRate(&j, draw); err != nil {
		return j, err
	}
	if err := w.planPart(&j, window, src.Shown); err != nil {
		return j, err
	}
	if err := w.planCrop(&j, draw); err != nil {
		return j, err
	}
	return j, w.planReads(&j)
}

// filter makes the sample what the filters make of its window.
func (w *Worker) filter(j *job, window Window) error {
	begin, end := window.frames(j.info.Rate)
	total, err := w.in.other.filter(w, j, begin, end)
	switch {
	case err != nil:
		return err
	case begin >= total:
		return w.bad(j, CauseOutside, "it begins at frame %d of %d", begin, total)
	case j.info.Frames == 0:
		return w.bad(j, CauseNoFrames, "none comes out of audio.filter")
	case j.info.Rate > MaxRate:
		return w.bad(j, CauseUnsupported, "audio.filter gives %d Hz, want at most %d", j.info.Rate, MaxRate)
	}
	return nil
}

func (w *Worker) bad(j *job, cause, format string, args ...any) error {
	return &Error{Format: j.info.Format, cause: cause, Detail: fmt.Sprintf(format, args...)}
}

// planChannels chooses those of the sample, or else those of the Config.
func (w *Worker) planChannels(j *job, sample []int) error {
	j.take = append(w.in.take[:0], sample...)
	if len(j.take) == 0 {
		j.take = append(j.take, w.op.cfg.Select...)
	}
	if len(j.take) == 0 {
		for c := range j.info.Channels {
			j.take = append(j.take, c)
		}
	}
	w.in.take = j.take
	for _, c := range j.take {
		if c >= j.info.Channels {
			return w.bad(j, CauseUnsupported, "channel %d of %d; audio.select takes those that are there", c, j.info.Channels)
		}
	}
	have, want := len(j.take), w.op.channels
	j.channels = want
	switch {
	case want == 0:
		j.channels = have
	case want == have || have == 1:
	case want == 1 && have == 2 && j.take[0] != j.take[1] && w.in.reading >= asMP3:
		j.take = append(j.take[:0], meanOfChannels)
	case want == 1:
		j.mean = true
	default:
		return w.bad(j, CauseUnsupported, "%d channels do not become %d; take %d of them with audio.select, or audio.channels: 1", have, want, want)
	}
	return nil
}

func (w *Worker) planRate(j *job, draw Draw) error {
	cfg := &w.op.cfg
	j.from, j.rate = j.info.Rate, cfg.Rate
	if j.rate == 0 {
		j.rate = j.info.Rate
	}
	if len(cfg.Speed) > 0 {
		factor := cfg.Speed[int(draw.uniform(drawSpeed)*float64(len(cfg.Speed)))]
		if j.from = spedRate(j.info.Rate, factor); j.from < 1 {
			return w.bad(j, CauseUnsupported, "%d Hz at %v times the speed are less than one", j.info.Rate, factor)
		}
	}
	if j.from == j.rate {
		return nil
	}
	if cfg.Resample.Method.ofWhole() {
		j.whole = true
		return nil
	}
	var err error
	if j.bank, err = w.op.banks.get(bankOf{j.from, j.from != j.info.Rate || cfg.Resample.Doubles}, j.rate, cfg.Resample); err != nil {
		return w.bad(j, CauseUnsupported, "resampling %v", err)
	}
	return nil
}

func (w *Worker) planPart(j *job, window Window, shown *[2]float64) error {
	if shown != nil {
		return w.planShown(j, *shown)
	}
	return w.planWindow(j, window)
}

// planWindow cuts the window to the signal, which FFmpeg's formats decode for that.
func (w *Worker) planWindow(j *job, window Window) error {
	var end int64
	j.begin, end = window.frames(j.info.Rate)
	if end >= 0 && end <= j.begin {
		return w.bad(j, CauseNoFrames, "the window of %v seconds holds none at %d Hz", window.Duration, j.info.Rate)
	}
	total, err := w.in.upTo(w, j, w.lastNeeded(j, end))
	if err != nil {
		return err
	}
	if j.begin >= total {
		return w.bad(j, CauseOutside, "it begins at frame %d of %d", j.begin, total)
	}
	j.end, j.told = total, j.info.Frames
	if end >= 0 {
		j.end, j.told = min(end, total), min(end, j.told)
	}
	j.heard[1] = j.end - j.begin
	return nil
}

// lastNeeded is the frame, as stored, behind the last one that can matter; -1 for the end of the signal.
func (w *Worker) lastNeeded(j *job, end int64) int64 {
	cfg := &w.op.cfg
	if cfg.Crop != CropStart && cfg.Crop != CropRefuse || cfg.Length == 0 || j.whole {
		return end
	}
	need := int64(cfg.Length)
	if cfg.Crop == CropRefuse {
		need++ // which is one too many
	}
	if b := j.bank; b != nil {
		need = (need/int64(b.phases)+1)*int64(b.step) + int64(b.taps)
	}
	if end < 0 || j.begin+need < end {
		return max(j.begin+need, 0)
	}
	return end
}

// outFrames is the length at the row's rate of so many frames as stored.
func (w *Worker) outFrames(j *job, n int64) int64 {
	switch {
	case j.bank != nil:
		return j.bank.out(n)
	case j.whole && w.op.cfg.Resample.Method == SoxrHQ:
		return soxrFrames(n, j.from, j.rate)
	case j.whole:
		return (n*int64(j.rate) + int64(j.from) - 1) / int64(j.from)
	}
	return n
}

func (w *Worker) planCrop(j *job, draw Draw) error {
	cfg := &w.op.cfg
	j.n = w.outFrames(j, j.end-j.begin)
	surplus := j.n - int64(cfg.Length)
	if cfg.Length == 0 || surplus <= 0 {
		return nil
	}
	j.n = int64(cfg.Length)
	switch cfg.Crop {
	case CropRefuse:
		least := ""
		if j.info.Frames < 0 {
			least = " or more" // decoding stopped there
		}
		got := w.outFrames(j, max(j.told, j.end)-j.begin)
		return w.bad(j, CauseTooLarge, "got %d%s at %d Hz, the row holds %d; raise audio.length, or set audio.crop", got, least, j.rate, cfg.Length)
	case CropCentre:
		j.first = surplus / 2
	case CropRandom:
		j.first = int64(draw.uniform(drawCrop) * float64(surplus+1))
	}
	j.info.Start = j.first
	return nil
}

// planReads says what is read for the row. More than the limit is refused before there is memory for it.
func (w *Worker) planReads(j *job) error {
	j.lo, j.hi = j.first, j.first+j.n
	if b := j.bank; b != nil {
		j.lo, j.hi = b.reads(j.first, j.n)
	} else if j.whole {
		j.lo, j.hi = 0, j.end-j.begin
	}
	from := max(j.lo, 0)
	if w.in.reading == asOpus {
		from = 0 // which is decoded, too
	}
	if min(j.hi, j.end-j.begin)-from > w.limit(j) {
		return w.tooManyFrames(j)
	}
	return nil
}

// limit is how many frames of the channels taken may be in memory.
func (w *Worker) limit(j *job) int64 { return w.op.cfg.MaxFrames * 2 / int64(max(2, len(j.take))) }

func (w *Worker) tooManyFrames(j *job) error {
	return w.bad(j, CauseTooLarge, "more than %d of %d channels; raise audio.max_frames or set audio.window", w.limit(j), len(j.take))
}
