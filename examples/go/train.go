// train.go - one epoch in Go: batches/s, the mean of the images, how many labels there are.
//
//	train SPEC_OR_NAME [GROUP] [--hash]
//
// An existing file or folder, or text that begins with '{', is opened: an engine is started for this program
// alone. Anything else is the name of a running engine. --hash prints "TICKET HASH" for each batch, see
// examples/README.md. The engine stays a process of its own: libspdl_engine would be a second Go runtime here, which
// Go does not support.
//
//	go build -o train .        # under another prefix: CGO_CFLAGS="$(pkg-config --cflags spdl)" CGO_LDFLAGS="$(pkg-config --libs spdl)"
package main

/*
#cgo LDFLAGS: -lspdl
#include <stdlib.h>
#include <spdl.h>

static spdl_open_opts open_opts_init(void) { spdl_open_opts o = SPDL_OPEN_OPTS_INIT; return o; }
static spdl_batch batch_init(void) { spdl_batch b = SPDL_BATCH_INIT; return b; }
static spdl_tensor tensor_init(void) { spdl_tensor t = SPDL_TENSOR_INIT; return t; }
*/
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// lastError is the text of this thread's last failed call: the goroutine has to have a thread of its own.
func lastError() error { return errors.New(C.GoString(C.spdl_last_error())) }

func openOrAttach(what, group string) (*C.spdl_reader, error) {
	name, client := C.CString(what), C.CString("go")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(client))
	opts := C.open_opts_init()
	opts.attach.client = client
	opts.attach.max_leases = 1 // each batch is released before the next is asked for
	if group != "" {
		opts.attach.group = C.CString(group)
		defer C.free(unsafe.Pointer(opts.attach.group))
	}
	var reader *C.spdl_reader
	start := func() C.spdl_status { return C.spdl_attach(name, &opts.attach, &reader) }
	if _, err := os.Stat(what); err == nil || strings.HasPrefix(what, "{") {
		start = func() C.spdl_status { return C.spdl_open(name, &opts, &reader) }
	}
	if start() != C.SPDL_OK {
		return nil, lastError()
	}
	return reader, nil
}

// values are those of a tensor, as they lie in the slot: good until the batch is released.
func values[T any](t *C.spdl_tensor) []T {
	var one T
	return unsafe.Slice((*T)(t.data), uintptr(t.bytes)/unsafe.Sizeof(one))
}

// elements is how many a tensor has. Where rows are padded there is more memory: what lies around them is zero.
func elements(t *C.spdl_tensor) int {
	n := 1
	for _, side := range t.shape[:t.ndim] {
		n *= int(side)
	}
	return n
}

func is(t *C.spdl_tensor, code, bits int) bool {
	return int(t.dtype_code) == code && int(t.dtype_bits) == bits
}

// named is the tensor of that name; false where the ring has none.
func named(reader *C.spdl_reader, batch *C.spdl_batch, name string) (t C.spdl_tensor, ok bool, err error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	t = C.tensor_init()
	i := C.spdl_tensor_index(reader, text)
	if i < 0 {
		return t, false, nil
	}
	if C.spdl_batch_tensor(reader, batch, C.uint32_t(i), &t) != C.SPDL_OK {
		return t, false, lastError()
	}
	return t, true, nil
}

func hash(reader *C.spdl_reader, batch *C.spdl_batch) (uint32, error) {
	crc := crc32.ChecksumIEEE(binary.LittleEndian.AppendUint32(nil, uint32(batch.rows)))
	for i := range C.spdl_n_tensors(reader) {
		t := C.tensor_init()
		if C.spdl_batch_tensor(reader, batch, i, &t) != C.SPDL_OK {
			return 0, lastError()
		}
		crc = crc32.Update(crc, crc32.IEEETable, values[byte](&t))
		if t.offsets != nil {
			offsets := unsafe.Slice((*byte)(unsafe.Pointer(t.offsets)), 8*(int(batch.rows)+1))
			crc = crc32.Update(crc, crc32.IEEETable, offsets)
		}
	}
	return crc, nil
}

type totals struct {
	batches, rows, elements int
	sum                     float64 // of image elements
	labels                  map[int64]bool
}

func (all *totals) train(reader *C.spdl_reader, batch *C.spdl_batch) error {
	image, ok, err := named(reader, batch, "image")
	if err != nil {
		return err
	}
	switch {
	case ok && is(&image, C.SPDL_UINT, 8):
		pixels, sum := values[uint8](&image), uint64(0)
		for _, v := range pixels {
			sum += uint64(v)
		}
		all.sum, all.elements = all.sum+float64(sum), all.elements+elements(&image)
	case ok && is(&image, C.SPDL_FLOAT, 32):
		pixels := values[float32](&image)
		for _, v := range pixels {
			all.sum += float64(v)
		}
		all.elements += elements(&image)
	}
	label, ok, err := named(reader, batch, "label")
	if err != nil {
		return err
	}
	if ok && is(&label, C.SPDL_INT, 64) && label.ndim == 1 {
		for _, l := range values[int64](&label) {
			if l != -1 { // -1: the sample has none
				all.labels[l] = true
			}
		}
	}
	all.batches++
	all.rows += int(batch.rows)
	return nil
}

// acquire waits for the next batch; false at the end of the epoch. A call into C cannot be cancelled, so it looks after ctx ten times a second.
func acquire(ctx context.Context, reader *C.spdl_reader, batch *C.spdl_batch) (bool, error) {
	for ctx.Err() == nil {
		switch status := C.spdl_acquire(reader, 100*1000*1000, batch); {
		case status < 0:
			return false, lastError()
		case status != C.SPDL_TIMEOUT:
			return status == C.SPDL_OK, nil
		}
	}
	return false, ctx.Err()
}

func counted(n int, one, more string) string {
	if n == 1 {
		return fmt.Sprint(n, " ", one)
	}
	return fmt.Sprint(n, " ", more)
}

func run(what, group string, withHash bool) error {
	runtime.LockOSThread() // the last error and the leases are a thread's
	reader, err := openOrAttach(what, group)
	if err != nil {
		return err
	}
	defer C.spdl_detach(reader)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // a Ctrl-C before, or a second one, ends the program at once
	context.AfterFunc(ctx, stop)
	all, batch, start := totals{labels: map[int64]bool{}}, C.batch_init(), time.Now()
	for {
		there, err := acquire(ctx, reader, &batch)
		if err != nil {
			return err
		}
		if !there {
			break
		}
		if withHash {
			crc, err := hash(reader, &batch)
			if err != nil {
				return err
			}
			fmt.Printf("%d %08x\n", uint64(batch.ticket), crc)
		}
		err = all.train(reader, &batch)
		C.spdl_release(reader, &batch)
		if err != nil {
			return err
		}
	}
	rate, mean := float64(all.batches)/time.Since(start).Seconds(), 0.0
	if all.elements > 0 {
		mean = all.sum / float64(all.elements)
	}
	fmt.Printf("%s, %s, %.1f batches/s; mean of image %.4f; %s\n", counted(all.batches, "batch", "batches"),
		counted(all.rows, "row", "rows"), rate, mean, counted(len(all.labels), "label", "labels"))
	return nil
}

func main() {
	var words []string
	withHash, wrong := false, false
	for _, a := range os.Args[1:] {
		switch {
		case a == "--hash":
			withHash = true
		case strings.HasPrefix(a, "-"):
			wrong = true
		default:
			words = append(words, a)
		}
	}
	if wrong || len(words) < 1 || len(words) > 2 {
		fmt.Fprintln(os.Stderr, "usage: train SPEC_OR_NAME [GROUP] [--hash]")
		os.Exit(2)
	}
	if err := run(words[0], strings.Join(words[1:], ""), withHash); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}
