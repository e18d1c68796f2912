package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds of what a header may say.
const (
	MaxChannels = 64
	MaxRate     = 768000
	maxChunks   = 1024 // before the data
)

// headBytes is what tells the containers apart.
const headBytes = 40

// container is a format whose samples lie in one piece, as they are: its header is all there is to read.
type container struct {
	name  string // FFmpeg's
	is    func(head []byte) bool
	parse func(h *header) error
}

var containers = [...]container{
	{"wav", isWAV, (*header).wav},
	{"w64", isW64, (*header).w64},
	{"aiff", isAIFF, (*header).aiff},
	{"au", isAU, (*header).au},
	{"caf", isCAF, (*header).caf},
}

// containerOf is the one that begins like head, at most headBytes of a file; nil: none.
func containerOf(head []byte) *container {
	for i := range containers {
		if containers[i].is(head) {
			return &containers[i]
		}
	}
	return nil
}

// kind is what a file is by four bytes of its beginning or more, which samples alone do not have by chance; "" of others. In place of samples its
// header would be heard.
func (h *header) kind() string {
	n, _ := h.r.ReadAt(h.buf[:], 0)
	head := h.buf[:n]
	switch c := containerOf(head); {
	case c != nil:
		return c.name
	case isFLAC(head):
		return "flac"
	case isOpus(head):
		return "ogg"
	case isMP4(head):
		return "mov"
	}
	return ""
}

// header reads what says where the samples lie. What it refuses as CauseUnsupported may still be sound to FFmpeg.
type header struct {
	r        io.ReaderAt
	size     int64
	format   string
	buf      [headBytes]byte
	pcm      PCM
	known    bool   // pcm's encoding, channels and rate
	long     bool   // WAV: one whose samples may have their size in ds64
	dataSize uint64 // that one; 0: none
	data     int64  // where AIFF's samples lie if they come before what describes them; 0: they do not
	dataLen  uint64
	flac     flacStream // in place of pcm
	said     *WAVHeader // not nil: it is all that is asked for, of any codec
}

func (h *header) fail(cause, format string, args ...any) error {
	return &Error{Format: h.format, cause: cause, Detail: fmt.Sprintf(format, args...)}
}

// at reads n <= headBytes bytes, which the next call overwrites.
func (h *header) at(offset int64, n int) ([]byte, error) {
	if offset+int64(n) > h.size {
		return nil, h.fail(CauseTruncated, "the header needs %d bytes, got %d", offset+int64(n), h.size)
	}
	b := h.buf[:n]
	if got, err := h.r.ReadAt(b, offset); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			return nil, h.fail(CauseTruncated, "the header needs %d bytes, got %d", offset+int64(n), offset+int64(got))
		}
		return nil, &Error{Format: h.format, cause: CauseRead, Detail: err.Error(), err: err}
	}
	return b, nil
}

// inside reads at most `most` bytes of a chunk that must have `least`.
func (h *header) inside(id string, body int64, size, least, most uint64) ([]byte, error) {
	if size < least {
		return nil, h.fail(CauseCorrupt, "%s chunk of %d bytes, want at least %d", id, size, least)
	}
	return h.at(body, int(min(size, most)))
}

// chunking is how the chunks of a format lie: an id, a size, a body.
type chunking struct {
	first   int64 // where the first begins
	head    int   // bytes before a body
	id      int   // of them, the id's
	size    func(b []byte) uint64
	counted bool   // a size counts the head, too
	align   uint64 // of what follows a body, counted from the body
}

// see is given each chunk until it has the samples or an error. id is gone with the next read.
type see func(h *header, id []byte, body int64, size uint64) (found bool, err error)

func (h *header) chunks(c *chunking, see see) error {
	offset := c.first
	for range maxChunks {
		b, err := h.at(offset, c.head)
		if err != nil {
			return err
		}
		body, size := offset+int64(c.head), c.size(b[c.id:])
		if c.counted {
			if size < uint64(c.head) {
				return h.fail(CauseCorrupt, "chunk of %d bytes, want at least %d", size, c.head)
			}
			size -= uint64(c.head)
		}
		if found, err := see(h, b[:c.id], body, size); found || err != nil {
			return err
		}
		if size > uint64(h.size-body) {
			return h.fail(CauseTruncated, "chunk of %d bytes, the file holds %d of them", size, h.size-body)
		}
		offset = body + int64((size+c.align-1)&^(c.align-1))
	}
	return h.fail(CauseCorrupt, "no data among the first %d chunks", maxChunks)
}

// describe takes what a header says of its samples.
func (h *header) describe(e Encoding, channels, rate uint32) error {
	if channels < 1 || channels > MaxChannels || rate < 1 || rate > MaxRate {
		return h.fail(CauseCorrupt, "%d channels at %d Hz, want 1 to %d at 1 to %d Hz", channels, rate, MaxChannels, MaxRate)
	}
	h.pcm = PCM{Encoding: e, Channels: int(channels), Rate: int(rate)}
	h.known = true
	return nil
}

// toTheEnd is the size of samples that were written without knowing how many there would be.
const toTheEnd = 1<<64 - 1

// samples says that they lie in size bytes from offset on.
func (h *header) samples(offset int64, size uint64) error {
	there := uint64(max(0, h.size-offset))
	if size == toTheEnd {
		size = there
	}
	if size > there {
		return h.fail(CauseTruncated, "data of %d bytes, the file holds %d of them", size, there)
	}
	h.pcm.Offset, h.pcm.Frames = offset, int64(size)/int64(h.pcm.FrameBytes())
	if h.pcm.Frames == 0 {
		return h.fail(CauseNoFrames, "data of %d bytes", size)
	}
	return nil
}

func begins(head []byte, id string, at int, form string) bool {
	return bytes.HasPrefix(head, []byte(id)) && len(head) >= at && bytes.HasPrefix(head[at:], []byte(form))
}
