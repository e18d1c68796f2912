package main

// #include <stdlib.h>
// #include <string.h>
// #include "table.h"
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/spec"
)

var errNoMemory = errors.New("no memory")

// cMemory is zeroed memory of C's, 64-byte aligned.
func cMemory(n int) ([]byte, error) {
	size := C.size_t(max(n, 1)+63) &^ 63
	p := C.aligned_alloc(64, size)
	if p == nil {
		return nil, fmt.Errorf("%w for %d bytes", errNoMemory, n)
	}
	C.memset(p, 0, size)
	return unsafe.Slice((*byte)(p), n), nil
}

// zeroed is memory of C's for n of T, for one at least; nil: there is none.
func zeroed[T any](n int) *T {
	var t T
	return (*T)(C.calloc(C.size_t(max(n, 1)), C.size_t(unsafe.Sizeof(t))))
}

// loaded is a result in the making: what it has, its free gives back.
type loaded struct {
	owned map[unsafe.Pointer]bool // not yet in a tensor
}

func (l *loaded) alloc(n int) ([]byte, error) {
	b, err := cMemory(n)
	if err == nil {
		l.owned[unsafe.Pointer(unsafe.SliceData(b))] = true
	}
	return b, err
}

func (l *loaded) free() {
	for p := range l.owned {
		C.free(p)
	}
}

//export goLoad
func goLoad(description *C.char, bytes unsafe.Pointer, n C.size_t, path *C.char, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	src := sourceOf(bytes, n, path)
	if src.Bytes == nil && src.Path == "" && load.WantsSource([]byte(C.GoString(description))) {
		_ = fail(errors.New("spdl: load: neither bytes nor a path is given, want one of them"), e)
		return C.SPDL_E_ARGUMENT
	}
	return loadInto(description, src, out, e)
}

func loadInto(description *C.char, src load.Source, out **C.spdl_loaded, e *C.spdl_engine_error) C.spdl_status {
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	m, err := load.Load([]byte(C.GoString(description)), src, l.alloc)
	if err == nil {
		*out, err = l.give(m)
	}
	return loadStatus(err, e)
}

//export goLoadBatch
func goLoadBatch(description *C.char, samples *C.spdl_sample, n C.size_t, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	l := &loaded{owned: map[unsafe.Pointer]bool{}}
	defer l.free()
	sources := make([]load.Source, n)
	for i := range sources {
		s := (*C.spdl_sample)(unsafe.Add(unsafe.Pointer(samples), uintptr(i)*uintptr(samples.struct_size)))
		sources[i] = sourceOf(s.bytes, s.n_bytes, s.path)
	}
	m, err := load.LoadBatch([]byte(C.GoString(description)), sources, l.alloc)
	if err == nil {
		*out, err = l.give(m)
	}
	return loadStatus(err, e)
}

// sourceOf is the caller's bytes, or its path.
func sourceOf(bytes unsafe.Pointer, n C.size_t, path *C.char) load.Source {
	if bytes != nil {
		return load.Source{Bytes: unsafe.Slice((*byte)(bytes), n)}
	}
	src := load.Source{Path: C.GoString(path)}
	if strings.Contains(src.Path, "://") { // whose credentials may be there
		followEnvironment()
	}
	return src
}

// streams are the videos that are read in chunks.
var streams numbered[*load.Stream]

//export goLoadingOpen
func goLoadingOpen(description *C.char, bytes unsafe.Pointer, n C.size_t, path *C.char, number *C.int64_t, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return openLoading(description, sourceOf(bytes, n, path), number, e)
}

func openLoading(description *C.char, src load.Source, number *C.int64_t, e *C.spdl_engine_error) C.spdl_status {
	s, err := load.Open([]byte(C.GoString(description)), src)
	if err == nil {
		*number = streams.add(s)
	}
	return loadStatus(err, e)
}

//export goLoadingNext
func goLoadingNext(number C.int64_t, out **C.spdl_loaded, e *C.spdl_engine_error) (status C.spdl_status) {
	defer caught(&status, e)
	return nextInto(streams.get(number).Next, out, e)
}

//export goLoadingClose
func goLoadingClose(number C.int64_t) {
	if s, ok := streams.remove(number); ok {
		s.Close()
	}
}

// loadStatus is answer for what package load says.
func loadStatus(err error, e *C.spdl_engine_error) C.spdl_status {
	var described *spec.Error
	var sample *load.Error
	switch {
	case err == nil:
		return C.SPDL_OK
	case errors.Is(err, errNoMemory), load.OutOfMemory(err):
		_ = fail(err, e)
		return C.SPDL_E_NOMEM
	case errors.As(err, &described):
		_ = fail(err, e)
		return C.SPDL_E_SPEC
	case errors.As(err, &sample):
		_ = fail(err, e)
		return C.SPDL_E_SAMPLE
	}
	return fail(err, e)
}

// give makes of what was loaded what C gets. Memory that lands in it is no longer l's.
func (l *loaded) give(m *load.Media) (*C.spdl_loaded, error) {
	info, err := json.Marshal(m.Info)
	if err != nil {
		return nil, fmt.Errorf("spdl: load: %w", err)
	}
	for _, t := range m.Tensors {
		if len(t.Shape) > C.SPDL_MAX_NDIM {
			return nil, &load.Error{Err: fmt.Errorf("array %q: got %d dimensions, want at most %d", t.Name, len(t.Shape), C.SPDL_MAX_NDIM)}
		}
	}
	n := len(m.Tensors)
	c, list, own := zeroed[C.spdl_loaded](1), zeroed[C.spdl_tensor](n), zeroed[unsafe.Pointer](n)
	if c == nil || list == nil || own == nil {
		C.free(unsafe.Pointer(c))
		C.free(unsafe.Pointer(list))
		C.free(unsafe.Pointer(own))
		return nil, fmt.Errorf("%w for what describes %d arrays", errNoMemory, n)
	}
	c.n, c.info, c.tensors, c.owned = C.uint32_t(n), C.CString(string(info)), list, own
	tensors, owned := unsafe.Slice(list, n), unsafe.Slice(own, n)
	for i := range m.Tensors {
		t := &m.Tensors[i]
		data := unsafe.Pointer(unsafe.SliceData(t.Data))
		if l.owned[data] {
			delete(l.owned, data)
			owned[i] = data
		}
		describeTensor(&tensors[i], t)
	}
	return c, nil
}

func describeTensor(c *C.spdl_tensor, t *load.Tensor) {
	c.struct_size, c.kind, c.role = C.sizeof_spdl_tensor, C.SPDL_DENSE, C.SPDL_ROLE_FIELD
	c.name, c.data, c.bytes = C.CString(t.Name), unsafe.Pointer(unsafe.SliceData(t.Data)), C.uint64_t(len(t.Data))
	c.dtype_code, c.dtype_bits, c.dtype_lanes = C.uint8_t(t.DType.Code()), C.uint8_t(t.DType.Bits()), C.uint16_t(t.DType.Lanes())
	c.ndim, c.device_type = C.uint32_t(len(t.Shape)), 1
	for d, stride := range t.Shape.Strides(t.DType) {
		c.shape[d], c.strides[d] = C.int64_t(t.Shape[d]), C.int64_t(stride)
	}
}
