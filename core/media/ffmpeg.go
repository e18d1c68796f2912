//go:build !noffmpeg

package media

/*
#cgo CFLAGS: -DMEDIA_FFMPEG
#cgo pkg-config: libavformat libavcodec libavutil libswscale
#include "ffmpeg.h"
#include <libavutil/avutil.h>
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"

	"github.com/spdl/spdl/core/media/av"
)

// codecs names FFmpeg's decoder of each format that sniff knows.
var codecs = map[string]string{
	"png": "png", "gif": "gif", "bmp": "bmp", "tiff": "tiff",
	"jpeg2000": "jpeg2000", "qoi": "qoi", "psd": "psd", "dds": "dds", "exr": "exr", "sgi": "sgi",
	"sunraster": "sunrast", "pcx": "pcx", "pbm": "pbm", "pgm": "pgm", "ppm": "ppm", "pam": "pam",
}

// decoder decodes what is not JPEG. Every picture gets a codec of its own: FFmpeg's
// decoders carry things from one picture to the next (the TIFF decoder a palette),
// and a row must not depend on what came before it.
type decoder struct {
	ff     *C.media_ff
	packet *astiav.Packet
	frame  *astiav.Frame
}

func (d *decoder) close() {
	if d.ff != nil {
		d.packet.Free()
		d.frame.Free()
		C.media_ff_free(d.ff)
	}
	*d = decoder{}
}

func (d *decoder) start() error {
	if d.ff != nil {
		return nil
	}
	ff, packet, frame := C.media_ff_new(), astiav.AllocPacket(), astiav.AllocFrame()
	if ff == nil || packet == nil || frame == nil {
		return &LimitError{cause: CauseNoMemory}
	}
	d.ff, d.packet, d.frame = ff, packet, frame
	return nil
}

// source is a file as FFmpeg is to see it, and what its pixels are then.
type source struct {
	data        []byte
	layout      C.media_layout
	orientation C.int32_t // 0: not known
}

// prepared looks at what FFmpeg's decoders are known to show wrongly without a word.
func prepared(format string, data []byte, maxPixels uint64) (source, error) {
	switch format {
	case "tiff":
		return readTIFF(data, maxPixels)
	case "pgm", "ppm", "pam":
		return readNetpbm(format, data)
	case "exr":
		return source{data: data}, checkEXR(data)
	case "gif":
		return alone(data), nil
	case "bmp":
		return source{data: plainBMP(data)}, nil
	case "sgi":
		return source{data: plainSGI(data)}, nil
	}
	return source{data: data}, nil
}

// plainBMP is a copy of the file where FFmpeg does not take its head, though others do: with a size that is smaller than where the pixels begin,
// and in the second version, which is the first and masks behind it.
func plainBMP(data []byte) []byte {
	le := binary.LittleEndian
	noSize, second := le.Uint32(data[2:]) <= le.Uint32(data[10:]), le.Uint32(data[14:]) == 52
	if !noSize && !second {
		return data
	}
	data = bytes.Clone(data)
	if noSize {
		le.PutUint32(data[2:], uint32(len(data)))
	}
	if second {
		le.PutUint32(data[14:], 40)
	}
	return data
}

// plainSGI is a copy of the file where FFmpeg does not take its dimension, which is 1 where a picture of greys is one line.
func plainSGI(data []byte) []byte {
	const dimension, line, picture = 4, 1, 2
	if len(data) < 6 || binary.BigEndian.Uint16(data[dimension:]) != line {
		return data
	}
	data = bytes.Clone(data)
	binary.BigEndian.PutUint16(data[dimension:], picture)
	return data
}

// alone has a GIF's first picture put on its canvas here.
func alone(data []byte) source {
	data, canvas := gifAlone(data)
	s := source{data: data}
	if canvas == nil {
		return s
	}
	s.layout.width, s.layout.height = C.int32_t(canvas.width), C.int32_t(canvas.height)
	s.layout.x, s.layout.y = C.int32_t(canvas.x), C.int32_t(canvas.y)
	for i, v := range canvas.rest {
		s.layout.rest[i] = C.uint8_t(v)
	}
	return s
}

// openCodec opens the decoder of that name with its configuration record, if it has one.
func openCodec(format, name string, config []byte) (*astiav.CodecContext, error) {
	codec := astiav.FindDecoderByName(name)
	if codec == nil {
		return nil, &UnsupportedError{Format: format, Detail: "this FFmpeg has no decoder for it"}
	}
	cc := astiav.AllocCodecContext(codec)
	if cc == nil {
		return nil, &LimitError{Format: format, cause: CauseNoMemory}
	}
	C.media_ff_prepare(pointerOf(cc))
	if len(config) > 0 {
		if err := cc.SetExtraData(config); err != nil {
			cc.Free()
			return nil, &LimitError{Format: format, cause: CauseNoMemory}
		}
	}
	if err := cc.Open(codec, nil); err != nil {
		cc.Free()
		return nil, &UnsupportedError{Format: format, Detail: fmt.Sprintf("opening FFmpeg's decoder: %v", err)}
	}
	return cc, nil
}

// pointerOf reads the C pointer that is the only or first field of go-astiav's
// types; TestPinnedAstiavKeepsItsPointersFirst guards the pin.
func pointerOf[T astiav.CodecContext | astiav.Packet | astiav.Frame](v *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(v))
}

func (d *decoder) decode(w *Worker, data []byte, format string, op *Op) (C.media_picture, error) {
	var picture C.media_picture
	if err := av.Load(); err != nil {
		return picture, &UnsupportedError{Format: format, Detail: "FFmpeg " + err.Error()}
	}
	if err := d.start(); err != nil {
		return picture, err
	}
	if format == "avif" || format == "heif" {
		return d.decodeStill(w, data, format, op)
	}
	source, err := prepared(format, data, uint64(op.c.max_pixels))
	if err != nil {
		return picture, err
	}
	cc, err := openCodec(format, codecs[format], nil)
	if err != nil {
		return picture, err
	}
	defer cc.Free()
	status := C.media_ff_decode(d.ff, w.c, pointerOf(cc), pointerOf(d.packet), pointerOf(d.frame),
		(*C.uint8_t)(unsafe.Pointer(&source.data[0])), C.size_t(len(source.data)), &op.c, &source.layout, &picture)
	if status == C.MEDIA_OK {
		picture.orientation = source.orientation
		return picture, nil
	}
	detail := C.GoString(C.media_ff_detail(d.ff))
	return picture, statusError(int(status), format, int(picture.width), int(picture.height), detail, op)
}

func ffmpegVersion() string {
	if err := av.Load(); err != nil {
		return err.Error()
	}
	return C.GoString(C.av_version_info())
}
