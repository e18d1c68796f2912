//go:build !noffmpeg

package mux

/*
#include "mux.h"
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
)

// Encode returns the bytes of one picture [H, W, C]. The codec must be named: png, mjpeg, bmp, tiff, webp or another of FFmpeg's.
func Encode(pixels []byte, p Picture) ([]byte, error) {
	var out []byte
	err := encode("picture", pixels, p, 1, func(bytes []byte) error {
		out = append(out, bytes...)
		return nil
	})
	return out, err
}

// Save writes one picture [H, W, C] to path, whole or not at all.
func Save(path string, pixels []byte, p Picture) error {
	return encode(path, pixels, p, 1, func(bytes []byte) error { return save(path, bytes) })
}

// Images writes pictures to files of their own, one after the other.
type Images struct {
	pattern string
	p       Picture
	next    int
}

// CreateImages begins a sequence. The pattern names each file by its number, such as
// frames/%06d.png, from first on.
func CreateImages(pattern string, first int, p Picture) (*Images, error) {
	if a, b := fmt.Sprintf(pattern, 1), fmt.Sprintf(pattern, 2); a == b || strings.Contains(a, "%!") {
		return nil, invalid(pattern, "want one number in the name, such as %%06d")
	}
	if err := encode(pattern, nil, p, anyNumber, nil); err != nil {
		return nil, err
	}
	return &Images{pattern, p, first}, nil
}

// Write writes pictures [T, H, W, C]. Each file appears whole; those before a failure stay, and Next says which failed.
func (s *Images) Write(frames []byte) error {
	return encode(s.pattern, frames, s.p, anyNumber, func(bytes []byte) error {
		err := save(fmt.Sprintf(s.pattern, s.next), bytes)
		if err == nil {
			s.next++
		}
		return err
	})
}

// Next is the number of the next file.
func (s *Images) Next() int { return s.next }

func save(path string, bytes []byte) error {
	out, err := createFile(path)
	if err == nil {
		if err = out.take(bytes); err == nil {
			err = out.finish()
		} else {
			out.abandon()
		}
	}
	if err != nil {
		return unwritten(path, err)
	}
	return nil
}

const anyNumber = -1

// encode opens p's encoder and gives the bytes of each of n pictures to done.
func encode(name string, pixels []byte, p Picture, n int, done func([]byte) error) error {
	if err := av.LoadContainers(); err != nil {
		return &Error{Name: name, cause: CauseUnsupported, Detail: "FFmpeg " + err.Error()}
	}
	e := C.media_enc_new()
	if e == nil {
		return &Error{Name: name, cause: CauseNoMemory, Detail: "no memory"}
	}
	defer C.media_enc_free(e)
	if err := openPicture(e, name, p); err != nil {
		return err
	}
	size := int(C.media_enc_picture_bytes(e))
	if len(pixels)%size != 0 || n >= 0 && len(pixels) != n*size {
		return wrongSize(name, len(pixels), size, p.Width, p.Height, p.Input)
	}
	for i := range len(pixels) / size {
		bytes, err := encodeOne(e, name, pixels[i*size:], i)
		if err == nil {
			err = done(bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func openPicture(e *C.media_enc, name string, p Picture) error {
	if p.Codec == "" {
		file := C.CString(name)
		defer free(file)
		if p.Codec = C.GoString(C.media_enc_of_name(file)); p.Codec == "" {
			return &Error{Name: name, cause: CauseUnsupported, Detail: "no codec of pictures goes by the ending of this name; name one (codec), such as png"}
		}
	}
	if p.Codec == "webp" {
		p.Codec = "libwebp" // FFmpeg's first choice is the one of moving pictures
	}
	v := Video{Codec: p.Codec, Width: p.Width, Height: p.Height, Rate: Rational{1, 1}, TimeBase: Rational{1, 1}, Input: p.Input,
		PixelFormat: p.PixelFormat, Quality: p.Quality}
	if err := v.check(name); err != nil {
		return err
	}
	c := v.config()
	defer free(c.codec, c.stored, c.from)
	var options *C.AVDictionary
	defer C.av_dict_free(&options)
	for k, v := range p.Options {
		key, value := C.CString(k), C.CString(v)
		C.av_dict_set(&options, key, value, 0)
		free(key, value)
	}
	return encoded(name, e, C.media_enc_video(e, &c, &options))
}

func encoded(name string, e *C.media_enc, status C.int) error {
	if status == C.MEDIA_MUX_OK {
		return nil
	}
	return failure(name, status, &e.detail[0], 0)
}

// encodeOne gives the encoder the i-th picture; its bytes are lent until the next.
func encodeOne(e *C.media_enc, name string, pixels []byte, i int) ([]byte, error) {
	if err := encoded(name, e, C.media_enc_picture(e, start(pixels), C.int64_t(i))); err != nil {
		return nil, err
	}
	var packet *C.AVPacket
	status := C.media_enc_packet(e, &packet)
	if status == C.MEDIA_MUX_AGAIN || status == C.MEDIA_MUX_END {
		return nil, &Error{Name: name, cause: CauseUnsupported, Detail: "the codec makes no pictures that stand alone"}
	}
	if err := encoded(name, e, status); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(packet.data), int(packet.size)), nil
}
