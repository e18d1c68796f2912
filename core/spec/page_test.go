package spec

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/spec.md")

const pageHead = `# The description

A loader is described in YAML or JSON. This page is made from the table in core/spec (` + "`go generate ./core/spec`" + `); a test keeps them equal.

` + "```yaml" + `
source: {folder: /data/train}
batch: 64
image:
  transform:
    - random_resized_crop: 224
    - horizontal_flip: 0.5
    - normalize: imagenet
  layout: NCHW
` + "```" + `

Reading is strict. An unknown, misspelt or doubled key, a value of the wrong type or out of range is refused with file, line and
column, the dotted path, and the nearest valid name. Whole numbers are decimal, without exponent, leading zero or underscore.
Relative paths are relative to the file. A document is at most 1 MiB; anchors and aliases are read, merge keys are not.

` + "`spdl explain KEY`" + ` says the same in a terminal. An editor completes keys and marks what is misspelt by a JSON Schema, which ` + "`spdl schema > spdl.schema.json`" + ` writes: the first line of
a description in YAML names it for editors with YAML's language server, ` + "`# yaml-language-server: $schema=spdl.schema.json`" + `. What the schema takes may still be refused: ` + "`spdl check`" + ` says.
`

// chapter is where a key stands: of a mapping the top level's name, of a transform's operations that of the transform.
func chapter(path string) string {
	if operation, is := strings.CutPrefix(path, "image.transform[]"); is && operation != "" {
		return "image.transform"
	}
	top, _, _ := strings.Cut(path, ".")
	return top
}

func page() string {
	var chapters []string
	tables := map[string]string{}
	for _, k := range Keys() {
		if strings.HasPrefix(k.Path, "video.transform[]") {
			continue // which has what image.transform has
		}
		of := chapter(k.Path)
		if tables[of] == "" {
			chapters = append(chapters, of)
		}
		def := strings.Trim(k.Default, "()")
		if def == k.Default {
			def = "`" + def + "`"
		}
		tables[of] += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path, k.Type, def, k.Doc)
	}
	text := pageHead
	for _, of := range chapters {
		text += fmt.Sprintf("\n## %s\n\n| Key | Value | Default | Meaning |\n| --- | --- | --- | --- |\n%s", of, tables[of])
	}
	return text
}

// docs/spec.md is the table, no more and no less.
func TestSpecPageEqualsTheTable(t *testing.T) {
	const path = "../../docs/spec.md"
	if *update {
		if err := os.MkdirAll("../../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != page() {
		t.Fatalf("docs/spec.md differs from the table (%v); run go generate ./core/spec", err)
	}
	example := pageHead[strings.Index(pageHead, "source:"):strings.LastIndex(pageHead, "```")]
	if s := parse(t, example); s.RowShape().String() != "3x224x224" {
		t.Fatalf("the page's example: %v", s.RowShape())
	}
}

// values are examples for every key of the table, as a description that is valid with it.
var values = map[string]string{
	"version": "1", "name": "x", "source": "{folder: p}", "source.folder": "p", "source.list": "l", "source.root": "r",
	"source.extensions": "[a]", "source.labels": "none", "order": "{}", "order.shuffle": "true", "order.seed": "1", "order.epochs": "1",
	"source.mix": "[{folder: p}, {folder: q}]", "source.mix[].folder": "p", "source.mix[].list": "l", "source.mix[].root": "r", "source.mix[].shards": "a.tar",
	"source.only": "'3:9'", "source.mix[].only": "[4, 2, 4]", "source.mix[].path": "file", "source.mix[].image": "[jpg]", "source.mix[].label": "cls", "source.split": "val", "source.mix[].split": "val", "source.mix[].extensions": "[a]", "source.mix[].labels": "none",
	"source.mix[].weight": "{0: 3, 10: 1}", "order.filter": "index < 3", "order.repeat": "3", "order.asked": "true", "order.rows": "100", "order.window": "4", "order.weights": "w", "order.replacement": "false",
	"order.balance": "label", "order.stratify": "label", "order.group": "groups.npy", "order.buckets": "{by: n}", "order.buckets.by": "n", "order.buckets.count": "3",
	"order.buckets.max_total": "120.5", "order.buckets.multiple_of": "8", "order.buckets.sizes": "[[8, 16], [16, 8]]", "order.buckets.area": "262144", "order.buckets.step": "32", "order.buckets.min": "256", "order.buckets.max": "1024",
	"order.buckets.width": "w", "order.buckets.height": "h",
	"order.last": "drop", "world": "{}", "world.size": "1", "world.rank": "0", "batch": "1", "image": "{transform: [center_crop: 2]}", "image.mode": "gray",
	"image.orientation": "apply", "image.transform": "[center_crop: 2]", "image.transform[].resize": "[1, 2]",
	"image.transform[].resize.size": "[1, 2]", "image.transform[].resize.interpolation": "bicubic",
	"image.transform[].random_shortest_size": "[8, 9]}, {center_crop: 3", "image.transform[].random_shortest_size.min_size": "8", "image.transform[].random_shortest_size.max_size": "9", "image.transform[].random_shortest_size.interpolation": "box",
	"image.shape": "ragged", "image.room": "[30, 40]", "image.multiple_of": "32", "image.transform[].resize.min_pixels": "100", "image.transform[].resize.max_pixels": "5000", "image.transform[].resize.multiple_of": "28",
	"image.transform[].resize.max_size": "9", "image.transform[].resize.rounding": "nearest", "image.transform[].center_crop.rounding": "down", "image.transform[].resize.fit": "contain", "image.transform[].resize.place": "top_left", "image.transform[].resize.upscale": "false", "image.transform[].resize.fill": "[1, 2, 3]",
	"image.transform[].random_resize": "{min_size: 2, max_size: 4}}, {center_crop: {size: 3}", "image.transform[].random_resize.min_size": "2", "image.transform[].random_resize.max_size": "9", "image.transform[].random_resize.interpolation": "bicubic",
	"image.transform[].center_crop.size": "2", "image.transform[].center_crop.position": "bottom_right", "image.transform[].center_crop.fill": "[1, 2, 255]", "image.transform[].random_crop.fill": "255", "image.transform[].random_rotation.fill": "[7]", "image.transform[].random_affine.fill": "128", "image.transform[].rand_augment.fill": "9", "image.transform[].trivial_augment_wide.fill": "[1, 2, 3]", "image.transform[].auto_augment.fill": "8",
	"image.transform[].center_crop": "2", "image.transform[].random_crop": "2", "image.transform[].random_crop.size": "2", "image.transform[].random_crop.padding": "4", "image.transform[].random_crop.padding_mode": "reflect", "image.transform[].center_crop.padding_mode": "edge",
	"image.transform[].scale_jitter": "8}, {center_crop: 3", "image.transform[].scale_jitter.target_size": "[4, 5]", "image.transform[].scale_jitter.scale_range": "[1, 2]", "image.transform[].scale_jitter.interpolation": "box",
	"image.transform[].pad": "2}, {random_crop: 3", "image.transform[].pad.padding": "[1, 2]", "image.transform[].pad.padding_mode": "symmetric", "image.transform[].pad.fill": "9",
	"image.transform[].random_resized_crop":      "2",
	"image.transform[].random_resized_crop.size": "2", "image.transform[].random_resized_crop.scale": "[0.1, 1]",
	"image.transform[].random_resized_crop.ratio": "[1, 1]", "image.transform[].random_resized_crop.height": "[8, 16]", "image.transform[].random_resized_crop.interpolation": "bicubic",
	"image.transform[].horizontal_flip": "1", "image.transform[].vertical_flip": "0.5", "image.transform[].grayscale": "0.2", "image.transform[].grayscale.p": "0.2", "image.transform[].grayscale.arithmetic": "torch", "image.transform[].color_jitter.arithmetic": "torch", "image.transform[].random_rotation.arithmetic": "torch", "image.transform[].random_affine.arithmetic": "torch", "image.transform[].random_perspective.arithmetic": "torch", "image.transform[].rand_augment.arithmetic": "torch", "image.transform[].trivial_augment_wide.arithmetic": "torch", "image.transform[].auto_augment.arithmetic": "torch", "image.transform[].aug_mix.arithmetic": "torch", "image.transform[].random_photometric_distort.arithmetic": "torch", "image.transform[].random_erasing": "0.1",
	"image.transform[].random_erasing.p": "0.25", "image.transform[].random_erasing.scale": "[0.1, 0.2]", "image.transform[].random_erasing.ratio": "[1, 2]", "image.transform[].random_erasing.holes": "[1, 8]", "image.transform[].random_erasing.height": "0.3, holes: 2", "image.transform[].random_erasing.width": "[0.1, 0.4], holes: 2", "image.transform[].random_erasing.pixels": "true, height: 8, width: 8, holes: 2", "image.transform[].random_erasing.value": "[9, 9, 0]",
	"image.transform[].random_rotation": "[-10, 30]", "image.transform[].random_rotation.degrees": "30", "image.transform[].random_rotation.center": "[0, 1.5]", "image.transform[].random_rotation.expand": "true", "image.transform[].random_affine.center": "[-3, 4]", "image.transform[].random_rotation.interpolation": "bilinear",
	"image.transform[].random_affine": "{degrees: 0, shear: 5}", "image.transform[].random_affine.degrees": "[0, 9]", "image.transform[].random_affine.translate": "[0.2, 0.1]",
	"image.transform[].random_affine.scale": "[0.5, 2]", "image.transform[].random_affine.shear": "[-5, 5, 0, 9]", "image.transform[].random_affine.interpolation": "bilinear",
	"image.transform[].random_perspective": "0.6", "image.transform[].random_perspective.distortion_scale": "0.4", "image.transform[].random_perspective.p": "1", "image.transform[].random_perspective.interpolation": "bicubic", "image.transform[].random_perspective.fill": "[1, 2, 3]",
	"image.transform[].timm_rand_augment": "rand-m9-mstd0.5-inc1", "image.transform[].timm_rand_augment.config": "rand-m7", "image.transform[].timm_rand_augment.interpolation": "bicubic", "image.transform[].timm_rand_augment.fill": "[1, 2, 3]",
	"image.transform[].aug_mix": "4", "image.transform[].aug_mix.severity": "5", "image.transform[].aug_mix.mixture_width": "4", "image.transform[].aug_mix.chain_depth": "2", "image.transform[].aug_mix.alpha": "0.5", "image.transform[].aug_mix.all_ops": "false", "image.transform[].aug_mix.interpolation": "nearest", "image.transform[].aug_mix.fill": "[1, 2, 3]",
	"image.transform[].random_zoom_out": "[1, 2]", "image.transform[].random_zoom_out.side_range": "[2, 3]", "image.transform[].random_zoom_out.p": "1", "image.transform[].random_zoom_out.fill": "[1, 2, 3]",
	"image.transform[].crop": "[1, 2, 30, 40]", "image.transform[].crop.box": "[0, 0, 9, 9]", "image.transform[].crop.p": "0.5", "image.transform[].random_crop_from_borders": "{}", "image.transform[].random_crop_from_borders.left": "0.2", "image.transform[].random_crop_from_borders.right": "0.2", "image.transform[].random_crop_from_borders.top": "0.2", "image.transform[].random_crop_from_borders.bottom": "0.2", "image.transform[].random_crop_from_borders.p": "0.2", "image.transform[].crop_and_pad": "[-0.1, 0.1]", "image.transform[].crop_and_pad.percent": "[0.1, [0, 0.2], -0.1, 0]", "image.transform[].crop_and_pad.px": "[-3, 4]", "image.transform[].crop_and_pad.sample_independently": "false", "image.transform[].crop_and_pad.keep_size": "false", "image.transform[].crop_and_pad.p": "0.5", "image.transform[].crop_and_pad.interpolation": "cv2_area", "image.transform[].crop_and_pad.padding_mode": "edge", "image.transform[].crop_and_pad.fill": "9", "image.transform[].bbox_safe_random_crop": "0.2", "image.transform[].bbox_safe_random_crop.erosion_rate": "0.3", "image.transform[].bbox_safe_random_crop.size": "[30, 40]", "image.transform[].bbox_safe_random_crop.p": "0.5", "image.transform[].bbox_safe_random_crop.interpolation": "cv2_area", "image.transform[].at_least_one_bbox_random_crop": "30", "image.transform[].at_least_one_bbox_random_crop.size": "[30, 40]", "image.transform[].at_least_one_bbox_random_crop.erosion_factor": "0.3", "image.transform[].at_least_one_bbox_random_crop.p": "0.5", "image.transform[].resized_crop": "30", "image.transform[].resized_crop.size": "[30, 40]", "image.transform[].resized_crop.scale": "[0.3, 1]", "image.transform[].resized_crop.ratio": "[1, 1]", "image.transform[].resized_crop.height": "[8, 16]", "image.transform[].resized_crop.p": "0.5", "image.transform[].resized_crop.interpolation": "cv2_area", "image.transform[].random_scale": "[0.5, 2]", "image.transform[].random_scale.scale": "0.7", "image.transform[].random_scale.p": "1", "image.transform[].random_scale.interpolation": "cv2_area",
	"image.transform[].cv2_autocontrast": "3", "image.transform[].cv2_autocontrast.cutoff": "2.5", "image.transform[].cv2_autocontrast.method": "pil", "image.transform[].cv2_autocontrast.p": "1", "image.transform[].salt_and_pepper": "0.1", "image.transform[].salt_and_pepper.amount": "[0, 0.3]", "image.transform[].salt_and_pepper.salt_vs_pepper": "0.9", "image.transform[].salt_and_pepper.p": "1", "image.transform[].planckian_jitter": "{}", "image.transform[].planckian_jitter.mode": "cied", "image.transform[].planckian_jitter.temperature": "[5000, 7000]", "image.transform[].planckian_jitter.sampling": "gaussian", "image.transform[].planckian_jitter.p": "1", "image.transform[].erasing": "0.2", "image.transform[].erasing.scale": "[0.1, 0.2]", "image.transform[].erasing.ratio": "[1, 2]", "image.transform[].erasing.p": "1", "image.transform[].erasing.fill": "9",
	"image.transform[].advanced_blur": "5", "image.transform[].advanced_blur.kernel_size": "[3, 9]", "image.transform[].advanced_blur.sigma_x": "2", "image.transform[].advanced_blur.sigma_y": "[1, 2]", "image.transform[].advanced_blur.rotate": "30", "image.transform[].advanced_blur.beta": "[0.2, 3]", "image.transform[].advanced_blur.noise": "[0.5, 2]", "image.transform[].advanced_blur.p": "1", "image.transform[].defocus": "4", "image.transform[].defocus.radius": "[2, 5]", "image.transform[].defocus.alias_blur": "1", "image.transform[].defocus.p": "1", "image.transform[].ringing_overshoot": "9", "image.transform[].ringing_overshoot.kernel_size": "[5, 9]", "image.transform[].ringing_overshoot.cutoff": "[1, 2]", "image.transform[].ringing_overshoot.p": "1", "image.transform[].glass_blur": "0.5", "image.transform[].glass_blur.sigma": "1", "image.transform[].glass_blur.max_delta": "2", "image.transform[].glass_blur.iterations": "1", "image.transform[].glass_blur.mode": "exact", "image.transform[].glass_blur.p": "1", "image.transform[].zoom_blur": "1.2", "image.transform[].zoom_blur.max_factor": "[1.1, 1.5]", "image.transform[].zoom_blur.step_factor": "0.05", "image.transform[].zoom_blur.p": "1", "image.transform[].random_fog": "0.5", "image.transform[].random_fog.intensity": "[0.1, 0.2]", "image.transform[].random_fog.alpha": "0.2", "image.transform[].random_fog.p": "1", "image.transform[].random_rain.type": "heavy", "image.transform[].random_rain.slant": "[0, 5]", "image.transform[].random_rain.length": "20", "image.transform[].random_rain.blur": "3", "image.transform[].random_rain.brightness": "0.9", "image.transform[].random_rain.p": "1", "image.transform[].random_rain.fill": "[180, 180, 200]", "image.transform[].random_rain": "{}", "image.transform[].random_snow": "0.5", "image.transform[].random_snow.snow_point": "[0.2, 0.4]", "image.transform[].random_snow.brightness": "2", "image.transform[].random_snow.p": "1", "image.transform[].random_sun_flare": "{}", "image.transform[].random_sun_flare.roi": "[0, 0, 1, 1]", "image.transform[].random_sun_flare.angle": "0.5", "image.transform[].random_sun_flare.circles": "3", "image.transform[].random_sun_flare.radius": "100", "image.transform[].random_sun_flare.p": "1", "image.transform[].random_sun_flare.fill": "[255, 240, 200]", "image.transform[].shot_noise": "0.2", "image.transform[].shot_noise.scale": "[0.1, 0.5]", "image.transform[].shot_noise.p": "1", "image.transform[].fancy_pca": "0.2", "image.transform[].fancy_pca.alpha": "0.3", "image.transform[].fancy_pca.p": "1",
	"image.transform[].random_shadow": "0.3", "image.transform[].random_shadow.intensity": "[0.2, 0.4]", "image.transform[].random_shadow.count": "3", "image.transform[].random_shadow.corners": "4", "image.transform[].random_shadow.roi": "[0, 0, 0.5, 1]", "image.transform[].random_shadow.p": "1",
	"image.transform[].elastic_transform": "60", "image.transform[].elastic_transform.alpha": "[40, 60]", "image.transform[].elastic_transform.sigma": "4", "image.transform[].elastic_transform.p": "0.5", "image.transform[].elastic_transform.interpolation": "nearest", "image.transform[].elastic_transform.fill": "[1, 2, 3]",
	"image.transform[].rand_augment": "12", "image.transform[].rand_augment.num_ops": "3", "image.transform[].rand_augment.magnitude": "5",
	"image.transform[].rand_augment.num_magnitude_bins": "11", "image.transform[].rand_augment.interpolation": "bilinear", "image.transform[].trivial_augment_wide": "{}",
	"image.transform[].trivial_augment_wide.num_magnitude_bins": "11", "image.transform[].trivial_augment_wide.interpolation": "bilinear", "image.transform[].auto_augment": "svhn",
	"image.transform[].auto_augment.policy": "cifar10", "image.transform[].auto_augment.interpolation": "bilinear", "image.transform[].gaussian_blur": "23",
	"image.transform[].gaussian_blur.kernel_size": "9", "image.transform[].gaussian_blur.sigma": "[0.5, 1]", "image.transform[].gaussian_blur.p": "0.1",
	"image.transform[].cv2_affine": "{degrees: 3}", "image.transform[].cv2_affine.degrees": "20", "image.transform[].cv2_affine.translate": "0.1", "image.transform[].cv2_affine.translate_px": "[-3, 4]", "image.transform[].cv2_affine.scale": "[0.5, 2, 1, 3]", "image.transform[].cv2_affine.keep_ratio": "true", "image.transform[].cv2_affine.shear": "[1, 9]", "image.transform[].cv2_affine.fit": "true", "image.transform[].cv2_affine.p": "1", "image.transform[].cv2_affine.interpolation": "cv2_nearest", "image.transform[].cv2_affine.padding_mode": "reflect", "image.transform[].cv2_affine.fill": "9",
	"image.transform[].hue_saturation_value": "{}", "image.transform[].hue_saturation_value.hue": "9", "image.transform[].hue_saturation_value.saturation": "[1, 2]", "image.transform[].hue_saturation_value.value": "9", "image.transform[].hue_saturation_value.p": "1",
	"image.transform[].rgb_shift": "{}", "image.transform[].rgb_shift.red": "9", "image.transform[].rgb_shift.green": "[1, 2]", "image.transform[].rgb_shift.blue": "9", "image.transform[].rgb_shift.p": "1",
	"image.transform[].cv2_color_jitter": "{}", "image.transform[].cv2_color_jitter.brightness": "0.3", "image.transform[].cv2_color_jitter.contrast": "0.3", "image.transform[].cv2_color_jitter.saturation": "[0.5, 2]", "image.transform[].cv2_color_jitter.hue": "0.3", "image.transform[].cv2_color_jitter.p": "1",
	"image.transform[].box_blur": "5", "image.transform[].box_blur.kernel_size": "[3, 5]", "image.transform[].box_blur.p": "1", "image.transform[].median_blur": "5", "image.transform[].median_blur.kernel_size": "[3, 5]", "image.transform[].median_blur.p": "1",
	"image.transform[].cv2_gaussian_blur": "{}", "image.transform[].cv2_gaussian_blur.sigma": "2", "image.transform[].cv2_gaussian_blur.kernel_size": "[3, 6]", "image.transform[].cv2_gaussian_blur.p": "1",
	"image.transform[].motion_blur": "5", "image.transform[].motion_blur.kernel_size": "[3, 5]", "image.transform[].motion_blur.angle": "[10, 20]", "image.transform[].motion_blur.direction": "0", "image.transform[].motion_blur.shifted": "false", "image.transform[].motion_blur.p": "1",
	"image.transform[].remap_classes": "reduce", "image.transform[].clahe": "{}", "image.transform[].clahe.clip_limit": "3", "image.transform[].clahe.tiles": "[4, 3]", "image.transform[].clahe.p": "1",
	"image.transform[].coarse_dropout": "{}", "image.transform[].coarse_dropout.holes": "[3, 8]", "image.transform[].coarse_dropout.height": "0.3", "image.transform[].coarse_dropout.width": "[0.1, 0.4]", "image.transform[].coarse_dropout.pixels": "true, height: 8, width: 8", "image.transform[].coarse_dropout.fill": "9", "image.transform[].coarse_dropout.p": "1",
	"image.transform[].random_brightness_contrast": "{}", "image.transform[].random_brightness_contrast.brightness": "0.3", "image.transform[].random_brightness_contrast.contrast": "[0.5, 2]", "image.transform[].random_brightness_contrast.p": "1", "image.transform[].random_gamma": "[0.5, 2]", "image.transform[].random_gamma.gamma": "0.7", "image.transform[].random_gamma.p": "1", "image.transform[].cv2_grayscale": "0.3",
	"image.transform[].cv2_perspective": "0.1", "image.transform[].cv2_perspective.scale": "[0, 0.2]", "image.transform[].cv2_perspective.p": "1", "image.transform[].cv2_perspective.interpolation": "cv2_nearest", "image.transform[].cv2_perspective.padding_mode": "edge", "image.transform[].cv2_perspective.fill": "9",
	"image.transform[].grid_dropout": "0.3", "image.transform[].grid_dropout.ratio": "0.7", "image.transform[].grid_dropout.grid": "[3, 4]", "image.transform[].grid_dropout.unit_size": "[2, 9]", "image.transform[].grid_dropout.random_offset": "false", "image.transform[].grid_dropout.shift": "[1, 2], random_offset: false", "image.transform[].grid_dropout.fill": "9", "image.transform[].grid_dropout.p": "1",
	"image.transform[].pixel_dropout": "0.3", "image.transform[].pixel_dropout.share": "0.2", "image.transform[].pixel_dropout.per_channel": "true", "image.transform[].pixel_dropout.fill": "9", "image.transform[].pixel_dropout.p": "1", "image.transform[].downscale": "[0.2, 0.5]", "image.transform[].downscale.scale": "0.5", "image.transform[].downscale.p": "1",
	"image.transform[].iso_noise": "[0.2, 0.4]", "image.transform[].iso_noise.intensity": "0.3", "image.transform[].iso_noise.color_shift": "[0, 0.2]", "image.transform[].iso_noise.p": "1",
	"image.transform[].morphological": "3", "image.transform[].morphological.kernel_size": "[3, 5]", "image.transform[].morphological.operation": "erosion", "image.transform[].morphological.p": "1",
	"image.transform[].multiplicative_noise": "[0.5, 2]", "image.transform[].multiplicative_noise.multiplier": "0.7", "image.transform[].multiplicative_noise.per_channel": "true", "image.transform[].multiplicative_noise.elementwise": "true", "image.transform[].multiplicative_noise.p": "1",
	"image.transform[].optical_distortion": "0.3", "image.transform[].optical_distortion.limit": "[0.1, 0.2]", "image.transform[].optical_distortion.p": "1", "image.transform[].optical_distortion.interpolation": "cv2_nearest", "image.transform[].optical_distortion.padding_mode": "reflect", "image.transform[].optical_distortion.fill": "9",
	"image.transform[].cv2_elastic_transform": "120", "image.transform[].cv2_elastic_transform.alpha": "90.5", "image.transform[].cv2_elastic_transform.sigma": "6", "image.transform[].cv2_elastic_transform.approximate": "true", "image.transform[].cv2_elastic_transform.same_dxdy": "true", "image.transform[].cv2_elastic_transform.noise_distribution": "uniform", "image.transform[].cv2_elastic_transform.p": "1", "image.transform[].cv2_elastic_transform.interpolation": "cv2_nearest", "image.transform[].cv2_elastic_transform.padding_mode": "reflect", "image.transform[].cv2_elastic_transform.fill": "9",
	"image.transform[].piecewise_affine": "{}", "image.transform[].piecewise_affine.scale": "[0.01, 0.1]", "image.transform[].piecewise_affine.rows": "[2, 7]", "image.transform[].piecewise_affine.columns": "6",
	"image.transform[].piecewise_affine.pixels": "true", "image.transform[].piecewise_affine.p": "0.3", "image.transform[].piecewise_affine.interpolation": "cv2_nearest",
	"image.transform[].grid_distortion": "{}", "image.transform[].grid_distortion.num_steps": "7", "image.transform[].grid_distortion.normalized": "false", "image.transform[].grid_distortion.limit": "0.2", "image.transform[].grid_distortion.p": "1", "image.transform[].grid_distortion.interpolation": "cv2_nearest", "image.transform[].grid_distortion.padding_mode": "edge", "image.transform[].grid_distortion.fill": "[1, 2, 3]",
	"image.transform[].transpose":           "0.5",
	"image.transform[].random_grid_shuffle": "[4, 5]", "image.transform[].random_grid_shuffle.grid": "[2, 3]", "image.transform[].random_grid_shuffle.p": "1",
	"image.transform[].unsharp_mask": "0.3", "image.transform[].unsharp_mask.alpha": "[0.1, 0.4]", "image.transform[].unsharp_mask.kernel_size": "5", "image.transform[].unsharp_mask.sigma": "[0, 2]", "image.transform[].unsharp_mask.threshold": "3", "image.transform[].unsharp_mask.p": "1",
	"image.transform[].sharpen": "0.3", "image.transform[].sharpen.alpha": "[0.1, 0.4]", "image.transform[].sharpen.lightness": "2", "image.transform[].sharpen.p": "1", "image.transform[].emboss": "{}", "image.transform[].emboss.alpha": "0.4", "image.transform[].emboss.strength": "[0, 3]", "image.transform[].emboss.p": "1",
	"image.transform[].to_sepia": "0.3", "image.transform[].random_tone_curve": "0.2", "image.transform[].random_tone_curve.scale": "0.3", "image.transform[].random_tone_curve.per_channel": "true", "image.transform[].random_tone_curve.p": "1",
	"image.transform[].channel_dropout": "2", "image.transform[].channel_dropout.channels": "[1, 2]", "image.transform[].channel_dropout.fill": "9", "image.transform[].channel_dropout.p": "1", "image.transform[].cv2_equalize": "0.3",
	"image.transform[].solarize": "{threshold: 128}", "image.transform[].solarize.threshold": "99.5", "image.transform[].solarize.p": "0.2", "image.transform[].posterize": "{bits: 3}",
	"image.transform[].posterize.bits": "4", "image.transform[].posterize.p": "0.1", "image.transform[].invert": "0.5", "image.transform[].adjust_sharpness": "{factor: 2}",
	"image.transform[].adjust_sharpness.factor": "1.5", "image.transform[].adjust_sharpness.p": "1", "image.transform[].adjust_sharpness.arithmetic": "torch", "image.transform[].autocontrast": "1", "image.transform[].autocontrast.p": "0.5", "image.transform[].autocontrast.arithmetic": "torch", "image.transform[].equalize": "0.1",
	"image.transform[].random_rotate90": "0.5", "image.transform[].random_photometric_distort": "0.3", "image.transform[].random_photometric_distort.p": "0.9", "image.transform[].random_photometric_distort.brightness": "0.1",
	"image.transform[].random_photometric_distort.contrast": "[1, 2]", "image.transform[].random_photometric_distort.saturation": "0", "image.transform[].random_photometric_distort.hue": "0.1", "image.transform[].random_channel_permutation": "1",
	"image.transform[].gaussian_noise": "[0, 0.2]", "image.transform[].gaussian_noise.sigma": "0.3", "image.transform[].gaussian_noise.mean": "-0.1", "image.transform[].gaussian_noise.p": "0.4",
	"image.transform[].jpeg": "[30, 95]", "image.transform[].jpeg.quality": "75", "image.transform[].jpeg.channels": "bgr", "image.transform[].jpeg.p": "0.5",
	"image.transform[].random_apply": "[{grayscale: 1}]", "image.transform[].random_apply.transforms": "[{invert: 1}, {jpeg: 9}]", "image.transform[].random_apply.p": "0.3",
	"image.transform[].random_order": "[{grayscale: 1}, {random_rotation: 9}]", "image.transform[].random_order.transforms": "[{invert: 1}]", "image.transform[].random_choice": "[{grayscale: 1}, {gaussian_blur: 3}]", "image.transform[].random_choice.transforms": "[{invert: 1}]", "image.transform[].random_choice.n": "2", "image.transform[].random_choice.p": "[1, 3]",
	"image.transform[].color_jitter": "{brightness: 0.4}", "image.transform[].color_jitter.p": "0.8", "image.transform[].color_jitter.brightness": "0.4",
	"image.transform[].color_jitter.contrast": "[0.5, 2]", "image.transform[].color_jitter.saturation": "3", "image.transform[].color_jitter.hue": "0.1", "image.transform[].normalize": "imagenet",
	"image.transform[].normalize.mean": "[0, 0, 0]", "image.transform[].normalize.std": "[1, 1, 1]", "image.dtype": "f16",
	"image.from": "[seg.png, png]", "video.from": "mp4", "audio.from": "wav", "fields": "{a: {image: {transform: [center_crop: 2]}}}", "fields.NAME": "{audio: {rate: 8, length: 8}}", "fields.NAME.draw": "own",
	"image.transform[].random_iou_crop": "{}", "image.transform[].random_iou_crop.min_scale": "0.2", "image.transform[].random_iou_crop.max_scale": "0.9", "image.transform[].random_iou_crop.min_aspect_ratio": "0.4",
	"image.transform[].random_iou_crop.max_aspect_ratio": "3", "image.transform[].random_iou_crop.sampler_options": "[0.5, 2]", "image.transform[].random_iou_crop.trials": "9",
	"image.boxes": "b", "image.boxes.column": "b", "image.boxes.format": "cxcywh", "image.boxes.normalized": "true", "image.boxes.min_size": "4.5", "image.boxes.min_area": "100", "image.boxes.min_visibility": "0.3", "image.boxes.with": "[c, d]", "image.boxes.masks": "s",
	"image.tiles": "8", "image.tiles.size": "9", "image.tiles.kind": "mllama", "image.tiles.min": "2", "image.tiles.max": "9", "image.tiles.thumbnail": "false", "image.tiles.grid_pinpoints": "[[8, 16], [16, 16]]", "image.tiles.longest_edge": "30",
	"image.tiles.interpolation": "lanczos", "image.tiles.shape": "ragged", "image.patches": "2", "image.patches.size": "2", "image.patches.merge": "3", "image.patches.temporal": "2", "image.patches.shape": "padded",
	"image.many": "8", "image.many.most": "8", "image.many.of": "[a, b]", "image.many.shape": "ragged", "image.many.over": "cut",
	"image.points": "{column: p}", "image.points.column": "p", "image.points.normalized": "true", "image.points.remove_invisible": "true", "image.points.with": "c",
	"image.layout": "NCHW", "image.affine": "true", "image.max_pixels": "1", "bad_sample": "{}", "bad_sample.policy": "fail", "bad_sample.max_count": "0",
	"bad_sample.max_rate": "0", "bad_sample.probation": "0", "ring": "{}", "ring.slots": "3", "ring.backing": "posix",
	"ring.access": "shared", "ring.mode": `"0640"`, "ring.max_consumers": "1", "ring.hash": "xxh3", "ring.delivery": "ready", "ring.ahead": "2", "ring.reconnect": "10s", "journal": "j", "ring.groups": "[]",
	"ring.groups[].name": "g", "ring.groups[].kind": "stage", "ring.groups[].mode": "lanes", "ring.groups[].lanes": "1", "ring.groups[].slow": "drop", "ring.groups[].redeliver": "false",
	"source.host": "{samples: 7}", "source.host.samples": "3", "source.host.timeout": "5s", "source.host.stream": "true",
	"source.heading": "[path, label]", "source.mix[].heading": "true", "source.separator": `" "`, "source.mix[].separator": `"|"`,
	"source.arrays": "[{name: x, file: x.npy}]", "source.arrays[].name": "y", "source.arrays[].file": "[x.npy, y.npy]", "source.arrays[].dataset": "[/a, '/b{0..3}/*']", "source.arrays[].dtype": "u16", "source.arrays[].shape": "[3]",
	"source.arrays[].window": "4", "source.arrays[].step": "2", "source.arrays[].within": "3", "source.arrays[].pad_before": "1", "source.arrays[].pad_after": "1", "source.arrays[].is_pad": "true",
	"source.arrays[].max_bytes": "4KiB", "source.arrays[].max_length": "9", "source.arrays[].padded": "true",
	"source.episodes": "{ends: [3, 9]}", "source.episodes.ends": "x.zarr/meta/episode_ends", "source.episodes.lengths": "[3, 6]", "source.episodes.dataset": "/ends", "source.episodes.only": "[0]",
	"source.shards": "[a.tar]", "source.path": "'train/{image_id}.jpg'", "source.image": "[jpg]", "source.label": "cls", "source.columns": "[c]",
	"source.columns[].name": "c", "source.columns[].from": "x", "source.columns[].type": "i64", "source.columns[].max_bytes": "64KiB",
	"source.columns[].default": "none", "source.columns[].pad": "-100",
	"source.packing": "{length: 8}", "source.packing.length": "2048", "source.packing.strategy": "best_fit", "source.packing.long": "split", "source.packing.by": "n",
	"video": "{frames: 2, transform: [center_crop: 2]}", "video.frames": "2", "video.select": "{kind: all}", "video.select.kind": "keyframes", "video.select.step": "2",
	"video.select.rate": "2.5", "video.select.indices": "[0, -1]", "video.select.times": "[0.5, 1]", "video.select.nearest": "true", "video.select.column": "n", "video.select.random": "true",
	"video.select.num_clips": "3", "video.select.num_frames_per_clip": "4", "video.select.num_indices_between_frames": "5", "video.select.seconds_between_frames": "0.1",
	"video.select.seconds_between_clip_starts": "2", "video.select.sampling_range_start": "1", "video.select.sampling_range_end": "9", "video.select.policy": "wrap",
	"video.window": "{start: 1s}", "video.window.start": "1s", "video.window.duration": "1s", "video.window.start_column": "at", "video.window.duration_column": "at", "video.window.end_column": "at", "video.shape": "ragged", "video.over": "cut", "video.mode": "gray", "video.rotation": "ignore", "video.filter": "hflip", "video.hardware": "auto",
	"video.transform": "[center_crop: 2]", "video.dtype": "f16", "video.layout": "NCTHW", "video.colour": "accurate", "video.scaler": "area", "video.stream": "1", "video.threads": "2",
	"video.seek": "approximate", "video.max_pixels": "1", "video.timeout": "5s",
	"audio": "{rate: 8, length: 8}", "audio.rate": "8000", "audio.channels": "2", "audio.select": "[1, 0]", "audio.select.column": "n", "audio.length": "1s", "audio.shape": "padded", "audio.crop": "random",
	"audio.window": "{start: 1s}", "audio.window.of": "video", "audio.window.start": "1s", "audio.window.duration": "1s", "audio.window.start_column": "at", "audio.window.duration_column": "at", "audio.window.end_column": "at", "audio.filter": "anull", "audio.speed": "{factors: [1]}", "audio.speed.factors": "[0.9, 1, 1.1]",
	"audio.noise": "{snr_db: [0, 9]}", "audio.noise.snr_db": "[5, 20]", "audio.noise.p": "0.5", "audio.noise.color": "pink", "audio.noise.from": "d", "audio.noise.memory_bytes": "1MiB", "audio.reverb": "{from: d}", "audio.reverb.from": "e", "audio.reverb.p": "0.5", "audio.reverb.memory_bytes": "1GiB", "audio.gain": "{db: [0, 0]}", "audio.gain.db": "[-6, 6]", "audio.gain.p": "0.5",
	"audio.polarity_inversion": "0.5", "audio.pre_emphasis": "0.97",
	"audio.resample": "{}", "audio.resample.method": "swresample",
	"audio.resample.width": "64", "audio.resample.rolloff": "0.9", "audio.resample.beta": "8.5", "audio.resample.filters": "f64", "audio.normalize": "{to: peak}", "audio.normalize.to": "loudness",
	"audio.normalize.level": "-20", "audio.features": "{kind: mel}", "audio.features.kind": "mfcc", "audio.features.n_fft": "512", "audio.features.win_length": "256",
	"audio.features.hop_length": "128", "audio.features.power": "1", "audio.features.center": "false", "audio.features.normalized": "true", "audio.features.n_mels": "64",
	"audio.features.f_min": "20", "audio.features.f_max": "3000", "audio.features.mel_scale": "slaney", "audio.features.norm": "slaney", "audio.features.log": "db", "audio.features.pad_mode": "constant", "audio.features.filters": "f64", "audio.features.ref": "max", "audio.features.amin": "1e-5",
	"audio.features.window_type": "hamming", "audio.features.int16": "true", "audio.features.snip_edges": "false", "audio.features.padding": "silence", "audio.features.top_db": "80", "audio.features.n_mfcc": "13", "audio.features.cmvn": "mean",
	"audio.features.normalize": "{mean: 1, std: 2}", "audio.features.normalize.mean": "[1, 2]", "audio.features.normalize.std": "3",
	"audio.features.frequency_mask": "{freq_mask_param: 3}", "audio.features.frequency_mask.freq_mask_param": "27", "audio.features.frequency_mask.count": "2", "audio.features.frequency_mask.iid_masks": "true",
	"audio.features.time_mask": "{time_mask_param: 3}", "audio.features.time_mask.time_mask_param": "27", "audio.features.time_mask.count": "2", "audio.features.time_mask.iid_masks": "true", "audio.features.time_mask.p": "0.2", "audio.features.mask_value": "mean", "audio.raw": "{encoding: s16, rate: 1, channels: 1}", "audio.raw.encoding": "u8", "audio.raw.rate": "8000",
	"audio.raw.channels": "2", "audio.dtype": "i16", "audio.layout": "NLC", "audio.max_frames": "1000", "audio.timeout": "5s",
	"source.columns[].dtype": "f32", "source.columns[].shape": "[2, 3]", "source.columns[].max_length": "9", "source.columns[].padded": "true",
	"source.index": "beside", "source.local_timeout": "5s", "source.remote": "{}", "source.remote.endpoint": "http://h", "source.remote.region": "r", "source.remote.profile": "p",
	"source.remote.anonymous": "true", "source.remote.addressing": "host", "source.remote.timeout": "5s", "source.remote.retries": "0",
	"source.remote.hedge_after": "200ms", "cache": "{}", "cache.dir": "d", "cache.max_bytes": "1GiB", "cache.evict": "never", "cache.rows_bytes": "1MiB",
	"cache.rows_dir": "rows", "cache.video_index_dir": "indices", "cache.head_space": "3",
	"device": "{}", "device.cuda": "1", "device.slots": "4", "device.in_flight": "3", "device.decode": "nvjpeg", "device.jpeg_bytes": "4096", "device.finish": "{}", "device.finish.dtype": "f16", "device.finish.normalize": "imagenet",
	"device.finish.normalize.mean": "[0, 0, 0]", "device.finish.normalize.std": "[1, 1, 1]", "device.otherwise": "host", "device.restarts": "0",
	"limits": "{}", "limits.cpus": "1", "limits.memory": "1GiB", "limits.fetch": "1", "limits.read_ahead_bytes": "1", "http": "8080", "rings": "{a: {}}", "rings.NAME": "{}",
}

func init() { // a frame is transformed as a picture is
	for path, value := range maps.Clone(values) {
		if rest, ok := strings.CutPrefix(path, "image.transform[]"); ok {
			values["video.transform[]"+rest] = value
		}
	}
}

// beside is what an operation of a transform needs with one of its keys.
var beside = map[string]string{
	"crop.p": ", box: [0, 0, 9, 9]", "crop_and_pad.sample_independently": ", percent: [0, 0.1]", "crop_and_pad.keep_size": ", px: 3", "crop_and_pad.p": ", px: 3", "crop_and_pad.interpolation": ", px: 3", "crop_and_pad.padding_mode": ", px: 3", "crop_and_pad.fill": ", px: 3", "bbox_safe_random_crop.interpolation": ", size: 30", "at_least_one_bbox_random_crop.erosion_factor": ", size: 30", "at_least_one_bbox_random_crop.p": ", size: 30", "resized_crop.scale": ", size: 30", "resized_crop.ratio": ", size: 30", "resized_crop.height": ", size: 30", "resized_crop.p": ", size: 30", "resized_crop.interpolation": ", size: 30",
	"resize.interpolation": ", size: [1, 2]", "random_resized_crop.interpolation": ", size: 1", "random_resized_crop.scale": ", size: 1", "random_resized_crop.ratio": ", size: 1", "random_resized_crop.height": ", size: 1",
	"scale_jitter.target_size": "}}, {center_crop: {size: 3", "random_shortest_size.min_size": "}}, {center_crop: {size: 3", "random_shortest_size.max_size": ", min_size: 8}}, {center_crop: {size: 3", "random_shortest_size.interpolation": ", min_size: 8}}, {center_crop: {size: 3", "scale_jitter.scale_range": ", target_size: 8}}, {center_crop: {size: 3", "scale_jitter.interpolation": ", target_size: 8}}, {center_crop: {size: 3",
	"random_crop.padding": ", size: 1", "random_crop.padding_mode": ", size: 1", "center_crop.padding_mode": ", size: 1", "center_crop.position": ", size: 1", "center_crop.rounding": ", size: 1", "pad.padding": "}}, {random_crop: {size: 3", "pad.padding_mode": ", padding: 1}}, {random_crop: {size: 3",
	"pad.fill": ", padding: 1}}, {random_crop: {size: 3", "random_resize.min_size": ", max_size: 4}}, {center_crop: {size: 3", "random_resize.max_size": ", min_size: 1}}, {center_crop: {size: 3", "random_resize.interpolation": ", min_size: 1, max_size: 2}}, {center_crop: {size: 3", "resize.max_size": ", size: 1}}, {center_crop: {size: 3", "resize.rounding": ", size: 8}}, {center_crop: {size: 3", "resize.min_pixels": ", max_pixels: 900, multiple_of: 2}}, {center_crop: {size: 3", "resize.max_pixels": ", min_pixels: 1, multiple_of: 2}}, {center_crop: {size: 3", "resize.multiple_of": ", min_pixels: 1, max_pixels: 900}}, {center_crop: {size: 3", "resize.fit": ", size: [1, 2]", "resize.place": ", size: [1, 2], fit: contain", "resize.upscale": ", size: [1, 2], fit: contain", "resize.fill": ", size: [1, 2], fit: contain", "random_crop.fill": ", size: 1", "center_crop.fill": ", size: 1", "random_rotation.fill": ", degrees: 9", "random_affine.fill": ", degrees: 9", "normalize.mean": ", std: [1, 1, 1]", "normalize.std": ", mean: [0, 0, 0]", "color_jitter.p": ", hue: 0.1", "jpeg.p": ", quality: 50", "jpeg.channels": ", quality: 50", "solarize.p": ", threshold: 1",
	"timm_rand_augment.interpolation": ", config: rand-m9", "timm_rand_augment.fill": ", config: rand-m9", "random_rotation.interpolation": ", degrees: 9", "random_rotation.center": ", degrees: 9", "random_rotation.expand": ", degrees: 9}}, {center_crop: {size: 224", "random_affine.center": ", degrees: 9", "random_affine.translate": ", degrees: 9", "random_affine.scale": ", degrees: 9", "random_affine.shear": ", degrees: 9",
	"random_apply.p": ", transforms: [{grayscale: 1}]", "random_choice.p": ", transforms: [{grayscale: 1}, {invert: 1}]", "random_choice.n": ", transforms: [{grayscale: 1}, {invert: 1}, {equalize: 1}]", "random_affine.interpolation": ", degrees: 9", "posterize.p": ", bits: 1", "adjust_sharpness.p": ", factor: 2", "adjust_sharpness.arithmetic": ", factor: 2", "random_rotation.arithmetic": ", degrees: 9", "random_affine.arithmetic": ", degrees: 9", "color_jitter.arithmetic": ", hue: 0.1", "grayscale.arithmetic": ", p: 0.2", "autocontrast.arithmetic": ", p: 0.2", "gaussian_blur.p": ", kernel_size: 3", "gaussian_blur.sigma": ", kernel_size: 3",
}

const boxedSource = "source: {shards: a.tar, columns: [{name: b, type: npy, shape: [-1, 4], max_length: 9}, {name: p, type: npy, shape: [-1, 2], max_length: 9}, {name: c, type: npy, shape: [-1], max_length: 9}, {name: d, type: npy, shape: [-1], max_length: 9}, {name: s, max_bytes: 64KiB}]}\n"

// document writes one key with a value and whatever else the key needs around it.
func document(path, value string) string {
	const bucketed = "image: {transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}\n"
	source, image, rest := "source: {folder: p}\n", "image: {transform: [center_crop: 224]}\n", ""
	section, key, below := strings.Cut(path, ".")
	op, field, _ := strings.Cut(strings.TrimPrefix(path, "image.transform[]."), ".")
	if strings.HasSuffix(path, "_column") {
		source = "source: {list: a.csv, columns: [{name: at, type: f64}]}\n"
	}
	switch {
	case path == "fields":
		image = "fields: " + value + "\n"
	case path == "fields.NAME.draw":
		image = "fields: {a: {image: {transform: [center_crop: 2]}, draw: " + value + "}}\n"
	case path == "fields.NAME":
		image = "fields: {a: " + value + "}\n"
	case path == "image.from":
		source, image = "source: {shards: a.tar}\n", "image: {transform: [center_crop: 224], from: "+value+"}\n"
	case path == "video.from":
		source, image = "source: {shards: a.tar}\n", "video: {frames: 2, transform: [center_crop: 2], from: "+value+"}\n"
	case path == "audio.from":
		source, image = "source: {shards: a.tar}\n", "audio: {rate: 8000, length: 8, from: "+value+"}\n"
	case path == "source":
		source = "source: " + value + "\n"
	case path == "image":
		image = "image: " + value + "\n"
	case path == "source.root":
		source = "source: {list: l, root: " + value + "}\n"
	case path == "source.folder" || path == "source.list":
		source = "source: {" + key + ": " + value + "}\n"
	case path == "source.shards":
		source = "source: {shards: " + value + "}\n"
	case path == "source.heading":
		source = "source: {list: l.tsv, heading: " + value + "}\n"
	case path == "source.separator":
		source = "source: {list: l.txt, heading: [path, label], separator: " + value + "}\n"
	case path == "source.path":
		source = "source: {list: l.csv, path: " + value + "}\n"
	case path == "source.columns[].name":
		source = "source: {shards: a.tar, columns: [{name: " + value + "}]}\n"
	case path == "source.columns[].pad":
		source, image = "source: {shards: a.tar, packing: {length: 8}, columns: [{name: c, type: list, dtype: i32, pad: "+value+"}]}\n", ""
	case path == "source.packing":
		source, image = "source: {shards: a.tar, packing: "+value+", columns: [{name: c, type: list, dtype: i32}]}\n", ""
	case strings.HasPrefix(path, "source.packing."):
		with, more := "length: 8, ", ""
		switch lastKey(path) {
		case "length":
			with = ""
		case "by":
			more = ", {name: n, type: i64}"
		}
		source, image = "source: {shards: a.tar, packing: {"+with+lastKey(path)+": "+value+"}, columns: [{name: c, type: list, dtype: i32}"+more+"]}\n", ""
	case path == "source.columns[].padded":
		source = "source: {shards: a.tar, columns: [{name: c, type: npy, shape: [-1], max_length: 9, padded: " + value + "}]}\n"
	case path == "source.columns[].max_length":
		source = "source: {shards: a.tar, columns: [{name: c, type: npy, shape: [-1], max_length: " + value + "}]}\n"
	case path == "source.columns[].dtype" || path == "source.columns[].shape":
		source = "source: {shards: a.tar, columns: [{name: c, type: npy, " + lastKey(path) + ": " + value + "}]}\n"
	case strings.HasPrefix(path, "source.columns[]."):
		source = "source: {shards: a.tar, columns: [{name: c, " + lastKey(path) + ": " + value + "}]}\n"
	case path == "source.arrays":
		source, image = "source: {arrays: "+value+"}\n", ""
	case path == "source.arrays[].padded":
		source, image = "source: {arrays: [{name: x, file: x.h5, dataset: x, max_length: 9, padded: "+value+"}]}\n", ""
	case strings.HasPrefix(path, "source.arrays[]."):
		given := []string{"name: x", "file: x.bin", "dtype: u8"}
		given = slices.DeleteFunc(given, func(s string) bool {
			return strings.HasPrefix(s, lastKey(path)+":") || path == "source.arrays[].dataset" && strings.HasPrefix(s, "dtype:")
		})
		switch lastKey(path) {
		case "pad_before", "pad_after":
			given = append(given, "window: 4")
		case "is_pad":
			given = append(given, "window: 4, pad_after: 1")
		}
		source, image = "source: {arrays: [{"+strings.Join(given, ", ")+", "+lastKey(path)+": "+value+"}]}\n", ""
	case path == "source.episodes":
		source, image = "source: {arrays: [{name: x, file: x.npy}], episodes: "+value+"}\n", ""
	case strings.HasPrefix(path, "source.episodes."):
		with := map[string]string{"dataset": "ends: x.h5, ", "only": "ends: x.npy, "}[lastKey(path)]
		source, image = "source: {arrays: [{name: x, file: x.npy}], episodes: {"+with+lastKey(path)+": "+value+"}}\n", ""
	case path == "source.mix":
		source = "source: {mix: " + value + "}\n"
	case strings.HasPrefix(path, "source.mix[]."):
		with := map[string]string{"root": "list: l, ", "path": "list: l.csv, ", "heading": "list: l.tsv, ", "separator": "list: l.csv, ", "image": "shards: a.tar, ", "label": "shards: a.tar, ",
			"extensions": "folder: p, ", "labels": "folder: p, ", "weight": "folder: p, ", "only": "folder: p, ", "split": "shards: a, "}[lastKey(path)]
		source = "source: {mix: [{" + with + lastKey(path) + ": " + value + "}]}\n"
	case path == "source.host":
		source = "source: {host: " + value + "}\n"
	case path == "source.host.samples":
		source = "source: {host: {samples: " + value + "}}\n"
	case path == "source.host.stream":
		source, rest = "source: {host: {samples: 9, stream: "+value+"}}\n", "order: {shuffle: false}\n"
	case path == "source.host.timeout":
		source = "source: {host: {samples: 9, timeout: " + value + "}}\n"
	case path == "source.image" || path == "source.label" || path == "source.split" || path == "source.columns" || path == "source.only":
		source = "source: {shards: a.tar, " + key + ": " + value + "}\n"
	case strings.HasPrefix(path, "source.remote."):
		source = "source: {folder: p, remote: {" + lastKey(path) + ": " + value + "}}\n"
	case path == "order.rows" || path == "order.replacement":
		rest = "order: {weights: w, " + key + ": " + value + "}\n"
	case path == "order.buckets.by":
		rest = "order: {buckets: {by: " + value + "}}\n"
	case path == "order.buckets.count" || path == "order.buckets.max_total":
		rest = "order: {buckets: {by: n, " + lastKey(path) + ": " + value + "}}\n"
	case path == "order.buckets.multiple_of":
		rest = "order: {buckets: {by: n, max_total: 9, multiple_of: " + value + "}}\n"
	case strings.HasPrefix(path, "order.buckets.") && path != "order.buckets.sizes" && path != "order.buckets.area":
		with := map[string]string{"width": ", height: h", "height": ", width: w"}[lastKey(path)]
		image, rest = bucketed, "order: {buckets: {area: 262144, "+lastKey(path)+": "+value+with+"}}\n"
	case strings.HasPrefix(path, "order.buckets."):
		image, rest = bucketed, "order: {buckets: {"+lastKey(path)+": "+value+"}}\n"
	case path == "cache.video_index_dir":
		image, rest = "video: {frames: 1, transform: [center_crop: 8]}\n", "cache: {"+key+": "+value+"}\n"
	case path == "device.jpeg_bytes":
		rest = "device: {decode: nvjpeg, jpeg_bytes: " + value + "}\n"
	case strings.HasPrefix(path, "device.finish.normalize."):
		with := map[string]string{"mean": ", std: [1, 1, 1]", "std": ", mean: [0, 0, 0]"}[lastKey(path)]
		rest = "device: {finish: {normalize: {" + lastKey(path) + ": " + value + with + "}}}\n"
	case strings.HasPrefix(path, "device.finish."):
		rest = "device: {finish: {" + lastKey(path) + ": " + value + "}}\n"
	case path == "cache.rows_dir":
		rest = "cache: {rows_bytes: 1MiB, rows_dir: " + value + "}\n"
	case path == "cache.head_space":
		rest = "cache: {rows_bytes: 1MiB, head_space: " + value + "}\n"
	case section == "source" && below:
		source = "source: {folder: p, " + key + ": " + value + "}\n"
	case path == "image.transform":
		image = "image: {transform: " + value + "}\n"
	case strings.HasPrefix(path, "image.transform[]."):
		entry := "{" + op + ": " + value + "}"
		if field != "" {
			entry = "{" + op + ": {" + field + ": " + value + beside[op+"."+field] + "}}"
		}
		switch {
		case op == "random_zoom_out" || op == "random_iou_crop" || slices.Contains(cutting, op):
			entry += ", {center_crop: 224}"
		case !slices.Contains(geometries, op) && field != "expand": // which is of what stands ahead of it
			entry = "{center_crop: 224}, " + entry
		}
		image = "image: {transform: [" + entry + "]}\n"
		if op == remapClasses {
			image = "image: {mode: index, transform: [" + entry + "]}\n"
		}
		if slices.Contains(byBoxes, op) {
			source, image = boxedSource, "image: {transform: ["+entry+"], boxes: b}\n"
		}
	case strings.HasPrefix(path, "image.boxes") || strings.HasPrefix(path, "image.points"):
		source = boxedSource
		of, within, _ := strings.Cut(key, ".")
		entry := map[string]string{"boxes": "column: b", "points": "column: p"}[of]
		switch {
		case within == "":
			entry = value
		case within == "column":
			entry = "{column: " + value + "}"
		case path == "image.points.with":
			entry = "{" + entry + ", remove_invisible: true, with: " + value + "}"
		default:
			entry = "{" + entry + ", " + within + ": " + value + "}"
		}
		image = "image: {transform: [center_crop: 224], " + of + ": " + entry + "}\n"
	case path == "image.shape" && value == "ragged":
		image = "image: {transform: [resize: {size: 8, max_size: 9}], shape: " + value + "}\n"
	case path == "image.room" || path == "image.multiple_of":
		image = "image: {transform: [resize: {size: 8, max_size: 9}], shape: padded, " + key + ": " + value + "}\n"
	case path == "image.many":
		source, image = "source: {shards: a.tar}\n", "image: {transform: [center_crop: 224], many: "+value+"}\n"
	case strings.HasPrefix(path, "image.many."):
		with := map[bool]string{true: "most: 9, "}[lastKey(path) != "most"]
		source, image = "source: {shards: a.tar}\n", "image: {transform: [center_crop: 224], many: {"+with+lastKey(path)+": "+value+"}}\n"
	case strings.HasPrefix(path, "image.patches"):
		with := map[string]string{"patches": value, "size": "{size: " + value + "}"}[lastKey(path)]
		if with == "" {
			with = "{size: 2, " + lastKey(path) + ": " + value + "}"
		}
		image = "image: {transform: [resize: {max_pixels: 7200, multiple_of: 6, rounding: up}], patches: " + with + "}\n"
	case path == "image.tiles":
		image = "image: {tiles: " + value + "}\n"
	case strings.HasPrefix(path, "image.tiles."):
		with := map[string]string{"size": "", "grid_pinpoints": "size: 8, kind: llava_next, ", "longest_edge": "size: 8, kind: idefics3, "}
		before, is := with[lastKey(path)]
		if !is {
			before = "size: 8, "
		}
		image = "image: {tiles: {" + before + lastKey(path) + ": " + value + "}}\n"
	case section == "image" && below:
		image = "image: {transform: [center_crop: 224], " + key + ": " + value + "}\n"
	case path == "video":
		image = "video: " + value + "\n"
	case path == "video.transform":
		image = "video: {frames: 2, transform: " + value + "}\n"
	case strings.HasPrefix(path, "video.transform[]."):
		image = strings.Replace(document("image"+strings.TrimPrefix(path, "video"), value)[len(source):], "image: {", "video: {frames: 2, ", 1)
	case path == "video.select.kind":
		image = "video: {frames: 99, transform: [center_crop: 2], select: {kind: " + value + "}}\n"
	case path == "video.select.column":
		source = "source: {shards: a.tar, columns: [{name: n, type: f64}]}\n"
		image = "video: {transform: [center_crop: 2], select: {kind: times, column: " + value + "}}\n"
	case strings.HasPrefix(path, "video.select."):
		kind := map[string]string{"step": "every", "rate": "fps", "indices": "indices", "times": "times", "nearest": "fps, rate: 1", "random": "segments",
			"seconds_between_frames": "clips_at_random_timestamps", "seconds_between_clip_starts": "clips_at_regular_timestamps"}[lastKey(path)]
		image = "video: {frames: 99, transform: [center_crop: 2], select: {" + lastKey(path) + ": " + value + ", kind: " + cmp.Or(kind, "clips_at_random_indices") + "}}\n"
	case strings.HasPrefix(path, "video.window."):
		image = "video: {frames: 2, transform: [center_crop: 2], window: {" + lastKey(path) + ": " + value + "}}\n"
	case path == "video.frames":
		image = "video: {transform: [center_crop: 2], frames: " + value + "}\n"
	case section == "video":
		image = "video: {frames: 2, transform: [resize: [2, 2]], " + key + ": " + value + "}\n"
	case path == "audio":
		image = "audio: " + value + "\n"
	case path == "audio.rate":
		image = "audio: {length: 1s, rate: " + value + "}\n"
	case path == "audio.length":
		image = "audio: {rate: 8000, length: " + value + "}\n"
	case strings.HasPrefix(path, "audio.normalize."):
		with := map[string]string{"level": ", to: loudness"}[lastKey(path)]
		image = "audio: {rate: 8000, length: 8, normalize: {" + lastKey(path) + ": " + value + with + "}}\n"
	case strings.HasPrefix(path, "audio.noise.") || strings.HasPrefix(path, "audio.gain.") || strings.HasPrefix(path, "audio.reverb."):
		part, key, _ := strings.Cut(strings.TrimPrefix(path, "audio."), ".")
		with := map[string]string{"noise": ", snr_db: [0, 0]", "gain": ", db: [0, 0]", "reverb": ", from: d"}[part]
		switch {
		case strings.HasSuffix(key, "db") || path == "audio.reverb.from":
			with = ""
		case path == "audio.noise.memory_bytes":
			with += ", from: d"
		}
		image = "audio: {rate: 8000, length: 8, " + part + ": {" + key + ": " + value + with + "}}\n"
	case path == "audio.features.mask_value":
		image = "audio: {rate: 8000, length: 8, features: {kind: mel, time_mask: {time_mask_param: 3}, " + lastKey(path) + ": " + value + "}}\n"
	case strings.HasPrefix(path, "audio.features.frequency_mask.") || strings.HasPrefix(path, "audio.features.time_mask."):
		part, key, _ := strings.Cut(strings.TrimPrefix(path, "audio.features."), ".")
		with := map[string]string{"frequency_mask": ", freq_mask_param: 3", "time_mask": ", time_mask_param: 3"}[part]
		if strings.HasSuffix(key, "_param") {
			with = ""
		}
		image = "audio: {rate: 8000, length: 8, features: {kind: mel, " + part + ": {" + key + ": " + value + with + "}}}\n"
	case strings.HasPrefix(path, "audio.features.normalize."):
		with := map[string]string{"mean": ", std: 1", "std": ", mean: 0"}[lastKey(path)]
		image = "audio: {rate: 8000, length: 8, features: {kind: mel, normalize: {" + lastKey(path) + ": " + value + with + "}}}\n"
	case strings.HasPrefix(path, "audio.features."):
		with := ", kind: mfcc"
		switch lastKey(path) {
		case "kind":
			with = ""
		case "window_type", "int16", "snip_edges":
			with = ", kind: fbank"
		}
		image = "audio: {rate: 8000, length: 8, features: {" + lastKey(path) + ": " + value + with + "}}\n"
	case strings.HasPrefix(path, "audio.raw."):
		with := map[string]string{"encoding": ", rate: 1, channels: 1", "rate": ", encoding: u8, channels: 1", "channels": ", rate: 1, encoding: u8"}
		image = "audio: {rate: 8000, length: 8, raw: {" + lastKey(path) + ": " + value + with[lastKey(path)] + "}}\n"
	case path == "audio.select.column":
		source = "source: {list: a.csv, columns: [{name: n, type: i64}]}\n"
		image = "audio: {rate: 8000, length: 8, select: {column: " + value + "}}\n"
	case path == "audio.window.of":
		image = "video: {frames: 2, transform: [center_crop: 2]}\naudio: {rate: 8000, length: 8, window: {of: " + value + "}}\n"
	case strings.HasPrefix(path, "audio.window.") || strings.HasPrefix(path, "audio.resample.") || strings.HasPrefix(path, "audio.speed."):
		part, key, _ := strings.Cut(strings.TrimPrefix(path, "audio."), ".")
		image = "audio: {rate: 8000, length: 8, " + part + ": {" + key + ": " + value + "}}\n"
	case section == "audio":
		image = "audio: {rate: 8000, length: 8, " + key + ": " + value + "}\n"
	case path == "ring.ahead":
		rest = "ring: {delivery: ready, ahead: " + value + "}\n"
	case path == "ring.groups[].name":
		rest = "ring: {groups: [{name: " + value + "}]}\n"
	case strings.HasPrefix(path, "ring.groups[]."):
		rest = "ring: {groups: [{name: g, " + strings.TrimPrefix(path, "ring.groups[].") + ": " + value + "}]}\n"
	case path == "rings.NAME":
		rest = "rings: {a: " + value + "}\n"
	case below:
		rest = section + ": {" + key + ": " + value + "}\n"
	default:
		rest = path + ": " + value + "\n"
	}
	return source + image + rest
}

// Every key of the table is read, and the reader asks for no key that the table lacks (it panics if it does).
func TestEveryKeyOfTheTableIsRead(t *testing.T) {
	for _, k := range Keys() {
		value, ok := values[k.Path]
		if !ok {
			t.Errorf("%s: no example in this test", k.Path)
			continue
		}
		if _, err := Parse([]byte(document(k.Path, value)), "x.yaml"); err != nil {
			t.Errorf("%s: %v\n%s", k.Path, err, document(k.Path, value))
		}
		// A value of the wrong kind is noticed: the key is not merely tolerated.
		if _, err := Parse([]byte(document(k.Path, "&a [*a]")), "x.yaml"); err == nil {
			t.Errorf("%s: takes a list of itself", k.Path)
		}
	}
}

// A default that the table writes out is the one that is in force.
func TestDefaultsOfTheTableAreInForce(t *testing.T) {
	checked := 0
	for _, k := range Keys() {
		if strings.HasPrefix(k.Default, "(") {
			continue
		}
		without := document(k.Path, "DEFAULT")
		if i := strings.Index(without, ", "+lastKey(k.Path)+": DEFAULT"); i >= 0 {
			without = strings.Replace(without, ", "+lastKey(k.Path)+": DEFAULT", "", 1)
		} else {
			without = strings.Replace(strings.Replace(without, lastKey(k.Path)+": DEFAULT, ", "", 1), lastKey(k.Path)+": DEFAULT", "", 1)
		}
		without = strings.Replace(strings.Replace(without, ", {}]", "]", 1), "\n\n", "\n", 1)
		a, errA := Parse([]byte(document(k.Path, k.Default)), "x.yaml")
		b, errB := Parse([]byte(without), "x.yaml")
		if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s is not the default: %v %v\n%s%s", k.Path, k.Default, errA, errB, document(k.Path, k.Default), without)
		}
		checked++
	}
	if checked < 25 {
		t.Errorf("only %d defaults checked", checked)
	}
}

func lastKey(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// A description of one sample is read for every sample, and each of its keys asks for these.
func TestNamesBelowAPathAreMadeOnce(t *testing.T) {
	for path, want := range map[string]string{"": "ring", "image": "layout", "image.transform[].resize": "size", "source.columns[]": "dtype"} {
		if names := children(path); !slices.Contains(names, want) || slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, ".[") }) {
			t.Errorf("below %q: got %q, want %q among names", path, names, want)
		}
		if n := testing.AllocsPerRun(10, func() { children(path) }); n != 0 {
			t.Errorf("below %q: asking made %v allocations, want none", path, n)
		}
	}
	if names := children("nowhere"); names != nil {
		t.Errorf("below no key: got %q", names)
	}
}

// The names of the top level are what a misspelt key is compared with.
func TestTopLevelNames(t *testing.T) {
	names := children("")
	if !slices.Contains(names, "rings") || slices.Contains(names, "rings.NAME") {
		t.Errorf("top level: %q", names)
	}
}
