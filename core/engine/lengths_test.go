package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/media"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spdl/spdl/shm"
)

// series is a modality for tests: a file of k bytes is k steps, each of them twice, with times 0, 10, 20 ...
type series struct{ cut cut }

const seriesRoom = 6 // steps

func (s series) fields() []field {
	return []field{
		{name: "series", dtype: tensor.U8, shape: tensor.Shape{seriesRoom, 2}, cut: s.cut},
		{name: "length", dtype: tensor.I64, long: true},
		{name: "times", dtype: tensor.U16, shape: tensor.Shape{seriesRoom}, cut: s.cut},
	}
}

func (s series) open() (decoder, error) { return s, nil }

func (s series) Close() {}

type tooLong struct{ error }

func (tooLong) Cause() string { return "too_large" }

func (s series) decode(row [][]byte, in input, _ media.Draw) error {
	data := in.bytes
	if len(data) > seriesRoom {
		return tooLong{fmt.Errorf("got %d steps, want at most %d", len(data), seriesRoom)}
	}
	for _, field := range row {
		clear(field)
	}
	for i, b := range data {
		row[0][2*i], row[0][2*i+1] = b, b
		binary.LittleEndian.PutUint16(row[2][2*i:], uint16(10*i))
	}
	binary.LittleEndian.PutUint64(row[1], uint64(len(data)))
	return nil
}

// startSeries serves files of the given lengths in their order; file i is of bytes i + 1.
func startSeries(t *testing.T, how cut, lengths []int, more string) *running {
	t.Helper()
	dir := t.TempDir()
	for i, n := range lengths {
		content := slices.Repeat([]byte{byte(i + 1)}, n)
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)), content, 0o644))
	}
	s := describe(t, dir, "batch: 4\norder: {shuffle: false, epochs: 20}\n"+more)
	return start(t, s, &Options{samples: func(*spec.Spec) (*samples, error) {
		all := &samples{}
		all.add("", series{how})
		return all, nil
	}})
}

// seriesOf is what a batch says of its rows, whatever way they lie: steps, and times, as text.
func seriesOf(t *testing.T, l *shm.Lease, how cut) (rows []string) {
	t.Helper()
	lengths := batch.Int64s(l.Tensor(firstSide))
	values, times := l.Tensor(sampleTensor), l.Tensor(firstSide+1)
	for i := range l.Rows {
		from, to, fromTime := i*seriesRoom*2, i*seriesRoom*2+2*int(lengths[i]), i*seriesRoom*2
		if how == ragged {
			o, p := l.Offsets(sampleTensor), l.Offsets(firstSide+1)
			if o[i+1]-o[i] != 2*lengths[i] || p[i+1]-p[i] != lengths[i] {
				t.Fatalf("row %d of %d steps: offsets %v and %v", i, lengths[i], o, p)
			}
			from, to, fromTime = int(o[i]), int(o[i+1]), int(2*p[i])
		}
		row := fmt.Sprint(values[from:to])
		for k := range int(lengths[i]) {
			row += fmt.Sprint(" ", binary.LittleEndian.Uint16(times[fromTime+2*k:]))
		}
		rows = append(rows, row)
	}
	return rows
}

// A ring's rows of different length are the samples', in each of the three ways that they may lie; only padded batches are as
// long as their longest row, and only ragged ones have no space between rows.
func TestRowsOfDifferentLengthArriveWhole(t *testing.T) {
	lengths := []int{3, 4, 6, 1, 2, 2, 1, 2}
	var want []string
	for i, n := range lengths {
		row := fmt.Sprint(slices.Repeat([]byte{byte(i + 1)}, 2*n))
		for k := range n {
			row += fmt.Sprint(" ", 10*k)
		}
		want = append(want, row)
	}
	for how, shapes := range map[cut][2]string{
		uncut: {"[4 6 2] [4 6]", "[4 6 2] [4 6]"}, padded: {"[4 6 2] [4 6]", "[4 2 2] [4 2]"}, ragged: {"[28] [14]", "[14] [7]"},
	} {
		t.Run(fmt.Sprint(how), func(t *testing.T) { checkSeries(t, how, lengths, want, shapes) })
	}
}

func checkSeries(t *testing.T, how cut, lengths []int, want []string, shapes [2]string) {
	reader := startSeries(t, how, lengths, "").attach(shm.AttachOptions{})
	for range 2 {
		for k := range 2 {
			l, err := reader.Acquire(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := seriesOf(t, l, how); !slices.Equal(got, want[k*4:k*4+4]) {
				t.Fatalf("batch %d: %v, want %v", k, got, want[k*4:k*4+4])
			}
			if got := fmt.Sprint(l.Shape(sampleTensor), l.Shape(firstSide+1)); got != shapes[k] {
				t.Fatalf("batch %d: shapes %s, want %s", k, got, shapes[k])
			}
			must(l.Release())
		}
		if _, err := reader.Acquire(testContext(t)); !errors.Is(err, shm.EndEpoch) && !errors.Is(err, shm.EndData) {
			t.Fatalf("got %v, want the end of the epoch", err)
		}
	}
}

// A sample that is longer than a row has room is bad, cause too_large, and the policy makes of it what it makes of others.
func TestSampleWithoutRoomIsTooLarge(t *testing.T) {
	for policy, want := range map[string]string{
		"skip":       "[[1 1] 0 [3 3 3 3] 0 10 [4 4] 0]",
		"mask":       "[[1 1] 0 [] [3 3 3 3] 0 10 [4 4] 0]",
		"substitute": "[[1 1] 0 [1 1] 0 [3 3 3 3] 0 10 [4 4] 0]",
	} {
		for _, how := range []cut{uncut, padded, ragged} {
			t.Run(fmt.Sprint(policy, how), func(t *testing.T) {
				r := startSeries(t, how, []int{1, 7, 2, 1}, "bad_sample: {policy: "+policy+"}\n")
				l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(seriesOf(t, l, how)); got != want {
					t.Fatalf("%s, want %s", got, want)
				}
				must(l.Release())
				if n := r.Stats().Rings[0].Bad; n.Causes["too_large"] == 0 {
					t.Fatalf("%+v", n)
				}
			})
		}
	}
}

// Rows that are kept are kept with all their fields.
func TestKeptRowsKeepEveryField(t *testing.T) {
	for _, how := range []cut{uncut, padded, ragged} {
		t.Run(fmt.Sprint("memory", how), func(t *testing.T) { checkKept(t, how, "cache: {rows_bytes: 1MiB}\n") })
		t.Run(fmt.Sprint("file", how), func(t *testing.T) {
			checkKept(t, how, "cache: {rows_bytes: 1MiB, rows_dir: "+t.TempDir()+"}\n")
		})
	}
}

func checkKept(t *testing.T, how cut, cache string) {
	r := startSeries(t, how, []int{3, 4, 6, 1}, cache)
	reader := r.attach(shm.AttachOptions{})
	var first []string
	for epoch := range 20 { // some of which the ring has planned before the first one's rows were kept
		l, err := reader.Acquire(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		rows := seriesOf(t, l, how)
		must(l.Release())
		_, _ = reader.Acquire(testContext(t)) // the end of the epoch
		if epoch == 0 {
			first = rows
		}
		if !slices.Equal(first, rows) {
			t.Fatalf("epoch %d: %v, want %v", epoch, rows, first)
		}
	}
	if n := r.Stats().Rings[0].Source.Rows; n.Hits == 0 {
		t.Fatalf("%+v", n)
	}
}
