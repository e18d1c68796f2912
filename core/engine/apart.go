package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// The columns that say how large a picture is, where the description names none.
const (
	widthColumn  = "width"
	heightColumn = "height"
)

// sideRange is what a picture's width and height may be.
var sideRange = limits{1, 1 << 31, "a side in pixels, 1 or more"}

// A ShapeReport tells what order.buckets of sizes make of a ring's pictures.
type ShapeReport struct {
	From    string // where the size of pictures is from
	None    int64  // samples whose picture has none, as it cannot be read: they are in the first bucket
	Buckets []ShapeBucket
	Cut     float64 // share of a picture that is cropped away when it is resized to cover its bucket's size, in the mean
}

// ShapeBucket is a size of batches.
type ShapeBucket struct {
	Size    spec.Extent
	Samples int64
	Rows    int64   // of a full step over all ranks
	Cut     float64 // as above, of its own pictures
}

// shapes is what an order by the shapes of pictures needs and finds out.
type shapes struct {
	report  ShapeReport
	measure func(samples []int64, set func(k int, w, h float64)) (none int64, err error) // by the pictures' heads
}

// shapesOf is for a ring whose order goes by the shapes of pictures; nil: it does not.
func (r *ring) shapesOf(s *spec.Spec) *shapes {
	if s.Order.Buckets.Sizes == nil {
		return nil
	}
	return &shapes{measure: func(samples []int64, set func(k int, w, h float64)) (int64, error) {
		return r.measure(r.engine.openCtx, s, samples, set)
	}}
}

// Shapes tells of the buckets of ring i; nil where they are not of sizes. It may be called between New and Close.
func (e *Engine) Shapes(i int) *ShapeReport {
	if s := e.rings[i].shapes; s != nil {
		return &s.report
	}
	return nil
}

// apart orders the places [0, n) so that the pictures of a batch are of one bucket. The hash of the order has the bucket of each sample and the rows of
// the buckets' steps, so that a state fits as long as these are the same.
func (p *orderPlan) apart(n int64) (sampler.Sequence, error) {
	b := &p.spec.Buckets
	widths, heights, err := p.sides(n)
	if err != nil {
		return nil, err
	}
	buckets, report := make([]uint16, n), make([]ShapeBucket, len(b.Sizes))
	var word [2]byte
	for place := range buckets {
		k := 0
		if w, h := widths[place], heights[place]; w > 0 {
			k = b.Nearest(w, h)
			report[k].Cut += 1 - b.Sizes[k].Kept(w, h)
		}
		buckets[place] = uint16(k)
		report[k].Samples++
		binary.LittleEndian.PutUint16(word[:], buckets[place])
		p.facts.Write(word[:])
	}
	rows := rowsOf(b, p.budget())
	for i, r := range rows {
		report[i].Size, report[i].Rows = b.Sizes[i], r
		fmt.Fprintf(p.facts, "%d\x00", r)
	}
	p.shapes.tell(report)
	if p.bounded, err = sampler.NewApart(buckets, rows, p.spec.Repeat, p.spec.Seed); err != nil {
		return nil, err
	}
	return p.bounded, nil
}

// rowsOf are those of a step of each bucket, over all ranks.
func rowsOf(b *spec.Buckets, budget sampler.Budget) []int64 {
	rows := make([]int64, len(b.Sizes))
	for i, size := range b.Sizes {
		if rows[i] = budget.Rows; b.MaxTotal > 0 {
			rows[i] = budget.Fit(float64(size.Height) * float64(size.Width))
		}
	}
	return rows
}

// tell takes note of the buckets, of which Cut is a sum.
func (s *shapes) tell(buckets []ShapeBucket) {
	cut, samples := 0.0, int64(0)
	for i := range buckets {
		k := &buckets[i]
		cut, samples = cut+k.Cut, samples+k.Samples
		k.Cut /= float64(max(k.Samples, 1))
	}
	s.report.Buckets, s.report.Cut = buckets, cut/float64(max(samples, 1))
}

// sides are how wide and how high the pictures at the places [0, n) are, as they are seen.
func (p *orderPlan) sides(n int64) (widths, heights []float64, err error) {
	b := &p.spec.Buckets
	width, height := b.Width, b.Height
	if width == "" && p.knows(widthColumn) && p.knows(heightColumn) {
		width, height = widthColumn, heightColumn
	}
	widths, heights = make([]float64, n), make([]float64, n)
	if width == "" {
		p.shapes.report.From = "the pictures' heads"
		samples := make([]int64, n)
		for place := range samples {
			samples[place] = p.sample(int64(place))
		}
		p.shapes.report.None, err = p.shapes.measure(samples, func(k int, w, h float64) { widths[k], heights[k] = w, h })
		return widths, heights, err
	}
	p.shapes.report.From = fmt.Sprintf("columns %s and %s", width, height)
	err = p.values("buckets.width", width, sideRange, n, func(place int64, v float64) { widths[place] = v })
	if err == nil {
		err = p.values("buckets.height", height, sideRange, n, func(place int64, v float64) { heights[place] = v })
	}
	return widths, heights, err
}

// knows says that the source knows a column without reading a sample.
func (p *orderPlan) knows(name string) bool {
	known, ok := p.source.(source.Knowing)
	return ok && known.Known(name) != nil
}
