package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry/web"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// shownRows is how many rows of the first batch are listed.
const shownRows = 8

// checking is one run of check.
type checking struct {
	*app
	description
	batches int64
	shared  uint64 // bytes of /dev/shm that the rings take so far
}

func (a *app) check() *cobra.Command {
	v := &checking{app: a}
	c := &cobra.Command{
		Use:   "check SPEC|FOLDER|SHARDS",
		Short: "Validate a description, decode a batch and show what it is",
		Long: `Check reads a description or a folder as serve does, makes the ring in private memory, decodes the first batch and prints
what a consumer will see: fields, types, shapes, sizes, classes, steps per epoch, the first rows, and the samples that could not be
decoded. Of an order in buckets of similar length also the rows of each bucket's batches, and how much of batches is padding, with buckets and without;
of one in buckets of sizes how many pictures each has, and how much of them is cropped away;
of packed documents how many rows they make, and how full these are. Nothing is served.

What serve would refuse it refuses with the same words: a journal that does not fit, rings that have no room together. Names and ports that are in
use are no matter, as this description's own engine may have them.

The exit code is 0 when serve would work, also with bad samples that the policy allows; only of a device's upload it says that it was not tried.`,
		Example: `  spdl check imagenet.yaml
  spdl check /data/train --size 224
  spdl check imagenet.yaml --batches 0      # decode a whole epoch, to find every bad sample`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	c.Flags().StringVar(&v.ring, "ring", "", "of a description with several rings: check this one only")
	c.Flags().Int64Var(&v.batches, "batches", 1, "batches to decode, up to an epoch; 0: a whole epoch")
	return c
}

func (v *checking) run(ctx context.Context, args []string) error {
	s, err := v.read(ctx, "check", args)
	if err != nil {
		return err
	}
	if v.batches < 0 {
		return usage("check: --batches %d, want 1 or more, or 0 for a whole epoch", v.batches)
	}
	if err := v.mayListen(s.HTTP); err != nil {
		return err
	}
	asked := v.asked(s)
	inOrder(s)
	l, err := v.openWith(ctx, s, engine.Options{Trial: true}, 1)
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range asked {
		if i > 0 {
			fmt.Fprintln(v.out)
			if err := l.turnTo(ctx, i, 1); err != nil {
				return err
			}
		}
		if err := v.checkRing(ctx, &asked[i], l, i); err != nil {
			return err
		}
	}
	return nil
}

// asked are the rings as they were described, before they are made ones to look at.
func (v *checking) asked(s *spec.Spec) (all []spec.Spec) {
	for _, r := range s.All() {
		all = append(all, *r)
		r.Order.Epochs = 1 // so that what is read ahead is not counted twice
	}
	return all
}

// mayListen refuses an address for the page that this machine does not have. One that is in use is so by an engine of this description, perhaps.
func (v *checking) mayListen(address string) error {
	if address == "" {
		return nil
	}
	if err := web.Try(address); err != nil && !errors.Is(err, unix.EADDRINUSE) {
		return &because{fmt.Errorf("check: %w", err), listenKind(err)}
	}
	return nil
}

// checkRing looks at one ring of the engine.
func (v *checking) checkRing(ctx context.Context, asked *spec.Spec, l *local, ring int) error {
	about := l.engine.Facts()[ring]
	v.describe(asked, &about)
	if err := v.lengths(l.engine, ring, asked); err != nil {
		return err
	}
	v.shapes(l.engine.Shapes(ring), asked)
	v.groups(l.engine.Groups(ring), asked)
	v.packing(l.engine.Packing(ring), asked)
	v.schema(l.reader.Schema(), asked)
	short := v.room(l, ring, asked.Ring.Backing)
	decoded, err := v.decode(ctx, l, ring)
	if err != nil {
		return errors.Join(err, short)
	}
	bad := l.engine.Stats().Rings[ring].Bad
	v.advise(asked, &about, bad, decoded)
	if err := v.nameClasses(ctx, asked, l.engine.Source(ring)); err != nil {
		return errors.Join(err, short)
	}
	if bad.Total == 0 && short == nil {
		fmt.Fprintln(v.out, "  ok")
	}
	return short
}

// decode takes as many batches as were asked for, up to an epoch, shows the first one and returns how many there were.
func (v *checking) decode(ctx context.Context, l *local, ring int) (decoded int64, err error) {
	for v.batches == 0 || decoded < v.batches {
		batch, err := l.reader.Acquire(ctx)
		if errors.Is(err, shm.EndEpoch) || errors.Is(err, shm.EndData) {
			break
		}
		if err != nil {
			return decoded, err
		}
		if decoded == 0 {
			v.rows(batch, columnsOf(l.reader.Schema()), factsOf(l.reader.Text()), l.engine.Stats().Rings[ring].First)
		}
		decoded++
		if err := batch.Release(); err != nil {
			return decoded, err
		}
	}
	return decoded, nil
}

// describe says where samples come from and in what order.
func (v *checking) describe(r *spec.Spec, about *engine.Facts) {
	from := "folder " + store.Shown(r.Source.Folder)
	if r.Source.List != "" {
		from = "list " + store.Shown(r.Source.List)
	} else if files := r.Source.Files(); len(files) > 0 {
		var shown []string
		for _, file := range files {
			shown = append(shown, store.Shown(file)+formatText(file))
		}
		from = "shards " + strings.Join(shown, ", ")
		if r.Source.Arrays != nil {
			from = "arrays " + strings.Join(shown, ", ")
		}
	} else if r.Source.Mix != nil {
		from = "mixture of " + counted(len(r.Source.Mix), "data set")
	}
	fmt.Fprintf(v.out, "%s: the description is valid\n", r.FullName())
	fmt.Fprintf(v.out, "  source   %s: %s, %s\n", from, counted(about.Samples, "sample"), classesText(about.Classes))
	order := "in the order of the files"
	if r.Order.Shuffle {
		order = fmt.Sprintf("shuffled, seed %d", r.Order.Seed)
	}
	epochs := "endless"
	if r.Order.Epochs > 0 {
		epochs = counted(r.Order.Epochs, "epoch")
	}
	fmt.Fprintf(v.out, "  order    %s, %s; %s an epoch, last: %s\n", order, epochs, counted(about.StepsPerEpoch, "step"), r.Order.Last)
	most := ""
	if r.Order.Buckets.MaxTotal > 0 {
		most = "at most "
	}
	fmt.Fprintf(v.out, "  batch    %s%s a rank, %s a step (world size %d)\n", most, counted(r.Batch, "row"), counted(about.GlobalBatch, "row"), r.World.Size)
	for _, g := range r.Ring.Groups {
		fmt.Fprintf(v.out, "  group    %s: %s, %d expected, slow: %s\n", g.Name, g.Mode, g.Lanes, g.Slow)
	}
}

// formatText names the format of a directory of shards, whose names do not.
func formatText(path string) string {
	if format := source.CatalogueFormat(path); format != "" && !store.IsURL(path) {
		return " (" + format + ")"
	}
	return ""
}

// shownBuckets is how many buckets are listed.
const shownBuckets = 32

// lengths says how many rows the batches of each bucket have, and how much of batches is padding, with buckets and without.
func (v *checking) lengths(e *engine.Engine, ring int, r *spec.Spec) error {
	report, err := e.Lengths(ring)
	if report == nil || err != nil {
		return err
	}
	if report.Buckets != nil {
		v.buckets(report.Buckets, r)
	}
	of := ""
	if !report.Whole {
		of = fmt.Sprintf(" (of %s of the first epoch)", counted(report.Rows, "row"))
	}
	fmt.Fprintf(v.out, "  padding  %.1f %% of rows x longest, up to %s in a batch; shuffled without buckets, %s a batch: %.1f %%, up to %s%s\n",
		100*report.Ordered.Share, lengthText(report.Ordered.Largest), counted(r.Batch, "row"), 100*report.Shuffled.Share, lengthText(report.Shuffled.Largest), of)
	return nil
}

// packing says how many rows documents make, how full they are, and how full rows of a document each would be.
func (v *checking) packing(p *engine.PackingReport, r *spec.Spec) {
	if p == nil {
		return
	}
	besides := ""
	if p.Long > 0 && r.Source.Packing.Long != "" {
		besides += fmt.Sprintf("; %s longer than a row: %s", thousands(p.Long), r.Source.Packing.Long)
	}
	if p.Empty > 0 {
		besides += fmt.Sprintf("; %s of length 0, which are in no row", thousands(p.Empty))
	}
	fmt.Fprintf(v.out, "  packing  %s in %s of %s%s\n", counted(p.Documents, "document"), counted(p.Rows, "row"), thousands(p.Length), besides)
	fmt.Fprintf(v.out, "  padding  %.1f %% of the rows; a document a row: %.1f %%, as long as the longest of %d: %.1f %%\n", 100*p.Padding, 100*p.Unpacked, r.Batch, 100*p.Longest)
}

// buckets lists those that have samples.
func (v *checking) buckets(all []sampler.Bucket, r *spec.Spec) {
	all = slices.DeleteFunc(slices.Clone(all), func(b sampler.Bucket) bool { return b.Samples == 0 })
	fmt.Fprintf(v.out, "  buckets  %d by %s, at most %s of rows x longest in a batch\n", len(all), printable(r.Order.Buckets.By), lengthText(r.Order.Buckets.MaxTotal))
	w := tabwriter.NewWriter(v.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "           samples\tfrom\tto\trows a batch\t\n")
	for _, b := range all[:min(len(all), shownBuckets)] {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t\n", thousands(b.Samples), lengthText(b.Shortest), lengthText(b.Longest), b.Rows/int64(r.World.Size))
	}
	_ = w.Flush()
	if more := len(all) - shownBuckets; more > 0 {
		fmt.Fprintf(v.out, "           ... and %d more\n", more)
	}
}

// shapes lists the buckets of sizes, with how many pictures each has, the rows of its batches, and how much of its pictures is cropped away.
func (v *checking) shapes(report *engine.ShapeReport, r *spec.Spec) {
	if report == nil {
		return
	}
	fmt.Fprintf(v.out, "  buckets  %s, by %s\n", counted(len(report.Buckets), "size"), printable(report.From))
	w := tabwriter.NewWriter(v.out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "          height\twidth\tsamples\trows a batch\tcropped\t\n")
	empty, missed := 0, int64(0)
	for i := range report.Buckets {
		b := &report.Buckets[i]
		if b.Samples == 0 {
			empty++
			continue
		}
		if b.Samples*r.Order.Repeat < b.Rows {
			missed += b.Samples
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%.1f %%\t\n", b.Size.Height, b.Size.Width, thousands(b.Samples), b.Rows/int64(r.World.Size), 100*b.Cut)
	}
	_ = w.Flush()
	if empty > 0 {
		fmt.Fprintf(v.out, "           and %s without a picture\n", counted(empty, "size"))
	}
	fmt.Fprintf(v.out, "  cropped  %.1f %% of a picture in the mean\n", 100*report.Cut)
	if report.None > 0 {
		fmt.Fprintf(v.out, "  unread   %s of which nothing tells the size, in the first bucket\n", counted(report.None, "picture"))
	}
	if missed > 0 && r.Order.Last == spec.LastDrop {
		fmt.Fprintf(v.out, "  dropped  %s of buckets that have less than a step: last: drop leaves them out of every epoch\n", counted(missed, "sample"))
	}
}

// groups says how many groups there are, how large they are, and what becomes of what each has left over.
func (v *checking) groups(report *engine.GroupReport, r *spec.Spec) {
	if report == nil {
		return
	}
	of := counted(slices.Max(report.Samples), "sample")
	if least := slices.Min(report.Samples); least < slices.Max(report.Samples) {
		of = fmt.Sprintf("%s to %s", thousands(least), of)
	}
	fmt.Fprintf(v.out, "  grouped  by %s, %s of %s", printable(r.Order.Group), counted(len(report.Samples), "group"), of)
	if short := counted(report.Short, "step"); report.Short > 0 {
		fmt.Fprintf(v.out, "; left over: %s, %s", short, map[string]string{spec.LastCover: "short", spec.LastDrop: "dropped", spec.LastPad: "filled up"}[r.Order.Last])
	}
	fmt.Fprintln(v.out)
}

// lengthText is a length, which may be a count or a time.
func lengthText(length float64) string {
	if length == math.Trunc(length) && length < 1<<53 {
		return thousands(int64(length))
	}
	return strconv.FormatFloat(length, 'f', 2, 64)
}

func classesText(classes []string) string {
	const shown = 8
	var names []string
	for _, class := range classes[:min(len(classes), shown)] {
		names = append(names, printable(class))
	}
	switch n := len(classes); {
	case n == 0:
		return "no class names"
	case n <= shown:
		return fmt.Sprintf("%s (%s)", counted(n, "class"), strings.Join(names, ", "))
	default:
		return fmt.Sprintf("%s (%s ...)", counted(n, "class"), strings.Join(names, ", "))
	}
}

// schema lists the fields of a batch.
func (v *checking) schema(schema []shm.TensorRecord, r *spec.Spec) {
	media := r.Media()
	w := tabwriter.NewWriter(v.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\n  field\ttype\tshape\tbytes a batch\n")
	for i := range schema {
		t := &schema[i]
		shape := strings.ReplaceAll(fmt.Sprint(t.Shape[:t.Ndim]), " ", ", ")
		if t.Kind == shm.Ragged {
			shape = fmt.Sprintf("ragged, at most %s in all", thousands(t.Shape[0]))
		} else if k := slices.IndexFunc(media, func(m spec.Medium) bool { return m.Name == nameText(t.Name[:]) }); k >= 0 {
			shape = varies(&media[k]) + shape
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", nameText(t.Name[:]), dtypeText(t), shape, thousands(t.Bytes+t.OffsetsBytes))
	}
	_ = w.Flush() // to memory or a terminal; a broken pipe ends the process anyway
}

// varies is what the capacity of a medium's rows has in front, where batches differ in shape.
func varies(m *spec.Medium) string {
	switch {
	case m.Image != nil && m.Image.Transform.Bucketed():
		return "its bucket's, at most "
	case m.Padded():
		return "padded, at most "
	}
	return ""
}

func dtypeText(t *shm.TensorRecord) string {
	kinds := map[uint8]string{0: "i", 1: "u", 2: "f", 4: "bf"}
	return fmt.Sprintf("%s%d", kinds[t.DtypeCode], t.DtypeBits)
}

// room compares the rings so far with what /dev/shm holds, which is where serve puts them unless told otherwise; an error where they do not fit.
func (v *checking) room(l *local, ring int, backing string) error {
	about := l.engine.Facts()[ring]
	info, slot := l.engine.Ring(ring).Info(), about.SlotBytes
	need := slot * uint64(info.Slots)
	fmt.Fprintf(v.out, "\n  ring     %d slots x %s = %s", info.Slots, bytesText(slot), bytesText(need))
	var st unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &st); err != nil || st.Blocks == 0 {
		fmt.Fprintln(v.out, "; /dev/shm: not to be asked")
		return nil
	}
	free := st.Bavail * uint64(st.Bsize)
	fmt.Fprintf(v.out, "; /dev/shm has %s free\n", bytesText(free))
	if backing == spec.Memfd {
		return nil
	}
	before := v.shared
	if v.shared += need; free > v.shared {
		return nil
	}
	advice, beside := "use a smaller batch", ""
	if before > 0 {
		beside = fmt.Sprintf(" beside %s of the rings before", bytesText(before))
	}
	if fits := min((free-min(free, before))/slot, math.MaxInt32); fits >= spec.MinSlots {
		advice = fmt.Sprintf("use at most %d slots", fits)
	}
	return &because{fmt.Errorf("check: ring %q: %s needed%s, %s free in /dev/shm: spdl serve would not start; %s, --backing memfd, or a larger /dev/shm (docker: --shm-size=%dm)",
		info.Name, bytesText(need), beside, bytesText(free), advice, v.shared>>20+64), shm.ErrNoSpace}
}

// rows shows the beginning of the first batch.
func (v *checking) rows(l *shm.Lease, c columns, f facts, first engine.FirstBatch) {
	fmt.Fprintf(v.out, "  batch 0  %s after %.0f ms (load %.0f, scan %.0f, reserve %.0f, fetch %.0f, decode %.0f)\n\n",
		counted(l.Rows, "row"), first.TotalMS, first.LoadMS, first.ScanMS, first.ReserveMS, first.FetchMS, first.DecodeMS)
	v.table(rowsOf(l, l.Rows, c), f)
}

// table lists the first rows of a batch.
func (a *app) table(rows []rowText, f facts) {
	w := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "  row\tindex\tlabel\tkey\n")
	for i, r := range rows[:min(len(rows), shownRows)] {
		label := "none"
		if r.label != noLabel {
			label = strconv.FormatInt(r.label, 10)
			if class := f.class(r.label); class != label { // which stands for itself where there are no names
				label += " " + printable(class)
			}
		}
		note := ""
		if s := statusText(r.status); s != "" {
			note = " (" + s + ")"
		}
		fmt.Fprintf(w, "  %d\t%d\t%s\t%s%s\n", i, r.index, label, printable(r.key), note)
	}
	_ = w.Flush()
	if more := len(rows) - shownRows; more > 0 {
		fmt.Fprintf(a.out, "  ... and %d more\n", more)
	}
}

// byCount are the causes, the most frequent first.
func byCount(n map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), strings.Compare(a, b)) })
}

// nameClasses says where the names of classes are that labels are the numbers of.
func (v *checking) nameClasses(ctx context.Context, r *spec.Spec, numbers source.Source) error {
	plan, err := byDirectory(ctx, r, numbers)
	if plan == nil || err != nil {
		return err
	}
	if _, differs := differing(plan.Source(), numbers); !differs {
		v.note("labels are the numbers in the parts cls; their names are those of the directories: with labels: directory below source it is %s", classesText(plan.Source().Classes()))
	}
	return plan.Close()
}

func (v *checking) note(format string, args ...any) {
	fmt.Fprintf(v.out, "  note     "+format+"\n", args...)
}

// noSplit says that a class is not called as a part of a data set is: train, val2017.
func noSplit(class string) bool {
	return !slices.Contains([]string{"train", "training", "val", "valid", "validation", "test", "testing", "dev"}, strings.ToLower(strings.TrimRight(class, "0123456789")))
}

// advise names what a user may want to change.
func (v *checking) advise(r *spec.Spec, about *engine.Facts, bad engine.BadStats, decoded int64) {
	note := v.note
	fmt.Fprintln(v.out)
	if bad.Total > 0 {
		var causes []string
		for _, cause := range byCount(bad.Causes) {
			causes = append(causes, fmt.Sprintf("%s %s", thousands(bad.Causes[cause]), cause))
		}
		last := ""
		if uint64(len(bad.Last)) < bad.Total {
			last = fmt.Sprintf("; the last %d", len(bad.Last))
		}
		note("%s so far (%s), policy %s%s:", counted(bad.Total, "bad sample"), strings.Join(causes, ", "), r.BadSample.Policy, last)
		for _, text := range bad.Last {
			fmt.Fprintf(v.out, "           %s\n", text)
		}
	}
	for _, text := range about.Notes {
		note("%s", text)
	}
	if decoded < v.batches {
		note("--batches asked for %s, and an epoch has %s: all of it was decoded", thousands(v.batches), counted(decoded, "batch"))
	}
	if r.Source.Folder != "" && r.Source.Labels == spec.LabelsDirectory && len(about.Classes) == 0 {
		note("no directories, so no labels: put the files of each class into a directory of its own, or say labels: none")
	}
	if r.Source.Folder != "" && len(about.Classes) > 0 && !slices.ContainsFunc(about.Classes, noSplit) {
		note("the classes are called as parts of a data set are; if that is what they are name one of them, such as %s/%s, so that the classes are the directories in it",
			strings.TrimSuffix(store.Shown(r.Source.Folder), "/"), about.Classes[0])
	}
	if mask, picture, op := r.Unfollowed(); op != "" {
		note("%s and %s differ in %s, so a mask does not lie on its picture: give both the same, or draw: own to one where that is meant", picture, mask, op)
	}
	if about.GlobalBatch > about.Samples {
		note("a step takes %s and there %s %s: every batch is short or padded; use a smaller batch",
			counted(about.GlobalBatch, "row"), areIs(about.Samples), counted(about.Samples, "sample"))
	}
	if r.Device.DecodesPictures() {
		note("serve has device %d decode JPEG files, so its slots have room for %s of a file in a row's place; pixels and fields shown here are the processor's",
			r.Device.CUDA, bytesText(uint64(r.Device.JPEGBytes)))
	} else if r.Device != nil {
		note("the upload to device %d is not tried here: spdl serve begins it", r.Device.CUDA)
	}
}
