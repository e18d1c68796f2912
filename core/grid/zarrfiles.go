package grid

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// zarrFiles are the files of an array of Zarr's, by their names below its own: those of a directory, or the members of an archive.
type zarrFiles interface {
	// size is how many bytes a file has; false: there is none.
	size(name string) (n int64, found bool, err error)
	// read fills dst from byte off of a file on.
	read(name string, off int64, dst []byte) error
	// example is an array in what is a group.
	example() string
}

// zarrDir is a directory.
type zarrDir string

func (d zarrDir) size(name string) (n int64, found bool, err error) {
	st, err := os.Stat(filepath.Join(string(d), name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err == nil && !st.Mode().IsRegular():
		err = fmt.Errorf("%w: %q is no regular file", ErrDamaged, filepath.Join(string(d), name))
	}
	if err != nil {
		return 0, false, err
	}
	return st.Size(), true, nil
}

func (d zarrDir) read(name string, off int64, dst []byte) error {
	f, err := os.Open(filepath.Join(string(d), name))
	if err != nil {
		return err
	}
	n, err := f.ReadAt(dst, off)
	if n == len(dst) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (d zarrDir) example() string {
	for _, pattern := range []string{"*/.zarray", "*/zarr.json", "*/*/.zarray", "*/*/zarr.json"} {
		if found, err := filepath.Glob(filepath.Join(string(d), pattern)); err == nil && len(found) > 0 {
			return filepath.Dir(found[0])
		}
	}
	return filepath.Join(string(d), "NAME")
}

// zarrChunks are chunks that are a file each.
type zarrChunks struct {
	files     zarrFiles
	before    string // of the first number; "": nothing
	separator string
	a         *Array
}

func (z *zarrChunks) known() error {
	if z.separator != "." && z.separator != "/" {
		return fmt.Errorf("the separator of numbers in names: got %.40q, want \".\" or \"/\"", z.separator)
	}
	return nil
}

// name is that of a file by its number in a grid of them.
func (z *zarrChunks) name(index int64, grid []int64) string {
	parts := make([]string, len(grid))
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i] = strconv.FormatInt(index%grid[i], 10)
		index /= grid[i]
	}
	if z.before != "" {
		parts = slices.Insert(parts, 0, z.before)
	}
	return strings.Join(parts, z.separator)
}

func (z *zarrChunks) place(index int64) (p place, found bool, err error) {
	n, found, err := z.files.size(z.name(index, z.a.grid))
	return place{index: index, size: uint32(min(n, math.MaxUint32))}, found, err
}

func (z *zarrChunks) read(p place, off int64, dst []byte) error {
	return z.files.read(z.name(p.index, z.a.grid), off, dst)
}
