package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/leak"
	"golang.org/x/sys/unix"
)

var background = context.Background()

// tree makes files, each holding its own path, and returns the directory.
func tree(t testing.TB, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range paths {
		write(t, filepath.Join(dir, p), p)
	}
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openF and openL open a source and close it with the test.
func openF(t testing.TB, c FolderConfig) Source {
	t.Helper()
	s, err := OpenFolder(c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func openL(t testing.TB, c ListConfig) Source {
	t.Helper()
	s, err := OpenList(c)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// both opens the same files as a folder and through a list.
func both(t *testing.T, dir string, maxBytes int64, names ...string) map[string]Source {
	file := filepath.Join(t.TempDir(), "list.tsv")
	write(t, file, strings.Join(names, "\n"))
	return map[string]Source{
		"folder": openF(t, FolderConfig{Dir: dir, MaxFileBytes: maxBytes}),
		"list":   openL(t, ListConfig{File: file, Root: dir, MaxFileBytes: maxBytes}),
	}
}

func keys(s Source) (all []string) {
	for i := range s.Len() {
		all = append(all, string(s.Key(i, nil)))
	}
	return all
}

func labels(s Source) (all []int64) {
	for i := range s.Len() {
		all = append(all, s.Label(i))
	}
	return all
}

// find is the index of a key.
func find(t *testing.T, s Source, key string) int64 {
	t.Helper()
	for i := range s.Len() {
		if string(s.Key(i, nil)) == key {
			return i
		}
	}
	t.Fatalf("no sample %q in %q", key, keys(s))
	return 0
}

// wantCause reads a sample and expects it to fail for one cause, named with its index and key.
func wantCause(t *testing.T, s Source, key string, want Cause) *Error {
	t.Helper()
	var b Buffer
	i := find(t, s, key)
	err := s.Read(background, i, &b)
	var e *Error
	if !errors.As(err, &e) || e.Cause != want || e.Index != i || e.Key != key {
		t.Fatalf("%s: got %v, want cause %s", key, err, want)
	}
	if len(b.Bytes()) != 0 {
		t.Fatalf("%s: the buffer holds %d bytes after an error", key, len(b.Bytes()))
	}
	if text := err.Error(); !strings.HasPrefix(text, fmt.Sprintf("source: sample %d %q: %s", i, key, want)) {
		t.Fatalf("text %q", text)
	}
	return e
}

// A sample's bytes are the file's, followed by zeroes that a decoder may read, whatever the buffer held before.
func TestReadGivesTheFileAndZeroPadding(t *testing.T) {
	sizes := []int{1, 63, 64, slabBytes - Padding, slabBytes - Padding + 1, slabBytes, 3<<20 + 17, 5}
	dir := t.TempDir()
	var names []string
	for i, n := range sizes {
		names = append(names, fmt.Sprintf("%d.jpg", i))
		write(t, filepath.Join(dir, names[i]), strings.Repeat("\xee", n))
	}
	for kind, s := range both(t, dir, 0, names...) {
		var b Buffer
		for i, n := range sizes {
			must(t, s.Read(background, int64(i), &b))
			got := b.Bytes()
			if len(got) != n || cap(got) != n || bytes.Count(got, []byte{0xee}) != n {
				t.Fatalf("%s %d: %d bytes, want %d", kind, i, len(got), n)
			}
			if after := b.mem[n : n+Padding]; !bytes.Equal(after, make([]byte, Padding)) {
				t.Fatalf("%s %d: padding %v", kind, i, after)
			}
		}
	}
}

// Once a buffer has grown, reading, naming and labelling a sample allocates nothing.
func TestReadAllocatesNothing(t *testing.T) {
	dir := tree(t, "a/x.jpg", "b/y.jpg", "c.jpg")
	file := filepath.Join(t.TempDir(), "l")
	write(t, file, dir+"/a/x.jpg\t4\n"+dir+"/b/y.jpg\t5")
	sources := both(t, dir, 0, "a/x.jpg\t1", "b/y.jpg\t2", "c.jpg")
	sources["absolute"] = openL(t, ListConfig{File: file})
	for kind, s := range sources {
		var b Buffer
		key := make([]byte, 0, 4096)
		ctx, cancel := context.WithCancel(background)
		i := int64(0)
		a := testing.AllocsPerRun(100, func() {
			must(t, s.Read(ctx, i%s.Len(), &b))
			key = s.Key(i%s.Len(), key[:0])
			_ = s.Label(i % s.Len())
			i++
		})
		cancel()
		if a != 0 {
			t.Errorf("%s: %v allocations", kind, a)
		}
	}
}

// Each thing that can be wrong with a file has its cause, through either source, and none of them blocks.
func TestEveryBadFileHasItsCause(t *testing.T) {
	dir := tree(t, "good.jpg", "gone.jpg", "large.jpg", "way/gone.jpg")
	write(t, filepath.Join(dir, "empty.jpg"), "")
	must(t, os.Truncate(filepath.Join(dir, "large.jpg"), 1001))
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo.jpg"), 0o644))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.jpg")))
	must(t, os.Symlink("loop.jpg", filepath.Join(dir, "loop.jpg")))
	must(t, os.Symlink("/etc/hostname", filepath.Join(dir, "absolute.jpg")))
	must(t, os.Symlink("../../../../../../etc/hostname", filepath.Join(dir, "climb.jpg")))
	must(t, os.Symlink("good.jpg", filepath.Join(dir, "link.jpg")))
	must(t, unix.Mknod(filepath.Join(dir, "socket.jpg"), unix.S_IFSOCK|0o644, 0))
	sources := both(t, dir, 1000, "good.jpg", "gone.jpg", "large.jpg", "way/gone.jpg", "empty.jpg", "fifo.jpg", "dangling.jpg",
		"loop.jpg", "absolute.jpg", "climb.jpg", "link.jpg", "socket.jpg", "good.jpg/x.jpg", "way", strings.Repeat("n", 300)+".jpg")
	must(t, os.Remove(filepath.Join(dir, "gone.jpg")))
	must(t, os.RemoveAll(filepath.Join(dir, "way")))
	must(t, os.Mkdir(filepath.Join(dir, "way"), 0o755))
	for kind, s := range sources {
		for key, want := range map[string]Cause{
			"gone.jpg": Missing, "way/gone.jpg": Missing, "dangling.jpg": Missing, "loop.jpg": Missing,
			"large.jpg": TooLarge, "empty.jpg": Empty, "fifo.jpg": NotRegular, "socket.jpg": NotRegular,
			"absolute.jpg": Outside, "climb.jpg": Outside,
		} {
			if e := wantCause(t, s, key, want); e.TimeDependent() {
				t.Errorf("%s %s: time dependent", kind, key)
			}
		}
		if e := wantCause(t, s, "large.jpg", TooLarge); !strings.Contains(e.Error(), "got 1001 bytes, want at most 1000") {
			t.Errorf("%s: %v", kind, e)
		}
		var b Buffer
		must(t, s.Read(background, find(t, s, "link.jpg"), &b))
		if string(b.Bytes()) != "good.jpg" {
			t.Errorf("%s: a link beneath the root reads %q", kind, b.Bytes())
		}
	}
	list := sources["list"]
	wantCause(t, list, "good.jpg/x.jpg", Missing)
	wantCause(t, list, "way", NotRegular)
	wantCause(t, list, strings.Repeat("n", 300)+".jpg", Missing)
}

// A file without permission is a bad sample, not the end. File permissions do not bind root, so as root the test drops
// them for its own thread.
func TestFileWithoutPermissionIsPermission(t *testing.T) {
	dir := tree(t, "a.jpg")
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Join(dir, "a.jpg"), 0))
	for _, s := range both(t, dir, 0, "a.jpg") {
		asNobody(t, func() { wantCause(t, s, "a.jpg", Permission) })
	}
}

// asNobody runs f without root's file access.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if _, err := unix.SetfsuidRetUid(nobody); err != nil {
		t.Skipf("setfsuid: %v", err)
	}
	defer unix.SetfsuidRetUid(0)
	f()
}

// A list that names no root may hold absolute paths, and they are as guarded against devices and fifos as others.
func TestAbsolutePathsAreReadWhenTheListNamesNoRoot(t *testing.T) {
	dir := tree(t, "a.jpg")
	fifo := filepath.Join(dir, "fifo")
	must(t, unix.Mkfifo(fifo, 0o644))
	file := filepath.Join(dir, "l")
	write(t, file, dir+"/a.jpg\na.jpg\n/dev/zero\n"+fifo+"\n"+dir+"/none\n"+dir)
	s := openL(t, ListConfig{File: file})
	var b Buffer
	for i := range int64(2) {
		must(t, s.Read(background, i, &b))
		if string(b.Bytes()) != "a.jpg" {
			t.Fatalf("%d: %q", i, b.Bytes())
		}
	}
	wantCause(t, s, "/dev/zero", NotRegular)
	wantCause(t, s, fifo, NotRegular)
	wantCause(t, s, dir+"/none", Missing)
	wantCause(t, s, dir, NotRegular)
}

// growing is a context whose Err changes a file just before the n-th look at it.
type growing struct {
	context.Context
	looks int
	do    func()
}

func (g *growing) Err() error {
	if g.looks--; g.looks == 0 {
		g.do()
	}
	return nil
}

// A file that is changed between the first look and the last byte is reported, not delivered in two halves.
func TestFileChangedWhileReadIsChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jpg")
	for name, change := range map[string]func(){
		"truncated": func() { must(t, os.Truncate(path, 1<<20)) },
		"extended":  func() { must(t, os.Truncate(path, 4<<20)) },
		"rewritten": func() { write(t, path, strings.Repeat("b", 3<<20)); must(t, os.Chtimes(path, old.Add(1), old.Add(1))) },
	} {
		write(t, path, strings.Repeat("a", 3<<20))
		must(t, os.Chtimes(path, old, old))
		s := openF(t, FolderConfig{Dir: dir})
		var b Buffer
		err := s.Read(&growing{Context: background, looks: 3, do: change}, 0, &b)
		var e *Error
		if !errors.As(err, &e) || e.Cause != Changed || !e.TimeDependent() || len(b.Bytes()) != 0 {
			t.Errorf("%s: got %v", name, err)
		}
		must(t, s.Read(background, 0, &b))
	}
}

// A cancelled context ends a read with its own error, before the file is opened or between two pieces of a large one.
func TestReadStopsWhenCancelled(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jpg"), strings.Repeat("a", 3<<20))
	s := openF(t, FolderConfig{Dir: dir})
	var b Buffer
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := s.Read(ctx, 0, &b); err != context.Canceled {
		t.Fatalf("got %v", err)
	}
	ctx, cancel = context.WithCancel(background)
	defer cancel()
	if err := s.Read(&cancelled{ctx, 3, cancel}, 0, &b); err != context.Canceled || len(b.Bytes()) != 0 {
		t.Fatalf("got %v, %d bytes", err, len(b.Bytes()))
	}
}

// cancelled cancels itself at the n-th look.
type cancelled struct {
	context.Context
	looks  int
	cancel func()
}

func (c *cancelled) Err() error {
	if c.looks--; c.looks == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// Errors and successes alike leave no descriptor behind.
func TestReadLeavesNoDescriptor(t *testing.T) {
	dir := tree(t, "a.jpg", "b.jpg")
	write(t, filepath.Join(dir, "b.jpg"), "")
	since := leak.Descriptors()
	for kind, open := range map[string]func() (Source, error){
		"folder": func() (Source, error) { return OpenFolder(FolderConfig{Dir: dir}) },
		"none":   func() (Source, error) { return OpenFolder(FolderConfig{Dir: dir, Extensions: []string{"txt"}}) },
		"depth":  func() (Source, error) { return OpenList(ListConfig{File: dir + "/a.jpg", Root: dir + "/none"}) },
	} {
		s, err := open()
		if (err != nil) != (kind != "folder") {
			t.Fatalf("%s: %v", kind, err)
		}
		if err != nil {
			continue
		}
		var b Buffer
		for i := range s.Len() {
			if err := s.Read(background, i, &b); (err == nil) != (i == 0) {
				t.Fatal(err)
			}
		}
		must(t, s.Close())
		if err := s.Close(); err == nil {
			t.Fatal("closed twice without an error")
		}
	}
	must(t, since())
}

// What the system says maps to the cause that a user can act on; the rest is io, and depends on time.
func TestSystemErrorsHaveCauses(t *testing.T) {
	for err, want := range map[error]Cause{
		unix.ENOENT: Missing, unix.ENOTDIR: Missing, unix.ELOOP: Missing, unix.ENAMETOOLONG: Missing, unix.EACCES: Permission,
		unix.EPERM: Permission, unix.EXDEV: Outside, unix.ENXIO: NotRegular, unix.ENODEV: NotRegular, unix.EIO: IO,
		unix.ESTALE: IO, unix.EMFILE: IO, unix.ENFILE: IO, unix.ENOMEM: IO, unix.EAGAIN: IO,
	} {
		var e *Error
		if got := readError(err); !errors.As(got, &e) || e.Cause != want || e.TimeDependent() != (want == IO) {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if text := readError(unix.EMFILE).Error(); !strings.Contains(text, "raise ulimit -n") {
		t.Errorf("text %q", text)
	}
	if text := probeError(unix.ENOSYS).Error(); !strings.Contains(text, "Linux 5.14") {
		t.Errorf("text %q", text)
	}
	if probeError(unix.EIO) != unix.EIO {
		t.Error("probe hides an error")
	}
}

// The pool lends a buffer to one at a time and gives it again; memory goes by size to whoever needs it, and of what is huge some is
// kept.
func TestPoolKeepsMemoryBySizeAndFewHugeOnes(t *testing.T) {
	var p Pool
	a, b := p.Get(), p.Get()
	if a == b {
		t.Fatal("one buffer lent twice")
	}
	small := &a.room(1000)[0]
	a.hold(0, 1000)
	large := &b.room(300 << 10)[0]
	p.Put(a)
	p.Put(b)
	if got := p.Get(); got != b || got.Cap() != 0 || len(got.Bytes()) != 0 {
		t.Fatalf("a buffer that came back has %d bytes of %d", len(got.Bytes()), got.Cap())
	}
	if got := &b.room(500)[0]; got != small {
		t.Fatal("a small sample got other memory than the small one that was free")
	}
	if got := &b.room(400 << 10)[0]; got != large || b.Cap() != 512<<10 {
		t.Fatalf("a large sample got other memory than the large one that was free, %d bytes", b.Cap())
	}
	if a = p.Get(); &a.room(900)[0] != small {
		t.Fatal("a buffer that grew kept its small memory")
	}
	huge := &b.room(5 << 20)[0]
	if b.Cap() != 5<<20+slabBytes {
		t.Fatalf("5 MiB and padding take %d bytes", b.Cap())
	}
	p.Put(b)
	b = p.Get()
	if &b.room(5<<20 - 1000)[0] != huge {
		t.Fatal("huge memory was not kept for a sample of its size")
	}
	for _, n := range []int{30, 50, 65} { // MiB: with the first both of the others are too much
		p.Put(b)
		b = p.Get()
		b.room(n << 20)
	}
	p.Put(b)
	if len(p.huge) != 1 || p.bytes != 50<<20+slabBytes {
		t.Fatalf("%d huge pieces of %d bytes are kept", len(p.huge), p.bytes)
	}
}

// afterPart is the memory behind a part: its padding.
func (b *Buffer) afterPart(k int) []byte { return b.mem[b.parts[k].at+b.parts[k].n:][:Padding] }
