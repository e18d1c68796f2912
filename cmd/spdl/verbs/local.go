package verbs

import (
	"context"
	"fmt"
	"os"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// local is an engine in this process with one consumer: check, view, bench, profile and replay look at data that way. Its ring is a
// memfd, so that nothing is left however the process ends.
type local struct {
	engine *engine.Engine
	server *shm.Server
	reader *shm.Reader
	ran    chan error
}

// open starts an engine for s, and attaches to its first ring. Declared groups are left out: with nobody reading for them they would
// hold the ring back. So is a device: what there is to see is in host memory.
func (a *app) open(ctx context.Context, s *spec.Spec, leases int) (*local, error) {
	return a.openAt(ctx, s, 0, nil, leases)
}

// openAt is open, from a global step on; the samples that faults name are bad.
func (a *app) openAt(ctx context.Context, s *spec.Spec, step int64, faults *engine.Faults, leases int) (*local, error) {
	for _, r := range append([]*spec.Spec{s}, s.Rings...) {
		r.Journal = "" // that of the engine which serves the description
	}
	return a.openWith(ctx, s, engine.Options{Step: step, Faults: faults}, leases)
}

// inOrder has the first batch come first, though another were ready before it.
func inOrder(s *spec.Spec) {
	for _, r := range s.All() {
		r.Ring.Delivery, r.Ring.Ahead = spec.Ordered, 0
	}
}

func (a *app) openWith(ctx context.Context, s *spec.Spec, o engine.Options, leases int) (*local, error) {
	for _, r := range append([]*spec.Spec{s}, s.Rings...) {
		r.Ring.Groups, r.Ring.Backing, r.Ring.Access = nil, spec.Memfd, spec.Private
	}
	log, err := a.logTo(engine.Off)
	if err != nil {
		return nil, err
	}
	progress := a.newOpening(log)
	o.Child, o.HostOnly, o.Log, o.Started, o.Context, o.Opened, o.Measured = true, true, log, a.started, ctx, progress.tell, progress.measured
	e, err := engine.New(s, &o)
	progress.end()
	if err != nil {
		return nil, missing(s, err)
	}
	l := &local{engine: e, ran: make(chan error, 1)}
	go func() { l.ran <- e.Run(ctx) }()
	if err := l.turnTo(ctx, 0, leases); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// turnTo leaves the ring in hand, if any, for another.
func (l *local) turnTo(ctx context.Context, ring, leases int) (err error) {
	l.leave()
	l.server = shm.Serve(shm.ServerConfig{}, l.engine.Services()[ring])
	l.reader, err = l.attach(ctx, leases)
	return err
}

func (l *local) leave() {
	if l.reader != nil {
		_ = l.reader.Close()
	}
	if l.server != nil {
		_ = l.server.Close()
	}
	l.reader, l.server = nil, nil
}

// attach joins the engine over a socket pair, as the parent of a child engine does.
func (l *local) attach(ctx context.Context, leases int) (*shm.Reader, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("spdl: socketpair: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "reader"), os.NewFile(uintptr(pair[1]), "engine")
	self, err := shm.SelfPIDFD()
	if err != nil {
		_, _ = ours.Close(), theirs.Close()
		return nil, err
	}
	if _, err := l.server.Owner(theirs, self); err != nil {
		_ = ours.Close()
		return nil, err
	}
	return shm.AttachFD(ctx, ours, shm.AttachOptions{MaxLeases: leases, Client: "spdl"})
}

// Close ends the consumer, then the engine. What ended the engine's run before was told to the consumer.
func (l *local) Close() {
	l.leave()
	l.engine.Stop()
	<-l.ran
	_ = l.engine.Close()
}
