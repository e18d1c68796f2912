package engine

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/core/pipeline"
	"github.com/spdl/spdl/core/source/store"
	"github.com/spdl/spdl/core/spec"
	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// An allowance is what the engine may take of its machine.
type allowance struct {
	there    float64 // CPUs that affinity mask and cgroup leave it
	cpus     float64 // of those it uses
	named    bool    // the description says so, and means the whole process
	decoders int
	memory   int64  // resident bytes, rings included; 0: no bound
	reserved uint64 // of those, by rings
}

// allow is what l allows where there are so many CPUs. A share is rounded down to whole decoders: it is the most that others will miss.
func allow(l *spec.Limits, there float64) allowance {
	a := allowance{there: there, cpus: there, named: l.CPUs > 0 || l.CPUShare > 0, memory: l.Memory}
	switch {
	case l.CPUShare > 0:
		a.cpus = l.CPUShare * there
		a.decoders = max(1, int(a.cpus+1e-9))
		return a
	case l.CPUs > 0:
		a.cpus = l.CPUs
	}
	a.decoders = decodersFor(a.cpus)
	return a
}

// tuning is the same for the stages that find their concurrency themselves.
func (a *allowance) tuning() pipeline.Tuning {
	t := pipeline.Tuning{Cores: a.there, Memory: a.memory}
	if a.named {
		t.CPUs = a.cpus
	}
	return t
}

// decodersFor is the number of decode workers that keep n CPUs busy.
func decodersFor(n float64) int { return max(1, int(math.Round(n))) }

// availableCPUs is what this process may use: the smaller of its affinity mask and its cgroups' quotas.
func availableCPUs() float64 {
	var set unix.CPUSet
	n := 1.0
	if err := unix.SchedGetaffinity(0, &set); err == nil && set.Count() > 0 {
		n = float64(set.Count())
	}
	if quota := thisMachine.quotaCPUs(); quota > 0 {
		n = min(n, quota)
	}
	return n
}

// machine reads limits from the files under root; tests have a root of their own.
type machine struct{ root string }

var thisMachine = machine{"/"}

// quotaCPUs is the tightest CPU quota of the cgroups this process is in; 0: none.
func (m machine) quotaCPUs() (cpus float64) {
	tighter := func(quota, period float64) {
		if quota > 0 && period > 0 && (cpus == 0 || quota/period < cpus) {
			cpus = quota / period
		}
	}
	for _, dir := range m.cgroupDirs("") { // version 2
		if f := fieldsOf(filepath.Join(dir, "cpu.max")); len(f) == 2 {
			tighter(number(f[0]), number(f[1]))
		}
	}
	for _, dir := range m.cgroupDirs("cpu") { // version 1
		tighter(numberIn(dir, "cpu.cfs_quota_us"), numberIn(dir, "cpu.cfs_period_us"))
	}
	return cpus
}

// memoryRoom is what the cgroups and the machine have left, in bytes; 0: unknown.
func (m machine) memoryRoom() (room uint64) {
	tighter := func(limit, used float64) {
		if left := uint64(max(1, limit-used)); limit > 0 && limit < 1<<62 && (room == 0 || left < room) {
			room = left
		}
	}
	for _, dir := range m.cgroupDirs("") {
		tighter(numberIn(dir, "memory.max"), numberIn(dir, "memory.current"))
	}
	for _, dir := range m.cgroupDirs("memory") {
		tighter(numberIn(dir, "memory.limit_in_bytes"), numberIn(dir, "memory.usage_in_bytes"))
	}
	fields := fieldsOf(filepath.Join(m.root, "proc/meminfo"))
	if i := slices.Index(fields, "MemAvailable:"); i >= 0 && i+1 < len(fields) {
		tighter(number(fields[i+1])*1024, 0)
	}
	return room
}

// noRoom is a refusal for want of memory.
func noRoom(format string, args ...any) error {
	return refuse(shm.ErrNoMemory, shm.ErrNoSpace, format, args...)
}

// checkMemory refuses a ring that would not fit before anything is reserved: a process that passes its cgroup's limit is
// killed, not told. lower is what of the description makes it smaller.
func (m machine) checkMemory(ring string, slotBytes uint64, slots int, lower string) error {
	need, room := slotBytes*uint64(slots), m.memoryRoom()
	if room == 0 || need <= room {
		return nil
	}
	return noRoom("engine: ring %q: %d slots of %.1f MiB take %.1f MiB, but %.1f MiB of memory are available; lower %s", ring, slots, mib(slotBytes), mib(need), mib(room), lower)
}

// reserve counts a ring's slots against limits.memory, which the rings made before have a part of already.
func (a *allowance) reserve(ring string, slotBytes uint64, slots int, lower string) error {
	need := slotBytes * uint64(slots)
	if a.memory > 0 && a.reserved+need > uint64(a.memory) {
		if a.memory < 1<<16 { // which nobody means
			return noRoom("engine: ring %q: %d slots take %d bytes, but limits.memory is %d bytes; a number alone is bytes: write a unit, such as %dGiB", ring, slots, need, a.memory, min(a.memory, 64))
		}
		return noRoom("engine: ring %q: %d slots of %.1f MiB take %.1f MiB, but limits.memory leaves %.1f MiB; raise it, or lower %s",
			ring, slots, mib(slotBytes), mib(need), mib(uint64(a.memory)-a.reserved), lower)
	}
	a.reserved += need
	return nil
}

// keep is how much of the large objects of a store a ring may hold on to: a sixteenth of the bound, but eight blocks at least.
func (a *allowance) keep() int64 {
	if a.memory == 0 {
		return store.DefaultKeepBytes
	}
	return min(store.DefaultKeepBytes, max(8<<20, a.memory/16))
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// cgroupDirs are the directories of this process's cgroup and its parents, for a controller of version 1, or "" for
// version 2. Inside a container the mount shows the container's own cgroup as the root, hence the last one.
func (m machine) cgroupDirs(controller string) (dirs []string) {
	data, err := os.ReadFile(filepath.Join(m.root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	base := filepath.Join(m.root, "sys/fs/cgroup", controller)
	for _, line := range strings.Split(string(data), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 || !holds(parts[1], controller) {
			continue
		}
		for path := filepath.Clean(parts[2]); path != "/" && path != "."; path = filepath.Dir(path) {
			dirs = append(dirs, filepath.Join(base, path))
		}
		dirs = append(dirs, base)
	}
	return dirs
}

// holds says that a line's list of controllers is the one looked for; that of version 2 is empty.
func holds(list, controller string) bool {
	return slices.Contains(strings.Split(list, ","), controller)
}

func fieldsOf(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}

// numberIn is the number that a file of a cgroup begins with.
func numberIn(dir, file string) float64 {
	if f := fieldsOf(filepath.Join(dir, file)); len(f) > 0 {
		return number(f[0])
	}
	return 0
}

// number is 0 for what is not one, such as "max".
func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
