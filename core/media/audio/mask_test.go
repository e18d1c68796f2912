package audio

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// maskAlongAxis is torchaudio's function of that name, or of that name with _iid, on [channels, bins, steps] and for draws in place of rand().
func maskAlongAxis(x [][][]float32, m *Mask, time bool, held int, value float32, draw Draw) {
	size, op := len(x[0]), uint32(drawFrequencyMask)
	param := m.Param
	if time {
		size, op = held, drawTimeMask
		param = min(param, held)
		if m.P != 1 {
			param = min(param, int(float64(size)*m.P))
		}
	}
	for i := range m.Count {
		for c := range x {
			block := uint32(i)
			if m.IID {
				block = uint32(64*c + i)
			}
			u, v := draw.uniforms(op, block)
			width := u * float64(param)
			start := math.Floor(v * (float64(size) - width))
			end := start + math.Floor(width)
			for b := range x[c] {
				for s := range held {
					at := float64(b)
					if time {
						at = float64(s)
					}
					if at >= start && at < end {
						x[c][b][s] = value
					}
				}
			}
		}
	}
}

// What is masked, and nothing else, has another value; what that is follows torchaudio's definition, in both layouts, of one channel and of two.
func TestMasksAreTorchaudios(t *testing.T) {
	const frames, length = 5000, 8000 // 32 steps of 51
	for name, f := range map[string]Features{
		"frequency":        {FrequencyMask: &Mask{Param: 9, Count: 1}},
		"two of frequency": {FrequencyMask: &Mask{Param: 13, Count: 2}, MaskValue: -3},
		"time":             {TimeMask: &Mask{Param: 20, Count: 1, P: 1}},
		"ten of a share":   {TimeMask: &Mask{Param: 30, Count: 10, P: 0.2}, MaskValue: 0.5},
		"longer than it":   {TimeMask: &Mask{Param: 51, Count: 1, P: 1}, MaskValue: 7},
		"none of time":     {TimeMask: &Mask{Param: 30, Count: 3, P: 0}, MaskValue: 7},
		"SpecAugment":      {FrequencyMask: &Mask{Param: 6, Count: 2, IID: true}, TimeMask: &Mask{Param: 15, Count: 2, P: 1, IID: true}, MaskMean: true},
		"alike":            {FrequencyMask: &Mask{Param: 6, Count: 2}, TimeMask: &Mask{Param: 15, Count: 2, P: 1}, MaskMean: true},
	} {
		for _, channels := range []int{1, 2} {
			t.Run(fmt.Sprint(name, channels), func(t *testing.T) {
				src := Source{Bytes: wavBytes(3, 2, 16000, 32, bytesAs(noise(2*frames, 4)))}
				f.Kind, f.Mels, f.Hop, f.Log = Mel, 13, 160, NaturalLog
				plainCfg := Config{Rate: 16000, Channels: channels, Length: length, Features: &Features{Kind: Mel, Mels: 13, Hop: 160, Log: NaturalLog}}
				plain, info := decoded(t, plainCfg, src, Draw{})
				held, capacity := info.Samples, len(plain)/13/channels
				mean := 0.0
				for index := range uint64(20) {
					x := make([][][]float32, channels)
					for c := range x {
						for b := range 13 {
							line := slices.Clone(plain[(c*13+b)*capacity:][:capacity])
							x[c] = append(x[c], line)
							for _, v := range line {
								mean += float64(v)
							}
						}
					}
					value := float32(f.MaskValue)
					if f.MaskMean {
						value = float32(mean / float64(13*channels*held))
					}
					mean = 0
					draw := Draw{Seed: 11, Epoch: 1, Index: index}
					if f.TimeMask != nil {
						maskAlongAxis(x, f.TimeMask, true, held, value, draw)
					}
					if f.FrequencyMask != nil {
						maskAlongAxis(x, f.FrequencyMask, false, held, value, draw)
					}
					for _, layout := range []Layout{ChannelsFirst, TimeFirst} {
						cfg := plainCfg
						cfg.Layout, cfg.Features = layout, &f
						got, _ := decoded(t, cfg, src, draw)
						for i, v := range got {
							c, b, s := i/capacity/13, i/capacity%13, i%capacity
							if layout == TimeFirst {
								c, b, s = i/13%channels, i%13, i/13/channels
							}
							if math.Abs(float64(v-x[c][b][s])) > 1e-6 {
								t.Fatalf("sample %d layout %d: channel %d bin %d step %d is %v, want %v", index, layout, c, b, s, v, x[c][b][s])
							}
						}
					}
				}
			})
		}
	}
}

// Masks are from 0 to less than their parameter long, lie anywhere, and never in what is behind the row's own steps.
func TestMasksLieAnywhereInARowsOwnSteps(t *testing.T) {
	f := &Features{Kind: Mel, Mels: 20, Hop: 160, TimeMask: &Mask{Param: 10, Count: 1, P: 1}, FrequencyMask: &Mask{Param: 5, Count: 1}, MaskValue: -1}
	op, err := Compile(Config{Rate: 16000, Channels: 1, Length: 8000, Features: f})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Bytes: floatWAV(16000, noise(4800, 1))} // 31 steps of 51
	long, first, wide, low := map[int]int{}, map[int]bool{}, map[int]int{}, map[int]bool{}
	for index := range uint64(1500) {
		row, info := decodedBy(t, op, nil, src, Draw{Index: index})
		x, _ := floatsOf(row)
		masked := func(bin, step int) bool { return x[bin*51+step] == -1 }
		steps, bins := []int{}, []int{}
		for s := range 51 {
			all := true
			for b := range 20 {
				all = all && masked(b, s)
				if s >= info.Samples && x[b*51+s] != 0 {
					t.Fatalf("sample %d: a mask at step %d of %d", index, s, info.Samples)
				}
			}
			if all {
				steps = append(steps, s)
			}
		}
		for b := range 20 {
			all := true
			for s := range info.Samples {
				all = all && masked(b, s)
			}
			if all {
				bins = append(bins, b)
			}
		}
		long[len(steps)]++
		wide[len(bins)]++
		if len(steps) > 0 {
			first[steps[0]] = true
			if steps[len(steps)-1]-steps[0] != len(steps)-1 {
				t.Fatalf("steps %v", steps)
			}
		}
		if len(bins) > 0 {
			low[bins[0]] = true
		}
	}
	if len(long) != 10 || long[0] < 100 || long[9] < 100 || long[10] != 0 {
		t.Errorf("lengths %v, want 0 to 9 about as often", long)
	}
	if len(wide) != 5 || wide[0] < 230 || wide[4] < 230 {
		t.Errorf("widths %v, want 0 to 4 about as often", wide)
	}
	if len(first) < 28 || len(low) < 18 {
		t.Errorf("masks begin at %d of 31 steps and %d of 20 bins", len(first), len(low))
	}
}

// Of Whisper's features, whose rows are filled up with silence, masks hide the sound.
func TestMasksOfWhispersFeaturesHideTheSound(t *testing.T) {
	cfg := Config{Rate: 16000, Channels: 1, Length: 16000, Features: &Features{Kind: Whisper}}
	src := Source{Bytes: floatWAV(16000, noise(4000, 1))} // 25 steps of 100
	plain, _ := decoded(t, cfg, src, Draw{})
	cfg.Features = &Features{Kind: Whisper, MaskValue: 9, TimeMask: &Mask{Param: 100, Count: 5, P: 1}, FrequencyMask: &Mask{Param: 80, Count: 5}}
	got, info := decoded(t, cfg, src, Draw{})
	hidden := 0
	for i, v := range got {
		if v == 9 {
			hidden++
		}
		if i%100 >= info.Samples && v != plain[i] || v != 9 && v != plain[i] {
			t.Fatalf("band %d step %d of %d: %v was %v", i/100, i%100, info.Samples, v, plain[i])
		}
	}
	if hidden == 0 {
		t.Error("nothing is hidden")
	}
}

// What cannot be is refused by its key; a time mask is fitted to a sound's own length where that is the row's.
func TestMasksThatCannotBeAreRefused(t *testing.T) {
	whole := Features{Kind: Mel, Mels: 20, Hop: 160}
	for want, change := range map[string]func(f *Features){
		"features.frequency_mask.freq_mask_param: got 21, want 1 to the number of bins, 20":     func(f *Features) { f.FrequencyMask = &Mask{Param: 21, Count: 1} },
		"features.frequency_mask.freq_mask_param: got 0":                                        func(f *Features) { f.FrequencyMask = &Mask{Count: 1} },
		"features.frequency_mask.count: got 0, want 1 to 64":                                    func(f *Features) { f.FrequencyMask = &Mask{Param: 1} },
		"features.time_mask.time_mask_param: got 0":                                             func(f *Features) { f.TimeMask = &Mask{Count: 1} },
		"features.time_mask.time_mask_param: got 52, want 1 to the number of a row's steps, 51": func(f *Features) { f.TimeMask = &Mask{Param: 52, Count: 1, P: 1} },
		"features.time_mask.count: got 65":                                                      func(f *Features) { f.TimeMask = &Mask{Param: 1, Count: 65, P: 1} },
		"features.time_mask.p: got -1":                                                          func(f *Features) { f.TimeMask = &Mask{Param: 1, Count: 1, P: -1} },
		"features.mask_value: got NaN":                                                          func(f *Features) { f.MaskValue = math.NaN() },
		"features.mask_value: got 1, want a finite number, or the mean alone":                   func(f *Features) { f.MaskValue, f.MaskMean = 1, true },
	} {
		f := whole
		change(&f)
		_, err := Compile(Config{Rate: 16000, Channels: 1, Length: 8000, Features: &f})
		var config *ConfigError
		if !errors.As(err, &config) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f := whole
	f.TimeMask = &Mask{Param: 52, Count: 1, P: 1}
	cfg := Config{Rate: 16000, Channels: 1, Length: 8000, Features: &f}
	cfg.FitTimeMask()
	if _, err := Compile(cfg); err != nil || cfg.Features.TimeMask.Param != 51 || f.TimeMask.Param != 52 {
		t.Errorf("fitted to %d: %v", cfg.Features.TimeMask.Param, err)
	}
}
