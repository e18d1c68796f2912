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

// grows says that pictures become larger by chance, before they are cropped.
func (t *Transform) grows() bool { return t.RandomRotation != nil && t.RandomRotation.Expand }

// checkEarly refuses a row that would grow.
func (t *Transform) checkEarly(section string, fail func(path, format string, args ...any)) {
	const expand = ".transform.random_rotation.expand"
	switch {
	case !t.grows():
	case !slices.Contains(t.early(), "random_rotation"):
		fail(section+expand, "got true for rows, which have one size; write random_rotation ahead of center_crop, random_crop, random_resized_crop or resize: [H, W], or leave expand out")
	case slices.Contains(t.Resized, "random_rotation") && t.CenterCrop == nil && t.RandomCrop == nil:
		fail(section+expand, "got true behind resize, and pad adds to what has no size then; add center_crop or random_crop, or write random_rotation ahead of resize")
	}
}
