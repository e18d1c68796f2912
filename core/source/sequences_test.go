package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// steps is a list of features, each of some numbers or texts.
func steps[T any](name string, values ...T) []byte {
	var all [][]byte
	for _, v := range values {
		one := feature("", any(v)) // of which only the Feature is wanted
		all = append(all, sized(1, one[len(one)-featureBytes(one):]))
	}
	return sized(1, sized(1, []byte(name)), sized(2, all...))
}

// featureBytes is how long the Feature is in an entry whose name is empty.
func featureBytes(entry []byte) int {
	_, body, _, _ := nextField(entry)
	_, _, body, _ = nextField(body)
	_, value, _, _ := nextField(body)
	return len(value)
}

// sequence is a SequenceExample of a context and lists of features.
func sequence(context []byte, lists ...[]byte) []byte {
	return append(context, sized(2, lists...)...)
}

// sequenceRecord has as many steps as its number says.
func sequenceRecord(i int64) []byte {
	var ids [][]int64
	var boxes [][]float32
	for k := range i {
		ids, boxes = append(ids, []int64{10*i + k}), append(boxes, []float32{float32(k), 0.5})
	}
	return sequence(example(feature("image", fmt.Sprintf("picture %d", i)), feature("label", []int64{i})),
		steps("ids", ids...), steps("boxes", boxes...), steps("frames", "a", "b"), steps[string]("none"))
}

// The context of a SequenceExample is features like others, its lists of features are ragged columns, a row a step.
func TestSequenceExamples(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	var records [][]byte
	for i := range int64(5) {
		records = append(records, sequenceRecord(i+1))
	}
	write(t, file, string(recordsOf(records...)))
	s := openS(t, ShardsConfig{Shards: []string{file}, Columns: []Column{listOf("ids", tensor.I32, 9), listOf("boxes", tensor.F64, 9, 2)}})
	for i := range s.Len() {
		b, picture := read(t, s, i)
		var ids, boxes []float64
		for v := b.Value(0); len(v) > 0; v = v[4:] {
			ids = append(ids, float64(v[0]))
		}
		boxes = elementsOf(tensor.F64, b.Value(1))
		var wantIDs, wantBoxes []float64
		for k := range i + 1 {
			wantIDs, wantBoxes = append(wantIDs, float64(10*(i+1)+k)), append(wantBoxes, float64(k), 0.5)
		}
		if got, want := fmt.Sprint(picture, s.Label(i), ids, boxes), fmt.Sprint(fmt.Sprintf("picture %d", i+1), i+1, wantIDs, wantBoxes); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A list of features that a column does not want makes a bad sample, which says which step it is.
func TestSequencesThatAreNotWanted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, file, string(recordsOf(sequence(example(feature("image", "p")), steps("ids", []int64{1}, []int64{2, 3}), steps("one", []int64{1}, []int64{2}), steps("frames", "a", "b"),
		steps("mixed", any([]int64{1}), any([]float32{2})), steps("gap", []int64{1}, []int64{}), steps("damaged", []byte(sized(3, []byte{9, 9})))))))
	for want, c := range map[string]Column{
		`column "ids": step 1: got 2 numbers, want 1, a row of shape -1`:                      listOf("ids", tensor.I64, 9),
		`column "ids": step 0: got 1 numbers, want 2, a row of shape -1x2`:                    listOf("ids", tensor.I64, 9, 2),
		`column "one": got a list of more than 1, want at most that; raise max_length of the`: listOf("one", tensor.I64, 1),
		`column "one": got 2 numbers, want shape 3`:                                           listOf("one", tensor.I64, 0, 3),
		`column "one": a list of features, want a column of type list`:                        {From: "one", Type: Int64},
		`column "frames": a list of features of bytes, want one of numbers`:                   listOf("frames", tensor.U8, 9),
		`column "mixed": its steps hold values of several kinds`:                              listOf("mixed", tensor.I64, 9),
		`column "gap": step 1: got 0 numbers, want 1, a row of shape -1`:                      listOf("gap", tensor.I64, 9),
		`column "damaged": its numbers are damaged`:                                           listOf("damaged", tensor.I64, 9),
	} {
		refusesValue(t, file, c, want)
	}
	write(t, file, string(recordsOf(sequence(example(feature("image", "p")), steps("ids", []int64{1}), steps("ids", []int64{1})))))
	if _, err := OpenShards(background, ShardsConfig{Shards: []string{file}, IndexDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), `record 0 at 0: feature "ids": it is there twice`) {
		t.Errorf("got %v", err)
	}
}
