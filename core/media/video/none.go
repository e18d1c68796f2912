//go:build noffmpeg

package video

import (
	"errors"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
)

var errNone = errors.New("video: this build has no FFmpeg; use the build with it")

// Compile refuses: nothing decodes video in this build.
func Compile(cfg Config) (*Op, error) {
	if _, err := compile(cfg); err != nil {
		return nil, err
	}
	return nil, errNone
}

// Worker decodes nothing in this build.
type Worker struct{}

// NewWorker refuses.
func (op *Op) NewWorker() (*Worker, error) { return nil, errNone }

// Close does nothing.
func (w *Worker) Close() {}

// Decode refuses.
func (w *Worker) Decode(Row, Source, Draw) (Info, error) { return Info{}, errNone }

// AppendShown appends nothing: no sample was decoded.
func (w *Worker) AppendShown(to [][2]float64, _ int) [][2]float64 { return to }

// Probe refuses.
func Probe(Source) (Stream, error) { return Stream{}, errNone }

// Scan refuses.
func Scan(Source) (*Index, Stream, error) { return nil, Stream{}, errNone }

// Count refuses.
func Count(Source) (Counted, error) { return Counted{}, errNone }

// Reader does not exist in this build.
type Reader struct{}

// Len is 0.
func (r *Reader) Len() int { return 0 }

// More is false.
func (r *Reader) More() bool { return false }

// Stream is empty.
func (r *Reader) Stream() Stream { return Stream{} }

// Op is nil.
func (r *Reader) Op() *Op { return nil }

// Next refuses.
func (r *Reader) Next(Row) (Info, error) { return Info{}, errNone }

// Close does nothing.
func (r *Reader) Close() {}

// Open refuses.
func Open(Config, Source, Draw) (*Reader, error) { return nil, errNone }

// OpenSized refuses.
func OpenSized(Config, Source, Draw, func(media.Size) (media.Config, error)) (*Reader, error) {
	return nil, errNone
}

// Decoder does not exist in this build.
type Decoder struct{}

// OpenDecoder refuses.
func OpenDecoder(Config, *av.Packets, func(media.Size) (media.Config, error)) (*Decoder, error) {
	return nil, errNone
}

// Give refuses.
func (d *Decoder) Give(*av.Packets) error { return errNone }

// Flush does nothing.
func (d *Decoder) Flush() {}

// Stream is empty.
func (d *Decoder) Stream() Stream { return Stream{} }

// Ready refuses.
func (d *Decoder) Ready() (int, error) { return 0, errNone }

// Op is nil.
func (d *Decoder) Op() *Op { return nil }

// Take refuses.
func (d *Decoder) Take(Row) (Info, error) { return Info{}, errNone }

// Close does nothing.
func (d *Decoder) Close() {}

// Clip does not exist in this build.
type Clip struct{}

// Load refuses.
func Load(Config, Source, Draw) (*Clip, error) { return nil, errNone }
