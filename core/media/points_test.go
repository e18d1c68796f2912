package media

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"
)

// slope is a PNG whose red says how far right a pixel lies, and whose green how far down, as the EXIF orientation turns it.
func slope(t testing.TB, w, h, orientation int) []byte {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	seenH, seenW := h, w
	if orientation >= 5 {
		seenH, seenW = w, h
	}
	for y := range seenH {
		for x := range seenW {
			// where the pixel at x, y of the picture as it is seen is stored, orientation by orientation
			at := map[int][2]int{1: {x, y}, 2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y}, 5: {y, x}, 6: {y, h - 1 - x}, 7: {w - 1 - y, h - 1 - x}, 8: {w - 1 - y, x}}[orientation]
			m.SetNRGBA(at[0], at[1], color.NRGBA{R: uint8(x), G: uint8(y), B: 255, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	const head = 33 // the signature and IHDR
	exif := append([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(orientation), 0, 0, 0, 0, 0, 0)
	return slices.Insert(b.Bytes(), head, chunkOf("eXIf", exif)...)
}

// onlyMoves says that the two operations of RandAugment leave colours as they are: those numbered 0 to 5 do.
func onlyMoves(draw Draw) bool {
	const address, operations, moves = 8, 14, 6
	return draw.Uniforms(address, 0)[0]*operations < moves && draw.Uniforms(address, 1)[0]*operations < moves
}

// back is the point of the picture that the map leads to (x, y), and how many of the picture's pixels are one of the row's.
func back(a *[2][3]float64, x, y float64) (px, py, pixels float64) {
	det := a[0][0]*a[1][1] - a[0][1]*a[1][0]
	x, y = x-a[0][2], y-a[1][2]
	return (a[1][1]*x - a[0][1]*y) / det, (a[0][0]*y - a[1][0]*x) / det, math.Max(math.Abs(a[0][0])+math.Abs(a[0][1]), math.Abs(a[1][0])+math.Abs(a[1][1])) / math.Abs(det)
}

// Affine leads from the picture as it is seen to the row, whatever crops, resizes, flips and turns there are: each of the row's pixels that
// shows the picture and not what is around it has the colour of the place that it comes from.
func TestAffineLeadsFromThePictureToTheRow(t *testing.T) {
	w := worker(t, nil)
	for name, cfg := range map[string]Config{
		"as it is":           {Out: Size{90, 200}},
		"resize":             {Resize: Size{45, 100}},
		"enlarged":           {Resize: Size{200, 230}, Interpolation: Bicubic},
		"short side, middle": {ResizeShort: 60, Out: Square(50)},
		"around it":          {Out: Square(240)},
		"anywhere":           {Out: Square(64), Anywhere: true, Pad: Around(9)},
		"scaled, anywhere":   {ScaleJitter: &ScaleJitter{Square(90), [2]float64{0.5, 1.5}}, Out: Square(64), Anywhere: true, Pad: Sides{1, 2, 3, 4}},
		"resized, anywhere":  {ResizeShort: 70, Out: Square(64), Anywhere: true},
		"random":             {Random: &RandomCrop{}, Out: Size{48, 40}},
		"nearest":            {Random: &RandomCrop{}, Out: Size{48, 40}, Interpolation: Nearest},
		"augmented":          {Random: &RandomCrop{Scale: [2]float64{0.5, 1}}, Out: Size{70, 90}, Steps: Steps(&Augment{Kind: RandAugment, Ops: 2, Magnitude: 9, Bins: 31})},
		"turned":             {Resize: Size{80, 120}, Steps: Steps(&Rotation{Degrees: [2]float64{-40, 40}})},
		"sheared":            {Resize: Size{80, 120}, Steps: Steps(&Affine{Degrees: [2]float64{-20, 20}, Translate: [2]float64{0.2, 0.1}, Scale: [2]float64{0.7, 1.4}, ShearX: [2]float64{-15, 15}, ShearY: [2]float64{-5, 5}})},
	} {
		off := 1.01
		if len(cfg.Steps) > 0 {
			off = 2.5 // the nearest pixel, twice
		}
		cfg.Orient = true
		cfg.Steps = append(Steps(Chance{Flip, 0.5}, Chance{VFlip, 0.5}), cfg.Steps...)
		op, looked := compiled(t, cfg), 0
		row := make([]byte, op.RowBytes())
		for i := range uint64(80) {
			draw := Draw{Seed: 3, Index: i}
			if name == "augmented" && !onlyMoves(draw) {
				continue
			}
			info, err := w.Row(row, slope(t, 200, 90, 1+int(i)%8), op, draw)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen := info.Seen()
			if want := (Size{90, 200}); i%8 < 4 && seen != want || i%8 >= 4 && seen != (Size{200, 90}) {
				t.Fatalf("%s, row %d: seen as %v", name, i, seen)
			}
			out := op.Shape()
			for k := 0; k < out[0]*out[1]; k++ {
				if row[3*k+2] != 255 { // what is around the picture, or mixed with it
					continue
				}
				x, y, margin := back(&info.Affine, float64(k%out[1])+0.5, float64(k/out[1])+0.5)
				x, y, margin = x-0.5, y-0.5, margin+1 // filters lean inwards at edges
				right, bottom := float64(seen.W)-1-x, float64(seen.H)-1-y
				if edge := min(x, y, right, bottom); edge < -margin {
					t.Fatalf("%s, row %d, pixel %d: shows the picture, the map says (%.2f, %.2f): %+v", name, i, k, x, y, info)
				} else if edge < margin {
					continue
				}
				if looked++; math.Abs(float64(row[3*k])-x) > off || math.Abs(float64(row[3*k+1])-y) > off {
					t.Fatalf("%s, row %d, pixel %d: got (%d, %d), the map says (%.2f, %.2f): %+v", name, i, k, row[3*k], row[3*k+1], x, y, info)
				}
			}
		}
		if looked < 40*200 {
			t.Errorf("%s: only %d pixels were looked at", name, looked)
		}
	}
}
