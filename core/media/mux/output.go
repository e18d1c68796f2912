//go:build !noffmpeg

package mux

import (
	"io"

	"github.com/spdl/spdl/core/media/whole"
)

// regular is a file that gets its name when it is whole.
type regular struct{ file *whole.File }

func createFile(path string) (output, error) {
	file, err := whole.Create(path)
	switch {
	case err != nil:
		return nil, err
	case file.Special():
		return &special{writer{file}, file}, nil
	}
	return &regular{file}, nil
}

func (r *regular) fd() int        { return int(r.file.Fd()) }
func (r *regular) seekable() bool { return true }
func (r *regular) finish() error  { return r.file.Finish() }
func (r *regular) abandon()       { r.file.Abandon() }

func (r *regular) take(bytes []byte) error {
	_, err := r.file.Write(bytes)
	return err
}

// writer takes bytes as they come.
type writer struct{ w io.Writer }

func (w *writer) fd() int        { return -1 }
func (w *writer) seekable() bool { return false }
func (w *writer) finish() error  { return nil }
func (w *writer) abandon()       {}

func (w *writer) take(bytes []byte) error {
	_, err := w.w.Write(bytes)
	return err
}

// special is a device or a FIFO.
type special struct {
	writer
	file *whole.File
}

func (s *special) finish() error { return s.file.Finish() }
func (s *special) abandon()      { s.file.Abandon() }

// memory keeps all bytes until they are whole.
type memory struct{ done func([]byte) error }

func (m *memory) fd() int                 { return -1 }
func (m *memory) seekable() bool          { return true }
func (m *memory) take(bytes []byte) error { return m.done(bytes) }
func (m *memory) finish() error           { return nil }
func (m *memory) abandon()                {}
