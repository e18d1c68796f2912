package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/shm"
)

// Options are what the description does not say; nil is the default.
type Options struct {
	// Child: the engine serves the one process that started it; memfd backing and private access unless the description
	// says otherwise.
	Child bool
	// Parent is the process that a child serves, if it is another one: its death is no news to whoever waits for it.
	Parent int32
	// State is where to go on, of several rings the first, while the others begin; nil: from the start.
	State []byte
	// Step is the global step to begin with, of an engine without a State. Only for an engine with one ring.
	Step int64
	// Fresh: begin anew, whatever a dead engine or a journal left.
	Fresh bool
	// Journal is a file to keep the position in and to go on from; "": the description's.
	Journal string
	// Faults are those of an engine whose batches this one makes again: the same samples are bad again. nil: none. Only for an engine with
	// one ring.
	Faults *Faults
	// HostOnly: batches stay in host memory, whatever the description says of a device.
	HostOnly bool
	// Trial: the engine shows what one that serves would deliver from the beginning. New refuses what it would refuse of that one: a journal that
	// cannot be gone on with, slots of a device that have no room. The journal stays as it is.
	Trial bool
	// Feed is what the program around the engine brings the samples of source.host through, or the numbers of order.asked; nil: it brings none.
	Feed *source.Feed
	// Context ends the opening of the sources, which takes long where many indexes have to be made; nil: nothing does. New returns its error then.
	Context context.Context
	// Opened is told how many of a ring's shards are open, and of how many the index had to be made; nil: nobody. It must not block.
	Opened func(ring string, opened, of, built int)
	// Measured is told, by any goroutine, of how many samples the pictures' sizes are known, where an order by their shapes has to look at them; nil: nobody is.
	Measured func(ring string, done, of int64)
	// Log is where the engine writes what it has to say; nil: nowhere.
	Log *Log
	// Started is when the process began, for the time to the first batch; zero: now.
	Started time.Time

	samples func(*spec.Spec) (*samples, error) // of tests, in place of samplesOf
}

// Engine owns the rings of one description.
type Engine struct {
	spec      *spec.Spec
	log       *Log
	started   time.Time
	atStart   telemetry.Process
	began     time.Time
	reserved  time.Duration // spent making the rings
	scanned   time.Duration // spent finding the samples
	rings     []*ring
	cpus      *pipeline.Limiter
	aside     func(func()) // outOfTurn, made once
	may       allowance
	readAhead *pipeline.Bytes
	caches    map[string]*source.Cache // by directory
	feed      *source.Feed             // until a ring has it
	openCtx   context.Context          // ends with the opening of the sources
	opened    func(ring string, opened, of, built int)
	measured  func(ring string, done, of int64)

	stop     chan struct{}
	stopOnce sync.Once
	ending   chan struct{} // closed when Run's end has begun
	runCtx   context.Context
	endRun   context.CancelFunc
	child    bool       // it ends with its parent
	parent   int32      // of Options
	journal  *journal   // nil: none is kept
	faults   *faultFile // beside it; nil: none is kept
	retold   *Faults    // of Options
	served   bool       // Run was called
	closed   bool       // by Close
	quiet    quietStart

	fromFiles atomic.Uint64 // the most that Stats has said was read from files
}

// spareProcs is how many threads may run Go code beside those in a decoder. While a processor of Go's scheduler is idle, the
// scheduler leaves those of the decoding threads alone; without one it takes them away and back twice a millisecond.
const spareProcs = 2

// ErrDescription is what New's errors are where a description, right in itself, asks what its data set cannot give: an order by
// a column that it does not know, a filter that leaves nothing, rows kept in less memory than they take; or where world: auto cannot be told.
var ErrDescription = errors.New("the description does not fit the data set")

// describedWrongly is an error that is an ErrDescription; its text says enough.
type describedWrongly struct{ error }

func (describedWrongly) Is(target error) bool { return target == ErrDescription }
func (d describedWrongly) Unwrap() error      { return d.error }

// refuse is an error of a status, by which consumers, parents and exit codes know it, and of a cause, which may be nil. Its text says enough.
func refuse(status shm.Status, cause error, format string, args ...any) error {
	return &shm.Error{Status: status, Text: fmt.Sprintf(format, args...), Cause: cause}
}

// New opens the sources, checks that everything fits and makes the rings; nothing is decoded before Run. Nothing is
// left behind when it fails. It fits GOMAXPROCS to the description: the process is the engine's. In s, world: auto is
// replaced by what the environment says.
//
// Errors wrap source.ErrNoSamples, source.ErrLacking, sampler.ErrNoBatch, shm.ErrNameInUse, shm.ErrNoSpace, shm.ErrState, ErrDescription or name the field.
func New(s *spec.Spec, o *Options) (*Engine, error) {
	if o == nil {
		o = &Options{}
	}
	if err := s.ResolveWorld(os.Getenv); err != nil {
		return nil, describedWrongly{err}
	}
	e := &Engine{
		spec: s, child: o.Child, parent: o.Parent, log: o.Log, started: o.Started, began: time.Now(), stop: make(chan struct{}), ending: make(chan struct{}), caches: map[string]*source.Cache{},
		feed: o.Feed, retold: o.Faults, openCtx: o.Context, opened: o.Opened, measured: o.Measured,
	}
	e.atStart = telemetry.ReadCounters()
	if e.openCtx == nil {
		e.openCtx = context.Background()
	}
	if e.started.IsZero() {
		e.started = e.began
	}
	e.runCtx, e.endRun = context.WithCancel(context.Background())
	e.may = allow(&s.Limits, availableCPUs())
	e.cpus = pipeline.NewLimiter(e.may.decoders)
	e.aside = e.outOfTurn
	runtime.GOMAXPROCS(e.may.decoders + spareProcs)
	e.quiet.begin()
	e.readAhead = pipeline.NewBytes(s.Limits.ReadAheadBytes)
	if err := e.open(o); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) open(o *Options) error {
	all := e.spec.All()
	journalled, err := e.openJournal(o)
	if err != nil {
		return err
	}
	if o.Trial {
		defer func() { e.journal = nil }() // and nothing is kept
	}
	others := *o
	if o.State != nil {
		others.State, others.Fresh = nil, true
	}
	for _, s := range all {
		r, err := e.openRing(s, o, journalled[s.RingName])
		o = &others
		if r != nil {
			e.rings = append(e.rings, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Services is what a shm.Server serves: the rings, the first one being the default.
func (e *Engine) Services() []shm.Service {
	services := make([]shm.Service, len(e.rings))
	for i, r := range e.rings {
		services[i] = shm.Service{Ring: r.shm, Control: control{r: r, ctx: e.runCtx}}
	}
	return services
}

// Reserved waits until the rings have all of their memory, and returns why not: an error as New's. Decoding into the first
// slot does not wait for it; whoever serves the engine does before he lets consumers in.
func (e *Engine) Reserved() error {
	for _, r := range e.rings {
		if err := r.shm.Reserved(); err != nil {
			return err
		}
	}
	return nil
}

// Ring is one of the engine's rings in shared memory, in the order of the description.
func (e *Engine) Ring(i int) *shm.Ring { return e.rings[i].shm }

// Source is what ring i reads, for who looks at its keys and labels; it ends with the engine.
func (e *Engine) Source(i int) source.Source { return e.rings[i].source }

// Run decodes until ctx ends or Stop is called, and returns nil then; with a journal it has consumers get nothing more first, and gives
// them lastBatches for what they hold. A ring that comes to the end of its epochs
// or fails says so to its consumers; Run goes on for the others and for what is still leased, and returns the failures at
// the end. A service all of whose rings have failed ends by itself, once its consumers have left, or have had
// farewell to hear of it. Run runs once.
func (e *Engine) Run(ctx context.Context) (err error) {
	defer e.endRun()
	e.served = true
	ctx, cancel := context.WithCancel(ctx)
	over, told := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		e.beginEnd(ctx, cancel)
		e.tellHanging(over)
	}()
	defer func() {
		cancel()
		<-told
	}()
	failures := make([]error, len(e.rings))
	var rings sync.WaitGroup
	for i, r := range e.rings {
		rings.Add(1)
		go func() {
			defer rings.Done()
			if failures[i] = r.run(ctx); failures[i] != nil {
				e.log.Errorf(r.name, "%v", failures[i])
			}
		}()
	}
	if e.journal != nil {
		stop, kept := make(chan struct{}), make(chan error, 1)
		go func() { kept <- e.keepJournal(stop) }()
		defer func() {
			e.leaveToNext()
			close(stop)
			if lost := <-kept; lost != nil {
				err = errors.Join(err, fmt.Errorf("engine: %w", lost))
			}
			e.faults.release(e.journal.written != nil) // the next engine need not wait for the rest of this one's end
		}()
	}
	rings.Wait()
	close(over)
	if !e.child && !slices.Contains(failures, nil) {
		e.seeOff(ctx)
		return errors.Join(failures...)
	}
	<-ctx.Done()
	return errors.Join(failures...)
}

// Close ends the rings: waiting consumers learn that the engine stopped, names are removed. Run must have returned, and
// what serves Services be closed. A second Close does nothing.
func (e *Engine) Close() error {
	e.endRun()
	if e.closed {
		return nil
	}
	e.closed = true
	e.quiet.end()
	var errs []error
	for _, r := range e.rings {
		if r.shm != nil {
			r.stopLog()
			errs = append(errs, r.end(e.served))
		}
		errs = append(errs, r.closeSource(), r.rows.close())
	}
	for _, c := range e.caches {
		errs = append(errs, c.Close())
	}
	e.faults.release(e.journal != nil && e.journal.written != nil)
	errs = append(errs, e.faults.close())
	return errors.Join(errs...)
}
