package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grid is values that 8 bits hold, so that all encodings hold them.
func grid(channels, frames int) Wave {
	w := Wave{Channels: channels, Frames: frames, Rate: 11025, Data: make([]float32, channels*frames)}
	for i := range w.Data {
		w.Data[i] = float32((i*37)%256-128) / 128
	}
	return w
}

func savedBytes(t *testing.T, w Wave, e Encoding) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteWAV(&b, w, e); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Every encoding comes back bit for bit through the reader, as do odd sizes.
func TestSavedWAVComesBackBitForBit(t *testing.T) {
	worker := workerOf(t, Config{})
	defer worker.Close()
	for e := U8; e <= F64; e++ {
		for channels := 1; channels <= 3; channels++ {
			want := grid(channels, 40001)
			path := filepath.Join(t.TempDir(), "a.wav")
			if err := SaveWAV(path, want, e); err != nil {
				t.Fatal(err)
			}
			got, _, err := worker.Wave(Source{Path: path}, Draw{})
			if err != nil {
				t.Fatalf("%v of %d channels: %v", e, channels, err)
			}
			if got.Rate != want.Rate || got.Channels != channels || got.Frames != want.Frames {
				t.Fatalf("%v: %d frames of %d channels at %d Hz", e, got.Frames, got.Channels, got.Rate)
			}
			for i := range want.Data {
				if got.Data[i] != want.Data[i] {
					t.Fatalf("%v: sample %d is %g, want %g", e, i, got.Data[i], want.Data[i])
				}
			}
			info, err := os.Stat(path)
			if err != nil || info.Size()%2 != 0 {
				t.Errorf("%v: %d bytes, %v", e, info.Size(), err)
			}
		}
	}
}

// Values round to the nearest, halves to even, and are cut to the range.
func TestSavedIntegersAreRoundedAndCut(t *testing.T) {
	values := []float32{0, 0.5 / 32768, 1.5 / 32768, 2.4 / 32768, -0.5 / 32768, 1, 3, -1, -3, 1024, -1024}
	want := []int16{0, 0, 2, 2, 0, 32767, 32767, -32768, -32768, 32767, -32768}
	b := savedBytes(t, Wave{Data: values, Channels: 1, Frames: len(values), Rate: 8000}, S16)[44:]
	for i, w := range want {
		if got := int16(uint16(b[2*i]) | uint16(b[2*i+1])<<8); got != w {
			t.Errorf("%g is stored as %d, want %d", values[i], got, w)
		}
	}
}

// No integer is made of what is no number, infinite or too large, and the refusal names the sample; floats are written as they are.
func TestSamplesThatAreNoNumbersAreRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, bad := range []float32{float32(math.NaN()), inf, -inf, 1025, -32768} {
		w := grid(2, 5)
		w.Data[5+3] = bad
		for e := U8; e <= S32; e++ {
			dir := t.TempDir()
			err := SaveWAV(filepath.Join(dir, "a.wav"), w, e)
			var value *ValueError
			if want := fmt.Sprintf("sample 3 of channel 1 is %g, want ", bad); !errors.As(err, &value) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %v, want %s", e, err, want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s is left behind", left[0].Name())
			}
		}
		b := savedBytes(t, w, F32)
		got := binary.LittleEndian.Uint32(b[len(b)-4*(2*5-2*3-1):])
		if got != math.Float32bits(bad) {
			t.Errorf("%g is written as the bits %08x", bad, got)
		}
	}
}

// The header of 4 GiB or more is RF64's, and our reader takes it. No such file is written here.
func TestLargeWAVIsRF64(t *testing.T) {
	frames := 1 << 31
	head := wavHeader(Wave{Channels: 2, Frames: frames, Rate: 48000}, S16)
	size := int64(len(head)) + 4*int64(frames)
	pcm, err := ParseWAV(bytes.NewReader(head), size)
	if err != nil || string(head[:4]) != "RF64" || pcm.Frames != int64(frames) || pcm.Offset != int64(len(head)) {
		t.Errorf("%+v, %v", pcm, err)
	}
}

func TestWAVThatCannotBeIsRefused(t *testing.T) {
	good := grid(2, 10)
	for _, c := range []struct {
		change func(w *Wave, e *Encoding)
		words  string
	}{
		{func(w *Wave, e *Encoding) { *e = 77 }, "no encoding encoding(77)"},
		{func(w *Wave, e *Encoding) { w.Channels = 0 }, "0 channels"},
		{func(w *Wave, e *Encoding) { w.Channels = 65 }, "65 channels"},
		{func(w *Wave, e *Encoding) { w.Rate = 0 }, "at 0 Hz"},
		{func(w *Wave, e *Encoding) { w.Frames = 11 }, "20 samples, want 2 channels of 11"},
	} {
		w, e := good, S16
		c.change(&w, &e)
		dir := t.TempDir()
		err := SaveWAV(filepath.Join(dir, "a.wav"), w, e)
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("error %v, want %q", err, c.words)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s is left behind", left[0].Name())
		}
	}
	if err := SaveWAV(filepath.Join(t.TempDir(), "no", "a.wav"), good, S16); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	if err := WriteWAV(full, good, S16); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v", err)
	}
}

// A FIFO, as a device, takes the bytes and keeps its name.
func TestWAVGoesIntoWhatIsNoRegularFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	read := make(chan []byte)
	go func() {
		file, _ := os.OpenFile(path, os.O_RDWR, 0) // so that nobody waits for ever where it is replaced
		defer file.Close()
		got := make([]byte, len(savedBytes(t, grid(2, 10), S16)))
		_ = file.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.ReadFull(file, got)
		read <- got
	}()
	if err := SaveWAV(path, grid(2, 10), S16); err != nil {
		t.Fatal(err)
	}
	if got := <-read; !bytes.Equal(got, savedBytes(t, grid(2, 10), S16)) {
		t.Error("the reader of the FIFO got other bytes")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is %v now (%v)", info, err)
	}
}
