package spec

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

const (
	randomApply  = "random_apply"
	randomChoice = "random_choice"
	randomOrder  = "random_order"
	maxGroup     = 16 // steps of one

	// MaxGroups is how many of random_apply and random_choice a transform has at most.
	MaxGroups = 12

	groupWant = "a list of operations, such as [{grayscale: 1}, {solarize: {threshold: 128, p: 1}}]"
)

// RandomApply does all of its steps, with probability P, or none.
type RandomApply struct {
	Of []Step
	P  float64
}

// RandomChoice does one of its steps, or N of them, in their order. Upto are the probabilities that the one is one of the first, the first two, and so on; the
// last is 1.
type RandomChoice struct {
	Of   []Step
	Upto []float64
	N    int
}

// RandomOrder does all of its steps, in an order that is drawn.
type RandomOrder struct{ Of []Step }

func (a *RandomApply) Name() string  { return randomApply }
func (c *RandomChoice) Name() string { return randomChoice }
func (o *RandomOrder) Name() string  { return randomOrder }

func (a *RandomApply) random() bool  { return chance(a.P) }
func (c *RandomChoice) random() bool { return len(c.Of) > 1 }
func (o *RandomOrder) random() bool  { return len(o.Of) > 1 }

func (a *RandomApply) group() []Step  { return a.Of }
func (c *RandomChoice) group() []Step { return c.Of }
func (o *RandomOrder) group() []Step  { return o.Of }

// What a group draws is alike where those of its steps that put pixels elsewhere are, and what decides about them. What each of these draws is its own to say.

func (a *RandomApply) draws() any {
	return fmt.Sprint(a.P, stepNames(moved(a.Of)))
}

func (c *RandomChoice) draws() any { return fmt.Sprint(c.Upto, c.N, stepNames(c.Of)) }

func (o *RandomOrder) draws() any { return fmt.Sprint(stepNames(o.Of)) }

// moved are those of the steps that put pixels elsewhere.
func moved(all []Step) []Step {
	return slices.DeleteFunc(slices.Clone(all), func(s Step) bool {
		_, is := s.(shifter)
		return !is
	})
}

// Flat are the steps with those of groups in the place of these.
func Flat(all []Step) (flat []Step) {
	for _, s := range all {
		if g, is := s.(grouper); is {
			flat = append(flat, g.group()...)
		} else {
			flat = append(flat, s)
		}
	}
	return flat
}

// The numbers of groups, by which they draw: of the first random_apply, of the first random_choice, and of others from the next on.
const (
	firstApply = iota + 1
	firstChoice
	otherGroups
)

// GroupNumbers are those of the transform's random_apply and random_choice. Groups that put pixels elsewhere come first, as they stand: they have the
// same numbers in the section of a mask, which has no others.
func (t *Transform) GroupNumbers() map[Step]int {
	numbers, next := map[Step]int{}, otherGroups
	taken := map[string]bool{}
	for _, moves := range []bool{true, false} {
		for _, s := range t.all() {
			first := map[string]int{randomApply: firstApply, randomChoice: firstChoice}[s.Name()]
			if first == 0 || moves != (len(moved(s.(grouper).group())) > 0) {
				continue
			}
			if !taken[s.Name()] {
				taken[s.Name()] = true
				numbers[s] = first
				continue
			}
			numbers[s] = next
			next++
		}
	}
	return numbers
}

// MarshalJSON has each step by its name.
func (a *RandomApply) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"transforms": canonicalSteps(a.Of), "p": a.P})
}

// MarshalJSON has each step by its name.
func (c *RandomChoice) MarshalJSON() ([]byte, error) {
	if c.N > 1 {
		return json.Marshal(map[string]any{"transforms": canonicalSteps(c.Of), "n": c.N})
	}
	return json.Marshal(map[string]any{"transforms": canonicalSteps(c.Of), "upto": c.Upto})
}

// MarshalJSON has each step by its name.
func (o *RandomOrder) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"transforms": canonicalSteps(o.Of)})
}

func (*RandomApply) read(r *reading, op *section) Step {
	a := &RandomApply{P: 0.5}
	items, shown, sec := r.short(op, randomApply, "transforms")
	sec.number("p", &a.P, 0, 1)
	if a.Of = r.grouped(op, randomApply, items, shown); a.P == 0 || len(a.Of) == 0 {
		return nil
	}
	return a
}

func (*RandomChoice) read(r *reading, op *section) Step {
	items, shown, sec := r.short(op, randomChoice, "transforms")
	c := &RandomChoice{Of: r.grouped(op, randomChoice, items, shown), N: 1}
	if whole(sec, "n", &c.N, 1, maxGroup); r.err == nil && c.N > len(c.Of) {
		sec.fail("n", "got %d of %d transforms, want no more than there are", c.N, len(c.Of))
	}
	if r.err == nil && c.N > 1 && sec.has("p") {
		sec.fail("p", "given beside n: %d, which picks all alike; leave one of them out, or give transforms a p of their own", c.N)
	}
	weights := slices.Repeat([]float64{1}, len(c.Of))
	if sec.has("p") {
		weights = r.each(sec, "p", fmt.Sprintf("a number for each of the %d transforms", len(c.Of)), len(c.Of), 0, 1e6)
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
		c.Upto = append(c.Upto, sum)
	}
	if r.err == nil && sum == 0 {
		sec.fail("p", "got zeros alone, want one above 0")
	}
	for i := range c.Upto {
		c.Upto[i] /= sum
	}
	return c
}

func (*RandomOrder) read(r *reading, op *section) Step {
	items, shown, _ := r.short(op, randomOrder, "transforms")
	return &RandomOrder{Of: r.grouped(op, randomOrder, items, shown)}
}

// groups says whether a step may be one of a group: it is of a row, whose size it leaves, or takes a part of a picture, and is none itself.
func groups(name string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool {
		return k.Name() == name && k.class != grouping && (k.early != always || slices.Contains(cutting, name))
	})
}

// grouped reads the steps of a group.
func (r *reading) grouped(op *section, key string, list *yaml.Node, shown string) (all []Step) {
	if r.err == nil && list == nil {
		op.fail(key, "transforms is missing, want "+groupWant)
	}
	if r.err != nil {
		return nil
	}
	items := r.items(list, shown, groupWant, maxGroup)
	for i, n := range items {
		at := fmt.Sprintf("[%d]", i)
		one, name := r.entry(n, key, op.table, shown+at, join(op.place, key)+at)
		if r.err != nil {
			return nil
		}
		step := r.step(&one, name)
		if step == nil {
			one.fail(name, "never happens, within %s; give it a probability above 0, such as 1, or leave it out", key)
			return nil
		}
		all = append(all, step)
	}
	if r.err == nil && len(all) == 0 {
		r.fail(list, shown, "got an empty list, want one operation or more")
	}
	return all
}
