package spec

import (
	"strings"
	"testing"
)

// A list says what the first numbers become, and the others stay; reduce is that of transformers and mmsegmentation, by which 255 stays.
func TestClassesGetTheNumbersThatAreSaid(t *testing.T) {
	const mask = "source: {folder: p}\nimage: {mode: index, transform: [{center_crop: 4}, {remap_classes: %s}]}\n"
	for said, want := range map[string]map[int]int{
		"reduce":      {0: 255, 1: 0, 2: 1, 150: 149, 254: 253, 255: 255},
		"[255, 0, 7]": {0: 255, 1: 0, 2: 7, 3: 3, 254: 254, 255: 255},
	} {
		s, err := Parse([]byte(strings.Replace(mask, "%s", said, 1)), "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		table := s.Image.Transform.Steps[0].(*RemapClasses).Table()
		for from, to := range want {
			if int(table[from]) != to {
				t.Errorf("%s: %d becomes %d, want %d", said, from, table[from], to)
			}
		}
	}
}

// Each of them is another description, which draws nothing.
func TestRemappedClassesArePartOfTheHash(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, with := range []string{"", "{remap_classes: reduce}", "{remap_classes: [0]}", "{remap_classes: [1]}", "{remap_classes: [1, 0]}"} {
		s, err := Parse([]byte("source: {folder: p}\nimage: {mode: index, transform: [{center_crop: 4}"+map[bool]string{true: ", "}[with != ""]+with+"]}\n"), "x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		h := s.Hash()
		if other, twice := seen[h]; twice {
			t.Errorf("%s: same hash as %q", with, other)
		}
		seen[h] = with
		for _, step := range s.Image.Transform.Steps {
			if step.random() {
				t.Errorf("%s: is random", with)
			}
		}
	}
}
