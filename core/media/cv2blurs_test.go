package media

import (
	"math"
	"slices"
	"testing"
)

// reflected is where a pixel beyond a row of n lies in it, as in a mirror that has not the outermost one.
func reflected(p, n int) int {
	for n > 1 && (p < 0 || p >= n) {
		if p < 0 {
			p = -p
		} else {
			p = 2*n - 2 - p
		}
	}
	return min(max(p, 0), n-1)
}

// The mean and the median of a square are those of its pixels, whatever of it lies beyond the row.
func TestMeansAndMediansAreThoseOfASquare(t *testing.T) {
	w, data := worker(t, nil), testJPEG(t, 60, 60)
	for _, side := range []Size{{23, 31}, {1, 9}, {5, 1}, {40, 4}} {
		from := made(t, w, data, Config{Out: side}, Draw{})
		at := func(x, y, ch int) int { return int(from[3*(y*side.W+x)+ch]) }
		for _, size := range []int{1, 3, 5, 7, 15, 19} {
			cfg := Config{Out: side, Steps: Steps(&BoxBlur{1, [2]int{size, size}})}
			means := made(t, w, data, cfg, Draw{})
			cfg = Config{Out: side, Steps: Steps(&Median{1, [2]int{size, size}})}
			medians := made(t, w, data, cfg, Draw{})
			for i := range means {
				x, y, sum := i/3%side.W, i/3/side.W, 0
				var all []int
				for dy := -size / 2; dy <= size/2; dy++ {
					for dx := -size / 2; dx <= size/2; dx++ {
						sum += at(reflected(x+dx, side.W), reflected(y+dy, side.H), i%3)
						all = append(all, at(min(max(x+dx, 0), side.W-1), min(max(y+dy, 0), side.H-1), i%3))
					}
				}
				slices.Sort(all)
				if want := int(math.Round(float64(sum) / float64(size*size))); int(means[i]) != want {
					t.Fatalf("%v, size %d, value %d: the mean is %d, want %d", side, size, i, means[i], want)
				}
				if want := all[len(all)/2]; int(medians[i]) != want {
					t.Fatalf("%v, size %d, value %d: the median is %d, want %d", side, size, i, medians[i], want)
				}
			}
		}
	}
}

// A way through a kernel is drawn by its addresses, and what it blurs is the mean along it.
func TestAMotionIsTheMeanAlongAWay(t *testing.T) {
	const side = 60
	w, data := worker(t, nil), testJPEG(t, side, side)
	from := made(t, w, data, Config{Out: Square(side)}, Draw{})
	m := &Motion{Kernel: Kernel{0.7, [2]int{3, 11}}, Angle: [2]float64{-90, 200}, Direction: [2]float64{-1, 0.9}}
	done, sizes := 0, map[int]int{}
	for i := range uint64(60) {
		draw := Draw{Seed: 4, Index: i}
		u := func(k, n int) float64 { return draw.Uniforms(15, uint32(144+k))[n] }
		m.Shifted = i%2 == 1
		got := made(t, w, data, Config{Out: Square(side), Steps: Steps(m)}, draw)
		if u(0, 0) >= 0.7 {
			if !slices.Equal(got, from) {
				t.Errorf("draw %d: it happened, by chance %v", i, u(0, 0))
			}
			continue
		}
		done++
		size := 3 + 2*int(u(0, 1)*5)
		sizes[size]++
		half := float64(size / 2)
		sin, cos := math.Sincos((-90 + u(1, 0)*290) * math.Pi / 180)
		direction := -1 + u(1, 1)*1.9
		start, stop := -half*(1-max(direction, 0)), half*(1-max(-direction, 0))
		way := map[[2]int]bool{}
		for k := range size {
			along := start + float64(k)*(stop-start)/(2*half)
			x, y := half+cos*along, half+sin*along
			if m.Shifted {
				x, y = x+(2*u(2, 0)-1)*half/2, y+(2*u(2, 1)-1)*half/2
			}
			within := func(v float64) int { return int(min(max(math.RoundToEven(v), 0), 2*half)) - size/2 }
			way[[2]int{within(x), within(y)}] = true
		}
		for at := range got {
			x, y, sum := at/3%side, at/3/side, 0
			for d := range way {
				sum += int(from[3*(reflected(y+d[1], side)*side+reflected(x+d[0], side))+at%3])
			}
			if want := float64(sum) / float64(len(way)); math.Abs(float64(got[at])-want) > 0.501 {
				t.Fatalf("draw %d, value %d: got %d, want the mean %v of %d", i, at, got[at], want, len(way))
			}
		}
	}
	if done < 28 || done > 56 || len(sizes) != 5 {
		t.Errorf("of 60 rows %d were blurred, want 0.7 of them, by sizes %v, want all five", done, sizes)
	}
}

// A Gaussian blur draws its sigma and its size, or has the size that sigma needs.
func TestAGaussianBlurOfOpenCVHasTheSizeOfItsSigma(t *testing.T) {
	const side = 60
	w, data := worker(t, nil), testJPEG(t, side, side)
	from := made(t, w, data, Config{Out: Square(side)}, Draw{})
	for i := range uint64(20) {
		draw := Draw{Seed: 4, Index: i}
		b := &CV2Blur{P: 1, Sigma: [2]float64{0.2, 2.5}}
		if i%2 == 1 {
			b.Size = [2]int{2, 8}
		}
		got := made(t, w, data, Config{Out: Square(side), Steps: Steps(b)}, draw)
		sigma := 0.2 + draw.Uniforms(15, 143)[0]*2.3
		size := 2*int(sigma*3.5) + 1
		if i%2 == 1 {
			size = (2 + int(draw.Uniforms(15, 142)[1]*7)) | 1
		}
		k, sum := make([]float64, size), 0.0
		for j := range k {
			k[j] = math.Exp(-0.5 * math.Pow(float64(j-size/2)/sigma, 2))
			sum += k[j]
		}
		for at := range got {
			x, y, want := at/3%side, at/3/side, 0.0
			for dy := range k {
				for dx := range k {
					want += k[dy] / sum * k[dx] / sum * float64(from[3*(reflected(y+dy-size/2, side)*side+reflected(x+dx-size/2, side))+at%3])
				}
			}
			if math.Abs(float64(got[at])-want) > 0.501 {
				t.Fatalf("draw %d, sigma %v, size %d, value %d: got %d, want %v", i, sigma, size, at, got[at], want)
			}
		}
	}
}

// Holes lie where their draws say, and nothing else changes.
func TestHolesAreDrawnByTheirAddresses(t *testing.T) {
	const h, wide = 50, 60
	w, data := worker(t, nil), testJPEG(t, wide, h)
	from := made(t, w, data, Config{Out: Size{h, wide}}, Draw{})
	done, counts := 0, map[int]int{}
	for i := range uint64(80) {
		draw := Draw{Seed: 4, Index: i}
		c := &Holes{P: 0.8, Parts: Parts{Count: [2]int{0, 3}, Height: [2]float64{0, 0.5}, Width: [2]float64{0.2, 1}}, Fill: Fill{9, 99, 199}}
		if c.Pixels = i%2 == 1; c.Pixels {
			c.Height, c.Width = [2]float64{3, 99}, [2]float64{0, 7}
		}
		got, want := made(t, w, data, Config{Out: Size{h, wide}, Steps: Steps(c)}, draw), slices.Clone(from)
		first := draw.Uniforms(15, 148)
		n := 0
		if first[0] < 0.8 {
			done++
			n = int(first[1] * 4)
			counts[n]++
		}
		for k := range n {
			size, at := draw.Uniforms(15, uint32(149+2*k)), draw.Uniforms(15, uint32(150+2*k))
			height, width := int(h*size[0]*0.5), int(wide*(0.2+size[1]*0.8))
			if c.Pixels {
				height, width = 3+int(size[0]*(h-3+1)), int(size[1]*8)
			}
			top, left := int(at[0]*float64(h-height+1)), int(at[1]*float64(wide-width+1))
			for y := top; y < top+height; y++ {
				for x := left; x < left+width; x++ {
					copy(want[3*(y*wide+x):], c.Fill[:])
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("draw %d: %d holes are not where their draws say", i, n)
		}
	}
	if done < 48 || done > 78 || len(counts) != 4 {
		t.Errorf("of 80 rows %d have holes, want 0.8 of them, by numbers %v, want all four", done, counts)
	}
}

// Of one tile and no limit it is the histogram of a grey row that is equalized.
func TestCLAHEOfOneTileEqualizesTheRow(t *testing.T) {
	const side = 60
	w, data := worker(t, nil), testJPEG(t, side, side)
	from := made(t, w, data, Config{Out: Square(side), Mode: Gray}, Draw{})
	got := made(t, w, data, Config{Out: Square(side), Mode: Gray, Steps: Steps(&CLAHE{1, [2]float64{1000, 1000}, 1, 1})}, Draw{})
	for i, v := range from {
		upto := 0
		for _, other := range from {
			if other <= v {
				upto++
			}
		}
		if want := math.RoundToEven(float64(float32(upto) * float32(255) / float32(side*side))); math.Abs(float64(got[i])-want) > 1 {
			t.Fatalf("value %d: got %d of %d, want %v", i, got[i], v, want)
		}
	}
	limited := func(limit [2]float64, draw Draw) []byte {
		return made(t, w, data, Config{Out: Square(side), Mode: Gray, Steps: Steps(&CLAHE{0.5, limit, 4, 3})}, draw)
	}
	for i := range uint64(20) {
		draw := Draw{Seed: 6, Index: i}
		u := draw.Uniforms(15, 216)
		want := from
		if u[0] < 0.5 {
			limit := 1 + u[1]*4
			want = made(t, w, data, Config{Out: Square(side), Mode: Gray, Steps: Steps(&CLAHE{1, [2]float64{limit, limit}, 4, 3})}, Draw{})
		}
		if !slices.Equal(limited([2]float64{1, 5}, draw), want) {
			t.Errorf("draw %d: not what its address says, %v", i, u)
		}
	}
}

// Vectors of fused instructions make the bytes that doubles make without them.
func TestBlursAreTheSameWithoutVectors(t *testing.T) {
	best, portable, data := worker(t, nil), worker(t, &Options{Portable: true}), testJPEG(t, 90, 70)
	for i := range uint64(60) {
		cfg := Config{Out: Size{40 + int(i), 31 + int(i)}, Steps: Steps(&CV2Blur{1, [2]float64{0.1, 6}, [2]int{0, 9}})}
		if i%2 == 1 {
			cfg.Mode = Gray
		}
		if i%3 == 1 {
			cfg.Steps = Steps(&Motion{Kernel{1, [2]int{3, 15}}, [2]float64{0, 360}, [2]float64{-1, 1}, true})
		}
		if draw := (Draw{Index: i}); !slices.Equal(made(t, best, data, cfg, draw), made(t, portable, data, cfg, draw)) {
			t.Errorf("draw %d: other bytes than without vectors", i)
		}
	}
}
