package coded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
)

func alloc(n int) ([]byte, error) { return make([]byte, n), nil }

func floatsOf(values ...float32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// A WAV file has the samples in either layout, at a path or in memory, with FFmpeg and without.
func TestWAVFilesNeedNoFFmpeg(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.wav")
	planar, interleaved := floatsOf(0, 0.25, -0.5, 0.5, 0.75, -1), floatsOf(0, 0.5, 0.25, 0.75, -0.5, -1)
	odd := append([]byte{0}, planar...)[1:] // at an address that floats do not have
	var made [][]byte
	for _, c := range []struct {
		layout string
		data   []byte
	}{{"", planar}, {"NCL", odd}, {"NLC", interleaved}} {
		description := []byte(`{"wav": {"rate": 8000, "channels": 2, "layout": "` + c.layout + `"}}`)
		out, err := Save(description, c.data, "", alloc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Save(description, c.data, path, nil); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(file, out) {
			t.Errorf("the file differs from the bytes: %v", err)
		}
		made = append(made, out)
	}
	if !bytes.Equal(made[0], made[1]) || !bytes.Equal(made[0], made[2]) {
		t.Error("layouts give different files")
	}
	pcm, err := audio.ParseWAV(bytes.NewReader(made[0]), int64(len(made[0])))
	want := []int16{0, 16384, 8192, 24576, -16384, -32768}
	for i, v := range want {
		if got := int16(binary.LittleEndian.Uint16(made[0][pcm.Offset+int64(2*i):])); err != nil || got != v {
			t.Errorf("sample %d is %d, want %d: %v", i, got, v, err)
		}
	}
}

func TestSaveRefusesWhatMakesNoSense(t *testing.T) {
	one := floatsOf(0)
	for _, c := range []struct {
		description string
		data        []byte
		words       string
	}{
		{`{}`, one, "want one of image, wav"},
		{`{"wav": {}, "image": {}}`, one, "want one of image, wav"},
		{`{"wav": {"rate": 8000, "chanels": 1}}`, one, `did you mean "channels"`},
		{`{"wav": {"rate": 8000}}`, one, "wav.channels: is missing"},
		{`{"wav": 5}`, one, "wav: got 5, want a mapping of rate, channels"},
		{`{"wav": {"rate": "fast"}}`, one, `wav.rate: got text "fast", want a whole number from 1 to 768000`},
		{`{"image": {"width": 4294967360, "height": 48}}`, one, "image.width: got 4294967360, want a whole number from 1 to 65535"},
		{`{"image": {"width": 64, "codec": "png"}}`, one, "image.height: is missing, want the rows"},
		{`{"image": {"width": 64, "height": 48, "quality": -5}}`, one, "image.quality: got -5, want a whole number from 0"},
		{`{"image": {"width": 64, "height": 48, "width": 32}}`, one, "image.width: given twice; keep one"},
		{`{"image": {"WIDTH": 64, "height": 48}}`, one, `image.WIDTH: unknown key; did you mean "width"?`},
		{`{"image": {"width": 64, "height": 48}} x`, one, "got more after the description, want one JSON object"},
		{``, one, "description: is empty, want image, wav"},
		{`{"wav": {"rate": 0, "channels": 1}}`, one, "wav.rate: got 0"},
		{`{"wav": {"rate": 8000, "channels": 1, "layout": "LNC"}}`, one, `wav.layout: got "LNC", want NCL or NLC`},
		{`{"wav": {"rate": 8000, "channels": 1, "encoding": "s12"}}`, one, `wav.encoding: got "s12"`},
		{`{"image": {"width": 1, "height": 1}}`, one, "image.codec: is missing"},
		{`{"image": {"width": 1, "height": 1, "first": 0}}`, one, "image.first: pictures in memory have no numbers"},
	} {
		_, err := Save([]byte(c.description), c.data, "", alloc)
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v, want %s", c.description, err, c.words)
		}
	}
	for _, c := range []struct {
		channels string
		data     []byte
		words    string
	}{
		{"1", one[:3], "samples of 3 bytes, want float32"}, {"2", one, "1 samples, want a multiple of the 2 channels"},
		{"1", floatsOf(0, float32(math.NaN())), "sample 1 of channel 0 is NaN, want a number from -1 to 1; f32 and f64 take it"},
		{"2", floatsOf(0, 0, 0, 20000), "sample 1 of channel 1 is 20000, want -1 to 1, and no more than 1024; integers of 16 bits are to be divided by 32768"},
	} {
		_, err := Save([]byte(`{"wav": {"rate": 8000, "channels": `+c.channels+`}}`), c.data, "", alloc)
		var misused *MisuseError
		if !errors.As(err, &misused) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("error %v, want %s", err, c.words)
		}
	}
	if _, err := Save([]byte(`{"wav": {"rate": 8000, "channels": 1}}`), one, "/nowhere/a.wav", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := Create([]byte(`{}`), ""); err == nil || !strings.Contains(err.Error(), "format: is missing") {
		t.Errorf("error %v", err)
	}
}

// What cannot be done in the build at hand is refused by name: without FFmpeg everything but WAV files, with it what it does not know.
func TestWhatThisBuildCannotIsNamed(t *testing.T) {
	_, picture := Save([]byte(`{"image": {"width": 1, "height": 1, "codec": "pngg"}}`), make([]byte, 3), "", alloc)
	_, container := Create([]byte(`{"format": "mp5"}`), "")
	_, file := Create([]byte(`{}`), filepath.Join(t.TempDir(), "a.mp5"))
	for _, err := range []error{picture, container, file} {
		var e *mux.Error
		if !errors.As(err, &e) || e.Cause() != mux.CauseUnsupported {
			t.Errorf("error %v, want cause %s", err, mux.CauseUnsupported)
		}
	}
}
