package video

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spdl/spdl/core/media/av"
	"github.com/zeebo/xxh3"
)

// An index on disk, little-endian: what it was made of, then the packets, then a checksum.
//
//	0   8  "spdlvidx"
//	8   4  version of this layout
//	12  4  version of the demuxer that scanned
//	16  8  size of the video, bytes
//	24  8  modification time of the video, nanoseconds; of one in memory its xxh3
//	32  4  stream asked for; -1: the best
//	36  4  number of packets
//	40  8  time base, numerator
//	48  8  time base, denominator
//	56     packets of 40 bytes: pts, dts, pos, duration (8 each), size, flags (4 each)
//	       of a video in a store that is in fragments, their heads (core/media/av); else nothing
//	end 4  CRC-32 (IEEE) of all before
const (
	cacheMagic   = "spdlvidx"
	cacheVersion = 8
	cacheHeader  = 56
	packetBytes  = 40
)

// identity is what an index on disk must have been made of.
type identity struct {
	demuxer    uint32
	size, time int64 // time is the xxh3 of a video in memory
	stream     int32
}

func identify(info fs.FileInfo, demuxer uint32, stream int32) identity {
	return identity{demuxer, info.Size(), info.ModTime().UnixNano(), stream}
}

// identifyBytes is the identity of a video in memory: its size and the xxh3 of all of it.
func identifyBytes(b []byte, demuxer uint32, stream int32) identity {
	return identity{demuxer, int64(len(b)), int64(xxh3.Hash(b)), stream}
}

// path is where the index of a video in memory is kept.
func (id identity) path(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%016x-%x%s", uint64(id.time), id.size, suffix(id.stream)))
}

func suffix(stream int32) string {
	if stream < 0 {
		return ".spdlvidx"
	}
	return fmt.Sprintf(".%d.spdlvidx", stream)
}

// cachePath is where the index of a video is kept: beside it if dir is ".". One that has all key frames, as tables may not, has a name of its own.
func cachePath(dir, video string, stream int32, tables bool) (string, error) {
	suffix := suffix(stream)
	if !tables {
		suffix = ".keys" + suffix
	}
	if dir == Beside {
		return video + suffix, nil
	}
	path, err := filepath.Abs(video)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(path)), suffix)), nil
}

// load reads an index; whatever is wrong with it, it is made anew.
func (ix *Index) load(path string, want identity) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	kept, err := decodeIndex(b, want)
	if err != nil {
		return false
	}
	ix.arrange(kept.packets, kept.num, kept.den)
	ix.heads = kept.heads
	used(path)
	return true
}

// used makes a file's time that of its last use, by which those used longest ago are found; it may be wrong by an hour.
func used(path string) {
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Chtimes(path, now, now) // without it the index goes sooner
	}
}

// decodeIndex is what an index is made of.
func decodeIndex(b []byte, want identity) (ix Index, err error) {
	le := binary.LittleEndian
	if len(b) < cacheHeader+4 || string(b[:8]) != cacheMagic || le.Uint32(b[8:]) != cacheVersion {
		return ix, errors.New("not an index of this version")
	}
	if crc32.ChecksumIEEE(b[:len(b)-4]) != le.Uint32(b[len(b)-4:]) {
		return ix, errors.New("checksum")
	}
	got := identity{le.Uint32(b[12:]), int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:])), int32(le.Uint32(b[32:]))}
	if got != want {
		return ix, errors.New("of another file")
	}
	n := int(le.Uint32(b[36:]))
	ix.num, ix.den = int64(le.Uint64(b[40:])), int64(le.Uint64(b[48:]))
	if len(b) < cacheHeader+n*packetBytes+4 || ix.num <= 0 || ix.den <= 0 {
		return ix, errors.New("length or time base")
	}
	if rest := b[cacheHeader+n*packetBytes : len(b)-4]; len(rest) > 0 {
		if ix.heads, err = av.HeadsOf(rest); err != nil {
			return ix, err
		}
	}
	ix.packets = make([]packet, n)
	for i := range ix.packets {
		p := b[cacheHeader+i*packetBytes:]
		ix.packets[i] = packet{int64(le.Uint64(p)), int64(le.Uint64(p[8:])), int64(le.Uint64(p[16:])),
			int64(le.Uint64(p[24:])), int32(le.Uint32(p[32:])), le.Uint32(p[36:])}
	}
	return ix, nil
}

func (ix *Index) encode(id identity) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, cacheHeader+len(ix.packets)*packetBytes+4)
	b = append(b, cacheMagic...)
	b = le.AppendUint32(b, cacheVersion)
	b = le.AppendUint32(b, id.demuxer)
	b = le.AppendUint64(b, uint64(id.size))
	b = le.AppendUint64(b, uint64(id.time))
	b = le.AppendUint32(b, uint32(id.stream))
	b = le.AppendUint32(b, uint32(len(ix.packets)))
	b = le.AppendUint64(b, uint64(ix.num))
	b = le.AppendUint64(b, uint64(ix.den))
	for i := range ix.packets {
		p := &ix.packets[i]
		for _, v := range []int64{p.pts, p.dts, p.pos, p.duration} {
			b = le.AppendUint64(b, uint64(v))
		}
		b = le.AppendUint32(b, uint32(p.size))
		b = le.AppendUint32(b, p.flags)
	}
	if ix.heads != nil {
		b = ix.heads.Append(b)
	}
	return le.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// store writes an index so that readers see all of it or none. The packets are kept:
// they may have been C's.
func (ix *Index) store(path string, id identity) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".spdlvidx-*")
	if err != nil {
		return err
	}
	_, err = f.Write(ix.encode(id))
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// own makes the packets the index's own memory.
func (ix *Index) own() { ix.packets = slices.Clone(ix.packets) }
