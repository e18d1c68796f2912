package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// patches are those of a picture, one behind the other, how many they are, of which grid, and how large the picture was.
type patches struct {
	op     *media.Op
	row    []field
	clears bool // what lies behind them in the row is zero
}

// The fields of patches, in the order of spec.Medium.Tensors.
const (
	patchesPixels = iota
	patchesCount
	patchesGrid
	patchesSize
)

func newPatches(m *spec.Medium, whole bool) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	names, how := m.Tensors(), cutOf(m.Image.Patches.Shape)
	return &patches{op, []field{
		patchesPixels: {name: names[patchesPixels], dtype: m.Image.DType, shape: m.Image.RowShape(), cut: how},
		patchesCount:  {name: names[patchesCount], dtype: tensor.I64, long: true},
		patchesGrid:   {name: names[patchesGrid], dtype: tensor.I64, shape: tensor.Shape{3}},
		patchesSize:   {name: names[patchesSize], dtype: tensor.I64, shape: tensor.Shape{2}},
	}, how != ragged || whole}, nil
}

func (m *patches) fields() []field { return m.row }

func (m *patches) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &patchesDecoder{Worker: w, of: m}, nil
}

type patchesDecoder struct {
	*media.Worker
	of *patches
}

// decode writes the patches where they stay.
func (d *patchesDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	info, err := d.Row(row[patchesPixels], in.bytes, d.of.op, draw)
	if err != nil {
		return err
	}
	if d.of.clears {
		clear(row[patchesPixels][info.Tiles*d.of.row[patchesPixels].stepBytes():])
	}
	batch.Int64s(row[patchesCount])[0] = int64(info.Tiles)
	grid := batch.Int64s(row[patchesGrid])
	grid[0], grid[1], grid[2] = 1, int64(info.Grid.Rows), int64(info.Grid.Columns)
	put(row[patchesSize], info.Seen())
	return nil
}
