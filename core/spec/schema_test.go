package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// compiled is the schema as an editor has it: its JSON, read again.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spdl.json", schema); err != nil {
		return nil, err
	}
	return c.Compile("spdl.json")
})

// schemaTakes says what the schema has against a document.
func schemaTakes(t testing.TB, document string) error {
	t.Helper()
	schema, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	var read any
	if err := yaml.Unmarshal([]byte(document), &read); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return schema.Validate(asJSON(read))
}

// asJSON has texts for keys, as JSON has them.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = asJSON(value)
		}
	case map[any]any:
		m := map[string]any{}
		for key, value := range v {
			m[fmt.Sprint(key)] = asJSON(value)
		}
		return m
	case []any:
		for i, value := range v {
			v[i] = asJSON(value)
		}
	}
	return v
}

// What Parse takes of every key the schema takes, too (parse asks it of every other description of these tests); and a misspelt key neither does.
func TestTheSchemaTakesEveryKeyOfTheTable(t *testing.T) {
	misspelt := 0
	for _, k := range Keys() {
		text := document(k.Path, values[k.Path])
		if err := schemaTakes(t, text); err != nil {
			t.Errorf("%s: %v\n%s", k.Path, err, text)
		}
		wrong := regexp.MustCompile(`\b`+lastKey(k.Path)+`:`).ReplaceAllString(text, lastKey(k.Path)+"_:")
		if _, err := Parse([]byte(wrong), "x.yaml"); err == nil || !strings.Contains(err.Error(), "unknown key") {
			continue // its name is the user's
		}
		misspelt++
		if schemaTakes(t, wrong) == nil {
			t.Errorf("%s: takes\n%s", k.Path, wrong)
		}
	}
	if misspelt < 700 {
		t.Errorf("only %d misspelt keys were tried", misspelt)
	}
}

func TestTheSchemaRefusesWhatIsWrongInAValueAlone(t *testing.T) {
	for _, wrong := range []string{
		"batch: many", "batch: 0", "order: {seed: -1}", "order: {shuffle: yes please}", "source: {folder: 3}",
		"image: {layout: CHW}", "image: {transform: {resize: 3}}", "image: {transform: [{resize: 3, center_crop: 2}]}", "image: {transform: [{}]}",
		"image: {transform: [{center_crop: [1, 2, 3]}]}", "image: {transform: [{horizontal_flip: 1.5}]}", "image: {transform: [{random_rotation: {degree: 3}}]}",
		"image: {transform: [{random_apply: [{resize: 3, x: 1}]}]}", "video: {transform: [{remap_classes: reduce}]}", "audio: {features: {kind: mels}}",
		"fields: {a: {image: {transform: [{crop: 2}]}}}", "fields: {a: {picture: {}}}", "rings: {train: {world: {}}}", "rings: {train: {order: {seeds: 3}}}",
		"limits: {cpus: half}", "limits: {memory: 1.5}", "device: {cuda: a}", "source: {mix: [{folder: a, arrays: []}]}",
	} {
		if schemaTakes(t, wrong) == nil {
			t.Errorf("takes %s", wrong)
		}
	}
	for _, right := range []string{
		"image:", "rings: {val: {device: null, order: {filter: null}}}", "limits: {cpus: 50%}", "image: {transform: [{resize: bucket}]}", "fields: {a: {draw: own, image: {transform: [{resize: 3}]}}}",
		"image: {transform: [{random_choice: [{grayscale: 1}, {random_order: [{invert: 1}]}]}]}", "source: {columns: [text, {name: b, from: c}]}",
	} {
		if err := schemaTakes(t, right); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}

// An editor shows a key's line of the table and its default.
func TestTheSchemaSaysWhatKeysMean(t *testing.T) {
	properties := Schema()["properties"].(map[string]any)
	batch := properties["batch"].(map[string]any)
	if batch["description"] == "" || batch["default"] == nil && !strings.HasPrefix(keyNamed(t, "batch").Default, "(") {
		t.Errorf("batch: %v", batch)
	}
	order := properties["order"].(map[string]any)["properties"].(map[string]any)
	if shuffle := order["shuffle"].(map[string]any); shuffle["default"] != true || shuffle["description"] != keyNamed(t, "order.shuffle").Doc {
		t.Errorf("order.shuffle: %v", shuffle)
	}
}

func keyNamed(t *testing.T, path string) Key {
	t.Helper()
	for _, k := range Keys() {
		if k.Path == path {
			return k
		}
	}
	t.Fatalf("no key %s", path)
	return Key{}
}
