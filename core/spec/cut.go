package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Operations that take a part of a whole picture: albumentations' crops that have sizes of their own, boxes to go by, or a probability.
const (
	cutOut        = "crop"
	cutBorders    = "random_crop_from_borders"
	cropAndPad    = "crop_and_pad"
	safeCrop      = "bbox_safe_random_crop"
	boxCrop       = "at_least_one_bbox_random_crop"
	resizedCrop   = "resized_crop"
	randomScaling = "random_scale"

	boxWant   = "[left, top, right, bottom] in pixels"
	movedWant = "a number, [low, high], or a list of four of these: top, right, bottom, left"
	maxCuts   = 8 // the decoders' limit (core/media)
)

// cutting are all of these.
var cutting = []string{cutOut, cutBorders, cropAndPad, safeCrop, boxCrop, resizedCrop, randomScaling}

// Crop is the part of a picture from one place to another, as far as it goes.
type Crop struct {
	Box [4]int  `json:"box"` // left, top, right, bottom
	P   float64 `json:"p"`
}

// RandomCropFromBorders cuts off up to a share of a picture's sides.
type RandomCropFromBorders struct {
	Left   float64 `json:"left"`
	Right  float64 `json:"right"`
	Top    float64 `json:"top"`
	Bottom float64 `json:"bottom"`
	P      float64 `json:"p"`
}

// CropAndPad moves a picture's sides outwards or inwards.
type CropAndPad struct {
	By            [4][2]float64 `json:"by"` // of top, right, bottom and left; shares, or pixels
	Pixels        bool          `json:"pixels"`
	Same          bool          `json:"same"`
	KeepSize      bool          `json:"keep_size"`
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
	Padding       string        `json:"padding_mode,omitempty"`
	Fill          *Fill         `json:"fill,omitempty"`
}

// BBoxSafeRandomCrop takes a part of a picture that has its boxes, and resizes it where Extent is not zero.
type BBoxSafeRandomCrop struct {
	Erosion float64 `json:"erosion_rate"`
	Extent
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
}

// AtLeastOneBBoxRandomCrop takes a part of a size that has one of the boxes.
type AtLeastOneBBoxRandomCrop struct {
	Extent
	Erosion float64 `json:"erosion_factor"`
	P       float64 `json:"p"`
}

// ResizedCrop is a RandomResizedCrop that may happen, ahead of what gives rows their size.
type ResizedCrop struct {
	RandomResizedCrop
	P float64 `json:"p"`
}

// RandomScale multiplies both sides of a picture by a number of Scale.
type RandomScale struct {
	Scale         [2]float64    `json:"scale"`
	P             float64       `json:"p"`
	Interpolation Interpolation `json:"interpolation"`
}

func (c *Crop) Name() string                     { return cutOut }
func (c *RandomCropFromBorders) Name() string    { return cutBorders }
func (c *CropAndPad) Name() string               { return cropAndPad }
func (c *BBoxSafeRandomCrop) Name() string       { return safeCrop }
func (c *AtLeastOneBBoxRandomCrop) Name() string { return boxCrop }
func (c *ResizedCrop) Name() string              { return resizedCrop }
func (r *RandomScale) Name() string              { return randomScaling }

func (c *Crop) random() bool                     { return chance(c.P) }
func (c *RandomCropFromBorders) random() bool    { return c.P > 0 }
func (c *CropAndPad) random() bool               { return drawn(c.P, c.By[:]...) }
func (c *BBoxSafeRandomCrop) random() bool       { return c.P > 0 }
func (c *AtLeastOneBBoxRandomCrop) random() bool { return c.P > 0 }
func (c *ResizedCrop) random() bool              { return c.P > 0 }
func (r *RandomScale) random() bool              { return drawn(r.P, r.Scale) }

func (c *Crop) grows() (growth, bool) { return growth{cutOut, cutOut, cutOut}, true }
func (c *RandomCropFromBorders) grows() (growth, bool) {
	return growth{cutBorders, cutBorders, cutBorders}, true
}
func (c *CropAndPad) grows() (growth, bool) { return growth{cropAndPad, cropAndPad, cropAndPad}, true }
func (c *BBoxSafeRandomCrop) grows() (growth, bool) {
	return growth{safeCrop, safeCrop, safeCrop}, true
}
func (c *AtLeastOneBBoxRandomCrop) grows() (growth, bool) {
	return growth{boxCrop, boxCrop, boxCrop}, true
}
func (c *ResizedCrop) grows() (growth, bool) {
	return growth{resizedCrop, resizedCrop, resizedCrop}, true
}
func (r *RandomScale) grows() (growth, bool) {
	return growth{randomScaling, randomScaling, randomScaling}, true
}

func (c *Crop) draws() any                     { return *c }
func (c *RandomCropFromBorders) draws() any    { return *c }
func (c *BBoxSafeRandomCrop) draws() any       { return *c }
func (c *AtLeastOneBBoxRandomCrop) draws() any { return *c }

func (c *CropAndPad) draws() any {
	d := *c
	d.Interpolation, d.Padding, d.Fill = "", "", nil
	return d
}

func (c *ResizedCrop) draws() any {
	d := *c
	d.Interpolation = ""
	return d
}

func (r *RandomScale) draws() any {
	d := *r
	d.Interpolation = ""
	return d
}

func (c *CropAndPad) mixes() Interpolation {
	if !c.KeepSize {
		return CV2Nearest
	}
	return c.Interpolation
}

func (c *BBoxSafeRandomCrop) mixes() Interpolation {
	if c.Extent == (Extent{}) {
		return CV2Nearest
	}
	return c.Interpolation
}

func (c *ResizedCrop) mixes() Interpolation { return c.Interpolation }
func (r *RandomScale) mixes() Interpolation { return r.Interpolation }

func (c *CropAndPad) fills() *Fill { return c.Fill }

func (c *BBoxSafeRandomCrop) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkByBoxes(at, fail)
}

func (c *AtLeastOneBBoxRandomCrop) check(i *Image, at string, fail func(path, format string, args ...any)) {
	i.checkByBoxes(at, fail)
}

// checkByBoxes refuses a step that goes by boxes where there are none.
func (i *Image) checkByBoxes(at string, fail func(path, format string, args ...any)) {
	if i.Boxes == nil {
		fail(at, "goes by the boxes of the picture, and its section has none; add boxes: {column: NAME} beside transform, or take random_crop or random_resized_crop")
	}
}

// byBoxes are the operations that a sample's boxes decide about.
var byBoxes = []string{iouCrop, safeCrop, boxCrop}

// CropsByBoxes says that a sample's boxes decide where its picture is cropped.
func (t *Transform) CropsByBoxes() bool {
	for _, name := range byBoxes {
		if t.step(name) != nil {
			return true
		}
	}
	return false
}

func (*Crop) read(d *reading, op *section) Step {
	c := &Crop{P: 1}
	box, shown, sec := d.short(op, cutOut, "box")
	switch {
	case d.err != nil:
	case box == nil:
		op.fail(cutOut, "box is missing, want box: %s", boxWant)
	case target(box).Kind == yaml.ScalarNode:
		d.fail(box, shown, "got %s, want %s; center_crop and random_crop take a size", describe(box), boxWant)
	}
	if d.err != nil {
		return c
	}
	items := d.items(box, shown, boxWant, len(c.Box))
	if d.err == nil && len(items) != len(c.Box) {
		d.fail(box, shown, "got a list of %d, want %s", len(items), boxWant)
	}
	for i, item := range items {
		if d.err == nil {
			d.wholeAt(item, fmt.Sprintf("%s[%d]", shown, i), &c.Box[i], 0, maxSide)
		}
	}
	if b := c.Box; d.err == nil && (b[0] >= b[2] || b[1] >= b[3]) {
		d.fail(box, shown, "got %v, want left before right and top before bottom", b)
	}
	sec.number("p", &c.P, 0, 1)
	return c
}

func (*RandomCropFromBorders) read(d *reading, op *section) Step {
	c := &RandomCropFromBorders{Left: 0.1, Right: 0.1, Top: 0.1, Bottom: 0.1, P: 1}
	sec := d.below(op, cutBorders)
	for key, to := range map[string]*float64{"left": &c.Left, "right": &c.Right, "top": &c.Top, "bottom": &c.Bottom, "p": &c.P} {
		sec.number(key, to, 0, 1)
	}
	for _, both := range []struct {
		name, other string
		of          float64
	}{{"left", "right", c.Left + c.Right}, {"top", "bottom", c.Top + c.Bottom}} {
		if d.err == nil && both.of > 1 {
			op.fail(cutBorders, "got %s and %s of %g together, want no more than 1, which is all of the picture", both.name, both.other, both.of)
		}
	}
	return c
}

func (*CropAndPad) read(d *reading, op *section) Step {
	c := &CropAndPad{KeepSize: true, P: 1, Interpolation: CV2Linear}
	by, shown, sec := d.short(op, cropAndPad, "percent")
	most, read := 1.0, d.from(-1, 1)
	if sec.has("px") {
		if by != nil {
			sec.fail("px", "given beside percent; leave one of them out")
		}
		by, shown, c.Pixels, most = sec.values["px"], join(sec.shown, "px"), true, maxSide
		read = func(n *yaml.Node, shown string) float64 {
			v, _ := d.whole(n, shown, -maxSide, maxSide)
			return float64(v)
		}
	}
	if d.err == nil && by == nil {
		op.fail(cropAndPad, "percent is missing, want it, or px: %s", movedWant)
	}
	if d.err != nil {
		return c
	}
	c.Same = true
	switch v := target(by); {
	case v.Kind == yaml.SequenceNode && len(v.Content) == len(c.By):
		c.Same = false
		for i, n := range v.Content {
			oneOrRange(d.decoder, n, fmt.Sprintf("%s[%d]", shown, i), fmt.Sprintf("a number from %g to %g", -most, most), &c.By[i], read)
		}
	case v.Kind == yaml.SequenceNode && len(v.Content) != 2:
		d.fail(by, shown, "got a list of %d, want %s", len(v.Content), movedWant)
	default:
		oneOrRange(d.decoder, by, shown, movedWant, &c.By[0], read)
		apart := true
		sec.flag("sample_independently", &apart)
		c.Same = !apart || c.By[0][0] == c.By[0][1]
		c.By[1], c.By[2], c.By[3] = c.By[0], c.By[0], c.By[0]
	}
	if !c.Same && d.err == nil && sec.has("sample_independently") && len(target(by).Content) == len(c.By) {
		sec.fail("sample_independently", "given beside four ranges, each of which is drawn for itself; leave it out")
	}
	sec.flag("keep_size", &c.KeepSize)
	sec.number("p", &c.P, 0, 1)
	d.cv2Resampler(sec, &c.Interpolation)
	border := Border{}
	d.border(sec, &border)
	if c.Padding, c.Fill = border.Mode, border.Fill; c.Padding != "" && c.Padding != Edge {
		sec.fail("padding_mode", "got %s, want constant or edge, as a part of the picture may be gone that would be mirrored", c.Padding)
	}
	return c
}

// cv2Resampler reads one of OpenCV's filters.
func (d *decoder) cv2Resampler(sec *section, to *Interpolation) {
	choice(sec, "interpolation", to, CV2Linear, CV2Nearest, CV2Area, CV2Cubic, CV2Lanczos4)
}

func (*BBoxSafeRandomCrop) read(d *reading, op *section) Step {
	c := &BBoxSafeRandomCrop{P: 1, Interpolation: CV2Linear}
	rate, shown, sec := d.short(op, safeCrop, "erosion_rate")
	if rate != nil && d.err == nil {
		c.Erosion, _ = d.number(rate, shown, 0, 1)
	}
	if sec.has("size") {
		d.cutSize(sec, &c.Extent)
	} else if sec.has("interpolation") {
		sec.fail("interpolation", "given without size, by which the part is resized; add it, or leave this out")
	}
	sec.number("p", &c.P, 0, 1)
	d.cv2Resampler(sec, &c.Interpolation)
	return c
}

// cutSize reads the size of what comes out.
func (d *decoder) cutSize(sec *section, to *Extent) {
	d.square(sec.values["size"], join(sec.shown, "size"), to)
}

func (d *decoder) square(n *yaml.Node, shown string, to *Extent) {
	short := 0
	if short, *to = d.extent(n, shown); *to == ofBucket && d.err == nil {
		d.fail(n, shown, "got bucket, want %s in pixels", sizeWant)
	}
	to.square(short)
}

func (*AtLeastOneBBoxRandomCrop) read(d *reading, op *section) Step {
	c := &AtLeastOneBBoxRandomCrop{P: 1}
	size, shown, sec := d.sized(op, boxCrop)
	if d.err == nil {
		d.square(size, shown, &c.Extent)
	}
	sec.number("erosion_factor", &c.Erosion, 0, 1)
	sec.number("p", &c.P, 0, 1)
	return c
}

func (*ResizedCrop) read(d *reading, op *section) Step {
	c := &ResizedCrop{P: 1, RandomResizedCrop: RandomResizedCrop{Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3.0 / 4, 4.0 / 3}, Interpolation: CV2Linear}}
	size, shown, sec := d.sized(op, resizedCrop)
	if d.err == nil {
		d.square(size, shown, &c.Extent)
	}
	d.parted(sec, &c.RandomResizedCrop)
	sec.number("p", &c.P, 0, 1)
	d.cv2Resampler(sec, &c.Interpolation)
	return c
}

func (*RandomScale) read(d *reading, op *section) Step {
	r := &RandomScale{Scale: [2]float64{0.9, 1.1}, P: 0.5, Interpolation: CV2Linear}
	scale, shown, sec := d.short(op, randomScaling, "scale")
	d.numberOrRange(scale, shown, &r.Scale, minScale, maxScale)
	sec.number("p", &r.P, 0, 1)
	d.cv2Resampler(sec, &r.Interpolation)
	return r
}

// checkCuts bounds how many of these there are.
func (t *Transform) checkCuts(section string, fail func(path, format string, args ...any)) {
	n := 0
	for _, s := range t.all() {
		if slices.Contains(cutting, s.Name()) {
			n++
		}
	}
	if n > maxCuts {
		fail(section+".transform", "got %d operations that take a part of the picture or resize it ahead of its crop, want at most %d", n, maxCuts)
	}
}
