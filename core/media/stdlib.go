//go:build noffmpeg

package media

/*
#include "row.h"
#include "gif.h"
#include "files.h"
*/
import "C"

import (
	"bytes"
	"image"
	"image/gif"
	"unsafe"
)

// decoder decodes PNG and GIF with Go's standard library; this build has no
// FFmpeg.
type decoder struct{}

func (d *decoder) close() {}

func (d *decoder) decode(w *Worker, data []byte, format string, op *Op) (C.media_picture, error) {
	var m image.Image
	var err error
	var canvas *gifCanvas
	switch format {
	case "png":
		m, err = decodePNG(data)
	case "gif":
		data, canvas = gifAlone(data)
		if m, err = firstOfGIF(data); err != nil {
			err = goError(format, err)
		}
	default:
		return C.media_picture{}, &UnsupportedError{Format: format, Detail: "built without FFmpeg; use the full build of spdl"}
	}
	if err != nil {
		return C.media_picture{}, err
	}
	if m.Bounds().Empty() {
		return C.media_picture{}, &FormatError{Format: format, Detail: "no pixels", cause: CauseCorrupt}
	}
	if canvas == nil {
		canvas = &gifCanvas{width: m.Bounds().Dx(), height: m.Bounds().Dy()}
	}
	return w.picture(m, canvas, op)
}

// firstOfGIF keeps the palette's colour under transparent pixels, as FFmpeg's
// build and Pillow do, by clearing the flags on a copy.
func firstOfGIF(data []byte) (image.Image, error) {
	data = bytes.Clone(data)
	C.media_gif_keep_colours((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)))
	return gif.Decode(bytes.NewReader(data))
}

// picture copies m to its place on the canvas in the worker's buffer, as RGBX, alpha dropped, or as L.
func (w *Worker) picture(m image.Image, canvas *gifCanvas, op *Op) (C.media_picture, error) {
	b := m.Bounds()
	stride := 4 * canvas.width
	p := C.media_ctx_picture_buffer(w.c, C.size_t(stride*canvas.height+C.MEDIA_SLACK_BYTES))
	if p == nil {
		return C.media_picture{}, &LimitError{cause: CauseNoMemory}
	}
	pixels := unsafe.Slice((*byte)(unsafe.Pointer(p)), stride*canvas.height)
	if b.Dx() < canvas.width || b.Dy() < canvas.height {
		for i := 0; i < len(pixels); i += 4 {
			copy(pixels[i:], canvas.rest[:])
		}
	}
	for y := range b.Dy() {
		row := pixels[(canvas.y+y)*stride+4*canvas.x:]
		for x := range b.Dx() {
			c := straight(m, b.Min.X+x, b.Min.Y+y)
			row[4*x], row[4*x+1], row[4*x+2], row[4*x+3] = c.R, c.G, c.B, 255
		}
	}
	for y := 0; y < canvas.height && op.c.channels == 1; y++ {
		C.media_rgbx_to_gray((*C.uint8_t)(unsafe.Pointer(&pixels[y*stride])), C.uint32_t(canvas.width))
	}
	return C.media_picture{pixels: p, stride_bytes: C.size_t(stride), width: C.int32_t(canvas.width), height: C.int32_t(canvas.height)}, nil
}

func ffmpegVersion() string { return "" }
