package sampler

import (
	"encoding/json"
	"fmt"
)

// Steps are numbers, ascending. As JSON three or more that follow each other are written as a pair, the first and the last: one
// batch held for long, with thousands completed after it, is still a short state.
type Steps []int64

// MarshalJSON writes [3,[5,9],11].
func (s Steps) MarshalJSON() ([]byte, error) {
	list := []any{}
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if end-i < 2 {
			list = append(list, s[i])
			i++
			continue
		}
		list = append(list, [2]int64{s[i], s[end]})
		i = end + 1
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads what MarshalJSON wrote; it refuses more than maxDone steps before it makes them.
func (s *Steps) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	steps := make(Steps, 0, len(list))
	for _, raw := range list {
		first, last, err := parseRun(raw)
		if err != nil {
			return err
		}
		if last-first >= int64(maxDone-len(steps)) {
			return fmt.Errorf("got more than %d steps", maxDone)
		}
		for i := range last - first + 1 {
			steps = append(steps, first+i)
		}
	}
	*s = steps
	return nil
}

func parseRun(raw json.RawMessage) (first, last int64, err error) {
	if raw[0] != '[' {
		err = json.Unmarshal(raw, &first)
		if string(raw) == "null" {
			err = fmt.Errorf("got null, want a step")
		}
		return first, first, err
	}
	var run []int64
	if err := json.Unmarshal(raw, &run); err != nil {
		return 0, 0, err
	}
	if len(run) != 2 || run[0] < 0 || run[1] <= run[0] || run[1] > maxStep {
		return 0, 0, fmt.Errorf("got %.40s, want a pair of steps, the first and the last of a run", raw)
	}
	return run[0], run[1], nil
}
