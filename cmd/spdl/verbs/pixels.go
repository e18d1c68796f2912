package verbs

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// pixels turns rows of a picture tensor back into pictures.
type pixels struct {
	height, width, channels int
	planes                  bool // NCHW
	dtype                   string
	size                    int // bytes an element
	value                   func(b []byte) float64
	whole                   bool      // integers, 0 to 255; otherwise 0 to 1 once mean and std are undone
	mean, std               []float64 // of each channel; nil: nothing to undo
	numbers                 bool      // of classes, not levels
	tensor                  int       // that the pictures are in
	marks                   []mark    // what is drawn on them
}

// pixelsOf reads the schema of a tensor of pictures of shape [H, W, C] or, as planes, [C, H, W].
func pixelsOf(t *shm.TensorRecord, shape []int, planes bool, told pictureFacts) (*pixels, error) {
	p := &pixels{planes: planes, mean: told.Mean, std: told.Std, dtype: dtypeText(t), size: int(t.DtypeBits) / 8, numbers: told.Mode == spec.Index}
	p.height, p.width, p.channels = p.sizes(shape)
	name := nameText(t.Name[:])
	if p.channels != 1 && p.channels != 3 {
		return nil, fmt.Errorf("view: field %q has %d channels, want 1 or 3", name, p.channels)
	}
	if len(p.mean) != p.channels || len(p.std) != p.channels {
		p.mean, p.std = nil, nil
	}
	p.whole, p.value = p.dtype == "u8", valueOf(p.dtype)
	if p.value == nil || p.dtype == "i16" {
		return nil, fmt.Errorf("view: field %q is %s, want u8, f16, bf16 or f32", name, p.dtype)
	}
	return p, nil
}

// valueOf reads an element of a type; nil: of none that samples have.
func valueOf(dtype string) func(b []byte) float64 {
	switch dtype {
	case "u8":
		return func(b []byte) float64 { return float64(b[0]) }
	case "i16":
		return func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) / 32768 }
	case "f32":
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case "f16":
		return func(b []byte) float64 { return tensor.Half(binary.LittleEndian.Uint16(b)) }
	case "bf16":
		return func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}
	}
	return nil
}

// inBatch is a painter of a batch's rows, whose pictures may have another size than those of other batches.
func inBatch(p painter, l tensors) painter {
	switch p := p.(type) {
	case *pixels:
		if shape := l.Shape(p.tensor); len(shape) == 4 {
			one := *p
			one.height, one.width, one.channels = p.sizes(ints(shape[1:]))
			return &one
		}
	case collage:
		all := make(collage, len(p))
		for i := range p {
			all[i] = inBatch(p[i], l)
		}
		return all
	}
	return p
}

// sizes are the height, width and channels of rows of a shape.
func (p *pixels) sizes(shape []int) (height, width, channels int) {
	if p.planes {
		return shape[1], shape[2], shape[0]
	}
	return shape[0], shape[1], shape[2]
}

func (p *pixels) paint(l tensors, row int) *image.RGBA {
	data := l.Tensor(p.tensor)
	if p.rowBytes() == 0 || len(data) < (row+1)*p.rowBytes() {
		return nil
	}
	return p.marked(p.picture(data, row), l, row)
}

// marked is a row's picture with its marks.
func (p *pixels) marked(m *image.RGBA, l tensors, row int) *image.RGBA {
	if len(p.marks) > 0 {
		m = fit(m) // lines of a pixel would be lost in what is made smaller later
	}
	for i := range p.marks {
		p.marks[i].draw(m, l, row, p.width, p.height)
	}
	return m
}

func (p *pixels) about() string {
	return fmt.Sprintf("%d x %d %s", p.width, p.height, p.note())
}

// note is what its numbers are.
func (p *pixels) note() string {
	text := p.dtype
	if p.mean != nil {
		text += " · normalisation undone"
	}
	if p.numbers {
		text += " · class numbers"
	}
	return text
}

// classColour is the colour that the PASCAL VOC data set gives to a class: black for 0, dark red for 1.
func classColour(class uint8) (c [3]uint8) {
	for bit := range 8 {
		c[bit%3] |= class >> bit & 1 << (7 - bit/3)
	}
	return c
}

// rowBytes is one picture in the tensor.
func (p *pixels) rowBytes() int { return p.height * p.width * p.channels * p.size }

// picture is row i of the tensor's bytes.
func (p *pixels) picture(data []byte, i int) *image.RGBA {
	row := data[i*p.rowBytes() : (i+1)*p.rowBytes()]
	m := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for y := range p.height {
		for x := range p.width {
			var c [3]uint8
			for k := range p.channels {
				at := (y*p.width+x)*p.channels + k
				if p.planes {
					at = (k*p.height+y)*p.width + x
				}
				c[k] = p.level(row[at*p.size:], k)
			}
			switch {
			case p.numbers:
				c = classColour(c[0])
			case p.channels == 1:
				c[1], c[2] = c[0], c[0]
			}
			m.SetRGBA(x, y, color.RGBA{c[0], c[1], c[2], 255})
		}
	}
	return m
}

// level is a channel's value as 0 to 255, its normalisation undone. What is not a number is black.
func (p *pixels) level(b []byte, channel int) uint8 {
	v := p.value(b)
	if p.mean != nil {
		v = v*p.std[channel] + p.mean[channel]
	}
	if !p.whole {
		v *= 255
	}
	if !(v > 0) {
		return 0
	}
	return uint8(min(v+0.5, 255))
}
