//go:build !noffmpeg

package coded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/load"
	"github.com/spdl/spdl/core/media/av"
)

func inGo(n int) ([]byte, error) { return make([]byte, n), nil }

// Packets that went through bytes say and decode to what they did, in every container, whole or of a window.
func TestPacketsSurviveAsBytes(t *testing.T) {
	for name, c := range map[string]struct{ video, audio string }{
		"a.mp4": {`"codec": "libx264", "options": {"g": "12", "bf": "3"}`, `"codec": "aac"`}, "a.mkv": {`"codec": "mpeg4"`, `"codec": "libopus"`},
		"a.webm": {`"codec": "vp8"`, `"codec": "libvorbis"`}, "a.mp3": {"", `"codec": "libmp3lame"`}, "a.flac": {"", `"codec": "flac"`}, "a.avi": {`"codec": "mjpeg"`, `"codec": "pcm_s16le"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			file(t, path, c.video, c.audio, 48000)
			for _, kind := range []string{"video", "audio"} {
				if kind == "video" && c.video == "" {
					continue
				}
				section := fmt.Sprintf(`{"%s": {}}`, kind)
				for _, piece := range []string{`{}`, `{"window": {"start": "1.5s", "duration": "500ms"}}`, `{"window": {"start": "3s"}}`} {
					p := demuxed(t, path, fmt.Sprintf(`{"%s": %s}`, kind, piece))
					b := must[[]byte](t)(p.Bytes(inGo))
					q := must[*av.Packets](t)(av.PacketsOf(b))
					t.Cleanup(q.Close)
					if again := must[[]byte](t)(q.Bytes(inGo)); !bytes.Equal(again, b) {
						t.Errorf("%s %s: other bytes of what the bytes gave", kind, piece)
					}
					if p.Codec() != q.Codec() || !reflect.DeepEqual(p.Window, q.Window) || p.Len() != q.Len() {
						t.Errorf("%s %s: %+v in %v, want %+v in %v", kind, piece, q.Codec(), q.Window, p.Codec(), p.Window)
					}
					want := must[*load.Media](t)(load.Load([]byte(section), load.Source{Packets: p}, nil))
					clear(b) // nothing of it is kept
					got := must[*load.Media](t)(load.Load([]byte(section), load.Source{Packets: q}, nil))
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s %s decodes to something else", kind, piece)
					}
				}
			}
		})
	}
}

// What cannot be packets is refused by name, wherever the bytes were changed, and nothing that it says is believed.
func TestBytesThatAreNoPacketsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.mp4")
	file(t, path, `"codec": "mpeg4"`, "", 0)
	p := demuxed(t, path, `{"video": {"window": {"start": "1s", "duration": "100ms"}}}`)
	good := must[[]byte](t)(p.Bytes(inGo))
	with := func(at int, v any) []byte {
		b := bytes.Clone(good)
		if _, err := binary.Encode(b[at:], binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		return b
	}
	number := binary.LittleEndian.Uint32
	behind := 260 + number(good[240:]) + number(good[244:]) // the name and the extradata: the stream's side data
	extradata := []byte{1, 0, 0, 0, 1, 0, 0, 0, 7}          // its type and its size
	for what, c := range map[string]struct {
		b           []byte
		cause, want string
	}{
		"nothing":          {nil, av.CauseNotMedia, `want "SPDLPKT1"`},
		"another file":     {[]byte("\x00\x00\x00\x20ftypisom....."), av.CauseNotMedia, "want bytes that packets were made into"},
		"a head cut":       {good[:100], av.CauseTruncated, "got 100 bytes, want more"},
		"packets cut":      {good[:len(good)-1], av.CauseTruncated, "want more"},
		"more behind":      {append(bytes.Clone(good), 0), av.CauseCorrupt, "1 bytes behind the last packet"},
		"another FFmpeg":   {with(8, uint32(1)), av.CauseUnsupported, "made with libavcodec 1 and"},
		"a window of NaN":  {with(24, []uint64{1<<63 - 1}), av.CauseCorrupt, "a window from NaN"},
		"a window of none": {with(20, uint32(0)), av.CauseCorrupt, "s of packets that are said to have none"},
		"one kind twice":   {slices.Concat(with(248, number(good[248:])+2)[:behind], extradata, extradata, good[behind:]), av.CauseCorrupt, "side data of type 1 twice"},
		"no such ticks":    {with(60, int32(0)), av.CauseCorrupt, "ticks of 0/"},
		"kind":             {with(120, int32(3)), av.CauseCorrupt, "of kind 3, want one of a video or a sound"},
		"codec":            {with(124, int32(1<<30)), av.CauseCorrupt, "codec 1073741824"},
		"codec's kind":     {with(124, int32(0x15000)), av.CauseCorrupt, "codec 86016 of kind 0"},
		"pointers":         {with(124, int32(0x21001)), av.CauseUnsupported, "wrapped_avframe, whose packets hold for one process alone"},
		"pixels":           {with(132, int32(99999)), av.CauseCorrupt, "format 99999"},
		"size":             {with(160, int32(1<<30)), av.CauseCorrupt, "a picture of 1073741824x48"},
		"channels":         {with(228, int32(-1)), av.CauseCorrupt, "-1 channels"},
		"channels and who": {with(232, uint64(7)), av.CauseCorrupt, "0 channels of 0x7"},
		"extradata":        {with(244, uint32(1<<31)), av.CauseCorrupt, "bytes of extradata"},
		"more packets":     {with(252, uint64(1<<62)), av.CauseTruncated, "want more"},
		"fewer packets":    {with(252, uint64(1)), av.CauseCorrupt, "behind the last packet"},
		"container":        {with(260, uint8('x')), av.CauseUnsupported, "container \"xov,mp4"},
	} {
		q, err := av.PacketsOf(c.b)
		var e *av.Error
		if !errors.As(err, &e) || e.Cause() != c.cause || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v %v, want cause %s and %q", what, q, err, c.cause, c.want)
		}
	}
	for n := range good {
		if q, err := av.PacketsOf(good[:n]); err == nil {
			q.Close()
			t.Fatalf("%d of %d bytes were taken", n, len(good))
		}
	}
	refused := errors.New("no memory")
	if _, err := p.Bytes(func(int) ([]byte, error) { return nil, refused }); err != refused {
		t.Error(err)
	}
}
