package verbs

import (
	"image"
	"image/color"

	"github.com/spdl/spdl/shm"
)

// tints are the masks of the objects in pictures: a ragged field of bytes, of each row as many as it has pixels for each object.
type tints struct{ tensor int }

// tintsOf finds the field; nil: a ring has it not, or as something else.
func tintsOf(schema []shm.TensorRecord, name string) *tints {
	t := fieldNamed(schema, name)
	if t < 0 || schema[t].Kind != shm.Ragged || dtypeText(&schema[t]) != "u8" {
		return nil
	}
	return &tints{t}
}

// draw tints what each mask covers, in PASCAL VOC's colours, of a picture that may have another size than the row.
func (t *tints) draw(page *image.RGBA, l tensors, row int, width, height int) {
	masks, _ := raggedRow(l, t.tensor, row, 1)
	size := page.Bounds().Size()
	for k := 0; len(masks) >= width*height; k, masks = k+1, masks[width*height:] {
		shade := classColour(uint8(k%20 + 1))
		for y := range size.Y {
			line := masks[y*height/size.Y*width:]
			for x := range size.X {
				if line[x*width/size.X] != 0 {
					page.SetRGBA(x, y, half(page.RGBAAt(x, y), shade))
				}
			}
		}
	}
}

// half is the colour between two.
func half(a color.RGBA, b [3]uint8) color.RGBA {
	between := func(a, b uint8) uint8 { return uint8((int(a) + int(b)) / 2) }
	return color.RGBA{between(a.R, b[0]), between(a.G, b[1]), between(a.B, b[2]), 255}
}
