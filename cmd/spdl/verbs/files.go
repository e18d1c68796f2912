package verbs

import (
	"fmt"
	"image"
	"unsafe"

	"github.com/spdl/spdl/core/device"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/shm"
)

// maxResized bounds the pixels of a picture that is drawn in part.
const maxResized = 64 << 20

// files draws pictures that the device decodes (device.decode): rows are their files, which are decoded here and cut and turned as the device does it, so that
// what is drawn is near what it has, and not equal.
type files struct {
	rowsIn
	place         int // the tensor that says where the row is in its file
	height, width int
}

func filesOf(schema []shm.TensorRecord, tensor int, m *mediumFacts) (*files, error) {
	length, place, made := fieldNamed(schema, m.named("length")), fieldNamed(schema, m.named("place")), fieldNamed(schema, m.Name+"@cuda")
	if length < 0 || place < 0 || made < 0 || !wide(&schema[length]) || schema[place].Strides[0] != 4*device.PlaceInts || schema[made].Ndim != 4 {
		return nil, &because{fmt.Errorf("view: field %q: the ring has files, and does not tell what the device makes of them", m.Name), shm.ErrFormat}
	}
	shape := ints(schema[made].Shape[1:4])
	if schema[made].Axes == shm.AxesNCHW {
		shape = shape[1:]
	}
	return &files{rowsInTensor(schema, tensor, length), place, shape[0], shape[1]}, nil
}

func (f *files) about() string {
	return fmt.Sprintf("%d x %d u8 · files, decoded here", f.width, f.height)
}

func (f *files) paint(l tensors, row int) *image.RGBA {
	data, _, ok := f.row(l, row)
	places := l.Tensor(f.place)
	if !ok || len(places) < (row+1)*4*device.PlaceInts {
		return nil
	}
	p := (*[device.PlaceInts]int32)(unsafe.Pointer(&places[row*4*device.PlaceInts]))
	m := image.NewRGBA(image.Rect(0, 0, f.width, f.height))
	switch p[device.PlaceKind] {
	case device.Pixels:
		if len(data) != 3*f.width*f.height {
			return nil
		}
		f.copyFrom(m, data, f.width, f.height, 0, 0, false)
	case device.JPEG:
		f.decode(m, data, p)
	}
	return m
}

// decode draws a file's row. One that does not decode, of which the device has yet to say so, stays empty.
func (f *files) decode(m *image.RGBA, data []byte, p *[device.PlaceInts]int32) {
	at := func(i int) int { return int(p[i]) }
	w, h := at(device.PlaceResW), at(device.PlaceResH)
	if w*h > maxResized {
		return
	}
	op, err := media.Compile(media.Config{Random: &media.RandomCrop{}, Out: media.Size{H: h, W: w}})
	if err != nil {
		return
	}
	worker, err := media.NewWorker(nil)
	if err != nil {
		return
	}
	defer worker.Close()
	resized := make([]byte, op.RowBytes())
	box := media.Box{Y: at(device.PlaceBoxY), X: at(device.PlaceBoxX), H: at(device.PlaceBoxH), W: at(device.PlaceBoxW)}
	if _, err := worker.Row(resized, data, op, media.Draw{Replay: true, Box: box}); err == nil {
		f.copyFrom(m, resized, w, h, at(device.PlaceX), at(device.PlaceY), at(device.PlaceFlip) != 0)
	}
}

// copyFrom draws the part of w x h pixels that begins at x and y; zeros are around it.
func (f *files) copyFrom(m *image.RGBA, pixels []byte, w, h, x, y int, flip bool) {
	for row := range f.height {
		for column := range f.width {
			from, to := column, m.Pix[m.PixOffset(column, row):][:4]
			if flip {
				from = f.width - 1 - column
			}
			to[3] = 255
			if sx, sy := x+from, y+row; sx >= 0 && sx < w && sy >= 0 && sy < h {
				copy(to[:3], pixels[3*(sy*w+sx):])
			}
		}
	}
}
