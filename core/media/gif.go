package media

/*
#include "gif.h"
*/
import "C"

import (
	"bytes"
	"unsafe"
)

// gifCanvas is where the first picture of a GIF lies on what is shown: its screen, which grows with a picture that reaches past it.
type gifCanvas struct {
	width, height int
	x, y          int
	rest          [3]byte // the colour around the picture
}

// gifSize is the canvas' size; 0, 0 where there is no picture to be seen.
func gifSize(data []byte) (w, h int) {
	var g C.media_gif
	if C.media_gif_first((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), &g) == 0 {
		return 0, 0
	}
	return int(g.width), int(g.height)
}

// gifAlone is a copy of the file whose screen is its first picture alone, and where that lies; nil, and data as they are, where it is the
// screen. Decoders differ in what they put around it.
func gifAlone(data []byte) ([]byte, *gifCanvas) {
	var g C.media_gif
	if C.media_gif_first((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), &g) == 0 || g.whole != 0 {
		return data, nil
	}
	data = bytes.Clone(data)
	C.media_gif_crop((*C.uint8_t)(unsafe.Pointer(&data[0])), &g)
	c := &gifCanvas{width: int(g.width), height: int(g.height), x: int(g.x), y: int(g.y)}
	for i := range c.rest {
		c.rest[i] = byte(g.rest[i])
	}
	return data, c
}
