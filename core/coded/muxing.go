package coded

import (
	"unsafe"

	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/media/mux"
	"github.com/spdl/spdl/core/spec"
)

// Layouts of samples.
const (
	planar      = "NCL" // [channels, samples], as core/load gives them
	interleaved = "NLC" // [samples, channels]
)

type videoTrack struct {
	Codec       string            `json:"codec"`
	Width       int               `json:"width" range:"1,65535"`
	Height      int               `json:"height" range:"1,65535"`
	Rate        spec.Ratio        `json:"rate"`
	TimeBase    spec.Ratio        `json:"time_base"`
	Input       string            `json:"input"`
	PixelFormat string            `json:"pixel_format"`
	BitRate     int64             `json:"bit_rate" range:"0,1000000000000"` // these three: 0 is the encoder's default
	Quality     int               `json:"quality" range:"0,1000"`
	Threads     int               `json:"threads" range:"0,1024"`
	Options     map[string]string `json:"options"`
}

type audioTrack struct {
	Codec        string            `json:"codec"`
	Rate         int               `json:"rate" range:"1,2147483647"`
	Channels     int               `json:"channels" range:"1,64"`
	Layout       string            `json:"layout"`
	SampleFormat string            `json:"sample_format"`
	BitRate      int64             `json:"bit_rate" range:"0,1000000000000"`
	Options      map[string]string `json:"options"`
}

// Muxing writes one container.
type Muxing struct {
	m      *mux.Muxer
	memory bool
	tracks []track
	alloc  func(n int) ([]byte, error)
	bytes  []byte
}

// track is one of three.
type track struct {
	video   *mux.VideoTrack
	audio   *mux.AudioTrack
	packets *mux.PacketTrack

	channels int
	planar   bool
}

// Create begins the container at path, or in memory where path is "". The description may say format (needed in memory)
// and options.
func Create(description []byte, path string) (*Muxing, error) {
	var d struct {
		Format  string            `json:"format"`
		Options map[string]string `json:"options"`
	}
	if err := parse(description, &d); err != nil {
		return nil, err
	}
	m := &Muxing{memory: path == ""}
	cfg := mux.Config{Format: d.Format, Options: d.Options}
	var err error
	switch {
	case path != "":
		m.m, err = mux.Create(path, cfg)
	case d.Format == "":
		return nil, wrong("format", "is missing, want the container that is made in memory, such as mp4")
	default:
		m.m, err = mux.Buffer(cfg, m.take)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// take copies what was made in memory.
func (m *Muxing) take(made []byte) error {
	var err error
	if m.bytes, err = m.alloc(len(made)); err == nil {
		copy(m.bytes, made)
	}
	return err
}

// Add adds a track, {"video": {...}} or {"audio": {...}}, and returns its number.
func (m *Muxing) Add(description []byte) (int, error) {
	var d struct {
		Video *videoTrack `json:"video"`
		Audio *audioTrack `json:"audio"`
	}
	if err := parse(description, &d); err != nil {
		return 0, err
	}
	if (d.Video == nil) == (d.Audio == nil) {
		return 0, wrong("", "want one of video, audio")
	}
	if v := d.Video; v != nil {
		if err := needSize("video", v.Width, v.Height); err != nil {
			return 0, err
		}
		t, err := m.m.AddVideo(mux.Video{
			Codec: v.Codec, Width: v.Width, Height: v.Height, Rate: mux.Rational(v.Rate), TimeBase: mux.Rational(v.TimeBase), Input: v.Input,
			PixelFormat: v.PixelFormat, BitRate: v.BitRate, Quality: v.Quality, Threads: v.Threads, Options: v.Options,
		})
		return m.added(track{video: t}, err)
	}
	a := d.Audio
	if err := needSound("audio", a.Rate, a.Channels); err != nil {
		return 0, err
	}
	if err := checkLayout("audio.layout", &a.Layout); err != nil {
		return 0, err
	}
	t, err := m.m.AddAudio(mux.Audio{
		Codec: a.Codec, Rate: a.Rate, Channels: a.Channels, SampleFormat: a.SampleFormat, BitRate: a.BitRate, Options: a.Options,
	})
	return m.added(track{audio: t, channels: a.Channels, planar: a.Layout == planar}, err)
}

func checkLayout(path string, layout *string) error {
	switch *layout {
	case "":
		*layout = planar
	case planar, interleaved:
	default:
		return wrong(path, "got %q, want %s or %s", *layout, planar, interleaved)
	}
	return nil
}

func (m *Muxing) added(t track, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	m.tracks = append(m.tracks, t)
	return len(m.tracks) - 1, nil
}

// AddPackets adds a track for packets of p's stream, through bitstream filters unless they are "".
func (m *Muxing) AddPackets(p *av.Packets, filters string) (int, error) {
	t, err := m.m.AddPackets(p, mux.Copy{Filters: filters})
	return m.added(track{packets: t}, err)
}

func (m *Muxing) track(number int) (*track, error) {
	if number < 0 || number >= len(m.tracks) {
		return nil, misuse("got track %d, want one that was added: there are %d", number, len(m.tracks))
	}
	return &m.tracks[number], nil
}

// Write writes frames [T, H, W, C] of bytes, with the seconds at which they are shown unless those are nil, or samples of
// float32 in the track's layout.
func (m *Muxing) Write(number int, data []byte, at []float64) error {
	t, err := m.track(number)
	switch {
	case err != nil:
		return err
	case t.video != nil && at != nil:
		return t.video.WriteAt(data, at)
	case t.video != nil:
		return t.video.Write(data)
	case t.audio == nil:
		return misuse("track %d takes packets, and was given an array", number)
	case at != nil:
		return misuse("track %d of samples was given times; samples follow one another", number)
	}
	samples, err := floats(data)
	if err != nil {
		return err
	}
	if !t.planar {
		return t.audio.Write(samples)
	}
	planes, err := split(samples, t.channels)
	if err != nil {
		return err
	}
	return t.audio.WritePlanar(planes)
}

// floats sees bytes as numbers; those that lie at an address of another type are copied.
func floats(data []byte) ([]float32, error) {
	if len(data)%4 != 0 {
		return nil, misuse("samples of %d bytes, want float32", len(data))
	}
	if len(data) == 0 {
		return nil, nil
	}
	if uintptr(unsafe.Pointer(&data[0]))%4 != 0 {
		own := make([]float32, len(data)/4)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), len(data)), data)
		return own, nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&data[0])), len(data)/4), nil
}

// split is the planes of [channels, samples].
func split(samples []float32, channels int) ([][]float32, error) {
	if len(samples)%channels != 0 {
		return nil, misuse("%d samples, want a multiple of the %d channels", len(samples), channels)
	}
	planes, n := make([][]float32, channels), len(samples)/channels
	for c := range planes {
		planes[c] = samples[c*n : (c+1)*n : (c+1)*n]
	}
	return planes, nil
}

// WritePackets writes packets of the stream that the track was added for.
func (m *Muxing) WritePackets(number int, p *av.Packets) error {
	t, err := m.track(number)
	if err != nil {
		return err
	}
	if t.packets == nil {
		return misuse("track %d takes arrays, and was given packets", number)
	}
	return t.packets.Write(p)
}

// Close ends the container, and puts the file in its place or returns the bytes, in memory that alloc gave.
func (m *Muxing) Close(alloc func(n int) ([]byte, error)) ([]byte, error) {
	m.alloc = alloc
	if m.memory && alloc == nil {
		m.m.Abort()
		return nil, misuse("a container in memory was closed without a place for its bytes")
	}
	err := m.m.Close()
	return m.bytes, err
}

// Abort gives it up; of a file nothing stays.
func (m *Muxing) Abort() { m.m.Abort() }
