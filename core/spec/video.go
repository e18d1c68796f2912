package spec

import (
	"fmt"
	"math"
	"time"
)

const (
	maxFrames = 1 << 20
	maxChosen = 4096 // indices or times in a list
	maxFilter = 4096 // bytes of a description of filters
)

// The ways to choose frames, Selection.Kind. Those of clips are torchcodec's samplers.
const (
	SelectAll       = "all"
	SelectUniform   = "uniform"
	SelectSegments  = "segments"
	SelectEvery     = "every"
	SelectIndices   = "indices"
	SelectTimes     = "times"
	SelectFPS       = "fps"
	SelectKeyFrames = "keyframes"

	ClipsAtRandomIndices  = "clips_at_random_indices"
	ClipsAtRegularIndices = "clips_at_regular_indices"
	ClipsAtRandomTimes    = "clips_at_random_timestamps"
	ClipsAtRegularTimes   = "clips_at_regular_timestamps"
)

// The values of Video.Layout, Video.Over, Video.Colour, Video.Scaler and Selection.Policy.
const (
	NTHWC = "NTHWC"
	NTCHW = "NTCHW"
	NCTHW = "NCTHW"

	CutOff = "cut"

	Accurate   = "accurate"
	Torchcodec = "torchcodec"

	Pillow = "pillow"
	Area   = "area"

	RepeatLast = "repeat_last"
	WrapClip   = "wrap"
	ClipError  = "error"
)

// Video says which frames of a video a row has, and what each of them becomes.
type Video struct {
	From        []string // the part or column that it is, best first; nil: by the source's rule
	Frame       Image    // of each frame; Layout is not used, Orient is the display matrix's
	Frames      int      // room of a row
	Select      Selection
	Window      Window
	Shape       Cut
	Over        string // what becomes of more frames than there is room for: Refuse or CutOff
	Layout      string
	Colour      string
	Scaler      string
	Stream      int // number in the file plus one; 0: the best
	Threads     int // of a decoder
	Approximate bool
	Filter      string // FFmpeg's description of filters; "": none
	Hardware    string // NoHardware, Auto or FFmpeg's name of a kind
	Timeout     time.Duration
}

// NoHardware is the value of Video.Hardware that decodes on the processor.
const NoHardware = "none"

// Selection says which frames are chosen; its parts are core/media/video's Selection.
type Selection struct {
	Kind         string    `json:"kind"`
	Step         int       `json:"step,omitempty"`
	Rate         float64   `json:"rate,omitempty"`
	Indices      []int     `json:"indices,omitempty"`
	Times        []float64 `json:"times,omitempty"`
	Nearest      bool      `json:"nearest,omitempty"`
	Column       string    `json:"column,omitempty"` // of times or indices: it names them, of each sample; Times and Indices are then added to its number
	Clamp        bool      `json:"clamp,omitempty"`  // of times and indices: what is beyond the first or the last frame is that one
	Random       bool      `json:"random,omitempty"`
	Clips        int       `json:"num_clips"`
	ClipFrames   int       `json:"num_frames_per_clip"`
	Between      int       `json:"num_indices_between_frames"`
	BetweenSecs  float64   `json:"seconds_between_frames,omitempty"`
	BetweenClips float64   `json:"seconds_between_clip_starts,omitempty"`
	From         *float64  `json:"sampling_range_start,omitempty"`
	To           *float64  `json:"sampling_range_end,omitempty"`
	Policy       string    `json:"policy"`
}

func defaultVideo() *Video {
	return &Video{
		Frame:  Image{Mode: RGB, Orient: true, Layout: NHWC, MaxPixels: 178956970},
		Select: newSelection(SelectUniform), Shape: Fixed, Over: Refuse, Layout: NTHWC, Colour: Torchcodec, Scaler: Pillow, Threads: 1, Hardware: NoHardware,
		Timeout: time.Minute,
	}
}

func newSelection(kind string) Selection {
	return Selection{Kind: kind, Clips: 1, ClipFrames: 1, Between: 1, Policy: RepeatLast}
}

// video reads the section over what above already says; nil: nothing.
func (d *decoder) video(s *section, above *Video) *Video {
	v := defaultVideo()
	if above != nil {
		*v = *above
	}
	rotation, seek := "", ""
	s.from(&v.From)
	whole(s, "frames", &v.Frames, 1, maxFrames)
	if s.has("select") {
		v.Select = d.selection(s)
	}
	if s.has("window") {
		v.Window = d.window(s)
	}
	choice(s, "shape", &v.Shape, Fixed, Padded, Ragged)
	choice(s, "over", &v.Over, Refuse, CutOff)
	choice(s, "mode", &v.Frame.Mode, RGB, Gray)
	choice(s, "rotation", &rotation, "apply", "ignore")
	if rotation != "" {
		v.Frame.Orient = rotation == "apply"
	}
	d.filter(s, &v.Filter)
	d.pixels(s, &v.Frame)
	choice(s, "layout", &v.Layout, NTHWC, NTCHW, NCTHW)
	choice(s, "colour", &v.Colour, Torchcodec, Accurate)
	choice(s, "scaler", &v.Scaler, Pillow, string(Bilinear), string(Bicubic), Area)
	stream := v.Stream - 1
	whole(s, "stream", &stream, 0, 1<<16)
	v.Stream = stream + 1
	whole(s, "threads", &v.Threads, 1, 64)
	choice(s, "seek", &seek, "exact", "approximate")
	if seek != "" {
		v.Approximate = seek == "approximate"
	}
	choice(s, "hardware", &v.Hardware, NoHardware, Auto, "cuda", "vaapi", "vdpau", "qsv", "drm")
	s.duration("timeout", "a duration such as 500ms, 30s or 5m, above 0", &v.Timeout, 1, math.MaxInt64)
	return v
}

// filter reads a description of FFmpeg's filters; what it says is FFmpeg's to check.
func (d *decoder) filter(s *section, dst *string) {
	s.text("filter", dst)
	if len(*dst) > maxFilter {
		s.fail("filter", "got %d bytes, want at most %d", len(*dst), maxFilter)
	}
}

func (d *decoder) window(s *section) (w Window) {
	sec := d.below(s, "window")
	sec.duration("start", "a time such as 1.5s, from 0; a column that says it is start_column", &w.Start, 0, maxWindow9)
	sec.duration("duration", "a time such as 10s, above 0; a column that says it is duration_column, or end_column where the part ends", &w.Duration, 1, maxWindow9)
	sec.text("start_column", &w.StartColumn)
	sec.text("duration_column", &w.DurationColumn)
	sec.text("end_column", &w.EndColumn)
	for _, key := range []string{"start", "duration"} {
		if column := key + "_column"; sec.has(column) && d.empty == emptySample {
			sec.fail(column, "is of a ring's samples, which have columns; say %s: 1.5s", key)
		} else if sec.has(column) && sec.has(key) {
			sec.fail(column, "given beside %s; leave one of them out", key)
		}
	}
	switch {
	case !sec.has("end_column"):
	case d.empty == emptySample:
		sec.fail("end_column", "is of a ring's samples, which have columns; say duration: 1.5s")
	case sec.has("duration_column"):
		sec.fail("end_column", "given beside duration_column, which says the same; leave one of them out")
	case sec.has("duration"):
		sec.fail("end_column", "given beside duration, which says the same; leave one of them out")
	}
	return w
}

// selectKeys are the keys that go with a way to choose frames, those without which it makes no sense first.
var selectKeys = map[string]struct{ needs, takes []string }{
	SelectAll: {}, SelectUniform: {}, SelectKeyFrames: {},
	SelectSegments:        {takes: []string{"random"}},
	SelectEvery:           {needs: []string{"step"}},
	SelectIndices:         {needs: []string{"indices"}, takes: []string{"column", "policy"}},
	SelectTimes:           {needs: []string{"times"}, takes: []string{"column", "nearest", "policy"}},
	SelectFPS:             {needs: []string{"rate"}, takes: []string{"nearest"}},
	ClipsAtRandomIndices:  {takes: []string{"num_clips", "num_frames_per_clip", "num_indices_between_frames", "sampling_range_start", "sampling_range_end", "policy"}},
	ClipsAtRegularIndices: {takes: []string{"num_clips", "num_frames_per_clip", "num_indices_between_frames", "sampling_range_start", "sampling_range_end", "policy"}},
	ClipsAtRandomTimes:    {takes: []string{"num_clips", "num_frames_per_clip", "seconds_between_frames", "sampling_range_start", "sampling_range_end", "policy"}},
	ClipsAtRegularTimes: {needs: []string{"seconds_between_clip_starts"},
		takes: []string{"num_frames_per_clip", "seconds_between_frames", "sampling_range_start", "sampling_range_end", "policy"}},
}

func (d *decoder) selection(s *section) Selection {
	c := newSelection("")
	sec := d.below(s, "select")
	choice(&sec, "kind", &c.Kind, SelectUniform, SelectAll, SelectSegments, SelectEvery, SelectIndices, SelectTimes, SelectFPS, SelectKeyFrames,
		ClipsAtRandomIndices, ClipsAtRegularIndices, ClipsAtRandomTimes, ClipsAtRegularTimes)
	whole(&sec, "step", &c.Step, 1, maxFrames)
	sec.number("rate", &c.Rate, 1e-6, 1e6)
	for i, n := range sec.items("indices", "a list of whole numbers; negative ones count from the end", maxChosen) {
		v, _ := d.whole(n, fmt.Sprintf("%s[%d]", join(sec.shown, "indices"), i), -maxFrames, maxFrames)
		c.Indices = append(c.Indices, int(v))
	}
	for i, n := range sec.items("times", "a list of seconds", maxChosen) {
		v, _ := d.number(n, fmt.Sprintf("%s[%d]", join(sec.shown, "times"), i), -1e9, 1e9)
		c.Times = append(c.Times, v)
	}
	sec.text("column", &c.Column)
	if c.Column != "" && d.empty == emptySample {
		sec.fail("column", "is of a ring's samples, which have columns; say times: [0.5], or indices: [3]")
	}
	sec.flag("nearest", &c.Nearest)
	sec.flag("random", &c.Random)
	whole(&sec, "num_clips", &c.Clips, 1, maxChosen)
	whole(&sec, "num_frames_per_clip", &c.ClipFrames, 1, maxFrames)
	whole(&sec, "num_indices_between_frames", &c.Between, 1, maxFrames)
	sec.number("seconds_between_frames", &c.BetweenSecs, 1e-6, 1e9)
	sec.number("seconds_between_clip_starts", &c.BetweenClips, 1e-6, 1e9)
	sec.optional("sampling_range_start", &c.From)
	sec.optional("sampling_range_end", &c.To)
	choice(&sec, "policy", &c.Policy, RepeatLast, WrapClip, ClipError)
	d.checkSelection(s, &sec, &c)
	if c.Kind == SelectTimes || c.Kind == SelectIndices {
		c.clamp(&sec)
	}
	return c
}

// optional reads a number that has no default.
func (s *section) optional(key string, dst **float64) {
	if s.has(key) {
		*dst = new(float64)
		s.number(key, *dst, -1e9, 1e9)
	}
}

// checkSelection refuses keys that do not go with the kind, and asks for those that it needs.
func (d *decoder) checkSelection(s, sec *section, c *Selection) {
	if d.err == nil && c.Kind == "" {
		s.fail("select", "kind is missing, want uniform, all, segments, every, indices, times, fps, keyframes or one of the clips")
	}
	if d.err != nil {
		return
	}
	goes := map[string]bool{"kind": true}
	for _, key := range selectKeys[c.Kind].takes {
		goes[key] = true
	}
	for _, key := range selectKeys[c.Kind].needs {
		goes[key] = true
		if !sec.has(key) && c.Column == "" {
			s.fail("select", "%s is missing with kind: %s", key, c.Kind)
		}
	}
	for _, list := range []string{"indices", "times"} {
		if goes[list] && len(c.Indices)+len(c.Times) == 0 && (c.Column == "" || sec.has(list)) {
			sec.fail(list, "got an empty list, want one entry or more")
		}
	}
	for _, key := range children(sec.table) {
		if sec.has(key) && !goes[key] {
			sec.fail(key, "does not go with kind: %s", c.Kind)
		}
	}
}

// most is how many frames the selection gives at most; 0: as many as a video has.
func (c *Selection) most() int {
	if c.Column != "" {
		return 0 // checkChosen knows the column
	}
	switch c.Kind {
	case SelectIndices:
		return len(c.Indices)
	case SelectTimes:
		return len(c.Times)
	case ClipsAtRandomIndices, ClipsAtRegularIndices, ClipsAtRandomTimes:
		return c.Clips * c.ClipFrames
	}
	return 0
}

// random reports whether rows are drawn by chance.
func (v *Video) random() bool {
	return v.Frame.Transform.random() || v.Select.Random || v.Select.Kind == ClipsAtRandomIndices || v.Select.Kind == ClipsAtRandomTimes
}

// check fills in the room of a row where the selection says it, and holds the section against itself.
func (v *Video) check(fail func(path, format string, args ...any)) {
	v.Frame.check("video", fail)
	most := v.Select.most()
	if v.Frames == 0 {
		v.Frames = most
	}
	switch {
	case v.Frames == 0:
		fail("video", "frames is missing, want how many frames a row has room for, such as frames: 16")
		return
	case most > v.Frames:
		fail("video.frames", "got room for %d, want %d as select gives; leave frames out, or choose fewer", v.Frames, most)
	case v.Shape == Ragged && v.Layout == NCTHW:
		fail("video.shape", "got ragged with layout NCTHW, want NTHWC or NTCHW: rows that follow one another need time as their first dimension")
	}
	v.checkAnywhere(fail)
	out := v.Frame.Transform.Output()
	if n := out.Height * out.Width * v.Frame.Channels() * max(v.Frame.DType.Bytes(), 1); n > 0 && v.Frames > math.MaxInt32/n {
		fail("video.frames", "got %d frames of %d bytes, want less than 2 GiB a row", v.Frames, n)
	}
}

// checkAnywhere holds against each other what a ring and a single sample must not say together.
func (v *Video) checkAnywhere(fail func(path, format string, args ...any)) {
	switch {
	case v.Scaler != Pillow && (v.Frame.Transform.Resize == nil || !v.Frame.Transform.Resize.Exact() || v.Frame.Transform.fit() != (Fit{})):
		fail("video.scaler", "got %s without resize: [H, W]; swscale stretches to an exact size alone", v.Scaler)
	case v.Scaler != Pillow && !v.Frame.Transform.Filter().ofPillow():
		fail("video.scaler", "got %s, of swscale, beside interpolation %s, want pillow, with which interpolation says who resizes; leave one of them out", v.Scaler, v.Frame.Transform.Filter())
	case v.Scaler != Pillow && len(v.Frame.Transform.Ahead) > 0:
		fail("video.scaler", "got %s, which resizes frames as they are decoded, and %s ahead of resize; write it behind resize, or leave scaler out", v.Scaler, v.Frame.Transform.Ahead[0].Name())
	case v.Approximate && v.Select.Kind == SelectKeyFrames:
		fail("video.seek", "got approximate with select: {kind: keyframes}, want exact: key frames are known from the index alone")
	}
}

type canonicalVideo struct {
	From        []string        `json:"from,omitempty"`
	Frame       *canonicalImage `json:"frame"`
	Frames      int             `json:"frames"`
	Select      Selection       `json:"select"`
	StartNs     int64           `json:"start_ns,omitempty"`
	LastsNs     int64           `json:"lasts_ns,omitempty"`
	StartColumn string          `json:"start_column,omitempty"`
	LastsColumn string          `json:"lasts_column,omitempty"`
	EndColumn   string          `json:"end_column,omitempty"`
	Shape       Cut             `json:"shape"`
	Over        string          `json:"over"`
	Layout      string          `json:"layout"`
	Colour      string          `json:"colour"`
	Scaler      string          `json:"scaler"`
	Stream      int             `json:"stream,omitempty"`
	Approximate bool            `json:"approximate,omitempty"`
	Filter      string          `json:"filter,omitempty"`
	Hardware    string          `json:"hardware,omitempty"` // "": none
}

func (v *Video) canonical() *canonicalVideo {
	if v == nil {
		return nil
	}
	c := &canonicalVideo{
		From: v.From, Frame: v.Frame.canonical(), Frames: v.Frames, Select: v.Select, StartNs: int64(v.Window.Start), LastsNs: int64(v.Window.Duration),
		StartColumn: v.Window.StartColumn, LastsColumn: v.Window.DurationColumn, EndColumn: v.Window.EndColumn,
		Shape: v.Shape, Over: v.Over, Layout: v.Layout, Colour: v.Colour, Scaler: v.Scaler, Stream: v.Stream, Approximate: v.Approximate,
		Filter: v.Filter,
	}
	if v.Hardware != NoHardware {
		c.Hardware = v.Hardware
	}
	return c
}
