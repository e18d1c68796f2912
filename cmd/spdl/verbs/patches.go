package verbs

import (
	"fmt"
	"image"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// patches draws pictures that lie as patches: put together again.
type patches struct {
	*pixels
	rowsIn
	grid int // the tensor that says how many there are in a column and in a line
	of   spec.Patches
}

// patchesOf draws a field of patches.
func patchesOf(schema []shm.TensorRecord, tensor, length int, m *mediumFacts) (*patches, error) {
	grid := fieldNamed(schema, m.named("grid"))
	if grid < 0 || !wide(&schema[grid]) || schema[grid].Ndim != 2 || schema[grid].Shape[1] != 3 {
		return nil, &because{fmt.Errorf("view: field %q: the ring has no field %q of the grids of patches", m.Name, m.named("grid")), shm.ErrFormat}
	}
	channels, planes := 1, m.Image.Layout == spec.NCHW
	if m.Image.Mode == spec.RGB {
		channels = 3
	}
	shape := []int{1, 1, channels}
	if planes {
		shape = []int{channels, 1, 1}
	}
	p, err := pixelsOf(&schema[tensor], shape, planes, *m.Image)
	return &patches{p, rowsInTensor(schema, tensor, length), grid, *m.Image.Patches}, err
}

func (p *patches) about() string {
	return fmt.Sprintf("pictures of patches of %d x %[1]d, %s", p.of.Size, p.note())
}

func (p *patches) paint(l tensors, row int) *image.RGBA {
	data, n, ok := p.row(l, row)
	grids := batch.Int64s(l.Tensor(p.grid))
	if !ok || 3*row+2 >= len(grids) {
		return nil
	}
	if n == 0 { // of a masked row
		return image.NewRGBA(image.Rect(0, 0, 1, 1))
	}
	rows, columns := int(grids[3*row+1]), int(grids[3*row+2])
	one, side, merge := *p.pixels, p.of.Size, p.of.Merge
	if rows < merge || columns < merge || rows%merge != 0 || columns%merge != 0 || n%columns != 0 || n/columns != rows || columns*side > maxResized/(rows*side) {
		return nil
	}
	if one.height, one.width = rows*side, columns*side; n*p.patchBytes() > len(data) {
		return nil
	}
	return one.picture(p.together(data, rows, columns), 0)
}

// patchBytes is the size of a patch.
func (p *patches) patchBytes() int {
	return p.of.Temporal * p.of.Size * p.of.Size * p.channels * p.size
}

// together is the picture that a row's patches are of, each at its first time.
func (p *patches) together(data []byte, rows, columns int) []byte {
	side, merge, planes := p.of.Size, p.of.Merge, 1
	pixel := p.channels * p.size
	if p.planes {
		planes, pixel = p.channels, p.size
	}
	part, square := side*pixel, side*side*pixel
	all := make([]byte, planes*rows*columns*square)
	for k := range rows * columns {
		block, within := k/(merge*merge), k%(merge*merge)
		down, across := block/(columns/merge)*merge+within/merge, block%(columns/merge)*merge+within%merge
		for c := range planes {
			from := data[k*p.patchBytes()+c*p.of.Temporal*square:][:square]
			for y := range side {
				copy(all[((c*rows+down)*side+y)*columns*part+across*part:], from[y*part:][:part])
			}
		}
	}
	return all
}
