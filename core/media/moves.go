package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"
)

// Move is one of the moves by which a picture's points come to its row: where it takes them, in pixels of which number i reaches from i to
// i + 1, and how large what they are in is then. Beyond that there is nothing.
type Move struct {
	Map     [9]float64 // homogeneous, by lines
	Size    Size
	Centres bool // a crop of which a box counts as there only with its centre
}

// Moves appends to dst the moves of the last row, from the picture as it is seen on; false: an elastic map was drawn, which nobody can tell.
func (w *Worker) Moves(dst []Move) ([]Move, bool) {
	c := C.media_ctx_moves(w.c)
	if c == nil {
		return dst, false
	}
	for i := range c.all[:c.n] {
		m := &c.all[i]
		dst = append(dst, Move{*(*[9]float64)(unsafe.Pointer(&m._map)), Size{int(m.h), int(m.w)}, m.centres != 0})
	}
	return dst, true
}

// Point is where a move takes one.
func (m *Move) Point(x, y float64) (float64, float64) {
	a := &m.Map
	z := max(a[6]*x+a[7]*y+a[8], 1e-9) // what is behind whoever looks on is far outside
	return (a[0]*x + a[1]*y + a[2]) / z, (a[3]*x + a[4]*y + a[5]) / z
}

// Rect is a box by its left, top, right and bottom edge.
type Rect [4]float64

// Area is that of the box.
func (r *Rect) Area() float64 { return (r[2] - r[0]) * (r[3] - r[1]) }

// Follow takes a box along with the moves: around its four corners each time, and then cut at the edges. share is how much of its area was
// never cut away; false: a crop has left its centre out.
func (r *Rect) Follow(moves []Move) (share float64, there bool) {
	share = 1
	for i := range moves {
		m := &moves[i]
		r.around(m)
		w, h := float64(m.Size.W), float64(m.Size.H)
		if x, y := (r[0]+r[2])/2, (r[1]+r[3])/2; m.Centres && !(x > 0 && x < w && y > 0 && y < h) {
			return 0, false
		}
		whole := r.Area()
		*r = Rect{within(r[0], w), within(r[1], h), within(r[2], w), within(r[3], h)}
		if whole > 0 {
			share *= r.Area() / whole
		}
	}
	return share, true
}

func within(v, side float64) float64 { return min(max(v, 0), side) }

// around makes it the least box around what a move makes of it.
func (r *Rect) around(m *Move) {
	to := Rect{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for corner := range 4 {
		x, y := m.Point(r[corner&1*2], r[corner&2+1])
		to = Rect{min(to[0], x), min(to[1], y), max(to[2], x), max(to[3], y)}
	}
	*r = to
}

// IoUCrop is torchvision's RandomIoUCrop, ahead of the geometry or between a resize and a crop: of Options one is drawn, and then up to Trials parts of
// the picture, whose sides are shares of its own from Scale and whose width / height lies in Ratio. The first is taken that has the centre of
// a box (Worker.Boxes), and overlaps with one of these by at least the option: what both have, by what either has. Where there is none
// another option is drawn. An option of 1 or more leaves the picture as it is.
type IoUCrop struct {
	Scale, Ratio [2]float64
	Options      []float64 // 1 to MaxOptions
	Trials       int       // 1 to MaxTrials
}

// Limits of IoUCrop.
const (
	MaxOptions = C.MEDIA_MAX_OPTIONS
	MaxTrials  = 1000
)

func (c *IoUCrop) kind() C.uint32_t { return C.MEDIA_DO_IOU_CROP }

func (c *IoUCrop) check(in place) error {
	if !in.early {
		return fmt.Errorf("IoU crop: got one of a row, whose size is fixed, want it ahead or resized")
	}
	if err := ordered("IoU crop: scale", c.Scale, 1e-3, 1); err != nil {
		return err
	}
	if err := ordered("IoU crop: ratio", c.Ratio, 1e-3, 1e3); err != nil {
		return err
	}
	if n := len(c.Options); n < 1 || n > MaxOptions || c.Trials < 1 || c.Trials > MaxTrials {
		return fmt.Errorf("IoU crop: got %d options and %d trials, want 1 to %d and 1 to %d", n, c.Trials, MaxOptions, MaxTrials)
	}
	for _, o := range c.Options {
		if !(o >= 0) {
			return fmt.Errorf("IoU crop: got option %v, want 0 or more", o)
		}
	}
	return nil
}

func (c *IoUCrop) fill(to *C.media_step) {
	of := own[C.media_iou_crop_step](to)
	*of = C.media_iou_crop_step{scale: cRange(c.Scale), ratio: cRange(c.Ratio), trials: C.uint32_t(c.Trials), n_options: C.uint32_t(len(c.Options))}
	for i, o := range c.Options[:min(len(c.Options), MaxOptions)] {
		of.options[i] = C.double(o)
	}
}

// Boxes says what is in the picture of the next row, in pixels or as shares of its sides, which an IoUCrop goes by.
func (w *Worker) Boxes(all []Rect, shares bool) error {
	of := C.int(0)
	if shares {
		of = 1
	}
	if C.media_ctx_boxes(w.c, (*C.double)(unsafe.Pointer(unsafe.SliceData(all))), C.int32_t(len(all)), of) != C.MEDIA_OK {
		return &LimitError{cause: CauseNoMemory}
	}
	return nil
}
