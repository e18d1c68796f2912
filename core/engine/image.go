package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// images are pictures, and, where the description asks for it, how large each is and where its points lie in the row.
type images struct {
	ops   []*media.Op // one, or one for each bucket of sizes
	row   []field
	at    knownPlaces
	whole bool // all of a row is written, so that what is kept of it in a file is the same each time
}

// knownPlaces are where a row has what is known of its picture: places in the fields, after the pixels. 0: it has not.
type knownPlaces struct{ extent, affine, size int }

// The pixels are a picture's first field.
const imagePixels = 0

func newImages(m *spec.Medium, whole bool) (modality, error) {
	p := &images{whole: whole}
	var shapes []tensor.Shape
	for _, one := range m.Image.Sizes() {
		op, err := media.Compile(load.PictureConfig(one))
		if err != nil {
			return nil, err
		}
		p.ops, shapes = append(p.ops, op), append(shapes, one.RowShape())
	}
	pixels := field{name: m.Name, axes: shm.AxesNHWC, dtype: m.Image.DType, shape: m.Image.RowShape(), shapes: shapes, cut: cutOf(m.Image.Shape), sized: m.Image.Open(), multipleOf: m.Image.MultipleOf}
	if m.Image.Layout == spec.NCHW {
		pixels.axes = shm.AxesNCHW
		if pixels.cut == padded {
			pixels.along = 1
		}
	}
	p.row = append(p.row, pixels)
	names := m.Tensors()
	known := func(dtype tensor.DType, shape tensor.Shape) int {
		p.row = append(p.row, field{name: names[len(p.row)], dtype: dtype, shape: shape})
		return len(p.row) - 1
	}
	if m.Image.Open() {
		p.at.extent = known(tensor.I64, tensor.Shape{2})
		p.row[p.at.extent].long = true
	}
	if m.Image.Affine {
		p.at.affine = known(tensor.F32, tensor.Shape{2, 3})
		p.at.size = known(tensor.I64, tensor.Shape{2})
	}
	return p, nil
}

func (m *images) fields() []field { return m.row }

func (m *images) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &imageDecoder{Worker: w, of: m}, nil
}

type imageDecoder struct {
	*media.Worker
	of   *images
	op   *media.Op  // of the last row,
	seen media.Size // and the size of its picture
}

func (d *imageDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	d.op = d.of.ops[min(in.bucket, len(d.of.ops)-1)] // the one where there is one
	info, err := d.Row(row[imagePixels], in.bytes, d.op, draw)
	d.seen = info.Seen()
	if err != nil {
		return err
	}
	if at := d.of.at.extent; at > 0 {
		put(row[at], info.Row)
		if f := &d.of.row[imagePixels]; f.cut == ragged && d.of.whole {
			clear(row[imagePixels][info.Row.H*info.Row.W*f.stepBytes():])
		}
	}
	if at := d.of.at.affine; at > 0 {
		tellMap(row[at], row[d.of.at.size], 0, &info)
	}
	return nil
}

// put writes a size into its field.
func put(to []byte, s media.Size) {
	size := batch.Int64s(to)
	size[0], size[1] = int64(s.H), int64(s.W)
}
