package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/pack"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spf13/cobra"
)

// packing is one run of pack.
type packing struct {
	*app
	description
	out             string
	bytes           string
	samples         int64
	resize, quality int
	keys, skip      bool
	beside, asJSON  bool
	began, told     time.Time
	one             *spec.Spec
	endings         []string // of the members of its columns
}

func (a *app) pack() *cobra.Command {
	v := &packing{app: a}
	c := &cobra.Command{
		Use:   "pack SPEC|FOLDER|SHARDS --out FILE-%06d.tar",
		Short: "Write a data set into tar shards, which are read in long stretches",
		Long: `Pack reads the samples of a description (or a folder, or shards) in the order of its first epoch, shuffled unless --no-shuffle says
otherwise, and writes them as they are stored into tar archives as WebDataset has them: each sample's media, its label as cls, its columns as
txt and npy, of samples in class directories below their class' name. It ends with the source to put into a description.

Filters, weights and mixtures of the description count, its transform does not: bytes are copied. With --resize pictures whose shorter side is
longer become JPEGs of that size. The same description and seed give the same archives, byte for byte.

An archive has its name when it is whole. Names that are taken are refused, so a run that was interrupted is begun again with its shards
removed; what it was writing when it was killed is removed by the next run of the same names.

With --out s3://BUCKET/... archives are written to an object store, in parts, with the credentials and the endpoint of the environment
($AWS_ACCESS_KEY_ID, $AWS_ENDPOINT_URL_S3, ...). What fails or is interrupted leaves no parts there.`,
		Example: `  spdl pack /data/train --out /data/shards/train-%06d.tar
  spdl pack /data/train --out /nvme/train-%06d.tar --resize 512 --quality 90
  spdl pack /data/train --out s3://bucket/train-%06d.tar
  spdl pack captions.yaml --out /data/shards/%05d.tar --shard-bytes 1GiB --index-beside
  spdl pack /data/val --out /data/shards/val.tar --no-shuffle`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addReadFlags(c)
	f := c.Flags()
	f.StringVarP(&v.out, "out", "o", "", "the archives, paths or s3:// URLs, with one %d or %06d for their number")
	f.StringVar(&v.bytes, "shard-bytes", "256MiB", "about how large an archive becomes at most; 0: no bound")
	f.Int64Var(&v.samples, "shard-samples", 0, "how many samples an archive has at most; 0: no bound")
	f.IntVar(&v.resize, "resize", 0, "shorter side of pictures whose shorter side is longer; 0: all stay as they are")
	f.IntVar(&v.quality, "quality", 90, "of the JPEGs that --resize makes, 1 to 100")
	f.BoolVar(&v.keys, "keys", false, "keep each sample's name in the source, as the part key.txt")
	f.BoolVar(&v.skip, "skip-bad", false, "leave out samples that cannot be read, or resized, and count them; otherwise the first ends it")
	f.BoolVar(&v.beside, "index-beside", false, "keep the archives' indexes beside them, to be copied along (source.index: beside)")
	f.StringVar(&v.ring, "ring", "", "of a description with several rings: the one to pack (default: the first)")
	f.BoolVar(&v.asJSON, "json", false, "print JSON")
	return c
}

func (v *packing) run(ctx context.Context, args []string) error {
	c, err := v.config()
	if err != nil {
		return err
	}
	s, err := v.read(ctx, "pack", args)
	if err != nil {
		return err
	}
	v.one = s.All()[0]
	v.one.Order.Last, v.one.World, v.one.Ring.Groups = spec.LastCover, spec.World{Size: 1}, nil
	if err := v.describes(c); err != nil {
		return err
	}
	plan, err := engine.OpenPlan(ctx, s)
	if err != nil {
		return missing(s, err)
	}
	defer func() { _ = plan.Close() }() // of what was read alone
	if plan, err = v.named(ctx, plan); err != nil {
		return err
	}
	order, err := plan.Order(1)
	if err != nil {
		return err
	}
	if columnar, is := plan.Source().(source.Columnar); is && v.one.Source.Arrays != nil {
		v.learn(columnar.Columns())
	}
	c.Source, c.Samples = plan.Source(), firstEpoch(order)
	v.began = time.Now()
	report, err := pack.Write(ctx, *c)
	v.clearStatus()
	if err != nil {
		return v.unfinished(report, err)
	}
	return v.print(report)
}

// learn takes from the files what columns their arrays have become: texts, and lists of any length.
func (v *packing) learn(columns []source.Column) {
	for k := range columns {
		c := &v.one.Source.Columns[k]
		c.DType, c.Shape = columns[k].DType, columns[k].Shape
		if columns[k].Type == source.Text {
			c.Type, v.endings[k] = spec.TypeText, strings.TrimSuffix(v.endings[k], ".npy")+".txt"
		}
	}
}

// named is the plan with the classes' names, where shards without a description have them: their samples lie in directories whose places are the
// labels in the parts cls, as pack writes them.
func (v *packing) named(ctx context.Context, plan *engine.Plan) (*engine.Plan, error) {
	if !v.bare {
		return plan, nil
	}
	byName, err := byDirectory(ctx, v.one, plan.Source())
	if byName == nil || err != nil {
		return plan, err
	}
	if i, differs := differing(byName.Source(), plan.Source()); differs {
		numbers := plan.Source()
		fmt.Fprintf(v.err, "pack: labels are the numbers in the parts cls, and nothing names the classes: by the directories of these archives sample %q would have the label %d, not %d\n",
			numbers.Key(i, nil), byName.Source().Label(i), numbers.Label(i))
		return plan, byName.Close()
	}
	v.one.Source.ByMember = spec.LabelsDirectory
	return byName, plan.Close()
}

// byDirectory is the plan of archives with the labels that their directories give, where numbers are those of the parts cls; nil: they lie in none.
func byDirectory(ctx context.Context, one *spec.Spec, numbers source.Source) (*engine.Plan, error) {
	src := &one.Source
	if len(src.Shards) == 0 || src.IsParquet() || src.ByMember != "" || src.Label != "" && src.Label != "cls" || numbers.Label(0) < 0 {
		return nil, nil
	}
	named := *one
	named.Rings, named.Source.ByMember, named.Source.Label = nil, spec.LabelsDirectory, ""
	plan, err := engine.OpenPlan(ctx, &named)
	if err != nil {
		return nil, ctx.Err()
	}
	return plan, nil
}

// differing is the first sample with another label; false: there is none.
func differing(a, b source.Source) (int64, bool) {
	for i := range a.Len() {
		if a.Label(i) != b.Label(i) {
			return i, true
		}
	}
	return 0, false
}

// config is what the flags say.
func (v *packing) config() (*pack.Config, error) {
	switch {
	case v.out == "":
		return nil, usage("pack: want --out, the archives' names with a number in them, such as --out /data/train-%%06d.tar")
	case v.samples < 0:
		return nil, usage("pack: --shard-samples %d, want 0 or more", v.samples)
	case v.resize < 0 || v.resize > maxSide:
		return nil, usage("pack: --resize %d, want 1 to %d, or 0 for pictures as they are", v.resize, maxSide)
	case v.quality < 1 || v.quality > 100:
		return nil, usage("pack: --quality %d, want 1 to 100", v.quality)
	case v.given("quality") && v.resize == 0:
		return nil, usage("pack: --quality goes with --resize; without it pictures are copied as they are")
	}
	size, ok := spec.ParseSize(v.bytes)
	if !ok {
		return nil, usage("pack: --shard-bytes %q, want a size such as 256MiB", v.bytes)
	}
	if !strings.ContainsRune(v.out, '%') && !v.given("shard-bytes") {
		size = 0
	}
	return &pack.Config{Out: v.out, MaxBytes: size, MaxSamples: v.samples, Keys: v.keys, SkipBad: v.skip, Beside: v.beside, Told: v.tell}, nil
}

const (
	maxSide       = 16384 // as of image.transform[].resize
	videosAtATime = 4     // in memory, each of up to source.DefaultMaxFileBytes
)

// describes fills in what the description says.
func (v *packing) describes(c *pack.Config) error {
	if v.one.Source.Packing != nil {
		return usage("pack: source.packing makes rows of documents when they are read, so there is nothing to write; leave it out, and say max_length of source.columns, to write the documents")
	}
	media := v.one.Media()
	if k := slices.IndexFunc(media, func(m spec.Medium) bool { return m.Image != nil && m.Image.Many != nil }); k >= 0 {
		return usage("pack: %s.many: samples of several pictures are not written; leave it out to write the first of each, with from that names it, or write KEY.0.jpg, KEY.1.jpg with WebDataset's or tar's own means", media[k].Path())
	}
	if slices.ContainsFunc(media, func(m spec.Medium) bool { return m.Video != nil }) {
		c.Workers = videosAtATime
	}
	if v.resize > 0 {
		var image *spec.Image
		if len(media) == 1 {
			image = media[0].Image
		}
		if image == nil || image.Mode == spec.Index {
			return usage("pack: --resize is for samples of one picture: others would no longer fit beside it, and masks are no JPEGs")
		}
		c.Smaller = &pack.Smaller{Side: v.resize, Quality: v.quality, Gray: image.Mode != spec.RGB, Orient: image.Orient}
	}
	src := &v.one.Source
	if len(src.Mix) > 0 {
		src = &src.Mix[0].Source
	}
	if src.Host.Samples > 0 {
		return usage("pack: the samples of source.host are brought by a program, and there is none here; have it write them into files")
	}
	files := src.IsTable() || src.IsParquet() // whose parts have names of columns, and endings of their own
	taken := map[string]bool{"cls": true, "key.txt": true}
	for i, w := range v.one.Parts(src) {
		part := pack.Part{}
		switch {
		case len(w.From) == 1 && !files && src.Arrays == nil && !taken[w.From[0]] && !strings.ContainsAny(w.From[0], "{}/"): // twice where two fields are of it; a feature's name, and a template of keys, are no ending
			part.Ending = w.From[0]
		case i > 0:
			part.Prefix = w.Name + "."
		}
		taken[part.Ending] = true
		c.Parts = append(c.Parts, part)
	}
	if c.Smaller != nil {
		taken["jpg"] = true // whatever the picture was
	}
	for i := range v.one.Source.Columns {
		v.endings = append(v.endings, columnEnding(&v.one.Source.Columns[i], files || src.Arrays != nil, taken))
	}
	c.Columns = v.endings
	return nil
}

// columnEnding is what a column's members end in: the part that it is of, where that is an ending, or else its name and what it is.
func columnEnding(c *spec.Column, files bool, taken map[string]bool) string {
	ending := cmp.Or(c.From, c.Name)
	kind := ".txt"
	if c.Type == spec.TypeNPY || c.Type == spec.TypeList {
		kind = ".npy"
	}
	if files || taken[ending] || c.Type == spec.TypeList || strings.ContainsAny(ending, "[]{}/ ") {
		ending = strings.ToLower(c.Name) + kind
	}
	for n := 2; taken[ending]; n++ {
		ending = fmt.Sprintf("%s-%d%s", strings.ToLower(c.Name), n, kind)
	}
	taken[ending] = true
	return ending
}

// firstEpoch are the samples of an order's first epoch.
func firstEpoch(o *sampler.Order) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		var rows []int64
		for step := range o.StepsPerEpoch() {
			rows, _ = o.Rows(0, step, 0, rows[:0])
			for _, i := range rows {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// tell shows how far it has come.
func (v *packing) tell(r *pack.Report) {
	if now := time.Now(); now.Sub(v.told) >= openingLine {
		v.told = now
		v.status("%s into %s, %s/s%s", counted(r.Samples, "sample"), counted(len(r.Shards)+1, "shard"), thousands(int64(float64(r.Samples)/now.Sub(v.began).Seconds())), badText(r))
	}
}

func badText(r *pack.Report) string {
	if r.Bad == 0 {
		return ""
	}
	return fmt.Sprintf(", %s left out", thousands(r.Bad))
}

// unfinished says beside what went wrong what is there.
func (v *packing) unfinished(r *pack.Report, err error) error {
	if r != nil && len(r.Shards) > 0 {
		err = fmt.Errorf("%w; %s %s whole, remove them before you begin again", err, counted(len(r.Shards), "shard"), areIs(int64(len(r.Shards))))
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return missing(v.one, err)
}

func (v *packing) print(r *pack.Report) error {
	if v.asJSON {
		w := json.NewEncoder(v.app.out)
		w.SetIndent("", "  ")
		return w.Encode(struct {
			*pack.Report
			Source map[string]any `json:"source"`
		}{r, v.source(r)})
	}
	for _, example := range r.Examples {
		fmt.Fprintf(v.err, "pack: left out: %s\n", example)
	}
	resized := ""
	if r.Shrunk > 0 {
		resized = fmt.Sprintf(", %s resized", counted(r.Shrunk, "picture"))
	}
	fmt.Fprintf(v.app.out, "# %s in %s, %s%s%s, in %.1f s; to read them:\n", counted(r.Samples, "sample"), counted(len(r.Shards), "shard"), bytesText(r.Bytes), resized, badText(r), time.Since(v.began).Seconds())
	if len(r.Absent) > 0 {
		fmt.Fprintf(v.app.out, "# no sample is of %s: labels are the numbers in the parts cls, and nothing names the classes\n", absentText(r.Absent))
	}
	if r.Unnamed {
		fmt.Fprintf(v.app.out, "# the classes are not in their names' order, or have names that no directory has: labels are the numbers in the parts cls, and nothing names the classes\n")
	}
	for _, section := range v.sections(r) {
		fmt.Fprintf(v.app.out, "%s: %s\n", section.name, section.text)
	}
	return nil
}

// absentText names classes, a few of many.
func absentText(classes []string) string {
	const shown = 5
	names := make([]string, 0, shown)
	for _, class := range classes[:min(len(classes), shown)] {
		names = append(names, fmt.Sprintf("%q", class))
	}
	text := "class " + strings.Join(names, ", ")
	if more := len(classes) - shown; more > 0 {
		text += fmt.Sprintf(" and %s more", thousands(int64(more)))
	}
	return text
}

// A section of a description as JSON, which is YAML, too.
type section struct {
	name string
	text json.RawMessage
}

// sections are what a description needs to read the shards: where they are, and which parts of theirs media are where that does not show.
func (v *packing) sections(r *pack.Report) []section {
	all := []section{{"source", jsonOf(v.source(r))}}
	media := v.one.Media()
	for i, part := range v.one.PartOf() {
		if m := &media[i]; len(media) > 1 || !shows(m, r.Endings[part]) || slices.ContainsFunc(v.endings, isMedia) {
			all = append(all, section{m.Path(), jsonOf(map[string]any{"from": r.Endings[part]})})
		}
	}
	return all
}

// shows says that parts of these endings are a medium's without a word.
func shows(m *spec.Medium, endings []string) bool {
	return !slices.ContainsFunc(endings, func(ending string) bool {
		if m.Image != nil {
			return !slices.Contains(source.ImageExtensions, ending)
		}
		kind, known := spec.MediaOf("." + ending)
		return strings.ContainsRune(ending, '.') || !known || (kind == spec.Videos) != (m.Video != nil)
	})
}

// isMedia says that a column's part could be taken for a picture, a sound or a video.
func isMedia(ending string) bool {
	_, known := spec.MediaOf("." + ending)
	return known || slices.Contains(source.ImageExtensions, ending)
}

func jsonOf(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of texts, numbers and lists of them
	}
	return text
}

// source is that section.
func (v *packing) source(r *pack.Report) map[string]any {
	src := map[string]any{"shards": v.shards(r)}
	if r.ByClass {
		src["labels"] = spec.LabelsDirectory
	}
	if v.beside {
		src["index"] = spec.IndexBeside
	}
	var columns []map[string]any
	for i := range v.one.Source.Columns {
		c := &v.one.Source.Columns[i]
		one := map[string]any{"name": c.Name, "from": v.endings[i], "type": c.Type}
		switch {
		case c.Type == spec.TypeText:
			one["max_bytes"] = c.MaxBytes
		case c.MaxLength > 0:
			one["shape"], one["max_length"] = append([]int64{-1}, c.Shape...), c.MaxLength
		}
		if c.Type == spec.TypeList {
			one["type"] = spec.TypeNPY
		}
		if c.Padded {
			one["padded"] = true
		}
		columns = append(columns, one)
	}
	if columns != nil {
		src["columns"] = columns
	}
	return src
}

// shards names them as a description does: by a range, or by two where numbers with zeros before them have become longer; one by one where
// the rest of the name would be taken for a pattern.
func (v *packing) shards(r *pack.Report) any {
	dir, err := filepath.Abs(filepath.Dir(v.out))
	if err != nil {
		dir = filepath.Dir(v.out)
	}
	join := func(name string) string { return filepath.Join(dir, name) }
	if at := strings.LastIndexByte(v.out, '/'); store.IsURL(v.out) {
		join = func(name string) string { return v.out[:at+1] + name }
	}
	before, after := pack.Around(filepath.Base(v.out))
	var names []string
	if strings.ContainsAny(join(before+after), "*?[]{}") {
		for _, shard := range r.Shards {
			names = append(names, join(filepath.Base(shard)))
		}
	} else {
		number := func(shard string) string {
			return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(shard), before), after)
		}
		for rest := r.Shards; len(rest) > 0; {
			first := number(rest[0])
			n := len(rest)
			if len(first) > 1 && first[0] == '0' {
				n, _ = slices.BinarySearchFunc(rest, len(first)+1, func(shard string, digits int) int { return len(number(shard)) - digits })
			}
			last := number(rest[n-1])
			if rest = rest[n:]; first != last {
				first = "{" + first + ".." + last + "}"
			}
			names = append(names, join(before+first+after))
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return names
}
