//go:build !noffmpeg

package mux

import (
	"errors"
	"os"
	"testing"

	"github.com/spdl/spdl/tests/leak"
)

// A thousand files that are finished, given up or refused at each place leave neither memory nor descriptors nor names.
func TestThousandFilesLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	both(t, dir+"/a.mp4")
	whole := must[[]byte](t)(os.ReadFile(dir + "/a.mp4"))
	ok(t, os.Remove(dir+"/a.mp4"))
	frames, samples := pictures(30, 64, 48, 3), tone(4000, 2)
	one := func(i int) {
		m := must[*Muxer](t)(Create(dir+"/b.mkv", Config{}))
		defer m.Abort()
		v := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "mpeg4", Width: 64, Height: 48, Rate: Rational{25, 1}}))
		a := must[*AudioTrack](t)(m.AddAudio(Audio{Codec: "flac", Rate: 16000, Channels: 2}))
		in := must[*Input](t)(OpenInput(Source{Bytes: whole}, KindVideo))
		defer in.Close()
		c := must[*CopyTrack](t)(m.AddCopy(in, Copy{Filters: "h264_mp4toannexb"}))
		if _, err := m.AddVideo(Video{Codec: "libx264", Width: 63, Height: 48}); err == nil {
			t.Fatal("an odd size was taken")
		}
		if i%4 == 0 {
			return // before the header
		}
		ok(t, v.Write(frames[:(i%30)*64*48*3]))
		ok(t, a.Write(samples))
		ok(t, c.Write(must[Packet](t)(in.Next())))
		switch i % 4 {
		case 1:
			ok(t, m.Close())
			ok(t, os.Remove(dir+"/b.mkv"))
		case 2:
			if err := v.WriteAt(frames[:64*48*3], []float64{-1}); i%30 > 0 && (err == nil || m.Close() != err) {
				t.Fatal(errors.New("a time before the last was taken"))
			}
		}
	}
	ok(t, leak.After(200, 256<<10, one))
	isEmpty(t, dir)
}
