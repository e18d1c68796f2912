//go:build !noffmpeg

package mux

import (
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// resident is memory that C's allocator and Go's hold, less what Go can give back.
func resident(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	fields := strings.Fields(string(must[[]byte](t)(os.ReadFile("/proc/self/statm"))))
	return must[int](t)(strconv.Atoi(fields[1])) * os.Getpagesize()
}

// A thousand files that are finished, given up or refused at each place leave neither memory nor descriptors nor names.
func TestThousandFilesLeaveNothing(t *testing.T) {
	runtime.LockOSThread() // C's allocator has an arena for each thread
	defer runtime.UnlockOSThread()
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
	descriptors := func() int { return len(must[[]os.DirEntry](t)(os.ReadDir("/proc/self/fd"))) }
	const rounds, files = 5, 200
	for i := range files {
		one(i)
	}
	open, least := descriptors(), math.MaxInt
	for range rounds {
		before := resident(t)
		for i := range files {
			one(i)
		}
		least = min(least, resident(t)-before)
	}
	if least > 256<<10 { // a leak grows in every round; allocators and huge pages, in some
		t.Errorf("%d bytes more are resident after every %d files", least, files)
	}
	if now := descriptors(); now > open {
		t.Errorf("%d descriptors, before %d", now, open)
	}
	isEmpty(t, dir)
}
