package sampler

import (
	"crypto/sha512"
	"encoding/binary"
	"math"
	"math/bits"
)

const rounds = 8

// Perm is a permutation of [0, n). It is a value of fixed size; the zero Perm is the permutation of nothing.
type Perm struct {
	n    uint64
	side uint64 // a = ceil(sqrt n)
	keys [rounds]uint64
}

// NewPerm returns the permutation of [0, n) that belongs to (seed, epoch). n must not be negative and at most 2^62.
// It costs one SHA-512 block and allocates nothing.
func NewPerm(n int64, seed, epoch uint64) Perm {
	var msg [40]byte
	copy(msg[:], "spdl order v1\x00\x00\x00")
	binary.LittleEndian.PutUint64(msg[16:], seed)
	binary.LittleEndian.PutUint64(msg[24:], epoch)
	binary.LittleEndian.PutUint64(msg[32:], uint64(n))
	sum := sha512.Sum512(msg[:])
	p := Perm{n: uint64(n), side: ceilSqrt(uint64(n))}
	for i := range p.keys {
		p.keys[i] = binary.LittleEndian.Uint64(sum[8*i:])
	}
	return p
}

// At returns the value at position i of [0, n); it panics outside. Time and memory do not depend on n.
func (p *Perm) At(i int64) int64 {
	v := uint64(i)
	if v >= p.n {
		panic("sampler: position out of range")
	}
	for {
		v = p.once(v)
		if v < p.n {
			return int64(v)
		}
	}
}

// once is the Feistel network, a bijection of [0, side^2).
func (p *Perm) once(v uint64) uint64 {
	l, r := v/p.side, v%p.side
	for _, key := range p.keys {
		f, _ := bits.Mul64(mix(r^key), p.side)
		f += l
		if f >= p.side {
			f -= p.side
		}
		l, r = r, f
	}
	return l*p.side + r
}

// mix is the finaliser of SplitMix64: every input bit reaches every output bit.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// ceilSqrt is exact: the floating-point root is only a first guess.
func ceilSqrt(n uint64) uint64 {
	s := uint64(math.Sqrt(float64(n)))
	for s > 0 && (s-1)*(s-1) >= n {
		s--
	}
	for s*s < n {
		s++
	}
	return s
}
