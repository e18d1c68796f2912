package engine

import (
	"fmt"
	"os"

	"github.com/spdl/spdl/core/array"
)

// weights are those of the places, by a column or out of an .npy file that has a number for each sample of the source.
func (p *orderPlan) weights(n int64) ([]float64, error) {
	weights := make([]float64, n)
	if p.spec.WeightsFile == "" {
		return weights, p.numbers("weights", p.spec.Weights, weightRange, n, func(place int64, v float64) { weights[place] = v })
	}
	all, err := numbersIn(p.spec.WeightsFile, p.source.Len())
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	for place := range n {
		v := all[p.sample(place)]
		if !(v >= weightRange.low && v <= weightRange.high) {
			return nil, p.refused("weights", fmt.Sprintf("%q", p.spec.WeightsFile), place, v, weightRange.want)
		}
		p.decides(v)
		weights[place] = v
	}
	return weights, nil
}

// numbersIn reads a file of one number a sample.
func numbersIn(path string, samples int64) ([]float64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err // it names the file
	}
	a, err := array.ParseNPY(b)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	if len(a.Shape) != 1 || a.Shape[0] != samples {
		return nil, fmt.Errorf("%q: got shape %v, want [%d], a number for each sample of the source", path, a.Shape, samples)
	}
	data, width := make([]byte, len(a.Data)), a.DType.Bytes()
	a.CopyTo(data)
	all := make([]float64, samples)
	for i := range all {
		all[i] = elementOf(data[i*width:], a.DType)
	}
	return all, nil
}
