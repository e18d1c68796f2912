package spec

import (
	"fmt"
	"slices"
	"strings"
)

// foreign is what other libraries call an operation, in lower case and without _, and what is written here.
type foreign struct {
	names []string
	write string // an operation with numbers that are often wanted; "": there is none
	note  string // besides
}

const (
	wholeBatches = "functions of your own take whole batches, as transform= of spdl.DataLoader or in a stage"
	inTheLoop    = "it mixes samples and their labels, so it belongs into the training loop, on the batch: torchvision.transforms.v2.MixUp and CutMix, as docs/recipes.md has them"
)

var foreigns = []foreign{
	{names: []string{"letterbox"}, write: "resize: {size: [640, 640], fit: letterbox, interpolation: cv2_linear, fill: 114}"},
	{names: []string{"resizewithpad", "resizeandpad", "resizepad", "resizekeepratio", "expand2square"}, write: "resize: {size: [640, 640], fit: contain, fill: 114}"},
	{names: []string{"longestmaxsize", "longestside", "resizelongestside"}, write: "resize: {size: [1024, 1024], fit: contain, place: top_left}", note: "fill goes around, as all rows have one size; fit: letterbox and interpolation: cv2_linear have OpenCV's rounding and pixels"},
	{names: []string{"smallestmaxsize", "smallestside", "resizeshortestside"}, write: "resize: 256", note: "a crop behind gives all rows one size; {size: 256, interpolation: cv2_linear} has OpenCV's pixels"},
	{names: []string{"resizeshortestedge"}, write: "resize: {size: 800, max_size: 1333}", note: "a crop behind gives all rows one size, or image.shape: padded keeps their own"},
	{names: []string{"smartresize"}, write: "resize: {min_pixels: 3136, max_pixels: 1003520, multiple_of: 28, interpolation: bicubic}", note: "a crop behind gives all rows one size, or image.shape: ragged keeps their own"},
	{names: []string{"resizerandom"}, write: "random_resize: {min_size: 256, max_size: 513}", note: "a crop behind gives all rows one size"},
	{names: []string{"randomchoiceresize"}, write: "random_shortest_size: {min_size: [480, 640, 800], max_size: 1333}", note: "a crop behind gives all rows one size, or image.shape: padded keeps their own"},
	{names: []string{"lsj", "largescalejitter", "resizescale", "randomscaling"}, write: "scale_jitter: {target_size: 1024, scale_range: [0.1, 2]}", note: "a crop behind gives all rows one size"},
	{names: []string{"padifneeded", "centerpad", "padcenter"}, write: "center_crop: {size: [512, 512], fill: 0}", note: "a smaller picture lies in the middle of fill"},
	{names: []string{"inceptioncrop", "rrc"}, write: "random_resized_crop: 224"},
	{names: []string{"randomsizedcrop"}, write: "random_resized_crop: 224", note: "albumentations' is {size: 224, height: [256, 512]}"},
	{names: []string{"hflip", "randomhflip", "fliplr", "mirror", "randommirror"}, write: "horizontal_flip: 0.5"},
	{names: []string{"vflip", "randomvflip", "flipud"}, write: "vertical_flip: 0.5"},
	{names: []string{"flip", "randomflip"}, write: "horizontal_flip: 0.5", note: "or vertical_flip: 0.5"},
	{names: []string{"rotate", "rotation", "randomrotate", "saferotate"}, write: "random_rotation: 30"},
	{names: []string{"perspective"}, write: "random_perspective: 0.5"},
	{names: []string{"zoomout", "expand", "ssdexpand"}, write: "random_zoom_out: {side_range: [1, 4], p: 0.5, fill: [124, 116, 104]}", note: "ahead of resize"},
	{names: []string{"ioucrop", "miniourandomcrop", "ssdcrop"}, write: "random_iou_crop: {}", note: "beside boxes, in the section of a picture"},
	{names: []string{"randomsizedbboxsafecrop"}, write: "bbox_safe_random_crop: {}", note: "beside boxes, and resize: {size: [H, W], interpolation: cv2_linear} behind it"},
	{names: []string{"sanitizeboundingboxes", "clampboundingboxes", "bboxparams", "filterbboxes"}, note: "leave it out: boxes: {column: NAME, min_size: 1} beside transform moves boxes, cuts them and drops those that are gone"},
	{names: []string{"elastic", "randomelastic", "elasticdeformation"}, write: "elastic_transform: {alpha: 50, sigma: 5, p: 0.5}"},
	{names: []string{"shiftscalerotate"}, write: "cv2_affine: {degrees: 45, translate: 0.0625, scale: [0.9, 1.1], p: 0.5}"},
	{names: []string{"affine", "shear", "randomshear", "translate", "shift"}, write: "random_affine: {degrees: 30, translate: [0.1, 0.1], scale: [0.9, 1.1], shear: 10}"},
	{names: []string{"jitter", "colour", "color", "brightness", "contrast", "saturation", "hue", "randombrightness", "randomcontrast"},
		write: "color_jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}"},
	{names: []string{"photometricdistort", "photometricdistortion", "ssdphotometric"}, write: "random_photometric_distort: {}"},
	{names: []string{"channelshuffle", "shufflechannels"}, write: "random_channel_permutation: 0.5"},
	{names: []string{"rot90", "rotate90", "randomrot90"}, write: "random_rotate90: 1", note: "rows must be square, or it stands in front of what crops or resizes"},
	{names: []string{"d4"}, write: "random_rotate90: 1", note: "and horizontal_flip: 0.5"},
	{names: []string{"gaussnoise", "randomnoise", "addgaussiannoise"}, write: "gaussian_noise: {sigma: [0, 0.1], p: 0.5}"},
	{names: []string{"fog", "rain", "snow"}, write: "random_fog: {}", note: "or random_rain: {}, or random_snow: {}"},
	{names: []string{"sunflare", "lensflare"}, write: "random_sun_flare: {}"},
	{names: []string{"poissonnoise", "photonnoise"}, write: "shot_noise: {scale: [0.1, 0.3], p: 0.5}"},
	{names: []string{"lighting", "pcajitter", "pcanoise"}, write: "fancy_pca: {alpha: 0.1, p: 0.5}"},
	{names: []string{"imagecompression", "jpegcompression", "randomjpeg", "jpegquality"}, write: "jpeg: {quality: [30, 95], p: 0.5}"},
	{names: []string{"gray", "grey", "togray", "togrey", "randomgray"}, write: "grayscale: 0.2"},
	{names: []string{"blur", "gaussian"}, write: "gaussian_blur: {kernel_size: 23, sigma: [0.1, 2], p: 0.5}"},
	{names: []string{"sharpness", "randomsharpness"}, write: "adjust_sharpness: {factor: 2, p: 0.5}"},
	{names: []string{"cutout", "erase", "randomerase", "hideandseek"}, write: "random_erasing: 0.25"},
	{names: []string{"standardize", "meanstd"}, write: "normalize: {mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5]}"},
	{names: []string{"reducelabels", "doreducelabels", "reducezerolabel"}, write: "remap_classes: reduce", note: "in the section of a mask, of mode: index"},
	{names: []string{"mapclasses", "maplabels", "remaplabels", "relabel", "labelmap"}, write: "remap_classes: [255, 0, 1]", note: "which is what 0, 1 and 2 become, in the section of a mask, of mode: index"},
	{names: []string{"aa", "timm", "timmrandaug", "randaugmenttimm"}, write: "timm_rand_augment: rand-m9-mstd0.5-inc1"},
	{names: []string{"augmixaugment"}, write: "aug_mix: {}", note: "which is torchvision's"},
	{names: []string{"randaugmentmc"}, write: "rand_augment: 9", note: "or trivial_augment_wide: {}, or auto_augment: imagenet"},
	{names: []string{"totensor", "totensorv2", "piltotensor", "toimage", "toimagetensor", "todtype", "convertimagedtype", "tofloat", "rescale"},
		note: "leave it out: dtype: f32 beside transform is x/255, layout: NCHW has channels first, and batches are tensors as they are"},
	{names: []string{"permute", "transposechw", "tochw", "tochannelsfirst"}, note: "leave it out: layout: NCHW beside transform has channels first"},
	{names: []string{"torgb", "convert", "convertrgb", "rgb", "decode", "loadimage", "topilimage"}, note: "leave it out: mode beside transform says what pictures are decoded to, rgb by itself"},
	{names: []string{"compose", "sequential"}, note: "write its operations as entries of transform"},
	{names: []string{"oneof", "choice"}, write: "random_choice: [{grayscale: 1}, {solarize: {threshold: 128, p: 1}}]"},
	{names: []string{"someof"}, note: "write the operations themselves; color_jitter, gaussian_blur and others have a p, random_apply, random_choice and random_order hold several"},
	{names: []string{"lambda"}, note: wholeBatches},
	{names: []string{"mixup", "randommixup", "cutmix", "randomcutmix", "mixupcutmix", "mosaic", "copypaste"}, note: inTheLoop},
	{names: []string{"fivecrop", "tencrop"}, write: "center_crop: {size: 224, position: top_left}", note: "in a field, and one for each of the others; docs/images.md has all"},
}

// transformHint is what is to be written in place of another library's operation, or key of one, in a transform; "": nothing is known.
func transformHint(written, table string, names []string) string {
	_, operation, within := strings.Cut(table, "transform[]")
	switch {
	case !within:
		return ""
	case operation == "" && slices.Contains(byBoxes, written):
		return "frames of a video have no boxes, by which it goes; take random_crop or random_resized_crop"
	case operation == "" && written == remapClasses:
		return "frames of a video have no classes, whose numbers it changes"
	case operation == "":
		return hint(written)
	}
	return keyHint(written, names)
}

// operationHint is hint of a key beside transform; "" of operations by their own names, whose place is known.
func operationHint(written string, names []string) string {
	if !slices.Contains(names, "transform") || slices.Contains(operations, written) {
		return ""
	}
	h := hint(written)
	if h == "" || strings.HasPrefix(h, "leave it out") {
		return h
	}
	return "an operation is an entry of transform: " + h
}

// hint is what is to be written in place of another library's operation; "" of what none calls so. Names in another spelling, and Random in front of
// them, are ours: RandomHorizontalFlip.
func hint(written string) string {
	name := bare(written)
	for _, f := range foreigns {
		if slices.Contains(f.names, name) {
			return f.hint()
		}
	}
	for _, of := range operations {
		if own := bare(of); name == own || name == "random"+own {
			return fmt.Sprintf("did you mean %q?", of)
		}
	}
	return ""
}

func (f *foreign) hint() string {
	switch {
	case f.write == "":
		return f.note
	case f.note == "":
		return "write " + f.write
	}
	return "write " + f.write + "; " + f.note
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

func bare(name string) string { return separators.Replace(strings.ToLower(name)) }

// foreignKeys are what other libraries call a key of an operation.
var foreignKeys = map[string][]string{
	"size":             {"height", "width", "h", "w", "minheight", "minwidth", "imgsize"},
	"interpolation":    {"resample", "filter", "method", "mode"},
	"fill":             {"value", "fillvalue", "fillcolor", "color", "bordervalue", "cval", "padval"},
	"degrees":          {"limit", "rotatelimit", "angle", "rotate"},
	"kernel_size":      {"kernel", "ksize", "blurlimit"},
	"sigma":            {"sigmalimit", "radius"},
	"translate":        {"translatepercent", "shiftlimit"},
	"distortion_scale": {"scale", "distortion"},
	"p":                {"prob", "probability"},
}

// leftOut are other libraries' keys of an operation that say what is so here, or cannot be.
var leftOut = map[string]string{
	"antialias":   "every interpolation but the nearest and OpenCV's is antialiased; of these cv2_area is",
	"padifneeded": "a smaller picture has a border",
	"inplace":     "a batch is new memory",
}

// keyHint is which of an operation's keys was meant; "": none.
func keyHint(written string, names []string) string {
	if why, is := leftOut[bare(written)]; is {
		return "leave it out: " + why
	}
	for _, name := range names {
		if !slices.Contains(foreignKeys[name], bare(written)) {
			continue
		}
		if name == "size" {
			return "write size: [H, W]"
		}
		return fmt.Sprintf("did you mean %q?", name)
	}
	return ""
}
