package engine

import (
	"github.com/spdl/spdl/core/batch"
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

// The fields of a sound.
const (
	soundValues = iota
	soundLength
)

func newSounds(a *spec.Audio) (modality, error) {
	op, err := audio.Compile(audioConfig(a))
	if err != nil {
		return nil, err
	}
	return &sounds{op, []field{
		soundValues: {name: "audio", dtype: op.DType(), shape: op.Shape(), cut: cutOf(a.Shape), along: op.TimeAxis()},
		soundLength: {name: "length", dtype: tensor.I64, long: true},
	}}, nil
}

func (m *sounds) fields() []field { return m.row }

func (m *sounds) open() (decoder, error) {
	w, err := m.op.NewWorker()
	if err != nil {
		return nil, err
	}
	return &soundDecoder{w}, nil
}

type soundDecoder struct{ *audio.Worker }

func (d *soundDecoder) decode(row [][]byte, data []byte, draw media.Draw) error {
	info, err := d.Decode(audio.Row{Data: row[soundValues]}, audio.Source{Bytes: data}, audio.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[soundLength])[0] = int64(info.Samples)
	return err
}

// audioConfig says the audio section in core/media/audio's words.
func audioConfig(a *spec.Audio) audio.Config {
	c := audio.Config{
		Rate: a.Rate, Channels: a.Channels, Select: a.Select, Length: a.Length, DType: a.DType, MaxFrames: a.MaxFrames, Budget: a.Timeout,
		Window:    audio.Window{Start: a.Window.Start.Seconds(), Duration: a.Window.Duration.Seconds()},
		Resample:  audio.Resample{Width: a.Resample.Width, Rolloff: a.Resample.Rolloff},
		Normalize: audio.Normalize{Level: a.Normalize.Level},
	}
	c.Crop = map[string]audio.Crop{spec.Start: audio.CropStart, spec.Center: audio.CropCentre, spec.Random: audio.CropRandom}[a.Crop]
	switch a.Resample.Method {
	case spec.SincKaiser:
		c.Resample.Method, c.Resample.Beta = audio.SincKaiser, a.Resample.Beta
	case spec.SWResample:
		c.Resample = audio.Resample{Method: audio.SWResample}
	}
	c.Normalize.To = map[string]audio.Loudness{spec.Peak: audio.ToPeak, spec.Loudness: audio.ToIntegrated}[a.Normalize.To]
	if a.Layout == spec.NLC {
		c.Layout = audio.TimeFirst
	}
	if a.Features != nil {
		c.Features = featuresOf(a.Features)
	}
	if r := a.Raw; r != nil {
		c.Raw = &audio.Raw{Encoding: encodings[r.Encoding], Rate: r.Rate, Channels: r.Channels}
	}
	return c
}

var encodings = map[string]audio.Encoding{"u8": audio.U8, "s16": audio.S16, "s24": audio.S24, "s32": audio.S32, "f32": audio.F32, "f64": audio.F64}

func featuresOf(f *spec.Features) *audio.Features {
	c := &audio.Features{
		FFT: f.FFT, Win: f.Win, Hop: f.Hop, Magnitude: f.Power == 1, Inside: !f.Centered, Unit: f.Normalized,
		Mels: f.Mels, Low: f.Low, High: f.High, SlaneyNorm: f.Norm == spec.Slaney, TopDB: f.TopDB, Coefficients: f.Count,
	}
	c.Kind = map[string]audio.Kind{spec.Mel: audio.Mel, spec.MFCC: audio.MFCC}[f.Kind]
	c.Log = map[string]audio.Log{spec.Decibel: audio.Decibel, spec.NaturalLog: audio.NaturalLog}[f.Log]
	if f.Scale == spec.Slaney {
		c.Scale = audio.Slaney
	}
	return c
}
