package media

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// erasedBox is torchvision's RandomErasing.get_params on the draws of an address: the part, of no size where there is none.
func erasedBox(draw Draw, e *Erase, size Size) (b Box) {
	const address = 7
	if draw.Uniforms(address, 0)[0] >= e.P {
		return b
	}
	scale, ratio := e.ranges()
	for try := range uint32(10) {
		u := draw.Uniforms(address, 2*try+1)
		area := float64(size.H) * float64(size.W) * (scale[0] + u[0]*(scale[1]-scale[0]))
		aspect := math.Exp(math.Log(ratio[0]) + u[1]*(math.Log(ratio[1])-math.Log(ratio[0])))
		h, w := int(math.RoundToEven(math.Sqrt(area*aspect))), int(math.RoundToEven(math.Sqrt(area/aspect)))
		if h >= size.H || w >= size.W {
			continue
		}
		u = draw.Uniforms(address, 2*try+2)
		return Box{Y: int(u[0] * float64(size.H-h+1)), X: int(u[1] * float64(size.W-w+1)), H: h, W: w}
	}
	return b
}

// Several parts lie where their two blocks say, and the rest of the row is as it was.
func TestSeveralErasedPartsAreTheirValue(t *testing.T) {
	const address = 7
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	erased, counts := 0, map[int]bool{}
	for i, p := range []Parts{{Count: [2]int{1, 8}, Height: [2]float64{0.1, 0.5}, Width: [2]float64{0.2, 0.2}}, {Count: [2]int{0, 3}, Height: [2]float64{3, 9}, Width: [2]float64{1, 100}, Pixels: true}} {
		for _, layout := range []Layout{NHWC, NCHW} {
			size := Size{31, 45}
			cfg := Config{Resize: size, DType: F32, Layout: layout, Normalize: imagenet}
			plain := compiled(t, cfg)
			cfg.Erase = &Erase{P: 0.8, Value: []float64{-1.5}, Parts: &p}
			op := compiled(t, cfg)
			for index := range uint64(40) {
				draw := Draw{Seed: uint64(i), Epoch: 2, Index: index}
				want, got := make([]byte, plain.RowBytes()), make([]byte, op.RowBytes())
				for row, of := range map[*[]byte]*Op{&want: plain, &got: op} {
					if _, err := w.Row(*row, data, of, draw); err != nil {
						t.Fatal(err)
					}
				}
				n := 0
				if u := draw.Uniforms(address, 0); u[0] < cfg.Erase.P {
					n = p.Count[0] + int(u[1]*float64(p.Count[1]-p.Count[0]+1))
				}
				counts[n] = true
				side := func(of [2]float64, n int, u float64) int {
					if !p.Pixels {
						return int(float64(n) * (of[0] + u*(of[1]-of[0])))
					}
					return int(of[0]) + int(u*(min(of[1], float64(n))-of[0]+1))
				}
				for k := range n {
					u, at := draw.Uniforms(address, 2*uint32(k)+1), draw.Uniforms(address, 2*uint32(k)+2)
					h, v := side(p.Height, size.H, u[0]), side(p.Width, size.W, u[1])
					for _, e := range elements(Box{Y: int(at[0] * float64(size.H-h+1)), X: int(at[1] * float64(size.W-v+1)), H: h, W: v}, op) {
						binary.LittleEndian.PutUint32(want[4*e:], math.Float32bits(-1.5))
						erased++
					}
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%+v, layout %d, sample %d: another row than %d parts make", p, layout, index, n)
				}
			}
		}
	}
	if erased < 10000 || len(counts) < 8 {
		t.Errorf("%d elements erased, %d counts of parts", erased, len(counts))
	}
}

// erasures are ways to erase rows of a type.
func erasures(dtype DType, channels int) []*Erase {
	all := []*Erase{{P: 0.7}, {P: 0.7, Scale: [2]float64{0.02, 0.1}, Ratio: [2]float64{0.01, 0.5}, Value: []float64{77}}, {P: 1, Value: []float64{1, 2, 250}[:channels]}}
	if dtype != U8 {
		all = append(all, &Erase{P: 1, Value: []float64{-1.3}}, &Erase{P: 1, Noise: true})
	}
	return all
}

// The part that is drawn is the value, or noise, in a row of any type and layout, and the rest what it was without.
func TestErasedPartsAreTheirValueAndTheRestIsAsItWas(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	for i, size := range []Size{{31, 45}, {40, 12}, {3, 200}, {1, 1}, {2, 2}} {
		for dtype := U8; dtype <= F32; dtype++ {
			for _, cfg := range []Config{{}, {Layout: NCHW}, {Mode: Gray}, {Mode: Gray, Layout: NCHW}} {
				cfg.Resize, cfg.DType = size, dtype
				do(&cfg, Chance{Flip, 0.5})
				if dtype != U8 && cfg.Mode == RGB {
					cfg.Normalize = imagenet
				}
				plain := compiled(t, cfg)
				for _, cfg.Erase = range erasures(dtype, plain.Channels()) {
					op := compiled(t, cfg)
					want, got := make([]byte, plain.RowBytes()), make([]byte, op.RowBytes())
					erased := 0
					for index := range uint64(12) {
						draw := Draw{Seed: uint64(i), Epoch: 3, Index: index}
						if _, err := w.Row(want, data, plain, draw); err != nil {
							t.Fatal(err)
						}
						info, err := w.Row(got, data, op, draw)
						if box := erasedBox(draw, cfg.Erase, size); err != nil || info.Erased != box {
							t.Fatalf("%+v, row %d: got %+v, %v; want %+v", cfg, index, info.Erased, err, box)
						}
						if !erasedAs(t, got, want, info.Erased, op, cfg.Erase, draw) {
							t.Fatalf("%+v, %+v, row %d: other bytes", cfg, *cfg.Erase, index)
						}
						erased += info.Erased.H
					}
					if erased == 0 && size.H > 3 {
						t.Errorf("%v: nothing was erased", size)
					}
				}
			}
		}
	}
}

// philox is Philox4x32-10 at an address, as philox.c has it.
func philox(seed, index, epoch uint64, op, block uint32) [4]uint32 {
	c, k := [4]uint32{uint32(index), uint32(index >> 32), uint32(epoch), op<<24 | block}, [2]uint32{uint32(seed), uint32(seed >> 32)}
	for range 10 {
		a, b := uint64(0xD2511F53)*uint64(c[0]), uint64(0xCD9E8D57)*uint64(c[2])
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k[0], uint32(b), uint32(a>>32) ^ c[3] ^ k[1], uint32(a)}
		k[0], k[1] = k[0]+0x9E3779B9, k[1]+0xBB67AE85
	}
	return c
}

// noiseValue is value i of a channel's noise by normal_isa.h's definition, in doubles.
func noiseValue(draw Draw, channel, i int) float64 {
	key := philox(draw.Seed, draw.Index, draw.Epoch, 7, 21)
	c := philox(uint64(key[1])<<32|uint64(key[0]), uint64(i/4), uint64(channel), 0, 0)
	v, w := c[i%4/2*2], c[i%4/2*2+1]
	r := math.Sqrt(-2 * math.Log((float64(v>>8)+1)/(1<<24)))
	sin, cos := math.Sincos(2 * math.Pi * float64(w>>8) / (1 << 24))
	return r * []float64{cos, sin}[i%2]
}

// element reads one of a row's.
func element(dtype DType, row []byte) float64 {
	switch dtype {
	case U8:
		return float64(row[0])
	case F16:
		return tensor.Half(binary.LittleEndian.Uint16(row))
	case BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(row)) << 16))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
}

// erasedAs compares a row with one that is not erased, of which it changes the part: values to half of the type's last bit, noise to a little more.
func erasedAs(t *testing.T, got, want []byte, b Box, op *Op, e *Erase, draw Draw) bool {
	t.Helper()
	item, last := op.DType().ItemBytes(), map[DType]float64{F16: 1. / (1 << 11), BF16: 1. / (1 << 8), F32: 1. / (1 << 24)}[op.DType()]
	for i, at := range elements(b, op) {
		c, v, near := i%op.Channels(), 0.0, 0.0
		if len(e.Value) > 0 {
			v = e.Value[c%len(e.Value)]
		}
		if e.Noise {
			v, near = noiseValue(draw, c, i/op.Channels()), 2e-6
		}
		if f := element(op.DType(), got[at*item:]); math.Abs(f-v) > math.Abs(v)*last+near {
			t.Errorf("element %d: got %v, want %v", i, f, v)
		}
		copy(want[at*item:][:item], got[at*item:])
	}
	return slices.Equal(got, want)
}

// Noise is standard normal, other for each channel, sample and epoch, and the same in both layouts.
func TestErasedNoiseIsNormal(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	cfg := Config{Resize: Square(100), DType: F32, Erase: &Erase{P: 1, Scale: [2]float64{0.5, 0.5}, Ratio: [2]float64{1, 1}, Noise: true}}
	values := func(layout Layout, draw Draw) (all []float32) {
		cfg.Layout = layout
		op := compiled(t, cfg)
		row := make([]byte, op.RowBytes())
		info, err := w.Row(row, data, op, draw)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range elements(info.Erased, op) {
			all = append(all, float32(element(F32, row[4*at:])))
		}
		return all
	}
	got := values(NHWC, Draw{Seed: 1})
	if !slices.Equal(got, values(NCHW, Draw{Seed: 1})) || slices.Equal(got, values(NHWC, Draw{Seed: 1, Epoch: 1})) || slices.Equal(got, values(NHWC, Draw{Seed: 1, Index: 1})) {
		t.Error("noise is not the layouts' own, or the same in another epoch or sample")
	}
	sum, square, product := 0.0, 0.0, 0.0
	for i, v := range got {
		sum, square = sum+float64(v), square+float64(v)*float64(v)
		if i%3 == 1 {
			product += float64(v) * float64(got[i-1])
		}
	}
	n := float64(len(got))
	if n < 14000 || math.Abs(sum/n) > 0.04 || math.Abs(square/n-1) > 0.06 || math.Abs(3*product/n) > 0.07 {
		t.Errorf("%v values: mean %v, mean square %v, of two channels %v", n, sum/n, square/n, 3*product/n)
	}
}

// elements are where the part's elements lie in the row, channel after channel of a pixel.
func elements(b Box, op *Op) (all []int) {
	shape := op.Shape()
	height, width, channels := shape[0], shape[1], shape[2]
	planar := Layout(op.c.layout) == NCHW
	if planar {
		channels, height, width = shape[0], shape[1], shape[2]
	}
	for y := b.Y; y < b.Y+b.H; y++ {
		for x := b.X; x < b.X+b.W; x++ {
			for c := range channels {
				at := (y*width+x)*channels + c
				if planar {
					at = (c*height+y)*width + x
				}
				all = append(all, at)
			}
		}
	}
	return all
}
