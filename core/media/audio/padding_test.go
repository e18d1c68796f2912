package audio

import (
	"fmt"
	"slices"
	"testing"
)

// Behind a sound lies the value that is asked for, in both layouts; of a full row nothing changes.
func TestStepsBehindASoundAreThePadding(t *testing.T) {
	for _, channels := range []int{1, 2} {
		for _, layout := range []Layout{ChannelsFirst, TimeFirst} {
			t.Run(fmt.Sprint(channels, layout), func(t *testing.T) {
				cfg := Config{Rate: 8000, Channels: channels, Layout: layout, Length: 8000, Features: &Features{Kind: Mel, Mels: 5, Hop: 160, FFT: 400}}
				for _, n := range []int{3000, 8000} {
					src := Source{Bytes: wavBytes(3, channels, 8000, 32, bytesAs(noise(n*channels, 4)))}
					cfg.Features.Padding = 0
					zeros, _ := decoded(t, cfg, src, Draw{})
					cfg.Features.Padding = -1.25
					padded, info := decoded(t, cfg, src, Draw{})
					steps, lines := 51, 5*channels
					if info.Samples != n/160+1 {
						t.Fatalf("%d steps", info.Samples)
					}
					for l := range lines {
						for s := range steps {
							at := l*steps + s
							if layout == TimeFirst {
								at = s*lines + l
							}
							want := zeros[at]
							if s >= info.Samples {
								want = -1.25
							}
							if padded[at] != want {
								t.Fatalf("line %d step %d: got %v, want %v", l, s, padded[at], want)
							}
						}
					}
				}
			})
		}
	}
}

// Silence behind a sound is what zeros at its end are, whatever the features; length counts the steps that begin in the sound.
func TestSilenceIsWhatZerosInTheFileAre(t *testing.T) {
	for name, f := range map[string]Features{
		"spectrogram": {}, "mel in dB": {Kind: Mel, Log: Decibel, TopDB: 80}, "inside": {Kind: Mel, Inside: true}, "mfcc": {Kind: MFCC},
		"fbank": {Kind: Fbank}, "cmvn": {Kind: Mel, Log: NaturalLog, CMVN: MeanVariance},
	} {
		for _, channels := range []int{1, 2} {
			for _, n := range []int{1, 333, 4321, 8000} {
				x := noise(n*channels, 4)
				cfg := Config{Rate: 8000, Channels: channels, Length: 8000, Features: &f}
				want, full := decoded(t, cfg, Source{Bytes: wavBytes(3, channels, 8000, 32, bytesAs(append(slices.Clone(x), make([]float32, (8000-n)*channels)...)))}, Draw{})
				silent := f
				silent.Silence, cfg.Features = true, &silent
				got, info := decoded(t, cfg, Source{Bytes: wavBytes(3, channels, 8000, 32, bytesAs(x))}, Draw{})
				if !slices.Equal(got, want) {
					t.Errorf("%s of %d frames, %d channels: not what zeros in the file are", name, n, channels)
				}
				hop := f.withDefaults(8000).Hop
				if steps := min((n+hop-1)/hop, full.Samples); info.Samples != steps {
					t.Errorf("%s of %d frames: length %d, want %d", name, n, info.Samples, steps)
				}
			}
		}
	}
}
