package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// film is an object of several blocks, the last of which is short.
var film = func() []byte {
	data := make([]byte, 40*blockBytes+1234)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i+8 <= len(data); i += 8 {
		for k, n := 0, r.Uint64(); k < 8; k, n = k+1, n>>8 {
			data[i+k] = byte(n)
		}
	}
	return data
}()

// screen serves the film in ranges, and remembers them.
func screen(t *testing.T) (s *server, ranges func() []string) {
	s = serve(t, nil)
	var mu sync.Mutex
	var all []string
	s.always = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
		mu.Unlock()
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(film))
	}
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func (s *server) film() *Object {
	return &Object{URL: s.URL + "/x", Size: int64(len(film)), ETag: `"v1"`}
}

// blocksOf is the range of n blocks.
func blocksOf(from, n int) string {
	return fmt.Sprintf("%d-%d", from*blockBytes, min((from+n)*blockBytes, len(film))-1)
}

// A reader gives the bytes of any place, as if the object were in memory.
func TestReaderGivesAnyPart(t *testing.T) {
	s, _ := screen(t)
	r := client(t, Options{HedgeAfter: -1}).Reader(s.film())
	whole := bytes.NewReader(film)
	for i, rng := 0, rand.New(rand.NewPCG(3, 4)); i < 300; i++ {
		at, n := rng.Int64N(int64(len(film))+100), rng.IntN(3*blockBytes)
		if i%3 == 0 {
			at, n = (rng.Int64N(41)+1)*blockBytes-int64(rng.IntN(3)), rng.IntN(4) // where blocks meet
		}
		got, want := make([]byte, n), make([]byte, n)
		gotN, gotErr := r.ReadAt(got, at)
		wantN, wantErr := whole.ReadAt(want, at)
		if n == 0 {
			wantErr = nil
		}
		if gotN != wantN || gotErr != wantErr || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes at %d: got %d, %v, want %d, %v", n, at, gotN, gotErr, wantN, wantErr)
		}
	}
}

// Who reads on gets more with each request and the next ones ahead of time, each block once; who jumps gets single blocks. What one reader has
// read others of the same version need not ask for.
func TestReadersAskForBlocksOnce(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	r := c.Reader(s.film())
	jump := make([]byte, 10)
	for _, at := range []int64{20*blockBytes + 5, 30 * blockBytes, 20*blockBytes + 500} {
		if _, err := r.ReadAt(jump, at); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := ranges(), []string{blocksOf(20, 1), blocksOf(30, 1)}; !slices.Equal(got, want) {
		t.Fatalf("jumps: got %v, want %v", got, want)
	}
	for range 2 {
		got, err := io.ReadAll(io.NewSectionReader(c.Reader(s.film()), 0, int64(len(film))))
		if err != nil || !bytes.Equal(got, film) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	got, want := ranges()[2:], []string{blocksOf(0, 1), blocksOf(1, 2), blocksOf(3, 4), blocksOf(7, 8), blocksOf(15, 5), blocksOf(21, 8), blocksOf(29, 1), blocksOf(31, 8), blocksOf(39, 2)}
	slices.Sort(got) // those ahead are on their way at the same time
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("reading on: got %v, want %v", got, want)
	}
	before := len(ranges())
	o := s.film()
	o.ETag = "" // not known to be the same
	if _, err := c.Reader(o).ReadAt(jump, 0); err != nil || len(ranges()) != before+1 {
		t.Errorf("another version: %v, %d requests", err, len(ranges())-before)
	}
}

// Any number of readers at a time ask for a block once.
func TestReadersWaitForEachOther(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	var all sync.WaitGroup
	for i := range 16 {
		all.Add(1)
		go func() {
			defer all.Done()
			got := make([]byte, 2*blockBytes)
			if _, err := c.Reader(s.film()).ReadAt(got, int64(i%2)*blockBytes); err != nil || !bytes.Equal(got, film[i%2*blockBytes:][:len(got)]) {
				t.Errorf("reader %d: %v", i, err)
			}
		}()
	}
	all.Wait()
	seen := map[string]int{}
	for _, r := range ranges() {
		var from, to int
		if _, err := fmt.Sscanf(r, "%d-%d", &from, &to); err != nil {
			t.Fatal(err)
		}
		for b := from / blockBytes; b <= to/blockBytes; b++ {
			seen[fmt.Sprint(b)]++
		}
	}
	for _, b := range []string{"0", "1", "2"} {
		if seen[b] != 1 {
			t.Errorf("block %s was asked for %d times", b, seen[b])
		}
	}
}

// No more blocks stay than there is room for, the latest ones.
func TestBlocksAreBounded(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1, KeepBytes: 50 * blockBytes})
	for version := range 3 {
		o := s.film()
		o.URL += fmt.Sprint("/", version)
		if _, err := io.Copy(io.Discard, io.NewSectionReader(c.Reader(o), 0, o.Size)); err != nil {
			t.Fatal(err)
		}
	}
	c.blocks.ahead.Wait()
	sum, n := int64(0), 0
	for e := c.blocks.latest.Front(); e != nil; e = e.Next() {
		b := e.Value.(*block)
		if sum, n = sum+int64(len(b.data)), n+1; cap(b.data) > blockBytes+blockBytes/4 {
			t.Errorf("a block holds %d bytes", cap(b.data))
		}
	}
	if sum != c.blocks.bytes || sum > c.blocks.most || sum < c.blocks.most-blockBytes || n != len(c.blocks.all) {
		t.Errorf("%d blocks of %d bytes in a table of %d, said to be %d", n, sum, len(c.blocks.all), c.blocks.bytes)
	}
	before := len(ranges())
	last := s.film()
	last.URL += fmt.Sprint("/", 2)
	if _, err := c.Reader(last).ReadAt(make([]byte, 1), last.Size-1); err != nil || len(ranges()) != before {
		t.Errorf("the last block was asked for again (%v)", err)
	}
}

// A failure is the reader's, with its cause, and the next one asks again.
func TestReadersFailures(t *testing.T) {
	s, _ := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	well := s.always
	s.always = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v2"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(film))
	}
	r := c.Reader(s.film())
	_, err := r.ReadAt(make([]byte, 10), 5)
	wantCause(t, err, Changed)
	if r.Err() != err {
		t.Errorf("got %v, want %v", r.Err(), err)
	}
	s.always = well
	if n, err := c.Reader(s.film()).ReadAt(make([]byte, 10), 5); n != 10 || err != nil {
		t.Errorf("later: %d bytes, %v", n, err)
	}
}

// A reader ends with its context, and one that waited for the same block reads it itself.
func TestReadersEnd(t *testing.T) {
	s, _ := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	began := make(chan struct{})
	s.script = map[int]http.HandlerFunc{0: func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	}}
	first, second := c.Reader(s.film()), c.Reader(s.film())
	ctx, cancel := context.WithCancel(background)
	first.Until(ctx, nil)
	ended := make(chan error)
	go func() {
		_, err := first.ReadAt(make([]byte, 1), 0)
		ended <- err
	}()
	<-began
	go func() {
		_, err := second.ReadAt(make([]byte, 1), 0)
		ended <- err
	}()
	cancel()
	one, other := <-ended, <-ended
	if one == nil {
		one, other = other, one
	}
	if !errors.Is(one, context.Canceled) || other != nil {
		t.Errorf("got %v and %v", one, other)
	}
}

// What is large is not read whole where its parts can be had: of what says so, readers have the beginning, and the next time the version is asked for alone.
func TestLargeObjectsAreNotReadWhole(t *testing.T) {
	room := func(n int) []byte { return make([]byte, n) }
	large := int64(len(film))
	for _, test := range []struct {
		limit, large int64
		is           bool
	}{{large, large, true}, {large, large - 1, true}, {large, large + 1, false}, {large, 0, false}, {1000, 2000, true}} { // the last is beyond the limit, which is for what is read
		s, ranges := screen(t)
		c := client(t, Options{HedgeAfter: -1})
		n, o, err := c.ReadAll(background, s.URL+"/x", test.limit, test.large, room)
		if test.is != (o != nil) || err != nil || !test.is && n != len(film) {
			t.Errorf("large from %d on: got %d, %v, %v, want it large: %v", test.large, n, o, err, test.is)
		}
		if !test.is {
			continue
		}
		if *o != *s.film() {
			t.Errorf("got %+v, want %+v", o, s.film())
		}
		first := make([]byte, blockBytes)
		if _, err := c.Reader(o).ReadAt(first, 0); err != nil || !bytes.Equal(first, film[:blockBytes]) || len(ranges()) != 1 {
			t.Errorf("the beginning: %v, %d requests", err, len(ranges()))
		}
		if _, again, err := c.ReadAll(background, s.URL+"/x", test.limit, test.large, room); err != nil || again == nil || *again != *o || len(ranges()) != 2 {
			t.Errorf("once more: got %v, %v after %d requests", again, err, len(ranges()))
		}
		if _, err := c.Reader(o).ReadAt(first, 5); err != nil || len(ranges()) != 3 { // of the second block, 5 bytes
			t.Errorf("the beginning once more: %v, %d requests", err, len(ranges()))
		}
	}
	s, _ := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	s.always = func(w http.ResponseWriter, r *http.Request) { // ranges are not its business
		w.Header().Set("Content-Length", fmt.Sprint(len(film)))
		_, _ = w.Write(film)
	}
	if n, o, err := c.ReadAll(background, s.URL+"/x", large, 1, room); n != len(film) || o != nil || err != nil {
		t.Errorf("without ranges: got %d, %v", n, err)
	}
}

// A server that tells no version with the bytes is asked for it, and none of these bytes are kept as that version's; one that tells none at all has one version.
func TestTheVersionOfALargeObjectIsAskedFor(t *testing.T) {
	for _, tag := range []string{`"v1"`, ""} {
		s := serve(t, nil)
		s.always = func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead && tag != "" {
				w.Header().Set("ETag", tag)
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(film))
		}
		c := client(t, Options{HedgeAfter: -1})
		_, o, err := c.ReadAll(background, s.URL+"/x", 1, 1, nil)
		if err != nil || o == nil || o.ETag != tag || o.Size != int64(len(film)) || len(c.blocks.all) != 0 {
			t.Errorf("got %+v, %v, %d blocks", o, err, len(c.blocks.all))
		}
	}
}

// What was large once and is not any more is read.
func TestALargeObjectThatBecameSmallIsRead(t *testing.T) {
	s, _ := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	if _, o, err := c.ReadAll(background, s.URL+"/x", 100, 100, nil); o == nil || err != nil {
		t.Fatal(o, err)
	}
	s.always = func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("small"))
	}
	var got []byte
	n, o, err := c.ReadAll(background, s.URL+"/x", 100, 100, func(n int) []byte { got = make([]byte, n); return got })
	if n != 5 || o != nil || err != nil || string(got) != "small" {
		t.Errorf("got %d, %v, %v, %q", n, o, err, got)
	}
}

// What comes from elsewhere in a large object in place of its beginning is not kept as that: all of it is asked for.
func TestABeginningFromElsewhereIsNotKept(t *testing.T) {
	s := serve(t, nil)
	s.always = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" && r.Header.Get("Range") != "" {
			r.Header.Set("Range", fmt.Sprintf("bytes=100-%d", 100+blockBytes-1))
		}
		w.Header().Set("ETag", `"v1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(film))
	}
	c := client(t, Options{HedgeAfter: -1})
	for _, name := range []string{"a", "b"} { // of the first the length is not known before
		_, o, err := c.ReadAll(background, s.URL+"/"+name, 1, 1, nil)
		if o == nil || err != nil {
			t.Fatalf("%s: got %v, %v", name, o, err)
		}
		first := make([]byte, blockBytes)
		if _, err := c.Reader(o).ReadAt(first, 0); err != nil || !bytes.Equal(first, film[:blockBytes]) {
			t.Errorf("%s: the beginning is another, %v", name, err)
		}
	}
	if n := s.requests(); n != 3 {
		t.Errorf("%d requests, want one for a, and for b one more", n)
	}
}

// Behind a large object the next one's beginning is asked for alone, so that no answer is broken off; behind one that is not large, all of it.
func TestBehindALargeObjectTheBeginningIsAskedFor(t *testing.T) {
	large, beginning := int64(len(film)), blocksOf(0, 1)
	small := film[:large-1]
	for _, test := range []struct {
		what    string
		objects []string
		want    []string
	}{
		{"large ones", []string{"a", "b", "c"}, []string{"", beginning, beginning}},
		{"a small one behind", []string{"a", "small", "small", "b"}, []string{"", beginning, "", "", ""}},
		{"an empty one", []string{"a", "empty"}, []string{"", beginning, ""}},
		{"a server that has ceased to read Range", []string{"a", "deaf"}, []string{"", beginning}},
		{"a server that tells no length in parts", []string{"a", "vague"}, []string{"", beginning, ""}},
		{"what was large, among small ones, and whose beginning was dropped", []string{"a", "small", "drop", "a"}, []string{"", beginning, "", beginning}},
	} {
		s := serve(t, nil)
		s.always = func(w http.ResponseWriter, r *http.Request) {
			content := film
			switch r.URL.Path {
			case "/small":
				content = small
			case "/empty":
				if r.Header.Get("Range") != "" { // as S3 answers
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				}
				return
			case "/deaf":
				w.Header().Set("Content-Length", fmt.Sprint(len(small)))
				_, _ = w.Write(small)
				return
			case "/vague":
				if r.Header.Get("Range") != "" {
					w.Header().Set("Content-Range", "bytes 0-1/*")
					w.WriteHeader(http.StatusPartialContent)
				}
				_, _ = w.Write(small[:2])
				return
			}
			w.Header().Set("ETag", `"v1"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
		c := client(t, Options{HedgeAfter: -1})
		for _, name := range test.objects {
			if name == "drop" {
				c.blocks.all = map[blockName]*block{}
				continue
			}
			var got []byte
			n, o, err := c.ReadAll(background, s.URL+"/"+name, large, large, func(n int) []byte { got = make([]byte, n); return got })
			var e *Error
			switch {
			case name == "empty" && errors.As(err, &e) && e.Cause == Empty:
			case name == "vague" && n == 2 && err == nil:
			case (name == "small" || name == "deaf") && bytes.Equal(got, small) && o == nil && err == nil:
			case len(name) == 1 && o != nil && err == nil:
			default:
				t.Errorf("%s: %s: got %d bytes, %v, %v", test.what, name, n, o, err)
			}
		}
		var ranges []string
		for _, r := range s.seen {
			ranges = append(ranges, strings.TrimPrefix(r.Header.Get("Range"), "bytes="))
		}
		if !slices.Equal(ranges, test.want) {
			t.Errorf("%s: got ranges %q, want %q", test.what, ranges, test.want)
		}
	}
}

// The names of large objects that are kept are bounded.
func TestNamesOfLargeObjectsAreBounded(t *testing.T) {
	var l larges
	for i := range 3 * mostLarges {
		o := &Object{URL: fmt.Sprint(i), ETag: "t"}
		l.add(o)
		if version, likely := l.of(o.URL); len(l.versions) > mostLarges || version != o.version() || !likely {
			t.Fatalf("%d names after %d, %q, %v", len(l.versions), i+1, version, likely)
		}
	}
}

// What is expected is asked for before it is read, by several requests at a time, in the order of the parts, each block once, and nothing behind them.
func TestWhatIsExpectedIsAskedForAheadOfTime(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	r := c.Reader(s.film())
	const half = blockBytes / 2
	r.Expect([][2]int64{{3*blockBytes + half, 8*blockBytes - 5}, {7 * blockBytes, 9 * blockBytes}, {20 * blockBytes, 26*blockBytes + 1}, {38 * blockBytes, 1 << 40}})
	c.blocks.ahead.Wait()
	first := []string{blocksOf(3, 2), blocksOf(5, 2), blocksOf(7, 2), blocksOf(20, 2)}
	if got := sorted(ranges()); !slices.Equal(got, sorted(first)) {
		t.Fatalf("before anything is read: got %v, want %v", got, first)
	}
	for _, part := range [][2]int64{{3*blockBytes + half, 8*blockBytes - 5}, {7 * blockBytes, 9 * blockBytes}, {20 * blockBytes, 26*blockBytes + 1}, {38 * blockBytes, int64(len(film))}} {
		got := make([]byte, part[1]-part[0])
		for at := 0; at < len(got); at += 64 << 10 { // as a demuxer reads
			if _, err := r.ReadAt(got[at:min(at+64<<10, len(got))], part[0]+int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, film[part[0]:part[1]]) {
			t.Fatalf("%v: other bytes", part)
		}
	}
	c.blocks.ahead.Wait()
	want := append(first, blocksOf(22, 2), blocksOf(24, 2), blocksOf(26, 1), blocksOf(38, 2), blocksOf(40, 1))
	if got := sorted(ranges()); !slices.Equal(got, sorted(want)) {
		t.Errorf("in all: got %v, want %v", got, sorted(want))
	}
	before := len(ranges())
	if _, err := r.ReadAt(make([]byte, 1), 30*blockBytes); err != nil || ranges()[before] != blocksOf(30, 1) { // as if nothing had been expected
		t.Errorf("%v, %v", err, ranges()[before:])
	}
}

// Where little stays, little is asked for ahead of time; and what fails then is asked for again by who wants it.
func TestWhatIsExpectedIsBoundedAndMayFail(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1, Retries: -1, KeepBytes: 9 * blockBytes})
	r := c.Reader(s.film())
	s.script = map[int]http.HandlerFunc{0: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }}
	r.Expect([][2]int64{{0, 30 * blockBytes}})
	c.blocks.ahead.Wait()
	if len(s.seen) != 1 || len(ranges()) != 0 {
		t.Errorf("%d requests, of which %v succeeded", len(s.seen), ranges())
	}
	got := make([]byte, 10)
	if _, err := r.ReadAt(got, 5); err != nil || !bytes.Equal(got, film[5:15]) {
		t.Errorf("got %v, %v", got, err)
	}
}

func sorted(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	return all
}

// A second request that overtakes the first says as well that an object is large.
func TestLargeObjectsAreHedged(t *testing.T) {
	var n Stats
	for after := 10 * time.Millisecond; after < 5*time.Second && n.HedgeWon == 0; after *= 4 { // as in hedgedInTurn
		s, _ := screen(t)
		s.script = map[int]http.HandlerFunc{0: hang}
		c := client(t, Options{HedgeAfter: after})
		if _, o, err := c.ReadAll(background, s.URL+"/x", 1<<30, 1, func(n int) []byte { return make([]byte, n) }); o == nil || err != nil {
			t.Fatalf("got %v, %v", o, err)
		}
		n = c.Stats()
	}
	if n.HedgeWon != 1 {
		t.Errorf("%+v", n)
	}
}

// Short parts are asked for alone, several at a time and all before any waits, unless a block has them; and what fails says so.
func TestShortPartsAreAskedForAlone(t *testing.T) {
	s, ranges := screen(t)
	c := client(t, Options{HedgeAfter: -1})
	r := c.Reader(s.film())
	waits := 0
	r.Until(context.Background(), func(f func()) { waits++; f() })
	if _, err := r.ReadAt(make([]byte, 10), 5*blockBytes); err != nil {
		t.Fatal(err)
	}
	before := len(ranges())
	waits = 0
	var to [][]byte
	var at []int64
	for k := range 30 {
		to, at = append(to, make([]byte, 100+k)), append(at, int64(k)*blockBytes+blockBytes-50)
	}
	if err := r.Peek(to, at); err != nil || waits != 1 {
		t.Fatalf("%v, waited %d times", err, waits)
	}
	for k := range to {
		if !bytes.Equal(to[k], film[at[k]:at[k]+int64(len(to[k]))]) {
			t.Errorf("part %d is another", k)
		}
	}
	got := ranges()[before:]
	if len(got) != 30 || !slices.Contains(got, fmt.Sprintf("%d-%d", at[9], at[9]+108)) || !slices.Contains(got, fmt.Sprintf("%d-%d", 6*blockBytes, 6*blockBytes+54)) {
		t.Errorf("asked for %d parts, want 30, each alone, and of what begins in a block the rest: %v", len(got), got)
	}
	if err := r.Peek([][]byte{make([]byte, 10)}, []int64{int64(len(film)) - 5}); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(r.Err(), err) {
		t.Errorf("behind the end: got %v", err)
	}
	ctx, end := context.WithCancel(context.Background())
	end()
	r.Until(ctx, nil)
	if err := r.Peek([][]byte{make([]byte, 10)}, []int64{9 * blockBytes}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: got %v", err)
	}
}
