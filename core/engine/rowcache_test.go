package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/shm"
)

// From the second epoch on rows come from memory: the files may be gone, and the bytes are those of the first epoch.
func TestSecondEpochCopiesItsRows(t *testing.T) {
	dir := folder(t, 30, nil)
	r := start(t, describe(t, dir, "batch: 8\norder: {epochs: 3}\ncache: {rows_bytes: 1MiB}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	rowsOf := func(batches []seen) map[int64]string {
		all := map[int64]string{}
		for _, b := range batches {
			for row, i := range b.Index {
				all[i] = fmt.Sprint(b.Keys[row], b.Label[row], b.Image[row*192:(row+1)*192])
			}
		}
		return all
	}
	first := rowsOf(epoch(t, reader))
	must(os.RemoveAll(filepath.Join(dir, "a")))
	must(os.RemoveAll(filepath.Join(dir, "b")))
	second := epoch(t, reader)
	if len(first) != 30 || fmt.Sprint(rowsOf(second)) != fmt.Sprint(first) {
		t.Fatalf("%d rows, not the same in the second epoch", len(first))
	}
	third := epoch(t, reader)
	if slices.Equal(indexes(second), indexes(third)) {
		t.Fatal("the order is the same in every epoch")
	}
	if n := r.Stats().Rings[0]; n.Bad.Total != 0 || n.Source.Rows.Hits < 30 {
		t.Fatalf("%+v %+v", n.Bad, n.Source.Rows)
	}
}

// A bad sample is not kept: it is read again in each epoch, and counted again.
func TestBadSamplesAreNotKept(t *testing.T) {
	dir := folder(t, 12, map[int]func(string){5: truncate})
	r := start(t, describe(t, dir, "batch: 4\norder: {epochs: 2}\nbad_sample: {policy: mask}\ncache: {rows_bytes: 1MiB}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	epoch(t, reader)
	epoch(t, reader)
	if n := r.Stats().Rings[0]; n.Bad.Causes["truncated"] != 2 {
		t.Fatalf("%+v", n.Bad)
	}
}

// Head space repeats the batches of the first steps for ever, random transforms and all, and says which samples they are.
func TestHeadSpaceRepeatsBatches(t *testing.T) {
	dir := folder(t, 40, nil)
	r := start(t, describeImage(t, dir, "{transform: [{random_resized_crop: 8}, {horizontal_flip: 0.5}]}",
		"batch: 4\norder: {epochs: 2}\ncache: {rows_bytes: 1MiB, head_space: 3}\n"), nil)
	reader := r.attach(shm.AttachOptions{})
	all := append(epoch(t, reader), epoch(t, reader)...)
	if len(all) != 20 {
		t.Fatalf("%d batches", len(all))
	}
	for k, b := range all {
		if first := all[k%3]; !slices.Equal(b.Index, first.Index) || !bytes.Equal(b.Image, first.Image) || b.Ticket != uint64(k) {
			t.Fatalf("batch %d is not batch %d: %v %v", k, k%3, b.Index, first.Index)
		}
	}
	if n := r.Stats().Rings[0].Source.Rows; n.Bytes != 3*4*192 || n.Hits == 0 {
		t.Fatalf("%+v", n)
	}
}

// Rows that do not fit are refused with what they need.
func TestRowsThatDoNotFitAreRefused(t *testing.T) {
	_, err := New(describe(t, folder(t, 30, nil), "cache: {rows_bytes: 5000}\n"), nil)
	if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), "cache.rows_bytes: 30 rows of 192 bytes take 5760 bytes, got 5000; raise it") {
		t.Fatalf("got %v", err)
	}
}

// With rows from memory, too, the engine makes no Go allocation per sample.
func TestRowCacheAllocatesNothingPerSample(t *testing.T) {
	allocationsPerBatch(t, describe(t, folder(t, 100, nil), "batch: 50\ncache: {rows_bytes: 1MiB}\n"))
}

// Rings that name the same directory share a cache of encoded samples; the second engine on it fetches nothing.
func TestRingsShareACacheOfSamples(t *testing.T) {
	pattern, dir := shardsOf(t, 20, 10, nil), t.TempDir()
	text := fmt.Sprintf("rings: {a: {}, b: {batch: 3}}\nbatch: 4\norder: {epochs: 1}\ncache: {dir: %q}\n", dir)
	for run := range 2 {
		r := start(t, describeShards(t, pattern, shardColumns, text), nil)
		if n := len(indexes(epoch(t, r.attachTo("a", shm.AttachOptions{})))) + len(indexes(epoch(t, r.attachTo("b", shm.AttachOptions{})))); n != 40 {
			t.Fatalf("%d samples", n)
		}
		a, b := r.Stats().Rings[0].Source.Cache, r.Stats().Rings[1].Source.Cache
		if *a != *b || a.Hits+a.Misses != 40 || run == 1 && a.Misses != 0 {
			t.Fatalf("run %d: %+v %+v", run, a, b)
		}
		must(r.end())
	}
}
