package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
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

// MaxSide bounds the height and the width of a row and of a resize.
const MaxSide = C.MEDIA_MAX_SIDE

// RandomCrop is torchvision's RandomResizedCrop: a box of Scale of the
// picture's area and Ratio of width to height, resized to the row's size.
// With Height it is albumentations' RandomSizedCrop: a box so many pixels high,
// from one number to another, and Ratio times as wide.
type RandomCrop struct {
	Scale  [2]float64 // zero: 0.08 to 1
	Ratio  [2]float64 // zero: 3/4 to 4/3; of Height twice the same
	Height [2]int     // 1 to MaxSide; zeros: by Scale, of which there is none beside it

	AnyFilter bool // timm's: Bilinear or Bicubic is drawn, in the place of Interpolation
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

// out is the size of the row's picture.
func (cfg *Config) out() Size {
	if cfg.Out == (Size{}) {
		return cfg.Resize
	}
	return cfg.Out
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
		} else if cfg.YOLOSSides {
			op.nearest_side = 3
		}
	case cfg.Resize != (Size{}):
		op.geometry = C.MEDIA_RESIZE_EXACT
		if cfg.Cover {
			op.geometry = C.MEDIA_RESIZE_COVER
		}
		op.resize_h, op.resize_w = C.uint32_t(cfg.Resize.H), C.uint32_t(cfg.Resize.W)
	case cfg.Random != nil:
		op.geometry = C.MEDIA_RANDOM_CROP
		op.crop = cfg.Random.c()
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
		op.crop.scale = cRange(j.Scale)
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
	cfg.crop(op)
}

// crop says where the row lies in what the geometry makes, and what lies around that.
func (cfg *Config) crop(op *C.media_op) {
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

func (r *RandomCrop) c() C.media_crop {
	scale, ratio := r.ranges()
	return C.media_crop{scale: cRange(scale), ratio: cRange(ratio), height: cPair(r.Height)}
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
	if err := cfg.checkResize(); err != nil {
		return err
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
	if err := cfg.checkCrop(); err != nil {
		return err
	}
	if cfg.Random != nil {
		return cfg.Random.check()
	}
	return nil
}

// checkResize wants numbers in range.
func (cfg *Config) checkResize() error {
	if cfg.ResizeShort < 0 || cfg.ResizeShort > MaxSide {
		return fmt.Errorf("resize: got shorter side %d, want 1 to %d", cfg.ResizeShort, MaxSide)
	}
	if cfg.DETRSides && (cfg.NearestSide || cfg.Longest == 0) {
		return fmt.Errorf("resize: got DETR's rounding with a shorter side of %d and a longest of %d, want the longest, and no other rounding", cfg.ResizeShort, cfg.Longest)
	}
	if cfg.YOLOSSides && (cfg.NearestSide || cfg.DETRSides || cfg.ResizeShort == 0 || cfg.Longest == 0) {
		return fmt.Errorf("resize: got YOLOS' rounding with a shorter side of %d and a longest of %d, want both, and no other rounding", cfg.ResizeShort, cfg.Longest)
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
	return nil
}

// checkCrop wants a row of one size, and what crops and pads to it.
func (cfg *Config) checkCrop() error {
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
	if n := r.Height; n != [2]int{} && !(n[0] >= 1 && n[0] <= n[1] && n[1] <= MaxSide) {
		return fmt.Errorf("random crop: got height %v, want 1 <= smallest <= largest <= %d", n, MaxSide)
	}
	if r.Height != [2]int{} && (r.Scale != [2]float64{} || ratio[0] != ratio[1]) {
		return fmt.Errorf("random crop: got height beside scale %v and ratio %v, want no scale, and one ratio", r.Scale, ratio)
	}
	return nil
}
