package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// A batch holds samples of one group, all full ones come before what groups have left over, and an epoch has each sample once, shuffled anew.
func TestGroupedBatchesAreOfOneGroup(t *testing.T) {
	leavesNothing(t)
	list := table(t, 34, quarter) // 12, 11 and 11 of a label
	orders := map[string]bool{}
	for _, seed := range []int{1, 2} {
		batches := run(t, describeTable(t, list, fmt.Sprintf("batch: 4\norder: {epochs: 1, group: label, seed: %d}\n", seed)))
		var rows []int
		for _, b := range batches {
			if rows = append(rows, len(b.Index)); slices.Min(b.Label) != slices.Max(b.Label) {
				t.Errorf("seed %d, step %d: labels %v, want one", seed, b.Step, b.Label)
			}
		}
		if want := []int{4, 4, 4, 4, 4, 4, 4, 3, 3}; !slices.Equal(rows, want) {
			t.Errorf("seed %d: got batches of %v rows, want %v", seed, rows, want)
		}
		all := indexes(batches)
		orders[fmt.Sprint(all)] = true
		if slices.Sort(all); len(slices.Compact(all)) != 34 {
			t.Errorf("seed %d: got %v, want each of 34 samples", seed, all)
		}
	}
	if len(orders) != 2 {
		t.Error("two seeds have one order")
	}
}

// Groups are the same whether numbers, texts or a file say them, and behind a filter, repeated, and of samples that a program brings.
func TestGroupsAreWhatIsTogether(t *testing.T) {
	fileOrdersAs(t, "group", "split", func(i int) float64 { return float64(9 - i%2*5) }, ", filter: label != 1", ", repeat: 3", ", last: pad", ", last: drop", "")
}

// The data sets of a mixture are groups, tables or folders, each with its samples once, and ranks have batches of one in a step; a mixture that draws by
// weights has an order of its own.
func TestDataSetsOfAMixtureAreGroups(t *testing.T) {
	leavesNothing(t)
	tables := [2]string{table(t, 11, quarter), table(t, 34, quarter)}
	of := func(kind, weight, more string) *spec.Spec {
		sources := ""
		for i := range tables {
			path := tables[i]
			if kind == "folder" {
				path = filepath.Dir(path)
			}
			sources += fmt.Sprintf("{%s: %q%s}, ", kind, path, weight)
		}
		return parsed(t, fmt.Sprintf("name: %s\nsource: {mix: [%s]}\nimage: {transform: [{resize: [8, 8]}]}\n%s", testName(), sources, more))
	}
	for _, kind := range []string{"list", "folder"} {
		for last, rows := range map[string]int{"cover": 45, "drop": 40, "pad": 48} {
			steps, all := map[uint64][]int64{}, []int64{}
			for rank := range 2 {
				more := fmt.Sprintf("batch: 2\norder: {epochs: 1, group: part, seed: 3, last: %s}\nworld: {size: 2, rank: %d}\n", last, rank)
				for _, b := range run(t, of(kind, "", more)) {
					steps[b.Step] = append(steps[b.Step], b.Index...)
				}
			}
			for step, index := range steps {
				if all = append(all, index...); (slices.Min(index) < 11) != (slices.Max(index) < 11) {
					t.Errorf("%s, %s, step %d: samples %v of both data sets", kind, last, step, index)
				}
			}
			slices.Sort(all)
			if once := len(slices.Compact(slices.Clone(all))); len(all) != rows || once != min(rows, 45) {
				t.Errorf("%s, %s: got %d rows of %d samples, want %d", kind, last, len(all), once, rows)
			}
		}
	}
	_, err := New(of("list", "", "batch: 2\norder: {group: parts}\n"), nil)
	wantError(t, err, ErrDescription, `column "parts" is not known without reading the samples; want label, index, key, part, or a column of source.columns`, `did you mean "part"?`)
	_, err = spec.Parse([]byte(fmt.Sprintf("source: {mix: [{list: %q, weight: 1}, {list: %q, weight: 2}]}\nimage: {transform: [{resize: [8, 8]}]}\norder: {group: part}\n", tables[0], tables[1])), "")
	if want := "order.group: got"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a weighted mixture: got %v, want %q", err, want)
	}
}

// Of a mixture part is the number of a data set. Where a column has that name too, an order says which is meant; a table alone has the column, and a
// batch has it always.
func TestAColumnCalledPartIsNotTakenForTheDataSet(t *testing.T) {
	leavesNothing(t)
	tables := []string{table(t, 12, quarter), table(t, 6, quarter)}
	of := func(sources, column, more string) *spec.Spec {
		return parsed(t, fmt.Sprintf("name: %s\nsource: {%s, columns: [{name: %s, from: width, type: i64}]}\nimage: {transform: [{resize: [8, 8]}]}\nbatch: 2\n%s", testName(), sources, column, more))
	}
	mix := fmt.Sprintf("mix: [{list: %q}, {list: %q}]", tables[0], tables[1])
	for key, order := range map[string]string{"group": "group: part", "stratify": "stratify: part", "balance": "balance: part, rows: 4", "filter": "filter: part == 0"} {
		_, err := New(of(mix, "part", "order: {"+order+"}\n"), nil)
		wantError(t, err, ErrDescription, key+": part is the number of a data set in the mixture, and a column of source.columns as well", "{name: piece, from: part}")
		if e, err := New(of(mix, "piece", "order: {"+order+"}\n"), nil); err != nil {
			t.Errorf("%s, of a column of another name: %v", key, err)
		} else {
			must(e.Close())
		}
	}
	if got := indexes(run(t, of("list: "+tables[0], "part", "order: {epochs: 1, shuffle: false, filter: part >= 100}\n"))); !slices.Equal(got, []int64{10, 11}) {
		t.Errorf("a table alone, by its column: samples %v, want 10 and 11", got)
	}
	if got := run(t, of(mix, "part", "order: {epochs: 1}\n")); len(got) != 9 {
		t.Errorf("a mixture that is not ordered by it: %d batches, want 9", len(got))
	}
}

// What a group has left over is short, left out, or filled up with its own samples, which are marked.
func TestWhatGroupsHaveLeftOver(t *testing.T) {
	leavesNothing(t)
	list := table(t, 34, quarter)
	for _, last := range []string{"cover", "drop", "pad"} {
		r := startAgain(t, describeTable(t, list, "batch: 4\norder: {epochs: 1, group: label, last: "+last+"}\n"), nil)
		report := r.Groups(0)
		if !slices.Equal(report.Samples, []int64{12, 11, 11}) || report.Rows != 4 || report.Short != 2 {
			t.Errorf("%s: got %+v", last, report)
		}
		steps, padded := 0, 0
		reader := r.attach(shm.AttachOptions{})
		for b := take(t, reader); b != nil; b = take(t, reader) {
			steps++
			for _, status := range b.Status {
				if status != 0 {
					padded++
				}
			}
			if slices.Min(b.Label) != slices.Max(b.Label) || last != "cover" && len(b.Index) != 4 {
				t.Errorf("%s: got labels %v", last, b.Label)
			}
		}
		if wantSteps, wantPadded := map[string]int{"cover": 9, "drop": 7, "pad": 9}[last], map[string]int{"pad": 2}[last]; steps != wantSteps || padded != wantPadded {
			t.Errorf("%s: got %d steps and %d rows that fill up, want %d and %d", last, steps, padded, wantSteps, wantPadded)
		}
		must(reader.Close())
		must(r.end())
	}
	plain := startAgain(t, describeTable(t, list, "batch: 4\n"), nil)
	if plain.Groups(0) != nil {
		t.Error("a ring without groups tells of some")
	}
	must(plain.end())
}

// A state fits where the same samples are together, whatever their group is called, and nowhere else.
func TestAStateKnowsGroupsByWhatIsTogether(t *testing.T) {
	stateOfFileFits(t, "group", quarter, func(i int) float64 { return 100 - quarter(i) }, func(i int) float64 { return float64(i % 3) })
}

// Groups that nothing says, or that are as many as samples, are refused.
func TestGroupsThatCannotBeAreRefused(t *testing.T) {
	leavesNothing(t)
	list := table(t, 12, quarter)
	many := filepath.Join(t.TempDir(), "many.csv")
	var lines strings.Builder
	lines.WriteString("n\n")
	for i := range maxGroups + 1 {
		fmt.Fprintln(&lines, i)
	}
	must(os.WriteFile(many, []byte(lines.String()), 0o600))
	nan := func(i int) float64 {
		if i == 5 {
			return math.NaN()
		}
		return 0
	}
	file := func(n int, value func(i int) float64) string { return numbersFile(t, n, false, value) }
	for name, c := range map[string]struct{ order, want string }{
		"unknown":   {"group: lable", `order: group: column "lable" is not known without reading the samples; want label, index, key, or a column of source.columns of a table (.csv, .jsonl, .parquet, .npz) or of Arrow, or a file of a number for each sample, such as group.npy; did you mean "label"?`},
		"too short": {fmt.Sprintf("group: %q", file(11, quarter)), `numbers.npy": got shape 11, want [12], a number for each sample of the source`},
		"none":      {"group: /no/such.npy", "order: group: open /no/such.npy: no such file or directory"},
		"NaN":       {fmt.Sprintf("group: %q", file(12, nan)), `numbers.npy": sample 5 "005.jpg": got NaN, want a number or text; mend the value`},
	} {
		_, err := New(describeTable(t, list, "batch: 4\norder: {"+c.order+"}\n"), nil)
		if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	_, err := New(parsed(t, fmt.Sprintf("name: %s\nsource: {list: %q, columns: [{name: n, type: i64}]}\norder: {group: n}\n", testName(), many)), nil)
	if want := `order: group: column "n": got more than 65536 values by sample 65536, want groups of many samples each`; !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
		t.Errorf("many: got %v, want %q", err, want)
	}
	_, err = New(describeHost(t, 5, "order: {group: label}\n"), &Options{Feed: fed(t)})
	if want := "group: label is not known before a sample of source.host is read; want index"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("of a program: got %v, want %q", err, want)
	}
}
