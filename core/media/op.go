package media

/*
#cgo CFLAGS: -std=c11 -O2 -Wno-psabi
#cgo LDFLAGS: -ljpeg -ldeflate -lwebpdemux -lwebp -lm
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
)

// Size is a height and a width in pixels.
type Size struct{ H, W int }

// Square is the size of n by n pixels.
func Square(n int) Size { return Size{n, n} }

// Interpolation is a resampling filter: Pillow's, antialiased, or the nearest source pixel, which keeps the numbers of a mask; or those
// of cv2.resize, of which CV2Area alone is antialiased; or torch's, of a tensor of bytes: its two of the nearest, and three that are antialiased.
type Interpolation uint8

const (
	Bilinear Interpolation = iota
	Bicubic
	Nearest
	Lanczos
	BoxFilter
	HammingFilter
	CV2Linear
	CV2Nearest
	CV2Area
	CV2Cubic
	CV2Lanczos4
	TorchNearest
	TorchBilinear
	TorchBicubic
	TorchLanczos
	TorchNearestExact
)

// picks says whether pixels stay what they are: none are mixed.
func (by Interpolation) picks() bool {
	return by == Nearest || by == CV2Nearest || by == TorchNearest || by == TorchNearestExact
}

// Mode is what the channels of a row are.
type Mode uint8

const (
	RGB   Mode = iota // three channels; a grey picture is replicated
	Gray              // one channel: Pillow's convert("L") of the RGB picture
	Luma              // one channel: the Y plane of a JPEG; other pictures as Gray
	Index             // one channel: the numbers of a PNG with a palette, or of greys of up to 8 bits, as they are stored; for masks
)

// Layout is the order of a row's axes.
type Layout uint8

const (
	NHWC Layout = iota
	NCHW
)

// DType is the type of a row's values.
type DType uint8

const (
	U8   DType = iota // 0 to 255
	F16               // IEEE half
	BF16              // bfloat16
	F32
)

// DLPack gives the type as DLPack's code, bits and lanes.
func (d DType) DLPack() (code, bits uint8, lanes uint16) {
	switch d {
	case F16:
		return 2, 16, 1
	case BF16:
		return 4, 16, 1
	case F32:
		return 2, 32, 1
	default:
		return 1, 8, 1
	}
}

// ItemBytes is the size of one value.
func (d DType) ItemBytes() int {
	_, bits, _ := d.DLPack()
	return int(bits) / 8
}

// MaxSide bounds the height and the width of a row and of a resize.
const MaxSide = C.MEDIA_MAX_SIDE

// DefaultMaxPixels is the picture size above which Pillow refuses to open one.
const DefaultMaxPixels = 178956970

// MaxPatch bounds the numbers of Patches.
const MaxPatch = 1024

// MaxFactor bounds brightness, contrast and saturation.
const MaxFactor = 1000

// RandomCrop is torchvision's RandomResizedCrop: a box of Scale of the
// picture's area and Ratio of width to height, resized to the row's size.
type RandomCrop struct {
	Scale [2]float64 // zero: 0.08 to 1
	Ratio [2]float64 // zero: 3/4 to 4/3

	AnyFilter bool // timm's: Bilinear or Bicubic is drawn, in the place of Interpolation
}

// Fill is what lies where there is no pixel, as a u8 row has it: one number a channel, the first of one channel alone.
type Fill [3]uint8

func (f Fill) c() [4]C.uint8_t {
	return [4]C.uint8_t{C.uint8_t(f[0]), C.uint8_t(f[1]), C.uint8_t(f[2])}
}

// or is c, of what may be bare.
func (f Fill) or(bare bool) [4]C.uint8_t {
	c := f.c()
	if bare {
		c = [4]C.uint8_t{3: 1}
	}
	return c
}

// Sides are pixels around a picture.
type Sides struct{ Left, Top, Right, Bottom int }

// Around is n pixels on each side.
func Around(n int) Sides { return Sides{n, n, n, n} }

// Padding is what lies beyond a picture.
type Padding uint8

const (
	Constant  Padding = iota // Fill
	Edge                     // the outermost pixel
	Reflect                  // the picture mirrored, without its outermost pixel
	Symmetric                // and with it
)

// Corner is where a crop lies: in the middle, or in a corner.
type Corner uint8

const (
	Middle Corner = iota
	TopLeft
	TopRight
	BottomLeft
	BottomRight
)

// Contain is Pillow's ImageOps.pad: the picture keeps its shape and is as large as Out has room for.
type Contain struct {
	Corner    bool // it lies at the top left, not in the middle
	Shrink    bool // a smaller one keeps its size
	Letterbox bool // its sides and place are rounded as in YOLO's letterbox
}

// Jitter is torchvision's ColorJitter on a PIL image: what is not nil is applied, in an order that is drawn, each by a
// factor drawn between two numbers. 1 leaves brightness, contrast and saturation as they are, 0 the hue, which goes once
// around from -0.5 to 0.5.
type Jitter struct {
	P                                     float64 // probability that it happens at all
	Brightness, Contrast, Saturation, Hue *[2]float64
}

// Normalize takes mean and std of x/255, one per channel.
type Normalize struct{ Mean, Std []float64 }

// RandomResize is torchvision's: the shorter side becomes one of Min to Max - 1 pixels.
type RandomResize struct{ Min, Max int }

// RandomShortest is torchvision's RandomShortestSize: the shorter side becomes one of Sizes, but the longer one no more than Longest; 0: no bound.
type RandomShortest struct {
	Sizes   []int // 1 to MaxSizes
	Longest int
}

// MaxSizes bounds RandomShortest's Sizes.
const MaxSizes = C.MEDIA_MAX_SIZES

// ScaleJitter is torchvision's: the picture as large as Size has room for, times a number of Scale.
type ScaleJitter struct {
	Size  Size
	Scale [2]float64
}

// ResizeArea is Qwen2-VL's smart_resize: each side becomes a whole multiple of Multiple, the nearest, or, where the picture had less than Min or
// more than Max pixels then, one of those by which it has as many, its shape kept as well as may be.
type ResizeArea struct {
	Min, Max, Multiple int
	Up                 bool // SigLIP 2's: both sides by one scale, rounded up, so that they have as many of Max as there may be; there is no Min
}

// Patches are what a row becomes in the place of a picture, of an Open one that is dense, whose sides are whole multiples of Size * Merge: squares of
// Size x Size pixels one behind the other, line by line of blocks of Merge x Merge of them, and in a block line by line. Each has its pixels Temporal times.
type Patches struct{ Size, Merge, Temporal int }

// Open is a row whose picture has the size that the geometry gives, which differs from picture to picture.
type Open struct {
	Room  Size // what a row has memory for; dense for its pixels, whatever the picture's sides are
	Dense bool // the picture's lines lie one behind the other from the row's beginning on. Else they lie as far apart as those of Room, and there are zeros beyond
}

// Config describes a row. Its geometry is one of: ResizeShort, Resize, RandomResize, RandomShortest, ScaleJitter or ResizeArea, each
// with an optional crop to Out, of the middle or Anywhere; Random, resized to Out; Contain in Out;
// or none, a crop to Out alone. A crop is of the picture with Pad around it. Where it is smaller still, it stands in the middle.
// What lies beyond it is Padding's to say.
type Config struct {
	ResizeShort    int      // the shorter side becomes this; 0: not asked
	Longest        int      // of ResizeShort: but the longer side becomes no more than this; 0: no bound; without it: the longer side becomes this
	NearestSide    bool     // of these: sides are rounded to the nearest, as albumentations', not down, as torchvision's
	DETRSides      bool     // of both: where Longest bounds the shorter side that is rounded to the nearest, as in DETR's image processors
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
	Quarters       float64   // that the row, a square, is turned to the left by a quarter of a circle, two, three or none
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
	cfg.Holes.fill(&op.c)
	cfg.CLAHE.fill(&op.c)
	cfg.CV2Affine.fill(&op.c)
	cfg.remap(&op.c)
	for i, s := range complete(cfg.Order) {
		op.c.order[i] = C.uint8_t(s)
	}
	for _, m := range cfg.Groups {
		op.c.members[m.Step] = C.media_member{group: C.uint32_t(m.Group), low: C.double(m.Low), high: C.double(m.High)}
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

// out is the size of the row's picture.
func (cfg *Config) out() Size {
	if cfg.Out == (Size{}) {
		return cfg.Resize
	}
	return cfg.Out
}

// known is out, or, of an open row, whose pictures are each measured when they come, as large as any.
func (cfg *Config) known() Size {
	if cfg.Open != nil {
		return Square(MaxSide)
	}
	return cfg.out()
}

func (cfg *Config) geometry(op *C.media_op) {
	out := cfg.out()
	op.out_h, op.out_w = C.uint32_t(out.H), C.uint32_t(out.W)
	cfg.open(op)
	cfg.tiles(op)
	switch {
	case cfg.bySide():
		op.geometry = C.MEDIA_RESIZE_SHORT
		op.resize_h, op.longest, op.nearest_side = C.uint32_t(cfg.ResizeShort), C.uint32_t(cfg.Longest), flag(cfg.NearestSide)
		if cfg.DETRSides {
			op.nearest_side = 2
		}
	case cfg.Resize != (Size{}):
		op.geometry = C.MEDIA_RESIZE_EXACT
		if cfg.Cover {
			op.geometry = C.MEDIA_RESIZE_COVER
		}
		op.resize_h, op.resize_w = C.uint32_t(cfg.Resize.H), C.uint32_t(cfg.Resize.W)
	case cfg.Random != nil:
		op.geometry = C.MEDIA_RANDOM_CROP
		scale, ratio := cfg.Random.ranges()
		op.scale_min, op.scale_max = C.double(scale[0]), C.double(scale[1])
		op.ratio_min, op.ratio_max = C.double(ratio[0]), C.double(ratio[1])
		op.any_filter = flag(cfg.Random.AnyFilter)
	case cfg.RandomResize != nil:
		op.geometry = C.MEDIA_RANDOM_RESIZE
		op.resize_h, op.resize_w = C.uint32_t(cfg.RandomResize.Min), C.uint32_t(cfg.RandomResize.Max)
	case cfg.RandomShortest != nil:
		op.geometry = C.MEDIA_RANDOM_SHORTEST
		for i, n := range cfg.RandomShortest.Sizes {
			op.shortest[i] = C.uint32_t(n)
		}
		op.n_shortest, op.longest = C.uint32_t(len(cfg.RandomShortest.Sizes)), C.uint32_t(cfg.RandomShortest.Longest)
	case cfg.ScaleJitter != nil:
		op.geometry = C.MEDIA_SCALE_JITTER
		j := cfg.ScaleJitter
		op.resize_h, op.resize_w = C.uint32_t(j.Size.H), C.uint32_t(j.Size.W)
		op.scale_min, op.scale_max = C.double(j.Scale[0]), C.double(j.Scale[1])
	case cfg.ResizeArea != nil:
		op.geometry = C.MEDIA_RESIZE_AREA
		a := cfg.ResizeArea
		op.area_min, op.area_max, op.multiple, op.multiple_up = C.uint64_t(a.Min), C.uint64_t(a.Max), C.uint32_t(a.Multiple), flag(a.Up)
	case cfg.Contain != nil:
		op.geometry = C.MEDIA_CONTAIN
		op.corner, op.shrink, op.letterbox = flag(cfg.Contain.Corner), flag(cfg.Contain.Shrink), flag(cfg.Contain.Letterbox)
	default:
		op.geometry = C.MEDIA_AS_IS
	}
	op.fill = cfg.Fill.c()
	if c := cfg.Corner; c != Middle {
		op.corner_x, op.corner_y = C.MEDIA_FIRST, C.MEDIA_FIRST
		if c == TopRight || c == BottomRight {
			op.corner_x = C.MEDIA_LAST
		}
		if c == BottomLeft || c == BottomRight {
			op.corner_y = C.MEDIA_LAST
		}
	}
	op.middle_down = flag(cfg.MiddleDown)
	op.anywhere, op.padding_mode = flag(cfg.Anywhere), C.uint32_t(cfg.Padding)
	op.pad_left, op.pad_top = C.uint32_t(cfg.Pad.Left), C.uint32_t(cfg.Pad.Top)
	op.pad_right, op.pad_bottom = C.uint32_t(cfg.Pad.Right), C.uint32_t(cfg.Pad.Bottom)
}

func (cfg *Config) open(op *C.media_op) {
	o := cfg.Open
	if o == nil {
		return
	}
	op.open = C.MEDIA_OPEN_PADDED
	if o.Dense {
		op.open = C.MEDIA_OPEN_DENSE
	}
	op.room_h, op.room_w = C.uint32_t(o.Room.H), C.uint32_t(o.Room.W)
	op.least_side = C.uint32_t(cfg.leastSide())
	if p := cfg.Patches; p != nil {
		op.patch, op.merge, op.temporal = C.uint32_t(p.Size), C.uint32_t(p.Merge), C.uint32_t(p.Temporal)
	}
}

// leastSide is what both sides of an open row must have at least, for what mirrors it at its borders.
func (cfg *Config) leastSide() (n int) {
	if b := cfg.Blur; b != nil && b.P > 0 {
		n = b.Size/2 + 1
	}
	if e := cfg.Elastic; e != nil && e.P > 0 {
		n = max(n, reach(e.Sigma)+1)
	}
	return n
}

func flag(is bool) C.uint32_t {
	if is {
		return 1
	}
	return 0
}

func (cfg *Config) colours(op *C.media_op) {
	op.gray_p, op.permute_p = C.double(cfg.Grayscale), C.double(cfg.Permute)
	if j := cfg.Jitter; j != nil {
		op.jitter_p, op.jitter = C.double(j.P), j.factors()
	}
	if j := cfg.Distort; j != nil {
		op.distort_p, op.distort = C.double(j.P), j.factors()
	}
}

func (j *Jitter) factors() (all [C.MEDIA_JITTERS]C.media_factor) {
	for i, f := range []*[2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue} {
		if f != nil {
			all[i] = C.media_factor{on: 1, low: C.double(f[0]), high: C.double(f[1])}
		}
	}
	return all
}

func (r *RandomCrop) ranges() (scale, ratio [2]float64) {
	scale, ratio = r.Scale, r.Ratio
	if scale == ([2]float64{}) {
		scale = [2]float64{0.08, 1}
	}
	if ratio == ([2]float64{}) {
		ratio = [2]float64{3.0 / 4, 4.0 / 3}
	}
	return scale, ratio
}

func (cfg *Config) check() error {
	if err := cfg.checkGeometry(); err != nil {
		return err
	}
	if err := cfg.checkChances(); err != nil {
		return err
	}
	if cfg.Interpolation > TorchNearestExact || cfg.Mode > Index || cfg.DType > F32 || cfg.Layout > NCHW {
		return fmt.Errorf("config: interpolation %d, mode %d, dtype %d or layout %d is not one of the named values",
			cfg.Interpolation, cfg.Mode, cfg.DType, cfg.Layout)
	}
	if cfg.Mode == Index && cfg.DType != U8 {
		return fmt.Errorf("mode index: want dtype u8, as floats are x/255 and numbers of classes are whole")
	}
	if cfg.Mode == Index && (cfg.resizes() > 0 && !cfg.Interpolation.picks() || cfg.Random != nil && cfg.Random.AnyFilter) {
		return fmt.Errorf("mode index: want interpolation nearest, cv2_nearest, torch_nearest or torch_nearest_exact, as the others mix numbers of classes")
	}
	if err := cfg.checkColours(); err != nil {
		return err
	}
	if err := cfg.checkWarps(); err != nil {
		return err
	}
	if err := cfg.checkRetouches(); err != nil {
		return err
	}
	if err := cfg.checkCV2Colours(); err != nil {
		return err
	}
	if err := cfg.checkCV2Blurs(); err != nil {
		return err
	}
	if err := checkOrder(cfg.Order); err != nil {
		return err
	}
	if err := cfg.checkAhead(); err != nil {
		return err
	}
	if err := cfg.checkShuffled(); err != nil {
		return err
	}
	if err := checkGroups(cfg.Groups); err != nil {
		return err
	}
	if err := cfg.checkByTorch(); err != nil {
		return err
	}
	if err := cfg.checkErase(); err != nil {
		return err
	}
	return cfg.checkNormalize()
}

func (cfg *Config) checkChances() error {
	all := append(cfg.chances(), chance{"horizontal flip", cfg.Flip}, chance{"vertical flip", cfg.VFlip}, chance{"quarters", cfg.Quarters})
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

// checkColours wants factors in range, and colours where they change.
func (cfg *Config) checkColours() error {
	if cfg.Grayscale > 0 && cfg.Mode != RGB {
		return fmt.Errorf("grayscale: want mode RGB")
	}
	if (cfg.Permute > 0 || cfg.Distort != nil) && cfg.Mode != RGB {
		return fmt.Errorf("distort, permute: want mode RGB, as grey has one channel")
	}
	if err := cfg.Distort.check("distort"); err != nil {
		return err
	}
	j := cfg.Jitter
	if j == nil {
		return nil
	}
	if cfg.Mode == Index {
		return fmt.Errorf("mode index: want no jitter, as numbers of classes are no colours")
	}
	if (j.Saturation != nil || j.Hue != nil) && cfg.Mode != RGB {
		return fmt.Errorf("jitter: saturation and hue want mode RGB, as grey has neither")
	}
	return j.check("jitter")
}

// check wants factors in range.
func (j *Jitter) check(name string) error {
	if j == nil {
		return nil
	}
	names := []string{"brightness", "contrast", "saturation", "hue"}
	for i, f := range []*[2]float64{j.Brightness, j.Contrast, j.Saturation, j.Hue} {
		least, most := 0.0, float64(MaxFactor)
		if i == 3 {
			least, most = -0.5, 0.5
		}
		if f != nil && !(f[0] >= least && f[0] <= f[1] && f[1] <= most) {
			return fmt.Errorf("%s: got %s %v, want %v <= smallest <= largest <= %v", name, names[i], *f, least, most)
		}
	}
	return nil
}

// bySide says that one side decides about the other.
func (cfg *Config) bySide() bool { return cfg.ResizeShort != 0 || cfg.Longest != 0 }

// resizes is how many ways to resize are asked for.
func (cfg *Config) resizes() (asked int) {
	for _, is := range []bool{cfg.bySide(), cfg.Resize != Size{}, cfg.Random != nil, cfg.Contain != nil, cfg.RandomResize != nil, cfg.ScaleJitter != nil, cfg.ResizeArea != nil, cfg.RandomShortest != nil} {
		if is {
			asked++
		}
	}
	return asked
}

func (cfg *Config) checkGeometry() error {
	if asked := cfg.resizes(); asked > 1 {
		return fmt.Errorf("geometry: got %d of resize to a shorter side, to a size and to a random one, contain and random crop, want one", asked)
	}
	if cfg.ResizeShort < 0 || cfg.ResizeShort > MaxSide {
		return fmt.Errorf("resize: got shorter side %d, want 1 to %d", cfg.ResizeShort, MaxSide)
	}
	if cfg.DETRSides && (cfg.NearestSide || cfg.ResizeShort == 0 || cfg.Longest == 0) {
		return fmt.Errorf("resize: got DETR's rounding with a shorter side of %d and a longest of %d, want both, and no other rounding", cfg.ResizeShort, cfg.Longest)
	}
	if cfg.NearestSide && (cfg.ResizeShort > 0) == (cfg.Longest > 0) {
		return fmt.Errorf("resize: got rounding to the nearest with a shorter side of %d and a longest of %d, want one of them", cfg.ResizeShort, cfg.Longest)
	}
	if cfg.Longest != 0 && (cfg.Longest <= cfg.ResizeShort || cfg.Longest > MaxSide) {
		return fmt.Errorf("resize: got a longest side of %d beside a shorter side of %d, want more than that, to %d", cfg.Longest, cfg.ResizeShort, MaxSide)
	}
	if r := cfg.RandomResize; r != nil && !(r.Min >= 1 && r.Min < r.Max && r.Max <= MaxSide+1) {
		return fmt.Errorf("random resize: got %d to %d, want 1 <= smallest < largest <= %d", r.Min, r.Max, MaxSide+1)
	}
	if j := cfg.ScaleJitter; j != nil && !j.Size.valid() {
		return fmt.Errorf("scale jitter: got %d x %d, want sides of 1 to %d", j.Size.H, j.Size.W, MaxSide)
	} else if j != nil {
		if err := ordered("scale jitter: scale", j.Scale, MinScale, MaxScale); err != nil {
			return err
		}
	}
	if cfg.Resize != (Size{}) && !cfg.Resize.valid() {
		return fmt.Errorf("resize: got %d x %d, want sides of 1 to %d", cfg.Resize.H, cfg.Resize.W, MaxSide)
	}
	if r := cfg.RandomShortest; r != nil && (len(r.Sizes) < 1 || len(r.Sizes) > MaxSizes || slices.Min(r.Sizes) < 1 || slices.Max(r.Sizes) > MaxSide || r.Longest < 0 || r.Longest > MaxSide) {
		return fmt.Errorf("random shortest: got sizes %v and a longest side of %d, want 1 to %d sizes of 1 to %d, and 0 to %[4]d", r.Sizes, r.Longest, MaxSizes, MaxSide)
	}
	if a := cfg.ResizeArea; a != nil && !((a.Up && a.Min == 0 || !a.Up && a.Min >= 1) && a.Min <= a.Max && a.Max <= MaxSide*MaxSide && a.Multiple >= 1 && a.Multiple <= MaxSide) {
		return fmt.Errorf("resize: got %d to %d pixels in multiples of %d, want 1 <= least <= most <= %d and multiples of 1 to %d", a.Min, a.Max, a.Multiple, MaxSide*MaxSide, MaxSide)
	}
	if err := cfg.checkTiles(); err != nil {
		return err
	}
	if err := cfg.checkPatches(); err != nil {
		return err
	}
	if cfg.Cover && cfg.Resize == (Size{}) {
		return fmt.Errorf("cover: want a size to resize to")
	}
	if cfg.Open != nil {
		return cfg.checkOpen()
	}
	if cfg.Out == (Size{}) && (cfg.Resize == (Size{}) || cfg.Cover) {
		return fmt.Errorf("geometry: the row has no fixed size; add a centre crop or resize to [height, width]")
	}
	if cfg.Out != (Size{}) && !cfg.Out.valid() {
		return fmt.Errorf("row: got %d x %d, want sides of 1 to %d", cfg.Out.H, cfg.Out.W, MaxSide)
	}
	if (cfg.Anywhere || cfg.Pad != Sides{} || cfg.Padding != Constant) && (cfg.Random != nil || cfg.Contain != nil || cfg.Out == (Size{})) {
		return fmt.Errorf("geometry: anywhere and padding are of a crop to Out, beside no random crop and no contain")
	}
	if cfg.Corner > BottomRight || cfg.Corner != Middle && (cfg.Anywhere || cfg.Random != nil || cfg.Contain != nil || cfg.Out == Size{}) {
		return fmt.Errorf("corner: got %d, want one of the named values, of a crop to Out that is not anywhere, and no random crop or contain", cfg.Corner)
	}
	for _, n := range []int{cfg.Pad.Left, cfg.Pad.Top, cfg.Pad.Right, cfg.Pad.Bottom} {
		if n < 0 || n > MaxSide {
			return fmt.Errorf("pad: got %d, want 0 to %d", n, MaxSide)
		}
	}
	if cfg.Padding > Symmetric {
		return fmt.Errorf("padding: %d is not one of the named values", cfg.Padding)
	}
	if cfg.Random != nil {
		return cfg.Random.check()
	}
	return nil
}

// checkOpen wants a geometry that leaves the row's size open, and nothing that needs it beforehand.
func (cfg *Config) checkOpen() error {
	switch {
	case !cfg.Open.Dense && !cfg.Open.Room.valid():
		return fmt.Errorf("open: got room for %d x %d, want sides of 1 to %d", cfg.Open.Room.H, cfg.Open.Room.W, MaxSide)
	case cfg.Open.Dense && !(cfg.Open.Room.H >= 1 && cfg.Open.Room.H <= MaxSide*MaxSide && cfg.Open.Room.W >= 1 && cfg.Open.Room.W <= MaxSide*MaxSide/cfg.Open.Room.H):
		return fmt.Errorf("open: got room for %d x %d pixels, want 1 to %d", cfg.Open.Room.H, cfg.Open.Room.W, MaxSide*MaxSide)
	case cfg.Out != Size{} || cfg.Resize != Size{} && !cfg.Cover || cfg.Contain != nil || cfg.Random != nil || cfg.Anywhere || cfg.Corner != Middle || cfg.Pad != Sides{} || cfg.Padding != Constant || cfg.Resized > 0:
		return fmt.Errorf("open: got a geometry that fixes the row's size, want a resize that keeps the picture's shape, or none")
	case cfg.Quarters > 0:
		return fmt.Errorf("open: got quarters, want none, as rows are not square")
	}
	return nil
}

// checkPatches wants rows of a size that is whole patches, of which nothing is erased.
func (cfg *Config) checkPatches() error {
	p, a := cfg.Patches, cfg.ResizeArea
	if p == nil {
		return nil
	}
	for _, n := range []int{p.Size, p.Merge, p.Temporal} {
		if n < 1 || n > MaxPatch {
			return fmt.Errorf("patches: got %+v, want numbers of 1 to %d", *p, MaxPatch)
		}
	}
	if cfg.Open == nil || !cfg.Open.Dense || a == nil || a.Multiple%(p.Size*p.Merge) != 0 || cfg.Erase != nil {
		return fmt.Errorf("patches: want an open row that is dense, resized to whole multiples of %d, and nothing erased", p.Size*p.Merge)
	}
	return nil
}

func (s Size) valid() bool {
	return s.H >= 1 && s.H <= MaxSide && s.W >= 1 && s.W <= MaxSide
}

func (r *RandomCrop) check() error {
	scale, ratio := r.ranges()
	if !(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1) {
		return fmt.Errorf("random crop: got scale %v, want 0 < smallest <= largest <= 1", scale)
	}
	if !(ratio[0] >= 1e-3 && ratio[0] <= ratio[1] && ratio[1] <= 1e3) {
		return fmt.Errorf("random crop: got ratio %v, want 0.001 <= smallest <= largest <= 1000", ratio)
	}
	return nil
}

func (cfg *Config) checkNormalize() error {
	n := cfg.Normalize
	if n == nil {
		return nil
	}
	if cfg.DType == U8 {
		return fmt.Errorf("normalize: dtype is u8, want f16, bf16 or f32")
	}
	want := cfg.channels()
	if len(n.Mean) != want || len(n.Std) != want {
		return fmt.Errorf("normalize: got %d means and %d stds, want %d of each", len(n.Mean), len(n.Std), want)
	}
	for ch := range want {
		if math.Abs(n.Mean[ch]) > 1e4 || math.IsNaN(n.Mean[ch]) {
			return fmt.Errorf("normalize: got mean %v, want -10000 to 10000 in units of x/255", n.Mean[ch])
		}
		if !(n.Std[ch] >= 1e-6 && n.Std[ch] <= 1e6) {
			return fmt.Errorf("normalize: got std %v, want 0.000001 to 1000000 in units of x/255", n.Std[ch])
		}
	}
	return nil
}

func (cfg *Config) channels() int {
	if cfg.Mode == RGB {
		return 3
	}
	return 1
}

// RowBytes is the size of one row.
func (op *Op) RowBytes() int { return int(C.media_op_row_bytes(&op.c)) }

// Channels is 3, or 1 for Gray, Luma and Index.
func (op *Op) Channels() int { return int(op.c.channels) }

// Interpolation is the filter of a resize.
func (op *Op) Interpolation() Interpolation { return Interpolation(op.c.filter) }

// DType is the type of the row's values.
func (op *Op) DType() DType { return DType(op.c.dtype) }

// Open says how rows lie that have a size of their own; nil: all have one.
func (op *Op) Open() *Open {
	if op.c.open == C.MEDIA_CLOSED {
		return nil
	}
	return &Open{Size{int(op.c.room_h), int(op.c.room_w)}, op.c.open == C.MEDIA_OPEN_DENSE}
}

// Shape is the shape of the row's picture, or of each of its tiles: [H, W, C], or [C, H, W] for NCHW.
func (op *Op) Shape() [3]int {
	h, w, ch := int(op.c.out_h), int(op.c.out_w), int(op.c.channels)
	if Layout(op.c.layout) == NCHW {
		return [3]int{ch, h, w}
	}
	return [3]int{h, w, ch}
}
