package shm

import "testing"

// What docs/layout.md lets a segment be is read, however many groups or however few tensors it has; what it does not is refused.
func TestAHeaderIsReadByTheRulesOfTheLayout(t *testing.T) {
	r := newTestRing(t, testConfig(t, 4))
	const groups = 70000
	for name, c := range map[string]struct {
		change func(*Header)
		ok     bool
	}{
		"as it is":    {func(*Header) {}, true},
		"many groups": {func(h *Header) { h.GroupOff, h.MaxGroups = uint64(len(r.header.mem)), groups }, true},
		"no tensors":  {func(h *Header) { h.NTensors = 0 }, true},
		"no groups":   {func(h *Header) { h.MaxGroups = 0 }, false},
		"no queues":   {func(h *Header) { h.MaxQueues = 0 }, false},
		"too small":   {func(h *Header) { h.HeaderBytes -= 8 }, false},
	} {
		b := make([]byte, len(r.header.mem)+256*groups)
		copy(b, r.header.mem)
		h := at[Header](b, 0)
		h.HeaderBytes = uint64(len(b))
		c.change(h)
		if _, err := checkHeader(b); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
