package engine

import (
	"fmt"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// pictures are those of a sample that has several, or none, one behind the other, how many they are, and, where the description asks for it, where
// the points of each lie.
type pictures struct {
	op   *media.Op
	most int
	row  []field
}

// The fields of several pictures, in the order of spec.Medium.Tensors; the last two only where they are asked for.
const (
	picturesPixels = iota
	picturesCount
	picturesAffine
	picturesSize
)

func newPictures(m *spec.Medium) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	many, names := m.Image.Many, m.Tensors()
	room, how := int64(many.Most), cutOf(many.Shape)
	each := func(shape ...int64) tensor.Shape { return append(tensor.Shape{room}, shape...) }
	row := []field{
		picturesPixels: {name: names[picturesPixels], dtype: m.Image.DType, shape: each(m.Image.RowShape()...), cut: how},
		picturesCount:  {name: names[picturesCount], dtype: tensor.I64, long: true},
	}
	if m.Image.Affine {
		row = append(row, field{name: names[picturesAffine], dtype: tensor.F32, shape: each(2, 3), cut: how},
			field{name: names[picturesSize], dtype: tensor.I64, shape: each(2), cut: how})
	}
	return &pictures{op, many.Most, row}, nil
}

func (m *pictures) fields() []field { return m.row }

func (m *pictures) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &picturesDecoder{Worker: w, pictures: m}, nil
}

type picturesDecoder struct {
	*media.Worker
	*pictures
}

// decode writes each picture where it stays. Of a ragged row, too, what lies behind them is zero: hashes are of whole rows.
func (d *picturesDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	all, err := source.Bundled(in.bytes)
	if err != nil {
		return err
	}
	n, size := all.Len(), d.op.RowBytes()
	if n > d.most { // a source keeps to it
		return fmt.Errorf("got %d pictures, want at most %d", n, d.most)
	}
	for k := range n {
		info, err := d.Row(row[picturesPixels][k*size:(k+1)*size], all.At(k), d.op, drawOf(draw, k))
		if err != nil {
			return fmt.Errorf("picture %d of %d: %w", k+1, n, err)
		}
		if len(row) > picturesAffine {
			tellMap(row[picturesAffine], row[picturesSize], k, &info)
		}
	}
	clear(row[picturesPixels][n*size:])
	batch.Int64s(row[picturesCount])[0] = int64(n)
	if len(row) > picturesAffine {
		clear(batch.Float32s(row[picturesAffine])[6*n:])
		clear(batch.Int64s(row[picturesSize])[2*n:])
	}
	return nil
}

// drawOf is the draw of picture k of a sample: the sample's own of the first, and of each other one with its number in the seed.
func drawOf(draw media.Draw, k int) media.Draw {
	draw.Seed ^= uint64(k) * 0x9e3779b97f4a7c15 // odd, so that no two numbers give the same
	return draw
}

// tellMap writes where points of picture k lie in its row, and the size that it had.
func tellMap(affine, size []byte, k int, info *media.Info) {
	to := batch.Float32s(affine)[6*k:][:6]
	for i := range to {
		to[i] = float32(info.Affine[i/3][i%3])
	}
	put(size[k*16:], info.Seen())
}
