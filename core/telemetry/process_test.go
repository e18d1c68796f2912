package telemetry

import (
	"os"
	"path/filepath"
	"testing"
)

// machine makes a root with files of /proc and /sys/fs/cgroup.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A process's memory, reads, network and throttling come from the kernel's files, the loopback left out.
func TestProcessIsReadFromTheKernelsFiles(t *testing.T) {
	root := machine(t, map[string]string{
		"proc/self/status":       "Name:\tspdl\nVmRSS:\t  300 kB\nRssAnon:\t100 kB\nRssFile:\t 50 kB\nRssShmem:\t150 kB\n",
		"proc/self/smaps_rollup": "00400000-7ffe Rollup\nRss: 300 kB\nPss:  220 kB\n",
		"proc/self/io":           "rchar: 9000\nwchar: 3\nread_bytes: 4096\n",
		"proc/self/net/dev": "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n" +
			"  eth0: 1000 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n  eth1:50 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n",
		"proc/self/cgroup":                    "0::/user/job\n",
		"sys/fs/cgroup/user/job/cpu.stat":     "usage_usec 5\nthrottled_usec 7\n",
		"sys/fs/cgroup/cpu/user/job/cpu.stat": "throttled_time 1\n",
	})
	want := Process{
		Memory: Memory{RSS: 300 << 10, PSS: 220 << 10, Anon: 100 << 10, Shared: 150 << 10, File: 50 << 10}, ReadBytes: 9000, StorageBytes: 4096,
		NetReceived: 1050, NetSent: 205, ThrottledNs: 7000,
	}
	if got := readProcess(root); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// The quota's counter is found in cgroups of version 1, and where a container shows its own cgroup as the root.
func TestThrottlingIsFoundInEveryKindOfCgroup(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"version 1": {"proc/self/cgroup": "5:cpuset:/x\n4:cpu,cpuacct:/job\n", "sys/fs/cgroup/cpu/job/cpu.stat": "throttled_time 7000\n"},
		"container": {"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 7\n"},
	} {
		if got := throttled(machine(t, files)); got != 7000 {
			t.Errorf("%s: %d ns, want 7000", name, got)
		}
	}
}

// What the kernel does not tell is zero, and what it tells in another form is not read.
func TestProcessWithoutFilesIsZero(t *testing.T) {
	garbage := map[string]string{
		"proc/self/status": "VmRSS:\nRssAnon: many kB\n", "proc/self/net/dev": "eth0: 1 2\neth1: a b c d e f g h i\n", "proc/self/cgroup": "nonsense\n0::\n", "proc/self/io": "\x00\xff",
	}
	for name, root := range map[string]string{"no files": t.TempDir(), "garbage": machine(t, garbage)} {
		if got := readProcess(root); got != (Process{}) {
			t.Errorf("%s: got %+v, want nothing", name, got)
		}
	}
}

// This process has memory.
func TestProcessKnowsItself(t *testing.T) {
	if p := ReadProcess(); p.Memory.RSS == 0 || p.Memory.PSS == 0 || p.ReadBytes == 0 {
		t.Errorf("got %+v, want memory and reads", p)
	}
}

// What came from stores is not what was read from files, and the latter never shrinks: what is under way passes for a file's
// until it is counted.
func TestWhatComesFromStoresIsNotReadFromFiles(t *testing.T) {
	for name, c := range map[string]struct{ read, store, answers, least, want uint64 }{
		"files alone":                   {5000, 0, 0, 0, 5000},
		"both":                          {50_000, 30_000, 10, 0, 50_000 - 30_000 - 10*answerHead},
		"stores alone":                  {30_900, 30_000, 2, 0, 0},
		"more was said to be read":      {50_000, 48_000, 0, 9000, 9000},
		"the kernel says nothing of it": {0, 30_000, 3, 0, 0},
		"as much was said before":       {50_000, 48_000, 0, 2000, 2000},
	} {
		p := Process{ReadBytes: c.read}
		if p.FilesOnly(c.store, c.answers, c.least); p.ReadBytes != c.want || p.StoreBytes != c.store {
			t.Errorf("%s: %d read from files and %d from stores, want %d and %d", name, p.ReadBytes, p.StoreBytes, c.want, c.store)
		}
	}
}
