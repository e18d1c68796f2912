package spec

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
			if p.key == "list" && target(s.values[p.key]).Kind == yaml.SequenceNode {
				s.fail(p.key, "got %s, want the path of a file that has them, one a line; archives and tables of samples are shards: [...]", describe(s.values[p.key]))
				return
			}
			s.text(p.key, p.written)
			name, err := Located(*p.written)
			if err != nil {
				s.fail(p.key, "%v", err)
			}
			*p.written, *p.resolved = resolve(name, dir)
		}
	}
	if s.has("shards") {
		src.Shards, src.written.shards = nil, nil
		for _, text := range s.texts("shards", "a path, a URL or a list of them", maxPatterns) {
			name, err := Located(text)
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

// isURL tells a name that core/source reads over the network.
func isURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (scheme == "http" || scheme == "https" || scheme == "s3" || scheme == "gs" || scheme == "hf")
}

// oneSlash are addresses that a path's clean form, such as pathlib's, has cut a slash of.
var oneSlash = regexp.MustCompile(`^(?i:https?|s3|gs|hf):/[^/]`)

var schemed = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://(.*)$`)

// Located is the name of what is read as core/source takes it: a path, or a URL with its scheme in lower case. file:///PATH is the path.
func Located(text string) (string, error) {
	switch {
	case strings.HasPrefix(text, "pipe:"):
		return "", errors.New("got a command (pipe:), of which no sample can be read by itself; name what it reads, by path or by a URL of http, https, s3, gs or hf")
	case strings.Contains(text, ".tar::"):
		return "", errors.New("got several names with :: between them, want a list of them: [a-{000..099}.tar, b-{000..099}.tar]")
	case oneSlash.MatchString(text):
		return "", fmt.Errorf("got %.200q, want two slashes, as in s3://NAME/PATH; a directory that is called so is ./%[1]s", text)
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

// checkPlace holds what a source says against each other. alone: its samples are the columns and nothing else.
func (d *decoder) checkPlace(src *Source, at string, columns []Column, alone bool) {
	d.checkHeading(src, at)
	d.checkKind(src, at)
	d.checkWords(src, at)
	d.checkLabels(src, at)
	if alone {
		d.checkAlone(src, at, columns)
	}
	switch {
	case src.Host.Samples == 0:
		d.checkColumnsOf(src, columns)
	case len(columns) > 0:
		d.checkHosted(columns)
	}
}

// checkHeading holds what a list's columns are called, and what is between them, against the list.
func (d *decoder) checkHeading(src *Source, at string) {
	switch {
	case (src.Heading || src.Names != nil) && (src.List == "" || src.namesColumns()):
		d.failAt(at+".heading", "goes with a list of lines that have fields; .json, .jsonl, .parquet and .npz have their columns' names anyway")
	case src.Separator != "" && (src.List == "" || src.namesColumns()):
		d.failAt(at+".separator", "goes with a list of lines that have fields, a .csv or one with heading; .json, .jsonl, .parquet and .npz have other forms")
	case src.Separator != "" && !src.IsTable():
		d.failAt(at+".separator", "goes with a list whose columns have names: say heading: true where its first line has them, or else name them, as heading: [path, label]")
	case src.isCSV() && !src.Heading && src.Names == nil && d.pos[at+".heading"].line > 0:
		d.failAt(at+".heading", "got false of a .csv, whose columns have to be named: say heading: [path, label] where its first line does not")
	}
}

// checkKind wants one kind of source, which can be listed.
func (d *decoder) checkKind(src *Source, at string) {
	kinds, places := 0, places
	if at != "source" {
		places = "folder, list and shards"
	}
	for _, given := range []bool{src.Folder != "", src.List != "", len(src.Shards) > 0, src.Arrays != nil, src.Host.Samples > 0} {
		if given {
			kinds++
		}
	}
	switch {
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
	case isURL(src.Folder) && strings.HasPrefix(src.Folder, "http"):
		d.failAt(at+".folder", "a folder cannot be listed over http; name its files in a list, or use s3://, gs:// or hf://")
	}
}

// checkWords holds the words that go with some kinds of source against the kind.
func (d *decoder) checkWords(src *Source, at string) {
	switch {
	case src.List == "" && src.Root != "":
		d.failAt(at+".root", "goes with list; a folder is its own root")
	case src.Folder == "" && src.Extensions != nil:
		d.failAt(at+".extensions", "goes with folder; a list names its files itself, and of shards image names the part")
	case src.Episodes != nil && src.Arrays == nil:
		d.failAt(at+".episodes", "goes with arrays, whose rows episodes are of; leave it out")
	case src.Host.Samples > 0 && src.Only != nil:
		d.failAt(at+".only", "given with host, whose samples your program brings by their numbers; choose them there")
	case !src.IsTable() && src.Path != "":
		d.failAt(at+".path", "goes with a list that is a table: .csv, .jsonl, .parquet or .npz")
	case (src.Shards == nil || src.IsParquet()) && src.Split != "":
		d.failAt(at+".split", "goes with shards of a data set that lists its splits (Megatron-Energon's, save_to_disk's); of others name the split's own files: folder: DIR/train, or shards: train-*.parquet")
	case src.Shards == nil && src.Image != nil:
		d.failAt(at+".image", "goes with shards")
	}
}

// checkLabels holds what says the labels against the kind of source.
func (d *decoder) checkLabels(src *Source, at string) {
	switch table := src.IsTable(); {
	case src.Arrays != nil && d.pos[at+".labels"].line > 0:
		d.failAt(at+".labels", "goes with folder, shards and list; of arrays label names the one whose numbers they are, and without it there are none")
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
	case src.Arrays != nil && src.Label != "" && !slices.ContainsFunc(src.Arrays, func(a ArrayFiles) bool { return a.Name == src.Label }):
		d.failAt(at+".label", "got %q, want the name of one of the arrays", src.Label)
	case src.Shards == nil && !table && src.Arrays == nil && src.Label != "":
		d.failAt(at+".label", "goes with shards and with a list that is a table: .csv, .jsonl, .parquet or .npz")
	}
}

// checkAlone wants columns of samples that have nothing else.
func (d *decoder) checkAlone(src *Source, at string, columns []Column) {
	switch {
	case src.Path != "":
		d.failAt(at+".path", "names the column of the samples' files, and they have none: there is no image, video, audio or fields; leave it out")
	case src.Image != nil:
		d.failAt(at+".image", "names the part that is a picture, and there is no image, video, audio or fields; leave it out, or add such a section")
	case src.List != "" && !src.IsTable():
		d.failAt(at+".list", "is a list of paths, which has no columns; want a table (.csv, .jsonl, .parquet or .npz), in which a column of type npy holds paths of arrays")
	}
}

// checkColumnsOf holds columns against the kind of source that has them.
func (d *decoder) checkColumnsOf(src *Source, columns []Column) {
	switch table := src.IsTable(); {
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
	}
}

// checkHosted refuses columns of several files, of which the program brings one, and arrays whose room nobody can tell before it brings the first.
func (d *decoder) checkHosted(columns []Column) {
	if severalFiles(columns) {
		d.failAt("source.columns", "got several files a sample, but your program brings one; make columns of its members, such as npz[latents] and npz[ids]")
	}
	for i, c := range columns {
		if c.Type == TypeNPY && (c.DType == 0 || c.Shape == nil) {
			d.failAt(fmt.Sprintf("source.columns[%d]", i), "dtype and shape are missing, want both: no sample of your program is looked at beforehand")
		}
	}
}
