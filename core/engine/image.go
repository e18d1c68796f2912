package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// images are pictures, and, where the description asks for it, where their points lie in the row.
type images struct {
	ops []*media.Op // one, or one for each bucket of sizes
	row []field
}

// The fields of a picture, in the order of spec.Medium.Tensors; the last two only where they are asked for.
const (
	imagePixels = iota
	imageAffine
	imageSize
)

func newImages(m *spec.Medium) (modality, error) {
	all := &images{}
	var shapes []tensor.Shape
	for _, one := range m.Image.Sizes() {
		op, err := media.Compile(load.PictureConfig(one))
		if err != nil {
			return nil, err
		}
		all.ops, shapes = append(all.ops, op), append(shapes, one.RowShape())
	}
	axes := uint32(shm.AxesNHWC)
	if m.Image.Layout == spec.NCHW {
		axes = shm.AxesNCHW
	}
	row := []field{{name: m.Name, axes: axes, dtype: m.Image.DType, shape: m.Image.RowShape(), shapes: shapes}}
	if m.Image.Affine {
		names := m.Tensors()
		row = append(row, field{name: names[imageAffine], dtype: tensor.F32, shape: tensor.Shape{2, 3}}, field{name: names[imageSize], dtype: tensor.I64, shape: tensor.Shape{2}})
	}
	all.row = row
	return all, nil
}

func (m *images) fields() []field { return m.row }

func (m *images) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &imageDecoder{Worker: w, ops: m.ops}, nil
}

type imageDecoder struct {
	*media.Worker
	ops  []*media.Op
	seen media.Size // of the last picture
}

func (d *imageDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	info, err := d.Row(row[imagePixels], in.bytes, d.ops[min(in.bucket, len(d.ops)-1)], draw) // the one where there is one
	d.seen = info.Seen()
	if err != nil || len(row) == 1 {
		return err
	}
	affine := batch.Float32s(row[imageAffine])
	for i := range affine {
		affine[i] = float32(info.Affine[i/3][i%3])
	}
	size := batch.Int64s(row[imageSize])
	size[0], size[1] = int64(d.seen.H), int64(d.seen.W)
	return nil
}
