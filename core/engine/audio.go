package engine

import (
	"errors"

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
	op  *audio.Op
	row []field
}

// The fields of a sound, in the order of spec.Medium.Tensors.
const (
	soundValues = iota
	soundLength
)

func newSounds(m *spec.Medium) (modality, error) {
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
	return &sounds{op, []field{
		soundValues: {name: names[soundValues], dtype: op.DType(), shape: op.Shape(), cut: cutOf(m.Audio.Shape), along: op.TimeAxis()},
		soundLength: {name: names[soundLength], dtype: tensor.I64, long: true},
	}}, nil
}

func (m *sounds) fields() []field { return m.row }

func (m *sounds) open() (decoder, error) {
	w, err := m.op.NewWorker()
	if err != nil {
		return nil, err
	}
	return &soundDecoder{Worker: w}, nil
}

type soundDecoder struct {
	*audio.Worker
	file  av.File    // of the sample in hand
	shown [2]float64 // likewise: what is wanted of it, where a clip says that
}

func (d *soundDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	src := audio.Source{Bytes: in.bytes, File: in.lies(&d.file), Select: in.channel}
	switch {
	case in.clipped:
		d.shown = in.heard
		src.Shown = &d.shown
	case in.windowed:
		src.Window = audio.Window{Start: in.start, Duration: in.lasts}
	}
	info, err := d.Decode(audio.Row{Data: row[soundValues]}, src, audio.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[soundLength])[0] = int64(info.Samples)
	return err
}
