package spec

import "slices"

// move is a part of the geometry that puts pixels elsewhere by chance.
type move struct {
	name string
	same func(a, b *Transform) bool // whether equal draws put the pixels of both to the same places
}

// moves are all of them, and the corner in which a crop lies. What each section has for itself, a size, a filter, a fill, is cleared.
var moves = []move{
	{"random_resize", func(a, b *Transform) bool {
		return sameBut(a.RandomResize, b.RandomResize, func(r *RandomResize) { r.Interpolation = "" })
	}},
	{randomShortestSize, func(a, b *Transform) bool { return a.RandomShortestSize.draws() == b.RandomShortestSize.draws() }},
	{"scale_jitter", func(a, b *Transform) bool {
		return sameBut(a.ScaleJitter, b.ScaleJitter, func(j *ScaleJitter) { j.Interpolation = "" })
	}},
	{"the position of center_crop", func(a, b *Transform) bool { return a.spot() == b.spot() }},
	{"random_crop", func(a, b *Transform) bool {
		return sameBut(a.RandomCrop, b.RandomCrop, func(r *RandomCrop) { r.Border = Border{} })
	}},
	{"random_resized_crop", func(a, b *Transform) bool {
		return sameBut(a.RandomResizedCrop, b.RandomResizedCrop, func(r *RandomResizedCrop) { r.Extent, r.Interpolation = Extent{}, "" })
	}},
}

// spot is where a crop that is not drawn lies.
type spot struct {
	position string
	down     bool
}

func (t *Transform) spot() spot {
	if t.CenterCrop == nil {
		return spot{}
	}
	return spot{t.CenterCrop.Position, t.CenterCrop.Down}
}

// shifters are those of the steps that put pixels elsewhere, and the groups that have such.
func shifters(all []Step) (shift []shifter) {
	for _, s := range all {
		if g, is := s.(grouper); is && len(moved(g.group())) == 0 {
			continue
		}
		if s, is := s.(shifter); is {
			shift = append(shift, s)
		}
	}
	return shift
}

// moving are the steps that put pixels elsewhere and are no flips, which all rows of a sample need not have in common.
func (t *Transform) moving() []shifter {
	return slices.DeleteFunc(shifters(t.all()), func(s shifter) bool { return s.Name() == "horizontal_flip" || s.Name() == "vertical_flip" })
}

// turning are the steps that put the row's pixels elsewhere, in their order. Flips alone come to the same in any.
func (t *Transform) turning() (names []string) {
	if len(t.moving()) == 0 {
		return nil
	}
	for _, s := range shifters(Flat(t.Steps)) {
		names = append(names, s.Name())
	}
	return names
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
		if !m.same(t, other) {
			return m.name
		}
	}
	for _, s := range shifters(append(t.all(), other.all()...)) {
		if !slices.Equal(t.drawsOf(s.Name()), other.drawsOf(s.Name())) {
			return s.Name()
		}
	}
	switch {
	case !slices.Equal(stepNames(moved(Flat(t.Ahead))), stepNames(moved(Flat(other.Ahead)))), !slices.Equal(stepNames(moved(Flat(t.Resized))), stepNames(moved(Flat(other.Resized)))):
		return "the place of flips and turns"
	case !slices.Equal(t.turning(), other.turning()):
		return "the order of flips and turns"
	}
	return ""
}

// drawsOf are the draws of the steps of this name that put pixels elsewhere, of which only groups may be several.
func (t *Transform) drawsOf(name string) (all []any) {
	for _, s := range shifters(t.all()) {
		if s.Name() == name {
			all = append(all, s.draws())
		}
	}
	return all
}

// sizedAs says that both resize by one rule, where rows keep the size that this gives.
func (t *Transform) sizedAs(other *Transform) bool {
	if t.Output() != (Extent{}) || other.Output() != (Extent{}) {
		return true
	}
	a, b := Resize{}, Resize{}
	if t.Resize != nil {
		a = *t.Resize
	}
	if other.Resize != nil {
		b = *other.Resize
	}
	same := a.Area == b.Area || a.Area != nil && b.Area != nil && *a.Area == *b.Area
	return same && a.Short == b.Short && a.MaxSize == b.MaxSize
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
	case !t.sizedAs(other):
		return "how large resize makes a picture"
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
			unlike, name := t.unlike(o), t.moving()[0].Name()
			if unlike == "" {
				continue
			}
			d.failAt(m.Path()+".transform."+name, "got %s, which puts pixels elsewhere, beside %s, whose rows are drawn alike and would not follow, as %s is another there; if they need not fit, make them "+
				"fields, one with draw: own; if they must (a mask), give both the same size, the same random crop and flips and the same operations that turn, shear, move or bend (%s, morphological), in the same order and place, or leave it out: color_jitter, gaussian_blur and the like leave pixels in their place",
				name, other.Path(), unlike, firstToLast(turns[slices.Index(turns, "random_rotation"):]))
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
			} else if !t.sizedAs(&m.Image.Transform) {
				return m.Path(), p.Path(), "how large resize makes a picture (size, max_size)"
			} else if t.fit() != m.Image.Transform.fit() {
				return m.Path(), p.Path(), "how resize fits a picture (fit, place, upscale)"
			}
		}
	}
	return "", "", ""
}
