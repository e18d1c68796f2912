package av

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"
	"time"
)

// Bounds of the search for heads.
const (
	headsMost   = 32 << 20  // bytes of all heads
	tablesMost  = 512 << 10 // of a moov: one in fragments has the tables of no sample
	headsRead   = 32 << 10  // that are read where a box begins
	headsBefore = 1 << 10   // in front of a fragment there may be other boxes, which lists leave out
	headsAtOnce = 64        // places that are known before and read together
)

// headsGap is over how many bytes it reads on: they cost less than another answer does. A variable for tests.
var headsGap int64 = 1 << 20

// Heads are the bytes of an MP4 in fragments that are no samples: the tables of each fragment, which lie between the samples of all. A demuxer reads
// all of them before it gives one packet, and its many short reads, each far from the last, are slow where the file is in a store. They are
// read-only once found.
type Heads struct {
	regions []headsRegion // in rising order
	data    []byte        // of all regions, one behind the other
}

// headsRegion is the file's bytes [from, to), which begin at data[at].
type headsRegion struct{ from, to, at int64 }

// errHeadsSlow says that the time is up.
var errHeadsSlow = errors.New("the budget of time for one sample is used up; raise timeout")

// FindHeads reads an MP4's boxes, but for the samples in them, and returns its heads; nil: it is no MP4 in fragments. Where a file ends early, lies about its sizes or has more
// heads than are kept, they are those up to there. The bytes are the file's own in any case. until is when it gives up; zero: never. It blocks for as long as
// reading does. Errors are *Error, of a sample of that kind.
func FindHeads(f *File, kind string, until time.Time) (*Heads, error) {
	w := headsWalk{f: f, until: until}
	for w.at < f.Size {
		again, err := w.box()
		if err == errHeadsSlow {
			return nil, NewError(kind, StatusTooSlow, err.Error())
		} else if err != nil {
			return nil, NewError(kind, StatusRead, "the bytes are out of reach")
		}
		if !again {
			break
		}
	}
	if !w.fragments {
		return nil, nil
	}
	return &w.heads, nil
}

// headsWalk goes from box to box of a file's top level.
type headsWalk struct {
	f         *File
	until     time.Time
	heads     Heads
	at        int64 // the next box
	fragments bool

	piece   headsPiece   // what was read last
	ahead   []headsPiece // what was read before it is wanted, in rising order
	covered int64        // up to where that was
	places  []int64      // where fragments are said to begin, in rising order once listed is set
	listed  bool
}

// headsPiece is a part of the file.
type headsPiece struct {
	at    int64
	bytes []byte
}

func (p *headsPiece) end() int64 { return p.at + int64(len(p.bytes)) }

// box takes the next box; false: nothing behind it is looked at.
func (w *headsWalk) box() (bool, error) {
	head, err := w.bytes(w.at, 16)
	if err != nil || len(head) < 8 {
		return false, err
	}
	size, begin := int64(binary.BigEndian.Uint32(head)), int64(8)
	kind := string(head[4:8])
	switch {
	case size == 1 && len(head) == 16:
		if size, begin = int64(binary.BigEndian.Uint64(head[8:])), 16; size < 0 {
			return false, nil
		}
	case size == 0:
		size = w.f.Size - w.at
	}
	if size < begin || w.at == 0 && kind != "ftyp" && kind != "styp" {
		return false, nil
	}
	behind := w.f.Size
	if size < w.f.Size-w.at {
		behind = w.at + size
	}
	if kind == "mdat" {
		w.add(head[:begin])
		w.at = behind
		return len(w.heads.data) <= headsMost, nil
	}
	if n := behind - w.at; int64(len(w.heads.data))+n > headsMost || kind == "moov" && n > tablesMost {
		return false, nil
	}
	all, err := w.bytes(w.at, behind-w.at)
	if err != nil || int64(len(all)) < behind-w.at {
		return false, err
	}
	w.add(all)
	switch kind {
	case "moov":
		if w.fragments = hasBox(all[begin:], "mvex"); !w.fragments {
			return false, nil
		}
	case "sidx":
		if places := sidxPlaces(all[begin:], behind); len(places) > 1 && !w.listed {
			w.places = append(w.places, places...)
		}
	}
	w.at = behind
	return true, nil
}

// add keeps bytes of the next box.
func (w *headsWalk) add(b []byte) {
	h := &w.heads
	if k := len(h.regions) - 1; k >= 0 && h.regions[k].to == w.at {
		h.regions[k].to += int64(len(b))
	} else {
		h.regions = append(h.regions, headsRegion{w.at, w.at + int64(len(b)), int64(len(h.data))})
	}
	h.data = append(h.data, b...)
}

// bytes is n of the file, or fewer at its end, until the next call.
func (w *headsWalk) bytes(at, n int64) ([]byte, error) {
	n = min(n, w.f.Size-at)
	if at < w.piece.at || at+n > w.piece.end() {
		if err := w.read(at, n); err != nil {
			return nil, err
		}
	}
	b := w.piece.bytes[at-w.piece.at:]
	return b[:min(n, int64(len(b)))], nil
}

// read has n bytes of the file and more in piece, or fewer at its end.
func (w *headsWalk) read(at, n int64) error {
	if !w.until.IsZero() && time.Now().After(w.until) {
		return errHeadsSlow
	}
	far := w.fragments && at-w.piece.end() >= headsGap
	if far {
		if err := w.foretell(at); err != nil {
			return err
		}
		for len(w.ahead) > 0 && w.ahead[0].end() <= at {
			w.ahead = w.ahead[1:]
		}
		if len(w.ahead) > 0 && w.ahead[0].at <= at && at+n <= w.ahead[0].end() {
			w.piece = w.ahead[0]
			return nil
		}
	}
	w.piece = headsPiece{at, make([]byte, min(max(n, headsRead), w.f.Size-at))}
	if far {
		return w.f.peek([][]byte{w.piece.bytes}, []int64{at})
	}
	got, err := w.f.ReadAt(w.piece.bytes, at)
	if w.piece.bytes = w.piece.bytes[:got]; errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// foretell reads what lies where fragments are said to begin from at on, several at a time, if the next one is there. No more is made of what is said.
func (w *headsWalk) foretell(at int64) error {
	if !w.listed {
		w.listed = true
		if len(w.places) == 0 {
			if err := w.readList(); err != nil {
				return err
			}
		}
		slices.Sort(w.places)
	}
	if at < w.covered {
		return nil
	}
	for len(w.places) > 0 && w.places[0] < at {
		w.places = w.places[1:]
	}
	if len(w.places) == 0 || w.places[0]-at > headsBefore {
		return nil
	}
	w.ahead, w.covered = w.ahead[:0], at-headsGap
	var to [][]byte
	var from []int64
	for _, p := range w.places {
		begin := max(p-headsBefore, at)
		if len(to) == headsAtOnce || p >= w.f.Size {
			break
		}
		if begin-w.covered >= headsGap {
			piece := headsPiece{begin, make([]byte, min(headsRead, w.f.Size-begin))}
			w.ahead, w.covered = append(w.ahead, piece), piece.end()
			to, from = append(to, piece.bytes), append(from, begin)
		}
	}
	return w.f.peek(to, from)
}

// readList reads the list of fragments that a file may have at its end (mfra).
func (w *headsWalk) readList() error {
	tail := make([]byte, min(2*headsRead, w.f.Size))
	from := w.f.Size - int64(len(tail))
	if err := w.f.peek([][]byte{tail}, []int64{from}); err != nil {
		return err
	}
	mfro := tail[max(0, len(tail)-16):]
	if len(mfro) < 16 || string(mfro[4:8]) != "mfro" {
		return nil
	}
	n := int64(binary.BigEndian.Uint32(mfro[12:]))
	if n > headsMost || n > w.f.Size {
		return nil
	}
	if n > int64(len(tail)) {
		tail = make([]byte, n)
		if err := w.f.peek([][]byte{tail}, []int64{w.f.Size - n}); err != nil {
			return err
		}
	}
	w.places = tfraPlaces(tail[int64(len(tail))-n:])
	return nil
}

// hasBox says whether one of the boxes that b is made of is of a kind.
func hasBox(b []byte, kind string) bool {
	for len(b) >= 8 {
		n := binary.BigEndian.Uint32(b)
		if string(b[4:8]) == kind {
			return true
		}
		if n < 8 || uint64(n) > uint64(len(b)) {
			return false
		}
		b = b[n:]
	}
	return false
}

// sidxPlaces are where a segment index says that its parts begin, behind which it lies.
func sidxPlaces(b []byte, behind int64) (places []int64) {
	if len(b) < 24 {
		return nil
	}
	first, rest := int64(binary.BigEndian.Uint32(b[16:])), b[20:]
	if b[0] != 0 {
		if len(b) < 32 {
			return nil
		}
		first, rest = int64(binary.BigEndian.Uint64(b[20:])), b[28:]
	}
	at := behind + first
	for rest = rest[4:]; len(rest) >= 12 && at >= behind; rest = rest[12:] {
		places = append(places, at)
		at += int64(binary.BigEndian.Uint32(rest) & 0x7fffffff)
	}
	return places
}

// tfraPlaces are where the lists of random access say that fragments begin.
func tfraPlaces(b []byte) (places []int64) {
	if len(b) < 8 || string(b[4:8]) != "mfra" {
		return nil
	}
	for b = b[8:]; len(b) >= 24; {
		n := binary.BigEndian.Uint32(b)
		if n < 24 || uint64(n) > uint64(len(b)) {
			break
		}
		if string(b[4:8]) == "tfra" {
			wide, sizes := b[8] != 0, b[19]
			entry := 8
			if wide {
				entry = 16
			}
			behind := entry + int(sizes>>4&3) + int(sizes>>2&3) + int(sizes&3) + 3
			for list := b[24:n]; len(list) >= behind; list = list[behind:] {
				at := int64(binary.BigEndian.Uint32(list[4:]))
				if wide {
					at = int64(binary.BigEndian.Uint64(list[8:]))
				}
				places = append(places, at)
			}
		}
		b = b[n:]
	}
	return places
}

// Near is f with its heads at hand, where only Go can read it and it has some; FindHeads has the rest.
func (f *File) Near(kind string, until time.Time) (*File, error) {
	if f.From == nil {
		return f, nil
	}
	h, err := FindHeads(f, kind, until)
	return h.Over(f), err
}

// Over is f with the heads at hand; h may be nil.
func (h *Heads) Over(f *File) *File {
	if h == nil {
		return f
	}
	over := *f
	over.From = &headed{h, f}
	return &over
}

// headed reads a file whose heads are known.
type headed struct {
	heads *Heads
	file  *File
}

// errHead says that no more is at hand: the next read goes to the file.
var errHead = errors.New("the end of a head")

// ReadAt reads of a head no more than that: who reads it has no use for what lies behind.
func (h *headed) ReadAt(to []byte, at int64) (int, error) {
	if b := h.heads.at(at - h.file.Offset); len(b) > 0 {
		n := copy(to, b)
		if n < len(to) {
			return n, errHead
		}
		return n, nil
	}
	return h.file.read(to, at)
}

// Expect passes on what is read next.
func (h *headed) Expect(parts [][2]int64) {
	if from, can := h.file.From.(expecting); can {
		from.Expect(parts)
	}
}

// at is what is known of the file from a byte on.
func (h *Heads) at(at int64) []byte {
	i := sort.Search(len(h.regions), func(i int) bool { return h.regions[i].to > at })
	if i == len(h.regions) || h.regions[i].from > at {
		return nil
	}
	r := &h.regions[i]
	return h.data[r.at+at-r.from : r.at+r.to-r.from]
}

// Append appends the heads to b, for HeadsOf.
func (h *Heads) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(len(h.regions)))
	for _, r := range h.regions {
		b = le.AppendUint64(le.AppendUint64(b, uint64(r.from)), uint64(r.to))
	}
	return append(b, h.data...)
}

var errHeads = errors.New("no heads")

// HeadsOf is the heads that Append wrote. They are a part of b.
func HeadsOf(b []byte) (*Heads, error) {
	le := binary.LittleEndian
	if len(b) < 8 || le.Uint64(b) > uint64(len(b)-8)/16 {
		return nil, errHeads
	}
	h := &Heads{regions: make([]headsRegion, le.Uint64(b))}
	b = b[8:]
	h.data = b[16*len(h.regions):]
	at, last := int64(0), int64(-1)
	for i := range h.regions {
		from, to := int64(le.Uint64(b[16*i:])), int64(le.Uint64(b[16*i+8:]))
		if from <= last || to <= from || to-from > int64(len(h.data))-at {
			return nil, errHeads
		}
		h.regions[i] = headsRegion{from, to, at}
		at, last = at+to-from, to
	}
	if at != int64(len(h.data)) {
		return nil, errHeads
	}
	return h, nil
}

// Equal says whether they are the same bytes at the same places.
func (h *Heads) Equal(other *Heads) bool {
	if h == nil || other == nil {
		return h == other
	}
	return bytes.Equal(h.Append(nil), other.Append(nil))
}
