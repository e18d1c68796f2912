package audio

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
)

const (
	oggMark   = "OggS\x00"
	oggHead   = 27 // bytes of a page's head, before the sizes of its pieces
	oggJoined = 1  // flags of a page: it begins within a packet
	oggFirst  = 2
	oggLast   = 4
)

// oggSums()[k] are the checksums of single bytes that k bytes follow: of 32 bits, the highest first, by 0x04c11db7.
var oggSums = sync.OnceValue(func() *[8][256]uint32 {
	var sums [8][256]uint32
	for i := range 256 {
		x := uint32(i) << 24
		for range 8 {
			x = x<<1 ^ uint32(int32(x)>>31)&0x04c11db7
		}
		sums[0][i] = x
	}
	for k := range 7 {
		for i, x := range sums[k] {
			sums[k+1][i] = x<<8 ^ sums[0][x>>24]
		}
	}
	return &sums
})

// oggSum is the checksum of what sum is of, and b.
func oggSum(sum uint32, b []byte) uint32 {
	sums := oggSums()
	for ; len(b) >= 8; b = b[8:] {
		x, y := sum^binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		sum = sums[7][x>>24] ^ sums[6][x>>16&255] ^ sums[5][x>>8&255] ^ sums[4][x&255] ^
			sums[3][y>>24] ^ sums[2][y>>16&255] ^ sums[1][y>>8&255] ^ sums[0][y&255]
	}
	for _, x := range b {
		sum = sum<<8 ^ sums[0][byte(sum>>24)^x]
	}
	return sum
}

// oggPage is one page of a stream.
type oggPage struct {
	flags  byte
	end    int64  // the samples up to where its last packet ends
	stream uint32 // its number
	number uint32 // of the page
	pieces []byte // the sizes of its pieces; less than 255 ends a packet
	body   []byte
	at     int64 // where the body begins
}

// oggStream is a file of one stream, page by page.
type oggStream struct {
	pieces *pieces
	at     int64 // where the next page begins
	first  oggPage
	number uint32 // of the next page
	ended  bool
}

// next is the next page, whose bytes are there until the next call.
func (o *oggStream) next() (oggPage, error) {
	if o.at >= o.pieces.size {
		return oggPage{}, oddOpus(CauseTruncated, "the file has no last page")
	}
	g, err := o.pieces.page(o.at)
	if err == nil {
		err = o.pieces.inTime()
	}
	if err != nil {
		return g, err
	}
	if o.at == 0 {
		o.first, o.number = g, g.number
	}
	if g.stream != o.first.stream || g.number != o.number || (g.flags&oggFirst != 0) != (o.at == 0) {
		return g, oddOpus(CauseUnsupported, "the page at byte %d is not the next of its stream", o.at)
	}
	o.number++
	o.at = g.at + int64(len(g.body))
	o.ended = g.flags&oggLast != 0
	return g, nil
}

// page reads the page at byte `at`.
func (p *pieces) page(at int64) (oggPage, error) {
	b, err := p.at(at, oggHead)
	if err != nil {
		return oggPage{}, err
	}
	if left := p.size - at; left > 0 && left < 5 && strings.HasPrefix(oggMark, string(b[:left])) {
		return oggPage{}, oddOpus(CauseTruncated, "the file ends in the page at byte %d", at)
	}
	if string(b[:5]) != oggMark {
		return oggPage{}, oddOpus(CauseCorrupt, "no page at byte %d", at)
	}
	head := oggHead + int(b[26])
	if b, err = p.at(at, head); err != nil {
		return oggPage{}, err
	}
	size := head
	for _, n := range b[oggHead:] {
		size += int(n)
	}
	if int64(size) > p.size-at {
		return oggPage{}, oddOpus(CauseTruncated, "the file ends in the page at byte %d", at)
	}
	if b, err = p.at(at, size); err != nil {
		return oggPage{}, err
	}
	if oggSum(oggSum(oggSum(0, b[:22]), make([]byte, 4)), b[26:]) != binary.LittleEndian.Uint32(b[22:]) {
		return oggPage{}, oddOpus(CauseCorrupt, "the page at byte %d has another checksum", at)
	}
	return oggPage{flags: b[5], end: int64(binary.LittleEndian.Uint64(b[6:])), stream: binary.LittleEndian.Uint32(b[14:]),
		number: binary.LittleEndian.Uint32(b[18:]), pieces: b[oggHead:head], body: b[head:], at: at + int64(head)}, nil
}

// ends reports whether a packet ends with the page, or nothing is on it.
func (g *oggPage) ends() bool { return len(g.pieces) == 0 || g.pieces[len(g.pieces)-1] < 255 }

// packet takes the next packet, or what the page has of it; there is none: nil.
func (g *oggPage) packet() (b []byte, whole bool) {
	size, n := 0, 0
	for n < len(g.pieces) && !whole {
		size, whole = size+int(g.pieces[n]), g.pieces[n] < 255
		n++
	}
	if n == 0 {
		return nil, false
	}
	b = g.body[:size]
	g.pieces, g.body = g.pieces[n:], g.body[size:]
	return b, whole
}

// checkPages refuses a file that ends in a page, which FFmpeg leaves out in silence, and one in which other streams begin behind the first ones: FFmpeg goes
// on with the decoder, and the gain, of those.
func (p *pieces) checkPages() error {
	begun := false // a page that begins no stream was there
	page, at := int64(0), int64(0)
	for at+oggHead <= p.size {
		page = at
		b, err := p.at(at, oggHead)
		if err == nil {
			err = p.inTime()
		}
		if err != nil {
			return err
		}
		if string(b[:5]) != oggMark {
			return nil
		}
		first, head := b[5]&oggFirst != 0, oggHead+int(b[26])
		if first && begun {
			return &Error{Format: "ogg", cause: CauseUnsupported, Detail: fmt.Sprintf("another stream begins at byte %d, behind the first one; split the file", at)}
		}
		begun = begun || !first
		if b, err = p.at(at, head); err != nil {
			return err
		}
		at += int64(head)
		for _, n := range b[oggHead:] {
			at += int64(n)
		}
	}
	if at < p.size {
		page = at
	}
	if _, err := p.page(page); hasCause(err, CauseTruncated) {
		return err
	}
	return nil
}
