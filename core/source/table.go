package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"github.com/zeebo/xxh3"
)

const maxWhole = 1 << 53 // up to which a double tells whole numbers

// tableEnding is csv, json, jsonl (which is called ndjson, too), parquet or npz by a file's ending, of text also before .gz, or empty.
func tableEnding(name string) string {
	if store.IsURL(name) {
		name, _, _ = strings.Cut(name, "?")
	}
	name = strings.ToLower(name)
	plain := strings.TrimSuffix(name, ".gz")
	switch e := filepath.Ext(plain); e {
	case ".parquet", ".npz":
		if plain == name {
			return e[1:]
		}
	case ".csv", ".json", ".jsonl":
		return e[1:]
	case ".ndjson":
		return "jsonl"
	}
	return ""
}

// table is a list with columns, held in memory: a row costs the bytes of its texts, 8 for each of them, and 8 for each number.
type table struct {
	place
	rows
	first Medium   // where it is several pictures
	media []Medium // beside it

	alone   bool   // its rows are all there is
	name    string // of the table, where rows are called by their numbers: they have no path, or several; else ""
	content uint64 // what tells its text, or a Parquet file's size
}

// rows are the columns of a table that somebody asked for.
type rows struct {
	paths   texts
	others  []texts     // paths of the other media
	labels  []int64     // nil: there are none
	names   *labelNames // what they are the names of, while they are read; nil: they are numbers
	classes []string    // the names, sorted
	columns []Column
	texts   []texts   // by column; empty for numbers
	numbers [][]int64 // by column; empty for texts. A float64 is its bits
	n       int64

	held      int64        // bytes of lists of Parquet in memory
	parts     [][]listPart // by column; nil but for lists of Parquet
	listFiles []*listFile  // that some of them lie in
	made      int          // of those
	notes     []string     // on what is kept
}

// texts are the values of one column, one after the other.
type texts struct {
	bytes []byte
	ends  []int64
}

func (t *texts) add(text []byte) {
	t.bytes = append(t.bytes, text...)
	t.ends = append(t.ends, int64(len(t.bytes)))
}

func (t *texts) at(i int64) []byte {
	from := int64(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.bytes[from:t.ends[i]]
}

// cells is one row as its reader has it: the text of each column that was asked for, nil where there is none.
type cells struct {
	path, label []byte
	others      [][]byte
	columns     [][]byte
	parts       [][]byte // that paths are made of
	lists       []int    // as tableReader has them; nil: none. The rows have those already
}

func openTable(c ListConfig) (Source, error) {
	if c.First.Many > 0 || several(c.Others) {
		c.InPlace = 0
	}
	t := &table{rows: rowsOf(&c, c.Columns), first: c.First, media: c.Others, alone: c.Alone}
	t.others = make([]texts, len(c.Others))
	r := tableReader{c: &c, rows: &t.rows, rules: rulesOf(&c), path: cmp.Or(c.Path, "path"), label: cmp.Or(c.Label, "label")}
	if c.Alone && len(c.Columns) == 0 {
		return nil, errNothing
	}
	if c.Alone || c.First.Many > 0 {
		t.name = baseName(c.File)
	}
	r.lined = make([]bool, r.firstColumn())
	err := r.planMade()
	if err == nil {
		err = r.read()
	}
	if err == nil && t.n == 0 {
		err = fmt.Errorf("%w: the table has no rows", ErrNoSamples)
	}
	if err == nil {
		t.place, err = openPlace(&c)
	}
	if err != nil {
		return nil, errors.Join(err, t.closeLists())
	}
	t.version, t.content = r.version, r.content
	t.settleNames()
	c.Progress.Step()
	if err := settleArrays(context.Background(), t, t.columns); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func newRows(columns []Column) rows {
	all := completeColumns(columns)
	return rows{columns: all, texts: make([]texts, len(all)), numbers: make([][]int64, len(all)), parts: make([][]listPart, len(all))}
}

// tableReader reads a table of any form into rows.
type tableReader struct {
	c           *ListConfig
	rows        *rows
	rules       rules
	path, label string
	hasLabel    bool
	made        []made   // paths that no column holds
	parts       []string // the columns that those are made of
	lists       []int    // of Parquet, by column of the batch: which of the file's columns is a list of its values, or -1
	lined       []bool   // by place among wanted: what comes there are lines of paths already
	version     uint64   // of the table, once it is read
	content     uint64   // of the table wherever it lies
}

func (r *tableReader) read() error {
	if r.c.form() == "parquet" {
		return r.parquet()
	}
	text, err := readList(r.c)
	if errors.Is(err, ErrNoSamples) {
		return r.empty()
	}
	if err != nil {
		return err
	}
	r.version = xxh3.Hash(text)
	r.content = r.version
	if r.c.form() == "npz" {
		return r.npz(text)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch r.c.form() {
	case "csv":
		return r.csv(text)
	case "tsv":
		return r.fields(text)
	case "json":
		if list, ok := bytes.CutPrefix(bytes.TrimLeft(text, jsonBlanks), []byte("[")); ok {
			return r.jsonList(list, 1+bytes.Count(text[:len(text)-len(list)], []byte("\n")))
		}
	}
	return r.jsonLines(text)
}

// empty says what a table of text begins with.
func (r *tableReader) empty() error {
	first, what := r.path, "the path"
	if r.c.Alone {
		first, what = r.rows.columns[0].From, "a value"
	}
	if len(r.parts) > 0 {
		first, what = r.parts[0], "a value"
	}
	want := fmt.Sprintf("a heading line with the column %q", first)
	switch {
	case r.c.form() == "jsonl" || r.c.form() == "json":
		want = fmt.Sprintf("a JSON object a line, with %s in %q", what, first)
	case r.c.form() == "npz":
		want = "an array for each column, as numpy.savez writes them"
	case r.c.Names != nil:
		want = "a row a line"
	}
	return fmt.Errorf("%w: the file is empty; want %s", ErrNoSamples, want)
}

// wanted are the names of the columns that are read: path, label, the other paths, those of the batch, and those that paths are made of.
func (r *tableReader) wanted() []string {
	names := []string{r.path, r.label}
	for _, m := range r.c.Others {
		names = append(names, m.From[0])
	}
	for _, c := range r.rows.columns {
		names = append(names, c.From)
	}
	return append(names, r.parts...)
}

// firstColumn is where the batch's columns begin among the wanted.
func (r *tableReader) firstColumn() int { return 2 + len(r.c.Others) }

// numbers tells which of the wanted are numbers.
func (r *tableReader) numbers() []bool {
	numbers := make([]bool, r.firstColumn())
	numbers[1] = !r.c.LabelNames
	for _, c := range r.rows.columns {
		numbers = append(numbers, c.Type == Int64 || c.Type == Float64)
	}
	return append(numbers, make([]bool, len(r.parts))...)
}

// places finds the wanted columns among those that the table has; -1: no label is there that anybody asked for.
func (r *tableReader) places(has []string) ([]int, error) {
	var places []int
	for k, name := range r.wanted() {
		at := -1
		if !r.wants(k) {
			places = append(places, at)
			continue
		}
		for i, h := range has {
			if h == name && at >= 0 {
				return nil, fmt.Errorf("column %q is there twice", name)
			} else if h == name {
				at = i
			}
		}
		blank := func(h string) bool { return strings.TrimSpace(h) == name }
		switch {
		case at >= 0:
		case slices.ContainsFunc(has, blank): // also of a label that nobody asked for: all would be without one, in silence
			return nil, fmt.Errorf("column %q has blanks around its name, which count; leave them out%s", name, map[string]string{
				"csv": ", behind the commas of the heading and of every line", "tsv": ", around the " + r.c.separators() + " of the heading and of every line"}[r.c.form()])
		case r.needs(k):
			return nil, lacking("no column %q; the columns are %s%s", name, describeParts(has), r.remedy(k, has))
		}
		places = append(places, at)
	}
	r.hasLabel = places[1] >= 0
	return places, nil
}

// wants tells whether a column of wanted is looked for: neither a path nor a label may be.
func (r *tableReader) wants(k int) bool {
	return (k != 0 || !r.c.Alone) && (k != 1 || !r.c.NoLabels) && !slices.ContainsFunc(r.made, func(m made) bool { return m.place == k })
}

// pathRemedy says where paths may come from.
const pathRemedy = `source.path says which column holds the paths, or what they are made of, such as "train/{image_id}.jpg"`

// remedy says what to do about a column that a table does not have.
func (r *tableReader) remedy(k int, has []string) string {
	text, part := r.c.form() == "csv" || r.c.form() == "tsv", k-r.firstColumn()-len(r.rows.columns)
	switch {
	case text && r.c.Names != nil && k == 0:
		return "; source.heading names the columns, and " + pathRemedy
	case text && r.c.Names == nil && k == 0 && slices.ContainsFunc(has, func(h string) bool { return slices.ContainsFunc(strings.FieldsFunc(h, isSeparator), isFileName) }):
		return "; the first line is the heading, and this one looks like a row: source.heading names the columns where the file does not, and source.separator what is between them: " +
			"heading: [path, label]" + r.otherSeparator(has)
	case text && len(has) == 1 && r.otherSeparator(has) != "":
		return fmt.Sprintf("; fields are separated by %s, unless source.separator says otherwise", r.c.separators())
	case text && r.c.Names == nil && k == 0:
		return "; the first line is the heading, and " + pathRemedy
	case k == 0:
		return "; " + pathRemedy
	case part >= 0:
		return r.wantedBy(part, has)
	}
	return ""
}

// isSeparator tells what files have between their fields.
func isSeparator(c rune) bool { return strings.ContainsRune(",;|\t ", c) }

// otherSeparator is what seems to be between the fields of a heading that is one field, as a description says it; "": nothing.
func (r *tableReader) otherSeparator(has []string) string {
	for _, c := range "\t|;, " {
		if len(has) == 1 && strings.ContainsRune(has[0], c) {
			return fmt.Sprintf(", separator: %q", string(c))
		}
	}
	return ""
}

// fileName is a name that ends as media do.
var fileName = regexp.MustCompile(`[^.]\.[A-Za-z][A-Za-z0-9]{1,4}$`)

func isFileName(text string) bool { return fileName.MatchString(text) }

// needs tells whether a wanted column must be there: a label that nobody asked for need not.
func (r *tableReader) needs(k int) bool {
	return r.wants(k) && (k != 1 || r.c.Label != "" || r.c.LabelNames)
}

// cells is a row to be filled.
func (r *tableReader) cells() cells {
	return cells{others: make([][]byte, len(r.c.Others)), columns: make([][]byte, len(r.rows.columns)), parts: make([][]byte, len(r.parts))}
}

// wanted are the cells of tableReader.wanted, one for one.
func (c *cells) wanted() []*[]byte {
	all := []*[]byte{&c.path, &c.label}
	for k := range c.others {
		all = append(all, &c.others[k])
	}
	for k := range c.columns {
		all = append(all, &c.columns[k])
	}
	for k := range c.parts {
		all = append(all, &c.parts[k])
	}
	return all
}

// checkPath refuses what is no path, or leads out of the root.
func (r *tableReader) checkPath(column string, path []byte) error {
	if len(path) == 0 {
		return fmt.Errorf("column %q is empty, want a path", column)
	}
	if bytes.ContainsAny(path, "\t\n") {
		return fmt.Errorf("column %q: got a tab or line end in path %.200q", column, path)
	}
	return r.rules.check(path)
}

// add checks one row and takes it.
func (r *tableReader) add(row *cells) error {
	if err := r.makePaths(row); err != nil {
		return err
	}
	switch m := r.several(0); {
	case m != nil:
		if err := r.addPaths(&r.rows.paths, m, row.path, r.lined[0]); err != nil {
			return err
		}
	case !r.c.Alone:
		if err := r.checkPath(r.path, row.path); err != nil && len(row.path) == 0 {
			return fmt.Errorf("%w; %s", err, map[bool]string{true: pathRemedy, false: "every row is a sample of a file: leave out rows that have none"}[r.c.Path == ""])
		} else if err != nil {
			return err
		}
		r.rows.paths.add(row.path)
	}
	for k, path := range row.others {
		if m := r.several(2 + k); m != nil {
			if err := r.addPaths(&r.rows.others[k], m, path, r.lined[2+k]); err != nil {
				return err
			}
			continue
		}
		if err := r.checkPath(r.c.Others[k].From[0], path); err != nil {
			return err
		}
		r.rows.others[k].add(path)
	}
	for c := range r.rows.columns {
		if err := r.checkFile(&r.rows.columns[c], row.columns[c]); err != nil {
			return err
		}
	}
	return r.rows.add(row, r.hasLabel, r.c.Label != "")
}

// checkFile refuses the path of an array as it would a sample's.
func (r *tableReader) checkFile(c *Column, path []byte) error {
	if c.Type != Array {
		return nil
	}
	err := r.rules.check(path)
	if len(path) == 0 || bytes.ContainsAny(path, "\t\n") {
		err = fmt.Errorf("got %.200q, want the path of an array", path)
	}
	if err != nil {
		return fmt.Errorf("column %q: %w", c.From, err)
	}
	return nil
}

// add takes everything of a row but its path.
func (t *rows) add(row *cells, hasLabel, strict bool) error {
	if hasLabel {
		v, err := t.readLabel(row.label, strict)
		if err != nil {
			return err
		}
		t.labels = append(t.labels, v)
	}
	for c := range t.columns {
		if row.lists != nil && row.lists[c] >= 0 {
			continue
		}
		if err := t.addColumn(c, row.columns[c]); err != nil {
			return err
		}
	}
	t.n++
	return nil
}

func (t *rows) addColumn(c int, text []byte) error {
	column := &t.columns[c]
	switch column.Type {
	case Int64:
		v, err := wholeNumber(trim(text))
		if err != nil {
			return fmt.Errorf("column %q: %w", column.From, err)
		}
		t.numbers[c] = append(t.numbers[c], v)
	case Float64:
		v, err := number(trim(text))
		if err != nil {
			return fmt.Errorf("column %q: %w", column.From, err)
		}
		t.numbers[c] = append(t.numbers[c], int64(math.Float64bits(v)))
	case List: // its elements
		all := &t.texts[c]
		var err error
		if all.bytes, err = appendList(all.bytes, column, text); err != nil {
			return fmt.Errorf("column %q: %w", column.From, err)
		}
		all.ends = append(all.ends, int64(len(all.bytes)))
	default:
		t.texts[c].add(text)
	}
	return nil
}

// number is a decimal one, nan or inf. Go's own reader takes those of a program, too, with underscores or to the base 16.
func number(text []byte) (float64, error) {
	if len(text) == 0 {
		return 0, errors.New("got nothing, want a number, such as nan where there is none")
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || bytes.ContainsAny(text, "_xX") {
		return 0, fmt.Errorf("got %.40q, want a number", text)
	}
	return v, nil
}

// wholeNumber is digits of an int64, or a number below 2^53 that has a point or an exponent and no fraction: from there on, such a number may be a
// double that has lost its last digits.
func wholeNumber(text []byte) (int64, error) {
	v, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("got %.40q, want a whole number from %d to %d", text, math.MinInt64, math.MaxInt64)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || hasFraction(text):
		return 0, fmt.Errorf("got %.40q, want a whole number", text)
	case math.Abs(f) >= maxWhole:
		return 0, fmt.Errorf("got %.40q, want a whole number; from %d on store integers: a number with a point or an exponent may have lost digits", text, maxWhole)
	}
	return int64(f), nil
}

// hasFraction looks at every digit of a number that strconv reads. What is not decimal, as Inf, passes for one with a fraction.
func hasFraction(text []byte) bool {
	mantissa, exponent := bytes.TrimLeft(text, "+-"), 0
	if at := bytes.IndexAny(mantissa, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(string(mantissa[at+1:])); err != nil {
			return true
		}
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := bytes.TrimRight(slices.Concat(whole, fraction), "0")
	for _, c := range digits {
		if c < '0' || c > '9' {
			return true
		}
	}
	return len(digits) > 0 && len(digits) > len(whole)+exponent
}

// values fills the buffer's columns for sample i; arrays reads the file of an array.
func (t *rows) values(i int64, b *Buffer, arrays func(c *Column, path []byte) error) error {
	for c := range t.columns {
		var err error
		switch column := &t.columns[c]; column.Type {
		case Int64, Float64:
			b.setInt(t.numbers[c][i])
		case Array:
			err = arrays(column, t.texts[c].at(i))
		case List:
			err = t.list(c, i, b)
		default:
			err = b.setBytes(column, t.texts[c].at(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Unlabelled says that no column is the label.
func (t *rows) Unlabelled() bool { return t.labels == nil }

// label is sample i's, or -1.
func (t *rows) label(i int64) int64 {
	if t.labels == nil {
		return -1
	}
	return t.labels[i]
}

func (t *table) Len() int64          { return t.n }
func (t *table) Classes() []string   { return t.classes }
func (t *table) Columns() []Column   { return t.columns }
func (t *table) Label(i int64) int64 { return t.label(i) }
func (t *table) Close() error        { return errors.Join(t.closeLists(), t.close()) }

// Key is the path, or FILE:ROW where there is none, or may be several.
func (t *table) Key(i int64, dst []byte) []byte {
	if t.name == "" {
		return append(dst, t.paths.at(i)...)
	}
	return strconv.AppendInt(append(append(dst, t.name...), ':'), i, 10)
}

func (t *table) Read(ctx context.Context, i int64, b *Buffer) error {
	b.drop()
	err := ctx.Err()
	switch {
	case err != nil || t.alone:
	case t.first.Many > 0:
		err = t.readSeveral(ctx, &t.first, t.paths.at(i), b)
	default:
		err = t.read(ctx, t.paths.at(i), b)
	}
	for k := 0; k < len(t.media) && err == nil; k++ {
		err = t.other(ctx, k, i, b)
	}
	if err == nil {
		err = t.values(i, b, func(c *Column, path []byte) error {
			return b.setFile(c, func(side *Buffer) error { return t.read(ctx, path, side) })
		})
	}
	if err != nil {
		b.drop()
		return name(err, t, i)
	}
	return nil
}

// other reads a medium beside the first: of the same file, or of its own.
func (t *table) other(ctx context.Context, k int, i int64, b *Buffer) error {
	path, m := t.others[k].at(i), &t.media[k]
	switch {
	case bytes.Equal(path, t.paths.at(i)) && m.Many == t.first.Many && m.Cut == t.first.Cut:
		b.again(0)
		return nil
	case m.Many > 0:
		return t.readSeveral(ctx, m, path, b)
	}
	if err := t.readNext(ctx, path, b); err != nil {
		return m.wrong(path, err)
	}
	return nil
}
