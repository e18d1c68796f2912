package verbs

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"strings"
	"time"

	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// viewing is one run of view.
type viewing struct {
	*app
	description
	file          string
	columns, rows int
	skip          int64
	timeout       time.Duration
	own           bool // the ring is of an engine of ours
}

func (a *app) view() *cobra.Command {
	v := &viewing{app: a}
	c := &cobra.Command{
		Use:   "view NAME|SPEC|FOLDER|SHARDS",
		Short: "Draw a contact sheet of a batch, with its labels",
		Long: `View takes the next batch of a running ring (NAME or NAME/RING), or the first one of a description or folder that nobody
needs to serve, and draws its pictures with class and key below each, and with the boxes, points and masks that follow them; of a video a row of frames, of several pictures all in a row (8 at most), of a sound its waveform or its features. Floats are brought back to colours by the ring's own mean and
standard deviation. Rows that are masked, substituted or padded have a red frame and say so.

Of a running ring it reads as a consumer in a group of its own, with one lease: it sees batches that are published from then on,
holds none back for long, and takes nothing from others. While nobody reads, the engine keeps its batches for whoever attaches first;
view does not take them, and is refused: attach a consumer first, or view the description or the data set.`,
		Example: `  spdl view imagenet
  spdl view imagenet/val --out val.png
  spdl view /data/train --size 224 --seed 3`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	f := c.Flags()
	f.StringVar(&v.ring, "ring", "", "of a description with several rings: the one to show (default: the first)")
	f.StringVarP(&v.file, "out", "o", "", "the file to write, .png or .jpg; - is standard output, as PNG (default: NAME.png)")
	f.IntVar(&v.columns, "columns", 0, "pictures side by side (default: about a square)")
	f.IntVar(&v.rows, "rows", 400, "pictures at most")
	f.Int64Var(&v.skip, "skip", 0, "batches to pass over first")
	f.DurationVar(&v.timeout, "timeout", 30*time.Second, "how long to wait for a batch")
	return c
}

func (v *viewing) run(ctx context.Context, args []string) error {
	switch {
	case v.rows < 1:
		return usage("view: --rows %d, want 1 or more", v.rows)
	case v.columns < 0:
		return usage("view: --columns %d, want 1 or more, or 0 to have them chosen", v.columns)
	case v.skip < 0:
		return usage("view: --skip %d, want 0 or more", v.skip)
	case v.timeout <= 0:
		return usage("view: --timeout %v, want more than 0s", v.timeout)
	}
	if err := drawable("view", v.file); err != nil {
		return err
	}
	reader, done, err := v.reader(ctx, args)
	if err != nil {
		return err
	}
	defer done()
	r, err := renderingOf(nameText(reader.Header().Name[:]), reader.Schema(), reader.Text())
	if err != nil {
		return err
	}
	batch, err := v.next(ctx, reader)
	if err != nil {
		return err
	}
	if v.file == "" {
		v.file = strings.ReplaceAll(r.name, "/", "-") + ".png"
	}
	page, shown, err := r.draw(batch, &batch.Batch, min(batch.Rows, v.rows), v.columns)
	if err != nil {
		return err
	}
	if err := v.storePicture("view", v.file, page); err != nil {
		return err
	}
	if v.file != "-" {
		fmt.Fprintf(v.out, "%s: %s of batch %d (epoch %d, step %d) of %s\n", v.file, counted(shown, "sample"), batch.Ticket, batch.Epoch, batch.EpochStep, r.name)
	}
	return batch.Release()
}

// A rendering is how the batches of a ring become pictures again.
type rendering struct {
	name    string
	columns columns
	painter painter
	strips  bool // wide pictures, one below the other
	facts   facts
}

// A painter draws a sample of a batch.
type painter interface {
	// paint draws a row; nil where the batch's memory does not hold it.
	paint(l tensors, row int) *image.RGBA
	// about says what is drawn, for the heading.
	about() string
}

// renderingOf reads a ring's schema and its text for clients.
func renderingOf(name string, schema []shm.TensorRecord, text []byte) (*rendering, error) {
	r := &rendering{name: name, columns: columnsOf(schema), facts: factsOf(text)}
	told := r.facts.of(name)
	var all collage
	for _, m := range told.media() {
		p, err := painterOf(schema, &m, &r.facts)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if c := r.columns.image; len(all) == 0 && c >= 0 { // another producer's, who tells nothing
		p, err := picturesOf(schema, c, pictureFacts{})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	switch len(all) {
	case 0:
		if names := fieldsOf(schema); told.known() && len(names) > 0 {
			return nil, fmt.Errorf("view: ring %q has samples without pictures, videos and sounds, and what they have (%s) is not drawn; "+
				"spdl check shows types and shapes, and a program the values", r.name, strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("view: ring %q has no field of pictures, and tells of no videos and sounds; want one with axes NHWC or NCHW", r.name)
	case 1:
		r.painter, r.strips = all[0], !isPicture(all[0])
	default:
		r.painter, r.strips = all, true
	}
	return r, nil
}

func isPicture(p painter) bool {
	switch p.(type) {
	case *pixels, *sized, *files:
		return true
	}
	return false
}

// painterOf draws one medium of a ring's samples.
func painterOf(schema []shm.TensorRecord, m *mediumFacts, f *facts) (painter, error) {
	t := fieldNamed(schema, m.Name)
	if t < 0 || m.Image == nil && m.Video == nil && m.Audio == nil {
		return nil, &because{fmt.Errorf("view: field %q: the ring does not tell what it is, or has none of that name", m.Name), shm.ErrFormat}
	}
	if i := m.Image; i != nil && i.Patches == nil && (i.Shape != "" || i.Many == nil && i.Tiles == nil) {
		return pictureOf(schema, t, m, f)
	}
	length := fieldNamed(schema, m.lengths())
	if length < 0 || !wide(&schema[length]) {
		return nil, &because{fmt.Errorf("view: field %q: the ring has no field %q of lengths", m.Name, m.lengths()), shm.ErrFormat}
	}
	switch {
	case m.Video != nil:
		return filmOf(schema, t, length, f, m.Video, "frames")
	case m.Audio != nil:
		return waveOf(schema, t, length, f, m.Audio)
	case m.Image.Patches != nil:
		return patchesOf(schema, t, length, m)
	case m.Image.Tiles != nil:
		return mosaicOf(schema, t, length, f, m)
	}
	return filmOf(schema, t, length, f, m.Image.severally(m.Image.Many.Most), "pictures")
}

// pictureOf is painterOf of one picture a sample.
func pictureOf(schema []shm.TensorRecord, t int, m *mediumFacts, f *facts) (painter, error) {
	switch {
	case m.Image.Shape != "":
		p, err := sizedOf(schema, t, m, f)
		if err == nil {
			p.marks = marksOf(schema, m.Image, f)
		}
		return p, err
	case schema[t].Kind == shm.Ragged:
		return filesOf(schema, t, m)
	}
	p, err := picturesOf(schema, t, *m.Image)
	if err == nil {
		p.marks = marksOf(schema, m.Image, f)
	}
	return p, err
}

// picturesOf draws a dense field of pictures.
func picturesOf(schema []shm.TensorRecord, tensor int, told pictureFacts) (*pixels, error) {
	t := &schema[tensor]
	if t.Kind != shm.Dense || t.Ndim != 4 {
		return nil, &because{fmt.Errorf("view: field %q: want pictures of [N, H, W, C] or [N, C, H, W]", nameText(t.Name[:])), shm.ErrFormat}
	}
	p, err := pixelsOf(t, ints(t.Shape[1:4]), t.Axes == shm.AxesNCHW, told)
	if err == nil {
		p.tensor = tensor
	}
	return p, err
}

func ints(dims []int64) []int {
	all := make([]int, len(dims))
	for i, d := range dims {
		all[i] = int(d)
	}
	return all
}

// reader attaches to a running ring of that name, or else starts an engine for the description.
func (v *viewing) reader(ctx context.Context, args []string) (*shm.Reader, func(), error) {
	if len(args) == 1 && !v.given("spec-json") && !isPath(args[0]) {
		r, err := v.attach(ctx, args[0])
		if err == nil {
			return r, func() { _ = r.Close() }, nil
		}
		if !errors.Is(err, shm.ErrNotFound) {
			return nil, nil, err
		}
		if _, missing := os.Stat(args[0]); missing != nil {
			return nil, nil, fmt.Errorf("view: %q is no file or folder, and %w", args[0], otherRings(ctx, "view", args[0], err))
		}
	}
	s, err := v.read(ctx, "view", args)
	if err != nil {
		return nil, nil, err
	}
	inOrder(s)
	l, err := v.open(ctx, s, 1)
	if err != nil {
		return nil, nil, err
	}
	v.own = true
	return l.reader, l.Close, nil
}

// attach joins a running ring that others read, in a group of its own.
func (v *viewing) attach(ctx context.Context, name string) (r *shm.Reader, err error) {
	within := min(v.timeout, inspectTime)
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err = readByOthers(limited, name); err == nil {
		r, err = shm.Attach(limited, name, shm.AttachOptions{Group: fmt.Sprintf("view-%d", os.Getpid()), MaxLeases: 1, Client: "spdl view"})
	}
	return r, unanswered(ctx, "view", name, within, err)
}

// errUnread is the exit code's reason for a ring that nobody reads.
var errUnread = errors.New("nobody reads")

// readByOthers refuses a ring that nobody reads: all that is in it would be published to view's group, and the consumer that
// comes next would never see it.
func readByOthers(ctx context.Context, name string) error {
	snapshot, err := shm.Observe(ctx, name)
	if err != nil {
		return err
	}
	ring, err := snapshot.Report()
	if err != nil || ring.State != shm.StateName(shm.StateRunning) && ring.State != shm.StateName(shm.StateEnded) { // attach says what ended it
		return err
	}
	for _, g := range ring.Groups {
		if g.State == "active" && g.Kind == "consumer" {
			return nil
		}
	}
	return &because{fmt.Errorf("view: nobody reads from %q yet, and its batches are kept for whoever attaches first; attach a consumer, "+
		"or view the description or the data set", ring.Name), errUnread}
}

// isPath says that arg can only be files or a folder: write ./NAME for one that is called like a running ring.
func isPath(arg string) bool {
	for _, prefix := range []string{"/", "./", "../", "~"} {
		if strings.HasPrefix(arg, prefix) {
			return !strings.HasSuffix(arg, ".sock")
		}
	}
	return arg == "." || arg == ".." || strings.Count(arg, "/") > 1 || strings.ContainsAny(arg, "*?[{") // a pattern of shards
}

// next passes over what was asked for and takes the batch to show, across the ends of epochs.
func (v *viewing) next(ctx context.Context, r *shm.Reader) (*shm.Lease, error) {
	limited, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	left := v.skip
	for {
		batch, err := r.Acquire(limited)
		switch {
		case errors.Is(err, shm.EndEpoch):
			continue
		case errors.Is(err, shm.EndData):
			return nil, &because{v.ended(v.skip - left), shm.ErrNotFound}
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("view: no batch within %v; a ring rests while a group holds every batch, see spdl inspect %s", v.timeout, nameText(r.Header().Name[:]))
		case err != nil:
			return nil, err
		case left == 0:
			return batch, nil
		}
		left--
		if err := batch.Release(); err != nil {
			return nil, err
		}
	}
}

// ended says that there was no batch to show, after so many that were passed over.
func (v *viewing) ended(passed int64) error {
	if v.own {
		return fmt.Errorf("view: --skip %d, and the data end after %s; skip fewer, or raise --epochs", v.skip, counted(passed, "batch"))
	}
	return errors.New("view: the ring has come to the end of its epochs; view the description, or start the engine again")
}

// draw makes a sheet of the first n rows of a batch.
func (r *rendering) draw(l tensors, b *shm.Batch, n, columns int) (*image.RGBA, int, error) {
	rows, painter := rowsOf(l, n, r.columns), inBatch(r.painter, l)
	cells := make([]cell, len(rows))
	for i := range cells {
		m := painter.paint(l, i)
		if m == nil {
			return nil, 0, &because{fmt.Errorf("view: ring %q: row %d of %d lies outside the batch's memory", r.name, i, len(rows)), shm.ErrFormat}
		}
		cells[i] = cell{picture: m, asIs: r.strips, title: r.facts.class(rows[i].label), text: rows[i].key, warning: statusText(rows[i].status)}
		if cells[i].title == "" {
			cells[i].title = fmt.Sprintf("# %d", rows[i].index)
		}
	}
	if r.strips && columns == 0 {
		columns = 1
	}
	page, err := drawSheet(r.name, aboutBatch(b, len(cells), painter.about()), cells, columns)
	return page, len(cells), err
}

// aboutBatch is the line under a sheet's name; it shows so many of the batch's rows.
func aboutBatch(b *shm.Batch, shown int, rows string) string {
	count := counted(b.Rows, "row")
	if shown < b.Rows {
		count = fmt.Sprintf("%d of %s", shown, count)
	}
	about := fmt.Sprintf("batch %d · epoch %d, step %d · %s · %s", b.Ticket, b.Epoch, b.EpochStep, count, rows)
	if b.NBad > 0 {
		about += fmt.Sprintf(" · %d bad", b.NBad)
	}
	return about
}
