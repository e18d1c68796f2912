package media

import (
	"math"
	"testing"
)

// unmoved is an affine map that changes nothing, but for what change says.
func unmoved(change func(*CV2Affine)) *CV2Affine {
	one := [2]float64{1, 1}
	a := &CV2Affine{P: 1, ScaleX: one, ScaleY: one, Interpolation: CV2Linear}
	change(a)
	return a
}

// Where OpenCV says that a pixel comes from, in its inverse of the matrix that takes pixels there.
func cv2Back(m [6]float64) [6]float64 {
	d := 1 / (m[0]*m[4] - m[1]*m[3])
	b := [6]float64{m[4] * d, -m[1] * d, 0, -m[3] * d, m[0] * d, 0}
	b[2], b[5] = -b[0]*m[2]-b[1]*m[5], -b[3]*m[2]-b[4]*m[5]
	return b
}

// An affine map of OpenCV draws its numbers at their addresses, and pixels are those around the place that it comes from, or the border's.
func TestAnAffineMapOfOpenCVIsDrawnByItsAddresses(t *testing.T) {
	const side, later, first = 60, 15, 136
	w, data := worker(t, nil), testJPEG(t, side, side)
	from := made(t, w, data, Config{Out: Square(side)}, Draw{})
	done := 0
	for i := range uint64(24) {
		draw := Draw{Seed: 9, Index: i}
		a := &CV2Affine{
			P: 0.7, Degrees: [2]float64{-50, 70}, ShiftX: [2]float64{-0.1, 0.3}, ShiftY: [2]float64{-0.2, 0}, ScaleX: [2]float64{0.6, 1}, ScaleY: [2]float64{1, 1.5},
			ShearX: [2]float64{-20, 5}, ShearY: [2]float64{0, 10}, Interpolation: CV2Linear, Padding: Padding(i % 4), Fill: Fill{9, 99, 199}, KeepRatio: i%2 == 1, Pixels: i%3 == 1,
		}
		cfg := Config{Out: Square(side), Steps: Steps(a)}
		if a.Pixels {
			a.ShiftX, a.ShiftY = [2]float64{-3, 20}, [2]float64{-9, -9}
		}
		if a.KeepRatio {
			a.ScaleY = a.ScaleX
		}
		at := func(r [2]float64, u float64) float64 { return r[0] + u*(r[1]-r[0]) }
		u := func(k, n int) float64 { return draw.Uniforms(later, uint32(first+k))[n] }
		got := made(t, w, data, cfg, draw)
		if u(0, 0) >= a.P {
			if string(got) != string(from) {
				t.Errorf("draw %d: it happened, by chance %v", i, u(0, 0))
			}
			continue
		}
		done++
		sin, cos := math.Sincos(at(a.Degrees, u(0, 1)) * math.Pi / 180)
		x, y := math.Trunc(at(a.ShiftX, u(1, 0))*side), math.Trunc(at(a.ShiftY, u(1, 1))*side)
		if a.Pixels {
			x, y = -3+math.Floor(u(1, 0)*24), -9
		}
		sx, sy := at(a.ScaleX, u(2, 0)), at(a.ScaleY, u(2, 1))
		if a.KeepRatio {
			sy = sx
		}
		tx, ty := math.Tan(-at(a.ShearX, u(3, 0))*math.Pi/180), math.Tan(-at(a.ShearY, u(3, 1))*math.Pi/180)
		m := [6]float64{(cos - tx*sin) * sx, (sin + tx*cos) * sy, 0, (ty*cos - sin) * sx, (ty*sin + cos) * sy, 0}
		const mid = side/2.0 - 0.5
		m[2], m[5] = mid+x-m[0]*mid-m[1]*mid, mid+y-m[3]*mid-m[4]*mid
		if worst := farthestFrom(got, from, cv2Back(m), side, a); worst > 6 { // places are whole 32nds of a pixel
			t.Errorf("draw %d: pixels are up to %v from those around the places where they come from", i, worst)
		}
	}
	if done < 10 || done > 22 {
		t.Errorf("of 24 rows %d were turned, want 0.7 of them", done)
	}
}

// farthestFrom is how far a row is from what is between the four pixels around each place, in doubles.
func farthestFrom(got, from []byte, back [6]float64, side int, a *CV2Affine) (worst float64) {
	at := func(x, y, ch int) float64 {
		if x >= 0 && y >= 0 && x < side && y < side {
			return float64(from[3*(y*side+x)+ch])
		}
		if a.Padding == Constant {
			return float64(a.Fill[ch])
		}
		in := func(p int) int {
			for p < 0 || p >= side {
				switch {
				case a.Padding == Edge:
					p = min(max(p, 0), side-1)
				case a.Padding == Reflect && p < 0:
					p = -p
				case a.Padding == Reflect:
					p = 2*side - 2 - p
				case p < 0:
					p = -1 - p
				default:
					p = 2*side - 1 - p
				}
			}
			return p
		}
		return float64(from[3*(in(y)*side+in(x))+ch])
	}
	for y := range side {
		for x := range side {
			sx, sy := back[0]*float64(x)+back[1]*float64(y)+back[2], back[3]*float64(x)+back[4]*float64(y)+back[5]
			left, top := int(math.Floor(sx)), int(math.Floor(sy))
			right, below := sx-float64(left), sy-float64(top)
			for ch := range 3 {
				want := (at(left, top, ch)*(1-right)+at(left+1, top, ch)*right)*(1-below) + (at(left, top+1, ch)*(1-right)+at(left+1, top+1, ch)*right)*below
				worst = max(worst, math.Abs(float64(got[3*(y*side+x)+ch])-want))
			}
		}
	}
	return worst
}

// Shifts of colours draw theirs: what is told of the row is what its numbers come to.
func TestShiftsOfColoursAreDrawnByTheirAddresses(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	from := made(t, w, data, Config{Out: Square(60)}, Draw{})
	by := [3][2]float64{{-40, 40}, {10, 90}, {-90, -5}}
	done := 0
	for i := range uint64(40) {
		draw := Draw{Seed: 2, Index: i}
		got := made(t, w, data, Config{Out: Square(60), Steps: Steps(&RGBShift{0.6, by})}, draw)
		first, more := draw.Uniforms(15, 130), draw.Uniforms(15, 131)
		happens := first[0] < 0.6
		if happens {
			done++
		}
		for k, u := range []float64{first[1], more[0], more[1]} {
			shift := 0
			if happens {
				shift = int(by[k][0] + u*(by[k][1]-by[k][0]))
			}
			for at := k; at < len(got); at += 3 {
				if want := min(max(int(from[at])+shift, 0), 255); int(got[at]) != want {
					t.Fatalf("draw %d, channel %d: got %d of %d plus %d", i, k, got[at], from[at], shift)
				}
			}
		}
	}
	if done < 12 || done > 36 {
		t.Errorf("of 40 rows %d were shifted, want 0.6 of them", done)
	}
}
