package hosted

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestADescriptionIsReadWhole(t *testing.T) {
	d, err := ParseDescription(`{
		"name": "train", "continuous": true, "failures": {"max_count": 9},
		"stages": [
			{"name": "both", "kind": "merge", "policy": "weighted", "weights": [1, 2.5], "seed": 18446744073709551615, "stop": "first", "inputs": [
				[{"name": "a", "kind": "source"}], [{"name": "b", "kind": "source", "concurrency": 2}]]},
			{"name": "decode", "kind": "map", "concurrency": 8, "output": "input", "buffer": 5, "deadline_ms": 250,
				"failures": {"max_count": -1, "max_rate": 0.5, "probation": 10}, "retries": {"max": 3, "backoff_ms": 20}},
			{"name": "router", "kind": "variants", "batched": true, "paths": [[{"name": "x", "kind": "map"}], []]},
			{"name": "list", "kind": "aggregate", "n": 32, "drop_last": true},
			{"name": "out", "kind": "sink", "buffer": 9}]}`)
	if err != nil {
		t.Fatal(err)
	}
	stage := func(s Stage) Stage {
		s.Buffer, s.Concurrency = max(s.Buffer, 2), max(s.Concurrency, 1)
		return s
	}
	want := &Description{Name: "train", Continuous: true, Failures: &Failures{MaxCount: 9}, Stages: []Stage{
		stage(Stage{Name: "both", Kind: KindMerge, Policy: "weighted", Weights: []float64{1, 2.5}, Seed: math.MaxUint64, Stop: "first", Inputs: [][]Stage{
			{stage(Stage{Name: "a", Kind: KindSource})}, {stage(Stage{Name: "b", Kind: KindSource, Concurrency: 2})}}}),
		stage(Stage{Name: "decode", Kind: KindMap, Concurrency: 8, InputOrder: true, Buffer: 5, DeadlineMs: 250,
			Failures: &Failures{MaxCount: -1, MaxRate: 0.5, Probation: 10}, Retries: Retries{Max: 3, BackoffMs: 20, MaxBackoffMs: 30_000}}),
		stage(Stage{Name: "router", Kind: KindVariants, Batched: true, Paths: [][]Stage{{stage(Stage{Name: "x", Kind: KindMap})}, {}}}),
		stage(Stage{Name: "list", Kind: KindAggregate, N: 32, DropLast: true}),
		stage(Stage{Name: "out", Kind: KindSink, Buffer: 9})}}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got\n%+v, want\n%+v", d, want)
	}
}

func TestARefusedDescriptionSaysWhereAndWhatItWants(t *testing.T) {
	source := `{"name": "in", "kind": "source"}`
	for _, c := range []struct{ stages, says string }{
		{source + `, {"name": "m", "kind": "map", "retries": {"max": -1}}`, "stages[1].retries.max: got -1, want a whole number, 0 to 1000"},
		{source + `, {"name": "m", "kind": "map", "retries": {"backoff_ms": 9, "max_backoff_ms": 8}}`, "max_backoff_ms: got 8, want a whole number, 9 to"},
		{source + `, {"name": "m", "kind": "map", "concurrency": 1.5}`, "got 1.5, want a whole number"},
		{source + `, {"name": "", "kind": "map"}`, `stages[1].name: got text "", want text of 1 to 256 bytes`},
		{source + `, {"kind": "map"}`, `key "name" is missing`},
		{source + `, {"name": "m"}`, `key "kind" is missing`},
		{source + `, 5`, "stages[1]: got 5, want an object"},
		{source + `, {"name": "v", "kind": "variants", "paths": []}`, "paths: got a list of 0, want a list of 1 to 256"},
		{source + `, {"name": "v", "kind": "variants", "paths": [[` + `{"name": "x", "kind": "source"}` + `]]}`, "a source, want it first"},
		{source + `, {"name": "v", "kind": "variants", "paths": [[{"name": "s", "kind": "sink"}]]}`, "ends with a sink"},
		{source + `, {"name": "g", "kind": "aggregator", "concurrency": 2}`, "stages[1].concurrency: unknown key"},
		{`{"name": "m", "kind": "merge", "inputs": [[{"name": "x", "kind": "map"}]]}`, "the first stage is a map"},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "policy": "weighted", "weights": [0]}`, "got 0, want a weight above 0"},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "policy": "weighted", "weights": [1, 2]}`, "got a list of 2, want a list of 1 to 1"},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "weights": [1]}`, "give both or neither"},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "policy": "weighted", "weights": ["nan"]}`, `weights[0]: got text "nan", want a number, 0 to`},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "seed": 18446744073709551616}`, "stages[0].seed: got 18446744073709551616, want a whole number, 0 to 18446744073709551615"},
		{`{"name": "m", "kind": "merge", "inputs": [[` + source + `]], "seed": -1}`, "stages[0].seed: got -1, want a whole number"},
		{source + `, {"name": "a` + "\xff" + `b", "kind": "map"}`, ":1:58: stages[1].name: got byte 0xff, which is not UTF-8"},
		{source + `, {"name": "m", "na` + "\xc3" + `": 1}`, "stages[1]: got byte 0xc3, which is not UTF-8"},
	} {
		_, err := ParseDescription(`{"stages": [` + c.stages + `]}`)
		var wrong *SpecError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) || wrong.Line != 1 || wrong.Col < 1 {
			t.Errorf("%s: %v, want %q", c.stages, err, c.says)
		}
	}
	if _, err := ParseDescription(strings.Repeat(" ", maxDescription+1)); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("a huge description: %v, want it refused", err)
	}
	if _, err := ParseDescription(strings.Repeat("[", 100)); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("a deep description: %v, want it refused", err)
	}
}

func FuzzDescription(f *testing.F) {
	f.Add(`{"stages": [{"name": "in", "kind": "source"}, {"name": "m", "kind": "map", "output": "input"}]}`)
	f.Add(`{"stages": [{"name": "m", "kind": "merge", "inputs": [[{"name": "x", "kind": "source"}]]}]}`)
	f.Add(`{"name": "\u0000", "stages": [[[1e999, -0, "é"]]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDescription(text)
		if err == nil && (len(d.Stages) == 0 || d.Name == "") {
			t.Errorf("%q: accepted without stages or a name", text)
		}
		var wrong *SpecError
		if err != nil && !errors.As(err, &wrong) {
			t.Errorf("%q: %v, want a *SpecError", text, err)
		}
	})
}
