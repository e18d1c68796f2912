package spec

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// columnsOfPages are those that pieces of descriptions in the pages take for granted.
const columnsOfPages = "{name: boxes, type: list, dtype: f32, shape: [-1, 4], max_length: 9}, {name: classes, type: list, dtype: i64, max_length: 9}, {name: seconds, type: f64}"

var (
	block  = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	topKey = regexp.MustCompile(`(?m)^[a-z]+:`)
)

// descriptions are those of a block: it is one, or has several that begin with the same key, and may leave out what its page has said before.
func descriptions(text string) (all []string) {
	lines := strings.Split(text, "\n")
	if strings.HasPrefix(lines[0], "[") || strings.HasPrefix(lines[0], "#") { // lists of operations
		return nil
	}
	if strings.HasPrefix(text, "  transform:") {
		text = "image:\n" + strings.ReplaceAll(text, "\n  transform:", "\nimage:\n  transform:")
	}
	first := topKey.FindString(text)
	for _, at := range topKey.FindAllStringIndex(text, -1) {
		if key := text[at[0]:at[1]]; len(all) == 0 || key == first || strings.Contains(all[len(all)-1], "\n"+key) {
			all = append(all, "\n")
		}
		end := len(text)
		if next := topKey.FindStringIndex(text[at[1]:]); next != nil {
			end = at[1] + next[0]
		}
		all[len(all)-1] += text[at[0]:end]
	}
	return all
}

// Every description in the pages, and every piece of one, is valid.
func TestDescriptionsInThePagesAreValid(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range pages {
		if filepath.Base(page) == "deploy.md" { // whose YAML is a container's
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			for _, one := range descriptions(found[1]) {
				n++
				has := func(keys ...string) bool {
					return slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(one, "\n"+k+":") })
				}
				if !has("source") {
					one += "\nsource: {list: t.jsonl, columns: [" + columnsOfPages + "]}"
				}
				_, err := Parse([]byte(one), filepath.Base(page))
				if err != nil && !has("image", "video", "audio", "fields") {
					_, err = Parse([]byte(one+"\nimage: {transform: [center_crop: 8]}"), filepath.Base(page))
				}
				if err != nil {
					t.Errorf("%v in\n%s", err, one)
				}
			}
		}
	}
	if n < 70 {
		t.Errorf("got %d descriptions, and the pages have more", n)
	}
}
