package device

import (
	"reflect"
	"testing"
)

func TestRefusalsTravelAsText(t *testing.T) {
	many := make([]int, maxRefused+1)
	for _, c := range []struct{ said, heard Refusal }{
		{Refusal{[]int{3}, "BAD_JPEG"}, Refusal{[]int{3}, "BAD_JPEG"}},
		{Refusal{[]int{0, 17, 4095}, "a: b"}, Refusal{[]int{0, 17, 4095}, "a: b"}},
		{Refusal{nil, "no"}, Refusal{nil, "no"}},
		{Refusal{many, "too many to name"}, Refusal{nil, "too many to name"}},
	} {
		got, err := ParseRefusal(c.said.String())
		if err != nil || !reflect.DeepEqual(got, c.heard) {
			t.Errorf("%q: got %v, %v; want %v", c.said, got, err, c.heard)
		}
	}
	for _, text := range []string{"", "rows 1", "rows: x", "rows -1: x", "rows a: x", "lines 1: x"} {
		if got, err := ParseRefusal(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
