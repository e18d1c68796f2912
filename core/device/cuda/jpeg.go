package cuda

/*
#include <stdlib.h>
#include "jpeg.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// JPEGs decodes JPEG files to pixels on the device, by nvJPEG.
type JPEGs struct {
	gpu *GPU
	c   *C.jpegs
}

// OpenJPEGs finds nvJPEG.
func (g *GPU) OpenJPEGs() (*JPEGs, error) {
	c, err := zeroed[C.jpegs]("open nvJPEG", 1)
	if err != nil {
		return nil, err
	}
	j := &JPEGs{g, c}
	if err := try("open nvJPEG", func(words *C.char) C.int { return C.jpegs_open(g.c, j.c, words) }); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// Close ends it, after its lanes.
func (j *JPEGs) Close() {
	C.jpegs_close(j.gpu.c, j.c)
	C.free(unsafe.Pointer(j.c))
	j.c = nil
}

// JPEGLane decodes the files of one batch at a time, in groups.
type JPEGLane struct {
	jpegs    *JPEGs
	c        *C.jpeg_lane
	files    []C.jpeg_file // of C
	first, n int           // the group in hand is [first, n)
}

// NewLane has room for batches of so many files.
func (j *JPEGs) NewLane(room int) (*JPEGLane, error) {
	c, err := zeroed[C.jpeg_lane]("prepare nvJPEG", 1)
	if err != nil {
		return nil, err
	}
	files, err := zeroed[C.jpeg_file]("prepare nvJPEG", room)
	if err != nil {
		C.free(unsafe.Pointer(c))
		return nil, err
	}
	l := &JPEGLane{jpegs: j, c: c, files: unsafe.Slice(files, room)}
	err = try("prepare nvJPEG", func(words *C.char) C.int { return C.jpeg_lane_open(j.gpu.c, j.c, l.c, C.int(room), words) })
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends it, when nothing that it began is under way.
func (l *JPEGLane) Close() {
	C.jpeg_lane_close(l.jpegs.gpu.c, l.jpegs.c, l.c)
	C.free(unsafe.Pointer(l.c))
	C.free(unsafe.Pointer(unsafe.SliceData(l.files)))
	l.c, l.files = nil, nil
}

// Begin begins a batch, when the stream has passed the one before.
func (l *JPEGLane) Begin() { l.first, l.n = 0, 0 }

// Put adds a file to the group: [height, width, 3] bytes at an address, behind those of the file before. The file is not Go's
// memory, and stays as it is until the stream has passed the group.
func (l *JPEGLane) Put(file []byte, to Address, width, height int) {
	l.files[l.n] = C.jpeg_file{
		data: unsafe.Pointer(unsafe.SliceData(file)), bytes: C.size_t(len(file)), to: C.cu_address(to), pitch: C.size_t(3 * width), height: C.int(height),
	}
	l.n++
}

// Decode begins to decode the group, once what was put on the stream before is done. refused is called with the places in the batch of
// files that nvJPEG does not decode, with its word for why, and whether that is the file's fault; then the others need not have been decoded
// either.
func (l *JPEGLane) Decode(s Stream, refused func(file int, why string, lasting bool)) error {
	first, n := l.first, l.n-l.first
	l.first = l.n
	if n == 0 {
		return nil
	}
	code := C.int(0)
	err := try("decode JPEGs", func(words *C.char) C.int {
		code = C.jpeg_decode(l.jpegs.gpu.c, l.jpegs.c, l.c, C.int(first), &l.files[first], C.int(n), s.c, words)
		return max(0, -code)
	})
	if err != nil || code == 0 {
		return err
	}
	for i := first; i < first+n; i++ {
		if r := l.files[i].result; r != C.NVJPEG_OK {
			refused(i, C.GoString(C.jpeg_result_name(r)), C.jpeg_is_lasting(r) != 0)
		}
	}
	return nil
}

// Place is where a decoded picture is, and which part of it becomes which row. The box is resized to ResH x ResW, of which the
// row shows what begins at WinY, WinX; negative: zeros come first. ResH of 0 makes a row of zeros.
type Place struct {
	From                   Address
	Pitch                  int // bytes
	Row                    int
	BoxY, BoxX, BoxH, BoxW int
	ResH, ResW, WinY, WinX int
	Flip                   bool
}

// Resize makes rows of [h, w, 3] bytes of decoded pictures: see resize.cu.
type Resize struct{ c C.resize }

// NewResize finds the kernels.
func (g *GPU) NewResize(h, w int, bicubic bool) (r Resize, err error) {
	r.c.h, r.c.w = C.int(h), C.int(w)
	if bicubic {
		r.c.bicubic = 1
	}
	if r.c.weights, err = g.kernel(resizeImage, "spdl_weights"); err != nil {
		return r, err
	}
	r.c.rows, err = g.kernel(resizeImage, "spdl_resize")
	return r, err
}

// TableBytes is what the coefficients of so many pictures take, at most so many a pixel in each direction.
func (r *Resize) TableBytes(pictures, taps int) uint64 {
	return uint64(C.gpu_table_bytes(&r.c, C.uint32_t(pictures), C.int(taps)))
}

// Places are what one batch's pictures need beside their pixels: the list of them, and the coefficients of the group in hand.
type Places struct {
	host     []C.gpu_place // pinned
	device   Address
	table    Address
	taps     int
	first, n int // the group in hand is [first, n)
}

// NewPlaces has room for batches of so many pictures in groups of at most so many, whose rows take at most so many coefficients a pixel in each
// direction.
func (g *GPU) NewPlaces(r *Resize, room, group, taps int) (p *Places, err error) {
	p = &Places{taps: taps}
	bytes := uint64(room) * C.sizeof_gpu_place
	var host unsafe.Pointer
	err = tryHost(fmt.Sprintf("allocate %d bytes of pinned memory", bytes), func(words *C.char) C.int {
		return C.gpu_host_alloc(g.c, C.uint64_t(bytes), &host, words)
	})
	if err != nil {
		return nil, err
	}
	p.host = unsafe.Slice((*C.gpu_place)(host), room)
	if p.device, err = g.Alloc(bytes); err != nil {
		return nil, err
	}
	p.table, err = g.Alloc(r.TableBytes(group, taps))
	return p, err
}

// Begin begins a batch, when the stream has passed the one before.
func (p *Places) Begin() { p.first, p.n = 0, 0 }

// Put adds a picture to the group.
func (p *Places) Put(at Place) {
	flip := C.int(0)
	if at.Flip {
		flip = 1
	}
	p.host[p.n] = C.gpu_place{
		from: C.ulonglong(at.From), pitch: C.int(at.Pitch), row: C.int(at.Row),
		box_x: C.int(at.BoxX), box_y: C.int(at.BoxY), box_w: C.int(at.BoxW), box_h: C.int(at.BoxH),
		res_w: C.int(at.ResW), res_h: C.int(at.ResH), win_x: C.int(at.WinX), win_y: C.int(at.WinY), flip: flip,
	}
	p.n++
}

// Len is how many pictures the group has.
func (p *Places) Len() int { return p.n - p.first }

// Resize begins to make rows of the group at an address, [rows, h, w, 3].
func (g *GPU) Resize(r *Resize, to Address, p *Places, s Stream) error {
	first, n := p.first, p.Len()
	p.first = p.n
	if n == 0 {
		return nil
	}
	return try("resize", func(words *C.char) C.int {
		host, device := unsafe.Pointer(&p.host[first]), C.cu_address(p.device)+C.cu_address(first)*C.sizeof_gpu_place
		if code := C.gpu_copy(g.c, device, host, C.uint64_t(n)*C.sizeof_gpu_place, s.c, words); code != C.CU_OK {
			return code
		}
		return C.gpu_resize(g.c, &r.c, C.cu_address(to), device, C.cu_address(p.table), C.uint32_t(n), C.int(p.taps), s.c, words)
	})
}

// Drain sleeps until everything on the stream is done.
func (g *GPU) Drain(s Stream) error {
	return try("wait for a stream", func(words *C.char) C.int { return C.gpu_drain(g.c, s.c, words) })
}
