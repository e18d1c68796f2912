package av

import "fmt"

// Packet is one packet of a stream.
type Packet struct {
	PTS, DTS float64 // seconds; NaN: the container says none
	Duration float64 // seconds; 0: the container says none
	Key      bool    // decoding can begin here
	Bytes    []byte
}

// Codec is what is known of a stream before it is decoded. What the container does not say is 0 or "".
type Codec struct {
	Kind      string `json:"kind"` // "video" or "audio"
	Name      string `json:"name"` // FFmpeg's, such as "h264"
	Container string `json:"container"`
	Stream    int    `json:"stream"` // its number in the file
	TimeBase  [2]int `json:"time_base"`
	BitRate   int64  `json:"bit_rate"`

	Width             int    `json:"width,omitempty"`
	Height            int    `json:"height,omitempty"`
	PixelFormat       string `json:"pix_fmt,omitempty"`
	FrameRate         [2]int `json:"frame_rate"`
	SampleAspectRatio [2]int `json:"sample_aspect_ratio"`

	SampleRate    int    `json:"sample_rate,omitempty"`
	Channels      int    `json:"num_channels,omitempty"`
	SampleFormat  string `json:"sample_fmt,omitempty"`
	ChannelLayout string `json:"channel_layout,omitempty"`
}

// String is what tells one stream's packets from another's.
func (c Codec) String() string {
	return fmt.Sprintf("%s in ticks of %d/%d s", c.Name, c.TimeBase[0], c.TimeBase[1])
}

// Of is a *StreamError where the packets are not of such a stream.
func (p *Packets) Of(want Codec) error {
	if got := p.Codec(); got.Name != want.Name || got.TimeBase != want.TimeBase {
		return &StreamError{got, want}
	}
	return nil
}
