package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// pieces are a picture's tiles or patches, one behind the other, how many they are, of which grid, and how large the picture was.
type pieces struct {
	op     *media.Op
	row    []field
	clears bool // what lies behind them in the row is to be made zero; behind tiles it is
}

// The fields of pieces, in the order of spec.Medium.Tensors.
const (
	piecesPixels = iota
	piecesCount
	piecesGrid
	piecesSize
)

// newTiles has grids of rows and columns.
func newTiles(m *spec.Medium) (modality, error) {
	p, err := newPieces(m, m.Image.Transform.Tiles.Shape, 2)
	if err != nil {
		return nil, err
	}
	pixels := &p.row[piecesPixels]
	pixels.shape = append(tensor.Shape{int64(p.op.Tiles())}, pixels.shape...)
	return p, nil
}

// newPatches has grids of frames, rows and columns, as models of videos take them, too: of one frame. whole: rows are kept as they are, with what lies
// behind ragged ones.
func newPatches(m *spec.Medium, whole bool) (modality, error) {
	shape := m.Image.Patches.Shape
	p, err := newPieces(m, shape, 3)
	if err != nil {
		return nil, err
	}
	p.clears = whole || shape != spec.Ragged
	return p, nil
}

func newPieces(m *spec.Medium, shape spec.Cut, axes int64) (*pieces, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	names := m.Tensors()
	return &pieces{op: op, row: []field{
		piecesPixels: {name: names[piecesPixels], dtype: m.Image.DType, shape: m.Image.RowShape(), cut: cutOf(shape)},
		piecesCount:  {name: names[piecesCount], dtype: tensor.I64, long: true},
		piecesGrid:   {name: names[piecesGrid], dtype: tensor.I64, shape: tensor.Shape{axes}},
		piecesSize:   {name: names[piecesSize], dtype: tensor.I64, shape: tensor.Shape{2}},
	}}, nil
}

func (p *pieces) fields() []field { return p.row }

func (p *pieces) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &piecesDecoder{Worker: w, of: p}, nil
}

type piecesDecoder struct {
	*media.Worker
	of *pieces
}

// decode writes the pieces where they stay.
func (d *piecesDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	info, err := d.Row(row[piecesPixels], in.bytes, d.of.op, draw)
	if err != nil {
		return err
	}
	if d.of.clears {
		clear(row[piecesPixels][info.Tiles*d.of.row[piecesPixels].stepBytes():])
	}
	batch.Int64s(row[piecesCount])[0] = int64(info.Tiles)
	grid := batch.Int64s(row[piecesGrid])
	if len(grid) == 3 {
		grid[0], grid = 1, grid[1:]
	}
	grid[0], grid[1] = int64(info.Grid.Rows), int64(info.Grid.Columns)
	put(row[piecesSize], info.Seen())
	return nil
}
