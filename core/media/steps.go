package media

import (
	"fmt"
	"slices"
)

// Step is what may be done to a row once it is cropped and resized, and is a field of Config.
type Step uint8

const (
	StepFlip Step = iota
	StepVFlip
	StepQuarters
	StepRotation
	StepAffine
	StepPerspective
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
	steps
)

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

func checkOrder(order []Step) error {
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
