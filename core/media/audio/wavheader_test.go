package audio

import (
	"bytes"
	"testing"
)

// A WAV's header is read whatever its codec is, and whether the samples are there or not.
func TestWAVHeadersAreTakenAtTheirWord(t *testing.T) {
	header := func(b []byte) WAVHeader {
		t.Helper()
		said, err := ReadWAVHeader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	data := make([]byte, 1200)
	fact := append([]byte("fact\x04\x00\x00\x00"), 0x40, 0x1f, 0, 0) // 8000 frames
	adpcm := wavBytes(0x11, 1, 8000, 4, data)
	counted := append(append(append([]byte{}, adpcm[:36]...), fact...), adpcm[36:]...)
	odd := extensible(1, 16, 16, "another codec.", data)
	for name, c := range map[string]struct {
		file     []byte
		codec    string
		encoding string
		tag      int
		bits     int
		frames   int64
		seconds  float64
	}{
		"16 bits":      {wavBytes(1, 2, 8000, 16, data), "pcm_s16le", "s16", 1, 16, 300, 0.0375},
		"24 bits":      {wavBytes(1, 1, 8000, 24, data), "pcm_s24le", "s24", 1, 24, 400, 0.05},
		"20 bits":      {wavBytes(1, 1, 8000, 20, data), "pcm_s24le", "s24", 1, 20, 400, 0.05},
		"mu-law":       {wavBytes(7, 1, 8000, 8, data), "pcm_mulaw", "mulaw", 7, 8, 1200, 0.15},
		"extensible":   {extensible(3, 32, 32, guidRest, data), "pcm_f32le", "f32", 3, 32, 300, 0.0375},
		"ADPCM":        {counted, "adpcm_ima_wav", "", 0x11, 4, 8000, 1},
		"of no name":   {wavBytes(0x99, 1, 8000, 16, data), "", "", 0x99, 16, -1, 0.075},
		"another GUID": {odd, "", "", tagExtensible, 16, -1, 0.075},
		"without data": {wavBytes(1, 2, 8000, 16, data)[:44], "pcm_s16le", "s16", 1, 16, 300, 0.0375},
		"empty":        {wavBytes(1, 2, 8000, 16, nil), "pcm_s16le", "s16", 1, 16, 0, 0},
	} {
		got := header(c.file)
		want := WAVHeader{Stream{"wav", c.codec, 8000, got.Channels, c.frames, c.seconds, 0}, c.encoding, c.tag, c.bits, got.block, got.speed}
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	for name, b := range map[string][]byte{"not a WAV": data, "no data": wavBytes(1, 1, 8000, 16, nil)[:36], "data first": append([]byte("RIFF\x00\x00\x00\x00WAVE"), "data\x02\x00\x00\x00\x00\x00"...)} {
		if said, err := ReadWAVHeader(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: got %+v, want an error", name, said)
		}
	}
}
