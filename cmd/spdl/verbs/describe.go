package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/spelling"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// description is what the verbs that read one share: where it is, and the flags that change it.
type description struct {
	flags *pflag.FlagSet

	json           string
	name           string
	size, batch    int
	dtype, layout  string
	shuffle, fixed bool
	seed           uint64
	epochs         int64
	cpus           string
	slots          int
	world, rank    int
	media          spec.Media // of a folder
	bare           bool       // shards without a description
	asked          bool       // of a folder or shards: order.asked, as spdl.open(PLACE, sampler=...) means
	ring           string     // of several; "" is the first, or all where that makes sense
}

const defaultSize = 224

// addReadFlags declares those that say what is read, and in which order; a flag that was not given changes nothing.
func (d *description) addReadFlags(c *cobra.Command) {
	c.Flags().StringVar(&d.json, "spec-json", "", "the description itself, as JSON, in place of a file")
	d.addOrderFlags(c)
}

// addOrderFlags declares those that say in which order.
func (d *description) addOrderFlags(c *cobra.Command) {
	f := c.Flags()
	d.flags, d.size = f, defaultSize
	f.BoolVar(&d.shuffle, "shuffle", true, "shuffle every epoch anew")
	f.BoolVar(&d.fixed, "no-shuffle", false, "keep the order of the files")
	f.Uint64Var(&d.seed, "seed", 0, "seed of shuffling and augmentation")
}

// addFlags declares all flags of a description.
func (d *description) addFlags(c *cobra.Command) {
	d.addReadFlags(c)
	f := c.Flags()
	f.StringVar(&d.name, "name", "", "name of the ring (default: the file's or folder's)")
	f.IntVar(&d.size, "size", defaultSize, "folder or shards: height and width of pictures and frames; resized, then cropped in the middle")
	f.IntVar(&d.batch, "batch", 32, "rows per batch")
	f.StringVar(&d.dtype, "dtype", "u8", "element type of pictures and frames: u8, f16, bf16 or f32; floats are x/255 unless normalised; of sounds: f32 or i16")
	f.StringVar(&d.layout, "layout", "NHWC", "NHWC or NCHW; of videos NTHWC, NTCHW or NCTHW; of sounds NCL or NLC")
	f.Int64Var(&d.epochs, "epochs", 0, "epochs; 0: endless")
	f.StringVar(&d.cpus, "cpus", "", "CPUs to use, a number or a share such as 40% (default: the cgroup's quota, else the affinity mask)")
	f.IntVar(&d.slots, "slots", 0, "slots of the ring (default: 4 for each expected consumer and 4 more, at least 8)")
	f.IntVar(&d.world, "world-size", 1, "ranks of the training run")
	f.IntVar(&d.rank, "rank", 0, "rank of this engine's first lane")
}

func (d *description) given(flag string) bool { return d.flags.Changed(flag) }

// read makes a description of the command line: SPEC (a file or a folder) or --spec-json, then the flags.
func (d *description) read(ctx context.Context, verb string, args []string) (*spec.Spec, error) {
	args, err := plainPaths(verb, args)
	if err != nil {
		return nil, err
	}
	s, err := d.base(ctx, verb, args)
	if err != nil {
		return nil, err
	}
	if err := d.change(verb, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// plainPaths are arguments with the path in the place of each file:///PATH.
func plainPaths(verb string, args []string) ([]string, error) {
	args = slices.Clone(args)
	for i, one := range args {
		if !strings.HasPrefix(strings.ToLower(one), "file://") {
			continue
		}
		path, err := spec.Located(one)
		if err != nil {
			return nil, usage("%s: %v", verb, err)
		}
		args[i] = path
	}
	return args, nil
}

func (d *description) base(ctx context.Context, verb string, args []string) (*spec.Spec, error) {
	switch {
	case d.given("spec-json") && len(args) > 0:
		return nil, usage("%s: got --spec-json and %q, want one description", verb, args[0])
	case len(args) > 0 && isFile(args[0]) && source.ZarrIn(args[0]) != "":
		return nil, zarrForDescription(verb, args[0])
	case areShards(args):
		return d.shards(ctx, verb, args)
	case len(args) > 0 && isFile(args[0]) && slices.Contains(source.HDF5Endings, strings.ToLower(filepath.Ext(args[0]))):
		return nil, hdf5ForDescription(verb, args[0])
	case len(args) > 0 && isFile(args[0]) && source.Foreign(args[0]) != "":
		return nil, usage("%s: %q: %s", verb, args[0], source.Foreign(args[0]))
	case len(args) > 1 && !slices.ContainsFunc(args, func(a string) bool { return mediumOf(a) == "" }):
		return nil, usage("%s: got %d files of media by their names, such as %q; want their folder, or a list of them in a description: {source: {list: FILE}, image: {transform: [{resize: [224, 224]}]}}",
			verb, len(args), args[0])
	case len(args) > 1:
		return nil, usage("%s: got %d arguments, want one: a description (YAML or JSON), a folder of media or shards", verb, len(args))
	case d.given("spec-json"):
		return d.parsed(verb, func() (*spec.Spec, error) { return spec.Parse([]byte(d.json), "") })
	case len(args) == 0:
		return nil, usage("%s: nothing to read; want a description (YAML or JSON), a folder of media or shards", verb)
	}
	path := store.Plain(args[0])
	if store.IsURL(path) || slices.ContainsFunc([]string{"s3://", "gs://", "hf://"}, func(scheme string) bool { return strings.HasPrefix(path, scheme) }) {
		return d.remote(ctx, verb, path)
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &because{fmt.Errorf("%s: %q: no such file or folder%s; want a description (YAML or JSON), a folder of media or shards", verb, path, spelling.NotThere(path)), err}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", verb, err)
	case st.IsDir() && source.ZarrIn(path) != "":
		return nil, zarrForDescription(verb, path)
	case st.IsDir():
		return d.root(ctx, verb, path, contentsOf(path))
	}
	if err := otherThanDescription(verb, path); err != nil {
		return nil, err
	}
	s, err := d.parsed(verb, func() (*spec.Spec, error) { return spec.Load(path) })
	if err != nil && annotates(path) {
		return nil, usage("%s: %q is no description, but has COCO's annotations by its keys; make a table of it, a row a picture, and name that in source.list (docs/recipes.md, Detection), "+
			"or name the pictures' folder", verb, path)
	}
	if err != nil && isList(path) {
		return nil, listForDescription(verb, path)
	}
	return s, err
}

// otherThanDescription refuses a file that is something else by its name, with what to do.
func otherThanDescription(verb, path string) error {
	switch ending := strings.ToLower(filepath.Ext(path)); {
	case slices.Contains(packedEndings, ending):
		return usage("%s: %q is compressed by its name, and samples of such an archive cannot be found; unpack it to a .tar", verb, path)
	case ending == ".npy":
		return usage("%s: %q is no description, but an array by its name; put it into one: {source: {arrays: [{name: x, file: %q}]}}, as a file or, in JSON, as --spec-json", verb, path, path)
	case ending == ".bin":
		return usage("%s: %q is no description, but an array without a head by its name; put it into one, with the type of its elements: {source: {arrays: [{name: x, file: %q, dtype: u16, window: 1024}]}}, "+
			"as a file or, in JSON, as --spec-json", verb, path, path)
	case mediumOf(path) != "":
		return usage("%s: %q is no description, but %s by its name; name the folder that it is in, %q, or of some files a list of them, in a description: {source: {list: FILE}, ...}", verb, path, mediumOf(path), filepath.Dir(path))
	}
	return nil
}

// mediumOf is what a file is by its name; "" of what is no picture, video or sound.
func mediumOf(name string) string {
	if slices.Contains(source.ImageExtensions, endingOf(name)) {
		return "a picture"
	}
	switch m, _ := spec.MediaOf(name); m {
	case spec.Videos:
		return "a video"
	case spec.Sounds:
		return "a sound"
	}
	return ""
}

// zarrForDescription refuses a directory or an archive of Zarr, whose arrays have to be named in a description.
func zarrForDescription(verb, path string) error {
	what := "a directory"
	if isFile(path) {
		what = "an archive"
	}
	return usage("%s: %q is no description, but %s of Zarr; put its arrays into one: {source: {arrays: [{name: x, file: %q}]}}, as a file or, in JSON, as --spec-json", verb, path, what, source.ZarrIn(path))
}

// hdf5ForDescription refuses an HDF5 file, whose arrays have to be named in a description.
func hdf5ForDescription(verb, path string) error {
	const few, looked = 8, 64
	all := source.DatasetsOf(path, looked)
	if len(all) == 0 {
		return usage("%s: %q is no description, but an HDF5 file by its name, and no array was found in it", verb, path)
	}
	var there []string
	for _, d := range all[:min(few, len(all))] {
		there = append(there, fmt.Sprintf("%s (%s)", d.Path, d.What))
	}
	more := ""
	if len(all) > few {
		more = " and more"
	}
	return usage("%s: %q is no description, but an HDF5 file by its name; put its arrays into one: %s, as a file or, in JSON, as --spec-json; there are %s",
		verb, path, hdf5Description(path, all), strings.Join(there, ", ")+more)
}

// hdf5Description is one of the first array that seems to be of encoded media, or else of the first that can be read.
func hdf5Description(path string, all []source.Dataset) string {
	k := slices.IndexFunc(all, func(d source.Dataset) bool { return d.Kind == source.BytesDataset })
	if k < 0 {
		k = slices.IndexFunc(all, func(d source.Dataset) bool { return d.Kind != source.UnreadDataset })
	}
	first := all[max(k, 0)]
	switch first.Kind {
	case source.BytesDataset:
		return fmt.Sprintf("{source: {arrays: [{name: x, file: %q, dataset: %q}]}, image: {from: x, transform: [{resize: [224, 224]}]}}, or audio or video in place of image", path, first.Path)
	case source.ListDataset:
		return fmt.Sprintf("{source: {arrays: [{name: x, file: %q, dataset: %q, max_length: 1024}]}}", path, first.Path)
	}
	return fmt.Sprintf("{source: {arrays: [{name: x, file: %q, dataset: %q}]}}", path, first.Path)
}

func isList(path string) bool {
	return slices.Contains(listEndings, strings.ToLower(filepath.Ext(path)))
}

// listForDescription refuses a list or table, which has to be put into a description.
func listForDescription(verb, path string) error {
	rows := ""
	if !slices.Contains([]string{".txt", ".lst", ".tsv"}, strings.ToLower(filepath.Ext(path))) {
		rows = fmt.Sprintf("; or where its rows are all there is {source: {list: %q, columns: [NAME, {name: NUMBER, type: f64}]}}", path)
	}
	return usage("%s: %q is no description, but a list by its name; put it into one: {source: {list: %q}, image: {transform: "+
		"[{resize: [224, 224]}]}}, as a file or, in JSON, as --spec-json%s", verb, path, path, rows)
}

// annotates says that a JSON file begins as one of COCO's annotations does.
func annotates(path string) bool {
	const most = 1 << 16
	if strings.ToLower(filepath.Ext(path)) != ".json" {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, most))
	return err == nil && (bytes.Contains(head, []byte(`"images"`)) || bytes.Contains(head, []byte(`"annotations"`)))
}

// withoutMedia refuses a data set of which nobody can tell what its samples are, with a description to begin with.
func withoutMedia(verb, path, description string, args ...any) error {
	return usage("%s: %q holds arrays and no media, so a description has to name the fields; begin with %s, as a file or, in JSON, as --spec-json",
		verb, path, strings.ReplaceAll(fmt.Sprintf(description, args...), "\" \"", "\", \""))
}

// packedEndings are those of archives that have to be read from the start for each sample.
var packedEndings = []string{".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".tzst", ".lz4", ".7z", ".rar"}

// listEndings are those of lists and tables, which say nothing of what samples become.
var listEndings = []string{".txt", ".lst", ".tsv", ".csv", ".jsonl", ".ndjson"}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// areShards says that every argument names shards: a shell may have written the braces out. A directory is none, whatever
// its name, unless it has a catalogue of them.
func areShards(args []string) bool {
	for _, a := range args {
		st, err := os.Stat(a)
		is := spec.LooksLikeShards(a) || source.AreRecords(a)
		if (!is || err == nil && st.IsDir()) && source.CatalogueFormat(a) == "" {
			return false
		}
	}
	return len(args) > 0
}

// shards is the form without a description for shards of media, which their first one tells.
func (d *description) shards(ctx context.Context, verb string, patterns []string) (*spec.Spec, error) {
	d.bare = true
	describe := func(z spec.Zero) (*spec.Spec, error) { return spec.FromShards(patterns, z) }
	s, err := d.zero(verb, describe)
	if err != nil {
		return nil, err
	}
	if parts, err := engine.PartsOf(ctx, s); err == nil { // else the engine will say what is wrong
		found := false
		d.media, found = mediaOfParts(parts)
		if columns := columnsFor(parts); !found && columns != "" {
			return nil, withoutMedia(verb, patterns[0], "{source: {shards: %q, %s}}", patterns, columns)
		}
	}
	if d.media == spec.Pictures {
		return s, nil
	}
	return d.zero(verb, describe)
}

// zero is the form without a description: a folder of media, or shards.
func (d *description) zero(verb string, describe func(spec.Zero) (*spec.Spec, error)) (*spec.Spec, error) {
	if d.size < 1 {
		return nil, usage("%s: --size %d, want 1 or more", verb, d.size)
	}
	if d.media == spec.Sounds && d.given("size") {
		return nil, usage("%s: --size goes with pictures and videos, and these are sounds", verb)
	}
	s, err := describe(spec.Zero{Name: d.name, Size: d.size, Media: d.media})
	if err != nil {
		return nil, err
	}
	s.Ring.Slots = 0 // chosen again once the flags are known
	if d.asked {
		s.Order.Asked, s.Order.Shuffle = true, false
	}
	return s, nil
}

// parsed is a written description, which says itself what pictures become.
func (d *description) parsed(verb string, read func() (*spec.Spec, error)) (*spec.Spec, error) {
	if d.given("size") {
		return nil, usage("%s: --size goes with a folder or shards; a description says it in image.transform", verb)
	}
	return read()
}

// change applies the flags that were given to every ring.
func (d *description) change(verb string, s *spec.Spec) error {
	if d.given("shuffle") && d.given("no-shuffle") {
		return usage("%s: got --shuffle and --no-shuffle, want one", verb)
	}
	if err := d.pick(verb, s); err != nil {
		return err
	}
	for _, r := range append([]*spec.Spec{s}, s.Rings...) {
		if err := d.changeRing(verb, r); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) changeRing(verb string, r *spec.Spec) error {
	set := func(flag string, apply func()) {
		if d.given(flag) {
			apply()
		}
	}
	set("name", func() { r.Name = d.name })
	set("batch", func() { r.Batch = d.batch })
	set("shuffle", func() { r.Order.Shuffle = d.shuffle })
	set("no-shuffle", func() { r.Order.Shuffle = !d.fixed })
	set("seed", func() { r.Order.Seed = d.seed })
	set("epochs", func() { r.Order.Epochs = d.epochs })
	if d.given("cpus") && !r.Limits.SetCPUs(d.cpus) {
		return usage("%s: --cpus %s, want 0.01 to 4096, or a share of the host's from 1%% to 100%%", verb, d.cpus)
	}
	set("slots", func() { r.Ring.Slots = d.slots })
	set("world-size", func() { r.World.Size = d.world })
	set("rank", func() { r.World.Rank = d.rank })
	if d.given("dtype") {
		if err := d.setType(verb, r); err != nil {
			return err
		}
	}
	if d.given("layout") {
		if err := d.setLayout(verb, r); err != nil {
			return err
		}
	}
	return d.inRange(verb, r)
}

// setType applies --dtype.
func (d *description) setType(verb string, r *spec.Spec) error {
	t, err := tensor.ParseDType(d.dtype)
	m, only := onlyMedium(r)
	if !only {
		return notOne(verb, "--dtype", r)
	}
	if m.Audio != nil {
		if err != nil || t != tensor.F32 && t != tensor.I16 {
			return usage("%s: --dtype %q, want f32 or i16 for sounds%s", verb, d.dtype, didYouMean(meant(d.dtype, "f32", "i16")))
		}
		m.Audio.DType = t
		return nil
	}
	if err != nil || !slices.Contains([]tensor.DType{tensor.U8, tensor.F16, tensor.BF16, tensor.F32}, t) {
		return usage("%s: --dtype %q, want u8, f16, bf16 or f32%s", verb, d.dtype, didYouMean(meant(d.dtype, "u8", "f16", "bf16", "f32")))
	}
	if m.Video != nil {
		m.Video.Frame.DType = t
	} else {
		m.Image.DType = t
	}
	return nil
}

// meant is the word that was meant by a flag's wrong one; none: none is near.
func meant(wrong string, words ...string) []string {
	return oneOrNone(spec.Meant(wrong, words))
}

// onlyMedium is what a ring's samples are, where that is one thing.
func onlyMedium(r *spec.Spec) (m spec.Medium, only bool) {
	media := r.Media()
	if len(media) == 1 {
		m = media[0]
	}
	return m, len(media) == 1
}

// notOne refuses a flag that is about the one medium of samples that have several, or none.
func notOne(verb, flag string, r *spec.Spec) error {
	if len(r.Media()) == 0 {
		return usage("%s: %s goes with pictures, videos and sounds, and these samples have none; leave it out", verb, flag)
	}
	return usage("%s: %s goes with samples of one medium, and these have several; say it in each section", verb, flag)
}

// setLayout applies --layout.
func (d *description) setLayout(verb string, r *spec.Spec) error {
	m, only := onlyMedium(r)
	if !only {
		return notOne(verb, "--layout", r)
	}
	layout, layouts := layoutOf(&m)
	if *layout = strings.ToUpper(d.layout); !slices.Contains(layouts, *layout) {
		return usage("%s: --layout %q, want %s%s", verb, d.layout, strings.Join(layouts, " or "), didYouMean(meant(*layout, layouts...)))
	}
	return nil
}

// layoutOf is what --layout changes, and what it may be.
func layoutOf(m *spec.Medium) (layout *string, layouts []string) {
	switch {
	case m.Video != nil:
		return &m.Video.Layout, []string{spec.NTHWC, spec.NTCHW, spec.NCTHW}
	case m.Audio != nil:
		return &m.Audio.Layout, []string{spec.NCL, spec.NLC}
	}
	return &m.Image.Layout, []string{spec.NHWC, spec.NCHW}
}

// inRange checks what the description's reader would have checked in a file.
func (d *description) inRange(verb string, r *spec.Spec) error {
	switch {
	case r.Order.Epochs < 0:
		return usage("%s: --epochs %d, want 0 (endless) or more", verb, d.epochs)
	case d.given("slots") && (d.slots < 3 || d.slots > 65536):
		return usage("%s: --slots %d, want 3 to 65536", verb, d.slots)
	case d.given("rank") && d.rank < 0:
		return usage("%s: --rank %d, want 0 or more", verb, d.rank)
	}
	return nil
}

// pick leaves only the ring that --ring names.
func (d *description) pick(verb string, s *spec.Spec) error {
	if d.ring == "" {
		return nil
	}
	var names []string
	for _, r := range s.All() {
		if r.RingName == d.ring {
			s.Rings = []*spec.Spec{r}
			return nil
		}
		names = append(names, strconv.Quote(r.RingName))
	}
	if s.Rings == nil {
		return usage("%s: --ring %q, but the description has one ring without a name; leave it out", verb, d.ring)
	}
	return usage("%s: --ring %q, want one of %s", verb, d.ring, strings.Join(names, ", "))
}

// missing names the data set of s that is not there at all, or cannot be what s says it is, for the exit code; err is the engine's refusal.
func missing(s *spec.Spec, err error) error {
	for _, r := range s.All() {
		sources := []*spec.Source{&r.Source}
		for i := range r.Source.Mix {
			sources = append(sources, &r.Source.Mix[i].Source)
		}
		for _, src := range sources {
			if kind := unreadable(src); kind != nil {
				return &because{err, kind}
			}
		}
	}
	return err
}

// unreadable is the kind of what is seen to be wrong with the paths of a data set; nil: nothing.
func unreadable(src *spec.Source) error {
	for _, one := range append([]string{src.Folder, src.List}, src.Files()...) {
		if one == "" || strings.ContainsAny(one, "*?[:") {
			continue
		}
		if _, err := source.Braces(one); one != src.Folder && one != src.List && err != nil {
			return engine.ErrDescription
		}
		if strings.Contains(one, "{") {
			continue
		}
		st, err := os.Stat(one)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
			return err
		case err == nil && st.IsDir() != (one == src.Folder) && (one == src.List || !source.ListsShards(one)):
			return engine.ErrDescription
		}
	}
	return nil
}

// because is an error whose kind another one tells.
type because struct{ error, kind error }

func (b *because) Error() string   { return b.error.Error() }
func (b *because) Unwrap() []error { return []error{b.error, b.kind} }
