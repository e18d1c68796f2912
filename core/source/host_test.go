package source

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/tensor"
)

// openH opens a source that the test feeds.
func openH(t testing.TB, c HostConfig) *Host {
	t.Helper()
	c.Feed = NewFeed()
	h, err := OpenHost(c)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

// watched is a context that only a hanging test sees the end of.
func watched(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(background, time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// takeWant is the next want, which must be there.
func takeWant(t testing.TB, h *Host, thread uint64) Want {
	t.Helper()
	w, err := h.Feed.Take(watched(t), thread)
	must(t, err)
	return w
}

// readOf begins a Read; the channel gives its end.
func readOf(h *Host, ctx context.Context, i int64, b *Buffer) chan error {
	done := make(chan error, 1)
	go func() { done <- h.Read(ctx, i, b) }()
	return done
}

func wantBad(t testing.TB, err error, cause Cause, parts ...string) {
	t.Helper()
	var bad *Error
	if !errors.As(err, &bad) || bad.Cause != cause {
		t.Fatalf("got %v, want cause %s", err, cause)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("%q does not say %q", err, part)
		}
	}
}

// What a program gives is what Read gives: bytes or a file's, with the label and the key that came with them.
func TestHostSamplesArriveWithTheirLabelAndKey(t *testing.T) {
	h := openH(t, HostConfig{Samples: 100})
	file := filepath.Join(tree(t, "a.jpg"), "a.jpg")
	for _, c := range []struct {
		sample    Sample
		text, key string
	}{
		{Sample{Bytes: []byte("pixels"), Label: 7, Key: "k"}, "pixels", "k"},
		{Sample{Bytes: []byte("pixels"), Label: -1}, "pixels", "42"},
		{Sample{Path: file, Label: 3}, "a.jpg", file},
		{Sample{Path: file, Label: 3, Key: "k"}, "a.jpg", "k"},
	} {
		var b Buffer
		done := readOf(h, background, 42, &b)
		w := takeWant(t, h, 1)
		if w.Index != 42 {
			t.Fatalf("got a want of sample %d", w.Index)
		}
		given := append([]byte(nil), c.sample.Bytes...)
		if c.sample.Bytes != nil {
			c.sample.Bytes = given
		}
		must(t, h.Feed.Give(w, &c.sample))
		clear(given) // copied: the program's memory is its own again
		must(t, <-done)
		if label := int64(binary.NativeEndian.Uint64(b.Value(0))); string(b.Bytes()) != c.text || string(b.Value(1)) != c.key || label != c.sample.Label {
			t.Errorf("got %q, key %q, label %d", b.Bytes(), b.Value(1), label)
		}
	}
}

// Every way in which a program can fail to bring a sample has its cause, and its words.
func TestWhatAHostCannotBringIsABadSample(t *testing.T) {
	h := openH(t, HostConfig{Samples: 1})
	dir := tree(t, "a")
	for _, c := range []struct {
		sample Sample
		cause  Cause
		text   string
	}{
		{Sample{Failed: true, Error: "KeyError: 'x'", Key: "k"}, Program, `source: sample 0 "k": source: KeyError: 'x'`},
		{Sample{Failed: true, Error: strings.Repeat("x", 5000)}, Program, "xxx"},
		{Sample{Bytes: []byte{}}, Empty, "got 0 bytes"},
		{Sample{Path: dir + "/none"}, Missing, dir + "/none"},
		{Sample{Path: dir}, NotRegular, "a directory"},
		{Sample{Path: "/" + strings.Repeat("a/", 3000)}, Missing, "got a path of 6001 bytes, want at most 4095"},
	} {
		var b Buffer
		done := readOf(h, background, 0, &b)
		must(t, h.Feed.Give(takeWant(t, h, 1), &c.sample))
		err := <-done
		wantBad(t, err, c.cause, c.text)
		if len(b.Bytes()) > 0 || len(err.Error()) > 2*maxPath {
			t.Errorf("%d bytes after an error of %d", len(b.Bytes()), len(err.Error()))
		}
	}
}

// A path of the program's is read as one of a list is: an address over the network, file:///PATH as the path; other schemes are refused by name.
func TestAHostsPathsMayBeAddresses(t *testing.T) {
	files := serveObjects(t, map[string]string{"/a.jpg": "pixels"})
	h := openH(t, HostConfig{Samples: 9, Store: storeClient(t, store.Options{})})
	dir := tree(t, "a b.jpg")
	for _, c := range []struct {
		path, text string
		cause      Cause
		want       string
	}{
		{files.URL + "/a.jpg", "pixels", "", ""},
		{"file://" + dir + "/a%20b.jpg", "a b.jpg", "", ""},
		{dir + "/a b.jpg", "a b.jpg", "", ""},
		{files.URL + "/none.jpg", "", Missing, "404"},
		{"az://bucket/a.jpg", "", Program, `got a URL of scheme "az", want a path, or a URL of http, https, s3, gs, hf or file`},
		{"file://other/a.jpg", "", Program, "got a file's URL without its path, want file:///PATH"},
	} {
		var b Buffer
		done := readOf(h, background, 3, &b)
		must(t, h.Feed.Give(takeWant(t, h, 1), &Sample{Path: c.path, Label: 1}))
		err := <-done
		if c.cause != "" {
			wantBad(t, err, c.cause, c.want)
		} else if err != nil || string(b.Bytes()) != c.text || string(b.Value(1)) != c.path {
			t.Errorf("%s: got %q, key %q, %v", c.path, b.Bytes(), b.Value(1), err)
		}
	}
}

// A sample of a medium and of columns beside it is a path and bytes: the file is the medium, and the bytes are what the columns are made of.
func TestHostColumnsStandBesideTheirMedium(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9, Beside: true, Columns: []Column{{Name: "at", From: "json[at]", Type: List, DType: tensor.I64, Shape: []int64{3}}, {Name: "n", From: "json[n]", Type: Int64}}})
	path := filepath.Join(tree(t, "a.mp4"), "a.mp4")
	var b Buffer
	for range 2 { // whose memory is used again
		done := readOf(h, background, 3, &b)
		w := takeWant(t, h, 1)
		for _, s := range []Sample{{Path: path}, {Bytes: []byte("{}")}, {Path: path, Bytes: []byte("{}"), Failed: true}} {
			if err := h.Feed.Give(w, &s); !errors.Is(err, ErrBoth) {
				t.Fatalf("%+v: got %v, want ErrBoth", s, err)
			}
		}
		must(t, h.Feed.Give(w, &Sample{Path: path, Bytes: []byte(`{"at": [4, 0, 9], "n": 7}`), Label: 5}))
		must(t, <-done)
		at := make([]int64, 3)
		for k := range at {
			at[k] = int64(binary.NativeEndian.Uint64(b.Value(0)[8*k:]))
		}
		if n := int64(binary.NativeEndian.Uint64(b.Value(1))); string(b.Bytes()) != "a.mp4" || !slices.Equal(at, []int64{4, 0, 9}) || n != 7 || string(b.Value(3)) != path {
			t.Fatalf("got %q, %v, %d, key %q", b.Bytes(), at, n, b.Value(3))
		}
	}
	for _, c := range []struct {
		given Sample
		cause Cause
		want  string
	}{
		{Sample{Path: path, Bytes: []byte(`{"at": [4, 0], "n": 7}`)}, Value, `column "at"`},
		{Sample{Path: path, Bytes: []byte(`{"n": 7}`)}, Part, `no "at"`},
		{Sample{Path: path + "4", Bytes: []byte(`{"at": [4, 0, 9], "n": 7}`)}, Missing, "a.mp44"},
		{Sample{Path: path, Bytes: []byte{}}, Empty, "0 bytes"},
		{Sample{Failed: true, Error: "KeyError"}, Program, "KeyError"},
	} {
		done := readOf(h, background, 3, &b)
		must(t, h.Feed.Give(takeWant(t, h, 1), &c.given))
		wantBad(t, <-done, c.cause, c.want)
	}
}

// What makes no sense for any sample is no bad one: the read ends with an error that ends the ring.
func TestAProgramThatCannotGoOnSaysSo(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9})
	var b Buffer
	done := readOf(h, background, 3, &b)
	must(t, h.Feed.Give(takeWant(t, h, 1), &Sample{Failed: true, Fatal: true, Error: "got a picture"}))
	err := <-done
	var bad *Error
	if !errors.Is(err, ErrProgram) || errors.As(err, &bad) || !strings.Contains(err.Error(), "source: sample 3: the program's data set cannot go on: got a picture") {
		t.Fatal(err)
	}
}

// A want is answered once. Nothing else changes anything: a second give, a foreign token, a sample that says nothing or too much.
func TestAWantIsAnsweredOnce(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9})
	var b Buffer
	done := readOf(h, background, 5, &b)
	w := takeWant(t, h, 1)
	for _, s := range []Sample{{}, {Bytes: []byte("x"), Path: "y"}, {Failed: true, Path: "y"}} {
		if err := h.Feed.Give(w, &s); !errors.Is(err, ErrSample) {
			t.Fatalf("%+v: %v", s, err)
		}
	}
	if err := h.Feed.Give(Want{Index: 5, Token: w.Token + 1}, &Sample{Bytes: []byte("foreign")}); !errors.Is(err, ErrNotWanted) {
		t.Fatal(err)
	}
	must(t, h.Feed.Give(w, &Sample{Bytes: []byte("first")}))
	if err := h.Feed.Give(w, &Sample{Bytes: []byte("second")}); !errors.Is(err, ErrNotWanted) {
		t.Fatal(err)
	}
	must(t, <-done)
	if string(b.Bytes()) != "first" {
		t.Fatalf("%q", b.Bytes())
	}
}

// A sample that nobody takes, and one that is given too late, are bad by the deadline; the late give says so and spoils nothing.
func TestALateSampleIsBadAndTheLateGiveIsTold(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9, Timeout: time.Millisecond})
	var b Buffer
	wantBad(t, h.Read(background, 4, &b), Deadline, "no thread took it within 1ms", "source.host.timeout")

	slow := openH(t, HostConfig{Samples: 9, Timeout: 50 * time.Millisecond})
	w, err := takeAndForget(t, slow, 4, &b)
	wantBad(t, err, Deadline, "the program did not give it within", "source.host.timeout")
	if n := slow.Feed.Stats().Out; n != 1 {
		t.Fatalf("%d wants are out", n)
	}
	if err := slow.Feed.Give(w, &Sample{Bytes: []byte("late")}); !errors.Is(err, ErrLate) {
		t.Fatal(err)
	}
	if err := slow.Feed.Give(w, &Sample{Bytes: []byte("late")}); !errors.Is(err, ErrNotWanted) {
		t.Fatal(err)
	}
	if s := slow.Feed.Stats(); s.Late != 1 || s.Out != 0 || s.Given != 0 {
		t.Fatalf("%+v", s)
	}
}

// The time for an answer begins when a thread has taken the want, and of a stream there is none: the one before may take as long as it likes.
func TestNoSampleIsLateForWhatCameBeforeIt(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9, Timeout: time.Minute})
	h.Timeout = 300 * time.Millisecond
	var b Buffer
	for try := 0; ; try++ { // a machine that stands still for as long is no failure
		began := time.Now()
		asked, gone := context.WithCancel(watched(t))
		done := make(chan error, 1)
		go func() {
			done <- h.Read(background, 1, &b)
			gone()
		}()
		time.Sleep(h.Timeout * 2 / 3)
		if w, err := h.Feed.Take(asked, 1); err == nil {
			time.Sleep(h.Timeout * 2 / 3)
			_ = h.Feed.Give(w, &Sample{Bytes: []byte("x")})
		}
		err := <-done
		if err == nil && time.Since(began) > h.Timeout {
			break
		}
		if h.Timeout *= 2; try == 5 {
			t.Fatal(err)
		}
	}
	stream := openH(t, HostConfig{Samples: 9, Stream: true, Timeout: time.Nanosecond})
	done := readOf(stream, background, 1, &b)
	w := takeWant(t, stream, 1)
	must(t, stream.Feed.Give(w, &Sample{Bytes: []byte("x")}))
	must(t, <-done)
}

// takeAndForget begins reads of a sample until one is taken before its deadline, which is twice as long each time, and returns how that
// one ended without an answer.
func takeAndForget(t *testing.T, h *Host, i int64, b *Buffer) (Want, error) {
	t.Helper()
	for {
		asked, gone := context.WithCancel(watched(t))
		done := make(chan error, 1)
		go func() {
			done <- h.Read(background, i, b)
			gone()
		}()
		w, notTaken := h.Feed.Take(asked, 1)
		if err := <-done; notTaken == nil {
			return w, err
		}
		if h.Timeout *= 2; h.Timeout > time.Minute {
			t.Fatal("no read was taken before its deadline")
		}
	}
}

// A thread that ends with samples in hand makes those bad at once, and no others.
func TestAThreadThatEndsLosesWhatItHadInHand(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9})
	var a, b Buffer
	lost := readOf(h, background, 1, &a)
	w := takeWant(t, h, 7)
	kept := readOf(h, background, 2, &b)
	other := takeWant(t, h, 8)
	h.Feed.ThreadEnded(7)
	wantBad(t, <-lost, Program, "the thread that had taken it ended without giving it")
	if err := h.Feed.Give(w, &Sample{Bytes: []byte("x")}); !errors.Is(err, ErrNotWanted) {
		t.Fatal(err)
	}
	must(t, h.Feed.Give(other, &Sample{Bytes: []byte("x")}))
	must(t, <-kept)
	if s := h.Feed.Stats(); s.Lost != 1 || s.Given != 1 || s.Out != 0 {
		t.Fatalf("%+v", s)
	}
}

// A run that is stopped waits for no program; a poll waits for nothing; the end wakes every thread.
func TestNobodyWaitsLongerThanWanted(t *testing.T) {
	h := openH(t, HostConfig{Samples: 9})
	ctx, cancel := context.WithCancel(background)
	var b Buffer
	untaken := readOf(h, ctx, 1, &b)
	var c Buffer
	out := readOf(h, ctx, 2, &c)
	w := takeWant(t, h, 1)
	cancel()
	if a, b := <-untaken, <-out; !errors.Is(a, context.Canceled) || !errors.Is(b, context.Canceled) {
		t.Fatal(a, b)
	}
	if err := h.Feed.Give(w, &Sample{Bytes: []byte("x")}); !errors.Is(err, ErrLate) {
		t.Fatal(err)
	}
	if _, err := h.Feed.Take(ctx, 1); !errors.Is(err, ErrFeedTimeout) {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Add(1)
		go func() {
			defer waiting.Done()
			if _, err := h.Feed.Take(background, 2); !errors.Is(err, ErrFeedEnded) {
				t.Errorf("got %v", err)
			}
		}()
	}
	h.Feed.End()
	waiting.Wait()
	if err := h.Feed.Give(w, &Sample{Bytes: []byte("x")}); !errors.Is(err, ErrFeedEnded) {
		t.Fatal(err)
	}
}

// Many threads and readers at once: every sample arrives whole, as its own, however short the deadline.
func TestManyThreadsFeedManyReaders(t *testing.T) {
	for _, timeout := range []time.Duration{time.Minute, 20 * time.Microsecond} {
		h := openH(t, HostConfig{Samples: 1 << 20, Timeout: timeout})
		var threads, readers sync.WaitGroup
		for id := range uint64(4) {
			threads.Add(1)
			go func() {
				defer threads.Done()
				for {
					w, err := h.Feed.Take(background, id)
					if err != nil {
						return
					}
					err = h.Feed.Give(w, &Sample{Bytes: []byte(strings.Repeat(fmt.Sprint(w.Index, " "), 50)), Label: w.Index})
					if err != nil && !errors.Is(err, ErrLate) && !errors.Is(err, ErrFeedEnded) { // the readers may have given up and gone
						t.Error(err)
					}
				}
			}()
		}
		for r := range int64(8) {
			readers.Add(1)
			go func() {
				defer readers.Done()
				var b Buffer
				for i := r * 1000; i < r*1000+200; i++ {
					err := h.Read(background, i, &b)
					if err == nil && string(b.Bytes()) != strings.Repeat(fmt.Sprint(i, " "), 50) {
						t.Errorf("sample %d: %.40q", i, b.Bytes())
					}
					if err != nil && timeout == time.Minute {
						t.Error(err)
					}
				}
			}()
		}
		readers.Wait()
		h.Feed.End()
		threads.Wait()
		if s := h.Feed.Stats(); s.Out != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A source of no samples is none.
func TestHostNeedsSamples(t *testing.T) {
	if _, err := OpenHost(HostConfig{Feed: NewFeed()}); !errors.Is(err, ErrNoSamples) {
		t.Fatal(err)
	}
}
