package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// follower takes the boxes or the points of a sample, which are a column of it, along with its picture, and drops those that are gone,
// with what other columns have of them.
type follower struct {
	name   string // of the column
	column int
	dtype  tensor.DType // as the source has it
	width  int          // numbers of a box or a point
	line   int          // and of a line of the column
	boxes  *spec.Boxes  // one of these
	points *spec.Points
	with   []companion
}

// companion is a column that has a line for each line of another.
type companion struct {
	name   string
	column int
	bytes  int  // of a line
	moved  bool // it followed the picture itself, before
}

// following is what a worker needs to have columns follow, kept for the next sample.
type following struct {
	columns [][]byte // of the sample in hand; used of those that follow alone
	moves   []media.Move
	kept    []bool // lines
	boxes   []media.Rect
	objects media.Outlines
}

// follow finds the columns that follow the parts' pictures, which in a batch are another thing than in the source: it returns the columns as
// a batch has them, and which of them differ.
func (s *samples) follow(of *spec.Spec, columns []source.Column) (all []source.Column, differ []int, err error) {
	all = slices.Clone(columns)
	moves := func(name string) *source.Column {
		k := slices.IndexFunc(all, func(c source.Column) bool { return c.Name == name })
		differ = append(differ, k)
		return &all[k]
	}
	media := of.Media()
	for i := range s.parts {
		img := media[i].Image
		if img == nil {
			continue
		}
		var with []string
		if p := img.Points; p != nil {
			c := moves(p.Column)
			if n := len(c.Shape); n == 0 || c.Shape[n-1] != 2 && c.Shape[n-1] != 3 {
				return nil, nil, describedWrongly{fmt.Errorf("engine: ring %q: %s.points.column: the first sample's %q is of shape %v, want 2 (x, y) or 3 (x, y, visibility) as the last dimension",
					of.FullName(), media[i].Path(), p.Column, c.Shape)}
			}
			s.parts[i].followers = append(s.parts[i].followers, followerOf(columns, p.Column, p.With, nil))
			s.parts[i].followers[0].points = p
			c.DType, with = tensor.F32, append(with, p.With...)
		}
		if b := img.Boxes; b != nil {
			f := followerOf(columns, b.Column, b.With, img.Points)
			f.boxes, f.width = b, 4
			s.parts[i].followers = append(s.parts[i].followers, f)
			if img.Transform.CropsByBoxes() {
				s.parts[i].boxed = &f
			}
			boxes := moves(b.Column)
			boxes.DType, with = tensor.F32, append(with, b.With...)
			if b.Masks != "" {
				c := moves(b.Masks)
				s.masks = append(s.masks, differ[len(differ)-1])
				s.parts[i].outlined = &outlined{name: b.Masks, column: differ[len(differ)-1], boxes: b.Column, numbers: c.Type == source.List}
				maskColumn(c, img, boxes.MaxLength)
			}
		}
		for _, name := range with {
			if img.Points == nil || name != img.Points.Column {
				moves(name)
			}
		}
	}
	if len(differ) > 0 {
		s.values = len(columns)
	}
	return all, differ, nil
}

// followerOf is that of a column of the source; points are those that may be among its companions.
func followerOf(columns []source.Column, name string, with []string, points *spec.Points) follower {
	k := slices.IndexFunc(columns, func(c source.Column) bool { return c.Name == name })
	c := &columns[k]
	line, _ := c.Shape.Elements()
	f := follower{name: name, column: k, dtype: c.DType, line: int(line)}
	if n := len(c.Shape); n > 0 {
		f.width = int(c.Shape[n-1])
	}
	for _, name := range with {
		k := slices.IndexFunc(columns, func(c source.Column) bool { return c.Name == name })
		c, moved := &columns[k], points != nil && name == points.Column
		dtype := c.DType
		if moved {
			dtype = tensor.F32
		}
		bytes, _ := c.Shape.Bytes(dtype)
		f.with = append(f.with, companion{name, k, int(bytes), moved})
	}
	return f
}

// tell tells a decoder which boxes are in the picture to come, which its crop goes by. Those that are none are refused once it is there.
func (w *worker) tell(p *part, d *imageDecoder, sample encoded) error {
	f, value := p.boxed, sample.Value(p.boxed.column)
	w.boxes = w.boxes[:0]
	for size := f.dtype.Bytes(); len(value) >= 4*size; value = value[4*size:] {
		var v [4]float64
		for k := range v {
			v[k] = elementOf(value[k*size:], f.dtype)
		}
		if r := f.read(&v, media.Size{H: 1, W: 1}); r[2] >= r[0] && r[3] >= r[1] {
			w.boxes = append(w.boxes, r)
		}
	}
	return d.Boxes(w.boxes, f.boxes.Normalized)
}

// follow moves the columns that follow a part, whose row is made.
func (w *worker) follow(p *part, d *imageDecoder, sample encoded) error {
	moves, told := d.Moves(w.moves[:0])
	if w.moves = moves; !told {
		return &followError{"a map was drawn that nothing can follow"}
	}
	for i := range p.followers {
		f := &p.followers[i]
		if err := f.move(&w.following, d.seen, sample); err != nil {
			return err
		}
	}
	if p.outlined != nil { // behind the boxes, which say what is kept
		return p.outlined.draw(&w.following, d, sample)
	}
	return nil
}

// move makes what a batch has of the column, and of those that go with it.
func (f *follower) move(to *following, seen media.Size, sample encoded) error {
	value, size := sample.Value(f.column), f.dtype.Bytes()
	lines := len(value) / (f.line * size)
	for _, c := range f.with {
		if got := len(c.of(to, sample)) / c.bytes; got != lines {
			return &followError{fmt.Sprintf("column %q: got %d lines, want %d, one for each of %q", c.name, got, lines, f.name)}
		}
	}
	to.kept = to.kept[:0]
	out := to.columns[f.column][:0]
	for line := range lines {
		from, before := value[line*f.line*size:], len(out)
		kept := true
		for at := 0; at < f.line; at += f.width {
			var v [4]float64
			for k := range f.width {
				if v[k] = elementOf(from[(at+k)*size:], f.dtype); math.IsNaN(v[k]) || math.IsInf(v[k], 0) {
					return &followError{fmt.Sprintf("column %q: got %g in line %d, want a number", f.name, v[k], line)}
				}
			}
			if f.boxes != nil {
				kept = f.box(&v, to.moves, seen)
			} else {
				kept = f.point(&v, to.moves, seen)
			}
			for _, x := range v[:f.width] {
				out = binary.NativeEndian.AppendUint32(out, math.Float32bits(float32(x)))
			}
		}
		if to.kept = append(to.kept, kept); !kept {
			out = out[:before]
		}
	}
	to.columns[f.column] = out
	for _, c := range f.with {
		to.columns[c.column] = keptOf(to.columns[c.column][:0], c.of(to, sample), c.bytes, to.kept)
	}
	return nil
}

// of is the companion's value, in a sample or as it has followed.
func (c *companion) of(to *following, sample encoded) []byte {
	if c.moved {
		return to.columns[c.column]
	}
	return sample.Value(c.column)
}

// keptOf appends the lines that are kept to dst, which may be the same memory.
func keptOf(dst, lines []byte, size int, kept []bool) []byte {
	for i, keep := range kept {
		if keep {
			dst = append(dst, lines[i*size:][:size]...)
		}
	}
	return dst
}

// box moves one; false: it is dropped.
func (f *follower) box(v *[4]float64, moves []media.Move, seen media.Size) bool {
	r := f.read(v, seen)
	if r[2] < r[0] || r[3] < r[1] {
		return false
	}
	share, there := r.Follow(moves)
	row := moves[len(moves)-1].Size
	for i := range r {
		r[i] = float64(float32(r[i])) // what a batch has is measured
	}
	b, width, height := f.boxes, r[2]-r[0], r[3]-r[1]
	f.write(v, &r, row)
	return there && min(width, height) >= b.MinSize && width*height >= b.MinArea && share >= b.MinVisibility
}

// read is the box that four numbers say, in pixels of a picture.
func (f *follower) read(v *[4]float64, seen media.Size) media.Rect {
	r := media.Rect(*v)
	switch f.boxes.Format {
	case spec.XYWH:
		r[2], r[3] = r[0]+r[2], r[1]+r[3]
	case spec.CXCYWH:
		r = media.Rect{v[0] - v[2]/2, v[1] - v[3]/2, v[0] + v[2]/2, v[1] + v[3]/2}
	}
	if f.boxes.Normalized {
		w, h := float64(seen.W), float64(seen.H)
		r = media.Rect{r[0] * w, r[1] * h, r[2] * w, r[3] * h}
	}
	return r
}

// write is read's opposite.
func (f *follower) write(v *[4]float64, r *media.Rect, row media.Size) {
	*v = [4]float64(*r)
	switch f.boxes.Format {
	case spec.XYWH:
		v[2], v[3] = r[2]-r[0], r[3]-r[1]
	case spec.CXCYWH:
		*v = [4]float64{(r[0] + r[2]) / 2, (r[1] + r[3]) / 2, r[2] - r[0], r[3] - r[1]}
	}
	if f.boxes.Normalized {
		w, h := float64(row.W), float64(row.H)
		*v = [4]float64{v[0] / w, v[1] / h, v[2] / w, v[3] / h}
	}
}

// point moves one; false: it is dropped.
func (f *follower) point(v *[4]float64, moves []media.Move, seen media.Size) bool {
	x, y := v[0], v[1]
	if f.points.Normalized {
		x, y = x*float64(seen.W), y*float64(seen.H)
	}
	visible := f.width == 2 || v[2] != 0
	for i := range moves {
		m := &moves[i]
		x, y = m.Point(x, y)
		visible = visible && x >= 0 && y >= 0 && x < float64(m.Size.W) && y < float64(m.Size.H)
	}
	if f.width == 3 && !visible {
		*v = [4]float64{}
	} else if row := moves[len(moves)-1].Size; f.points.Normalized {
		v[0], v[1] = x/float64(row.W), y/float64(row.H)
	} else {
		v[0], v[1] = x, y
	}
	return visible || !f.points.RemoveInvisible
}

// followError is a value of a column that cannot follow.
type followError struct{ text string }

func (e *followError) Error() string { return e.text }

// Cause is that of a value that is wrong.
func (e *followError) Cause() string { return string(source.Value) }
