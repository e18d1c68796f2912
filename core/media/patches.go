package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// MaxPatch bounds the numbers of Patches.
const MaxPatch = 1024

// Patches are what a row becomes in the place of a picture, of an Open one that is dense, whose sides are whole multiples of Size * Merge: squares of
// Size x Size pixels one behind the other, line by line of blocks of Merge x Merge of them, and in a block line by line. Each has its pixels Temporal times.
type Patches struct{ Size, Merge, Temporal int }

func (p *Patches) fill(op *C.media_op) {
	if p != nil {
		op.patch, op.merge, op.temporal = C.uint32_t(p.Size), C.uint32_t(p.Merge), C.uint32_t(p.Temporal)
	}
}

// checkPatches wants rows of a size that is whole patches, of which nothing is erased.
func (cfg *Config) checkPatches() error {
	p, a := cfg.Patches, cfg.ResizeArea
	if p == nil {
		return nil
	}
	for _, n := range []int{p.Size, p.Merge, p.Temporal} {
		if n < 1 || n > MaxPatch {
			return fmt.Errorf("patches: got %+v, want numbers of 1 to %d", *p, MaxPatch)
		}
	}
	if cfg.Open == nil || !cfg.Open.Dense || a == nil || a.Multiple%(p.Size*p.Merge) != 0 || cfg.Erase != nil {
		return fmt.Errorf("patches: want an open row that is dense, resized to whole multiples of %d, and nothing erased", p.Size*p.Merge)
	}
	return nil
}
