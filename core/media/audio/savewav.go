package audio

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/spdl/spdl/core/media/whole"
)

// SaveWAV writes wave to path as a WAV file; it appears there whole or not at all. What is there and no regular file (a FIFO, a device)
// is written as it is.
func SaveWAV(path string, wave Wave, e Encoding) error {
	file, err := whole.Create(path)
	if err != nil {
		return fmt.Errorf("audio: save: %w", err)
	}
	if err = WriteWAV(file, wave, e); err == nil {
		err = file.Finish()
	} else {
		file.Abandon()
	}
	if err != nil {
		return fmt.Errorf("audio: save %q: %w", path, err)
	}
	return nil
}

// WriteWAV writes wave, planes [C][Frames] of it, as a WAV file, or as RF64 where the samples need 4 GiB or more. Integers
// are the floats times 2^7, 2^15, 2^23 or 2^31, rounded to the nearest, halves to the even one, and cut to their range: what was
// decoded from an encoding is written in it bit for bit, but for s32, of which floats hold 24 bits. NaN, infinities and what is
// beyond 1024 are refused where integers are written, with a *ValueError; f32 and f64 have every float as it is.
func WriteWAV(w io.Writer, wave Wave, e Encoding) error {
	if e > F64 {
		return fmt.Errorf("audio: wav: no encoding %v, want u8, s16, s24, s32, f32 or f64", e)
	}
	if wave.Channels < 1 || wave.Channels > MaxChannels || wave.Rate < 1 || wave.Rate > MaxRate {
		return fmt.Errorf("audio: wav: %d channels at %d Hz, want 1 to %d at 1 to %d Hz", wave.Channels, wave.Rate, MaxChannels, MaxRate)
	}
	if wave.Frames < 0 || len(wave.Data) != wave.Channels*wave.Frames {
		return fmt.Errorf("audio: wav: %d samples, want %d channels of %d", len(wave.Data), wave.Channels, wave.Frames)
	}
	if e < F32 {
		if i := unstorable(wave.Data); i >= 0 {
			return &ValueError{Sample: i % wave.Frames, Channel: i / wave.Frames, Value: wave.Data[i]}
		}
	}
	b := wavHeader(wave, e)
	for i := range wave.Frames {
		for c := range wave.Channels {
			b = e.put(b, wave.Data[c*wave.Frames+i])
		}
		if len(b) >= 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if dataBytes(wave, e)&1 != 0 {
		b = append(b, 0) // chunks are even
	}
	_, err := w.Write(b)
	return err
}

// maxSample is the largest sample that integers are made of, as in core/media/mux.
const maxSample = 1024

// ValueError says which sample cannot be written as an integer.
type ValueError struct {
	Sample, Channel int
	Value           float32
}

func (e *ValueError) Error() string {
	if x := math.Abs(float64(e.Value)); x > maxSample && !math.IsInf(x, 0) {
		return fmt.Sprintf("audio: wav: sample %d of channel %d is %g, want -1 to 1, and no more than %d; integers of 16 bits are to be divided by 32768",
			e.Sample, e.Channel, e.Value, maxSample)
	}
	return fmt.Sprintf("audio: wav: sample %d of channel %d is %g, want a number from -1 to 1; f32 and f64 take it", e.Sample, e.Channel, e.Value)
}

// unstorable is the first sample of which no integer is made; -1: there is none. Without its sign a float grows as its bits do, with
// infinity and what is no number above all others.
func unstorable(samples []float32) int {
	limit := math.Float32bits(maxSample)
	for i, v := range samples {
		if math.Float32bits(v)&math.MaxInt32 > limit {
			return i
		}
	}
	return -1
}

func dataBytes(wave Wave, e Encoding) int64 {
	return int64(wave.Frames) * int64(wave.Channels) * int64(e.Bytes())
}

// wavHeader is all up to the samples. Floats have the fact chunk that all but PCM must have.
func wavHeader(wave Wave, e Encoding) []byte {
	le := binary.LittleEndian
	data, block := dataBytes(wave, e), wave.Channels*e.Bytes()
	tag := uint16(tagPCM)
	body := []byte{}
	if e == F32 || e == F64 {
		tag = tagFloat
	}
	format := le.AppendUint16(nil, tag)
	format = le.AppendUint16(format, uint16(wave.Channels))
	format = le.AppendUint32(format, uint32(wave.Rate))
	format = le.AppendUint32(format, uint32(wave.Rate*block))
	format = le.AppendUint16(format, uint16(block))
	format = le.AppendUint16(format, uint16(8*e.Bytes()))
	if tag == tagFloat {
		format = le.AppendUint16(format, 0) // no extension
	}
	body = chunk(body, "fmt ", format)
	if tag == tagFloat {
		body = chunk(body, "fact", le.AppendUint32(nil, uint32(min(int64(wave.Frames), math.MaxUint32))))
	}
	const ds64Bytes = 8 + 28
	riff := 4 + int64(len(body)) + 8 + data + data&1
	id, riffSize, dataSize := "RIFF", uint32(riff), uint32(data)
	if riff > math.MaxUint32-1 {
		ds64 := le.AppendUint64(nil, uint64(riff+ds64Bytes))
		ds64 = le.AppendUint64(ds64, uint64(data))
		ds64 = le.AppendUint64(ds64, uint64(wave.Frames))
		ds64 = le.AppendUint32(ds64, 0) // no table
		body = append(chunk(nil, "ds64", ds64), body...)
		id, riffSize, dataSize = "RF64", math.MaxUint32, math.MaxUint32
	}
	head := append(le.AppendUint32([]byte(id), riffSize), "WAVE"...)
	head = append(head, body...)
	return le.AppendUint32(append(head, "data"...), dataSize)
}

func chunk(to []byte, id string, body []byte) []byte {
	to = binary.LittleEndian.AppendUint32(append(to, id...), uint32(len(body)))
	return append(to, body...)
}

// put appends one sample.
func (e Encoding) put(to []byte, v float32) []byte {
	le := binary.LittleEndian
	switch e {
	case U8:
		return append(to, byte(integer(v, 8)+128))
	case S16:
		return le.AppendUint16(to, uint16(integer(v, 16)))
	case S24:
		n := integer(v, 24)
		return append(to, byte(n), byte(n>>8), byte(n>>16))
	case S32:
		return le.AppendUint32(to, uint32(integer(v, 32)))
	case F32:
		return le.AppendUint32(to, math.Float32bits(v))
	}
	return le.AppendUint64(to, math.Float64bits(float64(v)))
}

// integer is v in a range of so many bits.
func integer(v float32, bits int) int64 {
	one := float64(int64(1) << (bits - 1))
	return int64(max(-one, min(one-1, math.RoundToEven(float64(v)*one))))
}
