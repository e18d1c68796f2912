package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func big(v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.BigEndian, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			b = append(b, big(p)...)
		}
	}
	return b
}

// bigChunk is one of AIFF's, padded.
func bigChunk(id string, body ...any) []byte {
	b := join(body...)
	return join(id, uint32(len(b)), b, make([]byte, len(b)&1))
}

// w64Chunk is one of Wave64's, padded.
func w64Bytes(id string, body []byte) []byte {
	return join(id, w64Rest, bytesAs(uint64(24+len(body))), body, make([]byte, -len(body)&7))
}

func w64Of(chunks ...[]byte) []byte {
	body := bytes.Join(chunks, nil)
	return join(w64Riff, bytesAs(uint64(40+len(body))), "wave", w64Rest, body)
}

func aiffOf(kind string, chunks ...[]byte) []byte {
	body := bytes.Join(chunks, nil)
	return join("FORM", uint32(4+len(body)), kind, body)
}

// extended is a whole number in IEEE 754's 80 bits.
func extended(n int) []byte {
	exponent, mantissa := 16383+63, uint64(n)
	for mantissa > 0 && mantissa>>63 == 0 {
		exponent, mantissa = exponent-1, mantissa<<1
	}
	return join(uint16(exponent), mantissa)
}

func common(kind string, e Encoding, channels, rate, frames int) []byte {
	c := join(int16(channels), uint32(frames), int16(8*e.Bytes()), extended(rate))
	if kind != "" {
		c = join(c, kind, "\x00\x00")
	}
	return bigChunk("COMM", c)
}

func soundChunk(offset int, data []byte) []byte {
	return bigChunk("SSND", uint32(offset), uint32(0), make([]byte, offset), data)
}

func auBytes(code uint32, channels, rate int, size uint32, note string, data []byte) []byte {
	return join(".snd", []uint32{uint32(24 + len(note)), size, code, uint32(rate), uint32(channels)}, note, data)
}

func cafDesc(kind string, flags uint32, e Encoding, channels, rate int) []byte {
	bytes, bits := uint32(channels*e.Bytes()), uint32(8*e.Bytes())
	return join("desc", int64(32), float64(rate), kind, []uint32{flags, bytes, 1, uint32(channels), bits})
}

func cafOf(chunks ...[]byte) []byte { return join("caff\x00\x01\x00\x00", bytes.Join(chunks, nil)) }

func cafData(size int64, data []byte) []byte { return join("data", size, uint32(0), data) }

// kept is one way that a container has of keeping an encoding.
type kept struct {
	format, kind string
	encoding     Encoding
	file         func(channels, rate int, data []byte) []byte
}

// everyKind is all containers with all encodings that are read here.
func everyKind() []kept {
	var all []kept
	add := func(format, kind string, e Encoding, file func(int, int, []byte) []byte) {
		all = append(all, kept{format, kind, e, file})
	}
	for e, tag := range map[Encoding]int{U8: 1, S16: 1, S24: 1, S32: 1, F32: 3, F64: 3, ALaw: 6, MuLaw: 7} {
		wave := func(channels, rate int, data []byte) []byte { return wavBytes(tag, channels, rate, 8*e.Bytes(), data) }
		add("wav", fmt.Sprint("tag ", tag), e, wave)
		add("w64", fmt.Sprint("tag ", tag), e, func(channels, rate int, data []byte) []byte {
			return w64Of(w64Bytes("fmt ", wave(channels, rate, nil)[20:36]), w64Bytes("data", data))
		})
	}
	for kind, of := range map[string][]Encoding{
		"": bigIntegers[:], "NONE": bigIntegers[:], "twos": bigIntegers[:], "sowt": {S16}, "raw ": {U8}, "in24": {S24BE}, "in32": {S32BE},
		"fl32": {F32BE}, "FL32": {F32BE}, "fl64": {F64BE}, "FL64": {F64BE}, "ulaw": {MuLaw}, "ULAW": {MuLaw}, "alaw": {ALaw}, "ALAW": {ALaw},
	} {
		form := "AIFC"
		if kind == "" {
			form = "AIFF"
		}
		for _, e := range of {
			add("aiff", kind, e, func(channels, rate int, data []byte) []byte {
				return aiffOf(form, common(kind, e, channels, rate, len(data)/channels/e.Bytes()), soundChunk(0, data))
			})
		}
	}
	for code, e := range auEncodings {
		add("au", fmt.Sprint("code ", code), e, func(channels, rate int, data []byte) []byte {
			return auBytes(code, channels, rate, uint32(len(data)), "", data)
		})
	}
	for e, flags := range map[Encoding]uint32{S8: 0, S16BE: 0, S24BE: 0, S32BE: 0, S16: 2, S24: 2, S32: 2, F32BE: 1, F64BE: 1, F32: 3, F64: 3} {
		add("caf", "lpcm", e, func(channels, rate int, data []byte) []byte {
			return cafOf(cafDesc("lpcm", flags, e, channels, rate), cafData(int64(4+len(data)), data))
		})
	}
	for kind, e := range map[string]Encoding{"ulaw": MuLaw, "alaw": ALaw} {
		add("caf", kind, e, func(channels, rate int, data []byte) []byte {
			return cafOf(cafDesc(kind, 0, e, channels, rate), cafData(int64(4+len(data)), data))
		})
	}
	return all
}

// samplesOf is n reproducible samples as they are stored: of integers any bits, of floats numbers.
func samplesOf(e Encoding, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(e), 2))
	var b []byte
	for range n {
		v := 2*r.Float64() - 1
		switch e {
		case F32:
			b = append(b, bytesAs(float32(v))...)
		case F64:
			b = append(b, bytesAs(v)...)
		case F32BE:
			b = append(b, big(float32(v))...)
		case F64BE:
			b = append(b, big(v)...)
		default:
			for range e.Bytes() {
				b = append(b, byte(r.Uint32()))
			}
		}
	}
	return b
}

// valueOf is what one stored sample means.
func valueOf(e Encoding, b []byte) float32 {
	le, be := binary.LittleEndian, binary.BigEndian
	switch e {
	case U8:
		return float32(int(b[0])-128) / 128
	case S8:
		return float32(int8(b[0])) / 128
	case S16:
		return float32(int16(le.Uint16(b))) / (1 << 15)
	case S16BE:
		return float32(int16(be.Uint16(b))) / (1 << 15)
	case S24:
		return float32(int32(le.Uint32([]byte{0, b[0], b[1], b[2]}))) / (1 << 31)
	case S24BE:
		return float32(int32(be.Uint32([]byte{b[0], b[1], b[2], 0}))) / (1 << 31)
	case S32:
		return float32(int32(le.Uint32(b))) / (1 << 31)
	case S32BE:
		return float32(int32(be.Uint32(b))) / (1 << 31)
	case F32:
		return math.Float32frombits(le.Uint32(b))
	case F32BE:
		return math.Float32frombits(be.Uint32(b))
	case F64:
		return float32(math.Float64frombits(le.Uint64(b)))
	case F64BE:
		return float32(math.Float64frombits(be.Uint64(b)))
	}
	return lawOf(e, b[0])
}

// lawOf is G.711 by its segments: each is twice as coarse as the one below it.
func lawOf(e Encoding, b byte) float32 {
	var magnitude float64
	if e == MuLaw {
		b = ^b
		step := math.Exp2(float64(b>>4&7) + 3)
		magnitude = (float64(b&15)+16.5)*step - 132
	} else {
		b ^= 0x55
		segment := float64(b >> 4 & 7)
		magnitude = (float64(b&15) + 0.5) * 16
		if segment > 0 {
			magnitude = (float64(b&15) + 16.5) * math.Exp2(segment+3)
		}
	}
	if (e == MuLaw) == (b&0x80 != 0) {
		magnitude = -magnitude
	}
	return float32(magnitude / (1 << 15))
}

func (k kept) name(channels, frames int) string {
	return fmt.Sprintf("%s %s %v, %d frames of %d channels", k.format, k.kind, k.encoding, frames, channels)
}

// Every container that is read here gives every encoding's values, of one channel, two and six, whatever the number of bytes.
func TestEveryContainerGivesTheStoredValues(t *testing.T) {
	for _, k := range everyKind() {
		for _, channels := range []int{1, 2, 6} {
			for _, frames := range []int{1, 7, 8, 9, 37} {
				stored := samplesOf(k.encoding, frames*channels)
				want := make([]float32, frames*channels)
				for i := range want {
					want[i%channels*frames+i/channels] = valueOf(k.encoding, stored[i*k.encoding.Bytes():])
				}
				got, info := decoded(t, Config{Channels: channels, Length: frames}, Source{Bytes: k.file(channels, 11025, stored)}, Draw{})
				if info.Format != k.format || info.Rate != 11025 || info.Channels != channels || info.Frames != int64(frames) {
					t.Fatalf("%s: %+v", k.name(channels, frames), info)
				}
				for i := range want {
					if got[i] != want[i] {
						t.Fatalf("%s: value %d is %v, want %v", k.name(channels, frames), i, got[i], want[i])
					}
				}
			}
		}
	}
}

// All 256 codes of both laws are G.711's.
func TestLawsAreG711s(t *testing.T) {
	codes := make([]byte, 256)
	for i := range codes {
		codes[i] = byte(i)
	}
	for e, known := range map[Encoding]map[int]float32{
		MuLaw: {0x00: -32124, 0x7f: 0, 0x80: 32124, 0xff: 0, 0xf0: 120, 0x8f: 16764}, ALaw: {0x2a: -32256, 0xaa: 32256, 0xd5: 8, 0x55: -8, 0xc5: 264},
	} {
		got, _ := decoded(t, Config{Raw: &Raw{Encoding: e, Rate: 8000, Channels: 1}, Length: 256}, Source{Bytes: codes}, Draw{})
		for code, v := range got {
			if v != lawOf(e, byte(code)) {
				t.Errorf("%v %#x: got %v, want %v", e, code, v, lawOf(e, byte(code)))
			}
		}
		for code, v := range known {
			if got[code]*32768 != v {
				t.Errorf("%v %#x: got %v, want %v", e, code, got[code]*32768, v)
			}
		}
	}
}

// parsed is what a file's header says.
func parsed(file []byte) (PCM, error) {
	h := header{r: bytes.NewReader(file), size: int64(len(file))}
	c := containerOf(file[:min(len(file), headBytes)])
	if c == nil {
		return PCM{}, &Error{cause: CauseNotAudio}
	}
	h.format = c.name
	err := c.parse(&h)
	return h.pcm, err
}

// A file that ends anywhere before its samples do is truncated, or has too little to be told: never a shorter sound, nor another's.
func TestCutContainersAreTruncated(t *testing.T) {
	for _, k := range everyKind() {
		whole := k.file(2, 8000, samplesOf(k.encoding, 2*9))
		pcm, err := parsed(whole)
		if err != nil {
			t.Fatalf("%s: %v", k.name(2, 9), err)
		}
		for n := range pcm.Offset + pcm.Frames*int64(pcm.FrameBytes()) {
			_, err := parsed(whole[:n])
			var e *Error
			if !errors.As(err, &e) || e.cause != CauseTruncated && (e.cause != CauseNotAudio || n >= headBytes) {
				t.Fatalf("%s cut at byte %d of %d: got %v", k.name(2, 9), n, len(whole), err)
			}
		}
	}
}

var fourShorts = []byte{1, 2, 3, 4, 5, 6, 7, 8}

// odd is a file that is not plain, of 16-bit samples.
type odd struct {
	file   []byte
	frames int64
	ours   bool // FFmpeg refuses it
}

// oddContainers are what writers do: sizes that nobody knew, chunks in another order, odd ones, bytes before and behind.
func oddContainers() map[string]odd {
	data := fourShorts
	comm, sound := common("", S16BE, 1, 8000, 4), soundChunk(0, data)
	streamed := append(bigChunk("SSND", uint32(0), uint32(0)), data...)
	copy(streamed[4:], "\xff\xff\xff\xff")
	desc := cafDesc("lpcm", 0, S16BE, 1, 8000)
	format := w64Bytes("fmt ", wavBytes(1, 1, 8000, 16, nil)[20:36])
	piped := func(size uint64) []byte {
		b := w64Bytes("data", data)
		copy(b[16:], bytesAs(size))
		return w64Of(format, b)
	}
	twelve := common("", S16BE, 1, 8000, 4)
	twelve[8+7] = 12
	return map[string]odd{
		"AIFF, samples first":               {aiffOf("AIFF", sound, comm), 4, false},
		"AIFF, an odd chunk before":         {aiffOf("AIFF", comm, bigChunk("ANNO", "abc"), sound), 4, false},
		"AIFF, a chunk behind":              {aiffOf("AIFF", comm, sound, bigChunk("ANNO", "abcd")), 4, false},
		"AIFF, an offset":                   {aiffOf("AIFF", comm, soundChunk(6, data)), 4, false},
		"AIFF, size of all bits":            {aiffOf("AIFF", comm, streamed), 4, false},
		"AIFF, 12 bits in two bytes":        {aiffOf("AIFF", twelve, sound), 4, false},
		"AIFF, half a frame more":           {aiffOf("AIFF", comm, soundChunk(0, append(data[:7:7], 9, 9))), 4, true},
		"AIFF, COMM counts fewer":           {aiffOf("AIFF", common("", S16BE, 1, 8000, 2), sound), 4, false},
		"AIFF-C, with a version and a name": {aiffOf("AIFC", bigChunk("FVER", uint32(0xa2805140)), bigChunk("COMM", comm[8:], "sowt", "\x05abcde"), sound), 4, false},
		"AU, a note before":                 {auBytes(3, 1, 8000, 8, "a note..", data), 4, false},
		"AU, size of all bits":              {auBytes(3, 1, 8000, 0xffffffff, "", data), 4, false},
		"AU, no size":                       {auBytes(3, 1, 8000, 0, "", data), 4, false},
		"CAF, an odd chunk before":          {cafOf(desc, join("free", int64(3), "abc"), cafData(12, data)), 4, false},
		"CAF, a chunk behind":               {cafOf(desc, cafData(12, data), join("info", int64(4), "abcd")), 4, false},
		"CAF, size -1":                      {cafOf(desc, cafData(-1, data)), 4, false},
		"CAF, no size":                      {cafOf(desc, cafData(0, data)), 4, false},
		"Wave64, an odd chunk before":       {w64Of(w64Bytes("bext", []byte("abc")), format, w64Bytes("data", data)), 4, false},
		"Wave64, a chunk behind":            {w64Of(format, w64Bytes("data", data[:6]), w64Bytes("list", []byte("abcdefgh"))), 3, false},
		"Wave64, the largest size":          {piped(math.MaxInt64), 4, true},
		"Wave64, size of all bits":          {piped(math.MaxUint64), 4, true},
	}
}

// What writers do that is not plain is understood.
func TestContainersThatAreRead(t *testing.T) {
	for name, c := range oddContainers() {
		pcm, err := parsed(c.file)
		if err != nil || pcm.Encoding.Bytes() != 2 || pcm.Frames != c.frames || pcm.Rate != 8000 || pcm.Channels != 1 {
			t.Errorf("%s: %+v, %v", name, pcm, err)
		} else if !bytes.Equal(c.file[pcm.Offset:][:6], fourShorts[:6]) {
			t.Errorf("%s: the samples begin at %d", name, pcm.Offset)
		}
	}
}

// Headers that lie, contradict themselves or ask for what is not read here are refused by cause.
func TestContainersThatAreRefused(t *testing.T) {
	data := fourShorts
	comm, sound := common("", S16BE, 1, 8000, 4), soundChunk(0, data)
	desc := cafDesc("lpcm", 0, S16BE, 1, 8000)
	format := w64Bytes("fmt ", wavBytes(1, 1, 8000, 16, nil)[20:36])
	with := func(b []byte, at int, values ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], values)
		return b
	}
	many := func(one []byte) []byte { return bytes.Repeat(one, maxChunks+1) }
	au := auBytes(3, 1, 8000, 8, "", data)
	for name, c := range map[string]struct {
		file  []byte
		cause string
	}{
		"AIFF, no samples":                {aiffOf("AIFF", comm, soundChunk(0, nil)), CauseNoFrames},
		"AIFF, half a frame":              {aiffOf("AIFF", comm, soundChunk(0, data[:1])), CauseNoFrames},
		"AIFF, size 0":                    {aiffOf("AIFF", comm, with(sound, 4, 0, 0, 0, 0)), CauseNoFrames},
		"AIFF, size past the end":         {aiffOf("AIFF", comm, with(sound, 4, 0x7f, 0xff, 0xff, 0xff)), CauseTruncated},
		"AIFF, offset past its chunk":     {aiffOf("AIFF", comm, with(sound, 8, 0, 0, 0, 9)), CauseCorrupt},
		"AIFF, chunk size past the end":   {aiffOf("AIFF", with(bigChunk("ANNO", "ab"), 4, 0xff, 0xff, 0xff, 0xfe), comm, sound), CauseTruncated},
		"AIFF, samples alone":             {aiffOf("AIFF", sound), CauseTruncated},
		"AIFF, no channels":               {aiffOf("AIFF", common("", S16BE, 0, 8000, 4), sound), CauseCorrupt},
		"AIFF, too many channels":         {aiffOf("AIFF", common("", S16BE, 65, 8000, 4), sound), CauseCorrupt},
		"AIFF, no rate":                   {aiffOf("AIFF", common("", S16BE, 1, 0, 4), sound), CauseCorrupt},
		"AIFF, a negative rate":           {aiffOf("AIFF", with(comm, 16, 0xc0), sound), CauseCorrupt},
		"AIFF, a rate beyond all":         {aiffOf("AIFF", common("", S16BE, 1, MaxRate+1, 4), sound), CauseCorrupt},
		"AIFF, a rate of not a number":    {aiffOf("AIFF", with(comm, 16, 0x7f, 0xff), sound), CauseCorrupt},
		"AIFF, short COMM":                {aiffOf("AIFF", bigChunk("COMM", comm[8:24]), sound), CauseCorrupt},
		"AIFF, 0 bits":                    {aiffOf("AIFF", with(comm, 14, 0, 0), sound), CauseUnsupported},
		"AIFF, 33 bits":                   {aiffOf("AIFF", with(comm, 14, 0, 33), sound), CauseUnsupported},
		"AIFF-C, ADPCM":                   {aiffOf("AIFC", common("ima4", S16BE, 1, 8000, 4), sound), CauseUnsupported},
		"AIFF-C, sowt of 24 bits":         {aiffOf("AIFC", common("sowt", S24, 1, 8000, 2), sound), CauseUnsupported},
		"AIFF, endless chunks":            {aiffOf("AIFF", many(bigChunk("ANNO"))), CauseCorrupt},
		"AU, ADPCM":                       {with(au, 15, 23), CauseUnsupported},
		"AU, a header of 20 bytes":        {with(au, 7, 20), CauseUnsupported},
		"AU, more than its size":          {with(au, 11, 6), CauseUnsupported},
		"AU, size past the end":           {with(au, 11, 10), CauseTruncated},
		"AU, header past the end":         {with(au, 4, 1), CauseTruncated},
		"AU, no samples":                  {auBytes(3, 1, 8000, 0, "", nil), CauseNoFrames},
		"AU, no channels":                 {with(au, 23, 0), CauseCorrupt},
		"AU, no rate":                     {with(au, 16, 0, 0, 0, 0), CauseCorrupt},
		"CAF, no samples":                 {cafOf(desc, cafData(4, nil)), CauseNoFrames},
		"CAF, size past the end":          {cafOf(desc, cafData(13, data)), CauseTruncated},
		"CAF, size -2":                    {cafOf(desc, cafData(-2, data)), CauseTruncated},
		"CAF, size 3":                     {cafOf(desc, cafData(3, data)), CauseCorrupt},
		"CAF, chunk size -1":              {cafOf(desc, join("free", int64(-1)), cafData(12, data)), CauseTruncated},
		"CAF, data before desc":           {cafOf(cafData(12, data), desc), CauseCorrupt},
		"CAF, short desc":                 {cafOf(with(desc, 4, 0, 0, 0, 0, 0, 0, 0, 31), cafData(12, data)), CauseCorrupt},
		"CAF, no channels":                {cafOf(cafDesc("lpcm", 0, S16BE, 0, 8000), cafData(12, data)), CauseCorrupt},
		"CAF, a rate of not a number":     {cafOf(with(desc, 12, 0x7f, 0xff), cafData(12, data)), CauseUnsupported},
		"CAF, half a Hertz":               {cafOf(with(desc, 19, 1), cafData(12, data)), CauseUnsupported},
		"CAF, an endless rate":            {cafOf(with(desc, 12, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0), cafData(12, data)), CauseCorrupt},
		"CAF, 24 bits in four bytes":      {cafOf(with(desc, 12+8+4+4+3, 4), cafData(12, data)), CauseUnsupported},
		"CAF, packets of two frames":      {cafOf(with(desc, 12+8+4+4+4+3, 2), cafData(12, data)), CauseUnsupported},
		"CAF, AAC":                        {cafOf(cafDesc("aac ", 0, S16BE, 1, 8000), cafData(12, data)), CauseUnsupported},
		"CAF, flags of another kind":      {cafOf(cafDesc("lpcm", 4, S16BE, 1, 8000), cafData(12, data)), CauseUnsupported},
		"CAF, a float of 16 bits":         {cafOf(cafDesc("lpcm", 1, S16BE, 1, 8000), cafData(12, data)), CauseUnsupported},
		"Wave64, a size below its head":   {w64Of(with(format, 16, 23)), CauseCorrupt},
		"Wave64, data before fmt":         {w64Of(w64Bytes("data", data), format), CauseCorrupt},
		"Wave64, no samples":              {w64Of(format, w64Bytes("data", nil)), CauseNoFrames},
		"Wave64, size past the end":       {w64Of(format, with(w64Bytes("data", data), 16, 33)), CauseTruncated},
		"Wave64, chunk past the end":      {w64Of(with(w64Bytes("bext", data), 20, 1), format), CauseTruncated},
		"Wave64, size of nearly all bits": {w64Of(with(w64Bytes("bext", data), 16, 0xfe, 255, 255, 255, 255, 255, 255, 255), format), CauseTruncated},
		"Wave64, ADPCM":                   {w64Of(with(format, 24, 2), w64Bytes("data", data)), CauseUnsupported},
	} {
		_, err := parsed(c.file)
		var e *Error
		if !errors.As(err, &e) || e.Cause() != c.cause {
			t.Errorf("%s: got %v, want cause %s", name, err, c.cause)
		}
	}
}

// Probe tells FFmpeg's name of each encoding and the exact length.
func TestProbeOfContainersIsExact(t *testing.T) {
	for _, k := range everyKind() {
		got, err := Probe(Source{Bytes: k.file(2, 8000, samplesOf(k.encoding, 2*400))})
		if want := (Stream{k.format, encodings[k.encoding].codec, 8000, 2, 400, 0.05, 0}); err != nil || got != want {
			t.Errorf("%s: got %+v, want %+v: %v", k.name(2, 400), got, want, err)
		}
	}
}

// Windows and crops of every container are parts of the whole, from a file as from memory.
func TestWindowsOfContainersAreParts(t *testing.T) {
	for _, k := range everyKind() {
		file := k.file(2, 1000, samplesOf(k.encoding, 2*500))
		path := t.TempDir() + "/a"
		writeFile(t, path, file)
		whole, _ := decoded(t, Config{Channels: 2, Length: 500}, Source{Bytes: file}, Draw{})
		for _, src := range []Source{{Bytes: file}, {Path: path}, {File: placed(t, file)}, {File: distant(t, file)}} {
			got, _ := decoded(t, Config{Select: []int{1}, Length: 50, Crop: CropCentre, Window: Window{Start: 0.1, Duration: 0.2}}, src, Draw{})
			compare(t, got, whole[500+175:500+225], 0)
		}
	}
}

// Once its buffers have grown, a worker makes a row of any container without a Go allocation.
func TestRowsOfContainersAllocateNothing(t *testing.T) {
	op, err := Compile(Config{Channels: 1, Length: 4000})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := op.NewWorker()
	defer w.Close()
	row := Row{Data: make([]byte, op.RowBytes())}
	for _, k := range everyKind() {
		src := Source{Bytes: k.file(2, 8000, samplesOf(k.encoding, 2*4000))}
		if n := testing.AllocsPerRun(5, func() { w.Decode(row, src, Draw{}) }); n != 0 {
			t.Errorf("%s: %v allocations", k.name(2, 4000), n)
		}
	}
}

// Whatever the bytes, the parsers end, and what they return lies inside the file.
func FuzzContainers(f *testing.F) {
	for _, k := range everyKind() {
		f.Add(k.file(2, 8000, samplesOf(k.encoding, 6)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		pcm, err := parsed(b)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Cause() == "" || e.Cause() == CauseRead {
				t.Fatalf("an error without a cause: %v", err)
			}
			return
		}
		end := pcm.Offset + pcm.Frames*int64(pcm.FrameBytes())
		if !pcm.Encoding.Valid() || pcm.Frames < 1 || pcm.Offset < 12 || end > int64(len(b)) || end < pcm.Offset {
			t.Fatalf("%+v of %d bytes", pcm, len(b))
		}
	})
}
