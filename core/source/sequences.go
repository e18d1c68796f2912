package source

import (
	"errors"
	"fmt"
)

// A tf.train.SequenceExample is an Example, whose features are its context, with lists of features beside: a feature for each step. A list whose features are
// numbers is a part, as it is written, for setFeature to read, and a step is a row of its column. Its mark tells what the features of its steps are.
const (
	wholeStepsMark = "\x00I"
	floatStepsMark = "\x00F"
	byteStepsMark  = "\x00S" // which no column takes
)

// stepMarks are the marks of lists by the field of a Feature that holds its values.
var stepMarks = [...]string{1: byteStepsMark, 2: floatStepsMark, 3: wholeStepsMark}

// featureList takes a list of features, but for one without any values.
func (b *indexBuilder) featureList(name string, r message, first int) error {
	m := indexMember{off: r.at, size: uint32(r.end - r.at)}
	for r.more() {
		step, err := r.field()
		if err != nil {
			return err
		}
		if step.number != 1 || step.wire != wireBytes {
			continue
		}
		for feature := (message{r.w, step.at, step.at + step.size}); feature.more(); {
			list, err := feature.field()
			if err != nil {
				return err
			}
			if list.wire == wireBytes && list.number >= 1 && int(list.number) < len(stepMarks) {
				return b.addFeature(name+stepMarks[list.number], m, first)
			}
		}
	}
	return nil
}

// eachStep calls take with the numbers of every step of a list whose steps are of a kind: the number of the field that holds them.
func eachStep(list []byte, kind uint64, take func(numbers []byte) error) error {
	return eachSized(list, 1, func(step []byte) error {
		found := false
		for other := uint64(1); other < uint64(len(stepMarks)); other++ {
			err := eachSized(step, other, func(numbers []byte) error {
				if found = true; other != kind {
					return errors.New("its steps hold values of several kinds")
				}
				return take(numbers)
			})
			if err != nil {
				return err
			}
		}
		if !found {
			return take(nil)
		}
		return nil
	})
}

// setSteps appends the elements of a column from a list of features, a row for each step, and says how many they are.
func (r *listRows) setSteps(list []byte, mark string) (n int64, err error) {
	row := int64(1)
	for k, d := range r.c.Shape {
		if r.c.MaxLength > 0 || k > 0 {
			row *= d
		}
	}
	kind, step := uint64(3), int64(0)
	if mark == floatStepsMark {
		kind = 2
	}
	err = eachStep(list, kind, func(numbers []byte) error {
		before := n
		var err error
		if kind == 2 {
			err = eachFloat(numbers, func(v float64) error { n++; return r.float(v) })
		} else {
			err = eachWhole(numbers, func(v int64) error { n++; return r.whole(v) })
		}
		if err == nil && n-before != row {
			err = fmt.Errorf("step %d: got %d numbers, want %d, a row of shape %s", step, n-before, row, r.c.shown())
		}
		step++
		return err
	})
	return n, err
}
