// Audiotool makes rows of sound for the comparisons in tests/exact, or waveforms where no length is fixed; see package tool.
package main

import (
	"bytes"
	"errors"
	"os"
	"unsafe"

	"github.com/spdl/spdl/core/media/audio"
	"github.com/spdl/spdl/tests/exact/tool"
)

type request struct {
	Path   string       `json:"path"`
	Config audio.Config `json:"config"`
	Draw   audio.Draw   `json:"draw"`
	File   bool         `json:"file"` // give the path, not the bytes
}

type answer struct {
	tool.Head
	Shape []int64    `json:"shape"`
	Info  audio.Info `json:"info"`
}

func main() { tool.Main("audiotool", one) }

// one makes the row with every instruction set; they must agree.
func one(r *request) (tool.Answer, []byte, error) {
	op, err := audio.Compile(r.Config)
	if err != nil {
		return &answer{}, nil, err
	}
	src := audio.Source{Path: r.Path}
	if !r.File {
		if src.Bytes, err = os.ReadFile(r.Path); err != nil {
			return &answer{}, nil, err
		}
		src.Path = ""
	}
	a, row, err := by(op, nil, src, r.Draw)
	if err != nil {
		return a, nil, err
	}
	_, portable, err := by(op, &audio.Options{Portable: true}, src, r.Draw)
	if err == nil && !bytes.Equal(row, portable) {
		err = errors.New("the portable kernels give another row")
	}
	return a, row, err
}

func by(op *audio.Op, o *audio.Options, src audio.Source, draw audio.Draw) (*answer, []byte, error) {
	w, err := op.NewWorkerWith(o)
	if err != nil {
		return &answer{}, nil, err
	}
	defer w.Close()
	if op.Fixed() {
		row := make([]byte, op.RowBytes())
		info, err := w.Decode(audio.Row{Data: row}, src, draw)
		return &answer{Shape: op.Shape(), Info: info}, row, err
	}
	wave, info, err := w.Wave(src, draw)
	if err != nil {
		return &answer{Info: info}, nil, err
	}
	row := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(wave.Data))), 4*len(wave.Data))
	return &answer{Shape: []int64{int64(wave.Channels), int64(wave.Frames)}, Info: info}, bytes.Clone(row), nil
}
