package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	covering  = "image: {transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}\n"
	twoShapes = "order: {buckets: {sizes: [[8, 16], [16, 8]]}}\n"
)

func bucketsOf(t *testing.T, buckets string) *Buckets {
	t.Helper()
	return &parse(t, "source: {folder: p}\n"+covering+"order: {buckets: {"+buckets+"}}").Order.Buckets
}

// The list of area is that of the rule: of SDXL's resolutions, as its paper lists them, all are in it whose other side is the largest that the area has room for.
func TestAreaMakesTheListOfSizes(t *testing.T) {
	var got []string
	for _, e := range bucketsOf(t, "area: 1048576, step: 64, min: 512, max: 2048").Sizes {
		got = append(got, fmt.Sprintf("%dx%d", e.Height, e.Width))
	}
	want := strings.Fields("512x2048 576x1792 640x1600 704x1472 768x1344 832x1216 896x1152 960x1088 1024x1024 1088x960 1152x896 1216x832 1344x768 1472x704 1600x640 1792x576 2048x512")
	for _, size := range want {
		if !slices.Contains(got, size) {
			t.Errorf("%s is not in %v", size, got)
		}
	}
	if by := bucketsOf(t, "area: 1048576").Sizes; len(by) != len(got) {
		t.Errorf("by itself min and max make %d sizes, want the %d of half and twice the square's side", len(by), len(got))
	}
}

// Whatever the area, the step and the bounds: sides are multiples of the step within the bounds, no size has more pixels than the area, a size one step higher or wider
// would have, or be out of bounds, each size is there turned, and no two are of one shape.
func TestEverySizeOfAnAreaIsTheLargestOfItsShape(t *testing.T) {
	for _, c := range [][4]int{{262144, 64, 256, 1024}, {1048576, 64, 512, 2048}, {1048576, 8, 512, 2048}, {1000000, 32, 320, 4096}, {90000, 100, 100, 300}, {4096, 64, 64, 64}, {123457, 7, 7, 700}} {
		sizes := bucketsOf(t, fmt.Sprintf("area: %d, step: %d, min: %d, max: %d", c[0], c[1], c[2], c[3])).Sizes
		area, step, least, most := c[0], c[1], c[2], c[3]
		for i, e := range sizes {
			if e.Height%step != 0 || e.Width%step != 0 || min(e.Height, e.Width) < least || max(e.Height, e.Width) > most || e.Height*e.Width > area {
				t.Errorf("%v: got %v", c, e)
			}
			room := func(h, w int) bool { return h <= most && w <= most && h*w <= area }
			if e.Height != e.Width && room(e.Height+step, e.Width) && room(e.Height, e.Width+step) {
				t.Errorf("%v: %v has room for a step", c, e)
			}
			if !slices.Contains(sizes, Extent{e.Width, e.Height}) {
				t.Errorf("%v: %v is not there turned", c, e)
			}
			for _, o := range sizes[:i] {
				if o.Height*e.Width == e.Height*o.Width {
					t.Errorf("%v: %v and %v are of one shape", c, o, e)
				}
			}
		}
	}
}

// A picture is in the bucket of which least of it is cropped away, whichever way it is turned.
func TestAPictureIsInTheBucketOfTheNearestShape(t *testing.T) {
	b := bucketsOf(t, "sizes: [[64, 64], [32, 64], [64, 32], [96, 64]]")
	for _, c := range []struct {
		w, h float64
		want int
	}{{500, 500, 0}, {64, 32, 1}, {10000, 10, 1}, {32, 64, 2}, {1, 4000, 2}, {64, 96, 3}, {142, 100, 1}, {141, 100, 0}, {100, 123, 3}, {100, 122, 0}, {1, 1, 0}} {
		if got := b.Nearest(c.w, c.h); got != c.want {
			t.Errorf("%g x %g: got bucket %d, want %d", c.w, c.h, got, c.want)
		}
	}
	if got := (Extent{50, 100}).Kept(100, 100); got != 0.5 {
		t.Errorf("half of a square is kept in a size of 1:2, got %g", got)
	}
}

// Whatever a batch's bucket, the section has that size where it says bucket; what a slot has room for is the largest.
func TestASectionHasTheSizeOfEachBucket(t *testing.T) {
	s := parse(t, "source: {folder: p}\nimage: {layout: NCHW, transform: [{resize: {size: bucket, fit: cover}}, {random_crop: bucket}, normalize: imagenet]}\norder: {buckets: {sizes: [[8, 16], 12, [24, 8]]}}")
	var got []string
	for _, one := range s.Image.Sizes() {
		got = append(got, fmt.Sprint(one.RowShape(), one.DType, one.Transform.Resize.Extent, one.Transform.RandomCrop.Extent))
	}
	if want := []string{"3x8x16 f32 {8 16} {8 16}", "3x12x12 f32 {12 12} {12 12}", "3x24x8 f32 {24 8} {24 8}"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := fmt.Sprint(s.RowShape(), " ", s.Measured().Name); got != "3x24x8 image" {
		t.Errorf("got %s", got)
	}
	for _, transform := range []string{"resize: bucket", "center_crop: bucket", "random_resized_crop: bucket", "random_resized_crop: {size: bucket, scale: [0.5, 1]}", "{scale_jitter: bucket}, {random_crop: bucket}"} {
		s := parse(t, "source: {folder: p}\nimage: {transform: ["+transform+"]}\n"+twoShapes)
		if got := fmt.Sprint(s.Image.Sizes()[0].RowShape(), s.Image.Sizes()[1].RowShape()); got != "8x16x3 16x8x3" {
			t.Errorf("%s: got %s", transform, got)
		}
	}
}

// The order's hash has the sizes and the columns; a description without them has the hash that it had.
func TestSizesAreInTheHash(t *testing.T) {
	seen := map[string]string{}
	for _, buckets := range []string{"sizes: [[8, 16], [16, 8]]", "sizes: [[16, 8], [8, 16]]", "sizes: [[8, 16], [16, 9]]", "sizes: [[8, 16], [16, 8]], width: w, height: h", "sizes: [[8, 16], [16, 8]], width: h, height: w"} {
		s := parse(t, "source: {folder: p}\n"+covering+"order: {buckets: {"+buckets+"}}")
		hash := fmt.Sprintf("%x", s.OrderHash())
		if seen[hash] != "" {
			t.Errorf("%s: has the hash of %s", buckets, seen[hash])
		}
		seen[hash] = buckets
	}
	bound := parse(t, "source: {folder: p}\n"+covering+"order: {buckets: {sizes: [[8, 16], [16, 8]], max_total: 1000}}")
	if seen[fmt.Sprintf("%x", bound.OrderHash())] != "sizes: [[8, 16], [16, 8]]" || bound.Hash() == parse(t, "source: {folder: p}\n"+covering+twoShapes).Hash() {
		t.Error("a bound is not in the order's hash, which the engine completes, and is in the description's")
	}
}

func TestBucketsOfSizesAreRefusedByName(t *testing.T) {
	list := "source: {list: l.csv, columns: [{name: w, type: i64}]}\n"
	with := func(buckets string) string { return list + covering + "order: {buckets: {" + buckets + "}}" }
	for text, want := range map[string]string{
		with("sizes: []"):                                                  "order.buckets.sizes: got none, want at least one, such as [1024, 1024]",
		with("sizes: 8"):                                                   "order.buckets.sizes: got 8, want a list of [H, W]",
		with("sizes: [[8, 8, 8]]"):                                         "order.buckets.sizes[0]: got a list of 3, want N or [H, W] in pixels",
		with("sizes: [[8, 0]]"):                                            "order.buckets.sizes[0][1]: got 0, want a whole number from 1 to 16384",
		with("sizes: [bucket]"):                                            "order.buckets.sizes[0]: got bucket, want [H, W] in pixels",
		with("sizes: [[8, 16], [16, 8], [4, 8]]"):                          "order.buckets.sizes[2]: got [4, 8], of the shape of [8, 16] before, and a picture's bucket is the one of the nearest shape; leave one of them out",
		with("sizes: [8], area: 64"):                                       "order.buckets.area: given beside sizes, want one of the two",
		with("sizes: [8], by: w"):                                          "order.buckets.by: given beside sizes or area, want one of the two",
		with("area: 4096, count: 3"):                                       "order.buckets.count: given beside sizes or area",
		with("sizes: [8], step: 8"):                                        "order.buckets.step: given without area",
		with("by: w, width: w"):                                            "order.buckets.width: given without sizes or area, whose pictures have it; leave it out",
		with("sizes: [8], width: w"):                                       "order.buckets: got one of width and height, want the columns of both, or neither",
		with("count: 3"):                                                   "order.buckets: by is missing, want the column with the length; or sizes: [[H, W], ...] or area: N",
		with("area: 0"):                                                    "order.buckets.area: got 0, want a whole number from 1 to 268435456",
		with("area: 4000"):                                                 "order.buckets.area: got 4000 pixels, want at least step x step, 4096",
		with("area: 262144, min: 300"):                                     "order.buckets.min: got 300, want a multiple of step, 64",
		with("area: 262144, max: 1000"):                                    "order.buckets.max: got 1000, want a multiple of step, 64",
		with("area: 262144, min: 576"):                                     "order.buckets.min: got 576, want at most 512, the side of the square of area, in multiples of 64",
		with("area: 262144, max: 448"):                                     "order.buckets.max: got 448, want at least 512, the side of the square of area, in multiples of 64",
		with("area: 1048576, step: 1"):                                     "order.buckets.step: got sides of 512 to 2048 in steps of 1, up to 3074 sizes; want at most 1024: raise step",
		with("sizes: [[8, 16], 9], max_total: 127"):                        "order.buckets.max_total: got 127, want at least multiple_of x the pixels of the largest size, 1 x 8 x 16 = 128",
		with("sizes: [8], max_total: 127, multiple_of: 2"):                 "order.buckets.max_total: got 127, want at least multiple_of x the pixels of the largest size, 2 x 8 x 8 = 128",
		with("sizes: [8], multiple_of: 2"):                                 "order.buckets.multiple_of: got 2 without max_total",
		with("sizes: [8]") + "\ncache: {rows_bytes: 1MiB, rows_dir: r}":    "cache.rows_dir: given with order.buckets of sizes, whose rows have several shapes",
		with("sizes: [8]") + "\ncache: {rows_bytes: 1MiB, head_space: 2}":  "cache.head_space: given with order.buckets of sizes",
		with("sizes: [8]") + "\ndevice: {}":                                "device: given with order.buckets of sizes, whose batches have several shapes, and a device's slots have one",
		with("sizes: [8], window: 2"):                                      "order.buckets.window: unknown key",
		list + covering + "order: {shuffle: false, buckets: {sizes: [8]}}": "order.buckets: got it with shuffle: false, want one of the two",
		list + covering + "order: {window: 2, buckets: {sizes: [8]}}":      "order.buckets: got window and buckets, want one of them",
		list + "image: {transform: [center_crop: 8]}\n" + twoShapes:        "order.buckets: got sizes, and no transform of pictures is of them; want image: {transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}",
		list + covering:                                                    "image.transform: got the size bucket without buckets of sizes in the order; want order: {buckets: {sizes: [[H, W], ...]}}",
		list + covering + "order: {buckets: {by: w}}":                      "image.transform: got the size bucket without buckets of sizes in the order",
		list + "image: {transform: [{resize: {size: bucket, fit: cover}}]}\n" + twoShapes:      "image.transform: resize with fit: cover brings one side to its size, and the other to no less, and every row of a batch must have one size",
		list + "image: {transform: [{resize: bucket}, {random_rotate90: 0.5}]}\n" + twoShapes:  "random_rotate90: got",
		"source: {folder: p}\nvideo: {frames: 2, transform: [{resize: bucket}]}\n" + twoShapes: "order.buckets: got sizes, and no transform of pictures is of them",
		"source: {folder: p}\nvideo: {frames: 2, transform: [{resize: bucket}]}":               "video.transform: got the size bucket without buckets of sizes in the order",
		"source: {host: {samples: 9}}\n" + covering + twoShapes:                                "order.buckets: got sizes, and source.host brings pictures whose size is not known before they are decoded",
	} {
		_, err := Parse([]byte(text), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := ParseSample([]byte("image: {transform: [{center_crop: bucket}]}")); err != nil {
		t.Errorf("what is of a sample is held against its size: %v", err)
	}
	s, err := ParseSample([]byte("image: {transform: [{center_crop: bucket}]}"))
	if err == nil {
		err = s.FixSize(9, 9)
	}
	if err == nil || !strings.Contains(err.Error(), "image.transform: got the size bucket without buckets") {
		t.Errorf("one sample: got %v", err)
	}
}
