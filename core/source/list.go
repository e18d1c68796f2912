package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spelling"
	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"
)

const (
	maxListBytes = 4 << 30
	listStride   = 8 // samples between two offsets of the index
)

// ListConfig says what OpenList reads.
type ListConfig struct {
	File         string   // the list: a path or a URL
	Heading      bool     // it is a table with tabs between its fields, whose first line has the columns' names
	Names        []string // it is a table whose columns are called so, and no line says it
	Separator    byte     // between the fields of a table that is text; 0: a comma in a .csv, else a tab
	Root         string   // directory or URL of relative paths; "" is the list's own, and lets absolute paths pass
	MaxFileBytes int64    // largest sample that is read; 0 is DefaultMaxFileBytes
	InPlace      int64    // media of at least so many bytes are not read but stay where they are (Buffer.InPlace); 0: none do
	Store        *store.Client
	Progress     *Progress // of reading the list; nil: nobody waits for it

	NoLabels bool // every label is -1, and what lies in their place is not looked at

	// Of a table: which columns it reads.
	Alone      bool     // the columns are all there is: no file of a path
	Path       string   // the column that holds the paths, "" is path, or what they are made of: see package template. So it is with all paths of a row
	First      Medium   // the first medium, where it is several pictures: of a list of paths in the column Path, or with Each of columns
	Others     []Medium // media beside the one that Path names, each of the path in its column
	Label      string   // "": label, where there is one
	LabelNames bool     // labels are the names of classes, which are these names, sorted; there has to be a column of them
	Columns    []Column
}

// place is where the paths of a list lead: below a directory or a URL, and, unless a URL confines them, to any URL.
type place struct {
	root  root
	store *store.Client
	url   string // of relative paths, with a slash at its end and without a query; "": they lie below root
	query string // of every URL below url, with its question mark: the root's, which may hold a signature

	version uint64 // of the list, for the identities of URLs
}

// list is a list file in memory. Lines are cut into fields when somebody asks; opening has checked them all.
type list struct {
	place
	text  []byte
	index []int64 // offset of the line of every listStride-th sample
	n     int64

	unlabelled bool // every label is -1
}

// OpenList reads a list file whole and checks every line. A wrong line is an error that names it. A file that ends in .csv,
// .jsonl, .parquet or .npz is a table.
func OpenList(c ListConfig) (Source, error) {
	if packed.MatchString(c.File) {
		return nil, fmt.Errorf("source: list %q: a compressed list is not read; unpack it", store.Shown(c.File))
	}
	open := openList
	if c.form() != "" {
		open = openTable
	}
	l, err := open(c)
	if err != nil {
		return nil, fmt.Errorf("source: list %q: %w", store.Shown(c.File), err)
	}
	return l, nil
}

// packed is the name of a list that a program for compression has made.
var packed = regexp.MustCompile(`(?i)\.(zst|bz2|xz)(\?.*)?$|\.(parquet|npz)\.gz(\?.*)?$`)

// gzipped is the name of a list that is unpacked as it is read.
var gzipped = regexp.MustCompile(`(?i)\.gz(\?.*)?$`)

// form is how a table is written: csv, with quotes; tsv, whose fields are as they are, whatever is between them; json, jsonl, parquet or npz. A list of paths has none.
func (c *ListConfig) form() string {
	ending := tableEnding(c.File)
	switch {
	case !c.Heading && c.Names == nil && c.Separator == 0:
		return ending
	case c.Separator == ',' || c.Separator == ';' || c.Separator == 0 && ending == "csv":
		return "csv"
	}
	return "tsv"
}

// separators are what is between a table's fields, for messages.
func (c *ListConfig) separators() string {
	switch c.Separator {
	case 0:
		return map[string]string{"csv": "commas", "tsv": "tabs"}[c.form()]
	case ',':
		return "commas"
	case '\t':
		return "tabs"
	case ' ':
		return "blanks"
	}
	return strconv.Quote(string(c.Separator))
}

func openList(c ListConfig) (Source, error) {
	if why := Foreign(c.File); why != "" {
		return nil, errors.New(why)
	}
	if slices.Contains(arrowEndings, filepath.Ext(c.File)) {
		return nil, errors.New("files of Arrow are read by shards in place of list")
	}
	text, err := readList(&c)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		if other := readBy(c.File, "list"); other != "" {
			return nil, fmt.Errorf("got a zero byte, want text, one path a line%s", other)
		}
	}
	l := &list{text: bytes.TrimPrefix(text, []byte("\ufeff")), unlabelled: c.NoLabels}
	if err := l.scan(rulesOf(&c)); err != nil {
		return nil, err
	}
	if l.n == 0 {
		return nil, fmt.Errorf("%w: got %d bytes without a line that names a file; want one PATH or PATH<TAB>LABEL a line",
			ErrNoSamples, len(text))
	}
	if l.place, err = openPlace(&c); err != nil {
		return nil, err
	}
	l.version = xxh3.Hash(l.text)
	return l, nil
}

// openPlace finds where the list's paths lead.
func openPlace(c *ListConfig) (p place, err error) {
	p.store = c.Store
	dir := c.Root
	if dir == "" && store.IsURL(c.File) {
		base, _, _ := strings.Cut(c.File, "?")
		dir = base[:strings.LastIndexByte(base, '/')]
	}
	if store.IsURL(dir) {
		p.url, p.query = parted(store.Plain(dir))
		p.root = root{fd: -1, maxBytes: c.MaxFileBytes, inPlace: c.InPlace}
		if p.root.maxBytes == 0 {
			p.root.maxBytes = DefaultMaxFileBytes
		}
		return p, nil
	}
	if dir == "" {
		dir = filepath.Dir(c.File)
	}
	if p.root, err = openRoot(dir, c.MaxFileBytes); err != nil {
		return p, fmt.Errorf("root %q: %w", dir, err)
	}
	p.root.absolute, p.root.inPlace = c.Root == "", c.InPlace
	return p, nil
}

// parted is a root's URL with a slash at its end, and its query, which none but http has: other names may hold a question mark.
func parted(root string) (base, query string) {
	if at := strings.IndexByte(root, '?'); at >= 0 && strings.HasPrefix(root, "http") {
		root, query = root[:at], root[at:]
	}
	return strings.TrimRight(root, "/") + "/", query
}

func (p *place) close() error {
	if p.root.fd < 0 {
		return nil
	}
	return p.root.close()
}

// read reads the sample that a path of the list names.
func (p *place) read(ctx context.Context, path []byte, b *Buffer) error {
	b.drop()
	return p.readNext(ctx, path, b)
}

// readNext reads it as the sample's next part.
func (p *place) readNext(ctx context.Context, path []byte, b *Buffer) error {
	switch {
	case p.store != nil && isURL(path):
		return p.readURL(ctx, string(path), b)
	case p.url != "":
		return p.readURL(ctx, p.join(string(path))+p.query, b)
	}
	return p.root.readNext(ctx, b, copy(b.path[:maxPath-1], localPath(path)))
}

// isURL is store.IsURL for a path of a list, without an allocation.
func isURL(path []byte) bool { return bytes.Contains(path, []byte("://")) && store.IsURL(string(path)) }

// otherScheme is the scheme of a path that is a URL of none that are read; "" where it is a path.
func otherScheme(path []byte) string {
	at := bytes.Index(path, []byte("://"))
	if at < 1 {
		return ""
	}
	for i, c := range path[:at] {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && !bytes.ContainsRune([]byte("+-."), rune(c))) {
			return ""
		}
	}
	return string(path[:at])
}

// localPath is PATH of file:///PATH, its escapes read, and else the path itself; nil where a file's URL names none.
func localPath(path []byte) []byte {
	if !isFileURL(path) {
		return path
	}
	plain, err := url.PathUnescape(strings.TrimPrefix(string(path[len(fileScheme):]), "localhost"))
	if err != nil || !strings.HasPrefix(plain, "/") {
		return nil
	}
	return []byte(plain)
}

const fileScheme = "file://"

func isFileURL(path []byte) bool {
	return len(path) >= len(fileScheme) && bytes.EqualFold(path[:len(fileScheme)], []byte(fileScheme))
}

// join is the URL of a relative path, without the query. Over http its bytes are escaped; s3 takes them as they are.
func (p *place) join(path string) string {
	if strings.HasPrefix(p.url, "http") {
		path = (&url.URL{Path: path}).EscapedPath()
	}
	return p.url + path
}

func (p *place) readURL(ctx context.Context, name string, b *Buffer) error {
	large := p.root.inPlace
	if b.beside {
		large = 0
	}
	n, o, err := p.store.ReadAll(ctx, name, p.root.maxBytes, large, b.behind)
	switch {
	case err != nil:
		return storeError(err)
	case o != nil:
		b.placeObject(p.store, o, 0, o.Size)
	default:
		b.holdNext(n)
	}
	return nil
}

// readList reads the list into memory that belongs to this process: a mapping would die with a truncated file.
func readList(c *ListConfig) ([]byte, error) {
	text, err := readFile(context.Background(), c.File, maxListBytes, c.Store, c.Progress)
	var e *Error
	if errors.As(err, &e) && e.Cause == Empty {
		return nil, fmt.Errorf("%w: the file is empty; want one PATH or PATH<TAB>LABEL a line", ErrNoSamples)
	}
	if info, e := os.Stat(c.File); err != nil && e == nil && info.IsDir() {
		return nil, fmt.Errorf("%w; a directory of media is read by folder in place of list, one of shards by shards", fileError(c.File, err))
	}
	if err != nil {
		return nil, fileError(c.File, err)
	}
	if gzipped.MatchString(c.File) {
		if text, err = gunzip(text); err != nil {
			return nil, err
		}
	}
	if wide := wideText(text); wide != "" {
		return nil, fmt.Errorf("its text is %s, want UTF-8; write it as that (in Excel: CSV UTF-8), or convert it: iconv -f %s -t UTF-8 FILE > NEW", wide, wide)
	}
	return text, nil
}

// gunzip unpacks a list.
func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("its name ends in .gz, and its bytes are no gzip: %w; rename it, or write it again", err)
	}
	var text bytes.Buffer
	n, err := io.Copy(&text, io.LimitReader(r, maxListBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it does not unpack behind byte %d: %w; copy or write it again", n, err)
	case n > maxListBytes:
		return nil, fmt.Errorf("it unpacks to more than %d bytes; split it", maxListBytes)
	case n == 0:
		return nil, fmt.Errorf("%w: the file is empty", ErrNoSamples)
	}
	return text.Bytes(), nil
}

// wideText is the encoding of text whose first bytes tell that its characters have two or four bytes; "" of other text. A mark alone tells nothing, as a path may begin with
// any bytes but zero.
func wideText(text []byte) string {
	marked := bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(text, []byte("\x00\x00\xfe\xff")):
		return "UTF-32"
	case marked && bytes.IndexByte(text, 0) >= 0:
		return "UTF-16"
	case len(text) >= 4 && text[0] == 0 && text[1] != 0 && text[2] == 0:
		return "UTF-16BE"
	case len(text) >= 4 && text[0] != 0 && text[1] == 0 && text[3] == 0:
		return "UTF-16LE"
	}
	return ""
}

// readFile reads a file or an object whole, which is no sample.
func readFile(ctx context.Context, name string, limit int64, s *store.Client, p *Progress) ([]byte, error) {
	var b Buffer
	if store.IsURL(name) {
		n, err := s.ReadLarge(ctx, name, limit, b.room)
		if err != nil {
			return nil, storeError(err)
		}
		return b.mem[:n:n], nil
	}
	fd, err := unix.Open(name, openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	r := root{maxBytes: limit, progress: p}
	n, err := r.fill(ctx, fd, &b)
	p.Work()
	if err != nil {
		return nil, err
	}
	return b.mem[:n:n], nil
}

// fileError is readFile's as a message has it that names the file.
func fileError(file string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		errors.As(readError(err), &e)
	}
	switch {
	case e.Cause == Missing:
		return errors.New("no such file" + spelling.NotThere(file))
	case e.Cause == TooLarge:
		return fmt.Errorf("%s; split it", e.Detail)
	case e.Cause == Empty:
		return errors.New("it is empty; write or copy it again")
	case e.Err != nil && e.Detail != "":
		return fmt.Errorf("%s: %w", e.Detail, e.Err)
	case e.Err != nil:
		return e.Err
	}
	return errors.New(e.Detail)
}

// scan indexes the lines and checks each.
func (l *list) scan(lines rules) error {
	// One fast look at everything spares a slow one at every line.
	lines.zeros, lines.climbs = bytes.IndexByte(l.text, 0) >= 0, bytes.Contains(l.text, []byte(".."))
	line := 0
	for at := 0; at < len(l.text); {
		text, next := l.line(at)
		line++
		if isSample(text) {
			if err := lines.check(text); err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if l.n%listStride == 0 {
				l.index = append(l.index, int64(at))
			}
			l.n++
		}
		at = next
	}
	return nil
}

// line is the text of the line that starts at an offset, without its end, and the offset of the next.
func (l *list) line(at int) (text []byte, next int) {
	text, next = l.text[at:], len(l.text)
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		text, next = text[:n], at+n+1
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text, next
}

// isSample tells a line that names a file from a blank one and a comment.
func isSample(text []byte) bool {
	if len(text) == 0 || text[0] == '#' {
		return false
	}
	return text[0] > ' ' || len(bytes.TrimSpace(text)) > 0
}

// cut separates the path from the label; tab is false where the line has no second column.
func cut(text []byte) (path, label []byte, tab bool) {
	if n := bytes.IndexByte(text, '\t'); n >= 0 {
		return text[:n], text[n+1:], true
	}
	return text, nil, false
}

// rules says what a line may hold, and what somewhere in the file calls for a closer look.
type rules struct {
	absolute      bool // absolute paths are allowed
	files         bool // URLs of files are
	urls          bool // URLs are
	labels        bool // what follows a tab is one
	zeros, climbs bool // the file holds a zero byte, two dots in a row
}

// rulesOf are those of a list's root. A directory confines files, and a URL is none; a URL confines everything. A list from elsewhere names no
// files of this machine.
func rulesOf(c *ListConfig) rules {
	return rules{absolute: c.Root == "", files: c.Root == "" && !store.IsURL(c.File), urls: !store.IsURL(c.Root), labels: !c.NoLabels, zeros: true, climbs: true}
}

func (r *rules) check(text []byte) error {
	path, label, tab := cut(text)
	zeros, climbs := r.zeros, r.climbs
	if isFileURL(path) {
		written := path
		if path = localPath(path); len(path) == 0 || !r.files {
			return r.refuseFile(written)
		}
		zeros, climbs = true, true // which may have been escapes
	}
	switch {
	case len(path) == 0:
		return errors.New("got a tab first; want PATH or PATH<TAB>LABEL")
	case len(path) >= maxPath:
		return fmt.Errorf("got a path of %d bytes, want at most %d", len(path), maxPath-1)
	case zeros && bytes.IndexByte(path, 0) >= 0:
		return errors.New("got a zero byte in the path; want text, one path a line")
	case isURL(path):
		if !r.urls {
			return fmt.Errorf("path %.200q: got a URL, want a path relative to root, which is one; leave root out, or name a directory, to allow URLs", store.Shown(string(path)))
		}
	case otherScheme(path) != "":
		return fmt.Errorf("path: got a URL of scheme %.20q, want a path, or a URL of http, https, s3, gs, hf or file; a store that speaks S3 is read as s3:// with "+
			"source.remote.endpoint", otherScheme(path))
	case path[0] == '/' && !r.absolute:
		return fmt.Errorf("path %.200q: got an absolute path, want one relative to root; leave root out to allow absolute paths", path)
	case climbs && hasDotDot(path):
		return fmt.Errorf("path %.200q: got \"..\", want a path that stays beneath root; name a higher root", path)
	}
	if tab && r.labels {
		if _, ok := parseLabel(label); !ok {
			return fmt.Errorf("label: got %.40q, want one whole number, such as 17, after the tab; a first line that is a heading needs source.heading: true; source.labels: none leaves labels out, "+
				"and text is a column's, of a table (.csv or .jsonl)", label)
		}
	}
	return nil
}

// refuseFile says why a file's URL is none that is read.
func (r *rules) refuseFile(path []byte) error {
	if !r.files {
		return fmt.Errorf("path %.200q: got a file's URL, want a path relative to root, or to the list that is a URL itself; a local list without root may name files so", path)
	}
	return fmt.Errorf("path %.200q: got a file's URL without its path, want file:///PATH, or the path itself", path)
}

func hasDotDot(path []byte) bool {
	for len(path) > 0 {
		part, rest, _ := bytes.Cut(path, []byte("/"))
		if string(part) == ".." {
			return true
		}
		path = rest
	}
	return false
}

// parseLabel reads a decimal int64 without an allocation.
func parseLabel(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false
	}
	var v uint64 // 19 digits stay below 10^19 < 2^64
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	switch {
	case v < 1<<63 && !negative:
		return int64(v), true
	case v <= 1<<63 && negative:
		return -int64(v), true
	}
	return 0, false
}

// sample finds the line of sample i: from the offset before it, over the few lines between.
func (l *list) sample(i int64) []byte {
	if i < 0 || i >= l.n {
		panic(fmt.Sprintf("source: sample %d of %d", i, l.n))
	}
	at := int(l.index[i/listStride])
	for left := i % listStride; ; {
		text, next := l.line(at)
		if isSample(text) {
			if left == 0 {
				return text
			}
			left--
		}
		at = next
	}
}

func (l *list) Len() int64        { return l.n }
func (l *list) Classes() []string { return nil }
func (l *list) Unlabelled() bool  { return l.unlabelled }
func (l *list) Close() error      { return l.close() }

func (l *list) Key(i int64, dst []byte) []byte {
	path, _, _ := cut(l.sample(i))
	return append(dst, path...)
}

func (l *list) Label(i int64) int64 {
	_, label, tab := cut(l.sample(i))
	if !tab || l.unlabelled {
		return -1
	}
	v, _ := parseLabel(label)
	return v
}

func (l *list) Read(ctx context.Context, i int64, b *Buffer) error {
	path, _, tab := cut(l.sample(i))
	if err := l.read(ctx, path, b); err != nil {
		b.drop()
		return name(blanks(err, path, tab), l, i)
	}
	return nil
}

// blanks says of a line whose file is missing, and that seems to have fields without tabs, how these are read: of one that ends in a number behind a blank or a comma, as in
// Caffe's and Kinetics' lists, in a file's name behind a blank, as in Kaldi's, or that has a bar, as in those of speech.
func blanks(err error, path []byte, tab bool) error {
	var bad *Error
	if tab || !errors.As(err, &bad) || bad.Cause != Missing {
		return err
	}
	at := bytes.IndexByte(path, '|')
	if at < 0 {
		at = bytes.LastIndexAny(path, " ,;")
		if _, number := parseLabel(path[at+1:]); at < 0 || !number && !isFileName(string(path[:at])) {
			return err
		}
	}
	bad.Detail = fmt.Sprintf("the line is taken for a path, with all that is in it; a line of a list is PATH<TAB>LABEL, with a tab before the label; where it has other fields, source.heading names "+
		"them and source.separator what is between: heading: [path, label], separator: %q", string(path[at]))
	return bad
}
