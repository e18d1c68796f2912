package engine

import (
	"errors"
	"slices"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// sounds are waveforms, or features of them, and how long they are.
type sounds struct {
	op    *audio.Op
	row   []field
	clips int // that a row has
}

// The fields of a sound, in the order of spec.Medium.Tensors.
const (
	soundValues = iota
	soundLength
)

func newSounds(m *spec.Medium, clips int) (modality, error) {
	described, err := load.AudioConfig(m.Audio, m.Path())
	if err != nil {
		return nil, err
	}
	op, err := audio.Compile(described)
	var config *audio.ConfigError
	if errors.As(err, &config) {
		return nil, &spec.Error{Path: m.Path() + "." + config.Key, Text: config.Text}
	}
	if err != nil {
		return nil, err
	}
	names := m.Tensors()
	row := []field{
		soundValues: {name: names[soundValues], dtype: op.DType(), shape: op.Shape(), cut: cutOf(m.Audio.Shape), along: op.TimeAxis()},
		soundLength: {name: names[soundLength], dtype: tensor.I64, long: true},
	}
	if clips > 1 { // all of one room, each with a length of its own
		each := tensor.Shape{int64(clips)}
		row[soundValues].shape, row[soundLength].shape, row[soundLength].long = append(slices.Clone(each), op.Shape()...), each, false
	}
	return &sounds{op, row, clips}, nil
}

func (m *sounds) fields() []field { return m.row }

func (m *sounds) open() (decoder, error) {
	w, err := m.op.NewWorker()
	if err != nil {
		return nil, err
	}
	return &soundDecoder{Worker: w, clips: m.clips}, nil
}

type soundDecoder struct {
	*audio.Worker
	clips int
	file  av.File // of the sample in hand
}

func (d *soundDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	src := audio.Source{Bytes: in.bytes, File: in.lies(&d.file), Select: in.channel}
	if in.windowed {
		src.Window = audio.Window{Start: in.start, Duration: in.lasts}
	}
	lengths, size := batch.Int64s(row[soundLength]), len(row[soundValues])/d.clips
	for k := range d.clips {
		if in.heard != nil {
			src.Shown = &in.heard[k]
		}
		info, err := d.Decode(audio.Row{Data: row[soundValues][k*size : (k+1)*size]}, src, audio.Draw{Seed: draw.Seed ^ uint64(k)*clipDraws, Epoch: draw.Epoch, Index: draw.Index})
		lengths[k] = int64(info.Samples)
		if err != nil {
			return err
		}
	}
	return nil
}

// clipDraws is what the seeds of a row's clips lie apart: what is drawn for one says nothing of the next.
const clipDraws = 0x9e3779b97f4a7c15
