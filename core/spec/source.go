package spec

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const maxPatterns = 4096

// places are the keys of which a source has exactly one.
const places = "folder, list, shards, arrays, mix and host"

// source reads the section source over what src already says.
func (d *decoder) source(s *section, src *Source, dir string) {
	if s.has("folder") || s.has("list") || s.has("shards") || s.has("arrays") || s.has("mix") || s.has("host") { // another source, not one more word about the one above
		*src = defaultSource()
		for _, k := range children("source") {
			if s.values[k] == nil {
				d.forget("source." + k)
			}
		}
	}
	d.place(s, src, dir)
	if s.has("mix") {
		src.Mix = d.mix(s, dir)
	}
	if s.has("host") {
		d.host(s, &src.Host)
	}
	if s.has("packing") {
		d.packing(s, src)
	}
	switch {
	case s.has("arrays"):
		d.arrays(s, src, dir)
	case s.has("columns"):
		src.Columns = d.columns(s, src.Packing != nil)
	}
	if s.has("episodes") {
		d.episodes(s, src, dir)
	}
	choice(s, "index", &src.Index, IndexCache, IndexBeside)
	if s.has("local_timeout") {
		s.either("local_timeout", "a duration such as 30s, auto or never", &src.LocalTimeout)
	}
	if s.has("remote") {
		r := d.section(s.values["remote"], "source.remote", join(s.shown, "remote"), join(s.place, "remote"))
		r.remote(&src.Remote)
	}
}

// host reads what the program around the engine says of the samples that it brings.
func (d *decoder) host(s *section, h *Host) {
	sec := d.section(s.values["host"], "source.host", join(s.shown, "host"), join(s.place, "host"))
	whole(&sec, "samples", &h.Samples, 1, maxRows)
	sec.flag("stream", &h.Stream)
	sec.duration("timeout", "a duration such as 500ms, 30s or 5m, above 0", &h.Timeout, 1, math.MaxInt64)
	switch {
	case h.Stream && sec.has("timeout"):
		sec.fail("timeout", "given beside stream: true, of which no sample is late: nothing can come before the next one; leave it out")
	case h.Stream && !sec.has("samples"):
		h.Samples = maxRows
	case !h.Stream && !sec.has("samples"):
		s.fail("host", "samples is missing, want how many there are, or stream: true where nobody knows")
	case !h.Stream && !sec.has("timeout"):
		h.Timeout = time.Minute
	}
}

// forget drops the place of a key and of all below it.
func (d *decoder) forget(path string) {
	for p := range d.pos {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			delete(d.pos, p)
		}
	}
}

// texts reads one text or a list of them, at least one.
func (s *section) texts(key, want string, limit int) (all []string) {
	n := target(s.values[key])
	if n.Kind != yaml.SequenceNode {
		var one string
		if s.text(key, &one); one != "" {
			all = []string{one}
		}
		return all
	}
	for i, item := range s.items(key, want, limit) {
		shown := fmt.Sprintf("%s[%d]", join(s.shown, key), i)
		if v, ok := s.d.scalar(item, shown, "text", "!!str"); ok {
			if v == "" || strings.ContainsRune(v, 0) {
				s.d.fail(item, shown, "got text %.60q, want text that is not empty and has no zero byte", v)
			}
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		s.fail(key, "got %s, want %s", describe(n), want)
	}
	return all
}

func (d *decoder) checkSource(s *Spec) {
	src, alone := &s.Source, s.alone()
	if src.Mix != nil && src.Host.Samples > 0 {
		d.failAt("source.host", "given beside mix; want exactly one of "+places)
	}
	var media []string // arrays that are no columns
	if src.Arrays != nil {
		media = d.checkArrayMedia(s)
	}
	if src.Mix == nil {
		d.checkPlace(src, "source", src.Columns, alone)
	} else if word := d.wordOfOne(src); word != "" {
		d.failAt("source."+word, "given beside mix, and is about one data set; it belongs into each entry of mix that it goes with")
	}
	for i := range src.Mix {
		d.checkPlace(&src.Mix[i].Source, mixed(i), src.Columns, alone)
	}
	d.checkColumns(src.Columns, src.Packing.fields(s.fields()), src.Arrays != nil, media)
	src.Columns = slices.DeleteFunc(src.Columns, func(c Column) bool { return slices.Contains(media, c.Name) })
}

// wordOfOne is a key of a source that says something of a single data set; "": none does.
func (d *decoder) wordOfOne(src *Source) string {
	for _, k := range []struct {
		key   string
		given bool
	}{
		{"folder", src.Folder != ""}, {"list", src.List != ""}, {"root", src.Root != ""}, {"shards", src.Shards != nil}, {"arrays", src.Arrays != nil}, {"episodes", src.Episodes != nil}, {"heading", src.Heading || src.Names != nil}, {"separator", src.Separator != ""}, {"path", src.Path != ""},
		{"image", src.Image != nil}, {"label", src.Label != ""}, {"split", src.Split != ""}, {"only", src.Only != nil}, {"extensions", src.Extensions != nil}, {"labels", d.pos["source.labels"].line > 0},
	} {
		if k.given {
			return k.key
		}
	}
	return ""
}

// mixed is the path of a data set of a mixture.
func mixed(i int) string { return fmt.Sprintf("source.mix[%d]", i) }

// places are the source itself and the data sets of its mixture.
func (s *Source) places() []*Source {
	all := []*Source{s}
	for i := range s.Mix {
		all = append(all, &s.Mix[i].Source)
	}
	return all
}
