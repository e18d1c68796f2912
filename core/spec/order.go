package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MostSamples is how many samples there may be, and numbers of an order that is asked for, in an epoch.
const MostSamples = 1 << 40

const (
	maxRepeat  = 1024
	maxBuckets = 1 << 16
	maxRows    = MostSamples
	maxWindow  = 1 << 30

	leastTotal, mostTotal = 1e-3, 1e15
)

// shuffle reads whether there is one. A number is the size of a buffer elsewhere.
func (s *section) shuffle(dst *bool) {
	const buffer = "; all samples are shuffled, without a buffer, and order: {window: 8} shuffles those of 8 shards at a time, so that reads stay together"
	if s.has("shuffle") {
		if n := s.values["shuffle"]; target(n).ShortTag() == "!!int" && target(n).Value != "0" && target(n).Value != "1" {
			s.fail("shuffle", "got %s, want true or false%s", describe(n), buffer)
		}
	}
	s.flag("shuffle", dst)
}

// numbersEnding tells a file of a number for each sample from a column.
const numbersEnding = ".npy"

// columnOrFile reads a column, or a file of a number for each sample, which is relative to dir.
func (s *section) columnOrFile(key string, column, file *string, dir string) {
	if !s.has(key) {
		return
	}
	*file = ""
	if target(s.values[key]).Kind == yaml.SequenceNode {
		s.fail(key, "got %s, want the name of a column, or the path of an .npy file with a number for each sample, which numpy.save writes", describe(s.values[key]))
		return
	}
	s.textOrNone(key, column)
	if ending(*column) != numbersEnding {
		return
	}
	name, err := Located(*column)
	if err == nil && isURL(name) {
		err = errors.New("got a URL, want a local file of a number for each sample")
	}
	if err != nil {
		s.fail(key, "%v", err)
	}
	*column, *file = resolve(name, dir)
}

// order reads the keys that say how the shuffle is done.
func (s *section) order(o *Order, dir string) {
	s.textOrNone("filter", &o.Filter)
	whole(s, "repeat", &o.Repeat, 1, maxRepeat)
	if s.flag("asked", &o.Asked); o.Asked && !s.has("shuffle") {
		o.Shuffle = false
	}
	whole(s, "rows", &o.Rows, 0, maxRows)
	whole(s, "window", &o.Window, 0, maxWindow)
	s.columnOrFile("weights", &o.Weights, &o.WeightsFile, dir)
	s.flag("replacement", &o.Replacement)
	s.textOrNone("balance", &o.Balance)
	s.textOrNone("stratify", &o.Stratify)
	s.columnOrFile("group", &o.Group, &o.GroupFile, dir)
	switch {
	case s.takenBack("buckets"):
		o.Buckets = noBuckets()
	case s.has("buckets"):
		s.buckets(&o.Buckets)
	}
}

// Kinds are the names of those keys that are set of which only one may be: window, weights, balance, stratify, group, buckets.
func (o *Order) Kinds() (set []string) {
	for _, k := range []struct {
		name string
		on   bool
	}{
		{"window", o.Window > 0}, {"weights", o.Weights != ""}, {"balance", o.Balance != ""},
		{"stratify", o.Stratify != ""}, {"group", o.Group != ""}, {"buckets", o.Buckets.By != "" || o.Buckets.Sizes != nil},
	} {
		if k.on {
			set = append(set, k.name)
		}
	}
	return set
}

func (d *decoder) checkOrder(o *Order, src *Source) {
	kinds := o.Kinds()
	switch mixed := src.Weighted(); {
	case mixed && len(kinds) > 0:
		d.failAt("order."+kinds[0], "got it with weights in source.mix, want one of the two")
	case mixed && !o.Shuffle:
		d.failAt("source.mix", "got weights with order.shuffle: false, want one of the two: a weighted mixture is shuffled")
	case len(kinds) > 1:
		d.failAt("order."+kinds[1], "got %s and %s, want one of them", kinds[0], kinds[1])
	case len(kinds) == 1 && !o.Shuffle:
		d.failAt("order."+kinds[0], "got it with shuffle: false, want one of the two: it is a way to shuffle")
	case o.Rows > 0 && o.Weights == "" && o.Balance == "" && !mixed:
		d.failAt("order.rows", "got %d without weights, balance or a weighted mix; an epoch of another order has as many rows as samples", o.Rows)
	case !o.Replacement && o.Weights == "":
		d.failAt("order.replacement", "got false without weights")
	}
}

// checkBuckets holds the rows of a bounded batch against the most that a slot has.
func (d *decoder) checkBuckets(b *Buckets, batch int) {
	switch {
	case b.MultipleOf > 1 && b.MaxTotal == 0:
		d.failAt("order.buckets.multiple_of", "got %d without max_total: every batch has the rows that batch says", b.MultipleOf)
	case b.MultipleOf > 1 && batch%b.MultipleOf != 0:
		d.failAt("order.buckets.multiple_of", "got %d, want a number that divides batch, %d, the most rows", b.MultipleOf, batch)
	}
}

// InOrder says that the program around the engine decides what comes next: its samples come one after the other, or their numbers.
func (s *Spec) InOrder() bool { return s.Source.Host.Stream || s.Order.Asked }

// checkInOrder refuses what asks for another order than the program's.
func (d *decoder) checkInOrder(s *Spec) {
	if !s.InOrder() {
		return
	}
	o := &s.Order
	own, instead := "with order.asked, where your program says which sample comes next", "leave one of the two out"
	if s.Source.Host.Stream {
		own, instead = "with source.host.stream, whose samples come in their own order", "leave it out, or bring them by index: samples: N in place of stream"
	}
	switch kinds := o.Kinds(); {
	case o.Asked && s.Source.Host.Samples > 0:
		d.failAt("order.asked", "given with source.host, whose samples your program brings; bring them in that order, with source.host.stream")
	case o.Asked && s.Source.Weighted():
		d.failAt("order.asked", "given with weights in source.mix, which draw what comes next; leave the weights out")
	case len(kinds) > 0:
		d.failAt("order."+kinds[0], "given %s; %s", own, instead)
	case o.Filter != "":
		d.failAt("order.filter", "given %s; leave them out in your program", own)
	case o.Repeat > 1:
		d.failAt("order.repeat", "got %d %s, each once; repeat them in your program", o.Repeat, own)
	case o.Shuffle:
		d.failAt("order.shuffle", "got true %s; want false, and shuffle in your program", own)
	case o.Last == LastPad:
		d.failAt("order.last", "got pad %s: at their end the first ones are gone; want cover or drop", own)
	case s.Ring.Delivery == Ready:
		d.failAt("ring.delivery", "got ready %s; want ordered", own)
	case !s.World.Auto && s.World.Size > 1:
		d.failAt("world.size", "got %d %s; want 1: each rank's program has the rank's own, as torch's IterableDataset does", s.World.Size, own)
	}
}

// A launcher starts training runs and tells each process through variables which rank it is.
type launcher struct {
	name                              string
	size, rank, localRank, localRanks string // the local ones count on this machine
}

var launchers = []launcher{
	{"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
	{"Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"MPI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
	{"Slurm", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", ""},
}

// ResolveWorld replaces world: auto by what the launcher of this process has put in its environment: torchrun, Open MPI, another MPI or
// Slurm, the first that is there; without any it is one rank. An engine with more than one lane serves its machine's ranks
// from the first on; with one, this process's rank. It changes nothing when the description gives size and rank.
func (s *Spec) ResolveWorld(getenv func(string) string) error {
	auto := false
	for _, r := range s.All() {
		if !r.World.Auto {
			continue
		}
		auto = true
		if err := r.resolveWorld(getenv); err != nil {
			return err
		}
	}
	if !auto {
		return nil // and nothing that Validate would have to see again
	}
	s.World.Auto = false
	return s.Validate()
}

func (s *Spec) resolveWorld(getenv func(string) string) error {
	s.World = World{Size: 1}
	i := slices.IndexFunc(launchers, func(l launcher) bool { return getenv(l.size) != "" })
	if i < 0 || s.InOrder() { // which is each rank's own
		return nil
	}
	l := launchers[i]
	number := func(name string, low, high int) (int, error) {
		v, err := strconv.Atoi(strings.TrimSpace(getenv(name)))
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("spec: world: auto: %s: $%s: got %.40q, want a whole number from %d to %d; "+
				"or give world: {size: N, rank: R}", l.name, name, getenv(name), low, high)
		}
		return v, nil
	}
	size, err := number(l.size, 1, maxWorld)
	if err != nil {
		return err
	}
	rank, err := number(l.rank, 0, size-1)
	if err != nil {
		return err
	}
	s.World = World{Size: size, Rank: rank}
	lanes := s.Lanes()
	if lanes == 1 {
		return nil
	}
	local, err := number(l.localRank, 0, rank)
	if err != nil {
		return err
	}
	if n := getenv(l.localRanks); n != "" && n != strconv.Itoa(lanes) {
		return fmt.Errorf("spec: world: auto: %s: $%s: got %s ranks on this machine, want %d as the lanes of ring.groups; change one of them",
			l.name, l.localRanks, n, lanes)
	}
	s.World.Rank = rank - local
	return nil
}
