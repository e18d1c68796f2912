//go:build !noffmpeg

package av

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listed are the filters that filternames.c takes.
func listed(t *testing.T) (names []string) {
	t.Helper()
	code, err := os.ReadFile("filternames.c")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(code), "clang-format off */")
	list, _, _ = strings.Cut(list, "/* clang-format on")
	for _, m := range regexp.MustCompile(`"([a-z0-9_]+)"`).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	if len(names) < 250 {
		t.Fatalf("found %d names, want the whole list", len(names))
	}
	return names
}

// The list is sorted, as it is searched; and whatever of it this FFmpeg has passes the look at its options.
func TestListedFiltersAreTaken(t *testing.T) {
	names, have := listed(t), 0
	if !slices.IsSorted(names) {
		t.Error("the list is not sorted")
	}
	for _, name := range names {
		err := CheckFilter(name+"=an_option_of_none=1", true)
		var refused *FilterError
		switch {
		case !errors.As(err, &refused):
			t.Errorf("%s: got %v, want the option refused", name, err)
		case strings.Contains(refused.Why, "has no filter"):
		case strings.Contains(refused.Why, "got filter"):
			t.Errorf("%s is listed and not taken", name)
		default:
			have++
		}
	}
	if have < 150 {
		t.Errorf("only %d of the list were tried", have)
	}
}

// A description is refused in one line, with its text and FFmpeg's words, for pictures and for sound.
func TestCheckFilterSaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		text     string
		pictures bool
		want     string
	}{
		{"crop=w=nonsense", true, `filter: "crop=w=nonsense": `},
		{"hflip", false, `filter: "hflip": its input is of another kind, want sound`},
		{"", true, "want 1 to 4096 without zeros"},
	} {
		err := CheckFilter(test.text, test.pictures)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q: got %v, want %q", test.text, err, test.want)
		}
	}
	if err := errors.Join(CheckFilter("hflip", true), CheckFilter("anull", false)); err != nil {
		t.Error(err)
	}
}
