//go:build !noffmpeg

package audio

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/media/mux"
)

// retimed is a file of the first's sound in another container, its packets' times changed as FFmpeg's setts has it ("TS+4000").
func retimed(t *testing.T, file []byte, ending, times string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound."+ending)
	in, err := mux.OpenInput(mux.Source{Bytes: file}, mux.KindAudio)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m, err := mux.Create(path, mux.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Abort()
	track, err := m.AddCopy(in, mux.Copy{Filters: "setts=ts=" + times})
	if err == nil {
		err = mux.CopyAll(track)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// heardOf are the first channel's samples, as numbered has them, from one second up to another.
func heardOf(t *testing.T, file []byte, from, to float64) []int {
	t.Helper()
	w := workerOf(t, Config{Select: []int{0}})
	defer w.Close()
	got, _, err := w.Wave(Source{Bytes: file, Shown: &[2]float64{from, to}}, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]int, got.Frames)
	for i, x := range got.Data {
		all[i] = int(math.Round(float64(x) * 32768))
	}
	return all
}

// Sound is where the container's clock says: also behind a gap, which is silent, and where two packets overlap. Its length as a sound is as ever.
func TestSoundIsWhereItsClockSays(t *testing.T) {
	const n = 20000 // of packets of 1,024
	file := numbered(n)
	for name, c := range map[string]struct {
		ending, times string
		at            func(i int) int // the sample heard at i, from 1 on, in samples of the clock; 0: none
	}{
		"as it is": {"mkv", "TS", func(i int) int { return i + 1 }},
		"later":    {"mkv", "TS+4000", func(i int) int { return i + 1 - 4000 }},
		"a gap": {"mkv", "TS+8000*gte(N\\,2)", func(i int) int {
			return map[bool]int{true: i + 1}[i < 2048] + map[bool]int{true: i + 1 - 8000}[i >= 10048]
		}},
		"later and a gap": {"mkv", "TS+2000+800*gte(N\\,4)", func(i int) int {
			return map[bool]int{true: i + 1 - 2000}[i < 6096] + map[bool]int{true: i + 1 - 2800}[i >= 6896]
		}},
		"no gap": {"mkv", "TS+80*gte(N\\,3)", func(i int) int { return i + 1 }}, // 10 ms: clocks tremble
		"twice":  {"mkv", "TS-800*gte(N\\,3)", func(i int) int { return map[bool]int{true: i + 1, false: i + 1 + 800}[i < 3072] }},
	} {
		moved := retimed(t, file, c.ending, c.times)
		for _, part := range [][2]int{{0, 32000}, {-800, 2400}, {1000, 3000}, {5000, 6000}, {9600, 10400}, {9600, 12000}, {24000, 32000}} {
			got := heardOf(t, moved, float64(part[0])/8000, float64(part[1])/8000)
			want := make([]int, part[1]-part[0])
			for k := range want {
				if i := part[0] + k; i >= 0 {
					want[k] = c.at(i)
				}
				if want[k] < 0 || want[k] > n {
					want[k] = 0
				}
			}
			if !slices.Equal(got, want) {
				k := 0
				for ; k < min(len(got), len(want)) && got[k] == want[k]; k++ {
				}
				t.Errorf("%s, %v: %d samples, want %d; the first other is %d: %s", name, part, len(got), len(want), k, fmt.Sprint(got[k:min(k+4, len(got))], want[k:min(k+4, len(want))]))
			}
		}
		w := workerOf(t, Config{Select: []int{0}})
		if all, _, err := w.Wave(Source{Bytes: moved}, Draw{}); err != nil || all.Frames != n || all.Data[n-1] != n/32768. {
			t.Errorf("%s: %d samples as a sound, %v", name, all.Frames, err)
		}
		w.Close()
	}
}

// A clock that begins anew goes on from where it was: two transport streams that were joined are heard one behind the other.
func TestSoundOfJoinedStreamsGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.ts")
	m, err := mux.Create(path, mux.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Abort()
	track, err := m.AddAudio(mux.Audio{Codec: "mp2", Rate: 48000, Channels: 1})
	if err != nil {
		t.Skip(err)
	}
	tone := make([]float32, 3*48000)
	for i := range tone {
		tone[i] = float32(math.Sin(float64(i)/20)) / 2
	}
	if err = track.Write(tone); err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	one, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	both := slices.Concat(one, one)
	s, err := Probe(Source{Bytes: both})
	if err != nil {
		t.Fatal(err)
	}
	w := workerOf(t, Config{})
	defer w.Close()
	got, _, err := w.Wave(Source{Bytes: both, Shown: &[2]float64{s.Start, s.Start + 5.5}}, Draw{})
	if err != nil || got.Frames != 5.5*48000 {
		t.Fatalf("%d samples, %v", got.Frames, err)
	}
	for second := range 5 {
		if level := rms(got.Data[second*48000:][:48000]); math.Abs(level-0.3535) > 0.02 {
			t.Errorf("second %d has level %v", second, level)
		}
	}
}
