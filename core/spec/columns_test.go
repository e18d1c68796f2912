package spec

import (
	"strings"
	"testing"
)

// A description with columns and no medium is whole: its samples are the columns. Another medium, where one is named, is beside them.
func TestColumnsAloneAreADescription(t *testing.T) {
	for text, media := range map[string]int{
		"source: {folder: p, extensions: [npy], columns: [{name: a, from: npy, type: npy}]}":                                                                   0,
		"source: {folder: p, columns: [npy]}":                                                                                                                  0,
		"source: {folder: 's3://b/p', columns: [{name: a, from: 'npz[a]', type: npy}, {name: b, from: 'npz[b]', type: npy}]}":                                  0,
		"source: {folder: 's3://b/p', columns: [npy, txt]}":                                                                                                    0,
		"source: {folder: 's3://b/p', columns: [{name: txt, default: ''}]}\nimage: {transform: [{center_crop: 8}]}\naudio: {from: wav, rate: 8000, length: 8}": 2,
		"source: {shards: a.tar, columns: [json]}\ndevice: {}":                                                                                                 0,
		"source: {shards: a.parquet, label: l, columns: [{name: x, type: f64}]}":                                                                               0,
		"source: {list: a.csv, columns: [{name: x, type: i64}]}\norder: {filter: x > 1}":                                                                       0,
		"source: {mix: [{shards: a.tar}, {folder: p}], columns: [txt]}":                                                                                        0,
		"source: {shards: a.tar, columns: [json]}\ncache: {rows_bytes: 1MiB}":                                                                                  0,
		"source: {host: {samples: 1}, columns: [{name: x, type: npy, dtype: f32, shape: [2]}]}":                                                                0,
		"source: {shards: a.tar, columns: [json]}\nimage: {transform: [{center_crop: 8}]}":                                                                     1,
		"source: {shards: a.tar, columns: [json]}\naudio: {rate: 8000, length: 8}":                                                                             1,
	} {
		s := parse(t, text)
		if n := len(s.Media()); n != media || (s.Image != nil) != (strings.Contains(text, "image")) {
			t.Errorf("%s: %d media, want %d", text, n, media)
		}
		if hash := s.Hash(); s.Validate() != nil || s.Hash() != hash {
			t.Errorf("%s: is another one when it is validated again", text)
		}
	}
	rings := parse(t, "source: {shards: a.tar, columns: [json]}\nrings: {a: {}, b: {image: {transform: [{center_crop: 8}]}}, c: {source: {folder: p}, audio: {rate: 8000, length: 8}}}")
	for i, media := range []int{0, 1, 1} {
		if n := len(rings.Rings[i].Media()); n != media {
			t.Errorf("ring %d: %d media, want %d", i, n, media)
		}
	}
}

// What is about a medium is refused where there is none, and so are places that have no columns.
func TestColumnsAloneRefuseWhatIsOfMedia(t *testing.T) {
	for text, want := range map[string]string{
		"source: {shards: a.tar, image: jpg, columns: [json]}":                        "x.yaml:1:32: source.image: names the part that is a picture, and there is no image",
		"source: {list: a.csv, path: p, columns: [x]}":                                "x.yaml:1:29: source.path: names the column of the samples' files, and they have none",
		"source: {mix: [{list: a.csv, path: p}], columns: [x]}":                       "source.mix[0].path: names the column",
		"source: {list: a.tsv, columns: [x]}":                                         "x.yaml:1:16: source.list: is a list of paths, which has no columns; want a table",
		"source: {host: {samples: 1}, columns: [x, y]}":                               "source.columns: got several files a sample, but your program brings one",
		"source: {host: {samples: 1}, columns: [{name: x, type: npy}]}":               "source.columns[0]: dtype and shape are missing, want both",
		"source: {shards: a.tar, columns: []}":                                        "says nothing of what its samples are",
		"source: {shards: a.tar, columns: [json]}\nimage: {}":                         "image.transform: leaves the size of the picture open",
		"source: {shards: a.tar, columns: [json]}\ndevice: {finish: {}}":              "device.finish: given for samples that are no pictures",
		"source: {shards: a.tar, columns: [json]}\ndevice: {decode: nvjpeg}":          "device.decode: got nvjpeg for samples that are not one picture",
		"source: {shards: a.tar, columns: [json]}\ncache: {video_index_dir: v}":       "cache.video_index_dir: goes with video",
		"source: {list: a.csv, columns: [{name: x, default: y}]}":                     "source.columns: got a default with a table",
		"source: {folder: p, columns: [x]}\nrings: {a: {source: {folder: q}}, b: {}}": "says nothing of what its samples are",
	} {
		if _, err := Parse([]byte(text), "x.yaml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
}
