//go:build noffmpeg

package mux

import (
	"io"

	"github.com/spdl/spdl/core/media/av"
)

func none(name string) error {
	return &Error{Name: name, cause: CauseUnsupported, Detail: "this build has no FFmpeg; use the build with it"}
}

// Muxer writes nothing in this build.
type Muxer struct{}

// Create refuses.
func Create(path string, _ Config) (*Muxer, error) { return nil, none(path) }

// New refuses.
func New(io.Writer, Config) (*Muxer, error) { return nil, none("writer") }

// Buffer refuses.
func Buffer(Config, func([]byte) error) (*Muxer, error) { return nil, none("memory") }

// AddVideo refuses.
func (m *Muxer) AddVideo(Video) (*VideoTrack, error) { return nil, none("") }

// AddAudio refuses.
func (m *Muxer) AddAudio(Audio) (*AudioTrack, error) { return nil, none("") }

// AddCopy refuses.
func (m *Muxer) AddCopy(*Input, Copy) (*CopyTrack, error) { return nil, none("") }

// Close does nothing.
func (m *Muxer) Close() error { return nil }

// Abort does nothing.
func (m *Muxer) Abort() {}

// VideoTrack takes nothing in this build.
type VideoTrack struct{}

// Write refuses.
func (t *VideoTrack) Write([]byte) error { return none("") }

// WriteAt refuses.
func (t *VideoTrack) WriteAt([]byte, []float64) error { return none("") }

// AudioTrack takes nothing in this build.
type AudioTrack struct{}

// Write refuses.
func (t *AudioTrack) Write([]float32) error { return none("") }

// WritePlanar refuses.
func (t *AudioTrack) WritePlanar([][]float32) error { return none("") }

// CopyTrack takes nothing in this build.
type CopyTrack struct{}

// Write refuses.
func (t *CopyTrack) Write(Packet) error { return none("") }

// Take refuses.
func (in *Input) Take(int, float64) (*av.Packets, error) { return nil, none("") }

// TakeWindow refuses.
func (in *Input) TakeWindow(float64, float64) (*av.Packets, error) { return nil, none("") }

// Stream refuses.
func (in *Input) Stream() (*av.Packets, error) { return nil, none("") }

// BitstreamFilter does nothing in this build.
type BitstreamFilter struct{}

// OpenFilter refuses.
func OpenFilter(_ *av.Packets, filters string) (*BitstreamFilter, error) { return nil, none(filters) }

// Filter refuses.
func (f *BitstreamFilter) Filter(*av.Packets) (*av.Packets, error) { return nil, none("") }

// Last refuses.
func (f *BitstreamFilter) Last(*av.Packets) (*av.Packets, error) { return nil, none("") }

// Flush refuses.
func (f *BitstreamFilter) Flush() (*av.Packets, error) { return nil, none("") }

// Close does nothing.
func (f *BitstreamFilter) Close() {}

// Filter refuses.
func Filter(_ *av.Packets, filters string) (*av.Packets, error) { return nil, none(filters) }

// PacketTrack takes nothing in this build.
type PacketTrack struct{}

// AddPackets refuses.
func (m *Muxer) AddPackets(*av.Packets, Copy) (*PacketTrack, error) { return nil, none("") }

// Write refuses.
func (t *PacketTrack) Write(*av.Packets) error { return none("") }

// CopyAll refuses.
func CopyAll(...*CopyTrack) error { return none("") }

// Input gives nothing in this build.
type Input struct{}

// OpenInput refuses.
func OpenInput(src Source, _ Kind) (*Input, error) { return nil, none(src.Path) }

// Next refuses.
func (in *Input) Next() (Packet, error) { return Packet{}, none("") }

// Close does nothing.
func (in *Input) Close() {}

// Encode refuses.
func Encode([]byte, Picture) ([]byte, error) { return nil, none("picture") }

// Save refuses.
func Save(path string, _ []byte, _ Picture) error { return none(path) }

// Images writes nothing in this build.
type Images struct{}

// CreateImages refuses.
func CreateImages(pattern string, _ int, _ Picture) (*Images, error) { return nil, none(pattern) }

// Write refuses.
func (s *Images) Write([]byte) error { return none("") }

// Next is 0.
func (s *Images) Next() int { return 0 }
