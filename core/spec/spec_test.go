package spec

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// least is the smallest description; tests add to it.
const least = "source: {folder: pics}\nimage: {transform: [{center_crop: 224}]}\n"

func parse(t testing.TB, text string) *Spec {
	t.Helper()
	s, err := Parse([]byte(text), "dir/train.yaml")
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	if err := schemaTakes(t, text); err != nil {
		t.Errorf("the schema: %s\n%v", text, err)
	}
	return s
}

const full = `
version: 1
name: imagenet
source: {list: lists/train.tsv, root: /data}
order: {shuffle: false, seed: 18446744073709551615, epochs: 90, last: pad, filter: label < 3, repeat: 2}
world: {size: 16, rank: 8}
batch: 64
image:
  mode: rgb
  orientation: apply
  transform:
    - random_resized_crop: {size: [160, 192], scale: [0.25, 1], ratio: [0.5, 2], interpolation: bicubic}
    - horizontal_flip: 0.5
    - vertical_flip: 0.25
    - random_rotation: {degrees: [-10, 30], interpolation: bilinear}
    - random_affine: {degrees: 5, translate: [0.25, 0.125], scale: [0.5, 2], shear: [-1, 2, -3, 4], interpolation: bilinear}
    - random_perspective: {distortion_scale: 0.25, p: 0.75, interpolation: nearest, fill: 7}
    - elastic_transform: {alpha: [30, 40], sigma: 2.5, p: 0.25, interpolation: nearest, fill: 9}
    - rand_augment: {num_ops: 3, magnitude: 5, num_magnitude_bins: 11, interpolation: bilinear}
    - color_jitter: {brightness: 0.5, hue: [0, 0.125], p: 0.75}
    - random_photometric_distort: {p: 0.25, contrast: 0.25, hue: 0}
    - random_channel_permutation: 0.75
    - grayscale: 0.125
    - gaussian_blur: {kernel_size: 23, sigma: 0.5, p: 0.125}
    - solarize: {threshold: 128, p: 0.25}
    - posterize: {bits: 3, p: 0.75}
    - invert: 0.0625
    - adjust_sharpness: {factor: 1.5, p: 0.375}
    - autocontrast: 0.1875
    - equalize: 0.625
    - gaussian_noise: {mean: 0.125, sigma: [0, 0.25], p: 0.5}
    - jpeg: {quality: [30, 95], p: 0.25}
    - normalize: imagenet
    - random_erasing: 0.0625
  dtype: bf16
  layout: NCHW
  max_pixels: 1000000
bad_sample: {policy: mask, max_count: 10, max_rate: 0.01, probation: 0}
ring:
  slots: 64
  backing: posix
  access: shared
  mode: "0640"
  max_consumers: 20
  groups:
    - {name: augment, kind: stage}
    - {name: ranks, mode: lanes, lanes: 8, slow: drop, redeliver: false}
    - {name: watch, slow: detach}
limits: {cpus: 3.5, fetch: 32, read_ahead_bytes: 1GiB}
`

// Every key of a full description arrives where it belongs, and JSON says the same as YAML.
func TestEveryKeyArrives(t *testing.T) {
	want := &Spec{
		Name:   "imagenet",
		Source: defaultSource(),
		Order:  Order{Seed: 1<<64 - 1, Epochs: 90, Last: LastPad, Filter: "label < 3", Repeat: 2, Replacement: true, Buckets: Buckets{Count: 8, MultipleOf: 1}},
		World:  World{Size: 16, Rank: 8},
		Batch:  64,
		Image: &Image{
			Mode: RGB, Orient: true, DType: tensor.BF16, Layout: NCHW, MaxPixels: 1000000,
			Transform: Transform{
				RandomResizedCrop: &RandomResizedCrop{
					Extent: Extent{160, 192}, Scale: [2]float64{0.25, 1}, Ratio: [2]float64{0.5, 2}, Interpolation: Bicubic,
				},
				Steps: []Step{
					&Symmetry{Chance{Operation: "horizontal_flip", P: 0.5}}, &Symmetry{Chance{Operation: "vertical_flip", P: 0.25}},
					&RandomRotation{Degrees: [2]float64{-10, 30}, Interpolation: Bilinear},
					&RandomAffine{
						Degrees: [2]float64{-5, 5}, Translate: [2]float64{0.25, 0.125}, Scale: [2]float64{0.5, 2}, ShearX: [2]float64{-1, 2}, ShearY: [2]float64{-3, 4}, Interpolation: Bilinear,
					},
					&RandomPerspective{DistortionScale: 0.25, P: 0.75, Interpolation: Nearest, Fill: &Fill{1, [3]uint8{7, 7, 7}}},
					&ElasticTransform{Alpha: [2]float64{30, 40}, Sigma: 2.5, P: 0.25, Interpolation: Nearest, Fill: &Fill{1, [3]uint8{9, 9, 9}}},
					&Augment{Kind: RandAugment, NumOps: 3, Magnitude: 5, Bins: 11, Interpolation: Bilinear},
					&ColorJitter{P: 0.75, Brightness: &[2]float64{0.5, 1.5}, Hue: &[2]float64{0, 0.125}},
					&RandomPhotometricDistort{P: 0.25, Brightness: &[2]float64{0.875, 1.125}, Contrast: &[2]float64{0.75, 1.25}, Saturation: &[2]float64{0.5, 1.5}},
					&Chance{Operation: "random_channel_permutation", P: 0.75}, &Chance{Operation: "grayscale", P: 0.125},
					&GaussianBlur{KernelSize: 23, Sigma: [2]float64{0.5, 0.5}, P: 0.125}, &Solarize{Threshold: 128, P: 0.25}, &Posterize{Bits: 3, P: 0.75},
					&Chance{Operation: "invert", P: 0.0625}, &AdjustSharpness{Factor: 1.5, P: 0.375}, &Chance{Operation: "autocontrast", P: 0.1875}, &Chance{Operation: "equalize", P: 0.625},
					&GaussianNoise{Mean: 0.125, Sigma: [2]float64{0, 0.25}, P: 0.5}, &JPEG{Quality: [2]int{30, 95}, P: 0.25},
				},
				RandomErasing: &RandomErasing{P: 0.0625, Scale: [2]float64{0.02, 0.33}, Ratio: [2]float64{0.3, 3.3}},
				Normalize:     &Normalize{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}},
			},
		},
		BadSample: BadSample{Policy: Mask, MaxCount: 10, MaxRate: 0.01},
		Ring: Ring{
			Slots: 64, Backing: Posix, Access: Shared, Mode: 0o640, MaxConsumers: 20, Delivery: Ordered, Hash: NoHash,
			Groups: []Group{{"augment", Stage, Shared, 1, Block, true}, {"ranks", Consumer, Lanes, 8, Drop, false}, {"watch", Consumer, Shared, 1, Detach, true}},
		},
		Cache:  Cache{MaxBytes: 10 << 30, Evict: EvictLRU},
		Limits: Limits{CPUs: 3.5, Fetch: 32, ReadAheadBytes: 1 << 30},
	}
	want.Source.List, want.Source.Root = "dir/lists/train.tsv", "/data"
	want.Source.written.list, want.Source.written.root = "lists/train.tsv", "/data"
	got := parse(t, full)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v\nwant %+v", got, want)
	}
	if got.Lanes() != 8 || got.Members() != 10 || got.RowShape().String() != "3x160x192" || got.FullName() != "imagenet" {
		t.Fatalf("lanes %d, members %d, row %v, name %s", got.Lanes(), got.Members(), got.RowShape(), got.FullName())
	}
	json := parse(t, `{"source": {"folder": "/pics"}, "batch": 7, "image": {"transform": [{"resize": [8, 9]}], "mode": "gray"}}`)
	if json.Batch != 7 || json.RowShape().String() != "8x9x1" || json.Source.Folder != "/pics" || json.Name != "train" {
		t.Fatalf("%+v", json)
	}
}

// Without a word about it, everything is as the table says.
func TestDefaultsAreFilledIn(t *testing.T) {
	s := parse(t, least)
	want := Default()
	want.Name, want.Source.Folder, want.Source.written.folder = "train", "dir/pics", "pics"
	want.Image.DType, want.Ring.Slots = tensor.U8, 8
	want.Image.Transform.CenterCrop = &CenterCrop{Extent: Extent{224, 224}}
	if !reflect.DeepEqual(s, want) {
		t.Fatalf("got %+v\nwant %+v", s, want)
	}
	for text, check := range map[string]func(*Spec) bool{
		least + "order:\nworld:\nring:\n":                        func(s *Spec) bool { return reflect.DeepEqual(s, want) },
		least + "ring: {groups: [{name: a}, {name: b}]}":         func(s *Spec) bool { return s.Ring.Slots == 12 },
		least + "limits: {fetch: auto}":                          func(s *Spec) bool { return s.Limits.FetchAuto && s.Limits.Fetch == 16 },
		least + "limits: {cpus: 40%}":                            func(s *Spec) bool { return s.Limits.CPUShare == 0.4 && s.Limits.CPUs == 0 },
		least + "limits: {cpus: 12.5 %}":                         func(s *Spec) bool { return s.Limits.CPUShare == 0.125 },
		least + "limits: {memory: 2GiB}":                         func(s *Spec) bool { return s.Limits.Memory == 2<<30 },
		least + "limits: {read_ahead_bytes: 512}":                func(s *Spec) bool { return s.Limits.ReadAheadBytes == 512 },
		strings.Replace(least, "224", "[3, 4]", 1):               func(s *Spec) bool { return s.RowShape().String() == "3x4x3" },
		strings.Replace(least, "center_crop", "resize", 1):       nil,
		strings.Replace(least, "pics", "pics/../../x/", 1):       func(s *Spec) bool { return s.Source.Folder == "x" },
		strings.Replace(least, "folder: pics", "list: l.tsv", 1): func(s *Spec) bool { return s.Source.List == "dir/l.tsv" },
		strings.Replace(least, "pics", "pics, extensions: [.JPG, png, jpg]", 1): func(s *Spec) bool {
			return slices.Equal(s.Source.Extensions, []string{"jpg", "png"})
		},
		strings.Replace(least, "center_crop: 224", "random_resized_crop: 64", 1): func(s *Spec) bool {
			r := s.Image.Transform.RandomResizedCrop
			return *r == RandomResizedCrop{Extent{64, 64}, [2]float64{0.08, 1}, [2]float64{0.75, 1.3333333333333333}, [2]int{}, Bilinear}
		},
		strings.Replace(least, "center_crop: 224", "resize: 256, center_crop: 224", 1): nil,
		strings.Replace(least, "center_crop: 224", "resize: {size: 256, interpolation: bicubic}}, {center_crop: 224", 1): func(s *Spec) bool {
			return *s.Image.Transform.Resize == Resize{Short: 256, Interpolation: Bicubic} && s.Image.Transform.Output() == Extent{224, 224}
		},
		strings.Replace(least, "center_crop: 224", "center_crop: 8}, {normalize: {mean: [0, 0.5, 1], std: [1, 1, 2]}", 1): func(s *Spec) bool {
			return s.Image.DType == tensor.F32 && slices.Equal(s.Image.Transform.Normalize.Std, []float64{1, 1, 2})
		},
	} {
		got, err := Parse([]byte(text), "dir/train.yaml")
		if (err != nil) != (check == nil) {
			t.Errorf("%s: %v", text, err)
		} else if check != nil && !check(got) {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

// A name comes from the file, the folder or the list, made fit.
func TestNameIsDerived(t *testing.T) {
	for path, want := range map[string]string{
		"a/imagenet.yaml": "imagenet", "my data.yml": "my-data", ".hidden.yaml": "hidden", "v1.2.yaml": "v1.2", "": "pics",
		"é.yaml": "pics", strings.Repeat("x", 99): strings.Repeat("x", 63),
	} {
		s, err := Parse([]byte(least), path)
		if err != nil || s.Name != want {
			t.Errorf("%q: got %q, %v, want %q", path, s.Name, err, want)
		}
	}
	s, err := FromFolder(".", Zero{})
	if err != nil || s.Name != "spec" {
		t.Errorf("folder .: %q, %v", s.Name, err)
	}
	if s, err = FromFolder("/", Zero{}); err != nil || s.Name != "spdl" {
		t.Errorf("folder /: %q, %v", s.Name, err)
	}
}

const several = `
name: net
source: {folder: train, extensions: [jpg]}
batch: 16
image: {layout: NCHW, transform: [{random_resized_crop: 64}, {normalize: imagenet}]}
ring: {slots: 20, groups: [{name: a}]}
rings:
  train:
  val:
    source: {list: val.tsv}
    order: {shuffle: false}
    batch: 8
    image: {transform: [{resize: 72}, {center_crop: 64}]}
    ring: {groups: []}
limits: {fetch: 3}
`

// A ring says what is different; everything else is the top level's, and a source is replaced whole.
func TestRingsInheritTheTopLevel(t *testing.T) {
	s := parse(t, several)
	if len(s.Rings) != 2 || len(s.All()) != 2 {
		t.Fatalf("%d rings", len(s.Rings))
	}
	train, val := s.Rings[0], s.Rings[1]
	if train.FullName() != "net/train" || train.Batch != 16 || train.Image.DType != tensor.F32 || train.Ring.Slots != 20 || !train.Order.Shuffle {
		t.Errorf("train: %+v", train)
	}
	if val.FullName() != "net/val" || val.Batch != 8 || val.Order.Shuffle || val.Source.Folder != "" || val.Source.Extensions != nil ||
		val.Image.DType != tensor.U8 || val.Image.Layout != NCHW || len(val.Ring.Groups) != 0 || val.Ring.Slots != 20 || val.Limits.Fetch != 3 {
		t.Errorf("val: %+v", val)
	}
	if train.Image.Transform.Normalize == nil || val.Image.Transform.Normalize != nil || len(train.Ring.Groups) != 1 {
		t.Errorf("val changed train: %+v", train)
	}
	if parse(t, least).All()[0].RingName != "" {
		t.Error("a single ring has a ring name")
	}
}

// null in a ring takes back what the top level says, of keys that have no other word for none; at the top level it is refused.
func TestRingsTakeBackWhatTheTopLevelSays(t *testing.T) {
	above := parse(t, "source: {list: a.jsonl, columns: ["+boxColumns+"]}\nimage: {boxes: boxes, points: spots, transform: [center_crop: 8]}\ndevice: {}\n"+
		"order: {filter: n > 1, weights: n}\nrings: {a: {}, b: {image: {boxes: null, points: null}, order: {filter: null, weights: null}, device: null}, c: {order: {weights: ~, balance: n}}}\n").Rings
	for i, none := range []bool{false, true} {
		r := above[i]
		if (r.Image.Boxes == nil) != none || (r.Image.Points == nil) != none || (r.Order.Filter == "") != none || (r.Order.Weights == "") != none || (r.Device == nil) != none {
			t.Errorf("ring %s: %+v, %+v, %v", r.RingName, r.Image, r.Order, r.Device)
		}
	}
	if c := above[2].Order; c.Weights != "" || c.Balance != "n" {
		t.Errorf("%+v", c)
	}
	several := parse(t, "source: {shards: a.tar}\nimage: {many: 8, transform: [center_crop: 8]}\nrings: {a: {}, b: {image: {many: }}, c: {image: {many: null, tiles: 9, transform: []}}}\n").Rings
	if several[0].Image.Many == nil || several[1].Image.Many != nil || several[2].Image.Many != nil || several[2].Image.Transform.Tiles == nil {
		t.Error(several[0].Image, several[1].Image, several[2].Image)
	}
	tiled := parse(t, tiled("8")+"rings: {a: {image: {tiles: null, transform: [center_crop: 8]}}}\n").Rings[0]
	if tiled.Image.Transform.Tiles != nil {
		t.Error(tiled.Image)
	}
	for text, want := range map[string]string{
		least + "device:\n": "device: got nothing, want {} for one with every default; leave the key out for none",
		"source: {shards: a.tar}\nimage: {many: null, transform: [center_crop: 8]}\n":                        "image.many: got nothing, want a whole number",
		least + "order: {weights: null}\n":                                                                   "order.weights: got nothing, want text; leave the key out",
		least + "order: {buckets: null}\n":                                                                   "order.buckets: by is missing",
		"source: {shards: a.tar}\nimage: {transform: [center_crop: 8]}\nrings: {a: {image: {mode: null}}}\n": "rings.a.image.mode: got nothing, want one of",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// Buckets of a ring are over those of the top level one by one, where both are of one kind, and else in their place; a list of sizes is replaced.
func TestBucketsOfRings(t *testing.T) {
	const covering = "source: {list: a.csv, columns: [{name: n, type: f64}]}\nimage: {transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}\n"
	const fixed = "image: {transform: [center_crop: 8]}"
	rings := parse(t, covering+"batch: 8\norder: {buckets: {sizes: [[8, 8], [8, 16]], max_total: 999, multiple_of: 2}}\nrings:\n"+
		"  same: {}\n  other: {order: {buckets: {sizes: [[8, 16], [16, 16]]}}}\n  fewer: {order: {buckets: {max_total: 500}}}\n"+
		"  lengths: {order: {buckets: {by: n}}, "+fixed+"}\n  none: {order: {buckets: null}, "+fixed+"}\n").Rings
	two, none := []Extent{{8, 8}, {8, 16}}, Buckets{Count: 8, MultipleOf: 1}
	lengths := none
	lengths.By = "n"
	for i, want := range []Buckets{
		{Count: 8, MaxTotal: 999, MultipleOf: 2, Sizes: two}, {Count: 8, MaxTotal: 999, MultipleOf: 2, Sizes: []Extent{{8, 16}, {16, 16}}},
		{Count: 8, MaxTotal: 500, MultipleOf: 2, Sizes: two}, lengths, none,
	} {
		if got := rings[i].Order.Buckets; !reflect.DeepEqual(got, want) {
			t.Errorf("ring %s: got %+v, want %+v", rings[i].RingName, got, want)
		}
	}
	back := parse(t, "source: {list: a.csv, columns: [{name: n, type: f64}]}\n"+fixed+"\norder: {buckets: {by: n, count: 3, max_total: 9}}\nrings: {a: {order: {buckets: {count: 4}}}, "+
		"b: {order: {buckets: {sizes: [[8, 8]]}}, image: {transform: [resize: bucket]}}}\n").Rings
	if got := back[0].Order.Buckets; got.By != "n" || got.Count != 4 || got.MaxTotal != 9 {
		t.Errorf("%+v", got)
	}
	if got := back[1].Order.Buckets; got.By != "" || got.MaxTotal != 0 || len(got.Sizes) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := Parse([]byte(covering+"order: {buckets: {sizes: [[8, 8]]}}\nrings: {a: {order: {buckets: {count: 4}}}}\n"), ""); err == nil || !strings.Contains(err.Error(), "rings.a.order.buckets.count: given beside sizes or area") {
		t.Error(err)
	}
}

// The form without a description: shorter side and middle crop of one size, u8, NHWC, shuffled.
func TestFolderNeedsNoDescription(t *testing.T) {
	s, err := FromFolder("/data/train/", Zero{Size: 96, Batch: 64, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	tr := s.Image.Transform
	if s.Name != "train" || s.Batch != 64 || !s.Order.Shuffle || s.Order.Seed != 3 || s.Image.DType != tensor.U8 || tr.Resize.Short != 96 ||
		*tr.CenterCrop != (CenterCrop{Extent: Extent{96, 96}}) || s.RowShape().String() != "96x96x3" || s.Source.Folder != "/data/train" || s.Ring.Slots != 8 {
		t.Fatalf("%+v", s)
	}
	text := "source: {folder: /data/train}\norder: {seed: 3}\nbatch: 64\nimage: {transform: [{resize: 96}, {center_crop: 96}]}\nname: train"
	if s.Hash() != parse(t, text).Hash() {
		t.Error("the same in YAML has another hash")
	}
	s, err = FromFolder("x", Zero{Name: "y", NoLabels: true, InOrder: true, Epochs: 2})
	if err != nil || s.Name != "y" || s.Batch != 32 || s.Source.Labels != LabelsNone || s.Order.Shuffle || s.Order.Epochs != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	for want, z := range map[string]Zero{
		"spec: size: got -1, want":           {Size: -1},
		"spec: size: got 65536, want":        {Size: 65536},
		"spec: batch: got -2, want":          {Batch: -2},
		"spec: name: got \"a b\", want 1 to": {Name: "a b"},
		"spec: order.epochs: got -1, want":   {Epochs: -1},
	} {
		if _, err := FromFolder("x", z); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", z, err, want)
		}
	}
}

// A program may change a spec and have it checked again.
func TestValidateChecksAChangedSpec(t *testing.T) {
	s := parse(t, least)
	s.Batch = 0
	if err := s.Validate(); err == nil || err.Error() != "spec: batch: got 0, want a whole number from 1 to 65536" {
		t.Fatalf("got %v", err)
	}
	s.Batch, s.Ring.Slots, s.Ring.Groups = 1, 0, []Group{{"g", Consumer, Lanes, 3, Block, true}}
	s.World.Size = 3
	if err := s.Validate(); err != nil || s.Ring.Slots != 16 {
		t.Fatalf("%d slots, %v", s.Ring.Slots, err)
	}
}

// The hash of a description is the same in every build, and changes with what changes batches, not with where they go.
func TestHashFollowsWhatChangesBatches(t *testing.T) {
	base := parse(t, least)
	const golden = "0d01859ced145f984b57e3cb6b218de5fe7c134018f316d18c01276d04846245"
	if h := base.Hash(); hex.EncodeToString(h[:]) != golden {
		t.Errorf("hash %x, want %s; canonical %s", h, golden, base.Canonical())
	}
	elsewhere, err := Parse([]byte(least), "/other/place/name.yaml")
	if err != nil || elsewhere.Hash() != base.Hash() {
		t.Errorf("the directory of the file changes the hash, %v", err)
	}
	for text, changes := range map[string][2]bool{ // hash, order hash
		"name: x":                     {false, false},
		"limits: {cpus: 1}":           {false, false},
		"ring: {slots: 9}":            {false, false},
		"ring: {delivery: ready}":     {true, false},
		"ring: {delivery: ordered}":   {false, false},
		"order: {shuffle: true}":      {false, false},
		"order: {seed: 1}":            {true, true},
		"order: {last: pad}":          {true, true},
		"order: {epochs: 3}":          {true, false},
		"batch: 33":                   {true, false},
		"order: {buckets: {by: n}}":   {true, true},
		"world: {size: 2}":            {true, false},
		"bad_sample: {policy: mask}":  {true, false},
		"bad_sample: {max_rate: 0.5}": {true, false},
	} {
		s := parse(t, least+text)
		if got := [2]bool{s.Hash() != base.Hash(), s.OrderHash() != base.OrderHash()}; got != changes {
			t.Errorf("%s: changes %v, want %v", text, got, changes)
		}
	}
	bounds := map[[32]byte]bool{} // what a bound makes of the steps is compared, not the bound: it follows the world size
	for _, bound := range []string{"", ", max_total: 9", ", max_total: 10", ", max_total: 10, multiple_of: 2"} {
		s, other := parse(t, least+"order: {buckets: {by: n"+bound+"}}"), parse(t, least+"order: {buckets: {by: n}}")
		if bounds[s.Hash()] || s.OrderHash() != other.OrderHash() {
			t.Errorf("buckets by n%s: want another hash, and the same order hash", bound)
		}
		bounds[s.Hash()] = true
	}
	for old, new := range map[string]string{"pics": "other", "pics}": "pics, labels: none}", "pics} ": "pics, extensions: [jpg]}"} {
		s := parse(t, strings.Replace(least, strings.TrimSpace(old), new, 1))
		if s.Hash() == base.Hash() || s.SourceHash() == base.SourceHash() || s.OrderHash() != base.OrderHash() {
			t.Errorf("%s: want another hash and source hash, and the same order hash", new)
		}
	}
	crops := map[[32]byte]string{}
	for _, transform := range []string{"center_crop: 223", "resize: [224, 224]", "random_resized_crop: 224", "random_resized_crop: {size: 224, height: 256}", "random_resized_crop: {size: 224, height: [200, 256]}", "random_resized_crop: {size: 224, height: 256, ratio: [2, 2]}", "random_resized_crop: {size: 224, interpolation: random}", "random_crop: 224", "random_crop: {size: 224, padding: 4}",
		"resize: {size: [224, 224], fit: contain}", "resize: {size: [224, 224], fit: contain, fill: 1}", "resize: {size: [224, 224], fit: contain, place: top_left}",
		"resize: {size: [224, 224], fit: contain, upscale: false}", "resize: {size: [224, 224], fit: letterbox}", "resize: {size: [224, 224], interpolation: cv2_linear}", "resize: {size: [224, 224], interpolation: cv2_area}", "resize: {size: [224, 224], interpolation: torch_nearest}", "resize: {size: [224, 224], interpolation: torch_bilinear}", "resize: {size: [224, 224], interpolation: torch_bicubic}", "resize: {size: [224, 224], interpolation: torch_nearest_exact}",
		"resize: {size: 224, max_size: 300}}, {center_crop: 224", "resize: {size: 224, max_size: 300, rounding: detr}}, {center_crop: 224", "resize: {size: 224, max_size: 300, rounding: yolos}}, {center_crop: 224", "resize: {max_size: 300, rounding: detr}}, {center_crop: 224", "resize: {size: [224, 224], interpolation: torch_lanczos}", "resize: 256}, {center_crop: 224", "resize: {size: 256, max_size: 300}}, {center_crop: 224", "resize: {max_size: 256}}, {center_crop: 224", "resize: {size: 256, rounding: nearest}}, {center_crop: 224", "resize: {max_size: 256, rounding: nearest}}, {center_crop: 224", "center_crop: {size: 224, rounding: down}",
		"random_resize: {min_size: 224, max_size: 300}}, {center_crop: 224", "random_resize: {min_size: 225, max_size: 300}}, {center_crop: 224",
		"random_resize: {min_size: 224, max_size: 301}}, {center_crop: 224", "random_resize: {min_size: 224, max_size: 300, interpolation: bicubic}}, {center_crop: 224",
		"scale_jitter: 224}, {center_crop: 224", "scale_jitter: [224, 225]}, {center_crop: 224", "scale_jitter: {target_size: 224, scale_range: [0.1, 1]}}, {center_crop: 224", "scale_jitter: {target_size: 224, interpolation: box}}, {center_crop: 224",
		"random_crop: {size: 224, fill: 1}", "center_crop: {size: 224, fill: 1}", "center_crop: {size: 224, position: top_left}", "center_crop: {size: 224, position: bottom_right}", "center_crop: {size: 224, fill: [1, 1, 2]}",
		"center_crop: {size: 224, padding_mode: edge}", "random_crop: {size: 224, padding: [4, 3]}", "random_crop: {size: 224, padding: [4, 3, 4, 2]}", "random_crop: {size: 224, padding: 4, padding_mode: edge}",
		"random_crop: {size: 224, padding_mode: reflect}", "random_crop: {size: 224, padding_mode: symmetric}", "resize: [222, 222]}, {pad: 1", "resize: [222, 222]}, {pad: [2, 1, 0, 1]",
		"random_rotation: 9}, {resize: 256}, {center_crop: 224", "resize: 256}, {random_rotation: 9}, {center_crop: 224", "resize: 256}, {center_crop: 224}, {random_rotation: 9", "random_rotation: {degrees: 9, expand: true}}, {resize: 256}, {center_crop: 224",
		"crop: [0, 0, 224, 224]}, {center_crop: 224", "crop: [1, 0, 224, 224]}, {center_crop: 224", "crop: {box: [0, 0, 224, 224], p: 0.5}}, {center_crop: 224", "random_crop_from_borders: {}}, {center_crop: 224", "random_crop_from_borders: {left: 0.2}}, {center_crop: 224", "random_crop_from_borders: {right: 0.2}}, {center_crop: 224", "random_crop_from_borders: {top: 0.2}}, {center_crop: 224", "random_crop_from_borders: {bottom: 0.2}}, {center_crop: 224", "random_crop_from_borders: {p: 0.5}}, {center_crop: 224", "crop_and_pad: 0.1}, {center_crop: 224", "crop_and_pad: [0.1, 0.2]}, {center_crop: 224", "crop_and_pad: {px: 1}}, {center_crop: 224", "crop_and_pad: {percent: 1}}, {center_crop: 224", "crop_and_pad: [0.1, 0.1, 0.1, 0.2]}, {center_crop: 224", "crop_and_pad: {percent: [0.1, 0.2], sample_independently: false}}, {center_crop: 224", "crop_and_pad: {percent: 0.1, keep_size: false}}, {center_crop: 224", "crop_and_pad: {percent: 0.1, p: 0.5}}, {center_crop: 224", "crop_and_pad: {percent: 0.1, interpolation: cv2_area}}, {center_crop: 224", "crop_and_pad: {percent: 0.1, padding_mode: edge}}, {center_crop: 224", "crop_and_pad: {percent: 0.1, fill: 9}}, {center_crop: 224", "resized_crop: 224}, {center_crop: 224", "resized_crop: 223}, {center_crop: 224", "resized_crop: {size: 224, scale: [0.1, 1]}}, {center_crop: 224", "resized_crop: {size: 224, ratio: [1, 1]}}, {center_crop: 224", "resized_crop: {size: 224, height: 9}}, {center_crop: 224", "resized_crop: {size: 224, p: 0.5}}, {center_crop: 224", "resized_crop: {size: 224, interpolation: cv2_area}}, {center_crop: 224", "random_scale: {}}, {center_crop: 224", "random_scale: 2}, {center_crop: 224", "random_scale: {p: 1}}, {center_crop: 224", "random_scale: {interpolation: cv2_area}}, {center_crop: 224", "resize: 256}, {random_scale: {}}, {center_crop: 224",
		"random_zoom_out: {}}, {center_crop: 224", "random_zoom_out: [1, 3]}, {center_crop: 224", "random_zoom_out: [2, 4]}, {center_crop: 224", "random_zoom_out: {p: 1}}, {center_crop: 224", "random_zoom_out: {fill: 3}}, {center_crop: 224", "resize: 256}, {random_zoom_out: {}}, {center_crop: 224",
		"random_rotation: 9}, {horizontal_flip: 0.5}, {resize: 256}, {center_crop: 224", "horizontal_flip: 0.5}, {random_rotation: 9}, {resize: 256}, {center_crop: 224", "random_rotation: 9}, {resize: 256}, {horizontal_flip: 0.5}, {center_crop: 224",
		"random_rotation: 9}, {resize: 256}, {center_crop: 224}, {horizontal_flip: 0.5", "horizontal_flip: 0.5}, {center_crop: 224",
		"resize: [222, 222]}, {pad: {padding: 1, fill: 9}", "resize: [222, 222]}, {pad: {padding: 1, padding_mode: edge}"} {
		h := parse(t, strings.Replace(least, "center_crop: 224", transform, 1)).Hash()
		if other, twice := crops[h]; twice || h == base.Hash() {
			t.Errorf("%s: same hash as %q", transform, other)
		}
		crops[h] = transform
	}
	for _, same := range [][2]string{
		{"random_crop: {size: 224, padding: 4}", "random_crop: {size: 224, padding: [4, 4]}"}, {"random_crop: {size: 224, padding: 4}", "random_crop: {size: 224, padding: [4, 4, 4, 4], padding_mode: constant}"},
		{"random_crop: {size: 224, padding: [1, 2], padding_mode: edge}", "pad: {padding: [1, 2], padding_mode: edge}}, {random_crop: 224"}, {"random_crop: {size: 224, padding: 3, fill: 9}", "pad: {padding: 3, fill: 9}}, {random_crop: 224"},
		{"center_crop: {size: 224, fill: 3}", "center_crop: {size: 224, position: center, fill: 3}"},
		{"random_rotation: 9}, {center_crop: 224", "random_rotation: {degrees: 9, expand: false}}, {center_crop: 224"},
		{"center_crop: 224}, {random_erasing: 0.5", "center_crop: 224}, {random_erasing: {}"}, {"center_crop: 224}, {random_erasing: {p: 0.2}", "center_crop: 224}, {random_erasing: {p: 0.2, value: [0, 0, 0], scale: [0.02, 0.33]}"},
	} {
		a, b := parse(t, strings.Replace(least, "center_crop: 224", same[0], 1)), parse(t, strings.Replace(least, "center_crop: 224", same[1], 1))
		if a.Hash() != b.Hash() {
			t.Errorf("%q and %q say the same and have two hashes", same[0], same[1])
		}
	}
	seen := map[[32]byte]string{base.Hash(): ""}
	for _, more := range []string{
		"random_order: [{invert: 1}, {equalize: 1}]", "random_order: [{equalize: 1}, {invert: 1}]", "random_apply: [{random_rotation: 9}]", "random_apply: {transforms: [{random_rotation: 9}], p: 0.6}", "random_choice: [{random_rotation: 9}, {random_affine: {degrees: 9}}]",
		"random_apply: [{invert: 1}]", "random_apply: {transforms: [{invert: 1}], p: 0.6}", "random_apply: [{equalize: 1}]", "random_apply: [{invert: 1}, {equalize: 1}]", "random_apply: [{equalize: 1}, {invert: 1}]", "random_choice: [{equalize: 1}, {invert: 1}]",
		"random_choice: [{invert: 1}, {equalize: 1}]", "random_choice: {transforms: [{equalize: 1}, {invert: 1}], p: [1, 2]}", "random_choice: {transforms: [{invert: 1}, {equalize: 1}, {jpeg: 9}], n: 2}", "random_choice: {transforms: [{invert: 1}, {equalize: 1}, {jpeg: 9}], n: 3}", "random_choice: [{invert: 1}, {equalize: 1}, {jpeg: 9}]", "random_apply: [{equalize: 1}]}, {invert: 1",
		"invert: 1}, {horizontal_flip: 0.5", "horizontal_flip: 0.5}, {invert: 1", "invert: 1}, {equalize: 1}, {horizontal_flip: 0.5", "equalize: 1}, {invert: 1}, {horizontal_flip: 0.5",
		"vertical_flip: 0.5", "vertical_flip: 0.6", "grayscale: 0.5", "random_erasing: 0.5", "random_erasing: {p: 0.5, scale: [0.02, 0.3]}", "random_erasing: {p: 0.5, ratio: [0.3, 3]}", "random_erasing: {value: 3}", "random_erasing: {value: [0, 0, 3]}", "random_erasing: 0.6", "color_jitter: {hue: 0}", "color_jitter: {hue: 0.1}", "color_jitter: {hue: 0.1, p: 0.5}",
		"color_jitter: {brightness: 0.1}", "color_jitter: {contrast: 0.1}", "color_jitter: {saturation: 0.1}", "color_jitter: {saturation: [0.1, 0.1]}",
		"random_rotation: 9", "random_rotation: [0, 9]", "random_rotation: {degrees: 9, interpolation: bilinear}", "random_affine: {degrees: 9}", "random_affine: {degrees: 8}",
		"random_affine: {degrees: 9, translate: [0.1, 0]}", "random_affine: {degrees: 9, translate: [0, 0.1]}", "random_affine: {degrees: 9, scale: [1, 2]}",
		"random_rotation: {degrees: 9, center: [0, 0]}", "random_rotation: {degrees: 9, center: [0, 1]}", "random_affine: {degrees: 9, center: [0, 0]}",
		"random_perspective: {}", "random_perspective: 0.4", "random_perspective: {p: 1}", "random_perspective: {interpolation: nearest}", "random_perspective: {fill: 3}",
		"elastic_transform: {}", "elastic_transform: 40", "elastic_transform: [50, 40]", "elastic_transform: [40, 50]", "elastic_transform: {sigma: 4}", "elastic_transform: {p: 0.5}", "elastic_transform: {interpolation: nearest}", "elastic_transform: {fill: 3}",
		"random_affine: {degrees: 9, shear: 9}", "random_affine: {degrees: 9, shear: [0, 0, -9, 9]}", "random_affine: {degrees: 9, interpolation: bilinear}",
		"random_rotation: {degrees: 9, arithmetic: torch}", "random_rotation: {degrees: 9, interpolation: bilinear, arithmetic: torch}", "random_rotation: {degrees: 9, interpolation: bilinear, fill: 0, arithmetic: torch}", "random_affine: {degrees: 9, arithmetic: torch}", "random_perspective: {arithmetic: torch}", "random_perspective: {fill: 0, arithmetic: torch}", "rand_augment: {arithmetic: torch}", "trivial_augment_wide: {arithmetic: torch}", "auto_augment: {arithmetic: torch}", "aug_mix: {arithmetic: torch}", "random_rotation: {degrees: 9, fill: 9}", "random_affine: {degrees: 9, fill: 9}", "rand_augment: {fill: 9}", "auto_augment: {fill: 9}", "trivial_augment_wide: {fill: 9}",
		"timm_rand_augment: rand-m9", "timm_rand_augment: rand-m8", "timm_rand_augment: rand-m9-n3", "timm_rand_augment: rand-m9-p0.6", "timm_rand_augment: rand-m9-mstd0.5", "timm_rand_augment: rand-m9-mstd101", "timm_rand_augment: rand-m9-mmax11",
		"timm_rand_augment: rand-m9-inc1", "timm_rand_augment: {config: rand-m9, interpolation: bilinear}", "timm_rand_augment: {config: rand-m9, interpolation: bicubic}", "timm_rand_augment: {config: rand-m9, fill: 9}",
		"aug_mix: {}", "aug_mix: 4", "aug_mix: {mixture_width: 4}", "aug_mix: {chain_depth: 2}", "aug_mix: {alpha: 0.5}", "aug_mix: {all_ops: false}", "aug_mix: {interpolation: nearest}", "aug_mix: {fill: 9}",
		"rand_augment: 9", "rand_augment: 8", "rand_augment: {num_ops: 1}", "rand_augment: {num_magnitude_bins: 30}", "rand_augment: {interpolation: bilinear}",
		"trivial_augment_wide: {}", "trivial_augment_wide: 30", "trivial_augment_wide: {interpolation: bilinear}", "auto_augment: imagenet", "auto_augment: svhn",
		"auto_augment: {interpolation: bilinear}", "gaussian_blur: 3", "gaussian_blur: 5", "gaussian_blur: {kernel_size: 3, sigma: 1}", "gaussian_blur: {kernel_size: 3, p: 0.5}",
		"cv2_affine: {}", "cv2_affine: {degrees: 3}", "cv2_affine: {translate: 0.1}", "cv2_affine: {translate_px: 1}", "cv2_affine: {scale: 2}", "cv2_affine: {scale: [1, 1, 2, 2]}", "cv2_affine: {keep_ratio: true}", "cv2_affine: {shear: 3}", "cv2_affine: {fit: true}", "cv2_affine: {shear: [0, 0, -3, 3]}", "cv2_affine: {p: 1}", "cv2_affine: {interpolation: cv2_nearest}", "cv2_affine: {padding_mode: edge}", "cv2_affine: {fill: 9}",
		"hue_saturation_value: {}", "hue_saturation_value: {hue: 3}", "hue_saturation_value: {saturation: 3}", "hue_saturation_value: {value: 3}", "hue_saturation_value: {p: 1}", "rgb_shift: {}", "rgb_shift: {red: 3}", "rgb_shift: {green: 3}", "rgb_shift: {blue: 3}", "rgb_shift: {p: 1}",
		"cv2_color_jitter: {}", "cv2_color_jitter: {brightness: 0.3}", "cv2_color_jitter: {contrast: 0.3}", "cv2_color_jitter: {saturation: 0.3}", "cv2_color_jitter: {hue: 0}", "cv2_color_jitter: {p: 1}",
		"box_blur: {}", "box_blur: 5", "box_blur: {p: 1}", "median_blur: {}", "median_blur: 5", "median_blur: {p: 1}", "cv2_gaussian_blur: {}", "cv2_gaussian_blur: 2", "cv2_gaussian_blur: {kernel_size: 3}", "cv2_gaussian_blur: {p: 1}",
		"motion_blur: {}", "motion_blur: 5", "motion_blur: {angle: 5}", "motion_blur: {direction: 0}", "motion_blur: {shifted: false}", "motion_blur: {p: 1}",
		"clahe: {}", "clahe: 3", "clahe: {tiles: 4}", "clahe: {p: 1}",
		"cv2_perspective: {}", "cv2_perspective: 0.1", "cv2_perspective: {p: 1}", "cv2_perspective: {interpolation: cv2_nearest}", "cv2_perspective: {padding_mode: edge}", "cv2_perspective: {fill: 9}",
		"grid_dropout: {}", "grid_dropout: 0.3", "grid_dropout: {grid: [3, 4]}", "grid_dropout: {unit_size: 3}", "grid_dropout: {random_offset: false}", "grid_dropout: {random_offset: false, shift: [1, 0]}", "grid_dropout: {fill: 9}", "grid_dropout: {p: 1}", "pixel_dropout: {}", "pixel_dropout: 0.2", "pixel_dropout: {per_channel: true}", "pixel_dropout: {fill: 9}", "pixel_dropout: {p: 1}", "downscale: {}", "downscale: 0.5", "downscale: {p: 1}",
		"unsharp_mask: {}", "unsharp_mask: 0.3", "unsharp_mask: {kernel_size: 3}", "unsharp_mask: {sigma: 1}", "unsharp_mask: {threshold: 9}", "unsharp_mask: {p: 1}",
		"random_grid_shuffle: {}", "random_grid_shuffle: [3, 4]", "random_grid_shuffle: [4, 3]", "random_grid_shuffle: {p: 1}",
		"morphological: {}", "morphological: 3", "morphological: [3, 2]", "morphological: {operation: erosion}", "morphological: {p: 1}",
		"cv2_autocontrast: {}", "cv2_autocontrast: 3", "cv2_autocontrast: {method: pil}", "cv2_autocontrast: {p: 1}", "salt_and_pepper: {}", "salt_and_pepper: 0.3", "salt_and_pepper: {salt_vs_pepper: 0.3}", "salt_and_pepper: {p: 1}", "planckian_jitter: {}", "planckian_jitter: {mode: cied}", "planckian_jitter: {temperature: [5000, 7000]}", "planckian_jitter: {sampling: gaussian}", "planckian_jitter: {p: 1}", "erasing: {}", "erasing: 0.3", "erasing: {ratio: [1, 1]}", "erasing: {p: 1}", "erasing: {fill: 9}",
		"random_shadow: {}", "random_shadow: 0.3", "random_shadow: {count: 3}", "random_shadow: {corners: 3}", "random_shadow: {roi: [0, 0, 1, 1]}", "random_shadow: {p: 1}",
		"advanced_blur: {}", "advanced_blur: 5", "advanced_blur: {kernel_size: [3, 5]}", "advanced_blur: {sigma_x: 2}", "advanced_blur: {sigma_y: 2}", "advanced_blur: {rotate: 9}", "advanced_blur: {beta: [0.2, 3]}", "advanced_blur: {noise: 2}", "advanced_blur: {p: 1}", "defocus: {}", "defocus: 4", "defocus: {alias_blur: 1}", "defocus: {p: 1}", "ringing_overshoot: {}", "ringing_overshoot: 5", "ringing_overshoot: {cutoff: 1}", "ringing_overshoot: {p: 1}", "glass_blur: {}", "glass_blur: 0.3", "glass_blur: {max_delta: 9}", "glass_blur: {iterations: 3}", "glass_blur: {mode: exact}", "glass_blur: {p: 1}", "zoom_blur: {}", "zoom_blur: 1.2", "zoom_blur: {step_factor: 0.1}", "zoom_blur: {p: 1}", "random_fog: {}", "random_fog: 0.5", "random_fog: {alpha: 0.2}", "random_fog: {p: 1}", "random_rain: {}", "random_rain: {type: heavy}", "random_rain: {slant: 3}", "random_rain: {length: 9}", "random_rain: {blur: 3}", "random_rain: {brightness: 0.5}", "random_rain: {fill: 9}", "random_rain: {p: 1}", "random_snow: {}", "random_snow: 0.5", "random_snow: {brightness: 2}", "random_snow: {p: 1}", "random_sun_flare: {}", "random_sun_flare: {roi: [0, 0, 1, 1]}", "random_sun_flare: {angle: 0.5}", "random_sun_flare: {circles: 3}", "random_sun_flare: {radius: 90}", "random_sun_flare: {fill: 9}", "random_sun_flare: {p: 1}", "shot_noise: {}", "shot_noise: 0.5", "shot_noise: {p: 1}", "fancy_pca: {}", "fancy_pca: 0.5", "fancy_pca: {p: 1}",
		"iso_noise: {}", "iso_noise: 0.3", "iso_noise: {color_shift: 0.1}", "iso_noise: {p: 1}",
		"multiplicative_noise: {}", "multiplicative_noise: 2", "multiplicative_noise: {per_channel: true}", "multiplicative_noise: {elementwise: true}", "multiplicative_noise: {p: 1}",
		"optical_distortion: {}", "optical_distortion: 0.3", "optical_distortion: {p: 1}", "optical_distortion: {interpolation: cv2_nearest}", "optical_distortion: {padding_mode: edge}", "optical_distortion: {fill: 9}", "cv2_elastic_transform: {}", "cv2_elastic_transform: 120", "cv2_elastic_transform: {sigma: 6}", "cv2_elastic_transform: {approximate: true}", "cv2_elastic_transform: {same_dxdy: true}", "cv2_elastic_transform: {noise_distribution: uniform}", "cv2_elastic_transform: {p: 1}", "cv2_elastic_transform: {interpolation: cv2_nearest}", "cv2_elastic_transform: {padding_mode: edge}", "cv2_elastic_transform: {fill: 9}", "grid_distortion: {}", "grid_distortion: 0.2", "grid_distortion: {num_steps: 4}", "grid_distortion: {normalized: false}", "grid_distortion: {p: 1}", "grid_distortion: {interpolation: cv2_nearest}", "grid_distortion: {padding_mode: edge}", "grid_distortion: {fill: 9}",
		"transpose: 0.5", "sharpen: {}", "sharpen: 0.3", "sharpen: {lightness: 2}", "sharpen: {p: 1}", "emboss: {}", "emboss: 0.3", "emboss: {strength: 2}", "emboss: {p: 1}", "to_sepia: 0.5", "random_tone_curve: {}", "random_tone_curve: 0.2", "random_tone_curve: {per_channel: true}", "random_tone_curve: {p: 1}", "channel_dropout: {}", "channel_dropout: 2", "channel_dropout: {fill: 9}", "channel_dropout: {p: 1}", "cv2_equalize: 0.5",
		"coarse_dropout: {}", "coarse_dropout: {holes: 3}", "coarse_dropout: {height: 0.3}", "coarse_dropout: {width: 0.3}", "coarse_dropout: {pixels: true, height: 1, width: 1}", "coarse_dropout: {height: 1, width: 1}", "coarse_dropout: {fill: 3}", "coarse_dropout: {p: 1}",
		"random_brightness_contrast: {}", "random_brightness_contrast: {brightness: 0.3}", "random_brightness_contrast: {contrast: 0.3}", "random_brightness_contrast: {p: 1}", "random_gamma: {}", "random_gamma: 2", "random_gamma: {p: 1}", "cv2_grayscale: 1", "solarize: {threshold: 1}", "solarize: {threshold: 2}", "solarize: {threshold: 1, p: 1}", "posterize: {bits: 1}", "posterize: {bits: 2}", "posterize: {bits: 1, p: 1}",
		"invert: 0.5", "adjust_sharpness: {factor: 2}", "adjust_sharpness: {factor: 3}", "adjust_sharpness: {factor: 2, p: 1}", "adjust_sharpness: {factor: 2, arithmetic: torch}", "autocontrast: 0.5", "autocontrast: {p: 0.5, arithmetic: torch}", "grayscale: {p: 0.5, arithmetic: torch}", "color_jitter: {hue: 0, arithmetic: torch}", "random_photometric_distort: {arithmetic: torch}", "equalize: 0.5",
		"random_rotate90: 0.5", "random_rotate90: 1", "random_photometric_distort: {}", "random_photometric_distort: 0.6", "random_photometric_distort: {hue: 0}", "random_photometric_distort: {brightness: 0}",
		"random_photometric_distort: {contrast: 0.1}", "random_photometric_distort: {saturation: [1, 2]}", "random_channel_permutation: 0.5", "gaussian_noise: {}", "gaussian_noise: [0, 0.1]", "gaussian_noise: {p: 0.5}",
		"gaussian_noise: {mean: 0.1}", "jpeg: 50", "jpeg: {quality: 50, channels: bgr}", "jpeg: [50, 60]", "jpeg: {quality: 50, p: 0.5}",
	} {
		h := parse(t, strings.Replace(least, "center_crop: 224", "center_crop: 224}, {"+more, 1)).Hash()
		if other, twice := seen[h]; twice {
			t.Errorf("%s: same hash as %q", more, other)
		}
		seen[h] = more
	}
	for short, long := range map[string]string{
		"rand_augment: 9": "rand_augment: {num_ops: 2, magnitude: 9, num_magnitude_bins: 31, interpolation: nearest}", "rand_augment: {}": "rand_augment: 9",
		"aug_mix: 3":               "aug_mix: {severity: 3, mixture_width: 3, chain_depth: -1, alpha: 1, all_ops: true, interpolation: bilinear, fill: 0}",
		"trivial_augment_wide: 31": "trivial_augment_wide: {}", "auto_augment: {}": "auto_augment: imagenet", "timm_rand_augment: rand-m9-mstd0.5-inc1": "timm_rand_augment: {config: rand-inc1-p0.5-mstd0.5-n2-mmax10-m9, interpolation: random, fill: [124, 116, 104]}", "gaussian_noise: {}": "gaussian_noise: {sigma: [0.1, 0.1], mean: 0, p: 1}", "gaussian_noise: 0.1": "gaussian_noise: {}", "jpeg: 50": "jpeg: {quality: [50, 50], p: 1}",
		"random_photometric_distort: 0.5": "random_photometric_distort: {brightness: [0.875, 1.125], contrast: 0.5, saturation: 0.5, hue: 0.05}", "gaussian_blur: 3": "gaussian_blur: {kernel_size: 3, sigma: [0.1, 2], p: 1}", "grayscale: 0.25": "grayscale: {p: 0.25}", "autocontrast: 0.25": "autocontrast: {p: 0.25, arithmetic: pillow}", "color_jitter: {hue: 0.1}": "color_jitter: {hue: 0.1, arithmetic: pillow}",
		"random_rotation: {degrees: 9, fill: 7}": "random_rotation: {degrees: 9, fill: [7, 7, 7]}", "random_rotation: 8": "random_rotation: {degrees: 8, fill: 0}", "random_rotation: {degrees: 8, arithmetic: torch}": "random_rotation: {degrees: 8, fill: 0, arithmetic: torch}", "rand_augment: 8": "rand_augment: {magnitude: 8, arithmetic: pillow}", "auto_augment: svhn": "auto_augment: {policy: svhn, fill: [0, 0, 0]}",
		"random_apply: [{invert: 1}]": "random_apply: {transforms: [{invert: 1}], p: 0.5}", "random_choice: [{invert: 1}, {equalize: 1}]": "random_choice: {transforms: [{invert: 1}, {equalize: 1}], p: [3, 3]}",
		"random_perspective: {}": "random_perspective: {distortion_scale: 0.5, p: 0.5, interpolation: bilinear, fill: 0}", "random_perspective: 0.4": "random_perspective: {distortion_scale: 0.4}",
		"elastic_transform: {}": "elastic_transform: {alpha: [50, 50], sigma: 5, p: 1, interpolation: bilinear, fill: 0}", "elastic_transform: [3, 4]": "elastic_transform: {alpha: [3, 4]}",
		"solarize: {threshold: 1}": "solarize: {threshold: 1, p: 0.5}", "random_rotation: 9": "random_rotation: {degrees: [-9, 9], interpolation: nearest}",
		"random_affine: {degrees: 0, shear: 5}": "random_affine: {degrees: [0, 0], translate: [0, 0], scale: [1, 1], shear: [-5, 5, 0, 0]}",
	} {
		with := func(op string) [32]byte {
			return parse(t, strings.Replace(least, "center_crop: 224", "center_crop: 224}, {"+op, 1)).Hash()
		}
		if with(short) != with(long) {
			t.Errorf("%s: another hash than %s", short, long)
		}
	}
	two := parse(t, least+"rings: {a: {}, b: {batch: 2}}")
	if two.Hash() == base.Hash() || two.Rings[0].Hash() != base.Hash() || two.Rings[0].Hash() == two.Rings[1].Hash() {
		t.Error("hashes of rings")
	}
}

// Load reads a file, names it in errors, and refuses what is no file of reasonable size.
func TestLoadReadsAFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "net.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(least)
	s, err := Load(path)
	if err != nil || s.Name != "net" || s.Source.Folder != filepath.Join(dir, "pics") {
		t.Fatalf("%+v, %v", s, err)
	}
	write("bach: 3")
	if _, err := Load(path); err == nil || err.Error() != path+`:1:1: bach: unknown key; did you mean "batch"?` {
		t.Errorf("got %v", err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "got no regular file") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Load(path + "x"); !os.IsNotExist(unwrap(err)) || !strings.HasPrefix(err.Error(), "spec: ") {
		t.Errorf("missing: %v", err)
	}
	write(strings.Repeat("#", maxDocument+1))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "want at most 1048576") {
		t.Errorf("large: %v", err)
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return err
}

// Documents made to cost time or memory are refused with a short text; one that is expanded would outlive the test's limit.
func TestHostileDocumentsAreBounded(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	var rings, list strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rings, "  r%d: *big\n", i)
	}
	list.WriteString(strings.Repeat("x, ", 200_000))
	for name, text := range map[string]string{
		"bomb":     bomb,
		"used":     "source: {folder: p, extensions: &e [*e, *e]}\n" + bomb,
		"nested":   strings.Repeat("[", 500_000),
		"mappings": strings.Repeat("{a: ", 200_000),
		"rings":    "source: {folder: p}\nrings:\n  r: &big {source: {extensions: [" + list.String() + "]}}\n" + rings.String(),
		"keys":     least + strings.Repeat("x", 900_000) + ": 1",
		"value":    "batch: " + strings.Repeat("9", 900_000),
		"name":     "name: " + strings.Repeat("n", 900_000) + "\n" + least,
		"self":     "rings: &r\n  a: *r\n" + least,
		"large":    strings.Repeat("#", maxDocument+1),
	} {
		s, err := Parse([]byte(text), "x.yaml")
		if err == nil {
			t.Errorf("%s: accepted as %+v", name, s)
		} else if len(err.Error()) > 600 {
			t.Errorf("%s: error of %d bytes", name, len(err.Error()))
		}
	}
}

func ExampleParse() {
	_, err := Parse([]byte("source: {folder: pics}\nordr: {seed: 1}\n"), "train.yaml")
	fmt.Println(err)
	// Output: train.yaml:2:1: ordr: unknown key; did you mean "order"?
}

// A number is the range to either side of what leaves a picture as it is; a range that is that alone is left out, as torchvision does.
func TestFactorsOfColours(t *testing.T) {
	jitter := func(text string) *ColorJitter {
		return parse(t, "source: {folder: p}\nimage: {transform: [{center_crop: 8}, {color_jitter: "+text+"}]}").Image.Transform.Steps[0].(*ColorJitter)
	}
	for text, want := range map[string]ColorJitter{
		"{brightness: 0.25, hue: 0.25}":                       {P: 1, Brightness: &[2]float64{0.75, 1.25}, Hue: &[2]float64{-0.25, 0.25}},
		"{contrast: 3, p: 0.8}":                               {P: 0.8, Contrast: &[2]float64{0, 4}},
		"{saturation: [0.5, 2], hue: [0.125, 0.5]}":           {P: 1, Saturation: &[2]float64{0.5, 2}, Hue: &[2]float64{0.125, 0.5}},
		"{brightness: 0, contrast: [1, 1], hue: 0}":           {P: 1},
		"{saturation: 999, brightness: [1000, 1000], hue: 0}": {P: 1, Saturation: &[2]float64{0, 1000}, Brightness: &[2]float64{1000, 1000}},
	} {
		if got := jitter(text); !reflect.DeepEqual(got, &want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
