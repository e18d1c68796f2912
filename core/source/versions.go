package source

import (
	"encoding/binary"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versioned is a source whose samples can be told from what they were and will be.
type Versioned interface {
	// Identity appends what tells sample i, in its present version and with the parts asked for, from all others. It appends nothing
	// where that cannot be told, such as of a file that is not there. Of a local file it asks the file system once.
	Identity(i int64, dst []byte) []byte
}

// identity appends a file beneath the root and its version: path, size, time of its last change and inode. It appends nothing for
// what is no file; Read will say why.
func (r *root) identity(path []byte, dst []byte) []byte {
	var name [maxPath]byte
	var st unix.Stat_t
	if len(path) >= maxPath {
		return nil
	}
	copy(name[:maxPath-1], path)
	_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(r.fd), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
	if errno != 0 || !isRegular(&st) {
		return nil
	}
	if !r.absolute || path[0] != '/' {
		dst = append(append(dst, r.dir...), '/')
	}
	dst = append(append(dst, path...), 0)
	for _, v := range []uint64{uint64(st.Size), uint64(st.Mtim.Nano()), st.Ino} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// identity is that of what a path of the list leads to. A URL has no version that could be known without asking for it: it is
// taken to stay what it is as long as the list does.
func (p *place) identity(path []byte, dst []byte) []byte {
	var name string
	switch {
	case p.store != nil && isURL(path):
		name = string(path)
	case p.url != "":
		name = p.join(string(path))
	default:
		return p.root.identity(localPath(path), dst)
	}
	return binary.LittleEndian.AppendUint64(append(append(dst, name...), 0), p.version)
}

// Identity is the file and its version, and those of the files beside it.
func (f *folder) Identity(i int64, dst []byte) []byte {
	var name [maxPath]byte
	path := f.Key(i, name[:0])
	if dst = f.root.identity(path, dst); dst == nil {
		return nil
	}
	for c := range f.columns {
		dst = append(appendColumn(dst, &f.columns[c]), 0)
		if dst = f.root.identity(f.appendColumn(nil, path, f.columns[c].From), dst); dst == nil {
			return nil
		}
	}
	for k := range f.media {
		if dst = f.root.identity(appendBeside(nil, path, f.media[k].From[0]), dst); dst == nil {
			return nil
		}
	}
	return dst
}

func (l *list) Identity(i int64, dst []byte) []byte {
	path, _, _ := cut(l.sample(i))
	return l.place.identity(path, dst)
}

// Identity is the file or object, those of its arrays, and what the row says.
func (t *table) Identity(i int64, dst []byte) []byte {
	switch {
	case t.alone:
		dst = append(append(dst, t.name...), 0)
	case t.first.Many > 0:
		if dst = t.place.appendIdentities(&t.first, t.paths.at(i), dst); dst == nil {
			return nil
		}
	default:
		if dst = t.place.identity(t.paths.at(i), dst); dst == nil {
			return nil
		}
	}
	for k := range t.media {
		if m := &t.media[k]; m.Many > 0 {
			dst = t.place.appendIdentities(m, t.others[k].at(i), dst)
		} else {
			dst = t.place.identity(t.others[k].at(i), dst)
		}
		if dst == nil {
			return nil
		}
	}
	for c := range t.columns {
		column := &t.columns[c]
		dst = appendColumn(dst, column)
		switch column.Type {
		case Array:
			if dst = t.place.identity(t.texts[c].at(i), dst); dst == nil {
				return nil
			}
		case List:
			dst = t.listIdentity(c, i, dst)
		case Text:
			dst = append(strconv.AppendInt(dst, int64(len(t.texts[c].at(i))), 10), t.texts[c].at(i)...)
		default:
			dst = strconv.AppendInt(dst, t.numbers[c][i], 10)
		}
	}
	return dst
}

// Identity is the file and its version, the row, and which columns of it are wanted.
func (s *parquetShards) Identity(i int64, dst []byte) []byte {
	g, medium := s.find(i), uint64(0)
	if len(g.columns) > 0 {
		medium = uint64(g.columns[0][0])
	}
	dst = append(append(append(dst, s.shape...), g.file.identity...), 0)
	for _, v := range []uint64{uint64(g.file.version.size), g.file.version.tag, medium, uint64(g.inFile + i - g.first)} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// appendColumn appends what decides a column's value beside the file that it is made of.
func appendColumn(dst []byte, c *Column) []byte {
	dst = append(append(append(append(dst, c.Name...), 0), c.From...), 0)
	dst = append(append(dst, c.Member...), byte(c.Type))
	dst = strconv.AppendInt(dst, int64(c.MaxBytes), 10)
	dst = append(strconv.AppendUint(dst, uint64(c.DType), 16), c.Shape.String()...)
	if c.MaxLength > 0 {
		dst = strconv.AppendInt(append(dst, "-1x"...), int64(c.MaxLength), 10)
	}
	if c.Default != nil {
		dst = append(append(dst, 0), c.Default...)
	}
	return dst
}

// absoluteDir is a directory's name for an identity: the same wherever the process stands.
func absoluteDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
