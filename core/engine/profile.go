package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
)

// Encoded samples that the decoders of a profile go round and round on.
const (
	profileSamples = 512
	profileBytes   = 128 << 20
)

// Profile runs the stages of a ring one at a time, each for so long with 1, 2, 4 ... workers: fetch on the source in the
// order of the epoch, decode on samples that are in memory already. There is no ring, no batch and no other stage. told is
// called after each; it may be nil. Samples that cannot be read or decoded are counted; Profile fails when none can. What is
// made when something is decoded for the first time, such as the loading of FFmpeg, is over before decode is measured.
func Profile(ctx context.Context, s *spec.Spec, each time.Duration, told func(telemetry.StageSpeed)) ([]telemetry.StageSpeed, error) {
	r, err := openBare(ctx, s, false)
	defer func() { _ = r.closeSource() }() // nothing was written
	if err != nil {
		return nil, err
	}
	kind, err := samplesOf(s)
	if err != nil {
		return nil, err
	}
	may := allow(&s.Limits, availableCPUs())
	n := may.decoders
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2*n + spareProcs))
	p := &profile{spec: s, source: r.source, columns: r.columns, samples: kind, each: each, told: told}
	if err := p.fetch(ctx, workerCounts(2*s.Limits.Fetch)); err != nil {
		return p.all, err
	}
	return p.all, p.decode(ctx, workerCounts(2*n, n))
}

// workerCounts are the powers of two up to most, most itself and those given, ascending.
func workerCounts(most int, more ...int) []int {
	all := append([]int{most}, more...)
	for n := 1; n < most; n *= 2 {
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type profile struct {
	spec    *spec.Spec
	source  source.Source
	columns []source.Column
	samples *samples
	each    time.Duration
	told    func(telemetry.StageSpeed)
	all     []telemetry.StageSpeed
}

// run lets workers take tasks 0, 1, 2 ... for as long as one measurement lasts, and until one has ended: a store or a machine that is
// slower than that has a speed, too. open makes a worker's task function and
// what ends it; a task returns its bytes, and an error for a bad sample.
func (p *profile) run(ctx context.Context, stage string, workers int, open func() (task func(i int64) (int, error), end func(), err error)) error {
	var next, samples, failures, bytes atomic.Int64
	var last error
	var mu sync.Mutex // guards last
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		last = err
	}
	begun, begunCPU := time.Now(), telemetry.CPUSeconds()
	over := time.AfterFunc(p.each, func() {
		if samples.Load()+failures.Load() > 0 {
			cancel()
		} // otherwise the first task that ends does it
	})
	defer over.Stop()
	for range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			task, end, err := open()
			if err != nil {
				fail(err)
				return
			}
			defer end()
			for ctx.Err() == nil {
				n, err := task(next.Add(1) - 1)
				switch {
				case err == nil:
					samples.Add(1)
					bytes.Add(int64(n))
				case ctx.Err() == nil || !errors.Is(err, ctx.Err()):
					failures.Add(1)
					fail(err)
				}
				if time.Since(begun) >= p.each {
					cancel()
				}
			}
		}()
	}
	all.Wait()
	got := telemetry.StageSpeed{Stage: stage, Workers: workers, Samples: samples.Load(), Failures: failures.Load(), Seconds: time.Since(begun).Seconds()}
	got.PerS, got.BytesPerS = float64(got.Samples)/got.Seconds, float64(bytes.Load())/got.Seconds
	got.CPUs = (telemetry.CPUSeconds() - begunCPU) / got.Seconds
	if got.Samples == 0 && last != nil {
		return fmt.Errorf("engine: profile: %s: no sample worked, the last: %w", stage, last)
	}
	p.all = append(p.all, got)
	if p.told != nil {
		p.told(got)
	}
	return nil
}

// order is which sample task i takes: all of them in the order of the first epoch, again and again.
func (p *profile) order() func(i int64) int64 {
	n := p.source.Len()
	if !p.spec.Order.Shuffle {
		return func(i int64) int64 { return i % n }
	}
	perm := sampler.NewPerm(n, p.spec.Order.Seed, 0)
	return func(i int64) int64 { return perm.At(i % n) }
}

func (p *profile) fetch(ctx context.Context, counts []int) error {
	order := p.order()
	offset := int64(0) // later runs go on where the last one ended: what was read is in the page cache
	for _, workers := range counts {
		err := p.run(ctx, "fetch", workers, func() (func(int64) (int, error), func(), error) {
			var pool source.Pool
			buf := pool.Get()
			return func(i int64) (int, error) {
				err := p.source.Read(ctx, order(offset+i), buf)
				return buf.Size(), err
			}, func() { pool.Put(buf) }, nil
		})
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		offset += p.all[len(p.all)-1].Samples
	}
	return nil
}

func (p *profile) decode(ctx context.Context, counts []int) error {
	var pool source.Pool
	encoded, err := p.load(ctx, &pool)
	defer func() {
		for _, sample := range encoded {
			pool.Put(sample)
		}
	}()
	if err != nil {
		return err
	}
	for _, sample := range encoded {
		sample.Until(ctx, nil)
	}
	open := func() (func(int64) (int, error), func(), error) { return p.openDecoder(encoded) }
	if err := p.warmUp(ctx, len(encoded), open); err != nil {
		return err
	}
	for _, workers := range counts {
		err := p.run(ctx, "decode", workers, open)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

// openDecoder makes a worker that decodes samples 0, 1, 2 ... round and round.
func (p *profile) openDecoder(encoded []*source.Buffer) (task func(i int64) (int, error), end func(), err error) {
	on, err := openWorker(p.samples)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range p.samples.fields {
		on.row = append(on.row, make([]byte, f.rowBytesIn(on.bucket)))
	}
	values := make([][]byte, len(p.columns))
	for c := range values {
		values[c] = make([]byte, p.columns[c].Most())
	}
	return func(i int64) (int, error) {
		sample := encoded[i%int64(len(encoded))]
		for c := range values {
			copy(values[c], sample.Value(c))
		}
		return sample.Size(), on.decode(on.row, sample, media.Draw{Seed: p.spec.Order.Seed, Index: uint64(i)})
	}, on.Close, nil
}

// warmUp runs each of n tasks once, as many as there is time for in one measurement, and counts nothing: what they fail of is
// for the measurements to tell.
func (p *profile) warmUp(ctx context.Context, n int, open func() (task func(i int64) (int, error), end func(), err error)) error {
	task, end, err := open()
	if err != nil {
		return err
	}
	defer end()
	begun := time.Now()
	for i := range n {
		if _, _ = task(int64(i)); ctx.Err() != nil || time.Since(begun) >= p.each {
			break
		}
	}
	return ctx.Err()
}

// load reads the samples that the decoders use, which are the caller's to put back, also after an error.
func (p *profile) load(ctx context.Context, pool *source.Pool) (encoded []*source.Buffer, err error) {
	order, total := p.order(), 0
	for i := int64(0); i < min(p.source.Len(), profileSamples) && total < profileBytes; i++ {
		buf := pool.Get()
		if err = p.source.Read(ctx, order(i), buf); err != nil {
			pool.Put(buf)
			if ctx.Err() != nil {
				return encoded, ctx.Err()
			}
			continue
		}
		encoded = append(encoded, buf)
		total += buf.Size()
	}
	if len(encoded) == 0 {
		return nil, fmt.Errorf("engine: profile: decode: no sample could be read, the last: %w", err)
	}
	return encoded, nil
}
