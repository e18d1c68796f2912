package audio

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
)

// needsSoxr skips where the library is not.
func needsSoxr(t *testing.T) {
	t.Helper()
	if err := checkSoxr(); err != nil {
		t.Skip(err)
	}
}

// jumps is a signal of whole numbers alone, which other languages make, too.
func jumps(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(float64((i*7919+i*i*31)%2003)/1001.5 - 1)
	}
	return x
}

// Rows are what librosa.resample 0.11 with soxr 1.1.0 makes of the same samples, which these numbers are of, and as long; where soxr makes fewer, zeros follow.
func TestSoxrIsLibrosasResampling(t *testing.T) {
	needsSoxr(t)
	for _, c := range []struct {
		from, to, n int
		want        [8]float32 // at 0, 1, 2, n/2, n/2 + 1, n - 3, n - 2, n - 1
	}{
		{44100, 22050, 750, [8]float32{-0.11698102205991745, 0.4931018650531769, -1.031393051147461, 0.15949206054210663, -0.4498898386955261, -0.18921348452568054, 0.1592686027288437, -0.22877158224582672}},
		{48000, 16000, 500, [8]float32{0.1747298538684845, -0.31660741567611694, -0.524014413356781, 0.08005720376968384, -0.24388986825942993, 0.041650667786598206, -0.24287089705467224, 0.02881215699017048}},
		{8000, 16000, 3000, [8]float32{-0.9322201013565063, -0.31975269317626953, 0.8647876977920532, 0.7705912590026855, -0.14614495635032654, 0.38147497177124023, 0.48198777437210083, 0.2640129625797272}},
		{22050, 16000, 1089, [8]float32{-0.5729371309280396, 1.0773680210113525, -0.3269343078136444, 0.6964717507362366, -0.7096855044364929, -0.2181665003299713, -0.2876727283000946, 0}},
	} {
		t.Run(fmt.Sprintf("%d to %d", c.from, c.to), func(t *testing.T) {
			got, info := decoded(t, Config{Rate: c.to, Channels: 1, Length: c.n, Resample: Resample{Method: SoxrHQ}}, Source{Bytes: floatWAV(c.from, jumps(1500))}, Draw{})
			if info.Samples != c.n {
				t.Fatalf("%d frames, want %d", info.Samples, c.n)
			}
			n := c.n
			compare(t, []float32{got[0], got[1], got[2], got[n/2], got[n/2+1], got[n-3], got[n-2], got[n-1]}, c.want[:], 1e-6)
		})
	}
}

// Lengths are librosa's: what ceil(n * ratio) is in floats of 64 bits, which may be one more than the rates say.
func TestSoxrFramesAreLibrosas(t *testing.T) {
	for _, c := range []struct {
		n        int64
		from, to int
		want     int64
	}{{1, 48000, 16000, 1}, {3, 48000, 16000, 1}, {4, 48000, 16000, 2}, {146, 44100, 48000, 159}, {147, 44100, 48000, 161}, {294, 44100, 48000, 321}, {44100, 44100, 22050, 22050}, {0, 8000, 16000, 0}} {
		if got := soxrFrames(c.n, c.from, c.to); got != c.want {
			t.Errorf("%d frames from %d to %d Hz: got %d, want %d", c.n, c.from, c.to, got, c.want)
		}
	}
}

// A crop is cut from the whole window resampled, bit for bit, wherever it lies.
func TestSoxrsCropIsCutFromTheWhole(t *testing.T) {
	needsSoxr(t)
	src := Source{Bytes: floatWAV(44100, noise(200000, 5))}
	cfg := Config{Rate: 22050, Channels: 1, Length: 100000, Resample: Resample{Method: SoxrHQ}}
	whole, _ := decoded(t, cfg, src, Draw{})
	for index := range uint64(8) {
		for _, crop := range []Crop{CropRandom, CropStart, CropCentre} {
			cfg.Length, cfg.Crop = 1000, crop
			got, info := decoded(t, cfg, src, Draw{Index: index})
			compare(t, got, whole[info.Start:info.Start+1000], 0)
		}
	}
}

// A window is resampled by itself, as a sound that has no more: librosa.load(path, offset=..., duration=...).
func TestSoxrResamplesTheWindowAlone(t *testing.T) {
	needsSoxr(t)
	x := noise(8000, 4)
	cfg := Config{Rate: 16000, Channels: 1, Length: 4000, Resample: Resample{Method: SoxrHQ}}
	want, _ := decoded(t, cfg, Source{Bytes: floatWAV(8000, x[2000:4000])}, Draw{})
	cfg.Window = Window{Start: 0.25, Duration: 0.25}
	got, info := decoded(t, cfg, Source{Bytes: floatWAV(8000, x)}, Draw{})
	compare(t, got, want, 0)
	if info.Samples != 4000 {
		t.Errorf("%d frames, want 4000", info.Samples)
	}
}

// Channels are resampled one by one, and what is mixed is mixed before.
func TestSoxrResamplesChannelsOneByOne(t *testing.T) {
	needsSoxr(t)
	a, b := noise(900, 1), noise(900, 2)
	var both []float32
	mid := make([]float32, 900)
	for i := range a {
		both = append(both, a[i], b[i])
		mid[i] = (a[i] + b[i]) / 2
	}
	one := func(x []float32) []float32 {
		y, _ := decoded(t, Config{Rate: 16000, Channels: 1, Length: 327, Resample: Resample{Method: SoxrHQ}}, Source{Bytes: floatWAV(44100, x)}, Draw{})
		return y
	}
	src := Source{Bytes: wavBytes(3, 2, 44100, 32, bytesAs(both))}
	got, _ := decoded(t, Config{Rate: 16000, Channels: 2, Length: 327, Resample: Resample{Method: SoxrHQ}}, src, Draw{})
	compare(t, got, append(one(a), one(b)...), 0)
	got, _ = decoded(t, Config{Rate: 16000, Channels: 1, Length: 327, Resample: Resample{Method: SoxrHQ}}, src, Draw{})
	compare(t, got, one(mid), 0)
}

// Sounds from one frame on have librosa's lengths, and none is written beside its row.
func TestSoxrTakesSoundsOfAnyLength(t *testing.T) {
	needsSoxr(t)
	for _, n := range []int{1, 2, 3, 10, 100, 65536, 65537, 131075} {
		for _, rates := range [][2]int{{48000, 16000}, {8000, 48000}, {44100, 22050}, {44100, 48000}, {7, 768000}, {768000, 7}} {
			x := noise(n, 1)
			frames := soxrFrames(int64(n), rates[0], rates[1])
			if frames > 1<<20 {
				continue
			}
			w := workerOf(t, Config{Rate: rates[1], Channels: 1, Resample: Resample{Method: SoxrHQ}})
			wave, _, err := w.Wave(Source{Bytes: floatWAV(rates[0], x)}, Draw{})
			if err != nil || int64(wave.Frames) != frames {
				t.Errorf("%d frames from %d to %d Hz: got %d and %v, want %d", n, rates[0], rates[1], wave.Frames, err, frames)
			}
			w.Close()
		}
	}
}

// Any number of workers resample at once, and get the same bytes.
func TestSoxrWorksOnManyThreads(t *testing.T) {
	needsSoxr(t)
	op, err := Compile(Config{Rate: 22050, Channels: 1, Length: 22050, Resample: Resample{Method: SoxrHQ}})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Bytes: floatWAV(48000, noise(48000, 1))}
	want, _ := decodedBy(t, op, nil, src, Draw{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			w, _ := op.NewWorker()
			defer w.Close()
			row := make([]byte, op.RowBytes())
			for range 20 {
				if _, err := w.Decode(Row{Data: row}, src, Draw{}); err != nil || !bytes.Equal(row, want) {
					t.Errorf("%v, or other bytes", err)
				}
			}
		}()
	}
	wait.Wait()
}

// What shapes the sinc methods' filters is refused beside soxr.
func TestSoxrHasNoFiltersOfItsOwn(t *testing.T) {
	needsSoxr(t)
	_, err := Compile(Config{Rate: 8000, Resample: Resample{Method: SoxrHQ, Width: 6}})
	if err == nil {
		t.Error("compiled with a width")
	}
}
