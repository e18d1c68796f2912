package load

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// picture is a PNG of 6 x 4 pixels; the one at (x, y) is x, y, 7.
func picture() []byte {
	m := image.NewNRGBA(image.Rect(0, 0, 6, 4))
	for y := range 4 {
		for x := range 6 {
			m.Set(x, y, color.NRGBA{uint8(x), uint8(y), 7, 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// sound is a WAV at 8 kHz whose sample i has the value (i + 1) / 1024.
func sound(n int) []byte {
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+2*n))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 8000)
	b = binary.LittleEndian.AppendUint32(b, 16000)
	b = append(b, "\x02\x00\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*n))
	for i := range n {
		b = binary.LittleEndian.AppendUint16(b, uint16(32*(i+1)))
	}
	return b
}

// film is an uncompressed video of n grey frames of 16 x 16 at 10 a second; frame k has the level 20 + 10 k.
func film(n int) []byte {
	b := []byte("YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n")
	for k := range n {
		b = append(b, "FRAME\n"...)
		b = append(append(b, bytes.Repeat([]byte{byte(20 + 10*k)}, 256)...), bytes.Repeat([]byte{128}, 128)...)
	}
	return b
}

func shapes(m *Media) string {
	var all []string
	for _, t := range m.Tensors {
		all = append(all, fmt.Sprintf("%s %v %v", t.Name, t.DType, t.Shape))
	}
	return strings.Join(all, ", ")
}

// What a sample says itself need not be described; what is described is as in a ring.
func TestSampleFillsInWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		description string
		data        []byte
		want        string
	}{
		{`{"image": {}}`, picture(), "image u8 4x6x3"},
		{`{"image": {"layout": "NCHW", "transform": [{"resize": 2}]}}`, picture(), "image u8 3x2x3"},
		{`{"image": {"dtype": "f32", "transform": [{"resize": [3, 5]}]}}`, picture(), "image f32 3x5x3"},
		{`{"image": {"transform": [{"resize": {"size": 4, "max_size": 5}}]}}`, picture(), "image u8 3x5x3"},
		{`{"image": {"transform": [{"resize": {"size": [7, 7], "fit": "contain"}}]}}`, picture(), "image u8 7x7x3"},
		{`{"image": {"mode": "gray"}}`, picture(), "image u8 4x6x1"},
		{`{"audio": {}}`, sound(50), "audio f32 1x50"},
		{`{"audio": {"rate": 16000}}`, sound(50), "audio f32 1x100"},
		{`{"audio": {"dtype": "i16", "layout": "NLC"}}`, sound(50), "audio i16 50x1"},
		{`{"audio": {"length": 60, "channels": 2}}`, sound(50), "audio f32 2x60"},
		{`{"audio": {"length": 60, "channels": 2, "shape": "ragged"}}`, sound(50), "audio f32 2x50"},
		{`{"audio": {"length": 40, "channels": 2, "shape": "ragged", "crop": "start", "dtype": "i16", "layout": "NLC"}}`, sound(50), "audio i16 40x2"},
		{`{"audio": {"length": 60, "channels": 2, "shape": "ragged", "dtype": "i16", "layout": "NLC"}}`, sound(50), "audio i16 50x2"},
		{`{"audio": {"rate": 8000, "features": {"kind": "mel", "n_fft": 32, "n_mels": 4}}}`, sound(64), "audio f32 4x5"},
		{`{"audio": {"features": {"kind": "mel", "n_fft": 32, "n_mels": 4}}}`, sound(64), "audio f32 4x5"},
		{`{"audio": {"length": 64, "channels": 1, "features": {"kind": "mel", "n_fft": 32, "n_mels": 4}}}`, sound(64), "audio f32 4x5"},
		{`{"wav": {}}`, sound(50), "samples i16 50x1"},
		{`{"wav": {"window": {"start": "1ms", "duration": "2ms"}}}`, sound(50), "samples i16 16x1"},
		{`{"video": {}}`, film(5), "video u8 5x16x16x3, pts f64 5, duration f64 5"},
		{`{"video": {"select": {"kind": "every", "step": 2}, "layout": "NTCHW", "transform": [{"resize": [4, 8]}]}}`, film(5), "video u8 3x3x4x8, pts f64 3, duration f64 3"},
		{`{"video": {"frames": 4, "select": {"kind": "uniform"}}}`, film(9), "video u8 4x16x16x3, pts f64 4, duration f64 4"},
	} {
		m, err := Load([]byte(c.description), Source{Bytes: c.data}, nil)
		if err != nil && strings.Contains(err.Error(), "no FFmpeg") {
			continue
		}
		if err != nil || shapes(m) != c.want {
			t.Errorf("%s: %v %v, want %s", c.description, m, err, c.want)
			continue
		}
		path := filepath.Join(t.TempDir(), "sample")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Load([]byte(c.description), Source{Path: path}, nil)
		if err != nil || shapes(again) != c.want || !bytes.Equal(again.Tensors[0].Data, m.Tensors[0].Data) {
			t.Errorf("%s: another from the file: %v", c.description, err)
		}
	}
}

// affine is of batches; what is told of one picture has it anyway.
func TestOnePictureSaysItsAffineUnasked(t *testing.T) {
	_, err := Load([]byte(`{"image": {"affine": true}}`), Source{Bytes: picture()}, nil)
	if want := "sample:1:22: image.affine: is a field of batches; leave it out: what is told of one picture has it always"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	m := must(Load([]byte(`{"image": {"transform": [{"resize": [8, 18]}]}}`), Source{Bytes: picture()}, nil))
	told, err := json.Marshal(m.Info)
	if want := `"affine":[[3,0,0],[0,2,0]]`; err != nil || !strings.Contains(string(told), want) {
		t.Errorf("got %s, %v; want %s in it", told, err, want)
	}
}

// Pixels, samples and times are those of the files.
func TestLoadedValues(t *testing.T) {
	m := must(Load([]byte(`{"image": {}}`), Source{Bytes: picture()}, nil))
	if got := m.Tensors[0].Data[(3*6+5)*3:][:3]; !bytes.Equal(got, []byte{5, 3, 7}) {
		t.Errorf("pixel %v", got)
	}
	m = must(Load([]byte(`{"audio": {}}`), Source{Bytes: sound(3)}, nil))
	if got := math.Float32frombits(binary.LittleEndian.Uint32(m.Tensors[0].Data[8:])); got != 3/1024. {
		t.Errorf("sample %v", got)
	}
	m, err := Load([]byte(`{"video": {"select": {"kind": "indices", "indices": [2]}}}`), Source{Bytes: film(4)}, nil)
	if err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	pts := math.Float64frombits(binary.LittleEndian.Uint64(m.Tensors[1].Data))
	if level := int(m.Tensors[0].Data[0]); level < 39 || level > 41 || math.Abs(pts-0.2) > 1e-9 {
		t.Errorf("level %d at %v", level, pts)
	}
}

// An array in the caller's memory is a view of it where it can be, and a copy of its own where it cannot.
func TestArraysAreViewsWhereTheyCanBe(t *testing.T) {
	npy := func(fortran string, shift int) []byte {
		header := fmt.Sprintf("{'descr': '<i4', 'fortran_order': %s, 'shape': (2, 3), }", fortran)
		header += strings.Repeat(" ", 118-1-len(header)) + "\n"
		b := append(make([]byte, 0, 256), "\x93NUMPY\x01\x00\x76\x00"...)
		b = append(b, header...)
		for i := range 6 {
			b = binary.LittleEndian.AppendUint32(b, uint32(i))
		}
		return append(make([]byte, shift, 256+shift), b...)[shift:]
	}
	for _, c := range []struct {
		data  []byte
		view  bool
		order []uint32
	}{{npy("False", 0), true, []uint32{0, 1, 2, 3, 4, 5}}, {npy("True", 0), false, []uint32{0, 2, 4, 1, 3, 5}}, {npy("False", 1), false, []uint32{0, 1, 2, 3, 4, 5}}} {
		m := must(Load([]byte(`{"npy": {}}`), Source{Bytes: c.data}, nil))
		a := m.Tensors[0]
		if shapes(m) != "array i32 2x3" || within(a.Data, c.data, 4) != c.view {
			t.Errorf("%s, a view: %v", shapes(m), within(a.Data, c.data, 4))
		}
		for i, want := range c.order {
			if got := binary.LittleEndian.Uint32(a.Data[4*i:]); got != want {
				t.Errorf("element %d is %d, want %d", i, got, want)
			}
		}
	}
}

// Booleans have the type of bytes; which arrays are theirs is said beside them.
func TestBooleansAreNamed(t *testing.T) {
	for file, want := range map[string]string{"bool.npy": `{"booleans":["array"]}`, "c.npy": "null", "stored.npz": "null"} {
		data, err := os.ReadFile(filepath.Join("../array/testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		kind := filepath.Ext(file)[1:]
		if got, _ := json.Marshal(must(Load([]byte(`{"`+kind+`": {}}`), Source{Bytes: data}, nil)).Info); string(got) != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// A video comes in chunks, the last of them short, with the frames and times of one piece.
func TestVideoInChunks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "film")
	if err := os.WriteFile(path, film(8), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open([]byte(`{"video": {"frames": 3, "transform": [{"resize": [4, 4]}]}}`), Source{Path: path})
	if err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	defer s.Close()
	var chunks []int64
	var first []string
	for {
		m, err := s.Next(nil)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, m.Tensors[0].Shape[0])
		first = append(first, fmt.Sprintf("%.1f", math.Float64frombits(binary.LittleEndian.Uint64(m.Tensors[1].Data))))
	}
	if fmt.Sprint(chunks, first) != "[3 3 2] [0.0 0.3 0.6]" {
		t.Fatal(chunks, first)
	}
	for description, want := range map[string]string{
		`{"audio": {}}`: "comes in one piece; want video", `{"video": {}}`: "frames is missing, want how many a chunk has",
	} {
		if _, err := Open([]byte(description), Source{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", description, err)
		}
	}
}

// Wrong descriptions and wrong samples are told apart.
func TestWrongDescriptionsAndSamplesAreToldApart(t *testing.T) {
	for description, want := range map[string]string{
		`{}`:             "says nothing; want one of image, video, audio",
		`{"source": {}}`: "source: is not of one sample; want one of image, video, audio",
		`{"audio": {"window": {"start_column": "at"}}}`:                             "audio.window.start_column: is of a ring's samples, which have columns; say start: 1.5s",
		`{"video": {"window": {"end_column": "at"}}}`:                               "video.window.end_column: is of a ring's samples, which have columns; say duration: 1.5s",
		`{"image": {}, "audio": {}}`:                                                "got 2 sections, want one of image, video, audio",
		`{"audio": {"rates": 3}}`:                                                   `audio.rates: unknown key; did you mean "rate"?`,
		`{"video": {"name": "x"}}`:                                                  "video.name: unknown key; valid here: from",
		`{"video": {"size": 8}}`:                                                    "video.size: unknown key; the transform says how large",
		`{"wav": {"window": {"start": "x"}}}`:                                       `wav.window: got "x", want a time`,
		`{"video": {"select": {"kind": "uniform"}}}`:                                "video.select: got kind: uniform without frames",
		`{"probe": "images"}`:                                                       `probe: got "images", want video, frames, audio or wav`,
		`{"video": {"select": {"kind": "indices", "indices": []}}}`:                 "video.select.indices: got an empty list, want one entry or more",
		`{"video": {"select": {"kind": "times", "times": []}}}`:                     "video.select.times: got an empty list",
		`{"video": {"scaler": "area", "transform": [{"resize": 20}]}}`:              "video.scaler: got area without resize: [H, W]",
		`{"video": {"seek": "approximate", "select": {"kind": "keyframes"}}}`:       "video.seek: got approximate with select: {kind: keyframes}",
		`{"audio": {"dtype": "i16", "features": {"kind": "mel"}}}`:                  "audio.dtype: got i16 with features, want f32",
		`{"audio": {"features": {"kind": "mel", "n_fft": 401}}}`:                    "audio.features.n_fft: got 401 points",
		`{"audio": {"rate": 8000, "features": {"kind": "mel", "win_length": 500}}}`: "audio.features.win_length: got 500, want 1 to n_fft",
		`{"audio": {"features": {"kind": "mfcc", "n_mels": 8, "n_mfcc": 9}}}`:       "audio.features.n_mfcc: got 9",
		`{"audio": {"features": {"kind": "mel", "f_min": 900, "f_max": 800}}}`:      "audio.features.f_min: got 900 Hz, want 0 to less than f_max, 800 Hz",
		`{"audio": {"rate": 8000, "dtype": "i16", "features": {"kind": "mel"}}}`:    "audio.dtype: got i16 with features",
		`{"audio": {"normalize": {"to": "peak", "level": -1}}}`:                     "audio.normalize.level: got level -1",
		`{"audio": {"length": 134217729}}`:                                          "audio.length: got 134217729, want a whole number from 1 to 134217728",
		`{"probe": 5}`:                                                              "probe: got 5, want text",
		`{"wav": 5}`:                                                                "wav: got 5, want a mapping of window",
		`{"wav": {}, "npy": {}}`:                                                    "got wav and npy, want one of them",
		`{"ffmpeg": {"log_level": "error"}}`:                                        `ffmpeg.log_level: got text "error", want a whole number`,
		`{"ffmpeg": {"loglevel": 3}}`:                                               `ffmpeg.loglevel: unknown key; did you mean "log_level"?`,
		`{"npy": {"x": 1}}`:                                                         "npy.x: unknown key; none is valid here: npy: {}",
		``:                                                                          "is empty, want one of image, video and audio",
		`[1]`:                                                                       `sample:1:1: got a list, want one of image, video and audio, such as {"image": {}}`,
		`image`:                                                                     `sample:1:1: got text "image", want one of image, video and audio`,
		`{"image": {"transform": [{"center_crop": 8}, {"normalize": {"mean": [1], "std": [1]}}]}}`: "got 1 values, want 3 for mode rgb",
	} {
		_, err := Load([]byte(description), Source{Bytes: picture()}, nil)
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", description, err, want)
		}
	}
	words := filepath.Join(t.TempDir(), "words.mp4")
	if err := os.WriteFile(words, []byte("neither this nor that"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, description := range []string{`{"image": {}}`, `{"audio": {}}`, `{"video": {}}`, `{"npy": {}}`, `{"npz": {}}`, `{"wav": {}}`, `{"probe": "audio"}`, `{"probe": "wav"}`} {
		for _, src := range []Source{{Bytes: []byte("neither this nor that, and not at all anything else")}, {Path: "/nowhere/at/all"}, {Path: words}, {}} {
			_, err := Load([]byte(description), src, nil)
			var wrong *Error
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), src.Path) { // which names the file
				t.Errorf("%s of %v: %v", description, src, err)
			}
		}
	}
	for window, want := range map[string]string{
		`"start": "1h"`: "wav: the window begins after the end: it begins at frame 28800000 of 50", `"duration": "1us"`: "wav: the window of 1e-06 seconds holds no samples",
	} {
		if _, err := Load([]byte(`{"wav": {"window": {`+window+`}}}`), Source{Bytes: sound(50)}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", window, err)
		}
	}
	refused := errors.New("no memory")
	if _, err := Load([]byte(`{"image": {}}`), Source{Bytes: picture()}, func(int) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// A file that is not there is told with where it was looked for, and a key that others have of sounds with ours.
func TestWhatIsNotThereIsToldWithWhatIs(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for description, want := range map[string]string{
		`{"image": {}}`:             fmt.Sprintf(`load: "no/where.jpg": no such file or directory; looked for as %q`, here+"/no/where.jpg"),
		`{"audio": {"mono": true}}`: "audio.mono: unknown key; say channels: 1, which is the mean of all",
	} {
		if _, err := Load([]byte(description), Source{Path: "no/where.jpg"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", description, err, want)
		}
	}
}

// A head is not believed where the file is far too short for it: no memory is taken for a picture that is not there.
func TestAHeadAloneTakesNoMemory(t *testing.T) {
	long := bytes.Clone(picture())
	binary.BigEndian.PutUint32(long[16:], 12000) // of 6 x 4
	binary.BigEndian.PutUint32(long[20:], 12000)
	binary.BigEndian.PutUint32(long[29:], crc32.ChecksumIEEE(long[12:29]))
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 40, 40)), nil); err != nil {
		t.Fatal(err)
	}
	frame := bytes.Index(photo.Bytes(), []byte{0xff, 0xc0}) + 5
	binary.BigEndian.PutUint16(photo.Bytes()[frame:], 12000)
	binary.BigEndian.PutUint16(photo.Bytes()[frame+2:], 12000)
	for name, data := range map[string][]byte{"PNG": long, "JPEG": photo.Bytes()} {
		asked := 0
		_, err := Load([]byte(`{"image": {}}`), Source{Bytes: data}, func(n int) ([]byte, error) {
			asked += n
			return make([]byte, n), nil
		})
		if wrong := (*Error)(nil); !errors.As(err, &wrong) || asked > 0 {
			t.Errorf("%s: got %v, and %d bytes asked for; want an *Error and none", name, err, asked)
		}
	}
}
