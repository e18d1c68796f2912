package media

/*
#include "row.h"

// One argument block by value: what is random travels in registers and on the
// stack, so that no Go value has to be kept alive on the heap for the call.
static int media_row_go(media_ctx *c, void *dst, void *data, size_t size, const media_op *op,
                        media_draw draw)
{
    return media_row(c, dst, data, size, op, &draw);
}

static int media_plan_go(media_ctx *c, media_plan *plan, void *data, size_t size, const media_op *op,
                         media_draw draw)
{
    return media_jpeg_plan(c, plan, data, size, op, &draw);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Plan says which part of a picture becomes a row, and at what size, for a decoder elsewhere.
type Plan struct {
	Width, Height int
	Box           Box  // of the picture
	Resized       Size // the box becomes this, antialiased by the op's filter
	Y, X          int  // where the row's picture begins in it; negative: black comes first
	Flip          bool // then left and right change places
}

// Draw says what is random about a sample: nothing but these numbers goes into
// it, so equal draws give equal rows on any thread.
type Draw struct {
	Seed, Epoch, Index uint64
	Frame              uint32 // of a video's; noise is another in each

	// Replay takes Box (for a random crop), Flip and VFlip as given instead of drawing. All else is drawn.
	Replay bool
	Box    Box
	Flip   bool
	VFlip  bool
}

// Box is a part of a picture, in pixels of the picture as it is seen: after
// orientation, where that is honoured, and after what is done ahead of the geometry.
type Box struct {
	Y int `json:"y"`
	X int `json:"x"`
	H int `json:"h"`
	W int `json:"w"`
}

// Info says what was done for a row.
type Info struct {
	Format      string `json:"format"`
	Width       int    `json:"width"` // as stored
	Height      int    `json:"height"`
	Orientation int    `json:"orientation"` // 1 to 8; 1 unless honoured
	Box         Box    `json:"box"`         // the part that was resized, of the picture or of what was made of it ahead
	Flip        bool   `json:"flip"`
	VFlip       bool   `json:"vflip"`

	// Affine says where a point of the picture lies in the row, in pixels of which number i reaches from i to i + 1:
	// (x, y) of the picture as it is seen at (A[0][0] x + A[0][1] y + A[0][2], A[1][0] x + A[1][1] y + A[1][2]). Zeros where a
	// perspective was drawn, which is no such map.
	Affine [2][3]float64 `json:"affine"`

	Row    Size `json:"-"`      // the row's picture
	Erased Box  `json:"erased"` // the part of the row that was erased; of no size: none
	Tiles  int  `json:"-"`      // of a row of tiles or patches, how many there are
	Grid   Grid `json:"-"`      // of those that the picture was cut into
}

// Seen is the size of the picture as it is seen: after orientation, where that is honoured.
func (i *Info) Seen() Size {
	if i.Orientation >= 5 {
		return Size{H: i.Width, W: i.Height}
	}
	return Size{H: i.Height, W: i.Width}
}

// Worker decodes on one thread at a time and keeps its buffers between rows.
type Worker struct {
	c     *C.media_ctx
	other decoder
	plan  C.media_plan
}

// Options of a worker; nil is the default.
type Options struct {
	Portable bool // plain C only, Huffman codes left to libjpeg and PNG to FFmpeg or Go; for comparing, the bytes are the same
	narrow   bool // no vectors of 64 bytes; the bytes are the same
}

// NewWorker makes a worker. Close it.
func NewWorker(o *Options) (*Worker, error) {
	without := C.int(0)
	if o != nil && o.narrow {
		without |= C.MEDIA_WIDE
	}
	if o != nil && o.Portable {
		without |= C.MEDIA_PORTABLE | C.MEDIA_LIBRARIES
	}
	c := C.media_ctx_new(without)
	if c == nil {
		return nil, errors.New("media: worker: out of memory")
	}
	return &Worker{c: c}, nil
}

// Close frees the worker's memory. It must not be used again.
func (w *Worker) Close() {
	w.other.close()
	C.media_ctx_free(w.c)
	w.c = nil
}

// Held is how many bytes of buffers the worker keeps for its next row.
func (w *Worker) Held() int { return int(C.media_ctx_held(w.c)) }

// ISA names the instruction set in use.
func (w *Worker) ISA() string { return C.GoString(C.media_ctx_isa(w.c)) }

// own says whether a decoder of ours took the Huffman codes of the last JPEG, or the last PNG, to its end.
func (w *Worker) own() bool { return C.media_ctx_own(w.c) != 0 }

// Row decodes data, of any image format, into dst, which is op.RowBytes() long.
// Neither is kept. It blocks for as long as decoding takes. Errors are
// *FormatError, *UnsupportedError or *LimitError, except for a replay box
// outside the picture.
func (w *Worker) Row(dst, data []byte, op *Op, draw Draw) (Info, error) {
	if len(dst) != op.RowBytes() {
		return Info{}, fmt.Errorf("media: row: got %d bytes of destination, want %d", len(dst), op.RowBytes())
	}
	if len(data) == 0 {
		return Info{}, &FormatError{cause: CauseEmpty}
	}
	if op.c.mode == C.MEDIA_INDEX {
		if err := withoutNumbers(data); err != nil {
			return Info{}, err
		}
	}
	status := C.media_row_go(w.c, unsafe.Pointer(&dst[0]), unsafe.Pointer(&data[0]),
		C.size_t(len(data)), &op.c, draw.c())
	if status == C.MEDIA_OTHER_FORMAT {
		return w.otherRow(dst, data, op, draw)
	}
	format := "jpeg"
	switch data[0] {
	case 0x89:
		format = "png"
	case 'R':
		format = "webp"
	}
	if status != C.MEDIA_OK {
		return w.info(format), w.fail(status, format, op, draw)
	}
	return w.info(format), nil
}

// Plan reads the head of a JPEG that shall be decoded elsewhere. ok is false for pictures that are not for any decoder of
// JPEGs: other formats, and what is rare among JPEGs, nor of an op that makes tiles, or does more than crop, resize by one filter and flip left and right, or has other than black around the picture. Errors are Row's, of what the head and the end of the file show.
func (w *Worker) Plan(data []byte, op *Op, draw Draw) (plan Plan, ok bool, err error) {
	if len(data) == 0 {
		return plan, false, &FormatError{cause: CauseEmpty}
	}
	if op.c.open != C.MEDIA_CLOSED || op.Tiles() > 0 || op.c.mode == C.MEDIA_INDEX || op.c.any_filter != 0 || !op.flipsAlone() || op.c.fill != [4]C.uint8_t{} || op.c.padding_mode != C.MEDIA_PAD_CONSTANT {
		return plan, false, nil
	}
	p := &w.plan
	switch status := C.media_plan_go(w.c, p, unsafe.Pointer(&data[0]), C.size_t(len(data)), &op.c, draw.c()); status {
	case C.MEDIA_OTHER_FORMAT:
		return plan, false, nil
	case C.MEDIA_OK:
		info := C.media_ctx_info(w.c)
		return Plan{
			Width: int(info.width), Height: int(info.height), Box: Box{Y: int(p.box_y), X: int(p.box_x), H: int(p.box_h), W: int(p.box_w)},
			Resized: Size{H: int(p.res_h), W: int(p.res_w)}, Y: int(p.win_y), X: int(p.win_x), Flip: p.flip != 0,
		}, true, nil
	default:
		return plan, false, w.fail(status, "jpeg", op, draw)
	}
}

// Look is an op for [Worker.Seen]: of pictures of at most so many pixels (0: DefaultMaxPixels), whose orientation is honoured or not. Ops are large, so of calls that
// are alike one after the other it is one.
func Look(orient bool, maxPixels uint64) (*Op, error) {
	l := looked.Load()
	if l != nil && l.orient == orient && l.maxPixels == maxPixels {
		return l.op, nil
	}
	op, err := Compile(Config{Out: Square(1), Orient: orient, MaxPixels: maxPixels})
	if err == nil {
		looked.Store(&look{orient, maxPixels, op})
	}
	return op, err
}

// look is what Look was asked for, and its op.
type look struct {
	orient    bool
	maxPixels uint64
	op        *Op
}

var looked atomic.Pointer[look] // the last

// Seen is how large a picture is as it is seen: after orientation, where that is honoured. Of what Head tells nothing is decoded, of others a
// pixel. op is Look's; errors are Row's.
func (w *Worker) Seen(data []byte, op *Op) (Size, error) {
	if seen, ok := w.Head(data, op); ok {
		return seen, nil
	}
	if len(data) == 0 {
		return Size{}, &FormatError{cause: CauseEmpty}
	}
	pixel := make([]byte, op.RowBytes())
	info, err := w.Row(pixel, data, op, Draw{})
	return info.Seen(), err
}

// Head is how large a picture is as it is seen, as the head of a JPEG, PNG or WebP says it, whatever the rest of the file is: nothing is decoded. ok is false of other formats, and
// where the head is not sound, says nothing, or more pixels than op takes: then Seen tells. op is Look's.
func (w *Worker) Head(data []byte, op *Op) (size Size, ok bool) {
	if len(data) == 0 || C.media_head(w.c, (*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), &op.c) != C.MEDIA_OK {
		return Size{}, false
	}
	info := w.info("")
	return info.Seen(), true
}

func (d *Draw) c() C.media_draw {
	c := C.media_draw{seed: C.uint64_t(d.Seed), epoch: C.uint64_t(d.Epoch), index: C.uint64_t(d.Index), frame: C.uint32_t(d.Frame)}
	if d.Replay {
		c.replay = 1
		c.box_y, c.box_x = clamp32(d.Box.Y), clamp32(d.Box.X)
		c.box_h, c.box_w = clamp32(d.Box.H), clamp32(d.Box.W)
	}
	if d.Flip {
		c.flip = 1
	}
	if d.VFlip {
		c.vflip = 1
	}
	return c
}

// clamp32 keeps a box that is too large for C too large, not wrapped.
func clamp32(v int) C.int32_t {
	return C.int32_t(min(max(v, -1<<31), 1<<31-1))
}

func (w *Worker) info(format string) Info {
	c := C.media_ctx_info(w.c)
	return Info{
		Format: format, Width: int(c.width), Height: int(c.height), Orientation: int(c.orientation),
		Box:  Box{Y: int(c.box_y), X: int(c.box_x), H: int(c.box_h), W: int(c.box_w)},
		Flip: c.flip != 0, VFlip: c.vflip != 0, Row: Size{H: int(c.row_h), W: int(c.row_w)},
		Affine: [2][3]float64{{float64(c.affine[0]), float64(c.affine[1]), float64(c.affine[2])}, {float64(c.affine[3]), float64(c.affine[4]), float64(c.affine[5])}},
		Erased: Box{Y: int(c.erased_y), X: int(c.erased_x), H: int(c.erased_h), W: int(c.erased_w)},
		Tiles:  int(c.tiles), Grid: Grid{Rows: int(c.grid_rows), Columns: int(c.grid_columns)},
	}
}

// fail turns the kernel's status into an error.
func (w *Worker) fail(status C.int, format string, op *Op, draw Draw) error {
	c := C.media_ctx_info(w.c)
	width, height := int(c.width), int(c.height)
	if status == C.MEDIA_BAD_BOX {
		return fmt.Errorf("media: replay: box y %d x %d h %d w %d is outside the picture of %d x %d",
			draw.Box.Y, draw.Box.X, draw.Box.H, draw.Box.W, height, width)
	}
	if e := op.unfit(int(status), Size{int(c.row_h), int(c.row_w)}); e != nil {
		e.Format, e.Width, e.Height = format, width, height
		return e
	}
	return statusError(int(status), format, width, height, C.GoString(&c.detail[0]), op)
}

// unfit is the error of a picture that an open row is not for; nil: it has another status. row is what the picture becomes.
func (op *Op) unfit(status int, row Size) *LimitError {
	switch status {
	case C.MEDIA_ROW_TOO_LARGE:
		o := op.Open()
		room := fmt.Sprintf("at most %d x %d", o.Room.H, o.Room.W)
		if o.Dense {
			room = fmt.Sprintf("at most %d pixels", o.Room.H*o.Room.W)
		}
		return &LimitError{Detail: fmt.Sprintf("it becomes %d x %d, want %s; raise image.room, or resize to less", row.H, row.W, room), cause: CauseTooLarge}
	case C.MEDIA_ROW_TOO_SMALL:
		return &LimitError{Detail: fmt.Sprintf("it becomes %d x %d, want sides of at least %d, for gaussian_blur and elastic_transform, which mirror it at its borders, and grid_distortion and grid_dropout, which divide it", row.H, row.W, int(op.c.least_side)), cause: CauseTooSmall}
	case C.MEDIA_TOO_OBLONG:
		return &LimitError{Detail: fmt.Sprintf("want one side of at most %d times the other, for resize by min_pixels and max_pixels", C.MEDIA_MAX_OBLONG), cause: CauseTooOblong}
	}
	return nil
}

func statusError(status int, format string, width, height int, detail string, op *Op) error {
	switch status {
	case C.MEDIA_TRUNCATED:
		return &FormatError{Format: format, Width: width, Height: height, Detail: detail, cause: CauseTruncated}
	case C.MEDIA_UNSUPPORTED:
		return &UnsupportedError{Format: format, Detail: detail}
	case C.MEDIA_TOO_MANY_PIXELS:
		return &LimitError{Format: format, Width: width, Height: height, Detail: detail, MaxPixels: uint64(op.c.max_pixels), cause: CauseTooManyPixels}
	case C.MEDIA_TOO_MANY_SCANS:
		return &LimitError{Format: format, Width: width, Height: height, cause: CauseTooManyScans}
	case C.MEDIA_NO_MEMORY:
		return &LimitError{Format: format, Width: width, Height: height, cause: CauseNoMemory}
	default:
		return &FormatError{Format: format, Width: width, Height: height, Detail: detail, cause: CauseCorrupt}
	}
}
