package spec

import "go.yaml.in/yaml/v3"

// The decoders' limits (core/media).
const (
	maxCV2Sigma   = (maxKernel - 1) / 7.0
	maxHoles      = 32
	minLimit      = 1e-3
	maxLimit      = 1000
	maxCLAHETiles = 64
)

// More operations of albumentations'.
const (
	boxBlur       = "box_blur"
	medianBlur    = "median_blur"
	cv2Blur       = "cv2_gaussian_blur"
	motionBlur    = "motion_blur"
	unsharpMask   = "unsharp_mask"
	coarseDropout = "coarse_dropout"
	clahe         = "clahe"
)

// Kernel is a BoxBlur or a MedianBlur: each pixel is the mean, or the median, of a square around it, whose size is an odd number between two.
type Kernel struct {
	Operation string  `json:"-"`
	Size      [2]int  `json:"kernel_size"`
	P         float64 `json:"p"`
}

// CV2GaussianBlur is by a kernel of a size between two, 0 being what sigma needs, and a sigma between two.
type CV2GaussianBlur struct {
	Size  [2]int     `json:"kernel_size"`
	Sigma [2]float64 `json:"sigma"`
	P     float64    `json:"p"`
}

// MotionBlur is the mean along a way through a kernel whose size is an odd number between two.
type MotionBlur struct {
	Size      [2]int     `json:"kernel_size"`
	Angle     [2]float64 `json:"angle"`
	Direction [2]float64 `json:"direction"`
	Shifted   bool       `json:"shifted"`
	P         float64    `json:"p"`
}

// UnsharpMask makes rows sharper, by a share between two, where they differ by more than Threshold from what a kernel, whose size is an odd number between two,
// and a sigma between two, 0 being what the size has, make of them.
type UnsharpMask struct {
	Alpha     [2]float64 `json:"alpha"`
	Size      [2]int     `json:"kernel_size"`
	Sigma     [2]float64 `json:"sigma"`
	Threshold int        `json:"threshold"`
	P         float64    `json:"p"`
}

// CoarseDropout makes a number of rectangles, between two, one colour.
type CoarseDropout struct {
	Parts
	P    float64 `json:"p"`
	Fill *Fill   `json:"fill,omitempty"`
}

// Parts are some of a row, which may lie on each other.
type Parts struct {
	Holes  [2]int     `json:"holes"`
	Height [2]float64 `json:"height"`
	Width  [2]float64 `json:"width"`
	Pixels bool       `json:"pixels"` // of these: no shares of the row's sides
}

// CLAHE equalizes the histogram of each of so many tiles, across and down, of which no value counts more than a limit between two times the mean.
type CLAHE struct {
	Limit [2]float64 `json:"clip_limit"`
	Tiles [2]int     `json:"tiles"`
	P     float64    `json:"p"`
}

func (k *Kernel) Name() string          { return k.Operation }
func (b *CV2GaussianBlur) Name() string { return cv2Blur }
func (m *MotionBlur) Name() string      { return motionBlur }
func (u *UnsharpMask) Name() string     { return unsharpMask }
func (c *CoarseDropout) Name() string   { return coarseDropout }
func (c *CLAHE) Name() string           { return clahe }

func (k *Kernel) random() bool { return chance(k.P) || k.P > 0 && k.Size[0] < k.Size[1] }
func (b *CV2GaussianBlur) random() bool {
	return drawn(b.P, b.Sigma) || b.P > 0 && b.Size[0] < b.Size[1]
}
func (m *MotionBlur) random() bool {
	return drawn(m.P, m.Angle, m.Direction) || m.P > 0 && (m.Shifted || m.Size[0] < m.Size[1])
}
func (u *UnsharpMask) random() bool {
	return drawn(u.P, u.Alpha, u.Sigma) || u.P > 0 && u.Size[0] < u.Size[1]
}
func (c *CoarseDropout) random() bool { return true }
func (c *CLAHE) random() bool         { return drawn(c.P, c.Limit) }

func (c *CoarseDropout) fills() *Fill { return c.Fill }

// kernel reads a size, or two, which are odd.
func (d *decoder) kernel(n *yaml.Node, shown string, to *[2]int) {
	oneOrRange(d, n, shown, "an odd number from 1 to 255", to, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, maxKernel)
		if d.err == nil && v%2 == 0 {
			d.fail(n, shown, "got %d, want an odd number, as a kernel has a middle", v)
		}
		return v
	})
}

func (k *Kernel) read(d *reading, op *section) Step {
	key := k.Operation
	k = &Kernel{Operation: key, Size: [2]int{3, 7}, P: 0.5}
	size, shown, sec := d.short(op, key, "kernel_size")
	d.kernel(size, shown, &k.Size)
	sec.number("p", &k.P, 0, 1)
	return k
}

func (*CV2GaussianBlur) read(d *reading, op *section) Step {
	b := &CV2GaussianBlur{Sigma: [2]float64{0.5, 3}, P: 0.5}
	sigma, shown, sec := d.short(op, cv2Blur, "sigma")
	d.numberOrRange(sigma, shown, &b.Sigma, minSigma, maxCV2Sigma)
	oneOrRange(d.decoder, sec.values["kernel_size"], join(sec.shown, "kernel_size"), "a whole number from 0 to 255", &b.Size, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 0, maxKernel)
		return v
	})
	sec.number("p", &b.P, 0, 1)
	return b
}

func (*MotionBlur) read(d *reading, op *section) Step {
	m := &MotionBlur{Size: [2]int{3, 7}, Angle: [2]float64{0, 360}, Direction: [2]float64{-1, 1}, Shifted: true, P: 0.5}
	size, shown, sec := d.short(op, motionBlur, "kernel_size")
	d.kernel(size, shown, &m.Size)
	d.numberOrRange(sec.values["angle"], join(sec.shown, "angle"), &m.Angle, -maxDegrees, maxDegrees)
	d.numberOrRange(sec.values["direction"], join(sec.shown, "direction"), &m.Direction, -1, 1)
	sec.flag("shifted", &m.Shifted)
	sec.number("p", &m.P, 0, 1)
	return m
}

func (*UnsharpMask) read(d *reading, op *section) Step {
	u := &UnsharpMask{Alpha: [2]float64{0.2, 0.5}, Size: [2]int{3, 7}, Threshold: 10, P: 0.5}
	alpha, shown, sec := d.short(op, unsharpMask, "alpha")
	d.numberOrRange(alpha, shown, &u.Alpha, 0, 1)
	d.kernel(sec.values["kernel_size"], join(sec.shown, "kernel_size"), &u.Size)
	d.numberOrRange(sec.values["sigma"], join(sec.shown, "sigma"), &u.Sigma, 0, maxSigma)
	whole(sec, "threshold", &u.Threshold, 0, 255)
	sec.number("p", &u.P, 0, 1)
	return u
}

func (*CoarseDropout) read(d *reading, op *section) Step {
	sec := d.below(op, coarseDropout)
	c := &CoarseDropout{Parts: d.parts(&sec), P: 0.5}
	sec.number("p", &c.P, 0, 1)
	d.fill(&sec, &c.Fill)
	return c
}

// parts reads how many there are, and how large.
func (d *decoder) parts(sec *section) Parts {
	p := Parts{Holes: [2]int{1, 2}, Height: [2]float64{0.1, 0.2}, Width: [2]float64{0.1, 0.2}}
	oneOrRange(d, sec.values["holes"], join(sec.shown, "holes"), "a whole number from 0 to 32", &p.Holes, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 0, maxHoles)
		return v
	})
	sec.flag("pixels", &p.Pixels)
	d.holeSides(sec, "height", p.Pixels, &p.Height)
	d.holeSides(sec, "width", p.Pixels, &p.Width)
	return p
}

func (*CLAHE) read(d *reading, op *section) Step {
	c := &CLAHE{Limit: [2]float64{1, 4}, Tiles: [2]int{8, 8}, P: 0.5}
	limit, shown, sec := d.short(op, clahe, "clip_limit")
	d.numberOrRange(limit, shown, &c.Limit, minLimit, maxLimit)
	if sec.has("tiles") {
		tiles := [2]float64{}
		d.numberOrPair(sec.values["tiles"], join(sec.shown, "tiles"), &tiles, 1, maxCLAHETiles)
		if c.Tiles = [2]int{int(tiles[0]), int(tiles[1])}; d.err == nil && (tiles[0] != float64(c.Tiles[0]) || tiles[1] != float64(c.Tiles[1])) {
			sec.fail("tiles", "got %g and %g, want whole numbers", tiles[0], tiles[1])
		}
	}
	sec.number("p", &c.P, 0, 1)
	return c
}

// holeSides reads shares, or whole pixels, which must be said.
func (d *decoder) holeSides(sec *section, key string, pixels bool, to *[2]float64) {
	n, shown := sec.values[key], join(sec.shown, key)
	if !pixels {
		d.numberOrRange(n, shown, to, 0, 1)
		return
	}
	if n == nil && d.err == nil {
		sec.fail("pixels", "got true without %s, want height and width in pixels, such as {pixels: true, height: [8, 16], width: [8, 16]}", key)
	}
	oneOrRange(d, n, shown, "a whole number of pixels", to, func(n *yaml.Node, shown string) float64 {
		v := 0
		d.wholeAt(n, shown, &v, 0, maxSide)
		return float64(v)
	})
}
