package sampler

import (
	"fmt"
	"regexp"
	"strings"
)

// Data says which samples a data set has, as a text that states carry: the version of how its hashes are made, then hashes, with colons between: of the samples'
// names, of their labels, and of the weights of a mixture, where it has any. "" is not known.
type Data string

// dataVersion changes when the hashes of an unchanged data set do. States of different versions are not compared by them.
const dataVersion = "1"

// validData is what any version may write.
var validData = regexp.MustCompile(`^([0-9]{1,4}(:[0-9a-f]{1,32}){1,8})?$`)

// DataOf is of the hashes of the names, labels and weights; weights is 0 where there are none.
func DataOf(names, labels, weights uint64) Data {
	d := fmt.Sprintf("%s:%016x:%016x", dataVersion, names, labels)
	if weights != 0 {
		d += fmt.Sprintf(":%016x", weights)
	}
	return Data(d)
}

// comparable tells whether two can be compared: both are known, and made in one way.
func (d Data) comparable(with Data) bool {
	version, _, _ := strings.Cut(string(d), ":")
	return version != "" && strings.HasPrefix(string(with), version+":")
}

// hash is one of the hashes, or empty.
func (d Data) hash(k int) string {
	if all := strings.Split(string(d), ":"); k+1 < len(all) {
		return all[k+1]
	}
	return ""
}

// differs says the first thing in which a state's data set is another one than now's, of the same size; "": in nothing. same says that the
// descriptions' sources are equal.
func (d Data) differs(now Data, same bool) string {
	under := ""
	if same {
		under = " under the same description"
	}
	for k, what := range []string{"other samples" + under + ", or another order of them, by their names", "other labels or classes of the same samples", "other weights of source.mix"} {
		if was, is := d.hash(k), now.hash(k); was != is {
			return fmt.Sprintf("%s (hash %.8s, now %.8s)", what, orNone(was), orNone(is))
		}
	}
	return ""
}

func orNone(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash
}
