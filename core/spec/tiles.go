package spec

import (
	"cmp"
	"fmt"
	"slices"
)

// Tiles says that a picture becomes several of Size x Size: those that it is cut into once it is brought to a grid of them, and, but for Llama 3.2, all of
// it made as small as one. It stands in the place of what else resizes and crops.
type Tiles struct {
	Kind          string        `json:"kind"`
	Size          int           `json:"size"`
	Min           int           `json:"min,omitempty"`            // tiles of a grid, of InternVL,
	Max           int           `json:"max,omitempty"`            // and of Llama 3.2
	Pinpoints     []Extent      `json:"grid_pinpoints,omitempty"` // of LLaVA-NeXT: what grids measure
	LongestEdge   int           `json:"longest_edge,omitempty"`   // of Idefics3
	Thumbnail     bool          `json:"thumbnail"`                // the whole picture is there, too
	Interpolation Interpolation `json:"interpolation"`
	Shape         Cut           `json:"shape"`
}

// The values of Tiles.Kind.
const (
	InternVL  = "internvl"
	LLaVANeXT = "llava_next"
	MLlama    = "mllama"
	Idefics3  = "idefics3"
)

// Grid is rows and columns of tiles.
type Grid struct{ Rows, Columns int }

const (
	maxTiles       = 64 // of a grid; media.MaxTiles
	maxPinpoints   = 512
	maxLongestEdge = 4096 // Idefics3's own bound
)

// tilesOf are what kinds have by themselves.
var tilesOf = map[string]Tiles{
	InternVL:  {Min: 1, Max: 12, Thumbnail: true, Interpolation: Bicubic},
	LLaVANeXT: {Thumbnail: true, Interpolation: Bicubic},
	MLlama:    {Max: 4, Interpolation: Bilinear},
	Idefics3:  {Thumbnail: true, Interpolation: Lanczos},
}

// tilesKeys are the kinds that a key goes with.
var tilesKeys = []struct {
	key   string
	kinds []string
}{{"min", []string{InternVL}}, {"max", []string{InternVL, MLlama}}, {"thumbnail", []string{InternVL}}, {"grid_pinpoints", []string{LLaVANeXT}}, {"longest_edge", []string{Idefics3}}}

// tiles reads the side of a tile, or a mapping with that.
func (d *decoder) tiles(s *section) *Tiles {
	kind := InternVL
	n, shown, sec := d.short(s, "tiles", "size")
	choice(sec, "kind", &kind, InternVL, LLaVANeXT, MLlama, Idefics3)
	t := tilesOf[kind]
	t.Kind, t.Shape = kind, Fixed
	if n == nil && d.err == nil {
		s.fail("tiles", "size is missing, want the side of a tile in pixels, such as tiles: 448, or {size: 448, max: 12}")
	}
	d.wholeAt(n, shown, &t.Size, 1, maxSide)
	for _, k := range tilesKeys {
		if sec.has(k.key) && !slices.Contains(k.kinds, kind) {
			sec.fail(k.key, "given with kind: %s, want it with %s; leave it out", kind, either(k.kinds))
		}
	}
	whole(sec, "min", &t.Min, 1, maxTiles)
	whole(sec, "max", &t.Max, 1, maxTiles)
	sec.flag("thumbnail", &t.Thumbnail)
	whole(sec, "longest_edge", &t.LongestEdge, 1, maxLongestEdge)
	d.resampler(sec, &t.Interpolation)
	choice(sec, "shape", &t.Shape, Fixed, Padded, Ragged)
	if sec.has("grid_pinpoints") {
		d.pinpoints(sec, &t)
	}
	switch {
	case d.err != nil:
	case t.Min > t.Max:
		sec.fail(cmp.Or(given(sec, "min"), "max"), "got min %d above max %d, want at most as many", t.Min, t.Max)
	case kind == LLaVANeXT && t.Pinpoints == nil:
		s.fail("tiles", "grid_pinpoints is missing, want what the grids measure, as the model's config.json has them, such as [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]")
	case kind == Idefics3 && t.LongestEdge == 0:
		s.fail("tiles", "longest_edge is missing, want the longer side of a picture ahead of its tiles, as size.longest_edge of the model's preprocessor_config.json, such as 1456")
	case kind == Idefics3 && t.LongestEdge <= t.Size:
		sec.fail("longest_edge", "got %d, want more than the side of a tile, %d", t.LongestEdge, t.Size)
	case kind == Idefics3 && t.Grids()[0].Rows > 8:
		sec.fail("longest_edge", "got %d, want at most 8 tiles of %d", t.LongestEdge, t.Size)
	}
	return &t
}

// given is the key, where it is there.
func given(s *section, key string) string {
	if s.has(key) {
		return key
	}
	return ""
}

func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return words[0] + " or " + words[1]
}

// pinpoints reads sizes that are whole tiles.
func (d *decoder) pinpoints(s *section, t *Tiles) {
	const key = "grid_pinpoints"
	for i, n := range s.items(key, "a list of [H, W]", maxPinpoints) {
		shown := fmt.Sprintf("%s[%d]", join(s.shown, key), i)
		short, e := d.extent(n, shown)
		if e.square(short); d.err != nil {
			return
		}
		if e == ofBucket || e.Height%t.Size != 0 || e.Width%t.Size != 0 || e.Height/t.Size*(e.Width/t.Size) > maxTiles {
			d.fail(n, shown, "got %s, want [H, W] of 1 to %d whole tiles of %d x %[3]d", describeExtent(e), maxTiles, t.Size)
		}
		t.Pinpoints = append(t.Pinpoints, e)
	}
	if d.err == nil && t.Pinpoints == nil {
		s.fail(key, "got none, want at least one, such as [672, 672]")
	}
}

func describeExtent(e Extent) string {
	if e == ofBucket {
		return bucket
	}
	return fmt.Sprintf("[%d, %d]", e.Height, e.Width)
}

// Grids are those that a picture may be brought to, in the order in which they are tried; of Idefics3 the largest.
func (t *Tiles) Grids() (all []Grid) {
	switch t.Kind {
	case LLaVANeXT:
		for _, e := range t.Pinpoints {
			all = append(all, Grid{e.Height / t.Size, e.Width / t.Size})
		}
		return all
	case Idefics3:
		n := (t.LongestEdge + t.LongestEdge%2 + t.Size - 1) / t.Size // the other side of a square picture is even
		return []Grid{{n, n}}
	}
	for a := 1; a <= t.Max; a++ {
		for b := 1; b <= t.Max/a; b++ {
			switch {
			case t.Kind == MLlama:
				all = append(all, Grid{a, b})
			case a*b >= t.Min:
				all = append(all, Grid{b, a})
			}
		}
	}
	if t.Kind == InternVL {
		slices.SortStableFunc(all, func(a, b Grid) int { return a.Rows*a.Columns - b.Rows*b.Columns })
	}
	return all
}

// Room is how many tiles a row has room for.
func (t *Tiles) Room() (most int) {
	for _, g := range t.Grids() {
		n := g.Rows * g.Columns
		if t.Thumbnail && (n > 1 || t.Kind == LLaVANeXT) {
			n++
		}
		most = max(most, n)
	}
	return most
}

// besideTiles is the first operation that is beside them, but for normalize; "": there is none.
func (t *Transform) besideTiles() string {
	for _, o := range []struct {
		name string
		is   bool
	}{
		{"resize", t.Resize != nil}, {"random_resize", t.RandomResize != nil}, {randomShortestSize, t.RandomShortestSize != nil}, {"scale_jitter", t.ScaleJitter != nil}, {"pad", t.Pad != nil},
		{"center_crop", t.CenterCrop != nil}, {"random_crop", t.RandomCrop != nil}, {"random_resized_crop", t.RandomResizedCrop != nil}, {"random_erasing", t.RandomErasing != nil},
	} {
		if o.is {
			return o.name
		}
	}
	if all := t.all(); len(all) > 0 {
		return all[0].Name()
	}
	return ""
}
