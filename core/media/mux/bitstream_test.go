//go:build !noffmpeg

package mux

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/media/av"
)

// allPackets is all packets of a file's video.
func allPackets(t *testing.T, path string) *av.Packets {
	t.Helper()
	in := must[*Input](t)(OpenInput(Source{Path: path}, KindVideo))
	defer in.Close()
	p := must[*av.Packets](t)(in.Take(0, 0))
	t.Cleanup(p.Close)
	return p
}

// filtered is what comes out for pieces of n packets and at the end, and how many pieces gave nothing.
func filtered(t *testing.T, p *av.Packets, filters string, n int) (out []av.Packet, held int) {
	t.Helper()
	f := must[*BitstreamFilter](t)(OpenFilter(p, filters))
	defer f.Close()
	take := func(made *av.Packets, err error) {
		t.Helper()
		ok(t, err)
		t.Cleanup(made.Close)
		for i := range made.Len() {
			out = append(out, made.At(i))
		}
		if made.Len() == 0 {
			held++
		}
	}
	for at := 0; at < p.Len(); at += n {
		piece := must[*av.Packets](t)(p.Slice(at, min(at+n, p.Len())))
		if at+n >= p.Len() && n > 1 { // the last ones may say so, or Flush may
			take(f.Last(piece))
		} else {
			take(f.Filter(piece))
		}
		piece.Close()
	}
	if n == 1 {
		take(f.Flush())
	}
	return out, held
}

// A filter that is kept open gives for pieces what it gives for the whole, wherever these are cut, and keeps what it holds back.
func TestPiecesThroughOneFilterAreTheWholeThroughIt(t *testing.T) {
	h264, av1 := filepath.Join(t.TempDir(), "a.mp4"), filepath.Join(t.TempDir(), "a.mkv")
	both(t, h264)
	writeVideo(t, av1, Config{}, Video{Codec: "libaom-av1", Width: 64, Height: 48, Rate: Rational{25, 1}, Options: map[string]string{"cpu-used": "8"}}, pictures(12, 64, 48, 3))
	split := must[*av.Packets](t)(Filter(allPackets(t, av1), "av1_metadata=td=insert,av1_frame_split"))
	defer split.Close()
	for _, c := range []struct {
		p       *av.Packets
		filters string
		holds   bool
	}{{allPackets(t, h264), "h264_mp4toannexb", false}, {split, "av1_frame_merge", true}, {allPackets(t, h264), "h264_mp4toannexb,noise=amount=3", false}} {
		all := must[*av.Packets](t)(Filter(c.p, c.filters))
		defer all.Close()
		for _, n := range []int{1, 7, 1000} {
			got, held := filtered(t, c.p, c.filters, n)
			if len(got) != all.Len() {
				t.Fatalf("%s in %d: %d packets, want %d", c.filters, n, len(got), all.Len())
			}
			for i := range got {
				if want := all.At(i); !bytes.Equal(got[i].Bytes, want.Bytes) || got[i].PTS != want.PTS || got[i].Key != want.Key {
					t.Fatalf("%s in %d: packet %d differs", c.filters, n, i)
				}
			}
			if n == 1 && c.holds != (held > 1) { // of h264 nothing is left at the end
				t.Errorf("%s: %d of %d pieces gave nothing", c.filters, held, c.p.Len())
			}
		}
	}
}

// What cannot be filtered is refused by name: other packets, after the end, after Close, unknown filters.
func TestABitstreamFilterRefusesWhatItCannotTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	both(t, path)
	p := allPackets(t, path)
	in := must[*Input](t)(OpenInput(Source{Path: path}, KindAudio))
	defer in.Close()
	sound := must[*av.Packets](t)(in.Take(3, 0))
	defer sound.Close()
	f := must[*BitstreamFilter](t)(OpenFilter(p, "h264_mp4toannexb"))
	refused := func(cause, want string, made *av.Packets, err error) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Cause() != cause || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v %v, want cause %s and %q", made, err, cause, want)
		}
	}
	made, err := f.Filter(sound)
	refused(CauseInvalid, "packets of aac in ticks of 1/16000 s, want h264", made, err)
	must[*av.Packets](t)(f.Flush()).Close()
	made, err = f.Filter(p)
	refused(CauseInvalid, "was flushed; open another", made, err)
	f.Close()
	made, err = f.Flush()
	refused(CauseClosed, "it is closed", made, err)
	for filters, want := range map[string][2]string{
		"h264_mp5": {CauseUnsupported, "h264_mp5"}, "vp9_superframe": {CauseUnsupported, "vp9_superframe"},
		"": {CauseInvalid, "want one or more, such as h264_mp4toannexb"}, " ": {CauseInvalid, "want one or more"},
	} {
		if _, err := OpenFilter(p, filters); err != nil {
			refused(want[0], want[1], nil, err)
		} else {
			t.Errorf("%q was opened", filters)
		}
	}
}
