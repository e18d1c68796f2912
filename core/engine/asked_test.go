package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// saying is a program that says which sample comes at each place of an epoch; below zero: none.
func saying(t testing.TB, number func(epoch uint64, place int64) int64) *source.Feed {
	return answered(t, func(w source.Want) source.Sample {
		n := number(w.Epoch, w.Index)
		return source.Sample{Label: n, End: n < 0}
	})
}

const askedSpec = "batch: 4\norder: {epochs: 3, asked: true}\n"

// zigzag is an order of 18 samples: epochs are of 10, 8 and 19, in the last of which samples come again.
func zigzag(epoch uint64, place int64) int64 {
	if place >= []int64{10, 8, 19}[epoch%3] {
		return -1
	}
	return (place*7 + int64(epoch)) % 18
}

// Samples come in the order that the program says, each with its own label, key and pixels, and an epoch ends where it says so; the rows of a cache are those
// of their samples.
func TestAskedOrderIsTheProgramsOwn(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	plain := startAgain(t, describe(t, dir, "batch: 1\norder: {epochs: 1, shuffle: false}\n"), nil)
	one := rest(t, plain.attach(shm.AttachOptions{}))
	_ = plain.end()
	for _, more := range []string{"", "cache: {rows_bytes: 1MiB}\n"} {
		r := startAgain(t, describe(t, dir, askedSpec+more), &Options{Feed: saying(t, zigzag)})
		reader := r.attach(shm.AttachOptions{})
		for e := range uint64(3) {
			place := int64(0)
			for _, b := range epoch(t, reader) {
				for row, i := range b.Index {
					size := len(b.Image) / b.Rows
					if want := zigzag(e, place); b.Epoch != e || i != want || b.Label[row] != one[i].Label[0] || b.Keys[row] != one[i].Keys[0] || !bytes.Equal(b.Image[row*size:][:size], one[i].Image) {
						t.Fatalf("%s: epoch %d place %d: sample %d label %d key %q in epoch %d, want sample %d label %d key %q and its pixels", more, e, place, i, b.Label[row], b.Keys[row], b.Epoch, want, one[i].Label[0], one[i].Keys[0])
					}
					place++
				}
			}
			if zigzag(e, place) >= 0 || zigzag(e, place-1) < 0 {
				t.Fatalf("%s: epoch %d has %d samples", more, e, place)
			}
		}
		_, err := reader.Acquire(testContext(t))
		wantError(t, err, shm.EndData)
		_ = reader.Close()
		must(r.end())
	}
}

// Numbers may be told many at once: they are those of the places from the wanted one on, in every order in which places are asked for, and after a move they are
// asked for again.
func TestAskedOrderIsToldInStretches(t *testing.T) {
	leavesNothing(t)
	var moved atomic.Bool
	var asked atomic.Int64
	order := func(place int64) int64 {
		if moved.Load() {
			return 17 - place
		}
		return place
	}
	feed := answered(t, func(w source.Want) source.Sample {
		asked.Add(1)
		var numbers []byte
		for place := w.Index; place < min(w.Index+5, 18); place++ {
			numbers = binary.NativeEndian.AppendUint64(numbers, uint64(order(place)))
		}
		return source.Sample{Bytes: numbers, End: w.Index >= 18, Label: -1}
	})
	r := startAgain(t, describe(t, folder(t, 18, nil), "batch: 4\norder: {epochs: 2, asked: true}\nring: {slots: 8}\n"), &Options{Feed: feed})
	reader := r.attach(shm.AttachOptions{})
	got := takeSome(t, reader, 2)
	state, err := reader.SaveState(testContext(t), true)
	must(err)
	moved.Store(true)
	must(reader.LoadState(testContext(t), state))
	got = append(got, epoch(t, reader)...)
	if want := []int64{0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}; !slices.Equal(indexes(got), want) {
		t.Fatalf("got %v, want %v", indexes(got), want)
	}
	before := asked.Load()
	if got := indexes(epoch(t, reader)); len(got) != 18 || got[0] != 17 {
		t.Fatalf("got %v", got)
	}
	if n := asked.Load() - before; n > 9 { // 4 of numbers, and as many as there are rows behind the end in the last batch
		t.Errorf("asked %d times for 18 numbers that are told 5 at a time", n)
	}
	_ = reader.Close()
	must(r.end())
}

// A sample that comes again in an epoch is augmented anew, and a run that is cut anywhere goes on exactly there.
func TestAskedOrderDrawsByPlaceAndResumes(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	run := func(state []byte, stop int) (all []seen, at []byte) {
		s := describeImage(t, dir, "{transform: [{resize: [8, 8]}, {color_jitter: {brightness: 0.9}}]}", askedSpec)
		r := startAgain(t, s, &Options{State: state, Feed: saying(t, zigzag)})
		defer func() { _ = r.end() }()
		reader := r.attach(shm.AttachOptions{})
		defer reader.Close()
		if stop < 0 {
			return rest(t, reader), nil
		}
		all = takeSome(t, reader, stop)
		at, err := reader.SaveState(testContext(t), false)
		must(err)
		return all, at
	}
	whole, _ := run(nil, -1)
	again := whole[len(whole)-1] // of epoch 2: its place 18 has the sample of its place 0
	first := whole[len(whole)-5]
	size := len(first.Image) / first.Rows
	if row := again.Rows - 1; again.Index[row] != first.Index[0] || bytes.Equal(again.Image[row*size:][:size], first.Image[:size]) {
		t.Fatalf("sample %d came as %d with the same pixels", first.Index[0], again.Index[row])
	}
	for cut := range len(whole) {
		_, at := run(nil, cut)
		got, _ := run(at, -1)
		wantSame(t, got, whole[cut:])
	}
}

// A bad sample is the one whose number was said.
func TestAskedOrderNamesBadSamples(t *testing.T) {
	for _, policy := range []string{"skip", "mask", "substitute"} {
		dir := folder(t, 18, map[int]func(string){7: truncate})
		r := startAgain(t, describe(t, dir, "batch: 4\norder: {epochs: 1, asked: true}\nbad_sample: {policy: "+policy+"}\n"), &Options{Feed: saying(t, zigzag)})
		got := rest(t, r.attach(shm.AttachOptions{}))
		masked := slices.Index(got[0].Index, 7)
		switch {
		case policy == "skip" && (got[0].Rows != 3 || masked >= 0),
			policy == "mask" && (masked != 1 || got[0].Status[1] != batch.Masked),
			policy == "substitute" && (got[0].Index[1] != 0 || got[0].Status[1] != batch.Substituted):
			t.Errorf("%s: %+v", policy, got[0])
		}
		if bad := r.Stats().Rings[0].Bad; bad.Total != 1 || !strings.Contains(bad.Last[0], "sample 7 ") {
			t.Errorf("%s: %+v", policy, bad)
		}
		_ = r.end()
	}
}

// What is no number of a sample ends the ring, and says where.
func TestAskedOrderRefusesWhatIsNoNumber(t *testing.T) {
	leavesNothing(t)
	dir := folder(t, 18, nil)
	for want, number := range map[string]func(uint64, int64) int64{
		"order.asked: the number at 5 of epoch 0: got 18, want 0 to 17: the source has 18 samples": func(_ uint64, place int64) int64 {
			if place == 5 {
				return 18
			}
			return 0
		},
		"the program's data ended before the first sample; bring one at least": func(uint64, int64) int64 { return -1 },
	} {
		r := startAgain(t, describe(t, dir, askedSpec), &Options{Feed: saying(t, number)})
		reader := r.attach(shm.AttachOptions{})
		var err error
		for err == nil {
			var l *shm.Lease
			if l, err = reader.Acquire(testContext(t)); err == nil {
				must(l.Release())
			}
		}
		wantError(t, err, shm.ErrEngineFailed, want)
		_ = reader.Close()
		_ = r.end()
	}
}

// A program that cannot say a number has the ring end with its words; a sample in a number's place is refused to it, and the want is still out.
func TestAskedOrderTellsWhyThereIsNoNumber(t *testing.T) {
	leavesNothing(t)
	for want, answer := range map[string]source.Sample{
		"order.asked: the number at 0 of epoch 0: no luck":                      {Failed: true, Error: "no luck"},
		"sample 0: the program's data set cannot go on: no luck at all":         {Failed: true, Fatal: true, Error: "no luck at all"},
		"order.asked: the number at 0 of epoch 0: the thread that had taken it": {},
	} {
		f := source.NewFeed()
		r := startAgain(t, describe(t, folder(t, 18, nil), "batch: 1\norder: {asked: true}\nlimits: {fetch: 1}\n"), &Options{Feed: f})
		reader := r.attach(shm.AttachOptions{})
		w, err := f.Take(testContext(t), 1)
		must(err)
		for _, wrong := range []source.Sample{{Bytes: []byte("x"), Label: 1}, {Bytes: []byte{}}, {Bytes: make([]byte, 8<<16+8)}, {Path: "x"}, {Failed: true, End: true}} {
			wantError(t, f.Give(w, &wrong), source.ErrNumber)
		}
		if answer.Failed {
			must(f.Give(w, &answer))
		} else {
			f.ThreadEnded(1)
		}
		_, err = reader.Acquire(testContext(t))
		wantError(t, err, shm.ErrEngineFailed, want)
		_ = reader.Close()
		_ = r.end()
	}
}

// Without a program that says numbers there is no such order, nor a plan of it.
func TestAskedOrderNeedsAProgram(t *testing.T) {
	dir := folder(t, 4, nil)
	var err error
	wantSays := func(part string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Fatalf("got error %v, want %q", err, part)
		}
	}
	_, err = New(describe(t, dir, "order: {asked: true}\n"), nil)
	wantSays("order.asked: no program around this engine says which samples come, or another ring has it already; open one ring in process: spdl_open with SPDL_FORM_IN_PROCESS, or spdl.open(spec, sampler=...) in Python")
	_, err = New(describe(t, dir, "order: {asked: true}\nrings: {a: {}, b: {}}\n"), &Options{Feed: source.NewFeed()})
	wantSays(`/b": order.asked: no program`)
	_, err = OpenPlan(testContext(t), describe(t, dir, "order: {asked: true}\n"))
	wantSays("order.asked: which samples come is a program's word, and there is none here")
}

// The order of a program holds for sources whose labels are columns, and it is each rank's own.
func TestAskedOrderOfAnySource(t *testing.T) {
	leavesNothing(t)
	t.Setenv("WORLD_SIZE", "2")
	t.Setenv("RANK", "1")
	dir := folder(t, 18, nil)
	s, err := spec.Parse(fmt.Appendf(nil, "name: %s\nsource: {mix: [{folder: %q}, {folder: %q}]}\nimage: {transform: [{resize: [8, 8]}]}\nworld: auto\n%s", testName(), dir, dir, askedSpec), "")
	must(err)
	r := startAgain(t, s, &Options{Feed: saying(t, func(_ uint64, place int64) int64 {
		if place >= 36 {
			return -1
		}
		return 35 - place
	})})
	reader := r.attach(shm.AttachOptions{})
	var got []int64
	for _, b := range epoch(t, reader) {
		got = append(got, b.Index...)
	}
	slices.Reverse(got)
	for i, n := range got {
		if n != int64(i) || len(got) != 36 {
			t.Fatal(got)
		}
	}
	_ = reader.Close()
	must(r.end())
}
