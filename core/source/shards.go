package source

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spelling"
	"golang.org/x/sys/unix"
)

const defaultPart = "cls"

// recordImages are what records call a picture.
var recordImages = []string{"image" + bytesMark, "image/encoded" + bytesMark, "image_raw" + bytesMark}

// ShardsConfig says what OpenShards reads.
type ShardsConfig struct {
	Shards       []string // paths and URLs of .tar and .zip archives, TFRecords, ArrayRecords, RecordIO and Arrow files, LMDB's files or their directories, and the catalogues of MDS, litData and save_to_disk or their directories, with braces {000..127} and globs
	Media        []Medium // what each sample has beside columns; nil: a picture, empty: nothing
	Label        string   // part that holds the label; "" is cls, of TFRecords, ArrayRecords, MDS, litData and Arrow also label or image/class/label, and a sample without it has the label -1
	Labels       ShardLabels
	Split        string   // of Megatron-Energon's data sets, and Hugging Face's saved ones, which lists say; "": of the first train, of the others none
	Columns      []Column // more parts
	IndexDir     string   // where indexes are kept; "" is DefaultIndexDir
	IndexBeside  bool     // keep those of local archives beside them
	MaxFileBytes int64    // largest picture that is read; 0 is DefaultMaxFileBytes
	InPlace      int64    // media of at least so many bytes are not read but stay in their archives (Buffer.InPlace); 0: none do
	Fetch        int      // how many shards of a store are opened at a time, up to 64; 0: 16
	Store        *store.Client

	// Opened is told, by one goroutine at a time, how many of the shards are open and of how many the index had to be made; nil: nobody.
	Opened func(opened, of, built int)

	Progress *Progress // of the opening; nil: nobody waits for it

	// ReadAhead is how many bytes of local archives the kernel is told of ahead of the reads; 0: none.
	ReadAhead int64

	pace   *pace                    // nil: what reads of the store take is yet to be learned
	listed map[string]*store.Object // by name: shards whose versions a listing has told
	said   map[string]listedShard   // by name: what a catalogue says of them
	chose  bool                     // Split was asked for
}

// shards are archives of samples: tar, zip, TFRecord, ArrayRecord, RecordIO, MDS, litData and Arrow, local and remote, and LMDB, local. What is in them is known from their indexes.
type shards struct {
	root     root // absolute: shards are opened by the names they were given
	store    *store.Client
	all      []shard
	media    []Medium
	firsts   []int64 // of each shard, ascending; all[i] holds samples firsts[i] to firsts[i+1]
	columns  []Column
	labels   ShardLabels
	classes  []string // of LabelsOfDirectory and LabelsOfNames
	said     []string // names of the labels of Arrow, in the files' order; they are not what tells this data set from others
	named    []int64  // the labels, of LabelsOfNames
	strict   bool     // the label's part was named, so each sample must have it
	maxBytes int64
	notes    []string
	remote   bool // some of them
	spans    spans
	chunks   keptChunks
	codings  map[string]*coding // of parts that are columns of MDS, litData and Arrow, which all shards have alike; written while they are opened
	shape    string             // what is read of each sample, for Identity
	config   *ShardsConfig      // to open one again

	advisor     *advisor // nil: there are no local archives, or nobody wants advice
	adviseBytes int64    // of one batch
}

// shard is one archive that holds samples.
type shard struct {
	name      string
	path      string // absolute, of a file
	version   version
	object    *store.Object // nil: a file
	index     *index
	label     int            // part of the label, or -1
	first     bool           // of several numbers in that part the first is the label
	record    int            // part that is a whole record, or -1: they are members of an archive
	chunk     int            // part that is the chunk of an ArrayRecord which has the sample, or -1
	partID    map[string]int // the parts by their names, of an ArrayRecord
	labelled  bool           // the index of an ArrayRecord knows the labels
	rank      [][]uint32     // by medium, by part: 0 is none, else the lowest is taken; of several pictures all, in this order
	column    []int          // by column: its part, or -1
	marks     []string       // by column: of a record's feature, what it holds
	encoded   []*coding      // by part: of one that is a column of MDS, litData or Arrow
	built     bool           // an index of it was
	unpacked  *os.File       // that lies at path, where the shard itself is compressed; open, so that it is not removed
	stretches []int64        // of an ArrayRecord in groups: its samples with which stretches of chunks begin, but for the first
	room      []int          // by part: the most bytes that a column has for it; -1: no column is made of it
}

// OpenShards opens archives and their indexes, and makes those that are not there or not of the archive's present version.
func OpenShards(ctx context.Context, c ShardsConfig) (Source, error) {
	s, err := openShards(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("source: shards: %w", err)
	}
	return s, nil
}

func openShards(ctx context.Context, c ShardsConfig) (*shards, error) {
	names, err := c.shardNames(ctx)
	if err != nil {
		return nil, err
	}
	s := &shards{store: c.Store, media: c.Media, columns: partColumns(c.Columns), labels: c.Labels, strict: c.Label != "", maxBytes: cmp.Or(c.MaxFileBytes, DefaultMaxFileBytes), config: &c}
	if s.media == nil {
		s.media = onePicture
	}
	if len(s.media)+len(s.columns) == 0 {
		return nil, errNothing
	}
	s.root = root{fd: unix.AT_FDCWD, absolute: true, maxBytes: s.maxBytes, inPlace: c.InPlace}
	if several(s.media) {
		s.root.inPlace = 0
	}
	opened, err := openIndexes(ctx, names, &c, s)
	if err != nil {
		return nil, errors.Join(err, closeAll(opened))
	}
	c.Progress.Work()
	joinParts(opened)
	if err = s.gather(opened); err == nil {
		err = s.settle(ctx, &c)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// gather keeps the shards that hold samples, and closes the others.
func (s *shards) gather(opened []shard) error {
	total := int64(0)
	for i := range opened {
		sh := &opened[i]
		if sh.index.n == 0 {
			s.notes = append(s.notes, fmt.Sprintf("shard %q holds no samples", store.Shown(sh.name)))
			if err := sh.close(); err != nil {
				return errors.Join(err, closeAll(opened[i+1:]))
			}
			continue
		}
		s.remote = s.remote || sh.object != nil
		s.all, s.firsts = append(s.all, *sh), append(s.firsts, total)
		total += sh.index.n
	}
	s.firsts = append(s.firsts, total)
	return nil
}

// settle finds in each shard what samples are made of, and over all of them what labels and arrays are.
func (s *shards) settle(ctx context.Context, c *ShardsConfig) error {
	for i := range s.all {
		sh := &s.all[i]
		s.roles(sh, c)
		if err := s.checkEncodings(sh, c); err != nil {
			return err
		}
		if sh.chunk >= 0 {
			if err := s.stretch(ctx, sh); err != nil {
				return err
			}
		}
	}
	if err := s.check(c, s.firsts[len(s.all)]); err != nil {
		return err
	}
	if err := s.settleLabels(ctx, c); err != nil {
		return err
	}
	c.Progress.Step()
	if err := settleArrays(ctx, s, s.columns); err != nil {
		return err
	}
	if c.ReadAhead > 0 && slices.ContainsFunc(s.all, func(sh shard) bool { return sh.object == nil }) {
		s.advisor, s.adviseBytes = newAdvisor(ownKernel{}), max(c.ReadAhead/advisedBatches, 1)
	}
	s.shape = shapeOf("", s.media, c.Label, s.columns, s.maxBytes)
	return nil
}

// settleLabels finds the classes that labels are numbers of.
func (s *shards) settleLabels(ctx context.Context, c *ShardsConfig) (err error) {
	switch s.labels {
	case LabelsOfDirectory:
		err = s.findClasses()
	case LabelsOfNames:
		err = s.nameLabels(ctx, cmp.Or(c.Label, "label"))
	}
	if err == nil {
		s.nameClasses()
	}
	return err
}

// labelParts are the names of parts that may be the label, best first.
func (c *ShardsConfig) labelParts() []string {
	if c.Label == "" {
		return []string{defaultPart, "label" + wholesMark, "image/class/label" + wholesMark}
	}
	return []string{c.Label, c.Label + wholesMark}
}

// labelAmong is the part of an index that is the label by its name alone, or -1.
func (c *ShardsConfig) labelAmong(x *index) int {
	for _, name := range c.labelParts() {
		if part := x.partNamed(name); part >= 0 && c.Labels == LabelsOfPart {
			return part
		}
	}
	return -1
}

// roles says what each part of the shard's samples is for.
func (s *shards) roles(sh *shard, c *ShardsConfig) {
	labels := c.labelParts()
	sh.label, sh.record, sh.chunk = c.labelAmong(sh.index), sh.index.partNamed(recordPart), sh.index.partNamed(arrayPart)
	if sh.chunk >= 0 {
		sh.partID = map[string]int{}
		for k, part := range sh.index.parts {
			sh.partID[part] = k
		}
		if !sh.labelled {
			sh.label = -1
		}
		for _, name := range labels {
			if s.labels == LabelsOfPart && !sh.labelled {
				sh.partID[name] = lateLabel
			}
		}
	}
	for _, part := range sh.index.parts {
		sh.encoded = append(sh.encoded, s.encodingMarked(part))
	}
	for k := 0; k < len(labels) && sh.label < 0 && s.labels == LabelsOfPart; k++ {
		if part := sh.index.encodedNamed(partShown(labels[k])); part >= 0 && sh.encoded[part].whole() {
			sh.label = part
		}
	}
	if name, of := memberOf(c.Label); sh.label < 0 && of == "0" && s.labels == LabelsOfPart { // of RecordIO, whose labels may be several
		if part := sh.index.encodedNamed(name); part >= 0 && sh.encoded[part].name == recLabels {
			sh.label, sh.first = part, true
		}
	}
	sh.room = make([]int, len(sh.index.parts))
	for k := range sh.room {
		sh.room[k] = -1
	}
	for _, c := range s.columns {
		part, mark := sh.index.featureNamed(c.From)
		room := c.MaxBytes
		if c.Shaped() || c.Member != "" {
			room = int(s.maxBytes) // a file of it; what is in it is checked when it is read
		}
		sh.marks = append(sh.marks, mark)
		if sh.column = append(sh.column, part); part >= 0 {
			sh.room[part] = max(sh.room[part], room)
		}
	}
	for m := range s.media {
		sh.rank = append(sh.rank, s.ranks(&s.media[m], sh.index.parts))
	}
}

// ranks says how good each part is as a medium.
func (s *shards) ranks(m *Medium, parts []string) []uint32 {
	if m.Many > 0 {
		return s.order(m, parts)
	}
	ranks := make([]uint32, len(parts))
	for k, part := range parts {
		name := strings.TrimSuffix(part, bytesMark)
		e := s.encodingMarked(part)
		place := slices.Index(m.From, name)
		if e != nil && e.file() {
			name = partShown(part)
			if place = slices.Index(m.From, name); place < 0 { // Hugging Face's {bytes, path}
				name = strings.TrimSuffix(name, ".bytes")
				place = slices.Index(m.From, name)
			}
		}
		if place >= 0 {
			ranks[k] = uint32(place) + 1
		} else if m.From == nil && (slices.Contains(ImageExtensions, part) || slices.Contains(recordImages, part) || slices.Contains(lmdbImages, part) || e != nil && e.picture(name)) && !claimed(s.media, name) {
			ranks[k] = math.MaxUint32 // all alike: two of them in one sample are one too many
		}
	}
	return ranks
}

// shapeOf is what is read of each sample, for identities.
func shapeOf(kind string, media []Medium, label string, columns []Column, maxBytes int64) string {
	var from [][]string
	several := ""
	for _, m := range media {
		from = append(from, m.From)
		if m.Many > 0 {
			several += fmt.Sprintf(" %s %d %t %t", m.Name, m.Many, m.Each, m.Cut)
		}
	}
	return fmt.Sprintf("%s %q %q %#v %d%s\x00", kind, from, label, columns, maxBytes, several)
}

// check refuses a source in which no sample has what was asked for.
func (s *shards) check(c *ShardsConfig, total int64) error {
	if total == 0 {
		return fmt.Errorf("%w: got %d archives without a member that could be one, or files without a row or record; the first is %q", ErrNoSamples, len(c.Shards), store.Shown(c.Shards[0]))
	}
	var parts []string
	found, labels := make([]bool, len(s.media)), false
	for i := range s.all {
		sh := &s.all[i]
		for m := range sh.rank {
			found[m] = found[m] || sh.has(m)
		}
		labels = labels || sh.label >= 0
		for _, p := range partsShown(sh.index.parts) {
			if len(parts) < maxParts && !slices.Contains(parts, p) {
				parts = append(parts, p)
			}
		}
	}
	has := func(name string) bool { return slices.Contains(parts, name) }
	if m := slices.Index(found, false); m >= 0 {
		return s.lacks(m, parts)
	}
	switch {
	case s.strict && !labels && s.labels == LabelsOfPart:
		remedy := partMeant(c.Label, parts, false)
		if _, member := memberOf(c.Label); member != "" {
			remedy = fmt.Sprintf("; a number within a part is a column: {name: y, from: %q, type: i64}", c.Label)
		}
		return lacking("source.label: %s has a part %q; %s%s", s.noSample(), c.Label, partsThere(parts), remedy)
	}
	for _, col := range s.columns {
		if !has(col.From) {
			return lacking("source.columns: %s has a part %q; %s%s", s.noSample(), col.From, partsThere(parts), partMeant(col.From, parts, col.Type != Array))
		}
	}
	return nil
}

// lacks refuses shards in which no sample has a medium.
func (s *shards) lacks(m int, parts []string) error {
	from := s.media[m].From
	if from == nil {
		remedy := ""
		if slices.ContainsFunc(s.all[0].encoded, func(e *coding) bool { return e != nil && e.columnar }) {
			remedy = "; where rows are all there is, leave image out and name their columns in source.columns"
		}
		return fmt.Errorf("%w: no part is a picture by its ending; %s; say which is in %s%s", ErrNoSamples, partsThere(parts), s.keyOf(m), remedy)
	}
	remedy := ""
	if slices.ContainsFunc(from, func(name string) bool { return strings.Contains(name, ";") }) {
		remedy = "; several are a list: [jpg, png]"
	} else if len(s.media) > 1 {
		remedy = "; say which is in " + s.keyOf(m) + "; it may be another section's, too"
	} else if len(from) == 1 {
		remedy = partMeant(from[0], parts, false)
	}
	return fmt.Errorf("%w: %s has a part %s; %s%s", ErrNoSamples, s.noSample(), strings.Join(from, " or "), partsThere(parts), remedy)
}

// partsThere says which parts samples have.
func partsThere(parts []string) string {
	if describeParts(parts) == "" {
		return "there are none, as no member's name has a dot and an ending behind it"
	}
	return "the parts are " + describeParts(parts)
}

// partMeant is which part may have been meant by one that no sample has, to stand behind what says so. value: it may be a value in the part json.
func partMeant(written string, parts []string, value bool) string {
	if strings.Contains(written, "[") { // it is a way into a part
		return ""
	}
	json := value && slices.Contains(parts, "json")
	within, is := strings.CutPrefix(written, "json.")
	if json && is {
		return fmt.Sprintf("; a value in the part json is from: json[%s]", within)
	}
	if bare := strings.TrimPrefix(written, "."); bare != written && slices.Contains(parts, bare) {
		return fmt.Sprintf("; did you mean %q? The dot ahead is none of its name", bare)
	}
	switch near := spelling.Nearest(written, parts); {
	case near != "" && json:
		return fmt.Sprintf("; did you mean %q, or json[%s], a value in the part json?", near, written)
	case near != "":
		return fmt.Sprintf("; did you mean %q?", near)
	case json:
		return fmt.Sprintf("; a value in the part json is from: json[%s]", written)
	}
	return ""
}

// noSample is of whom it is said that none of them has something.
func (s *shards) noSample() string {
	if slices.ContainsFunc(s.all, func(sh shard) bool { return sh.chunk >= 0 }) {
		return "none of the first records"
	}
	return "no sample"
}

// keyOf is where a description says which part a medium is.
func (s *shards) keyOf(m int) string {
	if len(s.media) > 1 {
		return s.media[m].Name + ".from"
	}
	return "source.image"
}

// find is the shard of sample i and its place there.
func (s *shards) find(i int64) (*shard, int64) {
	if i < 0 || i >= s.Len() {
		panic(fmt.Sprintf("source: sample %d of %d", i, s.Len()))
	}
	k := sort.Search(len(s.all), func(k int) bool { return s.firsts[k+1] > i })
	return &s.all[k], i - s.firsts[k]
}

func (s *shards) Len() int64        { return s.firsts[len(s.firsts)-1] }
func (s *shards) Columns() []Column { return s.columns }
func (s *shards) Notes() []string   { return s.notes }

// Shards are what is read best together: the shards, or of ArrayRecords in groups stretches of chunks.
func (s *shards) Shards() (firsts []int64) {
	for k := range s.all {
		firsts = append(firsts, s.firsts[k])
		for _, i := range s.all[k].stretches {
			firsts = append(firsts, s.firsts[k]+i)
		}
	}
	return firsts
}

func (s *shards) Classes() []string {
	if s.said != nil {
		return s.said
	}
	return s.classes
}

// Key is the sample's name within its shard; shards may use the same names.
func (s *shards) Key(i int64, dst []byte) []byte {
	sh, k := s.find(i)
	return s.key(sh, k, dst)
}

// key appends the name of the shard's sample k; none where the index is damaged and cannot be made again: Read will say so.
func (s *shards) key(sh *shard, k int64, dst []byte) []byte {
	key, err := sh.index.appendKey(k, dst)
	if err != nil && s.mend(context.Background(), sh) == nil {
		key, err = sh.index.appendKey(k, dst)
	}
	if err != nil {
		return dst
	}
	return key
}

func (s *shards) Label(i int64) int64 {
	sh, k := s.find(i)
	if s.named != nil {
		return s.named[i]
	}
	if s.labels == LabelsOfDirectory {
		var few [256]byte
		return s.classOf(s.key(sh, k, few[:0]))
	}
	if v, ok := s.number(sh, k, sh.label); ok {
		return v
	}
	return -1
}

// Unlabelled says that no directory and no part is a label.
func (s *shards) Unlabelled() bool {
	return s.labels != LabelsOfDirectory && s.named == nil && !slices.ContainsFunc(s.all, func(sh shard) bool { return sh.label >= 0 })
}

// number is what a part of the sample says; ok is false where there is no such part, or no number in it.
func (s *shards) number(sh *shard, k int64, part int) (v int64, ok bool) {
	if m, there := s.member(sh, k, part); there {
		return m.value, sh.numbers(m)
	}
	return -1, false
}

// numbers says that a member is a number, or the label that the first of its numbers is.
func (sh *shard) numbers(m indexMember) bool {
	return m.number && (!m.several || sh.first && int(m.part) == sh.label)
}

// member is where a part of the shard's sample k lies; there is false where it has none.
func (s *shards) member(sh *shard, k int64, part int) (m indexMember, there bool) {
	if part < 0 {
		return m, false
	}
	var few [8]indexMember
	members, err := s.members(context.Background(), sh, k, few[:0])
	for _, m := range members {
		if int(m.part) == part && err == nil {
			return m, true
		}
	}
	return m, false
}

// members appends what sample k of the shard consists of.
func (s *shards) members(ctx context.Context, sh *shard, k int64, dst []indexMember) ([]indexMember, error) {
	members, err := sh.index.appendMembers(k, dst)
	if err == nil {
		return members, nil
	}
	if err = s.mend(ctx, sh); err == nil {
		members, err = sh.index.appendMembers(k, dst)
	}
	if err != nil {
		return dst, &Error{Cause: IO, Detail: "the archive's index was damaged and could not be made again; start again to try once more", Err: err}
	}
	return members, nil
}

// mend makes the shard's index again, whose file was damaged after it was written.
func (s *shards) mend(ctx context.Context, sh *shard) error {
	return sh.index.mend(func() (*index, error) {
		if sh.index.file != "" {
			_ = os.Remove(sh.index.file) // if it stays, or another engine has put a good one there, opening will find out
		}
		keys, err := s.keyTemplates([]string{sh.name}, s.config.Label)
		if err != nil {
			return nil, err
		}
		o := opening{c: s.config, s: s, dir: s.config.IndexDir, keys: keys, pace: cmp.Or(s.config.pace, newPace())}
		fresh := shard{name: sh.name}
		err = o.open(ctx, &fresh)
		if err == nil && fresh.version != sh.version {
			err = errors.New("the archive is another one now")
		}
		if err != nil {
			return nil, errors.Join(err, fresh.close())
		}
		return fresh.index, fresh.closeUnpacked()
	})
}

func (s *shards) Read(ctx context.Context, i int64, b *Buffer) error {
	sh, k := s.find(i)
	if err := s.read(ctx, sh, k, b); err != nil {
		b.drop()
		if e, ok := err.(*Error); ok {
			e.In = sh.name
		}
		return name(err, s, i)
	}
	return nil
}

// versionOf is a file's.
func versionOf(st *unix.Stat_t) version { return version{size: st.Size, tag: uint64(st.Mtim.Nano())} }

func (sh *shard) close() error {
	err := sh.closeUnpacked()
	if sh.index == nil {
		return err
	}
	return errors.Join(err, sh.index.close())
}

func (sh *shard) closeUnpacked() error {
	if sh.unpacked == nil {
		return nil
	}
	return sh.unpacked.Close()
}

func closeAll(all []shard) error {
	var errs []error
	for i := range all {
		errs = append(errs, all[i].close())
	}
	return errors.Join(errs...)
}

// Identity is the archive, its version, the sample's place and what is read of it.
func (s *shards) Identity(i int64, dst []byte) []byte {
	sh, k := s.find(i)
	name := sh.path
	if sh.object != nil {
		name = sh.name
	}
	dst = append(append(dst, s.shape...), name...)
	dst = binary.LittleEndian.AppendUint64(append(dst, 0), uint64(k))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(sh.version.size))
	return binary.LittleEndian.AppendUint64(dst, sh.version.tag)
}

func (s *shards) Close() error {
	s.advisor.close()
	return closeAll(s.all)
}
