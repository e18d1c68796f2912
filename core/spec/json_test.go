package spec

import (
	"strings"
	"testing"
)

// JSON is read as JSON where YAML would read it otherwise, or not at all.
func TestJSONIsReadAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		`"/a/\ud83d\ude00"`: "/a/\U0001f600", // as Python's json.dumps writes it
		`"\/a\/b\u00e9"`:    "/a/b\u00e9",
		"\"/a/\u007f\"":     "/a/\u007f",
		`"/a/\ufffd"`:       "/a/\ufffd",
	} {
		s, err := Parse([]byte(`{"source":	{"folder":`+text+`},"image":{"transform":[{"resize":[8,8]}]}}`), "")
		if err != nil || s.Source.Folder != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`{"source": {"folder": "/a/\ud83d"}}`:                  "invalid Unicode",
		"{\n  \"source\":\n {\"folder\": 3}}":                  "spec:3:13: source.folder: got 3, want text; put it in quotes",
		`{"source": {"folder": "x"}, "source": {}}`:            "spec:1:29: source: given twice",
		"{\"source\": {\"folder\": \"/a\"}}\n{\"source\": {}}": "got more after the description, want one JSON object",
		`{source: {folder: 3}}`:                                "spec:1:19: source.folder: got 3",
		`{"source": null}`:                                     "spec:1:12: source: names no samples",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
