package media

/*
#include "row.h"
#include "files.h"
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"unsafe"
)

// wantNumbers is what mode Index can be read from.
const wantNumbers = "want, for mode index, a PNG with a palette or of greys of up to 8 bits"

// withoutNumbers is the error of a file that mode Index cannot be read from whatever is in it; nil for a PNG.
func withoutNumbers(data []byte) error {
	format := sniff(data)
	switch {
	case format == "png":
		return nil
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		format = "jpeg"
	case C.media_is_webp((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data))) != 0:
		format = "webp"
	case format == "":
		return notAnImage(data)
	}
	return &UnsupportedError{Format: format, Detail: wantNumbers}
}

// numbers decodes the PNGs of mode Index that png.c has left: interlaced ones, and damaged ones, whose error it names.
func (w *Worker) numbers(data []byte) (C.media_picture, error) {
	m, err := decodePNG(data)
	if err != nil {
		return C.media_picture{}, err
	}
	width, height := m.Bounds().Dx(), m.Bounds().Dy()
	at, err := numberAt(m, data)
	if err != nil {
		return C.media_picture{}, err
	}
	p := C.media_ctx_picture_buffer(w.c, C.size_t(width*height+C.MEDIA_SLACK_BYTES))
	if p == nil {
		return C.media_picture{}, &LimitError{cause: CauseNoMemory}
	}
	pixels := unsafe.Slice((*byte)(unsafe.Pointer(p)), width*height)
	for y := range height {
		for x := range width {
			pixels[y*width+x] = at(x, y)
		}
	}
	return C.media_picture{pixels: p, stride_bytes: C.size_t(width), width: C.int32_t(width), height: C.int32_t(height)}, nil
}

// numberAt reads the number of a pixel. Go's decoder spreads greys of less than 8 bits over all that a byte has, and makes pixels with
// alpha of greys of which one is transparent.
func numberAt(m image.Image, data []byte) (func(x, y int) uint8, error) {
	const depthAt, colourAt, greys = 24, 25, 0
	if p, ok := m.(*image.Paletted); ok {
		return p.ColorIndexAt, nil
	}
	depth, colour := data[depthAt], data[colourAt]
	if colour != greys || depth > 8 {
		kinds := map[byte]string{greys: "greys", 2: "RGB", 4: "greys and alpha", 6: "RGB and alpha"}
		return nil, &UnsupportedError{Format: "png", Detail: fmt.Sprintf("got %s of %d bits, %s", kinds[colour], depth, wantNumbers)}
	}
	step := uint8(255 / (1<<depth - 1))
	return func(x, y int) uint8 { return straight(m, x, y).R / step }, nil
}

// straight is a pixel with its colour as it is stored, whatever its alpha. Go's conversions multiply 16 bits with alpha and divide by it
// again, where colours get lost.
func straight(m image.Image, x, y int) color.NRGBA {
	if deep, ok := m.(*image.NRGBA64); ok {
		c := deep.NRGBA64At(x, y)
		return color.NRGBA{R: uint8(c.R >> 8), G: uint8(c.G >> 8), B: uint8(c.B >> 8), A: uint8(c.A >> 8)}
	}
	return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
}

// decodePNG leaves a PNG to Go's decoder, and says in this package's words what that finds wrong.
func decodePNG(data []byte) (image.Image, error) {
	m, err := png.Decode(bytes.NewReader(data))
	var unsupported png.UnsupportedError
	switch {
	case errors.As(err, &unsupported):
		return nil, &UnsupportedError{Format: "png", Detail: string(unsupported)}
	case err != nil:
		return nil, goError("png", err)
	}
	return m, nil
}

// goError is what one of Go's decoders found wrong.
func goError(format string, err error) error {
	cause := CauseCorrupt
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "not enough pixel data") {
		cause = CauseTruncated
	}
	return &FormatError{Format: format, Detail: err.Error(), cause: cause}
}
