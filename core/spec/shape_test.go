package spec

import (
	"slices"
	"strings"
	"testing"
)

// Rows of pictures that keep their size have the room that the transform bounds, or the one that is said, whole multiples of multiple_of; and a
// batch says how large each is.
func TestOpenPicturesHaveTheRoomTheirTransformBounds(t *testing.T) {
	for _, c := range []struct{ section, shape string }{
		{"shape: padded, transform: [resize: {size: 800, max_size: 1333}]", "1333x1333x3"},
		{"shape: padded, multiple_of: 32, transform: [resize: {size: 800, max_size: 1333}]", "1344x1344x3"},
		{"shape: padded, layout: NCHW, mode: gray, transform: [resize: {size: 800, max_size: 1333}]", "1x1333x1333"},
		{"shape: ragged, transform: [resize: {size: 800, max_size: 1333}]", "1066400x3"},
		{"shape: ragged, layout: NCHW, room: [100, 200], transform: [resize: {size: 800, max_size: 1333}]", "20000x3"},
		{"shape: padded, transform: [random_shortest_size: {min_size: [480, 800], max_size: 1333}]", "1333x1333x3"},
		{"shape: ragged, transform: [random_shortest_size: {min_size: [480, 800], max_size: 1333}]", "1066400x3"},
		{"shape: padded, transform: [scale_jitter: {target_size: [9, 11], scale_range: [0.1, 1.5]}]", "14x17x3"},
		{"shape: ragged, transform: [resize: {min_pixels: 3136, max_pixels: 1003520, multiple_of: 28}]", "1003520x3"},
		{"shape: ragged, transform: [resize: {min_pixels: 400, max_pixels: 1600, multiple_of: 7}]", "3920x3"}, // 7 x 560
		{"shape: ragged, transform: [resize: {min_pixels: 900, max_pixels: 900, multiple_of: 2}]", "1756x3"},  // 4 x 426, and some
		{"shape: padded, room: [500, 640], transform: []", "500x640x3"},
		{"shape: padded, room: [500, 641], multiple_of: 32, transform: [resize: 480]", "512x672x3"},
		{"shape: ragged, room: [500, 640], transform: [resize: {size: [240, 320], fit: cover}]", "320000x3"},
	} {
		s, err := Parse([]byte("source: {folder: p}\nimage: {affine: true, "+c.section+"}\n"), "x.yaml")
		if err != nil {
			t.Errorf("%s: %v", c.section, err)
			continue
		}
		m := s.Media()[0]
		if got := s.RowShape().String(); got != c.shape || !slices.Equal(m.Tensors(), []string{"image", "extent", "affine", "size"}) {
			t.Errorf("%s: got %s and %v, want %s and image, extent, affine, size", c.section, got, m.Tensors(), c.shape)
		}
	}
}

// Whatever a picture's shape, what min_pixels and max_pixels, and rounding: up, make of it has room in a ragged row.
func TestRowsByAreaHaveRoomForPicturesOfEveryShape(t *testing.T) {
	for _, a := range []ByArea{{400, 1600, 7, false}, {900, 900, 2, false}, {1, 9, 4, false}, {1, 50, 10, false}, {5000, 5000, 28, false}, {3136, 1003520, 28, false}, {1, 1, 1, false}, {199, 200, 1, false},
		{0, 65536, 16, true}, {0, 9, 4, true}, {0, 100, 28, true}} {
		for long := 1; long <= 1300; long += 1 + long/9 {
			for short := max(1, (long+maxOblong-1)/maxOblong); short <= long; short += 1 + short/9 {
				for _, h := range []int{short, long} {
					if high, wide := (&Resize{Area: &a}).resized(h, short+long-h); high*wide > a.most() {
						t.Fatalf("%+v: %d x %d becomes %d x %d, and there is room for %d pixels", a, h, short+long-h, high, wide, a.most())
					}
				}
			}
		}
	}
}

// Where nothing crops or resizes, what changes a picture's size is done to the whole picture, and so is what stands in front of that.
func TestStepsOfAnOpenPictureAreOfAllOfItUpToTheLastThatChangesItsSize(t *testing.T) {
	for transform, want := range map[string][2][]string{
		"random_photometric_distort: {}}, {random_zoom_out: {}}, {horizontal_flip: 1}, {random_iou_crop: {}}, {vertical_flip: 1}, {invert: 1": {{"random_photometric_distort", "random_zoom_out", "horizontal_flip", "random_iou_crop"}, {"vertical_flip", "invert"}},
		"color_jitter: {hue: 0.1}}, {horizontal_flip: 1":                                {nil, {"color_jitter", "horizontal_flip"}},
		"random_apply: [{random_rotation: {degrees: 9, expand: true}}]}, {grayscale: 1": {{"random_apply"}, {"grayscale"}},
		"random_zoom_out: {}}, {resize: {size: 5, max_size: 9}}, {horizontal_flip: 1":   {{"random_zoom_out"}, {"horizontal_flip"}},
	} {
		text := boxedSource + "image: {shape: ragged, room: 64, boxes: b, transform: [{" + transform + "}]}\n"
		s, err := Parse([]byte(text), "x.yaml")
		if err == nil {
			err = s.Validate() // again
		}
		if err != nil {
			t.Errorf("%s: %v", transform, err)
			continue
		}
		tr := &s.Image.Transform
		if got := [2][]string{stepNames(tr.Ahead), stepNames(tr.Steps)}; !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			t.Errorf("%s: got %v, want %v", transform, got, want)
		}
	}
}

// A mask has the moves of its picture and not its colours.
func TestAMaskFollowsAnOpenPictureWhoseColoursChangeAhead(t *testing.T) {
	const pair = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, shape: ragged, room: 64, transform: [random_photometric_distort: {}, horizontal_flip: 0.5, random_zoom_out: {}]}}\n" +
		"  mask: {image: {from: png, mode: index, shape: ragged, room: 64, transform: [%s]}}\n"
	if _, err := Parse([]byte(strings.Replace(pair, "%s", "horizontal_flip: 0.5, random_zoom_out: {}", 1)), "x.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := Parse([]byte(strings.Replace(pair, "%s", "random_zoom_out: {}, horizontal_flip: 0.5", 1)), "x.yaml"); err == nil || !strings.Contains(err.Error(), "the place of flips and turns is another there") {
		t.Errorf("a flip behind: %v", err)
	}
}

// Two descriptions that differ in how rows lie have different hashes, and one without a shape has the hash it had before there was one: that of
// shape: fixed.
func TestTheShapeOfRowsIsPartOfTheHash(t *testing.T) {
	hashes := map[[32]byte]string{}
	for _, section := range []string{
		"shape: padded, room: 640, transform: [resize: 480]", "shape: ragged, room: 640, transform: [resize: 480]", "shape: padded, room: 641, transform: [resize: 480]",
		"shape: padded, room: 640, multiple_of: 2, transform: [resize: 480]", "shape: padded, room: 640, transform: [resize: {min_pixels: 1, max_pixels: 9, multiple_of: 1}]",
		"shape: padded, room: 640, transform: [resize: {min_pixels: 1, max_pixels: 9, multiple_of: 2}]", "transform: [center_crop: 8]",
	} {
		s, err := Parse([]byte("source: {folder: p}\nimage: {"+section+"}\n"), "x.yaml")
		if err != nil {
			t.Fatalf("%s: %v", section, err)
		}
		if other, is := hashes[s.Hash()]; is {
			t.Errorf("%s has the hash of %s", section, other)
		}
		hashes[s.Hash()] = section
	}
	s, err := Parse([]byte("source: {folder: p}\nimage: {shape: fixed, transform: [center_crop: 8]}\n"), "x.yaml")
	if err != nil || hashes[s.Hash()] != "transform: [center_crop: 8]" {
		t.Errorf("shape: fixed: %v, another hash than without it", err)
	}
}

// A ring whose rows lie in another way than those above has none of their room and multiples; one that says nothing of it has all.
func TestARingOfAnotherShapeHasNothingOfTheShapeAbove(t *testing.T) {
	const head = "source: {folder: p}\nimage: {shape: padded, multiple_of: 32, room: 500, transform: [resize: 480]}\nrings:\n  train: {}\n  val: {image: "
	for section, want := range map[string]string{
		"{shape: fixed, transform: [resize: [8, 9]]}":                                   "8x9x3",
		"{shape: ragged, transform: [resize: {size: 40, max_size: 60}]}":                "2400x3",
		"{transform: [resize: {size: 40, max_size: 60}]}":                               "512x512x3",
		"{shape: padded, transform: [resize: 490]}":                                     "512x512x3",
		"{shape: padded, room: [10, 20], transform: [resize: 9]}":                       "32x32x3",
		"{shape: ragged, room: [10, 20], layout: NCHW, transform: [resize: 9]}":         "200x3",
		"{shape: padded, multiple_of: 7, transform: [resize: {size: 9, max_size: 15}]}": "504x504x3",
	} {
		s, err := Parse([]byte(head+section+"}\n"), "x.yaml")
		if err != nil {
			t.Errorf("%s: %v", section, err)
			continue
		}
		for _, ring := range s.All() {
			want := map[string]string{"train": "512x512x3", "val": want}[ring.RingName]
			if got := ring.RowShape().String(); got != want {
				t.Errorf("%s: ring %s: got rows of %s, want %s", section, ring.RingName, got, want)
			}
		}
	}
}

// A mask that is sheared with its picture has to be resized by the same rule where rows keep that size.
func TestAMaskOfAnotherSizeIsRefusedBesideAnOpenPicture(t *testing.T) {
	const head = "source: {shards: a.tar}\nfields:\n  photo: {image: {from: jpg, shape: padded, transform: [resize: {size: 80, max_size: 100}, random_affine: {degrees: 9}]}}\n" +
		"  mask: {image: {from: png, mode: index, shape: padded, transform: [resize: {size: "
	const tail = ", interpolation: nearest}, random_affine: {degrees: 9}]}}\n"
	if _, err := Parse([]byte(head+"80, max_size: 100"+tail), "x.yaml"); err != nil {
		t.Error(err)
	}
	if _, err := Parse([]byte(head+"40, max_size: 50"+tail), "x.yaml"); err == nil || !strings.Contains(err.Error(), "how large resize makes a picture is another there") {
		t.Errorf("a smaller mask: %v", err)
	}
}

// A picture alone has the size that its transform gives it: by the area, too; and no shape of rows.
func TestOnePictureIsResizedByItsArea(t *testing.T) {
	for _, c := range []struct{ h, w, high, wide int }{{640, 480, 644, 476}, {3000, 4000, 840, 1148}, {10, 10, 56, 56}, {14, 42, 56, 112}} {
		s, err := ParseSample([]byte("image: {transform: [resize: {min_pixels: 3136, max_pixels: 1003520, multiple_of: 28}]}"))
		if err == nil {
			err = s.FixSize(c.h, c.w)
		}
		if out := s.Image.Transform.Output(); err != nil || out != (Extent{c.high, c.wide}) {
			t.Errorf("%d x %d: got %v, %v, want %d x %d", c.h, c.w, out, err, c.high, c.wide)
		}
	}
	if _, err := ParseSample([]byte("image: {shape: padded, room: 9, transform: []}")); err == nil || err.Error() != "sample:1:16: image.shape: is of a ring's batches, whose rows differ; leave it out: one picture has the size that its transform gives it" {
		t.Errorf("a sample's shape: %v", err)
	}
}
