package engine

import (
	"fmt"
	"math"
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

// The fields of a video, in the order of spec.Medium.Tensors.
const (
	videoFrames = iota
	videoLength
	videoTimes
	videoDurations
)

func newVideos(m *spec.Medium, indexDir string) (modality, error) {
	config := load.VideoConfig(m.Video)
	if config.IndexCache = indexDir; indexDir != "" {
		if err := os.MkdirAll(indexDir, 0o700); err != nil {
			return nil, fmt.Errorf("engine: cache.video_index_dir: %w", err)
		}
	}
	op, err := video.Compile(config)
	if err != nil {
		return nil, err
	}
	how, room, names := cutOf(m.Video.Shape), tensor.Shape{int64(op.Frames())}, m.Tensors()
	return &videos{op, []field{
		videoFrames:    {name: names[videoFrames], dtype: op.DType(), shape: op.Shape(), cut: how, along: op.TimeAxis()},
		videoLength:    {name: names[videoLength], dtype: tensor.I64, long: true},
		videoTimes:     {name: names[videoTimes], dtype: tensor.F64, shape: room, cut: how},
		videoDurations: {name: names[videoDurations], dtype: tensor.F64, shape: room, cut: how},
	}}, nil
}

func (m *videos) fields() []field { return m.row }

// note is what is to be known of the machine.
func (m *videos) note() string { return m.op.Note() }

func (m *videos) open() (decoder, error) {
	w, err := m.op.NewWorker()
	if err != nil {
		return nil, err
	}
	return &videoDecoder{Worker: w}, nil
}

type videoDecoder struct {
	*video.Worker
	window [2]float64 // of the sample in hand
	shown  [2]float64 // when its frames are on show

	times   []float64 // that it names, and indices; kept for the next
	indices []int
}

func (d *videoDecoder) decode(row [][]byte, data []byte, draw media.Draw) error {
	return d.decodeFrom(row, video.Source{Bytes: data}, draw)
}

func (d *videoDecoder) decodeWithin(row [][]byte, data []byte, of within, draw media.Draw) error {
	return d.decodeFrom(row, video.Source{Bytes: data, Window: d.windowOf(of)}, draw)
}

// windowOf is a part of a file in core/media/video's words, until the next sample.
func (d *videoDecoder) windowOf(of within) *[2]float64 {
	d.window = [2]float64{of.start, math.Inf(1)}
	if of.lasts > 0 {
		d.window[1] = of.start + of.lasts
	}
	return &d.window
}

func (d *videoDecoder) decodeFrom(row [][]byte, src video.Source, draw media.Draw) error {
	to := video.Row{Data: row[videoFrames], PTS: batch.Float64s(row[videoTimes]), Duration: batch.Float64s(row[videoDurations])}
	info, err := d.Decode(to, src, video.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[videoLength])[0] = int64(info.Frames)
	d.shown = info.Shown
	return err
}
