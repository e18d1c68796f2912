package spec

import "go.yaml.in/yaml/v3"

// The decoders' limits (core/media).
const (
	maxEffect  = 100
	maxDropped = 2
)

// More operations of albumentations'.
const (
	sharpen        = "sharpen"
	emboss         = "emboss"
	sepia          = "to_sepia"
	toneCurve      = "random_tone_curve"
	channelDropout = "channel_dropout"
	cv2Equalize    = "cv2_equalize"
)

// Effect is a Sharpen or an Emboss: a kernel of 3 x 3 of which an effect has a share, Alpha. By is how strong that is: a lightness, or a strength.
type Effect struct {
	Operation string     `json:"-"`
	Alpha     [2]float64 `json:"alpha"`
	By        [2]float64 `json:"by"`
	P         float64    `json:"p"`
}

// RandomToneCurve bends the way from dark to bright by normal numbers times Scale.
type RandomToneCurve struct {
	Scale      float64 `json:"scale"`
	PerChannel bool    `json:"per_channel"`
	P          float64 `json:"p"`
}

// ChannelDropout makes some of three channels one number.
type ChannelDropout struct {
	Channels [2]int  `json:"channels"`
	Fill     int     `json:"fill"`
	P        float64 `json:"p"`
}

func (e *Effect) Name() string          { return e.Operation }
func (t *RandomToneCurve) Name() string { return toneCurve }
func (c *ChannelDropout) Name() string  { return channelDropout }

func (e *Effect) random() bool          { return drawn(e.P, e.Alpha, e.By) }
func (t *RandomToneCurve) random() bool { return drawn(t.P, [2]float64{0, t.Scale}) }
func (c *ChannelDropout) random() bool  { return c.P > 0 }

func (c *ChannelDropout) check(i *Image, at string, fail func(path, format string, args ...any)) {
	if i.Mode != RGB {
		fail(at, "got mode %s, whose pictures have one channel; leave it out, or use mode rgb", i.Mode)
	}
}

func (d *decoder) effect(op *section, key string) *Effect {
	e := &Effect{Operation: key, Alpha: [2]float64{0.2, 0.5}, By: [2]float64{0.5, 1}, P: 0.5}
	by := "lightness"
	if key == emboss {
		by, e.By = "strength", [2]float64{0.2, 0.7}
	}
	alpha, shown, sec := d.short(op, key, "alpha")
	d.numberOrRange(alpha, shown, &e.Alpha, 0, 1)
	d.numberOrRange(sec.values[by], join(sec.shown, by), &e.By, 0, maxEffect)
	sec.number("p", &e.P, 0, 1)
	return e
}

func (d *decoder) toneCurve(op *section) *RandomToneCurve {
	t := &RandomToneCurve{Scale: 0.1, P: 0.5}
	scale, shown, sec := d.short(op, toneCurve, "scale")
	if scale != nil && d.err == nil {
		t.Scale, _ = d.number(scale, shown, 0, 1)
	}
	sec.flag("per_channel", &t.PerChannel)
	sec.number("p", &t.P, 0, 1)
	return t
}

func (d *decoder) channelDropout(op *section) *ChannelDropout {
	c := &ChannelDropout{Channels: [2]int{1, 1}, P: 0.5}
	channels, shown, sec := d.short(op, channelDropout, "channels")
	oneOrRange(d, channels, shown, "a whole number from 1 to 2", &c.Channels, func(n *yaml.Node, shown string) (v int) {
		d.wholeAt(n, shown, &v, 1, maxDropped)
		return v
	})
	whole(sec, "fill", &c.Fill, 0, 255)
	sec.number("p", &c.P, 0, 1)
	return c
}
