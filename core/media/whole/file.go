package whole

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// File is open for writing until Finish or Abandon.
type File struct {
	*os.File
	path string // that Finish names it; "": it has its name
}

// Create begins the file at path, with the mode that os.Create gives. Of a FIFO it waits for the reader.
func Create(path string) (*File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return open(path, os.O_WRONLY, "")
	}
	name := fmt.Sprintf(".%s.%016x.part", filepath.Base(path), rand.Uint64())
	return open(filepath.Join(filepath.Dir(path), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, path)
}

func open(name string, flags int, path string) (*File, error) {
	file, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{file, path}, nil
}

// Special reports whether it is a FIFO, a device or the like, which has no places to write at.
func (f *File) Special() bool { return f.path == "" }

// Finish closes the file and gives it its name. If it cannot, nothing is left of it.
func (f *File) Finish() error {
	err := f.Close()
	if f.Special() {
		return err
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Abandon closes the file; nothing is left of it but what a special one took.
func (f *File) Abandon() {
	_ = f.Close()
	if !f.Special() {
		_ = os.Remove(f.Name())
	}
}
