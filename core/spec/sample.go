package spec

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// ParseSample reads what one sample becomes: a document with one of the sections image, video and audio, all keys of which may be left
// out. What a ring must know beforehand is then taken from the sample: the size of pictures, the number of frames, the rate, the channels and
// the length of sounds, which are 0 in the result until [Spec.FixSize] and package load fill them in.
func ParseSample(document []byte) (*Spec, error) {
	if len(document) > maxDocument {
		return nil, tooLarge("sample", int64(len(document)))
	}
	d := &decoder{file: "sample", pos: map[string]place{}}
	root := d.document(bytes.NewReader(document))
	if d.err != nil {
		return nil, d.err
	}
	s := Default()
	s.Video, s.Audio = defaultVideo(), defaultAudio()
	s.Video.Select, s.Audio.Channels = newSelection(SelectAll), 0
	top := d.section(root, "", "", "")
	for key, n := range top.values {
		if !slices.Contains(modalities, key) {
			d.fail(n, key, "is not of one sample; want one of %s", strings.Join(modalities, ", "))
		}
	}
	if d.err == nil && len(top.values) == 0 {
		d.err = &Error{File: d.file, Text: "says nothing; want one of " + strings.Join(modalities, ", ")}
	}
	if d.err == nil && len(top.values) > 1 {
		d.err = &Error{File: d.file, Text: fmt.Sprintf("got %d sections, want one of %s", len(top.values), strings.Join(modalities, ", "))}
	}
	d.sample(&top, s)
	for _, m := range s.Media() {
		if d.err == nil && m.From() != nil {
			d.failAt(m.path()+".from", "is of a ring's samples, which have parts; leave it out")
		}
	}
	if v := s.Video; d.err == nil && v != nil && v.Frames == 0 && (v.Select.Kind == SelectUniform || v.Select.Kind == SelectSegments) {
		d.failAt("video.select", "got kind: %s without frames, want how many, such as frames: 16", v.Select.Kind)
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// FixSize gives a picture or the frames of a video whose transform leaves its size open the size it has: that of a sample of
// h x w, resized where the transform says so (torchvision's rule for the shorter side). It fills in the type and checks the section.
func (s *Spec) FixSize(h, w int) error {
	img, section := s.Image, "image"
	if s.Video != nil {
		img, section = &s.Video.Frame, "video"
	}
	if t := &img.Transform; t.Output() == (Extent{}) {
		if t.Resize != nil {
			h, w = shorter(h, w, t.Resize.Short)
		}
		t.CenterCrop = &Extent{h, w}
	}
	d := &decoder{file: "sample"}
	img.check(section, d.failAt)
	if d.err != nil {
		return d.err
	}
	return nil
}

// shorter is h x w with its shorter side brought to n.
func shorter(h, w, n int) (int, int) {
	if h <= w {
		return n, n * w / h
	}
	return n * h / w, n
}
