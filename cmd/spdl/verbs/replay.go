package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// replaying is one run of replay.
type replaying struct {
	*app
	description
	state, raw, file string
	journal          string
	asJSON           bool
}

func (a *app) replay() *cobra.Command {
	v := &replaying{app: a}
	c := &cobra.Command{
		Use:   "replay SPEC|FOLDER|SHARDS STEP",
		Short: "Make any batch again, bit for bit",
		Long: `Replay decodes the one batch that a rank gets at a global step (counted from the start of training, as a batch's own step is) and
prints what was in it: its samples, and the hash that ring.hash: xxh3 gives a delivered batch. With the same description, data and seed the
bytes are those that were delivered, augmentation included, whatever the world size, the number of threads and the machine were.

What depended on time is repeated where the engine kept a journal (--journal, or the description's): the samples that could not be read
then are bad again. Without one a sample that could not be read then may be there now.`,
		Example: `  spdl replay imagenet.yaml 12345
  spdl replay imagenet.yaml 12345 --rank 3 --out step.png
  spdl replay imagenet.yaml 12345 --raw step.npz
  spdl replay imagenet.yaml 12345 --state checkpoint.json --json --raw step.bin`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if step := "-" + unknown.GetSpecifiedShortnames(); strings.Trim(step, "-0123456789.") == "" && len(step) > 1 {
				return noStep(step)
			}
		}
		return flagError(c, err)
	})
	v.addFlags(c)
	f := c.Flags()
	f.StringVar(&v.ring, "ring", "", "of a description with several rings: the one to replay (default: the first)")
	f.StringVar(&v.state, "state", "", "a saved state (file or JSON) that must fit the description")
	f.StringVar(&v.journal, "journal", "", "the journal of the engine that delivered the batch (default: the description's)")
	f.StringVar(&v.raw, "raw", "", "write the rows' bytes to this file; where it ends in .npz every field, as arrays that numpy.load reads")
	f.StringVarP(&v.file, "out", "o", "", "draw the batch into this file, .png or .jpg")
	f.BoolVar(&v.asJSON, "json", false, "print JSON")
	return c
}

// noStep refuses a text that is no step, also where it looks like a flag.
func noStep(text string) error { return usage("replay: step %q, want a whole number from 0", text) }

func (v *replaying) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return usage("replay: nothing to read; want a description and a step")
	}
	if len(args) == 1 && !v.given("spec-json") {
		return usage("replay: got %q alone, want a description (YAML or JSON), a folder of media or shards, and a step", args[0])
	}
	step, err := strconv.ParseInt(args[len(args)-1], 10, 64)
	if err != nil || step < 0 {
		return noStep(args[len(args)-1])
	}
	if v.file == "-" || v.raw == "-" {
		return usage("replay: --out and --raw want a file; standard output has the report")
	}
	if err := drawable("replay", v.file); err != nil {
		return err
	}
	if err := reachable("replay", "raw", v.raw); err != nil {
		return err
	}
	s, err := v.read(ctx, "replay", args[:len(args)-1])
	if err != nil {
		return err
	}
	one := s.All()[0]
	if err := v.fits(ctx, s, one, step); err != nil {
		return err
	}
	one.Ring.Hash = spec.XXH3
	inOrder(one)
	faults, err := faultsOf("replay", one, v.journal, s.Journal)
	if err != nil {
		return err
	}
	l, err := v.openAt(ctx, one, step, faults, 1)
	if err != nil {
		return err
	}
	defer l.Close()
	batch, err := l.reader.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = batch.Release() }()
	return v.show(l, batch, one.World.Rank)
}

// faultsOf reads which samples a journal's engine could not read in time; without a journal there are none. One that the command line
// names must be there, one of the description is not before its engine was.
func faultsOf(verb string, one *spec.Spec, given, described string) (*engine.Faults, error) {
	journal := cmp.Or(given, described)
	if journal == "" {
		return nil, nil
	}
	st, err := os.Stat(journal)
	if err == nil && st.IsDir() {
		return nil, usage("%s: journal %q is a directory, want the file that spdl serve --journal keeps", verb, journal)
	}
	faults := engine.FaultsPath(journal)
	_, missing := os.Stat(faults)
	switch {
	case given != "" && err != nil && missing != nil:
		return nil, fmt.Errorf("%s: --journal %q: %w; name the file that spdl serve --journal keeps, or leave it out to go without", verb, journal, unwrapPath(err))
	case err == nil && missing != nil: // every engine with a journal makes both: it is another file, or a copy of one alone
		return nil, fmt.Errorf("%s: journal %q: %q, where its engine keeps which samples could not be read, is not beside it: %w; name the file that spdl serve --journal keeps, and copy both",
			verb, journal, faults, unwrapPath(missing))
	}
	return engine.ReadFaults(journal, one.RingName)
}

// fits refuses a step that the description does not have, and a state of another.
func (v *replaying) fits(ctx context.Context, s, one *spec.Spec, step int64) error {
	plan, err := engine.OpenPlan(ctx, s)
	if err != nil {
		return missing(s, err)
	}
	defer plan.Close()
	order, err := plan.Order(one.World.Size)
	if err != nil {
		return err
	}
	if err := hasStep(one.Order.Epochs, order.StepsPerEpoch(), step); err != nil {
		return err
	}
	state, err := savedState("replay", v.state)
	if err != nil || state == nil {
		return err
	}
	return plan.Check(state)
}

// maxSteps is how far a sampler counts.
const maxSteps = 1 << 61

// hasStep refuses a step behind the last one of so many epochs; 0 epochs are endless.
func hasStep(epochs, steps, step int64) error {
	switch {
	case epochs > 0 && epochs <= maxSteps/steps && step >= epochs*steps:
		return usage("replay: step %d, want 0 to %d: %s of %s", step, epochs*steps-1, counted(epochs, "epoch"), counted(steps, "step"))
	case step >= maxSteps:
		return usage("replay: step %d, want 0 to %d: steps are counted so far, also of endless epochs of %s", step, int64(maxSteps-1), counted(steps, "step"))
	}
	return nil
}

// replayed is what --json prints.
type replayed struct {
	Ring  string  `json:"ring"`
	Epoch uint64  `json:"epoch"`
	Step  uint64  `json:"step"`
	Rank  int     `json:"rank"`
	Rows  int     `json:"rows"`
	Bad   int     `json:"n_bad"`
	Hash  string  `json:"hash"`
	Index []int64 `json:"index"`
}

func (v *replaying) show(l *local, batch *shm.Lease, rank int) error {
	schema := l.reader.Schema()
	c := columnsOf(schema)
	rows := rowsOf(batch, batch.Rows, c)
	about := replayed{
		Ring: nameText(l.reader.Header().Name[:]), Epoch: batch.Epoch, Step: batch.Step, Rank: rank, Rows: batch.Rows, Bad: batch.NBad,
		Hash: fmt.Sprintf("%016x", batch.Hash), Index: []int64{},
	}
	for _, r := range rows {
		about.Index = append(about.Index, r.index)
	}
	if v.raw != "" {
		if err := v.store("replay", "raw", v.raw, func(w io.Writer) error { return v.write(w, batch, schema, c) }); err != nil {
			return err
		}
	}
	if v.file != "" {
		r, err := renderingOf(about.Ring, schema, l.reader.Text())
		if err != nil {
			return err
		}
		page, _, err := r.draw(batch, &batch.Batch, len(rows), 0)
		if err != nil {
			return err
		}
		if err := v.storePicture("replay", v.file, page); err != nil {
			return err
		}
	}
	if v.asJSON {
		return json.NewEncoder(v.out).Encode(about)
	}
	fmt.Fprintf(v.out, "%s: step %d (epoch %d), rank %d: %s, %d bad, hash %s\n", about.Ring, about.Step, about.Epoch, about.Rank, counted(about.Rows, "row"), about.Bad, about.Hash)
	v.table(rows, factsOf(l.reader.Text()))
	return nil
}

// write writes the batch as --raw asks: the samples' bytes alone, or every tensor in host memory as an array.
func (v *replaying) write(w io.Writer, batch *shm.Lease, schema []shm.TensorRecord, c columns) error {
	if !strings.EqualFold(filepath.Ext(v.raw), ".npz") {
		_, err := w.Write(batch.Tensor(max(c.sample(), 0)))
		return err
	}
	var all []array.Named
	for i := range schema {
		t := &schema[i]
		if t.Pool != 0 {
			continue
		}
		name, dtype := nameText(t.Name[:]), tensor.DType(t.DtypeCode)|tensor.DType(t.DtypeBits)<<8|tensor.DType(t.DtypeLanes)<<16
		one := array.Named{Name: name, DType: dtype, Shape: batch.Shape(i), Data: batch.Tensor(i)}
		if t.Kind == shm.Dense {
			one.Data = packed(one.Data, one.Shape, batch.Strides(i), int64(dtype.Bytes()))
		}
		all = append(all, one)
		if offsets := batch.Offsets(i); offsets != nil {
			bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 8*len(offsets))
			all = append(all, array.Named{Name: name + ".offsets", DType: tensor.I64, Shape: []int64{int64(len(offsets))}, Data: bytes})
		}
	}
	if err := array.WriteNPZ(w, all); err != nil {
		return fmt.Errorf("replay: --raw: %w", err)
	}
	return nil
}

// packed is a tensor's elements without the room between them: the rows of a padded one lie as far apart as the longest may be.
func packed(data []byte, shape, strides []int64, element int64) []byte {
	if len(shape) == 0 {
		return data[:element:element]
	}
	if step := elements(shape[1:]) * element; strides[0] == step && dense(shape[1:], strides[1:], element) {
		return data[:shape[0]*step]
	}
	var all []byte
	for i := range shape[0] {
		all = append(all, packed(data[i*strides[0]:], shape[1:], strides[1:], element)...)
	}
	return all
}

// dense says that nothing lies between the elements.
func dense(shape, strides []int64, element int64) bool {
	for i := range shape {
		if strides[i] != elements(shape[i+1:])*element {
			return false
		}
	}
	return true
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}
