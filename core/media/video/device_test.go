//go:build !noffmpeg

package video

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/tests/leak"
)

// These tests decode on a device that is none: FFmpeg finds tests/cuda's driver and its video decoders (or tests/vaapi's), which are FFmpeg's own. So what is tested is
// the way to a device and back, and what comes back is equal byte by byte. On a real one it is, too, where the standard says what each byte is (H.264,
// HEVC, VP8, VP9, AV1), but older standards do not, and what it decodes is its own affair; hence the tolerance of TestAutoDecodesEverywhere.

var standInDir string // removed by TestMain

func TestMain(m *testing.M) {
	code := m.Run()
	if standInDir != "" {
		_ = os.RemoveAll(standInDir)
	}
	os.Exit(code)
}

// standIn is the directory of what stands in for devices, made once.
var standIn = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "spdl-nvcuvid"); err != nil {
		return "", err
	}
	standInDir = dir
	build := exec.Command("make", "-s", "-C", "../../..", "BUILD="+dir, "fake-cuda", "fake-nvcuvid", "fake-vaapi")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return dir, nil
})

// standInStats are the driver's counters after a test's process has ended: fake_stats of tests/cuda/fake.h.
type standInStats struct{ contexts, allocated, decoders, mapped, opened, pictures uint64 }

func statsOf(t *testing.T, path string) (s standInStats) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return s // no call of the driver's came to anything
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return standInStats{contexts: at(0), allocated: at(5), decoders: at(16), mapped: at(17), opened: at(18), pictures: at(19)}
}

const inDevice = "SPDL_TEST_DEVICE" // set in the process that has the device

// onDevice is true in a process that finds the stand-in with env. Elsewhere it runs this test in such a process, where the loader looks for libraries from
// the start, and then sees to it that nothing is left on the device: one context, which the process keeps, and no decoder, mapping or memory.
func onDevice(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(inDevice) != "" {
		return true
	}
	s := runOnDevice(t, "^"+t.Name()+"$", env...)
	if s.opened > 1 || s.contexts != s.opened || s.decoders+s.mapped+s.allocated != 0 {
		t.Errorf("got %+v at the end, want at most one context and nothing else", s)
	}
	return false
}

// runOnDevice runs tests in a process with the stand-in of CUDA.
func runOnDevice(t *testing.T, tests string, env ...string) standInStats {
	t.Helper()
	stats := filepath.Join(t.TempDir(), "stats")
	hidden := "LIBVA_DRIVER_NAME=none" // a real device, which auto would take where CUDA has none
	runApart(t, tests, append([]string{"LD_LIBRARY_PATH=" + standInFile(t, "cuda"), "FAKE_CUDA_STATS=" + stats, hidden}, env...))
	return statsOf(t, stats)
}

func standInFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// runApart runs tests in a process of their own, and is skipped where they are.
func runApart(t *testing.T, tests string, env []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run="+tests, "-test.v")
	cmd.Env = append(append(os.Environ(), inDevice+"=1"), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("in its process: %v\n%s", err, out)
	}
	if reason, skipped := strings.CutPrefix(lineWith(string(out), noDevices), noDevices); skipped {
		t.Skip(strings.TrimSpace(reason))
	}
}

const noDevices = "this FFmpeg has no such decoders: "

func lineWith(text, what string) string {
	if _, after, found := strings.Cut(text, what); found {
		line, _, _ := strings.Cut(after, "\n")
		return what + line
	}
	return ""
}

// onKind is cfg for a device of that kind; the test is skipped where FFmpeg was built without.
func onKind(t *testing.T, cfg Config, kind string) Config {
	t.Helper()
	cfg.Hardware = kind
	if _, err := Compile(cfg); err != nil && strings.Contains(err.Error(), "knows no such device") {
		t.Skip(noDevices + err.Error())
	}
	return cfg
}

func deviceWorker(t *testing.T, cfg Config, kind string) *Worker {
	t.Helper()
	return workerOf(t, onKind(t, cfg, kind))
}

// refusedByName tells a device that is there, and has a driver, but cannot be opened.
func refusedByName(t *testing.T, kind, why string) {
	t.Helper()
	_, err := Compile(onKind(t, vp9Config(t), kind))
	if err == nil || !strings.Contains(err.Error(), "hardware: got "+kind+", which is not here") || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v", err)
	}
}

// onProcessor is cfg for the processor.
func onProcessor(cfg Config) Config {
	cfg.Hardware = ""
	return cfg
}

// refused are the files that the stand-in decodes nothing of, as many a real device: their codec, bits or chroma.
var refused = []string{
	"av1.mp4", "called_keys.avi", "called_keys.mkv", "cut_hevc.ts", "cut_mpeg2.ts", "grain.mkv", "grey.mkv", "grey.mp4", "hdr.mp4", "hlg422.mp4", "layers.mp4", "lying.avi", "mpeg2.mpg", "no_index.avi", "no_times.h261", "no_times_packed.asf", "no_times_packed.avi", "no_times_xvid.avi", "odd_mpeg4.avi", "opengroup_hevc.mp4", "palette.avi", "palette.gif",
	"planar411.mkv", "planar422.mp4", "planar440.mkv", "planar444.mp4", "prores.mov", "prores_alpha.mov", "rgb.mp4", "rgb_bottom_up.avi", "sixteen_bits.mkv", "ten_bits.mp4",
	"ten_bits_full.mp4", "twelve_bits.mp4", "vc2.mkv",
}

// A device gives the processor's bytes and times: of every codec, size, crop, turn, range and depth. What it does not decode is refused by name, or decoded by the
// processor, of AV1 by another decoder.
func TestTheDeviceGivesTheProcessorsFrames(t *testing.T) {
	if onDevice(t) {
		givesTheProcessorsFrames(t, "cuda", func(name string) bool { return !slices.Contains(refused, name) })
	}
}

func givesTheProcessorsFrames(t *testing.T, device string, decodes func(name string) bool) {
	t.Helper()
	files := golden(t)
	for _, name := range names(files) {
		cfg := asStored(files[name], 0, Selection{})
		cfg.Frames, cfg.AsSent = len(files[name].Number), false
		if strings.HasPrefix(name, "turned") {
			cfg.Image.Resize = cfg.Image.Out // the picture turned is as wide as it was high
		}
		want := mustDecode(t, onProcessor(cfg), file(t, name), Draw{})
		for _, kind := range []string{device, Auto} {
			w := deviceWorker(t, cfg, kind)
			got, err := decodeWith(w, file(t, name), Draw{})
			c := w.op.Counters()
			w.Close()
			if !decodes(name) && kind == device {
				if causeOf(err) != "unsupported" || !strings.Contains(err.Error(), "the device does not decode") {
					t.Errorf("%s: got %v, want it refused as unsupported", name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
				continue
			}
			if !slices.Equal(got.Data, want.Data) || !slices.Equal(got.PTS, want.PTS) || !slices.Equal(got.Duration, want.Duration) || got.info != want.info {
				t.Errorf("%s, %s: the device's row is %d off, %+v, want the processor's, %+v", name, kind, worst(got.Data, want.Data), got.info, want.info)
			}
			if (c.OnDevice == 1) != decodes(name) || c.OnDevice+c.OnProcessor != 1 {
				t.Errorf("%s, %s: got %+v", name, kind, c)
			}
		}
	}
}

// Every promise of this package holds on the device: its tests pass there, with auto.
func TestTheDeviceKeepsThePackagesPromises(t *testing.T) {
	if os.Getenv(inDevice) != "" {
		t.Skip("it runs the others")
	}
	const which = "^Test(EveryFrameIs|AFrameAlone|ChosenFrames|OnlyGroups|Threads|AWorkerRemembers|ADroppedPicture|Leading|Discarded|Approximate|NullFilter|LoadTakes|" +
		"Chunks|ADamagedFrame|SteadyState)"
	if s := runOnDevice(t, which, "SPDL_TEST_HARDWARE=auto"); s.opened != 1 || s.pictures < 1000 || s.decoders+s.mapped+s.allocated != 0 {
		t.Errorf("got %+v at the end, want one context, pictures decoded and nothing left", s)
	}
}

const vp9 = "odd.webm"

// bytesOf decodes all of the file on kind.
func bytesOf(t *testing.T, w *Worker) ([]byte, error) {
	t.Helper()
	r, err := decodeWith(w, file(t, vp9), Draw{})
	return r.Data, err
}

func vp9Config(t *testing.T) Config {
	t.Helper()
	f := golden(t)[vp9]
	return asStored(f, len(f.Number), Selection{})
}

// A device that fails in the middle of a sample, whatever it fails at, is an error by name, of this cause; the next sample is well.
func failsOnce(t *testing.T, cause, call string, words ...string) {
	t.Helper()
	cfg := vp9Config(t)
	want := mustDecode(t, onProcessor(cfg), file(t, vp9), Draw{}).Data
	w := deviceWorker(t, cfg, cmp.Or(os.Getenv("SPDL_TEST_KIND"), "cuda"))
	defer w.Close()
	_, err := bytesOf(t, w)
	if causeOf(err) != cause {
		t.Errorf("got cause %q of %v, want %q", causeOf(err), err, cause)
	}
	if c := w.op.Counters(); cause == "device" && c != (Counters{IndexMade: c.IndexMade, IndexRead: c.IndexRead, DeviceFailed: 1}) {
		t.Errorf("counted %+v", c)
	}
	for _, word := range append(words, call) {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want an error that says %s", err, word)
		}
	}
	got, err := bytesOf(t, w)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the sample after it: %v, equal %v", err, slices.Equal(got, want))
	}
}

func TestAPictureThatTheDeviceCannotDecodeIsAnError(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=DecodePicture:5:719") {
		failsOnce(t, "device", "cuvidDecodePicture", "the device that decodes failed", "CUDA_ERROR_LAUNCH_FAILED")
	}
}

// A file without times is decoded to find them: no index is made of what the device fails at.
func TestADeviceThatFailsWhileTimesAreFoundIsAnError(t *testing.T) {
	if !onDevice(t, "FAKE_CUDA_FAULT=DecodePicture:5:719") {
		return
	}
	const name = "no_times.h264"
	f := golden(t)[name]
	cfg := asStored(f, len(f.Number), Selection{})
	want := mustDecode(t, onProcessor(cfg), file(t, name), Draw{}).Data
	cfg.IndexCache = t.TempDir()
	w := deviceWorker(t, cfg, "cuda")
	defer w.Close()
	if _, err := decodeWith(w, file(t, name), Draw{}); causeOf(err) != "device" {
		t.Errorf("got %v, want the device's error", err)
	}
	if kept, _ := os.ReadDir(cfg.IndexCache); len(kept) > 0 {
		t.Errorf("kept %v", kept)
	}
	if r, err := decodeWith(w, file(t, name), Draw{}); err != nil || !slices.Equal(r.Data, want) {
		t.Errorf("the sample again: %v", err)
	}
}

// For auto the sample is the processor's: none is lost.
func TestAutoLeavesASampleAtWhichTheDeviceFailsToTheProcessor(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=DecodePicture:5:719") {
		fallsBack(t, false, true)
	}
}

func TestASurfaceThatCannotBeMappedIsAnError(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=MapVideoFrame:3:205") {
		failsOnce(t, "device", "cuvidMapVideoFrame")
	}
}

func TestADeviceWithoutMemoryForASurfaceIsAnError(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=MemAlloc:4:2") {
		failsOnce(t, "device", "cuvidMapVideoFrame", "CUDA_ERROR_OUT_OF_MEMORY")
	}
}

// FFmpeg 5.1 says that a frame was copied also where it was not.
func TestAFrameThatIsNotCopiedFromTheDeviceIsAnError(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=Memcpy2DAsync:3:700") {
		failsOnce(t, "device", "cuMemcpy2DAsync", "copying a frame from the device", "CUDA_ERROR_ILLEGAL_ADDRESS")
	}
}

// A decoder that cannot be made is the device's failure, with the reason, and is tried anew for the next sample.
func TestADecoderThatCannotBeMadeIsAnError(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=CreateDecoder:1:2") {
		failsOnce(t, "device", "cuvidCreateDecoder", "the device makes no decoder for this stream", "CUDA_ERROR_OUT_OF_MEMORY")
	}
}

// fallsBack decodes on auto, which is to say who decoded.
func fallsBack(t *testing.T, onDeviceWanted ...bool) {
	t.Helper()
	cfg := vp9Config(t)
	want := mustDecode(t, onProcessor(cfg), file(t, vp9), Draw{}).Data
	w := deviceWorker(t, cfg, Auto)
	defer w.Close()
	for i, device := range onDeviceWanted {
		before := w.op.Counters()
		got, err := bytesOf(t, w)
		c := w.op.Counters()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("sample %d: %v, equal %v", i, err, slices.Equal(got, want))
		}
		if c.OnDevice-before.OnDevice+c.OnProcessor-before.OnProcessor != 1 || (c.OnDevice > before.OnDevice) != device {
			t.Errorf("sample %d: counted %+v after %+v, want it on the device: %v", i, c, before, device)
		}
	}
}

// Where the device cannot, for lack of memory for one sample, for lack of the library or of the codec, auto decodes on the processor and counts it.
func TestAutoLeavesADecoderThatCannotBeMadeToTheProcessor(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=CreateDecoder:1:2") {
		fallsBack(t, false, true)
	}
}

func TestAutoLeavesACodecToTheProcessor(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_DECODES= h264 ") {
		fallsBack(t, false, false)
	}
}

func TestADeviceWithoutDecodersIsLeftToTheProcessorByAuto(t *testing.T) {
	if os.Getenv(inDevice) == "" {
		driver := t.TempDir() // as in a container that may compute, and has no video of the driver's
		if err := os.Symlink(standInFile(t, "cuda/libcuda.so.1"), filepath.Join(driver, "libcuda.so.1")); err != nil {
			t.Fatal(err)
		}
		onDevice(t, "LD_LIBRARY_PATH="+driver)
		return
	}
	fallsBack(t, false, false)
	w := deviceWorker(t, vp9Config(t), "cuda")
	defer w.Close()
	if _, err := bytesOf(t, w); causeOf(err) != "unsupported" || !strings.Contains(err.Error(), "libnvcuvid.so.1") {
		t.Errorf("got %v, want it unsupported for lack of libnvcuvid.so.1", err)
	}
}

// A driver without a device is refused when the operation is compiled, with the driver's words; auto says so and goes on without.
func TestADriverWithoutADeviceIsRefusedByName(t *testing.T) {
	if !onDevice(t, "FAKE_CUDA_DEVICES=0") {
		return
	}
	refusedByName(t, "cuda", "CUDA_ERROR_NO_DEVICE")
	fallsBack(t, false)
}

// A device that is lost fails every sample from then on, by name, and holds nothing up.
func TestALostDeviceFailsEverySample(t *testing.T) {
	if os.Getenv(inDevice) == "" {
		runOnDevice(t, "^"+t.Name()+"$", "FAKE_CUDA_FAULT=Memcpy2DAsync:7:700:sticky")
		return
	}
	w := deviceWorker(t, vp9Config(t), "cuda")
	defer w.Close()
	for i := range 4 {
		if _, err := bytesOf(t, w); causeOf(err) != "device" || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("sample %d: got %v, want the device's error", i, err)
		}
	}
}

// For auto the processor decodes from then on.
func TestAutoGoesOnWithoutALostDevice(t *testing.T) {
	if onDevice(t, "FAKE_CUDA_FAULT=Memcpy2DAsync:7:700:sticky") {
		fallsBack(t, false, false, false)
	}
}

// Chunks of a video, and a video that is loaded whole, go on at the processor, too, wherever the device fails: at the decoder, which FFmpeg leaves to the processor by itself,
// in the first chunk, in a later one, between two of its frames, behind a filter.
func TestAutoGoesOnWithAVideoInChunks(t *testing.T) {
	chosen := map[string]func(*Config){
		"all": func(*Config) {}, "often": func(c *Config) { c.Select = Selection{Kind: FPS, Rate: 70} }, "filtered": func(c *Config) { c.Filter = "tmix=frames=2" },
		"approximate": func(c *Config) { c.Approximate = true },
	}
	for how, choose := range chosen {
		for _, fault := range []string{"CreateDecoder:1:2", "DecodePicture:1:719", "DecodePicture:5:719", "Memcpy2DAsync:9:700:sticky"} {
			for _, chunk := range []int{0, 3} {
				if how == "approximate" && chunk > 0 {
					continue // there is one chunk
				}
				t.Run(fmt.Sprintf("%s, %s, chunks of %d", how, strings.ReplaceAll(fault, ":", " "), chunk), func(t *testing.T) {
					if !onDevice(t, "FAKE_CUDA_FAULT="+fault) {
						return
					}
					cfg := vp9Config(t)
					cfg.Frames = chunk
					choose(&cfg)
					want, wantPTS, _ := chunks(t, cfg, file(t, vp9))
					got, pts, left := chunksOn(t, onKind(t, cfg, Auto), file(t, vp9))
					if left == strings.HasPrefix(fault, "CreateDecoder") || !slices.Equal(got, want) || !slices.Equal(pts, wantPTS) {
						t.Errorf("the device was left: %v, frames equal: %v, times %v, want %v", left, slices.Equal(got, want), pts, wantPTS)
					}
				})
			}
		}
	}
}

// chunksOn is chunks, and whether the processor took over.
func chunksOn(t *testing.T, cfg Config, src Source) (data []byte, pts []float64, left bool) {
	t.Helper()
	r, err := Open(cfg, src, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, pts, _ = chunksOf(t, r)
	return data, pts, r.w.offDevice
}

// The file that was opened goes on, whatever its name means by then.
func TestAFileThatIsDeletedGoesOnWhereTheDeviceFails(t *testing.T) {
	if !onDevice(t, "FAKE_CUDA_FAULT=DecodePicture:9:719") {
		return
	}
	cfg := vp9Config(t)
	cfg.Frames = 3
	want, _, wantDecoded := chunks(t, cfg, file(t, vp9))
	data, err := os.ReadFile(filepath.Join("testdata", vp9))
	path := filepath.Join(t.TempDir(), vp9)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(onKind(t, cfg, Auto), Source{Path: path}, Draw{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	got, _, decoded := chunksOf(t, r)
	if !r.w.offDevice || !slices.Equal(got, want) || decoded < wantDecoded {
		t.Errorf("the device was left: %v, frames equal: %v, %d decoded, want %d or more", r.w.offDevice, slices.Equal(got, want), decoded, wantDecoded)
	}
}

// Without auto the device's error is the reader's last word.
func TestAChunkAtWhichTheDeviceFailsIsTheLast(t *testing.T) {
	if !onDevice(t, "FAKE_CUDA_FAULT=DecodePicture:5:719") {
		return
	}
	cfg := vp9Config(t)
	cfg.Frames = 1
	r, err := Open(onKind(t, cfg, "cuda"), file(t, vp9), Draw{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	row := Row{Data: make([]byte, r.Op().RowBytes())}
	for err == nil {
		_, err = r.Next(row)
	}
	for range 2 {
		if _, again := r.Next(row); causeOf(err) != "device" || again != err {
			t.Errorf("got %v, then %v, want the device's error twice", err, again)
		}
	}
}

// Decoders at once share the device's context, and leave nothing: no descriptor, and no memory of the device.
func TestManyDecodersShareTheDevice(t *testing.T) {
	if onDevice(t) {
		share(t, "cuda")
	}
}

func share(t *testing.T, kind string) {
	t.Helper()
	cfg := vp9Config(t)
	want := mustDecode(t, onProcessor(cfg), file(t, vp9), Draw{}).Data
	src := file(t, vp9)
	var workers [6]*Worker
	for i := range workers {
		cfg.Threads = 1 + i%3
		workers[i] = deviceWorker(t, cfg, kind)
		defer workers[i].Close()
	}
	round := func() {
		var group sync.WaitGroup
		for _, w := range workers {
			group.Add(1)
			go func() {
				defer group.Done()
				for range 5 {
					if r, err := decodeWith(w, src, Draw{}); err != nil || !slices.Equal(r.Data, want) {
						t.Errorf("got %v, equal %v", err, slices.Equal(r.Data, want))
					}
				}
			}()
		}
		group.Wait()
	}
	round()
	since := leak.Descriptors()
	round()
	if err := since(); err != nil {
		t.Error(err)
	}
}
