package spec

import (
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Only says which samples of a source there are, in what order.
type Only struct {
	Numbers        // those of these numbers
	From, To int64 // where there are none: [From, To); -1: up to the end
}

// ofRange is FROM:TO, as Python has it, of which either may be left out.
var ofRange = regexp.MustCompile(`^([0-9]{0,13}):([0-9]{0,13})$`)

// only reads a file, a range or a list of whole numbers.
func (s *section) only(dir string) *Only {
	n := target(s.values["only"])
	m := ofRange.FindStringSubmatch(n.Value)
	if n.Kind == yaml.ScalarNode && m == nil && n.ShortTag() != "!!str" {
		s.fail("only", "got %s, want FROM:TO such as \":45000\", the path of a file of numbers, or a list of them", describe(n))
		return nil
	}
	if n.Kind != yaml.ScalarNode || m == nil {
		return &Only{Numbers: s.numbers("only", dir), To: -1}
	}
	o := &Only{To: -1}
	if m[1] != "" {
		o.From, _ = strconv.ParseInt(m[1], 10, 64)
	}
	if m[2] != "" {
		o.To, _ = strconv.ParseInt(m[2], 10, 64)
	}
	if o.To >= 0 && o.To <= o.From {
		s.fail("only", "got %s, which is no sample; want FROM:TO, the numbers from FROM up to TO, without TO itself", n.Value)
	}
	return o
}

// canonicalOnly is which samples there are in the canonical form. What a file says the engine adds, wherever it lies.
type canonicalOnly struct {
	Given []int64 `json:"given,omitempty"`
	File  bool    `json:"file,omitempty"`
	From  int64   `json:"from,omitempty"`
	To    int64   `json:"to,omitempty"`
}

func (o *Only) canonical() *canonicalOnly {
	if o == nil {
		return nil
	}
	return &canonicalOnly{slices.Clone(o.Given), o.File != "", o.From, o.To}
}
