package spec

const (
	augMix = "aug_mix"

	// The decoders' limits (core/media).
	maxSeverity = 10
	maxMix      = 8
	minMixAlpha = 0.1
	maxMixAlpha = 1000

	stochasticDepth = -1
	depthWant       = "-1, for one to three by chance, or a whole number from 1 to 8"
)

// AugMix mixes a picture with what chains of operations make of it: MixtureWidth chains of ChainDepth operations, by shares of a Dirichlet distribution.
type AugMix struct {
	Severity      int           `json:"severity"` // magnitudes are drawn among so many of 10, from the least
	MixtureWidth  int           `json:"mixture_width"`
	ChainDepth    int           `json:"chain_depth"` // -1: one to three
	Alpha         float64       `json:"alpha"`
	AllOps        bool          `json:"all_ops"`
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
	Arithmetic    `json:"arithmetic,omitempty"`
}

func (a *AugMix) Name() string { return augMix }

func (a *AugMix) random() bool { return true }

func (a *AugMix) draws() any {
	c := *a
	c.Interpolation, c.Fill, c.Arithmetic = "", nil, ""
	return c
}

func (a *AugMix) fills() *Fill { return a.Fill }

func (a *AugMix) check(i *Image, at string, fail func(path, format string, args ...any)) {
	for _, follows := range []struct {
		key string
		is  bool
	}{{"affine", i.Affine}, {"boxes", i.Boxes != nil}, {"points", i.Points != nil}} {
		if follows.is {
			fail(at, "got aug_mix beside %s, and it adds up pictures whose points lie in several places; leave one of them out, or take rand_augment", follows.key)
		}
	}
}

func (*AugMix) read(d *reading, op *section) Step {
	op.switchedOn(augMix)
	a := &AugMix{Severity: 3, MixtureWidth: 3, ChainDepth: stochasticDepth, Alpha: 1, AllOps: true, Interpolation: Bilinear}
	severity, shown, sec := d.short(op, augMix, "severity")
	d.wholeAt(severity, shown, &a.Severity, 1, maxSeverity)
	whole(sec, "mixture_width", &a.MixtureWidth, 1, maxMix)
	whole(sec, "chain_depth", &a.ChainDepth, stochasticDepth, maxMix)
	if d.err == nil && a.ChainDepth == 0 {
		sec.fail("chain_depth", "got 0, want %s", depthWant)
	}
	sec.number("alpha", &a.Alpha, minMixAlpha, maxMixAlpha)
	sec.flag("all_ops", &a.AllOps)
	d.warped(sec, &a.Interpolation, &a.Fill, &a.Arithmetic)
	return a
}
