package engine

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// documentsOf writes documents of given lengths as JSON lines. Of document i the ids are 1000 i, 1000 i + 1, ..., and the labels their negatives.
func documentsOf(t testing.TB, lengths ...int) string {
	t.Helper()
	var text strings.Builder
	for i, n := range lengths {
		ids, labels := []string{}, []string{}
		for k := range n {
			ids, labels = append(ids, fmt.Sprint(1000*i+k)), append(labels, fmt.Sprint(-1000*i-k))
		}
		fmt.Fprintf(&text, "{\"ids\": [%s], \"labels\": [%s]}\n", strings.Join(ids, ", "), strings.Join(labels, ", "))
	}
	file := filepath.Join(t.TempDir(), "d.jsonl")
	must(os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

const packedColumns = "columns: [{name: ids, type: list, dtype: i32, pad: -7}, {name: labels, type: list, dtype: i64, pad: -100}]"

func describePacked(t testing.TB, file, packing, more string) *spec.Spec {
	t.Helper()
	return parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s, packing: %s, %s}\n%s", testName(), file, packing, packedColumns, more))
}

// packedRow is one row of describePacked.
type packedRow struct {
	ids, segments, positions []int32
	labels                   []int64
	index                    int64
	key                      string
	status                   byte
}

func packedRows(l *shm.Lease) (all []packedRow) {
	n := int(l.Shape(sampleTensor)[1])
	keys, at := l.Tensor(keyTensor), l.Offsets(keyTensor)
	for i := range l.Rows {
		of := func(tensor int) []int32 { return ints32(l.Tensor(tensor)[4*n*i:][:4*n]) }
		all = append(all, packedRow{
			of(sampleTensor), of(firstSide + 1), of(firstSide + 2), slices.Clone(batch.Int64s(l.Tensor(firstSide))[n*i:][:n]),
			batch.Int64s(l.Tensor(indexTensor))[i], string(keys[at[i]:at[i+1]]), l.Tensor(statusTensor)[i],
		})
	}
	return all
}

// takePacked takes rows to the end of the data.
func takePacked(t testing.TB, reader *shm.Reader) (all []packedRow) {
	t.Helper()
	for {
		l, err := reader.Acquire(testContext(t))
		if errors.Is(err, shm.EndData) {
			return all
		}
		if errors.Is(err, shm.EndEpoch) {
			continue
		}
		must(err)
		all = append(all, packedRows(l)...)
		must(l.Release())
	}
}

// tokensOf are the tokens of rows by document, in the order in which they come. It fails unless segments, positions, labels and padding are right.
func tokensOf(t testing.TB, rows []packedRow) map[int][]int32 {
	t.Helper()
	all := map[int][]int32{}
	for _, r := range rows {
		segment, position := int32(0), int32(0)
		for k, id := range r.ids {
			if r.segments[k] == 0 {
				if id != -7 || r.labels[k] != -100 || r.positions[k] != 0 {
					t.Fatalf("row %d: padding at %d is %d, %d, position %d", r.index, k, id, r.labels[k], r.positions[k])
				}
				continue
			}
			if r.segments[k] != segment {
				if r.segments[k] != segment+1 {
					t.Fatalf("row %d: segment %d behind %d", r.index, r.segments[k], segment)
				}
				segment, position = segment+1, 0
			}
			if r.labels[k] != -int64(id) || r.positions[k] != position {
				t.Fatalf("row %d: at %d token %d, label %d, position %d, want position %d", r.index, k, id, r.labels[k], r.positions[k], position)
			}
			position++
			all[int(id)/1000] = append(all[int(id)/1000], id)
		}
	}
	return all
}

// wantDocuments fails unless rows hold every document so often, from its beginning up to most.
func wantDocuments(t testing.TB, rows []packedRow, times, most int, lengths ...int) {
	t.Helper()
	got := tokensOf(t, rows)
	for i, n := range lengths {
		n = min(n, most)
		if len(got[i]) != times*n {
			t.Fatalf("document %d: %d tokens, want %d times %d", i, len(got[i]), times, n)
		}
		slices.Sort(got[i])
		for k, id := range got[i] {
			if int(id) != 1000*i+k/times {
				t.Fatalf("document %d: token %d, want %d", i, id, 1000*i+k/times)
			}
		}
	}
}

var manyLengths = func() (all []int) {
	for i := range 200 {
		all = append(all, i*i%31)
	}
	return all
}()

// Every token of every document comes once an epoch, whatever becomes of long ones, in rows that are the same in both epochs and come in another order.
func TestPackedRowsHoldEveryDocument(t *testing.T) {
	file := documentsOf(t, manyLengths...)
	for packing, most := range map[string]int{
		"{length: 32}": 32, "{length: 30}": 30, "{length: 8, long: split}": 99, "{length: 8, long: truncate}": 8, "{length: 8, strategy: wrapped}": 99, "{length: 1, strategy: wrapped}": 99,
	} {
		t.Run(packing, func(t *testing.T) {
			r := start(t, describePacked(t, file, packing, "batch: 4\norder: {epochs: 2, seed: 3}\n"), nil)
			rows := takePacked(t, r.attach(shm.AttachOptions{}))
			wantDocuments(t, rows, 2, most, manyLengths...)
			n := int(r.Facts()[0].Samples)
			report := r.Packing(0)
			if len(rows) != 2*n || report.Rows != int64(n) || report.Empty != 7 || report.Documents != 193 {
				t.Errorf("%d rows of %d samples, %+v", len(rows), n, report)
			}
			first, second := map[int64]string{}, map[int64]string{}
			for k := range n {
				first[rows[k].index], second[rows[n+k].index] = fmt.Sprint(rows[k]), fmt.Sprint(rows[n+k])
			}
			if len(first) != n || !maps.Equal(first, second) || rows[0].index == rows[n].index && rows[1].index == rows[n+1].index && rows[2].index == rows[n+2].index {
				t.Error("the epochs are not the same rows in another order")
			}
		})
	}
}

// Without a shuffle rows follow the documents. What is in them is in their keys.
func TestPackedRowsFollowTheSource(t *testing.T) {
	r := start(t, describePacked(t, documentsOf(t, 3, 2, 0, 5, 1), "{length: 5}", "batch: 3\norder: {epochs: 1, shuffle: false}\n"), nil)
	want := "[{[0 1 2 1000 1001] [1 1 1 2 2] [0 1 2 0 1] [0 -1 -2 -1000 -1001] 0 d.jsonl:0+1 0} {[3000 3001 3002 3003 3004] [1 1 1 1 1] [0 1 2 3 4] [-3000 -3001 -3002 -3003 -3004] 1 d.jsonl:3 0}" +
		" {[4000 -7 -7 -7 -7] [1 0 0 0 0] [0 0 0 0 0] [-4000 -100 -100 -100 -100] 2 d.jsonl:4 0}]"
	if got := fmt.Sprint(takePacked(t, r.attach(shm.AttachOptions{}))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run of one rank goes on from what two ranks have had, and every document comes once. A state of other documents is refused, of the same size as well.
func TestPackedRowsResumeInAnotherWorld(t *testing.T) {
	leavesNothing(t)
	file := documentsOf(t, manyLengths...)
	describe := func(file string, rank, size, rows int) *spec.Spec {
		return describePacked(t, file, "{length: 32}", fmt.Sprintf("batch: %d\norder: {epochs: 1, seed: 3}\nworld: {size: %d, rank: %d}\n", rows, size, rank))
	}
	var had []packedRow
	var state []byte
	for rank := range 2 {
		r := startAgain(t, describe(file, rank, 2, 4), nil)
		reader := r.attach(shm.AttachOptions{})
		for range 5 {
			l, err := reader.Acquire(testContext(t))
			must(err)
			had = append(had, packedRows(l)...)
			must(l.Release())
		}
		var err error
		state, err = reader.SaveState(testContext(t), false)
		must(err)
		must(reader.Close())
		must(r.end())
	}
	r := startAgain(t, describe(file, 0, 1, 8), &Options{State: state})
	rest := takePacked(t, r.attach(shm.AttachOptions{}))
	must(r.end())
	if len(had) != 40 || len(rest) == 0 {
		t.Fatalf("%d rows, then %d", len(had), len(rest))
	}
	wantDocuments(t, append(had, rest...), 1, 32, manyLengths...)

	swapped := slices.Clone(manyLengths)
	swapped[1], swapped[2] = swapped[2], swapped[1]
	other := documentsOf(t, swapped...)
	if _, err := New(describe(other, 0, 1, 8), &Options{State: state}); !errors.Is(err, shm.ErrState) || !strings.Contains(err.Error(), "other samples") {
		t.Errorf("a state of other documents: %v", err)
	}
}

// Data sets of a mixture are packed each by itself, and their rows come by their weights.
func TestPackedRowsAreMixed(t *testing.T) {
	short, long := documentsOf(t, slices.Repeat([]int{2}, 40)...), documentsOf(t, slices.Repeat([]int{7}, 10)...)
	for _, weights := range [][2]string{{"", ""}, {", weight: 3", ", weight: 1"}} {
		s := parsed(t, fmt.Sprintf("name: %s\nsource: {mix: [{list: %s%s}, {list: %s%s}], packing: {length: 8}, %s}\nbatch: 4\norder: {epochs: 1}\n",
			testName(), short, weights[0], long, weights[1], packedColumns))
		r := start(t, s, nil)
		rows := takePacked(t, r.attach(shm.AttachOptions{}))
		tokensOf(t, rows)
		count := map[bool]int{}
		for _, row := range rows {
			count[row.segments[7] == 4]++ // four documents of 2, or one of 7
		}
		want := map[bool]int{true: 10, false: 10}
		if weights[0] != "" {
			want = map[bool]int{true: 15, false: 5}
		}
		if !maps.Equal(count, want) {
			t.Errorf("weights %v: %v, want %v", weights, count, want)
		}
		if report := r.Packing(0); report.Rows != 20 || report.Documents != 50 || report.Padding != 1-150.0/160 {
			t.Errorf("%+v", report)
		}
		must(r.end())
	}
}

// arraysIn writes a tar of documents as .npy files of numbers, with their lengths beside them; those that bad names are damaged, or of another length.
func arraysIn(t testing.TB, path string, first int, lengths []int, bad map[int]string) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, data []byte) {
		must(w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644}))
		_, err := w.Write(data)
		must(err)
	}
	for k, n := range lengths {
		i := first + k
		var numbers []int
		for at := range n {
			numbers = append(numbers, 10*i+at)
		}
		data, labels := npyOf(t, []int64{int64(n)}, numbers...), npyOf(t, []int64{int64(n)}, numbers...)
		switch bad[i] {
		case "damaged":
			data = data[:20]
		case "shorter":
			labels = npyOf(t, []int64{int64(n - 1)}, numbers[:n-1]...)
		}
		add(fmt.Sprintf("%03d.ids.npy", i), data)
		add(fmt.Sprintf("%03d.labels.npy", i), labels)
		add(fmt.Sprintf("%03d.n", i), []byte(fmt.Sprint(n)))
	}
	must(w.Close())
	must(os.WriteFile(path, b.Bytes(), 0o644))
}

func describeArraysIn(t testing.TB, shards, packing, more string) *spec.Spec {
	t.Helper()
	return parsed(t, fmt.Sprintf("name: %s\nsource: {shards: %q, packing: %s, columns: [{name: ids, from: ids.npy, type: npy, dtype: i16}, "+
		"{name: labels, from: labels.npy, type: npy, dtype: i16}, {name: n, type: i64}]}\n%s", testName(), shards, packing, more))
}

// arrayRows are the rows of a batch of describeArraysIn, as text: ids and segments.
func arrayRows(l *shm.Lease) (all []string) {
	n := int(l.Shape(sampleTensor)[1])
	for i := range l.Rows {
		var ids []int16
		for k := range n {
			at := l.Tensor(sampleTensor)[2*(n*i+k):]
			ids = append(ids, int16(at[0])|int16(at[1])<<8)
		}
		all = append(all, fmt.Sprint(ids, ints32(l.Tensor(firstSide + 1)[4*n*i:][:4*n]), l.Tensor(statusTensor)[i]))
	}
	return all
}

// A bad document is not in its row, which stands: under skip what is behind it moves up, under mask its place is padding. It is counted, and named. A row of
// which nothing is left is a bad sample as any other.
func TestPoliciesForBadDocuments(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "a.tar")
	arraysIn(t, file, 1, []int{2, 3, 1, 6, 4}, map[int]string{2: "damaged", 4: "damaged", 5: "shorter"})
	for policy, want := range map[string]string{
		"skip": "[[10 11 0 0 0 0] [1 1 0 0 0 0] 0 [30 0 0 0 0 0] [1 0 0 0 0 0] 0]", "mask": "[[10 11 0 0 0 0] [1 1 0 0 0 0] 0 [0 0 0 30 0 0] [0 0 0 1 0 0] 0 [0 0 0 0 0 0] [0 0 0 0 0 0] 1]", "fail": "",
	} {
		t.Run(policy, func(t *testing.T) {
			r := start(t, describeArraysIn(t, file, "{length: 6, by: n}", "batch: 3\norder: {epochs: 1, shuffle: false}\nring: {hash: xxh3}\nbad_sample: {policy: "+policy+"}\n"), nil)
			l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
			if policy == "fail" {
				wantError(t, err, shm.ErrEngineFailed, "sample 0 \"001+1\": without 1 of its documents, such as: source: sample 4 \"005\"", `column "labels": got a length of 3, want 4, that of column "n"`)
				return
			}
			must(err)
			if got := fmt.Sprint(arrayRows(l)); got != want || l.NBad != 3 || l.Flags&shm.FlagBad == 0 || l.Hash == 0 {
				t.Errorf("got %s, want %s; %d bad", got, want, l.NBad)
			}
			must(l.Release())
			bad := r.Stats().Rings[0].Bad
			if bad.Total != 3 || bad.Causes["value"] != 3 || !strings.Contains(fmt.Sprint(bad.Last), `sample 2 "004": value: none of its 1 documents can be read`) {
				t.Errorf("%+v", bad)
			}
		})
	}
}

// A row that was made without documents that the storage failed is made so again from the journal's word; without it they are there.
func TestRowsAreMadeAgainWithoutTheirLostDocuments(t *testing.T) {
	for _, policy := range []string{"skip", "mask"} {
		t.Run(policy, func(t *testing.T) {
			leavesNothing(t)
			dir := t.TempDir()
			t.Setenv("SPDL_CACHE_DIR", t.TempDir())
			lengths := slices.Repeat([]int{2, 3, 1, 2}, 60) // more than is read ahead
			arraysIn(t, filepath.Join(dir, "0.tar"), 0, lengths, nil)
			arraysIn(t, filepath.Join(dir, "1.tar"), len(lengths), lengths, nil)
			journal := filepath.Join(t.TempDir(), "position")
			describe := func() *spec.Spec {
				return describeArraysIn(t, dir+"/{0,1}.tar", "{length: 6, by: n}", "batch: 4\norder: {epochs: 1, seed: 5}\nring: {hash: xxh3, backing: memfd, slots: 3}\nbad_sample: {policy: "+policy+"}\n")
			}
			r := startAgain(t, describe(), &Options{Journal: journal, Fresh: true})
			spoiled := filepath.Join(dir, "1.tar")
			st, err := os.Stat(spoiled)
			must(err)
			later := time.Now().Add(time.Hour)
			must(os.Chtimes(spoiled, later, later))
			reader := r.attach(shm.AttachOptions{})
			var delivered [][]string
			var bad []int
			for {
				l, err := reader.Acquire(testContext(t))
				if errors.Is(err, shm.EndEpoch) || errors.Is(err, shm.EndData) {
					break
				}
				must(err)
				delivered, bad = append(delivered, arrayRows(l)), append(bad, l.NBad)
				must(l.Release())
			}
			must(r.end())
			must(os.Chtimes(spoiled, st.ModTime(), st.ModTime()))
			faults, err := ReadFaults(journal, "")
			must(err)
			again := func(step int, faults *Faults) []string {
				one := startAgain(t, describe(), &Options{Step: int64(step), Faults: faults})
				defer func() { must(one.end()) }()
				l, err := one.attach(shm.AttachOptions{}).Acquire(testContext(t))
				must(err)
				defer func() { must(l.Release()) }()
				return arrayRows(l)
			}
			partly := 0
			for step, want := range delivered {
				if got := again(step, faults); !slices.Equal(got, want) {
					t.Errorf("step %d: got %v, want %v", step, got, want)
				}
				if bad[step] > 0 && slices.Equal(again(step, nil), want) {
					t.Errorf("step %d: %d bad, and the same without the journal", step, bad[step])
				}
			}
			for _, f := range faults.all {
				if len(f.Documents) > 0 {
					partly++
				}
			}
			if partly == 0 {
				t.Error("no row stood without some of its documents, so nothing was shown")
			}
		})
	}
}

// Documents that no row can have, or whose length nobody knows, are refused by name.
func TestPackingRefusesDocuments(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	arraysIn(t, filepath.Join(dir, "a.tar"), 0, []int{2}, nil)
	long, none := documentsOf(t, 3, 9, 12), documentsOf(t, 0, 0)
	must(os.Mkdir(filepath.Join(dir, "f"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "f/a.npy"), npyOf(t, []int64{1}, 1), 0o600))
	must(os.WriteFile(filepath.Join(dir, "f/a.m"), []byte("1"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "n.csv"), []byte("ids,n,f\n\"[1]\",-1,a.npy\n"), 0o600))
	for want, s := range map[string]*spec.Spec{
		`source.packing: column "ids": document 2 "d.jsonl:2": got a length of 12, the longest of 2 that are too long, want at most 8, source.packing.length; raise that, or say long: split`: describePacked(t, long, "{length: 8}", ""),
		`source.packing: all 2 documents have a length of 0 by column "ids"`:                                                                              describePacked(t, none, "{length: 8}", ""),
		`source.packing: how long "ids" is in each document is not known without reading it; name a column of type i64 that says it in source.packing.by`: parsed(t, fmt.Sprintf("name: %s\nsource: {shards: %s/a.tar, packing: {length: 8}, columns: [{name: ids, from: ids.npy, type: npy, dtype: i16}]}\n", testName(), dir)),
		`source.packing: column "n": document 0 "n.csv:0": got a length of -1, want 0 to 4294967295`:                                                      parsed(t, fmt.Sprintf("name: %s\nsource: {list: %s/n.csv, packing: {length: 8, by: n}, columns: [{name: ids, type: list, dtype: i32}, {name: n, type: i64}]}\n", testName(), dir)),
		`source.packing: by: column "m" is not known without reading the samples`:                                                                         parsed(t, fmt.Sprintf("name: %s\nsource: {folder: %s/f, packing: {length: 8, by: m}, columns: [{name: ids, from: npy, type: npy, dtype: i16}, {name: m, type: i64}]}\n", testName(), dir)),
	} {
		if e, err := New(s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
			if err == nil {
				must(e.Close())
			}
		} else if strings.Contains(want, "all 2") && !errors.Is(err, source.ErrNoSamples) {
			t.Errorf("%v is not ErrNoSamples", err)
		}
	}
}

// Rows of documents make no allocation per sample, nor does what reads them.
func TestPackedRowsAllocateNothingPerSample(t *testing.T) {
	t.Setenv("SPDL_CACHE_DIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "a.tar")
	arraysIn(t, file, 0, slices.Repeat([]int{300, 500}, 100), nil)
	for name, s := range map[string]*spec.Spec{
		"lists":  describePacked(t, documentsOf(t, slices.Repeat([]int{3, 5}, 100)...), "{length: 8}", "batch: 50\n"),
		"arrays": describeArraysIn(t, file, "{length: 800, by: n}", "batch: 50\n"),
	} {
		t.Run(name, func(t *testing.T) { allocationsPerBatch(t, s) })
	}
}
