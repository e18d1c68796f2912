//go:build !noffmpeg

package video

/*
#include "video.h"
*/
import "C"

import (
	"unsafe"

	"github.com/spdl/spdl/core/media"
)

// put converts a frame into place t of the row.
func (w *Worker) put(dst Row, t int, frame *C.AVFrame, draw media.Draw) error {
	draw.Frame = uint32(t)
	if w.op.cfg.Axes != CTHW {
		return w.frame(w.place(dst, t), frame, draw)
	}
	w.planes = grow(w.planes, w.op.image.RowBytes())
	if err := w.frame(w.planes, frame, draw); err != nil {
		return err
	}
	plane := len(w.planes) / 3
	for ch := range 3 {
		copy(dst.Data[(ch*w.op.t+t)*plane:][:plane], w.planes[ch*plane:])
	}
	return nil
}

// place is frame t of a row whose first axis is T.
func (w *Worker) place(dst Row, t int) []byte {
	n := w.op.image.RowBytes()
	return dst.Data[t*n : (t+1)*n : (t+1)*n]
}

func (w *Worker) repeat(dst Row, t, from int) {
	if w.op.cfg.Axes != CTHW {
		copy(w.place(dst, t), w.place(dst, from))
		return
	}
	plane := w.op.image.RowBytes() / 3
	for ch := range 3 {
		copy(dst.Data[(ch*w.op.t+t)*plane:][:plane], dst.Data[(ch*w.op.t+from)*plane:][:plane])
	}
}

func (w *Worker) clearAfter(dst Row, n int) {
	if dst.PTS != nil {
		clear(dst.PTS[n:])
	}
	if dst.Duration != nil {
		clear(dst.Duration[n:])
	}
	if w.op.cfg.Axes != CTHW {
		clear(dst.Data[n*w.op.image.RowBytes():])
		return
	}
	plane := w.op.image.RowBytes() / 3
	for ch := range 3 {
		clear(dst.Data[(ch*w.op.t+n)*plane : (ch+1)*w.op.t*plane])
	}
}

// frame puts one frame where its pixels belong: at once, or through core/media where
// there is more to do than colours.
func (w *Worker) frame(dst []byte, frame *C.AVFrame, draw media.Draw) error {
	width, height := int(frame.width), int(frame.height)
	orientation := int(w.stream.orientation)
	if w.op.cfg.AsSent || w.filter.is() { // whose frames are turned before
		orientation = 1
	}
	if orientation == 1 && w.op.image.Copies(width, height) {
		return w.convert(frame, C.VIDEO_RGB24, width, height, unsafe.Pointer(&dst[0]), 3*width)
	}
	width, height = w.scaledSize(width, height, orientation)
	stride := (4*width + 63) &^ 63
	w.pixels = grow(w.pixels, stride*height+media.PictureSlack)
	pixels := unsafe.Pointer(&w.pixels[0])
	if err := w.convert(frame, C.VIDEO_RGBX, width, height, pixels, stride); err != nil {
		return err
	}
	_, err := w.image.Picture(dst, &media.Picture{
		Pixels: pixels, StrideBytes: stride, Width: width, Height: height, Orientation: orientation,
	}, w.op.image, draw)
	return err
}

// scaledSize is what swscale is to make of a frame: its own size, unless it resizes.
func (w *Worker) scaledSize(width, height, orientation int) (int, int) {
	if w.op.cfg.Scaler == Pillow {
		return width, height
	}
	size := w.op.cfg.Image.Resize
	if orientation >= 5 {
		return size.H, size.W
	}
	return size.W, size.H
}

func (w *Worker) convert(frame *C.AVFrame, format C.int, width, height int, to unsafe.Pointer, stride int) error {
	status := C.video_convert(&w.scaler, frame, C.int(w.op.cfg.Colour), C.int(w.op.cfg.Scaler), format,
		C.int32_t(width), C.int32_t(height), (*C.uint8_t)(to), C.size_t(stride))
	if status != C.MEDIA_AV_OK {
		return w.fail(status)
	}
	return nil
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
