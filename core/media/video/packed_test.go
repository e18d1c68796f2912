//go:build !noffmpeg

package video

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// chunksOfVideo is the packets of an AVI of one stream, one behind the other: MPEG-4 without a container.
func chunksOfVideo(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for at := bytes.Index(b, []byte("movi")) + 4; at+8 <= len(b) && string(b[at:at+4]) == "00dc"; {
		n := int(binary.LittleEndian.Uint32(b[at+4:]))
		all = append(all, b[at+8:at+8+n]...)
		at += 8 + n + n%2
	}
	return all
}

// scanned is how many frames the bytes have.
func scanned(t *testing.T, b []byte) int {
	t.Helper()
	index, _, err := Scan(Source{Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	return index.Len()
}

// Packed B-frames whose packets the container's parser has taken apart leave empty pictures behind, which are no frames: what is left has the
// pixels of the AVI. PyAV gives 20 frames of the one (frames.json) and 39 of Xvid's: the AVI itself ends before its last one is unpacked.
func TestEmptyPicturesOfPackedFramesAreNoFrames(t *testing.T) {
	want := mustDecode(t, asStored(golden(t)["no_times_packed.avi"], 20, Selection{Kind: All}), Source{Path: "testdata/no_times_packed.avi"}, Draw{})
	asf, err := os.ReadFile("testdata/no_times_packed.asf")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ASF": asf, "no container": chunksOfVideo(t, "testdata/no_times_packed.avi")} {
		if n := scanned(t, b); n != 20 {
			t.Errorf("%s: %d frames, want 20", name, n)
			continue
		}
		got := mustDecode(t, asStored(golden(t)["no_times_packed.avi"], 20, Selection{Kind: All}), Source{Bytes: b}, Draw{})
		if !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: other pixels than the AVI's", name)
		}
	}
	if n := scanned(t, chunksOfVideo(t, "testdata/no_times_xvid.avi")); n != 39 {
		t.Errorf("Xvid's: %d frames, want 39", n)
	}
}

// Where no header says that B-frames are packed an empty picture is one that the encoder dropped, and counts.
func TestEmptyPicturesOfOtherStreamsAreFrames(t *testing.T) {
	b := chunksOfVideo(t, "testdata/no_times_packed.avi")
	for _, said := range []string{"DivX503b1393x", "DivY503b1393p", "DivX503c1393p", "DivXb1393p\x00\x00\x00", "DivX503bp\x00\x00\x00\x00"} {
		if n := scanned(t, bytes.ReplaceAll(b, []byte("DivX503b1393p"), []byte(said))); n != 29 {
			t.Errorf("%q: %d frames, want 29", said, n)
		}
	}
}
