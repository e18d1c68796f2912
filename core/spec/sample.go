package spec

import (
	"fmt"
	"slices"
	"strings"
)

// ParseSample reads what one sample becomes: a document with one of the sections image, video and audio, all keys of which may be left
// out. What a ring must know beforehand is then taken from the sample: the size of pictures, the number of frames, the rate, the channels and
// the length of sounds, which are 0 in the result until [Spec.FixSize] and package load fill them in. Beside a video there may be
// cache: {video_index_dir: DIR}, or beside in place of a directory: beside the video's file.
func ParseSample(document []byte) (*Spec, error) {
	if len(document) > maxDocument {
		return nil, tooLarge("sample", int64(len(document)))
	}
	d := &decoder{file: "sample", empty: emptySample, pos: map[string]place{}}
	root := d.document(document)
	if d.err != nil {
		return nil, d.err
	}
	s := Default()
	s.Video, s.Audio = defaultVideo(), defaultAudio()
	s.Video.Select, s.Audio.Channels = newSelection(SelectAll), 0
	top := d.section(root, "", "", "")
	sections := 0
	for key, n := range top.values {
		if slices.Contains(modalities, key) {
			sections++
		} else if key != "cache" {
			d.fail(n, key, "is not of one sample; want one of %s", strings.Join(modalities, ", "))
		}
	}
	if d.err == nil && sections == 0 {
		d.err = &Error{File: d.file, Text: "says nothing; want one of " + strings.Join(modalities, ", ")}
	}
	if d.err == nil && sections > 1 {
		d.err = &Error{File: d.file, Text: fmt.Sprintf("got %d sections, want one of %s", sections, strings.Join(modalities, ", "))}
	}
	d.sample(&top, s)
	d.sampleCache(&top, s)
	d.checkSample(s)
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// checkSample refuses what only a ring's batches have, and what one sample cannot do without.
func (d *decoder) checkSample(s *Spec) {
	if d.err != nil {
		return
	}
	for _, m := range s.Media() {
		if m.From() != nil {
			d.failAt(m.Path()+".from", "is of a ring's samples, which have parts; leave it out")
		}
	}
	if s.Image != nil {
		d.checkPicture(s.Image)
	}
	d.checkPieces(s)
	if s.Video != nil {
		d.checkVideo(s.Video)
	}
}

// checkPicture refuses of one picture what only a ring's batches have.
func (d *decoder) checkPicture(i *Image) {
	tiles, patches := i.Transform.Tiles, i.Patches
	switch {
	case i.Affine:
		d.failAt("image.affine", "is a field of batches; leave it out: what is told of one picture has it always")
	case patches != nil && patches.Shape == Padded:
		d.failAt("image.patches.shape", "got padded, which is of a ring's batches, whose rows differ; leave it out, or write fixed")
	case i.Open() && patches == nil:
		d.failAt("image.shape", "is of a ring's batches, whose rows differ; leave it out: one picture has the size that its transform gives it")
	case i.Boxes != nil:
		d.failAt("image.boxes", followsNone)
	case i.Points != nil:
		d.failAt("image.points", followsNone)
	case i.Many != nil:
		d.failAt("image.many", "is of a ring's samples, which may have several pictures; leave it out")
	case tiles != nil && tiles.Shape != Fixed:
		d.failAt("image.tiles.shape", "is of a ring's batches, whose rows differ; leave it out: one picture has as many tiles as it has")
	}
}

// checkVideo wants of one video that its frames are found without a ring.
func (d *decoder) checkVideo(v *Video) {
	if v.Frames == 0 && (v.Select.Kind == SelectUniform || v.Select.Kind == SelectSegments) {
		d.failAt("video.select", "got kind: %s without frames, want how many, such as frames: 16", v.Select.Kind)
	}
	v.checkAnywhere(d.failAt)
}

// followsNone is why one sample has no boxes and points.
const followsNone = "is of a ring's samples, which have columns; leave it out: what is told of one picture has its map, affine"

func (d *decoder) sampleCache(top *section, s *Spec) {
	if d.err != nil || !top.has("cache") {
		return
	}
	sec := d.section(top.values["cache"], "cache", "cache", "cache")
	for key, n := range sec.values {
		if key != "video_index_dir" {
			d.fail(n, "cache."+key, "is not of one sample; want video_index_dir")
		}
	}
	sec.cache(&s.Cache, "")
	if d.err == nil {
		d.checkCache(s)
	}
}

// FixSize gives a picture or the frames of a video whose transform leaves its size open the size it has: that of a sample of
// h x w, resized where the transform says so (torchvision's rule for the shorter side). It fills in the type and checks the section.
func (s *Spec) FixSize(h, w int) error {
	img, section := s.Image, "image"
	if s.Video != nil {
		img, section = &s.Video.Frame, "video"
	}
	d := &decoder{file: "sample"}
	if t := &img.Transform; t.Output() == (Extent{}) && !t.Bucketed() {
		if t.checkChance(section, d.failAt) {
			return d.err
		}
		if t.Resize != nil {
			h, w = t.Resize.resized(h, w)
		}
		switch {
		case img.Patches != nil && img.Patches.Shape == Ragged:
			img.Room = Extent{h, w}
		case img.Patches != nil:
		case t.Pad == nil:
			t.CenterCrop = &CenterCrop{Extent: Extent{h, w}}
		default:
			t.Resize = &Resize{Extent: Extent{h, w}, Interpolation: t.Filter()}
		}
	}
	img.check(section, d.failAt)
	if d.err != nil {
		return d.err
	}
	return nil
}
