package source

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spdl/spdl/core/source/store"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

const (
	localChunk  = 4 << 10 // bytes of a local archive read at a time for its index: headers, not data
	remoteChunk = 4 << 20 // likewise of a remote one whose headers lie near each other

	defaultFetch = 16
	mostOpeners  = 64 // each may have a chunk in memory
)

// DefaultIndexDir is where indexes are kept: $SPDL_CACHE_DIR/index, or spdl/index in the user's cache directory.
func DefaultIndexDir() (string, error) {
	if dir := os.Getenv("SPDL_CACHE_DIR"); dir != "" {
		return filepath.Join(dir, "index"), nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "spdl", "index"), nil
}

// indexDir is where indexes are kept; "": nowhere, and a note says why.
func (c *ShardsConfig) indexDir(notes *[]string) string {
	if c.IndexDir == "" {
		dir, err := DefaultIndexDir()
		if err != nil {
			*notes = append(*notes, fmt.Sprintf("indexes are not kept: %v; set SPDL_CACHE_DIR", err))
		}
		c.IndexDir = dir
	}
	return c.IndexDir
}

// opening is the work of opening many shards at once.
type opening struct {
	c        *ShardsConfig
	s        *shards
	dir      string // "": indexes are not kept
	names    []string
	shards   []shard
	errs     []error
	keys     []string // templates of LMDB's keys
	pace     *pace
	next     atomic.Int64
	built    atomic.Int64
	unpacked atomic.Int64
	unkept   atomic.Pointer[error] // why one was not kept

	telling sync.Mutex // guards opened, and calls of c.Opened
	opened  int
}

// mapLimit is where the kernel says how many mappings a process may have.
const mapLimit = "/proc/sys/vm/max_map_count"

// checkMaps refuses more shards than can be mapped, given the kernel's limit: without mappings to spare the process would die anywhere.
func checkMaps(shards int, limit string) error {
	const spare = 8192 // for everything else
	most, err := strconv.Atoi(strings.TrimSpace(limit))
	if err != nil || shards <= most-spare {
		return nil
	}
	return fmt.Errorf("got %d shards, want at most %d, as the index of each is mapped; join shards, or raise the limit of mappings (sysctl vm.max_map_count=%d)",
		shards, max(most-spare, 0), shards+2*spare)
}

// openIndexes opens every shard; it returns what it has opened also with an error.
func openIndexes(ctx context.Context, names []string, c *ShardsConfig, s *shards) ([]shard, error) {
	keys, err := s.keyTemplates(names, c.Label)
	if err != nil {
		return nil, err
	}
	limit, _ := os.ReadFile(mapLimit) // where it cannot be read there is none that we know of
	if err := checkMaps(len(names), string(limit)); err != nil {
		return nil, err
	}
	o := &opening{c: c, s: s, dir: c.indexDir(&s.notes), keys: keys, pace: cmp.Or(c.pace, newPace()), names: names, shards: make([]shard, len(names)), errs: make([]error, len(names))}
	within, stop := context.WithCancel(ctx) // the first shard that is refused stops the others
	defer stop()
	var all sync.WaitGroup
	for range min(c.openers(names), len(names)) {
		all.Add(1)
		go func() {
			defer all.Done()
			o.work(within, stop)
		}()
	}
	all.Wait()
	if ctx.Err() != nil {
		return o.shards, ctx.Err()
	}
	for i, err := range o.errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return o.shards, fmt.Errorf("shard %q: %w", store.Shown(names[i]), unlisted(names[i], err))
		}
	}
	if n := o.unpacked.Load(); n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("unpacked %d of %d shards to a disk", n, len(names)))
	}
	if n := o.built.Load(); n > 0 {
		s.notes = append(s.notes, fmt.Sprintf("made the index of %d of %d shards", n, len(names)))
		s.notes = append(s.notes, tidy(o.dir)...)
	}
	if err := o.unkept.Load(); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("an index could not be kept and will be made again next time: %v", *err))
	}
	return o.shards, nil
}

// openers is how many of some shards are opened at a time: of a store, which is mostly waited for, more than there are processors.
func (c *ShardsConfig) openers(names []string) int {
	if slices.ContainsFunc(names, store.IsURL) {
		return min(cmp.Or(c.Fetch, defaultFetch), mostOpeners)
	}
	return runtime.GOMAXPROCS(0)
}

// work opens shards until there are no more, or one failed.
func (o *opening) work(ctx context.Context, stop func()) {
	for {
		i := int(o.next.Add(1)) - 1
		if i >= len(o.names) {
			return
		}
		o.shards[i].name = o.names[i]
		if o.errs[i] = o.open(ctx, &o.shards[i]); o.errs[i] != nil {
			o.next.Store(int64(len(o.names)))
			stop()
			return
		}
		o.tell()
	}
}

// tell reports how many shards are open.
func (o *opening) tell() {
	if o.c.Opened == nil {
		return
	}
	o.telling.Lock()
	defer o.telling.Unlock()
	o.opened++
	o.c.Opened(o.opened, len(o.names), int(o.built.Load()))
}

// open opens a shard, which has to be as its catalogue says, if it is in one.
func (o *opening) open(ctx context.Context, sh *shard) error {
	err := o.openAny(ctx, sh)
	if err == nil {
		err = o.c.asListed(sh)
	}
	return err
}

func (o *opening) openAny(ctx context.Context, sh *shard) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if said := o.c.said[sh.name]; said.packed.name != "" {
		return o.openPacked(ctx, sh, &said)
	}
	if err := o.openPlain(ctx, sh); err != nil || sh.index.partNamed(arrowPackage) < 0 {
		return err
	}
	err := sh.index.close()
	if *sh = (shard{name: sh.name}); err != nil {
		return err
	}
	return o.openPacked(ctx, sh, &listedShard{bytes: anyBytes, packed: packedShard{sh.name, anyBytes, packedArrow}})
}

// openPlain opens a shard as it lies, here or in a store.
func (o *opening) openPlain(ctx context.Context, sh *shard) error {
	if store.IsURL(sh.name) {
		if lmdbNamed(sh.name) {
			return errFarLMDB
		}
		return o.openRemote(ctx, sh)
	}
	path, err := filepath.Abs(sh.name)
	if err != nil {
		return err
	}
	if len(path) >= maxPath {
		return fmt.Errorf("got a path of %d bytes, want at most %d", len(path), maxPath-1)
	}
	sh.path = path
	o.c.Progress.Step()
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return unwrapPath(err)
	}
	defer f.Close()
	return o.openFile(ctx, sh, f)
}

// openFile opens the shard that lies at sh.path.
func (o *opening) openFile(ctx context.Context, sh *shard, f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if !isRegular(&st) {
		return errors.New(notRegular(&st).(*Error).Detail)
	}
	sh.version = versionOf(&st)
	said := sh.path + o.keysSaid(sh.path)
	w := &window{r: stepping{f, o.c.Progress}, size: st.Size, chunk: localChunk}
	return o.index(ctx, sh, sh.path, w, func(of string) (beside, keep string) {
		if beside = said + of + indexEnding; o.beside(sh) {
			return beside, beside
		}
		return beside, keptAt(o.dir, said+of, indexEnding)
	})
}

// openRemote looks for an index in the directory of indexes; beside an object nothing is written.
func (o *opening) openRemote(ctx context.Context, sh *shard) error {
	o.c.Progress.Step()
	object, err := o.c.stat(ctx, sh.name)
	if err != nil {
		return err
	}
	sh.object = object
	sh.version = versionOfObject(object)
	w := &window{r: stepping{objectReader{ctx, o.s.store, object}, o.c.Progress}, size: object.Size, chunk: remoteChunk, pace: o.pace}
	return o.index(ctx, sh, sh.name, w, func(of string) (beside, keep string) { return "", keptAt(o.dir, sh.name+of, indexEnding) })
}

// index opens the index of a shard, or builds it: at says where it may lie beside the shard, and where it is kept, of several which one. That of ArrayRecords
// does not know their labels, and that of Arrow not the files in lists; where they are wanted another one that does takes its place.
func (o *opening) index(ctx context.Context, sh *shard, name string, w *window, at func(of string) (beside, keep string)) error {
	err := o.anyIndex(ctx, sh, "", at, func() (*indexBuilder, error) { return o.build(ctx, sh, name, w) })
	if err == nil && wantsFiles(o.c.Media, sh.index) {
		plain := sh.index
		sh.index = nil
		err := o.anyIndex(ctx, sh, ".files", at, func() (*indexBuilder, error) { return buildArrowIndex(ctx, w, true) })
		return errors.Join(err, plain.close())
	}
	if err != nil || sh.index.partNamed(arrayPart) < 0 {
		return err
	}
	part := o.c.labelAmong(sh.index)
	if part < 0 {
		return nil
	}
	plain, label := sh.index, sh.index.parts[part]
	sh.index, sh.labelled = nil, true
	sum := xxh3.HashString128(label).Bytes()
	err = o.anyIndex(ctx, sh, ".labels-"+hex.EncodeToString(sum[:8]), at, func() (*indexBuilder, error) { return buildArrayIndex(ctx, w, label) })
	return errors.Join(err, plain.close())
}

// anyIndex opens the index that lies beside a shard, that is kept, or that is built now.
func (o *opening) anyIndex(ctx context.Context, sh *shard, of string, at func(of string) (beside, keep string), build func() (*indexBuilder, error)) error {
	beside, keep := at(of)
	if o.openKept(sh, beside, false) {
		return nil
	}
	return o.keptOrBuilt(ctx, sh, keep, build)
}

// versionOfObject is an object's, as its store told it. What tells by itself stands alone, as a listing has nothing else.
func versionOfObject(o *store.Object) version {
	if o.Strong() {
		return version{size: o.Size, tag: xxh3.HashString(o.ETag)}
	}
	return version{size: o.Size, tag: xxh3.HashString(o.ETag + "\x00" + o.Modified)}
}

// keptAt is where what is known of a shard is kept; "": nowhere.
func keptAt(dir, name, ending string) string {
	if dir == "" {
		return ""
	}
	sum := xxh3.HashString128(name).Bytes()
	return filepath.Join(dir, hex.EncodeToString(sum[:])+ending)
}

// keptOrBuilt opens the index that is kept, or builds and keeps it. One that cannot be kept lives in memory. Who wants one that another is building waits
// for it, but not beside an archive, where there is no lock.
func (o *opening) keptOrBuilt(ctx context.Context, sh *shard, keep string, build func() (*indexBuilder, error)) error {
	kept := keep != "" && !o.beside(sh)
	if o.openKept(sh, keep, kept) {
		return nil
	}
	if kept {
		end, err := alone(ctx, keep, o.c.Progress)
		if err != nil {
			return err
		}
		defer end()
		if o.openKept(sh, keep, kept) {
			return nil
		}
	}
	b, err := build()
	if err != nil {
		return err
	}
	if !sh.built {
		sh.built = true
		o.built.Add(1)
	}
	data := b.encode(sh.version)
	if keep != "" {
		if err := writeFile(keep, data); err != nil {
			o.unkept.Store(&err)
		} else if o.openKept(sh, keep, kept) {
			return nil
		}
	}
	sh.index, err = parseIndex(data, sh.version)
	return err
}

// beside says that the index of a shard lies beside it.
func (o *opening) beside(sh *shard) bool {
	return o.c.IndexBeside && sh.object == nil && sh.unpacked == nil
}

// openKept opens the index in a file, if it is there and of the archive's version.
func (o *opening) openKept(sh *shard, keep string, kept bool) bool {
	if keep == "" {
		return false
	}
	x, err := openIndex(keep, sh.version, kept)
	if err != nil {
		return false
	}
	sh.index = x
	return true
}

// build makes the index of a shard.
func (o *opening) build(ctx context.Context, sh *shard, name string, w *window) (*indexBuilder, error) {
	if columns := o.c.said[sh.name].columns; columns != nil {
		return buildChunkIndex(ctx, w, columns)
	}
	return build(ctx, name, w, o.keys)
}

// build makes an index of an archive, whose kind its name tells. keys are the templates of those of LMDB.
func build(ctx context.Context, name string, w *window, keys []string) (*indexBuilder, error) {
	base, _, _ := strings.Cut(strings.ToLower(name), "?")
	switch {
	case strings.HasSuffix(base, ".tar"):
		return buildTarIndex(ctx, w)
	case strings.HasSuffix(base, ".zip"):
		return buildZipIndex(ctx, w)
	case strings.HasSuffix(base, mdsEnding):
		return buildMDSIndex(ctx, w)
	case lmdbNamed(base):
		return buildLMDBIndex(ctx, w, keys)
	case strings.HasSuffix(base, recEnding):
		return buildRecIndex(ctx, w)
	case isArrayRecord(filepath.Ext(base)):
		return buildArrayIndex(ctx, w, "")
	case slices.Contains(arrowEndings, filepath.Ext(base)):
		return buildArrowIndex(ctx, w, false)
	case strings.HasSuffix(base, ".tar.gz") || strings.HasSuffix(base, ".tgz") || strings.HasSuffix(base, ".tar.zst") || strings.HasSuffix(base, ".tar.bz2"):
		return nil, errors.New("a compressed archive cannot be read in any order; unpack it to a plain .tar")
	}
	if why := Foreign(base); why != "" {
		return nil, errors.New(why)
	}
	if strings.Contains(baseName(base), ".tfrecord") || areRecords(w) { // which often have no ending: train-00000-of-01024
		return buildRecordIndex(ctx, w)
	}
	if isRiegeli(w) {
		return buildArrayIndex(ctx, w, "")
	}
	if areLMDB(w) {
		return nil, errors.New("it is LMDB by what it begins with; give it a name that ends in .mdb or .lmdb")
	}
	if head, err := w.bytes(0, recordHead); err == nil && packedAs(head) != "" {
		return nil, fmt.Errorf("want a name that ends in .tar, .zip, .parquet, .arrow, .mds, .rec, .array_record, .mdb or .lmdb, or a TFRecord; if it is one, %w", packedRecords(head))
	}
	return nil, errors.New("want a name that ends in .tar, .zip, .parquet, .arrow, .mds, .rec, .array_record, .mdb or .lmdb, or a TFRecord" + readBy(name, "shards"))
}

// buildZipIndex reads a zip archive's directory. Members must be stored, not compressed: pictures are already.
func buildZipIndex(ctx context.Context, w *window) (*indexBuilder, error) {
	r, size := windowReader{w}, w.size
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked by add
		if errors.Is(err, zip.ErrFormat) {
			err = errors.New("no directory is where it should be at its end: truncated, damaged or no zip archive; write or copy it again")
		}
		return nil, fmt.Errorf("zip: %w", err)
	}
	b, first := newIndexBuilder(), size
	for _, f := range z.File {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		off, err := f.DataOffset()
		if errors.Is(err, io.EOF) || errors.Is(err, errEnd) {
			err = errBeyond
		}
		if err == nil {
			first = min(first, off)
			err = addZipped(b, f, off, r, size)
		}
		if err != nil {
			return nil, fmt.Errorf("member %.200q: %w", f.Name, err)
		}
	}
	return b, checkZipStart(r, len(z.File), first)
}

// errBeyond is a member's that a zip's directory has and the archive has not.
var errBeyond = errors.New("it lies beyond the archive's end: truncated, or damaged; write or copy the archive again")

// addZipped adds a member whose bytes begin at off. Bytes that the index itself takes are checked.
func addZipped(b *indexBuilder, f *zip.File, off int64, r io.ReaderAt, size int64) error {
	switch mode, n := f.Mode(), f.UncompressedSize64; {
	case mode.IsDir():
		return nil
	case mode&fs.ModeSymlink != 0:
		return errors.New("a link; archive the file itself (zip without -y)")
	case !mode.IsRegular():
		return fmt.Errorf("of mode %v; want regular files only", mode)
	case f.Flags&1 != 0:
		return errors.New("it is encrypted; store members as they are (zip -0)")
	case f.Method != zip.Store:
		return errors.New("it is compressed; store members as they are (zip -0)")
	case n != f.CompressedSize64 || n > maxMemberSize:
		return fmt.Errorf("got %d bytes, stored as %d, want at most %d", n, f.CompressedSize64, int64(maxMemberSize))
	case off+int64(n) > size:
		return errBeyond
	}
	return b.add([]byte(f.Name), off, int64(f.UncompressedSize64), func(off int64, n int) ([]byte, error) {
		text := make([]byte, n)
		_, err := r.ReadAt(text, off)
		if sum := crc32.ChecksumIEEE(text); err == nil && sum != f.CRC32 {
			err = fmt.Errorf("damaged: CRC-32 got %08x, want %08x", sum, f.CRC32)
		}
		return text, err
	})
}

// checkZipStart refuses bytes before an archive's first member, whose data begin at first: another archive, of which the directory knows nothing.
func checkZipStart(r io.ReaderAt, members int, first int64) error {
	const local, end = "PK\x03\x04", "PK\x05\x06"
	var head [30]byte // of a local header, which a name and an extra field follow
	n, err := r.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	if members == 0 && n >= len(end) && string(head[:4]) == end {
		return nil
	}
	begins := int64(len(head)) + int64(binary.LittleEndian.Uint16(head[26:])) + int64(binary.LittleEndian.Uint16(head[28:]))
	if members == 0 || string(head[:4]) != local || begins != first {
		return errors.New("zip: the directory does not know what the file begins with: archives were joined, or a program is in front; write one archive")
	}
	return nil
}

// objectReader reads an object as archives are read.
type objectReader struct {
	ctx   context.Context
	store *store.Client
	o     *store.Object
}

func (r objectReader) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), r.o.Size-off))
	if n <= 0 {
		return 0, io.EOF
	}
	if err := r.store.ReadAt(r.ctx, r.o, p[:n], off); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// unnamed takes the URL off a store's error; the caller names it.
func unnamed(err error) error {
	var e *store.Error
	if errors.As(err, &e) {
		bare := *e
		bare.URL = ""
		return &bare
	}
	return err
}

// unwrapPath takes the path off a system's error; the caller names it.
func unwrapPath(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// PartsOf are the parts that the samples of the first of some archives have, or the columns of the first of some Parquet or Arrow files that hold bytes.
func PartsOf(ctx context.Context, c ShardsConfig) ([]string, error) {
	names, err := c.shardNames(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if tableEnding(names[0]) == "parquet" {
		f, err := openParquet(ctx, names[0], &c)
		if err != nil {
			return nil, err
		}
		defer f.close()
		return slices.DeleteFunc(f.leaves(), func(name string) bool { return !f.isBytes(name) }), nil
	}
	opened, err := openIndexes(ctx, names[:1], &c, &shards{store: c.Store})
	defer func() { _ = closeAll(opened) }() // nothing was written
	if err != nil {
		return nil, err
	}
	return partsShown(slices.DeleteFunc(slices.Clone(opened[0].index.parts), func(part string) bool {
		e := encodingMarked(part)
		return e != nil && e.columnar && !e.file()
	})), nil
}
