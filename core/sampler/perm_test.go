package sampler

import (
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every position has one value and every value one position: all n to 3,000, and some larger ones.
func TestPermIsABijection(t *testing.T) {
	sizes := []int64{4095, 4096, 4097, 65535, 65536, 65537, 99991, 100_000}
	for n := int64(1); n <= 3000; n++ {
		sizes = append(sizes, n)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		sizes = append(sizes, 100_000+r.Int64N(400_000))
	}
	for _, n := range sizes {
		p := NewPerm(n, uint64(n)*7, 3)
		seen := make([]bool, n)
		for i := range n {
			v := p.At(i)
			if v < 0 || v >= n || seen[v] {
				t.Fatalf("n %d: position %d gives %d again or out of range", n, i, v)
			}
			seen[v] = true
		}
	}
}

// Huge sets cost what small ones do: single positions stay in range, differ, and need no memory.
func TestPermOfHugeSetsStaysInRange(t *testing.T) {
	for _, n := range []int64{10_000_000_000, 1<<40 + 1, 1 << 61, maxSamples - 1, maxSamples} {
		p := NewPerm(n, 5, 0)
		seen := map[int64]bool{}
		for i := range int64(1000) {
			v := p.At(n - 1 - i*(n/1000))
			if v < 0 || v >= n || seen[v] {
				t.Fatalf("n %d: value %d again or out of range", n, v)
			}
			seen[v] = true
		}
	}
	i := int64(77)
	if a := testing.AllocsPerRun(100, func() { p := NewPerm(1<<40, uint64(i), 1); i = p.At(i) }); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}

// A position outside is our own bug: it panics instead of walking for ever.
func TestPermOutOfRangePanics(t *testing.T) {
	for _, i := range []int64{-1, 10, 11, 1 << 62} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("position %d: no panic", i)
				}
			}()
			p := NewPerm(10, 0, 0)
			p.At(i)
		}()
	}
}

func TestCeilSqrtIsExact(t *testing.T) {
	for _, n := range []uint64{0, 1, 2, 3, 4, 5, 8, 9, 10, 1 << 52, 1<<53 + 1, 1<<60 - 1, 1 << 60, 1<<60 + 1, 1 << 62} {
		s := ceilSqrt(n)
		if s*s < n || (s > 0 && (s-1)*(s-1) >= n) {
			t.Errorf("ceilSqrt(%d) = %d", n, s)
		}
	}
}

// z turns a chi-square sum into standard deviations from its mean (normal for many degrees of freedom).
func z(chi2, degrees float64) float64 { return (chi2 - degrees) / math.Sqrt(2*degrees) }

// Over many keys each value is as likely at each position as at any other.
func TestPermPositionAndValueAreIndependent(t *testing.T) {
	for _, n := range []int64{2, 3, 4, 5, 7, 9, 10, 16, 25, 31, 64} {
		const keys = 20_000
		counts := make([]float64, n*n)
		for k := range uint64(keys) {
			p := NewPerm(n, k, 0)
			for i := range n {
				counts[i*n+p.At(i)]++
			}
		}
		want, chi2 := keys/float64(n), 0.0
		for _, c := range counts {
			chi2 += (c - want) * (c - want) / want
		}
		// Rows and columns are fixed sums: (n-1)^2 degrees of freedom, scaled by n/(n-1) as draws are without replacement.
		degrees := float64((n - 1) * (n - 1))
		if got := z(chi2*float64(n-1)/float64(n), degrees); math.Abs(got) > 5 {
			t.Errorf("n %d: chi-square %.1f of %.0f degrees, z %.1f", n, chi2, degrees, got)
		}
	}
}

// In one large epoch, blocks of positions draw evenly from blocks of values, and neighbours are not neighbours' values.
func TestPermOfOneEpochIsEvenlyMixed(t *testing.T) {
	const n, cells = 1_000_000, 32
	for seed := range uint64(5) {
		p := NewPerm(n, seed, seed)
		counts := make([]float64, cells*cells)
		diffs := make([]float64, cells)
		last := p.At(n - 1)
		for i := range int64(n) {
			v := p.At(i)
			counts[i*cells/n*cells+v*cells/n]++
			diffs[(v-last+n)%n*cells/n]++
			last = v
		}
		for name, c := range map[string][]float64{"blocks": counts, "neighbours": diffs} {
			want, chi2 := float64(n)/float64(len(c)), 0.0
			for _, x := range c {
				chi2 += (x - want) * (x - want) / want
			}
			if got := z(chi2, float64(len(c)-1)); got > 5 {
				t.Errorf("seed %d %s: z %.1f", seed, name, got)
			}
		}
	}
}

// Neighbouring epochs, seeds and sizes give unrelated orders: about one position in n agrees, ranks do not correlate.
func TestPermOfNextEpochIsIndependent(t *testing.T) {
	const n = 50_000
	for k := range uint64(10) {
		a := NewPerm(n, k, 0)
		for name, b := range map[string]Perm{"epoch": NewPerm(n, k, 1), "seed": NewPerm(n, k+1, 0)} {
			agree, sum := 0, 0.0
			for i := range int64(n) {
				x, y := a.At(i), b.At(i)
				if x == y {
					agree++
				}
				sum += (float64(x)/n - 0.5) * (float64(y)/n - 0.5)
			}
			if agree > 8 { // Poisson with mean 1: more has probability 1e-6
				t.Errorf("key %d next %s: %d positions agree", k, name, agree)
			}
			if r := sum / n * 12; math.Abs(r) > 5/math.Sqrt(n) {
				t.Errorf("key %d next %s: correlation %.4f", k, name, r)
			}
		}
	}
}

type goldenPerm struct {
	N, First    int64
	Seed, Epoch uint64
	Values      []int64
}

// The order of a seed is a promise to users: it is the same in every build.
func TestPermMatchesGoldenValues(t *testing.T) {
	const path = "testdata/perm.json"
	if *update {
		var g []goldenPerm
		for _, c := range []goldenPerm{
			{N: 1}, {N: 2, Seed: 1}, {N: 3, Seed: 2}, {N: 10}, {N: 10, Epoch: 1}, {N: 1000, Seed: math.MaxUint64, Epoch: 7},
			{N: 1281167, Seed: 42, Epoch: 89}, {N: 10_000_000_000, Seed: 42, First: 9_999_999_990}, {N: maxSamples, Seed: 3},
		} {
			p := NewPerm(c.N, c.Seed, c.Epoch)
			for i := c.First; i < min(c.N, c.First+10); i++ {
				c.Values = append(c.Values, p.At(i))
			}
			g = append(g, c)
		}
		b, err := json.MarshalIndent(g, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var golden []goldenPerm
	if err := json.Unmarshal(b, &golden); err != nil || len(golden) == 0 {
		t.Fatalf("%d golden rows, %v", len(golden), err)
	}
	for _, g := range golden {
		p := NewPerm(g.N, g.Seed, g.Epoch)
		var got []int64
		for i := range g.Values {
			got = append(got, p.At(g.First+int64(i)))
		}
		if !slices.Equal(got, g.Values) {
			t.Errorf("n %d seed %d epoch %d: got %v, want %v", g.N, g.Seed, g.Epoch, got, g.Values)
		}
	}
}

func BenchmarkPermAt(b *testing.B) {
	p := NewPerm(1281167, 1, 1)
	b.ReportAllocs()
	for i := range b.N {
		p.At(int64(i) % 1281167)
	}
}
