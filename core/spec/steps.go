package spec

import (
	"slices"
	"strings"
)

// Step is an operation of a transform that is done to pixels: a pointer to a struct whose JSON decides the description's hash. Steps are compared,
// refused and drawn by what else they have of the interfaces below.
type Step interface {
	Name() string // the operation's, as a description has it

	// random reports whether rows differ by it: what always happens, and always alike, is none.
	random() bool
}

// shifter is a step that puts pixels elsewhere.
type shifter interface {
	Step

	// draws is what decides where, which can be compared: of two sections whose draws are equal, pixels come to the same places. What each section has
	// for itself, a filter and a fill, is left out.
	draws() any
}

// mixer is a step that makes pixels of several others, by a filter.
type mixer interface{ mixes() Interpolation }

// filler is a step that has no pixel everywhere; nil is black.
type filler interface{ fills() *Fill }

// grower is a step by which pictures may become larger, before they are cropped.
type grower interface{ grows() (growth, bool) }

// growth is the key by which a picture grows, what it says, and both in words.
type growth struct{ key, got, called string }

// grouper is a step that does others, or not.
type grouper interface{ group() []Step }

// fitted is a step that needs something of its section.
type fitted interface {
	check(i *Image, at string, fail func(path, format string, args ...any))
}

// kind is what is known of a step before it is read.
type kind struct {
	name  string
	class class
	early early
}

type class uint8

const (
	turning    class = iota // moves pixels, those of masks, too
	augmenting              // draws its operations
	changing                // leaves pixels where they are
	grouping                // does others
)

// How many steps a transform may have, and how many of one kind, of which the augmentations are one.
const (
	mostSteps = 64
	mostAlike = 16
)

type early uint8

const (
	never  early = iota // of a row alone
	also                // as well ahead of the geometry, or behind one of its resizes
	always              // there alone
)

// kinds are all the steps, as messages list them. One more is a line here and in read, its type with its methods, its keys (keys.go), and what core/load
// makes of it.
var kinds = []kind{
	{"horizontal_flip", turning, also},
	{"vertical_flip", turning, also},
	{rotate90, turning, also},
	{transpose, turning, also},
	{"random_rotation", turning, also},
	{"random_affine", turning, also},
	{"random_perspective", turning, also},
	{cv2Affine, turning, also},
	{cv2Perspective, turning, also},
	{"elastic_transform", turning, never},
	{cv2Elastic, turning, never},
	{opticalDistortion, turning, never},
	{gridDistortion, turning, never},
	{gridShuffle, turning, never},
	{"random_zoom_out", turning, always},
	{iouCrop, turning, always},
	{cutOut, turning, always},
	{cutBorders, turning, always},
	{cropAndPad, turning, always},
	{safeCrop, turning, always},
	{boxCrop, turning, always},
	{resizedCrop, turning, always},
	{randomScaling, turning, always},
	{RandAugment, augmenting, also},
	{TrivialAugmentWide, augmenting, also},
	{AutoAugment, augmenting, also},
	{TimmRandAugment, augmenting, also},
	{augMix, augmenting, never},
	{"color_jitter", changing, also},
	{"random_photometric_distort", changing, also},
	{"random_channel_permutation", changing, also},
	{"grayscale", changing, also},
	{"gaussian_blur", changing, never},
	{"solarize", changing, also},
	{"posterize", changing, also},
	{"invert", changing, also},
	{"adjust_sharpness", changing, also},
	{"autocontrast", changing, also},
	{"equalize", changing, also},
	{"gaussian_noise", changing, also},
	{"jpeg", changing, also},
	{"random_brightness_contrast", changing, also},
	{"random_gamma", changing, also},
	{hsvShift, changing, also},
	{rgbShift, changing, also},
	{cv2Jitter, changing, also},
	{boxBlur, changing, also},
	{medianBlur, changing, also},
	{cv2Blur, changing, also},
	{motionBlur, changing, also},
	{coarseDropout, changing, also},
	{clahe, changing, also},
	{gridDropout, changing, never},
	{pixelDropout, changing, also},
	{downscale, changing, also},
	{multiplication, changing, also},
	{isoNoise, changing, also},
	{morphological, changing, never},
	{sharpen, changing, also},
	{unsharpMask, changing, also},
	{emboss, changing, also},
	{sepia, changing, also},
	{toneCurve, changing, also},
	{channelDropout, changing, also},
	{cv2Equalize, changing, also},
	{cv2Autocontrast, changing, also},
	{saltAndPepper, changing, also},
	{planckian, changing, also},
	{erasing, changing, also},
	{randomShadow, changing, also},
	{remapClasses, changing, also},
	{cv2Gray, changing, also},
	{randomApply, grouping, also}, // as its steps are
	{randomChoice, grouping, also},
	{randomOrder, grouping, also},
}

// The operations of a transform: first the geometry, in this order; then the steps, in any; then what ends it. Those of
// whole pictures may also stand ahead of the geometry, or behind one of its resizes; those of masks move pixels, or are of classes and shapes.
var (
	geometries  = []string{"resize", "random_resize", randomShortestSize, "scale_jitter", "pad", "center_crop", "random_crop", "random_resized_crop"}
	alone       = []string{"random_resize", randomShortestSize, "scale_jitter", "random_resized_crop"} // that come first
	turns       = namesOf(func(k kind) bool { return k.class == turning && k.early != always })
	earlyTurns  = namesOf(func(k kind) bool { return k.class == turning && k.early != never })
	ofRowsAlone = namesOf(func(k kind) bool { return k.class == changing && k.early == never })
	ofPictures  = namesOf(func(k kind) bool { return k.early != never })
	ofMasks     = namesOf(func(k kind) bool {
		return k.class == turning || k.class == grouping || k.name == remapClasses || k.name == morphological
	})
	augmentations = namesOf(func(k kind) bool { return k.class == augmenting })
	changes       = namesOf(func(k kind) bool { return k.class == changing || k.class == grouping })
	steps         = namesOf(func(kind) bool { return true })
	endings       = []string{"normalize", "random_erasing"}
	operations    = slices.Concat(geometries, steps, endings)
)

func namesOf(is func(kind) bool) (all []string) {
	for _, k := range kinds {
		if is(k) {
			all = append(all, k.name)
		}
	}
	return all
}

// operationOrder says the order in words.
var operationOrder = "resize, center_crop or random_crop, resize, random_resize, random_shortest_size or scale_jitter and one of them, or random_resized_crop alone; pad behind resize: [H, W] or in front of random_crop; ahead of these, or behind resize, random_resize, random_shortest_size or scale_jitter, any of " + strings.Join(earlyTurns, ", ") + ", " + strings.Join(augmentations[:len(augmentations)-1], ", ") + ", and " + changes[0] + " to " + changes[len(changes)-1] + " but " + strings.Join(ofRowsAlone, ", ") + "; then, in any order, " +
	strings.Join(turns, ", ") + ", " + strings.Join(augmentations, ", ") + "; " + strings.Join(changes, ", ") + "; then " + strings.Join(endings, ", ")

// misplaced says why an operation cannot come after those before it, of which it is none; "" where it can.
func misplaced(name string, before []string) string {
	if len(before) == 0 {
		return ""
	}
	last := before[len(before)-1]
	clash := func(names []string, with ...string) bool {
		return slices.Contains(names, name) && slices.ContainsFunc(before, func(b string) bool { return slices.Contains(with, b) })
	}
	switch {
	case slices.Contains(steps, name) && slices.Contains(endings, last), slices.Contains(endings, name) && slices.Index(operations, name) < slices.Index(operations, last),
		clash([]string{"random_crop"}, "center_crop"):
		return "comes after " + last
	case isGeometry(name):
		return misplacedGeometry(name, before)
	}
	return ""
}

func isGeometry(name string) bool { return slices.Contains(geometries, name) }

// misplacedGeometry is misplaced of what crops, pads and resizes: in its order, and behind nothing but what is of whole pictures, of which pad has none behind it.
func misplacedGeometry(name string, before []string) string {
	last := ""
	for _, of := range before {
		switch {
		case isGeometry(of):
			last = of
		case last == "pad" || !slices.Contains(ofPictures, of):
			return "comes after " + of
		}
	}
	if last != "" && (slices.Index(geometries, name) < slices.Index(geometries, last) || slices.Contains(alone, name)) {
		return "comes after " + last
	}
	return ""
}

// step reads the step of this name; nil: it does nothing.
func (d *reading) step(op *section, name string) Step {
	switch name {
	case randomApply:
		return d.randomApply(op)
	case randomChoice:
		return d.randomChoice(op)
	case randomOrder:
		return d.randomOrder(op)
	case "horizontal_flip", "vertical_flip", rotate90, transpose:
		if c := d.chance(op, name); c != nil {
			return &Symmetry{*c}
		}
	case "grayscale", "autocontrast":
		if c := d.chanceOf(op, name); c != nil {
			return c
		}
	case "random_channel_permutation", "invert", "equalize", cv2Gray, sepia, cv2Equalize:
		if c := d.chance(op, name); c != nil {
			return c
		}
	case "random_rotation":
		return d.randomRotation(op)
	case "random_affine":
		return d.randomAffine(op)
	case "random_perspective":
		return d.randomPerspective(op)
	case "elastic_transform":
		return d.elasticTransform(op)
	case cv2Perspective:
		return d.cv2Perspective(op)
	case cv2Elastic:
		return d.cv2Elastic(op)
	case opticalDistortion:
		return d.opticalDistortion(op)
	case gridDistortion:
		return d.gridDistortion(op)
	case gridShuffle:
		return d.randomGridShuffle(op)
	case "random_zoom_out":
		return d.randomZoomOut(op)
	case iouCrop:
		return d.randomIoUCrop(op)
	case cutOut, cutBorders, cropAndPad, safeCrop, boxCrop, resizedCrop, randomScaling:
		return d.cut(op, name)
	case RandAugment, TrivialAugmentWide, AutoAugment:
		return d.augment(op, name)
	case TimmRandAugment:
		return d.timmRandAugment(op)
	case augMix:
		return d.augMix(op)
	case "color_jitter":
		return d.colorJitter(op)
	case "random_photometric_distort":
		return d.photometricDistort(op)
	case "gaussian_blur":
		return d.gaussianBlur(op)
	case "solarize":
		return d.solarize(op)
	case "posterize":
		return d.posterize(op)
	case "adjust_sharpness":
		return d.adjustSharpness(op)
	case "random_brightness_contrast":
		return d.brightnessContrast(op)
	case "random_gamma":
		return d.gamma(op)
	case cv2Affine:
		return d.cv2Affine(op)
	case hsvShift:
		return d.hueSaturationValue(op)
	case rgbShift:
		return d.rgbShift(op)
	case cv2Jitter:
		return d.cv2ColorJitter(op)
	case boxBlur, medianBlur:
		return d.ofKernel(op, name)
	case cv2Blur:
		return d.cv2GaussianBlur(op)
	case motionBlur:
		return d.motionBlur(op)
	case coarseDropout:
		return d.coarseDropout(op)
	case clahe:
		return d.clahe(op)
	case gridDropout:
		return d.gridDropout(op)
	case pixelDropout:
		return d.pixelDropout(op)
	case downscale:
		return d.downscale(op)
	case morphological:
		return d.morphological(op)
	case isoNoise:
		return d.isoNoise(op)
	case multiplication:
		return d.multiplicativeNoise(op)
	case sharpen, emboss:
		return d.effect(op, name)
	case unsharpMask:
		return d.unsharpMask(op)
	case toneCurve:
		return d.toneCurve(op)
	case channelDropout:
		return d.channelDropout(op)
	case cv2Autocontrast:
		return d.cv2Autocontrast(op)
	case saltAndPepper:
		return d.saltAndPepper(op)
	case planckian:
		return d.planckianJitter(op)
	case erasing:
		return d.erasing(op)
	case randomShadow:
		return d.randomShadow(op)
	case remapClasses:
		return d.remapClasses(op)
	case "gaussian_noise":
		return d.gaussianNoise(op)
	case "jpeg":
		return d.jpeg(op)
	}
	return nil
}

// behindSteps says that an operation of the geometry, the first or another, is behind the steps so far.
func (t *Transform) behindSteps(first bool) {
	if first {
		t.Ahead = t.Steps
	} else {
		t.Resized = append(t.Resized, t.Steps...)
	}
	t.Steps = nil
}

// early are the steps that are not done to the row.
func (t *Transform) early() []Step { return Flat(slices.Concat(t.Ahead, t.Resized)) }

// all are the steps in their order, each group of them in front of its own.
func (t *Transform) all() (all []Step) {
	for _, s := range slices.Concat(t.Ahead, t.Resized, t.Steps) {
		all = append(all, s)
		if g, is := s.(grouper); is {
			all = append(all, g.group()...)
		}
	}
	return all
}

// step is the one of this name; nil: it is not there.
func (t *Transform) step(name string) Step {
	for _, s := range t.all() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// placed are all the steps, each by the key of its place.
func (t *Transform) placed(section string) func(yield func(at string, s Step) bool) {
	return func(yield func(at string, s Step) bool) {
		var before []string
		for _, s := range t.all() {
			if !yield(section+".transform."+again(s.Name(), count(before, s.Name())), s) {
				return
			}
			before = append(before, s.Name())
		}
	}
}

// sectionOf is the section of the step that has its place at this key.
func sectionOf(at string) string { return at[:strings.LastIndex(at, ".transform.")] }

// stepNames are the operations' names.
func stepNames(all []Step) (names []string) {
	for _, s := range all {
		names = append(names, s.Name())
	}
	return names
}

// checkSteps holds each step against its section.
func (i *Image) checkSteps(section string, fail func(path, format string, args ...any)) {
	for at, s := range i.Transform.placed(section) {
		if i.Mode == Index {
			i.checkStepOfIndex(s, at, fail)
		}
		if s, is := s.(fitted); is {
			s.check(i, at, fail)
		}
	}
}

// checkStepOfIndex wants of a mask's step that it moves pixels, and mixes none, or that it is of classes.
func (i *Image) checkStepOfIndex(s Step, at string, fail func(path, format string, args ...any)) {
	if !slices.Contains(ofMasks, s.Name()) {
		fail(at, "got %s with mode index, whose numbers of classes are no colours; leave it out: only the picture's section needs it", s.Name())
	} else if m, is := s.(mixer); is && m.mixes() != Nearest && m.mixes() != CV2Nearest {
		want := Nearest
		if slices.Contains([]string{cv2Affine, cv2Perspective, opticalDistortion, gridDistortion, cropAndPad, safeCrop, resizedCrop, randomScaling}, s.Name()) {
			want = CV2Nearest
		}
		fail(at, "got interpolation %s with mode index, want %s, as others mix numbers of classes; write {interpolation: %[2]s}", m.mixes(), want)
	}
}

// checkEarly refuses a row that would grow.
func (i *Image) checkEarly(section string, fail func(path, format string, args ...any)) {
	t := &i.Transform
	for at, s := range t.placed(section) {
		g, is := growthOf(s)
		at += strings.TrimPrefix(g.key, s.Name())
		switch {
		case !is:
		case slices.Contains(Flat(t.Resized), s) && t.CenterCrop == nil && t.RandomCrop == nil:
			fail(at, "got %s behind resize, and pad adds to what has no size then; add center_crop or random_crop, or write %s ahead of resize", g.got, s.Name())
		case slices.Contains(t.early(), s):
		case i.Open():
			fail(at, "got %s behind %s, where the row has its size; write %s in front of that, as it is done to the whole picture", g.got, t.settled(), s.Name())
		default:
			fail(at, "got %s for rows, which have one size; write %s ahead of center_crop, random_crop, random_resized_crop or resize: [H, W], or leave it out", g.got, s.Name())
		}
	}
}

// settled is what an open row has its size by, or the first step that wants it to have one.
func (t *Transform) settled() string {
	if t.geometric() {
		return "what resizes the picture"
	}
	steps := Flat(t.Steps)
	return steps[slices.IndexFunc(steps, ofRows)].Name()
}

func grows(s Step) bool {
	_, is := growthOf(s)
	return is
}

func growthOf(s Step) (growth, bool) {
	if s, is := s.(grower); is {
		return s.grows()
	}
	return growth{}, false
}

// canonicalSteps are what the hash is made of: each step by its name.
func canonicalSteps(all []Step) (named []map[string]Step) {
	for _, s := range all {
		named = append(named, map[string]Step{s.Name(): s})
	}
	return named
}
