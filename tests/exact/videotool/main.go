// Videotool decodes rows of frames for the comparisons in tests/exact; see package tool.
package main

import (
	"os"

	"github.com/spdl/spdl/core/media/video"
	"github.com/spdl/spdl/tests/exact/tool"
)

type request struct {
	Path     string       `json:"path"`
	InMemory bool         `json:"in_memory"`
	Config   video.Config `json:"config"`
	Draw     video.Draw   `json:"draw"`
}

type answer struct {
	tool.Head
	Shape    []int64    `json:"shape"`
	Info     video.Info `json:"info"`
	PTS      []float64  `json:"pts"`
	Duration []float64  `json:"duration"`
}

func main() { tool.Main("videotool", one) }

func one(r *request) (tool.Answer, []byte, error) {
	a := &answer{}
	op, err := video.Compile(r.Config)
	if err != nil {
		return a, nil, err
	}
	w, err := op.NewWorker()
	if err != nil {
		return a, nil, err
	}
	defer w.Close()
	src := video.Source{Path: r.Path}
	if r.InMemory {
		if src.Bytes, err = os.ReadFile(r.Path); err != nil {
			return a, nil, err
		}
	}
	row := video.Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames()), Duration: make([]float64, op.Frames())}
	info, err := w.Decode(row, src, r.Draw)
	if err != nil {
		return a, nil, err
	}
	a.Shape, a.Info, a.PTS, a.Duration = op.Shape(), info, row.PTS[:info.Frames], row.Duration[:info.Frames]
	return a, row.Data, nil
}
