package media

/*
#include "row.h"
*/
import "C"

import (
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
