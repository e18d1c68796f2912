package engine

import (
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// images are pictures, one field.
type images struct {
	op  *media.Op
	row []field
}

func newImages(m *spec.Medium) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	axes := uint32(shm.AxesNHWC)
	if m.Image.Layout == spec.NCHW {
		axes = shm.AxesNCHW
	}
	return &images{op, []field{{name: m.Name, axes: axes, dtype: m.Image.DType, shape: m.Image.RowShape()}}}, nil
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
