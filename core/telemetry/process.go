package telemetry

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is what a process takes of its machine. What the kernel does not tell is zero.
type Process struct {
	CPUs        float64 `json:"cpus"`       // that it may use
	CPUsThere   float64 `json:"cpus_there"` // that its affinity and its cgroup leave it; CPUs is fewer where limits.cpus says so
	CPUTimeNs   int64   `json:"cpu_time_ns"`
	ThrottledNs int64   `json:"throttled_ns"` // kept off the CPUs by its cgroup's quota
	Memory      Memory  `json:"memory"`
	MemoryLimit uint64  `json:"memory_limit,omitempty"` // limits.memory, of Memory.RSS; 0: none
	// ReadBytes were read from files, StorageBytes of them came from storage; the others from the page cache.
	ReadBytes    uint64 `json:"read_bytes"`
	StorageBytes uint64 `json:"storage_bytes"`
	// StoreBytes came from stores: objects that were read over the network.
	StoreBytes uint64 `json:"store_bytes"`
	// NetReceived and NetSent count the interfaces of its network namespace but the loopback.
	NetReceived uint64 `json:"net_received_bytes"`
	NetSent     uint64 `json:"net_sent_bytes"`
}

// Memory is what a process holds, in bytes.
type Memory struct {
	RSS    uint64 `json:"rss"`
	PSS    uint64 `json:"pss"`    // RSS with shared pages divided among those who map them
	Anon   uint64 `json:"anon"`   // heap, stacks, C allocations
	Shared uint64 `json:"shared"` // rings
	File   uint64 `json:"file"`   // code of the program and its libraries
}

// ReadProcess reads what the kernel tells about this process. CPUs, CPUsThere and MemoryLimit are the caller's to fill in;
// ReadBytes has what was read from sockets, too, which FilesOnly takes off.
// PSS makes the kernel walk the page tables: milliseconds in a large process.
func ReadProcess() Process {
	p := readProcess("/")
	p.CPUTimeNs = int64(CPUSeconds() * 1e9)
	return p
}

// ReadMemory is ReadProcess's Memory without PSS, which is cheap.
func ReadMemory() Memory { return readMemory("/") }

// CPUSeconds is user and system time of this process so far; 0 where the kernel does not tell.
func CPUSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// ReadCounters is ReadProcess without Memory, which is cheap.
func ReadCounters() Process {
	p := readCounters("/")
	p.CPUTimeNs = int64(CPUSeconds() * 1e9)
	return p
}

func readProcess(root string) Process {
	p := readCounters(root)
	p.Memory = readMemory(root)
	p.Memory.PSS = fieldsOf(root, "proc/self/smaps_rollup")["Pss:"] << 10
	return p
}

func readCounters(root string) (p Process) {
	io := fieldsOf(root, "proc/self/io")
	p.ReadBytes, p.StorageBytes = io["rchar:"], io["read_bytes:"]
	p.NetReceived, p.NetSent = network(root)
	p.ThrottledNs = throttled(root)
	return p
}

// answerHead is about what an answer of a store has before its object.
const answerHead = 512

// FilesOnly notes what stores have sent in so many answers: the kernel counts it among the bytes read. What came by now and is not
// counted yet passes for a file's; least is what was said to be read from files before, and ReadBytes never falls below.
func (p *Process) FilesOnly(storeBytes, answers, least uint64) {
	p.StoreBytes = storeBytes
	sockets := min(storeBytes+answers*answerHead, p.ReadBytes)
	p.ReadBytes = max(p.ReadBytes-sockets, least)
}

func readMemory(root string) Memory {
	f := fieldsOf(root, "proc/self/status")
	return Memory{RSS: f["VmRSS:"] << 10, Anon: f["RssAnon:"] << 10, Shared: f["RssShmem:"] << 10, File: f["RssFile:"] << 10}
}

// fieldsOf reads lines of a name and a number; nothing where there is no such file.
func fieldsOf(root, path string) map[string]uint64 {
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil
	}
	all := map[string]uint64{}
	for _, line := range bytes.Split(data, []byte("\n")) {
		if f := bytes.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseUint(string(f[1]), 10, 64); err == nil {
				all[string(f[0])] = n
			}
		}
	}
	return all
}

// network adds up /proc/self/net/dev.
func network(root string) (received, sent uint64) {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/net/dev"))
	if err != nil {
		return 0, 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		name, counters, found := strings.Cut(line, ":")
		f := strings.Fields(counters)
		if !found || strings.TrimSpace(name) == "lo" || len(f) < 9 {
			continue
		}
		r, errR := strconv.ParseUint(f[0], 10, 64)
		s, errS := strconv.ParseUint(f[8], 10, 64)
		if errR == nil && errS == nil {
			received, sent = received+r, sent+s
		}
	}
	return received, sent
}

// throttled reads the cpu.stat of the process's own cgroup: version 2 in microseconds, version 1 in nanoseconds.
func throttled(root string) int64 {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(data), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "":
			for _, dir := range []string{filepath.Clean("/" + parts[2]), "/"} { // in a container its own cgroup is the root
				if us := fieldsOf(root, "sys/fs/cgroup"+dir+"/cpu.stat")["throttled_usec"]; us > 0 {
					return int64(us) * 1000
				}
			}
		case strings.Contains(","+parts[1]+",", ",cpu,"):
			for _, dir := range []string{filepath.Clean("/" + parts[2]), "/"} {
				if ns := fieldsOf(root, "sys/fs/cgroup/cpu"+dir+"/cpu.stat")["throttled_time"]; ns > 0 {
					return int64(ns)
				}
			}
		}
	}
	return 0
}
