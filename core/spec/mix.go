package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	maxMixed  = 1024
	maxPhases = 1024
	maxWeight = 1e9
)

// Part is one data set of a mixture.
type Part struct {
	Source
	Weights []Phase // ascending, the first from epoch 0; nil: in proportion to its samples
}

// Phase is the weight of a part from an epoch on; 0 leaves it out.
type Phase struct {
	Epoch  int64
	Weight float64
}

// Weighted reports whether the mixture has weights; without, the data sets are one behind the other.
func (s *Source) Weighted() bool {
	return slices.ContainsFunc(s.Mix, func(p Part) bool { return p.Weights != nil })
}

// mix reads the data sets of a mixture.
func (d *decoder) mix(s *section, dir string) (parts []Part) {
	entries := s.items("mix", "a list of data sets, each with folder, list or shards", maxMixed)
	if len(entries) == 0 {
		s.fail("mix", "got no entry, want a list of data sets, each with folder, list or shards")
	}
	for i, n := range entries {
		entry := fmt.Sprintf("mix[%d]", i)
		d.pos[join(s.place, entry)] = placeOf(n, join(s.shown, entry))
		sec := d.section(n, "source.mix[]", join(s.shown, entry), join(s.place, entry))
		p := Part{Source: defaultSource()}
		d.place(&sec, &p.Source, dir)
		if sec.has("weight") {
			p.Weights = d.phases(&sec)
		}
		parts = append(parts, p)
	}
	for i := range parts {
		if d.err == nil && (parts[i].Weights == nil) != (parts[0].Weights == nil) {
			d.fail(entries[i], fmt.Sprintf("%s[%d]", join(s.shown, "mix"), i), "weight is given for some data sets and not for others; want all or none")
		}
	}
	return parts
}

// phases reads a weight, or a mapping of weights by the epoch from which they hold.
func (d *decoder) phases(s *section) (all []Phase) {
	n := target(s.values["weight"])
	if n.Kind != yaml.MappingNode {
		p := Phase{}
		s.number("weight", &p.Weight, 0, maxWeight)
		return []Phase{p}
	}
	shown := join(s.shown, "weight")
	for i := 0; i+1 < len(n.Content) && len(all) < maxPhases; i += 2 {
		p := Phase{}
		p.Epoch, _ = d.whole(numberKey(n.Content[i]), shown, 0, maxEpochs)
		p.Weight, _ = d.number(n.Content[i+1], fmt.Sprintf("%s.%d", shown, p.Epoch), 0, maxWeight)
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Phase) int { return int(min(max(a.Epoch-b.Epoch, -1), 1)) })
	for i := range all {
		if i == 0 && all[0].Epoch != 0 || i > 0 && all[i].Epoch == all[i-1].Epoch {
			s.fail("weight", "got epochs that do not begin with 0 or come twice; want each once, such as {0: 3, 10: 1}")
		}
	}
	if len(all) == 0 || len(n.Content) > 2*maxPhases {
		s.fail("weight", "got %d weights, want 1 to %d", len(n.Content)/2, maxPhases)
	}
	return all
}

// numberKey is a key as a number where it is the text of one: keys of JSON, and so of a Python dict, are always text.
func numberKey(n *yaml.Node) *yaml.Node {
	t := target(n)
	if t.Kind != yaml.ScalarNode || t.ShortTag() != "!!str" || !decimal.MatchString(t.Value) {
		return n
	}
	number := *t
	number.Tag, number.Style = "!!int", 0
	return &number
}
