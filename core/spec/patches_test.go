package spec

import (
	"reflect"
	"strings"
	"testing"
)

const byArea = "resize: {min_pixels: 64, max_pixels: 1600, multiple_of: 8}"

// patched is a description of a folder whose pictures become patches, as said.
func patched(patches, more string) string {
	return "source: {folder: p}\nimage: {patches: " + patches + ", transform: [" + byArea + "]" + more + "}\n"
}

// A row has a line for each patch that there is room for, with what says how many there are and where they lie.
func TestPatchesAreDescribed(t *testing.T) {
	for text, want := range map[string]struct {
		Patches
		shape string
	}{
		patched("4", ""): {Patches{Size: 4, Merge: 1, Temporal: 1, Shape: Ragged}, "280x48"},
		patched("{size: 4, merge: 2, temporal: 2}", ", layout: NCHW"):                                                                                {Patches{Size: 4, Merge: 2, Temporal: 2, Shape: Ragged}, "280x96"},
		patched("{size: 8, shape: padded}", ", room: [40, 37]"):                                                                                      {Patches{Size: 8, Merge: 1, Temporal: 1, Shape: Padded}, "23x192"},
		patched("{size: 4, shape: fixed}", ", mode: gray, room: 50"):                                                                                 {Patches{Size: 4, Merge: 1, Temporal: 1, Shape: Fixed}, "156x16"},
		"source: {folder: p}\nimage: {patches: {size: 16, shape: fixed}, transform: [resize: {max_pixels: 65536, multiple_of: 16, rounding: up}]}\n": {Patches{Size: 16, Merge: 1, Temporal: 1, Shape: Fixed}, "256x768"},
	} {
		s := parse(t, text)
		if got := s.Image.Patches; !reflect.DeepEqual(got, &want.Patches) || s.RowShape().String() != want.shape {
			t.Errorf("%s: got %+v in rows of %v, want %s", text, got, s.RowShape(), want.shape)
		}
		if err := s.Validate(); err != nil || s.RowShape().String() != want.shape {
			t.Errorf("%s: again: %v, rows of %v", text, err, s.RowShape())
		}
		if m := s.Media()[0]; !reflect.DeepEqual(m.Tensors(), []string{"image", "count", "grid", "size"}) || m.Padded() != (want.Shape == Padded) {
			t.Errorf("%s: got tensors %v, padded %v", text, m.Tensors(), m.Padded())
		}
	}
	rings := parse(t, patched("4", "")+"rings: {a: {image: {dtype: f16}}, b: {image: {patches: null, transform: [center_crop: 8]}}, c: {image: {patches: 8}}}\n").All()
	if a, b, c := rings[0].Image, rings[1].Image, rings[2].Image; a.Patches == nil || b.Patches != nil || b.Open() || c.Patches.Size != 8 {
		t.Errorf("got patches %+v, %+v and %+v of three rings", a.Patches, b.Patches, c.Patches)
	}
}

// All that says what patches are is part of the hash.
func TestTheHashKnowsPatches(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		strings.Replace(patched("4", ", shape: ragged"), "patches: 4, ", "", 1), patched("4", ""), patched("8", ""), patched("{size: 4, merge: 2}", ""), patched("{size: 4, temporal: 2}", ""), patched("{size: 4, shape: padded}", ""),
		patched("4", ", room: 40"), strings.Replace(patched("4", ""), "min_pixels: 64, max_pixels: 1600, multiple_of: 8", "max_pixels: 1600, multiple_of: 8, rounding: up", 1),
	} {
		hash := string(parse(t, text).Canonical())
		if other, twice := seen[hash]; twice {
			t.Errorf("%s and %s have one hash", text, other)
		}
		seen[hash] = text
	}
}

// What does not go with patches is refused by name.
func TestPatchesAreRefused(t *testing.T) {
	of := func(transform string) string {
		return "source: {folder: p}\nimage: {patches: {size: 4, merge: 2}, transform: [" + transform + "]}\n"
	}
	boxed := boxedSource + "image: {patches: 4, transform: [" + byArea + "], "
	for text, want := range map[string]string{
		patched("0", ""):                                "image.patches: got 0, want a whole number from 1 to 1024",
		patched("{}", ""):                               "image.patches: size is missing, want the side of a patch in pixels, such as patches: 16, or {size: 14, merge: 2, temporal: 2}",
		patched("{size: 4, merge: 0}", ""):              "image.patches.merge: got 0, want a whole number from 1 to 1024",
		patched("{size: 4, temporal: 17}", ""):          "image.patches.temporal: got 17, want a whole number from 1 to 16",
		patched("{size: 4, shape: long}", ""):           "image.patches.shape: got text \"long\", want one of fixed, padded, ragged",
		patched("{size: 4, merge: 3}", ""):              "image.transform[0].resize: got multiple_of 8 beside patches of 4, 3 of them in a line of a block, want a multiple of 12",
		patched("4", ", shape: ragged"):                 "image.shape: given beside patches, whose own shape says how rows of fewer lie; leave it out",
		patched("8", ", room: 7"):                       "image.room: got less than a patch of 8 x 8, want room for as many as a picture becomes",
		patched("4", ", multiple_of: 4"):                "image.multiple_of: given without shape: padded",
		patched("4", ", affine: true"):                  "image.affine: given beside patches; leave it out: size and grid say what the picture was and where they lie",
		patched("4", ", tiles: 8"):                      "image.tiles: given beside patches; leave one of them out",
		of(""):                                          "image.patches: given with a transform that does not resize by pixels, want whole patches: [resize: {min_pixels: 256, max_pixels: 81920, multiple_of: 8, interpolation: bicubic}], say",
		of("resize: [8, 8]"):                            "image.patches: given with a transform that does not resize by pixels",
		of("resize: {size: 8, max_size: 16}"):           "image.patches: given with a transform that does not resize by pixels",
		of(byArea + ", center_crop: 8"):                 "image.patches: given with a transform that crops, want pictures of their own size; leave the crop out",
		of(byArea + ", random_erasing: {}"):             "image.transform[1].random_erasing: given beside patches, of which lines are finished one by one; leave it out, or take coarse_dropout",
		boxed + "boxes: b}\n":                           "image.boxes: given beside patches, over several of which a box may lie; leave one of them out: keep boxes as a column, and place them by size and grid",
		boxed + "points: p}\n":                          "image.points: given beside patches, each of which has a part of the picture; leave one of them out: keep points as a column, and place them by size and grid",
		patched("4", "") + "device: {}\n":               "image.patches.shape: got ragged with a device, which uploads what has a fixed place in every row; want padded",
		patched("4", "") + "device: {decode: nvjpeg}\n": "device.decode: got nvjpeg beside image.patches, want cpu",
		patched("4", "") + "device: {finish: {}}\n":     "device.finish: given beside image.patches, want normalize and dtype in image",
		strings.Replace(patched("4", ", many: 3"), "folder: p", "shards: a.tar", 1): "image.many: given beside patches, which are of one picture a sample; leave one of them out",
		patched("{patch_size: 4}", ""):                                              "image.patches.patch_size: unknown key; did you mean \"size\"?",
		patched("{size: 4, merge_size: 2}", ""):                                     "image.patches.merge_size: unknown key; did you mean \"merge\"?",
		patched("{size: 4, temporal_patch_size: 2}", ""):                            "image.patches.temporal_patch_size: unknown key; did you mean \"temporal\"?",
		patched("{size: 4, max_num_patches: 256}", ""):                              "image.patches.max_num_patches: unknown key; resize says how many there are, by max_pixels",
		patched("4", ", temporal_patch_size: 2"):                                    "image.temporal_patch_size: unknown key; say patches: {size: 14, merge: 2, temporal: 2}",
		"source: {folder: p}\nvideo: {frames: 2, patches: 8}\n":                     "video.patches: unknown key",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	parse(t, patched("{size: 4, shape: padded}", "")+"device: {}\n")
	if _, err := ParseSample([]byte("image: {patches: {size: 4, shape: padded}, transform: [" + byArea + "]}")); err == nil || !strings.Contains(err.Error(), "image.patches.shape: got padded, which is of a ring's batches") {
		t.Errorf("a sample's shape: %v", err)
	}
}
