//go:build noffmpeg

package av

import "unsafe"

// Packets are none in this build: nothing makes any.
type Packets struct {
	Window *[2]float64
	Source string
}

// Pointer is nil.
func (p *Packets) Pointer() unsafe.Pointer { return nil }

// Hold does nothing.
func (p *Packets) Hold() *Packets { return p }

// Close does nothing.
func (p *Packets) Close() {}

// Len is 0.
func (p *Packets) Len() int { return 0 }

// At is of no use: there are none.
func (p *Packets) At(int) Packet { return Packet{} }

// Slice is the same.
func (p *Packets) Slice(int, int) (*Packets, error) { return p, nil }

// Codec says nothing.
func (p *Packets) Codec() Codec { return Codec{} }

// Bytes is of no use: there are none.
func (p *Packets) Bytes(func(n int) ([]byte, error)) ([]byte, error) { return nil, nil }

// PacketsOf refuses.
func PacketsOf([]byte) (*Packets, error) {
	return nil, NewError("packets", StatusUnsupported, "this build has no FFmpeg; use the build with it")
}
