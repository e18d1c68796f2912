package load

import (
	"fmt"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
)

// The decoder's row is as large as the description's, and its rule the description's.
func TestPatchesReachTheDecoder(t *testing.T) {
	for text, want := range map[string]media.Patches{
		`"patches": 4, "transform": [{"resize": {"min_pixels": 256, "max_pixels": 900, "multiple_of": 8}}]`:                                                                        {Size: 4, Merge: 1, Temporal: 1},
		`"patches": {"size": 4, "merge": 2, "temporal": 3}, "dtype": "f16", "layout": "NCHW", "transform": [{"resize": {"min_pixels": 256, "max_pixels": 900, "multiple_of": 8}}]`: {Size: 4, Merge: 2, Temporal: 3},
		`"patches": {"size": 3}, "mode": "gray", "transform": [{"resize": {"max_pixels": 900, "multiple_of": 6, "rounding": "up"}}]`:                                               {Size: 3, Merge: 1, Temporal: 1},
	} {
		s := must(spec.Parse([]byte("{source: {folder: p}, image: {"+text+"}}"), ""))
		config := PictureConfig(s.Image)
		op := must(media.Compile(config))
		shape := s.RowShape()
		if n := int(shape[0]*shape[1]) * s.Image.DType.Bytes(); *config.Patches != want || op.RowBytes() != n || !config.Open.Dense {
			t.Errorf("%s: got %+v, %d bytes for %v", text, config.Patches, op.RowBytes(), shape)
		}
	}
}

// A picture alone has as many patches as it has, or, of fixed ones, room for all with zeros behind.
func TestOnePictureHasItsPatches(t *testing.T) {
	const resize = `"transform": [{"resize": {"max_pixels": 600, "multiple_of": 8, "rounding": "up"}}]`
	for patches, want := range map[string]string{`4`: "24x48", `{"size": 8, "shape": "fixed"}`: "9x192"} {
		m := must(Load([]byte(`{"image": {"patches": `+patches+`, `+resize+`}}`), Source{Bytes: picture()}, nil))
		one := m.Tensors[0]
		if got := fmt.Sprint(one.Shape); got != want {
			t.Errorf("patches: %s: got %s, want %s", patches, got, want)
		}
		if behind := one.Data[min(len(one.Data), 6*192):]; len(behind) > 0 && fmt.Sprint(behind) != fmt.Sprint(make([]byte, len(behind))) {
			t.Error("what lies behind the patches is not zero")
		}
	}
}
