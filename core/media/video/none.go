//go:build noffmpeg

package video

import "errors"

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

// Probe refuses.
func Probe(Source) (Stream, error) { return Stream{}, errNone }

// Scan refuses.
func Scan(Source) (*Index, Stream, error) { return nil, Stream{}, errNone }

// Reader does not exist in this build.
type Reader struct{}

// Open refuses.
func Open(Config, Source, Draw) (*Reader, error) { return nil, errNone }

// Clip does not exist in this build.
type Clip struct{}

// Load refuses.
func Load(Config, Source, Draw) (*Clip, error) { return nil, errNone }
