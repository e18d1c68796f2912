package spec

import (
	"fmt"
	"math"
	"strconv"
)

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
	Contain   bool // it keeps its shape, and Fill goes around
	Corner    bool // it lies at the top left, not in the middle
	Shrink    bool // a smaller picture keeps its size
	Letterbox bool // of Contain: rounded as YOLO's is, not as ImageOps.pad
	Cover     bool // it keeps its shape, and no side is less than the Extent's: a crop follows
}

// The words of resize.fit and resize.place.
const (
	stretch   = "stretch"
	contain   = "contain"
	letterbox = "letterbox"
	cover     = "cover"
	center    = "center"
	topLeft   = "top_left"
)

// The corners in which a crop may lie.
const (
	TopLeft     = topLeft
	TopRight    = "top_right"
	BottomLeft  = "bottom_left"
	BottomRight = "bottom_right"
)

var positions = []string{center, TopLeft, TopRight, BottomLeft, BottomRight}

// word is what resize.fit says.
func (f Fit) word() string {
	switch {
	case f.Letterbox:
		return letterbox
	case f.Contain:
		return contain
	case f.Cover:
		return cover
	}
	return stretch
}

func (d *decoder) resize(op *section) *Resize {
	r := &Resize{Interpolation: Bilinear}
	size, shown, sec := d.sized(op, "resize")
	if size == nil {
		return r
	}
	r.Short, r.Extent = d.extent(size, shown)
	d.resampler(sec, &r.Interpolation)
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
	choice(s, "fit", &how, stretch, contain, letterbox, cover)
	choice(s, "place", &place, center, topLeft)
	s.flag("upscale", &up)
	d.fill(s, &r.Fill)
	if how == stretch || how == cover {
		for _, key := range []string{"place", "upscale", "fill"} {
			if s.has(key) {
				s.fail(key, "given without fit: contain or letterbox, want it where a picture keeps its shape; leave it out, or write fit: contain")
			}
		}
	}
	if r.Short > 0 && how != stretch {
		s.fail("fit", "got %s beside size: %d, the shorter side; want what the picture is to fit into, or to cover, such as size: [%[2]d, %[2]d]", how, r.Short)
	}
	if how == stretch || how == cover {
		r.Fit.Cover = how == cover
		return
	}
	r.Fit = Fit{Contain: true, Corner: place == topLeft, Shrink: !up, Letterbox: how == letterbox}
}

// RandomResize brings the shorter side to one of MinSize to MaxSize - 1 pixels.
type RandomResize struct {
	MinSize, MaxSize int
	Interpolation    Interpolation
}

// ScaleJitter makes the picture as large as Extent has room for, times a number of Scale.
type ScaleJitter struct {
	Extent
	Scale         [2]float64 // low, high
	Interpolation Interpolation
}

// checkChance refuses a size that is left to chance.
func (t *Transform) checkChance(section string, fail func(path, format string, args ...any)) (refused bool) {
	name, crop := "", ""
	switch {
	case t.RandomResize != nil:
		name, crop = "random_resize", strconv.Itoa(t.RandomResize.MaxSize/2)
	case t.ScaleJitter != nil:
		name, crop = "scale_jitter", fmt.Sprintf("[%d, %d]", t.ScaleJitter.Height, t.ScaleJitter.Width)
	default:
		for _, s := range t.all() {
			if g, grows := growthOf(s); grows && name == "" {
				name, crop = g.called, "224"
			}
		}
		if name == "" {
			return false
		}
	}
	fail(section+".transform", "%s leaves the size of the picture to chance, and every row of a batch must have one size; add random_crop: %s, which puts fill around smaller pictures, or center_crop", name, crop)
	return true
}

func (d *decoder) randomResize(op *section) *RandomResize {
	const key = "random_resize"
	r := &RandomResize{Interpolation: Bilinear}
	sec := d.needs(op, key, "min_size", "256")
	if d.err == nil && !sec.has("max_size") {
		op.fail(key, "max_size is missing, want one, such as {min_size: 256, max_size: 1025}")
	}
	whole(&sec, "min_size", &r.MinSize, 1, maxSide)
	whole(&sec, "max_size", &r.MaxSize, 2, maxSide+1)
	d.resampler(&sec, &r.Interpolation)
	if d.err == nil && r.MinSize >= r.MaxSize {
		sec.fail("max_size", "got %d, want more than min_size, %d, as the shorter side becomes less than max_size", r.MaxSize, r.MinSize)
	}
	return r
}

func (d *decoder) scaleJitter(op *section) *ScaleJitter {
	const key = "scale_jitter"
	j := &ScaleJitter{Scale: [2]float64{0.1, 2}, Interpolation: Bilinear}
	size, shown, sec := d.short(op, key, "target_size")
	if d.err == nil && size == nil {
		op.fail(key, "target_size is missing, want target_size: %s", sizeWant)
	}
	if d.err != nil {
		return j
	}
	short := 0
	short, j.Extent = d.extent(size, shown)
	j.square(short)
	d.interval(sec, "scale_range", &j.Scale, minScale, maxScale)
	d.resampler(sec, &j.Interpolation)
	return j
}

// fit is that of its resize.
func (t *Transform) fit() Fit {
	if t.Resize == nil {
		return Fit{}
	}
	return t.Resize.Fit
}

// resized is h x w with its shorter side brought to Short, or, where the longer would be more than MaxSize, that to it; or as large as covers Extent.
func (r *Resize) resized(h, w int) (int, int) {
	if r.Fit.Cover {
		return r.covering(h, w)
	}
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

// covering is the size, of the shape of h x w, at which one side is Extent's and the other no less: that of Pillow's ImageOps.cover.
func (e Extent) covering(h, w int) (int, int) {
	switch ratio, least := float64(w)/float64(h), float64(e.Width)/float64(e.Height); {
	case ratio < least:
		return int(math.RoundToEven(float64(h) / float64(w) * float64(e.Width))), e.Width
	case ratio > least:
		return e.Height, int(math.RoundToEven(ratio * float64(e.Height)))
	}
	return e.Height, e.Width
}
