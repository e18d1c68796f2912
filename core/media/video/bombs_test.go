//go:build !noffmpeg

package video

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/tests/damage"
)

func box(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), kind...), body...)
}

func words(v ...uint32) []byte {
	var b []byte
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// claim is an MP4 of one MPEG-4 picture track, whose tables say more than there is.
type claim struct {
	samples, size uint32 // of one size each
	run           uint32 // samples of a fragment
	edits         uint32 // that show the whole track
	sound         bool
	hidden        bool   // the table of sizes stands in the description of the codec
	inside        []byte // the description of the codec, behind what belongs there
	data          int    // bytes
}

func (c claim) file() []byte {
	matrix := words(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	kind, entry, head := "vide", box("mp4v", make([]byte, 6), []byte{0, 1}, make([]byte, 16), []byte{0, 16, 0, 16}, words(0x480000, 0x480000, 0), []byte{0, 1},
		make([]byte, 32), []byte{0, 24, 255, 255}), box("vmhd", words(1, 0, 0))
	if c.sound {
		kind, head = "soun", box("smhd", words(0, 0))
		entry = box("sowt", make([]byte, 6), []byte{0, 1}, make([]byte, 8), []byte{0, 1, 0, 16}, words(0, 44100<<16))
	}
	sizes := box("stsz", words(0, c.size, c.samples))
	if c.inside != nil {
		entry = box(string(entry[4:8]), entry[8:], c.inside)
	}
	if c.hidden {
		entry = box("mp4v", entry[8:], sizes)
		sizes = nil
	}
	table := func(at uint32) []byte {
		return box("stbl", box("stsd", words(0, 1), entry), box("stts", words(0, 1, c.samples, 1)), box("stsc", words(0, 1, 1, c.samples, 1)), sizes, box("stco", words(0, 1, at)))
	}
	edits := words(0, c.edits)
	for range c.edits {
		edits = append(edits, words(c.samples, 0, 0x10000)...)
	}
	head = box("minf", head, box("dinf", box("dref", words(0, 1), box("url ", words(1)))))
	moov := func(at uint32) []byte {
		media := box("mdia", box("mdhd", words(0, 0, 0, 1000, 1000, 0x55c40000)), box("hdlr", words(0, 0), []byte(kind), make([]byte, 13)), box("minf", head[8:], table(at)))
		track := box("trak", box("tkhd", words(3, 0, 0, 1, 0, 1000, 0, 0, 0x10000, 0), matrix, words(16<<16, 16<<16)), box("edts", box("elst", edits)), media)
		return box("moov", box("mvhd", words(0, 0, 0, 1000, 1000, 0x10000, 0x1000000, 0, 0), matrix, make([]byte, 24), words(2)), track,
			box("mvex", box("trex", words(0, 1, 1, 1, c.size, 0))))
	}
	file := box("ftyp", []byte("isom"), words(512), []byte("isommp41"))
	file = append(file, moov(uint32(len(file)+len(moov(0))+8))...)
	if c.run > 0 {
		file = append(file, box("moof", box("mfhd", words(0, 1)), box("traf", box("tfhd", words(0x20000, 1)), box("trun", words(1, c.run, 100))))...)
	}
	return append(file, box("mdat", make([]byte, c.data))...)
}

// What a small file counts costs no memory: tables of samples and of edits that FFmpeg would make gigabytes of are refused by name.
func TestCountsOfSmallFilesTakeNoMemory(t *testing.T) {
	const allowed = 48 << 20
	for name, c := range map[string]claim{
		"samples":                         {samples: 80e6, size: 1, data: 64},
		"as many samples as can be":       {samples: 1<<32 - 1, size: 1, data: 64},
		"samples of no bytes":             {samples: 80e6, size: 1 << 31, data: 64},
		"samples, counted in their codec": {samples: 80e6, size: 1, hidden: true, data: 64},
		"a fragment's":                    {run: 80e6, size: 1, data: 64},
		"edits":                           {samples: 10000, size: 1, edits: 10000, data: 10000},
		"pieces of a sound":               {samples: 1<<32 - 1, size: 1, sound: true, data: 64},
	} {
		file := c.file()
		var err error
		peak := damage.PeakBytes(t, func() { _, err = decode(t, small(), Source{Bytes: file}, Draw{}) })
		t.Logf("%s, %d KiB: %.1f MiB, %v", name, len(file)>>10, float64(peak)/(1<<20), err)
		if causeOf(err) != av.CauseTooMuch || peak > allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want cause %q and at most %d", name, err, peak>>20, av.CauseTooMuch, allowed>>20)
		}
	}
}

// Counts that the file's bytes could bear are FFmpeg's to judge: no count of a file that is right is refused.
func TestCountsThatCanBeAreNotRefused(t *testing.T) {
	for name, c := range map[string]claim{
		"samples":                 {samples: 1 << 16, size: 1, data: 1 << 16},
		"fewer than a million":    {samples: 1 << 20, size: 1, data: 64},
		"edits":                   {samples: 1000, size: 1, edits: 20, data: 1000},
		"a sound's, of two bytes": {samples: 1 << 22, size: 1, sound: true, data: 1 << 23},
	} {
		if _, err := decode(t, small(), Source{Bytes: c.file()}, Draw{}); causeOf(err) == av.CauseTooMuch {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tables of chunks that seem to begin everywhere in a codec's description are not counted each: it would take hours, for 8 MB.
func TestTablesWithinTablesAreNotCounted(t *testing.T) {
	c := claim{samples: 1 << 16, size: 1, sound: true, inside: bytes.Repeat([]byte("stsc"), 2<<20), data: 1 << 17}
	if _, err := decode(t, small(), Source{Bytes: c.file()}, Draw{}); causeOf(err) != av.CauseTooMuch {
		t.Errorf("got %v, want cause %q", err, av.CauseTooMuch)
	}
}

// element is one of Matroska's.
func element(id uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	head := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, id), "\x00")
	return append(binary.BigEndian.AppendUint64(head, 1<<56|uint64(len(body))), body...)
}

// indexed is a Matroska of one black picture with an index of these times, behind its head, or at its end with a list that says where.
func indexed(behind bool, times ...uint32) []byte {
	var points []byte
	for _, at := range times {
		points = append(points, element(0xbb, element(0xb3, words(at)), element(0xb7, element(0xf7, []byte{1}), element(0xf1, words(0))))...)
	}
	cues := element(0x1c53bb6b, points)
	track := element(0xae, element(0xd7, []byte{1}), element(0x73c5, []byte{1}), element(0x83, []byte{1}), element(0x86, []byte("V_UNCOMPRESSED")),
		element(0xe0, element(0xb0, []byte{16}), element(0xba, []byte{16}), element(0x2eb524, []byte("I420"))))
	rest := append(element(0x1549a966, element(0x2ad7b1, words(1000000))), element(0x1654ae6b, track)...)
	cluster := element(0x1f43b675, element(0xe7, []byte{0}), element(0xa3, []byte{0x81, 0, 0, 0x80}, make([]byte, 16*16*3/2)))
	if !behind {
		return append(element(0x1a45dfa3, element(0x4282, []byte("matroska"))), element(0x18538067, rest, cues, cluster)...)
	}
	list := func(at int) []byte {
		return element(0x114d9b74, element(0x4dbb, element(0x53ab, words(0x1c53bb6b)), element(0x53ac, words(uint32(at)))))
	}
	at := len(list(0)) + len(rest) + len(cluster)
	return append(element(0x1a45dfa3, element(0x4282, []byte("matroska"))), element(0x18538067, list(at), rest, cluster, cues)...)
}

// FFmpeg sorts an index that runs backwards at length, and looks at no clock: such a one is refused by name, and one in which some places do is not.
func TestIndexesThatRunBackwardsAreNotSorted(t *testing.T) {
	var back, some []uint32
	for i := range uint32(200000) {
		back, some = append(back, 200000-i), append(some, i^1)
	}
	for _, behind := range []bool{false, true} {
		_, err := decode(t, small(), Source{Bytes: indexed(behind, back...)}, Draw{})
		if causeOf(err) != av.CauseTooMuch || !strings.Contains(err.Error(), "its index has 200000 places, 199999 of them before others") {
			t.Errorf("behind %v: got %v, want cause %q", behind, err, av.CauseTooMuch)
		}
		if _, err = decode(t, small(), Source{Bytes: indexed(behind, some[:4000]...)}, Draw{}); err != nil {
			t.Errorf("behind %v, of 2,000 pairs: %v", behind, err)
		}
	}
}

// A header that is packed cannot be looked at, and is refused by name.
func TestPackedHeadersAreRefused(t *testing.T) {
	file := append(box("moov", box("cmov", box("dcom", []byte("zlib")), box("cmvd", words(1<<30), make([]byte, 64)))), box("mdat", make([]byte, 64))...)
	if _, err := decode(t, small(), Source{Bytes: file}, Draw{}); causeOf(err) != av.CauseUnsupported {
		t.Errorf("got %v", err)
	}
}

// Pictures that are larger than the limit, or than the file can hold, take no memory for what is not there.
func TestGiantFramesOfSmallFilesTakeNoMemory(t *testing.T) {
	const allowed = 96 << 20
	for _, side := range []int{4000, 16000, 30000, 65535} {
		file := append([]byte(fmt.Sprintf("YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\nFRAME\n", side, side)), make([]byte, 4096)...)
		var err error
		peak := damage.PeakBytes(t, func() {
			_, err = decode(t, Config{Image: media.Config{Resize: media.Square(16)}, Select: small().Select}, Source{Bytes: file}, Draw{})
		})
		t.Logf("%d pixels a side: %.1f MiB, %v", side, float64(peak)/(1<<20), err)
		if causeOf(err) == "" || peak > allowed {
			t.Errorf("%d pixels a side: got %v with %d MiB of memory, want a cause and at most %d", side, err, peak>>20, allowed>>20)
		}
	}
}
