//go:build !noffmpeg

package media

/*
#include "ffmpeg.h"
#include "files.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/spdl/spdl/core/media/heif"
)

// stillCodecs names FFmpeg's decoder of what AVIF and HEIC pictures are coded with.
var stillCodecs = map[string]string{"av1": "libdav1d", "hevc": "hevc"}

// decodeStill decodes an AVIF or HEIC picture: its tiles side by side, and the part of them that is shown. How the file turns
// it stands for EXIF's orientation, which such files are to be read without. Pillow turns an AVIF picture when asked to, as it does
// others, and libheif a HEIC picture always; so do we.
func (d *decoder) decodeStill(w *Worker, data []byte, format string, op *Op) (C.media_picture, error) {
	var picture C.media_picture
	still, err := heif.Parse(data)
	if err != nil {
		return picture, stillError(format, err)
	}
	tall, wide := still.Rows*still.TileH, still.Columns*still.TileW
	if uint64(tall)*uint64(wide) > uint64(op.c.max_pixels) {
		return picture, statusError(C.MEDIA_TOO_MANY_PIXELS, format, still.Width, still.Height, "", op)
	}
	stride := (wide*4 + 63) &^ 63
	pixels := C.media_ctx_picture_buffer(w.c, C.size_t(stride*tall+C.MEDIA_SLACK_BYTES))
	if pixels == nil {
		return picture, &LimitError{Format: format, Width: still.Width, Height: still.Height, cause: CauseNoMemory}
	}
	if err := d.decodeTiles(still, pixels, stride, format, op); err != nil {
		return picture, err
	}
	at := func(y, x int) *C.uint8_t { return (*C.uint8_t)(unsafe.Add(unsafe.Pointer(pixels), y*stride+x)) }
	if op.Channels() == 1 {
		for y := range tall {
			C.media_rgbx_to_gray(at(y, 0), C.uint32_t(wide))
		}
		return turnedPart(still, at(still.Crop.Y, still.Crop.X), stride), nil
	}
	return turnedPart(still, at(still.Crop.Y, 4*still.Crop.X), stride), nil
}

func turnedPart(still *heif.Still, first *C.uint8_t, stride int) C.media_picture {
	always := C.int32_t(0)
	if still.Codec == "hevc" {
		always = 1
	}
	return C.media_picture{
		pixels: first, stride_bytes: C.size_t(stride),
		width: C.int32_t(still.Crop.W), height: C.int32_t(still.Crop.H),
		orientation: C.int32_t(still.Orientation), always_turn: always,
	}
}

func (d *decoder) decodeTiles(still *heif.Still, pixels *C.uint8_t, stride int, format string, op *Op) error {
	cc, err := openCodec(format, stillCodecs[still.Codec], still.Config)
	if err != nil {
		return err
	}
	defer cc.Free()
	tile := C.media_tile{stride_bytes: C.size_t(stride), width: C.int32_t(still.TileW), height: C.int32_t(still.TileH), matrix: -1}
	if c := still.Colour; c != nil {
		tile.matrix, tile.primaries = C.int32_t(c.Matrix), C.int32_t(c.Primaries)
		if c.FullRange {
			tile.full_range = 1
		}
	}
	for i, coded := range still.Tiles {
		y, x := i/still.Columns*still.TileH, i%still.Columns*still.TileW
		tile.pixels = (*C.uint8_t)(unsafe.Add(unsafe.Pointer(pixels), y*stride+4*x))
		status := C.media_ff_decode_tile(d.ff, pointerOf(cc), pointerOf(d.packet), pointerOf(d.frame),
			(*C.uint8_t)(unsafe.Pointer(&coded[0])), C.size_t(len(coded)), op.c.max_pixels, &tile)
		if status != C.MEDIA_OK {
			return statusError(int(status), format, still.Width, still.Height, C.GoString(C.media_ff_detail(d.ff)), op)
		}
	}
	return nil
}

func stillError(format string, err error) error {
	switch {
	case errors.Is(err, heif.ErrTruncated):
		return &FormatError{Format: format, cause: CauseTruncated}
	case errors.Is(err, heif.ErrUnsupported):
		return &UnsupportedError{Format: format, Detail: err.Error()}
	}
	return &FormatError{Format: format, Detail: err.Error(), cause: CauseCorrupt}
}
