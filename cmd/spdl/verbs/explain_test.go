package verbs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spdl/spdl/core/spec"
)

func TestExplainSaysWhatAKeyTakesAndWhatIsBelowIt(t *testing.T) {
	wants(t, good(t, "explain"), "source Where", "image What", "rings Several", "Which sample comes next")
	wants(t, good(t, "explain", "order"), "order\n\n value mapping\n default", "shuffle A new", "buckets Batches")
	full := good(t, "explain", "image.transform[].random_rotation")
	wants(t, full, "number, [low, high] or mapping", "torchvision's RandomRotation", "degrees How", "expand The")
	for _, name := range []string{"image.transform.random_rotation", "random_rotation", "fields.photo.image.transform.random_rotation", "rings.train.image.transform.random_rotation"} {
		if got := good(t, "explain", name); got != full {
			t.Errorf("%s: %s", name, got)
		}
	}
	wants(t, good(t, "explain", "rings.train.order.seed"), "order.seed\n\n value whole", " default 0\n")
	wants(t, good(t, "explain", "fields.NAME.draw"), "fields.NAME.draw", "alike, own")
	wants(t, good(t, "explain", "name"), "name\n\n value text", ". _ - and no dot first")
	wants(t, good(t, "explain", "image.transform.color_jitter.arithmetic"), "(docs/transforms.md)")
}

func TestExplainListsThePlacesOfANameThatHasSeveral(t *testing.T) {
	text := good(t, "explain", "padding")
	wants(t, text, "padding is a key of several places:", "image.transform.random_crop.padding", "image.transform.pad.padding", "audio.features.padding")
	if strings.Contains(text, "video.transform") {
		t.Errorf("names what is image's twice:\n%s", text)
	}
	wants(t, good(t, "explain", "mix.folder"), "source.mix.folder\n\n value path", "As source's.")
}

func TestExplainRefusesWhatIsNoKey(t *testing.T) {
	refused(t, exitUsage, `explain: no key "orderr"; did you mean order?`, "explain", "orderr")
	refused(t, exitUsage, `explain: no key "image.transfrm"; did you mean image.transform?`, "explain", "image.transfrm")
	refused(t, exitUsage, `explain: no key "quite something else" (spdl explain lists the sections)`, "explain", "quite something else")
	refused(t, exitUsage, `explain: got "order seed", want one key`, "explain", "order", "seed")
}

// Every key is said by its path, in any width, and nothing of Markdown is left.
func TestExplainSaysEveryKey(t *testing.T) {
	for _, k := range spec.Keys() {
		for _, columns := range []int{40, 80, helpColumns} {
			text, err := explained(k.Path, columns)
			if err != nil || !strings.HasPrefix(text, plain(k.Path)+"\n") || strings.Contains(text, "](") || strings.Contains(text, "`") {
				t.Fatalf("%s: %v\n%s", k.Path, err, text)
			}
			for _, line := range strings.Split(text, "\n") {
				if words := strings.Fields(line); utf8.RuneCountInString(line) > columns && len(words) > 2 && line[0] != ' ' {
					t.Errorf("%s in %d columns: %s", k.Path, columns, line)
				}
			}
		}
	}
}

func TestKeysAreCompletedToTheNextPoint(t *testing.T) {
	if got := completions("image.tr"); !slices.Equal(got, []string{"image.transform"}) {
		t.Errorf("image.tr: %q", got)
	}
	if got := completions("order.bu"); !slices.Equal(got, []string{"order.buckets"}) {
		t.Errorf("order.bu: %q", got)
	}
	if got := completions("order.buckets.m"); !slices.Equal(got, []string{"order.buckets.max_total", "order.buckets.multiple_of", "order.buckets.min", "order.buckets.max"}) {
		t.Errorf("order.buckets.m: %q", got)
	}
}

func TestSchemaPrintsTheDescriptionsSchema(t *testing.T) {
	var schema struct {
		Schema     string `json:"$schema"`
		Properties map[string]struct{ Description string }
	}
	if err := json.Unmarshal([]byte(good(t, "schema")), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Schema != "http://json-schema.org/draft-07/schema#" || schema.Properties["source"].Description == "" || schema.Properties["rings"].Description == "" {
		t.Errorf("got %+v", schema)
	}
	refused(t, exitUsage, `schema: got "x", want no argument`, "schema", "x")
}
