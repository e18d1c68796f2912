package spec

import "slices"

func (s *section) cache(c *Cache, dir string) {
	if s.has("dir") {
		s.text("dir", &c.Dir)
		_, c.Dir = resolve(c.Dir, dir)
	}
	s.size("max_bytes", &c.MaxBytes)
	choice(s, "evict", &c.Evict, EvictLRU, EvictNever)
	s.size("rows_bytes", &c.RowsBytes)
	if s.has("rows_dir") {
		s.text("rows_dir", &c.RowsDir)
		_, c.RowsDir = resolve(c.RowsDir, dir)
	}
	if s.has("video_index_dir") {
		s.text("video_index_dir", &c.VideoIndexDir)
		_, c.VideoIndexDir = resolve(c.VideoIndexDir, dir)
	}
	whole(s, "head_space", &c.HeadSpace, 0, 65536)
}

func (d *decoder) checkCache(s *Spec) {
	chance := slices.ContainsFunc(s.Media(), func(m Medium) bool { return m.random() })
	switch c := &s.Cache; {
	case c.RowsBytes > 0 && s.Source.Host.Samples > 0:
		d.failAt("cache.rows_bytes", "keeps rows by their samples, and what those of source.host are only your program knows; leave one of them out")
	case c.VideoIndexDir != "" && !slices.ContainsFunc(s.Media(), func(m Medium) bool { return m.Video != nil && !m.Video.Approximate }):
		d.failAt("cache.video_index_dir", "goes with video and seek: exact; nothing else has an index")
	case c.HeadSpace > 0 && c.RowsBytes == 0:
		d.failAt("cache.head_space", "needs memory for its rows; say how much in cache.rows_bytes")
	case c.HeadSpace > 0 && s.Order.Buckets.MaxTotal > 0: // a step would have the rows of another, of which it may have more than its places in the order
		d.failAt("cache.head_space", "given with order.buckets.max_total, whose steps differ in rows, so that none stands in for another; leave one of them out")
	case c.HeadSpace > 0 && s.Order.Asked: // the first steps would be all that is ever asked for
		d.failAt("cache.head_space", "repeats the first steps, and with order.asked your program says which sample comes next; leave one of them out")
	case c.HeadSpace > 0 && s.Order.Group != "":
		d.failAt("cache.head_space", "given with order.group, whose steps are of several groups, so that none stands in for another; leave one of them out")
	case c.RowsDir != "" && c.RowsBytes == 0:
		d.failAt("cache.rows_dir", "needs a limit; say in cache.rows_bytes how much of the disk its rows may take")
	case c.RowsDir != "" && c.HeadSpace > 0:
		d.failAt("cache.rows_dir", "given beside head_space, whose rows are kept in memory; leave one of them out")
	case c.RowsBytes > 0 && chance && c.HeadSpace == 0:
		d.failAt("cache.rows_bytes", "rows are drawn by chance, so a row is another in each epoch; use cache.dir, or leave what is random out")
	}
}
