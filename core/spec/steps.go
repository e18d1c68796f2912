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

	// read is the step that the operation of this one's name is; nil: it does nothing. Nothing else of the receiver counts.
	read(d *reading, op *section) Step
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

// kind is what is known of a step before it is read: the step has no more than its name.
type kind struct {
	Step
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

// kinds are all the steps, as messages list them. One more is a line here, its type with its methods, its keys (imagekeys.go), and what core/load makes of it.
var kinds = []kind{
	{&Symmetry{Chance{Operation: "horizontal_flip"}}, turning, also},
	{&Symmetry{Chance{Operation: "vertical_flip"}}, turning, also},
	{&Symmetry{Chance{Operation: rotate90}}, turning, also},
	{&Symmetry{Chance{Operation: transpose}}, turning, also},
	{&RandomRotation{}, turning, also},
	{&RandomAffine{}, turning, also},
	{&RandomPerspective{}, turning, also},
	{&CV2Affine{}, turning, also},
	{&CV2Perspective{}, turning, also},
	{&ElasticTransform{}, turning, never},
	{&CV2Elastic{}, turning, never},
	{&OpticalDistortion{}, turning, never},
	{&GridDistortion{}, turning, never},
	{&PiecewiseAffine{}, turning, never},
	{&RandomGridShuffle{}, turning, never},
	{&RandomZoomOut{}, turning, always},
	{&RandomIoUCrop{}, turning, always},
	{&Crop{}, turning, always},
	{&RandomCropFromBorders{}, turning, always},
	{&CropAndPad{}, turning, always},
	{&BBoxSafeRandomCrop{}, turning, always},
	{&AtLeastOneBBoxRandomCrop{}, turning, always},
	{&ResizedCrop{}, turning, always},
	{&RandomScale{}, turning, always},
	{&Augment{Kind: RandAugment}, augmenting, also},
	{&Augment{Kind: TrivialAugmentWide}, augmenting, also},
	{&Augment{Kind: AutoAugment}, augmenting, also},
	{&Augment{Kind: TimmRandAugment}, augmenting, also},
	{&AugMix{}, augmenting, never},
	{&ColorJitter{}, changing, also},
	{&RandomPhotometricDistort{}, changing, also},
	{&Chance{Operation: permutation}, changing, also},
	{&Chance{Operation: "grayscale"}, changing, also},
	{&GaussianBlur{}, changing, never},
	{&Solarize{}, changing, also},
	{&Posterize{}, changing, also},
	{&Chance{Operation: "invert"}, changing, also},
	{&AdjustSharpness{}, changing, also},
	{&Chance{Operation: "autocontrast"}, changing, also},
	{&Chance{Operation: "equalize"}, changing, also},
	{&GaussianNoise{}, changing, also},
	{&JPEG{}, changing, also},
	{&RandomBrightnessContrast{}, changing, also},
	{&RandomGamma{}, changing, also},
	{&HueSaturationValue{}, changing, also},
	{&RGBShift{}, changing, also},
	{&CV2ColorJitter{}, changing, also},
	{&Kernel{Operation: boxBlur}, changing, also},
	{&Kernel{Operation: medianBlur}, changing, also},
	{&CV2GaussianBlur{}, changing, also},
	{&MotionBlur{}, changing, also},
	{&CoarseDropout{}, changing, also},
	{&CLAHE{}, changing, also},
	{&GridDropout{}, changing, never},
	{&PixelDropout{}, changing, also},
	{&Downscale{}, changing, also},
	{&MultiplicativeNoise{}, changing, also},
	{&ISONoise{}, changing, also},
	{&Morphological{}, changing, never},
	{&Effect{Operation: sharpen}, changing, also},
	{&UnsharpMask{}, changing, also},
	{&Effect{Operation: emboss}, changing, also},
	{&Chance{Operation: sepia}, changing, also},
	{&RandomToneCurve{}, changing, also},
	{&ChannelDropout{}, changing, also},
	{&Chance{Operation: cv2Equalize}, changing, also},
	{&CV2Autocontrast{}, changing, also},
	{&SaltAndPepper{}, changing, also},
	{&PlanckianJitter{}, changing, also},
	{&Erasing{}, changing, also},
	{&RandomShadow{}, changing, also},
	{&AdvancedBlur{}, changing, also},
	{&Defocus{}, changing, also},
	{&RingingOvershoot{}, changing, also},
	{&GlassBlur{}, changing, also},
	{&ZoomBlur{}, changing, also},
	{&RandomFog{}, changing, also},
	{&RandomRain{}, changing, also},
	{&RandomSnow{}, changing, also},
	{&RandomSunFlare{}, changing, also},
	{&ShotNoise{}, changing, also},
	{&FancyPCA{}, changing, also},
	{&RemapClasses{}, changing, also},
	{&Chance{Operation: cv2Gray}, changing, also},
	{&RandomApply{}, grouping, also}, // as its steps are
	{&RandomChoice{}, grouping, also},
	{&RandomOrder{}, grouping, also},
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
		return k.class == turning || k.class == grouping || k.Name() == remapClasses || k.Name() == morphological
	})
	augmentations = namesOf(func(k kind) bool { return k.class == augmenting })
	alterations   = namesOf(func(k kind) bool { return k.class == changing })
	changes       = namesOf(func(k kind) bool { return k.class == changing || k.class == grouping })
	steps         = namesOf(func(kind) bool { return true })
	endings       = []string{"normalize", "random_erasing"}
	operations    = slices.Concat(geometries, steps, endings)
)

func namesOf(is func(kind) bool) (all []string) {
	for _, k := range kinds {
		if is(k) {
			all = append(all, k.Name())
		}
	}
	return all
}

// firstToLast are names that stand in a row, in words.
func firstToLast(names []string) string { return names[0] + " to " + names[len(names)-1] }

// operationOrder says the order in words.
var operationOrder = "resize, center_crop or random_crop, resize, random_resize, random_shortest_size or scale_jitter and one of them, or random_resized_crop alone; pad behind resize: [H, W] or in front of random_crop; ahead of these, or behind resize, random_resize, random_shortest_size or scale_jitter, any of " + strings.Join(earlyTurns, ", ") + ", " + strings.Join(augmentations[:len(augmentations)-1], ", ") + ", and " + firstToLast(changes) + " but " + strings.Join(ofRowsAlone, ", ") + "; then, in any order, " +
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

// step reads the step of this name; nil: it does nothing, or is none.
func (d *reading) step(op *section, name string) Step {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.Name() == name }); i >= 0 {
		return kinds[i].read(d, op)
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
		if strings.HasPrefix(string(m.mixes()), "cv2_") {
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
