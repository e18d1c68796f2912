package av

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LargeBytes is how large a video or a sound is that is not read whole, but in parts, as it is decoded.
const LargeBytes = 32 << 20

// File is an encoded sample that is not in memory: Size bytes from Offset on of an open file, or of what From reads. Who decodes it reads what it
// needs, and any number may read at a time; the file stays its owner's.
type File struct {
	From         io.ReaderAt // nil: the descriptor, with pread
	FD           int
	Offset, Size int64
	Name         string // the file's absolute path, or its address
	Version      int64  // another one after each write; 0: it is not known
}

// Expect tells From, where it can ask for them ahead of time (by a method of this name), which parts of the sample are read next, each from its first
// byte to behind its last one, in this order.
func (f *File) Expect(parts [][2]int64) {
	from, can := f.From.(expecting)
	if !can {
		return
	}
	for i := range parts {
		parts[i][0], parts[i][1] = f.Offset+max(parts[i][0], 0), f.Offset+min(parts[i][1], f.Size)
	}
	from.Expect(parts)
}

// expecting is a reader that can ask for parts ahead of time.
type expecting interface{ Expect(parts [][2]int64) }

// peeking is a reader that several short parts can be asked of at a time, which nobody reads on from.
type peeking interface {
	Peek(to [][]byte, at []int64) error
}

// peek fills each of several short parts with the sample's bytes from there on, all of which must be there.
func (f *File) peek(to [][]byte, at []int64) error {
	if from, can := f.From.(peeking); can {
		for i := range at {
			at[i] += f.Offset
		}
		return from.Peek(to, at)
	}
	for i := range to {
		if n, err := f.ReadAt(to[i], at[i]); n < len(to[i]) {
			return err
		}
	}
	return nil
}

// Open opens a sample's file and says how long it is. What is no file with a length is refused, and nobody waits for who writes into a FIFO.
func Open(path string) (f *os.File, size int64, err error) {
	if f, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil {
		err = CheckRegular(path, st)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// CheckRegular refuses what is no file with a length.
func CheckRegular(path string, st os.FileInfo) error {
	switch {
	case st.Mode().IsRegular():
		return nil
	case st.IsDir():
		return fmt.Errorf("%q: got a directory, want a regular file", path)
	}
	return fmt.Errorf("%q: got a fifo, socket or device, want a regular file, or its bytes", path)
}

// ReadAt is an io.ReaderAt of the sample.
func (f *File) ReadAt(to []byte, at int64) (n int, err error) {
	for n < len(to) && at+int64(n) < f.Size {
		most := min(int64(len(to)), f.Size-at)
		got, err := f.read(to[n:most], f.Offset+at+int64(n))
		if n += got; err != nil && err != errHead {
			return n, err
		}
		if got == 0 { // the file became shorter
			return n, io.EOF
		}
	}
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}

func (f *File) read(to []byte, at int64) (int, error) {
	if f.From != nil {
		return f.From.ReadAt(to, at)
	}
	for {
		n, err := unix.Pread(f.FD, to, at)
		if err != unix.EINTR {
			return max(n, 0), os.NewSyscallError("pread", err)
		}
	}
}
