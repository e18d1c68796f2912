package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/source"
)

// Config says what is packed, and into what.
type Config struct {
	Source  source.Source
	Samples iter.Seq[int64] // of the source, in the order in which they are written
	Parts   []Part          // of the source's samples, in its order; none where they are columns alone
	Columns []string        // what the members of its columns end in, in their order; nil: they are left out

	Out        string // path of an archive, or s3:// URL, with one %d or %0Nd for its number; without it there is one archive
	MaxBytes   int64  // of an archive, but for its end and unless one sample alone is larger; 0: no bound
	MaxSamples int64  // likewise

	Smaller *Smaller // nil: pictures stay as they are
	Beside  bool     // the archives' indexes lie beside them
	Keys    bool     // each sample's key in the source goes into the part key.txt
	SkipBad bool     // samples that cannot be read, or made smaller, are left out; false: the first ends it
	Workers int      // samples in work at a time; 0: 16, or fewer whose columns have 128 MiB together

	// Told is called after each sample, by one goroutine at a time; it may be nil.
	Told func(*Report)
}

// Part is what the name of a part's member ends in.
type Part struct {
	Ending string // "": Prefix and what its name or its bytes say, such as jpg
	Prefix string // such as "left."
}

// Report says what was written.
type Report struct {
	Samples  int64    `json:"samples"`
	Bytes    int64    `json:"bytes"` // of the archives
	Shards   []string `json:"shards"`
	Bad      int64    `json:"bad"`                // samples that were left out
	Examples []string `json:"examples,omitempty"` // why, of the first of them
	Shrunk   int64    `json:"shrunk"`             // pictures that were made smaller

	ByClass bool       `json:"by_class"`          // keys begin with the directory of their class, and these give the labels
	Absent  []string   `json:"absent,omitempty"`  // classes of which there is no sample, so that directories do not
	Unnamed bool       `json:"unnamed,omitempty"` // the classes are not sorted, or no directories' names: keys are without
	Endings [][]string `json:"endings"`           // of the members of each part, sorted
}

var (
	// ErrName is returned for a Config.Out that names no archives.
	ErrName = errors.New("no name for archives")

	// ErrTaken is returned where one of the names is a file's already.
	ErrTaken = errors.New("the name is taken")
)

const (
	defaultWorkers = 16
	columnRoom     = 128 << 20 // bytes of the columns in work
	maxExamples    = 10
)

// workersFor is how many samples may be in work at a time.
func workersFor(columns []source.Column) int {
	size := 1
	for i := range columns {
		if columns[i].Type != source.Text { // whose room is often larger than what is in it
			size += columns[i].Most()
		}
	}
	return min(max(columnRoom/size, 1), defaultWorkers)
}

// packed is a sample on its way.
type packed struct {
	number  int64 // of those that were asked for
	index   int64 // of the source
	members []member
	shrunk  bool
	bad     error
}

// Write packs all samples. The report it returns beside an error is of the archives that are whole.
func Write(ctx context.Context, c Config) (*Report, error) {
	out, err := newShards(ctx, &c)
	if err != nil {
		return nil, err
	}
	defer out.close()
	next, stop := iter.Pull(c.Samples)
	defer stop()
	if c.Workers == 0 {
		c.Workers = workersFor(columnsOf(&c))
	}
	p, n := pipeline.New("pack"), int64(0)
	plan := pipeline.Source(p, pipeline.SourceOptions[*packed]{Name: "plan"}, func(context.Context) (*packed, error) {
		index, ok := next()
		if !ok {
			return nil, io.EOF
		}
		n++
		return &packed{number: n - 1, index: index}, nil
	})
	pool := &source.Pool{}
	readers := pipeline.Workers[*reader]{Open: func(int) (*reader, error) { return newReader(&c, pool), nil }, Close: (*reader).close}
	read := pipeline.MapWorkers(plan, pipeline.Options[*packed, *packed]{Name: "read", Concurrency: c.Workers, Output: pipeline.Input}, readers,
		func(ctx context.Context, r *reader, s *packed) (*packed, error) {
			s.bad = r.read(ctx, s)
			return s, ctx.Err()
		})
	pipeline.Sink(read, pipeline.SinkOptions{Name: "write"}, func(ctx context.Context, s *packed) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return out.put(s)
	})
	if err := p.Run(ctx); err != nil {
		return &out.report, why(ctx, err)
	}
	if err := out.finish(); err != nil {
		return &out.report, err
	}
	if out.report.Samples == 0 {
		return &out.report, fmt.Errorf("pack: %w: nothing to write, %d of %d samples were bad", source.ErrNoSamples, out.report.Bad, n)
	}
	return &out.report, out.check(ctx)
}

// why is what a run ended with, without the words of the pipeline.
func why(ctx context.Context, err error) error {
	var stage *pipeline.StageError
	if ctx.Err() == nil && errors.As(err, &stage) {
		return stage.Err
	}
	return err
}
