package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/telemetry"
	"github.com/spdl/spdl/core/telemetry/web"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// sheetRows is how many pictures of a batch the page shows.
const sheetRows = 24

// site is an engine for package web to show.
type site struct{ engine *engine.Engine }

func (s site) Snapshot() telemetry.Snapshot {
	stats := s.engine.Stats()
	return stats.Snapshot()
}

func (s site) Record(ctx context.Context, d time.Duration) *telemetry.Trace {
	return s.engine.Record(ctx, d)
}

// Sheet draws the newest batch of a ring from a copy: no consumer has one less for it.
func (s site) Sheet(ring string) ([]byte, error) {
	for i, f := range s.engine.Facts() {
		if ring == "" || f.Name == ring {
			return drawPeeked(s.engine.Ring(i))
		}
	}
	return nil, fmt.Errorf("web: no ring %q here: %w", ring, web.ErrNothing)
}

func drawPeeked(r *shm.Ring) ([]byte, error) {
	p, err := r.Peek(sheetRows)
	if errors.Is(err, shm.ErrNotFound) {
		return nil, fmt.Errorf("web: %w: %w", err, web.ErrNothing)
	}
	if err != nil {
		return nil, err
	}
	d, err := renderingOf(r.Name(), p.Schema, p.Text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, web.ErrNothing)
	}
	page, _, err := d.draw(p, &p.Batch, p.Copied, 0)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, page); err != nil {
		return nil, fmt.Errorf("web: sheet: %w", err)
	}
	return out.Bytes(), nil
}

// serveHTTP opens the listener that --http or the description asks for; without either there is none.
func (v *serving) serveHTTP(e *engine.Engine, s *spec.Spec, log *engine.Log) (io.Closer, error) {
	address := s.HTTP
	if v.given("http") {
		address = v.http
	}
	if address == "" {
		return io.NopCloser(nil), nil
	}
	if _, err := web.Address(address); err != nil {
		return nil, usage("serve: --http: %v", err)
	}
	server, err := web.Listen(address, s.Name, site{e})
	if err != nil {
		return nil, &because{fmt.Errorf("serve: %w", err), listenKind(err)}
	}
	log.Infof("", "page at %s", server.URL())
	if !server.Loopback() {
		log.Warnf("", "%s is open to whoever reaches it: pictures, profiles and traces without a login", server.URL())
	}
	return server, nil
}

// listenKind is the exit code's reason for a listener that there is not.
func listenKind(err error) error {
	var name *net.DNSError
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return shm.ErrBusy
	case errors.Is(err, unix.EACCES):
		return shm.ErrDenied
	case errors.Is(err, unix.EADDRNOTAVAIL), errors.As(err, &name), strings.Contains(err.Error(), "no such host"):
		return shm.ErrNotFound
	}
	return err
}
