package spec

import "slices"

// soundWindow reads the window of a sound: a part of its file, or what is heard during a video's clip.
func (d *decoder) soundWindow(s *section) (w Window) {
	sec := d.below(s, "window")
	if sec.text("of", &w.Of); w.Of == "" {
		return d.window(s)
	}
	if d.empty == emptySample {
		sec.fail("of", "is of a ring's samples, which may have a video beside the sound; say start: 1.5s and duration: 2s")
	}
	sec.duration("start", "a time from the clip's begin on, such as 100ms, or -500ms before it", &w.Start, -maxWindow9, maxWindow9)
	sec.duration("duration", "a time such as 2s, above 0; left out it is to the clip's end", &w.Duration, 1, maxWindow9)
	for _, key := range []string{"start_column", "duration_column", "end_column"} {
		if sec.has(key) {
			sec.fail(key, "given beside of, by which the clip says where the sound begins and ends; leave one of them out")
		}
	}
	return w
}

// videoOf is which of the media a sound goes with; -1: it goes by itself, or there is none of that name.
func (m *Medium) videoOf(media []Medium) int {
	if m.Audio == nil || m.Audio.Window.Of == "" {
		return -1
	}
	return slices.IndexFunc(media, func(v Medium) bool { return v.Name == m.Audio.Window.Of && v.Video != nil })
}

// ClipOf is which of Media each of them goes with: a sound with the video during whose clip it is heard. -1: with none.
func (s *Spec) ClipOf() (all []int) {
	media := s.Media()
	for i := range media {
		all = append(all, media[i].videoOf(media))
	}
	return all
}

// checkClips holds sounds that go with a clip against the video that it is of.
func (d *decoder) checkClips(s *Spec) {
	media := s.Media()
	for i := range media {
		m := &media[i]
		if m.Audio == nil || m.Audio.Window.Of == "" {
			continue
		}
		at, of, k := m.Path()+".window.of", m.Audio.Window.Of, m.videoOf(media)
		switch {
		case k < 0:
			d.failAt(at, "got %q, want the name of a video of the same sample: video, or of fields one that is a video", of)
		case media[k].Video.Select.several():
			d.failAt(at, "got %q, whose rows are several clips and have as many sounds; want a video with one clip a row (select without num_clips), or frames that are no clips", of)
		case media[k].Video.Approximate:
			d.failAt(at, "got %q with seek: approximate, want exact: only the index says when its frames are on show", of)
		case m.Audio.Filter != "":
			d.failAt(m.Path()+".filter", "given beside window.of: what comes out of filters is no longer in step with the clip; leave one of them out")
		case m.Audio.Speed != nil:
			d.failAt(m.Path()+".speed", "given beside window.of: a sound at another speed is no longer in step with the clip; leave one of them out")
		}
	}
}

// several says that a row has several clips.
func (c *Selection) several() bool {
	switch c.Kind {
	case ClipsAtRandomIndices, ClipsAtRegularIndices, ClipsAtRandomTimes:
		return c.Clips > 1
	}
	return c.Kind == ClipsAtRegularTimes
}
