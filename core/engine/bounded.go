package engine

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source/store"
)

// budget is what a step may have over all ranks.
func (p *orderPlan) budget() sampler.Budget {
	b := &p.spec.Buckets
	return sampler.Budget{Rows: p.global, Total: b.MaxTotal * float64(p.world), Multiple: int64(b.MultipleOf) * p.world}
}

// byLength orders the places [0, n) in batches of similar length.
func (p *orderPlan) byLength(n int64) (sampler.Sequence, error) {
	lengths, fractions := make([]float64, n), false
	err := p.numbers("buckets.by", p.spec.Buckets.By, lengthRange, n, func(place int64, v float64) {
		lengths[place], fractions = v, fractions || v != math.Trunc(v)
	})
	if err != nil {
		return nil, err
	}
	if fractions { // which earlier builds cut off: a state of theirs is of another order
		fmt.Fprint(p.facts, "fractions\x00")
	}
	buckets, err := sampler.ByLength(lengths, p.spec.Buckets.Count)
	if err != nil {
		return nil, err
	}
	return sampler.Bucketed(buckets, p.global, p.spec.Seed)
}

// bound orders the places [0, n) by length, in batches whose rows x longest are bounded. The hash of the order has the rows of each bucket's steps
// in place of the bound, so that a state fits as long as these are the same.
func (p *orderPlan) bound(n int64) (sampler.Sequence, error) {
	lengths := make([]float64, n)
	err := p.numbers("buckets.by", p.spec.Buckets.By, boundRange, n, func(place int64, v float64) { lengths[place] = v })
	if err == nil {
		err = p.checkLongest(lengths)
	}
	if err != nil {
		return nil, err
	}
	buckets, err := sampler.ByLength(lengths, p.spec.Buckets.Count)
	if err != nil {
		return nil, err
	}
	if p.bounded, err = sampler.NewBounded(lengths, buckets, p.spec.Repeat, p.budget(), p.spec.Seed); err != nil {
		return nil, err
	}
	for _, b := range p.bounded.Buckets() {
		fmt.Fprintf(p.facts, "%d\x00", b.Rows)
	}
	return p.bounded, nil
}

// checkLongest refuses samples of which not even the fewest rows have room in a batch.
func (p *orderPlan) checkLongest(lengths []float64) error {
	b, budget := &p.spec.Buckets, p.budget()
	longest, many := 0, 0
	for place, length := range lengths {
		if budget.Fit(length) > 0 {
			continue
		}
		if many++; many == 1 || length > lengths[longest] {
			longest = place
		}
	}
	if many == 0 {
		return nil
	}
	which, bound := "", ""
	if many > 1 {
		which = fmt.Sprintf(", the longest of %d that are too long", many)
	}
	if b.MultipleOf > 1 {
		bound = fmt.Sprintf(" over multiple_of, %d", b.MultipleOf)
	}
	i := p.sample(int64(longest))
	return fmt.Errorf("buckets.max_total: column %q: sample %d %q: got a length of %s%s, want at most max_total, %s%s; raise max_total to %s, or leave such samples out with order.filter",
		b.By, i, store.Shown(string(p.source.Key(i, nil))), plain(lengths[longest]), which, plain(b.MaxTotal), bound, plain(math.Ceil(lengths[longest]*float64(b.MultipleOf))))
}

// plain is a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
