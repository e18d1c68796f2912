package pack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spdl/spdl/core/media/whole"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
)

// shards writes one archive after the other. Only the sink's goroutine uses it.
type shards struct {
	ctx      context.Context
	c        *Config
	store    *store.Client // that archives go to; nil: to a directory
	classes  []string      // directories of keys, by label; none: keys have none
	present  []bool        // classes of which a sample is written
	nameless bool          // a sample is written that is of none
	numbered bool
	seen     []map[string]bool // endings, by part
	report   Report
	claim    *claim // of the names, until close

	file    archive // nil: none is begun
	tar     *tar.Writer
	path    string
	samples int64 // in it
	bytes   int64 // of it
}

// Write counts what goes into the archive.
func (s *shards) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.bytes += int64(n)
	return n, err
}

// number is where a path has the archive's number.
var number = regexp.MustCompile(`%(0[0-9]+)?d`)

// Around is what stands before and behind the number in an archive's name; all of it before, where there is none.
func Around(name string) (before, after string) {
	at := number.FindStringIndex(name)
	if at == nil {
		return name, ""
	}
	return name[:at[0]], name[at[1]:]
}

func newShards(ctx context.Context, c *Config) (*shards, error) {
	found := number.FindAllStringIndex(c.Out, -1)
	rest := number.ReplaceAllString(c.Out, "")
	switch {
	case len(found) > 1 || strings.ContainsRune(rest, '%'):
		return nil, fmt.Errorf("pack: out %q: %w: want one number such as %%06d, and no other %%", c.Out, ErrName)
	case !strings.HasSuffix(c.Out, ".tar"):
		return nil, fmt.Errorf("pack: out %q: %w: want one that ends in .tar", c.Out, ErrName)
	case len(found) == 0 && (c.MaxBytes > 0 || c.MaxSamples > 0):
		return nil, fmt.Errorf("pack: out %q: %w: it has no number, so there is one archive; write %q, or leave out the bound", c.Out, ErrName, strings.TrimSuffix(c.Out, ".tar")+"-%06d.tar")
	}
	s := &shards{ctx: ctx, c: c, numbered: len(found) == 1}
	if s.classes = c.Source.Classes(); !areDirectories(s.classes) {
		s.classes, s.report.Unnamed = nil, true
	}
	for _, name := range s.classes {
		if err := checkClass(name); err != nil {
			return nil, err
		}
	}
	s.present = make([]bool, len(s.classes))
	for range c.Parts {
		s.seen = append(s.seen, map[string]bool{})
	}
	if err := s.vacant(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// areDirectories says that the first directories of keys can be called like the classes, and give the labels again: these are numbers in the names' order.
func areDirectories(classes []string) bool {
	return slices.IsSorted(classes) && !slices.ContainsFunc(classes, func(name string) bool {
		return name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/')
	})
}

// checkClass refuses a class whose samples would be passed over by who reads them.
func checkClass(name string) error {
	if len(name) >= 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") {
		return fmt.Errorf("pack: class %q: WebDataset's readers pass over what lies in a directory whose name begins and ends with __; call it otherwise, or say labels: none", name)
	}
	return nil
}

// vacant claims the names, and refuses those that are taken: shards of an earlier run beside these would pass for some of them.
func (s *shards) vacant() error {
	dir, base := filepath.Split(s.c.Out)
	if number.MatchString(dir) {
		return fmt.Errorf("pack: out %q: %w: want the number in the archive's own, not in a directory's", s.c.Out, ErrName)
	}
	before, after := Around(base)
	digits := ""
	if s.numbered {
		digits = "[0-9]+"
	}
	like := regexp.MustCompile("^" + regexp.QuoteMeta(before) + digits + regexp.QuoteMeta(after) + "$")
	if store.IsURL(s.c.Out) {
		if err := s.openStore(); err != nil {
			return err
		}
		return s.noneInStore(dir, before, like)
	}
	dir = filepath.Clean(dir + ".")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("pack: out: %w; make the directory first", err)
	}
	var err error
	if s.claim, err = claimNames(dir, number.ReplaceAllString(base, "%d")); errors.Is(err, errClaimed) {
		return fmt.Errorf("pack: out %q: %w: another run is writing archives of these names; wait for its end, or choose another", s.c.Out, ErrTaken)
	} else if err != nil {
		return err
	}
	return s.noneOf(dir, like)
}

// noneOf refuses names that files have, or that a run with other names beside writes. What a killed run was writing goes.
func (s *shards) noneOf(dir string, like *regexp.Regexp) error {
	if source.NetworkFileSystem(dir) == "" { // there a lock may be of one machine alone
		live, err := whole.Sweep(dir, like.MatchString)
		if err != nil {
			return fmt.Errorf("pack: out: %w", err)
		}
		if len(live) > 0 {
			return fmt.Errorf("pack: out %q: %w: another run is writing %q; wait for its end, or choose another", s.c.Out, ErrTaken, live[0])
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("pack: out: %w", err)
	}
	for _, e := range entries {
		if like.MatchString(e.Name()) {
			return fmt.Errorf("pack: out %q: %w by %q; remove what an earlier run wrote, or choose another", s.c.Out, ErrTaken, filepath.Join(dir, e.Name()))
		}
	}
	return nil
}

// put writes a sample behind those before it.
func (s *shards) put(p *packed) error {
	if p.bad != nil {
		return s.leaveOut(p.bad)
	}
	size, key := int64(0), s.key(p)
	for i := range p.members {
		size += memberBytes(key, &p.members[i])
	}
	full := s.c.MaxBytes > 0 && s.bytes+size > s.c.MaxBytes || s.c.MaxSamples > 0 && s.samples == s.c.MaxSamples
	if s.file != nil && full {
		if err := s.finish(); err != nil {
			return err
		}
	}
	if s.file == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	if err := s.write(key, p); err != nil {
		return fmt.Errorf("pack: %q: %w", s.path, err)
	}
	for k := range s.seen {
		s.seen[k][p.members[k].ending] = true
	}
	if label := s.c.Source.Label(p.index); len(s.classes) > 0 && label >= 0 {
		s.present[label] = true
	} else {
		s.nameless = true
	}
	s.samples++
	s.report.Samples++
	if p.shrunk {
		s.report.Shrunk++
	}
	s.tell()
	return nil
}

func (s *shards) tell() {
	if s.c.Told != nil {
		s.c.Told(&s.report)
	}
}

func (s *shards) leaveOut(bad error) error {
	if !s.c.SkipBad {
		return bad
	}
	if s.report.Bad++; len(s.report.Examples) < maxExamples {
		s.report.Examples = append(s.report.Examples, bad.Error())
	}
	s.tell()
	return nil
}

// memberBytes is what a member takes of an archive.
func memberBytes(key string, m *member) int64 {
	const block, shortName = 512, 100
	n := block + (int64(len(m.data))+block-1)/block*block
	name := key + "." + m.ending
	if len(name) > shortName || strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		n += 2*block + int64(len(name))/block*block // a header for the name alone
	}
	return n
}

// key is what the names of a sample's members begin with.
func (s *shards) key(p *packed) string {
	number := fmt.Sprintf("%09d", p.number)
	if label := s.c.Source.Label(p.index); len(s.classes) > 0 && label >= 0 {
		return s.classes[label] + "/" + number
	}
	return number
}

func (s *shards) begin() (err error) {
	s.path, s.samples, s.bytes = s.c.Out, 0, 0
	if s.numbered {
		s.path = fmt.Sprintf(s.c.Out, len(s.report.Shards))
	}
	if s.store != nil {
		s.file, err = s.createRemote(s.path)
	} else if file, failed := whole.Create(s.path); failed == nil {
		s.file = file
	} else {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	s.tar = tar.NewWriter(s)
	return nil
}

func (s *shards) write(key string, p *packed) error {
	for _, m := range p.members {
		if err := s.tar.WriteHeader(&tar.Header{Name: key + "." + m.ending, Size: int64(len(m.data)), Mode: 0o644}); err != nil {
			return err
		}
		if _, err := s.tar.Write(m.data); err != nil {
			return err
		}
	}
	return nil
}

// finish gives the archive its name.
func (s *shards) finish() error {
	if s.file == nil {
		return nil
	}
	err := s.tar.Close()
	if err != nil {
		s.abandon()
		return fmt.Errorf("pack: %q: %w", s.path, err)
	}
	err = s.file.Finish()
	s.file = nil
	if err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	s.report.Bytes += s.bytes
	s.report.Shards = append(s.report.Shards, s.path)
	return nil
}

// byClass says whether directories give the labels again: a class without a sample has none, and those behind it would move up.
func (s *shards) byClass() {
	for label, there := range s.present {
		if !there {
			s.report.Absent = append(s.report.Absent, s.classes[label])
		}
	}
	s.report.ByClass = len(s.classes) > 0 && !s.nameless && s.report.Absent == nil
}

// check opens the archives as those do who read them, which makes their indexes, and counts.
func (s *shards) check(ctx context.Context) error {
	s.byClass()
	media, columns := []source.Medium{}, []source.Column(nil)
	for k, seen := range s.seen {
		endings := slices.Sorted(maps.Keys(seen))
		s.report.Endings = append(s.report.Endings, endings)
		media = append(media, source.Medium{Name: fmt.Sprintf("part %d", k), From: endings})
	}
	for i, c := range columnsOf(s.c) {
		c.From, c.Default = s.c.Columns[i], nil
		if c.Type == source.List {
			c.Type = source.Array
		}
		columns = append(columns, c)
	}
	client, err := store.New(store.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	opened, err := source.OpenShards(ctx, source.ShardsConfig{Shards: s.report.Shards, Media: media, Columns: columns, IndexBeside: s.c.Beside, Store: client})
	if err != nil {
		return fmt.Errorf("pack: what was written does not open: %w", err)
	}
	if got := opened.Len(); got != s.report.Samples {
		err = fmt.Errorf("pack: %d samples were written, and %d are read", s.report.Samples, got)
	}
	return errors.Join(err, opened.Close())
}

// close abandons what is not whole, and gives the names back.
func (s *shards) close() {
	s.abandon()
	s.claim.end()
	if s.store != nil {
		s.store.Close()
	}
}

// abandon leaves nothing of an archive that is not whole.
func (s *shards) abandon() {
	if s.file != nil {
		s.file.Abandon()
		s.file = nil
	}
}
