package verbs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
)

// clips is a folder of n uncompressed videos of 4 + k grey frames, 16 x 16 and 10 a second; frame j has level 40 + 20 j.
func clips(t *testing.T, n int) string {
	t.Helper()
	if _, err := video.Compile(video.Config{Frames: 1, Select: video.Selection{Kind: video.Uniform, Count: 1}, Image: media.Config{Resize: media.Square(8)}}); err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	dir := t.TempDir()
	for k := range n {
		var b bytes.Buffer
		b.WriteString("YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n")
		for j := range 4 + k {
			b.WriteString("FRAME\n")
			b.Write(bytes.Repeat([]byte{byte(40 + 20*j)}, 256))
			b.Write(bytes.Repeat([]byte{128}, 128))
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.y4m", k)), b.String())
	}
	return dir
}

// tones is a folder of n WAVs of 1000 + 100 k samples at 8 kHz, one channel, as loud as can be.
func tones(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		samples := 1000 + 100*k
		b := []byte("RIFF")
		b = binary.LittleEndian.AppendUint32(b, uint32(36+2*samples))
		b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
		b = binary.LittleEndian.AppendUint32(b, 8000)
		b = binary.LittleEndian.AppendUint32(b, 16000)
		b = append(b, "\x02\x00\x10\x00data"...)
		b = binary.LittleEndian.AppendUint32(b, uint32(2*samples))
		for i := range samples {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(32767*(1-2*(i%2)))))
		}
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.wav", k)), string(b))
	}
	return dir
}

// A video is shown as a row of its frames, whatever the layout of its ring.
func TestViewShowsFramesSideBySide(t *testing.T) {
	name, dir := home(t), clips(t, 2)
	for _, section := range []string{
		"layout: NTHWC", "layout: NTCHW", "layout: NCTHW", "shape: padded, layout: NCTHW", "shape: ragged", "dtype: f32",
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+
			"}\nbatch: 2\norder: {shuffle: false}\nvideo: {frames: 6, select: {kind: all}, transform: [resize: [96, 96]], "+section+"}\n")
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		for j := range 5 {
			level, want := uint8(40+20*j), 2*96*96 // both videos have the first four frames
			if j == 4 {
				want = 96 * 96
			}
			if n := near(color.RGBA{level, level, level, 255}); n < want-200 || n > want+2000 {
				t.Errorf("%s: %d pixels of level %d, want %d", section, n, level, want)
			}
		}
	}
}

// A sound is shown as its waveform, or as shades of its features, whatever the layout of its ring.
func TestViewShowsSoundsAsStrips(t *testing.T) {
	name, dir := home(t), tones(t, 2)
	for section, least := range map[string]int{ // pixels of ink: a tone that fills the height
		"length: 2000": waveWidth * waveHeight * 9 / 10, "length: 2000, shape: padded": waveWidth * waveHeight, "length: 2000, shape: ragged": waveWidth * waveHeight,
		"length: 2000, channels: 2, layout: NLC": 2 * waveWidth * waveHeight * 9 / 10, "length: 2000, dtype: i16": waveWidth * waveHeight * 9 / 10,
		"length: 2000, features: {kind: mel, n_fft: 256, n_mels: 16}":                             100,
		"length: 2000, features: {kind: mel, n_fft: 256, n_mels: 16}, layout: NLC, shape: ragged": 100,
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+"}\nbatch: 2\naudio: {rate: 8000, "+section+"}\n")
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		if n := near(ink); n < least {
			t.Errorf("%s: %d pixels of ink, want %d", section, n, least)
		}
	}
}

// A folder that holds videos or sounds, and no pictures, is served as such without a description.
func TestAFolderOfMediaNeedsNoDescription(t *testing.T) {
	home(t)
	if out := good(t, "check", clips(t, 3), "--size", "32", "--batch", "3"); !strings.Contains(out, "video   ") || !strings.Contains(out, "[3, 16, 32, 32, 3]") {
		t.Errorf("videos:\n%s", out)
	}
	if out := good(t, "check", tones(t, 3), "--batch", "3"); !strings.Contains(out, "audio   ") || !strings.Contains(out, "[3, 1, 160000]") {
		t.Errorf("sounds:\n%s", out)
	}
}

// Of samples of several media view draws all, one below the other, and check lists the tensors of each.
func TestViewShowsEveryMedium(t *testing.T) {
	name, dir, sounds := home(t), pictures(t, 2), tones(t, 2)
	for from, to := range map[string]string{"0.wav": "blue/000.wav", "1.wav": "red/001.wav"} {
		if err := os.Rename(filepath.Join(sounds, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	for section, fields := range map[string]string{
		"image: {transform: [resize: [64, 64]]}\naudio: {from: wav, rate: 8000, length: 1200}\n":                                       "image audio length",
		"fields:\n  a: {image: {transform: [resize: [64, 64]]}}\n  b: {audio: {from: wav, rate: 8000, length: 1200, shape: padded}}\n": "a b b.length",
	} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {folder: "+dir+"}\nbatch: 2\norder: {shuffle: false}\n"+section)
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		for _, shade := range []color.RGBA{red, blue} {
			if got, want := near(shade), 128*128; got < want*9/10 {
				t.Errorf("%s: %d pixels of %v, want about %d", section, got, shade, want)
			}
		}
		if got, want := near(ink), 2*waveWidth*waveHeight/2; got < want {
			t.Errorf("%s: %d pixels of waveforms, want at least %d", section, got, want)
		}
		out := good(t, "check", file)
		for _, field := range strings.Fields(fields) {
			wants(t, out, "\n "+field+" ")
		}
	}
}
