package media

/*
#include "row.h"
*/
import "C"

import (
	"fmt"
	"math"
)

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

// Normalize takes mean and std of x/255, one per channel.
type Normalize struct{ Mean, Std []float64 }

// checkValues wants named values, and of a mask's numbers that they stay what they are.
func (cfg *Config) checkValues() error {
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
