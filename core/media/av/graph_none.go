//go:build noffmpeg

package av

import "time"

// Graph is none in this build: OpenGraph refuses.
type Graph struct{}

// GraphOptions bound a Graph.
type GraphOptions struct {
	Text                string
	Threads             int
	MaxPixels, MaxBytes uint64
	Budget              time.Duration
}

// OpenGraph refuses.
func OpenGraph(GraphOptions) (*Graph, error) {
	return nil, NewError("graph", StatusUnsupported, "this build has no FFmpeg; use the build with it")
}

// Inputs are none.
func (g *Graph) Inputs() []End { return nil }

// Outputs are none.
func (g *Graph) Outputs() []End { return nil }

// Dump is empty.
func (g *Graph) Dump() string { return "" }

// Add does nothing.
func (g *Graph) Add(int, []byte, []float64) error { return nil }

// Flush does nothing.
func (g *Graph) Flush() error { return nil }

// Ready says that nothing waits.
func (g *Graph) Ready(int) (int, []int, error) { return 0, nil, nil }

// Take does nothing.
func (g *Graph) Take(int, int, []byte, []float64) error { return nil }

// Close does nothing.
func (g *Graph) Close() {}
