package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Open is a row whose picture has the size that the geometry gives, which differs from picture to picture.
type Open struct {
	Room  Size // what a row has memory for; dense for its pixels, whatever the picture's sides are
	Dense bool // the picture's lines lie one behind the other from the row's beginning on. Else they lie as far apart as those of Room, and there are zeros beyond
}

// known is out, or, of an open row, whose pictures are each measured when they come, as large as any.
func (cfg *Config) known() Size {
	if cfg.Open != nil {
		return Square(MaxSide)
	}
	return cfg.out()
}

func (cfg *Config) open(op *C.media_op) {
	o := cfg.Open
	if o == nil {
		return
	}
	op.open = C.MEDIA_OPEN_PADDED
	if o.Dense {
		op.open = C.MEDIA_OPEN_DENSE
	}
	op.room_h, op.room_w = C.uint32_t(o.Room.H), C.uint32_t(o.Room.W)
	op.least_side = C.uint32_t(cfg.leastSide(op))
	cfg.Patches.fill(op)
}

// leastSide is what both sides of an open row must have at least, for what mirrors it at its borders, and for what divides it into cells.
func (cfg *Config) leastSide(op *C.media_op) (n int) {
	for i, s := range cfg.Steps {
		if needs, ok := s.Step.(interface{ least() int }); ok && op.steps[len(cfg.Ahead)+len(cfg.Resized)+i].p > 0 {
			n = max(n, needs.least())
		}
	}
	return n
}

// checkOpen wants a geometry that leaves the row's size open, and nothing that needs it beforehand.
func (cfg *Config) checkOpen() error {
	switch {
	case !cfg.Open.Dense && !cfg.Open.Room.valid():
		return fmt.Errorf("open: got room for %d x %d, want sides of 1 to %d", cfg.Open.Room.H, cfg.Open.Room.W, MaxSide)
	case cfg.Open.Dense && !(cfg.Open.Room.H >= 1 && cfg.Open.Room.H <= MaxSide*MaxSide && cfg.Open.Room.W >= 1 && cfg.Open.Room.W <= MaxSide*MaxSide/cfg.Open.Room.H):
		return fmt.Errorf("open: got room for %d x %d pixels, want 1 to %d", cfg.Open.Room.H, cfg.Open.Room.W, MaxSide*MaxSide)
	case cfg.Out != Size{} || cfg.Resize != Size{} && !cfg.Cover || cfg.Contain != nil || cfg.Random != nil || cfg.Anywhere || cfg.Corner != Middle || cfg.Pad != Sides{} || cfg.Padding != Constant || len(cfg.Resized) > 0:
		return fmt.Errorf("open: got a geometry that fixes the row's size, want a resize that keeps the picture's shape, or none")
	}
	return nil
}

// Open says how rows lie that have a size of their own; nil: all have one.
func (op *Op) Open() *Open {
	if op.c.open == C.MEDIA_CLOSED {
		return nil
	}
	return &Open{Size{int(op.c.room_h), int(op.c.room_w)}, op.c.open == C.MEDIA_OPEN_DENSE}
}
