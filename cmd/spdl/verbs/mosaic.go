package verbs

import (
	"fmt"
	"image"
	"image/draw"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// mosaic draws the tiles of a picture in their places, and the whole picture, where there is one, beside them.
type mosaic struct {
	*film
	grid       int // the tensor that says how many rows and columns they are
	wholeFirst bool
}

// Measures of a mosaic, in pixels.
const (
	mosaicGap  = 2
	mosaicSide = 2 * filmSide // longest side of the tiles together
)

// mosaicOf draws a field of tiles.
func mosaicOf(schema []shm.TensorRecord, tensor, length int, f *facts, m *mediumFacts) (*mosaic, error) {
	grid := fieldNamed(schema, m.named("grid"))
	if grid < 0 || !wide(&schema[grid]) || schema[grid].Ndim != 2 || schema[grid].Shape[1] != 2 {
		return nil, &because{fmt.Errorf("view: field %q: the ring has no field %q of the grids of tiles", m.Name, m.named("grid")), shm.ErrFormat}
	}
	p, err := filmOf(schema, tensor, length, f, m.Image.severally(m.Image.Tiles.Room()), "tiles")
	return &mosaic{p, grid, m.Image.Tiles.Kind == spec.LLaVANeXT}, err
}

func (m *mosaic) paint(l tensors, row int) *image.RGBA {
	data, n, ok := m.row(l, row)
	grids := batch.Int64s(l.Tensor(m.grid))
	if !ok || n*m.rowBytes() > len(data) || 2*row+1 >= len(grids) {
		return nil
	}
	rows, columns := int(grids[2*row]), int(grids[2*row+1])
	if n == 0 { // of a masked row
		return image.NewRGBA(image.Rect(0, 0, 1, 1))
	}
	if rows < 1 || columns < 1 || rows > n/columns {
		return nil
	}
	side := min(filmSide, mosaicSide/max(rows, columns))
	at := func(k int) int { return k * (side + mosaicGap) }
	whole, first, left := n-rows*columns, 0, 0
	across := at(columns) - mosaicGap
	if m.wholeFirst && whole > 0 {
		first, left = whole, filmSide+3*filmGap
	}
	down := at(rows) - mosaicGap
	if whole > 0 {
		down = max(down, filmSide)
		across += filmSide + 3*filmGap
	}
	page := image.NewRGBA(image.Rect(0, 0, across, down))
	draw.Draw(page, page.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	for i := range rows * columns {
		x, y := left+at(i%columns), at(i/columns)
		scaleInto(page, image.Rect(x, y, x+side, y+side), m.frame(data, first+i))
	}
	if whole > 0 {
		x, k := across-filmSide, n-1
		if m.wholeFirst {
			x, k = 0, 0
		}
		scaleInto(page, image.Rect(x, 0, x+filmSide, filmSide), m.frame(data, k))
	}
	return page
}
