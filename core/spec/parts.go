package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spdl/spdl/core/template"
)

// Wanted is the part of its samples that a medium is made of.
type Wanted struct {
	Name string   // of the medium
	From []string // parts or columns, best first; nil: core/source's rule
	Many *Many    // From has several pictures, or of Many.Of each is one; nil: it is one
}

// Parts are the parts of a source's samples, the ring's own or a data set of its mixture, as PartOf numbers them. Of a folder the first
// is the files that it is searched for, and From of the others their endings; of a table From is one column of paths.
func (s *Spec) Parts(src *Source) (all []Wanted) {
	media := s.parted()
	for i := range media {
		m := &media[i]
		w := Wanted{Name: m.Name, From: m.From()}
		if m.Image != nil {
			w.Many = m.Image.Many
		}
		switch {
		case w.From != nil:
		case src.Arrays != nil:
			w.From = []string{m.Name}
		case src.IsTable() && i == 0:
			w.From = []string{cmp.Or(src.Path, "path")}
		case len(media) == 1 && src.Image == nil && src.IsParquet() && m.kind() != "image":
			w.From = []string{m.kind(), "bytes"}
		case len(media) == 1:
			w.From = src.Image
		case src.IsTable() || src.IsParquet():
			w.From = []string{m.Name}
		case src.Shards != nil:
			w.From = without(m.parts(), media)
		}
		all = append(all, w)
	}
	return all
}

// without are the endings that no medium has claimed by name.
func without(endings []string, media []Medium) []string {
	return slices.DeleteFunc(slices.Clone(endings), func(e string) bool {
		return slices.ContainsFunc(media, func(m Medium) bool { return slices.Contains(m.From(), e) })
	})
}

// checkParts holds what media are made of against what the sources have.
func (d *decoder) checkParts(s *Spec) {
	media := s.parted()
	switch {
	case s.alone():
	case len(media) == 0 || d.untouched(s):
		d.failAt("", "says nothing of what its samples are, which a ring has to know; want a section image, video, audio, "+
			"or fields, such as image: {transform: [{resize: [224, 224]}]}, or source.columns, where they are only arrays, numbers and texts")
		return
	}
	if s.Source.Mix == nil {
		d.checkPartsOf(&s.Source, "source", media)
		d.checkTemplates(s, &s.Source, "source")
	}
	for i := range s.Source.Mix {
		d.checkPartsOf(&s.Source.Mix[i].Source, mixed(i), media)
		d.checkTemplates(s, &s.Source.Mix[i].Source, mixed(i))
	}
}

// checkTemplates refuses paths of a table that are to be made of columns and cannot be. Which columns there are the table says.
func (d *decoder) checkTemplates(s *Spec, src *Source, at string) {
	if !src.IsTable() {
		return
	}
	check := func(at, path string) {
		if template.Is(path) {
			if _, err := template.Parse(path); err != nil {
				d.failAt(at, "%v", err)
			}
		}
	}
	check(at+".path", src.Path)
	for _, m := range s.parted() {
		for _, from := range m.From() {
			check(m.Path()+".from", from)
		}
	}
	for i, c := range s.Source.Columns {
		if c.Type == TypeNPY {
			file, _, _ := strings.Cut(c.From, "[")
			check(fmt.Sprintf("source.columns[%d].from", i), file)
		}
	}
}

// untouched says that the ring's image is what a description has that says nothing of its samples.
func (d *decoder) untouched(s *Spec) bool {
	return s.Fields == nil && s.Video == nil && s.Audio == nil && s.Image != nil && d.pos["image"].line == 0 && reflect.DeepEqual(s.Image, defaultImage())
}

// alone says that the samples are columns and nothing else.
func (s *Spec) alone() bool { return len(s.Media()) == 0 && len(s.Source.Columns) > 0 }

func (d *decoder) checkPartsOf(src *Source, at string, media []Medium) {
	table := src.IsTable()
	for i := range media {
		m := &media[i]
		key := m.Path() + ".from"
		switch from := m.From(); {
		case from == nil:
		case src.Host.Samples > 0 || src.List != "" && !table:
			d.failAt(key, "goes with shards, with a list that is a table (.csv, .jsonl, .parquet or .npz), and with a folder; %s has one file a sample", at)
		case src.Folder != "" && i == 0:
			d.failAt(key, "given for the first medium of a folder, whose files are its samples; say their endings in %s.extensions", at)
		case (table || src.Folder != "") && len(from) > 1 && (m.Image == nil || m.Image.Many == nil || m.Image.Many.Of == nil):
			d.failAt(key, "got %d, want one: of a table a column, of a folder an ending", len(from))
		case table && i == 0 && src.Path != "":
			d.failAt(key, "given beside %s.path, which says the same; leave that out", at)
		case src.Image != nil:
			d.failAt(key, "given beside %s.image, which says the same; leave that out", at)
		}
	}
	if len(media) > 1 {
		d.checkSeveral(src, at, media)
	}
}

// checkSeveral refuses several media where a source has no part for each.
func (d *decoder) checkSeveral(src *Source, at string, media []Medium) {
	second := media[1].Path()
	switch {
	case src.Host.Samples > 0:
		d.failAt(second, "given beside %s, but your program brings one file a sample; want one medium", media[0].Path())
	case src.List != "" && !src.IsTable():
		d.failAt(second, "given beside %s, but a line of the list names one file; use a table (.csv, .jsonl, .parquet or .npz) with a column for each", media[0].Path())
	case src.Image != nil:
		d.failAt(at+".image", "given for several media; say from in each of them")
	}
	endings := map[string]string{"image": "png", "video": "mp4", "audio": "wav"}
	open := map[string]string{} // the medium without from, by kind
	for i := range media {
		m := &media[i]
		if m.From() != nil {
			continue
		}
		if src.Folder != "" && i > 0 {
			d.failAt(m.Path(), "from is missing, want the ending of the files beside those of %s, such as from: %s", media[0].Path(), endings[m.kind()])
		}
		if other := open[m.kind()]; other != "" && src.Shards != nil && !src.IsParquet() {
			d.failAt(m.Path(), "from is missing, want its part: %s has none either, and both would be the one with such an ending", other)
		}
		open[m.kind()] = m.Path()
	}
}
