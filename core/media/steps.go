package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Step is one thing that is done to a row once it is cropped and resized, or to a picture ahead of that: a Chance, or a pointer to Rotation,
// Jitter, Blur and the other types here that are named after what they do.
type Step interface {
	kind() C.uint32_t // MEDIA_DO_
	check(in place) error
	fill(to *C.media_step)
}

// Placed is a step where Config has it.
type Placed struct {
	Step
	Member        // of a group; zero: of none
	ByTorch  bool // as torchvision's v2 does it on a tensor of bytes, not on a PIL image
	Shuffled bool // it is one of those, next to each other, that are done in an order that is drawn
}

// Steps are steps that are in no group.
func Steps(all ...Step) (placed []Placed) {
	for _, s := range all {
		placed = append(placed, Placed{Step: s})
	}
	return placed
}

// Member says in which group a step is, for which a number from 0 to 1 is drawn: it is left out unless that lies from Low on and below High. Beside that it has
// the probability that it has without. With Pick there is no such number, but so many Of the group's steps are done, of which it is number Which.
type Member struct {
	Group           int // 1 to MaxGroups
	Low, High       float64
	Pick, Of, Which int // Which: 0 to Of - 1
}

// MaxGroups bounds the numbers of groups, MaxPicked the steps of one of which some are picked, MaxOrder the steps of a row and of what is ahead of it, and MaxAlike how many of these
// may be of one kind.
const (
	MaxGroups = 16
	MaxPicked = 64
	MaxOrder  = C.MEDIA_MAX_ORDER
	MaxAlike  = C.MEDIA_MAX_AGAIN + 1
)

// Simple is a kind of step that has a probability alone.
type Simple uint8

const (
	Flip         Simple = C.MEDIA_DO_FLIP      // left and right change places
	VFlip        Simple = C.MEDIA_DO_VFLIP     // top and bottom do
	Quarters     Simple = C.MEDIA_DO_QUARTERS  // a row that is square, or a picture ahead of that, is turned to the left by a quarter of a circle, two, three or none
	Transpose    Simple = C.MEDIA_DO_TRANSPOSE // and such a one has its lines for columns
	Permute      Simple = C.MEDIA_DO_PERMUTE   // the channels change places
	Grayscale    Simple = C.MEDIA_DO_GRAY      // all channels become Pillow's L
	Invert       Simple = C.MEDIA_DO_INVERT
	Autocontrast Simple = C.MEDIA_DO_AUTOCONTRAST
	Equalize     Simple = C.MEDIA_DO_EQUALIZE
	CV2Gray      Simple = C.MEDIA_DO_CV2_GRAY     // all channels become OpenCV's grey
	Sepia        Simple = C.MEDIA_DO_SEPIA        // colours become albumentations' brown
	CV2Equalize  Simple = C.MEDIA_DO_CV2_EQUALIZE // as Equalize, by OpenCV's table
)

// Chance is such a step, which is done with probability P.
type Chance struct {
	Of Simple
	P  float64
}

func (c Chance) kind() C.uint32_t { return C.uint32_t(c.Of) }

func (c Chance) fill(to *C.media_step) { to.p = C.double(c.P) }

// check wants a square of what turns a row's sides into each other.
func (c Chance) check(in place) error {
	out := in.out()
	switch {
	case c.Of != Quarters && c.Of != Transpose || in.early || c.P == 0:
		return nil
	case in.Open != nil:
		return fmt.Errorf("open: got %s of rows, which are not square, want it ahead", kinds[c.Of].name)
	case out.H != out.W:
		return fmt.Errorf("%s: got rows of %d x %d, want square ones, or it ahead or resized", kinds[c.Of].name, out.H, out.W)
	}
	return nil
}

// place is where a step is.
type place struct {
	*Config
	early   bool // it is done to a picture ahead of the geometry, or between a resize and a crop
	byTorch bool
}

// filter wants one that Pillow's Image.transform has, or torch's grid, and none that mixes numbers of classes.
func (in place) filter(name string, by Interpolation) error {
	switch {
	case !by.warps():
		return fmt.Errorf("%s: want interpolation nearest, bilinear or bicubic", name)
	case by == Bicubic && in.byTorch:
		return fmt.Errorf("%s: by torch: got interpolation bicubic, want nearest or bilinear, which are all that torch's has", name)
	case by != Nearest && in.Mode == Index:
		return fmt.Errorf("%s: want interpolation nearest with mode index, as others mix numbers of classes", name)
	}
	return nil
}

// kinds is what is known of each kind of step.
var kinds = [C.MEDIA_STEPS]struct {
	name    string
	early   bool       // it may be ahead of the geometry, or between a resize and a crop
	byTorch bool       // a tensor's numbers are others
	values  bool       // it makes other values of values, which numbers of classes do not bear
	colours bool       // it wants three channels
	most    C.uint32_t // retouches that it may come to, where these may be more than one
}{
	C.MEDIA_DO_FLIP:             {name: "horizontal flip", early: true},
	C.MEDIA_DO_VFLIP:            {name: "vertical flip", early: true},
	C.MEDIA_DO_QUARTERS:         {name: "quarters", early: true},
	C.MEDIA_DO_ROTATION:         {name: "rotation", early: true, byTorch: true},
	C.MEDIA_DO_AFFINE:           {name: "affine", early: true, byTorch: true},
	C.MEDIA_DO_PERSPECTIVE:      {name: "perspective", early: true, byTorch: true},
	C.MEDIA_DO_ELASTIC:          {name: "elastic"},
	C.MEDIA_DO_AUGMENT:          {name: "augmentation", early: true, byTorch: true, values: true, most: C.MEDIA_MAX_MIX*(C.MEDIA_MAX_MIX+1) + 1},
	C.MEDIA_DO_JITTER:           {name: "jitter", early: true, byTorch: true, values: true, most: C.MEDIA_JITTERS},
	C.MEDIA_DO_DISTORT:          {name: "distort", early: true, byTorch: true, values: true, colours: true, most: C.MEDIA_JITTERS + 1},
	C.MEDIA_DO_PERMUTE:          {name: "permute", early: true, values: true, colours: true},
	C.MEDIA_DO_GRAY:             {name: "grayscale", early: true, byTorch: true, values: true, colours: true},
	C.MEDIA_DO_BLUR:             {name: "blur", values: true},
	C.MEDIA_DO_SOLARIZE:         {name: "solarize", early: true, values: true},
	C.MEDIA_DO_POSTERIZE:        {name: "posterize", early: true, values: true},
	C.MEDIA_DO_INVERT:           {name: "invert", early: true, values: true},
	C.MEDIA_DO_SHARPNESS:        {name: "sharpness", early: true, byTorch: true, values: true},
	C.MEDIA_DO_AUTOCONTRAST:     {name: "autocontrast", early: true, byTorch: true, values: true},
	C.MEDIA_DO_EQUALIZE:         {name: "equalize", early: true, values: true},
	C.MEDIA_DO_NOISE:            {name: "noise", early: true, values: true},
	C.MEDIA_DO_JPEG:             {name: "jpeg", early: true, values: true},
	C.MEDIA_DO_ZOOM_OUT:         {name: "zoom out", early: true},
	C.MEDIA_DO_IOU_CROP:         {name: "IoU crop", early: true},
	C.MEDIA_DO_LIGHT:            {name: "light", early: true, values: true},
	C.MEDIA_DO_GAMMA:            {name: "gamma", early: true, values: true},
	C.MEDIA_DO_CV2_GRAY:         {name: "OpenCV's grey", early: true, values: true, colours: true},
	C.MEDIA_DO_CV2_AFFINE:       {name: "OpenCV's affine", early: true},
	C.MEDIA_DO_HSV:              {name: "shift of HSV", early: true, values: true, colours: true},
	C.MEDIA_DO_RGB_SHIFT:        {name: "shift of RGB", early: true, values: true, colours: true},
	C.MEDIA_DO_CV2_JITTER:       {name: "OpenCV's jitter", early: true, values: true, most: C.MEDIA_JITTERS},
	C.MEDIA_DO_BOX_BLUR:         {name: "box blur", early: true, values: true},
	C.MEDIA_DO_MEDIAN:           {name: "median", early: true, values: true},
	C.MEDIA_DO_CV2_BLUR:         {name: "OpenCV's blur", early: true, values: true},
	C.MEDIA_DO_MOTION:           {name: "motion", early: true, values: true},
	C.MEDIA_DO_HOLES:            {name: "holes", early: true, values: true, most: C.MEDIA_MAX_HOLES},
	C.MEDIA_DO_CLAHE:            {name: "CLAHE", early: true, values: true},
	C.MEDIA_DO_TRANSPOSE:        {name: "transpose", early: true},
	C.MEDIA_DO_SHARPEN:          {name: "sharpen", early: true, values: true},
	C.MEDIA_DO_EMBOSS:           {name: "emboss", early: true, values: true},
	C.MEDIA_DO_SEPIA:            {name: "sepia", early: true, values: true, colours: true},
	C.MEDIA_DO_TONE_CURVE:       {name: "tone curve", early: true, values: true},
	C.MEDIA_DO_DROP_CHANNELS:    {name: "drop channels", early: true, values: true, colours: true},
	C.MEDIA_DO_CV2_EQUALIZE:     {name: "OpenCV's equalize", early: true, values: true},
	C.MEDIA_DO_OPTICAL:          {name: "optical"},
	C.MEDIA_DO_GRID:             {name: "grid"},
	C.MEDIA_DO_PIECEWISE:        {name: "piecewise"},
	C.MEDIA_DO_CV2_PERSPECTIVE:  {name: "OpenCV's perspective", early: true},
	C.MEDIA_DO_GRID_HOLES:       {name: "grid holes", values: true},
	C.MEDIA_DO_SPECKS:           {name: "specks", early: true, values: true},
	C.MEDIA_DO_DOWNSCALE:        {name: "downscale", early: true, values: true},
	C.MEDIA_DO_REMAP:            {name: "remap", early: true},
	C.MEDIA_DO_MULTIPLY:         {name: "multiply", early: true, values: true},
	C.MEDIA_DO_UNSHARP:          {name: "unsharp", early: true, values: true},
	C.MEDIA_DO_SHUFFLE:          {name: "shuffle"},
	C.MEDIA_DO_MORPH:            {name: "morph"},
	C.MEDIA_DO_CV2_ELASTIC:      {name: "OpenCV's elastic"},
	C.MEDIA_DO_ISO:              {name: "ISO", early: true, values: true, colours: true},
	C.MEDIA_DO_CV2_AUTOCONTRAST: {name: "OpenCV's autocontrast", early: true, values: true},
	C.MEDIA_DO_SALT:             {name: "salt", early: true, values: true},
	C.MEDIA_DO_PLANCKIAN:        {name: "planckian", early: true, values: true, colours: true},
	C.MEDIA_DO_ERASING:          {name: "erasing", early: true, values: true},
	C.MEDIA_DO_SHADOW:           {name: "shadow", early: true, values: true, most: C.MEDIA_MAX_SHADOWS},
	C.MEDIA_DO_ADVANCED:         {name: "advanced blur", early: true, values: true},
	C.MEDIA_DO_DEFOCUS:          {name: "defocus", early: true, values: true},
	C.MEDIA_DO_RINGING:          {name: "ringing", early: true, values: true},
	C.MEDIA_DO_GLASS:            {name: "glass", early: true, values: true},
	C.MEDIA_DO_ZOOM:             {name: "zoom blur", early: true, values: true},
	C.MEDIA_DO_FOG:              {name: "fog", early: true, values: true, colours: true},
	C.MEDIA_DO_RAIN:             {name: "rain", early: true, values: true, colours: true},
	C.MEDIA_DO_SNOW:             {name: "snow", early: true, values: true, colours: true},
	C.MEDIA_DO_FLARE:            {name: "flare", early: true, values: true, colours: true},
	C.MEDIA_DO_SHOT:             {name: "shot", early: true, values: true},
	C.MEDIA_DO_PCA:              {name: "PCA", early: true, values: true},
	C.MEDIA_DO_CUT:              {name: "cut", early: true},
	C.MEDIA_DO_CUT_BORDERS:      {name: "cut borders", early: true},
	C.MEDIA_DO_CUT_SIDES:        {name: "cut sides", early: true},
	C.MEDIA_DO_CUT_SAFELY:       {name: "cut safely", early: true},
	C.MEDIA_DO_CUT_AROUND:       {name: "cut around", early: true},
	C.MEDIA_DO_CUT_RESIZED:      {name: "cut resized", early: true},
	C.MEDIA_DO_RESCALE:          {name: "rescale", early: true},
}

// own is the part of a step that is its kind's own.
func own[T any](s *C.media_step) *T { return (*T)(unsafe.Pointer(&s.of)) }

// steps checks what is done besides the geometry, and fills in what the kernel knows of it.
func (cfg *Config) steps(op *C.media_op) error {
	if len(cfg.Resized) > 0 && (cfg.resizes() == 0 || cfg.Random != nil || cfg.Contain != nil) {
		return fmt.Errorf("resized: got %d steps, want a resize that they come behind, and no random crop or contain", len(cfg.Resized))
	}
	if n := len(cfg.Ahead) + len(cfg.Resized) + len(cfg.Steps); n > MaxOrder {
		return fmt.Errorf("steps: got %d, want at most %d", n, MaxOrder)
	}
	op.ahead = [2]C.uint32_t{C.uint32_t(len(cfg.Ahead)), C.uint32_t(len(cfg.Resized))}
	for i, list := range [][]Placed{cfg.Ahead, cfg.Resized, cfg.Steps} {
		for k := range list {
			if err := cfg.step(op, &list[k], i < 2); err != nil {
				return err
			}
			if !list[k].Shuffled {
				continue
			}
			if err := shuffle(op, op.n_steps-1, k == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// shuffle adds a step, which may be the first of its side of the geometry, to those that are done in an order that is drawn.
func shuffle(op *C.media_op, at C.uint32_t, first bool) error {
	if n := op.shuffled[1]; n == 0 {
		op.shuffled[0] = at
	} else if first || op.shuffled[0]+n != at {
		return fmt.Errorf("shuffled: got step %d of them, and others further ahead, want steps that are next to each other, on one side of a crop", at)
	}
	op.shuffled[1]++
	return nil
}

// step adds one.
func (cfg *Config) step(op *C.media_op, s *Placed, early bool) error {
	to, of := &op.steps[op.n_steps], &kinds[s.kind()]
	*to = C.media_step{kind: s.kind(), p: 1, by_torch: flag(s.ByTorch), most: max(1, of.most)}
	s.Step.fill(to)
	for i := range op.steps[:op.n_steps] {
		if op.steps[i].kind == to.kind {
			to.again++
		}
	}
	op.n_steps++
	switch {
	case !(to.p >= 0 && to.p <= 1):
		return fmt.Errorf("%s: got probability %v, want 0 to 1", of.name, to.p)
	case to.again >= MaxAlike:
		return fmt.Errorf("%s: got it more than %d times", of.name, MaxAlike)
	case parts(op) > MaxParts:
		return fmt.Errorf("steps: got more than %d that take a part of a picture, or resize it", MaxParts)
	case early && !of.early:
		return fmt.Errorf("%s: got it ahead of a crop, want it behind", of.name)
	case s.ByTorch && !of.byTorch:
		return fmt.Errorf("%s: by torch: want a step whose numbers on a tensor are not those on a picture", of.name)
	case of.values && cfg.Mode == Index && to.p > 0:
		return fmt.Errorf("mode index: want no %s, as numbers of classes are no colours", of.name)
	case of.colours && cfg.Mode != RGB && to.p > 0:
		return fmt.Errorf("%s: want mode RGB, as grey has one channel", of.name)
	}
	if err := s.check(place{cfg, early, s.ByTorch}); err != nil {
		return err
	}
	return s.Member.fill(to)
}

// fill says in which group a step is.
func (m *Member) fill(to *C.media_step) error {
	name := kinds[to.kind].name
	switch {
	case *m == Member{}:
		return nil
	case to.kind == C.MEDIA_DO_ZOOM_OUT || to.kind == C.MEDIA_DO_IOU_CROP:
		return fmt.Errorf("groups: got %s, want a step of a row", name)
	case m.Group < 1 || m.Group > MaxGroups:
		return fmt.Errorf("groups: %s: got group %d, want 1 to %d", name, m.Group, MaxGroups)
	case m.Pick != 0 && !(0 < m.Pick && m.Pick <= m.Of && m.Of <= MaxPicked && 0 <= m.Which && m.Which < m.Of):
		return fmt.Errorf("groups: %s: got number %d of %d of which %d are picked, want one of at most %d, and fewer to pick than there are", name, m.Which, m.Of, m.Pick, MaxPicked)
	case !(m.Low >= 0 && m.Low <= m.High && m.High <= 1):
		return fmt.Errorf("groups: %s: got %v to %v, want 0 <= low <= high <= 1", name, m.Low, m.High)
	}
	to.member = C.media_member{
		group: C.uint32_t(m.Group), low: C.double(m.Low), high: C.double(m.High),
		pick: C.uint32_t(m.Pick), of: C.uint32_t(m.Of), which: C.uint32_t(m.Which),
	}
	return nil
}
