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
	handler  *handler
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
	listener, err := listenAt(address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, handler: newHandler(name, source), served: make(chan struct{})}
	s.http = &http.Server{
		Handler: s.guard(s.handler), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog:  log.New(io.Discard, "", 0), // about peers that speak no HTTP
		ConnState: (&crowd{members: map[net.Conn]member{}}).changed,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // ErrServerClosed, or the listener's end, which is ours
	}()
	return s, nil
}

// Try says why Listen would not get its address; nil: it would.
func Try(address string) error {
	listener, err := listenAt(address)
	if err != nil {
		return err
	}
	return listener.Close()
}

func listenAt(address string) (net.Listener, error) {
	where, err := Address(address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen(network(where), where)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("web: listen %s: %w; choose another address or port", where, err)
	}
	return listener, nil
}

// network keeps an address of IPv4 to IPv4: 0.0.0.0 alone would open the port on IPv6, too.
func network(address string) string {
	if where, err := netip.ParseAddrPort(address); err == nil && where.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// URL is where people find the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Loopback says that only this machine reaches the listener.
func (s *Server) Loopback() bool {
	a, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// Close hangs up on everybody, waits for the listener to end, and takes no further snapshot.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.served
	s.handler.shots.close()
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

// newHandler is everything but the listener's guard.
func newHandler(name string, source Source) *handler {
	h := &handler{name: name, source: source, shots: shots{pace: usual, take: source.Snapshot}}
	m := http.NewServeMux()
	h.Handler = m
	m.HandleFunc("/{$}", h.page)
	m.HandleFunc("/status.json", h.status)
	m.HandleFunc("/metrics", h.metrics)
	m.HandleFunc("/healthz", h.health)
	m.HandleFunc("/sheet.png", h.sheet)
	m.HandleFunc("/trace", h.trace)
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/cmdline", program)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return h
}

type handler struct {
	http.Handler
	name    string
	source  Source
	shots   shots
	tracing sync.Mutex // one recording at a time
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
	Now     telemetry.Interval `json:"now"` // about the last two seconds; its Seconds says how long
	Always  telemetry.Interval `json:"since_start"`
}

func (h *handler) status(w http.ResponseWriter, r *http.Request) {
	before, now, err := h.shots.interval(r.Context())
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

func (h *handler) metrics(w http.ResponseWriter, _ *http.Request) {
	s := h.source.Snapshot()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = telemetry.WriteMetrics(w, &s) // fails when who asked is gone
}

// health is for probes: 200 while every ring runs or has ended in good order, else 503 with the rings that do not, and why.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	var failed []string
	for _, r := range h.source.Snapshot().Rings {
		if r.State == "failed" {
			failed = append(failed, fmt.Sprintf("ring %q: failed: %s", r.Name, r.Error))
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	if len(failed) > 0 {
		http.Error(w, strings.Join(failed, "\n"), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
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
