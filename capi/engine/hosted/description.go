package hosted

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/spelling"
)

// The kinds of stages.
const (
	KindSource       = "source"
	KindMap          = "map"
	KindAggregator   = "aggregator"
	KindAggregate    = "aggregate"
	KindDisaggregate = "disaggregate"
	KindVariants     = "variants"
	KindMerge        = "merge"
	KindSink         = "sink"
)

// Description is a whole pipeline as it is written.
type Description struct {
	Name       string
	Continuous bool
	Failures   *Failures // of the whole pipeline; nil: only the stages' own
	Stages     []Stage
}

// Stage is one stage. What its kind does not have is zero.
type Stage struct {
	Name        string
	Kind        string
	Buffer      int
	Concurrency int
	InputOrder  bool
	Failures    *Failures // nil: the first failure ends the pipeline
	Retries     Retries
	DeadlineMs  int64
	N           int
	DropLast    bool
	Batched     bool
	Paths       [][]Stage // of variants
	Inputs      [][]Stage // of a merge
	Policy      string
	Weights     []float64
	Seed        uint64
	Stop        string
}

// Failures is what a stage forgives, in core/pipeline's words.
type Failures struct {
	MaxCount  int
	MaxRate   float64
	Probation int
}

// Retries says how often a failed work is offered again.
type Retries struct {
	Max          int
	BackoffMs    int64
	MaxBackoffMs int64
}

const (
	defaultBuffer  = 2
	maxConcurrency = 4096
	maxBuffer      = 1 << 20
	maxPaths       = 256
	maxMs          = 1 << 40
)

var hostKeys = []string{"concurrency", "output", "failures", "retries", "deadline_ms"}

// keysOf are the keys of each kind beside name and kind.
var keysOf = map[string][]string{
	KindSource:       append([]string{"buffer"}, hostKeys...),
	KindMap:          append([]string{"buffer"}, hostKeys...),
	KindAggregator:   {"buffer", "failures"},
	KindAggregate:    {"buffer", "n", "drop_last"},
	KindDisaggregate: {"buffer"},
	KindVariants:     append([]string{"buffer", "paths", "batched"}, hostKeys...),
	KindMerge:        {"buffer", "inputs", "policy", "weights", "seed", "stop"},
	KindSink:         {"buffer"},
}

var kinds = []string{KindSource, KindMap, KindAggregator, KindAggregate, KindDisaggregate, KindVariants, KindMerge, KindSink}

// ParseDescription reads and checks a description. Its errors are *SpecError.
func ParseDescription(text string) (*Description, error) {
	root, doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	r := &reader{doc: doc, names: map[string]bool{}}
	d := &Description{}
	o := r.object(root, []string{"name", "stages", "continuous", "failures"})
	d.Name = o.text("name", "pipeline")
	d.Continuous = o.flag("continuous")
	d.Failures = o.failures()
	d.Stages = r.chain(o.need("stages"), true)
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

// reader turns nodes into a description. The first error stays; after it nothing matters any more.
type reader struct {
	doc   *document
	names map[string]bool
	err   error
}

func (r *reader) fail(n *node, format string, args ...any) {
	if r.err == nil {
		r.err = r.doc.errorf(n, format, args...)
	}
}

// An object is a JSON object whose keys are known.
type object struct {
	r    *reader
	node *node
	keys map[string]*node
}

func (r *reader) object(n *node, known []string) object {
	o := object{r: r, node: n, keys: map[string]*node{}}
	members, ok := n.value.([]member)
	if !ok {
		r.fail(n, "got %s, want an object with %s", n.got(), strings.Join(known, ", "))
		return o
	}
	for _, m := range members {
		if !slices.Contains(known, m.key) && r.err == nil {
			r.err = r.doc.errorAt(m.offset, m.value.path, "unknown key%s; valid here: %s", didYouMean(m.key, known), strings.Join(known, ", "))
		}
		o.keys[m.key] = m.value
	}
	return o
}

func didYouMean(written string, words []string) string {
	if near := spelling.Nearest(written, words); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// need is the value of a key that may not be left out.
func (o object) need(key string) *node {
	n := o.keys[key]
	if n == nil {
		o.r.fail(o.node, "key %q is missing", key)
		return &node{value: []*node{}}
	}
	return n
}

func (o object) text(key, otherwise string) string {
	n := o.keys[key]
	if n == nil {
		return otherwise
	}
	text, ok := n.value.(string)
	if !ok || text == "" || strings.ContainsRune(text, 0) || len(text) > 256 {
		o.r.fail(n, "got %s, want text of 1 to 256 bytes", n.got())
	}
	return text
}

func (o object) word(key string, words ...string) string {
	n := o.keys[key]
	if n == nil {
		return words[0]
	}
	word, ok := n.value.(string)
	if !ok || !slices.Contains(words, word) {
		o.r.fail(n, "got %s, want %s%s", n.got(), strings.Join(words, ", "), didYouMean(word, words))
	}
	return word
}

func (o object) flag(key string) bool {
	n := o.keys[key]
	if n == nil {
		return false
	}
	flag, ok := n.value.(bool)
	if !ok {
		o.r.fail(n, "got %s, want true or false", n.got())
	}
	return flag
}

func (o object) whole(key string, otherwise, low, high int64) int64 {
	n := o.keys[key]
	if n == nil {
		return otherwise
	}
	number, _ := n.value.(json.Number)
	v, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil || v < low || v > high {
		o.r.fail(n, "got %s, want a whole number, %d to %d", n.got(), low, high)
	}
	return v
}

func (o object) seed() uint64 {
	n := o.keys["seed"]
	if n == nil {
		return 0
	}
	number, _ := n.value.(json.Number)
	v, err := strconv.ParseUint(number.String(), 10, 64)
	if err != nil {
		o.r.fail(n, "got %s, want a whole number, 0 to %d", n.got(), uint64(math.MaxUint64))
	}
	return v
}

func (r *reader) number(n *node, low, high float64) float64 {
	number, _ := n.value.(json.Number)
	v, err := number.Float64()
	if err != nil || !(v >= low && v <= high) {
		r.fail(n, "got %s, want a number, %g to %g", n.got(), low, high)
	}
	return v
}

func (r *reader) list(n *node, low, high int) []*node {
	list, ok := n.value.([]*node)
	if !ok || len(list) < low || len(list) > high {
		got := n.got()
		if ok {
			got = fmt.Sprintf("a list of %d", len(list))
		}
		r.fail(n, "got %s, want a list of %d to %d", got, low, high)
		return nil
	}
	return list
}

func (o object) failures() *Failures {
	n := o.keys["failures"]
	if n == nil {
		return nil
	}
	f := o.r.object(n, []string{"max_count", "max_rate", "probation"})
	out := &Failures{
		MaxCount:  int(f.whole("max_count", 0, -1, math.MaxInt32)),
		Probation: int(f.whole("probation", 0, 0, math.MaxInt32)),
	}
	if rate := f.keys["max_rate"]; rate != nil {
		out.MaxRate = o.r.number(rate, 0, 1)
	}
	return out
}

func (o object) retries() Retries {
	n := o.keys["retries"]
	if n == nil {
		return Retries{}
	}
	r := o.r.object(n, []string{"max", "backoff_ms", "max_backoff_ms"})
	out := Retries{Max: int(r.whole("max", 0, 0, 1000)), BackoffMs: r.whole("backoff_ms", 0, 0, maxMs)}
	out.MaxBackoffMs = r.whole("max_backoff_ms", max(out.BackoffMs, 30_000), out.BackoffMs, maxMs)
	return out
}

// chain reads stages that follow each other. One with a head begins with a source or a merge.
func (r *reader) chain(n *node, whole bool) []Stage {
	least := 1
	if !whole {
		least = 0 // a path may pass its items on as they are
	}
	list := r.list(n, least, 1024)
	stages := make([]Stage, 0, len(list))
	for i, item := range list {
		if r.err != nil {
			break
		}
		s := r.stage(item)
		head := s.Kind == KindSource || s.Kind == KindMerge
		switch {
		case whole && i == 0 && !head:
			r.fail(item, "the first stage is a %s, want a source or a merge", s.Kind)
		case head && (i > 0 || !whole):
			r.fail(item, "a %s, want it first in stages or in an input of a merge", s.Kind)
		case s.Kind == KindSink && i < len(list)-1:
			r.fail(item, "a sink, want it last")
		}
		stages = append(stages, s)
	}
	return stages
}

// inner reads the chains of a variants or a merge stage, which have no sink.
func (r *reader) inner(n *node, low int, whole bool) [][]Stage {
	var chains [][]Stage
	for _, item := range r.list(n, low, maxPaths) {
		chain := r.chain(item, whole)
		if len(chain) > 0 && chain[len(chain)-1].Kind == KindSink {
			r.fail(item, "ends with a sink; only the whole pipeline has one")
		}
		chains = append(chains, chain)
	}
	return chains
}

func (r *reader) stage(n *node) Stage {
	all := []string{"name", "kind"}
	kind := KindMap
	if members, ok := n.value.([]member); ok {
		for _, m := range members {
			if word, isText := m.value.value.(string); m.key == "kind" && isText {
				kind = word
			}
		}
	}
	keys, ok := keysOf[kind]
	if !ok {
		r.fail(n, "kind is %.60q, want one of %s%s", kind, strings.Join(kinds, ", "), didYouMean(kind, kinds))
	}
	o := r.object(n, append(all, keys...))
	o.need("name")
	o.need("kind")
	s := Stage{Name: o.text("name", ""), Kind: o.word("kind", kinds...)}
	if r.names[s.Name] {
		r.fail(n, "the name %q is taken; give each stage its own", s.Name)
	}
	r.names[s.Name] = true
	s.Buffer = int(o.whole("buffer", defaultBuffer, 1, maxBuffer))
	s.Concurrency = int(o.whole("concurrency", 1, 1, maxConcurrency))
	s.InputOrder = o.word("output", "completion", "input") == "input"
	s.Failures = o.failures()
	s.Retries = o.retries()
	s.DeadlineMs = o.whole("deadline_ms", 0, 1, maxMs)
	r.special(&s, o)
	return s
}

// special reads the keys that one kind alone has.
func (r *reader) special(s *Stage, o object) {
	switch s.Kind {
	case KindAggregate:
		o.need("n")
		s.N = int(o.whole("n", 1, 1, maxBuffer))
		s.DropLast = o.flag("drop_last")
	case KindVariants:
		s.Paths = r.inner(o.need("paths"), 1, false)
		s.Batched = o.flag("batched")
	case KindMerge:
		s.Inputs = r.inner(o.need("inputs"), 1, true)
		s.Policy = o.word("policy", "arrival", "round_robin", "weighted")
		s.Stop = o.word("stop", "all", "first")
		s.Seed = o.seed()
		s.Weights = r.weights(s, o)
	}
}

func (r *reader) weights(s *Stage, o object) []float64 {
	n := o.keys["weights"]
	if (n != nil) != (s.Policy == "weighted") {
		r.fail(o.node, "weights and policy weighted come together; give both or neither")
	}
	if n == nil || r.err != nil {
		return nil
	}
	var weights []float64
	for _, w := range r.list(n, len(s.Inputs), len(s.Inputs)) {
		v := r.number(w, 0, math.MaxFloat32)
		if v == 0 {
			r.fail(w, "got 0, want a weight above 0")
		}
		weights = append(weights, v)
	}
	return weights
}
