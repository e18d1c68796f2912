package spec

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// tiled is a description of a folder whose pictures become tiles, as said.
func tiled(tiles string) string { return "source: {folder: p}\nimage: {tiles: " + tiles + "}\n" }

// Tiles have what the model that they are of has, where nothing else is said; a row has room for the largest grid, and for the whole picture.
func TestTilesAreDescribed(t *testing.T) {
	for text, want := range map[string]struct {
		Tiles
		room int
	}{
		"448":               {Tiles{Kind: InternVL, Size: 448, Min: 1, Max: 12, Thumbnail: true, Interpolation: Bicubic, Shape: Fixed}, 13},
		"{size: 8, max: 1}": {Tiles{Kind: InternVL, Size: 8, Min: 1, Max: 1, Thumbnail: true, Interpolation: Bicubic, Shape: Fixed}, 1},
		"{size: 8, min: 2, max: 6, thumbnail: false, shape: ragged}":                            {Tiles{Kind: InternVL, Size: 8, Min: 2, Max: 6, Interpolation: Bicubic, Shape: Ragged}, 6},
		"{size: 8, kind: llava_next, grid_pinpoints: [[8, 16], 16], interpolation: cv2_linear}": {Tiles{Kind: LLaVANeXT, Size: 8, Pinpoints: []Extent{{8, 16}, {16, 16}}, Thumbnail: true, Interpolation: CV2Linear, Shape: Fixed}, 5},
		"{size: 8, kind: llava_next, grid_pinpoints: [8]}":                                      {Tiles{Kind: LLaVANeXT, Size: 8, Pinpoints: []Extent{{8, 8}}, Thumbnail: true, Interpolation: Bicubic, Shape: Fixed}, 2},
		"{size: 560, kind: mllama, shape: padded}":                                              {Tiles{Kind: MLlama, Size: 560, Max: 4, Interpolation: Bilinear, Shape: Padded}, 4},
		"{size: 364, kind: idefics3, longest_edge: 1456}":                                       {Tiles{Kind: Idefics3, Size: 364, LongestEdge: 1456, Thumbnail: true, Interpolation: Lanczos, Shape: Fixed}, 17},
		"{size: 364, kind: idefics3, longest_edge: 400}":                                        {Tiles{Kind: Idefics3, Size: 364, LongestEdge: 400, Thumbnail: true, Interpolation: Lanczos, Shape: Fixed}, 5},
	} {
		s := parse(t, tiled(text))
		if got := s.Image.Transform.Tiles; !reflect.DeepEqual(got, &want.Tiles) || got.Room() != want.room {
			t.Errorf("%s: got %+v and room for %d, want %d", text, got, got.Room(), want.room)
		}
		if got, one := s.rowBytes(), int64(want.Size*want.Size*3); got != one*int64(want.room) || s.RowShape().String() != fmt.Sprintf("%dx%[1]dx3", want.Size) {
			t.Errorf("%s: got rows of %d bytes of %v", text, got, s.RowShape())
		}
		if m := s.Media()[0]; !reflect.DeepEqual(m.Tensors(), []string{"image", "count", "grid", "size"}) || m.Padded() != (want.Shape == Padded) {
			t.Errorf("%s: got tensors %v, padded %v", text, m.Tensors(), m.Padded())
		}
	}
	s := parse(t, "source: {folder: p}\nfields: {page: {image: {tiles: 8, dtype: f16, layout: NCHW, transform: [normalize: imagenet]}}}\n")
	if got := s.Media()[0].Tensors(); !reflect.DeepEqual(got, []string{"page", "page.count", "page.grid", "page.size"}) {
		t.Errorf("got tensors %v", got)
	}
	rings := parse(t, tiled("8")+"rings: {a: {image: {layout: NCHW, transform: [normalize: imagenet]}}, b: {image: {tiles: {size: 9, max: 2}}}}\n")
	for i, want := range []Tiles{{Size: 8, Max: 12}, {Size: 9, Max: 2}} {
		if got := rings.All()[i].Image.Transform.Tiles; got == nil || got.Size != want.Size || got.Max != want.Max {
			t.Errorf("ring %d: got %+v", i, got)
		}
	}
}

// Grids come in the order in which each rule tries them: InternVL's by their tiles, and of as many by their columns; Llama 3.2's by their rows.
func TestGridsComeInTheRulesOrder(t *testing.T) {
	for text, want := range map[string]string{
		"{size: 8, max: 4}":         "[{1 1} {2 1} {1 2} {3 1} {1 3} {4 1} {2 2} {1 4}]",
		"{size: 8, min: 3, max: 4}": "[{3 1} {1 3} {4 1} {2 2} {1 4}]",
		"{size: 8, kind: mllama}":   "[{1 1} {1 2} {1 3} {1 4} {2 1} {2 2} {3 1} {4 1}]",
		"{size: 8, kind: llava_next, grid_pinpoints: [[8, 16], [16, 8], [24, 8]]}": "[{1 2} {2 1} {3 1}]",
		"{size: 8, kind: idefics3, longest_edge: 25}":                              "[{4 4}]",
		"{size: 7, kind: idefics3, longest_edge: 21}":                              "[{4 4}]",
	} {
		if got := fmt.Sprint(parse(t, tiled(text)).Image.Transform.Tiles.Grids()); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if n := len(parse(t, tiled("{size: 1, max: 64}")).Image.Transform.Tiles.Grids()); n < 200 || n > maxPinpoints {
		t.Errorf("got %d grids of up to 64 tiles", n)
	}
}

// All that says what tiles are is part of the hash.
func TestHashHasTiles(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"8", "9", "{size: 8, max: 11}", "{size: 8, min: 2}", "{size: 8, thumbnail: false}", "{size: 8, shape: ragged}", "{size: 8, interpolation: box}", "{size: 8, kind: mllama}",
		"{size: 8, kind: llava_next, grid_pinpoints: [8]}", "{size: 8, kind: llava_next, grid_pinpoints: [16]}", "{size: 8, kind: idefics3, longest_edge: 16}", "{size: 8, kind: idefics3, longest_edge: 17}"} {
		hash := string(parse(t, tiled(text)).Canonical())
		if other, twice := seen[hash]; twice {
			t.Errorf("%s and %s are alike", text, other)
		}
		seen[hash] = text
	}
}

// What tiles cannot be, and cannot be beside, is refused with its place, and what to do.
func TestTilesThatCannotBeAreRefused(t *testing.T) {
	beside := func(image string) string { return "source: {folder: p}\nimage: {tiles: 8, " + image + "}\n" }
	const boxed = "source: {list: a.jsonl, columns: [" + boxColumns + "]}\n"
	for text, want := range map[string]string{
		tiled("0"):                         "image.tiles: got 0, want a whole number from 1 to 16384",
		tiled("many"):                      "image.tiles: got text \"many\", want a whole number from 1 to 16384",
		tiled("{}"):                        "image.tiles: size is missing, want the side of a tile in pixels, such as tiles: 448",
		tiled("{max: 4}"):                  "image.tiles: size is missing",
		tiled("{size: [8, 8]}"):            "image.tiles.size: got a list, want a whole number",
		tiled("{size: 8, kind: anyres}"):   "image.tiles.kind: got text \"anyres\", want one of internvl, llava_next, mllama, idefics3",
		tiled("{size: 8, min: 5, max: 4}"): "image.tiles.min: got min 5 above max 4, want at most as many",
		tiled("{size: 8, min: 13}"):        "image.tiles.min: got min 13 above max 12",
		tiled("{size: 8, max: 65}"):        "image.tiles.max: got 65, want a whole number from 1 to 64",
		tiled("{size: 8, max: 4, kind: llava_next, grid_pinpoints: [8]}"):       "image.tiles.max: given with kind: llava_next, want it with internvl or mllama; leave it out",
		tiled("{size: 8, min: 1, kind: mllama}"):                                "image.tiles.min: given with kind: mllama, want it with internvl; leave it out",
		tiled("{size: 8, thumbnail: false, kind: mllama}"):                      "image.tiles.thumbnail: given with kind: mllama, want it with internvl",
		tiled("{size: 8, grid_pinpoints: [8]}"):                                 "image.tiles.grid_pinpoints: given with kind: internvl, want it with llava_next",
		tiled("{size: 8, longest_edge: 16}"):                                    "image.tiles.longest_edge: given with kind: internvl, want it with idefics3",
		tiled("{size: 8, kind: llava_next}"):                                    "image.tiles: grid_pinpoints is missing, want what the grids measure, as the model's config.json has them",
		tiled("{size: 8, kind: llava_next, grid_pinpoints: []}"):                "image.tiles.grid_pinpoints: got none, want at least one",
		tiled("{size: 8, kind: llava_next, grid_pinpoints: [[8, 12]]}"):         "image.tiles.grid_pinpoints[0]: got [8, 12], want [H, W] of 1 to 64 whole tiles of 8 x 8",
		tiled("{size: 8, kind: llava_next, grid_pinpoints: [8, [72, 64]]}"):     "image.tiles.grid_pinpoints[1]: got [72, 64], want [H, W] of 1 to 64 whole tiles",
		tiled("{size: 8, kind: llava_next, grid_pinpoints: [bucket]}"):          "image.tiles.grid_pinpoints[0]: got bucket, want [H, W] of 1 to 64 whole tiles",
		tiled("{size: 8, kind: idefics3}"):                                      "image.tiles: longest_edge is missing, want the longer side of a picture ahead of its tiles",
		tiled("{size: 8, kind: idefics3, longest_edge: 8}"):                     "image.tiles.longest_edge: got 8, want more than the side of a tile, 8",
		tiled("{size: 8, kind: idefics3, longest_edge: 65}"):                    "image.tiles.longest_edge: got 65, want at most 8 tiles of 8",
		tiled("{size: 8, interpolation: area}"):                                 "image.tiles.interpolation: got text \"area\", want one of bilinear",
		tiled("{size: 8, shape: long}"):                                         "image.tiles.shape: got text \"long\", want one of fixed, padded, ragged",
		tiled("{size: 8, max_num: 6}"):                                          "image.tiles.max_num: unknown key; did you mean \"max\"?",
		tiled("{size: 8, image_grid_pinpoints: [8]}"):                           "image.tiles.image_grid_pinpoints: unknown key; did you mean \"grid_pinpoints\"?",
		tiled("{size: 8000, max: 20}"):                                          "image.tiles: got room for 21 pictures of 192000000 bytes, want less than 2 GiB a row",
		"source: {folder: p}\nimage: {dynamic_image_size: true}\n":              "image.dynamic_image_size: unknown key; say tiles: {size: 448, max: 12}, of InternVL",
		"source: {folder: p}\nvideo: {frames: 2, tiles: 8}\n":                   "video.tiles: unknown key",
		"source: {shards: a.tar}\nimage: {many: 4, tiles: 8}\n":                 "image.many: given beside tiles, which are of one picture a sample; leave one of them out",
		beside("shape: padded, room: 9"):                                        "image.shape: got padded beside tiles, which have one size, and whose own shape says how rows of fewer lie; leave it out",
		beside("affine: true"):                                                  "image.affine: given beside tiles; leave it out: size and grid say what the picture was and where they lie",
		beside("transform: [{resize: [8, 8]}]"):                                 "image.transform[0].resize: got resize beside tiles, which are cut from the picture as it is, and resized by their own rule; leave it out: normalize alone goes with them",
		beside("transform: [{center_crop: 8}]"):                                 "image.transform[0].center_crop: got center_crop beside tiles",
		beside("transform: [{random_resized_crop: 8}]"):                         "image.transform[0].random_resized_crop: got random_resized_crop beside tiles",
		beside("transform: [{horizontal_flip: 0.5}]"):                           "image.transform[0].horizontal_flip: got horizontal_flip beside tiles",
		beside("transform: [{random_rotation: 5}, {color_jitter: {hue: 0.1}}]"): "image.transform[0].random_rotation: got random_rotation beside tiles",
		beside("transform: [{normalize: imagenet}, {random_erasing: 0.5}]"):     "image.transform[1].random_erasing: got random_erasing beside tiles",
		beside("transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]") + "order: {buckets: {sizes: [[8, 8], [8, 16]]}}\n": "image.transform[0].resize: got resize beside tiles",
		beside("mode: index"): "image.transform: got interpolation bicubic with mode index, want nearest, cv2_nearest, torch_nearest or torch_nearest_exact",
		tiled("8") + "order: {buckets: {sizes: [[8, 8], [8, 16]]}}\n":             "order.buckets: got sizes, and no transform of pictures is of them",
		boxed + "image: {tiles: 8, boxes: boxes}\n":                               "image.boxes: given beside tiles, over several of which a box may lie; leave one of them out",
		boxed + "image: {tiles: 8, points: spots}\n":                              "image.points: given beside tiles, each of which has a part of the picture; leave one of them out",
		tiled("8") + "device: {decode: nvjpeg}\n":                                 "device.decode: got nvjpeg beside image.tiles, want cpu: the device makes one picture of a file",
		tiled("8") + "device: {finish: {}}\n":                                     "device.finish: given beside image.tiles, want normalize and dtype in image: the device finishes one picture a sample",
		tiled("{size: 8, shape: ragged}") + "device: {}\n":                        "image.tiles.shape: got ragged with a device, which uploads what has a fixed place in every row; want padded",
		"source: {folder: p}\nfields: {a: {image: {tiles: {size: 8, max: 0}}}}\n": "fields.a.image.tiles.max: got 0, want a whole number",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	parse(t, tiled("{size: 8, shape: padded}")+"device: {}\n")
	parse(t, "source: {folder: p}\nimage: {mode: index, tiles: {size: 8, interpolation: nearest}}\n")
	for text, want := range map[string]string{
		`{"image": {"tiles": {"size": 8, "shape": "ragged"}}}`:                             "image.tiles.shape: is of a ring's batches, whose rows differ; leave it out",
		`{"image": {"tiles": 8, "transform": [{"resize": 9}, {"normalize": "imagenet"}]}}`: "image.transform[0].resize: got resize beside tiles",
	} {
		if _, err := ParseSample([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
