package tensor

import (
	"fmt"
	"math"
)

// DType is the element type of a tensor: DLPack's DLDataType as it lies in little-endian memory,
// code in bits 0-7, bits in bits 8-15, lanes in bits 16-31. Zero is no type.
type DType uint32

// DLPack's type codes.
const (
	CodeInt    = 0
	CodeUint   = 1
	CodeFloat  = 2
	CodeBfloat = 4
)

const oneLane = 1 << 16

// The element types a batch may carry.
const (
	I8   DType = CodeInt | 8<<8 | oneLane
	I16  DType = CodeInt | 16<<8 | oneLane
	I32  DType = CodeInt | 32<<8 | oneLane
	I64  DType = CodeInt | 64<<8 | oneLane
	U8   DType = CodeUint | 8<<8 | oneLane
	U16  DType = CodeUint | 16<<8 | oneLane
	U32  DType = CodeUint | 32<<8 | oneLane
	U64  DType = CodeUint | 64<<8 | oneLane
	F16  DType = CodeFloat | 16<<8 | oneLane
	F32  DType = CodeFloat | 32<<8 | oneLane
	F64  DType = CodeFloat | 64<<8 | oneLane
	BF16 DType = CodeBfloat | 16<<8 | oneLane
)

var names = map[DType]string{
	I8: "i8", I16: "i16", I32: "i32", I64: "i64",
	U8: "u8", U16: "u16", U32: "u32", U64: "u64",
	F16: "f16", BF16: "bf16", F32: "f32", F64: "f64",
}

// ParseDType returns the type of that name: u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64.
func ParseDType(name string) (DType, error) {
	for d, n := range names {
		if n == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("tensor: dtype %q: unknown; want one of u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64", name)
}

// Code is DLPack's type code.
func (d DType) Code() uint8 { return uint8(d) }

// Bits is the size of one lane in bits.
func (d DType) Bits() uint8 { return uint8(d >> 8) }

// Lanes is the number of lanes; 1 for every type named here.
func (d DType) Lanes() uint16 { return uint16(d >> 16) }

// Bytes is the size of one element in bytes, all its lanes.
func (d DType) Bytes() int { return int(d.Bits()) * int(d.Lanes()) / 8 }

// Float reports whether elements are floating point, bf16 among them.
func (d DType) Float() bool { return d.Code() == CodeFloat || d.Code() == CodeBfloat }

// Valid reports whether d is one of the types named here.
func (d DType) Valid() bool { _, ok := names[d]; return ok }

// String is the short name, such as "f32"; an unnamed type shows its three numbers.
func (d DType) String() string {
	if n, ok := names[d]; ok {
		return n
	}
	return fmt.Sprintf("dtype(code %d, bits %d, lanes %d)", d.Code(), d.Bits(), d.Lanes())
}

// Half is an IEEE half-precision number, the values of F16.
func Half(h uint16) (v float64) {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent < 31:
		v = math.Ldexp(1024+fraction, exponent-25)
	case fraction == 0:
		v = math.Inf(1)
	default:
		v = math.NaN()
	}
	if h>>15 != 0 {
		v = -v
	}
	return v
}
