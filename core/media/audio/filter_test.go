//go:build !noffmpeg

package audio

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/tests/leak"
)

// wave is a whole sample, as it is or as a filter makes it.
func waveOf(t *testing.T, cfg Config, src Source) (Wave, Info) {
	t.Helper()
	w := workerOf(t, cfg)
	defer w.Close()
	wave, info, err := w.Wave(src, Draw{})
	if err != nil {
		t.Fatalf("%q: %v", cfg.Filter, err)
	}
	wave.Data = slices.Clone(wave.Data)
	return wave, info
}

// The filter that does nothing changes nothing, whole or in a window, of FFmpeg's formats and of WAV; of MP3, AAC and Opus, which have decoders here, but rounding.
func TestNullFilterIsNoFilter(t *testing.T) {
	names := []string{"signal.wav"}
	for name := range codedFiles(t) {
		names = append(names, name)
	}
	for _, name := range names {
		data := testdata(t, name)
		for _, src := range []Source{{Bytes: data}, {Path: "testdata/" + name}, {File: placed(t, data)}, {File: distant(t, data)}} {
			for _, window := range []Window{{}, {Start: 0.1}, {Start: 0.0503, Duration: 0.2}} {
				want, _ := waveOf(t, Config{Window: window}, src)
				got, _ := waveOf(t, Config{Window: window, Filter: "anull"}, src)
				if got.Rate != want.Rate || got.Channels != want.Channels || got.Frames != want.Frames {
					t.Fatalf("%s, %+v: %d frames of %d channels with the filter, %d of %d without", name, window, got.Frames, got.Channels, want.Frames, want.Channels)
				}
				near := 0.0
				if name == "lame.mp3" || name == "mono.m4a" || name == "music.ogg" {
					near = 2e-6
				}
				compare(t, got.Data, want.Data, near)
			}
		}
	}
}

// What filters cut, choose and turn round are those samples.
func TestFiltersGiveTheSamplesTheySay(t *testing.T) {
	src := Source{Path: "testdata/signal.wav"} // stereo
	whole, _ := waveOf(t, Config{}, src)
	left, right := whole.Data[:whole.Frames], whole.Data[whole.Frames:]
	reversed := slices.Clone(left)
	slices.Reverse(reversed)
	halved := slices.Clone(left)
	for i := range halved {
		halved[i] /= 2
	}
	for text, want := range map[string][]float32{
		"pan=mono|c0=c1": right,
		"channelsplit[l][r];[r]pan=mono|c0=0*c0[z];[l][z]amerge,pan=mono|c0=c0": left,
		"pan=mono|c0=c0,atrim=start_sample=100:end_sample=300":                  left[100:300],
		"pan=mono|c0=c0,areverse":                                               reversed,
		"pan=mono|c0=c0,volume=0.5:precision=float":                             halved,
		"pan=mono|c0=c0,apad=pad_len=50":                                        append(slices.Clone(left), make([]float32, 50)...),
	} {
		got, info := waveOf(t, Config{Filter: text}, src)
		if got.Channels != 1 || !slices.Equal(got.Data, want) || info.Frames != int64(len(want)) {
			t.Errorf("%s: %d frames of %d channels, want %d of 1", text, got.Frames, got.Channels, len(want))
		}
	}
}

// Channels, rate, crop and type are made of what comes out; a change of the rate is known.
func TestTheRestFollowsTheFilter(t *testing.T) {
	src := Source{Path: "testdata/mono.flac"} // 16 kHz
	plain, _ := waveOf(t, Config{}, src)
	slow, info := waveOf(t, Config{Filter: "asetrate=8000"}, src)
	if slow.Rate != 8000 || info.Rate != 8000 || !slices.Equal(slow.Data, plain.Data) {
		t.Errorf("%d Hz, %d frames; want 8000 and %d", slow.Rate, slow.Frames, plain.Frames)
	}
	half, _ := waveOf(t, Config{Filter: "aresample=8000", Rate: 16000}, src)
	if half.Rate != 16000 || math.Abs(float64(half.Frames-plain.Frames)) > 2 {
		t.Errorf("%d frames at %d Hz, want about %d at 16000", half.Frames, half.Rate, plain.Frames)
	}
	got, info := decoded(t, Config{Filter: "atrim=start_sample=1000,asetpts=PTS-STARTPTS", Channels: 2, Length: 100, Crop: CropCentre}, src, Draw{})
	at := 1000 + (plain.Frames-1000-100)/2
	compare(t, got[:100], plain.Data[at:at+100], 0)
	compare(t, got[100:], plain.Data[at:at+100], 0)
	if info.Samples != 100 || info.Start != int64(at-1000) {
		t.Errorf("%+v, want the middle", info)
	}
}

// Times that filters see are those of the file: a window does not begin at 0.
func TestFiltersSeeTheFilesTime(t *testing.T) {
	src := Source{Path: "testdata/mono.flac"}
	plain, _ := waveOf(t, Config{Window: Window{Start: 0.1, Duration: 0.2}}, src)
	got, _ := waveOf(t, Config{Window: Window{Start: 0.1, Duration: 0.2}, Filter: "atrim=start=0.15:end=0.25"}, src)
	if !slices.Equal(got.Data, plain.Data[800:2400]) {
		t.Errorf("%d frames, want the 1600 from 0.15 s on", got.Frames)
	}
}

// What no sound could pass is refused when the op is made; what this sound does not pass is a bad sample, by name.
func TestFiltersThatCannotBeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"amovie=/etc/passwd":      `got filter "amovie"`,
		"ladspa=/lib/x.so":        `got filter "ladspa"`,
		"arnndn=m=/etc/passwd":    `got filter "arnndn"`,
		"asendcmd=f=/etc/passwd":  `got filter "asendcmd"`,
		"anoisesrc":               `got filter "anoisesrc"`,
		"azmq":                    `got filter "azmq"`,
		"apad":                    "apad never ends",
		"aloop=loop=-1:size=1000": "aloop never ends",
		"hflip":                   "its input is of another kind, want sound",
		"asplit":                  "got more than one open output",
		"quantum":                 "no filter",
		"volume=q":                "",
	} {
		_, err := Compile(Config{Filter: text})
		if err == nil || !strings.HasPrefix(err.Error(), "audio: filter: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want words %q", text, err, want)
		}
	}
	if _, err := Compile(Config{Filter: "anull", Raw: &Raw{Encoding: S16, Rate: 8000, Channels: 1}}); err == nil || !strings.Contains(err.Error(), "without a header") {
		t.Errorf("raw samples through a filter: got %v", err)
	}
	src := Source{Path: "testdata/mono.flac"}
	row := Config{Channels: 1, Length: 100, Crop: CropStart}
	for text, want := range map[string]string{"atrim=start=1000": CauseNoFrames, "aselect=0": CauseNoFrames, "channelmap=map=1|0:channel_layout=stereo": "filter"} {
		cfg := row
		cfg.Filter = text
		refused(t, cfg, src, want)
	}
	row.Filter, row.Window = "anull", Window{Start: 1000}
	refused(t, row, src, CauseOutside)
	row.Window, row.MaxFrames = Window{}, 5000
	if err := refused(t, row, src, CauseTooLarge); !strings.Contains(err.Error(), "raise audio.max_frames") {
		t.Error(err)
	}
}

// A worker remembers nothing of the sample before, and loses nothing.
func TestFiltersForgetTheSampleBefore(t *testing.T) {
	w := workerOf(t, Config{Channels: 1, Length: 8077, Crop: CropStart, Filter: "highpass=f=80,aecho=0.8:0.9:40:0.3"})
	op := w.op
	defer w.Close()
	data := testdata(t, "lame.mp3")
	first, row := make([]byte, op.RowBytes()), make([]byte, op.RowBytes())
	if _, err := w.Decode(Row{Data: first}, Source{Bytes: data}, Draw{}); err != nil {
		t.Fatal(err)
	}
	err := leak.After(50, 1<<20, func(i int) { // 150 samples that lost 7 KB each would not pass it
		for _, src := range []Source{{Bytes: data[:200+i*20]}, {Path: "testdata/opus.ogg"}, {Bytes: data}} {
			w.Decode(Row{Data: row}, src, Draw{})
		}
		if !slices.Equal(row, first) {
			t.Fatal("a used worker gives other samples")
		}
	})
	if err != nil {
		t.Error(err)
	}
}
