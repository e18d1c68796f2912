package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/spdl/spdl/core/source/store"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

// A compressed shard has no random access. It is unpacked when it is opened, from a disk or a store, into a file among those that are kept, and is a local shard from
// then on. The file is named by what it is of and by that one's version, has its name when it is whole, and is locked as long as a source may read it. Its time is
// that when it was made, as a shard that changes is another one.
const (
	unpackedEnding = ".unpacked" // and behind it that of its format
	unpackedDir    = "unpacked"

	maxZstdWindow = 128 << 20 // zstd's largest, of its level 22
	maxSnappy     = 512 << 20 // bytes of a shard, which this format wants in memory
	packedChunk   = 1 << 20   // bytes read at a time, of a store remoteChunk
)

// packedShard is the compressed form of a shard, as its catalogue has it.
type packedShard struct {
	name  string // path or URL; "": there is none, or none is needed
	bytes int64  // anyBytes: that is not known
	by    string // zstd, gz, ...
}

// ending is that of the unpacked file.
func (p *packedShard) ending() string {
	if p.by == packedArrow {
		return arrowEndings[0]
	}
	return mdsEnding
}

const (
	anyBytes     = -1
	packedFrames = "frames" // litData's
)

// unpackers have the bytes within a stream, by what MDS calls the compression. size is how many there should be.
var unpackers = map[string]func(packed io.Reader, size int64) (io.Reader, error){
	"zstd": func(packed io.Reader, _ int64) (io.Reader, error) {
		return zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderLowmem(true))
	},
	"gz":  func(packed io.Reader, _ int64) (io.Reader, error) { return gzip.NewReader(packed) },
	"bz2": func(packed io.Reader, _ int64) (io.Reader, error) { return bzip2.NewReader(packed), nil },
	"br":  func(packed io.Reader, _ int64) (io.Reader, error) { return brotli.NewReader(packed), nil },
	"snappy": func(packed io.Reader, size int64) (io.Reader, error) {
		if size > maxSnappy {
			return nil, fmt.Errorf("got a shard of %d bytes by snappy, which is unpacked in memory, want at most %d", size, maxSnappy)
		}
		all, err := io.ReadAll(io.LimitReader(packed, int64(snappy.MaxEncodedLen(int(size)))+1))
		if err != nil {
			return nil, err
		}
		if n, err := snappy.DecodedLen(all); err != nil || int64(n) != size {
			return nil, errors.Join(err, fmt.Errorf("damaged: it says that it unpacks to %d bytes", n))
		}
		all, err = snappy.Decode(nil, all)
		return bytes.NewReader(all), err
	},
}

// openPacked opens the unpacked form of a compressed shard, and makes it if it is not there.
func (o *opening) openPacked(ctx context.Context, sh *shard, said *listedShard) error {
	from, v, err := o.packed(ctx, &said.packed)
	if err != nil {
		return fmt.Errorf("%q: %w", store.Shown(said.packed.name), err)
	}
	defer from.Close()
	dir, err := DefaultIndexDir()
	if err != nil {
		return err
	}
	name := said.packed.name
	if !store.IsURL(name) {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
	}
	id := binary.LittleEndian.AppendUint64([]byte(name+"\x00"), uint64(v.size))
	sum := xxh3.Hash128(binary.LittleEndian.AppendUint64(id, v.tag)).Bytes()
	sh.path = filepath.Join(filepath.Dir(dir), unpackedDir, hex.EncodeToString(sum[:])+unpackedEnding+said.packed.ending())
	if sh.unpacked = openUnpacked(sh.path, said.bytes); sh.unpacked == nil {
		end, err := alone(ctx, sh.path, o.c.Progress)
		if err != nil {
			return err
		}
		defer end()
		if sh.unpacked = openUnpacked(sh.path, said.bytes); sh.unpacked == nil {
			if sh.unpacked, err = said.packed.unpack(ctx, stepping{from, o.c.Progress}, v.size, sh.path, said.bytes); err != nil {
				return fmt.Errorf("%q: %w", store.Shown(said.packed.name), err)
			}
			o.unpacked.Add(1)
		}
	}
	return o.openFile(ctx, sh, sh.unpacked)
}

// fileOrObject is read and closed.
type fileOrObject struct {
	io.ReaderAt
	io.Closer
}

// packed opens a compressed shard, and tells its version.
func (o *opening) packed(ctx context.Context, p *packedShard) (from fileOrObject, v version, err error) {
	if store.IsURL(p.name) {
		object, err := o.c.stat(ctx, p.name)
		if err != nil {
			return from, v, err
		}
		from, v = fileOrObject{objectReader{ctx, o.s.store, object}, io.NopCloser(nil)}, versionOfObject(object)
	} else {
		f, err := os.OpenFile(p.name, openFlags, 0)
		if err != nil {
			return from, v, unwrapPath(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			return from, v, errors.Join(err, f.Close())
		}
		if !isRegular(&st) {
			return from, v, errors.Join(errors.New(notRegular(&st).(*Error).Detail), f.Close())
		}
		from, v = fileOrObject{f, f}, versionOf(&st)
	}
	if v.size != p.bytes && p.bytes != anyBytes {
		return from, v, errors.Join(fmt.Errorf("got %d bytes, want %d, as %s says; write or copy it again", v.size, p.bytes, CatalogueName), from.Close())
	}
	return from, v, nil
}

// openUnpacked opens a file that was made before; nil: there is none.
func openUnpacked(path string, size int64) *os.File {
	f, err := os.OpenFile(path, openFlags, 0)
	if err != nil {
		return nil
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() != size && size != anyBytes {
		_ = f.Close()
		return nil
	}
	lockKept(int(f.Fd()))
	return f
}

// unpack makes the file of a path, of a stream of so many bytes.
func (p *packedShard) unpack(ctx context.Context, from io.ReaderAt, packed int64, path string, size int64) (*os.File, error) {
	dir := filepath.Dir(path)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = hasRoom(dir, max(size, packed))
	}
	if err != nil {
		return nil, noRoomFor(size, err)
	}
	f, err := os.CreateTemp(dir, ".spdl-*")
	if err != nil {
		return nil, noRoomFor(size, err)
	}
	lockKept(int(f.Fd()))
	chunk := packedChunk
	if store.IsURL(p.name) {
		chunk = remoteChunk
	}
	var in io.Reader = io.NewSectionReader(from, 0, packed)
	if p.by != packedArrow { // which is read in the order of its footer
		in = bufio.NewReaderSize(in, chunk)
	}
	err = p.unpackTo(&unpackedWriter{ctx: ctx, to: f}, in, size)
	if err == nil {
		if err = errors.Join(f.Sync(), os.Rename(f.Name(), path)); err != nil { // so that what has its name is whole, whatever becomes of the machine
			err = noRoomFor(size, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// unpackTo unpacks a stream that has so many bytes unpacked.
func (p *packedShard) unpackTo(out *unpackedWriter, packed io.Reader, size int64) error {
	unpack, most := unpackers[p.by], size
	switch {
	case p.by == packedFrames:
		unpack, most = unpackFrames, math.MaxUint32 // of offsets
	case p.by == packedArrow:
		unpack, most = unpackArrow, maxArchive
	case size == anyBytes:
		most = math.MaxUint32
	}
	in, err := unpack(packed, size)
	if err == nil {
		_, err = io.Copy(out, io.LimitReader(in, most+1))
	}
	switch z := in.(type) {
	case *zstd.Decoder:
		if z != nil {
			z.Close()
		}
	case *arrowUnpacker:
		z.close()
	}
	switch {
	case out.failed != nil:
		return noRoomFor(size, unwrapPath(out.failed))
	case out.ctx.Err() != nil:
		return out.ctx.Err()
	case err != nil:
		return fmt.Errorf("it cannot be unpacked (%s): %w; write or copy it again", p.by, unnamed(err))
	case out.n > most:
		return fmt.Errorf("damaged: it unpacks to more than the %d bytes that %s says; write or copy it again", most, CatalogueName)
	case out.n < size:
		return fmt.Errorf("damaged: it unpacks to %d bytes, want %d, as %s says; write or copy it again", out.n, size, CatalogueName)
	}
	return nil
}

func noRoomFor(size int64, err error) error {
	takes := fmt.Sprintf("%d bytes", size)
	if size == anyBytes {
		takes = "more than it has"
	}
	return fmt.Errorf("it takes %s unpacked, and there is no file for them: %w; have SPDL_CACHE_DIR name a directory with room, or unpack it beside", takes, err)
}

// unpackedWriter tells the errors of a file from those of what is written to it.
type unpackedWriter struct {
	ctx    context.Context
	to     io.Writer
	n      int64
	failed error
}

func (w *unpackedWriter) Write(p []byte) (n int, err error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, w.failed = w.to.Write(p)
	w.n += int64(n)
	return n, w.failed
}

// mayUnpack refuses shards that would push each other out of what is kept.
func (c *ShardsConfig) mayUnpack() error {
	total := int64(0)
	for _, said := range c.said {
		if said.packed.name != "" {
			total += min(max(said.bytes, said.packed.bytes), maxArchive)
		}
	}
	dir, err := DefaultIndexDir()
	if total == 0 || err != nil {
		return err
	}
	most, err := keptBound(dir, os.Getenv("SPDL_CACHE_BYTES"))
	if err == nil && total > most {
		err = fmt.Errorf("its compressed shards take %d bytes unpacked, more than the %d that are kept in %q; raise $SPDL_CACHE_BYTES, have $SPDL_CACHE_DIR name another directory, or unpack each shard beside itself",
			total, most, filepath.Dir(dir))
	}
	return err
}

// exactly reads so many bytes, of which no more are reserved than there are.
func exactly(r io.Reader, n int64) ([]byte, error) {
	all, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(all)) < n {
		err = io.ErrUnexpectedEOF
	}
	return all, err
}
