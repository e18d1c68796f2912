//go:build !noffmpeg

package coded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
)

// Tracks take what they were added for, and say so otherwise.
func TestTracksRefuseWhatIsNotTheirs(t *testing.T) {
	dir := t.TempDir()
	file(t, filepath.Join(dir, "a.mkv"), `"codec": "ffv1"`, "", 0)
	p := demuxed(t, filepath.Join(dir, "a.mkv"), `{"video": {}}`)
	m := must[*Muxing](t)(Create([]byte(`{}`), filepath.Join(dir, "b.mkv")))
	defer m.Abort()
	for description, words := range map[string]string{
		`{}`:                                                        "want one of video, audio",
		`{"video": {"widht": 3}}`:                                   `did you mean "width"`,
		`{"video": {"rate": "fast"}}`:                               "want a whole number or [numerator, denominator]",
		`{"video": {"rate": [30, 0]}}`:                              "want a whole number or [numerator, denominator]",
		`{"video": {"rate": [30]}}`:                                 "video.rate: got a list, want",
		`{"video": {"rate": 4294967326}}`:                           "video.rate: got 4294967326, want",
		`{"video": {"height": 48}}`:                                 "video.width: is missing, want the columns",
		`{"video": {"width": 4294967360, "height": 48}}`:            "video.width: got 4294967360, want a whole number from 1 to 65535",
		`{"video": {"width": 64, "height": 0}}`:                     "video.height: got 0, want a whole number from 1",
		`{"video": {"quality": 4294967298}}`:                        "video.quality: got 4294967298, want a whole number from 0",
		`{"video": {"bit_rate": -1}}`:                               "video.bit_rate: got -1, want a whole number from 0",
		`{"video": {"threads": -1}}`:                                "video.threads: got -1, want a whole number from 0",
		`{"audio": {"rate": 4294967296, "channels": 1}}`:            "audio.rate: got 4294967296, want",
		`{"audio": {"rate": 8000, "channels": 1, "bit_rate": -1}}`:  "audio.bit_rate: got -1, want",
		`{"video": {"options": {"g": 1}}}`:                          "video.options.g: got 1, want text; put it in quotes",
		`{"audio": {"rate": 8000, "channels": 1, "layout": "LNC"}}`: `audio.layout: got "LNC"`,
	} {
		_, err := m.Add([]byte(description))
		var described *spec.Error
		if !errors.As(err, &described) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v, want %s", description, err, words)
		}
	}
	video := must[int](t)(m.Add([]byte(`{"video": {"width": 64, "height": 48, "rate": [25, 1], "codec": "ffv1"}}`)))
	audio := must[int](t)(m.Add([]byte(`{"audio": {"rate": 8000, "channels": 2, "codec": "flac"}}`)))
	packets := must[int](t)(m.AddPackets(p, ""))
	one := make([]byte, 64*48*3)
	for _, c := range []struct {
		err   error
		words string
	}{
		{m.Write(7, one, nil), "got track 7, want one that was added: there are 3"},
		{m.Write(-1, one, nil), "got track -1, want one that was added: there are 3"},
		{m.Write(packets, one, nil), "takes packets, and was given an array"},
		{m.WritePackets(video, p), "takes arrays, and was given packets"},
		{m.WritePackets(9, p), "got track 9, want one that was added"},
		{m.Write(audio, one, []float64{0}), "of samples was given times"},
		{m.Write(audio, one[:3], nil), "samples of 3 bytes, want float32"},
		{m.Write(audio, one[:4], nil), "1 samples, want a multiple of the 2 channels"},
	} {
		var misused *MisuseError
		if !errors.As(c.err, &misused) || !strings.Contains(c.err.Error(), c.words) {
			t.Errorf("error %v, want %s", c.err, c.words)
		}
	}
	var e *mux.Error
	if err := m.Write(video, one[:5], nil); !errors.As(err, &e) || e.Cause() != mux.CauseInvalid {
		t.Errorf("error %v", err)
	}
	ok(t, m.Write(video, one, nil)) // none of that did harm
	ok(t, m.Write(audio, tone(100, 2), nil))
	ok(t, m.WritePackets(packets, p))
	must[[]byte](t)(m.Close(nil))
	if _, err := os.Stat(filepath.Join(dir, "b.mkv")); err != nil {
		t.Error(err)
	}
}

// A container in memory is handed over when it is closed, and closing it without a place for it gives it up.
func TestContainersInMemoryAreHandedOver(t *testing.T) {
	make1 := func() *Muxing {
		m := must[*Muxing](t)(Create([]byte(`{"format": "wav"}`), ""))
		track := must[int](t)(m.Add([]byte(`{"audio": {"rate": 8000, "channels": 2, "layout": "NLC"}}`)))
		ok(t, m.Write(track, tone(100, 2), nil))
		return m
	}
	if made := must[[]byte](t)(make1().Close(alloc)); len(made) < 444 || string(made[:4]) != "RIFF" {
		t.Errorf("%d bytes", len(made))
	}
	_, err := make1().Close(nil)
	var misused *MisuseError
	if !errors.As(err, &misused) {
		t.Errorf("error %v", err)
	}
	full := errors.New("no room")
	if _, err := make1().Close(func(int) ([]byte, error) { return nil, full }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}
