package verbs

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/core/media/whole"
)

// output is standard output. It remembers the first failure, after which it writes nothing: verbs print line by line.
type output struct {
	to     io.Writer
	failed error
}

func (o *output) Write(b []byte) (n int, err error) {
	if o.failed == nil {
		n, o.failed = o.to.Write(b)
	}
	return n, o.failed
}

// lost is a run's failure, or that not all of what it printed arrived.
func (o *output) lost(failure error) error {
	if o.failed == nil || failure != nil && !errors.Is(failure, o.failed) {
		return failure
	}
	return fmt.Errorf("standard output: %v; what was printed is not complete", unwrapPath(o.failed))
}

// reachable refuses a file that cannot be written, as its directory is not there or it is one itself, before anything is waited for.
func reachable(verb, flag, file string) error {
	if file == "" || file == "-" {
		return nil
	}
	_, err := os.Stat(filepath.Dir(file))
	switch st, here := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: --%s %q: %w; make the directory first", verb, flag, file, unwrapPath(err))
	case err != nil:
		return fmt.Errorf("%s: --%s %q: %w", verb, flag, file, unwrapPath(err))
	case here == nil && st.IsDir():
		return usage("%s: --%s %q is a directory, want the name of a file, there or elsewhere", verb, flag, file)
	}
	return nil
}

// drawable refuses, as reachable does, a file that no sheet can be written into.
func drawable(verb, file string) error {
	if _, err := pictureFormat(verb, file); err != nil {
		return err
	}
	return reachable(verb, "out", file)
}

// store puts what write writes into the file that a flag names, whole or not at all; - is standard output. Errors of write's
// own come back as they are.
func (a *app) store(verb, flag, file string, write func(io.Writer) error) error {
	if file == "-" {
		w := bufio.NewWriter(a.out)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	f, err := whole.Create(file)
	if err != nil {
		return fmt.Errorf("%s: --%s %q: %w", verb, flag, file, unwrapPath(err))
	}
	w := bufio.NewWriter(f)
	err = write(w)
	stored := w.Flush() // also tells of a write that failed before
	if err != nil || stored != nil {
		f.Abandon()
	} else {
		stored = f.Finish()
	}
	if stored != nil {
		return fmt.Errorf("%s: --%s %q: %w", verb, flag, file, unwrapPath(stored))
	}
	return err
}

// unwrapPath drops the name of a temporary file from an error about it.
func unwrapPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// storePicture stores a page in the format of the file's name.
func (a *app) storePicture(verb, file string, page image.Image) error {
	encode, err := pictureFormat(verb, file)
	if err != nil {
		return err
	}
	return a.store(verb, "out", file, func(w io.Writer) error { return encode(w, page) })
}

// jpegQuality keeps the small print of a sheet sharp.
const jpegQuality = 90

// pictureFormat is how a sheet is written into a file of that name: without an ending, and on standard output, as PNG.
func pictureFormat(verb, file string) (func(io.Writer, image.Image) error, error) {
	switch strings.ToLower(filepath.Ext(file)) {
	case "", ".png":
		return png.Encode, nil
	case ".jpg", ".jpeg":
		return func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: jpegQuality}) }, nil
	}
	return nil, usage("%s: --out %q, want a name that ends in .png or .jpg", verb, file)
}
