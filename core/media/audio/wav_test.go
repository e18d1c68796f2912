package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

func extensible(tag, valid, bits int, guid string, data []byte) []byte {
	b := wavBytes(tagExtensible, 1, 8000, bits, data)
	ext := bytesAs([]uint16{22, uint16(valid)})
	ext = append(ext, 4, 0, 0, 0, byte(tag), byte(tag>>8))
	ext = append(ext, guid...)
	out := append(append(append([]byte{}, b[:36]...), ext...), b[36:]...)
	binary.LittleEndian.PutUint32(out[16:], 40)
	return out
}

func rf64(id string, chunk, size uint64, data []byte) []byte {
	b := wavBytes(1, 1, 8000, 16, data)
	ds64 := append([]byte("ds64\x1c\x00\x00\x00"), bytesAs([]uint64{0, size, chunk})...)
	ds64 = append(ds64, 0, 0, 0, 0)
	out := append(append(append([]byte{}, b[:12]...), ds64...), b[12:]...)
	copy(out, id)
	copy(out[len(out)-len(data)-4:], "\xff\xff\xff\xff")
	return out
}

// Every header that says where PCM lies is understood: extensible ones, RF64, streamed sizes, chunks before the data.
func TestHeadersThatAreRead(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6}
	plain := wavBytes(1, 1, 8000, 16, data)
	odd := append(append(append([]byte{}, plain[:12]...), "LIST\x03\x00\x00\x00abc\x00"...), plain[12:]...)
	streamed := append([]byte{}, plain...)
	copy(streamed[40:], "\xff\xff\xff\xff")
	piped := func(size uint32) []byte {
		b := append([]byte{}, plain...)
		binary.LittleEndian.PutUint32(b[40:], size)
		return b
	}
	twelve := append([]byte{}, plain...)
	twelve[34] = 12
	for name, c := range map[string]struct {
		file   []byte
		enc    Encoding
		frames int64
	}{
		"plain":                 {plain, S16, 3},
		"odd chunk before":      {odd, S16, 3},
		"bytes after the data":  {append(append([]byte{}, plain...), "LIST\x04\x00\x00\x00abcd"...), S16, 3},
		"half a frame more":     {wavBytes(1, 1, 8000, 16, append(data, 7)), S16, 3},
		"streamed":              {streamed, S16, 3},
		"piped by sox":          {piped(0x7ffff000), S16, 3},
		"sox, whole frames":     {piped(0x7fffeffe), S16, 3},
		"piped by opusdec":      {piped(0x7fffffff), S16, 3},
		"piped, 2 GiB":          {piped(0x80000000), S16, 3},
		"piped, nearly all":     {piped(0xffffff00), S16, 3},
		"piped by flac":         {piped(0), S16, 3},
		"extensible":            {extensible(1, 16, 16, guidRest, data), S16, 3},
		"extensible, 20 of 24":  {extensible(1, 20, 24, guidRest, data), S24, 2},
		"extensible float":      {extensible(3, 32, 32, guidRest, data[:4]), F32, 1},
		"12 bits in two bytes":  {twelve, S16, 3},
		"RF64":                  {rf64("RF64", 0, 4, data), S16, 2},
		"BW64":                  {rf64("BW64", 0, 6, data), S16, 3},
		"RF64 without its size": {rf64("RF64", 0, 0, data), S16, 3},
	} {
		pcm, err := ParseWAV(bytes.NewReader(c.file), int64(len(c.file)))
		if err != nil || pcm.Encoding != c.enc || pcm.Frames != c.frames || pcm.Rate != 8000 || pcm.Channels != 1 {
			t.Errorf("%s: %+v, %v", name, pcm, err)
		}
		if err == nil && !bytes.Equal(c.file[pcm.Offset:][:4], data[:4]) {
			t.Errorf("%s: the data begin at %d", name, pcm.Offset)
		}
	}
}

// Headers that lie, stop or ask for what is not read here are refused by cause.
func TestHeadersThatAreRefused(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6}
	plain := wavBytes(1, 1, 8000, 16, data)
	with := func(at int, b ...byte) []byte {
		f := append([]byte{}, plain...)
		copy(f[at:], b)
		return f
	}
	chunks := append([]byte{}, plain[:12]...)
	for range maxChunks + 1 {
		chunks = append(chunks, "junk\x00\x00\x00\x00"...)
	}
	for name, c := range map[string]struct {
		file  []byte
		cause string
	}{
		"another format":           {[]byte("OggS, and some more bytes"), CauseNotAudio},
		"no header":                {plain[:11], CauseTruncated},
		"cut in the fmt chunk":     {plain[:30], CauseTruncated},
		"cut before the data":      {plain[:36], CauseTruncated},
		"cut in the data":          {plain[:46], CauseTruncated},
		"data size past the end":   {with(40, 255, 255, 255, 126), CauseTruncated},
		"nearly 4 GiB":             {with(40, 0, 254, 255, 255), CauseTruncated},
		"more than 2 GiB":          {with(40, 1, 0, 0, 128), CauseTruncated},
		"no data, but a chunk":     {slices.Concat(wavBytes(1, 1, 8000, 16, nil), []byte("LIST\x03\x00\x00\x00abc\x00")), CauseNoFrames},
		"streamed, no data":        {with(40, 0, 240, 255, 127)[:44], CauseNoFrames},
		"RF64 size past the end":   {rf64("RF64", 0, 1<<62, data), CauseTruncated},
		"RF64 size of all bits":    {rf64("RF64", 0, 1<<64-1, data), CauseTruncated},
		"chunk size past the end":  {with(16, 255, 255, 255, 255), CauseTruncated},
		"no frames":                {wavBytes(1, 1, 8000, 16, nil), CauseNoFrames},
		"half a frame":             {wavBytes(1, 1, 8000, 16, data[:1]), CauseNoFrames},
		"no channels":              {with(22, 0), CauseCorrupt},
		"too many channels":        {with(22, 0, 200), CauseCorrupt},
		"no rate":                  {with(24, 0, 0, 0, 0), CauseCorrupt},
		"a rate beyond all":        {with(24, 0, 0, 0, 255), CauseCorrupt},
		"block of another size":    {with(32, 3), CauseCorrupt},
		"short fmt chunk":          {with(16, 15), CauseCorrupt},
		"data before fmt":          {append(append([]byte{}, plain[:12]...), plain[36:]...), CauseCorrupt},
		"endless chunks":           {chunks, CauseCorrupt},
		"ADPCM":                    {with(20, 2), CauseUnsupported},
		"64-bit integers":          {with(34, 64), CauseUnsupported},
		"0 bits":                   {with(34, 0), CauseUnsupported},
		"16-bit float":             {with(20, 3), CauseUnsupported},
		"extensible of another id": {extensible(1, 16, 16, "another guid..", data), CauseUnsupported},
		"short extensible":         {with(20, 0xfe, 0xff), CauseCorrupt},
	} {
		_, err := ParseWAV(bytes.NewReader(c.file), int64(len(c.file)))
		var e *Error
		if !errors.As(err, &e) || e.Cause() != c.cause {
			t.Errorf("%s: got %v, want cause %s", name, err, c.cause)
		}
	}
}

// Whatever the bytes, the parser ends, and what it returns lies inside the file. The header says the same.
func FuzzWAV(f *testing.F) {
	data := []byte{1, 2, 3, 4, 5, 6}
	f.Add(wavBytes(1, 1, 8000, 16, data))
	f.Add(extensible(1, 20, 24, guidRest, data))
	f.Add(rf64("RF64", 0, 4, data))
	f.Fuzz(func(t *testing.T, b []byte) {
		pcm, err := ParseWAV(bytes.NewReader(b), int64(len(b)))
		said, wrong := ReadWAVHeader(bytes.NewReader(b), int64(len(b)))
		for _, err := range []error{err, wrong} {
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Cause() == "" || e.Cause() == CauseRead) {
				t.Fatalf("an error without a cause: %v", err)
			}
		}
		if err != nil {
			return
		}
		if wrong != nil || said.Frames != pcm.Frames || said.Rate != pcm.Rate || said.Channels != pcm.Channels || said.Encoding != pcm.Encoding.String() {
			t.Fatalf("the header is %+v (%v), the samples %+v", said, wrong, pcm)
		}
		end := pcm.Offset + pcm.Frames*int64(pcm.FrameBytes())
		if !pcm.Encoding.Valid() || pcm.Frames < 1 || pcm.Offset < 12 || end > int64(len(b)) || end < pcm.Offset {
			t.Fatalf("%+v of %d bytes", pcm, len(b))
		}
	})
}
