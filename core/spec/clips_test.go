package spec

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	clipVideo = "source: {folder: p}\nvideo: {transform: [center_crop: 8], select: {kind: clips_at_random_indices, num_frames_per_clip: 4}}\n"
	clipSound = "rate: 8000, length: 800"
)

// The sound of a clip arrives with its video, and is of the same part unless it says another.
func TestSoundOfAClipGoesWithItsVideo(t *testing.T) {
	s := parse(t, clipVideo+"audio: {"+clipSound+", window: {of: video, start: -250ms, duration: 1s}}")
	if w := s.Audio.Window; w != (Window{Of: "video", Start: -250 * time.Millisecond, Duration: time.Second}) {
		t.Fatalf("got %+v", w)
	}
	for text, want := range map[string]string{
		clipVideo + "audio: {" + clipSound + ", window: {of: video}}":                                                                "[0 0] [-1 0] 1",
		clipVideo + "audio: {" + clipSound + ", from: mp4, window: {of: video}}":                                                     "[0 1] [-1 0] 2",
		clipVideo + "audio: {" + clipSound + ", from: wav}":                                                                          "[0 1] [-1 -1] 2",
		fields("talk: {audio: {rate: 8, length: 8, window: {of: clip}}}", "clip: "+clipOf4):                                          "[0 0] [1 -1] 1",
		fields("a: {audio: {from: wav, rate: 8, length: 8}}", "talk: {audio: {rate: 8, length: 8, window: {of: b}}}", "b: "+clipOf4): "[0 1 1] [-1 2 -1] 2",
		fields("a: "+clipOf4, "b: {draw: own, "+clipOf4[1:], "talk: {audio: {rate: 8, length: 8, window: {of: b}}}"):                 "[0 0 0] [-1 -1 1] 1",
	} {
		s := parse(t, text)
		if got := fmt.Sprint(s.PartOf(), s.ClipOf(), len(s.Parts(&s.Source))); got != want {
			t.Errorf("%s\ngot %s, want %s", text, got, want)
		}
	}
}

const clipOf4 = "{video: {frames: 4, transform: [center_crop: 8]}}"

// fields is a description of several fields of an archive.
func fields(all ...string) string {
	text := "source: {shards: a.tar}\nfields:\n"
	for _, f := range all {
		text += "  " + f + "\n"
	}
	return text
}

// What would not be the sound of a clip is refused with its place, and what would.
func TestSoundOfNoClipIsRefused(t *testing.T) {
	sound := func(rest string) string { return clipVideo + "audio: {" + clipSound + ", " + rest + "}" }
	video := func(body string) string {
		return "source: {folder: p}\nvideo: {transform: [center_crop: 8], " + body + "}\naudio: {" + clipSound + ", window: {of: video}}"
	}
	for text, want := range map[string]string{
		sound("window: {of: clip}"):  `audio.window.of: got "clip", want the name of a video of the same sample`,
		sound("window: {of: audio}"): `audio.window.of: got "audio", want the name of a video`,
		"source: {folder: p}\naudio: {" + clipSound + ", window: {of: video}}": `audio.window.of: got "video", want the name of a video`,
		sound("window: {of: video, start_column: at}"):                         "audio.window.start_column: given beside of, by which the clip says",
		sound("window: {of: video, end_column: at}"):                           "audio.window.end_column: given beside of",
		sound("window: {of: video, duration: -1s}"):                            "audio.window.duration: got -1s, want a time such as 2s, above 0",
		sound("window: {of: video}, filter: anull"):                            "audio.filter: given beside window.of: what comes out of filters is no longer in step",
		sound("window: {of: video}, speed: {factors: [0.9]}"):                  "audio.speed: given beside window.of: a sound at another speed",
		sound("window: {start: -1s}"):                                          "audio.window.start: got -1s, want a time such as 1.5s, from 0",
		strings.Replace(video("select: {kind: clips_at_regular_indices, num_clips: 3}"), "length: 800", "length: 800, shape: ragged", 1): `audio.shape: got ragged beside a video with several clips a row, want fixed`,
		video("frames: 4, over: cut, select: {kind: clips_at_regular_indices, num_clips: 3, num_frames_per_clip: 2}"):                    `audio.window.of: got "video", whose rows have room for 4 frames and 6 in its clips`,
		strings.Replace(video("select: {kind: clips_at_random_indices, num_clips: 2000}"), "length: 800", "length: 1000000", 1):          `audio.length: got 1000000 samples of 1 channels for each of 2000 clips`,
		video("frames: 9, select: {kind: clips_at_regular_timestamps, seconds_between_clip_starts: 1}"):                                  `audio.window.of: got "video", whose rows are any number of clips`,
		video("frames: 9, seek: approximate"):                     `audio.window.of: got "video" with seek: approximate, want exact`,
		clipVideo[:len(clipVideo)-2] + ", window: {of: video}}\n": `video.window.of: unknown key`,
	} {
		if _, err := Parse([]byte(text+"\nbatch: 2\n"), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
}

// Whatever the window of a clip's sound says makes other rows.
func TestHashFollowsTheClipsSound(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, window := range []string{"{start: 1s}", "{of: video}", "{of: video, start: 1s}", "{of: video, start: -1s}", "{of: video, duration: 1s}"} {
		h := parse(t, clipVideo+"audio: {"+clipSound+", from: mp4, window: "+window+"}").RowHash()
		if other, twice := seen[h]; twice {
			t.Errorf("the same hash of %s and %s", other, window)
		}
		seen[h] = window
	}
}
