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
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// numbersFile writes a number for each of n samples, as f64 or as i16.
func numbersFile(t testing.TB, n int, whole bool, number func(i int) float64) string {
	t.Helper()
	a := array.Named{DType: tensor.F64, Shape: []int64{int64(n)}}
	if whole {
		a.DType = tensor.I16
	}
	for i := range n {
		if whole {
			a.Data = binary.NativeEndian.AppendUint16(a.Data, uint16(number(i)))
		} else {
			a.Data = binary.NativeEndian.AppendUint64(a.Data, math.Float64bits(number(i)))
		}
	}
	b, err := array.AppendNPY(nil, &a)
	must(err)
	path := filepath.Join(t.TempDir(), "numbers.npy")
	must(os.WriteFile(path, b, 0o644))
	return path
}

// fileOrdersAs holds key: FILE of a number for each of 32 samples against the same key of a column, with more keys beside it, and, with the last of these, over samples
// that a program brings.
func fileOrdersAs(t *testing.T, key, column string, number func(i int) float64, more ...string) {
	t.Helper()
	leavesNothing(t)
	list := table(t, 32, quarter)
	said := func(of, more string) string {
		return fmt.Sprintf("batch: 8\norder: {epochs: 1, %s: %q%s}\n", key, of, more)
	}
	order := func(of, more string) []int64 { return indexes(run(t, describeTable(t, list, said(of, more)))) }
	for _, more := range more {
		want := order(column, more)
		for _, whole := range []bool{false, true} {
			if got := order(numbersFile(t, 32, whole, number), more); len(got) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s: got %v of a file, want %v of a column", more, got, want)
			}
		}
	}
	last := more[len(more)-1]
	r := start(t, describeHost(t, 32, said(numbersFile(t, 32, false, number), last)), &Options{Feed: fed(t)})
	if got, want := indexes(rest(t, r.attach(shm.AttachOptions{}))), order(column, last); !slices.Equal(got, want) {
		t.Errorf("of a program: got %v, want %v", got, want)
	}
}

// A file of weights orders as a column of the same numbers does, of whatever type, behind a filter and over samples that a program brings.
func TestWeightsInAFileAreThoseOfAColumn(t *testing.T) {
	fileOrdersAs(t, "weights", "weight", quarter, ", replacement: false, rows: 24", ", filter: label != 1", ", rows: 64")
}

// stateOfFileFits says that a state under key: FILE fits where same says the numbers, and not where other does.
func stateOfFileFits(t *testing.T, key string, number, same, other func(i int) float64) {
	t.Helper()
	leavesNothing(t)
	list := table(t, 12, quarter)
	described := func(whole bool, number func(i int) float64) *spec.Spec {
		return describeTable(t, list, fmt.Sprintf("batch: 2\norder: {%s: %q}\n", key, numbersFile(t, 12, whole, number)))
	}
	r := startAgain(t, described(false, number), nil)
	reader := r.attach(shm.AttachOptions{})
	take(t, reader)
	state, err := reader.SaveState(testContext(t), false)
	must(err)
	must(reader.Close())
	must(r.end())

	e, err := New(described(true, same), &Options{State: state})
	must(err)
	must(e.Close())
	_, err = New(described(false, other), &Options{State: state})
	wantError(t, err, sampler.ErrStateMismatch, "order (filter, weights, mix and so on, or what their columns say)")
}

// A state fits where the numbers are the same, wherever the file lies, and nowhere else.
func TestAStateKnowsWeightsByWhatTheyAre(t *testing.T) {
	stateOfFileFits(t, "weights", quarter, quarter, func(i int) float64 { return 1 })
}

func TestFilesThatAreNoWeightsAreRefused(t *testing.T) {
	leavesNothing(t)
	list, dir := table(t, 12, quarter), t.TempDir()
	odd := numbersFile(t, 12, false, func(i int) float64 { return []float64{1, math.NaN()}[i/11] })
	short := numbersFile(t, 11, false, quarter)
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
