// Package spelling finds the name, or the path, that was meant, for messages that ask "did you mean", and shows texts of others in a message.
package spelling

import "strings"

// Nearest is the name with the fewest edits from what was written, in any case, if that is near enough to be meant: at most
// two edits, or a third of the word, and less than half of the longer one. Where none is, what was written may be a name and something more, or
// the last word of one name. "" where no name is near.
func Nearest(written string, names []string) string {
	best, fewest := "", max(2, len(written)/3)+1
	for _, n := range names {
		if d := Edits(strings.ToLower(written), strings.ToLower(n)); d < fewest && 2*d < max(len(written), len(n)) {
			best, fewest = n, d
		}
	}
	if best == "" {
		best = beginningOf(written, names)
	}
	if best == "" {
		best = endingIn("_"+strings.ToLower(written), names)
	}
	return best
}

// beginningOf is the longest name that a word begins with, as batch is of batch_size; "" where there is none.
func beginningOf(written string, names []string) (longest string) {
	for _, n := range names {
		if len(n) > max(2, len(longest)) && strings.HasPrefix(written, n) {
			longest = n
		}
	}
	return longest
}

// endingIn is the one name with that ending; "" where there is none, or several.
func endingIn(ending string, names []string) (one string) {
	for _, n := range names {
		if strings.HasSuffix(n, ending) {
			if one != "" {
				return ""
			}
			one = n
		}
	}
	return one
}

// longest bounds what is compared: a longer word is nobody's slip.
const longest = 64

// Edits counts the insertions, deletions, replacements and swaps of neighbours that make b of a, in bytes.
func Edits(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
