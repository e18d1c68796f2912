package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
)

// openSource finds the ring's samples.
func (r *ring) openSource(ctx context.Context, s *spec.Spec) error {
	var err error
	o := storeOptions(&s.Source.Remote)
	o.KeepBytes = r.engine.may.keep()
	if r.store, err = store.New(o); err != nil {
		return err
	}
	if err := worthKeeping(s); err != nil {
		return err
	}
	if r.source, err = r.open(ctx, s, &s.Source); err != nil {
		return err
	}
	if s.Cache.Dir != "" {
		if err = r.openCache(&s.Cache); err != nil {
			return err
		}
	}
	if c, ok := r.source.(source.Columnar); ok {
		r.columns = c.Columns()
	}
	if host, ok := r.source.(*source.Host); ok {
		r.feed, r.host = host.Feed, true
	}
	if s.Order.Asked {
		if r.feed, err = r.takeFeed("order.asked", "says which samples come", "spdl.open(spec, sampler=...)"); err != nil {
			return err
		}
		r.asked = source.NewAsked(r.feed, r.source.Len())
	}
	r.planned, _ = r.source.(source.Planned)
	for _, note := range r.notes() {
		r.engine.log.Infof(r.name, "source: %s", note)
	}
	return nil
}

// notes are what the source has to say of itself.
func (r *ring) notes() []string {
	if n, ok := r.source.(interface{ Notes() []string }); ok {
		return n.Notes()
	}
	return nil
}

// networkTimeout is the deadline of a read from a network's file system when nobody says another.
const networkTimeout = time.Minute

// open opens a source of a ring, or a data set of its mixture, and packs its samples where they are documents.
func (r *ring) open(ctx context.Context, ring *spec.Spec, s *spec.Source) (source.Source, error) {
	opened, err := r.openChosen(ctx, ring, s)
	if err != nil || s.Mix != nil {
		return opened, err
	}
	return r.pack(ring, s, opened)
}

// openChosen opens a source, or a data set of a mixture, and leaves those of its samples that it is to have.
func (r *ring) openChosen(ctx context.Context, ring *spec.Spec, s *spec.Source) (source.Source, error) {
	opened, err := r.openGuarded(ctx, ring, s)
	if err != nil || s.Only == nil {
		return opened, err
	}
	chosen, err := source.Choose(opened, source.Only{Numbers: source.Numbers{Given: s.Only.Given, File: s.Only.File}, From: s.Only.From, To: s.Only.To})
	if err != nil {
		return nil, errors.Join(describedWrongly{fmt.Errorf("engine: ring %q: source.%w", ring.FullName(), err)}, opened.Close())
	}
	return chosen, nil
}

// openGuarded opens a source. Where local files get a deadline, their reads have it, and each step of the opening.
func (r *ring) openGuarded(ctx context.Context, ring *spec.Spec, s *spec.Source) (source.Source, error) {
	if s.Mix != nil || s.Host.Samples > 0 || s.LocalTimeout < 0 { // the parts of a mixture have their own
		return r.openBefore(ctx, ring, s, nil)
	}
	return source.Within(ctx, openingTimeout(s), func(p *source.Progress) (source.Source, error) {
		timeout := localTimeout(s)
		if timeout == 0 {
			p.Work()
			p = nil
		}
		opened, err := r.openBefore(ctx, ring, s, p)
		if err == nil && timeout > 0 {
			opened = source.Guard(opened, source.GuardConfig{Timeout: timeout, Stuck: max(2*r.fetchers, 2)})
		}
		return opened, err
	})
}

// openingTimeout is the deadline of each step of opening a source, of whatever file system: which kind it is, that may be asked for ever, too.
func openingTimeout(s *spec.Source) time.Duration {
	timeout := cmp.Or(s.LocalTimeout, networkTimeout)
	if _, remote := storages(s); remote {
		timeout += s.Remote.Timeout
	}
	return timeout
}

// storages is which files and directories a source names, and whether it may name objects as well.
func storages(s *spec.Source) (paths []string, remote bool) {
	remote = s.List != "" // whose lines may be URLs
	for _, p := range append([]string{s.Folder, cmp.Or(s.Root, s.List)}, s.Files()...) {
		if store.IsURL(p) {
			remote = true
		} else if p != "" {
			paths = append(paths, p)
		}
	}
	return paths, remote
}

// localTimeout is the deadline of one read; 0: none. Where objects are read as well, theirs is within it.
func localTimeout(s *spec.Source) time.Duration {
	paths, remote := storages(s)
	timeout := s.LocalTimeout
	if timeout == 0 && onNetwork(paths) {
		timeout = networkTimeout
	}
	if timeout <= 0 || len(paths) == 0 {
		return 0
	}
	if remote {
		timeout += s.Remote.Timeout
	}
	return timeout
}

func (r *ring) openBefore(ctx context.Context, ring *spec.Spec, s *spec.Source, p *source.Progress) (source.Source, error) {
	for _, name := range append([]string{s.Folder, s.Root, s.List}, s.Files()...) {
		if err := r.store.May(name); err != nil {
			return nil, err
		}
	}
	media, inPlace := mediaOf(ring, s), r.inPlaceFrom(ring, p)
	switch {
	case s.Mix != nil:
		return r.openMix(ctx, ring, s)
	case s.Host.Samples > 0:
		return r.openHost(s, len(ring.Media()) > 0, inPlace)
	case s.Arrays != nil:
		return source.OpenArrays(source.ArraysConfig{Arrays: arraysOf(s.Arrays), Media: media, Episodes: episodesOf(s.Episodes), Label: s.Label, Progress: p})
	case s.Folder != "":
		return source.OpenFolder(source.FolderConfig{Dir: s.Folder, Extensions: s.Extensions, Labels: s.Labels == spec.LabelsDirectory, Media: media, Columns: columnsOf(s.Columns), InPlace: inPlace, Store: r.store, Progress: p})
	case len(s.Shards) > 0:
		open := source.OpenShards
		if s.IsParquet() {
			open = source.OpenParquet
		}
		var opened func(opened, of, built int)
		if tell := r.engine.opened; tell != nil {
			opened = func(opened, of, built int) { tell(r.name, opened, of, built) }
		}
		return open(ctx, source.ShardsConfig{
			Opened: opened, ReadAhead: r.advised, InPlace: inPlace, Progress: p, Fetch: r.fetchers,
			Shards: s.Shards, Media: media, Label: s.Label, Labels: source.ShardLabels(s.ByMember), Split: s.Split, Columns: columnsOf(s.Columns), IndexBeside: s.Index == spec.IndexBeside, Store: r.store,
		})
	}
	list := source.ListConfig{
		File: s.List, Heading: s.Heading, Names: s.Names, Root: s.Root, InPlace: inPlace, Store: r.store, Progress: p, Alone: len(media) == 0, Label: s.Label, NoLabels: s.ByMember == spec.LabelsNone, LabelNames: s.ByMember == spec.LabelsNames, Columns: columnsOf(s.Columns),
	}
	if s.Separator != "" {
		list.Separator = s.Separator[0]
	}
	if len(media) > 0 {
		list.Path, list.First, list.Others = first(media[0].From), media[0], media[1:]
	}
	opened, err := source.OpenList(list)
	if err != nil || opened.Len() == 0 {
		return opened, err
	}
	if err := r.store.May(string(opened.Key(0, nil))); err != nil { // where one line is an address, as a rule all are
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// inPlaceBytes is how large a video or a sound is that is not read whole, but as it is decoded; a variable for tests.
var inPlaceBytes int64 = 32 << 20

// inPlaceFrom is the size from which a ring's media stay where they are, in files and in a store; 0: all are read. Pictures always are, and so is what a cache keeps, or what
// lies where reads may hang: these have a deadline (p), and decoding has none that ends a read.
func (r *ring) inPlaceFrom(ring *spec.Spec, p *source.Progress) int64 {
	if r.whole || p != nil || ring.Cache.Dir != "" || slices.ContainsFunc(ring.Media(), func(m spec.Medium) bool { return m.Video == nil && m.Audio == nil }) {
		return 0
	}
	return inPlaceBytes
}

// waitingDecoders is how many decoders there are for each that may work at a time, where they may have to wait for a store: who waits has no turn.
const waitingDecoders = 4

// isDistant says that media of a source lie in a store: it is there itself, or its samples have addresses.
func (r *ring) isDistant(s *spec.Source) bool {
	if slices.ContainsFunc(s.Mix, func(m spec.Part) bool { return r.isDistant(&m.Source) }) {
		return true
	}
	named := slices.ContainsFunc(append([]string{s.Folder, s.Root, s.List}, s.Files()...), store.IsURL)
	return named || s.List != "" && r.source.Len() > 0 && store.IsURL(string(r.source.Key(0, nil)))
}

// outOfTurn runs what a decoder waits for, while another one takes its turn.
func (e *Engine) outOfTurn(wait func()) {
	e.cpus.Release()
	wait()
	_ = e.cpus.Acquire(context.Background()) // who has a turn gives it back, also at the end
}

// networkFileSystem says what file system a path lies on; tests have another.
var networkFileSystem = source.NetworkFileSystem

// onNetwork says that one of the paths lies on a file system that a server has.
func onNetwork(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return networkFileSystem(p) != "" })
}

// worthKeeping refuses a copy on a disk of what lies whole and unpacked on a disk already: a read of the copy takes longer than one of the array.
func worthKeeping(s *spec.Spec) error {
	key := "cache.dir"
	if s.Cache.Dir == "" {
		key = "cache.rows_dir"
	}
	unpacks := func(a source.ArrayFiles) bool { return source.InChunks(&a) }
	if s.Source.Arrays == nil || s.Cache.Dir == "" && s.Cache.RowsDir == "" || onNetwork(s.Source.Files()) || slices.ContainsFunc(arraysOf(s.Source.Arrays), unpacks) {
		return nil
	}
	return describedWrongly{fmt.Errorf("engine: ring %q: %s: keeps on a disk what source.arrays reads from one already, where a sample is a single read of bytes as they are, and the "+
		"copy would be slower; it goes with arrays on a network's file system; leave it out", s.FullName(), key)}
}

// openHost opens the source that the program around the engine feeds.
func (r *ring) openHost(s *spec.Source, media bool, inPlace int64) (source.Source, error) {
	feed, err := r.takeFeed("source.host", "brings samples", "spdl.open(spec, source=...)")
	if err != nil {
		return nil, err
	}
	return source.OpenHost(source.HostConfig{Samples: s.Host.Samples, Stream: s.Host.Stream, Timeout: s.Host.Timeout, Columns: columnsOf(s.Columns), Beside: media && len(s.Columns) > 0, InPlace: inPlace, Feed: feed, Store: r.store})
}

// takeFeed is what the program around the engine is asked through, for a key of the description by which it does something. There is one, so one ring can have it.
func (r *ring) takeFeed(key, does, call string) (*source.Feed, error) {
	feed := r.engine.feed
	if feed == nil {
		return nil, fmt.Errorf("engine: ring %q: %s: no program around this engine %s, or another ring has it already; open one ring "+
			"in process: spdl_open with SPDL_FORM_IN_PROCESS, or %s in Python", r.name, key, does, call)
	}
	r.engine.feed = nil
	return feed, nil
}

func (r *ring) openMix(ctx context.Context, ring *spec.Spec, s *spec.Source) (source.Source, error) {
	var parts []source.Source
	refused := func(err error) error {
		for _, p := range parts {
			_ = p.Close()
		}
		return err
	}
	for i := range s.Mix {
		part := s.Mix[i].Source
		part.Columns, part.Packing, part.Index, part.LocalTimeout, part.Remote = s.Columns, s.Packing, s.Index, s.LocalTimeout, s.Remote
		opened, err := r.openChosen(ctx, ring, &part)
		if err == nil {
			s = settled(s, opened)
			opened, err = r.pack(ring, s, opened)
		}
		if err != nil {
			return nil, refused(fmt.Errorf("engine: ring %q: source.mix[%d]: %w", r.name, i, err))
		}
		parts = append(parts, opened)
		r.parts = append(r.parts, opened.Len())
	}
	joined, err := source.Join(parts)
	if err != nil {
		return nil, refused(describedWrongly{fmt.Errorf("engine: ring %q: source.mix: %w", r.name, err)})
	}
	return joined, nil
}

// settled is a mixture whose columns of arrays have the types and shapes that one of its data sets has: the others must have them, too.
func settled(s *spec.Source, opened source.Source) *spec.Source {
	c, ok := opened.(source.Columnar)
	if !ok {
		return s
	}
	with := *s
	with.Columns = slices.Clone(s.Columns)
	for i, column := range c.Columns() {
		with.Columns[i].DType, with.Columns[i].Shape = column.DType, column.Shape
	}
	return &with
}

// openCache puts the ring's source behind a cache. Rings that name the same directory share one.
func (r *ring) openCache(c *spec.Cache) (err error) {
	e := r.engine
	if e.caches[c.Dir] == nil {
		cache, err := source.OpenCache(source.CacheConfig{Dir: c.Dir, MaxBytes: c.MaxBytes, Never: c.Evict == spec.EvictNever, Unkept: e.unkept("", "cache.dir", c.Dir)})
		if err != nil {
			return err
		}
		e.caches[c.Dir] = cache
	}
	behind, err := e.caches[c.Dir].Wrap(r.source)
	if err == nil {
		r.source, r.cache = behind, e.caches[c.Dir]
	}
	return err
}

// unkept is what a cache tells of what it cannot keep: a warning for each cause, once, as it may be that of every sample.
func (e *Engine) unkept(ring, key, dir string) func(error) {
	var told sync.Map
	return func(err error) {
		if _, before := told.LoadOrStore(err.Error(), true); !before {
			e.log.Warnf(ring, "%s %q: %v; what it does not keep is read and made anew each time, and counted (spdl_cache_samples_total, spdl_cache_rows_total); "+
				"make room, or make it a directory in which this user may make files: it is tried again by itself", key, dir, err)
		}
	}
}

// SourceStats are what reading a ring's samples took.
type SourceStats struct {
	Remote *store.Stats       `json:"remote,omitempty"`
	Cache  *source.CacheStats `json:"cache,omitempty"` // of all rings of the engine that share it
	Rows   *RowStats          `json:"rows,omitempty"`
	Host   *source.FeedStats  `json:"host,omitempty"` // what the program around the engine brought, or numbers that it said
}

func (r *ring) sourceStats() SourceStats {
	s := SourceStats{Rows: r.rows.stats()}
	if n := r.store.Stats(); n.Requests > 0 {
		s.Remote = &n
	}
	if r.feed != nil {
		n := r.feed.Stats()
		s.Host = &n
	}
	if r.cache != nil {
		n := r.cache.Stats()
		s.Cache = &n
	}
	return s
}

func storeOptions(r *spec.Remote) store.Options {
	o := store.Options{
		Endpoint: r.Endpoint, Region: r.Region, Profile: r.Profile, Anonymous: r.Anonymous, PathStyle: r.Addressing == spec.ByPath,
		VirtualHost: r.Addressing == spec.ByHost, Timeout: r.Timeout, Retries: r.Retries, HedgeAfter: r.HedgeAfter,
	}
	if o.Retries == 0 {
		o.Retries = -1
	}
	return o
}

// columnsOf says the description's columns in core/source's words.
func columnsOf(columns []spec.Column) (all []source.Column) {
	types := map[string]source.ColumnType{spec.TypeI64: source.Int64, spec.TypeF64: source.Float64, spec.TypeText: source.Text, spec.TypeNPY: source.Array, spec.TypeList: source.List}
	for _, c := range columns {
		all = append(all, source.Column{Name: c.Name, From: c.From, Type: types[c.Type], MaxBytes: int(c.MaxBytes), Default: c.Default, DType: c.DType, Shape: c.Shape, MaxLength: c.MaxLength, Padded: c.Padded})
	}
	return all
}

// arraysOf says whole arrays in core/source's words.
func arraysOf(arrays []spec.ArrayFiles) (all []source.ArrayFiles) {
	for _, a := range arrays {
		all = append(all, source.ArrayFiles{Name: a.Name, Files: a.Files, Dataset: a.Dataset, DType: a.DType, Shape: a.Shape, Window: a.Window, Step: a.Step, Within: a.Within,
			PadBefore: a.PadBefore, PadAfter: a.PadAfter, IsPad: a.IsPad, MaxBytes: int(a.MaxBytes), MaxLength: a.MaxLength, Padded: a.Padded})
	}
	return all
}

// episodesOf says in core/source's words where episodes lie; nil: nowhere.
func episodesOf(e *spec.Episodes) *source.Episodes {
	if e == nil {
		return nil
	}
	all := &source.Episodes{Numbers: source.Numbers{Given: e.Given, File: e.File, Dataset: e.Dataset}, Lengths: e.Lengths}
	if e.Only.File != "" || e.Only.Given != nil {
		all.Only = &source.Numbers{Given: e.Only.Given, File: e.Only.File}
	}
	return all
}

// mediaOf says in core/source's words which parts of a source's samples are wanted beside its columns; not nil, which would be a picture.
func mediaOf(ring *spec.Spec, s *spec.Source) []source.Medium {
	all := []source.Medium{}
	for _, w := range ring.Parts(s) {
		m := source.Medium{Name: w.Name, From: w.From}
		if w.Many != nil {
			m.Many, m.Each, m.Cut = w.Many.Most, w.Many.Of != nil, w.Many.Over == spec.CutOff
		}
		all = append(all, m)
	}
	return all
}

// first is a text of a list; "" of an empty one.
func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

// List calls each for what the store's folder of a description's first ring holds, by its path below the folder, until each says that it has seen
// enough.
func List(ctx context.Context, s *spec.Spec, each func(below string) (more bool)) error {
	one := &s.All()[0].Source
	client, err := store.New(storeOptions(&one.Remote))
	if err != nil {
		return err
	}
	defer client.Close()
	folder := strings.TrimRight(one.Folder, "/") + "/"
	enough := errors.New("enough")
	err = client.List(ctx, folder, func(o store.Object) error {
		if below := strings.TrimPrefix(o.URL, folder); below != "" && !each(below) {
			return enough
		}
		return nil
	})
	if err == enough {
		return nil
	}
	return err
}

// PartsOf looks into the first shard of a description's first ring for what its samples consist of: the endings of an archive's members, or
// the columns of a Parquet file that hold bytes.
func PartsOf(ctx context.Context, s *spec.Spec) ([]string, error) {
	one := &s.All()[0].Source
	client, err := store.New(storeOptions(&one.Remote))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return source.PartsOf(ctx, source.ShardsConfig{Shards: one.Shards, Split: one.Split, IndexBeside: one.Index == spec.IndexBeside, Store: client})
}
