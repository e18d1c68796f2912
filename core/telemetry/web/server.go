package web

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spdl/spdl/core/telemetry"
)

// Source is the engine that is looked at. Its methods are called from several goroutines.
type Source interface {
	Snapshot() telemetry.Snapshot
	// Sheet is a PNG of the newest batch of a ring, the first ring for "". It returns an error that wraps ErrNothing
	// where there is none to show.
	Sheet(ring string) ([]byte, error)
	// Record records for so long, or until ctx ends.
	Record(ctx context.Context, d time.Duration) *telemetry.Trace
}

// ErrNothing is wrapped by what Source returns when a ring is unknown, has no batch yet or no pictures.
var ErrNothing = errors.New("nothing to show")

// MaxTrace is the longest recording.
const MaxTrace = 60 * time.Second

//go:embed page.html
var files embed.FS

// Server is the listener of one engine.
type Server struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
}

// Address is where to listen for what a person writes: HOST:PORT, or PORT alone for the loopback interface. Port 0 is any
// free one.
func Address(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.ContainsAny(text, ":[]") {
		host, port, err = "", text, nil
	}
	n, bad := strconv.ParseUint(port, 10, 16)
	if err != nil || bad != nil || strings.ContainsAny(host, " /\t") {
		return "", fmt.Errorf("web: address %q, want HOST:PORT such as 127.0.0.1:8080, or a port from 0 to 65535 alone", text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// Listen begins to serve at an address in the form that Address takes. name is the engine's, for the page's title.
func Listen(address, name string, source Source) (*Server, error) {
	where, err := Address(address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", where)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("web: listen %s: %w; choose another address or port", where, err)
	}
	s := &Server{listener: listener, served: make(chan struct{})}
	s.http = &http.Server{
		Handler: s.guard(Handler(name, source)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // about peers that speak no HTTP
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ErrServerClosed, or the listener's end, which is ours
	}()
	return s, nil
}

// URL is where people find the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Loopback says that only this machine reaches the listener.
func (s *Server) Loopback() bool {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// Close hangs up on everybody and waits for the listener to end.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	return err
}

// guard lets only reading through, and to a loopback listener only requests for a loopback host.
func (s *Server) guard(next http.Handler) http.Handler {
	loopback := s.Loopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, fmt.Sprintf("web: method %s, want GET", r.Method), http.StatusMethodNotAllowed)
		case loopback && !loopbackHost(r.Host):
			http.Error(w, fmt.Sprintf("web: host %q, want localhost or a loopback address", r.Host), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// Handler is everything but the listener's guard.
func Handler(name string, source Source) http.Handler {
	h := &handler{name: name, source: source}
	m := http.NewServeMux()
	m.HandleFunc("/{$}", h.page)
	m.HandleFunc("/status.json", h.status)
	m.HandleFunc("/metrics", h.metrics)
	m.HandleFunc("/sheet.png", h.sheet)
	m.HandleFunc("/trace", h.trace)
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/cmdline", program)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return m
}

type handler struct {
	name    string
	source  Source
	tracing sync.Mutex // one recording at a time

	mu    sync.Mutex           // guards shots
	shots []telemetry.Snapshot // of the last seconds, oldest first
}

// program stands in for pprof's command line, of which its tools want the program alone: arguments may hold what is secret, such as
// signed addresses.
func program(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, os.Args[0])
}

func (h *handler) page(w http.ResponseWriter, _ *http.Request) {
	page, err := files.ReadFile("page.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
	_, _ = w.Write(page)
}

// Status is the answer of /status.json.
type Status struct {
	Name    string             `json:"name"`
	PID     int                `json:"pid"`
	UptimeS float64            `json:"uptime_s"`
	Now     telemetry.Interval `json:"now"` // about the last two seconds
	Always  telemetry.Interval `json:"since_start"`
}

// How far apart the snapshots of an interval are.
const (
	shotEvery = 400 * time.Millisecond
	shotAge   = 2 * time.Second
	shotOld   = 10 * time.Second
)

func (h *handler) status(w http.ResponseWriter, r *http.Request) {
	before, now, err := h.interval(r.Context())
	if err != nil {
		return // who asked is gone
	}
	text, err := json.Marshal(Status{
		Name: h.name, PID: now.PID, UptimeS: now.UptimeS, Now: telemetry.Between(before, now), Always: telemetry.Between(telemetry.Snapshot{}, now),
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n'))
}

// interval is the newest snapshot and one of about two seconds before. Pages share them: however many ask, the engine is
// looked at a few times a second.
func (h *handler) interval(ctx context.Context) (before, now telemetry.Snapshot, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if n := len(h.shots); n == 0 || age(&h.shots[n-1]) >= shotEvery {
			h.shots = append(h.shots, h.source.Snapshot())
		}
		now = h.shots[len(h.shots)-1]
		for len(h.shots) > 1 && time.Duration(now.AtNs-h.shots[0].AtNs) > shotOld {
			h.shots = h.shots[1:]
		}
		if len(h.shots) > 1 {
			break
		}
		select { // nobody has looked for a while: look twice
		case <-time.After(shotEvery):
		case <-ctx.Done():
			return before, now, ctx.Err()
		}
	}
	before = h.shots[0]
	for _, s := range h.shots[:len(h.shots)-1] {
		if time.Duration(now.AtNs-s.AtNs) >= shotAge {
			before = s
		}
	}
	return before, now, nil
}

func (h *handler) metrics(w http.ResponseWriter, _ *http.Request) {
	s := h.source.Snapshot()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = telemetry.WriteMetrics(w, &s) // fails when who asked is gone
}

func (h *handler) sheet(w http.ResponseWriter, r *http.Request) {
	picture, err := h.source.Sheet(r.URL.Query().Get("ring"))
	switch {
	case errors.Is(err, ErrNothing):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(picture)
}

func (h *handler) trace(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("seconds")
	if text == "" {
		text = "5"
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0 && seconds <= MaxTrace.Seconds()) {
		http.Error(w, fmt.Sprintf("web: trace: seconds %q, want a number above 0 and up to %g", text, MaxTrace.Seconds()), http.StatusBadRequest)
		return
	}
	if !h.tracing.TryLock() {
		http.Error(w, "web: trace: another recording is under way; try again when it is over", http.StatusConflict)
		return
	}
	defer h.tracing.Unlock()
	t := h.source.Record(r.Context(), time.Duration(seconds*float64(time.Second)))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="spdl-trace.json"`)
	_ = telemetry.WriteTrace(w, t) // fails when who asked is gone
}
