package media

/*
#include "row.h"
*/
import "C"

import "fmt"

// Tiles is a row of several pictures of the size Resize: those that the picture is cut into once it is brought to a grid of them, and perhaps all of
// it, resized to one. Steps, crops and padding are beside none.
type Tiles struct {
	By      Tiling
	Grids   []Grid // of which one is taken, in the order in which By tries them
	Whole   Whole
	Longest int // of Idefics3; the other side of a square picture is that, rounded up to an even number
}

// Grid is rows and columns of tiles.
type Grid struct {
	Rows    int `json:"rows"`
	Columns int `json:"columns"`
}

// Tiling is the rule by which a picture gets its grid, and comes to be of the grid's size.
type Tiling uint8

const (
	InternVL  Tiling = iota // the nearest shape; it is stretched
	LLaVANeXT               // most pixels are kept; it keeps its shape, in the middle of the grid
	MLlama                  // it is enlarged or reduced least; it keeps its shape, at the top left of the grid
	Idefics3                // its longer side becomes Longest, and then both whole multiples of a tile's; Grids has the largest grid
)

// Whole says where the whole picture lies among its tiles.
type Whole uint8

const (
	NoWhole    Whole = iota // nowhere
	WholeFirst              // ahead of the others
	WholeLast               // behind them, where they are more than one
)

// MaxTiles bounds the tiles of a grid, and MaxGrids the grids.
const (
	MaxTiles = C.MEDIA_MAX_TILES
	MaxGrids = C.MEDIA_MAX_GRIDS
)

func (cfg *Config) tiles(op *C.media_op) {
	t := cfg.Tiles
	if t == nil {
		return
	}
	op.tiling, op.whole, op.n_grids, op.longest = C.MEDIA_TILES_INTERNVL+C.uint32_t(t.By), C.uint32_t(t.Whole), C.uint32_t(len(t.Grids)), C.uint32_t(t.Longest)
	for i, g := range t.Grids {
		op.grids[i] = [2]C.uint8_t{C.uint8_t(g.Rows), C.uint8_t(g.Columns)}
	}
}

// checkTiles wants grids, and nothing beside the size of a tile that moves or changes pixels.
func (cfg *Config) checkTiles() error {
	t := cfg.Tiles
	if t == nil {
		return nil
	}
	if t.By > Idefics3 || t.Whole > WholeLast {
		return fmt.Errorf("tiles: rule %d or whole %d is not one of the named values", t.By, t.Whole)
	}
	if len(t.Grids) < 1 || len(t.Grids) > MaxGrids {
		return fmt.Errorf("tiles: got %d grids, want 1 to %d", len(t.Grids), MaxGrids)
	}
	for _, g := range t.Grids {
		if g.Rows < 1 || g.Columns < 1 || g.Rows > MaxTiles/g.Columns {
			return fmt.Errorf("tiles: got a grid of %d x %d, want 1 to %d tiles", g.Rows, g.Columns, MaxTiles)
		}
	}
	if n := t.Longest; (t.By == Idefics3) != (n != 0) || n < 0 || n != 0 && (len(t.Grids) != 1 || n > MaxSide || n+n%2 > t.Grids[0].Rows*cfg.Resize.H || n+n%2 > t.Grids[0].Columns*cfg.Resize.W) {
		return fmt.Errorf("tiles: got a longer side of %d for rule %d, want one for Idefics3 alone, which fits into its one grid, also if it is rounded up to an even number", n, t.By)
	}
	if cfg.Resize == (Size{}) || cfg.Cover || cfg.out() != cfg.Resize || cfg.Open != nil || cfg.Pad != (Sides{}) || cfg.Anywhere || cfg.Corner != Middle || cfg.Padding != Constant {
		return fmt.Errorf("tiles: want the size of one in Resize, and no crop or padding")
	}
	return nil
}

// checkTileSteps wants nothing that moves or changes pixels.
func (op *Op) checkTileSteps() error {
	if op.Tiles() > 0 && op.changes() {
		return fmt.Errorf("tiles: got steps, want none: they are cut from the picture as it is")
	}
	return nil
}

// Tiles is how many pictures a row has room for; 0: rows are one, and no tiles.
func (op *Op) Tiles() int {
	if op.c.tiling == C.MEDIA_NO_TILES {
		return 0
	}
	return int(op.c.most)
}
