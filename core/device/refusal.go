package device

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Refusal is what an uploader says of a batch when the device does not decode some of its files: the engine makes the batch again, and
// decodes these itself.
type Refusal struct {
	Rows []int // ascending; nil: every row
	Once bool  // another time the device may decode them
	Why  string
}

// maxRefusal bounds the text of rows, so that a refusal is short enough for the control socket.
const maxRefusal = 3000

const (
	everyRow = "every row"
	someRows = "rows"
	once     = "once"
)

// String is the refusal as it travels: "rows 3 7-9: why", "every row once: why".
func (r Refusal) String() string {
	head := someRows + ranges(r.Rows)
	if len(r.Rows) == 0 || len(head) > maxRefusal {
		head = everyRow
	}
	if r.Once {
		head += " " + once
	}
	return head + ": " + r.Why
}

// ranges are numbers in ascending order, those in a row as the first and the last.
func ranges(rows []int) string {
	var b strings.Builder
	for i := 0; i < len(rows); {
		n := i + 1
		for n < len(rows) && rows[n] == rows[n-1]+1 {
			n++
		}
		fmt.Fprintf(&b, " %d", rows[i])
		if n > i+1 {
			fmt.Fprintf(&b, "-%d", rows[n-1])
		}
		i = n
	}
	return b.String()
}

// Each calls for every refused row of a batch of so many.
func (r Refusal) Each(rows int, row func(int)) {
	for i := range rows {
		if _, named := slices.BinarySearch(r.Rows, i); named || r.Rows == nil {
			row(i)
		}
	}
}

// ParseRefusal reads what String wrote.
func ParseRefusal(text string) (r Refusal, err error) {
	bad := func() (Refusal, error) {
		return Refusal{}, fmt.Errorf("device: refusal %q, want %s N ... or %s, and why", text, someRows, everyRow)
	}
	head, why, found := strings.Cut(text, ": ")
	r.Why = why
	head, r.Once = strings.CutSuffix(head, " "+once)
	if !found {
		return bad()
	}
	if head == everyRow {
		return r, nil
	}
	words := strings.Fields(head)
	if len(words) < 2 || words[0] != someRows {
		return bad()
	}
	for _, word := range words[1:] {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil {
			return bad()
		}
		for row := first; row <= last; row++ {
			r.Rows = append(r.Rows, int(row))
		}
	}
	if len(r.Rows) == 0 || !slices.IsSorted(r.Rows) {
		return bad()
	}
	return r, nil
}
