package load

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// stored are the types of a WAV's samples as they are; of 24 bits there is none.
var stored = map[audio.Encoding]tensor.DType{
	audio.U8: tensor.U8, audio.S16: tensor.I16, audio.S32: tensor.I32, audio.F32: tensor.F32, audio.F64: tensor.F64,
}

// wav is the samples of a WAV as they are stored, [frames, channels], between two times.
func (l *loading) wav(start, duration string) (*Media, error) {
	var window [2]time.Duration
	for i, text := range []string{start, duration} {
		d, err := time.ParseDuration(text)
		if text != "" && (err != nil || d < 0) {
			return nil, &spec.Error{File: "sample", Path: "wav.window", Text: fmt.Sprintf("got %q, want a time such as 1.5s, from 0", text)}
		}
		window[i] = d
	}
	data, err := l.bytes()
	if err != nil {
		return nil, err
	}
	pcm, err := audio.ParseWAV(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	dtype, ok := stored[pcm.Encoding]
	if !ok {
		return nil, fmt.Errorf("wav: samples of %v have no type of their own; read them as f32, with audio", pcm.Encoding)
	}
	at := func(t time.Duration) int64 { return min(int64(math.Round(t.Seconds()*float64(pcm.Rate))), pcm.Frames) }
	first, end := at(window[0]), pcm.Frames
	if duration != "" {
		end = at(window[0] + window[1])
	}
	switch begin := int64(math.Round(window[0].Seconds() * float64(pcm.Rate))); {
	case begin >= pcm.Frames:
		return nil, fmt.Errorf("wav: the window begins after the end: it begins at frame %d of %d", begin, pcm.Frames)
	case end == first && duration != "":
		return nil, fmt.Errorf("wav: the window of %v seconds holds no samples at %d Hz", window[1].Seconds(), pcm.Rate)
	}
	size := int64(pcm.FrameBytes())
	part := data[pcm.Offset+first*size : pcm.Offset+end*size]
	t := Tensor{"samples", dtype, tensor.Shape{end - first, int64(pcm.Channels)}, part}
	if l.source.Bytes == nil || !within(part, l.source.Bytes, dtype.Bytes()) {
		if t, err = l.tensor(t.Name, t.DType, t.Shape); err != nil {
			return nil, err
		}
		copy(t.Data, part)
	}
	header, err := audio.ReadWAVHeader(bytes.NewReader(data), int64(len(data)))
	return &Media{[]Tensor{t}, header}, err
}

// wavHeader is what a WAV says of itself. Of a file no more than that is read.
func (l *loading) wavHeader() (*Media, error) {
	src, err := l.source.fetched()
	if err != nil {
		return nil, err
	}
	var r io.ReaderAt = bytes.NewReader(src.Bytes)
	size := int64(len(src.Bytes))
	if src.Bytes == nil && src.Path != "" {
		f, n, err := av.Open(src.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r, size = f, n
	}
	header, err := audio.ReadWAVHeader(r, size)
	return &Media{Info: header}, err
}
