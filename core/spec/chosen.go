package spec

import (
	"slices"

	"github.com/spdl/spdl/core/tensor"
)

// clamp makes of policy what it says of times and indices.
func (c *Selection) clamp(sec *section) {
	if c.Policy == WrapClip {
		sec.fail("policy", "got wrap with kind: %s, want repeat_last or error: only a clip can begin again", c.Kind)
	}
	c.Clamp = sec.has("policy") && c.Policy == RepeatLast
	c.Policy = RepeatLast // which is said
}

// checkChosen holds columns that name frames against the columns that there are, and gives rows room for what they name.
func (d *decoder) checkChosen(s *Spec) {
	for _, m := range s.Media() {
		if m.Video == nil || m.Video.Select.Column == "" {
			continue
		}
		v, at := m.Video, m.Path()+".select"
		k := slices.IndexFunc(s.Source.Columns, func(c Column) bool { return c.Name == v.Select.Column && c.Type != TypeText })
		if k < 0 {
			d.failAt(at+".column", "got %q, want the name of one of source.columns of type f64, i64, list or npy, such as {name: %s, type: f64}", v.Select.Column, v.Select.Column)
			return
		}
		if s.Cache.RowsDir != "" {
			d.failAt("cache.rows_dir", "given beside %s.column, by which no row in a file is checked; keep rows in memory (cache.rows_bytes alone)", at)
		}
		room := d.chosenBy(&s.Source.Columns[k], &v.Select, at)
		if v.Frames == 0 {
			v.Frames = room
		}
	}
}

// chosenBy checks that a column can name frames, and says how many at most; 0: nobody knows.
func (d *decoder) chosenBy(c *Column, by *Selection, at string) int {
	list := c.Type == TypeList || c.Type == TypeNPY
	switch {
	case by.Kind == SelectIndices && (c.Type == TypeF64 || list && c.DType.Float()):
		d.failAt(at+".column", "got %q, whose numbers are no whole ones, want type i64, or a list of such; with kind: times they are seconds", c.Name)
	case !list:
		return max(len(by.Times)+len(by.Indices), 1)
	case len(by.Times)+len(by.Indices) > 0:
		d.failAt(at+"."+by.Kind, "given with %q, whose lists say all frames; leave it out, or name a column of one number, which is added to each of these", c.Name)
	case c.DType == tensor.DType(0):
		d.failAt(at+".column", "got %q of type npy without dtype, want its dtype said there, such as dtype: f64", c.Name)
	case len(c.Shape) > 1 || len(c.Shape) == 1 && c.MaxLength > 0:
		d.failAt(at+".column", "got %q of shape %v, want one dimension", c.Name, c.Shape)
	case len(c.Shape) == 1:
		return int(min(c.Shape[0], maxFrames))
	}
	return min(c.MaxLength, maxFrames)
}
