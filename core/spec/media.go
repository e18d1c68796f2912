package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// modalities are the sections that say what a sample is: a ring has one or several of them, or fields.
var modalities = []string{"image", "video", "audio"}

const maxMedia = 16

// Medium is one thing that samples are decoded to: pictures, videos or sounds, of one part of each sample.
type Medium struct {
	Name  string // of its tensor in a batch
	Named bool   // it is one of fields, and not the section of that name
	Own   bool   // what is random is drawn for it alone, by its name
	Image *Image // exactly one of these
	Video *Video
	Audio *Audio

	Room int64 // bytes of a row, where it is a file that a device decodes; 0: it is what the file is decoded to
}

// Media are what each sample is decoded to, in the order of the batch's tensors.
func (s *Spec) Media() []Medium {
	if s.Fields != nil {
		return s.Fields
	}
	var all []Medium
	if s.Image != nil {
		m := Medium{Name: "image", Image: s.Image}
		if s.Device.DecodesPictures() {
			m.Room = max(s.Device.JPEGBytes, m.rowBytes(), 1) // 1: not checked yet
		}
		all = append(all, m)
	}
	if s.Video != nil {
		all = append(all, Medium{Name: "video", Video: s.Video})
	}
	if s.Audio != nil {
		all = append(all, Medium{Name: "audio", Audio: s.Audio})
	}
	return all
}

// PartOf is which of Parts each of Media is made of.
func (s *Spec) PartOf() []int {
	media, n := s.Media(), 0
	all := make([]int, len(media))
	for i := range media {
		if sharedWith(media, i) == i {
			all[i] = n
			n++
		}
	}
	for i := range media {
		all[i] = all[sharedWith(media, i)]
	}
	return all
}

// sharedWith is of which medium's part another is made that does not say from: with draws of its own it is another view of the first, where
// that is of its kind; a sound that goes with a clip is the clip's own. Each other is made of a part of its own.
func sharedWith(media []Medium, i int) int {
	m := &media[i]
	video := m.videoOf(media)
	switch {
	case m.From() != nil:
	case video >= 0:
		return sharedWith(media, video)
	case i > 0 && m.Own && m.kind() == media[0].kind():
		return 0
	}
	return i
}

// parted are Media without those that are made of the part of another.
func (s *Spec) parted() (all []Medium) {
	media := s.Media()
	for i := range media {
		if sharedWith(media, i) == i {
			all = append(all, media[i])
		}
	}
	return all
}

// Padded says that a batch's rows are as long, or as large, as its longest.
func (m *Medium) Padded() bool {
	switch {
	case m.Video != nil:
		return m.Video.Shape == Padded
	case m.Audio != nil:
		return m.Audio.Shape == Padded
	case m.Image.Many != nil:
		return m.Image.Many.Shape == Padded
	}
	if name, shape := m.Image.pieces(); name != "" {
		return shape == Padded
	}
	return m.Image.Shape == Padded
}

// Tensors are the names of a medium's tensors: itself, and what is known of it.
func (m *Medium) Tensors() []string {
	var known []string
	switch {
	case m.Video != nil:
		known = []string{"frames", "pts", "duration"}
	case m.Audio != nil:
		known = []string{"length"}
	case m.Room > 0:
		known = []string{"length", "place"}
	default:
		known = m.Image.known()
	}
	all := []string{m.Name}
	for _, name := range known {
		if m.Named {
			name = m.Name + "." + name
		}
		all = append(all, name)
	}
	return all
}

// From is the part or column that the medium is made of, best first; nil: by the source's rule.
func (m *Medium) From() []string {
	switch {
	case m.Video != nil:
		return m.Video.From
	case m.Audio != nil:
		return m.Audio.From
	case m.Image.Many != nil && m.Image.Many.Of != nil:
		return m.Image.Many.Of
	}
	return m.Image.From
}

// kind is the name of its section.
func (m *Medium) kind() string {
	switch {
	case m.Video != nil:
		return "video"
	case m.Audio != nil:
		return "audio"
	}
	return "image"
}

// Path is where the document says what the medium is.
func (m *Medium) Path() string {
	if m.Named {
		return "fields." + m.Name + "." + m.kind()
	}
	return m.Name
}

// endings are those of its files; nil: of pictures, which core/source knows.
func (m *Medium) endings() []string {
	switch {
	case m.Video != nil:
		return videoEndings
	case m.Audio != nil:
		return soundEndings
	}
	return nil
}

// parts are those of shards that the medium is without a word: endings, and a column called as its kind; nil: core/source's rule.
func (m *Medium) parts() []string {
	if all := m.endings(); all != nil {
		return append(slices.Clone(all), m.kind())
	}
	return nil
}

// random reports whether its rows are drawn by chance.
func (m *Medium) random() bool {
	switch {
	case m.Video != nil:
		return m.Video.random()
	case m.Audio != nil:
		return m.Audio.random()
	}
	return m.Image.Transform.random()
}

// check fills in what the medium's section leaves open, and holds it against itself.
func (m *Medium) check(fail func(path, format string, args ...any)) {
	within := fail
	if m.Named { // the sections name their keys from the top level
		within = func(path, format string, args ...any) { fail("fields."+m.Name+"."+path, format, args...) }
	}
	switch {
	case m.Video != nil:
		m.Video.check(within)
	case m.Audio != nil:
		m.Audio.check(within)
	default:
		m.Image.check("image", within)
	}
}

// rowBytes is the size of a row: of the waveform, where features are made of it. check has bounded it.
func (m *Medium) rowBytes() int64 {
	switch {
	case m.Video != nil:
		n, _ := m.Video.Frame.RowShape().Bytes(m.Video.Frame.DType)
		return n * int64(m.Video.Frames)
	case m.Audio != nil:
		return int64(m.Audio.Length) * int64(m.Audio.Channels) * int64(m.Audio.DType.Bytes())
	}
	n, _ := m.Image.RowShape().Bytes(m.Image.DType)
	several, _ := m.Image.pictures()
	return max(n*int64(several), m.Room)
}

// fields are those that every batch of the ring has.
func (s *Spec) fields() (all []string) {
	for _, m := range s.Media() {
		all = append(all, m.Tensors()...)
	}
	return append(all, ownFields...)
}

// ownFields are a batch's, whatever its samples are.
var ownFields = []string{"index", "key", "status", "label"}

// sample reads what samples are. A ring that says so anew has the media that it names and no others; of those the top level names,
// too, it changes what it says.
func (d *decoder) sample(sec *section, r *Spec) {
	var given []string
	for _, name := range modalities {
		if sec.has(name) {
			given = append(given, name)
		}
	}
	if d.err != nil {
		return
	}
	above := *r
	switch {
	case sec.has("fields") && given != nil:
		sec.fail("fields", "given beside %s; want the sections %s, or fields with names of your own", given[0], strings.Join(modalities, ", "))
	case sec.has("fields"):
		r.Image, r.Video, r.Audio, r.Fields = nil, nil, nil, d.fields(sec)
	case given != nil:
		r.Image, r.Video, r.Audio, r.Fields = nil, nil, nil, nil
	}
	for _, name := range given {
		s := d.section(sec.values[name], name, join(sec.shown, name), name)
		switch name {
		case "image":
			r.Image = d.image(&s, above.Image)
		case "video":
			r.Video = d.video(&s, above.Video)
		case "audio":
			r.Audio = d.audio(&s, above.Audio)
		}
	}
}

var fieldName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`)

// fields reads media with names of their own.
func (d *decoder) fields(sec *section) (all []Medium) {
	m := target(sec.values["fields"])
	if m.Kind != yaml.MappingNode || len(m.Content) == 0 || len(m.Content) > 2*maxMedia {
		sec.fail("fields", "got %s, want a mapping of 1 to %d fields by name, each with one of %s", describe(m), maxMedia, strings.Join(modalities, ", "))
		return nil
	}
	for i := 0; i+1 < len(m.Content) && d.err == nil; i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		shown := fmt.Sprintf("%s.%.70s", join(sec.shown, "fields"), key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || !fieldName.MatchString(key.Value):
			d.fail(key, shown, "got %s for a field's name, want 1 to 48 of A-Z a-z 0-9 _ -", describe(key))
		case slices.Contains(ownFields, key.Value):
			d.fail(key, shown, "got a name that every batch has for something else; choose another")
		case slices.ContainsFunc(all, func(m Medium) bool { return m.Name == key.Value }):
			d.fail(key, shown, "given twice; keep one")
		default:
			all = append(all, d.field(key.Value, value, shown))
		}
	}
	return all
}

// field reads one of them.
func (d *decoder) field(name string, n *yaml.Node, shown string) Medium {
	place := "fields." + name
	d.pos[place] = placeOf(n, shown)
	sec := d.section(n, "fields.NAME", shown, place)
	m := Medium{Name: name, Named: true}
	draw := "alike"
	choice(&sec, "draw", &draw, "alike", "own")
	m.Own = draw == "own"
	delete(sec.values, "draw")
	if d.err == nil && len(sec.values) != 1 {
		d.fail(n, shown, "got %d sections, want one of %s", len(sec.values), strings.Join(modalities, ", "))
	}
	for kind, n := range sec.values {
		s := d.section(n, kind, join(shown, kind), join(place, kind))
		switch kind {
		case "image":
			m.Image = d.image(&s, nil)
		case "video":
			m.Video = d.video(&s, nil)
		case "audio":
			m.Audio = d.audio(&s, nil)
		}
	}
	return m
}

// from reads the part that a medium is made of.
func (s *section) from(dst *[]string) {
	if s.has("from") {
		*dst = s.texts("from", "a part's name or a list of them", maxExtensions)
	}
}

// ownMedia makes the ring's media its own: what they leave open is filled in for each ring.
func (s *Spec) ownMedia() {
	all := Medium{Image: s.Image, Video: s.Video, Audio: s.Audio}.clone()
	s.Image, s.Video, s.Audio = all.Image, all.Video, all.Audio
	s.Fields = slices.Clone(s.Fields)
	for i := range s.Fields {
		s.Fields[i] = s.Fields[i].clone()
	}
}

func (m Medium) clone() Medium {
	m.Image, m.Video, m.Audio = clone(m.Image), clone(m.Video), clone(m.Audio)
	return m
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
