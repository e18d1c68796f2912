//go:build !noffmpeg

package av

/*
#include <stdlib.h>
#include <libavutil/mem.h>
#include "graph.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Graph is FFmpeg's filters with several inputs and outputs, of pictures and of sound. It belongs to one goroutine at a time.
type Graph struct {
	g       *C.media_av_graph
	inputs  []End
	outputs []End
	next    []float64 // by input: the second behind what went in last
	last    []int64   // by input: when that was shown, in its time base
	dump    string
}

// GraphOptions bound a Graph.
type GraphOptions struct {
	Text      string
	Threads   int           // of the filters; 0: 1
	MaxPixels uint64        // of a picture anywhere in it; 0: any
	MaxBytes  uint64        // that may wait in it; 0: any
	Budget    time.Duration // of each call; 0: none
}

// OpenGraph makes a graph whose text has its own inputs (buffer, abuffer) and outputs (buffersink, abuffersink). What is wrong with the text
// is a *FilterError.
func OpenGraph(o GraphOptions) (*Graph, error) {
	if o.Text == "" || len(o.Text) > MaxFilter || strings.ContainsRune(o.Text, 0) {
		return nil, &FilterError{"graph", o.Text, fmt.Sprintf("got %d bytes, want 1 to %d without zeros", len(o.Text), MaxFilter)}
	}
	if err := LoadFilters(); err != nil {
		return nil, NewError("graph", StatusUnsupported, "FFmpeg "+err.Error())
	}
	g := &Graph{g: C.media_av_graph_new()}
	if g.g == nil {
		return nil, NewError("graph", StatusNoMemory, "")
	}
	text := C.CString(o.Text)
	defer C.free(unsafe.Pointer(text))
	options := C.media_av_graph_options{
		text: text, threads: C.int(o.Threads), max_pixels: C.uint64_t(o.MaxPixels), max_bytes: C.uint64_t(o.MaxBytes),
		budget_ns: C.int64_t(o.Budget),
	}
	if status := C.media_av_graph_open(g.g, &options); status != C.MEDIA_AV_OK {
		err := g.fail(status)
		if status == C.MEDIA_AV_FILTER || status == C.MEDIA_AV_UNSUPPORTED {
			err = &FilterError{"graph", o.Text, C.GoString(C.media_av_graph_detail(g.g))}
		}
		g.Close()
		return nil, err
	}
	g.describe()
	return g, nil
}

func (g *Graph) describe() {
	for i := range int(C.media_av_graph_n_inputs(g.g)) {
		g.inputs = append(g.inputs, endOf(C.media_av_graph_input(g.g, C.int(i))))
	}
	for i := range int(C.media_av_graph_n_outputs(g.g)) {
		g.outputs = append(g.outputs, endOf(C.media_av_graph_output(g.g, C.int(i))))
	}
	g.next = make([]float64, len(g.inputs))
	g.last = slices.Repeat([]int64{math.MinInt64}, len(g.inputs))
	if text := C.media_av_graph_dump(g.g); text != nil {
		g.dump = C.GoString(text)
		C.av_free(unsafe.Pointer(text))
	}
}

func endOf(c *C.media_av_end) End {
	e := End{Name: C.GoString(c.name), Format: C.GoString(c.format_name), TimeBase: pair(c.time_base), DType: elementOf(c), item: int(c.item)}
	if c._type == C.AVMEDIA_TYPE_AUDIO {
		e.Kind, e.SampleRate, e.Channels, e.Planar = "audio", int(c.rate), int(c.channels), c.is_planar != 0
		return e
	}
	e.Kind, e.Width, e.Height, e.FrameRate = "video", int(c.width), int(c.height), pair(c.frame_rate)
	e.Shape = []int{int(c.shape[0]), int(c.shape[1]), int(c.shape[2])}
	return e
}

// elementOf is the type of an array's elements, as core/tensor spells it.
func elementOf(c *C.media_av_end) string {
	kind := "u"
	if c.is_float != 0 {
		kind = "f"
	} else if c.is_signed != 0 {
		kind = "i"
	}
	return fmt.Sprintf("%s%d", kind, 8*int(c.item))
}

// Inputs are the graph's, in the order of its text.
func (g *Graph) Inputs() []End { return g.inputs }

// Outputs are the graph's, in the order of its text.
func (g *Graph) Outputs() []End { return g.outputs }

// Dump is the graph as FFmpeg draws it.
func (g *Graph) Dump() string { return g.dump }

// Add lets frames in, which are copied: whole pictures one after the other, or samples. seconds say when each picture, or the first sample, is
// shown, and do not fall from one call to the next; none: behind what went in before, pictures by the input's frame rate, or a tick each. An error that comes midway says how many went in,
// and the next ones follow those.
func (g *Graph) Add(input int, data []byte, seconds []float64) error {
	e := &g.inputs[input]
	size := e.FrameBytes()
	if size == 0 || len(data)%size != 0 {
		return fmt.Errorf("graph: input %s: %w", e.Name, e.wrongSize(len(data)))
	}
	n := len(data) / size
	if e.Kind == "audio" {
		return g.addSamples(input, data, n, seconds)
	}
	if len(seconds) != 0 && len(seconds) != n {
		return fmt.Errorf("graph: input %s: %w", e.Name, &MismatchError{fmt.Sprintf("got %d times for %d frames, want one for each, or none", len(seconds), n)})
	}
	if len(seconds) == 0 {
		for i := range n {
			seconds = append(seconds, g.next[input]+float64(i)*e.frameSeconds())
		}
	}
	ticks, last := make([]C.int64_t, n), g.last[input]
	for i := range ticks {
		var err error
		if ticks[i], err = e.ticks(seconds[i]); err != nil {
			return err
		}
		if err := e.rises(int64(ticks[i]), last); err != nil {
			return err
		}
		last = int64(ticks[i])
	}
	for i := range n {
		if status := C.media_av_graph_picture(g.g, C.int(input), first(data[i*size:]), ticks[i]); status != C.MEDIA_AV_OK {
			return g.midway(status, i, n)
		}
		g.next[input], g.last[input] = seconds[i]+e.frameSeconds(), int64(ticks[i])
	}
	return nil
}

// midway is the failure of frames of which some went in.
func (g *Graph) midway(status C.int, went, n int) error {
	if went == 0 {
		return g.fail(status)
	}
	return fmt.Errorf("%w (%d of %d went in)", g.fail(status), went, n)
}

func (g *Graph) addSamples(input int, data []byte, n int, seconds []float64) error {
	e := &g.inputs[input]
	at := g.next[input]
	if len(seconds) > 0 {
		at = seconds[0]
	}
	ticks, err := e.ticks(at)
	if err != nil || n == 0 {
		return err
	}
	if err := e.rises(int64(ticks), g.last[input]); err != nil {
		return err
	}
	var went C.int64_t
	status := C.media_av_graph_samples(g.g, C.int(input), first(data), C.int64_t(n), ticks, &went)
	g.next[input] = at + float64(went)/float64(e.SampleRate)
	if went > 0 {
		g.last[input] = int64(ticks)
	}
	if status != C.MEDIA_AV_OK {
		return g.midway(status, int(went), n)
	}
	return nil
}

func first(data []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(data))) }

// rises refuses a time before the last one: filters that go by times would drop or repeat what comes.
func (e *End) rises(ticks, last int64) error {
	if ticks >= last {
		return nil
	}
	tick := float64(e.TimeBase[0]) / float64(e.TimeBase[1])
	return fmt.Errorf("graph: input %s: %w", e.Name, &MismatchError{fmt.Sprintf("got a time of %.6g s after one of %.6g s, want times that do not fall; open another graph for what begins anew", float64(ticks)*tick, float64(last)*tick)})
}

// ticks is a time in an input's time base.
func (e *End) ticks(seconds float64) (C.int64_t, error) {
	at := math.Round(seconds * float64(e.TimeBase[1]) / float64(e.TimeBase[0]))
	if !(math.Abs(at) < 1<<53) {
		return 0, fmt.Errorf("graph: input %s: %w", e.Name, &MismatchError{fmt.Sprintf("got a frame at %g s, want a time", seconds)})
	}
	return C.int64_t(at), nil
}

// frameSeconds is how long a picture lasts that nobody said anything about.
func (e *End) frameSeconds() float64 {
	if e.FrameRate[0] > 0 && e.FrameRate[1] > 0 {
		return float64(e.FrameRate[1]) / float64(e.FrameRate[0])
	}
	return float64(e.TimeBase[0]) / float64(e.TimeBase[1])
}

// Flush says that no more frames come, to any input: what filters held back comes out.
func (g *Graph) Flush() error {
	if status := C.media_av_graph_flush(g.g); status != C.MEDIA_AV_OK {
		return g.fail(status)
	}
	return nil
}

// mostFrames is how many frames one Ready counts.
const mostFrames = 1 << 20

// Ready says how many frames of an output wait, all of one size, and of what shape they are as one array: [n, ...End.Shape], [channels, n] or
// [n, channels]; 0: none.
func (g *Graph) Ready(output int) (n int, shape []int, err error) {
	var samples C.int64_t
	got := C.media_av_graph_ready(g.g, C.int(output), mostFrames, &samples)
	if got < 0 {
		return 0, nil, g.fail(got)
	}
	e := &g.outputs[output]
	switch {
	case got == 0:
		return 0, nil, nil
	case e.Kind == "audio" && e.Planar:
		return int(got), []int{e.Channels, int(samples)}, nil
	case e.Kind == "audio":
		return int(got), []int{int(samples), e.Channels}, nil
	}
	shape, err = g.shape(output)
	return int(got), append([]int{int(got)}, shape...), err
}

// shape is that of the picture that waits first, which some filters change.
func (g *Graph) shape(output int) ([]int, error) {
	one := *C.media_av_graph_output(g.g, C.int(output))
	var detail [200]C.char
	C.media_av_graph_size(g.g, C.int(output), &one.width, &one.height)
	if status := C.media_av_graph_shape(&one, &detail[0], C.size_t(len(detail))); status != C.MEDIA_AV_OK {
		return nil, NewError("graph", int(status), C.GoString(&detail[0]))
	}
	return []int{int(one.shape[0]), int(one.shape[1]), int(one.shape[2])}, nil
}

// Take moves the n frames that Ready counted to `to` and their times, in seconds, to seconds: one for each frame. NaN: it has none.
func (g *Graph) Take(output, n int, to []byte, seconds []float64) error {
	times := make([]C.int64_t, n)
	status := C.media_av_graph_take(g.g, C.int(output), C.int(n), first(to), unsafe.SliceData(times))
	if status != C.MEDIA_AV_OK {
		return g.fail(status)
	}
	base := g.outputs[output].TimeBase
	for i := range min(n, len(seconds)) {
		seconds[i] = Seconds(int64(times[i]), float64(base[0])/float64(base[1]))
	}
	return nil
}

func (g *Graph) fail(status C.int) error {
	return NewError("graph", int(status), C.GoString(C.media_av_graph_detail(g.g)))
}

// Close ends it. Frames that were not taken are gone.
func (g *Graph) Close() {
	C.media_av_graph_free(g.g)
	g.g = nil
}
