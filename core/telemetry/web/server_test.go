package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/telemetry"
	"golang.org/x/sys/unix"
)

// watchdog is the most that any wait in a test may take; a test that gets there has failed.
const watchdog = 30 * time.Second

// fake is an engine with one ring; a recording waits until it is told to end.
type fake struct {
	looks                     atomic.Int64
	failed                    atomic.Bool // its ring has
	begun, proceed, cancelled chan struct{}
}

func newFake() *fake {
	return &fake{begun: make(chan struct{}, 8), proceed: make(chan struct{}, 8), cancelled: make(chan struct{}, 8)}
}

func (f *fake) Snapshot() telemetry.Snapshot {
	n := f.looks.Add(1)
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	s := telemetry.Snapshot{AtNs: t.Nano(), PID: 42, UptimeS: float64(n), Rings: []telemetry.Ring{{
		Name: "train", State: "running", Slots: 8, Batches: uint64(10 * n), ElapsedNs: t.Nano(),
		Queues: []pipeline.QueueStats{{Name: "fetch", Capacity: 4}}, LastBad: []string{"sample 3 <b>"},
		BadCauses: map[string]uint64{"decode": 2},
		Consumers: []telemetry.Consumer{{Group: "g", Client: `odd "client"` + "\n\\", Owner: 1, Acquired: uint64(n)}},
	}}}
	if f.failed.Load() {
		s.Rings[0].State, s.Rings[0].Error = "failed", "4 of 5 samples are bad"
	}
	decode := telemetry.Stage{CPU: true}
	decode.Name, decode.Kind, decode.Concurrency = "decode", "map", 2
	s.Rings[0].Stages = []telemetry.Stage{decode}
	return s
}

func (f *fake) Sheet(ring string) ([]byte, error) {
	switch ring {
	case "", "train":
		return []byte("\x89PNG\r\n\x1a\npicture"), nil
	case "broken":
		return nil, errors.New("broken drawing")
	}
	return nil, fmt.Errorf("no ring %q: %w", ring, ErrNothing)
}

func (f *fake) Record(ctx context.Context, d time.Duration) *telemetry.Trace {
	f.begun <- struct{}{}
	select {
	case <-f.proceed:
	case <-ctx.Done():
		f.cancelled <- struct{}{}
	}
	return &telemetry.Trace{Engine: "train", PID: 42, BeginNs: 1000, EndNs: 9000, Ops: []telemetry.Op{{Ring: "train", Stage: "decode", BeginNs: 2000, EndNs: 3000}}}
}

// listen serves a fake; everything of it ends with the test.
func listen(t *testing.T, f *fake) *Server {
	t.Helper()
	goroutines := runtime.NumGoroutine()
	s, err := Listen("127.0.0.1:0", "train", f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		for end := time.Now().Add(watchdog); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
			}
		}
	})
	return s
}

// get returns the answer to a request of the server.
func get(t *testing.T, s *Server, path string, change ...func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(r)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

// A probe sees a ring that has failed, and why.
func TestHealthIsThatOfTheRings(t *testing.T) {
	f := newFake()
	s := listen(t, f)
	if code, _, body := get(t, s, "healthz"); code != http.StatusOK || body != "ok\n" {
		t.Errorf("got %d, %q", code, body)
	}
	f.failed.Store(true)
	if code, _, body := get(t, s, "healthz"); code != http.StatusServiceUnavailable || body != "ring \"train\": failed: 4 of 5 samples are bad\n" {
		t.Errorf("got %d, %q", code, body)
	}
}

// Every page answers with its own type of content.
func TestEveryPageAnswers(t *testing.T) {
	s := listen(t, newFake())
	for path, want := range map[string][2]string{
		"":                      {"text/html", "<!doctype html>"},
		"status.json":           {"application/json", `"name":"train"`},
		"metrics":               {"text/plain; version=0.0.4", `spdl_batches_total{ring="train"}`},
		"sheet.png":             {"image/png", "picture"},
		"sheet.png?ring=train":  {"image/png", "picture"},
		"debug/pprof/":          {"text/html", "goroutine"},
		"debug/pprof/goroutine": {"application/octet-stream", ""},
	} {
		code, header, body := get(t, s, path)
		if code != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), want[0]) || !strings.Contains(body, want[1]) {
			t.Errorf("/%s: %d, %s, %.300s", path, code, header.Get("Content-Type"), body)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("/%s: a browser may guess its type", path)
		}
	}
}

// Every link of the index of pprof leads somewhere.
func TestTheIndexOfPprofHasNoDeadLinks(t *testing.T) {
	s := listen(t, newFake())
	_, _, index := get(t, s, "debug/pprof/")
	links := regexp.MustCompile(`href=['"]([^'"]+)['"]`).FindAllStringSubmatch(index, -1)
	if len(links) < 5 {
		t.Fatalf("%d links in\n%s", len(links), index)
	}
	for _, link := range links {
		path := html.UnescapeString(link[1])
		if strings.HasPrefix(path, "profile") || strings.HasPrefix(path, "trace") { // 30 seconds else
			path = strings.Split(path, "?")[0] + "?seconds=1"
		}
		if code, _, body := get(t, s, "debug/pprof/"+path); code != http.StatusOK {
			t.Errorf("%s: %d %.100s", link[1], code, body)
		}
	}
	if _, _, name := get(t, s, "debug/pprof/cmdline"); name != os.Args[0] || len(os.Args) < 2 {
		t.Errorf("command line %q, want %q without what follows", name, os.Args)
	}
}

// The page loads nothing from elsewhere: it works on a machine without a network.
func TestPageLoadsNothingFromElsewhere(t *testing.T) {
	_, header, body := get(t, listen(t, newFake()), "")
	for _, word := range []string{"https://", "//cdn", "@import", "<link"} {
		if strings.Contains(body, word) {
			t.Errorf("the page has %q in it", word)
		}
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'self'") {
		t.Errorf("policy %q", header.Get("Content-Security-Policy"))
	}
}

// Status is about the last seconds and the time since the start, with a verdict; many who ask share the looks.
func TestStatusIsSharedByAllWhoAsk(t *testing.T) {
	f := newFake()
	s := listen(t, f)
	ended, begun := make(chan Status, 16), time.Now()
	for range cap(ended) {
		go func() {
			_, _, body := get(t, s, "status.json")
			var got Status
			_ = json.Unmarshal([]byte(body), &got)
			ended <- got
		}()
	}
	for range cap(ended) {
		got := <-ended
		if got.PID != 42 || len(got.Now.Rings) != 1 || got.Now.Rings[0].Verdict.Text == "" || got.Now.Seconds < usual.every.Seconds()/2 || got.Now.Seconds > 60 {
			t.Errorf("status %+v", got)
		}
		if got.Always.Rings[0].Batches < got.Now.Rings[0].Batches {
			t.Errorf("more batches lately than ever: %+v", got)
		}
	}
	if n, most := f.looks.Load(), 2+int64(time.Since(begun)/usual.every); n > most {
		t.Errorf("%d looks for %d who asked at once, want at most %d", n, cap(ended), most)
	}
}

// What cannot be answered is refused with a status and a reason.
func TestRefusals(t *testing.T) {
	s := listen(t, newFake())
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	for _, c := range []struct {
		path   string
		code   int
		want   string
		change []func(*http.Request)
	}{
		{"nothing", 404, "not found", nil},
		{"status.json/x", 404, "not found", nil},
		{"sheet.png?ring=val", 404, `no ring "val"`, nil},
		{"sheet.png?ring=broken", 500, "broken drawing", nil},
		{"trace?seconds=0", 400, `seconds "0", want a number above 0 and up to 60`, nil},
		{"trace?seconds=soon", 400, `seconds "soon"`, nil},
		{"trace?seconds=NaN", 400, `seconds "NaN"`, nil},
		{"trace?seconds=1e9", 400, `seconds "1e9"`, nil},
		{"status.json", 405, "method POST, want GET", []func(*http.Request){method("POST")}},
		{"status.json", 405, "method DELETE, want GET", []func(*http.Request){method("DELETE")}},
		{"status.json", 403, `host "evil.example", want localhost`, []func(*http.Request){host("evil.example")}},
		{"sheet.png", 403, `host "127.0.0.1.evil.example:80"`, []func(*http.Request){host("127.0.0.1.evil.example:80")}},
		{"status.json", 200, "", []func(*http.Request){host("localhost:1")}},
		{"status.json", 200, "", []func(*http.Request){host("[::1]:1")}},
	} {
		if code, _, body := get(t, s, c.path, c.change...); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.path, code, body, c.code, c.want)
		}
	}
}

// One recording at a time; who asks for another meanwhile is told so.
func TestOneRecordingAtATime(t *testing.T) {
	f := newFake()
	s := listen(t, f)
	first := make(chan string)
	go func() {
		_, _, body := get(t, s, "trace?seconds=1")
		first <- body
	}()
	<-f.begun
	if code, _, body := get(t, s, "trace?seconds=1"); code != http.StatusConflict || !strings.Contains(body, "another recording is under way") {
		t.Errorf("second recording: %d %q", code, body)
	}
	f.proceed <- struct{}{}
	var trace struct {
		TraceEvents []struct{ Name, Ph string }
	}
	if err := json.Unmarshal([]byte(<-first), &trace); err != nil || len(trace.TraceEvents) == 0 {
		t.Errorf("trace: %v, %d events", err, len(trace.TraceEvents))
	}
}

// A recording whose asker hangs up ends.
func TestRecordingEndsWithItsAsker(t *testing.T) {
	f := newFake()
	s := listen(t, f)
	conn, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /trace?seconds=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-f.begun
	_ = conn.Close()
	select {
	case <-f.cancelled:
	case <-time.After(watchdog):
		t.Fatal("the recording goes on without its asker")
	}
}

// Bytes that are no HTTP, a header without an end and a silent peer harm nobody else.
func TestGarbageIsRefusedAndHarmsNobody(t *testing.T) {
	s := listen(t, newFake())
	for name, text := range map[string]string{
		"noise": "\x00\xff\x13\x37\r\n\r\n", "no version": "GET /\r\n\r\n", "binary path": "GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"endless header": "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("a", 1<<16) + "\r\n\r\n", "two hosts": "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(watchdog))
		go func() { _, _ = io.WriteString(conn, text) }()
		line, _ := bufio.NewReader(conn).ReadString('\n')
		if !strings.HasPrefix(line, "HTTP/1.1 4") {
			t.Errorf("%s: answered %q, want a status of 400 or more", name, line)
		}
		_ = conn.Close()
	}
	silent, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if code, _, _ := get(t, s, "status.json"); code != http.StatusOK {
		t.Errorf("after the garbage: %d", code)
	}
}

// Connections beyond the limit close those that rest for longest, and no request that is under way: descriptors are left for consumers, and whoever
// comes is served.
func TestConnectionsAreFewAndWhoComesIsServed(t *testing.T) {
	f := newFake()
	s := listen(t, f)
	asked := make(chan int, 1)
	go func() {
		code, _, _ := get(t, s, "trace?seconds=1")
		asked <- code
	}()
	<-f.begun
	var all []net.Conn
	for k := range 3 * connections {
		conn, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(watchdog))
		all = append(all, conn)
		if k%2 == 0 { // the others never say what they want
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if line, err := bufio.NewReader(conn).ReadString('\n'); line != "HTTP/1.1 200 OK\r\n" {
				t.Fatalf("connection %d: %q, %v", k, line, err)
			}
		}
	}
	closed := make(chan error, len(all))
	for _, conn := range all {
		go func() { _, err := io.Copy(io.Discard, conn); closed <- err }()
	}
	for k := range 2 * connections {
		if err := <-closed; errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d of %d connections were closed, want %d", k, len(all), 2*connections)
		}
	}
	if code, _, _ := get(t, s, "healthz"); code != http.StatusOK {
		t.Errorf("beside them: %d", code)
	}
	f.proceed <- struct{}{}
	if code := <-asked; code != http.StatusOK {
		t.Errorf("the recording that was under way: %d", code)
	}
}

// An address that makes no sense, or that somebody else has, is refused by name.
func TestListenRefusesAddresses(t *testing.T) {
	for _, text := range []string{"", "localhost", "127.0.0.1:", "127.0.0.1:99999", ":-1", "http://localhost:80", "a b:80", "1:2:3", "[::1]", "99999999999999999999"} {
		if got, err := Address(text); err == nil || !strings.Contains(err.Error(), "want HOST:PORT such as 127.0.0.1:8080") {
			t.Errorf("%q: %q, %v, want a refusal", text, got, err)
		}
		if s, err := Listen(text, "x", newFake()); err == nil {
			_ = s.Close()
			t.Errorf("%q: listens", text)
		}
	}
	s := listen(t, newFake())
	if other, err := Listen(s.listener.Addr().String(), "x", newFake()); err == nil || !errors.Is(err, unix.EADDRINUSE) || !strings.Contains(err.Error(), "choose another address or port") {
		t.Errorf("a taken port: %v, %v", other, err)
	}
}

// The address that was written out is the one, and 0.0.0.0 is not IPv6's.
func TestAnAddressOfIPv4IsNotThatOfIPv6(t *testing.T) {
	for address, want := range map[string]string{"0.0.0.0:0": "tcp4", "127.0.0.1:0": "tcp4", "[::1]:0": "tcp", "[::]:0": "tcp", "localhost:0": "tcp"} {
		if got := network(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	s, err := Listen("0.0.0.0:0", "train", newFake())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.HasPrefix(s.URL(), "http://0.0.0.0:") || s.Loopback() {
		t.Errorf("got %s", s.URL())
	}
}

// A port alone is one of this machine's loopback interface; other hosts must be named.
func TestAddressIsLoopbackUnlessTold(t *testing.T) {
	for text, want := range map[string]string{
		"8080": "127.0.0.1:8080", ":8080": "127.0.0.1:8080", "0": "127.0.0.1:0", "0.0.0.0:80": "0.0.0.0:80", "[::1]:80": "[::1]:80", "localhost:080": "localhost:80",
	} {
		if got, err := Address(text); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}
