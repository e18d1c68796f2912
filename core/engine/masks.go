package engine

import (
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// outlined draws the masks of the boxes that are left of a sample, from a column that has an outline of each.
type outlined struct {
	name   string // of the column
	column int
	boxes  string // the column that has these

	numbers bool // outlines are numbers, else JSON
}

// maskColumn makes of a column of outlines what a batch has of it: masks of at most so many boxes. Those of pictures that keep their size are
// bytes, of which extents say the rest.
func maskColumn(c *source.Column, img *spec.Image, most int) {
	c.Type, c.DType, c.Shape, c.MaxLength = source.Array, tensor.U8, img.MaskShape(), most
	if img.Open() {
		c.MaxLength, c.Shape = most*int(c.Shape[0]), nil
	}
}

// planes are the columns that have masks of pictures that keep their size, [n, height, width] of each, and the fields that say these.
func planes(of *spec.Spec) map[string]string {
	all := map[string]string{}
	for _, m := range of.Media() {
		if m.Image != nil && m.Image.Boxes != nil && m.Image.Boxes.Masks != "" && m.Image.Open() {
			all[m.Image.Boxes.Masks] = m.Tensors()[imagePixels+1]
		}
	}
	return all
}

// draw makes the masks of the sample whose boxes were moved.
func (o *outlined) draw(to *following, d *imageDecoder, sample encoded) error {
	if err := o.read(&to.objects, sample.Value(o.column)); err != nil {
		return o.failed(err)
	}
	if got, want := to.objects.Len(), len(to.kept); got != want {
		return &followError{fmt.Sprintf("column %q: got %d outlines, want %d, one for each of %q", o.name, got, want, o.boxes)}
	}
	made, err := d.Masks(to.columns[o.column][:0], d.op, &to.objects, to.kept)
	if to.columns[o.column] = made; err != nil {
		return o.failed(err)
	}
	return nil
}

// read reads the outlines of a sample.
func (o *outlined) read(to *media.Outlines, value []byte) error {
	if o.numbers {
		return to.ReadNumbers(value)
	}
	return to.Read(value)
}

// failed is why masks could not be made: there is no memory, or an outline is wrong, or not of the picture.
func (o *outlined) failed(err error) error {
	if limit := (*media.LimitError)(nil); errors.As(err, &limit) {
		return err
	}
	return &followError{fmt.Sprintf("column %q: %v", o.name, err)}
}
