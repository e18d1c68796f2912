package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// A file of rows: a page that says what it is of, then a place for each sample: its record, the values of its columns, its row. Of the room for
// values only what they take is written and read: the rest of it is a hole, or what a longer sample left. All numbers are little-endian. A record is the xxh3 of the sample's identity and that of identity, values and row; zero: nothing is there.
//
// The file is read and written, not mapped: what a full or failing disk does to a mapping ends the process, and a read from the page
// cache into the slot is the same one copy. A row is written before its record, and whoever reads a row checks it whole, so that a
// process may die at any moment, several may share the file, as what they write is the same, and whatever else becomes of the file is found.
const (
	rowMagic     = "SPDLROW\x02"
	rowPage      = 4096
	recordBytes  = 16
	rowFullPause = 10 * time.Second // nothing is written for so long after the disk was full
)

type rowFile struct {
	cache    *rowCache
	fd       int
	each     int64 // bytes of a place
	versions source.Versioned
	scratch  sync.Pool // of *rowScratch

	warm, stale, corrupt, failed atomic.Uint64
	pausedUntil                  atomic.Int64 // nanoseconds since begun
	begun                        time.Time
	unkept                       func(error) // why a row could not be written
}

// rowScratch is what one reading or writing of a row needs.
type rowScratch struct {
	row      [][]byte // the fields of the row in hand
	identity []byte
	head     []byte // record and values
	used     int    // bytes of the values, their ends included
	hash     xxh3.Hasher
}

// openRowFile opens the file of rows that the description's samples become in this build, and begins it anew where it is none.
func openRowFile(s *spec.Spec, src source.Source, c *rowCache, unkept func(error)) (*rowFile, error) {
	versions, ok := src.(source.Versioned)
	if !ok {
		return nil, errors.New("keeps rows of samples that have a version, and these have none; leave it out")
	}
	f := &rowFile{cache: c, each: int64(recordBytes + c.values.bytes + c.rowBytes), versions: versions, begun: time.Now(), unkept: unkept}
	f.scratch.New = func() any { return &rowScratch{head: make([]byte, recordBytes+c.values.bytes)} }
	if err := f.open(s.Cache.RowsDir, f.header(s)); err != nil {
		return nil, fmt.Errorf("%w; make room, or name a directory in which this user may make files", err)
	}
	return f, nil
}

// open opens the file in dir that has this header.
func (f *rowFile) open(dir string, head []byte) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, hex.EncodeToString(head[len(rowMagic):][:16])+".rows")
	if f.fd, err = unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	if err := f.begin(head); err != nil {
		return errors.Join(fmt.Errorf("%q: %w", path, err), f.close())
	}
	return nil
}

// header is the first page: what decides the bytes of the rows, beside the samples themselves.
func (f *rowFile) header(s *spec.Spec) []byte {
	of, build := s.RowHash(), "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.String()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %d %d %s", of, f.cache.places, f.each, build))
	return append(append(append(make([]byte, 0, rowPage), rowMagic...), sum[:]...), make([]byte, rowPage-len(rowMagic)-len(sum))...)
}

// begin makes sure that the file is the one that the header says. What has another is emptied.
func (f *rowFile) begin(head []byte) error {
	if err := unix.Flock(f.fd, unix.LOCK_EX); err != nil {
		return err
	}
	defer func() { _ = unix.Flock(f.fd, unix.LOCK_UN) }()
	got := make([]byte, rowPage)
	n, err := unix.Pread(f.fd, got, 0)
	if err != nil {
		return err
	}
	if n == rowPage && string(got) == string(head) {
		return nil
	}
	if n > 0 {
		f.corrupt.Add(1)
	}
	if err := unix.Ftruncate(f.fd, 0); err != nil {
		return err
	}
	_, err = unix.Pwrite(f.fd, head, 0)
	return err
}

func (f *rowFile) at(place int64) int64 { return rowPage + place*f.each }

// identity is the xxh3 of a sample's, never 0; 0 where it has none.
func (f *rowFile) identity(sample int64, s *rowScratch) uint64 {
	if s.identity = f.versions.Identity(sample, s.identity[:0]); len(s.identity) == 0 {
		return 0
	}
	return max(xxh3.Hash(s.identity), 1)
}

// read reads a place into a row of a batch and hands its values over; false: it is not there, or not what it should be.
func (f *rowFile) read(w *work, row int, place int64) bool {
	s := f.scratch.Get().(*rowScratch)
	defer f.scratch.Put(s)
	state := &f.cache.states[place]
	was := state.Load()
	if was == rowBusy {
		return false
	}
	if was != rowReady {
		w.identities[row] = f.identity(w.Samples[row], s)
	}
	if was == rowAbsent || was == rowUnknown && w.identities[row] == 0 {
		return false
	}
	s.row = w.Row(row, s.row[:0])
	// Readers may meet here; what becomes of the place is decided, and counted, once.
	next, count := f.check(s, w, row, was == rowUnknown, f.load(s, place))
	if next == rowReady && !f.cache.values.keep(w, row, s.values()) {
		next, count = rowAbsent, &f.corrupt
	}
	if state.CompareAndSwap(was, next) && count != nil {
		count.Add(1)
	}
	if was == rowReady && next == rowAbsent { // it is kept again
		w.identities[row] = f.identity(w.Samples[row], s)
	}
	return next == rowReady
}

// load reads a place; false: it was never written, or cannot be read.
func (f *rowFile) load(s *rowScratch, place int64) bool {
	at, ends := f.at(place), recordBytes+4*f.cache.values.columns
	good := f.readFull(s.head[:ends], at)
	s.used = f.cache.values.used(s.head[recordBytes:])
	good = good && f.readFull(s.head[ends:recordBytes+s.used], at+int64(ends))
	at += int64(len(s.head))
	for _, field := range s.row {
		good = good && f.readFull(field, at)
		at += int64(len(field))
	}
	return good
}

func (f *rowFile) readFull(p []byte, at int64) bool {
	for len(p) > 0 {
		n, err := unix.Pread(f.fd, p, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return false
		}
		p, at = p[n:], at+int64(n)
	}
	return true
}

// check tells what a place is that was read, for the first time in this process or again: ready if it is whole and, the first time, of the
// sample as it is now. count is what counts it, once; nil: nothing does.
func (f *rowFile) check(s *rowScratch, w *work, row int, first, loaded bool) (state uint32, count *atomic.Uint64) {
	le := binary.LittleEndian
	identity, sum := le.Uint64(s.head), le.Uint64(s.head[8:])
	switch {
	case first && (!loaded || identity == 0): // it was never written
		return rowAbsent, nil
	case first && identity != w.identities[row]:
		return rowAbsent, &f.stale
	case !loaded || sum != s.sum(): // also a hole, whose sum is not 0
		return rowAbsent, &f.corrupt
	case first:
		return rowReady, &f.warm
	}
	return rowReady, nil
}

// values are those in s.head.
func (s *rowScratch) values() []byte { return s.head[recordBytes:][:s.used] }

// sum is the xxh3 of the identity and the values in s.head and of the row in s.row.
func (s *rowScratch) sum() uint64 {
	s.hash.Reset()
	_, _ = s.hash.Write(s.head[:8]) // a hash takes everything
	_, _ = s.hash.Write(s.values())
	for _, field := range s.row {
		_, _ = s.hash.Write(field)
	}
	return s.hash.Sum64()
}

// write keeps a row, unless its sample was another when it was read, or the system refuses.
func (f *rowFile) write(w *work, row int, place int64) bool {
	if int64(time.Since(f.begun)) < f.pausedUntil.Load() {
		f.failed.Add(1)
		return false
	}
	s := f.scratch.Get().(*rowScratch)
	defer f.scratch.Put(s)
	identity := f.identity(w.Samples[row], s)
	if identity == 0 || identity != w.identities[row] {
		return false
	}
	s.used = f.cache.values.put(s.head[recordBytes:], w, row)
	binary.LittleEndian.PutUint64(s.head, identity)
	s.row = w.Row(row, s.row[:0])
	binary.LittleEndian.PutUint64(s.head[8:], s.sum())
	at := f.at(place)
	err := f.writeRow(s.row, at+int64(len(s.head)))
	if err == nil {
		err = f.writeFull(s.head[:recordBytes+s.used], at)
	}
	if err != nil {
		f.failed.Add(1)
		f.unkept(err)
		f.pausedUntil.Store(int64(time.Since(f.begun) + rowFullPause))
	}
	return err == nil
}

func (f *rowFile) writeRow(row [][]byte, at int64) error {
	for _, field := range row {
		if err := f.writeFull(field, at); err != nil {
			return err
		}
		at += int64(len(field))
	}
	return nil
}

func (f *rowFile) writeFull(p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(f.fd, p, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

func (f *rowFile) close() error { return unix.Close(f.fd) }
