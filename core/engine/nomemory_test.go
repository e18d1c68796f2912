//go:build !noffmpeg

package engine

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/shm"
	"golang.org/x/sys/unix"
)

// vast is a black PNG of side x side pixels of 8 bits, in some KB.
func vast(side int) []byte {
	chunk := func(b []byte, name string, data []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		body := append([]byte(name), data...)
		return binary.BigEndian.AppendUint32(append(b, body...), crc32.ChecksumIEEE(body))
	}
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	must(err)
	line := make([]byte, 1+side)
	for range side {
		if _, err := z.Write(line); err != nil {
			panic(err)
		}
	}
	must(z.Close())
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(side)), uint32(side))
	b := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(size, 8, 0, 0, 0, 0))
	return chunk(chunk(b, "IDAT", packed.Bytes()), "IEND", nil)
}

// onlyMore leaves this process room for so many bytes more than it has mapped, and returns what takes that back.
func onlyMore(t *testing.T, room uint64) (undo func()) {
	t.Helper()
	var was unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_AS, &was))
	text, err := os.ReadFile("/proc/self/statm")
	must(err)
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		t.Fatal(err)
	}
	undo = func() { must(unix.Setrlimit(unix.RLIMIT_AS, &was)) }
	t.Cleanup(undo)
	must(unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: pages*uint64(os.Getpagesize()) + room, Max: was.Max}))
	return undo
}

// A picture for which the machine has no memory left is a bad sample of its own, no_memory, that the journal keeps, as there may be some
// the next time: then the sample is as good as any.
func TestSampleWithoutMemoryIsBadForNow(t *testing.T) {
	const side, last = 16000, 11
	dir := folder(t, last+1, map[int]func(string){last: func(path string) { rewrite(path, vast(side)) }})
	journal := filepath.Join(t.TempDir(), "position")
	leavesNothing(t)
	s := describeImage(t, dir, fmt.Sprintf("{transform: [{resize: [8, 8]}], max_pixels: %d}", side*side),
		"batch: 2\norder: {epochs: 2, shuffle: false}\nring: {slots: 3}\n") // the last batch of six is decoded when the third is released
	r := start(t, s, &Options{Journal: journal})
	undo := onlyMore(t, side*side*7/8)
	reader := r.attach(shm.AttachOptions{MaxLeases: 1})
	without := epoch(t, reader)
	undo()
	if got := indexes(without); len(got) != last || slices.Contains(got, last) {
		t.Fatalf("samples %v, want the first %d", got, last)
	}
	bad := r.Stats().Rings[0].Bad
	if bad.Total != 1 || bad.Causes["no_memory"] != 1 || !strings.Contains(bad.Last[0], "b/00011.jpg") || !strings.Contains(bad.Last[0], "out of memory") {
		t.Fatalf("counted as %+v, want one no_memory that names the file", bad)
	}
	if got := indexes(epoch(t, reader)); len(got) != last+1 {
		t.Fatalf("with memory again: samples %v, want all", got)
	}
	must(r.end())
	f, err := ReadFaults(journal, "")
	must(err)
	if told := f.Of(0, 0, last+1); len(told) != 1 || told[0].Sample != last || told[0].Cause != "no_memory" {
		t.Fatalf("the journal has %+v, want sample %d in the first epoch", told, last)
	}
	if told := f.Of(1, 0, last+1); len(told) != 0 {
		t.Fatalf("the journal has %+v in the second epoch, want nothing", told)
	}
}
