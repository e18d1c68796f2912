package video

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/tensor"
)

// Axes is the order of a row's axes.
type Axes uint8

const (
	THWC Axes = iota
	TCHW
	CTHW
)

// Colour is how pixels are turned into RGB; see the package's doc.
type Colour uint8

const (
	Torchcodec Colour = iota
	Accurate
	portable // Accurate in plain C; for comparing, the bytes are the same
)

// Over says what happens to more frames than a row has room for.
type Over uint8

const (
	TooLarge Over = iota // an error, CauseTooLarge
	Cut                  // the first ones are taken
)

// Scaler is who resizes.
type Scaler uint8

const (
	Pillow     Scaler = iota // core/media: antialiased, Pillow's bytes
	SWBilinear               // swscale, in one pass with the colours; for exact sizes alone
	SWBicubic
	SWArea
)

// Beside, as IndexCache, keeps indices next to their videos.
const Beside = "."

// MaxFrames bounds T.
const MaxFrames = 1 << 20

// Config describes a row: Frames frames of Image's description, of which a sample
// may fill fewer; the rest is zero.
type Config struct {
	Image   media.Config // one frame; its Layout and Orient are not used
	Frames  int          // T; 0: as many as the selection always gives
	Axes    Axes
	Select  Selection
	Over    Over
	Colour  Colour
	Scaler  Scaler
	AsSent  bool // do not turn frames by the display matrix
	Stream  int  // its number in the file plus one; 0: the best
	Threads int  // of a decoder; 0: 1

	// Filter is a description of FFmpeg's filters with one input and one output; ""
	// is none. The chosen frames go through it in the row's order, turned already,
	// and what comes out is the row's.
	Filter string

	// Approximate finds frames by the header's rate and length instead of an index.
	// Key frames cannot be chosen then.
	Approximate bool
	// IndexCache is a directory for indices, or Beside; "": none are kept. Those of
	// videos read from files are named by their paths, and hold for their size and
	// time; those of videos in memory are named by what these hold. Only those of a
	// Source's Path are kept Beside. Packets need none.
	IndexCache string
	// FileIndexCache is IndexCache for a Source's File.
	FileIndexCache string

	// Hardware is FFmpeg's name of a kind of device that decodes ("cuda"), or Auto;
	// "" or "none": the processor does.
	Hardware string

	MaxPackets int           // 0: 1 << 27
	Budget     time.Duration // of wall clock for one sample; 0: none
}

// Auto, as Hardware, is the first device that is there, and the processor for what it
// does not decode, for samples at which it fails, or where there is none.
const Auto = "auto"

// HardwareError says that Hardware is not of this machine.
type HardwareError struct{ Text string }

func (e *HardwareError) Error() string { return "video: hardware: " + e.Text }

// Op is a compiled Config. It is read-only but for its counters, and may be shared.
type Op struct {
	cfg    Config
	image  *media.Op
	t      int
	device unsafe.Pointer // an AVBufferRef of the process; nil: none
	note   string
	counts counters
}

// counters are written by workers.
type counters struct{ read, made, unkept, onDevice, onProcessor, deviceFailed atomic.Uint64 }

// Counters say how samples came by what is not in their bytes.
type Counters struct {
	IndexRead    uint64 `json:"index_read"`    // kept ones that were used
	IndexMade    uint64 `json:"index_made"`    // scanned
	IndexUnkept  uint64 `json:"index_unkept"`  // of these, could not be kept
	OnDevice     uint64 `json:"on_device"`     // decoded there
	OnProcessor  uint64 `json:"on_processor"`  // though a device was asked for
	DeviceFailed uint64 `json:"device_failed"` // at a sample
}

// Plus is the sum of two operations' counters.
func (c Counters) Plus(d Counters) Counters {
	return Counters{c.IndexRead + d.IndexRead, c.IndexMade + d.IndexMade, c.IndexUnkept + d.IndexUnkept, c.OnDevice + d.OnDevice, c.OnProcessor + d.OnProcessor,
		c.DeviceFailed + d.DeviceFailed}
}

// Counters reads the counters; any goroutine may.
func (op *Op) Counters() Counters {
	c := &op.counts
	return Counters{c.read.Load(), c.made.Load(), c.unkept.Load(), c.onDevice.Load(), c.onProcessor.Load(), c.deviceFailed.Load()}
}

// Note is what is to be known of the machine; "": nothing.
func (op *Op) Note() string { return op.note }

// compile checks cfg. Errors name the field.
func compile(cfg Config) (*Op, error) {
	op := &Op{cfg: cfg, t: cfg.Frames}
	if op.t == 0 {
		op.t = cfg.Select.Most()
	}
	if err := cfg.check(op.t); err != nil {
		return nil, fmt.Errorf("video: %w", err)
	}
	frame := cfg.Image
	frame.Orient = !cfg.AsSent
	frame.Layout = media.NHWC
	if cfg.Axes != THWC {
		frame.Layout = media.NCHW
	}
	image, err := media.Compile(frame)
	if err != nil {
		return nil, fmt.Errorf("video: %w", err)
	}
	op.image = image
	if cfg.Axes == CTHW && image.Channels() == 1 {
		op.cfg.Axes = TCHW // one plane: the same bytes
	}
	return op, nil
}

func (cfg *Config) check(t int) error {
	if err := cfg.Select.check(); err != nil {
		return err
	}
	if t < 1 || t > MaxFrames {
		return fmt.Errorf("frames: got %d, want 1 to %d; this selection gives as many as a video has", t, MaxFrames)
	}
	if cfg.Axes > CTHW || cfg.Colour > Accurate || cfg.Over > Cut || cfg.Scaler > SWArea {
		return fmt.Errorf("config: axes %d, colour %d, over %d or scaler %d is not one of the named values",
			cfg.Axes, cfg.Colour, cfg.Over, cfg.Scaler)
	}
	if cfg.Image.Mode == media.Luma {
		return fmt.Errorf("image: mode luma is for pictures; want rgb or gray")
	}
	if cfg.Scaler != Pillow && cfg.Image.Resize == (media.Size{}) {
		return fmt.Errorf("scaler: swscale resizes to an exact size alone; set resize to [height, width]")
	}
	if cfg.Scaler != Pillow && len(cfg.Image.Ahead) > 0 {
		return fmt.Errorf("scaler: swscale resizes frames as they are decoded; want no steps ahead of that")
	}
	if cfg.Threads < 0 || cfg.Threads > 64 {
		return fmt.Errorf("threads: got %d, want 1 to 64", cfg.Threads)
	}
	if cfg.Stream < 0 || cfg.MaxPackets < 0 || cfg.Budget < 0 {
		return fmt.Errorf("stream, max packets or budget: got %d, %d, %v, want no negative numbers", cfg.Stream, cfg.MaxPackets, cfg.Budget)
	}
	if cfg.Approximate && cfg.Select.Kind == KeyFrames {
		return fmt.Errorf("approximate: key frames are known from an index alone")
	}
	return nil
}

// Frames is T.
func (op *Op) Frames() int { return op.t }

// TimeAxis is which axis of Shape is T.
func (op *Op) TimeAxis() int {
	if op.cfg.Axes == CTHW {
		return 1
	}
	return 0
}

// Shape is the row's shape at capacity: [T, H, W, C], [T, C, H, W] or [C, T, H, W].
func (op *Op) Shape() []int64 {
	s := op.image.Shape()
	a, b, c, t := int64(s[0]), int64(s[1]), int64(s[2]), int64(op.t)
	if op.cfg.Axes == CTHW {
		return []int64{a, t, b, c}
	}
	return []int64{t, a, b, c}
}

// DType is the type of the row's values.
func (op *Op) DType() tensor.DType {
	code, bits, lanes := op.image.DType().DLPack()
	return tensor.DType(uint32(code) | uint32(bits)<<8 | uint32(lanes)<<16)
}

// RowBytes is the size of one row.
func (op *Op) RowBytes() int { return op.t * op.image.RowBytes() }

// Source is one encoded video: bytes or an open file, valid during the call, or else the file at Path.
type Source struct {
	Bytes   []byte
	File    *av.File
	Path    string
	Packets *av.Packets // not nil: these
	Window  *[2]float64 // not nil: in place of that of the Config's Select; 0 <= from < to
	Times   []float64   // of a Select that is Given
	Indices []int       // the same
}

// Draw says what is random about a sample: equal draws give equal rows.
type Draw struct{ Seed, Epoch, Index uint64 }

func (d Draw) media() media.Draw {
	return media.Draw{Seed: d.Seed, Epoch: d.Epoch, Index: d.Index}
}

// Row is where a sample goes: RowBytes of pixels, and, where they are wanted, the
// seconds at which each frame appears and for how long, T of each. What lies past the
// sample's last frame becomes zero.
type Row struct {
	Data          []byte
	PTS, Duration []float64
}

// Info says what was done for a row.
type Info struct {
	Frames  int `json:"frames"` // in the row; of a filter, that came out of it
	Of      int `json:"of"`     // in the video
	Width   int `json:"width"`  // as stored
	Height  int `json:"height"`
	Decoded int `json:"decoded"` // frames that the decoder gave, chosen or not: what the sample cost
}

// Stream is what a container says of a stream before anything is decoded.
type Stream struct {
	Container   string  `json:"container"`
	Codec       string  `json:"codec"`
	Number      int     `json:"number"`
	Width       int     `json:"width"` // as stored
	Height      int     `json:"height"`
	Orientation int     `json:"orientation"` // 1 to 8, as EXIF numbers it; from 5 on sides are swapped when frames are turned
	Frames      int64   `json:"frames"`      // as its header counts them; -1: unknown
	Rate        float64 `json:"rate"`        // average frames a second; 0: unknown
	Start       float64 `json:"start"`       // as the header says; 0: unknown
	Seconds     float64 `json:"seconds"`     // as the header says; 0: unknown
}

// Counted is a stream whose packets were read, and whose first frame was decoded: Frames is how many there are.
type Counted struct {
	Stream
	Pixels      string `json:"pixels"`      // the layout of a frame, by FFmpeg's name, such as yuv420p
	Matrix      string `json:"matrix"`      // of its colours, by FFmpeg's name, such as bt709; unknown: the file does not say
	Full        bool   `json:"full"`        // their range is
	Progressive bool   `json:"progressive"` // no frame is made of fields; false: some may be, or nobody says
	Closed      bool   `json:"closed"`      // at every key frame decoding can start: what is decoded before it is shown before it, and what is behind, behind
}

// CauseTooLarge is the cause of a *TooLargeError.
const CauseTooLarge = "too_large"

// TooLargeError says that a selection, or a filter, gave more frames than a row has
// room for; Got 0: nobody counted how many.
type TooLargeError struct{ Got, Room int }

// Cause is CauseTooLarge.
func (e *TooLargeError) Cause() string { return CauseTooLarge }

func (e *TooLargeError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("media: video: got more frames of video.filter than the row has room for, %d; raise video.frames, or set video.over: cut", e.Room)
	}
	return fmt.Sprintf("media: video: got %d frames, the row has room for %d; raise video.frames, or choose fewer by video.select, such as {kind: uniform}", e.Got, e.Room)
}

func (op *Op) checkRow(dst *Row) error {
	if len(dst.Data) != op.RowBytes() {
		return fmt.Errorf("video: row: got %d bytes of destination, want %d", len(dst.Data), op.RowBytes())
	}
	if dst.PTS != nil && len(dst.PTS) != op.t || dst.Duration != nil && len(dst.Duration) != op.t {
		return fmt.Errorf("video: row: got room for %d times and %d durations, want %d of each", len(dst.PTS), len(dst.Duration), op.t)
	}
	return nil
}
