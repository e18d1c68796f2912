package av

import "fmt"

// Facts are what there is to know of the FFmpeg in use.
type Facts struct {
	Versions map[string][3]int `json:"versions"` // of its libraries
	Filters  []string          `json:"filters"`  // that are taken here
	Devices  []string          `json:"devices"`  // kinds that it was built for
	LogLevel int               `json:"log_level"`
}

// End is an input or an output of a Graph.
type End struct {
	Name     string `json:"name"`   // of its node, such as "buffer@left"
	Kind     string `json:"kind"`   // "video" or "audio"
	Format   string `json:"format"` // FFmpeg's name of the pixels or samples
	DType    string `json:"dtype"`  // of the array's elements
	TimeBase [2]int `json:"time_base"`

	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	Shape     []int  `json:"shape,omitempty"` // of one picture: [H, W, C], [planes, H, W], or [1, rows, W] where planes are smaller
	FrameRate [2]int `json:"frame_rate"`

	SampleRate int  `json:"sample_rate,omitempty"`
	Channels   int  `json:"num_channels,omitempty"`
	Planar     bool `json:"planar,omitempty"` // [channels, n], else [n, channels]

	item int // bytes of one element
}

// FrameBytes is the size of one picture, or of one sample of every channel.
func (e *End) FrameBytes() int {
	n := e.item
	for _, d := range e.Shape {
		n *= d
	}
	if e.Kind == "audio" {
		n *= e.Channels
	}
	return n
}

func (e *End) wrongSize(n int) error {
	one := fmt.Sprintf("a sample of %s, %d channels", e.Format, e.Channels)
	if e.Kind == "video" {
		one = fmt.Sprintf("a picture of %s, %dx%d", e.Format, e.Width, e.Height)
	}
	return &MismatchError{fmt.Sprintf("got %d bytes, want a multiple of %d: %s", n, e.FrameBytes(), one)}
}

// MismatchError says that what is given to a Graph is of another size or number than its inputs are.
type MismatchError struct{ Text string }

func (e *MismatchError) Error() string { return e.Text }
