package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spdl/spdl/core/tensor"
)

// Whole arrays are a source whose columns they are; paths are relative to the document.
func TestArraysAreColumns(t *testing.T) {
	s, err := Parse([]byte("source:\n  arrays:\n    - {name: x, file: x.npy}\n    - {name: t, file: ['t{0..3}.bin', /abs.bin], dtype: u16, shape: [2], window: 8, step: 4}\n  label: x\nbatch: 4\n"), "/data/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := s.Source.Arrays
	if got := fmt.Sprint(a[0].Name, a[0].Files, a[1].Files, a[1].DType == tensor.U16, a[1].Shape, a[1].Window, a[1].Step, s.Image == nil, len(s.Media()), s.Name); got != "x[/data/x.npy] [/data/t{0..3}.bin /abs.bin] true 2 8 4 true 0spec" {
		t.Errorf("got %s", got)
	}
	if c := s.Source.Columns; len(c) != 2 || c[0].Name != "x" || c[1].Name != "t" || c[1].Type != TypeNPY {
		t.Errorf("columns %+v", c)
	}
}

// An array of HDF5 files is one of their datasets, or several, whose paths are not of the file system.
func TestDatasetsOfHDF5AreNamed(t *testing.T) {
	s, err := Parse([]byte("source: {arrays: [{name: x, file: 'demo*.h5', dataset: '/data/demo_{0..9}/actions'}, {name: y, file: [a.h5, b.h5], dataset: [y, ../z]}]}\n"), "/data/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a := s.Source.Arrays
	if got := fmt.Sprint(a[0].Files, a[0].Dataset, a[1].Files, a[1].Dataset); got != "[/data/demo*.h5] [/data/demo_{0..9}/actions] [/data/a.h5 /data/b.h5] [y ../z]" {
		t.Errorf("got %s", got)
	}
}

// Windows may reach beyond their episode, a field may say where, and episodes lie where a file or the document says.
func TestEpisodesOfArrays(t *testing.T) {
	s, err := Parse([]byte("source:\n  arrays:\n    - {name: obs, file: x.zarr/data/state, window: 2, within: 16, step: 1, pad_before: 1, pad_after: 7}\n"+
		"    - {name: action, file: x.zarr/data/action, window: 16, step: 1, pad_before: 1, pad_after: 7, is_pad: true}\n  episodes: {ends: x.zarr/meta/episode_ends, only: [0, 2]}\n"), "/data/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	src := &s.Source
	a, e := &src.Arrays[1], src.Episodes
	if got := fmt.Sprint(a.PadBefore, a.PadAfter, a.IsPad, src.Arrays[0].IsPad, e.File, e.Given, e.Lengths, e.Only.Given, len(src.Columns), src.Columns[2].Name); got != "1 7 true false/data/x.zarr/meta/episode_ends[] false [0 2] 3action_is_pad" {
		t.Errorf("got %s", got)
	}
	s, err = Parse([]byte("source: {arrays: [{name: x, file: x.h5, dataset: /a}], episodes: {lengths: x.h5, dataset: /lengths, only: train.npy}}\n"), "/data/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Source.Episodes; fmt.Sprint(e.File, e.Dataset, e.Lengths, e.Only.File) != "/data/x.h5/lengthstrue/data/train.npy" {
		t.Errorf("got %+v", e)
	}
	both, err := Parse([]byte("source: {arrays: [{name: x, file: x.npy}], episodes: {ends: [5, 9]}}\nrings:\n  train: {source: {episodes: {ends: [5, 9], only: [0]}}}\n  val: {source: {episodes: {ends: [5, 9], only: [1]}}}\n"), "/data/spec.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(both.Rings[0].Source.Episodes.Only.Given, both.Rings[1].Source.Episodes.Only.Given, len(both.Rings[1].Source.Arrays)); got != "[0] [1] 1" {
		t.Errorf("of two rings: %s", got)
	}
}

// Arrays whose rows are encoded media are no columns, and may be called as a batch's own fields; the others are, with the room that is said for them.
func TestMediaOfArraysAreNoColumns(t *testing.T) {
	s, err := Parse([]byte(`
source:
  arrays:
    - {name: state, file: a.h5, dataset: state, step: 1, within: 2}
    - {name: image, file: a.h5, dataset: top, window: 2, step: 1}
    - {name: text, file: a.h5, dataset: text, step: 1, within: 2, max_bytes: 4KiB}
    - {name: ids, file: a.h5, dataset: ids, step: 1, within: 2, max_length: 9, padded: true}
fields:
  now: {image: {from: "image[0]", transform: [center_crop: 8]}}
  next: {image: {from: "image[1]", transform: [center_crop: 8]}}
`), "/data/x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var columns []string
		for _, c := range s.Source.Columns {
			columns = append(columns, fmt.Sprintf("%s:%d:%d:%v", c.Name, c.MaxBytes, c.MaxLength, c.Padded))
		}
		if got := fmt.Sprint(columns, s.Parts(&s.Source)); got != "[state:1024:0:false text:4096:0:false ids:1024:9:true] [{now [image[0]] <nil>} {next [image[1]] <nil>}]" {
			t.Errorf("got %s", got)
		}
		if err := s.Validate(); err != nil { // a second time it is the same
			t.Error(err)
		}
	}
	one, err := Parse([]byte("source: {arrays: [{name: image, file: a.h5, dataset: top}]}\nimage: {transform: [center_crop: 8]}\n"), "/data/x.yaml")
	if err != nil || len(one.Source.Columns) != 0 || fmt.Sprint(one.Parts(&one.Source)) != "[{image [image] <nil>}]" {
		t.Errorf("%v, %v", one, err)
	}
}

// The hash names what samples are made of, as the document has it, and not where that lies.
func TestTheHashNamesArrays(t *testing.T) {
	hash := func(dir, arrays string) string {
		s, err := Parse([]byte("source: {arrays: ["+arrays+"]}\n"), dir+"/x.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Canonical())
	}
	base := hash("/a", "{name: x, file: x.bin, dtype: u8, window: 4}")
	if hash("/b", "{name: x, file: x.bin, dtype: u8, window: 4}") != base {
		t.Error("it depends on where the file lies")
	}
	for _, other := range []string{"{name: y, file: x.bin, dtype: u8, window: 4}", "{name: x, file: y.bin, dtype: u8, window: 4}", "{name: x, file: x.bin, dtype: i8, window: 4}",
		"{name: x, file: x.bin, dtype: u8, window: 5}", "{name: x, file: x.bin, dtype: u8, window: 4, step: 2}", "{name: x, file: x.bin, dtype: u8, shape: [1], window: 4}",
		"{name: x, file: x.bin, dtype: u8, window: 4, within: 9}", "{name: x, file: x.bin, dataset: /a, window: 4}", "{name: x, file: x.bin, dataset: /b, window: 4}",
		"{name: x, file: x.bin, dtype: u8, window: 4, pad_before: 1}", "{name: x, file: x.bin, dtype: u8, window: 4, pad_after: 1}", "{name: x, file: x.bin, dtype: u8, window: 4, pad_after: 1, is_pad: true}"} {
		if hash("/a", other) == base {
			t.Errorf("%s has the hash of another", other)
		}
	}
}

// The hash names where episodes lie and which are meant.
func TestTheHashNamesEpisodes(t *testing.T) {
	seen := map[string]string{}
	for _, episodes := range []string{"{ends: [4, 9]}", "{lengths: [4, 9]}", "{ends: [4, 10]}", "{ends: e.npy}", "{ends: f.npy}", "{ends: e.npy, dataset: /a}", "{ends: e.npy, only: [0]}", "{ends: e.npy, only: [1]}", "{ends: e.npy, only: o.npy}"} {
		for _, dir := range []string{"/a", "/b"} {
			s, err := Parse([]byte("source: {arrays: [{name: x, file: x.npy}], episodes: "+episodes+"}\n"), dir+"/x.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if other, twice := seen[string(s.Canonical())]; twice && other != episodes {
				t.Errorf("%s has the hash of %s", episodes, other)
			}
			seen[string(s.Canonical())] = episodes
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d hashes: they depend on where the file lies", len(seen))
	}
}

func TestArraysThatCannotBeAreRefused(t *testing.T) {
	const x = "{name: x, file: x.npy}"
	for source, want := range map[string]string{
		"{arrays: []}":                                                                                              "source.arrays: got none, want at least one",
		"{arrays: [{name: x}]}":                                                                                     "source.arrays[0]: file is missing, want the array's path, or a list of them",
		"{arrays: [{file: x.npy}]}":                                                                                 "source.arrays[0]: name is missing, want name: ",
		"{arrays: [{name: label, file: x.npy}]}":                                                                    `source.arrays[0]: got name "label", which every batch has`,
		"{arrays: [{name: index, file: x.npy}]}":                                                                    "name \"index\", which every batch has; choose another",
		"{arrays: [{name: a/b, file: x.npy}]}":                                                                      "got name \"a/b\", want ",
		"{arrays: [" + x + ", " + x + "]}":                                                                          `source.arrays[1]: got name "x" twice`,
		"{arrays: [{name: x, file: 's3://b/x.npy'}]}":                                                               "source.arrays[0].file: got a URL, want a local file",
		"{arrays: [{name: x, file: x.bin, dtype: c64}]}":                                                            `source.arrays[0].dtype: got text "c64", want one of u8, i8`,
		"{arrays: [{name: x, file: x.npy, shape: [2]}]}":                                                            "source.arrays[0].shape: given without dtype: .npy and HDF5 files say it themselves",
		"{arrays: [{name: x, file: x.npy, window: 0}]}":                                                             "source.arrays[0].window: got 0, want a whole number from 1",
		"{arrays: [{name: x, file: x.bin, dtype: u8, shape: [1099511627776, 1099511627776]}]}":                      "source.arrays[0].shape: got samples of 1 rows of 1099511627776x1099511627776, want less than 2^63 bytes",
		"{arrays: [{name: x, file: x.bin, dtype: f64, shape: [1099511627776], window: 1048576}]}":                   "source.arrays[0].shape: got samples of 1048576 rows of 1099511627776, want less than 2^63 bytes",
		"{arrays: [{name: x, file: x.h5, dataset: []}]}":                                                            "source.arrays[0].dataset: got an empty list, want the path of a dataset in an HDF5 file",
		"{arrays: [{name: x, file: x.h5, dataset: [a, '']}]}":                                                       "source.arrays[0].dataset[1]: got text \"\", want text that is not empty",
		"{arrays: [{name: x, file: x.h5, dataset: /a, dtype: u8}]}":                                                 "source.arrays[0].dtype: given beside dataset: HDF5 says it itself; leave it out",
		"{arrays: [{name: x, file: x.npy, window: 4, within: 3}]}":                                                  "source.arrays[0].within: got 3, want at least window, 4: it is how many rows there must be",
		"{arrays: [{name: x, file: x.npy, window: 4, pad_before: 4}]}":                                              "source.arrays[0].pad_before: got 4, want less than the 4 rows of window or within",
		"{arrays: [{name: x, file: x.npy, within: 4, pad_after: 5}]}":                                               "source.arrays[0].pad_after: got 5, want less than the 4 rows of window or within",
		"{arrays: [{name: x, file: x.npy, pad_after: 1}]}":                                                          "source.arrays[0].pad_after: got 1, want less than the 1 rows",
		"{arrays: [{name: x, file: x.npy, pad_before: -1}]}":                                                        "source.arrays[0].pad_before: got -1, want a whole number from 0",
		"{arrays: [{name: x, file: x.npy, window: 4, is_pad: true}]}":                                               "source.arrays[0].is_pad: given without pad_before or pad_after",
		"{arrays: [{name: x, file: x.npy, window: 4, pad_after: 1, is_pad: true}, {name: x_is_pad, file: y.npy}]}":  `source.arrays[0].is_pad: got name "x_is_pad" twice`,
		"{arrays: [" + x + "], episodes: {}}":                                                                       "source.episodes: ends is missing, want where episodes end, such as ends: ",
		"{arrays: [" + x + "], episodes: {ends: a, lengths: b}}":                                                    "source.episodes.lengths: given beside ends; want one of them",
		"{arrays: [" + x + "], episodes: {ends: []}}":                                                               "source.episodes.ends: got none, want one at least",
		"{arrays: [" + x + "], episodes: {ends: [3, x]}}":                                                           "source.episodes.ends[1]: got text \"x\", want a whole number",
		"{arrays: [" + x + "], episodes: {ends: 's3://b/x.zarr/ends'}}":                                             "source.episodes.ends: got a URL, want a local file; copy it to a disk",
		"{arrays: [" + x + "], episodes: {ends: [3], dataset: /a}}":                                                 "source.episodes.dataset: given beside a list of numbers",
		"{arrays: [" + x + "], episodes: {ends: [3], only: []}}":                                                    "source.episodes.only: got none, want one at least",
		"{arrays: [" + x + "], episodes: ends.npy}":                                                                 "source.episodes: got text \"ends.npy\", want a mapping",
		"{mix: [{folder: p}], episodes: {ends: [3]}}":                                                               "source.episodes: given beside mix",
		"{arrays: [" + strings.Repeat("{name: x, file: x.npy, window: 2, pad_after: 1, is_pad: true}, ", 13) + "]}": "source.arrays: got 26 arrays and fields that say which rows are repeated (is_pad), want at most 24",
		"{folder: p, episodes: {ends: [3]}}":                                                                        "source.episodes: goes with arrays, whose rows episodes are of; leave it out",
		"{arrays: [{name: x, file: x.npy, wndow: 3}]}":                                                              `source.arrays[0].wndow: unknown key; did you mean "window"?`,
		"{arrays: [" + x + "], columns: [a]}":                                                                       "source.columns: given beside arrays, which are the columns; leave one of them out",
		"{arrays: [" + x + "], folder: p}":                                                                          "source.arrays: given beside another; want exactly one of folder",
		"{arrays: [" + x + "], label: y}":                                                                           `source.label: got "y", want the name of one of the arrays`,
		"{arrays: [" + x + "], labels: none}":                                                                       "source.labels: goes with folder, shards and list; of arrays label names the one",
		"{arrays: [" + x + "], extensions: [npy]}":                                                                  "source.extensions: goes with folder",
		"{arrays: [" + x + "]}\nimage: {transform: [center_crop: 8]}":                                               "image: from is missing, want the name of the array whose rows are encoded media, such as from: x; pixels as they are need no such section",
		"{arrays: [" + x + "]}\nimage: {from: y, transform: [center_crop: 8]}":                                      `image.from: got "y", want the name of one of the arrays`,
		"{arrays: [" + x + "]}\nimage: {from: [x, y], transform: [center_crop: 8]}":                                 "image.from: got 2, want one: the name of an array",
		"{arrays: [" + x + "]}\nimage: {from: 'x[1]', transform: [center_crop: 8]}":                                 `image.from: got row "1" of "x", want a whole number from 0 to 0`,
		"{arrays: [" + x + "]}\nimage: {from: 'x[a]', transform: [center_crop: 8]}":                                 `image.from: got row "a" of "x"`,
		"{arrays: [{name: x, file: x.npy, window: 3}]}\naudio: {from: x, rate: 8, length: 8}":                       `audio.from: got "x", whose windows have 3 rows; want one of them, x[0] to x[2]`,
		"{arrays: [" + x + "], label: x}\nimage: {from: x, transform: [center_crop: 8]}":                            `source.label: got "x", of which image is made; want an array of whole numbers`,
		"{arrays: [" + x + ", " + x + "]}\nimage: {from: x, transform: [center_crop: 8]}":                           `source.arrays[1]: got name "x" twice`,
		"{arrays: [" + x + ", {name: image, file: y.npy}]}\nimage: {from: x, transform: [center_crop: 8]}":          `source.arrays[1]: got name "image", which every batch has`,
		"{arrays: [{name: x, file: x.h5, dataset: x, max_bytes: 2GiB}]}":                                            "source.arrays[0].max_bytes: got 2147483648, want 1 to 1GiB",
		"{arrays: [{name: x, file: x.h5, dataset: x, max_length: 0}]}":                                              "source.arrays[0].max_length: got 0, want a whole number from 1",
		"{arrays: [{name: x, file: x.h5, dataset: x, padded: true}]}":                                               "source.arrays[0].padded: given without max_length: it is lists of any length that are padded",
		"{arrays: [{name: x, file: x.h5, dataset: x, padded: true, max_length: 3}, {name: x.length, file: y.npy}]}": `source.arrays[1]: got name "x.length", which every batch has`,
		"{arrays: [" + x + "], mix: [{folder: p}]}":                                                                 "source.arrays: given beside mix",
		"{mix: [{arrays: [" + x + "]}]}":                                                                            "source.mix[0].arrays: unknown key",
	} {
		_, err := Parse([]byte("source: "+source+"\n"), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "from:") && !strings.Contains(source, "\n") { // which arrays do not have
			t.Errorf("%s:\ngot  %v\nwant %s", source, err, want)
		}
	}
}
