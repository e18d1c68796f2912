package source

import (
	"archive/tar"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// scriptedKernel has what its archives are said to have, and keeps what it is told.
type scriptedKernel struct {
	cached bool
	asked  chan localRange
	told   chan []localRange
}

func newScriptedKernel() *scriptedKernel {
	return &scriptedKernel{asked: make(chan localRange, 10), told: make(chan []localRange, 10)}
}

func (k *scriptedKernel) has(r localRange) bool {
	k.asked <- r
	return k.cached
}

func (k *scriptedKernel) willNeed(_ string, ranges []localRange) { k.told <- slices.Clone(ranges) }

// The kernel is told of exactly the ranges of the planned samples, in the order of the file, and at most as many bytes as may be.
func TestLocalRangesArePlannedExactlyAndBounded(t *testing.T) {
	const size, member = 64 << 10, 64<<10 + 512
	file := filepath.Join(t.TempDir(), "s.tar")
	var parts []part
	for i := range 40 {
		parts = append(parts, part{fmt.Sprintf("%02d.jpg", i), strings.Repeat("x", size)})
	}
	write(t, file, string(tarOf(t, tar.FormatUSTAR, parts...)))
	s := openS(t, ShardsConfig{Shards: []string{file}, ReadAhead: advisedBatches * 5 * size}).(*shards)
	s.advisor.close()
	kernel := newScriptedKernel()
	s.advisor = newAdvisor(kernel)
	for _, c := range []struct{ ahead, told []int64 }{
		{[]int64{3, 30, 17}, []int64{3, 17, 30}},
		{[]int64{0, 2, 4, 6, 8, 10, 12, 14, 16}, []int64{0, 2, 4, 6, 8}},
		{[]int64{20}, []int64{20}},
	} {
		s.Ahead(c.ahead)
		want := []localRange{}
		for _, i := range c.told {
			want = append(want, localRange{file, i*member + 512, size})
		}
		if got := <-kernel.told; !reflect.DeepEqual(got, want) {
			t.Errorf("ahead of %v: told %v, want %v", c.ahead, got, want)
		}
		if got, want := <-kernel.asked, (localRange{file, c.ahead[0]*member + 512, size}); got != want {
			t.Errorf("ahead of %v: asked %v, want %v: the sample that is read first", c.ahead, got, want)
		}
	}
}

// A batch whose first range is in the page cache needs no advice.
func TestWhatThePageCacheHasIsNotAdvised(t *testing.T) {
	kernel := newScriptedKernel()
	kernel.cached = true
	a := &advisor{kernel: kernel}
	a.advise([]localRange{{"/a.tar", 0, 10}, {"/b.tar", 0, 10}})
	if len(kernel.told) != 0 {
		t.Errorf("told %v", <-kernel.told)
	}
	kernel.cached = false
	a.advise([]localRange{{"/b.tar", 7, 10}, {"/a.tar", 0, 10}, {"/b.tar", 3, 4}})
	for _, want := range [][]localRange{{{"/a.tar", 0, 10}}, {{"/b.tar", 3, 4}, {"/b.tar", 7, 10}}} {
		if got := <-kernel.told; !reflect.DeepEqual(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
}

// The real kernel takes our advice, also on an archive that is not there.
func TestTheKernelIsAskedAndTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.tar")
	write(t, file, strings.Repeat("x", 10000))
	r := localRange{file, 512, 4096}
	ownKernel{}.willNeed(file, []localRange{r})
	ownKernel{}.has(r) // either answer is right: what the page cache holds is the kernel's affair
	gone := localRange{file + ".gone", 0, 10}
	ownKernel{}.willNeed(gone.path, []localRange{gone})
	if !(ownKernel{}).has(gone) {
		t.Error("advice is wanted on an archive that is not there")
	}
}

// An advisor that is behind drops batches, and keeps nobody waiting: not who plans, nor who closes the source.
func TestAdvisorThatIsBehindKeepsNobodyWaiting(t *testing.T) {
	a := &advisor{kernel: ownKernel{}, batches: make(chan []localRange, 1)} // nobody works for it
	sh := &shard{path: "/nowhere"}
	for range 3 {
		a.plan([]extent{{sh, 0, 10}}, 100)
	}
	if len(a.batches) != 1 {
		t.Errorf("%d batches wait", len(a.batches))
	}
	a.plan([]extent{{sh, 0, 10}}, 5)
	a.close()
	a.plan([]extent{{sh, 0, 10}}, 100)
	a.close()
	for batch := range a.batches {
		a.advise(batch) // of an archive that is not there
	}
	(*advisor)(nil).close()
}
