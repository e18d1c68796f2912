package shm

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempts are the ways in which a process may try to change memory that it got a read-only descriptor of. page is a mapping of its start.
var attempts = map[string]func(fd int, page []byte) error{
	"mmap for writing": func(fd int, _ []byte) error {
		p, err := unix.Mmap(fd, 0, onePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			p[0] ^= 0xff
			return unix.Munmap(p)
		}
		return err
	},
	"mprotect":          func(_ int, page []byte) error { return unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE) },
	"pwrite":            func(fd int, page []byte) error { _, err := unix.Pwrite(fd, []byte("garbage"), 0); return err },
	"ftruncate to less": func(fd int, _ []byte) error { return unix.Ftruncate(fd, 0) },
	"ftruncate to more": func(fd int, _ []byte) error { return unix.Ftruncate(fd, 1<<30) },
	"fallocate of more": func(fd int, _ []byte) error { return unix.Fallocate(fd, 0, 0, 1<<30) },
	"fallocate a hole": func(fd int, _ []byte) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, onePage)
	},
	"fallocate to zeros": func(fd int, _ []byte) error { return unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 0, onePage) },
	"madvise remove":     func(_ int, page []byte) error { return unix.Madvise(page, unix.MADV_REMOVE) },
	"/proc/self/mem": func(_ int, page []byte) error {
		mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer mem.Close()
		_, err = mem.WriteAt([]byte("garbage"), int64(uintptr(unsafe.Pointer(&page[0]))))
		return err
	},
	"process_vm_writev": func(_ int, page []byte) error {
		garbage := []byte("garbage")
		local, remote := []unix.Iovec{{Base: &garbage[0], Len: 7}}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&page[0])), Len: 7}}
		_, err := unix.ProcessVMWritev(os.Getpid(), local, remote, 0)
		return err
	},
	"read into it": func(_ int, page []byte) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		if _, err := w.WriteString("garbage"); err != nil {
			return err
		}
		_, err = unix.Read(int(r.Fd()), page[:7])
		return err
	},
}

// sealed are further ones, which only seals withstand: whoever may open a name for writing may open it by any way.
var sealed = map[string]func(fd int, page []byte) error{
	"opening it again and writing": func(fd int, _ []byte) error {
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer again.Close()
		_, err = again.WriteAt([]byte("garbage"), 0)
		return err
	},
	"opening it again and mapping": func(fd int, _ []byte) error {
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer again.Close()
		p, err := unix.Mmap(int(again.Fd()), 0, onePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return unix.Munmap(p)
		}
		return err
	},
	"another seal": func(fd int, _ []byte) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
		return err
	},
}

const onePage = 4096

// No technique that we know of changes a byte of a shared ring's header or data through what its consumers are given.
func TestNoTechniqueWritesToASharedRing(t *testing.T) {
	for _, backing := range []Backing{Memfd, Posix} {
		cfg := testConfig(t, 8)
		cfg.Backing = backing
		r := newTestRing(t, cfg)
		c := r.attach(AttachOptions{MaxLeases: 1})
		r.publish(1, 0, false)
		held := acquire(t, c)
		for i, what := range map[int]string{0: "header", 2: "data"} {
			fd := int(c.files[i].Fd())
			page, err := unix.Mmap(fd, 0, onePage, unix.PROT_READ, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			before := bytes.Clone(page)
			try := func(technique string, f func(int, []byte) error) {
				if err := f(fd, page); err == nil {
					t.Errorf("backing %d: %s: %s succeeded", backing, what, technique)
				}
			}
			for technique, f := range attempts {
				try(technique, f)
			}
			if backing == Memfd {
				for technique, f := range sealed {
					try(technique, f)
				}
			}
			if what == "data" && !bytes.Equal(page, before) {
				t.Errorf("backing %d: the %s segment has changed", backing, what)
			}
			if err := unix.Munmap(page); err != nil {
				t.Fatal(err)
			}
		}
		release(t, held)
	}
}
