package spec

import (
	"strings"
	"testing"
)

// A description may say which YAML it is, as others' files do.
func TestADirectiveOfYAMLIsTaken(t *testing.T) {
	for _, head := range []string{
		"%YAML 1.2\n---\n", "%YAML 1.1\n---\n", "%YAML 1.2\r\n---\r\n", "\ufeff%YAML 1.2\n---\n", "# ours\n\n%YAML 1.2 # yes\n---\n", "%TAG ! tag:a,2000:\n# and\n%YAML\t1.2\n---\n",
	} {
		if s, err := Parse([]byte(head+least), ""); err != nil || s.Source.Folder != "pics" {
			t.Errorf("%q: %v", head, err)
		}
	}
	// what stands in the description is none
	if s, err := Parse([]byte("name: |-\n  %YAML 1.2\n"+least), ""); err == nil || !strings.Contains(err.Error(), `"%YAML 1.2"`) {
		t.Errorf("got %+v, %v, want a name that is refused as it is", s, err)
	}
}

// Others are refused where they are, with what to do; mistakes further below are told as ever.
func TestOtherDirectivesAreRefused(t *testing.T) {
	const remedy = "; leave out the lines ahead of it that begin with %, which say nothing here"
	for head, want := range map[string]string{
		"%YAML 1.3\n---\n": "found incompatible YAML document" + remedy, "%YAML 2.0\n---\n": "found incompatible YAML document" + remedy, "%YAML 1.21\n---\n": "found incompatible YAML document" + remedy,
		"%OURS 1\n---\n": "found unknown directive name" + remedy, "%YAML 1.2\n%YAML 1.2\n---\n": "found duplicate %YAML directive" + remedy, "%YAML one\n---\n": remedy, "# ours\n%YAML 1.2\n": remedy,
	} {
		if _, err := Parse([]byte(head+least), "x.yaml"); err == nil || !strings.HasPrefix(err.Error(), "x.yaml:") || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q\ngot  %v\nwant %s", head, err, want)
		}
	}
	if _, err := Parse([]byte("%YAML 1.2\n---\n"+least+"a: [\n"), "x.yaml"); err == nil || strings.Contains(err.Error(), "%") || !strings.HasPrefix(err.Error(), "x.yaml:5:1: not YAML") {
		t.Error(err)
	}
	if _, err := Parse([]byte("%YAML 1.2\n---\n"+least+"batch: no\n"), "x.yaml"); err == nil || !strings.HasPrefix(err.Error(), "x.yaml:5:8: batch: ") {
		t.Error(err)
	}
}

// Whatever a description holds, its refusal is a line of a length that can be read, up to its remedy: a client's C string ends at a zero byte.
func TestARefusalShowsNoMoreOfADescriptionThanALineHas(t *testing.T) {
	long := strings.Repeat("x", 70000)
	for doc, want := range map[string]string{
		`source: "a\u0000b"`: `; write {folder: a\x00b}, {list: a\x00b} or {shards: a\x00b}`,
		`"a\u0000\u202e": 1`: `x.yaml:1:1: a\x00\u202e: unknown key; `,
		"source: " + long:    "; write {folder: " + long[:200] + "...}, {list: " + long[:200] + "...} or {shards: " + long[:200] + "...}",
		"source: {shards: a.tar, columns: [c]}\nimage: {transform: [center_crop: 8], boxes: " + long + "}": `image.boxes.column: got "` + long[:200] + `..."`,
	} {
		if _, err := Parse([]byte(doc), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 4096 {
			t.Errorf("%.80s\ngot  %.1000s\nwant %s", doc, err, want)
		}
	}
}

// A number that no float has is no text: a name that is meant to be one stands in quotes.
func TestANumberThatIsTooLargeIsNoText(t *testing.T) {
	const columns = "columns: [{name: ids, type: list, dtype: i32}, {name: \"1e309\", type: i64}]}"
	for text, want := range map[string]string{
		"source: {shards: a.parquet, packing: {length: 8, by: 1e309}, " + columns: "source.packing.by: got 1e309, want text; put it in quotes",
		"name: -2.5e+400\nsource: {folder: p}\nimage: {}":                         "name: got -2.5e+400, want text; put it in quotes",
		"source: {folder: p}\nimage: {transform: [{grayscale: 1e309}]}":           "grayscale: got 1e309, want",
		"source: {folder: 1e309}\nimage: {}":                                      "source.folder: got 1e309, want",
	} {
		if _, err := Parse([]byte(text), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	for _, text := range []string{"source: {shards: a.parquet, packing: {length: 8, by: \"1e309\"}, " + columns, "source: {folder: '1e309'}\nimage: {transform: [{center_crop: 8}]}"} {
		if _, err := Parse([]byte(text), "x.yaml"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
