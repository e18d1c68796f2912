//go:build !noffmpeg

package mux

/*
#cgo CFLAGS: -std=gnu11 -O2
#cgo pkg-config: libavformat libavcodec libavutil libswscale libswresample
#include <stdlib.h>
#include "mux.h"
*/
import "C"

import (
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// Muxer writes one container. It belongs to one goroutine at a time.
type Muxer struct {
	m       *C.media_mux
	cfg     Config
	name    string
	out     output
	started bool
	closed  bool
	err     error // the first failure of a write; all that follows fails with it
}

// output is where the bytes of a container end.
type output interface {
	fd() int                 // a file to write into at any place; -1: memory
	seekable() bool          // whether memory may be written at any place, or is taken as it comes
	take(bytes []byte) error // memory's bytes: all at the end, or those since the last call
	finish() error
	abandon()
}

// Create begins the container at path. The file appears there, whole, when Close
// succeeds; until then, and if anything fails, nothing does. What is there and no
// regular file (a FIFO, a device) is written as it is.
func Create(path string, cfg Config) (*Muxer, error) {
	out, err := createFile(path)
	if err != nil {
		return nil, unwritten(path, err)
	}
	return newMuxer(path, cfg, out)
}

// New begins a container whose bytes go to w as they come; not every format can do that. The format must be named.
func New(w io.Writer, cfg Config) (*Muxer, error) { return newMuxer("writer", cfg, &writer{w}) }

// Buffer begins a container in memory; done is given its bytes when Close succeeds.
// They are valid until done returns.
func Buffer(cfg Config, done func([]byte) error) (*Muxer, error) {
	return newMuxer("memory", cfg, &memory{done})
}

func newMuxer(name string, cfg Config, out output) (*Muxer, error) {
	m := &Muxer{cfg: cfg, name: name, out: out}
	if err := m.open(); err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

func (m *Muxer) open() error {
	if err := av.LoadContainers(); err != nil {
		return &Error{Name: m.name, cause: CauseUnsupported, Detail: "FFmpeg " + err.Error()}
	}
	if m.m = C.media_mux_new(); m.m == nil {
		return &Error{Name: m.name, cause: CauseNoMemory, Detail: "no memory"}
	}
	name, format := cstring(m.name), cstring(m.cfg.Format)
	defer free(name, format)
	return m.check(C.media_mux_open(m.m, format, name, C.int(m.out.fd()), cbool(m.out.seekable())))
}

// check turns a status into an error.
func (m *Muxer) check(status C.int) error {
	if status >= 0 {
		return nil
	}
	return failure(m.name, status, &m.m.detail[0], m.m.error_number)
}

func failure(name string, status C.int, detail *C.char, number C.int) error {
	cause, ok := map[C.int]string{
		C.MEDIA_MUX_INVALID: CauseInvalid, C.MEDIA_MUX_UNSUPPORTED: CauseUnsupported, C.MEDIA_MUX_ENCODE: CauseEncode,
		C.MEDIA_MUX_WRITE: CauseWrite, C.MEDIA_MUX_NO_MEMORY: CauseNoMemory,
	}[status]
	if !ok {
		panic(fmt.Sprintf("mux: status %d", int(status)))
	}
	e := &Error{Name: name, Detail: C.GoString(detail), cause: cause}
	if cause == CauseWrite {
		e.err = syscall.Errno(number)
		e.Detail = e.err.Error()
	}
	return e
}

// begin writes the header before the first write.
func (m *Muxer) begin() error {
	if m.closed {
		return closed(m.name)
	}
	if m.err != nil || m.started {
		return m.err
	}
	m.started = true
	err := m.options(m.cfg.Options)
	if err == nil {
		err = m.check(C.media_mux_start(m.m))
	}
	return m.written(err)
}

// written ends a write: bytes that came are handed on, a failure is kept.
func (m *Muxer) written(err error) error {
	if err == nil && m.out.fd() < 0 && !m.out.seekable() && m.m.size > 0 {
		err = m.take()
		C.media_mux_taken(m.m)
	}
	if err != nil {
		m.err = err
	}
	return err
}

func (m *Muxer) take() error {
	if err := m.out.take(unsafe.Slice((*byte)(m.m.memory), int(m.m.size))); err != nil {
		return unwritten(m.name, err)
	}
	return nil
}

// options makes these the options of the next call of C's, in place of what a refused one has left.
func (m *Muxer) options(options map[string]string) error {
	C.av_dict_free(&m.m.options)
	for k, v := range options {
		key, value := C.CString(k), C.CString(v)
		status := C.media_mux_option(m.m, key, value)
		free(key, value)
		if err := m.check(status); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the encoders, writes what the container still needs and puts the file
// in its place. After a failed write it abandons the file and returns that failure.
// A second Close, or one after Abort, does nothing.
func (m *Muxer) Close() error {
	if m.closed {
		return nil
	}
	err := m.begin()
	if err == nil {
		err = m.written(m.check(C.media_mux_finish(m.m)))
	}
	if err == nil && m.out.seekable() && m.out.fd() < 0 {
		err = m.take()
	}
	if err == nil {
		if failed := m.out.finish(); failed != nil {
			err = unwritten(m.name, failed)
		}
		m.out = nil
	}
	m.free()
	return err
}

// Abort gives the container up; of a file nothing stays. After Close it does nothing,
// so that it can be deferred.
func (m *Muxer) Abort() {
	if !m.closed {
		m.free()
	}
}

func (m *Muxer) free() {
	if m.out != nil {
		m.out.abandon()
	}
	C.media_mux_free(m.m)
	m.m, m.out, m.closed = nil, nil, true
}

// cstring is C's copy of s, NULL for an empty one; free it.
func cstring(s string) *C.char {
	if s == "" {
		return nil
	}
	return C.CString(s)
}

func free(strings ...*C.char) {
	for _, s := range strings {
		C.free(unsafe.Pointer(s))
	}
}

func cbool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
