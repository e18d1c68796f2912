package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/media/av"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
)

// maxFetch is the most workers that fetch gets by itself.
const maxFetch = 64

// pipeline builds one run of the ring: from p's position to the end of the last epoch.
func (r *ring) pipeline(p *planner) *pipeline.Pipeline {
	run := pipeline.New(r.name)
	run.Tune(r.engine.may.tuning())
	jobs := pipeline.Source(run, pipeline.SourceOptions[job]{Name: "plan"}, p.next)
	bytes := pipeline.Map(jobs, pipeline.Options[job, turn]{
		Name: "fetch", Concurrency: r.fetchers, Auto: r.fetchAuto, Buffer: 2 * r.decoders, Discard: func(turn) { r.dropEarliest(p.fetched) },
	}, func(ctx context.Context, j job) (turn, error) { return r.fetch(ctx, j, p.fetched) })
	rows := pipeline.GenerateWorkers(bytes, pipeline.Options[turn, *work]{
		Name: "decode", Concurrency: r.decoders, Buffer: 2 * r.decoders, Limiter: r.engine.cpus,
	}, pipeline.Workers[*worker]{
		Open:  func(int) (*worker, error) { return openWorker(r.samples) },
		Close: func(on *worker) { on.Close() },
	}, func(ctx context.Context, on *worker, _ turn, yield func(*work) bool) error {
		return r.decode(ctx, on, p.fetched, yield)
	})
	full := pipeline.Map(rows, pipeline.Options[*work, *work]{Name: "collect"}, collect)
	pipeline.Sink(r.arrange(full), pipeline.SinkOptions{Name: "publish"}, func(ctx context.Context, w *work) error { return r.publish(ctx, p, w) })
	return run
}

// drop takes back a job whose bytes will not be decoded.
func (r *ring) drop(j job) {
	for row := j.from; row < j.to; row++ {
		if j.w.bufs[row] != nil {
			r.engine.readAhead.Release(r.give(j.w, row))
		}
	}
}

// dropEarliest takes back the job of a turn that no decoder will take.
func (r *ring) dropEarliest(fetched *earliest) {
	if j, ok := fetched.take(); ok {
		r.drop(j)
	}
}

// give returns a row's buffer to the pool and says how many bytes were in it.
func (r *ring) give(w *work, row int) int64 {
	n := int64(w.bufs[row].Size())
	r.buffers.Put(w.bufs[row])
	w.bufs[row] = nil
	return n
}

// fetch reads a job's bytes and puts it among those that are to be decoded.
func (r *ring) fetch(ctx context.Context, j job, fetched *earliest) (turn, error) {
	if err := r.fetchJob(ctx, &j); err != nil {
		return turn{}, err
	}
	return fetched.put(j), nil
}

// fetchJob reads the samples' bytes. Waiting for room under the read-ahead budget happens once, with the bytes in hand: the
// budget is passed by at most one job per fetcher, and nobody holds bytes that the decoders wait for.
func (r *ring) fetchJob(ctx context.Context, j *job) error {
	total := int64(0)
	for row := j.from; row < j.to; row++ {
		n, err := r.fetchRow(ctx, j.w, row)
		if err != nil {
			r.forget(*j)
			return err
		}
		total += n
	}
	if err := r.engine.readAhead.Acquire(ctx, total); err != nil {
		r.forget(*j)
		return err
	}
	r.bytesRead.Add(uint64(total))
	j.fetchedNS = monotonicNS()
	return nil
}

// ask has the program say which sample a row is, or that there is none.
func (r *ring) ask(ctx context.Context, w *work, row int) error {
	place := w.from + int64(row)
	number, err := r.asked.Number(ctx, place)
	if w.beyond[row] = errors.Is(err, source.ErrEnd); w.beyond[row] {
		w.faults[row], w.cached[row] = batch.Bad{Row: row, Sample: place, Cause: string(source.Program), Err: err, Timed: true}, false
		return nil
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("engine: ring %q: %w", r.name, err)
	}
	w.Samples[row] = number
	return err
}

// fetchRow reads one sample, and returns its bytes' number. A sample that cannot be read is a fault of its row; an error is
// the end of the run.
func (r *ring) fetchRow(ctx context.Context, w *work, row int) (int64, error) {
	if r.feed != nil {
		ctx = source.WithEpoch(ctx, w.Epoch)
	}
	if r.asked != nil {
		if err := r.ask(ctx, w, row); err != nil || w.beyond[row] {
			return 0, err
		}
	}
	sample := w.Samples[row]
	told, was := r.retold(w, row)
	if was && told.Documents == nil {
		w.faults[row], w.cached[row] = told.bad(row), false
		return 0, nil
	}
	if w.cached[row] = r.rows.has(w, row); w.cached[row] {
		return 0, nil
	}
	buf := r.buffers.Get()
	if was {
		ctx = source.WithLost(ctx, source.Cause(told.Cause), told.Documents)
	}
	err := r.source.Read(ctx, sample, buf)
	_ = shm.Fault("fetch")
	if err == nil {
		w.bufs[row] = buf
		if lost := buf.Lost(); len(lost) > 0 {
			w.faults[row] = r.lacking(row, sample, lost)
		}
		return int64(buf.Size()), nil
	}
	r.buffers.Put(buf)
	var bad *source.Error
	if !errors.As(err, &bad) {
		return 0, err
	}
	w.beyond[row] = r.mayEnd && errors.Is(err, source.ErrEnd)
	w.faults[row] = batch.Bad{Row: row, Sample: sample, Cause: string(bad.Cause), Err: err, Timed: bad.TimeDependent()}
	return 0, nil
}

// forget takes back what a job has read before the budget was asked.
func (r *ring) forget(j job) {
	for row := j.from; row < j.to; row++ {
		if j.w.bufs[row] != nil {
			r.give(j.w, row)
		}
	}
}

// decode writes the rows of the earliest job, and passes its batch on with the last row. A job that it does not finish goes
// back, for its turn to be dropped with.
func (r *ring) decode(ctx context.Context, on *worker, fetched *earliest, yield func(*work) bool) error {
	j, ok := fetched.take()
	if !ok {
		return errors.New("a turn without a job")
	}
	fetched.begun(&j)
	finished := false
	defer func() {
		if !finished {
			fetched.put(j)
		}
	}()
	if err := r.decodeJob(ctx, on, &j); err != nil {
		return err
	}
	finished = true
	if j.w.decoded(&j) {
		yield(j.w)
	}
	return nil
}

// decodeJob writes the rows of a job.
func (r *ring) decodeJob(ctx context.Context, on *worker, j *job) error {
	rest := media.NewStandBack()
	for row := j.from; row < j.to; row++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		rest.Now()
		if j.w.bufs[row] != nil {
			j.w.bufs[row].Until(ctx, r.engine.aside)
			r.decodeRow(on, j.w, row)
			if ctx.Err() != nil {
				return ctx.Err() // what was not read any more makes no bad sample
			}
		} else if j.w.cached[row] {
			r.rows.load(j.w, row)
		}
		if f := &j.w.faults[row]; f.Err == nil || f.Lacks != nil {
			j.w.HashRow(row)
		}
	}
	j.decodedNS = monotonicNS()
	return nil
}

func (r *ring) decodeRow(on *worker, w *work, row int) {
	draw := media.Draw{Seed: r.seed, Epoch: w.Epoch, Index: r.drawIndex(w, row)}
	on.row, on.bucket = w.Row(row, on.row[:0]), w.bucket
	if w.seq == 0 {
		w.slot.Prefault(on.row)
	}
	r.keepValues(w, row)
	for _, c := range r.samples.masks {
		on.columns[c] = w.Room(row, c)
	}
	var err error
	if r.refused.has(w.Samples[row]) {
		err = on.decodeOnHost(on.row, w.bufs[row], draw)
	} else {
		err = on.decode(on.row, w.bufs[row], draw)
	}
	_ = shm.Fault("decode")
	if unread := w.bufs[row].Unread(); unread != nil {
		err = unread // whatever has become of it
	}
	if err == nil {
		for _, c := range r.followed {
			w.Keep(row, c, on.columns[c])
		}
		r.rows.store(w, row)
	}
	r.engine.readAhead.Release(r.give(w, row))
	if err != nil {
		w.faults[row] = r.undecodable(w, row, err)
	}
}

// keepValues takes what was read with a sample beside what is decoded: its columns, but for those that are made with it, and its name, where its
// program says that.
func (r *ring) keepValues(w *work, row int) {
	from, n := w.bufs[row], len(r.columns)
	for c := range n {
		if !slices.Contains(r.followed, c) {
			w.Keep(row, c, from.Value(c))
		}
	}
	if r.host {
		w.Call(row, int64(binary.NativeEndian.Uint64(from.Value(n))), from.Value(n+1))
	}
}

// drawIndex is what a row's random augmentation is drawn for: its sample, or, where a sample may come more than once in an
// epoch, its place in the epoch's order, so that it is augmented anew each time. Neither depends on the world size.
func (r *ring) drawIndex(w *work, row int) uint64 {
	if r.order.Once() && r.asked == nil {
		return uint64(w.Samples[row])
	}
	return uint64(w.from+int64(row)) | 1<<63
}

func (r *ring) undecodable(w *work, row int, err error) batch.Bad {
	sample, key := w.Samples[row], w.Name(row, r.source)
	cause, why := "decode", fmt.Errorf("sample %d %q: %w", sample, key, err)
	var named interface{ Cause() string }
	var unread *source.Error
	switch {
	case errors.As(err, &unread): // of a file or an object that is read as it is decoded, which knows no sample
		unread.Index, unread.Key = sample, string(key)
		cause, why = string(unread.Cause), unread
	case errors.As(err, &named):
		if cause = named.Cause(); cause == av.CauseRead { // of a file that is read as it is decoded
			cause = string(source.IO)
		}
	}
	return batch.Bad{
		Row: row, Sample: sample, Cause: cause, Err: why,
		Timed: source.Cause(cause).TimeDependent() || cause == av.CauseTooSlow || cause == av.CauseDevice || cause == media.CauseNoMemory,
	}
}

// collect has a batch whose rows are all decoded, and nobody else has it any more.
func collect(_ context.Context, w *work) (*work, error) {
	w.gather()
	return w, nil
}

// publish finishes a batch and makes it visible. Batches come in ticket order.
func (r *ring) publish(ctx context.Context, p *planner, w *work) error {
	planned := len(w.Samples)
	if w.ended && (planned == 0 || r.order.Config().Last == sampler.Drop) { // what ends within a batch leaves it short
		r.judging.Lock()
		err := r.fruitless(w, int64(w.EpochStep))
		r.judging.Unlock()
		if err != nil {
			return err
		}
		return r.epochEnded(w, int64(w.Step))
	}
	result := w.Finish(r.policy, r.source)
	described := r.described(w, result)
	if r.upload != nil && r.samples.coded() != nil {
		r.upload.fileBytes.Add(uint64(w.Fields[codedFile].Offsets[result.Rows]))
	}
	if r.readyAhead > 0 {
		described.Open = p.openBut(w)
	}
	if err := r.judge(w, planned, described.Open); err != nil {
		return err
	}
	if w.Epoch > 0 {
		r.shm.EndEpoch(w.lane, w.Epoch-1) // news only where a resume had that epoch's last batch completed already
	}
	r.noteFirst(w)
	r.noteFaults(w, planned)
	if w.ended {
		r.setPage(&dataEnd{int64(w.Epoch), int64(w.Step) + 1}) // before anybody can have completed the batch
	}
	if err := r.shm.Publish(ctx, w.slot, described); err != nil {
		return err
	}
	r.engine.quiet.end()
	r.rowsOut.Add(uint64(result.Rows))
	defer p.settle(w) // from there on it may be another batch
	if w.ended {
		return r.epochEnded(w, int64(w.Step)+1)
	}
	return nil
}

// described is what the descriptor of a finished batch says.
func (r *ring) described(w *work, result batch.Result) shm.Batch {
	for i := range w.used {
		w.used[i].Size = *w.sizes[i]
	}
	return shm.Batch{
		Used: w.used, Shaped: w.shaped,
		Ticket: w.Ticket, Epoch: w.Epoch, Step: w.Step, EpochStep: w.EpochStep,
		Rows: result.Rows, NBad: len(w.Bad), Flags: flags(w, result), Hash: result.Hash,
		FetchedNS: uint64(w.FetchedNS), DecodedNS: uint64(w.DecodedNS),
		LastOfEpoch: w.ended || w.EpochStep == uint64(r.order.StepsPerEpoch()-1),
	}
}

func flags(w *work, result batch.Result) (f uint32) {
	if len(w.Bad) > 0 {
		f |= shm.FlagBad
	}
	if result.Padded {
		f |= shm.FlagPadded
	}
	if result.KeyCut {
		f |= shm.FlagKeyCut
	}
	return f
}

// judge counts the batch's samples against the budget in row order; w.Bad is sorted. A batch that is made again, because
// a restart or a load came before it was published, is not counted again. open are the tickets that may still come before it.
func (r *ring) judge(w *work, planned int, open []uint64) error {
	r.judging.Lock()
	defer r.judging.Unlock()
	if !r.judgeOnce(w.Ticket, open) {
		return nil
	}
	next := 0
	for row := range planned {
		var err error
		if next < len(w.Bad) && w.Bad[next].Row == row {
			bad := &w.Bad[next]
			next++
			r.bad.count(bad)
			r.engine.log.bad(r.name, bad)
			err = bad.Err
		}
		if err = r.budget.Settle(err); err != nil {
			return err
		}
	}
	r.tally.count(w, planned)
	return r.fruitless(w, r.batchesOf(w))
}
