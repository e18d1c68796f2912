package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
)

// measuring finds out how large the pictures of a source are.
type measuring struct {
	source  source.Source
	part    int // of a sample, that the picture is
	look    *media.Op
	sizes   *source.Sizes
	samples []int64
	tell    func(done, of int64) // nil: nobody is told

	next, done, none atomic.Int64
}

// measure says how wide and how high the pictures of some samples are, and how many of them are none, whose sides are 0. It reads each sample that it does not know
// once, and keeps what it finds, also where it is ended.
func (r *ring) measure(ctx context.Context, s *spec.Spec, samples []int64, set func(k int, w, h float64)) (none int64, err error) {
	measured := s.Measured()
	of, img := slices.IndexFunc(s.Media(), func(m spec.Medium) bool { return m.Name == measured.Name }), measured.Image
	m := &measuring{source: r.source, part: s.PartOf()[of], samples: samples}
	if m.look, err = media.Look(img.Orient, uint64(img.MaxPixels)); err != nil {
		return 0, err
	}
	if tell := r.engine.measured; tell != nil {
		m.tell = func(done, of int64) { tell(r.name, done, of) }
	}
	var note string
	if m.sizes, note = source.OpenSizes(r.source, fmt.Sprintf("%v %d %t", img.From, m.part, img.Orient)); note != "" && r.engine.log != nil {
		r.engine.log.Warnf(r.name, "%s", note)
	}
	err = m.run(ctx, max(r.fetchers, runtime.GOMAXPROCS(0)), set)
	if kept := m.sizes.Keep(); kept != nil && r.engine.log != nil {
		r.engine.log.Warnf(r.name, "the sizes of pictures are not kept: %v", kept)
	}
	return m.none.Load(), err
}

// run looks at all samples, several at a time. The first error that is not a sample's own ends it.
func (m *measuring) run(ctx context.Context, workers int, set func(k int, w, h float64)) error {
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	for range min(workers, len(m.samples)) {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := m.work(within, set); err != nil {
				stop(err)
			}
		}()
	}
	all.Wait()
	if within.Err() != nil {
		return context.Cause(within)
	}
	return nil
}

func (m *measuring) work(ctx context.Context, set func(k int, w, h float64)) error {
	on, err := media.NewWorker(nil)
	if err != nil {
		return err
	}
	defer on.Close()
	var pool source.Pool
	buf := pool.Get()
	defer pool.Put(buf)
	for {
		k := m.next.Add(1) - 1
		if k >= int64(len(m.samples)) {
			return nil
		}
		w, h, known := m.sizes.Known(m.samples[k])
		if !known {
			if w, h, err = m.one(ctx, on, buf, m.samples[k]); err != nil {
				return err
			}
		}
		set(int(k), float64(w), float64(h))
		if done := m.done.Add(1); m.tell != nil && !known {
			m.tell(done, int64(len(m.samples)))
		}
	}
}

// one reads a sample and looks at its picture; without sides it is none.
func (m *measuring) one(ctx context.Context, on *media.Worker, buf *source.Buffer, sample int64) (w, h int, err error) {
	if err := m.source.Read(ctx, sample, buf); err != nil {
		var bad *source.Error
		if !errors.As(err, &bad) || bad.TimeDependent() {
			return 0, 0, err
		}
		m.none.Add(1)
		return 0, 0, nil
	}
	size, err := on.Seen(buf.Part(m.part), m.look)
	if err != nil || size.H < 1 || size.W < 1 {
		m.none.Add(1)
		return 0, 0, nil
	}
	m.sizes.Tell(sample, size.W, size.H)
	return size.W, size.H, nil
}
