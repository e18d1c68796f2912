package engine

import (
	"github.com/spdl/spdl/core/batch"
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
	op, err := video.Compile(videoConfig(v))
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

// videoConfig says the video section in core/media/video's words.
func videoConfig(v *spec.Video) video.Config {
	c := video.Config{
		Image: pictureOf(&v.Frame), Frames: v.Frames, Select: selectionOf(v), AsSent: !v.Frame.Orient, Stream: v.Stream, Threads: v.Threads,
		Approximate: v.Approximate, Budget: v.Timeout,
	}
	c.Axes = map[string]video.Axes{spec.NTCHW: video.TCHW, spec.NCTHW: video.CTHW}[v.Layout]
	c.Scaler = map[string]video.Scaler{string(spec.Bilinear): video.SWBilinear, string(spec.Bicubic): video.SWBicubic, spec.Area: video.SWArea}[v.Scaler]
	if v.Over == spec.CutOff {
		c.Over = video.Cut
	}
	if v.Colour == spec.Torchcodec {
		c.Colour = video.Torchcodec
	}
	return c
}

var videoKinds = map[string]video.Kind{
	spec.SelectAll: video.All, spec.SelectUniform: video.Uniform, spec.SelectSegments: video.Segments, spec.SelectEvery: video.Every,
	spec.SelectIndices: video.AtIndices, spec.SelectTimes: video.AtTimes, spec.SelectFPS: video.FPS, spec.SelectKeyFrames: video.KeyFrames,
	spec.ClipsAtRandomIndices: video.ClipsRandomIndices, spec.ClipsAtRegularIndices: video.ClipsRegularIndices,
	spec.ClipsAtRandomTimes: video.ClipsRandomTimes, spec.ClipsAtRegularTimes: video.ClipsRegularTimes,
}

func selectionOf(v *spec.Video) video.Selection {
	s := &v.Select
	c := video.Selection{
		Kind: videoKinds[s.Kind], Count: v.Frames, Step: s.Step, Rate: s.Rate, Indices: s.Indices, Times: s.Times, Nearest: s.Nearest, Random: s.Random,
		Clips: s.Clips, ClipFrames: s.ClipFrames, Between: s.Between, BetweenSecs: s.BetweenSecs, BetweenClips: s.BetweenClips,
		RangeStart: s.From, RangeEnd: s.To,
	}
	c.Policy = map[string]video.Policy{spec.WrapClip: video.Wrap, spec.ClipError: video.Refuse}[s.Policy]
	if w := v.Window; w != (spec.Window{}) {
		end := maxWindow
		if w.Duration > 0 {
			end = (w.Start + w.Duration).Seconds()
		}
		c.Window = &[2]float64{w.Start.Seconds(), end}
	}
	return c
}

// maxWindow is later than any frame, in seconds.
const maxWindow = 1e12
