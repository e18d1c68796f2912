//go:build !noffmpeg

package av

/*
#include <stdlib.h>
#include <libavcodec/version.h>
#include <libavfilter/avfilter.h>
#include <libavutil/hwcontext.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include "filter.h"
#include "filternames.h"
*/
import "C"

import "unsafe"

// About is what the FFmpeg in use is and has.
func About() (*Facts, error) {
	if err := LoadFilters(); err != nil {
		return nil, NewError("FFmpeg", StatusUnsupported, err.Error())
	}
	f := &Facts{Versions: map[string][3]int{}, LogLevel: int(C.media_av_log_level()), Filters: []string{}, Devices: []string{}}
	for name, version := range map[string]C.uint{
		"libavcodec": C.avcodec_version(), "libavformat": C.avformat_version(), "libavutil": C.avutil_version(), "libavfilter": C.avfilter_version(),
		"libswscale": C.swscale_version(), "libswresample": C.swresample_version(),
	} {
		f.Versions[name] = [3]int{int(version >> 16), int(version >> 8 & 255), int(version & 255)}
	}
	var at unsafe.Pointer
	for filter := C.av_filter_iterate(&at); filter != nil; filter = C.av_filter_iterate(&at) {
		var detail [200]C.char
		if C.media_av_filter_names(filter.name, 0, &detail[0], C.size_t(len(detail))) == C.MEDIA_AV_OK {
			f.Filters = append(f.Filters, C.GoString(filter.name))
		}
	}
	kind := C.av_hwdevice_iterate_types(C.AV_HWDEVICE_TYPE_NONE)
	for ; kind != C.AV_HWDEVICE_TYPE_NONE; kind = C.av_hwdevice_iterate_types(kind) {
		f.Devices = append(f.Devices, C.GoString(C.av_hwdevice_get_type_name(kind)))
	}
	return f, nil
}

// SetLogLevel lets FFmpeg's messages up to a level go to stderr, too. It holds for the process.
func SetLogLevel(level int) { C.media_av_set_log_level(C.int(max(min(level, 1<<16), -1<<16))) }
