package video

import (
	"cmp"
	"slices"
	"sort"

	"github.com/spdl/spdl/core/media/av"
)

// packet is video_packet of video.h: what the index keeps of each packet, in decode order.
type packet struct {
	pts, dts, pos, duration int64
	size                    int32
	flags                   uint32
}

const (
	flagKey     = 1
	flagDiscard = 2
	flagHole    = 4 // gives no frame: the one before stays on show
	flagSecond  = 8 // a field, of the frame that the packet before begins
	flagPalette = 64

	noTime = -1 << 63
)

// Index lists the frames of one stream in the order in which they are shown. It is
// read-only once made.
type Index struct {
	num, den int64    // time base, seconds
	packets  []packet // decode order
	order    []int32  // numbers of packets, presentation order
	entry    []int32  // of each packet: the key packet at which decoding starts for it
	keys     []int32  // scratch of enter
	reorder  int32    // frames that a decoder holds back at most
	heads    *av.Heads
}

// Len is the number of frames.
func (ix *Index) Len() int { return len(ix.order) }

func (ix *Index) seconds(ticks int64) float64 {
	return float64(ticks) * float64(ix.num) / float64(ix.den)
}

func (ix *Index) at(i int) *packet { return &ix.packets[ix.order[i]] }

// source is the packet whose picture is shown as frame i.
func (ix *Index) source(i int) int32 {
	for i > 0 && ix.at(i).flags&flagHole != 0 {
		i--
	}
	return ix.order[i]
}

// PTS is the second at which frame i appears.
func (ix *Index) PTS(i int) float64 { return ix.seconds(ix.at(i).pts) }

// Ticks is PTS in the stream's time base, and TimeBase that base in seconds.
func (ix *Index) Ticks(i int) int64 { return ix.at(i).pts }

// TimeBase is one tick, in seconds, as a fraction.
func (ix *Index) TimeBase() (num, den int64) { return ix.num, ix.den }

// Duration is for how many seconds frame i is shown: up to the next, and for the
// last one what its packet says.
func (ix *Index) Duration(i int) float64 { return ix.seconds(ix.lasts(i)) }

// lasts is Duration in ticks.
func (ix *Index) lasts(i int) int64 {
	if i+1 < len(ix.order) {
		return ix.at(i+1).pts - ix.at(i).pts
	}
	return ix.at(i).duration
}

// Key says whether frame i is a key frame.
func (ix *Index) Key(i int) bool { return ix.at(i).flags&flagKey != 0 }

// Start is when the first frame appears, End when the last one is no longer shown.
func (ix *Index) Start() float64 {
	if ix.Len() == 0 {
		return 0
	}
	return ix.PTS(0)
}

func (ix *Index) End() float64 {
	if ix.Len() == 0 {
		return 0
	}
	return ix.PTS(ix.Len()-1) + ix.Duration(ix.Len()-1)
}

// PlayedAt is the frame on show at a second: the last that has appeared by then, and
// the first before that.
func (ix *Index) PlayedAt(t float64) int { return ix.playedAt(ix.ticks(t)) }

// sameTick is how far apart, in ticks, two ways to compute one time may come out.
const sameTick = 1e-3

// ticks is a second in the stream's time base.
func (ix *Index) ticks(seconds float64) float64 { return seconds * float64(ix.den) / float64(ix.num) }

func (ix *Index) playedAt(tick float64) int {
	return max(sort.Search(ix.Len(), func(i int) bool { return float64(ix.at(i).pts) > tick+sameTick })-1, 0)
}

// nearest is the frame that appears closest to a tick, the earlier of two.
func (ix *Index) nearest(tick float64) int {
	i := ix.playedAt(tick)
	if i+1 < ix.Len() && float64(ix.at(i+1).pts)-tick < tick-float64(ix.at(i).pts)-sameTick {
		return i + 1
	}
	return i
}

// Between gives the frames [i, j) that are on show at any moment of [from, to), in seconds.
func (ix *Index) Between(from, to float64) (i, j int) {
	begin, end := ix.ticks(from)+sameTick, ix.ticks(to)-sameTick
	i = sort.Search(ix.Len(), func(i int) bool { return float64(ix.at(i).pts+ix.lasts(i)) > begin })
	j = sort.Search(ix.Len(), func(i int) bool { return float64(ix.at(i).pts) >= end })
	return i, max(i, j)
}

// arrange makes the index of packets, which it keeps. Memory of an earlier use is
// used again.
func (ix *Index) arrange(packets []packet, num, den int64) {
	ix.packets, ix.num, ix.den = packets, num, den
	ix.order, ix.entry = ix.order[:0], slices.Grow(ix.entry[:0], len(packets))[:len(packets)]
	for i := range packets {
		if packets[i].flags&(flagDiscard|flagSecond) == 0 && packets[i].pts != noTime && packets[i].size > 0 {
			ix.order = append(ix.order, int32(i))
		}
	}
	if !slices.IsSortedFunc(ix.order, ix.byTime) {
		slices.SortStableFunc(ix.order, ix.byTime)
	}
	ix.enter()
	ix.measureReorder()
}

func (ix *Index) byTime(a, b int32) int { return cmp.Compare(ix.packets[a].pts, ix.packets[b].pts) }

// last is the packet that completes the frame of a packet: itself, or the second field.
func (ix *Index) last(packet int32) int32 {
	if next := int(packet) + 1; next < len(ix.packets) && ix.packets[next].flags&flagSecond != 0 {
		return packet + 1
	}
	return packet
}

// enter finds where decoding starts for each packet: at the last key packet that is
// neither decoded nor shown after it. What an open group shows before its key frame
// refers to the group before, and starts there. Where packets bring palettes only
// those do to start at.
func (ix *Index) enter() {
	keys := ix.keys[:0] // so far, their times rising
	palette := uint32(0)
	for i := range ix.packets {
		p := &ix.packets[i]
		palette |= p.flags & flagPalette
		if p.flags&(flagKey|flagSecond) == flagKey && p.flags&flagPalette == palette && p.pts != noTime {
			for len(keys) > 0 && ix.packets[keys[len(keys)-1]].pts > p.pts {
				keys = keys[:len(keys)-1]
			}
			keys = append(keys, int32(i))
		}
		k := len(keys) - 1
		for p.pts != noTime && k >= 0 && ix.packets[keys[k]].pts > p.pts {
			k--
		}
		ix.entry[i] = 0
		if k >= 0 {
			ix.entry[i] = keys[k]
		}
	}
	ix.keys = keys
}

// closed reports whether every key frame parts the video: what is decoded before it is shown before it, and what is decoded behind it, behind it.
func (ix *Index) closed() bool {
	key, latest := int64(noTime), int64(noTime)
	for i := range ix.packets {
		p := &ix.packets[i]
		if p.flags&flagSecond != 0 {
			continue
		}
		if p.flags&flagKey != 0 {
			if p.pts <= latest {
				return false
			}
			key = p.pts
		}
		if p.pts == noTime || p.pts < key {
			return false
		}
		latest = max(latest, p.pts)
	}
	return true
}

// measureReorder counts, for each frame, those decoded before it and shown after it:
// so many a decoder must hold back.
func (ix *Index) measureReorder() {
	ix.reorder = 0
	const most = 16 // of any codec
	for i := range ix.packets {
		p, before := &ix.packets[i], int32(0)
		if p.pts == noTime || p.flags&flagSecond != 0 {
			continue
		}
		for j := max(0, i-most); j < i; j++ {
			if q := &ix.packets[j]; q.pts != noTime && q.pts > p.pts && q.flags&flagSecond == 0 {
				before++
			}
		}
		ix.reorder = max(ix.reorder, before)
	}
}
