package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/array"
	"github.com/spdl/spdl/core/tensor"
)

// six is a table of six pictures, of which the last is not there, with a column.
func six(t *testing.T) Source {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("path,label,score\n")
	for _, n := range []string{"0", "1", "2", "3", "4", "5"} {
		if n != "5" {
			write(t, filepath.Join(dir, n+".jpg"), "bytes of "+n)
		}
		text.WriteString(n + ".jpg," + n + n + "," + n + ".5\n")
	}
	write(t, filepath.Join(dir, "list.csv"), text.String())
	return openL(t, ListConfig{File: filepath.Join(dir, "list.csv"), Columns: []Column{{Name: "score", Type: Float64}}})
}

// numbersFile is an .npy file of numbers that are below 256, whose other bytes are 0.
func numbersFile(t *testing.T, d tensor.DType, numbers ...byte) string {
	t.Helper()
	a := array.Named{DType: d, Shape: []int64{int64(len(numbers))}}
	for _, n := range numbers {
		a.Data = append(append(a.Data, n), make([]byte, d.Bytes()-1)...)
	}
	b, err := array.AppendNPY(nil, &a)
	must(t, err)
	return string(b)
}

func choose(t *testing.T, s Source, c Only) Source {
	t.Helper()
	p, err := Choose(s, c)
	must(t, err)
	return p
}

// Whoever asks is told that they are a part, and of how many.
func TestChosenSamplesAreSaidToBeAPart(t *testing.T) {
	s := six(t)
	for _, c := range []struct {
		only Only
		want string
	}{
		{Only{Numbers: Numbers{Given: []int64{3, 1, 3}}}, "source.only takes 3 of the source's 6 samples"},
		{Only{Numbers: Numbers{Given: []int64{0, 1, 2, 3, 4, 5, 0}}}, "source.only takes 7 of the source's 6 samples, some several times"},
		{Only{From: 4, To: -1}, "source.only takes 2 of the source's 6 samples"},
	} {
		if got := (outer{choose(t, s, c.only)}).Notes(); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%+v: got %q, want %q", c.only, got, c.want)
		}
	}
	if got := (outer{choose(t, s, Only{To: -1})}).Notes(); got != nil {
		t.Errorf("all of them: got %q", got)
	}
}

// Some samples of a source, in any order and as often as they are named, have its keys, labels, bytes and columns.
func TestChosenSamplesAreThoseThatAreNamed(t *testing.T) {
	s := six(t)
	file := filepath.Join(t.TempDir(), "only.npy")
	write(t, file, numbersFile(t, tensor.I32, 4, 0, 4))
	for _, c := range []struct {
		only Only
		want string
	}{
		{Only{Numbers: Numbers{Given: []int64{3, 1, 3}}}, "3.jpg 1.jpg 3.jpg"},
		{Only{Numbers: Numbers{File: file}}, "4.jpg 0.jpg 4.jpg"},
		{Only{From: 1, To: 3}, "1.jpg 2.jpg"},
		{Only{From: 4, To: -1}, "4.jpg 5.jpg"},
		{Only{To: 6}, "0.jpg 1.jpg 2.jpg 3.jpg 4.jpg 5.jpg"},
	} {
		p := choose(t, s, c.only)
		names := strings.Fields(c.want)
		if got := keys(p); !slices.Equal(got, names) {
			t.Fatalf("%+v: got %v, want %v", c.only, got, names)
		}
		score := p.(Knowing).Known("score")
		for i, name := range names {
			n := int64(name[0] - '0')
			if p.Label(int64(i)) != 11*n || score(int64(i)) != float64(n)+0.5 || p.(Knowing).Known("absent") != nil {
				t.Errorf("%+v: sample %d: label %d, score %v", c.only, i, p.Label(int64(i)), score(int64(i)))
			}
			var b Buffer
			if err := p.Read(background, int64(i), &b); name != "5.jpg" && (err != nil || string(b.Bytes()) != "bytes of "+name[:1]) {
				t.Errorf("%+v: sample %d: %v, %q", c.only, i, err, b.Bytes())
			}
			if id := p.(Versioned).Identity(int64(i), nil); string(id) != string(s.(Versioned).Identity(n, nil)) {
				t.Errorf("%+v: sample %d has another identity", c.only, i)
			}
		}
	}
	if choose(t, s, Only{To: -1}) != s {
		t.Error("all samples are another source")
	}
}

// A chosen sample that cannot be read is named by its place among those that are chosen.
func TestAChosenSamplesFaultNamesItsPlace(t *testing.T) {
	var b Buffer
	var bad *Error
	if err := choose(t, six(t), Only{Numbers: Numbers{Given: []int64{2, 5}}}).Read(background, 1, &b); !errors.As(err, &bad) || bad.Index != 1 || bad.Key != "5.jpg" || bad.Cause != Missing {
		t.Fatalf("got %v", err)
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	if err := choose(t, six(t), Only{To: 2}).Read(ended, 1, &b); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// Chosen samples are another data set, by which they are and by their order; their labels' names are the same.
func TestFingerprintOfChosenSamples(t *testing.T) {
	s := six(t)
	base := choose(t, s, Only{Numbers: Numbers{Given: []int64{1, 2}}})
	compare(t, "as a range", base, choose(t, s, Only{From: 1, To: 3}), true, true)
	compare(t, "the other way round", base, choose(t, s, Only{Numbers: Numbers{Given: []int64{2, 1}}}), false, true)
	compare(t, "one more", base, choose(t, s, Only{From: 1, To: 4}), false, true)
	compare(t, "all", base, s, false, true)
}

// Stretches that lie in one shard stay together; where samples jump, each jump begins another.
func TestShardsOfChosenSamplesAreTheirStretches(t *testing.T) {
	s := sharded{six(t), []int64{0, 2, 3}}
	for _, c := range []struct {
		only Only
		want []int64
	}{
		{Only{From: 1, To: 6}, []int64{0, 1, 2}},
		{Only{From: 3, To: 5}, []int64{0}},
		{Only{Numbers: Numbers{Given: []int64{0, 1, 4, 5}}}, []int64{0, 2}},
		{Only{Numbers: Numbers{Given: []int64{5, 0, 1, 2}}}, []int64{0, 1, 3}},
	} {
		if got := choose(t, s, c.only).(Sharded).Shards(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v, want %v", c.only, got, c.want)
		}
	}
	if got := choose(t, six(t), Only{To: 2}).(Sharded).Shards(); got != nil {
		t.Errorf("of a source without shards: %v", got)
	}
}

type sharded struct {
	Source
	starts []int64
}

func (s sharded) Shards() []int64 { return s.starts }

// What is read ahead is told in the other source's numbers, and lengths of lists are asked for by them.
func TestChosenSamplesAreToldAheadByTheirOwnNumbers(t *testing.T) {
	told := &toldAhead{Source: six(t)}
	p := choose(t, told, Only{Numbers: Numbers{Given: []int64{4, 0, 4}}})
	p.(Planned).Ahead([]int64{0, 1})
	if !slices.Equal(told.ahead, []int64{4, 0}) {
		t.Errorf("got %v", told.ahead)
	}
	if got := p.(Measured).Lengths("ids")(2); got != 40 {
		t.Errorf("a length of %d, want that of sample 4", got)
	}
	if choose(t, six(t), Only{To: 2}).(Measured).Lengths("ids") != nil {
		t.Error("nothing knows lengths")
	}
}

type toldAhead struct {
	Source
	ahead []int64
}

func (p *toldAhead) Ahead(samples []int64) { p.ahead = append(p.ahead, samples...) }
func (p *toldAhead) Lengths(string) func(i int64) int64 {
	return func(i int64) int64 { return 10 * i }
}

// Numbers that are no samples, none, and what is no array of whole numbers are refused.
func TestNumbersThatNameNoSample(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "floats.npy"), numbersFile(t, tensor.F64, 1, 2))
	write(t, filepath.Join(dir, "none.npy"), numbersFile(t, tensor.I32))
	for _, c := range []struct {
		only Only
		want string
	}{
		{Only{Numbers: Numbers{Given: []int64{0, 6}}}, "only: got 6 at 1 of 2 numbers, want numbers from 0 to 5: the source has 6 samples"},
		{Only{Numbers: Numbers{Given: []int64{-1}}}, "only: got -1 at 0 of 1 numbers"},
		{Only{From: 2, To: 7}, "only: got samples up to 7, want at most 6, as many as the source has"},
		{Only{From: 6, To: -1}, "only: no samples: got those from 6 up to 6, of 6"},
		{Only{Numbers: Numbers{File: filepath.Join(dir, "floats.npy")}}, "want whole numbers in one dimension"},
		{Only{Numbers: Numbers{File: filepath.Join(dir, "none.npy")}}, "only: "},
		{Only{Numbers: Numbers{File: filepath.Join(dir, "absent.npy")}}, "only: "},
	} {
		if p, err := Choose(six(t), c.only); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, %v, want %q", c.only, p, err, c.want)
		}
	}
	if _, err := Choose(six(t), Only{Numbers: Numbers{File: filepath.Join(dir, "absent.npy")}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
