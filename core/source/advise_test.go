package source

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident is how many of a file's pages the page cache has.
func resident(t *testing.T, path string) (pages int) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	st, err := f.Stat()
	must(t, err)
	mem, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer func() { must(t, unix.Munmap(mem)) }()
	has := make([]byte, (len(mem)+4095)/4096)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(mem)), uintptr(unsafe.Pointer(&has[0])))
	if errno != 0 {
		t.Skipf("mincore: %v", errno)
	}
	for _, page := range has {
		pages += int(page & 1)
	}
	return pages
}

// evict takes a file out of the page cache, or skips the test where that cannot be.
func evict(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	must(t, f.Sync())
	must(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
	if n := resident(t, path); n > 0 {
		t.Skipf("the file system keeps %d pages of a file that is not needed", n)
	}
}

// The kernel is told of exactly the ranges of the planned samples, at most as many bytes as may be, and of nothing that it has.
func TestLocalRangesArePlannedExactlyAndBounded(t *testing.T) {
	const size = 64 << 10
	file := filepath.Join(t.TempDir(), "s.tar")
	var parts []part
	for i := range 40 {
		parts = append(parts, part{fmt.Sprintf("%02d.jpg", i), strings.Repeat("x", size)})
	}
	write(t, file, string(tarOf(t, tar.FormatUSTAR, parts...)))
	s := openS(t, ShardsConfig{Shards: []string{file}, ReadAhead: advisedBatches * 5 * size}).(*shards)
	evict(t, file)
	s.Ahead([]int64{3, 30, 17})
	waitFor(t, func() bool { return resident(t, file) >= 3*size/4096 })
	if n := resident(t, file); n > 3*(size/4096+1) {
		t.Errorf("%d pages, want those of 3 samples", n)
	}
	evict(t, file)
	s.Ahead([]int64{0, 2, 4, 6, 8, 10, 12, 14, 16})
	waitFor(t, func() bool { return resident(t, file) >= 5*size/4096 })
	s.Ahead([]int64{20}) // taken once the batch before is through
	waitFor(t, func() bool { return resident(t, file) >= 6*size/4096 })
	if n := resident(t, file); n > 6*(size/4096+1) {
		t.Errorf("%d pages, want those of 5 samples and one", n)
	}
	r := localRange{file, 512, size}
	if !r.inCache() {
		t.Error("sample 0 was read ahead, and is not in the cache")
	}
	evict(t, file)
	if r.inCache() {
		t.Error("in the cache after it was evicted")
	}
}

// An advisor that is behind drops batches, and keeps nobody waiting: not who plans, nor who closes the source.
func TestAdvisorThatIsBehindKeepsNobodyWaiting(t *testing.T) {
	a := &advisor{batches: make(chan []localRange, 1)} // nobody works for it
	sh := &shard{path: "/nowhere"}
	for range 3 {
		a.plan([]extent{{sh, 0, 10}}, 100)
	}
	if len(a.batches) != 1 {
		t.Errorf("%d batches wait", len(a.batches))
	}
	a.plan([]extent{{sh, 0, 10}}, 5)
	a.close()
	a.close()
	for batch := range a.batches {
		advise(batch) // of an archive that is not there
	}
	(*advisor)(nil).close()
}
