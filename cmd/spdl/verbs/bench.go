package verbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// memoryEvery is how often memory is looked at, and progress shown.
const memoryEvery = 100 * time.Millisecond

// figures are what bench measures. Batches, samples, seconds and rates are of what came after the first batch; what came before it is
// First, and its rows are FirstSamples.
type figures struct {
	Ring         string            `json:"ring"`
	Batches      uint64            `json:"batches"`
	Samples      uint64            `json:"samples"`
	Seconds      float64           `json:"seconds"`
	SamplesPerS  float64           `json:"samples_per_s"`
	CPUSeconds   float64           `json:"cpu_s"`
	CPUPer1000   float64           `json:"cpu_s_per_1000"`
	CPUs         float64           `json:"cpus"`
	PeakAnon     uint64            `json:"peak_anon_bytes"` // memory of the process without ring and program files
	RingBytes    uint64            `json:"ring_bytes"`
	BadSamples   uint64            `json:"bad_samples"`
	First        engine.FirstBatch `json:"first_batch"`
	FirstSamples uint64            `json:"first_batch_samples"`
	Interrupted  bool              `json:"interrupted,omitempty"`
	begun        time.Time
	begunCPU     float64
	lastProgress time.Time
}

// benching is one run of bench.
type benching struct {
	*app
	description
	batches int64
	seconds float64
	json    bool
}

func (a *app) bench() *cobra.Command {
	v := &benching{app: a}
	c := &cobra.Command{
		Use:   "bench SPEC|FOLDER|SHARDS",
		Short: "Measure rate, CPU time, memory and the time to the first batch",
		Long: `Bench runs the engine in this process, in a ring of private memory, with a consumer that gives each batch back at once, for
--epochs epochs (1 if nothing is said), --batches batches or --seconds seconds, whichever comes first. Ctrl-C ends it with the figures
so far.

Batches, samples, seconds and rates are counted after the first batch; that one, and what comes before it, is listed by itself. CPU time is that of the whole process, peak memory
what it had of heap, stacks and buffers, without the ring and without program files, which other programs share. Declared groups are left out.`,
		Example: `  spdl bench imagenet.yaml
  spdl bench /data/train --size 224 --batch 64 --cpus 8 --seconds 30
  spdl bench imagenet.yaml --json >figures.json`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	f := c.Flags()
	f.Lookup("epochs").Usage = "epochs; 0: until --batches or --seconds (default 1)"
	f.StringVar(&v.ring, "ring", "", "of a description with several rings: the one to run (default: the first)")
	f.Int64Var(&v.batches, "batches", 0, "stop after so many batches; 0: do not")
	f.Float64Var(&v.seconds, "seconds", 0, "stop so long after the first batch; 0: do not")
	f.BoolVar(&v.json, "json", false, "print the figures as JSON")
	return c
}

func (v *benching) run(ctx context.Context, args []string) error {
	if v.batches < 0 || !(v.seconds >= 0) {
		return usage("bench: --batches %d, --seconds %g, want 0 (no limit) or more", v.batches, v.seconds)
	}
	s, err := v.read(ctx, "bench", args)
	if err != nil {
		return err
	}
	if s.Rings != nil {
		s.Rings = s.Rings[:1]
	}
	if first := s.All()[0]; !v.given("epochs") {
		first.Order.Epochs = 1
		if v.batches > 0 || v.seconds > 0 {
			first.Order.Epochs = 0
		}
	}
	if s.All()[0].Order.Epochs == 0 && v.batches == 0 && v.seconds == 0 {
		return usage("bench: --epochs 0 never ends; add --batches or --seconds")
	}
	l, err := v.open(ctx, s, 1)
	if err != nil {
		return err
	}
	defer l.Close()
	got, err := v.measure(ctx, l)
	if err != nil {
		return err
	}
	return v.print(got)
}

// measure takes batches until a limit, the end of the data or an interruption.
func (v *benching) measure(ctx context.Context, l *local) (*figures, error) {
	about, ring := l.engine.Facts()[0], l.engine.Ring(0).Info()
	got := &figures{Ring: about.Name, RingBytes: ring.DataBytes}
	memory := watchMemory()
	defer memory.stop()
	total := v.total(l.reader.Header(), &about)
	for !v.enough(got) {
		batch, err := l.reader.Acquire(ctx)
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		if errors.Is(err, shm.EndData) {
			break
		}
		if ctx.Err() != nil && got.any() {
			got.Interrupted = true
			break
		}
		if err != nil {
			return nil, err
		}
		if !got.any() {
			got.begun, got.begunCPU = time.Now(), telemetry.CPUSeconds() // its own rows belong to the time before
			got.First, got.FirstSamples = l.engine.Stats().Rings[0].First, uint64(batch.Rows)
		} else {
			got.Samples += uint64(batch.Rows)
			got.Batches++
		}
		if err := batch.Release(); err != nil {
			return nil, err
		}
		v.progress(got, total)
	}
	v.clearStatus()
	got.finish(l.engine.Stats(), memory.stop())
	return got, nil
}

// any says that there was a first batch.
func (f *figures) any() bool { return !f.begun.IsZero() }

// taken is how many batches came, the first one too.
func (f *figures) taken() uint64 {
	if !f.any() {
		return 0
	}
	return f.Batches + 1
}

// total is how many batches are to be expected; 0: nobody knows.
func (v *benching) total(h *shm.Header, about *engine.Facts) uint64 {
	all := uint64(about.StepsPerEpoch) * h.NEpochs
	if n := uint64(v.batches); n > 0 && (all == 0 || n < all) {
		return n
	}
	return all
}

func (v *benching) enough(got *figures) bool {
	if !got.any() {
		return false
	}
	return v.batches > 0 && got.taken() >= uint64(v.batches) || v.seconds > 0 && time.Since(got.begun).Seconds() >= v.seconds
}

func (f *figures) finish(s engine.Stats, peak uint64) {
	if !f.any() {
		return
	}
	f.Seconds, f.CPUSeconds = time.Since(f.begun).Seconds(), telemetry.CPUSeconds()-f.begunCPU
	f.CPUs, f.PeakAnon, f.BadSamples = s.CPUs, peak, s.Rings[0].Bad.Total
	if f.Samples > 0 && f.Seconds > 0 {
		f.SamplesPerS, f.CPUPer1000 = float64(f.Samples)/f.Seconds, f.CPUSeconds/float64(f.Samples)*1000
	}
}

// progress says how far it has come, now and then.
func (v *benching) progress(got *figures, total uint64) {
	if time.Since(got.lastProgress) < memoryEvery {
		return
	}
	got.lastProgress = time.Now()
	done := counted(got.taken(), "batch")
	if total > 0 {
		done = fmt.Sprintf("%s of %s (%d %%)", thousands(got.taken()), counted(total, "batch"), got.taken()*100/total)
	}
	v.status("%s, %s samples/s", done, rate(float64(got.Samples)/max(time.Since(got.begun).Seconds(), 1e-3)))
}

func (v *benching) print(f *figures) error {
	if v.json {
		w := json.NewEncoder(v.out)
		w.SetIndent("", "  ")
		return w.Encode(f)
	}
	if f.Interrupted {
		fmt.Fprintln(v.out, "interrupted; the figures so far:")
	}
	first := &f.First
	if f.Batches == 0 {
		fmt.Fprintf(v.out, "%s: no rates: they are counted after the first batch, and all there was is that one, of %s; use a smaller --batch, or more --epochs, --batches or --seconds\n",
			f.Ring, counted(f.FirstSamples, "sample"))
	} else {
		fmt.Fprintf(v.out, "%s: %s in %.2f s (%s after the first), %s\n", f.Ring, counted(f.Samples, "sample"), f.Seconds, counted(f.Batches, "batch"), cpusText(f.CPUs))
		fmt.Fprintf(v.out, "  samples/s         %s\n", rate(f.SamplesPerS))
		fmt.Fprintf(v.out, "  CPU s per 1,000   %.3f\n", f.CPUPer1000)
	}
	fmt.Fprintf(v.out, "  peak memory       %s, and %s of ring\n", bytesText(f.PeakAnon), bytesText(f.RingBytes))
	fmt.Fprintf(v.out, "  first batch       %.1f ms: load %.1f, scan %.1f, reserve %.1f, fetch %.1f, decode %.1f, publish %.1f\n",
		first.TotalMS, first.LoadMS, first.ScanMS, first.ReserveMS, first.FetchMS, first.DecodeMS, first.PublishMS)
	if f.BadSamples > 0 {
		fmt.Fprintf(v.out, "  bad samples       %s; spdl check names them\n", thousands(f.BadSamples))
	}
	return nil
}

// cpusText is a number of processors, which may be a share of one.
func cpusText(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return fmt.Sprintf("%.4g CPUs", n)
}

// memoryWatch remembers the most memory that the process held for itself.
type memoryWatch struct {
	ended chan struct{}
	peak  chan uint64
	most  uint64
	over  bool
}

func watchMemory() *memoryWatch {
	w := &memoryWatch{ended: make(chan struct{}), peak: make(chan uint64, 1)}
	go func() {
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		most := telemetry.ReadMemory().Anon
		for {
			select {
			case <-tick.C:
				most = max(most, telemetry.ReadMemory().Anon)
			case <-w.ended:
				w.peak <- max(most, telemetry.ReadMemory().Anon)
				return
			}
		}
	}()
	return w
}

// stop ends the watch and returns the peak, again and again.
func (w *memoryWatch) stop() uint64 {
	if !w.over {
		w.over = true
		close(w.ended)
		w.most = <-w.peak
	}
	return w.most
}
