package audio

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
)

// isMP4 reports whether it is an MP4, or one of those that are like it.
func isMP4(head []byte) bool { return begins(head, "", 4, "ftyp") }

const mostMoov = 256 << 20 // bytes

// boxes are those that are left of an MP4's box; err is of the one that is none.
type boxes struct {
	left []byte
	kind string
	body []byte
	err  error
}

// next reports whether there is one more: kind, and what is in it.
func (b *boxes) next() bool {
	if len(b.left) < 8 || b.err != nil {
		return false
	}
	size, head := uint64(binary.BigEndian.Uint32(b.left)), uint64(8)
	if size == 1 && len(b.left) >= 16 {
		size, head = binary.BigEndian.Uint64(b.left[8:]), 16
	}
	if size < head || size > uint64(len(b.left)) {
		b.err = oddAAC(CauseCorrupt, "a box of %d bytes in one that has %d left", size, len(b.left))
		return false
	}
	b.kind, b.body, b.left = string(b.left[4:8]), b.left[head:size], b.left[size:]
	return true
}

// mp4 is what an MP4 says of its only track of sound.
type mp4 struct {
	scale  uint32 // ticks of a second, of the movie
	tracks int    // of sound
	sound  mp4Track
	last   int    // the last track's number
	told   []byte // what is told of it behind the tracks: udta
}

type mp4Track struct {
	number int
	sound  bool
	scale  uint32 // ticks of a second
	edits  []mp4Edit
	// Tables, without their version.
	description, times, chunks, sizes, places, widePlaces []byte
	shifted                                               bool // there is a table of times that decoding and showing differ by
}

type mp4Edit struct{ duration, time int64 }

// oddMP4 is of what is right, but nothing that encoders of AAC write.
func oddMP4(what string) error { return oddAAC(CauseUnsupported, "an MP4 with %s", what) }

// readMP4 finds the packets of a file's only track of sound. What is not as encoders write it is an error.
func (s *aacStream) readMP4(p *pieces) error {
	moov, err := p.moov()
	if err != nil {
		return err
	}
	var m mp4
	if err := m.read(moov); err != nil {
		return err
	}
	t := &m.sound
	if m.tracks != 1 || t.shifted {
		return oddMP4("no track of sound, or several, or one with packets out of order")
	}
	if err := s.describe(t.description); err != nil {
		return err
	}
	if s.rate >= len(aacRates) || int(t.scale) != aacRates[s.rate] {
		return oddMP4("ticks that are no samples")
	}
	if err := s.place(t, p.size); err != nil {
		return err
	}
	if !wholeFrames(t.times, len(s.at)) {
		return oddMP4("packets of several lengths")
	}
	told := bytes.Count(moov, []byte(iTunesDelay))
	if err := s.edit(t, m.scale); err != nil || told == 0 {
		return err
	}
	delay, ok := delayOf(m.told)
	if !ok || told != 1 || m.last != t.number || delay < s.skip { // FFmpeg gives it to the track before it, whatever edits say
		return oddMP4("a delay in a place or a form of its own")
	}
	s.total -= delay - s.skip
	s.skip = delay
	return nil
}

// iTunesDelay names iTunes' way to say what encoders put before the sound.
const iTunesDelay = "iTunSMPB"

// inside is the first box of these kinds that lie in each other.
func inside(b []byte, kinds ...string) []byte {
	for in := (boxes{left: b}); in.next(); {
		if in.kind != kinds[0] {
			continue
		}
		if in.kind == "meta" && len(in.body) >= 4 {
			in.body = in.body[4:]
		}
		if len(kinds) == 1 {
			return in.body
		}
		return inside(in.body, kinds[1:]...)
	}
	return nil
}

// delayOf is how many samples iTunes says are before the sound. What it says of the end FFmpeg does not believe.
func delayOf(udta []byte) (samples int64, ok bool) {
	const inName, inData = 4, 8 // bytes before what they say
	for in := (boxes{left: inside(udta, "meta", "ilst")}); in.next(); {
		name, data := inside(in.body, "name"), inside(in.body, "data")
		if in.kind != "----" || inside(in.body, "mean") == nil || len(name) < inName || string(name[inName:]) != iTunesDelay || len(data) < inData {
			continue
		}
		numbers := strings.Fields(string(data[inData:]))
		if len(numbers) < 4 {
			return 0, false
		}
		for i, text := range numbers[:4] {
			n, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				return 0, false
			}
			if i == 1 {
				samples = int64(n)
			}
		}
		return samples, samples > 0 && samples < 1<<14
	}
	return 0, false
}

// moov is the box that says where everything is.
func (p *pieces) moov() ([]byte, error) {
	at := int64(0)
	for range maxChunks {
		b, err := p.at(at, 16)
		if err != nil {
			return nil, err
		}
		size, head := int64(binary.BigEndian.Uint32(b)), int64(8)
		if size == 1 {
			size, head = int64(binary.BigEndian.Uint64(b[8:])), 16
		}
		if size < head {
			return nil, oddAAC(CauseCorrupt, "a box of %d bytes at byte %d", size, at)
		}
		if size > p.size-at {
			return nil, oddAAC(CauseTruncated, "a box of %d bytes at byte %d of %d", size, at, p.size)
		}
		if string(b[4:8]) == "moov" {
			if size > mostMoov {
				return nil, oddMP4("tables of more than 256 MiB")
			}
			return p.at(at+head, int(size-head))
		}
		at += size
	}
	return nil, oddMP4("no tables")
}

func (m *mp4) read(moov []byte) error {
	in := boxes{left: moov}
	for in.next() {
		switch in.kind {
		case "mvex", "cmov": // packets are elsewhere, or the boxes packed
			return oddMP4("fragments")
		case "udta":
			m.told = in.body
		case "mvhd":
			if m.scale = scaleOf(in.body); m.last > 0 || m.scale >= 1<<31 {
				return oddMP4("a header behind its tracks, or of ticks that are none")
			}
		case "trak":
			m.last++
			m.told = nil
			t := mp4Track{number: m.last}
			if err := t.read(in.body, 1); err != nil {
				return err
			}
			if t.sound {
				m.sound = t
				m.tracks++
			}
		}
	}
	return in.err
}

// scaleOf reads mvhd or mdhd: 0 is none.
func scaleOf(b []byte) uint32 {
	at := 12
	if len(b) > 0 && b[0] == 1 {
		at = 20
	}
	if len(b) < at+4 || b[0] > 1 {
		return 0
	}
	return binary.BigEndian.Uint32(b[at:])
}

// mostDepth is how deep boxes of a track lie in each other, at most.
const mostDepth = 8

// read takes what boxes at any depth of a track say.
func (t *mp4Track) read(trak []byte, depth int) error {
	if depth > mostDepth {
		return oddAAC(CauseCorrupt, "boxes that lie in each other more than %d times", mostDepth)
	}
	in := boxes{left: trak}
	for in.next() {
		var err error
		switch in.kind {
		case "mdia", "minf", "stbl", "edts":
			err = t.read(in.body, depth+1)
		case "mdhd":
			if t.scale != 0 {
				return oddMP4("several headers of a track")
			}
			t.scale = scaleOf(in.body)
		case "hdlr":
			t.sound = t.sound || len(in.body) >= 12 && string(in.body[8:12]) == "soun"
		case "elst":
			if t.edits != nil {
				return oddMP4("several tables of edits")
			}
			t.edits, err = editsOf(in.body)
		case "stsd":
			err = once(&t.description, in.body)
		case "stts":
			err = once(&t.times, in.body)
		case "stsc":
			err = once(&t.chunks, in.body)
		case "stsz":
			err = once(&t.sizes, in.body)
		case "stco":
			err = once(&t.places, in.body)
		case "co64":
			err = once(&t.widePlaces, in.body)
		case "ctts", "stz2", "cslg":
			t.shifted = true
		}
		if err != nil {
			return err
		}
	}
	return in.err
}

func tableOf(b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, oddAAC(CauseCorrupt, "a table of %d bytes", len(b))
	}
	return b[4:], nil
}

// once takes a table that there may be once.
func once(to *[]byte, b []byte) (err error) {
	if *to != nil {
		return oddMP4("several tables of one kind")
	}
	*to, err = tableOf(b)
	return err
}

// entries are those of a table, of size bytes each, which begins with their number.
func entries(table []byte, size int) ([]byte, error) {
	if len(table) < 4 {
		return nil, oddAAC(CauseCorrupt, "a table of %d bytes", len(table))
	}
	n := uint64(binary.BigEndian.Uint32(table)) * uint64(size)
	if n > uint64(len(table)-4) {
		return nil, oddAAC(CauseCorrupt, "a table of %d bytes in a box of %d", n, len(table)-4)
	}
	return table[4 : 4+n], nil
}

func editsOf(b []byte) ([]mp4Edit, error) {
	table, err := tableOf(b)
	if err != nil {
		return nil, err
	}
	size := 12
	if b[0] == 1 {
		size = 20
	}
	list, err := entries(table, size)
	if err == nil && len(list) != len(table)-4 {
		err = oddAAC(CauseCorrupt, "%d bytes of edits in a box of %d", len(list), len(table)-4)
	}
	var edits []mp4Edit
	for ; len(list) > 0; list = list[size:] {
		e := mp4Edit{int64(binary.BigEndian.Uint32(list)), int64(int32(binary.BigEndian.Uint32(list[4:])))}
		if size == 20 {
			e = mp4Edit{int64(binary.BigEndian.Uint64(list)), int64(binary.BigEndian.Uint64(list[8:]))}
		}
		edits = append(edits, e)
	}
	return edits, err
}

// Bytes of a description of samples before its boxes: those that all have, and those that QuickTime's have behind them.
const (
	plainEntry = 28
	moreInMOV  = 16
)

// describe reads the description of the track's samples: one, of AAC.
func (s *aacStream) describe(table []byte) error {
	if len(table) < 4 || binary.BigEndian.Uint32(table) != 1 {
		return oddMP4("several kinds of packets")
	}
	in := boxes{left: table[4:]}
	if !in.next() || in.kind != "mp4a" || len(in.body) < plainEntry {
		return oddMP4("sound that is no AAC")
	}
	own := in.body[plainEntry:]
	switch version := binary.BigEndian.Uint16(in.body[8:]); {
	case version == 1 && len(own) >= moreInMOV:
		own = own[moreInMOV:]
	case version != 0:
		return oddMP4("sound that is no AAC")
	}
	if wave := inside(own, "wave"); wave != nil {
		own = wave
	}
	if esds := inside(own, "esds"); len(esds) >= 4 {
		return s.elementary(esds[4:])
	}
	return oddMP4("AAC of an unknown kind")
}

// descriptor is the one of MPEG-4 systems that b begins with; nil: another, or none.
func descriptor(b []byte, tag byte) []byte {
	if len(b) == 0 || b[0] != tag {
		return nil
	}
	size := 0
	for i, c := range b[1:min(5, len(b))] {
		size = size<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			if body := b[i+2:]; size <= len(body) {
				return body[:size]
			}
			return nil
		}
	}
	return nil
}

// elementary reads the descriptors of the stream, in which its configuration is.
func (s *aacStream) elementary(b []byte) error {
	es := descriptor(b, 3)
	if len(es) < 3 || es[2]&0xe0 != 0 {
		return oddMP4("AAC of an unknown kind")
	}
	decoder := descriptor(es[3:], 4)
	if len(decoder) < 13 || decoder[0] != 0x40 {
		return oddMP4("AAC of an unknown kind")
	}
	return s.configure(descriptor(decoder[13:], 5))
}

// configure reads an AudioSpecificConfig: low complexity, frames of 1,024 samples, and nothing that doubles the rate.
func (s *aacStream) configure(b []byte) error {
	if len(b) < 2 || len(b) > 64 {
		return oddMP4("AAC of an unknown kind")
	}
	v := binary.BigEndian.Uint16(b)
	s.rate, s.channels = int(v>>7&15), int(v>>3&15)
	if v>>11 != 2 || v&7 != 0 {
		return oddMP4("AAC that is not of low complexity, or not in frames of 1,024 samples")
	}
	const extension, doubled = 0x2b7, 5
	for bit := 13; bit+17 <= 8*len(b); bit++ {
		var x uint32
		for i := range 17 {
			x = x<<1 | uint32(b[(bit+i)/8]>>(7-(bit+i)%8)&1)
		}
		if x>>6 == extension {
			if x>>1&31 == doubled && x&1 == 1 {
				return oddMP4("AAC whose rate is doubled")
			}
			break
		}
	}
	return nil
}

// place lists the packets: chunks of some each lie anywhere in the file.
func (s *aacStream) place(t *mp4Track, size int64) error {
	if len(t.sizes) < 4 || binary.BigEndian.Uint32(t.sizes) != 0 {
		return oddMP4("packets of one size")
	}
	sizes, err := entries(t.sizes[4:], 4)
	if err != nil {
		return err
	}
	if len(sizes) > 4*aacPackets {
		return oddMP4("more than 2^22 packets")
	}
	runs, err := entries(t.chunks, 12)
	if err != nil {
		return err
	}
	width, table := 4, t.places
	if table == nil {
		width, table = 8, t.widePlaces
	} else if t.widePlaces != nil {
		return oddMP4("several tables of one kind")
	}
	places, err := entries(table, width)
	if err != nil {
		return err
	}
	each, left := uint32(0), uint32(0) // packets of a chunk; what the last one lacks
	for chunk := uint32(1); len(places) > 0 && len(sizes) > 0; chunk, places = chunk+1, places[width:] {
		if len(runs) > 0 && binary.BigEndian.Uint32(runs) == chunk {
			each = binary.BigEndian.Uint32(runs[4:])
			if each == 0 || binary.BigEndian.Uint32(runs[8:]) != 1 {
				return oddMP4("several kinds of packets, or chunks of none")
			}
			runs = runs[12:]
		}
		at := uint64(binary.BigEndian.Uint32(places))
		if width == 8 {
			at = binary.BigEndian.Uint64(places)
		}
		for left = each; left > 0 && len(sizes) > 0; left, sizes = left-1, sizes[4:] {
			n := binary.BigEndian.Uint32(sizes)
			if n == 0 || n > aacMost {
				return oddAAC(CauseUnsupported, "a packet of %d bytes", n)
			}
			if at > uint64(size) || uint64(n) > uint64(size)-at {
				return oddAAC(CauseTruncated, "a packet at byte %d of %d", at, size)
			}
			s.at, s.bytes = append(s.at, int64(at)), append(s.bytes, int32(n))
			at += uint64(n)
		}
	}
	if len(sizes) > 0 || len(runs) > 0 || len(places) > 0 || left > 0 || len(s.at) == 0 { // FFmpeg stops there, and forgets the edits
		return oddAAC(CauseCorrupt, "tables of packets that do not agree")
	}
	return nil
}

// wholeFrames reports whether each of n packets lasts as long as it does, but for the last one.
func wholeFrames(times []byte, n int) bool {
	list, err := entries(times, 8)
	if err != nil {
		return false
	}
	for left := uint32(n); ; list = list[8:] {
		if len(list) == 0 {
			return left == 0
		}
		count, ticks := binary.BigEndian.Uint32(list), binary.BigEndian.Uint32(list[4:])
		if count > left || ticks != aacFrame && (count != 1 || left != 1 || ticks > aacFrame) {
			return false
		}
		left -= count
	}
}

// edit takes what the edits leave: from some sample of the first second on, and whole packets until the end. Silence before that is no sample.
func (s *aacStream) edit(t *mp4Track, scale uint32) error {
	s.total = int64(len(s.at)) * aacFrame
	edits := t.edits
	if len(edits) == 0 {
		return nil
	}
	silence := int64(0) // in the movie's ticks
	for len(edits) > 0 && edits[0].time == -1 && edits[0].duration >= 0 && edits[0].duration <= 1<<31 {
		silence += edits[0].duration
		edits = edits[1:]
	}
	if len(edits) != 1 || scale == 0 {
		return oddMP4("several edits")
	}
	e := edits[0]
	if e.time < 0 || e.time > min(int64(t.scale), s.total-aacFrame) || e.duration <= 0 || e.duration > 1<<31 {
		return oddMP4("an edit that begins late, or of no length")
	}
	end := e.time + (e.duration*int64(t.scale)+int64(scale)/2)/int64(scale)
	if n := (end + aacFrame - 1) / aacFrame; n < int64(len(s.at)) {
		s.at, s.bytes = s.at[:n], s.bytes[:n]
	}
	s.start = float64(silence)/float64(scale) - float64(e.time)/float64(t.scale)
	s.skip = e.time
	s.total = int64(len(s.at))*aacFrame - s.skip
	return nil
}
