// Rowtool decodes rows for the comparisons in tests/exact; see package tool.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/tests/exact/tool"
)

type request struct {
	Path        string       `json:"path"`
	Config      config       `json:"config"`
	Draw        media.Draw   `json:"draw"`
	Boxes       []media.Rect `json:"boxes"`        // of the picture, in pixels
	PortableToo bool         `json:"portable_too"` // decode again in plain C and compare
}

type answer struct {
	tool.Head
	Shape []int      `json:"shape"`
	Grid  media.Grid `json:"grid"` // of a row of tiles
	Info  media.Info `json:"info"`
}

// rows is both ways to decode them.
type rows struct{ best, portable *media.Worker }

func main() {
	best, err := media.NewWorker(nil)
	portable, perr := media.NewWorker(&media.Options{Portable: true})
	if err = errors.Join(err, perr); err != nil {
		fmt.Fprintln(os.Stderr, "rowtool:", err)
		os.Exit(1)
	}
	tool.Main("rowtool", rows{best, portable}.one)
}

func (w rows) one(r *request) (tool.Answer, []byte, error) {
	a := &answer{}
	data, err := os.ReadFile(r.Path)
	if err != nil {
		return a, nil, err
	}
	op, err := media.Compile(r.Config.media())
	if err != nil {
		return a, nil, err
	}
	row := make([]byte, op.RowBytes())
	if err := errors.Join(w.best.Boxes(r.Boxes, false), w.portable.Boxes(r.Boxes, false)); err != nil {
		return a, nil, err
	}
	if a.Info, err = w.best.Row(row, data, op, r.Draw); err != nil {
		return a, nil, err
	}
	if r.PortableToo {
		again := make([]byte, len(row))
		if _, err := w.portable.Row(again, data, op, r.Draw); err != nil || !bytes.Equal(again, row) {
			return a, nil, fmt.Errorf("plain C differs from %s (error %v)", w.best.ISA(), err)
		}
	}
	shape := op.Shape()
	a.Shape, a.Grid = shape[:], a.Info.Grid
	if op.Tiles() > 0 {
		row = row[:len(row)/op.Tiles()*a.Info.Tiles]
		a.Shape = append([]int{a.Info.Tiles}, shape[:]...)
	}
	return a, row, nil
}
