package verbs

import (
	"fmt"
	"image"
	"image/draw"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// Measures of strips, in pixels.
const (
	filmFrames = 8  // of a video at most
	filmGap    = 4  // between frames
	filmSide   = 96 // longest side of a frame
)

// rowsIn is where the rows of a tensor lie whose rows differ in length.
type rowsIn struct {
	tensor, length int
	ragged         bool
	stride         int // bytes from row to row of a dense one
	item           int // bytes of an element
	parts          int // lengths that a row has: of the sounds of several clips
}

func rowsInTensor(schema []shm.TensorRecord, tensor, length int) rowsIn {
	t := &schema[tensor]
	parts := 1
	if lengths := &schema[length]; lengths.Ndim > 1 {
		parts = int(lengths.Shape[1])
	}
	return rowsIn{tensor, length, t.Kind == shm.Ragged, int(t.Strides[0]), int(t.DtypeBits) / 8, parts}
}

// row is the memory of a row and its length in steps, or that of the first of its parts; false where the batch does not hold it.
func (r *rowsIn) row(l tensors, i int) (data []byte, steps int, ok bool) {
	lengths := batch.Int64s(l.Tensor(r.length))
	if i*r.parts >= len(lengths) || lengths[i*r.parts] < 0 {
		return nil, 0, false
	}
	steps = int(lengths[i*r.parts])
	if r.ragged {
		data, ok = raggedRow(l, r.tensor, i, r.item)
		return data, steps, ok
	}
	if data = l.Tensor(r.tensor); (i+1)*r.stride > len(data) {
		return nil, 0, false
	}
	return data[i*r.stride : (i+1)*r.stride], steps, true
}

// film draws videos, or several pictures a sample: some of the frames of each, side by side.
type film struct {
	*pixels
	rowsIn
	room   int    // frames that a row has room for
	planar bool   // [C, T, H, W]: a frame's planes lie apart
	word   string // frames, or pictures
}

func filmOf(schema []shm.TensorRecord, tensor, length int, f *facts, told *videoFacts, word string) (*film, error) {
	t, layout := &schema[tensor], told.Layout
	shape := f.Ragged[nameText(t.Name[:])]
	if t.Kind == shm.Dense && t.Ndim == 5 {
		shape = ints(t.Shape[2:5])
		if layout == "NCTHW" {
			shape = ints([]int64{t.Shape[1], t.Shape[3], t.Shape[4]})
		}
	}
	if len(shape) != 3 || layout == "" {
		return nil, fmt.Errorf("view: field %q: the ring does not tell how its %s lie", nameText(t.Name[:]), word)
	}
	p, err := pixelsOf(t, shape, layout != "NTHWC", told.Frame)
	if err != nil {
		return nil, err
	}
	return &film{p, rowsInTensor(schema, tensor, length), told.Frames, layout == "NCTHW", word}, nil
}

// severally says of so many pictures at most what is told of a video, whose frames lie as they do.
func (p *pictureFacts) severally(most int) *videoFacts {
	return &videoFacts{Layout: map[string]string{spec.NHWC: spec.NTHWC, spec.NCHW: spec.NTCHW}[p.Layout], Frames: most, Frame: *p}
}

func (f *film) about() string {
	return fmt.Sprintf("at most %d %s of %s", f.room, f.word, f.pixels.about())
}

func (f *film) paint(l tensors, row int) *image.RGBA {
	data, n, ok := f.row(l, row)
	if !ok || n*f.rowBytes() > len(data) {
		return nil
	}
	shown := max(min(n, filmFrames), 1)
	side := max(f.width, f.height)
	w, h := max(f.width*filmSide/side, 1), max(f.height*filmSide/side, 1)
	strip := image.NewRGBA(image.Rect(0, 0, shown*(w+filmGap)-filmGap, h))
	draw.Draw(strip, strip.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	for k := range min(n, shown) {
		at := 0
		if shown > 1 {
			at = k * (n - 1) / (shown - 1)
		}
		scaleInto(strip, image.Rect(k*(w+filmGap), 0, k*(w+filmGap)+w, h), f.frame(data, at))
	}
	return strip
}

// frame is a frame of a row.
func (f *film) frame(data []byte, k int) *image.RGBA {
	if !f.planar {
		return f.picture(data, k)
	}
	plane := f.rowBytes() / f.channels
	one := make([]byte, 0, f.rowBytes())
	for c := range f.channels {
		at := (c*f.room + k) * plane
		one = append(one, data[at:at+plane]...)
	}
	return f.picture(one, 0)
}
