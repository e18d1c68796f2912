package load

import (
	"errors"
	"io"
	"os"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
)

// Stream is a video that comes in chunks, so that a long one takes no more memory than a chunk and its index. It is used by one
// goroutine at a time.
type Stream struct {
	reader  *opened
	packets *av.Packets // held; nil: of bytes
	name    string
}

// Open begins a video whose description, {"video": {...}}, says in frames how many a chunk has. Its bytes must stay as they are until
// Close; packets are held until then.
// Errors are Load's.
func Open(description []byte, src Source) (*Stream, error) {
	s, err := spec.ParseSample(description)
	if err != nil {
		return nil, err
	}
	wrong := func(path, text string) error { return &spec.Error{File: "sample", Path: path, Text: text} }
	switch {
	case s.Video == nil:
		return nil, wrong("", "a sample of this kind comes in one piece; want video")
	case s.Video.Frames == 0:
		return nil, wrong("video", "frames is missing, want how many a chunk has, such as frames: 32")
	case s.Video.Layout == spec.NCTHW:
		return nil, wrong("video.layout", "got NCTHW, want NTHWC or NTCHW: chunks follow one another in time")
	}
	name := src.name()
	r, err := openVideo(s, src)
	if err != nil {
		return nil, named(errorOf(err), name)
	}
	if src.Packets != nil {
		src.Packets.Hold()
	}
	return &Stream{r, src.Packets, name}, nil
}

// opened is a video that is read, and where it is read from.
type opened struct {
	*video.Reader
	from *reached
}

func (o *opened) Close() {
	o.Reader.Close()
	o.from.close()
}

// openVideo gives the frames the size that they have, where the description leaves it open.
func openVideo(s *spec.Spec, source Source) (*opened, error) {
	indexes, err := indexCache(s.Cache.VideoIndexDir, source)
	if err != nil {
		return nil, err
	}
	from, err := source.reached()
	if err != nil {
		return nil, err
	}
	r, err := readVideo(s, from.video(), indexes)
	if err != nil {
		defer from.close()
		return nil, from.cause(err)
	}
	return &opened{r, from}, nil
}

func readVideo(s *spec.Spec, src video.Source, indexes string) (*video.Reader, error) {
	var err error
	config := VideoConfig(s.Video)
	config.IndexCache, config.FileIndexCache = indexes, indexes
	if p := src.Packets; p != nil {
		if config.Select.Window, err = windowOf(p, "video", config.Select.Window); err != nil {
			return nil, err
		}
	}
	return video.OpenSized(config, src, video.Draw{}, func(shown media.Size) (media.Config, error) {
		err := fixSize(s, shown.H, shown.W)
		return PictureConfig(&s.Video.Frame), err
	})
}

// indexCache is where the index of src is to be kept, in core/media/video's words.
func indexCache(dir string, src Source) (string, error) {
	refused := func(text string) (string, error) {
		return "", &spec.Error{File: "sample", Path: "cache.video_index_dir", Text: text}
	}
	switch {
	case dir == "":
		return "", nil
	case src.Packets != nil:
		return refused("packets were read already, and need no index; leave it out")
	case dir == spec.IndexBeside && (src.Bytes != nil || store.IsURL(src.Path)):
		return refused("got beside, and the video is in memory or at an address; want a directory")
	case dir == spec.IndexBeside:
		return video.Beside, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return refused(err.Error())
	}
	return dir, nil
}

// Next is the next chunk, with what Load gives of a video; io.EOF after the last.
func (s *Stream) Next(alloc Alloc) (*Media, error) {
	l := &loading{alloc: orGo(alloc)}
	m, err := l.next(s.reader.Reader)
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, named(&Error{Err: s.reader.from.cause(err)}, s.name)
	}
	m.Info = videoInfo{m.Info.(video.Info), s.reader.Stream()}
	return m, nil
}

// Close ends the stream.
func (s *Stream) Close() {
	s.reader.Close()
	if s.packets != nil {
		s.packets.Close()
	}
}
