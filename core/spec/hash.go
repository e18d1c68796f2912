package spec

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"

	"github.com/spdl/spdl/core/tensor"
)

// The canonical form is the part of a description that decides which bytes come in which order, defaults filled in. Its names are what the
// hash is made of: they do not follow changes of the Go types.
type canonicalDocument struct {
	Spec  int                      `json:"spec"`
	Rings map[string]canonicalRing `json:"rings"` // a ring that is the only one has the name ""
}

type canonicalRing struct {
	Source    canonicalSource   `json:"source"`
	Order     canonicalOrder    `json:"order"`
	World     canonicalWorld    `json:"world"`
	Batch     int               `json:"batch"`
	Image     *canonicalImage   `json:"image,omitempty"`
	Video     *canonicalVideo   `json:"video,omitempty"`
	Audio     *canonicalAudio   `json:"audio,omitempty"`
	Fields    []canonicalMedium `json:"fields,omitempty"`
	BadSample canonicalBad      `json:"bad_sample"`
	HeadSpace int               `json:"head_space,omitempty"`
	Delivery  string            `json:"delivery,omitempty"` // "": ordered

	Finish *canonicalFinish `json:"finish,omitempty"` // on a device
	Decode string           `json:"decode,omitempty"` // by a device
}

type canonicalSource struct {
	Folder     string   `json:"folder"`
	List       string   `json:"list"`
	Root       string   `json:"root"`
	Extensions []string `json:"extensions"`
	Labels     Labels   `json:"labels"`

	// A source without these has the hash that it had before there were any.
	Shards  []string          `json:"shards,omitempty"`
	Path    string            `json:"path,omitempty"`
	Image   []string          `json:"image,omitempty"`
	Label   string            `json:"label,omitempty"`
	Split   string            `json:"split,omitempty"`
	Columns []canonicalColumn `json:"columns,omitempty"`
	Mix     []canonicalPart   `json:"mix,omitempty"`
	Host    int64             `json:"host,omitempty"` // samples
	Stream  bool              `json:"stream,omitempty"`
	Members Labels            `json:"member_labels,omitempty"`
	Arrays  []canonicalArray  `json:"arrays,omitempty"`
	Heading bool              `json:"heading,omitempty"`
	Names   []string          `json:"names,omitempty"`
	Between string            `json:"separator,omitempty"`
	Packing *canonicalPacking `json:"packing,omitempty"`

	Episodes *canonicalEpisodes `json:"episodes,omitempty"`
	Only     *canonicalOnly     `json:"only,omitempty"`
}

type canonicalPart struct {
	Source  canonicalSource `json:"source"`
	Weights []Phase         `json:"weights"`
}

type canonicalColumn struct {
	Name     string        `json:"name"`
	From     string        `json:"from"`
	Type     string        `json:"type"`
	MaxBytes int64         `json:"max_bytes"`
	Default  *string       `json:"default,omitempty"` // nil: not given
	DType    string        `json:"dtype,omitempty"`
	Shape    *tensor.Shape `json:"shape,omitempty"` // nil: not given
	Length   int           `json:"max_length,omitempty"`
	Padded   bool          `json:"padded,omitempty"`
	Pad      string        `json:"pad,omitempty"`
}

type canonicalOrder struct {
	Shuffle bool   `json:"shuffle"`
	Seed    uint64 `json:"seed"`
	Epochs  int64  `json:"epochs"`
	Last    string `json:"last"`

	Filter      string `json:"filter,omitempty"`
	Repeat      int64  `json:"repeat,omitempty"` // 0: once
	Rows        int64  `json:"rows,omitempty"`
	Window      int    `json:"window,omitempty"`
	Weights     string `json:"weights,omitempty"`
	Distinct    bool   `json:"distinct,omitempty"` // draws without replacement
	Asked       bool   `json:"asked,omitempty"`
	Balance     string `json:"balance,omitempty"`
	Stratify    string `json:"stratify,omitempty"`
	Group       string `json:"group,omitempty"`
	BucketsBy   string `json:"buckets_by,omitempty"`
	BucketCount int    `json:"bucket_count,omitempty"`

	MaxTotal   float64 `json:"max_total,omitempty"`
	MultipleOf int     `json:"multiple_of,omitempty"` // 0: 1

	BucketSizes   [][2]int   `json:"bucket_sizes,omitempty"`   // height, width
	BucketColumns *[2]string `json:"bucket_columns,omitempty"` // width, height; nil: not given
}

func (o *Order) canonical() canonicalOrder {
	c := canonicalOrder{
		Shuffle: o.Shuffle, Seed: o.Seed, Epochs: o.Epochs, Last: o.Last, Filter: o.Filter, Rows: o.Rows, Window: o.Window,
		Weights: o.Weights, Distinct: o.Weights != "" && !o.Replacement, Asked: o.Asked, Balance: o.Balance, Stratify: o.Stratify, Group: o.Group, BucketsBy: o.Buckets.By,
	}
	if o.Repeat > 1 {
		c.Repeat = o.Repeat
	}
	if o.WeightsFile != "" {
		c.Weights = numbersEnding // what a file says the engine adds, wherever it lies
	}
	if o.GroupFile != "" {
		c.Group = numbersEnding
	}
	if c.BucketsBy != "" {
		c.BucketCount, c.MaxTotal = o.Buckets.Count, o.Buckets.MaxTotal
	}
	for _, e := range o.Buckets.Sizes {
		c.BucketSizes, c.MaxTotal = append(c.BucketSizes, [2]int{e.Height, e.Width}), o.Buckets.MaxTotal
	}
	if o.Buckets.Width != "" {
		c.BucketColumns = &[2]string{o.Buckets.Width, o.Buckets.Height}
	}
	if o.Buckets.MultipleOf > 1 {
		c.MultipleOf = o.Buckets.MultipleOf
	}
	return c
}

type canonicalWorld struct {
	Size int `json:"size"`
	Rank int `json:"rank"`
}

type canonicalBad struct {
	Policy    Policy  `json:"policy"`
	MaxCount  int64   `json:"max_count"`
	MaxRate   float64 `json:"max_rate"`
	Probation int64   `json:"probation"`
}

type canonicalImage struct {
	From        []string       `json:"from,omitempty"`
	Mode        Mode           `json:"mode"`
	Orientation bool           `json:"orientation"`
	Resize      *canonicalCrop `json:"resize"`
	CenterCrop  *canonicalCrop `json:"center_crop"`
	RandomCrop  *canonicalCrop `json:"random_resized_crop"`
	Mean        []float64      `json:"mean"`
	Std         []float64      `json:"std"`
	DType       string         `json:"dtype"`
	Layout      string         `json:"layout"`
	MaxPixels   int64          `json:"max_pixels"`

	// A transform without these has the hash that it had before there were any.
	RandomPart   *canonicalAnywhere  `json:"random_crop,omitempty"`
	Pad          *canonicalPad       `json:"pad,omitempty"`
	Erasing      *RandomErasing      `json:"random_erasing,omitempty"`
	Affine       bool                `json:"affine,omitempty"`
	Boxes        *Boxes              `json:"boxes,omitempty"`
	Points       *Points             `json:"points,omitempty"`
	Many         *Many               `json:"many,omitempty"`
	Tiles        *Tiles              `json:"tiles,omitempty"`
	Patches      *Patches            `json:"patches,omitempty"`
	RandomResize *canonicalSizes     `json:"random_resize,omitempty"`
	ScaleJitter  *canonicalScale     `json:"scale_jitter,omitempty"`
	RandomShort  *RandomShortestSize `json:"random_shortest_size,omitempty"`
	Ahead        []map[string]Step   `json:"ahead,omitempty"`
	Resized      []map[string]Step   `json:"resized,omitempty"`
	Steps        []map[string]Step   `json:"steps,omitempty"`
	Shape        Cut                 `json:"shape,omitempty"`
	Room         *Extent             `json:"room,omitempty"`
	MultipleOf   int                 `json:"multiple_of,omitempty"`
}

type canonicalSizes struct {
	MinSize       int           `json:"min_size"`
	MaxSize       int           `json:"max_size"`
	Interpolation Interpolation `json:"interpolation"`
}

// canonicalAnywhere has Padding where it is the same on all sides, else Sides.
type canonicalAnywhere struct {
	Height  int    `json:"height"`
	Width   int    `json:"width"`
	Padding int    `json:"padding"`
	Fill    *Fill  `json:"fill,omitempty"`
	Sides   *Sides `json:"sides,omitempty"`
	Mode    string `json:"padding_mode,omitempty"`
}

func (r *RandomCrop) canonical() *canonicalAnywhere {
	if r == nil {
		return nil
	}
	c := &canonicalAnywhere{Height: r.Height, Width: r.Width, Padding: r.Padding.Left, Fill: r.Fill, Mode: r.Mode}
	if n := c.Padding; r.Padding != (Sides{n, n, n, n}) {
		c.Padding, c.Sides = 0, &r.Padding
	}
	return c
}

type canonicalPad struct {
	Sides Sides  `json:"sides"`
	Fill  *Fill  `json:"fill,omitempty"`
	Mode  string `json:"padding_mode,omitempty"`
}

type canonicalScale struct {
	Height        int           `json:"height"`
	Width         int           `json:"width"`
	Scale         [2]float64    `json:"scale"`
	Interpolation Interpolation `json:"interpolation"`
}

// canonicalMedium is one of fields.
type canonicalMedium struct {
	Name  string          `json:"name"`
	Image *canonicalImage `json:"image,omitempty"`
	Video *canonicalVideo `json:"video,omitempty"`
	Audio *canonicalAudio `json:"audio,omitempty"`
	Own   bool            `json:"own,omitempty"`
}

type canonicalCrop struct {
	Short         int           `json:"short"`
	Height        int           `json:"height"`
	Width         int           `json:"width"`
	Scale         [2]float64    `json:"scale"`
	Ratio         [2]float64    `json:"ratio"`
	Interpolation Interpolation `json:"interpolation"`
	Fill          *Fill         `json:"fill,omitempty"`
	MaxSize       int           `json:"max_size,omitempty"`
	Fit           *canonicalFit `json:"fit,omitempty"`
	Mode          string        `json:"padding_mode,omitempty"`
	Position      string        `json:"position,omitempty"`
	Area          *ByArea       `json:"area,omitempty"`
	Rounded       bool          `json:"rounded,omitempty"` // another way than the usual one
	DETR          bool          `json:"detr,omitempty"`
	YOLOS         bool          `json:"yolos,omitempty"`
	PartHeight    *[2]int       `json:"part_height,omitempty"` // nil: by scale
}

type canonicalFit struct {
	Contain bool `json:"contain"`
	Corner  bool `json:"corner"`
	Shrink  bool `json:"shrink"`

	// A fit without these has the hash that it had before there were any.
	Letterbox bool `json:"letterbox,omitempty"`
	Cover     bool `json:"cover,omitempty"`
}

// Canonical is the description as JSON with its defaults filled in: source, order, world, batch, image, video, audio and fields, and bad_sample of every ring.
// Paths are as they were written, so that it does not depend on where a directory was mounted.
func (s *Spec) Canonical() []byte {
	doc := canonicalDocument{Spec: 1, Rings: map[string]canonicalRing{}}
	for _, r := range s.All() {
		name := r.RingName
		if s.Rings == nil {
			name = ""
		}
		doc.Rings[name] = r.canonical()
	}
	return marshal(doc)
}

// Hash is the SHA-256 of Canonical: two engines with equal hashes deliver equal batches, given equal files.
func (s *Spec) Hash() [sha256.Size]byte { return sha256.Sum256(s.Canonical()) }

// SourceHash is the SHA-256 of the description's source, and OrderHash of its order without the number of epochs. Neither changes with the
// world size, the batch, the image or the number of epochs, so that a checkpoint can go on with others.
func (s *Spec) SourceHash() [sha256.Size]byte {
	return sha256.Sum256(marshal(s.Source.canonical()))
}

// RowHash is the SHA-256 of what decides the bytes of a row of a given sample: the source and the media.
func (s *Spec) RowHash() [sha256.Size]byte {
	c := s.canonical()
	return sha256.Sum256(marshal(struct {
		Source canonicalSource   `json:"source"`
		Image  *canonicalImage   `json:"image,omitempty"`
		Video  *canonicalVideo   `json:"video,omitempty"`
		Audio  *canonicalAudio   `json:"audio,omitempty"`
		Fields []canonicalMedium `json:"fields,omitempty"`
	}{c.Source, c.Image, c.Video, c.Audio, c.Fields}))
}

// OrderHash: see SourceHash.
func (s *Spec) OrderHash() [sha256.Size]byte {
	c := s.Order.canonical()
	c.Epochs = 0
	c.MaxTotal, c.MultipleOf = 0, 0 // which follow the world size, as batch does; the engine adds the rows that they make of a step
	return sha256.Sum256(marshal(c))
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of finite numbers and strings always marshal
	}
	return b
}

func (s *Source) canonical() canonicalSource {
	w := s.written
	shards := w.shards
	if shards == nil {
		shards = s.Shards
	}
	c := canonicalSource{
		Folder: cmp.Or(w.folder, s.Folder), List: cmp.Or(w.list, s.List), Root: cmp.Or(w.root, s.Root),
		Extensions: s.Extensions, Labels: s.Labels, Shards: shards, Path: s.Path, Image: s.Image, Label: s.Label, Split: s.Split,
		Host: s.Host.Samples, Stream: s.Host.Stream, Members: s.ByMember, Heading: s.Heading, Names: s.Names, Between: s.Separator, Packing: (*canonicalPacking)(s.Packing),
		Episodes: s.Episodes.canonical(), Only: s.Only.canonical(),
	}
	for _, column := range s.Columns {
		one := canonicalColumn{Name: column.Name, From: cmp.Or(column.From, column.Name), Type: column.Type, MaxBytes: column.MaxBytes, Length: column.MaxLength, Padded: column.Padded, Pad: string(column.Pad)}
		if column.DType != 0 {
			one.DType = column.DType.String()
		}
		if column.Default != nil {
			text := string(column.Default)
			one.Default = &text
		}
		if column.Shape != nil {
			one.Shape = &column.Shape
		}
		c.Columns = append(c.Columns, one)
	}
	for i := range s.Arrays {
		c.Arrays = append(c.Arrays, s.Arrays[i].canonical())
	}
	for i := range s.Mix {
		c.Mix = append(c.Mix, canonicalPart{s.Mix[i].Source.canonical(), s.Mix[i].Weights})
	}
	return c
}

func (s *Spec) canonical() canonicalRing {
	delivery := s.Ring.Delivery
	if delivery == Ordered {
		delivery = ""
	}
	c := canonicalRing{
		Source:    s.Source.canonical(),
		Order:     s.Order.canonical(),
		World:     canonicalWorld{s.World.Size, s.World.Rank},
		Batch:     s.Batch,
		Image:     s.Image.canonical(),
		Video:     s.Video.canonical(),
		Audio:     s.Audio.canonical(),
		BadSample: canonicalBad(s.BadSample),
		HeadSpace: s.Cache.HeadSpace,
		Delivery:  delivery,
		Finish:    s.Device.canonical(),
		Decode:    s.Device.canonicalDecoder(),
	}
	for _, m := range s.Fields {
		c.Fields = append(c.Fields, canonicalMedium{m.Name, m.Image.canonical(), m.Video.canonical(), m.Audio.canonical(), m.Own})
	}
	return c
}

func (i *Image) canonical() *canonicalImage {
	if i == nil {
		return nil
	}
	c := &canonicalImage{
		From: i.From, Mode: i.Mode, Orientation: i.Orient, DType: i.DType.String(), Layout: i.Layout, MaxPixels: i.MaxPixels,
		Affine: i.Affine, Boxes: i.Boxes, Points: i.Points, Many: i.Many, Tiles: i.Transform.Tiles, Patches: i.Patches, Erasing: i.Transform.RandomErasing,
		Ahead: canonicalSteps(i.Transform.Ahead), Resized: canonicalSteps(i.Transform.Resized), Steps: canonicalSteps(i.Transform.Steps),
	}
	if i.Open() {
		c.Shape, c.Room, c.MultipleOf = i.Shape, &i.Room, i.MultipleOf
	}
	if r := i.Transform.Resize; r != nil {
		c.Resize = &canonicalCrop{Short: r.Short, Height: r.Height, Width: r.Width, Interpolation: r.Interpolation, Fill: r.Fill, MaxSize: r.MaxSize, Area: r.Area, Rounded: r.Nearest, DETR: r.DETR, YOLOS: r.YOLOS}
		if r.Fit != (Fit{}) {
			c.Resize.Fit = (*canonicalFit)(&r.Fit)
		}
	}
	if e := i.Transform.CenterCrop; e != nil {
		c.CenterCrop = &canonicalCrop{Height: e.Height, Width: e.Width, Fill: e.Fill, Mode: e.Mode, Position: e.Position, Rounded: e.Down}
	}
	if r := i.Transform.RandomResizedCrop; r != nil {
		c.RandomCrop = &canonicalCrop{Height: r.Height, Width: r.Width, Scale: r.Scale, Ratio: r.Ratio, Interpolation: r.Interpolation}
		if r.PartHeight != [2]int{} {
			c.RandomCrop.PartHeight = &r.PartHeight
		}
	}
	c.RandomPart = i.Transform.RandomCrop.canonical()
	if p := i.Transform.Pad; p != nil {
		c.Pad = &canonicalPad{p.Sides, p.Fill, p.Mode}
	}
	c.RandomResize = (*canonicalSizes)(i.Transform.RandomResize)
	c.RandomShort = i.Transform.RandomShortestSize
	if j := i.Transform.ScaleJitter; j != nil {
		c.ScaleJitter = &canonicalScale{j.Height, j.Width, j.Scale, j.Interpolation}
	}
	if n := i.Transform.Normalize; n != nil {
		c.Mean, c.Std = n.Mean, n.Std
	}
	return c
}
