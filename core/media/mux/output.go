//go:build !noffmpeg

package mux

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// regular is a file that gets its name when it is whole.
type regular struct {
	file *os.File
	path string
}

func createFile(path string) (output, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &special{writer{file}, file}, err
	}
	file, err := createBeside(path)
	return &regular{file, path}, err
}

// createBeside is a new file in the directory of path, with the mode that os.Create gives.
func createBeside(path string) (*os.File, error) {
	name := fmt.Sprintf(".%s.%016x.part", filepath.Base(path), rand.Uint64())
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func (r *regular) fd() int        { return int(r.file.Fd()) }
func (r *regular) seekable() bool { return true }

func (r *regular) take(bytes []byte) error {
	_, err := r.file.Write(bytes)
	return err
}

func (r *regular) finish() error {
	err := r.file.Close()
	if err == nil {
		err = os.Rename(r.file.Name(), r.path)
	}
	if err != nil {
		os.Remove(r.file.Name())
	}
	return err
}

func (r *regular) abandon() {
	r.file.Close()
	os.Remove(r.file.Name())
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
	file *os.File
}

func (s *special) finish() error { return s.file.Close() }
func (s *special) abandon()      { s.file.Close() }

// memory keeps all bytes until they are whole.
type memory struct{ done func([]byte) error }

func (m *memory) fd() int                 { return -1 }
func (m *memory) seekable() bool          { return true }
func (m *memory) take(bytes []byte) error { return m.done(bytes) }
func (m *memory) finish() error           { return nil }
func (m *memory) abandon()                {}
