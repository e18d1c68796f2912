//go:build !noffmpeg

package audio

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spdl/spdl/tests/damage"
)

// silentFLAC is so many blocks of 65,535 samples, each of which takes 15 bytes or so.
func silentFLAC(blocks int) []byte {
	const block, rate = 65535, 44100
	total := uint64(blocks) * block
	file := join("fLaC\x80\x00\x00\x22", []uint16{block, block}, "\x00\x00\x00\x00\x00\x00",
		uint64(rate)<<44|15<<36|total, make([]byte, 16))
	for i := range blocks {
		head := utf8.AppendRune([]byte{0xff, 0xf8, 0x70, 0x08}, rune(i))
		head = append(head, (block-1)>>8, (block-1)&0xff)
		head = append(head, byte(damage.CRC(head, 8, 0x07)))
		frame := append(head, 0, 0, 0) // a constant, of 16 bits
		sum := damage.CRC(frame, 16, 0x8005)
		file = append(file, append(frame, byte(sum>>8), byte(sum))...)
	}
	return file
}

// A sound that unpacks to much more takes the memory of the frames that are asked for, of audio.max_frames at most: 44 KiB are 750 MiB here.
func TestSoundsThatUnpackTakeWhatIsAskedFor(t *testing.T) {
	data := silentFLAC(3000)
	const most = 1 << 22 // frames: 16 MiB
	type bomb struct {
		cfg     Config
		cause   string
		allowed int64
	}
	bombs := map[string]bomb{
		"the limit":            {Config{Length: 1 << 26, MaxFrames: most}, CauseTooLarge, 64 << 20},
		"the limit, filtered":  {Config{Length: 1 << 26, MaxFrames: most, Filter: "anull"}, CauseTooLarge, 64 << 20},
		"the beginning":        {Config{Length: 16000, Crop: CropStart}, "", 16 << 20},
		"more than the row":    {Config{Length: 16000}, CauseTooLarge, 16 << 20},
		"the same, resampled":  {Config{Length: 16000, Rate: 16000}, CauseTooLarge, 16 << 20},
		"a window far in it":   {Config{Length: 16000, Crop: CropStart, Window: Window{Start: 4000}}, "", 16 << 20},
		"any part":             {Config{Length: 16000, Crop: CropRandom, MaxFrames: most}, "", 16 << 20},
		"any part, filtered":   {Config{Length: 16000, Crop: CropRandom, MaxFrames: most, Filter: "anull"}, CauseTooLarge, 64 << 20},
		"a window, any part":   {Config{Length: 16000, Crop: CropRandom, Window: Window{Start: 100, Duration: 2}}, "", 16 << 20},
		"the middle of it all": {Config{Length: 16000, Crop: CropCentre, MaxFrames: most}, "", 16 << 20},
		"all of it":            {Config{Length: 1 << 26, Rate: 8000, MaxFrames: most}, CauseTooLarge, 64 << 20},
	}
	try := func(name string, c bomb) {
		c.cfg.Channels = 1
		w := workerOf(t, c.cfg)
		row := Row{Data: make([]byte, w.op.RowBytes())}
		var err error
		peak := damage.PeakBytes(t, func() { _, err = w.Decode(row, Source{Bytes: data}, Draw{}) })
		w.Close()
		cause := ""
		if named, ok := err.(interface{ Cause() string }); ok {
			cause = named.Cause()
		}
		t.Logf("%s: %.1f MiB, %v", name, float64(peak)/(1<<20), err)
		if cause != c.cause || (err != nil) != (c.cause != "") || peak > c.allowed {
			t.Errorf("%s: got %v with %d MiB of memory, want cause %q and at most %d", name, err, peak>>20, c.cause, c.allowed>>20)
		}
	}
	for _, allowed := range []int64{16 << 20, 64 << 20} { // the larger ones leave memory that is taken again
		for name, c := range bombs {
			if c.allowed == allowed {
				try(name, c)
			}
		}
	}
}

// What is packed in tags before a sound is not unpacked, and the sound is what it is without them.
func TestPackedTagsTakeNoMemory(t *testing.T) {
	sound := testdata(t, "lame.mp3")
	w := workerOf(t, Config{})
	defer w.Close()
	want, _, err := w.Wave(Source{Bytes: sound}, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	frames, level := want.Frames, rms(want.Data)
	tagged := append(damage.PackedTag(t, 64<<20), sound...)
	path := t.TempDir() + "/tagged.mp3"
	writeFile(t, path, tagged)
	for _, src := range []Source{{Bytes: tagged}, {Path: path}} {
		var got Wave
		peak := damage.PeakBytes(t, func() { got, _, err = w.Wave(src, Draw{}) })
		t.Logf("%.1f MiB", float64(peak)/(1<<20))
		if err != nil || got.Frames != frames || rms(got.Data) != level || peak > 16<<20 {
			t.Errorf("got %d frames, want %d, with %d MiB of memory: %v", got.Frames, frames, peak>>20, err)
		}
	}
}

// Tags without an end are no sound: the file is refused before as many reads as it has tags.
func TestTooManyTagsBeforeASoundAreRefused(t *testing.T) {
	sound := testdata(t, "lame.mp3")
	w := workerOf(t, Config{})
	defer w.Close()
	tag := []byte("ID3\x04\x00\x00\x00\x00\x00\x00")
	for tags, fine := range map[int]bool{maxChunks - 1: true, maxChunks: false, 1 << 20: false} { // beside its own
		_, _, err := w.Wave(Source{Bytes: append(bytes.Repeat(tag, tags), sound...)}, Draw{})
		if fine != (err == nil) || !fine && !strings.Contains(err.Error(), "too many tags before the sound") {
			t.Errorf("%d tags: got %v", tags, err)
		}
	}
}

// One channel of 64 is read of a file without taking memory for the others: 128 MiB of file here, for a row of 1 MiB.
func TestChannelsThatAreNotTakenTakeNoMemory(t *testing.T) {
	const channels, frames = 64, 1 << 18
	path := t.TempDir() + "/wide.wav"
	head := wavBytes(tagFloat, channels, 48000, 64, nil)
	copy(head[40:], bytesAs(uint32(channels*frames*8)))
	writeFile(t, path, head)
	if err := os.Truncate(path, int64(len(head))+channels*frames*8); err != nil { // the samples are a hole, zeros
		t.Skip("no file of that size: " + err.Error())
	}
	w := workerOf(t, Config{Select: []int{63}, Length: frames})
	defer w.Close()
	row := Row{Data: make([]byte, w.op.RowBytes())}
	var err error
	peak := damage.PeakBytes(t, func() { _, err = w.Decode(row, Source{Path: path}, Draw{}) })
	t.Logf("%.1f MiB", float64(peak)/(1<<20))
	if err != nil || peak > 16<<20 {
		t.Errorf("got %v with %d MiB of memory, want at most 16", err, peak>>20)
	}
}
