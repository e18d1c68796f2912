package audio

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// echoed is x convolved with h of energy 1, as the sum is defined, from h's loudest sample on.
func echoed(x, h []float32) []float32 {
	energy, peak := 0.0, 0
	for k, v := range h {
		energy += float64(v) * float64(v)
		if math.Abs(float64(v)) > math.Abs(float64(h[peak])) {
			peak = k
		}
	}
	out := make([]float32, len(x))
	for i := range x {
		sum := 0.0
		for k, v := range h {
			if at := i + peak - k; at >= 0 && at < len(x) {
				sum += float64(v) * float64(x[at])
			}
		}
		out[i] = float32(sum / math.Sqrt(energy))
	}
	return out
}

// response is noise that dies away, behind a delay.
func response(n, delay int, seed uint64) []float32 {
	h := noise(n, seed)
	for i := range h {
		h[i] *= float32(math.Exp(-4 * float64(i-delay) / float64(n)))
		if i < delay {
			h[i] = 0.001
		}
	}
	if delay < n {
		h[delay] = -2
	}
	return h
}

// A row in a room is the convolution with its response, of every length beside the row's.
func TestReverbIsTheConvolutionWithAResponse(t *testing.T) {
	for _, c := range []struct{ n, taps, delay int }{{1, 1, 0}, {1, 9, 3}, {1000, 1, 0}, {1000, 2, 1}, {1000, 300, 20}, {777, 776, 5}, {777, 777, 0}, {100, 3000, 50}, {100, 3000, 2000}, {9000, 129, 128}} {
		x, h := noise(c.n, 1), response(c.taps, c.delay, 2)
		cfg := Config{Rate: 8000, Channels: 1, Length: c.n + 5, Reverb: &Reverb{P: 1, Files: filesOf(t, floatWAV(8000, h))}}
		got, info := decoded(t, cfg, Source{Bytes: floatWAV(8000, x)}, Draw{})
		compare(t, got[:c.n], echoed(x, h), 1e-6)
		if info.Samples != c.n || peakOf(got[c.n:]) != 0 {
			t.Errorf("%+v: the row does not keep its length", c)
		}
	}
}

// A response of as many channels as the row has is one of each; of another the first counts. Noise and the level come behind it.
func TestReverbHasTheRowsChannels(t *testing.T) {
	x, left, right := noise(600, 1), response(200, 10, 2), response(200, 30, 3)
	var both []float32
	for i := range left {
		both = append(both, left[i], right[i])
	}
	rooms := filesOf(t, wavBytes(tagFloat, 2, 8000, 32, bytesAs(both)))
	for channels, hs := range map[int][][]float32{1: {left}, 2: {left, right}, 3: {left, left, left}} {
		got, _ := decoded(t, Config{Rate: 8000, Channels: channels, Length: 600, Reverb: &Reverb{P: 1, Files: rooms}}, Source{Bytes: floatWAV(8000, x)}, Draw{})
		for c, h := range hs {
			compare(t, got[600*c:][:600], echoed(x, h), 1e-6)
		}
	}
	level, _ := decoded(t, Config{Rate: 8000, Channels: 1, Length: 600, Reverb: &Reverb{P: 1, Files: rooms}, Normalize: Normalize{To: ToPeak}}, Source{Bytes: floatWAV(8000, x)}, Draw{})
	if p := peakOf(level); math.Abs(float64(p)-1) > 1e-6 {
		t.Errorf("the level is measured before the room: peak %v", p)
	}
}

// It happens by its probability, and each row draws its room.
func TestRoomsAreDrawn(t *testing.T) {
	x, a, b := noise(200, 1), response(50, 3, 2), response(70, 9, 3)
	cfg := Config{Rate: 8000, Channels: 1, Length: 200, Reverb: &Reverb{P: 0.6, Files: filesOf(t, floatWAV(8000, a), floatWAV(8000, b))}}
	seen := map[int]int{}
	for index := range uint64(60) {
		draw := Draw{Seed: 9, Index: index}
		got, _ := decoded(t, cfg, Source{Bytes: floatWAV(8000, x)}, draw)
		chance, which := draw.uniforms(drawReverb, 0)
		want, room := x, -1
		if chance < 0.6 {
			room = int(which * 2)
			want = echoed(x, [][]float32{a, b}[room])
		}
		seen[room]++
		compare(t, got, want, 1e-6)
	}
	if seen[-1] < 10 || seen[0] < 8 || seen[1] < 8 {
		t.Errorf("drawn were %v", seen)
	}
}

// What is no impulse response, and a second data set that cannot be, are refused.
func TestRoomsThatCannotBeAreRefused(t *testing.T) {
	var bad *Error
	for cause, h := range map[string][]float32{CauseUnsupported: make([]float32, 9), CauseTooLarge: make([]float32, maxResponse+1)} {
		op, err := Compile(Config{Rate: 8000, Channels: 1, Length: 9, Reverb: &Reverb{P: 1, Files: filesOf(t, floatWAV(8000, h))}})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := op.NewWorker()
		_, err = w.Decode(Row{make([]byte, op.RowBytes())}, Source{Bytes: floatWAV(8000, noise(9, 1))}, Draw{})
		w.Close()
		if !errors.As(err, &bad) || bad.Cause() != cause || !strings.Contains(err.Error(), "impulse response") || !strings.Contains(err.Error(), "0.wav") {
			t.Errorf("got %v, want %s", err, cause)
		}
	}
	some := Files{From: []string{"a.wav"}}
	for want, cfg := range map[string]Config{
		"rate: is missing, and noise of files needs one":          {Noise: &Noise{Files: some}},
		"rate: is missing, and reverb of files needs one":         {Reverb: &Reverb{Files: some}},
		"noise.color: given beside from":                          {Rate: 8, Noise: &Noise{Files: some, Colour: Pink}},
		"noise.memory_bytes: got -1":                              {Rate: 8, Noise: &Noise{Files: Files{some.From, -1}}},
		"reverb.from: got no impulse responses, want one or more": {Rate: 8, Reverb: &Reverb{}},
		"reverb.p: got 1.5, want a probability from 0 to 1":       {Rate: 8, Reverb: &Reverb{P: 1.5, Files: some}},
	} {
		var config *ConfigError
		if _, err := Compile(cfg); !errors.As(err, &config) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
