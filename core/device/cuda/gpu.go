package cuda

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "gpu.h"
*/
import "C"

import (
	_ "embed"
	"fmt"
	"unsafe"
)

//go:embed finish.ptx
var finishImage string

//go:embed resize.ptx
var resizeImage string

// Error is what the driver said.
type Error struct {
	Call  string // what was tried
	Code  int    // the driver's number; negative: there was nobody to ask
	Words string
	host  bool // it was about memory of the host
}

func (e *Error) Error() string {
	text, remedy := fmt.Sprintf("cuda: %s: %s", e.Call, e.Words), remedies[e.Code]
	if e.host && e.Code == C.CU_E_OUT_OF_MEMORY {
		remedy = "the machine lets no more memory be locked: raise the limit (ulimit -l, LimitMEMLOCK= of a service, --ulimit memlock=-1 of a container), " +
			"or lower ring.slots or batch"
	}
	if remedy != "" {
		text += "; " + remedy
	}
	return text
}

// remedies are for what the driver's words do not help with.
var remedies = map[int]string{
	C.CU_E_OUT_OF_MEMORY:        "lower device.slots, device.in_flight or batch, or with decode: nvjpeg have the processor decode",
	C.CU_E_UNAVAILABLE:          "another process has the device for itself; see nvidia-smi, and its -c DEFAULT",
	C.CU_E_NO_BINARY:            "the device is older than Volta (sm_70), or the driver than the device",
	C.CU_E_UNSUPPORTED_PTX:      "the driver is older than the kernels; update it",
	C.CU_E_NO_JIT_COMPILER:      "libnvidia-ptxjitcompiler.so.1 of the driver is missing; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	C.CU_E_JIT_DISABLED:         "unset CUDA_DISABLE_PTX_JIT",
	C.CU_E_STUB_LIBRARY:         "this libcuda.so.1 is for linking alone; have the driver's own come first",
	C.CU_E_DRIVER_MISMATCH:      "the driver was updated since its module was loaded; reboot, or load the module again",
	C.CU_E_COMPAT_NOT_SUPPORTED: "CUDA's compatibility package does not serve this device; leave it out, and update the driver",
}

// Final says that trying again is of no use on this machine, as it is.
func (e *Error) Final() bool {
	switch e.Code {
	case C.CU_E_NO_DEVICE, C.CU_E_INVALID_DEVICE, C.CU_E_NOT_PERMITTED, C.CU_E_NOT_SUPPORTED, C.CU_E_INVALID_IMAGE, C.CU_E_NOT_FOUND,
		C.CU_E_NO_BINARY, C.CU_E_INVALID_PTX, C.CU_E_UNSUPPORTED_PTX, C.CU_E_NO_JIT_COMPILER, C.CU_E_JIT_DISABLED,
		C.CU_E_STUB_LIBRARY, C.CU_E_DRIVER_MISMATCH, C.CU_E_COMPAT_NOT_SUPPORTED:
		return true
	}
	return e.Code < 0
}

// GPU is one device and its primary context.
type GPU struct {
	c       *C.gpu
	modules map[string]C.cu_module // by image; for one goroutine at a time
}

// The driver's handles.
type (
	Address uint64
	Stream  struct{ c C.cu_stream }
	Event   struct{ c C.cu_event }
)

// Handle is memory, or an event, for another process.
type Handle [64]byte

// Finish makes numbers of the bytes of pictures: see finish.ptx.
type Finish struct{ c C.finish }

// Open finds the driver and a device.
func Open(ordinal int) (*GPU, error) {
	what := fmt.Sprintf("open device %d", ordinal)
	c, err := zeroed[C.gpu](what, 1)
	if err != nil {
		return nil, err
	}
	g := &GPU{c, map[string]C.cu_module{}}
	err = try(what, func(words *C.char) C.int { return C.gpu_open(g.c, C.int(ordinal), words) })
	if err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// try calls the driver with room for its words.
func try(what string, call func(words *C.char) C.int) error {
	var words [C.GPU_WORDS]C.char
	if code := call(&words[0]); code != C.CU_OK {
		return &Error{Call: what, Code: int(code), Words: C.GoString(&words[0])}
	}
	return nil
}

// tryHost is try for what is about memory of the host.
func tryHost(what string, call func(words *C.char) C.int) error {
	err := try(what, call)
	if e, failed := err.(*Error); failed {
		e.host = true
	}
	return err
}

// zeroed is memory of C's for n of T.
func zeroed[T any](what string, n int) (*T, error) {
	var t T
	p := (*T)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(t))))
	if p == nil {
		return nil, &Error{Call: what, Code: C.CU_E_OUT_OF_MEMORY, Words: "no memory of the host"}
	}
	return p, nil
}

// Close gives the context back. Memory, streams and events of the device are gone, for other processes, too.
func (g *GPU) Close() error {
	err := try("close", func(words *C.char) C.int { return C.gpu_close(g.c, words) })
	C.free(unsafe.Pointer(g.c))
	g.c = nil
	return err
}

// UUID tells the device from all others.
func (g *GPU) UUID() (id [16]byte) {
	for i := range id {
		id[i] = byte(g.c.uuid[i])
	}
	return id
}

// Alloc returns device memory.
func (g *GPU) Alloc(bytes uint64) (at Address, err error) {
	var c C.cu_address
	err = try(fmt.Sprintf("allocate %d bytes", bytes), func(words *C.char) C.int { return C.gpu_alloc(g.c, C.uint64_t(bytes), &c, words) })
	return Address(c), err
}

// AllocShared returns device memory to Export: so much more that no other memory shares a piece of the driver's with it.
func (g *GPU) AllocShared(bytes uint64) (Address, error) {
	return g.Alloc((bytes + C.CUDA_SHAREABLE - 1) &^ (C.CUDA_SHAREABLE - 1))
}

// Export is a handle of memory that AllocShared returned.
func (g *GPU) Export(at Address) (h Handle, err error) {
	err = try("export memory", func(words *C.char) C.int { return C.gpu_export(g.c, C.cu_address(at), (*C.uint8_t)(&h[0]), words) })
	return h, err
}

// Pin makes host memory a source of copies at the bus's speed, until Unpin. It must not be Go's.
func (g *GPU) Pin(host []byte) error {
	return tryHost(fmt.Sprintf("pin %d bytes", len(host)), func(words *C.char) C.int {
		return C.gpu_pin(g.c, unsafe.Pointer(unsafe.SliceData(host)), C.uint64_t(len(host)), words)
	})
}

// Unpin ends that, before the memory is unmapped and when no copy reads it.
func (g *GPU) Unpin(host []byte) error {
	return try("unpin", func(words *C.char) C.int {
		return C.gpu_unpin(g.c, unsafe.Pointer(unsafe.SliceData(host)), words)
	})
}

// Stream makes a stream that waits for no other.
func (g *GPU) Stream() (s Stream, err error) {
	err = try("make a stream", func(words *C.char) C.int { return C.gpu_stream(g.c, &s.c, words) })
	return s, err
}

// Event makes an event that other processes may wait for, and its handle.
func (g *GPU) Event() (e Event, h Handle, err error) {
	err = try("make an event", func(words *C.char) C.int { return C.gpu_event(g.c, &e.c, (*C.uint8_t)(&h[0]), words) })
	return e, h, err
}

// NewFinish finds the kernel that makes numbers of a type, f32, f16 or bf16: byte * scale + bias, one of each for a channel.
func (g *GPU) NewFinish(dtype string, scale, bias []float32) (f Finish, err error) {
	f.c.channels = C.uint32_t(len(scale))
	for c := range scale {
		f.c.scale[c], f.c.bias[c] = C.float(scale[c]), C.float(bias[c])
	}
	f.c.kernel, err = g.kernel(finishImage, "spdl_finish_"+dtype)
	return f, err
}

// kernel finds a kernel by the name of its entry.
func (g *GPU) kernel(image, entry string) (f C.cu_function, err error) {
	m, loaded := g.modules[image]
	if !loaded {
		text := C.CString(image)
		defer C.free(unsafe.Pointer(text))
		if err := try("load the kernels", func(words *C.char) C.int { return C.gpu_module(g.c, text, &m, words) }); err != nil {
			return nil, err
		}
		g.modules[image] = m
	}
	name := C.CString(entry)
	defer C.free(unsafe.Pointer(name))
	err = try("find kernel "+entry, func(words *C.char) C.int { return C.gpu_kernel(g.c, m, name, &f, words) })
	return f, err
}

// Copy begins a copy to the device.
func (g *GPU) Copy(to Address, from []byte, s Stream) error {
	return try("copy", func(words *C.char) C.int {
		return C.gpu_copy(g.c, C.cu_address(to), unsafe.Pointer(unsafe.SliceData(from)), C.uint64_t(len(from)), s.c, words)
	})
}

// Finish begins to make numbers of rows pictures of plane pixels.
func (g *GPU) Finish(f *Finish, to, from Address, rows, plane int, s Stream) error {
	return try("finish", func(words *C.char) C.int {
		return C.gpu_finish(g.c, &f.c, C.cu_address(to), C.cu_address(from), C.uint32_t(rows), C.uint32_t(plane), s.c, words)
	})
}

// Record has the event happen once everything before it on the stream has.
func (g *GPU) Record(e Event, s Stream) error {
	return try("record an event", func(words *C.char) C.int { return C.gpu_record(g.c, e.c, s.c, words) })
}

// Wait sleeps until the event has happened. A device that is lost says so here.
func (g *GPU) Wait(e Event) error {
	return try("wait for a copy", func(words *C.char) C.int { return C.gpu_wait(g.c, e.c, words) })
}
