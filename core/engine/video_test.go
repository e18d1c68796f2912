package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/batch"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// y4m is an uncompressed video of n grey frames of 16 x 16 at 10 a second; frame k has the full-range level 20 + 10 k.
func y4m(n int) []byte {
	var b bytes.Buffer
	b.WriteString("YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n")
	for k := range n {
		b.WriteString("FRAME\n")
		b.Write(bytes.Repeat([]byte{byte(20 + 10*k)}, 16*16))
		b.Write(bytes.Repeat([]byte{128}, 2*8*8))
	}
	return b.Bytes()
}

// startVideos serves videos of so many frames each, in their order, two a batch.
func startVideos(t *testing.T, section string, frames ...int) *running {
	t.Helper()
	dir := t.TempDir()
	for i, n := range frames {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.y4m", i)), y4m(n), 0o644))
	}
	text := fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 2\norder: {shuffle: false, epochs: 1}\nring: {hash: xxh3}\nvideo: %s\n", testName(), dir, section)
	s, err := spec.Parse([]byte(text), "")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	leavesNothing(t)
	e, err := New(s, nil)
	if err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	return serve(t, e)
}

// levels says which frames a row has, by their grey: "0 2 4@0.4" ends with the last one's time.
func levels(l *shm.Lease, row, frames, frameBytes int) (text string) {
	pixels := l.Tensor(sampleTensor)[row*frames*frameBytes:]
	pts := batch.Float64s(l.Tensor(firstSide + 1))[row*frames:]
	for k := range int(batch.Int64s(l.Tensor(firstSide))[row]) {
		text += fmt.Sprintf("%d@%.1f ", (int(pixels[k*frameBytes])-20+2)/10, pts[k])
	}
	return text
}

// A ring of videos delivers the frames that were asked for, their number and their times; a row of fewer has zeros behind.
func TestRingOfVideosDeliversTheFramesAskedFor(t *testing.T) {
	for section, want := range map[string][2]string{
		"{frames: 3, transform: [resize: [8, 8]]}":                                                                        {"0@0.0 2@0.2 5@0.5 ", "0@0.0 1@0.1 2@0.2 "},
		"{frames: 6, transform: [resize: [8, 8]], select: {kind: every, step: 2}}":                                        {"0@0.0 2@0.2 4@0.4 ", "0@0.0 2@0.2 "},
		"{transform: [resize: [8, 8]], select: {kind: indices, indices: [-1, 1]}}":                                        {"5@0.5 1@0.1 ", "2@0.2 1@0.1 "},
		"{frames: 2, transform: [resize: [8, 8]], select: {kind: all}, over: cut}":                                        {"0@0.0 1@0.1 ", "0@0.0 1@0.1 "},
		"{frames: 6, transform: [resize: [8, 8]], select: {kind: all}, window: {start: 100ms, duration: 200ms}}":          {"1@0.1 2@0.2 ", "1@0.1 2@0.2 "},
		"{frames: 4, transform: [resize: [8, 8]], select: {kind: all}, filter: 'select=not(mod(n\\,2)),setpts=PTS+2/TB'}": {"0@2.0 2@2.2 4@2.4 ", "0@2.0 2@2.2 "},
	} {
		t.Run("", func(t *testing.T) {
			r := startVideos(t, section, 6, 3)
			reader := r.attach(shm.AttachOptions{})
			l, err := reader.Acquire(testContext(t))
			if err != nil {
				t.Fatal(err, r.Stats().Rings[0].Bad)
			}
			room := int(l.Shape(sampleTensor)[1])
			got := [2]string{levels(l, 0, room, 8*8*3), levels(l, 1, room, 8*8*3)}
			if got != want {
				t.Errorf("%s: got %q, want %q", section, got, want)
			}
			for i := int(batch.Int64s(l.Tensor(firstSide))[1]); i < room; i++ {
				if l.Tensor(sampleTensor)[(room+i)*8*8*3] != 0 {
					t.Errorf("%s: frame %d of the second row is not zero", section, i)
				}
			}
			if l.Hash == 0 {
				t.Error("no hash")
			}
			must(l.Release())
		})
	}
}

// Padded batches of [N, C, T, H, W] are as long as their longest video, and ragged ones have no space between the rows.
func TestVideosOfDifferentLength(t *testing.T) {
	for section, want := range map[string]string{
		"{frames: 6, transform: [resize: [4, 4]], select: {kind: all}, shape: padded, layout: NCTHW}": "[2 3 4 4 4] [2 4]",
		"{frames: 6, transform: [resize: [4, 4]], select: {kind: all}, shape: ragged}":                "[336] [7]",
	} {
		t.Run("", func(t *testing.T) {
			l, err := startVideos(t, section, 4, 3).attach(shm.AttachOptions{}).Acquire(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(l.Shape(sampleTensor), l.Shape(firstSide+1)); got != want {
				t.Errorf("%s: shapes %s, want %s", section, got, want)
			}
			must(l.Release())
		})
	}
}

// More frames than there is room for, and bytes that are no video, are bad samples with a cause.
func TestBadVideosHaveACause(t *testing.T) {
	r := startVideos(t, "{frames: 4, transform: [resize: [4, 4]], select: {kind: all}}", 5, 4)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Stats().Rings[0].Bad; l.Rows != 1 || n.Causes["too_large"] != 1 {
		t.Fatalf("%d rows, %+v", l.Rows, n)
	}
	must(l.Release())
}

// A video that takes longer than its timeout is a bad sample that might do well another time.
func TestSlowVideoIsABadSample(t *testing.T) {
	r := startVideos(t, "{frames: 4, transform: [resize: [4, 4]], timeout: 1ns}\nbad_sample: {max_rate: 1}", 5, 4)
	l, err := r.attach(shm.AttachOptions{}).Acquire(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Stats().Rings[0].Bad; l.Rows != 0 || n.Causes["too_slow"] != 2 {
		t.Fatalf("%d rows, %+v", l.Rows, n)
	}
	must(l.Release())
}

// In the steady state a ring of videos makes no Go allocation per sample; what is counted is the batches'.
func TestVideosAllocateNothingPerSample(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dir := t.TempDir()
	for i := range 20 {
		must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.y4m", i)), y4m(3), 0o644))
	}
	text := fmt.Sprintf("name: %s\nsource: {folder: %s}\nbatch: 10\nvideo: {frames: 2, transform: [resize: [8, 8]]}\n", testName(), dir)
	s, err := spec.Parse([]byte(text), "")
	must(err)
	e, err := New(s, nil)
	if err != nil {
		t.Skip(err) // of a build without FFmpeg
	}
	r := serve(t, e)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	ctx := testContext(t)
	pass := func(n int) {
		for n > 0 {
			if l, err := reader.Acquire(ctx); err == nil {
				n--
				must(l.Release())
			}
		}
	}
	pass(20)
	before := mallocs()
	pass(100)
	if got := float64(mallocs()-before) / 1000; got > 1 {
		t.Fatalf("%.1f allocations per video, want at most 1", got)
	}
}
