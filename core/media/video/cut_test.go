//go:build !noffmpeg

package video

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media/av"
)

// cutEverywhere says that a video is truncated, for a reason that names what, wherever between from and its end it is cut, but where it is whole.
func cutEverywhere(t *testing.T, name, what string, whole []byte, from int, between ...int) {
	t.Helper()
	w := workerOf(t, small())
	defer w.Close()
	step := max(1, (len(whole)-from)/300)
	for n := from; n < len(whole); n += step {
		_, err := decodeWith(w, Source{Bytes: whole[:n]}, Draw{})
		if slices.Contains(between, n) {
			continue
		}
		if causeOf(err) != av.CauseTruncated || !strings.Contains(err.Error(), "the file ends in the "+what+" at byte ") {
			t.Fatalf("%s cut at byte %d of %d: got %v", name, n, len(whole), err)
		}
	}
	for _, n := range append(between, len(whole)) {
		if _, err := decodeWith(w, Source{Bytes: whole[:n]}, Draw{}); err != nil {
			t.Errorf("%s that ends at byte %d: %v", name, n, err)
		}
	}
}

// boxesOf are where the boxes of an MP4 begin.
func boxesOf(whole []byte) (at []int) {
	for i := 0; i < len(whole); i += int(binary.BigEndian.Uint32(whole[i:])) {
		at = append(at, i)
	}
	return at
}

// A fragmented MP4 that ends in a box is truncated; one that ends between two is a recording.
func TestCutFragmentsAreTruncated(t *testing.T) {
	whole := file(t, "fragments.mp4").Bytes
	at := boxesOf(whole) // ftyp, moov, (moof, mdat) three times, mfra
	if len(at) != 9 {
		t.Fatalf("boxes at %v", at)
	}
	w := workerOf(t, small())
	defer w.Close()
	for n := at[2] + 1; n < len(whole); n++ {
		_, err := decodeWith(w, Source{Bytes: whole[:n]}, Draw{})
		begun := slices.ContainsFunc(at, func(box int) bool { return box < n && n < box+8 })
		switch {
		case begun || n > at[8]: // no more than the beginning of a box's head; what is not missed
			if err != nil && causeOf(err) == "" {
				t.Errorf("cut at byte %d: %v", n, err)
			}
		case n == at[4] || n == at[6] || n == at[8]:
			if err != nil {
				t.Errorf("cut at byte %d, behind a fragment: %v", n, err)
			}
		case slices.Contains(at, n):
			if err != nil && causeOf(err) == "" {
				t.Errorf("cut at byte %d, between a moof and its mdat: %v", n, err)
			}
		case causeOf(err) != av.CauseTruncated:
			t.Fatalf("cut at byte %d: got %v", n, err)
		}
	}
}

// An AVI ends with its last chunk, as its header or the chunk says; one that was written into a pipe says neither.
func TestCutAVIsAreTruncated(t *testing.T) {
	whole := file(t, "rgb_bottom_up.avi").Bytes
	movi := bytes.Index(whole, []byte("movi")) - 8
	cutEverywhere(t, "an AVI", "chunk", whole[:bytes.Index(whole, []byte("idx1"))], movi+12)
	piped := bytes.Clone(whole)
	for _, unknown := range []uint32{0, 0xffffffff} {
		binary.LittleEndian.PutUint32(piped[4:], unknown)
		binary.LittleEndian.PutUint32(piped[movi+4:], unknown)
		if _, err := decode(t, small(), Source{Bytes: piped[:bytes.Index(piped, []byte("idx1"))]}, Draw{}); err != nil {
			t.Errorf("sizes of %x: %v", unknown, err)
		}
	}
}

// What somebody has put behind a file, or the index that is cut there, makes no cut of it.
func TestMoreBehindAVideoIsNoCut(t *testing.T) {
	for _, name := range []string{"rgb_bottom_up.avi", "fragments.mp4", "bframes.mp4"} {
		whole := file(t, name).Bytes
		for _, more := range []string{"\x00\x00\x00", strings.Repeat("\x00", 100), "and more", "TAG" + strings.Repeat("of somebody's", 20)} {
			if _, err := decode(t, small(), Source{Bytes: append(bytes.Clone(whole), more...)}, Draw{}); err != nil {
				t.Errorf("%s and %q: %v", name, more, err)
			}
		}
	}
	whole := file(t, "rgb_bottom_up.avi").Bytes
	if _, err := decode(t, small(), Source{Bytes: whole[:len(whole)-20]}, Draw{}); err != nil {
		t.Errorf("without half of its index: %v", err)
	}
}

// blocksOf are where the blocks of a GIF begin, its trailer the last.
func blocksOf(whole []byte) (at []int) {
	colours := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	for i := 13 + colours(whole[10]); ; {
		at = append(at, i)
		switch whole[i] {
		case 0x21:
			i += 2
		case 0x2c:
			i += 11 + colours(whole[i+9])
		default:
			return at
		}
		for whole[i] != 0 {
			i += 1 + int(whole[i])
		}
		i++
	}
}

// A GIF ends with a block, which may be its trailer, a YUV4MPEG2 with a whole frame.
func TestCutVideosWithoutSizesAreTruncated(t *testing.T) {
	gif := file(t, "palette.gif").Bytes
	blocks := blocksOf(gif)
	first := slices.IndexFunc(blocks, func(at int) bool { return gif[at] == 0x2c })
	cutEverywhere(t, "a GIF", "block", gif, blocks[first]+1, blocks[first+1:]...)

	const frame = 64 * 48 * 3 / 2
	whole := []byte("YUV4MPEG2 W64 H48 F25:1 C420jpeg\n")
	var between []int
	for i := range 4 {
		if i > 0 {
			between = append(between, len(whole))
		}
		whole = append(append(whole, "FRAME\n"...), bytes.Repeat([]byte{byte(20 * i)}, frame)...)
	}
	cutEverywhere(t, "a YUV4MPEG2", "frame", whole, between[0]+1, between[1:]...)
}
