//go:build !noffmpeg

package mux

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/media/audio"
)

func readAudio(t *testing.T, src audio.Source) (audio.Wave, audio.Info) {
	t.Helper()
	w := must[*audio.Worker](t)(must[*audio.Op](t)(audio.Compile(audio.Config{})).NewWorker())
	t.Cleanup(w.Close)
	wave, info, err := w.Wave(src, audio.Draw{})
	ok(t, err)
	return wave, info
}

func writeSound(t *testing.T, path string, a Audio, samples []float32) {
	t.Helper()
	m := must[*Muxer](t)(Create(path, Config{}))
	defer m.Abort()
	ok(t, must[*AudioTrack](t)(m.AddAudio(a)).Write(samples))
	ok(t, m.Close())
}

// 16-bit samples come back bit for bit from lossless codecs, of any number of channels, written interleaved or in planes.
func TestLosslessAudioComesBackBitForBit(t *testing.T) {
	for _, c := range []struct {
		file string
		a    Audio
	}{
		{"a.wav", Audio{}},
		{"b.wav", Audio{Codec: "pcm_f32le"}},
		{"a.flac", Audio{SampleFormat: "s16"}},
		{"b.flac", Audio{SampleFormat: "flt,s16,s32"}},
		{"c.flac", Audio{}},
		{"a.mkv", Audio{Codec: "flac"}},
		{"a.aiff", Audio{}},
		{"a.m4a", Audio{Codec: "alac", SampleFormat: "s16"}},
		{"a.tta", Audio{SampleFormat: "s16"}},
		{"b.tta", Audio{}},
		{"a.wv", Audio{}},
	} {
		for channels := 1; channels <= 2; channels++ {
			t.Run(fmt.Sprint(c.file, channels), func(t *testing.T) {
				c.a.Rate, c.a.Channels = 22050, channels
				samples := tone(40001, channels)
				path := filepath.Join(t.TempDir(), c.file)
				m := must[*Muxer](t)(Create(path, Config{}))
				track := must[*AudioTrack](t)(m.AddAudio(c.a))
				ok(t, track.Write(samples[:1001*channels]))
				planes := make([][]float32, channels)
				for i, v := range samples[1001*channels:] {
					planes[i%channels] = append(planes[i%channels], v)
				}
				ok(t, track.WritePlanar(planes))
				ok(t, m.Close())
				wave, _ := readAudio(t, audio.Source{Path: path})
				if wave.Frames != 40001 || wave.Channels != channels || wave.Rate != 22050 {
					t.Fatalf("%d frames of %d channels at %d Hz", wave.Frames, wave.Channels, wave.Rate)
				}
				for i, v := range samples {
					if got := wave.Data[i%channels*wave.Frames+i/channels]; got != v {
						t.Fatalf("sample %d is %g, want %g", i, got, v)
					}
				}
			})
		}
	}
}

// What is not said is stored as precisely as the encoder can: 24 bits, or floats.
func TestFloatsKeepWhatTheEncoderCanStore(t *testing.T) {
	for file, unit := range map[string]float64{"a.flac": 1 << 23, "a.tta": 1 << 23, "a.m4a": 1 << 23, "a.wv": 1 << 30} {
		samples := make([]float32, 9000)
		for i := range samples {
			samples[i] = float32(math.Round(0.7*math.Sin(float64(i)*0.05)*unit) / unit)
		}
		a := Audio{Rate: 22050, Channels: 1}
		if file == "a.m4a" {
			a.Codec = "alac"
		}
		path := filepath.Join(t.TempDir(), file)
		m := must[*Muxer](t)(Create(path, Config{}))
		ok(t, must[*AudioTrack](t)(m.AddAudio(a)).Write(samples))
		ok(t, m.Close())
		wave, _ := readAudio(t, audio.Source{Path: path})
		for i, v := range samples {
			if wave.Data[i] != v {
				t.Fatalf("%s: sample %d is %g, want %g", file, i, wave.Data[i], v)
			}
		}
	}
}

// An encoder's delay is trimmed where the container tells of it, and the tone is there.
func TestLossyAudioComesBackInItsPlace(t *testing.T) {
	for _, c := range []struct {
		file string
		a    Audio
	}{{"a.m4a", Audio{BitRate: 192000}}, {"a.mp3", Audio{BitRate: 192000}}, {"a.opus", Audio{BitRate: 192000}}} {
		c.a.Rate, c.a.Channels = 48000, 1
		samples := tone(48000, 1)
		path := filepath.Join(t.TempDir(), c.file)
		m := must[*Muxer](t)(Create(path, Config{}))
		ok(t, must[*AudioTrack](t)(m.AddAudio(c.a)).Write(samples))
		ok(t, m.Close())
		wave, _ := readAudio(t, audio.Source{Path: path})
		if wave.Frames < 48000 || wave.Frames > 48000+2048 {
			t.Fatalf("%s: %d frames, want 48000 and less than a packet more", c.file, wave.Frames)
		}
		var noise, signal float64
		for i := 2000; i < 46000; i++ {
			d := float64(wave.Data[i] - samples[i])
			noise, signal = noise+d*d, signal+float64(samples[i]*samples[i])
		}
		if snr := 10 * math.Log10(signal/noise); snr < 20 {
			t.Errorf("%s: %.1f dB over the noise, want 20", c.file, snr)
		}
	}
}

// Vorbis has no number of samples: the times of its packets say where it ends, in Ogg from two packets' samples on.
func TestVorbisEndsWhereItsSoundDoes(t *testing.T) {
	for _, file := range []string{"a.ogg", "a.oga", "a.mka", "a.webm"} {
		for _, frames := range []int{1000, 5000, 44100, 48000, 48001, 100000} {
			for _, rate := range []int{16000, 48000} {
				path := filepath.Join(t.TempDir(), file)
				m := must[*Muxer](t)(Create(path, Config{}))
				samples := tone(frames, 2)
				ok(t, must[*AudioTrack](t)(m.AddAudio(Audio{Codec: "libvorbis", Rate: rate, Channels: 2})).Write(samples))
				ok(t, m.Close())
				wave, _ := readAudio(t, audio.Source{Path: path})
				if wave.Frames != frames {
					t.Errorf("%s at %d Hz: %d frames, want %d", file, rate, wave.Frames, frames)
					continue
				}
				var noise, signal float64
				for i := range frames {
					d := float64(wave.Data[i] - samples[2*i])
					noise, signal = noise+d*d, signal+float64(samples[2*i]*samples[2*i])
				}
				if noise > signal/10 {
					t.Errorf("%s at %d Hz: %d frames are not in their place: noise %g, signal %g", file, rate, frames, noise, signal)
				}
			}
		}
	}
}
