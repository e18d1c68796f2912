package spec

import "slices"

// place says where the steps of a transform stand, which has all its names: those ahead of any geometry are done to the picture as it is
// decoded, those between a resize and a crop to what the resize made, the others to the row.
func (t *Transform) place(names []string) {
	of := func(part []string) (all []string) {
		return append(all, slices.DeleteFunc(slices.Clone(part), isGeometry)...)
	}
	end := len(names)
	for end > 0 && !isGeometry(names[end-1]) {
		end--
	}
	if first := slices.IndexFunc(names, isGeometry); first >= 0 {
		t.Ahead, t.Resized = of(names[:first]), of(names[first:end])
	}
	t.Order = stepsOf(names[end:])
}

// early are the steps that are not done to the row.
func (t *Transform) early() []string { return slices.Concat(t.Ahead, t.Resized) }

// grower is an operation by which pictures become larger by chance, before they are cropped: its name, what of it does that, and that in words.
type grower struct{ name, key, got, called string }

func (t *Transform) growers() (all []grower) {
	if r := t.RandomRotation; r != nil && r.Expand {
		all = append(all, grower{"random_rotation", "random_rotation.expand", "true", "random_rotation with expand"})
	}
	if t.RandomZoomOut != nil {
		all = append(all, grower{"random_zoom_out", "random_zoom_out", "random_zoom_out", "random_zoom_out"})
	}
	return all
}

// checkEarly refuses a row that would grow.
func (t *Transform) checkEarly(section string, fail func(path, format string, args ...any)) {
	for _, g := range t.growers() {
		at := section + ".transform." + g.key
		switch {
		case !slices.Contains(t.early(), g.name):
			fail(at, "got %s for rows, which have one size; write %s ahead of center_crop, random_crop, random_resized_crop or resize: [H, W], or leave it out", g.got, g.name)
		case slices.Contains(t.Resized, g.name) && t.CenterCrop == nil && t.RandomCrop == nil:
			fail(at, "got %s behind resize, and pad adds to what has no size then; add center_crop or random_crop, or write %s ahead of resize", g.got, g.name)
		}
	}
}
