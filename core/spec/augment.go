package spec

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// The values of Augment.Kind, which are the names of the four, and of Augment.Policy.
const (
	RandAugment        = "rand_augment"
	TrivialAugmentWide = "trivial_augment_wide"
	AutoAugment        = "auto_augment"
	TimmRandAugment    = "timm_rand_augment"

	PolicyImageNet = "imagenet"
	PolicyCIFAR10  = "cifar10"
	PolicySVHN     = "svhn"
)

// Augment draws operations out of torchvision's: NumOps of them by one magnitude, or one by any, or a pair of a policy; or out of timm's.
type Augment struct {
	Kind          string        `json:"kind"`
	NumOps        int           `json:"num_ops"`            // of RandAugment and TimmRandAugment
	Magnitude     int           `json:"magnitude"`          // of RandAugment: which of the bins; of TimmRandAugment one of 10, or more
	Bins          int           `json:"num_magnitude_bins"` // of RandAugment and TrivialAugmentWide: num_magnitude_bins
	Policy        string        `json:"policy"`             // of AutoAugment
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
	Arithmetic    `json:"arithmetic,omitempty"`

	// Of TimmRandAugment: that an operation happens, how its magnitude is drawn, whether larger ones do more of all, and whether bilinear or bicubic
	// is drawn, too.
	P            float64 `json:"p"`
	MagnitudeStd float64 `json:"magnitude_std"`
	MagnitudeMax float64 `json:"magnitude_max"`
	Uniform      bool    `json:"uniform"` // any magnitude up to the one that is given
	Increasing   bool    `json:"increasing"`
	AnyFilter    bool    `json:"any_filter"`
}

func (a *Augment) Name() string { return a.Kind }

func (a *Augment) random() bool { return true }

func (a *Augment) draws() any {
	c := *a
	c.Interpolation, c.Fill, c.Arithmetic = "", nil, ""
	return c
}

func (a *Augment) fills() *Fill { return a.Fill }

func (a *Augment) read(d *reading, op *section) Step {
	kind := a.Kind
	if kind == TimmRandAugment {
		return d.timmRandAugment(op)
	}
	if text := target(op.values[kind]).Value; kind != TrivialAugmentWide && strings.HasPrefix(text, "rand-") {
		op.fail(kind, "got %.60q, which is timm's; write %s: %[1]s", text, TimmRandAugment)
	}
	op.switchedOn(kind)
	a = &Augment{Kind: kind, Interpolation: Nearest}
	var sec *section
	var plain *yaml.Node
	var shown string
	switch kind {
	case RandAugment:
		a.NumOps, a.Magnitude, a.Bins = 2, 9, 31
		plain, shown, sec = d.short(op, kind, "magnitude")
		whole(sec, "num_ops", &a.NumOps, 1, maxOps)
		whole(sec, "num_magnitude_bins", &a.Bins, 2, maxBins)
		d.wholeAt(plain, shown, &a.Magnitude, 0, a.Bins-1)
	case TrivialAugmentWide:
		a.Bins = 31
		plain, shown, sec = d.short(op, kind, "num_magnitude_bins")
		d.wholeAt(plain, shown, &a.Bins, 2, maxBins)
	default:
		a.Policy = PolicyImageNet
		plain, shown, sec = d.short(op, kind, "policy")
		if plain != nil {
			a.Policy, _ = oneOf(d.decoder, plain, shown, PolicyImageNet, PolicyCIFAR10, PolicySVHN)
		}
	}
	d.warped(sec, &a.Interpolation, &a.Fill, &a.Arithmetic)
	return a
}
