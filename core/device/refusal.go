package device

import (
	"fmt"
	"strconv"
	"strings"
)

// Refusal is what an uploader says of a batch when the device does not decode some of its files: the engine makes the batch again, and
// decodes these itself.
type Refusal struct {
	Rows []int // ascending; nil: every row
	Why  string
}

// maxRefused bounds the rows that are named, so that a refusal is short enough for the control socket.
const maxRefused = 500

// String is the refusal as it travels.
func (r Refusal) String() string {
	if len(r.Rows) == 0 || len(r.Rows) > maxRefused {
		return "every row: " + r.Why
	}
	var rows strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintf(&rows, " %d", row)
	}
	return fmt.Sprintf("rows%s: %s", rows.String(), r.Why)
}

// Each calls for every refused row of a batch of so many.
func (r Refusal) Each(rows int, row func(int)) {
	if r.Rows == nil {
		for i := range rows {
			row(i)
		}
	}
	for _, i := range r.Rows {
		if i < rows {
			row(i)
		}
	}
}

// ParseRefusal reads what String wrote.
func ParseRefusal(text string) (r Refusal, err error) {
	rows, why, found := strings.Cut(text, ": ")
	if !found {
		return r, fmt.Errorf("device: refusal %q, want rows and why", text)
	}
	if r.Why = why; rows == "every row" {
		return r, nil
	}
	words := strings.Fields(rows)
	if len(words) < 2 || words[0] != "rows" {
		return r, fmt.Errorf("device: refusal %q, want rows N ... or every row", text)
	}
	for _, word := range words[1:] {
		row, err := strconv.Atoi(word)
		if err != nil || row < 0 {
			return r, fmt.Errorf("device: refusal %q: row %q", text, word)
		}
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}
