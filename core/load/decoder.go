package load

import (
	"fmt"
	"io"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/spec"
)

// Decoder decodes one stream's packets as these come, piece after piece, and keeps what a codec remembers from one to the next. All that
// was given comes out: a piece's window is not cut. It is used by one goroutine at a time.
type Decoder struct {
	video *video.Decoder
	audio *audio.Decoder
	sound audio.Config
	name  string // of the file that the stream is of
}

// OpenDecoder begins. The description is {"video": {...}} or {"audio": {...}}, as Load's but without what needs the whole stream: of a video what
// chooses frames, of a sound its rate, its length and what is measured over it. frames is how many a chunk of a video has; left out: as many as
// are ready. stream is of packets of the stream, or of none; it is not kept. Errors are Load's.
func OpenDecoder(description []byte, stream *av.Packets) (*Decoder, error) {
	s, err := spec.ParseSample(description)
	if err != nil {
		return nil, err
	}
	d := &Decoder{name: stream.Source}
	switch {
	case s.Video != nil:
		if _, err = indexCache(s.Cache.VideoIndexDir, Source{Packets: stream}); err == nil {
			err = checkFedVideo(s.Video)
		}
		if err == nil {
			d.video, err = video.OpenDecoder(VideoConfig(s.Video), stream, func(shown media.Size) (media.Config, error) {
				err := fixSize(s, shown.H, shown.W)
				return PictureConfig(&s.Video.Frame), err
			})
		}
	case s.Audio != nil:
		if err = checkFedAudio(s.Audio); err == nil {
			d.sound, err = AudioConfig(s.Audio, "audio")
		}
		if err == nil {
			_, err = audio.Compile(withoutFilter(d.sound)) // what is wrong is said before the first packet
		}
		if err == nil {
			d.audio, err = audio.OpenDecoder(s.Audio.Filter, stream)
		}
	default:
		err = &spec.Error{File: "sample", Text: "packets are of a video or a sound; want video or audio"}
	}
	if err != nil {
		return nil, named(errorOf(err), d.name)
	}
	return d, nil
}

// defaultTimeout is that of a sample.
const defaultTimeout = time.Minute

// told is a key of the description, and whether it says anything.
type told struct {
	key string
	is  bool
}

func checkFedVideo(v *spec.Video) error {
	for _, t := range []told{
		{"select", v.Select.Kind != spec.SelectAll}, {"window", v.Window != spec.Window{}}, {"seek", v.Approximate}, {"stream", v.Stream != 0},
		{"over", v.Over != spec.Refuse}, {"timeout", v.Timeout != defaultTimeout},
	} {
		if t.is {
			return fedError("video."+t.key, "is of a whole video, and a decoder of packets gives the frames of all that it is given; leave it out")
		}
	}
	if v.Layout == spec.NCTHW {
		return fedError("video.layout", "got NCTHW, want NTHWC or NTCHW: chunks follow one another in time")
	}
	return nil
}

func checkFedAudio(a *spec.Audio) error {
	for _, t := range []told{
		{"length", a.Length != 0}, {"window", a.Window != spec.Window{}}, {"features", a.Features != nil}, {"speed", a.Speed != nil}, {"noise", a.Noise != nil}, {"reverb", a.Reverb != nil},
		{"gain", a.Gain != nil}, {"polarity_inversion", a.Inversion > 0}, {"pre_emphasis", a.PreEmphasis > 0}, {"raw", a.Raw != nil},
		{"normalize", a.Normalize.To != ""}, {"timeout", a.Timeout != defaultTimeout},
	} {
		if t.is {
			return fedError("audio."+t.key, "is of a whole sound, and a decoder of packets gives samples as they come; leave it out")
		}
	}
	if a.Rate != 0 {
		return fedError("audio.rate", fmt.Sprintf("is of a whole sound; want filter: aresample=%d, which goes on from packet to packet", a.Rate))
	}
	return nil
}

func fedError(path, text string) error { return &spec.Error{File: "sample", Path: path, Text: text} }

// withoutFilter is what a decoder's samples still go through.
func withoutFilter(c audio.Config) audio.Config {
	c.Filter = ""
	return c
}

// Give lets the decoder have packets of its stream; they may be closed. Errors are *av.StreamError and av.ErrFlushed.
func (d *Decoder) Give(p *av.Packets) error {
	if d.video != nil {
		return d.video.Give(p)
	}
	return d.audio.Give(p)
}

// Flush says that there are no more packets: what the codec holds back comes out.
func (d *Decoder) Flush() {
	if d.video != nil {
		d.video.Flush()
	} else {
		d.audio.Flush()
	}
}

// Next is what comes next, with what Load gives of a video or a sound; io.EOF where more packets are wanted, or after Flush nothing more will
// come. A packet that does not decode is an *Error, and the next call goes on behind it.
func (d *Decoder) Next(alloc Alloc) (*Media, error) {
	l := &loading{alloc: orGo(alloc)}
	m, err := (*Media)(nil), error(nil)
	if d.video != nil {
		m, err = l.ready(d.video)
	} else {
		m, err = l.fed(d)
	}
	if err == io.EOF {
		return nil, err
	}
	return m, named(errorOf(err), d.name)
}

// ready is the frames that are.
func (l *loading) ready(d *video.Decoder) (*Media, error) {
	n, err := d.Ready()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	all, row, err := l.frames(d.Op(), int64(n))
	if err != nil {
		return nil, err
	}
	info, err := d.Take(row)
	if err != nil {
		return nil, err
	}
	return &Media{all, videoInfo{info, d.Stream()}}, nil
}

// fed is the samples that came out, through the rest of the description: as a sound without a header.
func (l *loading) fed(d *Decoder) (*Media, error) {
	wave, err := d.audio.Next()
	if err != nil {
		return nil, err
	}
	if wave.Frames == 0 {
		return nil, io.EOF
	}
	config := withoutFilter(d.sound)
	config.Length, config.Rate = wave.Frames, wave.Rate
	config.Raw = &audio.Raw{Encoding: audio.F32, Rate: wave.Rate, Channels: wave.Channels}
	op, err := audio.Compile(config)
	if err != nil {
		return nil, err
	}
	return l.sound(op, audio.Source{Bytes: interleaved(wave)}, wave.Rate, false)
}

// interleaved is [samples, channels] as bytes.
func interleaved(w audio.Wave) []byte {
	out := make([]float32, len(w.Data))
	for c := range w.Channels {
		for i, v := range w.Data[c*w.Frames:][:w.Frames] {
			out[i*w.Channels+c] = v
		}
	}
	return floatBytes(out)
}

// Close ends the decoder. What it has given stays.
func (d *Decoder) Close() {
	if d.video != nil {
		d.video.Close()
	} else {
		d.audio.Close()
	}
}
