package source

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

const (
	sizesDir    = "sizes" // beside the indexes
	sizesEnding = ".sizes"
	sizesMagic  = "SPDLSIZ\x01"
	sizesHead   = len(sizesMagic) + 8
	sizeRecord  = 16
)

// Sizes are how large the pictures of a source are, found once and kept in a file, which is named by what the source's samples are: its head and a
// record a sample, of the xxh3 of its identity, its width and its height, and the xxh3 of all that; little-endian. A sample of which it says nothing, or
// that has another identity, or none, is not known. Goroutines may ask and tell of different samples at once.
type Sizes struct {
	data     []byte
	path     string // "": they are not kept
	versions Versioned
	changed  atomic.Bool
}

// OpenSizes finds what is kept of a source's pictures, of which what says which they are and how they are seen. A note says why nothing is kept.
func OpenSizes(src Source, what string) (s *Sizes, note string) {
	s = &Sizes{}
	s.versions, _ = src.(Versioned)
	known, ok := src.(Fingerprinted)
	var print Fingerprint
	if ok {
		print, ok = known.Fingerprint()
	}
	index, err := DefaultIndexDir()
	switch {
	case !ok:
		note = "the sizes of pictures are not kept: this source does not know which samples it has"
	case err != nil:
		note = fmt.Sprintf("the sizes of pictures are not kept: %v; set SPDL_CACHE_DIR", err)
	}
	n := src.Len()
	name := xxh3.HashString(fmt.Sprintf("%x %d %s", print.Names, n, what))
	s.data = append(make([]byte, 0, int64(sizesHead)+n*sizeRecord+8), sizesMagic...)
	s.data = binary.LittleEndian.AppendUint64(s.data, name)
	s.data = s.data[:int64(sizesHead)+n*sizeRecord]
	if note != "" {
		return s, note
	}
	s.path = filepath.Join(filepath.Dir(index), sizesDir, fmt.Sprintf("%016x%s", name, sizesEnding))
	if kept, err := os.ReadFile(s.path); err == nil && s.belongs(kept) {
		copy(s.data, kept)
	}
	return s, ""
}

// belongs says that what was read is whole, and is of this source.
func (s *Sizes) belongs(kept []byte) bool {
	body := len(s.data)
	return len(kept) == body+8 && string(kept[:sizesHead]) == string(s.data[:sizesHead]) && binary.LittleEndian.Uint64(kept[body:]) == xxh3.Hash(kept[:body])
}

func (s *Sizes) record(i int64) []byte {
	at := int64(sizesHead) + i*sizeRecord
	return s.data[at : at+sizeRecord : at+sizeRecord]
}

// identity is the xxh3 of a sample's; 0: it has none.
func (s *Sizes) identity(i int64) uint64 {
	if s.versions == nil {
		return 0
	}
	var room [maxPath + 64]byte
	id := s.versions.Identity(i, room[:0])
	if len(id) == 0 {
		return 0
	}
	return max(xxh3.Hash(id), 1)
}

// Known is how large sample i's picture is, if that is known.
func (s *Sizes) Known(i int64) (w, h int, ok bool) {
	r := s.record(i)
	if w, h = int(binary.LittleEndian.Uint32(r[8:])), int(binary.LittleEndian.Uint32(r[12:])); w == 0 || h == 0 {
		return 0, 0, false
	}
	was := binary.LittleEndian.Uint64(r)
	return w, h, was != 0 && was == s.identity(i)
}

// Tell says how large it is. Of a sample without an identity nothing is kept: it may be another picture the next time.
func (s *Sizes) Tell(i int64, w, h int) {
	identity := s.identity(i)
	if identity == 0 {
		return
	}
	r := s.record(i)
	binary.LittleEndian.PutUint64(r, identity)
	binary.LittleEndian.PutUint32(r[8:], uint32(w))
	binary.LittleEndian.PutUint32(r[12:], uint32(h))
	s.changed.Store(true)
}

// Keep writes down what was told, for the next time. Nobody tells anything meanwhile.
func (s *Sizes) Keep() error {
	if s.path == "" || !s.changed.Load() {
		return nil
	}
	tidy(filepath.Join(filepath.Dir(filepath.Dir(s.path)), "index"))
	return writeFile(s.path, binary.LittleEndian.AppendUint64(s.data, xxh3.Hash(s.data)))
}
