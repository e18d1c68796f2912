package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/shm"
)

const (
	ofBuckets = "{transform: [{resize: {size: bucket, fit: cover}}, {center_crop: bucket}]}"
	twoSizes  = "order: {buckets: {sizes: [[8, 16], [8, 8]]}}\n"
)

// Batches of a bucket's size cost no more allocations than others.
func TestBatchesOfBucketsOfSizesAllocateNothingPerSample(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	allocationsPerBatch(t, describeImage(t, folder(t, 100, nil), ofBuckets, "batch: 50\n"+twoSizes))
}

// A batch's shape is its bucket's, whatever the slot held before, and it is told how many pictures were looked at.
func TestABatchHasTheShapeOfItsBucket(t *testing.T) {
	leavesNothing(t)
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	var mu sync.Mutex
	var told []int64
	o := &Options{Measured: func(_ string, done, of int64) {
		mu.Lock()
		defer mu.Unlock()
		if told = append(told, done); of != 20 {
			t.Errorf("told of %d pictures, want 20", of)
		}
	}}
	r := startAgain(t, describeImage(t, folder(t, 20, nil), ofBuckets, "batch: 4\nring: {slots: 3}\n"+twoSizes), o)
	reader := r.attach(shm.AttachOptions{})
	for range 2 * 5 {
		l, err := reader.Acquire(testContext(t))
		for errors.Is(err, shm.EndEpoch) {
			l, err = reader.Acquire(testContext(t))
		}
		must(err)
		if got := fmt.Sprint(l.Shape(sampleTensor), l.Strides(sampleTensor), len(l.Tensor(sampleTensor))); got != "[4 8 8 3] [192 24 3 1] 768" {
			t.Errorf("got %s", got)
		}
		must(l.Release())
	}
	slices.Sort(told)
	if len(told) != 20 || told[19] != 20 {
		t.Errorf("told of %v pictures, want each of 20", told)
	}
	report := r.Shapes(0)
	if report.From != "the pictures' heads" || report.Buckets[0].Samples != 0 || report.Buckets[1].Samples != 20 || report.Cut != 0 || report.None != 0 {
		t.Errorf("got %+v", report)
	}
	must(reader.Close())
	must(r.end())
	again := startAgain(t, describeImage(t, folder(t, 20, nil), "{transform: [{resize: [8, 8]}]}", "batch: 4\n"), nil)
	if again.Shapes(0) != nil {
		t.Error("a ring without buckets of sizes tells of some")
	}
	must(again.end())
}

// failing is a source whose storage fails at one sample.
type failing struct {
	source.Source
	at    int64
	cause source.Cause
}

func (f *failing) Read(ctx context.Context, i int64, b *source.Buffer) error {
	if i == f.at {
		return &source.Error{Index: i, Key: "x", Cause: f.cause, Err: errors.New("made up")}
	}
	return f.Source.Read(ctx, i, b)
}

// What the storage fails to give ends the start, as the order would be another one next time; what was found out by then is kept. A file that is not there is
// a bad sample, and nothing more.
func TestASizeThatTheStorageDoesNotGiveEndsTheStart(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	s := describeImage(t, folder(t, 40, nil), ofBuckets, twoSizes)
	bare, err := openBare(testContext(t), s, true)
	must(err)
	defer func() { must(bare.closeSource()) }()
	of := bare.source
	defer func() { bare.source = of }()
	bare.source = &failing{of, 30, source.IO}
	_, err = orderOf(s, 1, bare.source, nil, bare.shapesOf(s))
	var unread *source.Error
	if !errors.As(err, &unread) || errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), "order: buckets: looking at the size of pictures: source: sample 30") {
		t.Errorf("got %v", err)
	}
	bare.source = &failing{of, 30, source.Missing}
	shapes := bare.shapesOf(s)
	_, err = orderOf(s, 1, bare.source, nil, shapes)
	must(err)
	if got := shapes.report; got.None != 1 || got.Buckets[0].Samples != 1 || got.Buckets[1].Samples != 39 {
		t.Errorf("got %+v", got)
	}
}
