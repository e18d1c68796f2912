package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spdl/spdl/core/spelling"
	"github.com/spdl/spdl/core/tensor"
	"go.yaml.in/yaml/v3"
)

// Error says what is wrong with a description, and where.
type Error struct {
	File      string // as it was given to Parse; "" when the spec is not of a file
	Line, Col int    // from 1; 0 when there is no place
	Path      string // dotted, such as image.transform[0].resize; "" for the document
	Text      string // got, want and remedy
}

func (e *Error) Error() string {
	where := "spec"
	switch {
	case e.Line > 0:
		where = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
	case e.File != "":
		where = e.File
	}
	text := e.Text
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return where + ": " + spelling.InLine(longWord.ReplaceAllStringFunc(text, func(word string) string { return strings.ToValidUTF8(word[:longKept], "") + "..." }), "\n")
}

// longWord is one of the description's, of which a message has the first longKept bytes.
var longWord = regexp.MustCompile(`[^\s"{}\[\],]{513,}`)

const longKept = 200

// decoder walks a document. The first error stays; after it nothing matters any more.
type decoder struct {
	file  string
	dir   string // from which relative paths are meant
	empty string // what an empty document is told
	err   *Error
	pos   map[string]place // where each key of the ring in hand was given, by its path without "rings.NAME."
}

type place struct {
	line, col int
	path      string // as it is shown
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{File: d.file, Line: n.Line, Col: n.Column, Path: path, Text: fmt.Sprintf(format, args...)}
	}
}

const (
	emptySpec   = "the document is empty; it needs at least source, and one of image, video and audio"
	wantSample  = `want one of image, video and audio, such as {"image": {}}`
	emptySample = "is empty, " + wantSample
)

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document parses the text and returns its one root node.
func (d *decoder) document(text []byte) (root *yaml.Node) {
	defer func() {
		if r := recover(); r != nil { // the parser's own bug must not end the process
			root = nil
			d.err = &Error{File: d.file, Text: fmt.Sprintf("the YAML parser failed: %v", r)}
		}
	}()
	if root := jsonDocument(text); root != nil {
		return root
	}
	if at := version12.FindSubmatchIndex(directives.Find(text)); at != nil {
		text = bytes.Clone(text)
		text[at[2]] = '1' // the parser takes no other, and reads both alike
	}
	var doc, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			d.err = &Error{File: d.file, Text: d.empty}
		} else {
			d.syntax(text, err)
		}
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		d.fail(&second, "", "got a second document, want one")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(text, err)
	}
	if d.err == nil && len(doc.Content) == 0 {
		d.err = &Error{File: d.file, Text: d.empty}
	}
	if d.err != nil {
		return nil
	}
	countHuge(&doc)
	return doc.Content[0]
}

// countHuge makes numbers of what the parser takes for text because no float has it, such as 1e309: they are refused as such, and not taken as names.
func countHuge(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!str" && realNumber.MatchString(n.Value) {
		n.Tag = "!!float"
	}
	for _, one := range n.Content {
		countHuge(one)
	}
}

// directives are the lines ahead of a document that begin with %, and blank ones and comments between them; version12 finds the last digit of %YAML 1.2 there.
var (
	directives = regexp.MustCompile(`\A\x{FEFF}?(?:[ \t\r]*(?:#[^\n]*)?\n)*(?:%[^\n]*\n(?:[ \t\r]*(?:#[^\n]*)?\n)*)+`)
	version12  = regexp.MustCompile(`(?m)^\x{FEFF}?%YAML[ \t]+1\.(2)(?:\s|\z)`)
)

func (d *decoder) syntax(document []byte, err error) {
	text := err.Error()
	e := &Error{File: d.file, Text: "not YAML: " + yamlLine.ReplaceAllString(text, "")}
	if moreThanJSON(document) {
		e.Text = "got more after the description, want one JSON object"
	}
	if m := yamlLine.FindStringSubmatch(text); m != nil && m[1] != "" {
		e.Line, _ = strconv.Atoi(m[1])
		e.Col = 1
	}
	lines := bytes.Split(document, []byte("\n"))
	for k := max(e.Line, 1); k <= min(e.Line+1, len(lines)); k++ { // the parser names the line before, at times
		if bytes.HasPrefix(bytes.TrimLeft(lines[k-1], " "), []byte("\t")) {
			e.Line = k
			e.Text += "; the line is indented by a tab, which YAML does not allow: write blanks"
			break
		}
	}
	if !utf8.Valid(document) {
		e.Text += "; the file is no text: want a description in YAML or JSON, or in its place a folder of media, or shards by their names"
	}
	if head := directives.Find(document); head != nil && e.Line <= 1+bytes.Count(head, []byte("\n")) {
		e.Text += "; leave out the lines ahead of it that begin with %, which say nothing here"
	}
	if at := bareTemplate.FindSubmatchIndex(document); at != nil {
		e.Line, e.Col = 1+bytes.Count(document[:at[2]], []byte("\n")), at[2]-bytes.LastIndexByte(document[:at[2]], '\n')
		e.Text += fmt.Sprintf("; a path that begins with a brace is written in quotes: %s: %q", document[at[2]:at[3]], document[at[4]:at[5]])
	}
	d.err = e
}

// bareTemplate is a path that is made of columns, and begins as a mapping of YAML does.
var bareTemplate = regexp.MustCompile(`\b(path|from):[ \t]*((?:\{[^{}"',\n]*\})(?:[^\s,{}"']|\{[^{}"',\n]*\})+)`)

// target follows an alias to what it names.
func target(n *yaml.Node) *yaml.Node {
	for range 8 {
		if n.Kind != yaml.AliasNode {
			break
		}
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// describe says what a node is, for "got ...".
func describe(n *yaml.Node) string {
	switch n = target(n); {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case n.ShortTag() == "!!str":
		return fmt.Sprintf("text %.60q", n.Value)
	}
	return fmt.Sprintf("%.60s", n.Value)
}

// section is a mapping whose keys have been checked against the table.
type section struct {
	d      *decoder
	table  string // path in the table
	shown  string // path in errors
	place  string // path in decoder.pos
	values map[string]*yaml.Node
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// mainKeys are those that are meant where a section is given as one value.
var mainKeys = map[string]string{"bad_sample": "policy", "cache": "dir", "ring.groups[]": "name", "source.packing": "length", "video.select": "kind", "audio.features": "kind",
	"image.transform[].color_jitter": "brightness", "video.transform[].color_jitter": "brightness"}

// mapped says how what stands where a mapping should is written as one: a key alone, and the paths of a source.
func mapped(n *yaml.Node, table string) string {
	switch main := mainKeys[table]; {
	case main != "" && n.Kind == yaml.ScalarNode && !isNull(n) && n.ShortTag() != "!!bool" && !slices.Contains(children(table), n.Value):
		return fmt.Sprintf("; write {%s: %.60s}", main, n.Value)
	case n.Kind == yaml.SequenceNode && (table == "source" || table == "source.mix[]"):
		return "; write {shards: [...]}, or {list: FILE} of a file with a path a line"
	case n.Kind == yaml.ScalarNode && table == "cache" && n.ShortTag() == "!!bool":
		return "; write {dir: DIR}, of what is fetched, or {rows_bytes: 8GiB}, of what is decoded"
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
		return ""
	case table == "order" && slices.Contains([]string{"shuffle", "shuffled", "random"}, n.Value):
		return "; write {shuffle: true}"
	case table == "device" && slices.Contains([]string{"cuda", "gpu"}, strings.TrimRight(n.Value, ":0123456789")):
		return fmt.Sprintf("; write {cuda: %d}", ordinal(n.Value))
	case slices.Contains(children(table), n.Value):
		return fmt.Sprintf("; write {%s: ...}", n.Value)
	case transformHint(n.Value, table, nil) != "":
		return "; " + transformHint(n.Value, table, nil)
	case table == "source" || table == "source.mix[]":
		return fmt.Sprintf("; write {folder: %s}, {list: %[1]s} or {shards: %[1]s}", n.Value)
	}
	return ""
}

// ordinal is the number at the end of a device's name, such as cuda:1; 0: there is none.
func ordinal(name string) int {
	_, digits, _ := strings.Cut(name, ":")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// section reads a mapping; one without content is an empty one.
func (d *decoder) section(n *yaml.Node, table, shown, place string) section {
	s := section{d: d, table: table, shown: shown, place: place, values: map[string]*yaml.Node{}}
	m := target(n)
	if isNull(m) && table != "" {
		return s
	}
	if m.Kind != yaml.MappingNode && table == "" && d.empty == emptySample {
		d.fail(n, shown, "got %s, %s", describe(n), wantSample)
		return s
	}
	if m.Kind != yaml.MappingNode {
		d.fail(n, shown, "got %s, want a mapping of %s%s", describe(n), strings.Join(children(table), ", "), mapped(m, table))
		return s
	}
	names := children(table)
	for i := 0; i+1 < len(m.Content) && d.err == nil; i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			d.fail(key, shown, "got %s for a key, want one of %s", describe(key), strings.Join(names, ", "))
			continue
		}
		if !slices.Contains(names, key.Value) {
			d.unknown(key, table, shown, names)
		}
		if s.values[key.Value] != nil {
			d.fail(key, join(shown, key.Value), "given twice; keep one")
		}
		s.values[key.Value] = value
		d.pos[join(place, key.Value)] = placeOf(value, join(shown, key.Value))
	}
	return s
}

func placeOf(n *yaml.Node, shown string) place {
	return place{line: n.Line, col: n.Column, path: shown}
}

func (d *decoder) unknown(key *yaml.Node, table, shown string, names []string) {
	path := fmt.Sprintf("%.100s", join(shown, key.Value))
	within := ""
	if d.empty == emptySample && shown != "" { // of one sample there are no other sections
		section, _, _ := strings.Cut(shown, ".")
		within = section + "."
	}
	if key.Value == "<<" {
		d.fail(key, path, "merge keys are not read; repeat the keys, or use rings")
	} else if h := transformHint(key.Value, table, names); h != "" {
		d.fail(key, path, "unknown key; %s", h)
	} else if remedy := instead(shown, key.Value); remedy != "" {
		d.fail(key, path, "unknown key; %s", remedy)
	} else if h := operationHint(key.Value, names); h != "" {
		d.fail(key, path, "unknown key; %s", h)
	} else if near := spelling.Nearest(key.Value, names); near != "" && !(shown == "" && elsewhere(key.Value, "source.") != "") {
		d.fail(key, path, "unknown key; did you mean %q?", near)
	} else if key.Value == "size" && slices.Contains(names, "transform") { // that of the world is another's
		d.fail(key, path, "unknown key; the transform says how large, such as transform: [{resize: 256}, {center_crop: 224}]; valid here: %s", strings.Join(names, ", "))
	} else if other := elsewhere(key.Value, within); other != "" {
		d.fail(key, path, "unknown key here; it belongs at %s; valid here: %s", other, strings.Join(names, ", "))
	} else {
		d.fail(key, path, "unknown key; valid here: %s", strings.Join(names, ", "))
	}
}

// has reports whether the key was given. Asking for a key that the table lacks is our own bug.
func (s *section) has(key string) bool {
	if !slices.Contains(children(s.table), key) {
		panic("spec: key " + join(s.table, key) + " is not in the table")
	}
	return s.values[key] != nil && s.d.err == nil
}

// switchedOn is has of a section that means something by being there: with nothing in it, it may have been meant as a no.
func (s *section) switchedOn(key string) bool {
	if s.has(key) && isNull(target(s.values[key])) {
		s.fail(key, "got nothing, want {} for one with every default; leave the key out for none")
	}
	return s.has(key)
}

// takenBack says that a ring writes null for a key: it has nothing of what the top level says there.
func (s *section) takenBack(key string) bool {
	return strings.HasPrefix(s.shown, "rings.") && s.has(key) && isNull(target(s.values[key]))
}

// over is what a section says under a key, or else what is said above.
func over[T any](s *section, key string, above *T, read func(s *section) *T) *T {
	switch {
	case s.takenBack(key):
		return nil
	case s.has(key):
		return read(s)
	}
	return above
}

func (s *section) fail(key, format string, args ...any) {
	s.d.fail(s.values[key], join(s.shown, key), format, args...)
}

// scalar is the text of a plain value of one of these YAML types.
func (s *section) scalar(key, want string, tags ...string) (string, bool) {
	if !s.has(key) {
		return "", false
	}
	return s.d.scalar(s.values[key], join(s.shown, key), want, tags...)
}

func (d *decoder) scalar(n *yaml.Node, shown, want string, tags ...string) (string, bool) {
	v := target(n)
	if v.Kind == yaml.ScalarNode && slices.Contains(tags, v.ShortTag()) {
		return v.Value, true
	}
	hint := ""
	if isNull(v) {
		hint = "; leave the key out for its default"
	} else if v.Kind == yaml.ScalarNode && tags[0] == "!!str" {
		hint = "; put it in quotes"
	} else if v.Kind == yaml.MappingNode && tags[0] == "!!str" && len(v.Content) == 2 && isNull(v.Content[1]) { // path: {image_id}
		hint = "; put text that begins with a brace in quotes"
	} else if v.Kind == yaml.MappingNode && len(v.Content) == 2 && v.Content[0].Value == "p" { // horizontal_flip: {p: 0.5}
		hint = fmt.Sprintf("; write %.60s alone", v.Content[1].Value)
	}
	d.fail(n, shown, "got %s, want %s%s", describe(n), want, hint)
	return "", false
}

func (s *section) text(key string, dst *string) {
	v, ok := s.scalar(key, "text", "!!str")
	if !ok {
		return
	}
	if v == "" || strings.ContainsRune(v, 0) {
		s.fail(key, "got text %.60q, want text that is not empty and has no zero byte", v)
		return
	}
	*dst = v
}

// textOrNone is text that a ring may take back.
func (s *section) textOrNone(key string, dst *string) {
	if s.takenBack(key) {
		*dst = ""
		return
	}
	s.text(key, dst)
}

func (s *section) flag(key string, dst *bool) {
	if v, ok := s.scalar(key, "true or false", "!!bool"); ok {
		*dst = strings.EqualFold(v, "true")
	}
}

// choice reads one of several words.
func choice[T ~string](s *section, key string, dst *T, words ...T) {
	if s.has(key) {
		if v, ok := oneOf(s.d, s.values[key], join(s.shown, key), words...); ok {
			*dst = v
		}
	}
}

func oneOf[T ~string](d *decoder, n *yaml.Node, shown string, words ...T) (T, bool) {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	v := target(n)
	if v.Kind == yaml.ScalarNode && slices.Contains(names, v.Value) {
		return T(v.Value), true
	}
	hint := ""
	if near := Meant(v.Value, names); v.Kind == yaml.ScalarNode && near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	d.fail(n, shown, "got %s, want one of %s%s", describe(n), strings.Join(names, ", "), hint)
	return "", false
}

var shortType = strings.NewReplacer("uint", "u", "int", "i", "bfloat", "bf", "float", "f", "fp", "f")

// shortTypes are those of numpy, torch and C whose names do not tell their size.
var shortTypes = map[string]string{"half": "f16", "float": "f32", "single": "f32", "double": "f64", "byte": "u8", "short": "i16", "int": "i32", "long": "i64"}

// Meant is the word that was meant in place of a wrong one, "" if none is near. It knows types as numpy and torch call them, float32 and torch.half,
// and classes of torchaudio, MelSpectrogram, which begin with our word.
func Meant(wrong string, words []string) string {
	name := strings.ToLower(wrong[strings.LastIndexByte(wrong, '.')+1:])
	for _, short := range []string{shortTypes[name], shortType.Replace(name)} {
		if slices.Contains(words, short) {
			return short
		}
		if _, err := tensor.ParseDType(short); err == nil {
			return "" // a type that is none of these
		}
	}
	for _, w := range words {
		if len(w) >= 3 && strings.HasPrefix(strings.ToLower(wrong), w) {
			return w
		}
	}
	return spelling.Nearest(wrong, words)
}

// whole reads a decimal integer in [low, high].
func whole[T int | int64](s *section, key string, dst *T, low, high T) {
	if s.has(key) {
		if v, ok := s.d.whole(s.values[key], join(s.shown, key), int64(low), int64(high)); ok {
			*dst = T(v)
		}
	}
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (d *decoder) whole(n *yaml.Node, shown string, low, high int64) (int64, bool) {
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	if low == high {
		want = strconv.FormatInt(low, 10)
	}
	v, ok := d.scalar(n, shown, want, "!!int", "!!float")
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(v, 10, 64)
	if !decimal.MatchString(v) || err != nil || i < low || i > high {
		d.fail(n, shown, "got %.60s, want %s", v, want)
		return 0, false
	}
	return i, true
}

func (s *section) seed(key string, dst *uint64) {
	v, ok := s.scalar(key, "a whole number from 0 to 2^64-1", "!!int", "!!float")
	if !ok {
		return
	}
	u, err := strconv.ParseUint(v, 10, 64)
	if !decimal.MatchString(v) || err != nil {
		s.fail(key, "got %.60s, want a whole number from 0 to 2^64-1", v)
		return
	}
	*dst = u
}

// number reads a finite decimal number in [low, high].
func (s *section) number(key string, dst *float64, low, high float64) {
	if s.has(key) {
		if v, ok := s.d.number(s.values[key], join(s.shown, key), low, high); ok {
			*dst = v
		}
	}
}

var realNumber = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

func (d *decoder) number(n *yaml.Node, shown string, low, high float64) (float64, bool) {
	want := fmt.Sprintf("a number from %g to %g", low, high)
	v, ok := d.scalar(n, shown, want, "!!float", "!!int")
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(v, 64)
	if !realNumber.MatchString(v) || err != nil || f < low || f > high {
		d.fail(n, shown, "got %.60s, want %s", v, want)
		return 0, false
	}
	return f, true
}

var sizeText = regexp.MustCompile(`^([0-9]+)(KiB|MiB|GiB)?$`)

// size reads a number of bytes.
func (s *section) size(key string, dst *int64) {
	const want = "a size such as 64MiB, 1GiB or plain bytes, from 1"
	v, ok := s.scalar(key, want, "!!int", "!!str")
	if !ok {
		return
	}
	n, is := ParseSize(v)
	switch {
	case !is && !sizeText.MatchString(v):
		s.fail(key, "got %.60s, want %s", v, want)
	case !is || n < 1:
		s.fail(key, "got %.60s, want %s, and less than 2^63 bytes", v, want)
	default:
		*dst = n
	}
}

// ParseSize is a number of bytes as text: 0, 4096, 64KiB, 256MiB, 1GiB. It is false of anything else, and from 2^63 on.
func ParseSize(text string) (int64, bool) {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	unit := map[string]int64{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[m[2]]
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}

// duration reads a number with a unit, from low to high.
func (s *section) duration(key, want string, dst *time.Duration, low, high time.Duration) {
	v, ok := s.scalar(key, want, "!!str", "!!int")
	if !ok {
		return
	}
	t, err := time.ParseDuration(v)
	if err != nil || t < low || t > high {
		s.fail(key, "got %.60s, want %s", v, want)
		return
	}
	*dst = t
}

// items are the entries of a list with at most limit of them.
func (s *section) items(key, want string, limit int) []*yaml.Node {
	if !s.has(key) {
		return nil
	}
	return s.d.items(s.values[key], join(s.shown, key), want, limit)
}

func (d *decoder) items(n *yaml.Node, shown, want string, limit int) []*yaml.Node {
	v := target(n)
	if v.Kind != yaml.SequenceNode {
		d.fail(n, shown, "got %s, want %s", describe(n), want)
		return nil
	}
	if len(v.Content) > limit {
		d.fail(n, shown, "got %d entries, want at most %d", len(v.Content), limit)
		return nil
	}
	return v.Content
}
