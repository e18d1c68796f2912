//go:build noffmpeg

package audio

import (
	"errors"

	"github.com/spdl/spdl/core/media/av"
)

// haveFFmpeg reports whether formats are read whose samples do not lie there as they are.
const haveFFmpeg = false

// decoder refuses what is neither FLAC, MP3, AAC of low complexity, Opus, PCM nor G.711; this build has no FFmpeg.
type decoder struct{}

func (d *decoder) open(w *Worker, in *input, info *Info) error {
	return &Error{cause: CauseUnsupported, Detail: "neither FLAC, MP3, AAC of low complexity in ADTS or MP4, Opus in Ogg, nor PCM or G.711 in WAV, Wave64, AIFF, AU or CAF; built without FFmpeg, use the full build of spdl"}
}

func (d *decoder) decode(w *Worker, j *job, begin, end int64) (int64, error) { return 0, nil }

// filter is never asked for: Compile refuses it.
func (d *decoder) filter(w *Worker, j *job, begin, end int64) (int64, error) { return 0, nil }

// checkFilter refuses.
func (cfg *Config) checkFilter() error {
	return errors.New("filter: built without FFmpeg; leave it out, or use the full build of spdl")
}

func (d *decoder) facts(s *Stream) {}

func (d *decoder) fetch(take []int, first int64, to planes) {}

func (d *decoder) release() {}

func (d *decoder) close() {}

// swresample is never asked for: Compile refuses it.
func (w *Worker) swresample(j *job, from planes, channels int, to planes) error { return nil }

// Decoder decodes nothing in this build.
type Decoder struct{}

// OpenDecoder refuses.
func OpenDecoder(string, *av.Packets) (*Decoder, error) {
	return nil, &Error{cause: CauseUnsupported, Detail: "built without FFmpeg, use the full build of spdl"}
}

// Give is of no use.
func (d *Decoder) Give(*av.Packets) error { return nil }

// Flush does nothing.
func (d *Decoder) Flush() {}

// Next is nothing.
func (d *Decoder) Next() (Wave, error) { return Wave{}, nil }

// Close does nothing.
func (d *Decoder) Close() {}
