package engine

import (
	"sync"
	"unsafe"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// codedImages are pictures that a device decodes: rows are files as they are, and where the row's picture is in them. Files that are not
// for the device are decoded here, and their rows are the pixels.
type codedImages struct {
	op  *media.Op
	row []field
}

// The fields of a coded picture, in the order of spec.Medium.Tensors.
const (
	codedFile = iota
	codedLength
	codedPlace
)

func newCodedImages(m *spec.Medium) (modality, error) {
	op, err := media.Compile(load.PictureConfig(m.Image))
	if err != nil {
		return nil, err
	}
	names := m.Tensors()
	return &codedImages{op, []field{
		codedFile:   {name: names[codedFile], dtype: tensor.U8, shape: tensor.Shape{m.Room}, cut: ragged},
		codedLength: {name: names[codedLength], dtype: tensor.I64, long: true},
		codedPlace:  {name: names[codedPlace], dtype: tensor.I32, shape: tensor.Shape{device.PlaceInts}},
	}}, nil
}

func (m *codedImages) fields() []field { return m.row }

func (m *codedImages) open() (decoder, error) {
	w, err := media.NewWorker(nil)
	if err != nil {
		return nil, err
	}
	return &codedDecoder{w, m.op}, nil
}

// picture is the row that the device makes, and how.
func (m *codedImages) picture() (field, *device.Decode) {
	shape := m.op.Shape()
	f := field{name: m.row[codedFile].name, axes: shm.AxesNHWC, dtype: tensor.U8, shape: tensor.Shape{int64(shape[0]), int64(shape[1]), int64(shape[2])}}
	return f, &device.Decode{Places: m.row[codedPlace].name, H: shape[0], W: shape[1], Bicubic: m.op.Interpolation() == media.Bicubic}
}

type codedDecoder struct {
	*media.Worker
	op *media.Op
}

// decode leaves the file to the device where that can be.
func (d *codedDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	data := in.bytes
	plan, ok, err := d.Plan(data, d.op, draw)
	if err != nil {
		return err
	}
	if !ok || len(data) > len(row[codedFile]) || !forDevice(&plan) {
		return d.decodeOnHost(row, data, draw)
	}
	clear(row[codedFile][copy(row[codedFile], data):])
	batch.Int64s(row[codedLength])[0] = int64(len(data))
	flip := 0
	if plan.Flip {
		flip = 1
	}
	for i, n := range [device.PlaceInts]int{
		device.PlaceKind: device.JPEG, device.PlaceWidth: plan.Width, device.PlaceHeight: plan.Height,
		device.PlaceBoxX: plan.Box.X, device.PlaceBoxY: plan.Box.Y, device.PlaceBoxW: plan.Box.W, device.PlaceBoxH: plan.Box.H,
		device.PlaceResW: plan.Resized.W, device.PlaceResH: plan.Resized.H, device.PlaceX: plan.X, device.PlaceY: plan.Y, device.PlaceFlip: flip,
	} {
		place(row)[i] = int32(n)
	}
	return nil
}

// forDevice says that the picture is within what a device does.
func forDevice(p *media.Plan) bool {
	taps := func(from, to int) bool { return 4*((from+to-1)/to)+3 <= device.MaxTaps } // of the wider filter, bicubic
	return 3*p.Width*p.Height <= device.MaxPictureBytes && taps(p.Box.W, p.Resized.W) && taps(p.Box.H, p.Resized.H)
}

func (d *codedDecoder) decodeOnHost(row [][]byte, data []byte, draw media.Draw) error {
	n := d.op.RowBytes()
	if _, err := d.Row(row[codedFile][:n], data, d.op, draw); err != nil {
		return err
	}
	clear(row[codedFile][n:])
	batch.Int64s(row[codedLength])[0] = int64(n)
	clear(row[codedPlace])
	place(row)[device.PlaceKind] = device.Pixels
	return nil
}

// place is a row's place as numbers.
func place(row [][]byte) []int32 { return placeInts(row[codedPlace]) }

func placeInts(b []byte) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(b))), device.PlaceInts)
}

// refusals are the samples whose files the device does not decode, for as long as the ring runs. All methods may be called by several goroutines.
type refusals struct {
	mu  sync.RWMutex
	all map[int64]bool
}

// maxRefusals bounds the samples that are remembered. Of a device that refuses more nothing is asked any more.
const maxRefusals = 1 << 20

func (s *refusals) has(sample int64) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[sample] || len(s.all) >= maxRefusals
}

// add says whether the sample is a new one.
func (s *refusals) add(sample int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[sample] || len(s.all) >= maxRefusals {
		return false
	}
	s.all[sample] = true
	return true
}

// forget takes samples back that add was new to.
func (s *refusals) forget(samples []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sample := range samples {
		delete(s.all, sample)
	}
}

func (s *refusals) count() uint64 {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return uint64(len(s.all))
}
