package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/shm"
)

// ring is one ring of the engine: a source in an order, decoded. What is not said to change is fixed by
// openRing.
type ring struct {
	engine   *Engine
	name     string // NAME or NAME/RING
	ringName string // RING alone
	shm      *shm.Ring
	source   source.Source
	parts    []int64         // samples of each data set of a mixture
	packings []packing       // of the source, or of each data set of a mixture, where their samples are rows of documents
	advised  int64           // bytes that the kernel is told to read ahead; 0: none
	whole    bool            // large media do not stay in their files: who has opened the source wants their bytes
	store    *store.Client   // what the source reads over the network with; nil: nothing
	columns  []source.Column // as a batch has them
	followed []int           // of columns those that are made of the source's as rows are made
	planned  source.Planned  // the source, where it wants to know what comes; else nil
	feed     *source.Feed    // what the program around the engine brings the samples through, or says which come; else nil
	host     bool            // it brings the samples
	asked    *source.Asked   // it says which come: those of a work that is begun are their places in the epoch until they are fetched; else nil
	cache    *source.Cache   // of encoded samples, shared by the engine's rings; nil: none
	rows     *rowCache       // of decoded rows; nil: none
	order    *sampler.Order
	shapes   *shapes  // of the samples' pictures, where the order goes by them; else nil
	samples  *samples // what they are decoded to

	policy                    batch.Policy
	seed                      uint64
	lanes, firstRank          int
	slots, fetchers, decoders int
	servedSlot                uint64        // bytes of a slot; of a trial those of an engine that serves
	readyAhead                int           // how many batches may be published before an earlier one; 0: in order
	fetchAuto                 pipeline.Auto // zero: fetchers all the time; else they are where it begins
	perJob                    int           // samples that travel together
	mayEnd                    bool          // the program that brings the samples may say where they end
	hashed                    bool          // rows are hashed while they are in the cache of the processor

	buffers   source.Pool
	bad       badCounter
	rowsOut   atomic.Uint64 // published
	bytesRead atomic.Uint64
	stopLog   func() // ends logEvents

	refused     *refusals  // by the device; nil: it decodes nothing
	upload      *uploading // batches go to a device; nil: they do not
	remakes     bool       // batches may come back to be made again: from stages, or from a device that decodes
	broken      chan error // why batches cannot be made again, or uploaded, one deep
	forgiving   bool       // epochs without a good sample are no failure
	probation   int        // samples before an engine of some of the ranks judges its part of an epoch
	enough      int        // samples from the beginning of an epoch that tell of the rest
	judging     sync.Mutex // guards the next four
	budget      *pipeline.Judge
	tally       tally
	judgedBelow uint64          // tickets whose samples the budget has counted,
	judged      map[uint64]bool // and those from there on, where batches are published as they are ready

	beginning  json.RawMessage // state that a journal has of the ring before anybody has been attached; nil: not known
	pastGroups map[uint32]bool // whose end the journal has seen; keepJournal's alone

	moves     chan *move
	failure   error         // why run has returned; nil: it was stopped. Written before over is closed
	over      chan struct{} // closed when run has returned
	running   atomic.Pointer[pipeline.Pipeline]
	recording atomic.Pointer[recording] // nil: nobody records

	mu    sync.Mutex // guards the rest
	page  *dataEnd   // the end of the epoch that consumers are completing; nil: none
	first FirstBatch
	ahead []int64 // global steps that the state gone on from names as completed, ascending
}

// position is where a run of the pipeline begins.
type position struct {
	cursor *sampler.Cursor
	until  uint64   // tickets below are published already,
	late   []uint64 // but for these; ascending
}

// move is a request to go on at another position: do says where, by changing what unpublished returns. It is called
// with no slot claimed and nothing being published. Its error goes to done, and the ring goes on where it was.
type move struct {
	do   func() error
	done chan error // one deep
}

// run keeps the ring's pipeline going until ctx ends. An error that ends the ring, such as an exhausted budget for bad
// samples, is told to the consumers and returned. Every move that was taken is answered.
func (r *ring) run(ctx context.Context) error {
	defer close(r.over)
	defer r.startAgain(ctx)()
	defer r.startUploader(ctx)()
	if r.feed != nil {
		defer r.feed.End()
	}
	for {
		m, err := r.runPipeline(ctx)
		var end *dataEnd
		if errors.As(err, &end) {
			if err = nil; m == nil { // a move that met the end of the data decides
				m, err = r.turnPage(ctx, end)
			}
			if m == nil && err == nil && ctx.Err() == nil {
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			m.refuse(err)
			return r.fail(err)
		}
		if m == nil && ctx.Err() == nil {
			r.finish()
			if m, err = r.awaitMove(ctx); err != nil {
				return r.fail(err)
			}
		}
		if ctx.Err() != nil {
			m.refuse(shm.ErrEngineStopped)
			return nil
		}
		m.done <- m.do()
	}
}

// fail tells the consumers what ended the ring.
func (r *ring) fail(err error) error {
	r.shm.Fail(shm.ErrEngineFailed, err.Error())
	r.failure = err
	return err
}

// runPipeline is one run of the pipeline, from the first unpublished batch to the end of the last epoch, a failure, or
// the move that it returns.
func (r *ring) runPipeline(ctx context.Context) (*move, error) {
	at, err := r.unpublished()
	if err != nil {
		return nil, err
	}
	r.setPage(nil)
	if r.asked != nil {
		r.asked.Forget()
	}
	p := newPlanner(r, at)
	defer p.abandon()
	run := r.pipeline(p)
	if err := run.Start(ctx); err != nil {
		return nil, err
	}
	r.running.Store(run)
	if kept := r.recording.Load(); kept != nil {
		kept.follow(run)
	}
	var m *move
	select {
	case <-run.Done():
	case m = <-r.moves:
		run.Stop()
	case broken := <-r.broken:
		run.Stop()
		_ = run.Wait()
		return nil, broken
	}
	if err = run.Wait(); errors.Is(err, pipeline.ErrStopped) {
		err = nil
	}
	return m, err
}

// finish tells the consumers that nothing more comes.
func (r *ring) finish() {
	if epochs := r.order.Config().Epochs; epochs > 0 {
		r.endEpochs(uint64(epochs))
	}
	r.shm.End()
}

// endEpochs says that every lane is through with the epochs before next.
func (r *ring) endEpochs(next uint64) {
	for lane := range r.lanes {
		r.shm.EndEpoch(lane, next-1)
	}
}

func (r *ring) awaitMove(ctx context.Context) (*move, error) {
	select {
	case m := <-r.moves:
		return m, nil
	case err := <-r.broken:
		return nil, err
	case <-ctx.Done():
		return nil, nil
	}
}

// move stops the pipeline, has do change the position, and returns its error once the ring is about to go on. It waits
// its turn behind other moves. ctx ends with the engine's run.
func (r *ring) move(ctx context.Context, do func() error) error {
	m := &move{do: do, done: make(chan error, 1)}
	select {
	case r.moves <- m:
		return <-m.done
	case <-r.over:
		if r.failure != nil {
			return fmt.Errorf("%w: %w", shm.ErrEngineFailed, r.failure)
		}
	case <-ctx.Done():
	}
	return shm.ErrEngineStopped
}

// end closes the ring in shared memory. What a dead engine left, and nobody has served since, is left as it was.
func (r *ring) end(served bool) error {
	if !served && r.shm.Info().Adopted {
		return r.shm.Leave()
	}
	return r.shm.Close()
}

// refuse answers a move, if there is one, that nobody makes any more.
func (m *move) refuse(err error) {
	if m != nil {
		m.done <- err
	}
}

// ticket is the number of the first batch of a global step.
func (r *ring) ticket(step int64) uint64 { return uint64(step) * uint64(r.lanes) }

// unpublished is the position of the first batch that is neither published nor known to be completed.
func (r *ring) unpublished() (position, error) {
	info := r.shm.Info()
	first := info.NextTicket
	if len(info.Late) > 0 {
		first = info.Late[0]
	}
	step := int64(first / uint64(r.lanes))
	state := r.order.State(step, r.aheadOf(step))
	cursor, err := sampler.NewCursor(r.order, &state)
	return position{cursor: cursor, until: info.NextTicket, late: info.Late}, err
}

// aheadOf is the steps from step on that the state gone on from names as completed.
func (r *ring) aheadOf(step int64) []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ahead []int64
	for _, s := range r.ahead {
		if s >= step {
			ahead = append(ahead, s)
		}
	}
	return ahead
}

// goOnFrom takes note of a state that the ring goes on from.
func (r *ring) goOnFrom(s *sampler.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead = r.ahead[:0]
	for _, d := range s.Done {
		r.ahead = append(r.ahead, s.Epoch*r.order.StepsPerEpoch()+d)
	}
}
