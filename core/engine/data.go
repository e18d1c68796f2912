package engine

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/zeebo/xxh3"
)

// dataOf says which samples a ring's source has; "" where it does not know. Of a weighted mixture the weights belong to it, as they do to the
// description's source.
func dataOf(s *spec.Spec, src source.Source) sampler.Data {
	known, ok := src.(source.Fingerprinted)
	if !ok {
		return ""
	}
	print, ok := known.Fingerprint()
	if !ok {
		return ""
	}
	return sampler.DataOf(print.Names, print.Labels, weightsOf(&s.Source))
}

// weightsOf is a hash of a mixture's weights; 0: it has none.
func weightsOf(s *spec.Source) uint64 {
	if !s.Weighted() {
		return 0
	}
	var all strings.Builder
	for i := range s.Mix {
		for _, phase := range s.Mix[i].Weights {
			fmt.Fprintf(&all, "%d:%d:%g\n", i, phase.Epoch, phase.Weight)
		}
	}
	return xxh3.HashString(all.String())
}
