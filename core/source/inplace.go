package source

import (
	"slices"

	"golang.org/x/sys/unix"
)

// File is a part of a sample that was not read with it, as it is large: it lies in a file that is open, for who decodes it to read what that needs.
// It is the buffer's, and is closed when the buffer is emptied.
type File struct {
	FD           int
	Offset, Size int64
	Name         string // absolute path
	ModTime      int64  // nanoseconds

	was version // of the file
}

// InPlace is part k of the sample where it lies in a file; nil: the buffer holds its bytes.
func (b *Buffer) InPlace(k int) *File {
	for _, p := range b.placed {
		if p.part == k {
			return p.file
		}
	}
	return nil
}

// Unchanged looks at the files of the parts that lie in place, when they have been read. One that was written meanwhile makes the sample a bad one.
func (b *Buffer) Unchanged() error {
	for _, p := range b.placed {
		st := &b.stat[0]
		if err := unix.Fstat(p.file.FD, st); err != nil {
			return readError(err)
		}
		if was := p.file.was; versionOf(st) != was {
			return changed(was.size, st.Size)
		}
	}
	return nil
}

// placed is a part that lies in a file.
type placed struct {
	part int
	file *File
}

// place declares size bytes of an open file, which is the buffer's from now on, to be the sample's next part. st is the file's.
func (b *Buffer) place(fd int, st *unix.Stat_t, name string, offset, size int64) {
	f := &File{FD: fd, Offset: offset, Size: size, Name: name, ModTime: st.Mtim.Nano(), was: versionOf(st)}
	b.placed = append(b.placed, placed{len(b.parts), f})
	b.parts = append(b.parts, stretch{})
}

// displace closes the files of the parts that lie in place.
func (b *Buffer) displace() {
	for i, p := range b.placed {
		if slices.IndexFunc(b.placed, func(q placed) bool { return q.file == p.file }) == i { // a part that is two has one file
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
	if !isRegular(st) || st.Size < r.inPlace {
		return false, nil
	}
	name := string(b.path[:n])
	if name[0] != '/' {
		name = r.dir + "/" + name
	}
	b.place(fd, st, name, 0, st.Size)
	return true, nil
}

// staysInPlace says that a chosen member is not read but stays in its archive: it is large, of a local archive, and nothing else is made of it. Of records
// all is read anyway, for their checksums.
func (s *shards) staysInPlace(sh *shard, m indexMember) bool {
	return s.root.inPlace > 0 && int64(m.size) >= s.root.inPlace && sh.object == nil && sh.record < 0 && sh.room[m.part] < 0
}

// placePiece is a member of a local archive that stays where it is.
func (s *shards) placePiece(sh *shard, b *Buffer, m indexMember) error {
	fd, err := s.root.openArchive(b, copy(b.path[:maxPath-1], sh.path), sh.version)
	if err != nil {
		return err
	}
	b.place(fd, &b.stat[0], sh.path, m.off, int64(m.size))
	return nil
}
