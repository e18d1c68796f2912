package verbs

import (
	"fmt"
	"image"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/shm"
)

// sized draws pictures that each have a size of their own, padded or ragged.
type sized struct {
	*pixels
	extent int // the tensor that says how high and how wide they are
	ragged bool
}

// sizedOf draws a field of such pictures; of ragged ones channels are told.
func sizedOf(schema []shm.TensorRecord, tensor int, m *mediumFacts, f *facts) (*sized, error) {
	t, extent := &schema[tensor], fieldNamed(schema, m.named("extent"))
	if extent < 0 || !wide(&schema[extent]) || schema[extent].Ndim != 2 || schema[extent].Shape[1] != 2 {
		return nil, &because{fmt.Errorf("view: field %q: the ring has no field %q that says how large each picture is", m.Name, m.named("extent")), shm.ErrFormat}
	}
	if t.Kind == shm.Dense {
		p, err := picturesOf(schema, tensor, *m.Image)
		return &sized{p, extent, false}, err
	}
	step := f.Ragged[m.Name]
	if len(step) != 1 {
		return nil, &because{fmt.Errorf("view: field %q: the ring does not tell how many channels its pictures have", m.Name), shm.ErrFormat}
	}
	shape, planes := []int{1, 1, step[0]}, t.Axes == shm.AxesNCHW
	if planes {
		shape = []int{step[0], 1, 1}
	}
	p, err := pixelsOf(t, shape, planes, *m.Image)
	if err == nil {
		p.tensor = tensor
	}
	return &sized{p, extent, true}, err
}

func (s *sized) about() string {
	if s.ragged {
		return fmt.Sprintf("pictures of their own size, %s", s.pixels.note())
	}
	return fmt.Sprintf("pictures of their own size, at most %s", s.pixels.about())
}

func (s *sized) paint(l tensors, row int) *image.RGBA {
	extents := batch.Int64s(l.Tensor(s.extent))
	if 2*row+1 >= len(extents) {
		return nil
	}
	one := *s.pixels
	one.height, one.width = int(extents[2*row]), int(extents[2*row+1])
	switch {
	case one.height == 0 && one.width == 0: // of a masked row
		return image.NewRGBA(image.Rect(0, 0, 1, 1))
	case one.height < 1 || one.width < 1 || one.height > maxResized/one.width:
		return nil
	}
	data := s.dense(l, row, &one)
	if data == nil {
		return nil
	}
	return one.marked(one.picture(data, 0), l, row)
}

// dense is the memory of a row's picture without the room around it; nil where the batch does not hold it.
func (s *sized) dense(l tensors, row int, one *pixels) (all []byte) {
	if s.ragged {
		if data, _ := raggedRow(l, s.tensor, row, s.size); len(data) == one.rowBytes() {
			return data
		}
		return nil
	}
	data := l.Tensor(s.tensor)
	if one.height > s.height || one.width > s.width || len(data) < (row+1)*s.rowBytes() {
		return nil
	}
	planes, pixel := 1, s.channels*s.size
	if s.planes {
		planes, pixel = s.channels, s.size
	}
	for plane := range planes {
		for y := range one.height {
			at := row*s.rowBytes() + (plane*s.height+y)*s.width*pixel
			all = append(all, data[at:at+one.width*pixel]...)
		}
	}
	return all
}
