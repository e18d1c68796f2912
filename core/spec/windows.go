package spec

import "slices"

// Window is the part of each file that a sound or a video is made of; zero where that is the whole file, as of pictures.
func (m *Medium) Window() Window {
	switch {
	case m.Video != nil:
		return m.Video.Window
	case m.Audio != nil:
		return m.Audio.Window
	}
	return Window{}
}

// InColumns says that the part of a file differs from sample to sample.
func (w *Window) InColumns() bool {
	return w.StartColumn != "" || w.DurationColumn != "" || w.EndColumn != ""
}

// checkWindows holds windows, and channels, that columns say against the columns that there are.
func (d *decoder) checkWindows(s *Spec) {
	for _, m := range s.Media() {
		w, at := m.Window(), m.Path()+".window"
		d.checkTimes(s, at+".start_column", w.StartColumn)
		d.checkTimes(s, at+".duration_column", w.DurationColumn)
		d.checkTimes(s, at+".end_column", w.EndColumn)
		if m.Audio != nil && m.Audio.Channel != "" {
			d.checkChannel(s, m)
		}
		if w.InColumns() && s.Cache.RowsDir != "" {
			d.failAt("cache.rows_dir", "given beside %s of columns, by which no row in a file is checked; keep rows in memory (cache.rows_bytes alone)", at)
		}
	}
}

// checkChannel holds the column that says a sound's channel against the columns that there are.
func (d *decoder) checkChannel(s *Spec, m Medium) {
	at, name := m.Path()+".select", m.Audio.Channel
	switch {
	case !slices.ContainsFunc(s.Source.Columns, func(c Column) bool { return c.Name == name && c.Type == TypeI64 }):
		d.failAt(at+".column", "got %q, want the name of one of source.columns of type i64, such as {name: %s, type: i64}", name, name)
	case s.Cache.RowsDir != "":
		d.failAt("cache.rows_dir", "given beside %s of a column, by which no row in a file is checked; keep rows in memory (cache.rows_bytes alone)", at)
	}
}

func (d *decoder) checkTimes(s *Spec, at, name string) {
	number := func(c Column) bool { return c.Name == name && (c.Type == TypeF64 || c.Type == TypeI64) }
	if name != "" && !slices.ContainsFunc(s.Source.Columns, number) {
		d.failAt(at, "got %q, want the name of one of source.columns of type f64 or i64, such as {name: %s, type: f64}", name, name)
	}
}
