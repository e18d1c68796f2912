package spec

import "github.com/spdl/spdl/core/tensor"

// Device has every batch uploaded to a GPU before consumers see it. Host memory has it, too.
type Device struct {
	CUDA      int // ordinal of the device
	Slots     int // batches that fit into its memory
	InFlight  int // batches that are copied at a time; 0: 2
	Finish    *Finish
	Otherwise string // "fail", "host"
	Restarts  int    // of an uploader that died, in a row
}

// Finish makes numbers of pictures on the device: [N, H, W, C] u8 become [N, C, H, W].
type Finish struct {
	DType     tensor.DType // F16, BF16 or F32
	Normalize *Normalize   // of x in [0, 1]; nil: x in [0, 1] itself
}

// OnHost is one value of Device.Otherwise; the other is Fail.
const OnHost = "host"

const (
	minDeviceSlots = 2
	maxDeviceSlots = 64
	maxFinished    = 4 // channels
)

// device reads the section. A ring that says so anew does not keep what the top level said.
func (d *decoder) device(s *section) *Device {
	v := &Device{Slots: 3, Otherwise: string(Fail), Restarts: 5}
	whole(s, "cuda", &v.CUDA, 0, 1023)
	whole(s, "slots", &v.Slots, minDeviceSlots, maxDeviceSlots)
	whole(s, "in_flight", &v.InFlight, 1, maxDeviceSlots)
	choice(s, "otherwise", &v.Otherwise, string(Fail), OnHost)
	whole(s, "restarts", &v.Restarts, 0, 1000)
	if s.has("finish") {
		f := d.section(s.values["finish"], "device.finish", join(s.shown, "finish"), join(s.place, "finish"))
		v.Finish = &Finish{DType: tensor.F32}
		name := ""
		choice(&f, "dtype", &name, "f16", "bf16", "f32")
		if name != "" {
			v.Finish.DType, _ = tensor.ParseDType(name)
		}
		if f.has("normalize") {
			v.Finish.Normalize = d.normalize(&f)
		}
	}
	return v
}

// checkDevice holds the device against the rest of the ring.
func (d *decoder) checkDevice(s *Spec) {
	v := s.Device
	if v == nil {
		return
	}
	if v.InFlight == 0 {
		v.InFlight = 2
	}
	switch {
	case v.InFlight > v.Slots:
		d.failAt("device.in_flight", "got %d, want at most the %d device slots", v.InFlight, v.Slots)
	case s.Ring.Delivery == Ready:
		d.failAt("ring.delivery", "got ready with a device, want ordered: device slots are given in order")
	case v.Finish == nil:
	case s.Video != nil || s.Audio != nil:
		d.failAt("device.finish", "given for samples that are no pictures; leave it out")
	case s.Image.DType != tensor.U8 || s.Image.Layout != NHWC:
		d.failAt("device.finish", "got pictures of %v in %s, want u8 in NHWC: leave normalize, dtype and layout out of image", s.Image.DType, s.Image.Layout)
	case s.Image.Channels() > maxFinished:
		d.failAt("device.finish", "got %d channels, want at most %d", s.Image.Channels(), maxFinished)
	case v.Finish.Normalize != nil && (len(v.Finish.Normalize.Mean) != s.Image.Channels()):
		d.failAt("device.finish.normalize", "got %d values, want %d for mode %s", len(v.Finish.Normalize.Mean), s.Image.Channels(), s.Image.Mode)
	}
	for _, g := range s.Ring.Groups {
		if g.Name == "device" {
			d.failAt("ring.groups", "got a group of the name device beside a device, want another name: the uploader's group has it")
		}
	}
}

type canonicalFinish struct {
	DType string    `json:"dtype"`
	Mean  []float64 `json:"mean"`
	Std   []float64 `json:"std"`
}

// canonical is what the device makes of batches; where and when it does decides nothing.
func (v *Device) canonical() *canonicalFinish {
	if v == nil || v.Finish == nil {
		return nil
	}
	c := &canonicalFinish{DType: v.Finish.DType.String()}
	if n := v.Finish.Normalize; n != nil {
		c.Mean, c.Std = n.Mean, n.Std
	}
	return c
}
