package load

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
)

// Graph is FFmpeg's filters between arrays: with several inputs and outputs, of pictures and of sound. It is used by one goroutine at a time.
type Graph struct{ g *av.Graph }

// What a graph's description may leave out.
const (
	defaultGraphBytes  = 1 << 30
	defaultGraphPixels = 1 << 26
)

// OpenGraph makes a graph. The description is {"graph": "buffer=...,hflip,buffersink"} with threads (of the filters; 1), max_bytes (that may wait
// in the graph; 1 GiB), max_pixels (of a picture; 64 Mi) and timeout (of each call; "60s"). What is wrong with it is a *spec.Error.
func OpenGraph(description []byte) (*Graph, error) {
	d := struct {
		Graph     string `json:"graph"`
		Threads   int    `json:"threads" range:"1,64"`
		MaxBytes  int64  `json:"max_bytes" range:"1,9223372036854775807"`
		MaxPixels int64  `json:"max_pixels" range:"1,9223372036854775807"`
		Timeout   string `json:"timeout"`
	}{Threads: 1, MaxBytes: defaultGraphBytes, MaxPixels: defaultGraphPixels, Timeout: "60s"}
	wrong := func(path, format string, args ...any) (*Graph, error) {
		return nil, &spec.Error{File: "graph", Path: path, Text: fmt.Sprintf(format, args...)}
	}
	if err := spec.Read("graph", description, &d); err != nil {
		return nil, err
	}
	budget, err := time.ParseDuration(d.Timeout)
	switch {
	case err != nil || budget <= 0:
		return wrong("timeout", "got %q, want a time such as 60s, above 0", d.Timeout)
	}
	g, err := av.OpenGraph(av.GraphOptions{
		Text: d.Graph, Threads: d.Threads, MaxBytes: uint64(d.MaxBytes), MaxPixels: uint64(d.MaxPixels), Budget: budget,
	})
	if refused, ok := err.(*av.FilterError); ok {
		return wrong("", "got %.80q: %s", refused.Text, refused.Why)
	}
	if err != nil {
		return nil, &Error{Err: err}
	}
	return &Graph{g}, nil
}

// GraphInfo is what there is to know of a Graph.
type GraphInfo struct {
	Inputs  []av.End `json:"inputs"`
	Outputs []av.End `json:"outputs"`
	Dump    string   `json:"dump"` // FFmpeg's drawing
}

// Info is the graph's ends, in the order of its text.
func (g *Graph) Info() GraphInfo { return GraphInfo{g.g.Inputs(), g.g.Outputs(), g.g.Dump()} }

// end is the number of an input or output; "": the only one.
func end(ends []av.End, side, name string) (int, error) {
	if name == "" && len(ends) == 1 {
		return 0, nil
	}
	names := make([]string, len(ends))
	for i := range ends {
		if names[i] = ends[i].Name; names[i] == name {
			return i, nil
		}
	}
	return 0, &av.MismatchError{Text: fmt.Sprintf("graph: got the %s %q, want one of %s", side, name, strings.Join(names, ", "))}
}

// Add lets frames in at an input, "" being the only one. data are whole pictures or samples of the input's format and shape, seconds when each
// picture, or the first sample, is shown; none: behind those before. What does not fit is a *av.MismatchError; a *av.Error of cause too_much says
// that more would wait in the graph than max_bytes.
func (g *Graph) Add(input string, data []byte, seconds []float64) error {
	i, err := end(g.g.Inputs(), "input", input)
	if err == nil {
		err = g.g.Add(i, data, seconds)
	}
	return err
}

// Flush says that no more frames come, to any input.
func (g *Graph) Flush() error { return g.g.Flush() }

// Next is what has come out at an output, "" being the only one: the tensors "video" and "pts", or "audio" and "pts" (of its first sample). io.EOF
// where nothing has, and so, after Flush, nothing more will.
func (g *Graph) Next(output string, alloc Alloc) (*Media, error) {
	i, err := end(g.g.Outputs(), "output", output)
	if err != nil {
		return nil, err
	}
	n, shape, err := g.g.Ready(i)
	if err != nil {
		return nil, &Error{Err: err}
	}
	if n == 0 {
		return nil, io.EOF
	}
	e := g.g.Outputs()[i]
	dtype, err := tensor.ParseDType(e.DType)
	if err != nil {
		return nil, &Error{Err: fmt.Errorf("graph: output %s: %s: %w", e.Name, e.Format, err)}
	}
	dims, times := make(tensor.Shape, len(shape)), int64(n)
	for d := range shape {
		dims[d] = int64(shape[d])
	}
	if e.Kind == "audio" {
		times = 1
	}
	l := &loading{alloc: orGo(alloc)}
	all, err := l.tensors(Tensor{Name: e.Kind, DType: dtype, Shape: dims}, Tensor{Name: "pts", DType: tensor.F64, Shape: tensor.Shape{times}})
	if err != nil {
		return nil, err
	}
	if err := g.g.Take(i, n, all[0].Data, batch.Float64s(all[1].Data)); err != nil {
		return nil, &Error{Err: err}
	}
	return &Media{all, e}, nil
}

// Close ends it. What it has given stays.
func (g *Graph) Close() { g.g.Close() }
