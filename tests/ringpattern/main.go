// Command ringpattern is a producer without pictures: it publishes batches whose payload is a pattern, so that
// consumers in any language can be tested and can verify every byte.
//
//	ringpattern --name demo --slots 8 --bytes 4096 --batches 100 --epochs 2 --groups train:lanes,eval
//
// Tensors: "x", uint8 [rows, bytes], every 8 bytes of it the ticket as a little-endian u64 (a rest of less than 8
// bytes is left as it is); "index", int64 [rows], the place in the data set ((epoch_step * lanes + lane) * rows + row);
// "key", ragged bytes, "t<ticket>r<row>"; "status", uint8 [rows], 0.
//
// It prints "ready PATH" when consumers may attach, and at the end one JSON line per group: the ledger. It ends when
// every epoch is published and each consumer has left, on SIGTERM or SIGINT, when asked to stop over the control socket, or,
// as a child, with its parent:
//
//	ringpattern serve SPEC --child --control-fd 3 --parent-fd 4 --batches 100
//
// SPEC is ignored, except that one containing "refuse" is refused, for tests of start-up errors.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spdl/spdl/shm"
)

// options are the command line.
type options struct {
	name, backing, access, groups string
	slots, bytes, rows, lanes     int
	batches, epochs, first        uint64
	rate                          float64
	consumers                     int
	mode                          uint
	keep, noRedeliver             bool
	adopt                         bool
	reconnect                     time.Duration
	fail                          string
	child                         bool
	controlFD, parentFD           int
	state, specJSON               string
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ringpattern:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("ringpattern", flag.ContinueOnError)
	f.StringVar(&o.name, "name", "pattern", "name of the engine and its ring")
	f.StringVar(&o.backing, "backing", "memfd", "memfd or posix")
	f.StringVar(&o.access, "access", "shared", "shared or private")
	f.StringVar(&o.groups, "groups", "", "declared groups: NAME[:lanes][:drop|:detach],...")
	f.IntVar(&o.slots, "slots", 8, "slots of the ring")
	f.IntVar(&o.bytes, "bytes", 4096, "bytes per row of tensor x")
	f.IntVar(&o.rows, "rows", 4, "rows per batch")
	f.IntVar(&o.lanes, "lanes", 1, "lanes of the ring")
	f.Uint64Var(&o.batches, "batches", 100, "batches per lane and epoch")
	f.Uint64Var(&o.epochs, "epochs", 1, "epochs; 0: endless")
	f.Uint64Var(&o.first, "first-ticket", 0, "where tickets begin: a multiple of lanes x batches")
	f.Float64Var(&o.rate, "rate", 0, "batches per second; 0: as fast as slots come free")
	f.IntVar(&o.consumers, "max-consumers", 16, "consumers at most")
	f.UintVar(&o.mode, "mode", 0o600, "of segments and socket: 0600 or 0640")
	f.BoolVar(&o.keep, "keep", false, "go on after the last epoch until stopped")
	f.BoolVar(&o.noRedeliver, "no-redeliver", false, "drop what dead consumers held")
	f.BoolVar(&o.adopt, "adopt", false, "posix: go on with the ring that a killed one left")
	f.DurationVar(&o.reconnect, "reconnect", 0, "how long consumers look for a restarted one")
	f.StringVar(&o.fail, "fail", "", "fail with this text after the last batch")
	f.BoolVar(&o.child, "child", false, "be the child engine of a client")
	f.IntVar(&o.controlFD, "control-fd", -1, "child: the engine's end of the socketpair")
	f.IntVar(&o.parentFD, "parent-fd", -1, "child: a pidfd of the parent")
	f.StringVar(&o.state, "state", "", "resume from this state, as spdl_state_save gave it")
	f.StringVar(&o.specJSON, "spec-json", "", "ignored, as SPEC is")
	spec := ""
	if len(args) > 0 && args[0] == "serve" {
		args = args[1:]
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			spec, args = args[0], args[1:]
		}
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.child {
		o.access = "private"
		f.Visit(func(v *flag.Flag) {
			if v.Name == "access" {
				o.access = v.Value.String()
			}
		})
	}
	if strings.Contains(spec+o.specJSON, "refuse") {
		return o, &shm.Error{Status: shm.ErrSpec, Text: fmt.Sprintf("spec: %q: refused, as its name asks", spec+o.specJSON)}
	}
	return o, nil
}

func (o *options) config() (shm.Config, error) {
	rows, bytes := int64(o.rows), int64(o.bytes)
	u8, i64 := shm.DType{Code: 1, Bits: 8, Lanes: 1}, shm.DType{Code: 0, Bits: 64, Lanes: 1}
	cfg := shm.Config{
		Name: o.name, Slots: o.slots, BatchRows: o.rows, Lanes: o.lanes, World: o.lanes, MaxConsumers: o.consumers,
		Mode: os.FileMode(o.mode), NSamples: o.batches * uint64(o.lanes*o.rows), GlobalBatch: uint64(o.lanes * o.rows),
		StepsPerEpoch: o.batches, Epochs: o.epochs, FirstTicket: o.first, Text: []byte(`{"classes":["a","b"],"producer":"ringpattern"}`),
		Tensors: []shm.Tensor{
			{Name: "x", Kind: shm.Dense, Role: shm.RoleField, DType: u8, Shape: []int64{rows, bytes}},
			{Name: "index", Kind: shm.Dense, Role: shm.RoleIndex, DType: i64, Shape: []int64{rows}},
			{Name: "key", Kind: shm.Ragged, Role: shm.RoleKey, DType: u8, Values: rows * 128},
			{Name: "status", Kind: shm.Dense, Role: shm.RoleStatus, DType: u8, Shape: []int64{rows}},
		},
	}
	cfg.Adopt = o.adopt
	cfg.Backing = map[string]shm.Backing{"memfd": shm.Memfd, "posix": shm.Posix}[o.backing]
	cfg.Access = map[string]shm.Access{"shared": shm.Shared, "private": shm.Private}[o.access]
	if cfg.Backing == 0 || cfg.Access == 0 || o.batches == 0 {
		return cfg, fmt.Errorf("backing %q, access %q, %d batches: want memfd or posix, shared or private, at least 1", o.backing, o.access, o.batches)
	}
	for _, text := range strings.FieldsFunc(o.groups, func(c rune) bool { return c == ',' }) {
		part := strings.Split(text, ":")
		g := shm.GroupConfig{Name: part[0], NoRedeliver: o.noRedeliver}
		for _, p := range part[1:] {
			switch p {
			case "lanes":
				g.Mode = shm.ModeLanes
			case "drop":
				g.Slow = shm.SlowDrop
			case "detach":
				g.Slow = shm.SlowDetach
			default:
				return cfg, fmt.Errorf("group %q: %q, want lanes, drop or detach", text, p)
			}
		}
		cfg.Groups = append(cfg.Groups, g)
	}
	return cfg, nil
}

func run(args []string, out io.Writer) error {
	o, err := parse(args)
	if err == nil {
		var cfg shm.Config
		if cfg, err = o.config(); err == nil {
			return serve(o, cfg, out)
		}
	}
	return refuseOwner(o, err)
}

// refuseOwner tells the parent, if there is one, why there is no engine.
func refuseOwner(o *options, err error) error {
	if o != nil && o.child && err != nil {
		return errors.Join(err, shm.RefuseOwner(os.NewFile(uintptr(o.controlFD), "control"), err))
	}
	return err
}

func serve(o *options, cfg shm.Config, out io.Writer) error {
	ring, err := shm.Create(cfg)
	if err != nil {
		return refuseOwner(o, err)
	}
	defer ring.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	p, err := newProducer(o, ring, stop)
	if err != nil {
		return refuseOwner(o, err)
	}
	server, err := p.listen(cfg, out)
	if err != nil {
		return refuseOwner(o, err)
	}
	defer server.Close()
	err = p.produce(ctx)
	ring.Stop()
	ledger := json.NewEncoder(out)
	for _, g := range append(ring.PastGroups(), ring.Groups()...) {
		if err := ledger.Encode(g); err != nil {
			return err
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, shm.ErrClosed) {
		return nil
	}
	return err
}

// listen serves over a socket of our own or over the one inherited from the parent.
func (p *producer) listen(cfg shm.Config, out io.Writer) (*shm.Server, error) {
	service := shm.Service{Ring: p.ring, Control: p}
	if !p.o.child {
		server, err := shm.Listen(shm.ServerConfig{Name: p.o.name, Mode: cfg.Mode, ReconnectNS: uint64(p.o.reconnect)}, service)
		if err != nil {
			return nil, err
		}
		_, err = fmt.Fprintln(out, "ready", server.Path())
		return server, err
	}
	server := shm.Serve(shm.ServerConfig{}, service)
	gone, err := server.Owner(os.NewFile(uintptr(p.o.controlFD), "control"), os.NewFile(uintptr(p.o.parentFD), "parent"))
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	go func() {
		<-gone
		p.stop()
	}()
	return server, nil
}
