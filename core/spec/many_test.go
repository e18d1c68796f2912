package spec

import (
	"reflect"
	"strings"
	"testing"
)

// manyOf is a description of shards whose samples have several pictures, as said.
func manyOf(image string) string {
	return "source: {shards: a.tar}\nimage: {transform: [center_crop: 8], " + image + "}\n"
}

// Several pictures say how many they are at most, which parts they are, and how rows of fewer lie.
func TestSeveralPicturesAreDescribed(t *testing.T) {
	for text, want := range map[string]Many{
		"many: 8": {Most: 8, Shape: Fixed, Over: Refuse},
		"many: {most: 8, shape: ragged, over: cut}":             {Most: 8, Shape: Ragged, Over: CutOff},
		"many: {of: [left.jpg, right.jpg]}":                     {Most: 2, Of: []string{"left.jpg", "right.jpg"}, Shape: Fixed, Over: Refuse},
		"many: {most: 1, of: [left.jpg, right.jpg], over: cut}": {Most: 1, Of: []string{"left.jpg", "right.jpg"}, Shape: Fixed, Over: CutOff},
	} {
		s := parse(t, manyOf(text))
		if !reflect.DeepEqual(s.Image.Many, &want) {
			t.Errorf("%s: got %+v", text, s.Image.Many)
		}
		if got := s.Media()[0].Tensors(); !reflect.DeepEqual(got, []string{"image", "count"}) {
			t.Errorf("%s: got tensors %v", text, got)
		}
		if got, one := s.rowBytes(), int64(8*8*3); got != one*int64(want.Most) {
			t.Errorf("%s: got rows of %d bytes", text, got)
		}
		if parts := s.Parts(&s.Source); parts[0].Many == nil || !reflect.DeepEqual(parts[0].From, want.Of) {
			t.Errorf("%s: got %+v", text, parts)
		}
	}
	s := parse(t, "source: {shards: a.parquet}\nfields: {pages: {image: {from: images, many: 3, affine: true, transform: [center_crop: 8]}}}\n")
	if got := s.Media()[0].Tensors(); !reflect.DeepEqual(got, []string{"pages", "pages.count", "pages.affine", "pages.size"}) {
		t.Errorf("got tensors %v", got)
	}
	parse(t, "source: {list: t.csv}\nimage: {many: {of: [left, right]}, transform: [center_crop: 8]}\n")
	parse(t, "source: {shards: a.tar}\nfields: {a: {image: {many: 3, transform: [center_crop: 8]}}, b: {draw: own, image: {many: {most: 3, shape: ragged}, transform: [center_crop: 8]}}}\n")
}

// A ring's hash tells its several pictures from one, and how they lie.
func TestHashHasSeveralPictures(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"many: 8", "many: 9", "many: {most: 8, shape: ragged}", "many: {most: 8, over: cut}", "many: {most: 8, of: [a, b]}", "mode: rgb"} {
		hash := string(parse(t, manyOf(text)).Canonical())
		if other, twice := seen[hash]; twice {
			t.Errorf("%s and %s are alike", text, other)
		}
		seen[hash] = text
	}
}

// What cannot have several pictures a sample is refused with its place, and what can.
func TestSeveralPicturesThatCannotBeAreRefused(t *testing.T) {
	const picture = "image: {many: 8, transform: [center_crop: 8]}\n"
	for text, want := range map[string]string{
		manyOf("many: 0"):                      "image.many: got 0, want a whole number from 1 to 65536",
		manyOf("many: all"):                    "image.many: got text \"all\", want a whole number from 1 to 65536",
		manyOf("many: {}"):                     "image.many: most is missing, want how many pictures a sample has at most, such as many: 8",
		manyOf("many: {most: 8, shape: long}"): "image.many.shape: got text \"long\", want one of fixed, padded, ragged",
		manyOf("many: {most: 8, over: drop}"):  "image.many.over: got text \"drop\", want one of refuse, cut",
		manyOf("many: {most: 8, max: 8}"):      "image.many.max: unknown key",
		manyOf("many: {of: [a, a]}"):           "image.many.of: got \"a\" twice; want a part or column of its own for each picture",
		manyOf("many: {of: [a, b]}, from: c"):  "image.many.of: given beside from, which names what has all of a sample's pictures; leave one of them out",
		manyOf("max_images: 8"):                "image.max_images: unknown key; say many: 8, the most pictures of a sample",
		"source: {shards: a.tar}\nimage: {many: 8, transform: [resize: [10000, 10000]]}\n":                        "image.many: got room for 8 pictures of 300000000 bytes, want less than 2 GiB a row",
		"source: {folder: p}\n" + picture:                                                                         "image.many: a folder's sample is one file; want shards, or a list that is a table",
		"source: {list: a.txt}\n" + picture:                                                                       "image.many: a line of the list names one file; want shards, or a list that is a table",
		"source: {host: {samples: 9}}\n" + picture:                                                                "image.many: your program brings one file a sample; want shards, or a list that is a table",
		"source: {arrays: [{name: image, file: a.npy}]}\n" + picture:                                              "image.many: a row of an array is one picture; want shards, or a list that is a table",
		"source: {mix: [{shards: a.tar}, {folder: p}]}\n" + picture:                                               "image.many: a folder's sample is one file",
		"source: {shards: a.tar}\nimage: {many: 8, shape: padded, transform: [resize: {size: 8, max_size: 9}]}\n": "image.shape: got padded beside many, whose pictures have one size, and whose own shape says how rows of fewer lie; leave it out, and resize to one size",
		"source: {shards: a.tar}\norder: {buckets: {sizes: [[8, 8], [8, 16]]}}\nimage: {many: 8, transform: [{resize: {size: bucket, fit: cover}}, center_crop: bucket]}\n":    "image.transform: got the size bucket beside many: a bucket is that of one picture a sample; leave one of them out",
		"source: {list: a.jsonl, columns: [" + boxColumns + "]}\nimage: {many: 8, boxes: boxes, transform: [center_crop: 8]}\n":                                                "image.boxes: given beside many: boxes follow one picture a sample; leave one of them out",
		"source: {list: a.jsonl, columns: [" + boxColumns + "]}\nimage: {many: 8, points: spots, transform: [center_crop: 8]}\n":                                               "image.points: given beside many: points follow one picture a sample; leave one of them out",
		"source: {shards: a.tar}\ndevice: {decode: nvjpeg}\n" + picture:                                                                                                        "device.decode: got nvjpeg beside image.many, want cpu: the device decodes one picture a sample",
		"source: {shards: a.tar}\ndevice: {finish: {}}\n" + picture:                                                                                                            "device.finish: given beside image.many, want normalize and dtype in image: the device finishes one picture a sample",
		manyOf("many: {most: 8, shape: ragged}") + "device: {}\n":                                                                                                              "image.many.shape: got ragged with a device, which uploads what has a fixed place in every row; want padded",
		"source: {shards: a.tar}\ndevice: {}\nfields: {a: {image: {many: {most: 3, shape: ragged}, transform: [center_crop: 8]}}}\n":                                           "fields.a.image.many.shape: got ragged with a device",
		"source: {shards: a.tar}\ndevice: {}\nfields: {a: {image: {transform: [center_crop: 8]}}, b: {image: {from: b, shape: ragged, transform: [resize: {max_size: 9}]}}}\n": "fields.b.image.shape: got ragged with a device",
		"source: {shards: a.tar}\nfields: {a: {image: {many: 3, transform: [center_crop: 8]}}, b: {draw: own, image: {transform: [center_crop: 8]}}}\n":                        "fields.b.image.many: differs from that of fields.a.image, of whose pictures this is another view; want the same, or say from in both",
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := ParseSample([]byte(`{"image": {"many": 8}}`)); err == nil || !strings.Contains(err.Error(), "image.many: is of a ring's samples, which may have several pictures; leave it out") {
		t.Error(err)
	}
}
