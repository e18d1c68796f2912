// Videotool decodes rows of frames for the comparisons in tests/exact. It reads one
// JSON request a line and answers each with one JSON line, then, on success, the
// row's bytes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spdl/spdl/core/media/video"
)

type request struct {
	Path     string       `json:"path"`
	InMemory bool         `json:"in_memory"`
	Config   video.Config `json:"config"`
	Draw     video.Draw   `json:"draw"`
}

type answer struct {
	Bytes    int        `json:"bytes"`
	Shape    []int64    `json:"shape"`
	Info     video.Info `json:"info"`
	PTS      []float64  `json:"pts"`
	Duration []float64  `json:"duration"`
	Error    string     `json:"error,omitempty"`
	Cause    string     `json:"cause,omitempty"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "videotool:", err)
		os.Exit(1)
	}
}

func serve() error {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return out.Flush()
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		a, row, err := one(&r)
		if err != nil {
			a = answer{Error: err.Error()}
			var caused interface{ Cause() string }
			if errors.As(err, &caused) {
				a.Cause = caused.Cause()
			}
		}
		header, err := json.Marshal(a)
		if err != nil {
			return err
		}
		out.Write(append(header, '\n'))
		out.Write(row)
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func one(r *request) (answer, []byte, error) {
	op, err := video.Compile(r.Config)
	if err != nil {
		return answer{}, nil, err
	}
	w, err := op.NewWorker()
	if err != nil {
		return answer{}, nil, err
	}
	defer w.Close()
	src := video.Source{Path: r.Path}
	if r.InMemory {
		if src.Bytes, err = os.ReadFile(r.Path); err != nil {
			return answer{}, nil, err
		}
	}
	row := video.Row{Data: make([]byte, op.RowBytes()), PTS: make([]float64, op.Frames()), Duration: make([]float64, op.Frames())}
	info, err := w.Decode(row, src, r.Draw)
	if err != nil {
		return answer{}, nil, err
	}
	return answer{Bytes: len(row.Data), Shape: op.Shape(), Info: info, PTS: row.PTS[:info.Frames], Duration: row.Duration[:info.Frames]}, row.Data, nil
}
