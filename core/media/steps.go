package media

import (
	"fmt"
	"slices"
)

// Step is what may be done to a row once it is cropped and resized, and is a field of Config. Flips, Quarters, Transpose, Rotation, Affine, Perspective, CV2Affine, CV2Perspective,
// Jitter, Distort and Remap may also be done to a picture ahead of that, ZoomOut and IoUCrop to such a one alone.
type Step uint8

const (
	StepFlip Step = iota
	StepVFlip
	StepQuarters
	StepRotation
	StepAffine
	StepPerspective
	StepElastic
	StepAugment
	StepJitter
	StepDistort
	StepPermute
	StepGrayscale
	StepBlur
	StepSolarize
	StepPosterize
	StepInvert
	StepSharpness
	StepAutocontrast
	StepEqualize
	StepNoise
	StepJPEG
	StepZoomOut
	StepIoUCrop
	StepLight
	StepGamma
	StepCV2Gray
	StepCV2Affine
	StepHSV
	StepRGBShift
	StepCV2Jitter
	StepBoxBlur
	StepMedian
	StepCV2Blur
	StepMotion
	StepHoles
	StepCLAHE
	StepTranspose
	StepSharpen
	StepEmboss
	StepSepia
	StepToneCurve
	StepDropChannels
	StepCV2Equalize
	StepOptical
	StepGrid
	StepCV2Perspective
	StepGridHoles
	StepSpecks
	StepDownscale
	StepRemap
	StepMultiply
	StepUnsharp
	StepShuffle
	StepMorph
	StepISO
	steps
)

// Member is a step of a group, for which a number from 0 to 1 is drawn: it is left out unless that lies from Low on and below High. Beside that it has
// the probability that it has without. With Pick there is no such number, but so many Of the group's steps are done, of which it is number Which.
type Member struct {
	Step            Step
	Group           int // 1 to MaxGroups
	Low, High       float64
	Pick, Of, Which int // Which: 0 to Of - 1
}

// MaxGroups bounds the numbers of groups, MaxPicked the steps of one of which some are picked.
const (
	MaxGroups = 16
	MaxPicked = 64
)

// checkShuffled wants a part of the order, on one side of the geometry.
func (cfg *Config) checkShuffled() error {
	first, n := cfg.Shuffled[0], cfg.Shuffled[1]
	if first < 0 || n < 0 || first+n > len(cfg.Order) {
		return fmt.Errorf("shuffled: got %d from %d on, want a part of the %d steps of order", n, first, len(cfg.Order))
	}
	for _, end := range []int{cfg.Ahead, cfg.Ahead + cfg.Resized} {
		if first < end && end < first+n {
			return fmt.Errorf("shuffled: got %d from %d on, of which some are ahead of what others are behind", n, first)
		}
	}
	return nil
}

// checkGroups wants each step in one group.
func (cfg *Config) checkGroups() error {
	all := cfg.Groups
	for i, m := range all {
		switch {
		case m.Step >= steps, m.Step == StepZoomOut, m.Step == StepIoUCrop:
			return fmt.Errorf("groups: got step %d, want one of a row", m.Step)
		case slices.ContainsFunc(all[:i], func(before Member) bool { return before.Step == m.Step }):
			return fmt.Errorf("groups: got step %d twice, want each once", m.Step)
		case m.Group < 1 || m.Group > MaxGroups:
			return fmt.Errorf("groups: got group %d, want 1 to %d", m.Group, MaxGroups)
		case m.Pick != 0 && !(0 < m.Pick && m.Pick <= m.Of && m.Of <= MaxPicked && 0 <= m.Which && m.Which < m.Of):
			return fmt.Errorf("groups: got number %d of %d of which %d are picked, want one of at most %d, and fewer to pick than there are", m.Which, m.Of, m.Pick, MaxPicked)
		case !(m.Low >= 0 && m.Low <= m.High && m.High <= 1):
			return fmt.Errorf("groups: got %v to %v, want 0 <= low <= high <= 1", m.Low, m.High)
		}
	}
	return nil
}

// complete is the order with what it does not name behind it.
func complete(order []Step) []Step {
	all := slices.Clone(order)
	for s := range steps {
		if !slices.Contains(order, s) {
			all = append(all, s)
		}
	}
	return all
}

func (cfg *Config) checkOrder() error {
	order := cfg.Order
	for i, s := range order {
		if s >= steps {
			return fmt.Errorf("order: got step %d, want one of the named values", s)
		}
		if slices.Contains(order[:i], s) {
			return fmt.Errorf("order: got step %d twice, want each once", s)
		}
	}
	return nil
}

// byTorch are the steps whose numbers on a tensor are not those on a PIL image.
var byTorch = []Step{StepRotation, StepAffine, StepPerspective, StepAugment, StepJitter, StepDistort, StepGrayscale, StepSharpness, StepAutocontrast}

func (cfg *Config) checkByTorch() error {
	for _, s := range cfg.ByTorch {
		if !slices.Contains(byTorch, s) {
			return fmt.Errorf("by torch: got step %d, want rotation, affine, perspective, augment, jitter, distort, grayscale, sharpness or autocontrast", s)
		}
	}
	if a := cfg.Augment; a != nil && a.Kind == TimmRandAugment && slices.Contains(cfg.ByTorch, StepAugment) {
		return fmt.Errorf("by torch: got timm's augmentation, whose operations are on PIL images alone")
	}
	for s, by := range cfg.warpers() {
		if by == Bicubic && slices.Contains(cfg.ByTorch, s) {
			return fmt.Errorf("by torch: step %d: got interpolation bicubic, want nearest or bilinear, which are all that torch's has", s)
		}
	}
	return nil
}

// warpers are the filters of the steps that torch warps by a grid.
func (cfg *Config) warpers() map[Step]Interpolation {
	all := map[Step]Interpolation{}
	if r := cfg.Rotation; r != nil {
		all[StepRotation] = r.Interpolation
	}
	if a := cfg.Affine; a != nil {
		all[StepAffine] = a.Interpolation
	}
	if p := cfg.Perspective; p != nil {
		all[StepPerspective] = p.Interpolation
	}
	if a := cfg.Augment; a != nil {
		all[StepAugment] = a.Interpolation
	}
	return all
}

// early are the steps that may be done ahead of the geometry.
var early = []Step{StepFlip, StepVFlip, StepQuarters, StepTranspose, StepRotation, StepAffine, StepPerspective, StepCV2Affine, StepCV2Perspective, StepZoomOut, StepIoUCrop, StepJitter, StepDistort, StepRemap}

// checkAhead wants of what is done ahead of the geometry that it may be, and something to be ahead of.
func (cfg *Config) checkAhead() error {
	n := cfg.Ahead + cfg.Resized
	if cfg.Ahead < 0 || cfg.Resized < 0 || n > len(cfg.Order) {
		return fmt.Errorf("ahead, resized: got %d and %d, want numbers of the %d steps of order", cfg.Ahead, cfg.Resized, len(cfg.Order))
	}
	for _, s := range cfg.Order[:n] {
		if !slices.Contains(early, s) {
			return fmt.Errorf("ahead, resized: got step %d, want a flip, quarters, transpose, rotation, affine, perspective, zoom out, IoU crop, jitter, distort or remap", s)
		}
	}
	if cfg.Resized > 0 && (cfg.resizes() == 0 || cfg.Random != nil || cfg.Contain != nil) {
		return fmt.Errorf("resized: got %d steps, want a resize that they come behind, and no random crop or contain", cfg.Resized)
	}
	if r := cfg.Rotation; r != nil && r.Expand && !slices.Contains(cfg.Order[:n], StepRotation) {
		return fmt.Errorf("rotation: got expand of a row, whose size is fixed, want it ahead or resized")
	}
	if cfg.ZoomOut != nil && !slices.Contains(cfg.Order[:n], StepZoomOut) {
		return fmt.Errorf("zoom out: got one of a row, whose size is fixed, want it ahead or resized")
	}
	if cfg.IoUCrop != nil && !slices.Contains(cfg.Order[:n], StepIoUCrop) {
		return fmt.Errorf("IoU crop: got one of a row, whose size is fixed, want it ahead or resized")
	}
	return nil
}
