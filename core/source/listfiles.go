package source

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// Lists of Parquet are unpacked when a source is opened, as what a page holds of a row is known no sooner, and every row is looked at once. The
// first of them are held in memory. Those of the files behind them lie unpacked on a disk, in a file for each Parquet file, which is kept for the
// next opening: a sample is a read of its elements there, in any order.
//
// Such a file is a head of listHead bytes; the rows of each column, one column after the other: a row's elements and their xxh3; and the end,
// which says where each of these ends: for each column that of its rows, as 8 bytes each, counted from the column's beginning.
// All numbers are little-endian. The head is listMagic, what the file is of (listKey), the number of rows and of columns, where the end begins, the
// xxh3 of the end, and that of the head so far.
const (
	listMagic = "SPDLLST\x01"
	listKey   = sha256.Size
	listHead  = len(listMagic) + listKey + 5*8
	listCheck = 8 // bytes of a row's xxh3

	listEnding = ".lists"
)

// listMemory is how many bytes of lists a source holds in memory, with 8 for the end of each; a variable for tests.
var listMemory int64 = 64 << 20

// listPart are the rows of a Parquet file in a column of lists.
type listPart struct {
	first int64     // row of the source
	ends  []int64   // of each row
	held  []byte    // the elements, in memory; or
	file  *listFile // where they are,
	begin int64     // and where in it the column begins
}

// listFile is open for reading.
type listFile struct {
	*os.File
	key     [listKey]byte
	columns []listPart // without first
}

// list appends the value of the buffer's next column, one of lists, for row i.
func (t *rows) list(c int, i int64, b *Buffer) error {
	if t.parts[c] == nil { // of JSON or CSV
		b.columns = append(b.columns, value{lies: t.texts[c].at(i)})
		return nil
	}
	p, from, to := t.listPart(c, i)
	if p.file == nil {
		b.columns = append(b.columns, value{lies: p.held[from:to:to]})
		return nil
	}
	at := len(b.values)
	b.values = slices.Grow(b.values, int(to-from))[:at+int(to-from)]
	got := b.values[at:]
	if _, err := p.file.ReadAt(got, p.begin+from); err != nil {
		return &Error{Cause: IO, Detail: fmt.Sprintf("column %q: %q", t.columns[c].From, p.file.Name()), Err: unwrapPath(err)}
	}
	elements := got[:len(got)-listCheck]
	if xxh3.Hash(elements) != binary.LittleEndian.Uint64(got[len(elements):]) {
		return &Error{Cause: IO, Detail: fmt.Sprintf("column %q: its row in %q is damaged; remove that file, and it is made again", t.columns[c].From, p.file.Name())}
	}
	b.values = b.values[:at+len(elements)]
	b.took(at)
	return nil
}

// listIdentity appends what tells the value of row i: itself, or the version of the file that it is of, and where.
func (t *rows) listIdentity(c int, i int64, dst []byte) []byte {
	text := &t.texts[c]
	if t.parts[c] == nil {
		return append(strconv.AppendInt(dst, int64(len(text.at(i))), 10), text.at(i)...)
	}
	p, from, to := t.listPart(c, i)
	if p.file == nil {
		return append(strconv.AppendInt(dst, to-from, 10), p.held[from:to]...)
	}
	return strconv.AppendInt(append(dst, p.file.key[:]...), from, 10)
}

// listPart is the part that has row i of a column, and where the row is there.
func (t *rows) listPart(c int, i int64) (p *listPart, from, to int64) {
	all := t.parts[c]
	p = &all[sort.Search(len(all), func(k int) bool { return all[k].first > i })-1]
	row := i - p.first
	if row > 0 {
		from = p.ends[row-1]
	}
	return p, from, p.ends[row]
}

// Notes says what had to be made, and what could not be kept.
func (t *rows) Notes() (notes []string) {
	if t.made > 0 {
		notes = append(notes, fmt.Sprintf("unpacked the lists of %d of %d files to a disk", t.made, len(t.listFiles)))
	}
	return append(notes, t.notes...)
}

// closeLists closes the files.
func (t *rows) closeLists() (err error) {
	for _, f := range t.listFiles {
		err = errors.Join(err, f.Close())
	}
	return err
}

// listPlan says what becomes of the lists of a file's rows.
type listPlan struct {
	columns []int // of the batch's, that have them; none: there are no lists
	most    int64 // bytes that they take unpacked
	inFile  bool  // they lie on a disk, else they are held in memory
}

// unpackedLists are the lists of a file's rows, by the plan's columns.
type unpackedLists struct {
	parts []listPart
	file  *listFile // that they lie in; nil: none
	made  bool      // it was not there before
}

// planLists decides which files' lists are held in memory: the first that have room, whatever the order in which files are read.
func (r *tableReader) planLists(f *parquetFile) (plan listPlan) {
	if f.rows() == 0 {
		return plan
	}
	for c, at := range r.lists {
		if at >= 0 {
			plan.columns = append(plan.columns, c)
			plan.most += f.listBytes(at, &r.rows.columns[c])
		}
	}
	plan.most = min(plan.most, f.texts.Load()) // whatever a damaged file says
	if plan.inFile = len(plan.columns) > 0 && r.rows.held+plan.most > listMemory; !plan.inFile {
		r.rows.held += plan.most
	}
	return plan
}

// readLists reads the lists of a file's rows.
func (r *tableReader) readLists(ctx context.Context, f *parquetFile, plan listPlan) (all unpackedLists, err error) {
	if plan.inFile {
		return r.listsInFile(ctx, f.passing(), plan)
	}
	for _, c := range plan.columns {
		lists := texts{bytes: make([]byte, 0, min(f.listBytes(r.lists[c], &r.rows.columns[c]), plan.most)), ends: make([]int64, 0, f.rows())} // once, and no more than that
		if err := r.listsOf(ctx, f, c, &lists, nil); err != nil {
			return all, err
		}
		all.parts = append(all.parts, listPart{ends: lists.ends, held: lists.bytes})
	}
	return all, nil
}

// takeLists takes the lists of rows that stand behind those that there are.
func (t *rows) takeLists(plan listPlan, all unpackedLists) {
	for k, c := range plan.columns {
		part := all.parts[k]
		part.first = t.n
		t.parts[c] = append(t.parts[c], part)
	}
	if all.file != nil {
		t.listFiles = append(t.listFiles, all.file)
	}
	if all.made {
		t.made++
	}
}

// rows are the file's.
func (f *parquetFile) rows() (n int64) {
	for _, g := range f.meta.RowGroups {
		n += g.NumRows
	}
	return n
}

// listsOf reads one column of lists of all of a file's rows.
func (r *tableReader) listsOf(ctx context.Context, f *parquetFile, c int, to *texts, whole func() error) error {
	column := &r.rows.columns[c]
	for group := range f.meta.RowGroups {
		err := f.listsOf(group, r.lists[c], column, to, func() error {
			if whole == nil || ctx.Err() != nil {
				return ctx.Err()
			}
			return whole()
		})
		if err != nil {
			return fmt.Errorf("column %q: %w", column.From, err)
		}
	}
	return nil
}

// listBytes is the most that a column of lists takes, unpacked.
func (f *parquetFile) listBytes(column int, c *Column) (n int64) {
	for group, g := range f.meta.RowGroups {
		values := max(f.chunk(group, column).meta.MetaData.NumValues, 0)
		n += min(values, 1<<50)*int64(c.DType.Bytes()) + g.NumRows*(8+listCheck)
	}
	return n
}

// listsInFile has the lists of a file's rows in a file on a disk: in that of an opening before, or in one that is made.
func (r *tableReader) listsInFile(ctx context.Context, f *parquetFile, plan listPlan) (all unpackedLists, err error) {
	rows := f.rows()
	id := append([]byte(f.identity), 0)
	for _, c := range plan.columns {
		id = appendColumn(id, &r.rows.columns[c])
	}
	name := sha256.Sum256(id)
	w := listWriter{f: f, rows: rows}
	w.key = sha256.Sum256(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(id, uint64(f.version.size)), f.version.tag))
	dir, err := DefaultIndexDir()
	if err == nil {
		dir = filepath.Join(filepath.Dir(dir), "lists")
		w.path = filepath.Join(dir, hex.EncodeToString(name[:16])+listEnding)
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		all.file, all.made, err = r.keptOrUnpacked(ctx, &w, dir, plan)
	}
	var own *listRefusal
	switch {
	case errors.As(err, &own):
		return all, own.error
	case err != nil:
		return all, fmt.Errorf("its lists take %d bytes unpacked, more than the %d of lists that are held in memory, and there is no file for them: %w; have SPDL_CACHE_DIR name "+
			"a directory with room for them", plan.most, listMemory, err)
	}
	for k := range plan.columns {
		part := all.file.columns[k]
		part.file = all.file
		all.parts = append(all.parts, part)
	}
	return all, nil
}

// keptOrUnpacked opens the file of lists that is kept, or makes it. Who wants one that another is making waits for it.
func (r *tableReader) keptOrUnpacked(ctx context.Context, w *listWriter, dir string, plan listPlan) (lists *listFile, made bool, err error) {
	if lists = openListFile(w.path, w.key, w.rows, len(plan.columns)); lists != nil {
		return lists, false, nil
	}
	end, err := alone(ctx, w.path, r.c.Progress)
	if err != nil {
		return nil, false, &listRefusal{err}
	}
	defer end()
	if lists = openListFile(w.path, w.key, w.rows, len(plan.columns)); lists != nil {
		return lists, false, nil
	}
	if err = w.begin(dir, plan.most); err == nil {
		lists, err = r.write(ctx, w, plan.columns)
	}
	return lists, true, err
}

// listRefusal is an error that is the Parquet file's, and not that of the file which is made of it.
type listRefusal struct{ error }

// write makes a file of lists.
func (r *tableReader) write(ctx context.Context, w *listWriter, columns []int) (*listFile, error) {
	for _, c := range columns {
		var rows texts
		w.column()
		if err := r.listsOf(ctx, w.f, c, &rows, func() error { return w.take(&rows) }); err != nil {
			return nil, w.abandon(err)
		}
	}
	lists, err := w.finish()
	if err != nil {
		return nil, w.abandon(err)
	}
	return lists, nil
}

// listWriter writes a file of lists. It has no name before it is whole, so a process that dies leaves nothing.
type listWriter struct {
	f    *parquetFile
	path string
	key  [listKey]byte
	rows int64

	file    *os.File
	out     *bufio.Writer
	at      int64
	columns []listPart
	failed  error // of the file, in place of the Parquet file's
}

func (w *listWriter) begin(dir string, most int64) (err error) {
	if err := hasRoom(dir, most); err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err == nil {
		w.file = os.NewFile(uintptr(fd), w.path)
	} else if w.file, err = os.CreateTemp(dir, ".spdl-*"); err == nil { // a file system without nameless files: one that is made again each time
		err = os.Remove(w.file.Name())
	}
	if err == nil {
		w.out, w.at = bufio.NewWriterSize(w.file, 1<<20), int64(listHead)
		_, err = w.file.Seek(w.at, io.SeekStart)
	}
	return err
}

// column begins the next column.
func (w *listWriter) column() { w.columns = append(w.columns, listPart{begin: w.at}) }

// take writes the rows that are whole, and leaves what has begun of the next.
func (w *listWriter) take(rows *texts) error {
	p, from := &w.columns[len(w.columns)-1], int64(0)
	var check [listCheck]byte
	for _, end := range rows.ends {
		elements := rows.bytes[from:end]
		binary.LittleEndian.PutUint64(check[:], xxh3.Hash(elements))
		if _, err := w.out.Write(elements); err != nil {
			w.failed = err
			return err
		}
		_, w.failed = w.out.Write(check[:])
		if w.failed != nil {
			return w.failed
		}
		w.at += end - from + listCheck
		p.ends, from = append(p.ends, w.at-p.begin), end
	}
	rows.bytes, rows.ends = append(rows.bytes[:0], rows.bytes[from:]...), rows.ends[:0]
	return nil
}

// finish writes the end and the head, and gives the file its name; where it cannot have one it is made again the next time.
func (w *listWriter) finish() (*listFile, error) {
	head := append(append([]byte(listMagic), w.key[:]...), make([]byte, 5*8)...)
	numbers := head[len(listMagic)+listKey:]
	for k, v := range []int64{w.rows, int64(len(w.columns)), w.at} {
		binary.LittleEndian.PutUint64(numbers[8*k:], uint64(v))
	}
	hash := xxh3.New()
	for _, p := range w.columns {
		var end [8]byte
		for _, v := range p.ends {
			binary.LittleEndian.PutUint64(end[:], uint64(v))
			_, _ = hash.Write(end[:])
			if _, w.failed = w.out.Write(end[:]); w.failed != nil {
				return nil, w.failed
			}
		}
	}
	binary.LittleEndian.PutUint64(numbers[3*8:], hash.Sum64())
	binary.LittleEndian.PutUint64(numbers[4*8:], xxh3.Hash(head[:listHead-8]))
	if w.failed = w.out.Flush(); w.failed == nil {
		_, w.failed = w.file.WriteAt(head, 0)
	}
	if w.failed == nil {
		w.failed = w.file.Sync() // so that what has a name is whole, whatever becomes of the machine
	}
	if w.failed != nil {
		return nil, w.failed
	}
	inUse(int(w.file.Fd()))
	_ = os.Remove(w.path) // of another version of the Parquet file
	_ = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", w.file.Fd()), unix.AT_FDCWD, w.path, unix.AT_SYMLINK_FOLLOW)
	return &listFile{File: w.file, key: w.key, columns: w.columns}, nil
}

// abandon leaves nothing. What it returns says whose error it was.
func (w *listWriter) abandon(err error) error {
	_ = w.file.Close()
	if w.failed != nil {
		return unwrapPath(w.failed)
	}
	return &listRefusal{err}
}

// openListFile opens one that was kept; nil: there is none that is whole, of these columns and of this version.
func openListFile(path string, key [listKey]byte, rows int64, columns int) *listFile {
	file, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil
	}
	l := &listFile{File: file, key: key}
	if !l.open(rows, columns) {
		_ = file.Close()
		return nil
	}
	inUse(int(file.Fd()))
	return l
}

func (l *listFile) open(rows int64, columns int) bool {
	head := make([]byte, listHead)
	st, err := l.Stat()
	if _, failed := l.ReadAt(head, 0); err != nil || failed != nil {
		return false
	}
	numbers := head[len(listMagic)+listKey:]
	number := func(k int) int64 { return int64(binary.LittleEndian.Uint64(numbers[8*k:])) }
	end, size := number(2), rows*int64(columns)*8
	if string(head[:len(listMagic)]) != listMagic || [listKey]byte(head[len(listMagic):]) != l.key || uint64(number(4)) != xxh3.Hash(head[:listHead-8]) ||
		number(0) != rows || number(1) != int64(columns) || end < int64(listHead) || st.Size()-end != size {
		return false
	}
	all := make([]byte, size)
	if _, err := l.ReadAt(all, end); err != nil || xxh3.Hash(all) != uint64(number(3)) {
		return false
	}
	begin := int64(listHead)
	for range columns {
		p, last := listPart{begin: begin, ends: make([]int64, rows)}, int64(0)
		for k := range p.ends {
			p.ends[k] = int64(binary.LittleEndian.Uint64(all[8*k:]))
			if p.ends[k] < last+listCheck || p.ends[k] > end-begin {
				return false
			}
			last = p.ends[k]
		}
		all, begin = all[8*rows:], begin+last
		l.columns = append(l.columns, p)
	}
	return begin == end
}
