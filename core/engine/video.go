package engine

import (
	"cmp"
	"fmt"
	"math"
	"os"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// videos are chosen frames, how many they are, and when each is on show.
type videos struct {
	op    *video.Op
	row   []field
	clips int // of which a row is made
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
	config.FileIndexCache = cmp.Or(indexDir, source.VideoIndexDir())
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
	return &videos{clips: m.Video.Select.ClipsOfRow(), op: op, row: []field{
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
	return &videoDecoder{Worker: w, clips: m.clips}, nil
}

type videoDecoder struct {
	*video.Worker
	clips  int
	window [2]float64   // of the sample in hand
	file   av.File      // likewise
	shown  [][2]float64 // when the frames of each of its clips are on show
}

func (d *videoDecoder) decode(row [][]byte, in input, draw media.Draw) error {
	src := video.Source{Bytes: in.bytes, File: in.lies(&d.file), Times: in.times, Indices: in.indices}
	if in.windowed {
		d.window = [2]float64{in.start, math.Inf(1)}
		if in.lasts > 0 {
			d.window[1] = in.start + in.lasts
		}
		src.Window = &d.window
	}
	to := video.Row{Data: row[videoFrames], PTS: batch.Float64s(row[videoTimes]), Duration: batch.Float64s(row[videoDurations])}
	info, err := d.Decode(to, src, video.Draw{Seed: draw.Seed, Epoch: draw.Epoch, Index: draw.Index})
	batch.Int64s(row[videoLength])[0] = int64(info.Frames)
	if err == nil {
		d.shown = d.AppendShown(d.shown[:0], d.clips)
	}
	return err
}
