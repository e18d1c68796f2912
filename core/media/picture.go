package media

/*
#include "row.h"
#include "internal.h"

static int media_row_picture_go(media_ctx *c, void *dst, void *pixels, size_t stride, int32_t width, int32_t height,
                                int32_t orientation, const media_op *op, media_draw draw)
{
    media_picture p = {pixels, stride, width, height, orientation};
    if (op->channels == 1)
        for (int32_t y = 0; y < height; y++) media_rgbx_to_gray((uint8_t *)pixels + (size_t)y * stride, (uint32_t)width);
    return media_row_picture(c, dst, &p, op, &draw);
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// PictureSlack is how many bytes must be readable past a picture's last row.
const PictureSlack = C.MEDIA_SLACK_BYTES

// Picture is what another decoder made: rows of four bytes a pixel (RGBX),
// StrideBytes apart, in memory of C or of Go.
type Picture struct {
	Pixels        unsafe.Pointer
	StrideBytes   int
	Width, Height int // as stored
	Orientation   int // 1 to 8, as EXIF numbers it; applied where the op honours orientation
}

// Picture is Row for a decoded picture, whose pixels it may change.
func (w *Worker) Picture(dst []byte, p *Picture, op *Op, draw Draw) (Info, error) {
	if len(dst) != op.RowBytes() {
		return Info{}, fmt.Errorf("media: row: got %d bytes of destination, want %d", len(dst), op.RowBytes())
	}
	status := C.media_row_picture_go(w.c, unsafe.Pointer(&dst[0]), p.Pixels, C.size_t(p.StrideBytes),
		C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Orientation), &op.c, draw.c())
	if status != C.MEDIA_OK {
		return w.info("picture"), w.fail(status, "picture", op, draw)
	}
	return w.info("picture"), nil
}

// Copies says whether the row of an upright picture of this size is its RGB
// bytes as they are.
func (op *Op) Copies(width, height int) bool {
	return op.c.geometry == C.MEDIA_AS_IS && op.c.pad_left|op.c.pad_top|op.c.pad_right|op.c.pad_bottom == 0 && int(op.c.out_w) == width && int(op.c.out_h) == height &&
		op.c.mode == C.MEDIA_RGB && op.c.dtype == C.MEDIA_U8 && op.c.layout == C.MEDIA_NHWC && !op.changes()
}

// changes says that pixels may change besides the geometry.
func (op *Op) changes() bool {
	for i := range op.c.steps[:op.c.n_steps] {
		if op.c.steps[i].p > 0 {
			return true
		}
	}
	return op.c.erase_p > 0
}

// flipsAlone says that nothing is done besides the geometry, in which left and right may change places.
func (op *Op) flipsAlone() bool {
	for i := range op.c.steps[:op.c.n_steps] {
		if s := &op.c.steps[i]; s.p > 0 && (s.kind != C.MEDIA_DO_FLIP || s.late != 0) {
			return false
		}
	}
	return op.c.erase_p == 0
}

// Uniforms draws two numbers of [0, 1) for a purpose of the caller's, from 16 to
// 255: the same for equal draws, and independent between purposes and blocks.
func (d *Draw) Uniforms(purpose uint8, block uint32) [2]float64 {
	var u [2]C.double
	c := d.c()
	C.media_uniforms(&c, C.uint32_t(purpose), C.uint32_t(block&0xffffff), &u[0])
	return [2]float64{float64(u[0]), float64(u[1])}
}
