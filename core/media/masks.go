package media

/*
#include "row.h"
*/
import "C"

import (
	"slices"
	"unsafe"
)

// MaxOutline is how far from a picture's corner a number of a polygon may lie.
const MaxOutline = C.MEDIA_MAX_OUTLINE

// Masks appends to dst a mask of each object that is kept, of the last row's picture as it is seen and by the op of that row: bytes 0 and 1, one behind
// the other, as many as the picture has in the row. They are drawn as pycocotools draws them, and go where the picture's pixels went: the nearest pixel in the place of a
// filter (cv2.resize's where the picture's is one of that, else torch's), and 0 where there is none. Once for each row, behind [Worker.Moves]. It fails if there is
// no memory, or if runs are of another size than the picture.
func (w *Worker) Masks(dst []byte, op *Op, objects *Outlines, kept []bool) ([]byte, error) {
	info := w.info("")
	if err := objects.fit(info.Seen()); err != nil {
		return dst, err
	}
	if C.media_masks_begin(w.c, &op.c) != C.MEDIA_OK {
		return dst, &LimitError{cause: CauseNoMemory}
	}
	size, first := info.Row.H*info.Row.W, 0
	for i, end := range objects.ends {
		if kept[i] {
			at := len(dst)
			dst = slices.Grow(dst, size)[:at+size]
			if err := w.mask(dst[at:], objects, objects.shapes[first:end]); err != nil {
				return dst[:at], err
			}
		}
		first = end
	}
	return dst, nil
}

// mask draws one.
func (w *Worker) mask(dst []byte, of *Outlines, shapes []outline) error {
	for _, s := range shapes {
		if s.size == (Size{}) {
			C.media_mask_polygon(w.c, (*C.double)(unsafe.Pointer(&of.numbers[s.first])), C.int32_t((s.end-s.first)/2))
		} else {
			C.media_mask_runs(w.c, (*C.uint32_t)(unsafe.Pointer(&of.runs[s.first])), C.int32_t(s.end-s.first))
		}
	}
	if status := C.media_mask_row(w.c, (*C.uint8_t)(unsafe.Pointer(&dst[0]))); status != C.MEDIA_OK {
		return &LimitError{cause: CauseNoMemory}
	}
	return nil
}
