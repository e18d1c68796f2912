package verbs

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"

	"github.com/spdl/spdl/shm"
)

// Measures of a sound's strip, in pixels.
const (
	waveWidth  = 640
	waveHeight = 72 // of one channel
	waveShown  = 2  // channels at most
)

// wave draws sounds: a waveform a channel, or features as shades.
type wave struct {
	rowsIn
	dtype                string
	value                func(b []byte) float64
	channels, bins       int // bins 0: waveforms
	room                 int // steps that a row has room for
	channelStep, binStep int // elements
	stepStep             int // from one step to the next
}

func waveOf(schema []shm.TensorRecord, tensor, length int, f *facts, told *audioFacts) (*wave, error) {
	t := &schema[tensor]
	w := &wave{rowsIn: rowsInTensor(schema, tensor, length), dtype: dtypeText(t), channels: max(told.Channels, 1)}
	if w.value = valueOf(w.dtype); w.value == nil {
		return nil, fmt.Errorf("view: field %q is %s, want i16, f16, bf16 or f32", nameText(t.Name[:]), w.dtype)
	}
	step := f.Ragged[nameText(t.Name[:])] // what one step holds: [C], [bins] or [C, bins]; a ragged field has time first
	first := true
	if !w.ragged {
		first = told.Layout == "NLC"
		dims := ints(t.Shape[1:t.Ndim])
		if w.parts > 1 && len(dims) > 0 { // the sounds of several clips, of which the first is drawn
			dims = dims[1:]
		}
		if len(dims) == 0 {
			return nil, fmt.Errorf("view: field %q: the ring does not tell how its samples lie", nameText(t.Name[:]))
		}
		if w.room, step = dims[len(dims)-1], dims[:len(dims)-1]; first {
			w.room, step = dims[0], dims[1:]
		}
	}
	if told.Features != nil && len(step) > 0 {
		w.bins = step[len(step)-1]
	}
	inner := 1 // elements between bins, or between channels where there are none
	if !first {
		inner = w.room
	}
	w.binStep, w.channelStep = inner, inner*max(w.bins, 1)
	if w.stepStep = 1; first {
		w.stepStep = w.channels * max(w.bins, 1)
	}
	return w, nil
}

func (w *wave) about() string {
	if w.bins > 0 {
		return fmt.Sprintf("features of %d bins, %s", w.bins, w.dtype)
	}
	return fmt.Sprintf("waveforms of %s, %s", counted(w.channels, "channel"), w.dtype)
}

func (w *wave) paint(l tensors, row int) *image.RGBA {
	data, steps, ok := w.row(l, row)
	last := (steps-1)*w.stepStep + (w.channels-1)*w.channelStep + max(w.bins-1, 0)*w.binStep
	if !ok || steps > 0 && (last+1)*w.item > len(data) {
		return nil
	}
	shown := min(w.channels, waveShown)
	strip := image.NewRGBA(image.Rect(0, 0, waveWidth, shown*waveHeight))
	draw.Draw(strip, strip.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	for c := range shown {
		part := strip.SubImage(image.Rect(0, c*waveHeight, waveWidth, (c+1)*waveHeight)).(*image.RGBA)
		at := func(step, bin int) float64 {
			return w.value(data[(step*w.stepStep+c*w.channelStep+bin*w.binStep)*w.item:])
		}
		if w.bins > 0 {
			w.shades(part, steps, at)
		} else {
			waveform(part, steps, at)
		}
	}
	return strip
}

// waveform draws the range of the values that fall on each column of pixels; -1 to 1 is the height.
func waveform(m *image.RGBA, steps int, at func(step, bin int) float64) {
	b := m.Bounds()
	middle, half := float64(b.Min.Y+b.Max.Y)/2, float64(b.Dy())/2
	y := func(v float64) int { return int(middle - max(-1, min(v, 1))*(half-1)) }
	for x := range b.Dx() {
		low, high := math.Inf(1), math.Inf(-1)
		for i := x * steps / b.Dx(); i < max((x+1)*steps/b.Dx(), x*steps/b.Dx()+1) && i < steps; i++ {
			low, high = min(low, at(i, 0)), max(high, at(i, 0))
		}
		if low > high { // also of what is not a number
			low, high = 0, 0
		}
		for row := y(high); row <= y(low); row++ {
			m.SetRGBA(b.Min.X+x, row, ink)
		}
	}
}

// shades draws the bins from the lowest, at the bottom, each value between paper, for the row's smallest, and ink.
func (w *wave) shades(m *image.RGBA, steps int, at func(step, bin int) float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range steps {
		for k := range w.bins {
			low, high = min(low, at(i, k)), max(high, at(i, k))
		}
	}
	b := m.Bounds()
	for x := range b.Dx() * min(steps, 1) {
		for y := range b.Dy() {
			share := (at(x*steps/b.Dx(), (b.Dy()-1-y)*w.bins/b.Dy()) - low) / (high - low)
			if !(share >= 0) {
				share = 0
			}
			mix := func(from, to uint8) uint8 { return uint8(float64(from) + share*(float64(to)-float64(from))) }
			m.SetRGBA(b.Min.X+x, b.Min.Y+y, color.RGBA{mix(paper.R, ink.R), mix(paper.G, ink.G), mix(paper.B, ink.B), 255})
		}
	}
}
