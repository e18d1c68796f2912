package sampler

import "math/bits"

// rooms are rows that are being filled, by the room that each has left.
type rooms struct {
	length int64
	latest []int32    // row by room; -1: none. The others of that room are behind it,
	next   []int32    // by row
	some   [][]uint64 // which rooms have a row: bits, and on each level above whether a word below has any
}

func newRooms(length int64) *rooms {
	r := &rooms{length: length, latest: make([]int32, length+1)}
	for n := length + 1; ; n = int64(len(r.some[len(r.some)-1])) {
		r.some = append(r.some, make([]uint64, (n+63)/64))
		if n <= 64 {
			break
		}
	}
	for room := range r.latest {
		r.latest[room] = -1
	}
	return r
}

// take is the fullest row that has room for so much, or a new one. It has that much less from then on.
func (r *rooms) take(n int64) (row int32) {
	room := r.least(n)
	if room < 0 {
		row, room = int32(len(r.next)), r.length
		r.next = append(r.next, -1)
	} else {
		row = r.latest[room]
		if r.latest[room] = r.next[row]; r.latest[room] < 0 {
			r.clear(room)
		}
	}
	if room -= n; room > 0 {
		r.next[row], r.latest[room] = r.latest[room], row
		r.set(room)
	}
	return row
}

// least is the least room from n on that a row has, or -1.
func (r *rooms) least(n int64) int64 {
	for level := range r.some {
		word := n / 64
		if word >= int64(len(r.some[level])) {
			return -1
		}
		if rest := r.some[level][word] >> (n % 64) << (n % 64); rest != 0 {
			n = word*64 + int64(bits.TrailingZeros64(rest))
			for ; level > 0; level-- { // down to the room
				n = n*64 + int64(bits.TrailingZeros64(r.some[level-1][n]))
			}
			return n
		}
		n = word + 1
	}
	return -1
}

func (r *rooms) set(room int64) {
	for level := range r.some {
		r.some[level][room/64] |= 1 << (room % 64)
		room /= 64
	}
}

func (r *rooms) clear(room int64) {
	for level := range r.some {
		word := &r.some[level][room/64]
		if *word &^= 1 << (room % 64); *word != 0 {
			return
		}
		room /= 64
	}
}

// reset forgets all rows, and says how many there were.
func (r *rooms) reset() (rows int) {
	for room := r.least(0); room >= 0; room = r.least(room + 1) {
		r.latest[room] = -1
		r.clear(room)
	}
	rows = len(r.next)
	r.next = r.next[:0]
	return rows
}
