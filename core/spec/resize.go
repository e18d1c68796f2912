package spec

// Resize brings the shorter side to Short pixels, or, where that is 0, the picture to Extent.
type Resize struct {
	Short   int
	MaxSize int // of Short: the longer side is no more, whatever becomes of the shorter one; 0: no bound
	Extent
	Interpolation Interpolation
	Fit           Fit
	Fill          *Fill // around a picture that is contained
}

// Fit is how a picture of another shape comes to be of Extent: stretched, if it is zero.
type Fit struct {
	Contain bool // it keeps its shape, and Fill goes around
	Corner  bool // it lies at the top left, not in the middle
	Shrink  bool // a smaller picture keeps its size
}

// The words of resize.fit and resize.place.
const (
	stretch = "stretch"
	contain = "contain"
	center  = "center"
	topLeft = "top_left"
)

func (d *decoder) resize(op *section) *Resize {
	r := &Resize{Interpolation: Bilinear}
	size, shown, sec := d.sized(op, "resize")
	if size == nil {
		return r
	}
	r.Short, r.Extent = d.extent(size, shown)
	choice(sec, "interpolation", &r.Interpolation, Bilinear, Bicubic, Nearest)
	whole(sec, "max_size", &r.MaxSize, 1, maxSide)
	switch {
	case r.MaxSize > 0 && r.Short == 0:
		sec.fail("max_size", "got one beside a size of [H, W], want it beside size: N, the shorter side; leave it out")
	case r.MaxSize > 0 && r.MaxSize <= r.Short:
		sec.fail("max_size", "got %d, want more than the shorter side's %d; for pictures within a square write {size: [%[1]d, %[1]d], fit: contain}", r.MaxSize, r.Short)
	}
	d.fit(sec, r)
	return r
}

func (d *decoder) fit(s *section, r *Resize) {
	how, place, up := stretch, center, true
	choice(s, "fit", &how, stretch, contain)
	choice(s, "place", &place, center, topLeft)
	s.flag("upscale", &up)
	d.fill(s, &r.Fill)
	if how == stretch {
		for _, key := range []string{"place", "upscale", "fill"} {
			if s.has(key) {
				s.fail(key, "given without fit: contain, want it where a picture keeps its shape; leave it out, or write fit: contain")
			}
		}
		return
	}
	if r.Short > 0 {
		s.fail("fit", "got contain beside size: %d, the shorter side; want what the picture is to fit into, such as size: [%[1]d, %[1]d]", r.Short)
	}
	r.Fit = Fit{Contain: true, Corner: place == topLeft, Shrink: !up}
}

// fit is that of its resize.
func (t *Transform) fit() Fit {
	if t.Resize == nil {
		return Fit{}
	}
	return t.Resize.Fit
}

// resized is h x w with its shorter side brought to Short, or, where the longer would be more than MaxSize, that to it.
func (r *Resize) resized(h, w int) (int, int) {
	short, long := min(h, w), max(h, w)
	s, l := r.Short, r.Short*long/short
	if r.MaxSize > 0 && l > r.MaxSize {
		s, l = max(1, r.MaxSize*s/l), r.MaxSize
	}
	if h <= w {
		return s, l
	}
	return l, s
}
