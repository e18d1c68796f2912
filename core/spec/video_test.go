package spec

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spdl/spdl/core/tensor"
)

const videos = "source: {folder: p}\nvideo: "

// Every key of the section arrives where it belongs.
func TestEveryKeyOfVideoArrives(t *testing.T) {
	got := parse(t, videos+`
  frames: 40
  select: {kind: clips_at_random_timestamps, num_clips: 2, num_frames_per_clip: 16, seconds_between_frames: 0.25, sampling_range_start: 1.5, sampling_range_end: 20, policy: wrap}
  window: {start: 500ms, duration: 20s}
  shape: padded
  over: cut
  mode: gray
  rotation: ignore
  filter: "fps=10,hue=s=0"
  hardware: auto
  transform: [{resize: [8, 9]}, {normalize: {mean: [0.5], std: [0.25]}}]
  dtype: bf16
  layout: NCTHW
  colour: accurate
  scaler: area
  stream: 2
  threads: 3
  seek: approximate
  max_pixels: 1000
  timeout: 5s
`)
	from, to := 1.5, 20.0
	want := &Video{
		Frame: Image{
			Mode: Gray, DType: tensor.BF16, Layout: NHWC, MaxPixels: 1000,
			Transform: Transform{Resize: &Resize{Extent: Extent{8, 9}, Interpolation: Bilinear}, Normalize: &Normalize{Mean: []float64{0.5}, Std: []float64{0.25}}},
		},
		Frames: 40, Select: Selection{Kind: ClipsAtRandomTimes, Clips: 2, ClipFrames: 16, Between: 1, BetweenSecs: 0.25, From: &from, To: &to, Policy: WrapClip},
		Window: Window{Start: 500 * time.Millisecond, Duration: 20 * time.Second}, Shape: Padded, Over: CutOff, Layout: NCTHW, Colour: Accurate, Scaler: Area,
		Stream: 3, Threads: 3, Approximate: true, Filter: "fps=10,hue=s=0", Hardware: Auto, Timeout: 5 * time.Second,
	}
	if !reflect.DeepEqual(got.Video, want) {
		t.Fatalf("got %+v\nwant %+v", got.Video, want)
	}
	if !slices.Contains(got.Source.Extensions, "mp4") || slices.Contains(got.Source.Extensions, "wav") {
		t.Fatalf("videos are looked for among %v", got.Source.Extensions)
	}
}

// A row has room for what is chosen, where that is known.
func TestRoomOfARowFollowsTheSelection(t *testing.T) {
	for choice, want := range map[string]int{
		"{kind: indices, indices: [0, 5, -1]}":                                   3,
		"{kind: times, times: [0.5, 1]}":                                         2,
		"{kind: clips_at_regular_indices, num_clips: 3, num_frames_per_clip: 8}": 24,
		"{kind: clips_at_random_timestamps, num_frames_per_clip: 8}":             8,
	} {
		if got := parse(t, videos+"{transform: [center_crop: 8], select: "+choice+"}").Video.Frames; got != want {
			t.Errorf("%s: room for %d, want %d", choice, got, want)
		}
	}
}

// What makes no sense is refused with its place, and what would.
func TestVideoThatCannotBeIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		"{frames: 2}":                         "video.transform: leaves the size of the picture open",
		"{transform: [center_crop: 8]}":       "video: frames is missing, want how many frames a row has room for",
		"{frames: 2, transform: [resize: 8]}": "video.transform: resize: 8 fixes the shorter side only",
		"{frames: 2, transform: [center_crop: 8, normalize: {mean: [1], std: [1]}]}":                                  "video.transform[1].normalize: got 1 values, want 3 for mode rgb",
		"{frames: 2, transform: [centre_crop: 8]}":                                                                    `video.transform[0].centre_crop: unknown key; did you mean "center_crop"?`,
		"{frames: 2, transform: [center_crop: 8], mode: luma}":                                                        `video.mode: got text "luma", want one of rgb, gray`,
		"{frames: 2, transform: [center_crop: 8], select: {}}":                                                        "video.select: kind is missing",
		"{frames: 2, transform: [center_crop: 8], select: {kind: every}}":                                             "video.select: step is missing with kind: every",
		"{transform: [center_crop: 8], select: {kind: indices, indices: []}}":                                         "video.select.indices: got an empty list, want one entry or more",
		"{transform: [center_crop: 8], select: {kind: times, times: []}}":                                             "video.select.times: got an empty list",
		"{frames: 2, transform: [center_crop: 8], select: {kind: uniform, step: 3}}":                                  "video.select.step: does not go with kind: uniform",
		"{frames: 2, transform: [center_crop: 8], select: {kind: indices, indices: [1, 2, 3]}}":                       "video.frames: got room for 2, want 3 as select gives",
		"{transform: [center_crop: 8], select: {kind: clips_at_regular_timestamps, seconds_between_clip_starts: 1}}":  "video: frames is missing",
		"{frames: 2, transform: [center_crop: 8], shape: ragged, layout: NCTHW}":                                      "video.shape: got ragged with layout NCTHW",
		"{frames: 2, transform: [center_crop: 8], scaler: area}":                                                      "video.scaler: got area without resize: [H, W]",
		"{frames: 2, transform: [center_crop: 8], seek: approximate, select: {kind: keyframes}}":                      "video.seek: got approximate with select: {kind: keyframes}",
		"{frames: 1000000, transform: [center_crop: 1000]}":                                                           "video.frames: got 1000000 frames of 3000000 bytes, want less than 2 GiB a row",
		"{frames: 2, transform: [random_resized_crop: 8]}\ncache: {rows_bytes: 1MiB}":                                 "cache.rows_bytes: rows are drawn by chance",
		"{frames: 2, transform: [center_crop: 8], select: {kind: segments, random: true}}\ncache: {rows_bytes: 1MiB}": "cache.rows_bytes: rows are drawn by chance",
		"{frames: 2, transform: [center_crop: 8]}\naudio: {rate: 8, length: 8}":                                       "audio: from is missing, want the ending of the files beside those of video",
		"{frames: 2, transform: [center_crop: 8], filter: ''}":                                                        `video.filter: got text "", want text that is not empty`,
		"{frames: 2, transform: [center_crop: 8], filter: 3}":                                                         "video.filter: got 3, want text; put it in quotes",
		"{frames: 2, transform: [center_crop: 8], filter: '" + strings.Repeat("x", 4097) + "'}":                       "video.filter: got 4097 bytes, want at most 4096",
		"{frames: 2, transform: [center_crop: 8], hardware: cude}":                                                    "video.hardware: got text \"cude\", want one of none, auto, cuda, vaapi, vdpau, qsv, drm; did you mean cuda?",
		"{frames: 2, transform: [center_crop: 8], seek: approximate}\ncache: {video_index_dir: x}":                    "cache.video_index_dir: goes with video and seek: exact",
	} {
		_, err := Parse([]byte(videos+body), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}

// The hash of a description of videos names what decides its bytes; threads and patience are not part of it.
func TestHashOfVideos(t *testing.T) {
	hash := func(body string) string {
		return string(parse(t, videos+"{frames: 2, transform: [center_crop: 8]"+body+"}").Canonical())
	}
	base := hash("")
	if hash(", threads: 4, timeout: 3s") != base || hash(", select: {kind: uniform}, hardware: none") != base {
		t.Fatal(base)
	}
	for _, body := range []string{", dtype: f32", ", select: {kind: all}", ", colour: accurate", ", rotation: ignore", ", over: cut", ", stream: 0", ", filter: hflip", ", hardware: auto"} {
		if hash(body) == base {
			t.Errorf("%s has the hash of another", body)
		}
	}
}
