package spec

import (
	"slices"
	"strings"
)

// The operations of a transform: first the geometry, in this order; then the steps, in any, of the augmentations one; then what ends it. Movers
// may also stand ahead of the geometry, or behind one of its resizes.
var (
	geometries    = []string{"resize", "random_resize", "scale_jitter", "pad", "center_crop", "random_crop", "random_resized_crop"}
	turns         = []string{"horizontal_flip", "vertical_flip", "random_rotate90", "random_rotation", "random_affine", "random_perspective", "elastic_transform"}
	movers        = []string{"horizontal_flip", "vertical_flip", "random_rotation", "random_affine", "random_perspective", "random_zoom_out"}
	alone         = []string{"random_resize", "scale_jitter", "random_resized_crop"} // that come first
	augmentations = []string{RandAugment, TrivialAugmentWide, AutoAugment, TimmRandAugment}
	changes       = []string{"color_jitter", "random_photometric_distort", "random_channel_permutation", "grayscale", "gaussian_blur", "solarize", "posterize", "invert", "adjust_sharpness", "autocontrast", "equalize", "gaussian_noise", "jpeg"}
	steps         = slices.Concat(turns, []string{"random_zoom_out"}, augmentations, changes)
	endings       = []string{"normalize", "random_erasing"}
	operations    = slices.Concat(geometries, steps, endings)
)

// operationOrder says the order in words.
var operationOrder = "resize, center_crop or random_crop, resize, random_resize or scale_jitter and one of them, or random_resized_crop alone; pad behind resize: [H, W] or in front of random_crop; ahead of these, or behind resize, random_resize or scale_jitter, any of " + strings.Join(movers, ", ") + "; then, in any order, " +
	strings.Join(turns, ", ") + ", one of " + strings.Join(augmentations, ", ") + "; " + strings.Join(changes, ", ") + "; then " + strings.Join(endings, ", ") + "; each at most once"

// misplaced says why an operation cannot come after those before it; "" where it can.
func misplaced(name string, before []string) string {
	if len(before) == 0 {
		return ""
	}
	last := before[len(before)-1]
	clash := func(names []string, with ...string) bool {
		return slices.Contains(names, name) && slices.ContainsFunc(before, func(b string) bool { return slices.Contains(with, b) })
	}
	switch {
	case slices.Contains(before, name):
		return "is there twice"
	case slices.Contains(steps, name) && slices.Contains(endings, last), slices.Contains(endings, name) && slices.Index(operations, name) < slices.Index(operations, last),
		clash(augmentations, augmentations...), clash([]string{"random_crop"}, "center_crop"):
		return "comes after " + last
	case isGeometry(name):
		return misplacedGeometry(name, before)
	}
	return ""
}

func isGeometry(name string) bool { return slices.Contains(geometries, name) }

// misplacedGeometry is misplaced of what crops, pads and resizes: in its order, and behind nothing but movers, which pad has behind it none of.
func misplacedGeometry(name string, before []string) string {
	last := ""
	for _, of := range before {
		switch {
		case isGeometry(of):
			last = of
		case last == "pad" || !slices.Contains(movers, of):
			return "comes after " + of
		}
	}
	if last != "" && (slices.Index(geometries, name) < slices.Index(geometries, last) || slices.Contains(alone, name)) {
		return "comes after " + last
	}
	return ""
}

// stepsOf are the steps among these operations in their order; nil where that is the order they have here.
func stepsOf(transform []string) []string {
	order := slices.DeleteFunc(slices.Clone(transform), func(name string) bool { return !slices.Contains(steps, name) })
	if slices.IsSortedFunc(order, func(a, b string) int { return slices.Index(steps, a) - slices.Index(steps, b) }) {
		return nil
	}
	return order
}
