package spec

import (
	"cmp"
	"slices"
)

// move is what puts a row's pixels elsewhere by chance.
type move struct {
	name string
	same func(a, b *Transform) bool // whether equal draws put the pixels of both to the same places
}

// moves are all of them. What each section has for itself, a size, a filter, a fill, is cleared. Of the four augmentations a picture has one, and a mask none.
var moves = []move{
	{"random_resize", func(a, b *Transform) bool {
		return sameBut(a.RandomResize, b.RandomResize, func(r *RandomResize) { r.Interpolation = "" })
	}},
	{"scale_jitter", func(a, b *Transform) bool {
		return sameBut(a.ScaleJitter, b.ScaleJitter, func(j *ScaleJitter) { j.Interpolation = "" })
	}},
	{"random_crop", func(a, b *Transform) bool {
		return sameBut(a.RandomCrop, b.RandomCrop, func(r *RandomCrop) { r.Border = Border{} })
	}},
	{"random_resized_crop", func(a, b *Transform) bool {
		return sameBut(a.RandomResizedCrop, b.RandomResizedCrop, func(r *RandomResizedCrop) { r.Extent, r.Interpolation = Extent{}, "" })
	}},
	{"horizontal_flip", func(a, b *Transform) bool { return a.HorizontalFlip == b.HorizontalFlip }},
	{"vertical_flip", func(a, b *Transform) bool { return a.VerticalFlip == b.VerticalFlip }},
	{"random_rotate90", func(a, b *Transform) bool { return a.RandomRotate90 == b.RandomRotate90 }},
	{"random_rotation", func(a, b *Transform) bool {
		return sameBut(a.RandomRotation, b.RandomRotation, func(r *RandomRotation) { r.Interpolation, r.Fill = "", nil })
	}},
	{"random_affine", func(a, b *Transform) bool {
		return sameBut(a.RandomAffine, b.RandomAffine, func(r *RandomAffine) { r.Interpolation, r.Fill = "", nil })
	}},
	{"random_perspective", func(a, b *Transform) bool {
		return sameBut(a.RandomPerspective, b.RandomPerspective, func(r *RandomPerspective) { r.Interpolation, r.Fill = "", nil })
	}},
	{"random_zoom_out", func(a, b *Transform) bool {
		return sameBut(a.RandomZoomOut, b.RandomZoomOut, func(z *RandomZoomOut) { z.Fill = nil })
	}},
	{"elastic_transform", func(a, b *Transform) bool {
		return sameBut(a.ElasticTransform, b.ElasticTransform, func(e *ElasticTransform) { e.Interpolation, e.Fill = "", nil })
	}},
	{"the place of flips and turns", func(a, b *Transform) bool {
		return slices.Equal(a.Ahead, b.Ahead) && slices.Equal(a.Resized, b.Resized)
	}},
	{"the order of flips and turns", func(a, b *Transform) bool { return slices.Equal(a.turning(), b.turning()) }},
	{RandAugment, func(a, b *Transform) bool {
		return sameBut(a.Augment, b.Augment, func(r *Augment) { r.Interpolation, r.Fill = "", nil })
	}},
}

// turning are the steps that put the row's pixels elsewhere, in their order, where that is another than the usual. Flips alone come to the same in any.
func (t *Transform) turning() []string {
	turns := t.moving()
	if len(turns) == 0 {
		return nil
	}
	return stepsOf(slices.DeleteFunc(slices.Clone(t.Order), func(name string) bool {
		return name != "horizontal_flip" && name != "vertical_flip" && !slices.Contains(turns, name)
	}))
}

// sameBut compares what is there, without what is cleared.
func sameBut[T comparable](a, b *T, clear func(*T)) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	clear(&x)
	clear(&y)
	return x == y
}

// drawnUnlike is the first operation that puts pixels elsewhere by chance and that the other lacks, or has with other numbers.
func (t *Transform) drawnUnlike(other *Transform) string {
	for _, m := range moves {
		switch {
		case m.same(t, other):
		case m.name == RandAugment:
			return cmp.Or(t.Augment, other.Augment).Kind
		default:
			return m.name
		}
	}
	return ""
}

// unlike is what keeps the same draws from putting the other's pixels to the same places; "" where they do. How each is resized is its own: a mask may be
// smaller in its file.
func (t *Transform) unlike(other *Transform) string {
	switch {
	case t.Output() != other.Output():
		return "the size of its rows"
	case t.fit() != other.fit():
		return "how resize fits a picture"
	case t.sides() != other.sides():
		return "pad"
	}
	return t.drawnUnlike(other)
}

// checkFollowed refuses rows that are sheared, turned and moved beside others of the same sample, drawn alike, that are not.
func (d *decoder) checkFollowed(media []Medium) {
	for _, m := range media {
		t := m.transform()
		if m.Own || t == nil || len(t.moving()) == 0 {
			continue
		}
		for _, other := range media {
			o := other.transform()
			if other.Own || o == nil {
				continue
			}
			unlike, name := t.unlike(o), t.moving()[0]
			if unlike == "" {
				continue
			}
			d.failAt(m.Path()+".transform."+name, "got %s, which puts pixels elsewhere, beside %s, whose rows are drawn alike and would not follow, as %s is another there; if they need not fit, make them "+
				"fields, one with draw: own; if they must (a mask), give both the same size, the same random crop and flips and the same operations that turn, shear, move or bend (random_rotation to elastic_transform), in the same order and place, or leave it out: color_jitter, gaussian_blur and the like leave pixels in their place",
				name, other.Path(), unlike)
			return
		}
	}
}

// transform is that of its pictures or frames; nil: it has none.
func (m *Medium) transform() *Transform {
	switch {
	case m.Video != nil:
		return &m.Video.Frame.Transform
	case m.Image != nil:
		return &m.Image.Transform
	}
	return nil
}

// Unfollowed says which mask of a sample does not follow its picture where that is put elsewhere, by chance or in a letterbox, and by what; "" where each does.
// It may be meant so: it is told, not refused.
func (s *Spec) Unfollowed() (mask, picture, operation string) {
	media := s.Media()
	for _, m := range media {
		if m.Own || m.Image == nil || m.Image.Mode != Index {
			continue
		}
		for _, p := range media {
			if t := p.transform(); p.Own || t == nil || p.Image != nil && p.Image.Mode == Index {
				continue
			} else if op := t.drawnUnlike(&m.Image.Transform); op != "" {
				return m.Path(), p.Path(), op
			} else if t.fit() != m.Image.Transform.fit() {
				return m.Path(), p.Path(), "how resize fits a picture (fit, place, upscale)"
			}
		}
	}
	return "", "", ""
}
