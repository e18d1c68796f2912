package tensor

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// A dtype is the word DLPack writes: code, bits, lanes.
func TestDTypeIsDLPackWord(t *testing.T) {
	for _, c := range []struct {
		d     DType
		name  string
		code  uint8
		bits  uint8
		float bool
	}{
		{I8, "i8", 0, 8, false}, {I16, "i16", 0, 16, false}, {I32, "i32", 0, 32, false}, {I64, "i64", 0, 64, false},
		{U8, "u8", 1, 8, false}, {U16, "u16", 1, 16, false}, {U32, "u32", 1, 32, false}, {U64, "u64", 1, 64, false},
		{F16, "f16", 2, 16, true}, {F32, "f32", 2, 32, true}, {F64, "f64", 2, 64, true}, {BF16, "bf16", 4, 16, true},
	} {
		if c.d.Code() != c.code || c.d.Bits() != c.bits || c.d.Lanes() != 1 || c.d.Float() != c.float {
			t.Errorf("%v: code %d bits %d lanes %d float %v", c.d, c.d.Code(), c.d.Bits(), c.d.Lanes(), c.d.Float())
		}
		if want := uint32(c.code) | uint32(c.bits)<<8 | 1<<16; uint32(c.d) != want {
			t.Errorf("%v: word %#x, want %#x", c.d, uint32(c.d), want)
		}
		if got, err := ParseDType(c.name); err != nil || got != c.d || c.d.String() != c.name || !c.d.Valid() {
			t.Errorf("%s: parsed to %v, %v", c.name, got, err)
		}
		if c.d.Bytes()*8 != int(c.bits) {
			t.Errorf("%v: %d bytes", c.d, c.d.Bytes())
		}
	}
}

// A name that is no type is refused with the names that are.
func TestUnknownDTypeIsRefused(t *testing.T) {
	_, err := ParseDType("float32")
	if err == nil || !strings.Contains(err.Error(), `"float32"`) || !strings.Contains(err.Error(), "f32") {
		t.Fatalf("got %v", err)
	}
	if DType(0).Valid() || DType(0).String() != "dtype(code 0, bits 0, lanes 0)" {
		t.Fatalf("zero dtype: %v", DType(0))
	}
}

// Strides are row-major and in bytes.
func TestStridesAreRowMajorBytes(t *testing.T) {
	s := Shape{32, 224, 200, 3}
	if got := s.Strides(F32); !slices.Equal(got, []int64{224 * 200 * 12, 200 * 12, 12, 4}) {
		t.Fatalf("strides %v", got)
	}
	if n, err := s.Bytes(F32); err != nil || n != 32*224*200*12 {
		t.Fatalf("bytes %d, %v", n, err)
	}
	if s.String() != "32x224x200x3" || (Shape{}).String() != "scalar" {
		t.Fatalf("%v %v", s, Shape{})
	}
}

// Sizes that do not fit are errors, never a wrapped number; a zero dimension makes an empty tensor.
func TestSizeOverflowIsAnError(t *testing.T) {
	for _, s := range []Shape{{-1}, {math.MaxInt64, 2}, {1 << 32, 1 << 32}, {0, -1}} {
		if n, err := s.Elements(); err == nil {
			t.Errorf("%v: %d elements", s, n)
		}
	}
	if n, err := (Shape{1 << 61}).Bytes(F32); err == nil {
		t.Errorf("2^61 f32: %d bytes", n)
	}
	if n, err := (Shape{4, 0, 3}).Bytes(F32); err != nil || n != 0 {
		t.Errorf("empty: %d, %v", n, err)
	}
}

func TestHalfPrecisionNumbersAreRead(t *testing.T) {
	for bits, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 1: math.Ldexp(1, -24), 0x7bff: 65504, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := Half(bits); got != want {
			t.Errorf("%04x: %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(Half(0x7e00)) {
		t.Errorf("7e00: %v, want NaN", Half(0x7e00))
	}
}
