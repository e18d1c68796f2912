package media

/*
#include "row.h"
#include "files.h"
*/
import "C"

import "unsafe"

func (w *Worker) otherPicture(data []byte, format string, op *Op) (C.media_picture, error) {
	if op.c.mode == C.MEDIA_INDEX {
		return w.numbers(data)
	}
	return w.other.decode(w, data, format, op)
}

// otherRow is Row for what is not JPEG: decoded whole by w.other, then through
// the same kernel.
func (w *Worker) otherRow(dst, data []byte, op *Op, draw Draw) (Info, error) {
	format := sniff(data)
	if format == "" {
		return Info{}, notAnImage(data)
	}
	width, height := headerSize(format, data)
	if uint64(width)*uint64(height) > uint64(op.c.max_pixels) {
		return Info{Format: format, Width: width, Height: height},
			statusError(C.MEDIA_TOO_MANY_PIXELS, format, width, height, "", op)
	}
	if endsEarly(format, data) {
		return Info{Format: format, Width: width, Height: height},
			statusError(C.MEDIA_TRUNCATED, format, width, height, "", op)
	}
	picture, err := w.otherPicture(data, format, op)
	if err != nil {
		if wrong, ok := err.(*FormatError); ok && wrong.Width == 0 {
			wrong.Width, wrong.Height = width, height
		}
		return Info{Format: format, Width: width, Height: height}, err
	}
	if op.c.orient != 0 && picture.orientation == 0 {
		picture.orientation = C.int32_t(C.media_exif_orientation((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data))))
	}
	c := draw.c()
	status := C.media_row_picture(w.c, unsafe.Pointer(&dst[0]), &picture, &op.c, &c)
	if status != C.MEDIA_OK {
		return w.info(format), w.fail(status, format, op, draw)
	}
	return w.info(format), nil
}
