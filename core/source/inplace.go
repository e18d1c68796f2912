package source

import (
	"context"
	"io"
	"slices"

	"github.com/spdl/spdl/core/source/store"
	"golang.org/x/sys/unix"
)

// File is a part of a sample that was not read with it, as it is large: it lies in a file that is open, or in an object of a store, for who decodes it to
// read what that needs. It is the buffer's, and is closed when the buffer is emptied.
type File struct {
	FD           int // -1: it is an object's
	Offset, Size int64
	Name         string // absolute path, or address without what may be secret
	Version      int64  // another one after each write; 0: it is not known

	was    version       // of the file
	object *store.Reader // nil: a file
}

// Object is what reads the store's object, and nil where it is a file's. It waits for the network until the context of Until ends.
func (f *File) Object() io.ReaderAt {
	if f.object == nil {
		return nil
	}
	return f.object
}

// InPlace is part k of the sample where it lies; nil: the buffer holds its bytes.
func (b *Buffer) InPlace(k int) *File {
	for _, p := range b.placed {
		if p.part == k {
			return p.file
		}
	}
	return nil
}

// Until says how long who decodes the sample waits for a network to bring parts of it that lie in place. Without it there is no end but the store's
// deadline. wait runs what waits, and may do something before and behind it; nil: nothing.
func (b *Buffer) Until(ctx context.Context, wait func(func())) {
	for _, p := range b.placed {
		if p.file.object != nil {
			p.file.object.Until(ctx, wait)
		}
	}
}

// Unread says why parts that lie in place are not what was decoded, when they have been: a file was written meanwhile, or an object could not be read,
// each of which makes the sample a bad one.
func (b *Buffer) Unread() error {
	for _, p := range b.placed {
		if err := p.file.unread(&b.stat[0]); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) unread(st *unix.Stat_t) error {
	if f.object != nil {
		return storeError(f.object.Err())
	}
	if err := unix.Fstat(f.FD, st); err != nil {
		return readError(err)
	}
	if versionOf(st) != f.was {
		return changed(f.was.size, st.Size)
	}
	return nil
}

// placed is a part that lies in a file or an object.
type placed struct {
	part int
	file *File
}

// place declares size bytes of an open file, which is the buffer's from now on, to be the sample's next part. st is the file's.
func (b *Buffer) place(fd int, st *unix.Stat_t, name string, offset, size int64) {
	b.placeFile(&File{FD: fd, Offset: offset, Size: size, Name: name, Version: st.Mtim.Nano(), was: versionOf(st)})
}

// placeObject declares size bytes of an object to be the sample's next part.
func (b *Buffer) placeObject(s *store.Client, o *store.Object, offset, size int64) {
	b.placeFile(&File{FD: -1, Offset: offset, Size: size, Name: store.Shown(o.URL), Version: o.Version(), object: s.Reader(o)})
}

func (b *Buffer) placeFile(f *File) {
	b.placed = append(b.placed, placed{len(b.parts), f})
	b.parts = append(b.parts, stretch{})
}

// displace closes the files of the parts that lie in place.
func (b *Buffer) displace() {
	for i, p := range b.placed {
		first := slices.IndexFunc(b.placed, func(q placed) bool { return q.file == p.file }) == i // a part that is two has one file
		if first && p.file.object == nil {
			_ = unix.Close(p.file.FD) // it was only read
		}
	}
	clear(b.placed)
	b.placed = b.placed[:0]
}

// placeNext makes an open file, b.path[:n], the sample's next part as it lies there, if it is large; it is the buffer's then.
func (r *root) placeNext(b *Buffer, fd, n int) (done bool, err error) {
	if r.inPlace == 0 || b.beside {
		return false, nil
	}
	st := &b.stat[0]
	if err := unix.Fstat(fd, st); err != nil {
		return false, readError(err)
	}
	if !isRegular(st) || !r.isLarge(st.Size) {
		return false, nil
	}
	name := string(b.path[:n])
	if name[0] != '/' {
		name = r.dir + "/" + name
	}
	b.place(fd, st, name, 0, st.Size)
	return true, nil
}

// staysInPlace says that a chosen member is not read but stays in its archive: it is large, and nothing else is made of it. Of records all is read anyway,
// for their checksums, and of chunks of them, which are unpacked.
func (s *shards) staysInPlace(sh *shard, m indexMember) bool {
	return s.root.isLarge(int64(m.size)) && sh.record < 0 && sh.chunk < 0 && sh.room[m.part] < 0 && !m.split
}

// isLarge says of so many bytes of a medium that they stay where they are.
func (r *root) isLarge(size int64) bool { return r.inPlace > 0 && size >= r.inPlace }

// placePiece is a member of an archive that stays where it is.
func (s *shards) placePiece(sh *shard, b *Buffer, m indexMember) error {
	if sh.object != nil {
		b.placeObject(s.store, sh.object, m.off, int64(m.size))
		return nil
	}
	fd, err := s.root.openArchive(b, copy(b.path[:maxPath-1], sh.path), sh.version)
	if err != nil {
		return err
	}
	b.place(fd, &b.stat[0], sh.path, m.off, int64(m.size))
	return nil
}
