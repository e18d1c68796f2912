//go:build !noffmpeg

package media

import (
	"io"
	"os"
	"reflect"
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
