package verbs

import "testing"

// One of a thing is not several of it.
func TestCountedThingsAgreeWithTheirNumber(t *testing.T) {
	for _, c := range []struct {
		got, want string
	}{
		{counted(0, "sample"), "0 samples"},
		{counted(1, "sample"), "1 sample"},
		{counted(uint64(1234), "batch"), "1,234 batches"},
		{counted(int64(1), "batch"), "1 batch"},
		{counted(2, "class"), "2 classes"},
		{counted(2, "bad sample"), "2 bad samples"},
		{counted(3, "epoch"), "3 epochs"},
		{cpusText(1), "1 CPU"},
		{cpusText(0.5), "0.5 CPUs"},
		{areIs(1) + " " + areIs(2), "is are"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What bench and check say of one sample, one batch and one step is singular, and of samples, whatever they are.
func TestVerbsSpeakOfOne(t *testing.T) {
	name, dir := home(t), pictures(t, 1)
	file := describe(t, dir, name, "order: {epochs: 1}\n")
	wants(t, good(t, "check", file), ": 1 sample, 1 class (", "1 epoch; 1 step an epoch", "batch 0 1 row after", "and there is 1 sample:")
	wants(t, good(t, "bench", file), "all there was is that one, of 1 sample;")
	wants(t, good(t, "bench", file, "--epochs", "2"), ": 1 sample in ", "(1 batch after the first)")
}

// Few a second have two digits, as 0 would say that nothing goes on.
func TestRatesOfFewHaveTwoDigits(t *testing.T) {
	for perS, want := range map[float64]string{0: "0", 0.0421: "0.042", 0.96: "0.96", 7.29: "7.3", 10.2: "10", 1234.6: "1,235"} {
		if got := rate(perS); got != want {
			t.Errorf("%g: got %q, want %q", perS, got, want)
		}
	}
}
