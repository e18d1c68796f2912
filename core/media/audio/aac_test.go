package audio

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// aacBook are the codes of a book: of each symbol.
type aacBook []struct {
	code uint64
	bits int
}

// aacNumbers reads the tables that the decoder has.
var aacNumbers = sync.OnceValue(func() map[string][]int {
	text, err := os.ReadFile("aac_tables.h")
	if err != nil {
		panic(err)
	}
	all := map[string][]int{}
	for _, m := range regexp.MustCompile(`(?s)(\w+)((?:\[\d*\])+) = \{(.*?)\};`).FindAllStringSubmatch(string(text), -1) {
		rows := []string{m[3]}
		if strings.Count(m[2], "[") == 2 {
			rows = strings.Split(m[3], "{")[1:]
		}
		for i, row := range rows {
			name := m[1]
			if len(rows) > 1 {
				name += strconv.Itoa(i)
			}
			for _, n := range regexp.MustCompile(`\d+`).FindAllString(row, -1) {
				v, _ := strconv.Atoi(n)
				all[name] = append(all[name], v)
			}
		}
	}
	return all
})

var aacBooks = sync.OnceValue(func() map[string]aacBook {
	books := map[string]aacBook{}
	for name, counts := range aacNumbers() {
		which, ok := strings.CutPrefix(name, "counts_")
		if !ok {
			continue
		}
		symbols := aacNumbers()["symbols_"+which]
		book, code, i := make(aacBook, len(symbols)), uint64(0), 0
		for n, count := range counts {
			for range count {
				book[symbols[i]].code, book[symbols[i]].bits = code, n+1
				code, i = code+1, i+1
			}
			code *= 2
		}
		books[which] = book
	}
	return books
})

func (o *bitsOut) code(book string, symbol int) {
	c := aacBooks()[book][symbol]
	o.put(c.code, c.bits)
}

// aacKind is what all packets of a stream share.
type aacKind struct{ rate, channels int }

func (k aacKind) String() string {
	return fmt.Sprintf("%d Hz, %d channels", aacRates[k.rate], k.channels)
}

// aacWith is what may come in drawn packets.
type aacWith struct {
	windows, middle, intensity, noise, filters bool
	spliced                                    bool // windows that do not belong together
}

// aacDraw draws packets.
type aacDraw struct {
	aacKind
	with aacWith
	r    *rand.Rand
	o    bitsOut
	last [2]int // each channel's sequence
	name string // which the next packet has in a filling
}

// aacDrawn is the side of one channel.
type aacDrawn struct {
	sequence, shape, bands int
	groups                 []int // blocks of each
	widths                 []int // of bands
	books                  []int
}

func (d *aacDraw) windows(last int) *aacDrawn {
	c := &aacDrawn{sequence: last, shape: d.r.IntN(2)}
	switch {
	case !d.with.windows:
		c.sequence = 0
	case d.with.spliced && d.r.IntN(5) == 0:
		c.sequence = d.r.IntN(4)
	case last == 0 || last == 3:
		c.sequence = d.r.IntN(2)
	default:
		c.sequence = 2 + d.r.IntN(2)
	}
	table := fmt.Sprint("long_width", []int{0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 5, 6}[d.rate])
	c.groups = []int{1}
	if c.sequence == 2 {
		table = fmt.Sprint("short_width", []int{0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4}[d.rate])
	}
	c.widths = aacNumbers()[table]
	c.bands = d.r.IntN(len(c.widths) + 1)
	d.o.put(0, 1)
	d.o.put(uint64(c.sequence), 2)
	d.o.put(uint64(c.shape), 1)
	if c.sequence != 2 {
		d.o.put(uint64(c.bands), 6)
		d.o.put(0, 1)
		return c
	}
	d.o.put(uint64(c.bands), 4)
	for range 7 {
		joined := d.r.IntN(2)
		d.o.put(uint64(joined), 1)
		if joined == 1 {
			c.groups[len(c.groups)-1]++
		} else {
			c.groups = append(c.groups, 1)
		}
	}
	return c
}

// sections draws the books; second: of a pair's second channel, which may have bands from the first.
func (d *aacDraw) sections(c *aacDrawn, second bool) {
	bits := 5
	if c.sequence == 2 {
		bits = 3
	}
	c.books = nil
	for range c.groups {
		for band := 0; band < c.bands; {
			book := d.r.IntN(12)
			switch {
			case d.with.noise && d.r.IntN(5) == 0:
				book = 13
			case d.with.intensity && second && d.r.IntN(4) == 0:
				book = 14 + d.r.IntN(2)
			}
			n := 1 + d.r.IntN(min(c.bands-band, 1+d.r.IntN(40)))
			d.o.put(uint64(book), 4)
			for left := n; ; left -= 1<<bits - 1 {
				d.o.put(uint64(min(left, 1<<bits-1)), bits)
				if left < 1<<bits-1 {
					break
				}
			}
			c.books = append(c.books, slices.Repeat([]int{book}, n)...)
			band += n
		}
	}
}

// scales draws what differs from band to band.
func (d *aacDraw) scales(c *aacDrawn, gain int) {
	first, noise, place := true, gain-90-256, 0
	step := func(value *int, least, most int) {
		by := min(most-*value, max(least-*value, d.r.IntN(21)-10))
		*value += by
		d.o.code("scale", by+60)
	}
	for _, book := range c.books {
		switch {
		case book == 0:
		case book == 13 && first:
			target := d.r.IntN(30) - 20
			d.o.put(uint64(target-noise), 9)
			noise, first = target, false
		case book == 13:
			step(&noise, -20, 30)
		case book > 13:
			step(&place, -30, 30)
		default:
			step(&gain, 90, 140)
		}
	}
}

func (d *aacDraw) filters(c *aacDrawn) {
	blocks, wide, lengths, orders, most := 1, 2, 6, 5, 12
	if c.sequence == 2 {
		blocks, wide, lengths, orders, most = 8, 1, 4, 3, 7
	}
	for range blocks {
		n := d.r.IntN(1 << wide)
		d.o.put(uint64(n), wide)
		if n == 0 {
			continue
		}
		fine := d.r.IntN(2)
		d.o.put(uint64(fine), 1)
		for range n {
			order := d.r.IntN(most + 1)
			d.o.put(uint64(d.r.IntN(1<<lengths)), lengths)
			d.o.put(uint64(order), orders)
			if order == 0 {
				continue
			}
			short := d.r.IntN(2)
			d.o.put(uint64(d.r.IntN(2)), 1)
			d.o.put(uint64(short), 1)
			for range order {
				d.o.put([]uint64{0, 1, 1<<(3+fine-short) - 1}[d.r.IntN(3)], 3+fine-short) // small ones: with others it overflows
			}
		}
	}
}

// lines draws values that the books have.
func (d *aacDraw) lines(c *aacDrawn) {
	i := 0
	for _, blocks := range c.groups {
		for band := range c.bands {
			if book := c.books[i]; book >= 1 && book <= 11 {
				for range blocks * c.widths[band] / []int{2, 4}[min(1, 4/book)] {
					d.values(book)
				}
			}
			i++
		}
	}
}

func (d *aacDraw) values(book int) {
	base, zero, n := []int{0, 3, 3, 3, 3, 9, 9, 8, 8, 13, 13, 17}[book], []int{0, 1, 1, 0, 0, 4, 4, 0, 0, 0, 0, 0}[book], 2
	if book <= 4 {
		n = 4
	}
	symbol := 0
	var values []int
	for range n {
		v := d.r.IntN(base)
		if d.r.IntN(2) == 0 {
			v = zero
		}
		symbol, values = symbol*base+v, append(values, v)
	}
	d.o.code(strconv.Itoa(book), symbol)
	for _, v := range values {
		if zero == 0 && v != 0 {
			d.o.put(uint64(d.r.IntN(2)), 1)
		}
	}
	for _, v := range values {
		if v == 16 {
			ones := d.r.IntN(5)
			d.o.put((1<<ones-1)<<1, ones+1)
			d.o.put(uint64(d.r.IntN(1<<(ones+4))), ones+4)
		}
	}
}

func (d *aacDraw) channel(c *aacDrawn, at int) {
	gain := 100 + d.r.IntN(30)
	d.o.put(uint64(gain), 8)
	if c == nil {
		c = d.windows(d.last[at])
	}
	d.last[at] = c.sequence
	d.sections(c, at == 1 && d.with.intensity)
	d.scales(c, gain)
	d.o.put(0, 1)
	filters := d.with.filters && d.r.IntN(2) == 0
	if filters {
		d.o.put(1, 1)
		d.filters(c)
	} else {
		d.o.put(0, 1)
	}
	d.o.put(0, 1)
	d.lines(c)
}

// other draws what is between channels: data, and fillings.
func (d *aacDraw) other() {
	if d.name != "" {
		d.o.put(6<<4|15, 7)
		d.o.put(uint64(len(d.name)+5-14), 8)
		d.o.put(0, 17)
		for _, c := range []byte(d.name) {
			d.o.put(uint64(c), 8)
		}
		d.o.put(0, 23)
		d.name = ""
		return
	}
	switch d.r.IntN(4) {
	case 0: // data
		n := d.r.IntN(300)
		d.o.put(4, 3)
		d.o.put(uint64(d.r.IntN(16)), 4)
		d.o.put(1, 1)
		d.o.put(uint64(min(n, 255)), 8)
		if n >= 255 {
			d.o.put(uint64(n-255), 8)
		}
		d.o.zeros(uint64(8-d.o.n) % 8)
		for range n {
			d.o.put(uint64(d.r.Uint32()), 8)
		}
	case 1: // a filling
		n := d.r.IntN(40)
		d.o.put(6<<4|uint64(min(n, 15)), 7)
		if n >= 15 {
			d.o.put(uint64(n-14), 8)
		}
		for i := range n {
			v := d.r.Uint32()
			if i == 0 {
				v &= 0xf // of no kind
			}
			d.o.put(uint64(v), 8)
		}
	}
}

func (d *aacDraw) packet() []byte {
	d.o = bitsOut{}
	d.other()
	if d.channels == 1 {
		d.o.put(0, 7)
		d.channel(nil, 0)
	} else {
		d.o.put(1<<4, 7)
		shared := (d.with.middle || d.with.intensity) && d.last[0] == d.last[1] && d.r.IntN(4) > 0
		if !shared {
			d.o.put(0, 1)
			with := d.with
			d.with.intensity = false // which windows of one's own forbid
			d.channel(nil, 0)
			d.channel(nil, 1)
			d.with = with
		} else {
			d.o.put(1, 1)
			c := d.windows(d.last[0])
			how := d.r.IntN(3)
			if !d.with.middle {
				how = 0
			}
			d.o.put(uint64(how), 2)
			if how == 1 {
				for range len(c.groups) * c.bands {
					d.o.put(uint64(d.r.IntN(2)), 1)
				}
			}
			d.channel(c, 0)
			d.channel(c, 1)
		}
	}
	d.other()
	d.o.put(7, 3)
	return d.o.b
}

func drawnAAC(r *rand.Rand, k aacKind, n int, with aacWith) (packets [][]byte) {
	d := aacDraw{aacKind: k, with: with, r: r}
	for len(packets) < n {
		last := d.last
		if p := d.packet(); len(p) <= 768*k.channels { // what a decoder has to hold
			packets = append(packets, p)
		} else {
			d.last = last
		}
	}
	return packets
}

// adts is the stream as a file of its own; checked: with two bytes of a checksum, which nobody looks at.
func (k aacKind) adts(packets [][]byte, checked bool) []byte {
	var b []byte
	for _, p := range packets {
		var o bitsOut
		head, alone := 7, uint64(1)
		if checked {
			head, alone = 9, 0
		}
		for _, field := range [][2]uint64{{0xfff, 12}, {0, 3}, {alone, 1}, {1, 2}, {uint64(k.rate), 4}, {0, 1}, {uint64(k.channels), 3}, {0, 4},
			{uint64(head + len(p)), 13}, {0x7ff, 11}, {0, 2}} {
			o.put(field[0], int(field[1]))
		}
		if checked {
			o.put(0x1234, 16)
		}
		b = append(append(b, o.b...), p...)
	}
	return b
}

// aacFile is how a stream lies in an MP4.
type aacFile struct {
	edits      []mp4Edit // duration in 1/1000 s
	scale      int       // of the track; 0: its rate
	each       int       // packets of a chunk; 0: all
	wide, late bool      // places of 64 bits; the description behind the sound
	last       int       // ticks of the last packet; 0: as long as the others
	config     []byte    // in place of what says the kind
	mov        bool      // QuickTime's description
	short      bool      // the last chunk has fewer packets than is said
	more       []byte    // boxes of moov
	stbl       []byte    // boxes of stbl
}

func box(kind string, parts ...any) []byte {
	b := join(parts...)
	return join(uint32(8+len(b)), kind, b)
}

func (k aacKind) mp4(packets [][]byte, f aacFile) []byte {
	scale, each, ftyp := f.scale, f.each, box("ftyp", "M4A ", uint32(0), "mp42")
	if scale == 0 {
		scale = aacRates[k.rate]
	}
	if each == 0 {
		each = len(packets)
	}
	config := f.config
	if config == nil {
		config = []byte{2<<3 | byte(k.rate>>1), byte(k.rate<<7) | byte(k.channels<<3)}
	}
	moov := func(at int) []byte {
		var sizes, places []byte
		chunks := 0
		for i, p := range packets {
			sizes = join(sizes, uint32(len(p)))
			if i%each == 0 {
				chunks++
				if places = join(places, uint32(at)); f.wide {
					places = join(places[:len(places)-4], uint64(at))
				}
				at += 3 // a gap
			}
			at += len(p)
		}
		n := len(packets)
		runs := join(uint32(1), uint32(1), uint32(each), uint32(1))
		if last := n % each; last > 0 && !f.short {
			runs = join(uint32(2), runs[4:], uint32(chunks), uint32(last), uint32(1))
		}
		times := join(uint32(1), uint32(n), uint32(1024))
		if f.last != 0 {
			times = join(uint32(2), uint32(n-1), uint32(1024), uint32(1), uint32(f.last))
		}
		decoder := join([]byte{4, byte(13 + 2 + len(config)), 0x40, 0x15, 0, 0, 0}, uint32(128000), uint32(128000), []byte{5, byte(len(config))}, config)
		esds := join(uint32(0), []byte{3, 0x80, 0x80, 0x80, byte(3 + len(decoder)), 0, 1, 0}, decoder)
		version, own := uint16(0), box("esds", esds)
		if f.mov {
			version, own = 1, join(uint32(1024), make([]byte, 12), box("wave", box("frma", "mp4a"), box("mp4a", uint32(0)), own, uint64(8<<32)))
		}
		entry := box("mp4a", make([]byte, 6), uint16(1), version, make([]byte, 6), uint16(k.channels), uint16(16), uint32(0), uint32(aacRates[k.rate])<<16, own)
		kind := "stco"
		if f.wide {
			kind = "co64"
		}
		stbl := box("stbl", box("stsd", uint32(0), uint32(1), entry), box("stts", uint32(0), times), box("stsc", uint32(0), runs),
			box("stsz", uint32(0), uint32(0), uint32(n), sizes), box(kind, uint32(0), uint32(chunks), places), f.stbl)
		var edts []byte
		if f.edits != nil {
			edts = join(uint32(0), uint32(len(f.edits)))
			for _, e := range f.edits {
				edts = join(edts, uint32(e.duration), uint32(e.time), uint32(1<<16))
			}
			edts = box("edts", box("elst", edts))
		}
		mdia := box("mdia", box("mdhd", uint32(0), uint64(0), uint32(scale), uint32(1024*n), uint32(0x55c40000)), box("hdlr", uint64(0), "soun", make([]byte, 13)),
			box("minf", box("smhd", uint64(0)), stbl))
		tkhd := box("tkhd", uint32(3), uint64(0), uint32(1), uint32(0), uint32(0), make([]byte, 60))
		return box("moov", box("mvhd", uint32(0), uint64(0), uint32(1000), uint32(0), uint32(1<<16), make([]byte, 76)), box("trak", tkhd, edts, mdia), f.more)
	}
	var sound []byte
	for i, p := range packets {
		sound = append(sound, p...)
		if (i+1)%each == 0 {
			sound = append(sound, 1, 2, 3)
		}
	}
	if f.late {
		return slices.Concat(ftyp, box("mdat", sound), moov(len(ftyp)+8))
	}
	return slices.Concat(ftyp, moov(len(ftyp)+len(moov(0))+8), box("mdat", sound))
}

var aacAll = aacWith{windows: true, middle: true, intensity: true, noise: true, filters: true}

func aacKinds() (kinds []aacKind) {
	for rate := range aacRates {
		kinds = append(kinds, aacKind{rate, 1}, aacKind{rate, 2})
	}
	return kinds
}

// aacStereo is 44.1 kHz in stereo.
var aacStereo = aacKind{4, 2}

// Windows of a sound are the same samples as the whole has there, bit for bit, wherever they begin: also where noise has to be drawn from the
// first packet on.
func TestWindowsOfAACAreExact(t *testing.T) {
	for _, k := range []aacKind{aacStereo, {11, 1}, {0, 2}} {
		r := rand.New(rand.NewPCG(3, uint64(k.rate)))
		for _, with := range []aacWith{aacAll, {windows: true, middle: true, filters: true}} {
			data := k.mp4(drawnAAC(r, k, 40, with), aacFile{edits: []mp4Edit{{1 << 20, 1100}}})
			for _, cfg := range []Config{{}, {Channels: 1}} {
				w := workerOf(t, cfg)
				whole, info, err := w.Wave(Source{Bytes: data}, Draw{})
				if err != nil || info.Frames != 40*1024-1100 || whole.Frames != int(info.Frames) || w.in.reading != asAAC {
					t.Fatalf("%v: %+v, %v", k, info, err)
				}
				windowsAreTheWholes(t, w, r, data, whole)
				w.Close()
			}
		}
	}
}

// The mean of two channels is their mean, as they are decoded one by one; and a channel alone is what it is beside the other.
func TestChannelsOfAAC(t *testing.T) {
	for _, with := range []aacWith{{}, {windows: true}, {middle: true}, {windows: true, middle: true}, {windows: true, middle: true, intensity: true, noise: true}, aacAll} {
		r := rand.New(rand.NewPCG(4, 4))
		for range 5 {
			data := aacStereo.adts(drawnAAC(r, aacStereo, 30, with), false)
			if info := channelsAreTheirOwn(t, data); info.Frames != 30*1024 || info.Channels != 2 || info.Rate != 44100 || info.Format != "aac" {
				t.Fatalf("%+v", info)
			}
		}
	}
}

// aacEncoders are files of FFmpeg's encoder, fdk-aac, which begins with a long window before short ones and puts its delay into iTunes' tag, and faac,
// whose delay is known by its name. The levels are what PyAV 18 decodes.
var aacEncoders = map[string]struct {
	format           string
	frames, channels int
	level            float64
}{"mono.m4a": {"mov", 22528, 1, 0.24320410}, "fdk.m4a": {"mov", 22528, 2, 0.24679454}, "faac.aac": {"aac", 22528, 2, 0.24256454}}

// A file of an encoder has its samples in every build, and Probe counts them.
func TestAACOfEncoders(t *testing.T) {
	for name, want := range aacEncoders {
		data := testdata(t, name)
		got, info := wave(t, Config{}, data)
		if len(got) != want.frames*want.channels || info.Frames != int64(want.frames) || info.Rate != 44100 || info.Channels != want.channels || info.Format != want.format {
			t.Fatalf("%s: %+v", name, info)
		}
		if level := rms(got); math.Abs(level-want.level) > 1e-6 {
			t.Errorf("%s: the root of the mean square is %v", name, level)
		}
		s, err := Probe(Source{Bytes: data})
		if err != nil || s != (Stream{want.format, "aac", 44100, want.channels, int64(want.frames), float64(want.frames) / 44100, s.Start}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// What is in tables and packets is named where nobody else reads it.
func TestAACIsRefusedByName(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	packets := drawnAAC(r, aacStereo, 20, aacAll)
	sound := aacStereo.adts(packets, false)
	for what, c := range map[string]struct {
		file  []byte
		cause string
	}{
		"cut": {sound[:len(sound)-50], CauseTruncated}, "noise behind": {slices.Concat(sound, bytes.Repeat([]byte{1, 2, 3}, 500)), CauseUnsupported},
		"cut MP4": {aacStereo.mp4(packets, aacFile{})[:5000], CauseTruncated}, "another rate": {aacStereo.mp4(packets, aacFile{scale: 48000}), CauseUnsupported},
	} {
		w := workerOf(t, Config{})
		_, _, err := w.Wave(Source{Bytes: c.file}, Draw{})
		var e *Error
		if !haveFFmpeg && (!errors.As(err, &e) || e.Cause() != c.cause) {
			t.Errorf("%s: got %v, want %s", what, err, c.cause)
		}
		w.Close()
	}
}

// What an MP4 claims costs neither stack nor time: boxes in boxes, tables and configurations as long as the file.
func TestHostileMP4sAreNamed(t *testing.T) {
	nested := box("free")
	for range 1 << 12 {
		nested = box("mdia", nested)
	}
	packets := drawnAAC(rand.New(rand.NewPCG(13, 13)), aacStereo, 5, aacWith{})
	long := box("ftyp", "M4A ", uint32(0), "mp42")
	w := workerOf(t, Config{})
	defer w.Close()
	for what, c := range map[string]struct {
		file []byte
		says string
	}{
		"nested":                           {join(long, box("moov", box("trak", nested))), "more than 8 times"},
		"a box without an end":             {join(long, uint32(1<<31), "moov", make([]byte, 100)), "2147483648"},
		"a table":                          {bytes.Replace(aacStereo.mp4(packets, aacFile{}), join("stsz", uint64(0), uint32(5)), join("stsz", uint64(0), uint32(1<<31)), 1), "a table of 8589934592 bytes"},
		"a box that ends before it begins": {bytes.Replace(aacStereo.mp4(packets, aacFile{}), box("smhd", uint64(0)), join(uint32(7), "smhd", uint64(0)), 1), "a box of 7 bytes"},
		"a configuration":                  {aacStereo.mp4(packets, aacFile{config: make([]byte, 100)}), "unknown kind"},
		"a packet beyond the end":          {bytes.Replace(aacStereo.mp4(packets, aacFile{}), join("stco", uint32(0), uint32(1)), join("stco", uint32(0), uint32(1), uint32(1<<30)), 1), "a packet at byte"},
	} {
		prepareAAC()
		in := &w.in
		in.data, in.size = c.file, int64(len(c.file))
		in.memory.Reset(c.file)
		err := in.aac.open(w, in, 0, &Info{Format: "mov"})
		if err == nil || !strings.Contains(err.Error(), c.says) || !in.aac.odd {
			t.Errorf("%s: got %v, want %q", what, err, c.says)
		}
		in.release()
	}
}

// Looking through all headers for a few samples takes no longer than the budget.
func TestADTSEndsWithItsBudget(t *testing.T) {
	packets := drawnAAC(rand.New(rand.NewPCG(14, 14)), aacStereo, 10, aacWith{})
	sound := aacStereo.adts(slices.Repeat(packets, 60), false)
	refused(t, Config{Channels: 2, Length: 1000, Crop: CropStart, Budget: time.Nanosecond}, Source{Bytes: sound}, CauseTooSlow)
}

// Whatever is flipped, cut or drawn, it is a sound or named, and every build and instruction set is as good.
func TestDamagedAACIsASoundOrNamed(t *testing.T) {
	for _, k := range []aacKind{aacStereo, {8, 1}} {
		r := rand.New(rand.NewPCG(6, uint64(k.rate)))
		packets := drawnAAC(r, k, 8, aacAll)
		for _, data := range [][]byte{k.adts(packets, true), k.mp4(packets, aacFile{each: 3, edits: []mp4Edit{{200, 1024}}})} {
			damagedIsNamed(t, data, Config{}, Config{Rate: 16000, Length: 1000, Crop: CropCentre, Channels: k.channels})
		}
	}
}

// FuzzAAC: see fuzzSounds. Without FFmpeg (-tags noffmpeg) nothing else is run.
func FuzzAAC(f *testing.F) {
	for _, k := range aacKinds() {
		r := rand.New(rand.NewPCG(7, uint64(k.rate)))
		packets := drawnAAC(r, k, 3, aacAll)
		f.Add(k.adts(packets, false))
		f.Add(k.mp4(packets, aacFile{each: 2, wide: true, late: true, edits: []mp4Edit{{60, -1}, {100, 1024}}}))
	}
	fuzzSounds(f)
}
