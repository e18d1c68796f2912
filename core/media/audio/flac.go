package audio

/*
#include <stdlib.h>
#include "kernels.h"
*/
import "C"

import (
	"encoding/binary"
	"runtime"
	"unsafe"
)

// flacStream is what the metadata of a native FLAC say, and where its frames begin. FLAC in another container is FFmpeg's.
type flacStream struct {
	first                int64 // byte
	channels, bits, rate int
	total                int64 // frames; 0: not known
}

func isFLAC(head []byte) bool { return begins(head, "fLaC", 4, "") }

// behindTags is where the file begins behind its ID3v2 tags, which say nothing about its sound, and what lies there. What FFmpeg reads has
// them passed over by core/media/av.
func (h *header) behindTags() (at int64, head []byte) {
	for range maxChunks {
		n, _ := h.r.ReadAt(h.buf[:], at)
		head = h.buf[:n]
		if n < 10 || string(head[:3]) != "ID3" || head[3] == 0xff || (head[6]|head[7]|head[8]|head[9])&0x80 != 0 {
			break
		}
		tag := 10 + int64(head[6])<<21 + int64(head[7])<<14 + int64(head[8])<<7 + int64(head[9])
		if head[5]&0x10 != 0 {
			tag += 10 // a footer
		}
		if tag >= h.size-at {
			break
		}
		at += tag
	}
	return at, head
}

// parseFLAC reads the metadata of a FLAC that begins at byte `at`: STREAMINFO, and how long all others are.
func (h *header) parseFLAC(at int64) error {
	at += 4
	for i := range maxChunks {
		b, err := h.at(at, 4)
		if err != nil {
			return err
		}
		last, kind, size := b[0]&0x80 != 0, b[0]&0x7f, int64(binary.BigEndian.Uint32(b)&0xffffff)
		at += 4
		if (kind == 0) != (i == 0) {
			return h.fail(CauseCorrupt, "metadata block %d is of type %d, want STREAMINFO first and once", i, kind)
		}
		if kind == 0 {
			if err := h.streamInfo(at, size); err != nil {
				return err
			}
		}
		if size > h.size-at {
			return h.fail(CauseTruncated, "metadata block of %d bytes, the file holds %d of them", size, h.size-at)
		}
		at += size
		if last {
			h.flac.first = at
			if at == h.size && h.flac.total == 0 {
				return h.fail(CauseNoFrames, "metadata alone")
			}
			return nil
		}
	}
	return h.fail(CauseCorrupt, "more than %d metadata blocks", maxChunks)
}

// streamInfo takes what does not only describe frames: their sizes are theirs to say.
func (h *header) streamInfo(at, size int64) error {
	b, err := h.inside("STREAMINFO", at, uint64(size), 34, 34)
	if err != nil {
		return err
	}
	v := big64(b[10:])
	h.flac = flacStream{rate: int(v >> 44), channels: int(v>>41&7) + 1, bits: int(v>>36&31) + 1, total: int64(v & (1<<36 - 1))}
	if h.flac.rate < 1 || h.flac.rate > MaxRate || h.flac.bits < 4 {
		return h.fail(CauseUnsupported, "%d bits at %d Hz, want 4 to 32 at 1 to %d Hz", h.flac.bits, h.flac.rate, MaxRate)
	}
	return nil
}

// flacReader decodes the frames.
type flacReader struct {
	c      *C.audio_flac
	from   C.audio_flac_source
	take   []C.int32_t
	pinned runtime.Pinner // the sample's bytes, which C reads from open to release
}

func (d *flacReader) open(w *Worker, in *input, info *Info) error {
	if d.c == nil {
		if d.c = C.audio_flac_new(); d.c == nil {
			return &Error{Format: info.Format, cause: CauseNoMemory}
		}
	}
	s := &in.header.flac
	d.from = C.audio_flac_source{from: in.source(&d.pinned), first: C.int64_t(s.first), total: C.int64_t(s.total),
		channels: C.int32_t(s.channels), bits: C.int32_t(s.bits), rate: C.int32_t(s.rate), budget_ns: C.int64_t(w.op.cfg.Budget)}
	if err := d.fail(C.audio_flac_open(d.c, w.kernels, &d.from), info); err != nil {
		d.release()
		return err
	}
	info.Rate, info.Channels, info.Frames = s.rate, s.channels, s.total
	if s.total == 0 {
		info.Frames = -1
	}
	return nil
}

func (d *flacReader) fail(status C.int, info *Info) error {
	return ownError(status, info, C.audio_flac_detail(d.c))
}

// upTo is how many frames there are, at most end (-1: no limit).
func (d *flacReader) upTo(info *Info, end int64) (int64, error) {
	var total C.int64_t
	if err := d.fail(C.audio_flac_count(d.c, C.int64_t(end), &total), info); err != nil {
		return 0, err
	}
	if end >= 0 && end < int64(total) {
		return end, nil
	}
	info.Frames = int64(total)
	return int64(total), nil
}

func (d *flacReader) fetch(info *Info, take []int, first int64, to planes) error {
	d.take = d.take[:0]
	for _, c := range take {
		d.take = append(d.take, C.int32_t(c))
	}
	return d.fail(C.audio_flac_decode(d.c, unsafe.SliceData(d.take), C.int(len(take)), C.int64_t(first), C.int64_t(to.n), floats(to.data),
		C.size_t(to.stride)), info)
}

func (d *flacReader) release() {
	if d.c != nil {
		C.audio_flac_close(d.c)
	}
	d.pinned.Unpin()
}

func (d *flacReader) close() {
	C.audio_flac_free(d.c)
	d.c = nil
}
