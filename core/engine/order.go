package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/spelling"
)

// hashBytes of a SHA-256 are enough to tell two descriptions apart, and keep a state short.
const hashBytes = 8

// orderOf plans which sample comes next, for world ranks to share: the description's own, or others that share the same steps. The states of two
// orders fit when their hashes are equal: those of the data set, of the description's order, and where it names columns, of what they say.
// Of batches of pictures of similar shape, shapes finds out how large each is.
func orderOf(s *spec.Spec, world int, src source.Source, parts []int64, shapes *shapes) (*sampler.Order, error) {
	from, order := s.SourceHash(), s.OrderHash()
	p := orderPlan{spec: &s.Order, source: src, parts: parts, shapes: shapes, global: int64(s.Batch) * int64(s.World.Size), world: int64(s.World.Size), facts: sha256.New()}
	p.facts.Write(order[:])
	n := src.Len()
	if s.Order.Asked {
		n = spec.MostSamples // nobody knows
	}
	c := sampler.Config{
		N: n, Batch: int(p.global) / world, World: world, FirstRank: s.World.Rank, Lanes: s.Lanes(),
		Shuffle: s.Order.Shuffle, Seed: s.Order.Seed, Epochs: s.Order.Epochs, Last: sampler.Last(s.Order.Last),
		SourceHash: fmt.Sprintf("%x", from[:hashBytes]), OrderHash: fmt.Sprintf("%x", order[:hashBytes]), Data: dataOf(s, src),
	}
	if s.Source.Weighted() {
		p.mix = s.Source.Mix
	}
	if p.mix != nil || s.Order.Filter != "" || s.Order.Repeat > 1 || len(s.Order.Kinds()) > 0 {
		var err error
		var unread *source.Error
		if c.Sequence, err = p.sequence(); errors.As(err, &unread) || errors.Is(err, context.Canceled) {
			return nil, fmt.Errorf("engine: ring %q: order: buckets: looking at the size of pictures: %w", s.FullName(), err)
		}
		if err != nil {
			return nil, describedWrongly{fmt.Errorf("engine: ring %q: order: %w", s.FullName(), err)}
		}
		c.OrderHash = fmt.Sprintf("%x", p.facts.Sum(nil)[:hashBytes])
		if p.bounded != nil {
			c.Cut = p.bounded
			if s.Order.Buckets.MaxTotal > 0 {
				c.Budget = p.budget()
			}
		}
	}
	return sampler.New(c)
}

// orderPlan makes the sequence of an order that is not plain.
type orderPlan struct {
	spec   *spec.Order
	source source.Source
	mix    []spec.Part  // of a weighted mixture; else nil
	parts  []int64      // samples of each of the mixture's data sets
	global int64        // rows of a step over all ranks
	world  int64        // those of the description
	ids    *sampler.IDs // the samples that the filter leaves; nil: all
	facts  hash.Hash    // of every value that decides the order
	word   [8]byte      // the one that is written there next
	shapes *shapes      // of the samples' pictures

	bounded *sampler.Bounded // which has cut its steps and repeated its samples itself; nil: the order is of another kind
}

func (p *orderPlan) sequence() (sampler.Sequence, error) {
	var s sampler.Sequence
	var err error
	if p.spec.Filter != "" {
		if p.ids, err = p.filter(); err != nil {
			return nil, err
		}
		s, err = sampler.Subset(p.ids, p.shuffle)
	} else {
		s, err = p.shuffle(p.source.Len())
	}
	if err != nil || p.bounded != nil {
		return s, err
	}
	return sampler.Repeat(s, p.spec.Repeat)
}

// sample is the sample at a place of what the filter left.
func (p *orderPlan) sample(place int64) int64 {
	if p.ids == nil {
		return place
	}
	return p.ids.At(place)
}

// shuffle orders the places [0, n).
func (p *orderPlan) shuffle(n int64) (sampler.Sequence, error) {
	o := p.spec
	switch {
	case p.mix != nil:
		return p.mixture(n)
	case o.Window > 0:
		return sampler.Window(p.shards(n), o.Window, o.Seed)
	case o.Weights != "":
		weights, err := p.weights(n)
		if err != nil {
			return nil, err
		}
		return sampler.Weighted(scaled(weights), o.Rows, o.Replacement, o.Seed)
	case o.Balance != "":
		strata, err := p.strata("balance", o.Balance, n)
		for i := range strata {
			strata[i].Weight = 1
		}
		if err != nil {
			return nil, err
		}
		return sampler.Mix(strata, o.Rows, p.global, o.Seed)
	case o.Stratify != "":
		strata, err := p.strata("stratify", o.Stratify, n)
		if err != nil {
			return nil, err
		}
		return sampler.Mix(strata, 0, p.global, o.Seed)
	case o.Group != "":
		return p.grouped(n)
	case o.Buckets.Sizes != nil:
		return p.apart(n)
	case o.Buckets.MaxTotal > 0:
		return p.bound(n)
	case o.Buckets.By != "":
		return p.byLength(n)
	case o.Shuffle:
		return sampler.Shuffled(n, o.Seed), nil
	}
	return sampler.Sequential(n), nil
}

// shards is how many places each shard has; a source without shards is one.
func (p *orderPlan) shards(n int64) []int64 {
	var starts []int64
	if sharded, ok := p.source.(source.Sharded); ok {
		starts = sharded.Shards()
	}
	if len(starts) == 0 {
		return []int64{n}
	}
	lens := make([]int64, len(starts))
	if p.ids == nil { // every place is a sample's own: no need to walk them, of which there may be billions
		for i, end := len(starts)-1, n; i >= 0; i-- {
			lens[i], end = end-starts[i], starts[i]
		}
		return lens
	}
	for place := range n {
		next, found := slices.BinarySearch(starts, p.sample(place))
		if !found {
			next--
		}
		lens[next]++
	}
	return lens
}

// column is how to look a column up without reading samples.
func (p *orderPlan) column(key, name string) (func(sample int64) any, error) {
	if _, late := p.source.(*source.Host); late && (name == "label" || name == "key") {
		return nil, fmt.Errorf("%s: %s is not known before a sample of source.host is read; want index", key, name)
	}
	switch name {
	case "label":
		return func(i int64) any { return p.source.Label(i) }, nil
	case "index":
		return func(i int64) any { return i }, nil
	case "key":
		return func(i int64) any { return string(p.source.Key(i, nil)) }, nil
	case "part":
		if c, ok := p.source.(source.Columnar); ok && len(p.parts) > 0 && slices.ContainsFunc(c.Columns(), func(c source.Column) bool { return c.Name == name }) {
			return nil, fmt.Errorf("%s: part is the number of a data set in the mixture, and a column of source.columns as well; give the column another name, such as {name: piece, from: part}", key)
		}
	}
	names := []string{"label", "index", "key"}
	if known, ok := p.source.(source.Knowing); ok {
		if f := known.Known(name); f != nil {
			return f, nil
		}
		if known.Known("part") != nil {
			names = append(names, "part")
		}
	}
	always := strings.Join(names, ", ")
	if c, ok := p.source.(source.Columnar); ok {
		all := c.Columns()
		for _, c := range all {
			names = append(names, c.Name)
		}
		if k := slices.IndexFunc(all, func(c source.Column) bool { return c.Name == name && c.Shaped() }); k >= 0 {
			return nil, fmt.Errorf("%s: column %q holds an array a sample, want one number or text; name another column, such as one of its length", key, name)
		}
	}
	hint := ""
	if near := spelling.Nearest(name, names); near != "" && near != name {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	file := ""
	if key == "weights" || key == "group" {
		file = fmt.Sprintf(", or a file of a number for each sample, such as %s.npy", key)
	}
	return nil, fmt.Errorf("%s: column %q is not known without reading the samples; want %s, or a column of "+
		"source.columns of a table (.csv, .jsonl, .parquet, .npz) or of Arrow%s%s", key, name, always, file, hint)
}

// limits are the smallest and the largest number that a column may hold; NaN lies between no two numbers.
type limits struct {
	low, high float64
	want      string
}

var (
	weightRange = limits{0, math.MaxFloat32, "a number from 0 to 3.4e38"}
	lengthRange = limits{-1 << 63, 0x1p63 - 1024, "a number of 64 bits"}
	boundRange  = limits{0, math.MaxFloat64, "a finite number, 0 or more"} // of lengths with a bound
)

// refused is the error of a sample whose value, in a column or a file, cannot be ordered by.
func (p *orderPlan) refused(key, from string, place int64, got any, want string) error {
	i := p.sample(place)
	return fmt.Errorf("%s: %s: sample %d %q: got %v, want %s; mend the value, or leave such samples out with order.filter",
		key, from, i, store.Shown(string(p.source.Key(i, nil))), got, want)
}

func shownColumn(name string) string { return fmt.Sprintf("column %q", name) }

// numbers hands on a column's values by place, which decide the order themselves.
func (p *orderPlan) numbers(key, name string, in limits, n int64, set func(place int64, v float64)) error {
	return p.values(key, name, in, n, func(place int64, v float64) {
		p.decides(v)
		set(place, v)
	})
}

// decides takes note of a number that the order goes by.
func (p *orderPlan) decides(v float64) {
	binary.LittleEndian.PutUint64(p.word[:], math.Float64bits(v))
	p.facts.Write(p.word[:])
}

// values hands on a column's values by place.
func (p *orderPlan) values(key, name string, in limits, n int64, set func(place int64, v float64)) error {
	column, err := p.column(key, name)
	if err != nil {
		return err
	}
	for place := range n {
		v, is := numberOf(column(p.sample(place)))
		if !is {
			return fmt.Errorf("%s: column %q holds text, want numbers; give it type: f64 or i64 in source.columns", key, name)
		}
		if !(v >= in.low && v <= in.high) {
			return p.refused(key, shownColumn(name), place, v, in.want)
		}
		set(place, v)
	}
	return nil
}

// numberOf is a column's value as a number; false: it is a text.
func numberOf(value any) (float64, bool) {
	switch x := value.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// scaled are weights as the sampler has them. All are multiplied by the power of two that makes the largest as large as it may be, which changes
// no draw and leaves room below; what is smaller still is not 0.
func scaled(weights []float64) []float32 {
	_, exponent := math.Frexp(slices.Max(weights))
	all := make([]float32, len(weights))
	for i, w := range weights {
		if all[i] = float32(math.Ldexp(w, 127-exponent)); w > 0 {
			all[i] = max(all[i], math.SmallestNonzeroFloat32)
		}
	}
	return all
}

// strata are the places by the value of a column, in ascending order of the values.
func (p *orderPlan) strata(key, name string, n int64) ([]sampler.Stratum, error) {
	column, err := p.column(key, name)
	if err != nil {
		return nil, err
	}
	lists := map[any]*sampler.IDs{}
	for place := range n {
		v := column(p.sample(place))
		if f, ok := v.(float64); ok && math.IsNaN(f) { // equal to nothing, so no value to group by
			return nil, p.refused(key, shownColumn(name), place, v, "a number or text")
		}
		fmt.Fprintf(p.facts, "%v\x00", v)
		if lists[v] == nil {
			lists[v] = sampler.NewIDs(0, n)
		}
		lists[v].Add(place)
	}
	strata := make([]sampler.Stratum, 0, len(lists))
	for _, list := range lists {
		strata = append(strata, sampler.Stratum{IDs: list})
	}
	// By first sample: a rule that needs no order among values of any type.
	slices.SortFunc(strata, func(a, b sampler.Stratum) int { return int(a.IDs.At(0) - b.IDs.At(0)) })
	return strata, nil
}

// mixture draws from the data sets by their weights, which change at the epochs that the description says.
func (p *orderPlan) mixture(n int64) (sampler.Sequence, error) {
	sets := make([]*sampler.IDs, len(p.mix))
	part, end := 0, p.parts[0]
	for place := range n {
		for p.sample(place) >= end {
			part++
			end += p.parts[part]
		}
		if sets[part] == nil {
			sets[part] = sampler.NewIDs(0, n)
		}
		sets[part].Add(place)
	}
	var from []int64
	for i := range p.mix {
		for _, phase := range p.mix[i].Weights {
			from = append(from, phase.Epoch)
		}
	}
	slices.Sort(from)
	from = slices.Compact(from)
	rows := p.spec.Rows
	if rows == 0 {
		rows = n
	}
	var phases []sampler.Sequence
	for _, epoch := range from {
		s, err := p.phase(sets, epoch, rows)
		if err != nil {
			return nil, err
		}
		phases = append(phases, s)
	}
	return sampler.Phased(from, phases)
}

// phase is the mixture as it is from an epoch on.
func (p *orderPlan) phase(sets []*sampler.IDs, epoch, rows int64) (sampler.Sequence, error) {
	var strata []sampler.Stratum
	for i := range p.mix {
		weight := 0.0
		for _, w := range p.mix[i].Weights {
			if w.Epoch <= epoch {
				weight = w.Weight
			}
		}
		if weight > 0 && sets[i] == nil {
			return nil, fmt.Errorf("source.mix[%d]: has a weight of %g from epoch %d on, and the filter leaves none of its samples", i, weight, epoch)
		}
		if weight > 0 {
			strata = append(strata, sampler.Stratum{IDs: sets[i], Weight: weight})
		}
	}
	if strata == nil {
		return nil, fmt.Errorf("source.mix: every weight is 0 from epoch %d on", epoch)
	}
	return sampler.Mix(strata, rows, p.global, p.spec.Seed)
}

// filter is the samples for which the expression is true.
func (p *orderPlan) filter() (*sampler.IDs, error) {
	f, err := p.compile()
	if err != nil {
		return nil, err
	}
	n := p.source.Len()
	ids := sampler.NewIDs(0, n)
	for i := range n {
		for name, column := range f.columns {
			f.env[name] = column(i)
		}
		keep, err := f.machine.Run(f.program, f.env)
		if err != nil {
			return nil, fmt.Errorf("filter: sample %d: %w", i, err)
		}
		is, ok := keep.(bool)
		if !ok {
			return nil, fmt.Errorf("filter: %q: sample %d: got %v, want true or false", p.spec.Filter, i, keep)
		}
		if is {
			ids.Add(i)
			fmt.Fprintf(p.facts, "%d\x00", i)
		}
	}
	if ids.Len() == 0 {
		return nil, fmt.Errorf("filter: %q is true for none of %d samples", p.spec.Filter, n)
	}
	return ids, nil
}

// A predicate is a compiled filter with the columns that it names.
type predicate struct {
	program *vm.Program
	machine vm.VM
	columns map[string]func(int64) any
	env     map[string]any
}

func (p *orderPlan) compile() (*predicate, error) {
	refused := func(err error) error {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("filter: %q: %s; want an expression such as label in [1, 5] && index < 1000", p.spec.Filter, text)
	}
	tree, err := parser.Parse(p.spec.Filter)
	if err != nil {
		return nil, refused(err)
	}
	names := identifiers{}
	ast.Walk(&tree.Node, names)
	f := &predicate{columns: map[string]func(int64) any{}, env: map[string]any{}}
	for name := range names {
		column, err := p.column("filter", name)
		if err != nil {
			return nil, err
		}
		f.columns[name], f.env[name] = column, column(0)
	}
	if f.program, err = expr.Compile(p.spec.Filter, expr.Env(f.env), expr.AsBool()); err != nil {
		return nil, refused(err)
	}
	return f, nil
}

// identifiers collects the names that an expression uses.
type identifiers map[string]bool

func (names identifiers) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.IdentifierNode); ok {
		names[n.Value] = true
	}
}
