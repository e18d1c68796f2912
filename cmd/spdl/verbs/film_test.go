package verbs

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/spec"
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

// grey is a PNG of one level.
func grey(t *testing.T, level byte) string {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 16, 16))
	for k := range m.Pix {
		m.Pix[k] = level
	}
	var b strings.Builder
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Several pictures of a sample are shown side by side, whichever way they lie; a sample without any is shown, too.
func TestViewShowsSeveralPicturesSideBySide(t *testing.T) {
	name, dir := home(t), t.TempDir()
	for j := range 3 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("%d.png", j)), grey(t, byte(40+60*j)))
	}
	table := writeFile(t, filepath.Join(dir, "t.jsonl"), `{"images": ["0.png", "1.png"]}
{"images": []}
{"images": ["0.png", "1.png", "2.png"]}
`)
	for _, section := range []string{"many: 4", "layout: NCHW, many: {most: 3, shape: padded}", "many: {most: 3, shape: ragged}", "dtype: f32, layout: NCHW, many: {most: 3, shape: ragged}"} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {list: "+table+
			"}\nbatch: 3\norder: {shuffle: false}\nimage: {from: images, transform: [resize: [96, 96]], "+section+"}\n")
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		for j, times := range []int{2, 2, 1} {
			level, want := uint8(40+60*j), times*96*96
			if n := near(color.RGBA{level, level, level, 255}); n < want-200 || n > want+2000 {
				t.Errorf("%s: %d pixels of level %d, want %d", section, n, level, want)
			}
		}
		refused(t, exitUsage, "pack: image.many: samples of several pictures are not written", "pack", file, "--out", filepath.Join(t.TempDir(), "%d.tar"))
		if out := good(t, "check", file); !strings.Contains(out, "count   ") || !strings.Contains(out, "image   ") {
			t.Errorf("%s:\n%s", section, out)
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

// shardsOf packs the files of a folder into two archives in a directory of their own.
func shardsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "train")
	for k, part := range [][]string{files[:1], files[1:]} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, file := range part {
			data, err := os.ReadFile(file)
			if err == nil {
				err = w.WriteHeader(&tar.Header{Name: filepath.Base(file), Size: int64(len(data)), Mode: 0o644})
			}
			if err == nil {
				_, err = w.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		writeFile(t, fmt.Sprintf("%s/%d.tar", out, k), b.String())
	}
	return out
}

// Shards of sounds and of videos are recognised by the parts of their samples, named by a pattern or by their directory, as a folder of them is;
// what is neither is refused as pictures would be.
func TestShardsOfSoundsAndVideosNeedNoDescription(t *testing.T) {
	home(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	sounds := shardsOf(t, tones(t, 3))
	for _, arg := range []string{sounds, sounds + "/*.tar", sounds + "/{0..1}.tar"} {
		wants(t, good(t, "check", arg, "--batch", "3"), "3 samples", " audio f32 [3, 1, 160000]")
	}
	if s, err := reading(t, &description{}, sounds); err != nil || s.Name != "train" {
		t.Errorf("%v: %+v", err, s)
	}
	films := clips(t, 2)
	if err := os.Rename(films+"/0.y4m", films+"/0.mp4"); err != nil { // an ending; what is in it is FFmpeg's to say
		t.Fatal(err)
	}
	wants(t, good(t, "check", shardsOf(t, films), "--size", "32", "--batch", "2"), " video u8 [2, 16, 32, 32, 3]")
	text := t.TempDir()
	writeFile(t, text+"/1.txt", "text")
	writeFile(t, text+"/2.txt", "text")
	refused(t, exitNotFound, "no part is a picture by its ending; the parts are txt", "check", shardsOf(t, text))
	refused(t, exitUsage, "--size goes with pictures and videos, and these are sounds", "check", sounds, "--size", "8")
}

// What samples are is told by the endings of their parts, or by the names of columns; pictures come first, as in a folder.
func TestMediaOfParts(t *testing.T) {
	for parts, want := range map[string]spec.Media{
		"jpg cls": spec.Pictures, "wav txt": spec.Sounds, "mp4 json": spec.Videos, "mp4 wav": spec.Videos, "jpg mp4": spec.Pictures, "txt": spec.Pictures, "": spec.Pictures,
		"audio.bytes audio.path": spec.Sounds, "video": spec.Videos, "image.bytes": spec.Pictures, "left.mp4 wav": spec.Sounds,
	} {
		if got, _ := mediaOfParts(strings.Fields(parts)); got != want {
			t.Errorf("%q: got %v, want %v", parts, got, want)
		}
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

// Of the sounds of several clips of a row the first is drawn, whatever the layout.
func TestViewShowsTheSoundOfTheFirstClip(t *testing.T) {
	name, dir, sounds := home(t), clips(t, 2), tones(t, 2)
	table := writeFile(t, filepath.Join(t.TempDir(), "t.csv"), fmt.Sprintf("path,sound\n%[1]s/0.y4m,%[2]s/0.wav\n%[1]s/1.y4m,%[2]s/1.wav\n", dir, sounds))
	for _, layout := range []string{"NCL", "NLC"} {
		file := writeFile(t, filepath.Join(t.TempDir(), name+".yaml"), "source: {list: "+table+"}\nbatch: 2\norder: {shuffle: false}\n"+
			"video: {select: {kind: clips_at_regular_indices, num_clips: 2, num_frames_per_clip: 2}, transform: [resize: [96, 96]]}\n"+
			"audio: {from: sound, rate: 8000, length: 1600, window: {of: video}, layout: "+layout+"}\n")
		_, near := sheetOf(t, []byte(good(t, "view", file, "--out", "-")))
		if got, want := near(ink), 2*waveWidth*waveHeight; got < want/2 || got > want*3/4 {
			t.Errorf("%s: %d pixels of waveforms, want about %d: 1,000 of 1,600 samples, and 1,100", layout, got, want*21/32)
		}
	}
}
