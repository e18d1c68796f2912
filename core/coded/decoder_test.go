//go:build !noffmpeg

package coded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// fed is what comes out of a decoder that is given a file's stream in pieces: the chunks of its first tensor, and all of each tensor in a row.
func fed(t *testing.T, path, kind, piece, description string) (chunks []int64, all [][]byte) {
	t.Helper()
	demuxing := must[*Demuxing](t)(OpenDemuxing([]byte(fmt.Sprintf(`{"%s": {%s}}`, kind, piece)), mux.Source{Path: path}))
	defer demuxing.Close()
	stream := must[*av.Packets](t)(demuxing.Stream())
	d := must[*load.Decoder](t)(load.OpenDecoder([]byte(description), stream))
	defer d.Close()
	stream.Close()
	all = make([][]byte, 3)
	take := func() {
		for {
			m, err := d.Next(nil)
			if err == io.EOF {
				return
			}
			ok(t, err)
			chunks = append(chunks, m.Tensors[0].Shape[0])
			for i, tensor := range m.Tensors {
				all[i] = append(all[i], tensor.Data...)
			}
		}
	}
	for {
		p, err := demuxing.Next()
		if err == io.EOF {
			break
		}
		ok(t, err)
		ok(t, d.Give(p))
		p.Close()
		take()
	}
	d.Flush()
	take()
	return chunks, all
}

// A decoder that is fed gives the frames and the times of the whole video, however its packets are cut and its frames put together.
func TestADecoderGivesTheFramesOfAllThatItIsGiven(t *testing.T) {
	for name, video := range map[string]string{
		"a.mp4": `"codec": "libx264", "options": {"g": "12", "bf": "3"}`, "a.mkv": `"codec": "libx264", "options": {"g": "30", "x264-params": "open-gop=1"}`,
		"a.webm": `"codec": "vp8"`, "a.avi": `"codec": "mjpeg"`, "a.ts": `"codec": "mpeg2video", "options": {"bf": "2"}`,
	} {
		path := filepath.Join(t.TempDir(), name)
		file(t, path, video, "", 0)
		for _, section := range []string{``, `"layout": "NTCHW", "transform": [{"resize": [20, 30]}]`, `"filter": "hflip,eq=contrast=1.2"`, `"filter": "fps=10"`} {
			want := must[*load.Media](t)(load.Load([]byte(fmt.Sprintf(`{"video": {%s}}`, section)), load.Source{Path: path}, nil))
			for _, c := range []struct {
				piece  string
				frames int64
			}{{`"packets": 1`, 0}, {`"packets": 7`, 13}, {`"length": "1.1s"`, 1}, {``, 33}} {
				description := fmt.Sprintf(`{"video": {"frames": %d, %s}}`, c.frames, section)
				if c.frames == 0 {
					description = fmt.Sprintf(`{"video": {%s}}`, section)
				}
				chunks, got := fed(t, path, "video", c.piece, strings.Replace(description, ", }", "}", 1))
				if !bytes.Equal(got[0], want.Tensors[0].Data) || !bytes.Equal(got[1], want.Tensors[1].Data) {
					t.Errorf("%s: %s in pieces of %q: other frames or times than the file's: %d bytes, want %d", name, description, c.piece, len(got[0]), len(want.Tensors[0].Data))
				}
				if c.frames > 0 && slices.ContainsFunc(chunks[:len(chunks)-1], func(n int64) bool { return n != c.frames }) {
					t.Errorf("%s: %s in pieces of %q: chunks of %d", name, description, c.piece, chunks)
				}
			}
		}
	}
}

// sameSound says whether samples are those of the file: bit for bit, or as far apart as they may be.
func sameSound(name string, got []byte, want load.Tensor) bool {
	if apart(name) == 0 || len(got) != len(want.Data) {
		return bytes.Equal(got, want.Data)
	}
	if want.DType != tensor.I16 {
		return furthest(got, want.Data) <= apart(name)
	}
	for i := 0; i < len(got); i += 2 {
		if d := int16(binary.LittleEndian.Uint16(got[i:])) - int16(binary.LittleEndian.Uint16(want.Data[i:])); d < -1 || d > 1 {
			return false
		}
	}
	return true
}

// So it is with sounds: with their exact lengths, through filters that remember, and in other types and layouts.
func TestADecoderGivesTheSamplesOfAllThatItIsGiven(t *testing.T) {
	for name, audio := range map[string]string{
		"a.flac": `"codec": "flac"`, "a.m4a": `"codec": "aac"`, "a.mp3": `"codec": "libmp3lame"`, "a.ogg": `"codec": "libvorbis"`, "a.opus": `"codec": "libopus"`,
		"a.mka": `"codec": "libopus"`, "a.wav": `"codec": "pcm_s16le"`,
	} {
		path := filepath.Join(t.TempDir(), name)
		file(t, path, "", audio, 48000)
		for _, section := range []string{`"layout": "NLC"`, `"channels": 1, "dtype": "i16"`, `"channels": 1, "filter": "aresample=16000,highpass=f=80"`} {
			description := fmt.Sprintf(`{"audio": {%s}}`, section)
			want := must[*load.Media](t)(load.Load([]byte(description), load.Source{Path: path}, nil))
			for _, piece := range []string{`"packets": 1`, `"length": "500ms"`} {
				if _, got := fed(t, path, "audio", piece, description); !sameSound(name, got[0], want.Tensors[0]) {
					t.Errorf("%s: %s in pieces of %q: other samples than the file's: %d bytes, want %d", name, description, piece, len(got[0]), len(want.Tensors[0].Data))
				}
			}
		}
	}
}

// A packet that does not decode is an error once; what follows comes out all the same.
func TestADecoderGoesOnBehindADamagedPacket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.avi")
	file(t, path, `"codec": "mjpeg"`, "", 0)
	p := demuxed(t, path, `{"video": {}}`)
	b := must[[]byte](t)(p.Bytes(inGo))
	at := bytes.Index(b, p.At(40).Bytes)
	copy(b[at:], make([]byte, len(p.At(40).Bytes)))
	q := must[*av.Packets](t)(av.PacketsOf(b))
	defer q.Close()
	d := must[*load.Decoder](t)(load.OpenDecoder([]byte(`{"video": {"frames": 9}}`), q))
	defer d.Close()
	ok(t, d.Give(q))
	d.Flush()
	frames, failures := int64(0), 0
	for {
		m, err := d.Next(nil)
		if err == io.EOF {
			break
		}
		var e *load.Error
		if errors.As(err, &e) {
			failures++
			continue
		}
		ok(t, err)
		frames += m.Tensors[0].Shape[0]
	}
	if frames != 99 || failures != 1 {
		t.Errorf("%d frames and %d failures, want 99 and 1", frames, failures)
	}
}

// What a decoder cannot do piece by piece, and what it cannot be given, is refused by name.
func TestADecoderRefusesWhatIsOfAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "mpeg4"`, `"codec": "aac"`, 16000)
	video, sound := demuxed(t, path, `{"video": {}}`), demuxed(t, path, `{"audio": {}}`)
	for description, want := range map[string]string{
		`{"video": {"select": {"kind": "every", "step": 2}}}`: "video.select: is of a whole video",
		`{"video": {"window": {"start": "1s"}}}`:              "video.window: is of a whole",
		`{"video": {"seek": "approximate"}}`:                  "video.seek: is of a whole",
		`{"video": {"stream": 1}}`:                            "video.stream: is of a whole",
		`{"video": {"frames": 3, "over": "cut"}}`:             "video.over: is of a whole",
		`{"video": {"timeout": "3s"}}`:                        "video.timeout: is of a whole",
		`{"video": {"layout": "NCTHW"}}`:                      "video.layout: got NCTHW",
		`{"video": {"filter": "nothing"}}`:                    "video.filter: got",
		`{"audio": {"rate": 16000}}`:                          "audio.rate: is of a whole sound; want filter: aresample=16000",
		`{"audio": {"length": 16000}}`:                        "audio.length: is of a whole sound",
		`{"audio": {"window": {"start": "1s"}}}`:              "audio.window: is of a whole",
		`{"audio": {"normalize": {"to": "peak"}}}`:            "audio.normalize: is of a whole",
		`{"audio": {"speed": {"factors": [0.9]}}}`:            "audio.speed: is of a whole",
		`{"audio": {"noise": {"snr_db": [1, 2]}}}`:            "audio.noise: is of a whole",
		`{"audio": {"reverb": {"from": "d"}}}`:                "audio.reverb: is of a whole",
		`{"audio": {"gain": {"db": [1, 2]}}}`:                 "audio.gain: is of a whole",
		`{"audio": {"polarity_inversion": 0.5}}`:              "audio.polarity_inversion: is of a whole",
		`{"audio": {"pre_emphasis": 0.97}}`:                   "audio.pre_emphasis: is of a whole",
		`{"audio": {"timeout": "3s"}}`:                        "audio.timeout: is of a whole",
		`{"audio": {"filter": "movie=a"}}`:                    "audio.filter: got",
		`{"audio": {"lay_out": 1}}`:                           "audio.lay_out: unknown key",
		`{"image": {}}`:                                       "want video or audio",
		`{}`:                                                  "says nothing",
	} {
		p := video
		if strings.Contains(description, "audio") {
			p = sound
		}
		d, err := load.OpenDecoder([]byte(description), p)
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v %v, want %q", description, d, err, want)
		}
	}
	if _, err := load.OpenDecoder([]byte(`{"audio": {}}`), video); err == nil || !strings.Contains(err.Error(), "packets are of another kind") {
		t.Error(err)
	}
	d := must[*load.Decoder](t)(load.OpenDecoder([]byte(`{"video": {}}`), video))
	defer d.Close()
	var other *av.StreamError
	if err := d.Give(sound); !errors.As(err, &other) || !strings.Contains(err.Error(), "a decoder is given packets of aac in ticks of 1/16000 s, want mpeg4") {
		t.Error(err)
	}
	d.Flush()
	if err := d.Give(video); !errors.Is(err, av.ErrFlushed) || !strings.Contains(err.Error(), "open another for more packets") {
		t.Error(err)
	}
	if m, err := d.Next(nil); err != io.EOF {
		t.Errorf("of nothing: %v %v", m, err)
	}
}
