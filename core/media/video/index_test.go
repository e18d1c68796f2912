package video

import (
	"slices"
	"testing"
)

// shown makes an index from times in decode order; a negative one is a key frame's,
// its magnitude less one.
func shown(times ...int64) *Index {
	packets := make([]packet, len(times))
	for i, t := range times {
		packets[i] = packet{pts: t, dts: int64(i), duration: 1, size: 1}
		if t < 0 {
			packets[i].pts, packets[i].flags = -t-1, flagKey
		}
	}
	ix := &Index{}
	ix.arrange(packets, 1, 1)
	return ix
}

func key(t int64) int64 { return -t - 1 }

// Frames are in the order of their times, whatever order they are decoded in.
func TestIndexIsInPresentationOrder(t *testing.T) {
	ix := shown(key(0), 3, 1, 2, key(6), 4, 5)
	if want := []int32{0, 2, 3, 1, 5, 6, 4}; !slices.Equal(ix.order, want) {
		t.Errorf("got %v, want %v", ix.order, want)
	}
	if ix.reorder != 1 {
		t.Errorf("got %d frames held back, want 1", ix.reorder)
	}
}

// What an open group shows before its key frame starts at the key frame before.
func TestLeadingPicturesStartAtTheGroupBefore(t *testing.T) {
	ix := shown(key(0), 3, 1, 2, key(6), 4, 5, 9, 7, 8)
	if want := []int32{0, 0, 0, 0, 4, 0, 0, 4, 4, 4}; !slices.Equal(ix.entry, want) {
		t.Errorf("got %v, want %v", ix.entry, want)
	}
}

// Packets that an edit list discards, and those without a time, are no frames.
func TestDiscardedPacketsAreNoFrames(t *testing.T) {
	ix := &Index{}
	ix.arrange([]packet{
		{pts: -2, size: 1, flags: flagKey | flagDiscard}, {pts: -1, size: 1, flags: flagDiscard},
		{pts: 0, size: 1}, {pts: noTime, size: 1}, {pts: 1, size: 1}, {pts: 2, size: 0},
	}, 1, 1)
	if want := []int32{2, 4}; !slices.Equal(ix.order, want) {
		t.Errorf("got %v, want %v", ix.order, want)
	}
	if ix.entry[2] != 0 {
		t.Errorf("decoding starts at packet %d, want 0: the key frame that is not shown", ix.entry[2])
	}
}

func TestDurationsReachToTheNextFrame(t *testing.T) {
	ix := shown(key(0), 10, 11, 30)
	for i, want := range []float64{10, 1, 19, 1} {
		if got := ix.Duration(i); got != want {
			t.Errorf("frame %d: got %v, want %v", i, got, want)
		}
	}
	if ix.Start() != 0 || ix.End() != 31 {
		t.Errorf("got %v to %v, want 0 to 31", ix.Start(), ix.End())
	}
}

// Seconds have no exact ticks, and the end of one frame is the start of the next: neither is in a window that it only touches.
func TestAWindowEndsWhereFramesDo(t *testing.T) {
	times := []int64{key(880)}
	for i := range 99 {
		times = append(times, 920+40*int64(i))
	}
	ix := shown(times...)
	ix.num, ix.den = 1, 1000
	for first := range 99 {
		from, to := 0.88+0.04*float64(first), 0.88+0.04*float64(first+1)
		if i, j := ix.Between(from, to); i != first || j != first+1 {
			t.Errorf("frame %d, from %v s to %v s: got %d to %d", first, from, to, i, j)
		}
	}
}

// An index on disk is read back as it was, and refused in every other case.
func TestIndexOnDiskIsTheOneOfThisFileOrNone(t *testing.T) {
	ix := shown(key(0), 3, 1, 2)
	id := identity{demuxer: 7, size: 100, time: 200, stream: -1}
	whole := ix.encode(id)
	got, err := decodeIndex(whole, id)
	if err != nil || got.num != 1 || got.den != 1 || !slices.Equal(got.packets, ix.packets) || !got.heads.Equal(ix.heads) {
		t.Fatalf("got %v, %d/%d, %v, want what was written", got.packets, got.num, got.den, err)
	}
	for name, other := range map[string]identity{
		"another demuxer": {8, 100, 200, -1}, "another size": {7, 101, 200, -1},
		"another time": {7, 100, 201, -1}, "another stream": {7, 100, 200, 0},
	} {
		if _, err := decodeIndex(whole, other); err == nil {
			t.Errorf("an index of %s was taken", name)
		}
	}
	for i := range whole {
		b := slices.Clone(whole)
		b[i] ^= 0x10
		if _, err := decodeIndex(b, id); err == nil {
			t.Errorf("an index with byte %d changed was taken", i)
		}
		if _, err := decodeIndex(whole[:i], id); err == nil {
			t.Errorf("an index cut at byte %d was taken", i)
		}
	}
}

// FuzzIndexOnDisk: no bytes crash the reader.
func FuzzIndexOnDisk(f *testing.F) {
	id := identity{demuxer: 7, size: 100, time: 200, stream: -1}
	f.Add(shown(key(0), 3, 1, 2).encode(id))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decodeIndex(b, id) })
}
