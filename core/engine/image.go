package engine

import (
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// images are pictures, and, where the description asks for it, where their points lie in the row.
type images struct {
	op  *media.Op
	row []field
}

// The fields of a picture, in the order of spec.Medium.Tensors; the last two only where they are asked for.
const (
	imagePixels = iota
	imageAffine
	imageSize
)

func newImages(m *spec.Medium) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	axes := uint32(shm.AxesNHWC)
	if m.Image.Layout == spec.NCHW {
		axes = shm.AxesNCHW
	}
	row := []field{{name: m.Name, axes: axes, dtype: m.Image.DType, shape: m.Image.RowShape()}}
	if m.Image.Affine {
		names := m.Tensors()
		row = append(row, field{name: names[imageAffine], dtype: tensor.F32, shape: tensor.Shape{2, 3}}, field{name: names[imageSize], dtype: tensor.I64, shape: tensor.Shape{2}})
	}
	return &images{op, row}, nil
}

func (m *images) fields() []field { return m.row }

func (m *images) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &imageDecoder{Worker: w, op: m.op}, nil
}

type imageDecoder struct {
	*media.Worker
	op   *media.Op
	seen media.Size // of the last picture
}

func (d *imageDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	info, err := d.Row(row[imagePixels], in.bytes, d.op, draw)
	d.seen = info.Seen()
	if err != nil || len(row) == 1 {
		return err
	}
	tellMap(row[imageAffine], row[imageSize], 0, &info)
	return nil
}
