package engine

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/spdl/spdl/core/sampler"
)

// maxGroups is how many values order.group may tell apart.
const maxGroups = 1 << 16

// A GroupReport tells what order.group makes of a ring's samples.
type GroupReport struct {
	Samples []int64 // of each group, in the order of their first samples
	Rows    int64   // of a full step over all ranks
	Short   int64   // steps of an epoch that are not full
}

// Groups tells of the groups of ring i; nil where there are none. It may be called between New and Close.
func (e *Engine) Groups(i int) *GroupReport {
	bounded, is := e.rings[i].order.Config().Cut.(*sampler.Bounded)
	if !is || e.spec.All()[i].Order.Group == "" {
		return nil
	}
	report := &GroupReport{Rows: e.rings[i].order.GlobalBatch()}
	for _, b := range bounded.Buckets() {
		report.Samples = append(report.Samples, b.Samples)
		if b.Samples*e.spec.All()[i].Order.Repeat%b.Rows > 0 {
			report.Short++
		}
	}
	return report
}

// grouped orders the places [0, n) so that the samples of a batch are of one group. The hash of the order has the group of each sample, by the first sample of each, so that
// a state fits as long as the same are together, whatever they are called.
func (p *orderPlan) grouped(n int64) (sampler.Sequence, error) {
	value, from, err := p.groups()
	if err != nil {
		return nil, err
	}
	known, groups := map[any]uint16{}, make([]uint16, n)
	var word [2]byte
	for place := range groups {
		v := value(p.sample(int64(place)))
		if f, is := v.(float64); is && math.IsNaN(f) { // equal to nothing, so no group
			return nil, p.refused("group", from, int64(place), v, "a number or text")
		}
		group, is := known[v]
		if !is {
			if len(known) == maxGroups {
				return nil, fmt.Errorf("group: %s: got more than %d values by sample %d, want groups of many samples each: round the numbers, or leave group out", from, maxGroups, p.sample(int64(place)))
			}
			group = uint16(len(known))
			known[v] = group
		}
		groups[place] = group
		binary.LittleEndian.PutUint16(word[:], group)
		p.facts.Write(word[:])
	}
	rows := make([]int64, len(known))
	for i := range rows {
		rows[i] = p.global
	}
	if p.bounded, err = sampler.NewApart(groups, rows, p.spec.Repeat, p.spec.Seed); err != nil {
		return nil, err
	}
	return p.bounded, nil
}

// groups is how to look a sample's group up, and where it is from.
func (p *orderPlan) groups() (value func(sample int64) any, from string, err error) {
	if p.spec.GroupFile == "" {
		value, err = p.column("group", p.spec.Group)
		return value, shownColumn(p.spec.Group), err
	}
	all, err := numbersIn(p.spec.GroupFile, p.source.Len())
	if err != nil {
		return nil, "", fmt.Errorf("group: %w", err)
	}
	return func(sample int64) any { return all[sample] }, fmt.Sprintf("%q", p.spec.GroupFile), nil
}
