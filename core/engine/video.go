package engine

import (
	"fmt"
	"os"

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

func newVideos(s *spec.Spec) (modality, error) {
	v := s.Video
	config := load.VideoConfig(v)
	if config.IndexCache = s.Cache.VideoIndexDir; config.IndexCache != "" {
		if err := os.MkdirAll(config.IndexCache, 0o700); err != nil {
			return nil, fmt.Errorf("engine: cache.video_index_dir: %w", err)
		}
	}
	op, err := video.Compile(config)
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

// note is what is to be known of the machine.
func (m *videos) note() string { return m.op.Note() }

// counters say how the ring's videos were decoded, where the description lets that vary; nil where it does not.
func (m *videos) counters() *video.Counters {
	if c := m.op.Counters(); c != (video.Counters{}) {
		return &c
	}
	return nil
}

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
