package verbs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// columns are the tensors of a ring by what they are for; -1: it has none.
type columns struct{ image, video, audio, index, key, status, label int }

func columnsOf(schema []shm.TensorRecord) columns {
	c := columns{-1, -1, -1, -1, -1, -1, -1}
	for i := range schema {
		t := &schema[i]
		switch name := nameText(t.Name[:]); {
		case t.Pool != 0: // on a device
		case t.Role == shm.RoleField && name == "video":
			c.video = i
		case t.Role == shm.RoleField && name == "audio":
			c.audio = i
		case t.Role == shm.RoleField && t.Axes != shm.AxesNone && t.Kind == shm.Dense && t.Ndim == 4 && c.image < 0:
			c.image = i
		case t.Role == shm.RoleIndex && wide(t):
			c.index = i
		case t.Role == shm.RoleLabel && wide(t):
			c.label = i
		case t.Role == shm.RoleKey && t.Kind == shm.Ragged && t.DtypeBits == 8:
			c.key = i
		case t.Role == shm.RoleStatus && t.Kind == shm.Dense && t.DtypeBits == 8:
			c.status = i
		}
	}
	return c
}

// sample is the tensor that the samples themselves are in; -1: none that we know.
func (c columns) sample() int {
	for _, i := range []int{c.image, c.video, c.audio} {
		if i >= 0 {
			return i
		}
	}
	return -1
}

// fieldsOf are the names of the fields that samples have.
func fieldsOf(schema []shm.TensorRecord) (names []string) {
	for i := range schema {
		if t := &schema[i]; t.Role == shm.RoleField && t.Pool == 0 {
			names = append(names, nameText(t.Name[:]))
		}
	}
	return names
}

// fieldNamed is the field of that name; -1: there is none.
func fieldNamed(schema []shm.TensorRecord, name string) int {
	return slices.IndexFunc(schema, func(t shm.TensorRecord) bool { return t.Role == shm.RoleField && nameText(t.Name[:]) == name })
}

func wide(t *shm.TensorRecord) bool {
	return t.Kind == shm.Dense && t.DtypeCode == 0 && t.DtypeBits == 64 && t.DtypeLanes == 1
}

// rowText is what a batch says about one of its rows.
type rowText struct {
	index, label int64 // -1: not told
	key          string
	status       byte
}

// tensors are a batch's, leased or copied.
type tensors interface {
	Tensor(i int) []byte
	Offsets(i int) []int64
	Shape(i int) []int64
}

// rowsOf copies the columns of a batch of n rows.
func rowsOf(l tensors, n int, c columns) []rowText {
	rows := make([]rowText, n)
	for i := range rows {
		rows[i].index, rows[i].label = -1, -1
	}
	number := func(column int, set func(*rowText, int64)) {
		if column < 0 {
			return
		}
		if b := l.Tensor(column); len(b) >= 8*len(rows) && len(rows) > 0 {
			for i, n := range unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(rows)) {
				set(&rows[i], n)
			}
		}
	}
	number(c.index, func(r *rowText, n int64) { r.index = n })
	number(c.label, func(r *rowText, n int64) { r.label = n })
	if c.status >= 0 {
		for i, s := range l.Tensor(c.status)[:min(n, len(l.Tensor(c.status)))] {
			rows[i].status = s
		}
	}
	if c.key >= 0 {
		for i := range rows {
			key, _ := raggedRow(l, c.key, i, 1)
			rows[i].key = string(key)
		}
	}
	return rows
}

// raggedRow is the memory of a row of a ragged tensor, whose values have so many bytes each; false where the batch does not hold it.
func raggedRow(l tensors, tensor, row, size int) (data []byte, ok bool) {
	data, offsets := l.Tensor(tensor), l.Offsets(tensor)
	if row+1 >= len(offsets) || offsets[row] < 0 || offsets[row] > offsets[row+1] || offsets[row+1] > int64(len(data)/size) {
		return nil, false
	}
	return data[int(offsets[row])*size : int(offsets[row+1])*size], true
}

// statusText names what is unusual about a row; "" is a good one.
func statusText(status byte) string {
	switch status {
	case batch.OK:
		return ""
	case batch.Masked:
		return "masked"
	case batch.Substituted:
		return "substituted"
	case batch.Padded:
		return "padded"
	}
	return fmt.Sprintf("status %d", status)
}

// facts are what the engine tells about its ring in the header's text.
type facts struct {
	Classes []string         `json:"classes"`
	Ragged  map[string][]int `json:"ragged"` // of fields: the shape of one step
	Spec    struct {
		Rings map[string]ringFacts `json:"rings"`
	} `json:"spec"`
}

// ringFacts are what view needs of a description.
type ringFacts struct {
	mediumFacts
	Fields []mediumFacts    `json:"fields"`
	Source *json.RawMessage `json:"source"`
}

// known reports whether the ring has told of its description at all.
func (r *ringFacts) known() bool { return r.Source != nil }

// mediumFacts are those of one medium, or of the sections of a description.
type mediumFacts struct {
	Name  string        `json:"name"`
	Image *pictureFacts `json:"image"`
	Video *videoFacts   `json:"video"`
	Audio *audioFacts   `json:"audio"`
	own   bool          // it is a section, not one of fields
}

type videoFacts struct {
	Layout string       `json:"layout"`
	Frames int          `json:"frames"`
	Frame  pictureFacts `json:"frame"`
}

type audioFacts struct {
	Layout   string           `json:"layout"`
	Channels int              `json:"channels"`
	Features *json.RawMessage `json:"features"`
}

// media are those of the ring's samples, in the description's order.
func (r *ringFacts) media() (all []mediumFacts) {
	if r.Image != nil {
		all = append(all, mediumFacts{Name: "image", Image: r.Image, own: true})
	}
	if r.Video != nil {
		all = append(all, mediumFacts{Name: "video", Video: r.Video, own: true})
	}
	if r.Audio != nil {
		all = append(all, mediumFacts{Name: "audio", Audio: r.Audio, own: true})
	}
	return append(all, r.Fields...)
}

// lengths is the name of the field that says how long a video or a sound is, or how many pictures, tiles or patches there are.
func (m *mediumFacts) lengths() string {
	switch {
	case m.Video != nil:
		return m.named("frames")
	case m.Image != nil:
		return m.named("count")
	}
	return m.named("length")
}

// named is the name of a tensor that says something about the medium.
func (m *mediumFacts) named(what string) string {
	if m.own {
		return what
	}
	return m.Name + "." + what
}

// pictureFacts are the mean and standard deviation that floats were brought to (nil: none, or not told), what channels are and where they lie, whether a sample has several
// pictures, or tiles or patches of one, and what is marked.
type pictureFacts struct {
	Mean    []float64     `json:"mean"`
	Std     []float64     `json:"std"`
	Mode    spec.Mode     `json:"mode"`
	Layout  string        `json:"layout"`
	Patches *spec.Patches `json:"patches"`
	Many    *spec.Many    `json:"many"`
	Tiles   *spec.Tiles   `json:"tiles"`
	Boxes   *spec.Boxes   `json:"boxes"`
	Points  *spec.Points  `json:"points"`
	Shape   spec.Cut      `json:"shape"` // "": rows have one size
}

// factsOf reads the text of a ring; a ring of another producer may have none.
func factsOf(text []byte) (f facts) {
	_ = json.Unmarshal(text, &f)
	return f
}

// of is what is told of a ring.
func (f *facts) of(ring string) ringFacts {
	_, name, _ := strings.Cut(ring, "/")
	return f.Spec.Rings[name]
}

// noLabel is the label of samples that have none. Others below zero are labels of a list or an array.
const noLabel = -1

// class is the name of a label, or its number; "" without a label.
func (f *facts) class(label int64) string {
	switch {
	case label == noLabel:
		return ""
	case label >= 0 && label < int64(len(f.Classes)):
		return f.Classes[label]
	}
	return fmt.Sprint(label)
}

// nameText reads a NUL-padded name of shared memory.
func nameText(b []byte) string {
	name, _, _ := strings.Cut(string(b), "\x00")
	return name
}
