package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What another library calls an operation is answered by what to write here, under every section of a transform, as a mapping and as a word.
func TestOperationsOfOtherLibrariesAreAnswered(t *testing.T) {
	for _, c := range []struct{ op, want string }{
		{"letterbox: 640", "unknown key; write resize: {size: [640, 640], fit: letterbox, interpolation: cv2_linear, fill: 114}"},
		{"RandomResizedCrop: 224", `unknown key; did you mean "random_resized_crop"?`},
		{"RandomSizedCrop: {size: [224, 224]}", "unknown key; write random_resized_crop: 224; albumentations' is {size: 224, height: [256, 512]}"},
		{"RandomHorizontalFlip: {p: 0.5}", `unknown key; did you mean "horizontal_flip"?`},
		{"random_grayscale: 0.2", `unknown key; did you mean "grayscale"?`},
		{"CenterCrop: {size: 224}", `unknown key; did you mean "center_crop"?`},
		{"ToTensor: {}", "unknown key; leave it out: dtype: f32 beside transform is x/255, layout: NCHW has channels first"},
		{"to_tensor: true", "unknown key; leave it out: dtype: f32"},
		{"ConvertImageDtype: f32", "unknown key; leave it out: dtype: f32"},
		{"hflip: 0.5", "unknown key; write horizontal_flip: 0.5"},
		{"flip: 0.5", "unknown key; write horizontal_flip: 0.5; or vertical_flip: 0.5"},
		{"longest_max_size: 1024", "unknown key; write resize: {size: [1024, 1024], fit: contain, place: top_left}; fill goes around"},
		{"SmallestMaxSize: 256", "unknown key; write resize: 256; a crop behind gives all rows one size"},
		{"crop: 224", "got 224, want [left, top, right, bottom] in pixels; center_crop and random_crop take a size"},
		{"rotate: 90", "unknown key; write random_rotation: 30"},
		{"Perspective: {}", "unknown key; write random_perspective: 0.5"},
		{"Elastic: {}", "unknown key; write elastic_transform: {alpha: 50, sigma: 5, p: 0.5}"},
		{"ShiftScaleRotate: {}", "unknown key; write cv2_affine: {degrees: 45"},
		{"CoarseDropout: {}", `unknown key; did you mean "coarse_dropout"?`},
		{"Sharpen: {}", `unknown key; did you mean "sharpen"?`},
		{"RandomSharpness: 2", "unknown key; write adjust_sharpness: {factor: 2, p: 0.5}"},
		{"Transpose: 1", `unknown key; did you mean "transpose"?`},
		{"mixup: 0.2", "unknown key; it mixes samples and their labels, so it belongs into the training loop, on the batch: torchvision.transforms.v2.MixUp and CutMix, as docs/recipes.md has them"},
		{"CutMix: {alpha: 1}", "unknown key; it mixes samples and their labels"},
		{"Lambda: {}", "unknown key; functions of your own take whole batches"},
		{"RandomApply: []", `unknown key; did you mean "random_apply"?`},
		{"OneOf: []", "unknown key; write random_choice: [{grayscale: 1}, {solarize: {threshold: 128, p: 1}}]"},
		{"SomeOf: []", "unknown key; write the operations themselves; color_jitter, gaussian_blur and others have a p, random_apply, random_choice and random_order hold several"},
		{"GridDistortion: {}", `unknown key; did you mean "grid_distortion"?`},
		{"ToTensor", `got text "ToTensor", want a mapping of resize`},
		{"center_crop: {height: 224, width: 224}", ".center_crop.height: unknown key; write size: [H, W]"},
		{"resize: {size: [9, 9], antialias: true}", ".resize.antialias: unknown key; leave it out: every interpolation but the nearest and OpenCV's is antialiased; of these cv2_area is"},
		{"random_crop: {size: 9, pad_if_needed: true}", ".random_crop.pad_if_needed: unknown key; leave it out: a smaller picture has a border"},
		{"resize: {size: [9, 9], resample: bicubic}", `.resize.resample: unknown key; did you mean "interpolation"?`},
		{"random_rotation: {limit: 30}", `.random_rotation.limit: unknown key; did you mean "degrees"?`},
		{"solarize: {threshold: 128, probability: 1}", `.solarize.probability: unknown key; did you mean "p"?`},
		{"horizontal_flip: {p: 0.5}", ".horizontal_flip: got a mapping, want a number from 0 to 1; write 0.5 alone"},
	} {
		for _, section := range []string{"image: {", "video: {frames: 2, "} {
			_, err := Parse([]byte(fmt.Sprintf("source: {folder: p}\n%stransform: [%s]}", section, c.op)), "x.yaml")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), section[:5]+".transform[0]") {
				t.Errorf("%s%s\ngot  %v\nwant %s", section, c.op, err, c.want)
			}
		}
	}
	_, err := Parse([]byte("source: {folder: p}\nimage: {transform: [ToTensor]}"), "x.yaml")
	if err == nil || !strings.HasSuffix(err.Error(), "; leave it out: dtype: f32 beside transform is x/255, layout: NCHW has channels first, and batches are tensors as they are") {
		t.Error(err)
	}
}

// What is to be written can be written; no name is ours, and none is there twice.
func TestAnswersAreDescriptions(t *testing.T) {
	var seen []string
	for _, f := range foreigns {
		for _, name := range f.names {
			if bare(name) != name || slices.Contains(seen, name) || slices.ContainsFunc(operations, func(of string) bool { return bare(of) == name }) {
				t.Errorf("%q is not bare, is there twice, or is ours", name)
			}
			seen = append(seen, name)
		}
		if f.write == "" {
			continue
		}
		name, _, _ := strings.Cut(f.write, ":")
		ops := fmt.Sprintf("{%s}", f.write)
		switch {
		case strings.Contains(f.note, "a crop behind"):
			ops += ", {random_crop: 9}"
		case name == remapClasses:
			parse(t, "source: {folder: p}\nimage: {mode: index, transform: [{center_crop: 99}, "+ops+"]}\n")
			continue
		case name == "elastic_transform" || name == augMix: // which boxes do not follow
			parse(t, "source: {folder: p}\nimage: {transform: [{center_crop: 99}, "+ops+"]}\n")
			continue
		case name == "random_zoom_out" || name == iouCrop || name == safeCrop:
			ops += ", {resize: [9, 9]}"
		case !slices.Contains(geometries, name):
			ops = "{center_crop: 99}, " + ops
		}
		parse(t, boxedSource+"image: {boxes: b, transform: ["+ops+"]}\n")
	}
	for name := range foreignKeys {
		if !slices.ContainsFunc(Keys(), func(k Key) bool { return strings.HasSuffix(k.Path, "."+name) }) {
			t.Errorf("%q is no key", name)
		}
	}
}
