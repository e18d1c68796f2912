package spec

import (
	"math"
	"slices"
)

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
		case media[k].Video.Select.Kind == ClipsAtRegularTimes:
			d.failAt(at, "got %q, whose rows are any number of clips and have as many sounds; want a video whose clips are counted, as those of clips_at_regular_indices with num_clips are", of)
		case media[k].Video.Select.ClipsOfRow() > 1 && m.Audio.Shape != Fixed:
			d.failAt(m.Path()+".shape", "got %s beside a video with several clips a row, want fixed, in which each clip's sound has the same room", m.Audio.Shape)
		case media[k].Video.Select.ClipsOfRow() > 1 && media[k].Video.Frames > 0 && media[k].Video.Frames < media[k].Video.Select.most():
			d.failAt(at, "got %q, whose rows have room for %d frames and %d in its clips; want room for all, that each sound has its clip", of, media[k].Video.Frames, media[k].Video.Select.most())
		case m.Audio.clipsBytes(media[k].Video.Select.ClipsOfRow()) > math.MaxInt32:
			d.failAt(m.Path()+".length", "got %d samples of %d channels for each of %d clips, want less than 2 GiB a row", m.Audio.Length, m.Audio.Channels, media[k].Video.Select.ClipsOfRow())
		case media[k].Video.Approximate:
			d.failAt(at, "got %q with seek: approximate, want exact: only the index says when its frames are on show", of)
		case m.Audio.Filter != "":
			d.failAt(m.Path()+".filter", "given beside window.of: what comes out of filters is no longer in step with the clip; leave one of them out")
		case m.Audio.Speed != nil:
			d.failAt(m.Path()+".speed", "given beside window.of: a sound at another speed is no longer in step with the clip; leave one of them out")
		}
	}
}

// ClipsOfRow is how many clips of equal length the frames of a row are, 1 where they are none. Of clips_at_regular_timestamps nobody knows it.
func (c *Selection) ClipsOfRow() int {
	switch c.Kind {
	case ClipsAtRandomIndices, ClipsAtRegularIndices, ClipsAtRandomTimes:
		return c.Clips
	}
	return 1
}

// clipsBytes is the size of a row of so many clips' sounds.
func (a *Audio) clipsBytes(clips int) int64 {
	return int64(clips) * int64(a.Length) * int64(a.Channels) * int64(a.DType.Bytes())
}
