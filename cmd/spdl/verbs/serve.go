package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spdl/spdl/core/engine"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"github.com/spf13/cobra"
)

// serving is one run of serve.
type serving struct {
	*app
	description
	backing, access     string
	groups              []string
	state               string
	http                string
	fresh               bool
	journal             string
	child, listen       bool
	controlFD, parentFD int
	specFD, stateFD     int
}

func (a *app) serve() *cobra.Command {
	v := &serving{app: a}
	c := &cobra.Command{
		Use:   "serve SPEC|FOLDER|SHARDS",
		Short: "Decode a data set into a ring that programs attach to",
		Long: `Serve reads a description (docs/spec.md) or, without one, a folder of pictures (or videos, or sounds) whose directories are the classes,
or shards of them ('data/{0000..1023}.tar', quoted), or a directory of shards or a prefix in a store (s3://BUCKET/PREFIX, gs://BUCKET/PREFIX,
hf://datasets/USER/NAME), and publishes batches until it is stopped. Programs attach by the ring's name: spdl.attach("train") in Python,
spdl_attach("train", ...) in C.

Without consumers the engine fills the ring and rests. Each attached group sees every batch; groups declared with --group
exist from the first batch on and hold the ring back while nobody reads for them.

SIGINT, SIGTERM and SIGHUP stop it in good order: consumers are told, names are removed, the exit code is 0. Under nohup, or wherever
SIGHUP is ignored at the start, it goes on when the terminal closes.

A killed engine's ring (posix backing) is gone on with by the next engine of that name: completed batches do not come again,
attached consumers keep what they hold and, with ring.reconnect in the description, never notice. A ring that differs is refused
by name; --fresh begins anew, spdl clean removes it. With --journal FILE the position survives a reboot, too: batches completed in
the last half second before it may come again. After a stop in good order none does that every lane and group has completed: what nobody has begun with is left to the next
engine, and consumers have 5 s for what they hold. --state says where to go on instead.

With --http, or the description's key http, it shows a page of what it does and what is slow, metrics for Prometheus, traces and
profiles (docs/performance.md). There is no login: on another address than 127.0.0.1 whoever reaches the port sees the pictures.

Environment: SPDL_LOG (off, error, warn, info, debug), SPDL_LOG_FORMAT (text, json), SPDL_RUNTIME_DIR (where sockets are), SPDL_CACHE_DIR and
SPDL_CACHE_BYTES (where indexes and unpacked lists are kept, and how many bytes of them).`,
		Example: `  spdl serve /data/train --size 224 --batch 64
  spdl serve 's3://bucket/train-{0000..0146}.tar' --batch 64
  spdl serve 'gs://bucket/train-{0000..0146}.tar' --batch 64
  spdl serve 'hf://datasets/USER/NAME/train-*.tar' --batch 64
  spdl serve hf://datasets/USER/NAME
  spdl serve imagenet.yaml --cpus 8
  spdl serve /data/train --group train:lanes=4 --group eval,slow=drop
  spdl serve imagenet.yaml --state checkpoint.json
  spdl serve imagenet.yaml --http 8080
  spdl serve imagenet.yaml --journal /var/lib/spdl/imagenet.journal`,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), args) },
	}
	v.addFlags(c)
	f := c.Flags()
	f.StringVar(&v.backing, "backing", "", "posix: names in /dev/shm; memfd: nameless, sealed (default posix)")
	f.StringVar(&v.access, "access", "", "shared: any number of consumers, read-only; private: one, read-write (default shared)")
	f.StringArrayVar(&v.groups, "group", nil, "declare a group: NAME[:lanes=N][,slow=block|drop|detach][,redeliver=false]; repeatable")
	f.StringVar(&v.http, "http", "", "serve a page, metrics and traces over HTTP: HOST:PORT, or a port of 127.0.0.1; \"\": off (default: the description's, else off)")
	mayBeEmpty(f, "http")
	f.StringVar(&v.state, "state", "", "go on from a saved state, of several rings the first: a file, or the JSON itself")
	f.BoolVar(&v.fresh, "fresh", false, "begin anew: neither the ring of a killed engine nor the journal is gone on with")
	f.StringVar(&v.journal, "journal", "", "keep the position in this file, and go on from it")
	f.BoolVar(&v.child, "child", false, "serve the parent process alone")
	f.BoolVar(&v.listen, "listen", false, "child: let others attach by name, too")
	f.BoolVar(&v.asked, "asked", false, "child, of a folder or shards: which sample comes next is the parent's word")
	f.IntVar(&v.controlFD, "control-fd", -1, "child: the engine's end of the parent's socket pair")
	f.IntVar(&v.parentFD, "parent-fd", -1, "child: a pidfd of the parent")
	f.IntVar(&v.specFD, "spec-json-fd", -1, "child: a file with what --spec-json would have, where that is too long for a word")
	f.IntVar(&v.stateFD, "state-fd", -1, "child: likewise of --state")
	for _, hidden := range []string{"child", "listen", "asked", "control-fd", "parent-fd", "spec-json-fd", "state-fd"} {
		_ = f.MarkHidden(hidden)
	}
	return c
}

func (v *serving) run(ctx context.Context, args []string) error {
	if !v.inProcess {
		signal.Ignore(syscall.SIGPIPE) // a log nobody reads any more does not end the service
	}
	if v.child && (v.control == nil || v.parentFD < 3) {
		return usage("serve: --child needs --control-fd and --parent-fd; it is for spdl_open, not for people")
	}
	if err := v.takeTexts(); err != nil {
		return err
	}
	level := engine.Info
	if v.child {
		level = engine.Warn
	}
	log, err := v.logTo(level)
	if err != nil {
		return err
	}
	s, err := v.describe(ctx, args)
	if err != nil {
		return err
	}
	state, err := savedState("serve", v.state)
	if err != nil {
		return err
	}
	var parent int32
	if v.child {
		parent = shm.MadeBy(v.control)
	}
	progress := v.newOpening(log)
	e, err := engine.New(s, &engine.Options{Child: v.child, Parent: parent, State: state, Fresh: v.fresh, Journal: v.journal, Feed: v.feed, Log: log, Started: v.started,
		Context: ctx, Opened: progress.tell, Measured: progress.measured})
	progress.end()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) && !v.child {
		log.Infof("", "stopped before it had opened its sources")
		return nil
	}
	if err != nil {
		return missing(s, err)
	}
	defer e.Close()
	return v.runEngine(ctx, e, s, log)
}

// takeTexts reads what a parent has put into files, as it is too long for the command line.
func (v *serving) takeTexts() error {
	for flag, fd := range map[string]int{"spec-json": v.specFD, "state": v.stateFD} {
		switch {
		case !v.given(flag + "-fd"):
			continue
		case !v.child || fd < 3 || v.given(flag):
			return usage("serve: --%s-fd is for spdl_open, not for people; want --%s", flag, flag)
		}
		file := os.NewFile(uintptr(fd), flag)
		text, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("serve: --%s-fd: %w", flag, err)
		}
		if err := v.flags.Set(flag, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// runEngine decodes and serves until ctx ends, the parent is gone, or somebody asks for a stop. Decoding begins before all of
// the memory and the socket are there: the first batch is then ready for the first consumer.
func (v *serving) runEngine(ctx context.Context, e *engine.Engine, s *spec.Spec, log *engine.Log) error {
	page, err := v.serveHTTP(e, s, log)
	if err != nil {
		return err
	}
	defer page.Close()
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	server, gone, err := v.serveEngine(e, s)
	if err != nil {
		e.Stop()
		<-ran
		return err
	}
	v.announce(e, s, server, log)
	v.tellManager(serviceReady, log)
	select {
	case <-e.Ending():
	case <-gone:
		e.Stop()
	}
	v.tellManager(serviceStopping, log)
	err = <-ran
	if closing := server.Close(); err == nil {
		err = closing
	}
	log.Infof("", "stopped")
	return err
}

// tellManager notifies a service's manager. An engine that is a program's child, or in it, is none: the manager, if any, is the program's.
func (v *serving) tellManager(state string, log *engine.Log) {
	if v.child || v.inProcess {
		return
	}
	if err := notify(state); err != nil {
		log.Warnf("", "%v", err)
	}
}

// serveEngine opens the engine to consumers. gone is closed when the parent of a child is no more; nil for a service.
func (v *serving) serveEngine(e *engine.Engine, s *spec.Spec) (*shm.Server, <-chan struct{}, error) {
	if err := e.Reserved(); err != nil {
		return nil, nil, err
	}
	cfg := shm.ServerConfig{Name: s.Name, Mode: s.All()[0].Ring.Mode, ReconnectNS: reconnect(s)}
	if !v.child {
		server, err := shm.Listen(cfg, e.Services()...)
		return server, nil, err
	}
	server := shm.Serve(cfg, e.Services()...)
	if v.listen {
		var err error
		if server, err = shm.Listen(cfg, e.Services()...); err != nil {
			return nil, nil, err
		}
	}
	control := v.control
	v.control = nil // the server's from here on
	gone, err := server.Owner(control, os.NewFile(uintptr(v.parentFD), "parent"))
	if err != nil {
		_ = server.Close()
		return nil, nil, err
	}
	return server, gone, nil
}

// reconnect is the longest time that any ring asks for: they have one engine.
func reconnect(s *spec.Spec) (ns uint64) {
	for _, r := range s.All() {
		ns = max(ns, uint64(r.Ring.Reconnect))
	}
	return ns
}

// announce says in one line per ring that consumers may come.
func (v *serving) announce(e *engine.Engine, s *spec.Spec, server *shm.Server, log *engine.Log) {
	where := "child of its consumer"
	if server.Path() != "" {
		where = "socket " + server.Path()
	}
	for i, facts := range e.Facts() {
		ring, described := e.Ring(i).Info(), s.All()[i]
		log.Infof(facts.Name, "ready: %s; %s, %s an epoch; %d slots x %s, %s, %s access",
			where, counted(facts.Samples, "sample"), counted(facts.StepsPerEpoch, "batch"), ring.Slots, bytesText(ring.SlotBytes),
			described.Ring.Backing, described.Ring.Access)
	}
}

// describe reads the description and fills in what depends on how the engine is run.
func (v *serving) describe(ctx context.Context, args []string) (*spec.Spec, error) {
	s, err := v.read(ctx, "serve", args)
	if err != nil {
		return nil, err
	}
	for _, r := range s.All() {
		if err := v.memory(r); err != nil {
			return nil, err
		}
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// memory settles backing, access and groups of a ring.
func (v *serving) memory(r *spec.Spec) error {
	backing, access := spec.Posix, spec.Shared
	if v.child {
		backing = spec.Memfd
		if !v.listen {
			access = spec.Private
		}
	}
	for _, c := range []struct {
		flag, value string
		dst         *string
		usual       string
		choices     [2]string
	}{
		{"backing", v.backing, &r.Ring.Backing, backing, [2]string{spec.Posix, spec.Memfd}},
		{"access", v.access, &r.Ring.Access, access, [2]string{spec.Shared, spec.Private}},
	} {
		switch {
		case v.given(c.flag) && c.value != c.choices[0] && c.value != c.choices[1]:
			return usage("serve: --%s %q, want %s or %s", c.flag, c.value, c.choices[0], c.choices[1])
		case v.given(c.flag):
			*c.dst = c.value
		case *c.dst == "":
			*c.dst = c.usual
		}
	}
	return v.declare(r)
}

// declare puts the groups of the command line in place of the description's.
func (v *serving) declare(r *spec.Spec) error {
	if len(v.groups) == 0 {
		return nil
	}
	if r.Ring.Slots == max(8, 4*r.Members()+4) && !v.given("slots") {
		r.Ring.Slots = 0 // as many as nobody had said anything: chosen again for the new groups
	}
	r.Ring.Groups = nil
	for _, text := range v.groups {
		g, err := parseGroup(text)
		if err != nil {
			return err
		}
		r.Ring.Groups = append(r.Ring.Groups, g)
	}
	if !v.given("world-size") {
		r.World.Size = max(r.World.Size, r.World.Rank+r.Lanes())
	}
	return nil
}

// parseGroup reads NAME[:lanes=N][,slow=POLICY][,redeliver=BOOL].
func parseGroup(text string) (spec.Group, error) {
	const want = "want NAME[:lanes=N][,slow=block|drop|detach][,redeliver=false]"
	g := spec.Group{Mode: spec.Shared, Lanes: 1, Slow: spec.Block, Redeliver: true}
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == ':' || c == ',' })
	if len(parts) == 0 {
		return g, usage("serve: --group %q, %s", text, want)
	}
	g.Name = parts[0]
	said := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		if said[key] {
			return g, usage("serve: --group %q: got %s twice, want it once", text, key)
		}
		said[key] = true
		var err error
		ok := true
		switch key {
		case "lanes":
			g.Mode = spec.Lanes
			g.Lanes, err = strconv.Atoi(value)
			ok = g.Lanes >= 1 && g.Lanes <= shm.MaxLanes
		case "slow":
			g.Slow = value
			ok = value == spec.Block || value == spec.Drop || value == spec.Detach
		case "redeliver":
			g.Redeliver, err = strconv.ParseBool(value)
		default:
			ok = false
		}
		if err != nil || !ok {
			return g, usage("serve: --group %q: got %q, %s", text, part, want)
		}
	}
	return g, nil
}

// savedState is the position that --state gives, a file or the JSON itself; nil: none was given.
func savedState(verb, state string) ([]byte, error) {
	if state == "" {
		return nil, nil
	}
	if strings.HasPrefix(strings.TrimSpace(state), "{") {
		return []byte(state), nil
	}
	st, err := os.Stat(state)
	if err != nil {
		return nil, fmt.Errorf("%s: --state: %w", verb, err)
	}
	if !st.Mode().IsRegular() || st.Size() > sampler.MaxStateBytes {
		return nil, usage("%s: --state %q: want a file of JSON of at most %d bytes", verb, state, sampler.MaxStateBytes)
	}
	text, err := os.ReadFile(state)
	if err != nil {
		return nil, fmt.Errorf("%s: --state: %w", verb, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &because{fmt.Errorf("%s: --state %q: the file is empty, want the JSON of a saved state; name an older one, or begin at the start without --state",
			verb, state), shm.ErrState}
	}
	return text, nil
}
