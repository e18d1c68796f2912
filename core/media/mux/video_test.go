//go:build !noffmpeg

package mux

import (
	"bytes"
	"io"
	"math"
	"path/filepath"
	"testing"

	"github.com/spdl/spdl/core/media/video"
)

func psnr(t *testing.T, a, b []byte) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d bytes came back, want %d", len(b), len(a))
	}
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(a))/max(sum, 1e-9))
}

// What a lossless codec stores comes back bit for bit, whatever the container; sizes may be odd.
func TestLosslessVideoComesBackBitForBit(t *testing.T) {
	for _, c := range []struct {
		file string
		v    Video
	}{
		{"a.mkv", Video{Codec: "ffv1"}},
		{"a.nut", Video{Codec: "rawvideo", PixelFormat: "rgb24"}},
		{"a.avi", Video{Codec: "png"}},
		{"b.avi", Video{Codec: "rawvideo"}}, // which has it as bgr24
		{"b.mov", Video{Codec: "rawvideo"}},
		{"a.mov", Video{Codec: "qtrle"}},
		{"a.mp4", Video{Codec: "libx264rgb", Options: map[string]string{"qp": "0"}}},
	} {
		t.Run(c.file, func(t *testing.T) {
			c.v.Width, c.v.Height, c.v.Rate = 63, 47, Rational{30000, 1001}
			frames := pictures(7, 63, 47, 3)
			path := filepath.Join(t.TempDir(), c.file)
			writeVideo(t, path, Config{}, c.v, frames)
			got, times := readVideo(t, path, video.Torchcodec)
			if !bytes.Equal(got, frames) {
				t.Fatalf("frames differ: PSNR %.1f", psnr(t, frames, got))
			}
			for i, s := range times {
				if math.Abs(s-float64(i)*1001/30000) > 0.001 { // Matroska counts milliseconds
					t.Errorf("frame %d at %g s", i, s)
				}
			}
		})
	}
}

// A lossy codec's pictures are near; each bound is some dB under what was measured.
func TestLossyVideoComesBackNear(t *testing.T) {
	for _, c := range []struct {
		file  string
		v     Video
		bound float64
	}{
		{"a.mp4", Video{Codec: "libx264", Options: map[string]string{"crf": "12"}}, 42},
		{"b.mp4", Video{Codec: "libx264", PixelFormat: "yuv444p", Options: map[string]string{"crf": "12"}}, 42},
		{"a.avi", Video{Codec: "mpeg4", Quality: 2}, 42},
		{"a.mkv", Video{Codec: "mjpeg"}, 42},
		{"a.webm", Video{Codec: "vp8", BitRate: 2e6}, 42},
		{"a.ts", Video{Codec: "libx264", Options: map[string]string{"crf": "12"}}, 42},
		{"b.ts", Video{Codec: "mpeg2video", Quality: 2}, 40},
		{"a.mpg", Video{Codec: "mpeg1video", Quality: 2}, 40},
		{"c.mp4", Video{Codec: "h264", BitRate: 2e6, Threads: 2}, 42},
	} {
		t.Run(c.file, func(t *testing.T) {
			c.v.Width, c.v.Height, c.v.Rate = 128, 96, Rational{25, 1}
			frames := pictures(12, 128, 96, 3)
			path := filepath.Join(t.TempDir(), c.file)
			writeVideo(t, path, Config{}, c.v, frames)
			got, _ := readVideo(t, path, video.Accurate)
			if p := psnr(t, frames, got); p < c.bound {
				t.Errorf("PSNR %.1f dB, want at least %g", p, c.bound)
			} else {
				t.Logf("PSNR %.1f dB", p)
			}
		})
	}
}

// Frames keep the times they were given, however uneven those are.
func TestUnevenTimesComeBack(t *testing.T) {
	want := []float64{0, 0.04, 0.05, 0.5, 0.75, 2, 2.001, 7.25}
	for _, file := range []string{"a.mp4", "a.mkv", "a.mov"} {
		path := filepath.Join(t.TempDir(), file)
		m := must[*Muxer](t)(Create(path, Config{}))
		track := must[*VideoTrack](t)(m.AddVideo(Video{Codec: "libx264", Width: 64, Height: 48}))
		frames := pictures(len(want), 64, 48, 3)
		ok(t, track.WriteAt(frames[:3*64*48*3], want[:3]))
		ok(t, track.WriteAt(frames[3*64*48*3:], want[3:]))
		ok(t, m.Close())
		_, got := readVideo(t, path, video.Torchcodec)
		if len(got) != len(want) {
			t.Fatalf("%s: %d frames, want %d", file, len(got), len(want))
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 0.0006 {
				t.Errorf("%s: frame %d at %g s, want %g", file, i, got[i], want[i])
			}
		}
	}
}

// Grey pictures, and planes of YUV in the stored format, go in as they are.
func TestOtherInputsAreStored(t *testing.T) {
	dir := t.TempDir()
	grey := pictures(3, 33, 21, 1)
	writeVideo(t, dir+"/grey.mkv", Config{}, Video{Codec: "ffv1", Width: 33, Height: 21, Rate: Rational{10, 1}, Input: "gray"}, grey)
	got, _ := readVideo(t, dir+"/grey.mkv", video.Torchcodec)
	for i, v := range grey {
		if got[3*i] != v || got[3*i+1] != v || got[3*i+2] != v {
			t.Fatalf("pixel %d is %v, want %d", i, got[3*i:3*i+3], v)
		}
	}
	planes := pictures(1, 32, 24+12, 1) // Y, then U and V
	m := must[*Muxer](t)(New(io.Discard, Config{Format: "rawvideo"}))
	m.Abort()
	var out bytes.Buffer
	m = must[*Muxer](t)(New(&out, Config{Format: "rawvideo"}))
	track := must[*VideoTrack](t)(m.AddVideo(Video{Width: 32, Height: 24, Rate: Rational{10, 1}, Input: "yuv420p", PixelFormat: "yuv420p"}))
	ok(t, track.Write(planes))
	ok(t, m.Close())
	if !bytes.Equal(out.Bytes(), planes) {
		t.Errorf("%d bytes of raw video, other than the %d written", out.Len(), len(planes))
	}
}
