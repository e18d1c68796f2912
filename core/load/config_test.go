package load

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
)

// Every key of a section reaches what makes its rows: with it they are described otherwise than without.
func TestEveryKeyReachesItsDecoder(t *testing.T) {
	described := func(section, keys string) any {
		s, err := spec.ParseSample([]byte(fmt.Sprintf(`{"%s": {%s}}`, section, keys)))
		if err != nil {
			t.Fatalf("%s: %s: %v", section, keys, err)
		}
		if section == "video" {
			return VideoConfig(s.Video)
		}
		c, err := AudioConfig(s.Audio, "audio")
		if err != nil {
			t.Fatalf("%s: %v", keys, err)
		}
		return c
	}
	for section, keys := range map[string][]string{
		"video": {
			`"frames": 3`, `"over": "cut"`, `"mode": "gray"`, `"rotation": "ignore"`, `"filter": "hflip"`, `"hardware": "auto"`, `"layout": "NCTHW"`, `"layout": "NTCHW"`,
			`"transform": [{"resize": [8, 9]}]`, `"transform": [{"center_crop": 3}]`, `"transform": [{"horizontal_flip": 0.5}]`, `"transform": [{"random_resized_crop": 8}]`,
			`"transform": [{"random_crop": 8}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "lanczos"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "box"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "random"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "height": [6, 9]}}]`, `"transform": [{"random_resized_crop": {"size": 8, "height": 6, "ratio": [2, 2]}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "hamming"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "cv2_linear"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "cv2_nearest"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "cv2_area"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "torch_nearest"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "torch_bilinear"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "torch_bicubic"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "torch_lanczos"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "torch_nearest_exact"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "cv2_cubic"}}]`, `"transform": [{"random_resized_crop": {"size": 8, "interpolation": "cv2_lanczos4"}}]`, `"transform": [{"resize": {"size": [8, 9], "fit": "letterbox"}}]`, `"transform": [{"resize": {"size": [8, 9], "fit": "letterbox", "upscale": false}}]`, `"transform": [{"random_resize": {"min_size": 8, "max_size": 10}}, {"center_crop": 9}]`, `"transform": [{"random_resize": {"min_size": 8, "max_size": 11}}, {"center_crop": 9}]`, `"transform": [{"random_resize": {"min_size": 9, "max_size": 11}}, {"center_crop": 9}]`, `"transform": [{"resize": {"size": [8, 9], "fit": "contain"}}]`, `"transform": [{"resize": {"size": [8, 9], "fit": "contain", "place": "top_left"}}]`, `"transform": [{"resize": {"size": [8, 9], "fit": "contain", "upscale": false}}]`,
			`"transform": [{"resize": {"size": [8, 9], "fit": "contain", "fill": 9}}]`, `"transform": [{"resize": 8}, {"center_crop": 9}]`, `"transform": [{"resize": {"size": 8, "max_size": 9}}, {"center_crop": 9}]`, `"transform": [{"resize": {"size": 8, "max_size": 9, "rounding": "detr"}}, {"center_crop": 9}]`, `"transform": [{"resize": {"size": 8, "max_size": 9, "rounding": "yolos"}}, {"center_crop": 9}]`, `"transform": [{"resize": {"max_size": 8}}, {"center_crop": 9}]`, `"transform": [{"resize": {"size": 8, "rounding": "nearest"}}, {"center_crop": 9}]`, `"transform": [{"center_crop": {"size": 9, "rounding": "down"}}]`, `"transform": [{"random_crop": {"size": 8, "fill": 2}}]`, `"transform": [{"center_crop": {"size": 3, "fill": [1, 2, 3]}}]`, `"transform": [{"random_rotation": {"degrees": 9, "fill": 3}}]`, `"transform": [{"random_affine": {"degrees": 9, "fill": 3}}]`, `"transform": [{"rand_augment": {"fill": 3}}]`, `"transform": [{"random_crop": {"size": 8, "padding": 2}}]`,
			`"transform": [{"random_crop": {"size": 8, "padding": [2, 3]}}]`, `"transform": [{"random_crop": {"size": 8, "padding": [2, 3, 4, 5]}}]`, `"transform": [{"random_crop": {"size": 8, "padding": 2, "padding_mode": "edge"}}]`,
			`"transform": [{"random_crop": {"size": 8, "padding": 2, "padding_mode": "reflect"}}]`, `"transform": [{"random_crop": {"size": 8, "padding": 2, "padding_mode": "symmetric"}}]`, `"transform": [{"center_crop": {"size": 3, "padding_mode": "edge"}}]`,
			`"transform": [{"scale_jitter": 9}, {"center_crop": 9}]`, `"transform": [{"scale_jitter": [9, 8]}, {"center_crop": 9}]`, `"transform": [{"scale_jitter": {"target_size": 9, "scale_range": [1, 2]}}, {"center_crop": 9}]`,
			`"transform": [{"resize": [6, 6]}, {"pad": 1}]`, `"transform": [{"resize": [6, 6]}, {"pad": {"padding": 1, "fill": 9}}]`, `"transform": [{"resize": [6, 6]}, {"pad": {"padding": 1, "padding_mode": "edge"}}]`, `"transform": [{"vertical_flip": 0.5}]`, `"transform": [{"grayscale": 0.5}]`, `"transform": [{"random_erasing": 0.5}]`, `"transform": [{"random_erasing": {"scale": [0.1, 0.2]}}]`, `"transform": [{"random_erasing": {"ratio": [1, 2]}}]`,
			`"transform": [{"random_erasing": {"value": 7}}]`, `"transform": [{"random_erasing": {"holes": 3}}]`, `"transform": [{"random_erasing": {"holes": 3, "height": 0.5}}]`, `"transform": [{"random_erasing": {"holes": 3, "width": 0.5}}]`, `"transform": [{"random_erasing": {"holes": 3, "pixels": true, "height": 1, "width": 1}}]`, `"transform": [{"random_erasing": {"value": [7, 8, 9]}}]`, `"dtype": "f32", "transform": [{"random_erasing": {"value": "random"}}]`, `"transform": [{"color_jitter": {"brightness": 0.5}}]`,
			`"transform": [{"color_jitter": {"contrast": 0.5}}]`, `"transform": [{"color_jitter": {"saturation": 0.5}}]`, `"transform": [{"color_jitter": {"hue": 0.5}}]`,
			`"transform": [{"color_jitter": {"hue": 0.5, "p": 0.5}}]`,
			`"transform": [{"random_rotation": 9}]`, `"transform": [{"random_rotation": {"degrees": 9, "center": [0, 0]}}]`, `"transform": [{"random_affine": {"degrees": 9, "center": [0, 0]}}]`, `"transform": [{"random_rotation": {"degrees": 9, "interpolation": "bilinear"}}]`, `"transform": [{"random_affine": {"degrees": 9}}]`,
			`"transform": [{"random_affine": {"degrees": 9, "translate": [0.1, 0]}}]`, `"transform": [{"random_affine": {"degrees": 9, "translate": [0, 0.1]}}]`,
			`"transform": [{"random_affine": {"degrees": 9, "scale": [1, 2]}}]`, `"transform": [{"random_affine": {"degrees": 9, "shear": 5}}]`,
			`"transform": [{"random_affine": {"degrees": 9, "shear": [0, 0, 0, 5]}}]`, `"transform": [{"random_affine": {"degrees": 9, "interpolation": "bilinear"}}]`,
			`"transform": [{"random_rotation": 9}, {"center_crop": 9}]`, `"transform": [{"resize": 10}, {"random_rotation": 9}, {"center_crop": 9}]`, `"transform": [{"random_rotation": 9}, {"resize": 10}, {"center_crop": 9}]`,
			`"transform": [{"random_rotation": {"degrees": 9, "expand": true}}, {"center_crop": 9}]`, `"transform": [{"random_rotation": 9}, {"center_crop": 9}, {"horizontal_flip": 0.5}]`, `"transform": [{"random_rotation": 9}, {"horizontal_flip": 0.5}, {"center_crop": 9}]`,
			`"transform": [{"horizontal_flip": 0.5}, {"random_rotation": 9}, {"center_crop": 9}]`,
			`"transform": [{"random_perspective": {}}]`, `"transform": [{"random_perspective": 0.6}]`, `"transform": [{"random_perspective": {"p": 0.6}}]`, `"transform": [{"random_perspective": {"interpolation": "nearest"}}]`, `"transform": [{"random_perspective": {"fill": 9}}]`,
			`"transform": [{"random_scale": {}}, {"center_crop": 9}]`, `"transform": [{"random_scale": 2}, {"center_crop": 9}]`, `"transform": [{"random_scale": {"p": 0.9}}, {"center_crop": 9}]`, `"transform": [{"random_scale": {"interpolation": "cv2_area"}}, {"center_crop": 9}]`, `"transform": [{"crop": [0, 0, 9, 9]}, {"center_crop": 9}]`, `"transform": [{"crop": [1, 0, 9, 9]}, {"center_crop": 9}]`, `"transform": [{"crop": [0, 1, 9, 9]}, {"center_crop": 9}]`, `"transform": [{"crop": [0, 0, 8, 9]}, {"center_crop": 9}]`, `"transform": [{"crop": [0, 0, 9, 8]}, {"center_crop": 9}]`, `"transform": [{"crop": {"box": [0, 0, 9, 9], "p": 0.5}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {"left": 0.2}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {"right": 0.2}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {"top": 0.2}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {"bottom": 0.2}}, {"center_crop": 9}]`, `"transform": [{"random_crop_from_borders": {"p": 0.2}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": 0.1}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": [0.1, 0.2]}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"percent": 1}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": [0.1, 0.2, 0.1, 0.1]}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"percent": [0.1, 0.2], "sample_independently": false}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1, "keep_size": false}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1, "p": 0.5}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1, "interpolation": "cv2_area"}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1, "padding_mode": "edge"}}, {"center_crop": 9}]`, `"transform": [{"crop_and_pad": {"px": 1, "fill": 9}}, {"center_crop": 9}]`, `"transform": [{"resized_crop": 9}, {"center_crop": 9}]`, `"transform": [{"resized_crop": [9, 8]}, {"center_crop": 9}]`, `"transform": [{"resized_crop": {"size": 9, "scale": [0.1, 1]}}, {"center_crop": 9}]`, `"transform": [{"resized_crop": {"size": 9, "ratio": [1, 1]}}, {"center_crop": 9}]`, `"transform": [{"resized_crop": {"size": 9, "height": 9}}, {"center_crop": 9}]`, `"transform": [{"resized_crop": {"size": 9, "p": 0.5}}, {"center_crop": 9}]`, `"transform": [{"resized_crop": {"size": 9, "interpolation": "cv2_area"}}, {"center_crop": 9}]`,
			`"transform": [{"random_zoom_out": {}}, {"center_crop": 9}]`, `"transform": [{"random_zoom_out": [1, 3]}, {"center_crop": 9}]`, `"transform": [{"random_zoom_out": [2, 4]}, {"center_crop": 9}]`, `"transform": [{"random_zoom_out": {"p": 0.6}}, {"center_crop": 9}]`, `"transform": [{"random_zoom_out": {"fill": 9}}, {"center_crop": 9}]`,
			`"transform": [{"elastic_transform": {"sigma": 0.5}}]`, `"transform": [{"elastic_transform": {"sigma": 0.4}}]`, `"transform": [{"elastic_transform": {"sigma": 0.5, "alpha": [5, 50]}}]`, `"transform": [{"elastic_transform": {"sigma": 0.5, "p": 0.5}}]`, `"transform": [{"elastic_transform": {"sigma": 0.5, "interpolation": "nearest"}}]`, `"transform": [{"elastic_transform": {"sigma": 0.5, "fill": 9}}]`,
			`"transform": [{"rand_augment": 9}]`, `"transform": [{"rand_augment": {"arithmetic": "torch"}}]`, `"transform": [{"aug_mix": {"arithmetic": "torch"}}]`, `"transform": [{"aug_mix": {"arithmetic": "torch", "fill": 0}}]`, `"transform": [{"random_perspective": {"arithmetic": "torch"}}]`, `"transform": [{"random_perspective": {"arithmetic": "torch", "fill": 0}}]`, `"transform": [{"random_rotation": {"degrees": 9, "arithmetic": "torch"}}]`, `"transform": [{"random_rotation": {"degrees": 9, "interpolation": "bilinear", "arithmetic": "torch"}}]`, `"transform": [{"random_rotation": {"degrees": 9, "interpolation": "bilinear", "fill": 0, "arithmetic": "torch"}}]`, `"transform": [{"random_affine": {"degrees": 9, "arithmetic": "torch"}}]`, `"transform": [{"rand_augment": 8}]`, `"transform": [{"rand_augment": {"num_ops": 3}}]`, `"transform": [{"rand_augment": {"num_magnitude_bins": 30}}]`,
			`"transform": [{"rand_augment": {"interpolation": "bilinear"}}]`, `"transform": [{"trivial_augment_wide": {}}]`, `"transform": [{"trivial_augment_wide": 30}]`,
			`"transform": [{"trivial_augment_wide": {"interpolation": "bilinear"}}]`, `"transform": [{"auto_augment": "imagenet"}]`, `"transform": [{"auto_augment": "cifar10"}]`,
			`"transform": [{"center_crop": {"size": 3, "position": "top_left"}}]`, `"transform": [{"center_crop": {"size": 3, "position": "top_right"}}]`, `"transform": [{"center_crop": {"size": 3, "position": "bottom_left"}}]`, `"transform": [{"center_crop": {"size": 3, "position": "bottom_right"}}]`,
			`"transform": [{"aug_mix": {}}]`, `"transform": [{"aug_mix": 4}]`, `"transform": [{"aug_mix": {"mixture_width": 4}}]`, `"transform": [{"aug_mix": {"chain_depth": 2}}]`, `"transform": [{"aug_mix": {"alpha": 0.5}}]`, `"transform": [{"aug_mix": {"all_ops": false}}]`, `"transform": [{"aug_mix": {"interpolation": "nearest"}}]`, `"transform": [{"aug_mix": {"fill": 9}}]`,
			`"transform": [{"timm_rand_augment": "rand-m9"}]`, `"transform": [{"timm_rand_augment": "rand-m8"}]`, `"transform": [{"timm_rand_augment": "rand-m9-n3"}]`, `"transform": [{"timm_rand_augment": "rand-m9-p0.6"}]`, `"transform": [{"timm_rand_augment": "rand-m9-mstd0.5"}]`,
			`"transform": [{"timm_rand_augment": "rand-m9-mstd101"}]`, `"transform": [{"timm_rand_augment": "rand-m9-mmax11"}]`, `"transform": [{"timm_rand_augment": "rand-m9-inc1"}]`, `"transform": [{"timm_rand_augment": {"config": "rand-m9", "interpolation": "bicubic"}}]`, `"transform": [{"timm_rand_augment": {"config": "rand-m9", "fill": 9}}]`,
			`"transform": [{"auto_augment": "svhn"}]`, `"transform": [{"auto_augment": {"interpolation": "bilinear"}}]`, `"transform": [{"gaussian_blur": 5}]`,
			`"transform": [{"gaussian_blur": {"kernel_size": 5, "sigma": 1}}]`, `"transform": [{"gaussian_blur": {"kernel_size": 5, "p": 0.5}}]`,
			`"transform": [{"cv2_affine": {}}]`, `"transform": [{"cv2_affine": {"degrees": 3}}]`, `"transform": [{"cv2_affine": {"translate": 0.1}}]`, `"transform": [{"cv2_affine": {"translate": [0, 0, 0, 0.1]}}]`, `"transform": [{"cv2_affine": {"translate_px": [0, 3]}}]`, `"transform": [{"cv2_affine": {"scale": 2}}]`, `"transform": [{"cv2_affine": {"scale": [1, 1, 1, 2]}}]`, `"transform": [{"cv2_affine": {"keep_ratio": true}}]`, `"transform": [{"cv2_affine": {"shear": 3}}]`, `"transform": [{"cv2_affine": {"fit": true}}]`, `"transform": [{"cv2_affine": {"shear": [0, 0, 0, 3]}}]`, `"transform": [{"cv2_affine": {"p": 0.9}}]`, `"transform": [{"cv2_affine": {"interpolation": "cv2_nearest"}}]`, `"transform": [{"cv2_affine": {"padding_mode": "reflect"}}]`, `"transform": [{"cv2_affine": {"fill": 9}}]`, `"transform": [{"hue_saturation_value": {}}]`, `"transform": [{"hue_saturation_value": {"hue": 3}}]`, `"transform": [{"hue_saturation_value": {"saturation": 3}}]`, `"transform": [{"hue_saturation_value": {"value": 3}}]`, `"transform": [{"hue_saturation_value": {"p": 0.9}}]`, `"transform": [{"rgb_shift": {}}]`, `"transform": [{"rgb_shift": {"red": 3}}]`, `"transform": [{"rgb_shift": {"green": 3}}]`, `"transform": [{"rgb_shift": {"blue": 3}}]`, `"transform": [{"rgb_shift": {"p": 0.9}}]`, `"transform": [{"cv2_color_jitter": {}}]`, `"transform": [{"cv2_color_jitter": {"brightness": 0.3}}]`, `"transform": [{"cv2_color_jitter": {"contrast": 0.3}}]`, `"transform": [{"cv2_color_jitter": {"saturation": 0.3}}]`, `"transform": [{"cv2_color_jitter": {"hue": 0.3}}]`, `"transform": [{"cv2_color_jitter": {"p": 0.9}}]`,
			`"transform": [{"box_blur": {}}]`, `"transform": [{"box_blur": 5}]`, `"transform": [{"box_blur": {"p": 0.9}}]`, `"transform": [{"median_blur": {}}]`, `"transform": [{"median_blur": 5}]`, `"transform": [{"median_blur": {"p": 0.9}}]`, `"transform": [{"cv2_gaussian_blur": {}}]`, `"transform": [{"cv2_gaussian_blur": 2}]`, `"transform": [{"cv2_gaussian_blur": {"kernel_size": 3}}]`, `"transform": [{"cv2_gaussian_blur": {"p": 0.9}}]`, `"transform": [{"motion_blur": {}}]`, `"transform": [{"motion_blur": 5}]`, `"transform": [{"motion_blur": {"angle": 5}}]`, `"transform": [{"motion_blur": {"direction": 0}}]`, `"transform": [{"motion_blur": {"shifted": false}}]`, `"transform": [{"motion_blur": {"p": 0.9}}]`, `"transform": [{"clahe": {}}]`, `"transform": [{"clahe": 3}]`, `"transform": [{"clahe": {"tiles": [4, 8]}}]`, `"transform": [{"clahe": {"tiles": [8, 4]}}]`, `"transform": [{"clahe": {"p": 0.9}}]`, `"transform": [{"coarse_dropout": {}}]`, `"transform": [{"coarse_dropout": {"holes": 3}}]`, `"transform": [{"coarse_dropout": {"height": 0.3}}]`, `"transform": [{"coarse_dropout": {"width": 0.3}}]`, `"transform": [{"coarse_dropout": {"height": 1, "width": 1}}]`, `"transform": [{"coarse_dropout": {"pixels": true, "height": 1, "width": 1}}]`, `"transform": [{"coarse_dropout": {"fill": 3}}]`, `"transform": [{"coarse_dropout": {"p": 0.9}}]`,
			`"transform": [{"random_brightness_contrast": {}}]`, `"transform": [{"random_brightness_contrast": {"brightness": 0.4}}]`, `"transform": [{"random_brightness_contrast": {"contrast": 0.4}}]`, `"transform": [{"random_brightness_contrast": {"p": 0.9}}]`, `"transform": [{"random_gamma": {}}]`, `"transform": [{"random_gamma": [1, 2]}]`, `"transform": [{"random_gamma": {"p": 0.9}}]`, `"transform": [{"cv2_grayscale": 0.5}]`, `"transform": [{"solarize": {"threshold": 128}}]`, `"transform": [{"solarize": {"threshold": 99}}]`, `"transform": [{"solarize": {"threshold": 128, "p": 0.2}}]`,
			`"transform": [{"posterize": {"bits": 3}}]`, `"transform": [{"posterize": {"bits": 4}}]`, `"transform": [{"posterize": {"bits": 3, "p": 0.2}}]`,
			`"transform": [{"adjust_sharpness": {"factor": 2}}]`, `"transform": [{"adjust_sharpness": {"factor": 3}}]`, `"transform": [{"adjust_sharpness": {"factor": 2, "p": 0.2}}]`,
			`"transform": [{"random_apply": [{"invert": 1}]}]`, `"transform": [{"random_apply": {"transforms": [{"invert": 1}], "p": 0.4}}]`, `"transform": [{"random_apply": [{"equalize": 1}]}]`, `"transform": [{"random_choice": [{"invert": 1}, {"equalize": 1}]}]`, `"transform": [{"random_choice": {"transforms": [{"invert": 1}, {"equalize": 1}], "p": [1, 2]}}]`, `"transform": [{"random_choice": {"transforms": [{"invert": 1}, {"equalize": 1}], "n": 2}}]`, `"transform": [{"random_choice": {"transforms": [{"invert": 1}, {"equalize": 1}, {"jpeg": 9}], "n": 2}}]`,
			`"transform": [{"cv2_perspective": {}}]`, `"transform": [{"cv2_perspective": 0.2}]`, `"transform": [{"cv2_perspective": {"p": 0.9}}]`, `"transform": [{"cv2_perspective": {"interpolation": "cv2_nearest"}}]`, `"transform": [{"cv2_perspective": {"padding_mode": "edge"}}]`, `"transform": [{"cv2_perspective": {"fill": 9}}]`,
			`"transform": [{"center_crop": 9}, {"grid_dropout": {}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": 0.3}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"grid": [3, 4]}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"unit_size": 3}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"random_offset": false}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"random_offset": false, "shift": [0, 1]}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"fill": 9}}]`, `"transform": [{"center_crop": 9}, {"grid_dropout": {"p": 0.9}}]`, `"transform": [{"pixel_dropout": {}}]`, `"transform": [{"pixel_dropout": 0.2}]`, `"transform": [{"pixel_dropout": {"per_channel": true}}]`, `"transform": [{"pixel_dropout": {"fill": 9}}]`, `"transform": [{"pixel_dropout": {"p": 0.9}}]`, `"transform": [{"downscale": {}}]`, `"transform": [{"downscale": 0.5}]`, `"transform": [{"downscale": {"p": 0.9}}]`,
			`"transform": [{"unsharp_mask": {}}]`, `"transform": [{"unsharp_mask": 0.3}]`, `"transform": [{"unsharp_mask": {"kernel_size": 3}}]`, `"transform": [{"unsharp_mask": {"sigma": 1}}]`, `"transform": [{"unsharp_mask": {"threshold": 9}}]`, `"transform": [{"unsharp_mask": {"p": 0.9}}]`,
			`"transform": [{"center_crop": 9}, {"random_grid_shuffle": {}}]`, `"transform": [{"center_crop": 9}, {"random_grid_shuffle": [3, 4]}]`, `"transform": [{"center_crop": 9}, {"random_grid_shuffle": {"p": 0.9}}]`,
			`"transform": [{"morphological": {}}]`, `"transform": [{"morphological": 5}]`, `"transform": [{"morphological": [5, 3]}]`, `"transform": [{"morphological": {"operation": "erosion"}}]`, `"transform": [{"morphological": {"p": 0.9}}]`,
			`"transform": [{"cv2_autocontrast": {}}]`, `"transform": [{"cv2_autocontrast": 3}]`, `"transform": [{"cv2_autocontrast": {"method": "pil"}}]`, `"transform": [{"cv2_autocontrast": {"p": 0.9}}]`, `"transform": [{"salt_and_pepper": {}}]`, `"transform": [{"salt_and_pepper": 0.5}]`, `"transform": [{"salt_and_pepper": {"salt_vs_pepper": 0.5}}]`, `"transform": [{"salt_and_pepper": {"p": 0.9}}]`, `"transform": [{"planckian_jitter": {}}]`, `"transform": [{"planckian_jitter": {"mode": "cied"}}]`, `"transform": [{"planckian_jitter": {"temperature": [5000, 7000]}}]`, `"transform": [{"planckian_jitter": {"sampling": "gaussian"}}]`, `"transform": [{"planckian_jitter": {"p": 0.9}}]`, `"transform": [{"erasing": {}}]`, `"transform": [{"erasing": 0.5}]`, `"transform": [{"erasing": {"ratio": [1, 1]}}]`, `"transform": [{"erasing": {"p": 0.9}}]`, `"transform": [{"erasing": {"fill": 9}}]`,
			`"transform": [{"random_shadow": {}}]`, `"transform": [{"random_shadow": 0.3}]`, `"transform": [{"random_shadow": {"count": 3}}]`, `"transform": [{"random_shadow": {"corners": 3}}]`, `"transform": [{"random_shadow": {"roi": [0, 0, 1, 1]}}]`, `"transform": [{"random_shadow": {"p": 0.9}}]`,
			`"transform": [{"advanced_blur": {}}]`, `"transform": [{"advanced_blur": 5}]`, `"transform": [{"advanced_blur": {"sigma_x": 2}}]`, `"transform": [{"advanced_blur": {"sigma_y": 2}}]`, `"transform": [{"advanced_blur": {"rotate": 9}}]`, `"transform": [{"advanced_blur": {"beta": [0.2, 3]}}]`, `"transform": [{"advanced_blur": {"noise": 2}}]`, `"transform": [{"advanced_blur": {"p": 0.9}}]`, `"transform": [{"defocus": {}}]`, `"transform": [{"defocus": 4}]`, `"transform": [{"defocus": {"alias_blur": 1}}]`, `"transform": [{"defocus": {"p": 0.9}}]`, `"transform": [{"ringing_overshoot": {}}]`, `"transform": [{"ringing_overshoot": 5}]`, `"transform": [{"ringing_overshoot": {"cutoff": 1}}]`, `"transform": [{"ringing_overshoot": {"p": 0.9}}]`, `"transform": [{"glass_blur": {}}]`, `"transform": [{"glass_blur": 0.3}]`, `"transform": [{"glass_blur": {"max_delta": 9}}]`, `"transform": [{"glass_blur": {"iterations": 3}}]`, `"transform": [{"glass_blur": {"mode": "exact"}}]`, `"transform": [{"glass_blur": {"p": 0.9}}]`, `"transform": [{"zoom_blur": {}}]`, `"transform": [{"zoom_blur": 1.2}]`, `"transform": [{"zoom_blur": {"step_factor": 0.1}}]`, `"transform": [{"zoom_blur": {"p": 0.9}}]`, `"transform": [{"random_fog": {}}]`, `"transform": [{"random_fog": 0.5}]`, `"transform": [{"random_fog": {"alpha": 0.2}}]`, `"transform": [{"random_fog": {"p": 0.9}}]`, `"transform": [{"random_rain": {}}]`, `"transform": [{"random_rain": {"type": "heavy"}}]`, `"transform": [{"random_rain": {"slant": 3}}]`, `"transform": [{"random_rain": {"length": 9}}]`, `"transform": [{"random_rain": {"blur": 3}}]`, `"transform": [{"random_rain": {"brightness": 0.5}}]`, `"transform": [{"random_rain": {"fill": 9}}]`, `"transform": [{"random_rain": {"p": 0.9}}]`, `"transform": [{"random_snow": {}}]`, `"transform": [{"random_snow": 0.5}]`, `"transform": [{"random_snow": {"brightness": 2}}]`, `"transform": [{"random_snow": {"p": 0.9}}]`, `"transform": [{"random_sun_flare": {}}]`, `"transform": [{"random_sun_flare": {"roi": [0, 0, 1, 1]}}]`, `"transform": [{"random_sun_flare": {"angle": 0.5}}]`, `"transform": [{"random_sun_flare": {"circles": 3}}]`, `"transform": [{"random_sun_flare": {"radius": 90}}]`, `"transform": [{"random_sun_flare": {"fill": 9}}]`, `"transform": [{"random_sun_flare": {"p": 0.9}}]`, `"transform": [{"shot_noise": {}}]`, `"transform": [{"shot_noise": 0.5}]`, `"transform": [{"shot_noise": {"p": 0.9}}]`, `"transform": [{"fancy_pca": {}}]`, `"transform": [{"fancy_pca": 0.5}]`, `"transform": [{"fancy_pca": {"p": 0.9}}]`,
			`"transform": [{"iso_noise": {}}]`, `"transform": [{"iso_noise": 0.5}]`, `"transform": [{"iso_noise": {"color_shift": 0.5}}]`, `"transform": [{"iso_noise": {"p": 0.9}}]`,
			`"transform": [{"multiplicative_noise": {}}]`, `"transform": [{"multiplicative_noise": 0.5}]`, `"transform": [{"multiplicative_noise": {"per_channel": true}}]`, `"transform": [{"multiplicative_noise": {"elementwise": true}}]`, `"transform": [{"multiplicative_noise": {"p": 0.9}}]`,
			`"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": 120}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"sigma": 6}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"approximate": true}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"same_dxdy": true}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"noise_distribution": "uniform"}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"p": 0.9}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"interpolation": "cv2_nearest"}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"padding_mode": "edge"}}]`, `"transform": [{"center_crop": 9}, {"cv2_elastic_transform": {"fill": 9}}]`,
			`"transform": [{"center_crop": 9}, {"optical_distortion": {}}]`, `"transform": [{"center_crop": 9}, {"optical_distortion": 0.3}]`, `"transform": [{"center_crop": 9}, {"optical_distortion": {"p": 0.9}}]`, `"transform": [{"center_crop": 9}, {"optical_distortion": {"interpolation": "cv2_nearest"}}]`, `"transform": [{"center_crop": 9}, {"optical_distortion": {"padding_mode": "edge"}}]`, `"transform": [{"center_crop": 9}, {"optical_distortion": {"fill": 9}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": 0.2}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"num_steps": 4}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"normalized": false}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"p": 0.9}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"interpolation": "cv2_nearest"}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"padding_mode": "edge"}}]`, `"transform": [{"center_crop": 9}, {"grid_distortion": {"fill": 9}}]`,
			`"transform": [{"center_crop": 9}, {"transpose": 0.5}]`, `"transform": [{"sharpen": {}}]`, `"transform": [{"sharpen": 0.3}]`, `"transform": [{"sharpen": {"lightness": 2}}]`, `"transform": [{"sharpen": {"p": 0.9}}]`, `"transform": [{"emboss": {}}]`, `"transform": [{"emboss": 0.3}]`, `"transform": [{"emboss": {"strength": 2}}]`, `"transform": [{"emboss": {"p": 0.9}}]`, `"transform": [{"to_sepia": 0.5}]`, `"transform": [{"random_tone_curve": {}}]`, `"transform": [{"random_tone_curve": 0.2}]`, `"transform": [{"random_tone_curve": {"per_channel": true}}]`, `"transform": [{"random_tone_curve": {"p": 0.9}}]`, `"transform": [{"channel_dropout": {}}]`, `"transform": [{"channel_dropout": 2}]`, `"transform": [{"channel_dropout": {"fill": 9}}]`, `"transform": [{"channel_dropout": {"p": 0.9}}]`, `"transform": [{"cv2_equalize": 0.5}]`,
			`"transform": [{"center_crop": 9}, {"random_rotate90": 0.5}]`, `"transform": [{"random_photometric_distort": 0.5}]`, `"transform": [{"random_photometric_distort": {"hue": 0}}]`, `"transform": [{"random_channel_permutation": 0.5}]`,
			`"transform": [{"gaussian_noise": 0.1}]`, `"transform": [{"gaussian_noise": [0, 0.1]}]`, `"transform": [{"gaussian_noise": {"mean": 0.1}}]`, `"transform": [{"gaussian_noise": {"p": 0.5}}]`,
			`"transform": [{"jpeg": 50}]`, `"transform": [{"jpeg": {"quality": 50, "channels": "bgr"}}]`, `"transform": [{"jpeg": [50, 60]}]`, `"transform": [{"jpeg": {"quality": 50, "p": 0.5}}]`,
			`"transform": [{"invert": 0.5}]`, `"transform": [{"autocontrast": 0.5}]`, `"transform": [{"autocontrast": {"p": 0.5, "arithmetic": "torch"}}]`, `"transform": [{"grayscale": {"p": 0.5, "arithmetic": "torch"}}]`, `"transform": [{"color_jitter": {"hue": 0.5, "arithmetic": "torch"}}]`, `"transform": [{"random_photometric_distort": {"p": 0.5, "arithmetic": "torch"}}]`, `"transform": [{"adjust_sharpness": {"factor": 2, "arithmetic": "torch"}}]`, `"transform": [{"equalize": 0.5}]`,
			`"transform": [{"resize": [8, 9]}, {"normalize": {"mean": [0.5, 0.5, 0.5], "std": [0.2, 0.2, 0.2]}}]`, `"colour": "accurate"`,
			`"scaler": "area", "transform": [{"resize": [8, 9]}]`, `"scaler": "bilinear", "transform": [{"resize": [8, 9]}]`,
			`"scaler": "bicubic", "transform": [{"resize": [8, 9]}]`, `"stream": 1`, `"threads": 2`, `"seek": "approximate"`, `"max_pixels": 1000`, `"timeout": "3s"`,
			`"window": {"start": "1s"}`, `"window": {"duration": "2s"}`, `"select": {"kind": "every", "step": 2}`, `"select": {"kind": "keyframes"}`,
			`"frames": 2, "select": {"kind": "uniform"}`, `"frames": 2, "select": {"kind": "segments"}`, `"frames": 2, "select": {"kind": "segments", "random": true}`,
			`"select": {"kind": "indices", "indices": [1]}`, `"select": {"kind": "times", "times": [1]}`, `"select": {"kind": "times", "times": [1], "nearest": true}`,
			`"select": {"kind": "fps", "rate": 3}`, `"select": {"kind": "fps", "rate": 3, "nearest": true}`, `"select": {"kind": "clips_at_random_indices"}`,
			`"select": {"kind": "clips_at_regular_indices"}`, `"select": {"kind": "clips_at_random_timestamps"}`,
			`"select": {"kind": "clips_at_regular_timestamps", "seconds_between_clip_starts": 1}`, `"select": {"kind": "clips_at_random_indices", "num_clips": 2}`,
			`"select": {"kind": "clips_at_random_indices", "num_frames_per_clip": 2}`, `"select": {"kind": "clips_at_random_indices", "num_indices_between_frames": 2}`,
			`"select": {"kind": "clips_at_random_timestamps", "seconds_between_frames": 2}`, `"select": {"kind": "clips_at_random_indices", "sampling_range_start": 2}`,
			`"select": {"kind": "clips_at_random_indices", "sampling_range_end": 2}`, `"select": {"kind": "clips_at_random_indices", "policy": "wrap"}`,
			`"select": {"kind": "clips_at_random_indices", "policy": "error"}`,
		},
		"audio": {
			`"rate": 8000`, `"channels": 1`, `"select": [0]`, `"length": 10`, `"length": 10, "crop": "random"`, `"length": 10, "crop": "center"`, `"length": 10, "crop": "start"`,
			`"dtype": "i16"`, `"layout": "NLC"`, `"window": {"start": "1s"}`, `"window": {"duration": "2s"}`, `"filter": "anull"`, `"max_frames": 99`, `"timeout": "3s"`, `"speed": {"factors": [0.9]}`, `"speed": {"factors": [0.9, 1.1]}`, `"noise": {"snr_db": [1, 2]}`,
			`"noise": {"snr_db": [1, 3]}`, `"noise": {"snr_db": [1, 2], "p": 0.5}`, `"noise": {"snr_db": [1, 2], "color": "pink"}`, `"noise": {"snr_db": [1, 2], "color": "brown"}`,
			`"gain": {"db": [1, 2]}`, `"gain": {"db": [1, 3]}`, `"gain": {"db": [1, 2], "p": 0.5}`, `"polarity_inversion": 0.5`, `"pre_emphasis": 0.97`, `"normalize": {"to": "zero_mean_unit_var"}`,
			`"rate": 8000, "resample": {"method": "swresample"}`, `"rate": 8000, "resample": {"method": "soxr_hq"}`, `"rate": 8000, "resample": {"width": 9}`, `"rate": 8000, "resample": {"rolloff": 0.5}`,
			`"rate": 8000, "resample": {"method": "sinc_interp_kaiser"}`, `"rate": 8000, "resample": {"method": "sinc_interp_kaiser", "beta": 9}`,
			`"normalize": {"to": "peak"}`, `"normalize": {"to": "loudness"}`, `"normalize": {"to": "loudness", "level": -20}`,
			`"raw": {"encoding": "s16", "rate": 8000, "channels": 1}`, `"raw": {"encoding": "f64", "rate": 8000, "channels": 1}`, `"raw": {"encoding": "s16", "rate": 9000, "channels": 1}`,
			`"features": {"kind": "mel"}`, `"features": {"kind": "mfcc"}`, `"features": {"kind": "spectrogram"}`, `"features": {"kind": "spectrogram", "power": 1}`,
			`"features": {"kind": "spectrogram", "n_fft": 300}`, `"features": {"kind": "spectrogram", "win_length": 300}`, `"features": {"kind": "spectrogram", "hop_length": 30}`,
			`"features": {"kind": "spectrogram", "center": false}`, `"features": {"kind": "spectrogram", "normalized": true}`, `"features": {"kind": "mel", "n_mels": 30}`,
			`"features": {"kind": "mel", "f_min": 30}`, `"features": {"kind": "mel", "f_max": 3000}`, `"features": {"kind": "mel", "mel_scale": "slaney"}`,
			`"features": {"kind": "mel", "norm": "slaney"}`, `"features": {"kind": "mel", "log": "db"}`, `"features": {"kind": "mel", "log": "ln"}`,
			`"features": {"kind": "mel", "log": "db", "top_db": 60}`, `"features": {"kind": "mel", "log": "db", "ref": 2}`, `"features": {"kind": "mel", "log": "db", "ref": "max"}`, `"features": {"kind": "mel", "log": "db", "amin": 1e-5}`, `"features": {"kind": "mel", "filters": "f64"}`, `"features": {"kind": "mel", "pad_mode": "constant"}`, `"features": {"kind": "mfcc", "n_mfcc": 12}`, `"features": {"kind": "mfcc", "log": "ln"}`,
			`"features": {"kind": "mel", "log": "log10"}`, `"features": {"kind": "mel", "cmvn": "mean"}`, `"features": {"kind": "mel", "cmvn": "mean_variance"}`,
			`"features": {"kind": "mel", "normalize": {"mean": 1, "std": 2}}`, `"features": {"kind": "mel", "normalize": {"mean": 1, "std": 3}}`, `"features": {"kind": "whisper"}`, `"features": {"kind": "fbank", "snip_edges": false}`, `"features": {"kind": "mel", "padding": 1}`, `"features": {"kind": "mel", "padding": "silence"}`, `"features": {"kind": "fbank"}`, `"features": {"kind": "fbank", "window_type": "hamming"}`, `"features": {"kind": "fbank", "int16": true}`, `"features": {"kind": "mel", "frequency_mask": {"freq_mask_param": 3}}`, `"features": {"kind": "mel", "frequency_mask": {"freq_mask_param": 3, "count": 2}}`,
			`"features": {"kind": "mel", "frequency_mask": {"freq_mask_param": 3, "iid_masks": true}}`, `"features": {"kind": "mel", "time_mask": {"time_mask_param": 3}}`, `"features": {"kind": "mel", "time_mask": {"time_mask_param": 3, "p": 0.5}}`,
			`"features": {"kind": "mel", "time_mask": {"time_mask_param": 3}, "mask_value": 2}`, `"features": {"kind": "mel", "time_mask": {"time_mask_param": 3}, "mask_value": "mean"}`, `"features": {"kind": "whisper", "n_mels": 128}`,
		},
	} {
		plain, seen := described(section, ""), map[string]any{}
		for _, key := range keys {
			got := described(section, key)
			if reflect.DeepEqual(got, plain) {
				t.Errorf("%s: %s says nothing", section, key)
			}
			for other, what := range seen {
				if reflect.DeepEqual(got, what) {
					t.Errorf("%s: %s says what %s does", section, key, other)
				}
			}
			seen[key] = got
		}
	}
}

// stepNames says which steps these are.
func stepNames(steps ...media.Placed) (all []string) {
	for _, s := range steps {
		name := strings.TrimPrefix(fmt.Sprintf("%T", s.Step), "*media.")
		if c, ok := s.Step.(media.Chance); ok {
			name = map[media.Simple]string{
				media.Flip: "Flip", media.VFlip: "VFlip", media.Quarters: "Quarters", media.Transpose: "Transpose", media.Permute: "Permute", media.Grayscale: "Grayscale", media.Invert: "Invert",
				media.Autocontrast: "Autocontrast", media.Equalize: "Equalize",
			}[c.Of]
		}
		all = append(all, name)
	}
	return all
}

// The steps of a transform are done in its order.
func TestStepsReachTheDecoderInTheirOrder(t *testing.T) {
	steps := strings.Split(`"horizontal_flip": 1|"vertical_flip": 1|"random_rotate90": 1|"random_rotation": 9|"random_affine": {"degrees": 9}|"random_perspective": {}|"elastic_transform": {"sigma": 0.5}|"rand_augment": 9|"color_jitter": {"hue": 0.1}|"random_photometric_distort": {}|"random_channel_permutation": 1|"grayscale": 1|`+
		`"gaussian_blur": 3|"solarize": {"threshold": 9}|"posterize": {"bits": 2}|"invert": 1|"adjust_sharpness": {"factor": 2}|"autocontrast": 1|"equalize": 1|"gaussian_noise": {}|"jpeg": 50`, "|")
	order := func(steps []string) []string {
		s, err := spec.ParseSample([]byte(`{"image": {"transform": [{"center_crop": 8}, {` + strings.Join(steps, "}, {") + `}, {"normalize": "imagenet"}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return stepNames(PictureConfig(s.Image).Steps...)
	}
	want := strings.Fields("Flip VFlip Quarters Rotation Affine Perspective Elastic Augment Jitter Distort Permute Grayscale Blur Solarize Posterize Invert Sharpness Autocontrast Equalize Noise JPEG")
	for _, way := range []string{"forwards", "backwards"} {
		if got := order(steps); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", way, got, want)
		}
		slices.Reverse(steps)
		slices.Reverse(want)
	}
	for _, augmentation := range []string{`"trivial_augment_wide": {}`, `"auto_augment": "svhn"`, `"timm_rand_augment": "rand-m9"`, `"aug_mix": {}`} {
		if got := order([]string{`"invert": 1`, augmentation}); !slices.Equal(got, []string{"Invert", "Augment"}) {
			t.Errorf("invert before %s: got %v", augmentation, got)
		}
	}
}

// The steps of groups stand where the group does, each with its share of what is drawn.
func TestGroupsReachTheDecoder(t *testing.T) {
	s, err := spec.ParseSample([]byte(`{"image": {"transform": [{"center_crop": 8}, {"random_choice": {"transforms": [{"grayscale": 1}, {"jpeg": 9}, {"equalize": 0.5}], "p": [1, 2, 1]}}, {"solarize": {"threshold": 9}}, {"random_apply": {"transforms": [{"invert": 1}, {"posterize": {"bits": 2}}], "p": 0.25}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := PictureConfig(s.Image)
	want := []media.Member{{Group: 2, Low: 0, High: 0.25}, {Group: 2, Low: 0.25, High: 0.75}, {Group: 2, Low: 0.75, High: 1}, {}, {Group: 1, Low: 0, High: 0.25}, {Group: 1, Low: 0, High: 0.25}}
	var got []media.Member
	for _, p := range c.Steps {
		got = append(got, p.Member)
	}
	if order := strings.Fields("Grayscale JPEG Equalize Solarize Invert Posterize"); !slices.Equal(got, want) || !slices.Equal(stepNames(c.Steps...), order) || c.Steps[2].Step != media.Step(media.Chance{Of: media.Equalize, P: 0.5}) {
		t.Errorf("got %v, %v, want %v, %v", got, stepNames(c.Steps...), want, order)
	}
	if _, err := media.Compile(c); err != nil {
		t.Error(err)
	}
}

// The steps whose order is drawn are a part of the decoder's order.
func TestAnOrderByChanceReachesTheDecoder(t *testing.T) {
	s, err := spec.ParseSample([]byte(`{"image": {"transform": [{"center_crop": 8}, {"invert": 1}, {"random_order": [{"horizontal_flip": 0.5}, {"random_rotation": 9}, {"equalize": 1}]}, {"solarize": {"threshold": 9}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := PictureConfig(s.Image)
	want := strings.Fields("Invert Flip Rotation Equalize Solarize")
	for i, p := range c.Steps {
		if len(c.Steps) != len(want) || p.Shuffled != (1 <= i && i < 4) || stepNames(p)[0] != want[i] {
			t.Errorf("got %+v, want 3 from 1 on of %v", c.Steps, want)
		}
	}
	if _, err := media.Compile(c); err != nil {
		t.Error(err)
	}
}

// What stands ahead of the geometry, and behind a resize, the decoders take as that.
func TestStepsAheadReachTheDecoderWhereTheyStand(t *testing.T) {
	const movers = `{"vertical_flip": 1}, {"random_perspective": {}}, {"random_affine": {"degrees": 9}}, {"random_rotation": {"degrees": 9, "expand": true}}, {"random_zoom_out": {}}, {"horizontal_flip": 1}`
	order := strings.Fields("VFlip Perspective Affine Rotation ZoomOut Flip")
	for transform, want := range map[string][2]int{
		movers + `, {"center_crop": 8}`: {6, 0}, movers + `, {"random_resized_crop": 8}, {"invert": 1}`: {6, 0}, movers + `, {"resize": [8, 8]}`: {6, 0}, movers + `, {"pad": 3}, {"random_crop": 8}`: {6, 0},
		`{"resize": 9}, ` + movers + `, {"center_crop": 8}`: {0, 6}, `{"random_resize": {"min_size": 8, "max_size": 9}}, ` + movers + `, {"random_crop": 8}`: {0, 6},
		`{"scale_jitter": 9}, ` + movers + `, {"pad": 3}, {"random_crop": 8}, {"invert": 1}`: {0, 6},
		`{"random_apply": [{"vertical_flip": 1}, {"random_perspective": {}}]}, {"random_order": [{"random_affine": {"degrees": 9}}, {"random_rotation": {"degrees": 9, "expand": true}}]}, {"resize": 9}, {"random_zoom_out": {}}, {"random_choice": [{"horizontal_flip": 1}]}, {"center_crop": 8}`: {4, 2},
		strings.Replace(strings.Replace(movers, `{"vertical_flip": 1}`, `{"transpose": 1}`, 1), `{"horizontal_flip": 1}`, `{"random_rotate90": 1}`, 1) + `, {"resize": [8, 9]}`:                                                                                                                     {6, 0},
		strings.Replace(movers, `{"random_affine"`, `{"resize": 9}, {"random_affine"`, 1) + `, {"center_crop": 8}`:                                                                                                                                                                                  {2, 4},
	} {
		s, err := spec.ParseSample([]byte(`{"image": {"transform": [` + transform + `]}}`))
		if err != nil {
			t.Fatalf("%s: %v", transform, err)
		}
		c := PictureConfig(s.Image)
		order := slices.Clone(order)
		if strings.Contains(transform, "transpose") {
			order[0], order[5] = "Transpose", "Quarters"
		}
		if got, early := [2]int{len(c.Ahead), len(c.Resized)}, stepNames(append(c.Ahead, c.Resized...)...); got != want || !slices.Equal(early, order) {
			t.Errorf("%s: got %v of %v, want %v of %v", transform, got, early, want, order)
		}
		if _, err := media.Compile(c); err != nil {
			t.Errorf("%s: %v", transform, err)
		}
	}
}

// What a description may say, and no more, the decoders take: a limit is one, wherever it is met.
func TestDescriptionsHaveTheDecodersLimits(t *testing.T) {
	at := func(inside string) (bool, error) {
		s, err := spec.ParseSample([]byte(`{"image": {"dtype": "f32", "transform": [` + inside + `]}}`))
		if err != nil {
			return false, err
		}
		_, err = media.Compile(PictureConfig(s.Image))
		return true, err
	}
	normalized := func(mean, std string) string {
		return fmt.Sprintf(`{"center_crop": 9}, {"normalize": {"mean": [0, 0, %s], "std": [1, 1, %s]}}`, mean, std)
	}
	jitter := func(what, high string) string {
		return fmt.Sprintf(`{"center_crop": 9}, {"color_jitter": {"%s": [0, %s]}}`, what, high)
	}
	with := func(op, key, value string) string {
		return fmt.Sprintf(`{"center_crop": 9}, {"%s": {"%s": %s}}`, op, key, value)
	}
	ratio := func(low, high string) string {
		return fmt.Sprintf(`{"random_resized_crop": {"size": 9, "ratio": [%s, %s]}}`, low, high)
	}
	for within, beyond := range map[string]string{
		`{"resize": 16384}, {"center_crop": 1}`:                                             `{"resize": 16385}, {"center_crop": 1}`,
		`{"resize": [1, 16384]}`:                                                            `{"resize": [1, 16385]}`,
		`{"center_crop": [16384, 1]}`:                                                       `{"center_crop": [16385, 1]}`,
		`{"center_crop": 8}, {"aug_mix": {"severity": 10}}`:                                 `{"center_crop": 8}, {"aug_mix": {"severity": 11}}`,
		`{"center_crop": 8}, {"aug_mix": {"mixture_width": 8}}`:                             `{"center_crop": 8}, {"aug_mix": {"mixture_width": 9}}`,
		`{"center_crop": 8}, {"aug_mix": {"chain_depth": 8}}`:                               `{"center_crop": 8}, {"aug_mix": {"chain_depth": 9}}`,
		`{"center_crop": 8}, {"aug_mix": {"alpha": 0.1}}`:                                   `{"center_crop": 8}, {"aug_mix": {"alpha": 0.09}}`,
		`{"center_crop": 8}, {"aug_mix": {"alpha": 1000}}`:                                  `{"center_crop": 8}, {"aug_mix": {"alpha": 1001}}`,
		`{"random_resized_crop": {"size": [16384, 1]}}`:                                     `{"random_resized_crop": {"size": [16385, 1]}}`,
		`{"random_resized_crop": {"size": 9, "height": [1, 16384]}}`:                        `{"random_resized_crop": {"size": 9, "height": [1, 16385]}}`,
		ratio("0.001", "1"):                                                                 ratio("0.0009", "1"),
		ratio("1", "1000"):                                                                  ratio("1", "1001"),
		jitter("brightness", "1000"):                                                        jitter("brightness", "1001"),
		jitter("contrast", "1000"):                                                          jitter("contrast", "1001"),
		jitter("saturation", "1000"):                                                        jitter("saturation", "1001"),
		`{"center_crop": 9}, {"random_erasing": {"value": -10000, "ratio": [0.001, 1000]}}`: `{"center_crop": 9}, {"random_erasing": {"value": -10001}}`,
		`{"scale_jitter": {"target_size": [1, 16384], "scale_range": [0.01, 100]}}, {"random_crop": 9}`: `{"scale_jitter": {"target_size": [1, 16384], "scale_range": [0.001, 100]}}, {"random_crop": 9}`,
		`{"pad": [0, 16384]}, {"random_crop": 9}`:                                                       `{"pad": [0, 16385]}, {"random_crop": 9}`,
		`{"random_crop": {"size": 9, "padding": 16384}}`:                                                `{"random_crop": {"size": 9, "padding": 16385}}`,
		jitter("hue", "0.5"):                                                         jitter("hue", "0.51"),
		with("rand_augment", "num_ops", "16"):                                        with("rand_augment", "num_ops", "17"),
		with("rand_augment", "num_magnitude_bins", "2, \"magnitude\": 1"):            with("rand_augment", "num_magnitude_bins", "1, \"magnitude\": 0"),
		with("trivial_augment_wide", "num_magnitude_bins", "1000"):                   with("trivial_augment_wide", "num_magnitude_bins", "1001"),
		with("rand_augment", "num_magnitude_bins", "1000"):                           with("rand_augment", "num_magnitude_bins", "1001"),
		with("rand_augment", "magnitude", "30"):                                      with("rand_augment", "magnitude", "31"),
		with("gaussian_blur", "kernel_size", "3, \"sigma\": [0.001, 1000]"):          with("gaussian_blur", "kernel_size", "3, \"sigma\": [0.0009, 1000]"),
		with("gaussian_blur", "kernel_size", "3, \"sigma\": 1000"):                   with("gaussian_blur", "kernel_size", "3, \"sigma\": 1001"),
		with("gaussian_noise", "sigma", "[0, 1]"):                                    with("gaussian_noise", "sigma", "[0, 1.01]"),
		with("gaussian_noise", "mean", "-1"):                                         with("gaussian_noise", "mean", "-1.01"),
		with("jpeg", "quality", "[1, 100]"):                                          with("jpeg", "quality", "[1, 101]"),
		with("random_photometric_distort", "contrast", "[0, 1000]"):                  with("random_photometric_distort", "contrast", "[0, 1001]"),
		with("random_brightness_contrast", "brightness", "[-10, 10]"):                with("random_brightness_contrast", "brightness", "[-10, 11]"),
		with("hue_saturation_value", "hue", "[-255, 255]"):                           with("hue_saturation_value", "hue", "[-255, 256]"),
		with("rgb_shift", "red", "[-255, 255]"):                                      with("rgb_shift", "red", "[-256, 255]"),
		with("cv2_color_jitter", "contrast", "[0, 1000]"):                            with("cv2_color_jitter", "contrast", "[0, 1001]"),
		with("cv2_affine", "degrees", "360"):                                         with("cv2_affine", "degrees", "361"),
		with("cv2_affine", "translate", "[-1, 1]"):                                   with("cv2_affine", "translate", "[-1, 1.1]"),
		with("cv2_affine", "translate_px", "16384"):                                  with("cv2_affine", "translate_px", "16385"),
		with("cv2_affine", "scale", "[0.01, 100]"):                                   with("cv2_affine", "scale", "[0.009, 100]"),
		with("cv2_affine", "shear", "80"):                                            with("cv2_affine", "shear", "81"),
		with("box_blur", "kernel_size", "255"):                                       with("box_blur", "kernel_size", "257"),
		with("cv2_gaussian_blur", "sigma", "[0.001, 36.2]"):                          with("cv2_gaussian_blur", "sigma", "[0.001, 36.3]"),
		with("cv2_gaussian_blur", "kernel_size", "[0, 255]"):                         with("cv2_gaussian_blur", "kernel_size", "[0, 256]"),
		with("motion_blur", "angle", "[-360, 360]"):                                  with("motion_blur", "angle", "[-361, 360]"),
		with("motion_blur", "direction", "[-1, 1]"):                                  with("motion_blur", "direction", "[-1, 1.1]"),
		with("clahe", "clip_limit", "[0.001, 1000]"):                                 with("clahe", "clip_limit", "[0.001, 1001]"),
		with("clahe", "tiles", "64"):                                                 with("clahe", "tiles", "65"),
		with("cv2_perspective", "scale", "[0, 1]"):                                   with("cv2_perspective", "scale", "[0, 1.1]"),
		with("grid_dropout", "ratio", "1"):                                           with("grid_dropout", "ratio", "1.1"),
		with("grid_dropout", "unit_size", "[2, 9]"):                                  with("grid_dropout", "unit_size", "[1, 9]"),
		with("pixel_dropout", "share", "1"):                                          with("pixel_dropout", "share", "1.1"),
		with("downscale", "scale", "[0.01, 1]"):                                      with("downscale", "scale", "[0.01, 1.1]"),
		`{"center_crop": 64}, {"random_grid_shuffle": [64, 64]}`:                     `{"center_crop": 65}, {"random_grid_shuffle": [65, 64]}`,
		with("morphological", "kernel_size", "[1, 255]"):                             with("morphological", "kernel_size", "[1, 256]"),
		with("advanced_blur", "beta", "[0, 100]"):                                    with("advanced_blur", "beta", "[0, 101]"),
		with("advanced_blur", "kernel_size", "31"):                                   with("advanced_blur", "kernel_size", "33"),
		with("advanced_blur", "noise", "[0.01, 10]"):                                 with("advanced_blur", "noise", "[0, 10]"),
		with("advanced_blur", "rotate", "[-360, 360]"):                               with("advanced_blur", "rotate", "[-361, 360]"),
		with("advanced_blur", "sigma_x", "[0.001, 1000]"):                            with("advanced_blur", "sigma_x", "[0, 1]"),
		with("advanced_blur", "sigma_y", "1000"):                                     with("advanced_blur", "sigma_y", "1001"),
		with("defocus", "alias_blur", "[0, 10]"):                                     with("defocus", "alias_blur", "[0, 11]"),
		with("defocus", "radius", "[1, 15]"):                                         with("defocus", "radius", "[1, 16]"),
		with("fancy_pca", "alpha", "100"):                                            with("fancy_pca", "alpha", "101"),
		with("glass_blur", "iterations", "16"):                                       with("glass_blur", "iterations", "17"),
		with("glass_blur", "max_delta", "64"):                                        with("glass_blur", "max_delta", "65"),
		with("glass_blur", "sigma", "10"):                                            with("glass_blur", "sigma", "11"),
		with("random_fog", "alpha", "1"):                                             with("random_fog", "alpha", "1.1"),
		with("random_fog", "intensity", "[0, 1]"):                                    with("random_fog", "intensity", "[0, 1.1]"),
		with("random_rain", "blur", "31"):                                            with("random_rain", "blur", "33"),
		with("random_rain", "brightness", "0.01"):                                    with("random_rain", "brightness", "0"),
		with("random_rain", "length", "16384"):                                       with("random_rain", "length", "16385"),
		with("random_rain", "slant", "[-20, 20]"):                                    with("random_rain", "slant", "[-21, 20]"),
		with("random_snow", "brightness", "100"):                                     with("random_snow", "brightness", "101"),
		with("random_snow", "snow_point", "[0, 1]"):                                  with("random_snow", "snow_point", "[0, 1.1]"),
		with("random_sun_flare", "angle", "[0, 1]"):                                  with("random_sun_flare", "angle", "[0, 1.1]"),
		with("random_sun_flare", "circles", "[1, 32]"):                               with("random_sun_flare", "circles", "[1, 33]"),
		with("random_sun_flare", "radius", "2000"):                                   with("random_sun_flare", "radius", "2001"),
		with("ringing_overshoot", "cutoff", "[0.01, 3.141592653589793]"):             with("ringing_overshoot", "cutoff", "[0, 1]"),
		with("ringing_overshoot", "kernel_size", "31"):                               with("ringing_overshoot", "kernel_size", "33"),
		with("shot_noise", "scale", "[0.01, 100]"):                                   with("shot_noise", "scale", "[0, 100]"),
		with("zoom_blur", "max_factor", "[1, 3]"):                                    with("zoom_blur", "max_factor", "[1, 3.1]"),
		with("zoom_blur", "step_factor", "[0.005, 1]"):                               with("zoom_blur", "step_factor", "[0.004, 1]"),
		with("iso_noise", "intensity", "[0, 10]"):                                    with("iso_noise", "intensity", "[0, 10.1]"),
		with("iso_noise", "color_shift", "1"):                                        with("iso_noise", "color_shift", "1.1"),
		with("unsharp_mask", "alpha", "[0, 1]"):                                      with("unsharp_mask", "alpha", "[0, 1.1]"),
		with("unsharp_mask", "kernel_size", "255"):                                   with("unsharp_mask", "kernel_size", "257"),
		with("unsharp_mask", "sigma", "[0, 1000]"):                                   with("unsharp_mask", "sigma", "[0, 1001]"),
		with("unsharp_mask", "threshold", "255"):                                     with("unsharp_mask", "threshold", "256"),
		with("multiplicative_noise", "multiplier", "[0, 1000]"):                      with("multiplicative_noise", "multiplier", "[0, 1001]"),
		with("cv2_elastic_transform", "alpha", "10000"):                              with("cv2_elastic_transform", "alpha", "10001"),
		with("cv2_elastic_transform", "sigma", "128"):                                with("cv2_elastic_transform", "sigma", "129"),
		with("optical_distortion", "limit", "1"):                                     with("optical_distortion", "limit", "1.1"),
		with("grid_distortion", "limit", "[-1, 1]"):                                  with("grid_distortion", "limit", "[-1.1, 1]"),
		`{"center_crop": 64}, {"grid_distortion": {"num_steps": 64}}`:                `{"center_crop": 65}, {"grid_distortion": {"num_steps": 65}}`,
		with("sharpen", "alpha", "[0, 1]"):                                           with("sharpen", "alpha", "[0, 1.1]"),
		with("sharpen", "lightness", "100"):                                          with("sharpen", "lightness", "101"),
		with("emboss", "strength", "[0, 100]"):                                       with("emboss", "strength", "[0, 101]"),
		with("random_tone_curve", "scale", "1"):                                      with("random_tone_curve", "scale", "1.1"),
		with("channel_dropout", "channels", "[1, 2]"):                                with("channel_dropout", "channels", "[0, 2]"),
		with("coarse_dropout", "holes", "[0, 32]"):                                   with("coarse_dropout", "holes", "[0, 33]"),
		with("coarse_dropout", "height", "[0, 1]"):                                   with("coarse_dropout", "height", "[0, 1.1]"),
		with("coarse_dropout", "pixels", "true, \"height\": 1, \"width\": 16384"):    with("coarse_dropout", "pixels", "true, \"height\": 1, \"width\": 16385"),
		with("random_gamma", "gamma", "[0.01, 100]"):                                 with("random_gamma", "gamma", "[0.01, 101]"),
		with("solarize", "threshold", "256"):                                         with("solarize", "threshold", "257"),
		with("random_rotation", "degrees", "360"):                                    with("random_rotation", "degrees", "361"),
		with("random_affine", "degrees", "[-360, 0]"):                                with("random_affine", "degrees", "[-361, 0]"),
		with("random_affine", "degrees", "0, \"translate\": [1, 1]"):                 with("random_affine", "degrees", "0, \"translate\": [1, 1.1]"),
		with("random_affine", "degrees", "0, \"scale\": [0.01, 100]"):                with("random_affine", "degrees", "0, \"scale\": [0.01, 101]"),
		with("random_affine", "degrees", "0, \"shear\": [-80, 80, -80, 80]"):         with("random_affine", "degrees", "0, \"shear\": [-80, 80, -81, 80]"),
		`{"crop": [0, 0, 16384, 16384]}, {"center_crop": 9}`:                         `{"crop": [0, 0, 16385, 9]}, {"center_crop": 9}`,
		`{"random_crop_from_borders": {"left": 1, "right": 0}}, {"center_crop": 9}`:  `{"random_crop_from_borders": {"left": 1.1}}, {"center_crop": 9}`,
		`{"crop_and_pad": [-1, 1]}, {"center_crop": 9}`:                              `{"crop_and_pad": [-1.1, 1]}, {"center_crop": 9}`,
		`{"crop_and_pad": {"px": [-16384, 16384]}}, {"center_crop": 9}`:              `{"crop_and_pad": {"px": [-16385, 0]}}, {"center_crop": 9}`,
		`{"resized_crop": 16384}, {"center_crop": 9}`:                                `{"resized_crop": 16385}, {"center_crop": 9}`,
		`{"random_scale": [0.01, 100]}, {"center_crop": 9}`:                          `{"random_scale": [0.01, 101]}, {"center_crop": 9}`,
		with("cv2_autocontrast", "cutoff", "100"):                                    with("cv2_autocontrast", "cutoff", "101"),
		with("salt_and_pepper", "amount", "[0, 1]"):                                  with("salt_and_pepper", "amount", "[0, 1.1]"),
		with("salt_and_pepper", "salt_vs_pepper", "1"):                               with("salt_and_pepper", "salt_vs_pepper", "1.1"),
		with("planckian_jitter", "temperature", "[3000, 15000]"):                     with("planckian_jitter", "temperature", "[2999, 15000]"),
		with("planckian_jitter", "mode", "\"cied\", \"temperature\": [4000, 15000]"): with("planckian_jitter", "mode", "\"cied\", \"temperature\": [3999, 15000]"),
		with("erasing", "scale", "[0, 1]"):                                           with("erasing", "scale", "[0, 1.1]"),
		with("erasing", "ratio", "[0.001, 1000]"):                                    with("erasing", "ratio", "[0.0009, 1000]"),
		with("random_shadow", "count", "[0, 16]"):                                    with("random_shadow", "count", "[0, 17]"),
		with("random_shadow", "corners", "64"):                                       with("random_shadow", "corners", "65"),
		with("random_shadow", "intensity", "[0, 1]"):                                 with("random_shadow", "intensity", "[0, 1.1]"),
		with("random_shadow", "roi", "[0, 0, 1, 1]"):                                 with("random_shadow", "roi", "[0, 0, 1, 1.1]"),
		with("posterize", "bits", "8"):                                               with("posterize", "bits", "9"),
		with("adjust_sharpness", "factor", "1000"):                                   with("adjust_sharpness", "factor", "1001"),
		`{"center_crop": 300}, {"gaussian_blur": 255}`:                               `{"center_crop": 300}, {"gaussian_blur": 257}`,
		normalized("10", "1"):                                                        normalized("10.1", "1"),
		normalized("-10000", "1"):                                                    normalized("-10001", "1"),
		normalized("0", "0.000001"):                                                  normalized("0", "0.0000009"),
		normalized("0", "10"):                                                        normalized("0", "10.1"),
	} {
		if _, err := at(within); err != nil {
			t.Errorf("%s: %v", within, err)
		}
		var wrong *spec.Error
		if parsed, err := at(beyond); parsed || !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Path, "image.transform[") {
			t.Errorf("%s: got %v (parsed: %v), want a spec.Error with its path", beyond, err, parsed)
		}
	}
}

// Each group draws by a number of its own. Those that put pixels elsewhere have the same in the section of a mask, which has no others.
func TestGroupsOfAMaskHaveTheNumbersOfItsPicture(t *testing.T) {
	const turns = `{"random_choice": [{"horizontal_flip": 1}, {"random_rotation": 9}]}, {"random_choice": [{"vertical_flip": 1}, {"cv2_affine": {"interpolation": "cv2_nearest"}}]}, {"random_apply": [{"random_affine": {"degrees": 3}}]}`
	numbers := func(mode, transform string) map[string]int {
		s, err := spec.ParseSample([]byte(`{"image": {"mode": "` + mode + `", "transform": [{"center_crop": 8}, ` + transform + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		c := PictureConfig(s.Image)
		if _, err := media.Compile(c); err != nil {
			t.Fatal(err)
		}
		of := map[string]int{}
		for _, p := range c.Steps {
			of[stepNames(p)[0]] = p.Group
		}
		return of
	}
	picture := numbers("rgb", `{"random_apply": [{"grayscale": 1}]}, {"random_choice": [{"invert": 1}, {"equalize": 1}]}, `+turns+`, {"random_choice": [{"jpeg": 9}, {"posterize": {"bits": 2}}]}`)
	mask := numbers("index", turns)
	want := map[string]int{"Flip": 2, "Rotation": 2, "VFlip": 3, "CV2Affine": 3, "Affine": 1, "Grayscale": 4, "Invert": 5, "Equalize": 5, "JPEG": 6, "Posterize": 6}
	if !maps.Equal(picture, want) {
		t.Errorf("a picture's groups are %v, want %v", picture, want)
	}
	for step, number := range mask {
		if number != want[step] {
			t.Errorf("step %s of a mask is of group %d, want %d as its picture's", step, number, want[step])
		}
	}
}

// Classes of a mask are remapped behind its resize and ahead of the crop, or of the row.
func TestClassesAreRemappedWhereItStands(t *testing.T) {
	for transform, resized := range map[string]int{`{"resize": {"size": 9, "interpolation": "nearest"}}, {"remap_classes": "reduce"}, {"center_crop": 12}`: 1, `{"resize": {"size": [9, 9], "interpolation": "nearest"}}, {"remap_classes": [255]}`: 0} {
		s, err := spec.ParseSample([]byte(`{"image": {"mode": "index", "transform": [` + transform + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		c := PictureConfig(s.Image)
		if _, err := media.Compile(c); err != nil {
			t.Fatal(err)
		}
		steps := append(c.Resized, c.Steps...)
		if remap, ok := steps[0].Step.(*media.Remap); len(steps) != 1 || !ok || remap[0] != 255 || len(c.Resized) != resized {
			t.Errorf("%s: got %v behind the resize, and %v", transform, c.Resized, c.Steps)
		}
	}
}
