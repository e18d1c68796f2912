package audio

/*
#cgo LDFLAGS: -ldl -lpthread
#include "soxr.h"
*/
import "C"

import "math"

// checkSoxr says what is missing of libsoxr.
func checkSoxr() error {
	if why := C.audio_soxr_load(); why != nil {
		return wrong("resample.method", "got soxr_hq, which libsoxr does, and that is not here: %s; install it (Debian's package libsoxr0), or take sinc_interp_hann", C.GoString(why))
	}
	return nil
}

// soxrFrames is how many frames n become: librosa's count, ceil(n * ratio) of a ratio that is a float of 64 bits, which may be one more than what the
// rates alone say.
func soxrFrames(n int64, from, to int) int64 {
	return int64(math.Ceil(float64(n) * (float64(to) / float64(from))))
}

// soxr resamples the whole window and keeps the crop of it.
func (w *Worker) soxr(j *job, from planes, channels int, to planes) error {
	all := to
	if j.first > 0 {
		all = w.spectra.planes(channels, j.first+j.n)
	}
	if why := C.audio_soxr_resample(floats(from.data), C.size_t(from.stride), C.int64_t(from.n), C.int(j.from), floats(all.data), C.size_t(all.stride),
		C.int64_t(all.n), C.int(j.rate), C.int(channels)); why != nil {
		return w.bad(j, CauseUnsupported, "resampling %d to %d Hz: soxr: %s", j.from, j.rate, C.GoString(why))
	}
	for c := range channels {
		if j.first > 0 {
			copy(to.channel(c), all.channel(c)[j.first:])
		}
	}
	return nil
}
