package verbs

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/core/tensor"
	"github.com/spf13/cobra"
)

// reading parses flags and reads the description, as a verb does.
func reading(t *testing.T, d *description, args ...string) (*spec.Spec, error) {
	t.Helper()
	c := &cobra.Command{}
	d.addFlags(c)
	c.Flags().StringVar(&d.ring, "ring", "", "")
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return d.read(context.Background(), "test", c.Flags().Args())
}

func TestFlagsFillInTheFormWithoutADescription(t *testing.T) {
	s, err := reading(t, &description{}, t.TempDir(), "--size", "32", "--batch", "7", "--dtype", "f16", "--layout", "nchw", "--no-shuffle", "--seed", "9",
		"--epochs", "3", "--cpus", "1.5", "--slots", "5", "--name", "x", "--world-size", "4", "--rank", "2")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "x" || s.Batch != 7 || s.Image.DType != tensor.F16 || s.Image.Layout != spec.NCHW || s.Order.Shuffle || s.Order.Seed != 9 ||
		s.Order.Epochs != 3 || s.Limits.CPUs != 1.5 || s.Ring.Slots != 5 || s.World != (spec.World{Size: 4, Rank: 2}) ||
		s.Image.Transform.Output() != (spec.Extent{Height: 32, Width: 32}) {
		t.Errorf("got %+v", s)
	}
}

// What has no description is in the order of the program around the engine where that says so; a description says it itself.
func TestAFolderAndShardsAreInTheProgramsOrder(t *testing.T) {
	for _, place := range []string{t.TempDir(), "train-{00..03}.tar"} {
		s, err := reading(t, &description{asked: true}, place)
		if err != nil || !s.Order.Asked || s.Order.Shuffle {
			t.Errorf("%s: got %v, %+v", place, err, s)
		}
	}
	if _, err := reading(t, &description{asked: true}, t.TempDir(), "--shuffle"); err == nil || !strings.Contains(err.Error(), "order.shuffle: got true with order.asked") {
		t.Errorf("got %v", err)
	}
	if s, err := reading(t, &description{asked: true}, describe(t, "/data", "d", "")); err != nil || s.Order.Asked {
		t.Errorf("got %v, %+v", err, s)
	}
}

// A type that no decoder writes is refused: a ring of it would tell consumers of bytes that are not there. One by numpy's or torch's name is
// answered with ours.
func TestTypesThatNoDecoderWritesAreRefused(t *testing.T) {
	video := describe(t, "/data", "d", "")
	for name, meant := range map[string]string{"f64": "", "i16": "", "i64": "", "u16": "", "float64": "", "torch.int64": "", "": "", "F32": "f32",
		"float32": "f32", "torch.float16": "f16", "half": "f16", "bfloat16": "bf16", "fp32": "f32", "np.uint8": "u8"} {
		for _, args := range [][]string{{t.TempDir()}, {video}} {
			_, err := reading(t, &description{}, append(args, "--dtype", name)...)
			want := "test: --dtype " + strconv.Quote(name) + ", want u8, f16, bf16 or f32"
			if meant != "" {
				want += "; did you mean " + meant + "?"
			}
			if err == nil || err.Error() != want {
				t.Errorf("%v: got %v, want %q", args, err, want)
			}
		}
	}
	sound := writeFile(t, filepath.Join(t.TempDir(), "s.yaml"), "source: {folder: /data}\naudio: {rate: 8000, length: 8000}\n")
	_, err := reading(t, &description{}, sound, "--dtype", "int16")
	if want := `test: --dtype "int16", want f32 or i16 for sounds; did you mean i16?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	_, err = reading(t, &description{}, t.TempDir(), "--layout", "ncwh")
	if want := `test: --layout "ncwh", want NHWC or NCHW; did you mean NCHW?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// --cpus takes a share, too, and in place of what the description says.
func TestCPUsMayBeAShare(t *testing.T) {
	file := describe(t, "/data", "d", "limits: {cpus: 3}\n")
	s, err := reading(t, &description{}, file, "--cpus", "40%")
	if err != nil || s.Limits.CPUShare != 0.4 || s.Limits.CPUs != 0 {
		t.Errorf("got %+v, %v", s.Limits, err)
	}
}

// A flag that was not given leaves the description as it is; one that was is for every ring.
func TestFlagsChangeOnlyWhatTheySayAndInEveryRing(t *testing.T) {
	file := describe(t, "/data", "d", "order: {seed: 5}\nrings: {a: {}, b: {batch: 9, order: {shuffle: false}}}\n")
	s, err := reading(t, &description{}, file, "--epochs", "2")
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Rings[0], s.Rings[1]
	if a.Batch != 4 || b.Batch != 9 || a.Order.Epochs != 2 || b.Order.Epochs != 2 || !a.Order.Shuffle || b.Order.Shuffle || a.Order.Seed != 5 {
		t.Errorf("a %+v, b %+v", a.Order, b.Order)
	}
	if s, err = reading(t, &description{}, file, "--batch", "6", "--shuffle"); err != nil || s.Rings[0].Batch != 6 || s.Rings[1].Batch != 6 || !s.Rings[1].Order.Shuffle {
		t.Errorf("%v: %+v", err, s)
	}
}

func TestRingPicksOneOfSeveral(t *testing.T) {
	file := describe(t, "/data", "d", "rings: {a: {}, b: {}}\n")
	if s, err := reading(t, &description{}, file, "--ring", "b"); err != nil || len(s.All()) != 1 || s.All()[0].FullName() != "d/b" {
		t.Errorf("%v: %+v", err, s)
	}
	for args, want := range map[*[]string]string{
		{file, "--ring", "c"}:                          `test: --ring "c", want one of "a", "b"`,
		{describe(t, "/data", "d", ""), "--ring", "a"}: `test: --ring "a", but the description has one ring without a name; leave it out`,
	} {
		if _, err := reading(t, &description{}, *args...); err == nil || err.Error() != want || exitCode(err) != exitUsage {
			t.Errorf("%q: %v, want %q", *args, err, want)
		}
	}
}
