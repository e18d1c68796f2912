//go:build !noffmpeg

package media

/*
#include "ffmpeg.h"
#include "files.h"
*/
import "C"

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// The tags of a TIFF that say how its pixels lie in the file.
const (
	tiffWidth, tiffHeight                                     = 256, 257
	tiffBits, tiffCompression, tiffPhotometric, tiffFillOrder = 258, 259, 262, 266
	tiffStripOffsets, tiffOrientation, tiffSamples            = 273, 274, 277
	tiffRowsPerStrip, tiffStripBytes, tiffPlanar              = 278, 279, 284
	tiffT4, tiffT6, tiffPredictor, tiffColours                = 292, 293, 317, 320
	tiffTileWidth, tiffTileHeight, tiffTileOffsets            = 322, 323, 324
	tiffTileBytes, tiffExtra, tiffFormat                      = 325, 338, 339
)

// Values of tiffPhotometric.
const (
	tiffWhiteIsZero, tiffBlackIsZero, tiffRGB, tiffPalette, tiffCMYK = 0, 1, 2, 3, 5
)

// tiffUnpacked are the compressions that FFmpeg undoes rightly, and whether a predictor goes with them.
var tiffUnpacked = map[uint64]struct{ predictor bool }{
	1: {}, 2: {}, 3: {}, 4: {}, 5: {true}, 8: {true}, 32773: {}, 32946: {true}, 34925: {true},
}

var tiffCompressions = map[uint64]string{6: "JPEG of the old kind", 7: "JPEG", 34712: "JPEG 2000", 34887: "LERC", 50000: "Zstandard", 50001: "WebP", 50002: "JPEG XL"}

var tiffColourNames = map[uint64]string{4: "a transparency mask", 6: "YCbCr", 8: "CIE L*a*b*", 9: "ICC L*a*b*", 10: "ITU L*a*b*", 32803: "a colour filter array",
	32844: "LogL", 32845: "LogLuv", 34892: "linear raw"}

// tiffWritten are the tags that FFmpeg's decoder is told.
var tiffWritten = []uint16{tiffWidth, tiffHeight, tiffBits, tiffCompression, tiffPhotometric, tiffFillOrder, tiffStripOffsets, tiffSamples,
	tiffRowsPerStrip, tiffStripBytes, tiffPlanar, tiffT4, tiffT6, tiffPredictor, tiffColours, tiffExtra, tiffFormat}

// tiffRead are those that are read.
var tiffRead = append([]uint16{tiffOrientation, tiffTileWidth, tiffTileHeight, tiffTileOffsets, tiffTileBytes}, tiffWritten...)

// tiffFile is the first directory of a TIFF file: numbers by their tags.
type tiffFile struct {
	data  []byte
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	big  bool // BigTIFF: offsets of 64 bits
	tags map[uint16][]uint64
}

// readTIFF looks at what FFmpeg's decoder does not look at, or not rightly: it leaves a picture black, and says nothing, whose tags it
// passes over. What it decodes rightly goes to it as it is. Tiles it gets as the strips of a tall picture, a BigTIFF as a TIFF, CMYK as
// four samples; the rest is refused by name.
func readTIFF(data []byte, maxPixels uint64) (source, error) {
	f, err := tiffDirectory(data)
	if err != nil {
		return source{}, err
	}
	if err := f.check(); err != nil {
		return source{}, err
	}
	s := source{data: data, orientation: C.int32_t(f.first(tiffOrientation, 1))}
	if s.orientation < 1 || s.orientation > 8 {
		s.orientation = 1
	}
	if w, h := f.first(tiffWidth, 0), f.first(tiffHeight, 0); w*h > maxPixels {
		return source{}, &LimitError{Format: "tiff", Width: int(w), Height: int(h), MaxPixels: maxPixels, cause: CauseTooManyPixels}
	}
	anew := f.big || f.tags[tiffPhotometric] == nil
	switch {
	case f.first(tiffPhotometric, tiffWhiteIsZero) == tiffCMYK:
		f.tags[tiffPhotometric] = []uint64{tiffRGB}
		s.layout.fourth, anew = C.MEDIA_BLACK, true
	case f.first(tiffExtra, 0) == 1 && f.first(tiffSamples, 1) == 4:
		s.layout.fourth = C.MEDIA_PREMULTIPLIED
	}
	if f.tags[tiffTileWidth] != nil || f.tags[tiffTileOffsets] != nil {
		s.layout.width, s.layout.height = C.int32_t(f.first(tiffWidth, 0)), C.int32_t(f.first(tiffHeight, 0))
		if s.layout.columns, s.layout.tile_height, err = f.stack(); err != nil {
			return source{}, err
		}
		anew = true
	}
	if err := f.checkDeflate(); err != nil {
		return source{}, err
	}
	if f.first(tiffBits, 1) == 12 { // lie the same in both orders, but FFmpeg does not read them so
		f.order, anew = binary.LittleEndian, true
	}
	if anew {
		s.data, err = f.written()
	}
	return s, err
}

func tiffWrong(cause, format string, args ...any) error {
	return &FormatError{Format: "tiff", Detail: fmt.Sprintf(format, args...), cause: cause}
}

func tiffUnsupported(format string, args ...any) error {
	return &UnsupportedError{Format: "tiff", Detail: fmt.Sprintf(format, args...)}
}

// tiffDirectory reads the numbers of the first directory.
func tiffDirectory(d []byte) (*tiffFile, error) {
	f := &tiffFile{data: d, order: binary.LittleEndian, tags: map[uint16][]uint64{}}
	cut := tiffWrong(CauseTruncated, "its directory lies behind the end")
	if len(d) < 16 {
		return nil, cut
	}
	if d[0] == 'M' {
		f.order = binary.BigEndian
	}
	f.big = f.order.Uint16(d[2:]) == 43
	at, count, entry := uint64(f.order.Uint32(d[4:])), 2, 12
	if f.big {
		at, count, entry = f.order.Uint64(d[8:]), 8, 20
	}
	if at > uint64(len(d)-count) {
		return nil, cut
	}
	n := uint64(f.order.Uint16(d[at:]))
	if f.big {
		n = f.order.Uint64(d[at:])
	}
	rest := d[at+uint64(count):]
	if n > uint64(len(rest)/entry) {
		return nil, cut
	}
	for e := range slices.Chunk(rest[:int(n)*entry], entry) {
		tag := f.order.Uint16(e)
		if !slices.Contains(tiffRead, tag) {
			continue
		}
		if f.tags[tag] != nil {
			return nil, tiffWrong(CauseCorrupt, "tag %d is there twice", tag)
		}
		if values, ok := f.values(e); ok {
			f.tags[tag] = values
		}
	}
	return f, nil
}

// values are an entry's whole numbers; ok is false for what is none, or lies behind the file's end.
func (f *tiffFile) values(e []byte) (v []uint64, ok bool) {
	sizes := map[uint16]uint64{1: 1, 3: 2, 4: 4, 13: 4, 16: 8, 18: 8}
	size, room, n := sizes[f.order.Uint16(e[2:])], e[8:], uint64(f.order.Uint32(e[4:]))
	if f.big {
		room, n = e[12:], f.order.Uint64(e[4:])
	}
	if size == 0 || n == 0 || n > uint64(len(f.data))/size {
		return nil, false
	}
	if n*size > uint64(len(room)) {
		at := uint64(f.order.Uint32(room))
		if f.big {
			at = f.order.Uint64(room)
		}
		if at > uint64(len(f.data))-n*size {
			return nil, false
		}
		room = f.data[at:]
	}
	v = make([]uint64, n)
	for i := range v {
		switch at := room[uint64(i)*size:]; size {
		case 1:
			v[i] = uint64(at[0])
		case 2:
			v[i] = uint64(f.order.Uint16(at))
		case 4:
			v[i] = uint64(f.order.Uint32(at))
		default:
			v[i] = f.order.Uint64(at)
		}
	}
	return v, true
}

// first is a tag's first number, or what is meant where there is none.
func (f *tiffFile) first(tag uint16, absent uint64) uint64 {
	if v := f.tags[tag]; len(v) > 0 {
		return v[0]
	}
	return absent
}

// check refuses by name what FFmpeg does not decode, and what it decodes wrongly.
func (f *tiffFile) check() error {
	const mostPixels = 1 << 30 // along a side
	if w, h := f.first(tiffWidth, 0), f.first(tiffHeight, 0); w == 0 || h == 0 || w > mostPixels || h > mostPixels {
		return tiffWrong(CauseCorrupt, "a picture of %d x %d", h, w)
	}
	packed, samples, bits := f.first(tiffCompression, 1), f.first(tiffSamples, 1), f.first(tiffBits, 1)
	undo, ok := tiffUnpacked[packed]
	switch name := tiffCompressions[packed]; {
	case !ok && name != "":
		return tiffUnsupported("compressed by %s; write it with Deflate, LZW or no compression", name)
	case !ok:
		return tiffUnsupported("compression %d; write it with Deflate, LZW or no compression", packed)
	}
	for _, b := range f.tags[tiffBits] {
		if b != bits {
			return tiffUnsupported("samples of %d bits; write them with 8 bits each", f.tags[tiffBits])
		}
	}
	for _, kind := range f.tags[tiffFormat] {
		if kind == 3 || kind == 2 && bits != 8 || kind > 4 {
			return tiffUnsupported("samples that are no unsigned integers (SampleFormat %d); write it with 8 or 16 bits a sample", kind)
		}
	}
	if p := f.first(tiffPredictor, 1); p != 1 && (p != 2 || !undo.predictor || bits != 8 && bits != 16) {
		return tiffUnsupported("predictor %d with compression %d and %d bits a sample; write it without a predictor", p, packed, bits)
	}
	return f.checkColours(samples, bits, packed)
}

func (f *tiffFile) checkColours(samples, bits, packed uint64) error {
	colours, planar := f.first(tiffPhotometric, tiffWhiteIsZero), f.first(tiffPlanar, 1) == 2 && samples > 1
	fax, bytes := packed >= 2 && packed <= 4, bits == 8 || bits == 16
	var right bool
	switch colours {
	case tiffWhiteIsZero, tiffBlackIsZero:
		few := bits == 1 || bits == 2 || bits == 4 || bits == 12 && colours == tiffBlackIsZero
		right = samples == 1 && (bytes || few) || samples == 2 && bytes && !planar
	case tiffPalette:
		right = samples == 1 && (bits == 1 || bits == 2 || bits == 4 || bits == 8)
		if right && len(f.tags[tiffColours]) != 3<<bits {
			return tiffWrong(CauseCorrupt, "%d numbers in its colour map, want %d", len(f.tags[tiffColours]), 3<<bits)
		}
	case tiffRGB:
		right = (samples == 3 || samples == 4) && bytes
	case tiffCMYK:
		right = samples == 4 && bytes
	default:
		name := tiffColourNames[colours]
		if name == "" {
			name = fmt.Sprintf("photometric interpretation %d", colours)
		}
		return tiffUnsupported("colours in %s; write it in RGB", name)
	}
	if !right || fax && (bits != 1 || samples != 1) {
		return tiffUnsupported("%d samples of %d bits a pixel (photometric interpretation %d, compression %d); write it in RGB with 8 bits a sample",
			samples, bits, colours, packed)
	}
	return nil
}

// checkDeflate refuses strips that unpack to less than their rows: FFmpeg takes what its memory holds for the rest.
func (f *tiffFile) checkDeflate() error {
	const deflate, oldDeflate = 8, 32946
	if packed := f.first(tiffCompression, 1); packed != deflate && packed != oldDeflate || f.first(tiffFillOrder, 1) != 1 {
		return nil
	}
	samples, height := f.first(tiffSamples, 1), f.first(tiffHeight, 0)
	planes := uint64(1)
	if f.first(tiffPlanar, 1) == 2 {
		samples, planes = 1, samples
	}
	rowBytes := (f.first(tiffWidth, 0)*samples*f.first(tiffBits, 1) + 7) / 8
	rows := min(f.first(tiffRowsPerStrip, height), height)
	offsets, sizes := f.tags[tiffStripOffsets], f.tags[tiffStripBytes]
	if rows == 0 {
		return nil
	}
	perPlane := (height + rows - 1) / rows
	for i := range min(uint64(len(offsets)), uint64(len(sizes)), perPlane*planes) {
		if offsets[i] > uint64(len(f.data)) || sizes[i] > uint64(len(f.data))-offsets[i] {
			return nil // FFmpeg refuses it
		}
		need := min(rows, height-i%perPlane*rows) * rowBytes
		if stopsBefore(f.data[offsets[i]:offsets[i]+sizes[i]], need) {
			return tiffWrong(CauseTruncated, "strip %d", i)
		}
	}
	return nil
}

// stopsBefore reports a zlib stream that unpacks to less than need bytes. Whether it is sound is not looked at.
func stopsBefore(data []byte, need uint64) bool {
	if len(data) == 0 || C.media_zlib_fills((*C.uint8_t)(unsafe.Pointer(&data[0])), C.size_t(len(data)), C.size_t(need)) != 0 {
		return len(data) == 0
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err == nil {
		_, err = io.CopyN(io.Discard, z, int64(need))
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// stack makes the tiles the strips of a picture that is one tile wide and has them one under the other.
func (f *tiffFile) stack() (columns, height C.int32_t, err error) {
	w, h := f.first(tiffTileWidth, 0), f.first(tiffTileHeight, 0)
	const most = 1 << 15 // pixels along a tile's side
	if w == 0 || h == 0 || w > most || h > most {
		return 0, 0, tiffWrong(CauseCorrupt, "tiles of %d x %d", h, w)
	}
	across, down := (f.first(tiffWidth, 0)+w-1)/w, (f.first(tiffHeight, 0)+h-1)/h
	n := across * down
	if f.first(tiffPlanar, 1) == 2 {
		n *= f.first(tiffSamples, 1)
	}
	offsets, sizes := f.tags[tiffTileOffsets], f.tags[tiffTileBytes]
	if uint64(len(offsets)) < n || uint64(len(sizes)) < n {
		return 0, 0, tiffWrong(CauseCorrupt, "%d tiles, of %d the size, want %d", len(offsets), len(sizes), n)
	}
	if down*across > (1<<31-1)/h {
		return 0, 0, tiffUnsupported("%d tiles", n)
	}
	f.tags[tiffStripOffsets], f.tags[tiffStripBytes] = offsets[:n], sizes[:n]
	f.tags[tiffWidth], f.tags[tiffHeight], f.tags[tiffRowsPerStrip] = []uint64{w}, []uint64{across * down * h}, []uint64{h}
	return C.int32_t(across), C.int32_t(h), nil
}

// written is a copy of the file with a directory of its own behind it, of what a decoder of strips has to know.
func (f *tiffFile) written() ([]byte, error) {
	if f.tags[tiffPhotometric] == nil {
		f.tags[tiffPhotometric] = []uint64{tiffWhiteIsZero}
	}
	tags := slices.DeleteFunc(slices.Clone(tiffWritten), func(t uint16) bool { return len(f.tags[t]) == 0 })
	out := bytes.Clone(f.data)
	out = append(out, make([]byte, len(out)%2)...)
	var directory []byte
	directory = f.order.AppendUint16(directory, uint16(len(tags)))
	for _, tag := range tags {
		const short, long = 3, 4
		values, kind := f.tags[tag], uint16(long)
		if tag == tiffBits || tag == tiffColours || tag == tiffExtra || tag == tiffFormat {
			kind = short
		}
		var b []byte
		for _, v := range values {
			switch {
			case v > 1<<32-1:
				return nil, tiffWrong(CauseTruncated, "pixels behind the end")
			case kind == short:
				b = f.order.AppendUint16(b, uint16(v))
			default:
				b = f.order.AppendUint32(b, uint32(v))
			}
		}
		directory = f.order.AppendUint16(f.order.AppendUint16(directory, tag), kind)
		directory = f.order.AppendUint32(directory, uint32(len(values)))
		if len(b) > 4 {
			directory = f.order.AppendUint32(directory, uint32(len(out)))
			out = append(append(out, b...), make([]byte, len(b)%2)...)
			continue
		}
		directory = append(append(directory, b...), make([]byte, 4-len(b))...)
	}
	copy(out, map[bool]string{true: "MM", false: "II"}[f.order == binary.BigEndian])
	f.order.PutUint16(out[2:], 42)
	f.order.PutUint32(out[4:], uint32(len(out)))
	return append(append(out, directory...), 0, 0, 0, 0), nil
}
