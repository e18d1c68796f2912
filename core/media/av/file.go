package av

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// File is an encoded sample that lies in an open file: Size bytes from Offset on. Who decodes it reads what it needs with pread, so any number of them
// may share the descriptor, which stays its owner's.
type File struct {
	FD           int
	Offset, Size int64
	Name         string // the file's absolute path
	ModTime      int64  // nanoseconds
}

// ReadAt is an io.ReaderAt of the sample.
func (f *File) ReadAt(to []byte, at int64) (n int, err error) {
	for n < len(to) && at+int64(n) < f.Size {
		most := min(int64(len(to)), f.Size-at)
		got, err := unix.Pread(f.FD, to[n:most], f.Offset+at+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, os.NewSyscallError("pread", err)
		case got == 0: // the file became shorter
			return n, io.EOF
		}
		n += got
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}
