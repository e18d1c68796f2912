//go:build noffmpeg

package media

/*
#include "row.h"
#include "internal.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"unsafe"
)

// decoder decodes PNG and GIF with Go's standard library; this build has no
// FFmpeg.
type decoder struct{}

func (d *decoder) close() {}

func (d *decoder) decode(w *Worker, data []byte, format string, op *Op) (C.media_picture, error) {
	var m image.Image
	var err error
	switch format {
	case "png":
		m, err = png.Decode(bytes.NewReader(data))
	case "gif":
		m, err = firstOfGIF(data)
	default:
		return C.media_picture{}, &UnsupportedError{Format: format, Detail: "built without FFmpeg; use the full build of spdl"}
	}
	if err != nil {
		return C.media_picture{}, stdlibError(format, err)
	}
	return w.picture(m, op)
}

// firstOfGIF keeps the palette's colour under transparent pixels, as FFmpeg's
// build and Pillow do, by clearing the flags on a copy.
func firstOfGIF(data []byte) (image.Image, error) {
	data = bytes.Clone(data)
	C.media_gif_keep_colours((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)))
	return gif.Decode(bytes.NewReader(data))
}

func stdlibError(format string, err error) error {
	var unsupported png.UnsupportedError
	if errors.As(err, &unsupported) {
		return &UnsupportedError{Format: format, Detail: string(unsupported)}
	}
	cause := CauseCorrupt
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		cause = CauseTruncated
	}
	return &FormatError{Format: format, Detail: err.Error(), cause: cause}
}

// picture copies m to the worker's buffer as RGBX, alpha dropped, or as L.
func (w *Worker) picture(m image.Image, op *Op) (C.media_picture, error) {
	b := m.Bounds()
	stride := 4 * b.Dx()
	p := C.media_ctx_picture_buffer(w.c, C.size_t(stride*b.Dy()+C.MEDIA_SLACK_BYTES))
	if p == nil {
		return C.media_picture{}, &LimitError{cause: CauseNoMemory}
	}
	pixels := unsafe.Slice((*byte)(unsafe.Pointer(p)), stride*b.Dy())
	for y := range b.Dy() {
		row := pixels[y*stride : (y+1)*stride]
		for x := range b.Dx() {
			c := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, 255
		}
		if op.c.channels == 1 {
			C.media_rgbx_to_gray((*C.uint8_t)(unsafe.Pointer(&row[0])), C.uint32_t(b.Dx()))
		}
	}
	return C.media_picture{pixels: p, stride_bytes: C.size_t(stride), width: C.int32_t(b.Dx()), height: C.int32_t(b.Dy())}, nil
}

func ffmpegVersion() string { return "" }
