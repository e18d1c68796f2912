package spec

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

// Boxes says which column has a picture's boxes, which then follow it to its row. A batch's field of the column has them as they lie there.
type Boxes struct {
	Column        string   `json:"column"`
	Format        string   `json:"format"`
	Normalized    bool     `json:"normalized,omitempty"` // shares of the picture's sides, and then of the row's
	MinSize       float64  `json:"min_size"`             // what both sides must have in the row, in pixels,
	MinArea       float64  `json:"min_area"`             // their product,
	MinVisibility float64  `json:"min_visibility"`       // and how much of the box's area must not be cut away; or it is dropped
	With          []string `json:"with,omitempty"`       // columns that have a line for each box, which are dropped with it
	Masks         string   `json:"masks,omitempty"`      // the column with each box's outline, of which a batch has the mask; "": none
}

// The values of Boxes.Format.
const (
	XYXY   = "xyxy"
	XYWH   = "xywh"
	CXCYWH = "cxcywh"
)

// Points is Boxes of points: [x, y], or [x, y, visibility].
type Points struct {
	Column          string   `json:"column"`
	Normalized      bool     `json:"normalized,omitempty"`
	RemoveInvisible bool     `json:"remove_invisible,omitempty"`
	With            []string `json:"with,omitempty"`
}

// RandomIoUCrop takes a part of a picture that has a box of it, as torchvision's does.
type RandomIoUCrop struct {
	Scale   [2]float64 `json:"scale"`        // of each side
	Ratio   [2]float64 `json:"aspect_ratio"` // width / height
	Options []float64  `json:"sampler_options"`
	Trials  int        `json:"trials"`
}

const (
	iouCrop    = "random_iou_crop"
	maxTrials  = 1000
	maxOptions = 16
)

func (c *RandomIoUCrop) Name() string { return iouCrop }
func (c *RandomIoUCrop) random() bool { return true }

// grows says that the picture has another size then, as a crop has.
func (c *RandomIoUCrop) grows() (growth, bool) { return growth{iouCrop, iouCrop, iouCrop}, true }

// draws are compared by their text, as options are a list; and rows that are drawn alike have the same boxes to go by only where they are
// of one section.
func (c *RandomIoUCrop) draws() any { return fmt.Sprint(*c) }

func (c *RandomIoUCrop) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkByBoxes(at, fail)
}

func (*RandomIoUCrop) read(d *reading, op *section) Step {
	c := &RandomIoUCrop{Scale: [2]float64{0.3, 1}, Ratio: [2]float64{0.5, 2}, Options: []float64{0, 0.1, 0.3, 0.5, 0.7, 0.9, 1}, Trials: 40}
	sec := d.below(op, iouCrop)
	sec.number("min_scale", &c.Scale[0], 1e-3, 1)
	sec.number("max_scale", &c.Scale[1], 1e-3, 1)
	sec.number("min_aspect_ratio", &c.Ratio[0], minRatio, maxRatio)
	sec.number("max_aspect_ratio", &c.Ratio[1], minRatio, maxRatio)
	if sec.has("sampler_options") {
		c.Options = nil
		for i, n := range sec.items("sampler_options", "a list of least overlaps", maxOptions) {
			o, _ := d.number(n, fmt.Sprintf("%s[%d]", join(sec.shown, "sampler_options"), i), 0, maxFactor)
			c.Options = append(c.Options, o)
		}
		if d.err == nil && c.Options == nil {
			sec.fail("sampler_options", "got none, want at least one, such as [0.1, 0.5, 1]")
		}
	}
	whole(&sec, "trials", &c.Trials, 1, maxTrials)
	switch {
	case d.err != nil:
	case c.Scale[0] > c.Scale[1]:
		op.fail(iouCrop, "got min_scale %g above max_scale %g", c.Scale[0], c.Scale[1])
	case c.Ratio[0] > c.Ratio[1]:
		op.fail(iouCrop, "got min_aspect_ratio %g above max_aspect_ratio %g", c.Ratio[0], c.Ratio[1])
	}
	return c
}

const maxSmallest = 1e6 // of min_size; its square of min_area

func (d *decoder) boxes(s *section) *Boxes {
	b := &Boxes{Format: XYXY, MinSize: 1, MinArea: 1}
	sec, ok := d.following(s, "boxes", &b.Column)
	if !ok {
		return b
	}
	choice(&sec, "format", &b.Format, XYXY, XYWH, CXCYWH)
	sec.flag("normalized", &b.Normalized)
	sec.number("min_size", &b.MinSize, 0, maxSmallest)
	sec.number("min_area", &b.MinArea, 0, maxSmallest*maxSmallest)
	sec.number("min_visibility", &b.MinVisibility, 0, 1)
	sec.with(&b.With)
	sec.text("masks", &b.Masks)
	return b
}

func (d *decoder) points(s *section) *Points {
	p := &Points{}
	sec, ok := d.following(s, "points", &p.Column)
	if !ok {
		return p
	}
	sec.flag("normalized", &p.Normalized)
	sec.flag("remove_invisible", &p.RemoveInvisible)
	sec.with(&p.With)
	return p
}

// following reads the name of a column, or a mapping with it; false: there is no more to be read.
func (d *decoder) following(s *section, key string, column *string) (section, bool) {
	if target(s.values[key]).Kind != yaml.MappingNode {
		s.text(key, column)
		return section{}, false
	}
	sec := d.below(s, key)
	if d.err == nil && !sec.has("column") {
		s.fail(key, "column is missing, want the name of one of source.columns, such as {column: %s}", key)
	}
	sec.text("column", column)
	return sec, d.err == nil
}

// with reads the names of columns that go with another.
func (s *section) with(dst *[]string) {
	if s.has("with") {
		*dst = s.texts("with", "a column's name or a list of them", maxColumns)
	}
}

// checkBoxes holds boxes and points against the columns that there are.
func (d *decoder) checkBoxes(s *Spec) {
	taken := map[string]string{} // by whom, of each column
	for _, m := range s.Media() {
		if m.Image == nil {
			continue
		}
		f := following{d, s.Source.Columns, taken}
		if p := m.Image.Points; p != nil {
			f.points(p, m.Path()+".points")
		}
		if b := m.Image.Boxes; b != nil {
			f.boxes(b, m.Image.Points, m.Path()+".boxes")
			f.masks(b, m.Path()+".boxes.masks")
		}
	}
}

type following struct {
	*decoder
	columns []Column
	taken   map[string]string
}

// take finds a column that nobody else has taken, but for shared, which goes with two; nil: it was refused.
func (f *following) take(at, name, shared, want string) *Column {
	k := slices.IndexFunc(f.columns, func(c Column) bool { return c.Name == name })
	switch by, is := f.taken[name]; {
	case k < 0:
		f.failAt(at, "got %q, want the name of one of source.columns%s", name, want)
	case is && by == at:
		f.failAt(at, "got %q twice; keep one", name)
	case is && name != shared:
		f.failAt(at, "got %q, which %s has already, and a column is moved once; list it a second time in source.columns, under another name, with from: %s", name, by, name)
	default:
		f.taken[name] = at
		return &f.columns[k]
	}
	return nil
}

func (c *Column) lists() bool { return c.Type == TypeNPY || c.Type == TypeList }

func (f *following) boxes(b *Boxes, points *Points, at string) {
	const want = ", a list or an .npy of shape [-1, 4], such as {name: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 100}"
	if c := f.take(at+".column", b.Column, "", want); c == nil {
		return
	} else if !c.lists() || c.MaxLength == 0 || !slices.Equal(c.Shape, tensor.Shape{4}) {
		f.failAt(at+".column", "got %q, %s, want boxes%s", b.Column, c.described(), want)
		return
	}
	shared := ""
	if points != nil && !points.RemoveInvisible {
		shared = points.Column
	}
	f.with(at+".with", b.With, shared)
}

// masks checks the column that the masks of boxes are drawn from.
func (f *following) masks(b *Boxes, at string) {
	const want = ", text, of COCO's segmentation of each box as a list in JSON, such as {name: masks, from: segmentation, type: text, max_bytes: 1MiB}, or the same as numbers, " +
		"{name: masks, type: list, dtype: f64, max_length: 10000}"
	if b.Masks == "" || f.err != nil {
		return
	}
	if c := f.take(at, b.Masks, "", want); c != nil && c.Type != TypeText && !(c.Type == TypeList && c.DType == tensor.F64 && c.MaxLength > 0 && len(c.Shape) == 0) {
		f.failAt(at, "got %q, %s, want outlines%s", b.Masks, c.described(), want)
	}
}

// maxMaskBytes bounds the bytes of a row's masks.
const maxMaskBytes = 2 << 30

// MaskShape is the shape of the mask of one box: H, W; of pictures that keep their size the pixels that there is room for.
func (i *Image) MaskShape() tensor.Shape {
	out := i.Transform.Output()
	if i.Open() {
		return tensor.Shape{int64(i.Room.Height) * int64(i.Room.Width)}
	}
	return tensor.Shape{int64(out.Height), int64(out.Width)}
}

// checkMasks refuses masks that a row has no room for, once it is known how large it is.
func (d *decoder) checkMasks(s *Spec) {
	for _, m := range s.Media() {
		if m.Image == nil || m.Image.Boxes == nil || m.Image.Boxes.Masks == "" || d.err != nil {
			continue
		}
		b, at := m.Image.Boxes, m.Path()+".boxes.masks"
		k := slices.IndexFunc(s.Source.Columns, func(c Column) bool { return c.Name == b.Column })
		most := s.Source.Columns[k].MaxLength
		each, err := m.Image.MaskShape().Elements()
		switch {
		case m.Image.Transform.Bucketed():
			d.failAt(at, "given beside order.buckets of sizes, and rows of masks have one; leave one of them out, or keep each picture's own size: shape: ragged")
		case err != nil || each > maxMaskBytes/int64(most):
			d.failAt(at, "got room for %d masks of %d pixels a row, want at most 2GiB; lower max_length of %q, or resize to less", most, each, b.Column)
		}
	}
}

func (f *following) points(p *Points, at string) {
	const want = ", a list or an .npy whose last dimension is 2 (x, y) or 3 (x, y, visibility), such as {name: points, type: list, dtype: f32, shape: [-1, 2], max_length: 100}"
	c := f.take(at+".column", p.Column, "", want)
	switch {
	case c == nil:
		return
	case !c.lists() || c.Shape != nil && !ofPoints(c.Shape):
		f.failAt(at+".column", "got %q, %s, want points%s", p.Column, c.described(), want)
	case p.With != nil && !p.RemoveInvisible:
		f.failAt(at+".with", "given without remove_invisible: true, so that no point is dropped; leave it out")
	case p.RemoveInvisible && !(c.MaxLength > 0 && len(c.Shape) == 1):
		f.failAt(at+".remove_invisible", "given of %q, %s, want shape: [-1, 2] or [-1, 3], of which a point can be dropped", p.Column, c.described())
	}
	f.with(at+".with", p.With, "")
}

// ofPoints says that an array of this shape, or a line of it, has points.
func ofPoints(shape tensor.Shape) bool {
	return len(shape) > 0 && (shape[len(shape)-1] == 2 || shape[len(shape)-1] == 3)
}

// with takes columns of which lines can be dropped.
func (f *following) with(at string, names []string, shared string) {
	const want = ", a list or an .npy with as many lines, such as {name: classes, type: list, dtype: i64, max_length: 100}"
	for _, name := range names {
		if c := f.take(at, name, shared, want); c != nil && (!c.lists() || c.MaxLength == 0) {
			f.failAt(at, "got %q, %s, want columns of which a line can be dropped%s", name, c.described(), want)
		}
	}
}

// described is what a column is, in words.
func (c *Column) described() string {
	switch {
	case !c.lists():
		return "of type " + c.Type
	case c.MaxLength > 0:
		return fmt.Sprintf("of shape %d", append([]int64{-1}, c.Shape...))
	case c.Shape == nil:
		return "of the first sample's shape"
	}
	return fmt.Sprintf("of shape %d", []int64(c.Shape))
}
