package verbs

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"math"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

var (
	marked = color.RGBA{0xff, 0xc4, 0x00, 255} // an outline, or a point
	halo   = color.RGBA{0x00, 0x00, 0x00, 255} // around it, for pictures of its colour
)

// mark is something that is drawn on the picture of a row, which may have another size than the row.
type mark interface {
	draw(page *image.RGBA, l tensors, row int, width, height int)
}

// marks are the boxes or the points of pictures: numbers of a field, so many of each.
type marks struct {
	tensor, length int // length -1: rows are all used
	ragged         bool
	stride         int // bytes from row to row of a dense one
	line           int // and from line to line of a padded one
	each           int
	boxes          *spec.Boxes // one of these
	points         *spec.Points
}

// marksOf finds what a ring tells of its pictures' masks, boxes and points. What is no floats is not drawn.
func marksOf(schema []shm.TensorRecord, told *pictureFacts, f *facts) (all []mark) {
	add := func(name string, boxes *spec.Boxes, points *spec.Points) {
		t := fieldNamed(schema, name)
		if t < 0 || dtypeText(&schema[t]) != "f32" {
			return
		}
		r := &schema[t]
		m := marks{tensor: t, length: fieldNamed(schema, spec.LengthOf(name)), ragged: r.Kind == shm.Ragged, stride: int(r.Strides[0]), line: int(r.Strides[1]), boxes: boxes, points: points}
		if step := f.Ragged[name]; len(step) > 0 {
			m.each = step[len(step)-1]
		} else if !m.ragged && r.Ndim > 1 {
			m.each = int(r.Shape[r.Ndim-1])
		}
		if m.each > 1 {
			all = append(all, &m)
		}
	}
	if b := told.Boxes; b != nil {
		if t := tintsOf(schema, b.Masks); t != nil {
			all = append(all, t)
		}
		add(b.Column, b, nil)
	}
	if p := told.Points; p != nil {
		add(p.Column, nil, p)
	}
	return all
}

// numbers are those of a row.
func (m *marks) numbers(l tensors, row int) (all []float64) {
	for data := m.row(l, row); len(data) >= 4; data = data[4:] {
		all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
	return all
}

func (m *marks) row(l tensors, row int) []byte {
	if m.ragged {
		data, _ := raggedRow(l, m.tensor, row, 4)
		return data
	}
	data, from, to := l.Tensor(m.tensor), row*m.stride, (row+1)*m.stride
	if lengths := batch.Int64s(l.Tensor(max(m.length, 0))); m.length >= 0 && row < len(lengths) {
		to = from + int(lengths[row])*m.line
	}
	if from > to || to > len(data) {
		return nil
	}
	return data[from:to]
}

func (m *marks) draw(page *image.RGBA, l tensors, row int, width, height int) {
	numbers, size := m.numbers(l, row), page.Bounds().Size()
	x, y := float64(size.X)/float64(width), float64(size.Y)/float64(height)
	if m.boxes != nil && m.boxes.Normalized || m.points != nil && m.points.Normalized {
		x, y = float64(size.X), float64(size.Y)
	}
	for ; len(numbers) >= m.each; numbers = numbers[m.each:] {
		if m.boxes != nil {
			outline(page, m.corners(numbers, x, y))
		} else if m.each == 2 || numbers[2] != 0 {
			at := image.Pt(int(numbers[0]*x), int(numbers[1]*y))
			spot(page, image.Rectangle{at, at}.Inset(-2), halo)
			spot(page, image.Rectangle{at, at}.Inset(-1), marked)
		}
	}
}

// corners are those of a box on the page.
func (m *marks) corners(v []float64, x, y float64) image.Rectangle {
	left, top, right, bottom := v[0], v[1], v[2], v[3]
	switch m.boxes.Format {
	case spec.XYWH:
		right, bottom = left+right, top+bottom
	case spec.CXCYWH:
		left, top, right, bottom = v[0]-v[2]/2, v[1]-v[3]/2, v[0]+v[2]/2, v[1]+v[3]/2
	}
	return image.Rect(int(math.Round(left*x)), int(math.Round(top*y)), int(math.Round(right*x)), int(math.Round(bottom*y)))
}

// outline draws a box's edges, inside of it.
func outline(page *image.RGBA, r image.Rectangle) {
	for inset, shade := range []color.RGBA{halo, marked, halo} {
		in := r.Inset(inset)
		spot(page, image.Rect(in.Min.X, in.Min.Y, in.Max.X, in.Min.Y+1), shade)
		spot(page, image.Rect(in.Min.X, in.Max.Y-1, in.Max.X, in.Max.Y), shade)
		spot(page, image.Rect(in.Min.X, in.Min.Y, in.Min.X+1, in.Max.Y), shade)
		spot(page, image.Rect(in.Max.X-1, in.Min.Y, in.Max.X, in.Max.Y), shade)
	}
}

func spot(page *image.RGBA, r image.Rectangle, shade color.RGBA) {
	draw.Draw(page, r, image.NewUniform(shade), image.Point{}, draw.Src)
}
