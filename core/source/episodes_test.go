package source

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// windows are what diffusion_policy's create_indices and sample_sequence make of an episode of rows from lo up to hi, and which of their rows are repeated.
func naiveWindows(lo, hi, window, span, step, before, after int64) (all, masks [][]uint64) {
	for from := -before; from <= hi-lo-span+after && hi > lo; from += step {
		var rows, mask []uint64
		for r := from; r < from+window; r++ {
			rows = append(rows, uint64(lo+min(max(r, 0), hi-lo-1)))
			mask = append(mask, 0)
			if r < 0 || r >= hi-lo {
				mask[len(mask)-1] = 1
			}
		}
		all, masks = append(all, rows), append(masks, mask)
	}
	return all, masks
}

// Windows of one array with many episodes, and those of as many files, are what a naive loop makes: none has rows of two episodes, and what they
// have before and behind one is its first and last row.
func TestWindowsKeepToEpisodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		dir := t.TempDir()
		var lengths, ends []int64
		var files []string
		rows := int64(0)
		for k := range 1 + rng.IntN(6) {
			n := 1 + rng.Int64N(9)
			lengths, ends = append(lengths, n), append(ends, rows+n)
			part := counting(int(rows+n), tensor.U16)[2*rows:]
			files = append(files, writtenTo(t, filepath.Join(dir, fmt.Sprintf("part%d.bin", k)), part))
			rows += n
		}
		whole := writtenTo(t, filepath.Join(dir, "x.bin"), counting(int(rows), tensor.U16))
		window := 1 + rng.Int64N(6)
		span := window + rng.Int64N(3)
		a := ArrayFiles{Name: "x", DType: tensor.U16, Window: window, Within: span, Step: 1 + rng.Int64N(3), PadBefore: rng.Int64N(span), PadAfter: rng.Int64N(span), IsPad: true}
		only := []int64{}
		for k := range lengths {
			if rng.IntN(3) > 0 {
				only = append(only, int64(k))
			}
		}
		for _, c := range []struct {
			what     string
			files    []string
			episodes *Episodes
		}{
			{"ends", []string{whole}, &Episodes{Numbers: Numbers{Given: ends}}},
			{"lengths", []string{whole}, &Episodes{Numbers: Numbers{Given: lengths}, Lengths: true}},
			{"only", []string{whole}, &Episodes{Numbers: Numbers{Given: ends}, Only: &Numbers{Given: only}}},
			{"files", files, nil},
		} {
			var want, masks [][]uint64
			short := 0
			for k := range ends {
				if c.what == "only" && !slices.Contains(only, int64(k)) {
					continue
				}
				all, mask := naiveWindows(ends[k]-lengths[k], ends[k], window, span, a.Step, a.PadBefore, a.PadAfter)
				want, masks = append(want, all...), append(masks, mask...)
				if len(all) == 0 {
					short++
				}
			}
			a.Files = c.files
			s, err := OpenArrays(ArraysConfig{Arrays: []ArrayFiles{a, {Name: "first", Files: c.files, DType: tensor.U16, Within: span, Step: a.Step, PadBefore: a.PadBefore, PadAfter: a.PadAfter}}, Label: "first", Episodes: c.episodes})
			if len(want) == 0 {
				if err == nil || !strings.Contains(err.Error(), "no samples: want") {
					t.Fatalf("%s of %v: got %v", c.what, lengths, err)
				}
				continue
			}
			must(t, err)
			if s.Len() != int64(len(want)) {
				t.Fatalf("%s: %+v of %v: got %d samples, want %d", c.what, a, lengths, s.Len(), len(want))
			}
			ids := map[string]string{}
			for i := range s.Len() {
				got, mask := elements(t, s, i, 0), elements(t, s, i, 2)
				if !slices.Equal(got, want[i]) || !slices.Equal(mask, masks[i]) || s.Label(i) != int64(want[i][0]) || elements(t, s, i, 1)[0] != want[i][0] {
					t.Fatalf("%s: %+v of %v: sample %d: got %v, %v, label %d, want %v, %v", c.what, a, lengths, i, got, mask, s.Label(i), want[i], masks[i])
				}
				id, content := string(s.(Versioned).Identity(i, nil)), fmt.Sprint(got, mask)
				if other, twice := ids[id]; twice && other != content {
					t.Fatalf("%s: %+v of %v: samples %v and %v have one identity", c.what, a, lengths, other, content)
				}
				ids[id] = content
			}
			notes := s.(interface{ Notes() []string }).Notes()
			if said := len(notes) > 0 && strings.Contains(notes[0], fmt.Sprintf(`array "x": %d of `, short)); said != (short > 0) {
				t.Fatalf("%s: %+v of %v: %d short ones: %q", c.what, a, lengths, short, notes)
			}
			must(t, s.Close())
		}
	}
}

// The shards of arrays in chunks are those chunks, each with the samples that begin in it; those with rows ahead of an episode are of the chunk that it begins in.
func TestChunksOfEpisodesAreShards(t *testing.T) {
	dir := zarrDir(t, filepath.Join(t.TempDir(), "x"), 20, 1, -1) // chunks of 3 rows
	for _, c := range []struct {
		a        ArrayFiles
		episodes *Episodes
		want     string
	}{
		{ArrayFiles{Window: 2, Step: 1}, nil, "[0 3 6 9 12 15 18]"},
		{ArrayFiles{Window: 2, Step: 1, PadBefore: 1, PadAfter: 1}, nil, "[0 4 7 10 13 16 19]"},
		{ArrayFiles{Window: 2, Step: 1}, &Episodes{Numbers: Numbers{Given: []int64{4, 5, 20}}}, "[0 3 4 7 10 13 16]"},
		{ArrayFiles{Window: 2, Step: 1, PadBefore: 1}, &Episodes{Numbers: Numbers{Given: []int64{4, 5, 20}}}, "[0 4 7 10 13 16 19]"},
		{ArrayFiles{Window: 2, Step: 1, PadBefore: 1}, &Episodes{Numbers: Numbers{Given: []int64{4, 5, 20}}, Only: &Numbers{Given: []int64{0, 1}}}, "[0 4]"},
	} {
		c.a.Name, c.a.Files = "x", []string{dir}
		s := arraysOf(t, ArraysConfig{Arrays: []ArrayFiles{c.a}, Episodes: c.episodes})
		if got := fmt.Sprint(s.(Sharded).Shards()); got != c.want {
			t.Errorf("%+v %+v: got %s of %d, want %s", c.a, c.episodes, got, s.Len(), c.want)
		}
		for k, first := range s.(Sharded).Shards() {
			if first >= s.Len() || k == 0 && first != 0 {
				t.Errorf("%+v: shard %d begins at %d of %d", c.a, k, first, s.Len())
			}
		}
	}
}

// Where episodes end is what samples there are, and so are the rows that are repeated.
func TestEpisodesMakeAnotherFingerprint(t *testing.T) {
	path := writtenTo(t, filepath.Join(t.TempDir(), "x.bin"), counting(20, tensor.U16))
	seen := map[Fingerprint]int{}
	for k, c := range []ArraysConfig{
		{Arrays: []ArrayFiles{{Window: 2, Step: 1}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{9, 20}}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{10, 20}}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{10, 20}}, Only: &Numbers{Given: []int64{1}}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1, PadBefore: 1}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{10, 20}}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1, PadAfter: 1}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{10, 20}}}},
		{Arrays: []ArrayFiles{{Window: 2, Step: 1, PadAfter: 1, IsPad: true}}, Episodes: &Episodes{Numbers: Numbers{Given: []int64{10, 20}}}},
	} {
		c.Arrays[0].Name, c.Arrays[0].Files, c.Arrays[0].DType = "x", []string{path}, tensor.U16
		f, ok := arraysOf(t, c).(Fingerprinted).Fingerprint()
		if other, twice := seen[f]; twice || !ok {
			t.Errorf("%d has the fingerprint of %d", k, other)
		}
		seen[f] = k
	}
}

// Ends may be an array of any kind; what cannot be is refused with what is wrong.
func TestEpisodesThatCannotBeAreRefused(t *testing.T) {
	dir := t.TempDir()
	x := npyFile(t, filepath.Join(dir, "x.npy"), tensor.F32, 5, 2)
	y := npyFile(t, filepath.Join(dir, "y.npy"), tensor.F32, 6)
	y2 := npyFile(t, filepath.Join(dir, "y2.npy"), tensor.F32, 6)
	ends := npyFile(t, filepath.Join(dir, "ends.npy"), tensor.U8, 6) // 0 1 2 3 4 5
	long, short := writtenTo(t, filepath.Join(dir, "p0.bin"), counting(4, tensor.U8)), writtenTo(t, filepath.Join(dir, "p1.bin"), counting(3, tensor.U8))
	vast := writtenTo(t, filepath.Join(zarrDir(t, filepath.Join(dir, "vast"), 3, 1, -1), ".zarray"), []byte(`{"zarr_format":2,"shape":[1152921504606846976],"chunks":[3],"dtype":"<u2","order":"C","fill_value":77}`))
	one := func(e Episodes, arrays ...ArrayFiles) ArraysConfig {
		if arrays == nil {
			arrays = []ArrayFiles{{Name: "x", Files: []string{x}}}
		}
		return ArraysConfig{Arrays: arrays, Episodes: &e}
	}
	for want, c := range map[string]ArraysConfig{
		"source: episodes: ends: episode 1: got 3, want more than 3, where the one before it ends; of how many rows each has say lengths": one(Episodes{Numbers: Numbers{Given: []int64{3, 3, 5}}}),
		"source: episodes: ends: episode 0: got 0, want more than 0":                                                                      one(Episodes{Numbers: Numbers{File: ends}}),
		"source: episodes: ends: episode 1: got -1, want more than 3":                                                                     one(Episodes{Numbers: Numbers{Given: []int64{3, -1}}}),
		"source: episodes: lengths: episode 1: got 0, want 1 or more":                                                                     one(Episodes{Numbers: Numbers{Given: []int64{5, 0}}, Lengths: true}),
		"source: episodes: lengths: episode 1: got 9223372036854775807, want 1 or more, and less than 2^63 rows together":                 one(Episodes{Numbers: Numbers{Given: []int64{5, 1<<63 - 1}}, Lengths: true}),
		`source: array "x": "` + x + `": got 5 rows, want 7, where the last of 2 episodes ends`:                                           one(Episodes{Numbers: Numbers{Given: []int64{3, 7}}}),
		`source: array "x": "` + x + `": got 5 rows, want 4, where the last of 1 episodes ends`:                                           one(Episodes{Numbers: Numbers{Given: []int64{4}}}),
		`source: array "y": "` + y + `": got 6 rows, want 5, where the last of 1 episodes ends`:                                           one(Episodes{Numbers: Numbers{Given: []int64{5}}}, ArrayFiles{Name: "x", Files: []string{x}}, ArrayFiles{Name: "y", Files: []string{y}}),
		"got several files or datasets beside source.episodes, want one":                                                                  one(Episodes{Numbers: Numbers{Given: []int64{6}}}, ArrayFiles{Name: "x", Files: []string{y, y2}}, ArrayFiles{Name: "y", Files: []string{y}}),
		"got 2 samples of rows 0 to 2, want 3, as the first array has; windows of all arrays begin at the same steps":                     one(Episodes{Numbers: Numbers{Given: []int64{3, 5}}}, ArrayFiles{Name: "x", Files: []string{x}}, ArrayFiles{Name: "y", Files: []string{x}, Window: 2, Step: 1}),
		"source: episodes: \"" + x + "\": got rows of 2 of f32, want whole numbers in one dimension":                                      one(Episodes{Numbers: Numbers{File: x}}),
		"source: episodes: \"" + filepath.Join(dir, "none.npy") + "\": no such file or directory":                                         one(Episodes{Numbers: Numbers{File: filepath.Join(dir, "none.npy")}}),
		"source: episodes: \"" + filepath.Dir(vast) + "\": got 1152921504606846976 numbers, want at most 16777216":                        one(Episodes{Numbers: Numbers{File: filepath.Dir(vast)}}),
		"source: episodes: \"" + filepath.Join(dir, "y*.npy") + "\": got 2 arrays, want one":                                              one(Episodes{Numbers: Numbers{File: filepath.Join(dir, "y*.npy")}}),
		"source: episodes: only: got episode 1 behind 1, want numbers from 0 to 1 in ascending order, each once":                          one(Episodes{Numbers: Numbers{Given: []int64{3, 5}}, Only: &Numbers{Given: []int64{1, 1}}}),
		"source: episodes: only: got episode 2 behind -1, want numbers from 0 to 1":                                                       one(Episodes{Numbers: Numbers{Given: []int64{3, 5}}, Only: &Numbers{Given: []int64{2}}}),
		"source: episodes: only: \"" + x + "\": got rows of 2 of f32":                                                                     one(Episodes{Numbers: Numbers{Given: []int64{3, 5}}, Only: &Numbers{File: x}}),
		"source: episodes: ends: episode 0: got -39, want more than 0":                                                                    one(Episodes{Numbers: Numbers{File: "../grid/testdata/latest.h5", Dataset: "labels"}}),
		`source: episodes: "../grid/testdata/latest.h5": got an HDF5 file; say which of its arrays with dataset`:                          one(Episodes{Numbers: Numbers{File: "../grid/testdata/latest.h5"}}),
		`source: array "x": no samples: want 4 rows or more in one episode; of 2 none has them`:                                           one(Episodes{Numbers: Numbers{Given: []int64{3, 5}}}, ArrayFiles{Name: "x", Files: []string{x}, Window: 6, PadBefore: 1, PadAfter: 1}),
		`source: array "y": "` + short + `": got 2 samples of rows 0 to 2, want 3, as the first array has`:                                {Arrays: []ArrayFiles{{Name: "x", Files: []string{long, short}, DType: tensor.U8, Window: 2, Step: 1}, {Name: "y", Files: []string{short, long}, DType: tensor.U8, Window: 2, Step: 1}}},
	} {
		s, err := OpenArrays(c)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
