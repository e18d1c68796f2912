//go:build !noffmpeg

package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// exrFile is a picture of floats, line by line in blocks of 16, as ZIP has them: value says what a pixel has, of all channels alike.
func exrFile(t testing.TB, channels string, compression byte, side int, value func(x, y int) float32) []byte {
	t.Helper()
	le := binary.LittleEndian
	d := []byte("\x76\x2f\x31\x01\x02\x00\x00\x00")
	attribute := func(name, kind string, value []byte) {
		d = append(le.AppendUint32(append(d, name+"\x00"+kind+"\x00"...), uint32(len(value))), value...)
	}
	box := make([]byte, 8)
	box = le.AppendUint32(le.AppendUint32(box, uint32(side-1)), uint32(side-1))
	var list []byte
	for _, c := range channels {
		list = append(list, string(c)+"\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00"...)
	}
	attribute("channels", "chlist", append(list, 0))
	attribute("compression", "compression", []byte{compression})
	attribute("dataWindow", "box2i", box)
	attribute("displayWindow", "box2i", box)
	attribute("lineOrder", "lineOrder", []byte{0})
	attribute("pixelAspectRatio", "float", le.AppendUint32(nil, math.Float32bits(1)))
	attribute("screenWindowCenter", "v2f", make([]byte, 8))
	attribute("screenWindowWidth", "float", le.AppendUint32(nil, math.Float32bits(1)))
	d = append(d, 0)
	const lines = 16
	blocks := (side + lines - 1) / lines
	table := len(d)
	d = append(d, make([]byte, 8*blocks)...)
	for i := range blocks {
		le.PutUint64(d[table+8*i:], uint64(len(d)))
		var raw []byte
		for y := i * lines; y < min(side, (i+1)*lines); y++ {
			for range channels {
				for x := range side {
					raw = le.AppendUint32(raw, math.Float32bits(value(x, y)))
				}
			}
		}
		packed := exrZIP(t, raw)
		d = le.AppendUint32(le.AppendUint32(d, uint32(i*lines)), uint32(len(packed)))
		d = append(d, packed...)
	}
	return d
}

// exrZIP takes the bytes' even ones first, then their differences, and packs those.
func exrZIP(t testing.TB, raw []byte) []byte {
	var apart []byte
	for _, first := range []int{0, 1} {
		for i := first; i < len(raw); i += 2 {
			apart = append(apart, raw[i])
		}
	}
	for i := len(apart) - 1; i > 0; i-- {
		apart[i] = apart[i] - apart[i-1] + 128
	}
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(apart); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const exrSide, exrByZIP = 40, 3

func exrRamp(x, y int) float32 { return float32(x*exrSide+y) / (exrSide * exrSide) }

// Grey of floats has 0 for black and 1 for white, as colours have; swscale takes it for limited range unless it is told.
func TestGreyEXRsAreAsBrightAsThoseOfColour(t *testing.T) {
	op := compiled(t, Config{Resize: Square(exrSide)})
	w, grey, colours := worker(t, nil), make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
	if _, err := w.Row(grey, exrFile(t, "Y", exrByZIP, exrSide, exrRamp), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Row(colours, exrFile(t, "BGR", exrByZIP, exrSide, exrRamp), op, Draw{}); err != nil {
		t.Fatal(err)
	}
	for i := range grey {
		want := exrRamp(i/3%exrSide, i/3/exrSide) * 255
		if math.Abs(float64(want)-float64(grey[i])) > 1.5 || math.Abs(float64(want)-float64(colours[i])) > 1.5 {
			t.Fatalf("pixel %d: %d of grey, %d of colour, want %.1f", i/3, grey[i], colours[i], want)
		}
	}
}

// A block that does not unpack is damage; FFmpeg leaves it black and says so in its log only.
func TestEXRsWithADamagedBlockAreCorrupt(t *testing.T) {
	op := compiled(t, Config{Resize: Square(exrSide)})
	data := exrFile(t, "BGR", exrByZIP, exrSide, exrRamp)
	data[len(data)-100] ^= 0x55
	_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), data, op, Draw{})
	var wrong *FormatError
	if !errors.As(err, &wrong) || wrong.Cause() != CauseCorrupt {
		t.Errorf("got %v, want it to be corrupt", err)
	}
}

// FFmpeg 5.1 does not undo DWAA and DWAB, and shows other pixels.
func TestEXRsOfUnknownCompressionsAreRefusedByName(t *testing.T) {
	op := compiled(t, Config{Resize: Square(exrSide)})
	for compression, name := range exrUnknown {
		_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), exrFile(t, "BGR", byte(compression), exrSide, exrRamp), op, Draw{})
		var unsupported *UnsupportedError
		if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want unsupported: %s", err, name)
		}
	}
}
