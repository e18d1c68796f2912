package spec

import (
	"strings"
	"testing"
)

// A key that people know from elsewhere is answered with what does it here, not with a key that looks like it.
func TestKeysFromElsewhereAreAnsweredWithWhatDoesItHere(t *testing.T) {
	const image = "image: {transform: [{resize: [8, 8]}]}"
	for text, want := range map[string]string{
		"source: {folder: x}\nimage: {transform: [{resize: [8, 8]}, {to_tensor: {}}]}": "image.transform[1].to_tensor: unknown key; leave it out: dtype: f32",
		"source: {folder: x}\nimage: {transform: [{ToTensor: {}}]}":                    "image.transform[0].ToTensor: unknown key; leave it out: dtype: f32",
		"source: {folder: x}\naudio: {rate: 16000, max_length: 1s}":                    "audio.max_length: unknown key; say length: 20s, the room of a row, and shape: padded",
		"source: {folder: x}\nfields: {a: {audio: {rate: 16000, padded: true}}}":       "fields.a.audio.padded: unknown key; say length: 20s",
		"source: {parquet: x.parquet}\n" + image:                                       "source.parquet: unknown key; say list: FILE, or shards: FILES",
		"source: {folder: x, masks: y}\n" + image:                                      "source.masks: unknown key; a mask is a field",
		"source: {folder: x}\n" + image + "\nmask: {transform: [{resize: [8, 8]}]}":    "mask: unknown key; a mask is a field",
		"folder: x\n" + image:          "folder: unknown key here; it belongs at source.folder",
		"list: x.csv\n" + image:        "list: unknown key here; it belongs at source.list",
		"sorce: {folder: x}\n" + image: `sorce: unknown key; did you mean "source"?`,
	} {
		_, err := Parse([]byte(text), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
