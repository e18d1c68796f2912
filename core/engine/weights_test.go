package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/sampler"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// weightsFile writes the weights of n samples, as f64 or as i16.
func weightsFile(t testing.TB, n int, whole bool, weight func(i int) float64) string {
	t.Helper()
	a := array.Named{DType: tensor.F64, Shape: []int64{int64(n)}}
	if whole {
		a.DType = tensor.I16
	}
	for i := range n {
		if whole {
			a.Data = binary.NativeEndian.AppendUint16(a.Data, uint16(weight(i)))
		} else {
			a.Data = binary.NativeEndian.AppendUint64(a.Data, math.Float64bits(weight(i)))
		}
	}
	b, err := array.AppendNPY(nil, &a)
	must(err)
	path := filepath.Join(t.TempDir(), "weights.npy")
	must(os.WriteFile(path, b, 0o644))
	return path
}

// A file of weights orders as a column of the same numbers does, of whatever type, behind a filter and over samples that a program brings.
func TestWeightsInAFileAreThoseOfAColumn(t *testing.T) {
	leavesNothing(t)
	list := table(t, 32, quarter)
	order := func(weights, more string) []int64 {
		return indexes(run(t, describeTable(t, list, fmt.Sprintf("batch: 8\norder: {epochs: 1, weights: %q%s}\n", weights, more))))
	}
	for _, more := range []string{", rows: 64", ", replacement: false, rows: 24", ", filter: label != 1"} {
		want := order("weight", more)
		for _, whole := range []bool{false, true} {
			if got := order(weightsFile(t, 32, whole, quarter), more); len(got) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", more, got, want)
			}
		}
	}
	path := weightsFile(t, 32, false, quarter)
	r := start(t, describeHost(t, 32, fmt.Sprintf("batch: 8\norder: {epochs: 1, rows: 64, weights: %q}\n", path)), &Options{Feed: fed(t)})
	if got, want := indexes(rest(t, r.attach(shm.AttachOptions{}))), order("weight", ", rows: 64"); !slices.Equal(got, want) {
		t.Errorf("of a program: got %v, want %v", got, want)
	}
}

// A state fits where the numbers are the same, wherever the file lies, and nowhere else.
func TestAStateKnowsWeightsByWhatTheyAre(t *testing.T) {
	leavesNothing(t)
	list := table(t, 12, quarter)
	more := func(path string) string { return fmt.Sprintf("batch: 4\norder: {weights: %q}\n", path) }
	r := startAgain(t, describeTable(t, list, more(weightsFile(t, 12, false, quarter))), nil)
	reader := r.attach(shm.AttachOptions{})
	take(t, reader)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(r.end())

	e, err := New(describeTable(t, list, more(weightsFile(t, 12, true, quarter))), &Options{State: state})
	must(err)
	must(e.Close())
	_, err = New(describeTable(t, list, more(weightsFile(t, 12, false, func(i int) float64 { return 1 }))), &Options{State: state})
	wantError(t, err, sampler.ErrStateMismatch, "order (filter, weights, mix and so on, or what their columns say)")
}

func TestFilesThatAreNoWeightsAreRefused(t *testing.T) {
	leavesNothing(t)
	list, dir := table(t, 12, quarter), t.TempDir()
	odd := weightsFile(t, 12, false, func(i int) float64 { return []float64{1, math.NaN()}[i/11] })
	short := weightsFile(t, 11, false, quarter)
	text := filepath.Join(dir, "text.npy")
	must(os.WriteFile(text, []byte("1 2 3"), 0o644))
	for path, want := range map[string]string{
		odd:                             fmt.Sprintf(`order: weights: %q: sample 11 "011.jpg": got NaN, want a number from 0 to 3.4e38; mend the value`, odd),
		short:                           fmt.Sprintf(`order: weights: %q: got shape 11, want [12], a number for each sample of the source`, short),
		text:                            fmt.Sprintf(`order: weights: %q: array: npy: `, text),
		filepath.Join(dir, "there.npy"): "there.npy: no such file",
	} {
		_, err := New(describeTable(t, list, fmt.Sprintf("batch: 4\norder: {weights: %q}\n", path)), nil)
		if !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}
