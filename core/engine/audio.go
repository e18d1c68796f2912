package engine

import (
	"errors"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/audio"
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
	shown [2]float64 // what is wanted of the sample in hand, where a clip says it
}

func (d *soundDecoder) decode(row [][]byte, data []byte, draw media.Draw) error {
	return d.decodeWithin(row, data, within{}, draw)
}

func (d *soundDecoder) decodeWithin(row [][]byte, data []byte, of within, draw media.Draw) error {
	return d.decodeFrom(row, audio.Source{Bytes: data, Window: audio.Window{Start: of.start, Duration: of.lasts}}, draw)
}

// decodeHeard is decode of what is heard from one second of the file's clock up to another.
func (d *soundDecoder) decodeHeard(row [][]byte, data []byte, shown [2]float64, draw media.Draw) error {
	d.shown = shown
	return d.decodeFrom(row, audio.Source{Bytes: data, Shown: &d.shown}, draw)
}

func (d *soundDecoder) decodeFrom(row [][]byte, src audio.Source, draw media.Draw) error {
	info, err := d.Decode(audio.Row{Data: row[soundValues]}, src, audio.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[soundLength])[0] = int64(info.Samples)
	return err
}
