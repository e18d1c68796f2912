package media

/*
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
	Order          []Step    // of what follows, up to CLAHE; nil: as it stands here
	Ahead          int       // how many of Order, from the first on, are done to the picture as it is decoded, ahead of the geometry
	Resized        int       // and how many then to what it was resized to, ahead of the crop
	Groups         []Member  // steps that are done together or not at all, or of which one is
	Shuffled       [2]int    // from which on how many of Order are done in an order that is drawn
	ByTorch        []Step    // of Rotation, Affine, Perspective, Augment but timm's, Jitter, Distort, Grayscale, Sharpness and Autocontrast: done as torchvision's v2 does it on a tensor of bytes, not on a PIL image
	Flip           float64   // probability of a horizontal flip
	VFlip          float64   // and of a vertical one
	Quarters       float64   // that the row, a square, or a picture ahead or resized, is turned to the left by a quarter of a circle, two, three or none
	Rotation       *Rotation // nil: rows are not turned
	Affine         *Affine   // nil: nor turned, moved, scaled and sheared
	Perspective    *Perspective
	ZoomOut        *ZoomOut
	IoUCrop        *IoUCrop
	Elastic        *Elastic
	Augment        *Augment // nil: no operations are drawn
	Jitter         *Jitter  // nil: colours stay as they are
	Distort        *Jitter  // torchvision's RandomPhotometricDistort
	Permute        float64  // probability that the channels change places
	Grayscale      float64  // probability that all channels become Pillow's L, after Jitter
	Blur           *Blur
	Solarize       *Solarize
	Posterize      *Posterize
	Invert         float64 // probability
	Sharpness      *Sharpness
	Autocontrast   float64 // probability
	Equalize       float64 // probability
	Noise          *Noise
	JPEG           *JPEG
	Light          *Light
	Gamma          *Gamma
	CV2Gray        float64    // probability that all channels become OpenCV's grey
	CV2Affine      *CV2Affine // nil: rows are not turned, moved, scaled and sheared by OpenCV
	HSV            *Shifts    // albumentations' HueSaturationValue, of 180 hues
	RGBShift       *Shifts    // albumentations'
	CV2Jitter      *Jitter    // albumentations' ColorJitter: as Jitter, by OpenCV's arithmetic
	BoxBlur        *Kernel    // albumentations' Blur
	Median         *Kernel    // albumentations' MedianBlur
	CV2Blur        *CV2Blur
	Motion         *Motion
	Holes          *Holes
	CLAHE          *CLAHE
	Transpose      float64 // that the row, a square, or a picture ahead or resized, has its lines for columns
	Sharpen        *Effect // albumentations'
	Emboss         *Effect // albumentations'
	Sepia          float64 // that colours become albumentations' brown
	ToneCurve      *ToneCurve
	DropChannels   *DropChannels
	CV2Equalize    float64 // as Equalize, by OpenCV's table
	GridHoles      *GridHoles
	Specks         *Specks
	Downscale      *Downscale
	CV2Perspective *CV2Perspective
	Optical        *Optical
	Grid           *GridDistortion
	Multiply       *Multiply
	Unsharp        *Unsharp
	Shuffle        *Shuffle
	Morph          *Morph
	ISO            *ISO
	Remap          *[256]uint8 // what becomes of each value, of a mask's numbers: nil: itself
	Normalize      *Normalize  // nil: floats are x/255
	Erase          *Erase      // nil: no part of the finished row is erased
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
	cfg.geometry(&op.c)
	op.c.filter = C.uint32_t(cfg.Interpolation)
	op.c.mode = C.uint32_t(cfg.Mode)
	op.c.dtype = C.uint32_t(cfg.DType)
	op.c.layout = C.uint32_t(cfg.Layout)
	op.c.flip_p, op.c.vflip_p = C.double(cfg.Flip), C.double(cfg.VFlip)
	cfg.colours(&op.c)
	cfg.Erase.fill(&op.c)
	cfg.warp(&op.c)
	cfg.retouch(&op.c)
	cfg.light(&op.c)
	cfg.cv2Colours(&op.c)
	cfg.cv2Blurs(&op.c)
	cfg.cv2Effects(&op.c)
	cfg.GridHoles.fill(&op.c)
	cfg.CV2Perspective.fill(&op.c)
	cfg.Optical.fill(&op.c)
	cfg.Grid.fill(&op.c)
	cfg.Shuffle.fill(&op.c)
	cfg.Holes.fill(&op.c)
	cfg.CLAHE.fill(&op.c)
	cfg.CV2Affine.fill(&op.c)
	cfg.remap(&op.c)
	for i, s := range complete(cfg.Order) {
		op.c.order[i] = C.uint8_t(s)
	}
	for _, m := range cfg.Groups {
		op.c.members[m.Step] = C.media_member{
			group: C.uint32_t(m.Group), low: C.double(m.Low), high: C.double(m.High),
			pick: C.uint32_t(m.Pick), of: C.uint32_t(m.Of), which: C.uint32_t(m.Which),
		}
	}
	for _, s := range cfg.ByTorch {
		op.c.by_torch |= 1 << s
	}
	op.c.shuffled = [2]C.uint32_t{C.uint32_t(cfg.Shuffled[0]), C.uint32_t(cfg.Shuffled[1])}
	op.c.ahead = [2]C.uint32_t{C.uint32_t(cfg.Ahead), C.uint32_t(cfg.Resized)}
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
	for _, check := range []func() error{
		cfg.checkGeometry, cfg.checkChances, cfg.checkValues, cfg.checkColours, cfg.checkWarps, cfg.checkRetouches, cfg.checkCV2Colours, cfg.checkCV2Blurs, cfg.checkCV2Effects,
		cfg.checkOrder, cfg.checkAhead, cfg.checkShuffled, cfg.checkGroups, cfg.checkByTorch, cfg.checkErase, cfg.checkNormalize,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (cfg *Config) checkChances() error {
	all := append(cfg.chances(), chance{"horizontal flip", cfg.Flip}, chance{"vertical flip", cfg.VFlip}, chance{"quarters", cfg.Quarters}, chance{"transpose", cfg.Transpose})
	if cfg.Perspective != nil {
		all = append(all, chance{"perspective", cfg.Perspective.P})
	}
	if cfg.ZoomOut != nil {
		all = append(all, chance{"zoom out", cfg.ZoomOut.P})
	}
	if cfg.Elastic != nil {
		all = append(all, chance{"elastic", cfg.Elastic.P})
	}
	if cfg.CV2Affine != nil {
		all = append(all, chance{"OpenCV's affine", cfg.CV2Affine.P})
	}
	if cfg.CV2Perspective != nil {
		all = append(all, chance{"OpenCV's perspective", cfg.CV2Perspective.P})
	}
	if cfg.Optical != nil {
		all = append(all, chance{"optical", cfg.Optical.P})
	}
	if cfg.Grid != nil {
		all = append(all, chance{"grid", cfg.Grid.P})
	}
	if cfg.Morph != nil {
		all = append(all, chance{"morph", cfg.Morph.P})
	}
	if cfg.Shuffle != nil {
		all = append(all, chance{"shuffle", cfg.Shuffle.P})
	}
	if cfg.Erase != nil {
		all = append(all, chance{"erase", cfg.Erase.P})
	}
	for _, c := range all {
		if !(c.p >= 0 && c.p <= 1) {
			return fmt.Errorf("%s: got probability %v, want 0 to 1", c.name, c.p)
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
