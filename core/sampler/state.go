package sampler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// StateVersion is the version that State carries.
const StateVersion = 1

// ErrStateMismatch is returned when a state belongs to another order; its text names what differs.
var ErrStateMismatch = errors.New("state is of another run")

// MaxStateBytes is more than any State takes as text.
const MaxStateBytes = 2 << 20

const (
	maxDone = 1 << 20 // completed steps above the first open one: as long as somebody holds a batch they grow
	maxStep = 1 << 61
)

// State names the completed steps of a training run: everything before (Epoch, Step), and Done. It says nothing about
// the world size: any split of the same global batch may go on from it.
type State struct {
	Version     int    `json:"version"`
	Epoch       int64  `json:"epoch"`        // first epoch that is not completed
	Step        int64  `json:"step"`         // its first step that is not completed
	Done        Steps  `json:"done"`         // completed steps above, ascending, counted from the start of Epoch; may reach into later epochs
	Seed        uint64 `json:"seed"`         // the rest says which order this is
	N           int64  `json:"n"`            // samples
	GlobalBatch int64  `json:"global_batch"` // rows of all ranks in a step
	SourceHash  string `json:"source"`
	OrderHash   string `json:"order"`
	Data        Data   `json:"data,omitempty"` // where both sides know it, it is compared in place of SourceHash
	Shuffle     bool   `json:"shuffle"`
	Last        Last   `json:"last"`

	// Of an order with a Budget: its Total and Multiple.
	Total    float64 `json:"total,omitempty"`
	Multiple int64   `json:"multiple,omitempty"`
}

// JSON is the state as one line, usually under 300 bytes.
func (s State) JSON() []byte {
	if s.Done == nil {
		s.Done = Steps{}
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers and strings always marshals
	}
	return b
}

// ParseState reads what JSON wrote. It is strict: every key once, none missing, none unknown, values in range.
func ParseState(data []byte) (State, error) {
	s, err := parseState(data)
	if err != nil {
		return State{}, fmt.Errorf("sampler: state: %w", err)
	}
	return s, nil
}

func parseState(data []byte) (s State, err error) {
	if len(data) > MaxStateBytes {
		return s, fmt.Errorf("got %d bytes, want at most %d", len(data), MaxStateBytes)
	}
	fields := map[string]any{
		"version": &s.Version, "epoch": &s.Epoch, "step": &s.Step, "done": &s.Done, "seed": &s.Seed, "n": &s.N,
		"global_batch": &s.GlobalBatch, "source": &s.SourceHash, "order": &s.OrderHash, "shuffle": &s.Shuffle, "last": &s.Last,
		"data": &s.Data, "total": &s.Total, "multiple": &s.Multiple,
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return s, fmt.Errorf("got %.40q, want a JSON object; %s", data, asSaved)
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return s, err
		}
		key, _ := tok.(string)
		field := fields[key]
		if field == nil {
			return s, fmt.Errorf("key %q: unknown or given twice; %s", key, asSaved)
		}
		delete(fields, key)
		if err := decodeValue(dec, field); err != nil {
			return s, fmt.Errorf("key %q: %w", key, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return s, fmt.Errorf("cut off after %d bytes", len(data))
	}
	if _, err := dec.Token(); err != io.EOF {
		return s, errors.New("text after the closing brace")
	}
	for _, key := range stateKeys {
		if _, missing := fields[key]; missing {
			return s, fmt.Errorf("key %q: missing; %s", key, asSaved)
		}
	}
	return s, s.check()
}

const asSaved = "pass what was saved, as it was saved, and nothing around it"

// stateKeys are those that every state has.
var stateKeys = []string{"version", "epoch", "step", "done", "seed", "n", "global_batch", "source", "order", "shuffle", "last"}

// decodeValue refuses null, which encoding/json would silently take for "leave as it is".
func decodeValue(dec *json.Decoder, field any) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	if string(raw) == "null" {
		return errors.New("got null, want a value")
	}
	err := json.Unmarshal(raw, field)
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind): // which speaks of Go's types
		return fmt.Errorf("got %.40s, of a type that it never has; %s", raw, asSaved)
	case err != nil:
		return fmt.Errorf("got %.40s: %w", raw, err)
	}
	return nil
}

// check is about the state alone: numbers in range and in order.
func (s *State) check() error {
	switch {
	case s.Version != StateVersion:
		return fmt.Errorf("version: got %d, this build reads %d", s.Version, StateVersion)
	case s.Epoch < 0 || s.Step < 0 || s.N < 1 || s.GlobalBatch < 1:
		return fmt.Errorf("got epoch %d, step %d, n %d, global_batch %d; want epoch and step at least 0, the others at least 1",
			s.Epoch, s.Step, s.N, s.GlobalBatch)
	case !(s.Total >= 0) || s.Multiple < 0 || s.Multiple > s.GlobalBatch:
		return fmt.Errorf("got total %g, multiple %d, global_batch %d; want a total of 0 or more and a multiple of at most global_batch", s.Total, s.Multiple, s.GlobalBatch)
	case !validData.MatchString(string(s.Data)):
		return fmt.Errorf("data: got %.80q, want a version and hexadecimal hashes with colons between", s.Data)
	case len(s.Done) > maxDone:
		return fmt.Errorf("done: got %d steps, want at most %d", len(s.Done), maxDone)
	}
	below := s.Step
	for _, d := range s.Done {
		if d <= below || d > maxStep {
			return fmt.Errorf("done: got %d after %d, want ascending steps above step, at most 2^61", d, below)
		}
		below = d
	}
	return nil
}

// State writes down progress that was counted elsewhere: every step below low is completed, and those of done, in any
// order. Steps are counted from the start of training: epoch*StepsPerEpoch + step. It keeps neither slice.
func (o *Order) State(low int64, done []int64) State {
	above := slices.Clone(done)
	slices.Sort(above)
	above = slices.Compact(above)
	for len(above) > 0 && above[0] <= low {
		low = max(low, above[0]+1)
		above = above[1:]
	}
	epoch, step := low/o.steps, low%o.steps
	for i := range above {
		above[i] -= epoch * o.steps
	}
	return State{
		Version: StateVersion, Epoch: epoch, Step: step, Done: above, Seed: o.c.Seed, N: o.c.N,
		GlobalBatch: o.global, SourceHash: o.c.SourceHash, OrderHash: o.c.OrderHash, Shuffle: o.c.Shuffle, Last: o.c.Last,
		Data: o.c.Data, Total: o.c.Budget.Total, Multiple: o.c.Budget.Multiple,
	}
}

// Check tells whether the state belongs to this order: same samples, seed, shuffle, global batch, rule and spec. The
// error wraps ErrStateMismatch and names everything that differs.
func (o *Order) Check(s State) error {
	var diff []string
	add := func(what string, state, here any) {
		if state != here {
			diff = append(diff, fmt.Sprintf("%s %v, now %v", what, state, here))
		}
	}
	add("samples", s.N, o.c.N)
	add("seed", s.Seed, o.c.Seed)
	add("shuffle", s.Shuffle, o.c.Shuffle)
	add("last", s.Last, o.c.Last)
	add("global batch", s.GlobalBatch, o.global)
	if b := o.c.Budget; s.OrderHash != o.c.OrderHash && s.Multiple > 0 && b.Multiple > 0 {
		add("max_total x world size", plain(s.Total), plain(b.Total))
		add("multiple_of x world size", s.Multiple, b.Multiple)
	}
	other := ""
	if !s.Data.comparable(o.c.Data) {
		add("source", s.SourceHash, o.c.SourceHash)
	} else if s.N == o.c.N { // else that says it better
		other = s.Data.differs(o.c.Data, s.SourceHash == o.c.SourceHash)
	}
	if other != "" {
		diff = append(diff, other)
	}
	if len(diff) == 0 { // else that says it better
		add("order (filter, weights, mix and so on, or what their columns say)", s.OrderHash, o.c.OrderHash)
	}
	if len(diff) > 0 {
		remedy := o.batchRemedy(s)
		if other != "" {
			remedy += "; go on with the data set that it was saved with, or begin anew without it"
		}
		return fmt.Errorf("sampler: %w: it has %s%s", ErrStateMismatch, strings.Join(diff, "; "), remedy)
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("sampler: state: %w", err)
	}
	if s.Step >= o.steps {
		return fmt.Errorf("sampler: state: step: got %d, want less than the epoch's %d", s.Step, o.steps)
	}
	return nil
}

// batchRemedy says what to write for steps of as many rows as the state's, where they have others.
func (o *Order) batchRemedy(s State) string {
	world, rows, write := int64(o.c.World), s.GlobalBatch, []string{}
	if s.GlobalBatch != o.global {
		write = append(write, fmt.Sprintf("batch: %d", s.GlobalBatch/world))
	}
	if b := o.c.Budget; s.Multiple > 0 && b.Multiple > 0 && s.OrderHash != o.c.OrderHash {
		rows = s.Multiple // which divides the global batch
		if s.Total != b.Total {
			write = append(write, "max_total: "+plain(s.Total/float64(world)))
		}
		if s.Multiple != b.Multiple {
			write = append(write, fmt.Sprintf("multiple_of: %d", s.Multiple/world))
		}
	}
	switch {
	case len(write) == 0:
		return ""
	case rows%world != 0:
		return fmt.Sprintf("; choose a world size that divides %d", rows)
	}
	return "; set " + strings.Join(write, ", ")
}

// plain is a number without an exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
