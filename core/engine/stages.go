package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
)

// pipeline builds one run of the ring: from p's position to the end of the last epoch.
func (r *ring) pipeline(p *planner) *pipeline.Pipeline {
	run := pipeline.New(r.name)
	jobs := pipeline.Source(run, pipeline.SourceOptions[job]{Name: "plan", Buffer: r.fetchers}, p.next)
	bytes := pipeline.Map(jobs, pipeline.Options[job, job]{
		Name: "fetch", Concurrency: r.fetchers, Discard: r.drop,
	}, r.fetch)
	rows := pipeline.MapWorkers(bytes, pipeline.Options[job, job]{
		Name: "decode", Concurrency: r.decoders, Buffer: 2 * r.decoders, Limiter: r.engine.cpus,
	}, pipeline.Workers[*media.Worker]{
		Open:  func(int) (*media.Worker, error) { return media.NewWorker(nil) },
		Close: (*media.Worker).Close,
	}, r.decode)
	full := pipeline.Aggregate(rows, pipeline.AggregateOptions[*work]{Name: "collect"}, collector{})
	ordered := pipeline.Resequence(full, pipeline.ResequenceOptions{Name: "order", Window: r.slots}, func(w *work) uint64 { return w.seq })
	pipeline.Sink(ordered, pipeline.SinkOptions{Name: "publish"}, func(ctx context.Context, w *work) error { return r.publish(ctx, p, w) })
	return run
}

// drop takes back a job whose bytes will not be decoded.
func (r *ring) drop(j job) {
	if j.buf != nil {
		r.release(j.buf)
	}
}

func (r *ring) release(buf *source.Buffer) {
	r.engine.readAhead.Release(int64(len(buf.Bytes())))
	r.buffers.Put(buf)
}

// fetch reads the sample's bytes. Waiting for room under the read-ahead budget happens with the bytes in hand, so the
// budget is passed by at most one sample per fetcher.
func (r *ring) fetch(ctx context.Context, j job) (job, error) {
	if j.row < 0 {
		j.fetchedNS = monotonicNS()
		return j, nil
	}
	sample := j.w.Samples[j.row]
	buf := r.buffers.Get()
	err := r.source.Read(ctx, sample, buf)
	if err == nil {
		err = r.engine.readAhead.Acquire(ctx, int64(len(buf.Bytes())))
	}
	j.fetchedNS = monotonicNS()
	if err == nil {
		j.buf = buf
		return j, nil
	}
	r.buffers.Put(buf)
	var bad *source.Error
	if !errors.As(err, &bad) {
		return job{}, err // the run ends
	}
	j.bad = batch.Bad{Row: j.row, Sample: sample, Cause: string(bad.Cause), Err: err, Timed: bad.TimeDependent()}
	return j, nil
}

// decode writes the sample's row.
func (r *ring) decode(_ context.Context, worker *media.Worker, j job) (job, error) {
	if j.buf != nil {
		sample := j.w.Samples[j.row]
		draw := media.Draw{Seed: r.seed, Epoch: j.w.Epoch, Index: uint64(sample)}
		if _, err := worker.Row(j.w.Row(j.row), j.buf.Bytes(), r.op, draw); err != nil {
			j.bad = r.undecodable(j, sample, err)
		}
		r.release(j.buf)
		j.buf = nil
	}
	j.decodedNS = monotonicNS()
	return j, nil
}

func (r *ring) undecodable(j job, sample int64, err error) batch.Bad {
	cause := "decode"
	var named interface{ Cause() string }
	if errors.As(err, &named) {
		cause = named.Cause()
	}
	key := r.source.Key(sample, nil)
	return batch.Bad{Row: j.row, Sample: sample, Cause: cause, Err: fmt.Errorf("sample %d %q: %w", sample, key, err)}
}

// collector passes a batch on with its last row.
type collector struct{}

func (collector) Add(_ context.Context, j job) (*work, bool, error) {
	w := j.w
	w.FetchedNS, w.DecodedNS = max(w.FetchedNS, j.fetchedNS), max(w.DecodedNS, j.decodedNS)
	if j.row < 0 {
		return w, true, nil
	}
	if j.bad.Err != nil {
		w.Bad = append(w.Bad, j.bad)
	}
	w.Pending--
	return w, w.Pending == 0, nil
}

func (collector) Flush(context.Context) (*work, bool, error) { return nil, false, nil }

func (collector) Close() {}

// publish finishes a batch and makes it visible. Batches come in ticket order.
func (r *ring) publish(ctx context.Context, p *planner, w *work) error {
	planned := len(w.Samples)
	result := w.Finish(r.policy, r.source)
	if err := r.judge(w, planned); err != nil {
		return err
	}
	if w.Epoch > 0 {
		r.shm.EndEpoch(w.lane, w.Epoch-1) // news only where a resume had that epoch's last batch completed already
	}
	r.noteFirst(w)
	err := r.shm.Publish(ctx, w.slot, shm.Batch{
		Ticket: w.Ticket, Epoch: w.Epoch, Step: w.Step, EpochStep: w.EpochStep,
		Rows: result.Rows, NBad: len(w.Bad), Flags: flags(w, result),
		FetchedNS: uint64(w.FetchedNS), DecodedNS: uint64(w.DecodedNS),
		LastOfEpoch: w.EpochStep == uint64(r.order.StepsPerEpoch()-1),
	})
	if err != nil {
		return err
	}
	p.settle(w)
	return nil
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
// a restart or a load came before it was published, is not counted again.
func (r *ring) judge(w *work, planned int) error {
	if w.Ticket < r.judgedBelow {
		return nil
	}
	r.judgedBelow = w.Ticket + 1
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
	return nil
}
