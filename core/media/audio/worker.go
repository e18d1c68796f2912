package audio

/*
#include "kernels.h"

// cgo calls no function pointers: one line per kernel, here and in the other files.
static void to_s16(const audio_kernels *k, const float *src, size_t n, int16_t *dst, size_t step) {
    k->to_s16(src, n, dst, step);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/tensor"
)

// Source is one encoded sample: Bytes, which are read during the call only, as File is; the file at Path; or Packets.
type Source struct {
	Bytes   []byte
	File    *av.File
	Path    string
	Packets *av.Packets // not nil: these
	Window  Window      // not zero: this part, in place of the Config's; of Packets a part of the stream that they are of
	Select  []int       // not nil: these channels, in place of the Config's
	Shown   *[2]float64 // not nil: in place of windows what is heard from one second of the file's clock up to another, silence where there is no sound
}

// Row is where a sample goes: RowBytes of the caller's memory.
type Row struct{ Data []byte }

// Info says what a row was made of; with a filter, what is said to be as stored is as it came out.
type Info struct {
	Format   string `json:"format"`   // "pcm", or FFmpeg's name of the container, "wav" for one
	Rate     int    `json:"rate"`     // as stored
	Channels int    `json:"channels"` // as stored
	Frames   int64  `json:"frames"`   // as stored; -1 where decoding ended with the window
	Start    int64  `json:"start"`    // of the crop: frames at the row's rate after the window's begin
	Samples  int    `json:"samples"`  // along TimeAxis; what lies beyond is zero
}

// Options of a worker; nil is the default.
type Options struct {
	Portable bool // plain C only; for comparing, the bytes are the same
}

// Worker makes rows on one thread at a time and keeps its buffers between them.
type Worker struct {
	op      *Op
	kernels *C.audio_kernels
	in      input
	energy  []float64
	biquads [10]C.double
	noise   noiseRoom

	convolver convolver

	fetched, mixed, wave, spectra, scratch, turned buffer
}

// buffer is memory that is kept.
type buffer []float32

// keepFloats is what a buffer keeps at most between samples.
const keepFloats = 1 << 23

// get is n floats with whatever is in them.
func (b *buffer) get(n int64) []float32 {
	if int64(cap(*b)) < n {
		*b = make([]float32, n+n/4)
	}
	return (*b)[:n:n]
}

func (b *buffer) trim() {
	if cap(*b) > keepFloats {
		*b = nil
	}
}

// planes are channels of n floats, stride apart.
type planes struct {
	data   []float32
	stride int64
	n      int64
}

func (b *buffer) planes(channels int, n int64) planes {
	return planes{b.get(int64(channels) * n), n, n}
}

func (p planes) channel(c int) []float32 {
	at := int64(c) * p.stride
	return p.data[at : at+p.n : at+p.n]
}

// NewWorker makes a worker for rows of op. Close it.
func (op *Op) NewWorker() (*Worker, error) { return op.NewWorkerWith(nil) }

// NewWorkerWith is NewWorker with options.
func (op *Op) NewWorkerWith(o *Options) (*Worker, error) {
	w := &Worker{op: op, kernels: C.audio_best()}
	if o != nil && o.Portable {
		w.kernels = &C.audio_portable
	}
	return w, nil
}

// Close frees what the worker holds outside Go. It must not be used again.
func (w *Worker) Close() { w.in.close() }

// ISA names the instruction set in use.
func (w *Worker) ISA() string { return C.GoString(w.kernels.isa) }

// Decode makes the sample's row in dst.Data. It begins no goroutine and keeps nothing of src. What a failed Decode leaves
// in dst is undefined.
func (w *Worker) Decode(dst Row, src Source, draw Draw) (Info, error) {
	if !w.op.Fixed() {
		return Info{}, errors.New("audio: decode: the description fixes no length or no channels; add them, or use Wave")
	}
	if len(dst.Data) != w.op.RowBytes() {
		return Info{}, fmt.Errorf("audio: row: got %d bytes of destination, want %d", len(dst.Data), w.op.RowBytes())
	}
	w.wave.trim()
	defer w.done()
	info, err := w.decode(dst, src, draw)
	if err != nil && w.in.isFFmpegs() {
		info, err = w.decode(dst, src, draw)
	}
	return info, err
}

func (w *Worker) decode(dst Row, src Source, draw Draw) (Info, error) {
	j, err := w.plan(src, draw)
	if err != nil {
		return j.info, err
	}
	wave := w.target(dst.Data, j.n)
	if err := w.render(&j, wave, draw); err != nil {
		return j.info, err
	}
	if w.op.features != nil {
		return j.info, w.store(&j, wave, dst.Data, draw)
	}
	j.info.Samples = int(j.n)
	w.storeWave(wave, dst.Data)
	return j.info, nil
}

// Wave is a signal in the worker's memory, channel by channel: channel c is Data[c*Frames:][:Frames].
type Wave struct {
	Data     []float32
	Channels int
	Frames   int
	Rate     int
}

// Wave is Decode into the worker's own memory, valid until its next call: the waveform as it is, neither padded nor
// turned into features. Length, where there is one, still crops.
func (w *Worker) Wave(src Source, draw Draw) (Wave, Info, error) {
	w.wave.trim()
	defer w.done()
	wave, info, err := w.makeWave(src, draw)
	if err != nil && w.in.isFFmpegs() {
		wave, info, err = w.makeWave(src, draw)
	}
	return wave, info, err
}

func (w *Worker) makeWave(src Source, draw Draw) (Wave, Info, error) {
	j, err := w.plan(src, draw)
	if err != nil {
		return Wave{}, j.info, err
	}
	wave := w.wave.planes(j.channels, j.n)
	if err := w.render(&j, wave, draw); err != nil {
		return Wave{}, j.info, err
	}
	j.info.Samples = int(j.n)
	return Wave{Data: wave.data, Channels: j.channels, Frames: int(j.n), Rate: j.rate}, j.info, nil
}

func (w *Worker) done() {
	w.in.release()
	w.in.notOwn = false
	for _, b := range []*buffer{&w.fetched, &w.mixed, &w.spectra, &w.scratch, &w.turned} {
		b.trim()
	}
}

// target is where the waveform of n frames is made: in the row itself where it can lie there as it is.
func (w *Worker) target(row []byte, n int64) planes {
	op := w.op
	channels, length := op.channels, int64(op.cfg.Length)
	plain := op.features == nil && op.cfg.DType == tensor.F32 && (op.cfg.Layout == ChannelsFirst || channels == 1)
	if data, ok := floatsOf(row); ok && plain {
		return planes{data, length, n}
	}
	if op.features != nil && op.features.cfg.Silence {
		return planes{w.wave.get(int64(channels) * length), length, n}
	}
	return w.wave.planes(channels, n)
}

// floatsOf is the row as floats, where it is aligned for them.
func floatsOf(row []byte) ([]float32, bool) {
	p := unsafe.Pointer(unsafe.SliceData(row))
	if uintptr(p)%4 != 0 {
		return nil, false
	}
	return unsafe.Slice((*float32)(p), len(row)/4), true
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// storeWave brings the waveform into the row's type and layout and clears what lies beyond it.
func (w *Worker) storeWave(wave planes, row []byte) {
	op := w.op
	item := op.cfg.DType.Bytes()
	channels, length := op.channels, op.cfg.Length
	timeFirst := op.cfg.Layout == TimeFirst && channels > 1
	n := int(wave.n)
	for c := range channels {
		from := wave.channel(c)
		step, at := 1, c*length*item
		if timeFirst {
			step, at = channels, c*item
		} else {
			clear(row[at+n*item : at+length*item])
		}
		switch {
		case n == 0:
		case op.cfg.DType == tensor.I16:
			w.storeI16(from, row[at:], step)
		case step > 1 || unsafe.SliceData(bytesOf(from)) != unsafe.SliceData(row[at:]):
			storeF32(from, row[at:], step)
		}
	}
	if timeFirst {
		clear(row[n*channels*item:])
	}
}

func (w *Worker) storeI16(from []float32, to []byte, step int) {
	p := unsafe.Pointer(unsafe.SliceData(to))
	if uintptr(p)%2 == 0 {
		C.to_s16(w.kernels, floats(from), C.size_t(len(from)), (*C.int16_t)(p), C.size_t(step))
		return
	}
	even := make([]int16, len(from))
	C.to_s16(w.kernels, floats(from), C.size_t(len(from)), (*C.int16_t)(unsafe.SliceData(even)), 1)
	for i, v := range even {
		to[2*i*step], to[2*i*step+1] = byte(v), byte(v>>8)
	}
}

func storeF32(from []float32, to []byte, step int) {
	if step == 1 {
		copy(to, bytesOf(from))
		return
	}
	for i := range from {
		copy(to[4*i*step:][:4], bytesOf(from[i:i+1]))
	}
}
