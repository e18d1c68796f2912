package media

/*
#include <stdio.h>
#include <jpeglib.h>
#include <libdeflate.h>
#include <webp/decode.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

#ifdef LIBJPEG_TURBO_VERSION
static const char *jpeg_library(void) { return "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION); }
#else
static const char *jpeg_library(void) { return "libjpeg " TEXT(JPEG_LIB_VERSION); }
#endif

static const char *deflate_library(void) { return "libdeflate " LIBDEFLATE_VERSION_STRING; }
*/
import "C"

import "fmt"

// Build is what this package was built with and runs on, for people.
type Build struct {
	JPEG    string `json:"jpeg"` // the libraries that this was compiled against
	Deflate string `json:"deflate"`
	WebP    string `json:"webp"`
	FFmpeg  string `json:"ffmpeg"` // the version that is loaded; "" without FFmpeg
	ISA     string `json:"isa"`    // the instruction set that workers use on this machine
}

// Versions reads the build.
func Versions() (Build, error) {
	w, err := NewWorker(nil)
	if err != nil {
		return Build{}, err
	}
	defer w.Close()
	webp := int(C.WebPGetDecoderVersion())
	return Build{
		JPEG: C.GoString(C.jpeg_library()), Deflate: C.GoString(C.deflate_library()),
		WebP:   fmt.Sprintf("libwebp %d.%d.%d", webp>>16, webp>>8&255, webp&255),
		FFmpeg: ffmpegVersion(), ISA: w.ISA(),
	}, nil
}
