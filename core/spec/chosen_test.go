package spec

import (
	"strings"
	"testing"
)

// chosenBy is a description of videos whose frames the columns name.
func chosenBy(columns, choice string) string {
	return "source: {shards: a.tar, columns: [" + columns + "]}\nbatch: 2\nvideo: {transform: [center_crop: 8], select: " + choice + "}\n"
}

// A row has room for what a column names at most, and the choice arrives.
func TestColumnsNameFrames(t *testing.T) {
	for _, c := range []struct {
		columns, choice string
		room            int
	}{
		{"{name: at, type: f64}", "{kind: times, column: at}", 1},
		{"{name: at, type: i64}", "{kind: times, column: at, times: [-0.5, 0, 0.25], nearest: true}", 3},
		{"{name: at, type: i64}", "{kind: indices, column: at, indices: [-4, 0], policy: repeat_last}", 2},
		{"{name: at, type: list, dtype: f32, shape: [6]}", "{kind: times, column: at}", 6},
		{"{name: at, type: list, dtype: i64, max_length: 9}", "{kind: indices, column: at}", 9},
		{"{name: at, type: npy, dtype: f16, shape: [-1], max_length: 7}", "{kind: times, column: at, policy: error}", 7},
	} {
		s, err := Parse([]byte(chosenBy(c.columns, c.choice)), "")
		if err != nil {
			t.Fatal(c.choice, err)
		}
		if v := s.Video; v.Frames != c.room || v.Select.Column != "at" || v.Select.Clamp != strings.Contains(c.choice, "repeat_last") {
			t.Errorf("%s: room for %d, want %d; %+v", c.choice, v.Frames, c.room, v.Select)
		}
	}
}

// What names no frames is refused with its place, and what would.
func TestColumnsThatNameNoFramesAreRefused(t *testing.T) {
	const number, list = "{name: at, type: f64}", "{name: at, type: list, dtype: f32, max_length: 4}"
	for text, want := range map[string]string{
		chosenBy(number, "{kind: times, column: to}"):                                                              `video.select.column: got "to", want the name of one of source.columns of type f64, i64, list or npy`,
		chosenBy("at", "{kind: times, column: at}"):                                                                `video.select.column: got "at", want the name of one of source.columns of type f64`,
		chosenBy(number, "{kind: indices, column: at}"):                                                            `video.select.column: got "at", whose numbers are no whole ones, want type i64`,
		chosenBy(list, "{kind: indices, column: at}"):                                                              `video.select.column: got "at", whose numbers are no whole ones`,
		chosenBy(list, "{kind: times, column: at, times: [0]}"):                                                    `video.select.times: given with "at", whose lists say all frames`,
		chosenBy("{name: at, type: npy}", "{kind: times, column: at}"):                                             `video.select.column: got "at" of type npy without dtype`,
		chosenBy("{name: at, type: list, dtype: f32, shape: [2, 2]}", "{kind: times, column: at}"):                 `video.select.column: got "at" of shape 2x2, want one dimension`,
		chosenBy("{name: at, type: list, dtype: f32, shape: [-1, 2], max_length: 3}", "{kind: times, column: at}"): `video.select.column: got "at" of shape`,
		chosenBy(number, "{kind: times, column: at, times: []}"):                                                   "video.select.times: got an empty list, want one entry or more",
		chosenBy(number, "{kind: times, column: at, indices: [1]}"):                                                "video.select.indices: does not go with kind: times",
		chosenBy(number, "{kind: every, step: 2, column: at}"):                                                     "video.select.column: does not go with kind: every",
		chosenBy(number, "{kind: times, times: [1], policy: wrap}"):                                                "video.select.policy: got wrap with kind: times, want repeat_last or error",
		chosenBy(number, "{kind: times}"):                                                                          "video.select: times is missing with kind: times",
		chosenBy(list, "{kind: times, column: at}, frames: 3") + "cache: {rows_bytes: 1MiB, rows_dir: d}\n":        "cache.rows_dir: given beside video.select.column, by which no row in a file is checked",
		chosenBy(number, "{kind: times, column: at, times: [0, 1]}, frames: 1"):                                    "",
	} {
		_, err := Parse([]byte(text), "x.yaml")
		if want == "" {
			if err != nil { // over says what becomes of more
				t.Errorf("%s\n%v", text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:") {
			t.Errorf("%s\ngot %v, want %q", text, err, want)
		}
	}
	if _, err := ParseSample([]byte(`{"video": {"select": {"kind": "times", "column": "at"}}}`)); err == nil || !strings.Contains(err.Error(), "video.select.column: is of a ring's samples, which have columns") {
		t.Error(err)
	}
}

// What is said of a column makes other rows; what says what is so anyway does not.
func TestHashFollowsColumnsThatNameFrames(t *testing.T) {
	hash := func(choice string) [32]byte {
		s, err := Parse([]byte(chosenBy("{name: at, type: i64}, {name: to, type: i64}", choice)), "")
		if err != nil {
			t.Fatal(choice, err)
		}
		return s.RowHash()
	}
	seen := map[[32]byte]string{}
	for _, choice := range []string{"{kind: times, times: [1]}", "{kind: times, column: at}", "{kind: times, column: to}", "{kind: indices, column: at}",
		"{kind: times, column: at, times: [1]}", "{kind: times, column: at, policy: repeat_last}", "{kind: times, times: [1], policy: repeat_last}"} {
		h := hash(choice)
		if other, twice := seen[h]; twice {
			t.Errorf("the same hash of %s and %s", other, choice)
		}
		seen[h] = choice
	}
	if hash("{kind: times, column: at, policy: error}") != hash("{kind: times, column: at}") {
		t.Error("what is so anyway makes another hash")
	}
}
