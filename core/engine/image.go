package engine

import (
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// images are pictures, each one field.
type images struct {
	op  *media.Op
	row []field
}

func newImages(s *spec.Spec) (modality, error) {
	op, err := media.Compile(pictureOf(&s.Image))
	if err != nil {
		return nil, err
	}
	axes := uint32(shm.AxesNHWC)
	if s.Image.Layout == spec.NCHW {
		axes = shm.AxesNCHW
	}
	return &images{op, []field{{name: "image", axes: axes, dtype: s.Image.DType, shape: s.RowShape()}}}, nil
}

func (m *images) fields() []field { return m.row }

func (m *images) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &imageDecoder{w, m.op}, nil
}

type imageDecoder struct {
	*media.Worker
	op *media.Op
}

func (d *imageDecoder) decode(row [][]byte, data []byte, draw media.Draw) error {
	_, err := d.Row(row[0], data, d.op, draw)
	return err
}

// pictureOf says what a picture, or a frame, becomes in core/media's words.
func pictureOf(i *spec.Image) media.Config {
	t := &i.Transform
	c := media.Config{Flip: t.HorizontalFlip, Orient: i.Orient, MaxPixels: uint64(i.MaxPixels)}
	size := func(e spec.Extent) media.Size { return media.Size{H: e.Height, W: e.Width} }
	filter := spec.Bilinear
	c.Out = size(t.Output())
	if r := t.Resize; r != nil {
		c.ResizeShort, filter = r.Short, r.Interpolation
		if r.Short == 0 {
			c.Resize = size(r.Extent)
		}
	}
	if r := t.RandomResizedCrop; r != nil {
		c.Random, filter = &media.RandomCrop{Scale: r.Scale, Ratio: r.Ratio}, r.Interpolation
	}
	if filter == spec.Bicubic {
		c.Interpolation = media.Bicubic
	}
	if n := t.Normalize; n != nil {
		c.Normalize = &media.Normalize{Mean: n.Mean, Std: n.Std}
	}
	c.Mode = map[spec.Mode]media.Mode{spec.RGB: media.RGB, spec.Gray: media.Gray, spec.Luma: media.Luma}[i.Mode]
	c.DType = map[tensor.DType]media.DType{tensor.U8: media.U8, tensor.F16: media.F16, tensor.BF16: media.BF16, tensor.F32: media.F32}[i.DType]
	if i.Layout == spec.NCHW {
		c.Layout = media.NCHW
	}
	return c
}
