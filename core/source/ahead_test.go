package source

import (
	"archive/tar"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
)

// planned is shards of n samples on a server, whose plan says that all of them are wanted.
func planned(t *testing.T, n int) (*shards, *objects) { return plannedWithin(t, n, 0) }

// plannedWithin is planned with a deadline of its own for each read.
func plannedWithin(t *testing.T, n int, timeout time.Duration) (*shards, *objects) {
	t.Helper()
	o := serveObjects(t, map[string]string{"/s.tar": string(tarOf(t, tar.FormatGNU, pairs(0, n)...))})
	s := openS(t, ShardsConfig{Shards: []string{o.URL + "/s.tar"}, Store: storeClient(t, store.Options{Retries: -1, Timeout: timeout})})
	o.change(func() { o.requests = 0 })
	return s.(*shards), o
}

func sequenceOf(from, to int64) (all []int64) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

// readTogether reads samples at the same time and returns the errors.
func readTogether(t *testing.T, ctx context.Context, s Source, samples []int64) []error {
	t.Helper()
	errs := make([]error, len(samples))
	var all sync.WaitGroup
	for k, i := range samples {
		all.Add(1)
		go func() {
			defer all.Done()
			var b Buffer
			if errs[k] = s.Read(ctx, i, &b); errs[k] == nil && string(b.Bytes()) != fmt.Sprintf("picture %d", i) {
				errs[k] = fmt.Errorf("sample %d: got %q", i, b.Bytes())
			}
		}()
	}
	all.Wait()
	return errs
}

// Neighbours that are known to be wanted are one request; the bytes are those of single reads.
func TestNeighboursAreOneRequest(t *testing.T) {
	s, o := planned(t, 100)
	s.Ahead(append(sequenceOf(50, 90), 3, 1, 2))
	for _, err := range readTogether(t, background, s, append(sequenceOf(50, 90), 1, 2, 3)) {
		must(t, err)
	}
	if o.requests != 2 { // samples 3 and 50 lie further apart than is worth reading
		t.Fatalf("%d requests for two runs of neighbours, want 2", o.requests)
	}
	if len(s.spans.all) != 0 || s.spans.bytes != 0 {
		t.Fatalf("%d spans of %d bytes are left", len(s.spans.all), s.spans.bytes)
	}
	must(t, readTogether(t, background, s, []int64{7})[0])
	if o.requests != 3 {
		t.Fatalf("%d requests", o.requests)
	}
}

// When the read for all of them fails, each sample is read by itself; one that hangs costs all of them one deadline.
func TestFailedSpanIsNoFaultOfItsSamples(t *testing.T) {
	s, o := planned(t, 10)
	var first sync.Once
	o.change(func() {
		o.fault = func(w http.ResponseWriter, _ *http.Request) (failed bool) {
			first.Do(func() { w.WriteHeader(500); failed = true })
			return failed
		}
	})
	s.Ahead(sequenceOf(0, 10))
	for _, err := range readTogether(t, background, s, sequenceOf(0, 10)) {
		must(t, err)
	}
	if o.requests != 11 {
		t.Fatalf("%d requests", o.requests)
	}
	s, o = plannedWithin(t, 10, 2*time.Second)
	o.change(func() {
		o.fault = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	})
	s.Ahead(sequenceOf(0, 10))
	for _, err := range readTogether(t, background, s, sequenceOf(0, 10)) {
		if err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Fatalf("got %v", err)
		}
	}
}

// A run that ends leaves spans that nobody comes for: they keep no more than their room, and their end is no fault of others.
func TestAbandonedSpansAreLetGo(t *testing.T) {
	s, _ := planned(t, 20)
	ctx, cancel := context.WithCancel(background)
	cancel()
	s.Ahead(sequenceOf(0, 20))
	for _, err := range readTogether(t, ctx, s, sequenceOf(0, 3)) {
		if err != context.Canceled {
			t.Fatalf("got %v", err)
		}
	}
	for range 5000 {
		s.Ahead(sequenceOf(0, 20))
	}
	if s.spans.bytes > maxSpanBytes {
		t.Fatalf("%d bytes", s.spans.bytes)
	}
	for _, err := range readTogether(t, background, s, sequenceOf(0, 20)) {
		must(t, err)
	}
}
