package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/source"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
)

// host is a machine's files, in a directory.
func host(t *testing.T, files map[string]string) machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return machine{dir}
}

// The tightest CPU quota of the cgroup and its parents counts, in both versions; "max" and -1 are none.
func TestQuotaIsTheTightestOfTheCgroups(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"none", map[string]string{}, 0},
		{"v2", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, 1.5},
		{"v2 child", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "50000 100000\n"}, 0.5},
		{"v2 container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "400000 100000\n"}, 4},
		{"v1", map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/x\n3:memory:/y\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "250000\n", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, 2.5},
		{"v1 none", map[string]string{"proc/self/cgroup": "4:cpu,cpuacct:/x\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, 0},
		{"damaged", map[string]string{"proc/self/cgroup": "nonsense\n0::\n", "sys/fs/cgroup/cpu.max": "\n"}, 0},
	} {
		if got := host(t, c.files).quotaCPUs(); got != c.want {
			t.Errorf("%s: got %v CPUs, want %v", c.name, got, c.want)
		}
	}
}

// Memory is what the tightest of machine and cgroups has left. The table is the Python client's, too (tests/python/test_held.py).
func TestMemoryIsWhatTheTightestLimitLeaves(t *testing.T) {
	text, err := os.ReadFile("testdata/memory.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Name  string
		Files map[string]string
		Left  *uint64
	}
	if err := json.Unmarshal(text, &table); err != nil || len(table) == 0 {
		t.Fatal(err, table)
	}
	for _, c := range table {
		want := uint64(0) // unknown
		if c.Left != nil {
			want = max(1, *c.Left)
		}
		if got := host(t, c.Files).memoryRoom(); got != want {
			t.Errorf("%s: got %v bytes, want %v", c.Name, got, want)
		}
	}
}

// A ring larger than the limit of its cgroup is refused with need, room and remedy.
func TestRingBeyondTheMemoryLimitIsRefused(t *testing.T) {
	m := host(t, map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "10485760\n", "sys/fs/cgroup/a/memory.current": "0\n"})
	if err := m.checkMemory("r", 2<<20, 5, "ring.slots"); err != nil {
		t.Fatalf("5 slots of 2 MiB in 10 MiB: %v", err)
	}
	wantError(t, m.checkMemory("r", 2<<20, 6, "ring.slots"), shm.ErrNoSpace, `ring "r"`, "6 slots of 2.0 MiB take 12.0 MiB", "10.0 MiB of memory are available", "lower ring.slots")
}

// slowSource answers each read after a while.
type slowSource struct {
	source.Source
	delay time.Duration
}

func (s slowSource) Read(ctx context.Context, i int64, b *source.Buffer) error {
	select {
	case <-time.After(s.delay):
		return s.Source.Read(ctx, i, b)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// consume takes batches until the test ends.
func consume(t *testing.T, r *running) {
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	ctx, stop := context.WithCancel(testContext(t))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			l, err := reader.Acquire(ctx)
			if errors.Is(err, shm.EndEpoch) {
				continue
			}
			if err != nil || l.Release() != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// fetchers is how many workers the ring reads with now.
func fetchers(e *Engine) int {
	if p := e.Stats().Rings[0].Pipeline; p != nil {
		for _, s := range p.Stages {
			if s.Name == "fetch" {
				return s.Concurrency
			}
		}
	}
	return 0
}

// Where reading waits for a store, limits.fetch: auto finds more readers than it begins with; where it does not, fewer.
func TestAutoReadsWithAsManyAsTheStorageNeeds(t *testing.T) {
	for _, c := range []struct {
		name   string
		delay  time.Duration
		enough func(n int) bool
	}{
		{"more than 16 for a store of 40 ms", 40 * time.Millisecond, func(n int) bool { return n > 16 }},
		{"fewer than 8 for local files", 0, func(n int) bool { return n > 0 && n < 8 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			leavesNothing(t)
			e, err := New(describe(t, folder(t, 256, nil), "limits: {fetch: auto, cpus: 2}\nring: {slots: 16}\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			e.may.cpus = 64 // as on a machine with cores to spare: where others take this one's, more readers would be no good
			e.rings[0].source = slowSource{e.rings[0].source, c.delay}
			r := serve(t, e)
			consume(t, r)
			eventually(t, c.name, func() bool { return c.enough(fetchers(r.Engine)) })
		})
	}
}

// A number is kept, whatever the storage does.
func TestANumberOfReadersIsKept(t *testing.T) {
	r := start(t, describe(t, folder(t, 16, nil), "batch: 4\nlimits: {fetch: 3}\n"), nil)
	consume(t, r)
	eventually(t, "1,000 batches", func() bool { return r.Stats().Rings[0].Ring.Published > 1000 })
	if n := fetchers(r.Engine); n != 3 {
		t.Errorf("reads with %d, want 3", n)
	}
}

// A budget is cores or a share of those there are, which is rounded down to whole decoders; the tuner is told of a budget that was named,
// and of the cores in any case.
func TestBudgetsAreCoresOrAShareOfThem(t *testing.T) {
	for _, c := range []struct {
		limits   spec.Limits
		there    float64
		decoders int
		tuning   pipeline.Tuning
	}{
		{spec.Limits{}, 2.5, 3, pipeline.Tuning{Cores: 2.5}},
		{spec.Limits{CPUs: 1.5}, 8, 2, pipeline.Tuning{Cores: 8, CPUs: 1.5}},
		{spec.Limits{CPUs: 6, Memory: 1 << 30}, 2, 6, pipeline.Tuning{Cores: 2, CPUs: 6, Memory: 1 << 30}},
		{spec.Limits{CPUShare: 0.4}, 4, 1, pipeline.Tuning{Cores: 4, CPUs: 1.6}},
		{spec.Limits{CPUShare: 0.4}, 5, 2, pipeline.Tuning{Cores: 5, CPUs: 2}},
		{spec.Limits{CPUShare: 0.29}, 100, 29, pipeline.Tuning{Cores: 100, CPUs: 28.999999999999996}},
		{spec.Limits{CPUShare: 0.01}, 2, 1, pipeline.Tuning{Cores: 2, CPUs: 0.02}},
	} {
		may := allow(&c.limits, c.there)
		if got := may.tuning(); may.decoders != c.decoders || got != c.tuning {
			t.Errorf("%+v of %g CPUs: %d decoders and %+v, want %d and %+v", c.limits, c.there, may.decoders, got, c.decoders, c.tuning)
		}
	}
}

// The engine tells what it may take, and of how much.
func TestBudgetsAreInTheCounters(t *testing.T) {
	r := start(t, describe(t, folder(t, 4, nil), "limits: {cpus: 50%, memory: 3GiB}\n"), nil)
	there := availableCPUs()
	if s := r.Stats(); s.CPUs != there/2 || s.CPUsThere != there || s.MemoryLimit != 3<<30 {
		t.Errorf("got %g of %g CPUs and %d bytes, want %g of %g and %d", s.CPUs, s.CPUsThere, s.MemoryLimit, there/2, there, 3<<30)
	}
}

// Rings that do not fit into limits.memory together are refused with need, what is left, and the remedy.
func TestRingsBeyondTheMemoryBudgetAreRefused(t *testing.T) {
	may := allow(&spec.Limits{Memory: 10 << 20}, 1)
	if err := may.reserve("train", 2<<20, 4, "ring.slots"); err != nil {
		t.Fatalf("4 slots of 2 MiB in 10 MiB: %v", err)
	}
	wantError(t, may.reserve("val", 1<<20, 3, "ring.slots"), shm.ErrNoSpace, `ring "val"`, "3 slots of 1.0 MiB take 3.0 MiB", "limits.memory leaves 2.0 MiB", "raise it, or lower ring.slots")
	_, err := New(describe(t, folder(t, 4, nil), "limits: {memory: 8}\n"), nil)
	wantError(t, err, shm.ErrNoSpace, "but limits.memory is 8 bytes; a number alone is bytes: write a unit, such as 8GiB")
}

// A bound on memory is one on what a ring keeps of large objects, too.
func TestWhatIsKeptOfLargeObjectsFollowsTheMemoryBudget(t *testing.T) {
	for memory, want := range map[int64]int64{0: 128 << 20, 64 << 30: 128 << 20, 1 << 30: 64 << 20, 10 << 20: 8 << 20} {
		if may := allow(&spec.Limits{Memory: memory}, 1); may.keep() != want {
			t.Errorf("of %d bytes: got %d, want %d", memory, may.keep(), want)
		}
	}
}

// Workers are as many as CPUs, rounded, and never none.
func TestDecodersFollowTheCPUs(t *testing.T) {
	for cpus, want := range map[float64]int{0.1: 1, 1: 1, 1.4: 1, 1.5: 2, 2: 2, 63.7: 64} {
		if got := decodersFor(cpus); got != want {
			t.Errorf("%v CPUs: %d decoders, want %d", cpus, got, want)
		}
	}
	r := start(t, describe(t, folder(t, 4, nil), "limits: {cpus: 3}\n"), nil)
	if s := r.Stats(); s.CPUs != 3 || s.Limiter.Limit != 3 {
		t.Fatalf("limits.cpus 3 gives %v CPUs and %d workers", s.CPUs, s.Limiter.Limit)
	}
}

// A ring that has no room names what makes it large: columns only where it has any of a length of their own.
func TestRingWithoutRoomNamesWhatMakesItLarge(t *testing.T) {
	const large = "limits: {memory: 1MiB}\nbatch: 64\nring: {slots: 512}\n"
	for _, c := range []struct{ columns, want string }{
		{"", "lower ring.slots or batch"}, {", columns: [{name: n, type: i64}]", "lower ring.slots or batch"}, {", columns: [{name: n}]", "lower ring.slots or batch, or max_bytes of source.columns"},
	} {
		list := filepath.Join(t.TempDir(), "a.csv")
		must(os.WriteFile(list, []byte("path,n\na.jpg,1\n"), 0o600))
		s, err := spec.Parse(fmt.Appendf(nil, "name: %s\nsource: {list: %s, labels: none%s}\nimage: {transform: [{resize: [8, 8]}]}\n%s", testName(), list, c.columns, large), "")
		must(err)
		if _, err := New(s, nil); err == nil || !strings.HasSuffix(err.Error(), "; raise it, or "+c.want) {
			t.Errorf("%s: got %v, want %q at its end", c.columns, err, c.want)
		}
	}
}
