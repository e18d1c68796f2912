package audio

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// opusKind is what all packets of a stream share: how wide they are, from 0 (narrow) to 3 (full), 4 being all of these in turn, and their channels.
type opusKind struct{ width, channels int }

func (k opusKind) toc(frames byte) byte {
	return byte(16+4*min(k.width, 3)+3)<<3 | byte(k.channels-1)<<2 | frames
}

// drawnOpus is n packets of random bytes: there is nothing that these do not say, now and then; silence, which is rare, begins with 16 ones.
func drawnOpus(r *rand.Rand, k opusKind, n, most int) (packets [][]byte) {
	for i := range n {
		frame := make([]byte, 2+r.IntN(most-1))
		for j := range frame {
			frame[j] = byte(r.Uint32())
		}
		if r.IntN(12) == 0 {
			frame[0], frame[1] = 255, 255
		}
		here := k
		if k.width > 3 {
			here.width = i / 3 % 4
		}
		packets = append(packets, join(here.toc(0), frame))
	}
	return packets
}

// opusFile is how a stream lies in an Ogg.
type opusFile struct {
	skip   int
	lost   int  // samples at the end
	each   int  // packets on a page; 0: 50
	split  bool // packets that go on with the next page
	tags   int  // bytes of them
	gain   int
	family byte
	empty  bool // the last page has nothing
	pages  func(i int, g *opusPage)
}

// opusPage is a page that is about to be written.
type opusPage struct {
	flags  byte
	end    int64
	stream uint32
	number uint32
	pieces []byte
	body   []byte
}

func (g *opusPage) bytes() []byte {
	head := join("OggS", byte(0), g.flags, bytesAs(uint64(g.end)), bytesAs(g.stream), bytesAs(g.number), uint32(0), byte(len(g.pieces)), g.pieces, g.body)
	sum := uint32(0)
	for _, x := range head { // as RFC 3533 defines it, bit by bit
		sum ^= uint32(x) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	copy(head[22:], bytesAs(sum))
	return head
}

func opusSamples(packet []byte) int64 {
	if len(packet) == 0 {
		return 0
	}
	n := []int64{1, 2, 2, 0}[packet[0]&3]
	if n == 0 {
		n = int64(packet[1] & 63)
	}
	return n * opusFrame
}

func (k opusKind) ogg(packets [][]byte, f opusFile) (file []byte) {
	if f.each == 0 {
		f.each = 50
	}
	head := join("OpusHead", byte(1), byte(k.channels), bytesAs(uint16(f.skip)), bytesAs(uint32(48000)), bytesAs(uint16(f.gain)), f.family)
	if f.family != 0 {
		head = join(head, byte(1), byte(k.channels-1), byte(0), byte(1))
	}
	tags := join("OpusTags", bytesAs(uint32(f.tags)), make([]byte, f.tags), uint32(0))
	var pages []*opusPage
	g := &opusPage{}
	flush := func(flags byte) {
		g.flags |= flags
		pages = append(pages, g)
		g = &opusPage{end: g.end}
	}
	write := func(packet []byte) {
		for n := len(packet); ; n -= 255 {
			if len(g.pieces) == 255 || f.split && len(g.pieces) > 0 && n >= 255 && n < len(packet) && n < 600 {
				end := g.end
				if !slices.ContainsFunc(g.pieces, func(n byte) bool { return n < 255 }) {
					g.end = -1 // no packet ends here
				}
				flush(0)
				g.flags, g.end = oggJoined, end
			}
			size := min(n, 255)
			g.pieces = append(g.pieces, byte(size))
			g.body = append(g.body, packet[len(packet)-n:][:size]...)
			if size < 255 {
				return
			}
		}
	}
	write(head)
	flush(oggFirst)
	write(tags)
	flush(0)
	for i, p := range packets {
		write(p)
		g.end += opusSamples(p)
		if (i+1)%f.each == 0 && (i+1 < len(packets) || f.empty) {
			flush(0)
		}
	}
	g.end -= int64(f.lost)
	flush(oggLast)
	for i, g := range pages {
		g.stream, g.number = 0x1234567, uint32(i)
		if f.pages != nil {
			f.pages(i, g)
		}
		file = append(file, g.bytes()...)
	}
	return file
}

func opusKinds() (kinds []opusKind) {
	for width := range 5 {
		kinds = append(kinds, opusKind{width, 1}, opusKind{width, 2})
	}
	return kinds
}

var opusStereo = opusKind{3, 2}

// Windows of a sound are the same samples as the whole has there, bit for bit, wherever they begin; also where packets lie on two pages.
func TestWindowsOfOpusAreExact(t *testing.T) {
	for _, k := range opusKinds() {
		r := rand.New(rand.NewPCG(3, uint64(k.width)))
		data := k.ogg(drawnOpus(r, k, 30, 1275), opusFile{skip: 312, lost: 100, each: 7, split: true})
		for _, cfg := range []Config{{}, {Channels: 1}} {
			w := workerOf(t, cfg)
			whole, info, err := w.Wave(Source{Bytes: data}, Draw{})
			if err != nil || info.Frames != 30*960-412 || whole.Frames != int(info.Frames) || w.in.reading != asOpus || info.Rate != 48000 || info.Channels != k.channels {
				t.Fatalf("%v: %+v, %v", k, info, err)
			}
			windowsAreTheWholes(t, w, r, data, whole)
			w.Close()
		}
	}
}

// The mean of two channels is their mean, as they are decoded one by one; and a channel alone is what it is beside the other.
func TestChannelsOfOpus(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 10 {
		data := opusStereo.ogg(drawnOpus(r, opusStereo, 30, 400), opusFile{})
		if info := channelsAreTheirOwn(t, data); info.Frames != 30*960 || info.Channels != 2 || info.Rate != 48000 || info.Format != "ogg" {
			t.Fatalf("%+v", info)
		}
	}
}

// packed are packets of several frames each, as they can be put together.
func packed(k opusKind, frames [][]byte) (packets [][]byte) {
	length := func(n int) []byte {
		if n < 252 {
			return []byte{byte(n)}
		}
		return []byte{byte(252 + n%4), byte((n - 252 - n%4) / 4)}
	}
	bare := func(i int) []byte { return frames[i][1:] }
	return [][]byte{
		join(k.toc(1), bare(0), bare(0)), join(k.toc(2), length(len(bare(1))), bare(1), bare(2)),
		join(k.toc(3), byte(3), bare(3), bare(3), bare(3)),                                                            // alike
		join(k.toc(3), byte(128|3), length(len(bare(4))), length(len(bare(5))), bare(4), bare(5), bare(6)),            // of their own sizes
		join(k.toc(3), byte(64|1), byte(10), bare(7), make([]byte, 10)),                                               // filled up
		join(k.toc(3), byte(128|64|2), byte(255), byte(3), length(len(bare(8))), bare(8), bare(9), make([]byte, 257)), // by more than 254
		join(k.toc(3), byte(128|6), length(len(bare(10))), length(len(bare(11))), length(len(bare(12))), length(len(bare(13))), length(len(bare(14))), bare(10), bare(11), bare(12), bare(13), bare(14), bare(15)),
	}
}

// Packets of several frames are these frames.
func TestPacketsOfOpus(t *testing.T) {
	for _, k := range opusKinds() {
		if k.width > 3 { // frames of one packet are alike
			continue
		}
		frames := drawnOpus(rand.New(rand.NewPCG(5, uint64(k.width))), k, 16, 700)
		order := []int{0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
		var single [][]byte
		for _, i := range order {
			single = append(single, frames[i])
		}
		want, _ := wave(t, Config{}, k.ogg(single, opusFile{skip: 312}))
		for _, f := range []opusFile{{skip: 312}, {skip: 312, each: 1}, {skip: 312, each: 3, split: true, tags: 70000}, {skip: 312, each: 7, empty: true}} {
			got, info := wave(t, Config{}, k.ogg(packed(k, frames), f))
			if !slices.Equal(got, want) || info.Frames != int64(len(order))*960-312 {
				t.Fatalf("%v, %+v: other samples: %+v", k, f, info)
			}
		}
	}
}

// oddOpuses are files that encoders do not write, or that are not decoded here.
// A stream behind another one is refused by name, in every build: of music and of speech, with a number of its own or the same one.
func TestChainedOpusIsRefusedByName(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	music, gained := opusStereo.ogg(drawnOpus(r, opusStereo, 20, 300), opusFile{}), opusStereo.ogg(drawnOpus(r, opusStereo, 20, 300), opusFile{gain: 1000})
	speech := testdata(t, "opus.ogg")
	cfgs := []Config{{}}
	if haveFFmpeg {
		cfgs = append(cfgs, Config{Filter: "anull"})
	}
	for what, file := range map[string][]byte{
		"the same": slices.Concat(music, music), "another gain": slices.Concat(music, gained), "speech": slices.Concat(speech, speech), "speech behind": slices.Concat(music, speech),
	} {
		for _, cfg := range cfgs {
			w := workerOf(t, cfg)
			_, _, err := w.Wave(Source{Bytes: file}, Draw{})
			if !hasCause(err, CauseUnsupported) || haveFFmpeg && !strings.Contains(err.Error(), "another stream begins at byte") {
				t.Errorf("%s, %+v: %v", what, cfg, err)
			}
			w.Close()
		}
	}
}

func oddOpuses() map[string][]byte {
	r := rand.New(rand.NewPCG(6, 6))
	k := opusStereo
	packets := drawnOpus(r, k, 20, 300)
	with := func(i int, packet ...byte) [][]byte {
		changed := slices.Clone(packets)
		changed[i] = packet
		return changed
	}
	page := func(f func(i int, g *opusPage)) []byte { return k.ogg(packets, opusFile{each: 5, skip: 312, pages: f}) }
	speech := func(kind byte) []byte { return k.ogg(with(7, kind<<3|4, 1, 2, 3, 4, 5, 6, 7, 8, 9), opusFile{}) }
	sound := k.ogg(packets, opusFile{})
	return map[string][]byte{
		"speech": speech(8), "both": speech(15), "frames of 2.5 ms": speech(28), "frames of 10 ms": speech(30), "one channel": k.ogg(with(3, k.toc(0)&^4, 1, 2, 3), opusFile{}),
		"an empty packet": k.ogg(with(3), opusFile{}), "an empty frame": k.ogg(with(3, k.toc(0)), opusFile{}),
		"halves that are not": k.ogg(with(3, k.toc(1), 1, 2, 3, 4, 5), opusFile{}), "a frame longer than its packet": k.ogg(with(3, k.toc(2), 200, 1, 2, 3), opusFile{}),
		"no frames": k.ogg(with(3, k.toc(3), 0, 1, 2), opusFile{}), "too many frames": k.ogg(with(3, slices.Concat([]byte{k.toc(3), 7}, make([]byte, 21))...), opusFile{}),
		"nothing but filling": k.ogg(with(3, k.toc(3), 65, 200, 0, 0), opusFile{}), "a long frame": k.ogg(with(3, slices.Concat([]byte{k.toc(0)}, make([]byte, 1276))...), opusFile{}),
		"gain": k.ogg(packets, opusFile{gain: 256}), "family": k.ogg(packets, opusFile{family: 1}),
		"more than there are": page(func(i int, g *opusPage) { g.end += 100 * int64(i/5) }),
		"what comes before ends in a last packet that is cut": k.ogg(packets[:2], opusFile{skip: 1000, lost: 100}), "less than comes before": k.ogg(packets[:1], opusFile{skip: 312, lost: 700}),
		"fewer in the middle": page(func(i int, g *opusPage) { g.end -= 960 * int64(i%2) }),
		"a packet left out":   k.ogg(packets, opusFile{lost: 1000}), "a page left out": page(func(i int, g *opusPage) { g.number += uint32(i / 4) }),
		"another stream": page(func(i int, g *opusPage) { g.stream += uint32(i / 4) }), "two beginnings": page(func(i int, g *opusPage) {
			if i == 3 {
				g.flags |= oggFirst
			}
		}),
		"half a packet": page(func(i int, g *opusPage) {
			if i == 4 {
				g.flags |= oggJoined
			}
		}),
		"no end": page(func(_ int, g *opusPage) { g.flags &^= oggLast }), "more behind": slices.Concat(sound, sound), "noise behind": slices.Concat(sound, []byte("TAG and more, until there is a whole head")),
	}
}

// What is odd, damaged or of another kind is named where nobody else reads it.
func TestOpusIsRefusedByName(t *testing.T) {
	files := oddOpuses()
	sound := opusStereo.ogg(drawnOpus(rand.New(rand.NewPCG(7, 7)), opusStereo, 20, 300), opusFile{each: 5})
	files["cut"], files["cut head"] = sound[:len(sound)-50], sound[:80]
	files["a bit"] = slices.Clone(sound)
	files["a bit"][1000] ^= 4
	says := map[string]string{"cut": CauseTruncated, "cut head": CauseTruncated, "no end": CauseTruncated, "a bit": CauseCorrupt, "noise behind": CauseUnsupported}
	w := workerOf(t, Config{})
	defer w.Close()
	for what, file := range files {
		prepareOpus()
		in := &w.in
		in.data, in.size = file, int64(len(file))
		in.memory.Reset(file)
		err := in.opus.open(w, in, &Info{Format: "ogg"})
		want := CauseUnsupported
		if s := says[what]; s != "" {
			want = s
		}
		if !hasCause(err, want) || !in.opus.odd {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
		in.release()
		if haveFFmpeg {
			continue
		}
		if _, _, err = w.Wave(Source{Bytes: file}, Draw{}); !hasCause(err, want) {
			t.Errorf("%s: got %v, want %s", what, err, want)
		}
	}
}

// A sound of nothing but what its encoder put before it has no frames.
func TestOpusWithoutASound(t *testing.T) {
	w := workerOf(t, Config{})
	defer w.Close()
	data := opusStereo.ogg(drawnOpus(rand.New(rand.NewPCG(8, 8)), opusStereo, 1, 300), opusFile{skip: 960})
	var e *Error
	if _, _, err := w.Wave(Source{Bytes: data}, Draw{}); !errors.As(err, &e) || e.Cause() != CauseNoFrames || !strings.Contains(err.Error(), "before the sound") {
		t.Errorf("got %v", err)
	}
}

// A file of libopus has its samples in every build, and Probe counts them. The level is what libopus decodes, in 16 bits.
func TestOpusOfAnEncoder(t *testing.T) {
	data := testdata(t, "music.ogg")
	got, info := wave(t, Config{}, data)
	if len(got) != 2*24077 || info != (Info{Format: "ogg", Rate: 48000, Channels: 2, Frames: 24077, Samples: 24077}) {
		t.Fatalf("%d samples, %+v", len(got), info)
	}
	if level := rms(got); math.Abs(level-0.2458256) > 1e-6 {
		t.Errorf("the root of the mean square is %v", level)
	}
	if s, err := Probe(Source{Bytes: data}); err != nil || s != (Stream{"ogg", "opus", 48000, 2, 24077, 24077.0 / 48000, 0}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whatever is flipped, cut or drawn, it is a sound or named, and every build and instruction set is as good.
func TestDamagedOpusIsASoundOrNamed(t *testing.T) {
	for _, k := range []opusKind{opusStereo, {1, 1}} {
		r := rand.New(rand.NewPCG(9, uint64(k.width)))
		data := k.ogg(drawnOpus(r, k, 8, 200), opusFile{skip: 312, each: 3, split: true})
		damagedIsNamed(t, data, Config{}, Config{Rate: 16000, Length: 1000, Crop: CropCentre, Channels: k.channels})
	}
}

// resummed is an Ogg whose pages have the right checksums.
func resummed(b []byte) []byte {
	b = slices.Clone(b)
	for page := b; len(page) >= oggHead && len(page) >= oggHead+int(page[26]); {
		size := oggHead + int(page[26])
		for _, n := range page[oggHead:size] {
			size += int(n)
		}
		if size > len(page) {
			break
		}
		copy(page[22:], make([]byte, 4))
		copy(page[22:], bytesAs(oggSum(0, page[:size])))
		page = page[size:]
	}
	return b
}

// FuzzOpus: see fuzzSounds; of pages whose checksums are right. Without FFmpeg (-tags noffmpeg) nothing else is run.
func FuzzOpus(f *testing.F) {
	for _, k := range opusKinds() {
		r := rand.New(rand.NewPCG(10, uint64(k.width)))
		f.Add(k.ogg(drawnOpus(r, k, 3, 300), opusFile{skip: 312, lost: 50}))
		f.Add(k.ogg(packed(k, drawnOpus(r, k, 16, 100)), opusFile{each: 3, split: true}))
	}
	fuzzSounds(f, resummed)
}

// FuzzOpusFrames: see fuzzSounds; of frames alone: behind a byte that says how wide they are and how many channels they have, and one of their size.
func FuzzOpusFrames(f *testing.F) {
	r := rand.New(rand.NewPCG(11, 11))
	for _, k := range opusKinds() {
		frames := []byte{byte(k.width | k.channels<<3), 100}
		for _, p := range drawnOpus(r, k, 20, 150) {
			frames = append(frames, p[1:]...)
		}
		f.Add(frames)
	}
	fuzzSounds(f, func(b []byte) []byte {
		if len(b) < 4 {
			return b
		}
		k, each := opusKind{int(b[0] & 3), 1 + int(b[0]>>4&1)}, 2+int(b[1])
		var packets [][]byte
		for b = b[2:]; len(b) >= each; b = b[each:] {
			packets = append(packets, join(k.toc(0), b[:each]))
		}
		return k.ogg(packets, opusFile{})
	})
}

// A decode that takes longer than its budget ends, also where there is nothing but pages; and what is decoded before a crop counts as if it were kept.
func TestBoundsOfOpus(t *testing.T) {
	k := opusKind{0, 1}
	sound := k.ogg(drawnOpus(rand.New(rand.NewPCG(12, 12)), k, 3000, 10), opusFile{})
	refused(t, Config{Channels: 1, Length: 3000 * 960, Budget: time.Nanosecond}, Source{Bytes: sound}, CauseTooSlow)
	pages := k.ogg(drawnOpus(rand.New(rand.NewPCG(12, 12)), k, 2000, 10), opusFile{each: 1})
	refused(t, Config{Channels: 1, Length: 3000, Crop: CropStart, Budget: time.Nanosecond}, Source{Bytes: pages}, CauseTooSlow)
	last := Config{Channels: 1, Length: 1000, Crop: CropCentre, MaxFrames: 1000 * 960}
	refused(t, last, Source{Bytes: sound}, CauseTooLarge)
	last.MaxFrames = 2000 * 960
	if got, _ := decoded(t, last, Source{Bytes: sound}, Draw{}); len(got) != 1000 {
		t.Errorf("%d samples", len(got))
	}
}
