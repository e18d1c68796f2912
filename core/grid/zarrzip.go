package grid

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
)

// ZipEnding is that of archives' names.
const ZipEnding = ".zip"

const maxDeflate = 1032 // bytes that one byte of a deflated member can become, at most

// InZip cuts the path of an array in an archive into the archive, a file, and the array's name in it, "." where the archive is one; two empty
// texts: there is no such archive in the path.
func InZip(name string) (archive, within string) {
	for at := 0; ; {
		next := strings.Index(name[at:], ZipEnding)
		if next < 0 {
			return "", ""
		}
		at += next + len(ZipEnding)
		if at < len(name) && name[at] != '/' {
			continue
		}
		if st, err := os.Stat(name[:at]); err == nil && st.Mode().IsRegular() {
			return name[:at], path.Clean(strings.TrimLeft(name[at:], "/"))
		}
	}
}

// ZarrZip is an archive of arrays, as ZipStore and zip -r write them.
type ZarrZip struct {
	r       io.ReaderAt
	size    int64
	members map[string]*zip.File // of one that is there several times, as where chunks were written anew, the last
}

// OpenZarrZip reads the directory of an archive.
func OpenZarrZip(r io.ReaderAt, size int64) (*ZarrZip, error) {
	all, err := zip.NewReader(r, size)
	switch {
	case errors.Is(err, zip.ErrFormat):
		return nil, fmt.Errorf("zip: no directory at the end of its %d bytes; it was not closed, or not copied to its end", size)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath): // names are looked up, never opened
		return nil, fmt.Errorf("zip: %w", err)
	}
	z := &ZarrZip{r, size, make(map[string]*zip.File, len(all.File))}
	for _, f := range all.File {
		z.members[f.Name] = f
	}
	return z, nil
}

// ZarrsInZip are the arrays in an archive that a pattern matches, sorted.
func ZarrsInZip(archive, pattern string) (names []string, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil {
		var z *ZarrZip
		if z, err = OpenZarrZip(f, st.Size()); err == nil {
			names, err = z.Names(pattern)
		}
	}
	return names, errors.Join(err, f.Close())
}

// zarrInZip is an array in an archive, with the archive's own name ahead; "" where it has none.
func zarrInZip(archive string) string {
	for _, pattern := range groups {
		if names, err := ZarrsInZip(archive, pattern); err == nil && len(names) > 0 {
			return strings.TrimSuffix(archive+"/"+names[0], "/.")
		}
	}
	return ""
}

// groups are where an array may be in an archive: it itself, or in groups.
var groups = []string{".", "*", "*/*", "*/*/*"}

// Names are the arrays in the archive that a pattern matches, sorted.
func (z *ZarrZip) Names(pattern string) (names []string, err error) {
	for member := range z.members {
		dir, file := path.Split(member)
		if file != ".zarray" && file != "zarr.json" {
			continue
		}
		name := path.Clean(dir)
		match, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if match && !z.isGroup(member) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// isGroup says that a member describes a group of arrays, which only version 3 has in such a file.
func (z *ZarrZip) isGroup(member string) bool {
	var of zarrJSON
	text, err := z.text(member)
	return err == nil && json.Unmarshal(text, &of) == nil && of.NodeType == "group"
}

// text is what a member says of an array or group.
func (z *ZarrZip) text(name string) ([]byte, error) {
	m, err := z.member(z.members[name])
	if err == nil && m.size > maxZarrJSON {
		err = fmt.Errorf("got more than %d bytes", maxZarrJSON)
	}
	if err != nil {
		return nil, err
	}
	text := make([]byte, m.size)
	return text, m.read(z.r, 0, text)
}

// example is an array in the archive, whatever is asked for.
func (z *ZarrZip) example() string {
	for _, pattern := range groups {
		if names, err := z.Names(pattern); err == nil && len(names) > 0 {
			return names[0]
		}
	}
	return "NAME"
}

// Array is an array of the archive by its name. It needs the archive's file, and not the archive.
func (z *ZarrZip) Array(name string) (*Array, error) {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	for _, file := range []string{"zarr.json", ".zarray"} {
		if z.members[prefix+file] == nil {
			continue
		}
		files := &zarrMembers{r: z.r, zip: z, all: map[string]zipMember{}}
		text, err := z.text(prefix + file)
		var a *Array
		if err == nil {
			a, err = zarrOf(text, files)
		}
		if err == nil {
			err = files.take(prefix, a)
		}
		if err != nil && !errors.Is(err, ErrNoZarr) {
			err = fmt.Errorf("%s: %w", file, err)
		}
		files.zip = nil
		return a, err
	}
	return nil, fmt.Errorf("%w; name one of those in the archive, such as %s", ErrNoZarr, z.example())
}

// zipMember is where a member's bytes lie.
type zipMember struct {
	at, packed, size int64
	sum              uint32
	deflated         bool
}

func (z *ZarrZip) member(f *zip.File) (m zipMember, err error) {
	switch {
	case f.Flags&1 != 0:
		return m, errors.New("it is encrypted; store it as it is (zip -0)")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return m, fmt.Errorf("got compression method %d, want stored (0), which is best, or deflated (8); write it again (zip -0)", f.Method)
	case f.Method == zip.Store && f.UncompressedSize64 != f.CompressedSize64, f.CompressedSize64 > uint64(z.size), f.UncompressedSize64/maxDeflate > f.CompressedSize64:
		return m, fmt.Errorf("got %d bytes, packed as %d in an archive of %d, which cannot be", f.UncompressedSize64, f.CompressedSize64, z.size)
	}
	m = zipMember{packed: int64(f.CompressedSize64), size: int64(f.UncompressedSize64), sum: f.CRC32, deflated: f.Method == zip.Deflate}
	if m.at, err = f.DataOffset(); err == nil && (m.at < 0 || m.at > z.size-m.packed) {
		err = errors.New("it lies beyond the archive's end: truncated, or damaged; write or copy the archive again")
	}
	return m, err
}

// zarrMembers are the files of one array.
type zarrMembers struct {
	r   io.ReaderAt
	all map[string]zipMember
	zip *ZarrZip // while the array is opened
}

// take finds where the array's chunks lie. One that is deflated cannot be read in part.
func (z *zarrMembers) take(prefix string, a *Array) error {
	_, shards := a.chunks.(*zarrShards)
	for name, f := range z.zip.members {
		below, is := strings.CutPrefix(name, prefix)
		if !is || below == "zarr.json" || strings.HasPrefix(below, ".z") || strings.HasSuffix(name, "/") {
			continue
		}
		m, err := z.zip.member(f)
		if err == nil && m.deflated && shards {
			err = errors.New("it is a shard, and deflated, so that all of it would be unpacked for each of its chunks; store it as it is (zip -0)")
		}
		if err != nil {
			return fmt.Errorf("member %.200q: %w", name, err)
		}
		a.whole = a.whole || m.deflated
		z.all[below] = m
	}
	return nil
}

func (z *zarrMembers) example() string { return z.zip.example() }

func (z *zarrMembers) size(name string) (n int64, found bool, err error) {
	m, found := z.all[name]
	return m.size, found, nil
}

func (z *zarrMembers) read(name string, off int64, dst []byte) error {
	m, found := z.all[name]
	if !found {
		return fs.ErrNotExist
	}
	return m.read(z.r, off, dst)
}

// unheaded are readers of deflated bytes without zlib's head.
var unheaded sync.Pool

// read fills dst from byte off of a member on. One that is read whole is compared with its checksum.
func (m *zipMember) read(r io.ReaderAt, off int64, dst []byte) error {
	if !m.deflated {
		n, err := r.ReadAt(dst, m.at+off)
		if n < len(dst) {
			return err
		}
		if off == 0 && int64(n) == m.size {
			return m.check(dst)
		}
		return nil
	}
	packed, whole := borrow(m.packed), borrow(m.size)
	defer giveBack(packed)
	defer giveBack(whole)
	if n, err := r.ReadAt(*packed, m.at); n < len(*packed) {
		return err
	}
	from := bytes.NewReader(*packed)
	in, _ := unheaded.Get().(io.ReadCloser)
	if in == nil {
		in = flate.NewReader(from)
	} else if err := in.(flate.Resetter).Reset(from, nil); err != nil {
		return err
	}
	defer unheaded.Put(in)
	n, err := filled(*whole, in)
	if err == nil && int64(n) < m.size {
		err = fmt.Errorf("unpacks to %d bytes, want %d", n, m.size)
	}
	if err != nil {
		return fmt.Errorf("%w: deflated: %w", ErrDamaged, err)
	}
	copy(dst, (*whole)[off:])
	return m.check(*whole)
}

func (m *zipMember) check(data []byte) error {
	if sum := crc32.ChecksumIEEE(data); sum != m.sum {
		return fmt.Errorf("%w: CRC-32 got %08x, want %08x", ErrChecksum, sum, m.sum)
	}
	return nil
}
