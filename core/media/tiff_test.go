//go:build !noffmpeg

package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

const tiffTestW, tiffTestH = 37, 21

// tiffSample is sample c of pixel x, y: 8 bits, and 8 that are below them where there are 16.
func tiffSample(x, y, c int) uint16 { return uint16((x*7+y*11+c*60+x*y)%256<<8 | (x*29+y+c)%256) }

// tiffCase is a TIFF of tiffSample's pixels.
type tiffCase struct {
	big, planar, packed, predicted bool
	order                          binary.AppendByteOrder
	samples, bits, photometric     int
	tileW, tileH                   int // 0: in strips of tileH rows
	extra                          []uint64
}

func (c tiffCase) put(b []byte, x, y, s int) []byte {
	v := tiffSample(min(x, tiffTestW-1), min(y, tiffTestH-1), s)
	less := uint16(0)
	if c.predicted && x%c.width() > 0 {
		less = tiffSample(min(x-1, tiffTestW-1), min(y, tiffTestH-1), s)
	}
	if c.bits == 8 {
		return append(b, byte(v>>8-less>>8))
	}
	return c.order.AppendUint16(b, v-less)
}

func (c tiffCase) width() int {
	if c.tileW > 0 {
		return c.tileW
	}
	return tiffTestW
}

// block is the pixels of a tile or a strip.
func (c tiffCase) block(t testing.TB, left, top, bottom int, samples []int) []byte {
	var b []byte
	for y := top; y < bottom; y++ {
		if c.bits == 12 {
			for x := 0; x < tiffTestW; x += 2 {
				v, next := tiffSample(x, y, 0)>>4, tiffSample(x+1, y, 0)>>4
				b = append(b, byte(v>>4), byte(v<<4|next>>8), byte(next))
			}
			b = b[:len(b)-1] // an odd width, whole bytes a row
			continue
		}
		for x := left; x < left+c.width(); x++ {
			for _, s := range samples {
				b = c.put(b, x, y, s)
			}
		}
	}
	if !c.packed {
		return b
	}
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(b); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (c tiffCase) blocks(t testing.TB) (all [][]byte) {
	var groups [][]int
	every := make([]int, c.samples)
	for s := range every {
		every[s] = s
		groups = append(groups, []int{s})
	}
	if !c.planar {
		groups = [][]int{every}
	}
	for _, samples := range groups {
		for y := 0; y < tiffTestH; y += c.tileH {
			bottom := y + c.tileH
			if c.tileW == 0 {
				bottom = min(bottom, tiffTestH)
			}
			for x := 0; x < tiffTestW; x += c.width() {
				all = append(all, c.block(t, x, y, bottom, samples))
			}
		}
	}
	return all
}

// file writes it; more are further tags, or other values of those that it has.
func (c tiffCase) file(t testing.TB, more map[uint16][]uint64) []byte {
	t.Helper()
	tags := map[uint16][]uint64{256: {tiffTestW}, 257: {tiffTestH}, 259: {1}, 262: {uint64(c.photometric)}, 277: {uint64(c.samples)}, 278: {uint64(c.tileH)}, 284: {1}, 338: c.extra}
	for range c.samples {
		tags[258] = append(tags[258], uint64(c.bits))
	}
	if c.packed {
		tags[259] = []uint64{8}
	}
	if c.predicted {
		tags[317] = []uint64{2}
	}
	if c.planar {
		tags[284] = []uint64{2}
	}
	out := make([]byte, 16)
	offsets, sizes := uint16(273), uint16(279)
	if c.tileW > 0 {
		offsets, sizes = 324, 325
		delete(tags, 278)
		tags[322], tags[323] = []uint64{uint64(c.tileW)}, []uint64{uint64(c.tileH)}
	}
	for _, b := range c.blocks(t) {
		tags[offsets] = append(tags[offsets], uint64(len(out)))
		tags[sizes] = append(tags[sizes], uint64(len(b)))
		out = append(out, b...)
	}
	for tag, v := range more {
		tags[tag] = v
	}
	return c.directory(out, tags)
}

func (c tiffCase) directory(out []byte, tags map[uint16][]uint64) []byte {
	var names []uint16
	for tag, v := range tags {
		if len(v) > 0 {
			names = append(names, tag)
		}
	}
	slices.Sort(names)
	number := func(b []byte, v uint64) []byte { // an offset or a count
		if c.big {
			return c.order.AppendUint64(b, v)
		}
		return c.order.AppendUint32(b, uint32(v))
	}
	var entries []byte
	for _, tag := range names {
		var b []byte
		for _, v := range tags[tag] {
			b = c.order.AppendUint32(b, uint32(v))
		}
		entries = number(c.order.AppendUint16(c.order.AppendUint16(entries, tag), 4), uint64(len(tags[tag])))
		room := len(number(nil, 0))
		if len(b) > room {
			entries, out = number(entries, uint64(len(out))), append(out, b...)
		} else {
			entries = append(append(entries, b...), make([]byte, room-len(b))...)
		}
	}
	at := uint64(len(out))
	head := []byte(map[bool]string{true: "MM", false: "II"}[c.order.String() == "BigEndian"])
	if c.big {
		head = number(c.order.AppendUint16(c.order.AppendUint16(c.order.AppendUint16(head, 43), 8), 0), at)
		out = number(out, uint64(len(names)))
	} else {
		head = number(c.order.AppendUint16(head, 42), at)
		out = c.order.AppendUint16(out, uint16(len(names)))
	}
	copy(out, head)
	return number(append(out, entries...), 0)
}

// want is the RGB that the pixels have: the high bytes, and Pillow's CMYK and colours without their alpha.
func (c tiffCase) want() (rgb []byte) {
	for y := range tiffTestH {
		for x := range tiffTestW {
			v := func(s int) uint32 { return uint32(tiffSample(x, y, s) >> 8) }
			for s := range 3 {
				switch {
				case c.photometric == tiffCMYK:
					nk := 255 - v(3)
					m := v(s)*nk + 128
					rgb = append(rgb, byte(nk-(m>>8+m)>>8))
				case slices.Equal(c.extra, []uint64{1}) && v(3) == 0:
					rgb = append(rgb, 0)
				case slices.Equal(c.extra, []uint64{1}):
					rgb = append(rgb, byte(min(255, v(s)*255/v(3))))
				default:
					rgb = append(rgb, byte(v(min(s, c.samples-1))))
				}
			}
		}
	}
	return rgb
}

func tiffCases() map[string]tiffCase {
	le, be := binary.LittleEndian, binary.BigEndian
	return map[string]tiffCase{
		"strips":                      {order: le, samples: 3, bits: 8, photometric: tiffRGB, tileH: 5},
		"tiles":                       {order: le, samples: 3, bits: 8, photometric: tiffRGB, tileW: 16, tileH: 16},
		"tiles, big-endian":           {order: be, samples: 3, bits: 8, photometric: tiffRGB, tileW: 16, tileH: 32},
		"one tile":                    {order: le, samples: 3, bits: 8, photometric: tiffRGB, tileW: 64, tileH: 64},
		"grey tiles":                  {order: le, samples: 1, bits: 8, photometric: tiffBlackIsZero, tileW: 16, tileH: 16},
		"packed tiles of 16 bits":     {order: be, samples: 3, bits: 16, photometric: tiffRGB, tileW: 32, tileH: 16, packed: true, predicted: true},
		"planar tiles":                {order: le, samples: 3, bits: 8, photometric: tiffRGB, tileW: 16, tileH: 16, planar: true},
		"planar strips of 16 bits":    {order: le, samples: 3, bits: 16, photometric: tiffRGB, tileH: 4, planar: true},
		"packed planes of 16 bits":    {order: be, samples: 3, bits: 16, photometric: tiffRGB, tileW: 16, tileH: 16, planar: true, packed: true, predicted: true},
		"BigTIFF":                     {order: le, big: true, samples: 3, bits: 8, photometric: tiffRGB, tileH: 5},
		"BigTIFF in tiles":            {order: be, big: true, samples: 4, bits: 8, photometric: tiffRGB, tileW: 16, tileH: 16, packed: true, extra: []uint64{2}},
		"CMYK":                        {order: le, samples: 4, bits: 8, photometric: tiffCMYK, tileH: 5},
		"CMYK of 16 bits":             {order: be, samples: 4, bits: 16, photometric: tiffCMYK, tileH: 5, packed: true},
		"CMYK in planes":              {order: le, samples: 4, bits: 8, photometric: tiffCMYK, tileH: 5, planar: true},
		"CMYK in planes and in tiles": {order: be, samples: 4, bits: 16, photometric: tiffCMYK, tileW: 16, tileH: 16, planar: true},
		"alpha multiplied in":         {order: le, samples: 4, bits: 8, photometric: tiffRGB, tileH: 5, extra: []uint64{1}},
		"12 bits":                     {order: le, samples: 1, bits: 12, photometric: tiffBlackIsZero, tileH: 5},
		"12 bits, big-endian":         {order: be, samples: 1, bits: 12, photometric: tiffBlackIsZero, tileH: 5},
	}
}

// FFmpeg leaves tiles black and says nothing; of these files every pixel is known.
func TestTIFFsInEveryArrangementAreTheirPixels(t *testing.T) {
	for name, c := range tiffCases() {
		t.Run(name, func(t *testing.T) {
			op := compiled(t, Config{Resize: Size{tiffTestH, tiffTestW}})
			row := make([]byte, op.RowBytes())
			if _, err := worker(t, nil).Row(row, c.file(t, nil), op, Draw{}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(row, c.want()) {
				t.Error("other pixels")
			}
		})
	}
}

// A BigTIFF says which way up it is, as a TIFF does.
func TestBigTIFFsAreTurnedWhenAsked(t *testing.T) {
	for _, big := range []bool{false, true} {
		c := tiffCase{order: binary.LittleEndian, big: big, samples: 1, bits: 8, photometric: tiffBlackIsZero, tileW: 16, tileH: 16}
		op := compiled(t, Config{Resize: Size{tiffTestW, tiffTestH}, Orient: true})
		info, err := worker(t, nil).Row(make([]byte, op.RowBytes()), c.file(t, map[uint16][]uint64{274: {6}}), op, Draw{})
		if err != nil || info.Orientation != 6 || info.Width != tiffTestW || info.Height != tiffTestH {
			t.Errorf("big %v: %+v, %v", big, info, err)
		}
	}
}

// What FFmpeg would show wrongly, or does not decode, is refused with its name and what to do.
func TestTIFFsThatAreNotDecodedRightlyAreRefusedByName(t *testing.T) {
	plain := tiffCase{order: binary.LittleEndian, samples: 3, bits: 8, photometric: tiffRGB, tileH: 5}
	op := compiled(t, eval)
	for want, more := range map[string]map[uint16][]uint64{
		"compressed by JPEG; write it with Deflate": {259: {7}},
		"compressed by Zstandard":                   {259: {50000}},
		"compression 9":                             {259: {9}},
		"colours in YCbCr; write it in RGB":         {262: {6}},
		"colours in CIE L*a*b*":                     {262: {8}},
		"samples of [5 6 5] bits":                   {258: {5, 6, 5}},
		"SampleFormat 3":                            {258: {16, 16, 16}, 339: {3, 3, 3}},
		"3 samples of 32 bits":                      {258: {32, 32, 32}},
		"5 samples of 8 bits":                       {258: {8, 8, 8, 8, 8}, 277: {5}},
		"2 samples of 8 bits":                       {258: {8, 8}, 277: {2}, 262: {3}},
		"predictor 2 with compression 1":            {317: {2}},
	} {
		_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), plain.file(t, more), op, Draw{})
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want unsupported: %s", err, want)
		}
	}
	for want, more := range map[string]map[uint16][]uint64{
		"tiles of 0 x 16":   {322: {16}, 323: {0}, 324: {16}, 325: {5}},
		"1 tiles":           {322: {16}, 323: {16}, 324: {16}, 325: {768}},
		"a picture of 21 x": {256: {0}},
	} {
		_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), plain.file(t, more), op, Draw{})
		var wrong *FormatError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want damaged: %s", err, want)
		}
	}
}

// What the tags say is checked before memory is taken, and whatever they say there is an error with a cause or a row.
func FuzzTIFF(f *testing.F) {
	for _, c := range tiffCases() {
		f.Add(c.file(f, nil))
	}
	op := compiled(f, Config{Resize: Square(9), MaxPixels: 1 << 16})
	w := worker(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if sniff(data) != "tiff" {
			return
		}
		_, err := w.Row(make([]byte, op.RowBytes()), data, op, Draw{})
		wantNamed(t, "fuzzed", err)
	})
}
