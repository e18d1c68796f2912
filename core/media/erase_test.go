package media

import (
	"math"
	"slices"
	"testing"
)

// erasedBox is torchvision's RandomErasing.get_params on the draws of an address: the part, of no size where there is none.
func erasedBox(draw Draw, p float64, size Size) (b Box) {
	const address = 7
	if draw.Uniforms(address, 0)[0] >= p {
		return b
	}
	for try := range uint32(10) {
		u := draw.Uniforms(address, 2*try+1)
		area := float64(size.H) * float64(size.W) * (0.02 + u[0]*(0.33-0.02))
		aspect := math.Exp(math.Log(0.3) + u[1]*(math.Log(3.3)-math.Log(0.3)))
		h, w := int(math.RoundToEven(math.Sqrt(area*aspect))), int(math.RoundToEven(math.Sqrt(area/aspect)))
		if h >= size.H || w >= size.W {
			continue
		}
		u = draw.Uniforms(address, 2*try+2)
		return Box{Y: int(u[0] * float64(size.H-h+1)), X: int(u[1] * float64(size.W-w+1)), H: h, W: w}
	}
	return b
}

// The part that is drawn is zeros in a row of any type and layout, and the rest what it was without.
func TestErasedPartsAreZerosAndTheRestIsAsItWas(t *testing.T) {
	const p = 0.7
	w, data := worker(t, nil), testJPEG(t, 90, 70)
	for i, size := range []Size{{31, 45}, {40, 12}, {3, 200}, {1, 1}, {2, 2}} {
		for dtype := U8; dtype <= F32; dtype++ {
			for _, cfg := range []Config{{}, {Layout: NCHW}, {Mode: Gray}, {Mode: Gray, Layout: NCHW}} {
				cfg.Resize, cfg.DType, cfg.Flip = size, dtype, 0.5
				if dtype != U8 && cfg.Mode == RGB {
					cfg.Normalize = imagenet
				}
				plain := compiled(t, cfg)
				cfg.Erase = p
				op := compiled(t, cfg)
				want, got := make([]byte, plain.RowBytes()), make([]byte, op.RowBytes())
				erased := 0
				for index := range uint64(20) {
					draw := Draw{Seed: uint64(i), Epoch: 3, Index: index}
					if _, err := w.Row(want, data, plain, draw); err != nil {
						t.Fatal(err)
					}
					info, err := w.Row(got, data, op, draw)
					if box := erasedBox(draw, p, size); err != nil || info.Erased != box {
						t.Fatalf("%+v, row %d: got %+v, %v; want %+v", cfg, index, info.Erased, err, box)
					}
					zero(want, info.Erased, plain)
					if !slices.Equal(got, want) {
						t.Fatalf("%+v, row %d: other bytes", cfg, index)
					}
					erased += info.Erased.H
				}
				if erased == 0 && size.H > 2 && size.W > 2 {
					t.Errorf("%v: nothing was erased", size)
				}
			}
		}
	}
}

func zero(row []byte, b Box, op *Op) {
	shape, item := op.Shape(), op.DType().ItemBytes()
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
				clear(row[at*item:][:item])
			}
		}
	}
}
