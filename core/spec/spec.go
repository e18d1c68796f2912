package spec

import (
	"io/fs"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

// Spec describes one ring, or several that share an engine. After Parse, Load, FromFolder or Validate every field is final,
// except those that say what zero means.
type Spec struct {
	Name      string // of the engine
	RingName  string // of this ring among several, "" when it is the only one
	Source    Source
	Order     Order
	World     World
	Batch     int // rows per rank and step
	Image     Image
	BadSample BadSample
	Ring      Ring
	Journal   string  // file that the engine keeps its position in; "": none
	Limits    Limits  // of the engine; the same in every ring
	Rings     []*Spec // in the order of the document, each complete, without Rings of its own; nil: this is the one ring
}

// Source is where the samples are: exactly one of Folder and List.
type Source struct {
	Folder     string   // directory, resolved against the spec file's
	List       string   // list file, resolved against the spec file's directory
	Root       string   // directory of the list's paths, resolved; "" is the list's own
	Extensions []string // lower case without dot; nil: every image extension that core/source knows
	Labels     Labels   // of a folder

	written struct{ folder, list, root string } // the paths as the document has them, for the hash
}

// Labels says where a folder's labels come from.
type Labels string

const (
	LabelsDirectory Labels = "directory"
	LabelsNone      Labels = "none"
)

// Order says which sample comes next.
type Order struct {
	Shuffle bool
	Seed    uint64
	Epochs  int64 // 0: endless
	Last    string
}

// The values of Order.Last.
const (
	LastCover = "cover"
	LastDrop  = "drop"
	LastPad   = "pad"
)

// World is the training run that this engine serves a part of.
type World struct {
	Size int // ranks in all
	Rank int // of this engine's lane 0
}

// Mode is what colours become.
type Mode string

const (
	RGB  Mode = "rgb"
	Gray Mode = "gray" // Pillow's L of the RGB picture
	Luma Mode = "luma" // the JPEG's own Y plane; other formats as Gray
)

// Interpolation is a resize filter, always antialiased.
type Interpolation string

const (
	Bilinear Interpolation = "bilinear"
	Bicubic  Interpolation = "bicubic"
)

// The values of Image.Layout.
const (
	NHWC = "NHWC"
	NCHW = "NCHW"
)

// Image says what a picture becomes.
type Image struct {
	Mode      Mode
	Orient    bool // apply the EXIF orientation
	Transform Transform
	DType     tensor.DType // U8, F16, BF16 or F32; zero before Validate: U8, or F32 with Normalize
	Layout    string
	MaxPixels int64 // of the picture as it is stored
}

// Transform is applied in the order of its fields. Nil and zero leave out; one of Resize, CenterCrop and RandomResizedCrop is
// there, or Resize and CenterCrop.
type Transform struct {
	Resize            *Resize
	CenterCrop        *Extent
	RandomResizedCrop *RandomResizedCrop
	HorizontalFlip    float64 // probability
	Normalize         *Normalize
}

// Extent is a size in pixels.
type Extent struct{ Height, Width int }

// Resize brings the shorter side to Short pixels, or, where that is 0, the picture to Extent.
type Resize struct {
	Short int
	Extent
	Interpolation Interpolation
}

// RandomResizedCrop takes a part of random area (a share of the picture's) and aspect ratio, and resizes it to Extent.
type RandomResizedCrop struct {
	Extent
	Scale, Ratio  [2]float64 // low, high
	Interpolation Interpolation
}

// Normalize turns x in [0, 1] into (x - Mean) / Std, one value a channel.
type Normalize struct{ Mean, Std []float64 }

// Policy says what becomes of a sample that cannot be decoded.
type Policy string

const (
	Skip       Policy = "skip"
	Mask       Policy = "mask"
	Substitute Policy = "substitute"
	Fail       Policy = "fail"
)

// BadSample is the policy and its budget, judged in ticket order.
type BadSample struct {
	Policy    Policy
	MaxCount  int64   // -1: no such budget
	MaxRate   float64 // share of the samples so far; -1: no such budget
	Probation int64   // samples before MaxRate is judged
}

// Ring is the shared memory and its groups.
type Ring struct {
	Slots        int
	Backing      string      // "memfd", "posix"; "": memfd for a child, posix for a service
	Access       string      // "private", "shared"; "": private for a child, shared for a service
	Mode         fs.FileMode // 0600 or 0640
	MaxConsumers int
	Reconnect    time.Duration // how long consumers look for a restarted engine
	Groups       []Group
}

// The values of Ring.Backing, Ring.Access, Group.Kind, Group.Mode and Group.Slow.
const (
	Memfd   = "memfd"
	Posix   = "posix"
	Private = "private"
	Shared  = "shared"

	Consumer = "consumer"
	Stage    = "stage"

	Lanes  = "lanes"
	Block  = "block"
	Drop   = "drop"
	Detach = "detach"
)

// Group is a declared group of consumers, or a stage that transforms batches before consumers see them.
type Group struct {
	Name      string
	Kind      string // "consumer" or "stage"
	Mode      string // "shared" or "lanes"
	Lanes     int    // 1 for a shared group
	Slow      string // "block", "drop" or "detach"
	Redeliver bool
}

// Limits bound what the engine takes.
type Limits struct {
	CPUs           float64 // 0: the cgroup's quota, else the affinity mask
	Fetch          int     // files read at a time
	ReadAheadBytes int64   // encoded bytes in flight
}

// Default is a spec of defaults, without a source.
func Default() *Spec {
	return &Spec{
		Source:    Source{Labels: LabelsDirectory},
		Order:     Order{Shuffle: true, Last: LastCover},
		World:     World{Size: 1},
		Batch:     32,
		Image:     Image{Mode: RGB, Layout: NHWC, MaxPixels: 178956970},
		BadSample: BadSample{Policy: Skip, MaxCount: -1, MaxRate: -1, Probation: 100},
		Ring:      Ring{Mode: 0o600, MaxConsumers: 16},
		Limits:    Limits{Fetch: 16, ReadAheadBytes: 64 << 20},
	}
}

// All is every ring of the spec: Rings, or the spec itself.
func (s *Spec) All() []*Spec {
	if s.Rings != nil {
		return s.Rings
	}
	return []*Spec{s}
}

// FullName is what a consumer attaches to: NAME, or NAME/RING.
func (s *Spec) FullName() string {
	if s.RingName == "" {
		return s.Name
	}
	return s.Name + "/" + s.RingName
}

// Lanes is the number of ranks that this engine serves: that of its lanes groups, else 1.
func (s *Spec) Lanes() int {
	for _, g := range s.Ring.Groups {
		if g.Mode == Lanes {
			return g.Lanes
		}
	}
	return 1
}

// Members is the number of consumers that the declared groups expect.
func (s *Spec) Members() int {
	n := 0
	for _, g := range s.Ring.Groups {
		n += g.Lanes
	}
	return n
}

// Channels is 3 for RGB, else 1.
func (i *Image) Channels() int {
	if i.Mode == RGB {
		return 3
	}
	return 1
}

// Output is the size of every picture after the transform; zero while the transform leaves it open.
func (t *Transform) Output() Extent {
	switch {
	case t.CenterCrop != nil:
		return *t.CenterCrop
	case t.RandomResizedCrop != nil:
		return t.RandomResizedCrop.Extent
	case t.Resize != nil && t.Resize.Short == 0:
		return t.Resize.Extent
	}
	return Extent{}
}

// RowShape is the shape of one sample: H, W, C or C, H, W by Image.Layout.
func (s *Spec) RowShape() tensor.Shape {
	out, c := s.Image.Transform.Output(), int64(s.Image.Channels())
	if s.Image.Layout == NCHW {
		return tensor.Shape{c, int64(out.Height), int64(out.Width)}
	}
	return tensor.Shape{int64(out.Height), int64(out.Width), c}
}
