package spec

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

const (
	maxPatterns = 4096
	maxColumns  = 24
	maxDims     = 7 // and the batch's own
)

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
		h := d.section(s.values["host"], "source.host", join(s.shown, "host"), join(s.place, "host"))
		whole(&h, "samples", &src.Host.Samples, 1, maxRows)
		h.flag("stream", &src.Host.Stream)
		h.duration("timeout", "a duration such as 500ms, 30s or 5m, above 0", &src.Host.Timeout, 1, math.MaxInt64)
		switch stream := src.Host.Stream; {
		case stream && h.has("timeout"):
			h.fail("timeout", "given beside stream: true, of which no sample is late: nothing can come before the next one; leave it out")
		case stream && !h.has("samples"):
			src.Host.Samples = maxRows
		case !stream && !h.has("samples"):
			s.fail("host", "samples is missing, want how many there are, or stream: true where nobody knows")
		case !stream && !h.has("timeout"):
			src.Host.Timeout = time.Minute
		}
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

// place reads the keys that a source and each data set of a mixture have in common.
func (d *decoder) place(s *section, src *Source, dir string) {
	for _, p := range []struct {
		key               string
		resolved, written *string
	}{
		{"folder", &src.Folder, &src.written.folder},
		{"list", &src.List, &src.written.list},
		{"root", &src.Root, &src.written.root},
	} {
		if s.has(p.key) {
			s.text(p.key, p.written)
			name, err := located(*p.written)
			if err != nil {
				s.fail(p.key, "%v", err)
			}
			*p.written, *p.resolved = resolve(name, dir)
		}
	}
	if s.has("shards") {
		src.Shards, src.written.shards = nil, nil
		for _, text := range s.texts("shards", "a path, a URL or a list of them", maxPatterns) {
			name, err := located(text)
			if err != nil {
				s.fail("shards", "%v", err)
			}
			w, r := resolve(name, dir)
			src.written.shards, src.Shards = append(src.written.shards, w), append(src.Shards, r)
		}
	}
	if s.has("extensions") {
		src.Extensions = d.extensions(s)
	}
	if s.has("labels") {
		labels := &src.Labels
		if src.Shards != nil || src.List != "" {
			labels = &src.ByMember
		}
		choice(s, "labels", labels, LabelsDirectory, LabelsNames, LabelsNone)
	}
	s.heading(src)
	s.text("path", &src.Path)
	if s.has("image") {
		src.Image = s.texts("image", "a part's name or a list of them", maxExtensions)
	}
	s.text("label", &src.Label)
	s.text("split", &src.Split)
	if s.has("only") {
		src.Only = s.only(dir)
	}
}

// heading reads what a list's columns are called, and what is between them.
func (s *section) heading(src *Source) {
	if n := s.values["heading"]; s.has("heading") && target(n).Kind == yaml.SequenceNode {
		src.Heading, src.Names = false, s.texts("heading", "the columns' names, in the order of the list's fields", maxColumns)
		for i, name := range src.Names {
			if slices.Contains(src.Names[:i], name) {
				s.fail("heading", "got %q twice, want a name of its own for each column", name)
			}
		}
	} else if s.has("heading") {
		src.Names = nil
		s.flag("heading", &src.Heading)
	}
	if s.text("separator", &src.Separator); src.Separator != "" && !separator.MatchString(src.Separator) {
		s.fail("separator", "got %.40q, want one character that is between fields: \",\", \";\", \"|\", \"\\t\" or \" \", which is any number of blanks, or another that is no letter, digit or quote", src.Separator)
	}
}

// separator is one character of ASCII that may be between fields.
var separator = regexp.MustCompile("^[\t !#-&*+,:;<=>^`|~]$")

// forget drops the place of a key and of all below it.
func (d *decoder) forget(path string) {
	for p := range d.pos {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			delete(d.pos, p)
		}
	}
}

// isURL tells a name that core/source reads over the network.
func isURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (scheme == "http" || scheme == "https" || scheme == "s3" || scheme == "gs" || scheme == "hf")
}

var schemed = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://(.*)$`)

// located is the name of what is read as core/source takes it: a path, or a URL with its scheme in lower case. file:///PATH is the path.
func located(text string) (string, error) {
	switch {
	case strings.HasPrefix(text, "pipe:"):
		return "", errors.New("got a command (pipe:), of which no sample can be read by itself; name what it reads, by path or by a URL of http, https, s3, gs or hf")
	case strings.Contains(text, ".tar::"):
		return "", errors.New("got several names with :: between them, want a list of them: [a-{000..099}.tar, b-{000..099}.tar]")
	}
	m := schemed.FindStringSubmatch(text)
	if m == nil {
		return text, nil
	}
	switch scheme, rest := strings.ToLower(m[1]), m[2]; scheme {
	case "http", "https", "s3", "gs", "hf":
		if rest == "" || rest[0] == '/' {
			return "", fmt.Errorf("got %.200q without a host or bucket, want %s://NAME/PATH", text, scheme)
		}
		return scheme + "://" + rest, nil
	case "file":
		path, err := url.PathUnescape(strings.TrimPrefix(rest, "localhost"))
		if err != nil || !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
			return "", fmt.Errorf("got %.200q, want file:///PATH, or the path itself", text)
		}
		return path, nil
	}
	return "", fmt.Errorf("got a URL of scheme %.20q, want a path, or a URL of http, https, s3, gs, hf or file; a store that speaks S3 is read as s3:// with "+
		"source.remote.endpoint", m[1])
}

// resolve cleans a path and finds it from the spec file's directory; a URL stays as it is.
func resolve(text, dir string) (written, resolved string) {
	if isURL(text) {
		return text, text
	}
	written = filepath.Clean(text)
	if filepath.IsAbs(written) {
		return written, written
	}
	return written, filepath.Join(dir, written)
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

// columns reads the list of columns, each a name or a mapping. packed: they are documents, which are packed.
func (d *decoder) columns(s *section, packed bool) (all []Column) {
	for i, n := range s.items("columns", "a list of columns, each a name or a mapping with a name", maxColumns) {
		entry := fmt.Sprintf("columns[%d]", i)
		c := Column{Type: TypeText, MaxBytes: 1 << 10}
		d.pos[join(s.place, entry)] = placeOf(n, join(s.shown, entry))
		if target(n).Kind == yaml.MappingNode {
			sec := d.section(n, "source.columns[]", join(s.shown, entry), join(s.place, entry))
			sec.text("name", &c.Name)
			sec.text("from", &c.From)
			choice(&sec, "type", &c.Type, TypeText, TypeI64, TypeF64, TypeNPY, TypeList)
			if c.Type != TypeNPY && strings.HasPrefix(c.From, "npz[") {
				sec.fail("from", "got %q of type %s, but what lies in an .npz file is an array: say type: npy", c.From, c.Type)
			}
			sec.size("max_bytes", &c.MaxBytes)
			sec.array(&c, packed)
			sec.pad(&c, packed)
			sec.standIn(&c)
		} else if v, ok := d.scalar(n, join(s.shown, entry), "a name or a mapping with a name", "!!str"); ok {
			c.Name = v
		}
		all = append(all, c)
	}
	return all
}

// standIn reads what a sample gets that has no value of the column.
func (s *section) standIn(c *Column) {
	if !s.has("default") {
		return
	}
	n, shown := s.values["default"], join(s.shown, "default")
	switch c.Type {
	case TypeNPY, TypeList:
		if v := target(n); c.MaxLength == 0 || v.Kind != yaml.SequenceNode || len(v.Content) > 0 {
			s.fail("default", "got %s for type %s, want [], and only of a shape that begins with -1; leave it out, and samples without it are bad ones", describe(n), c.Type)
		}
		c.Default = []byte{}
	case TypeI64:
		if v, ok := s.d.whole(n, shown, math.MinInt64, math.MaxInt64); ok {
			c.Default = strconv.AppendInt(nil, v, 10)
		}
	case TypeF64:
		if v := target(n); v.Kind == yaml.ScalarNode && strings.EqualFold(strings.TrimPrefix(v.Value, "."), "nan") {
			c.Default = []byte("nan")
		} else if v, ok := s.d.number(n, shown, -math.MaxFloat64, math.MaxFloat64); ok {
			c.Default = strconv.AppendFloat(nil, v, 'g', -1, 64)
		}
	default:
		v, ok := s.scalar("default", "text", "!!str")
		if ok && int64(len(v)) > c.MaxBytes {
			s.fail("default", "got %d bytes, want at most max_bytes, %d", len(v), c.MaxBytes)
		} else if ok {
			c.Default = append([]byte{}, v...)
		}
	}
}

// array reads what only a column of arrays has. packed: they are documents.
func (s *section) array(c *Column, packed bool) {
	arrays := c.Type == TypeNPY || c.Type == TypeList
	for _, key := range []string{"dtype", "shape", "max_length", "padded"} {
		if s.has(key) && !arrays {
			s.fail(key, "given for type %s; it goes with type: npy and type: list", c.Type)
		}
	}
	if s.has("max_bytes") && arrays {
		s.fail("max_bytes", "given for type %s; its shape says how many bytes it has", c.Type)
	}
	s.elements(c)
	whole(s, "max_length", &c.MaxLength, 1, math.MaxInt32)
	s.flag("padded", &c.Padded)
	if packed {
		s.openEnded(c)
	}
	switch given := s.has("shape"); {
	case given:
		s.shape(c, packed)
	case packed && arrays:
		c.Shape = tensor.Shape{}
	case c.Type == TypeList && c.MaxLength == 0:
		s.d.failAt(s.place, "max_length is missing, want the most numbers that a sample's list has, or shape: [N] where each has N")
	case c.Type == TypeList:
		c.Shape = tensor.Shape{}
	case c.Padded:
		s.fail("padded", "given without a shape that begins with -1: it is that dimension which is padded")
	case s.has("max_length"):
		s.fail("max_length", "given without a shape that begins with -1: it is the most that dimension has")
	}
}

// elements reads the type of an array's elements. JSON's numbers have none, so of a list it is to be given.
func (s *section) elements(c *Column) {
	want, name := "u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64", ""
	if c.Type == TypeList {
		want = "u8 i8 u16 i16 u32 i32 u64 i64 f32 f64"
		if !s.has("dtype") {
			s.d.failAt(s.place, "dtype is missing, want the type of the list's numbers, such as dtype: i64 for token ids")
		}
	}
	if s.text("dtype", &name); name != "" {
		if c.DType, _ = tensor.ParseDType(name); !slices.Contains(strings.Fields(want), name) {
			s.fail("dtype", "got %.40q, want one of %s", name, want)
		}
	}
}

// shape reads that of an array, of which the first dimension may be open.
func (s *section) shape(c *Column, packed bool) {
	c.Shape = tensor.Shape{}
	ragged := false
	for i, n := range s.items("shape", "a list of whole numbers, of which the first may be -1", maxDims) {
		if ragged = ragged || i == 0 && target(n).Value == "-1"; ragged && i == 0 {
			continue
		}
		v, _ := s.d.whole(n, join(s.shown, "shape"), 1, maxRows)
		c.Shape = append(c.Shape, v)
	}
	switch n, err := c.Shape.Bytes(tensor.U64); {
	case packed && !ragged:
		s.fail("shape", "got a length that all documents have, beside source.packing; want one that begins with -1, or leave it out")
	case c.Type == TypeList && !ragged && len(c.Shape) == 0:
		s.fail("shape", "got [] for type list, want at least one dimension; a number alone is type i64 or f64")
	case err != nil || n > maxRingBytes/int64(max(c.MaxLength, 1)):
		s.fail("shape", "got %v, want less than 64 TiB", c.Shape)
	case ragged && c.MaxLength == 0:
		s.fail("shape", "begins with -1, which needs max_length: the most that dimension has in a sample")
	case !ragged && c.Padded:
		s.fail("padded", "given beside a shape that does not begin with -1; leave one of them out")
	case !ragged && c.MaxLength > 0:
		s.fail("max_length", "given beside a shape that does not begin with -1; leave one of them out")
	}
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

// checkPlace holds what a source says against each other. alone: its samples are the columns and nothing else.
func (d *decoder) checkPlace(src *Source, at string, columns []Column, alone bool) {
	kinds, places := 0, places
	if at != "source" {
		places = "folder, list and shards"
	}
	for _, given := range []bool{src.Folder != "", src.List != "", len(src.Shards) > 0, src.Arrays != nil, src.Host.Samples > 0} {
		if given {
			kinds++
		}
	}
	table := src.IsTable()
	switch {
	case (src.Heading || src.Names != nil) && (src.List == "" || src.namesColumns()):
		d.failAt(at+".heading", "goes with a list of lines that have fields; .json, .jsonl, .parquet and .npz have their columns' names anyway")
	case src.Separator != "" && (src.List == "" || src.namesColumns()):
		d.failAt(at+".separator", "goes with a list of lines that have fields, a .csv or one with heading; .json, .jsonl, .parquet and .npz have other forms")
	case src.Separator != "" && !table:
		d.failAt(at+".separator", "goes with a list whose columns have names: say heading: true where its first line has them, or else name them, as heading: [path, label]")
	case src.isCSV() && !src.Heading && src.Names == nil && d.pos[at+".heading"].line > 0:
		d.failAt(at+".heading", "got false of a .csv, whose columns have to be named: say heading: [path, label] where its first line does not")
	case kinds == 0:
		d.failAt(at, "names no samples; want exactly one of "+places)
	case src.Folder != "" && src.List != "":
		d.failAt(at+".list", "given beside folder; want exactly one of "+places)
	case kinds > 1 && src.Arrays != nil:
		d.failAt(at+".arrays", "given beside another; want exactly one of "+places)
	case kinds > 1 && src.Host.Samples > 0:
		d.failAt(at+".host", "given beside another; want exactly one of "+places)
	case kinds > 1:
		d.failAt(at+".shards", "given beside another; want exactly one of "+places)
	case src.List == "" && src.Root != "":
		d.failAt(at+".root", "goes with list; a folder is its own root")
	case src.Folder == "" && src.Extensions != nil:
		d.failAt(at+".extensions", "goes with folder; a list names its files itself, and of shards image names the part")
	case src.Episodes != nil && src.Arrays == nil:
		d.failAt(at+".episodes", "goes with arrays, whose rows episodes are of; leave it out")
	case src.Arrays != nil && d.pos[at+".labels"].line > 0:
		d.failAt(at+".labels", "goes with folder, shards and list; of arrays label names the one whose numbers they are, and without it there are none")
	case src.Host.Samples > 0 && src.Only != nil:
		d.failAt(at+".only", "given with host, whose samples your program brings by their numbers; choose them there")
	case src.Host.Samples > 0 && d.pos[at+".labels"].line > 0:
		d.failAt(at+".labels", "goes with folder, shards and list; your program gives each sample's label")
	case src.List != "" && src.ByMember == LabelsDirectory:
		d.failAt(at+".labels", "got directory, which goes with folder and with archives as shards; a list has its labels in its second column, a table in the "+
			"column that label names; want none, or leave it out")
	case src.IsParquet() && src.ByMember == LabelsDirectory:
		d.failAt(at+".labels", "got directory, which goes with folder and with archives as shards; Parquet has its labels in the column that label names; "+
			"want none, or leave it out")
	case src.ByMember == LabelsNames && !table && (src.Shards == nil || src.areArchives()) || src.Labels == LabelsNames:
		d.failAt(at+".labels", "got names, which goes with a list that is a table (.csv, .jsonl, .parquet or .npz) and with Parquet and Arrow as shards; of a folder directory is what names classes, and elsewhere labels are numbers")
	case src.ByMember != "" && src.ByMember != LabelsNames && src.Label != "":
		d.failAt(at+".label", "given beside labels: %s; leave one of them out", src.ByMember)
	case !table && src.Path != "":
		d.failAt(at+".path", "goes with a list that is a table: .csv, .jsonl, .parquet or .npz")
	case (src.Shards == nil || src.IsParquet()) && src.Split != "":
		d.failAt(at+".split", "goes with shards of a data set that lists its splits (Megatron-Energon's, save_to_disk's); of others name the split's own files: folder: DIR/train, or shards: train-*.parquet")
	case src.Shards == nil && src.Image != nil:
		d.failAt(at+".image", "goes with shards")
	case src.Arrays != nil && src.Label != "" && !slices.ContainsFunc(src.Arrays, func(a ArrayFiles) bool { return a.Name == src.Label }):
		d.failAt(at+".label", "got %q, want the name of one of the arrays", src.Label)
	case src.Shards == nil && !table && src.Arrays == nil && src.Label != "":
		d.failAt(at+".label", "goes with shards and with a list that is a table: .csv, .jsonl, .parquet or .npz")
	case alone && src.Path != "":
		d.failAt(at+".path", "names the column of the samples' files, and they have none: there is no image, video, audio or fields; leave it out")
	case alone && src.Image != nil:
		d.failAt(at+".image", "names the part that is a picture, and there is no image, video, audio or fields; leave it out, or add such a section")
	case alone && src.List != "" && !table:
		d.failAt(at+".list", "is a list of paths, which has no columns; want a table (.csv, .jsonl, .parquet or .npz), in which a column of type npy holds paths of arrays")
	case alone && src.Host.Samples > 0 && severalFiles(columns):
		d.failAt("source.columns", "got several files a sample, but your program brings one; make columns of its members, such as npz[latents] and npz[ids]")
	case alone && src.Host.Samples > 0:
		d.checkHosted(columns)
	case src.Shards == nil && !table && src.Arrays == nil && src.Folder == "" && len(columns) > 0:
		remedy := ""
		if src.List != "" {
			remedy = "; of another say heading: true where its first line names the columns, or else name them, as heading: [path, text]; separator says what is between"
		}
		d.failAt("source.columns", "goes with shards, with a folder and with a list that is a table: .csv, .jsonl, .parquet or .npz%s", remedy)
	case src.IsParquet() && slices.ContainsFunc(columns, func(c Column) bool { return c.Type == TypeNPY }):
		d.failAt("source.columns", "got type npy with Parquet, whose arrays are lists: say type: list, with dtype and shape or max_length; .npy files go with archives, folders and lists that are tables")
	case (table || src.IsParquet()) && slices.ContainsFunc(columns, func(c Column) bool { return c.Default != nil }):
		d.failAt("source.columns", "got a default with a table; it goes with archives and with files beside a folder's; write the value into the table")
	case isURL(src.Folder) && strings.HasPrefix(src.Folder, "http"):
		d.failAt(at+".folder", "a folder cannot be listed over http; name its files in a list, or use s3://, gs:// or hf://")
	}
}

// severalFiles says that columns are not all made of one file.
func severalFiles(columns []Column) bool {
	file := func(c *Column) string {
		from, _, _ := strings.Cut(cmp.Or(c.From, c.Name), "[")
		return from
	}
	return slices.ContainsFunc(columns, func(c Column) bool { return file(&c) != file(&columns[0]) })
}

// checkHosted refuses arrays whose room nobody can tell before the program brings the first.
func (d *decoder) checkHosted(columns []Column) {
	for i, c := range columns {
		if c.Type == TypeNPY && (c.DType == 0 || c.Shape == nil) {
			d.failAt(fmt.Sprintf("source.columns[%d]", i), "dtype and shape are missing, want both: no sample of your program is looked at beforehand")
		}
	}
}

// places are the source itself and the data sets of its mixture.
func (s *Source) places() []*Source {
	all := []*Source{s}
	for i := range s.Mix {
		all = append(all, &s.Mix[i].Source)
	}
	return all
}

// checkColumns holds the names of columns against each other and the reserved ones. arrays: they are whole arrays, which nothing is read from. Those of media
// are in no batch.
func (d *decoder) checkColumns(columns []Column, reserved []string, arrays bool, media []string) {
	seen := map[string]bool{}
	for _, c := range columns {
		if c.Padded {
			reserved = append(reserved, LengthOf(c.Name))
		}
	}
	for i, c := range columns {
		at := fmt.Sprintf("source.columns[%d]", i)
		switch {
		case c.Name == "":
			d.failAt(at, "name is missing, want name: %s", nameRule)
		case !validName(c.Name) && arrays:
			d.failAt(at, "got name %.70q, want %s", c.Name, nameRule)
		case !validName(c.Name):
			d.failAt(at, "got name %.70q, want %s; the part or column goes into from", c.Name, nameRule)
		case slices.Contains(media, c.Name) && !seen[c.Name]:
		case slices.Contains(reserved, c.Name) && arrays:
			d.failAt(at, "got name %q, which every batch has; choose another", c.Name)
		case slices.Contains(reserved, c.Name):
			leave := ""
			if c.Name == "label" {
				leave = "leave it out where it is the label, a whole number; else "
			}
			d.failAt(at, "got name %q, which every batch has; %schoose another, and say from: %s", c.Name, leave, c.Name)
		case seen[c.Name]:
			d.failAt(at, "got name %q twice", c.Name)
		case c.MaxBytes < 1 || c.MaxBytes > 1<<30:
			d.failAt(at, "got max_bytes %d, want 1 to 1GiB", c.MaxBytes)
		}
		seen[c.Name] = true
	}
}
