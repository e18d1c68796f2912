package source

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/spdl/spdl/core/tensor"
)

// maxEpisodes is how many episodes of one array are held, 24 bytes each.
const maxEpisodes = 1 << 24

// Episodes says where those lie that an array has one behind the other.
type Episodes struct {
	Numbers Numbers  // the row behind each one's last, in ascending order
	Lengths bool     // they are how many rows each has instead
	Only    *Numbers // the episodes that samples are of, counted from 0, in ascending order; nil: all
}

// Numbers are whole numbers, or the array that has them.
type Numbers struct {
	Given   []int64
	File    string // "": those are given
	Dataset string // of an HDF5 file
}

// episodes are those of which the samples of all arrays are.
type episodes struct {
	all    []episode
	total  int     // in the arrays, with those that are left out
	rows   int64   // of all of them
	firsts []int64 // each one's first sample; nil: no array was looked at yet
}

// episode is the rows of one, from the first up to the one behind its last.
type episode struct{ from, to int64 }

// openEpisodes reads where episodes lie.
func openEpisodes(c *Episodes, p *Progress) (*episodes, error) {
	numbers, err := c.Numbers.read(maxEpisodes, p)
	if err != nil {
		return nil, err
	}
	e := &episodes{total: len(numbers)}
	for k, n := range numbers {
		one := episode{e.rows, n}
		switch {
		case c.Lengths && (n < 1 || n > math.MaxInt64-e.rows):
			return nil, fmt.Errorf("lengths: episode %d: got %d, want 1 or more, and less than 2^63 rows together", k, n)
		case c.Lengths:
			one.to += e.rows
		case n <= e.rows:
			return nil, fmt.Errorf("ends: episode %d: got %d, want more than %d, where the one before it ends; of how many rows each has say lengths", k, n, e.rows)
		}
		e.all, e.rows = append(e.all, one), one.to
	}
	if c.Only != nil {
		err = e.keep(c.Only, p)
	}
	return e, err
}

// keep leaves out all but some.
func (e *episodes) keep(c *Numbers, p *Progress) error {
	only, err := c.read(maxEpisodes, p)
	if err != nil {
		return fmt.Errorf("only: %w", err)
	}
	var kept []episode
	last := int64(-1)
	for _, k := range only {
		if k <= last || k >= int64(e.total) {
			return fmt.Errorf("only: got episode %d behind %d, want numbers from 0 to %d in ascending order, each once", k, last, e.total-1)
		}
		kept, last = append(kept, e.all[k]), k
	}
	e.all = kept
	return nil
}

// read is the numbers, at most so many.
func (c *Numbers) read(most int64, p *Progress) ([]int64, error) {
	if c.File == "" {
		return c.Given, nil
	}
	s := newArrays()
	all, err := s.numbers(&ArrayFiles{Name: "numbers", Files: []string{c.File}, Dataset: datasetOf(c.Dataset)}, most, p)
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	return all, nil
}

func datasetOf(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// numbers are those of an array of whole numbers.
func (s *arrays) numbers(c *ArrayFiles, most int64, p *Progress) ([]int64, error) {
	if err := s.open(c, p); err != nil {
		return nil, err
	}
	a := &s.all[0]
	switch d := a.elements.DType; {
	case len(a.files) > 1:
		return nil, fmt.Errorf("%q: got %d arrays, want one", c.Files[0], len(a.files))
	case a.kind != numberSteps:
		return nil, fmt.Errorf("%q: got %v, want whole numbers in one dimension", a.files[0].shown(), a.kind)
	case len(s.columns[0].Shape) > 0 || d.Code() != tensor.CodeInt && d.Code() != tensor.CodeUint:
		return nil, fmt.Errorf("%q: got rows of %v of %v, want whole numbers in one dimension", a.files[0].shown(), s.columns[0].Shape, d)
	case s.n > most:
		return nil, fmt.Errorf("%q: got %d numbers, want at most %d", a.files[0].shown(), s.n, most)
	}
	all, err := s.wholes(0, p)
	if err != nil {
		err = fmt.Errorf("%q: %w", a.files[0].shown(), err)
	}
	return all, err
}

// take counts the samples of an array, which has all episodes.
func (e *episodes) take(a *stepped, rows int64) (samples int64, err error) {
	switch {
	case len(a.files) > 1:
		return 0, errors.New("got several files or datasets beside source.episodes, want one: the episodes are rows of a single array; without source.episodes each file is one")
	case rows != e.rows:
		return 0, fmt.Errorf("got %d rows, want %d, where the last of %d episodes ends", rows, e.rows, e.total)
	}
	firsts := make([]int64, len(e.all))
	for k, one := range e.all {
		firsts[k] = samples
		samples += a.count(one.to - one.from)
		if k > 0 && e.firsts != nil && firsts[k] != e.firsts[k] {
			return 0, unlike(firsts[k]-firsts[k-1], e.firsts[k]-e.firsts[k-1], e.all[k-1])
		}
	}
	e.firsts = firsts
	return samples, nil
}

// unlike is the error of arrays that have not as many samples in one episode.
func unlike(got, want int64, of episode) error {
	return fmt.Errorf("got %d samples of rows %d to %d, want %d, as the first array has; windows of all arrays begin at the same steps (step, pad_before), as many of them (window, within, pad_after)",
		got, of.from, of.to-1, want)
}

// alike says whether an array of as many files as the first one has as many samples of each, where these are windows.
func (a *stepped) alike(first *stepped) error {
	if len(a.files) != len(first.files) || max(a.span, first.span) == 1 {
		return nil
	}
	for k := 1; k < len(a.files); k++ {
		f, want := &a.files[k], &first.files[k]
		if f.first != want.first {
			return fmt.Errorf("%q: %w", a.files[k-1].shown(), unlike(f.first-a.files[k-1].first, want.first-first.files[k-1].first, episode{0, a.files[k-1].rows}))
		}
	}
	return nil
}

// count is how many samples so many rows have that are an episode.
func (a *stepped) count(rows int64) int64 {
	if last := rows - a.span + a.before + a.after; rows > 0 && last >= 0 {
		return last/a.step + 1
	}
	return 0
}

// least is how many rows an episode has to have for a sample.
func (a *stepped) least() int64 { return max(a.span-a.before-a.after, 1) }

// inEpisode is a sample's place in its episode, which is a whole file where there are none.
type inEpisode struct {
	*stepFile
	episode
	number, samples int64 // of a sample, and how many there are
}

// episodeOf is where sample i is.
func (a *stepped) episodeOf(i int64) inEpisode {
	f := a.fileOf(i)
	e := inEpisode{f, episode{0, f.rows}, i - f.first, 0}
	if all := a.episodes; all != nil {
		k := sort.Search(len(all.firsts), func(k int) bool { return all.firsts[k] > i }) - 1
		e.episode, e.number = all.all[k], i-all.firsts[k]
	}
	e.samples = a.count(e.to - e.from)
	return e
}

// lies is where a sample does: row is the first of it that is there. Its steps from begin up to end are; of those before begin and from end on
// the nearest one stands in their place. Where begin is end, none is there, and row is that one.
type lies struct {
	*stepFile
	row, begin, end int64
}

// of is the row that stands in a step of the sample.
func (l *lies) of(step int64) int64 {
	return l.row + min(max(step-l.begin, 0), max(l.end-l.begin-1, 0))
}

// at is where sample i lies.
func (a *stepped) at(i int64) lies {
	e := a.episodeOf(i)
	from := e.from - a.before + e.number*a.step
	inside := func(steps int64) int64 { return min(max(steps, 0), a.window) }
	return lies{e.stepFile, min(max(from, e.from), e.to-1), inside(e.from - from), inside(e.to - from)}
}

// mask appends which steps of sample i are repeated as the buffer's next value.
func (a *stepped) mask(i int64, b *Buffer) {
	at, from := a.at(i), len(b.values)
	for k := range a.window {
		one := byte(0)
		if k < at.begin || k >= at.end {
			one = 1
		}
		b.values = append(b.values, one)
	}
	b.took(from)
}

// addMasks appends the columns that say which steps are repeated.
func (s *arrays) addMasks(all []ArrayFiles) {
	for k := range all {
		if !all[k].IsPad {
			continue
		}
		shape := tensor.Shape{}
		if all[k].Window > 0 {
			shape = append(shape, all[k].Window)
		}
		s.masks = append(s.masks, k)
		s.columns = append(s.columns, Column{Name: IsPadOf(all[k].Name), From: IsPadOf(all[k].Name), Type: Array, DType: tensor.U8, Shape: shape})
	}
}

// starting is the first sample of a file whose rows begin at one, or behind it; of an episode's first row it is the first of all.
func (a *stepped) starting(f *stepFile, row int64) int64 {
	e, first := episode{0, f.rows}, f.first
	if all := a.episodes; all != nil {
		k := sort.Search(len(all.all), func(k int) bool { return all.all[k].to > row })
		if k == len(all.all) {
			return math.MaxInt64
		}
		e, first = all.all[k], all.firsts[k]
	}
	if row <= e.from {
		return first
	}
	return first + min((row-e.from+a.before+a.step-1)/a.step, a.count(e.to-e.from))
}

// Notes say how many episodes are too short to have a sample.
func (s *arrays) Notes() (notes []string) {
	for k := range s.all {
		a := &s.all[k]
		what, short, of := "files and datasets", 0, len(a.files)
		for _, f := range a.files {
			if a.count(f.rows) == 0 {
				short++
			}
		}
		if e := s.episodes; e != nil {
			what, short, of = "episodes", 0, len(e.all)
			for _, one := range e.all {
				if a.count(one.to-one.from) == 0 {
					short++
				}
			}
		}
		if short > 0 {
			notes = append(notes, fmt.Sprintf("array %q: %d of %d %s have fewer than %d rows, and no sample", a.name, short, of, what, a.least()))
		}
	}
	return notes
}
