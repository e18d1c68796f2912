package device

import (
	"reflect"
	"slices"
	"testing"
)

func TestRefusalsTravelAsText(t *testing.T) {
	var odd, all []int
	for i := range 4096 {
		all = append(all, i)
		if i%2 == 1 {
			odd = append(odd, i)
		}
	}
	for _, c := range []struct {
		said  Refusal
		text  string
		heard Refusal
	}{
		{Refusal{Rows: []int{3}, Why: "BAD_JPEG"}, "rows 3: BAD_JPEG", Refusal{Rows: []int{3}, Why: "BAD_JPEG"}},
		{Refusal{Rows: []int{0, 17, 18, 19, 4095}, Why: "a: b"}, "rows 0 17-19 4095: a: b", Refusal{Rows: []int{0, 17, 18, 19, 4095}, Why: "a: b"}},
		{Refusal{Rows: []int{3, 4}, Once: true, Why: "no"}, "rows 3-4 once: no", Refusal{Rows: []int{3, 4}, Once: true, Why: "no"}},
		{Refusal{Why: "no"}, "every row: no", Refusal{Why: "no"}},
		{Refusal{Once: true, Why: "no"}, "every row once: no", Refusal{Once: true, Why: "no"}},
		{Refusal{Rows: all, Why: "no"}, "rows 0-4095: no", Refusal{Rows: all, Why: "no"}},
		{Refusal{Rows: odd, Why: "too many to name"}, "every row: too many to name", Refusal{Why: "too many to name"}},
	} {
		text := c.said.String()
		got, err := ParseRefusal(text)
		if text != c.text || err != nil || !reflect.DeepEqual(got, c.heard) {
			t.Errorf("got %q, heard as %v, %v; want %q, %v", text, got, err, c.text, c.heard)
		}
	}
	for _, text := range []string{"", "rows 1", "rows: x", "rows -1: x", "rows a: x", "lines 1: x", "rows 5-3: x", "rows 4 3: x", "rows 1-70000: x", "once: x"} {
		if got, err := ParseRefusal(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	for _, c := range []struct {
		r    Refusal
		want []int
	}{{Refusal{Rows: []int{1, 3, 9}}, []int{1, 3}}, {Refusal{}, []int{0, 1, 2, 3}}} {
		var got []int
		if c.r.Each(4, func(row int) { got = append(got, row) }); !slices.Equal(got, c.want) {
			t.Errorf("%v of 4 rows: got %v, want %v", c.r, got, c.want)
		}
	}
}
