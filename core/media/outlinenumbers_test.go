package media

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// packedNumbers are numbers as ReadNumbers takes them.
func packedNumbers(all ...float64) (b []byte) {
	for _, v := range all {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// codesOf are a text's characters as numbers.
func codesOf(text string) (all []float64) {
	for _, c := range []byte(text) {
		all = append(all, float64(c))
	}
	return all
}

// Outlines as numbers draw the masks of the same outlines in JSON, without memory for them.
func TestOutlinesAsNumbersAreThoseOfTheirJSON(t *testing.T) {
	wk, op := worker(t, nil), compiled(t, Config{Resize: Size{50, 60}})
	packed := packedRuns([]int{100, 20, 3, 77, 1000})
	text := `[[[0.5,-1,9,0,9.25,9,0,9],[3,3,20,4,9,9]], {"size":[30,40],"counts":[5,95,1100]}, {"counts":"` + strings.ReplaceAll(packed, `\`, `\\`) + `","size":[30,40]}, [[1,2,30,4,5,6]]]`
	numbers := packedNumbers(slices.Concat(
		[]float64{2, 8, 0.5, -1, 9, 0, 9.25, 9, 0, 9, 6, 3, 3, 20, 4, 9, 9}, []float64{0, 30, 40, 3, 5, 95, 1100}, []float64{0, 30, 40, -float64(len(packed))}, codesOf(packed), []float64{1, 6, 1, 2, 30, 4, 5, 6})...)
	want := masksOf(t, wk, op, 40, 30, Draw{}, text)
	row, room, data, kept := make([]byte, op.RowBytes()), make([]byte, 0, len(want)), greys(t, 40, 30, nil), slices.Repeat([]bool{true}, 4)
	var o Outlines
	if n := testing.AllocsPerRun(10, func() {
		if _, err := wk.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		if err := o.ReadNumbers(numbers); err != nil || o.Len() != 4 {
			t.Fatal(o.Len(), err)
		}
		if got, err := wk.Masks(room, op, &o, kept); err != nil || !bytes.Equal(got, want) {
			t.Fatal("masks differ from those of JSON", err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
	if bytes.IndexByte(want, 1) < 0 {
		t.Error("no mask has a pixel")
	}
}

// What is no outline is refused with its place, what it is and what is wanted.
func TestNumbersThatAreNoOutlinesAreRefused(t *testing.T) {
	for want, numbers := range map[string][]float64{
		"outline 0: got 1.5, want a whole number":                                                         {1.5},
		"outline 0: got NaN, want a whole number":                                                         {math.NaN()},
		"outline 0: got 1e+10, want a whole number":                                                       {1e10},
		"outline 0: got no polygon, want at least one":                                                    {-1},
		"outline 0: polygon 0: the numbers end within it":                                                 {1},
		"outline 0: polygon 0: got 4 numbers, want x and y of each point, and 3 points at least":          {1, 4, 1, 2, 3, 4},
		"outline 0: polygon 0: got 7 numbers":                                                             {1, 7, 1, 2, 3, 4, 5, 6, 7},
		"outline 0: polygon 0: got 0 numbers":                                                             {1, -3, 1, 2},
		"outline 0: polygon 1: the numbers end within it":                                                 {2, 6, 1, 2, 3, 4, 5, 6, 6, 1},
		"outline 1: polygon 0: got NaN, want a pixel, from -1000000 to 1000000":                           {1, 6, 1, 2, 3, 4, 5, 6, 1, 6, 1, 2, 3, 4, 5, math.NaN()},
		"outline 0: polygon 0: got 1e+07, want a pixel":                                                   {1, 6, 1, 2, 3, 4, 5, 1e7},
		"outline 0: the numbers end within it":                                                            {0, 30, 40},
		"outline 0: got runs of a picture of 0 x 40, want its height and width":                           {0, 0, 40, 0},
		"outline 0: got counts that come to 1199, want 30 x 40 = 1200":                                    {0, 30, 40, 1, 1199},
		"outline 0: got -3, want a whole number from 0 on":                                                {0, 30, 40, 2, -3, 1203},
		"outline 0: counts: got 300, want the code of a character":                                        {0, 30, 40, -1, 300},
		"outline 0: counts: got character ' ', want pycocotools' from \"0\" to \"o\", 7 a number at most": {0, 30, 40, -1, 32},
		"outline 0: counts: the text ends within a number":                                                {0, 30, 40, -1, 'P'},
		"outline 0: counts: got -16 as number 0, want the length of a run":                                {0, 30, 40, -1, '@'},
		"outline 0: got counts that come to 0, want 30 x 40 = 1200":                                       {0, 30, 40, 0},
	} {
		var o Outlines
		if err := o.ReadNumbers(packedNumbers(numbers...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", numbers, err, want)
		}
		if err := o.ReadNumbers(nil); err != nil || o.Len() != 0 {
			t.Errorf("behind %v: got %d objects, %v", numbers, o.Len(), err)
		}
	}
	var o Outlines
	if err := o.ReadNumbers(packedNumbers(1)[:5]); err == nil || !strings.Contains(err.Error(), "outline 0: the numbers end within it") {
		t.Errorf("a part of a number: got %v", err)
	}
}

// Whatever numbers say, they are refused or their masks are of 0 and 1.
func FuzzOutlineNumbers(f *testing.F) {
	f.Add(packedNumbers(1, 6, 1, 2, 3, 4, 5, 6, 0, 30, 40, 2, 5, 1195))
	f.Add(packedNumbers(slices.Concat([]float64{0, 30, 40, -4}, codesOf("`Uab"))...))
	wk, op := worker(f, nil), compiled(f, Config{Out: Size{30, 40}})
	data, row := greys(f, 40, 30, nil), make([]byte, op.RowBytes())
	f.Fuzz(func(t *testing.T, numbers []byte) {
		var o Outlines
		if o.ReadNumbers(numbers) != nil || o.Len() > 1000 {
			return
		}
		if _, err := wk.Row(row, data, op, Draw{}); err != nil {
			t.Fatal(err)
		}
		all, err := wk.Masks(nil, op, &o, slices.Repeat([]bool{true}, o.Len()))
		if err == nil && slices.Max(append(all, 0)) > 1 {
			t.Error("a mask has more than 1")
		}
	})
}
