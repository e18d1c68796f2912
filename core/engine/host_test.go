package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

func describeHost(t testing.TB, samples int, more string) *spec.Spec {
	t.Helper()
	text := fmt.Sprintf("name: %s\nsource: {host: {samples: %d}}\nimage: {transform: [{resize: [8, 8]}]}\n", testName(), samples) + more
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// answered is a feed with threads that answer every want.
func answered(t testing.TB, answer func(w source.Want) source.Sample) *source.Feed {
	f := source.NewFeed()
	var threads sync.WaitGroup
	for id := range uint64(3) {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for {
				w, err := f.Take(context.Background(), id)
				if err != nil {
					return
				}
				s := answer(w)
				_ = f.Give(w, &s)
			}
		}()
	}
	t.Cleanup(func() { f.End(); threads.Wait() })
	return f
}

// fed brings pictures of grey(i), label 10i and key kI; those that fail says are failures.
func fed(t testing.TB, fail ...int64) *source.Feed {
	return answered(t, func(w source.Want) source.Sample {
		if slices.Contains(fail, w.Index) {
			return source.Sample{Failed: true, Error: "no luck", Label: -1}
		}
		return source.Sample{Bytes: picture(t, grey(int(w.Index)), 24), Label: 10 * w.Index, Key: fmt.Sprint("k", w.Index)}
	})
}

// Samples of the program come in the order that the same samples of a folder have, each with the label and the key that came
// with it, whatever becomes of the bad ones.
func TestHostSamplesComeInOrderWithTheirNames(t *testing.T) {
	for _, policy := range []string{"skip", "mask", "substitute"} {
		t.Run(policy, func(t *testing.T) {
			more := "batch: 4\norder: {epochs: 2, seed: 4}\nbad_sample: {policy: " + policy + "}\n"
			r := start(t, describeHost(t, 18, more), &Options{Feed: fed(t, 3, 11)})
			got := rest(t, r.attach(shm.AttachOptions{}))
			_ = r.end()
			spoil := map[int]func(string){3: truncate, 11: truncate}
			f := startAgain(t, describe(t, folder(t, 18, spoil), more), nil)
			want := rest(t, f.attach(shm.AttachOptions{}))
			wantSame(t, got, want)
			for _, b := range got {
				for row, i := range b.Index {
					label, key := 10*i, fmt.Sprint("k", i)
					if b.Status[row] == batch.Masked {
						label, key = -1, fmt.Sprint(i)
					}
					if b.Label[row] != label || b.Keys[row] != key {
						t.Fatalf("sample %d: label %d, key %q, status %d", i, b.Label[row], b.Keys[row], b.Status[row])
					}
				}
			}
			s := r.Stats().Rings[0]
			if s.Bad.Causes["source"] != 4 || !strings.Contains(s.Bad.Last[0], "source: no luck") || s.Source.Host.Failed < 4 {
				t.Fatalf("%+v %+v", s.Bad, s.Source.Host)
			}
		})
	}
}

// A run over a host's samples that is cut anywhere goes on exactly there.
func TestHostSamplesResumeExactly(t *testing.T) {
	leavesNothing(t)
	run := func(state []byte, stop int) (all []seen, at []byte) {
		r := startAgain(t, describeHost(t, 18, resumeSpec), &Options{State: state, Feed: fed(t)})
		defer func() { _ = r.end() }()
		reader := r.attach(shm.AttachOptions{})
		defer reader.Close()
		if stop < 0 {
			return rest(t, reader), nil
		}
		for len(all) < stop {
			if b := take(t, reader); b != nil {
				all = append(all, *b)
			}
		}
		at, err := reader.SaveState(testContext(t), false)
		must(err)
		return all, at
	}
	whole, _ := run(nil, -1)
	for _, cut := range []int{0, 1, 5, 7, 10} {
		_, at := run(nil, cut)
		got, _ := run(at, -1)
		wantSame(t, got, whole[cut:])
	}
}

// Orders that need no label work over a host's samples; those by label or key are refused by name.
func TestHostOrdersKnowTheIndexOnly(t *testing.T) {
	r := start(t, describeHost(t, 18, "batch: 4\norder: {epochs: 1, filter: index % 3 == 0}\n"), &Options{Feed: fed(t)})
	got := indexes(rest(t, r.attach(shm.AttachOptions{})))
	slices.Sort(got)
	if !slices.Equal(got, []int64{0, 3, 6, 9, 12, 15}) {
		t.Fatal(got)
	}
	for more, want := range map[string]string{
		"order: {balance: label}\n":         "order: balance: label is not known before a sample of source.host is read; want index",
		"order: {filter: 'key == \"a\"'}\n": "order: filter: key is not known before",
	} {
		if _, err := New(describeHost(t, 18, more), &Options{Feed: source.NewFeed()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// Without a program around the engine, or for a second ring, a host's samples are refused with the way to have them.
func TestHostSourceNeedsAProgramThatBringsSamples(t *testing.T) {
	const want = "source.host: no program around this engine brings samples, or another ring has it already; open one ring in process"
	if _, err := New(describeHost(t, 18, ""), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatal(err)
	}
	if _, err := New(describeHost(t, 18, "rings: {a: {}, b: {}}\n"), &Options{Feed: source.NewFeed()}); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatal(err)
	}
}

// When the ring is over, for good or in failure, threads that wait for wants hear of it.
func TestHostThreadsHearThatTheRingIsOver(t *testing.T) {
	feed := source.NewFeed()
	r := start(t, describeHost(t, 18, "batch: 4\norder: {epochs: 1}\nbad_sample: {policy: fail}\n"), &Options{Feed: feed})
	var err error
	for err == nil {
		var w source.Want
		if w, err = feed.Take(testContext(t), 1); err == nil {
			_ = feed.Give(w, &source.Sample{Failed: true, Error: "no luck"})
		}
	}
	if !errors.Is(err, source.ErrFeedEnded) {
		t.Fatal(err)
	}
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Fatal(err)
	}
}

// streamed brings n pictures in each epoch of a data set that is described as having many more, and then says that it ends; n gets the
// epoch.
func streamed(t testing.TB, n func(epoch uint64) int64) *source.Feed {
	return answered(t, func(w source.Want) source.Sample {
		if w.Index >= n(w.Epoch) {
			return source.Sample{End: true}
		}
		return source.Sample{Bytes: picture(t, grey(int(w.Index)), 24), Label: w.Index}
	})
}

const streamSpec = "batch: 4\norder: {epochs: 3, shuffle: false}\n"

// An epoch ends where the program says that its data end, with a short batch or a full one, and the next begins at the first sample;
// a state names where it is, also at the end of an epoch.
func TestHostDataEndWhereTheProgramSaysSo(t *testing.T) {
	leavesNothing(t)
	lengths := []int64{10, 8, 3}
	n := func(epoch uint64) int64 { return lengths[epoch%3] }
	r := startAgain(t, describeHost(t, 1<<40, streamSpec+"ring: {groups: [{name: a}, {name: b}]}\n"), &Options{Feed: streamed(t, n)})
	reader, second := r.attach(shm.AttachOptions{Group: "a", MaxLeases: 1}), r.attach(shm.AttachOptions{Group: "b", MaxLeases: 1})
	for e, want := range lengths {
		for _, one := range []*shm.Reader{reader, second} {
			var got []int64
			for _, b := range epoch(t, one) {
				if b.Epoch != uint64(e) {
					t.Fatalf("batch of epoch %d in epoch %d", b.Epoch, e)
				}
				got = append(got, b.Index...)
			}
			if int64(len(got)) != want || got[0] != 0 || got[want-1] != want-1 {
				t.Fatalf("epoch %d: samples %v, want %d from 0 on", e, got, want)
			}
		}
		eventually(t, "the state to name the next epoch", func() bool {
			state, err := reader.SaveState(testContext(t), true)
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.rings[0].parseState(state)
			return err == nil && s.Epoch == int64(e)+1 && s.Step == 0
		})
	}
	_, err := reader.Acquire(testContext(t))
	wantError(t, err, shm.EndData)
	_ = reader.Close()
	_ = second.Close()
	if bad := r.Stats().Rings[0].Bad.Total; bad != 0 {
		t.Fatalf("%d bad samples, want none", bad)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
}

// With last: drop the batch that the data's end cuts short is left out, and an epoch of which that leaves nothing ends the ring.
func TestHostDataThatEndWithinABatchObeyLast(t *testing.T) {
	leavesNothing(t)
	const drop = "source: {host: {stream: true}}\nbatch: 4\norder: {epochs: 3, shuffle: false, last: drop}\n"
	lengths := []int64{10, 8, 7}
	r := startAgain(t, describeStream(t, drop), &Options{Feed: streamed(t, func(epoch uint64) int64 { return lengths[epoch%3] })})
	reader := r.attach(shm.AttachOptions{})
	for _, want := range []int{8, 8, 4} {
		if got := indexes(epoch(t, reader)); len(got) != want {
			t.Fatalf("samples %v, want %d", got, want)
		}
	}
	_, err := reader.Acquire(testContext(t))
	wantError(t, err, shm.EndData)
	must(reader.Close())
	must(r.end())

	r = startAgain(t, describeStream(t, drop), &Options{Feed: streamed(t, func(uint64) int64 { return 3 })})
	reader = r.attach(shm.AttachOptions{})
	_, err = reader.Acquire(testContext(t))
	wantError(t, err, shm.ErrEngineFailed, "order.last: drop leaves nothing: the program's data ended after 3 of the 4 samples of a batch")
	_ = reader.Close()
	_ = r.end()
}

// A stream's sample is never late, however long the ones before it take; what else is asked of it has its deadline.
func TestStreamedSamplesAreNeverLate(t *testing.T) {
	leavesNothing(t)
	s := describeStream(t, "source: {host: {stream: true}}\norder: {epochs: 1, shuffle: false}\n")
	if s.Source.Host.Timeout != 0 || s.Source.Host.Samples != 1<<40 {
		t.Fatalf("%+v", s.Source.Host)
	}
	r := startAgain(t, s, &Options{Feed: streamed(t, func(uint64) int64 { return 3 })})
	if h := r.rings[0].source.(*source.Host); h.Timeout != 0 || !h.Stream {
		t.Fatalf("timeout %v", h.Timeout)
	}
	must(r.end())
}

// describeStream describes pictures of 8 x 8 of a source that more says.
func describeStream(t testing.TB, more string) *spec.Spec {
	t.Helper()
	s, err := spec.Parse([]byte(fmt.Sprintf("name: %s\nimage: {transform: [{resize: [8, 8]}]}\n", testName())+more), "")
	must(err)
	return s
}

// Wherever a stream is left, the state goes on with exactly the rest; a restart leaves the rest of its epoch.
func TestHostStreamsResumeByCount(t *testing.T) {
	leavesNothing(t)
	n := func(uint64) int64 { return 10 }
	begin := func(state []byte) (*running, *shm.Reader) {
		r := startAgain(t, describeHost(t, 1<<40, streamSpec), &Options{Feed: streamed(t, n), State: state})
		return r, r.attach(shm.AttachOptions{})
	}
	leave := func(r *running, reader *shm.Reader) {
		_ = reader.Close()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
	r, reader := begin(nil)
	all := rest(t, reader)
	leave(r, reader)
	for cut := range len(all) {
		r, reader = begin(nil)
		got := takeSome(t, reader, cut)
		state, err := reader.SaveState(testContext(t), false)
		if err != nil {
			t.Fatal(err)
		}
		leave(r, reader)
		r, reader = begin(state)
		got = append(got, rest(t, reader)...)
		if !slices.Equal(indexes(got), indexes(all)) {
			t.Fatalf("cut after %d: samples %v, want %v", cut, indexes(got), indexes(all))
		}
		leave(r, reader)
	}
	r, reader = begin(nil)
	takeSome(t, reader, 1)
	if err := reader.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if got := indexes(epoch(t, reader)); len(got) != 10 || got[0] != 0 {
		t.Fatalf("after the restart: samples %v, want all 10", got)
	}
	leave(r, reader)
}

// A restart that comes just as the data end is answered, and the next epoch begins at the first sample.
func TestRestartMayMeetTheEndOfTheData(t *testing.T) {
	leavesNothing(t)
	for range 100 {
		r := startAgain(t, describeHost(t, 1<<40, streamSpec), &Options{Feed: streamed(t, func(uint64) int64 { return 10 })})
		reader := r.attach(shm.AttachOptions{})
		takeSome(t, reader, 1)
		must(reader.Restart(testContext(t)))
		if got := indexes(epoch(t, reader)); len(got) != 10 || got[0] != 0 {
			t.Fatalf("after the restart: samples %v, want all 10", got)
		}
		must(reader.Close())
		must(r.end())
	}
}

// Where samples come in another order than their own, an end is a bad sample; data without any sample end the ring, and not
// endlessly many epochs.
func TestHostDataThatCannotEndAreRefused(t *testing.T) {
	leavesNothing(t)
	n := func(uint64) int64 { return 10 }
	r := startAgain(t, describeHost(t, 12, "batch: 4\norder: {epochs: 1, seed: 2}\n"), &Options{Feed: streamed(t, n)})
	reader := r.attach(shm.AttachOptions{})
	if got := indexes(rest(t, reader)); len(got) != 10 {
		t.Fatalf("samples %v, want the 10 there are", got)
	}
	if s := r.Stats().Rings[0].Bad; s.Causes["source"] != 2 || !strings.Contains(s.Last[0], "the data end before it") {
		t.Fatalf("%+v, want two bad samples that say that the data end", s)
	}
	_ = reader.Close()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r = startAgain(t, describeHost(t, 12, "batch: 4\norder: {epochs: 0, shuffle: false}\n"), &Options{Feed: streamed(t, func(epoch uint64) int64 { return 4 - 4*int64(min(epoch, 1)) })})
	reader = r.attach(shm.AttachOptions{})
	if got := indexes(epoch(t, reader)); len(got) != 4 {
		t.Fatalf("samples %v, want 4", got)
	}
	_, err := reader.Acquire(testContext(t))
	wantError(t, err, shm.ErrEngineFailed, "epoch 1: the program's data ended before the first sample; bring samples in every epoch, or say order.epochs: 1")
	_ = reader.Close()
	if err := r.end(); err == nil {
		t.Fatal("the engine's run has no error")
	}
	r = startAgain(t, describeHost(t, 12, "batch: 4\norder: {shuffle: false}\n"), &Options{Feed: streamed(t, func(uint64) int64 { return 0 })})
	reader = r.attach(shm.AttachOptions{})
	_, err = reader.Acquire(testContext(t))
	wantError(t, err, shm.ErrEngineFailed, "epoch 0: the program's data ended before the first sample; bring one at least")
	_ = reader.Close()
	if err := r.end(); err == nil {
		t.Fatal("the engine's run has no error")
	}
}

// A program may bring arrays: the columns are made of what it gives, whose label and key stay with it, whatever becomes of others.
func TestHostSamplesMayBeColumns(t *testing.T) {
	for policy, want := range map[string]string{"skip": "[1 2 3 5 6 7]", "mask": "[0 1 2 3 4 5 6 7]"} {
		t.Run(policy, func(t *testing.T) {
			feed := source.NewFeed()
			var threads sync.WaitGroup
			threads.Add(1)
			go func() {
				defer threads.Done()
				for {
					w, err := feed.Take(context.Background(), 1)
					if err != nil {
						return
					}
					s := source.Sample{Bytes: npyOf(t, []int64{2}, int(w.Index), 7), Label: 10 * w.Index, Key: fmt.Sprint("k", w.Index)}
					switch w.Index {
					case 0:
						s.Bytes = []byte("no array at all")
					case 4:
						s = source.Sample{Failed: true, Error: "no luck", Label: -1}
					}
					_ = feed.Give(w, &s)
				}
			}()
			t.Cleanup(func() { feed.End(); threads.Wait() })
			s := parsed(t, fmt.Sprintf("name: %s\nsource: {host: {samples: 8}, columns: [{name: x, type: npy, dtype: i16, shape: [2]}]}\nbatch: 8\n"+
				"order: {shuffle: false, epochs: 1}\nbad_sample: {policy: %s}\n", testName(), policy))
			r := start(t, s, &Options{Feed: feed})
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			must(err)
			b := look(l)
			for row, i := range b.Index {
				got, want := fmt.Sprint(l.Tensor(sampleTensor)[4*row:4*row+4], b.Label[row], b.Keys[row]), fmt.Sprint([]byte{byte(i), 0, 7, 0}, 10*i, "k", i)
				switch {
				case i == 0 && policy == "mask":
					want = fmt.Sprint(make([]byte, 4), -1, "0")
				case i == 4 && policy == "mask":
					want = fmt.Sprint(make([]byte, 4), -1, "4")
				}
				if got != want {
					t.Errorf("row %d: got %s, want %s", row, got, want)
				}
			}
			if bad := r.Stats().Rings[0].Bad; fmt.Sprint(b.Index) != want || bad.Causes["value"] != 1 || bad.Causes["source"] != 1 || !strings.Contains(strings.Join(bad.Last, " "), `sample 0 "k0": value: column "x"`) {
				t.Errorf("samples %v, want %s; %+v", b.Index, want, bad)
			}
			must(l.Release())
		})
	}
}
