package load

import (
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
)

// The decoder has room for as many tiles as the description counts, by the rule of its kind; what it does not bound itself is bounded there.
func TestTilesReachTheDecoder(t *testing.T) {
	for text, want := range map[string]struct {
		by    media.Tiling
		whole media.Whole
	}{
		`{"size": 8}`:                              {media.InternVL, media.WholeLast},
		`{"size": 8, "max": 1}`:                    {media.InternVL, media.WholeLast},
		`{"size": 8, "max": 64}`:                   {media.InternVL, media.WholeLast},
		`{"size": 8, "thumbnail": false}`:          {media.InternVL, media.NoWhole},
		`{"size": 8, "kind": "mllama"}`:            {media.MLlama, media.NoWhole},
		`{"size": 8, "kind": "mllama", "max": 64}`: {media.MLlama, media.NoWhole},
		`{"size": 8, "kind": "llava_next", "grid_pinpoints": [8, [64, 64]]}`: {media.LLaVANeXT, media.WholeFirst},
		`{"size": 8, "kind": "idefics3", "longest_edge": 64}`:                {media.Idefics3, media.WholeLast},
	} {
		s := must(spec.ParseSample([]byte(`{"image": {"tiles": ` + text + `}}`)))
		config := PictureConfig(s.Image)
		if config.Tiles.By != want.by || config.Tiles.Whole != want.whole || config.Resize != media.Square(8) {
			t.Errorf("%s: got %+v", text, config.Tiles)
		}
		op := must(media.Compile(config))
		if op.Tiles() != s.Image.Transform.Tiles.Room() || op.RowBytes() != op.Tiles()*8*8*3 {
			t.Errorf("%s: the decoder has room for %d tiles in %d bytes, the description for %d", text, op.Tiles(), op.RowBytes(), s.Image.Transform.Tiles.Room())
		}
	}
}
