package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// tiles are those of a picture, one behind the other, how many they are, of which grid, and how large the picture was.
type tiles struct {
	op  *media.Op
	row []field
}

// The fields of tiles, in the order of spec.Medium.Tensors.
const (
	tilesPixels = iota
	tilesCount
	tilesGrid
	tilesSize
)

func newTiles(m *spec.Medium) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	names := m.Tensors()
	return &tiles{op, []field{
		tilesPixels: {name: names[tilesPixels], dtype: m.Image.DType, shape: append(tensor.Shape{int64(op.Tiles())}, m.Image.RowShape()...), cut: cutOf(m.Image.Transform.Tiles.Shape)},
		tilesCount:  {name: names[tilesCount], dtype: tensor.I64, long: true},
		tilesGrid:   {name: names[tilesGrid], dtype: tensor.I64, shape: tensor.Shape{2}},
		tilesSize:   {name: names[tilesSize], dtype: tensor.I64, shape: tensor.Shape{2}},
	}}, nil
}

func (m *tiles) fields() []field { return m.row }

func (m *tiles) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &tilesDecoder{Worker: w, of: m}, nil
}

type tilesDecoder struct {
	*media.Worker
	of *tiles
}

// decode writes the tiles where they stay; what lies behind them is zero.
func (d *tilesDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	info, err := d.Row(row[tilesPixels], in.bytes, d.of.op, draw)
	if err != nil {
		return err
	}
	batch.Int64s(row[tilesCount])[0] = int64(info.Tiles)
	put(row[tilesGrid], media.Size{H: info.Grid.Rows, W: info.Grid.Columns})
	put(row[tilesSize], info.Seen())
	return nil
}
