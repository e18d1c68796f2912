package spec

import (
	"fmt"
	"math"
	"slices"
)

// bucket is the word for the size of the bucket that a batch is of, where an operation wants a size; ofBucket stands for it until there is one.
const bucket = "bucket"

var ofBucket = Extent{-1, -1}

const (
	maxSizes   = 1024
	bucketStep = 64
)

func noBuckets() Buckets { return Buckets{Count: 8, MultipleOf: 1} }

// buckets reads order.buckets, of lengths or of sizes. Those of one kind take the place of what is said above of the other.
func (s *section) buckets(b *Buckets) {
	sec := s.d.below(s, "buckets")
	switch sized := sec.has("sizes") || sec.has("area"); {
	case sized && b.Sizes == nil, sec.has("by") && b.Sizes != nil:
		*b = noBuckets()
	case sized:
		b.Sizes = nil
	}
	sec.text("by", &b.By)
	whole(&sec, "count", &b.Count, 1, maxBuckets)
	sec.number("max_total", &b.MaxTotal, leastTotal, mostTotal)
	whole(&sec, "multiple_of", &b.MultipleOf, 1, maxBatch)
	sec.text("width", &b.Width)
	sec.text("height", &b.Height)
	switch {
	case s.d.err != nil:
	case sec.has("sizes") && sec.has("area"):
		sec.fail("area", "given beside sizes, want one of the two: area makes the list")
	case sec.has("sizes"):
		sec.sizes(&b.Sizes)
	case sec.has("area"):
		sec.area(&b.Sizes)
	case b.By == "" && b.Sizes == nil:
		s.fail("buckets", "by is missing, want the column with the length; or sizes: [[H, W], ...] or area: N, for pictures of similar shape")
	}
	sized := b.Sizes != nil
	for _, key := range []string{"by", "count"} {
		if sized && sec.has(key) {
			sec.fail(key, "given beside sizes or area, want one of the two: batches are of samples of similar length, or of pictures of similar shape")
		}
	}
	for _, key := range []string{"step", "min", "max"} {
		if !sec.has("area") && sec.has(key) {
			sec.fail(key, "given without area, from which it makes the list of sizes; leave it out")
		}
	}
	for _, key := range []string{"width", "height"} {
		if !sized && sec.has(key) {
			sec.fail(key, "given without sizes or area, whose pictures have it; leave it out")
		}
	}
	if (b.Width == "") != (b.Height == "") {
		s.fail("buckets", "got one of width and height, want the columns of both, or neither")
	}
}

// sizes reads a list of sizes, no two of one shape.
func (s *section) sizes(to *[]Extent) {
	for i, n := range s.items("sizes", "a list of [H, W]", maxSizes) {
		shown := fmt.Sprintf("%s[%d]", join(s.shown, "sizes"), i)
		short, e := s.d.extent(n, shown)
		if e.square(short); e == ofBucket {
			s.d.fail(n, shown, "got %s, want [H, W] in pixels", bucket)
		}
		if s.d.err != nil {
			return
		}
		if like := slices.IndexFunc(*to, func(o Extent) bool { return o.Height*e.Width == e.Height*o.Width }); like >= 0 {
			s.d.fail(n, shown, "got [%d, %d], of the shape of [%d, %d] before, and a picture's bucket is the one of the nearest shape; leave one of them out", e.Height, e.Width, (*to)[like].Height, (*to)[like].Width)
		}
		*to = append(*to, e)
	}
	if s.d.err == nil && *to == nil {
		s.fail("sizes", "got none, want at least one, such as [1024, 1024]")
	}
}

// area makes the list of sizes by the rule of trainers of diffusion models.
func (s *section) area(to *[]Extent) {
	area, step, least, most := int64(0), bucketStep, 0, 0
	whole(s, "area", &area, 1, maxSide*maxSide)
	whole(s, "step", &step, 1, maxSide)
	whole(s, "min", &least, 1, maxSide)
	whole(s, "max", &most, 1, maxSide)
	if s.d.err != nil {
		return
	}
	side := squareOf(area, step)
	if side == 0 {
		s.fail("area", "got %d pixels, want at least step x step, %d", area, step*step)
	}
	if least == 0 {
		least = (side/2 + step - 1) / step * step
	}
	if most == 0 {
		most = min(2*side, maxSide/step*step)
	}
	for _, of := range []struct {
		key string
		got int
	}{{"min", least}, {"max", most}} {
		if of.got%step != 0 {
			s.fail(of.key, "got %d, want a multiple of step, %d", of.got, step)
		}
	}
	switch n := (most-least)/step + 1; {
	case s.d.err != nil:
	case side < least:
		s.fail("min", "got %d, want at most %d, the side of the square of area, in multiples of %d", least, side, step)
	case side > most:
		s.fail("max", "got %d, want at least %d, the side of the square of area, in multiples of %d", most, side, step)
	case 2*n > maxSizes:
		s.fail("step", "got sides of %d to %d in steps of %d, up to %d sizes; want at most %d: raise step", least, most, step, 2*n, maxSizes)
	default:
		*to = sizesOf(area, step, least, most)
	}
}

// squareOf is the side of the largest square of at most area pixels, in multiples of step.
func squareOf(area int64, step int) int {
	side := int(math.Sqrt(float64(area))) / step * step
	for int64(side)*int64(side) > area {
		side -= step
	}
	return side
}

// sizesOf are, for each side from least to most in multiples of step, the largest size of at most area pixels that has it, whose other side lies
// in that range, too; each also turned. No two are of one shape.
func sizesOf(area int64, step, least, most int) (all []Extent) {
	for a := least; a <= most; a += step {
		b := min(most, int(area/int64(a))/step*step)
		if b >= least {
			all = append(all, Extent{a, b}, Extent{b, a})
		}
	}
	side := squareOf(area, step)
	all = append(all, Extent{side, side})
	slices.SortFunc(all, func(a, b Extent) int {
		if a.Height != b.Height {
			return a.Height - b.Height
		}
		return b.Width - a.Width
	})
	return slices.Compact(all)
}

func (e Extent) pixels() int64 { return int64(e.Height) * int64(e.Width) }

// Kept is how much of a picture of w x h is left when it is as small as it can be with no side less than the size's, and is cropped to it.
func (e Extent) Kept(w, h float64) float64 {
	a, b := w*float64(e.Height), h*float64(e.Width)
	return min(a, b) / max(a, b)
}

// Nearest is the bucket of a picture of w x h: the one whose shape is nearest, by the ratio of the two, so that least of the picture is cropped away; of
// two that are as near, the first.
func (b *Buckets) Nearest(w, h float64) (bucket int) {
	most := -1.0
	for i, e := range b.Sizes {
		if kept := e.Kept(w, h); kept > most {
			bucket, most = i, kept
		}
	}
	return bucket
}

// extents are the sizes of the operations that have one.
func (t *Transform) extents() (all []*Extent) {
	if t.Resize != nil {
		all = append(all, &t.Resize.Extent)
	}
	if t.ScaleJitter != nil {
		all = append(all, &t.ScaleJitter.Extent)
	}
	if t.CenterCrop != nil {
		all = append(all, &t.CenterCrop.Extent)
	}
	if t.RandomCrop != nil {
		all = append(all, &t.RandomCrop.Extent)
	}
	if t.RandomResizedCrop != nil {
		all = append(all, &t.RandomResizedCrop.Extent)
	}
	return all
}

// Bucketed says that pictures become of the size of their batch's bucket.
func (t *Transform) Bucketed() bool {
	return slices.ContainsFunc(t.extents(), func(e *Extent) bool { return *e == ofBucket })
}

// In is the transform with a bucket's size in its places.
func (t *Transform) In(size Extent) Transform {
	one := *t
	one.Resize, one.ScaleJitter, one.CenterCrop = clone(t.Resize), clone(t.ScaleJitter), clone(t.CenterCrop)
	one.RandomCrop, one.RandomResizedCrop, one.Buckets = clone(t.RandomCrop), clone(t.RandomResizedCrop), nil
	for _, e := range one.extents() {
		if *e == ofBucket {
			*e = size
		}
	}
	return one
}

// Sizes are the section as it is for the batches of each bucket; one where all batches are alike.
func (i *Image) Sizes() (all []*Image) {
	if !i.Transform.Bucketed() {
		return []*Image{i}
	}
	for _, size := range i.Transform.Buckets {
		one := *i
		one.Transform = i.Transform.In(size)
		all = append(all, &one)
	}
	return all
}

// Measured is the first of Media whose pictures become of their bucket's size, and go by it; nil: batches are not of buckets of sizes.
func (s *Spec) Measured() *Medium {
	media := s.Media()
	for i := range media {
		if img := media[i].Image; s.Order.Buckets.Sizes != nil && img != nil && img.Transform.Bucketed() {
			return &media[i]
		}
	}
	return nil
}

// checkSizes hands the sizes of the buckets to the transforms that name them, and refuses what does not go with batches of several sizes.
func (d *decoder) checkSizes(s *Spec) {
	b, media := &s.Order.Buckets, s.Media()
	for i := range media {
		if img := media[i].Image; img != nil && img.Transform.Bucketed() {
			img.Transform.Buckets = b.Sizes
		}
	}
	if b.Sizes == nil || d.err != nil {
		return
	}
	largest := slices.MaxFunc(b.Sizes, func(a, b Extent) int { return int(a.pixels() - b.pixels()) })
	switch most := largest.pixels() * int64(b.MultipleOf); {
	case s.Measured() == nil:
		d.failAt("order.buckets", "got sizes, and no transform of pictures is of them; want image: {transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}, or random_crop in its place")
	case s.Source.Host.Samples > 0:
		d.failAt("order.buckets", "got sizes, and source.host brings pictures whose size is not known before they are decoded; leave it out, and bring samples whose order is your program's")
	case b.MaxTotal > 0 && float64(most) > b.MaxTotal:
		d.failAt("order.buckets.max_total", "got %s, want at least multiple_of x the pixels of the largest size, %d x %d x %d = %d", textOf(b.MaxTotal), b.MultipleOf, largest.Height, largest.Width, most)
	case s.Device != nil:
		d.failAt("device", "given with order.buckets of sizes, whose batches have several shapes, and a device's slots have one; leave it out, and copy batches from host memory")
	case s.Cache.RowsDir != "":
		d.failAt("cache.rows_dir", "given with order.buckets of sizes, whose rows have several shapes, and a file's rows have one; leave it out: rows_bytes alone keeps them in memory, and cache.dir the files")
	case s.Cache.HeadSpace > 0:
		d.failAt("cache.head_space", "given with order.buckets of sizes, whose steps have several shapes, so that none stands in for another; leave one of them out")
	}
}

// textOf is a number without an exponent.
func textOf(v float64) string { return fmt.Sprintf("%.10g", v) }
