package spec

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Resize brings the picture to Extent; or, where that is zero, the shorter side to Short pixels; or, where that is 0, the longer one to MaxSize.
type Resize struct {
	Short   int
	MaxSize int  // of Short: the longer side is no more, whatever becomes of the shorter one; 0: no bound
	Nearest bool // of one side: the other is rounded to the nearest, not down
	DETR    bool // of MaxSize, with Short or without: as DETR's image processors round
	YOLOS   bool // of Short and MaxSize: as DETR, but to whole multiples of 16, as YOLOS' round
	Extent
	Interpolation Interpolation
	Fit           Fit
	Fill          *Fill   // around a picture that is contained
	Area          *ByArea // in place of Short and Extent
}

// ByArea is Qwen2-VL's smart_resize: sides that are whole multiples of MultipleOf, near the picture's own, and so many pixels.
type ByArea struct {
	MinPixels  int  `json:"min_pixels"`
	MaxPixels  int  `json:"max_pixels"`
	MultipleOf int  `json:"multiple_of"`
	Up         bool `json:"up,omitempty"` // SigLIP 2's: by one scale, rounded up, as many as MaxPixels has room for; there is no MinPixels
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

// Exact says that it makes pictures of one size.
func (r *Resize) Exact() bool { return r.Extent != (Extent{}) && !r.Fit.Cover }

func (d *decoder) resize(op *section) *Resize {
	r := &Resize{Interpolation: Bilinear}
	size, shown, sec := d.short(op, "resize", "size")
	d.area(sec, r)
	if size != nil {
		r.Short, r.Extent = d.extent(size, shown)
	} else if d.err == nil && r.Area == nil && !sec.has("max_size") {
		op.fail("resize", "size is missing, want size: %s, max_size, or min_pixels, max_pixels and multiple_of", sizeWant)
	}
	if d.err != nil || r.Area != nil {
		return r
	}
	d.resampler(sec, &r.Interpolation)
	whole(sec, "max_size", &r.MaxSize, 1, maxSide)
	switch {
	case r.MaxSize > 0 && r.Exact():
		sec.fail("max_size", "got one beside a size of [H, W], want it beside size: N, the shorter side; leave it out")
	case r.MaxSize > 0 && r.MaxSize <= r.Short:
		sec.fail("max_size", "got %d, want more than the shorter side's %d; for pictures within a square write {size: [%[1]d, %[1]d], fit: contain}", r.MaxSize, r.Short)
	}
	d.rounding(sec, r)
	d.fit(sec, r)
	return r
}

// area reads what stands in the place of a size.
func (d *decoder) area(s *section, r *Resize) {
	if d.err != nil || !s.has("min_pixels") && !s.has("max_pixels") && !s.has("multiple_of") {
		return
	}
	r.Area = &ByArea{}
	how := toNearest
	choice(s, "rounding", &how, toNearest, upwards)
	r.Area.Up = how == upwards
	if r.Area.Up && s.has("min_pixels") {
		s.fail("min_pixels", "given beside rounding: up, by which a picture has as many of max_pixels as there may be; leave it out")
	}
	for _, key := range []string{"size", "max_size", "fit", "place", "upscale", "fill"} {
		if s.has(key) {
			s.fail(key, "given beside min_pixels, max_pixels and multiple_of, which say how large a picture becomes; leave one or the other out")
		}
	}
	for _, n := range []struct {
		key, example string
		most         int
		to           *int
	}{
		{"min_pixels", "3136", maxSide * maxSide, &r.Area.MinPixels},
		{"max_pixels", "1003520", maxSide * maxSide, &r.Area.MaxPixels},
		{"multiple_of", "28", maxMultiple, &r.Area.MultipleOf},
	} {
		if r.Area.Up && n.key == "min_pixels" {
			continue
		}
		if d.err == nil && !s.has(n.key) {
			d.failAt(s.place, "%s is missing, want all of min_pixels, max_pixels and multiple_of, such as %s: %s", n.key, n.key, n.example)
		}
		whole(s, n.key, n.to, 1, n.most)
	}
	if a := r.Area; d.err == nil && a.MinPixels > a.MaxPixels {
		s.fail("max_pixels", "got %d, want at least min_pixels, %d", a.MaxPixels, a.MinPixels)
	}
	d.resampler(s, &r.Interpolation)
}

// The words of rounding: what becomes of the half of a pixel, and of less.
const (
	toNearest = "nearest"
	downwards = "down"
	upwards   = "up"
	ofDETR    = "detr"
	ofYOLOS   = "yolos"
)

func (d *decoder) rounding(s *section, r *Resize) {
	how := downwards
	choice(s, "rounding", &how, downwards, toNearest, ofDETR, ofYOLOS)
	r.Nearest, r.DETR, r.YOLOS = how == toNearest, how == ofDETR, how == ofYOLOS
	switch {
	case !s.has("rounding"):
	case r.Exact():
		s.fail("rounding", "given beside a size of [H, W], where nothing is rounded; leave it out, or write size: N, the shorter side")
	case r.Nearest && r.Short > 0 && r.MaxSize > 0:
		s.fail("rounding", "got nearest beside size and max_size, want it beside one of them; leave it or max_size out, or write detr")
	case r.YOLOS && (r.Short == 0 || r.MaxSize == 0):
		s.fail("rounding", "got yolos beside one of size and max_size, want both, such as {size: 800, max_size: 1333, rounding: yolos}")
	case r.DETR && r.MaxSize == 0:
		s.fail("rounding", "got detr without max_size, want that beside it, such as {size: 800, max_size: 1333, rounding: detr}, or {max_size: 480, rounding: detr}")
	}
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
	if how != stretch && !r.Exact() {
		s.fail("fit", "got %s beside %s; want what the picture is to fit into, or to cover, such as size: [%[3]d, %[3]d]", how, r.says(), max(r.Short, r.MaxSize))
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

// RandomShortestSize brings the shorter side to one of MinSize, or the longer one to MaxSize, whichever makes it smaller.
type RandomShortestSize struct {
	MinSize       []int         `json:"min_size"`
	MaxSize       int           `json:"max_size,omitempty"` // 0: no bound
	Interpolation Interpolation `json:"interpolation"`
}

const (
	randomShortestSize = "random_shortest_size"
	maxShortest        = 32
)

// draws is what decides how large a picture becomes.
func (r *RandomShortestSize) draws() string {
	if r == nil {
		return ""
	}
	return fmt.Sprint(r.MinSize, r.MaxSize)
}

func (d *decoder) randomShortestSize(op *section) *RandomShortestSize {
	r := &RandomShortestSize{Interpolation: Bilinear}
	sizes, shown, sec := d.short(op, randomShortestSize, "min_size")
	if d.err == nil && sizes == nil {
		op.fail(randomShortestSize, "min_size is missing, want one, such as {min_size: [480, 640, 800], max_size: 1333}")
	}
	if d.err != nil {
		return r
	}
	all := []*yaml.Node{sizes}
	if v := target(sizes); v.Kind == yaml.SequenceNode {
		if all = v.Content; len(all) < 1 || len(all) > maxShortest {
			d.fail(sizes, shown, "got a list of %d, want 1 to %d sizes of the shorter side", len(all), maxShortest)
		}
	}
	for i, n := range all {
		side, _ := d.whole(n, fmt.Sprintf("%s[%d]", shown, i), 1, maxSide)
		r.MinSize = append(r.MinSize, int(side))
	}
	whole(sec, "max_size", &r.MaxSize, 1, maxSide)
	d.resampler(sec, &r.Interpolation)
	return r
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
	case t.RandomShortestSize != nil:
		name, crop = randomShortestSize, strconv.Itoa(slices.Min(t.RandomShortestSize.MinSize))
	case t.ScaleJitter != nil:
		name, crop = "scale_jitter", fmt.Sprintf("[%d, %d]", t.ScaleJitter.Height, t.ScaleJitter.Width)
	default:
		for _, s := range t.all() {
			if g, is := growthOf(s); is && name == "" {
				name, crop = g.called, "224"
			}
		}
		if name == "" {
			return false
		}
	}
	fail(section+".transform", "%s leaves the size of the picture to chance, and every row of a batch must have one size; add random_crop: %s, which puts fill around smaller pictures, or center_crop%s", name, crop, orOpen(section))
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

// says is which side it fixes, in words.
func (r *Resize) says() string {
	if r.Short > 0 {
		return fmt.Sprintf("size: %d, the shorter side", r.Short)
	}
	return fmt.Sprintf("max_size: %d, the longer side", r.MaxSize)
}

// resized is h x w with its shorter side brought to Short, or, where the longer would be more than MaxSize, that to it; or as large as covers Extent.
func (r *Resize) resized(h, w int) (int, int) {
	if r.Area != nil && r.Area.Up {
		return r.Area.multiplesUp(h, w)
	}
	if r.Area != nil {
		return r.Area.resized(h, w)
	}
	if r.Fit.Cover {
		return r.covering(h, w)
	}
	short, long := min(h, w), max(h, w)
	if r.DETR || r.YOLOS {
		return r.ofDETR(h, w)
	}
	if r.Nearest {
		by := float64(r.MaxSize) / float64(long)
		if r.Short > 0 {
			by = float64(r.Short) / float64(short)
		}
		return scaled(h, by), scaled(w, by)
	}
	s, l := r.Short, r.Short*long/short
	if r.Short == 0 {
		s, l = max(1, r.MaxSize*short/long), r.MaxSize
	} else if r.MaxSize > 0 && l > r.MaxSize {
		s, l = max(1, r.MaxSize*s/l), r.MaxSize
	}
	if h <= w {
		return s, l
	}
	return l, s
}

// ofDETR is h x w as DETR's image processors have it: where MaxSize bounds the shorter side that is rounded to the nearest, and the longer one cut off of
// what it is without that. Without Short both sides are times one scale, and cut off (max_height and max_width). YOLOS' leave no picture that is higher
// than wide as it is, and cut both sides to multiples of 16.
func (r *Resize) ofDETR(h, w int) (int, int) {
	if r.Short == 0 {
		by := float64(r.MaxSize) / float64(max(h, w))
		return max(1, int(float64(h)*by)), max(1, int(float64(w)*by))
	}
	short, long, exact := float64(min(h, w)), float64(max(h, w)), float64(r.Short)
	if long/short*exact > float64(r.MaxSize) {
		exact = float64(r.MaxSize) * short / long
	}
	s, l := math.RoundToEven(exact), math.Floor(exact*long/short)
	if s = max(1, s); s == short && (h <= w || !r.YOLOS) {
		l = long
	}
	if r.YOLOS {
		s, l = max(1, math.Floor(s/16))*16, max(1, math.Floor(l/16))*16
	}
	if h <= w {
		return int(s), int(l)
	}
	return int(l), int(s)
}

// resized is h x w by smart_resize's rule: rounded half to even, as core/media does it.
func (a *ByArea) resized(h, w int) (int, int) {
	of := func(side int, by float64, round func(float64) float64) int {
		return int(round(float64(side)/by/float64(a.MultipleOf))) * a.MultipleOf
	}
	high, wide := of(h, 1, math.RoundToEven), of(w, 1, math.RoundToEven)
	switch {
	case high*wide > a.MaxPixels:
		by := math.Sqrt(float64(h*w) / float64(a.MaxPixels))
		return max(a.MultipleOf, of(h, by, math.Floor)), max(a.MultipleOf, of(w, by, math.Floor))
	case high*wide < a.MinPixels:
		by := math.Sqrt(float64(a.MinPixels) / float64(h*w))
		up := func(side int) int { return int(math.Ceil(float64(side)*by/float64(a.MultipleOf))) * a.MultipleOf }
		return up(h), up(w)
	}
	return high, wide
}

// maxOblong is how many times as long as its other one a picture's side may be, in smart_resize.
const maxOblong = 200

// most bounds the pixels of what resized makes: MaxPixels, unless a side of a long picture is one MultipleOf because it cannot be less, or sides that
// grow to MinPixels are rounded up beyond it.
func (a *ByArea) most() int {
	if a.Up {
		return max(a.MaxPixels, a.MultipleOf*a.MultipleOf)
	}
	m := float64(a.MultipleOf)
	shrunk := max(1, math.Floor(math.Sqrt(maxOblong*float64(a.MaxPixels))/m)) // multiples of the longer side, where the shorter is one
	if float64(a.MaxPixels) >= maxOblong*m*m {
		shrunk = 0 // it is never so short
	}
	side := math.Sqrt(float64(a.MinPixels))
	grown := math.Floor((side*math.Sqrt(maxOblong)/m + 1) * (side/math.Sqrt(maxOblong)/m + 1)) // multiples of both, of the longest picture
	return min(max(a.MaxPixels, int(max(shrunk, grown)*m*m)), maxSide*maxSide)
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

// scaled is a side times a scale, in whole pixels.
func scaled(side int, by float64) int { return max(1, int(math.RoundToEven(float64(side)*by))) }
