package engine

import (
	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// videos are chosen frames, how many they are, and when each is on show.
type videos struct {
	op  *video.Op
	row []field
}

// The fields of a video.
const (
	videoFrames = iota
	videoLength
	videoTimes
	videoDurations
)

func newVideos(v *spec.Video) (modality, error) {
	op, err := video.Compile(load.VideoConfig(v))
	if err != nil {
		return nil, err
	}
	how, room := cutOf(v.Shape), tensor.Shape{int64(op.Frames())}
	return &videos{op, []field{
		videoFrames:    {name: "video", dtype: op.DType(), shape: op.Shape(), cut: how, along: op.TimeAxis()},
		videoLength:    {name: "frames", dtype: tensor.I64, long: true},
		videoTimes:     {name: "pts", dtype: tensor.F64, shape: room, cut: how},
		videoDurations: {name: "duration", dtype: tensor.F64, shape: room, cut: how},
	}}, nil
}

func (m *videos) fields() []field { return m.row }

func (m *videos) open() (decoder, error) {
	w, err := m.op.NewWorker()
	if err != nil {
		return nil, err
	}
	return &videoDecoder{w}, nil
}

type videoDecoder struct{ *video.Worker }

func (d *videoDecoder) decode(row [][]byte, data []byte, draw media.Draw) error {
	to := video.Row{Data: row[videoFrames], PTS: batch.Float64s(row[videoTimes]), Duration: batch.Float64s(row[videoDurations])}
	info, err := d.Decode(to, video.Source{Bytes: data}, video.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[videoLength])[0] = int64(info.Frames)
	return err
}
