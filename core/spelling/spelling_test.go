package spelling

import (
	"strings"
	"testing"
)

// Near misses find the name that was meant; words far from every name find none.
func TestNearest(t *testing.T) {
	names := []string{"source", "order", "world", "batch", "image", "from", "bad_sample", "ring", "limits", "rings", "target_size", "min_rate", "max_rate", "start", "start_column", "start_columns_of"}
	for written, want := range map[string]string{
		"bacth": "batch", "sorce": "source", "IMAGE": "image", "limit": "limits", "badsample": "bad_sample", "batch_size": "batch", "img": "image", "rng": "ring", "foo": "",
		"start_colum": "start_column", "start_column_of_the_window": "start_column", "ringside_seats": "rings",
		"qqqqqq": "", "": "",
		"size": "target_size", "Size": "target_size", "rate": "", strings.Repeat("x", 1000): "",
	} {
		if got := Nearest(written, names); got != want {
			t.Errorf("%.20q: got %q, want %q", written, got, want)
		}
	}
}

// A swap of neighbours is one edit, and so is a letter more, less or other.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"kitten", "sitting", 3}, {"abcd", "acbd", 1}, {"", "abc", 3}, {"same", "same", 0}, {strings.Repeat("x", 65), "x", 65}} {
		if got := Edits(c.a, c.b); got != c.want {
			t.Errorf("%.9q and %.9q: got %d edits, want %d", c.a, c.b, got, c.want)
		}
	}
}
