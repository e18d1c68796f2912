package spec

import (
	"fmt"

	"github.com/spdl/spdl/core/tensor"
)

// Device has every batch uploaded to a GPU before consumers see it. Host memory has it, too.
type Device struct {
	CUDA      int // ordinal of the device
	Slots     int // batches that fit into its memory
	InFlight  int // batches that are copied at a time; 0: 2
	Finish    *Finish
	Decode    string // "cpu", or NVJPEG: the device decodes JPEG files
	JPEGBytes int64  // room for a sample's file, with NVJPEG
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

// NVJPEG is one value of Device.Decode; the other is CPU.
const (
	NVJPEG = "nvjpeg"
	CPU    = "cpu"
)

// DecodesPictures says that the device does, not the engine.
func (v *Device) DecodesPictures() bool { return v != nil && v.Decode == NVJPEG }

const (
	minDeviceSlots = 2
	maxDeviceSlots = 64
	maxFinished    = 4     // channels
	maxDeviceRows  = 65535 // of a launch
	jpegBytes      = 256 << 10
)

// device reads the section. A ring that says so anew does not keep what the top level said.
func (d *decoder) device(s *section) *Device {
	v := &Device{Slots: 3, Decode: CPU, Otherwise: string(Fail), Restarts: 5}
	whole(s, "cuda", &v.CUDA, 0, 1023)
	whole(s, "slots", &v.Slots, minDeviceSlots, maxDeviceSlots)
	whole(s, "in_flight", &v.InFlight, 1, maxDeviceSlots)
	choice(s, "decode", &v.Decode, CPU, NVJPEG)
	whole(s, "jpeg_bytes", &v.JPEGBytes, 1<<10, 1<<30)
	choice(s, "otherwise", &v.Otherwise, string(Fail), OnHost)
	whole(s, "restarts", &v.Restarts, 0, 1000)
	if s.switchedOn("finish") {
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
	case v.DecodesPictures() && v.JPEGBytes == 0:
		v.JPEGBytes = jpegBytes
	case !v.DecodesPictures() && v.JPEGBytes > 0:
		d.failAt("device.jpeg_bytes", "given without decode: nvjpeg; leave it out")
	}
	switch {
	case v.InFlight > v.Slots:
		d.failAt("device.in_flight", "got %d, want at most the %d device slots", v.InFlight, v.Slots)
	case s.Batch > maxDeviceRows:
		d.failAt("batch", "got %d with a device, want at most %d", s.Batch, maxDeviceRows)
	case s.Ring.Delivery == Ready:
		d.failAt("ring.delivery", "got ready with a device, want ordered: device slots are given in order")
	case v.DecodesPictures() && !d.checkDecode(s):
	case s.raggedPictures() != "":
		d.failAt(s.raggedPictures(), "got ragged with a device, which uploads what has a fixed place in every row; want padded")
	case v.Finish == nil:
	case len(s.Fields) > 0:
		d.failAt("device.finish", "given beside fields, want image in their place: one picture a sample")
	case s.Video != nil || s.Audio != nil || s.alone():
		d.failAt("device.finish", "given for samples that are no pictures; leave it out")
	case s.Image == nil: // said elsewhere
	case s.Image.DType != tensor.U8 || s.Image.Layout != NHWC:
		d.failAt("device.finish", "got pictures of %v in %s, want u8 in NHWC: leave normalize, dtype and layout out of image", s.Image.DType, s.Image.Layout)
	case s.Image.Patches != nil: // said elsewhere
	case s.Image.Open():
		d.failAt("device.finish", "got pictures of shape: %s, want fixed, as all of a row is finished; leave it out, and normalize in image.transform", s.Image.Shape)
	case s.Image.Mode == Index:
		d.failAt("device.finish", "got pictures of mode index, whose numbers of classes are not scaled; leave it out")
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

// raggedPictures is where a section says that its pictures lie one behind the other; "": none does.
func (s *Spec) raggedPictures() string {
	for _, m := range s.Media() {
		switch i := m.Image; {
		case i == nil:
		case i.Patches != nil && i.Patches.Shape == Ragged:
			return m.Path() + ".patches.shape"
		case i.Patches != nil:
		case i.Shape == Ragged:
			return m.Path() + ".shape"
		case i.Many != nil && i.Many.Shape == Ragged:
			return m.Path() + ".many.shape"
		case i.Transform.Tiles != nil && i.Transform.Tiles.Shape == Ragged:
			return m.Path() + ".tiles.shape"
		}
	}
	return ""
}

// undone is the first operation that a device does not do; "": there is none.
func (t *Transform) undone() string {
	for _, s := range t.all() {
		if s.Name() != "horizontal_flip" {
			return s.Name()
		}
	}
	switch {
	case t.RandomErasing != nil:
		return "random_erasing"
	case len(t.fills()) > 0:
		return t.fills()[0].name + ".fill"
	}
	for _, b := range t.borders() {
		if b.Mode != "" {
			return b.name + ".padding_mode"
		}
	}
	return ""
}

// checkDecode refuses what a device cannot make of pictures.
func (d *decoder) checkDecode(s *Spec) bool {
	const undone = "got %s beside device.decode: nvjpeg, which crops, resizes and flips left to right only; leave it out, or take decode: cpu"
	fail := func(key, format string, args ...any) bool {
		d.failAt(key, format, args...)
		return false
	}
	switch {
	case len(s.Fields) > 0 || s.Video != nil || s.Audio != nil || s.alone():
		return fail("device.decode", "got nvjpeg for samples that are not one picture, want cpu")
	case s.Image == nil:
		return false // said elsewhere
	case s.Image.Mode != RGB || s.Image.DType != tensor.U8 || s.Image.Layout != NHWC:
		return fail("device.decode", "got nvjpeg for pictures of %v, %s, in %s; want u8, %s, %s: normalize and dtype belong to device.finish", s.Image.DType, s.Image.Mode, s.Image.Layout, RGB, NHWC)
	case s.Image.Transform.Filter() != Bilinear && s.Image.Transform.Filter() != Bicubic:
		return fail("device.decode", "got nvjpeg for pictures resized by interpolation %s, want cpu, or bilinear or bicubic", s.Image.Transform.Filter())
	case s.Image.Transform.undone() != "":
		return fail("image.transform."+s.Image.Transform.undone(), undone, s.Image.Transform.undone())
	case len(s.Image.Transform.early()) > 0: // a flip to left and right
		return fail("image.transform.horizontal_flip", "got horizontal_flip ahead of the crop beside device.decode: nvjpeg, which flips last; write it behind, or take decode: cpu")
	case s.Image.Open():
		return fail("image.shape", "got %s beside device.decode: nvjpeg, whose rows have one size; leave it out, or take decode: cpu", s.Image.Shape)
	case s.Image.Affine:
		return fail("image.affine", "given beside device.decode: nvjpeg, whose batches do not say it; leave it out, or take decode: cpu")
	case s.Image.Boxes != nil:
		return fail("image.boxes", "given beside device.decode: nvjpeg, by which nothing is moved; leave it out, or take decode: cpu")
	case s.Image.Points != nil:
		return fail("image.points", "given beside device.decode: nvjpeg, by which nothing is moved; leave it out, or take decode: cpu")
	case s.Device.Otherwise == OnHost:
		return fail("device.otherwise", "got host beside decode: nvjpeg, want fail: host memory has files then, no pixels")
	}
	if s.Source.Host.Samples > 0 {
		return fail("device.decode", "got nvjpeg for samples of the program's own, want cpu: what the device refuses is read again")
	}
	if s.Ring.Hash == XXH3 {
		return fail("ring.hash", "got xxh3 beside decode: nvjpeg, want none: it is of what lies in host memory, which has files then")
	}
	if s.Cache.RowsBytes > 0 {
		return fail("cache.rows_bytes", "given beside decode: nvjpeg, whose rows are files; leave it out, or use cache.dir")
	}
	for _, g := range s.Ring.Groups {
		if g.Kind == Stage {
			return fail("device.decode", "got nvjpeg beside stage %q, want cpu: a stage has batches before the device decodes them", g.Name)
		}
	}
	return true
}

type canonicalFinish struct {
	DType string    `json:"dtype"`
	Mean  []float64 `json:"mean"`
	Std   []float64 `json:"std"`
}

// canonicalDecoder is who decodes, where that is not the processor, and which files: the pixels are not quite the same.
func (v *Device) canonicalDecoder() string {
	if v.DecodesPictures() {
		return fmt.Sprintf("%s %d", NVJPEG, v.JPEGBytes)
	}
	return ""
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
