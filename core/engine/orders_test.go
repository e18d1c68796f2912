package engine

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// table writes n pictures and a list of them: sample i has label i % 3, weight i % 4, width i * 10 and, one in two, split "train".
func table(t testing.TB, n int, weight func(i int) float64) string {
	t.Helper()
	dir := t.TempDir()
	var list strings.Builder
	list.WriteString("path,label,weight,width,split\n")
	for i := range n {
		name := fmt.Sprintf("%03d.jpg", i)
		must(os.WriteFile(filepath.Join(dir, name), picture(t, grey(i), 24), 0o644))
		fmt.Fprintf(&list, "%s,%d,%g,%d,%s\n", name, i%3, weight(i), i*10, []string{"train", "val"}[i%2])
	}
	must(os.WriteFile(filepath.Join(dir, "list.csv"), []byte(list.String()), 0o644))
	return filepath.Join(dir, "list.csv")
}

func quarter(i int) float64 { return float64(i % 4) }

func describeTable(t testing.TB, list, more string) *spec.Spec {
	t.Helper()
	const columns = "[{name: weight, type: f64}, {name: width, type: i64}, split]"
	text := fmt.Sprintf("name: %s\nsource: {list: %q, columns: %s}\nimage: {transform: [{resize: [8, 8]}]}\n", testName(), list, columns) + more
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

// run is the first epoch of a description.
func run(t *testing.T, s *spec.Spec) []seen {
	t.Helper()
	r := startAgain(t, s, nil)
	defer func() { _ = r.end() }()
	reader := r.attach(shm.AttachOptions{})
	defer reader.Close()
	return epoch(t, reader)
}

// Weights however small or large draw by their ratios: none above zero is lost, and those that float32 holds draw as they are.
func TestWeightsOfAnySize(t *testing.T) {
	for name, c := range map[string]struct{ weights, same []float64 }{
		"tiny":     {[]float64{1e-60, 3e-60, 0}, []float64{1, 3, 0}},
		"denormal": {[]float64{5e-324, 1e-323}, []float64{1, 2}},
		"large":    {[]float64{math.MaxFloat32, math.MaxFloat32 / 2, 0}, []float64{2, 1, 0}},
		"plain":    {[]float64{0.1, 0.7, 3}, []float64{0.1, 0.7, 3}},
	} {
		for _, replacement := range []bool{true, false} {
			draws := func(w []float32) []int64 {
				rows := int64(50)
				if !replacement {
					rows = 2 // at least so many have a weight
				}
				s, err := sampler.Weighted(w, rows, replacement, 7)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return s.Append(nil, 0, 0, rows)
			}
			same := make([]float32, len(c.same))
			for i, w := range c.same {
				same[i] = float32(w)
			}
			if got, want := draws(scaled(c.weights)), draws(same); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
	}
	if got := scaled([]float64{1e-300, 1, 0}); got[0] == 0 || got[2] != 0 {
		t.Errorf("got %v, want the first above 0 and the last 0", got)
	}
	list := table(t, 6, func(i int) float64 { return []float64{1e-60, 1e-50}[i%2] })
	if got := indexes(run(t, describeTable(t, list, "batch: 2\norder: {epochs: 1, weights: weight, replacement: false}\n"))); len(got) != 6 {
		t.Errorf("got %v, want each of 6 samples", got)
	}
}

func TestAFilterLeavesTheSamplesForWhichItIsTrue(t *testing.T) {
	leavesNothing(t)
	list := table(t, 24, quarter)
	for filter, keep := range map[string]func(i int64) bool{
		`label == 1`:                           func(i int64) bool { return i%3 == 1 },
		`label in [0, 2] && width >= 100`:      func(i int64) bool { return i%3 != 1 && i >= 10 },
		`split == "val" or index < 4`:          func(i int64) bool { return i%2 == 1 || i < 4 },
		`weight > 0.5 and not (width > 100.5)`: func(i int64) bool { return i%4 != 0 && i <= 10 },
		`key endsWith "7.jpg"`:                 func(i int64) bool { return i%10 == 7 },
	} {
		got := indexes(run(t, describeTable(t, list, fmt.Sprintf("batch: 4\norder: {epochs: 1, filter: '%s'}\n", filter))))
		var want []int64
		for i := range int64(24) {
			if keep(i) {
				want = append(want, i)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", filter, got, want)
		}
	}
}

func TestABalancedOrderShowsEveryClassEquallyOften(t *testing.T) {
	leavesNothing(t)
	list := table(t, 30, quarter)
	count := map[int64]int{}
	for _, b := range run(t, describeTable(t, list, "batch: 6\norder: {epochs: 1, balance: weight, rows: 48}\n")) {
		here := map[int64]int{}
		for _, i := range b.Index {
			here[i%4]++
			count[i%4]++
		}
		for class, n := range here {
			if n > 3 {
				t.Errorf("step %d: class %d comes %d times of 6", b.Step, class, n)
			}
		}
	}
	for class, n := range count {
		if n < 11 || n > 13 || len(count) != 4 {
			t.Errorf("class %d of %d comes %d times in 48 rows, want about 12", class, len(count), n)
		}
	}
}

func TestStratifiedBatchesHoldEveryClassAndTheEpochEverySample(t *testing.T) {
	leavesNothing(t)
	list := table(t, 30, quarter)
	batches := run(t, describeTable(t, list, "batch: 6\norder: {epochs: 1, stratify: label}\n"))
	for _, b := range batches {
		here := map[int64]int{}
		for _, l := range b.Label {
			here[l]++
		}
		if len(here) != 3 {
			t.Errorf("step %d: labels %v, want all three", b.Step, b.Label)
		}
	}
	all := indexes(batches)
	if slices.Sort(all); len(slices.Compact(all)) != 30 {
		t.Errorf("the epoch has %d samples, want 30", len(all))
	}
}

func TestWeightsBucketsAndWindowsOrderTheBatches(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	for _, i := range indexes(run(t, describeTable(t, list, "batch: 8\norder: {epochs: 1, weights: weight, rows: 64}\n"))) {
		if i%4 == 0 {
			t.Fatalf("sample %d of weight 0 was drawn", i)
		}
	}
	distinct := indexes(run(t, describeTable(t, list, "batch: 8\norder: {epochs: 1, weights: weight, replacement: false, rows: 24}\n")))
	if slices.Sort(distinct); len(slices.Compact(distinct)) != 24 {
		t.Fatalf("a draw without replacement repeats: %v", distinct)
	}
	for _, b := range run(t, describeTable(t, list, "batch: 8\norder: {epochs: 1, buckets: {by: width, count: 4}}\n")) {
		for _, i := range b.Index {
			if i/8 != b.Index[0]/8 {
				t.Fatalf("step %d mixes lengths: %v", b.Step, b.Index)
			}
		}
	}
	short := table(t, 32, func(i int) float64 { return 0.1 + float64(i*7%32)/40 }) // all of them below 1
	for _, b := range run(t, describeTable(t, short, "batch: 8\norder: {epochs: 1, buckets: {by: weight, count: 4}}\n")) {
		for _, i := range b.Index {
			if i*7%32/8 != b.Index[0]*7%32/8 {
				t.Fatalf("step %d mixes lengths with fractions: %v", b.Step, b.Index)
			}
		}
	}
	pattern := shardsOf(t, 32, 8, nil)
	order := indexes(run(t, describeShards(t, pattern, "[]", "batch: 8\norder: {epochs: 1, window: 2}\n")))
	for half := range 2 {
		shards := map[int64]bool{}
		for _, i := range order[16*half : 16*half+16] {
			shards[i/8] = true
		}
		if len(shards) != 2 {
			t.Fatalf("a window of two shards reads %v", shards)
		}
	}
}

// ghost is a source that has a number of samples and their shards, and nothing to read.
type ghost struct {
	source.Source
	starts []int64
	n      int64
}

func (g *ghost) Len() int64      { return g.n }
func (g *ghost) Shards() []int64 { return g.starts }

// To plan a window takes a look at each shard and none at a sample: with 2^60 of them it would never end.
func TestAWindowIsPlannedWithoutAWalkOverItsSamples(t *testing.T) {
	const shards, each = 1000, 1 << 50
	g := &ghost{n: shards*each + 5} // the last one is larger
	for i := range int64(shards) {
		g.starts = append(g.starts, i*each)
	}
	s := describeShards(t, "unused.tar", "[]", "batch: 64\norder: {window: 4, seed: 3}\n")
	order, err := orderOf(s, 1, g, nil, nil)
	must(err)
	lens := slices.Repeat([]int64{each}, shards)
	lens[shards-1] += 5
	want, err := sampler.Window(lens, 4, 3)
	must(err)
	for _, step := range []int64{0, 1, order.StepsPerEpoch() / 2, order.StepsPerEpoch() - 1} {
		rows, _ := order.Rows(7, step, 0, nil)
		if at := order.Position(7, step, 0); !slices.Equal(rows, want.Append(nil, 7, at, at+int64(len(rows)))) {
			t.Fatalf("step %d: %v", step, rows)
		}
	}
}

// Repeats of a sample are augmented each in its own way, the same at any world size.
func TestARepeatedSampleIsAugmentedAnew(t *testing.T) {
	leavesNothing(t)
	dir := t.TempDir()
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		m.Set(i%64, i/64, color.RGBA{uint8(i % 64 * 4), uint8(i / 64 * 4), 99, 255})
	}
	for i := range 6 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", i)))
		must(err)
		must(png.Encode(f, m))
		must(f.Close())
	}
	const crop = "{transform: [{random_resized_crop: 8}]}"
	const row = 8 * 8 * 3
	batches := run(t, describeImage(t, dir, crop, "batch: 6\norder: {epochs: 1, repeat: 3}\n"))
	var rows []string
	for _, b := range batches {
		for r := range b.Rows {
			rows = append(rows, string(b.Image[r*row:(r+1)*row]))
		}
	}
	if slices.Sort(rows); len(rows) != 18 || len(slices.Compact(rows)) != 18 {
		t.Fatalf("%d rows, %d of them different; want 18 and 18", len(rows), len(slices.Compact(rows)))
	}
	second := run(t, describeImage(t, dir, crop, "batch: 3\nworld: {size: 2, rank: 1}\norder: {epochs: 1, repeat: 3}\n"))
	if got, want := string(second[0].Image[:row]), string(batches[0].Image[3*row:4*row]); got != want {
		t.Fatal("rank 1 of 2 augments a row otherwise than rank 0 of 1")
	}
}

// Every order goes on from a state exactly where it stood, at another world size too.
func TestEveryOrderResumesAtAnotherWorldSize(t *testing.T) {
	leavesNothing(t)
	list := table(t, 30, quarter)
	for _, order := range []string{
		"filter: label != 1", "repeat: 2", "weights: weight", "weights: weight, replacement: false, rows: 20", "balance: label",
		"stratify: label", "group: label", "buckets: {by: width, count: 3}", "window: 1", "buckets: {by: width, count: 3, max_total: 700, multiple_of: 2}",
	} {
		shared := strings.Replace(order, "700, multiple_of: 2", "350", 1)
		shared = "order: {epochs: 2, seed: 5, " + shared + "}\n"
		order = "order: {epochs: 2, seed: 5, " + order + "}\n"
		whole := startAgain(t, describeTable(t, list, "batch: 4\n"+order), nil)
		reader := whole.attach(shm.AttachOptions{})
		want := rest(t, reader)
		must(reader.Close())
		must(whole.end())

		first := startAgain(t, describeTable(t, list, "batch: 4\n"+order), nil)
		reader = first.attach(shm.AttachOptions{})
		for range 3 {
			take(t, reader)
		}
		state, err := reader.SaveState(testContext(t), false)
		must(err)
		must(reader.Close())
		must(first.end())

		const lanes = "ring: {groups: [{name: ranks, mode: lanes, lanes: 2}]}\n"
		second := startAgain(t, describeTable(t, list, "batch: 2\nworld: {size: 2}\n"+shared+lanes), &Options{State: state})
		var got [2][]int64
		var readers [2]*shm.Reader
		for lane := range readers {
			readers[lane] = second.attach(shm.AttachOptions{Lane: lane})
		}
		for _, b := range want[3:] {
			for lane, reader := range readers {
				s := take(t, reader)
				for s == nil {
					s = take(t, reader)
				}
				got[lane] = s.Index
			}
			if both := append(got[0], got[1]...); !slices.Equal(both, b.Index) {
				t.Fatalf("%sstep %d: two ranks get %v, one got %v", order, b.Step, both, b.Index)
			}
		}
		for _, reader := range readers {
			must(reader.Close())
		}
		must(second.end())
	}
}

// A state does not fit when the columns that decide the order have changed, though the description has not.
func TestAStateOfOtherWeightsIsRefused(t *testing.T) {
	leavesNothing(t)
	list := table(t, 12, quarter)
	const more = "batch: 4\norder: {weights: weight}\n"
	r := startAgain(t, describeTable(t, list, more), nil)
	reader := r.attach(shm.AttachOptions{})
	take(t, reader)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(r.end())

	text, err := os.ReadFile(list)
	must(err)
	must(os.WriteFile(list, []byte(strings.Replace(string(text), "001.jpg,1,1,", "001.jpg,1,7,", 1)), 0o644))
	_, err = New(describeTable(t, list, more), &Options{State: state})
	wantError(t, err, sampler.ErrStateMismatch, "order (filter, weights, mix and so on, or what their columns say)")
}

func TestOrdersThatTheSourceCannotFollowAreRefused(t *testing.T) {
	leavesNothing(t)
	list := table(t, 12, quarter)
	for order, want := range map[string]string{
		"weights: split":                                `order: weights: column "split" holds text, want numbers`,
		"weights: score":                                `order: weights: column "score" is not known without reading the samples; want label, index, key, or a column of source.columns of a table (.csv, .jsonl, .parquet, .npz) or of Arrow, or a file of a number for each sample, such as weights.npy`,
		"stratify: weigth":                              `column "weigth" is not known without reading the samples; want label, index, key, or a column of source.columns of a table (.csv, .jsonl, .parquet, .npz) or of Arrow; did you mean "weight"?`,
		"balance: nothing":                              `order: balance: column "nothing" is not known`,
		"filter: 'label ?? 1'":                          `order: filter: "label ?? 1": sample 0: got 0, want true or false`,
		"filter: 'label > 9'":                           `order: filter: "label > 9" is true for none of 12 samples`,
		"filter: 'label >'":                             `order: filter: "label >": unexpected token`,
		"filter: 'lable > 1'":                           `of a table (.csv, .jsonl, .parquet, .npz) or of Arrow; did you mean "label"?`,
		"filter: label":                                 `order: filter: "label": expected bool, but got int64`,
		"filter: 'label > \"a\"'":                       `order: filter: "label > \"a\"": invalid operation`,
		"weights: weight, rows: 99, replacement: false": `got 99 draws without replacement of 9 samples`,
	} {
		_, err := New(describeTable(t, list, "order: {"+order+"}\n"), nil)
		if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", order, err, want)
		}
	}
	if _, err := New(describeTable(t, list, "batch: 99\norder: {last: drop, filter: label == 1}\n"), nil); !errors.Is(err, sampler.ErrNoBatch) {
		t.Errorf("got %v, want ErrNoBatch", err)
	}
}

// What is no number, or none that fits, has no place in an order: the refusal names the sample, also behind a filter.
func TestAnOrderByAColumnWithoutANumberIsRefused(t *testing.T) {
	leavesNothing(t)
	with := func(odd float64) string {
		return table(t, 12, func(i int) float64 {
			if i == 5 {
				return odd
			}
			return 1
		})
	}
	nan, inf, negative := with(math.NaN()), with(math.Inf(1)), with(-1)
	const numbers, lengths = "want a number from 0 to 3.4e38", "want a number of 64 bits"
	for _, c := range []struct{ list, order, key, got string }{
		{nan, "weights: weight", "weights", "got NaN, " + numbers},
		{inf, "weights: weight", "weights", "got +Inf, " + numbers},
		{negative, "weights: weight", "weights", "got -1, " + numbers},
		{nan, "balance: weight", "balance", "got NaN, want a number or text"},
		{nan, "stratify: weight", "stratify", "got NaN, want a number or text"},
		{nan, "stratify: weight, filter: index > 2", "stratify", "got NaN, want a number or text"},
		{nan, "buckets: {by: weight, count: 2}", "buckets.by", "got NaN, " + lengths},
		{inf, "buckets: {by: weight, count: 2}", "buckets.by", "got +Inf, " + lengths},
		{nan, "buckets: {by: weight, count: 2}, filter: index > 2", "buckets.by", "got NaN, " + lengths},
	} {
		e, err := New(describeTable(t, c.list, "batch: 4\norder: {"+c.order+"}\n"), nil)
		want := fmt.Sprintf(`order: %s: column "weight": sample 5 "005.jpg": %s; mend the value`, c.key, c.got)
		if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", c.order, err, want)
		}
		if err == nil {
			must(e.Close())
		}
	}
	for _, order := range []string{"balance: weight", "buckets: {by: weight, count: 2}"} {
		if got := indexes(run(t, describeTable(t, nan, "batch: 4\norder: {epochs: 1, filter: weight > 0, "+order+"}\n"))); slices.Contains(got, 5) {
			t.Errorf("%s: the filter left sample 5 in: %v", order, got)
		}
	}
}

// describeMix is two tables of 12 and 36 samples, with weights or without.
func describeMix(t *testing.T, first, second string, weights [2]string, more string) *spec.Spec {
	t.Helper()
	var parts []string
	for i, list := range []string{first, second} {
		parts = append(parts, fmt.Sprintf("{list: %q%s}", list, weights[i]))
	}
	text := fmt.Sprintf("name: %s\nsource: {mix: [%s], columns: [{name: weight, type: f64}]}\nimage: {transform: [{resize: [8, 8]}]}\n%s",
		testName(), strings.Join(parts, ", "), more)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func TestAMixtureDrawsFromItsDataSetsByTheWeightsOfTheEpoch(t *testing.T) {
	leavesNothing(t)
	a, b := table(t, 12, quarter), table(t, 36, quarter)
	s := describeMix(t, a, b, [2]string{", weight: {0: 3, 1: 1, 2: 0}", ", weight: 1"}, "batch: 8\norder: {epochs: 3}\n")
	r := startAgain(t, s, nil)
	reader := r.attach(shm.AttachOptions{})
	for _, want := range [][2]int{{36, 12}, {24, 24}, {0, 48}} {
		var got [2]int
		for _, batch := range epoch(t, reader) {
			for _, i := range batch.Index {
				if i < 12 {
					got[0]++
				} else {
					got[1]++
				}
			}
		}
		if got[0] < want[0]-2 || got[0] > want[0]+2 || got[0]+got[1] != 48 {
			t.Errorf("rows of the two data sets: %v, want about %v", got, want)
		}
	}
	must(reader.Close())
	must(r.end())
	plain := indexes(run(t, describeMix(t, a, b, [2]string{}, "batch: 8\norder: {epochs: 1, filter: part == 1 && weight > 0}\n")))
	if slices.Sort(plain); len(plain) != 27 || plain[0] != 13 {
		t.Errorf("a filter on the part leaves %v, want the 27 of the second data set with a weight", plain)
	}
}

func TestMixturesWithoutWhatTheyNeedAreRefused(t *testing.T) {
	leavesNothing(t)
	a, b := table(t, 4, quarter), table(t, 4, quarter)
	weights := [2]string{", weight: 1", ", weight: {0: 1, 4: 0}"}
	_, err := New(describeMix(t, a, b, weights, "order: {filter: part == 1}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "source.mix[0]: has a weight of 1 from epoch 0 on, and the filter leaves none of its samples") {
		t.Errorf("got %v", err)
	}
	_, err = New(describeMix(t, a, b, [2]string{", weight: {0: 1, 3: 0}", ", weight: {0: 1, 3: 0}"}, ""), nil)
	if err == nil || !strings.Contains(err.Error(), "source.mix: every weight is 0 from epoch 3 on") {
		t.Errorf("got %v", err)
	}
	_, err = New(describeMix(t, a, filepath.Join(t.TempDir(), "none.csv"), weights, ""), nil)
	if err == nil || !strings.Contains(err.Error(), "source.mix[1]: ") {
		t.Errorf("got %v", err)
	}
}

// The labels of a mixture's batches are places among the classes of all its data sets, also where an order goes by them.
func TestAMixtureUnitesTheClassesOfItsFolders(t *testing.T) {
	leavesNothing(t)
	first, second := folder(t, 4, nil), folder(t, 4, nil) // a and b
	must(os.Rename(filepath.Join(second, "a"), filepath.Join(second, "c")))
	list := table(t, 3, quarter)
	describe := func(parts, order string) *spec.Spec {
		text := fmt.Sprintf("name: %s\nsource: {mix: [{folder: %q}, {folder: %q}%s]}\nimage: {transform: [{resize: [8, 8]}]}\norder: {epochs: 1, %s}\n",
			testName(), first, second, parts, order)
		s, err := spec.Parse([]byte(text), "")
		must(err)
		return s
	}
	classes := map[int64]string{}
	for _, order := range []string{"shuffle: false", "stratify: label", "filter: label < 3"} {
		e := startAgain(t, describe("", order), nil)
		if got := e.Facts()[0].Classes; !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("classes %q", got)
		}
		reader := e.attach(shm.AttachOptions{})
		for _, b := range epoch(t, reader) {
			for row, i := range b.Index {
				key := string(e.rings[0].source.Key(i, nil))
				if classes[b.Label[row]] += key[:1]; key[:1] != "abc"[b.Label[row]:][:1] {
					t.Errorf("%s: sample %d %s has label %d", order, i, key, b.Label[row])
				}
			}
		}
		must(reader.Close())
		must(e.end())
	}
	if len(classes[0]) != 6 || len(classes[1]) != 12 || len(classes[2]) != 6 {
		t.Errorf("labels of %v", classes)
	}
	only := indexes(run(t, describe("", "filter: label == 1")))
	if slices.Sort(only); len(only) != 4 {
		t.Errorf("label 1, which is b in both, has the samples %v", only)
	}
	_, err := New(describe(fmt.Sprintf(", {list: %q}", list), "shuffle: false"), nil)
	if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), `source.mix: parts 0 and 1 have different classes (label 0 is "a" and "b")`) {
		t.Errorf("got %v", err)
	}
}

// A column of arrays is called one where an order wants numbers or texts, whatever table it is of.
func TestOrdersByArraysAreRefused(t *testing.T) {
	leavesNothing(t)
	list := filepath.Join(t.TempDir(), "t.jsonl")
	must(os.WriteFile(list, []byte("{\"ids\": [1, 2]}\n"), 0o644))
	for _, order := range []string{"filter: 'ids[0] > 1'", "weights: ids", "balance: ids"} {
		s := parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s, columns: [{name: ids, type: list, dtype: i64, max_length: 2}]}\nbatch: 1\norder: {%s}\n", testName(), list, order))
		key, _, _ := strings.Cut(order, ":")
		want := "order: " + key + `: column "ids" holds an array a sample, want one number or text; name another`
		if _, err := New(s, nil); !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", order, err, want)
		}
	}
}
