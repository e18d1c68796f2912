package media

/*
// In ISO C gcc makes no single operation of a product and a sum, which would round once where the definitions round twice: on aarch64 it else would.
#cgo CFLAGS: -std=c11 -O2 -Wno-psabi
#cgo LDFLAGS: -ljpeg -ldeflate -lwebpdemux -lwebp -lm
#include "row.h"
*/
import "C"

import "fmt"

// DefaultMaxPixels is the picture size above which Pillow refuses to open one.
const DefaultMaxPixels = 178956970

// Config describes a row. Its geometry is one of: ResizeShort, Resize, RandomResize, RandomShortest, ScaleJitter or ResizeArea, each
// with an optional crop to Out, of the middle or Anywhere; Random, resized to Out; Contain in Out;
// or none, a crop to Out alone. A crop is of the picture with Pad around it. Where it is smaller still, it stands in the middle.
// What lies beyond it is Padding's to say.
type Config struct {
	ResizeShort    int      // the shorter side becomes this; 0: not asked
	Longest        int      // of ResizeShort: but the longer side becomes no more than this; 0: no bound; without it: the longer side becomes this
	NearestSide    bool     // of these: sides are rounded to the nearest, as albumentations', not down, as torchvision's
	DETRSides      bool     // of both: where Longest bounds the shorter side that is rounded to the nearest, as in DETR's image processors; of Longest: both sides are cut off, as there
	YOLOSSides     bool     // of both: as DETRSides, to whole multiples of 16, as in YOLOS' image processors
	Resize         Size     // exactly this size; zero: not asked
	Cover          bool     // of Resize: the picture keeps its shape, and is as small as both sides can be no less (Pillow's ImageOps.cover)
	Contain        *Contain // nil: not asked
	RandomResize   *RandomResize
	RandomShortest *RandomShortest
	ScaleJitter    *ScaleJitter
	ResizeArea     *ResizeArea
	Open           *Open       // nil: rows have the size Out. Else there is no Out, crop and padding, and no step between resize and crop
	Tiles          *Tiles      // nil: a row is one picture
	Patches        *Patches    // nil: of lines of pixels
	Random         *RandomCrop // nil: not asked
	Corner         Corner      // of the picture in which a crop lies
	MiddleDown     bool        // of a crop in the middle: half of an odd number of pixels is rounded down, not to even
	Anywhere       bool        // crops are torchvision's RandomCrop, and not of the middle
	Pad            Sides
	Padding        Padding // Constant where nothing is cropped to Out, but contained
	Out            Size    // the row's picture; zero: Resize
	Fill           Fill    // around the picture
	Interpolation  Interpolation
	Ahead          []Placed   // done to the picture as it is decoded, ahead of the geometry, in this order
	Resized        []Placed   // and then to what it was resized to, ahead of the crop
	Steps          []Placed   // and to the row
	Normalize      *Normalize // nil: floats are x/255
	Erase          *Erase     // nil: no part of the finished row is erased
	Mode           Mode
	DType          DType
	Layout         Layout
	Orient         bool   // honour EXIF orientation
	MaxPixels      uint64 // 0: DefaultMaxPixels
}

// Op is a compiled Config. It is read-only and may be shared.
type Op struct {
	c C.media_op
}

// Compile checks cfg and prepares its tables. Errors name the field.
func Compile(cfg Config) (*Op, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	op := &Op{}
	if err := cfg.steps(&op.c); err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	cfg.geometry(&op.c)
	op.c.filter = C.uint32_t(cfg.Interpolation)
	op.c.mode = C.uint32_t(cfg.Mode)
	op.c.dtype = C.uint32_t(cfg.DType)
	op.c.layout = C.uint32_t(cfg.Layout)
	cfg.Erase.fill(&op.c)
	op.c.max_pixels = C.uint64_t(cfg.MaxPixels)
	if cfg.MaxPixels == 0 {
		op.c.max_pixels = DefaultMaxPixels
	}
	op.c.orient = flag(cfg.Orient)
	for ch := range 3 {
		op.c.mean[ch], op.c.std[ch] = 0, 1
		if n := cfg.Normalize; n != nil {
			op.c.mean[ch] = C.float(n.Mean[ch%len(n.Mean)])
			op.c.std[ch] = C.float(n.Std[ch%len(n.Std)])
		}
	}
	C.media_op_init(&op.c)
	if err := op.checkTileSteps(); err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	return op, nil
}

func flag(is bool) C.uint32_t {
	if is {
		return 1
	}
	return 0
}

func (cfg *Config) check() error {
	for _, check := range []func() error{cfg.checkGeometry, cfg.checkValues, cfg.checkErase, cfg.checkNormalize} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// RowBytes is the size of one row.
func (op *Op) RowBytes() int { return int(C.media_op_row_bytes(&op.c)) }

// Channels is 3, or 1 for Gray, Luma and Index.
func (op *Op) Channels() int { return int(op.c.channels) }

// Interpolation is the filter of a resize.
func (op *Op) Interpolation() Interpolation { return Interpolation(op.c.filter) }

// DType is the type of the row's values.
func (op *Op) DType() DType { return DType(op.c.dtype) }

// Shape is the shape of the row's picture, or of each of its tiles: [H, W, C], or [C, H, W] for NCHW.
func (op *Op) Shape() [3]int {
	h, w, ch := int(op.c.out_h), int(op.c.out_w), int(op.c.channels)
	if Layout(op.c.layout) == NCHW {
		return [3]int{ch, h, w}
	}
	return [3]int{h, w, ch}
}
