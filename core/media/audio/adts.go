package audio

import "encoding/binary"

// isADTS reports whether a frame of AAC in ADTS may begin like this.
func isADTS(head []byte) bool {
	return len(head) >= adtsHead && head[0] == 0xff && head[1]&0xf6 == 0xf0
}

const (
	adtsHead = 7 // bytes, and two of a checksum where there is one
	// adtsFixed is what all frames' headers share: all but what is about copies, and how long a frame is.
	adtsFixed = 0xfffffdc0
)

// adtsSize is the frame's size in bytes, and that of its header.
func adtsSize(b []byte) (frame, head int) {
	head = adtsHead
	if b[1]&1 == 0 {
		head += 2
	}
	return int(b[3]&3)<<11 | int(b[4])<<3 | int(b[5])>>5, head
}

// readADTS finds the packets of a file whose first frame begins at byte first. What is not as encoders write it is an error.
func (s *aacStream) readADTS(p *pieces, first int64) error {
	kind := uint32(0)
	for at := first; at < p.size; {
		b, err := p.at(at, adtsHead)
		if err == nil {
			err = p.inTime()
		}
		if err != nil {
			return err
		}
		if p.size-at == 128 && string(b[:3]) == "TAG" && at > first { // ID3v1
			break
		}
		if !isADTS(b) {
			return oddAAC(CauseCorrupt, "no frame at byte %d", at)
		}
		fixed := binary.BigEndian.Uint32(b) & adtsFixed
		if at == first {
			kind = fixed
			s.rate, s.channels = int(b[2]>>2&15), int(b[2]&1)<<2|int(b[3]>>6)
		}
		size, head := adtsSize(b)
		switch {
		case fixed != kind:
			return oddAAC(CauseUnsupported, "the frame at byte %d is of another kind than the first", at)
		case b[2]>>6 != 1 || b[6]&3 != 0:
			return oddAAC(CauseUnsupported, "the frame at byte %d is no single block of low complexity", at)
		case size < head+aacLeast:
			return oddAAC(CauseCorrupt, "the frame at byte %d has %d bytes", at, size)
		case int64(size) > p.size-at:
			return oddAAC(CauseTruncated, "the file ends in the frame at byte %d", at)
		}
		if len(s.at) == aacPackets {
			return oddAAC(CauseUnsupported, "more than 2^22 frames")
		}
		s.at, s.bytes = append(s.at, at+int64(head)), append(s.bytes, int32(size-head))
		at += int64(size)
	}
	s.total = int64(len(s.at)) * aacFrame
	return nil
}
