package spec

import (
	"math"
	"slices"
)

// Many says that a sample has several pictures, or none: each becomes what its section says, and they lie one behind the other.
type Many struct {
	Most  int      `json:"most"`         // room of a row, in pictures
	Of    []string `json:"of,omitempty"` // parts or columns with a picture or none each, in their order; nil: From has all of them
	Shape Cut      `json:"shape"`
	Over  string   `json:"over"` // what becomes of more pictures than there is room for: Refuse or CutOff
}

const maxMany = 1 << 16

// many reads how many pictures a sample has at most, or a mapping with that.
func (d *decoder) many(s *section) *Many {
	m := &Many{Shape: Fixed, Over: Refuse}
	n, shown, sec := d.short(s, "many", "most")
	d.wholeAt(n, shown, &m.Most, 1, maxMany)
	if sec.has("of") {
		m.Of = sec.texts("of", "a list of parts or columns, each with one picture of a sample", maxExtensions)
		for i, name := range m.Of {
			if slices.Contains(m.Of[:i], name) {
				sec.fail("of", "got %q twice; want a part or column of its own for each picture", name)
			}
		}
	}
	choice(sec, "shape", &m.Shape, Fixed, Padded, Ragged)
	choice(sec, "over", &m.Over, Refuse, CutOff)
	switch {
	case d.err != nil:
	case m.Of != nil && s.has("from"):
		sec.fail("of", "given beside from, which names what has all of a sample's pictures; leave one of them out")
	case m.Most == 0 && m.Of == nil:
		s.fail("many", "most is missing, want how many pictures a sample has at most, such as many: 8, or {most: 8, shape: ragged}")
	case m.Most == 0:
		m.Most = len(m.Of)
	}
	return m
}

// pictures is how many pictures, or tiles of one, a row has room for, and what says so.
func (i *Image) pictures() (n int, called string) {
	switch {
	case i.Many != nil:
		return i.Many.Most, "many"
	case i.Transform.Tiles != nil:
		return i.Transform.Tiles.Room(), "tiles"
	}
	return 1, ""
}

// checkMany holds several pictures against the rest of the ring.
func (d *decoder) checkMany(s *Spec) {
	media := s.Media()
	for i := range media {
		m := &media[i]
		if m.Image == nil {
			continue
		}
		if of := sharedWith(media, i); of != i && !m.Image.Many.likeThat(media[of].Image.Many) {
			d.failAt(m.Path()+".many", "differs from that of %s, of whose pictures this is another view; want the same, or say from in both", media[of].Path())
		}
		if m.Image.Many == nil {
			continue
		}
		at := m.Path() + ".many"
		switch {
		case m.Image.Open():
			d.failAt(m.Path()+".shape", "got %s beside many, whose pictures have one size, and whose own shape says how rows of fewer lie; leave it out, and resize to one size", m.Image.Shape)
		case m.Image.Transform.Bucketed():
			d.failAt(m.Path()+".transform", "got the size bucket beside many: a bucket is that of one picture a sample; leave one of them out")
		case m.Image.Boxes != nil:
			d.failAt(m.Path()+".boxes", "given beside many: boxes follow one picture a sample; leave one of them out")
		case m.Image.Points != nil:
			d.failAt(m.Path()+".points", "given beside many: points follow one picture a sample; leave one of them out")
		case s.Device.DecodesPictures():
			d.failAt("device.decode", "got nvjpeg beside %s, want cpu: the device decodes one picture a sample", at)
		case s.Device != nil && s.Device.Finish != nil:
			d.failAt("device.finish", "given beside %s, want normalize and dtype in image: the device finishes one picture a sample", at)
		}
		for _, src := range s.Source.places() {
			d.checkManyOf(src, at)
		}
	}
}

// checkManyOf refuses several pictures of a source that has one a sample.
func (d *decoder) checkManyOf(src *Source, at string) {
	const want = "want shards, or a list that is a table (.csv, .json, .jsonl or .parquet) with a column of lists of paths"
	switch {
	case src.Host.Samples > 0:
		d.failAt(at, "your program brings one file a sample; "+want)
	case src.Folder != "":
		d.failAt(at, "a folder's sample is one file; "+want)
	case src.Arrays != nil:
		d.failAt(at, "a row of an array is one picture; "+want)
	case src.List != "" && !src.IsTable():
		d.failAt(at, "a line of the list names one file; "+want)
	}
}

func (m *Many) likeThat(other *Many) bool {
	if m == nil || other == nil {
		return m == other
	}
	return m.Most == other.Most && m.Over == other.Over && (m.Of == nil || slices.Equal(m.Of, other.Of))
}

// checkRoom refuses rows of more pictures than fit into one.
func (i *Image) checkRoom(section string, fail func(path, format string, args ...any)) {
	out := i.Transform.Output()
	each := out.Height * out.Width * i.Channels() * i.DType.Bytes()
	if n, called := i.pictures(); each > 0 && n > math.MaxInt32/each {
		fail(section+"."+called, "got room for %d pictures of %d bytes, want less than 2 GiB a row", n, each)
	}
}
