package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// wav is a WAV of n samples of two channels at 8 kHz, s16: sample i of the first is (i + 1) / 1024, of the second nothing.
func wav(n int) []byte {
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+4*n))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00"...)
	b = binary.LittleEndian.AppendUint32(b, 8000)
	b = binary.LittleEndian.AppendUint32(b, 32000)
	b = append(b, "\x04\x00\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(4*n))
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, uint32(uint16(32*(i+1))))
	}
	return b
}

// startSounds serves WAVs of so many samples each, in their order, two a batch.
func startSounds(t *testing.T, section, more string, lengths ...int) *running {
	t.Helper()
	dir := t.TempDir()
	for i, n := range lengths {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.wav", i)), wav(n), 0o644))
	}
	text := fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 2\norder: {shuffle: false}\naudio: %s\n", testName(), dir, section)
	s, err := spec.Parse([]byte(text+more), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return start(t, s, nil)
}

// What no sound can become is the description's fault, told with its place.
func TestFeaturesThatCannotBeAreTheDescriptionsFault(t *testing.T) {
	for section, want := range map[string]string{
		"audio: {rate: 8000, length: 900, features: {kind: mel, n_fft: 401}}":                                        "audio.features.n_fft: got 401 points",
		"fields: {talk: {audio: {rate: 8000, length: 900, features: {kind: mel, win_length: 500}}}}":                 "fields.talk.audio.features.win_length: got 500",
		"audio: {rate: 8000, length: 900, features: {kind: mel, n_mels: 20, frequency_mask: {freq_mask_param: 27}}}": "audio.features.frequency_mask.freq_mask_param: got 27, want 1 to the number of bins, 20",
		"audio: {rate: 8000, length: 900, features: {kind: mel, time_mask: {time_mask_param: 27}}}":                  "audio.features.time_mask.time_mask_param: got 27, want 1 to the number of a row's steps, 5",
		"audio: {rate: 8000, length: 900, features: {kind: mel, normalize: {mean: [1, 2], std: 1}}}":                 "audio.features.normalize.mean: got 2 values, want 1, or one for each of the 128 bins",
	} {
		wantDescribedWrongly(t, section, want)
	}
}

// wantDescribedWrongly says of a section of sounds that it is its description's fault, in these words.
func wantDescribedWrongly(t *testing.T, section, want string) {
	t.Helper()
	s, err := spec.Parse([]byte("source: {folder: p}\nbatch: 2\n"+section), "")
	if err != nil {
		t.Fatal(err)
	}
	medium := s.Media()[0]
	_, err = newSounds(&medium, 1)
	var described *spec.Error
	if !errors.As(err, &described) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", section, err, want)
	}
}

// A ring of sounds delivers waveforms at the length, the channels and the layout asked for, and says how long each is.
func TestRingOfSoundsDeliversWaveforms(t *testing.T) {
	const scale = 1024.
	for section, want := range map[string]string{
		"{rate: 8000, length: 4, channels: 2}":                             "[2 2 4] [3 2]: 1 2 3 0 0 0 0 0 1 2 0 0 0 0 0 0",
		"{rate: 8000, length: 4, channels: 2, layout: NLC}":                "[2 4 2] [3 2]: 1 0 2 0 3 0 0 0 1 0 2 0 0 0 0 0",
		"{rate: 8000, length: 500us}":                                      "[2 1 4] [3 2]: 0.5 1 1.5 0 0.5 1 0 0",
		"{rate: 8000, length: 4, select: [0]}":                             "[2 1 4] [3 2]: 1 2 3 0 1 2 0 0",
		"{rate: 8000, length: 9, select: [0], shape: ragged}":              "[5] [3 2]: 1 2 3 1 2",
		"{rate: 8000, length: 9, channels: 2, shape: ragged, layout: NLC}": "[10] [3 2]: 1 0 2 0 3 0 1 0 2 0",
		"{rate: 8000, length: 2, select: [0], crop: start}":                "[2 1 2] [2 2]: 1 2 1 2",
		"{rate: 8000, length: 4, select: [0], window: {start: 125us}}":     "[2 1 4] [2 1]: 2 3 0 0 2 0 0 0",
		"{rate: 8000, length: 4, select: [0], raw: {encoding: s16, rate: 8000, channels: 2}, window: {start: 1375us}, max_frames: 99}": "[2 1 4] [3 2]: 1 2 3 0 1 2 0 0",
	} {
		t.Run("", func(t *testing.T) {
			r := startSounds(t, section, "", 3, 2)
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(l.Shape(sampleTensor), " ", batch.Int64s(l.Tensor(firstSide)), ":")
			for values := l.Tensor(sampleTensor); len(values) > 0; values = values[4:] {
				got += fmt.Sprint(" ", math.Float32frombits(binary.LittleEndian.Uint32(values))*scale)
			}
			if got != want {
				t.Errorf("%s:\ngot  %s\nwant %s\n%+v", section, got, want, r.Stats().Rings[0].Bad)
			}
			must(l.Release())
		})
	}
}

// A second data set is found by a ring, whose rows it changes: a room of one echo leaves a sound as it is, and a sound as its own noise at 0 dB doubles it.
func TestRingHasItsSecondDataSet(t *testing.T) {
	room, same := t.TempDir(), t.TempDir()
	must(os.WriteFile(filepath.Join(room, "one.wav"), wav(1), 0o644))
	must(os.WriteFile(filepath.Join(same, "two.wav"), wav(2), 0o644))
	section := fmt.Sprintf("{rate: 8000, length: 4, select: [0], reverb: {from: %s}, noise: {from: %s, snr_db: [0, 0]}}", room, same)
	l, err := startSounds(t, section, "", 2, 2).attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, half := range []float32{0.5, 1, 0, 0, 0.5, 1, 0, 0} { // the noise has the mean of its channels, and begins at either sample
		got := math.Float32frombits(binary.LittleEndian.Uint32(l.Tensor(sampleTensor)[4*i:])) * 1024
		if doubled, turned := 4*half, 4*half+[]float32{1, -1, 0, 0}[i%4]; math.Abs(float64(got-doubled)) > 1e-4 && math.Abs(float64(got-turned)) > 1e-4 {
			t.Errorf("value %d: got %v, want %v or %v", i, got, doubled, turned)
		}
	}
	must(l.Release())
}

// A second data set that is not there is the description's fault, told with its place before anything is served.
func TestASecondDataSetThatIsNotThereIsTheDescriptionsFault(t *testing.T) {
	empty := t.TempDir()
	for section, want := range map[string]string{
		"audio: {rate: 8000, length: 9, noise: {snr_db: [0, 9], from: /nowhere/x}}":       "audio.noise.from: stat /nowhere/x: no such file or directory",
		"fields: {talk: {audio: {rate: 8000, length: 9, reverb: {from: " + empty + "}}}}": "fields.talk.audio.reverb.from: got \"" + empty + "\", in which there is no sound",
	} {
		wantDescribedWrongly(t, section, want)
	}
}

// A padded batch is as long as its longest sound: the rows are the capacity's strides apart.
func TestPaddedBatchOfSounds(t *testing.T) {
	l, err := startSounds(t, "{rate: 8000, length: 100, select: [0], shape: padded}", "", 3, 5).attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(l.Shape(sampleTensor)); got != "[2 1 5]" {
		t.Fatal(got)
	}
	if second := math.Float32frombits(binary.LittleEndian.Uint32(l.Tensor(sampleTensor)[4*100:])); second != 1/1024. {
		t.Fatalf("the second row begins with %v", second)
	}
	must(l.Release())
}

// Features have a row's shape that follows from the length, and count their steps in length.
func TestRingOfFeatures(t *testing.T) {
	r := startSounds(t, "{rate: 8000, length: 800, crop: start, features: {kind: mel, n_fft: 64, n_mels: 10, log: db}}", "", 900, 400)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(l.Shape(sampleTensor), batch.Int64s(l.Tensor(firstSide))); got != "[2 10 26] [26 13]" {
		t.Fatal(got, r.Stats().Rings[0].Bad)
	}
	must(l.Release())
}

// A sound that is longer than a row, and bytes that are no sound, are bad samples with a cause.
func TestBadSoundsHaveACause(t *testing.T) {
	r := startSounds(t, "{rate: 8000, length: 4}", "bad_sample: {policy: mask}\n", 3, 5)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Stats().Rings[0].Bad; n.Causes["too_large"] == 0 || fmt.Sprint(batch.Int64s(l.Tensor(firstSide))) != "[3 0]" {
		t.Fatalf("%+v, lengths %v", n, batch.Int64s(l.Tensor(firstSide)))
	}
	must(l.Release())
}

// In the steady state a ring of WAVs makes no Go allocation per sample.
func TestSoundsAllocateNothingPerSample(t *testing.T) {
	dir := t.TempDir()
	for i := range 100 {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.wav", i)), wav(100+i), 0o644))
	}
	for _, more := range []string{"", ", crop: random, speed: {factors: [0.9, 1, 1.1]}, noise: {snr_db: [0, 20]}, gain: {db: [-6, 6]}, pre_emphasis: 0.97, " +
		"features: {kind: mel, n_fft: 64, n_mels: 10, log: ln, cmvn: mean_variance, time_mask: {time_mask_param: 5}, frequency_mask: {freq_mask_param: 5}}"} {
		t.Run("", func(t *testing.T) {
			s, err := spec.Parse([]byte(fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 50\naudio: {rate: 16000, length: 400, shape: padded%s}\n", testName(), dir, more)), "")
			must(err)
			allocationsPerBatch(t, s)
		})
	}
}

// Whatever is drawn of a sound is its own: the same rows come from one thread and from several, another set of them in the next epoch, and other
// ones in a view with draws of its own.
func TestAugmentedSoundsAreTheirDraws(t *testing.T) {
	const section = "audio: {rate: 8000, length: 500, crop: random, speed: {factors: [0.9, 1, 1.1]}, noise: {snr_db: [0, 20], p: 0.5, color: pink}, gain: {db: [-6, 6]}, polarity_inversion: 0.5, " +
		"pre_emphasis: 0.97, features: {kind: mel, n_fft: 64, n_mels: 10, log: ln, cmvn: mean, frequency_mask: {freq_mask_param: 4, count: 2}, time_mask: {time_mask_param: 8, p: 0.5}, mask_value: mean}}"
	dir := t.TempDir()
	for i := range 6 {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.wav", i)), wav(550+10*i), 0o644))
	}
	epochs := func(limits string) (all []string) {
		text := fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 6\norder: {shuffle: false, seed: 3}\nlimits: %s\nfields:\n  one: {%s}\n  two: {draw: own, %s}\n", testName(), dir, limits, section, section)
		s, err := spec.Parse([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(limits, func(t *testing.T) {
			r := start(t, s, nil)
			reader := r.attach(shm.AttachOptions{})
			for range 2 {
				l, err := reader.Acquire(testContext(t))
				if errors.Is(err, shm.EndEpoch) {
					l, err = reader.Acquire(testContext(t))
				}
				must(err)
				if n := r.Stats().Rings[0].Bad; l.Rows != 6 {
					t.Fatalf("%d rows, %+v", l.Rows, n)
				}
				all = append(all, string(l.Tensor(sampleTensor)), string(l.Tensor(firstSide+1)))
				must(l.Release())
			}
		})
		return all
	}
	one, several := epochs("{cpus: 1, fetch: 1}"), epochs("{cpus: 6, fetch: 6}")
	if fmt.Sprint(one) != fmt.Sprint(several) {
		t.Error("another number of threads gives other rows")
	}
	for i := range one {
		for j := range i {
			if one[i] == one[j] {
				t.Errorf("views %d and %d of two epochs of two are alike", j, i)
			}
		}
	}
}
