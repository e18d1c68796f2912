package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/shm"
)

// These tests run the real uploader against tests/cuda, a driver without a GPU whose device memory is a memfd of the uploader's.

var toolsDir string // removed by TestMain

// tools are spdl-device, with fault points, and the driver, built once.
var tools = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "spdl-device"); err != nil {
		return "", err
	}
	toolsDir = dir
	for _, build := range [][]string{
		{"go", "build", "-tags", "spdlfault", "-o", filepath.Join(dir, "spdl-device"), "../../cmd/spdl-device"},
		{"make", "-s", "-C", "../..", "BUILD=" + dir, "fake-cuda", "fake-nvjpeg"},
	} {
		if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
			return dir, fmt.Errorf("%v: %w\n%s", build, err, out)
		}
	}
	return dir, nil
})

// withDevice gives the uploaders of this test a device; env is theirs, too.
func withDevice(t *testing.T, env ...string) {
	t.Helper()
	dir, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SPDL_DEVICE", filepath.Join(dir, "spdl-device"))
	t.Setenv("SPDL_CUDA_LIBRARY", filepath.Join(dir, "cuda", "libcuda.so.1"))
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
}

// onDeviceBytes reads a tensor of a leased batch in device memory, as whoever imports the handle does; nil when its uploader is dead.
func onDeviceBytes(t *testing.T, r *shm.Reader, l *shm.Lease, name string) []byte {
	t.Helper()
	h := r.DeviceHandle()
	pid, fd := binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint32(h[8:])
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil {
		eventually(t, "the memory of a dead uploader to be void", func() bool { return r.DeviceGeneration() != l.DeviceGeneration })
		return nil
	}
	defer f.Close()
	_, stride := r.DeviceSlots()
	for i, tensor := range r.Schema() {
		if tensor.TensorName() != name {
			continue
		}
		n := int64(tensor.DtypeBits / 8)
		for _, d := range l.Shape(i) {
			n *= d
		}
		b := make([]byte, n)
		if _, err := f.ReadAt(b, int64(uint64(l.DeviceSlot)*stride+tensor.Offset)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	t.Fatalf("no tensor %q", name)
	return nil
}

func hostBytes(t *testing.T, r *shm.Reader, l *shm.Lease, name string) []byte {
	t.Helper()
	for i, tensor := range r.Schema() {
		if tensor.TensorName() == name {
			return l.Tensor(i)
		}
	}
	t.Fatalf("no tensor %q", name)
	return nil
}

// epochOnDevice takes an epoch; check sees every batch that is on the device. It returns the tickets.
func epochOnDevice(t *testing.T, r *shm.Reader, check func(*shm.Lease)) (tickets []uint64) {
	t.Helper()
	for {
		l, err := r.Acquire(testContext(t))
		if errors.Is(err, shm.EndEpoch) {
			return tickets
		}
		if err != nil {
			t.Fatalf("after tickets %v: %v", tickets, err)
		}
		if l.DeviceSlot >= 0 && l.DeviceGeneration == r.DeviceGeneration() && check != nil {
			check(l)
		}
		tickets = append(tickets, l.Ticket)
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

func inOrder(t *testing.T, got []uint64, n int) {
	t.Helper()
	for i, ticket := range got {
		if ticket != uint64(i) {
			t.Fatalf("got tickets %v, want 0 to %d in order", got, n-1)
		}
	}
	if len(got) != n {
		t.Fatalf("got tickets %v, want %d", got, n)
	}
}

func TestBatchesLieOnTheDeviceAsInHostMemory(t *testing.T) {
	withDevice(t, "FAKE_CUDA_LATENCY_US=200")
	r := start(t, describe(t, folder(t, 40, nil), "batch: 4\norder: {epochs: 1}\ndevice: {slots: 4, in_flight: 3}\n"), nil)
	consumer := r.attach(shm.AttachOptions{})
	checked := 0
	inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
		for _, name := range []string{"image", "label"} {
			if got, want := onDeviceBytes(t, consumer, l, name+"@cuda"), hostBytes(t, consumer, l, name); !bytes.Equal(got, want) {
				t.Fatalf("ticket %d: %s on the device differs from host memory", l.Ticket, name)
			}
		}
		checked++
	}), 10)
	if checked != 10 {
		t.Fatalf("%d batches were on the device, want 10", checked)
	}
	stats := r.Stats().Rings[0]
	all := r.Stats()
	ring := all.Snapshot()
	if last := ring.Rings[0].Stages[len(ring.Rings[0].Stages)-1]; last.Name != "upload" || last.Items != 10 || last.Bytes != 10*4*(8*8*3+8) || last.BusyNs == 0 {
		t.Fatalf("got stage %+v, want 10 uploads of 800 bytes", last)
	}
	if consumers := ring.Rings[0].Consumers; len(consumers) != 1 {
		t.Fatalf("got consumers %+v, want one: the uploader is none", consumers)
	}
	if d := stats.Ring.Device; d.Uploaded != 10 || d.Again != 0 || d.Host != 0 || stats.Upload.Ended != 0 {
		t.Fatalf("got %+v, %+v; want 10 uploads by one uploader", d, stats.Upload)
	}
}

// The kernels make of bytes what the description says, in each type.
func TestPicturesAreFinishedOnTheDevice(t *testing.T) {
	withDevice(t)
	for dtype, number := range map[string]func([]byte, int) float64{
		"f32": func(b []byte, i int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		},
		"bf16": func(b []byte, i int) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		},
		"f16": func(b []byte, i int) float64 { return fromHalf(binary.LittleEndian.Uint16(b[2*i:])) },
	} {
		t.Run(dtype, func(t *testing.T) {
			within := map[string]float64{"f32": 1e-6, "f16": 1. / 1024, "bf16": 1. / 128}[dtype] // relative, of numbers up to 4
			r := start(t, describe(t, folder(t, 8, nil), "batch: 4\norder: {epochs: 1}\ndevice: {finish: {dtype: "+dtype+", normalize: imagenet}}\n"), nil)
			consumer := r.attach(shm.AttachOptions{})
			mean, std := []float64{0.485, 0.456, 0.406}, []float64{0.229, 0.224, 0.225}
			inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
				in, out := hostBytes(t, consumer, l, "image"), onDeviceBytes(t, consumer, l, "image@cuda")
				const plane = 8 * 8
				for row := range l.Rows {
					for c := range 3 {
						for p := range plane {
							want := (float64(in[(row*plane+p)*3+c])/255 - mean[c]) / std[c]
							got := number(out, (row*3+c)*plane+p)
							if math.Abs(got-want) > within*max(1, math.Abs(want)) {
								t.Fatalf("row %d channel %d pixel %d: got %g, want %g", row, c, p, got, want)
							}
						}
					}
				}
			}), 2)
		})
	}
}

func fromHalf(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	x := math.Ldexp(1+fraction/1024, exponent-15)
	if exponent == 0 {
		x = math.Ldexp(fraction/1024, -14)
	}
	if h&0x8000 != 0 {
		x = -x
	}
	return x
}

// Killed at every step, the uploader is started again; every ticket comes once and in order, and what is current on the device is right.
func TestUploaderKilledAtAnyStepLosesNothing(t *testing.T) {
	for _, point := range []string{
		"device.open:1", "device.memory:1", "device.pin:1", "device.offer:1", "device.offered:1", "upload.claimed:1", "upload.claimed:3",
		"upload.copying:2", "upload.recorded:2", "upload.complete:1", "upload.complete:4", "upload.released:1", "upload.released:5",
	} {
		t.Run(point, func(t *testing.T) {
			withDevice(t, "SPDL_FAULT="+point+":kill")
			s := describe(t, folder(t, 40, nil), "batch: 4\norder: {epochs: 1}\ndevice: {slots: 3, restarts: 3, otherwise: host}\n")
			r := start(t, s, nil)
			consumer := r.attach(shm.AttachOptions{})
			inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
				got, want := onDeviceBytes(t, consumer, l, "image@cuda"), hostBytes(t, consumer, l, "image")
				if got != nil && !bytes.Equal(got, want) {
					t.Fatalf("ticket %d differs on the device", l.Ticket)
				}
			}), 10)
			if stats := r.Stats().Rings[0]; stats.Upload.Ended == 0 || !strings.Contains(stats.Upload.Last, "killed") {
				t.Fatalf("got %+v, want uploaders that were killed", stats.Upload)
			}
		})
	}
}

// The driver's counters, struct fake_stats of tests/cuda/fake.h.
const (
	fakeRegistered = 3
	fakeInFlight   = 8
	fakeCopies     = 9
	fakePageable   = 10
	fakeSpins      = 20
)

func fakeCount(t *testing.T, path string, which int) uint64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 8*(which+1) {
		return 0 // the uploader has not begun
	}
	return binary.LittleEndian.Uint64(b[8*which:])
}

// While no copy can end, as many batches are under way as the description says, from pinned memory, and none comes to a consumer; then all
// come in order.
func TestSeveralBatchesAreCopiedAtATimeAndComeInOrder(t *testing.T) {
	dir := t.TempDir()
	gate, counters := filepath.Join(dir, "gate"), filepath.Join(dir, "counters")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	withDevice(t, "FAKE_CUDA_GATE="+gate, "FAKE_CUDA_STATS="+counters)
	r := start(t, describe(t, folder(t, 40, nil), "batch: 4\norder: {epochs: 1}\ndevice: {slots: 4, in_flight: 3}\n"), nil)
	consumer := r.attach(shm.AttachOptions{})
	held := func() (n int) {
		for _, g := range r.Ring(0).Groups() {
			if g.Kind == shm.KindUploader && len(g.Members) > 0 {
				n = g.Members[0].Holds
			}
		}
		return n
	}
	eventually(t, "three batches under way", func() bool { return held() == 3 && fakeCount(t, counters, fakeInFlight) > 0 })
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if l, err := consumer.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, %v before any copy has ended", l, err)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	inOrder(t, epochOnDevice(t, consumer, nil), 10)
	if copies, pageable := fakeCount(t, counters, fakeCopies), fakeCount(t, counters, fakePageable); copies != 20 || pageable != 0 {
		t.Fatalf("%d copies, %d of them from memory that is not pinned; want 20 and none", copies, pageable)
	}
}

// An uploader that ends in good order has let go of the ring's memory before it is unmapped, and no wait of its kept a processor busy.
func TestUploaderUnpinsTheRingAndSleepsWhenItWaits(t *testing.T) {
	counters := filepath.Join(t.TempDir(), "counters")
	withDevice(t, "FAKE_CUDA_STATS="+counters)
	r := start(t, describe(t, folder(t, 16, nil), "batch: 4\norder: {epochs: 1}\ndevice: {}\n"), nil)
	inOrder(t, epochOnDevice(t, r.attach(shm.AttachOptions{}), nil), 4)
	if n := fakeCount(t, counters, fakeRegistered); n != 1 {
		t.Fatalf("%d pieces of memory are pinned, want the ring", n)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if pinned, spins := fakeCount(t, counters, fakeRegistered), fakeCount(t, counters, fakeSpins); pinned != 0 || spins != 0 {
		t.Fatalf("%d pieces are pinned at the end and %d waits kept a processor busy, want none", pinned, spins)
	}
}

// Without a device the ring ends with an error that says what is missing, or goes on in host memory.
func TestWithoutADeviceTheErrorSaysSoOrBatchesStayInHostMemory(t *testing.T) {
	for what, c := range map[string]struct{ env, want string }{
		"no program":       {"SPDL_DEVICE=/nonexistent/spdl-device", "no such file or directory"},
		"no driver":        {"SPDL_CUDA_LIBRARY=/nonexistent/libcuda.so.1", "no CUDA driver"},
		"no device":        {"FAKE_CUDA_DEVICES=0", "CUDA_ERROR_NO_DEVICE"},
		"another ordinal":  {"FAKE_CUDA_DEVICES=1", "no device 1: 1 are here"},
		"an old driver":    {"FAKE_CUDA_VERSION=10020", "the driver knows CUDA 10.2, want 11.1 or newer"},
		"memory used up":   {"FAKE_CUDA_MEMORY=2048", "CUDA_ERROR_OUT_OF_MEMORY (2: out of memory); lower device.slots, device.in_flight or batch"},
		"no kernels":       {"FAKE_CUDA_FAULT=ModuleLoadData:1:209", "CUDA_ERROR_NO_BINARY_FOR_GPU (209: no kernel image is available for execution on the device); the device is older than Volta"},
		"no compiler":      {"FAKE_CUDA_FAULT=ModuleLoadData:1:221", "a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
		"a mixed driver":   {"FAKE_CUDA_FAULT=Init:1:803", "reboot, or load the module again"},
		"a taken device":   {"FAKE_CUDA_FAULT=DevicePrimaryCtxRetain:1:46,DevicePrimaryCtxRetain:2:46", "another process has the device for itself"},
		"one process":      {"FAKE_CUDA_COMPUTE_MODE=3", "device 0 is for one process at a time (its compute mode), and uploads are a process of their own; nvidia-smi -c DEFAULT, or start MPS"},
		"nobody's device":  {"FAKE_CUDA_COMPUTE_MODE=2", "device 0 is for nobody"},
		"no rights to IPC": {"FAKE_CUDA_FAULT=IpcGetMemHandle:1:800", "cuIpcGetMemHandle"},
		"a device lost":    {"FAKE_CUDA_FAULT=EventSynchronize:1:719:sticky", "CUDA_ERROR_LAUNCH_FAILED"},
	} {
		for _, otherwise := range []string{"fail", "host"} {
			t.Run(what+", "+otherwise, func(t *testing.T) {
				withDevice(t, c.env)
				cuda := 0
				if what == "another ordinal" {
					cuda = 1
				}
				more := fmt.Sprintf("batch: 4\norder: {epochs: 1}\ndevice: {cuda: %d, restarts: 1, finish: {}, otherwise: %s}\n", cuda, otherwise)
				r := start(t, describe(t, folder(t, 16, nil), more), nil)
				consumer := r.attach(shm.AttachOptions{})
				if otherwise == "host" {
					inOrder(t, epochOnDevice(t, consumer, func(*shm.Lease) { t.Error("a batch is on the device") }), 4)
					return
				}
				_, err := consumer.Acquire(testContext(t))
				if !errors.Is(err, shm.ErrEngineFailed) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "device.otherwise: host") {
					t.Fatalf("got %v, want %q and the remedy", err, c.want)
				}
			})
		}
	}
}

// Where the ring's memory cannot be pinned every batch is uploaded all the same, and the log says so once, with the remedy, however many uploaders there are.
func TestMemoryThatCannotBePinnedIsUploadedAndSaidOnce(t *testing.T) {
	counters := filepath.Join(t.TempDir(), "counters")
	withDevice(t, "FAKE_CUDA_FAULT=MemHostRegister:1:2", "FAKE_CUDA_STATS="+counters, "SPDL_FAULT=upload.released:5:kill")
	log := &lockedBuffer{}
	r := start(t, describe(t, folder(t, 64, nil), "batch: 4\norder: {epochs: 1}\ndevice: {finish: {}}\n"), &Options{Log: NewLog(log, Warn)})
	consumer := r.attach(shm.AttachOptions{})
	inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
		if got := onDeviceBytes(t, consumer, l, "label@cuda"); got != nil && !bytes.Equal(got, hostBytes(t, consumer, l, "label")) {
			t.Errorf("ticket %d differs on the device", l.Ticket)
		}
	}), 16)
	if stats := r.Stats().Rings[0].Upload; stats.Ended < 2 || !strings.Contains(stats.Last, "killed") {
		t.Errorf("got %+v, want several uploaders that were killed", stats)
	}
	if pageable, registered := fakeCount(t, counters, fakePageable), fakeCount(t, counters, fakeRegistered); pageable == 0 || registered != 0 {
		t.Errorf("%d copies from memory that is not pinned and %d pieces that are, want all of the copies and none", pageable, registered)
	}
	const want = "CUDA_ERROR_OUT_OF_MEMORY (2: out of memory); the machine lets no more memory be locked: raise the limit (ulimit -l, LimitMEMLOCK= of a service, " +
		"--ulimit memlock=-1 of a container), or lower ring.slots or batch; it uploads from memory that is not pinned, which is slower"
	if said := log.String(); strings.Count(said, want) != 1 {
		t.Errorf("the log says %q, want %q once", said, want)
	}
	if warned := r.Stats().Rings[0].Upload.Warning; !strings.HasSuffix(warned, want) {
		t.Errorf("the statistics say %q", warned)
	}
}

// A device for one process at a time is shared by NVIDIA's server.
func TestDeviceThatMPSSharesIsUsed(t *testing.T) {
	withDevice(t, "FAKE_CUDA_COMPUTE_MODE=3", "FAKE_CUDA_MPS=1")
	r := start(t, describe(t, folder(t, 16, nil), "batch: 4\norder: {epochs: 1}\ndevice: {}\n"), nil)
	uploaded := 0
	inOrder(t, epochOnDevice(t, r.attach(shm.AttachOptions{}), func(*shm.Lease) { uploaded++ }), 4)
	if uploaded != 4 {
		t.Fatalf("%d of 4 batches are on the device", uploaded)
	}
}

// Who only looks at batches needs no device, whatever the description says.
func TestHostOnlyEngineNeedsNoDevice(t *testing.T) {
	t.Setenv("SPDL_DEVICE", "/nonexistent/spdl-device")
	r := start(t, describe(t, folder(t, 8, nil), "batch: 4\norder: {epochs: 1}\ndevice: {finish: {}}\n"), &Options{HostOnly: true})
	inOrder(t, epochOnDevice(t, r.attach(shm.AttachOptions{}), nil), 2)
	if stats := r.Stats().Rings[0]; stats.Ring.Device != nil || stats.Upload != nil {
		t.Fatalf("got %+v, %+v; want no device", stats.Ring.Device, stats.Upload)
	}
}

// Two engines share one device: each has memory of its own there.
func TestTwoEnginesShareADevice(t *testing.T) {
	withDevice(t)
	dir := folder(t, 16, nil)
	a := start(t, describe(t, dir, "batch: 4\norder: {epochs: 1}\ndevice: {}\n"), nil)
	b := startAgain(t, describe(t, dir, "batch: 4\norder: {epochs: 1, seed: 9}\ndevice: {}\n"), nil)
	for _, r := range []*running{a, b} {
		consumer := r.attach(shm.AttachOptions{})
		inOrder(t, epochOnDevice(t, consumer, func(l *shm.Lease) {
			if !bytes.Equal(onDeviceBytes(t, consumer, l, "image@cuda"), hostBytes(t, consumer, l, "image")) {
				t.Errorf("ticket %d differs on the device", l.Ticket)
			}
		}), 4)
	}
}

// A state counts what consumers completed, whatever was uploaded ahead.
func TestStateCountsWhatConsumersCompleted(t *testing.T) {
	withDevice(t)
	r := start(t, describe(t, folder(t, 40, nil), "batch: 4\norder: {epochs: 1}\ndevice: {}\n"), nil)
	consumer := r.attach(shm.AttachOptions{})
	for range 3 {
		l, err := consumer.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "an upload ahead of the consumer", func() bool { return r.Stats().Rings[0].Ring.Device.Uploaded > 3 })
	state, err := consumer.SaveState(testContext(t), false)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := r.rings[0].parseState(state)
	if err != nil || parsed.Step != 3 || len(parsed.Done) != 0 {
		t.Fatalf("got %s, %v; want three steps completed", state, err)
	}
}
