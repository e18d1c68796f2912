//go:build !noffmpeg

package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/asticode/go-astiav"
)

// pointerOf relies on it: the C pointer is the first field of go-astiav's types.
func TestPinnedAstiavKeepsItsPointersFirst(t *testing.T) {
	for _, v := range []any{astiav.CodecContext{}, astiav.Packet{}, astiav.Frame{}} {
		f := reflect.TypeOf(v).Field(0)
		if f.Name != "c" || f.Type.Kind() != reflect.Pointer {
			t.Errorf("%T: first field is %s %s, want the C pointer", v, f.Name, f.Type)
		}
	}
	frame := astiav.AllocFrame()
	defer frame.Free()
	if pointerOf(frame) != frame.UnsafePointer() {
		t.Error("the first field of a frame is not its pointer")
	}
}

// FFmpeg's complaints end up in the error, never on stderr.
func TestFFmpegPrintsNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	op := compiled(t, eval)
	data := testPNG(t, 80, 60)
	data[len(data)/2] ^= 0x55
	_, rowErr := worker(t, nil).Row(make([]byte, op.RowBytes()), data, op, Draw{})
	if err := syscall.Dup3(saved, 2, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(saved)
	w.Close()
	printed, err := io.ReadAll(r)
	if err != nil || len(printed) > 0 {
		t.Errorf("printed %q (error %v)", printed, err)
	}
	r.Close()
	if rowErr == nil {
		t.Error("a damaged PNG was decoded")
	}
}

// SGI's dimension is 1 where a picture of greys is one line.
func TestSGIOfOneLineIsRead(t *testing.T) {
	be, file := binary.BigEndian, make([]byte, 512, 512+5)
	copy(file, "\x01\xda\x00\x01\x00\x01")
	be.PutUint16(file[6:], 5)
	be.PutUint16(file[8:], 1)
	be.PutUint16(file[10:], 1)
	file = append(file, 1, 50, 100, 150, 255)
	op, row := whole(t, 5, 1), make([]byte, 15)
	if _, err := worker(t, nil).Row(row, file, op, Draw{}); err != nil {
		t.Fatal(err)
	}
	if want := []byte{1, 1, 1, 50, 50, 50, 100, 100, 100, 150, 150, 150, 255, 255, 255}; !bytes.Equal(row, want) {
		t.Errorf("got %v, want %v", row, want)
	}
}

// A size that the description admits and FFmpeg does not is no damage of the file.
func TestPictureBeyondFFmpegIsUnsupported(t *testing.T) {
	cfg := eval
	cfg.MaxPixels = 20000 * 20000
	data := testPNG(t, 8, 8)
	binary.BigEndian.PutUint32(data[16:], 20000)
	binary.BigEndian.PutUint32(data[20:], 20000)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	op := compiled(t, cfg)
	_, err := worker(t, nil).Row(make([]byte, op.RowBytes()), data, op, Draw{})
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "20000x20000") {
		t.Fatalf("got %v, want an UnsupportedError that names the size", err)
	}
}
