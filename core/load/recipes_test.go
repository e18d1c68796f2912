package load

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/spdl/spdl/core/spec"
)

// What was asked for last is kept, and no more than so much of it; errors are not, nor what shall not be.
func TestRecentKeepsWhatWasAskedForLast(t *testing.T) {
	made := ""
	r := recent[int, string]{most: 3}
	ask := func(keep bool, ks ...int) string {
		made = ""
		for _, k := range ks {
			v, err := r.of(k, keep, func() (string, error) {
				made += fmt.Sprint(k)
				if k < 0 {
					return "", errors.New("below zero")
				}
				return fmt.Sprint("v", k), nil
			})
			if err == nil != (k >= 0) || err == nil && v != fmt.Sprint("v", k) {
				t.Errorf("%d: %q, %v", k, v, err)
			}
		}
		return made
	}
	for _, step := range []struct {
		keep bool
		ks   []int
		want string
	}{
		{true, []int{1, 2, 3, 1, 2, 3}, "123"},
		{true, []int{1, 4, 1, 3, 2}, "42"}, // 2 went for 4, and 4 for 2
		{true, []int{-1, -1}, "-1-1"},
		{false, []int{5, 5, 1, 3, 2}, "55"},
	} {
		if got := ask(step.keep, step.ks...); got != step.want || len(r.all) != 3 {
			t.Errorf("%v: made %s and %d are kept, want %s and 3", step.ks, got, len(r.all), step.want)
		}
	}
}

// sections are descriptions in which most that fixing a size writes is written.
var sections = []string{
	`{"image": {}}`, `{"image": {"mode": "gray", "layout": "NCHW"}}`, `{"image": {"transform": [{"resize": 5}]}}`,
	`{"image": {"transform": [{"resize": {"size": 9, "max_size": 12}}, {"pad": [1, 2]}]}}`, `{"image": {"transform": [{"pad": 3}, {"horizontal_flip": 0.5}, {"normalize": "imagenet"}]}}`,
	`{"image": {"transform": [{"resize": {"size": [8, 8], "fit": "contain"}}, {"random_erasing": 1}]}}`, `{"image": {"transform": [{"random_resized_crop": 7}, {"color_jitter": {"brightness": 0.4}}]}}`,
	`{"image": {"tiles": {"size": 4, "max": 3}}}`, `{"image": {"patches": {"size": 2}}}`, `{"image": {"transform": [{"random_apply": {"p": 0.5, "transforms": [{"invert": 1}]}}]}}`,
}

// A description is read once: what it became is the same for every picture, of whatever size, and whoever fixes one's size does not write it.
func TestARecipeIsNotWritten(t *testing.T) {
	sources := []Source{{Bytes: picture()}, painted(t, 9, 31, 4), painted(t, 40, 12, 90)}
	read := map[string]*spec.Spec{}
	for _, description := range append(sections, `{"video": {"transform": [{"resize": 8}]}}`, `{"video": {"select": {"kind": "indices", "indices": [-1, 0]}}}`) {
		s, err := spec.ParseSample([]byte(description))
		if err != nil {
			t.Fatalf("%s: %v", description, err)
		}
		read[description] = s
	}
	told := func(description string, src Source) string {
		m, err := Load([]byte(description), src, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %x", shapes(m), m.Tensors[0].Data)
	}
	want := map[string]string{}
	each := func(do func(at, description string, src Source)) {
		for description, s := range read {
			these := sources
			if s.Video != nil {
				these = []Source{{Bytes: film(3)}}
			}
			for i, src := range these {
				do(fmt.Sprint(description, " of source ", i), description, src)
			}
		}
	}
	each(func(at, description string, src Source) {
		forget()
		want[at] = told(description, src)
	})
	forget()
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 3 {
				each(func(at, description string, src Source) {
					if got := told(description, src); got != want[at] {
						t.Errorf("%s: %.100s, want %.100s as of a description that nobody has used", at, got, want[at])
					}
				})
			}
		}()
	}
	group.Wait()
	for description, s := range read {
		r, err := recipeOf([]byte(description))
		if err != nil || !reflect.DeepEqual(r.sample, s) {
			t.Errorf("%s: written since it was read (%v)", description, err)
		}
	}
	if failed := strings.Count(fmt.Sprint(want), "sample: "); failed > 3 {
		t.Errorf("%d of the descriptions are refused: %v", failed, want)
	}
}

// forget has the next calls read and compile what they are given.
func forget() {
	recipes.all, batches.all, pictures.all, soundings.all = nil, nil, nil, nil
}

// However many descriptions and sizes there are, so many are kept, and none of those whose text is long.
func TestFewRecipesAreKept(t *testing.T) {
	forget()
	for i := range 3 * mostRecipes {
		if _, err := LoadBatch([]byte(fmt.Sprintf(`{"image": {}, "batch": {"height": %d}}`, i+1)), []Source{painted(t, 2, i+2, 1)}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Load([]byte(fmt.Sprintf(`{"image": {"transform": [{"resize": %d}]}}`, i+1)), Source{Bytes: picture()}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if a, b, c := len(recipes.all), len(batches.all), len(pictures.all); a != mostRecipes || b != mostRecipes || c != mostRecipes {
		t.Errorf("%d recipes, %d batches and %d sizes are kept, want %d of each", a, b, c, mostRecipes)
	}
	forget()
	long := []byte(`{"image": {}}` + strings.Repeat(" ", mostText))
	if _, err := Load(long, Source{Bytes: picture()}, nil); err != nil || len(recipes.all) != 0 {
		t.Errorf("%d are kept of %d bytes, %v, want none", len(recipes.all), len(long), err)
	}
}

// A batch is decoded by workers that wait, as a picture is.
func TestABatchIsDecodedByIdleWorkers(t *testing.T) {
	dropIdle()
	for range 3 {
		if _, err := LoadBatch([]byte(`{"image": {}, "batch": {"threads": 1}}`), []Source{{Bytes: picture()}, {Bytes: picture()}}, nil); err != nil || len(idle) != 1 {
			t.Fatalf("%d workers wait behind a batch by one goroutine, %v, want 1", len(idle), err)
		}
	}
	dropIdle()
}

// A picture that is so narrow that it would have to be resized beyond all bounds is a bad sample, of which the description is no less right.
func TestAPictureTooNarrowToBeCroppedIsABadSample(t *testing.T) {
	sources := []Source{painted(t, 1, 400, 1), painted(t, 8, 8, 2)}
	_, err := LoadBatch([]byte(`{"image": {}, "batch": {"height": 224, "width": 224, "fit": "crop"}}`), sources, nil)
	var bad *Error
	if want := "sample 0 of 2: a picture of 1 x 400 would be resized to 224 x 89600 to be of the batch's size, want sides of at most 16384"; !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	m, err := LoadBatch([]byte(`{"image": {}, "batch": {"height": 224, "width": 224, "fit": "crop", "strict": false}}`), sources, nil)
	if err != nil || fmt.Sprint(m.Info.(BatchInfo).Rows) != "[1]" || !bytes.Equal(m.Tensors[0].Data, bytes.Repeat([]byte{2}, 224*224*3)) {
		t.Errorf("%v, %v", m, err)
	}
}
