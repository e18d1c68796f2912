package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

// The decoders' limits (core/media), which a test in core/load holds beside theirs.
const (
	maxSide            = 16384
	minRatio, maxRatio = 1e-3, 1e3
	maxMean            = 1e4
	minStd, maxStd     = 1e-6, 1e6
	mostOfOne          = 10   // of the mean and the deviation of pixels from 0 to 1
	maxFactor          = 1000 // of brightness, contrast and saturation
	maxTurn            = 0.5  // of the hue, once around from -0.5 to 0.5
)

const (
	maxChannels = 16
	sizeWant    = "N or [H, W]"
)

// image reads the section over what above already says; nil: nothing.
func (d *decoder) image(s *section, above *Image) *Image {
	img := defaultImage()
	if above != nil {
		*img = *above
	}
	orientation := ""
	s.from(&img.From)
	choice(s, "mode", &img.Mode, RGB, Gray, Luma, Index)
	choice(s, "orientation", &orientation, "ignore", "apply")
	if orientation != "" {
		img.Orient = orientation == "apply"
	}
	choice(s, "layout", &img.Layout, NHWC, NCHW)
	s.flag("affine", &img.Affine)
	img.Boxes = over(s, "boxes", img.Boxes, d.boxes)
	img.Points = over(s, "points", img.Points, d.points)
	d.shape(s, img)
	d.patched(s, img)
	img.Many = over(s, "many", img.Many, d.many)
	tiles := over(s, "tiles", img.Transform.Tiles, d.tiles)
	d.pixels(s, img)
	img.Transform.Tiles = tiles
	return img
}

// pixels reads what pictures and the frames of videos have in common.
func (d *decoder) pixels(s *section, img *Image) {
	if s.has("transform") {
		img.Transform = d.transform(s)
	}
	name := ""
	choice(s, "dtype", &name, "u8", "f16", "bf16", "f32")
	if name != "" {
		img.DType, _ = tensor.ParseDType(name)
	}
	whole(s, "max_pixels", &img.MaxPixels, 1, 1<<40)
}

// reading is a transform while it is read.
type reading struct {
	*decoder
	of     *section // which has it
	before []string // the operations so far
	t      Transform
}

func (d *decoder) transform(s *section) Transform {
	r := &reading{decoder: d, of: s}
	items := s.items("transform", "a list of operations, such as [{resize: 256}, {center_crop: 224}]: "+strings.Join(operations, ", "), len(operations)+mostSteps)
	groups := 0
	for i, n := range items {
		entry := fmt.Sprintf("transform[%d]", i)
		op, name := r.entry(n, "", join(s.table, "transform[]"), join(s.shown, entry), join(s.place, entry))
		if d.err != nil {
			break
		}
		if name == randomApply || name == randomChoice {
			if groups++; groups > MaxGroups {
				op.fail(name, "is group %d of those that random_apply and random_choice are, want at most %d; give operations a p of their own", groups, MaxGroups)
			}
		}
		if step := r.step(&op, name); step != nil {
			r.t.Steps = append(r.t.Steps, step)
		}
		d.operation(&op, &r.t)
	}
	r.t.fillWithMean()
	return r.t
}

// entry is one operation and its name, which is in its place, also within a group of this name.
func (r *reading) entry(n *yaml.Node, group, table, shown, place string) (op section, name string) {
	op = r.section(n, table, shown, place)
	if r.err == nil && len(op.values) != 1 {
		r.fail(n, op.shown, "got %d operations in one entry, want one, such as - resize: 256", len(op.values))
	}
	for name = range op.values {
		if group != "" && !groups(name) {
			op.fail(name, "got it within %s, want one of a row (%s, an augmentation, or %s); most of these have a p of their own", group, firstToLast(turns), firstToLast(alterations))
		}
		if wrong := r.tooMany(name); wrong != "" {
			op.fail(name, "%s", wrong)
		} else if wrong := misplaced(name, r.before); wrong != "" {
			op.fail(name, "%s; want %s", wrong, operationOrder)
		}
		if fit := r.t.fit(); fit.Contain && (name == "pad" || name == "center_crop" || name == "random_crop") {
			op.fail(name, "comes after resize with fit: %s, after which every row has its size; leave it out, or resize to the shorter side or a max_size", fit.word())
		}
		r.pos[join(r.of.place, "transform."+again(name, count(r.before, name)))] = placeOf(op.values[name], join(op.shown, name))
		if isGeometry(name) {
			r.t.behindSteps(!slices.ContainsFunc(r.before, isGeometry))
		}
		r.before = append(r.before, name)
	}
	return op, name
}

// tooMany says why an operation cannot be there once more; "" where it can.
func (r *reading) tooMany(name string) string {
	isStep := func(of string) bool {
		return slices.ContainsFunc(kinds, func(k kind) bool { return k.Name() == of && k.class != grouping })
	}
	if !isStep(name) {
		if slices.Contains(r.before, name) && name != randomApply && name != randomChoice {
			return "is there twice; want it once: leave one of them out"
		}
		return ""
	}
	kin := []string{name}
	if slices.Contains(augmentations, name) {
		kin = augmentations
	}
	all, alike := 0, 0
	for _, of := range r.before {
		if isStep(of) {
			all++
		}
		if slices.Contains(kin, of) {
			alike++
		}
	}
	switch {
	case alike >= mostAlike:
		return fmt.Sprintf("is number %d of %s, want at most %d; leave some of them out", alike+1, strings.Join(kin, ", "), mostAlike)
	case all >= mostSteps:
		return fmt.Sprintf("is step %d of the transform, want at most %d; leave some of them out", all+1, mostSteps)
	}
	return ""
}

// count is how many of the names are this one.
func count(names []string, name string) (n int) {
	for _, of := range names {
		if of == name {
			n++
		}
	}
	return n
}

// again is the key of an operation's place where n of its name are before it.
func again(name string, n int) string {
	if n == 0 {
		return name
	}
	return fmt.Sprintf("%s~%d", name, n+1)
}

// operation reads what is no step.
func (d *decoder) operation(op *section, t *Transform) {
	switch {
	case op.has("resize"):
		t.Resize = d.resize(op)
	case op.has("random_resize"):
		t.RandomResize = d.randomResize(op)
	case op.has(randomShortestSize):
		t.RandomShortestSize = d.randomShortestSize(op)
	case op.has("scale_jitter"):
		t.ScaleJitter = d.scaleJitter(op)
	case op.has("pad"):
		t.Pad = d.pad(op)
	case op.has("center_crop"):
		c := &CenterCrop{}
		size, shown, sec := d.sized(op, "center_crop")
		if size != nil {
			short := 0
			short, c.Extent = d.extent(size, shown)
			c.square(short)
			d.border(sec, &c.Border)
			choice(sec, "position", &c.Position, positions...)
			if c.Position == center {
				c.Position = ""
			}
			half := toNearest
			choice(sec, "rounding", &half, toNearest, downwards)
			c.Down = half == downwards
			if sec.has("rounding") && c.Position != "" {
				sec.fail("rounding", "given beside position: %s, where nothing is halved; leave one of them out", c.Position)
			}
		}
		t.CenterCrop = c
	case op.has("random_crop"):
		r := &RandomCrop{}
		size, shown, sec := d.sized(op, "random_crop")
		if size != nil {
			short := 0
			short, r.Extent = d.extent(size, shown)
			r.square(short)
			if sec.has("padding") {
				d.sides(sec.values["padding"], join(sec.shown, "padding"), &r.Padding)
			}
			d.border(sec, &r.Border)
		}
		t.RandomCrop = r
		d.padCrop(op, t)
	case op.has("random_resized_crop"):
		r := &RandomResizedCrop{Scale: [2]float64{0.08, 1}, Ratio: [2]float64{3. / 4, 4. / 3}, Interpolation: Bilinear}
		size, shown, sec := d.sized(op, "random_resized_crop")
		if size != nil {
			short := 0
			short, r.Extent = d.extent(size, shown)
			r.square(short)
			d.parted(sec, r)
			d.resampler(sec, &r.Interpolation, AnyFilter)
		}
		t.RandomResizedCrop = r
	case op.has("normalize"):
		t.Normalize = d.normalize(op)
	case op.has("random_erasing"):
		t.RandomErasing = d.randomErasing(op)
	}
}

// parted reads how large a part is.
func (d *decoder) parted(sec *section, r *RandomResizedCrop) {
	d.interval(sec, "scale", &r.Scale, 1e-6, 1)
	if sec.has("height") {
		d.byHeight(sec, r)
	}
	d.interval(sec, "ratio", &r.Ratio, minRatio, maxRatio)
	if d.err == nil && r.PartHeight != [2]int{} && r.Ratio[0] != r.Ratio[1] {
		sec.fail("ratio", "got [%g, %g] beside height, want the same twice, such as [1, 1]: how many times as wide as high the part is", r.Ratio[0], r.Ratio[1])
	}
}

// byHeight reads the height of a part, which is as wide unless a ratio is said.
func (d *decoder) byHeight(sec *section, r *RandomResizedCrop) {
	if sec.has("scale") {
		sec.fail("scale", "given beside height, which says how large the part is; leave one of them out")
	}
	r.Scale, r.Ratio = [2]float64{}, [2]float64{1, 1}
	oneOrRange(d, sec.values["height"], join(sec.shown, "height"), "a whole number from 1 to 16384", &r.PartHeight, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, maxSide)
		return v
	})
}

// square puts N x N where a size was given as N.
func (e *Extent) square(n int) {
	if n > 0 {
		*e = Extent{n, n}
	}
}

// short splits an operation that is a value, or a mapping with that value under main: its node, nil if the mapping has none, its path,
// and the mapping, empty if there is none.
func (d *decoder) short(op *section, key, main string) (*yaml.Node, string, *section) {
	n, table, shown := op.values[key], join(op.table, key), join(op.shown, key)
	if target(n).Kind != yaml.MappingNode {
		return n, shown, &section{d: d, table: table, shown: shown}
	}
	sec := d.section(n, table, shown, join(op.place, key))
	if !sec.has(main) {
		return nil, "", &sec
	}
	return sec.values[main], join(shown, main), &sec
}

// sized is short of an operation that needs a size.
func (d *decoder) sized(op *section, key string) (*yaml.Node, string, *section) {
	size, shown, sec := d.short(op, key, "size")
	if d.err == nil && size == nil {
		op.fail(key, "size is missing, want size: %s", sizeWant)
	}
	return size, shown, sec
}

// needs is the mapping of an operation with a key that has no default.
func (d *decoder) needs(op *section, key, main, example string) section {
	sec := d.section(op.values[key], join(op.table, key), join(op.shown, key), join(op.place, key))
	if d.err == nil && !sec.has(main) {
		op.fail(key, "%s is missing, want one, such as {%s: %s}", main, main, example)
	}
	return sec
}

// wholeAt reads a whole number where there is one.
func (d *decoder) wholeAt(n *yaml.Node, shown string, dst *int, low, high int) {
	if n == nil || d.err != nil {
		return
	}
	v, _ := d.whole(n, shown, int64(low), int64(high))
	*dst = int(v)
}

// extent reads N, which it returns as it is, [H, W], or bucket.
func (d *decoder) extent(n *yaml.Node, shown string) (short int, e Extent) {
	v := target(n)
	if v.Kind == yaml.ScalarNode && v.Value == bucket {
		return 0, ofBucket
	}
	if v.Kind != yaml.SequenceNode {
		if v.Kind != yaml.ScalarNode || isNull(v) {
			d.fail(n, shown, "got %s, want %s in pixels", describe(n), sizeWant)
			return 0, e
		}
		side, _ := d.whole(n, shown, 1, maxSide)
		return int(side), e
	}
	if len(v.Content) != 2 {
		d.fail(n, shown, "got a list of %d, want %s in pixels", len(v.Content), sizeWant)
		return 0, e
	}
	h, _ := d.whole(v.Content[0], shown+"[0]", 1, maxSide)
	w, _ := d.whole(v.Content[1], shown+"[1]", 1, maxSide)
	return 0, Extent{int(h), int(w)}
}

func imageNet() *Normalize {
	return &Normalize{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}
}

func (d *decoder) normalize(op *section) *Normalize {
	n, shown := op.values["normalize"], join(op.shown, "normalize")
	v := target(n)
	if v.Kind == yaml.ScalarNode && v.Value == "imagenet" {
		return imageNet()
	}
	if v.Kind != yaml.MappingNode {
		d.fail(n, shown, "got %s, want imagenet, or a mapping of mean and std", describe(n))
		return nil
	}
	sec := d.section(n, join(op.table, "normalize"), shown, join(op.place, "normalize"))
	out := &Normalize{Mean: d.numbers(&sec, "mean", -maxMean, maxMean), Std: d.numbers(&sec, "std", minStd, maxStd)}
	if d.err == nil && len(out.Mean) != len(out.Std) {
		d.fail(n, shown, "got %d values of mean and %d of std, want as many of both", len(out.Mean), len(out.Std))
	}
	if of255 := func(v float64) bool { return v > mostOfOne }; slices.ContainsFunc(out.Mean, of255) || slices.ContainsFunc(out.Std, of255) {
		d.fail(n, shown, "got mean %v and std %v, which are of pixels from 0 to 255, want those of pixels from 0 to 1: divide both by 255, mean: %s, std: %s", out.Mean, out.Std, shares(out.Mean), shares(out.Std))
	}
	return out
}

// shares are numbers of 255 as numbers of 1.
func shares(all []float64) string {
	var texts []string
	for _, v := range all {
		texts = append(texts, fmt.Sprintf("%.4g", v/255))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (d *decoder) numbers(s *section, key string, low, high float64) []float64 {
	shown := join(s.shown, key)
	if !s.has(key) {
		d.failAt(s.place, "%s is missing, want one number a channel", key)
		return nil
	}
	var all []float64
	for i, n := range s.items(key, "a list of numbers, one a channel", maxChannels) {
		f, _ := d.number(n, fmt.Sprintf("%s[%d]", shown, i), low, high)
		all = append(all, f)
	}
	return all
}

// checkIndex refuses what would mix numbers of classes, or scale them.
func (i *Image) checkIndex(section string, fail func(path, format string, args ...any)) {
	t := &i.Transform
	if (t.Resize != nil || t.RandomResize != nil || t.RandomShortestSize != nil || t.ScaleJitter != nil || t.RandomResizedCrop != nil || t.Tiles != nil) && !t.Filter().picks() {
		fail(section+".transform", "got interpolation %s with mode index, want nearest, cv2_nearest, torch_nearest or torch_nearest_exact, as the others mix numbers of classes; "+
			"write {size: ..., interpolation: nearest}", t.Filter())
	}
	if t.Normalize != nil {
		fail(section+".transform.normalize", "got normalize with mode index, whose numbers of classes are not scaled; leave it out")
	}
	if i.DType.Float() {
		fail(section+".dtype", "got %v with mode index, want u8: floats are x/255, and numbers of classes are whole", i.DType)
	}
}

// orOpen offers what pictures have, and the frames of a video have not.
func orOpen(section string) string {
	if section == "image" {
		return "; shape: padded or ragged keeps each picture's own"
	}
	return ""
}

// check holds the image of a section against itself, for each size that its pictures may get.
func (i *Image) check(section string, fail func(path, format string, args ...any)) {
	if !i.Transform.Bucketed() {
		i.checkOne(section, fail)
		return
	}
	if i.Transform.Buckets == nil {
		fail(section+".transform", "got the size bucket without buckets of sizes in the order; want order: {buckets: {sizes: [[H, W], ...]}} of a ring's pictures, or a size here")
		return
	}
	if i.Open() {
		fail(section+".shape", "got %s beside the size bucket, which all rows of a batch have; leave it out, and let center_crop: bucket or random_crop: bucket follow resize: {size: bucket, fit: cover}", i.Shape)
		return
	}
	for _, one := range i.Sizes() {
		one.checkOne(section, fail)
		i.DType = one.DType
	}
}

func (i *Image) checkOne(section string, fail func(path, format string, args ...any)) {
	t := &i.Transform
	i.checkPad(section, fail)
	i.divide()
	i.checkEarly(section, fail)
	i.checkPatches(section, fail)
	i.checkShape(section, fail)
	if !i.Open() && t.Output() == (Extent{}) {
		got := "leaves the size of the picture open"
		if t.checkChance(section, fail) {
			return
		}
		switch r := t.Resize; {
		case r != nil && r.Area != nil:
			got = "resize by min_pixels and max_pixels gives each picture a size of its own"
		case r != nil && r.Fit.Cover:
			got = "resize with fit: cover brings one side to its size, and the other to no less"
		case r != nil && r.Short > 0:
			got = fmt.Sprintf("resize: %d fixes the shorter side only", r.Short)
		case r != nil:
			got = fmt.Sprintf("resize: {max_size: %d} fixes the longer side only", r.MaxSize)
		}
		fail(section+".transform", "%s, and every row of a batch must have one size; add center_crop: 224, or write resize: [224, 224], "+
			"or random_resized_crop: 224%s", got, orOpen(section))
		return
	}
	if i.Mode == Index {
		i.checkIndex(section, fail)
	}
	i.checkSteps(section, fail)
	i.Transform.checkCuts(section, fail)
	i.checkFills(section, fail)
	if n := t.Normalize; n != nil && (len(n.Mean) != i.Channels() || len(n.Std) != i.Channels()) {
		fail(section+".transform.normalize", "got %d values, want %d for mode %s", len(n.Mean), i.Channels(), i.Mode)
	}
	switch {
	case i.DType == 0 && t.Normalize != nil:
		i.DType = tensor.F32
	case i.DType == 0:
		i.DType = tensor.U8
	case t.Normalize != nil && !i.DType.Float():
		fail(section+".dtype", "got %v with normalize, want f16, bf16 or f32; or leave normalize out", i.DType)
	}
	i.checkErasing(section, fail)
	if n, err := i.RowShape().Bytes(i.DType); err != nil || n > math.MaxInt32 {
		fail(section+".transform", "got an output of %v, want one of less than 2 GiB a row", i.RowShape())
	}
	i.checkRoom(section, fail)
}
