package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

const sounds = "source: {folder: p}\naudio: "

// Every key of the section arrives where it belongs.
func TestEveryKeyOfAudioArrives(t *testing.T) {
	got := parse(t, sounds+`
  rate: 16000
  channels: 1
  select: [1, 0]
  length: 2.5s
  shape: ragged
  crop: random
  window: {start: 500ms, duration: 20s}
  speed: {factors: [0.9, 1.1]}
  noise: {snr_db: [5, 20.5], p: 0.25, color: brown}
  gain: {db: [-6, 3], p: 0.5}
  polarity_inversion: 0.75
  pre_emphasis: 0.97
  resample: {method: sinc_interp_kaiser, width: 64, rolloff: 0.9475, beta: 8, filters: f64}
  normalize: {to: loudness, level: -20}
  features: {kind: mfcc, n_fft: 512, win_length: 400, hop_length: 160, power: 1, center: false, normalized: true, n_mels: 64, f_min: 20, f_max: 7600,
    mel_scale: slaney, norm: slaney, log: db, filters: f64, ref: 0.5, amin: 1e-5, top_db: 60, n_mfcc: 13, normalize: {mean: [1, 2], std: 3},
    frequency_mask: {freq_mask_param: 27, count: 2}, time_mask: {time_mask_param: 100, p: 0.2, count: 10, iid_masks: true}, mask_value: -1.5}
  raw: {encoding: s24, rate: 44100, channels: 2}
  layout: NLC
  max_frames: 1000000
  timeout: 5s
`)
	want := &Audio{
		Rate: 16000, Channels: 1, Select: []int{1, 0}, Length: 40000, Shape: Ragged, Crop: Random, Window: Window{Start: 500 * time.Millisecond, Duration: 20 * time.Second}, Speed: []float64{0.9, 1.1},
		Noise: &Noise{[2]float64{5, 20.5}, 0.25, Brown, SoundFiles{}}, Gain: &Gain{[2]float64{-6, 3}, 0.5}, Inversion: 0.75, PreEmphasis: 0.97,
		Resample: Resample{SincKaiser, 64, 0.9475, 8, FiltersF64}, Normalize: Normalized{Loudness, -20},
		Features: &Features{"mfcc", 512, 400, 160, 1, false, true, 64, 20, 7600, Slaney, Slaney, Decibel, 60, 13, "", []float64{1, 2}, []float64{3},
			&AxisMask{27, 2, 1, false}, &AxisMask{100, 10, 0.2, true}, -1.5, false, "", false, 0, false, false, false, true, 0.5, false, 1e-5},
		Raw: &Raw{"s24", 44100, 2}, DType: tensor.F32, Layout: NLC, MaxFrames: 1000000, Timeout: 5 * time.Second,
	}
	if !reflect.DeepEqual(got.Audio, want) {
		t.Fatalf("got %+v\nwant %+v", got.Audio, want)
	}
}

// A description of sounds looks for files of sound, or for such parts of shards, unless it says for what.
func TestSoundsAreLookedForByTheirEndings(t *testing.T) {
	for text, found := range map[string]func(s *Spec) []string{
		"source: {folder: p}":                           func(s *Spec) []string { return s.Source.Extensions },
		"source: {shards: a.tar}":                       func(s *Spec) []string { return s.Source.Image },
		"source: {mix: [{folder: p}, {shards: a.tar}]}": func(s *Spec) []string { return append(s.Source.Mix[0].Extensions, s.Source.Mix[1].Image...) },
		"source: {folder: p, extensions: [wav, XYZ]}":   nil,
		"source: {shards: a.parquet, image: waveform}":  nil,
		"source: {shards: a.tar, image: [flac, opus]}":  nil,
	} {
		s := parse(t, text+"\naudio: {rate: 8000, length: 1s}\n")
		switch {
		case found != nil && !slices.Contains(found(s), "flac"):
			t.Errorf("%s: %+v", text, s.Source)
		case found == nil && (slices.Contains(s.Source.Extensions, "flac") || len(s.Source.Image) > 2):
			t.Errorf("%s: %+v", text, s.Source)
		}
	}
}

// What makes no sense is refused with its place, and what would.
func TestAudioThatCannotBeIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		"{length: 1s}":          "audio.length: got text \"1s\" without a rate",
		"{length: 100}":         "audio: rate is missing",
		"{rate: 8000}":          "audio: length is missing",
		"{rate: 0, length: 1}":  "audio.rate: got 0, want a whole number from 1 to 768000",
		"{rate: 8, length: 1x}": "audio.length: got text \"1x\" at 8 Hz, want a whole number of samples, or a time such as 10s",
		"{rate: 8, length: 9, shape: ragged, channels: 2}":                                                             "audio.shape: got ragged with layout NCL, want layout: NLC",
		"{rate: 8, length: 9, shape: ragged, features: {kind: mel}}":                                                   "audio.shape: got ragged with layout NCL, want layout: NLC",
		"{rate: 8, length: 9, features: {}}":                                                                           "audio.features: kind is missing, want spectrogram, mel, mfcc, whisper or fbank",
		"{rate: 16000, length: 1s, features: {kind: fbank, n_fft: 512}}":                                               "audio.features.n_fft: given with kind: fbank, which says all but n_mels, win_length",
		"{rate: 16000, length: 1s, features: {kind: fbank, log: db}}":                                                  "audio.features.log: given with kind: fbank",
		"{rate: 16000, length: 1s, features: {kind: mel, int16: true}}":                                                "audio.features: window_type, int16 and snip_edges go with kind: fbank, got kind: mel",
		"{rate: 16000, length: 1s, features: {kind: whisper, snip_edges: false}}":                                      "audio.features: window_type, int16 and snip_edges go with kind: fbank, got kind: whisper",
		"{rate: 16000, length: 1s, features: {kind: fbank, window_type: hann}}":                                        "audio.features.window_type: got text \"hann\", want one of povey, hanning, hamming",
		"{rate: 8, length: 9, features: {kind: mel, pad_mode: zeros}}":                                                 "audio.features.pad_mode: got text \"zeros\", want one of reflect, constant",
		"{rate: 8, length: 9, features: {kind: mel, center: false, pad_mode: constant}}":                               "audio.features.pad_mode: given with center: false, whose spectra lie inside",
		"{rate: 8, length: 9, features: {kind: spectrogram, filters: f64}}":                                            "audio.features.filters: goes with kind: mel or mfcc, got kind: spectrogram",
		"{rate: 8, length: 9, features: {kind: mel, ref: max}}":                                                        "audio.features: ref and amin go with log: db, got log: none",
		"{rate: 8, length: 9, features: {kind: mfcc, log: ln, amin: 1e-5}}":                                            "audio.features: ref and amin go with log: db, got log: ln",
		"{rate: 8, length: 9, features: {kind: mel, log: db, ref: 0}}":                                                 "audio.features.ref: got 0, want a number above 0, or max",
		"{rate: 8, length: 9, features: {kind: mel, log: db, ref: mean}}":                                              "audio.features.ref: got text \"mean\", want a number or max",
		"{rate: 8, length: 9, features: {kind: mel, log: db, amin: 0}}":                                                "audio.features.amin: got 0, want a number from 1e-30",
		"{rate: 16000, length: 1s, features: {kind: fbank, pad_mode: constant}}":                                       "audio.features.pad_mode: given with kind: fbank",
		"{rate: 16000, length: 1s, features: {kind: whisper, ref: max}}":                                               "audio.features.ref: given with kind: whisper",
		"{rate: 8, length: 9, features: {kind: mel, n_mfcc: 3}}":                                                       "audio.features.n_mfcc: goes with kind: mfcc",
		"{rate: 8, length: 9, features: {kind: spectrogram, n_mels: 3}}":                                               "audio.features: n_mels, f_min, f_max, mel_scale and norm go with kind: mel or mfcc",
		"{rate: 8, length: 9, features: {kind: mel, f_min: 5}}":                                                        "audio.features.f_min: got 5, want less than f_max, which is 4",
		"{rate: 8, length: 9, dtype: i16, features: {kind: mel}}":                                                      "audio.dtype: got i16 with features, want f32",
		"{rate: 8, length: 9, normalize: {level: 1}}":                                                                  "audio.normalize: to is missing, want peak, loudness or zero_mean_unit_var",
		"{rate: 8, length: 9, raw: {rate: 1}}":                                                                         "audio.raw: encoding, rate or channels is missing",
		"{rate: 8, length: 9, resample: {method: soxr_hq, width: 6}}":                                                  "audio.resample.width: given with method: soxr_hq, whose filters are its own; leave it out, or take sinc_interp_hann",
		"{rate: 8, length: 9, resample: {method: swresample, filters: f64}}":                                           "audio.resample.filters: given with method: swresample, whose filters are its own",
		"{rate: 8, length: 9, resample: {method: soxr}}":                                                               "audio.resample.method: got text \"soxr\", want one of sinc_interp_hann, sinc_interp_kaiser, swresample, soxr_hq",
		"{rate: 8, length: 9, crop: middle}":                                                                           "audio.crop: got text \"middle\", want one of refuse, start, center, random",
		"{rate: 8, length: 9, speed: {}}":                                                                              "audio.speed: factors is missing, want the speeds of which each sample draws one, such as factors: [0.9, 1.0, 1.1]",
		"{rate: 8, length: 9, speed: {factors: [1, 0]}}":                                                               "audio.speed.factors[1]: got 0, want a number from 0.1 to 10",
		"{rate: 8, length: 9, speed: {factors: 1.1}}":                                                                  "audio.speed.factors: got 1.1, want a list of speeds such as [0.9, 1.0, 1.1]",
		"{rate: 8, length: 9, speed: {factors: [1, 1.1]}}\ncache: {rows_bytes: 1MiB}":                                  "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, normalize: {to: zero_mean_unit_var, level: 1}}":                                          "audio.normalize.level: given with to: zero_mean_unit_var, which has none",
		"{rate: 8, length: 9, normalize: {to: zero_mean_unit_var}, dtype: i16}":                                        "audio.dtype: got i16 with normalize to zero_mean_unit_var, want f32",
		"{rate: 8, length: 9, noise: {}}":                                                                              "audio.noise: snr_db is missing, want what is drawn from, in decibels, such as snr_db: [10, 30]",
		"{rate: 8, length: 9, noise: {snr_db: [9, 3]}}":                                                                "audio.noise.snr_db: got [9, 3], want low before high",
		"{rate: 8, length: 9, noise: {snr_db: 9}}":                                                                     "audio.noise.snr_db: got 9, want [low, high]",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], p: 2}}":                                                          "audio.noise.p: got 2, want a number from 0 to 1",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], color: blue}}":                                                   "audio.noise.color: got text \"blue\", want one of white, pink, brown",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], from: d, color: pink}}":                                          "audio.noise.color: given beside from, whose sounds are as they are; leave one of them out",
		"{rate: 8, length: 9, noise: {from: d}}":                                                                       "audio.noise: snr_db is missing, want what is drawn from",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], from: ''}}":                                                      "audio.noise.from: got text \"\", want text that is not empty",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], from: [a]}}":                                                     "audio.noise.from: got a list, want text",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], from: 's3://b/noise'}}":                                          "audio.noise.from: got \"s3://b/noise\", want a folder or a list of sounds on this machine; copy them there",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], from: d, memory_bytes: 0}}":                                      "audio.noise.memory_bytes: got 0, want a size such as 64MiB",
		"{rate: 8, length: 9, noise: {snr_db: [0, 9], memory_bytes: 1MiB}}":                                            "audio.noise.memory_bytes: given without from, whose sounds it keeps; leave it out",
		"{rate: 8, length: 9, reverb: {}}":                                                                             "audio.reverb: from is missing, want a folder of impulse responses, or a list of them",
		"{rate: 8, length: 9, reverb: {from: d, p: 2}}":                                                                "audio.reverb.p: got 2, want a number from 0 to 1",
		"{rate: 8, length: 9, reverb: {from: 'gs://b'}}":                                                               "audio.reverb.from: got \"gs://b\", want a folder",
		"{rate: 8, length: 9, reverb: {from: d}}\ncache: {rows_bytes: 1MiB}":                                           "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, gain: {p: 1}}":                                                                           "audio.gain: db is missing, want what is drawn from, in decibels, such as db: [-6, 6]",
		"{rate: 8, length: 9, gain: {db: [-101, 6]}}":                                                                  "audio.gain.db[0]: got -101, want a number from -100 to 100",
		"{rate: 8, length: 9, polarity_inversion: 1.5}":                                                                "audio.polarity_inversion: got 1.5, want a number from 0 to 1",
		"{rate: 8, length: 9, pre_emphasis: -0.1}":                                                                     "audio.pre_emphasis: got -0.1, want a number from 0 to 1",
		"{rate: 8, length: 9, noise: {snr_db: [9, 9]}}\ncache: {rows_bytes: 1MiB}":                                     "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, gain: {db: [0, 1]}}\ncache: {rows_bytes: 1MiB}":                                          "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, gain: {db: [1, 1], p: 0.5}}\ncache: {rows_bytes: 1MiB}":                                  "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, polarity_inversion: 0.5}\ncache: {rows_bytes: 1MiB}":                                     "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, features: {kind: mel, cmvn: std}}":                                                       "audio.features.cmvn: got text \"std\", want one of mean, mean_variance",
		"{rate: 8, length: 9, features: {kind: mel, normalize: {mean: 3}}}":                                            "audio.features.normalize: mean or std is missing, want both",
		"{rate: 8, length: 9, features: {kind: mel, normalize: {mean: 3, std: 0}}}":                                    "audio.features.normalize.std: got 0, want a number from 1e-06",
		"{rate: 8, length: 9, features: {kind: mel, normalize: {mean: [], std: 1}}}":                                   "audio.features.normalize.mean: got an empty list",
		"{rate: 8, length: 9, features: {kind: mel, normalize: {mean: [a], std: 1}}}":                                  "audio.features.normalize.mean[0]: got text \"a\", want a number",
		"{rate: 8, length: 9, features: {kind: whisper}}":                                                              "audio.rate: got 8 with features of kind whisper, want 16000",
		"{rate: 16000, length: 30s, channels: 2, features: {kind: whisper}}":                                           "audio.channels: got 2 with features of kind whisper, want 1",
		"{rate: 16000, length: 30s, shape: padded, features: {kind: whisper}}":                                         "audio.shape: got padded with features of kind whisper, want fixed",
		"{rate: 16000, length: 30s, features: {kind: whisper, n_fft: 512}}":                                            "audio.features.n_fft: given with kind: whisper, which says all but n_mels",
		"{rate: 8, length: 9, frequency_mask: {freq_mask_param: 2}}":                                                   "audio.frequency_mask: unknown key here; it belongs at audio.features.frequency_mask",
		"{rate: 8, length: 9, features: {kind: mel, frequency_mask: {}}}":                                              "audio.features.frequency_mask: freq_mask_param is missing, want how long a mask may be, such as freq_mask_param: 27",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {freq_mask_param: 3}}}":                                 "audio.features.time_mask.freq_mask_param: unknown key",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {time_mask_param: 0}}}":                                 "audio.features.time_mask.time_mask_param: got 0, want a whole number from 1",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {time_mask_param: 3, p: 1.5}}}":                         "audio.features.time_mask.p: got 1.5, want a number from 0 to 1",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {time_mask_param: 3, count: 65}}}":                      "audio.features.time_mask.count: got 65, want a whole number from 1 to 64",
		"{rate: 8, length: 9, features: {kind: mel, padding: mean}}":                                                   "audio.features.padding: got text \"mean\", want a number or silence",
		"{rate: 8, length: 9, features: {kind: mel, padding: 1e9}}":                                                    "audio.features.padding: got 1e9, want a number from -10000 to 10000",
		"{rate: 8, length: 9, shape: padded, features: {kind: mel, padding: silence}}":                                 "audio.features.padding: given with shape: padded, want shape: fixed",
		"{rate: 16000, length: 30s, features: {kind: whisper, padding: 0}}":                                            "audio.features.padding: given with kind: whisper, which says all but n_mels",
		"{rate: 8, length: 9, features: {kind: mel, mask_value: 0}}":                                                   "audio.features.mask_value: given without frequency_mask and time_mask, whose value it is",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {time_mask_param: 3}, mask_value: average}}":            "audio.features.mask_value: got text \"average\", want a number or mean",
		"{rate: 8, length: 9, features: {kind: mel, time_mask: {time_mask_param: 3}}}\ncache: {rows_bytes: 1MiB}":      "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, features: {kind: mel, frequency_mask: {freq_mask_param: 3}}}\ncache: {rows_bytes: 1MiB}": "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9, channel: 2}":                                                                             "audio.channel: unknown key; did you mean \"channels\"?",
		"{rate: 8, length: 134217728, channels: 64}":                                                                   "audio.length: got 134217728 samples of 64 channels, want less than 2 GiB a row",
		"{rate: 8, length: 9}\nimage: {transform: [center_crop: 8]}":                                                   "audio: from is missing, want the ending of the files beside those of image, such as from: wav",
		"{rate: 8, length: 9, crop: random}\ncache: {rows_bytes: 1MiB}":                                                "cache.rows_bytes: rows are drawn by chance",
		"{rate: 8, length: 9}\nsource: {list: a.csv, columns: [audio]}":                                                "",
		"{rate: 8, length: 9}\nrings: {a: {source: {shards: a.tar, columns: [length]}}}":                               `got name "length", which every batch has`,
	} {
		_, err := Parse([]byte(sounds+body), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}

// What happens to every sample alike is not drawn by chance, and its rows may be kept.
func TestEffectsWithoutChanceLeaveRowsTheSame(t *testing.T) {
	for _, keys := range []string{"speed: {factors: [0.9]}", "noise: {snr_db: [0, 9], p: 0}", "noise: {snr_db: [0, 9], p: 0, from: d}", "reverb: {from: d, p: 0}", "gain: {db: [3, 3]}", "gain: {db: [0, 9], p: 0}", "polarity_inversion: 1", "pre_emphasis: 0.97"} {
		parse(t, sounds+"{rate: 8000, length: 1s, "+keys+"}\ncache: {rows_bytes: 1MiB}\n")
	}
}

// Rings may differ in what their samples are, and one takes from the top level what it does not say itself.
func TestRingsOfSoundAndOfPictures(t *testing.T) {
	s := parse(t, "source: {folder: p}\naudio: {rate: 8000, length: 1s, crop: random}\nrings: {a: {}, b: {audio: {crop: start}}, c: {image: {transform: [center_crop: 8]}}}\n")
	a, b, c := s.Rings[0], s.Rings[1], s.Rings[2]
	if a.Audio.Crop != Random || b.Audio.Crop != Start || b.Audio.Length != 8000 || c.Audio != nil || c.RowShape().String() != "8x8x3" {
		t.Fatalf("%+v\n%+v\n%+v", a.Audio, b.Audio, c)
	}
	if c.Source.Extensions != nil {
		t.Fatalf("pictures are looked for among %v", c.Source.Extensions)
	}
}

// A column may have any name but those of the ring's own fields: other modalities' names are free.
func TestColumnsMayBeCalledWhatOtherModalitiesCallTheirFields(t *testing.T) {
	columns := "source: {shards: a.tar, columns: [image, video, length, frames, audio, pts]}\n"
	for sample, taken := range map[string]string{
		"image: {transform: [center_crop: 8]}\n":            "image",
		"video: {frames: 2, transform: [center_crop: 8]}\n": "video",
		"audio: {rate: 8000, length: 1s}\n":                 "length",
	} {
		want := `got name "` + taken + `", which every batch has`
		if _, err := Parse([]byte(columns+sample), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", sample, err, want)
		}
	}
	parse(t, "source: {shards: a.tar, columns: [length, frames, pts, audio]}\nimage: {transform: [center_crop: 8]}\n")
}

// The hash of a description of sounds names what decides its bytes: another value, another hash; how long FFmpeg may take is not part of it.
func TestHashOfSounds(t *testing.T) {
	hash := func(body string) string { return string(parse(t, sounds+body).Canonical()) }
	base := hash("{rate: 8000, length: 1s}")
	if strings.Contains(base, "image\":") || hash("{rate: 8000, length: 8000, timeout: 3s}") != base {
		t.Fatal(base)
	}
	for _, body := range []string{"{rate: 8001, length: 8000}", "{rate: 8000, length: 1s, crop: start}", "{rate: 8000, length: 1s, features: {kind: mel}}", "{rate: 8000, length: 1s, features: {kind: mel, cmvn: mean}}", "{rate: 8000, length: 1s, features: {kind: fbank, snip_edges: false}}", "{rate: 8000, length: 1s, features: {kind: mel, padding: 1}}", "{rate: 8000, length: 1s, features: {kind: mel, padding: silence}}", "{rate: 8000, length: 1s, features: {kind: mel, time_mask: {time_mask_param: 3}}}", "{rate: 8000, length: 1s, features: {kind: mel, time_mask: {time_mask_param: 3}, mask_value: mean}}", "{rate: 8000, length: 1s, features: {kind: mel, normalize: {mean: 0, std: 1}}}", "{rate: 8000, length: 1s, select: [0]}",
		"{rate: 8000, length: 1s, speed: {factors: [1]}}", "{rate: 8000, length: 1s, noise: {snr_db: [1, 2]}}", "{rate: 8000, length: 1s, noise: {snr_db: [1, 2], color: pink}}", "{rate: 8000, length: 1s, noise: {snr_db: [1, 2], from: d}}", "{rate: 8000, length: 1s, reverb: {from: d}}",
		"{rate: 8000, length: 1s, gain: {db: [1, 1]}}", "{rate: 8000, length: 1s, polarity_inversion: 1}", "{rate: 8000, length: 1s, pre_emphasis: 0.5}"} {
		if hash(body) == base {
			t.Errorf("%s has the hash of another", body)
		}
	}
}

// Features that say what is so anyway have the hash of those that do not.
func TestSnippedEdgesAreTheUsual(t *testing.T) {
	hash := func(more string) [32]byte {
		return parse(t, sounds+"{rate: 8000, length: 1s, features: {kind: fbank"+more+"}}").Hash()
	}
	if hash(", snip_edges: true") != hash("") || hash(", snip_edges: false") == hash("") {
		t.Error("the hash does not follow snip_edges")
	}
}

// A second data set is found from the description, and is in the hash by the words that name it; how much memory it may take is not.
func TestSecondDataSetsAreInTheHashAsWritten(t *testing.T) {
	const body = "{rate: 8000, length: 1s, noise: {snr_db: [1, 2], from: %s}, reverb: {from: %s}}"
	seen := map[string]bool{}
	for _, from := range [][2]any{{"a", "b"}, {"a/../a", "b"}, {"c", "b"}, {"a", "c"}} {
		s, err := Parse([]byte(sounds+fmt.Sprintf(body, from[:]...)), "/x/y.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if from[0] == "c" && (s.Audio.Noise.Path != "/x/c" || s.Audio.Reverb.Path != "/x/b" || s.Audio.Noise.KeptBytes != 256<<20) {
			t.Errorf("got %+v, %+v", s.Audio.Noise, s.Audio.Reverb)
		}
		seen[string(s.Canonical())] = true
	}
	if len(seen) != 3 {
		t.Errorf("got %d hashes, want 3", len(seen))
	}
	small := parse(t, sounds+"{rate: 8000, length: 1s, reverb: {from: a, memory_bytes: 1MiB}}")
	if small.Audio.Reverb.KeptBytes != 1<<20 || small.Hash() != parse(t, sounds+"{rate: 8000, length: 1s, reverb: {from: a}}").Hash() {
		t.Error("memory is in the hash, or does not arrive")
	}
}

// Whatever a window says makes other rows.
func TestHashFollowsWindows(t *testing.T) {
	const columns = "source: {shards: a.tar, columns: [{name: a, type: f64}, {name: b, type: f64}]}\n"
	for _, section := range []string{"audio: {rate: 8000, length: 1s", "video: {frames: 8, select: {kind: uniform}, transform: [center_crop: 8]"} {
		seen := map[[32]byte]string{parse(t, columns+section+"}").RowHash(): "no window"}
		for _, window := range []string{"{start: 1s}", "{duration: 1s}", "{start_column: a}", "{start_column: b}", "{duration_column: b}", "{end_column: b}", "{end_column: a}", "{start_column: a, end_column: b}"} {
			h := parse(t, columns+section+", window: "+window+"}").RowHash()
			if other, twice := seen[h]; twice {
				t.Errorf("%s}: the same hash of %s and %s", section, other, window)
			}
			seen[h] = window
		}
	}
}

// Which channel a sound is makes other rows, whether the description or a column says it.
func TestHashFollowsChannels(t *testing.T) {
	const source = "source: {shards: a.tar, columns: [{name: a, type: i64}, {name: b, type: i64}]}\naudio: {rate: 8000, length: 1s"
	seen := map[[32]byte]string{}
	for _, section := range []string{"", ", select: [0]", ", select: [1]", ", select: {column: a}", ", select: {column: b}", ", channels: 2, select: {column: b}"} {
		h := parse(t, source+section+"}").RowHash()
		if other, twice := seen[h]; twice {
			t.Errorf("the same hash of %q and %q", section, other)
		}
		seen[h] = section
	}
	above := parse(t, source+", select: {column: a}, channels: 2}\nrings: {x: {audio: {select: [1]}}, y: {}}")
	if x, y := above.Rings[0].Audio, above.Rings[1].Audio; x.Channel != "" || x.Channels != 1 || y.Channel != "a" || y.Channels != 2 {
		t.Errorf("got %+v, %+v", x, y)
	}
}
