package spec

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Limits of timm's RandAugment (core/media); a deviation above the second means any magnitude.
const (
	maxTimmMagnitude = 30
	timmAny          = 100
)

// AnyFilter is timm's choice of bilinear or bicubic, by chance.
const AnyFilter Interpolation = "random"

const timmWant = "timm's sections m (magnitude), n (operations), p, mstd, mmax and inc1, such as rand-m9-mstd0.5-inc1"

var timmSection = regexp.MustCompile(`^(mstd|mmax|inc|m|n|p)([0-9]+(?:\.[0-9]+)?)$`)

// ofMean is a fill that is not given: the mean of the pictures.
var ofMean = &Fill{}

func (d *decoder) timmRandAugment(op *section) *Augment {
	a := &Augment{Kind: TimmRandAugment, NumOps: 2, Magnitude: 10, Interpolation: AnyFilter, Fill: ofMean, P: 0.5, MagnitudeMax: 10}
	config, shown, sec := d.short(op, TimmRandAugment, "config")
	if d.err == nil && config == nil {
		op.fail(TimmRandAugment, "config is missing, want one, such as {config: rand-m9-mstd0.5-inc1}")
	}
	if d.err != nil {
		return a
	}
	text, ok := d.scalar(config, shown, "text: "+timmWant, "!!str")
	sections, found := strings.CutPrefix(text, "rand-")
	if ok && !found {
		d.fail(config, shown, "got %.60q, which does not begin with rand-, want %s", text, timmWant)
	}
	for _, s := range strings.Split(sections, "-") {
		if d.err != nil {
			return a
		}
		if want := a.timm(s); want != "" {
			d.fail(config, shown, "got %.60q in %.60q, want %s", s, text, want)
		}
	}
	choice(sec, "interpolation", &a.Interpolation, AnyFilter, Bilinear, Bicubic, Nearest)
	if a.AnyFilter = a.Interpolation == AnyFilter; a.AnyFilter {
		a.Interpolation = Bilinear
	}
	if sec.has("fill") {
		a.Fill = nil
		d.fill(sec, &a.Fill)
	}
	return a
}

// timm takes one section of a configuration; it says what was wanted in place of one that is none.
func (a *Augment) timm(section string) (want string) {
	m := timmSection.FindStringSubmatch(section)
	if m == nil {
		return timmWant
	}
	v, _ := strconv.ParseFloat(m[2], 64)
	whole := func(least, most float64) string {
		if v == math.Trunc(v) && v >= least && v <= most {
			return ""
		}
		return m[1] + " with a whole number from " + strconv.Itoa(int(least)) + " to " + strconv.Itoa(int(most))
	}
	switch m[1] {
	case "m":
		a.Magnitude, want = int(v), whole(0, maxTimmMagnitude)
	case "n":
		a.NumOps, want = int(v), whole(1, maxOps)
	case "mmax":
		a.MagnitudeMax, want = v, whole(1, maxTimmMagnitude)
	case "inc": // of which timm reads no number: inc0 is inc1 there
		if a.Increasing = true; v != 1 {
			want = "inc1, or nothing"
		}
	case "p":
		if a.P = v; v > 1 {
			want = "p with a number from 0 to 1"
		}
	default:
		if a.MagnitudeStd = v; v > timmAny {
			a.MagnitudeStd, a.Uniform = 0, true
		}
	}
	return want
}

// fillWithMean fills, where nothing was said, with the mean that normalize has, or ImageNet's, as timm does.
func (t *Transform) fillWithMean() {
	mean := cmp.Or(t.Normalize, imageNet()).Mean
	if len(mean) == 0 { // which is refused where it is held against the channels
		return
	}
	f := &Fill{Channels: 1}
	for i := range f.Values {
		f.Values[i] = uint8(min(255, max(0, math.RoundToEven(255*mean[i%len(mean)]))))
	}
	for _, s := range t.all() {
		if a, is := s.(*Augment); is && a.Fill == ofMean {
			a.Fill = f
		}
	}
}
