package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/damage"
)

// Colour types of PNG.
const (
	pngGrey, pngRGB, pngPalette, pngGreyAlpha, pngRGBAlpha = 0, 2, 3, 4, 6
)

var pngChannels = map[int]int{pngGrey: 1, pngRGB: 3, pngPalette: 1, pngGreyAlpha: 2, pngRGBAlpha: 4}

// pngPicture is a PNG before it is written: samples of a depth as the file has them, channel by channel.
type pngPicture struct {
	w, h, depth, colour int
	samples             []int
	palette             [][3]byte
	chunk               int      // bytes of an IDAT chunk; 0: all in one
	extra               [][]byte // chunks behind IHDR: kind and data
	interlace           byte
	more                []byte // behind the last row
	lost                int    // of the stream, at its end; in percent
}

func noisePNG(w, h, depth, colour int) *pngPicture {
	p := &pngPicture{w: w, h: h, depth: depth, colour: colour, samples: make([]int, w*h*pngChannels[colour])}
	r := rand.New(rand.NewPCG(uint64(w), uint64(h*100+depth*10+colour)))
	last := 0
	for i := range p.samples {
		last += r.IntN(1<<depth) / 3 // some rows are like the one above
		p.samples[i] = last & (1<<depth - 1)
	}
	for range min(1<<depth, 200) {
		p.palette = append(p.palette, [3]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
	}
	return p
}

// pixel is what the samples mean: alpha dropped, the high byte of 16 bits, greys from black to white, black behind a palette's end.
func (p *pngPicture) pixel(y, x int) [3]byte {
	n := pngChannels[p.colour]
	s := p.samples[(y*p.w+x)*n:]
	value := func(v int) byte {
		if p.depth == 16 {
			return byte(v >> 8)
		}
		return byte(v * 255 / (1<<p.depth - 1))
	}
	switch {
	case p.colour == pngPalette && s[0] < len(p.palette):
		return p.palette[s[0]]
	case p.colour == pngPalette:
		return [3]byte{}
	case n <= 2:
		return [3]byte{value(s[0]), value(s[0]), value(s[0])}
	}
	return [3]byte{value(s[0]), value(s[1]), value(s[2])}
}

// rows is the pixels as a row of RGB.
func (p *pngPicture) rows() []byte {
	var all []byte
	for y := range p.h {
		for x := range p.w {
			c := p.pixel(y, x)
			all = append(all, c[:]...)
		}
	}
	return all
}

// packed is row y as the file has it, without a filter.
func (p *pngPicture) packed(y int) []byte {
	n := p.w * pngChannels[p.colour]
	row := make([]byte, (n*p.depth+7)/8)
	for i, v := range p.samples[y*n : (y+1)*n] {
		switch bit := i * p.depth; p.depth {
		case 16:
			binary.BigEndian.PutUint16(row[2*i:], uint16(v))
		default:
			row[bit/8] |= byte(v << (8 - p.depth - bit%8))
		}
	}
	return row
}

// filtered is all rows, filtered in turn by each of the filters, as the specification defines them.
func (p *pngPicture) filtered() []byte {
	if p.interlace == 1 {
		return p.passes()
	}
	step := max(1, pngChannels[p.colour]*p.depth/8)
	above := make([]byte, len(p.packed(0)))
	var all []byte
	for y := range p.h {
		row, filter := p.packed(y), byte(y%5)
		all = append(all, filter)
		for i, v := range row {
			var a, b, c int
			b = int(above[i])
			if i >= step {
				a, c = int(row[i-step]), int(above[i-step])
			}
			all = append(all, v-byte([]int{0, a, b, (a + b) / 2, paethOf(a, b, c)}[filter]))
		}
		above = row
	}
	return append(all, p.more...)
}

// passes is the seven pictures of an interlaced one, in the specification's order.
func (p *pngPicture) passes() (all []byte) {
	n := pngChannels[p.colour]
	for _, pass := range []struct{ x, y, dx, dy int }{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}} {
		part := &pngPicture{depth: p.depth, colour: p.colour}
		for y := pass.y; y < p.h && pass.x < p.w; y, part.h = y+pass.dy, part.h+1 {
			part.w = 0
			for x := pass.x; x < p.w; x, part.w = x+pass.dx, part.w+1 {
				part.samples = append(part.samples, p.samples[(y*p.w+x)*n:(y*p.w+x+1)*n]...)
			}
		}
		if part.h > 0 {
			all = append(all, part.filtered()...)
		}
	}
	return append(all, p.more...)
}

func paethOf(a, b, c int) int {
	away := func(v int) int { d := a + b - c - v; return max(d, -d) }
	switch {
	case away(a) <= away(b) && away(a) <= away(c):
		return a
	case away(b) <= away(c):
		return b
	}
	return c
}

func pngChunk(kind string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// encode writes the file.
func (p *pngPicture) encode(t testing.TB) []byte {
	t.Helper()
	var stream bytes.Buffer
	z := zlib.NewWriter(&stream)
	if _, err := z.Write(p.filtered()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(p.w)), uint32(p.h))
	header = append(header, byte(p.depth), byte(p.colour), 0, 0, p.interlace)
	file := append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", header)...)
	for _, e := range p.extra {
		file = append(file, pngChunk(string(e[:4]), e[4:])...)
	}
	if p.colour == pngPalette {
		var all []byte
		for _, c := range p.palette {
			all = append(all, c[:]...)
		}
		file = append(file, pngChunk("PLTE", all)...)
	}
	for rest := stream.Bytes()[:stream.Len()*(100-p.lost)/100]; len(rest) > 0; {
		n := len(rest)
		if p.chunk > 0 {
			n = min(n, p.chunk)
		}
		file = append(file, pngChunk("IDAT", rest[:n])...)
		rest = rest[n:]
	}
	return append(file, pngChunk("IEND", nil)...)
}

// whole is the row of all of a picture, in RGB.
func whole(t testing.TB, w, h int) *Op { return compiled(t, Config{Out: Size{h, w}}) }

// pngKinds is a picture of every kind that PNG has, and widths that fill bytes and vectors or do not.
func pngKinds() (all []*pngPicture) {
	for colour, depths := range map[int][]int{pngGrey: {1, 2, 4, 8, 16}, pngRGB: {8, 16}, pngPalette: {1, 2, 4, 8}, pngGreyAlpha: {8, 16}, pngRGBAlpha: {8, 16}} {
		for _, depth := range depths {
			for _, w := range []int{1, 2, 3, 7, 8, 16, 33, 67} {
				p := noisePNG(w, 12, depth, colour)
				p.chunk = w * 10 % 70
				all = append(all, p)
			}
		}
	}
	return all
}

func (p *pngPicture) String() string {
	return fmt.Sprintf("colour type %d of %d bits, %d x %d", p.colour, p.depth, p.w, p.h)
}

// Go's decoder multiplies colours of 16 bits by alpha, and divides them again.
var roundsAlpha = ffmpegVersion() == ""

func TestPNGOfEveryKindIsOursAndRight(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	for _, p := range pngKinds() {
		data, op := p.encode(t), whole(t, p.w, p.h)
		row, other := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
		info, err := own.Row(row, data, op, Draw{})
		if err != nil || !own.own() || info.Format != "png" || info.Width != p.w || info.Height != p.h {
			t.Errorf("%v: error %v, ours %v, %+v", p, err, own.own(), info)
			continue
		}
		if !bytes.Equal(row, p.rows()) {
			t.Errorf("%v: got pixels %v, want %v", p, row, p.rows())
		}
		if _, err := library.Row(other, data, op, Draw{}); err != nil || library.own() {
			t.Errorf("%v, left to the library: error %v, ours %v", p, err, library.own())
		}
		if !(roundsAlpha && p.depth == 16 && p.colour > pngPalette) && !bytes.Equal(other, row) {
			t.Errorf("%v: another row than the library's", p)
		}
	}
}

// Crops, turns, flips, greys and sizes are the library's, whose pictures are decoded whole.
func TestPartsOfPNGsAreThoseOfTheWholePicture(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	configs := allConfigs()
	for _, p := range []*pngPicture{noisePNG(97, 81, 8, pngRGB), noisePNG(97, 81, 8, pngRGBAlpha), noisePNG(97, 81, 1, pngGrey), noisePNG(97, 81, 4, pngPalette), noisePNG(97, 81, 16, pngGrey)} {
		for orientation := range 9 {
			if orientation > 0 {
				p.extra = [][]byte{append([]byte("eXIfMM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(orientation), 0, 0, 0, 0, 0, 0)}
			}
			data := p.encode(t)
			for i, cfg := range configs {
				cfg.Orient = true
				op := compiled(t, cfg)
				a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
				got, err := own.Row(a, data, op, Draw{Index: uint64(i)})
				want, again := library.Row(b, data, op, Draw{Index: uint64(i)})
				if err != nil || again != nil || !own.own() {
					t.Fatalf("%v, %+v: errors %v and %v, ours %v", p, cfg, err, again, own.own())
				}
				if got != want || got.Orientation != max(orientation, 1) || !bytes.Equal(a, b) {
					t.Fatalf("%v turned %d, %+v: another row than the library's: %+v, want %+v", p, orientation, cfg, got, want)
				}
			}
		}
	}
}

// What is not sound, or not for us, is the row or the error that it is without our decoder.
func TestOtherPNGsAreWhatTheLibrarySays(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	sound := func(change func(p *pngPicture)) []byte {
		p := noisePNG(1, 1, 8, pngRGB)
		change(p)
		return p.encode(t)
	}
	files := map[string][]byte{
		"interlaced":            sound(func(p *pngPicture) { p.interlace = 1 }),
		"no such interlacing":   sound(func(p *pngPicture) { p.interlace = 7 }),
		"more rows than it has": sound(func(p *pngPicture) { p.more = make([]byte, 4) }),
		"no palette":            sound(func(p *pngPicture) { p.colour, p.palette = pngPalette, nil; p.samples = p.samples[:1] }),
		"two palettes":          sound(func(p *pngPicture) { p.extra = [][]byte{[]byte("PLTEabc"), []byte("PLTEabc")} }),
		"half a colour in a palette": sound(func(p *pngPicture) {
			p.colour, p.samples, p.extra = pngPalette, p.samples[:1], [][]byte{[]byte("PLTEabcd")}
		}),
		"a chunk that must be known": sound(func(p *pngPicture) { p.extra = [][]byte{[]byte("SPDL")} }),
		"two headers": sound(func(p *pngPicture) {
			p.extra = [][]byte{[]byte("IHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00")}
		}),
		"no rows":     sound(func(p *pngPicture) { p.h = 0 }),
		"magic alone": []byte("\x89PNG\r\n\x1a\n"),
	}
	for depth := range 20 {
		for colour := range 8 {
			if channels := pngChannels[colour]; channels == 0 || depth == 0 || depth&(depth-1) != 0 || (depth < 8 && channels > 1) || (depth == 16 && colour == pngPalette) {
				files[fmt.Sprintf("colour type %d of %d bits", colour, depth)] = withSums(pngHeaderOf(testPNG(t, 9, 9), byte(depth), byte(colour)))
			}
		}
	}
	small := noisePNG(9, 11, 8, pngPalette)
	small.chunk = 40
	ours, refused := 0, 0
	try := func(name string, data []byte) {
		had, err := asTheLibrary(t, name, own, library, eval, data, Draw{})
		if had {
			ours++
		}
		if err != nil {
			refused++
		}
	}
	for name, data := range files {
		if try(name, data); ours != 0 {
			t.Fatalf("%s: it was taken for ours", name)
		}
	}
	damage.Cuts(small.encode(t), damage.Count(400), try)
	damage.Flips(small.encode(t), damage.Count(400), try)
	if ours == 0 || refused == 0 {
		t.Errorf("%d damaged pictures were ours and %d refused, want some of either", ours, refused)
	}
	t.Logf("%d were ours, %d refused", ours, refused)
}

// Data that stop before the last row are truncated, as Pillow has them, in chunks that are sound.
func TestPNGsThatLackRowsAreTruncated(t *testing.T) {
	own, library := worker(t, nil), worker(t, &Options{Portable: true})
	for i, p := range pngKinds() {
		op, row := whole(t, p.w, p.h), make([]byte, 3*p.w*p.h)
		p.interlace = byte(i % 2)
		for _, p.lost = range []int{50, 75, 90} {
			for _, w := range []*Worker{own, library} {
				_, err := w.Row(row, p.encode(t), op, Draw{})
				if wrong := new(FormatError); !errors.As(err, &wrong) || wrong.Cause() != CauseTruncated {
					t.Errorf("%v, interlaced %d, without %d %% of its data: got %v, want %s", p, p.interlace, p.lost, err, CauseTruncated)
				}
			}
		}
	}
}

// What is missing behind the last row, or too much there, is not missed.
func TestPNGsWithoutTheirStreamsEndAreWhole(t *testing.T) {
	own := worker(t, nil)
	for interlace := range byte(2) {
		p := noisePNG(40, 30, 8, pngRGB)
		p.interlace = interlace
		op, row := whole(t, p.w, p.h), make([]byte, 3*p.w*p.h)
		file := p.encode(t)
		at := bytes.Index(file, []byte("IDAT")) + 4
		n := int(binary.BigEndian.Uint32(file[at-8:]))
		stream, end := file[at:at+n], file[at+n+4:]
		for name, data := range map[string][]byte{"no sum": stream[:n-4], "more behind": append(bytes.Clone(stream), 1, 2, 3)} {
			_, err := own.Row(row, slices.Concat(file[:at-8], pngChunk("IDAT", data), end), op, Draw{})
			if goRefuses := ffmpegVersion() == "" && name == "no sum"; goRefuses != (err != nil) || err == nil && !bytes.Equal(row, p.rows()) {
				t.Errorf("interlaced %d, %s: %v, or another row than the whole file's", interlace, name, err)
			}
		}
	}
}

// A header that is not borne out by the bytes takes no memory here, and one of many pixels is refused as ever.
func TestPNGHeadersThatClaimMuchAreNotBelieved(t *testing.T) {
	w := worker(t, nil)
	op := whole(t, 8, 8)
	data := testPNG(t, 8, 8)
	binary.BigEndian.PutUint32(data[16:], 10000)
	binary.BigEndian.PutUint32(data[20:], 10000)
	_, err := w.Row(make([]byte, op.RowBytes()), withSums(data), op, Draw{})
	if err == nil || w.own() {
		t.Errorf("error %v, ours %v", err, w.own())
	}
}

func pngHeaderOf(data []byte, depth, colour byte) []byte {
	data[24], data[25] = depth, colour
	return data
}

// withSums sets the checksums of all chunks that are there.
func withSums(data []byte) []byte {
	data = bytes.Clone(data)
	for at := 8; len(data)-at >= 12; {
		n := int(binary.BigEndian.Uint32(data[at:]))
		if n > len(data)-at-12 {
			break
		}
		binary.BigEndian.PutUint32(data[at+8+n:], crc32.ChecksumIEEE(data[at+4:at+8+n]))
		at += 12 + n
	}
	return data
}

// FuzzPNG: whatever chunks say, with sums that are right, our decoder gives the row that the library gives, or leaves the file to it.
func FuzzPNG(f *testing.F) {
	for i, p := range pngKinds() {
		if i%5 == 0 {
			f.Add(p.encode(f), uint16(i))
		}
	}
	configs := allConfigs()
	own, library := worker(f, nil), worker(f, &Options{Portable: true})
	f.Fuzz(func(t *testing.T, data []byte, pick uint16) {
		if len(data) < 8 {
			return
		}
		copy(data, "\x89PNG\r\n\x1a\n")
		data = withSums(data)
		cfg := configs[int(pick)%len(configs)]
		cfg.MaxPixels = 1 << 20
		op := compiled(t, cfg)
		a, b := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
		_, err := own.Row(a, data, op, Draw{Index: uint64(pick)})
		ours := own.own()
		_, again := library.Row(b, data, op, Draw{Index: uint64(pick)})
		switch {
		case !ours && fmt.Sprint(err) != fmt.Sprint(again):
			t.Fatalf("left to the library: got error %v, want %v", err, again)
		case ours && err != nil && (!strings.Contains(err.Error(), "ahead of its crop") || fmt.Sprint(err) != fmt.Sprint(again)):
			t.Fatalf("ours: error %v, want none but that of a picture that grows too large, and got %v", err, again)
		case err == nil && again == nil && !roundsAlpha && !bytes.Equal(a, b):
			t.Fatal("another row than the library's")
		}
	})
}
