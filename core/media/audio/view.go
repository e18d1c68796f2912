package audio

import (
	"bytes"
	"fmt"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// ViewWAV is the samples of a WAV file in memory as they lie there: an array [frames, channels] of u8, i16, i32, f32 or
// f64 over a part of b, valid as long as b is, and the rate. Nothing is copied or scaled, and Data may be unaligned.
// 24-bit samples, mu-law and A-law have no such type: CauseUnsupported.
func ViewWAV(b []byte, window Window) (a array.Array, rate int, err error) {
	if len(b) == 0 {
		return a, 0, &Error{cause: CauseEmpty}
	}
	if err := window.check(); err != nil {
		return a, 0, viewError(CauseOutside, "%v", err)
	}
	pcm, err := ParseWAV(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return a, 0, err
	}
	dtype, ok := map[Encoding]tensor.DType{U8: tensor.U8, S16: tensor.I16, S32: tensor.I32, F32: tensor.F32, F64: tensor.F64}[pcm.Encoding]
	if !ok {
		return a, 0, viewError(CauseUnsupported, "%v has no element type; decode it into floats instead", pcm.Encoding)
	}
	begin, end := window.frames(pcm.Rate)
	if begin >= pcm.Frames {
		return a, 0, viewError(CauseOutside, "it begins at frame %d of %d", begin, pcm.Frames)
	}
	if end < 0 || end > pcm.Frames {
		end = pcm.Frames
	}
	from, to := pcm.Offset+begin*int64(pcm.FrameBytes()), pcm.Offset+end*int64(pcm.FrameBytes())
	return array.Array{DType: dtype, Shape: tensor.Shape{end - begin, int64(pcm.Channels)}, Data: b[from:to:to]}, pcm.Rate, nil
}

func viewError(cause, format string, args ...any) error {
	return &Error{Format: "wav", cause: cause, Detail: fmt.Sprintf(format, args...)}
}
