package engine

import (
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// A modality is what one part of a ring's samples is, and how its bytes become tensors of a row. It is shared by all goroutines.
type modality interface {
	// fields are the tensors of a row: the part itself first, then what is known of it.
	fields() []field
	// open makes a decoder, for one goroutine at a time.
	open() (decoder, error)
}

// A decoder keeps what one thread needs between samples.
type decoder interface {
	// decode writes a part into its row, the memory of one row of each field; both are the caller's, and neither is kept.
	// Equal draws give equal rows. What a failed decode leaves in the row is undefined. An error's Cause, where it has that
	// method, is the word it is counted under.
	decode(row [][]byte, in input, draw media.Draw) error
	Close()
}

// input is what a row is made of: a part of a sample as it was read.
type input struct {
	bytes    []byte
	bucket   int          // of its batch
	file     *source.File // not nil: in place of bytes
	windowed bool         // within is the part of it that the row is made of, in place of what the section says
	within
	channel []int        // of a sound: not nil, where the sample says which one it is
	heard   [][2]float64 // of a sound: not nil, where it is what is heard from one second of the file's clock up to another, for each clip
	times   []float64    // of a video: the frames that the sample names, one way or the other
	indices []int
}

// within is a part of a file, in seconds. It lasts to the file's end where lasts is 0.
type within struct{ start, lasts float64 }

// A hostDecoder is a decoder of parts that a device decodes; it can do without.
type hostDecoder interface {
	decoder
	// decodeOnHost writes what decode leaves to the device.
	decodeOnHost(row [][]byte, data []byte, draw media.Draw) error
}

// field is one tensor of a row.
type field struct {
	name  string
	axes  uint32
	dtype tensor.DType
	shape tensor.Shape // of one row, of the longest where rows differ; empty: a number

	shapes []tensor.Shape // of one row by the bucket of its batch, shape being the largest; of one, or nil: always shape

	cut   cut
	along int  // the dimension of a row that its length counts, where it is cut
	long  bool // this field is the rows' length, an i64, or their extent, two
	sized bool // rows are pictures: what is cut is their height, along `along`, and their width behind it, whole multiples of multipleOf

	measuredBy int // the field of the samples that is its modality's length or extent, where there is one
	multipleOf int
}

// cut says how rows that are shorter than the shape lie in a batch.
type cut int

const (
	uncut  cut = iota // as all others, with zeros behind
	padded            // every row as long as the batch's longest, with zeros behind; strides are the capacity's
	ragged            // one behind the other: offsets in elements
)

// rowBytes is the size of one row, of the largest bucket where there are some. Package spec has checked that there is one.
func (f *field) rowBytes() int {
	n, _ := f.shape.Bytes(f.dtype)
	return int(n)
}

// rowBytesIn is that of a row in a batch of a bucket.
func (f *field) rowBytesIn(bucket int) int {
	if len(f.shapes) < 2 {
		return f.rowBytes()
	}
	n, _ := f.shapes[bucket].Bytes(f.dtype)
	return int(n)
}

// stepBytes is the size of one step of a row's length.
func (f *field) stepBytes() int {
	n, _ := f.shape[f.along+1:].Bytes(f.dtype)
	return int(n)
}

// tensor is the field of n rows in a slot.
func (f *field) tensor(n int64) shm.Tensor {
	if f.cut == ragged {
		values, _ := f.shape.Elements()
		return shm.Tensor{Name: f.name, Kind: shm.Ragged, Role: shm.RoleField, Axes: f.axes, DType: dtypeOf(f.dtype), Values: n * values}
	}
	return shm.Tensor{Name: f.name, Kind: shm.Dense, Role: shm.RoleField, Axes: f.axes, DType: dtypeOf(f.dtype), Shape: append([]int64{n}, f.shape...)}
}

// modalityOf prepares a medium; of a sound that goes with a video's clips, how many these are in a row.
func modalityOf(m *spec.Medium, clips int, cache *spec.Cache) (modality, error) {
	switch {
	case m.Video != nil:
		return newVideos(m, cache.VideoIndexDir)
	case m.Audio != nil:
		return newSounds(m, clips)
	case m.Room > 0:
		return newCodedImages(m)
	case m.Image.Many != nil:
		return newPictures(m)
	case m.Image.Transform.Tiles != nil:
		return newTiles(m)
	case m.Image.Patches != nil:
		return newPatches(m, cache.RowsDir != "")
	}
	return newImages(m, cache.RowsDir != "")
}

// lies says in core/media's words, and in the decoder's memory, in which file a part lies; nil: its bytes are there.
func (in *input) lies(of *av.File) *av.File {
	if in.file == nil {
		return nil
	}
	*of = av.File{From: in.file.Object(), FD: in.file.FD, Offset: in.file.Offset, Size: in.file.Size, Name: in.file.Name, Version: in.file.Version}
	return of
}

// cutOf is the description's word for it.
func cutOf(c spec.Cut) cut {
	return map[spec.Cut]cut{spec.Padded: padded, spec.Ragged: ragged}[c]
}

// raggedSteps are the shapes of one step of ragged fields of more than a number a step: [H, W, C] of a video's frames, [4] of boxes.
func raggedSteps(fields []field, columns []source.Column) map[string]tensor.Shape {
	steps := map[string]tensor.Shape{}
	for i := range fields {
		if f := &fields[i]; f.cut == ragged && len(f.shape) > f.along+1 {
			steps[f.name] = f.shape[f.along+1:]
		}
	}
	for i := range columns {
		if c := &columns[i]; c.MaxLength > 0 && !c.Padded && len(c.Shape) > 0 {
			steps[c.Name] = c.Shape
		}
	}
	return steps
}

// raggedExtents are the fields that say how large the pictures, or masks, of ragged ones are.
func raggedExtents(of *spec.Spec, fields []field) map[string]string {
	all := planes(of)
	for i := range fields {
		if f := &fields[i]; f.cut == ragged && f.sized {
			all[f.name] = fields[f.measuredBy].name
		}
	}
	return all
}
