package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every key of an order changes what a checkpoint is compared with, and nothing else does.
func TestEveryWordOnTheOrderChangesItsHash(t *testing.T) {
	hashes := map[[32]byte]string{}
	for _, order := range []string{
		"{}", "{shuffle: false}", "{seed: 1}", "{last: drop}", "{filter: label == 1}", "{repeat: 2}", "{window: 4}", "{window: 5}", "{weights: a}",
		"{weights: b}", "{weights: a, replacement: false}", "{weights: a, rows: 9}", "{weights: a.npy}", "{balance: label}", "{balance: label, rows: 9}", "{stratify: label}", "{group: label}", "{group: other}", "{group: a.npy}",
		"{buckets: {by: n}}", "{buckets: {by: n, count: 3}}",
	} {
		h := parse(t, small+"source: {folder: p}\norder: "+order).OrderHash()
		if other, taken := hashes[h]; taken {
			t.Errorf("%s and %s have one hash", order, other)
		}
		hashes[h] = order
	}
	for _, mix := range []string{"[{folder: p}]", "[{folder: p, weight: 1}]", "[{folder: p, weight: {0: 1, 5: 2}}]", "[{folder: p}, {folder: q}]"} {
		h := parse(t, small+"source: {mix: "+mix+"}").SourceHash()
		if other, taken := hashes[h]; taken {
			t.Errorf("%s and %s have one hash", mix, other)
		}
		hashes[h] = mix
	}
	for _, same := range []string{"{epochs: 7}", "{buckets: {by: n, count: 8}}", "{buckets: {by: n, max_total: 9, multiple_of: 4}}", "{weights: a, replacement: true}", "{weights: elsewhere/b.NPY}", "{group: elsewhere/b.npy}", "{repeat: 1}"} {
		if _, known := hashes[parse(t, small+"source: {folder: p}\norder: "+same).OrderHash()]; !known {
			t.Errorf("%s changes the order's hash", same)
		}
	}
}

func TestOrdersThatCannotBe(t *testing.T) {
	for order, want := range map[string]string{
		"{window: 4, weights: w}":                             "order.weights: got window and weights, want one of them",
		"{shuffle: false, balance: label}":                    "order.balance: got it with shuffle: false",
		"{rows: 5}":                                           "order.rows: got 5 without weights, balance or a weighted mix",
		"{window: 2, rows: 5}":                                "order.rows: got 5 without weights, balance or a weighted mix",
		"{replacement: false}":                                "order.replacement: got false without weights",
		"{weights: 's3://b/w.npy'}":                           "order.weights: got a URL, want a local file of a number for each sample",
		"{group: 's3://b/g.npy'}":                             "order.group: got a URL, want a local file of a number for each sample",
		"{group: label, stratify: label}":                     "order.group: got stratify and group, want one of them",
		"{group: label, shuffle: false}":                      "order.group: got it with shuffle: false, want one of the two: it is a way to shuffle",
		"{group: label, rows: 5}":                             "order.rows: got 5 without weights, balance or a weighted mix",
		"{repeat: 0}":                                         "order.repeat: got 0, want a whole number from 1 to 1024",
		"{buckets: {count: 3}}":                               "order.buckets: by is missing",
		"{buckets: {by: n, count: 0}}":                        "order.buckets.count: got 0",
		"{buckets: {by: n, cuont: 1}}":                        `order.buckets.cuont: unknown key; did you mean "count"?`,
		"{buckets: {by: n, max_total: 0}}":                    "order.buckets.max_total: got 0, want a number from 0.001 to 1e+15",
		"{buckets: {by: n, max_total: .inf}}":                 "order.buckets.max_total: got .inf, want a number from",
		"{buckets: {by: n, max_total: 1h}}":                   `order.buckets.max_total: got text "1h", want a number from`,
		"{buckets: {max_total: 9}}":                           "order.buckets: by is missing",
		"{buckets: {by: n, multiple_of: 2}}":                  "order.buckets.multiple_of: got 2 without max_total",
		"{buckets: {by: n, max_total: 9, multiple_of: 0}}":    "order.buckets.multiple_of: got 0, want a whole number from 1 to 65536",
		"{buckets: {by: n, max_total: 9, multiple_of: 5}}":    "order.buckets.multiple_of: got 5, want a number that divides batch, 32, the most rows",
		"{buckets: {by: n, max_tokens: 9}}":                   "order.buckets.max_tokens: unknown key; say order: {buckets: {by: COLUMN, max_total: N}}, the most of rows x longest length in a batch",
		"{max_duration: 9}":                                   "order.max_duration: unknown key; say order: {buckets: {by: COLUMN, max_total: N}}",
		"{buckets: {by: n, num_buckets: 9}}":                  "order.buckets.num_buckets: unknown key; say order: {buckets: {by: COLUMN, count: N}}",
		"{buckets: {by: n, required_batch_size_multiple: 8}}": "unknown key; say order: {buckets: {by: COLUMN, max_total: N, multiple_of: M}}",
		"{filter: true}":                                      "order.filter: got true, want text",
		"{weight: w}":                                         `order.weight: unknown key; did you mean "weights"?`,
	} {
		_, err := Parse([]byte(small+"source: {folder: p}\norder: "+order), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: got %v, want %q", order, err, want)
		}
	}
}

func TestMixturesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"source: {mix: []}":                                                "source.mix: got no entry",
		"source: {mix: {folder: p}}":                                       "source.mix: got a mapping, want a list of data sets",
		"source: {mix: [{folder: p}], list: l}":                            "source.list: given beside mix, and is about one data set; it belongs into each entry of mix that it goes with",
		"source: {mix: [{weight: 1}]}":                                     "source.mix[0]: names no samples",
		"source: {mix: [{folder: p, list: l}]}":                            "source.mix[0].list: given beside folder",
		"source: {mix: [{folder: p, weight: 1}, {folder: q}]}":             "source.mix[1]: weight is given for some data sets and not for others",
		"source: {mix: [{folder: p, weight: -1}]}":                         "source.mix[0].weight: got -1, want a number from 0",
		"source: {mix: [{folder: p, weight: {1: 2}}]}":                     "source.mix[0].weight: got epochs that do not begin with 0",
		"source: {mix: [{folder: p, weight: {0: 1, 0: 2}}]}":               "source.mix[0].weight: got epochs that do not begin with 0 or come twice",
		`source: {mix: [{folder: p, weight: {"0": 1, 0: 2}}]}`:             "source.mix[0].weight: got epochs that do not begin with 0 or come twice",
		`{"source": {"mix": [{"folder": "p", "weight": {"a": 1}}]}}`:       `source.mix[0].weight: got text "a", want a whole number from 0`,
		`{"source": {"mix": [{"folder": "p", "weight": {"": 1}}]}}`:        `source.mix[0].weight: got text "", want a whole number from 0`,
		`{"source": {"mix": [{"folder": "p", "weight": {"-1": 1}}]}}`:      "source.mix[0].weight: got -1, want a whole number from 0",
		`{"source": {"mix": [{"folder": "p", "weight": {"00": 1}}]}}`:      `source.mix[0].weight: got text "00", want a whole number from 0`,
		`{"source": {"mix": [{"folder": "p", "weight": {"0": "1"}}]}}`:     `source.mix[0].weight.0: got text "1", want a number from 0`,
		"source: {mix: [{folder: p, weight: {}}]}":                         "source.mix[0].weight: got 0 weights",
		"source: {mix: [{folder: p, wieght: 1}]}":                          `source.mix[0].wieght: unknown key; did you mean "weight"?`,
		"source: {mix: [{folder: p, weight: 1}]}\norder: {window: 2}":      "order.window: got it with weights in source.mix",
		"source: {mix: [{folder: p, weight: 1}]}\norder: {shuffle: false}": "source.mix: got weights with order.shuffle: false",
		"source: {mix: [{list: p}], columns: [a]}":                         "source.columns: goes with shards",
	} {
		if !strings.HasPrefix(text, "{") {
			text = small + text
		}
		_, err := Parse([]byte(text), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// JSON has no keys but text: its weights by epoch are those of YAML, with one hash.
func TestWeightsByEpochAreSaidInJSON(t *testing.T) {
	yaml := parse(t, "source: {mix: [{folder: p, weight: {0: 3, 10: 1}}]}\nbatch: 4\nimage: {transform: [{resize: [8, 8]}]}")
	want := []Phase{{0, 3}, {10, 1}}
	for _, text := range []string{
		`{"source": {"mix": [{"folder": "p", "weight": {"10": 1, "0": 3}}]}, "batch": 4, "image": {"transform": [{"resize": [8, 8]}]}}`,
		`{source: {mix: [{folder: p, weight: {"0": 3, '10': 1}}]}, batch: 4, image: {transform: [{resize: [8, 8]}]}}`,
	} {
		s := parse(t, text)
		if got := s.Source.Mix[0].Weights; !slices.Equal(got, want) || !slices.Equal(yaml.Source.Mix[0].Weights, want) || s.Hash() != yaml.Hash() {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// launched is what a launcher puts in the environment.
type launched map[string]string

func (l launched) get(name string) string { return l[name] }

func TestTheWorldComesFromTheLauncher(t *testing.T) {
	torchrun := launched{"WORLD_SIZE": "16", "RANK": "11", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8"}
	slurm := launched{"SLURM_NTASKS": "4", "SLURM_PROCID": "2", "SLURM_LOCALID": "0"}
	mpi := launched{"OMPI_COMM_WORLD_SIZE": "6", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
	const lanes = "ring: {groups: [{name: ranks, mode: lanes, lanes: %d}]}\n"
	for _, c := range []struct {
		name string
		env  launched
		more string
		want World
	}{
		{"none", launched{}, "", World{Size: 1}},
		{"torchrun, this rank alone", torchrun, "", World{Size: 16, Rank: 11}},
		{"torchrun, the machine's ranks", torchrun, fmt.Sprintf(lanes, 8), World{Size: 16, Rank: 8}},
		{"Slurm", slurm, "", World{Size: 4, Rank: 2}},
		{"Slurm, the machine's ranks", slurm, fmt.Sprintf(lanes, 2), World{Size: 4, Rank: 2}},
		{"Open MPI", mpi, fmt.Sprintf(lanes, 2), World{Size: 6, Rank: 4}},
		{"Hydra", launched{"PMI_SIZE": "3", "PMI_RANK": "1"}, "", World{Size: 3, Rank: 1}},
		{"torchrun under Slurm", launched{"WORLD_SIZE": "2", "RANK": "1", "SLURM_NTASKS": "9", "SLURM_PROCID": "8"}, "", World{Size: 2, Rank: 1}},
	} {
		s := parse(t, small+"source: {folder: p}\nworld: auto\n"+c.more)
		if err := s.ResolveWorld(c.env.get); err != nil || s.World != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, s.World, err, c.want)
		}
	}
	s := parse(t, small+"source: {host: {stream: true}}\norder: {shuffle: false}\nworld: auto\n")
	if err := s.ResolveWorld(torchrun.get); err != nil || s.World != (World{Size: 1}) {
		t.Errorf("a stream, which is each rank's own: got %+v, %v", s.World, err)
	}
	s = parse(t, small+"source: {folder: p}\nworld: {size: 3, rank: 1}\n")
	if err := s.ResolveWorld(torchrun.get); err != nil || s.World != (World{Size: 3, Rank: 1}) {
		t.Errorf("a world that was given became %+v, %v", s.World, err)
	}
	s.Batch = 0 // what the caller still works on
	if err := s.ResolveWorld(torchrun.get); err != nil {
		t.Errorf("a description that has nothing to resolve was validated: %v", err)
	}
}

func TestAWorldThatTheLauncherContradictsIsRefused(t *testing.T) {
	for want, env := range map[string]launched{
		`torchrun: $WORLD_SIZE: got "many"`:                         {"WORLD_SIZE": "many"},
		`torchrun: $RANK: got "", want a whole number from 0 to 3`:  {"WORLD_SIZE": "4"},
		`torchrun: $RANK: got "4", want a whole number from 0 to 3`: {"WORLD_SIZE": "4", "RANK": "4"},
		"torchrun: $LOCAL_WORLD_SIZE: got 3 ranks on this machine, want 2": {
			"WORLD_SIZE": "4", "RANK": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "3"},
		`Slurm: $SLURM_LOCALID: got "", want`: {"SLURM_NTASKS": "4", "SLURM_PROCID": "2"},
	} {
		s := parse(t, small+"source: {folder: p}\nworld: auto\nring: {groups: [{name: ranks, mode: lanes, lanes: 2}]}\n")
		if err := s.ResolveWorld(env.get); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
