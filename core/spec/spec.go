package spec

import (
	"io/fs"
	"slices"
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
	Batch     int      // rows per rank and step
	Image     *Image   // what the samples' pictures become; nil: they have none
	Video     *Video   // likewise their videos
	Audio     *Audio   // and their sounds
	Fields    []Medium // in place of these three, with names of their own
	BadSample BadSample
	Ring      Ring
	Cache     Cache
	Device    *Device // nil: batches stay in host memory
	Journal   string  // file that the engine keeps its position in; "": none
	Limits    Limits  // of the engine; the same in every ring
	HTTP      string  // of the engine: HOST:PORT or PORT; empty: no listener
	Rings     []*Spec // in the order of the document, each complete, without Rings of its own; nil: this is the one ring
}

// Source is where the samples are: exactly one of Folder, List, Shards, Arrays, Mix and Host.
type Source struct {
	Folder     string       // directory, resolved against the spec file's, or a prefix of s3://, gs:// or hf://
	List       string       // list file, resolved against the spec file's directory, or a URL
	Root       string       // directory or URL of the list's paths, resolved; "" is the list's own
	Arrays     []ArrayFiles // whole arrays; each is one of Columns, too
	Episodes   *Episodes    // of the arrays; nil: each of their files, or datasets, is one
	Shards     []string     // archives, resolved, or URLs; with braces and globs
	Extensions []string     // lower case without dot; nil: every image extension that core/source knows
	Labels     Labels       // of a folder
	ByMember   Labels       // of shards and lists: by the members' directories (of archives), or none; "": by the part or column Label
	Heading    bool         // the list's first line has its columns' names
	Names      []string     // the columns' names of a list that has no line of them
	Separator  string       // between the fields of a list with columns, one character; "": a comma of a .csv, else a tab
	Path       string       // of a table: the column that holds the paths, or what they are made of (package template); "" is path
	Image      []string     // of shards: the parts or columns that are the picture, best first; nil: by their endings
	Mix        []Part       // data sets in place of the one above
	Host       Host         // samples that the program around the engine brings
	Split      string       // of shards that have splits: the one that is read; "": train, where there is such a one
	Label      string       // of shards and tables: the part or column that is the label; "": cls or label, where there is one
	Columns    []Column     // more fields of a batch
	Index      string       // where the indexes of shards are kept
	Remote     Remote
	Packing    *Packing // rows of several samples, which are documents then; nil: a sample is a row
	Only       *Only    // the samples that there are, of those that lie there; nil: all

	// LocalTimeout is the deadline of one sample's read from a file system, no part of the hash; 0: by the kind of file system, negative: none.
	LocalTimeout time.Duration

	written written // names as the document has them, for the hash
}

// Host says what an engine must know of samples that the program around it brings.
type Host struct {
	Samples int64         // 0: none; of a stream the most that there may be
	Stream  bool          // they come one after the other, in an order of their own, up to where the program says that they end
	Timeout time.Duration // of one sample; not part of the hash; 0 of a stream, which has none
}

// written are the parts of a source that a mount may resolve otherwise.
type written struct {
	folder, list, root string
	shards             []string
}

// Column is a field of the batch that is made of a part of each sample, or of a column of a table.
type Column struct {
	Name     string
	From     string // the part or column; "" is Name
	Type     string
	MaxBytes int64        // room of one value of text
	Default  []byte       // what a sample gets that has none, as text; nil: it is a bad one
	DType    tensor.DType // of an array; 0: as the first sample has it
	Shape    tensor.Shape // of an array; nil: as the first sample has it

	// MaxLength, above 0, makes an array ragged: its first dimension differs from sample to sample up to this, and Shape is that of the others.
	MaxLength int
	Pad       []byte // of Source.Packing: what is where no document is, as text; nil: 0
	Padded    bool   // a ragged one: each row is as long as the batch's longest, and LengthOf its name says how long it was
}

// LengthOf is the name of the field of a padded column's lengths.
func LengthOf(column string) string { return column + ".length" }

// The values of Column.Type, Source.Index, Remote.Addressing and Cache.Evict.
const (
	TypeText    = "text"
	TypeI64     = "i64"
	TypeF64     = "f64"
	TypeNPY     = "npy"
	TypeList    = "list"
	IndexCache  = "cache"
	IndexBeside = "beside"
	Auto        = "auto"
	ByPath      = "path"
	ByHost      = "host"
	EvictLRU    = "lru"
	EvictNever  = "never"
)

// Remote says how http, https, s3, gs and hf are read. It does not decide what is read, so it is not part of the hash.
type Remote struct {
	Endpoint   string
	Region     string
	Profile    string
	Anonymous  bool
	Addressing string
	Timeout    time.Duration
	Retries    int
	HedgeAfter time.Duration // 0: by what reads take; negative: never
}

// Cache keeps what was read or decoded. It changes nothing but the speed, with the exception of HeadSpace.
type Cache struct {
	Dir       string // of encoded samples, resolved; "": none are kept
	MaxBytes  int64  // of all files in Dir
	Evict     string
	RowsBytes int64  // of decoded rows; 0: none are kept
	RowsDir   string // of files of decoded rows, resolved; "": they are in memory
	HeadSpace int    // global steps whose batches are repeated for ever; 0: off

	VideoIndexDir string // of the indices of videos, resolved; "": none are kept
}

// Labels says where a folder's labels come from.
type Labels string

const (
	LabelsDirectory Labels = "directory"
	LabelsNone      Labels = "none"
	LabelsNames     Labels = "names" // of a table: the names of classes, in a column
)

// Order says which sample comes next.
type Order struct {
	Shuffle bool
	Seed    uint64
	Epochs  int64 // 0: endless
	Last    string

	Filter string // expression over a sample's columns; "": every sample
	Repeat int64  // how often each sample comes in a row
	Rows   int64  // of an epoch of draws; 0: as many as samples
	Asked  bool   // of the program around the engine, one number after the other

	// At most one of these says how the shuffle is done; none: all over the data set.
	Window      int     // shards that are shuffled among each other; 0: off
	Weights     string  // column, or a file as it was written
	WeightsFile string  // where that is; "": a column
	Replacement bool    // of weighted draws
	Balance     string  // column
	Stratify    string  // column
	Group       string  // column, or a file as it was written
	GroupFile   string  // where that is; "": a column
	Buckets     Buckets // neither By nor Sizes: off
}

// Buckets makes batches of samples of similar length, or of pictures of similar shape.
type Buckets struct {
	By         string // column
	Count      int
	MaxTotal   float64 // rows x longest, or pixels, of a bucket, in a rank's batch; 0: no bound
	MultipleOf int     // that the rows of such a batch are

	Sizes         []Extent // in place of By and Count: one of these for all pictures of a batch
	Width, Height string   // columns with the size that a picture has; "": of these names, where there are such, or else the picture's head
}

// The values of Order.Last.
const (
	LastCover = "cover"
	LastDrop  = "drop"
	LastPad   = "pad"
)

// World is the training run that this engine serves a part of.
type World struct {
	Size int  // ranks in all
	Rank int  // of this engine's lane 0
	Auto bool // Size and Rank come from the launcher's environment: see ResolveWorld
}

// Mode is what colours become.
type Mode string

const (
	RGB   Mode = "rgb"
	Gray  Mode = "gray"  // Pillow's L of the RGB picture
	Luma  Mode = "luma"  // the JPEG's own Y plane; other formats as Gray
	Index Mode = "index" // the numbers that a PNG with a palette, or of greys, stores
)

// Interpolation is a resize filter: Pillow's, antialiased, or the nearest pixel; or one of cv2.resize's, or of torch's.
type Interpolation string

const (
	Bilinear          Interpolation = "bilinear"
	Bicubic           Interpolation = "bicubic"
	Nearest           Interpolation = "nearest"
	Lanczos           Interpolation = "lanczos"
	BoxFilter         Interpolation = "box"
	HammingFilter     Interpolation = "hamming"
	CV2Linear         Interpolation = "cv2_linear"
	CV2Nearest        Interpolation = "cv2_nearest"
	CV2Area           Interpolation = "cv2_area"
	CV2Cubic          Interpolation = "cv2_cubic"
	CV2Lanczos4       Interpolation = "cv2_lanczos4"
	TorchNearest      Interpolation = "torch_nearest"
	TorchBilinear     Interpolation = "torch_bilinear"
	TorchBicubic      Interpolation = "torch_bicubic"
	TorchLanczos      Interpolation = "torch_lanczos"
	TorchNearestExact Interpolation = "torch_nearest_exact"
)

// The values of Image.Layout.
const (
	NHWC = "NHWC"
	NCHW = "NCHW"
)

// Image says what a picture becomes.
type Image struct {
	From      []string // the part or column that it is, best first; nil: by the source's rule
	Mode      Mode
	Orient    bool // apply the EXIF orientation
	Transform Transform
	DType     tensor.DType // U8, F16, BF16 or F32; zero before Validate: U8, or F32 with Normalize
	Layout    string
	MaxPixels int64 // of the picture as it is stored
	Affine    bool  // a batch says where each picture's points lie in its row, and the picture's size

	Shape      Cut    // Padded or Ragged; empty: rows have the size that Transform says
	Room       Extent // of these, for what a row has memory: of Padded for these sides, of Ragged for so many pixels; zero before Validate: what Transform bounds
	MultipleOf int    // of Padded: that the batch's sides are; 0: nothing asked

	Boxes  *Boxes
	Points *Points
	Many   *Many // a sample has several pictures; nil: one

	Patches *Patches // a row is the patches of a picture of its own size, and Shape is Ragged, however they lie; nil: lines of pixels
}

// Transform is the geometry, with steps around it, then Normalize and RandomErasing. Nil leaves out; one of Resize, CenterCrop, RandomCrop and
// RandomResizedCrop is there, or Resize, RandomResize, RandomShortestSize or ScaleJitter and CenterCrop or RandomCrop; or Tiles, with Normalize alone.
type Transform struct {
	Tiles              *Tiles // image.tiles
	Resize             *Resize
	RandomResize       *RandomResize
	RandomShortestSize *RandomShortestSize
	ScaleJitter        *ScaleJitter
	Pad                *Pad // of Resize to an Extent
	CenterCrop         *CenterCrop
	RandomCrop         *RandomCrop
	RandomResizedCrop  *RandomResizedCrop
	Ahead              []Step // in their order, those that are done to the picture as it is decoded,
	Resized            []Step // to what Resize, RandomResize or ScaleJitter made of it,
	Steps              []Step // and to the row
	Normalize          *Normalize
	RandomErasing      *RandomErasing // of the finished row

	Buckets []Extent // that Extents above may stand for (ofBucket), once the order is known
}

// Extent is a size in pixels.
type Extent struct {
	Height int `json:"height"`
	Width  int `json:"width"`
}

// CenterCrop takes the middle of the picture, or a corner of it; Border lies around a smaller one.
type CenterCrop struct {
	Extent
	Border
	Position string // one of positions; "": the middle
	Down     bool   // of the middle: half of an odd number of pixels is rounded down, not to even
}

// RandomCrop takes a part of Extent anywhere in the picture with Padding of Border around it.
type RandomCrop struct {
	Extent
	Padding Sides
	Border
}

// RandomResizedCrop takes a part of random area (a share of the picture's) and aspect ratio, and resizes it to Extent.
type RandomResizedCrop struct {
	Extent
	Scale, Ratio  [2]float64 // low, high
	PartHeight    [2]int     // in place of Scale: pixels of the part, low, high, which is then Ratio times as wide; zeros: by Scale
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
	Hash         string        // "none", "xxh3"
	Delivery     string        // "ordered", "ready"
	Ahead        int           // of ready: how many batches before an earlier one that is not finished; 0: half the slots
	Reconnect    time.Duration // how long consumers look for a restarted engine
	Groups       []Group
}

// The values of Ring.Backing, Ring.Access, Ring.Delivery, Ring.Hash, Group.Kind, Group.Mode and Group.Slow.
const (
	Memfd   = "memfd"
	Posix   = "posix"
	Private = "private"
	Shared  = "shared"

	Ordered = "ordered"
	Ready   = "ready"

	NoHash = "none"
	XXH3   = "xxh3"

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
	CPUs           float64 // 0: CPUShare says, else the cgroup's quota, else the affinity mask
	CPUShare       float64 // of what the cgroup and the affinity mask leave it, above 0 to 1; 0: none
	Memory         int64   // resident bytes, rings included; 0: no bound
	Fetch          int     // files read at a time
	FetchAuto      bool    // Fetch is where it begins; how many it becomes is found while running
	ReadAheadBytes int64   // encoded bytes in flight
}

// Default is a spec of defaults, without a source.
func Default() *Spec {
	return &Spec{
		Source:    defaultSource(),
		Order:     Order{Shuffle: true, Last: LastCover, Repeat: 1, Replacement: true, Buckets: noBuckets()},
		World:     World{Size: 1},
		Batch:     32,
		Image:     defaultImage(),
		BadSample: BadSample{Policy: Skip, MaxCount: -1, MaxRate: -1, Probation: 100},
		Ring:      Ring{Mode: 0o600, MaxConsumers: 16, Delivery: Ordered, Hash: NoHash},
		Cache:     Cache{MaxBytes: 10 << 30, Evict: EvictLRU},
		Limits:    Limits{Fetch: 16, ReadAheadBytes: 64 << 20},
	}
}

func defaultImage() *Image {
	return &Image{Mode: RGB, Layout: NHWC, MaxPixels: 178956970}
}

func defaultSource() Source {
	return Source{Labels: LabelsDirectory, Index: IndexCache, Remote: Remote{Addressing: Auto, Timeout: time.Minute, Retries: 5}}
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

// Output is the size of every picture, or tile, after the transform, of several the one of most pixels; zero while, or where, the transform leaves it open.
func (t *Transform) Output() (e Extent) {
	if !t.Bucketed() {
		return t.output()
	}
	for _, size := range t.Buckets {
		in := t.In(size)
		if out := in.output(); out.pixels() > e.pixels() {
			e = out
		}
	}
	return e
}

func (t *Transform) output() Extent {
	switch {
	case t.Tiles != nil:
		return Extent{t.Tiles.Size, t.Tiles.Size}
	case t.CenterCrop != nil:
		return t.CenterCrop.Extent
	case t.RandomCrop != nil:
		return t.RandomCrop.Extent
	case t.RandomResizedCrop != nil:
		return t.RandomResizedCrop.Extent
	case t.Resize != nil && t.Resize.Exact():
		return t.padded(t.Resize.Extent)
	}
	return Extent{}
}

func (t *Transform) padded(e Extent) Extent {
	if p := t.Pad; p != nil {
		e.Height, e.Width = e.Height+p.Top+p.Bottom, e.Width+p.Left+p.Right
	}
	return e
}

// Filter is how it resizes; bilinear where it does not.
func (t *Transform) Filter() Interpolation {
	switch {
	case t.Tiles != nil:
		return t.Tiles.Interpolation
	case t.RandomResizedCrop != nil:
		return t.RandomResizedCrop.Interpolation
	case t.Resize != nil:
		return t.Resize.Interpolation
	case t.RandomResize != nil:
		return t.RandomResize.Interpolation
	case t.RandomShortestSize != nil:
		return t.RandomShortestSize.Interpolation
	case t.ScaleJitter != nil:
		return t.ScaleJitter.Interpolation
	}
	return Bilinear
}

// random reports whether it draws by chance.
func (t *Transform) random() bool {
	return t.RandomResize != nil || t.RandomShortestSize != nil || t.ScaleJitter != nil || t.RandomCrop != nil || t.RandomResizedCrop != nil || t.RandomErasing != nil || slices.ContainsFunc(t.all(), Step.random)
}

// RowShape is the shape of one picture of the section image.
func (s *Spec) RowShape() tensor.Shape { return s.Image.RowShape() }

// RowShape is the shape of one picture, or tile: H, W, C or C, H, W by Layout; of one that keeps its size that of the room for it, ragged [pixels, C]; of patches [patches, elements of one].
func (i *Image) RowShape() tensor.Shape {
	out, c := i.Transform.Output(), int64(i.Channels())
	switch {
	case i.Patches != nil:
		return i.patchShape()
	case i.Shape == Ragged:
		return tensor.Shape{int64(i.Room.Height) * int64(i.Room.Width), c}
	case i.Shape == Padded:
		out = i.Room
	}
	if i.Layout == NCHW {
		return tensor.Shape{c, int64(out.Height), int64(out.Width)}
	}
	return tensor.Shape{int64(out.Height), int64(out.Width), c}
}
