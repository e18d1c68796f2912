package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"github.com/spdl/spdl/core/spelling"
	"golang.org/x/sys/unix"
)

const (
	readChunk   = 1 << 20
	openTries   = 16
	openFlags   = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOCTTY | unix.O_NONBLOCK
	resolveSafe = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
)

// root is the directory that samples lie beneath.
type root struct {
	fd       int
	dir      string // absolute, for identities
	maxBytes int64
	inPlace  int64     // media of at least so many bytes stay where they are; 0: none do
	absolute bool      // absolute paths are opened as they are
	progress *Progress // of who waits for a file to be read whole; nil: nobody
}

// openRoot opens a directory and makes sure that the kernel can hold paths beneath it.
func openRoot(dir string, maxBytes int64) (root, error) {
	if maxBytes == 0 {
		maxBytes = DefaultMaxFileBytes
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return root{}, openError(dir, err)
	}
	probe, err := unix.Openat2(fd, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveSafe})
	if err != nil {
		unix.Close(fd)
		return root{}, probeError(err)
	}
	unix.Close(probe)
	return root{fd: fd, dir: absoluteDir(dir), maxBytes: maxBytes}, nil
}

func openError(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such directory" + spelling.NotThere(dir))
	case err == unix.ENOTDIR:
		return errors.New("is not a directory")
	}
	return err
}

func probeError(err error) error {
	if err == unix.ENOSYS || err == unix.EPERM {
		return fmt.Errorf("the system call openat2 is not available (%w); use Linux 5.14 or newer, and a seccomp profile that "+
			"lets openat2 pass", err)
	}
	return err
}

// read does the work of Source.Read for the path that the caller has put into b.path[:n].
func (r *root) read(ctx context.Context, b *Buffer, n int) error {
	b.drop()
	return r.readNext(ctx, b, n)
}

// readNext reads that file as the sample's next part.
func (r *root) readNext(ctx context.Context, b *Buffer, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fd, err := r.open(b, n)
	if err != nil {
		return err
	}
	placed, err := r.placeNext(b, fd, n)
	if placed {
		return nil
	}
	size := 0
	if err == nil {
		size, err = r.fill(ctx, fd, b)
	}
	unix.Close(fd)
	if err == nil {
		b.holdNext(size)
	}
	return err
}

// open opens b.path[:n] without waiting for anything, and without an allocation unless it fails.
func (r *root) open(b *Buffer, n int) (int, error) {
	b.path[n] = 0
	b.how = unix.OpenHow{Flags: openFlags | unix.O_LARGEFILE, Resolve: resolveSafe}
	if r.absolute && b.path[0] == '/' {
		// Opening a device can do things; a path that nothing confines is looked at first.
		b.how.Resolve = 0
		if err := statPath(r.fd, b); err != nil {
			return -1, readError(err)
		}
		if !isRegular(&b.stat[0]) {
			return -1, notRegular(&b.stat[0])
		}
	}
	for range openTries {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(r.fd), uintptr(unsafe.Pointer(&b.path[0])),
			uintptr(unsafe.Pointer(&b.how)), unsafe.Sizeof(b.how), 0, 0)
		// EAGAIN: a rename beneath the root came between; the kernel asks to try again.
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EINTR && errno != unix.EAGAIN {
			return -1, readError(errno)
		}
	}
	return -1, readError(unix.EAGAIN)
}

func statPath(dir int, b *Buffer) error {
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(dir), uintptr(unsafe.Pointer(&b.path[0])),
		uintptr(unsafe.Pointer(&b.stat[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func isRegular(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }

// fill reads the whole file, and tells a file that changes meanwhile from one that does not.
func (r *root) fill(ctx context.Context, fd int, b *Buffer) (int, error) {
	before, after := &b.stat[0], &b.stat[1]
	if err := unix.Fstat(fd, before); err != nil {
		return 0, readError(err)
	}
	switch {
	case !isRegular(before):
		return 0, notRegular(before)
	case before.Size == 0:
		return 0, &Error{Cause: Empty, Detail: "got 0 bytes"}
	case before.Size > r.maxBytes:
		return 0, &Error{Cause: TooLarge, Detail: fmt.Sprintf("got %d bytes, want at most %d", before.Size, r.maxBytes)}
	}
	data := b.behind(int(before.Size))
	if err := pread(ctx, fd, data, 0, before.Size, r.progress); err != nil {
		return 0, err
	}
	return len(data), unchanged(fd, before, after)
}

// pread fills data from an offset of a file that had size bytes.
func pread(ctx context.Context, fd int, data []byte, off, size int64, p *Progress) error {
	for at := 0; at < len(data); {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.Step()
		n, err := unix.Pread(fd, data[at:min(len(data), at+readChunk)], off+int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return readError(err)
		}
		if n == 0 {
			return changed(size, off+int64(at))
		}
		at += n
	}
	return nil
}

// unchanged looks at the file again after it was read.
func unchanged(fd int, before, after *unix.Stat_t) error {
	if err := unix.Fstat(fd, after); err != nil {
		return readError(err)
	}
	if after.Size != before.Size || after.Mtim != before.Mtim {
		return changed(before.Size, after.Size)
	}
	return nil
}

func changed(before, after int64) error {
	return &Error{Cause: Changed, Detail: fmt.Sprintf("had %d bytes before it was read and %d after", before, after)}
}

func notRegular(st *unix.Stat_t) error {
	kind := "a device"
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		kind = "a directory"
	case unix.S_IFIFO:
		kind = "a fifo"
	case unix.S_IFSOCK:
		kind = "a socket"
	}
	return &Error{Cause: NotRegular, Detail: "got " + kind + ", want a regular file"}
}

// readError names the cause behind what the system said.
func readError(err error) error {
	e := &Error{Cause: IO, Err: err}
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG:
		e.Cause = Missing
	case unix.EACCES, unix.EPERM:
		e.Cause = Permission
	case unix.EXDEV:
		e.Cause, e.Err = Outside, nil
		e.Detail = "the path or a link in it leaves the root; links must be relative and stay beneath it"
	case unix.ENXIO, unix.ENODEV:
		e.Cause, e.Err = NotRegular, nil
		e.Detail = "got a socket or device, want a regular file"
	case unix.EMFILE, unix.ENFILE:
		e.Detail = "too many open files; raise ulimit -n"
	}
	return e
}

// name completes the error of one read with the sample's index and key.
func name(err error, s Source, i int64) error {
	if e, ok := err.(*Error); ok {
		e.Index, e.Key = i, string(s.Key(i, nil))
	}
	return err
}

func (r *root) close() error {
	return os.NewSyscallError("close", unix.Close(r.fd))
}
